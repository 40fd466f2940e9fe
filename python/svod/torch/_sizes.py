"""PyTorch's symbolic sizes as svod's variables."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

import svod
from svod.torch._table import Unsupported


class Symbols:
    """What sizes and shapes mention, in the order of their names."""

    def __init__(self, values: Iterable[Any]) -> None:
        sizes = [size for size in _symbolic(values) if isinstance(size, torch.SymInt)]
        environment: Any = sizes[0].node.shape_env if sizes else None
        found = sorted({symbol for size in sizes for symbol in expression_of(size).free_symbols}, key=str)
        # The values that they had in the call that was traced.
        self.hints = {str(symbol): _hint(environment, symbol) for symbol in found}
        lower = {str(symbol): environment.var_to_range[symbol].lower for symbol in found}
        self.least = {name: int(least) if least.is_Integer else 0 for name, least in lower.items()}

    def __bool__(self) -> bool:
        return bool(self.hints)


# Stands in for a size of which nothing is known.
A_SIZE = 8


def _hint(environment: Any, symbol: Any) -> int:
    """The value that a symbol had in the call that was traced."""
    if hasattr(environment, "optimization_hint"):
        return int(environment.optimization_hint(symbol, A_SIZE))
    # PyTorch before 2.13.
    known = environment.size_hint(symbol, allow_none=True)
    return A_SIZE if known is None else int(known)


class Kind(enum.Enum):
    """What the symbols of a graph are in a plan."""

    # Each is a variable.
    APART = enum.auto()
    # Those that are equal in a call are one variable: PyTorch does not always say that they have to be.
    JOINED = enum.auto()
    # Each is a number.
    FIXED = enum.auto()


# Up to here every whole number is a float64, in which PyTorch computes sizes that are scaled.
_EXACT = 1 << 53


@dataclass(frozen=True)
class _Scaled:
    """A symbolic size times a number: a fraction, whose numerator is a float64 without rounding for all sizes."""

    numerator: svod.Size
    denominator: int

    @staticmethod
    def of(size: svod.Size, by: float) -> _Scaled:
        top, bottom = by.as_integer_ratio()
        if top < 0 or size.min < 0 or size.max * top >= _EXACT:
            raise Unsupported(f"a size times {by}, which is rounded")
        return _Scaled(size * top, bottom)


class Sizes:
    """The symbols of a graph: each a number, or a `Variable` with a maximum that grows with what it has to hold."""

    def __init__(self, symbols: Symbols, values: Mapping[str, int], kind: Kind = Kind.APART) -> None:
        self._values = dict(values)
        self.variables: dict[str, svod.Variable] = {}
        for name, least in () if kind is Kind.FIXED else symbols.least.items():
            equal = [known for known in self.variables if kind is Kind.JOINED and values[known] == values[name]]
            if equal:
                self.variables[name] = self.variables[equal[0]]
                continue
            # Twice as much as is needed now, so that a length that grows is compiled a few times in all.
            most = max(1 << values[name].bit_length(), 16)
            self.variables[name] = svod.Variable(name, min(least, values[name]), most)

    def hold(self, values: Mapping[str, int]) -> bool:
        """Whether these are values of the variables, and the numbers that the others are."""

        def holds(name: str, value: int) -> bool:
            variable = self.variables.get(name)
            if variable is None:
                return value == self._values[name]
            return variable.min <= value <= variable.max and value == values[variable.name]

        return all(holds(name, value) for name, value in values.items())

    def of(self, size: Any) -> Any:
        """A number, or a symbolic size of PyTorch's, as svod's."""
        if isinstance(size, (torch.SymInt, torch.SymFloat)):
            return self._of_expression(expression_of(size))
        return size

    def _of_expression(self, expression: Any) -> Any:
        import sympy  # PyTorch brings it.

        if isinstance(expression, sympy.Integer):
            return int(expression)
        if isinstance(expression, sympy.Symbol):
            name = str(expression)
            if name not in self._values:
                raise Unsupported(f"a size {name} that data decides")
            return self.variables[name] + 0 if name in self.variables else self._values[name]
        if isinstance(expression, sympy.Float):
            return float(expression)
        parts = [self._of_expression(part) for part in expression.args]
        match type(expression).__name__, parts:
            case "ToFloat", [size]:
                return float(size) if isinstance(size, int) else _Scaled.of(size, 1.0)
            case "Mul", [float(by), _Scaled(size, 1)]:
                return _Scaled.of(size, by)
            case "TruncToInt" | "FloorToInt", [_Scaled(numerator, denominator)]:
                return numerator // denominator
            case "CeilToInt", [_Scaled(numerator, denominator)]:
                return (numerator + (denominator - 1)) // denominator
            case "TruncToInt" | "FloorToInt", [float(size)]:
                return math.floor(size)
            case "CeilToInt", [float(size)]:
                return math.ceil(size)
            case _, _ if any(isinstance(part, _Scaled) for part in parts):
                raise Unsupported(f"a size {expression}")
            case "Add", _:
                return sum(parts[1:], parts[0])
            case "Mul", _:
                return math.prod(parts[1:], start=parts[0])
            case "FloorDiv" | "CleanDiv", [dividend, divisor]:
                return dividend // divisor
            case "Mod" | "PythonMod", [dividend, divisor]:
                return dividend % divisor
            case "Pow", [base, int(exponent)] if exponent > 0:
                return math.prod([base] * (exponent - 1), start=base)
            # Which of sizes is the least is a condition of the trace.
            case "Min", _:
                return min(parts)
            case "Max", _:
                return max(parts)
            case _:
                raise Unsupported(f"a size {expression}")


def expression_of(size: torch.SymInt | torch.SymFloat) -> Any:
    """A symbolic size as an expression of symbols, of which those that PyTorch found to be equal are one."""
    return size.node.shape_env.replace(size.node.expr)


def _symbolic(values: Iterable[Any]) -> Iterator[Any]:
    """The sizes that are no numbers, of shapes too."""
    for value in values:
        for size in value.shape if isinstance(value, torch.Tensor) else [value]:
            if isinstance(size, (torch.SymInt, torch.SymFloat)):
                yield size


def same_size(a: Any, b: Any) -> bool:
    """Whether two extents are written alike: to ask whether they are equal would be a condition of the trace."""
    return a == b if isinstance(a, int) and isinstance(b, int) else str(a) == str(b)


def known_values(values: Iterable[Any]) -> dict[str, tuple[int, int | None]]:
    """Where each symbol can be read: the position of an argument, and of an extent of its shape if it is a tensor."""
    places: dict[str, tuple[int, int | None]] = {}
    for at, value in enumerate(values):
        if isinstance(value, torch.SymInt) and expression_of(value).is_Symbol:
            places.setdefault(str(expression_of(value)), (at, None))
        elif isinstance(value, torch.Tensor):
            for axis, extent in enumerate(value.shape):
                if isinstance(extent, torch.SymInt) and expression_of(extent).is_Symbol:
                    places.setdefault(str(expression_of(extent)), (at, axis))
    return places
