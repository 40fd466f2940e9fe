"""Sums of products over axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod._svod import ArgumentError, ShapeError, Tensor, _operands

__all__ = ["tensordot", "vecdot"]


def tensordot(x1: Any, x2: Any, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
    """The sum of products over axes of both: the last `axes` of `x1` with the first of `x2`, or those of two lists.

    The result has the other axes of `x1`, then those of `x2`.

    >>> import svod
    >>> svod.tensordot(svod.ones(2, 3), svod.ones(3, 4), axes=1).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    """
    a, b = _operands(x1, x2)
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ArgumentError(f"tensordot: axes is at most the rank of {a.shape} and of {b.shape}, not {axes}")
        of_a, of_b = [*range(a.ndim - axes, a.ndim)], [*range(axes)]
    else:
        of_a, of_b = ([_counted(axis, x.ndim) for axis in of] for of, x in zip(axes, (a, b), strict=True))
    extents = [[x.shape[axis] for axis in of] for of, x in ((of_a, a), (of_b, b))]
    if extents[0] != extents[1]:
        raise ShapeError(f"tensordot: axes of extents {extents[0]} of {a.shape} and {extents[1]} of {b.shape} differ")
    rest_a = [axis for axis in range(a.ndim) if axis not in of_a]
    rest_b = [axis for axis in range(b.ndim) if axis not in of_b]
    shape = [*(a.shape[axis] for axis in rest_a), *(b.shape[axis] for axis in rest_b)]
    rows, columns = (_product(x.shape[axis] for axis in rest) for x, rest in ((a, rest_a), (b, rest_b)))
    depth = _product(extents[0])
    left = a.permute(*rest_a, *of_a).reshape(rows, depth)
    right = b.permute(*of_b, *rest_b).reshape(depth, columns)
    return left.matmul(right).reshape(tuple(shape))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The dot products of vectors along an axis; the others broadcast.

    >>> import svod
    >>> svod.vecdot(svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([10, 1])).tolist()
    [12, 34]
    """
    a, b = _operands(x1, x2)
    if a.shape[axis] != b.shape[axis]:
        raise ShapeError(f"vecdot: the extents of axis {axis} of {a.shape} and {b.shape} differ")
    return (a.movedim(axis, -1) * b.movedim(axis, -1)).sum(-1, dtype=a.dtype)


def _counted(axis: int, rank: int) -> int:
    """An axis counted from the first."""
    if not -rank <= axis < rank:
        raise ShapeError(f"tensordot: axis {axis} is out of range for rank {rank}")
    return axis % rank


def _product(extents: Any) -> Any:
    """The product of extents, which may be symbolic."""
    product = 1
    for extent in extents:
        product = product * extent
    return product
