"""Several GPUs: where there is one at most, two that are simulated."""

from __future__ import annotations

import os

import numpy as np
import pytest

import svod

if "SVOD_CUDA" not in os.environ and "CUDA:0" not in svod.devices():
    os.environ["SVOD_CUDA"] = "sim:sm_90"

BOTH = ("CUDA:0", "CUDA:1")


@pytest.fixture(autouse=True)
def two():
    if BOTH[1] not in svod.devices():
        pytest.skip("one GPU")


def data(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def on(array, device=BOTH[0]):
    return svod.Tensor(array, device=device).realize()


def test_values_go_from_one_to_the_other():
    a = data(1000)
    for dtype in ("float32", "bfloat16", "int64", "bool"):
        x = on(a).cast(dtype).realize()
        there = x.to(BOTH[1]).realize()
        assert there.device == BOTH[1] and there.tolist() == x.tolist()
        assert there.to(BOTH[0]).tolist() == x.tolist()
    empty = on(np.zeros((0, 3), np.float32)).to(BOTH[1])
    assert empty.numpy().shape == (0, 3)


def test_what_is_copied_is_what_was_computed_and_stays():
    a = data(1 << 16)
    x = on(a)
    for i in range(20):
        y = x * i
        there = y.to(BOTH[1]) + 1
        x = there.to(BOTH[0]) / 2
        a = ((a * np.float32(i)) + 1) / 2
        del y, there
    np.testing.assert_allclose(x.numpy(), a, rtol=1e-5)


def test_operands_of_two_gpus_are_an_error_that_names_both():
    a = data(3)
    with pytest.raises(svod.DeviceError, match=r"CUDA:0.*CUDA:1|CUDA:1.*CUDA:0"):
        on(a) + on(a, BOTH[1])


def test_tensors_that_are_spread():
    a, w = data(8, 6), data(6, 4)
    x = on(a).shard(BOTH, 0)
    np.testing.assert_allclose((x * 2 + 1).numpy(), a * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose(x.sum(0).numpy(), a.sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose((x @ on(w).shard(BOTH, None)).numpy(), a @ w, rtol=1e-4, atol=1e-5)
    # Each has a part of the depth.
    left, right = on(a.T.copy()).shard(BOTH, 0), on(w).shard(BOTH, 0)
    np.testing.assert_allclose((left.T @ right).numpy(), a @ w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(svod.grad(lambda t: (t * t).sum())(x).numpy(), 2 * a, rtol=1e-6)


def test_memory_is_counted_for_each():
    svod.clear_caches()
    before = svod.memory()
    x = on(np.zeros(1 << 18, np.float32), BOTH[1])
    after = svod.memory()
    assert after[BOTH[1]]["live"] >= before.get(BOTH[1], {"live": 0})["live"] + (1 << 20)
    assert after.get(BOTH[0]) == before.get(BOTH[0])
    del x


def test_a_plan_explains_its_kernels():
    x = on(data(64, 4096))
    w = on(data(256, 256)).cast("bfloat16").realize()
    for value, inputs, part in ((x.softmax(-1), [x], "memory"), (w @ w.T, [w], "tensor_cores")):
        plan = value.prepare(inputs=inputs)
        plan.execute_profiled()
        analysis = plan.analysis()
        (gpu,) = analysis["machine"]["gpus"]
        assert gpu["device"] == BOTH[0] and gpu["multiprocessors"] > 1 and gpu["bandwidth"] > 1e11
        costs = analysis["items"][-1]["analysis"]
        cycles = costs["gpu"]
        assert cycles[part] > 0 and max(cycles.values()) * 1e9 / gpu["clock"] == pytest.approx(costs["least_ns"])
        assert costs["measured_ns"] > 0 and costs["estimated_ns"] > costs["least_ns"] and 0 < costs["occupancy"] <= 1
        assert "multiprocessors" in plan.explain() and "cycles" in plan.explain(plan.kernels[-1].op)
        assert ".entry" in plan.kernels[-1].ptx
    assert (svod.Tensor([1.0]) + 1).prepare().kernels[0].ptx is None
