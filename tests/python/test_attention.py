"""Attention: one kernel for the named function and for plain compositions, right in all of its variants."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import svod
from svod.nn import functional as F

Array = NDArray[np.floating]


def data(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def reference(q: Array, k: Array, v: Array, bias: Array | float = 0.0, scale: float | None = None) -> Array:
    """In float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    with np.errstate(invalid="ignore"):
        scores = q @ np.swapaxes(k, -1, -2) * (scale or q.shape[-1] ** -0.5) + bias
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        result: Array = e / e.sum(-1, keepdims=True) @ v
    return result


def causal(queries: int, keys: int) -> Array:
    return np.where(np.tril(np.ones((queries, keys), bool)), 0.0, -np.inf)


def check(mine: svod.Tensor, expected: Array, tolerance: float = 2e-5, kernels: int = 1) -> None:
    plan = mine.prepare()
    assert len(plan.kernels) == kernels
    plan.execute()
    np.testing.assert_allclose(mine.numpy().astype(np.float64), expected, rtol=tolerance, atol=tolerance)


# Batch, heads, queries, keys, depth, columns.
SIZES = [
    (1, 1, 2, 2, 4, 8),
    (2, 3, 7, 7, 4, 8),
    (2, 2, 33, 70, 16, 24),
    (1, 2, 130, 129, 65, 31),
    (3, 1, 64, 256, 64, 64),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mask", ["none", "causal", "float", "bool", "row"])
def test_values(size: tuple[int, ...], mask: str) -> None:
    b, h, queries, keys, depth, columns = size
    q, k, v = (
        data((b, h, queries, depth), seed=1),
        data((b, h, keys, depth), seed=2),
        data((b, h, keys, columns), seed=3),
    )
    query, key, value = (svod.Tensor(x) for x in (q, k, v))
    given: NDArray[Any] | None = {
        "none": None,
        "causal": None,
        "float": data((queries, keys), seed=4),
        "bool": data((b, 1, queries, keys), seed=5) > -1,
        "row": data((b, 1, 1, keys), seed=6) > -1,
    }[mask]
    bias: NDArray[Any] | float = 0.0
    if mask == "causal":
        bias = causal(queries, keys)
    elif given is not None:
        if given.dtype == bool:
            given[..., 0] = True
        bias = np.where(given, 0.0, -np.inf) if given.dtype == bool else given
    mine = F.scaled_dot_product_attention(
        query, key, value, None if given is None else svod.Tensor(given), is_causal=mask == "causal"
    )
    check(mine, reference(q, k, v, bias))


SPELLINGS: dict[str, Callable[[svod.Tensor], svod.Tensor]] = {
    "softmax": lambda s: s.softmax(-1),
    "exp": lambda s: (
        (s - s.max(axis=-1, keepdim=True)).exp() / (s - s.max(axis=-1, keepdim=True)).exp().sum(-1, keepdim=True)
    ),
    "no maximum": lambda s: s.exp() / s.exp().sum(-1, keepdim=True),
    "reciprocal": lambda s: (
        (s - s.max(axis=-1, keepdim=True)).exp() * (1 / (s - s.max(axis=-1, keepdim=True)).exp().sum(-1, keepdim=True))
    ),
    "log_softmax": lambda s: s.log_softmax(-1).exp(),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_composition_is_one_kernel(spelling: str) -> None:
    q, k, v = (data((2, 3, 50, 16), seed=seed) for seed in range(3))
    bias = data((2, 1, 1, 50), seed=3)
    scores = svod.Tensor(q) @ svod.Tensor(k).transpose(-2, -1) * 0.25 + svod.Tensor(bias)
    check(SPELLINGS[spelling](scores) @ svod.Tensor(v), reference(q, k, v, bias))


def test_b4_weights_divided_by_their_sum_after_the_product_are_one_kernel() -> None:
    q, k, v = data((2, 3, 33, 16), seed=1), data((2, 3, 70, 16), seed=2), data((2, 3, 70, 24), seed=3)
    query, key, value = (svod.Tensor(x) for x in (q, k, v))
    scores = query @ key.mT * 0.25
    powers = (scores - scores.max(axis=-1, keepdim=True)).exp()
    expected = reference(q, k, v)
    check(powers @ value / powers.sum(-1, keepdim=True), expected)
    check(powers @ value * (1 / powers.sum(-1, keepdim=True)), expected)
    check(svod.einsum("bhqk,bhkd->bhqd", powers, value) / powers.sum(-1)[..., None], expected)
    check((scores.exp() @ value) / scores.exp().sum(-1, keepdim=True), expected)
    weights = np.maximum(q.astype(float) @ k.swapaxes(-1, -2) * 0.25, 0)
    relu = scores.relu()
    check(relu @ value / (relu.sum(-1, keepdim=True) + 1), weights @ v / (weights.sum(-1, keepdims=True) + 1))
    narrowed = (powers.cast("bfloat16") @ value.cast("bfloat16")).cast("float32") / powers.sum(-1, keepdim=True)
    check(narrowed, expected, tolerance=2e-2)
    # Of what is in memory there is nothing to gain.
    given = svod.Tensor(np.abs(data((40, 50))))
    plan = (given @ svod.Tensor(data((50, 30))) / given.sum(1, keepdim=True)).prepare()
    assert not any(kernel.name.startswith("attention") for kernel in plan.kernels)


@pytest.mark.parametrize(("dtype", "bits"), [("bfloat16", 8), ("float16", 11)])
@pytest.mark.parametrize("sum_of", ["wide", "narrow", "reciprocal"])
def test_narrow_weights_divided_after_the_product_are_one_kernel(dtype: str, bits: int, sum_of: str) -> None:
    tensors = [svod.Tensor(data((2, 3, n, 16), seed=n)).cast(dtype).realize() for n in (33, 70, 70)]
    query, key, value = tensors
    scores = (query @ key.mT).cast("float32") * 0.25
    powers = (scores - scores.max(axis=-1, keepdim=True)).exp()
    narrow = powers.cast(dtype)
    if sum_of == "wide":
        mixed = (narrow @ value) / powers.sum(-1, keepdim=True).cast(dtype)
    elif sum_of == "narrow":
        mixed = (narrow @ value) / narrow.sum(-1, keepdim=True)
    else:
        mixed = (narrow @ value) * (1 / powers.sum(-1, keepdim=True)).cast(dtype)
    q, k, v = (t.cast("float32").numpy().astype("float64") for t in tensors)
    # As large as the scores' own rounding makes the weights' error, in the last place of the narrow type.
    check(mixed.cast("float32"), reference(q, k, v, scale=0.25), tolerance=8 * 2.0**-bits)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_weights_are_rows_of_a_tile(dtype: str) -> None:
    q, k, v = (svod.Tensor(data((2, 3, 130, 16), seed=seed)).cast(dtype).realize() for seed in range(3))
    powers = ((q @ k.mT).cast("float32") * 0.25).exp()
    total = powers.sum(-1, keepdim=True)
    for mixed in ((powers / total).cast(dtype) @ v, (powers.cast(dtype) @ v) / total.cast(dtype)):
        (kernel,) = mixed.prepare().kernels
        assert str(kernel.schedule).count("micro") == 2


@pytest.mark.parametrize("shift", [0, 20, -30])
def test_weights_beyond_the_range_of_float16_are_divided_first(shift: int) -> None:
    q, k, v = (3 * data((2, 3, 70, 16), seed=1), 3 * data((2, 3, 70, 16), seed=2), data((2, 3, 70, 16), seed=3))
    query, key, value = (svod.Tensor(x) for x in (q, k, v))
    powers = (query @ key.mT * 0.25 + shift).exp()
    mixed = (powers / powers.sum(-1, keepdim=True)).cast("float16") @ value.cast("float16")
    check(mixed.cast("float32"), reference(q, k, v, scale=0.25), tolerance=4e-3)


def test_b4_weights_without_a_reduction_are_not_in_memory() -> None:
    q, k, v = data((2, 3, 65, 8), seed=1), data((2, 3, 70, 8), seed=2), data((2, 3, 70, 24), seed=3)
    query, key, value = (svod.Tensor(x) for x in (q, k, v))
    exact = q.astype(float) @ k.swapaxes(-1, -2)
    check((query @ key.mT).sigmoid() @ value, (1 / (1 + np.exp(-exact))) @ v)
    check((query @ key.mT).relu() @ value, np.maximum(exact, 0) @ v)
    # Two layers of a network are two products: the weights of both are for all rows.
    first, second = svod.Tensor(data((8, 70))), svod.Tensor(data((70, 24)))
    assert len(((svod.Tensor(q) @ first).relu() @ second).prepare().kernels) == 2


@pytest.mark.parametrize("hides", ["== 0", "== False", "!= 1", "~"])
def test_b4_a_compared_mask_is_not_in_memory(hides: str) -> None:
    q, k, v = data((1, 4, 66, 8), seed=1), data((1, 4, 70, 8), seed=2), data((1, 4, 70, 24), seed=3)
    seen = data((66, 70), seed=4) > -1
    mask = svod.Tensor(seen)
    hidden = {"== 0": mask == 0, "== False": mask == False, "!= 1": mask != 1, "~": ~mask}[hides]  # noqa: E712
    scores = (svod.Tensor(q) @ svod.Tensor(k).mT * 8**-0.5).masked_fill(hidden, -np.inf)
    check(scores.softmax(-1) @ svod.Tensor(v), reference(q, k, v, np.where(seen, 0.0, -np.inf)))


def test_a_composition_of_permuted_views_is_one_kernel() -> None:
    """As models have it: heads split off the width, and joined again."""
    q, k, v = (data((2, 40, 48), seed=seed) for seed in range(3))

    def split(x: svod.Tensor) -> svod.Tensor:
        return x.reshape(2, 40, 3, 16).permute(0, 2, 1, 3)

    query, key, value = (split(svod.Tensor(x)) for x in (q, k, v))
    mixed = (query @ key.transpose(-2, -1) / 4).softmax(-1) @ value
    q, k, v = (x.reshape(2, 40, 3, 16).transpose(0, 2, 1, 3) for x in (q, k, v))
    check(mixed, reference(q, k, v))


def test_b4_the_axes_of_scores_and_result_may_have_any_order() -> None:
    extents = {"b": 2, "q": 20, "h": 3, "k": 33, "d": 8, "e": 24}
    rng = np.random.default_rng(3)

    def order(axes: str) -> str:
        return "".join(rng.permutation(list(axes)))

    for _ in range(12):
        terms = [order(axes) for axes in ("bqhd", "bkhd", "bkhe", "bqhk", "bqhe")]
        query, key, value, scores, result = terms
        arrays = [rng.standard_normal([extents[c] for c in term]).astype("float32") for term in terms[:3]]
        exact = [array.astype("float64") for array in arrays]
        products, mixed, along = f"{query},{key}->{scores}", f"{scores},{value}->{result}", scores.index("k")
        weights = np.exp(np.einsum(products, exact[0], exact[1]))
        weights /= weights.sum(along, keepdims=True)
        tensors = [svod.Tensor(array) for array in arrays]
        mine = svod.einsum(mixed, svod.einsum(products, tensors[0], tensors[1]).softmax(along), tensors[2])
        check(mine, np.einsum(mixed, weights, exact[2]))


def test_masks_of_tokens_are_converted_once() -> None:
    """A kernel of its own makes the bias of a mask, and layers share it; a mask of positions is never in memory."""
    q, k, v = (data((2, 3, 40, 16), seed=seed) for seed in range(3))
    used = (np.arange(40) < np.array([[40], [23]])).astype(np.int64)
    key, value = svod.Tensor(k), svod.Tensor(v)
    bias = ((svod.Tensor(used).float() - 1.0) * 1e9).reshape(2, 1, 1, 40)
    hidden = (used[:, None, None, :] - 1.0) * 1e9

    def layer(query: svod.Tensor, bias: svod.Tensor) -> svod.Tensor:
        return (query @ key.transpose(-2, -1) / 4 + bias).softmax(-1) @ value

    once = reference(q, k, v, hidden)
    check(layer(layer(svod.Tensor(q), bias), bias), reference(once.astype(np.float32), k, v, hidden), kernels=3)
    place = svod.arange(40)
    both = bias + svod.where(place.reshape(40, 1) >= place, 0.0, -1e9)
    check(layer(svod.Tensor(q), both), reference(q, k, v, hidden + np.where(causal(40, 40) < 0, -1e9, 0)), kernels=2)


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("queries", [1, 2, 5])
def test_b4_few_queries_are_one_kernel(spelling: str, queries: int) -> None:
    """As a decoder has them: the keys so far, and the last query or the last few; with an epilogue, too."""
    q, k, v = (data((2, 6, n, 20), seed=seed) for seed, n in enumerate((queries, 131, 131)))
    bias, residual = data((2, 1, 1, 131), seed=3), data((2, queries, 120), seed=4)
    scores = svod.Tensor(q) @ svod.Tensor(k).mT * 0.25 + svod.Tensor(bias)
    mixed = SPELLINGS[spelling](scores) @ svod.Tensor(v)
    expected = reference(q, k, v, bias, scale=0.25)
    check(mixed, expected)
    joined = mixed.transpose(1, 2).reshape(2, queries, 120) * 0.5 + svod.Tensor(residual)
    check(joined, expected.transpose(0, 2, 1, 3).reshape(2, queries, 120) * 0.5 + residual)


def test_b4_one_query_of_grouped_heads_and_any_number_of_keys() -> None:
    q, k, v = data((1, 12, 1, 16)), data((1, 4, 90, 16), seed=1), data((1, 4, 90, 24), seed=2)
    n = svod.Variable("n", 1, 90)
    for heads in (12, 4):
        query = svod.Tensor(q[:, :heads])
        key, value = (svod.Tensor(x)[:, :, : n.bind(37)] for x in (k, v))
        mine = query.scaled_dot_product_attention(key, value, enable_gqa=heads > 4)
        group = heads // 4
        keys, values = (np.repeat(x[:, :, :37], group, axis=1) for x in (k, v))
        plan = mine.prepare()
        assert len(plan.kernels) == 1
        plan.execute()
        np.testing.assert_allclose(mine.numpy(), reference(q[:, :heads], keys, values), rtol=2e-5, atol=2e-5)


def test_b4_one_query_that_sees_nothing_is_zero_and_hidden_infinities_do_not_matter() -> None:
    q, k, v = data((1, 8, 1, 8)), data((1, 8, 20, 8), seed=1), data((1, 8, 20, 8), seed=2)
    seen = np.arange(20) < 11
    mine = svod.Tensor(q).scaled_dot_product_attention(svod.Tensor(k), svod.Tensor(v), svod.Tensor(seen[None]))
    check(mine, reference(q, k[:, :, seen], v[:, :, seen]))
    none = svod.Tensor(q).scaled_dot_product_attention(svod.Tensor(k), svod.Tensor(v), svod.Tensor(seen[None] & False))
    np.testing.assert_array_equal(none.numpy(), np.zeros_like(q))


@pytest.mark.parametrize("size", [(2, 3, 50, 70, 16, 24), (1, 1, 33, 20, 5, 40), (1, 2, 130, 129, 64, 64)])
def test_b4_a_softmax_over_queries_is_one_kernel_of_tiles(size: tuple[int, ...]) -> None:
    b, h, queries, keys, depth, columns = size
    q, k, v = data((b, h, queries, depth)), data((b, h, keys, depth), seed=1), data((b, h, queries, columns), seed=2)
    expected = reference(k, q, v, scale=0.3)
    for scale, offset in ((1.0, 0.0), (2.0, 1.0)):
        mixed = (svod.Tensor(q) @ svod.Tensor(k).mT * 0.3).softmax(-2).mT @ svod.Tensor(v) * scale + offset
        plan = mixed.prepare()
        (kernel,) = plan.kernels
        steps = str(kernel.schedule).splitlines()
        assert sum(step.startswith("micro") for step in steps) == 2, steps
        plan.execute()
        np.testing.assert_allclose(mixed.numpy(), expected * scale + offset, rtol=2e-5, atol=2e-5)


def test_no_weights_in_memory_unless_wanted() -> None:
    q, k, v = (data((1, 2, 20, 8), seed=seed) for seed in range(3))
    weights = (svod.Tensor(q) @ svod.Tensor(k).transpose(-2, -1)).softmax(-1)
    mixed = weights @ svod.Tensor(v)
    svod.prepare(weights, mixed).execute()
    np.testing.assert_allclose(mixed.numpy(), reference(q, k, v, scale=1.0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(weights.numpy().sum(-1), np.ones((1, 2, 20)), rtol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-5), ("float16", 2e-3)])
def test_types(dtype: str, tolerance: float) -> None:
    q, k, v = (data((2, 2, 37, 24), dtype, seed) for seed in range(3))
    mine = svod.Tensor(q).scaled_dot_product_attention(svod.Tensor(k), svod.Tensor(v), is_causal=True, scale=0.3)
    assert mine.dtype == getattr(svod, dtype)
    check(mine, reference(q, k, v, causal(37, 37), 0.3), tolerance)


def test_bfloat16() -> None:
    q, k, v = (svod.Tensor(data((2, 2, 37, 24), seed=seed)).to("bfloat16") for seed in range(3))
    wide = [x.to("float32").numpy() for x in (q, k, v)]
    check(q.scaled_dot_product_attention(k, v), reference(wide[0], wide[1], wide[2]), 2e-2)


@pytest.mark.parametrize("heads", [1, 2, 6])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_grouped_queries(heads: int, is_causal: bool, masked: bool) -> None:
    q, k, v = data((2, 6, 20, 16), seed=1), data((2, heads, 30, 16), seed=2), data((2, heads, 30, 8), seed=3)
    mask = data((2, 6, 20, 30), seed=4) if masked else None
    mine = svod.Tensor(q).scaled_dot_product_attention(
        svod.Tensor(k),
        svod.Tensor(v),
        None if mask is None else svod.Tensor(mask),
        is_causal=is_causal,
        enable_gqa=True,
    )
    bias = (0.0 if mask is None else mask) + (causal(20, 30) if is_causal else 0.0)
    k, v = (np.repeat(x, 6 // heads, 1) for x in (k, v))
    check(mine, reference(q, k, v, bias))


def test_one_query() -> None:
    q, k, v = data((2, 3, 1, 16), seed=1), data((2, 3, 300, 16), seed=2), data((2, 3, 300, 16), seed=3)
    mine = svod.Tensor(q).scaled_dot_product_attention(svod.Tensor(k), svod.Tensor(v))
    np.testing.assert_allclose(mine.numpy(), reference(q, k, v), rtol=2e-5, atol=2e-5)


def test_hidden_keys_take_no_part() -> None:
    q, k, v = (data((1, 2, 200, 16), seed=seed) for seed in range(3))
    expected = reference(q, k, v, causal(200, 200))[:, :, :100]
    k[:, :, 130:], v[:, :, 190:] = np.nan, np.inf
    mine = svod.Tensor(q).scaled_dot_product_attention(svod.Tensor(k), svod.Tensor(v), is_causal=True)
    np.testing.assert_allclose(mine.numpy()[:, :, :100], expected, rtol=2e-5, atol=2e-5)


def test_rows_and_blocks_of_minus_infinity() -> None:
    q, k, v = (data((1, 1, 20, 8), seed=seed) for seed in range(3))
    bias = np.zeros((20, 20), np.float32)
    bias[3], bias[5, :12] = -np.inf, -np.inf
    mine = svod.Tensor(q).scaled_dot_product_attention(svod.Tensor(k), svod.Tensor(v), svod.Tensor(bias)).numpy()
    assert (mine[0, 0, 3] == 0).all()
    rows = [r for r in range(20) if r != 3]
    np.testing.assert_allclose(mine[0, 0, rows], reference(q, k, v, bias)[0, 0, rows], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_gradients_where_a_query_sees_no_key_are_zeros(dtype: str) -> None:
    q, k, v = (svod.Tensor(data((1, 1, 4, 8), seed=seed)).cast(dtype) for seed in range(3))
    mask = svod.Tensor([[True] * 4, [False] * 4, [True, False, False, False], [False, True, True, False]])

    def loss(q: svod.Tensor, k: svod.Tensor, v: svod.Tensor) -> svod.Tensor:
        return (q.scaled_dot_product_attention(k, v, mask).float() * 1000).sum()

    slopes = [one.float().numpy() for one in svod.grad(loss, argnums=(0, 1, 2))(q, k, v)]
    assert all(np.isfinite(one).all() for one in slopes)
    assert (slopes[0][0, 0, 1] == 0).all()


def test_nan_stays_in_its_row() -> None:
    q, k, v = (data((1, 1, 20, 8), seed=seed) for seed in range(3))
    q[0, 0, 7, 2] = np.nan
    mine = svod.Tensor(q).scaled_dot_product_attention(svod.Tensor(k), svod.Tensor(v)).numpy()
    assert np.isnan(mine[0, 0, 7]).all()
    assert np.isfinite(np.delete(mine[0, 0], 7, 0)).all()


def test_errors() -> None:
    q, k = svod.zeros(2, 4, 8), svod.zeros(2, 5, 8)
    with pytest.raises(svod.ShapeError, match=r"depths of queries and keys differ in .*\[2, 4, 8\], .*\[2, 5, 7\]"):
        q.scaled_dot_product_attention(svod.zeros(2, 5, 7), k)
    with pytest.raises(svod.ShapeError, match="numbers of keys and values differ"):
        q.scaled_dot_product_attention(k, svod.zeros(2, 6, 8))
    with pytest.raises(svod.DTypeError, match="mask is bool or floating-point, not int64"):
        q.scaled_dot_product_attention(k, k, svod.ones((4, 5), dtype="int64"))
    with pytest.raises(svod.DTypeError, match="needs floating-point operands"):
        q.scaled_dot_product_attention(k, svod.ones((2, 5, 8), dtype="int32"))
    with pytest.raises(svod.ShapeError, match="no multiple of those of the keys"):
        svod.zeros(5, 4, 8).scaled_dot_product_attention(k, k, enable_gqa=True)
    with pytest.raises(svod.ShapeError):
        q.scaled_dot_product_attention(k, k, svod.zeros(3, 4, 5))


WHOLE_ROWS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "cumsum": (lambda v: v.cumsum(1), lambda v: np.cumsum(v, 1)),
    "sort": (lambda v: v.sort(1)[0], lambda v: np.sort(v, 1)),
    "argsort": (lambda v: v.argsort(1).cast("float32"), lambda v: np.argsort(v, 1, kind="stable")),
    "custom": (lambda v: svod.custom(np.sort, v), lambda v: np.sort(v)),
    "iterate": (lambda v: svod.iterate(2, lambda i, z: z * 2, v), lambda v: v * 4),
    "contraction": (lambda v: v @ v.T @ v, lambda v: v @ v.T @ v),
    "gather": (lambda v: v.flip(0)[:, 1:].pad([(0, 0), (1, 0)]), lambda v: np.pad(v[::-1, 1:], [(0, 0), (1, 0)])),
}


@pytest.mark.parametrize("between", WHOLE_ROWS)
@pytest.mark.parametrize("residual", [True, False])
def test_what_needs_whole_rows_between_two_contractions(between: str, residual: bool) -> None:
    """An operation that is no part of an attention, between a product and its softmax times another."""
    make, expected = WHOLE_ROWS[between]
    x, w, u = (data(shape, seed=i) * 0.2 for i, shape in enumerate([(16, 12), (12, 8), (8, 20)]))
    v = svod.Tensor(x) @ svod.Tensor(w)
    weights = make(v).softmax(1) + v if residual else make(v).softmax(1)
    e = np.exp(expected(x @ w) - expected(x @ w).max(axis=1, keepdims=True))
    rows = e / e.sum(1, keepdims=True) + (x @ w if residual else 0)
    np.testing.assert_allclose((weights @ svod.Tensor(u)).numpy(), rows @ u, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("scores", "mixed", "axis", "q", "k"),
    [
        ("bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", -1, (2, 20, 6, 24), (2, 32, 6, 24)),
        ("bqhd,bkhd->bqkh", "bqkh,bkhd->bqhd", 2, (2, 20, 6, 24), (2, 32, 6, 24)),
        ("bqhd,bkhd->bqhk", "bqhk,bkhd->bqhd", -1, (2, 20, 6, 24), (2, 32, 6, 24)),
        ("bqhd,bkhd->bkqh", "bkqh,bkhd->bqhd", 1, (2, 20, 6, 24), (2, 32, 6, 24)),
        ("qbd,kbd->qkb", "qkb,kbd->qbd", 1, (20, 6, 24), (32, 6, 24)),
        ("tbhd,sbhd->tsbh", "tsbh,sbhd->tbhd", 1, (20, 2, 6, 24), (32, 2, 6, 24)),
        ("bqd,bkd->bqk", "bqk,bkd->qdb", -1, (6, 20, 24), (6, 32, 24)),
    ],
)
def test_axes_of_scores_in_any_order(
    scores: str, mixed: str, axis: int, q: tuple[int, ...], k: tuple[int, ...]
) -> None:
    a, b, c = data(q), data(k, seed=1), data(k, seed=2)
    plan = svod.einsum(mixed, (svod.einsum(scores, a, b) * 0.2).softmax(axis), c).prepare()
    plan.execute()
    assert len(plan.kernels) == 1
    e = np.exp(np.einsum(scores, a.astype("float64"), b.astype("float64")) * 0.2)
    exact = np.einsum(mixed, e / e.sum(axis, keepdims=True), c.astype("float64"))
    np.testing.assert_allclose(plan.outputs[0].numpy(), exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "spelling", ["softmax(y yT) y", "softmax(y yT) x", "softmax(y xT) y", "softmax(x yT) y", "relu(y yT) y"]
)
@pytest.mark.parametrize("shape", [(33, 20), (2, 3, 128, 64)], ids=str)
def test_operands_that_are_one_computed_value(shape: tuple[int, ...], spelling: str) -> None:
    a = data(shape)
    x = svod.Tensor(a).realize()
    name, first, second, third = re.findall(r"\w+", spelling)
    second = second[0]
    y, exact = x.tanh(), np.tanh(a.astype(np.float64))
    values, exacts = {"x": x, "y": y}, {"x": a.astype(np.float64), "y": exact}
    scores = values[first] @ values[second].mT
    product = exacts[first] @ np.swapaxes(exacts[second], -1, -2)
    e = np.exp(product - product.max(axis=-1, keepdims=True))
    weights = e / e.sum(-1, keepdims=True) if name == "softmax" else np.maximum(product, 0)
    found = (scores.softmax(-1) if name == "softmax" else scores.relu()) @ values[third]
    np.testing.assert_allclose(found.numpy(), weights @ exacts[third], rtol=2e-5, atol=2e-4)
