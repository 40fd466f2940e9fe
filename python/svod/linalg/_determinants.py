"""Determinants, and their derivatives where a matrix has no inverse too."""

from __future__ import annotations

from typing import Any, NamedTuple

from svod._extension import public
from svod._svod import Tensor, _may_be_differentiated, _with_derivative, arange, where
from svod.library.arrangement import adjoint
from svod.library.diagonals import diag_embed
from svod.linalg._factors import svd_for
from svod.linalg._matrices import column, diagonal_of, factors_of, matrices, row
from svod.linalg._solve import inv

# The size up to which determinants are sums of products, of which a kernel computes many at once.
_EXPANDED = 3


class SlogdetResult(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


@public
def det(x: Any, /) -> Tensor:
    """The determinants of matrices.

    >>> import svod
    >>> round(svod.linalg.det([[1.0, 2.0], [3.0, 4.0]]).item(), 5)
    -2.0
    """
    x = matrices("det", x, square=True)
    n = x.shape[-1]
    if isinstance(n, int) and n <= _EXPANDED:
        return _expanded([[x[..., i, j] for j in range(n)] for i in range(n)], x)
    sign, log = x._factors("slogdet", name="det")
    value: Tensor = sign * log.exp()
    if not _may_be_differentiated(x):
        return value
    return _with_derivative("det", value, [x], lambda g: [column(column(g)) * adjoint(_adjugate(x))])


def _expanded(rows: list[list[Tensor]], like: Tensor) -> Tensor:
    """The determinant of a small matrix by Laplace's expansion."""
    if not rows:
        return like.prod((-2, -1))  # Of no elements, 1.
    first, *rest = rows
    if not rest:
        return first[0].clone()
    total: Tensor | None = None
    for j, element in enumerate(first):
        term = element * _expanded([[*row[:j], *row[j + 1 :]] for row in rest], like)
        total = term if total is None else (total - term if j % 2 else total + term)
    assert total is not None
    return total


def _adjugate(x: Tensor) -> Tensor:
    """The adjugates of matrices: the transposes of the determinant's derivative, whether or not there is an inverse."""
    (value,) = x._factors("adjugate", name="det")
    if not _may_be_differentiated(x):
        return value

    def pull(g: Tensor) -> list[Tensor | None]:
        # Of a diagonal the derivative is made of products of all but two elements; the adjugate of a product is that of
        # its factors, the last one first.
        u, s, vh = svd_for("det", x, full_matrices=True)
        direction = slogdet(u).sign * slogdet(vh).sign
        within = column(column(direction.conj())) * (vh @ g @ u)
        rest = _products_of_others(s).astype(x.dtype)
        within = diag_embed((rest @ column(diagonal_of(within))).squeeze(-1)) - rest * within
        return [u @ within @ vh]

    return _with_derivative("adjugate", value, [x], pull)


def _products_of_others(s: Tensor) -> Tensor:
    """For each two elements of a vector the product of all others; zeros on the diagonal."""
    at = arange(s.shape[-1])
    either = (column(column(at)) == at) | (column(at) == at).unsqueeze(0)
    products = where(either, 1.0, row(row(s))).prod(-1)
    return where(column(at) == at, 0.0, products)


@public
def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of the determinant, of complex matrices its direction, and the logarithm of its size.

    >>> import svod
    >>> sign, log = svod.linalg.slogdet([[0.0, 1.0], [1.0, 0.0]])
    >>> sign.item(), log.item()
    (-1.0, 0.0)
    """
    x = matrices("slogdet", x, square=True)

    def pull(sign: Tensor, _: Tensor, g_sign: Tensor, g_log: Tensor) -> Tensor:
        by = g_log
        if x.dtype.is_complex:
            by = by - 1j * (g_sign.conj() * sign).imag
        return by.unsqueeze(-1).unsqueeze(-1) * adjoint(inv(x))

    return SlogdetResult(*factors_of(x, "slogdet", ((0, 1), pull)))
