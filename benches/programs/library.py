"""What the programs are written over: functions by their names in the Python array API standard."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

# An array, or a module of functions over them, of any of the libraries: they have no type in common.
Array = Any
Library = Any


def counts_of_svod() -> dict[str, int]:
    """Kernels that were compiled and schedules that were made so far, as the passes count them."""
    import svod

    passes = svod.compile_times()
    return {name: passes.get(of, (0, 0.0))[0] for name, of in (("kernels", "render"), ("schedules", "shard"))}


NAMES = (
    *("abs", "arange", "argmax", "argmin", "astype", "concat", "cumulative_sum", "exp", "int64", "max", "maximum"),
    *("mean", "min", "minimum", "reshape", "roll", "sqrt", "stack", "sum", "tanh", "where", "zeros"),
)


def _functions(module: ModuleType, **own: Callable[..., Any]) -> Library:
    """Those of a module, but for what it calls otherwise."""
    return SimpleNamespace(**{name: own.get(name) or getattr(module, name) for name in ("array", *NAMES)})


def _numpy() -> Library:
    import numpy

    # Unlike the others', its default is double precision.
    zeros = functools.partial(numpy.zeros, dtype=numpy.float32)
    return _functions(numpy, zeros=zeros)


def _svod() -> Library:
    import svod

    return _functions(svod, array=svod.Tensor)


def _torch() -> Library:
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    return _functions(
        torch,
        array=torch.tensor,
        astype=torch.Tensor.to,
        max=torch.amax,
        min=torch.amin,
        cumulative_sum=torch.cumsum,
        abs=torch.abs,
    )


@dataclass(frozen=True)
class Peer:
    """A library: how it is loaded, and what it counts beside the time."""

    load: Callable[[], Library]
    counts: Callable[[], dict[str, int]] = field(default=dict)


LIBRARIES = {
    "svod": Peer(_svod, counts_of_svod),
    "numpy": Peer(_numpy),
    "torch": Peer(_torch),
}
