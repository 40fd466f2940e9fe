"""Results as Markdown, as a bar chart in SVG, and raw as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from html import escape
from math import exp, log, log2
from pathlib import Path
from typing import Any

from limits import Limits
from measure import Result

from systems import OURS


def machine(threads: int) -> str:
    """Processor, threads, system, Python."""
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        names = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return f"{model}, {threads} threads, {platform.system()} {platform.release()}, Python {platform.python_version()}"


def command() -> str:
    """The command that is running, and the day."""
    words = ["python", f"benches/{Path(sys.argv[0]).name}", *sys.argv[1:]]
    return f"`{' '.join(words)}`, {time.strftime('%Y-%m-%d')}"


def heading(title: str, threads: int, *more: str) -> str:
    """How a page begins: what made it, when, and on which machine."""
    return f"# {title}\n\n{command()}\n\n{', '.join([machine(threads), *more])}\n"


def milliseconds(seconds: float) -> str:
    """Three digits that mean something."""
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2g}"


def rate(result: Result, seconds: float) -> str:
    """Work done per second."""
    case = result.case
    if case.flops:
        return f"{case.flops / seconds / 1e9:.0f} GFLOP/s"
    return f"{(case.reads + case.writes) / seconds / 1e9:.1f} GB/s"


def ratio_text(result: Result, system: str) -> str:
    """A system's time over the best peer's; one of a time that was seen only once is marked."""
    ratio = result.ratio(system)
    if ratio is None:
        return "–"
    return f"{ratio:.2f}" if result.settled(system) else f"~{ratio:.2f}"


def case_table(result: Result, limits: Limits) -> str:
    """All systems' figures for one case."""
    lines = [f"### {result.case.name}", ""]
    from_disk = any(row.warm is not None for row in result.rows.values())
    if result.rows:
        again = result.case.compiling
        lines += [
            "| system | best ms | median ms | rate | of the limit | first result ms, cold |"
            + (" from disk |" if from_disk else "")
            + (" in process |" if again else ""),
            "|---|---:|---:|---:|---:|---:|" + "---:|" * (from_disk + again),
        ]
    limit = limits.seconds(result.case)
    for system, row in sorted(result.rows.items(), key=lambda item: item[1].best):
        share = "" if limit is None else f"{limit / row.best:.0%}"
        line = f"| {system} | {milliseconds(row.best)} | {milliseconds(row.median)} | {rate(result, row.best)} "
        line += f"| {share} | {milliseconds(row.start['first'])} |"
        if from_disk:
            line += f" {'' if row.warm is None else milliseconds(row.warm)} |"
        if result.case.compiling:
            line += f" {milliseconds(row.start['again'])} |"
        lines.append(line)
    if result.rows:
        lines.append("")
    for system in OURS:
        if result.ratio(system) is not None:
            share = ratio_text(result, system)
            lines.append(f"- {system} takes **{share} ×** the time of the best peer ({result.best_peer()})")
    lines += [f"- {system}: {reason}" for system, reason in result.failures.items()]
    return "\n".join(lines).rstrip() + "\n"


def geometric_mean(ratios: Sequence[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def summary(results: Sequence[Result], limits: Limits) -> str:
    """One line a case: svod's time, its ratios to the best peer and to the limit."""
    lines = [
        "| case | svod ms | of the limit | best peer | its ms | svod / peer | fresh outputs / peer |",
        "|---|---:|---:|---|---:|---:|---:|",
    ]
    for result in results:
        ours, peer, limit = result.rows.get("svod"), result.best_peer(), limits.seconds(result.case)
        ratios = [ratio_text(result, system) for system in OURS]
        cells = [
            result.case.name,
            milliseconds(ours.best) if ours else result.failures.get("svod", "–"),
            f"{limit / ours.best:.0%}" if ours and limit else "–",
            peer or "–",
            milliseconds(result.rows[peer].best) if peer else "–",
            *ratios,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    for system in OURS:
        ratios_of = [ratio for result in results if (ratio := result.ratio(system)) is not None]
        if len(ratios_of) > 1:
            mean = geometric_mean(ratios_of)
            lines.append(
                f"{system}, geometric mean over {len(ratios_of)} cases: **{mean:.2f} ×** the time of the best peer.\n"
            )
    return "\n".join(lines)


# The chart: a bar a case from ratio 1, to the left where svod is faster.
BAR, GAP, LABEL, HALF = 12, 4, 210, 300
COLORS = {"svod": "#1b7f5c", "svod-fresh": "#8fc9b2"}
SLOWER = {"svod": "#b3432b", "svod-fresh": "#e0a597"}
REACH = 3.0


def chart(results: Sequence[Result]) -> str:
    """Ratios to the best peer on a logarithmic axis, as SVG."""
    shown = [result for result in results if any(result.ratio(system) is not None for system in OURS)]
    step = 2 * BAR + GAP + 2
    height, center, width = 40 + step * len(shown), LABEL + HALF, LABEL + 2 * HALF + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
        f'font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{center}" y="12" text-anchor="middle">time of svod over time of the best peer '
        f"(light: with fresh outputs)</text>",
    ]
    for power in range(-3, 4):
        x = center + HALF * power / REACH
        parts.append(
            f'<line x1="{x:.0f}" y1="30" x2="{x:.0f}" y2="{height}" stroke="#{"555" if power == 0 else "ddd"}"/>'
        )
        parts.append(f'<text x="{x:.0f}" y="26" text-anchor="middle" fill="#555">{2.0**power:g}</text>')
    for i, result in enumerate(shown):
        top = 34 + step * i
        parts.append(f'<text x="{LABEL - 8}" y="{top + BAR + 3}" text-anchor="end">{escape(result.case.name)}</text>')
        for j, system in enumerate(OURS):
            ratio = result.ratio(system)
            if ratio is None:
                continue
            length = HALF * min(max(log2(ratio), -REACH), REACH) / REACH
            color = (SLOWER if ratio > 1 else COLORS)[system]
            parts.append(
                f'<rect x="{center + min(length, 0):.1f}" y="{top + j * BAR}" width="{abs(length):.1f}" '
                f'height="{BAR - 1}" fill="{color}"><title>{escape(system)} {ratio:.2f}</title></rect>'
            )
    return "\n".join([*parts, "</svg>"]) + "\n"


def write(path: Path, head: str, results: Sequence[Result], limits: Limits) -> None:
    """The page, and beside it the chart and the raw figures."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture, raw = path.with_suffix(".svg"), path.with_suffix(".json")
    picture.write_text(chart(results))
    raw.write_text(json.dumps({"head": head, "results": [result.raw() for result in results]}, indent=1) + "\n")
    body = [head, f"![Ratios]({picture.name})\n", summary(results, limits)]
    body += [case_table(result, limits) for result in results]
    path.write_text("\n".join(body))


def over_best_peer(rows: Mapping[str, Mapping[str, Any]], figure: str) -> float | None:
    """svod's figure over that of the best of the others, of rows by library; none where one of the two has none."""
    peers = [row[figure] for library, row in rows.items() if library != "svod" and figure in row]
    ours = rows.get("svod", {}).get(figure)
    return ours / min(peers) if ours and peers else None
