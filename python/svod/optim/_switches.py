"""Switches of PyTorch's optimizers that say how a step is run, not what it computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from svod._svod import ArgumentTypeError, UnsupportedError

__all__ = ["Switches", "check_switches"]


class Switches(TypedDict, total=False):
    """`foreach`, `fused` and `capturable` change nothing.

    All tensors of a step are computed by one run in any case, in as few kernels as they need.
    """

    foreach: bool | None
    fused: bool | None
    capturable: bool
    differentiable: bool


def check_switches(name: str, switches: Mapping[str, Any]) -> None:
    """An error where one is no switch, is neither on nor off, or asks for what is not there."""
    for switch, value in switches.items():
        if switch not in Switches.__annotations__:
            raise ArgumentTypeError(f"{name}: switches: unexpected keyword argument {switch!r}")
        if not (value is None or isinstance(value, bool)):
            raise ArgumentTypeError(f"{name}: switches: {switch}: True or False is expected, not {value!r}")
    if switches.get("differentiable"):
        raise UnsupportedError(
            f"{name}: differentiable=True: no derivative passes through `step`, which writes parameters anew; write "
            "the step as an expression, such as `w - lr * g` with `g, = loss.gradient(w)`"
        )
