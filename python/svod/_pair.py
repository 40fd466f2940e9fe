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


for _name, _symbol in {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@"},
    **{"and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"},
}.items():
    for _made in (f"__{_name}__", f"__r{_name}__"):
        setattr(ValuesAndIndices, _made, _operator(_made, _symbol))
for _name, _symbol in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(ValuesAndIndices, f"__{_name}__", _operator(f"__{_name}__", _symbol))
for _name, _symbol in {"neg": "-", "pos": "+", "invert": "~", "abs": "abs", "float": "float", "int": "int"}.items():
    setattr(ValuesAndIndices, f"__{_name}__", _operator(f"__{_name}__", _symbol))
