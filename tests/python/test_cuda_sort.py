"""Sorts on a GPU: rows of a thread, of a warp, and in blocks; orders are those of NumPy, ties in their own order."""

from __future__ import annotations

import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

SHAPES = [
    ((0,), 0),
    ((1,), 0),
    ((3, 1), 1),
    ((7, 12), 1),
    ((9, 33), 1),
    ((3, 1000), 1),
    ((4096,), 0),
    ((4097,), 0),
    ((2, 9001), 1),
    ((40000,), 0),
    ((70, 5), 0),
    ((3, 100, 4), 1),
]


def on(array):
    return svod.Tensor(array).to("CUDA").realize()


def numbers(shape, seed=0):
    """Floats of few different values, so that many are equal, with zeros of both signs."""
    made = np.random.default_rng(seed).integers(-30, 30, shape).astype(np.float32) / 4
    return np.where(np.random.default_rng(seed + 1).random(shape) < 0.5, made, made * np.float32(-1.0))


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("descending", [False, True])
def test_sort_and_order(shape, axis, descending):
    a = numbers(shape)
    found = on(a).sort(axis, descending=descending)
    order = np.argsort(-a if descending else a, axis=axis, kind="stable")
    np.testing.assert_array_equal(found.values.numpy(), np.take_along_axis(a, order, axis))
    np.testing.assert_array_equal(found.indices.numpy(), order)
    np.testing.assert_array_equal(on(a).argsort(axis, descending=descending).numpy(), order)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("n", [20, 700, 5000])
def test_integers(name, n):
    info = np.iinfo(name)
    a = np.random.default_rng(2).integers(info.min, info.max, (2, n), dtype=name, endpoint=True)
    a[0, :4] = [info.min, info.max, 0, info.max]
    np.testing.assert_array_equal(on(a).sort(1).values.numpy(), np.sort(a, 1))
    np.testing.assert_array_equal(on(a).argsort(1).numpy(), np.argsort(a, 1, kind="stable"))


@pytest.mark.parametrize("dtype", [svod.float16, svod.bfloat16, svod.float64])
@pytest.mark.parametrize("n", [20, 700, 5000])
def test_floats(dtype, n):
    a = np.random.default_rng(3).standard_normal((2, n)).astype(np.float32)
    x = svod.Tensor(a).cast(dtype)
    rounded = x.cast(svod.float64).numpy()
    x = x.to("CUDA").realize()
    np.testing.assert_array_equal(x.sort(1).values.cast(svod.float64).numpy(), np.sort(rounded, 1))
    np.testing.assert_array_equal(x.argsort(1).numpy(), np.argsort(rounded, 1, kind="stable"))


@pytest.mark.parametrize("n", [20, 300, 6000])
def test_bools(n):
    a = np.random.default_rng(4).random((3, n)) < 0.5
    np.testing.assert_array_equal(on(a).argsort(1).numpy(), np.argsort(a, 1, kind="stable"))


@pytest.mark.parametrize("n", [20, 700, 5000])
def test_numbers_that_are_none_come_last(n):
    a = np.random.default_rng(5).standard_normal((2, n)).astype(np.float32)
    a[0, 3], a[1, 5], a[1, 6], a[0, 7] = np.nan, np.inf, -np.nan, -np.inf
    np.testing.assert_array_equal(on(a).sort(1).values.numpy(), np.sort(a, 1))
    np.testing.assert_array_equal(on(a).argsort(1).numpy(), np.argsort(a, 1, kind="stable"))
    values = on(a).sort(1, descending=True).values.numpy()
    np.testing.assert_array_equal(values, svod.Tensor(a).sort(1, descending=True).values.numpy())


@pytest.mark.parametrize(("n", "k"), [(20, 3), (900, 5), (900, 900), (9000, 7), (9000, 5000)])
@pytest.mark.parametrize("largest", [False, True])
def test_the_first_few(n, k, largest):
    a = numbers((3, n), seed=6)
    found = on(a).topk(k, largest=largest)
    order = np.argsort(-a if largest else a, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found.values.numpy(), np.take_along_axis(a, order, 1))
    expected = svod.Tensor(a).topk(k, largest=largest)
    np.testing.assert_array_equal(found.indices.numpy(), expected.indices.numpy())


def test_what_is_computed_on_the_way():
    a = np.random.default_rng(7).standard_normal((50, 300)).astype(np.float32)
    x = on(a)
    np.testing.assert_array_equal((x * 2 - 1).sort(1).values.numpy(), np.sort(a * 2 - 1, 1))
    np.testing.assert_array_equal(x.T.sort(1).values.numpy(), np.sort(a.T, 1))
    np.testing.assert_array_equal(x[::2, 1::3].sort(1).values.numpy(), np.sort(a[::2, 1::3], 1))
    np.testing.assert_array_equal(x.sort(0).values.numpy(), np.sort(a, 0))


def test_what_uses_orders():
    a = np.random.default_rng(8).integers(0, 50, 6000)
    np.testing.assert_array_equal(on(a).unique().numpy(), np.unique(a))
    edges = np.sort(np.random.default_rng(9).standard_normal(5000).astype(np.float32))
    values = np.random.default_rng(10).standard_normal(100).astype(np.float32)
    found = svod.searchsorted(on(edges), on(values)).numpy()
    np.testing.assert_array_equal(found, np.searchsorted(edges, values))
    b = np.random.default_rng(11).standard_normal((4, 501)).astype(np.float32)
    np.testing.assert_allclose(on(b).median(1).values.numpy(), np.median(b, 1))


def test_sizes_that_vary():
    n = svod.Variable("n", 1, 6000)
    function = svod.jit(lambda x: x.sort(0).values, shapes={"x": (n,)})
    for size in (1, 31, 33, 4096, 4097, 6000):
        a = np.random.default_rng(size).standard_normal(size).astype(np.float32)
        np.testing.assert_array_equal(function(on(a)).numpy(), np.sort(a))
