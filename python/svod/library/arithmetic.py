"""Functions of each element by PyTorch's and NumPy's names: sums of products, remainders, parts of floats, tests."""

from __future__ import annotations

import math
from typing import Any

from svod._place import device_of
from svod._svod import (
    ArgumentError,
    DTypeError,
    ShapeError,
    Tensor,
    _operands,
    _tensor,
    complex,
    floor_divide,
    remainder,
    subtract,
    where,
    zeros,
)
from svod.library.dtypes import finfo
from svod.library.elementwise import _as_float, _in_double, _magnitude, _more_and_apart, divide, signbit
from svod.library.special import lgamma

__all__ = [
    "__divmod__",
    "__rdivmod__",
    "addcdiv",
    "addcmul",
    "allclose",
    "array_equal",
    "array_equiv",
    "clamp_max",
    "clamp_min",
    "conj_physical",
    "deg2rad",
    "fix",
    "float_power",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frexp",
    "gcd",
    "heaviside",
    "isclose",
    "iscomplex",
    "isneginf",
    "isposinf",
    "isreal",
    "lcm",
    "ldexp",
    "logaddexp2",
    "logit",
    "mvlgamma",
    "nan_to_num",
    "rad2deg",
    "rsub",
    "sgn",
    "sinc",
    "true_divide",
]


def __divmod__(x: Tensor, other: Any, /) -> tuple[Tensor, Tensor]:
    """The quotient rounded down, and the remainder.

    >>> import svod
    >>> [part.tolist() for part in divmod(svod.Tensor([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """
    return x // other, x % other


def __rdivmod__(x: Tensor, other: Any, /) -> tuple[Tensor, Tensor]:
    """The quotient of something else by the tensor, rounded down, and the remainder.

    >>> import svod
    >>> [part.tolist() for part in divmod(7, svod.Tensor([2, 3]))]
    [[3, 2], [1, 1]]
    """
    return other // x, other % x


def addcdiv(x: Tensor, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Tensor:
    """`x + value * tensor1 / tensor2`.

    >>> import svod
    >>> svod.addcdiv(svod.Tensor([1.0]), svod.Tensor([6.0]), svod.Tensor([3.0]), value=2).tolist()
    [5.0]
    """
    x, a, b = _operands(x, tensor1, tensor2)
    quotient = divide(a, b)
    return x + (quotient if _is_one(value) else quotient * value)


def addcmul(x: Tensor, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Tensor:
    """`x + value * tensor1 * tensor2`.

    >>> import svod
    >>> svod.addcmul(svod.Tensor([1.0]), svod.Tensor([6.0]), svod.Tensor([3.0]), value=2).tolist()
    [37.0]
    """
    x, a, b = _operands(x, tensor1, tensor2)
    return x + (a * b if _is_one(value) else a * b * value)


def allclose(x1: Any, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` has it; computed now.

    >>> import svod
    >>> svod.allclose(svod.Tensor([1.0]), 1.000001)
    True
    """
    return bool(isclose(x1, x2, rtol, atol, equal_nan).all().item())


def array_equal(x1: Any, x2: Any, /, equal_nan: bool = False) -> bool:
    """Whether two tensors have one shape and the same elements; NaN is like none, or, with `equal_nan`, like NaN.

    >>> import svod
    >>> svod.array_equal(svod.Tensor([1, 2]), [1, 2]), svod.array_equal(svod.ones(1), svod.ones(2))
    (True, False)
    """
    a, b = _tensor(x1), _tensor(x2)
    if a.shape != b.shape:
        return False
    same = a == b
    if equal_nan:
        same = same | (a.isnan() & b.isnan())
    return bool(same.all().item())


def array_equiv(x1: Any, x2: Any, /) -> bool:
    """Whether two tensors broadcast, and have the same elements then.

    >>> import svod
    >>> svod.array_equiv([1, 1], [[1], [1]]), svod.array_equiv([1, 2], [1, 2, 3])
    (True, False)
    """
    a, b = _tensor(x1), _tensor(x2)
    try:
        same = a == b
    except ShapeError:
        return False
    return bool(same.all().item())


def clamp_max(x: Tensor, max: Any, /) -> Tensor:
    """Not above `max`; NaN stays.

    >>> import svod
    >>> svod.clamp_max(svod.Tensor([1, 5]), 3).tolist()
    [1, 3]
    """
    return x.clamp(max=max)


def clamp_min(x: Tensor, min: Any, /) -> Tensor:
    """Not below `min`; NaN stays.

    >>> import svod
    >>> svod.clamp_min(svod.Tensor([1, 5]), 3).tolist()
    [3, 5]
    """
    return x.clamp(min=min)


def conj_physical(x: Tensor, /) -> Tensor:
    """The numbers with imaginary parts of the opposite sign.

    >>> import svod
    >>> svod.conj_physical(svod.Tensor([1 + 2j])).tolist()
    [(1-2j)]
    """
    return x.conj().clone()


def deg2rad(x: Tensor, /) -> Tensor:
    """Angles in degrees as radians.

    >>> import svod
    >>> svod.deg2rad(svod.Tensor([180.0])).tolist()
    [3.1415927410125732]
    """
    return _in_double("deg2rad", lambda x: x * (math.pi / 180), x)


def fix(x: Tensor, /) -> Tensor:
    """The integer part, in the same type.

    >>> import svod
    >>> svod.fix(svod.Tensor([-1.5, 1.5])).tolist()
    [-1.0, 1.0]
    """
    return x.trunc()


def float_power(x1: Any, x2: Any, /) -> Tensor:
    """Power in double precision, whatever the types.

    >>> import svod
    >>> svod.float_power(svod.Tensor([2]), -1).tolist()
    [0.5]
    """
    wide = "complex128" if _operands(_as_float(x1), _as_float(x2))[0].is_complex() else "float64"
    base, exponent = (one.cast(wide) if isinstance(one, Tensor) else Tensor(one, wide) for one in (x1, x2))
    return base.pow(exponent)


def fmax(x1: Any, x2: Any, /) -> Tensor:
    """The greater; where one is NaN the other.

    >>> import svod
    >>> svod.fmax(svod.Tensor([1.0, svod.nan]), 0.5).tolist()
    [1.0, 0.5]
    """
    a, b = _operands(x1, x2)
    return where(a.isnan(), b, where(b.isnan(), a, a.maximum(b))) if a.dtype.is_floating_point else a.maximum(b)


def fmin(x1: Any, x2: Any, /) -> Tensor:
    """The lesser; where one is NaN the other.

    >>> import svod
    >>> svod.fmin(svod.Tensor([1.0, svod.nan]), 0.5).tolist()
    [0.5, 0.5]
    """
    a, b = _operands(x1, x2)
    return where(a.isnan(), b, where(b.isnan(), a, a.minimum(b))) if a.dtype.is_floating_point else a.minimum(b)


def fmod(x1: Any, x2: Any, /) -> Tensor:
    """What division leaves, of the dividend's sign, exactly; by an integer 0 it is 0.

    >>> import svod
    >>> svod.fmod(svod.Tensor([-7, 7]), svod.Tensor([3, -3])).tolist()
    [-1, 1]
    """
    a, b = _operands(x1, x2)
    if a.dtype.is_floating_point:
        left = remainder(_magnitude(a), _magnitude(b))
        return where(signbit(a), -left, left)
    left = remainder(a, b)
    return where((left != 0) & ((left < 0) != (a < 0)), left - b, left)


def frac(x: Tensor, /) -> Tensor:
    """What is behind the point, of the number's sign.

    >>> import svod
    >>> svod.frac(svod.Tensor([-1.5, 2.25])).tolist()
    [-0.5, 0.25]
    """
    if not x.dtype.is_floating_point:
        raise DTypeError(f"frac: a tensor of floats is expected, not {x.dtype.name}")
    return x - x.trunc()


def frexp(x: Tensor, /) -> tuple[Tensor, Tensor]:
    """`mantissa` and `exponent` with `x = mantissa * 2**exponent`; the mantissa is from 0.5 to 1, or 0, inf or NaN.

    >>> import svod
    >>> [part.tolist() for part in svod.frexp(svod.Tensor([6.0]))]
    [[0.75], [3]]
    """
    if not x.dtype.is_floating_point:
        raise DTypeError(f"frexp: a tensor of floats is expected, not {x.dtype.name}")
    wide = x.cast("float64")
    is_tiny = wide.abs() < finfo("float64").smallest_normal
    bits = where(is_tiny, wide * 2.0**54, wide).bitcast("int64")
    exponent = ((bits >> 52) & 0x7FF) - 1022 - where(is_tiny, 54, 0)
    mantissa = ((bits & ~(0x7FF << 52)) | (1022 << 52)).bitcast("float64")
    as_it_is = (wide == 0) | ~wide.isfinite()
    # Bits have no slope: that of the mantissa is the power of two.
    power = (-exponent).clamp(-1074, 1023).cast("float64").exp2()
    slope = where(as_it_is, 0.0, (wide - wide.detach()) * power)
    return where(as_it_is, x, (mantissa + slope).cast(x.dtype)), where(as_it_is, 0, exponent).cast("int32")


def gcd(x1: Any, x2: Any, /) -> Tensor:
    """The greatest common divisor, by Euclid's algorithm; 0 of zeros.

    >>> import svod
    >>> svod.gcd(svod.Tensor([12, -8]), 18).tolist()
    [6, 2]
    """
    a, b = _integers("gcd", x1, x2)
    kind = a.dtype
    # Fibonacci numbers take the most steps, each of less than 0.7 bits.
    steps = math.ceil(8 * kind.itemsize / math.log2((1 + math.sqrt(5)) / 2))
    if kind.itemsize > 4:
        a, b = a.abs(), b.abs()
        for _ in range(steps):
            a, b = where(b == 0, a, b), where(b == 0, b, remainder(a, b))
        # The least integer has no absolute value, and remainders by it are negative.
        return a.abs()
    # Vectors of `float64` are divided faster than integers, and quotients of 32 bits by as many are exact below: one
    # that is not whole is at least 1 / b below the next integer, much more than half of its last digit.
    a, b = a.cast("float64").abs(), b.cast("float64").abs()
    for _ in range(steps):
        none = b == 0
        rest = a - b * (a / where(none, 1.0, b)).floor()
        a, b = where(none, a, b), where(none, b, rest)
    return a.cast("int64").cast(kind)


def heaviside(x1: Any, x2: Any, /) -> Tensor:
    """0 below 0, 1 above, and `x2` at 0; NaN stays.

    >>> import svod
    >>> svod.heaviside(svod.Tensor([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """
    x, at_zero = _operands(x1, x2)
    step = where(x == 0, at_zero, (x > 0).cast(x.dtype))
    return where(x.isnan(), x, step) if x.dtype.is_floating_point else step


def isclose(x1: Any, x2: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether `|x1 - x2| <= atol + rtol * |x2|`, or both are equal; with `equal_nan` also where both are NaN.

    >>> import svod
    >>> svod.isclose(svod.Tensor([1.0, 2.0, svod.inf]), svod.Tensor([1.0000001, 2.1, svod.inf])).tolist()
    [True, False, True]
    """
    a, b = _operands(x1, x2)
    if rtol < 0 or atol < 0:
        raise ArgumentError(f"isclose: rtol and atol are not negative, not {rtol} and {atol}")
    equal = a == b
    if not (a.dtype.is_floating_point or a.is_complex()):
        a, b = a.cast("float64"), b.cast("float64")
    close = equal | (b.isfinite() & ((a - b).abs() <= atol + rtol * b.abs()))
    return close | (a.isnan() & b.isnan()) if equal_nan else close


def iscomplex(x: Tensor, /) -> Tensor:
    """Whether an element has an imaginary part.

    >>> import svod
    >>> svod.iscomplex(svod.Tensor([1 + 0j, 1j])).tolist()
    [False, True]
    """
    return x.imag != 0 if x.is_complex() else zeros(*x.shape, dtype="bool", device=device_of(x))


def isneginf(x: Tensor, /) -> Tensor:
    """Whether an element is -inf.

    >>> import svod
    >>> svod.isneginf(svod.Tensor([-svod.inf, svod.inf])).tolist()
    [True, False]
    """
    return x == -math.inf if x.dtype.is_floating_point else zeros(*x.shape, dtype="bool", device=device_of(x))


def isposinf(x: Tensor, /) -> Tensor:
    """Whether an element is inf.

    >>> import svod
    >>> svod.isposinf(svod.Tensor([-svod.inf, svod.inf])).tolist()
    [False, True]
    """
    return x == math.inf if x.dtype.is_floating_point else zeros(*x.shape, dtype="bool", device=device_of(x))


def isreal(x: Tensor, /) -> Tensor:
    """Whether an element has no imaginary part.

    >>> import svod
    >>> svod.isreal(svod.Tensor([1 + 0j, 1j])).tolist()
    [True, False]
    """
    return x.imag == 0 if x.is_complex() else zeros(*x.shape, dtype="bool", device=device_of(x)) == 0


def lcm(x1: Any, x2: Any, /) -> Tensor:
    """The least common multiple; 0 where one is 0.

    >>> import svod
    >>> svod.lcm(svod.Tensor([4, -6]), 6).tolist()
    [12, 6]
    """
    a, b = _integers("lcm", x1, x2)
    common = gcd(a, b)
    return floor_divide(a.abs(), where(common == 0, 1, common)) * b.abs()


def ldexp(x1: Any, x2: Any, /) -> Tensor:
    """`x1 * 2**x2`, also where the power alone overflows.

    >>> import svod
    >>> svod.ldexp(svod.Tensor([0.75]), 3).tolist()
    [6.0]
    """
    x, exponent = _tensor(x1), _tensor(x2)
    if x.dtype.is_complex or exponent.dtype.is_complex:
        return x * 2**exponent
    wide = exponent.cast("float64")
    half = (wide / 2).floor()
    made = x.cast("float64") * half.exp2() * (wide - half).exp2()
    return made.cast(x.dtype if x.dtype.is_floating_point else "float32")


def logaddexp2(x1: Any, x2: Any, /) -> Tensor:
    """`log2(2**x1 + 2**x2)` without overflow.

    >>> import svod
    >>> svod.logaddexp2(svod.Tensor([3.0]), 3).tolist()
    [4.0]
    """

    def compute(a: Tensor, b: Tensor) -> Tensor:
        more, apart = _more_and_apart(a, b)
        return more + (-apart).exp2().log1p() / math.log(2)

    return _in_double("logaddexp2", compute, x1, x2)


def logit(x: Tensor, /, eps: float | None = None) -> Tensor:
    """`log(x / (1 - x))`, of what is clamped to `eps` from 0 and 1 first.

    >>> import svod
    >>> svod.logit(svod.Tensor([0.5, 1.0])).tolist()
    [0.0, inf]
    """

    def compute(x: Tensor) -> Tensor:
        within = x if eps is None else x.clamp(eps, 1 - eps)
        return (within / (1 - within)).log()

    return _in_double("logit", compute, x)


def mvlgamma(x: Tensor, p: int, /) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    >>> import svod
    >>> svod.mvlgamma(svod.Tensor([2.0]), 1).tolist()
    [0.0]
    """
    if p < 1:
        raise ArgumentError(f"mvlgamma: p is at least 1, not {p}")

    def compute(x: Tensor) -> Tensor:
        terms = lgamma(x)
        for j in range(1, p):
            terms = terms + lgamma(x - j / 2)
        return terms + p * (p - 1) / 4 * math.log(math.pi)

    return _in_double("mvlgamma", compute, x)


def nan_to_num(x: Tensor, /, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """Other numbers in place of NaN and infinities, by default the greatest and the least of the type.

    >>> import svod
    >>> svod.nan_to_num(svod.Tensor([svod.nan, 1.0, svod.inf]), posinf=9).tolist()
    [0.0, 1.0, 9.0]
    """
    if x.is_complex():
        real, imag = (nan_to_num(part, nan, posinf, neginf) for part in (x.real, x.imag))
        return complex(real, imag)
    if not x.dtype.is_floating_point:
        return x.clone()
    limits = finfo(x.dtype)
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    finite = where(x == math.inf, high, where(x == -math.inf, low, x))
    return where(x.isnan(), 0.0 if nan is None else nan, finite)


def rad2deg(x: Tensor, /) -> Tensor:
    """Angles in radians as degrees.

    >>> import svod
    >>> svod.rad2deg(svod.Tensor([0.0])).tolist()
    [0.0]
    """
    return _in_double("rad2deg", lambda x: x * (180 / math.pi), x)


def rsub(x: Tensor, other: Any, /, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * x`.

    >>> import svod
    >>> svod.rsub(svod.Tensor([1, 2]), 5).tolist()
    [4, 3]
    """
    return subtract(other, x) if _is_one(alpha) else subtract(other, x, alpha=alpha)


def sgn(x: Tensor, /) -> Tensor:
    """-1, 0 or 1; of complex numbers `x / |x|`.

    >>> import svod
    >>> svod.sgn(svod.Tensor([-3.0, 0.0])).tolist()
    [-1.0, 0.0]
    """
    return x.sign()


def sinc(x: Tensor, /) -> Tensor:
    """`sin(π x) / (π x)`, 1 at 0.

    >>> import svod
    >>> svod.sinc(svod.Tensor([0.0, 0.5])).tolist()
    [1.0, 0.6366197466850281]
    """

    if x.dtype.is_complex:
        scaled = x * math.pi
        return where(x == 0, 1, scaled.sin() / where(x == 0, 1, scaled))

    def compute(x: Tensor) -> Tensor:
        # By how far x is from an even integer, which is exact.
        angle = (x - 2 * (x / 2).round()) * math.pi
        angle = where(x.isinf(), math.nan, angle)
        whole = where(x == 0, 1.0, x) * math.pi
        return where(x == 0, 1 - (x * math.pi) ** 2 / 6, angle.sin() / whole)

    return _in_double("sinc", compute, x)


def true_divide(x1: Any, x2: Any, /) -> Tensor:
    """True quotient, integers becoming floats.

    >>> import svod
    >>> svod.true_divide(svod.Tensor([1]), 2).tolist()
    [0.5]
    """
    return divide(x1, x2)


def _is_one(factor: Any) -> bool:
    """Whether a factor is the number that changes nothing."""
    return isinstance(factor, int) and factor == 1


def _integers(name: str, *operands: Any) -> list[Tensor]:
    """Operands as integers of their common type."""
    tensors = _operands(*operands)
    dtype = tensors[0].dtype
    if dtype == "bool" or dtype.is_floating_point or tensors[0].is_complex():
        raise DTypeError(f"{name}: tensors of integers are expected, not {dtype.name}")
    return tensors
