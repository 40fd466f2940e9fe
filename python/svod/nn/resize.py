"""Layers over images that change their sizes: padding, upsampling, pixels to channels, pooling to a given size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from svod._module import Module
from svod._svod import ShapeError, Tensor
from svod.nn import functional as F
from svod.nn._function import FunctionModule
from svod.nn.functional.resize import check_mode

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "PixelShuffle",
    "PixelUnshuffle",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "Upsample",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Elements before and after the last axes: one number for all sides, or pairs, the last axis first."""

    spatial: ClassVar[int]
    mode: ClassVar[str]

    def __init__(self, padding: int | Sequence[int], value: float | None = None) -> None:
        several = (padding,) * (2 * self.spatial) if isinstance(padding, int) else tuple(padding)
        if len(several) != 2 * self.spatial:
            raise ShapeError(f"{type(self).__name__}: {self.spatial} pairs are expected, not {several}")
        self.padding, self.value = several, value

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}" if self.value is None else f"{self.padding}, value={self.value}"


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding, value)


class _Zeros(_Pad):
    mode = "constant"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)


class _Reflection(_Pad):
    mode = "reflect"

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding)


class _Replication(_Reflection):
    mode = "replicate"


class _Circular(_Reflection):
    mode = "circular"


class ConstantPad1d(_ConstantPad):
    """One value around the last axis."""

    spatial = 1


class ConstantPad2d(_ConstantPad):
    """One value around the last two axes."""

    spatial = 2


class ConstantPad3d(_ConstantPad):
    """One value around the last three axes."""

    spatial = 3


class ZeroPad1d(_Zeros):
    """Zeros around the last axis."""

    spatial = 1


class ZeroPad2d(_Zeros):
    """Zeros around the last two axes."""

    spatial = 2


class ZeroPad3d(_Zeros):
    """Zeros around the last three axes."""

    spatial = 3


class ReflectionPad1d(_Reflection):
    """The last axis, mirrored at its ends."""

    spatial = 1


class ReflectionPad2d(_Reflection):
    """The last two axes, mirrored at their ends."""

    spatial = 2


class ReflectionPad3d(_Reflection):
    """The last three axes, mirrored at their ends."""

    spatial = 3


class ReplicationPad1d(_Replication):
    """The ends of the last axis, repeated."""

    spatial = 1


class ReplicationPad2d(_Replication):
    """The ends of the last two axes, repeated."""

    spatial = 2


class ReplicationPad3d(_Replication):
    """The ends of the last three axes, repeated."""

    spatial = 3


class CircularPad1d(_Circular):
    """The last axis, going on at its other end."""

    spatial = 1


class CircularPad2d(_Circular):
    """The last two axes, going on at their other ends."""

    spatial = 2


class CircularPad3d(_Circular):
    """The last three axes, going on at their other ends."""

    spatial = 3


class Upsample(FunctionModule):
    """`(batch, channels, ..)` at another size; see `functional.interpolate`."""

    _function = staticmethod(F.interpolate)

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: float | Sequence[float] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        check_mode(type(self).__name__, mode)
        super().__init__(
            size=size,
            scale_factor=scale_factor,
            mode=mode,
            align_corners=align_corners,
            recompute_scale_factor=recompute_scale_factor,
        )


class PixelShuffle(FunctionModule):
    """Channels as finer pixels; see `functional.pixel_shuffle`."""

    _function = staticmethod(F.pixel_shuffle)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__(upscale_factor=upscale_factor)


class PixelUnshuffle(FunctionModule):
    """Pixels as channels of coarser ones; see `functional.pixel_unshuffle`."""

    _function = staticmethod(F.pixel_unshuffle)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__(downscale_factor=downscale_factor)


class _Adaptive(FunctionModule):
    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__(output_size=[None] if output_size is None else output_size)


class AdaptiveAvgPool1d(_Adaptive):
    """The means of so many parts that cover `(.., length)`."""

    _function = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """The means of so many parts that cover `(.., height, width)`."""

    _function = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(_Adaptive):
    """The means of so many parts that cover `(.., depth, height, width)`."""

    _function = staticmethod(F.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(_Adaptive):
    """The maxima of so many parts that cover `(.., length)`."""

    _function = staticmethod(F.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_Adaptive):
    """The maxima of so many parts that cover `(.., height, width)`."""

    _function = staticmethod(F.adaptive_max_pool2d)


class AdaptiveMaxPool3d(_Adaptive):
    """The maxima of so many parts that cover `(.., depth, height, width)`."""

    _function = staticmethod(F.adaptive_max_pool3d)
