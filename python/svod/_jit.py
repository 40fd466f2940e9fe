"""`jit`: a function of tensors, traced once for each kind of arguments and run as a plan."""

from __future__ import annotations

import copy
import dataclasses
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, overload

import numpy as np

from svod._svod import ArgumentError, ExecutionPlan, PrepareConfig, Size, Tensor, Variable, prepare
from svod.nn._module import Module

__all__ = ["Jitted", "jit"]

P = ParamSpec("P")
R = TypeVar("R")

_STATIC = (bool, int, float, complex, str, bytes, type(None))


class _Tracing(threading.local):
    depth = 0


_tracing = _Tracing()


@dataclasses.dataclass(frozen=True)
class _Slot:
    """Where a tensor stands in a structure."""

    position: int


@dataclasses.dataclass(frozen=True)
class _Trace:
    """What tracing made of one kind of arguments."""

    plan: ExecutionPlan | None
    graph: str
    result: Any
    # The objects that the key names by identity: alive, their identities are not used again.
    held: list[Any]
    # Parameters of modules that it was traced with, as constants, each with its value then.
    constants: list[tuple[Tensor, Tensor]]

    @property
    def holds(self) -> bool:
        """Whether its constants still have their values."""
        return all(now._same(then) for now, then in self.constants)


class Jitted(Generic[P, R]):
    """A function made by `jit`."""

    def __init__(
        self, function: Callable[P, R], shapes: Mapping[str, Sequence[int | Variable | Size]], max_traces: int
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._shapes = dict(shapes)
        self._max_traces = max_traces
        self._traces: OrderedDict[Hashable, _Trace] = OrderedDict()
        self._lock = threading.RLock()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _tracing.depth:
            return self._function(*args, **kwargs)
        trace, arrays = self._find(args, kwargs)
        outputs = trace.plan.run(*arrays) if trace.plan is not None else []
        result: R = _rebuilt(trace.result, outputs)
        return result

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> str:
        """The text of the graph that these arguments are computed by."""
        return self._find(args, kwargs)[0].graph

    def plan(self, *args: P.args, **kwargs: P.kwargs) -> ExecutionPlan:
        """The plan that these arguments are computed by. Its outputs belong to the function."""
        plan = self._find(args, kwargs)[0].plan
        if plan is None:
            raise ArgumentError(f"jit: {self._name} computes nothing for these arguments")
        return plan

    @property
    def traces(self) -> int:
        """Number of kinds of arguments that were traced and are kept."""
        return len(self._traces)

    def clear(self) -> None:
        """Forgets all traces."""
        with self._lock:
            self._traces.clear()

    def __repr__(self) -> str:
        return f"<svod.jit {self._name}, {self.traces} traces>"

    @property
    def _name(self) -> str:
        return getattr(self._function, "__qualname__", repr(self._function))

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Trace, list[Any]]:
        arrays: list[Any] = []
        held: list[Any] = []
        structure = _taken(self._shaped(args, kwargs), arrays, held)
        arrays, shapes = [array for array, _ in arrays], [shape for _, shape in arrays]
        kinds = tuple((str(_dtype(a)), _device(a), _shape_key(s)) for a, s in zip(arrays, shapes, strict=True))
        key = (_key(structure), kinds, repr(PrepareConfig()))
        with self._lock:
            trace = self._traces.get(key)
            if trace is None or not trace.holds:
                trace = self._traces[key] = self._trace(structure, arrays, shapes, held)
                while len(self._traces) > self._max_traces:
                    self._traces.popitem(last=False)
            else:
                self._traces.move_to_end(key)
        return trace, arrays

    def _shaped(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments, those with a declared shape together with it."""
        if not self._shapes:
            return args, kwargs
        names = self._function.__code__.co_varnames
        known = dict(zip(names, args, strict=False)) | kwargs
        if missing := self._shapes.keys() - known.keys():
            raise ArgumentError(f"jit: {self._name} got no argument {sorted(missing)}, whose shape is declared")

        def shaped(name: str, value: Any) -> Any:
            return _Shaped(value, tuple(self._shapes[name])) if name in self._shapes else value

        positional = [shaped(name, value) for name, value in zip(names, args, strict=False)]
        return (*positional, *args[len(positional) :]), {name: shaped(name, value) for name, value in kwargs.items()}

    def _trace(self, structure: Any, arrays: list[Any], shapes: list[Any], held: list[Any]) -> _Trace:
        inputs = [
            Tensor._placeholder(shape, _dtype(a), i, _device(a))
            for i, (a, shape) in enumerate(zip(arrays, shapes, strict=True))
        ]
        args, kwargs = _rebuilt(structure, inputs)
        modules = (module for module in held if isinstance(module, Module))
        constants = [(tensor, tensor._snapshot()) for module in modules for tensor in module.parameters()]
        _tracing.depth += 1
        try:
            result = self._function(*args, **kwargs)
        finally:
            _tracing.depth -= 1
        found: list[Any] = []
        shape = _taken(result, found, held)
        # Handles of its own: preparing makes a tensor stand for the plan's output.
        outputs = [tensor.contiguous() if tensor.is_realized else tensor.clone() for tensor, _ in found]
        graph = "\n".join(output.graph() for output in outputs)
        plan = prepare(*outputs, inputs=inputs) if outputs else None
        return _Trace(plan, graph, shape, held, constants)


@dataclasses.dataclass(frozen=True)
class _Shaped:
    value: Any
    shape: tuple[Any, ...]


def _dtype(array: Any) -> Any:
    return array.dtype


def _device(array: Any) -> str:
    if not isinstance(array, Tensor):
        return "CPU"
    if isinstance(array.device, str):
        return array.device
    raise ArgumentError(f"jit: an argument is spread over {array.device}; give it whole, and shard it in the function")


def _shape_key(shape: Iterable[Any]) -> tuple[Any, ...]:
    def one(extent: Any) -> Any:
        if isinstance(extent, Variable):
            return repr(extent)
        if isinstance(extent, Size):
            return repr(extent), tuple(map(repr, extent.variables))
        return int(extent)

    return tuple(one(extent) for extent in shape)


def _taken(value: Any, arrays: list[Any], held: list[Any]) -> Any:
    """The structure of a value: its tensors, put into `arrays` with their shapes, become slots."""
    if isinstance(value, _Shaped):
        array = value.value if isinstance(value.value, Tensor) else np.asarray(value.value)
        arrays.append((array, value.shape))
        return _Slot(len(arrays) - 1)
    if isinstance(value, (Tensor, np.ndarray)):
        arrays.append((value, tuple(value.shape)))
        return _Slot(len(arrays) - 1)
    if isinstance(value, dict):
        return _filled(value, {key: _taken(item, arrays, held) for key, item in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_taken(item, arrays, held) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)([_taken(item, arrays, held) for item in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _mapped(value, lambda item: _taken(item, arrays, held))
    if not isinstance(value, (*_STATIC, Variable, Size)):
        held.append(value)
    return value


def _rebuilt(structure: Any, tensors: Sequence[Any]) -> Any:
    """The value of a structure, with tensors in its slots."""
    if isinstance(structure, _Slot):
        return tensors[structure.position]
    if isinstance(structure, dict):
        return _filled(structure, {key: _rebuilt(item, tensors) for key, item in structure.items()})
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_rebuilt(item, tensors) for item in structure))
    if isinstance(structure, (list, tuple)):
        return type(structure)([_rebuilt(item, tensors) for item in structure])
    if dataclasses.is_dataclass(structure) and not isinstance(structure, type):
        return _mapped(structure, lambda item: _rebuilt(item, tensors))
    return structure


def _filled(value: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """A dict of the value's own class with other items."""
    if type(value) is dict:
        return items
    other = copy.copy(value)
    other.update(items)
    return other


def _mapped(value: Any, to: Callable[[Any], Any]) -> Any:
    """A dataclass's object with other fields; its constructor might refuse slots."""
    other = copy.copy(value)
    for field in dataclasses.fields(value):
        object.__setattr__(other, field.name, to(getattr(value, field.name)))
    return other


def _key(structure: Any) -> Hashable:
    """What tells one structure from another: numbers and text by value, other objects by identity."""
    if isinstance(structure, _Slot):
        return structure
    if isinstance(structure, dict):
        return type(structure), tuple((key, _key(item)) for key, item in structure.items())
    if isinstance(structure, (list, tuple)):
        return type(structure), tuple(_key(item) for item in structure)
    if dataclasses.is_dataclass(structure) and not isinstance(structure, type):
        return type(structure), tuple((f.name, _key(getattr(structure, f.name))) for f in dataclasses.fields(structure))
    if isinstance(structure, _STATIC):
        # 1, 1.0 and True are equal, as are 0.0 and -0.0.
        return type(structure), repr(structure)
    if isinstance(structure, (Variable, Size)):
        return type(structure), _shape_key((structure,))
    if isinstance(structure, Module):
        return type(structure), id(structure), tuple(map(id, structure.parameters()))
    return type(structure), id(structure)


@overload
def jit(function: Callable[P, R]) -> Jitted[P, R]: ...


@overload
def jit(
    *, shapes: Mapping[str, Sequence[int | Variable | Size]] = ..., max_traces: int = ...
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


def jit(
    function: Callable[P, R] | None = None,
    *,
    shapes: Mapping[str, Sequence[int | Variable | Size]] | None = None,
    max_traces: int = 64,
) -> Any:
    """Makes of a function of tensors one that is traced once and then runs as a plan.

    Arguments may be nested dicts, lists, tuples, named tuples and dataclasses. Their tensors and arrays are
    inputs; numbers, text and other objects are constants of the trace. A call traces the
    function anew for a structure, constant, element type, shape or `PrepareConfig` that it has not seen;
    `shapes` declares shapes of arguments by name, whose variables any size may take. Of
    more than `max_traces` the least recently used is forgotten.

    Results are tensors of their own, in the structure that the function gives. Tensors that the
    function finds elsewhere are constants, and what it does besides happens only while it is
    traced. Parameters of a module that is an argument, such as `self`, are constants too, and it is
    traced anew when they are replaced. Looking at data there (`numpy()`, `float(t)`, `if t:`) raises `TraceError`.

    >>> import numpy as np, svod
    >>> n = svod.Variable("n", 1, 64)
    >>> @svod.jit(shapes={"x": (n, 2)})
    ... def total(x, scale=1.0):
    ...     return {"total": (x * scale).sum(1)}
    >>> total(np.ones((3, 2), np.float32))["total"].tolist()
    [2.0, 2.0, 2.0]
    >>> total(np.ones((1, 2), np.float32))["total"].tolist(), total.traces
    ([2.0], 1)
    """
    if max_traces < 1:
        raise ArgumentError(f"jit: max_traces must be at least 1, not {max_traces}")
    if function is None:
        return functools.partial(jit, shapes=shapes, max_traces=max_traces)
    return Jitted(function, shapes or {}, max_traces)
