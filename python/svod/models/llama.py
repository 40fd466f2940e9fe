"""Llama and its relatives, Mistral, Qwen2 and Qwen3 (Touvron et al. 2023; Jiang et al. 2023; Qwen Team 2024, 2025)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from math import pi
from typing import Any, Self

from svod import nn
from svod._place import made_beside
from svod._svod import FormatError, Tensor, cat
from svod.models._config import Config
from svod.models._decoder import Cache, Decoder
from svod.nn import functional as F


class Attention(nn.Module):
    """Queries share keys and values in groups (Ainslie et al. 2023)."""

    def __init__(self, config: Config, width: int, depth: int) -> None:
        heads, groups = config.number("num_attention_heads"), key_heads(config)
        qwen = config.get("model_type") == "qwen2"
        bias = bool(config.get("attention_bias", qwen))
        self.depth = depth
        self.q_proj = nn.Linear(width, heads * depth, bias)
        self.k_proj = nn.Linear(width, groups * depth, bias)
        self.v_proj = nn.Linear(width, groups * depth, bias)
        self.o_proj = nn.Linear(heads * depth, width, bias and not qwen)
        # Qwen3 normalizes queries and keys of each head before they turn.
        normalizes, eps = config.get("model_type") == "qwen3", config.real("rms_norm_eps", 1e-6)
        self.q_norm = nn.RMSNorm(depth, eps) if normalizes else None
        self.k_norm = nn.RMSNorm(depth, eps) if normalizes else None

    def __call__(self, x: Tensor, turns: tuple[Tensor, Tensor], cache: Cache) -> Tensor:
        def split(layer: nn.Linear, norm: nn.RMSNorm | None = None) -> Tensor:
            heads = layer(x).unflatten(-1, (-1, self.depth))
            return (heads if norm is None else norm(heads)).transpose(1, 2)

        query, key = turned(split(self.q_proj, self.q_norm), turns), turned(split(self.k_proj, self.k_norm), turns)
        mixed = cache.attend(query, key, split(self.v_proj))
        return self.o_proj(mixed.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """A gated layer (Shazeer 2020)."""

    def __init__(self, config: Config, width: int) -> None:
        inner, bias = config.number("intermediate_size"), bool(config.get("mlp_bias", False))
        self.gate_proj = nn.Linear(width, inner, bias)
        self.up_proj = nn.Linear(width, inner, bias)
        self.down_proj = nn.Linear(inner, width, bias)
        self.activation = config.activation("hidden_act", "silu")

    def __call__(self, x: Tensor) -> Tensor:
        return self.down_proj(self.activation(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    def __init__(self, config: Config, width: int, depth: int) -> None:
        eps = config.real("rms_norm_eps", 1e-6)
        self.input_layernorm = nn.RMSNorm(width, eps)
        self.self_attn = Attention(config, width, depth)
        self.post_attention_layernorm = nn.RMSNorm(width, eps)
        self.mlp = MLP(config, width)

    def __call__(self, x: Tensor, turns: tuple[Tensor, Tensor], cache: Cache) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), turns, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(Decoder):
    """`model(input_ids)` gives the scores of the token behind each one, `(batch, length, vocabulary)`."""

    def __init__(self, config: Mapping[str, Any], own_head: bool = True) -> None:
        told = Config(config)
        width, layers, words = told.number("hidden_size"), told.number("num_hidden_layers"), told.number("vocab_size")
        heads = told.number("num_attention_heads")
        depth = told.number("head_dim", 128 if told.get("model_type") == "qwen3" else width // heads)
        super().__init__(told, told.number("max_position_embeddings", 2048), windows(told))
        self.frequencies = frequencies(told, depth)
        self.embed_tokens = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(told, width, depth) for _ in range(layers))
        self.norm = nn.RMSNorm(width, told.real("rms_norm_eps", 1e-6))
        self.lm_head = nn.Linear(width, words, bias=False) if own_head else None

    @classmethod
    def from_config(cls, config: Mapping[str, Any], names: Collection[str] = ()) -> Self:
        """A model of a configuration with random weights; without `lm_head` where the table of words tells scores."""
        return cls(config, own_head=not Config(config).get("tie_word_embeddings", False))

    @classmethod
    def own_name(cls, name: str) -> str | None:
        """The name here of a tensor of a file; none for what is no parameter."""
        name = name.removeprefix("model.")
        return None if name.endswith("rotary_emb.inv_freq") else name

    def hidden(self, ids: Tensor, cache: Cache) -> Tensor:
        x = self.embed_tokens(ids)
        positions = cache.positions(ids.shape[1]).float()
        angles = positions[..., None] * made_beside(x, self.frequencies)
        # The same for all heads, where texts begin at positions of their own.
        angles = angles if angles.ndim == 2 else angles[:, None]
        turns = angles.cos().cast(x.dtype), angles.sin().cast(x.dtype)
        for layer in self.layers:
            x = layer(x, turns, cache)
        return self.norm(x)

    def scores(self, x: Tensor) -> Tensor:
        return F.linear(x, self.embed_tokens.weight if self.lm_head is None else self.lm_head.weight)


def turned(x: Tensor, turns: tuple[Tensor, Tensor]) -> Tensor:
    """Rotary positions (Su et al. 2021): the halves of each head are coordinates of points that are turned."""
    cosines, sines = turns
    first, second = x.chunk(2, -1)
    return cat([first * cosines - second * sines, second * cosines + first * sines], -1)


def key_heads(config: Config) -> int:
    """Heads of keys and values: each serves a group of queries."""
    heads = config.number("num_attention_heads")
    groups = config.number("num_key_value_heads", heads)
    if heads % groups:
        raise FormatError(f"config.json: num_attention_heads, {heads}, is no multiple of num_key_value_heads, {groups}")
    return groups


def windows(config: Config) -> list[int | None]:
    """For each layer, how many tokens one sees back, itself included; none where it sees all."""
    layers = config.number("num_hidden_layers")
    if not config.get("use_sliding_window", config.get("model_type") == "mistral") or not config.get("sliding_window"):
        return [None] * layers
    window = config.number("sliding_window")
    if kinds := config.get("layer_types"):
        return [window if kind == "sliding_attention" else None for kind in kinds]
    full = min(config.get("max_window_layers", 0), layers) if config.get("model_type") in ("qwen2", "qwen3") else 0
    return [None] * full + [window] * (layers - full)


def frequencies(config: Config, depth: int) -> list[float]:
    """How fast each pair of coordinates turns, in radians a position."""
    told = Config(config.get("rope_parameters") or config.get("rope_scaling") or {})
    base = told.real("rope_theta", config.real("rope_theta", 10000.0))
    name = "rope_type" if told.get("rope_type") else "type"
    stretch = told.one_of(name, STRETCHES, "default")
    return [stretch(base ** (-2 * i / depth), told) for i in range(depth // 2)]


def llama3(frequency: float, told: Config) -> float:
    """Slow pairs turn slower by a factor, fast ones as they did, those between by a mean (Dubey et al. 2024)."""
    factor, trained = told.real("factor"), told.number("original_max_position_embeddings")
    slow, fast = told.real("low_freq_factor"), told.real("high_freq_factor")
    rounds = trained * frequency / (2 * pi)
    share = min(max((rounds - slow) / (fast - slow), 0.0), 1.0)
    return frequency * (share + (1 - share) / factor)


# How models that were trained on short texts turn for long ones.
STRETCHES: dict[str, Callable[[float, Config], float]] = {
    "default": lambda frequency, told: frequency,
    "linear": lambda frequency, told: frequency / told.real("factor"),
    "llama3": llama3,
}
