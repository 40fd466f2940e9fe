"""Fourier transforms, beside NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

RANDOM = np.random.default_rng(5)
NORMS = [None, "backward", "ortho", "forward"]
COMPLEX, REAL = ["fft", "ifft", "irfft", "hfft"], ["rfft", "ihfft"]


def draw(*shape: int, dtype: Any = np.complex128) -> np.ndarray:
    """Numbers around 0."""
    x = RANDOM.normal(size=shape)
    return (x + 1j * RANDOM.normal(size=shape) if np.issubdtype(dtype, np.complexfloating) else x).astype(dtype)


def close(got: svod.Tensor, want: np.ndarray) -> None:
    """As good as the same numbers, of one type."""
    found = got.numpy()
    assert (found.dtype, found.shape) == (want.dtype, want.shape)
    eps = np.finfo(want.dtype).eps
    np.testing.assert_allclose(found, want, rtol=64 * eps, atol=64 * eps * max(np.abs(want).max(initial=0), 1))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", [*COMPLEX, *REAL])
def test_lengths_and_factors(name: str, norm: str | None) -> None:
    theirs, mine = getattr(np.fft, name), getattr(svod.fft, name)
    for m in (1, 2, 3, 8, 13, 60, 97):
        x = draw(3, m, dtype=np.complex128 if name in COMPLEX else np.float64)
        for n in (None, 1, m, m + 3, max(m // 2, 1)):
            if (name in ("irfft", "hfft") and n is None and m == 1) or (n is not None and n < 1):
                continue
            close(mine(svod.Tensor(x), n=n, norm=norm), theirs(x, n=n, norm=norm))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int32, bool])
def test_types_are_those_of_the_parts(dtype: Any) -> None:
    x = (draw(4, 6, dtype=np.float64) * 4).astype(dtype) if dtype in (np.int32, bool) else draw(4, 6, dtype=dtype)
    wide = np.complex128 if dtype in (np.float64, np.complex128) else np.complex64
    close(svod.fft.fft(svod.Tensor(x)), np.fft.fft(x).astype(wide))
    close(svod.fft.ifft(svod.Tensor(x), axis=0), np.fft.ifft(x, axis=0).astype(wide))
    if not np.issubdtype(dtype, np.complexfloating):
        close(svod.fft.rfft(svod.Tensor(x)), np.fft.rfft(x).astype(wide))


def test_several_axes() -> None:
    x, r = draw(3, 4, 5), draw(3, 4, 5, dtype=np.float64)
    for axes, s in (((0, 2), None), (None, None), ((1,), (6,)), ((-1, 0), (2, 7)), (None, (4, 4, 4))):
        for name, given in (("fftn", x), ("ifftn", x), ("rfftn", r), ("irfftn", x)):
            close(
                getattr(svod.fft, name)(svod.Tensor(given), s=s, axes=axes),
                getattr(np.fft, name)(given, s=s, axes=axes if s is None or axes is not None else (0, 1, 2)),
            )
    for name, given in (("fft2", x), ("ifft2", x), ("rfft2", r), ("irfft2", x)):
        close(getattr(svod.fft, name)(svod.Tensor(given), norm="ortho"), getattr(np.fft, name)(given, norm="ortho"))
    close(svod.fft.fft(svod.Tensor(x).permute(2, 0, 1)[::2], axis=1), np.fft.fft(x.transpose(2, 0, 1)[::2], axis=1))
    close(svod.fft.fft(svod.zeros(0, 3)), np.zeros((0, 3), np.complex64))


def test_frequencies_and_shifts() -> None:
    for of in (svod.fft.fftfreq, svod.fft.rfftfreq):
        assert of(4, dtype="float64").dtype == "float64" and of(4, dtype=svod.float16).dtype == "float16"
        with pytest.raises(svod.DTypeError, match="freq: dtype: a type of floats is expected, not int64"):
            of(4, dtype=svod.int64)
    for n in (1, 4, 5):
        np.testing.assert_allclose(svod.fft.fftfreq(n, d=0.5).numpy(), np.fft.fftfreq(n, 0.5), rtol=1e-6)
        np.testing.assert_allclose(svod.fft.rfftfreq(n, d=0.5).numpy(), np.fft.rfftfreq(n, 0.5), rtol=1e-6)
    x = RANDOM.normal(size=(4, 5))
    for axes in (None, 0, (1,), (0, 1)):
        close(svod.fft.fftshift(svod.Tensor(x), axes=axes), np.fft.fftshift(x, axes))
        close(svod.fft.ifftshift(svod.Tensor(x), axes=axes), np.fft.ifftshift(x, axes))


def test_many_rows_go_over_threads() -> None:
    x = draw(300, 1024, dtype=np.complex64)
    close(svod.fft.fft(svod.Tensor(x)), np.fft.fft(x))


def test_what_is_refused() -> None:
    x = svod.Tensor([1.0, 2.0])
    for call in (
        lambda: svod.fft.fft(x, n=0), lambda: svod.fft.fft(x, axis=1), lambda: svod.fft.fft(x, norm="none"),
        lambda: svod.fft.fft(svod.zeros(2, 0)), lambda: svod.fft.fftn(x, s=(1, 2), axes=(0,)),
        lambda: svod.fft.irfft(x[:1]),
    ):  # fmt: skip
        with pytest.raises((svod.ArgumentError, svod.ShapeError)):
            call()
    with pytest.raises(svod.DTypeError):
        svod.fft.rfft(svod.Tensor([1j]))


def test_plans_and_traced_functions() -> None:
    x = draw(2, 8)
    traced = svod.jit(lambda z: svod.fft.ifft(svod.fft.fft(z) * 2).real)
    for scale in (1, 3):
        close(traced(svod.Tensor(x * scale)), 2 * scale * x.real)
    assert traced.traces == 1
    t = svod.Tensor(x)
    plan = svod.fft.fft(t + 1).abs().prepare(inputs=[t])
    plan.execute(2 * x)
    close(plan.outputs[0], abs(np.fft.fft(2 * x + 1)))
    n = svod.Variable("n", 1, 8)
    rows = svod.empty(n, 6)
    plan = svod.fft.rfft(rows).abs().prepare(inputs=[rows])
    for m in (1, 5):
        given = RANDOM.normal(size=(m, 6)).astype(np.float32)
        plan.execute(given)
        close(plan.outputs[0], abs(np.fft.rfft(given)))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "irfftn"])
@pytest.mark.parametrize("n", [5, 6])
def test_gradients(name: str, n: int) -> None:
    x = draw(3, n, dtype=np.float64 if name in REAL else np.complex128)
    weights = draw(3, n, 2)
    f = getattr(svod.fft, name)

    def loss(z: svod.Tensor) -> svod.Tensor:
        odd = {"irfft": {"n": 7}, "hfft": {"n": 7}, "irfftn": {"s": (3, 7)}}
        y = f(z, **odd.get(name, {}))
        w = svod.Tensor(weights.reshape(-1))[: y.numel()].reshape(*y.shape)
        return (y * w).real.sum()

    t = svod.Tensor(x).requires_grad_()
    loss(t).backward()
    want = np.zeros_like(x)
    units = (1,) if name in REAL else (1, 1j)
    for at in np.ndindex(x.shape):
        for unit in units:
            step = np.zeros_like(x)
            step[at] = 1e-4 * unit
            want[at] += unit * (loss(svod.Tensor(x + step)).item() - loss(svod.Tensor(x - step)).item()) / 2e-4
    np.testing.assert_allclose(t.grad.numpy(), want, rtol=1e-7, atol=1e-8)


FUNCTIONS: dict[str, Callable[[svod.Tensor], svod.Tensor]] = {
    "fft": lambda x: svod.fft.fft(x, norm="ortho"),
    "rfft": svod.fft.rfft,
    "irfft": lambda x: svod.fft.irfft(svod.fft.rfft(x), n=7),
    "fft2": lambda x: svod.fft.ifft2(svod.fft.fft2(x, s=(4, 3))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_maps_of_transforms_are_transforms_of_batches(name: str) -> None:
    x = draw(3, 2, 5, dtype=np.float64)
    function = FUNCTIONS[name]

    def loss(x: svod.Tensor) -> svod.Tensor:
        return function(x).abs().square().sum()

    got, want = svod.vmap(function)(x), function(svod.Tensor(x))
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6, atol=1e-6)
    each = np.stack([svod.grad(loss)(svod.Tensor(row)).numpy() for row in x])
    np.testing.assert_allclose(svod.vmap(svod.grad(loss))(svod.Tensor(x)).numpy(), each, rtol=1e-5, atol=1e-5)
    of_map = svod.grad(lambda x: svod.vmap(loss)(x).sum())(svod.Tensor(x))
    np.testing.assert_allclose(of_map.numpy(), each, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_sizes_may_be_symbolic(norm: str) -> None:
    n = svod.Variable("n", 1, 16)
    x = svod.empty(2, n)
    plan = svod.fft.ifft(svod.fft.rfft(x, norm=norm), norm=norm).prepare(inputs=[x])
    for extent in (1, 4, 7):
        given = draw(2, extent, dtype=np.float32)
        want = np.fft.ifft(np.fft.rfft(given, norm=norm), norm=norm)  # type: ignore[call-overload]
        np.testing.assert_allclose(plan.run(given)[0].numpy(), want, rtol=1e-5, atol=1e-6)


def test_names_of_pytorch() -> None:
    x = draw(3, 4)
    assert svod.fft.fft(x, 5, 0).shape == svod.fft.fft(input=x, n=5, dim=0).shape == (5, 4)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_derivatives_along_any_axis_are_those_along_the_last(axis: int) -> None:
    x, weights = draw(3, 4, 5, dtype=np.float64), draw(3, 4, 5, dtype=np.float64)

    def loss(x: svod.Tensor, weights: svod.Tensor, axis: int) -> svod.Tensor:
        spectrum = svod.fft.fft(svod.fft.rfft(x, axis=axis), axis=axis)
        return (svod.fft.irfft(spectrum, n=x.shape[axis], axis=axis).sin() * weights).sum()

    moved = [svod.Tensor(np.swapaxes(one, axis, -1)) for one in (x, weights)]
    along_last = svod.grad(loss)(*moved, -1).transpose(axis, -1)
    found = svod.grad(loss)(svod.Tensor(x), svod.Tensor(weights), axis)
    np.testing.assert_allclose(found, along_last, rtol=1e-12, atol=1e-12)
    mapped = svod.vmap(lambda one: svod.fft.rfft(one, axis=0))(svod.Tensor(x))
    np.testing.assert_allclose(mapped, np.fft.rfft(x, axis=1), rtol=1e-12, atol=1e-12)
