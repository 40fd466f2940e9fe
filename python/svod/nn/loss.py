"""Losses as layers: the functions of `svod.nn.functional` with their options."""

from __future__ import annotations

from collections.abc import Callable

from svod._svod import Tensor
from svod.nn import functional as F
from svod.nn._function import FunctionModule

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CosineSimilarity",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PairwiseDistance",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class MSELoss(FunctionModule):
    """Squared distances; see `functional.mse_loss`."""

    _function = staticmethod(F.mse_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class L1Loss(FunctionModule):
    """Distances; see `functional.l1_loss`."""

    _function = staticmethod(F.l1_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class SmoothL1Loss(FunctionModule):
    """Squares near 0, distances elsewhere; see `functional.smooth_l1_loss`."""

    _function = staticmethod(F.smooth_l1_loss)

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)


class HuberLoss(FunctionModule):
    """Squares near 0, distances elsewhere; see `functional.huber_loss`."""

    _function = staticmethod(F.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction, delta=delta)


class CrossEntropyLoss(FunctionModule):
    """Logits at labels, or at probabilities of classes; see `functional.cross_entropy`."""

    _function = staticmethod(F.cross_entropy)

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)


class NLLLoss(FunctionModule):
    """Log-probabilities at labels; see `functional.nll_loss`."""

    _function = staticmethod(F.nll_loss)

    def __init__(self, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction)


class BCELoss(FunctionModule):
    """Probabilities of yes and no; see `functional.binary_cross_entropy`."""

    _function = staticmethod(F.binary_cross_entropy)

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(FunctionModule):
    """Logits of yes and no; see `functional.binary_cross_entropy_with_logits`."""

    _function = staticmethod(F.binary_cross_entropy_with_logits)

    def __init__(
        self, weight: Tensor | None = None, *, reduction: str = "mean", pos_weight: Tensor | None = None
    ) -> None:
        super().__init__(weight=weight, reduction=reduction, pos_weight=pos_weight)


class CTCLoss(FunctionModule):
    """All ways to read labels from a sequence; see `functional.ctc_loss`."""

    _function = staticmethod(F.ctc_loss)

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity)


class KLDivLoss(FunctionModule):
    """The divergence of distributions; see `functional.kl_div`."""

    _function = staticmethod(F.kl_div)

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)


class PoissonNLLLoss(FunctionModule):
    """Counts at a rate; see `functional.poisson_nll_loss`."""

    _function = staticmethod(F.poisson_nll_loss)

    def __init__(
        self, log_input: bool = True, full: bool = False, *, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        super().__init__(log_input=log_input, full=full, eps=eps, reduction=reduction)


class GaussianNLLLoss(FunctionModule):
    """Means and variances, called with input, target and variance; see `functional.gaussian_nll_loss`."""

    _function = staticmethod(F.gaussian_nll_loss)

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(full=full, eps=eps, reduction=reduction)


class HingeEmbeddingLoss(FunctionModule):
    """Distances of what is alike and what is not; see `functional.hinge_embedding_loss`."""

    _function = staticmethod(F.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class SoftMarginLoss(FunctionModule):
    """The logistic loss; see `functional.soft_margin_loss`."""

    _function = staticmethod(F.soft_margin_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class MultiLabelSoftMarginLoss(FunctionModule):
    """Several labels of each item; see `functional.multilabel_soft_margin_loss`."""

    _function = staticmethod(F.multilabel_soft_margin_loss)

    def __init__(self, weight: Tensor | None = None, *, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)


class MarginRankingLoss(FunctionModule):
    """Which of two is higher; see `functional.margin_ranking_loss`."""

    _function = staticmethod(F.margin_ranking_loss)

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class CosineEmbeddingLoss(FunctionModule):
    """Angles of what is alike and what is not; see `functional.cosine_embedding_loss`."""

    _function = staticmethod(F.cosine_embedding_loss)

    def __init__(self, margin: float = 0.0, *, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class TripletMarginLoss(FunctionModule):
    """An anchor, what is alike, and what is not; see `functional.triplet_margin_loss`."""

    _function = staticmethod(F.triplet_margin_loss)

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, *, reduction: str = "mean"
    ) -> None:
        super().__init__(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)


class TripletMarginWithDistanceLoss(FunctionModule):
    """The same by any distance of rows; see `functional.triplet_margin_with_distance_loss`."""

    _function = staticmethod(F.triplet_margin_with_distance_loss)

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)


class MultiMarginLoss(FunctionModule):
    """What the target's class lacks of a margin above each other one; see `functional.multi_margin_loss`."""

    _function = staticmethod(F.multi_margin_loss)

    def __init__(
        self, p: float = 1, margin: float = 1.0, weight: Tensor | None = None, *, reduction: str = "mean"
    ) -> None:
        super().__init__(p=p, margin=margin, weight=weight, reduction=reduction)


class MultiLabelMarginLoss(FunctionModule):
    """The same of several targets, which are listed; see `functional.multilabel_margin_loss`."""

    _function = staticmethod(F.multilabel_margin_loss)

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class CosineSimilarity(FunctionModule):
    """Cosines of angles along an axis; see `functional.cosine_similarity`."""

    _function = staticmethod(F.cosine_similarity)

    def __init__(self, dim: int = 1, eps: float = 1e-8, *, axis: int | None = None) -> None:
        super().__init__(dim=dim if axis is None else axis, eps=eps)


class PairwiseDistance(FunctionModule):
    """Norms of differences along the last axis; see `functional.pairwise_distance`."""

    _function = staticmethod(F.pairwise_distance)

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False, *, keepdims: bool = False) -> None:
        super().__init__(p=p, eps=eps, keepdim=keepdim or keepdims)
