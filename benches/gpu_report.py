"""What compare_gpu.py measured: lines while it runs, and the page with its raw data.

`python benches/gpu_report.py some/gpu.json other/gpu.json --output docs/benchmarks/gpu.md` makes one page of several.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import report

OURS = "svod"
# What svod is compared with by name; the best peer may be any.
LIBRARY = "torch"
COMPILED = ("torch.compile", "torch.compile-graphs")


class Versioned(Protocol):
    """A library, or why it is not there."""

    name: str
    version: str
    absent: str | None


def seconds(row: Mapping[str, Any]) -> float:
    """A system's time for a call."""
    return float(statistics.median(row["times"]))


def best_peer(result: Mapping[str, Any]) -> str | None:
    rows = result["rows"]
    return min((system for system in rows if system != OURS), key=lambda system: seconds(rows[system]), default=None)


def ratio(result: Mapping[str, Any], systems: Sequence[str]) -> float | None:
    """The time of the best of some systems over svod's: above 1 where svod is faster."""
    rows = result["rows"]
    times = [seconds(rows[system]) for system in systems if system in rows and system != OURS]
    return min(times) / seconds(rows[OURS]) if OURS in rows and times else None


def rate(result: Mapping[str, Any], time: float) -> str:
    if bound_by_arithmetic(result):
        return f"{result['flops'] / time / 1e12:.3g} TFLOP/s"
    return f"{result['bytes'] / time / 1e9:.0f} GB/s"


def bound_by_arithmetic(result: Mapping[str, Any]) -> bool:
    """Whether a GPU's memory could bring the operands in less time than its arithmetic takes, roughly."""
    return bool(result["flops"] > 100 * result["bytes"])


def share(result: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> str:
    """The bandwidth of svod's result over that of PyTorch's copy in the same run."""
    copies = [other for other in results if other["case"].startswith("copy-") and LIBRARY in other["rows"]]
    if bound_by_arithmetic(result) or OURS not in result["rows"] or not copies:
        return "–"
    copied = copies[0]["bytes"] / seconds(copies[0]["rows"][LIBRARY])
    return f"{result['bytes'] / seconds(result['rows'][OURS]) / copied:.0%}"


def shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def case_lines(result: Mapping[str, Any]) -> str:
    """All systems' figures for one case."""
    lines = [f"### {result['case']}", ""]
    rows = result["rows"]
    if rows:
        lines += ["| system | median ms | best ms | rate | first result ms | error |", "|---|---:|---:|---:|---:|---:|"]
    for system, row in sorted(rows.items(), key=lambda item: seconds(item[1])):
        time = seconds(row)
        error = f"{row['error']:.1e}" if "error" in row else "not compared"
        best, first = report.milliseconds(min(row["times"])), report.milliseconds(row["first"])
        lines.append(f"| {system} | {report.milliseconds(time)} | {best} | {rate(result, time)} | {first} | {error} |")
    if rows:
        lines.append("")
    lines += [f"- {system}: {failure}" for system, failure in result["failures"].items() if "by hand" not in failure]
    if result["watch"]:
        lines.append("- " + ", ".join(f"{name} {value:g}" for name, value in result["watch"].items()))
    return "\n".join(lines).rstrip() + "\n"


def summary(results: Sequence[Mapping[str, Any]]) -> str:
    """One line a case: svod's time and rate, and its speed beside that of PyTorch, torch.compile and the best peer."""
    if not results:
        return ""
    lines = [
        "| case | svod ms | rate | of a copy | best peer | its ms | speed over its | over PyTorch's "
        "| over torch.compile's | first ms |",
        "|---|---:|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for result in results:
        rows, peer = result["rows"], best_peer(result)
        ours = rows.get(OURS)
        cells = [
            result["case"],
            report.milliseconds(seconds(ours)) if ours else result["failures"].get(OURS, "–").replace("|", "/"),
            rate(result, seconds(ours)) if ours else "–",
            share(result, results),
            peer or "–",
            report.milliseconds(seconds(rows[peer])) if peer else "–",
            shown(ratio(result, list(rows))),
            shown(ratio(result, [LIBRARY])),
            shown(ratio(result, COMPILED)),
            report.milliseconds(ours["first"]) if ours else "–",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for named, systems in (("PyTorch", [LIBRARY]), ("torch.compile", COMPILED), ("the best peer", None)):
        ratios = [value for result in results if (value := ratio(result, systems or list(result["rows"]))) is not None]
        if len(ratios) > 1:
            mean = report.geometric_mean(ratios)
            lines.append(f"- {mean:.2f} times the speed of {named} in the geometric mean over {len(ratios)} cases")
    return "\n".join(lines) + "\n"


class Page:
    """The page and its raw data, written after each case, so that what ends a run early takes nothing away."""

    def __init__(self, path: Path | None, add: bool, device: str, libraries: Mapping[str, Versioned]) -> None:
        self.path = path
        versions = [f"{library.name} {library.version}" for library in libraries.values() if library.absent is None]
        absent = [f"- {library.name}: {library.absent}" for library in libraries.values() if library.absent is not None]
        head = report.heading("On a GPU", len(os.sched_getaffinity(0)), device)
        self.head = "\n".join([head, ", ".join(versions) + "\n", *absent])
        # Other runs that the page tells of: their heads, and the cases of each.
        self.runs: list[dict[str, Any]] = []
        if path is not None and add and path.with_suffix(".json").exists():
            self.runs = json.loads(path.with_suffix(".json").read_text())["runs"]

    def write(self, results: Sequence[Mapping[str, Any]]) -> None:
        if self.path is None:
            return
        write(self.path, [*self.runs, {"head": self.head, "results": list(results)}])


def write(path: Path, runs: Sequence[Mapping[str, Any]]) -> None:
    """The page of one or several runs, and their raw data beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_text(json.dumps({"runs": runs}, indent=1) + "\n")
    path.write_text(text(runs))


def text(runs: Sequence[Mapping[str, Any]]) -> str:
    """Of each run what made it and its summary, then all cases."""
    first, *others = runs
    body = [first["head"], summary(first["results"])]
    for run in others:
        _, *head = run["head"].splitlines()
        body += ["## Another run\n", "\n".join(head).strip() + "\n", summary(run["results"])]
    body.append("## Case by case\n")
    body += [case_lines(result) for run in runs for result in run["results"]]
    return "\n".join(body)


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes one page of the raw data of several runs.")
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    write(options.output, [run for data in options.data for run in json.loads(data.read_text())["runs"]])


if __name__ == "__main__":
    main()
