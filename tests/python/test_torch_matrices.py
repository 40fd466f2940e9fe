"""Functions of matrices and spectra under PyTorch's older names, against PyTorch and against their definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(0)


def matrices(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    values = RNG.standard_normal(shape)
    if "complex" in dtype:
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def definite(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    x = matrices(dtype, *shape)
    return (x @ np.conj(np.swapaxes(x, -1, -2)) + shape[-1] * np.eye(shape[-1])).astype(dtype)


TYPES = ["float32", "float64", "complex64", "complex128"]
SHAPES = [(3, 3), (2, 4, 4), (1, 1), (0, 0), (0, 2, 2), (2, 3, 5, 5)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_functions_of_matrices_are_what_they_are(dtype: str, shape: tuple[int, ...]) -> None:
    x, n = definite(dtype, *shape), shape[-1]
    t, many = svod.Tensor(x), np.broadcast_to(np.eye(n), shape)
    close = {"rtol": 1e-3, "atol": 1e-3} if dtype in ("float32", "complex64") else {"rtol": 1e-9, "atol": 1e-9}
    for upper in (False, True):
        factor = svod.cholesky(t, upper).numpy()
        left = np.conj(np.swapaxes(factor, -1, -2)) if upper else factor
        np.testing.assert_allclose(left @ np.conj(np.swapaxes(left, -1, -2)), x, **close)
        np.testing.assert_allclose(x @ t.cholesky(upper=upper).cholesky_inverse(upper).numpy(), many, **close)
        right = matrices(dtype, *shape[:-1], 2)
        solved = svod.Tensor(right).cholesky_solve(svod.cholesky(t, upper), upper)
        np.testing.assert_allclose(x @ solved.numpy(), right, **close)
    np.testing.assert_allclose(t.inverse().numpy() @ x, many, **close)
    np.testing.assert_allclose(t.pinverse().numpy() @ x, many, **close)
    np.testing.assert_allclose(t.det().numpy(), np.linalg.det(x), rtol=1e-3)
    np.testing.assert_allclose(t.logdet().numpy(), np.log(np.linalg.det(x)), **close)
    np.testing.assert_allclose(t.slogdet()[1].numpy(), np.linalg.slogdet(x)[1], **close)
    np.testing.assert_allclose(t.matrix_power(2).numpy(), x @ x, **close)
    np.testing.assert_allclose((t * 0).matrix_exp().numpy(), many, **close)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 3, 3), (1, 5), (0, 3, 2)])
@pytest.mark.parametrize("some", [True, False])
def test_factors_give_the_matrix(dtype: str, shape: tuple[int, ...], some: bool) -> None:
    x = matrices(dtype, *shape)
    u, s, v = svod.svd(svod.Tensor(x), some)
    rows, columns = shape[-2:]
    few = min(rows, columns)
    assert u.shape[-1] == (few if some else rows) and v.shape[-1] == (few if some else columns)
    middle = np.zeros((*shape[:-2], u.shape[-1], v.shape[-1]), dtype)
    middle[..., range(few), range(few)] = s.numpy()
    close = {"rtol": 1e-3, "atol": 1e-3} if dtype in ("float32", "complex64") else {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(u.numpy() @ middle @ np.conj(np.swapaxes(v.numpy(), -1, -2)), x, **close)
    q, r = svod.Tensor(x).qr(some)
    assert q.shape[-1] == (few if some else rows)
    np.testing.assert_allclose(q.numpy() @ r.numpy(), x, **close)
    values = svod.svd(svod.Tensor(x), compute_uv=False)
    np.testing.assert_allclose(values.S.numpy(), s.numpy(), **close)
    assert values.U.shape == (*shape[:-2], rows, rows) and not values.V.any()


def test_logarithms_of_determinants_have_their_limits_and_derivatives() -> None:
    x = svod.Tensor([[[2.0, 0.0], [0.0, 3.0]], [[0.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]])
    found = x.logdet().tolist()
    assert found[0] == pytest.approx(np.log(6)) and found[1] == -np.inf and np.isnan(found[2])
    (slope,) = [svod.grad(lambda a: a.logdet())(x[0])]
    np.testing.assert_allclose(slope.numpy(), [[1 / 2, 0], [0, 1 / 3]], rtol=1e-6)


SPECTRA: list[dict[str, Any]] = [
    {"n_fft": 16},
    {"n_fft": 16, "hop_length": 5},
    {"n_fft": 15, "hop_length": 4, "center": False},
    {"n_fft": 16, "hop_length": 3, "win_length": 10},
    {"n_fft": 16, "window": "hann", "normalized": True},
    {"n_fft": 12, "win_length": 9, "window": "hann", "onesided": False},
    {"n_fft": 8, "hop_length": 2, "pad_mode": "constant"},
]


def by_definition(x: np.ndarray[Any, Any], how: dict[str, Any], window: np.ndarray[Any, Any] | None) -> Any:
    """The short-time Fourier transform of a signal, part by part."""
    n, hop = how["n_fft"], how.get("hop_length", how["n_fft"] // 4)
    size = how.get("win_length", n)
    shape = np.zeros(n)
    shape[(n - size) // 2 : (n - size) // 2 + size] = 1 if window is None else window
    if how.get("center", True):
        x = np.pad(x, n // 2, mode=how.get("pad_mode", "reflect"))
    parts = np.stack([x[at : at + n] * shape for at in range(0, len(x) - n + 1, hop)], -1)
    found = np.fft.fft(parts, axis=0) / (np.sqrt(n) if how.get("normalized") else 1)
    return found if not how.get("onesided", True) or np.iscomplexobj(x) else found[: n // 2 + 1]


@pytest.mark.parametrize("how", SPECTRA)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_spectra_of_parts(how: dict[str, Any], dtype: str) -> None:
    x = matrices(dtype, 3, 61)
    how = how | ({"onesided": False} if "complex" in dtype else {})
    size = how.get("win_length", how["n_fft"])
    window = svod.hann_window(size) + 0.1 if how.get("window") else None
    given = {**how, "window": None if window is None else window.cast("float64" if dtype == "float64" else "float32")}
    found = svod.stft(svod.Tensor(x), **given)
    weights = None if window is None else window.numpy()
    wanted = np.stack([by_definition(row, how, weights) for row in x])
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(svod.stft(svod.Tensor(x[1]), **given).numpy(), wanted[1], rtol=1e-3, atol=1e-4)
    inverse = {key: value for key, value in given.items() if key != "pad_mode"}
    back = svod.istft(found, **inverse, length=61, return_complex="complex" in dtype).numpy()
    # What lies in no part cannot come back.
    sure = slice(0, 61 if how.get("center", True) else how["n_fft"])
    np.testing.assert_allclose(back[:, sure], x[:, sure], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("how", SPECTRA)
def test_spectra_are_pytorchs(how: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    x = matrices("float32", 2, 50)
    size = how.get("win_length", how["n_fft"])
    ours = how | {"window": svod.hann_window(size) + 0.2 if how.get("window") else None}
    theirs = how | {"window": torch.hann_window(size) + 0.2 if how.get("window") else None}
    right = torch.stft(torch.from_numpy(x), **theirs, return_complex=True)
    found = svod.stft(svod.Tensor(x), **ours)
    np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-3, atol=1e-4)
    if how.get("center", True):
        back = {key: value for key, value in theirs.items() if key != "pad_mode"}
        again = {key: value for key, value in ours.items() if key != "pad_mode"}
        right = torch.istft(right, **back)
        np.testing.assert_allclose(svod.istft(found, **again).numpy(), right.numpy(), rtol=1e-3, atol=1e-3)


def test_spectra_have_derivatives() -> None:
    x = svod.Tensor(matrices("float64", 20))
    slope = svod.grad(lambda s: (svod.stft(s, 8, 3).abs() ** 2).sum())(x)
    for at in (0, 3, 11):
        step = np.zeros(20)
        step[at] = 1e-5
        rise = [(svod.stft(x + sign * svod.Tensor(step), 8, 3).abs() ** 2).sum().item() for sign in (1, -1)]
        assert slope[at].item() == pytest.approx((rise[0] - rise[1]) / 2e-5, rel=1e-5)


def test_spectra_as_pairs_of_real_numbers() -> None:
    x = svod.Tensor(np.random.default_rng(0).standard_normal(30).astype(np.float32))
    pairs, spectra = svod.stft(x, 8, return_complex=False), svod.stft(x, 8, return_complex=True)
    np.testing.assert_array_equal(pairs.numpy(), svod.view_as_real(spectra).numpy())


def test_errors_name_what_does_not_fit() -> None:
    x = svod.ones(30)
    for wrong, message in (
        (lambda: svod.stft(x, 0), "stft: n_fft=0"),
        (lambda: svod.stft(x, 8, win_length=9), "win_length=9"),
        (lambda: svod.stft(x, 8, window=svod.ones(7)), r"stft: a window of \(7,\) for win_length=8"),
        (lambda: svod.stft(x, 40, center=False), "a signal of 30 samples has no part of 40"),
        (lambda: svod.stft(svod.ones(2, 2, 30), 8), "signals of 1 or 2 dimensions"),
        (lambda: svod.stft(x.cfloat(), 8, onesided=True), "onesided=False"),
        (lambda: svod.istft(x, 8), "complex spectra"),
        (lambda: svod.istft(svod.ones(4, 3).cfloat(), 8), "istft: 4 frequencies for n_fft=8"),
        (lambda: svod.svd(x), "svd: matrices are expected"),
        (lambda: svod.cholesky_inverse(svod.ones(2, 3)), "cholesky_inverse: square matrices"),
        (lambda: svod.cholesky_solve(x, svod.eye(2)), "cholesky_solve: matrices of right sides"),
    ):
        with pytest.raises(svod.Error, match=message):
            wrong()
