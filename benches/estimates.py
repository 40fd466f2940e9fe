#!/usr/bin/env python3
"""How far svod's estimates are from the times that it measures, over the cases of compare.py.

Each case runs in a process of its own, after the machine's rates were measured once. Estimated is
the sum over the items of `plan.analysis()`, measured the sum of each item's least time over some
runs of `execute_profiled`.

    python benches/estimates.py [--cases matmul,minilm] [--output docs/benchmarks/estimates.md]

With `--keep`, the rows that a JSON file beside the output has of an earlier run are kept for cases that are not
measured now, so that a machine that is quiet for a minute at a time is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from math import exp, log
from pathlib import Path
from typing import Any

import report

from cases import CASES, Case

# Estimates within this factor of the measured time are right.
FACTOR = 2.0


def figures(case: Case, seconds: float) -> dict[str, Any]:
    """Times in nanoseconds of one case, in this process."""
    import svod
    from systems.base import as_tuple
    from systems.svod import Ops

    inputs = [svod.Tensor(array) for array in case.inputs()]
    outputs = as_tuple(case.program(Ops(), *inputs, *map(svod.Tensor, case.weights())))
    plan = svod.prepare(*outputs, inputs=inputs)
    plan.execute()
    best: list[float] = []
    end = time.perf_counter() + seconds
    while len(best) == 0 or time.perf_counter() < end:
        times = [kernel.time * 1e9 for kernel in plan.execute_profiled().kernels]
        best = [min(pair) for pair in zip(best, times, strict=True)] if best else times
    analysis = plan.analysis()
    items = [item for item in analysis["items"] if "kernel" in item["what"]]
    kernels = [item["analysis"] for item in items if item["analysis"]]
    return {
        "each": [
            [item["name"], item["analysis"]["estimated_ns"], time]
            for item, time in zip(items, best, strict=True)
            if item["analysis"]
        ],
        "kernels": len(kernels),
        "flops": sum(k["flops"] for k in kernels),
        "bytes": sum(k["bytes_read"] + k["bytes_written"] for k in kernels),
        "estimated": sum(k["estimated_ns"] for k in kernels),
        "measured": sum(best),
        "machine": analysis["machine"],
    }


def table(rows: list[tuple[str, dict[str, Any]]]) -> str:
    lines = [
        "| case | kernels | Gflop | MB moved | estimated ms | measured ms | estimated / measured |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, row in rows:
        ratio = row["estimated"] / row["measured"]
        mark = "" if 1 / FACTOR <= ratio <= FACTOR else " ✗"
        lines.append(
            f"| {name} | {row['kernels']} | {row['flops'] / 1e9:.3g} | {row['bytes'] / 1e6:.3g} "
            f"| {report.milliseconds(row['estimated'] / 1e9)} | {report.milliseconds(row['measured'] / 1e9)} "
            f"| {ratio:.2f}{mark} |"
        )
    ratios = [row["estimated"] / row["measured"] for _, row in rows]
    within = sum(1 / FACTOR <= ratio <= FACTOR for ratio in ratios)
    spread = exp(sum(abs(log(ratio)) for ratio in ratios) / len(ratios))
    lines.append(
        f"\n**{within} of {len(rows)}** estimates are within {FACTOR:g} × of the measured time; "
        f"on average (geometric) they are off by {spread:.2f} ×."
    )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares svod's estimates with measured times.")
    parser.add_argument("--cases", help="groups or beginnings of names, separated by commas")
    parser.add_argument("--seconds", type=float, default=0.5, help="time of a case (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    parser.add_argument("--keep", action="store_true", help="keep the output's rows of other cases")
    parser.add_argument("--limit", type=float, default=float("inf"), help="begin no case after so many seconds")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        (case,) = (case for case in CASES if case.name == options.one)
        print(json.dumps(figures(case, options.seconds)))
        return
    environment = os.environ | {"SVOD_THREADS": str(options.threads)}
    begin = time.monotonic()
    raw = options.output.with_suffix(".json") if options.output else None
    known: dict[str, dict[str, Any]] = json.loads(raw.read_text()) if options.keep and raw and raw.exists() else {}
    if not known:
        measure = [sys.executable, "-c", "import svod; svod.measure_machine()"]
        subprocess.run(measure, check=True, env=environment)
    wanted = options.cases.split(",") if options.cases else [""]
    chosen = [case for case in CASES if case.matches(wanted)]
    # Cases without a row come first.
    for case in sorted(chosen, key=lambda case: case.name in known):
        if time.monotonic() - begin > options.limit:
            break
        command = [sys.executable, __file__, "--one", case.name, "--seconds", str(options.seconds)]
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
        if run.returncode != 0:
            print(f"{case.name}: {run.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            continue
        known[case.name] = json.loads(run.stdout)
        print(table([(case.name, known[case.name])]).splitlines()[2], flush=True)
    rows = [(case.name, known[case.name]) for case in CASES if case.name in known]
    if not rows:
        parser.error(f"--cases: nothing is called {options.cases}")
    machine = rows[-1][1]["machine"]
    head = "\n".join(
        [
            report.heading(
                "Estimates beside measured times",
                options.threads,
                f"measured rates: {machine['flops'] / 1e9:.0f} GFLOP/s and {machine['bandwidth'] / 1e9:.1f} GB/s",
            ),
            "Estimates are the sum over the kernels of `plan.analysis()`, measured is the sum of each kernel's least "
            "time in `execute_profiled`. Flops and bytes are those of the loops as they run, padding included.\n",
        ]
    )
    text = f"{head}\n{table(rows)}\n"
    print(text)
    if options.output:
        options.output.write_text(text)
    if raw:
        raw.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
