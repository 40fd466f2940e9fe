#!/usr/bin/env python3
"""Time to the first result: cold, from disk, and once more from scratch in the warm process.

Each system runs in a process of its own and is timed from after its imports, with the operands in
memory, until the result is there as NumPy arrays; a result that is not NumPy's has no time. *Cold*
is with an empty folder for what the system keeps, *from disk* a new process with the folder that
the cold one filled, *in process* the same expression built anew where it has been computed. Figures
are the best over `--rounds` processes, one at a time. For svod, where the time went, by pass.

    python benches/first_results.py [--only svod,jax] [--cases block] [--merge] [--output docs/benchmarks/compile.md]

With `--merge`, what was measured replaces or joins what the output's JSON has already, so that a
page can be put together from runs of a few systems each.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import tempfile
import time
from html import escape
from math import log10
from pathlib import Path
from typing import Any

from process import Worker, WorkerError
from report import machine, milliseconds

from cases import CASES, DOUBLES, Case
from systems import SYSTEMS

WANTED = ("block-8x128x384", "minilm-8x128", "mlp-48", "chain-10000")
Page = dict[str, Any]


def arguments() -> argparse.Namespace:
    cores = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description="Measures the time to the first result.")
    parser.add_argument("--only", help=f"systems, separated by commas: {', '.join(SYSTEMS)}")
    parser.add_argument("--cases", help="beginnings of names, separated by commas; `double` for twice the graphs")
    parser.add_argument("--rounds", type=int, default=3, help="processes a figure (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=120, help="seconds until a system is given up in a case")
    parser.add_argument("--merge", action="store_true", help="keep what the output has of other systems and cases")
    parser.add_argument("--output", type=Path, help="write this Markdown file, chart and raw data beside it")
    options = parser.parse_args()
    options.cores = cores
    options.systems = options.only.split(",") if options.only else [s for s in SYSTEMS if s != "svod-fresh"]
    if unknown := [system for system in options.systems if system not in SYSTEMS]:
        parser.error(f"--only: unknown {', '.join(unknown)}; known are {', '.join(SYSTEMS)}")
    wanted = options.cases.split(",") if options.cases else [""]
    doubles = DOUBLES if "double" in wanted else []
    options.chosen = [case for case in (*CASES, *doubles) if case.name in WANTED or case in doubles]
    options.chosen = [case for case in options.chosen if case.matches(wanted)]
    if not options.chosen:
        parser.error(f"--cases: nothing is called {options.cases}")
    return options


def first(system: str, case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """A system's figures for a case, seconds; or the reason why there are none."""
    colds: list[float] = []
    disks: list[float] = []
    again: list[float] = []
    passes: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="svod-first-") as folder:
        reference = Path(folder) / "reference.npz"

        def start(who: str, cache: str) -> dict[str, Any]:
            worker = Worker(who, case.name, options.cores, Path(folder) / cache, reference, options.limit)
            worker.close()
            return worker.start

        try:
            start("reference", "none")
            for turn in range(options.rounds):
                answer = start(system, f"cache{turn}")
                if not (off := answer.get("error", 0.0)) <= case.tolerance:
                    return {"failure": f"its result is wrong: off by {off:.1e}"}
                if not colds or answer["first"] < min(colds):
                    passes = answer.get("passes", {})
                colds.append(answer["first"])
                again.append(answer["again"])
                if SYSTEMS[system].keeps:
                    answer = start(system, f"cache{turn}")
                    disks.append(answer["first"])
                    again.append(answer["again"])
        except WorkerError as error:
            return {"failure": str(error)}
    row = {"cold": min(colds), "again": min(again), "rounds": options.rounds, "passes": passes}
    return row | {"disk": min(disks)} if disks else row


def table(name: str, rows: dict[str, dict[str, Any]]) -> str:
    """A case's figures, and svod's passes."""
    lines = [
        f"### {name}\n",
        "| system | cold ms | from disk | in process | cold / svod |",
        "|---|---:|---:|---:|---:|",
    ]
    ours = rows.get("svod", {}).get("cold")
    timed = sorted((row["cold"], system) for system, row in rows.items() if "cold" in row)
    for cold, system in timed:
        row = rows[system]
        ratio = f"{cold / ours:.1f}" if ours else ""
        disk = milliseconds(row["disk"]) if "disk" in row else "–"
        lines.append(f"| {system} | {milliseconds(cold)} | {disk} | {milliseconds(row['again'])} | {ratio} |")
    failures = [f"- {system}: {row['failure']}" for system, row in rows.items() if "failure" in row]
    lines += ["", *failures] if failures else []
    if passes := rows.get("svod", {}).get("passes"):
        spent = [(name, count, seconds) for name, (count, seconds) in passes.items() if seconds >= 5e-5]
        parts = [f"{name} {milliseconds(seconds)} ({count:.0f} ×)" for name, count, seconds in spent]
        lines.append(f"\nsvod, cold, ms of thread time by pass: {', '.join(parts)}.")
    return "\n".join(lines) + "\n"


def slopes(results: dict[str, dict[str, Any]]) -> str:
    """What twice the graph takes."""
    lines = ["| graph | twice | cold | from disk | in process |", "|---|---|---:|---:|---:|"]
    for case in DOUBLES:
        half = case.groups[-1]
        one, two = (results.get(name, {}).get("svod", {}) for name in (half, case.name))
        if "cold" in one and "cold" in two:
            ratios = [f"{two[what] / one[what]:.2f} ×" for what in ("cold", "disk", "again")]
            lines.append(f"| {half} | {case.name} | {' | '.join(ratios)} |")
    return "Twice the graph takes svod\n\n" + "\n".join(lines) + "\n" if len(lines) > 2 else ""


SHADES = {"cold": "#1b7f5c", "disk": "#5fae92", "again": "#b5dccd"}
OTHERS = {"cold": "#8a8a8a", "disk": "#b0b0b0", "again": "#d8d8d8"}
BAR, LABEL, WIDTH = 11, 220, 560


def chart(results: dict[str, dict[str, Any]]) -> str:
    """Bars on a logarithmic axis from 0.1 ms to 100 s: cold, from disk, in process."""
    bars: list[tuple[str, str, float | None]] = []
    for case, rows in results.items():
        bars.append((case, "", None))
        timed = sorted((row["cold"], system) for system, row in rows.items() if "cold" in row)
        for _, system in timed:
            bars += [(system, what, rows[system][what]) for what in SHADES if what in rows[system]]
    height = 34 + BAR * len(bars)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LABEL + WIDTH + 20}" height="{height}" '
        f'font-family="sans-serif" font-size="10"><rect width="100%" height="100%" fill="white"/>'
        f'<text x="{LABEL}" y="11">seconds to the first result: cold, from disk, in process</text>'
    ]
    for power in range(-4, 3):
        x = LABEL + WIDTH * (power + 4) / 6
        parts.append(f'<line x1="{x:.0f}" y1="26" x2="{x:.0f}" y2="{height}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.0f}" y="23" text-anchor="middle" fill="#555">{10.0**power:g}</text>')
    said = ""
    for i, (name, what, seconds) in enumerate(bars):
        y = 30 + BAR * i
        if seconds is None:
            parts.append(f'<text x="4" y="{y + 9}" font-weight="bold">{escape(name)}</text>')
            said = ""
            continue
        length = max(1.0, WIDTH * (log10(seconds) + 4) / 6)
        color = (SHADES if name.startswith("svod") else OTHERS)[what]
        if name != said:
            parts.append(f'<text x="{LABEL - 6}" y="{y + 9}" text-anchor="end">{escape(name)}</text>')
        said = name
        parts.append(f'<rect x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{color}"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def version(system: str) -> dict[str, str]:
    package = SYSTEMS[system].packages[0]
    return {package: importlib.metadata.version(package)}


def write(path: Path, page: Page, threads: int) -> None:
    """The page, and beside it the chart and the raw figures."""
    picture, raw = path.with_suffix(".svg"), path.with_suffix(".json")
    order = [case.name for case in (*CASES, *DOUBLES)]
    results = {name: page["results"][name] for name in sorted(page["results"], key=order.index)}
    shown = {name: rows for name, rows in results.items() if name in WANTED}
    versions = ", ".join(f"{package} {version}" for package, version in sorted(page["versions"].items()))
    raw.write_text(json.dumps(page | {"results": results}, indent=1) + "\n")
    picture.write_text(chart(shown))
    lines = [
        "# Time to the first result\n",
        "`python benches/first_results.py --output docs/benchmarks/compile.md`, in parts with `--merge`; "
        "what is measured is said there.\n",
        f"{machine(threads)}; {time.strftime('%Y-%m-%d')}; {versions}.\n",
        f"![Seconds]({picture.name})\n",
        *(table(name, rows) for name, rows in shown.items()),
        slopes(results),
    ]
    path.write_text("\n".join(lines).rstrip() + "\n")


def main() -> None:
    options = arguments()
    page: Page = {"results": {}, "versions": {}}
    if options.merge and options.output and options.output.with_suffix(".json").exists():
        page = json.loads(options.output.with_suffix(".json").read_text())
    for case in options.chosen:
        rows = page["results"].setdefault(case.name, {})
        for system in options.systems:
            reason = SYSTEMS[system].missing()
            rows[system] = {"failure": reason} if reason else first(system, case, options)
            told = {key: value for key, value in rows[system].items() if key != "passes"}
            print(f"{case.name:16} {system:14} {json.dumps(told)}", flush=True)
            page["versions"] |= {} if reason else version(system)
            if options.output:
                write(options.output, page, len(options.cores))


if __name__ == "__main__":
    main()
