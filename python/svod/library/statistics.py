"""Folds and scans along axes."""

from __future__ import annotations

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
    axis = _only_axis(x, axis)
    scanned = x.cumprod(axis, dtype=_accumulated(x) if dtype is None else dtype)
    return cat([ones(*_one_slice(x, axis or 0), dtype=scanned.dtype), scanned], axis) if include_initial else scanned


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Tensor:
    """The sums of the elements up to each one along an axis, which a 1-d tensor need not name.

    With `include_initial` that of none, 0, is first. Of unsigned integers the result is `uint64`, of others `int64`.

    >>> import svod
    >>> svod.cumulative_sum(svod.Tensor([2, 3]), include_initial=True).tolist()
    [0, 2, 5]
    """
    axis = _only_axis(x, axis)
    scanned = x.cumsum(axis, dtype=_accumulated(x) if dtype is None else dtype)
    return cat([zeros(*_one_slice(x, axis or 0), dtype=scanned.dtype), scanned], axis) if include_initial else scanned


def _accumulated(x: Tensor) -> str | None:
    """The type of sums where the standard's differs from PyTorch's, which the methods have."""
    return "uint64" if x.dtype.name.startswith("uint") else None


def _only_axis(x: Tensor, axis: int | None) -> int | None:
    """The axis of a scan, which a 1-d tensor need not name."""
    return 0 if axis is None and x.ndim == 1 else axis
