"""Loops over tensors, and Python functions as parts of graphs. Contract rows B4, B6, C8, D3, D5."""

from __future__ import annotations

import dataclasses
import gc
import threading
import traceback
import weakref
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def close(actual: svod.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-4, atol=1e-5)


# Loops.


def test_b4_power_iteration() -> None:
    a = floats(33, 33)
    a = a @ a.T
    v = np.ones(33, np.float32)
    expected = v
    for _ in range(20):
        expected = a @ expected
        expected = expected / np.linalg.norm(expected)

    def step(_: svod.Size, v: svod.Tensor) -> svod.Tensor:
        w = svod.Tensor(a) @ v
        return w / (w * w).sum().sqrt()

    close(svod.iterate(20, step, svod.Tensor(v)), expected)


def test_b4_the_number_is_used_in_indices_slices_and_arithmetic() -> None:
    x = floats(6, 5)
    t = svod.Tensor(x)
    total = np.zeros(5, np.float32)
    for i in range(1, 6):
        total = total + x[i] * i + x[: i + 1].sum(0)
    close(svod.iterate(range(1, 6), lambda i, s: s + t[i] * i + t[: i + 1].sum(0), svod.zeros(5)), total)
    steps = svod.iterate(range(5, 0, -2), lambda i, s: s * 10 + i, svod.Tensor(0))
    assert steps.item() == 531


def test_b4_gradient_steps_over_batches() -> None:
    x, w = floats(4, 16, 7), floats(7)
    y = x @ floats(7)
    expected = w
    for xi, yi in zip(x, y, strict=True):
        expected = expected - 0.05 * (xi.T @ (xi @ expected - yi)) / 16
    tx, ty = svod.Tensor(x), svod.Tensor(y)

    def step(i: svod.Size, state: dict[str, svod.Tensor]) -> dict[str, svod.Tensor]:
        error = tx[i] @ state["w"] - ty[i]
        return {"w": state["w"] - 0.05 * (tx[i].T @ error) / 16, "loss": (error * error).mean()}

    state = svod.iterate(4, step, {"w": svod.Tensor(w), "loss": svod.Tensor(0.0)})
    close(state["w"], expected)
    assert state["loss"].item() > 0


def test_b4_values_may_trade_places() -> None:
    a, b = floats(4), floats(4)
    c, d = svod.iterate(3, lambda _, a, b: (b, a), svod.Tensor(a), svod.Tensor(b))
    close(c, b)
    close(d, a)
    a3, b3, c3 = svod.iterate(2, lambda _, a, b, c: (b, c, a + b), *map(svod.Tensor, (a, b, a)))
    x, y, z = a, b, a
    for _ in range(2):
        x, y, z = y, z, x + y
    close(a3, x), close(b3, y), close(c3, z)
    same, other = svod.iterate(3, lambda _, a, b: (a, a + b), svod.Tensor(a), svod.Tensor(b))
    close(same, a), close(other, b + 3 * a)
    twice, again = svod.iterate(2, lambda _, a, b: (a + b, a + b), svod.Tensor(a), svod.Tensor(b))
    close(twice, 2 * (a + b)), close(again, 2 * (a + b))
    fixed = svod.iterate(2, lambda _, a: svod.Tensor(b), svod.Tensor(a))
    close(fixed, b)


def test_b4_loops_nest_and_inner_ones_see_the_outer_number() -> None:
    x = floats(3, 4)
    t = svod.Tensor(x)

    def outer(i: svod.Size, total: svod.Tensor) -> svod.Tensor:
        row = svod.iterate(4, lambda j, s: s + t[i, j] * (i + 1) * j + total, svod.Tensor(0.0))
        return total + row

    expected = np.float32(0)
    for i in range(3):
        row = np.float32(0)
        for j in range(4):
            row = row + x[i, j] * (i + 1) * j + expected
        expected = expected + row
    close(svod.iterate(3, outer, svod.Tensor(0.0)), expected)


def test_b4_what_does_not_change_is_computed_once() -> None:
    x = svod.Tensor(floats(64, 64))
    heavy = (x @ x).softmax(-1)
    plan = svod.iterate(5, lambda _, v: heavy @ v, svod.Tensor(floats(64))).prepare()
    names = [kernel.name for kernel in plan.kernels]
    assert names.count(max(names, key=names.count)) == 5
    assert len(names) == len(svod.iterate(1, lambda _, v: heavy @ v, svod.Tensor(floats(64))).prepare().kernels) + 4


def test_b4_long_loops_are_one_step() -> None:
    w, v = floats(6, 6), floats(3, 6)

    def step(i: Any, v: Any) -> Any:
        return (v @ svod.Tensor(w) * 0.3 + i * 0.01).tanh()

    steps = []
    for trips in (40, 4000):
        plan = svod.iterate(range(3, 3 + trips), step, svod.Tensor(v)).prepare()
        expected = v.astype(np.float64)
        for i in range(3, 3 + trips):
            expected = np.tanh(expected @ w * 0.3 + i * 0.01)
        for _ in range(2):
            plan.execute()
            close(plan.outputs[0], expected)
        steps.append(len(plan.kernels))
    assert steps[0] == steps[1] < 5
    # Many iterations, those of a loop in a loop, and values that trade places.
    assert svod.iterate(10**6, lambda i, n: n + 1, svod.Tensor(0)).item() == 10**6
    nested = svod.iterate(5, lambda i, s: svod.iterate(50, lambda j, s: s + i * j, s), svod.Tensor(np.zeros(2)))
    assert nested.tolist() == [sum(i * j for i in range(5) for j in range(50))] * 2
    a, b, c = svod.iterate(101, lambda i, a, b, c: (b, a, c + a), *map(svod.Tensor, (1, 2, 0)))
    assert (a.item(), b.item(), c.item()) == (2, 1, 51 + 50 * 2)


def test_b4_long_loops_read_constants_and_arguments() -> None:
    w, v = svod.Tensor(floats(16, 16) / 4), floats(4, 16)
    x = svod.empty(4, 16)
    of_constant = svod.iterate(50, lambda i, h: (h @ w).tanh() + x, x).prepare(inputs=[x])
    of_argument = svod.iterate(50, lambda i, h: (h @ w).tanh() + x, x).prepare(inputs=[x, w])
    for scale in (1, 2):
        a = v * scale
        expected = a
        for _ in range(50):
            expected = np.tanh(expected @ w.numpy()) + a
        of_constant.execute(a)
        close(of_constant.outputs[0], expected)
        of_argument.execute(a, w.numpy())
        close(of_argument.outputs[0], expected)
        changed = a
        for _ in range(50):
            changed = np.tanh(changed @ (w.numpy() * -1)) + a
        of_argument.execute(a, w.numpy() * -1)
        close(of_argument.outputs[0], changed)
    # Constants of a branch and of a scan, one of them read in another shape.
    row = svod.Tensor(floats(16))
    read = svod.cond(svod.Tensor(True), lambda v: v * row + row.reshape(4, 4).sum(0)[0], lambda v: v, svod.Tensor(v))
    close(read, v * row.numpy() + row.numpy().reshape(4, 4).sum(0)[0])


def test_b4_an_elementwise_body_writes_in_place() -> None:
    x = svod.Tensor(floats(50))
    plan = svod.iterate(6, lambda i, v: v * 0.5 + i, x + 1).prepare(inputs=[x])
    profile = plan.execute_profiled()
    assert [len(profile.kernels), len(profile.others)] == [7, 0]
    v = x.numpy() + 1
    for i in range(6):
        v = v * 0.5 + i
    close(plan.outputs[0], v)


def test_b4_in_plans_jit_and_profiled_runs() -> None:
    x = svod.Tensor(np.zeros((3, 4), np.float32))
    y = svod.iterate(3, lambda i, v: v * 2 + x.sum() + i, x)
    plan = y.prepare(inputs=[x])
    for _ in range(2):
        a = floats(3, 4)
        plan.execute(a)
        expected = a
        for i in range(3):
            expected = expected * 2 + a.sum() + i
        close(plan.outputs[0], expected)
        plan.execute_profiled(a)
        close(plan.outputs[0], expected)

    @svod.jit
    def power(x: Any, n: int) -> Any:
        return svod.iterate(n, lambda _, y: y * x, x)

    a = floats(5)
    close(power(a, 3), a**4)
    close(power(a, 1), a**2)
    assert power.traces == 2


def test_b4_with_symbolic_sizes() -> None:
    n = svod.Variable("n", 1, 32)
    x = svod.empty(n, 3)
    plan = svod.iterate(4, lambda i, v: v + x * i, x * 0).prepare(inputs=[x])
    for size in (1, 5, 32):
        a = floats(size, 3)
        plan.execute(a)
        close(plan.outputs[0], a * 6)


def test_b4_loop_values_win_over_user_values_of_the_same_name() -> None:
    n = svod.Variable("loop0", 1, 8)
    x = svod.arange(8)[: n.bind(5)].sum()
    y = svod.iterate(range(2, 4), lambda i, s: s + i, x)
    assert y.item() == 10 + 2 + 3


def test_b4_numbers_are_carried_where_they_are_values() -> None:
    assert svod.iterate(3, lambda i, d: d + 1, 0).item() == 3
    x, k = svod.iterate(4, lambda i, x, k: (x * k, k + 1.0), svod.Tensor([1.0]), 1.0)
    assert (x.item(), k.item()) == (24.0, 5.0)
    state = svod.iterate(2, lambda i, s: {"x": s["x"] * s["k"], "k": s["k"]}, {"x": svod.Tensor(1.0), "k": 3})
    assert (state["x"].item(), state["k"]) == (9.0, 3)
    with pytest.raises(svod.ArgumentError, match="no tensors among the values"):
        svod.iterate(3, lambda i, d: d, {"k": 3})


def test_b4_jitted_functions_are_part_of_a_body() -> None:
    double = svod.jit(lambda a, i: a * 2 + i)
    y = svod.iterate(3, lambda i, x: double(x, i), svod.Tensor([1.0, 2.0]))
    assert y.tolist() == [12.0, 20.0] and double.traces == 0


def test_b4_iterations_meet_floats() -> None:
    x = svod.Tensor([1.0, 2.0])
    y = svod.iterate(range(1, 4), lambda i, v: v + i * 0.5 + 1.0 / i + (0.5**i - i) + (1.5 - i) * (i / 2), x)
    added = sum(i * 0.5 + 1.0 / i + (0.5**i - i) + (1.5 - i) * (i / 2) for i in range(1, 4))
    np.testing.assert_allclose(y.numpy(), x.numpy() + added, rtol=1e-6)


def test_b4_what_iterate_does_not_take() -> None:
    a, b = svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0])
    with pytest.raises(svod.ArgumentError, match="gives one Tensor for 2 values"):
        svod.iterate(3, lambda i, x, y: x, a, b)
    with pytest.raises(svod.ArgumentError, match="times: an integer or a range or a Size"):
        svod.iterate(2.5, lambda i, x: x, a)  # type: ignore[arg-type]
    z = svod.Tensor([1j])
    with pytest.raises(svod.UnsupportedError, match="of 10000000 iterations, with more than 1048576 steps"):
        svod.iterate(10**7, lambda i, x: x + 1, z).tolist()
    with pytest.raises(svod.ArgumentError, match="custom: function: a function is expected, not 5"):
        svod.custom(5, a)  # type: ignore[arg-type]


def test_b4_no_users_variable_is_a_loops() -> None:
    with pytest.raises(svod.ArgumentError, match=r"'loop\.0' cannot name a variable"):
        svod.Variable("loop.0", 0, 3)
    i, j = svod.Variable("loop0", 0, 2).bind(2), svod.Variable("loop_0", 0, 2).bind(1)
    x = svod.Tensor([1.0, 2.0, 3.0])

    def inner(at: svod.Size, v: svod.Tensor) -> svod.Tensor:
        return svod.iterate(3, lambda below, w: w + (below + 10 * at + 100 * i + 1000 * j), v)

    y = svod.iterate(3, inner, x)
    added = sum(below + 10 * at + 200 + 1000 for at in range(3) for below in range(3))
    plan = y.prepare(inputs=[x])
    plan.execute()
    assert plan.outputs[0].tolist() == [1 + added, 2 + added, 3 + added]
    plan.execute(loop0=0)
    assert plan.outputs[0].tolist() == [v + added - 9 * 200 for v in (1, 2, 3)]


def test_d4_variables_may_be_named_like_counters_of_kernels() -> None:
    # Whichever names lowering gives to its loops.
    a, b = np.ones((40, 50), np.float32), np.ones((50, 60), np.float32)
    rows, keys = np.arange(6000, dtype=np.float32)[None], np.arange(300, dtype=np.int32)[::-1].copy()
    stems = ("line", "row", "vector", "lane", "lanes", "out_a0_0", "pack_a0_0", "out_a0_1", "t0_a0_0")
    for name in (f"{stem}_{at}" for stem in stems for at in range(4)):
        n = svod.Variable(name, 1, 7).bind(3)
        results = [
            svod.Tensor(a) @ svod.Tensor(b) + n,
            (svod.Tensor(rows) * n).sum(),
            svod.sort(svod.Tensor(keys) * n),
            (svod.Tensor(rows[0]) + n).topk(5)[0],
        ]
        svod.realize(*results)
        assert results[0].numpy().max() == 53.0
        assert results[1].item() == 3 * rows.sum()
        assert results[2].tolist() == [3 * k for k in range(300)]
        assert results[3].tolist() == [6002.0, 6001.0, 6000.0, 5999.0, 5998.0]


def test_b4_no_iteration_gives_what_it_began_with() -> None:
    x = svod.Tensor([1.0, 2.0])
    assert svod.iterate(0, lambda i, v: v * 2, x).tolist() == [1.0, 2.0]
    assert svod.iterate(range(3, 1), lambda i, v: v * 2, x).tolist() == [1.0, 2.0]
    assert svod.iterate(2, lambda i, v: v, x).tolist() == [1.0, 2.0]
    empty = svod.iterate(2, lambda i, v: v + 1, svod.Tensor(np.zeros((0, 3), np.float32)))
    assert empty.numpy().shape == (0, 3)


@dataclasses.dataclass
class State:
    x: Any
    seen: tuple[Any, Any]


def test_b4_structures_are_carried() -> None:
    begin = State(svod.Tensor([1.0]), (svod.Tensor(0), svod.Tensor(True)))
    end = svod.iterate(3, lambda i, s: State(s.x * 2, (s.seen[0] + i, ~s.seen[1])), begin)
    assert (end.x.tolist(), end.seen[0].item(), end.seen[1].item()) == ([8.0], 3, False)


def test_b4_what_a_body_may_not_do() -> None:
    x = svod.Tensor([1.0, 2.0])
    with pytest.raises(svod.ShapeError, match=r"carried value 0 is float32\[2\] and becomes float32\[\]"):
        svod.iterate(2, lambda i, v: v.sum(), x)
    with pytest.raises(svod.ShapeError, match=r"carried value 0 is float32\[2\] and becomes int64\[2\]"):
        svod.iterate(2, lambda i, v: v.cast(svod.int64), x)
    with pytest.raises(
        svod.ArgumentError, match=r"the body gives tuple\(tuple\(tensor, tensor\)\) for tuple\(tensor\)"
    ):
        svod.iterate(2, lambda i, v: (v, v), x)
    with pytest.raises(svod.TraceError, match="no data to look at"):
        svod.iterate(2, lambda i, v: v * float(v.sum()), x)
    with pytest.raises(ZeroDivisionError):
        svod.iterate(2, lambda i, v: v * (1 // 0), x)
    with pytest.raises(svod.DeviceError, match="carried value 0 is on CPU and becomes one on CPU:1"):
        svod.iterate(2, lambda i, v: v.to("CPU:1"), x)
    # Nothing is left of what failed.
    assert svod.iterate(2, lambda i, v: v + i, x).tolist() == [2.0, 3.0]


def test_b6_loops_are_cached_by_structure() -> None:
    svod.clear_caches()

    def run(k: int) -> float:
        return svod.iterate(k, lambda i, v: v + i, svod.Tensor(0.5)).item()

    first = run(3)
    before = svod.caches()
    assert (run(3), svod.caches()) == (first, before)
    assert run(4) == first + 3


def test_b4_a_name_that_a_loop_fixes() -> None:
    x = svod.Tensor([1.0, 2.0])
    plan = svod.iterate(3, lambda i, v: v + i, x).prepare(inputs=[x])
    with pytest.raises(svod.ArgumentError, match=r"variable 'loop\.0' is fixed by the plan"):
        plan.execute(**{"loop.0": 1})
    # Free in what is outside of the loop.
    n = svod.Variable("loop0", 1, 8)
    total = svod.iterate(range(2, 4), lambda i, s: s + i, svod.arange(8)[: n.bind(5)].sum())
    plan = total.prepare()
    for size in (5, 1, 8):
        plan.execute(loop0=size)
        assert plan.outputs[0].item() == sum(range(size)) + 2 + 3


# Python functions.


def test_c8_a_function_of_numpy_arrays() -> None:
    x, y = floats(4, 5), floats(4, 5)
    seen = []

    def f(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        seen.append((a.shape, b.dtype))
        a += 1  # Its own to change.
        return np.cumsum(a * b, 1)

    t = svod.Tensor(x)
    result = svod.custom(f, t * 2, y) + 1
    assert not seen
    close(result, np.cumsum((x * 2 + 1) * y, 1) + 1)
    assert seen == [((4, 5), np.dtype(np.float32))]
    close(t, x)


def test_c8_shapes_types_and_several_results() -> None:
    x = floats(6, 3)
    q, r = svod.custom(np.linalg.qr, svod.Tensor(x), shape=[(6, 3), (3, 3)])
    close(q @ r, x)
    argmax = svod.custom(lambda a: a.argmax(1), svod.Tensor(x), shape=lambda s: s[:1], dtype=svod.int64)
    assert argmax.tolist() == x.argmax(1).tolist()
    assert svod.custom(lambda: np.float32(3), shape=()).item() == 3
    assert svod.custom(lambda a: a, svod.Tensor(np.zeros((0, 2), np.float32))).shape == (0, 2)
    with pytest.raises(svod.ShapeError, match=r"f: shape \[6, 3\] was declared, \[3, 6\] given"):
        svod.custom(lambda a: a.T, svod.Tensor(x), name="f").numpy()
    with pytest.raises(svod.DTypeError, match="f: float32 was declared, int64 given"):
        svod.custom(lambda a: a.astype(np.int64), svod.Tensor(x), name="f").numpy()
    with pytest.raises(svod.ShapeError, match="2 results were declared, 3 given"):
        svod.custom(lambda a: (a, a, a), svod.Tensor(x), shape=[(6, 3), (6, 3)])[0].realize()


class Refused(Exception):
    pass


def raising(error: Exception) -> Any:
    def f(_: np.ndarray) -> np.ndarray:
        raise error

    return f


@pytest.mark.parametrize("way", ["realize", "execute", "profiled", "run", "jit", "loop"])
def test_c8_exceptions_reach_the_caller_as_they_are(way: str) -> None:
    error = Refused("no")
    x = svod.Tensor([1.0, 2.0])
    y = svod.custom(raising(error), x + 1) * 2
    ones = np.ones(2, np.float32)
    ways = {
        "realize": lambda: y.numpy(),
        "execute": lambda: y.prepare(inputs=[x]).execute(ones),
        "profiled": lambda: y.prepare(inputs=[x]).execute_profiled(ones),
        "run": lambda: y.prepare(inputs=[x]).run(ones),
        "jit": lambda: svod.jit(lambda x: svod.custom(raising(error), x))(x),
        "loop": lambda: svod.iterate(3, lambda i, v: svod.custom(raising(error), v), x).numpy(),
    }
    with pytest.raises(Refused) as caught:
        ways[way]()
    assert caught.value is error
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "f"


def test_c8_after_an_exception_outputs_are_invalid_until_a_run_succeeds() -> None:
    x = svod.Tensor([1.0])

    def f(a: np.ndarray) -> np.ndarray:
        if a[0] < 0:
            raise Refused
        return a * 2

    plan = svod.custom(f, x).prepare(inputs=[x])
    plan.execute(np.float32([3]))
    assert plan.outputs[0].tolist() == [6]
    with pytest.raises(Refused):
        plan.execute(np.float32([-1]))
    with pytest.raises(svod.StaleError):
        plan.outputs[0].numpy()
    plan.execute(np.float32([4]))
    assert plan.outputs[0].tolist() == [8]


def test_c8_functions_see_new_values_of_variables_and_those_of_loops() -> None:
    n = svod.Variable("n", 1, 16)
    x = svod.empty(n)
    seen: list[tuple[int, ...]] = []

    def f(a: np.ndarray, size: int) -> np.ndarray:
        seen.append((*a.shape, size))
        return a * size

    plan = svod.custom(f, x, n * 2).prepare(inputs=[x])
    for size in (3, 7):
        plan.execute(np.ones(size, np.float32))
        assert plan.outputs[0].tolist() == [2 * size] * size
    assert seen == [(3, 6), (7, 14)]

    order: list[int] = []

    def note(a: np.ndarray, i: int) -> np.ndarray:
        order.append(i)
        return a + i

    total = svod.iterate(range(2, 6), lambda i, v: svod.custom(note, v, i) * 2, svod.Tensor([0.0]))
    assert total.tolist() == [(((2 * 2 + 3) * 2 + 4) * 2 + 5) * 2]
    assert order == [2, 3, 4, 5]


def test_c8_functions_run_once_a_run_and_are_listed_apart() -> None:
    calls = []
    x = svod.Tensor(floats(8))
    y = svod.custom(lambda a: calls.append(1) or a, x * 2, name="log")
    plan = (y + 1).prepare(inputs=[x])
    profile = plan.execute_profiled()
    assert (len(calls), [t.name for t in profile.others]) == (1, ["log"])
    assert [t.name for t in profile.kernels] == [k.name for k in plan.kernels]
    assert "log" in str(plan)


def test_c8_the_schedule_cache_does_not_mix_functions() -> None:
    x = svod.Tensor([2.0])
    results = [svod.custom(lambda a, k=k: a * k, x).item() for k in range(4)]
    assert results == [0, 2, 4, 6]


def test_b6_functions_are_cached_by_position() -> None:
    x = svod.Tensor([2.0])
    svod.clear_caches()
    refs = []
    for k in range(4):

        def f(a: np.ndarray, k: int = k) -> np.ndarray:
            return a * k

        refs.append(weakref.ref(f))
        assert svod.custom(f, x).item() == 2 * k
        assert svod.iterate(3, lambda i, v, f=f: svod.custom(f, v) + svod.custom(np.negative, v), x).item() == (
            2 * (k - 1) ** 3
        )
        assert svod.caches()["schedules"] == 2
    one, other = (
        svod.iterate(2, lambda i, v: svod.custom(np.square, v), x),
        svod.iterate(2, lambda i, v: svod.custom(np.sqrt, v), x),
    )
    svod.realize(one, other)
    assert (one.item(), other.item()) == (16, np.float32(2) ** np.float32(0.25))
    del f, one, other
    gc.collect()
    assert not any(ref() for ref in refs), "the cache keeps no function alive"


def test_b6_what_functions_make_is_part_of_the_key() -> None:
    x = svod.Tensor([3.0, 1.0])
    svod.clear_caches()
    first, rest = svod.custom(lambda a: (a[:1], a), x, shape=[(1,), (2,)])
    assert first.tolist() == [3]
    first, rest = svod.custom(lambda a: (a[:1], a[:1]), x, shape=[(1,), (1,)])
    assert (first.tolist(), rest.tolist()) == ([3], [3])
    first, rest = svod.custom(lambda a: (a[:1], np.int8([7])), x, shape=[(1,), (1,)], dtype=[svod.float32, svod.int8])
    assert (first.tolist(), rest.tolist()) == ([3], [7])


def test_c8_functions_may_use_svod() -> None:
    x = svod.Tensor(floats(16, 16))
    inner = (svod.Tensor(floats(16, 16)) @ x).prepare(inputs=[x])

    def f(a: np.ndarray) -> svod.Tensor:
        inner.execute(a)
        nested = svod.custom(lambda b: b * 2, svod.Tensor(a))
        return inner.outputs[0] * 0 + nested.softmax(-1)

    plan = svod.custom(f, x + 1).prepare(inputs=[x])
    for _ in range(3):
        plan.execute()
    e = np.exp((x.numpy() + 1) * 2)
    close(plan.outputs[0], e / e.sum(-1, keepdims=True))


def test_c8_a_function_that_runs_its_own_plan_is_told() -> None:
    x = svod.Tensor([1.0])
    found: list[svod.Error] = []

    def f(a: np.ndarray) -> np.ndarray:
        for use in (
            plan.execute,
            plan.run,
            lambda: plan.outputs[0].numpy(),
            lambda: plan.inputs[0].numpy(),
            plan.instance,
            plan.release_all,
            lambda: (plan.outputs[0] + 1).numpy(),
            lambda: plan.variables,
        ):
            try:
                use()
            except svod.Error as error:
                found.append(error)
        return a

    plan = svod.custom(f, x).prepare(inputs=[x])
    plan.execute()
    assert len(found) == 8 and {type(error) for error in found} <= {svod.ExecutionError, svod.StaleError}
    assert found[0].kind == "reentrant", found
    assert plan.outputs[0].tolist() == [1.0]


def test_c8_a_function_that_asks_for_its_own_result_is_told() -> None:
    def f(a: np.ndarray) -> np.ndarray:
        y.numpy()
        return a

    y = svod.custom(f, svod.Tensor([1.0]))
    with pytest.raises(svod.ExecutionError):
        y.numpy()


def test_c8_threads_call_functions_at_once() -> None:
    x = svod.Tensor(np.zeros(64, np.float32))
    plan = (svod.custom(lambda a: a + 1, x) * 2).prepare(inputs=[x])
    wrong = []

    def work(k: int) -> None:
        own = plan.instance()
        for _ in range(50):
            (result,) = own.run(np.full(64, k, np.float32))
            plan.variables  # noqa: B018
            plan.execute(np.full(64, k, np.float32))
            if result.tolist() != [2 * k + 2] * 64:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)


def test_c8_copies_from_files_in_loops(tmp_path: Any) -> None:
    a = floats(64)
    path = tmp_path / "w.safetensors"
    header = b'{"w":{"dtype":"F32","shape":[64],"data_offsets":[0,256]}}'
    header += b" " * (-len(header) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + a.tobytes())
    w = svod.load_safetensors(path)["w"]
    close(svod.iterate(3, lambda i, v: v + w, w), a * 4)
    close(w, a)


@pytest.mark.parametrize("times", [1, 2, 5, 6])
def test_b4_results_of_iterations_are_carried_on_without_copies(times: int) -> None:
    """Issue 6: two buffers in turn."""
    a, b = floats(40), floats(40) + 1

    def body(i: Any, u: Any, v: Any) -> Any:
        return u.cumsum(0) * 0.1 + v, v.flip(0) + u

    x, y = a.copy(), b.copy()
    for _ in range(times):
        x, y = np.cumsum(x, dtype=np.float32) * np.float32(0.1) + y, y[::-1] + x
    given = svod.Tensor(a)
    u, v = svod.iterate(times, body, given, svod.Tensor(b))
    for planner in ("arena", "remap", "disabled"):
        plan = svod.prepare(u + 0, v * 1, u, v, inputs=[given], planner=planner)
        for _ in range(2):
            profile = plan.execute_profiled()
            for out, expected in zip(plan.outputs, (x, y, x, y), strict=True):
                np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4)
        assert len(profile.others) <= 2, "copies of what the loop begins with, which is not its own"
        u, v = svod.iterate(times, body, given, svod.Tensor(b))
    swapped = svod.iterate(5, lambda i, p, q: (q, p), svod.Tensor(a), svod.Tensor(b))
    np.testing.assert_array_equal(swapped[0].numpy(), b)
    np.testing.assert_array_equal(swapped[1].numpy(), a)
    nested = svod.iterate(3, lambda i, p: svod.iterate(2, lambda j, q: q.cumsum(0) * 0.1 + j, p), svod.Tensor(a))
    expected = a
    for _ in range(3):
        for j in range(2):
            expected = np.cumsum(expected, dtype=np.float32) * np.float32(0.1) + j
    np.testing.assert_allclose(nested.numpy(), expected, rtol=1e-4)
