#!/usr/bin/env python3
"""What svod costs around its kernels: building a graph, preparing it, starting a run.

    python benches/overhead.py [--rust] [--output docs/benchmarks/overhead.md]

Each figure is the best of some repetitions. `--rust` adds those of `cargo bench -p svod-tensor
--bench overhead`, which are criterion's estimates.
"""

from __future__ import annotations

import argparse
import functools
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from report import heading

import svod

ROOT = Path(__file__).parents[1]
SECONDS = 0.3
UNITS = {"ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def best(call: Callable[[], Any], times: int) -> float:
    """Seconds of a call, made `times` in a row."""
    found = float("inf")
    end = perf_counter() + SECONDS
    while perf_counter() < end:
        start = perf_counter()
        for _ in range(times):
            call()
        found = min(found, (perf_counter() - start) / times)
    return found


def operations() -> dict[str, float]:
    """Seconds an operation while a graph is built, by what it is."""
    x, w = svod.Tensor(np.ones((4, 8), np.float32)), svod.Tensor(np.ones((8, 8), np.float32))
    steps: dict[str, Callable[[Any], Any]] = {
        "`y + x`": lambda y: y + x,
        "`y * 0.999`": lambda y: y * 0.999,
        "`y.relu()`": lambda y: y.relu(),
        "`y @ w`": lambda y: y @ w,
        "`y.flip(0)`": lambda y: y.flip(0),
        "`y.softmax(-1)`, some 8 operations": lambda y: y.softmax(-1),
    }

    def chain(step: Callable[[Any], Any]) -> None:
        y = x
        for _ in range(1000):
            y = step(y)

    return {name: best(functools.partial(chain, step), 1) / 1000 for name, step in steps.items()}


def runs() -> dict[str, float]:
    """Seconds of a run of one kernel."""
    found = {}
    for count in (1, 1000):
        x = svod.Tensor(np.ones(count, np.float32))
        plan = svod.prepare(x + 1, inputs=[x])
        step = svod.jit(lambda x: x + 1)
        step(x)
        found[f"`plan.execute()`, {count} elements"] = best(plan.execute, 1000)
        found[f"`plan.execute(x)`, {count} elements"] = best(lambda: plan.execute(x), 1000)  # noqa: B023
        found[f"a jitted function, {count} elements"] = best(lambda: step(x), 1000)  # noqa: B023
        found[f"`(x + 1).realize()`, {count} elements"] = best(lambda: (x + 1).realize(), 100)  # noqa: B023
    return found


def kernels() -> dict[str, float]:
    """Seconds a kernel of a run of so many small ones, each of which reads what the one before wrote."""
    found = {}
    for count in (1, 10, 100):
        x = svod.Tensor(np.ones(64, np.float32))
        y = x
        for _ in range(count):
            y = (y + x).contiguous()
        plan = svod.prepare(y, inputs=[x], skip="merge")
        if len(plan.kernels) != count:
            raise RuntimeError(f"{len(plan.kernels)} kernels, not {count}")
        found[f"`plan.execute()`, {count} kernels of 64 elements"] = best(plan.execute, 1000 // count) / count
    return found


def preparing() -> dict[str, float]:
    """Seconds an operation to prepare a chain of 10,000, whose kernels are known."""
    x = svod.Tensor(np.ones(64, np.float32))

    def chain() -> Any:
        y = x
        for _ in range(5000):
            y = (y + x) * 0.999
        return y

    def seconds(**options: Any) -> float:
        y = chain()
        start = perf_counter()
        svod.prepare(y, **options)
        return perf_counter() - start

    seconds()
    return {
        "known": min(seconds() for _ in range(5)) / 10_000,
        "scheduled anew": min(seconds(schedule_cache=False) for _ in range(5)) / 10_000,
    }


def rust() -> dict[str, float]:
    """The figures of the bench in Rust."""
    command = ["cargo", "bench", "-q", "-p", "svod-tensor", "--bench", "overhead", "--", "--warm-up-time", "0.2"]
    command += ["--measurement-time", "0.5"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    found, name = {}, ""
    for line in text.splitlines():
        # A long name has a line of its own.
        timed = re.search(r"time:\s+\[\S+ \S+ (\S+) (ns|µs|us|ms|s) ", line)
        own = line.split("time:")[0].strip()
        name = own or name
        if timed:
            seconds = float(timed[1]) * UNITS[timed[2]]
            each = re.match(r"(?:build|prepare/.*|run/kernel)/(\d+)$", name)
            found[name] = seconds / int(each[1]) if each else seconds
    return found


def table(title: str, figures: dict[str, float]) -> str:
    rows = [f"| {name} | {seconds * 1e6:.2f} |" for name, seconds in figures.items()]
    return "\n".join([f"| {title} | µs |", "|---|---:|", *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures svod's overhead.")
    parser.add_argument("--rust", action="store_true", help="run the bench in Rust, too")
    parser.add_argument("--output", type=Path, help="write this Markdown file")
    options = parser.parse_args()
    parts = [
        table("one run, from Python", runs()),
        table("a run, a kernel of a chain, from Python", kernels()),
        table("building, an operation, from Python", operations()),
        table("preparing, an operation of a chain of 10,000, from Python", preparing()),
    ]
    if options.rust:
        parts.append(table("from Rust: building and preparing an operation, a run, a kernel of one", rust()))
    head = heading("Overhead", svod.get_threads(), "best times")
    text = "\n".join([head, *parts])
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
