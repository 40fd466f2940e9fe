"""Layers that shift and scale to mean 0 and variance 1: by row, by channel, by group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from svod._module import Module
from svod._svod import ShapeError, Tensor, int64, ones, zeros
from svod.nn import functional, init
from svod.nn._drawn import redraw_affine
from svod.nn._statistics import written
from svod.nn.functional.layers import check_statistics

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "RMSNorm",
]


class LayerNorm(Module):
    """The last axes with mean 0 and variance 1 (Ba, Kiros and Hinton 2016), then `weight` and `bias`."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        self.eps = eps
        self.normalized_shape = _extents(normalized_shape)
        self.weight = ones(self.normalized_shape) if elementwise_affine else None
        self.bias = zeros(self.normalized_shape) if elementwise_affine and bias else None

    def reset_parameters(self) -> None:
        """Lets `weight` be ones and `bias` zeros again."""
        redraw_affine(self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"

    def forward(self, x: Tensor) -> Tensor:
        return functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    if TYPE_CHECKING:
        __call__ = forward


class RMSNorm(Module):
    """Divides the last axes by the root of their mean square (Zhang and Sennrich 2019), then applies `weight`."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True
    ) -> None:
        self.eps = eps
        self.normalized_shape = _extents(normalized_shape)
        self.weight = ones(self.normalized_shape) if elementwise_affine else None

    def reset_parameters(self) -> None:
        """Lets `weight` be ones again."""
        redraw_affine(self.weight, None)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    if TYPE_CHECKING:
        __call__ = forward


class GroupNorm(Module):
    """Groups of channels with mean 0 and variance 1 (Wu and He 2018), then `weight` and `bias` by channel."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = ones((num_channels,)) if affine else None
        self.bias = zeros((num_channels,)) if affine else None

    def reset_parameters(self) -> None:
        """Lets `weight` be ones and `bias` zeros again."""
        redraw_affine(self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.weight is not None}"

    def forward(self, x: Tensor) -> Tensor:
        return functional.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    if TYPE_CHECKING:
        __call__ = forward


class _Tracking(Module):
    """What normalisation by channel shares: affine parameters, and running statistics as buffers.

    `momentum` is the share that the statistics of a batch have in the running ones.
    """

    ranks: tuple[int, ...]
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(self, num_features: int, eps: float, momentum: Any, affine: bool, track_running_stats: bool) -> None:
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = ones((num_features,)) if affine else None
        self.bias = zeros((num_features,)) if affine else None
        self.register_buffer("running_mean", zeros((num_features,)) if track_running_stats else None)
        self.register_buffer("running_var", ones((num_features,)) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", zeros((), dtype=int64) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Lets the running statistics begin anew: a mean of 0, a variance of 1, no batch so far."""
        for buffer, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
            if buffer is not None:
                init.constant_(buffer, value)

    def reset_parameters(self) -> None:
        """Lets `weight` be ones and `bias` zeros again, and the running statistics begin anew."""
        self.reset_running_stats()
        redraw_affine(self.weight, self.bias)

    def extra_repr(self) -> str:
        told = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{told}, track_running_stats={self.track_running_stats}"

    def _check(self, x: Tensor) -> None:
        if x.ndim not in self.ranks or x.shape[1] != self.num_features:
            ranks = " or ".join(str(rank) for rank in self.ranks)
            raise ShapeError(
                f"{type(self).__name__}: {ranks} dimensions with {self.num_features} channels as the second are "
                f"expected, not {tuple(x.shape)}"
            )


class _BatchNorm(_Tracking):
    """Each channel with mean 0 and variance 1 (Ioffe and Szegedy 2015), then `weight` and `bias`.

    In training by the statistics of the batch, else by the running ones, which are the mean of all batches so far
    if `momentum` is none.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        by_batch = self.training or self.running_mean is None
        if by_batch:
            # Before anything is written.
            check_statistics(type(self).__name__, x, (0, *range(2, x.ndim)))
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            written(self.num_batches_tracked, self.num_batches_tracked + 1)
            share = share if self.momentum is not None else 1 / self.num_batches_tracked
        return functional.batch_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, by_batch, share, self.eps
        )

    if TYPE_CHECKING:
        __call__ = forward


class BatchNorm1d(_BatchNorm):
    """Each channel of `(batch, num_features[, length])` with mean 0 and variance 1."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Each channel of `(batch, num_features, height, width)` with mean 0 and variance 1.

    >>> import svod
    >>> layer = svod.nn.BatchNorm2d(1, momentum=0.5)
    >>> layer(svod.Tensor([[[[1.0, 3.0]]]])).round().tolist()
    [[[[-1.0, 1.0]]]]
    >>> layer.running_mean.tolist()
    [1.0]
    >>> layer.eval()(svod.ones(1, 1, 1, 2)).tolist()
    [[[[0.0, 0.0]]]]
    """

    ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """Each channel of `(batch, num_features, depth, height, width)` with mean 0 and variance 1."""

    ranks = (5,)


class _InstanceNorm(_Tracking):
    """Each channel of each item with mean 0 and variance 1 (Ulyanov, Vedaldi and Lempitsky 2016).

    With `track_running_stats`, out of training, by running statistics.
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x: Tensor) -> Tensor:
        self._check(x)
        by_items = self.training or self.running_mean is None
        return functional.instance_norm(
            x, self.running_mean, self.running_var, self.weight, self.bias, by_items, self.momentum, self.eps
        )

    if TYPE_CHECKING:
        __call__ = forward


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each item of `(batch, num_features, length)` with mean 0 and variance 1."""

    ranks = (3,)


class InstanceNorm2d(_InstanceNorm):
    """Each channel of each item of `(batch, num_features, height, width)` with mean 0 and variance 1."""

    ranks = (4,)


class InstanceNorm3d(_InstanceNorm):
    """Each channel of each item of `(batch, num_features, depth, height, width)`, likewise."""

    ranks = (5,)


def _extents(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)
