"""Errors against binary64, beside NumPy's; and the same bits from any number of threads."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import svod
from svod.nn import functional as F

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))

from cases import contractions, memory, models
from cases.case import Case
from systems.svod import Ops

Array = np.ndarray[Any, Any]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.standard_normal(shape)


def cancelling(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Pairs that cancel but for a thousandth, in any order along the last axis."""
    half = rng.standard_normal((*shape[:-1], (shape[-1] + 1) // 2))
    both = np.concatenate([half, -half * (1 + 1e-3 * rng.standard_normal(half.shape))], -1)[..., : shape[-1]]
    return rng.permuted(both, axis=-1)


def uneven(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Magnitudes from 1e-6 to 1e6."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-6, 6, shape)


def offset(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Far from zero beside its spread."""
    return 1000 + rng.standard_normal(shape)


@dataclass(frozen=True)
class Kind:
    """A computation by svod, by NumPy in whatever precision its operands have, and its condition: what a
    relative error of every term would add up to."""

    shapes: Callable[[int], tuple[tuple[int, ...], ...]]
    svod: Callable[..., svod.Tensor]
    numpy: Callable[..., Array]
    terms: Callable[..., Array]


def windows(x: Array, w: Array) -> Array:
    """The convolution without padding, as a product of windows."""
    seen = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))
    return np.moveaxis(np.tensordot(seen, w, ((1, 4, 5), (1, 2, 3))), -1, 1)


def attended(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (powers / powers.sum(-1, keepdims=True)) @ v


def magnitudes(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *operands: function(*map(np.abs, operands))


KINDS: dict[str, Kind] = {
    "matmul": Kind(
        lambda n: ((33, n), (n, 47)), lambda a, b: a @ b, lambda a, b: a @ b, magnitudes(lambda a, b: a @ b)
    ),
    "matmul-bt": Kind(
        lambda n: ((33, n), (47, n)), lambda a, b: a @ b.mT, lambda a, b: a @ b.T, magnitudes(lambda a, b: a @ b.T)
    ),
    "vector-matrix": Kind(
        lambda n: ((1, n), (n, 300)), lambda a, b: a @ b, lambda a, b: a @ b, magnitudes(lambda a, b: a @ b)
    ),
    "conv": Kind(lambda n: ((1, n, 12, 13), (9, n, 3, 3)), F.conv2d, windows, magnitudes(windows)),
    "sum": Kind(lambda n: ((50, n),), lambda a: a.sum(1), lambda a: a.sum(1), lambda a: np.abs(a).sum(1)),
    "sum-columns": Kind(lambda n: ((n, 50),), lambda a: a.sum(0), lambda a: a.sum(0), lambda a: np.abs(a).sum(0)),
    "mean": Kind(lambda n: ((50, n),), lambda a: a.mean(1), lambda a: a.mean(1), lambda a: np.abs(a).mean(1)),
    "var": Kind(
        lambda n: ((50, n),),
        lambda a: svod.var(a, axis=1),
        lambda a: a.var(1),
        # Half an ulp of a mean moves every deviation.
        lambda a: a.var(1) + np.abs(a).mean(1) * a.std(1),
    ),
    "attention": Kind(
        lambda n: ((2, 20, 16), (2, n, 16), (2, n, 16)),
        lambda q, k, v: q.scaled_dot_product_attention(k, v),
        attended,
        # A relative error of a score, which is an exponent, moves a weight by as much as the score is large.
        lambda q, k, v: (
            (1 + (np.abs(q) @ np.abs(k.swapaxes(-1, -2))).max(axis=-1, keepdims=True)) * attended(q, k, abs(v))
        ),
    ),
}


# Both add up blocks, of up to some hundred terms here and there, where the error grows as the root of their
# length; and of some dozens of results the largest is another order's twice by chance. So a factor of 3 is
# "as good", while one level of blocks less would be a factor of 10. Two roundings of the result are nobody's fault.
def as_good(mine: float, other: float) -> bool:
    return mine <= 3 * other + 2


@pytest.mark.parametrize("draw", [normal, cancelling, uneven, offset], ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("depth", [3, 100, 5000])
@pytest.mark.parametrize("name", KINDS)
def test_errors_are_no_worse_than_those_of_numpy(name: str, depth: int, draw: Callable[..., Array]) -> None:
    kind = KINDS[name]
    if name == "attention" and draw is not normal:
        pytest.skip("weights of rows of large scores are 0 and 1")
    for dtype in ("float32", "float64")[: 2 if depth < 5000 else 1]:
        rng = np.random.default_rng(depth)
        wide: Any = np.longdouble if dtype == "float64" else np.float64
        given = [draw(rng, shape).astype(dtype) for shape in kind.shapes(depth if name != "conv" else depth // 9 + 1)]
        exact = kind.numpy(*(array.astype(wide) for array in given))
        terms = kind.terms(*(array.astype("float64") for array in given))
        epsilon = float(np.finfo(dtype).eps) / 2
        # In units of the last place of what is added up.
        mine, other = (
            float(np.max(np.abs(result.astype(wide) - exact) / (terms * epsilon + np.finfo("float64").tiny)))
            for result in (kind.svod(*map(svod.Tensor, given)).numpy(), kind.numpy(*given))
        )
        assert as_good(mine, other), (dtype, mine, other)


def kept(x: Any, fold: str, axis: Any) -> Any:
    return getattr(x, fold)(axis=axis, **{"keepdims" if isinstance(x, np.ndarray) else "keepdim": True})


def by_mean(x: Any, axis: Any) -> Any:
    centred = x - kept(x, "mean", axis)
    return (centred * centred).mean(axis)


def by_sum(x: Any, axis: Any) -> Any:
    axes = [axis] if isinstance(axis, int) else list(axis)
    count = int(np.prod([x.shape[a] for a in axes]))
    return ((kept(x, "sum", axis) * (1 / count) - x) ** 2).sum(axis) / count


SPREADS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "named": (lambda x, axis: svod.var(x, axis=axis), lambda x, axis: x.var(axis)),
    "deviation": (lambda x, axis: x.std(axis, correction=0), lambda x, axis: x.std(axis)),
    "by mean": (by_mean, by_mean),
    "by sum": (by_sum, by_sum),
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((2, 200_000), 1),
        ((300, 700), 1),
        ((40_000, 3), 0),
        ((20_000, 24), 0),
        ((700, 300), 0),
        ((4, 16, 700), (0, 2)),
        ((30_000,), 0),
        ((300_000,), 0),
    ],
    ids=str,
)
@pytest.mark.parametrize("far", [0, 1e3, 1e5, -1e6])
def test_variances_far_from_zero_are_those_of_numpy(spread: str, shape: Any, axis: Any, far: float) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) + far).astype(np.float32)
    mine, theirs = SPREADS[spread]
    right = theirs(x.astype(np.float64), axis)
    errors = [np.abs(of - right).max() / right.max() for of in (mine(svod.Tensor(x), axis).numpy(), theirs(x, axis))]
    assert as_good(*(error / np.finfo(np.float32).eps for error in errors)), errors


@pytest.mark.parametrize("far", [0, 1e4, -5e4, 1e8])
@pytest.mark.parametrize("shape", [(300_000,), (3, 100_000), (1_000_000,)], ids=str)
def test_variances_of_parts_far_from_zero_are_those_of_numpy(shape: tuple[int, ...], far: float) -> None:
    x = np.random.default_rng(0).standard_normal(shape) + far
    exact = x.astype(np.longdouble).var(-1)
    mine, theirs = (
        abs(of - exact).max() / exact.max() for of in (svod.var(svod.Tensor(x), axis=-1).numpy(), x.var(-1))
    )
    assert as_good(*(float(error) / np.finfo(np.float64).eps for error in (mine, theirs))), (mine, theirs)


def test_variances_of_what_is_constant_or_not_finite() -> None:
    x = np.full((5, 5000), 1e6 + 0.3, np.float32)
    x[1] = 0.1
    x[2, 7] = np.inf
    x[3, 7] = np.nan
    x[4] = 1e30
    x[4, :9] = -3e30
    variance = svod.var(svod.Tensor(x), axis=1).numpy()
    # The mean is off by a few units in its last place.
    assert (variance[:2] >= 0).all() and (variance[:2] <= (4 * np.spacing(x[:2, 0])) ** 2).all()
    np.testing.assert_array_equal(variance[2:], [np.nan, np.nan, np.inf])


def normal_numpy(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray((x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + x.dtype.type(1e-5)))


@pytest.mark.parametrize("far", [1e3, 1e5, 1e6])
def test_normalisations_far_from_zero_are_those_of_numpy(far: float) -> None:
    rng = np.random.default_rng(0)
    norms: list[tuple[tuple[int, ...], Callable[[svod.Tensor], svod.Tensor], Callable[[Array], Array]]] = [
        ((2, 100_000), lambda t: F.layer_norm(t, (100_000,)), lambda a: normal_numpy(a, (1,))),
        ((50, 768), lambda t: F.layer_norm(t, (768,)), lambda a: normal_numpy(a, (1,))),
        (
            (2, 8, 40, 40),
            lambda t: F.group_norm(t, 4),
            lambda a: normal_numpy(a.reshape(2, 4, -1), (2,)).reshape(a.shape),
        ),
        ((8, 6, 30, 30), lambda t: F.batch_norm(t, None, None, training=True), lambda a: normal_numpy(a, (0, 2, 3))),
    ]
    for shape, mine, theirs in norms:
        x = (rng.standard_normal(shape) + far).astype(np.float32)
        right = theirs(x.astype(np.float64))
        errors = [np.abs(of - right).max() for of in (mine(svod.Tensor(x)).numpy(), theirs(x))]
        # The mean that is subtracted is rounded: half a unit in its last place by the best of methods.
        assert errors[0] <= 3 * errors[1] + np.spacing(np.float32(far)), (shape, errors)


@pytest.mark.parametrize("shape", [(3, 200_000), (200_000, 3), (20_000, 24), (1000, 1000)], ids=str)
@pytest.mark.parametrize("far", [1e3, 1e6])
def test_means_of_long_rows_far_from_zero_are_within_two_roundings(shape: tuple[int, int], far: float) -> None:
    x = (np.random.default_rng(0).standard_normal(shape) + far).astype(np.float32)
    axis = int(shape[1] > shape[0])
    error = np.abs(svod.Tensor(x).mean(axis).numpy() - x.mean(axis, dtype=np.float64)).max()
    assert error <= 2 * np.spacing(np.float32(far)) + np.spacing(np.float32(far)) * (shape[0] == shape[1])


PRODUCTS: dict[str, Callable[[int], tuple[tuple[int, ...], tuple[int, ...]]]] = {
    "row": lambda k: ((1, k), (k, 50)),
    "column": lambda k: ((50, k), (k, 1)),
    "vectors": lambda k: ((k,), (k, 50)),
    "few rows": lambda k: ((4, k), (k, 200)),
    "few columns": lambda k: ((100, k), (k, 7)),
    "small": lambda k: ((16, k), (k, 16)),
    "middling": lambda k: ((40, k), (k, 60)),
    "batch": lambda k: ((3, 16, k), (3, k, 16)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("depth", [32, 100, 130, 300, 520])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_err_no_more_than_those_of_numpy_in_the_mean(name: str, depth: int, dtype: str) -> None:
    rng = np.random.default_rng(depth)
    wide: Any = np.longdouble if dtype == "float64" else np.float64
    squares = np.zeros(2)
    for draw in range(12):
        # Errors of what is positive grow faster with the depth.
        numbers = rng.standard_normal if draw % 2 else rng.random
        a, b = (numbers(shape).astype(dtype) for shape in PRODUCTS[name](depth))
        exact = a.astype(wide) @ b.astype(wide)
        of_draw = [np.mean((given - exact) ** 2) for given in ((svod.Tensor(a) @ svod.Tensor(b)).numpy(), a @ b)]
        squares += np.array(of_draw, float) / np.mean(exact.astype(float) ** 2)
    # NumPy's own error depends on the processor, for which its BLAS has kernels of its own. Beside those for AVX2 it is
    # 1.15 times as much at most, beside those for SSE2 nearly twice.
    mine, other = np.sqrt(squares)
    assert mine <= 2 * other, (mine, other)


FOLDS: dict[str, Callable[[Any, int], Any]] = {
    "sum": lambda x, axis: x.sum(axis),
    "mean": lambda x, axis: x.mean(axis),
    "variance": lambda x, axis: x.var(axis) if isinstance(x, np.ndarray) else svod.var(x, axis=axis),
}


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((300, 100), 1),
        ((300, 700), 1),
        ((100, 1000), 1),
        ((100, 4096), 1),
        ((20, 16_000), 1),
        ((6, 70_000), 1),
        ((1000, 300), 0),
    ],
    ids=str,
)
def test_long_folds_err_no_more_than_those_of_numpy_in_the_mean(name: str, shape: tuple[int, int], axis: int) -> None:
    rng = np.random.default_rng(shape[0])
    fold = FOLDS[name]
    compiled = svod.jit(lambda x: fold(x, axis))
    squares = np.zeros(2)
    for _ in range(30):
        x = rng.standard_normal(shape).astype(np.float32)
        exact = fold(x.astype(np.float64), axis)
        squares += [np.mean((of - exact) ** 2) for of in (compiled(svod.Tensor(x)).numpy(), fold(x, axis))]
    mine, other = np.sqrt(squares)
    assert mine <= 1.25 * other, (mine, other)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("depth", [3, 100, 5000])
def test_narrow_products_are_those_of_float32_rounded_once(dtype: str, depth: int) -> None:
    kind = np.float16 if dtype == "float16" else ml_dtypes.bfloat16
    rng = np.random.default_rng(depth)
    a, b = (rng.standard_normal(shape).astype(kind) for shape in ((33, depth), (depth, 47)))
    exact = a.astype("float64") @ b.astype("float64")
    given = (svod.Tensor(a) @ svod.Tensor(b)).numpy().astype("float64")
    numpy = (a.astype("float32") @ b.astype("float32")).astype(kind).astype("float64")
    assert np.abs(given - exact).max() <= 1.01 * np.abs(numpy - exact).max()


# Sizes at which there are several tasks, or would be with more threads.
THREADED: list[Case] = [
    *(contractions.matmul(150, 131, 170, transposed) for transposed in ("", "a", "b")),
    contractions.matmul(1, 600, 700),
    contractions.matmul(1, 600, 700, "b"),
    contractions.batched(7, 40, 33, 50),
    contractions.linear_gelu(65, 70, 190),
    contractions.typed("float64", 140, 1e-10),
    contractions.typed("bfloat16", 140, 1e-2),
    contractions.attention(2, 3, 70, 24),
    contractions.attention(1, 3, 150, 24, causal=True),
    contractions.conv("3x3", (2, 12, 27, 25), 20, 3, padding=1),
    contractions.conv("7x7s2", (2, 3, 61, 53), 20, 7, stride=2, padding=3),
    contractions.conv("1x1", (2, 40, 27, 25), 20, 1),
    contractions.conv("depthwise", (2, 32, 29, 31), 32, 3, padding=1, groups=32),
    models.transformer_block(2, 33),
    models.minilm(2, 9),
    models.deep_network(3, 8, 96),
    models.chain(30, (4096,)),
    *memory.elementwise(1 << 18),
    *memory.reductions(1 << 18, (500, 520)),
    *memory.softmaxes((300, 500), (40, 3000)),
    *memory.norms((300, 768), (2, 64, 20, 20), 32),
    *memory.layouts((500, 500), (4, 64, 12, 32), (250, 250)),
    *memory.scans((500, 500)),
    *memory.lookups(100_000, (1000, 64), 50),
    memory.adam(3, (300, 100)),
]


@pytest.fixture
def threads() -> Iterator[None]:
    before = svod.get_threads()
    yield
    svod.set_threads(before)


@pytest.mark.parametrize("case", THREADED, ids=lambda case: case.name)
@pytest.mark.usefixtures("threads")
def test_results_are_the_same_bits_for_any_number_of_threads(case: Case) -> None:
    inputs = [svod.Tensor(array) for array in case.inputs()]
    result = case.program(Ops(), *inputs, *map(svod.Tensor, case.weights()))
    plan = svod.prepare(*(result if isinstance(result, tuple) else (result,)), inputs=inputs)
    seen = []
    for threads in (1, 2, 3, 8):
        svod.set_threads(threads)
        plan.execute()
        seen.append([output.numpy().tobytes() for output in plan.outputs])
    assert all(one == seen[0] for one in seen)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -8.0, 1e-40, -1e-30, 1e38, -1e38, 5e19, -5e19, 1e20]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, 2.5, 7, -3])
@pytest.mark.parametrize("strict", [False, True])
def test_powers_by_constants(exponent: float, dtype: str, strict: bool) -> None:
    """As NumPy's of two arrays, special values and signs included, and within a unit of the last place for each
    rounding of a product, a root or a reciprocal."""
    rng = np.random.default_rng(5)
    wide: Any = np.longdouble if dtype == "float64" else np.float64
    spread = 10 ** rng.uniform(-30, 30, 2000) * rng.choice([-1, 1], 2000)
    with np.errstate(all="ignore"):
        x = np.concatenate([SPECIAL, rng.standard_normal(2000), spread]).astype(dtype)
        by = np.full_like(x, exponent)
        right, exact = np.power(x, by), np.power(x.astype(wide), by.astype(wide))
        plan = (svod.Tensor(x) ** exponent).prepare(strict=strict)
        plan.execute()
        mine = plan.outputs[0].numpy()
    assert mine.dtype == dtype
    number = ~np.isnan(right)
    np.testing.assert_array_equal(np.isnan(mine), ~number)
    np.testing.assert_array_equal(np.signbit(mine)[number], np.signbit(right)[number])
    np.testing.assert_array_equal(np.isinf(mine), np.isinf(right))
    finite = np.isfinite(right)
    unit = np.spacing(np.abs(right[finite])).astype(wide)
    roundings = {3: 2, 4: 3, -2: 3, -0.5: 2, 1.5: 2}.get(exponent, 1.5)
    assert np.max(np.abs(mine[finite] - exact[finite]) / unit) <= roundings


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 31, 63, 100])
def test_powers_of_integers_wrap(exponent: int, dtype: str) -> None:
    x = np.arange(-6, 7).astype(dtype)
    with np.errstate(all="ignore"):
        right = np.multiply.reduce(np.broadcast_to(x, (exponent, x.size)), axis=0, dtype=dtype)
    np.testing.assert_array_equal((svod.Tensor(x) ** exponent).numpy(), right)


@pytest.mark.parametrize("n", [1, 7, 32, 33, 1000, 100_001])
@pytest.mark.parametrize(("dtype", "greatest", "units"), [("float32", 30, 1.0), ("float64", 200, 2.0)])
def test_periodic_functions_of_few_huge_numbers_among_small_ones(
    n: int, dtype: str, greatest: int, units: float
) -> None:
    rng = np.random.default_rng(n)
    x = (rng.standard_normal(n) * 10.0 ** np.where(rng.random(n) < 0.1, rng.integers(6, greatest, n), 0)).astype(dtype)
    x[rng.random(n) < 0.05] = np.inf
    y = (rng.standard_normal(n) + 0.1).astype(dtype)
    with np.errstate(invalid="ignore"):
        for name in ("sin", "cos", "tan"):
            right = getattr(np, name)(x.astype(np.float64))
            mine = getattr(svod.Tensor(x), name)().numpy()
            np.testing.assert_allclose(mine, right, rtol=units * float(np.finfo(dtype).eps), atol=0)
        np.testing.assert_array_equal((svod.Tensor(x) % svod.Tensor(y)).numpy(), np.mod(x, y))


def tanh_gelu(x: Array) -> Array:
    # 1 + tanh(u) = 2 sigmoid(2u), without cancellation.
    return x / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def erf_gelu(x: Array) -> Array:
    return 0.5 * x * np.vectorize(math.erfc)(-x / np.sqrt(2))


# Those of svod, of NumPy, and the error for each unit of the operand, in units of 2^-24, that a sum of numbers close to
# 1 and -1 leaves in binary32, as it does in PyTorch's.
ACTIVATIONS: dict[str, tuple[Callable[[svod.Tensor], svod.Tensor], Callable[[Array], Array], float]] = {
    "sigmoid": (lambda t: t.sigmoid(), lambda x: 1 / (1 + np.exp(-x)), 0),
    "silu": (lambda t: t.silu(), lambda x: x * (1 / (1 + np.exp(-x))), 0),
    "softplus": (lambda t: t.softplus(), lambda x: np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0), 0),
    "leaky_relu": (lambda t: t.leaky_relu(0.01), lambda x: np.where(x > 0, x, 0.01 * x), 0),
    "rsqrt": (lambda t: t.rsqrt(), lambda x: 1 / np.sqrt(x), 0),
    "gelu": (lambda t: t.gelu(), erf_gelu, 2),
    "gelu-tanh": (lambda t: t.gelu("tanh"), tanh_gelu, 4),
}
NARROW: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def narrow_units(exact: Array, kind: Any) -> Array:
    """The distances of neighbours of a type at these numbers."""
    about = ml_dtypes.finfo(kind)
    _, exponents = np.frexp(np.maximum(np.abs(exact), float(about.tiny)))
    return np.ldexp(1.0, exponents - 1 - about.nmant)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_of_narrow_floats_are_rounded_once(name: str, dtype: str) -> None:
    """Every number from -20 to 20, infinities and NaN."""
    mine, right, lost = ACTIVATIONS[name]
    kind = NARROW[dtype]
    with np.errstate(all="ignore"):
        every = np.arange(1 << 16, dtype=np.uint16).view(kind)
        x = every[~(np.isfinite(every) & (np.abs(every) > 20))]
        result = mine(svod.Tensor(x))
        wide, given = x.astype(np.float64), result.float().numpy().astype(np.float64)
        exact = right(wide)
        rounded = exact.astype(kind).astype(np.float64)
    assert result.dtype == dtype
    special = ~(np.isfinite(wide) & np.isfinite(rounded))
    np.testing.assert_array_equal(given[special], rounded[special])
    tiny = float(ml_dtypes.finfo(kind).tiny)
    normal = ~special & (np.abs(wide) >= tiny) & (np.abs(rounded) >= tiny)
    error = np.abs(given[normal] - exact[normal]) - lost * 2.0**-24 * np.abs(wide[normal])
    assert np.max(error / narrow_units(exact[normal], kind)) <= 0.51


@pytest.mark.parametrize("name", ["sigmoid", "softplus"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_activations_are_exact_to_two_units(name: str, sign: int) -> None:
    """Every 13th number of a size from 2**-8 to 2**7."""
    mine, right, _ = ACTIVATIONS[name]
    first, last = np.float32([2.0**-8, 2.0**7]).view(np.uint32)
    x = sign * np.arange(first, last, 13, dtype=np.uint32).view(np.float32)
    wide = x.astype(np.float64)
    exact = np.exp(wide) / (1 + np.exp(wide)) if name == "sigmoid" and sign < 0 else right(wide)
    _, exponents = np.frexp(exact)
    units = np.ldexp(1.0, np.maximum(exponents - 24, -149))
    assert np.max(np.abs(mine(svod.Tensor(x)).numpy() - exact) / units) <= 2


def test_activations_of_narrow_floats_are_those_of_pytorch() -> None:
    torch: Any = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    drawn = (3 * rng.standard_normal(10_000)).astype(np.float32)
    for dtype in ("float16", "bfloat16"):
        t, x = svod.Tensor(drawn).cast(dtype), torch.from_numpy(drawn).to(getattr(torch, dtype))
        functions = torch.nn.functional
        for mine, other in [
            (t.sigmoid(), x.sigmoid()),
            (t.silu(), functions.silu(x)),
            (t.gelu(), functions.gelu(x)),
            (t.gelu("tanh"), functions.gelu(x, approximate="tanh")),
            (t.softplus(), functions.softplus(x)),
        ]:
            near = 2.0 ** (-10 if dtype == "float16" else -7)
            np.testing.assert_allclose(mine.float().numpy(), other.float().numpy(), rtol=near, atol=2e-6)
    few = svod.Tensor(np.float16([-12, -11.09, -4]))
    seen = [few.sigmoid()[0], few.silu()[1], few.gelu()[2]]
    np.testing.assert_allclose([y.item() for y in seen], [6.14e-6, -1.69e-4, -1.27e-4], rtol=1e-2)


@pytest.mark.parametrize("dtype", NARROW)
def test_norms_of_narrow_floats_are_rounded_once(dtype: str) -> None:
    kind = NARROW[dtype]
    rng = np.random.default_rng(1)
    x = (300 * rng.choice([-1, 1], (7, 400)) * rng.uniform(0.9, 1.1, (7, 400))).astype(kind)
    t, wide = svod.Tensor(x), x.astype(np.float64)
    length = np.sqrt((wide**2).sum(1))
    for mine, exact in [
        (t.norm(axis=1), length),
        (t.norm(3, axis=1), (np.abs(wide) ** 3).sum(1) ** (1 / 3)),
        (t.norm(1.5, axis=1), (np.abs(wide) ** 1.5).sum(1) ** (1 / 1.5)),
        (t.norm(float("inf"), axis=1), np.abs(wide).max(axis=1)),
        (t.std(1), wide.std(1, ddof=1)),
        (t.normalize(dim=1), wide / length[:, None]),
        (F.normalize(t), wide / length[:, None]),
    ]:
        assert mine.dtype == dtype
        given = mine.float().numpy()
        assert np.max(np.abs(given - exact) / narrow_units(exact, kind)) <= 0.51
    # The least length is nothing in float16.
    assert F.normalize(svod.zeros(2, 3, dtype=dtype)).tolist() == [[0.0] * 3] * 2
    n = svod.Variable("n", 1, 8)
    rows = svod.empty(n, 400, dtype=dtype)
    plan = rows.norm().prepare(inputs=[rows])
    plan.execute(svod.Tensor(x[:4]))
    whole = np.sqrt((wide[:4] ** 2).sum())
    assert abs(plan.outputs[0].item() - whole) <= 0.51 * narrow_units(whole, kind)
