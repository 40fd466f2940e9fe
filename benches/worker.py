"""One system measuring one case in a process of its own; started and told what to do by compare.py.

Speaks JSON, a line each way. At the start it sets the case up and reports its first result:
`version`, `first` in seconds after the imports, `error` against the reference, `passes` where the
system tells what its compiler spent time on, and for a case that is there for its compile time
`again`, seconds for the same from scratch in the warm process. Then it answers every line that
holds a number of seconds with the `best` and `median` time of the calls made for so long, and how
many they were. What goes wrong is reported as `failure`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from cases import CASES, DOUBLES, Case
from systems import SYSTEMS
from systems.base import Array, Job, Ready, Unsupported
from systems.numpy import reference

# Calls faster than this are timed many at a time, as the clock itself takes some 0.1 µs.
SHORT = 20e-6


def timed(call: Callable[[], Any], seconds: float) -> dict[str, float]:
    """Best and median time of a call, over `seconds` and at least three calls."""

    def several(count: int) -> float:
        start = perf_counter()
        for _ in range(count):
            call()
        return (perf_counter() - start) / count

    call()
    batch = 1 if several(1) > SHORT else 100
    times: list[float] = []
    end = perf_counter() + seconds
    while len(times) < 3 or perf_counter() < end:
        times.append(several(batch))
    return {"best": min(times), "median": statistics.median(times), "calls": len(times) * batch}


def error(results: list[Array], expected: list[Array]) -> float:
    """The largest difference, relative to the largest value of its output; infinite where shapes differ or NaN is."""
    worst = 0.0
    if len(results) != len(expected):
        return float("inf")
    for result, wanted in zip(results, expected, strict=True):
        if result.shape != wanted.shape:
            return float("inf")
        exact = np.complex128 if np.iscomplexobj(result) else np.float64
        difference = np.abs(result.astype(exact) - wanted).max(initial=0)
        scale = max(np.abs(wanted).max(initial=0), 1e-30)
        worst = max(worst, float("inf") if np.isnan(difference) else float(difference / scale))
    return worst


def save_reference(case: Case, path: Path) -> None:
    """The case computed by NumPy, into a file for the other workers."""
    results = reference(Job(case.program, case.inputs(), case.weights(), 0))
    np.savez(path, *results)


def first_result(set_up: Callable[[Job], Ready], job: Job) -> tuple[float, Ready, list[Array]]:
    """Seconds until the values are there, and how to go on."""
    start = perf_counter()
    ready = set_up(job)
    results = ready.fetch(ready.call())
    return perf_counter() - start, ready, results


def serve(answer: Callable[[dict[str, Any]], None], options: argparse.Namespace) -> None:
    (case,) = (case for case in (*CASES, *DOUBLES) if case.name == options.case)
    path = Path(options.reference)
    if options.system == "reference":
        save_reference(case, path)
        return answer({})
    system = SYSTEMS[options.system]
    for package in system.packages:
        importlib.import_module(package)
    module = importlib.import_module(system.module)
    set_up = getattr(module, system.function)
    job = Job(case.program, list(case.inputs()), list(case.weights()), options.threads)

    first, ready, results = first_result(set_up, job)
    report = {"version": importlib.metadata.version(system.packages[0]), "first": first}
    if hasattr(module, "passes"):
        report["passes"] = module.passes()
    if path.exists():
        with np.load(path) as expected:
            report["error"] = error(results, [expected[name] for name in expected.files])
    del results
    if case.compiling:
        report["again"], ready, _ = first_result(set_up, job)
    answer(report)
    for line in sys.stdin:
        answer(timed(ready.call, float(line)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("system")
    parser.add_argument("case")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--reference", required=True)
    options = parser.parse_args()
    # What a library prints must not end up between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def answer(content: dict[str, Any]) -> None:
        print(json.dumps(content), file=answers)

    try:
        serve(answer, options)
    except Unsupported as reason:
        answer({"failure": f"unsupported: {reason}"})
    except (Exception, KeyboardInterrupt) as failure:
        lines = str(failure).strip().splitlines() or [""]
        kind = "unsupported" if type(failure).__name__ == "UnsupportedError" else type(failure).__name__
        answer({"failure": f"{kind}: {lines[0][:200]}"})


if __name__ == "__main__":
    main()
