"""Models of ONNX."""

from __future__ import annotations

import operator
import os
import sys
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

    `inputs` have to be given, in order or by name; `defaults`, which follow them, are those of which the model has
    values. What is compiled at the first call serves all later ones with the same types and sizes; extents that the
    model names may change up to the next power of two. Where an operator needs the elements of an input to know how
    large a result is, what is compiled serves calls with these elements.

    A copy shares what is compiled. A model that was loaded from a file is pickled as the path of that file.
    """

    def __init__(self, model: _OnnxModel, path: str | None = None) -> None:
        self._model = model
        self._path = path
        self.inputs = [Port(*port) for port in model.inputs()]
        self.defaults = [Port(*port) for port in model.defaults()]
        self.outputs = [Port(*port) for port in model.outputs()]

    def __call__(self, *arrays: Any, **named: Any) -> tuple[Any, ...]:
        """The results, in the order of `outputs`; an input that is given as None is left out."""
        return self._model.run(self._ordered(arrays, named))

    def prepare(self, **sizes: int | Sequence[int]) -> svod.ExecutionPlan:
        """The plan of the model, to be run without the overhead of a call.

        `sizes` gives numbers for extents that the model names, or all extents of an input by its name. The plan serves
        sizes from 1 to the next power of two; an extent that the model names and that is not given may be up to 64.
        """
        self._check_sizes(sizes)
        return self._model.prepare([(self._dtype(port), self._extents(port, sizes)) for port in self.inputs])

    def _ordered(self, arrays: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        names = [port.name for port in (*self.inputs, *self.defaults)]
        if len(arrays) > len(names):
            inputs = "1 input" if len(names) == 1 else f"{len(names)} inputs"
            raise svod.ArgumentTypeError(f"the model has {inputs}, but {len(arrays)} are given")
        rest = names[len(arrays) :]
        for name in named:
            if name not in names:
                raise svod.ArgumentTypeError(f"there is no input {name!r}: there are {', '.join(names) or 'none'}")
            if name not in rest:
                raise svod.ArgumentTypeError(f"the input {name!r} is given twice: by its place and by its name")
        for port in self.inputs[len(arrays) :]:
            if port.name not in named:
                raise svod.ArgumentTypeError(f"the input {port.name!r} is missing")
        return [*arrays, *(named.get(name) for name in rest)]

    def _dtype(self, port: Port) -> svod.DType:
        if port.dtype is None:
            raise svod.ArgumentError(f"prepare: input {port.name!r} is no tensor of a type that svod has")
        return port.dtype

    def _check_sizes(self, sizes: dict[str, Any]) -> None:
        inputs = {port.name for port in self.inputs}
        extents = {extent for port in self.inputs for extent in port.shape or () if isinstance(extent, str)}
        for name, given in sizes.items():
            if name not in inputs | extents:
                there = ", ".join(sorted(inputs | extents)) or "none"
                raise svod.ArgumentTypeError(f"prepare: no input or extent is called {name!r}: there are {there}")
            is_list = isinstance(given, Sequence) and not isinstance(given, str)
            if is_list and name not in inputs:
                raise svod.ArgumentTypeError(f"prepare: {name!r} is no input, whose extents would be a list")
            if not is_list and name not in extents:
                raise svod.ArgumentTypeError(f"prepare: all extents of input {name!r} are expected: {name}=(…)")
            for one in given if is_list else [given]:
                _size(name, one)

    def _extents(self, port: Port, sizes: dict[str, Any]) -> list[int | None]:
        """Numbers, and None for an extent that the model names and that is not given."""
        own = sizes.get(port.name)
        if isinstance(own, Sequence):
            known = port.shape if port.shape is not None else own
            fits = [one == extent for one, extent in zip(own, known, strict=False) if isinstance(extent, int)]
            if len(own) != len(known) or not all(fits):
                given = ", ".join(map(str, own))
                expected = ", ".join("?" if extent is None else str(extent) for extent in known)
                raise svod.ShapeError(f"prepare: input {port.name!r} has extents [{expected}], not [{given}]")
            return list(own)
        if port.shape is None or None in port.shape:
            raise svod.ArgumentError(f"prepare: the extents of input {port.name!r} are not known: give {port.name}=(…)")
        return [extent if isinstance(extent, int) else sizes.get(str(extent)) for extent in port.shape]

    def __copy__(self) -> Model:
        return Model(self._model, self._path)

    def __deepcopy__(self, memo: dict[int, Any]) -> Model:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is None:
            raise svod.ArgumentTypeError(
                "a model that was loaded from bytes cannot be pickled: pickle the bytes and load them, or load a file"
            )
        return load, (self._path,)

    def __repr__(self) -> str:
        return f"Model(inputs={self.inputs}, outputs={self.outputs})"


def _size(name: str, given: Any) -> None:
    """An error unless this is a size."""
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise svod.ArgumentTypeError(f"prepare: {name!r} should be an integer, not {given!r}")
    if not 0 <= operator.index(given) <= sys.maxsize:
        raise svod.ArgumentError(f"prepare: {name!r} should be a size, not {given}")


def load(model: Any) -> Model:
    """The model in a file, in the bytes of one, or in a `ModelProto`.

    Tensors that a file has in others of its folder are mapped, not read. A file that is no model, whose graph cannot be
    computed, or that has operators or element types that svod has not, is an `svod.Error` which names the
    node or the tensor, and the reason.
    """
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        return Model(_OnnxModel(path=path), os.path.abspath(path))
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
