"""Element types and memory on both sides: what a tensor of PyTorch's is to svod, and the other way round."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch._prims_common import is_contiguous_or_false

import svod
from svod._svod import _borrowed, _handed_over, _order

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
    torch.uint16: svod.uint16,
    torch.uint32: svod.uint32,
    torch.uint64: svod.uint64,
    torch.complex64: svod.complex64,
    torch.complex128: svod.complex128,
}


def is_known(value: Any) -> bool:
    """Whether svod has what a node gives: dense tensors of its types and devices, numbers, sizes, lists of them."""
    if isinstance(value, (list, tuple)):
        return all(map(is_known, value))
    if isinstance(value, torch.Tensor):
        dense = value.layout == torch.strided and not value.is_quantized and not value.is_nested
        return dense and value.dtype in DTYPES and is_device(value.device)
    return value is None or isinstance(value, (int, float, bool, torch.SymInt, torch.SymFloat))


@functools.cache
def is_device(device: torch.device) -> bool:
    """Whether svod computes where PyTorch has this device."""
    return device.type == "cpu" or (device.type == "cuda" and named(device) in svod.devices())


def named(device: torch.device) -> str | None:
    """svod's name of a GPU; none of the CPU, and of what svod does not have."""
    if device.type != "cuda":
        return None
    return f"CUDA:{torch.cuda.current_device() if device.index is None else device.index}"


def given(tensor: torch.Tensor, order: Sequence[int] | None = None) -> svod.Tensor:
    """A tensor's memory as svod sees it, borrowed: contiguous, or with its axes in this order.

    That of a GPU may be read once `follow` was called, and is written by PyTorch once `precede` was.
    """
    shape = tensor.shape if order is None else [tensor.shape[axis] for axis in order]
    # Another tensor, since the memory of this one may become another.
    return _borrowed(tensor.data_ptr(), shape, DTYPES[tensor.dtype], tensor.detach(), named(tensor.device))


def constant(tensor: torch.Tensor) -> svod.Tensor:
    """A tensor that a graph holds, as a value of its own."""
    whole = tensor.resolve_conj().resolve_neg().contiguous()
    follow({tensor.device})
    kept = given(whole).clone()
    if tensor.is_cuda:
        kept.realize()
        precede({tensor.device})
    return kept


def taken(tensor: svod.Tensor, device: torch.device) -> torch.Tensor:
    """A result's memory as PyTorch sees it, which owns it from then on."""
    stream = None if device.type == "cpu" else _stream(device)
    result: torch.Tensor = torch.from_dlpack(_handed_over(tensor, stream))
    return result


def follow(devices: Iterable[torch.device]) -> None:
    """Has svod's work on GPUs wait for what PyTorch has in its streams there."""
    for device in devices:
        if (name := named(device)) is not None:
            _order(name, _stream(device), False)


def precede(devices: Iterable[torch.device]) -> None:
    """Has PyTorch's streams on GPUs wait for svod's work there."""
    for device in devices:
        if (name := named(device)) is not None:
            _order(name, _stream(device), True)


def _stream(device: torch.device) -> int:
    return int(torch.cuda.current_stream(device).cuda_stream)


def order_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """The axes from the slowest to the fastest in memory: none where elements lie apart, or on one another.

    The shape and strides may be symbolic; then orders are told that hold for all their values.
    """
    shape, strides = tensor.shape, tensor.stride()
    if not all(isinstance(extent, int) for extent in (*shape, *strides)):
        # To ask how symbols compare would bind what PyTorch has traced to the answer.
        usual = is_contiguous_or_false(tensor)
        return tuple(range(tensor.dim())) if usual else _symbolic_order(shape, strides)
    if tensor.is_contiguous():
        return tuple(range(tensor.dim()))
    order = sorted(range(len(shape)), key=lambda axis: (-strides[axis], axis))
    expected = 1
    for axis in reversed(order):
        if shape[axis] != 1 and strides[axis] != expected:
            return None
        expected *= shape[axis]
    return tuple(order)


def _symbolic_order(shape: Sequence[Any], strides: Sequence[Any]) -> tuple[int, ...] | None:
    """The order of axes whose strides are, as they are written, the products of the extents behind them."""
    extents, steps = (list(map(expanded, sizes)) for sizes in (shape, strides))
    order: list[int] = []
    expected: Any = 1
    while len(order) < len(extents):
        next_ones = [axis for axis in reversed(range(len(extents))) if axis not in order and steps[axis] == expected]
        if not next_ones:
            return None
        order.insert(0, next_ones[0])
        expected = expanded(expected * extents[next_ones[0]])
    return tuple(order)


def expanded(size: Any) -> Any:
    """A size as a polynomial of symbols, of which those that PyTorch found to be equal are one."""
    expression = size.node.shape_env.replace(size.node.expr) if isinstance(size, torch.SymInt) else size
    return expression if isinstance(expression, int) else expression.expand()
