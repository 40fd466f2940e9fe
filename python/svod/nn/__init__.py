"""Layers: named parameters and the few operations that models are made of.

A layer holds tensors and composes tensor operations; it owns no algorithm and no
compiled code. Parameters are found by walking attributes, so a model is an ordinary
class:

>>> import svod
>>> from svod import nn
>>> class Classifier(nn.Module):
...     def __init__(self) -> None:
...         self.norm = nn.LayerNorm(4)
...         self.heads = [nn.Linear(4, 2), nn.Linear(4, 3)]
>>> [name for name, _ in Classifier().named_parameters()]
['norm.weight', 'norm.bias', 'heads.0.weight', 'heads.0.bias', 'heads.1.weight', 'heads.1.bias']
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from svod._svod import Tensor, ones, rand, zeros
from svod.nn import functional, init, utils
from svod.nn._module import LoadedKeys, Module, StateError
from svod.nn.activation import (
    CELU,
    ELU,
    GELU,
    GLU,
    SELU,
    Hardshrink,
    Hardsigmoid,
    Hardswish,
    Hardtanh,
    LeakyReLU,
    LogSigmoid,
    LogSoftmax,
    Mish,
    PReLU,
    ReLU,
    ReLU6,
    Sigmoid,
    SiLU,
    Softmax,
    Softmin,
    Softplus,
    Softshrink,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
)
from svod.nn.containers import Flatten, Identity, ModuleDict, ModuleList, Sequential
from svod.nn.loss import (
    BCELoss,
    BCEWithLogitsLoss,
    CosineEmbeddingLoss,
    CosineSimilarity,
    CrossEntropyLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    L1Loss,
    MarginRankingLoss,
    MSELoss,
    MultiLabelSoftMarginLoss,
    NLLLoss,
    PairwiseDistance,
    PoissonNLLLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
)
from svod.nn.spatial import (
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    GroupNorm,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCELoss",
    "BCEWithLogitsLoss",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "Embedding",
    "Flatten",
    "GaussianNLLLoss",
    "GroupNorm",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "Identity",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "KLDivLoss",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LoadedKeys",
    "LogSigmoid",
    "LogSoftmax",
    "MSELoss",
    "MarginRankingLoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Mish",
    "Module",
    "ModuleDict",
    "ModuleList",
    "MultiLabelSoftMarginLoss",
    "NLLLoss",
    "PReLU",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "RMSNorm",
    "ReLU",
    "ReLU6",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "Softmax",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "StateError",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "TripletMarginLoss",
    "functional",
    "init",
    "utils",
]


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

    def __call__(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias)


class Embedding(Module):
    """A table of `num_embeddings` rows of `embedding_dim`, looked up by integer tensors."""

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        self.weight = _uniform((num_embeddings, embedding_dim), 1.0)

    def extra_repr(self) -> str:
        return ", ".join(str(extent) for extent in self.weight.shape)

    def __call__(self, ids: Tensor) -> Tensor:
        return functional.embedding(ids, self.weight)


class LayerNorm(Module):
    """Shifts and scales the last axes to mean 0 and variance 1, then applies `weight` and `bias`."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-5) -> None:
        self.eps = eps
        self.normalized_shape = _extents(normalized_shape)
        self.weight = ones(self.normalized_shape)
        self.bias = zeros(self.normalized_shape)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"

    def __call__(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """Divides the last axes by the root of their mean square (Zhang and Sennrich 2019), then applies `weight`."""

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None) -> None:
        self.eps = eps
        self.normalized_shape = _extents(normalized_shape)
        self.weight = ones(self.normalized_shape)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"

    def __call__(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)


def _extents(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _uniform(shape: tuple[int, ...], bound: float) -> Tensor:
    return (rand(shape) * 2 - 1) * bound
