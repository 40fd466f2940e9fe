"""NumPy's names of elementwise functions that have another one beside."""

from __future__ import annotations

import math
from typing import Any

from svod import _svod
from svod._svod import DTypeError, Tensor, _operands, where
from svod.library.arithmetic import deg2rad, rad2deg
from svod.library.elementwise import copysign, nextafter
from svod.library.reductions import _as_floats

__all__ = [
    "around",
    "conjugate",
    "degrees",
    "divmod",
    "fabs",
    "invert",
    "left_shift",
    "mod",
    "modf",
    "power",
    "radians",
    "right_shift",
    "rint",
    "spacing",
]


def around(x: Tensor, /, decimals: int = 0) -> Tensor:
    """As `svod.round`: to so many decimals, halves to the even number.

    >>> import svod
    >>> svod.around(svod.Tensor([1.25, 2.5])).tolist()
    [1.0, 2.0]
    """
    return x.round(decimals=decimals)


def conjugate(x: Tensor, /) -> Tensor:
    """As `svod.conj`: the imaginary part with the other sign.

    >>> import svod
    >>> svod.conjugate(svod.Tensor([1 + 2j])).tolist()
    [(1-2j)]
    """
    return x.conj()


def degrees(x: Tensor, /) -> Tensor:
    """As `svod.rad2deg`: an angle in degrees.

    >>> import svod
    >>> svod.degrees(svod.Tensor([0.0])).tolist()
    [0.0]
    """
    return rad2deg(x)


def divmod(x1: Any, x2: Any, /) -> tuple[Tensor, Tensor]:
    """The quotients, rounded down, and what is left: `floor_divide` and `remainder`.

    >>> import svod
    >>> [part.tolist() for part in svod.divmod(svod.Tensor([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """
    first, second = _operands(x1, x2)
    return first // second, first % second


def fabs(x: Tensor, /) -> Tensor:
    """The magnitude of real numbers, as floats.

    >>> import svod
    >>> svod.fabs(svod.Tensor([-2])).tolist()
    [2.0]
    """
    if x.is_complex():
        raise DTypeError(f"fabs: real numbers are expected, not {x.dtype}: svod.abs is defined for those")
    return (x if x.is_floating_point() else x.float()).abs()


def invert(x: Tensor, /) -> Tensor:
    """As `svod.bitwise_not`.

    >>> import svod
    >>> svod.invert(svod.Tensor([True, False])).tolist()
    [False, True]
    """
    return ~x


def left_shift(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.bitwise_left_shift`.

    >>> import svod
    >>> svod.left_shift(svod.Tensor([1, 2]), 3).tolist()
    [8, 16]
    """
    return _svod.bitwise_left_shift(*_operands(x1, x2))


def mod(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.remainder`: it has the divisor's sign.

    >>> import svod
    >>> svod.mod(svod.Tensor([-1, 7]), 3).tolist()
    [2, 1]
    """
    return _svod.remainder(*_operands(x1, x2))


def modf(x: Tensor, /) -> tuple[Tensor, Tensor]:
    """What is behind the point, and what is before it, both with the sign of the number.

    >>> import svod
    >>> [part.tolist() for part in svod.modf(svod.Tensor([2.5, -0.5]))]
    [[0.5, -0.5], [2.0, -0.0]]
    """
    x = _real_floats("modf", x)
    whole = copysign(x.trunc(), x)
    return copysign(where(x.isinf(), 0.0, x - whole), x), whole


def power(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.pow`.

    >>> import svod
    >>> svod.power(svod.Tensor([2, 3]), 2).tolist()
    [4, 9]
    """
    return _svod.pow(*_operands(x1, x2))


def radians(x: Tensor, /) -> Tensor:
    """As `svod.deg2rad`: an angle in radians.

    >>> import svod
    >>> svod.radians(svod.Tensor([0.0])).tolist()
    [0.0]
    """
    return deg2rad(x)


def right_shift(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.bitwise_right_shift`.

    >>> import svod
    >>> svod.right_shift(svod.Tensor([8, 16]), 3).tolist()
    [1, 2]
    """
    return _svod.bitwise_right_shift(*_operands(x1, x2))


def rint(x: Tensor, /) -> Tensor:
    """As `svod.round`: to the nearest integer, halves to the even one.

    >>> import svod
    >>> svod.rint(svod.Tensor([0.5, 1.5])).tolist()
    [0.0, 2.0]
    """
    return x.round()


def spacing(x: Tensor, /) -> Tensor:
    """How far a number is from the next one that its type has, away from zero; negative where the number is.

    >>> import svod
    >>> svod.spacing(svod.Tensor([1.0])).item() == svod.finfo("float32").eps
    True
    """
    x = _real_floats("spacing", x)
    magnitude = x.abs()
    far = nextafter(magnitude, math.inf) - magnitude
    return where(x < 0, -far, far)


def _real_floats(name: str, x: Tensor) -> Tensor:
    """Real numbers as floats."""
    if x.is_complex():
        raise DTypeError(f"{name}: real numbers are expected, not {x.dtype.name}")
    return _as_floats(x)
