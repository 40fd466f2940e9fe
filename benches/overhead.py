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


def calls() -> dict[str, tuple[float, int]]:
    """Seconds of one call that builds a graph, and the operations that it adds, by what a model says."""
    functional = svod.nn.functional
    x, y = (svod.Tensor(np.ones((8, 16), np.float32)) for _ in range(2))
    w, b = svod.Tensor(np.ones((16, 16), np.float32)), svod.Tensor(np.ones(16, np.float32))
    mask, at = svod.Tensor(np.ones((8, 16), bool)), svod.Tensor(np.zeros((8, 16), np.int64))
    rows, many = svod.Tensor(np.zeros(5, np.int64)), svod.Tensor(np.zeros(1_000_000, np.int64))
    heads, image = svod.Tensor(np.ones((2, 4, 16, 8), np.float32)), svod.Tensor(np.ones((2, 3, 16, 16), np.float32))
    filters = svod.Tensor(np.ones((4, 3, 3, 3), np.float32))
    linear = svod.nn.Linear(16, 16)
    svod.realize(*linear.parameters())
    known: dict[str, Callable[[], Any]] = {
        "`x.exp()`": lambda: x.exp(),
        "`x.relu()`": lambda: x.relu(),
        "`x.gelu()`": lambda: x.gelu(),
        "`x + y`": lambda: x + y,
        "`x + b`, broadcast": lambda: x + b,
        "`x * 0.5`": lambda: x * 0.5,
        "`1 - x`": lambda: 1 - x,
        "`x < y`": lambda: x < y,
        "`x.clamp(0, 1)`": lambda: x.clamp(0, 1),
        "`x.half()`": lambda: x.half(),
        "`x.reshape(4, 32)`": lambda: x.reshape(4, 32),
        "`x.view((4, -1))`": lambda: x.view((4, -1)),
        "`x.flatten()`": lambda: x.flatten(),
        "`heads.permute(0, 2, 1, 3)`": lambda: heads.permute(0, 2, 1, 3),
        "`heads.transpose(1, 2)`": lambda: heads.transpose(1, 2),
        "`x.unsqueeze(0)`": lambda: x.unsqueeze(0),
        "`b.expand(8, 16)`": lambda: b.expand(8, 16),
        "`x.pad(((1, 1), (0, 2)))`": lambda: x.pad(((1, 1), (0, 2))),
        "`x.sum()`": lambda: x.sum(),
        "`x.sum(-1)`": lambda: x.sum(-1),
        "`x.mean(-1, keepdim=True)`": lambda: x.mean(-1, keepdim=True),
        "`x.max(axis=1)`": lambda: x.max(axis=1),
        "`x.argmax(-1)`": lambda: x.argmax(-1),
        "`x.var(-1)`": lambda: x.var(-1),
        "`x.softmax(-1)`": lambda: x.softmax(-1),
        "`x.log_softmax(-1)`": lambda: x.log_softmax(-1),
        "`layer_norm(x, (16,), b, b)`": lambda: functional.layer_norm(x, (16,), b, b),
        "`x @ w`": lambda: x @ w,
        "`linear(x)`": lambda: linear(x),
        "`attention(heads, heads, heads)`": lambda: functional.scaled_dot_product_attention(heads, heads, heads),
        "`einsum('ij,jk->ik', x, w)`": lambda: svod.einsum("ij,jk->ik", x, w),
        "`conv2d(image, filters)`": lambda: functional.conv2d(image, filters),
        "`max_pool2d(image, 2)`": lambda: functional.max_pool2d(image, 2),
        "`x[3]`": lambda: x[3],
        "`x[1:3]`": lambda: x[1:3],
        "`x[:, ::2]`": lambda: x[:, ::2],
        "`x[:, ::-1]`": lambda: x[:, ::-1],
        "`x[:, None]`": lambda: x[:, None],
        "`x[..., 0]`": lambda: x[..., 0],
        "`heads[:, 0, 1:3, ::2]`": lambda: heads[:, 0, 1:3, ::2],
        "`x[rows]`": lambda: x[rows],
        "`x[many]`, a million": lambda: x[many],
        "`x.split(4, 1)`": lambda: x.split(4, 1),
        "`cat([x, y])`": lambda: svod.cat([x, y]),
        "`cat([x, y, x, y], 1)`": lambda: svod.cat([x, y, x, y], 1),
        "`stack([x, y])`": lambda: svod.stack([x, y]),
        "`where(mask, x, y)`": lambda: svod.where(mask, x, y),
        "`x.masked_fill(mask, -1e9)`": lambda: x.masked_fill(mask, -1e9),
        "`x.gather(1, at)`": lambda: x.gather(1, at),
        "`x.scatter_add(1, at, y)`": lambda: x.scatter_add(1, at, y),
        "`w.embedding(rows)`": lambda: w.embedding(rows),
        "`x.cumsum(1)`": lambda: x.cumsum(1),
        "`w.tril()`": lambda: w.tril(),
        "`x.topk(2)`": lambda: x.topk(2),
        "`x.roll(1, 0)`": lambda: x.roll(1, 0),
        "`zeros(8, 16)`": lambda: svod.zeros(8, 16),
        "`arange(16)`": lambda: svod.arange(16),
    }

    def added(made: Any) -> int:
        tensors = made if isinstance(made, list | tuple) else [made]
        lines = {line.split("  #")[0] for tensor in tensors for line in tensor.graph().splitlines()}
        return max(1, len([line for line in lines if line.startswith("%") and "= leaf " not in line]))

    return {name: (best(call, 300), added(call())) for name, call in known.items()}


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


def table_of_calls(figures: dict[str, tuple[float, int]]) -> str:
    head = "| building, a call, from Python | µs | operations | µs an operation |\n|---|---:|---:|---:|"
    rows = [
        f"| {name} | {seconds * 1e6:.2f} | {count} | {seconds / count * 1e6:.2f} |"
        for name, (seconds, count) in figures.items()
    ]
    return "\n".join([head, *rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures svod's overhead.")
    parser.add_argument("--rust", action="store_true", help="run the bench in Rust, too")
    parser.add_argument("--output", type=Path, help="write this Markdown file")
    options = parser.parse_args()
    parts = [
        table("one run, from Python", runs()),
        table("a run, a kernel of a chain, from Python", kernels()),
        table("building, an operation of a chain, from Python", operations()),
        table_of_calls(calls()),
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
