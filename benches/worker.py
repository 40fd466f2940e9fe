"""One system measuring one case in a process of its own; started and told what to do by compare.py.

Speaks JSON, a line each way: at the start it reports its first result (`version`, `first`
in seconds after the imports, `sample` of the values), then answers every line that holds
a number of seconds with the `best` and `median` time of the calls made for so long.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import statistics
import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from cases import CASES, Case

# A system's set-up maps a case to: one call, and its result as an array.
Ready = tuple[Callable[[], Any], Callable[[Any], np.ndarray]]


def numpy_ready(case: Case, inputs: Sequence[np.ndarray]) -> Ready:
    function = case.programs["numpy"]()
    arguments = [*inputs, *case.weights()]
    return lambda: function(*arguments), np.asarray


def svod_ready(case: Case, inputs: Sequence[np.ndarray]) -> Ready:
    import svod

    function = case.programs["svod"]()
    tensors = [svod.Tensor(array) for array in inputs]
    plan = function(*tensors, *map(svod.Tensor, case.weights())).prepare(inputs=tensors)
    return plan.execute, lambda _: plan.outputs[0].numpy()


def torch_ready(case: Case, inputs: Sequence[np.ndarray], compiled: bool = False) -> Ready:
    import torch

    torch.set_num_threads(int(os.environ["SVOD_THREADS"]))
    function = case.programs["torch"]()
    if compiled:
        function = torch.compile(function)
    arguments = [torch.from_numpy(array) for array in (*inputs, *case.weights())]

    def call() -> Any:
        with torch.inference_mode():
            return function(*arguments)

    return call, lambda result: result.numpy()


def torch_compile_ready(case: Case, inputs: Sequence[np.ndarray]) -> Ready:
    return torch_ready(case, inputs, compiled=True)


def jax_ready(case: Case, inputs: Sequence[np.ndarray]) -> Ready:
    import jax.numpy as jnp

    function = case.programs["jax"]()
    arguments = [jnp.asarray(array) for array in (*inputs, *case.weights())]
    return lambda: function(*arguments).block_until_ready(), np.asarray


def onnxruntime_ready(case: Case, inputs: Sequence[np.ndarray]) -> Ready:
    function = case.programs["onnxruntime"]()
    return lambda: function(*inputs), np.asarray


def tinygrad_ready(case: Case, inputs: Sequence[np.ndarray]) -> Ready:
    from tinygrad import Tensor, TinyJit

    function = case.programs["tinygrad"]()
    arguments = [Tensor(array).realize() for array in (*inputs, *case.weights())]
    step = TinyJit(lambda *tensors: function(*tensors).realize())
    return lambda: step(*arguments), lambda result: result.numpy()


# system: its framework (whose program it runs), what to import before the clock starts, set-up
SYSTEMS: dict[str, tuple[str, tuple[str, ...], Callable[[Case, Sequence[np.ndarray]], Ready]]] = {
    "svod": ("svod", ("svod", "tokenizers", "tqdm"), svod_ready),
    "numpy": ("numpy", ("numpy",), numpy_ready),
    "torch": ("torch", ("torch",), torch_ready),
    "torch.compile": ("torch", ("torch",), torch_compile_ready),
    "jax": ("jax", ("jax",), jax_ready),
    "onnxruntime": ("onnxruntime", ("onnxruntime", "onnx"), onnxruntime_ready),
    "tinygrad": ("tinygrad", ("tinygrad",), tinygrad_ready),
}


def timed(call: Callable[[], Any], seconds: float) -> dict[str, float]:
    for _ in range(2):
        call()
    times: list[float] = []
    end = perf_counter() + seconds
    while len(times) < 5 or perf_counter() < end:
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return {"best": min(times), "median": statistics.median(times)}


def main(system: str, case_name: str) -> None:
    # What a library prints must not end up between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    _, modules, set_up = SYSTEMS[system]
    for module in modules:
        importlib.import_module(module)
    (case,) = (case for case in CASES if case.name == case_name)
    inputs = case.inputs()

    start = perf_counter()
    call, fetch = set_up(case, inputs)
    result = call()
    values = fetch(result).ravel()
    first = perf_counter() - start
    sample = values[:: max(1, values.size // 97)].astype(float).tolist()
    version = importlib.metadata.version(modules[0])
    print(json.dumps({"version": version, "first": first, "sample": sample}), file=answers)
    for line in sys.stdin:
        print(json.dumps(timed(call, float(line))), file=answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
