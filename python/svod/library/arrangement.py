"""Joining, splitting and turning: the same elements in another arrangement, by PyTorch's and NumPy's names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from svod._place import made_beside
from svod._svod import ArgumentError, ArgumentTypeError, ShapeError, Tensor, _tensor, cat, stack
from svod.library._axes import axis_of
from svod.library._spelling import together
from svod.library.manipulation import _extents, broadcast_arrays, moveaxis

__all__ = [
    "adjoint",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block",
    "broadcast_tensors",
    "cartesian_prod",
    "channel_shuffle",
    "column_stack",
    "combinations",
    "dsplit",
    "dstack",
    "expand_as",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "movedim",
    "ravel",
    "reshape_as",
    "rollaxis",
    "rot90",
    "split_with_sizes",
    "sum_to_size",
    "swapdims",
    "tensor_split",
    "unbind",
    "vsplit",
    "vstack",
]


def adjoint(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged, of complex conjugates.

    >>> import svod
    >>> svod.adjoint(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """
    return x.mH


def array_split(x: Tensor, indices_or_sections: int | Sequence[int], /, axis: int = 0) -> list[Tensor]:
    """As `tensor_split`, by NumPy's name.

    >>> import svod
    >>> [part.tolist() for part in svod.array_split(svod.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """
    return list(tensor_split(x, indices_or_sections, axis))


def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or each of several, with a dimension where it has none.

    >>> import svod
    >>> svod.atleast_1d(svod.Tensor(3)).shape
    (1,)
    """
    return _each(tensors, lambda x: x._view_of(x, "atleast_1d") if x.ndim else x.reshape(1))


def atleast_2d(*tensors: Any) -> Any:
    """The tensor, or each of several, with dimensions of extent 1 before its own up to two.

    >>> import svod
    >>> svod.atleast_2d(svod.ones(3)).shape
    (1, 3)
    """
    return _each(tensors, _rows)


def atleast_3d(*tensors: Any) -> Any:
    """The tensor, or each of several, with dimensions of extent 1 up to three: a vector is a row of one deep.

    >>> import svod
    >>> svod.atleast_3d(svod.ones(3)).shape
    (1, 3, 1)
    """
    return _each(tensors, _deep)


def block(arrays: Any, /) -> Tensor:
    """A tensor of blocks, nested lists of tensors: the innermost lists are joined along the last axis, those around
    them along the one before, and so on.

    >>> import svod
    >>> svod.block([[svod.ones(2, 2), svod.zeros(2, 1)], [svod.zeros(1, 2), 5]]).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 5.0]]
    """
    depth, leaves = _nested(arrays, 0)
    parts = together(leaves)
    rank = max(depth, *(one.ndim for one in parts))
    several = iter([one.reshape(*[1] * (rank - one.ndim), *one.shape) for one in parts])

    def joined(of: Any, axis: int) -> Tensor:
        return cat([joined(one, axis + 1) for one in of], axis) if isinstance(of, list) else next(several)

    return joined(arrays, rank - depth)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors broadcast to their common shape.

    >>> import svod
    >>> [x.shape for x in svod.broadcast_tensors(svod.ones(3, 1), svod.ones(2))]
    [(3, 2), (3, 2)]
    """
    return tuple(broadcast_arrays(*tensors))


def cartesian_prod(*tensors: Any) -> Tensor:
    """All choices of one element of each vector, as rows; of one vector the vector.

    >>> import svod
    >>> svod.cartesian_prod(svod.Tensor([1, 2]), svod.Tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    vectors = [_tensor(one) for one in tensors]
    if any(one.ndim != 1 for one in vectors):
        raise ShapeError(f"cartesian_prod: vectors are expected, not shapes {[one.shape for one in vectors]}")
    if len(vectors) == 1:
        return vectors[0]._view_of(vectors[0], "cartesian_prod")
    rank = len(vectors)
    apart = [x.reshape(*(-1 if i == at else 1 for i in range(rank))) for at, x in enumerate(vectors)]
    return stack(broadcast_arrays(*apart), -1).reshape(-1, rank)


def channel_shuffle(x: Tensor, groups: int, /) -> Tensor:
    """The channels, dimension 1, of so many groups in turn.

    >>> import svod
    >>> svod.channel_shuffle(svod.arange(4).reshape(1, 4, 1), 2).flatten().tolist()
    [0, 2, 1, 3]
    """
    if groups < 1 or x.ndim < 3 or x.shape[1] % groups:
        raise ArgumentError(f"channel_shuffle: groups: {groups} do not divide the channels of {x.shape}")
    return x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)


def column_stack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors side by side, vectors as columns.

    >>> import svod
    >>> svod.column_stack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """
    parts = together(tensors)
    return cat([one if one.ndim > 1 else one.reshape(-1, 1) for one in parts], 1)


def combinations(x: Tensor, /, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The choices of `r` elements of a vector in their order, as rows; `with_replacement` of equal ones too.

    >>> import svod
    >>> svod.combinations(svod.Tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    if x.ndim != 1 or r < 0:
        raise ArgumentError(f"combinations: a vector and r >= 0 are expected, not {x.shape} and {r}")
    chosen = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(chosen(range(int(x.shape[0])), r))
    return x.take(made_beside(x, rows, "int64").reshape(len(rows), r), 0)


def dsplit(x: Tensor, indices_or_sections: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """Split along the third dimension: into equal parts, or before indices.

    >>> import svod
    >>> [part.shape for part in svod.dsplit(svod.ones(1, 2, 4), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split_evenly("dsplit", x, indices_or_sections, 2, 3)


def dstack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors one behind the other along the third dimension, as `atleast_3d` has them.

    >>> import svod
    >>> svod.dstack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
    [[[1, 3], [2, 4]]]
    """
    return cat([_deep(one) for one in together(tensors)], 2)


def expand_as(x: Tensor, other: Tensor, /) -> Tensor:
    """Broadcast to the shape of another tensor.

    >>> import svod
    >>> svod.ones(3).expand_as(svod.ones(2, 3)).shape
    (2, 3)
    """
    return x.expand(*other.shape)


def fliplr(x: Tensor, /) -> Tensor:
    """The second dimension in reverse order.

    >>> import svod
    >>> svod.fliplr(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    return x.flip(_dimension("fliplr", x, 1))


def flipud(x: Tensor, /) -> Tensor:
    """The first dimension in reverse order.

    >>> import svod
    >>> svod.flipud(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """
    return x.flip(_dimension("flipud", x, 0))


def hsplit(x: Tensor, indices_or_sections: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """Split along the second dimension, of a vector the first: into equal parts, or before indices.

    >>> import svod
    >>> [part.tolist() for part in svod.hsplit(svod.arange(4), [1])]
    [[0], [1, 2, 3]]
    """
    return _split_evenly("hsplit", x, indices_or_sections, 0 if x.ndim == 1 else 1, 1)


def hstack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors one after the other along the second dimension; vectors along their only one.

    >>> import svod
    >>> svod.hstack([svod.Tensor([1, 2]), svod.Tensor([3])]).tolist()
    [1, 2, 3]
    """
    parts = [one if one.ndim else one.reshape(1) for one in together(tensors)]
    return cat(parts, 1 if parts and parts[0].ndim > 1 else 0)


def movedim(x: Tensor, source: int | Sequence[int], destination: int | Sequence[int], /) -> Tensor:
    """As `moveaxis`, by PyTorch's name.

    >>> import svod
    >>> svod.movedim(svod.ones(2, 3, 4), (0, 1), (1, 2)).shape
    (4, 2, 3)
    """
    return moveaxis(x, source, destination)


def ravel(x: Tensor, /) -> Tensor:
    """All elements in one dimension, in row-major order.

    >>> import svod
    >>> svod.ravel(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4]
    """
    return x.reshape(-1)


def reshape_as(x: Tensor, other: Tensor, /) -> Tensor:
    """The same elements in the shape of another tensor.

    >>> import svod
    >>> svod.arange(6).reshape_as(svod.ones(2, 3)).shape
    (2, 3)
    """
    return x.reshape(other.shape)


def rollaxis(x: Tensor, axis: int, start: int = 0, /) -> Tensor:
    """A dimension moved before another.

    >>> import svod
    >>> svod.rollaxis(svod.ones(2, 3, 4), 2).shape
    (4, 2, 3)
    """
    axis = axis_of("rollaxis", axis, x.ndim)
    # Behind the last one there is a place too.
    start = start if start == x.ndim else axis_of("rollaxis", start, x.ndim)
    return x.movedim(axis, start - 1 if axis < start else start)


def rot90(x: Tensor, /, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned `k` times by a right angle, from the first of two dimensions to the second.

    >>> import svod
    >>> svod.rot90(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """
    if len(dims) != 2 or dims[0] % max(x.ndim, 1) == dims[1] % max(x.ndim, 1):
        raise ArgumentError(f"rot90: dims are two different dimensions of {x.shape}, not {tuple(dims)}")
    first, second = dims
    if k % 4 == 0:
        return x.clone()
    if k % 4 == 2:
        return x.flip(first, second)
    return x.flip(second if k % 4 == 1 else first).transpose(first, second)


def split_with_sizes(x: Tensor, sizes: Sequence[int], /, axis: int = 0) -> list[Tensor]:
    """Parts of these extents along an axis.

    >>> import svod
    >>> [part.tolist() for part in svod.split_with_sizes(svod.arange(3), [1, 2])]
    [[0], [1, 2]]
    """
    return x.split(tuple(sizes), axis)


def sum_to_size(x: Tensor, /, *size: Any) -> Tensor:
    """The sums over the dimensions in which a shape is broadcast to that of `x`.

    >>> import svod
    >>> svod.ones(2, 3).sum_to_size(3).tolist()
    [2.0, 2.0, 2.0]
    """
    shape = _extents(size[0]) if len(size) == 1 else size
    before = x.ndim - len(shape)
    if before < 0 or any(theirs not in (1, ours) for theirs, ours in zip(shape, x.shape[before:], strict=True)):
        raise ShapeError(f"sum_to_size: {x.shape} is no shape to which {tuple(shape)} is broadcast")
    x = x.sum(tuple(range(before))) if before else x
    axes = tuple(i for i, (theirs, ours) in enumerate(zip(shape, x.shape, strict=True)) if theirs != ours)
    return x.sum(axes, keepdim=True) if axes else x


def swapdims(x: Tensor, axis1: int, axis2: int, /) -> Tensor:
    """Two dimensions exchanged.

    >>> import svod
    >>> svod.swapdims(svod.ones(2, 3, 4), 0, 2).shape
    (4, 3, 2)
    """
    return x.transpose(axis1, axis2)


def tensor_split(x: Tensor, indices_or_sections: Any, /, axis: int = 0) -> tuple[Tensor, ...]:
    """Parts along an axis: so many, the first one longer where they cannot be equal, or up to indices.

    >>> import svod
    >>> [part.tolist() for part in svod.tensor_split(svod.arange(5), (1, 3))]
    [[0], [1, 2], [3, 4]]
    """
    extent = int(x.size(axis))
    given = indices_or_sections
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, int):
        if given < 1:
            raise ArgumentError(f"tensor_split: indices_or_sections: at least one part is expected, not {given}")
        each, more = divmod(extent, given)
        bounds = [i * each + min(i, more) for i in range(given + 1)]
    else:
        bounds = [0, *(_position(int(one), extent) for one in given), extent]
    return tuple(x.narrow(axis, a, max(b - a, 0)) for a, b in itertools.pairwise(bounds))


def unbind(x: Tensor, /, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it.

    >>> import svod
    >>> [part.tolist() for part in svod.Tensor([[1, 2], [3, 4]]).unbind(1)]
    [[1, 3], [2, 4]]
    """
    at = axis_of("unbind", axis, x.ndim)
    count = x.shape[at]
    if not at or not isinstance(count, int):
        return tuple(x.movedim(at, 0) if at else x)
    # Views of the tensor itself, which say so where they are written to.
    return tuple(x[(*(slice(None),) * at, i)] for i in range(count))


def vsplit(x: Tensor, indices_or_sections: int | Sequence[int], /) -> tuple[Tensor, ...]:
    """Split along the first dimension of two or more: into equal parts, or before indices.

    >>> import svod
    >>> [part.shape for part in svod.vsplit(svod.ones(4, 2), 2)]
    [(2, 2), (2, 2)]
    """
    return _split_evenly("vsplit", x, indices_or_sections, 0, 2)


def vstack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors one below the other, vectors as rows.

    >>> import svod
    >>> svod.vstack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    return cat([_rows(one) for one in together(tensors)], 0)


def _nested(arrays: Any, depth: int) -> tuple[int, list[Any]]:
    """How deep lists are nested, everywhere alike, and what is in them, in order."""
    if isinstance(arrays, tuple):
        raise ArgumentTypeError("block: arrays: nested lists are expected, not a tuple")
    if not isinstance(arrays, list):
        return depth, [arrays]
    if not arrays:
        raise ArgumentError("block: arrays: a list without blocks")
    inner = [_nested(one, depth + 1) for one in arrays]
    if len({below for below, _ in inner}) > 1:
        raise ArgumentError("block: arrays: lists are nested deeper at some places than at others")
    return inner[0][0], [leaf for _, leaves in inner for leaf in leaves]


def _each(tensors: tuple[Any, ...], changed: Any) -> Any:
    """One tensor changed, or a tuple of several, which may be given as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) and any(isinstance(x, Tensor) for x in tensors[0]):
        return tuple(changed(_tensor(one)) for one in tensors[0])
    made = tuple(changed(_tensor(one)) for one in tensors)
    return made[0] if len(made) == 1 else made


def _rows(x: Tensor) -> Tensor:
    return x._view_of(x, "atleast_2d") if x.ndim > 1 else x.reshape(1, -1)


def _deep(x: Tensor) -> Tensor:
    return x._view_of(x, "atleast_3d") if x.ndim > 2 else _rows(x).unsqueeze(-1)


def _dimension(name: str, x: Tensor, axis: int) -> int:
    """A dimension that has to be there."""
    if x.ndim <= axis:
        raise ShapeError(f"{name}: {x.shape} has no dimension {axis}")
    return axis


def _position(index: int, extent: int) -> int:
    """An index as Python's slices take it."""
    return min(max(index + extent if index < 0 else index, 0), extent)


def _split_evenly(name: str, x: Tensor, parts: Any, axis: int, least: int) -> tuple[Tensor, ...]:
    """Split into parts that have to be equal, or before indices, of a tensor of a least rank."""
    if x.ndim < least:
        raise ShapeError(f"{name}: at least {least} dimensions are expected, not shape {x.shape}")
    if isinstance(parts, int) and (parts < 1 or x.shape[axis] % parts):
        raise ArgumentError(f"{name}: {parts} equal parts of dimension {axis} of {x.shape} are not possible")
    return tensor_split(x, parts, axis)
