"""Functions that assign their result to their operand, as PyTorch names them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from svod._svod import ArgumentTypeError, Tensor
from svod.nn.functional.activation import celu, elu, hardtanh, leaky_relu, relu, selu, threshold
from svod.nn.functional.composed import rrelu
from svod.nn.functional.dropout import alpha_dropout, dropout, feature_alpha_dropout

__all__ = [
    "alpha_dropout_",
    "celu_",
    "dropout_",
    "elu_",
    "feature_alpha_dropout_",
    "hardtanh_",
    "leaky_relu_",
    "relu_",
    "rrelu_",
    "selu_",
    "threshold_",
]

P = ParamSpec("P")


def _assigning(function: Callable[Concatenate[Tensor, P], Tensor]) -> Callable[Concatenate[Tensor, P], Tensor]:
    """The function whose result its operand becomes."""
    name = f"{function.__name__}_"

    @wraps(function)
    def call(input: Tensor, /, *args: P.args, **kwargs: P.kwargs) -> Tensor:
        if not isinstance(input, Tensor):
            raise ArgumentTypeError(f"{name}: input: a tensor is expected, which is assigned to, not {input!r:.60}")
        return input._become(name, function(input, *args, **kwargs))

    signature = inspect.signature(function)
    # It always is in place.
    kept = [parameter for parameter in signature.parameters.values() if parameter.name != "inplace"]
    call.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = name
    call.__module__, call.__doc__ = __name__, f"The operand becomes what `{function.__name__}` makes of it."
    return call


alpha_dropout_ = _assigning(alpha_dropout)
celu_ = _assigning(celu)
dropout_ = _assigning(dropout)
elu_ = _assigning(elu)
feature_alpha_dropout_ = _assigning(feature_alpha_dropout)
hardtanh_ = _assigning(hardtanh)
leaky_relu_ = _assigning(leaky_relu)
relu_ = _assigning(relu)
rrelu_ = _assigning(rrelu)
selu_ = _assigning(selu)
threshold_ = _assigning(threshold)
