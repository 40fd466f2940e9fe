#!/usr/bin/env python3
"""Everyday programs, each written once, in svod beside NumPy and PyTorch (eager).

Each runs in a process of its own: *cold* is the first run after the imports, with nothing kept on disk, *warm* the
best of a few more on other data. Processes run one at a time, on the same number of threads; times are the
best over `--rounds` processes. A result that is not NumPy's has no time. The ratio is svod's warm time over the
better of the two others. For svod, kernels that were compiled and schedules that were made in the first
run, and in all later ones.

    python benches/everyday.py [--programs newton,masks] [--only svod,torch] [--output docs/benchmarks/everyday.md]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from process import asked
from report import geometric_mean, heading, milliseconds, over_best_peer

from programs import LIBRARIES, PROGRAMS

Row = dict[str, Any]
SEED = 7


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures everyday programs.")
    parser.add_argument("--programs", help=f"names, separated by commas: {', '.join(PROGRAMS)}")
    parser.add_argument("--only", help=f"libraries, separated by commas: {', '.join(LIBRARIES)}")
    parser.add_argument("--rounds", type=int, default=1, help="processes a program (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="runs after the first one (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=120, help="seconds until a process is given up")
    parser.add_argument("--output", type=Path, help="write this Markdown file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.programs = options.programs.split(",") if options.programs else list(PROGRAMS)
    options.libraries = options.only.split(",") if options.only else list(LIBRARIES)
    if unknown := (set(options.programs) - set(PROGRAMS)) | (set(options.libraries) - set(LIBRARIES)):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return options


def flat(result: Any) -> list[float]:
    """All numbers of a result."""
    if isinstance(result, tuple | list):
        return [number for part in result for number in flat(part)]
    return [float(number) for number in np.asarray(result).ravel()]


def work(library: str, program: str, repeat: int) -> Row:
    """The runs of a program in this process."""
    peer = LIBRARIES[library]
    xp = peer.load()
    times, before, counts, results = [], peer.counts(), [], []
    for run in range(1 + repeat):
        random = np.random.default_rng(SEED + run)
        start = time.perf_counter()
        # Whatever is lazy is computed here.
        result = flat(PROGRAMS[program](xp, random))
        times.append(time.perf_counter() - start)
        results.append(result)
        counts.append({name: now - before[name] for name, now in peer.counts().items()})
        before = peer.counts()
    later = {name: sum(count[name] for count in counts[1:]) for name in before}
    return {"cold": times[0], "warm": min(times[1:]), "results": results, "first": counts[0], "later": later}


def run(library: str, program: str, options: argparse.Namespace) -> Row:
    """A library's best figures over some processes, or the reason why there are none."""
    best: Row = {}
    for _ in range(options.rounds):
        row = asked(__file__, library, ["--programs", program, "--repeat", str(options.repeat)], options.limit)
        if "failure" in row:
            return row
        best = row | ({name: min(row[name], best[name]) for name in ("cold", "warm")} if best else {})
    return best


def checked(rows: dict[str, Row]) -> dict[str, Row]:
    """The rows without those whose results are not NumPy's."""
    wanted = rows.get("numpy", {}).get("results")
    for library, row in rows.items():
        if wanted and "results" in row:
            pairs = zip(row["results"], wanted, strict=True)
            if not all(len(a) == len(b) and np.allclose(a, b, rtol=2e-3, atol=1e-4) for a, b in pairs):
                rows[library] = {"failure": "its result is not NumPy's"}
    return rows


def ratio(rows: dict[str, Row]) -> float | None:
    """svod's warm time over that of the better peer."""
    return over_best_peer(rows, "warm")


def line(program: str, rows: dict[str, Row]) -> str:
    """A row of the table."""
    cells = [program]
    for library in LIBRARIES:
        row = rows.get(library, {})
        cells += [milliseconds(row[name]) if name in row else "–" for name in ("cold", "warm")]
    svod = rows.get("svod", {})
    of_best, of_torch = ratio(rows), ratio({name: row for name, row in rows.items() if name != "numpy"})
    cells += ["–" if value is None else f"{value:.2f}" for value in (of_best, of_torch)]
    cells += [
        f"{svod['first'][name]} + {svod['later'][name]}" if "first" in svod else "–"
        for name in ("kernels", "schedules")
    ]
    return "| " + " | ".join(cells) + " |"


def page(results: dict[str, dict[str, Row]]) -> str:
    """The table, and means."""
    names = "".join(f" {library} cold ms | warm |" for library in LIBRARIES)
    lines = [
        f"| program |{names} warm / best | warm / torch | kernels | schedules |",
        "|---|" + "---:|" * (2 * len(LIBRARIES) + 4),
        *(line(program, rows) for program, rows in results.items()),
        "",
    ]
    for other in (*[library for library in LIBRARIES if library != "svod"], "the better of them"):
        wanted = ("svod", other) if other in LIBRARIES else tuple(LIBRARIES)
        chosen = [ratio({name: row for name, row in rows.items() if name in wanted}) for rows in results.values()]
        ratios = [value for value in chosen if value is not None]
        if ratios:
            over = sum(value > 2 for value in ratios)
            lines.append(
                f"- warm, svod over {other}: **{geometric_mean(ratios):.2f}** in the geometric mean of {len(ratios)}"
                f" programs, at most {max(ratios):.1f}; {over} above 2"
            )
    colds = [rows["svod"]["cold"] for rows in results.values() if "cold" in rows.get("svod", {})]
    if colds:
        late = sum(cold > 0.3 for cold in colds)
        mean, most = milliseconds(geometric_mean(colds)), milliseconds(max(colds))
        lines.append(f"- cold, svod: {mean} ms in the geometric mean, at most {most} ms; {late} above 300 ms")
    for program, rows in results.items():
        lines += [f"- {program}, {library}: {row['failure']}" for library, row in rows.items() if "failure" in row]
    return "\n".join(lines) + "\n"


def main() -> None:
    options = arguments()
    if options.worker:
        print(json.dumps(work(options.worker, options.programs[0], options.repeat)))
        return
    results: dict[str, dict[str, Row]] = {}
    for program in options.programs:
        rows = {library: run(library, program, options) for library in options.libraries}
        results[program] = checked(rows)
        print(line(program, results[program]), flush=True)
    text = (
        heading("Everyday programs", len(os.sched_getaffinity(0))) + f"\n{__doc__.split('    python')[0].strip()}\n\n"
    )
    print("\n" + page(results))
    if options.output:
        options.output.write_text(text + page(results))


if __name__ == "__main__":
    main()
