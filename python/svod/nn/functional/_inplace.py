"""PyTorch's option `inplace`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from svod._svod import Tensor

__all__ = ["placing"]

P = ParamSpec("P")


def placing(function: Callable[Concatenate[Tensor, P], Tensor]) -> Callable[Concatenate[Tensor, P], Tensor]:
    """The function, whose operand becomes the result where its last parameter, `inplace`, says so."""
    last = function.__code__.co_argcount - 2
    name = f"{function.__name__}_"

    @wraps(function)
    def call(input: Tensor, *args: P.args, **kwargs: P.kwargs) -> Tensor:
        made = function(input, *args, **kwargs)
        placed = args[last] if len(args) > last else kwargs.get("inplace")
        return input._become(name, made) if placed else made

    return call  # type: ignore[return-value]
