"""A read like earlier ones is neither decided nor planned anew: it finds their plan, and runs it on its own memory."""

import threading
from typing import Any

import numpy as np
import pytest

import svod


def plans() -> int:
    """Plans that were made so far."""
    return int(svod.compile_times().get("plan", (0, 0.0))[0])


def draw(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_the_third_read_of_a_structure_makes_no_plan() -> None:
    made = []
    for step in range(6):
        x = draw(7, 5, seed=step)
        before = plans()
        found = float((svod.Tensor(x) * 2.0 + 1.0).tanh().sum())
        made.append(plans() - before)
        assert found == pytest.approx(np.tanh(x * 2 + 1).sum(), rel=1e-4, abs=1e-4)
    assert made[0] > 0
    assert made[2:] == [0, 0, 0, 0]


def test_a_loop_keeps_what_is_named_without_planning() -> None:
    x, w, expected = draw(6, 3), svod.zeros(3), np.zeros(3, np.float32)
    inputs, held = svod.Tensor(x), []
    for step in range(8):
        if step == 4:
            before = plans()
        error = inputs @ w - 1.0
        w = w - 0.1 * (error @ inputs)
        expected = expected - 0.1 * ((x @ expected - 1) @ x)
        assert isinstance(float((error * error).sum()), float)
        held.append((w, expected))
    assert plans() == before
    for w, expected in held:
        np.testing.assert_allclose(w.numpy(), expected, rtol=1e-4, atol=1e-5)


def test_reads_that_differ_in_constants_make_no_plans_once_these_are_arguments() -> None:
    x, made = draw(11), []
    values = [0.3, 0.7, 1.3, 2.9, 3.1, 4.7, 5.3, 6.1]
    for value in values:
        before = plans()
        found = float((svod.Tensor(x) * value + value).sum())
        made.append(plans() - before)
        assert found == pytest.approx(float((x * value + value).sum()), rel=1e-4, abs=1e-4)
    assert made[4:] == [0, 0, 0, 0]


def test_values_of_repeated_reads_are_memory_of_their_own() -> None:
    x = svod.Tensor(draw(9))
    values = [(x + svod.Tensor(np.full(9, i, np.float32))) for i in range(6)]
    arrays = [value.numpy() for value in values]
    for i, (value, array) in enumerate(zip(values, arrays, strict=True)):
        np.testing.assert_array_equal(array, x.numpy() + i)
        np.testing.assert_array_equal(value.numpy(), array)


@pytest.mark.parametrize("start", [0, 1, 3, 16])
def test_parts_of_memory_of_any_alignment_are_read_where_they_are(start: int) -> None:
    x = draw(5000)
    whole = svod.Tensor(x)
    for _ in range(5):
        part = whole[start : start + 4000]
        np.testing.assert_array_equal((part * 3.0).numpy(), x[start : start + 4000] * 3)


def test_what_names_change_is_decided_anew() -> None:
    x = svod.Tensor(draw(8, 8))
    for _ in range(4):
        float(((x @ x) * 3).sum())
    for _ in range(4):
        named = x @ x
        float((named * 3).sum())
        assert named.is_realized


def test_arrays_that_are_taken_without_a_copy_are_read_anew() -> None:
    array = np.ones(6, np.float32)
    x = svod.from_numpy(array)
    for i in range(6):
        array[:] = i
        assert float((x + 1).sum()) == 6 * (i + 1)


def test_indices_are_checked_in_each_read() -> None:
    x = svod.Tensor(draw(10))
    for i in range(6):
        index = svod.Tensor(np.array([i, 9 - i]))
        assert float(x[index].sum()) == pytest.approx(float(x.numpy()[[i, 9 - i]].sum()), abs=1e-5)
    for _ in range(2):
        with pytest.raises(svod.IndexError):
            float(x[svod.Tensor(np.array([3, 10]))].sum())


def test_several_threads_repeat_one_read() -> None:
    wrong: list[tuple[int, float]] = []

    def work(number: int) -> None:
        for i in range(50):
            x = np.full(16, number + i, np.float32)
            found = float((svod.Tensor(x) * 2.0 + 1.0).sum())
            if found != 16 * (2 * (number + i) + 1):
                wrong.append((number + i, found))

    threads = [threading.Thread(target=work, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_gradients_of_repeated_reads() -> None:
    for i in range(5):
        x = svod.Tensor(draw(4, seed=i)).requires_grad_()
        loss = (x * x * x).sum()
        loss.backward()
        assert x.grad is not None
        np.testing.assert_allclose(x.grad.numpy(), 3 * draw(4, seed=i) ** 2, rtol=1e-5)


def test_caches_that_are_cleared_begin_anew() -> None:
    def read(i: int) -> float:
        return float((svod.Tensor(np.full(3, i, np.float32)) - 5.0).sum())

    for i in range(4):
        assert read(i) == 3 * (i - 5)
    svod.clear_caches()
    before = plans()
    assert [read(i) for i in range(4)] == [3 * (i - 5) for i in range(4)]
    assert plans() > before


def test_configurations_have_plans_of_their_own() -> None:
    x = svod.Tensor(draw(3000))
    exact = np.float32(0)
    for value in x.numpy():
        exact += value
    for _ in range(4):
        float(x.sum())
        with svod.strict():
            assert np.float32(float(x.sum())) == exact


def test_what_is_built_on_literals_step_by_step_is_kept() -> None:
    """It was computed from the beginning by each read, from a graph of its own."""
    x, expected = svod.zeros(100), np.zeros(100, np.float32)
    square, table = svod.zeros((20, 20)), np.zeros((20, 20), np.float32)
    svod.clear_caches()
    for i in range(1, 60):
        x[:i] = svod.ones(i) * i
        expected[:i] = i
        assert float(x.sum()) == expected.sum()
    assert svod.caches()["schedules"] <= 20
    for i in range(60):
        square[:, i % 20] = square[i % 20] * 0.5 + 1
        table[:, i % 20] = table[i % 20] * 0.5 + 1
        assert float(square[0, 0]) == table[0, 0]
    np.testing.assert_array_equal(square.numpy(), table)
    assert svod.caches()["schedules"] <= 40
    # Masks are not.
    mask = svod.arange(30)[:, None] >= svod.arange(30)[None, :]
    for _ in range(12):
        assert float((mask.cast("float32") * 2).sum()) == 930
    assert not mask.is_realized


def test_numbers_that_are_arguments_are_found_with_their_structure() -> None:
    """Programs that run again build graphs of the same numbers over other data."""
    made = []
    for seed in range(5):
        values = draw(60, seed=seed)
        x, before = svod.Tensor(values), plans()
        for n in range(2, 50):
            found = float((x[:n] * (0.5 + n)).mean())
            assert found == pytest.approx(float((values[:n] * np.float32(0.5 + n)).mean()), rel=1e-4, abs=1e-4)
            found = float((x * x.roll(n)).sum())
            assert found == pytest.approx(float((values * np.roll(values, n)).sum()), rel=1e-4, abs=1e-4)
        made.append(plans() - before)
    assert made[3:] == [0, 0]


def test_a_long_program_with_one_read_at_its_end_is_planned_once() -> None:
    made = []
    for seed in range(4):
        values = draw(40, seed=seed)
        x, expected, before = svod.Tensor(values), values, plans()
        for step in range(120):
            x = svod.cat([x[:1] * 0.9, svod.minimum(x[1:], x[:-1]) + 0.01 * step])
            expected = np.concatenate(
                [expected[:1] * np.float32(0.9), np.minimum(expected[1:], expected[:-1]) + np.float32(0.01 * step)]
            )
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-4, atol=1e-4)
        made.append(plans() - before)
    assert made[2:] == [0, 0]


def test_indices_that_follow_from_memory_are_checked_without_a_plan_of_their_own() -> None:
    table, made = draw(50, 4), []
    rows = svod.Tensor(table)
    for step in range(8):
        tokens = np.random.default_rng(step).integers(0, 50, 6)
        before = plans()
        joined = svod.cat([svod.Tensor(tokens[:5]), svod.Tensor(tokens[5:])])
        assert float(rows[joined].sum()) == pytest.approx(float(table[tokens].sum()), abs=1e-4)
        made.append(plans() - before)
    assert made[4:] == [0, 0, 0, 0]
    last = svod.Tensor(np.array([49]))
    for wrong in (50, 7, -51):
        last[0] = wrong
        joined = svod.cat([svod.Tensor(tokens[:5]), last])
        if wrong == 7:
            assert float(rows[joined].sum()) == pytest.approx(float(table[[*tokens[:5], 7]].sum()), abs=1e-4)
            continue
        with pytest.raises(svod.IndexError):
            float(rows[joined].sum())


def test_what_a_mask_selects_is_written_without_a_plan_of_its_own() -> None:
    values, made = np.abs(draw(300)), []
    x, threshold = svod.Tensor(values), 2.0
    for _ in range(30):
        threshold *= 0.9
        before = plans()
        x[x > threshold] *= 0.5
        values[values > np.float32(threshold)] *= 0.5
        assert int((x > threshold / 2).sum()) == int((values > np.float32(threshold / 2)).sum())
        made.append(plans() - before)
    np.testing.assert_array_equal(x.numpy(), values)
    assert sum(made[12:]) <= 4
