"""What `config.json` of a model says, read with errors that name what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from svod._svod import FormatError, Tensor, UnsupportedError
from svod.nn import functional as F


def _gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


# Activations by the names that configurations have for them.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": _gelu_tanh,
    "gelu_fast": _gelu_tanh,
    "gelu_pytorch_tanh": _gelu_tanh,
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
    "tanh": Tensor.tanh,
}


class Config:
    """A model's configuration; what it lacks has a default, or is an error."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def get(self, name: str, default: Any = None) -> Any:
        """What is said of a name; null counts as not said."""
        value = self._values.get(name)
        return default if value is None else value

    def number(self, name: str, default: int | None = None) -> int:
        """A positive integer."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise FormatError(f"config.json: {name} is {value!r}, not a positive integer")
        return value

    def real(self, name: str, default: float | None = None) -> float:
        """A positive number."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise FormatError(f"config.json: {name} is {value!r}, not a positive number")
        return float(value)

    def activation(self, name: str, default: str) -> Callable[[Tensor], Tensor]:
        """The function of an activation's name."""
        found: Callable[[Tensor], Tensor] = self.one_of(name, ACTIVATIONS, default)
        return found

    def one_of(self, name: str, table: Mapping[str, Any], default: str) -> Any:
        """What a table has for the value of a name."""
        value = self.get(name, default)
        if value not in table:
            raise UnsupportedError(f"config.json: {name} is {value!r}, of which svod has {', '.join(sorted(table))}")
        return table[value]

    def expect(self, **wanted: Any) -> None:
        """Options of which only one value is known here; not said is that value."""
        for name, value in wanted.items():
            if self.get(name, value) != value:
                raise UnsupportedError(f"config.json: {name} is {self.get(name)!r}; svod has models of {value!r} only")
