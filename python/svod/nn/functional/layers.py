"""Products, normalisation, convolution and pooling, and attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

from svod._arguments import checked
from svod._svod import ArgumentError, DTypeError, ShapeError, Tensor, einsum, where
from svod._svod import complex as joined
from svod.nn._statistics import written
from svod.nn.functional.dropout import check_probability, dropout
from svod.nn.functional.sampling import (
    max_pool1d_with_indices,
    max_pool2d_with_indices,
    max_pool3d_with_indices,
)

__all__ = [
    "adaptive_avg_pool",
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "avg_pool",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "bilinear",
    "conv",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "linear",
    "max_pool",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mean_pool",
    "normalize",
    "rms_norm",
    "scaled_dot_product_attention",
    "unfold",
]

# The distance from 1 to the next number of each float type.
_EPSILON = {
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
    "bfloat16": 2.0**-7,
    "float16": 2.0**-10,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
    "complex64": 2.0**-23,
    "complex128": 2.0**-52,
}

_Numbers = int | Sequence[int]
_Padding = str | int | Sequence[int] | Sequence[tuple[int, int]]


@checked
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last axis of `input`; `weight` is `(out, in)`."""
    return input.linear(weight, bias)


@checked
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input1 @ weight[k] @ input2` over last axes, for each `k`; `weight` is `(out, in1, in2)`."""
    result = einsum("...i,kij,...j->...k", input1, weight, input2)
    return result if bias is None else result + bias


@checked
def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes the last axes, of extents `normalized_shape` (Ba, Kiros and Hinton 2016), then scales and shifts.

    `weight` and `bias` have the shape `normalized_shape`.
    """
    rows, (scale, shift) = _rows("layer_norm", input, normalized_shape, weight, bias)
    return rows.layer_norm(scale, shift, eps=eps).reshape(*input.shape)


@checked
def normalize(
    input: Tensor, p: float = 2.0, dim: int | None = None, eps: float = 1e-12, *, axis: int | None = None
) -> Tensor:
    """`input` divided by its `p`-norm along an axis, by default 1; norms below `eps` count as `eps`."""
    return input.normalize(p, dim, eps, axis=axis)


@checked
def mean_pool(input: Tensor, mask: Tensor) -> Tensor:
    """Mean of `input` `(batch, length, dim)` over the positions where `mask` `(batch, length)` is 1."""
    weight = mask.to(input.dtype).unsqueeze(-1)
    count = weight.sum(1)
    return (input * weight).sum(1) / where(count > 0, count, 1)


@checked
def rms_norm(
    input: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Divides the last axes, of extents `normalized_shape`, by the root of their mean square, then scales.

    Zhang and Sennrich 2019. `eps` is added to the mean square, by default the distance from 1 to the next number.
    """
    if eps is None and input.dtype.name not in _EPSILON:
        raise DTypeError(f"rms_norm: a tensor of floats is expected, or `eps`, not {input.dtype.name}")
    rows, (scale,) = _rows("rms_norm", input, normalized_shape, weight)
    return rows.rms_norm(scale, eps=_EPSILON[input.dtype.name] if eps is None else eps).reshape(*input.shape)


def _rows(
    name: str, input: Tensor, normalized_shape: int | Sequence[int], *parameters: Tensor | None
) -> tuple[Tensor, list[Tensor | None]]:
    """`input` and its parameters with the normalized axes as one, the last."""
    extents = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not extents or tuple(input.shape[-len(extents) :]) != extents:
        raise ShapeError(f"{name}: the last axes of {tuple(input.shape)} are not {extents}")
    for parameter in parameters:
        if parameter is not None and tuple(parameter.shape) != extents:
            raise ShapeError(f"{name}: a parameter of shape {tuple(parameter.shape)} for axes {extents}")
    if len(extents) == 1:
        return input, list(parameters)
    flat = [None if p is None else p.reshape(-1) for p in parameters]
    return input.reshape(*input.shape[: -len(extents)], prod(extents)), flat


@checked
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of `(batch, channels, ..)` (Ioffe and Szegedy 2015), then scales and shifts.

    By the running statistics, or in `training` by those of this batch, of which the running ones, where they are given,
    take in the share `momentum`.
    """
    if not training:
        if running_mean is None or running_var is None:
            raise ArgumentError("batch_norm: running_mean and running_var are needed unless training=True")
        return input.batch_norm(running_mean, running_var, weight, bias, eps)
    check_statistics("batch_norm", input, (0, *range(2, input.ndim)))
    _follow(running_mean, running_var, input, (0, *range(2, input.ndim)), momentum)
    return input.batch_norm(None, None, weight, bias, eps)


def check_statistics(of: str, x: Tensor, axes: tuple[int, ...]) -> None:
    """An error where each statistic along some axes would be of one value: its variance is not a number."""
    extents = [x.shape[axis] for axis in axes]
    if all(isinstance(extent, int) and extent == 1 for extent in extents):
        values = "value per channel" if 0 in axes else "spatial element"
        raise ShapeError(f"{of}: more than one {values} is expected when training, got {tuple(x.shape)}")


def _follow(
    running_mean: Tensor | None,
    running_var: Tensor | None,
    input: Tensor,
    axes: tuple[int, ...],
    momentum: float | Tensor,
) -> None:
    """Running statistics take in a share of those along some axes, averaged over the batch if it is none of these.

    Of a batch without elements there are none, and of one value of a channel, where sizes are variables, neither.
    """
    if any(isinstance(extent, int) and extent == 0 for extent in input.shape):
        return
    count = prod(input.shape[axis] for axis in axes)
    for running, now in ((running_mean, input.mean), (running_var, input.var)):
        if running is not None:
            statistic = now(axes)
            new = running * (1 - momentum) + (statistic if 0 in axes else statistic.mean(0)) * momentum
            # One value, as of a last batch of one row, has no variance.
            written(running, new if isinstance(count, int) else where(Tensor(count) > 1, new, running))


@checked
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes groups of the channels of `(batch, channels, ..)` (Wu and He 2018), then scales and shifts."""
    return input.group_norm(num_groups, weight, bias, eps)


@checked
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float | Tensor = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of each item of `(batch, channels, ..)`, then scales and shifts.

    Of the items' statistics the running ones, where they are given, take in the share `momentum`; without
    `use_input_stats` it is the running ones by which all items are normalized.
    """
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    if running_mean is not None or running_var is not None:
        check_statistics("instance_norm", input, tuple(range(2, input.ndim)))
    _follow(running_mean, running_var, input, tuple(range(2, input.ndim)), momentum)
    return input.instance_norm(weight, bias, eps)


@checked
def unfold(
    input: Tensor, kernel_size: _Numbers, dilation: _Numbers = 1, padding: _Numbers = 0, stride: _Numbers = 1
) -> Tensor:
    """The windows of `(batch, channels, height, width)` as columns: `(batch, channels * elements, windows)`."""
    kernel = [kernel_size, kernel_size] if isinstance(kernel_size, int) else list(kernel_size)
    return input.im2col(kernel, stride, padding, dilation)


@checked
def conv(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Padding = 0,
    dilation: _Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The convolution of `(batch, in, ..)` with weights `(out, in / groups, ..)`, over any number of axes.

    `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
    """
    return _convolved("conv", input, weight, bias, stride, padding, dilation, groups)


@checked
def conv_transpose(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Numbers = 0,
    output_padding: _Numbers = 0,
    groups: int = 1,
    dilation: _Numbers = 1,
) -> Tensor:
    """The transposed convolution of `(batch, in, ..)` with weights `(in, out / groups, ..)`, over any number of axes.

    `padding` is cut off the result, `output_padding` added at its end.
    """
    return _convolved("conv_transpose", input, weight, bias, stride, padding, output_padding, groups, dilation)


@checked
def max_pool(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The maximum of each window over the last `len(kernel_size)` axes, side by side unless `stride` is given."""
    return input.max_pool(kernel_size, stride, padding, dilation, ceil_mode)


@checked
def avg_pool(
    input: Tensor,
    kernel_size: Sequence[int],
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over the last `len(kernel_size)` axes, side by side unless `stride` is given."""
    return input.avg_pool(kernel_size, stride, padding, ceil_mode, count_include_pad)


@checked
def adaptive_avg_pool(input: Tensor, output_size: Sequence[int | None]) -> Tensor:
    """The means of so many parts of the last `len(output_size)` axes that cover them; None keeps an extent."""
    return input.adaptive_avg_pool(output_size)


@checked
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Padding = 0,
    dilation: _Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The convolution of `(batch, in, length)` with weights `(out, in / groups, ..)`.

    `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
    """
    return _convolved("conv1d", input, weight, bias, stride, padding, dilation, groups)


@checked
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Numbers = 0,
    output_padding: _Numbers = 0,
    groups: int = 1,
    dilation: _Numbers = 1,
) -> Tensor:
    """The transposed convolution of `(batch, in, length)` with weights `(in, out / groups, ..)`.

    `padding` is cut off the result, `output_padding` added at its end.
    """
    return _convolved("conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation)


@checked
def max_pool1d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over `(.., length)`, side by side unless `stride` is given.

    With `return_indices` also where each was, in the flat axes.
    """
    if return_indices:
        return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return input.max_pool1d(kernel_size, stride, padding, dilation, ceil_mode)


@checked
def avg_pool1d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over `(.., length)`, side by side unless `stride` is given."""
    return input.avg_pool1d(kernel_size, stride, padding, ceil_mode, count_include_pad)


@checked
def adaptive_avg_pool1d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` parts that cover `(.., length)`; None keeps an extent."""
    return input.adaptive_avg_pool1d(output_size)


@checked
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Padding = 0,
    dilation: _Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The convolution of `(batch, in, height, width)` with weights `(out, in / groups, ..)`.

    `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
    """
    return _convolved("conv2d", input, weight, bias, stride, padding, dilation, groups)


@checked
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Numbers = 0,
    output_padding: _Numbers = 0,
    groups: int = 1,
    dilation: _Numbers = 1,
) -> Tensor:
    """The transposed convolution of `(batch, in, height, width)` with weights `(in, out / groups, ..)`.

    `padding` is cut off the result, `output_padding` added at its end.
    """
    return _convolved("conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation)


@checked
def max_pool2d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over `(.., height, width)`, side by side unless `stride` is given.

    With `return_indices` also where each was, in the flat axes.
    """
    if return_indices:
        return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return input.max_pool2d(kernel_size, stride, padding, dilation, ceil_mode)


@checked
def avg_pool2d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window over `(.., height, width)`, side by side unless `stride` is given.

    With `divisor_override` the sum divided by that number.
    """
    if divisor_override is None:
        return input.avg_pool2d(kernel_size, stride, padding, ceil_mode, count_include_pad)
    if divisor_override == 0:
        raise ArgumentError("avg_pool2d: divisor_override is not 0")
    total = _summed(input, kernel_size, stride, padding, ceil_mode, 2)
    return total.div(divisor_override, rounding_mode=None if input.dtype.is_floating_point else "trunc")


@checked
def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` parts that cover `(.., height, width)`; None keeps an extent."""
    return input.adaptive_avg_pool2d(output_size)


@checked
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Padding = 0,
    dilation: _Numbers = 1,
    groups: int = 1,
) -> Tensor:
    """The convolution of `(batch, in, depth, height, width)` with weights `(out, in / groups, ..)`.

    `padding` is a number, one for each dimension, a pair for each, `"same"` or `"valid"`.
    """
    return _convolved("conv3d", input, weight, bias, stride, padding, dilation, groups)


@checked
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Numbers = 0,
    output_padding: _Numbers = 0,
    groups: int = 1,
    dilation: _Numbers = 1,
) -> Tensor:
    """The transposed convolution of `(batch, in, depth, height, width)` with weights `(in, out / groups, ..)`.

    `padding` is cut off the result, `output_padding` added at its end.
    """
    return _convolved("conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation)


@checked
def max_pool3d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window over `(.., depth, height, width)`, side by side unless `stride` is given.

    With `return_indices` also where each was, in the flat axes.
    """
    if return_indices:
        return max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return input.max_pool3d(kernel_size, stride, padding, dilation, ceil_mode)


@checked
def avg_pool3d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window over `(.., depth, height, width)`, side by side unless `stride` is given.

    With `divisor_override` the sum divided by that number.
    """
    if divisor_override is None:
        return input.avg_pool3d(kernel_size, stride, padding, ceil_mode, count_include_pad)
    if divisor_override == 0:
        raise ArgumentError("avg_pool3d: divisor_override is not 0")
    total = _summed(input, kernel_size, stride, padding, ceil_mode, 3)
    return total.div(divisor_override, rounding_mode=None if input.dtype.is_floating_point else "trunc")


def _summed(
    input: Tensor, kernel_size: _Numbers, stride: _Numbers | None, padding: _Numbers, ceil_mode: bool, rank: int
) -> Tensor:
    """The sums of windows: means of as many elements, zeros where one ends behind the padding. Those of integers are
    added up themselves."""
    kernel, edge = (_spread(one, rank) for one in (kernel_size, padding))
    step = kernel if stride in (None, (), []) else _spread(stride, rank)
    counts = input.avg_pool(kernel, step, edge, ceil_mode).shape[-rank:]
    pads = [
        (before, max(0, (count - 1) * by + reach - extent - before))
        for before, count, by, reach, extent in zip(edge, counts, step, kernel, input.shape[-rank:], strict=True)
    ]
    padded = input.pad([*[(0, 0)] * (input.ndim - rank), *pads])
    if input.dtype.is_floating_point:
        return padded.avg_pool(kernel, step) * prod(kernel)
    for axis, (reach, by) in enumerate(zip(kernel, step, strict=True), input.ndim - rank):
        padded = padded.unfold(axis, reach, by).sum(-1)
    return padded.cast(input.dtype)


def _spread(numbers: Any, rank: int) -> list[int]:
    """A number for each dimension; a single one counts for all."""
    if isinstance(numbers, int):
        return [numbers] * rank
    return list(numbers) * (rank if len(numbers) == 1 else 1)


@checked
def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` parts that cover `(.., depth, height, width)`; None keeps an extent."""
    return input.adaptive_avg_pool3d(output_size)


@checked
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value` over `[.., length, depth]`, in one kernel.

    With `dropout_p` weights are dropped, also out of training. A query from which a mask hides all keys gives zeros.
    """
    check_probability("scaled_dot_product_attention", dropout_p, "dropout_p")
    if dropout_p == 0:
        return query.scaled_dot_product_attention(
            key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = (x.repeat_interleave(groups, dim=-3) for x in (key, value))
    scores = query @ key.mT * (1 / sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(scores.ones_like().cast("bool").triu(1), float("-inf"))
    if attn_mask is not None:
        is_bool = str(attn_mask.dtype) == "bool"
        scores = where(attn_mask, scores, float("-inf")) if is_bool else scores + attn_mask
    weights = where(scores.amax(-1, True) == float("-inf"), 0.0, scores.softmax(-1))
    return dropout(weights, dropout_p) @ value


def check_strides(name: str, stride: Any, padding: Any) -> None:
    """Whether a result can be as large as its input, where it shall be."""
    if padding == "same" and any(step != 1 for step in (stride if isinstance(stride, Sequence) else [stride])):
        raise ArgumentError(f'{name}: padding="same" is for a stride of 1, not {stride}: say how much is padded')


def _convolved(method: str, input: Tensor, weight: Tensor, bias: Tensor | None, *how: Any) -> Tensor:
    """A convolution; of complex numbers by those of their parts."""
    check_strides(method, how[0], how[1])
    if not (input.is_complex() or weight.is_complex()):
        made: Tensor = getattr(input, method)(weight, bias, *how)
        return made
    of_input, of_weight = ((x.real, x.imag) if x.is_complex() else (x,) for x in (input, weight))
    parts = [[getattr(x, method)(w, None, *how) for w in of_weight] for x in of_input]
    if len(of_input) == 1:
        real, imaginary = parts[0]
    elif len(of_weight) == 1:
        real, imaginary = parts[0][0], parts[1][0]
    else:
        real, imaginary = parts[0][0] - parts[1][1], parts[0][1] + parts[1][0]
    made = joined(real, imaginary)
    return made if bias is None else made + bias.reshape(-1, *[1] * (weight.ndim - 2))
