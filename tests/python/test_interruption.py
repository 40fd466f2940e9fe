"""Interrupts, other threads, forks, and things dropped in any order."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import svod


def interrupt_after(seconds: float) -> None:
    # To the process, as a terminal does, so that the handler must be asked for.
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


def test_ctrl_c_during_a_run() -> None:
    given = svod.Tensor(np.ones((700, 700), np.float32))
    t = given
    for _ in range(2000):
        t = (t @ given) * 1e-3
    p = t.prepare(inputs=[given])
    small = svod.Tensor(np.ones(3, np.float32))
    interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt):
        p.execute()
    with pytest.raises(svod.StaleError):
        p.outputs[0].numpy()
    with pytest.raises(svod.StaleError):
        (t + 1).numpy()
    assert (small + 1).tolist() == [2, 2, 2]


def test_other_threads_run_while_svod_computes() -> None:
    count = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal count
        while not stop.wait(0.001):
            count += 1

    thread = threading.Thread(target=tick)
    thread.start()
    t = svod.ones(600, 600)
    for _ in range(60):
        t = (t @ svod.ones(600, 600).contiguous()) * 1e-3
    t.realize()
    stop.set()
    thread.join()
    assert count > 3


def test_drop_in_any_order() -> None:
    script = (
        "import gc, random, svod\n"
        "for seed in range(5):\n"
        "    random.seed(seed)\n"
        "    live = [svod.rand(10)]\n"
        "    for _ in range(200):\n"
        "        live.append(random.choice(live) + random.choice(live) * 0.5)\n"
        "        if len(live) > 20: live.pop(random.randrange(len(live)))\n"
        "        if random.random() < 0.1: random.choice(live).realize()\n"
        "t = svod.zeros(3)\n"
        "for _ in range(100_000): t = t + svod.Tensor([1.0]).numpy()[0].item()\n"
        "del t\n"
        "print('fine')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr


def test_fork() -> None:
    y = (svod.ones(64, 64) @ svod.ones(64, 64)).realize()
    pid = os.fork()
    if pid == 0:
        ok = (y * 2).sum().item() == 64 * 64 * 64 * 2
        ctypes.CDLL(None)._exit(0 if ok else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class Gate:
    """A function of a plan that says when it is called, and goes on when it is let."""

    def __init__(self) -> None:
        self.inside, self.open = threading.Event(), threading.Event()

    def __call__(self, a: np.ndarray) -> np.ndarray:
        self.inside.set()
        assert self.open.wait(60)
        return a + 1


def waits_for_a_plan(y: svod.Tensor, plan: svod.ExecutionPlan) -> None:
    plan.execute()


def waits_for_an_output(y: svod.Tensor, plan: svod.ExecutionPlan) -> None:
    plan.outputs[0].numpy()


def waits_for_a_value(y: svod.Tensor, plan: svod.ExecutionPlan) -> None:
    y.realize()


@pytest.mark.parametrize("wait", [waits_for_a_plan, waits_for_an_output, waits_for_a_value])
def test_ctrl_c_ends_a_wait_for_another_thread(wait: Callable[[svod.Tensor, svod.ExecutionPlan], None]) -> None:
    gate = Gate()
    y, z = (svod.custom(gate, svod.Tensor(np.ones(4, np.float32))) for _ in range(2))
    plan = z.prepare()
    work = y.realize if wait is waits_for_a_value else plan.execute
    thread = threading.Thread(target=work)
    thread.start()
    assert gate.inside.wait(60)
    interrupt_after(0.1)
    with pytest.raises(KeyboardInterrupt):
        wait(y, plan)
    gate.open.set()
    thread.join()
    wait(y, plan)
    assert y.tolist() == [2] * 4 and (plan.execute(), plan.outputs[0].tolist())[1] == [2] * 4


def test_plans_whose_functions_run_each_other() -> None:
    # Each function waits until both plans run, and then runs the other one.
    both = threading.Barrier(2)
    x = svod.Tensor(np.ones(4, np.float32))
    plans: list[svod.ExecutionPlan] = []
    met: set[int] = set()

    def other(i: int) -> Callable[[np.ndarray], np.ndarray]:
        def call(a: np.ndarray) -> np.ndarray:
            if i not in met:
                met.add(i)
                both.wait(60)
            plans[1 - i].execute()
            return a

        call.__name__ = ["first", "second"][i]
        return call

    plans += [(svod.custom(other(i), x) + i).prepare(inputs=[x]) for i in range(2)]
    errors: list[svod.Error] = []

    def work(i: int) -> None:
        try:
            plans[i].execute()
        except svod.ExecutionError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    # Who is refused first frees the other, whose function then comes back to its own plan.
    assert [error.kind for error in errors] == ["deadlock", "reentrant"]
    assert "the plan of `first`" in str(errors[0]) and "the plan of `second`" in str(errors[0]), errors[0]


@pytest.mark.parametrize("waiting", [False, True])
def test_fork_waits_neither_for_a_function_nor_for_who_waits_for_one(waiting: bool) -> None:
    gate = Gate()
    y, z = (svod.custom(gate, svod.Tensor(np.ones(4, np.float32))) for _ in range(2))
    plan = z.prepare()
    threads = [threading.Thread(target=work) for work in (plan.execute, y.realize)]
    for thread in threads:
        gate.inside.clear()
        thread.start()
        assert gate.inside.wait(60)
    if waiting:
        works: list[Callable[[], object]] = [plan.execute, lambda: plan.outputs[0].numpy(), y.realize]
        waiters = [threading.Thread(target=work) for work in works]
        for thread in waiters:
            thread.start()
        threads += waiters
        # Now and then they look around, and some look when the process forks.
        time.sleep(0.2)
    start = time.monotonic()
    pid = os.fork()
    if pid == 0:
        # The child has none of the threads: the value is computed by itself, the plan is lost.
        gate.open.set()
        ok = y.tolist() == [2] * 4 and (svod.ones(3) * 2).tolist() == [2] * 3
        try:
            plan.execute()
        except svod.ExecutionError as error:
            ok = ok and error.kind == "forked"
        else:
            ok = False
        ctypes.CDLL(None)._exit(0 if ok else 1)
    waited = time.monotonic() - start
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    gate.open.set()
    for thread in threads:
        thread.join()
    # A fork waits for ten seconds for what does not end.
    assert waited < 5
    assert y.tolist() == [2] * 4 and plan.outputs[0].tolist() == [2] * 4
