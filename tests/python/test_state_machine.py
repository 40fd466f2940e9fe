"""Random sequences of everything that a tensor can go through, against an eager model.

Integer arithmetic is exact, so a result is right or wrong: a stale or aliased one shows at once.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import svod

FULL = os.environ.get("SVOD_TEST_FULL") == "1"
SEEDS = 200 if FULL else 12
STEPS = 300 if FULL else 120
SHAPE = (3, 4)
KEPT = 8


class Node:
    """A value of the model: of an expression that is computed when asked for, until it is forced."""

    def __init__(self, apply: Callable[..., np.ndarray], *sources: Node) -> None:
        self.apply, self.sources = apply, sources
        self.forced: np.ndarray | None = None

    def value(self) -> np.ndarray:
        return self.forced if self.forced is not None else self.apply(*(s.value() for s in self.sources))

    def force(self) -> np.ndarray:
        if self.forced is None:
            self.forced = self.value().copy()
        return self.forced


def constant(array: np.ndarray) -> Node:
    node = Node(lambda: array)
    node.forced = array.copy()
    return node


BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b % 1009,
    lambda a, b: a ^ b,
]
UNARY: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
    (lambda t: t + 3, lambda a: a + 3),
    (lambda t: t.flip(1), lambda a: np.flip(a, 1)),
    (lambda t: t - t.sum(0, keepdim=True) % 101, lambda a: a - a.sum(0, keepdims=True) % 101),
    (lambda t: svod.cat([t[1:], t[:1]]), lambda a: np.concatenate([a[1:], a[:1]])),
    (lambda t: t.T.reshape(SHAPE), lambda a: a.T.reshape(SHAPE)),
    (lambda t: t.cumsum(1) % 997, lambda a: a.cumsum(1) % 997),
]
SLICES: list[Any] = [0, (slice(None), 2), slice(1, 3), (slice(None, None, 2), slice(None, None, -1)), (1, 1)]


class Machine:
    def __init__(self, seed: int, pool: ThreadPoolExecutor) -> None:
        self.random = random.Random(seed)
        self.arrays = np.random.default_rng(seed)
        self.pool = pool
        self.live: list[tuple[svod.Tensor, Node]] = []
        self.handed_out: list[tuple[np.ndarray, np.ndarray]] = []
        self.create()

    def array(self, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
        return np.asarray(self.arrays.integers(-50, 50, shape))

    def pick(self) -> tuple[svod.Tensor, Node]:
        return self.random.choice(self.live)

    def add(self, tensor: svod.Tensor, node: Node) -> None:
        self.live.append((tensor, node))

    def replace(self, tensor: svod.Tensor, node: Node) -> None:
        self.live = [(t, node if t is tensor else n) for t, n in self.live]

    def read(self, tensor: svod.Tensor, node: Node) -> None:
        expected = node.force().copy()
        result = self.pool.submit(tensor.numpy).result() if self.random.random() < 0.3 else tensor.numpy()
        np.testing.assert_array_equal(result, expected)
        self.handed_out.append((result, expected))

    # What may happen

    def create(self) -> None:
        array = self.array()
        self.add(svod.Tensor(array), constant(array))

    def build(self) -> None:
        (a, x), (b, y) = self.pick(), self.pick()
        apply = self.random.choice(BINARY)
        # The constant makes the expression one of its own: equal ones are forced together.
        salt = int(self.arrays.integers(1 << 40))
        self.add(apply(a, b) + salt, Node(lambda p, q: apply(p, q) + salt, x, y))

    def build_unary(self) -> None:
        a, x = self.pick()
        mine, theirs = self.random.choice(UNARY)
        salt = int(self.arrays.integers(1 << 40))
        self.add(mine(a) ^ salt, Node(lambda p: theirs(p) ^ salt, x))

    def realize(self) -> None:
        tensor, node = self.pick()
        node.force()
        if self.random.random() < 0.3:
            self.pool.submit(tensor.realize).result()
        else:
            assert tensor.realize() is tensor

    def look(self) -> None:
        self.read(*self.pick())

    def draw(self) -> None:
        tensor = svod.randint(0, 1000, SHAPE)
        later = tensor + 1
        array = tensor.numpy().copy()
        self.add(tensor, constant(array))
        self.add(later, constant(array + 1))

    def assign(self) -> None:
        (tensor, _), (value, node) = self.pick(), self.pick()
        tensor.assign(value)
        self.replace(tensor, node)

    def assign_slice(self) -> None:
        tensor, node = self.pick()
        index = self.random.choice(SLICES)
        value = self.array(np.empty(SHAPE)[index].shape)
        tensor[index] = value

        def written(array: np.ndarray) -> np.ndarray:
            array = array.copy()
            array[index] = value
            return array

        self.replace(tensor, Node(written, node))

    def borrow(self) -> None:
        """Pending expressions see what the caller writes; forced ones keep their value."""
        array = self.array()
        leaf = Node(lambda: array)
        borrowed = svod.from_numpy(array)
        kept, seen = borrowed * 5 - 1, borrowed * 7 - 2
        self.read(kept, Node(lambda a: a * 5 - 1, leaf))
        before = array.copy()
        array[:] = self.array()
        np.testing.assert_array_equal(kept.numpy(), before * 5 - 1)
        np.testing.assert_array_equal(seen.numpy(), array * 7 - 2)
        np.testing.assert_array_equal(borrowed.numpy(), array)

    def plan(self) -> None:
        """A plan over a fresh input, which no read has seen: what reads computed on their way follows no input."""
        (other, of), array = self.pick(), self.array()
        given, apply, salt = svod.Tensor(array), self.random.choice(BINARY), int(self.arrays.integers(1 << 40))
        self.add(given, constant(array))
        self.add(given ^ salt, constant(array ^ salt))
        tensor, content = apply(other, given) + salt, [array.copy()]
        run = Node(lambda p: apply(p, content[0]) + salt, of)
        shared, node = tensor * 3, Node(lambda p: (apply(p, array) + salt) * 3, of)
        self.add(shared, node)
        plan = tensor.prepare(inputs=[given])
        with pytest.raises(svod.StaleError):
            tensor.numpy()
        instance = plan.instance() if self.random.random() < 0.3 else plan
        for _ in range(self.random.randrange(1, 4)):
            if self.random.random() < 0.7:
                content[0] = self.array()
                instance.execute(content[0])
            else:
                instance.execute()
            result = instance.outputs[0].numpy()
            np.testing.assert_array_equal(result, run.value())
            self.handed_out.append((result, run.value().copy()))
        plan.execute(content[0])
        # The handle is at the plan's result, and keeps it when it is copied.
        np.testing.assert_array_equal(tensor.numpy(), run.value())
        self.add(svod.Tensor(tensor.numpy()), constant(run.value()))

    def drop(self) -> None:
        while len(self.live) > KEPT or (len(self.live) > 1 and self.random.random() < 0.5):
            self.live.pop(self.random.randrange(len(self.live)))

    def check(self) -> None:
        for tensor, node in self.live:
            self.read(tensor, node)
        for result, expected in self.handed_out:
            np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_state_machine(seed: int) -> None:
    with ThreadPoolExecutor(2) as pool:
        machine = Machine(seed, pool)
        steps = [
            machine.create,
            machine.build,
            machine.build,
            machine.build_unary,
            machine.build_unary,
            machine.realize,
            machine.look,
            machine.draw,
            machine.assign,
            machine.assign_slice,
            machine.borrow,
            machine.plan,
            machine.drop,
        ]
        for _ in range(STEPS):
            machine.random.choice(steps)()
        machine.check()
