"""Factors of matrices, and their derivatives (Giles 2008; Seeger et al. 2017)."""

from __future__ import annotations

from typing import Any, NamedTuple

from svod._extension import public
from svod._svod import ArgumentError, Tensor, _may_be_differentiated, arange, cat, eye, where
from svod._svod import complex as joined
from svod.library.arrangement import adjoint
from svod.library.diagonals import diag_embed
from svod.linalg._matrices import column, diagonal_of, factors_of, matrices, row
from svod.linalg._solve import solve, solve_triangular


class EigResult(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class EighResult(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class LUResult(NamedTuple):
    """What `lu` gives."""

    P: Tensor
    L: Tensor
    U: Tensor


class QRResult(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class SVDResult(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@public
def cholesky(x: Any, /, upper: bool = False) -> Tensor:
    """The triangle L with L Lᴴ = x of matrices that are positive definite; Lᴴ where `upper` is asked for.

    >>> import svod
    >>> svod.linalg.cholesky([[4.0, 2.0], [2.0, 2.0]]).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """
    x = matrices("cholesky", x, square=True)

    def pull(factor: Tensor, g: Tensor) -> Tensor:
        inner = (adjoint(factor) @ g).tril()
        inner = inner - 0.5 * diag_embed(diagonal_of(inner))
        middle = solve(adjoint(factor), inner)
        whole = adjoint(solve(adjoint(factor), adjoint(middle)))
        return 0.5 * (whole + adjoint(whole))

    (factor,) = factors_of(x, "cholesky", ((0,), pull))
    return adjoint(factor) if upper else factor


@public
def eig(x: Any, /) -> EigResult:
    """The eigenvalues and eigenvectors, the columns, of length 1, of matrices: complex, of real ones too.

    Those of real matrices are real, with an imaginary part of 0, or come in pairs that are each other's conjugates.

    >>> import svod
    >>> values, vectors = svod.linalg.eig([[0.0, -1.0], [1.0, 0.0]])
    >>> sorted(values.imag.tolist())
    [-1.0, 1.0]
    >>> vectors.shape
    (2, 2)
    """
    x = matrices("eig", x, square=True)

    def as_given(g: Tensor) -> Tensor:
        return g if x.is_complex() else g.real

    def of_values(w: Tensor, v: Tensor, g: Tensor) -> Tensor:
        return as_given(solve(adjoint(v), diag_embed(g) @ adjoint(v)))

    def of_vectors(w: Tensor, v: Tensor, g: Tensor) -> Tensor:
        same = eye(w.shape[-1], dtype=w.dtype)
        apart = where(same.real > 0, 1.0, (row(w) - column(w)).conj())
        inner = adjoint(v) @ g
        inner = inner - (adjoint(v) @ v) * row(diagonal_of(inner).real)
        return as_given(solve(adjoint(v), (inner / apart * (1 - same)) @ adjoint(v)))

    return EigResult(*factors_of(x, "eig", ((0,), of_values), ((1,), of_vectors)))


@public
def eigh(x: Any, /, UPLO: str = "L") -> EighResult:
    """The eigenvalues, ascending, and orthonormal eigenvectors, the columns, of matrices that are their own adjoints.

    Of each matrix the lower triangle is read, or with "U" the upper one.

    >>> import svod
    >>> values, vectors = svod.linalg.eigh([[3.0, 0.0], [0.0, 2.0]])
    >>> values.tolist()
    [2.0, 3.0]
    >>> vectors.abs().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    x = _own_adjoint("eigh", x, UPLO)

    def of_values(w: Tensor, v: Tensor, g: Tensor) -> Tensor:
        return (v * row(g)) @ adjoint(v)

    def of_vectors(w: Tensor, v: Tensor, g: Tensor) -> Tensor:
        same = eye(w.shape[-1], dtype=w.dtype)
        apart = where(same > 0, 1.0, row(w) - column(w))
        whole = v @ ((adjoint(v) @ g) * ((1 - same) / apart)) @ adjoint(v)
        return 0.5 * (whole + adjoint(whole))

    name = "eigh" if UPLO == "L" else "eigh_upper"
    return EighResult(*factors_of(x, name, ((0,), of_values), ((1,), of_vectors)))


def _own_adjoint(op: str, x: Any, triangle: str) -> Tensor:
    """Matrices of which a triangle is read."""
    if triangle not in ("L", "U"):
        raise ArgumentError(f"{op}: UPLO is 'L' or 'U', not {triangle!r}")
    given = matrices(op, x, square=True)
    if given.is_complex():
        # As LAPACK has it, a diagonal that is not real counts as its real part.
        given = joined(given.real, where(eye(given.shape[-1], dtype="bool"), 0.0, given.imag))
    return given


@public
def eigvals(x: Any, /) -> Tensor:
    """The eigenvalues of matrices, as `eig` has them: complex, of real ones too.

    >>> import svod
    >>> svod.linalg.eigvals([[2.0, 1.0], [0.0, 3.0]]).tolist()
    [(2+0j), (3+0j)]
    """
    x = matrices("eigvals", x, square=True)
    if _may_be_differentiated(x):
        return eig(x).eigenvalues  # Whose vectors the derivative is made of.
    values: Tensor = x._factors("eigvals")[0]
    return values


@public
def eigvalsh(x: Any, /, UPLO: str = "L") -> Tensor:
    """The eigenvalues, ascending, of matrices that are their own adjoints.

    >>> import svod
    >>> svod.linalg.eigvalsh([[3.0, 0.0], [0.0, 2.0]]).tolist()
    [2.0, 3.0]
    """
    x = _own_adjoint("eigvalsh", x, UPLO)
    if _may_be_differentiated(x):
        return eigh(x, UPLO=UPLO).eigenvalues  # Whose vectors the derivative is made of.
    values: Tensor = x._factors("eigvalsh" if UPLO == "L" else "eigvalsh_upper")[0]
    return values


@public
def lu(x: Any, /, *, pivot: bool = True) -> LUResult:
    """A permutation P, the lower triangle L with ones on its diagonal, and the upper triangle U with P L U = x.

    >>> import svod
    >>> p, l, u = svod.linalg.lu([[1.0, 2.0], [2.0, 2.0]])
    >>> p.tolist(), l.tolist(), u.tolist()
    ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.5, 1.0]], [[2.0, 2.0], [0.0, 1.0]])
    """
    if not pivot:
        raise ArgumentError("lu: factors without pivots are not computed: pivot is True")
    x = matrices("lu", x)
    rows, columns = x.shape[-2:]
    least = min(rows, columns)

    def permuted(places: Tensor) -> Tensor:
        return (column(arange(rows)) == row(places)).astype(x.dtype)

    def pull(places: Tensor, lower: Tensor, upper: Tensor, g_lower: Tensor, g_upper: Tensor) -> Tensor:
        # Of the square parts; what is below them, or to the right, follows from these and from its own part of x.
        left, right = lower[..., :least, :], upper[..., :, :least]
        g_left, g_right, rest = g_lower[..., :least, :], g_upper[..., :, :least], []
        if rows > columns:
            below = adjoint(solve_triangular(right, adjoint(g_lower[..., least:, :]), upper=True))
            g_right, rest = g_right - adjoint(lower[..., least:, :]) @ below, [below]
        if columns > rows:
            beside = solve_triangular(adjoint(left), g_upper[..., :, least:], upper=True, unitriangular=True)
            g_left, rest = g_left - beside @ adjoint(upper[..., :, least:]), [beside]
        inner = (adjoint(left) @ g_left).tril(-1) + (g_right @ adjoint(right)).triu()
        inner = adjoint(solve_triangular(right, adjoint(inner), upper=True))
        inner = solve_triangular(adjoint(left), inner, upper=True, unitriangular=True)
        return permuted(places) @ cat([inner, *rest], -2 if rows > columns else -1)

    places, lower, upper = factors_of(x, "lu", ((1, 2), pull))
    return LUResult(permuted(places), lower, upper)


@public
def qr(x: Any, /, mode: str = "reduced") -> QRResult:
    """Q with orthonormal columns and the upper triangle R with Q R = x; all columns where `mode` is "complete".

    >>> import svod
    >>> q, r = svod.linalg.qr([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    >>> (q @ r).round(decimals=4).tolist()
    [[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]
    """
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"qr: mode is 'reduced' or 'complete', not {mode!r}")
    x = matrices("qr", x)
    rows, columns = x.shape[-2:]
    has_derivative = mode == "reduced" or rows <= columns or 0 in x.shape

    def check() -> None:
        if not has_derivative:
            raise ArgumentError("qr: the complete factors of matrices with more rows than columns have no derivative")

    if x.requires_grad:
        check()

    def square(q: Tensor, r: Tensor, g_q: Tensor, g_r: Tensor) -> Tensor:
        m = r @ adjoint(g_r) - adjoint(g_q) @ q
        lower = m.tril(-1)
        symmetric = lower + adjoint(lower) + diag_embed(diagonal_of(m).real.astype(m.dtype))
        return adjoint(solve(r, adjoint(g_q + q @ symmetric)))

    def pull(q: Tensor, r: Tensor, g_q: Tensor, g_r: Tensor) -> Tensor:
        check()
        if rows >= columns:
            return square(q, r, g_q, g_r)
        left, right = r[..., :, :rows], x[..., :, rows:]
        g_left, g_right = g_r[..., :, :rows], g_r[..., :, rows:]
        of_left = square(q, left, g_q + right @ adjoint(g_right), g_left)
        return cat([of_left, q @ g_right], -1)

    return QRResult(*factors_of(x, f"qr_{mode}", ((0, 1), pull)))


@public
def svd(x: Any, /, full_matrices: bool = True) -> SVDResult:
    """U, the singular values S, descending, and Vᴴ with U diag(S) Vᴴ = x; square, or as many columns as values.

    Columns of U and rows of Vᴴ beyond the values are any that complete a basis: as in PyTorch they have no derivative,
    and pass none on.

    >>> import svod
    >>> u, s, vh = svod.linalg.svd([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]], full_matrices=False)
    >>> s.tolist()
    [3.0, 2.0]
    >>> (u * s @ vh).round(decimals=4).tolist()
    [[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]]
    """
    return svd_for("svd", x, full_matrices)


def svd_for(name: str, x: Any, full_matrices: bool = False) -> SVDResult:
    """As `svd`, for the function of a name, which errors tell."""
    x = matrices(name, x)
    rows, columns = x.shape[-2:]

    def thin(u: Tensor, vh: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        least = s.shape[-1]
        return u[..., :least], vh[..., :least, :]

    def of_values(u: Tensor, s: Tensor, vh: Tensor, g: Tensor) -> Tensor:
        u, vh = thin(u, vh, s)
        return (u * row(g)) @ vh

    def of_vectors(u: Tensor, s: Tensor, vh: Tensor, g_u: Tensor, g_vh: Tensor) -> Tensor:
        u, vh = thin(u, vh, s)
        g_u, g_vh = thin(g_u, g_vh, s)
        v, g_v = adjoint(vh), adjoint(g_vh)
        # Where two singular values are alike there is no derivative of the vectors.
        squares = row(s) ** 2 - column(s) ** 2
        same = eye(s.shape[-1], dtype=s.dtype)
        apart = where(same > 0, 1.0, squares)
        in_u, in_v = adjoint(u) @ g_u, vh @ g_v
        skew_u, skew_v = (in_u - adjoint(in_u)) / apart, (in_v - adjoint(in_v)) / apart
        inner = skew_u * (1 - same) * row(s) + column(s) * (skew_v * (1 - same))
        if x.dtype.is_complex:
            inner = inner + diag_embed(1j * diagonal_of(in_u).imag / s)
        whole = u @ inner @ vh
        if rows > columns:
            whole = whole + ((g_u - u @ in_u) / row(s)) @ vh
        if columns > rows:
            whole = whole + (u / row(s)) @ adjoint(g_v - v @ in_v)
        return whole

    thin_or_full = "svd_full" if full_matrices else "svd"
    return SVDResult(*factors_of(x, thin_or_full, ((1,), of_values), ((0, 2), of_vectors), name=name))


@public
def svdvals(x: Any, /) -> Tensor:
    """The singular values of matrices, descending.

    >>> import svod
    >>> svod.linalg.svdvals([[0.0, 2.0], [3.0, 0.0]]).tolist()
    [3.0, 2.0]
    """
    return svdvals_for("svdvals", x)


def svdvals_for(name: str, x: Any) -> Tensor:
    """As `svdvals`, for the function of a name, which errors tell."""
    x = matrices(name, x)
    if _may_be_differentiated(x):
        return svd_for(name, x).S  # Whose vectors the derivative is made of.
    values: Tensor = x._factors("svdvals", name=name)[0]
    return values
