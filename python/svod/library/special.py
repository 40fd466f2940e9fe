"""Special functions, in double precision: see `elementwise` for what that means of narrower types."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from svod._svod import Tensor, float32, float64, where
from svod.library.elementwise import _floats, _horner, _in_double, _magnitude, _powers, signbit

__all__ = ["digamma", "erfc", "erfinv", "i0", "lgamma", "xlogy"]

# Coefficients of Chebyshev polynomials, from interpolation at their zeros in 200-bit arithmetic; the map of the first
# is that of Shepherd and Laframboise (1981).
# `erfc(x) exp(x²) (1 + 2 x)` by `(x - 2) / (x + 2)`, for x >= 0.
_ERFC = (
    1.1760066555883004,
    0.025779673870048207,
    -0.10659315067778503,
    0.03880887957448382,
    -0.005414899930893725,
    -0.00040815257282372384,
    0.00019843768248553527,
    9.842532776048127e-06,
    -7.763265561062859e-06,
    -7.174001457529682e-07,
    3.140694955581843e-07,
    6.188423669546144e-08,
    -9.890619934492214e-09,
    -4.59539962251018e-09,
    -7.180587728177086e-11,
    2.6296183336364044e-10,
    4.867734056607904e-11,
    -8.026804193759018e-12,
    -4.779133570845298e-12,
    -4.3470126478464435e-13,
    2.412314273846194e-13,
    8.610900521277247e-14,
    2.59476489837122e-15,
    -5.872254381501051e-15,
    -1.7019328812344317e-15,
    1.387358712117345e-17,
)
# `erfinv(x) / x` by powers of `w = -log(1 - x²)`, where that is below 5; else by Chebyshev polynomials of its root,
# from √5 to √17.5.
_ERFINV_CENTER = (
    0.8862269260168479,
    0.2320136346179964,
    0.01154963898847799,
    -0.002336173097693737,
    -0.0001260762890694712,
    4.4533840352536996e-05,
    3.3499197062873127e-06,
    -1.524061609938275e-06,
    6.609612160007049e-08,
    2.0530160844806366e-08,
    -2.9457577150167597e-09,
    1.2294081682020114e-10,
)
_ERFINV_TAIL = (
    3.04737243747281,
    0.9742196197137262,
    0.004460452867911542,
    -0.0015659921222371054,
    0.000480061458391674,
    -0.00012761990628476383,
    2.4812903204516345e-05,
    -2.0012737230956646e-06,
    -6.570936324123977e-07,
    2.9653723235156806e-07,
    -4.885432840495696e-08,
    -1.7205386804164392e-09,
    2.7581199901760556e-09,
    -5.930567859024904e-10,
)
_ERFINV_MIDDLE, _ERFINV_REACH = (17.5**0.5 + 5**0.5) / 2, (17.5**0.5 - 5**0.5) / 2
# `exp(-x) I0(x)` by `x / 4 - 1`, for 0 <= x <= 8.
_I0_SMALL = (
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
)
# `exp(-x) sqrt(x) I0(x)` by `16 / x - 1`, for x >= 8.
_I0_LARGE = (
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.4612228676974606e-17,
    4.465621420296762e-17,
)

# Where the asymptotic series of Stirling is as precise as the type, and what the functions are shifted by to be there.
_STIRLING = 10
# Bernoulli numbers B(2), B(4), …
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def digamma(x: Tensor, /) -> Tensor:
    """The derivative of `lgamma`; NaN at negative integers, -inf at 0.

    By recurrence, Stirling's series and reflection. Near zeros of the function the error is that of numbers near 1.

    >>> import svod
    >>> svod.digamma(svod.Tensor([1.0]))
    Tensor([-0.5772157], shape=(1,), dtype=float32, device=CPU)
    """

    def compute(x: Tensor) -> Tensor:
        negative = x < 0.5
        a = where(negative, 1 - x, x)
        shifted = a + _STIRLING
        inverse = 1 / shifted
        series = inverse * 0.5
        power = inverse * inverse
        for k, number in enumerate(_BERNOULLI, 1):
            series = series + power * (number / (2 * k))
            power = power * inverse * inverse
        value = shifted.log() - series
        for k in range(_STIRLING):
            value = value - 1 / (a + k)
        # π cos(π x) / sin(π x), of how far x is from an integer, which is exact.
        behind = x - x.round()
        whole = negative & (behind == 0)
        angle = where(negative & ~whole, behind, 0.25) * math.pi
        reflected = value - math.pi * angle.cos() / angle.sin()
        # Infinite with the slope of a pole, or not a number, with that slope as well.
        at_whole = -1 / where(x == 0, x, where(whole, behind, 1.0)) + where(x == 0, 0.0, math.nan)
        return where(whole, at_whole, where(negative, reflected, value))

    return _in_double("digamma", compute, x)


def erfc(x: Tensor, /) -> Tensor:
    """`1 - erf(x)`, also where that is small.

    >>> import svod
    >>> svod.erfc(svod.Tensor([0.0, 10.0])).tolist()
    [1.0, 1.401298464324817e-45]
    """
    return _in_double("erfc", _erfc, x, narrow=_erfc_narrow)


def erfinv(x: Tensor, /) -> Tensor:
    """The inverse of `erf`; infinite at -1 and 1, NaN outside.

    Two of Halley's steps from Winitzki's approximation (2008); of types narrower than `float64` by Giles' variable
    (2010).

    >>> import svod
    >>> svod.erfinv(svod.erf(svod.Tensor([0.5]))).tolist()
    [0.5]
    """

    def compute(x: Tensor) -> Tensor:
        a = _magnitude(x)
        inside = where(a < 1, a, 0.5)
        logarithm = (-inside * inside).log1p()
        middle = logarithm / 2 + 2 / (math.pi * 0.147)
        y = ((middle * middle - logarithm / 0.147).sqrt() - middle).clamp(min=0).sqrt().detach()
        for _ in range(2):
            # By the tail where that is the smaller one, so that no digits cancel.
            error = where(inside < 0.5, y.erf() - inside, (1 - inside) - _erfc(y))
            step = error * (math.sqrt(math.pi) / 2) * (y * y).exp()
            y = y - step / (1 + y * step)
        y = where(a < 1, y, where(a == 1, _infinite_at_1(a), math.nan))
        return where(signbit(x), -y, y)

    def narrow(x: Tensor) -> Tensor:
        a = x.abs()
        inside = where(a < 1, x, 0.5)
        # Where digits of the product are lost, its logarithm does not show it.
        logarithm = -((1 - inside) * (1 + inside)).log()
        center = _horner(_ERFINV_CENTER, logarithm.clamp(max=5.0))
        # From the root of 5 to that of 17.5, at which `float32` has no more numbers below 1.
        root = (logarithm.clamp(min=5.0).sqrt() - _ERFINV_MIDDLE) * (1 / _ERFINV_REACH)
        y = inside * where(logarithm < 5, center, _powers(_ERFINV_TAIL, root, 1e-8))
        # Infinite with an infinite slope.
        end = x / (1 - where(a == 1, a, 0.0))
        return where(a < 1, y, where(a == 1, end, math.nan))

    return _in_double("erfinv", compute, x, narrow=narrow, within=float32)


def i0(x: Tensor, /) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    >>> import svod
    >>> svod.i0(svod.Tensor([0.0])).tolist()
    [1.0]
    """

    def compute(x: Tensor) -> Tensor:
        a = _magnitude(x)
        small = _chebyshev(_I0_SMALL, a.clamp(max=8) / 4 - 1)
        far = a.clamp(min=8)
        large = _chebyshev(_I0_LARGE, 16 / far - 1) / far.sqrt()
        # In two factors, for the exponential overflows before the function does.
        half = (a / 2).exp()
        value = half * where(a < 8, small, large) * half
        return where(a.isinf(), math.inf, value)

    def narrow(x: Tensor) -> Tensor:
        a = _magnitude(x)
        far = a.clamp(8, 1e30)
        large = _powers(_I0_LARGE, 16 / far - 1) / far.sqrt()
        return where(a < 8, _powers(_I0_SMALL, a.clamp(max=8) / 4 - 1), large) * a.exp()

    return _in_double("i0", compute, x, narrow=narrow)


def lgamma(x: Tensor, /) -> Tensor:
    """The logarithm of the absolute value of the gamma function; infinite at 0 and negative integers.

    By recurrence, Stirling's series and reflection. Near zeros of the function the error is that of numbers near 1.

    >>> import svod
    >>> svod.lgamma(svod.Tensor([1.0, 2.0, 5.0]))
    Tensor([0.       , 0.       , 3.1780539], shape=(3,), dtype=float32, device=CPU)
    """

    def compute(x: Tensor) -> Tensor:
        infinite = x.isinf()
        behind = where(infinite, 0.25, x - x.round())
        negative = x < 0.5
        whole = negative & (behind == 0)
        a = where(whole | infinite, 1.0, where(negative, 1 - x, x))
        low = a < _STIRLING
        product = where(low, a, 1.0)
        for k in range(1, _STIRLING):
            product = product * where(low, a + k, 1.0)
        shifted = where(low, a + _STIRLING, a)
        inverse = 1 / shifted
        square = inverse * inverse
        series, power = shifted * 0, inverse
        for k, number in enumerate(_BERNOULLI, 1):
            series = series + power * (number / (2 * k * (2 * k - 1)))
            power = power * square
        stirling = (shifted - 0.5) * (shifted.log() - 1) + (math.log(2 * math.pi) / 2 - 0.5) + series
        value = stirling - product.log()
        # Exactly 0 at 1 and 2, where it has a slope.
        value = value - where((a == 1) | (a == 2), value.detach(), 0.0)
        sine = (where(negative & ~whole, behind.abs(), 0.25) * math.pi).sin()
        reflected = math.log(math.pi) - sine.log() - value
        # Infinite, with the slope of a pole, which has two signs but at 0.
        at_whole = -where(x == 0, x, where(whole, behind * behind, 1.0)).log()
        result = where(whole, at_whole, where(negative, reflected, value))
        return where(infinite, where(infinite, x, 1.0).square(), result)

    return _in_double("lgamma", compute, x)


def _infinite_at_1(x: Tensor) -> Tensor:
    """Infinity with an infinite slope where x is 1; elsewhere 0."""
    return -(1 - where(x == 1, x, 0.0)).log()


def xlogy(x1: Any, x2: Any, /) -> Tensor:
    """`x1 * log(x2)`, 0 where `x1` is 0, unless `x2` is NaN.

    >>> import svod
    >>> svod.xlogy(svod.Tensor([0.0, 1.0]), svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    x, y = _floats("xlogy", x1, x2)
    is_zero = (x == 0) & ~y.isnan()
    return where(is_zero, 0.0, x * where(is_zero, 1.0, y).log())


def _chebyshev(coefficients: Sequence[float], t: Tensor) -> Tensor:
    """A sum of Chebyshev polynomials, by Clenshaw's recurrence (1955)."""
    twice = t * 2
    *higher, first = reversed(coefficients)
    now, before = t * 0, t * 0
    for coefficient in higher:
        now, before = twice * now - before + coefficient, now
    return t * now - before + first


def _erfc_narrow(x: Tensor) -> Tensor:
    """`erfc` to the digits of `float32`, of numbers in double precision."""
    a = _magnitude(x).clamp(max=40)
    tail = _powers(_ERFC, (a - 2) / (a + 2)) * (-a * a).exp() / (1 + 2 * a)
    return where(x < 0, 2 - tail, tail)


def _erfc(x: Tensor) -> Tensor:
    """`erfc` of numbers in double precision."""
    a = x.abs().clamp(max=40)
    # exp(-a²) by a square that is exact, of the leading digits, and what that leaves.
    leading = a.cast(float32).cast(float64).detach()
    bell = (-leading * leading).exp() * ((leading - a) * (leading + a)).exp()
    tail = _chebyshev(_ERFC, (a - 2) / (a + 2)) * bell / (1 + 2 * a)
    far = where(x < 0, 2 - tail, tail)
    return where(x.abs() < 0.5, 1 - x.erf(), far)
