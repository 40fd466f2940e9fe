"""Values that share what they read share a pass over it: kernels and bytes moved, whatever the spelling."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import svod

Array = npt.NDArray[Any]
Operands = Sequence[svod.Tensor]


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def moved(plan: svod.ExecutionPlan) -> int:
    """Bytes that the kernels of a plan read and write, each argument once a kernel."""
    size = {"float32": 4, "int64": 8, "int32": 4, "bool": 1}
    return sum(size[dtype] * count for kernel in plan.kernels for dtype, count in kernel.buffers)


def check(
    results: Operands, expected: Sequence[Array], kernels: int = 1, moves: int | None = None, tolerance: float = 1e-5
) -> None:
    plan = svod.prepare(*results)
    assert len(plan.kernels) == kernels, [kernel.name for kernel in plan.kernels]
    if moves is not None:
        assert moved(plan) == moves
    plan.execute()
    for mine, right in zip(plan.outputs, expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), right, rtol=tolerance, atol=tolerance)


def keep(x: svod.Tensor, by: str, axis: int) -> svod.Tensor:
    result: svod.Tensor = getattr(x, by)(axis, keepdim=True)
    return result


SHAPES = [(37, 64), (5, 7, 33), (1, 9), (64, 1)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("axis", [0, -1])
def test_mean_and_variance_are_one_kernel(shape: tuple[int, ...], axis: int) -> None:
    x = draw(*shape) + 100
    mean, variance = x.mean(axis, dtype=np.float64), x.var(axis, dtype=np.float64)
    bytes_ = 4 * (x.size + 2 * mean.size)
    t = svod.Tensor(x)
    check([t.mean(axis), svod.var(t, axis=axis)], [mean, variance], moves=bytes_, tolerance=1e-4)
    t = svod.Tensor(x)
    by_hand = ((t - t.mean(axis, keepdim=True)) ** 2).mean(axis)
    check([t.mean(axis), by_hand], [mean, variance], moves=bytes_, tolerance=1e-4)
    t = svod.Tensor(x)
    centred = t - t.sum(axis, keepdim=True) * (1 / shape[axis])
    check([t.sum(axis) / shape[axis], (centred * centred).sum(axis) / shape[axis]], [mean, variance], tolerance=1e-4)


@pytest.mark.parametrize("axis", [0, 1, (0, 2)])
def test_several_reductions_of_one_tensor_are_one_fold(axis: int | tuple[int, ...]) -> None:
    x = draw(19, 40, 21)
    t = svod.Tensor(x)
    results = [t.sum(axis), t.max(axis), (t * t).sum(axis)]
    check(
        results,
        [x.sum(axis), x.max(axis), (x * x).sum(axis)],
        moves=4 * (x.size + 3 * x.sum(axis).size),
        tolerance=1e-4,
    )
    t = svod.Tensor(x)
    loops = svod.prepare(t.sum(axis), t.min(axis)).kernels[0].loops
    assert loops.count("p0[") > 0 and "p1[" in loops and "p2[" in loops


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extremum_and_where_it_is_are_one_kernel(axis: int, name: str) -> None:
    x = draw(33, 50)
    t = svod.Tensor(x)
    best, at = getattr(t, name)(axis), getattr(t, f"arg{name}")(axis)
    right = [getattr(x, name)(axis), getattr(x, f"arg{name}")(axis)]
    check([best, at], right, moves=x.nbytes + 12 * right[0].size)


def test_statistics_of_a_softmax_are_outputs_of_its_kernel() -> None:
    x = draw(24, 100)
    peak = x.max(1, keepdims=True)
    total = np.exp(x - peak).sum(1, keepdims=True)
    t = svod.Tensor(x)
    check([keep(t, "max", 1), t.softmax(1)], [peak, np.exp(x - peak) / total], moves=2 * x.nbytes + 4 * 24)
    t = svod.Tensor(x)
    logsumexp = (t - keep(t, "max", 1)).exp().sum(1).log() + t.max(1)
    check(
        [t.softmax(1), logsumexp], [np.exp(x - peak) / total, (np.log(total) + peak)[:, 0]], moves=2 * x.nbytes + 4 * 24
    )


def adam(p: Any, g: Any, m: Any, v: Any) -> tuple[Any, Any, Any]:
    m, v = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
    return p - m * 0.01 / ((v * 1000) ** 0.5 + 1e-8), m, v


@pytest.mark.parametrize("tensors", [1, 40])
def test_an_update_of_an_optimizer_is_a_kernel_a_parameter(tensors: int) -> None:
    arrays = [[draw(30, 17, seed=4 * i + j) ** (2 if j == 3 else 1) for j in range(4)] for i in range(tensors)]
    updated = [adam(*map(svod.Tensor, group)) for group in arrays]
    right = [adam(*group) for group in arrays]
    results, expected = [t for group in updated for t in group], [a for group in right for a in group]
    check(results, expected, kernels=tensors, moves=tensors * 7 * 4 * 30 * 17)


def test_outputs_of_different_rows_stay_apart() -> None:
    x = draw(600, 700)
    t = svod.Tensor(x)
    check([t.sum(0), t.sum(1)], [x.sum(0), x.sum(1)], kernels=2, tolerance=1e-3)


def test_what_waits_for_a_third_kernel_does_not_join() -> None:
    # The last maximum reads what the first kernel reads, but needs the product, which needs that kernel.
    x, w = draw(64, 48), draw(48, 48, seed=1)
    t, u = svod.Tensor(x), svod.Tensor(w)
    scaled = t * t.sum()
    product = scaled @ u
    right = (x * x.sum()) @ w
    check([t.max(), product, (t + product).max()], [x.max(), right, (x + right).max()], kernels=3, tolerance=1e-2)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1)])
def test_empty_and_single_rows(shape: tuple[int, int]) -> None:
    x = draw(*shape)
    t = svod.Tensor(x)
    results = [t.sum(1), (t + 1), (t * 2).sum(1)]
    plan = svod.prepare(*results)
    plan.execute()
    for mine, right in zip(plan.outputs, [x.sum(1), x + 1, (x * 2).sum(1)], strict=True):
        np.testing.assert_allclose(mine.numpy(), right)


def test_nan_and_infinity_stay_in_their_rows() -> None:
    x = draw(8, 40)
    x[1, 3], x[2, 5], x[3, 0] = np.nan, np.inf, -np.inf
    t = svod.Tensor(x)
    with np.errstate(invalid="ignore"):
        right = [x.mean(1), x.var(1), x.max(1)]
    check([t.mean(1), svod.var(t, axis=1), t.max(1)], right, tolerance=1e-4)


NAMED: list[Callable[[svod.Tensor, int], svod.Tensor]] = [
    lambda x, axis: x.softmax(axis),
    lambda x, axis: (x - keep(x, "max", axis)).exp() / (x - keep(x, "max", axis)).exp().sum(axis, keepdim=True),
    lambda x, axis: x.log_softmax(axis).exp(),
]


@pytest.mark.parametrize("softmax", NAMED)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_in_three_spellings(softmax: Callable[[svod.Tensor, int], svod.Tensor], axis: int) -> None:
    x = draw(12, 30, 17)
    e = np.exp(x - x.max(axis, keepdims=True))
    check([softmax(svod.Tensor(x), axis)], [e / e.sum(axis, keepdims=True)], moves=2 * x.nbytes)
