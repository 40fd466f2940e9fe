"""Products of operands that are both spread over devices: what moves is an operand, never its repetition."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

import svod
from svod.nn import functional as F

TWO = ["CPU:1", "CPU:2"]
THREE = ["CPU", "CPU:1", "CPU:2"]


def data(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def check(result: svod.Tensor, right: np.ndarray, most: int) -> None:
    """`most`: elements of the largest array that a device needs."""
    plan = result.to("CPU").prepare()
    assert plan.memory["bytes_peak"] <= 4 * most * 12, plan.memory
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axes", [*itertools.product([0, 1, 2, None], repeat=2)], ids=str)
@pytest.mark.parametrize("devices", [TWO, THREE], ids=len)
def test_e2_products_of_operands_in_parts(devices: list[str], axes: tuple[int | None, int | None]) -> None:
    a, b = data(3, 32, 50), data(3, 50, 41, seed=1)
    x, y = svod.Tensor(a).shard(devices, axes[0]), svod.Tensor(b).shard(devices, axes[1])
    check(x @ y, a @ b, b.size)


def square(n: int = 64) -> svod.Tensor:
    return svod.Tensor(data(n, n)).shard(THREE, 0)


N = data(64, 64)
IMAGES, FILTERS = data(6, 4, 9, 9), data(8, 4, 3, 3, seed=1)
HEADS = data(2, 3, 40, 8)


def attended() -> np.ndarray:
    scores = HEADS @ HEADS.swapaxes(-1, -2) / np.sqrt(8)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ HEADS


def attention() -> svod.Tensor:
    x = svod.Tensor(HEADS).shard(TWO, 2)
    return x.scaled_dot_product_attention(x, x)


def filtered() -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(IMAGES, (3, 3), (2, 3))
    return np.einsum("bcyxij,fcij->bfyx", windows, FILTERS)


SPELLINGS: dict[str, tuple[Callable[[], svod.Tensor], Callable[[], np.ndarray], int]] = {
    "with itself": (lambda: square() @ square(), lambda: N @ N, N.size),
    "with its transpose": (lambda: square() @ square().T, lambda: N @ N.T, N.size),
    "linear": (lambda: square().linear(square()), lambda: N @ N.T, N.size),
    "a bias in parts": (
        lambda: square().linear(square(), svod.Tensor(N[0]).shard(THREE, 0)),
        lambda: N @ N.T + N[0],
        N.size,
    ),
    "einsum": (lambda: svod.einsum("ij,kj->ki", square(), square()), lambda: N @ N.T, N.size),
    "narrow": (
        lambda: square().cast("float16").cast("float32") @ square().cast("float16").cast("float32"),
        lambda: N.astype(np.float16).astype(np.float32) @ N.astype(np.float16).astype(np.float32),
        N.size,
    ),
    "convolution": (
        lambda: F.conv2d(svod.Tensor(IMAGES).shard(TWO, 0), svod.Tensor(FILTERS).shard(TWO, 0)),
        filtered,
        IMAGES.size,
    ),
    "attention along its length": (attention, attended, HEADS.size),
    "differences of all pairs": (
        lambda: (square()[:, None] - square()[None]).abs().sum(2),
        lambda: np.abs(N[:, None] - N[None]).sum(2),
        N.size,
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_e2_what_meets_all_of_another_is_gathered_as_it_is(name: str) -> None:
    mine, right, most = SPELLINGS[name]
    check(mine(), right(), most)


def test_e2_products_of_symbolic_parts() -> None:
    n = svod.Variable("n", 1, 37)
    x = svod.empty(n, 12)
    s = x.shard(THREE, 0)
    plan = (s @ s.T).to("CPU").prepare(inputs=[x])
    for rows in (1, 2, 20, 37):
        a = data(rows, 12)
        plan.execute(a)
        np.testing.assert_allclose(plan.outputs[0].numpy(), a @ a.T, rtol=1e-4, atol=1e-4)
