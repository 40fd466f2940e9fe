"""Factors and solutions that say where a matrix has none, in place of an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from svod._extension import public
from svod._svod import ExecutionError, Tensor, eye, full, where, zeros
from svod.library._spelling import together
from svod.library.dtypes import result_type
from svod.linalg._factors import cholesky
from svod.linalg._matrices import column, diagonal_of, matrices
from svod.linalg._packed import lu_factor
from svod.linalg._solve import are_vectors, inv, solve


class CholeskyExResult(NamedTuple):
    """A triangle, and the order of the first leading minor that is not positive, or 0."""

    L: Tensor
    info: Tensor


class InvExResult(NamedTuple):
    """An inverse, and the first pivot, counted from 1, that is 0, or 0."""

    inverse: Tensor
    info: Tensor


class SolveExResult(NamedTuple):
    """A solution, and the first pivot, counted from 1, that is 0, or 0."""

    result: Tensor
    info: Tensor


class LUFactorExResult(NamedTuple):
    """Both triangles in one matrix, LAPACK's pivots, and the first element of U's diagonal that is 0, or 0."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


@public
def cholesky_ex(x: Any, /, *, upper: bool = False, check_errors: bool = False) -> CholeskyExResult:
    """As `cholesky`; of a matrix that is not positive definite NaN, and which leading minor is not positive.

    >>> import svod
    >>> svod.linalg.cholesky_ex([[4.0, 0.0], [0.0, -1.0]]).info.item()
    2
    """
    x = matrices("cholesky_ex", x, square=True)
    return CholeskyExResult(*_told(x, "minor", lambda a: cholesky(a, upper=upper), check_errors))


@public
def inv_ex(x: Any, /, *, check_errors: bool = False) -> InvExResult:
    """As `inv`; of a singular matrix NaN, and which pivot is 0.

    >>> import svod
    >>> svod.linalg.inv_ex([[2.0, 0.0], [0.0, 0.0]]).info.item()
    2
    """
    return InvExResult(*_told(matrices("inv_ex", x, square=True), "pivot", inv, check_errors))


@public
def solve_ex(x1: Any, x2: Any, /, *, left: bool = True, check_errors: bool = False) -> SolveExResult:
    """As `solve`; by a singular matrix NaN, and which pivot is 0.

    >>> import svod
    >>> svod.linalg.solve_ex([[2.0, 0.0], [0.0, 0.0]], [1.0, 1.0]).info.item()
    2
    """
    x1, b = together([x1, x2])
    a = matrices("solve_ex", x1, square=True)
    # What is eliminated: in the type of the solution, and turned where it is on the right.
    a = a.astype(result_type(a, b))
    of = a if left else a.mT
    extents = 1 if are_vectors(a, b, left) else 2
    return SolveExResult(*_told(of, "pivot", lambda a: solve(a if left else a.mT, b, left=left), check_errors, extents))


@public
def lu_factor_ex(x: Any, /, *, pivot: bool = True, check_errors: bool = False) -> LUFactorExResult:
    """As `lu_factor`, and which element of U's diagonal is 0: such a matrix has these factors too. Whether there is one
    is computed now where `check_errors` asks for it.

    >>> import svod
    >>> svod.linalg.lu_factor_ex([[2.0, 0.0], [0.0, 0.0]]).info.item()
    2
    """
    packed, pivots = lu_factor(matrices("lu_factor_ex", x), pivot=pivot)
    none = (diagonal_of(packed) == 0).cast("int32")
    info = where(none.any(-1), none.argmax(-1) + 1, 0).cast("int32") if none.shape[-1] else none.sum(-1, dtype="int32")
    if check_errors and bool((info > 0).any()):
        raise ExecutionError("lu_factor_ex: the matrix is singular")
    return LUFactorExResult(packed, pivots, info)


def _told(
    x: Tensor, failing: str, compute: Callable[[Tensor], Tensor], check_errors: bool, extents: int = 2
) -> tuple[Tensor, Tensor]:
    """What is computed of matrices that have it and NaN of others, in so many dimensions; and where the others fail."""
    if check_errors:
        return compute(x), zeros(*x.shape[:-2], dtype="int32")
    (place,) = x.detach()._factors(failing)
    fails = place > 0
    made = compute(where(column(column(fails)), eye(x.shape[-1], dtype=x.dtype), x))
    for _ in range(extents):
        fails = column(fails)
    return where(fails, full((), math.nan, dtype=made.dtype), made), place.cast("int32")
