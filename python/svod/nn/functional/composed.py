"""Layers that compose others: pools of powers, neighbouring channels, draws by logits, classes with margins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import svod
from svod._arguments import checked
from svod._place import device_of, known
from svod._svod import ArgumentError, ShapeError, Tensor, arange, maximum, rand, where
from svod.nn.functional._former import loss
from svod.nn.functional._inplace import placing
from svod.nn.functional.layers import avg_pool
from svod.nn.functional.loss import _reduced, pairwise_distance

__all__ = [
    "channel_shuffle",
    "conv_tbc",
    "grouped_mm",
    "gumbel_softmax",
    "local_response_norm",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "one_hot",
    "pdist",
    "rrelu",
    "triplet_margin_with_distance_loss",
]

_Numbers = int | Sequence[int]


@checked
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """As `svod.channel_shuffle`."""
    return svod.channel_shuffle(input, groups)


@checked
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """The convolution of `(length, batch, in)` with weights `(taps, in, out)`."""
    if input.ndim != 3 or weight.ndim != 3:
        raise ShapeError(f"conv_tbc: three axes each are expected, not {input.shape} and {weight.shape}")
    return input.permute(1, 2, 0).conv1d(weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


@checked
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """As `svod.grouped_mm`."""
    return svod.grouped_mm(mat_a, mat_b, offs=offs, bias=bias, out_dtype=out_dtype)


@checked
def gumbel_softmax(
    logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, axis: int | None = None
) -> Tensor:
    """Draws of classes along an axis that have a derivative (Jang, Gu and Poole 2017); `hard` ones are 0 and 1, with
    the derivative of the soft ones. `eps` has no meaning, as in PyTorch."""
    if tau <= 0:
        raise ArgumentError(f"gumbel_softmax: tau is above 0, not {tau}")
    from svod.library.random import _gumbel

    dim = dim if axis is None else axis
    soft = ((logits + _gumbel(logits, tuple(logits.shape), None).cast(logits.dtype)) / tau).softmax(dim)
    if not hard:
        return soft
    last = soft.movedim(dim, -1)
    chosen = (arange(last.shape[-1]) == last.argmax(-1, True)).cast(soft.dtype).movedim(-1, dim)
    return chosen + (soft - soft.detach())


@checked
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """`x / (k + alpha * mean of the squares of size neighbouring channels) ** beta` (Krizhevsky et al. 2012)."""
    if input.ndim < 3 or size < 1:
        raise ShapeError(
            f"local_response_norm: (batch, channels, ..) and size >= 1 are expected, not {input.shape}, {size}"
        )
    pads = [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (input.ndim - 2)]
    mean = input.square().pad(pads).unfold(1, size, 1).mean(-1)
    return input / (k + alpha * mean) ** beta


@checked
def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window over the last axis, of elements with their signs."""
    return _lp_pool(input, norm_type, [kernel_size], None if stride is None else [stride], ceil_mode)


@checked
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: _Numbers, stride: _Numbers | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window over the last two axes, of elements with their signs."""
    return _lp_pool(input, norm_type, _several(kernel_size, 2), stride, ceil_mode)


@checked
def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: _Numbers, stride: _Numbers | None = None, ceil_mode: bool = False
) -> Tensor:
    """The `norm_type`-norm of each window over the last three axes, of elements with their signs."""
    return _lp_pool(input, norm_type, _several(kernel_size, 3), stride, ceil_mode)


@loss
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: float = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
) -> Tensor:
    """How far each other class of `(batch, classes)` is from `margin` below the target's, to the power `p`, in the mean
    of the classes."""
    scores, classes = (input, target) if input.ndim == 2 else (input.reshape(1, -1), target.reshape(-1))
    # A class below 0 is none, and doesn't count from the end as other indices do.
    classes = where(classes < 0, scores.shape[1], classes.cast("int64"))
    right = scores.gather(1, classes.unsqueeze(1))
    lacking = (margin - right + scores).clamp(min=0) ** p
    if weight is not None:
        lacking = lacking * weight.take(classes, 0).unsqueeze(1)
    is_other = arange(scores.shape[1]) != classes.unsqueeze(1)
    losses = where(is_other, lacking, 0.0).sum(1) / scores.shape[1]
    return _reduced("multi_margin_loss", losses if input.ndim == 2 else losses.squeeze(0), reduction)


@loss
def multilabel_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """How far each class of `(batch, classes)` that is no target is from 1 below each one that is; targets are listed
    first in their row, up to a -1."""
    scores, listed = (x if x.ndim == 2 else x.reshape(1, -1) for x in (input, target))
    classes = scores.shape[1]
    is_listed = (listed < 0).cumsum(1) == 0
    right = scores.gather(1, listed.clamp(min=0))
    is_target = ((arange(classes) == listed.unsqueeze(-1)) & is_listed.unsqueeze(-1)).any(1)
    lacking = (1 - right.unsqueeze(-1) + scores.unsqueeze(1)).clamp(min=0)
    counted = is_listed.unsqueeze(-1) & ~is_target.unsqueeze(1)
    losses = where(counted, lacking, 0.0).sum((1, 2)) / classes
    return _reduced("multilabel_margin_loss", losses if input.ndim == 2 else losses.squeeze(0), reduction)


@checked
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at each index along a new last dimension, else 0; so many classes as the greatest index asks for, which is
    computed now, unless their number is given.

    An index that is none of the classes is an error where it is known: in memory, when no function is traced. Elsewhere
    its row is zeros.

    >>> import svod
    >>> svod.nn.functional.one_hot(svod.Tensor([0, 2])).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    indices = known(tensor)
    if indices is not None and indices.size:
        least, greatest = int(indices.min()), int(indices.max())
        if least < 0 or greatest >= num_classes >= 0:
            wrong = least if least < 0 else greatest
            among = "a class" if num_classes < 0 else f"one of {num_classes} classes"
            raise svod.IndexError(f"one_hot: tensor: {wrong} is not {among}")
    return tensor.one_hot(int(tensor.max().item()) + 1 if num_classes < 0 else num_classes)


@checked
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """As `svod.pdist`."""
    return svod.pdist(input, p)


@checked
@placing
def rrelu(
    input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`x` where it is positive, else `slope * x`, slopes from `lower` to `upper`, or their mean (Xu et al. 2015)."""
    if lower > upper:
        raise ArgumentError(f"rrelu: lower={lower} is above upper={upper}")
    if not training:
        return input.leaky_relu((lower + upper) / 2)
    slope = lower + (upper - lower) * rand(*input.shape, dtype=input.dtype, device=device_of(input))
    return where(input > 0, input, input * slope)


@checked
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """As `triplet_margin_loss`, by any distance of rows."""
    distance: Callable[..., Any] = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return _reduced("triplet_margin_with_distance_loss", maximum(near - far + margin, 0.0), reduction)


def _lp_pool(
    input: Tensor, norm_type: float, kernel: Sequence[int], stride: _Numbers | None, ceil_mode: bool
) -> Tensor:
    """Roots of the sums of powers of windows."""
    elements = 1
    for extent in kernel:
        elements *= extent
    powers = input**norm_type
    powers = powers if powers.dtype.is_floating_point else powers.float()
    mean = avg_pool(powers, kernel, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu() * elements) ** (1 / norm_type)


def _several(numbers: _Numbers, count: int) -> list[int]:
    """One number for each axis."""
    return [numbers] * count if isinstance(numbers, int) else list(numbers)
