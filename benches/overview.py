"""One picture of the committed measurements: each library's time over svod's, by family of cases.

`python benches/overview.py` reads `docs/benchmarks/*.json` and writes `docs/benchmarks/speed.svg`, which the README
shows. A bar is the geometric mean over the cases that both libraries computed. svod gives fresh outputs at each call
where that was measured, as the others do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from report import geometric_mean

BENCHMARKS = Path(__file__).parents[1] / "docs/benchmarks"
FAMILIES = {
    "contractions": "31 products, convolutions and attentions",
    "memory": "27 cases bound by memory",
    "minilm": "MiniLM, three batches",
}
PEERS = {
    "torch": "PyTorch",
    "torch.compile": "torch.compile",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
    "numpy": "NumPy",
}
ROW, LABEL, UNIT, MOST = 18, 130, 60, 9


def best(system: Mapping[str, Any]) -> float | None:
    """The best time of a system over its turns, in seconds."""
    times = [turn["best"] for turn in system.get("rounds") or ()]
    return min(times, default=None)


def means(family: str) -> dict[str, float]:
    """By peer: the geometric mean of its time over svod's."""
    ratios: dict[str, list[float]] = {peer: [] for peer in PEERS}
    for result in json.loads((BENCHMARKS / f"{family}.json").read_text())["results"]:
        times = {name: best(system) for name, system in result["systems"].items()}
        ours = times.get("svod-fresh", times.get("svod"))
        for peer in PEERS:
            theirs = times.get(peer)
            if ours and theirs:
                ratios[peer].append(theirs / ours)
    return {peer: geometric_mean(values) for peer, values in ratios.items() if values}


def picture() -> str:
    rows: list[str] = []
    y = 14
    for family, title in FAMILIES.items():
        rows.append(f'<text x="0" y="{y}" font-weight="bold">{escape(title)}</text>')
        for name, ratio in [("svod", 1.0), *sorted(means(family).items(), key=lambda row: row[1])]:
            y += ROW
            length = UNIT * min(ratio, MOST)
            color = "#1b7f5c" if name == "svod" else "#9aa5b1"
            told = "1" if name == "svod" else f"{ratio:.2f}"
            rows.append(f'<text x="{LABEL - 8}" y="{y}" text-anchor="end">{escape(PEERS.get(name, name))}</text>')
            rows.append(f'<rect x="{LABEL}" y="{y - 11}" width="{length:.1f}" height="13" fill="{color}"/>')
            rows.append(f'<text x="{LABEL + length + 6:.1f}" y="{y}">{told}</text>')
        y += 2 * ROW
    width, height = int(LABEL + UNIT * MOST + 60), y - ROW + 24
    begins = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -6 {width} {height}" font-family="sans-serif" '
    ends = f'<text x="{LABEL}" y="{height - 12}" fill="#555">time, as a multiple of svod\'s; shorter is faster</text>'
    ground = f'<rect x="-10" y="-6" width="{width}" height="{height}" fill="white"/>'
    return "\n".join([begins + 'font-size="12">', ground, *rows, ends, "</svg>"]) + "\n"


if __name__ == "__main__":
    (BENCHMARKS / "speed.svg").write_text(picture())
