"""Backward operations that PyTorch keeps whole: the pullbacks of the forward ones, by svod's own derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import svod
from svod.nn import functional as F
from svod.torch._sizes import same_size
from svod.torch._table import Call, Unsupported, aten
from svod.torch.rules import neural


def pulled(
    forward: Callable[..., svod.Tensor], wanted: Sequence[bool], gradient: svod.Tensor, *operands: svod.Tensor
) -> list[svod.Tensor | None]:
    """The gradients of those operands that are wanted."""
    by = [operand for operand, is_wanted in zip(operands, wanted, strict=True) if is_wanted]
    found = iter(forward(*operands).gradient(*by, cotangent=gradient)) if by else iter(())
    return [next(found) if is_wanted else None for is_wanted in wanted]


def pulled_by(x: svod.Tensor, forward: Callable[[svod.Tensor], svod.Tensor], gradient: svod.Tensor) -> svod.Tensor:
    """The gradient of the only operand."""
    (of_x,) = pulled(forward, [True], gradient, x)
    assert of_x is not None
    return of_x


@aten("convolution_backward")
def convolution_backward(
    gradient: svod.Tensor,
    x: svod.Tensor,
    weight: svod.Tensor,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[svod.Tensor | None, ...]:
    def forward(x: svod.Tensor, weight: svod.Tensor) -> svod.Tensor:
        return neural.convolution(x, weight, None, stride, padding, dilation, transposed, output_padding, groups)

    of_x, of_weight = pulled(forward, output_mask[:2], gradient, x, weight)
    channels = gradient.ndim - weight.ndim + 1
    axes = tuple(axis for axis in range(gradient.ndim) if axis != channels)
    return of_x, of_weight, gradient.sum(axes) if output_mask[2] else None


@aten("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward", call=True)
def max_pool_backward(call: Call, gradient: svod.Tensor, x: svod.Tensor, size: Any, *rest: Any) -> svod.Tensor:
    return _put_back(gradient, x, rest[-1], neural.rank_of(x, size))


@aten("adaptive_max_pool2d_backward")
def adaptive_max_pool2d_backward(gradient: svod.Tensor, x: svod.Tensor, indices: svod.Tensor) -> svod.Tensor:
    return _put_back(gradient, x, indices, 2)


@aten("adaptive_max_pool3d_backward")
def adaptive_max_pool3d_backward(gradient: svod.Tensor, x: svod.Tensor, indices: svod.Tensor) -> svod.Tensor:
    return _put_back(gradient, x, indices, 3)


def _put_back(gradient: svod.Tensor, x: svod.Tensor, indices: svod.Tensor, rank: int) -> svod.Tensor:
    """Each gradient at the point of its plane that was the greatest."""
    outer = x.shape[: x.ndim - rank]
    flat = svod.zeros(x.shape, dtype=gradient.dtype).reshape((*outer, -1))
    added = flat.scatter_add(-1, indices.reshape((*outer, -1)), gradient.reshape((*outer, -1)))
    return added.reshape(x.shape)


@aten("avg_pool2d_backward", "avg_pool3d_backward")
def avg_pool_backward(
    gradient: svod.Tensor,
    x: svod.Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> svod.Tensor:
    def forward(x: svod.Tensor) -> svod.Tensor:
        return neural.avg_pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    return pulled_by(x, forward, gradient)


@aten("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_avg_pool_backward(gradient: svod.Tensor, x: svod.Tensor) -> svod.Tensor:
    rank = x.ndim - 2
    size = gradient.shape[-rank:]
    if not all(isinstance(extent, int) for extent in size):
        raise Unsupported("an adaptive pool to a symbolic size")
    return pulled_by(x, lambda x: neural.adaptive_avg_pool(x, size), gradient)


@aten("grid_sampler_2d_backward", "grid_sampler_3d_backward")
def grid_sampler_backward(
    gradient: svod.Tensor,
    x: svod.Tensor,
    grid: svod.Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[svod.Tensor | None, ...]:
    def forward(x: svod.Tensor, grid: svod.Tensor) -> svod.Tensor:
        return svod.grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners)

    of_x, of_grid = pulled(forward, output_mask, gradient, x, grid)
    return of_x, of_grid


def _pad_backward(mode: str) -> Callable[..., svod.Tensor]:
    """The sums of the gradients of an element and of its copies."""

    def backward(gradient: svod.Tensor, x: svod.Tensor, padding: Sequence[Any]) -> svod.Tensor:
        return pulled_by(x, lambda x: F.pad(x, padding, mode), gradient)

    return backward


for _rank in (1, 2, 3):
    aten(f"replication_pad{_rank}d_backward")(_pad_backward("replicate"))
    aten(f"reflection_pad{_rank}d_backward")(_pad_backward("reflect"))


def _averaged_backward(mode: str) -> Callable[..., svod.Tensor]:
    def backward(
        gradient: svod.Tensor, size: Sequence[Any], shape: Sequence[Any], align_corners: bool, *scales: float | None
    ) -> svod.Tensor:
        # It depends on the image's size alone.
        image = svod.zeros(tuple(shape), dtype=gradient.dtype).requires_grad_()
        return pulled_by(image, lambda x: neural.averaged(x, mode, size, align_corners, scales), gradient)

    return backward


for _mode in ("bilinear", "bicubic"):
    aten(f"_upsample_{_mode}2d_aa_backward")(_averaged_backward(_mode))


@aten("_embedding_bag_backward", call=True)
def embedding_bag_backward(
    call: Call,
    gradient: svod.Tensor,
    at: svod.Tensor,
    offsets: svod.Tensor,
    bag: svod.Tensor,
    counts: svod.Tensor,
    maxima: svod.Tensor,
    rows: Any,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    weights: svod.Tensor | None = None,
    padding_idx: int = -1,
) -> svod.Tensor:
    if scale_grad_by_freq or sparse or mode == 2:
        raise Unsupported("gradients of maxima, sparse ones, or ones scaled by how often an index occurs")
    if same_size(bag.shape[0], 0):
        bag = offsets.searchsorted(svod.arange(at.shape[0]), right=True) - 1
    source = gradient.index_select(0, bag)
    if mode == 1:
        source = source / counts.index_select(0, bag).clamp(1, None).unsqueeze(1).cast(source.dtype)
    if weights is not None:
        source = source * weights.unsqueeze(1)
    if padding_idx >= 0:
        source = svod.where((at != padding_idx).unsqueeze(1), source, 0)
    return svod.zeros(call.shape, dtype=gradient.dtype).index_add(0, at.cast(svod.uint64), source)


@aten("masked_scatter_backward", call=True)
def masked_scatter_backward(call: Call, gradient: svod.Tensor, mask: svod.Tensor, sizes: Any) -> svod.Tensor:
    """Those gradients where the mask holds, one after the other; zeros behind them."""
    count: Any = 1
    for extent in call.shape:
        count = count * extent
    holds = mask.expand(gradient.shape).reshape((-1,))
    # The others go to a place of their own.
    places = svod.where(holds, holds.cast(svod.int64).cumsum(0) - 1, count)
    packed = svod.zeros((count + 1,), dtype=gradient.dtype).index_add(0, places, gradient.reshape((-1,)))
    return packed.narrow(0, 0, count).reshape(call.shape)
