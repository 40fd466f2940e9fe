"""Elements by positions that are data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import svod
from svod.torch._sizes import same_size
from svod.torch._table import Call, Unsupported, aten

Indices = Sequence[svod.Tensor | None]


@aten("index.Tensor", "_unsafe_index.Tensor")
def index(x: svod.Tensor, indices: Indices) -> svod.Tensor:
    _check(indices)
    return x[tuple(slice(None) if at is None else at for at in indices)]


def _check(indices: Indices) -> None:
    if any(at is not None and at.dtype in (svod.bool, svod.uint8) for at in indices):
        raise Unsupported("a mask as an index, by which data decides a shape")


@aten("index_put", "_unsafe_index_put")
def index_put(x: svod.Tensor, indices: Indices, values: svod.Tensor, accumulate: bool = False) -> svod.Tensor:
    if len(indices) == 1 and (mask := indices[0]) is not None and mask.dtype == svod.bool:
        if accumulate or values.ndim:
            raise Unsupported("values by a mask that is data")
        shape = (*mask.shape, *(1,) * (x.ndim - mask.ndim))
        return svod.where(mask.reshape(shape), values.cast(x.dtype), x)
    _check(indices)
    values = values.cast(x.dtype)
    if not accumulate:
        result = x.clone()
        result[tuple(slice(None) if at is None else at for at in indices)] = values
        return result
    # The indexed axes first, as one; the others behind them.
    axes = [axis for axis, at in enumerate(indices) if at is not None]
    others = [axis for axis in range(x.ndim) if axis not in axes]
    if axes != list(range(axes[0], axes[0] + len(axes))) and axes[0] != 0:
        raise Unsupported("sums at positions of axes that are apart")
    extents = [x.shape[axis] for axis in axes]
    flat: Any = 0
    for axis, extent in zip(axes, extents, strict=True):
        at: Any = indices[axis]
        at = at.cast(svod.int64)
        flat = flat * extent + svod.where(at < 0, at + extent, at)
    order = axes + others
    rest = [x.shape[axis] for axis in others]
    if 0 in x.shape:
        return x
    rows = x.permute(order).reshape((-1, *rest))
    # Of the values the indexed axes stand where the first of them was.
    placed: list[Any] = [*rest[: axes[0]], *flat.shape, *rest[axes[0] :]]
    given = values.expand(placed)
    inner = list(range(axes[0], axes[0] + flat.ndim))
    outer = [axis for axis in range(len(placed)) if axis not in inner]
    source = given.permute(inner + outer).reshape((-1, *rest))
    added = rows.index_add(0, flat.reshape((-1,)), source)
    back = [order.index(axis) for axis in range(x.ndim)]
    return added.reshape((*extents, *rest)).permute(back)


def _from_start(at: svod.Tensor) -> svod.Tensor:
    """Indices none of which counts from the end: to PyTorch it is out of range here."""
    return at.cast(svod.uint64)


@aten("gather")
def gather(x: svod.Tensor, dim: int, at: svod.Tensor, **_: Any) -> svod.Tensor:
    return x.gather(dim, _from_start(at)) if x.ndim else x.expand(at.shape)


@aten("scatter.src")
def scatter_src(x: svod.Tensor, dim: int, at: svod.Tensor, source: svod.Tensor) -> svod.Tensor:
    if not x.ndim:
        return source.expand(x.shape) if at.numel() else x
    return x.scatter(dim, _from_start(at), _part(source, at))


@aten("scatter.value")
def scatter_value(x: svod.Tensor, dim: int, at: svod.Tensor, value: Any) -> svod.Tensor:
    return scatter_src(x, dim, at, svod.full(at.shape, value, dtype=x.dtype))


@aten("scatter_add")
def scatter_add(x: svod.Tensor, dim: int, at: svod.Tensor, source: svod.Tensor) -> svod.Tensor:
    if not x.ndim:
        return x + source.sum() if at.numel() else x
    return x.scatter_add(dim, _from_start(at), _part(source, at))


@aten("scatter_reduce.two")
def scatter_reduce(
    x: svod.Tensor, dim: int, at: svod.Tensor, source: svod.Tensor, reduce: str, *, include_self: bool = True
) -> svod.Tensor:
    if not x.ndim or (reduce == "mean" and not x.dtype.is_floating_point):
        raise Unsupported("of no axes, or the mean of integers")
    return x.scatter_reduce(dim, _from_start(at), _part(source, at), reduce, include_self=include_self)


@aten("searchsorted.Tensor", "searchsorted.Scalar")
def searchsorted(
    ordered: svod.Tensor,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: svod.Tensor | None = None,
) -> svod.Tensor:
    return svod.searchsorted(ordered, x, side or "left", sorter, right=right)


@aten("bucketize.Tensor", "bucketize.Scalar")
def bucketize(x: Any, edges: svod.Tensor, *, out_int32: bool = False, right: bool = False) -> svod.Tensor:
    return svod.bucketize(x, edges, right=right)


def _part(source: svod.Tensor, at: svod.Tensor) -> svod.Tensor:
    """Those of the values that have an index."""
    for axis, (extent, needed) in enumerate(zip(source.shape, at.shape, strict=True)):
        if not same_size(extent, needed):
            source = source.narrow(axis, 0, needed)
    return source


@aten("index_select")
def index_select(x: svod.Tensor, dim: int, at: svod.Tensor) -> svod.Tensor:
    return x.index_select(dim, _from_start(at).reshape((-1,))) if x.ndim else x


@aten("index_add")
def index_add(x: svod.Tensor, dim: int, at: svod.Tensor, source: svod.Tensor, *, alpha: Any = 1) -> svod.Tensor:
    scaled = source if alpha == 1 else source * alpha
    if not x.ndim:
        return x + scaled.sum()
    return x.index_add(dim, _from_start(at).reshape((-1,)), scaled.cast(x.dtype))


@aten("index_copy")
def index_copy(x: svod.Tensor, dim: int, at: svod.Tensor, source: svod.Tensor) -> svod.Tensor:
    if not x.ndim:
        return source.reshape(())
    return x.index_copy(dim, _from_start(at).reshape((-1,)), source)


@aten("embedding")
def embedding(weight: svod.Tensor, at: svod.Tensor, *_: Any, **__: Any) -> svod.Tensor:
    return weight.embedding(_from_start(at))


@aten("embedding_dense_backward", call=True)
def embedding_backward(
    call: Call, gradient: svod.Tensor, at: svod.Tensor, rows: Any, padding_idx: int, scale_grad_by_freq: bool
) -> svod.Tensor:
    if scale_grad_by_freq:
        raise Unsupported("gradients that are scaled by how often an index occurs")
    flat = at.reshape((-1,))
    source = gradient.reshape((-1, gradient.shape[-1]))
    if padding_idx >= 0:
        source = svod.where((flat != padding_idx).unsqueeze(1), source, 0)
    return svod.zeros(call.shape, dtype=gradient.dtype).index_add(0, _from_start(flat), source)


@aten("_embedding_bag", "_embedding_bag_forward_only", call=True)
def embedding_bag(
    call: Call,
    weight: svod.Tensor,
    at: svod.Tensor,
    offsets: svod.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    weights: svod.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[svod.Tensor, ...]:
    if mode == 2 or sparse:
        raise Unsupported("bags of maxima, or with sparse gradients")
    hidden = None if padding_idx < 0 else padding_idx
    result, bag, counts, maxima = svod.embedding_bag(
        weight, _from_start(at), offsets, False, mode, False, weights, include_last_offset, hidden
    )
    # Of a sum PyTorch may not say which bag each element is in.
    if same_size(call.sizes(call.results[1].shape[0]), 0):
        bag = bag[:0]
    return result, bag, counts, maxima


@aten("histc")
def histc(x: svod.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> svod.Tensor:
    if min == max:
        raise Unsupported("a histogram whose bounds are those of the data")
    flat = x.reshape((-1,))
    inside = (flat >= min) & (flat <= max)
    at = ((flat - min) * bins / (max - min)).floor().clamp(0, bins - 1)
    hits = (at.unsqueeze(1) == svod.arange(bins)) & inside.unsqueeze(1)
    return hits.cast(x.dtype).sum(0)
