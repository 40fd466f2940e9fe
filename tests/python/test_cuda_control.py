"""Control flow on a GPU: branches, loops and scans whose values stay there."""

from __future__ import annotations

import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

CUDA = "CUDA:0"


def on(a: object) -> svod.Tensor:
    return svod.Tensor(a, device=CUDA)


def data(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("reverse", [False, True])
def test_scans_there(reverse: bool) -> None:
    w, xs = data(5, 5), data(7, 5)
    weight = on(w)
    last, ys = svod.scan(lambda h, x: (svod.tanh(h @ weight + x),) * 2, on(np.zeros(5, "f")), on(xs), reverse=reverse)
    h, expected = np.zeros(5, np.float32), np.zeros_like(xs)
    for i in reversed(range(7)) if reverse else range(7):
        h = expected[i] = np.tanh(h @ w + xs[i])
    assert last.device == CUDA and ys.device == CUDA
    np.testing.assert_allclose(ys.numpy(), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(last.numpy(), h, rtol=1e-5, atol=1e-5)


def test_conditions_there() -> None:
    x = on([1.0, 2.0])
    for taken in (True, False):
        y = svod.cond(on(taken), lambda a: a * 2, lambda a: a - 1, x)
        assert y.device == CUDA and y.tolist() == ([2.0, 4.0] if taken else [0.0, 1.0])
    assert svod.cond(x.sum() > 5, lambda: x * 2, lambda: x).tolist() == [1.0, 2.0]
    doubled, count = svod.while_loop(lambda s: s[0].sum() < 100, lambda s: (s[0] * 2, s[1] + 1), (x, on(0)))
    assert doubled.tolist() == [64.0, 128.0]
    assert count.item() == 6


def test_gradients_there() -> None:
    xs = on(data(6))
    found = svod.grad(lambda w: svod.scan(lambda c, x: (c * w + x, None), on(1.0), xs)[0])(on(0.5))
    w = 0.5
    c, d = 1.0, 0.0
    for x in xs.numpy():
        c, d = c * w + x, d * w + c
    np.testing.assert_allclose(found.numpy(), d, rtol=1e-5)
