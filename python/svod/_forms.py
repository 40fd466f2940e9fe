"""What compiled classes take in NumPy's forms, beside PyTorch's, and in PyTorch's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from svod._svod import Size, Tensor

__all__ = ["install"]

_swapped = Tensor.transpose


def install() -> None:
    """Gives the classes these methods."""
    Size.__new__ = staticmethod(_extents)  # type: ignore[method-assign]
    _transpose.__name__, _transpose.__qualname__, _transpose.__module__ = "transpose", "Tensor.transpose", "svod"
    Tensor.transpose = _transpose  # type: ignore[method-assign]


def _transpose(self: Tensor, /, *axes: Any, **named: Any) -> Tensor:
    """Two dimensions exchanged, as PyTorch has it: `x.transpose(0, 1)`.

    NumPy's forms are taken where they are no pair: all dimensions in the order of a tuple, or of three or more
    integers, and without any in reverse order.

    >>> import svod
    >>> x = svod.ones(2, 3, 4)
    >>> x.transpose(0, 2).shape, x.transpose(2, 0, 1).shape, x.transpose((2, 0, 1)).shape, x.transpose().shape
    ((4, 3, 2), (4, 2, 3), (4, 2, 3), (4, 3, 2))
    """
    if not axes and named.keys() == {"axes"}:
        axes, named = (named["axes"],), {}
    if len(axes) == 2 or named:
        return _swapped(self, *axes, **named)
    if not axes or axes[0] is None:
        return self._transposed([*range(self.ndim)][::-1])
    return self._transposed([*(axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes)])


def _extents(cls: type[Size], extents: Iterable[Any] = (), /) -> tuple[Any, ...]:
    """PyTorch's `Size([1, 2])`: a shape, which is a tuple."""
    return tuple(extents)
