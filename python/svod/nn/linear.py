"""Products with weights, and tables of rows."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from svod._module import Module
from svod._svod import ArgumentError, Tensor, arange, rand, randn, where
from svod.nn import functional

__all__ = ["Bilinear", "Embedding", "EmbeddingBag", "Linear"]


class Linear(Module):
    """`x @ weight.T + bias`, the last axis going from `in_features` to `out_features`.

    `weight` has shape `(out_features, in_features)`. Both are drawn uniformly from
    `±1/sqrt(in_features)`.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        bound = 1 / sqrt(in_features) if in_features else 0.0
        self.weight = _uniform((out_features, in_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def extra_repr(self) -> str:
        out_features, in_features = self.weight.shape
        return f"in_features={in_features}, out_features={out_features}, bias={self.bias is not None}"

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)

    if TYPE_CHECKING:
        __call__ = forward


class Bilinear(Module):
    """`x1 @ weight[k] @ x2 + bias[k]` for each of `out_features`.

    `weight` has shape `(out_features, in1_features, in2_features)`. Both are drawn uniformly from
    `±1/sqrt(in1_features)`.
    """

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True) -> None:
        bound = 1 / sqrt(in1_features)
        self.weight = _uniform((out_features, in1_features, in2_features), bound)
        self.bias = _uniform((out_features,), bound) if bias else None

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        out, one, other = self.weight.shape
        return f"in1_features={one}, in2_features={other}, out_features={out}, bias={self.bias is not None}"


class Embedding(Module):
    """A table of `num_embeddings` rows of `embedding_dim`, looked up by integer tensors.

    Rows are drawn from the normal distribution; that of `padding_idx` is 0 and gets no gradient.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        self.weight, self.padding_idx = _table(num_embeddings, embedding_dim, padding_idx)

    def extra_repr(self) -> str:
        told = ", ".join(str(extent) for extent in self.weight.shape)
        return told if self.padding_idx is None else f"{told}, padding_idx={self.padding_idx}"

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.weight, self.padding_idx)

    if TYPE_CHECKING:
        __call__ = forward


class EmbeddingBag(Module):
    """The `"mean"`, `"sum"` or `"max"` of the rows of a table that each bag of integers names.

    Bags are the rows of a `(bags, length)` tensor, or parts of a 1-d one that begin at `offsets`. Rows `padding_idx`
    of the table do not count.
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, *, mode: str = "mean", padding_idx: int | None = None
    ) -> None:
        self.weight, self.padding_idx = _table(num_embeddings, embedding_dim, padding_idx)
        self.mode = mode

    def forward(self, ids: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return functional.embedding_bag(
            ids,
            self.weight,
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, mode={self.mode!r}"


def _table(rows: int, dim: int, padding_idx: int | None) -> tuple[Tensor, int | None]:
    """Rows from the normal distribution, and the position of the one that is padding, as no negative number."""
    weight = randn((rows, dim))
    if padding_idx is None:
        return weight, None
    if not -rows <= padding_idx < rows:
        raise ArgumentError(f"padding_idx={padding_idx} in a table of {rows} rows")
    padding = padding_idx % rows
    return where(arange(rows).unsqueeze(1) == padding, 0.0, weight), padding


def _uniform(shape: tuple[int, ...], bound: float) -> Tensor:
    return (rand(shape) * 2 - 1) * bound
