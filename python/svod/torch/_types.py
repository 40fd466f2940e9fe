"""Element types and memory on both sides: what a tensor of PyTorch's is to svod, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._prims_common import is_contiguous_or_false

import svod
from svod._svod import _borrowed

# Element types by PyTorch's.
DTYPES: dict[torch.dtype, svod.DType] = {
    torch.float32: svod.float32,
    torch.float64: svod.float64,
    torch.float16: svod.float16,
    torch.bfloat16: svod.bfloat16,
    torch.bool: svod.bool,
    torch.int8: svod.int8,
    torch.int16: svod.int16,
    torch.int32: svod.int32,
    torch.int64: svod.int64,
    torch.uint8: svod.uint8,
    torch.complex64: svod.complex64,
    torch.complex128: svod.complex128,
}


def is_known(value: Any) -> bool:
    """Whether svod has what a node gives: dense tensors of its types on the CPU, numbers, sizes, and lists of them."""
    if isinstance(value, (list, tuple)):
        return all(map(is_known, value))
    if isinstance(value, torch.Tensor):
        dense = value.layout == torch.strided and not value.is_quantized and not value.is_nested
        return dense and value.device.type == "cpu" and value.dtype in DTYPES
    return value is None or isinstance(value, (int, float, bool, torch.SymInt, torch.SymFloat))


def given(tensor: torch.Tensor, order: Sequence[int] | None = None) -> svod.Tensor:
    """A tensor's memory as svod sees it, borrowed: contiguous, or with its axes in this order."""
    shape = tensor.shape if order is None else [tensor.shape[axis] for axis in order]
    # Another tensor, since the memory of this one may become another.
    return _borrowed(tensor.data_ptr(), shape, DTYPES[tensor.dtype], tensor.detach())


def constant(tensor: torch.Tensor) -> svod.Tensor:
    """A tensor that a graph holds, as a value of its own."""
    return given(tensor.resolve_conj().resolve_neg().contiguous()).clone()


def taken(tensor: svod.Tensor) -> torch.Tensor:
    """A result's memory as PyTorch sees it, which owns it from then on."""
    result: torch.Tensor = torch.from_dlpack(tensor.__dlpack__())
    return result


def order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest in memory: none where elements lie apart, or on one another.

    The shape and strides may be symbolic; then only the usual order is told.
    """
    shape, strides = tensor.shape, tensor.stride()
    if not all(isinstance(extent, int) for extent in (*shape, *strides)):
        # To ask how symbols compare would bind what PyTorch has traced to the answer.
        return tuple(range(tensor.dim())) if is_contiguous_or_false(tensor) else None
    if tensor.is_contiguous():
        return tuple(range(tensor.dim()))
    order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != expected:
            return None
        expected *= shape[axis]
    return tuple(order)
