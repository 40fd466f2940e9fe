#!/usr/bin/env python3
"""The heuristic's schedules beside those that a search finds, over cases of compare.py.

Both plans of a case are in one process and run in turn; times are the best of all runs. The search
starts from an empty cache on disk.

    python benches/beam.py [--cases softmax,matmul-512] [--width 2] [--output docs/benchmarks/beam.md]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

import report

import svod
from cases import CASES, Case
from systems.base import Job, as_tuple
from systems.svod import Ops

CHOSEN = (
    "matmul-64,matmul-128,matmul-512,conv-3x3-4x64x56x56,conv-depthwise-4x128x56x56,sum-4096-axis0,"
    "softmax-4096-axis1,layernorm-8192x768,permute-8x128x12x32,attention-4x12x256x64"
)


@dataclass(frozen=True)
class Row:
    """A case's figures; seconds."""

    name: str
    kernels: int
    changed: int
    heuristic: float
    beam: float
    search: float

    @property
    def ratio(self) -> float:
        return self.beam / self.heuristic

    def __str__(self) -> str:
        return (
            f"| {self.name} | {self.changed} of {self.kernels} | {self.heuristic * 1e3:.3f} | {self.beam * 1e3:.3f} "
            f"| {self.ratio:.2f} | {self.search:.0f} |"
        )


def measured(case: Case, width: int, threads: int, seconds: float) -> Row:
    """Both plans of a case."""
    job = Job(case.program, list(case.inputs()), list(case.weights()), threads)
    weights = [svod.Tensor(array) for array in job.weights]

    def prepared(**options: Any) -> svod.ExecutionPlan:
        inputs = [svod.Tensor(array) for array in job.inputs]
        outputs = as_tuple(job.program(Ops(), *inputs, *weights))
        return svod.prepare(*outputs, inputs=inputs, threads=threads, **options)

    base = prepared()
    start = time.perf_counter()
    found = prepared(strategy=f"beam:{width}")
    search = time.perf_counter() - start
    best = [float("inf")] * 2
    end = time.perf_counter() + 2 * seconds
    while time.perf_counter() < end:
        for i, plan in enumerate((base, found)):
            begin = time.perf_counter()
            plan.execute()
            best[i] = min(best[i], time.perf_counter() - begin)
    pairs = zip(base.kernels, found.kernels, strict=True)
    changed = sum(a.schedule != b.schedule for a, b in pairs)
    return Row(case.name, len(base.kernels), changed, best[0], best[1], search)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures what a search for schedules brings.")
    parser.add_argument("--cases", default=CHOSEN, help="groups or names, separated by commas")
    parser.add_argument("--width", type=int, default=2, help="of the search (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2.0, help="time of a plan (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SVOD_CACHE_DIR"] = folder
        lines = [
            f"`python benches/beam.py {' '.join(sys.argv[1:])}`, {time.strftime('%Y-%m-%d')}\n",
            f"{report.machine(options.threads)}, svod {importlib.metadata.version('svod')}, width {options.width}\n",
            "| case | kernels changed | heuristic ms | beam ms | beam / heuristic | search s |",
            "|---|---:|---:|---:|---:|---:|",
        ]
        print("\n".join(lines), flush=True)
        rows = []
        wanted = options.cases.split(",")
        for case in (case for case in CASES if case.name in wanted or any(word in wanted for word in case.groups)):
            rows.append(measured(case, options.width, options.threads, options.seconds))
            lines.append(str(rows[-1]))
            print(lines[-1], flush=True)
    mean = exp(sum(log(row.ratio) for row in rows) / len(rows)) if rows else 1.0
    lines.append(f"\nGeometric mean: beam takes **{mean:.2f} ×** the heuristic's time.")
    print(lines[-1])
    if options.output:
        options.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
