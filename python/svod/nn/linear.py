"""Products with weights, and tables of rows."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from svod._module import Module
from svod._svod import ArgumentError, Tensor, arange, rand, randn, where
from svod.nn import functional
from svod.nn._drawn import redraw, redraw_table

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

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        inputs = int(self.weight.shape[1])
        redraw(self, 1 / sqrt(inputs) if inputs else 0.0)

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

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        redraw(self, 1 / sqrt(int(self.weight.shape[1])))

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self) -> str:
        out, one, other = self.weight.shape
        return f"in1_features={one}, in2_features={other}, out_features={out}, bias={self.bias is not None}"


class Embedding(Module):
    """A table of `num_embeddings` rows of `embedding_dim`, looked up by integer tensors.

    Rows are drawn from the normal distribution; that of `padding_idx` is 0 and gets no gradient. With `max_norm` rows
    that are looked up, and longer by the `norm_type`-norm, become so long in `weight`. With `scale_grad_by_freq` a
    row's gradient is divided by how often it was looked up.

    >>> import svod
    >>> table = svod.nn.Embedding(5, 2, max_norm=1.0)
    >>> table(svod.Tensor([[0, 3, 3]])).shape, (table.weight[3].norm() < 1.0001).item()
    ((1, 3, 2), True)
    """

    # Of layers that were pickled without.
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> None:
        self.weight, self.padding_idx = _table(num_embeddings, embedding_dim, padding_idx)
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        redraw_table(self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        told = [str(extent) for extent in self.weight.shape]
        told += [] if self.padding_idx is None else [f"padding_idx={self.padding_idx}"]
        told += [] if self.max_norm is None else [f"max_norm={self.max_norm}"]
        return ", ".join(told)

    def forward(self, ids: Tensor) -> Tensor:
        return functional.embedding(
            ids, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq
        )

    if TYPE_CHECKING:
        __call__ = forward


class EmbeddingBag(Module):
    """The `"mean"`, `"sum"` or `"max"` of the rows of a table that each bag of integers names.

    Bags are the rows of a `(bags, length)` tensor, or parts of a 1-d one that begin at `offsets`. Rows `padding_idx`
    of the table do not count. `max_norm`, `norm_type` and `scale_grad_by_freq` are those of `Embedding`.
    """

    # Of layers that were pickled without.
    max_norm: float | None = None
    norm_type: float = 2.0
    scale_grad_by_freq: bool = False

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        *,
        padding_idx: int | None = None,
    ) -> None:
        self.weight, self.padding_idx = _table(num_embeddings, embedding_dim, padding_idx)
        self.mode = mode
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        redraw_table(self.weight, self.padding_idx)

    def forward(self, ids: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return functional.embedding_bag(
            ids,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
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
