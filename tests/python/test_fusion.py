"""Values that share what they read share a pass over it: kernels and bytes moved, whatever the spelling."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from passes import Array, asked_for, check, draw, moved

import svod
import svod.nn.functional as F


def test_what_is_read_again_is_asked_for_again() -> None:
    x = svod.Tensor(draw(64, 4096))
    once, again = (x.softmax(1).prepare(strategy=how) for how in ("heuristic", "none"))
    assert asked_for(once) == moved(once) == 2 * 64 * 4096 * 4 < asked_for(again)


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


Function = Callable[..., Any]


def normal_rows(x: Any, axis: Any, eps: float = 1e-5) -> Any:
    centred = x - x.mean(axis, keepdim=True)
    return centred / ((centred * centred).mean(axis, keepdim=True) + eps).sqrt()


def moments_rows(x: Any, axis: Any, eps: float = 1e-5) -> Any:
    return (x - x.mean(axis, keepdim=True)) * (svod.var(x, axis=axis, keepdims=True) + eps).rsqrt()


LAYER_NORMS: list[Function] = [
    lambda x, w, b: F.layer_norm(x, w.shape, w, b, 1e-5),
    lambda x, w, b: normal_rows(x, -1) * w + b,
    lambda x, w, b: moments_rows(x, -1) * w + b,
]


@pytest.mark.parametrize("norm", LAYER_NORMS)
def test_layer_norm_in_three_spellings(norm: Function) -> None:
    x, w, b = draw(4, 19, 48), draw(48, seed=1), draw(48, seed=2)
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    right = (x - mean) / np.sqrt(variance + 1e-5) * w + b
    result = norm(svod.Tensor(x), svod.Tensor(w), svod.Tensor(b))
    check([result], [right], moves=2 * x.nbytes + 2 * w.nbytes, tolerance=1e-4)


RMS_NORMS: list[Function] = [
    lambda x, w: x.rms_norm(w, 1e-5),
    lambda x, w: x / ((x * x).mean(-1, keepdim=True) + 1e-5).sqrt() * w,
    lambda x, w: (x * w) * ((x**2).sum(-1, keepdim=True) / x.shape[-1] + 1e-5).rsqrt(),
]


@pytest.mark.parametrize("norm", RMS_NORMS)
def test_rms_norm_in_three_spellings(norm: Function) -> None:
    x, w = draw(37, 50), draw(50, seed=1)
    right = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w
    check([norm(svod.Tensor(x), svod.Tensor(w))], [right], moves=2 * x.nbytes + w.nbytes, tolerance=1e-4)


def grouped(x: Any, w: Any, b: Any, rows: Function, shape: tuple[int, ...], axis: Any) -> Any:
    channels = (1, x.shape[1], 1, 1)
    return rows(x.reshape(shape), axis).reshape(x.shape) * w.reshape(channels) + b.reshape(channels)


GROUP_NORMS: list[Function] = [
    lambda x, w, b: F.group_norm(x, 4, w, b, 1e-5),
    lambda x, w, b: grouped(x, w, b, normal_rows, (3, 4, -1), 2),
    lambda x, w, b: grouped(x, w, b, moments_rows, (3, 4, 2, 5, 7), (2, 3, 4)),
]


@pytest.mark.parametrize("norm", GROUP_NORMS)
def test_group_norm_in_three_spellings(norm: Function) -> None:
    x, w, b = draw(3, 8, 5, 7), draw(8, seed=1), draw(8, seed=2)
    rows = x.reshape(3, 4, -1)
    normal = (rows - rows.mean(-1, keepdims=True)) / np.sqrt(rows.var(-1, keepdims=True) + 1e-5)
    right = normal.reshape(x.shape) * w.reshape(1, 8, 1, 1) + b.reshape(1, 8, 1, 1)
    result = norm(*map(svod.Tensor, (x, w, b)))
    check([result], [right], moves=2 * x.nbytes + 2 * w.nbytes, tolerance=1e-4)


def losses(x: Any, labels: Any) -> list[Any]:
    """The negative log-likelihood of labels, in three spellings."""
    at = labels.unsqueeze(1)
    peak = keep(x, "max", 1)
    logsumexp = (x - peak).exp().sum(1, keepdim=True).log() + peak
    hot = svod.arange(x.shape[1]).reshape(1, -1) == at
    return [
        -x.log_softmax(-1).gather(1, at).mean(),
        (logsumexp - x.gather(1, at)).mean(),
        -(x.log_softmax(-1) * hot).sum(1).mean(),
    ]


@pytest.mark.parametrize("spelling", [0, 1, 2])
def test_a_loss_reads_its_logits_once(spelling: int) -> None:
    x, labels = draw(80, 300), np.random.default_rng(1).integers(0, 300, 80)
    e = np.log(np.exp(x.astype(np.float64)).sum(1)) - x[np.arange(80), labels]
    plan = svod.prepare(losses(svod.Tensor(x), svod.Tensor(labels))[spelling])
    # The second kernel looks up one logit a row.
    rows = [kernel for kernel in plan.kernels if kernel.name == "rows_80x300"]
    assert len(plan.kernels) == 2 and len(rows) == 1
    assert asked_for(plan) < 1.1 * x.nbytes
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), e.mean(), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize("permuted", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_statistics_of_any_layout(dtype: type, permuted: tuple[int, ...]) -> None:
    x: Array = (draw(6, 20, 9) * 10).astype(dtype)
    t = svod.Tensor(x).permute(permuted)
    y = x.transpose(permuted)
    moves = x.nbytes + 2 * y.max(1).nbytes + 8 * y.max(1).size
    check([t.max(1), t.min(1), t.argmax(1)], [y.max(1), y.min(1), y.argmax(1)], moves=moves)


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


# Every composition, in three spellings: by name, by its formula, by another formula. One kernel each, which
# reads what it is made of once and writes its results once.


def flat(x: Any, axis: Any) -> Any:
    """The axes that are reduced, as one at the end."""
    kept = [a for a in range(x.ndim) if a not in axis]
    shape = [x.shape[a] for a in kept]
    return x.permute([*kept, *axis]).reshape([*shape, -1])


def flat_array(x: Any, axis: Any) -> Any:
    """The same of an array."""
    return np.moveaxis(x, axis, range(-len(axis), 0)).reshape(*[n for a, n in enumerate(x.shape) if a not in axis], -1)


def mean(x: Any, axis: Any, keep: bool = False) -> Any:
    return x.mean(axis, keepdim=keep)


def shifted(x: Any, axis: Any) -> Any:
    return x - x.max(axis, keepdim=True)


def normal(x: Any, axis: Any) -> Array:
    return np.asarray((x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5))


def log_sum_exp(x: Any, axis: Any) -> Array:
    peak = x.max(axis, keepdims=True)
    return np.asarray(np.log(np.exp(x - peak).sum(axis, keepdims=True)) + peak)


def first(x: Any, axis: Any, name: str) -> Any:
    """Where an extremum is, by the least position at which it is."""
    rows = flat(x, axis)
    n = rows.shape[-1]
    position = svod.arange(n)
    here = rows == getattr(rows, name)(-1, keepdim=True)
    return svod.where(here, position, n).min(-1)


Spellings = tuple[Callable[[Any, Any], Array], list[Function]]
COMPOSITIONS: dict[str, Spellings] = {
    "softmax": (
        lambda x, axis: np.exp(x - log_sum_exp(x, axis)),
        [
            lambda x, axis: (
                x.softmax(axis[0])
                if len(axis) == 1
                else shifted(x, axis).exp() / shifted(x, axis).exp().sum(axis, keepdim=True)
            ),
            lambda x, axis: (lambda e: e / e.sum(axis, keepdim=True))(shifted(x, axis).exp()),
            lambda x, axis: (lambda e: e * (1 / e.sum(axis, keepdim=True)))((x - keep(x, "max", axis)).exp()),
        ],
    ),
    "log_softmax": (
        lambda x, axis: x - log_sum_exp(x, axis),
        [
            lambda x, axis: x.log_softmax(axis[0]) if len(axis) == 1 else x - x.logsumexp(axis, keepdim=True),
            lambda x, axis: shifted(x, axis) - shifted(x, axis).exp().sum(axis, keepdim=True).log(),
            lambda x, axis: x - (keep(x, "max", axis) + shifted(x, axis).exp().sum(axis, keepdim=True).log()),
        ],
    ),
    "logsumexp": (
        lambda x, axis: log_sum_exp(x, axis).squeeze(axis),
        [
            lambda x, axis: x.logsumexp(axis),
            lambda x, axis: shifted(x, axis).exp().sum(axis).log() + x.max(axis),
            lambda x, axis: (lambda y: (y - keep(y, "max", -1)).exp().sum(-1).log() + y.max(-1))(flat(x, axis)),
        ],
    ),
    "variance": (
        lambda x, axis: x.var(axis),
        [
            lambda x, axis: svod.var(x, axis=axis),
            lambda x, axis: mean((x - mean(x, axis, True)) ** 2, axis),
            lambda x, axis: mean(x * x, axis) - mean(x, axis) ** 2,
        ],
    ),
    "standard deviation": (
        lambda x, axis: x.std(axis),
        [
            lambda x, axis: svod.std(x, axis=axis),
            lambda x, axis: (lambda c: (c * c).mean(axis).sqrt())(x - mean(x, axis, True)),
            lambda x, axis: (lambda y: (y - y.mean(-1, keepdim=True)).square().mean(-1).sqrt())(flat(x, axis)),
        ],
    ),
    "layer norm": (
        normal,
        [
            lambda x, axis: normal_rows(x, axis),
            lambda x, axis: moments_rows(x, axis),
            lambda x, axis: (
                (x - mean(x, axis, True)) / (mean(x * x, axis, True) - mean(x, axis, True) ** 2 + 1e-5).sqrt()
            ),
        ],
    ),
    "rms norm": (
        lambda x, axis: x / np.sqrt((x * x).mean(axis, keepdims=True) + 1e-5),
        [
            lambda x, axis: x / (mean(x * x, axis, True) + 1e-5).sqrt(),
            lambda x, axis: x * (mean(x**2, axis, True) + 1e-5).rsqrt(),
            lambda x, axis: (
                x / ((x * x).sum(axis, keepdim=True) / (x.numel() // (x * x).sum(axis).numel()) + 1e-5) ** 0.5
            ),
        ],
    ),
    "argmax": (
        lambda x, axis: flat_array(x, axis).argmax(-1),
        [
            lambda x, axis: x.argmax(axis[0]) if len(axis) == 1 else flat(x, axis).argmax(-1),
            lambda x, axis: (-flat(x, axis)).argmin(-1),
            lambda x, axis: first(x, axis, "max"),
        ],
    ),
    "argmin": (
        lambda x, axis: flat_array(x, axis).argmin(-1),
        [
            lambda x, axis: x.argmin(axis[0]) if len(axis) == 1 else flat(x, axis).argmin(-1),
            lambda x, axis: (-flat(x, axis)).argmax(-1),
            lambda x, axis: first(x, axis, "min"),
        ],
    ),
    "norm": (
        lambda x, axis: np.sqrt((x * x).sum(axis)),
        [
            lambda x, axis: (x * x).sum(axis).sqrt(),
            lambda x, axis: x.square().sum(axis) ** 0.5,
            lambda x, axis: (flat(x, axis).abs() ** 2).sum(-1).sqrt(),
        ],
    ),
}

# Shape, the axes that are reduced, and how the operand lies in memory.
REDUCED: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((20, 33), (1,), (0, 1)),
    ((20, 33), (0,), (0, 1)),
    ((20, 33), (0,), (1, 0)),
    ((9, 16, 7), (1,), (0, 1, 2)),
    ((9, 16, 7), (1,), (2, 0, 1)),
    ((9, 16, 7), (0, 2), (0, 1, 2)),
    ((9, 16, 7), (1, 2), (1, 2, 0)),
    ((40, 30), (0, 1), (0, 1)),
]


@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize(("shape", "axis", "layout"), REDUCED)
def test_compositions_in_three_spellings(
    name: str, shape: tuple[int, ...], axis: tuple[int, ...], layout: tuple[int, ...]
) -> None:
    right, spellings = COMPOSITIONS[name]
    x = draw(*shape)
    expected = right(x.transpose(layout).astype(np.float64), axis)
    for spelling in spellings:
        result = spelling(svod.Tensor(x).permute(layout), axis)
        size = 8 if name.startswith("arg") else 4
        check([result], [expected], moves=x.nbytes + size * expected.size, tolerance=1e-4)


LONG = 1_500_000


@pytest.mark.parametrize("name", ["logsumexp", "variance", "standard deviation", "argmax", "argmin", "norm"])
@pytest.mark.parametrize("shape", [(LONG,), (3, LONG // 3), (1225, 1225)])
def test_long_reductions_of_everything_read_memory_once(name: str, shape: tuple[int, ...]) -> None:
    right, spellings = COMPOSITIONS[name]
    x = draw(*shape)
    axis = tuple(range(len(shape)))
    expected = right(x.astype(np.float64), axis)
    for spelling in spellings:
        plan = svod.prepare(spelling(svod.Tensor(x), axis))
        assert len(plan.kernels) == 1, [kernel.name for kernel in plan.kernels]
        steps = str(plan.kernels[0].schedule)
        # All tasks are of one phase: the parts of one fold are computed in the loops of the other.
        assert sum(line.endswith(" task") for line in steps.splitlines()) == 1, steps
        # A part is read again while a cache holds it.
        assert asked_for(plan) < 2.01 * x.nbytes
        plan.execute()
        np.testing.assert_allclose(plan.outputs[0].numpy(), expected, rtol=1e-4)


@pytest.mark.parametrize("softmax", NAMED)
def test_a_softmax_of_few_rows_that_no_cache_holds_reads_them_twice(softmax: Callable[[svod.Tensor, int], Any]) -> None:
    x = draw(4, LONG // 4)
    e = np.exp(x - x.max(1, keepdims=True))
    check([softmax(svod.Tensor(x), 1)], [e / e.sum(1, keepdims=True, dtype=np.float64)], kernels=2)
    # Beside them, statistics of the rows' parts.
    assert 3 * x.nbytes < moved(svod.prepare(softmax(svod.Tensor(x), 1))) < 3.01 * x.nbytes


def test_columns_that_no_cache_holds() -> None:
    # Wide enough to be read in long runs, and no multiple of them.
    x = draw(2100, 521) * 4
    e = np.exp(x - x.max(0, keepdims=True))
    check([svod.Tensor(x).softmax(0)], [e / e.sum(0, keepdims=True)], moves=2 * x.nbytes, rounds=2)
    x[7, 3], x[:, 5], x[11, 500] = np.nan, -np.inf, np.inf
    mine = svod.Tensor(x).softmax(0).numpy()
    assert np.isnan(mine[:, [3, 5, 500]]).all() and np.isfinite(np.delete(mine, [3, 5, 500], 1)).all()


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
    e = np.exp(x - x.max(axis, keepdims=True))
    right = x - x.max(axis, keepdims=True) - np.log(e.sum(axis, keepdims=True))
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


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("spelling", range(3))
def test_a_greatest_element_and_where_it_is_in_three_spellings(spelling: int, axis: int) -> None:
    x = draw(60, 130)
    t = svod.Tensor(x)
    spellings: list[Callable[[], Any]] = [
        lambda: tuple(y.squeeze(axis) for y in t.topk(1, axis)),
        lambda: (t.max(axis), t.argmax(axis)),
        lambda: (-(-t).min(axis), first(t, (axis,), "max")),
    ]
    value, at = spellings[spelling]()
    check([value, at], [x.max(axis), x.argmax(axis)], moves=x.nbytes + 12 * x.shape[1 - axis])


@pytest.mark.parametrize("spelling", range(3))
def test_batch_statistics_in_three_spellings(spelling: int) -> None:
    x = draw(6, 12, 10, 11)
    t, axis = svod.Tensor(x), (0, 2, 3)
    average = t.mean(axis, keepdim=True)
    variance = [
        lambda: svod.var(t, axis=axis),
        lambda: ((t - average) ** 2).mean(axis),
        lambda: (t * t).mean(axis) - t.mean(axis) ** 2,
    ][spelling]()
    check([t.mean(axis), variance], [x.mean(axis), x.var(axis)], moves=x.nbytes + 8 * 12, tolerance=1e-4)


def row_log_softmax(x: Any) -> Any:
    peak = keep(x, "max", 1)
    return x - peak - (x - peak).exp().sum(1, keepdim=True).log()


TWO_SOFTMAXES: dict[str, tuple[list[Function], Function]] = {
    "KL divergence": (
        [
            lambda x, z: (x.softmax(1) * (x.log_softmax(1) - z.log_softmax(1))).sum(1),
            lambda x, z: (row_log_softmax(x).exp() * (row_log_softmax(x) - row_log_softmax(z))).sum(1),
            lambda x, z: (NAMED[1](x, 1) * (x.log_softmax(1) - (z - z.logsumexp(1, keepdim=True)))).sum(1),
        ],
        lambda p, q: (p * np.log(p / q)).sum(1),
    ),
    "distance": (
        [
            lambda x, z: (x.softmax(1) - z.softmax(1)).abs().sum(1),
            lambda x, z: (NAMED[1](x, 1) - NAMED[1](z, 1)).abs().sum(1),
            lambda x, z: svod.where(
                x.softmax(1) > z.softmax(1), x.softmax(1) - z.softmax(1), z.softmax(1) - x.softmax(1)
            ).sum(1),
        ],
        lambda p, q: np.abs(p - q).sum(1),
    ),
    "overlap": (
        [
            lambda x, z: (x.softmax(1) * z.softmax(1)).sum(1),
            lambda x, z: (row_log_softmax(x) + row_log_softmax(z)).exp().sum(1),
            lambda x, z: (NAMED[1](x, 1) * NAMED[1](z, 1)).sum(1),
        ],
        lambda p, q: (p * q).sum(1),
    ),
}


@pytest.mark.parametrize("name", TWO_SOFTMAXES)
@pytest.mark.parametrize("spelling", range(3))
def test_two_softmaxes_that_meet_in_a_sum_are_one_kernel(name: str, spelling: int) -> None:
    x, z = draw(40, 130), draw(40, 130, seed=1)
    mine, right = TWO_SOFTMAXES[name]
    p, q = (np.exp(a) / np.exp(a).sum(1, keepdims=True) for a in (x.astype(np.float64), z.astype(np.float64)))
    result = mine[spelling](svod.Tensor(x), svod.Tensor(z))
    check([result], [right(p, q)], moves=2 * x.nbytes + 4 * 40)


@pytest.mark.parametrize("spelling", range(3))
def test_label_smoothing_reads_its_logits_once(spelling: int) -> None:
    x, labels = draw(40, 130), np.random.default_rng(1).integers(0, 130, 40)
    t, y = svod.Tensor(x), svod.Tensor(labels)
    logs = row_log_softmax(t) if spelling == 1 else t.log_softmax(1)
    picked = logs.gather(1, y.unsqueeze(1)).squeeze(1)
    hot = svod.arange(130).reshape(1, -1) == y.unsqueeze(1)
    loss = [
        -0.9 * picked - 0.1 * logs.mean(1),
        0.9 * -picked + 0.1 * -(logs.sum(1) / 130),
        -(logs * (hot * 0.9 + 0.1 / 130)).sum(1),
    ][spelling]
    right = x.astype(np.float64) - np.log(np.exp(x.astype(np.float64)).sum(1, keepdims=True))
    expected = -0.9 * right[np.arange(40), labels] - 0.1 * right.mean(1)
    # Logits are looked up in the rows that the kernel reads.
    check([loss], [expected], moves=x.nbytes + 8 * 40 + 4 * 40)


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


def picked(x: svod.Tensor, labels: Any) -> list[svod.Tensor]:
    """The element of each row that its label names, as PyTorch and NumPy write it, and as a gather."""
    n = x.shape[0]
    at = svod.Tensor(labels)
    return [
        x[svod.arange(n), at],
        x[np.arange(n), at],
        x[list(range(n)), at],
        x[svod.arange(n, dtype="int32"), at],
        x.gather(1, at.reshape(n, 1)).reshape(n),
    ]


@pytest.mark.parametrize("spelling", range(5))
def test_a_loss_that_indexes_rows_reads_its_logits_once(spelling: int) -> None:
    n, classes = 40, 700
    x, labels = draw(n, classes), np.random.default_rng(1).integers(-classes, classes, n)
    losses = log_sum_exp(x, 1)[:, 0] - x[np.arange(n), labels]
    t = svod.Tensor(x)
    read = x.nbytes + 8 * n
    check([t.logsumexp(1) - picked(t, labels)[spelling]], [losses], moves=read + 4 * n, tolerance=1e-4)
    t = svod.Tensor(x)
    plan = svod.prepare((t.logsumexp(1) - picked(t, labels)[spelling]).mean())
    names = [k.name for k in plan.kernels]
    assert names == [k.name for k in svod.prepare((t.logsumexp(1) - picked(t, labels)[-1]).mean()).kernels]
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].item(), losses.mean(), rtol=1e-5)
