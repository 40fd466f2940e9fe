"""Folds and scans along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from svod._svod import Tensor, cat, ones, zeros
from svod.library.manipulation import _one_slice

__all__ = ["cumulative_prod", "cumulative_sum"]


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The products of the elements up to each one along an axis, which a 1-d tensor need not name.

    With `include_initial` that of none, 1, is first. Of unsigned integers the result is `uint64`, of others `int64`.

    >>> import svod
    >>> svod.cumulative_prod(svod.Tensor([2, 3]), include_initial=True).tolist()
    [1, 2, 6]
    """
    return _scanned(x, Tensor.cumprod, ones if include_initial else None, axis, dtype)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The sums of the elements up to each one along an axis, which a 1-d tensor need not name.

    With `include_initial` that of none, 0, is first. Of unsigned integers the result is `uint64`, of others `int64`.

    >>> import svod
    >>> svod.cumulative_sum(svod.Tensor([2, 3]), include_initial=True).tolist()
    [0, 2, 5]
    """
    return _scanned(x, Tensor.cumsum, zeros if include_initial else None, axis, dtype)


def _scanned(
    x: Tensor, scan: Callable[..., Tensor], initial: Callable[..., Tensor] | None, axis: int | None, dtype: Any
) -> Tensor:
    """A scan along an axis, which a 1-d tensor need not name, behind the scan of no elements where it is asked for."""
    axis = 0 if axis is None and x.ndim == 1 else axis
    scanned = scan(x, axis, dtype=_accumulated(x) if dtype is None else dtype)
    if initial is None:
        return scanned
    return cat([initial(*_one_slice(x, axis or 0), dtype=scanned.dtype), scanned], axis)


def _accumulated(x: Tensor) -> str | None:
    """The type of sums where the standard's differs from PyTorch's, which the methods have."""
    return "uint64" if x.dtype.name.startswith("uint") else None
