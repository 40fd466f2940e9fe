"""Contents that runs of a plan are given: copied over the one so far, or shared, and never seen to change."""

import threading
from typing import Any

import numpy as np
import pytest

import svod


def draw(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def doubled(count: int) -> tuple[svod.ExecutionPlan, svod.Tensor]:
    x = svod.Tensor(np.zeros(count, np.float32))
    y = x * 2
    return y.prepare(inputs=[x]), y


@pytest.mark.parametrize("count", [1, 7, 64, 1000, 1 << 16])
def test_an_array_is_copied_and_stays_the_content(count: int) -> None:
    plan, y = doubled(count)
    for seed in range(4):
        given = draw(count, seed=seed)
        plan.execute(given)
        expected = given * 2
        np.testing.assert_array_equal(y.numpy(), expected)
        given[:] = 100
        plan.execute()
        np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("count", [1, 7, 64, 1000, 1 << 16])
def test_a_tensor_is_shared_and_may_be_written_afterwards(count: int) -> None:
    plan, y = doubled(count)
    for seed in range(4):
        array = draw(count, seed=seed)
        given = svod.Tensor(array)
        plan.execute(given)
        given[0] = 100.0
        given += 1
        given.realize()
        plan.execute()
        np.testing.assert_array_equal(y.numpy(), array * 2)
        # Over what is shared no array is copied.
        held = svod.Tensor(array)
        plan.execute(held)
        plan.execute(draw(count, seed=9))
        np.testing.assert_array_equal(y.numpy(), draw(count, seed=9) * 2)
        np.testing.assert_array_equal(held.numpy(), array)


def test_parts_borrowed_memory_and_lazy_values() -> None:
    plan, y = doubled(6)
    whole = svod.Tensor(draw(20))
    plan.execute(whole[3:9])
    np.testing.assert_array_equal(y.numpy(), draw(20)[3:9] * 2)
    plan.execute(whole[:12].reshape(2, 6)[1] + 1)
    np.testing.assert_array_equal(y.numpy(), (draw(20)[6:12] + 1) * 2)
    array = draw(6, seed=3)
    plan.execute(svod.from_numpy(array))
    expected = array * 2
    array[:] = 7
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), expected)


def test_outputs_as_inputs() -> None:
    plan, y = doubled(5)
    plan.execute(np.ones(5, np.float32))
    seen = []
    for _ in range(6):
        seen.append(y + 0)
        plan.execute(y)
    np.testing.assert_array_equal(y.numpy(), np.full(5, 128))
    for i, value in enumerate(seen):
        np.testing.assert_array_equal(value.numpy(), np.full(5, 2.0 ** (i + 1)))


def numbers(seed: int) -> Any:
    """Whole numbers, whose sums and products are exact."""
    return np.random.default_rng(seed).integers(-50, 50, 4).astype(np.float32)


def test_one_tensor_for_two_inputs_and_inputs_that_trade() -> None:
    a, b = svod.Tensor(numbers(0)), svod.Tensor(numbers(0))
    y = a - 3 * b
    plan = y.prepare(inputs=[a, b])
    one, two = svod.Tensor(numbers(1)), svod.Tensor(numbers(2))
    plan.execute(one, one)
    np.testing.assert_array_equal(y.numpy(), numbers(1) - 3 * numbers(1))
    for _ in range(4):
        plan.execute(one, two)
        np.testing.assert_array_equal(y.numpy(), one.numpy() - 3 * two.numpy())
        one, two = two, one
        plan.execute(one, numbers(5))
        np.testing.assert_array_equal(y.numpy(), one.numpy() - 3 * numbers(5))
        plan.execute(numbers(6), one)
        np.testing.assert_array_equal(y.numpy(), numbers(6) - 3 * one.numpy())


def test_runs_that_fail_leave_the_inputs() -> None:
    x, at = svod.Tensor(draw(10)), svod.Tensor(np.array([1, 2]))
    y = x[at] * 2
    plan = y.prepare(inputs=[x, at])
    plan.execute(draw(10, seed=3), np.array([4, 5]))
    with pytest.raises(svod.IndexError):
        plan.execute(draw(10, seed=4), np.array([4, 10]))
    with pytest.raises(svod.Error):
        plan.execute(draw(9, seed=4), np.array([4, 5]))
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), draw(10, seed=3)[[4, 5]] * 2)
    plan, y = doubled(3)
    plan.execute(np.array([1, 2, 3], np.float32))
    with pytest.raises(svod.Error):
        plan.execute(np.zeros((3, 1), np.float32))
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), [2, 4, 6])


def test_functions_that_raise_leave_the_inputs() -> None:
    fails = [False]

    def host(value: Any) -> Any:
        if fails[0]:
            raise RuntimeError("no")
        return value + 1

    x = svod.Tensor(draw(4))
    y = svod.custom(host, x * 2) * 3
    plan = y.prepare(inputs=[x])
    plan.execute(draw(4, seed=2))
    expected = y.numpy()
    fails[0] = True
    with pytest.raises(RuntimeError):
        plan.execute(svod.Tensor(draw(4, seed=3)))
    fails[0] = False
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), expected)


def test_runs_that_take_long_are_as_before() -> None:
    x = svod.Tensor(draw(400, 400))
    y = x @ x @ x
    plan = y.prepare(inputs=[x])
    for given in (draw(400, 400, seed=2), svod.Tensor(draw(400, 400, seed=3))):
        plan.execute(given)
        array = np.asarray(given)
        np.testing.assert_allclose(y.numpy(), array @ array @ array, rtol=1e-2, atol=1e-2)


def test_sizes_that_change() -> None:
    n = svod.Variable("n", 1, 100)
    x = svod.empty(n)
    y = x.cumsum(0)
    plan = y.prepare(inputs=[x])
    for count in (3, 100, 1, 50, 3):
        plan.execute(draw(count))
        np.testing.assert_allclose(y.numpy(), draw(count).cumsum(), rtol=1e-5, atol=1e-5)
        plan.execute(svod.Tensor(draw(count, seed=4)))
        np.testing.assert_allclose(y.numpy(), draw(count, seed=4).cumsum(), rtol=1e-5, atol=1e-5)
        plan.execute()
        np.testing.assert_allclose(y.numpy(), draw(count, seed=4).cumsum(), rtol=1e-5, atol=1e-5)


def test_fed_tensors_are_written_by_another_thread_meanwhile() -> None:
    plan, y = doubled(256)
    given, wrong, stop = svod.zeros(256).realize(), [], threading.Event()

    def write() -> None:
        step = 0
        while not stop.is_set():
            step += 1
            given.assign(svod.full((256,), float(step)).realize())

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(300):
        plan.execute(given)
        found = y.numpy()
        if not (found == found[0]).all():
            wrong.append(found)
    stop.set()
    writer.join()
    assert not wrong


def test_instances_have_inputs_of_their_own() -> None:
    plan, y = doubled(3)
    given = svod.Tensor(draw(3))
    plan.execute(given)
    other = plan.instance()
    other.execute(np.array([1, 2, 3], np.float32))
    plan.execute()
    np.testing.assert_array_equal(y.numpy(), draw(3) * 2)
    other.execute(given)
    plan.execute(np.array([4, 5, 6], np.float32))
    np.testing.assert_array_equal(other.outputs[0].numpy(), draw(3) * 2)
    np.testing.assert_array_equal(given.numpy(), draw(3))
