"""Products on a GPU whose rows and columns are no multiple of what a task computes."""

from __future__ import annotations

import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

SHAPES = [
    (5, 6, 7),
    (4, 6, 8),
    (33, 17, 65),
    (64, 64, 64),
    (1, 6, 7),
    (2, 9, 3),
    (100, 30, 50),
    (129, 70, 257),
    (7, 300, 1),
]


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def on(array):
    return svod.Tensor(array).to("CUDA").realize()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("transposed", ["", "a", "b", "ab"])
def test_products(shape, transposed):
    m, k, n = shape
    a, b = numbers(m, k), numbers(k, n, seed=1)
    x = on(np.ascontiguousarray(a.T)).T if "a" in transposed else on(a)
    y = on(np.ascontiguousarray(b.T)).T if "b" in transposed else on(b)
    np.testing.assert_allclose((x @ y).numpy(), a @ b, rtol=1e-4, atol=1e-4)
    made = ((x @ y) + on(numbers(n, seed=2))).relu().numpy()
    np.testing.assert_allclose(made, np.maximum(a @ b + numbers(n, seed=2), 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 5, 6, 7), (2, 33, 17, 65)])
def test_batches_of_products(shape):
    batch, m, k, n = shape
    a, b = numbers(batch, m, k), numbers(batch, k, n, seed=1)
    np.testing.assert_allclose((on(a) @ on(b)).numpy(), a @ b, rtol=1e-4, atol=1e-4)


def test_products_of_a_size_that_varies():
    n = svod.Variable("n", 1, 40)
    b = numbers(17, 23, seed=1)
    weight = on(b)
    function = svod.jit(lambda x: x @ weight, shapes={"x": (n, 17)})
    for rows in (1, 5, 8, 40):
        a = numbers(rows, 17)
        np.testing.assert_allclose(function(on(a)).numpy(), a @ b, rtol=1e-4, atol=1e-4)
