"""Products, convolutions, normalization and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import svod
from svod.nn import functional as F
from svod.torch._table import Unsupported, aten, wide

Numbers = Sequence[int]


@aten("mm", "bmm", "matmul", "mv", "dot")
def matmul(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
    return x @ y


@aten("_int_mm")
def int_mm(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
    return x.cast(svod.int32) @ y.cast(svod.int32)


@aten("addmm", "baddbmm", "addmv")
def addmm(bias: svod.Tensor, x: svod.Tensor, y: svod.Tensor, *, beta: Any = 1, alpha: Any = 1) -> svod.Tensor:
    product = x @ y if alpha == 1 else (x @ y) * alpha
    if beta == 0:
        return product
    return product + (bias if beta == 1 else bias * beta)


@aten("convolution")
def convolution(
    x: svod.Tensor,
    weight: svod.Tensor,
    bias: svod.Tensor | None,
    stride: Numbers,
    padding: Numbers,
    dilation: Numbers,
    transposed: bool,
    output_padding: Numbers,
    groups: int,
) -> svod.Tensor:
    rank = weight.ndim - 2
    step, around, apart = (_numbers(numbers, rank) for numbers in (stride, padding, dilation))
    batched = x if x.ndim == weight.ndim else x.unsqueeze(0)
    if transposed:
        result = batched.conv_transpose(weight, bias, step, around, _numbers(output_padding, rank), groups, apart)
    else:
        result = batched.conv(weight, bias, step, around, apart, groups)
    return result if batched is x else result.squeeze(0)


@aten("native_layer_norm")
def layer_norm(
    x: svod.Tensor, shape: Sequence[Any], weight: svod.Tensor | None, bias: svod.Tensor | None, eps: float
) -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    normal, mean, deviation = _normalized(x, axes, eps)
    result = normal if weight is None else normal * weight
    result = result if bias is None else result + bias
    return result.cast(x.dtype), mean, deviation


def _normalized(x: svod.Tensor, axes: tuple[int, ...], eps: float) -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
    """With mean 0 and variance 1 along axes, the mean, and one over the deviation; computed in float32 at least."""
    x = wide(x)
    mean = x.mean(axes, True)
    scale = (x.var(axes, correction=0, keepdim=True) + eps).rsqrt()
    return (x - mean) * scale, mean, scale


@aten("native_group_norm")
def group_norm(
    x: svod.Tensor,
    weight: svod.Tensor | None,
    bias: svod.Tensor | None,
    batch: Any,
    channels: Any,
    points: Any,
    groups: int,
    eps: float,
) -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
    parts = x.reshape((batch, groups, channels // groups, points))
    normal, mean, scale = _normalized(parts, (2, 3), eps)
    normal = normal.reshape(x.shape)
    of_channels = (channels, *(1,) * (x.ndim - 2))
    result = normal if weight is None else normal * weight.reshape(of_channels)
    result = result if bias is None else result + bias.reshape(of_channels)
    return (
        result.cast(x.dtype),
        mean.reshape((batch, groups)).cast(x.dtype),
        scale.reshape((batch, groups)).cast(x.dtype),
    )


@aten("_native_batch_norm_legit_no_training")
def batch_norm_inference(
    x: svod.Tensor,
    weight: svod.Tensor | None,
    bias: svod.Tensor | None,
    mean: svod.Tensor,
    variance: svod.Tensor,
    momentum: float,
    eps: float,
) -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
    shape = _of_channels(x)
    scale = (variance + eps).rsqrt()
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    empty = svod.zeros(0, dtype=x.dtype)
    return (x * scale.reshape(shape) + shift.reshape(shape)).cast(x.dtype), empty, empty


@aten("native_batch_norm")
def native_batch_norm(
    x: svod.Tensor,
    weight: svod.Tensor | None,
    bias: svod.Tensor | None,
    mean: svod.Tensor | None,
    variance: svod.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
    if training or mean is None or variance is None:
        raise Unsupported("batch statistics that are written to their operands")
    return batch_norm_inference(x, weight, bias, mean, variance, momentum, eps)


@aten("_native_batch_norm_legit_functional")
def batch_norm(
    x: svod.Tensor,
    weight: svod.Tensor | None,
    bias: svod.Tensor | None,
    running_mean: svod.Tensor,
    running_variance: svod.Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[svod.Tensor, ...]:
    if not training:
        result, *empty = batch_norm_inference(x, weight, bias, running_mean, running_variance, momentum, eps)
        return (result, *empty, running_mean, running_variance)
    result, mean, scale = batch_norm_of_batch(x, weight, bias, True, momentum, eps)
    # By the number of elements less one, as PyTorch has it for the statistics of inference.
    unbiased = wide(x).var((0, *range(2, x.ndim)))
    new_mean = running_mean * (1 - momentum) + (mean * momentum).cast(running_mean.dtype)
    new_variance = running_variance * (1 - momentum) + (unbiased * momentum).cast(running_variance.dtype)
    return result, mean, scale, new_mean, new_variance


@aten("_native_batch_norm_legit.no_stats")
def batch_norm_of_batch(
    x: svod.Tensor, weight: svod.Tensor | None, bias: svod.Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
    """By the statistics of the batch, as instances are normalized: the result, means, and one over the deviations."""
    if not training:
        raise Unsupported("an inference without statistics")
    axes = (0, *range(2, x.ndim))
    own = wide(x)
    mean = own.mean(axes)
    scale = (own.var(axes, correction=0) + eps).rsqrt()
    shape = _of_channels(x)
    result = (own - mean.reshape(shape)) * scale.reshape(shape)
    result = result if weight is None else result * weight.reshape(shape)
    result = result if bias is None else result + bias.reshape(shape)
    return result.cast(x.dtype), mean, scale


def _of_channels(x: svod.Tensor) -> tuple[int, ...]:
    return (1, -1, *(1,) * (x.ndim - 2))


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    x: svod.Tensor,
    kernel_size: Numbers,
    stride: Numbers = (),
    padding: Numbers = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> svod.Tensor:
    rank = rank_of(x, kernel_size)
    size = _numbers(kernel_size, rank)
    step, around = _numbers(stride, rank) or size, _numbers(padding, rank)
    if divisor_override is None:
        return x.avg_pool(size, step, around, ceil_mode, count_include_pad)
    pool = F.avg_pool2d if rank == 2 else F.avg_pool3d
    return pool(x, size, step, around, ceil_mode, count_include_pad, divisor_override)


@aten("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_avg_pool(x: svod.Tensor, output_size: Sequence[int]) -> svod.Tensor:
    return x.adaptive_avg_pool(tuple(output_size))


@aten("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(
    x: svod.Tensor,
    kernel_size: Numbers,
    stride: Numbers = (),
    padding: Numbers = (0,),
    dilation: Numbers = (1,),
    ceil_mode: bool = False,
) -> tuple[svod.Tensor, svod.Tensor]:
    rank = rank_of(x, kernel_size)
    size = _numbers(kernel_size, rank)
    step, around, apart = _numbers(stride, rank) or size, _numbers(padding, rank), _numbers(dilation, rank)
    values = x.max_pool(size, step, around, apart, ceil_mode)
    return values, _positions(x, values, size, step, around, apart)


def _positions(
    x: svod.Tensor, values: svod.Tensor, size: Numbers, step: Numbers, around: Numbers, apart: Numbers
) -> svod.Tensor:
    """Where the first greatest element of each window lies among the points of its plane, row by row."""
    points, outputs = x.shape[-len(size) :], values.shape[-len(size) :]
    rows: Any = 0
    inside: Any = True
    for axis, (extent, count) in enumerate(zip(points, outputs, strict=True)):
        at = svod.arange(count).unsqueeze(1) * step[axis] - around[axis] + svod.arange(size[axis]) * apart[axis]
        shape: list[Any] = [1] * (2 * len(size))
        shape[axis], shape[len(size) + axis] = count, size[axis]
        at = at.reshape(shape)
        inside = inside & (at >= 0) & (at < extent)
        rows = rows * extent + at.clamp(0, extent - 1)
    windows: Any = 1
    for number in size:
        windows = windows * number
    rows = rows.reshape((*outputs, windows))
    inside = inside.reshape((*outputs, windows))
    flat = x.reshape((*x.shape[: -len(size)], -1))
    chosen = svod.where(inside, flat[..., rows], _least(x))
    best = chosen.argmax(-1)
    found: svod.Tensor = rows.expand(chosen.shape).gather(-1, best.unsqueeze(-1)).squeeze(-1)
    return found


def _least(x: svod.Tensor) -> Any:
    return float("-inf") if "float" in str(x.dtype) else -(1 << (8 * x.dtype.itemsize - 1))


def rank_of(x: svod.Tensor, size: Numbers) -> int:
    return len(size) if len(size) > 1 else x.ndim - 2


def _numbers(numbers: Numbers, rank: int) -> tuple[int, ...]:
    return tuple(numbers) * rank if len(numbers) == 1 else tuple(numbers)


def averaged(
    x: svod.Tensor, mode: str, size: Sequence[Any], align_corners: bool, scales: Sequence[float | None]
) -> svod.Tensor:
    """Resized images; of an axis that becomes shorter, the means of what falls together."""
    for before, after, scale in zip(x.shape[2:], size, scales, strict=False):
        if scale is not None and before * scale != after:
            raise Unsupported("a scale that is not that of the sizes")
    return F.interpolate(x, size=tuple(size), mode=mode, align_corners=align_corners, antialias=True)


def _averaged(mode: str) -> Callable[..., svod.Tensor]:
    def resized(x: svod.Tensor, size: Sequence[Any], align_corners: bool, *scales: float | None) -> svod.Tensor:
        return averaged(x, mode, size, align_corners, scales)

    return resized


for _mode in ("bilinear", "bicubic"):
    aten(f"_upsample_{_mode}2d_aa")(_averaged(_mode))


@aten("_transformer_encoder_layer_fwd")
def encoder_layer(
    x: svod.Tensor,
    width: int,
    heads: int,
    in_weight: svod.Tensor,
    in_bias: svod.Tensor,
    out_weight: svod.Tensor,
    out_bias: svod.Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    *parameters: Any,
) -> svod.Tensor:
    """A layer of a transformer's encoder (Vaswani et al. 2017), which PyTorch has whole where nothing is trained."""
    *norms_and_inner, mask = (*parameters, None) if len(parameters) == 8 else parameters[:9]
    if mask is not None or x.ndim != 3:
        raise Unsupported("an encoder's layer with a mask, or of one text")
    first, first_bias, second, second_bias, up, up_bias, down, down_bias = norms_and_inner

    def attended(x: svod.Tensor) -> svod.Tensor:
        parts = F.linear(x, in_weight, in_bias).unflatten(-1, (3, heads, width // heads)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        return F.linear(mixed.transpose(1, 2).flatten(2), out_weight, out_bias)

    def inner(x: svod.Tensor) -> svod.Tensor:
        activation = F.gelu if use_gelu else F.relu
        return F.linear(activation(F.linear(x, up, up_bias)), down, down_bias)

    def before(x: svod.Tensor) -> svod.Tensor:
        return layer_norm(x, (width,), first, first_bias, eps)[0]

    def behind(x: svod.Tensor) -> svod.Tensor:
        return layer_norm(x, (width,), second, second_bias, eps)[0]

    if norm_first:
        x = x + attended(before(x))
        return x + inner(behind(x))
    x = before(x + attended(x))
    return behind(x + inner(x))


@aten("_weight_norm_interface_backward")
def weight_norm_backward(
    gradient: svod.Tensor, v: svod.Tensor, g: svod.Tensor, norms: svod.Tensor, dim: int
) -> tuple[svod.Tensor, svod.Tensor]:
    """Of `v * g / norms`, where norms are those of all axes but one (Salimans and Kingma 2016)."""
    others = [axis for axis in range(v.ndim) if axis != dim % v.ndim]
    along = (gradient * v).sum(others, True) / norms
    return g / norms * (gradient - v * (along / norms)), along


@aten("_trilinear")
def trilinear(
    x: svod.Tensor,
    y: svod.Tensor,
    z: svod.Tensor,
    of_x: Sequence[int],
    of_y: Sequence[int],
    of_z: Sequence[int],
    summed: Sequence[int],
    unroll_dim: int = 1,
) -> svod.Tensor:
    """The sum along axes of a product of three, each with further axes."""
    for axis in of_x:
        x = x.unsqueeze(axis)
    for axis in of_y:
        y = y.unsqueeze(axis)
    for axis in of_z:
        z = z.unsqueeze(axis)
    return (x * y * z).sum(tuple(summed)) if summed else x * y * z


@aten("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(x: svod.Tensor, output_size: Sequence[int]) -> tuple[svod.Tensor, svod.Tensor]:
    pool = {2: F.adaptive_max_pool2d_with_indices, 3: F.adaptive_max_pool3d_with_indices}[len(output_size)]
    values, indices = pool(x, tuple(output_size))
    return values, indices


# How distances are computed, as PyTorch numbers it.
_MODES = (None, "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")


@aten("_cdist_forward")
def cdist(x: svod.Tensor, y: svod.Tensor, p: float, compute_mode: int | None = None) -> svod.Tensor:
    return svod.cdist(x, y, p, _MODES[compute_mode or 0])


@aten("_cdist_backward")
def cdist_backward(
    gradient: svod.Tensor, x: svod.Tensor, y: svod.Tensor, p: float, distances: svod.Tensor
) -> svod.Tensor:
    """Of the first operand; a distance of 0 has none."""
    apart = x.unsqueeze(-2) - y.unsqueeze(-3)
    far = distances.unsqueeze(-1)
    signs = (apart > 0).cast(x.dtype) - (apart < 0).cast(x.dtype)
    if p == 0:
        return svod.zeros(x.shape, dtype=x.dtype)
    if p == 1:
        slopes = signs
    elif p == float("inf"):
        slopes = svod.where(apart.abs() == far, signs, 0)
    else:
        slopes = svod.where((far == 0) | (apart == 0), 0, signs * (apart.abs() / far) ** (p - 1))
    return (gradient.unsqueeze(-1) * slopes).sum(-2)
