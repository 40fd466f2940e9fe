"""What `svod.linalg` has, under the names of PyTorch's older functions."""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple

from svod import linalg
from svod._svod import ArgumentError, ShapeError, Tensor, eye, where, zeros
from svod.linalg import QRResult, SlogdetResult

__all__ = [
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "inverse",
    "logdet",
    "matrix_exp",
    "matrix_power",
    "pinverse",
    "qr",
    "slogdet",
    "svd",
]


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


def inverse(x: Tensor, /) -> Tensor:
    """As `svod.linalg.inv`.

    >>> import svod
    >>> svod.inverse(svod.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return linalg.inv(x)


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
