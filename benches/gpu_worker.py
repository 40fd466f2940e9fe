"""One library at work on a GPU, for all cases, in a process of its own; started and told what to do by compare_gpu.py.

Speaks JSON, a line each way. It begins by saying what it found: `version`, and `systems` in which the library can be
run. A request is an object whose `do` says what:

- `place`: the operands of `case` become tensors on the device; exact results are or will be in the file `exact`.
- `exact`: the case's results in f64, into that file.
- `set up`: one `system` computes the case for the first time; gives `first`, the seconds that this took, and `error`
  against the exact results.
- `measure`: calls of a `system` for so many `seconds`; gives `times`, seconds a call of each batch, and `calls`.
- `drop`: forgets the case.

What goes wrong is answered as `failure`, with `broken` where the device does nothing more for this process.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from worker import error

from cases import Case, gpu
from systems.base import Array, Job, Ready, Unsupported

# A batch of calls, which is timed as one, takes about so long: far longer than to wait for its end.
BATCH = 0.02
MOST_CALLS = 2000
# Of results of more elements only some are compared: that would take longer than to measure.
LARGE = 1 << 21
# By library: its module and the systems in which it is run, each a function of the module that sets a job up.
LIBRARIES: dict[str, tuple[str, dict[str, str]]] = {
    "svod": ("systems.svod", {"svod": "ready"}),
    "torch": (
        "systems.torch",
        {
            "torch": "ready",
            "torch.compile": "compiled",
            "torch.compile-graphs": "graphs",
            "torch-flash": "flash",
            "torch-cudnn": "cudnn",
        },
    ),
    "triton": ("systems.triton", {"triton": "ready"}),
    "jax": ("systems.jax", {"jax": "ready"}),
}
# Systems for some groups of cases only.
GROUPS = {
    "torch.compile-graphs": ("models",),
    "torch-flash": ("attention",),
    "torch-cudnn": ("attention",),
}
# Systems that a CPU has none of.
GPU_ONLY = ("triton", "torch.compile-graphs", "torch-flash", "torch-cudnn")


def sampled(array: Array) -> Array:
    """What is compared of a result: all of it, or of a large one its beginning, its end, and elements all over it."""
    flat = np.asarray(array).reshape(-1)
    if flat.size <= LARGE:
        return flat
    # An odd step meets rows of any power of two in all of their columns.
    step = flat.size // LARGE * 2 + 1
    return np.concatenate([flat[: LARGE // 8], flat[::step], flat[-LARGE // 8 :]])


def difference(results: list[Array], expected: list[tuple[tuple[int, ...], Array]]) -> float:
    """[`error`] of samples, infinite where shapes differ."""
    shapes = [shape for shape, _ in expected]
    if [result.shape for result in results] != shapes:
        return float("inf")
    return error([sampled(result) for result in results], [sample for _, sample in expected])


class Bench:
    """The case at hand, and what its systems made of it."""

    def __init__(self, library: str, device: str, cases: dict[str, Case]) -> None:
        module, self.systems = LIBRARIES[library]
        self.module = importlib.import_module(module)
        self.device, self.cases = device, cases
        self.ready: dict[str, tuple[Ready, Callable[[], Any]]] = {}
        self.job: Job | None = None
        self.path = Path()

    def place(self, case: str, exact: str) -> dict[str, Any]:
        self.drop()
        self.path = Path(exact)
        found = self.cases[case]
        inputs = [self.module.place(array, self.device) for array in found.inputs()]
        weights = [self.module.place(array, self.device) for array in found.weights()]
        self.job = Job(found.program, inputs, weights, len(os.sched_getaffinity(0)), self.device, case)
        self.module.wait([*inputs, *weights], self.device)
        return {}

    def exact(self) -> dict[str, Any]:
        assert self.job is not None
        results = self.module.exact(self.job)
        arrays = {f"{i} {json.dumps(result.shape)}": sampled(result) for i, result in enumerate(results)}
        np.savez(self.path, **arrays)  # type: ignore[arg-type]
        return {}

    def set_up(self, system: str) -> dict[str, Any]:
        assert self.job is not None
        start = perf_counter()
        ready = getattr(self.module, self.systems[system])(self.job)
        begin = ready.start or ready.call
        result = begin()
        self.module.wait(result, self.device)
        first = perf_counter() - start
        answer: dict[str, Any] = {"first": first}
        if self.path.exists():
            with np.load(self.path) as samples:
                expected = [(tuple(json.loads(name.split(" ", 1)[1])), samples[name]) for name in samples.files]
            answer["error"] = difference(ready.fetch(result), expected)
        self.ready[system] = (ready, begin)
        return answer

    def measure(self, system: str, seconds: float) -> dict[str, Any]:
        _, begin = self.ready[system]
        batch = 3
        times: list[float] = []
        self.timed(begin, 1)
        alone = self.timed(begin, batch)
        batch = int(min(max(BATCH / max(alone, 1e-7), 1), MOST_CALLS))
        end = perf_counter() + seconds
        while len(times) < 3 or perf_counter() < end:
            times.append(self.timed(begin, batch))
        return {"times": times, "calls": batch * len(times)}

    def timed(self, begin: Callable[[], Any], count: int) -> float:
        """Seconds a call: by events of the GPU where the library has them, else by the clock until all have ended."""
        events = getattr(self.module, "events", None) if self.device != "CPU" else None
        if events is not None:
            return float(events(begin, count))
        result = None
        start = perf_counter()
        for _ in range(count):
            result = begin()
        self.module.wait(result, self.device)
        return (perf_counter() - start) / count

    def drop(self) -> dict[str, Any]:
        self.ready.clear()
        self.job = None
        gc.collect()
        if hasattr(self.module, "release"):
            self.module.release()
        return {}

    def broken(self) -> bool:
        """Whether an error of the device stays: after a kernel that trapped it does for all that follows."""
        try:
            self.module.wait(self.module.place(np.zeros(1, np.float32), self.device), self.device)
        except Exception:
            return True
        return False

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        named = {name: value for name, value in request.items() if name != "do"}
        answer: dict[str, Any] = getattr(self, request["do"].replace(" ", "_"))(**named)
        return answer


def told(failure: BaseException) -> str:
    """One line of what went wrong."""
    lines = str(failure).strip().splitlines() or [""]
    kind = "unsupported" if isinstance(failure, Unsupported) else type(failure).__name__
    return f"{kind}: {lines[0][:200]}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=list(LIBRARIES))
    parser.add_argument("device")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    # What a library prints must not end up between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(content: dict[str, Any]) -> None:
        print(json.dumps(content), file=answers)

    cases = {case.name: case for case in (gpu.SMALL if options.small else [*gpu.CASES, *gpu.MATMUL_SET])}
    try:
        bench = Bench(options.library, options.device, cases)
        say({"version": importlib.metadata.version(options.library)})
    except (Exception, KeyboardInterrupt) as failure:
        return say({"failure": told(failure)})
    for line in sys.stdin:
        try:
            say(bench.answer(json.loads(line)))
        except (Exception, KeyboardInterrupt) as failure:
            say({"failure": told(failure), "broken": bench.broken()})


if __name__ == "__main__":
    main()
