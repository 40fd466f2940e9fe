"""Folds in parts that are tasks: several of one long value, of any types, are all written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

Array = np.ndarray[Any, Any]
LONG = 500_001


def shares(x: Array) -> Array:
    powers = np.exp(x.astype(np.float64) - x.max())
    return powers / powers.sum()


def deviation(x: Array) -> Array:
    return np.abs(x - x.mean(dtype=np.float64)).max()


# Folds of which one waits for the other, and which carry values of other types.
PAIRS: dict[str, tuple[Callable[[svod.Tensor], list[svod.Tensor]], list[Callable[[Array], Any]]]] = {
    "argmax, sum": (lambda t: [t.argmax(0), t.sum(0)], [np.argmax, lambda x: x.sum(dtype="f8")]),
    "argmax, min, max": (lambda t: [t.argmax(0), t.min(0), t.max(0)], [np.argmax, np.min, np.max]),
    "softmax, count": (
        lambda t: [t.cast("float32").softmax(0), (t > 0).sum(0)],
        [shares, lambda x: (x > 0).sum()],
    ),
    "how often the greatest, sum": (
        lambda t: [(t == t.max(0)).sum(0), t.sum(0)],
        [lambda x: (x == x.max()).sum(), lambda x: x.sum(dtype="f8")],
    ),
    "greatest deviation, count": (
        lambda t: [(t.cast("float32") - t.cast("float32").mean(0)).abs().max(0), (t > 0).sum(0)],
        [deviation, lambda x: (x > 0).sum()],
    ),
}


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", PAIRS)
def test_every_fold_of_a_long_value_is_written(name: str, dtype: str) -> None:
    mine, right = PAIRS[name]
    x = np.random.default_rng(0).integers(0, 4, LONG).astype(dtype)
    results = mine(svod.Tensor(x))
    svod.realize(*results)
    for result, expected in zip(results, right, strict=True):
        np.testing.assert_allclose(result.numpy().astype("f8"), expected(x), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_folds_of_types_of_other_widths_are_cut_alike(dtype: str) -> None:
    x = np.random.default_rng(0).integers(0, 4, LONG).astype(dtype)
    t = svod.Tensor(x)
    (kernel,) = svod.prepare(t.argmax(0), t.sum(0)).kernels
    steps = [line.split() for line in str(kernel.schedule).splitlines() if line.startswith("parts")]
    assert len({line[-1] for line in steps}) == 1, steps


@pytest.mark.parametrize("sizes", [(1000, 2000), (1000, 1000), (2000, 1000), (1000, None)])
def test_parts_may_have_any_size_in_a_users_schedule(sizes: tuple[int, int | None]) -> None:
    x = np.random.default_rng(1).standard_normal(40_001, np.float32)
    t = svod.Tensor(x)
    at, total = t.argmax(0), t.sum(0)
    steps = "\n".join(f"parts s{n}.a0.0 by {by}" for n, by in enumerate(sizes) if by)
    svod.prepare(at, total, inputs=[], schedules={0: steps}).execute()
    assert at.item() == x.argmax()
    np.testing.assert_allclose(total.item(), x.sum(dtype="f8"), rtol=1e-5)
