"""Scaled dot product attention (Vaswani et al. 2017), kept as one operation.

PyTorch has one for CPUs, and three for GPUs that differ in what else they return: for the backward pass, the logarithm
of each row's sum of exponentials, and states of random numbers, which nothing reads where nothing is dropped.
"""

from __future__ import annotations

import math
from typing import Any

import torch

import svod
from svod.torch._table import Call, Unsupported, aten, dtype, wide


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
    return _forward(query, key, value, dropout_p, is_causal, attn_mask, scale)


@aten("_scaled_dot_product_flash_attention", call=True)
def flash(
    call: Call,
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    return _returned(call, *_forward(query, key, value, dropout_p, is_causal, None, scale))


@aten("_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention", call=True)
def efficient(
    call: Call,
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    attn_bias: svod.Tensor | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    return _returned(call, *_forward(query, key, value, dropout_p, is_causal, attn_bias, scale))


def _forward(
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    dropout_p: float,
    is_causal: bool,
    mask: svod.Tensor | None,
    scale: float | None,
) -> tuple[svod.Tensor, svod.Tensor]:
    if dropout_p:
        raise Unsupported("attention with dropout inside")
    result = _attended(query, key, value, is_causal, mask, scale)
    return result, _scores(query, key, is_causal, mask, scale).logsumexp(-1)


def _returned(call: Call, result: svod.Tensor, logsumexp: svod.Tensor) -> tuple[Any, ...]:
    """The results of an operation for GPUs: the statistics may have more rows, or none; the others are zeros."""

    def zeros(fake: Any) -> Any:
        shape = tuple(map(call.sizes, fake.shape))
        return svod.zeros(shape, dtype=dtype(fake.dtype))

    _, statistics, *others = call.results
    if len(statistics.shape) > logsumexp.ndim:
        logsumexp = logsumexp.unsqueeze(-1)
    elif statistics.shape[-1] == 0:
        logsumexp = zeros(statistics)
    else:
        more = call.sizes(statistics.shape[-1]) - logsumexp.shape[-1]
        logsumexp = logsumexp.pad([*[(0, 0)] * (logsumexp.ndim - 1), (0, more)])
    return result, logsumexp, *(zeros(one) if isinstance(one, torch.Tensor) else one for one in others)


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
    return _backward(gradient, query, key, value, out, logsumexp, dropout_p, is_causal, attn_mask, scale)


@aten("_scaled_dot_product_flash_attention_backward")
def flash_backward(
    gradient: svod.Tensor,
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    out: svod.Tensor,
    logsumexp: svod.Tensor,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    *_: Any,
    scale: float | None = None,
) -> tuple[svod.Tensor, ...]:
    return _backward(gradient, query, key, value, out, logsumexp, dropout_p, is_causal, None, scale)


@aten("_scaled_dot_product_efficient_attention_backward")
def efficient_backward(
    gradient: svod.Tensor,
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    attn_bias: svod.Tensor | None,
    out: svod.Tensor,
    logsumexp: svod.Tensor,
    philox_seed: Any,
    philox_offset: Any,
    dropout_p: float,
    grad_input_mask: Any,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    if grad_input_mask[3]:
        raise Unsupported("the gradient of attention's bias")
    return *_backward(gradient, query, key, value, out, logsumexp, dropout_p, is_causal, attn_bias, scale), None


@aten("_scaled_dot_product_cudnn_attention_backward")
def cudnn_backward(
    gradient: svod.Tensor,
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    out: svod.Tensor,
    logsumexp: svod.Tensor,
    philox_seed: Any,
    philox_offset: Any,
    attn_bias: svod.Tensor | None,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    scale: float | None = None,
) -> tuple[svod.Tensor, ...]:
    return _backward(gradient, query, key, value, out, logsumexp, dropout_p, is_causal, attn_bias, scale)


def _backward(
    gradient: svod.Tensor,
    query: svod.Tensor,
    key: svod.Tensor,
    value: svod.Tensor,
    out: svod.Tensor,
    logsumexp: svod.Tensor,
    dropout_p: float,
    is_causal: bool,
    mask: svod.Tensor | None,
    scale: float | None,
) -> tuple[svod.Tensor, ...]:
    """From the rows' statistics (Dao 2022): the weights are computed again."""
    if dropout_p:
        raise Unsupported("attention with dropout inside")
    shared = _shared(query, key)
    key, value = _spread(key, shared), _spread(value, shared)
    q, k, v, g, o = (wide(tensor) for tensor in (query, key, value, gradient, out))
    scores = _scores(query, key, is_causal, mask, scale)
    # Statistics may have a last axis of their own, and rows that fill them up.
    statistics = logsumexp.reshape((*logsumexp.shape[: query.ndim - 2], -1))[..., : query.shape[-2]].unsqueeze(-1)
    weights = svod.where(scores == float("-inf"), 0.0, (scores - statistics).exp())
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
