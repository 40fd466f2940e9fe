"""Realizing and preparing: contract rows A11, C1 to C4, C6 and D3 from Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import svod

N = svod.Variable("n", 1, 8)


def live() -> int:
    return svod.memory()["CPU"]["live"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "int8", "uint64", "bool"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 1, 3)])
def test_c1_results_keep_shape_and_type(shape: tuple[int, ...], dtype: str) -> None:
    x = svod.zeros(*shape, dtype=dtype)
    for y in (x, x + x, x.reshape(-1), (x + x).reshape(-1, 1)):
        before = (y.shape, y.dtype)
        assert (y.realize().shape, y.dtype) == before and y.is_realized


def test_c1_realized_tensors_and_their_reshapes_need_no_work() -> None:
    x = (svod.rand(4, 6) + 1).realize()
    before = live()
    assert x.realize() is x
    flat = x.reshape(3, 8).reshape(-1).realize()
    assert live() == before
    np.testing.assert_array_equal(flat.numpy(), x.numpy().ravel())


def test_c1_constants_are_made_and_what_is_empty_needs_no_kernel() -> None:
    svod.clear_caches()
    for empty in (svod.zeros(0, 3) + 1, svod.arange(0).cast("float32").exp(), svod.ones(2, 0) @ svod.ones(0, 0)):
        assert empty.realize().is_realized and empty.numpy().size == 0
    assert svod.caches()["kernels"] == 0
    constant = svod.full((2, 2), 7.5)
    assert constant.realize().is_realized and constant.tolist() == [[7.5, 7.5]] * 2
    # A sum of nothing is something.
    assert svod.zeros(0, 3).sum(0).tolist() == [0, 0, 0]


def test_c1_all_that_share_the_expression_have_the_value() -> None:
    x = svod.rand(8)
    y, z = x * 3, x * 3
    late = y + 1
    y.realize()
    assert z.is_realized and not late.is_realized
    np.testing.assert_array_equal(late.numpy(), y.numpy() + 1)


def test_c1_a_write_makes_new_expressions() -> None:
    x = svod.Tensor([1.0, 2.0])
    assert (x * 10).tolist() == [10, 20]
    before = x * 10
    x.assign(svod.Tensor([3.0, 4.0]))
    assert ((x * 10).tolist(), before.tolist()) == ([30, 40], [10, 20])
    x[1] = 7
    assert (x * 10).tolist() == [30, 70]
    array = np.ones(2, np.float32)
    borrowed = svod.from_numpy(array)
    assert (borrowed * 10).tolist() == [10, 10]
    array[0] = 5
    assert (borrowed * 10).tolist() == [50, 10]
    given = svod.zeros(2).realize()
    out = given + 1
    plan = out.prepare(inputs=[given])
    plan.execute(np.ones(2, np.float32))
    assert (out * 10).tolist() == [20, 20]
    plan.execute(np.zeros(2, np.float32))
    assert (out * 10).tolist() == [10, 10]


def test_c1_realize_with_a_configuration() -> None:
    x = svod.rand(3, 5).realize()
    for options in ({"strategy": "none"}, {"threads": 1}, {"planner": "disabled"}, {"strict": True}, {"device": "CPU"}):
        y = (x + 1).sum(1)
        np.testing.assert_allclose(y.realize(**options).numpy(), (x.numpy() + 1).sum(1), rtol=1e-6)
    with pytest.raises(svod.DeviceError):
        (svod.arange(3) + svod.arange(3)).realize(device="CUDA:97")


def test_c2_only_what_is_given_is_the_plans() -> None:
    x = svod.rand(4).realize()
    shared = x * 2
    y, z = shared + 1, shared - 1
    plan = y.prepare(inputs=[x])
    assert not shared.is_realized and not z.is_realized
    with pytest.raises(svod.StaleError):
        y.numpy()
    np.testing.assert_array_equal(z.numpy(), x.numpy() * 2 - 1)
    plan.execute(np.full(4, 3, np.float32))
    assert y.tolist() == [7] * 4
    np.testing.assert_array_equal(shared.numpy(), x.numpy() * 2)


def test_c2_what_needs_no_work_is_a_plan_too() -> None:
    for make in (lambda: svod.ones(3).contiguous().realize(), lambda: svod.full((3,), 1.0), lambda: svod.zeros(0, 3)):
        x = make()
        plan = x.prepare()
        for _ in range(2):
            plan.execute()
            assert plan.outputs[0].shape == x.shape and plan.outputs[0].tolist() == [1.0] * x.shape[0]
    plan = svod.full((3,), 2.0).prepare()
    with pytest.raises(svod.StaleError):
        plan.outputs[0].numpy()


def test_c2_other_leaves_are_constants() -> None:
    x, w = svod.ones(2).contiguous().realize(), svod.Tensor([2.0, 3.0])
    y = x * w
    plan = y.prepare(inputs=[x])
    w.assign(100)
    x.assign(50)
    plan.execute()
    assert y.tolist() == [2, 3]
    plan.inputs[0].copy_(np.array([10, 10], np.float32))
    plan.execute()
    assert y.tolist() == [20, 30]


def test_c2_sizes_of_inputs_follow_what_is_given() -> None:
    x = svod.empty(N, 2)
    y = x.sum(0)
    plan = y.prepare(inputs=[x])
    for n in (1, 8, 3):
        plan.execute(np.ones((n, 2), np.float32))
        assert y.tolist() == [n, n]
    with pytest.raises(svod.ArgumentError, match=r"outside \[1, 8\]"):
        plan.execute(np.ones((9, 2), np.float32))
    assert y.tolist() == [3, 3], "nothing ran"


def test_d3_an_interrupted_run_leaves_no_result() -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    x = svod.Tensor(np.eye(256, dtype=np.float32))
    plan = svod.iterate(1000, lambda _, v: (v @ x).contiguous(), x).prepare(inputs=[x], threads=1)
    plan.execute()

    def interrupted() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        plan.execute()

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with pytest.raises(Stop):
            interrupted()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for read in (plan.outputs[0].numpy, lambda: (plan.outputs[0] + 1).numpy()):
        with pytest.raises(svod.StaleError):
            read()
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), np.eye(256))


def test_a11_memory_that_there_is_not_is_an_error_with_bytes_and_device() -> None:
    for count in (1 << 40, 1 << 50):
        with pytest.raises(svod.OutOfMemoryError, match=f"out of memory on CPU: cannot allocate {count * 4} bytes"):
            svod.zeros(count).contiguous().realize()
        with pytest.raises(MemoryError):
            svod.zeros(count).contiguous().prepare()
    assert (svod.ones(3) + 1).tolist() == [2, 2, 2]


def test_c3_batches() -> None:
    x = svod.rand(16).realize()
    a, b, done = (x * 2).softmax(0), (x * 2).softmax(0).sum(), (x + 1).realize()
    plan = svod.prepare(a, b, done, inputs=[x])
    assert len(plan.outputs) == 3
    plan.execute()
    np.testing.assert_allclose(b.numpy(), a.numpy().sum(), rtol=1e-6)
    svod.realize()
    svod.realize(done, done)
    with pytest.raises(svod.ArgumentError, match="nothing is pending"):
        svod.prepare(done)
    both = svod.arange(8)[: N.bind(2)], svod.arange(8)[: N.bind(3)]
    with pytest.raises(svod.ArgumentError, match=r"n.*2.*3|n.*3.*2"):
        svod.realize(*both)
    with pytest.raises(svod.ArgumentError, match=r"n.*2.*3|n.*3.*2"):
        svod.prepare(*(t + 1 for t in both))


def test_c4_intermediates_are_freed_and_inputs_are_not() -> None:
    x = svod.rand(1 << 16).realize()
    size, before = 4 << 16, live()
    y = x
    for _ in range(4):
        y = ((y - y.max()).exp() / (y.sum() + 1)).contiguous()
    y.realize()
    assert before + size <= live() < before + 2 * size
    assert x.numpy().shape == (1 << 16,)
    del y
    assert live() < before + size


KERNELS = """
import numpy as np, svod
x = svod.Tensor(np.arange(4, dtype=np.float32))
first = (x + 1).prepare(inputs=[x])
for n in range(1, 6):
    assert svod.arange(n).cast("float32").exp().sum().item() > 0
first.execute(np.zeros(4, np.float32))
print(first.outputs[0].tolist(), svod.caches()["kernels"])
"""


@pytest.mark.parametrize(("most", "kept"), [("2", 2), ("0", 6), ("many", 6), ("", 6)])
def test_c6_the_cache_of_kernels_is_bounded(most: str, kept: int) -> None:
    env = os.environ | {"SVOD_OPT_CACHE_MAX": most, "SVOD_SKIP": "arguments"}
    done = subprocess.run([sys.executable, "-c", KERNELS], capture_output=True, text=True, check=True, env=env)
    assert done.stdout == f"[1.0, 1.0, 1.0, 1.0] {kept}\n"


def test_c6_kernels_are_kept_by_how_they_were_optimized() -> None:
    svod.clear_caches()
    x = svod.rand(7).realize()
    before = svod.caches()["kernels"]
    for count, options in enumerate(({}, {"strategy": "none"}, {"strict": True}, {"target": "x86-64-v2"}), start=1):
        for _ in range(2):
            (x * 2 - 1).realize(**options)
            assert svod.caches()["kernels"] == before + count, options


def test_c4_numbers_as_arguments_give_the_same_bits() -> None:
    x = np.linspace(-2, 2, 1003, dtype=np.float32)
    t = svod.Tensor(x)

    def step(rate: float) -> svod.Tensor:
        return (t - (t * rate).exp() / rate).maximum(rate) * 1e-3 + svod.where(t > rate, rate, t).sum()

    for rate in (0.1, 0.3, 0.7, 1.1, 1e-3, -5.5, 1e30):
        result = step(rate).numpy()
        # By themselves numbers are constants of the code.
        constants = step(rate).realize(schedule_cache=False)
        np.testing.assert_array_equal(result, constants.numpy())


def test_c4_numbers_that_code_looks_at_stay_constants() -> None:
    t = svod.Tensor(np.linspace(0.5, 3, 50, dtype=np.float32))
    for number in (0.0, 1.0, 2.0, 0.5, 3.0, -1.5, float("inf"), 0.25):
        for make in (lambda n: t**n, lambda n: t * svod.exp(svod.Tensor(n)), lambda n: t.reshape(5, 10) @ (t[:10] * n)):
            result = make(number).numpy()
            np.testing.assert_array_equal(result, make(number).realize(schedule_cache=False).numpy())
    for dtype in ("float64", "float16", "bfloat16"):
        for number in (0.1, 0.3, 0.7):
            result = (t.cast(dtype) * number).realize()
            assert result.dtype == getattr(svod, dtype)
            np.testing.assert_array_equal(
                result.float().numpy(), (t.cast(dtype) * number).realize(schedule_cache=False).float().numpy()
            )


def test_c4_a_changing_number_compiles_no_more() -> None:
    t = svod.Tensor(np.arange(77, dtype=np.float32))
    kernels = []
    for rate in (0.11, 0.13, 0.17, 0.19, 0.23):
        np.testing.assert_array_equal((t * rate).numpy(), np.arange(77, dtype=np.float32) * np.float32(rate))
        kernels.append(svod.caches()["kernels"])
    assert kernels[1:] == [kernels[0] + 1] * 4


OPTIONAL = (
    "arguments",
    "share",
    "join",
    "algebra",
    "blocks",
    "two-stage",
    "merge",
    "postpone-division",
    "correct-variance",
    "hoist",
    "parameterise",
)


@pytest.mark.parametrize("skip", [*OPTIONAL, "all"])
def test_optional_passes_can_be_left_out(skip: str) -> None:
    x = np.random.default_rng(0).standard_normal((24, 40), dtype=np.float32)
    t = svod.Tensor(x)

    def values() -> list[svod.Tensor]:
        weights = (t @ t.mT * 0.2).softmax(-1)
        twice = t.reshape(-1, 1).reshape(24, 40) + 0.0
        return [t.mean(1), svod.var(t, axis=1), weights @ t, t.reshape(-1).cumsum(0), twice * 1.0, t.argmax(1), t.sum()]

    expected = [value.numpy() for value in values()]
    with svod.PrepareConfig(skip=skip) as config:
        assert config.skip == (",".join(OPTIONAL) if skip == "all" else skip)
        tensors = values()
        svod.realize(*tensors)
    for tensor, value in zip(tensors, expected, strict=True):
        np.testing.assert_allclose(tensor.numpy(), value, rtol=1e-4, atol=1e-5)
    with pytest.raises(svod.Error, match="optional passes"):
        svod.PrepareConfig(skip="fuse")


def test_a_dump_shows_what_goes_into_a_pass_and_what_comes_out() -> None:
    program = "import svod; ((svod.arange(7) + 0).cast('float32') * 3 + 1).sum().item()"
    env = os.environ | {"SVOD_DUMP": "algebra,normalize"}
    told = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stderr
    for when in ("before", "after"):
        for name in ("algebra", "normalize"):
            assert f"svod: {when} {name}\n" in told
    env["SVOD_DUMP"] = "sorting"
    told = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stderr
    assert 'SVOD_DUMP: "sorting" is none of walk, key, ' in told


def test_a_bisection_runs_the_first_optional_rewrites() -> None:
    program = "import svod; x = svod.arange(4000) / 4000; print(svod.var(x).item(), x.softmax(0).max().item())"

    def told(first: str) -> tuple[list[float], str]:
        env = os.environ | {"SVOD_BISECT": first}
        run = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
        return [float(number) for number in run.stdout.split()], run.stderr

    x = np.arange(4000) / 4000
    right = [x.var(), np.exp(x).max() / np.exp(x).sum()]
    for first in ("0", "1", "1000"):
        numbers, errors = told(first)
        np.testing.assert_allclose(numbers, right, rtol=1e-5)
        assert ("SVOD_BISECT: rewrite 1 is" in errors) == (first == "1"), errors
    assert "no number of rewrites" in told("many")[1]
