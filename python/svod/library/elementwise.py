"""Functions of each element.

Those with several roundings compute in `float64`, so that the result in a narrower type is the nearest number or a
neighbour of it; a few of them in `float32`, where the result stays within two units in the last place. Derivatives
follow from the operations: signs are taken off by `where`, which has the derivative of an odd function at 0, and what
overflows or is not defined is kept from the branch that is not taken.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from svod._svod import DType, DTypeError, Tensor, _may_be_differentiated, _operands, _template, float32, float64, where

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan2",
    "atanh",
    "cbrt",
    "clip",
    "copysign",
    "cosh",
    "divide",
    "hypot",
    "logaddexp",
    "nextafter",
    "positive",
    "signbit",
    "sinh",
]

# Integers as wide as floats.
_BITS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}
# From here on `sqrt(x² ± 1)` is `x` in double precision.
_LARGE = 2.0**30
# A number beside which all of `float32` are nothing.
_FAR = 1e300
# Coefficients of Chebyshev polynomials, from interpolation at their zeros in 200-bit arithmetic: `atan(r) / r` by
# `2 r² - 1`, and `log(1 + x) / x` by `2 x - 1`, from 0 to 1.
_ATAN = (
    0.881373587019543,
    -0.10589292454670586,
    0.011135842059405529,
    -0.0013811950036003977,
    0.00018574297327854201,
    -2.621519611273327e-05,
    3.821036594489453e-06,
    -5.699186166576666e-07,
    8.648877864450829e-08,
    -1.3303383975624933e-08,
    2.0685057635866254e-09,
    -3.24486392093763e-10,
)
_LOG1P = (
    0.8284271247461901,
    -0.15104299781559846,
    0.01781474816929596,
    -0.0023355046144311114,
    0.0003246180818238187,
    -4.68351036567037e-05,
    6.934973447908043e-06,
    -1.0467134039238452e-06,
    1.6032280874191252e-07,
    -2.484419616327446e-08,
    3.886586178224087e-09,
    -6.128041159114849e-10,
    9.726314650590816e-11,
    -1.5524919140828318e-11,
    2.4901844633252673e-12,
    -4.011301533241113e-13,
    6.485890543366847e-14,
)
# Coefficients of powers of x, the constant one first, to the digits of `float32`: `acosh(1 + x) / sqrt(2 x)` from 0 to
# 1, and of x², `(sinh(x) - x) / x³`, from 0 to 1.
_ACOSH = (
    1.0,
    -0.0833333328816737,
    0.018749984713533622,
    -0.005580155075175267,
    0.0018975013639786747,
    -0.0006937104900745942,
    0.00025775315105117406,
    -8.770820873507876e-05,
    2.2567319193647502e-05,
    -3.0404390283263117e-06,
)
_SINH = (1 / 6, 1 / 120, 1 / 5040, 1 / 362880)
# Near a multiple of log 2, with an exponential that `float32` has, too.
_LESS = 1907870 / 2**17
# What functions are, by their code and the type of their operands.
_templates: dict[tuple[CodeType, str], Callable[..., Tensor]] = {}


def acos(x: Tensor, /) -> Tensor:
    """Arc cosine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.acos(svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

    def compute(x: Tensor) -> Tensor:
        # Of roots apart, whose slopes at the ends are infinite and no products of infinity and 0.
        below, above = where(x < 0, x, 0.0), where(x < 0, 0.0, x)
        return where(x < 0, math.pi / 2 - _asin(below), ((1 - above).sqrt() / (1 + above).sqrt()).atan() * 2)

    return _elementary("acos", compute, x)


def acosh(x: Tensor, /) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    >>> import svod
    >>> svod.acosh(svod.Tensor([1.0])).tolist()
    [0.0]
    """

    def compute(x: Tensor) -> Tensor:
        above = x.clamp(max=_LARGE) - 1
        usual = (above + above.sqrt() * (above + 2).sqrt()).log1p()
        return where(x > _LARGE, x.log() + math.log(2), usual)

    def narrow(x: Tensor) -> Tensor:
        # Near 1 by the root that it begins with; else by its logarithm, of numbers whose squares are finite.
        above, near = x - 1, x < 2
        root = (where(near, above, 1.0) * 2).sqrt() * _horner(_ACOSH, where(near, above, 1.0))
        far = where(near, 2.0, x.clamp(max=_LARGE))
        logarithm = (far + ((far - 1) * (far + 1)).sqrt()).log()
        return where(near, root, where(x > _LARGE, x.log() + math.log(2), logarithm))

    return _elementary("acosh", compute, x, narrow, float32)


def asin(x: Tensor, /) -> Tensor:
    """Arc sine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.asin(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.5707963705062866]
    """
    return _elementary("asin", _asin, x)


def asinh(x: Tensor, /) -> Tensor:
    """Inverse hyperbolic sine.

    >>> import svod
    >>> svod.asinh(svod.Tensor([0.0])).tolist()
    [0.0]
    """

    def compute(x: Tensor) -> Tensor:
        a = _magnitude(x)
        small = a.clamp(max=_LARGE)
        square = small * small
        usual = (small + square / (1 + (1 + square).sqrt())).log1p()
        value = where(a > _LARGE, a.clamp(min=_LARGE).log() + math.log(2), usual)
        return where(signbit(x), -value, value)

    return _elementary("asinh", compute, x, compute, float32)


def atan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point `(x2, x1)`, in radians, from -π to π; signs of zeros say from which side.

    >>> import svod
    >>> svod.atan2(svod.Tensor([0.0, 1.0]), svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

    def compute(y: Tensor, x: Tensor) -> Tensor:
        height, width = _magnitude(y), _magnitude(x)
        steep = height > width
        less, more = where(steep, width, height), where(steep, height, width)
        infinite, none = less.isinf() & more.isinf(), less + more == 0
        # At the origin it has no slope.
        ratio = where(infinite, 1.0, where(none, 0.0, less / where(none | infinite, 1.0, more)))
        angle = ratio.atan()
        angle = where(steep, math.pi / 2 - angle, angle)
        angle = where(signbit(x), math.pi - angle, angle)
        return where(signbit(y), -angle, angle)

    def narrow(y: Tensor, x: Tensor) -> Tensor:
        # Infinities as large numbers, of which there are quotients.
        height, width = _magnitude(y).clamp(max=_FAR), _magnitude(x).clamp(max=_FAR)
        steep = height > width
        less, more = where(steep, width, height), where(steep, height, width)
        # At the origin it has no slope.
        none = less + more == 0
        ratio = where(none, 0.0, less / where(none, 1.0, more))
        angle = ratio * _powers(_ATAN, 2 * ratio * ratio - 1)
        angle = where(steep, math.pi / 2 - angle, angle)
        angle = where(signbit(x), math.pi - angle, angle)
        return where(signbit(y), -angle, angle)

    return _in_double("atan2", compute, x1, x2, narrow=narrow)


def atanh(x: Tensor, /) -> Tensor:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    >>> import svod
    >>> svod.atanh(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, inf]
    """
    return _elementary("atanh", lambda x: (x.log1p() - (-x).log1p()) / 2, x)


def cbrt(x: Tensor, /) -> Tensor:
    """The real cube root.

    >>> import svod
    >>> svod.cbrt(svod.Tensor([-8.0, 27.0])).tolist()
    [-2.0, 3.0]
    """

    def compute(x: Tensor) -> Tensor:
        # One step of Newton's method takes the error of `pow` away.
        root = x ** (1 / 3)
        inner = (x > 0) & (x < math.inf)
        safe = where(inner, root, 1.0)
        return where(inner, safe - (safe - x / (safe * safe)) / 3, root)

    return _in_double("cbrt", lambda x: _odd(compute, x), x)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Not below `min` and not above `max`; NaN stays."""
    return x.clone() if min is None and max is None else x.clip(min, max)


def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The absolute value of `x1` with the sign of `x2`, that of zeros and NaN included.

    >>> import svod
    >>> svod.copysign(svod.Tensor([1.0, 2.0]), svod.Tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """
    size, sign = _floats("copysign", x1, x2)
    is_same, turned = signbit(size) == signbit(sign), -size
    if _may_be_differentiated(sign):
        # It follows from the sign as from a rounding, by which its derivative is 0.
        turned = where(is_same, sign.trunc(), turned)
    return where(is_same, size, turned)


def cosh(x: Tensor, /) -> Tensor:
    """Hyperbolic cosine.

    >>> import svod
    >>> svod.cosh(svod.Tensor([0.0])).tolist()
    [1.0]
    """

    def compute(x: Tensor) -> Tensor:
        half = (_magnitude(x) / 2).exp()
        small = x.clamp(-700, 700)
        return where(_magnitude(x) > 700, half / 2 * half, (small.exp() + (-small).exp()) / 2)

    return _elementary("cosh", compute, x)


def divide(x1: Any, x2: Any, /, *, rounding_mode: str | None = None) -> Tensor:
    """True quotient, integers becoming floats; with `rounding_mode` "floor" or "trunc" rounded, of integers an integer.

    >>> import svod
    >>> svod.divide(1, svod.Tensor([2, 4])).tolist()
    [0.5, 0.25]
    """
    if rounding_mode is None:
        x1, x2 = _as_float(x1), _as_float(x2)
    dividend, divisor = _operands(x1, x2)
    return dividend.div(divisor, rounding_mode=rounding_mode)


def hypot(x1: Any, x2: Any, /) -> Tensor:
    """`sqrt(x1² + x2²)` without overflow; infinite where an operand is, whatever the other.

    >>> import svod
    >>> svod.hypot(svod.Tensor([3.0]), 4).tolist()
    [5.0]
    """

    def compute(a: Tensor, b: Tensor) -> Tensor:
        less, more = a.abs().minimum(b.abs()), a.abs().maximum(b.abs())
        ratio = less / where((more == 0) | more.isinf(), 1.0, more)
        return where(a.isinf() | b.isinf(), math.inf, more * (1 + ratio * ratio).sqrt())

    return _in_double("hypot", compute, x1, x2, narrow=compute, within=float32)


def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """`log(exp(x1) + exp(x2))` without overflow.

    >>> import svod
    >>> svod.logaddexp(svod.Tensor([1000.0]), -1000).tolist()
    [1000.0]
    """

    def compute(a: Tensor, b: Tensor) -> Tensor:
        more, apart = _more_and_apart(a, b)
        return more + (-apart).exp().log1p()

    def narrow(a: Tensor, b: Tensor) -> Tensor:
        more, apart = _more_and_apart(a, b)
        power = (-apart).exp()
        # To more digits than are shown: the sum may be nearly 0.
        return more + power * _powers(_LOG1P, 2 * power - 1, 1e-14)

    tensors = _operands(_as_float(x1), _as_float(x2))
    if tensors[0].dtype.is_complex:
        return _complex_sum(*tensors)
    return _in_double("logaddexp", compute, *tensors, narrow=narrow)


def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The number next to `x1` on the way to `x2`.

    >>> import svod
    >>> svod.nextafter(svod.Tensor([1.0]), 2).tolist()
    [1.0000001192092896]
    """
    x, to = _floats("nextafter", x1, x2)
    bits = x.bitcast(_BITS[x.dtype.itemsize])
    away = (x < to) == (x > 0)
    neighbour = where(away, bits + 1, bits - 1).bitcast(x.dtype)
    # The least positive number has 1 for its bits.
    least = copysign(bits.ones_like().bitcast(x.dtype), to)
    there = where(x == to, to, where(x == 0, least, neighbour))
    return where(x.isnan() | to.isnan(), math.nan, there)


def positive(x: Tensor, /) -> Tensor:
    """The numbers as they are."""
    return +x


def signbit(x: Tensor, /) -> Tensor:
    """Whether the sign is that of negative numbers, -0 and negative NaN included; integers are never -0.

    >>> import svod
    >>> svod.signbit(svod.Tensor([-0.0, 0.0, -3.0])).tolist()
    [True, False, True]
    """
    return (x.bitcast(_BITS[x.dtype.itemsize]) if x.dtype.is_floating_point else x) < 0


def sinh(x: Tensor, /) -> Tensor:
    """Hyperbolic sine.

    >>> import svod
    >>> svod.sinh(svod.Tensor([0.0])).tolist()
    [0.0]
    """

    def compute(a: Tensor) -> Tensor:
        less = a.clamp(max=700).expm1()
        half = (a / 2).exp()
        return where(a > 700, half / 2 * half, (less + less / (less + 1)) / 2)

    def narrow(x: Tensor) -> Tensor:
        a = _magnitude(x)
        # By the series, where digits of a difference cancel.
        small = a.clamp(max=1)
        square = small * small
        series = small + small * square * _horner(_SINH, square)
        # The exponential overflows before the function does: of less, by a difference that is exact.
        large = a > 88
        power = where(large, a - _LESS, a).exp()
        usual = power * where(large, math.exp(_LESS) / 2, 0.5) - where(large, 0.0, 0.5 / power)
        value = where(a < 1, series, usual)
        return where(signbit(x), -value, value)

    return _elementary("sinh", lambda x: _odd(compute, x), x, narrow, float32)


def _floats(function: str, *operands: Any) -> list[Tensor]:
    """Operands of a function of real numbers as tensors of their common type; integers become the default float."""
    tensors = _operands(*(_as_float(one) for one in operands))
    if tensors[0].dtype.is_complex:
        given = ", ".join(f"{one.dtype}{list(one.shape)}" for one in tensors)
        raise DTypeError(f"{function}: takes real numbers, not {given}")
    return tensors if tensors[0].dtype.is_floating_point else [one.cast(float32) for one in tensors]


def _as_float(operand: Any) -> Any:
    """An integer of Python's as a float: what computes in floats takes -1 beside unsigned integers too."""
    return float(operand) if type(operand) is int and abs(operand) < 1 << 64 else operand


def _in_double(
    function: str,
    compute: Callable[..., Tensor],
    *operands: Any,
    narrow: Callable[..., Tensor] | None = None,
    within: DType = float64,
) -> Tensor:
    """What a function computes of real numbers in double precision, in the type in which its operands meet.

    By `narrow`, if that is given, where the type is a narrower one, in the type `within`: it may lose digits that such
    a type does not show, and need not take care of numbers that it does not hold.
    """
    tensors = _floats(function, *operands)
    dtype = tensors[0].dtype
    if narrow is None or dtype == float64:
        narrow, within = compute, float64

    def whole(*tensors: Tensor) -> Tensor:
        return narrow(*(one.cast(within) for one in tensors)).cast(dtype)

    # What is made by code alone is the same for all operands of a type.
    if narrow.__closure__ is not None:
        return whole(*tensors)
    key = (narrow.__code__, dtype.name)
    template = _templates.get(key)
    if template is None:
        template = _templates[key] = _template(function, whole, [dtype] * len(tensors)) or whole
    return template(*tensors)


def _elementary(
    name: str,
    compute: Callable[[Tensor], Tensor],
    x: Tensor,
    narrow: Callable[[Tensor], Tensor] | None = None,
    within: DType = float64,
) -> Tensor:
    """A function that is computed so of real numbers; of complex ones it has branch cuts, which the core knows."""
    if x.dtype.is_complex:
        return x._complex_function(name)
    return _in_double(name, compute, x, narrow=narrow, within=within)


def _asin(x: Tensor) -> Tensor:
    """The arc sine by that of half the angle; of roots apart, whose slopes at the ends are infinite."""
    return (x / (1 + (1 - x).sqrt() * (1 + x).sqrt())).atan() * 2


def _magnitude(x: Tensor) -> Tensor:
    """The absolute value, with a derivative of 1 or -1 at 0."""
    return where(signbit(x), -x, x)


def _complex_sum(a: Tensor, b: Tensor) -> Tensor:
    """`log(exp(a) + exp(b))` of complex numbers, by the one whose real part is greater."""
    less, more = where(a.real < b.real, a, b), where(a.real < b.real, b, a)
    same = (less.real == more.real) & less.real.isinf()
    apart = where(same, 0, less - where(same, 0, more))
    usual = more + apart.exp().log1p()
    # Of two zeros the logarithm is the same, whatever their angles; infinite sums have those of both.
    at_infinity = where(less.real < 0, less, (less.exp() + more.exp()).log())
    return where(same, at_infinity, where(less.isnan(), math.nan, usual))


def _more_and_apart(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The greater number, and how far the other one is from it; equal infinities are not apart."""
    return a.maximum(b), where(a == b, 0.0, a - where(a == b, 0.0, b)).abs()


def _in_powers(coefficients: tuple[float, ...], least: float) -> list[float]:
    """The coefficients of powers of a sum of Chebyshev polynomials, without those at its end that are nothing."""
    from numpy.polynomial.chebyshev import cheb2poly

    last = max(at for at, one in enumerate(coefficients) if abs(one) > least)
    found: list[float] = cheb2poly(coefficients[: last + 1]).tolist()
    return found


_of_powers: Callable[[tuple[float, ...], float], list[float]] = functools.cache(_in_powers)


def _powers(coefficients: tuple[float, ...], t: Tensor, least: float = 1e-10) -> Tensor:
    """A sum of Chebyshev polynomials to an error that narrow types do not show, by Horner's rule."""
    return _horner(_of_powers(coefficients, least), t)


def _horner(coefficients: Sequence[float], t: Tensor) -> Tensor:
    """The polynomial of t with these coefficients, the constant one first, by Horner's rule."""
    *lower, highest = coefficients
    value: Any = highest
    for coefficient in reversed(lower):
        value = value * t + coefficient
    made: Tensor = value
    return made


def _odd(compute: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """An odd function by what it is of numbers that are not negative."""
    result = compute(_magnitude(x))
    return where(signbit(x), -result, result)
