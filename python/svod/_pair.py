"""Values along an axis and where they are: named pairs, as PyTorch's functions return."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

__all__ = ["ValuesAndIndices"]


class _Pair(NamedTuple):
    values: Any
    indices: Any


class ValuesAndIndices(_Pair):
    """Elements along an axis, and where they are: `values, indices = x.max(dim=1)`.

    It is no tensor: arithmetic is with `x.max(dim=1).values`, or with what `x.amax(dim=1)` gives.
    """

    __slots__ = ()
    __hash__ = tuple.__hash__
    # NumPy leaves operators to the pair.
    __array_ufunc__ = None

    def __getattr__(self, name: str) -> NoReturn:
        from svod._svod import Tensor

        hint = f": {_HINT}" if hasattr(Tensor, name) and not name.startswith("__") else ""
        raise AttributeError(f"'ValuesAndIndices' object has no attribute {name!r}{hint}")


_HINT = "it is two tensors, values and where they are: write `.values`, or svod.amax and svod.amin, which give no pair"


def _operator(name: str, symbol: str) -> Any:
    """An operator of tensors on the pair: what it is on tuples, with another one; else an error, not what tuples do."""
    of_tuples = getattr(tuple, name, None)

    def operator(self: ValuesAndIndices, *other: Any) -> Any:
        from svod._svod import ArgumentTypeError, Tensor

        of_tensors = not other or isinstance(other[0], (Tensor, int, float, complex)) or hasattr(other[0], "__array__")
        if of_tensors:
            raise ArgumentTypeError(f"{symbol}: an operand is ValuesAndIndices: {_HINT}")
        return of_tuples(self, *other) if of_tuples is not None else NotImplemented

    operator.__name__, operator.__qualname__ = name, f"ValuesAndIndices.{name}"
    return operator


_BOTH_SIDES = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**"}
_BOTH_SIDES |= {"matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}
_ONE_SIDE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_ONE_SIDE |= {"neg": "-", "pos": "+", "invert": "~", "abs": "abs", "float": "float", "int": "int"}

for _name, _symbol in (_BOTH_SIDES | {f"r{name}": symbol for name, symbol in _BOTH_SIDES.items()} | _ONE_SIDE).items():
    setattr(ValuesAndIndices, f"__{_name}__", _operator(f"__{_name}__", _symbol))
