"""The layers' operations as functions of tensors, argument order as in `torch.nn.functional`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from svod._svod import ShapeError, Tensor

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
    "conv",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "embedding",
    "gelu",
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
    "softmax",
    "unfold",
]

_Numbers = int | Sequence[int]
_Padding = str | int | Sequence[int] | Sequence[tuple[int, int]]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x @ weight.T + bias` over the last axis of `x`; `weight` is `(out, in)`."""
    return x.linear(weight, bias)


def embedding(ids: Tensor, weight: Tensor) -> Tensor:
    """Row `ids[...]` of `weight` for every entry of an integer tensor: shape `ids.shape + (dim,)`."""
    return weight[ids]


def layer_norm(
    x: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes the last axes, of extents `normalized_shape` (Ba, Kiros and Hinton 2016), then scales and shifts.

    `weight` and `bias` have the shape `normalized_shape`.
    """
    rows, (scale, shift) = _rows("layer_norm", x, normalized_shape, weight, bias)
    return rows.layer_norm(scale, shift, eps=eps).reshape(*x.shape)


def gelu(x: Tensor) -> Tensor:
    """`x * Φ(x)` with the exact error function (Hendrycks and Gimpel 2016)."""
    return x.gelu()


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """`exp(x)` divided by its sum along `axis`."""
    return x.softmax(axis)


def normalize(x: Tensor, axis: int = -1, eps: float = 1e-12) -> Tensor:
    """`x` divided by its Euclidean length along `axis`; lengths below `eps` count as `eps`."""
    return x.normalize(dim=axis, eps=eps)


def mean_pool(x: Tensor, mask: Tensor) -> Tensor:
    """Mean of `x` `(batch, length, dim)` over the positions where `mask` `(batch, length)` is 1."""
    weight = mask.to(x.dtype).unsqueeze(-1)
    return (x * weight).sum(1) / weight.sum(1).clamp(min=1e-9)


def rms_norm(
    x: Tensor, normalized_shape: int | Sequence[int], weight: Tensor | None = None, eps: float = 1e-6
) -> Tensor:
    """Divides the last axes, of extents `normalized_shape`, by the root of their mean square, then scales.

    Zhang and Sennrich 2019. `eps` is added to the mean square.
    """
    rows, (scale,) = _rows("rms_norm", x, normalized_shape, weight)
    return rows.rms_norm(scale, eps=eps).reshape(*x.shape)


def _rows(
    name: str, x: Tensor, normalized_shape: int | Sequence[int], *parameters: Tensor | None
) -> tuple[Tensor, list[Tensor | None]]:
    """`x` and its parameters with the normalized axes as one, the last."""
    extents = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not extents or tuple(x.shape[-len(extents) :]) != extents:
        raise ShapeError(f"{name}: the last axes of {tuple(x.shape)} are not {extents}")
    for parameter in parameters:
        if parameter is not None and tuple(parameter.shape) != extents:
            raise ShapeError(f"{name}: a parameter of shape {tuple(parameter.shape)} for axes {extents}")
    if len(extents) == 1:
        return x, list(parameters)
    flat = [None if p is None else p.reshape(-1) for p in parameters]
    return x.reshape(*x.shape[: -len(extents)], prod(extents)), flat


def batch_norm(
    x: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    eps: float = 1e-5,
) -> Tensor:
    """Normalizes each channel of `(batch, channels, ..)` (Ioffe and Szegedy 2015), then scales and shifts.

    By the running statistics, or in `training` by those of this batch; the running ones stay as they are.
    """
    if training:
        return x.batch_norm(None, None, weight, bias, eps)
    return x.batch_norm(running_mean, running_var, weight, bias, eps)


def group_norm(
    x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Normalizes groups of the channels of `(batch, channels, ..)` (Wu and He 2018), then scales and shifts."""
    return x.group_norm(num_groups, weight, bias, eps)


def instance_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """Normalizes each channel of each item of `(batch, channels, ..)`, then scales and shifts."""
    return x.instance_norm(weight, bias, eps)


def unfold(
    x: Tensor, kernel_size: _Numbers, dilation: _Numbers = 1, padding: _Numbers = 0, stride: _Numbers = 1
) -> Tensor:
    """The windows of `(batch, channels, height, width)` as columns: `(batch, channels * elements, windows)`."""
    kernel = [kernel_size, kernel_size] if isinstance(kernel_size, int) else list(kernel_size)
    return x.im2col(kernel, stride, padding, dilation)


def conv(
    x: Tensor,
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
    return x.conv(weight, bias, stride, padding, dilation, groups)


def conv_transpose(
    x: Tensor,
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
    return x.conv_transpose(weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The maximum of each window over the last `len(kernel_size)` axes, side by side unless `stride` is given."""
    return x.max_pool(kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool(
    x: Tensor,
    kernel_size: Sequence[int],
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over the last `len(kernel_size)` axes, side by side unless `stride` is given."""
    return x.avg_pool(kernel_size, stride, padding, ceil_mode, count_include_pad)


def adaptive_avg_pool(x: Tensor, output_size: Sequence[int | None]) -> Tensor:
    """The means of so many parts of the last `len(output_size)` axes that cover them; None keeps an extent."""
    return x.adaptive_avg_pool(output_size)


def conv1d(
    x: Tensor,
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
    return x.conv1d(weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    x: Tensor,
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
    return x.conv_transpose1d(weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool1d(
    x: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The maximum of each window over `(.., length)`, side by side unless `stride` is given."""
    return x.max_pool1d(kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool1d(
    x: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over `(.., length)`, side by side unless `stride` is given."""
    return x.avg_pool1d(kernel_size, stride, padding, ceil_mode, count_include_pad)


def adaptive_avg_pool1d(x: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` parts that cover `(.., length)`; None keeps an extent."""
    return x.adaptive_avg_pool1d(output_size)


def conv2d(
    x: Tensor,
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
    return x.conv2d(weight, bias, stride, padding, dilation, groups)


def conv_transpose2d(
    x: Tensor,
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
    return x.conv_transpose2d(weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool2d(
    x: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The maximum of each window over `(.., height, width)`, side by side unless `stride` is given."""
    return x.max_pool2d(kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool2d(
    x: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over `(.., height, width)`, side by side unless `stride` is given."""
    return x.avg_pool2d(kernel_size, stride, padding, ceil_mode, count_include_pad)


def adaptive_avg_pool2d(x: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` parts that cover `(.., height, width)`; None keeps an extent."""
    return x.adaptive_avg_pool2d(output_size)


def conv3d(
    x: Tensor,
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
    return x.conv3d(weight, bias, stride, padding, dilation, groups)


def conv_transpose3d(
    x: Tensor,
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
    return x.conv_transpose3d(weight, bias, stride, padding, output_padding, groups, dilation)


def max_pool3d(
    x: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> Tensor:
    """The maximum of each window over `(.., depth, height, width)`, side by side unless `stride` is given."""
    return x.max_pool3d(kernel_size, stride, padding, dilation, ceil_mode)


def avg_pool3d(
    x: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over `(.., depth, height, width)`, side by side unless `stride` is given."""
    return x.avg_pool3d(kernel_size, stride, padding, ceil_mode, count_include_pad)


def adaptive_avg_pool3d(x: Tensor, output_size: int | Sequence[int | None]) -> Tensor:
    """The means of `output_size` parts that cover `(.., depth, height, width)`; None keeps an extent."""
    return x.adaptive_avg_pool3d(output_size)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`softmax(query @ key.T * scale + attn_mask) @ value` over `[.., length, depth]`, in one kernel."""
    return query.scaled_dot_product_attention(
        key, value, attn_mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa
    )
