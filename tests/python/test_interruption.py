"""Interrupts, other threads, forks, and things dropped in any order."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading

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
