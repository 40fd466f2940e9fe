#!/usr/bin/env python3
"""Steps of training, each written once, in svod under `jit` beside PyTorch, eager and compiled, and JAX.

A step takes the gradient of a loss and moves the parameters in place. Each library has the same weights and batches,
and runs in a process of its own, one at a time, on the same number of threads; with other losses than PyTorch's in the
first steps it has no time. *First* is the first step after the imports, with nothing kept on disk, *step* the best of
those after it, over `--rounds` processes that take turns; *peak* is how much more memory the process had than after
the imports. The ratio is svod's step over that of the better of the others. For svod, kernels that were compiled in the
first two steps, and in all later ones. On a GPU (`--device CUDA`) there are steps in bf16 as well, whose losses are
compared with as many digits as that has; *peak* still is the process's.

    python benches/training_steps.py [--steps gpt,mlp] [--only svod,torch] [--device CUDA]
        [--output docs/benchmarks/training.md]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from process import asked, peak
from report import geometric_mean, heading, milliseconds, over_best_peer
from steps import GPU_STEPS, LIBRARIES, STEPS
from steps.models import Step, weights

Row = dict[str, Any]
# Losses that are compared, and how closely by the type of the parameters.
COMPARED = 4
CLOSE = {"float32": 1e-3, "bfloat16": 3e-2}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures steps of training.")
    parser.add_argument("--steps", help=f"names, separated by commas: {', '.join(GPU_STEPS)}")
    parser.add_argument("--device", default="CPU", help="CPU or CUDA (default: %(default)s)")
    parser.add_argument("--total", type=float, default=float("inf"), help="seconds after which no step begins")
    parser.add_argument("--only", help=f"libraries, separated by commas: {', '.join(LIBRARIES)}")
    parser.add_argument("--rounds", type=int, default=3, help="processes a step (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=3, help="of steps in a process (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=300, help="seconds until a process is given up")
    parser.add_argument("--output", type=Path, help="write this Markdown file")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.device = options.device.upper()
    options.steps = options.steps.split(",") if options.steps else list(STEPS if options.device == "CPU" else GPU_STEPS)
    options.libraries = options.only.split(",") if options.only else list(LIBRARIES)
    if unknown := (set(options.steps) - set(GPU_STEPS)) | (set(options.libraries) - set(LIBRARIES)):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    return options


def kernels(library: str) -> int:
    """Kernels that svod has compiled."""
    return int(sys.modules["svod"].compile_times().get("lower", (0, 0))[0]) if library == "svod" else 0


def work(library: str, step: Step, seconds: float, device: str = "CPU") -> Row:
    """Takes steps in this process for so many seconds."""
    lib = LIBRARIES[library](device)
    lib.dtype = step.dtype
    before = peak()
    model, loss, optimizer = step.make(lib)
    lib.load(model, weights(model))
    batch = [lib.cast(lib.tensor(array)) for array in step.batch(np.random.default_rng(0))]
    take = lib.update(optimizer, batch) if step.update else lib.step(model, loss, optimizer)
    given = [] if step.update else batch
    times: list[float] = []
    losses: list[float] = []
    compiled = [kernels(library)]
    end = time.perf_counter() + seconds
    while len(times) < COMPARED or time.perf_counter() < end:
        start = time.perf_counter()
        loss_before = take(*given)
        lib.wait()
        times.append(time.perf_counter() - start)
        compiled.append(kernels(library))
        if len(times) <= COMPARED:
            losses.append(total(lib, model) if step.update else loss_before)
    early, late = compiled[2] - compiled[0], compiled[-1] - compiled[2]
    figures = {"first": times[0], "step": min(times[1:]), "peak": peak() - before}
    return figures | {"losses": losses, "early": early, "late": late}


def total(lib: Any, model: Any) -> float:
    """The sum of what parameters are, without signs."""
    return float(sum(abs(lib.numbers(parameter)).sum(dtype=float) for _, parameter in model.named_parameters()))


def run(library: str, name: str, options: argparse.Namespace) -> Row:
    """The figures of one process, or the reason why there are none."""
    own = ["--steps", name, "--seconds", str(options.seconds), "--device", options.device]
    return asked(__file__, library, own, options.limit)


def measure(name: str, options: argparse.Namespace) -> dict[str, Row]:
    """Each library's best figures over processes that take turns."""
    best: dict[str, Row] = {}
    for _ in range(options.rounds):
        for library in options.libraries:
            known = best.get(library, {})
            if "failure" not in known:
                row = run(library, name, options)
                least = {
                    figure: min(row[figure], known[figure])
                    for figure in ("first", "step", "peak")
                    if known and figure in row
                }
                best[library] = row | least
    return checked(best, CLOSE[GPU_STEPS[name].dtype])


def checked(rows: dict[str, Row], close: float = CLOSE["float32"]) -> dict[str, Row]:
    """The rows without those whose losses are not PyTorch's."""
    wanted = rows.get("torch", {}).get("losses")
    for library, row in rows.items():
        if wanted and "losses" in row and not np.allclose(row["losses"], wanted, rtol=close):
            rows[library] = {"failure": f"its losses {row['losses']} are not PyTorch's {wanted}"}
    return rows


def line(name: str, rows: dict[str, Row]) -> str:
    """A row of the table."""
    cells = [name]
    for library in LIBRARIES:
        row = rows.get(library, {})
        cells += [milliseconds(row[figure]) if figure in row else "–" for figure in ("step", "first")]
        cells += [f"{row['peak']:.0f}" if "peak" in row else "–"]
    cells += ["–" if value is None else f"{value:.2f}" for value in (over_best_peer(rows, "step"),)]
    svod = rows.get("svod", {})
    cells += [f"{svod['early']} + {svod['late']}" if "early" in svod else "–"]
    return "| " + " | ".join(cells) + " |"


def page(results: dict[str, dict[str, Row]]) -> str:
    """The table, and the mean."""
    names = "".join(f" {library}: step ms | first | peak MB |" for library in LIBRARIES)
    lines = [
        f"| step |{names} svod / best | kernels |",
        "|---|" + "---:|" * (3 * len(LIBRARIES) + 2),
        *(line(name, rows) for name, rows in results.items()),
        "",
    ]
    ratios = [value for rows in results.values() if (value := over_best_peer(rows, "step")) is not None]
    if ratios:
        lines.append(
            f"- svod over the best peer: **{geometric_mean(ratios):.2f}** in the geometric mean of {len(ratios)}"
        )
    for name, rows in results.items():
        lines += [f"- {name}, {library}: {row['failure']}" for library, row in rows.items() if "failure" in row]
    return "\n".join(lines) + "\n"


def main() -> None:
    options = arguments()
    if options.worker:
        print(json.dumps(work(options.worker, GPU_STEPS[options.steps[0]], options.seconds, options.device)))
        return
    results: dict[str, dict[str, Row]] = {}
    end = time.monotonic() + options.total
    for name in options.steps:
        if time.monotonic() > end:
            print(f"no time for {name}", flush=True)
            continue
        results[name] = measure(name, options)
        print(line(name, results[name]), flush=True)
    title = "Steps of training" if options.device == "CPU" else "Steps of training on a GPU"
    text = heading(title, len(os.sched_getaffinity(0))) + f"\n{__doc__.split('    python')[0].strip()}\n\n"
    print("\n" + page(results))
    if options.output:
        options.output.write_text(text + page(results))


if __name__ == "__main__":
    main()
