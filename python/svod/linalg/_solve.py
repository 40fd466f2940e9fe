"""Linear equations and inverses, by elimination with partial pivoting."""

from __future__ import annotations

from typing import Any

from svod._extension import public
from svod._svod import ShapeError, Tensor, _may_be_differentiated, _with_derivative, eye
from svod.library._spelling import together
from svod.library.arrangement import adjoint
from svod.library.diagonals import diag_embed
from svod.library.dtypes import result_type
from svod.library.manipulation import broadcast_shapes
from svod.linalg._matrices import column, diagonal_of, matrices


@public
def inv(x: Any, /) -> Tensor:
    """The inverses of matrices.

    >>> import svod
    >>> svod.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    x = matrices("inv", x, square=True)
    y: Tensor = x._factors("inv")[0]
    if not _may_be_differentiated(x):
        return y

    def pull(g: Tensor) -> list[Tensor | None]:
        by = adjoint(inv(x))
        return [-by @ g @ by]

    return _with_derivative("inv", y, [x], pull)


@public
def solve(x1: Any, x2: Any, /, *, left: bool = True) -> Tensor:
    """y with x1 y = x2: of a matrix, or of a vector where `x2` has one dimension. Without `left`, y x1 = x2.

    As PyTorch has it, a stack of as many vectors as matrices are these, where they are no matrices that fit.

    >>> import svod
    >>> svod.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).tolist()
    [1.0, 0.5]
    """
    x1, b = together([x1, x2])
    a = matrices("solve", x1, square=True)
    vector = are_vectors(a, b, left)
    if not left:
        return solve(a.mT, b) if vector else solve(a.mT, b.mT).mT
    b = column(b) if vector else b
    if b.shape[-2] != a.shape[-1]:
        raise ShapeError(f"solve: a right side of shape {tuple(b.shape)} for matrices {tuple(a.shape)}")
    dtype = result_type(a, b)
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = a.astype(dtype).expand(*batch, *a.shape[-2:])
    b = b.astype(dtype).expand(*batch, *b.shape[-2:])
    y = _solved(a, b)
    return y.squeeze(-1) if vector else y


@public
def solve_triangular(x1: Any, x2: Any, /, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """y with x1 y = x2, of x1 only a triangle; with `unitriangular` its diagonal counts as ones.

    Without `left`, y with y x1 = x2.
    """
    a = matrices("solve_triangular", x1, square=True)
    a = a.triu() if upper else a.tril()
    if unitriangular:
        a = a - diag_embed(diagonal_of(a)) + eye(a.shape[-1], dtype=a.dtype)
    return solve(a, x2, left=left)


def are_vectors(a: Tensor, b: Tensor, left: bool) -> bool:
    """Whether right sides are vectors: a stack of as many as there are matrices, unless they are matrices that fit."""
    stacked = 1 < b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]
    return b.ndim == 1 or (stacked and b.shape[-2 if left else -1] != a.shape[-1])


def _solved(a: Tensor, b: Tensor) -> Tensor:
    """y with a y = b, of stacks of one shape, with its derivative."""
    (y,) = a._factors("solve", b)
    if not (_may_be_differentiated(a) or _may_be_differentiated(b)):
        return y

    def pull(g: Tensor) -> list[Tensor | None]:
        of_b = _solved(adjoint(a), g)
        return [-of_b @ adjoint(_solved(a, b)), of_b]

    return _with_derivative("solve", y, [a, b], pull)
