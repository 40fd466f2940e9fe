"""What `x += y` and its like make of a tensor: a value of the same type and shape, for which the name then stands.

No other name of the tensor sees it, unless it is a parameter where no gradients are recorded, which is written as an
optimizer writes it; where they are recorded, that is an error. So are what the type cannot hold and what has another
shape, as they are to NumPy and PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from svod._grad import is_grad_enabled
from svod._svod import ArgumentError, DType, DTypeError, ShapeError, Tensor

__all__ = ["install"]

# Python's signs by the names of methods.
_SIGNS = {
    "add": "+",
    "and": "&",
    "floordiv": "//",
    "lshift": "<<",
    "mod": "%",
    "mul": "*",
    "or": "|",
    "pow": "**",
    "rshift": ">>",
    "sub": "-",
    "truediv": "/",
    "xor": "^",
}


def install() -> None:
    """Gives `Tensor` the methods of these signs."""
    for name, sign in _SIGNS.items():
        setattr(Tensor, f"__i{name}__", _method(name, sign))


def _method(name: str, sign: str) -> Callable[[Tensor, Any], Any]:
    """The method of a sign that assigns, of that which does not."""
    operate: Callable[[Tensor, Any], Any] = getattr(Tensor, f"__{name}__")

    def method(self: Tensor, other: Any, /) -> Any:
        made = operate(self, other)
        # What Python then asks of the other operand is not assigned.
        if made is NotImplemented:
            return NotImplemented
        kind = self.dtype
        if made.dtype is not kind and made.dtype != kind:
            if _rank(made.dtype) > _rank(kind):
                instead = f"write `x = x {sign} ...`, or cast first"
                raise DTypeError(f"{sign}=: the result is {made.dtype.name}, which {kind.name} cannot hold: {instead}")
            made = made.cast(kind)
        if type(other) not in _SCALARS and made.shape != self.shape:
            message = f"{sign}=: the result has shape {made.shape}, not {self.shape}: write `x = x {sign} ...`"
            raise ShapeError(message)
        if self.requires_grad and self.is_leaf:
            if is_grad_enabled():
                what = f"{kind.name}{list(self.shape)} requires a gradient, and is written under `no_grad` alone"
                raise ArgumentError(f"{sign}=: {what}; `x = x {sign} ...` gives the name another tensor")
            return self._become(f"{sign}=", made)
        return made

    method.__name__, method.__qualname__, method.__module__ = f"__i{name}__", f"Tensor.__i{name}__", "svod"
    method.__doc__ = f"`self {sign}= other`: the name stands for the result, of the same type and shape."
    return method


# What changes no shape.
_SCALARS = frozenset((bool, int, float, complex))


def _rank(dtype: DType) -> int:
    """How much the types of this kind can hold: truth values, integers, numbers, complex numbers."""
    if dtype.is_complex:
        return 3
    return 2 if dtype.is_floating_point else int(dtype.name != "bool")
