"""Floats that are rounded to what a quantised type tells apart, as models are trained that will be quantised."""

from __future__ import annotations

from typing import Any

import svod
from svod.torch._table import Unsupported, aten


@aten("fake_quantize_per_tensor_affine_cachemask")
def per_tensor(x: svod.Tensor, scale: float, zero: int, least: int, most: int) -> tuple[svod.Tensor, svod.Tensor]:
    return _rounded(x, svod.full((), scale, dtype=svod.float32), zero, least, most)


@aten("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams")
def per_tensor_of_tensors(
    x: svod.Tensor, scale: svod.Tensor, zero: svod.Tensor, enabled: svod.Tensor, least: int, most: int
) -> tuple[svod.Tensor, svod.Tensor]:
    rounded, inside = _rounded(x, scale, zero, least, most)
    return svod.where(enabled != 0, rounded, x), inside | (enabled == 0)


@aten("fake_quantize_per_channel_affine_cachemask")
def per_channel(
    x: svod.Tensor, scale: svod.Tensor, zero: svod.Tensor, axis: int, least: int, most: int
) -> tuple[svod.Tensor, svod.Tensor]:
    if zero.dtype.is_floating_point:
        raise Unsupported("zero points that are floats")
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    return _rounded(x, scale.reshape(tuple(shape)), zero.reshape(tuple(shape)), least, most)


def _rounded(x: svod.Tensor, scale: svod.Tensor, zero: Any, least: int, most: int) -> tuple[svod.Tensor, svod.Tensor]:
    """The floats that stand for the nearest integers, and where these are in the type's range."""
    at = (x * (1 / scale)).round() + zero
    return ((at.clamp(least, most) - zero) * scale).cast(x.dtype), (at >= least) & (at <= most)
