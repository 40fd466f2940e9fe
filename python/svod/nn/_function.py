"""Modules that are functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from svod._module import Module
from svod._svod import Tensor

__all__ = ["FunctionModule"]


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

    def forward(self, *inputs: Tensor) -> Tensor:
        return type(self)._function(*inputs, **{name: getattr(self, name) for name in self._options})

    def extra_repr(self) -> str:
        told = {name: getattr(self, name) for name in self._options}
        return ", ".join(f"{name}={value!r}" for name, value in told.items() if not isinstance(value, Tensor))
