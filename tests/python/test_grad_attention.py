"""The derivative of attention: that of its equation, without the scores of all queries in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import functional as F

RNG = np.random.default_rng(24)


def draw(*shape: int) -> svod.Tensor:
    return svod.Tensor(RNG.normal(size=shape).astype(np.float32))


def plain(q: Any, k: Any, v: Any, attn_mask: Any = None, is_causal: bool = False) -> svod.Tensor:
    """In words of its own, differentiated by the table."""
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if attn_mask is not None:
        scores = svod.where(attn_mask, scores, float("-inf")) if attn_mask.dtype == svod.bool else scores + attn_mask
    if is_causal:
        rows, columns = svod.arange(q.shape[-2]).unsqueeze(1), svod.arange(k.shape[-2])
        scores = svod.where(columns <= rows, scores, float("-inf"))
    return scores.softmax(-1) @ v


def gradients(attention: Any, cotangent: svod.Tensor, operands: list[svod.Tensor], **how: Any) -> list[svod.Tensor]:
    return (attention(*operands, **how) * cotangent).sum().gradient(*operands)


# Heads at a time, queries of one head at a time, with all that has no common divisor.
SHAPES = {
    "heads": ((7, 3), 460, 451),
    "queries": ((1, 2), 1500, 1450),
    "one head": ((), 2111, 2050),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("how", ["nothing", "causal", "bool", "float", "row"])
def test_gradients_are_those_of_the_equation(shape: str, how: str) -> None:
    batch, queries, keys = SHAPES[shape]
    operands = [draw(*batch, queries, 8), draw(*batch, keys, 8), draw(*batch, keys, 5)]
    mask = np.random.default_rng(1).random((queries, keys)) < 0.7
    mask[:, 0] = True
    given: dict[str, Any] = {
        "nothing": {},
        "causal": {"is_causal": True},
        "bool": {"attn_mask": svod.Tensor(mask)},
        "float": {"attn_mask": draw(queries, keys)},
        "row": {"attn_mask": svod.Tensor(mask[:1])},
    }[how]
    cotangent = draw(*batch, queries, 5)
    found = gradients(F.scaled_dot_product_attention, cotangent, operands, **given)
    wanted = gradients(plain, cotangent, operands, **given)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-5)


def test_operands_that_are_repeated_and_masks_of_numbers() -> None:
    q, k, v, bias = draw(8, 9, 270, 8), draw(9, 260, 8), draw(8, 1, 260, 8), draw(270, 260)
    cotangent = draw(8, 9, 270, 8)
    found = (F.scaled_dot_product_attention(q, k, v, bias) * cotangent).sum().gradient(q, k, v, bias)
    wanted = (plain(q, k, v, bias) * cotangent).sum().gradient(q, k, v, bias)
    for one, other in zip(found, wanted, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-5)
    # All three are one value.
    x = draw(70, 270, 8)
    cotangent = draw(70, 270, 8)
    found = svod.grad(lambda x: (F.scaled_dot_product_attention(x, x, x) * cotangent).sum())(x)
    wanted = svod.grad(lambda x: (plain(x, x, x) * cotangent).sum())(x)
    np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-5)


def test_groups_of_heads_and_a_query_that_sees_nothing() -> None:
    q, k, v = draw(4, 16, 270, 8), draw(4, 4, 260, 8), draw(4, 4, 260, 8)
    mask = svod.Tensor(np.arange(270)[:, None] > np.zeros((1, 260)))
    cotangent = draw(4, 16, 270, 8)
    found = (F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True) * cotangent).sum().gradient(q, k, v)
    wide = [x.repeat_interleave(4, 1) for x in (k, v)]
    rows = (plain(q[:, :, 1:], *wide) * cotangent[:, :, 1:]).sum()
    for one, other in zip(found, rows.gradient(q, k, v), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-5)


def test_derivatives_of_derivatives_and_of_examples() -> None:
    x = svod.Tensor(RNG.normal(size=(1, 2, 1100, 4)))

    def of(attention: Any) -> list[Any]:
        loss = lambda x: (attention(x, x * 2, x.sin()) ** 2).sum()  # noqa: E731
        step = svod.jvp(lambda x: attention(x, x * 2, x.sin()).sum(), (x,), (x.cos(),))[1]
        return [svod.jit(svod.grad(loss))(x), step, svod.vmap(svod.grad(loss))(svod.stack([x, x + 1]))]

    for one, other in zip(of(F.scaled_dot_product_attention), of(plain), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("causal", [False, True])
def test_no_scores_of_all_queries_are_in_memory(causal: bool) -> None:
    length = 3072
    q, k, v = (draw(1, 2, length, 16) for _ in range(3))
    found = (F.scaled_dot_product_attention(q, k, v, is_causal=causal) ** 2).sum().gradient(q, k, v)
    plan = svod.prepare(*found, inputs=[q, k, v])
    plan.execute()
    # One head's scores are 38 MB; a block's are 4 MB, of which there are a few.
    assert plan.memory["bytes_peak"] < length * length * 4
