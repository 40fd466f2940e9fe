"""The table of rules: what each operation of PyTorch is in svod."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND

import svod
from svod.torch._types import DTYPES

# How types are promoted: by PyTorch's rules.
PROMOTION: Any = ELEMENTWISE_TYPE_PROMOTION_KIND

F = TypeVar("F", bound=Callable[..., Any])


class Unsupported(svod.UnsupportedError):
    """What a rule raises for arguments that it does not know: PyTorch computes the operation instead."""


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One use of an operation: what PyTorch knows of its results before it runs."""

    # The results as fake tensors, or sizes.
    results: Any
    # The arguments by position, tensors as fake tensors.
    operands: tuple[Any, ...]
    # Extents of PyTorch's as svod's.
    sizes: Callable[[Any], Any]

    @property
    def dtype(self) -> svod.DType:
        """The element type of the first result."""
        return dtype(self._first.dtype)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape of the first result."""
        return tuple(map(self.sizes, self._first.shape))

    @property
    def _first(self) -> Any:
        return self.results[0] if isinstance(self.results, (list, tuple)) else self.results


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What an operation is in svod."""

    function: Callable[..., Any]
    # Whether the function takes the `Call` before the arguments.
    takes_call: bool = False
    # How the types of operands are promoted; none where they stay.
    promotion: Any = None
    # Whether the result is only another view of an operand's memory.
    is_view: bool = False


RULES: dict[Any, Rule] = {}


def overload(name: str) -> Any:
    """The operation `name`, such as `add.Tensor`, of ATen or another namespace; none where this PyTorch lacks it."""
    space, _, rest = name.rpartition("::")
    packet, _, kind = rest.partition(".")
    found = getattr(getattr(torch.ops, space or "aten"), packet, None)
    return getattr(found, kind or "default", None)


def aten(*names: str, call: bool = False, promotion: Any = None, view: bool = False) -> Callable[[F], F]:
    """Makes a function the rule of operations. Without a name behind the dot it is that of the overload `default`."""

    def added(function: F) -> F:
        for name in names:
            operation = overload(name)
            if operation is not None:
                RULES[operation] = Rule(function, call, promotion, view)
        return function

    return added


def dtype(given: torch.dtype) -> svod.DType:
    """A type of PyTorch's as svod's."""
    if given not in DTYPES:
        raise Unsupported(f"svod has no {given}")
    return DTYPES[given]


def wide(x: svod.Tensor) -> svod.Tensor:
    """In `float32` at least, in which PyTorch computes norms and statistics of 16-bit floats."""
    return x if x.dtype in (svod.float32, svod.float64) else x.cast(svod.float32)
