"""Scans on a GPU: rows that threads share, columns, blocks of long ones."""

from __future__ import annotations

import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

# Rows of a thread, a warp, several warps; columns of threads and of warps; blocks of long rows and columns.
SHAPES = [
    ((0,), 0),
    ((1,), 0),
    ((5,), 0),
    ((3, 1), 1),
    ((7, 12), 1),
    ((40, 16), 1),
    ((9, 33), 1),
    ((5, 129), 1),
    ((3, 1000), 1),
    ((2, 4100), 1),
    ((9000, 20), 1),
    ((20001,), 0),
    ((2, 3, 9000), 2),
    ((33, 5), 0),
    ((300, 40), 0),
    ((70, 130), 0),
    ((4, 17, 3), 1),
    ((2, 200, 7), 1),
    ((700, 65), 0),
]


def numbers(*shape, dtype=np.float32, seed=0):
    made = np.random.default_rng(seed).standard_normal(shape) * 3
    return made.astype(dtype)


def on(array):
    return svod.Tensor(array).to("CUDA").realize()


def check(made, expected, rtol=1e-5, atol=1e-4):
    assert made.device == "CUDA:0"
    found = made.numpy()
    assert found.shape == expected.shape
    if np.issubdtype(expected.dtype, np.floating):
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_sums_and_maxima(shape, axis):
    a = numbers(*shape)
    x = on(a)
    check(x.cumsum(axis), a.astype(np.float64).cumsum(axis), atol=1e-3)
    np.testing.assert_array_equal(x.cummax(axis).values.numpy(), np.maximum.accumulate(a, axis))
    np.testing.assert_array_equal(x.cummin(axis).values.numpy(), np.minimum.accumulate(a, axis))


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_integers_are_exact(shape, axis):
    a = np.random.default_rng(1).integers(-1000, 1000, shape).astype(np.int32)
    check(on(a).cumsum(axis), a.astype(np.int64).cumsum(axis))
    wide = a.astype(np.int64) * (1 << 40)
    check(on(wide).cumsum(axis), wide.cumsum(axis))
    check(on(wide).cumprod(axis), wide.cumprod(axis))


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("how", [{"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}])
def test_exclusive_and_reverse(shape, axis, how):
    a = np.random.default_rng(2).integers(-9, 9, shape)
    expected = np.flip(a, axis) if "reverse" in how else a
    expected = expected.cumsum(axis) - (expected if "exclusive" in how else 0)
    expected = np.flip(expected, axis) if "reverse" in how else expected
    check(on(a).cumsum(axis, **how), expected)


@pytest.mark.parametrize("dtype", [svod.float16, svod.bfloat16, svod.float64, svod.int8, svod.uint8, svod.bool])
@pytest.mark.parametrize(("shape", "axis"), [((6, 50), 1), ((3, 1500), 1), ((60, 40), 0)])
def test_types(dtype, shape, axis):
    a = np.random.default_rng(3).integers(0, 2, shape).astype(np.float32)
    made = svod.Tensor(a).cast(dtype).to("CUDA").realize()
    expected = a.cumsum(axis)
    found = made.cumsum(axis)
    assert found.dtype == svod.Tensor(a).cast(dtype).cumsum(axis).dtype
    np.testing.assert_allclose(found.cast(svod.float64).numpy(), expected, rtol=1e-2)
    np.testing.assert_array_equal(made.cummax(axis).values.cast(svod.float32).numpy(), np.maximum.accumulate(a, axis))


@pytest.mark.parametrize(("shape", "axis"), [((4, 900), 1), ((130, 40), 0), ((9000,), 0)])
def test_numbers_that_are_none(shape, axis):
    a = numbers(*shape)
    a.flat[700] = np.nan
    a.flat[1300 % a.size] = np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(on(a).cumsum(axis).numpy(), a.cumsum(axis), rtol=1e-4, atol=1e-3)
        np.testing.assert_array_equal(on(a).cummax(axis).values.numpy(), np.maximum.accumulate(a, axis))
    products = on(np.sign(a)).cumprod(axis).numpy()
    np.testing.assert_array_equal(products, np.sign(a).cumprod(axis))


@pytest.mark.parametrize(("shape", "axis"), [((6, 300), 1), ((100, 64), 0), ((10000,), 0)])
def test_what_is_computed_on_the_way(shape, axis):
    a = numbers(*shape)
    x = on(a)
    check((x * 2 + 1).cumsum(axis) * 0.5, (a.astype(np.float64) * 2 + 1).cumsum(axis) * 0.5, atol=1e-3)
    check(x.softmax(axis).cumsum(axis), svod.Tensor(a).softmax(axis).cumsum(axis).numpy(), rtol=1e-4, atol=1e-5)
    transposed = on(np.ascontiguousarray(a.T)).T
    check(transposed.cumsum(axis), a.astype(np.float64).cumsum(axis), atol=1e-3)
    part = tuple(slice(1, None, 2) for _ in shape)
    check(x[part].cumsum(axis), a[part].astype(np.float64).cumsum(axis), atol=1e-3)


def test_positions_of_extremes():
    a = np.random.default_rng(4).integers(0, 40, (5, 700)).astype(np.float32)
    found = on(a).cummax(1)
    expected = svod.Tensor(a).cummax(1)
    np.testing.assert_array_equal(found.values.numpy(), expected.values.numpy())
    np.testing.assert_array_equal(found.indices.numpy(), expected.indices.numpy())


def test_sizes_that_vary():
    n = svod.Variable("n", 1, 600)
    function = svod.jit(lambda x: x.cumsum(1), shapes={"x": (3, n)})
    rows = svod.jit(lambda x: x.cumsum(1), shapes={"x": (n, 70)})
    for size in (1, 31, 32, 255, 600):
        a = np.random.default_rng(size).integers(-9, 9, (3, size)).astype(np.float32)
        np.testing.assert_array_equal(function(on(a)).numpy(), a.cumsum(1))
        a = np.random.default_rng(size).integers(-9, 9, (size, 70)).astype(np.float32)
        np.testing.assert_array_equal(rows(on(a)).numpy(), a.cumsum(1))


def test_gradients():
    a = numbers(4, 300)
    weights = numbers(4, 300, seed=5)

    def loss(x, w):
        return (x.cumsum(1) * w).sum()

    found = svod.grad(loss)(on(a), on(weights)).numpy()
    expected = np.flip(np.flip(weights, 1).astype(np.float64).cumsum(1), 1)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def test_strict_scans_go_from_left_to_right():
    a = numbers(3, 500)
    with svod.strict():
        found, expected = on(a).cumsum(1).numpy(), svod.Tensor(a).cumsum(1).numpy()
    np.testing.assert_array_equal(found, expected)
