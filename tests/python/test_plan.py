"""Plans: prepared once, executed many times."""

from __future__ import annotations

import gc
import json
import re

import numpy as np
import pytest
from threads import in_threads

import svod


def test_c2_inputs_outputs_and_constants() -> None:
    w = svod.Tensor(np.eye(4, dtype=np.float32) * 2)
    x = svod.Tensor(np.ones((3, 4), np.float32))
    y = x @ w + 1
    plan = y.prepare(inputs=[x])
    with pytest.raises(svod.StaleError):
        y.numpy()
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), np.full((3, 4), 3, np.float32))
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    plan.execute(a)
    np.testing.assert_array_equal(plan.outputs[0].numpy(), a * 2 + 1)
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), a * 2 + 1)


def test_c2_results_survive_later_runs() -> None:
    x = svod.Tensor(np.zeros(5, np.float32))
    plan = (x + 1).prepare(inputs=[x])
    results = []
    for i in range(5):
        plan.execute(np.full(5, i, np.float32))
        results.append(plan.outputs[0].numpy())
    assert [r.tolist() for r in results] == [[i + 1] * 5 for i in range(5)]


def test_c2_what_is_assigned_to_an_output_is_not_the_plans() -> None:
    x = svod.Tensor(np.zeros(3, np.float32))
    plan = (x + 1).prepare(inputs=[x])
    plan.execute()
    kept, own = plan.outputs[0], plan.outputs[0]
    own.assign(9)
    plan.outputs[0][1] = 7
    plan.execute(np.full(3, 4, np.float32))
    assert (plan.outputs[0].tolist(), kept.tolist(), own.tolist()) == ([5] * 3, [5] * 3, [9] * 3)


def test_c2_inputs_of_any_layout_and_tensors() -> None:
    x = svod.Tensor(np.zeros((3, 4), np.float32))
    plan = (x * 2).prepare(inputs=[x])
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    for given in [a.T, a.T.astype(">f4"), svod.Tensor(a.T), svod.Tensor(a).T]:
        plan.execute(given)
        np.testing.assert_array_equal(plan.outputs[0].numpy(), a.T * 2)


def test_c2_inputs_can_be_written() -> None:
    x = svod.Tensor(np.zeros(4, np.float32))
    plan = (x + 1).prepare(inputs=[x])
    (given,) = plan.inputs
    assert (given.shape, given.dtype) == ((4,), svod.float32)
    given.copy_(np.arange(4, dtype=np.float32))
    given[0] = 9
    plan.execute()
    assert plan.outputs[0].tolist() == [10, 2, 3, 4]
    assert given.numpy().tolist() == [9, 1, 2, 3]
    assert x.tolist() == [0, 0, 0, 0]


def test_c3_several_outputs_share_work() -> None:
    x = svod.Tensor(np.arange(6, dtype=np.float32))
    a, b = x + 1, (x + 1) * 2
    plan = svod.prepare(a, b, inputs=[x])
    plan.execute()
    assert (a.tolist(), b.tolist()) == ([1, 2, 3, 4, 5, 6], [2, 4, 6, 8, 10, 12])
    assert len(plan.outputs) == 2


def test_c3_realize_batch() -> None:
    x = svod.rand(10)
    a, b = x + 1, x * 2
    svod.realize(a, b)
    assert a.is_realized and b.is_realized
    np.testing.assert_array_equal(a.numpy() * 2 - 2, b.numpy() + (a.numpy() * 2 - 2 - b.numpy()))


def test_c2_others_stay_lazy_and_old_expressions_keep_their_value() -> None:
    x = svod.Tensor(np.ones(3, np.float32))
    y = x + 1
    z = y * 3
    plan = y.prepare(inputs=[x])
    plan.execute()
    assert not z.is_realized
    assert z.tolist() == [6, 6, 6]
    late = y * 10
    plan.execute(np.full(3, 5, np.float32))
    assert late.tolist() == [20, 20, 20]
    assert (y * 10).tolist() == [60, 60, 60]


def test_d1_instances_are_independent() -> None:
    x = svod.Tensor(np.zeros(3, np.float32))
    one = (x + 1).prepare(inputs=[x])
    two = one.instance()
    one.execute(np.full(3, 1, np.float32))
    two.execute(np.full(3, 5, np.float32))
    assert (one.outputs[0].tolist(), two.outputs[0].tolist()) == ([2, 2, 2], [6, 6, 6])


def test_d1_plan_outlives_its_tensors() -> None:
    x = svod.Tensor(np.ones((64, 64), np.float32))
    plan = (x @ x).prepare(inputs=[x])
    del x
    gc.collect()
    plan.execute(np.eye(64, dtype=np.float32) * 3)
    np.testing.assert_array_equal(plan.outputs[0].numpy(), np.eye(64) * 9)


@pytest.mark.parametrize("value", [np.ones((2, 3), np.float32), np.zeros((0, 3), np.float32)])
def test_c2_plan_with_nothing_to_do(value: np.ndarray) -> None:
    x = svod.Tensor(value)
    plan = x.prepare()
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), value)


def test_d1_threads_run_one_plan() -> None:
    x = svod.Tensor(np.zeros((32, 64), np.float32))
    w = svod.Tensor(np.eye(64, dtype=np.float32))
    plan = ((x @ w).softmax(-1) + x).prepare(inputs=[x])
    errors: list[str] = []

    def work(seed: int) -> None:
        own = plan.instance()
        rng = np.random.default_rng(seed)
        for _ in range(20):
            a = rng.standard_normal((32, 64)).astype(np.float32)
            own.execute(a)
            e = np.exp(a - a.max(axis=-1, keepdims=True))
            if not np.allclose(own.outputs[0].numpy(), e / e.sum(-1, keepdims=True) + a, atol=1e-5):
                errors.append(f"thread {seed}")
            plan.execute(a)

    in_threads(work)
    assert not errors


def test_d6_what_a_plan_shows() -> None:
    x = svod.Tensor(np.zeros((16, 32), np.float32))
    plan = (x.softmax(-1) @ x.T).prepare(inputs=[x])
    assert plan.kernels
    for kernel in plan.kernels:
        assert kernel.name and kernel.device == "CPU" and kernel.buffers and kernel.launch_sizes
        assert "define" in kernel.source
        assert "ret" in kernel.assembly
        assert kernel.loops and kernel.schedule == svod.Schedule(str(kernel.schedule))
    table = str(plan)
    assert all(kernel.name in table for kernel in plan.kernels)
    profile = plan.execute_profiled(np.ones((16, 32), np.float32))
    assert len(profile) == len(plan.kernels) and profile.total > 0
    assert all(t.time >= 0 and t.name for t in profile.kernels)
    assert "time" in str(plan)
    assert "kernels" in repr(plan)


def test_d7_memory_can_be_released() -> None:
    x = svod.Tensor(np.ones((8, 8), np.float32))
    y = x @ x
    plan = y.prepare(inputs=[x])
    plan.execute()
    plan.release_all()
    with pytest.raises(svod.Error):
        y.numpy()
    plan.execute()
    assert y.tolist()[0][0] == 8


def test_settings() -> None:
    threads = svod.get_threads()
    assert threads >= 1
    svod.set_threads(1)
    assert svod.get_threads() == 1
    assert (svod.ones(100, 100) @ svod.ones(100, 100)).sum().item() == 1e6
    svod.set_threads(threads)
    svod.clear_caches()
    assert {"live", "cached", "peak"} == svod.memory()["CPU"].keys()
    assert svod.caches() == {"kernels": 0, "schedules": 0, "packs": svod.caches()["packs"]}


def test_d1_instances_share_what_comes_from_outside() -> None:
    x = svod.Tensor([1.0, 2.0])
    plan = svod.prepare(x + 1, x)
    other = plan.instance()
    other.execute()
    assert other.outputs[0].tolist() == [2, 3] and other.outputs[1].tolist() == [1, 2]
    with pytest.raises(svod.StaleError):
        plan.outputs[0].tolist()
    plan.execute()
    assert plan.outputs[1].tolist() == [1, 2]


def test_c2_outputs_may_be_inputs() -> None:
    given = np.float32([7.0, 8.0, 9.0])
    for outputs in (lambda y: [y], lambda y: [y[0:]], lambda y: [y, y], lambda y: [y, y.reshape(3, 1)]):
        y = svod.Tensor([1.0, 2.0, 3.0])
        plan = svod.prepare(*outputs(y), inputs=[y])
        plan.execute(given)
        assert all(out.numpy().ravel().tolist() == given.tolist() for out in plan.outputs)
        plan.execute()
        assert plan.outputs[0].numpy().ravel().tolist() == given.tolist()
    with pytest.raises(svod.ArgumentError, match="nothing is pending"):
        svod.prepare(svod.Tensor([1.0]), inputs=[svod.Tensor([1.0])])


def test_a_plan_is_called_as_it_is_run() -> None:
    x = svod.empty(2)
    plan = (x + 1).prepare(inputs=[x])
    (first,) = plan(np.float32([1, 2]))
    (second,) = plan(np.float32([5, 6]))
    assert first.tolist() == [2, 3] and second.tolist() == [6, 7]


def test_an_explanation_reads_as_it_prints() -> None:
    plan = (svod.ones(2).realize() + 1).prepare()
    text = plan.explain()
    assert repr(text) == str(text) and "\n" in text and isinstance(text, str)
    with pytest.raises(svod.IndexError, match="op 9 of a plan with 1"):
        plan.explain(9)


def test_names_of_other_libraries_give_a_hint() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'data': t.detach\(\) is the same value"):
        svod.ones(1).data  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"no attribute 'data' to set: write `with svod.no_grad\(\): t.copy_\(value\)`"
    ):
        svod.ones(2).data = svod.zeros(2)  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"'svod\.Tensor' object has no attribute 'other'"):
        svod.ones(2).other = 3  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"'Tensor' object has no attribute 'nothing'$"):
        svod.ones(1).nothing  # noqa: B018


def test_d6_numbers_count_from_the_end_where_they_are_negative() -> None:
    x = svod.Tensor([3.0, 1.0, 2.0])
    plan = (x.sort()[0].cumsum(0) * 2).prepare(inputs=[x], planner="disabled")
    plan.execute()
    profile = plan.execute_profiled()
    ops, buffers = len(plan.analysis()["items"]), len(plan.buffers)
    assert str(plan.explain(-1)) != str(plan.explain(0))
    np.testing.assert_array_equal(plan.read_buffer(-1), plan.read_buffer(buffers - 1))
    assert profile[-1].op == profile[len(profile) - 1].op
    for call in (plan.explain, plan.read_buffer, profile.__getitem__):
        for beyond in (-ops - buffers - 1, ops + buffers, 2**62, -(2**63)):
            with pytest.raises(svod.IndexError, match=rf"{beyond} of a \w+ with \d+"):
                call(beyond)
        for wrong in (1.0, "a", None, True):
            if (call, wrong) != (plan.explain, None):
                with pytest.raises(svod.ArgumentTypeError, match="an integer"):
                    call(wrong)


def test_nothing_is_minus_zero() -> None:
    plan = svod.zeros(3).contiguous().prepare()
    for told in (plan.explain(), plan.explain(0), json.dumps(plan.analysis())):
        assert not re.search(r"(?<![\w.])-0(\.0)?\b", str(told)), str(told)
