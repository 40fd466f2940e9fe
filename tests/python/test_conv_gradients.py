"""Gradients of convolutions' kernels, of many channels and of images larger than kernels, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import svod
from svod.nn import functional as F

torch = pytest.importorskip("torch")

rng = np.random.default_rng(5)

Numbers = tuple[int, ...]

# Images and kernels: blocks of a depth that are whole images, rows of one, parts of a row; no multiples of vectors.
SHAPES: list[tuple[Numbers, Numbers, dict[str, int]]] = [
    ((4, 24, 13, 13), (40, 24, 3, 3), {"padding": 1}),
    ((2, 33, 29, 31), (17, 33, 3, 3), {"padding": 1}),
    ((9, 16, 2, 5), (48, 16, 1, 3), {"padding": 1}),
    ((1, 16, 7, 301), (16, 16, 5, 2), {}),
    ((3, 16, 20, 20), (24, 16, 3, 3), {"stride": 2, "padding": 1}),
    ((3, 16, 21, 20), (24, 16, 3, 3), {"dilation": 2, "padding": 2}),
    ((5, 40, 70), (24, 40, 5), {"padding": 2}),
    ((2, 16, 5, 6, 7), (16, 16, 3, 2, 3), {"padding": 1}),
    # Few channels, which are columns together with the taps.
    ((8, 1, 28, 28), (32, 1, 3, 3), {"padding": 1}),
    ((3, 3, 30, 31), (24, 3, 7, 7), {"stride": 2, "padding": 3}),
    ((2, 2, 9, 11), (5, 2, 3, 5), {"dilation": 2}),
    ((4, 3, 50), (16, 3, 7), {"padding": 1}),
    ((2, 1, 6, 7, 8), (9, 1, 2, 3, 3), {}),
]


@pytest.mark.parametrize(("image", "kernel", "how"), SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradient_by_the_kernel(image: Numbers, kernel: Numbers, how: dict[str, int], dtype: str) -> None:
    rank = len(image) - 2
    x, w = rng.standard_normal(image).astype(dtype), rng.standard_normal(kernel).astype(dtype)
    wide = torch.tensor(w, dtype=torch.float64, requires_grad=True)
    expected = getattr(torch.nn.functional, f"conv{rank}d")(torch.tensor(x, dtype=torch.float64), wide, **how)
    seed = rng.standard_normal(expected.shape).astype(dtype)
    expected.backward(torch.tensor(seed, dtype=torch.float64))

    weights, inputs = svod.Tensor(w), [svod.Tensor(x), svod.Tensor(seed)]
    loss = (getattr(F, f"conv{rank}d")(inputs[0], weights, **how) * inputs[1]).sum()
    # Operands that a plan is given are copied by its tasks; constants once.
    for plan in (loss.gradient(weights)[0].prepare(inputs=inputs), loss.gradient(weights)[0].prepare()):
        plan.execute()
        tolerance = 2e-5 if dtype == "float32" else 1e-13
        error = np.abs(plan.outputs[0].numpy() - wide.grad.numpy()).max() / np.abs(wide.grad.numpy()).max()
        assert error < tolerance
