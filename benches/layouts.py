#!/usr/bin/env python3
"""Movements of data beside NumPy and PyTorch: permutations, flips, slices, concatenations, pads, of several types.

    python benches/layouts.py [--only flip] [--output docs/benchmarks/layouts.md]

Every system writes into outputs that are there already where it can (svod's plans own theirs, NumPy and
PyTorch copy a view into an array); where a peer's function makes a new one, as `concatenate` does, that counts.
Systems take turns, on the same number of threads; a time is the least of all turns. What svod gives is compared
with NumPy's result before it is timed.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from itertools import permutations
from math import exp, log
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from report import heading

import svod

# Calls of a turn at most, and the seconds after which it ends.
CALLS, TURN = 20, 0.02
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "transpose": (lambda x: x.mT, lambda t: t.mT, lambda a: a.swapaxes(-1, -2)),
    "flip rows": (lambda x: x.flip(0), lambda t: t.flip(0), lambda a: a[::-1]),
    "flip columns": (lambda x: x.flip(1), lambda t: t.flip(1), lambda a: a[:, ::-1]),
    "every 2nd column": (lambda x: x[:, ::2], lambda t: t[:, ::2], lambda a: a[:, ::2]),
    "every 3rd row": (lambda x: x[::3], lambda t: t[::3], lambda a: a[::3]),
    "columns 5 to -7": (lambda x: x[:, 5:-7], lambda t: t[:, 5:-7], lambda a: a[:, 5:-7]),
    "concat rows": (lambda x: svod.cat([x, x], 0), lambda t: torch.cat([t, t], 0), lambda a: np.concatenate([a, a], 0)),
    "concat columns": (
        lambda x: svod.cat([x, x], 1),
        lambda t: torch.cat([t, t], 1),
        lambda a: np.concatenate([a, a], 1),
    ),
    "pad": (
        lambda x: x.pad(((1, 2), (3, 4))),
        lambda t: torch.nn.functional.pad(t, (3, 4, 1, 2)),
        lambda a: np.pad(a, ((1, 2), (3, 4))),
    ),
    "roll columns": (lambda x: x.roll(3, 1), lambda t: torch.roll(t, 3, 1), lambda a: np.roll(a, 3, 1)),
}


class Case(NamedTuple):
    name: str
    shape: tuple[int, ...]
    dtype: str
    functions: tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]


def permutation(axes: tuple[int, ...]) -> tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]:
    return (lambda x: x.permute(*axes), lambda t: t.permute(*axes), lambda a: a.transpose(axes))


def cases() -> Iterator[Case]:
    shapes: list[tuple[int, ...]] = [(64, 192, 256), (101, 173, 211), (8, 128, 12, 64), (13, 37, 29, 61)]
    for shape in shapes:
        for axes in permutations(range(len(shape))):
            if axes != tuple(range(len(shape))):
                yield Case("permute " + "".join(map(str, axes)), shape, "float32", permutation(axes))
    for name, functions in FUNCTIONS.items():
        for shape in [(2048, 2048), (1999, 3001), (300_000, 25 if "-7" in name else 7)]:
            for dtype in ("int8", "float16", "float32"):
                yield Case(name, shape, dtype, functions)


class Result(NamedTuple):
    case: Case
    moved: int
    times: dict[str, float]

    @property
    def ratio(self) -> float:
        return self.times["svod"] / min(time for name, time in self.times.items() if name != "svod")


def measure(case: Case, rounds: int) -> Result:
    x = np.random.default_rng(0).integers(-100, 100, case.shape).astype(case.dtype)
    mine, torchs, numpys = case.functions
    t, expected = torch.from_numpy(x), numpys(x)
    leaf = svod.Tensor(x)
    plan = svod.prepare(mine(leaf).contiguous(), inputs=[leaf])
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)

    calls: dict[str, Callable[[], Any]] = {"svod": plan.execute}
    held = np.empty_like(expected, order="C")
    view = torchs(t)
    place = torch.from_numpy(np.empty_like(held))
    owns = view.untyped_storage().data_ptr() != t.untyped_storage().data_ptr()
    calls["torch"] = (lambda: torchs(t)) if owns else (lambda: place.copy_(torchs(t)))
    # NumPy runs between PyTorch, whose threads wait busily for a while, and svod.
    calls["numpy"] = (lambda: numpys(x)) if expected.base is None else (lambda: np.copyto(held, numpys(x)))
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            end = perf_counter() + TURN
            for _ in range(CALLS):
                start = perf_counter()
                call()
                times[name] = min(times[name], perf_counter() - start)
                if start > end:
                    break
    return Result(case, x.nbytes + expected.nbytes, times)


def table(results: list[Result]) -> str:
    lines = ["| movement | shape | type | svod ms | GB/s | NumPy ms | PyTorch ms | svod / best peer |"]
    lines.append("|---|---|---|---:|---:|---:|---:|---:|")
    for result in results:
        case, times = result.case, {name: time * 1e3 for name, time in result.times.items()}
        shape = "×".join(map(str, case.shape))
        rate = result.moved / result.times["svod"] / 1e9
        lines.append(
            f"| {case.name} | {shape} | {case.dtype} | {times['svod']:.3f} | {rate:.1f} | {times['numpy']:.3f}"
            f" | {times['torch']:.3f} | {result.ratio:.2f} |"
        )
    mean = exp(sum(log(result.ratio) for result in results) / len(results))
    slower = [result for result in results if result.ratio > 1.05]
    lines.append(f"\nGeometric mean over {len(results)} cases: **{mean:.2f} ×** the time of the best peer;")
    lines.append(f"{len(slower)} cases are slower than 1.05 × the best peer.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures movements of data beside NumPy and PyTorch.")
    parser.add_argument("--only", default="", help="movements whose name holds this")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each system (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of PyTorch")
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = [measure(case, options.rounds) for case in cases() if options.only in case.name]
    text = table(results)
    print(text)
    if options.output:
        versions = f"svod {svod.__version__}, numpy {np.__version__}, torch {torch.__version__}"
        options.output.write_text(heading("Movements of data", options.threads, versions) + "\n" + text + "\n")


if __name__ == "__main__":
    main()
