"""Ways to draw the first value of a parameter: each assigns to a tensor, and gives it.

Numbers come from svod's generator (`svod.manual_seed`). Shapes of weights are `(out, in, ..kernel)`.

>>> import svod
>>> layer = svod.nn.Linear(3, 2)
>>> svod.nn.init.constant_(layer.bias, 0.5).tolist()
[0.5, 0.5]
"""

from __future__ import annotations

from math import ceil, erf, prod, sqrt

import numpy as np

from svod._arguments import checked
from svod._grad import no_grad
from svod._svod import ArgumentError, ShapeError, Tensor, eye, float32, rand, randn, where

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

# The factor by which a nonlinearity lessens what goes through it (He et al. 2015).
_GAINS = {"tanh": 5 / 3, "relu": sqrt(2), "selu": 3 / 4}
_LINEAR = ("linear", "sigmoid", *(f"conv{'_transpose' * t}{n}d" for n in (1, 2, 3) for t in (0, 1)))


def _filled(tensor: Tensor, value: Tensor | float) -> Tensor:
    with no_grad():
        return tensor.assign(value).realize()


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(int(extent) for extent in tensor.shape)


@checked
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform between `a` and `b`."""
    return _filled(tensor, a + (b - a) * rand(_shape(tensor)))


@checked
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal."""
    return _filled(tensor, mean + std * randn(_shape(tensor)))


@checked
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> Tensor:
    """Normal, of the values between `a` and `b`: those of the inverse of the distribution between these."""
    low, high = (_below((bound - mean) / std) for bound in (a, b))
    share = low + (high - low) * rand(_shape(tensor))
    return _filled(tensor, (mean + std * _quantile(share)).clamp(a, b))


@checked
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value."""
    return _filled(tensor, val)


@checked
def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return _filled(tensor, 1.0)


@checked
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return _filled(tensor, 0.0)


@checked
def eye_(tensor: Tensor) -> Tensor:
    """Ones on the diagonal of a matrix."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_: a matrix is expected, not a tensor of shape {_shape(tensor)}")
    rows, columns = _shape(tensor)
    return _filled(tensor, eye(rows, columns))


@checked
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Convolution weights that keep channels as they are, as many as there are outputs of a group."""
    shape = _shape(tensor)
    if not 3 <= len(shape) <= 5 or shape[0] % groups:
        raise ShapeError(f"dirac_: weights of a convolution with {groups} groups are expected, not of shape {shape}")
    per_group = shape[0] // groups
    value = np.zeros(shape, np.float32)
    centre = tuple(extent // 2 for extent in shape[2:])
    for group in range(groups):
        for channel in range(min(per_group, shape[1])):
            value[(group * per_group + channel, channel, *centre)] = 1
    return _filled(tensor, Tensor(value))


@checked
def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights before a nonlinearity are to be larger; `param` is the slope of `"leaky_relu"`."""
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity == "leaky_relu":
        return sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in _GAINS:
        known = sorted([*_GAINS, *_LINEAR, "leaky_relu"])
        raise ArgumentError(f"calculate_gain: {nonlinearity!r} is none of {known}")
    return _GAINS[nonlinearity]


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output has, and the reverse."""
    shape = _shape(tensor)
    if len(shape) < 2:
        raise ShapeError(f"weights of at least 2 dimensions have inputs and outputs, not a tensor of shape {shape}")
    field = prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f'mode is "fan_in" or "fan_out", not {mode!r}')
    return _fans(tensor)[mode == "fan_out"]


@checked
def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform, of deviation `gain · sqrt(2 / (in + out))` (Glorot and Bengio 2010)."""
    bound = gain * sqrt(6 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


@checked
def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal, of deviation `gain · sqrt(2 / (in + out))` (Glorot and Bengio 2010)."""
    return normal_(tensor, 0.0, gain * sqrt(2 / sum(_fans(tensor))))


@checked
def kaiming_uniform_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Uniform, of deviation `gain / sqrt(in)`, or out (He et al. 2015); `a` is the slope of `"leaky_relu"`."""
    bound = calculate_gain(nonlinearity, a) * sqrt(3 / _fan(tensor, mode))
    return uniform_(tensor, -bound, bound)


@checked
def kaiming_normal_(tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> Tensor:
    """Normal, of deviation `gain / sqrt(in)`, or out (He et al. 2015); `a` is the slope of `"leaky_relu"`."""
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / sqrt(_fan(tensor, mode)))


@checked
def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Rows, or columns where these are fewer, of norm `gain` at right angles (Saxe, McClelland and Ganguli 2014).

    Axes behind the first are one. The matrix is the orthogonal factor of one of normal numbers.
    """
    shape = _shape(tensor)
    if len(shape) < 2:
        raise ShapeError(f"orthogonal_: at least 2 dimensions are expected, not a tensor of shape {shape}")
    rows, columns = shape[0], prod(shape[1:])
    drawn = randn((rows, columns)).numpy().astype(np.float64)
    q, r = np.linalg.qr(drawn if rows >= columns else drawn.T)
    q = q * np.sign(np.diagonal(r))
    value = gain * (q if rows >= columns else q.T).reshape(shape)
    return _filled(tensor, Tensor(value).cast(float32))


@checked
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """A matrix `(rows, columns)` of normal numbers, of each column a share of `sparsity` zeros (Martens 2010).

    >>> import svod
    >>> w = svod.nn.init.sparse_(svod.zeros(10, 3), sparsity=0.25)
    >>> (w == 0).sum(0).tolist()
    [3, 3, 3]
    """
    if tensor.ndim != 2:
        raise ShapeError(f"sparse_: a matrix is expected, not a tensor of shape {_shape(tensor)}")
    if not 0 <= sparsity <= 1:
        raise ArgumentError(f"sparse_: sparsity: from 0 to 1, not {sparsity}")
    shape = _shape(tensor)
    # Where each element of a column is in an order that is drawn.
    rank = rand(shape).argsort(0).argsort(0)
    return _filled(tensor, where(rank < ceil(sparsity * shape[0]), 0.0, std * randn(shape)))


def _below(x: float) -> float:
    """The share of a normal distribution below a value."""
    return (1 + erf(x / sqrt(2))) / 2


def _quantile(share: Tensor) -> Tensor:
    """The values below which shares of a normal distribution are: Newton's steps from a logistic guess."""
    share = share.double().clamp(1e-12, 1 - 1e-12)
    x = ((share / (1 - share)).log() / 1.702).clamp(-6.0, 6.0)
    for _ in range(6):
        density = (-x.square() / 2).exp() / sqrt(2 * np.pi)
        x = x - (((1 + (x / sqrt(2)).erf()) / 2 - share) / density).clamp(-1.0, 1.0)
    return x
