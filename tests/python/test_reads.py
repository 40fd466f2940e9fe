"""Reads do not cost a compile: what they compute is kept, positions are copied, numbers are written in place."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod


def counts() -> tuple[int, int]:
    """Kernels that were compiled and schedules that were made so far."""
    passes = svod.compile_times()
    return passes.get("render", (0, 0.0))[0], passes.get("shard", (0, 0.0))[0]


def since(before: tuple[int, int]) -> tuple[int, int]:
    return counts()[0] - before[0], counts()[1] - before[1]


def draw(*shape: int) -> Any:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def test_what_a_read_computes_is_not_computed_again() -> None:
    x, y = draw(20, 3), draw(20)
    inputs, wanted, w, expected = svod.Tensor(x), svod.Tensor(y), svod.zeros(3), np.zeros(3)
    for step in range(30):
        if step == 5:
            before = counts()
        error = inputs @ w - wanted
        w = w - 0.01 * (error @ inputs)
        loss = (error * error).sum().item()
        expected_error = x @ expected - y
        expected = expected - 0.01 * (expected_error @ x)
        assert loss == pytest.approx((expected_error**2).sum(), rel=1e-4)
    assert since(before) == (0, 0)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-4)


def test_a_read_keeps_what_is_named() -> None:
    x = svod.Tensor(draw(8, 8))
    h = (x @ x).tanh()
    assert isinstance(h.sum().item(), float)
    assert h.is_realized
    unnamed = ((x @ x) * 3).sum()
    unnamed.item()
    assert unnamed.is_realized


def test_what_is_read_twice_is_kept_the_second_time() -> None:
    x = svod.Tensor(draw(300, 300))
    product = x @ x
    rows = [product.sum(0) + i for i in range(3)]
    del product
    first = rows[0].numpy()
    assert "mul" in rows[2].graph()
    np.testing.assert_array_equal(rows[1].numpy(), first + 1)
    assert "mul" not in rows[2].graph()
    np.testing.assert_array_equal(rows[2].numpy(), first + 2)


ORDERS: dict[str, Callable[[int], list[int]]] = {
    "forward": lambda n: [*range(n)],
    "backward": lambda n: [*range(n)][::-1],
    "from both ends": lambda n: [i // 2 if i % 2 else n - 1 - i // 2 for i in range(n)],
    "shuffled": lambda n: np.random.default_rng(3).permutation(n).tolist(),
    "every other": lambda n: [*range(n - 1, -1, -2), *range(n - 2, -1, -2)],
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_list_of_results_is_read_in_any_order(order: str) -> None:
    """Each is computed at most twice: were it computed for each that is read, there would be a schedule for each."""
    size = 20 + [*ORDERS].index(order)
    matrix, state, results, expected = draw(size, size) / 6, np.ones(size, np.float32), [], []
    w, h = svod.Tensor(matrix).realize(), svod.ones(size)
    for _ in range(60):
        h, state = (w @ h).tanh(), np.tanh(matrix @ state)
        results.append(h.sum())
        expected.append(state.sum())
    before = counts()
    found = {i: float(results[i]) for i in ORDERS[order](60)}
    assert since(before)[1] <= 16
    np.testing.assert_allclose([found[i] for i in range(60)], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("states", [7, 90])
def test_a_path_is_traced_back(states: int) -> None:
    moves, steps = draw(states, states), draw(60, states)
    table, best, back = moves + 0, steps[0], []
    of, by = svod.Tensor(moves).realize(), svod.Tensor(steps).realize()
    d, pointers = by[0], []
    for t in range(1, 60):
        scores, table = d[:, None] + of, best[:, None] + moves
        pointers.append(scores.argmax(0))
        back.append(table.argmax(0))
        d, best = scores.amax(0) + by[t], table.max(0) + steps[t]
    before = counts()
    state, at = int(d.argmax()), int(best.argmax())
    for pointer, row in zip(reversed(pointers), reversed(back), strict=True):
        state, at = int(pointer[state]), int(row[at])
        assert state == at
    assert since(before)[1] <= 8


def test_what_nobody_asks_for_again_is_not_kept() -> None:
    w, h, seen = svod.Tensor(draw(30, 30) / 6).realize(), svod.ones(30), []
    for _ in range(40):
        h = (w @ h).tanh()
        seen.append(h.sum())
    del h
    last, first = seen[-1], seen[0]
    del seen
    last.item()
    before = svod.memory()["CPU"]["live"]
    first.item()
    assert svod.memory()["CPU"]["live"] - before < 2**12


def test_scores_of_attention_are_not_written() -> None:
    q, k, v = (svod.Tensor(draw(2, 256, 32)) for _ in range(3))
    scores = q @ k.mT * 32**-0.5
    out = scores.softmax(-1) @ v
    wanted = out.numpy()
    assert not scores.is_realized
    again = np.asarray(scores.numpy(), np.float64)
    weights = np.exp(again - again.max(-1, keepdims=True))
    np.testing.assert_allclose(wanted, weights / weights.sum(-1, keepdims=True) @ v.numpy(), atol=1e-5)


def test_what_may_change_is_not_kept() -> None:
    memory = np.ones(4, np.float32)
    x = svod.from_numpy(memory)
    y = x * 2
    assert (y + 1).sum().item() == 12
    memory[:] = 5
    assert y.tolist() == [10.0] * 4


def test_elements_are_read_without_kernels() -> None:
    values = draw(1000)
    x = svod.Tensor(values).realize()
    before = counts()
    assert [float(x[i]) for i in range(1000)] == values.tolist()
    assert [float(v) for v in x] == values.tolist()
    table = svod.Tensor(values.reshape(10, 100))
    assert table.T[3, 1:8:2].tolist() == values.reshape(10, 100).T[3, 1:8:2].tolist()
    assert table.reshape(100, 10).flip(0)[2].tolist() == values.reshape(100, 10)[::-1][2].tolist()
    assert since(before) == (0, 0)


def test_a_pending_value_that_is_read_in_pieces_is_computed_once() -> None:
    values = draw(500)
    x = svod.Tensor(values) * 2
    before = counts()
    assert [x[i].item() for i in range(500)] == (values * 2).tolist()
    assert [float(v) for v in svod.Tensor(values) * 2 + 1] == (values * 2 + 1).tolist()
    assert since(before)[0] <= 2
    large = svod.ones(1 << 24) * svod.Tensor(np.float32(3.0)).realize()
    assert large[5].item() == 3.0
    assert not large.is_realized


def test_rows_at_any_position_share_a_kernel() -> None:
    values = draw(50, 8)
    x, w = svod.Tensor(values), svod.Tensor(draw(8, 4))
    results = []
    for i in range(50):
        if i == 1:
            before = counts()
        results.append((x[i] @ w).numpy())
    assert since(before) == (0, 0)
    np.testing.assert_allclose(results, values @ draw(8, 4), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "uint8", "float16"])
def test_numbers_are_written_in_place(dtype: str) -> None:
    x, wanted = svod.zeros(100, dtype=getattr(svod, dtype)), np.zeros(100, dtype)
    before = counts()
    for i in range(300):
        x[i * 7 % 100] = i % 2
        wanted[i * 7 % 100] = i % 2
    x[3:9] = 1
    wanted[3:9] = 1
    np.testing.assert_array_equal(x.numpy(), wanted)
    assert since(before) == (0, 0)


def address(x: svod.Tensor) -> int:
    """Where a tensor's elements are."""
    return np.asarray(x).ctypes.data


@pytest.mark.parametrize("value", [3.0, np.ones(8, np.float32), [2.0] * 8, svod.ones(8), svod.arange(8.0)])
def test_memory_of_its_own_is_written_where_it_is(value: Any) -> None:
    """Whatever its size: a copy of each would be quadratic."""
    x, wanted = svod.Tensor(draw(20_000, 8)), draw(20_000, 8)
    svod.realize(x)
    place, before = address(x), svod.memory()["CPU"]["live"]
    value = value.realize() if isinstance(value, svod.Tensor) else value
    row = np.broadcast_to(np.asarray(value, np.float32), 8)
    for i in range(40):
        x[i * 7], wanted[i * 7] = value, row
        x[-1 - i, 2:5], wanted[-1 - i, 2:5] = value if isinstance(value, float) else value[2:5], row[2:5]
    assert x.is_realized
    np.testing.assert_array_equal(x.numpy(), wanted)
    assert address(x) == place
    assert svod.memory()["CPU"]["live"] - before < 2**16


def test_parts_are_written_to_parts() -> None:
    x, wanted = svod.Tensor(draw(6, 5, 4)), draw(6, 5, 4)
    rows, expected = svod.Tensor(draw(30)).realize(), draw(30)
    writes: list[tuple[Any, Any, Any]] = [
        ((slice(1, 3), slice(None), 2), rows[:10].reshape(2, 5), expected[:10].reshape(2, 5)),
        ((slice(None), 4), rows[:24].reshape(4, 6).T, expected[:24].reshape(4, 6).T),
        ((slice(2, 3), slice(1, 4)), rows[:12].reshape(1, 3, 4), expected[:12].reshape(1, 3, 4)),
        ((0, slice(1, 4)), rows[:12].reshape(1, 1, 3, 4), expected[:12].reshape(3, 4)),
        ((5, 1), rows[:1], expected[:1]),
        ((slice(4, 6), slice(0, 0)), svod.zeros(2, 0, 4), np.zeros((2, 0, 4))),
    ]
    for at, part, same in writes:
        x[at], wanted[at] = part, same
        np.testing.assert_array_equal(x.numpy(), wanted)
    # From itself: what is read is what was there.
    x[1:4], wanted[1:4] = x[0:3], wanted[0:3].copy()
    np.testing.assert_array_equal(x.numpy(), wanted)
    with pytest.raises(svod.ShapeError, match="setitem"):
        x[:, :, 0:1] = svod.ones(6, 5).realize()
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_parts_of_other_types_and_devices_are_converted() -> None:
    x = svod.zeros(4, 2).contiguous().realize()
    x[1] = svod.Tensor([1, 2]).realize()
    x[2] = svod.Tensor([3.5, 4.5], device="CPU:1").realize()
    x[3] = svod.Tensor(np.float64([5, 6])).realize()
    assert x.tolist() == [[0, 0], [1, 2], [3.5, 4.5], [5, 6]]
    assert (x.dtype, x.device) == (svod.float32, "CPU")
    w = svod.Tensor([2.0, 3.0]).requires_grad_()
    y = svod.zeros(4, 2).contiguous().realize()
    y[1] = w
    y.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [1, 1]


def test_a_write_changes_nothing_that_was_seen() -> None:
    x = svod.zeros(2, 3)
    x[0, 1] = 1.0
    array, row, twice, copy = x.numpy(), x[0], x * 2, svod.Tensor(x)
    same = x
    x[0] = 7.0
    x[-1, 2] = 8.0
    assert same is x
    assert x.tolist() == [[7.0, 7.0, 7.0], [0.0, 0.0, 8.0]]
    old = [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    assert array.tolist() == old and copy.tolist() == old
    assert row.tolist() == old[0]
    assert twice.tolist() == [[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]


def test_writes_go_past_memory_of_others() -> None:
    memory = np.zeros(4, np.float32)
    x = svod.from_numpy(memory)
    for i in range(20):
        x[i % 4] = float(i)
    assert x.tolist() == [16.0, 17.0, 18.0, 19.0]
    assert memory.tolist() == [0.0] * 4


def test_many_writes_to_a_pending_value_are_made_at_once() -> None:
    x = svod.Tensor(draw(50)) * 2
    wanted = draw(50) * 2
    for i in range(2000):
        x[i % 50] = float(i)
        wanted[i % 50] = i
    assert len(x.graph()) < 500
    np.testing.assert_array_equal(x.numpy(), wanted)


def test_writes_are_part_of_a_traced_function() -> None:
    @svod.jit
    def count(x: Any) -> Any:
        y = x * 1
        for i in range(12):
            y[i % 3] = float(i)
        return y + x

    assert count(svod.Tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [10.0, 12.0, 14.0, 8.0]


def test_errors_of_writes_name_what_does_not_fit() -> None:
    x = svod.zeros(3, dtype=svod.uint8)
    with pytest.raises(svod.Error, match="setitem"):
        x[0] = 300
    with pytest.raises(svod.Error, match="setitem"):
        x[5] = 1
    assert x.tolist() == [0, 0, 0]


def test_threads_that_write_and_read_one_tensor() -> None:
    x = svod.zeros(64)
    x[0] = 0.0
    seen: list[Any] = []

    def read() -> None:
        for _ in range(300):
            array = x.numpy()
            first = array.tolist()
            seen.append(array.tolist() == first)

    def write() -> None:
        for i in range(3000):
            x[i % 64] = float(i)

    threads = [threading.Thread(target=work) for work in (read, write, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(seen) and len(seen) == 600
    assert x[63].item() == 2943.0


def test_a_plan_follows_what_was_written() -> None:
    """Elements of other tensors, and memory that another one shares, are followed, or refused: never forgotten."""
    first, second = draw(4, 3), draw(3, 4).reshape(4, 3) * 2
    for writes in (1, 3, 4):
        x, y = svod.Tensor(first), svod.Tensor(second)
        z = x.clone()
        for i in range(writes):
            z[i] = y[3 - i]
        z[0, 1] = 7.0
        plan = svod.prepare(z * 2, x + y, inputs=[x, y])
        for a, b in ((first, second), (second, first)):
            plan.execute(a, b)
            wanted = a.copy()
            wanted[:writes] = b[::-1][:writes]
            wanted[0, 1] = 7.0
            np.testing.assert_array_equal(plan.outputs[0].numpy(), wanted * 2)


@pytest.mark.parametrize("size", [40, 100_000])
def test_a_plan_does_not_forget_what_many_writes_stored(size: int) -> None:
    values = draw(size)
    x = svod.Tensor(values)
    z = svod.zeros(size).realize()
    for i in range(30):
        z[i] = x[i + 1]
    with pytest.raises(svod.ArgumentError, match="made of input 0"):
        svod.prepare(z * 2, x + 1, inputs=[x])
    wanted = np.zeros(size, np.float32)
    wanted[:30] = values[1:31]
    np.testing.assert_array_equal(z.numpy(), wanted)
    # What no longer is there cannot be an input.
    del x
    svod.prepare(z * 2, inputs=[z]).execute()


def test_expressions_of_numbers_need_no_kernel() -> None:
    before = counts()
    for start in range(1, 60):
        x, expected = svod.Tensor(float(start)), np.float32(start)
        for _ in range(8):
            assert float(x * x - 2) == expected * expected - np.float32(2)
            x = x - (x * x - 2) / (2 * x)
            expected = expected - (expected * expected - np.float32(2)) / (np.float32(2) * expected)
        assert (x > 1).item() and bool(x < 2)
        np.testing.assert_array_equal((x + svod.zeros(3)).numpy(), np.full(3, expected))
    assert since(before) == (0, 0)


def test_numbers_that_are_read_are_where_the_next_step_begins() -> None:
    x, expected, steps = svod.Tensor(0.0), np.float32(0), []
    for step in range(2000):
        x, expected = x * 0.5 + 1, expected * np.float32(0.5) + np.float32(1)
        if step % 2 and x > 1.5:
            x, expected = x - 1, expected - np.float32(1)
        steps.append((x.item(), float(expected)))
    assert all(ours == theirs for ours, theirs in steps)


def test_numbers_of_a_plan_and_of_a_gradient_stay_what_they_are() -> None:
    x = svod.Tensor(3.0).requires_grad_()
    y = x * x + 1
    assert float(y) == 10
    y.backward()
    assert x.grad is not None and x.grad.item() == 6
    z = svod.Tensor(2.0) * 3
    assert (float(z), (z * svod.arange(3)).tolist(), float(z)) == (6, [0, 6, 12], 6)
    assert svod.jit(lambda a: a * z)(svod.ones(2)).tolist() == [6, 6]
    plan = svod.prepare(svod.Tensor(2.0) * 4)
    plan.execute()
    assert plan.outputs[0].item() == 8


def test_values_that_are_computed_are_written_at_once() -> None:
    rng = np.random.default_rng(5)
    counted, expected = svod.zeros(10, dtype="int32").contiguous(), np.zeros(10, np.int32)
    before = None
    for step, at in enumerate(rng.integers(0, 10, 400)):
        counted[int(at)] += 1
        expected[at] += 1
        if step == 20:
            before = counts()
    np.testing.assert_array_equal(counted.numpy(), expected)
    assert before is not None and since(before) == (0, 0)
    paths, table = svod.zeros(9, 9), np.zeros((9, 9), np.float32)
    for i in range(1, 9):
        for j in range(1, 9):
            paths[i, j] = paths[i - 1, j] + paths[i, j - 1] + 1
            table[i, j] = table[i - 1, j] + table[i, j - 1] + 1
    np.testing.assert_array_equal(paths.numpy(), table)


def test_values_of_others_are_written_at_once_after_a_few() -> None:
    x, y = draw(50), np.zeros(50, np.float32)
    given, written = svod.Tensor(x), svod.zeros(50).contiguous()
    for step, at in enumerate(np.random.default_rng(3).permutation(50)):
        written[int(at)] = given[int(at)] * 2 + 1
        y[at] = x[at] * np.float32(2) + np.float32(1)
        if step % 7 == 0:
            np.testing.assert_array_equal((written + 0).numpy(), y)
    np.testing.assert_allclose(written.numpy(), y, rtol=1e-6)
    rows, table = svod.Tensor(draw(6, 6)).clone(), draw(6, 6)
    for k in range(6):
        for i in range(k + 1, 6):
            rows[i, k:] = rows[i, k:] - rows[i, k] / rows[k, k] * rows[k, k:]
            table[i, k:] = table[i, k:] - table[i, k] / table[k, k] * table[k, k:]
    np.testing.assert_allclose(rows.numpy(), table, rtol=2e-3, atol=1e-4)


def test_who_has_seen_a_tensor_sees_what_was_there_before_a_value_was_written() -> None:
    x = svod.Tensor([1.0, 2.0, 3.0]) + 0
    x.realize()
    part, whole, array, doubled = x[1], x.clone(), x.numpy(), x * 2
    for _ in range(20):
        x[1] = x[1] * 2
        x[0] = x[1] + x[2]
    assert x.tolist() == [2 * 2.0**20 + 3, 2 * 2.0**20, 3]
    assert (part.item(), whole.tolist(), array.tolist(), doubled.tolist()) == (2, [1, 2, 3], [1, 2, 3], [2, 4, 6])


def set_zeros() -> svod.Tensor:
    x = svod.zeros(4)
    x[0] = 1
    return x


@pytest.mark.parametrize("make", [
    set_zeros,
    lambda: svod.zeros(4).realize(),
    lambda: svod.ones(4).contiguous().realize(),
    lambda: (svod.arange(4) * 1.0).realize(),
    lambda: svod.Tensor([1.0, 2.0, 3.0, 4.0]),
])  # fmt: skip
@pytest.mark.parametrize("computed", [False, True])
def test_a_plan_follows_elements_of_its_input_that_were_written_elsewhere(make: Any, computed: bool) -> None:
    x, y = make(), svod.zeros(4)
    y[1] = x[0] * 3 if computed else x[0]
    plan = (y + x).prepare(inputs=[x])
    plan.execute(np.array([5, 6, 7, 8], np.float32))
    assert plan.outputs[0].tolist() == [5, 6 + (15 if computed else 5), 7, 8]


def test_a_plan_does_not_forget_its_input_where_many_elements_were_written() -> None:
    for computed in (False, True):
        x, y = set_zeros(), svod.zeros(40)
        for i in range(40):
            y[i] = x[i % 4] + 1 if computed else x[i % 4]
        with pytest.raises(svod.ArgumentError, match="follow"):
            (y[:4] + x).prepare(inputs=[x])


@pytest.mark.parametrize("make", [
    lambda: svod.zeros(200_000),
    lambda: svod.full((200_000,), -1.0),
    lambda: svod.ones(500, 400).reshape(200_000),
    lambda: svod.arange(200_000.0),
    lambda: svod.arange(200_000.0)[::2] + svod.zeros(100_000),
    lambda: svod.from_numpy(np.arange(200_000, dtype=np.float32)),
    lambda: svod.Tensor(draw(200_000)) * 2,
    lambda: svod.Tensor(draw(300_000))[1000:],
])  # fmt: skip
def test_large_values_that_were_never_read_are_written_where_they_are(make: Any) -> None:
    x, expected = make(), make().numpy().copy()
    for i in range(12):
        x[i * 3], expected[i * 3] = i, i
    assert x.is_realized
    place, before = address(x), counts()
    for i in range(40):
        x[i * 7], expected[i * 7] = i, i
        x[i * 2 + 100 : i * 2 + 105], expected[i * 2 + 100 : i * 2 + 105] = i, i
    assert (address(x), since(before)) == (place, (0, 0))
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("make", [lambda: svod.zeros(100_000), lambda: svod.arange(100_000.0)])
def test_large_values_of_numbers_are_memory_from_the_second_write_on(make: Any) -> None:
    x = make()
    y, x[1], x[2] = x * 2, 5.0, 6.0
    assert x.is_realized
    assert (y[1:3].tolist(), x[:4].tolist()) == ((make() * 2)[1:3].tolist(), [x[0].item(), 5, 6, x[3].item()])


def test_the_sign_of_a_zero_does_not_depend_on_how_it_is_read() -> None:
    z = svod.Tensor(np.float32([0.0, -0.0]))
    for i, j in ((0, 1), (1, 0)):
        for of in (svod.maximum, svod.minimum):
            read = of(z[i], z[j])
            assert np.signbit(np.float32(read.item())) == np.signbit(of(z[i], z[j]).numpy())
