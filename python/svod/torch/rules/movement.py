"""Other shapes, orders and parts of the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch._prims_common import is_contiguous_or_false

import svod
from svod.nn import functional as F
from svod.torch._sizes import same_size
from svod.torch._table import Call, Unsupported, aten

# What Python's slices take for "to the end".
_END = (1 << 63) - 1


@aten("view", "reshape", "_unsafe_view", "_reshape_alias", call=True, view=True)
def view(call: Call, x: svod.Tensor, *_: Any) -> svod.Tensor:
    return x.reshape(call.shape)


@aten("squeeze.dims", "squeeze.dim", "squeeze", "unsqueeze", call=True, view=True)
def squeeze(call: Call, x: svod.Tensor, *_: Any) -> svod.Tensor:
    return x.reshape(call.shape)


@aten("permute", view=True)
def permute(x: svod.Tensor, dims: Sequence[int]) -> svod.Tensor:
    return x.permute(tuple(dims)) if dims else x


@aten("transpose.int", view=True)
def transpose(x: svod.Tensor, dim0: int, dim1: int) -> svod.Tensor:
    return x.transpose(dim0, dim1) if x.ndim else x


@aten("t", view=True)
def t(x: svod.Tensor) -> svod.Tensor:
    return x.transpose(0, 1) if x.ndim == 2 else x


@aten("expand", call=True, view=True)
def expand(call: Call, x: svod.Tensor, *_: Any, **__: Any) -> svod.Tensor:
    return x.expand(call.shape) if call.shape else x


@aten("alias", "detach", "lift_fresh_copy", "clone", "contiguous", view=True)
def same(x: svod.Tensor, **_: Any) -> svod.Tensor:
    return x


@aten("copy", call=True)
def copy(call: Call, x: svod.Tensor, source: svod.Tensor, *_: Any) -> svod.Tensor:
    source = source.cast(call.dtype)
    return source.expand(call.shape) if call.shape else source


@aten("slice.Tensor", call=True, view=True)
def slice_(call: Call, x: svod.Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> svod.Tensor:
    extent = x.shape[dim]
    start = _bound(start, extent, 0)
    length = call.shape[dim]
    if not isinstance(step, int):
        raise Unsupported("a slice by a symbolic step")
    if step == 1:
        return x if same_size(start, 0) and same_size(length, extent) else x.narrow(dim, start, length)
    return _at(x, dim, slice(start, _bound(end, extent, extent), step))


def _bound(bound: Any, extent: Any, default: Any) -> Any:
    """A start or end of a slice, as a position from 0 to the extent."""
    if bound is None or (isinstance(bound, int) and bound >= _END):
        return default
    if isinstance(bound, int) and bound < 0:
        bound = bound + extent
        return max(bound, 0) if isinstance(bound, int) else bound
    return min(bound, extent) if isinstance(bound, int) and isinstance(extent, int) else bound


def _at(x: svod.Tensor, dim: int, part: Any) -> svod.Tensor:
    index: list[Any] = [slice(None)] * x.ndim
    index[dim] = part
    return x[tuple(index)]


@aten("select.int", view=True)
def select(x: svod.Tensor, dim: int, index: Any) -> svod.Tensor:
    return _at(x, dim, index)


@aten("cat")
def cat(tensors: Sequence[svod.Tensor], dim: int = 0) -> svod.Tensor:
    # An empty tensor of one dimension goes with any shape.
    rank = max(tensor.ndim for tensor in tensors)
    fitting = [tensor for tensor in tensors if tensor.ndim == rank]
    dtype = fitting[0].dtype
    for tensor in tensors[1:]:
        dtype = (
            (svod.zeros((), dtype=dtype) + svod.zeros((), dtype=tensor.dtype)).dtype if dtype != tensor.dtype else dtype
        )
    return svod.cat([tensor.cast(dtype) for tensor in fitting], dim)


@aten("stack")
def stack(tensors: Sequence[svod.Tensor], dim: int = 0) -> svod.Tensor:
    return svod.stack(list(tensors), dim)


@aten("split_with_sizes", call=True, view=True)
def split_with_sizes(call: Call, x: svod.Tensor, sizes: Sequence[Any], dim: int = 0) -> tuple[svod.Tensor, ...]:
    return _split(x, sizes, dim)


@aten("split.Tensor", call=True, view=True)
def split(call: Call, x: svod.Tensor, size: Any, dim: int = 0) -> tuple[svod.Tensor, ...]:
    return _split(x, [call.sizes(part.shape[dim]) for part in call.results], dim)


def _split(x: svod.Tensor, sizes: Sequence[Any], dim: int) -> tuple[svod.Tensor, ...]:
    parts, start = [], 0
    for size in sizes:
        parts.append(x.narrow(dim, start, size))
        start = start + size
    return tuple(parts)


@aten("unbind.int", call=True, view=True)
def unbind(call: Call, x: svod.Tensor, dim: int = 0) -> tuple[svod.Tensor, ...]:
    return tuple(_at(x, dim, at) for at in range(len(call.results)))


@aten("repeat")
def repeat(x: svod.Tensor, repeats: Sequence[Any]) -> svod.Tensor:
    return x.repeat(tuple(repeats))


@aten("flip")
def flip(x: svod.Tensor, dims: Sequence[int]) -> svod.Tensor:
    return x.flip(tuple(dims))


@aten("roll")
def roll(x: svod.Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> svod.Tensor:
    if not dims:
        return x.reshape(-1).roll(shifts[0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = x.roll(shift, dim)
    return x


@aten("constant_pad_nd")
def constant_pad_nd(x: svod.Tensor, pad: Sequence[Any], value: Any = 0) -> svod.Tensor:
    """Pairs of numbers of elements before and after, from the last axis on; negative ones cut off."""
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    for axis, (before, after) in enumerate(pairs):
        first, last = max(-before, 0) if isinstance(before, int) else 0, max(-after, 0) if isinstance(after, int) else 0
        if first or last:
            x = x.narrow(axis, first, x.shape[axis] - first - last)
    widths: list[Any] = [tuple(max(width, 0) if isinstance(width, int) else width for width in pair) for pair in pairs]
    return x.pad(widths, value)


@aten("replication_pad3d")
def replication_pad(x: svod.Tensor, padding: Sequence[Any]) -> svod.Tensor:
    return F.pad(x, padding, "replicate")


@aten("reflection_pad3d")
def reflection_pad(x: svod.Tensor, padding: Sequence[Any]) -> svod.Tensor:
    return F.pad(x, padding, "reflect")


@aten("slice_scatter", call=True)
def slice_scatter(
    call: Call, x: svod.Tensor, source: svod.Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> svod.Tensor:
    extent = x.shape[dim]
    start, length = _bound(start, extent, 0), source.shape[dim]
    dim = dim % x.ndim
    if same_size(length, extent):
        return source.cast(x.dtype)
    if step != 1:
        result = x.clone()
        index: list[Any] = [slice(None)] * x.ndim
        index[dim] = slice(start, _bound(end, extent, extent), step)
        result[tuple(index)] = source.cast(x.dtype)
        return result
    around = [(0, 0)] * x.ndim
    around[dim] = (start, extent - start - length)
    shape: list[Any] = [1] * x.ndim
    shape[dim] = extent
    positions = svod.arange(extent).reshape(shape)
    inside = (positions >= start) & (positions < start + length)
    return svod.where(inside, source.cast(x.dtype).pad(around), x)


@aten("select_scatter")
def select_scatter(x: svod.Tensor, source: svod.Tensor, dim: int, index: Any) -> svod.Tensor:
    shape: list[Any] = [1] * x.ndim
    shape[dim] = x.shape[dim]
    if isinstance(index, int) and index < 0:
        index = index + x.shape[dim]
    positions = svod.arange(x.shape[dim]).reshape(shape)
    return svod.where(positions == index, source.unsqueeze(dim % x.ndim).cast(x.dtype), x)


@aten("diagonal")
def diagonal(x: svod.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> svod.Tensor:
    last = [dim1 % x.ndim, dim2 % x.ndim]
    x = x.permute(tuple([axis for axis in range(x.ndim) if axis not in last] + last))
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise Unsupported("the diagonal of a matrix of symbolic size")
    first_row, first_column = max(-offset, 0), max(offset, 0)
    count = max(min(rows - first_row, columns - first_column), 0)
    flat = x.reshape((*x.shape[:-2], rows * columns))
    start = first_row * columns + first_column
    return flat[..., svod.arange(count) * (columns + 1) + start]


@aten("tril")
def tril(x: svod.Tensor, diagonal: int = 0) -> svod.Tensor:
    return x.tril(diagonal)


@aten("triu")
def triu(x: svod.Tensor, diagonal: int = 0) -> svod.Tensor:
    return x.triu(diagonal)


@aten("unfold", call=True)
def unfold(call: Call, x: svod.Tensor, dim: int, size: int, step: int) -> svod.Tensor:
    dim = dim % x.ndim
    count = call.shape[dim]
    positions = svod.arange(count).reshape((count, 1)) * step + svod.arange(size)
    return _at(x, dim, positions).movedim(dim + 1, -1)


@aten("as_strided", call=True)
def as_strided(
    call: Call, x: svod.Tensor, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None
) -> svod.Tensor:
    positions = _positions(call, size, stride, storage_offset)
    return x.reshape((-1,))[positions.reshape(call.shape)]


@aten("as_strided_scatter", call=True)
def as_strided_scatter(
    call: Call,
    x: svod.Tensor,
    source: svod.Tensor,
    size: Sequence[Any],
    stride: Sequence[Any],
    storage_offset: Any = None,
) -> svod.Tensor:
    positions = _positions(call, size, stride, storage_offset)
    flat = x.reshape((-1,)).index_copy(0, positions.reshape((-1,)), source.cast(x.dtype).reshape((-1,)))
    return flat.reshape(x.shape)


def _positions(call: Call, size: Sequence[Any], stride: Sequence[Any], offset: Any) -> svod.Tensor:
    """Where elements are in the memory of the first operand, whose elements have to lie in their order."""
    if not is_contiguous_or_false(call.operands[0]):
        raise Unsupported("positions in the memory of what does not lie in its order")
    positions: svod.Tensor = svod.full((1,) * len(size), offset or 0, dtype=svod.int64)
    for axis, (extent, step) in enumerate(zip(size, stride, strict=True)):
        shape: list[Any] = [1] * len(size)
        shape[axis] = extent
        positions = positions + svod.arange(extent).reshape(shape) * step
    return positions.expand(tuple(size)) if size else positions
