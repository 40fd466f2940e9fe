"""Attention of several heads, and the layers of transformers (Vaswani et al. 2017).

Parameters have PyTorch's names and shapes. A bool mask hides positions where it holds, a float one is added to scores.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from math import sqrt
from typing import Any

from svod._module import Module, check_layers
from svod._svod import ArgumentError, ShapeError, Tensor, cat, ones, where, zeros
from svod.nn import functional as F
from svod.nn import init
from svod.nn.containers import ModuleList
from svod.nn.dropout import Dropout
from svod.nn.linear import Linear
from svod.nn.normalization import LayerNorm

__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


class MultiheadAttention(Module):
    """Attention of `num_heads` heads over parts of `embed_dim` features, with a product before and one behind.

    Called with query, key and value of `(length, batch, embed_dim)`, with `batch_first` `(batch, length, ..)`, or
    without a batch. Gives the result, and, with `need_weights`, the mean of the heads' weights,
    `(batch, queries, keys)`, or those of each head, `(batch, heads, ..)`; else none, and scores are never in memory.

    Keys have `kdim` features and values `vdim`, where these are given. With `add_bias_kv` a key and a value that are
    learned stand behind those of each sequence, with `add_zero_attn` ones of zeros; no mask hides them.

    >>> import svod
    >>> x = svod.zeros(2, 5, 8)
    >>> result, weights = svod.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> result.shape, weights.shape
    ((2, 5, 8), (2, 5, 5))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
    ) -> None:
        if num_heads < 1 or embed_dim % num_heads:
            raise ArgumentError(f"MultiheadAttention: {embed_dim} features in {num_heads} heads")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.add_zero_attn = add_zero_attn
        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.kdim == self.vdim == embed_dim:
            self.in_proj_weight = zeros((3 * embed_dim, embed_dim))
        else:
            self.q_proj_weight = zeros((embed_dim, embed_dim))
            self.k_proj_weight = zeros((embed_dim, self.kdim))
            self.v_proj_weight = zeros((embed_dim, self.vdim))
        self.in_proj_bias = zeros((3 * embed_dim,)) if bias else None
        self.bias_k = zeros((1, 1, embed_dim)) if add_bias_kv else None
        self.bias_v = zeros((1, 1, embed_dim)) if add_bias_kv else None
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias)
        self._draw()

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        self.out_proj.reset_parameters()
        self._draw()

    def _draw(self) -> None:
        """Draws what is this layer's own."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for learned in (self.bias_k, self.bias_v):
            if learned is not None:
                init.xavier_normal_(learned)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        has_batch = query.ndim == 3
        if query.ndim not in (2, 3) or query.shape[-1] != self.embed_dim:
            raise ShapeError(f"MultiheadAttention: {self.embed_dim} features are expected, not {tuple(query.shape)}")
        for name, x, features in (("key", key, self.kdim), ("value", value, self.vdim)):
            if x.shape[-1] != features:
                raise ShapeError(f"MultiheadAttention: {name}: {features} features are expected, not {tuple(x.shape)}")
        q, k, v = (self._batched(x, has_batch) for x in self._projected(query, key, value))
        is_longer = self.bias_k is not None or self.add_zero_attn
        if is_causal and attn_mask is None and (need_weights or key_padding_mask is not None or is_longer):
            attn_mask = ones((q.shape[2], k.shape[2]), dtype="bool").triu(1)
        mask = self._mask(attn_mask, key_padding_mask, k, has_batch)
        k, v, mask = self._lengthened(k, v, mask)
        drop = self.dropout if self.training else 0.0
        weights = None
        if not need_weights:
            # What is causal is told rather than added, where nothing else is hidden.
            causal = is_causal and key_padding_mask is None and not is_longer
            heads = F.scaled_dot_product_attention(q, k, v, None if causal else mask, drop, causal)
        else:
            scores = q @ k.mT * (1 / sqrt(self.embed_dim // self.num_heads))
            weights = F.dropout((scores if mask is None else scores + mask).softmax(-1), drop, self.training)
            heads = weights @ v
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights if has_batch else weights.squeeze(0)
        joined = heads.permute(0, 2, 1, 3).flatten(2)
        result = self.out_proj(joined)
        if not has_batch:
            return result.squeeze(0), weights
        return result if self.batch_first else result.permute(1, 0, 2), weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        if self.in_proj_weight is None:
            weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        elif query is key and key is value:
            return list(query.linear(self.in_proj_weight, self.in_proj_bias).chunk(3, -1))
        else:
            weights = self.in_proj_weight.chunk(3, 0)
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3, 0)
        return [x.linear(w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]

    def _batched(self, x: Tensor, has_batch: bool) -> Tensor:
        """As `(batch, heads, length, features of a head)`."""
        x = x.unsqueeze(0) if not has_batch else x if self.batch_first else x.permute(1, 0, 2)
        return x.unflatten(-1, (self.num_heads, -1)).permute(0, 2, 1, 3)

    def _lengthened(self, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Keys, values and mask with what stands behind each sequence."""
        batch, heads, _, features = k.shape
        added: list[tuple[Tensor, Tensor]] = []
        if self.bias_k is not None and self.bias_v is not None:
            learned = (bias.reshape(1, heads, 1, features) for bias in (self.bias_k, self.bias_v))
            key, value = (one.expand(batch, heads, 1, features) for one in learned)
            added.append((key, value))
        if self.add_zero_attn:
            none = zeros((batch, heads, 1, features), dtype=k.dtype)
            added.append((none, none))
        for key, value in added:
            k, v = cat([k, key], 2), cat([v, value], 2)
        return k, v, None if mask is None else F.pad(mask, (0, len(added))) if added else mask

    def _mask(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, key: Tensor, has_batch: bool
    ) -> Tensor | None:
        """What is added to scores `(batch, heads, queries, keys)`."""
        masks = []
        if attn_mask is not None:
            mask = _added(attn_mask, key)
            masks.append(mask if mask.ndim == 2 else mask.unflatten(0, (-1, self.num_heads)))
        if key_padding_mask is not None:
            mask = _added(key_padding_mask, key)
            masks.append((mask if has_batch else mask.unsqueeze(0)).unsqueeze(1).unsqueeze(1))
        return masks[0] + masks[1] if len(masks) == 2 else (masks[0] if masks else None)

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}"


def _added(mask: Tensor, like: Tensor) -> Tensor:
    if str(mask.dtype) == "bool":
        return where(mask, float("-inf"), 0.0).cast(like.dtype)
    return mask.cast(like.dtype)


def _activation(name: str | Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    if callable(name):
        return name
    if name not in ("relu", "gelu"):
        raise ArgumentError(f'activation is "relu", "gelu" or a function, not {name!r}')
    return F.relu if name == "relu" else F.gelu


class _Layer(Module):
    """What layers of transformers do with their parts: each is added to its input, and normalised."""

    norm_first: bool
    linear1: Linear
    linear2: Linear
    dropout: Dropout
    activation: Callable[[Tensor], Tensor]

    def _added(self, x: Tensor, *parts: tuple[Callable[[Tensor], Tensor], Module]) -> Tensor:
        for part, norm in parts:
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x

    def _fed(self, x: Tensor) -> Tensor:
        """Two products with an activation between."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, and two products with an activation between; each added to its input.

    Normalised behind, or before with `norm_first`. Called with `(length, batch, d_model)`, or with `batch_first`
    `(batch, length, ..)`.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attended(x: Tensor) -> Tensor:
            found = self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]
            return self.dropout1(found)  # type: ignore[no-any-return]

        return self._added(src, (attended, self.norm1), (lambda x: self.dropout2(self._fed(x)), self.norm2))


class TransformerDecoderLayer(_Layer):
    """An encoder's layer that, between its two parts, attends to an encoder's result, the `memory`."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first)
        self.linear1 = Linear(d_model, dim_feedforward, bias)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias)
        self.dropout1, self.dropout2, self.dropout3 = Dropout(dropout), Dropout(dropout), Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attended(x: Tensor) -> Tensor:
            found = self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]
            return self.dropout1(found)  # type: ignore[no-any-return]

        def remembered(x: Tensor) -> Tensor:
            how = (memory_key_padding_mask, False, memory_mask)
            found = self.multihead_attn(x, memory, memory, *how, is_causal=memory_is_causal)[0]
            return self.dropout2(found)  # type: ignore[no-any-return]

        fed = (lambda x: self.dropout3(self._fed(x)), self.norm3)
        return self._added(tgt, (attended, self.norm1), (remembered, self.norm2), fed)


class _Stack(Module):
    """Copies of a layer, which begin alike and have parameters of their own, and a `norm` behind them."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        check_layers(type(self).__name__, "num_layers", num_layers)
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        if norm is not None:
            self.norm = norm

    def _through(self, x: Tensor, *how: Any) -> Tensor:
        for layer in self.layers:
            x = layer(x, *how)
        norm = getattr(self, "norm", None)
        return x if norm is None else norm(x)


class TransformerEncoder(_Stack):
    """Copies of a layer, one after the other, and a `norm` behind them."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        return self._through(src, mask, src_key_padding_mask, is_causal)


class TransformerDecoder(_Stack):
    """Copies of a layer, one after the other, each given the `memory`, and a `norm` behind them."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        how = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal)
        return self._through(tgt, memory, *how)


class Transformer(Module):
    """An encoder, and a decoder of its result."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        *,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
    ) -> None:
        how = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norms = [LayerNorm(d_model, layer_norm_eps, bias=bias) for _ in range(2)]
        self.encoder = TransformerEncoder(TransformerEncoderLayer(*how), num_encoder_layers, norms[0])
        self.decoder = TransformerDecoder(TransformerDecoderLayer(*how), num_decoder_layers, norms[1])
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        how = (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return self.decoder(tgt, memory, *how)  # type: ignore[no-any-return]
