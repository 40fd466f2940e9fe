"""The error of an axis that is not there, which has a class of its own."""

from __future__ import annotations

from typing import Any

from svod._svod import IndexError, ShapeError

__all__ = ["AxisError"]

# How the texts of these errors go on behind the operation's name: they are made by `library._axes`, and by the compiled
# module, which knows no other class for them than `ShapeError`.
_BEGINS = (": axis ", " is out of range for rank ")


class AxisError(ShapeError, IndexError):
    """An axis that a tensor has not: a `ValueError` and an `IndexError`, as NumPy's of this name.

    >>> import svod
    >>> try:
    ...     svod.ones(2, 3).sum(5)
    ... except IndexError as error:
    ...     type(error).__name__, str(error)
    ('AxisError', 'sum: axis 5 is out of range for rank 2, which takes -2 to 1')
    """

    __module__ = "svod"
    kind = "axis"


def _new(cls: type[ShapeError], *args: Any, **kwds: Any) -> ShapeError:
    """A `ShapeError`, which is an `AxisError` where its text says so."""
    is_axis = cls is ShapeError and args and all(part in str(args[0]) for part in _BEGINS)
    made: ShapeError = Exception.__new__(AxisError if is_axis else cls, *args, **kwds)
    return made


ShapeError.__new__ = _new  # type: ignore[method-assign, assignment]
