"""On a GPU: products of bytes, integers that are summed in int32 and floats of 8 bits that are summed in float32."""

from __future__ import annotations

import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

SIZES = [(64, 128, 96), (33, 70, 41), (3, 300, 64), (130, 129, 72), (1, 400, 200)]
INTEGERS = ["int8", "uint8"]
FLOATS = ["float8_e4m3fn", "float8_e5m2"]


def drawn(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    if dtype in INTEGERS:
        about = np.iinfo(dtype)
        return svod.Tensor(rng.integers(about.min, about.max + 1, shape).astype(dtype))
    return svod.Tensor(rng.standard_normal(shape).astype("float32")).cast(dtype)


def layouts(a, b):
    """Operands in memory on the GPU, with the depth side by side in both, in one, in none."""
    a, b = a.to("CUDA").realize(), b.to("CUDA").realize()
    other = [t.T.contiguous().realize().T for t in (a, b)]
    return [(a, b), (other[0], b), (a, other[1]), tuple(other)]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_integers_are_summed_exactly(dtype, size):
    m, k, n = size
    a, b = drawn((m, k), dtype, 0), drawn((k, n), dtype, 1)
    expected = a.numpy().astype(np.int32) @ b.numpy().astype(np.int32)
    scale = svod.Tensor(np.linspace(0.5, 2, n, dtype="float32"))
    for x, y in layouts(a, b):
        sums = x.cast("int32") @ y.cast("int32")
        assert sums.dtype == svod.int32
        np.testing.assert_array_equal(sums.numpy(), expected)
        np.testing.assert_array_equal((sums * 2 + 1).numpy(), expected * 2 + 1)
        scaled = sums.cast("float32") * scale.to("CUDA")
        np.testing.assert_array_equal(scaled.numpy(), expected.astype("float32") * scale.numpy())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_floats_of_8_bits_are_summed_in_float32(dtype, size):
    m, k, n = size
    a, b = drawn((m, k), dtype, 2), drawn((k, n), dtype, 3)
    expected = a.cast("float64").numpy() @ b.cast("float64").numpy()
    most = np.abs(a.cast("float64").numpy()) @ np.abs(b.cast("float64").numpy())
    for x, y in layouts(a, b):
        sums = x.cast("float32") @ y.cast("float32")
        # Tensor cores keep 14 bits of what they add in one go.
        assert (np.abs(sums.numpy() - expected) <= most * 2.0**-11).all()
        narrow = ((x.cast("float32") @ y.cast("float32")) * 0.5).cast("bfloat16")
        near = np.abs(expected) * 0.5 * 2.0**-7 + most * 2.0**-11
        assert (np.abs(narrow.cast("float64").numpy() - expected * 0.5) <= near).all()


def test_batches_of_bytes():
    a, b = drawn((3, 40, 72), "int8", 4), drawn((3, 72, 56), "int8", 5)
    expected = a.numpy().astype(np.int32) @ b.numpy().astype(np.int32)
    x, y = a.to("CUDA").realize(), b.to("CUDA").realize()
    np.testing.assert_array_equal((x.cast("int32") @ y.cast("int32")).numpy(), expected)
    turned = y.transpose(1, 2).contiguous().realize().transpose(1, 2)
    np.testing.assert_array_equal((x.cast("int32") @ turned.cast("int32")).numpy(), expected)
    shared = (x.cast("int32") @ y[0].cast("int32")).numpy()
    np.testing.assert_array_equal(shared, a.numpy().astype(np.int32) @ b.numpy()[0].astype(np.int32))


def test_bytes_with_and_without_a_sign():
    a, b = drawn((40, 128), "uint8", 12), drawn((48, 128), "int8", 13)
    made = a.to("CUDA").cast("int32") @ b.to("CUDA").cast("int32").T
    np.testing.assert_array_equal(made.numpy(), a.numpy().astype(np.int32) @ b.numpy().astype(np.int32).T)


def test_sums_of_integers_wrap():
    x = svod.Tensor(np.full((32, 2048), 255, "uint8")).to("CUDA").realize()
    y = svod.Tensor(np.full((2048, 32), 255, "uint8")).to("CUDA").realize()
    scaled = x.cast("int32") @ y.cast("int32") * 32
    assert (scaled.numpy() == np.int64(255 * 255 * 2048 * 32 + 2**31) % 2**32 - 2**31).all()


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_products_of_bytes_are_one_kernel_with_what_follows(dtype):
    carried = "int32" if dtype in INTEGERS else "float32"
    a, b = drawn((256, 512), dtype, 6), drawn((128, 512), dtype, 7)
    scale, bias = (svod.Tensor(np.linspace(0, 1, 128, dtype="float32")).to("CUDA").realize() for _ in range(2))
    x, y = a.to("CUDA").realize(), b.to("CUDA").realize()
    made = ((x.cast(carried) @ y.cast(carried).T).cast("float32") * scale + bias).relu().cast("bfloat16")
    (kernel,) = made.prepare().kernels
    assert "svod_product" in kernel.ptx, kernel.schedule


def test_results_may_be_bytes():
    a, b = drawn((64, 96), "int8", 14), drawn((80, 96), "int8", 15)
    x, y = a.to("CUDA").realize(), b.to("CUDA").realize()
    made = ((x.cast("int32") @ y.cast("int32").T).cast("float32") * 2.0**-10).round().clip(-128, 127).cast("int8")
    plan = made.prepare()
    plan.execute()
    assert ["svod_product" in kernel.ptx for kernel in plan.kernels] == [True]
    sums = a.numpy().astype(np.int32) @ b.numpy().astype(np.int32).T
    np.testing.assert_array_equal(made.numpy(), np.clip(np.round(sums * 2.0**-10), -128, 127).astype("int8"))
    a, b = drawn((64, 96), "float8_e4m3fn", 16), drawn((96, 80), "float8_e4m3fn", 17)
    made = (a.to("CUDA").realize() @ b.to("CUDA").realize()).cast("float32").numpy()
    expected = a.cast("float32").numpy() @ b.cast("float32").numpy()
    assert (np.abs(made - expected) <= np.abs(expected) * 0.07 + 2.0**-6).all()


def test_computed_integers_are_in_memory_before_they_are_multiplied():
    a, b = drawn((256, 512), "float32", 8), drawn((128, 512), "int8", 9)
    x, y = a.to("CUDA").realize(), b.to("CUDA").realize()
    quantised = (x * 20).round().clip(-128, 127).cast("int8")
    made = quantised.cast("int32") @ y.cast("int32").T
    plan = made.prepare()
    plan.execute()
    assert [k.ptx.count("svod_product") > 0 for k in plan.kernels] == [False, True]
    expected = np.clip(np.round(a.numpy() * 20), -128, 127).astype(np.int32) @ b.numpy().astype(np.int32).T
    np.testing.assert_array_equal(made.numpy(), expected)


def test_products_of_integers_have_symbolic_sizes():
    rows = svod.Variable("rows", 1, 64)
    a, b = drawn((64, 128), "int8", 10), drawn((96, 128), "int8", 11)
    x, y = a.to("CUDA").realize(), b.to("CUDA").realize()
    expected = a.numpy().astype(np.int32) @ b.numpy().astype(np.int32).T
    for size in (1, 5, 64):
        part = x[: rows.bind(size)]
        np.testing.assert_array_equal((part.cast("int32") @ y.cast("int32").T).numpy(), expected[:size])
