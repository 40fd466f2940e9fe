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
    "argmax, min, max": (lambda t: [t.argmax(0), t.min(axis=0), t.max(axis=0)], [np.argmax, np.min, np.max]),
    "softmax, count": (
        lambda t: [t.cast("float32").softmax(0), (t > 0).sum(0)],
        [shares, lambda x: (x > 0).sum()],
    ),
    "how often the greatest, sum": (
        lambda t: [(t == t.max(axis=0)).sum(0), t.sum(0)],
        [lambda x: (x == x.max()).sum(), lambda x: x.sum(dtype="f8")],
    ),
    "greatest deviation, count": (
        lambda t: [(t.cast("float32") - t.cast("float32").mean(0)).abs().max(axis=0), (t > 0).sum(0)],
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
    steps = [line.split() for line in str(kernel.schedule).splitlines() if line.startswith("split_reduction")]
    assert len({line[-1] for line in steps}) == 1, steps


@pytest.mark.parametrize("sizes", [(1000, 2000), (1000, 1000), (2000, 1000), (1000, None)])
def test_parts_may_have_any_size_in_a_users_schedule(sizes: tuple[int, int | None]) -> None:
    x = np.random.default_rng(1).standard_normal(40_001, np.float32)
    t = svod.Tensor(x)
    at, total = t.argmax(0), t.sum(0)
    steps = "\n".join(f"split_reduction s{n}.a0.0 by {by}" for n, by in enumerate(sizes) if by)
    svod.prepare(at, total, inputs=[], schedules={0: steps}).execute()
    assert at.item() == x.argmax()
    np.testing.assert_allclose(total.item(), x.sum(dtype="f8"), rtol=1e-5)


def lse(x: Any, axis: int) -> Any:
    """Log-sum-exp of an array in float64."""
    peak = x.max(axis=axis, keepdims=True)
    return np.log(np.exp(x - peak).sum(axis, keepdims=True)) + peak


def softmax(x: Any, axis: int) -> Any:
    return np.exp(x - lse(x, axis))


# Folds that read earlier ones, which read others: not all can take what is of their own part.
CHAINS: dict[str, tuple[Callable[[svod.Tensor, int], svod.Tensor], Callable[[Any, int], Any]]] = {
    "expectation": (lambda t, a: (t.softmax(a) * t).sum(a), lambda x, a: (softmax(x, a) * x).sum(a)),
    "entropy": (
        lambda t, a: -(t.softmax(a) * t.log_softmax(a)).sum(a),
        lambda x, a: -(softmax(x, a) * (x - lse(x, a))).sum(a),
    ),
    "sum of log_softmax": (
        lambda t, a: (t - t.logsumexp(a, keepdim=True)).sum(a),
        lambda x, a: (x - lse(x, a)).sum(a),
    ),
    "logsumexp of softmax": (
        lambda t, a: (t - t.mean(a, keepdim=True)).softmax(a).logsumexp(a),
        lambda x, a: lse(softmax(x - x.mean(a, keepdims=True), a), a).squeeze(a),
    ),
    "variance of deviations from the greatest": (
        lambda t, a: (t - t.max(axis=a, keepdim=True)).exp().var(a),
        lambda x, a: np.exp(x - x.max(axis=a, keepdims=True)).var(a, ddof=1),
    ),
    "sine": (lambda t, a: t.sin().sum(a), lambda x, a: np.sin(x).sum(a)),
}


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((3, 100_000), 1), ((100_003, 5), 0), ((3, 50_257, 9), 1), ((50_000, 8), 0), ((777, 777), 1), ((8, 50_001), 1)],
    ids=str,
)
@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_folds_of_few_results(name: str, shape: tuple[int, ...], axis: int) -> None:
    mine, right = CHAINS[name]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    expected = right(x.astype(np.float64), axis)
    result = mine(svod.Tensor(x), axis)
    assert result.dtype == svod.float32
    scale = np.abs(expected).max()
    np.testing.assert_allclose(result.numpy(), expected, rtol=2e-5, atol=2e-5 * scale)


def test_chains_of_folds_of_symbolic_sizes() -> None:
    n = svod.Variable("n", 1, 20_000)
    x = svod.empty(3, n, 9)
    mine, right = CHAINS["expectation"]
    plan = mine(x, 1).prepare(inputs=[x])
    for rows in (1, 7, 20_000):
        a = np.random.default_rng(rows).standard_normal((3, rows, 9)).astype(np.float32)
        (result,) = plan.run(a)
        np.testing.assert_allclose(result.numpy(), right(a.astype(np.float64), 1), rtol=2e-5, atol=2e-5)
