"""What `svod.linalg` has, under the names of PyTorch's older functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from typing import NamedTuple

from svod import linalg
from svod._place import device_of
from svod._svod import ArgumentError, ShapeError, Tensor, eye, randn, where, zeros
from svod.library.arrangement import adjoint
from svod.linalg import QRResult, SlogdetResult

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "frobenius_norm",
    "inverse",
    "lobpcg",
    "logdet",
    "matrix_exp",
    "matrix_power",
    "nuclear_norm",
    "pca_lowrank",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
    "svd_lowrank",
    "triangular_solve",
]


# Each is a part of the graph.
_MOST_ROUNDS = 100


class SVD(NamedTuple):
    """U, the singular values S, descending, and V, whose columns are vectors, with U diag(S) Vᴴ = x."""

    U: Tensor
    S: Tensor
    V: Tensor


def cholesky(x: Tensor, /, upper: bool = False) -> Tensor:
    """As `svod.linalg.cholesky`.

    >>> import svod
    >>> svod.cholesky(svod.Tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    return linalg.cholesky(x, upper=upper)


def cholesky_inverse(x: Tensor, /, upper: bool = False) -> Tensor:
    """The inverses of the matrices whose Cholesky triangles these are.

    >>> import svod
    >>> svod.cholesky_inverse(svod.Tensor([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, -0.5], [-0.5, 1.0]]
    """
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"cholesky_inverse: square matrices are expected, not {tuple(x.shape)}")
    return cholesky_solve(eye(x.shape[-1], dtype=x.dtype), x, upper=upper)


def cholesky_solve(x: Tensor, input2: Tensor, /, upper: bool = False) -> Tensor:
    """y with A y = x, where `input2` are the Cholesky triangles of A: lower ones, or upper ones.

    >>> import svod
    >>> svod.cholesky_solve(svod.Tensor([[2.0], [2.0]]), svod.Tensor([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.0], [1.0]]
    """
    if len(x.shape) < 2:
        raise ShapeError(f"cholesky_solve: matrices of right sides are expected, not {tuple(x.shape)}")
    other = input2.conj().mT
    lower, above = (other, input2) if upper else (input2, other)
    return linalg.solve_triangular(above, linalg.solve_triangular(lower, x, upper=False), upper=True)


def det(x: Tensor, /) -> Tensor:
    """As `svod.linalg.det`.

    >>> import svod
    >>> svod.det(svod.Tensor([[2.0, 1.0], [0.0, 3.0]])).item()
    6.0
    """
    return linalg.det(x)


def frobenius_norm(x: Tensor, /, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """The root of the sum of the squares along axes, by default all.

    >>> import svod
    >>> svod.frobenius_norm(svod.Tensor([[3.0, 4.0]])).item()
    5.0
    """
    return x._norm(2, axis or None, keepdims)


def inverse(x: Tensor, /) -> Tensor:
    """As `svod.linalg.inv`.

    >>> import svod
    >>> svod.inverse(svod.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return linalg.inv(x)


def lobpcg(
    x: Tensor,
    /,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool = True,
    method: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` greatest, or least, eigenvalues and vectors of `x v = λ B v`, of matrices that are their own adjoints.

    They are computed exactly, by `svod.linalg.eigh`: what PyTorch's iteration begins and ends with has no meaning here,
    but for how many vectors `X`, or `n`, has.

    >>> import svod
    >>> svod.lobpcg(svod.Tensor([[2.0, 0.0], [0.0, 3.0]]), k=1)[0].round().tolist()
    [3.0]
    """
    count = k or n or (1 if X is None else int(X.shape[-1]))
    if count > x.shape[-1]:
        raise ArgumentError(f"lobpcg: {count} eigenvalues of matrices {tuple(x.shape)}")
    if B is None:
        values, vectors = linalg.eigh(x)
    else:
        lower = linalg.cholesky(B)
        half = linalg.solve_triangular(lower, x, upper=False)
        values, vectors = linalg.eigh(linalg.solve_triangular(lower, adjoint(half), upper=False))
        vectors = linalg.solve_triangular(adjoint(lower), vectors, upper=True)
    if largest:
        values, vectors = values.flip(-1), vectors.flip(-1)
    return values[..., :count], vectors[..., :count]


def logdet(x: Tensor, /) -> Tensor:
    """The logarithms of the determinants of matrices: -inf of 0, NaN where one is negative.

    >>> import svod
    >>> svod.logdet(svod.Tensor([[1.0, 0.0], [0.0, 1.0]])).item()
    0.0
    """
    sign, size = linalg.slogdet(x)
    if sign.is_complex():
        return sign.log() + size
    return where(sign < 0, nan, where(sign == 0, -inf, size))


def matrix_exp(x: Tensor, /) -> Tensor:
    """As `svod.linalg.matrix_exp`.

    >>> import svod
    >>> svod.matrix_exp(svod.zeros(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return linalg.matrix_exp(x)


def matrix_power(x: Tensor, n: int, /) -> Tensor:
    """As `svod.linalg.matrix_power`.

    >>> import svod
    >>> svod.matrix_power(svod.Tensor([[1.0, 1.0], [0.0, 1.0]]), 5).tolist()
    [[1.0, 5.0], [0.0, 1.0]]
    """
    return linalg.matrix_power(x, n)


def nuclear_norm(x: Tensor, /, axis: Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """The sum of the singular values of matrices, the last two axes, or those named.

    >>> import svod
    >>> svod.nuclear_norm(svod.Tensor([[3.0, 0.0], [0.0, 4.0]])).item()
    7.0
    """
    axes = (-2, -1) if axis is None else tuple(axis)
    if len(axes) != 2:
        raise ArgumentError(f"nuclear_norm: axis: two axes are expected, not {axes}")
    return linalg.norm(x, "nuc", axis=axes, keepdims=keepdims)


def pca_lowrank(x: Tensor, /, q: int | None = None, center: bool = True, niter: int = 2) -> SVD:
    """As `svd_lowrank`, of rows less their mean unless they are centred; the columns of V are principal directions.

    >>> import svod
    >>> [tuple(part.shape) for part in svod.pca_lowrank(svod.ones(4, 3), q=2)]
    [(4, 2), (2,), (3, 2)]
    """
    q = min(6, *x.shape[-2:]) if q is None else q
    return svd_lowrank(x - x.mean(-2, keepdim=True) if center else x, q, niter)


def pinverse(x: Tensor, /, rcond: float = 1e-15) -> Tensor:
    """As `svod.linalg.pinv`; singular values up to `rcond` times the greatest count as 0.

    >>> import svod
    >>> svod.pinverse(svod.Tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """
    return linalg.pinv(x, rtol=rcond)


def qr(x: Tensor, /, some: bool = True) -> QRResult:
    """As `svod.linalg.qr`, with all columns of Q unless `some` are enough.

    >>> import svod
    >>> [tuple(part.shape) for part in svod.qr(svod.ones(3, 2), some=False)]
    [(3, 3), (3, 2)]
    """
    return linalg.qr(x, mode="reduced" if some else "complete")


def slogdet(x: Tensor, /) -> SlogdetResult:
    """As `svod.linalg.slogdet`.

    >>> import svod
    >>> [part.item() for part in svod.slogdet(svod.Tensor([[-1.0]]))]
    [-1.0, 0.0]
    """
    return linalg.slogdet(x)


def svd(x: Tensor, /, some: bool = True, compute_uv: bool = True) -> SVD:
    """U, the singular values, and V, not its conjugate transpose, which `svod.linalg.svd` gives.

    Square U and V unless `some` of their columns are enough; zeros where they are not to be computed.

    >>> import svod
    >>> [tuple(part.shape) for part in svod.svd(svod.ones(3, 2))]
    [(3, 2), (2,), (2, 2)]
    """
    if len(x.shape) < 2:
        raise ArgumentError(f"svd: matrices are expected, not {tuple(x.shape)}")
    if compute_uv:
        u, s, vh = linalg.svd(x, full_matrices=not some)
        return SVD(u, s, vh.conj().mT)
    rows, columns = x.shape[-2:]
    *batch, _, _ = x.shape
    none = [zeros(*batch, n, n, dtype=x.dtype) for n in (rows, columns)]
    return SVD(none[0], linalg.svdvals(x), none[1])


def svd_lowrank(x: Tensor, /, q: int = 6, niter: int = 2, M: Tensor | None = None) -> SVD:
    """About the `q` greatest singular values of `x`, or of `x - M`, and their vectors, as `svd` has them.

    By a random basis of the columns, improved `niter` times (Halko, Martinsson and Tropp 2009).

    >>> import svod
    >>> f"{svod.svd_lowrank(svod.ones(4, 3), q=1).S[0].item():.3f}"
    '3.464'
    """
    x = x if M is None else x - M
    if not 0 <= q <= min(x.shape[-2:]):
        raise ArgumentError(f"svd_lowrank: q={q} singular values of matrices {tuple(x.shape)}")
    if not 0 <= niter <= _MOST_ROUNDS:
        raise ArgumentError(f"svd_lowrank: niter: from 0 to {_MOST_ROUNDS} rounds are expected, not {niter}")
    basis = linalg.qr(x @ randn(*x.shape[:-2], x.shape[-1], q, device=device_of(x)).cast(x.dtype)).Q
    for _ in range(niter):
        basis = linalg.qr(x @ linalg.qr(adjoint(x) @ basis).Q).Q
    u, s, vh = linalg.svd(adjoint(basis) @ x, full_matrices=False)
    return SVD(basis @ u, s, adjoint(vh))


def triangular_solve(
    x: Tensor, A: Tensor, /, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """y with A y = x, of A only a triangle, or with its transpose; and that A.

    >>> import svod
    >>> svod.triangular_solve(svod.Tensor([[2.0], [4.0]]), svod.Tensor([[2.0, 0.0], [0.0, 4.0]]))[0].tolist()
    [[1.0], [1.0]]
    """
    of, from_above = (A.mT, not upper) if transpose else (A, upper)
    return linalg.solve_triangular(of, x, upper=from_above, unitriangular=unitriangular), A.clone()
