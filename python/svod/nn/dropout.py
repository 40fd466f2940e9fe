"""Layers that drop elements or channels in training (Srivastava et al. 2014)."""

from __future__ import annotations

from svod._module import Module
from svod._svod import Tensor
from svod.nn import functional as F
from svod.nn.functional.dropout import check_probability

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _Dropping(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        check_probability(type(self).__name__, p)
        self.p = p

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout(_Dropping):
    """In training each element is 0 with probability `p`, else divided by `1 - p`; out of training it is itself.

    >>> import svod
    >>> layer = svod.nn.Dropout(0.5)
    >>> sorted(set(layer(svod.ones(100)).tolist()))
    [0.0, 2.0]
    >>> layer.eval()(svod.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)


class Dropout1d(_Dropping):
    """`Dropout` of whole channels of `(batch, channels, length)`."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout1d(x, self.p, self.training)


class Dropout2d(_Dropping):
    """`Dropout` of whole channels of `(batch, channels, height, width)` (Tompson et al. 2015)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training)


class Dropout3d(_Dropping):
    """`Dropout` of whole channels of `(batch, channels, depth, height, width)`."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout3d(x, self.p, self.training)


class AlphaDropout(_Dropping):
    """`Dropout` for `SELU`: to what it gives for -∞; mean and variance stay (Klambauer et al. 2017)."""

    def forward(self, x: Tensor) -> Tensor:
        return F.alpha_dropout(x, self.p, self.training)


class FeatureAlphaDropout(_Dropping):
    """`AlphaDropout` of whole channels of `(batch, channels, ..)`."""

    def forward(self, x: Tensor) -> Tensor:
        return F.feature_alpha_dropout(x, self.p, self.training)
