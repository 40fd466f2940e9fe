"""Tensors that are made of numbers."""

from __future__ import annotations

from typing import Any

import svod
from svod.torch._table import Call, aten


@aten("full", call=True)
def full(call: Call, size: Any, fill_value: Any, **_: Any) -> svod.Tensor:
    return _filled(call, fill_value)


@aten("full_like", "new_full", call=True)
def full_like(call: Call, x: svod.Tensor, *given: Any, **_: Any) -> svod.Tensor:
    return _filled(call, given[-1])


@aten("scalar_tensor", call=True)
def scalar_tensor(call: Call, value: Any, **_: Any) -> svod.Tensor:
    return _filled(call, value)


@aten(
    "empty.memory_format",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
    "zeros",
    "zeros_like",
    "new_zeros",
    call=True,
)
def zeros(call: Call, *_: Any, **__: Any) -> svod.Tensor:
    # What is empty may hold anything, and zeros cost nothing.
    return _filled(call, 0)


@aten("ones", "ones_like", "new_ones", call=True)
def ones(call: Call, *_: Any, **__: Any) -> svod.Tensor:
    return _filled(call, 1)


@aten("arange.start_step", "arange.start", "arange", call=True)
def arange(call: Call, *bounds: Any, **_: Any) -> svod.Tensor:
    start, step = (bounds[0] if len(bounds) > 1 else 0), (bounds[2] if len(bounds) > 2 else 1)
    (count,) = call.shape
    # As PyTorch computes it: each from its position, not from the one before.
    positions = svod.arange(count)
    if all(isinstance(number, float) is False for number in (start, step)):
        return (positions * step + start).cast(call.dtype)
    return (positions.cast(svod.float64) * step + start).cast(call.dtype)


def _filled(call: Call, value: Any) -> svod.Tensor:
    if isinstance(value, (svod.Tensor, svod.Size, svod.Variable)):
        filled = value if isinstance(value, svod.Tensor) else svod.Tensor(value)
        return filled.cast(call.dtype).expand(call.shape) if call.shape else filled.cast(call.dtype)
    return svod.full(call.shape, value, dtype=call.dtype)
