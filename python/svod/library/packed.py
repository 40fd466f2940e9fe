"""Factors in the packed forms of LAPACK, which PyTorch shows: reflections and lengths, triangles and pivots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from svod import linalg
from svod._steps import custom
from svod._svod import ArgumentError, ShapeError, Tensor, arange, cat, eye, view_as_complex, view_as_real, zeros
from svod.library.arrangement import adjoint
from svod.library.diagonals import diag_embed

__all__ = ["geqrf", "lu", "lu_solve", "lu_unpack", "orgqr", "ormqr"]


class Reflections(NamedTuple):
    """The triangle R with vectors of reflections below its diagonal, and how long each reflection is."""

    a: Tensor
    tau: Tensor


class PackedLU(NamedTuple):
    """Both triangles in one matrix, and the row, from 1 on, with which each one was exchanged."""

    LU: Tensor
    pivots: Tensor


class LU(NamedTuple):
    """A permutation P, the lower triangle L and the upper triangle U; None for what was not asked for."""

    P: Tensor | None
    L: Tensor | None
    U: Tensor | None


def geqrf(x: Tensor, /) -> Reflections:
    """The factors of `qr` as LAPACK leaves them: R, below it the vectors v of reflections `1 - tau v vᴴ`, and tau.

    `orgqr` makes Q of them, `ormqr` products with it. To ask for a derivative is an error; `qr` has one.

    >>> import svod
    >>> packed, tau = svod.geqrf(svod.Tensor([[3.0], [4.0]]))
    >>> f"{packed[0, 0].item():.3f}, {tau[0].item():.3f}"
    '-5.000, 1.600'
    """
    _counted_matrices("geqrf", x)
    *batch, rows, columns = x.shape
    shapes: list[tuple[Any, ...]] = [(*batch, columns, rows), (*batch, min(rows, columns))]
    # Functions of the host know complex numbers as pairs.
    pairs = x.dtype.is_complex
    given = view_as_real(x) if pairs else x

    def compute(a: Any) -> list[Any]:
        a = a.view(a.dtype.str.replace("f4", "c8").replace("f8", "c16"))[..., 0] if pairs else a
        made = [np.ascontiguousarray(one) for one in np.linalg.qr(a, mode="raw")]
        return [one.view(given.dtype.name).reshape(*one.shape, 2) for one in made] if pairs else made

    shapes = [(*shape, 2) for shape in shapes] if pairs else shapes
    made = custom(compute, given, shape=shapes, dtype=[given.dtype] * 2, name="geqrf")
    packed, tau = (view_as_complex(one) for one in made) if pairs else made
    return Reflections(packed.mT, tau)


def orgqr(x: Tensor, tau: Tensor, /) -> Tensor:
    """The first columns of the product Q of reflections as `geqrf` gives them.

    >>> import svod
    >>> a = svod.Tensor([[3.0], [4.0]])
    >>> svod.abs(svod.orgqr(*svod.geqrf(a)) @ a.qr().R - a).max().item() < 1e-6
    True
    """
    rows, columns = _reflecting("orgqr", x, tau)
    vectors, inner = _compact(x, tau)
    return eye(rows, columns, dtype=x.dtype) - vectors @ (inner @ adjoint(vectors)[..., :columns])


def ormqr(x: Tensor, tau: Tensor, other: Tensor, /, left: bool = True, transpose: bool = False) -> Tensor:
    """Q, as `geqrf` gives its reflections, times `other`, or `other` times it; its adjoint with `transpose`.

    >>> import svod
    >>> a = svod.Tensor([[3.0], [4.0]])
    >>> svod.ormqr(*svod.geqrf(a), a, transpose=True).abs().round().tolist()
    [[5.0], [0.0]]
    """
    _reflecting("ormqr", x, tau)
    vectors, inner = _compact(x, tau)
    inner = adjoint(inner) if transpose else inner
    if left:
        return other - vectors @ (inner @ (adjoint(vectors) @ other))
    return other - (other @ vectors) @ inner @ adjoint(vectors)


def lu(x: Tensor, /, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """Both triangles of `svod.linalg.lu` in one matrix, and LAPACK's pivots; with `get_infos` zeros, too.

    >>> import svod
    >>> packed, pivots = svod.lu(svod.Tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> packed.tolist(), pivots.tolist()
    ([[2.0, 2.0], [0.5, 1.0]], [2, 2])
    """
    if not pivot:
        raise ArgumentError("lu: factors without pivots are not computed: pivot is True")
    _counted_matrices("lu", x)
    permutation, lower, upper = linalg.lu(x)
    *batch, rows, columns = x.shape
    few = min(rows, columns)
    # Rows of the triangles, where these are shorter than the matrix.
    below = cat([lower.tril(-1), zeros(*batch, rows, columns - few, dtype=lower.dtype)], -1)
    above = cat([upper, zeros(*batch, rows - few, columns, dtype=lower.dtype)], -2)
    order = (permutation.abs().cast("int64") * arange(rows).unsqueeze(-1)).sum(-2)
    pivots = custom(_pivots(few), order, shape=(*batch, few), dtype="int32", name="pivots")
    packed = PackedLU(below + above, pivots)
    return (*packed, zeros(tuple(batch), dtype="int32")) if get_infos else packed


def lu_solve(x: Tensor, LU_data: Tensor, LU_pivots: Tensor, /) -> Tensor:
    """y with A y = x, by the factors that `lu` makes of A.

    >>> import svod
    >>> a = svod.Tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> svod.lu_solve(svod.Tensor([[2.0], [2.0]]), *svod.lu(a)).tolist()
    [[1.0], [0.5]]
    """
    _counted_matrices("lu_solve", LU_data)
    P, L, U = _unpacked("lu_solve", LU_data, LU_pivots)
    assert P is not None and L is not None and U is not None, "all of them were asked for"
    return linalg.solve_triangular(U, linalg.solve_triangular(L, P.mT @ x, upper=False), upper=True)


def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, /, unpack_data: bool = True, unpack_pivots: bool = True) -> LU:
    """The permutation and the triangles with P L U the matrix that `lu` was given.

    >>> import svod
    >>> P, L, U = svod.lu_unpack(*svod.lu(svod.Tensor([[1.0, 2.0], [2.0, 2.0]])))
    >>> (P @ L @ U).tolist()
    [[1.0, 2.0], [2.0, 2.0]]
    """
    return _unpacked("lu_unpack", LU_data, LU_pivots, unpack_data, unpack_pivots)


def _unpacked(
    name: str, LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> LU:
    """What `lu_unpack` is, for a function of this name."""
    _counted_matrices(name, LU_data)
    *batch, rows, columns = LU_data.shape
    few = min(rows, columns)
    P = L = U = None
    if unpack_pivots:
        if LU_pivots.shape != (*batch, few) or LU_pivots.dtype.name not in ("int32", "int64"):
            given = f"{LU_pivots.dtype.name}{[*LU_pivots.shape]} for {LU_data.dtype.name}{[*LU_data.shape]}"
            raise ShapeError(
                f"{name}: pivots are an int32 for each of the {few} columns that were reduced, not {given}"
            )
        order = custom(_order(name, rows), LU_pivots, shape=(*batch, rows), dtype="int64", name=name)
        P = (arange(rows).unsqueeze(-1) == order.unsqueeze(-2)).cast(LU_data.dtype)
    if unpack_data:
        L = LU_data[..., :, :few].tril(-1) + eye(rows, few, dtype=LU_data.dtype)
        U = LU_data[..., :few, :].triu()
    return LU(P, L, U)


def _counted_matrices(name: str, x: Tensor) -> tuple[int, int]:
    """How many rows and columns matrices have."""
    if x.ndim < 2:
        raise ShapeError(f"{name}: matrices are expected, not {tuple(x.shape)}")
    rows, columns = x.shape[-2:]
    return rows, columns


def _reflecting(name: str, x: Tensor, tau: Tensor) -> tuple[int, int]:
    """How many rows and columns packed reflections have."""
    rows, columns = _counted_matrices(name, x)
    if tau.ndim != x.ndim - 1 or tau.shape[-1] > columns or columns > rows:
        raise ShapeError(f"{name}: reflections of shape {tuple(x.shape)} with lengths of shape {tuple(tau.shape)}")
    return rows, columns


def _compact(x: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """V and T with `1 - V T Vᴴ` the product of reflections (Schreiber and Van Loan 1989; T by Puglisi 1992)."""
    count = tau.shape[-1]
    ones = eye(x.shape[-2], count, dtype=x.dtype)
    vectors = x[..., :count].tril(-1) + ones
    lengths = diag_embed(tau)
    above = (adjoint(vectors) @ vectors).triu(1)
    return vectors, linalg.solve_triangular(eye(count, dtype=x.dtype) + lengths @ above, lengths, upper=True)


def _pivots(few: int) -> Any:
    """The exchanges, one after the other, that bring rows into an order."""

    def compute(order: Any) -> Any:
        flat = order.reshape(-1, order.shape[-1])
        found = np.zeros((len(flat), few), np.int32)
        for wanted, pivots in zip(flat, found, strict=True):
            at = np.arange(len(wanted))
            for i in range(few):
                j = int(np.flatnonzero(at == wanted[i])[0])
                pivots[i] = j + 1
                at[[i, j]] = at[[j, i]]
        return found.reshape(*order.shape[:-1], few)

    return compute


def _order(name: str, rows: int) -> Any:
    """The order of rows after exchanges, one after the other."""

    def compute(pivots: Any) -> Any:
        if not ((pivots >= 1) & (pivots <= rows)).all():
            given = f"from {pivots.min()} to {pivots.max()}"
            raise ArgumentError(f"{name}: pivots are numbers of rows, from 1 to {rows}, but these are {given}")
        flat = pivots.reshape(-1, pivots.shape[-1])
        found = np.tile(np.arange(rows), (len(flat), 1))
        for one, order in zip(flat, found, strict=True):
            for i, j in enumerate(one - 1):
                order[[i, j]] = order[[j, i]]
        return found.reshape(*pivots.shape[:-1], rows)

    return compute
