"""Functions of each element, and those that make weights of a row."""

from __future__ import annotations

from typing import Any

from svod._arguments import checked
from svod._svod import ArgumentError, ArgumentTypeError, Tensor, where
from svod.nn.functional._inplace import placing

__all__ = [
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


@checked
@placing
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """`max(x, 0)`."""
    return input.relu()


@checked
@placing
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`min(max(x, 0), 6)` (Krizhevsky 2010)."""
    return hardtanh(input, 0.0, 6.0)


@checked
@placing
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` between two values, else the nearer of them; flat from these on."""
    if min_val > max_val:
        raise ArgumentError(f"hardtanh: min_val={min_val} is above max_val={max_val}")
    made = where(input <= min_val, min_val, where(input >= max_val, max_val, input))
    return made if input.dtype.is_floating_point else made.cast(input.dtype)


@checked
@placing
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """`relu6(x + 3) / 6`."""
    return relu6(input + 3) / 6


@checked
@placing
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x · relu6(x + 3) / 6` (Howard et al. 2019)."""
    return input * hardsigmoid(input)


@checked
@placing
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `negative_slope · x` (Maas, Hannun and Ng 2013)."""
    return input.leaky_relu(negative_slope)


@checked
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`x` where it is positive, else `weight · x`: one weight, or one for each channel, axis 1 (He et al. 2015)."""
    if weight.numel() != 1:
        weight = weight.reshape(weight.numel(), *[1] * (input.ndim - 2)) if input.ndim > 1 else weight
    return where(input > 0, input, weight * input)


@checked
@placing
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `alpha · (exp(x) - 1)` (Clevert, Unterthiner and Hochreiter 2016)."""
    return where(input > 0, input, alpha * _expm1(input.minimum(0)))


@checked
@placing
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`x` where it is positive, else `alpha · (exp(x / alpha) - 1)` (Barron 2017)."""
    if alpha == 0:
        raise ArgumentError("celu: alpha=0 divides by 0")
    return where(input > 0, input, alpha * _expm1(input.minimum(0) / alpha))


@checked
@placing
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu`, scaled so that means of 0 and variances of 1 are kept (Klambauer et al. 2017)."""
    return 1.0507009873554805 * elu(input, 1.6732632423543772)


@checked
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`x * Φ(x)` with the exact error function (Hendrycks and Gimpel 2016), or by their formula with `"tanh"`."""
    return input.gelu(approximate)


@checked
@placing
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """`x · sigmoid(x)` (Elfwing, Uchibe and Doya 2018)."""
    return input.silu()


@checked
@placing
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """`x · tanh(softplus(x))` (Misra 2019)."""
    return input * input.softplus().tanh()


@checked
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """`log(1 + exp(beta · x)) / beta`; `x` itself where `beta · x` is above `threshold`."""
    return where(input * beta > threshold, input, (input * beta).softplus() / beta)


@checked
def softsign(input: Tensor) -> Tensor:
    """`x / (1 + |x|)`."""
    return input / (1 + input.abs())


@checked
def sigmoid(input: Tensor) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return input.sigmoid()


@checked
def logsigmoid(input: Tensor) -> Tensor:
    """`log(sigmoid(x))`."""
    return -(-input).softplus()


@checked
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent."""
    return input.tanh()


@checked
def tanhshrink(input: Tensor) -> Tensor:
    """`x - tanh(x)`."""
    return input - input.tanh()


@checked
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x`, but 0 between `-lambd` and `lambd`."""
    return where((input >= -lambd) & (input <= lambd), 0.0, input)


@checked
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`x` moved towards 0 by `lambd`, at most to 0."""
    return where(input > lambd, input - lambd, where(input < -lambd, input + lambd, input * 0))


@checked
@placing
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """`x` above a threshold, else `value`."""
    return where(input <= threshold, value, input)


@checked
def glu(input: Tensor, dim: int = -1, *, axis: int | None = None) -> Tensor:
    """`a · sigmoid(b)` with the halves `a` and `b` along an axis (Dauphin et al. 2017)."""
    along = dim if axis is None else axis
    if input.shape[along] % 2:
        raise ArgumentError(f"glu: axis {along} of {tuple(input.shape)} has no halves")
    one, other = input.chunk(2, along)
    return one * other.sigmoid()


@checked
def softmax(input: Tensor, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """`exp(x)` divided by its sum along an axis, which only a 1-d tensor need not name; computed in `dtype`."""
    return _typed(input, dtype).softmax(_along("softmax", input, dim, axis))


@checked
def softmin(input: Tensor, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """`softmax` of `-x`."""
    return (-_typed(input, dtype)).softmax(_along("softmin", input, dim, axis))


@checked
def log_softmax(input: Tensor, dim: int | None = None, *, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _typed(input, dtype).log_softmax(_along("log_softmax", input, dim, axis))


def _along(name: str, input: Tensor, dim: int | None, axis: int | None) -> int:
    if dim is not None and axis is not None:
        raise ArgumentTypeError(f"{name}: axis and dim are one argument: give only one of them")
    if dim is not None or axis is not None:
        return dim if dim is not None else axis  # type: ignore[return-value]
    if input.ndim > 1:
        raise ArgumentError(f"{name}: along which dim of a tensor of shape {tuple(input.shape)}?")
    return -1


def _typed(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else input.cast(dtype)


def _expm1(x: Tensor) -> Tensor:
    """`exp(x) - 1`, exact near 0 too."""
    return (x / 2).tanh() * (x.exp() + 1)
