#!/usr/bin/env python3
"""svod beside its peers: the same computation, each system in a process of its own.

The systems of a case take turns (A B C A B C …), one computing at a time, on the same number of
threads. Times are the best over all rounds, ratios are svod's best over the best peer's; these two are
measured until two turns agree on each, else the ratio is marked with `~`. Operands are given to the
plan or the compiled function, weights are constants; `svod` writes a plan's own outputs, `svod-fresh`
and all peers make new ones at each call. No time counts before the result was compared with NumPy's in
f64. The first result is timed from after the imports and with the operands in memory: with empty caches
on disk (cold), with those that the first process filled (from disk), and for some cases once more from
scratch in the warm process.

    python benches/compare.py [--only svod,torch] [--cases matmul,minilm] [--output docs/benchmarks/NAME.md]
    python benches/compare.py --family torch|onnx|texts [--models bert,vit] [--output docs/benchmarks/NAME.md]

The second form is that of models of full size, which `model_runs.py` measures; it says what it takes besides.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import signal
import sys
from pathlib import Path

import limits
import model_runs
import report
from measure import Plan, Result, measure

from cases import CASES
from systems import SYSTEMS


def arguments() -> argparse.Namespace:
    cores = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description="Measures svod beside its peers.")
    parser.add_argument("--only", help=f"systems, separated by commas: {', '.join(SYSTEMS)}")
    parser.add_argument("--cases", help="groups or beginnings of names, separated by commas; --list shows them")
    parser.add_argument("--list", action="store_true", help="list the cases with their groups, and end")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each system (default: %(default)s)")
    parser.add_argument(
        "--most", type=int, default=9, help="turns at most, until two agree on a best time (default: %(default)s)"
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="time of a turn (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(cores), help="of every system (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=180, help="seconds until a system is given up in a case")
    parser.add_argument("--no-warm", action="store_true", help="do not time the first result from warm caches on disk")
    parser.add_argument("--output", type=Path, help="write tables to this Markdown file, chart and raw data beside it")
    options = parser.parse_args()
    if options.rounds < 1 or not 1 <= options.threads <= len(cores):
        parser.error(f"--rounds must be at least 1, --threads from 1 to {len(cores)}")
    options.cores = cores[: options.threads]
    options.systems = options.only.split(",") if options.only else list(SYSTEMS)
    if unknown := [system for system in options.systems if system not in SYSTEMS]:
        parser.error(f"--only: unknown {', '.join(unknown)}; known are {', '.join(SYSTEMS)}")
    wanted = options.cases.split(",") if options.cases else [""]
    options.chosen = [case for case in CASES if case.matches(wanted)]
    if not options.chosen:
        parser.error(f"--cases: nothing is called {options.cases}; --list shows all")
    return options


def head(options: argparse.Namespace, absent: dict[str, str], bounds: limits.Limits) -> str:
    """Command, machine, versions, and who is missing."""
    present = [system for system in options.systems if system not in absent]
    packages = {package for system in present for package in SYSTEMS[system].packages[:1]}
    versions = [f"{package} {importlib.metadata.version(package)}" for package in sorted(packages)]
    lines = [
        f"{report.command()}\n",
        f"{report.machine(options.threads)}\n",
        f"{', '.join(versions)}\n",
        f"{bounds}\n",
        *(f"- {system}: {reason}" for system, reason in absent.items()),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    if sys.argv[1:2] == ["--family"]:
        del sys.argv[1]
        return model_runs.main()
    options = arguments()
    if options.list:
        # Whoever reads the list may stop early.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for case in options.chosen:
            print(f"{case.name:32} {', '.join(case.groups)}")
        return None
    # Ended by Ctrl-C or from outside, what was measured is written all the same.
    for end in (signal.SIGINT, signal.SIGTERM):
        signal.signal(end, signal.default_int_handler)
    absent = {system: reason for system in options.systems if (reason := SYSTEMS[system].missing())}
    systems = [system for system in options.systems if system not in absent]
    bounds = limits.measure(options.cores)
    top = head(options, absent, bounds)
    print(top, flush=True)

    plan = Plan(options.cores, options.rounds, options.most, options.seconds, options.limit, not options.no_warm)
    results: list[Result] = []
    try:
        for case in options.chosen:
            results.append(Result(case))
            measure(results[-1], systems, plan)
            print(report.case_table(results[-1], bounds), flush=True)
    except KeyboardInterrupt:
        print("Interrupted; what was measured:\n")
    bounds = bounds.or_better(limits.measure(options.cores))
    top = head(options, absent, bounds)
    print(report.summary(results, bounds))
    if options.output:
        report.write(options.output, top, results, bounds)


if __name__ == "__main__":
    main()
