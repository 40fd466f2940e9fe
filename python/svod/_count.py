"""`x.size`: the number of a tensor's elements, as the array API standard has it, which is PyTorch's method too."""

from __future__ import annotations

import operator
from typing import Any

from svod._svod import ArgumentTypeError
from svod.library._axes import axis_of

__all__ = ["Count", "extents"]


class Count(int):
    """The number of elements; called, the extents, or that of one axis.

    >>> import svod
    >>> x = svod.ones(2, 3)
    >>> x.size, x.size == 6, x.size(), x.size(0)
    (6, True, (2, 3), 2)
    """

    _shape: tuple[Any, ...]

    def __new__(cls, number: int, shape: tuple[Any, ...]) -> Count:
        made = int.__new__(cls, number)
        made._shape = shape
        return made

    def __call__(self, dim: int | None = None, *, axis: int | None = None) -> Any:
        """The extents, or that of one axis."""
        return extents(self._shape, dim, axis)

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)


def extents(shape: tuple[Any, ...], dim: int | None, axis: int | None) -> Any:
    """All of a shape, or the extent of the axis that one of its two names gives."""
    if dim is not None and axis is not None:
        raise ArgumentTypeError("size: axis and dim are one argument: give only one of them")
    at = dim if axis is None else axis
    if at is None:
        return shape
    try:
        number = operator.index(at)
    except TypeError:
        number = None
    if number is None or isinstance(at, bool):
        name = "dim" if axis is None else "axis"
        raise ArgumentTypeError(f"size: {name}: an integer is expected, not {at!r}")
    return shape[axis_of("size", number, len(shape))]
