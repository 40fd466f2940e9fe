"""Random sequences over several plans and instances, against values that never change.

Only the tensor given to `prepare` and `plan.outputs[i]` follow a plan. Whatever else is taken of them, by any way, has
the value of the run that it saw, or of the next one that succeeds if there was none; of a plan that is dropped before
any, what it was made of. Integers are exact, so that a stale, torn or aliased result shows at once. A failure names the
seed and the steps that led to it.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pytest

import svod

FULL = os.environ.get("SVOD_TEST_FULL") == "1"
SEEDS = 100 if FULL else 8
STEPS = 200 if FULL else 60
SHAPES = [(3, 4), (3, 1000)]
LIVE, PLANS, HELD = 8, 4, 40
PRIME = 1009
ROWS = svod.Variable("rows", 1, 3)


class Value:
    """A value of the model; none while it is awaited, by itself or by what it is made of."""

    def __init__(self, apply: Callable[..., np.ndarray], *sources: Value) -> None:
        self.apply, self.sources = apply, sources
        self.array: np.ndarray | None = None

    def get(self) -> np.ndarray | None:
        if self.array is None and self.sources:
            arrays = [source.get() for source in self.sources]
            if all(array is not None for array in arrays):
                self.array, self.sources = self.apply(*arrays), ()
        return self.array


def known(array: np.ndarray) -> Value:
    value = Value(lambda: array)
    value.array = array.copy()
    return value


class Request(Exception):
    """What a function of the host raises where it is told to."""


class Source:
    """What all instances of a plan have in common: how a run's outputs follow from its inputs and its variable."""

    def __init__(self, runs: Callable[[list[np.ndarray], int], list[np.ndarray]], symbolic: bool) -> None:
        self.runs, self.symbolic = runs, symbolic
        self.fails = False
        self.calls = False


class Instance:
    """The model of an instance of a plan."""

    def __init__(self, plan: svod.ExecutionPlan, source: Source, inputs: list[np.ndarray], rows: int) -> None:
        self.plan, self.source, self.inputs, self.rows = plan, source, inputs, rows
        self.shown: list[np.ndarray] | None = None
        self.handles = list(plan.outputs)
        self.awaited = [Value(lambda: np.empty(0)) for _ in self.handles]
        # What the outputs are if no run ever succeeds: other instances and plans that call functions keep nothing.
        self.made_of: list[np.ndarray] | None = None

    def ran(self) -> None:
        self.made_of = None
        self.shown = self.source.runs(self.inputs, self.rows)
        for value, array in zip(self.awaited, self.shown, strict=True):
            value.array = array.copy()
        self.awaited = [Value(lambda: np.empty(0)) for _ in self.handles]

    def drop(self) -> None:
        """There is no further run."""
        del self.plan
        for value, array in zip(self.awaited, self.made_of or [], strict=False):
            value.array = array.copy()

    def seen(self, i: int) -> Value:
        """What is made of output `i` now."""
        return self.awaited[i] if self.shown is None else known(self.shown[i])


def with_row(array: np.ndarray, row: int, number: int) -> np.ndarray:
    array = array.copy()
    array[row] = number
    return array


class Machine:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.arrays = np.random.default_rng(seed)
        self.shape = self.random.choice(SHAPES)
        self.live: list[tuple[svod.Tensor, Value]] = []
        self.plans: list[Instance] = []
        self.held: list[tuple[Any, np.ndarray]] = []
        self.create()
        self.prepare()

    # Choices

    def array(self, shape: tuple[int, ...] | None = None) -> np.ndarray:
        return np.asarray(self.arrays.integers(0, PRIME, self.shape if shape is None else shape))

    def salt(self) -> int:
        return self.random.randrange(PRIME)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def pick(self) -> tuple[svod.Tensor, Value]:
        """A tensor, perhaps one that follows a plan, and what is made of it now."""
        if self.plans and self.chance(0.4):
            return self.output()
        return self.random.choice(self.live)

    def output(self) -> tuple[svod.Tensor, Value]:
        instance = self.random.choice(self.plans)
        i = self.random.randrange(len(instance.handles))
        return instance.handles[i], instance.seen(i)

    def resolved(self) -> tuple[svod.Tensor, np.ndarray]:
        """A tensor that has a value."""
        for _ in range(4):
            tensor, value = self.pick()
            array = value.get()
            if array is not None:
                return tensor, array
        array = self.array()
        return svod.Tensor(array), array

    def add(self, tensor: svod.Tensor, value: Value) -> None:
        self.live.append((tensor, value))
        if len(self.live) > LIVE:
            self.live.pop(self.random.randrange(len(self.live)))

    def hold(self, taken: Any, expected: np.ndarray) -> None:
        self.held.append((taken, expected.copy()))
        if len(self.held) > HELD:
            self.held.pop(self.random.randrange(len(self.held)))

    def read(self, tensor: svod.Tensor, value: Value) -> None:
        expected = value.get()
        if expected is None:
            with pytest.raises(svod.StaleError):
                tensor.numpy()
            return
        result = tensor.numpy()
        np.testing.assert_array_equal(result, expected)
        self.hold(result, expected)

    # Tensors

    def create(self) -> None:
        array = self.array()
        self.add(svod.Tensor(array), known(array))

    def build(self) -> None:
        (a, x), (b, y), salt = self.pick(), self.pick(), self.salt()
        self.add((a * 3 + b + salt) % PRIME, Value(lambda p, q: (p * 3 + q + salt) % PRIME, x, y))

    def copy(self) -> None:
        """Copies, each by another way; views too, which are values."""
        (tensor, value), target = self.pick(), svod.zeros(self.shape, dtype=svod.int64)
        ways: list[Callable[[], svod.Tensor]] = [
            lambda: tensor.clone(),
            lambda: svod.Tensor(tensor),
            lambda: target.assign(tensor),
            lambda: target.copy_(tensor),
            lambda: tensor.reshape(-1).reshape(self.shape),
            lambda: svod.cat([tensor]),
            lambda: tensor.contiguous(),
            lambda: tensor.detach(),
            lambda: self.written(target, tensor),
        ]
        self.add(self.random.choice(ways)(), value)

    @staticmethod
    def written(target: svod.Tensor, value: svod.Tensor) -> svod.Tensor:
        target[:] = value
        return target

    def borrow(self) -> None:
        """What is copied of borrowed memory, and what was read, keeps its value; what is pending follows."""
        array, salt = self.array(), self.salt()
        before, borrowed = array.copy(), svod.from_numpy(array)
        pending, other = borrowed * 2 + salt, borrowed * 5 + salt
        copied = pending.clone() if self.chance(0.5) else svod.Tensor(pending)
        self.add(copied, known(before * 2 + salt))
        self.add(svod.zeros(self.shape, dtype=svod.int64).assign(borrowed), known(before))
        if self.chance(0.5):
            pending.realize()
            self.add(pending, known(before * 2 + salt))
        array[:] = self.array()
        np.testing.assert_array_equal(other.numpy(), array * 5 + salt)
        if self.chance(0.5):
            self.run(self.random.choice(self.plans), [borrowed], [array])
            array[:] = self.array()

    def look(self) -> None:
        self.read(*self.pick())

    def take(self) -> None:
        """An array that may be the very memory."""
        tensor, array = self.resolved()
        ways: list[Callable[[], Any]] = [
            lambda: tensor.numpy(),
            lambda: np.asarray(tensor),
            lambda: np.from_dlpack(tensor),
        ]
        self.hold(self.random.choice(ways)(), array)

    def realize(self) -> None:
        tensor, value = self.random.choice(self.live)
        if value.get() is not None:
            tensor.realize()

    def assign(self) -> None:
        """A live tensor gets another value, in whole or in part; nothing else does."""
        (tensor, old), (given, value) = self.random.choice(self.live), self.pick()
        try:
            if self.chance(0.5):
                tensor.assign(given)
            else:
                row, number = self.random.randrange(self.shape[0]), self.salt()
                tensor[row] = number
                value = Value(lambda array: with_row(array, row, number), old)
        except svod.ArgumentError as error:
            # A view of a tensor that is in use keeps its value.
            if "view" not in str(error):
                raise
            return
        # One tensor may be there under two names.
        self.live = [(t, value if t is tensor else v) for t, v in self.live]

    def jit(self) -> None:
        """A function over a closure: what its handle holds at the call."""
        (kept, value), salt = self.pick(), self.salt()
        function = svod.jit(lambda a: (a + kept * 2 + salt) % PRIME)
        for _ in range(2):
            array, now = self.array(), value.get()
            if now is None:
                return
            result = function(svod.Tensor(array))
            self.add(result, known((array + now * 2 + salt) % PRIME))

    def drop(self) -> None:
        if len(self.live) > 1:
            self.live.pop(self.random.randrange(len(self.live)))
        if len(self.plans) > 1 and self.chance(0.5):
            self.plans.pop(self.random.randrange(len(self.plans))).drop()
        if self.held and self.chance(0.5):
            self.held.pop(self.random.randrange(len(self.held)))

    def clear(self) -> None:
        svod.clear_caches()

    # Plans

    def prepare(self) -> None:
        """A plan of one of several kinds, over fresh inputs and what others hold."""
        fresh = [self.array(), self.array()]
        x, y = (svod.Tensor(array) for array in fresh)
        other, constant = self.resolved()
        salt, kind = self.salt(), self.random.randrange(4)
        source = Source(lambda arrays, rows: [], symbolic=kind == 2)
        tensors: list[svod.Tensor]
        if kind == 0:
            tensors = [(x * 2 + other + salt) % PRIME]
            inputs, source.runs = [x], lambda a, rows: [(a[0] * 2 + constant + salt) % PRIME]
        elif kind == 1:
            tensors = [(x * y + salt) % PRIME, (x - y.flip(1) + other) % PRIME]
            inputs = [x, y]
            source.runs = lambda a, rows: [
                (a[0] * a[1] + salt) % PRIME,
                (a[0] - np.flip(a[1], 1) + constant) % PRIME,
            ]
        elif kind == 2:
            tensors = [(x + x[: ROWS.bind(2)].sum(0) + other + salt) % PRIME]
            inputs, source.runs = [x], lambda a, rows: [(a[0] + a[0][:rows].sum(0) + constant + salt) % PRIME]
        else:

            def called(array: np.ndarray) -> np.ndarray:
                if source.fails:
                    raise Request
                return (array * 7 + salt) % PRIME

            source.calls = True
            tensors = [svod.custom(called, (x + y) % PRIME, shape=self.shape, dtype=svod.int64), (x + other) % PRIME]
            inputs = [x, y]
            source.runs = lambda a, rows: [((a[0] + a[1]) % PRIME * 7 + salt) % PRIME, (a[0] + constant) % PRIME]
        later = (tensors[0] + 1 for _ in range(1))
        plan = svod.prepare(*tensors, inputs=inputs)
        instance = Instance(plan, source, fresh[: len(inputs)], 2)
        instance.made_of = None if source.calls else source.runs(fresh, 2)
        del plan
        # The tensors given are handles that follow the plan as its outputs do.
        instance.handles = [self.random.choice(pair) for pair in zip(tensors, instance.plan.outputs, strict=True)]
        self.add(next(later), Value(lambda a: a + 1, instance.seen(0)))
        for given, array in zip(inputs, fresh, strict=False):
            self.add(given, known(array))
        self.plans.append(instance)
        if len(self.plans) > PLANS:
            self.plans.pop(self.random.randrange(len(self.plans) - 1)).drop()

    def prepare_awaited(self) -> None:
        """What has no value yet cannot be part of a plan."""
        tensor, value = self.output()
        if value.get() is None:
            with pytest.raises(svod.StaleError):
                (tensor + self.salt()).prepare()

    def instance(self) -> None:
        of = self.random.choice(self.plans)
        self.plans.append(Instance(of.plan.instance(), of.source, [a.copy() for a in of.inputs], of.rows))
        if len(self.plans) > PLANS:
            self.plans.pop(0).drop()

    def execute(self) -> None:
        instance = self.random.choice(self.plans)
        if self.chance(0.3):
            return self.run(instance, [], [])
        given: list[Any] = []
        arrays: list[np.ndarray] = []
        for _ in instance.inputs:
            fresh = self.array()
            tensor, array = self.resolved() if self.chance(0.5) else (fresh, fresh)
            given.append(tensor)
            arrays.append(array)
        self.run(instance, given, arrays)

    def run(self, instance: Instance, given: list[Any], arrays: list[np.ndarray]) -> None:
        """Runs on inputs, if there are as many as the plan has; perhaps with another value of its variable."""
        if len(given) not in (0, len(instance.inputs)):
            return
        rows = self.random.choice([1, 2, 3]) if instance.source.symbolic and self.chance(0.5) else None
        instance.plan.execute(*given, **({} if rows is None else {"rows": rows}))
        if arrays:
            instance.inputs = [array.copy() for array in arrays]
        if rows is not None:
            instance.rows = rows
        instance.ran()

    def call(self) -> None:
        """Fresh outputs; the plan keeps what it shows, but for one that calls functions of the host, which runs."""
        instance = self.random.choice(self.plans)
        if instance.source.calls:
            return
        arrays = [self.array() for _ in instance.inputs]
        expected = instance.source.runs(arrays, instance.rows)
        for tensor, array in zip(instance.plan.run(*arrays), expected, strict=True):
            self.add(tensor, known(array))

    def fail(self) -> None:
        """Runs that fail before they begin change nothing; those that fail on the way leave inputs and variables."""
        instance = self.random.choice(self.plans)
        count = len(instance.inputs)
        if instance.source.calls and self.chance(0.7):
            instance.source.fails = True
            with pytest.raises(Request):
                instance.plan.execute(*(self.array() for _ in range(count)) if self.chance(0.7) else ())
            instance.source.fails = False
            instance.shown = None
            return
        good, bad = [self.array() for _ in range(count)], self.array((2, 2))
        wrong: list[Any] = [[*good[:-1], bad], [*good[:-1], good[-1].astype(np.float32)], [*good, bad]]
        with pytest.raises(svod.Error):
            instance.plan.execute(*self.random.choice(wrong))
        if instance.source.symbolic:
            with pytest.raises(svod.Error):
                instance.plan.execute(*good, rows=4)

    def release(self) -> None:
        instance = self.random.choice(self.plans)
        instance.plan.release_all()
        instance.shown = None

    def side_by_side(self) -> None:
        """One thread runs a plan, others read what it shows: each sees one whole run."""
        instance = self.random.choice(self.plans)
        feeds = [[self.array() for _ in instance.inputs] for _ in range(6)]
        self.run(instance, feeds[0], feeds[0])
        runs = [instance.source.runs(feed, instance.rows) for feed in feeds]
        start = threading.Barrier(3)

        def execute() -> None:
            start.wait()
            for feed in feeds:
                instance.plan.execute(*feed)

        def see() -> list[tuple[int, Any]]:
            start.wait()
            seen: list[tuple[int, Any]] = []
            for step in range(12):
                i = step % len(instance.handles)
                seen.append((i, (instance.handles[i] if step % 3 else instance.handles[i].clone()).numpy()))
            return seen

        with ThreadPoolExecutor(3) as pool:
            writer, readers = pool.submit(execute), [pool.submit(see) for _ in range(2)]
            writer.result()
            for i, array in (one for reader in readers for one in reader.result()):
                matching = [run[i] for run in runs if np.array_equal(run[i], array)]
                assert matching, "a reader saw what no run wrote"
                self.hold(array, matching[0])
        instance.inputs = feeds[-1]
        instance.ran()

    def check(self) -> None:
        for tensor, value in self.live:
            self.read(tensor, value)
        for instance in self.plans:
            for i, handle in enumerate(instance.handles):
                shown = instance.shown
                if shown is None:
                    with pytest.raises(svod.Error):
                        handle.numpy()
                else:
                    np.testing.assert_array_equal(handle.numpy(), shown[i])
            for given, array in zip(instance.plan.inputs, instance.inputs, strict=True):
                np.testing.assert_array_equal(given.numpy(), array)
        for taken, expected in self.held:
            np.testing.assert_array_equal(taken, expected)

    STEPS: ClassVar[dict[Callable[[Machine], None], int]] = {
        create: 1,
        build: 3,
        copy: 4,
        borrow: 2,
        look: 2,
        take: 3,
        realize: 1,
        assign: 2,
        jit: 1,
        drop: 1,
        clear: 1,
        prepare: 2,
        prepare_awaited: 1,
        instance: 1,
        execute: 6,
        call: 1,
        fail: 2,
        release: 1,
        side_by_side: 1,
    }


def walk(seed: int, steps: int) -> None:
    """So many steps; a failure says how to see it again, with the steps that led to it."""
    machine, taken = Machine(seed), []
    names, weights = list(Machine.STEPS), list(Machine.STEPS.values())
    try:
        for at in range(steps):
            step = machine.random.choices(names, weights)[0]
            taken.append(step.__name__)
            step(machine)
            if at % 10 == 9:
                taken.append("check")
                machine.check()
        machine.check()
    except BaseException as error:
        error.add_note(f"walk({seed}, {steps}), after {' '.join(taken[-30:])}")
        raise


@pytest.mark.parametrize("seed", range(SEEDS))
def test_several_plans(seed: int) -> None:
    walk(seed, STEPS)


@pytest.mark.parametrize("seed", range(0, SEEDS, 4))
def test_several_plans_in_several_threads(seed: int) -> None:
    with ThreadPoolExecutor(3) as pool:
        for walked in [pool.submit(walk, seed * 1000 + thread, STEPS // 2) for thread in range(3)]:
            walked.result()
