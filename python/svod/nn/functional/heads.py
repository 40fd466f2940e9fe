"""Attention of several heads, whose weights are arguments."""

from __future__ import annotations

from math import sqrt

from svod._arguments import checked
from svod._svod import ArgumentError, ShapeError, Tensor, cat, where, zeros
from svod.nn.functional.dropout import dropout

__all__ = ["multi_head_attention_forward"]


@checked
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `svod.nn.MultiheadAttention` computes, of `(length, batch, features)` or without a batch.

    `bias_k` and `bias_v`, and zeros with `add_zero_attn`, are one more key and value each, which no mask hides.
    `static_k` and `static_v`, `(batch * heads, length, features of a head)`, stand for those that would be computed.
    """
    features = embed_dim_to_check
    if query.shape[-1] != features or features % num_heads or query.ndim not in (2, 3):
        raise ShapeError(
            f"multi_head_attention_forward: {features} features in {num_heads} heads of {tuple(query.shape)}"
        )
    if is_causal and attn_mask is None:
        raise ArgumentError("multi_head_attention_forward: is_causal says what attn_mask is: that is needed, too")
    has_batch, each = query.ndim == 3, features // num_heads
    query, key, value = (x if has_batch else x.unsqueeze(1) for x in (query, key, value))
    if use_separate_proj_weight:
        if q_proj_weight is None or k_proj_weight is None or v_proj_weight is None:
            raise ArgumentError(
                "multi_head_attention_forward: q_proj_weight, k_proj_weight and v_proj_weight are needed"
            )
        weights = [q_proj_weight, k_proj_weight, v_proj_weight]
    elif in_proj_weight is None:
        raise ArgumentError("multi_head_attention_forward: in_proj_weight is needed")
    else:
        weights = in_proj_weight.chunk(3, 0)
    biases = [None] * 3 if in_proj_bias is None else in_proj_bias.chunk(3, 0)
    q, k, v = (x.linear(w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    batch = q.shape[1]
    if bias_k is not None and bias_v is not None:
        k, v = (cat([x, one.expand(1, batch, features)]) for x, one in ((k, bias_k), (v, bias_v)))
    # (batch, heads, length, features of a head)
    q, k, v = (x.unflatten(-1, (num_heads, each)).permute(1, 2, 0, 3) for x in (q, k, v))
    k = k if static_k is None else static_k.unflatten(0, (batch, num_heads))
    v = v if static_v is None else static_v.unflatten(0, (batch, num_heads))
    if add_zero_attn:
        k, v = (cat([x, zeros(batch, num_heads, 1, each, dtype=x.dtype)], 2) for x in (k, v))
    hidden = _hidden(attn_mask, key_padding_mask, (batch, num_heads, q.shape[2], k.shape[2]), q, has_batch)
    scores = q @ k.mT * (1 / sqrt(each))
    shares = (scores if hidden is None else scores + hidden).softmax(-1)
    heads = dropout(shares, dropout_p, training) @ v
    result = heads.permute(2, 0, 1, 3).flatten(2).linear(out_proj_weight, out_proj_bias)
    result = result if has_batch else result.squeeze(1)
    if not need_weights:
        return result, None
    shown = shares.mean(1) if average_attn_weights else shares
    return result, shown if has_batch else shown.squeeze(0)


def _hidden(
    attn_mask: Tensor | None, padding: Tensor | None, shape: tuple[int, int, int, int], like: Tensor, has_batch: bool
) -> Tensor | None:
    """What is added to scores; keys that no mask knows of are seen."""
    batch, heads, _, keys = shape
    masks = []
    if attn_mask is not None:
        mask = _added(attn_mask, like)
        masks.append(mask if mask.ndim == 2 else mask.unflatten(0, (batch, heads)))
    if padding is not None:
        mask = _added(padding if has_batch else padding.unsqueeze(0), like)
        masks.append(mask.unsqueeze(1).unsqueeze(1))
    more = [mask.pad([*[(0, 0)] * (mask.ndim - 1), (0, keys - mask.shape[-1])]) for mask in masks]
    return more[0] + more[1] if len(more) == 2 else more[0] if more else None


def _added(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as what is added to scores: -inf where one of bools holds."""
    if str(mask.dtype) != "bool":
        return mask
    return where(mask, float("-inf"), zeros((), dtype=like.dtype))
