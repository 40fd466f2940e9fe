#!/usr/bin/env python3
"""One plan for all sizes beside a plan made for each: all-MiniLM-L6-v2 at ten batches and lengths.

    python benches/symbolic.py [--rounds 20] [--output docs/benchmarks/symbolic.md]

The two plans of a size run in turns, on the same inputs; a time is the least of all rounds, of a whole run,
and summed over kernels.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import sys
import time
from math import exp, log
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from report import heading

import svod

ROOT = Path(__file__).parents[1]
SIZES = ((1, 8), (1, 16), (1, 50), (1, 128), (2, 33), (4, 64), (8, 16), (8, 100), (16, 40), (32, 20))


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("embed", ROOT / "examples" / "embed.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def prepared(model: Any, batch: Any, length: Any) -> svod.ExecutionPlan:
    ids, mask = (svod.empty(batch, length, dtype=svod.int64) for _ in range(2))
    plan: svod.ExecutionPlan = model(ids, mask).prepare(inputs=[ids, mask])
    return plan


@dataclasses.dataclass
class Times:
    """The least times of a plan's runs, in seconds."""

    run: float = float("inf")
    kernels: list[float] = dataclasses.field(default_factory=list)

    def add(self, run: float, kernels: list[float]) -> None:
        self.run = min(self.run, run)
        self.kernels = [min(pair) for pair in zip(self.kernels or kernels, kernels, strict=True)]


def measure(plans: list[svod.ExecutionPlan], arrays: list[np.ndarray], rounds: int, seconds: float) -> list[Times]:
    """The least times of each plan, run in turns: of a whole run, and of each kernel, which a machine that does other
    things as well disturbs less."""
    best = [Times() for _ in plans]
    begin = time.perf_counter()
    done = 0
    while done < rounds or time.perf_counter() - begin < seconds:
        for i, plan in enumerate(plans):
            start = time.perf_counter()
            plan.execute(*arrays)
            run = time.perf_counter() - start
            best[i].add(run, [timing.time for timing in plan.execute_profiled(*arrays).kernels])
        done += 1
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="runs of each plan, at least (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each size, at least (default: %(default)s)")
    parser.add_argument("--threads", type=int, help="of the runs (default: as many as the machine has)")
    parser.add_argument("--output", type=Path, help="where to write the table")
    options = parser.parse_args()
    if options.threads is not None:
        svod.set_threads(options.threads)
    model = example().load()
    start = time.perf_counter()
    one = prepared(model, svod.Variable("batch", 1, 32), svod.Variable("length", 1, 256))
    compiled = time.perf_counter() - start
    lines = [
        heading("One plan for all sizes", svod.get_threads(), f"code for {svod.target().cpu}"),
        "all-MiniLM-L6-v2: a plan with symbolic batch (1 to 32) and length (1 to 256), beside a plan made for each",
        f"size; both run in turns, least time of at least {options.rounds} runs. The symbolic plan took"
        f" {compiled * 1e3:.0f} ms to prepare, once.",
        "",
        "| batch | length | fixed, run ms | symbolic | ratio | fixed, sum of kernels ms | symbolic | ratio |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines[-2:]))
    ratios: list[float] = []
    rng = np.random.default_rng(0)
    for batch, length in SIZES:
        ids = rng.integers(1000, 30000, (batch, length))
        mask = (np.arange(length) < np.linspace(length, max(1, length // 2), batch)[:, None]).astype(np.int64)
        times = measure([prepared(model, batch, length), one], [ids, mask], options.rounds, options.seconds)
        cells = []
        for fixed, symbolic in ([t.run for t in times], [sum(t.kernels) for t in times]):
            cells += [f"{fixed * 1e3:.2f}", f"{symbolic * 1e3:.2f}", f"{symbolic / fixed:.2f}"]
        ratios.append(symbolic / fixed)
        lines.append(f"| {batch} | {length} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    mean = exp(sum(map(log, ratios)) / len(ratios))
    lines += ["", f"Ratio of the sums of kernels: geometric mean {mean:.2f}, worst {max(ratios):.2f}.", ""]
    print(lines[-2])
    if options.output is not None:
        options.output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
