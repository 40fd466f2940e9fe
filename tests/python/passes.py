"""Kernels and bytes moved: a check that tests of fusion share, and what they compute."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import svod

Array = npt.NDArray[Any]
Operands = Sequence[svod.Tensor]
Function = Callable[..., Any]


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def moved(plan: svod.ExecutionPlan, rounds: int = 1) -> int:
    """Bytes that the kernels of a plan read and write, each argument once a kernel: their loops ask for no more, or
    for so many times as much where they work on parts that stay in a cache."""
    size = {"float32": 4, "int64": 8, "int32": 4, "bool": 1}
    once = sum(size[dtype] * count for kernel in plan.kernels for dtype, count in kernel.buffers)
    assert asked_for(plan) <= 1.001 * rounds * once
    return once


def asked_for(plan: svod.ExecutionPlan) -> float:
    """Bytes that the loops of a plan's kernels ask memory for, as its analysis counts them: what is read again counts
    again, also from a cache. What remains of an axis after its vectors may be left out."""
    costs = [item["analysis"] for item in plan.analysis()["items"]]
    return sum(cost["bytes_read"] + cost["bytes_written"] for cost in costs if cost is not None)


def check(
    results: Operands,
    expected: Sequence[Array],
    kernels: int = 1,
    moves: int | None = None,
    tolerance: float = 1e-5,
    rounds: int = 1,
) -> None:
    plan = svod.prepare(*results)
    assert len(plan.kernels) == kernels, [kernel.name for kernel in plan.kernels]
    if moves is not None:
        assert moved(plan, rounds) == moves
    plan.execute()
    for mine, right in zip(plan.outputs, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), right, rtol=tolerance, atol=tolerance)


def keep(x: svod.Tensor, by: str, axis: int) -> svod.Tensor:
    result: svod.Tensor = getattr(x, by)(axis=axis, keepdim=True)
    return result


def log_sum_exp(x: Any, axis: Any) -> Array:
    peak = x.max(axis=axis, keepdims=True)
    return np.asarray(np.log(np.exp(x - peak).sum(axis, keepdims=True)) + peak)


def row_log_softmax(x: Any) -> Any:
    peak = keep(x, "max", 1)
    return x - peak - (x - peak).exp().sum(1, keepdim=True).log()
