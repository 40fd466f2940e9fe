"""GPT-2: text that goes on (Radford et al. 2019)."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Self

from svod import nn
from svod._svod import Tensor, randn, zeros
from svod.models._config import Config
from svod.models._decoder import Cache, Decoder
from svod.nn import functional as F


class Conv1D(nn.Module):
    """A linear layer whose weight is stored as `(inputs, outputs)`."""

    def __init__(self, inputs: int, outputs: int) -> None:
        self.weight = randn(inputs, outputs) * 0.02
        self.bias = zeros(outputs)

    def __call__(self, x: Tensor) -> Tensor:
        return x @ self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        self.heads = heads
        self.c_attn = Conv1D(width, 3 * width)
        self.c_proj = Conv1D(width, width)

    def __call__(self, x: Tensor, cache: Cache) -> Tensor:
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.c_attn(x).chunk(3, -1)
        )
        return self.c_proj(cache.attend(query, key, value).transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, config: Config, width: int) -> None:
        inner = config.number("n_inner", 4 * width)
        self.c_fc = Conv1D(width, inner)
        self.c_proj = Conv1D(inner, width)
        self.activation = config.activation("activation_function", "gelu_new")

    def __call__(self, x: Tensor) -> Tensor:
        return self.c_proj(self.activation(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self, config: Config, width: int) -> None:
        eps = config.real("layer_norm_epsilon", 1e-5)
        self.ln_1 = nn.LayerNorm(width, eps)
        self.attn = Attention(width, config.number("n_head", 12))
        self.ln_2 = nn.LayerNorm(width, eps)
        self.mlp = MLP(config, width)

    def __call__(self, x: Tensor, cache: Cache) -> Tensor:
        x = x + self.attn(self.ln_1(x), cache)
        return x + self.mlp(self.ln_2(x))


class GPT2(Decoder):
    """`model(input_ids)` gives the scores of the token behind each one, `(batch, length, vocabulary)`."""

    def __init__(self, config: Mapping[str, Any], own_head: bool = False) -> None:
        told = Config(config)
        told.expect(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, add_cross_attention=False)
        width, layers = told.number("n_embd"), told.number("n_layer")
        words = told.number("vocab_size")
        super().__init__(told, context=told.number("n_positions", 1024))
        self.wte = nn.Embedding(words, width)
        self.wpe = nn.Embedding(self.context, width)
        self.h = nn.ModuleList(Block(told, width) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width, told.real("layer_norm_epsilon", 1e-5))
        self.lm_head = nn.Linear(width, words, bias=False) if own_head else None

    @classmethod
    def from_config(cls, config: Mapping[str, Any], names: Collection[str] = ()) -> Self:
        """A model of a configuration with random weights; the table of words tells scores, unless it says otherwise."""
        return cls(config, own_head=not Config(config).get("tie_word_embeddings", True))

    @classmethod
    def own_name(cls, name: str) -> str | None:
        """The name here of a tensor of a file; none for what is no parameter."""
        name = name.removeprefix("transformer.")
        return None if re.fullmatch(r"h\.\d+\.attn\.(masked_)?bias", name) else name

    def hidden(self, ids: Tensor, cache: Cache) -> Tensor:
        x = self.wte(ids) + self.wpe(cache.positions(ids.shape[1]))
        for block in self.h:
            x = block(x, cache)
        return self.ln_f(x)

    def scores(self, x: Tensor) -> Tensor:
        return F.linear(x, self.wte.weight if self.lm_head is None else self.lm_head.weight)
