"""What singular values tell: ranks, pseudoinverses, least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

from svod._extension import public
from svod._svod import ShapeError, Tensor, _may_be_differentiated, _with_derivative, where, zeros
from svod.library._spelling import together
from svod.library.arrangement import adjoint
from svod.library.dtypes import finfo, result_type
from svod.library.manipulation import broadcast_shapes
from svod.linalg._factors import eigh, svd_for, svdvals_for
from svod.linalg._matrices import column, matrices, row


class LstsqResult(NamedTuple):
    """What `lstsq` gives."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@public
def lstsq(x1: Any, x2: Any, /, rtol: Any = None, *, driver: str | None = None) -> LstsqResult:
    """The y of least length that makes the length of x1 y - x2 least, of a vector or of each column of `x2`.

    With the squares of these lengths, where `x1` has more rows than columns, its rank and its singular values, of
    which those up to `rtol` times the greatest count as 0. Singular values take longest: without `rtol` they are
    computed where the rank or they themselves are looked at, or where a matrix is nearly singular. PyTorch's `driver`
    changes nothing.

    >>> import svod
    >>> svod.linalg.lstsq([[1.0], [1.0]], [1.0, 3.0]).solution.round(decimals=4).tolist()
    [2.0]
    """
    x1, b = together([x1, x2])
    a = matrices("lstsq", x1)
    vector = b.ndim == 1
    b = column(b) if vector else b
    if b.ndim < 2 or b.shape[-2] != a.shape[-2]:
        raise ShapeError(f"lstsq: a right side of shape {tuple(b.shape)} for matrices {tuple(a.shape)}")
    dtype = result_type(a, b)
    a, b = a.astype(dtype), b.astype(dtype)
    values = svdvals_for("lstsq", a)
    kept = _cutoff(a, values, rtol) < values
    if rtol is not None or _may_be_differentiated(a) or _may_be_differentiated(b):
        y = _inverted("lstsq", a, rtol, None, hermitian=False) @ b
    else:
        batch = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        (y,) = a.expand(*batch, *a.shape[-2:])._factors("lstsq", b.expand(*batch, *b.shape[-2:]))
    apart = (a @ y - b).abs().square().sum(-2)
    residuals = apart if a.shape[-2] > a.shape[-1] else zeros(*apart.shape[:-1], 0, dtype=apart.dtype)
    return LstsqResult(y.squeeze(-1) if vector else y, residuals, kept.sum(-1), values)


@public
def matrix_rank(x: Any, /, rtol: Any = None, *, atol: Any = None, hermitian: bool = False) -> Tensor:
    """The number of singular values above `rtol` times the greatest, and above `atol`.

    Of matrices that are `hermitian`, as PyTorch lets one say, they are found as those of others.

    >>> import svod
    >>> svod.linalg.matrix_rank([[1.0, 2.0], [2.0, 4.0]]).item()
    1
    """
    x = matrices("matrix_rank", x)
    s = svdvals_for("matrix_rank", x)
    return (s > _cutoff(x, s, rtol, atol)).sum(-1)


@public
def pinv(x: Any, /, rtol: Any = None, *, atol: Any = None, hermitian: bool = False) -> Tensor:
    """The pseudoinverses of matrices; singular values up to `rtol` times the greatest, or up to `atol`, count as 0.

    Of those that are told to be Hermitian the lower triangle is read.

    >>> import svod
    >>> svod.linalg.pinv([[2.0], [0.0]]).tolist()
    [[0.5, 0.0]]
    """
    x = matrices("pinv", x, square=hermitian)
    return _inverted("pinv", x, rtol, atol, hermitian and 0 not in x.shape)


def _inverted(name: str, x: Tensor, rtol: Any, atol: Any, hermitian: bool) -> Tensor:
    """The pseudoinverses, for the function of a name, whose derivative is made of them and of the matrices (Golub and
    Pereyra 1973).

    So it is there where singular values are alike, whose vectors have none.
    """
    if hermitian:
        values, vectors = eigh(x)
        sizes = values.abs()
        kept = _cutoff(x, sizes.amax(-1, True), rtol, atol) < sizes
        inverse = (vectors * row(where(kept, 1 / where(kept, values, 1.0), 0.0))) @ adjoint(vectors)
    else:
        u, s, vh = svd_for(name, x)
        kept = _cutoff(x, s, rtol, atol) < s
        inverse = (adjoint(vh) * row(where(kept, 1 / where(kept, s, 1.0), 0.0))) @ adjoint(u)
    if not _may_be_differentiated(x):
        return inverse

    def pull(g: Tensor) -> list[Tensor | None]:
        a, p = x.tril() + adjoint(x.tril(-1)) if hermitian else x, _inverted(name, x, rtol, atol, hermitian)
        if x.shape[-2] < x.shape[-1]:
            return [adjoint(_pulled(adjoint(a), adjoint(p), adjoint(g)))]
        return [_pulled(a, p, g)]

    return _with_derivative("pinv", inverse, [x], pull)


def _pulled(x: Tensor, p: Tensor, g: Tensor) -> Tensor:
    """The cotangent of tall matrices by that of their pseudoinverses, in products that have few columns."""
    p_adjoint, g_adjoint = adjoint(p), adjoint(g)
    of_rows = g_adjoint @ (p @ p_adjoint)
    of_columns = p_adjoint @ (p @ g_adjoint)
    apart = of_rows - x @ (p @ of_rows) + of_columns - of_columns @ (p @ x)
    return apart - p_adjoint @ (g @ p_adjoint)


def _greater(m: Any, n: Any) -> Any:
    """The greater one of two extents; of symbolic ones a number of the graph."""
    return (
        max(m, n) if isinstance(m, int) and isinstance(n, int) else Tensor(m, "float32").maximum(Tensor(n, "float32"))
    )


def _cutoff(x: Tensor, s: Tensor, rtol: Any, atol: Any = None) -> Tensor:
    """The size up to which singular values count as 0."""
    if rtol is None and atol is not None:
        rtol = 0.0
    if rtol is None:
        rtol = _greater(*x.shape[-2:]) * finfo(s.dtype).eps
    rtol = column(rtol) if isinstance(rtol, Tensor) and rtol.ndim else rtol
    cutoff: Tensor = s[..., :1] * rtol
    if atol is not None:
        cutoff = cutoff.maximum(column(atol) if isinstance(atol, Tensor) and atol.ndim else atol)
    return cutoff
