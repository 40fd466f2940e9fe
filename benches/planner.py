#!/usr/bin/env python3
"""What the memory planner does with a model's intermediates, in each mode.

    python benches/planner.py [--output docs/benchmarks/planner.md]

Bytes are counted, nothing runs. The bound is the most that is alive in one level as planned: no order of the memory can
need less.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import heading
from symbolic import example

import svod

MODES = ("disabled", "remap", "arena")


def minilm(batch: int | svod.Variable, length: int | svod.Variable) -> tuple[svod.Tensor, list[svod.Tensor]]:
    ids, mask = (svod.empty(batch, length, dtype=svod.int64) for _ in range(2))
    return example().load()(ids, mask), [ids, mask]


def convnet(layers: int = 20, channels: int = 32, size: int = 32) -> tuple[svod.Tensor, list[svod.Tensor]]:
    """Convolutions in pairs around residual sums, half the size and twice the channels now and then."""
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> svod.Tensor:
        return svod.Tensor((rng.standard_normal(shape) * 0.05).astype(np.float32))

    x = svod.empty(4, 3, size, size)
    y = x.conv2d(weight(channels, 3, 3, 3), padding=1).relu()
    for layer in range(1, layers - 1, 2):
        stride = 2 if layer in (7, 13) else 1
        new = channels * stride
        skip = y.conv2d(weight(new, channels, 1, 1), stride=stride) if stride > 1 else y
        inner = y.conv2d(weight(new, channels, 3, 3), stride=stride, padding=1).relu()
        y = (inner.conv2d(weight(new, new, 3, 3), padding=1) + skip).relu()
        channels = new
    return y.conv2d(weight(channels, channels, 3, 3), padding=1).mean((2, 3)), [x]


MODELS: dict[str, Callable[[], tuple[svod.Tensor, list[svod.Tensor]]]] = {
    "MiniLM, 8 x 128": lambda: minilm(8, 128),
    "MiniLM, symbolic (32 x 256 at most)": lambda: minilm(
        svod.Variable("batch", 1, 32), svod.Variable("length", 1, 256)
    ),
    "convnet of 20 layers": convnet,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, help="where to write the table")
    options = parser.parse_args()
    lines = [
        heading("The memory planner", svod.get_threads()),
        "Intermediates of a plan, in KiB: with a buffer for each; the most of that alive at one time; allocated as",
        "planned; and the bound, the most alive at one time as planned. *In place* are buffers that a kernel writes",
        "over what it reads, which lowers the bound. *Remap* gives buffers as wholes: the large one of MiniLM's",
        "feed-forward layer serves one of the six small ones that attention needs at once.",
        "",
        "| model | mode | reused | in place | each its own | peak | allocated | bound | allocated / bound |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, make in MODELS.items():
        for mode in MODES:
            output, inputs = make()
            memory = output.prepare(inputs=inputs, planner=mode).memory
            sizes = [memory[key] / 1024 for key in ("bytes_before", "bytes_peak", "bytes_after", "bytes_bound")]
            ratio = memory["bytes_after"] / max(memory["bytes_bound"], 1)
            cells = " | ".join(f"{size:.0f}" for size in sizes)
            counts = f"{memory['buffers_reused']} | {memory['buffers_in_place']}"
            lines.append(f"| {name} | {mode} | {counts} | {cells} | {ratio:.2f} |")
            print(lines[-1], flush=True)
    if options.output is not None:
        options.output.write_text("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
