"""Elements and channels dropped at random."""

from __future__ import annotations

from math import sqrt

from svod._arguments import checked
from svod._place import device_of
from svod._svod import ArgumentError, ShapeError, Tensor, rand, where
from svod.nn.functional._inplace import placing

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def check_probability(name: str, p: float, parameter: str = "p") -> None:
    """Raises the error of a number that is no probability."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"{name}: {parameter}={p} is no probability")


def _kept(input: Tensor, p: float, leading: int | None = None) -> Tensor:
    """Where a draw keeps elements, or all elements with the same first `leading` positions."""
    shape = tuple(input.shape)
    if leading is not None:
        shape = (*shape[:leading], *[1] * (len(shape) - leading))
    return rand(shape, device=device_of(input)) >= p


@checked
@placing
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each element 0 with probability `p`, else divided by `1 - p` (Srivastava et al. 2014), if `training`."""
    check_probability("dropout", p)
    if not training or p == 0:
        return input
    return where(_kept(input, p), input / (1 - p), 0.0) if p < 1 else input * 0


@checked
@placing
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of `([batch,] channels, length)`."""
    return _channels("dropout1d", input, p, training, 1)


@checked
@placing
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of `([batch,] channels, height, width)` (Tompson et al. 2015)."""
    return _channels("dropout2d", input, p, training, 2)


@checked
@placing
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """`dropout` of whole channels of `([batch,] channels, depth, height, width)`."""
    return _channels("dropout3d", input, p, training, 3)


def _channels(name: str, input: Tensor, p: float, training: bool, spatial: int) -> Tensor:
    check_probability(name, p)
    if not training or p == 0:
        return input
    return where(_kept(input, p, input.ndim - spatial), input / (1 - p), 0.0) if p < 1 else input * 0


def _features(name: str, input: Tensor, p: float, training: bool) -> Tensor:
    """`dropout` of whole channels, the second axis."""
    if input.ndim < 2:
        raise ShapeError(f"{name}: (batch, channels, ..) is expected, not {tuple(input.shape)}")
    return _channels(name, input, p, training, input.ndim - 2)


@checked
@placing
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`dropout` to what `selu` gives for -∞, scaled and shifted to keep mean and variance (Klambauer et al. 2017)."""
    return _alpha("alpha_dropout", input, p, training, None)


@checked
@placing
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels of `(batch, channels, ..)`."""
    if input.ndim < 2:
        raise ShapeError(f"feature_alpha_dropout: (batch, channels, ..) is expected, not {tuple(input.shape)}")
    return _alpha("feature_alpha_dropout", input, p, training, 2)


def _alpha(name: str, input: Tensor, p: float, training: bool, leading: int | None) -> Tensor:
    check_probability(name, p)
    if not training or p == 0:
        return input
    if p == 1:
        return input * 0
    low = -1.0507009873554805 * 1.6732632423543772
    scale = 1 / sqrt((1 - p) * (1 + p * low * low))
    return where(_kept(input, p, leading), input, low) * scale - scale * p * low
