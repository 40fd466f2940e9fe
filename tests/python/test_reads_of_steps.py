"""What a read keeps, where functions of the host, loops, transfers and several devices are on its way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod


def schedules() -> int:
    """Schedules that were made so far."""
    return int(svod.compile_times().get("shard", (0, 0.0))[0])


class Counted:
    """A function of arrays, and how often it was called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *arrays: Any) -> Any:
        self.calls += 1
        return self.function(*arrays)


def solved(x: svod.Tensor) -> svod.Tensor:
    jacobian = svod.eye(3) * 3 + svod.outer(x, x) * 0.01
    return x - svod.linalg.solve(jacobian, x * 3 - 1) * 0.1


def there_and_back(x: svod.Tensor) -> svod.Tensor:
    return (x.to("CPU:1") * 0.9 + 0.1).to("CPU")


def scanned(x: svod.Tensor) -> Any:
    return svod.scan(lambda carry, row: (carry * 0.5 + row, carry), x, svod.ones(3, 3))[0]


STEPS: list[Callable[[svod.Tensor], Any]] = [
    solved,
    lambda x: svod.linalg.inv(svod.eye(3) * 2 + svod.outer(x, x) * 0.01).sum(0),
    lambda x: svod.linalg.eigh(svod.outer(x, x) + svod.eye(3))[1].abs().sum(0) * 0.5,
    lambda x: svod.fft.ifft(svod.fft.fft(x) * 0.5).real + 0.1,
    lambda x: svod.cond(x.sum() > 1, lambda v: v * 0.5, lambda v: v + 1, x),
    scanned,
    lambda x: svod.iterate(3, lambda i, v: v * 0.9 + 0.1, x),
    there_and_back,
    svod.checkpoint(lambda v: v * 0.9 + 1),
    lambda x: (x * 0.9 + 1).reshape(3, 1).T.reshape(3),
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("element", [False, True])
def test_a_loop_computes_each_step_once_whatever_computes_it(step: Callable[..., Any], element: bool) -> None:
    x, expected, made = svod.Tensor([0.5, 0.25, 1.0]), svod.Tensor([0.5, 0.25, 1.0]), []
    for _ in range(14):
        x, expected = step(x), step(expected)
        expected.realize()
        before = schedules()
        found = float(x[0]) if element else float(x.sum())
        made.append(schedules() - before)
        assert found == pytest.approx(float(expected[0] if element else expected.sum()), rel=1e-5)
    assert made[8:] == [0] * 6
    assert len(x.graph()) < 400
    np.testing.assert_allclose(x.numpy(), expected.numpy(), rtol=1e-5)


def test_a_loop_over_parts_on_several_devices_computes_each_step_once() -> None:
    x, expected, made = svod.zeros(8).shard(("CPU", "CPU:1"), axis=0), np.zeros(8, np.float32), []
    for _ in range(14):
        x, expected = x * 0.9 + 1, expected * np.float32(0.9) + np.float32(1)
        before = schedules()
        assert float(x.sum()) == pytest.approx(float(expected.sum()), rel=1e-5)
        made.append(schedules() - before)
    assert made[8:] == [0] * 6
    np.testing.assert_allclose(x.numpy(), expected, rtol=1e-5)


def test_a_function_of_the_host_is_called_once_for_each_value() -> None:
    inverse = Counted(np.linalg.inv)
    a, expected = svod.eye(3) * 2, np.eye(3, dtype=np.float32) * 2
    for _ in range(40):
        a = svod.custom(inverse, a, shape=(3, 3), dtype="float32") * 0.5 + svod.eye(3)
        expected = np.linalg.inv(expected) * 0.5 + np.eye(3, dtype=np.float32)
        assert float(a[0, 0]) == pytest.approx(expected[0, 0], rel=1e-5)
    assert inverse.calls == 40


@pytest.mark.parametrize("source", [lambda: svod.ones(4), lambda: svod.Tensor([1.0, 2.0, 3.0, 4.0])])
def test_what_a_function_of_the_host_gave_is_kept_for_all_that_read_it(source: Callable[[], svod.Tensor]) -> None:
    double = Counted(lambda a: a * 2)
    x = source()
    y = svod.custom(double, x)
    wanted = x.numpy() * 2
    assert (y.sum().item(), y.max().item()) == (wanted.sum(), wanted.max())
    np.testing.assert_array_equal((y + 1).numpy(), wanted + 1)
    np.testing.assert_array_equal(y.numpy(), wanted)
    assert double.calls == 1
    # A handle names what follows from it only.
    z = svod.custom(double, x) * 1.5
    assert [float(v) for v in z] == (wanted * 1.5).tolist()
    assert (z.sum().item(), z.max().item()) == ((wanted * 1.5).sum(), (wanted * 1.5).max())
    np.testing.assert_array_equal(z.numpy(), wanted * 1.5)
    assert double.calls == 2


def test_large_values_that_follow_from_a_function_of_the_host_are_read_in_pieces() -> None:
    rows = Counted(lambda a: a + 1)
    z = svod.custom(rows, svod.zeros(3_000_000).contiguous()) * 2
    assert [float(z[i]) for i in range(0, 3_000_000, 500_000)] == [2.0] * 6
    assert rows.calls == 1


def test_all_results_of_a_function_are_kept_together() -> None:
    both = Counted(lambda a: (a + 1, a - 1))
    x = svod.Tensor([1.0, 2.0])
    more, less = svod.custom(both, x * 2, shape=[(2,), (2,)], dtype="float32")
    assert (float(more[0]), float(less[0]), less.tolist(), more.sum().item()) == (3, 1, [1, 3], 8)
    assert both.calls == 1
    # Only one of them is wanted.
    only = svod.custom(both, x * 3, shape=[(2,), (2,)], dtype="float32")[1]
    assert (only.sum().item(), only.tolist(), both.calls) == (7, [2, 5], 2)


@pytest.mark.parametrize("first", [0, 1])
def test_results_are_kept_together_where_the_operand_was_read_in_between(first: int) -> None:
    both = Counted(lambda a: (a + 1, a - 1))
    doubled = svod.Tensor([1.0, 2.0]) * 2
    results = svod.custom(both, doubled, shape=[(2,), (2,)], dtype="float32")
    assert doubled.tolist() == [2, 4]
    assert (results[first].tolist(), results[1 - first].tolist()) == (
        ([3, 5], [1, 3]) if first == 0 else ([1, 3], [3, 5])
    )
    assert both.calls == 1


def power(x: svod.Tensor) -> svod.Tensor:
    return abs(svod.fft.fft(x * 2)).sum()


HOST: dict[str, tuple[Callable[[svod.Tensor], svod.Tensor], Callable[[Any], Any]]] = {
    "fft": (power, lambda a: abs(np.fft.fft(a * 2)).sum()),
    "there and back": (
        lambda x: (svod.fft.ifft(svod.fft.fft(x - 1) * 0.5).real + 1).max(),
        lambda a: (np.fft.ifft(np.fft.fft(a - 1) * 0.5).real + 1).max(),
    ),
    "a function of Python": (
        lambda x: (svod.custom(lambda a: np.sort(a) * 2, x + 1) * 3).mean(),
        lambda a: (np.sort(a + 1) * 6).mean(),
    ),
    "solve": (
        lambda x: svod.linalg.solve(svod.outer(x, x) * 0.01 + svod.eye(len(x)), x + 1).sum(),
        lambda a: np.linalg.solve(np.outer(a, a) * 0.01 + np.eye(len(a)), a + 1).sum(),
    ),
}


@pytest.mark.parametrize("name", HOST)
def test_functions_of_the_host_of_changing_lengths_share_the_kernels_around_them(name: str) -> None:
    program, expected = HOST[name]
    svod.clear_caches()
    random = np.random.default_rng(3)
    for n in range(8, 40):
        a = random.random(n)
        assert float(program(svod.Tensor(a))) == pytest.approx(expected(a), rel=1e-6)
    assert svod.caches()["kernels"] <= 14


def test_results_of_a_loop_are_kept_together() -> None:
    seen = Counted(lambda a: a * 2)
    last, rows = svod.scan(
        lambda carry, row: (carry + svod.custom(seen, row), carry), svod.Tensor([1.0]), svod.Tensor([[1.0], [2.0]])
    )
    assert (last.item(), rows.tolist(), seen.calls) == (7.0, [[1.0], [3.0]], 2)


def test_what_follows_from_memory_that_may_change_is_not_kept() -> None:
    memory, double = np.ones(4, np.float32), Counted(lambda a: a * 2)
    y = svod.custom(double, svod.from_numpy(memory))
    assert (y + 1).sum().item() == 12
    memory[:] = 5
    assert (y.tolist(), double.calls) == ([10.0] * 4, 2)


def test_a_plan_follows_its_input_through_a_function_or_refuses() -> None:
    x = svod.Tensor([1.0, 2.0])
    y = svod.custom(lambda a: a * 2, x)
    plan = (y + 1).prepare(inputs=[x])
    plan.execute(np.array([3, 4], np.float32))
    assert plan.outputs[0].tolist() == [7, 9]
    assert float(y.sum()) == 6
    with pytest.raises(svod.ArgumentError, match="follow"):
        (y + x).prepare(inputs=[x])


def test_an_error_of_a_function_keeps_nothing() -> None:
    def once(a: Any) -> Any:
        if calls.calls == 1:
            raise ValueError("not yet")
        return a * 2

    calls = Counted(once)
    y = svod.custom(calls, svod.Tensor([1.0, 2.0]))
    with pytest.raises(ValueError, match="not yet"):
        y.sum().item()
    assert (y.sum().item(), y.max().item(), calls.calls) == (6, 4, 2)


def test_a_function_that_reads_what_its_operand_is_made_of() -> None:
    x = svod.Tensor([1.0, 2.0])
    z = x * 3
    y = svod.custom(lambda a: a + np.asarray(z.numpy()), x + 1)
    assert float((y + 1).sum()) == 16
    assert y.tolist() == [5, 9]
