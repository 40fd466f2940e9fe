"""Models of ONNX."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import svod
from svod._svod import _onnx_operators, _OnnxModel


class Port(NamedTuple):
    """An input or an output of a model.

    `shape` has a number, a name or None for each extent; it is None itself where not even the rank is known, and so is
    `dtype` for what is no tensor.
    """

    name: str
    dtype: svod.DType | None
    shape: tuple[int | str | None, ...] | None


class Model:
    """A model, made by `load`: called with arrays or tensors, it gives a tuple of tensors.

    Inputs are given in order, or by name. What is compiled at the first call serves all later ones with the same types
    and sizes; extents that the model names may change up to the next power of two. Where an operator needs the elements
    of an input to know how large a result is, what is compiled serves calls with these elements.
    """

    def __init__(self, model: _OnnxModel) -> None:
        self._model = model
        self.inputs = [Port(*port) for port in model.inputs()]
        self.outputs = [Port(*port) for port in model.outputs()]

    def __call__(self, *arrays: Any, **named: Any) -> tuple[Any, ...]:
        """The results, in the order of `outputs`; an input that is given as None is left out."""
        return self._model.run(self._ordered(arrays, named))

    def prepare(self, **sizes: int | Sequence[int]) -> svod.ExecutionPlan:
        """The plan of the model, to be run without the overhead of a call.

        `sizes` gives numbers for extents that the model names, or all extents of an input by its name.
        """
        return self._model.prepare([(self._dtype(port), self._extents(port, sizes)) for port in self.inputs])

    def _ordered(self, arrays: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        names = [port.name for port in self.inputs]
        if len(arrays) > len(names):
            raise svod.ArgumentTypeError(f"the model has {len(names)} inputs, but {len(arrays)} are given")
        rest = names[len(arrays) :]
        if unknown := [name for name in named if name not in rest]:
            raise svod.ArgumentTypeError(f"no input is left of the name {unknown[0]!r}: there are {', '.join(rest)}")
        if missing := [name for name in rest if name not in named]:
            raise svod.ArgumentTypeError(f"the input {missing[0]!r} is missing")
        return [*arrays, *(named[name] for name in rest)]

    def _dtype(self, port: Port) -> svod.DType:
        if port.dtype is None:
            raise svod.ArgumentError(f"prepare: input {port.name!r} is no tensor of a type that svod has")
        return port.dtype

    def _extents(self, port: Port, sizes: dict[str, Any]) -> list[int]:
        own = sizes.get(port.name)
        if isinstance(own, Sequence):
            return list(own)
        if port.shape is None or None in port.shape:
            raise svod.ArgumentError(f"prepare: the extents of input {port.name!r} are not known: give {port.name}=(…)")
        extents = [extent if isinstance(extent, int) else sizes.get(extent or "") for extent in port.shape]
        for extent, name in zip(extents, port.shape, strict=True):
            if not isinstance(extent, int):
                raise svod.ArgumentError(f"prepare: how large {name!r} of input {port.name!r} is, is not given")
        return [int(extent) for extent in extents if extent is not None]

    def __repr__(self) -> str:
        return f"Model(inputs={self.inputs}, outputs={self.outputs})"


def load(model: Any) -> Model:
    """The model in a file, in the bytes of one, or in a `ModelProto`.

    Tensors that a file has in others of its folder are mapped, not read. A file that is no model, whose graph cannot be
    computed, or that has operators or element types that svod has not, is an `svod.Error` which names the
    node or the tensor, and the reason.
    """
    if isinstance(model, (str, os.PathLike)):
        return Model(_OnnxModel(path=os.fspath(model)))
    if not isinstance(model, (bytes, bytearray, memoryview)):
        if not hasattr(model, "SerializeToString"):
            kind = type(model).__name__
            raise svod.ArgumentTypeError(f"load: a path, bytes or a ModelProto is expected, not {kind}")
        model = model.SerializeToString()
    return Model(_OnnxModel(content=bytes(model)))


def operators() -> list[tuple[str, str, int]]:
    """The operators that models may have: set (empty for ONNX's own), name, version of the set from which on.

    >>> import svod.onnx
    >>> ("", "MatMul", 1) in svod.onnx.operators()
    True
    """
    return list(_onnx_operators())
