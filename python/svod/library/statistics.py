"""Folds and scans along axes."""

from __future__ import annotations

from typing import Any

from svod._svod import Tensor

__all__ = ["cumulative_prod", "cumulative_sum"]


def _only_axis(x: Tensor, axis: int | None) -> int | None:
    """The axis of a scan, which a 1-d tensor need not name."""
    return 0 if axis is None and x.ndim == 1 else axis


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The products of the elements up to each one along an axis, which a 1-d tensor need not name."""
    return x.cumprod(_only_axis(x, axis), dtype=dtype)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The sums of the elements up to each one along an axis, which a 1-d tensor need not name."""
    return x.cumsum(_only_axis(x, axis), dtype=dtype)
