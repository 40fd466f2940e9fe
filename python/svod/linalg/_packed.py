"""Factors in one matrix, and tensors taken as matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import svod
from svod._extension import public
from svod._svod import ArgumentError, ShapeError, Tensor, _tensor, arange
from svod.library.arrangement import adjoint as adjoint_of
from svod.linalg._solve import inv, solve, solve_triangular


@public
def householder_product(x: Any, tau: Any, /) -> Tensor:
    """As `svod.orgqr`, PyTorch's other name for it.

    >>> import svod
    >>> svod.linalg.householder_product(*svod.geqrf(svod.Tensor([[3.0], [4.0]]))).abs().tolist()
    [[0.6000000238418579], [0.800000011920929]]
    """
    return svod.orgqr(_tensor(x), _tensor(tau))


@public
def lu_factor(x: Any, /, *, pivot: bool = True) -> Any:
    """As `svod.lu`: both triangles in one matrix, and LAPACK's pivots.

    >>> import svod
    >>> svod.linalg.lu_factor([[1.0, 2.0], [2.0, 2.0]]).LU.tolist()
    [[2.0, 2.0], [0.5, 1.0]]
    """
    return svod.lu(_tensor(x), pivot)


@public
def lu_solve(LU: Any, pivots: Any, B: Any, /, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """y with A y = B, by the factors that `lu_factor` makes of A; with `adjoint` of A's. Without `left`, y A = B.

    >>> import svod
    >>> svod.linalg.lu_solve(*svod.linalg.lu_factor([[2.0, 0.0], [0.0, 4.0]]), [[2.0], [2.0]]).tolist()
    [[1.0], [0.5]]
    """
    from svod.library.packed import _unpacked

    b = _tensor(B)
    if not left:
        return adjoint_of(lu_solve(LU, pivots, adjoint_of(b), adjoint=not adjoint))
    permutation, lower, upper = _unpacked("lu_solve", _tensor(LU), _tensor(pivots))
    assert permutation is not None and lower is not None and upper is not None, "all of them were asked for"
    if not adjoint:
        half = solve_triangular(lower, permutation.mT @ b, upper=False)
        return solve_triangular(upper, half, upper=True)
    half = solve_triangular(adjoint_of(upper), b, upper=False)
    return permutation @ solve_triangular(adjoint_of(lower), half, upper=True)


@public
def tensorinv(x: Any, /, ind: int = 2) -> Tensor:
    """The inverse of a tensor as a matrix, whose rows are the elements of its first `ind` dimensions.

    >>> import svod
    >>> svod.linalg.tensorinv(svod.eye(6).reshape(2, 3, 6), ind=2).shape
    (6, 2, 3)
    """
    x = _tensor(x)
    if not 0 < ind <= x.ndim:
        raise ArgumentError(f"tensorinv: ind is from 1 to the rank of {tuple(x.shape)}, not {ind}")
    before, behind = x.shape[:ind], x.shape[ind:]
    if math.prod(before) != math.prod(behind):
        raise ShapeError(f"tensorinv: {tuple(x.shape)} is no square matrix after {ind} dimensions")
    return inv(x.reshape(math.prod(before), -1)).reshape(*behind, *before)


@public
def tensorsolve(x1: Any, x2: Any, /, axes: Sequence[int] | None = None, *, dims: Sequence[int] | None = None) -> Tensor:
    """y with `tensordot(x1, y, y.ndim) = x2`; `axes` of `x1`, `dims` in PyTorch's words, are brought to its end before.

    >>> import svod
    >>> svod.linalg.tensorsolve(2 * svod.eye(6).reshape(2, 3, 6), svod.ones(2, 3)).tolist()
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """
    a, b = _tensor(x1), _tensor(x2)
    axes = dims if axes is None else axes
    if axes is not None:
        last = [axis % a.ndim for axis in axes]
        a = a.permute(*(axis for axis in range(a.ndim) if axis not in last), *last)
    shape = a.shape[b.ndim :]
    if math.prod(shape) != b.numel() or a.numel() != b.numel() ** 2:
        raise ShapeError(f"tensorsolve: {tuple(a.shape)} is no square matrix for a right side of {tuple(b.shape)}")
    return solve(a.reshape(b.numel(), b.numel()), b.reshape(-1)).reshape(tuple(shape))


@public
def vander(x: Any, /, N: int | None = None) -> Tensor:
    """The powers of the elements of vectors from 0 on, as rows, as many as elements unless `N` is given.

    >>> import svod
    >>> svod.linalg.vander([2, 3], 3).tolist()
    [[1, 2, 4], [1, 3, 9]]
    """
    x = _tensor(x)
    if x.ndim == 0 or (N is not None and N < 1):
        raise ArgumentError(f"vander: vectors and at least 1 power are expected, not {tuple(x.shape)} and {N}")
    powers: Tensor = x.unsqueeze(-1) ** arange(x.shape[-1] if N is None else N)
    return powers
