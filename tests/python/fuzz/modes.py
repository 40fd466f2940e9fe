"""The ways in which a program is run: each gives the outputs for every set of its contents."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import svod
from fuzz import jaxes
from fuzz.numbers import Array
from fuzz.program import Program
from fuzz.slopes import weights

Results = list[list[Array]]


def tensors(program: Program, which: int) -> list[svod.Tensor]:
    return [svod.Tensor(array) for array in program.contents(which)]


def arrays(outputs: list[Any]) -> list[Array]:
    return [np.array(output.numpy()) for output in outputs]


def eager(program: Program) -> Results:
    """Values are read one by one, in any order, or at once."""
    results: Results = []
    rng = random.Random(program.salt)
    for which in range(len(program.sizes)):
        outputs = program.function()(*tensors(program, which))
        if rng.random() < 0.5:
            svod.realize(*outputs)
        order = list(range(len(outputs)))
        rng.shuffle(order)
        read = {i: np.array(outputs[i].numpy()) for i in order}
        results.append([read[i] for i in range(len(outputs))])
    return results


def options(program: Program) -> dict[str, Any]:
    """Options of `prepare`, mostly none."""
    rng = random.Random(program.salt)
    return rng.choice([{}, {}, {"threads": 1}, {"threads": 3}, {"skip": "arguments"}, {"schedule_cache": False}])


def prepared(program: Program) -> tuple[svod.ExecutionPlan, list[svod.Tensor]]:
    inputs = tensors(program, 0)
    outputs = program.function()(*inputs)
    return svod.prepare(*outputs, inputs=inputs, unused_inputs=True, **options(program)), outputs


def plan(program: Program) -> Results:
    """Prepared once, run with every set of contents, the first one twice."""
    made, _ = prepared(program)
    results: Results = []
    for which in (0, 1, 0):
        made.execute(*program.contents(which))
        results.append(arrays(made.outputs))
    again = results.pop()
    assert [array.tobytes() for array in again] == [array.tobytes() for array in results[0]], (
        "other bits in the next run"
    )
    return results


def threads(program: Program) -> Results:
    """Instances of a plan in threads, beside threads that compute the same without one."""
    made, _ = prepared(program)

    def run(which: int) -> list[Array]:
        if which >= 2:
            return arrays(program.function()(*tensors(program, which - 2)))
        instance = made.instance()
        for _ in range(3):
            instance.execute(*program.contents(which))
        return arrays(instance.outputs)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run, range(4)))
    # Other kernels may add in another order, so that these are compared with NumPy only.
    return results if program.salt % 2 else results[2:] + results[:2]


def jit(program: Program) -> Results:
    """A jitted function, called with arrays and with tensors."""
    function = svod.jit(program.function())
    return [arrays(function(*program.contents(0))), arrays(function(*tensors(program, 1)))]


def symbolic(program: Program) -> Results:
    """A jitted function whose calls differ in an extent."""
    n = svod.Variable("n", 1, 16)
    shapes = {
        f"v{i}": tuple(n if extent == program.sizes[0] else extent for extent in contents[0].shape)
        for i, (_, contents) in program.inputs.items()
        if program.sizes[0] in contents[0].shape
    }
    function = svod.jit(program.function(), shapes=shapes)
    return [arrays(function(*program.contents(which))) for which in range(len(program.sizes))]


def devices(program: Program) -> Results:
    """All inputs on the second device, or spread over two."""
    rng = random.Random(program.salt)
    results: Results = []
    for which in range(len(program.sizes)):
        inputs = []
        for tensor in tensors(program, which):
            if program.salt % 2:
                inputs.append(tensor.to("CPU:1"))
            else:
                axes = [None, *(i for i, extent in enumerate(tensor.shape) if extent > 1)]
                inputs.append(tensor.shard(["CPU", "CPU:1"], rng.choice(axes)))
        outputs = program.function()(*inputs)
        # At once: what follows from constants is on no device, but on the first one when it has been read alone.
        svod.realize(*outputs)
        results.append(arrays(outputs))
    return results


def cuda(program: Program) -> Results:
    """All inputs on a GPU, read at once, or as a plan that is run with other contents."""
    results: Results = []
    if program.salt % 2:
        for which in range(len(program.sizes)):
            outputs = program.function()(*(tensor.to("CUDA") for tensor in tensors(program, which)))
            svod.realize(*outputs)
            results.append(arrays(outputs))
        return results
    inputs = [tensor.to("CUDA").realize() for tensor in tensors(program, 0)]
    made = svod.prepare(*program.function()(*inputs), inputs=inputs, unused_inputs=True)
    for which in range(len(program.sizes)):
        made.execute(*program.contents(which))
        results.append(arrays(made.outputs))
    return results


def gradient(program: Program) -> Results:
    """The gradients of a weighted sum of the output, by each input of floats."""
    function = program.function()
    results: Results = []
    for which in range(len(program.sizes)):
        inputs = tensors(program, which)
        by = [k for k, (dtype, _) in enumerate(program.inputs.values()) if dtype == "float64"]

        def loss(*some: svod.Tensor, by: list[int] = by, inputs: list[svod.Tensor] = inputs) -> svod.Tensor:
            given = list(inputs)
            for k, tensor in zip(by, some):
                given[k] = tensor
            (output,) = function(*given)
            return (output * svod.Tensor(weights(output.shape))).sum()

        found = svod.grad(loss, argnums=tuple(range(len(by))))(*(inputs[k] for k in by))
        results.append(arrays(list(found)))
    return results


MODES: dict[str, Callable[[Program], Results]] = {
    "eager": eager,
    "plan": plan,
    "threads": threads,
    "jit": jit,
    "symbolic": symbolic,
    "devices": devices,
    "gradient": gradient,
}
# What runs only where it is asked for, since most machines lack what it needs.
ASKED: dict[str, Callable[[Program], Results]] = {"cuda": cuda}
if jaxes.is_here():
    # The same gradients, compared with JAX's.
    MODES["jax"] = gradient
