"""Gradients of matrices whose eigenvalues or singular values are alike, beside PyTorch's, JAX's, and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import linalg

rng = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape)


def own_adjoint(x: np.ndarray) -> np.ndarray:
    return x + np.conj(np.swapaxes(x, -1, -2))


MATRICES: dict[str, np.ndarray] = {
    "eye": np.eye(3),
    "zeros": np.zeros((3, 3)),
    "two alike": np.diag([1.0, 1.0, 2.0]),
    "apart": own_adjoint(draw(3, 3)),
    "stack": np.stack([np.eye(3), own_adjoint(draw(3, 3)), np.diag([1.0, 1.0, 2.0])]),
    "complex eye": np.eye(3) + 0j,
    "complex": own_adjoint(draw(3, 3) + 1j * draw(3, 3)),
}

# Of the functions of `xp.linalg`, which NumPy's, PyTorch's and JAX's name alike.
VALUES: dict[str, Callable[[Any, Any], Any]] = {
    "eigvalsh": lambda la, x: la.eigvalsh(x).sum(),
    "squares of eigvalsh": lambda la, x: (la.eigvalsh(x) ** 2).sum(),
    "eigh": lambda la, x: la.eigh(x)[0].sum(),
    "eigvals": lambda la, x: la.eigvals(x).real.sum(),
    "svd": lambda la, x: la.svd(x)[1].sum(),
    "squares of svd": lambda la, x: (la.svd(x, full_matrices=False)[1] ** 2).sum(),
    "nuc": lambda la, x: la.matrix_norm(x, ord="nuc").sum(),
    "2": lambda la, x: la.matrix_norm(x, ord=2).sum(),
    "pinv": lambda la, x: (la.pinv(x).real ** 2).sum() + la.pinv(x).real.sum(),
    "pinv of a Hermitian one": lambda la, x: la.pinv(x, hermitian=True).real.sum(),
}


def of_torch(f: Callable[[Any, Any], Any], x: np.ndarray) -> np.ndarray:
    torch = pytest.importorskip("torch")
    given = torch.tensor(x, requires_grad=True)
    (found,) = torch.autograd.grad(f(torch.linalg, given), given)
    return np.asarray(found.resolve_conj())


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("matrix", MATRICES)
def test_gradients_are_those_of_pytorch(name: str, matrix: str) -> None:
    x, f = MATRICES[matrix], VALUES[name]
    want = of_torch(f, x)
    assert np.isfinite(want).all()
    np.testing.assert_allclose(svod.grad(lambda t: f(linalg, t))(svod.Tensor(x)).numpy(), want, atol=1e-10)
    t = svod.Tensor(x).requires_grad_()
    f(linalg, t).backward()
    np.testing.assert_allclose(t.grad.numpy(), want, atol=1e-10)


# JAX's greatest of equal numbers is another one at 0.
@pytest.mark.parametrize("name", [name for name in VALUES if name != "2"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_derivatives_are_those_of_jax(name: str, matrix: str) -> None:
    jax = pytest.importorskip("jax")
    x, f = MATRICES[matrix], VALUES[name]
    along = draw(*x.shape).astype(x.dtype)
    along = own_adjoint(along + 1j * draw(*x.shape) if np.iscomplexobj(x) else along)
    with jax.enable_x64(True):
        point = jax.numpy.asarray(x)
        gradient = np.conj(np.asarray(jax.grad(lambda v: f(jax.numpy.linalg, v))(point)))
        value, moved = jax.jvp(lambda v: f(jax.numpy.linalg, v), (point,), (jax.numpy.asarray(along),))
        value, moved = float(value), float(moved)
    np.testing.assert_allclose(svod.grad(lambda t: f(linalg, t))(svod.Tensor(x)).numpy(), gradient, atol=1e-10)
    found, tangent = svod.jvp(lambda t: f(linalg, t), [svod.Tensor(x)], [svod.Tensor(along)])
    np.testing.assert_allclose([found.item(), tangent.item()], [value, moved], atol=1e-10)


@pytest.mark.parametrize(
    "x",
    [
        np.eye(3),
        np.diag([1.0, 1.0, 2.0]),
        np.eye(5, 3),
        np.eye(3, 5),
        np.eye(5, 3) * (1 + 2j),
        draw(2, 3, 5) + 1j * draw(2, 3, 5),
    ],
    ids=lambda x: f"{x.dtype}{x.shape}",
)
def test_pseudoinverses(x: np.ndarray) -> None:
    """Differences are the derivative where the rank is full."""
    weights = svod.Tensor(draw(*x.shape[:-2], x.shape[-1], x.shape[-2]))
    right = svod.Tensor(draw(*x.shape[:-2], x.shape[-2], 2).astype(x.dtype))

    def loss(t: svod.Tensor) -> svod.Tensor:
        return (linalg.pinv(t).real * weights).sum() + (linalg.lstsq(t, right).solution.abs() ** 2).sum()

    want = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        for unit in (1, 1j) if np.iscomplexobj(x) else (1,):
            step = np.zeros_like(x)
            step[at] = 1e-6 * unit
            up, down = loss(svod.Tensor(x + step)).item(), loss(svod.Tensor(x - step)).item()
            want[at] += unit * (up - down) / 2e-6
    np.testing.assert_allclose(svod.grad(loss)(svod.Tensor(x)).numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["pinv", "eigvalsh", "svd"])
def test_second_derivatives_are_those_of_pytorch(name: str) -> None:
    """Of values of stacked matrices, one of which is far from another: where they are alike, PyTorch's are NaN."""
    torch = pytest.importorskip("torch")
    f, alike = VALUES[name], name == "pinv"
    x = MATRICES["two alike" if alike else "apart"]
    weights = draw(3, 3)
    given = torch.tensor(x, requires_grad=True)
    (first,) = torch.autograd.grad((f(torch.linalg, given)), given, create_graph=True)
    (want,) = torch.autograd.grad((first * torch.tensor(weights)).sum(), given)
    first_of = svod.grad(lambda t: f(linalg, t))
    found = svod.grad(lambda t: (first_of(t) * svod.Tensor(weights)).sum())(svod.Tensor(x))
    np.testing.assert_allclose(found.numpy(), want.numpy(), atol=1e-10)


def test_vectors_have_no_derivative_there() -> None:
    """As elsewhere, it is not finite: never a number that is wrong."""
    for f in (lambda t: linalg.eigh(t)[1][0, 1], lambda t: linalg.svd(t)[0][0, 1]):
        assert not np.isfinite(svod.grad(f)(svod.eye(3, dtype="float64")).numpy()).all()


def test_mapped_and_traced() -> None:
    x = MATRICES["stack"]
    want = svod.grad(lambda t: VALUES["nuc"](linalg, t))(svod.Tensor(x)).numpy()
    mapped = svod.vmap(svod.grad(lambda t: VALUES["nuc"](linalg, t)))(svod.Tensor(x))
    traced = svod.jit(svod.grad(lambda t: VALUES["nuc"](linalg, t)))(svod.Tensor(x))
    np.testing.assert_allclose(mapped.numpy(), want, atol=1e-12)
    np.testing.assert_allclose(traced.numpy(), want, atol=1e-12)
