"""Incomplete gamma functions and derivatives of `digamma`, in double precision: see `elementwise`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svod._place import made_beside
from svod._svod import ArgumentError, ArgumentTypeError, DTypeError, Tensor, _operands, float64, where
from svod.library.special import _BERNOULLI, digamma, erfc, lgamma

__all__ = ["igamma", "igammac", "polygamma"]


def _quadrature(parts: int, first: int, last: int) -> tuple[list[float], list[float]]:
    """Nodes t of the double exponential formula over t > 0, and their weights: `t = exp(u - exp(-u))` for u in equal
    steps, so many to 1."""
    places = [i / parts for i in range(first, last + 1)]
    nodes = [math.exp(u - math.exp(-u)) for u in places]
    return nodes, [t * (1 + math.exp(-u)) / parts for t, u in zip(nodes, places, strict=True)]


# To the digits of `float64`, and to 1e-9, which is more than narrower types show.
_FINE = _quadrature(12, -50, 60)
_COARSE = _quadrature(5, -16, 21)
# Derivatives of digamma, each of which is a longer expression.
_MOST = 500
# Euler's constant.
_EULER = 0.5772156649015329


def igamma(x1: Any, x2: Any, /) -> Tensor:
    """The regularized lower incomplete gamma function P(x1, x2), SciPy's `gammainc`.

    >>> import svod
    >>> svod.igamma(svod.Tensor([1.0]), svod.Tensor([0.0, svod.inf])).tolist()
    [0.0, 1.0]
    """
    return _incomplete("igamma", x1, x2, lower=True)


def igammac(x1: Any, x2: Any, /) -> Tensor:
    """The regularized upper incomplete gamma function Q(x1, x2) = 1 - P(x1, x2), SciPy's `gammaincc`.

    >>> import svod
    >>> svod.igammac(svod.Tensor([1.0]), svod.Tensor([0.0, svod.inf])).tolist()
    [1.0, 0.0]
    """
    return _incomplete("igammac", x1, x2, lower=False)


def _incomplete(name: str, x1: Any, x2: Any, lower: bool) -> Tensor:
    """P or Q: whichever is not near 1 as an integral, by the double exponential formula (Takahasi and Mori 1974).

    With a = x1 and x = x2, below a it is `P = x^a e^-x / Γ(a) ∫ exp(x (1 - e^-w) - a w) dw`, else
    `Q = x^a e^-x / Γ(a) ∫ exp((a - 1) log(1 + t) - x t) dt`, both over all positive numbers, which are scaled to where
    the integrand is. Where both are below 1, the logarithm of P by its series.
    """
    one, other = _operands(x1, x2)
    if not one.dtype.is_floating_point:
        raise DTypeError(f"{name}: floats are expected, not {one.dtype}")
    a, x = one.cast(float64), other.cast(float64)
    usual = (a > 0) & (x > 0) & a.isfinite() & x.isfinite()
    a_in, x_in = where(usual, a, 1.0), where(usual, x, 1.0)
    below = x_in < a_in
    nodes, weights = (made_beside(a, of, float64) for of in (_FINE if one.dtype == float64 else _COARSE))
    # The integrand falls by its slope at 0, or as a bell does.
    bell = where(below, x_in.sqrt().minimum(x_in), a_in.maximum(x_in).sqrt() + 1)
    width = 1 / ((a_in - x_in).abs() + bell)
    t = nodes * width.unsqueeze(-1)
    wide_a, wide_x, is_below = a_in.unsqueeze(-1), x_in.unsqueeze(-1), below.unsqueeze(-1)
    of_p = -wide_x * (-t).expm1() - wide_a * t
    of_q = (wide_a - 1) * t.log1p() - wide_x * t
    integral = (where(is_below, of_p, of_q).exp() * weights).sum(-1) * width
    found = (_logarithm(a_in, x_in) + integral.log()).exp()
    result = where(below == lower, found, 1 - found)
    few = (a_in < 1) & (x_in < 1)
    of_few = _logarithm_of_few(where(few, a_in, 0.5), where(few, x_in, 0.5), one.dtype == float64)
    result = where(few, of_few.exp() if lower else -of_few.expm1(), result)
    # Of great numbers, as the normal distribution, from which it differs by some 1 / sqrt(a).
    great = a_in > 1e20
    apart = where(great, (a_in - x_in) / (2 * a_in).sqrt(), 0.0)
    result = where(great, erfc(apart if lower else -apart) / 2, result)
    # At the edges of where it is defined.
    none, all_of_it = (0.0, 1.0) if lower else (1.0, 0.0)
    edge = where((x == 0) & (a > 0), none, where((a == 0) & (x > 0), all_of_it, math.nan))
    edge = where(x.isinf() & (x > 0) & (a >= 0) & a.isfinite(), all_of_it, edge)
    edge = where(a.isinf() & (a > 0) & (x >= 0) & x.isfinite(), none, edge)
    return where(usual, result, edge).cast(one.dtype)


def _logarithm(a: Tensor, x: Tensor) -> Tensor:
    """`log(x^a e^-x / Γ(a))`; of large numbers by Stirling's series, in which nothing large cancels."""
    large = a > 20
    of_large = where(large, a, 21.0)
    away = where(large, (x - of_large) / of_large, 0.0)
    inverse = 1 / of_large
    series, power = inverse * 0, inverse
    for k, number in enumerate(_BERNOULLI, 1):
        series = series + power * (number / (2 * k * (2 * k - 1)))
        power = power * inverse * inverse
    # x^a e^-x a^-a e^a, by how far x is from a.
    near = away.abs() < 0.5
    bell = where(near, -_behind_log(where(near, away, 0.0)), (where(large, x, 21.0) / of_large).log() - away) * of_large
    stirling = bell + (of_large / (2 * math.pi)).log() / 2 - series
    few = where(large, 1.0, a)
    return where(large, stirling, few * x.log() - x - lgamma(few))


def _logarithm_of_few(a: Tensor, x: Tensor, fine: bool) -> Tensor:
    """`log(P(a, x))` of numbers below 1, of `x^a / Γ(a + 1) (1 + a Σ (-x)^k / (k! (a + k)))`; to 1e-10, unless
    `fine`."""
    series, power = x * 0, x * 0 + 1
    for k in range(1, 20 if fine else 13):
        power = power * -x / k
        series = series + power / (a + k)
    # The logarithm of Γ(1 + a), which is small where a is.
    above, power = a * (1 - _EULER), a * 0 + a
    for k in range(2, 50 if fine else 30):
        power = power * -a
        above = above - power * (_zeta(k) / k)
    return a * x.log() - (above - a.log1p()) + (a * series).log1p()


def _zeta(k: int) -> float:
    """`ζ(k) - 1`, by Euler's summation of what is behind 40 terms."""
    last = 40.0
    rest = last ** (1 - k) / (k - 1) + last**-k / 2 + k * last ** (-k - 1) / 12
    rest -= k * (k + 1) * (k + 2) * last ** (-k - 3) / 720 - math.perm(k + 4, 5) * last ** (-k - 5) / 30240
    return math.fsum([*(j**-k for j in range(2, 40)), rest])


def _behind_log(x: Tensor) -> Tensor:
    """`x - log(1 + x)` for |x| < 1/2, by twice the series of the inverse hyperbolic tangent of x / (2 + x)."""
    r = x / (2 + x)
    square = r * r
    series = square * 0
    for k in reversed(range(1, 20)):
        series = series * square + 2 / (2 * k + 1)
    return r * x - r * square * series


def polygamma(n: Any, x: Any, /) -> Tensor:
    """The `n`-th derivative of `digamma`; as a method, `x.polygamma(n)`, the tensor comes first.

    By recurrence and Euler's summation of the rest, and by reflection.

    >>> import svod
    >>> svod.polygamma(1, svod.Tensor([1.0]))
    Tensor([1.644934], shape=(1,), dtype=float32, device=CPU)
    """
    if isinstance(n, Tensor):
        n, x = x, n
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
        raise ArgumentTypeError(f"polygamma: n: an integer is expected, not {n!r}")
    (x,), n = _operands(x), int(n)
    if not 0 <= n <= _MOST:
        raise ArgumentError(f"polygamma: n: an order from 0 to {_MOST} is expected, not {n}")
    if n == 0:
        return digamma(x)
    given = x.cast(float64)
    negative = given < 0.5
    value = _of_positive(n, where(negative, 1 - given, given))
    behind = given - given.round()
    whole = (behind == 0) & negative
    # The derivatives of π / tan(π x), as polynomials of the cotangent.
    # Near its zeros by how far it is from these.
    place = where(whole | ~negative, 0.25, behind)
    far = where(place.abs() > 0.25, where(place < 0, -0.5, 0.5) - place, 0.25)
    cotangent = where(place.abs() > 0.25, (far * math.pi).tan(), 1 / (place * math.pi).tan())
    derivative = cotangent * 0
    for coefficient in reversed(_cotangents(n)):
        derivative = derivative * cotangent + coefficient * math.pi ** (n + 1)
    reflected = (value if n % 2 == 0 else -value) - derivative
    # At poles of even orders, which differ in sign on their sides, as SciPy and PyTorch have the limit from the right.
    at_whole = math.inf if n % 2 else -math.inf
    return where(whole, at_whole, where(negative, reflected, value)).cast(
        x.dtype if x.dtype.is_floating_point else "float32"
    )


def _of_positive(n: int, x: Tensor) -> Tensor:
    """`(-1)^(n+1) n! ζ(n+1, x)` for x of 1/2 or more."""
    order, terms = n + 1, 12 + n
    # Powers of x / (x + k) stay in range where those of 1 / (x + k) would not.
    total = x * 0 + 1
    for k in range(1, terms):
        total = total + (x / (x + k)) ** order
    last = x + terms
    ratio = (x / last) ** order
    rest = last / n + 0.5
    factor, power = order / last, 1.0
    for k, number in enumerate(_BERNOULLI, 1):
        rest = rest + factor * (number / math.factorial(2 * k) * power)
        factor = factor * ((order + 2 * k - 1) * (order + 2 * k)) / (last * last)
    # At an infinite x nothing is left.
    sum_ = where(x.isinf(), 0.0, (total + ratio * rest) * (math.lgamma(n + 1) - order * x.log()).exp())
    return sum_ if n % 2 else -sum_


def _cotangents(n: int) -> list[float]:
    """The coefficients of the `n`-th derivative of the cotangent, as a polynomial c of it: c' = -(1 + c²)."""
    found = [0.0, 1.0]
    for _ in range(n):
        slopes = [k * one for k, one in enumerate(found)][1:]
        found = [0.0] * (len(slopes) + 2)
        for k, one in enumerate(slopes):
            found[k] -= one
            found[k + 2] -= one
    return found
