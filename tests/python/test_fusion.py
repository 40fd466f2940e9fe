"""Values that share what they read share a pass over it: kernels and bytes moved."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from passes import Array, Function, asked_for, check, draw, keep, log_sum_exp, moved

import svod


def test_what_is_read_again_is_asked_for_again() -> None:
    x = svod.Tensor(draw(64, 4096))
    once, again = (x.softmax(1).prepare(strategy=how) for how in ("heuristic", "none"))
    assert asked_for(once) == moved(once) == 2 * 64 * 4096 * 4 < asked_for(again)


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
    results = [t.sum(axis), t.max(axis=axis), (t * t).sum(axis)]
    check(
        results,
        [x.sum(axis), x.max(axis=axis), (x * x).sum(axis)],
        moves=4 * (x.size + 3 * x.sum(axis).size),
        tolerance=1e-4,
    )
    t = svod.Tensor(x)
    loops = svod.prepare(t.sum(axis), t.min(axis=axis)).kernels[0].loops
    assert loops.count("p0[") > 0 and "p1[" in loops and "p2[" in loops


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["max", "min"])
def test_an_extremum_and_where_it_is_are_one_kernel(axis: int, name: str) -> None:
    x = draw(33, 50)
    t = svod.Tensor(x)
    best, at = getattr(t, name)(axis)
    right = [getattr(x, name)(axis=axis), getattr(x, f"arg{name}")(axis)]
    check([best, at], right, moves=x.nbytes + 12 * right[0].size)


def test_statistics_of_a_softmax_are_outputs_of_its_kernel() -> None:
    x = draw(24, 100)
    peak = x.max(axis=1, keepdims=True)
    total = np.exp(x - peak).sum(1, keepdims=True)
    t = svod.Tensor(x)
    check([keep(t, "max", 1), t.softmax(1)], [peak, np.exp(x - peak) / total], moves=2 * x.nbytes + 4 * 24)
    t = svod.Tensor(x)
    logsumexp = (t - keep(t, "max", 1)).exp().sum(1).log() + t.max(axis=1)
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


@pytest.mark.parametrize("shape", [(96, 64), (2, 33, 70)])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("biased", [True, False])
def test_heads_of_one_operand_are_one_kernel(shape: tuple[int, ...], constant: bool, biased: bool) -> None:
    x, depth = draw(*shape), shape[-1]
    weights = [draw(depth, 50, seed=1 + i) for i in range(3)]
    biases = [draw(50, seed=5 + i) if biased else np.zeros(50, np.float32) for i in range(3)]
    t, ws, bs = svod.Tensor(x), [svod.Tensor(w) for w in weights], [svod.Tensor(b) for b in biases]
    heads = [t @ w + b if biased else t @ w for w, b in zip(ws, bs, strict=True)]
    plan = svod.prepare(*heads, inputs=[t] if constant else [t, *ws])
    assert len(plan.kernels) == 1, [kernel.name for kernel in plan.kernels]
    plan.execute()
    for head, w, b in zip(plan.outputs, weights, biases, strict=True):
        np.testing.assert_allclose(head.numpy(), x @ w + b, rtol=1e-4, atol=1e-3)


def test_a_gate_and_what_it_opens_are_one_kernel() -> None:
    x, gate, up = draw(90, 64), draw(64, 200, seed=1), draw(64, 200, seed=2)
    t, g, u = map(svod.Tensor, (x, gate, up))
    right = (x @ gate) / (1 + np.exp(-(x @ gate))) * (x @ up)
    check([(t @ g).silu() * (t @ u)], [right], tolerance=1e-3)


def test_products_of_other_columns_or_rows_stay_apart() -> None:
    x, y, w, v = draw(64, 48), draw(64, 48, seed=1), draw(48, 48, seed=2), draw(48, 40, seed=3)
    t, s, u, z = map(svod.Tensor, (x, y, w, v))
    check([t @ u, t @ z], [x @ w, x @ v], kernels=2, tolerance=1e-3)
    check([t @ u, s @ u], [x @ w, y @ w], kernels=2, tolerance=1e-3)
    # What the second reads of the first it reads in other rows.
    check([(t @ u) @ u], [(x @ w) @ w], kernels=2, tolerance=1e-2)


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
        right = [x.mean(1), x.var(1), x.max(axis=1)]
    check([t.mean(1), svod.var(t, axis=1), t.max(axis=1)], right, tolerance=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("permuted", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_statistics_of_any_layout(dtype: type, permuted: tuple[int, ...]) -> None:
    x: Array = (draw(6, 20, 9) * 10).astype(dtype)
    t = svod.Tensor(x).permute(permuted)
    y = x.transpose(permuted)
    moves = x.nbytes + 2 * y.max(axis=1).nbytes + 8 * y.max(axis=1).size
    check([t.max(axis=1), t.min(axis=1), t.argmax(1)], [y.max(axis=1), y.min(axis=1), y.argmax(1)], moves=moves)


LAYOUTS: list[tuple[Function, Function]] = [
    (lambda x: x.T.flip(0)[::2].T.contiguous(), lambda x: x.T[::-1][::2].T),
    (lambda x: x.pad(((1, 2), (0, 3))).T.reshape(-1).contiguous(), lambda x: np.pad(x, ((1, 2), (0, 3))).T.reshape(-1)),
    (lambda x: svod.concat([x, x.flip(1)], axis=1).T.contiguous(), lambda x: np.concatenate([x, x[:, ::-1]], 1).T),
    (
        lambda x: (x.reshape(4, 6, 10).permute(1, 0, 2) + 1).reshape(24, 10).T * 2,
        lambda x: (x.reshape(4, 6, 10).transpose(1, 0, 2) + 1).reshape(24, 10).T * 2,
    ),
    (lambda x: svod.concat([x.T, x.T + 1], axis=0).sum(0), lambda x: np.concatenate([x.T, x.T + 1], 0).sum(0)),
    (lambda x: x.T.flip(1).softmax(0), lambda x: (lambda e: e / e.sum(0))(np.exp(x.T[:, ::-1]))),
]


@pytest.mark.parametrize(("mine", "right"), LAYOUTS)
def test_a_chain_of_layouts_is_one_copy_or_none(mine: Function, right: Function) -> None:
    x = draw(24, 10)
    expected = right(x)
    check([mine(svod.Tensor(x))], [expected], moves=x.nbytes + expected.nbytes)


def test_columns_that_no_cache_holds() -> None:
    # Each pass reads memory in its order, rather than all of them strips of columns.
    x = draw(2100, 521) * 4
    e = np.exp(x - x.max(axis=0, keepdims=True))
    check([svod.Tensor(x).softmax(0)], [e / e.sum(0, keepdims=True)], kernels=3, rounds=2)
    x[7, 3], x[:, 5], x[11, 500] = np.nan, -np.inf, np.inf
    mine = svod.Tensor(x).softmax(0).numpy()
    assert np.isnan(mine[:, [3, 5, 500]]).all() and np.isfinite(np.delete(mine, [3, 5, 500], 1)).all()


@pytest.mark.parametrize(
    ("shape", "kernels"), [((2, 5000), 1), ((64, 5000), 1), ((400, 64), 1), ((1000, 500), 2), ((70_000, 64), 2)]
)
@pytest.mark.parametrize("spelling", ["plain", "turned", "returned"])
def test_strips_of_columns_that_a_cache_holds(shape: tuple[int, int], kernels: int, spelling: str) -> None:
    # Few rows, or rows that are strips: each strip is read from memory once. Else a map is a kernel of its own.
    x = draw(*shape)
    t, mean = svod.Tensor(x), x.mean(0, dtype=np.float64)
    results, right = [t - t.mean(0)], [x - mean]
    if spelling == "turned":
        results = [(t.T - t.T.mean(1, keepdim=True)).T]
    elif spelling == "returned":
        results, right = [t - t.mean(0), t.mean(0)], [x - mean, mean]
    check(results, right, kernels=kernels)


def test_maps_in_different_orders_stay_apart() -> None:
    x = draw(300, 400)
    t = svod.Tensor(x)
    check([t.T * 2, t * 3], [x.T * 2, x * 3], kernels=2)
    check([t.T * 2, t.T * 3], [x.T * 2, x.T * 3])


def test_of_a_single_element_a_fold_is_that_element() -> None:
    x = svod.Tensor(np.full((1, 1), -3.0, np.float32))
    results = [x.sum(), x.max(), x.argmax(), x.argmin(), svod.var(x), x.logsumexp(), x.softmax(0)]
    svod.realize(*results)
    assert [r.tolist() for r in results] == [-3.0, -3.0, 0, 0, 0.0, -3.0, [[1.0]]]


def test_statistics_of_everything_are_one_kernel() -> None:
    x = draw(700, 900)
    t = svod.Tensor(x)
    results = [t.mean(), svod.var(t), t.max(), t.argmax(), t.logsumexp()]
    wide = x.astype(np.float64)
    right = [wide.mean(), wide.var(), x.max(), x.argmax(), log_sum_exp(wide, (0, 1)).squeeze()]
    check(results, right, tolerance=1e-4)


@pytest.mark.parametrize("fill", [np.nan, np.inf, -np.inf])
def test_nan_and_infinities_in_parts(fill: float) -> None:
    for at in ([100], [599_999], [7, 400_000], slice(0, 300_000), slice(None)):
        x = draw(600_000)
        x[at] = fill
        t = svod.Tensor(x)
        with np.errstate(invalid="ignore", divide="ignore"):
            wide = x.astype(np.float64)
            right = [np.log(np.exp(wide).sum()), x.max(), x.argmax(), x.argmin(), wide.var()]
        check([t.logsumexp(), t.max(), t.argmax(), t.argmin(), svod.var(t)], right, tolerance=1e-4)


def test_what_memory_hides_is_computed_again() -> None:
    # Twice the exponentials take less than to write and read them.
    x = draw(400, 500)
    t = svod.Tensor(x)
    e = (t * 0.1).exp()
    check([e.sum(0), e.sum(1)], [np.exp(x * 0.1).sum(0), np.exp(x * 0.1).sum(1)], kernels=2, tolerance=1e-4)


@pytest.mark.parametrize(
    "step", [lambda y: y.sin(), lambda y: (y + 2.0) ** 0.7, lambda y: (y + 2.0).log2(), lambda y: y.erf()]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_kernels_of_elementary_functions_stay_small(step: Function, dtype: str) -> None:
    x = draw(16, 24).astype(dtype)
    y, right = svod.Tensor(x), svod.Tensor(x)
    for _ in range(30):
        y, right = step(y) * 0.999 + 0.01, (step(right) * 0.999 + 0.01).realize()
    plan = svod.prepare(y)
    assert len(plan.kernels) > 1
    # Some 400 instructions, once as vectors and once for the elements that fill none.
    assert max(len(kernel.source) for kernel in plan.kernels) < 100_000
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), right.numpy(), rtol=1e-5)


def test_chains_of_reductions_are_kernels_of_bounded_size() -> None:
    x = svod.Tensor(draw(70, 90))
    y = x
    for i in range(24):
        y = (y * 1.0001 + i).sin().sum(0, keepdim=True) + x
    plan = svod.prepare(y)
    assert max(len(kernel.source) for kernel in plan.kernels) < 120_000
    right = x.numpy().astype(np.float64)
    for i in range(2):
        right = np.sin(right * 1.0001 + i).sum(0, keepdims=True) + x.numpy()
    short = (x * 1.0001).sin().sum(0, keepdim=True) + x
    short = (short * 1.0001 + 1).sin().sum(0, keepdim=True) + x
    np.testing.assert_allclose(short.numpy(), right, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_the_first_of_an_order_and_its_value_are_one_kernel(largest: bool, dtype: str) -> None:
    x = (draw(50, 300) * 10).astype(dtype)
    order = np.argmax(x, 1) if largest else np.argmin(x, 1)
    values, at = svod.Tensor(x).topk(1, largest=largest)
    check([values, at], [x[np.arange(50), order][:, None], order[:, None]])
    values, at = svod.Tensor(x.T.copy()).topk(1, 0, largest=largest)
    check([values[0], at[0]], [x[np.arange(50), order], order])


def test_the_first_of_an_order_among_nan() -> None:
    nan, inf = np.nan, np.inf
    x = np.array([[1, nan, 0, nan], [nan, inf, inf, nan], [nan, nan, nan, nan], [-inf, 3, nan, -inf]], np.float32)
    for largest in (True, False):
        values, at = svod.Tensor(x).topk(1, largest=largest)
        several, where = svod.Tensor(x).topk(2, largest=largest)
        np.testing.assert_array_equal(values.numpy(), several.numpy()[:, :1])
        np.testing.assert_array_equal(at.numpy(), where.numpy()[:, :1])


def test_positions_that_a_sort_gives_need_no_check() -> None:
    x = draw(40, 60)
    values, at = svod.Tensor(x).topk(3)
    check([values, at], [-np.sort(-x, 1)[:, :3], np.argsort(-x, 1)[:, :3]], kernels=2)
    order = svod.Tensor(x).argsort(1)
    check([svod.Tensor(x).gather(1, order)], [np.sort(x, 1)], kernels=2)


@pytest.mark.parametrize("axis", [0, 1])
def test_what_the_statistics_of_a_row_decide_is_computed_once_a_row(axis: int) -> None:
    x = draw(70, 90)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    right = x - x.max(axis=axis, keepdims=True) - np.log(e.sum(axis, keepdims=True))
    t = svod.Tensor(x)
    check([t.log_softmax(axis)], [right], moves=2 * x.nbytes)
    loops = svod.prepare(t.log_softmax(axis)).kernels[0].loops
    assert "log(" in loops and not any("log(" in line for line in loops.splitlines() if "p1[" in line)
    centred = t - t.mean(axis, keepdim=True)
    normal = centred * ((centred * centred).mean(axis, keepdim=True) + 1e-5).rsqrt()
    plan = svod.prepare(normal)
    assert not any("sqrt(" in line for line in plan.kernels[0].loops.splitlines() if "p1[" in line)
    plan.execute()
    right = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)
    np.testing.assert_allclose(plan.outputs[0].numpy(), right, rtol=1e-4, atol=1e-4)


def test_of_no_element_a_log_sum_exp_is_minus_infinity() -> None:
    np.testing.assert_array_equal(svod.zeros(3, 0).logsumexp(1).numpy(), [-np.inf] * 3)
    assert svod.zeros(0, 3).logsumexp(1).shape == (0,)


def compiled(work: Callable[[], object]) -> int:
    """Kernels that are compiled for some work."""
    svod.clear_caches()
    work()
    return svod.caches()["kernels"]


def test_layers_that_differ_in_numbers_are_compiled_once() -> None:
    rng = np.random.default_rng(0)
    x, numbers = draw(20, 30), rng.uniform(0.9, 1.1, (100, 2))
    mine, right = svod.Tensor(x), x.astype(np.float64)
    for scale, shift in numbers:
        mine = mine * float(scale) + float(shift)
        mine = (mine - mine.mean(0)).contiguous()
        right = right * scale + shift
        right = right - right.mean(0)
    assert compiled(mine.realize) <= 4
    np.testing.assert_allclose(mine.numpy(), right, rtol=1e-3, atol=1e-3 * np.abs(right).max())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_constants_of_every_type_are_arguments(dtype: str) -> None:
    x = (np.arange(12).reshape(3, 4) / 8).astype(dtype)
    scales = [0.25, 3.0, -7.5, 1e-3]
    t = [svod.Tensor(x + i) for i in range(4)]
    results = [(a * scale).maximum(0.75 - scale).sum(1) for a, scale in zip(t, scales, strict=True)]
    plan = svod.prepare(*results)
    plan.execute()
    for i, (mine, scale) in enumerate(zip(plan.outputs, scales, strict=True)):
        value = np.maximum((x + np.array(i, dtype)) * np.array(scale, dtype), np.array(0.75 - scale, dtype))
        np.testing.assert_allclose(mine.numpy(), value.astype(np.float64).sum(1), rtol=2e-3)


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_of_one_tensor_are_compiled_once(axis: int) -> None:
    x = draw(96, 96)
    t = svod.Tensor(x)
    parts = [part * part.sum(axis, keepdim=True) for part in t.split(4, axis)]
    assert compiled(lambda: svod.realize(*parts)) <= 2
    for mine, right in zip(parts, np.split(x, 24, axis), strict=True):
        np.testing.assert_allclose(mine.numpy(), right * right.sum(axis, keepdims=True), rtol=1e-4, atol=1e-4)


def test_plans_of_unified_kernels_run_on_other_inputs_and_sizes() -> None:
    x, n = draw(64, 12), svod.Variable("n", 1, 64)
    t = svod.Tensor(x)
    rows = t[: n.bind(40)]
    results = [(part * scale).sum(0) for part, scale in ((rows[:, :4], 0.3), (rows[:, 4:8], 0.7), (rows[:, 8:], 1.9))]
    plan = svod.prepare(*results, inputs=[t])
    for size in (40, 7, 64):
        y = draw(64, 12, seed=size)
        plan.execute(y, n=size)
        for i, scale in enumerate((0.3, 0.7, 1.9)):
            right = (y[:size, 4 * i : 4 * i + 4] * scale).sum(0)
            np.testing.assert_allclose(plan.outputs[i].numpy(), right, rtol=1e-4, atol=1e-4)
