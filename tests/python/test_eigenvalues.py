"""Eigenvalues of general matrices, beside NumPy: those of real ones are real, or conjugate pairs, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
from svod import linalg

RANDOM = np.random.default_rng(5)
TYPES = [np.float32, np.float64]


def matrices(n: int) -> list[np.ndarray]:
    """Real matrices of all kinds."""
    x = RANDOM.normal(size=(n, n))
    triangle = np.tril(x)
    order = RANDOM.permutation(n)
    return [
        x,
        x + x.T,
        x - x.T,
        np.diag(np.arange(n)) * 1.0,
        triangle,
        triangle[order][:, order],
        np.eye(n, k=1) + np.eye(n, k=1 - n),
        np.eye(n, k=1),
        np.ones((n, n)),
        np.zeros((n, n)),
        x * 10.0 ** np.linspace(-3, 3, n) / 10.0 ** np.linspace(-3, 3, n)[:, None],
        np.kron(np.eye(-(-n // 2)), [[0.0, -2.0], [0.5, 0.0]])[:n, :n],
        np.abs(x) / np.abs(x).sum(0),
    ]


def sorted_values(w: np.ndarray) -> np.ndarray:
    return w[np.lexsort((w.imag, w.real))]


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """How far two sets of numbers are from each other: each one from the nearest one of the others."""
    distance = np.abs(a[:, None] - b)
    return max(float(distance.min(0).max(initial=0)), float(distance.min(1).max(initial=0))) if a.size else 0.0


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 20])
def test_values_of_real_matrices_are_real_or_come_in_conjugate_pairs(n: int, dtype: Any) -> None:
    eps = np.finfo(dtype).eps
    for x in matrices(n):
        x = x.astype(dtype)
        w, v = (part.numpy() for part in linalg.eig(svod.Tensor(x)))
        alone = linalg.eigvals(svod.Tensor(x)).numpy()
        assert w.dtype == v.dtype == alone.dtype == np.result_type(dtype, np.complex64)
        size = max(float(np.abs(x).max()), 1.0)
        np.testing.assert_allclose(x @ v, v * w, atol=300 * n * eps * size)
        np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1, rtol=10 * eps)
        for values in (w, alone):
            np.testing.assert_array_equal(sorted_values(values), sorted_values(values.conj()))
        at = 0
        while at < n:
            if w[at].imag == 0:
                assert (v[:, at].imag == 0).all()
                at += 1
            else:
                assert w[at].imag > 0 and w[at + 1] == w[at].conj()
                np.testing.assert_array_equal(v[:, at + 1], v[:, at].conj())
                at += 2
        # Where values are alike and vectors are not they are known to a root of the precision.
        near = np.linalg.cond(np.linalg.eig(x.astype(np.float64))[1]) < 1e4
        if near:
            assert apart(w, np.linalg.eigvals(x)) <= 1e5 * eps * size


def test_triangles_have_their_values_on_the_diagonal() -> None:
    x = np.tril(RANDOM.normal(size=(9, 9)))
    order = RANDOM.permutation(9)
    for given in (x, x.T, x[order][:, order], np.tri(5) + 2 * np.eye(5)):
        for kind in ("float64", "complex128"):
            w = linalg.eigvals(svod.Tensor(given).cast(kind)).numpy()
            np.testing.assert_array_equal(np.sort(w.real), np.sort(np.diag(given)))
            assert (w.imag == 0).all()


@pytest.mark.parametrize("dtype", [*TYPES, np.complex64])
@pytest.mark.parametrize("n", [2, 8, 40, 100])
def test_vectors_of_long_chains_stay_in_range(n: int, dtype: Any) -> None:
    eps = np.finfo(dtype).eps
    for value in (0, 1, -2, 1e-3, 100):
        chain = value * np.eye(n) + np.eye(n, k=1)
        for x in (chain, chain.T, chain[::-1, ::-1], np.kron(np.eye(2), chain)):
            w, v = (part.numpy() for part in linalg.eig(svod.Tensor(x.astype(dtype))))
            np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1, rtol=10 * eps)
            left = np.abs(x.astype(dtype) @ v - v * w).max()
            assert left <= 30 * n * eps * np.abs(x).max(), (value, left)
        # One vector of each chain, as LAPACK has them.
        v = linalg.eig(svod.Tensor(np.kron(np.eye(2), chain).astype(dtype))).eigenvectors.numpy()
        assert np.linalg.matrix_rank(v, 1e-3) >= 2


def test_roots_of_real_polynomials() -> None:
    for wanted in ([1.0, 2.0, 3.0], [-1.0, 0.5, 1e3, 1e-3], [1j, -1j, 2.0], [1 + 2j, 1 - 2j, 3.0, -4.0]):
        found = svod.roots(np.poly(wanted).real).numpy()
        np.testing.assert_array_equal(sorted_values(found), sorted_values(found.conj()))
        np.testing.assert_allclose(sorted_values(found), sorted_values(np.array(wanted) + 0j), rtol=1e-8, atol=1e-9)
        assert (found.imag == 0).all() == np.isreal(wanted).all()


def test_gradients_of_real_matrices_are_real() -> None:
    x = RANDOM.normal(size=(4, 4))
    inputs = RANDOM.normal(size=4) + 1j * RANDOM.normal(size=4)

    def of(a: svod.Tensor) -> svod.Tensor:
        values, vectors = linalg.eig(a)
        # What no length and no phase of the vectors changes.
        parts = (vectors * svod.Tensor(inputs)).abs().square() * values.abs().unsqueeze(-2)
        return (values.exp() * (2 + 1j)).real.sum() + parts.sum()

    g = svod.grad(of)(svod.Tensor(x)).numpy()
    assert g.dtype == np.float64
    step = 1e-6
    for at in np.ndindex(4, 4):
        d = np.zeros((4, 4))
        d[at] = step
        slope = (of(svod.Tensor(x + d)).item() - of(svod.Tensor(x - d)).item()) / (2 * step)
        assert abs(g[at] - slope) < 1e-6 * max(1, abs(slope))


def test_stacks_maps_and_traces() -> None:
    x = svod.Tensor(RANDOM.normal(size=(2, 3, 4, 4)))
    w, v = linalg.eig(x)
    assert w.shape == (2, 3, 4) and v.shape == (2, 3, 4, 4)
    np.testing.assert_array_equal(svod.vmap(svod.vmap(linalg.eigvals))(x).numpy(), linalg.eigvals(x).numpy())
    np.testing.assert_array_equal(svod.jit(lambda x: linalg.eig(x).eigenvectors)(x).numpy(), v.numpy())
    assert linalg.eigvals(svod.zeros(0, 0)).shape == (0,) and linalg.eig(svod.zeros(2, 0, 0))[1].shape == (2, 0, 0)


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
def test_what_is_not_finite_has_none(kind: str) -> None:
    for wrong in (np.nan, np.inf):
        x = svod.full((3, 3), 1.0, dtype=kind)
        x[1, 2] = wrong
        for compute in (linalg.eigvals, lambda x: linalg.eig(x).eigenvectors):
            with pytest.raises(linalg.LinAlgError, match=r"^eig(vals)?[,:]"):
                compute(x).numpy()
