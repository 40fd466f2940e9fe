"""Linear algebra, beside NumPy's."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import linalg

RANDOM = np.random.default_rng(17)
TYPES = [np.float32, np.float64, np.complex64, np.complex128]
SHAPES = [(1, 1), (3, 3), (2, 4, 4), (2, 3, 5, 5), (0, 3, 3), (17, 17)]


def draw(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Numbers around 0."""
    x = RANDOM.normal(size=shape)
    return (x + 1j * RANDOM.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def hermitian(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Positive definite matrices."""
    x = draw(*shape, dtype=dtype)
    return x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1], dtype=dtype)


def close(got: Any, want: Any, factor: float = 1) -> None:
    """As good as the same numbers, of one type."""
    found, want = np.asarray(got), np.asarray(want)
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    tolerance = factor * 2000 * np.finfo(want.dtype).eps if found.dtype.kind in "fc" else 0
    np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance * max(np.abs(want).max(initial=0), 1))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_to_the_matrix(shape: tuple[int, ...], dtype: Any) -> None:
    x, p = draw(*shape, dtype=dtype), hermitian(*shape, dtype=dtype)
    t, s = svod.Tensor(x), svod.Tensor(p)
    close(linalg.cholesky(s), np.linalg.cholesky(p))
    close(linalg.cholesky(s, upper=True), np.conj(np.swapaxes(np.linalg.cholesky(p), -1, -2)))
    q, r = linalg.qr(t)
    close(q @ r, x)
    w, v = linalg.eigh(s)
    close(w, np.linalg.eigvalsh(p))
    close(s @ v, (v * w.unsqueeze(-2)).numpy())
    close(linalg.eigvalsh(s, UPLO="U"), np.linalg.eigvalsh(p, UPLO="U"))
    u, d, vh = linalg.svd(t)
    close(d, np.linalg.svd(x)[1])
    close((u * d.unsqueeze(-2)) @ vh, x)
    lower, upper = linalg.lu(t)[1:]
    close(linalg.lu(t).P @ lower @ upper, x)
    roots, vectors = linalg.eig(t)
    wide = np.result_type(x.dtype, np.complex64)
    close(t.astype(str(wide)) @ vectors, (vectors * roots.unsqueeze(-2)).numpy())


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_functions_of_square_matrices(shape: tuple[int, ...], dtype: Any) -> None:
    x, b = draw(*shape, dtype=dtype), draw(*shape[:-1], 2, dtype=dtype)
    t = svod.Tensor(x)
    close(linalg.inv(t), np.linalg.inv(x), 10)
    close(linalg.solve(t, svod.Tensor(b)), np.linalg.solve(x, b), 10)
    close(linalg.det(t), np.linalg.det(x))
    sign, log = linalg.slogdet(t)
    close(sign, np.linalg.slogdet(x)[0])
    close(log, np.linalg.slogdet(x)[1])
    close(linalg.matrix_power(t, 3), np.linalg.matrix_power(x, 3))
    close(linalg.trace(t), np.trace(x, axis1=-2, axis2=-1))
    close(linalg.diagonal(t, offset=1), np.diagonal(x, 1, -2, -1))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 5, 3), (3, 3, 5)])
def test_functions_of_oblong_matrices(shape: tuple[int, ...], dtype: Any) -> None:
    x = draw(*shape, dtype=dtype)
    t = svod.Tensor(x)
    for mode in ("reduced", "complete"):
        q, r = linalg.qr(t, mode=mode)
        assert q.shape == np.linalg.qr(x, mode)[0].shape
        close(q @ r, x)
    for full in (True, False):
        u, d, vh = linalg.svd(t, full_matrices=full)
        assert (u.shape, vh.shape) == tuple(np.linalg.svd(x, full)[i].shape for i in (0, 2))
        k = d.shape[-1]
        close((u[..., :k] * d.unsqueeze(-2)) @ vh[..., :k, :], x)
    close(linalg.pinv(t), np.linalg.pinv(x), 10)
    b = draw(shape[-2], dtype=dtype)
    if len(shape) == 2:
        for mine, theirs in zip(linalg.lstsq(t, svod.Tensor(b)), np.linalg.lstsq(x, b, rcond=None), strict=True):
            close(mine.numpy().astype(np.asarray(theirs).dtype), theirs, 10)
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(linalg.matrix_norm(t, ord=ord), np.linalg.matrix_norm(x, ord=ord).astype(x.real.dtype))
    close(linalg.cond(t), np.linalg.cond(x).astype(x.real.dtype), 10)
    np.testing.assert_array_equal(linalg.matrix_rank(t).numpy(), np.linalg.matrix_rank(x))


def test_products() -> None:
    a, b = draw(3, dtype=np.complex128), draw(3, dtype=np.complex128)
    close(linalg.outer(a, b), np.outer(a, b))
    close(linalg.cross(a, b), np.cross(a, b))
    # Without an axis the last one, or, where that has another extent, the first of three, as PyTorch has it.
    wide = draw(2, 3, 4), draw(2, 3, 4)
    close(svod.cross(*wide), np.cross(*wide, axis=1))
    square = draw(3, 3), draw(3, 3)
    close(svod.cross(*square), np.cross(*square))
    close(linalg.vecdot(a, b), np.asarray(np.vdot(a, b)))
    c, d = draw(2, 3, 4), draw(3, 4, 5)
    close(linalg.tensordot(c, d), np.tensordot(c, d))
    close(linalg.tensordot(c, d, axes=((1,), (0,))), np.tensordot(c, d, ((1,), (0,))))
    chain = [draw(2, 30), draw(30, 3), draw(3, 40), draw(40)]
    close(linalg.multi_dot([svod.Tensor(one) for one in chain]), np.linalg.multi_dot(chain))


def test_exponentials() -> None:
    scipy = pytest.importorskip("scipy.linalg")
    for scale in (1e-3, 1, 30):
        x = draw(4, 4) * scale
        close(linalg.expm(svod.Tensor(x)), scipy.expm(x), 100)


@pytest.mark.parametrize("dtype", TYPES)
def test_exponentials_of_a_stack_are_those_of_each(dtype: Any) -> None:
    """Squared as often as each needs, which the run decides; also where derivatives or maps let it be all of them."""
    scipy = pytest.importorskip("scipy.linalg")
    x = draw(4, 3, 3, dtype=dtype) * np.asarray([0, 1e-3, 1, 20], np.float32)[:, None, None]
    want = np.stack([scipy.expm(one.astype(np.result_type(dtype, np.float64))) for one in x]).astype(dtype)
    of_variable = linalg.expm(svod.Tensor(x).requires_grad_()).detach()
    for found in (linalg.expm(svod.Tensor(x)), svod.jit(linalg.expm)(svod.Tensor(x)), of_variable):
        for one, right in zip(found.numpy(), want, strict=True):
            close(one, right, 300)
    if not np.iscomplexobj(x):
        close(svod.vmap(linalg.expm)(svod.Tensor(x))[2], want[2], 300)


def test_what_has_no_factors_is_an_error_of_the_run() -> None:
    zero = svod.zeros(2, 2)
    for call in (lambda: linalg.inv(zero), lambda: linalg.cholesky(zero - svod.eye(2))):
        with pytest.raises(svod.ExecutionError):
            call().numpy()
    assert linalg.det(zero).item() == 0
    with pytest.raises(svod.ShapeError):
        linalg.inv(svod.zeros(2, 3))


def slope(f: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """∂L/∂re + i ∂L/∂im by central differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for unit in (1, 1j) if np.iscomplexobj(x) else (1,):
            step = np.zeros_like(x)
            step[at] = 1e-6 * unit
            found[at] += unit * (f(x + step) - f(x - step)) / 2e-6
    return found


def total(*parts: svod.Tensor) -> svod.Tensor:
    """A number that does not change where factors may be multiplied by a phase."""
    return sum((part.abs() ** 2 * svod.arange(1, part.numel() + 1).reshape(*part.shape)).sum() for part in parts)


GRADIENTS: dict[str, Callable[[svod.Tensor], svod.Tensor]] = {
    "cholesky": lambda x: total(linalg.cholesky(x @ x.transpose(-1, -2).conj() + 2 * svod.eye(3, dtype=x.dtype))),
    "inv": lambda x: total(linalg.inv(x)),
    "solve": lambda x: total(linalg.solve(x, x[:, 0] + 1)),
    "det": lambda x: total(linalg.det(x)),
    "slogdet": lambda x: linalg.slogdet(x).logabsdet,
    "qr": lambda x: total(*linalg.qr(x)),
    "qr_high": lambda x: total(*linalg.qr(x[:, :2])),
    "qr_wide": lambda x: total(*linalg.qr(x[:2])),
    "svd": lambda x: total(*linalg.svd(x)),
    "svd_high": lambda x: total(*linalg.svd(x[:, :2], full_matrices=False)),
    "svd_wide": lambda x: total(*linalg.svd(x[:2], full_matrices=False)),
    "eigh": lambda x: total(*linalg.eigh(x + x.transpose(-1, -2).conj())),
    "eig": lambda x: total(*linalg.eig(x)),
    "pinv": lambda x: total(linalg.pinv(x[:2])),
    "expm": lambda x: total(linalg.expm(x)),
    "norm": lambda x: linalg.matrix_norm(x, ord=2) + linalg.matrix_norm(x, ord="nuc"),
}


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str, dtype: Any) -> None:
    x = draw(3, 3, dtype=dtype) + 2 * np.diag([1, 2, 3.5])
    loss = GRADIENTS[name]
    t = svod.Tensor(x).requires_grad_()
    loss(t).backward()
    want = slope(lambda v: loss(svod.Tensor(v)).item(), x)
    np.testing.assert_allclose(t.grad.numpy(), want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def test_plans_and_traced_functions() -> None:
    x = hermitian(4, 3, 3)
    traced = svod.jit(lambda a: linalg.inv(a) @ linalg.cholesky(a))
    for scale in (1, 2):
        close(traced(svod.Tensor(x * scale)), np.linalg.inv(x * scale) @ np.linalg.cholesky(x * scale))
    assert traced.traces == 1
    t = svod.Tensor(x)
    plan = linalg.det(t + t).prepare(inputs=[t])
    plan.execute(2 * x)
    close(plan.outputs[0], np.linalg.det(4 * x))


@pytest.mark.parametrize("name", GRADIENTS)
def test_second_derivatives_are_derivatives_of_the_first(name: str) -> None:
    x, weights = draw(3, 3) + 2 * np.diag([1, 2, 3.5]), svod.Tensor(draw(3, 3))
    slopes = svod.grad(GRADIENTS[name])

    def along(v: Any) -> svod.Tensor:
        return (slopes(svod.Tensor(v) if isinstance(v, np.ndarray) else v) * weights).sum().real

    want = slope(lambda v: along(v).item(), x)
    np.testing.assert_allclose(
        svod.grad(along)(svod.Tensor(x)).numpy(), want, rtol=1e-4, atol=1e-4 * np.abs(want).max()
    )


def test_maps_are_functions_of_stacks() -> None:
    x, b = hermitian(4, 3, 3), draw(4, 3)
    close(svod.vmap(linalg.solve)(x, b), np.linalg.solve(x, b[..., None])[..., 0])
    close(svod.vmap(linalg.cholesky)(x), np.linalg.cholesky(x))
    each = np.stack([svod.grad(GRADIENTS["eigh"])(svod.Tensor(one)).numpy() for one in x])
    close(svod.vmap(svod.grad(GRADIENTS["eigh"]))(svod.Tensor(x)), each)


def test_many_small_matrices() -> None:
    """Matrices that are eliminated on the stack, and those above, of pivots that have to be exchanged."""
    for n in (1, 2, 3, 8, 16, 17):
        x = draw(50, n, n)
        x[:, 0, 0] = 0 if n > 1 else 1
        close(linalg.inv(x), np.linalg.inv(x), 1000)
        close(linalg.slogdet(x).logabsdet, np.linalg.slogdet(x)[1], 10)
        close(linalg.det(x), np.linalg.det(x), 10)
    singular = draw(5, 3, 3)
    singular[2] = 1
    with pytest.raises(svod.ExecutionError, match="singular"):
        linalg.inv(singular).numpy()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (40, 40), (2, 3, 17, 17), (0, 0), (0, 3, 3)])
def test_values_alone_are_those_beside_vectors(shape: tuple[int, ...], dtype: Any) -> None:
    x = draw(*shape, dtype=dtype)
    if np.iscomplexobj(x):
        x[..., range(shape[-1]), range(shape[-1])] += 3j  # Which counts as nothing, as LAPACK has it.
    for triangle in ("L", "U"):
        close(linalg.eigvalsh(svod.Tensor(x), UPLO=triangle), linalg.eigh(svod.Tensor(x), UPLO=triangle).eigenvalues, 9)
        close(linalg.eigvalsh(svod.Tensor(x), UPLO=triangle), np.linalg.eigvalsh(x, UPLO=triangle), 9)
    for one in (x, x[..., :2, :], x[..., :2]):
        close(linalg.svdvals(svod.Tensor(one)), np.linalg.svd(one, compute_uv=False), 9)
    with pytest.raises(svod.ArgumentError, match="eigvalsh: UPLO"):
        linalg.eigvalsh(x, UPLO="X")


def test_numbers_that_are_not_finite() -> None:
    for bad in (np.nan, np.inf):
        x = np.eye(3)
        x[1, 2] = bad
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(linalg.det(x).numpy(), np.linalg.det(x))
        assert np.isnan(linalg.solve(x, np.ones(3)).numpy()).any() == np.isnan(np.linalg.solve(x, np.ones(3))).any()


def test_nothing_holds_itself() -> None:
    x = svod.Tensor(draw(64, 64)).realize()
    first = 0
    for step in range(6):
        t = (x + step).requires_grad_()
        (total(*linalg.qr(t)) + total(*linalg.svd(t)) + total(linalg.solve(t, t))).backward()
        assert t.grad is not None
        t.grad.realize()
        del t
        gc.collect()
        live = svod.memory()["CPU"]["live"]
        first = live if step < 2 else first
    assert live <= first


@pytest.mark.parametrize("ord", [0, 1, 2, 3, -1, 0.5, np.inf, -np.inf])
def test_norms_of_vectors(ord: float) -> None:
    for dtype in (np.float32, np.complex128, np.int64):
        x = (draw(2, 3, 4, dtype=np.complex128 if dtype == np.complex128 else np.float64) * 3).astype(dtype)
        for axis in (None, 1, (0, 2)):
            want = np.linalg.vector_norm(x, ord=ord, axis=axis, keepdims=True)
            got = linalg.vector_norm(x, ord=ord, axis=axis, keepdims=True)
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
    x = draw(3, 4)
    for axis in (None, 0, (0, 1)):
        np.testing.assert_allclose(linalg.norm(x, None, axis).numpy(), np.linalg.norm(x, None, axis), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_stacks_are_those_of_each_matrix(name: str, dtype: Any) -> None:
    x = draw(2, 3, 3, dtype=dtype) + 2 * np.diag([1, 2, 3.5])
    loss = GRADIENTS[name]
    each = np.stack([svod.grad(loss)(svod.Tensor(one)).numpy() for one in x])

    def of_stack(x: svod.Tensor) -> svod.Tensor:
        return svod.vmap(loss)(x).sum()

    np.testing.assert_allclose(svod.grad(of_stack)(svod.Tensor(x)).numpy(), each, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("count", [2, 3])
def test_pullbacks_of_stacks(count: int) -> None:
    x = hermitian(count, 3, 3)
    weights = svod.Tensor(draw(count, 3, 3))
    functions: list[Callable[[svod.Tensor], svod.Tensor]] = [
        lambda a: (linalg.cholesky((a + a.mT) / 2) * weights).sum(),
        lambda a: sum(((part * weights).sum() for part in linalg.qr(a)), svod.Tensor(0.0)),
        lambda a: (linalg.svd(a).U.abs() * weights).sum(),
        lambda a: (linalg.eig(a).eigenvectors.abs() * weights).sum(),
        lambda a: (linalg.solve_triangular(a, weights, upper=True, unitriangular=True) * weights).sum(),
    ]
    for function in functions:
        want = slope(lambda v, function=function: function(svod.Tensor(v)).item(), x)  # type: ignore[misc]
        got = svod.grad(function)(svod.Tensor(x)).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize("complex_numbers", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5), (2, 4, 4), (2, 3, 5), (2, 5, 2), (4, 1), (1, 4)])
def test_derivatives_of_triangles(shape: tuple[int, ...], complex_numbers: bool) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if complex_numbers else 0)
    direction = rng.normal(size=shape)

    def weighed(lib: Any, number: Callable[[Any], Any]) -> Callable[[Any], Any]:
        weights = np.random.default_rng(2)

        def loss(x: Any) -> Any:
            _, lower, upper = lib.linalg.lu(x)
            packed = lib.linalg.lu_factor(x)[0]
            parts = [(one * number(w)).sum() for one, w in zip((lower, upper.sin(), packed * packed), drawn)]
            total = parts[0] + parts[1] + parts[2]
            return total.real if complex_numbers else total

        k = min(shape[-2:])
        sizes = [(*shape[:-1], k), (*shape[:-2], k, shape[-1]), shape]
        drawn = [weights.normal(size=size) for size in sizes]
        return loss

    theirs = torch.tensor(x, requires_grad=True)
    weighed(torch, torch.tensor)(theirs).backward()
    gradient = svod.grad(weighed(svod, svod.Tensor))
    np.testing.assert_allclose(gradient(svod.Tensor(x)).numpy(), theirs.grad.numpy(), rtol=1e-9, atol=1e-12)
    if complex_numbers:
        return
    _, second = svod.jvp(gradient, [svod.Tensor(x)], [svod.Tensor(direction)])
    after, before = (gradient(svod.Tensor(x + step * direction)).numpy() for step in (1e-6, -1e-6))
    np.testing.assert_allclose(second.numpy(), (after - before) / 2e-6, rtol=1e-6, atol=1e-6 * abs(after).max())


@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2), (3, 0, 0), (0, 3), (3, 0)])
@pytest.mark.parametrize("name", ["cholesky", "eigh", "qr", "svd", "svdvals", "lu", "eig", "inv", "det", "slogdet"])
def test_factors_of_no_elements_have_gradients_of_none(name: str, shape: tuple[int, ...]) -> None:
    if shape[-1] != shape[-2] and name not in ("qr", "svd", "svdvals", "lu"):
        return
    x = svod.zeros(*shape, dtype=svod.float64).requires_grad_()
    made = getattr(linalg, name)(x)
    parts = made if isinstance(made, tuple) else (made,)
    sums = [part.abs().sum() for part in parts if part.requires_grad]
    assert sums
    sum(sums[1:], sums[0]).backward()
    assert x.grad.shape == shape


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (3, 4, 2), (3, 2, 4)])
def test_full_singular_vectors_have_the_derivatives_of_pytorch(shape: tuple[int, ...], dtype: Any) -> None:
    """Those of the vectors that belong to values: any others that complete a basis pass nothing on."""
    torch = pytest.importorskip("torch")
    x = draw(*shape, dtype=dtype)
    for f in (
        lambda at, a: (abs(at.svd(a)[0]) ** 3).sum(),
        lambda at, a: (abs(at.svd(a)[2][..., : min(shape[-2:]), :]) ** 3).sum(),
        lambda at, a: (at.svd(a)[1] ** 3).sum() + abs(at.svd(a)[2]).sum(),
    ):
        t = torch.tensor(x, requires_grad=True)
        (slope,) = torch.autograd.grad(f(torch.linalg, t), t, create_graph=True)
        (second,) = torch.autograd.grad((abs(slope) ** 2).sum(), t)
        gradient = svod.grad(lambda a, f=f: f(linalg, a))
        np.testing.assert_allclose(gradient(x), slope.detach(), rtol=1e-8, atol=1e-10)
        of_gradient = svod.grad(lambda a, gradient=gradient: (abs(gradient(a)) ** 2).sum())(x)
        np.testing.assert_allclose(of_gradient, second, rtol=1e-7, atol=1e-7 * abs(second).max())


def test_full_singular_vectors_have_tangents_and_batches() -> None:
    x, towards = draw(3, 4, 2, dtype=np.float64), draw(3, 4, 2, dtype=np.float64)

    def f(a: Any) -> Any:
        return linalg.svd(a)[2].abs().sum()

    tangent = svod.jvp(f, (svod.Tensor(x),), (svod.Tensor(towards),))[1]
    np.testing.assert_allclose(tangent, (svod.grad(f)(x) * towards).sum())
    np.testing.assert_allclose(svod.vmap(svod.grad(f))(svod.Tensor(x)), svod.grad(f)(x))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_packed_reflections_say_that_they_have_no_derivative(dtype: Any) -> None:
    x = draw(4, 2, dtype=dtype)
    for part in (0, 1):
        with pytest.raises(svod.UnsupportedError, match="geqrf"):
            svod.grad(lambda a, part=part: svod.geqrf(a)[part].abs().sum())(x)


def cofactors(x: np.ndarray) -> np.ndarray:
    """The derivative of the determinant: the signed minors."""
    n = len(x)
    minors = [[np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(n)] for i in range(n)]
    return np.array(minors) * (-1) ** np.add.outer(np.arange(n), np.arange(n))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 17, 18])
def test_derivatives_of_determinants_of_any_rank(n: int, dtype: Any) -> None:
    for rank in {n, n - 1, max(n - 2, 0), 0}:
        x = draw(n, rank, dtype=dtype) @ draw(rank, n, dtype=dtype) / 2
        if rank == n - 1 and n > 1:
            # A pivot that is 0 to the bit, and one that is nearly.
            x[-1] = x[0]
        want = np.conj(cofactors(x))
        scale = 1e-10 * max(np.abs(want).max(), 1e-3 * np.abs(x).max() ** (n - 1), 1e-9)
        if dtype == np.float64:
            got = svod.grad(linalg.det)(svod.Tensor(x)).numpy()
        else:
            w = svod.Tensor(x).requires_grad_()
            linalg.det(w).real.backward()
            assert w.grad is not None
            got = w.grad.numpy()
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=scale)


@pytest.mark.parametrize("rank", [5, 4, 3, 2])
def test_second_derivatives_of_determinants_of_any_rank(rank: int) -> None:
    n = 5
    x, along = draw(n, rank) @ draw(rank, n), draw(n, n)
    if rank < n:
        x[-1], x[:, -1] = x[0], x[:, 0]
    slope = svod.grad(lambda a: (svod.grad(linalg.det)(a) * svod.Tensor(along)).sum())(svod.Tensor(x)).numpy()
    step = 1e-5
    want = (cofactors(x + step * along) - cofactors(x - step * along)) / (2 * step)
    np.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-6 * np.abs(want).max() + 1e-8)


def test_determinants_in_maps_and_traces() -> None:
    x = draw(3, 4, 4)
    x[1, 2] = x[1, 0]
    one_by_one = np.stack([svod.grad(linalg.det)(svod.Tensor(one)).numpy() for one in x])
    mapped = svod.vmap(svod.grad(linalg.det))(svod.Tensor(x)).numpy()
    np.testing.assert_allclose(mapped, one_by_one, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(mapped, np.stack([cofactors(one) for one in x]), rtol=1e-9, atol=1e-11)
    traced = svod.jit(svod.grad(lambda a: linalg.det(a).sum()))(svod.Tensor(x)).numpy()
    np.testing.assert_allclose(traced, one_by_one, rtol=1e-12, atol=1e-13)
    close(linalg.det(svod.Tensor(x)), np.linalg.det(x))
    nan = x.copy()
    nan[0, 0, 0] = np.nan
    assert np.isnan(svod.grad(lambda a: linalg.det(a).sum())(svod.Tensor(nan)).numpy()[0]).any()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (1, 1), (30, 20), (20, 30), (0, 3), (3, 0)])
def test_least_squares_of_any_shape_and_rank(shape: tuple[int, int], dtype: Any) -> None:
    m, n = shape
    rcond = max(m, n) * np.finfo(dtype).eps
    for rank in {min(m, n), max(min(m, n) - 1, 0), 0}:
        a, b = draw(m, rank, dtype=dtype) @ draw(rank, n, dtype=dtype), draw(m, 2, dtype=dtype)
        x, residuals, found, values = linalg.lstsq(a, b)
        if 0 in shape:
            assert x.shape == (n, 2) and not x.numpy().any()
            continue
        wanted = np.linalg.lstsq(a, b, rcond=rcond)
        close(x, wanted[0].astype(dtype), 10)
        assert found.item() == rank == wanted[2]
        close(values, wanted[3].astype(values.numpy().dtype))
        if m > n:
            left = (np.abs(a @ wanted[0] - b) ** 2).sum(0)
            close(residuals, left.astype(residuals.numpy().dtype), 10)
        close(linalg.lstsq(a, b[:, 0]).solution, wanted[0][:, 0].astype(dtype), 10)
        close(linalg.lstsq(a, b, rtol=1e-3).solution, (np.linalg.pinv(a, rcond=1e-3) @ b).astype(dtype), 10)
        # A stack of right sides for one matrix.
        stack = draw(2, m, 1, dtype=dtype)
        close(linalg.lstsq(a, stack).solution, np.stack([np.linalg.lstsq(a, s, rcond=rcond)[0] for s in stack]), 10)


def test_errors_of_factors_name_the_function_that_was_called() -> None:
    nan, singular = svod.full((4, 4), np.nan), svod.ones(4, 4)
    for name, compute in {
        "cond": lambda: linalg.cond(nan),
        "matrix_rank": lambda: linalg.matrix_rank(nan),
        "matrix_norm": lambda: linalg.matrix_norm(nan, "nuc"),
        "pinv": lambda: linalg.pinv(nan),
        "lstsq": lambda: linalg.lstsq(nan, singular).solution,
        "svdvals": lambda: linalg.svdvals(nan),
        "svd": lambda: linalg.svd(nan).S,
        "inv": lambda: linalg.inv(singular),
        "solve": lambda: linalg.solve(singular, singular),
    }.items():
        with pytest.raises(linalg.LinAlgError, match=f"^{name}[,:]"):
            compute().numpy()


@pytest.mark.parametrize("dtype", TYPES)
def test_inverses(dtype: Any) -> None:
    for n in (1, 2, 5, 16, 17, 40, 130):
        x = draw(n, n, dtype=dtype)
        np.testing.assert_allclose(linalg.inv(x).numpy() @ x, np.eye(n), atol=3e5 * np.finfo(dtype).eps)
        b = draw(n, 3, dtype=dtype)
        np.testing.assert_allclose(x @ linalg.solve(x, b).numpy(), b, atol=3e5 * np.finfo(dtype).eps)
    assert linalg.inv(svod.zeros(0, 0)).shape == (0, 0) and linalg.inv(svod.zeros(0, 3, 3)).shape == (0, 3, 3)
