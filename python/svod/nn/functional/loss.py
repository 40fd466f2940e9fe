"""Losses: what a prediction lacks, by element, and their mean or sum."""

from __future__ import annotations

from math import log, pi

from svod._arguments import checked
from svod._svod import ArgumentError, ArgumentTypeError, ShapeError, Tensor, where
from svod.library.manipulation import broadcast_arrays
from svod.nn.functional._former import loss

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "pairwise_distance",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
]

# Where a probability's distances to 0 and 1 have a smaller product, its cross entropy goes on as a line.
_FLAT = 1e-12


def _reduced(name: str, losses: Tensor, reduction: str) -> Tensor:
    """The `"mean"` or `"sum"` of losses, or these themselves with `"none"`."""
    if reduction == "none":
        return losses
    if reduction not in ("mean", "sum"):
        raise ArgumentError(f'{name}: reduction is "mean", "sum" or "none", not {reduction!r}')
    return losses.mean() if reduction == "mean" else losses.sum()


def _alike(name: str, input: Tensor, target: Tensor) -> None:
    if tuple(input.shape) != tuple(target.shape):
        raise ShapeError(f"{name}: an input of shape {tuple(input.shape)}, a target of {tuple(target.shape)}")


@loss
def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """`(x - y)²`.

    >>> import svod
    >>> svod.nn.functional.mse_loss(svod.Tensor([1.0, 2.0]), svod.Tensor([1.0, 4.0])).item()
    2.0
    """
    _alike("mse_loss", input, target)
    return _reduced("mse_loss", (input - target).square(), reduction)


@loss
def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """`|x - y|`."""
    _alike("l1_loss", input, target)
    return _reduced("l1_loss", (input - target).abs(), reduction)


@loss
def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """`d² / (2·beta)` for distances `d` below `beta`, else `d - beta / 2` (Girshick 2015)."""
    _alike("smooth_l1_loss", input, target)
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss: beta={beta} is no distance")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    apart = input - target
    far = apart.abs()
    return _reduced("smooth_l1_loss", where(far < beta, apart.square() / (2 * beta), far - beta / 2), reduction)


@checked
def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """`d² / 2` for distances `d` up to `delta`, else `delta · (d - delta / 2)` (Huber 1964)."""
    _alike("huber_loss", input, target)
    if not delta > 0:
        raise ArgumentError(f"huber_loss: delta={delta} is not above 0")
    apart = input - target
    far = apart.abs()
    return _reduced("huber_loss", where(far <= delta, apart.square() / 2, delta * (far - delta / 2)), reduction)


@loss
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative logarithm of the softmax of logits `(batch, classes, ..)` at a label, `(batch, ..)`.

    Or at probabilities of all classes, a float `target` of the shape of `input`. `weight` is one for each class; the
    mean is weighted. Labels that are `ignore_index` do not count. `label_smoothing` is the share of the target that is
    spread evenly over all classes (Szegedy et al. 2016).

    >>> import svod
    >>> logits = svod.Tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> round(svod.nn.functional.cross_entropy(logits, svod.Tensor([0, 1])).item(), 4)
    0.1269
    """
    classes = 1 if input.ndim > 1 else 0
    logs = input.log_softmax(classes)
    count = input.shape[classes]
    by_class = None if weight is None else _by_class("cross_entropy", weight, logs, classes)
    if target.dtype.is_floating_point:
        _alike("cross_entropy", input, target)
        if label_smoothing:
            target = target * (1 - label_smoothing) + label_smoothing / count
        losses = -(logs * target if by_class is None else logs * target * by_class).sum(classes)
        return _reduced("cross_entropy", losses, reduction)
    losses, counts = _at_labels("cross_entropy", logs, target, weight, ignore_index, classes)
    if label_smoothing:
        even = -(logs if by_class is None else logs * by_class).sum(classes)
        even = where(target == ignore_index, 0.0, even)
        losses = losses * (1 - label_smoothing) + even * (label_smoothing / count)
    return _weighted("cross_entropy", losses, counts, reduction)


@checked
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
) -> Tensor:
    """`cross_entropy` of `linear`, whose result has the classes last: `(.., classes)` at labels `(..,)`."""
    logits = input.linear(linear_weight, linear_bias)
    if not target.dtype.is_floating_point and logits.ndim > 2:
        logits, target = logits.flatten(0, -2), target.flatten()
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


@loss
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """The negative of log-probabilities `(batch, classes, ..)` at a label, `(batch, ..)`; see `cross_entropy`."""
    losses, counts = _at_labels("nll_loss", input, target, weight, ignore_index, 1 if input.ndim > 1 else 0)
    return _weighted("nll_loss", losses, counts, reduction)


def _at_labels(
    name: str, logs: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, classes: int
) -> tuple[Tensor, Tensor]:
    """The weighted losses of labels, and the weights."""
    if target.dtype.is_floating_point:
        raise ArgumentTypeError(f"{name}: target: labels are integers, not {target.dtype}")
    if tuple(target.shape) != (*logs.shape[:classes], *logs.shape[classes + 1 :]):
        raise ShapeError(f"{name}: labels of shape {tuple(target.shape)} for an input of {tuple(logs.shape)}")
    ignored = target == ignore_index
    # A label below 0 is no class, as one beyond the last is none: it doesn't count from the end as other indices do.
    labels = where(ignored, 0, where(target < 0, logs.shape[classes], target.cast("int64")))
    weights = 1.0 if weight is None else weight[labels]
    losses = -logs.gather(classes, labels.unsqueeze(classes)).squeeze(classes)
    counts = where(ignored, 0.0, weights).cast(logs.dtype)
    # What is ignored passes nothing on, whatever the cotangent is: that of the mean of no labels is infinite.
    return where(ignored, 0.0, losses * weights).cast(logs.dtype), counts


def _weighted(name: str, losses: Tensor, counts: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return losses.sum() / counts.sum()
    return _reduced(name, losses, reduction)


def _by_class(name: str, weight: Tensor, logs: Tensor, classes: int) -> Tensor:
    if tuple(weight.shape) != (logs.shape[classes],):
        raise ShapeError(f"{name}: weights of shape {tuple(weight.shape)} for {logs.shape[classes]} classes")
    return weight.reshape(-1, *[1] * (logs.ndim - classes - 1))


@loss
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """`-(y·log(x) + (1 - y)·log(1 - x))` of probabilities; logarithms count as no less than -100.

    Its slope is that of PyTorch's, `(x - y) / max(x·(1 - x), 1e-12)`, which is finite where a probability is 0 or 1.
    """
    _alike("binary_cross_entropy", input, target)
    known = input.detach()
    at_an_end = known * (1 - known) < _FLAT
    within = where(at_an_end, known, input)
    losses = -(target * within.log().maximum(-100.0) + (1 - target) * (1 - within).log().maximum(-100.0))
    losses = losses + where(at_an_end, (input - known) * ((known - target.detach()) / _FLAT), 0.0)
    return _reduced("binary_cross_entropy", losses if weight is None else losses * weight, reduction)


@loss
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(x)`, without overflow; `pos_weight` multiplies the part of `y`."""
    _alike("binary_cross_entropy_with_logits", input, target)
    positive = 1.0 if pos_weight is None else 1 + (pos_weight - 1) * target
    losses = (1 - target) * input + positive * (-input).softplus()
    return _reduced("binary_cross_entropy_with_logits", losses if weight is None else losses * weight, reduction)


@loss
def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """`y·(log(y) - x)`: the divergence of probabilities `y` from those of logarithm `x` (Kullback and Leibler 1951).

    With `log_target` the target is a logarithm too. `reduction="batchmean"` is the sum divided by the extent of axis 0.
    """
    if log_target:
        losses = target.exp() * (target - input)
    else:
        # No probability is negative: of such a target NaN.
        logs = where(target == 0, 1.0, target).log()
        losses = where(target == 0, target * 0, target * logs) - target * input
    if reduction == "batchmean":
        total: Tensor = losses.sum() / input.shape[0]
        return total
    return _reduced("kl_div", losses, reduction)


@loss
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:
    """`exp(x) - y·x`, or `x - y·log(x + eps)` without `log_input`: counts `y` at a rate.

    With `full` Stirling's approximation of `log(y!)` is added where `y` is above 1.
    """
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        above = where(target > 1, target, 1.0)
        stirling = above * above.log() - above + 0.5 * (2 * pi * above).log()
        losses = losses + where(target > 1, stirling, 0.0)
    return _reduced("poisson_nll_loss", losses, reduction)


@checked
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """`(log(var) + (x - y)² / var) / 2`, with variances of at least `eps` (Nix and Weigend 1994).

    `var` has the input's shape, or lacks its last axis or has it with extent 1. With `full` the constant of the density
    is added.
    """
    if not isinstance(var, Tensor):
        var = input.full_like(var)
    elif var.ndim == input.ndim - 1:
        var = var.unsqueeze(-1)
    # No derivative by how far a variance is below the least.
    var = var + (var.maximum(eps) - var).detach()
    losses = 0.5 * (var.log() + (input - target).square() / var)
    return _reduced("gaussian_nll_loss", losses + 0.5 * log(2 * pi) if full else losses, reduction)


@loss
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean") -> Tensor:
    """Distances `x` where `y` is 1, what they lack of `margin` where it is -1."""
    # As PyTorch has it, another label has both parts.
    losses = where(target.eq(-1), 0.0, input) + where(target.eq(1), 0.0, (margin - input).relu())
    return _reduced("hinge_embedding_loss", losses, reduction)


@loss
def soft_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """`log(1 + exp(-y·x))` with `y` 1 or -1."""
    _alike("soft_margin_loss", input, target)
    return _reduced("soft_margin_loss", (-target * input).softplus(), reduction)


@loss
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """The mean over classes, the last axis, of `binary_cross_entropy_with_logits`."""
    losses = binary_cross_entropy_with_logits(input, target, weight, reduction="none").mean(-1)
    return _reduced("multilabel_soft_margin_loss", losses, reduction)


@loss
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """What `y·(x1 - x2)` lacks of `margin`: the first is to be ranked higher where `y` is 1, lower where it is -1."""
    return _reduced("margin_ranking_loss", (margin - target * (input1 - input2)).relu(), reduction)


@checked
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8, *, axis: int | None = None) -> Tensor:
    """The cosine of the angle between vectors along an axis; squared norms count as at least `eps²`.

    Of types narrower than `float32`, whose squares overflow, it is computed in that.
    """
    along = dim if axis is None else axis
    # A vector that is repeated along the axis is as long as that says.
    x1, x2 = broadcast_arrays(x1, x2)
    if x1.dtype.name in ("float16", "bfloat16") and x1.dtype == x2.dtype:
        return cosine_similarity(x1.cast("float32"), x2.cast("float32"), along, eps).cast(x1.dtype)
    of_one, of_other = (x.square().sum(along).maximum(eps * eps).sqrt() for x in (x1, x2))
    return (x1 * x2).sum(along) / (of_one * of_other)


@loss
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """`1 - cos(x1, x2)` where `y` is 1, what the cosine is above `margin` where it is -1."""
    cosine = cosine_similarity(input1, input2, input1.ndim - 1)
    losses = where(target.eq(1), 1 - cosine, 0.0) + where(target.eq(-1), (cosine - margin).relu(), 0.0)
    return _reduced("cosine_embedding_loss", losses, reduction)


@checked
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False, *, keepdims: bool = False
) -> Tensor:
    """The `p`-norm of `x1 - x2 + eps` along the last axis."""
    return (x1 - x2 + eps).norm(p, -1, keepdim=keepdim or keepdims)


@loss
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    *,
    reduction: str = "mean",
) -> Tensor:
    """What the distance to the negative lacks of that to the positive and `margin` (Balntas et al. 2016).

    With `swap` the negative's distance is that to the nearer of anchor and positive.
    """
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduced("triplet_margin_loss", (margin + near - far).relu(), reduction)
