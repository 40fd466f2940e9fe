"""Functions of each element."""

from __future__ import annotations

from typing import Any

from svod._svod import Tensor, _operands, where

__all__ = ["clip", "copysign", "divide", "positive", "signbit"]

# Integers as wide as floats.
_BITS = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Not below `min` and not above `max`; NaN stays."""
    return x.clip(min, max)


def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The absolute value of `x1` with the sign of `x2`, that of zeros and NaN included.

    >>> import svod
    >>> svod.copysign(svod.Tensor([1.0, 2.0]), svod.Tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """
    size, sign = _floats(x1, x2)
    size = size.abs()
    return where(signbit(sign), -size, size)


def divide(x1: Any, x2: Any, /) -> Tensor:
    """True quotient, integers becoming floats.

    >>> import svod
    >>> svod.divide(1, svod.Tensor([2, 4])).tolist()
    [0.5, 0.25]
    """
    dividend, divisor = _operands(x1, x2)
    return dividend.div(divisor)


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


def _floats(*operands: Any) -> list[Tensor]:
    """Operands as tensors of their common type; integers become the default float."""
    tensors = _operands(*operands)
    return tensors if tensors[0].dtype.is_floating_point else [one.float() for one in tensors]
