"""Symbolic sizes: contract rows A10, B6, C1, D4 and E6 from Python."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

N = svod.Variable("n", 1, 64)


def rows(count: int, width: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, width)).astype(np.float32)


def softmax(a: np.ndarray) -> np.ndarray:
    e = np.exp(a - a.max(axis=-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_a10_variables_and_sizes() -> None:
    m = svod.Variable("m", 2, 5)
    assert (N.name, N.min, N.max) == ("n", 1, 64)
    assert repr(N * 4 + 1) == "n*4 + 1" and repr(N.bind(3)) == "n where n=3"
    assert N - N == 0 and (N * 6) // 3 == N * 2 and (N * 4) % 2 == 0 and 3 - N + N == 3
    assert N > 0 and N + 1 != 0 and not N * 2 > 128
    assert int(N.bind(7) * 2) == 14
    assert (N + m).min == 3 and (N + m).max == 69 and [v.name for v in (N + m).variables] == ["m", "n"]
    for undecided in (lambda: N > 5, lambda: m >= N, lambda: N * 2 < 10):
        with pytest.raises(svod.ShapeError, match="is chosen"):
            undecided()
    with pytest.raises(svod.ArgumentError, match=r"variable n: 65 is outside \[1, 64\]"):
        N.bind(65)
    with pytest.raises(svod.ArgumentError, match="minimum 3 is above maximum 2"):
        svod.Variable("k", 3, 2)
    with pytest.raises(svod.ArgumentError, match="cannot name a variable"):
        svod.Variable("two words", 1, 2)
    for name in ("core_id", "a0", "p1", "e2", "if"):
        with pytest.raises(svod.ArgumentError, match=f"'{name}' has a name that svod gives itself"):
            svod.Variable(name, 0, 3)
    with pytest.raises(svod.ArgumentError, match=r"bind mismatch: n in \[1, 64\] and n in \[1, 9\]"):
        (svod.arange(9)[: N.bind(2)].sum() + svod.arange(9)[: svod.Variable("n", 1, 9).bind(2)].sum()).item()
    with pytest.raises(svod.ArgumentError, match="not bound"):
        int(N)
    with pytest.raises(svod.ArgumentError, match="bind mismatch"):
        N.bind(3) + N.bind(4)
    with pytest.raises(svod.ArgumentError, match="divides by zero"):
        N // 0
    assert (N.bind(4) + svod.Tensor(1)).item() == 5


def test_a10_a_size_with_a_value_is_an_integer() -> None:
    three = N.bind(3)
    assert three == 3 and three != 4 and three > 2 and three <= 3 and 3 in [N, three] and three + 1 == 4
    assert list(range(three)) == [0, 1, 2] and [5, 6, 7, 8][three] == 8 and float(three) == 3.0
    assert np.ones(three).shape == (3,) and {three: "x"}[3] == "x"
    for unbound in (int, float, range, np.ones):
        with pytest.raises(svod.ArgumentError, match="variable n is not bound"):
            unbound(N)
    # Sizes are equal where they are for all values, and differ else.
    m = svod.Variable("m", 2, 5)
    assert N == N + 0 and N != 5 and m != N and N * 2 != 10 and N not in [1, 2, m] and three != N
    x = svod.empty(N, 8)
    assert x.shape == (N, 8) and x.shape != (3, 8) and hash(N * 1) == hash(N)


def test_a10_what_is_computed_has_numbers_as_extents() -> None:
    y = svod.arange(64)[: N.bind(17)] * 2
    assert y.shape == (N,)
    y.realize()
    assert y.shape == (17,) and y.numel() == 17 and len(y) == 17 and [int(v) for v in y][:3] == [0, 2, 4]
    assert y[16].item() == 32 and (y + svod.ones(17)).shape == (17,)
    with pytest.raises(svod.IndexError, match="index 17"):
        y[17]
    # It still meets what is of the same symbolic size, and is of that size then.
    x = svod.Tensor(rows(64))[: N.bind(17)]
    for meets in (
        lambda a, b: a + b,
        lambda a, b: svod.cat([a, b], 1),
        lambda a, b: svod.stack([a, b]),
        lambda a, b: b @ a.T,
        lambda a, b: a.T @ b,
        lambda a, b: svod.where(a > 0, a, b),
    ):
        expected = meets(x, x * 3).numpy()
        np.testing.assert_allclose(meets(x, (x * 3).realize()).numpy(), expected, rtol=1e-5)
    plan = (x + (x * 5).realize()).prepare()
    plan.execute()
    with pytest.raises(svod.ArgumentError, match="n"):
        plan.execute(n=18)


def test_a10_buffers_are_sized_for_the_maxima() -> None:
    x = svod.empty(N, 8)
    plan = ((x * 2).cumsum(0) + 1).prepare(inputs=[x], planner="disabled")
    assert {count for _, count, _ in plan.buffers} == {64 * 8}
    plan.execute(rows(3))
    before = plan.buffers
    plan.execute(rows(64))
    assert plan.buffers == before


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda x, n: x[:n], lambda a, n: a[:n]),
        (lambda x, n: x[1 : n + 1], lambda a, n: a[1 : n + 1]),
        (lambda x, n: x[n - 1], lambda a, n: a[n - 1]),
        (lambda x, n: x[:n].reshape(n * 2, 4), lambda a, n: a[:n].reshape(n * 2, 4)),
        (lambda x, n: x[:n].reshape(-1).sum(), lambda a, n: a[:n].sum()),
        (lambda x, n: x[:n].T.flip(1), lambda a, n: a[:n].T[:, ::-1]),
        (lambda x, n: x[:n].pad([(1, 2), (0, 0)]), lambda a, n: np.pad(a[:n], [(1, 2), (0, 0)])),
        (lambda x, n: x.narrow(0, n - 1, 2), lambda a, n: a[n - 1 : n + 1]),
        (lambda x, n: x.shrink([(0, n), (2, 5)]), lambda a, n: a[:n, 2:5]),
        (lambda x, n: x[0].expand(n, 8) + 1, lambda a, n: np.broadcast_to(a[0], (n, 8)) + 1),
        (lambda x, n: x[:n].cumsum(0), lambda a, n: a[:n].cumsum(0)),
        (lambda x, n: x[:n].mean(0), lambda a, n: a[:n].mean(0)),
        (lambda x, n: x[:n] * n, lambda a, n: a[:n] * n),
        (lambda x, n: x[:n] @ x[:n].T, lambda a, n: a[:n] @ a[:n].T),
        (lambda x, n: x[:n].softmax(0), lambda a, n: softmax(a[:n].T).T),
        (lambda x, n: svod.arange(n), lambda a, n: np.arange(n)),
        (lambda x, n: svod.arange(2, n * 3, 2), lambda a, n: np.arange(2, n * 3, 2)),
        (lambda x, n: svod.zeros(n, 2) + svod.ones(n, 1), lambda a, n: np.ones((n, 2))),
        (lambda x, n: svod.full((n,), 7), lambda a, n: np.full(n, 7)),
        (lambda x, n: svod.cat([x[:n], x]), lambda a, n: np.concatenate([a[:n], a])),
        (lambda x, n: x[:n].argmax(0), lambda a, n: a[:n].argmax(0)),
        (lambda x, n: svod.where(svod.arange(n) < 3, 1.0, 2.0), lambda a, n: np.where(np.arange(n) < 3, 1.0, 2.0)),
        (lambda x, n: x[:n].tril(), lambda a, n: np.tril(a[:n])),
        (lambda x, n: x[x[:n].argmax(1)], lambda a, n: a[a[:n].argmax(1)]),
    ],
)
def test_d4_one_plan_serves_all_sizes(
    make: Callable[[svod.Tensor, Any], svod.Tensor], expected: Callable[[np.ndarray, int], np.ndarray]
) -> None:
    a = rows(70)
    t = make(svod.Tensor(a), N.bind(5))
    plan = t.prepare()
    # After `prepare`: equal graphs are one, and a value that is known need not be computed.
    lazily = make(svod.Tensor(a), N.bind(5)).numpy()
    kernels = svod.caches()["kernels"]
    for n in (5, 1, 2, 17, 63, 64):
        plan.execute(n=n)
        result = plan.outputs[0].numpy()
        want = expected(a, n)
        assert result.shape == want.shape == plan.outputs[0].shape == t.shape
        np.testing.assert_allclose(result, want, rtol=1e-5, atol=1e-4)
        if n == 5:
            np.testing.assert_array_equal(lazily, result)
    assert svod.caches()["kernels"] == kernels


def test_d4_inputs_bind_sizes() -> None:
    m = svod.Variable("m", 1, 16)
    x, y = svod.empty(N, 8), svod.empty(8, m * 2)
    assert x.shape[1] == 8 and str(x.shape) == "(n, 8)" and str((x @ y).shape) == "(n, m*2)"
    plan = (x @ y).prepare(inputs=[x, y])
    assert plan.variables == {"m": None, "n": None}
    for n, k in ((1, 1), (5, 3), (64, 16), (2, 9)):
        a, b = rows(n), rows(8, 2 * k, 1)
        plan.execute(a, b)
        np.testing.assert_allclose(plan.outputs[0].numpy(), a @ b, rtol=1e-4, atol=1e-4)
        assert plan.variables == {"m": k, "n": n}
    before = plan.outputs[0].numpy()
    for arrays, sizes, message in [
        ((rows(65), rows(8, 2)), {}, r"variable n: 65 is outside \[1, 64\]"),
        ((rows(3), rows(8, 3)), {}, r"input 1 is float32\[8, m\*2\], but float32\[8, 3\] was given"),
        ((rows(3, 7), rows(8, 2)), {}, r"input 0 is float32\[n, 8\], but float32\[3, 7\] was given"),
        ((rows(3), rows(8, 2)), {"n": 4}, "extent n is 4, not 3"),
        ((rows(3).astype(np.float64), rows(8, 2)), {}, "float64"),
    ]:
        with pytest.raises((svod.ArgumentError, svod.ShapeError, svod.DTypeError), match=message):
            plan.execute(*arrays, **sizes)
    np.testing.assert_array_equal(plan.outputs[0].numpy(), before)
    assert plan.variables == {"m": 9, "n": 2}, "nothing has changed"
    plan.inputs[0].copy_(rows(3, seed=4))
    assert plan.inputs[0].numpy().shape == (3, 8) and str(plan.inputs[0].shape) == "(n, 8)"
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), rows(3, seed=4) @ b, rtol=1e-4, atol=1e-4)
    with pytest.raises(svod.ArgumentError, match="input 0 has the content of a run at n = 3; give it anew for n = 4"):
        plan.execute(n=4)
    plan.execute(svod.Tensor(rows(4)), svod.Tensor(rows(8, 2)))
    assert plan.outputs[0].shape == (4, 2)


def test_d4_variables_keep_their_value_and_are_checked() -> None:
    m = svod.Variable("m", 1, 4)
    grid = svod.zeros(N.bind(2), m) + svod.arange(m)
    plan = grid.prepare()
    with pytest.raises(svod.ArgumentError, match="variable 'm' has no value"):
        plan.execute()
    plan.execute(m=3)
    assert plan.outputs[0].shape == (2, 3)
    plan.execute(n=7)
    assert plan.outputs[0].shape == (7, 3)
    for sizes, message in [
        ({"n": 0}, r"variable n: 0 is outside \[1, 64\]"),
        ({"n": 1, "m": 5}, r"variable m: 5 is outside \[1, 4\]"),
        ({"n": 2**63}, "variable n: 9223372036854775808 does not fit 64 bits"),
        ({"k": 1}, "unknown variable 'k'"),
        ({"core_id": 0}, "'core_id' is fixed by the plan"),
    ]:
        with pytest.raises(svod.ArgumentError, match=message):
            plan.execute(**sizes)
    plan.execute()
    assert plan.outputs[0].shape == (7, 3)
    profile = plan.execute_profiled(n=1, m=1)
    assert len(profile) == len(plan.kernels) and plan.outputs[0].shape == (1, 1)
    other = plan.instance()
    other.execute(n=9)
    assert (other.outputs[0].shape, plan.outputs[0].shape) == ((9, 1), (1, 1))


def test_d4_memory_fixes_a_size() -> None:
    x = svod.Tensor(rows(64))[: N.bind(3)].realize()
    assert x.shape == (3, 8) and x.numpy().shape == (3, 8)
    plan = ((x + svod.ones(N, 8)) * 2).prepare()
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), (rows(64)[:3] + 1) * 2)
    with pytest.raises(svod.ArgumentError, match="'n' is fixed by the plan"):
        plan.execute(n=4)
    np.testing.assert_array_equal((x + svod.ones(N)[:, None]).numpy(), rows(64)[:3] + 1)


def test_b6_values_are_no_part_of_the_schedule() -> None:
    svod.clear_caches()
    a = svod.Tensor(rows(64))
    for n in (3, 9, 64):
        np.testing.assert_allclose((a[: N.bind(n)].sum(0)).numpy(), rows(64)[:n].sum(0), rtol=1e-4, atol=1e-4)
    assert svod.caches()["schedules"] == 1
    with pytest.raises(svod.ArgumentError, match="bind mismatch: n=3 and n=4 in one graph"):
        (a[: N.bind(3)].sum() + a[: N.bind(4)].sum()).numpy()
    with pytest.raises(svod.ArgumentError, match="bind mismatch"):
        svod.prepare(svod.ones(N.bind(3)), svod.ones(N.bind(4)))
    with pytest.raises(svod.ArgumentError, match="variable 'n' has no value"):
        svod.ones(N).numpy()


def test_b6_what_is_part_of_the_key() -> None:
    x, y = svod.Tensor(rows(8)), svod.Tensor(rows(8, seed=1))
    cases = [
        lambda: x + y,
        lambda: x + x,
        lambda: x[:4] + y[:4],
        lambda: x.cast(svod.float64) + y.cast(svod.float64),
        lambda: x[: N.bind(3)] + y[: N.bind(3)],
        lambda: x[: svod.Variable("m", 1, 64).bind(3)] + y[: svod.Variable("m", 1, 64).bind(3)],
        lambda: x[: svod.Variable("n", 1, 63).bind(3)] + y[: svod.Variable("n", 1, 63).bind(3)],
        lambda: x.to("CPU:1") + y.to("CPU:1"),
    ]
    svod.clear_caches()
    for count, make in enumerate(cases, start=1):
        first = make().numpy()
        assert svod.caches()["schedules"] == count
        np.testing.assert_array_equal(make().numpy(), first)
        np.testing.assert_array_equal(make().realize(schedule_cache=False).numpy(), first)
        assert svod.caches()["schedules"] == count


def test_b6_off_by_the_environment_and_by_exactly_1(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, on in (("1", False), ("0", True), ("", True), ("true", True), ("on", True), (" 1", True), ("2", True)):
        monkeypatch.setenv("SVOD_DISABLE_SCHEDULE_CACHE", value)
        assert svod.PrepareConfig().schedule_cache is on, value
        svod.clear_caches()
        assert (svod.Tensor(rows(3)) + 1).sum().item() == pytest.approx(rows(3).sum() + 24, rel=1e-5)
        assert svod.caches()["schedules"] == on, value


def test_e6_undecidable_shapes_name_both_sizes() -> None:
    m = svod.Variable("m", 1, 64)
    with pytest.raises(svod.ShapeError, match="whether extents n and m are equal cannot be decided"):
        svod.ones(N) + svod.ones(m)
    with pytest.raises(svod.ShapeError):
        svod.ones(N).reshape(4, -1)
    with pytest.raises(svod.ShapeError):
        svod.Tensor(rows(8))[N]
    with pytest.raises((svod.ShapeError, TypeError)):
        len(svod.ones(N))
    assert svod.Tensor(rows(8))[:N].shape != () and str(svod.ones(8)[:N].shape) == "(min(8, n),)"


def test_c2_outputs_are_read_under_the_lock_of_the_plan() -> None:
    x = svod.empty(N, 256)
    y = (x @ svod.ones(256, 256)).exp().log()
    plan = y.prepare(inputs=[x])
    plan.execute(np.zeros((1, 256), np.float32))
    stop = threading.Event()
    errors: list[str] = []

    def read() -> None:
        while not stop.is_set():
            value = plan.outputs[0].numpy()
            if not (value == value.flat[0]).all() or value.shape[0] != round(value.flat[0] / 256 * 1000) + 1:
                errors.append(f"{value.shape} of {value.min()} to {value.max()}")

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(3000):
        n = i % 64 + 1
        plan.execute(np.full((n, 256), (n - 1) / 1000, np.float32))
    stop.set()
    for reader in readers:
        reader.join()
    assert not errors, errors[:3]


def test_pads_of_sizes_of_either_sign() -> None:
    n = svod.Variable("n", 4, 20)
    x = svod.empty(n)
    shorter = svod.nn.functional.pad(x, (0, -(n % 2)), value=7.0)
    either = svod.nn.functional.pad(x, (n - 8, 1), value=7.0)
    plan = svod.prepare(shorter, either, inputs=[x])
    for length in (4, 5, 7, 8, 9, 20):
        given = np.arange(length, dtype=np.float32)
        found = [result.numpy() for result in plan.run(given)]
        np.testing.assert_array_equal(found[0], given[: length - length % 2])
        wanted = np.concatenate([np.full(max(length - 8, 0), 7.0), given[max(8 - length, 0) :], [7.0]])
        np.testing.assert_array_equal(found[1], wanted)


def test_e6_random_values_of_symbolic_shapes() -> None:
    for make, low, high in (
        (lambda n: svod.rand(n, 3), 0, 1),
        (lambda n: svod.randn(2, n), -6, 6),
        (lambda n: svod.randint(5, 9, (n, n)), 5, 9),
        (lambda n: svod.rand(n, dtype=svod.float64), 0, 1),
    ):
        svod.manual_seed(3)
        t = make(N.bind(4))
        plan = t.prepare()
        for n in (4, 64, 1):
            plan.execute(n=n)
            svod.manual_seed(3)
            # The same numbers as of a tensor of that size.
            np.testing.assert_array_equal(t.numpy(), make(n).numpy())
            assert low <= t.numpy().min() and t.numpy().max() <= high
    with pytest.raises(svod.ShapeError, match="negative"):
        svod.rand(-1)


def test_a10_variables_and_sizes_are_copied_and_pickled() -> None:
    n, m = svod.Variable("n", 1, 64), svod.Variable("m", 0, 9)
    bound = n.bind(5) * 2 + m
    for again in (copy.deepcopy((n, bound)), copy.copy((n, bound)), pickle.loads(pickle.dumps((n, bound)))):
        assert [repr(one) for one in again] == [repr(n), repr(bound)]
        assert again[0] == n and again[1] == bound


def test_a9_rows_of_two_sizes_of_which_one_may_be_0() -> None:
    z, length = svod.Variable("z", 0, 6), svod.Variable("length", 1, 9)
    x = svod.empty(z, length, 16)
    programs = [
        (x.softmax(-1), lambda a: np.exp(a) / np.exp(a).sum(-1, keepdims=True)),
        (x - x.mean(-1, keepdim=True), lambda a: a - a.mean(-1, keepdims=True)),
        (x.layer_norm(), lambda a: (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)),
    ]
    for result, expected in programs:
        plan = result.prepare(inputs=[x])
        for shape in ((3, 4, 16), (0, 9, 16), (6, 1, 16)):
            data = np.random.default_rng(1).standard_normal(shape).astype("float32")
            plan.execute(data)
            np.testing.assert_allclose(plan.outputs[0].numpy(), expected(data.astype("float64")), rtol=1e-4, atol=1e-5)


def test_a_single_row_reads_constant_weights_where_they_lie() -> None:
    rng = np.random.default_rng(0)
    m = svod.Variable("m", 1, 64)
    a, w = (rng.integers(-4, 4, shape).astype(np.float32) for shape in ((64, 1024), (1024, 1024)))
    rows = svod.Tensor(a)
    # With wider vectors one schedule is best for all sizes.
    with svod.target("x86-64-v2"):
        plan = rows[: m.bind(3)].linear(svod.Tensor(w)).prepare(inputs=[rows])
    assert "m <= 1" in [str(when) for when, _ in plan.kernels[0].schedules]
    for n in (1, 2, 5, 64):
        plan.execute(m=n)
        np.testing.assert_array_equal(plan.outputs[0].numpy(), a[:n] @ w.T)


ROWS = svod.Variable("rows", 1, 200)


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_few_rows_of_any_number_are_those_of_many(target: str, constant: bool, transposed: bool) -> None:
    if target == "x86-64-v4" and svod.target().vector_bytes < 64:
        pytest.skip("no machine for its code")
    given, weights = rows(200, 160), rows(160, 96, 1)
    w = svod.Tensor(np.ascontiguousarray(weights.T)) if transposed else svod.Tensor(weights)
    x = svod.empty(ROWS, 160)
    with svod.target(target):
        y = (x @ (w.T if transposed else w)).relu()
        plan = y.prepare(inputs=[x] if constant else [x, w])
    # Tiles of fewer rows, or rounds of half as many.
    text = plan.kernels[0].loops
    assert "micro 1 x" in text or " by 2 rest" in str(plan.kernels[0].schedules)
    expected = np.maximum(given.astype(np.float64) @ weights, 0)
    whole = None
    for count in (200, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17, 31):
        plan.execute(given[:count], *([] if constant else [w.numpy()]))
        result = plan.outputs[0].numpy()
        np.testing.assert_allclose(result, expected[:count], rtol=1e-4, atol=1e-4)
        whole = result if whole is None else whole
        if len(plan.kernels[0].schedules) == 1:
            np.testing.assert_array_equal(result, whole[:count])
