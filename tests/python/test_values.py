"""A tensor is a value: whoever has seen memory goes on seeing what it saw, and the memory lives as long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import svod

N = 4


def doubled() -> tuple[svod.Tensor, svod.Tensor, svod.ExecutionPlan]:
    """An input, twice it, and the plan of that, which has not run."""
    x = svod.Tensor(np.arange(N, dtype=np.float32))
    y = x * 2
    return x, y, y.prepare(inputs=[x])


def array(value: float) -> np.ndarray:
    return np.full(N, value, np.float32)


@pytest.mark.parametrize("size", [1, 5, 1 << 18])
def test_a_plan_owns_what_it_reads(size: int) -> None:
    x = svod.ones(size).contiguous().realize()
    y = x * 2
    p = y.prepare(inputs=[x])
    p.execute()
    z = y + 1
    q = z.prepare()
    instance = q.instance()
    kept = y.clone()
    jitted = svod.jit(lambda a: a + kept)
    q.execute()
    p.execute(np.full(size, 9, np.float32))
    p.release_all()
    del p
    svod.clear_caches()
    noise = [svod.full(size, 7.0).contiguous().realize() for _ in range(8)]
    q.execute()
    instance.execute()
    three = np.full(size, 3, np.float32)
    np.testing.assert_array_equal(z.numpy(), three)
    np.testing.assert_array_equal(instance.outputs[0].numpy(), three)
    np.testing.assert_array_equal(q.run()[0].numpy(), three)
    np.testing.assert_array_equal(jitted(svod.ones(size)).numpy(), three)
    assert len(noise) == 8


def test_a_loop_over_an_output_owns_it() -> None:
    _, y, p = doubled()
    p.execute(array(1))
    z = svod.iterate(3, lambda i, s: s + y, svod.zeros(N))
    q = z.prepare()
    p.execute(array(5))
    p.release_all()
    svod.clear_caches()
    q.execute()
    np.testing.assert_array_equal(z.numpy(), array(6))


COPIES: dict[str, Callable[[svod.Tensor], svod.Tensor]] = {
    "clone": lambda y: y.clone(),
    "Tensor": svod.Tensor,
    "positive": lambda y: +y,
    "setitem": lambda y: set_all(y),
    "copy_": lambda y: svod.zeros(N).copy_(y),
    "assign": lambda y: svod.zeros(N).assign(y),
    "cat": lambda y: svod.cat([y]),
    "reshape": lambda y: y.reshape(N),
    "pad": lambda y: y.pad([(0, 0)]),
    "permute": lambda y: y.permute(0),
    "contiguous": lambda y: y.contiguous(),
    "detach": lambda y: y.detach(),
    "to": lambda y: y.to("CPU"),
    "expand": lambda y: y.expand(N),
    "slice": lambda y: y[:],
    "astype": lambda y: y.cast(svod.float32),
    "sum": lambda y: y + 0.0,
    "shares": lambda y: y.shard(["CPU", "CPU:1"], axis=0).to("CPU"),
}


def set_all(y: svod.Tensor) -> svod.Tensor:
    state = svod.zeros(N)
    state[:] = y
    return state


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("look", [False, True])
def test_copies_keep_their_value(name: str, look: bool) -> None:
    _, y, p = doubled()
    p.execute(array(1))
    copy = COPIES[name](y)
    other = COPIES[name](p.outputs[0])
    if look:
        copy.realize()
        other.realize()
    p.execute(array(9))
    p.execute(array(10))
    np.testing.assert_array_equal(copy.numpy(), array(2))
    np.testing.assert_array_equal(other.numpy(), array(2))
    np.testing.assert_array_equal(y.numpy(), array(20))


@pytest.mark.parametrize("take", [svod.Tensor.numpy, np.asarray, np.from_dlpack, memoryview])
def test_arrays_keep_their_value(take: Callable[[svod.Tensor], Any]) -> None:
    _, y, p = doubled()
    p.execute(array(1))
    seen = take(y)
    p.execute(array(9))
    p.release_all()
    svod.clear_caches()
    del p, y
    np.testing.assert_array_equal(np.asarray(seen), array(2))


BORROWING: dict[str, Callable[[Any], Any]] = {
    "itself": lambda t: t,
    "reshaped": lambda t: t.reshape(2, 2).reshape(N),
    "computed": lambda t: t * 2,
    "deep": lambda t: (t + 1).cumsum(0) * (t.flip(0) + 3),
    "looped": lambda t: svod.iterate(3, lambda i, s: s * 2 + t, svod.zeros(N)),
    "watched": lambda t: t.requires_grad_() * 3,
}


@pytest.mark.parametrize("made", BORROWING)
@pytest.mark.parametrize("copy", ["clone", "Tensor", "setitem", "copy_", "assign"])
def test_copies_of_borrowed_memory_are_made_when_they_are_called(copy: str, made: str) -> None:
    own = array(1)
    expression = BORROWING[made](svod.from_numpy(own))
    expected = BORROWING[made](svod.Tensor(own)).numpy()
    copied = COPIES[copy](expression)
    own[:] = 5
    np.testing.assert_array_equal(copied.numpy(), expected)
    np.testing.assert_array_equal(expression.numpy(), BORROWING[made](svod.Tensor(own)).numpy())


@pytest.mark.parametrize("index", [0, slice(1, 3), np.array([True, False, False, False]), [0, 2]], ids=str)
def test_what_is_written_to_borrowed_memory_in_part_is_a_copy(index: Any) -> None:
    own = array(1)
    written = svod.from_numpy(own)
    expected = own.copy()
    expected[index] = 7
    written[index] = 7
    own[:] = 5
    np.testing.assert_array_equal(written.numpy(), expected)
    np.testing.assert_array_equal(own, array(5))


def test_gradients_pass_through_a_copy_of_an_expression_over_borrowed_memory() -> None:
    own = array(1)
    x = svod.from_numpy(own).requires_grad_()
    y = (x * x).clone()
    own[:] = 5
    y.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), array(2))


def test_what_is_built_before_the_first_run_has_its_value() -> None:
    _, y, p = doubled()
    early, copy = y + 1, y.clone()
    for tensor in (early, copy, y):
        with pytest.raises(svod.StaleError, match="stands for the output of a plan"):
            tensor.numpy()
    with pytest.raises(svod.StaleError):
        early.prepare()
    p.execute(array(1))
    late = y + 1
    p.execute(array(9))
    np.testing.assert_array_equal(early.numpy(), array(3))
    np.testing.assert_array_equal(copy.numpy(), array(2))
    np.testing.assert_array_equal(late.numpy(), array(3))
    np.testing.assert_array_equal(y.numpy(), array(18))


def test_a_plan_that_is_dropped_before_it_ran_leaves_what_it_was_made_of() -> None:
    x, y, p = doubled()
    early, copy = y + 1, y.clone()
    del p
    x[0] = 7.0
    twice = 2 * np.arange(N, dtype=np.float32)
    for tensor, value in ((early, twice + 1), (copy, twice), (y, twice), (y * 2, 2 * twice)):
        np.testing.assert_array_equal(tensor.numpy(), value)
    _, y, p = doubled()
    later = y + 1
    del p
    q = later.prepare()
    q.execute()
    np.testing.assert_array_equal(later.numpy(), twice + 1)
    # Again as an expression of its input.
    x, y, p = doubled()
    with pytest.raises(svod.ArgumentError, match=r"output 0, float32\[\d+\], is that of a plan which was prepared"):
        y.prepare(inputs=[x])
    del p
    p = y.prepare(inputs=[x])
    p.execute(array(5))
    np.testing.assert_array_equal(y.numpy(), array(10))
    with pytest.raises(svod.ArgumentError, match=r"output 0 is that of a plan which .* of its latest run"):
        y.prepare(inputs=[x])


@pytest.mark.parametrize("dtype", ["complex64", "int8", "bool"])
def test_several_outputs_of_a_plan_that_is_dropped(dtype: str) -> None:
    values = np.arange(6).astype(dtype)
    x = svod.Tensor(values)
    y, z = x + x, x.flip(0)
    p = svod.prepare(y, z, inputs=[x])
    handles = p.outputs
    del p
    np.testing.assert_array_equal(y.numpy(), values + values)
    np.testing.assert_array_equal(z.numpy(), values[::-1])
    np.testing.assert_array_equal(handles[1].numpy(), values[::-1])
    spread = svod.Tensor(array(1)).shard(["CPU", "CPU:1"], axis=0).realize()
    doubled = spread * 2
    p = doubled.prepare(inputs=[spread])
    early = doubled + 1
    del p
    np.testing.assert_array_equal(early.numpy(), array(3))
    np.testing.assert_array_equal(doubled.numpy(), array(2))


def test_a_plan_of_which_no_run_succeeded_leaves_what_it_was_made_of() -> None:
    table, at = svod.Tensor(np.arange(5.0)), svod.Tensor([1, 3])
    y = table[at + 0]
    p = y.prepare(inputs=[at])
    early = y + 1
    with pytest.raises(svod.IndexError):
        p.execute(np.array([0, 9]))
    with pytest.raises(svod.StaleError):
        early.numpy()
    del p
    assert (early.tolist(), y.tolist()) == ([2, 4], [1, 3])


def test_a_plan_that_calls_a_function_keeps_nothing_for_those_that_wait() -> None:
    _, _, y, p = failing()
    early = y + 1
    del p
    with pytest.raises(svod.StaleError, match="stands for the output of a plan"):
        early.numpy()


def failing() -> tuple[list[bool], svod.Tensor, svod.Tensor, svod.ExecutionPlan]:
    """A switch for errors, an input, a value of it by way of a function, and its plan."""
    fails = [False]

    def twice(a: np.ndarray) -> np.ndarray:
        if fails[0]:
            raise RuntimeError("by request")
        return a * 2

    x = svod.Tensor(array(1))
    y = svod.custom(twice, x, shape=(N,), dtype=svod.float32)
    return fails, x, y, y.prepare(inputs=[x])


def test_a_failed_run_leaves_inputs_and_variables_and_what_was_seen() -> None:
    fails, _, y, p = failing()
    p.execute(array(3))
    seen, held = y + 0.0, y.numpy()
    fails[0] = True
    with pytest.raises(RuntimeError, match="by request"):
        p.execute(array(7))
    np.testing.assert_array_equal(p.inputs[0].numpy(), array(3))
    with pytest.raises(svod.StaleError):
        y.numpy()
    after = y + 1
    with pytest.raises(svod.StaleError):
        after.numpy()
    np.testing.assert_array_equal(seen.numpy(), array(6))
    np.testing.assert_array_equal(held, array(6))
    fails[0] = False
    p.execute()
    np.testing.assert_array_equal(y.numpy(), array(6))
    np.testing.assert_array_equal(after.numpy(), array(7))
    p.execute(array(8))
    np.testing.assert_array_equal(p.inputs[0].numpy(), array(8))


def test_a_run_that_finds_an_index_outside_fails() -> None:
    x = svod.Tensor(np.array([0, 1], np.int64))
    table = svod.Tensor(array(1))
    y = table[x + 1 - 1]
    p = y.prepare(inputs=[x])
    p.execute(np.array([1, 2]))
    with pytest.raises(svod.Error):
        p.execute(np.array([1, 70]))
    np.testing.assert_array_equal(p.inputs[0].numpy(), [1, 2])
    p.execute()
    np.testing.assert_array_equal(y.numpy(), [1, 1])


def test_a_failed_run_leaves_variables() -> None:
    fails = [False]

    def same(a: np.ndarray) -> np.ndarray:
        if fails[0]:
            raise RuntimeError("by request")
        return a.copy()

    n = svod.Variable("n", 1, 8)
    x = svod.empty(n)
    y = svod.custom(same, x, shape=(n,), dtype=svod.float32) + 1
    p = y.prepare(inputs=[x])
    p.execute(np.ones(3, np.float32))
    seen = y.numpy()
    fails[0] = True
    with pytest.raises(RuntimeError):
        p.execute(np.zeros(5, np.float32))
    assert p.variables == {"n": 3}
    np.testing.assert_array_equal(p.inputs[0].numpy(), np.ones(3))
    fails[0] = False
    p.execute()
    np.testing.assert_array_equal(y.numpy(), seen)
    kept = y * 1
    p.execute(np.zeros(6, np.float32))
    assert kept.tolist() == [2, 2, 2] and y.tolist() == [1] * 6


def test_a_value_that_was_read_has_no_expression_to_prepare() -> None:
    x = svod.Tensor(array(1))
    y = x * 2
    y.numpy()
    with pytest.raises(svod.ArgumentError, match=r"input 0.*no output depends on.*computed before"):
        y.prepare(inputs=[x])
    z = svod.Tensor(array(5)) * 3
    with pytest.raises(svod.ArgumentError, match="no output depends on"):
        z.prepare(inputs=[x])
    plan = z.prepare(inputs=[x], unused_inputs=True)
    plan.execute(array(8))
    np.testing.assert_array_equal(z.numpy(), array(15))


VIEWS: dict[str, Callable[[svod.Tensor], svod.Tensor]] = {
    "reshape": lambda x: x.reshape(2, 2),
    "part": lambda x: x[1:3],
    "element": lambda x: x[1],
    "step": lambda x: x[::3],
    "flip": lambda x: x.flip(0),
    "transpose": lambda x: x.reshape(2, 2).T,
    "expand": lambda x: x.expand(3, N),
    "complex": lambda x: x.cast(svod.complex64).real,
    "part of a result of the host": lambda x: svod.fft.fft(x).real,
    "part of what is computed": lambda x: (x + 1)[1:3],
}


def prepared(*outputs: svod.Tensor, inputs: list[svod.Tensor]) -> svod.ExecutionPlan | str:
    """A plan, or why there is none."""
    try:
        return svod.prepare(*outputs, inputs=inputs)
    except svod.ArgumentError as error:
        return str(error)


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("memory", [svod.Tensor, svod.from_numpy])
def test_a_read_that_needs_no_kernel_makes_no_plan_stale(name: str, memory: Callable[..., svod.Tensor]) -> None:
    """A part that was looked at is a value: a plan over it would not follow the input. It is refused, or does."""
    x = memory(np.arange(N, dtype=np.float32))
    y = VIEWS[name](x)
    seen = y.tolist()
    result = y * 2
    plan = prepared(result, x * 3, inputs=[x])
    if isinstance(plan, str):
        assert "before, by a read or a copy" in plan
        assert y.tolist() == seen
        plan = svod.prepare(VIEWS[name](x) * 2, x * 3, inputs=[x])
    given = np.array([7, 3, 5, 1], np.float32)
    np.testing.assert_allclose(plan.run(given)[0].numpy(), (VIEWS[name](svod.Tensor(given)) * 2).numpy(), atol=1e-6)


@pytest.mark.parametrize("copy", [lambda x: x.clone(), lambda x: svod.Tensor(x + 1)])
def test_a_copy_of_an_input_follows_it_or_is_refused(copy: Callable[[svod.Tensor], svod.Tensor]) -> None:
    x = svod.Tensor(array(1))
    plan = svod.prepare(copy(x) * 2, x * 3, inputs=[x])
    np.testing.assert_array_equal(plan.run(array(7))[0].numpy(), copy(svod.Tensor(array(7))).numpy() * 2)
    # Of memory that its owner may write, a copy was made.
    x = svod.from_numpy(array(1))
    with pytest.raises(svod.ArgumentError, match="made of input 0"):
        svod.prepare(copy(x) * 2, x * 3, inputs=[x])


def test_a_part_that_a_program_has_realized_is_a_constant() -> None:
    x = svod.Tensor(np.arange(N, dtype=np.float32)) + 1
    x.numpy()
    y = x.reshape(2, 2).realize()
    plan = svod.prepare(y * 2, x * 3, inputs=[x])
    plan.execute(array(7))
    assert plan.outputs[0].tolist() == [[2, 4], [6, 8]] and plan.outputs[1].tolist() == [21] * N
    # What it is a part of is still what a read computed.
    a = svod.Tensor(array(1))
    b = a + 1
    b.numpy()
    b.reshape(2, 2).realize()
    with pytest.raises(svod.ArgumentError, match="before, by a read or a copy"):
        svod.prepare(a * 2, b * 2, inputs=[a])


def test_an_input_that_is_an_output_is_copied() -> None:
    x = svod.Tensor(array(1))
    y = x.reshape(2, 2)
    p = svod.prepare(y, inputs=[x])
    p.execute()
    seen, held = y * 1, y.numpy()
    p.inputs[0][:] = 7
    np.testing.assert_array_equal(y.numpy().ravel(), array(1))
    p.execute()
    np.testing.assert_array_equal(y.numpy().ravel(), array(7))
    np.testing.assert_array_equal(seen.numpy().ravel(), array(1))
    np.testing.assert_array_equal(held.ravel(), array(1))
    p.release_all()
    np.testing.assert_array_equal(p.inputs[0].numpy(), array(7))


def test_an_output_of_borrowed_memory_shows_the_latest_run() -> None:
    own = array(1)
    borrowed = svod.from_numpy(own)
    y = borrowed.reshape(2, 2).reshape(N)
    p = svod.prepare(y, borrowed + 1)
    p.execute()
    out = p.outputs[1]
    own[:] = 4
    np.testing.assert_array_equal(out.numpy(), array(2))
    p.execute()
    np.testing.assert_array_equal(out.numpy(), array(5))


def test_an_output_as_an_input_follows() -> None:
    _, y, p = doubled()
    a = svod.Tensor(array(0))
    z = a + 1
    q = z.prepare(inputs=[a])
    for value in (1, 2, 3):
        p.execute(array(value))
        q.execute(y)
        np.testing.assert_array_equal(z.numpy(), array(2 * value + 1))
    # A plan's own output, too.
    p.execute(array(1))
    for power in range(2, 6):
        p.execute(y)
        np.testing.assert_array_equal(y.numpy(), array(2**power))


def test_a_jitted_function_reads_what_a_handle_shows_at_the_call() -> None:
    _, y, p = doubled()
    p.execute(array(1))
    f = svod.jit(lambda a: a + y)
    first = f(array(0))
    p.execute(array(4))
    np.testing.assert_array_equal(f(array(0)).numpy(), array(8))
    np.testing.assert_array_equal(first.numpy(), array(2))
    assert f.traces == 1


def test_outputs_that_are_spread_keep_their_values() -> None:
    x = svod.Tensor(array(1)).shard(["CPU", "CPU:1"], axis=0).realize()
    y = x * 2
    p = y.prepare(inputs=[x])
    early = y + 1
    with pytest.raises(svod.StaleError):
        early.numpy()
    p.execute()
    seen, copy = y + 1, y.clone()
    p.execute(array(5))
    for tensor, value in ((early, 3), (seen, 3), (copy, 2), (y, 10)):
        np.testing.assert_array_equal(tensor.numpy(), array(value))


def test_outputs_without_elements_and_constants() -> None:
    empty = svod.zeros(0, 3) + 1
    constant = svod.full(N, 3.0)
    pending = svod.Tensor(array(1)) + 1
    p = svod.prepare(empty, constant, pending)
    p.execute()
    clones = [t.clone() for t in p.outputs]
    p.execute()
    assert [t.shape for t in clones] == [(0, 3), (N,), (N,)]
    np.testing.assert_array_equal(clones[1].numpy(), array(3))
    np.testing.assert_array_equal(clones[2].numpy(), array(2))


def test_intermediates_go_and_outputs_stay() -> None:
    x = svod.Tensor(np.arange(N, dtype=np.float32))
    y = x.sort()[0].reshape(2, 2)
    p = y.prepare(inputs=[x])
    p.execute()
    p.release_intermediates()
    np.testing.assert_array_equal(y.numpy().ravel(), np.arange(N))


def test_the_sole_owner_is_overwritten_in_place() -> None:
    _, y, p = doubled()
    p.execute(array(1))
    places = set()
    for _ in range(5):
        p.execute(array(2))
        places.add(y.numpy().__array_interface__["data"][0])
    assert len(places) == 1
    held = y.numpy()
    p.execute()
    assert y.numpy().__array_interface__["data"][0] != held.__array_interface__["data"][0]


@pytest.mark.parametrize("size", [N, 1 << 18])
def test_numbers_written_to_a_copy_are_in_the_copy_alone(size: int) -> None:
    x = svod.zeros(size).contiguous().realize()
    y = x + 1
    p = y.prepare(inputs=[x])
    p.execute()
    copy = y.clone()
    other = y.numpy()
    for i in range(20):
        copy[i % N] = float(i)
    assert copy.tolist()[:N] == [16, 17, 18, 19]
    assert y.tolist()[:N] == [1] * N and other[:N].tolist() == [1] * N
    y[1] = 7.0
    assert y.tolist()[:N] == [1, 7, 1, 1] and p.outputs[0].tolist()[:N] == [1] * N


def test_memory_goes_with_its_last_reader() -> None:
    size = 1 << 20
    x = svod.zeros(size, dtype=svod.uint8).contiguous().realize()
    y = x + 1
    p = y.prepare(inputs=[x])
    p.execute()
    before = svod.memory()["CPU"]["live"]
    seen = [y.clone()]
    p.execute()
    seen.append(y.clone())
    p.execute()
    assert svod.memory()["CPU"]["live"] == before + 2 * size
    del seen
    assert svod.memory()["CPU"]["live"] == before


def test_no_run_is_seen_in_part() -> None:
    size = 1 << 16
    x = svod.zeros(size).contiguous().realize()
    y = x + 1
    p = y.prepare(inputs=[x])
    p.execute(np.zeros(size, np.float32))
    a = svod.zeros(size).contiguous().realize()
    z = a * 2
    q = z.prepare(inputs=[a])
    stop = threading.Event()

    def write() -> None:
        value = 0
        while not stop.is_set():
            value = (value + 1) % 100
            p.execute(np.full(size, value, np.float32))

    def read(_: int) -> int:
        values = set()
        for _ in range(25):
            (fresh,) = q.instance().run(y)
            for tensor in (fresh, y + 0.0, y):
                seen = np.unique(tensor.numpy())
                assert len(seen) == 1
                values.add(float(seen[0]))
            later = (y + 1).prepare()
            later.execute()
            assert len(np.unique(later.outputs[0].numpy())) == 1
        return len(values)

    with ThreadPoolExecutor(3) as pool:
        writer = pool.submit(write)
        try:
            assert all(pool.map(read, range(2)))
        finally:
            stop.set()
            # A run that fails says why there was nothing to read.
            writer.result()


def test_whoever_reads_while_plans_run_sees_a_run() -> None:
    """Building never waits and reading does: neither is told that there is no value, which there always is."""
    _, y, p = doubled()
    p.execute(array(1))
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            p.execute()

    def read(_: int) -> None:
        for _ in range(2000):
            assert y.tolist() == [2] * N
            assert (y + 1).tolist() == [3] * N

    with ThreadPoolExecutor(3) as pool:
        writer = pool.submit(write)
        try:
            list(pool.map(read, range(2)))
        finally:
            stop.set()
        writer.result()
