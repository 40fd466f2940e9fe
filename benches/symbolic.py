#!/usr/bin/env python3
"""One plan for all sizes beside a plan made for each: all-MiniLM-L6-v2 at ten batches and lengths.

    python benches/symbolic.py [--rounds 20] [--output docs/benchmarks/symbolic.md]

The two plans of a size run in turns, on the same inputs; a time is the least of all rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from math import exp, log
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import svod

ROOT = Path(__file__).parents[1]
SIZES = ((1, 8), (1, 16), (1, 50), (1, 128), (2, 33), (4, 64), (8, 16), (8, 100), (16, 40), (32, 20))


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("embed", ROOT / "examples" / "embed.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def prepared(model: Any, batch: Any, length: Any) -> svod.ExecutionPlan:
    ids, mask = (svod.empty(batch, length, dtype=svod.int64) for _ in range(2))
    return model(ids, mask).prepare(inputs=[ids, mask])


def measure(plans: list[svod.ExecutionPlan], arrays: list[np.ndarray], rounds: int, seconds: float) -> list[float]:
    """The least time of each plan, run in turns."""
    best = [float("inf")] * len(plans)
    begin = time.perf_counter()
    done = 0
    while done < rounds or time.perf_counter() - begin < seconds:
        for i, plan in enumerate(plans):
            start = time.perf_counter()
            plan.execute(*arrays)
            best[i] = min(best[i], time.perf_counter() - start)
        done += 1
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20, help="runs of each plan, at least (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each size, at least (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="where to write the table")
    options = parser.parse_args()
    model = example().load()
    start = time.perf_counter()
    one = prepared(model, svod.Variable("batch", 1, 32), svod.Variable("length", 1, 256))
    compiled = time.perf_counter() - start
    lines = [
        "# One plan for all sizes",
        "",
        "`python benches/symbolic.py --output docs/benchmarks/symbolic.md`",
        "",
        "all-MiniLM-L6-v2: a plan with symbolic batch (1 to 32) and length (1 to 256), beside a plan made for each",
        f"size; both run in turns, least time of at least {options.rounds} runs. {svod.get_threads()} threads,"
        f" {svod.target().cpu}. The symbolic plan took {compiled * 1e3:.0f} ms to prepare, once.",
        "",
        "| batch | length | fixed ms | symbolic ms | ratio |",
        "|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines[-2:]))
    ratios = []
    rng = np.random.default_rng(0)
    for batch, length in SIZES:
        ids = rng.integers(1000, 30000, (batch, length))
        mask = (np.arange(length) < np.linspace(length, max(1, length // 2), batch)[:, None]).astype(np.int64)
        fixed, symbolic = measure([prepared(model, batch, length), one], [ids, mask], options.rounds, options.seconds)
        ratios.append(symbolic / fixed)
        cells = f"{fixed * 1e3:.2f} | {symbolic * 1e3:.2f} | {ratios[-1]:.2f}"
        lines.append(f"| {batch} | {length} | {cells} |")
        print(lines[-1], flush=True)
    mean = exp(sum(map(log, ratios)) / len(ratios))
    lines += ["", f"Geometric mean {mean:.2f}, worst {max(ratios):.2f}.", ""]
    print(lines[-2])
    if options.output is not None:
        options.output.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
