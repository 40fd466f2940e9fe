"""BERT: encoders of text (Devlin et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, Self

from svod import nn
from svod._svod import Tensor, zeros
from svod.models._config import Config
from svod.nn import functional as F


class BertOutput(NamedTuple):
    """What a BERT computes."""

    last_hidden_state: Tensor
    """`(batch, length, width)`."""
    pooler_output: Tensor | None
    """Of the first token, `(batch, width)`; none where the files have no pooler."""
    logits: Tensor | None
    """Scores of words, `(batch, length, vocabulary)`, or of classes, `(batch, classes)`; none without such a head."""
    seq_relationship_logits: Tensor | None = None
    """Of the second sentence following the first, and of its not doing so, `(batch, 2)`; none without that head."""


class Embeddings(nn.Module):
    """What a token is, where it is, and in which of two sentences."""

    def __init__(self, config: Config, width: int, eps: float) -> None:
        self.word_embeddings = nn.Embedding(config.number("vocab_size"), width)
        self.position_embeddings = nn.Embedding(config.number("max_position_embeddings", 512), width)
        self.token_type_embeddings = nn.Embedding(config.number("type_vocab_size", 2), width)
        self.LayerNorm = nn.LayerNorm(width, eps)

    def __call__(self, ids: Tensor, kinds: Tensor | None) -> Tensor:
        types = self.token_type_embeddings.weight
        x = self.word_embeddings(ids) + self.position_embeddings.weight[: ids.shape[1]]
        return self.LayerNorm(x + (types[0] if kinds is None else F.embedding(kinds, types)))


class Projection(nn.Module):
    """A linear layer whose result is added to the stream, and normalized with it."""

    def __init__(self, inner: int, width: int, eps: float) -> None:
        self.dense = nn.Linear(inner, width)
        self.LayerNorm = nn.LayerNorm(width, eps)

    def __call__(self, x: Tensor, stream: Tensor) -> Tensor:
        return self.LayerNorm(self.dense(x) + stream)


class SelfAttention(nn.Module):
    def __init__(self, config: Config, width: int) -> None:
        self.heads = config.number("num_attention_heads")
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        query, key, value = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).flatten(2)


class Attention(nn.Module):
    def __init__(self, config: Config, width: int, eps: float) -> None:
        self.self = SelfAttention(config, width)
        self.output = Projection(width, width, eps)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.output(self.self(x, mask), x)


class Dense(nn.Module):
    """A linear layer and an activation."""

    def __init__(self, inputs: int, outputs: int, activation: Callable[[Tensor], Tensor]) -> None:
        self.dense = nn.Linear(inputs, outputs)
        self.activation = activation

    def __call__(self, x: Tensor) -> Tensor:
        return self.activation(self.dense(x))


class Layer(nn.Module):
    def __init__(self, config: Config, width: int, eps: float) -> None:
        inner = config.number("intermediate_size", 4 * width)
        self.attention = Attention(config, width, eps)
        self.intermediate = Dense(width, inner, config.activation("hidden_act", "gelu"))
        self.output = Projection(inner, width, eps)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class Encoder(nn.Module):
    def __init__(self, config: Config, width: int, eps: float) -> None:
        self.layer = nn.ModuleList(Layer(config, width, eps) for _ in range(config.number("num_hidden_layers")))

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for layer in self.layer:
            x = layer(x, mask)
        return x


class Transform(Dense):
    def __init__(self, config: Config, width: int, eps: float) -> None:
        super().__init__(width, width, config.activation("hidden_act", "gelu"))
        self.LayerNorm = nn.LayerNorm(width, eps)

    def __call__(self, x: Tensor) -> Tensor:
        return self.LayerNorm(super().__call__(x))


class Predictions(nn.Module):
    """The scores of words: what was trained to tell those that are masked."""

    def __init__(self, config: Config, width: int, eps: float) -> None:
        config.expect(tie_word_embeddings=True)
        self.bias = zeros(config.number("vocab_size"))
        self.transform = Transform(config, width, eps)

    def __call__(self, x: Tensor, words: Tensor) -> Tensor:
        return F.linear(self.transform(x), words, self.bias)


class Heads(nn.Module):
    """What models that were trained as BERT was have beside the encoder, one or both of them."""

    def __init__(self, config: Config, width: int, eps: float, parts: Collection[str]) -> None:
        self.predictions = Predictions(config, width, eps) if "cls.predictions" in parts else None
        self.seq_relationship = nn.Linear(width, 2) if "cls.seq_relationship" in parts else None


class Bert(nn.Module):
    """An encoder: `model(input_ids, attention_mask, token_type_ids)` gives a `BertOutput`.

    `input_ids` are integers of shape `(batch, length)`; `attention_mask` is 0 or false at what is padding.
    """

    def __init__(self, config: Mapping[str, Any], parts: Collection[str] = ()) -> None:
        """A model of this configuration; `parts` are names of its heads.

        They are `pooler`, `classifier`, `cls.predictions` and `cls.seq_relationship`.
        """
        told = Config(config)
        told.expect(position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
        width, eps = told.number("hidden_size"), told.real("layer_norm_eps", 1e-12)
        self.embeddings = Embeddings(told, width, eps)
        self.encoder = Encoder(told, width, eps)
        pooled = "pooler" in parts or "cls.seq_relationship" in parts
        self.pooler = Dense(width, width, Tensor.tanh) if pooled else None
        self.classifier = nn.Linear(width, classes(told)) if "classifier" in parts else None
        self.cls = Heads(told, width, eps, parts) if any(part.startswith("cls.") for part in parts) else None

    @classmethod
    def from_config(cls, config: Mapping[str, Any], names: Collection[str] = ()) -> Self:
        """A model of a configuration with random weights; with the heads of which parameters are named."""
        depths = {name: 2 if name.startswith("cls.") else 1 for name in names}
        return cls(config, {".".join(name.split(".")[:depth]) for name, depth in depths.items()})

    @classmethod
    def own_name(cls, name: str) -> str | None:
        """The name here of a tensor of a file; none for what is no parameter, or another one's."""
        name = name.removeprefix("bert.")
        # Positions are counted, and the table of words is told once.
        if name == "embeddings.position_ids" or name.startswith("cls.predictions.decoder."):
            return None
        return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> BertOutput:
        mask = None if attention_mask is None else (attention_mask != 0)[:, None, None, :]
        x = self.encoder(self.embeddings(input_ids, token_type_ids), mask)
        pooled = None if self.pooler is None else self.pooler(x[:, 0])
        logits = follows = None
        if self.cls is not None:
            if self.cls.predictions is not None:
                logits = self.cls.predictions(x, self.embeddings.word_embeddings.weight)
            if self.cls.seq_relationship is not None and pooled is not None:
                follows = self.cls.seq_relationship(pooled)
        elif self.classifier is not None:
            logits = self.classifier(x if pooled is None else pooled)
        return BertOutput(x, pooled, logits, follows)


def classes(config: Config) -> int:
    """How many classes a classifier tells, two if nothing is said."""
    labels = config.get("id2label")
    return len(labels) if isinstance(labels, dict) else config.number("num_labels", 2)
