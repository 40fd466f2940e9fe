"""Every composition in three spellings: by name, by its formula, by another formula. One kernel each, which reads what
it is made of once and writes its results once."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from passes import Array, Function, asked_for, check, draw, keep, log_sum_exp, moved, row_log_softmax

import svod
import svod.nn.functional as F

NAMED: list[Callable[[svod.Tensor, int], svod.Tensor]] = [
    lambda x, axis: x.softmax(axis),
    lambda x, axis: (x - keep(x, "max", axis)).exp() / (x - keep(x, "max", axis)).exp().sum(axis, keepdim=True),
    lambda x, axis: x.log_softmax(axis).exp(),
]


@pytest.mark.parametrize("softmax", NAMED)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_in_three_spellings(softmax: Callable[[svod.Tensor, int], svod.Tensor], axis: int) -> None:
    x = draw(12, 30, 17)
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    check([softmax(svod.Tensor(x), axis)], [e / e.sum(axis, keepdims=True)], moves=2 * x.nbytes)


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
    return x - x.max(axis=axis, keepdim=True)


def normal(x: Any, axis: Any) -> Array:
    return np.asarray((x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5))


def first(x: Any, axis: Any, name: str) -> Any:
    """Where an extremum is, by the least position at which it is."""
    rows = flat(x, axis)
    n = rows.shape[-1]
    position = svod.arange(n)
    here = rows == getattr(rows, name)(axis=-1, keepdim=True)
    return svod.where(here, position, n).min(axis=-1)


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
            lambda x, axis: shifted(x, axis).exp().sum(axis).log() + x.max(axis=axis),
            lambda x, axis: (lambda y: (y - keep(y, "max", -1)).exp().sum(-1).log() + y.max(axis=-1))(flat(x, axis)),
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
    e = np.exp(x - x.max(axis=1, keepdims=True))
    check([softmax(svod.Tensor(x), 1)], [e / e.sum(1, keepdims=True, dtype=np.float64)], kernels=2)
    # Beside them, statistics of the rows' parts.
    assert 3 * x.nbytes < moved(svod.prepare(softmax(svod.Tensor(x), 1))) < 3.01 * x.nbytes


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("spelling", range(3))
def test_a_greatest_element_and_where_it_is_in_three_spellings(spelling: int, axis: int) -> None:
    x = draw(60, 130)
    t = svod.Tensor(x)
    spellings: list[Callable[[], Any]] = [
        lambda: tuple(y.squeeze(axis) for y in t.topk(1, axis)),
        lambda: (t.max(axis=axis), t.argmax(axis)),
        lambda: (-(-t).min(axis=axis), first(t, (axis,), "max")),
    ]
    value, at = spellings[spelling]()
    check([value, at], [x.max(axis=axis), x.argmax(axis)], moves=x.nbytes + 12 * x.shape[1 - axis])


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


def test_numpy_names_what_is_taken_from_the_divisor() -> None:
    x = np.arange(6.0).reshape(2, 3) ** 2
    for name in ("var", "std"):
        wanted = getattr(np, name)(x, axis=1, ddof=1)
        assert getattr(svod, name)(svod.Tensor(x), axis=1, ddof=1).tolist() == pytest.approx(wanted)
        assert getattr(svod.Tensor(x), name)(1, ddof=1).tolist() == pytest.approx(wanted)
        with pytest.raises(svod.ArgumentTypeError, match=f"^{name}: correction and unbiased are one argument"):
            getattr(svod.Tensor(x), name)(ddof=1, unbiased=True)
        with pytest.raises(svod.ArgumentTypeError, match=f"^{name}: correction and ddof are one argument"):
            getattr(svod, name)(svod.Tensor(x), correction=0, ddof=1)


def test_running_sums_of_a_vector_need_no_axis() -> None:
    assert svod.Tensor([1, 2, 3]).cumsum().tolist() == [1, 3, 6]
    assert svod.Tensor([1, 2, 3]).cumprod().tolist() == [1, 2, 6]
    with pytest.raises(svod.ArgumentError, match="along which axis"):
        svod.ones(2, 2).cumsum()


def test_dimensions_are_transposed_in_numpys_forms_and_in_pytorchs() -> None:
    a = np.arange(24).reshape(2, 3, 4)
    x = svod.Tensor(a)
    forms: list[tuple[Any, ...]] = [(), (None,), (2, 0, 1), ((2, 0, 1),), ([-1, 1, 0],)]
    for axes in forms:
        np.testing.assert_array_equal(x.transpose(*axes).numpy(), a.transpose(*axes))
        np.testing.assert_array_equal(svod.transpose(x, *axes).numpy(), a.transpose(*axes))
    for made in (x.transpose(0, 2), x.transpose(dim0=0, dim1=2), x.transpose(0, dim1=2), x.transpose(axis0=0, axis1=2)):
        np.testing.assert_array_equal(made.numpy(), a.swapaxes(0, 2))
    np.testing.assert_array_equal(svod.transpose(x, axes=(1, 0, 2)).numpy(), a.transpose((1, 0, 2)))
    np.testing.assert_array_equal(svod.transpose(a.tolist(), 0, 1).numpy(), a.swapaxes(0, 1))
    assert x[0, 0].transpose(0).shape == svod.Tensor([1, 2, 3, 4]).transpose().shape == (4,)
    for call, kind, message in (
        (lambda: x.transpose(0), svod.ShapeError, "do not order all dimensions"),
        (lambda: x.transpose(0, 5), svod.AxisError, "transpose: axis 5 is out of range"),
        (lambda: x.transpose(0, 1, 3), svod.AxisError, "axis 3 is out of range"),
        (lambda: x.transpose(0, 1, 1), svod.ArgumentError, "name a dimension twice"),
    ):
        with pytest.raises(kind, match=message):
            call()
