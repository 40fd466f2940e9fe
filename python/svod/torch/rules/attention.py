"""Scaled dot product attention (Vaswani et al. 2017), kept as one operation."""

from __future__ import annotations

import math
from typing import Any

import svod
from svod.torch._table import Unsupported, aten, wide


@aten("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: svod.Tensor | None = None,
    scale: float | None = None,
) -> tuple[svod.Tensor, svod.Tensor]:
    """The result and, for the backward pass, the logarithm of each row's sum of exponentials."""
    if dropout_p:
        raise Unsupported("attention with dropout inside")
    result = _attended(query, key, value, is_causal, attn_mask, scale)
    scores = _scores(query, key, is_causal, attn_mask, scale)
    return result, scores.logsumexp(-1)


@aten("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    gradient: svod.Tensor,
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    out: svod.Tensor,
    logsumexp: svod.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: svod.Tensor | None = None,
    scale: float | None = None,
) -> tuple[svod.Tensor, ...]:
    """From the rows' statistics (Dao 2022): the weights are computed again."""
    if dropout_p:
        raise Unsupported("attention with dropout inside")
    shared = _shared(query, key)
    key, value = _spread(key, shared), _spread(value, shared)
    q, k, v, g, o = (wide(tensor) for tensor in (query, key, value, gradient, out))
    scores = _scores(query, key, is_causal, attn_mask, scale)
    weights = svod.where(scores == float("-inf"), 0.0, (scores - logsumexp.unsqueeze(-1)).exp())
    of_scores = weights * (g @ v.mT - (g * o).sum(-1, True)) * _scale(query, scale)
    of_keys, of_values = (_gathered(part, shared) for part in (of_scores.mT @ q, weights.mT @ g))
    gradients = of_scores @ k, of_keys, of_values
    return tuple(part.cast(query.dtype) for part in gradients)


def _attended(
    query: svod.Tensor, key: svod.Tensor, value: svod.Tensor, causal: bool, mask: svod.Tensor | None, scale: Any
) -> svod.Tensor:
    options = {"is_causal": causal, "scale": _scale(query, scale), "enable_gqa": _shared(query, key) > 1}
    if mask is None:
        return query.scaled_dot_product_attention(key, value, **options)
    result = query.scaled_dot_product_attention(key, value, mask.cast(query.dtype), **options)
    # A row that sees nothing is 0 to PyTorch.
    return svod.where(mask.amax(-1, True) == float("-inf"), 0, result)


def _scores(query: svod.Tensor, key: svod.Tensor, causal: bool, mask: svod.Tensor | None, scale: Any) -> svod.Tensor:
    key = _spread(key, _shared(query, key))
    scores: svod.Tensor = (wide(query) @ wide(key).mT) * _scale(query, scale)
    if causal:
        rows, columns = svod.arange(query.shape[-2]).unsqueeze(1), svod.arange(key.shape[-2])
        scores = svod.where(columns <= rows, scores, float("-inf"))
    return scores if mask is None else scores + mask


def _scale(query: svod.Tensor, scale: Any) -> Any:
    return 1 / math.sqrt(query.shape[-1]) if scale is None else scale


def _shared(query: svod.Tensor, key: svod.Tensor) -> int:
    """How many heads of queries share one of keys and values."""
    heads, groups = query.shape[-3], key.shape[-3]
    return heads // groups if isinstance(heads, int) and isinstance(groups, int) and groups else 1


def _spread(x: svod.Tensor, shared: int) -> svod.Tensor:
    """Keys or values, each head as often as it is shared."""
    return x if shared == 1 else x.repeat_interleave(shared, -3)


def _gathered(x: svod.Tensor, shared: int) -> svod.Tensor:
    """The sums of the gradients of a head that is shared."""
    return x if shared == 1 else x.unflatten(-3, (-1, shared)).sum(-3)
