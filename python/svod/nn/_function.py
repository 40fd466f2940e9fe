"""Modules that are functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from svod._module import Module
from svod._svod import ArgumentTypeError, Tensor

__all__ = ["FunctionModule", "either"]


def either(dim: int | None, axis: int | None) -> int | None:
    """The axis, by the one of its two names that was used."""
    if dim is not None and axis is not None:
        raise ArgumentTypeError("axis and dim are one argument: give only one of them")
    return dim if axis is None else axis


class FunctionModule(Module):
    """A function of tensors, called with its options, which are attributes."""

    _function: ClassVar[Callable[..., Tensor]]

    def __init__(self, **options: Any) -> None:
        self._options = tuple(options)
        for name, value in options.items():
            if isinstance(value, Tensor):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)

    # The function says what it takes.
    def forward(self, *inputs: Any) -> Tensor:
        return type(self)._function(*inputs, **{name: getattr(self, name) for name in self._options})

    def extra_repr(self) -> str:
        told = {name: getattr(self, name) for name in self._options}
        return ", ".join(f"{name}={value!r}" for name, value in told.items() if not isinstance(value, Tensor))
