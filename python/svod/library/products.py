"""Sums of products over axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from svod._svod import ArgumentError, ShapeError, Tensor, _operands, _tensor, arange, where
from svod.library._axes import axis_of
from svod.library.manipulation import broadcast_shapes

__all__ = [
    "addbmm",
    "addmm",
    "addmv",
    "addr",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "cross",
    "ger",
    "grouped_mm",
    "inner",
    "kron",
    "matvec",
    "mm",
    "mv",
    "tensordot",
    "vdot",
    "vecdot",
    "vecmat",
]


def addbmm(x: Tensor, batch1: Tensor, batch2: Tensor, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (batch1 @ batch2)`, the products of all matrices of the batch summed.

    >>> import svod
    >>> svod.addbmm(svod.ones(1, 1), svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
    [[7.0]]
    """
    return _plus("addbmm", x, bmm(batch1, batch2).sum(0, dtype=batch1.dtype), beta, alpha)


def addmm(x: Tensor, mat1: Tensor, mat2: Tensor, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (mat1 @ mat2)`; with a `beta` of 0, NaN in `x` is not seen.

    >>> import svod
    >>> svod.addmm(svod.ones(1), svod.ones(2, 3), svod.ones(3, 1)).tolist()
    [[4.0], [4.0]]
    """
    return _plus("addmm", x, mm(mat1, mat2), beta, alpha)


def addmv(x: Tensor, mat: Tensor, vec: Tensor, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (mat @ vec)`.

    >>> import svod
    >>> svod.addmv(svod.ones(2), svod.ones(2, 3), svod.ones(3)).tolist()
    [4.0, 4.0]
    """
    return _plus("addmv", x, mv(mat, vec), beta, alpha)


def addr(x: Tensor, vec1: Tensor, vec2: Tensor, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * outer(vec1, vec2)`.

    >>> import svod
    >>> svod.addr(svod.zeros(2, 2), svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    return _plus("addr", x, vec1.outer(vec2), beta, alpha)


def baddbmm(x: Tensor, batch1: Tensor, batch2: Tensor, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (batch1 @ batch2)`, for each matrix of the batch.

    >>> import svod
    >>> svod.baddbmm(svod.ones(1), svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
    [[[4.0]], [[4.0]]]
    """
    return _plus("baddbmm", x, bmm(batch1, batch2), beta, alpha)


def bmm(x: Tensor, mat2: Tensor, /) -> Tensor:
    """The products of matrices, one for each of a batch.

    >>> import svod
    >>> svod.bmm(svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
    [[[3.0]], [[3.0]]]
    """
    return _of_ranks("bmm", x, mat2, 3, 3).matmul(mat2)


def chain_matmul(*matrices: Any) -> Tensor:
    """The product of matrices, multiplied in the order that takes the fewest operations.

    >>> import svod
    >>> svod.chain_matmul(svod.ones(1, 2), svod.ones(2, 3), svod.ones(3, 1)).tolist()
    [[6.0]]
    """
    return _chained("chain_matmul", [_tensor(one) for one in matrices])


def cross(x1: Any, x2: Any, /, axis: int | None = None) -> Tensor:
    """The cross products of vectors of three numbers along an axis; the others broadcast.

    By default the last axis, or, where that has another extent, the first one of three, as PyTorch has it.

    >>> import svod
    >>> svod.cross(svod.Tensor([1, 0, 0]), svod.Tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    a, b = _operands(x1, x2)
    shape = broadcast_shapes(a.shape, b.shape)
    if axis is None:
        axis = -1 if not shape or shape[-1] == 3 else next((i for i, extent in enumerate(shape) if extent == 3), -1)
    axis = axis_of("cross", axis, len(shape))
    if shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} of {a.shape} and {b.shape} is not one of three numbers")
    ofs = [[one.expand(*shape).narrow(axis, i, 1) for i in range(3)] for one in (a, b)]
    made = [ofs[0][i] * ofs[1][j] - ofs[0][j] * ofs[1][i] for i, j in ((1, 2), (2, 0), (0, 1))]
    # Each of the three has the extent of all, and is taken at its place.
    place = arange(3).reshape(tuple(3 if i == axis else 1 for i in range(len(shape))))
    return where(place == 0, made[0], where(place == 1, made[1], made[2]))


def ger(x: Tensor, vec2: Tensor, /) -> Tensor:
    """As `outer`.

    >>> import svod
    >>> svod.ger(svod.Tensor([1, 2]), svod.Tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    return x.outer(vec2)


def grouped_mm(
    x: Tensor, mat_b: Tensor, /, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """Products of groups of matrices: of stacks, or of matrices in which groups lie side by side up to each of `offs`.

    Rows of a matrix, each times the matrix of its group; columns of the other one likewise; or columns of the one and
    rows of the other, which gives a stack.

    >>> import svod
    >>> svod.grouped_mm(svod.ones(3, 2), svod.ones(2, 2, 1), offs=svod.Tensor([1, 3])).tolist()
    [[2.0], [2.0], [2.0]]
    """
    if x.ndim == 3 and mat_b.ndim == 3:
        made = x @ mat_b
    elif offs is None or not {x.ndim, mat_b.ndim} <= {2, 3}:
        raise ShapeError(f"grouped_mm: stacks, or offs, are expected, not {tuple(x.shape)} and {tuple(mat_b.shape)}")
    else:
        count = offs.shape[0]
        begin = offs.pad([(1, 0)])[:count]
        extent = x.shape[-1] if mat_b.ndim == x.ndim else x.shape[0] if x.ndim == 2 else mat_b.shape[-1]
        at = arange(extent)
        inside = ((at >= begin.unsqueeze(1)) & (at < offs.unsqueeze(1))).cast(x.dtype)
        if mat_b.ndim == x.ndim:
            made = (x * inside.unsqueeze(1)) @ mat_b
        elif x.ndim == 2:
            made = reduce(add, [(x * inside[g].unsqueeze(1)) @ mat_b[g] for g in range(count)])
        else:
            made = reduce(add, [x[g] @ (mat_b * inside[g]) for g in range(count)])
    made = made if bias is None else made + bias
    return made if out_dtype is None else made.cast(out_dtype)


def inner(x1: Any, x2: Any, /) -> Tensor:
    """The sums of products over the last dimensions: the result has the others of `x1`, then those of `x2`.

    >>> import svod
    >>> svod.inner(svod.Tensor([1, 2]), svod.Tensor([[3, 4], [5, 6]])).tolist()
    [11, 17]
    """
    a, b = _operands(x1, x2)
    return a * b if 0 in (a.ndim, b.ndim) else tensordot(a, b, axes=([-1], [-1]))


def kron(x1: Any, x2: Any, /) -> Tensor:
    """Kronecker's product: each element of `x1` times all of `x2`, side by side.

    >>> import svod
    >>> svod.kron(svod.Tensor([1, 10]), svod.Tensor([1, 2])).tolist()
    [1, 2, 10, 20]
    """
    a, b = _operands(x1, x2)
    rank = max(a.ndim, b.ndim)
    a, b = (one.reshape((*(1,) * (rank - one.ndim), *one.shape)) for one in (a, b))
    apart = a.reshape(tuple(e for extent in a.shape for e in (extent, 1)))
    beside = b.reshape(tuple(e for extent in b.shape for e in (1, extent)))
    return (apart * beside).reshape(tuple(m * n for m, n in zip(a.shape, b.shape, strict=True)))


def matvec(x1: Any, x2: Any, /) -> Tensor:
    """The products of matrices and vectors, in the last two dimensions and the last; the others broadcast.

    >>> import svod
    >>> svod.matvec(svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([[1, 0], [0, 1]])).tolist()
    [[1, 3], [2, 4]]
    """
    a, b = _operands(x1, x2)
    if a.ndim < 2 or b.ndim < 1:
        raise ShapeError(f"matvec: matrices and vectors are expected, not shapes {a.shape} and {b.shape}")
    return (a @ b.unsqueeze(-1)).squeeze(-1)


def mm(x: Tensor, mat2: Tensor, /) -> Tensor:
    """The product of two matrices.

    >>> import svod
    >>> svod.mm(svod.ones(1, 2), svod.ones(2, 1)).tolist()
    [[2.0]]
    """
    return _of_ranks("mm", x, mat2, 2, 2).matmul(mat2)


def mv(x: Tensor, vec: Tensor, /) -> Tensor:
    """The product of a matrix and a vector.

    >>> import svod
    >>> svod.mv(svod.ones(2, 3), svod.ones(3)).tolist()
    [3.0, 3.0]
    """
    return _of_ranks("mv", x, vec, 2, 1).matmul(vec)


def tensordot(x1: Any, x2: Any, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor:
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
        of_a, of_b = ([axis_of("tensordot", axis, x.ndim) for axis in of] for of, x in zip(axes, (a, b), strict=True))
    extents = [[x.shape[axis] for axis in of] for of, x in ((of_a, a), (of_b, b))]
    if extents[0] != extents[1]:
        raise ShapeError(f"tensordot: axes of extents {extents[0]} of {a.shape} and {extents[1]} of {b.shape} differ")
    rest_a = [axis for axis in range(a.ndim) if axis not in of_a]
    rest_b = [axis for axis in range(b.ndim) if axis not in of_b]
    shape = [*(a.shape[axis] for axis in rest_a), *(b.shape[axis] for axis in rest_b)]
    rows, columns = (math.prod(x.shape[axis] for axis in rest) for x, rest in ((a, rest_a), (b, rest_b)))
    depth = math.prod(extents[0])
    left = a.permute(*rest_a, *of_a).reshape(rows, depth)
    right = b.permute(*of_b, *rest_b).reshape(depth, columns)
    return left.matmul(right).reshape(tuple(shape))


def vdot(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The dot product of two vectors, of which the first is conjugated.

    >>> import svod
    >>> svod.vdot(svod.Tensor([1, 2]), svod.Tensor([3, 4])).item()
    11
    """
    return x1.conj().dot(x2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Tensor:
    """The dot products of vectors along an axis, of the first one's conjugate; the others broadcast.

    >>> import svod
    >>> svod.vecdot(svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([10, 1])).tolist()
    [12, 34]
    """
    a, b = _operands(x1, x2)
    for one in (a, b):
        axis_of("vecdot", axis, one.ndim)
    if a.shape[axis] != b.shape[axis]:
        raise ShapeError(f"vecdot: the extents of axis {axis} of {a.shape} and {b.shape} differ")
    return (a.conj().movedim(axis, -1) * b.movedim(axis, -1)).sum(-1, dtype=a.dtype)


def vecmat(x1: Any, x2: Any, /) -> Tensor:
    """The products of vectors, of which the conjugates are taken, and matrices; dimensions before these broadcast.

    >>> import svod
    >>> svod.vecmat(svod.Tensor([1, 1]), svod.Tensor([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """
    a, b = _operands(x1, x2)
    if a.ndim < 1 or b.ndim < 2:
        raise ShapeError(f"vecmat: vectors and matrices are expected, not shapes {a.shape} and {b.shape}")
    return (a.conj().unsqueeze(-2) @ b).squeeze(-2)


def _plus(name: str, x: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """`beta * x + alpha * product`, in the shape of the product."""
    scaled = product if _is_number(alpha, 1) else product * alpha
    if _is_number(beta, 0):
        return scaled
    there = product.shape[product.ndim - x.ndim :]
    if x.ndim > product.ndim or any(mine not in (1, theirs) for mine, theirs in zip(x.shape, there, strict=True)):
        raise ShapeError(f"{name}: {x.shape} does not broadcast to the product's shape {product.shape}")
    return (x if _is_number(beta, 1) else x * beta) + scaled


def _is_number(factor: Any, number: int) -> bool:
    """Whether a factor is this number, and not a tensor."""
    return isinstance(factor, int | float) and factor == number


def _of_ranks(name: str, x: Tensor, y: Tensor, *ranks: int) -> Tensor:
    """The first of two operands, which are to have these ranks, and as many matrices."""
    if (x.ndim, y.ndim) != ranks or (ranks[0] == 3 and x.shape[0] != y.shape[0]):
        raise ShapeError(
            f"{name}: operands of {ranks[0]} and {ranks[1]} dimensions are expected, not {x.shape}, {y.shape}"
        )
    return x


def _chained(name: str, matrices: list[Tensor]) -> Tensor:
    """The product of matrices, in the order of the fewest operations (Godbole 1973)."""
    if any(one.ndim != 2 for one in matrices) or not matrices:
        raise ShapeError(f"{name}: matrices are expected, not shapes {[one.shape for one in matrices]}")
    extents = [int(matrices[0].shape[0]), *(int(one.shape[1]) for one in matrices)]
    # By first and last matrix: operations, and the product.
    best = {(i, i): (0, one) for i, one in enumerate(matrices)}
    for length in range(1, len(matrices)):
        for i in range(len(matrices) - length):
            j = i + length
            costs = [
                (best[i, k][0] + best[k + 1, j][0] + extents[i] * extents[k + 1] * extents[j + 1], k)
                for k in range(i, j)
            ]
            cost, k = min(costs)
            best[i, j] = (cost, best[i, k][1].matmul(best[k + 1, j][1]))
    return best[0, len(matrices) - 1][1]
