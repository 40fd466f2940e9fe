"""The layers' operations as functions of tensors, argument order as in `torch.nn.functional`."""

from __future__ import annotations

from svod._svod import Tensor

__all__ = [
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "mean_pool",
    "normalize",
    "scaled_dot_product_attention",
    "softmax",
]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x @ weight.T + bias` over the last axis of `x`; `weight` is `(out, in)`."""
    out = x @ weight.transpose(0, 1)
    return out if bias is None else out + bias


def embedding(ids: Tensor, weight: Tensor) -> Tensor:
    """Row `ids[...]` of `weight` for every entry of an integer tensor: shape `ids.shape + (dim,)`."""
    return weight[ids]


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalizes the last axis (Ba, Kiros and Hinton 2016), then scales by `weight` and adds `bias`."""
    return x.layer_norm(weight, bias, eps=eps)


def gelu(x: Tensor) -> Tensor:
    """`x * Φ(x)` with the exact error function (Hendrycks and Gimpel 2016)."""
    return x.gelu()


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """`exp(x)` divided by its sum along `axis`."""
    return x.softmax(axis)


def normalize(x: Tensor, axis: int = -1, eps: float = 1e-12) -> Tensor:
    """`x` divided by its Euclidean length along `axis`; lengths below `eps` count as `eps`."""
    return x / (x * x).sum(axis, keepdim=True).sqrt().clamp(min=eps)


def mean_pool(x: Tensor, mask: Tensor) -> Tensor:
    """Mean of `x` `(batch, length, dim)` over the positions where `mask` `(batch, length)` is 1."""
    weight = mask.to(x.dtype).unsqueeze(-1)
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1e-9)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value` over `[.., length, depth]`, in one kernel."""
    return query.scaled_dot_product_attention(
        key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    )
