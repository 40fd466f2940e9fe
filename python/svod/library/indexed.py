"""Tensors with some elements replaced, and elements by position, by PyTorch's names. None changes its argument."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from svod._place import known, made_beside
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    IndexError,
    ShapeError,
    Tensor,
    _tensor,
    arange,
    stack,
    where,
    zeros,
)
from svod.library._axes import axis_of
from svod.library._spelling import beside
from svod.library.manipulation import _extents, broadcast_shapes

__all__ = [
    "apply",
    "argwhere",
    "as_strided",
    "as_strided_scatter",
    "fill",
    "index_fill",
    "index_put",
    "index_reduce",
    "map",
    "map2",
    "masked_scatter",
    "nonzero_static",
    "put",
    "put_along_axis",
    "ravel_multi_index",
    "select",
    "select_scatter",
    "slice_scatter",
    "unravel_index",
]


def apply(x: Tensor, callable: Callable[[Any], Any], /) -> Tensor:
    """What a function of Python makes of each element; computed now.

    >>> import svod
    >>> svod.Tensor([1, 2]).apply_(lambda one: one * 10).tolist()
    [10, 20]
    """
    return _each(x, (), callable)


def argwhere(x: Tensor, /) -> Tensor:
    """The indices of the elements that are not zero, as rows; computed now.

    >>> import svod
    >>> svod.argwhere(svod.Tensor([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    found: Tensor = x.nonzero()
    return found


def as_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0, /) -> Tensor:
    """The elements at `storage_offset + sum(index * stride)` of the flat tensor.

    >>> import svod
    >>> svod.as_strided(svod.arange(4), (2, 2), (1, 1)).tolist()
    [[0, 1], [1, 2]]
    """
    taken = x.flatten().take(_strided("as_strided", x, size, stride, storage_offset), 0)
    return taken._view_of(x, "as_strided")


def as_strided_scatter(
    x: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0, /
) -> Tensor:
    """Other elements where `as_strided` would take some.

    >>> import svod
    >>> svod.as_strided_scatter(svod.zeros(4), svod.ones(2), (2,), (3,)).tolist()
    [1.0, 0.0, 0.0, 1.0]
    """
    at = _strided("as_strided_scatter", x, size, stride, storage_offset)
    if tuple(src.shape) != tuple(size):
        raise ShapeError(f"as_strided_scatter: src: shape {tuple(size)} is expected, not {tuple(src.shape)}")
    return x.flatten().scatter(0, at.flatten(), src.flatten().cast(x.dtype)).reshape(x.shape)


def _strided(name: str, x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int) -> Tensor:
    """Positions in the flat tensor."""
    if len(size) != len(stride):
        raise ArgumentError(f"{name}: as many strides as extents are expected, not {stride} for {size}")
    last = storage_offset + sum((extent - 1) * by for extent, by in zip(size, stride, strict=True))
    if min(stride, default=0) < 0 or storage_offset < 0 or (0 not in size and last >= x.numel()):
        raise ArgumentError(f"{name}: size {size} by stride {stride} from {storage_offset} is not within {x.shape}")
    at = Tensor(storage_offset, "int64")
    for extent, by in zip(size, stride, strict=True):
        at = at.unsqueeze(-1) + arange(extent) * by
    return at


def fill(x: Tensor, value: Any, /) -> Tensor:
    """A number in each place.

    >>> import svod
    >>> svod.fill(svod.ones(2), 3).tolist()
    [3.0, 3.0]
    """
    number = beside(value, [x])
    if number.ndim:
        raise ShapeError(
            f"fill: value: a number, or a tensor without dimensions, is expected, not shape {number.shape}"
        )
    return number.cast(x.dtype).expand(*x.shape).clone()


def index_fill(x: Tensor, axis: int, index: Tensor, value: Any, /) -> Tensor:
    """One value at positions along an axis.

    >>> import svod
    >>> svod.index_fill(svod.zeros(2, 2), 1, svod.Tensor([0]), 5).tolist()
    [[5.0, 0.0], [5.0, 0.0]]
    """
    if x.ndim == 0:
        return index_fill(x.reshape(1), axis, index, value).reshape(())
    made = x.clone()
    made[_at("index_fill", x, axis, index.reshape(-1))] = value
    return made


def index_put(x: Tensor, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Tensor:
    """Other values where `x[indices]` is; with `accumulate` they are added, those of one place one after the other.

    >>> import svod
    >>> svod.index_put(svod.zeros(3), (svod.Tensor([0, 0]),), svod.Tensor([1.0, 2.0]), accumulate=True).tolist()
    [3.0, 0.0, 0.0]
    """
    if not accumulate:
        made = x.clone()
        made[tuple(indices)] = values
        return made
    positions = [part for one in builtins.map(_tensor, indices) for part in _positions(one)]
    at: Any = 0
    for position, extent in zip(positions, x.shape, strict=False):
        at = at * extent + where(position < 0, position + extent, position)
    rest = x.shape[len(positions) :]
    if x.dtype == "bool":
        return index_put(x.cast("int64"), indices, _tensor(values).cast("int64"), True).cast("bool")
    given = beside(values, [x]).cast(x.dtype).expand(*at.shape, *rest)
    flat = x.reshape(math.prod(x.shape[: len(positions)]), *rest)
    at = at.flatten()
    return flat.index_add(0, at, given.reshape(at.shape[0], *rest)).reshape(x.shape)


def index_reduce(
    x: Tensor, axis: int, index: Tensor, source: Tensor, reduce: str, /, *, include_self: bool = True
) -> Tensor:
    """Slices of `source` folded into those at `index` of an axis: by "prod", "mean", "amax" or "amin"; without
    `include_self` only with each other.

    >>> import svod
    >>> svod.index_reduce(svod.ones(2), 0, svod.Tensor([0, 0]), svod.Tensor([2.0, 3.0]), "prod").tolist()
    [6.0, 1.0]
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise ArgumentError(f"index_reduce: reduce is 'prod', 'mean', 'amax' or 'amin', not {reduce!r}")
    if x.ndim == 0:
        source = source.reshape(1)
        return index_reduce(x.reshape(1), axis, index, source, reduce, include_self=include_self).reshape(())
    axis = axis_of("index_reduce", axis, x.ndim)
    if index.ndim != 1 or source.ndim != x.ndim or source.shape[axis] != index.shape[0]:
        raise ShapeError(f"index_reduce: index {tuple(index.shape)} and source {tuple(source.shape)} do not fit")
    at = index.reshape(*(-1 if one == axis else 1 for one in range(x.ndim))).expand(*source.shape)
    return x.scatter_reduce(axis, at, source, reduce, include_self=include_self)


def map(x: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any], /) -> Tensor:
    """What a function of Python makes of each element and that of another tensor; computed now.

    >>> import svod
    >>> svod.Tensor([1, 2]).map_(svod.Tensor([3, 4]), lambda a, b: a * b).tolist()
    [3, 8]
    """
    return _each(x, (tensor,), callable)


def map2(x: Tensor, x1: Tensor, x2: Tensor, callable: Callable[[Any, Any, Any], Any], /) -> Tensor:
    """What a function of Python makes of each element and those of two other tensors; computed now.

    >>> import svod
    >>> svod.Tensor([1, 2]).map2_(svod.Tensor([3, 4]), svod.Tensor([5, 6]), lambda a, b, c: a + b + c).tolist()
    [9, 12]
    """
    return _each(x, (x1, x2), callable)


def masked_scatter(x: Tensor, mask: Tensor, source: Tensor, /) -> Tensor:
    """The elements of `source`, one after the other, where a mask holds, with which the tensor broadcasts.

    A source that has fewer is an error where the mask is known: in memory, when no function is traced. Elsewhere its
    last element is repeated.

    >>> import svod
    >>> svod.masked_scatter(svod.zeros(3), svod.Tensor([True, False, True]), svod.Tensor([1.0, 2.0])).tolist()
    [1.0, 0.0, 2.0]
    """
    x = x.expand(*broadcast_shapes(x.shape, mask.shape))
    holds = known(mask)
    if holds is not None and isinstance(source.numel(), int):
        asked = np.count_nonzero(np.broadcast_to(holds, tuple(x.shape)))
        if asked > source.numel():
            raise ArgumentError(f"masked_scatter: source: {source.numel()} elements are fewer than {asked} of the mask")
    if source.numel() == 0:
        return x
    whole = mask.expand(*x.shape)
    at = (whole.reshape(-1).cumsum(0) - 1).clamp(0, source.numel() - 1)
    return where(whole, source.reshape(-1).take(at, 0).reshape(x.shape), x).cast(x.dtype)


def nonzero_static(x: Tensor, /, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the first `size` elements that are not zero, as rows; rows of `fill_value` where there are fewer.

    >>> import svod
    >>> svod.nonzero_static(svod.Tensor([0, 3, 4]), size=3).tolist()
    [[1], [2], [-1]]
    """
    if size < 0:
        raise ArgumentError(f"nonzero_static: size: not {size} rows")
    some = (x != 0).flatten()
    order = some.logical_not().argsort(0, stable=True)[:size]
    order = order.pad([(0, size - order.shape[0])])
    rows = stack([*unravel_index(order, tuple(x.shape))], 1) if x.ndim else zeros(size, 0, dtype="int64")
    return where((arange(size) < some.sum()).unsqueeze(1), rows, fill_value)


def put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False, /) -> Tensor:
    """Other elements at positions of the flat tensor; with `accumulate` they are added.

    >>> import svod
    >>> svod.put(svod.zeros(2, 2), svod.Tensor([3]), svod.Tensor([1.0])).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return index_put(x.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate).reshape(x.shape)


def put_along_axis(x: Tensor, indices: Tensor, values: Any, /, axis: int | None, *, inplace: bool = True) -> Tensor:
    """Puts values where indices along an axis are, or, with None, in the flat tensor, and gives the tensor back.

    Indices and values broadcast with the other axes. As NumPy's it assigns to the tensor, unless it is told not to be
    `inplace`. Of several values for one place the last stays.

    >>> import svod
    >>> x = svod.Tensor([[10, 30, 20], [60, 40, 50]])
    >>> svod.put_along_axis(x, svod.argmax(x, axis=1, keepdims=True), 99, axis=1).tolist()
    [[10, 99, 20], [99, 40, 50]]
    """
    flat, at = (x.flatten(), 0) if axis is None else (x, axis_of("put_along_axis", axis, x.ndim))
    if indices.ndim != flat.ndim:
        raise ShapeError(f"put_along_axis: indices: {flat.ndim} axes are expected, not shape {indices.shape}")
    extent = flat.shape[at]
    shape = broadcast_shapes(indices.shape, (*flat.shape[:at], 1, *flat.shape[at + 1 :]))
    places = where(indices < 0, indices + extent, indices).expand(*shape)
    given = beside(values, [x]).cast(x.dtype).expand(*shape)
    made = flat.scatter(at, places, given).reshape(x.shape)
    return x._become("put_along_axis", made) if inplace else made


def ravel_multi_index(multi_index: Any, dims: Any, /, mode: Any = "raise", order: str = "C") -> Tensor:
    """The positions in the flat tensor, of extents `dims`, that positions along each dimension are.

    Positions outside are an error where they are known: in memory, when no function is traced. With `mode="wrap"` they
    count modulo the extent, with `"clip"` they are the nearest inside; a tuple has a mode for each dimension. In the
    order "F" the first dimension is the one whose neighbours are side by side.

    >>> import svod
    >>> svod.ravel_multi_index(([3, 6], [4, 5]), (7, 6)).tolist()
    [22, 41]
    """
    extents = _extents(dims)
    parts = list(multi_index)
    modes = list(mode) if isinstance(mode, tuple) else [mode] * len(extents)
    if len(parts) != len(extents) or len(modes) != len(extents):
        message = f"positions along each of {len(extents)} dimensions are expected, not along {len(parts)}"
        raise ArgumentError(f"ravel_multi_index: multi_index: {message}")
    if order not in ("C", "F"):
        raise ArgumentError(f"ravel_multi_index: order is 'C' or 'F', not {order!r}")
    found: Any = Tensor(0, "int64")
    by: Any = 1
    along = list(zip(parts, extents, modes, strict=True))
    for part, extent, how in reversed(along) if order == "C" else along:
        found = found + placed("ravel_multi_index", _tensor(part), extent, how) * by
        by = by * extent
    result: Tensor = found
    return result


def placed(name: str, index: Tensor, extent: Any, mode: Any) -> Tensor:
    """Positions as 64-bit integers, those outside of an extent as NumPy's modes have them."""
    if index.dtype.is_floating_point or index.is_complex():
        raise DTypeError(f"{name}: integers are expected, not {index.dtype.name}")
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentError(f"{name}: mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    whole = index.cast("int64")
    if mode != "raise":
        return whole % extent if mode == "wrap" else whole.clamp(0, extent - 1)
    values = known(index)
    if values is not None and isinstance(extent, int):
        outside = (values < 0) | (values >= extent)
        if outside.any():
            raise IndexError(f"{name}: {values[outside].reshape(-1)[0]} is outside of an extent of {extent}")
    return whole


def select(x: Any, axis: Any, index: Any = None, /, *, default: Any = 0) -> Tensor:
    """The slice at a position of an axis, without it, as PyTorch's `select`.

    Of a list of conditions and one of choices it is NumPy's: for each element the choice whose condition is the first
    that holds, else `default`.

    >>> import svod
    >>> svod.select(svod.Tensor([[1, 2], [3, 4]]), 1, -1).tolist()
    [2, 4]
    >>> x = svod.Tensor([1, 5, 9])
    >>> svod.select([x < 3, x < 7], [x, 10 * x], default=-1).tolist()
    [1, 50, -1]
    """
    if isinstance(axis, list | tuple):
        return _chosen(x, axis, default if index is None else index)
    if index is None:
        raise ArgumentTypeError("select: index: an integer is expected")
    given: Tensor = _tensor(x)
    return given[_at("select", given, axis, index)]


def select_scatter(x: Tensor, src: Tensor, axis: int, index: int, /) -> Tensor:
    """Another slice at a position of an axis.

    >>> import svod
    >>> svod.select_scatter(svod.zeros(2, 2), svod.ones(2), 0, 1).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """
    made = x.clone()
    made[_at("select_scatter", x, axis, index)] = src
    return made


def slice_scatter(
    x: Tensor, src: Tensor, /, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Other elements in a slice of an axis.

    >>> import svod
    >>> svod.slice_scatter(svod.zeros(4), svod.ones(2), start=0, step=2).tolist()
    [1.0, 0.0, 1.0, 0.0]
    """
    made = x.clone()
    made[_at("slice_scatter", x, axis, slice(start, end, step))] = src
    return made


def unravel_index(indices: Tensor, shape: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """The positions along each dimension of a shape that positions of the flat tensor are.

    >>> import svod
    >>> [one.tolist() for one in svod.unravel_index(svod.Tensor([5]), (2, 3))]
    [[1], [2]]
    """
    found, rest = [], indices.long()
    for extent in reversed(_extents(shape)):
        found.append(rest % extent)
        rest = rest // extent
    return tuple(reversed(found))


def _at(name: str, x: Tensor, axis: int, index: Any) -> tuple[Any, ...]:
    """The index of what is at a position, or positions, of an axis."""
    return (*(slice(None),) * axis_of(name, axis, x.ndim), index)


def _each(x: Tensor, others: tuple[Tensor, ...], callable: Callable[..., Any]) -> Tensor:
    """What a function makes of the elements of tensors, in the type and shape of the first."""
    rows = zip(*(one.expand(*x.shape).flatten().tolist() for one in (x, *others)), strict=True)
    return made_beside(x, [callable(*row) for row in rows], x.dtype).reshape(x.shape)


def _positions(index: Tensor) -> tuple[Tensor, ...]:
    """An index as positions, one tensor for each dimension that it is of."""
    if index.dtype != "bool":
        return (index,)
    found: tuple[Tensor, ...] = index.nonzero(as_tuple=True)
    return found


def _chosen(conditions: Any, choices: Sequence[Any], default: Any) -> Tensor:
    if not isinstance(conditions, list | tuple) or len(conditions) != len(choices) or not choices:
        many = len(conditions) if isinstance(conditions, list | tuple) else 0
        raise ArgumentError(f"select: as many conditions as choices are expected, not {many} and {len(choices)}")
    result: Tensor = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(_tensor(condition), choice, result)
    return result
