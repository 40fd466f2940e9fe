"""Layers over `(batch, channels, ..spatial)`: convolution and pooling.

Names, arguments and shapes of parameters are PyTorch's, so that its state dicts fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, cast

from svod._module import Module
from svod._svod import ArgumentError, ArgumentTypeError, Tensor, rand
from svod.nn import functional
from svod.nn._drawn import redraw
from svod.nn.functional.layers import check_strides

__all__ = [
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
]

_Numbers = int | Sequence[int]
_Padding = str | int | Sequence[int] | Sequence[tuple[int, int]]
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    """What convolutions share: `weight` `(out, in / groups, ..kernel)` and `bias` `(out,)`.

    Both are drawn uniformly from `±1/sqrt(in / groups * kernel elements)`. What `padding` adds are zeros, or, as
    `padding_mode` says, elements of the input: `"reflect"`, `"replicate"` or `"circular"` (`functional.pad`).
    """

    spatial: int
    _function: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Numbers,
        stride: _Numbers = 1,
        padding: _Padding = 0,
        dilation: _Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        _check_channels(self, groups, in_channels, out_channels)
        kernel = _numbers(self, "kernel_size", kernel_size)
        _numbers(self, "stride", stride)
        _numbers(self, "dilation", dilation)
        _check_padding(self, padding)
        check_strides(type(self).__name__, stride, padding)
        if padding_mode not in _PADDING_MODES:
            raise ArgumentError(f"{type(self).__name__}: padding_mode is one of {_PADDING_MODES}, not {padding_mode!r}")
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        self.padding_mode = padding_mode
        self.weight, self.bias = _parameters((out_channels, in_channels // groups, *kernel), out_channels, bias)

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        redraw(self, _bound([int(extent) for extent in self.weight.shape]))

    def extra_repr(self) -> str:
        out_channels, in_channels = self.weight.shape[:2]
        return _described(self, in_channels * self.groups, out_channels)

    def forward(self, x: Tensor) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            x, padding = functional.pad(x, self._ends(), self.padding_mode), 0
        return self._function(x, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    if TYPE_CHECKING:
        __call__ = forward

    def _ends(self) -> list[int]:
        """What is added before and after each dimension, from the last one on."""
        kernel, dilation = self.weight.shape[2:], _numbers(self, "dilation", self.dilation)
        pairs: list[tuple[int, int]]
        if self.padding == "same":
            reach = [step * (int(extent) - 1) for step, extent in zip(dilation, kernel, strict=True)]
            pairs = [(both // 2, both - both // 2) for both in reach]
        elif self.padding == "valid":
            pairs = [(0, 0)] * self.spatial
        elif isinstance(self.padding, Sequence) and isinstance(self.padding[0], Sequence):
            pairs = [(pair[0], pair[1]) for pair in cast(Sequence[tuple[int, int]], self.padding)]
        else:
            pairs = [(n, n) for n in _numbers(self, "padding", cast(_Numbers, self.padding), least=0)]
        return [end for pair in reversed(pairs) for end in pair]


class Conv1d(_Conv):
    """The convolution of `(batch, in_channels, length)`; see `functional.conv1d`."""

    spatial = 1
    _function = staticmethod(functional.conv1d)


class Conv2d(_Conv):
    """The convolution of `(batch, in_channels, height, width)`; see `functional.conv2d`.

    >>> import svod
    >>> layer = svod.nn.Conv2d(3, 8, kernel_size=3, padding=1)
    >>> layer(svod.zeros(1, 3, 16, 16)).shape
    (1, 8, 16, 16)
    """

    spatial = 2
    _function = staticmethod(functional.conv2d)


class Conv3d(_Conv):
    """The convolution of `(batch, in_channels, depth, height, width)`; see `functional.conv3d`."""

    spatial = 3
    _function = staticmethod(functional.conv3d)


class _ConvTranspose(Module):
    """What transposed convolutions share: `weight` `(in, out / groups, ..kernel)` and `bias` `(out,)`."""

    spatial: int
    _function: Callable[..., Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Numbers,
        stride: _Numbers = 1,
        padding: _Numbers = 0,
        output_padding: _Numbers = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _Numbers = 1,
        padding_mode: str = "zeros",
    ) -> None:
        _check_channels(self, groups, in_channels, out_channels)
        if padding_mode != "zeros":
            raise ArgumentError(f"{type(self).__name__}: what is left out at the ends are zeros, not {padding_mode!r}")
        kernel = _numbers(self, "kernel_size", kernel_size)
        _numbers(self, "stride", stride)
        _numbers(self, "dilation", dilation)
        _numbers(self, "padding", padding, least=0)
        _numbers(self, "output_padding", output_padding, least=0)
        self.stride, self.padding, self.output_padding = stride, padding, output_padding
        self.groups, self.dilation = groups, dilation
        self.weight, self.bias = _parameters((in_channels, out_channels // groups, *kernel), out_channels, bias)

    def reset_parameters(self) -> None:
        """Draws the parameters anew, as those of a new layer; they stay the tensors that they are."""
        redraw(self, _bound([int(extent) for extent in self.weight.shape]))

    def extra_repr(self) -> str:
        in_channels, out_channels = self.weight.shape[:2]
        return _described(self, in_channels, out_channels * self.groups)

    def forward(self, x: Tensor) -> Tensor:
        how = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return self._function(x, self.weight, self.bias, *how)

    if TYPE_CHECKING:
        __call__ = forward


class ConvTranspose1d(_ConvTranspose):
    """The transposed convolution of `(batch, in_channels, length)`."""

    spatial = 1
    _function = staticmethod(functional.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The transposed convolution of `(batch, in_channels, height, width)`.

    >>> import svod
    >>> svod.nn.ConvTranspose2d(4, 2, kernel_size=2, stride=2)(svod.zeros(1, 4, 5, 5)).shape
    (1, 2, 10, 10)
    """

    spatial = 2
    _function = staticmethod(functional.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The transposed convolution of `(batch, in_channels, depth, height, width)`."""

    spatial = 3
    _function = staticmethod(functional.conv_transpose3d)


class _MaxPool(Module):
    spatial: int
    _function: Callable[..., Tensor]

    def __init__(
        self,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Numbers = 0,
        dilation: _Numbers = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        _check_pool(self, kernel_size, stride, padding)
        _numbers(self, "dilation", dilation)
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.return_indices, self.ceil_mode = dilation, return_indices, ceil_mode

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        return f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}"

    def forward(self, x: Tensor) -> Any:
        how = (self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)
        return self._function(x, *how)


class MaxPool1d(_MaxPool):
    """The maximum of each window over the last axis; the windows are side by side unless `stride` is given."""

    spatial = 1
    _function = staticmethod(functional.max_pool1d)


class MaxPool2d(_MaxPool):
    """The maximum of each window over the last two axes.

    >>> import svod
    >>> svod.nn.MaxPool2d(2)(svod.Tensor([[[[1, 2], [3, 4]]]])).tolist()
    [[[[4]]]]
    """

    spatial = 2
    _function = staticmethod(functional.max_pool2d)


class MaxPool3d(_MaxPool):
    """The maximum of each window over the last three axes."""

    spatial = 3
    _function = staticmethod(functional.max_pool3d)


class _AvgPool(Module):
    spatial: int
    _function: Callable[..., Tensor]

    def __init__(
        self,
        kernel_size: _Numbers,
        stride: _Numbers | None = None,
        padding: _Numbers = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        _check_pool(self, kernel_size, stride, padding)
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def extra_repr(self) -> str:
        stride = self.kernel_size if self.stride is None else self.stride
        return f"kernel_size={self.kernel_size}, stride={stride}, padding={self.padding}"

    def forward(self, x: Tensor) -> Tensor:
        how = (self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)
        return self._function(x, *how)

    if TYPE_CHECKING:
        __call__ = forward


class AvgPool1d(_AvgPool):
    """The mean of each window over the last axis; the windows are side by side unless `stride` is given."""

    spatial = 1
    _function = staticmethod(functional.avg_pool1d)


class AvgPool2d(_AvgPool):
    """The mean of each window over the last two axes."""

    spatial = 2
    _function = staticmethod(functional.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of each window over the last three axes."""

    spatial = 3
    _function = staticmethod(functional.avg_pool3d)


class _Windowed(Protocol):
    spatial: int


def _numbers(layer: _Windowed, name: str, given: _Numbers, least: int = 1) -> tuple[int, ...]:
    """A number for each spatial dimension of a layer, at least `least`, of one for all or of one for each."""
    what = f"{type(layer).__name__}: {name}"
    several = tuple(given) if isinstance(given, Sequence) else (given,)
    if not all(isinstance(number, SupportsIndex) for number in several):
        raise ArgumentTypeError(f"{what}: an integer, or several, is expected, not {given!r}")
    if len(several) not in (1, layer.spatial):
        raise ArgumentError(f"{what} has {len(several)} numbers for {layer.spatial} spatial dimensions")
    if any(number < least for number in several):
        raise ArgumentError(f"{what} {given} must be at least {least}")
    return several if len(several) == layer.spatial else several * layer.spatial


def _check_padding(layer: _Windowed, given: _Padding) -> None:
    what = f"{type(layer).__name__}: padding"
    if isinstance(given, str):
        if given not in ("same", "valid"):
            raise ArgumentError(f'{what}: numbers, "same" or "valid" are expected, not {given!r}')
    elif isinstance(given, Sequence) and any(isinstance(pair, Sequence) for pair in given):
        if not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in given):
            raise ArgumentError(f"{what}: a pair for each dimension is expected, not {given!r}")
        for side in zip(*given, strict=True):
            _numbers(layer, "padding", side, least=0)
    else:
        _numbers(layer, "padding", cast(_Numbers, given), least=0)


def _check_pool(layer: _Windowed, kernel_size: _Numbers, stride: _Numbers | None, padding: _Numbers) -> None:
    _numbers(layer, "kernel_size", kernel_size)
    if stride is not None:
        _numbers(layer, "stride", stride)
    _numbers(layer, "padding", padding, least=0)


def _check_channels(layer: _Windowed, groups: int, in_channels: int, out_channels: int) -> None:
    name = type(layer).__name__
    if in_channels < 0 or out_channels < 0:
        raise ArgumentError(f"{name}: {in_channels} input and {out_channels} output channels must not be negative")
    if groups < 1 or in_channels % groups or out_channels % groups:
        channels = f"{in_channels} input and {out_channels} output channels"
        raise ArgumentError(f"{name}: {groups} groups do not divide {channels}")


def _bound(weight: Sequence[int]) -> float:
    """The largest of the numbers that parameters are drawn from, by the shape of the weight."""
    inputs = prod(weight[1:])
    return 1 / sqrt(inputs) if inputs else 0.0


def _parameters(weight: tuple[int, ...], channels: int, bias: bool) -> tuple[Tensor, Tensor | None]:
    bound = _bound(weight)
    drawn = (rand(weight) * 2 - 1) * bound
    return drawn, (rand((channels,)) * 2 - 1) * bound if bias else None


def _described(layer: _Conv | _ConvTranspose, in_channels: Any, out_channels: Any) -> str:
    """What PyTorch prints of a convolution: channels, sizes, and options that are not the default."""
    kernel = tuple(layer.weight.shape[2:])
    stride = (layer.stride,) * len(kernel) if isinstance(layer.stride, int) else tuple(layer.stride)
    options = {"padding": 0, "output_padding": 0, "dilation": 1, "groups": 1}
    given = [(name, getattr(layer, name, default)) for name, default in options.items()]
    parts = [f"{in_channels}, {out_channels}, kernel_size={kernel}, stride={stride}"]
    parts += [f"{name}={value!r}" for name, value in given if value != options[name]]
    parts += [] if layer.bias is not None else ["bias=False"]
    mode = getattr(layer, "padding_mode", "zeros")
    return ", ".join(parts if mode == "zeros" else [*parts, f"padding_mode={mode}"])
