#!/usr/bin/env python3
"""The heuristic's schedules beside those that a search finds, over the cases of compare.py.

Each case is in a process of its own, both plans in turn; times are the best of all runs. A search starts from
an empty cache on disk and may take so many seconds a case: kernels that it does not come to keep the
heuristic's schedule. Of cases with many kernels those are counted that differ.

    python benches/beam.py [--cases softmax,matmul-512] [--width 2] [--output docs/benchmarks/beam.md]

Rows are written as they are measured, to a JSON file beside the output; with `--keep`, cases that it has are not
measured again, so that a run that was ended goes on where it was.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from math import exp, log
from pathlib import Path
from typing import Any

import report

import svod
from cases import CASES, Case
from systems.base import Job, as_tuple
from systems.svod import Ops

# What the search finds is a lead for the heuristic where it takes less than this share of the time.
LEAD = 0.9

# How long something took, as logs say it.
TIME = r"([\d.]+)(ns|µs|ms|s)"
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}

NOTES = """
Times of plans are the best of all runs, of both plans in turn in one process. Where no kernel is changed the two are
one plan: their ratio is 1, and only one is timed. Of a plan of one kernel it is what the search itself measured when it
chose, both schedules in pairs; of several kernels, most of which the search may have left as they were, it is that of
the plans' times. Where the search ended before it had come to all kernels, the others have the heuristic's schedule.
"""


@dataclass(frozen=True)
class Row:
    """A case's figures; seconds."""

    name: str
    kernels: int
    changed: int
    heuristic: float
    beam: float
    search: float
    # The time of the schedules that the search took, of the heuristic's, by its own pairs.
    paired: float | None = None

    @property
    def ratio(self) -> float:
        """Of the search's time to the heuristic's: 1 by definition where the plans are one."""
        if self.changed == 0:
            return 1.0
        return self.paired if self.paired and self.kernels == 1 else self.beam / self.heuristic

    def __str__(self) -> str:
        beam = f"{self.beam * 1e3:.3f}" if self.changed else ""
        return (
            f"| {self.name} | {self.changed} of {self.kernels} | {self.heuristic * 1e3:.3f} | {beam} "
            f"| {self.ratio:.2f} | {self.search:.0f} |"
        )


def measured(case: Case, width: int, threads: int, seconds: float, limit: int) -> Row:
    """Both plans of a case, in this process."""
    job = Job(case.program, list(case.inputs()), list(case.weights()), threads)
    weights = [svod.Tensor(array) for array in job.weights]

    def prepared(**options: Any) -> svod.ExecutionPlan:
        inputs = [svod.Tensor(array) for array in job.inputs]
        outputs = as_tuple(job.program(Ops(), *inputs, *weights))
        return svod.prepare(*outputs, inputs=inputs, threads=threads, **options)

    base = prepared()
    start = time.perf_counter()
    found = prepared(strategy=f"beam:{width}", search_secs=limit)
    search = time.perf_counter() - start
    pairs = zip(base.kernels, found.kernels, strict=True)
    changed = sum(a.schedules != b.schedules for a, b in pairs)
    plans = (base, found) if changed else (base,)
    best = [float("inf")] * len(plans)
    end = time.perf_counter() + len(plans) * seconds
    while time.perf_counter() < end:
        for i, plan in enumerate(plans):
            begin = time.perf_counter()
            plan.execute()
            best[i] = min(best[i], time.perf_counter() - begin)
    return Row(case.name, len(base.kernels), changed, best[0], best[-1], search)


def in_process(case: Case, options: argparse.Namespace) -> Row | None:
    """The same in a process of its own, with a cache of its own; none where it fails or takes far too long."""
    command = [sys.executable, __file__, "--one", case.name]
    for name in ("width", "seconds", "threads", "limit"):
        command += [f"--{name}", str(getattr(options, name))]
    with tempfile.TemporaryDirectory() as folder:
        # It says then what it measured.
        environment = os.environ | {"SVOD_CACHE_DIR": folder, "SVOD_DEBUG": "1"}
        try:
            patience = 4 * (options.limit + options.seconds) + 60
            run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=patience)
        except subprocess.TimeoutExpired:
            print(f"{case.name}: no end after {patience:.0f} s", file=sys.stderr)
            return None
    if run.returncode != 0:
        print(f"{case.name}: {run.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return Row(**json.loads(run.stdout) | {"paired": paired(run.stderr)})


def paired(log: str) -> float | None:
    """The time of what a search took, of the heuristic's, by what it says of its pairs; none where it chose nothing."""
    base = taken = 0.0
    for line in log.splitlines():
        if found := re.search(rf": {TIME} to {TIME}, (not )?taken$", line):
            old, new = (float(found[i]) * UNITS[found[i + 1]] for i in (1, 3))
            base += old
            taken += old if found[5] else new
    return taken / base if base else None


def page(rows: list[Row], options: argparse.Namespace) -> str:
    mean = exp(sum(log(row.ratio) for row in rows) / len(rows)) if rows else 1.0
    leads = [row.name for row in sorted(rows, key=lambda row: row.ratio) if row.ratio < LEAD]
    lines = [
        report.heading("A search beside the heuristic", options.threads, f"svod {importlib.metadata.version('svod')}"),
        f"{' '.join(NOTES.split())}\n",
        "| case | kernels changed | heuristic ms | beam ms | beam / heuristic | search s |",
        "|---|---:|---:|---:|---:|---:|",
        *map(str, rows),
        f"\nGeometric mean of {len(rows)} cases: beam takes **{mean:.2f} ×** the heuristic's time. "
        f"Beam is faster by more than 10 % in: {', '.join(leads) or 'none'}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures what a search for schedules brings.")
    parser.add_argument("--cases", help="groups or beginnings of names, separated by commas")
    parser.add_argument("--width", type=int, default=2, help="of the search (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="time of a plan (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=60, help="seconds of a case's search (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    parser.add_argument("--keep", action="store_true", help="keep the output's rows")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        (case,) = (case for case in CASES if case.name == options.one)
        alone = measured(case, options.width, options.threads, options.seconds, options.limit)
        print(json.dumps(asdict(alone)))
        return
    raw = options.output.with_suffix(".json") if options.output else None
    known: dict[str, Row] = {}
    if options.keep and raw and raw.exists():
        known = {name: Row(**row) for name, row in json.loads(raw.read_text()).items()}
    wanted = options.cases.split(",") if options.cases else [""]
    for case in (case for case in CASES if case.matches(wanted) and case.name not in known):
        if (row := in_process(case, options)) is None:
            continue
        known[case.name] = row
        print(row, flush=True)
        if raw:
            raw.write_text(json.dumps({name: asdict(row) for name, row in known.items()}, indent=1) + "\n")
            options.output.write_text(page([known[c.name] for c in CASES if c.name in known], options))
    print(page([known[case.name] for case in CASES if case.name in known], options))


if __name__ == "__main__":
    main()
