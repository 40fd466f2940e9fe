"""On a GPU: operands that lie across what is written, scatters into many elements, few results of many points."""

from __future__ import annotations

import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"


def drawn(shape, dtype="float32", seed=0):
    numbers = np.random.default_rng(seed).integers(-50, 50, shape)
    return (numbers > 0) if dtype == "bool" else numbers.astype(dtype)


def on(array):
    return svod.Tensor(array).to("CUDA").realize()


def prepared(tensor):
    plan = tensor.prepare()
    plan.execute()
    return plan


@pytest.mark.parametrize("shape", [(512, 512), (1100, 257), (257, 1100), (301, 515)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int8", "bool", "int64"])
def test_transposed_operands(shape, dtype):
    a, b = drawn(shape, dtype), drawn(shape[::-1], dtype, 1)
    made = (on(a) | on(b).T) if dtype == "bool" else (on(a) + on(b).T)
    np.testing.assert_array_equal(made.numpy(), (a | b.T) if dtype == "bool" else a + b.T)


def test_two_transposed_operands_and_a_batch():
    a, b = drawn((3, 700, 300)), drawn((3, 700, 300), seed=1)
    made = on(a).transpose(1, 2) * 2 + on(b).transpose(1, 2)
    np.testing.assert_array_equal(made.contiguous().numpy(), np.swapaxes(a, 1, 2) * 2 + np.swapaxes(b, 1, 2))


def test_blocks_of_threads_copy_operands_that_lie_across():
    a = svod.Tensor.empty(8192, 8192, device="CUDA") if hasattr(svod.Tensor, "empty") else on(drawn((8192, 8192)))
    (kernel,) = (a + a.T).prepare().kernels
    assert "copy b0 = " in kernel.linear
    assert "column b0, 31" in kernel.linear


def test_positions_that_stop_at_a_last_one():
    a = drawn((300, 1100))
    at = np.minimum(np.arange(1500), 1099)
    made = on(a).T[svod.Tensor(at).to("CUDA")]
    np.testing.assert_array_equal(made.numpy(), a.T[at])


@pytest.mark.parametrize(("rows", "width", "points"), [(5000, 64, 1500), (1000, 1, 9000), (7, 3, 5000), (17, 130, 900)])
def test_scatters(rows, width, points):
    index = np.random.default_rng(2).integers(0, rows, points)
    values = drawn((points, width), seed=3)
    want = np.zeros((rows, width), np.float32)
    np.add.at(want, index, values)
    start = svod.Tensor(np.zeros((rows, width), np.float32)).to("CUDA")
    made = start.scatter_add(0, on(np.repeat(index[:, None], width, 1)), on(values))
    np.testing.assert_array_equal(made.numpy(), want)


@pytest.mark.parametrize(("shape", "axis"), [((4096,), 0), ((100_000,), 0), ((3, 5000), 1), ((32, 128, 512), 1)])
def test_few_results_of_many_points(shape, axis):
    a = drawn(shape)
    np.testing.assert_array_equal(on(a).sum(axis).numpy(), a.sum(axis))
    np.testing.assert_array_equal(on(a).amax(axis).numpy(), a.max(axis))
    np.testing.assert_array_equal(on(a).argmax(axis).numpy(), a.argmax(axis))


def test_sums_of_blocks_of_columns_are_a_task_each():
    kernels = on(drawn((4096, 1024))).cumsum(0).prepare().kernels
    assert all(".a1.0 task" in str(kernel.schedule) for kernel in (kernels[0], kernels[-1]))
