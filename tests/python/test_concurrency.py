"""Threads that share everything public: right results, no deadlock, memory that stays as it is."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import random
import signal
import threading
import weakref

import numpy as np
import pytest
from threads import PATIENCE, THREADS, in_threads

import svod

RUNS = 1000


def live_bytes() -> int:
    gc.collect()
    return sum(device["live"] for device in svod.memory().values())


def rows(seed: int, n: int = 8) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, 16)).astype(np.float32)


def model(x: svod.Tensor) -> svod.Tensor:
    w = svod.Tensor(np.linspace(-1, 1, 256, dtype=np.float32).reshape(16, 16))
    return (x @ w).softmax(-1).sum(0) + x.max(axis=0)


def test_separate_instances() -> None:
    x = svod.Tensor(rows(0))
    plan = model(x).prepare(inputs=[x])
    given = [rows(seed) for seed in range(THREADS)]
    expected = [model(svod.Tensor(a)).numpy() for a in given]
    instances = [plan.instance() for _ in range(THREADS)]
    for instance, array in zip(instances, given, strict=True):
        # The earlier content of inputs is kept from the first one on that replaces it.
        instance.execute(array)
    before = live_bytes()

    def work(i: int) -> None:
        for run in range(RUNS):
            instances[i].execute(given[i])
            if run % 100 == 0:
                np.testing.assert_array_equal(instances[i].outputs[0].numpy(), expected[i])

    in_threads(work)
    assert live_bytes() == before


def test_one_shared_plan() -> None:
    # Whoever reads sees the result of one run, whole: never a mixture of two.
    x = svod.Tensor(np.zeros((64, 64), np.float32))
    plan = (x + x.sum(1, keepdim=True)).prepare(inputs=[x])
    given = [np.full((64, 64), i, np.float32) for i in range(THREADS)]
    plan.execute(given[0])
    before = live_bytes()

    def work(i: int) -> None:
        for run in range(RUNS):
            plan.execute(given[i])
            if run % 20 == 0:
                seen = plan.outputs[0].numpy()
                assert seen.min() == seen.max() and seen[0, 0] in {65 * j for j in range(THREADS)}

    in_threads(work)
    assert live_bytes() == before


def test_one_symbolic_plan() -> None:
    n = svod.Variable("n", 1, 32)
    x = svod.empty(n.bind(8), 16)
    plan = (x * 2).sum(0).prepare(inputs=[x])

    def work(i: int) -> None:
        own = plan.instance()
        for run in range(RUNS // 10):
            size = 1 + (7 * i + run) % 32
            a = rows(run, size)
            own.execute(a, n=size)
            np.testing.assert_allclose(own.outputs[0].numpy(), (2 * a).sum(0), rtol=1e-4, atol=1e-4)

    in_threads(work)


def test_prepare_in_parallel() -> None:
    # The same kernels by all threads at once, and kernels that each thread has alone.
    a = rows(1)

    def work(i: int) -> None:
        for run in range(10):
            x = svod.Tensor(a)
            shared, own = model(x) * 3 + run, (x[:, : 1 + i] * (run + 1)).sum(1)
            plan = svod.prepare(shared, own, inputs=[x])
            plan.execute()
            np.testing.assert_allclose(own.numpy(), a[:, : 1 + i].sum(1) * (run + 1), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(shared.numpy(), model(svod.Tensor(a)).numpy() * 3 + run, rtol=1e-5)

    in_threads(work)


def test_one_lazy_tensor_is_realized_by_all() -> None:
    for _ in range(20):
        x = svod.Tensor(rows(2))
        y = model(x)
        results: list[np.ndarray] = [np.empty(0)] * THREADS

        def work(i: int, y: svod.Tensor = y, results: list[np.ndarray] = results) -> None:
            results[i] = (y + 1).numpy() if i % 2 else y.numpy() + 1

        in_threads(work)
        # One value to all who read it; what is computed with it in one kernel may round otherwise.
        assert all(np.array_equal(r, results[0]) for r in results[::2])
        for r in results[1::2]:
            np.testing.assert_allclose(r, results[0], rtol=1e-6, atol=1e-6)


def test_drop_in_any_order() -> None:
    shared = [svod.Tensor(rows(seed)) for seed in range(THREADS)]
    plans = [model(x).prepare(inputs=[x]) for x in shared]
    before = live_bytes()

    def work(i: int) -> None:
        order = random.Random(i)
        held: list[object] = []
        for _ in range(RUNS // 5):
            x = shared[order.randrange(THREADS)]
            match order.randrange(4):
                case 0:
                    held.append((x + order.randrange(5)).realize())
                case 1:
                    own = plans[order.randrange(THREADS)].instance()
                    own.execute(rows(i))
                    held += [own, own.outputs[0]]
                case 2:
                    held.append(x * 2 + 1)
                case _:
                    order.shuffle(held)
                    del held[len(held) // 2 :]

    in_threads(work)
    assert live_bytes() == before


def test_memory_is_flat_over_many_runs() -> None:
    f = svod.jit(model)
    f(rows(0))
    before = live_bytes()
    for seed in range(RUNS):
        f(rows(seed % 10))
    assert live_bytes() == before


def test_fork_while_threads_run() -> None:
    """A child may use whatever the process was at work on: forks wait for the other threads' work in svod."""
    x = svod.Tensor(rows(0))
    plan = model(x).prepare(inputs=[x])
    jitted = svod.jit(model)
    stop = threading.Event()
    sizes = itertools.count(1)

    def busy() -> None:
        while not stop.is_set():
            plan.execute(rows(1))
            plan.outputs[0].numpy()
            jitted(rows(1))

    def tracing() -> None:
        while not stop.is_set():
            jitted(np.ones((next(sizes) % 50 + 1, *rows(0).shape[1:]), np.float32))

    others = [threading.Thread(target=work) for work in (busy, busy, tracing)]
    for thread in others:
        thread.start()
    try:
        for seed in range(5):
            given = rows(seed)
            expected = model(svod.Tensor(given)).numpy()
            pid = os.fork()
            if pid == 0:
                signal.alarm(PATIENCE)
                plan.execute(given)
                right = np.array_equal(plan.outputs[0].numpy(), expected)
                right &= np.allclose(jitted(given).numpy(), expected)
                svod.clear_caches()
                right &= svod.jit(lambda a: model(a) * 3)(given).shape == expected.shape
                ctypes.CDLL(None)._exit(0 if right else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        stop.set()
        for thread in others:
            thread.join()


def test_fork_from_a_function_of_a_plan() -> None:
    """The thread that forks is there in the child, with the locks that it holds."""
    codes = []

    def forks(a: np.ndarray) -> np.ndarray:
        pid = os.fork()
        if pid == 0:
            signal.alarm(PATIENCE)
            ctypes.CDLL(None)._exit(int((svod.Tensor(a) + 1).sum().item()))
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        return a

    assert svod.custom(forks, svod.Tensor([1.0, 2.0])).tolist() == [1.0, 2.0]
    assert codes == [5]


def test_an_error_in_one_thread_is_its_own() -> None:
    n = svod.Variable("n", 1, 32)
    x = svod.empty(n.bind(8), 16)
    plan = (x * 2).prepare(inputs=[x])

    def work(i: int) -> None:
        own = plan.instance()
        for run in range(RUNS // 10):
            if i % 2:
                with pytest.raises(svod.Error):
                    own.execute(n=33)
                with pytest.raises(svod.ShapeError):
                    svod.Tensor(rows(0)) @ svod.Tensor(rows(1))
            else:
                a = rows(run)
                own.execute(a, n=8)
                np.testing.assert_array_equal(own.outputs[0].numpy(), a * 2)

    in_threads(work)


def test_c8_exceptions_of_functions_in_plans_of_many_threads() -> None:
    class OwnError(Exception):
        pass

    def positive(a: np.ndarray) -> np.ndarray:
        if a.min() < 0:
            raise OwnError(a.min())
        return np.sqrt(a)

    x = svod.Tensor(np.ones(16, np.float32))
    plan = (svod.custom(positive, x * 1, shape=(16,), dtype=svod.float32) + 1).prepare(inputs=[x])
    before = live_bytes()

    def work(i: int) -> None:
        own = plan.instance()
        for run in range(RUNS // 10):
            if (run + i) % 3 == 0:
                with pytest.raises(OwnError, match=str(-1 - i)):
                    own.execute(np.full(16, -1 - i, np.float32))
                with pytest.raises(svod.StaleError):
                    own.outputs[0].numpy()
            else:
                own.execute(np.full(16, i * i, np.float32))
                assert own.outputs[0].tolist() == [i + 1] * 16

    in_threads(work)
    assert live_bytes() == before


def test_ctrl_c_while_other_threads_run() -> None:
    x = svod.Tensor(np.ones((300, 300), np.float32))
    t = x
    for _ in range(4000):
        t = (t @ x) * 1e-3
    long = t.prepare(inputs=[x])
    small = (x + 1).prepare(inputs=[x])
    results: list[bool] = []

    def work() -> None:
        own = small.instance()
        for _ in range(RUNS):
            own.execute()
            results.append(own.outputs[0].numpy()[0, 0] == 2)

    other = threading.Thread(target=work)
    other.start()

    def interrupted() -> None:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        long.execute()

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    other.join(PATIENCE)
    assert not other.is_alive() and len(results) == RUNS and all(results)


CYCLES = ["tensor", "sum", "several", "plan", "both", "nested", "twice", "loop", "loops", "graph", "trace"]


@pytest.mark.parametrize("kept", CYCLES)
def test_cycles_through_functions_are_collected(kept: str) -> None:
    """Issue 6: an object that keeps what its own function computes, and a plan with it."""

    class Owner:
        def __init__(self) -> None:
            self.x = svod.Tensor(rows(0)).realize()
            computed = svod.custom(self.work, self.x)
            if kept == "sum":
                self.kept: object = (computed + 1).sum()
            elif kept == "several":
                self.kept = svod.custom(self.work, self.x, shape=[(8, 16)])[0]
            elif kept == "plan":
                self.kept = (computed + svod.custom(self.work, computed)).prepare(inputs=[self.x])
            elif kept == "both":
                self.kept = (computed, (computed + 1).prepare(inputs=[self.x]))
            elif kept == "nested":
                self.kept = svod.custom(self.work, svod.custom(lambda a: self.work(a), self.x))
            elif kept == "twice":
                self.kept = computed * computed + svod.custom(self.work, computed.exp())
            elif kept == "loop":
                self.kept = svod.iterate(2, lambda i, v: v + svod.custom(self.work, v), self.x)
            elif kept == "loops":
                inner = lambda v: svod.iterate(2, lambda i, w: w * svod.custom(self.work, w), v)  # noqa: E731
                self.kept = svod.iterate(2, lambda i, v: inner(v) + 1, self.x)
            elif kept == "graph":
                self.kept = svod.Graph(computed * computed + computed.exp())
            elif kept == "trace":
                self.kept = computed
                self.traced = svod.jit(lambda a, own=self: a * own.x)
                self.traced(self.x)
            else:
                self.kept = computed

        def work(self, a: np.ndarray) -> np.ndarray:
            return a

    Owner()
    gc.collect()
    before = live_bytes()
    owners = [weakref.ref(Owner()) for _ in range(3)]
    gc.collect()
    assert all(owner() is None for owner in owners)
    assert live_bytes() == before
    # What others hold as well lives on.
    owner = Owner()
    shared = svod.custom(owner.work, owner.x) + 1
    last = weakref.ref(owner)
    del owner
    gc.collect()
    assert last() is not None
    np.testing.assert_array_equal(shared.numpy(), rows(0) + 1)
    gc.collect()
    assert last() is None


def test_reads_beside_assignments_have_one_of_the_values() -> None:
    """What is assigned while a read computes is read by the next one."""
    w, stop = svod.ones(8, 8).realize(), threading.Event()

    def assign() -> None:
        k = 0
        while not stop.is_set():
            w.assign(svod.full((8, 8), float(k % 5)))
            k += 1

    writer = threading.Thread(target=assign)
    writer.start()
    try:
        for _ in range(20_000):
            found = w.numpy()
            assert (found == found[0, 0]).all()
    finally:
        stop.set()
        writer.join()


def test_reads_beside_do_not_undo_assignments() -> None:
    """What a read has found is the tensor's no more where another thread has assigned to it meanwhile."""
    w, stop = svod.zeros(8, 8).realize(), threading.Event()

    def read() -> None:
        while not stop.is_set():
            w.numpy()

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for k in range(10_000):
            w.assign(svod.full((8, 8), float(k)))
            assert (w.numpy() == k).all()
    finally:
        stop.set()
        for reader in readers:
            reader.join()
