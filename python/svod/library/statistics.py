"""Folds and scans along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from svod._svod import DTypeError, Tensor, _operands, cat, ones, where, zeros
from svod.library._axes import axis_of
from svod.library.manipulation import _one_slice
from svod.library.reductions import _as_floats, _without_nan

__all__ = ["cumulative_prod", "cumulative_sum", "ediff1d", "nancumprod", "nancumsum", "unwrap"]


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


def ediff1d(x: Tensor, /, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of neighbours in the flat tensor, between what is put at the beginning and at the end.

    >>> import svod
    >>> svod.ediff1d(svod.Tensor([1, 4, 9]), to_begin=0, to_end=[7, 8]).tolist()
    [0, 3, 5, 7, 8]
    """
    flat = x.flatten()
    parts = [flat[1:] - flat[:-1]]
    for name, given in (("to_begin", to_begin), ("to_end", to_end)):
        if given is None:
            continue
        added, _ = _operands(given, flat)
        if added.dtype != flat.dtype:
            raise DTypeError(f"ediff1d: {name}: what {flat.dtype.name} can hold is expected, not {added.dtype.name}")
        parts.insert(0 if name == "to_begin" else len(parts), added.flatten())
    return cat(parts, 0)


def nancumprod(x: Tensor, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The products of the elements that are not NaN up to each one along an axis, by default of the flat tensor.

    >>> import svod
    >>> svod.nancumprod(svod.Tensor([2.0, svod.nan, 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """
    x = _without_nan(x if axis is not None else x.flatten(), 1)
    return cumulative_prod(x, axis=axis or 0, dtype=dtype)


def nancumsum(x: Tensor, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The sums of the elements that are not NaN up to each one along an axis, by default of the flat tensor.

    >>> import svod
    >>> svod.nancumsum(svod.Tensor([2.0, svod.nan, 3.0])).tolist()
    [2.0, 2.0, 5.0]
    """
    x = _without_nan(x if axis is not None else x.flatten(), 0)
    return cumulative_sum(x, axis=axis or 0, dtype=dtype)


def unwrap(x: Tensor, /, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi) -> Tensor:
    """Angles along an axis without the jumps by a period: a step of more than `discont`, by default half a period, is
    made less by the multiple of the period that leaves the least one.

    >>> import svod
    >>> svod.unwrap(svod.Tensor([0.0, 3.0, -3.0])).round(decimals=3).tolist()
    [0.0, 3.0, 3.2829999923706055]
    """
    axis = axis_of("unwrap", axis, x.ndim)
    if x.shape[axis] == 0:
        return x
    whole = not x.is_floating_point() and isinstance(period, int)
    x = x if whole else _as_floats(x)
    half = period // 2 if whole else period / 2
    least = half if discont is None else discont
    lines = x.movedim(axis, -1)
    steps = lines[..., 1:] - lines[..., :-1]
    within = (steps + half) % period - half
    if not (whole and period % 2):
        within = where((within == -half) & (steps > 0), half, within)
    more = where(steps.abs() < least, 0, within - steps).cast(lines.dtype)
    sums = cat([lines[..., :1], lines[..., 1:] + more.cumsum(-1)], -1)
    return sums.cast(lines.dtype).movedim(-1, axis)


def _scanned(
    x: Tensor, scan: Callable[..., Tensor], initial: Callable[..., Tensor] | None, axis: int | None, dtype: Any
) -> Tensor:
    """A scan along an axis, which a 1-d tensor need not name, behind the scan of no elements where it is asked for."""
    if initial is not None and x.ndim == 0 and axis in (None, 0, -1):
        x = x.unsqueeze(0)
    axis = 0 if axis is None and x.ndim == 1 else axis
    scanned = scan(x, axis, dtype=_accumulated(x) if dtype is None else dtype)
    if initial is None:
        return scanned
    return cat([initial(*_one_slice(x, axis or 0), dtype=scanned.dtype), scanned], axis)


def _accumulated(x: Tensor) -> str | None:
    """The type of sums where the standard's differs from PyTorch's, which the methods have."""
    return "uint64" if x.dtype.name.startswith("uint") else None
