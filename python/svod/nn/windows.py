"""Layers over windows of images other than convolutions and plain pools: blocks, norms of windows, and pools undone."""

from __future__ import annotations

from collections.abc import Sequence

from svod._module import Module
from svod._svod import Tensor
from svod.nn import functional as F
from svod.nn._function import FunctionModule

__all__ = [
    "ChannelShuffle",
    "Fold",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "LocalResponseNorm",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "Unfold",
]

_Numbers = int | Sequence[int]


class Unfold(FunctionModule):
    """The windows of `(batch, channels, height, width)` as columns, `(batch, channels * window, windows)`."""

    _function = staticmethod(F.unfold)

    def __init__(
        self, kernel_size: _Numbers, dilation: _Numbers = 1, padding: _Numbers = 0, stride: _Numbers = 1
    ) -> None:
        super().__init__(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)


class Fold(FunctionModule):
    """The sum of windows, columns as `Unfold` gives them, where they were: `(batch, channels, *output_size)`."""

    _function = staticmethod(F.fold)

    def __init__(
        self,
        output_size: _Numbers,
        kernel_size: _Numbers,
        dilation: _Numbers = 1,
        padding: _Numbers = 0,
        stride: _Numbers = 1,
    ) -> None:
        super().__init__(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride
        )


class _LPPool(FunctionModule):
    def __init__(
        self, norm_type: float, kernel_size: _Numbers, stride: _Numbers | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__(norm_type=norm_type, kernel_size=kernel_size, stride=stride, ceil_mode=ceil_mode)


class LPPool1d(_LPPool):
    """`sum(x ** p) ** (1 / p)` of each window over the last axis, of `norm_type` p."""

    _function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool):
    """`sum(x ** p) ** (1 / p)` of each window over the last two axes, of `norm_type` p."""

    _function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool):
    """`sum(x ** p) ** (1 / p)` of each window over the last three axes, of `norm_type` p."""

    _function = staticmethod(F.lp_pool3d)


class _MaxUnpool(Module):
    spatial: int

    def __init__(self, kernel_size: _Numbers, stride: _Numbers | None = None, padding: _Numbers = 0) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        return f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}"

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        function = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self.spatial - 1]
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpool):
    """The maxima of a pool, called with its `return_indices`, where they were along the last axis, and 0 elsewhere."""

    spatial = 1


class MaxUnpool2d(_MaxUnpool):
    """The maxima of a pool, called with its `return_indices`, where they were in the last two axes, and 0 elsewhere.

    >>> import svod
    >>> maxima, places = svod.nn.MaxPool2d(2, return_indices=True)(svod.Tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    >>> svod.nn.MaxUnpool2d(2)(maxima, places).tolist()
    [[[[0.0, 0.0], [0.0, 4.0]]]]
    """

    spatial = 2


class MaxUnpool3d(_MaxUnpool):
    """The maxima of a pool with `return_indices`, where they were in the last three axes, and 0 elsewhere."""

    spatial = 3


class _FractionalMaxPool(FunctionModule):
    def __init__(
        self,
        kernel_size: _Numbers,
        output_size: _Numbers | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
    ) -> None:
        super().__init__(
            kernel_size=kernel_size,
            output_size=output_size,
            output_ratio=output_ratio,
            return_indices=return_indices,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    """The maxima of windows that begin at random places (Graham 2014), `output_size` or `output_ratio` of them."""

    _function = staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """The maxima of windows in three dimensions that begin at random places (Graham 2014)."""

    _function = staticmethod(F.fractional_max_pool3d)


class LocalResponseNorm(FunctionModule):
    """`x / (k + alpha * m) ** beta`, m the mean of squares over `size` channels (Krizhevsky et al. 2012)."""

    _function = staticmethod(F.local_response_norm)

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__(size=size, alpha=alpha, beta=beta, k=k)


class ChannelShuffle(FunctionModule):
    """The channels of `groups` in turn, as ShuffleNet's (Zhang et al. 2018)."""

    _function = staticmethod(F.channel_shuffle)

    def __init__(self, groups: int) -> None:
        super().__init__(groups=groups)
