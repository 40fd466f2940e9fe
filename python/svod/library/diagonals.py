"""Diagonals of matrices, and matrices of their diagonals."""

from __future__ import annotations

from typing import Any

from svod._place import device_of
from svod._svod import ArgumentError, ShapeError, Tensor, _tensor, arange, cat, eye, ones, where
from svod.library._axes import axis_of
from svod.library.indexed import argwhere
from svod.library.manipulation import moveaxis

__all__ = [
    "block_diag",
    "diag",
    "diag_embed",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diagonal_scatter",
    "fill_diagonal",
    "trace",
    "tril_indices",
    "tril_indices_from",
    "triu_indices",
    "triu_indices_from",
    "vander",
]


def block_diag(*tensors: Any) -> Tensor:
    """The matrices on the diagonal of one, zeros elsewhere; vectors are rows.

    >>> import svod
    >>> svod.block_diag(svod.Tensor([[1, 2]]), svod.Tensor(3)).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """
    blocks = [one if one.ndim == 2 else one.reshape(1, -1) for one in map(_tensor, tensors)]
    width = sum(one.shape[1] for one in blocks)
    rows, before = [], 0
    for one in blocks:
        rows.append(one.pad([(0, 0), (before, width - before - one.shape[1])]))
        before = before + one.shape[1]
    return cat(rows, 0)


def diag(x: Tensor, /, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix that has a vector for its diagonal.

    >>> import svod
    >>> svod.diag(svod.Tensor([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """
    if x.ndim not in (1, 2):
        raise ShapeError(f"diag: a vector or a matrix is expected, not shape {x.shape}")
    return diag_embed(x, diagonal) if x.ndim == 1 else _diagonal(x, diagonal)


def diag_embed(x: Tensor, /, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Tensor:
    """Matrices over two dimensions of the result that have the last dimension of `x` for their diagonals.

    `offset` diagonals to the right of the main one, or, negative, to the left.

    >>> import svod
    >>> svod.diag_embed(svod.Tensor([1, 2]), offset=1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """
    n = x.shape[-1] + abs(offset)
    rank = x.ndim + 1
    first, second = (axis_of("diag_embed", one, rank) for one in (axis1, axis2))
    if first == second:
        raise ArgumentError(f"diag_embed: dimensions {axis1} and {axis2} are one")
    made = where(eye(n, n, k=offset, dtype="bool"), _spread(x, n, n, offset), 0).cast(x.dtype)
    if first > second:
        made, first, second = made.mT, second, first
    return moveaxis(made, (-2, -1), (first, second))


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The positions along each of `ndim` dimensions of extent `n` where all of them are equal.

    >>> import svod
    >>> x = svod.zeros(2, 2)
    >>> x[svod.diag_indices(2)] = 5
    >>> x.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """
    return (arange(n),) * ndim


def diag_indices_from(x: Tensor, /) -> tuple[Tensor, ...]:
    """As `diag_indices`, for a tensor, whose dimensions have one extent.

    >>> import svod
    >>> x = svod.Tensor([[1, 2], [3, 4]])
    >>> x[svod.diag_indices_from(x)].tolist()
    [1, 4]
    """
    if x.ndim < 2 or any(extent != x.shape[0] for extent in x.shape):
        raise ShapeError(f"diag_indices_from: at least two dimensions of one extent are expected, not {x.shape}")
    return (arange(x.shape[0], device=device_of(x)),) * x.ndim


def diagflat(x: Tensor, /, offset: int = 0) -> Tensor:
    """The matrix that has all elements on a diagonal.

    >>> import svod
    >>> svod.diagflat(svod.Tensor([[1], [2]])).tolist()
    [[1, 0], [0, 2]]
    """
    return diag_embed(x.reshape(-1), offset)


def diagonal(x: Tensor, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The diagonals over two dimensions, as the last dimension of the result.

    >>> import svod
    >>> svod.diagonal(svod.Tensor([[1, 2, 3], [4, 5, 6]]), offset=1).tolist()
    [2, 6]
    """
    return _diagonal(_matrices("diagonal", x, axis1, axis2), offset)._view_of(x, "diagonal")


def diagonal_scatter(x: Tensor, src: Tensor, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The tensor with other diagonals over two dimensions.

    >>> import svod
    >>> svod.diagonal_scatter(svod.zeros(2, 2), svod.ones(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    whole = _matrices("diagonal_scatter", x, axis1, axis2)
    rows, columns = whole.shape[-2:]
    wanted = (*whole.shape[:-2], _length(whole, offset))
    if src.shape != wanted:
        raise ShapeError(f"diagonal_scatter: src: shape {wanted} is expected, not {src.shape}")
    spread = _spread(src.cast(x.dtype), rows, columns, offset)
    made = where(eye(rows, columns, k=offset, dtype="bool"), spread, whole)
    return moveaxis(made, (-2, -1), (axis1, axis2))


def fill_diagonal(x: Tensor, fill_value: Any, /, wrap: bool = False) -> Tensor:
    """One value on the diagonal; of more than two dimensions, which are equal, where all indices are.

    With `wrap` the diagonal of a tall matrix begins anew behind each square of it.
    """
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"fill_diagonal_: a matrix or equal extents are expected, not shape {x.shape}")
    if x.ndim > 2:
        here = [
            arange(extent).reshape(*(-1 if i == at else 1 for i in range(x.ndim))) for at, extent in enumerate(x.shape)
        ]
        mask = here[0] == here[1]
        for one in here[2:]:
            mask = mask & (one == here[0])
    else:
        rows, columns = x.shape
        within = arange(rows) % (columns + 1) if wrap else arange(rows)
        mask = within.unsqueeze(-1) == arange(columns)
    return where(mask, fill_value, x).cast(x.dtype)


def trace(x: Tensor, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """The sum of a diagonal.

    >>> import svod
    >>> svod.trace(svod.Tensor([[1, 2], [3, 4]])).item()
    5
    """
    return diagonal(x, offset, axis1, axis2).sum(-1)


def tril_indices(
    row: int, col: int | None = None, offset: int = 0, *, dtype: Any = "int64", device: str | None = None
) -> Tensor:
    """Rows and columns of the elements on and below a diagonal, in row-major order, as the two rows of the result.

    >>> import svod
    >>> svod.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    at = argwhere(ones(row, row if col is None else col, dtype="bool").tril(offset)).T
    return at.to(dtype=dtype, device=device)


def tril_indices_from(x: Tensor, /, k: int = 0) -> tuple[Tensor, Tensor]:
    """Rows and columns of a matrix's elements on and below a diagonal, in row-major order: a pair, by which it is
    indexed.

    >>> import svod
    >>> x = svod.Tensor([[1, 2], [3, 4]])
    >>> x[svod.tril_indices_from(x)].tolist()
    [1, 3, 4]
    """
    rows, columns = _matrix("tril_indices_from", x)
    at = tril_indices(rows, columns, k, device=device_of(x))
    return at[0], at[1]


def triu_indices(
    row: int, col: int | None = None, offset: int = 0, *, dtype: Any = "int64", device: str | None = None
) -> Tensor:
    """Rows and columns of the elements on and above a diagonal, in row-major order, as the two rows of the result.

    >>> import svod
    >>> svod.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """
    at = argwhere(ones(row, row if col is None else col, dtype="bool").triu(offset)).T
    return at.to(dtype=dtype, device=device)


def triu_indices_from(x: Tensor, /, k: int = 0) -> tuple[Tensor, Tensor]:
    """Rows and columns of a matrix's elements on and above a diagonal, in row-major order: a pair, by which it is
    indexed.

    >>> import svod
    >>> x = svod.Tensor([[1, 2], [3, 4]])
    >>> x[svod.triu_indices_from(x)].tolist()
    [1, 2, 4]
    """
    rows, columns = _matrix("triu_indices_from", x)
    at = triu_indices(rows, columns, k, device=device_of(x))
    return at[0], at[1]


def vander(x: Tensor, /, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector as rows, from the highest, `N - 1`, to 0, or `increasing`.

    >>> import svod
    >>> svod.vander(svod.Tensor([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    if x.ndim != 1:
        raise ShapeError(f"vander: a vector is expected, not shape {x.shape}")
    exponents = arange(x.shape[0] if N is None else N)
    exponents = exponents if increasing else exponents.flip(0)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        return x.cast("int64").unsqueeze(-1).pow(exponents)
    return x.unsqueeze(-1).pow(exponents.cast(x.dtype))


def _matrix(name: str, x: Tensor) -> tuple[Any, Any]:
    """The extents of a matrix."""
    if x.ndim != 2:
        raise ShapeError(f"{name}: a matrix is expected, not shape {x.shape}")
    rows, columns = x.shape
    return rows, columns


def _matrices(name: str, x: Tensor, axis1: int, axis2: int) -> Tensor:
    """Two dimensions moved to the end."""
    first, second = (axis_of(name, one, x.ndim) for one in (axis1, axis2))
    if first == second:
        raise ArgumentError(f"{name}: dimensions {axis1} and {axis2} are one")
    return moveaxis(x, (first, second), (-2, -1))


def _length(x: Tensor, offset: int) -> Any:
    """The length of a diagonal of the last two dimensions."""
    rows, columns = x.shape[-2:]
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


def _diagonal(x: Tensor, offset: int) -> Tensor:
    """A diagonal of the last two dimensions, by its distance in memory from one element to the next."""
    columns = x.shape[-1]
    start = offset if offset > 0 else -offset * columns
    at = arange(_length(x, offset)) * (columns + 1) + start
    return x.flatten(-2).take(at, -1)


def _spread(x: Tensor, rows: int, columns: int, offset: int) -> Tensor:
    """Each element of the last dimension along the row, or the column, where a diagonal has it."""
    if offset >= 0:
        return _reach(x, rows).unsqueeze(-1)
    return _reach(x, columns).unsqueeze(-2)


def _reach(x: Tensor, extent: int) -> Tensor:
    """The last dimension padded to an extent."""
    return x.pad([(0, 0)] * (x.ndim - 1) + [(0, extent - x.shape[-1])])
