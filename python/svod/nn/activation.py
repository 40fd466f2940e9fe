"""Activations as layers, with PyTorch's arguments.

`inplace` is accepted and changes nothing: a tensor is a value, and the compiler finds what can be written in place.
"""

from __future__ import annotations

from svod._module import Module
from svod._svod import ShapeError, Tensor, full
from svod.nn import functional as F
from svod.nn._function import FunctionModule, either
from svod.nn.init import constant_

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _Plain(FunctionModule):
    """A function without options."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()


class ReLU(_Plain):
    """`max(x, 0)`."""

    _function = staticmethod(F.relu)


class ReLU6(_Plain):
    """`min(max(x, 0), 6)`."""

    _function = staticmethod(F.relu6)


class SELU(_Plain):
    """`ELU`, scaled so that means of 0 and variances of 1 are kept."""

    _function = staticmethod(F.selu)


class SiLU(_Plain):
    """`x · sigmoid(x)`."""

    _function = staticmethod(F.silu)


class Mish(_Plain):
    """`x · tanh(softplus(x))`."""

    _function = staticmethod(F.mish)


class Hardsigmoid(_Plain):
    """`relu6(x + 3) / 6`."""

    _function = staticmethod(F.hardsigmoid)


class Hardswish(_Plain):
    """`x · relu6(x + 3) / 6`."""

    _function = staticmethod(F.hardswish)


class Sigmoid(_Plain):
    """`1 / (1 + exp(-x))`."""

    _function = staticmethod(F.sigmoid)


class LogSigmoid(_Plain):
    """`log(sigmoid(x))`."""

    _function = staticmethod(F.logsigmoid)


class Tanh(_Plain):
    """The hyperbolic tangent."""

    _function = staticmethod(F.tanh)


class Tanhshrink(_Plain):
    """`x - tanh(x)`."""

    _function = staticmethod(F.tanhshrink)


class Softsign(_Plain):
    """`x / (1 + |x|)`."""

    _function = staticmethod(F.softsign)


class ELU(FunctionModule):
    """`x` where it is positive, else `alpha · (exp(x) - 1)`."""

    _function = staticmethod(F.elu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha)


class CELU(FunctionModule):
    """`x` where it is positive, else `alpha · (exp(x / alpha) - 1)`."""

    _function = staticmethod(F.celu)

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(alpha=alpha)


class LeakyReLU(FunctionModule):
    """`x` where it is positive, else `negative_slope · x`."""

    _function = staticmethod(F.leaky_relu)

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__(negative_slope=negative_slope)


class PReLU(Module):
    """`x` where it is positive, else `weight · x` with a learned weight, one for all or one for each channel.

    `weight` has the shape `(num_parameters,)` and begins with `init`.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        self.num_parameters, self.init = num_parameters, init
        self.weight = full((num_parameters,), init)

    def reset_parameters(self) -> None:
        """Lets `weight` be what it began with."""
        constant_(self.weight, self.init)

    def forward(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """`x` where it is positive, else a share of it (Xu et al. 2015).

    In training shares are drawn from `lower` to `upper`, else it is their mean.
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3, inplace: bool = False) -> None:
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor) -> Tensor:
        return F.rrelu(x, self.lower, self.upper, self.training)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}"


class Softmax2d(Module):
    """The softmax over the channels of `([batch,] channels, height, width)`."""

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ShapeError(f"Softmax2d: 3 or 4 dimensions are expected, not {tuple(x.shape)}")
        return x.softmax(-3)


class GELU(FunctionModule):
    """`x · Φ(x)`, exactly or, with `approximate="tanh"`, by a formula."""

    _function = staticmethod(F.gelu)

    def __init__(self, approximate: str = "none") -> None:
        super().__init__(approximate=approximate)


class Softplus(FunctionModule):
    """`log(1 + exp(beta · x)) / beta`; `x` itself where `beta · x` is above `threshold`."""

    _function = staticmethod(F.softplus)

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__(beta=beta, threshold=threshold)


class Hardtanh(FunctionModule):
    """`x` between two values, else the nearer of them."""

    _function = staticmethod(F.hardtanh)

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__(min_val=min_val, max_val=max_val)


class Hardshrink(FunctionModule):
    """`x`, but 0 between `-lambd` and `lambd`."""

    _function = staticmethod(F.hardshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class Softshrink(FunctionModule):
    """`x` moved towards 0 by `lambd`, at most to 0."""

    _function = staticmethod(F.softshrink)

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__(lambd=lambd)


class Threshold(FunctionModule):
    """`x` above a threshold, else `value`."""

    _function = staticmethod(F.threshold)

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(threshold=threshold, value=value)


class GLU(FunctionModule):
    """`a · sigmoid(b)` with the halves `a` and `b` along an axis."""

    _function = staticmethod(F.glu)

    def __init__(self, dim: int = -1, *, axis: int | None = None) -> None:
        super().__init__(dim=dim if axis is None else axis)


class Softmax(FunctionModule):
    """`exp(x)` divided by its sum along an axis."""

    _function = staticmethod(F.softmax)

    def __init__(self, dim: int | None = None, *, axis: int | None = None) -> None:
        super().__init__(dim=either(dim, axis))


class Softmin(FunctionModule):
    """`softmax` of `-x`."""

    _function = staticmethod(F.softmin)

    def __init__(self, dim: int | None = None, *, axis: int | None = None) -> None:
        super().__init__(dim=either(dim, axis))


class LogSoftmax(FunctionModule):
    """The logarithm of `softmax`."""

    _function = staticmethod(F.log_softmax)

    def __init__(self, dim: int | None = None, *, axis: int | None = None) -> None:
        super().__init__(dim=either(dim, axis))
