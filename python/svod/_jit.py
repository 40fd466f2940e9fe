"""`jit`: a function of tensors, traced once for each kind of arguments and run as a plan."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import inspect
import numbers
import operator
import os
import re
import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar, cast, overload

import numpy as np

from svod._bindings import undo
from svod._derivatives import Derivatives
from svod._effects import Effects
from svod._grad import is_differentiating
from svod._module import Module
from svod._place import device_of
from svod._reach import Outside, Reached, Written
from svod._signature import Signature
from svod._steady import Steady, SteadyPlans
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    Error,
    ExecutionPlan,
    Graph,
    PrepareConfig,
    ShapeError,
    Size,
    Tensor,
    TraceError,
    Variable,
    _call,
    _Draws,
    _Facts,
    _is_tracing,
    _prepare_writing,
    _signature,
    _stand_ins,
    _Trace,
    _values_of,
    get_default_device,
    is_grad_enabled,
)
from svod._tree import key, rebuilder, rebuilt, taken
from svod._vmap import is_batching

__all__ = ["Jitted", "jit"]

P = ParamSpec("P")
R = TypeVar("R")

# Ways in which calls are written that a function remembers the traces of.
_MOST_CALLS = 256


@dataclasses.dataclass(slots=True)
class _Traced:
    """What tracing made of one kind of arguments."""

    plan: ExecutionPlan | None
    # The variables of the plan.
    variables: frozenset[str]
    graph: str
    # Makes the function's result of the plan's.
    result: Callable[[Sequence[Any]], Any]
    # Which of the plan's results are sizes that the function gives.
    numbers: list[int]
    # What it found outside of its arguments.
    outside: Outside
    # What it does with the generator of random numbers.
    draws: _Draws | None
    # What it was told of sizes: it serves the calls where that is true.
    facts: _Facts | None
    # The plan of calls that find the same tensors outside; none where there are none, or the function writes.
    steady: Steady | None
    # The derivatives of its results; none where nobody may ask for one.
    derivatives: Derivatives | None
    # The number of the call that used it last.
    used: int = 0


_all: weakref.WeakSet[Jitted[Any, Any]] = weakref.WeakSet()


def _renew_locks() -> None:
    """Locks that are free: those that another thread held are taken for good in a process that was forked."""
    for function in _all:
        function._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


def _let_go() -> None:
    """Lets tensors go that nobody has but traces and garbage: before a write to a view of them is refused."""
    if not _is_tracing():
        for function in list(_all):
            function._let_go()
    gc.collect()


class Jitted(Generic[P, R]):
    """A function made by `jit`."""

    def __init__(
        self,
        function: Callable[P, R],
        shapes: Mapping[str, Sequence[int | Variable | Size]],
        max_traces: int,
        config: PrepareConfig | None = None,
    ) -> None:
        if not callable(function):
            raise ArgumentTypeError(f"jit: function: a function is to be traced, not {function!r}")
        if not isinstance(shapes, Mapping) or not all(isinstance(shape, (list, tuple)) for shape in shapes.values()):
            raise ArgumentTypeError(f"jit: shapes is a dict of tuples of sizes by parameter, not {shapes!r}")
        # The attributes of an object that is called are its own.
        functools.update_wrapper(self, function, updated=("__dict__",) if inspect.isfunction(function) else ())
        self._function = function
        self._shapes = {name: tuple(shape) for name, shape in shapes.items()}
        self._max_traces = max_traces
        self._config = config
        self._parameters = Signature(function)
        # Several of a kind where the function asked how sizes compare.
        self._traces: dict[Hashable, list[_Traced]] = {}
        # Those that serve whatever else is called with arguments like these.
        self._served: dict[bytes, _Traced] = {}
        self._written = Written()
        self._steady = SteadyPlans()
        self._calls = 0
        self._lock = threading.RLock()
        _all.add(self)
        positions = enumerate(self._parameters.positional)
        self._positions = {at: self._shapes[name] for at, name in positions if name in self._shapes}
        known = {*self._parameters.positional, *self._parameters.keyword}
        if not self._parameters.open and (unknown := self._shapes.keys() - known):
            raise ArgumentError(f"jit: {self._name} has no parameter {sorted(unknown)}, whose shape is declared")

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if is_batching() or is_differentiating():
            # An example of `vmap` has no elements that a plan could be run on, and what a plan computes no derivative.
            return self._function(*args, **kwargs)
        call = None if kwargs else _call(args, Module)
        sizes: list[Size] = []
        if call is not None and (known := self._served.get(call[0])) is not None and known.outside.holds():
            trace, arrays = self._used(known), call[1]
        elif _is_tracing():
            return self._function(*args, **kwargs)
        else:
            trace, arrays, sizes = self._find(args, kwargs)
            if call is not None:
                self._serve(*call, trace, arrays)
        if not trace.outside.effects:
            return self._run(trace, arrays, sizes, args, kwargs)
        with self._lock:
            # Another thread may have written what the trace was found with.
            if not trace.outside.holds():
                trace, arrays, sizes = self._find(args, kwargs)
            trace.outside.effects.check(arrays)
            return self._run(trace, arrays, sizes, args, kwargs)

    def _run(
        self, trace: _Traced, arrays: list[Any], sizes: list[Size], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> R:
        """What a trace computes for a call, with what it writes."""
        more, (states, drawn) = trace.outside.inputs, ([], None) if trace.draws is None else trace.draws.take()
        try:
            values = _values(sizes, trace) if sizes else {}
            call, plan, steady, given = None, trace.plan, None, [*arrays, *more, *states]
            if trace.derivatives is not None and is_grad_enabled():
                call = trace.derivatives.call(given, values)
                plan, given = call.plan or plan, call.given
            if trace.steady is not None and trace.plan is not None and plan is trace.plan:
                steady = trace.steady.plan(trace.plan, more)
            if plan is None:
                outputs = []
            elif steady is not None:
                outputs = steady.run(*given[: len(arrays)], *states, **values)
            elif trace.outside.effects:
                outputs = plan._run_writing(tuple(given), trace.outside.effects.written(), **values)
            else:
                outputs = plan.run(*given, **values)
        except BaseException as error:
            # A run that fails changes nothing.
            if drawn is not None:
                drawn.undo()
            if isinstance(error, (ShapeError, ArgumentError)):
                self._raise_named(error, args, kwargs)
            raise
        results: list[Any] = outputs if call is None else call.named(outputs)
        for at in trace.numbers:
            results[at] = results[at].item()
        trace.outside.write(results)
        result: R = trace.result(results)
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
        return sum(map(len, list(self._traces.values())))

    def clear(self) -> None:
        """Forgets all traces."""
        with self._lock:
            self._served.clear()
            self._traces.clear()

    def __repr__(self) -> str:
        return f"<svod.jit {self._name}, {self.traces} traces>"

    @property
    def _name(self) -> str:
        return getattr(self._function, "__qualname__", type(self._function).__qualname__)

    def _raise_named(self, error: Error, args: tuple[Any, ...], kwargs: dict[str, Any]) -> NoReturn:
        """Raises the error of arguments that do not fit with the names of parameters in place of numbers of inputs.

        What a Python function raised that the plan called is no such error.
        """
        called = error.__traceback__ is not None and error.__traceback__.tb_next is not None
        if called or (not isinstance(error, ShapeError) and error.kind != "variable out of range"):
            raise error
        structures = taken(self._parameters.bound(args, kwargs), [])
        names = dict(enumerate(self._parameters.names(*structures)))
        message = re.sub(r"input (\d+)", lambda found: names.get(int(found[1]), found[0]), str(error))
        named = type(error)(f"jit: {self._name}: {message.removeprefix('execute: ')}")
        named.kind = error.kind
        raise named from error

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[_Traced, list[Any], list[Size]]:
        """The trace of these arguments, and their arrays and sizes."""
        if kwargs or len(args) < self._parameters.enough:
            args, kwargs = self._parameters.bound(args, kwargs)
        if self._shapes:
            args, kwargs = self._declared(args, kwargs)
        arrays: list[Any] = []
        sizes: list[Size] = []
        objects: list[Any] = [self._function]
        # Positions of arrays with a declared shape, and that.
        shapes: dict[int, tuple[Any, ...]] = {}
        parts: list[Hashable] = []
        for at, value in enumerate(args):
            if at in self._positions:
                shapes[len(arrays)] = self._positions[at]
            parts.append(key(value, arrays, sizes, objects))
        for name, value in kwargs.items():
            if name in self._shapes:
                shapes[len(arrays)] = self._shapes[name]
            parts.append((name, key(value, arrays, sizes, objects)))
        kind = (tuple(parts), _signature(arrays, [*shapes]))
        trace = self._only(kind)
        if trace is None:
            # Before they are asked how large they are: what is lazy is computed for that, and then has another shape.
            declared = [shapes.get(i, tuple(array.shape)) for i, array in enumerate(arrays)]
            try:
                values = _values_of(sizes, declared, arrays)
            except (ShapeError, ArgumentError) as error:
                self._raise_named(error, args, kwargs)
            trace = self._known(kind, values)
            if trace is None:
                with self._lock:
                    # Another thread may have traced it meanwhile.
                    trace = self._known(kind, values)
                    if trace is None:
                        trace = self._added(kind, self._trace(args, kwargs, declared, values, tuple(objects)))
        return trace, arrays, sizes

    def _serve(self, call: bytes, given: list[Any], trace: _Traced, arrays: list[Any]) -> None:
        """Remembers the trace of a call, if it is that of all with arguments like these, and reads them as given."""
        alike = trace.plan is not None and trace.facts is None
        same = len(given) == len(arrays) and all(map(operator.is_, given, arrays))
        if not (alike and same and self._parameters.is_settled):
            return
        if len(self._served) >= _MOST_CALLS:
            self._served.clear()
        self._served[call] = trace

    def _only(self, kind: Hashable) -> _Traced | None:
        """The trace of a kind, where that serves calls of all sizes."""
        traces = self._traces.get(kind)
        if traces is None or traces[0].facts is not None or not traces[0].outside.holds():
            return None
        return self._used(traces[0])

    def _known(self, kind: Hashable, values: dict[str, int]) -> _Traced | None:
        """The trace of a kind for a call with these sizes, if there is one that finds what it was made with."""
        for trace in self._traces.get(kind, ()):
            if (trace.facts is None or trace.facts.hold(values)) and trace.outside.holds():
                return self._used(trace)
        return None

    def _added(self, kind: Hashable, trace: _Traced) -> _Traced:
        """A new trace, with which those that are of no use any more, and those that are too many, go."""
        current = [known for known in self._traces.get(kind, ()) if not known.outside.is_past]
        self._traces[kind] = [self._used(trace), *current]
        self._forget()
        return trace

    def _forget(self) -> None:
        """Lets the traces go that were used least recently, as far as there are too many."""
        while self.traces > self._max_traces:
            self._served.clear()
            kind, oldest = min(
                ((kind, trace) for kind, traces in self._traces.items() for trace in traces),
                key=lambda known: known[1].used,
            )
            rest = [trace for trace in self._traces[kind] if trace is not oldest]
            if rest:
                self._traces[kind] = rest
            else:
                del self._traces[kind]

    def _let_go(self) -> None:
        """Lets the traces go that were made with what is not reached any more, unless a call is at work."""
        if self._lock.acquire(blocking=False):
            try:
                current = {
                    kind: [one for one in traces if one.outside.let_go()] for kind, traces in self._traces.items()
                }
                self._traces = {kind: traces for kind, traces in current.items() if traces}
                known = {id(one) for traces in current.values() for one in traces}
                self._served = {call: one for call, one in self._served.items() if id(one) in known}
            finally:
                self._lock.release()

    def _used(self, trace: _Traced) -> _Traced:
        self._calls += 1
        trace.used = self._calls
        return trace

    def _declared(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments, those with a declared shape as arrays."""
        names = self._parameters.positional
        known = dict(zip(names, args, strict=False)) | kwargs
        if missing := sorted(name for name in self._shapes if known.get(name) is None):
            raise ArgumentError(f"jit: {self._name} got no argument {missing}, whose shape is declared")

        def array(name: str, value: Any) -> Any:
            if name not in self._shapes or isinstance(value, Tensor):
                return value
            given = np.asarray(value)
            if given.dtype == object:
                what = f"jit: {self._name}: argument `{name}`, whose shape is declared"
                raise ArgumentTypeError(f"{what}, is a tensor or an array, not {type(value).__name__}")
            return given

        positional = [array(name, value) for name, value in zip(names, args, strict=False)]
        return (*positional, *args[len(positional) :]), {name: array(name, value) for name, value in kwargs.items()}

    def _trace(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        declared: list[tuple[Any, ...]],
        values: dict[str, int],
        objects: tuple[Any, ...],
    ) -> _Traced:
        """Traces the function for arrays of these shapes, in a call in which variables have these values.

        A trace that fails is made again with what it was told of sizes, as long as that is more than it was told
        before: what a function asks before a branch is true in it. Where it asks for the data of tensors from outside,
        it is made again with these as constants, and with all where their devices do not fit those of arguments.
        """
        facts: _Facts | None = None
        constants: list[Tensor] = []
        while True:
            trace = _Trace(values, facts, constants)
            try:
                with contextlib.nullcontext() if self._config is None else self._config:
                    traced = self._traced(trace, args, kwargs, declared, objects)
                if traced is None:
                    continue
                if not (looked := trace.looked_at()):
                    return traced
                constants += looked
            except (Error, TypeError) as error:
                fixed = trace.looked_at()
                if isinstance(error, DeviceError):
                    fixed += [tensor for tensor, stands_in, _ in trace.found([]) if stands_in is not None]
                if fixed:
                    constants += fixed
                    continue
                # A size that is no number may be NumPy's TypeError.
                why = trace.refused()
                if not isinstance(error, Error) and why is None:
                    raise
                told = trace.told()
                if told is None or told.agree(facts):
                    failed = error if isinstance(error, Error) else TraceError(why)
                    raise self._failed(failed, told) from error.__cause__
                facts = told

    def _failed(self, error: Error, told: _Facts | None) -> Error:
        """The error of a trace with the function's name, and what it was told of sizes."""
        named = error
        if isinstance(error, TraceError):
            named = TraceError(f"jit: {self._name}: {error}").with_traceback(error.__traceback__)
            for note in getattr(error, "__notes__", ()):
                named.add_note(note)
        if told is not None:
            named.add_note(f"jit: {self._name} is traced for a call in which {told!r}")
        return named

    def _traced(
        self,
        trace: _Trace,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        declared: list[tuple[Any, ...]],
        objects: tuple[Any, ...],
    ) -> _Traced | None:
        """What a trace of the function for arrays of these shapes makes; none where it has to be made again."""
        given: list[Any] = []
        structure = taken((args, kwargs), given, _free)
        inputs: list[Tensor] = []
        # Arrays of the host go where tensors are, else to the default device.
        place = next((device_of(one) for one in given if isinstance(one, Tensor)), None) or get_default_device()
        for array, shape, name in zip(given, declared, self._parameters.names(*structure), strict=True):
            called = f"argument `{name}`"
            if isinstance(array, Tensor):
                inputs.append(trace.placeholder_for(array, shape, called))
            else:
                inputs.append(trace.placeholder(shape, array.dtype, called, None if place == "CPU" else place))
        args, kwargs = rebuilt(structure, _recorded(inputs, given))
        # The function may let its handles require a gradient, or stand for something else.
        inputs = [cast(Tensor, one._snapshot()) for one in inputs]
        reached = Reached(objects, self._written)
        found: list[Any] = []
        numbers: list[int] = []

        def number(value: Any) -> Any:
            if not isinstance(value, Size):
                return value
            size = trace.size(value)
            if isinstance(size, int):
                return size
            numbers.append(len(found))
            return taken(Tensor(size), found, _free)

        def outcome() -> tuple[Any, list[int], Effects, list[Tensor]]:
            shape = taken(self._function(*args, **kwargs), found, number)
            recorded = [at for at, one in enumerate(found) if isinstance(one, Tensor) and one.requires_grad]
            effects = Effects(trace, reached.guard, found)
            # Handles of its own: preparing makes a tensor stand for the plan's output.
            tensors = [value if isinstance(value, Tensor) else Tensor(value) for value in found]
            own = [tensor.contiguous() if tensor.is_realized else tensor.clone() for tensor in tensors]
            return shape, recorded, effects, own

        before = self._written.values()
        try:
            shape, recorded, effects, outputs = trace.run(outcome)
        finally:
            # What its names stand for is known when the plan has run.
            undo(trace, reached.guard)
            again = self._written.undo(trace, before)
        if again:
            return None
        outside = trace.found(outputs)
        read = [(found, stands_in) for found, stands_in, is_read in outside if stands_in is not None and is_read]
        over = effects.over([found for found, _ in read], len(inputs))
        draws, states = trace.draws()
        steady = None
        if outputs and read and not effects:
            steady = Steady(
                self._steady, outputs, [stands_in for _, stands_in in read], [*inputs, *states], self._config
            )
        by = [at for at, one in enumerate(given) if _is_recorded(one)]
        by += [at for at, (one, _) in enumerate(read, len(inputs)) if one.requires_grad]
        inputs += [stands_in for _, stands_in in read]
        inputs += states
        derivatives, whole = None, Graph(*outputs)
        if recorded and by and not effects.is_step:
            name, config = self._name, PrepareConfig(config=self._config)
            derivatives = Derivatives(name, whole, recorded, inputs, by, over, config)
        graph = str(whole) if outputs else ""
        plan = _prepare_writing(outputs, inputs, over, config=self._config) if outputs else None
        variables = frozenset(plan.variables if plan is not None else ())
        result, seen = rebuilder(shape), Outside(reached, outside, effects)
        told = trace.told()
        return _Traced(plan, variables, graph, result, numbers, seen, draws or None, told, steady, derivatives)


def _is_recorded(value: Any) -> bool:
    """Whether what is made of an argument remembers it."""
    return isinstance(value, Tensor) and value.requires_grad and is_grad_enabled()


def _recorded(inputs: list[Tensor], given: list[Any]) -> list[Tensor]:
    """What stands for arguments, as what derivatives are taken by where arguments are that."""
    return [_stand_ins([one])[0] if _is_recorded(of) else one for one, of in zip(inputs, given, strict=True)]


def _free(value: Any) -> Any:
    """What a trace has in place of a value: a size without the values of its variables."""
    return value._free() if isinstance(value, Size) else value


def _values(sizes: list[Size], trace: _Traced) -> dict[str, int]:
    """The values of these sizes' variables, as far as a trace's plan has them."""
    values: dict[str, int] = {}
    for size in sizes:
        for name, value in size._values().items():
            if values.setdefault(name, value) != value:
                mismatch = ArgumentError(f"bind mismatch: {name}={values[name]} and {name}={value} in one call")
                mismatch.kind = "bind mismatch"
                raise mismatch
    if trace.facts is not None:
        values = trace.facts.values(values)
    return {name: value for name, value in values.items() if name in trace.variables}


@overload
def jit(function: Callable[P, R]) -> Jitted[P, R]: ...


@overload
def jit(
    *,
    shapes: Mapping[str, Sequence[int | Variable | Size]] = ...,
    max_traces: int = ...,
    config: PrepareConfig | None = ...,
    **options: Any,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


@overload
def jit(
    function: Callable[P, R],
    *,
    shapes: Mapping[str, Sequence[int | Variable | Size]] | None = ...,
    max_traces: int = ...,
    config: PrepareConfig | None = ...,
    **options: Any,
) -> Jitted[P, R]: ...


def jit(
    function: Callable[P, R] | None = None,
    *,
    shapes: Mapping[str, Sequence[int | Variable | Size]] | None = None,
    max_traces: int = 64,
    config: PrepareConfig | None = None,
    **options: Any,
) -> Any:
    """Makes of a function of tensors one that is traced once and then runs as a plan.

    Arguments may be nested dicts, lists, tuples, named tuples and dataclasses. A call traces the
    function anew for a structure, constant, element type, shape or `PrepareConfig` that it has not seen;
    whether arguments are given by position, by name or by default makes no difference. Of
    more than `max_traces` the least recently used is forgotten.

    What changes from call to call without a new trace: tensors, arrays, NumPy's scalars (`np.float32(0.1)`),
    and the values of bound variables (`n.bind(5)`). What is part of the trace, so that each new value is
    traced and compiled anew: Python's numbers, of which `np.float64` is one, text, slices, ranges, sets, and whatever
    else is equal to others by value; other objects, such as `self`, by identity and by their attributes, those of
    objects among them included, but for what arrays and containers of over 1000 items hold. `shapes` declares
    shapes of arguments by name, whose variables any size may take. Where the function asks how sizes compare
    (`if x.shape[0] > 100`), it is told what is so in the call that it is traced for, and is traced anew for a call
    in which another answer is true. What it asks is known in the branch, if the branch needs it: after
    `if x.shape[0] == x.shape[1]` both are one size. `config` is what the function is prepared with,
    in place of the surrounding one, and `options` are those of `PrepareConfig`, as in `jit(f, memory_budget=10**6)`.

    Results are tensors of their own, in the structure that the function gives; sizes are the numbers that they
    are in this call.

    Tensors that the function finds outside of its arguments are inputs of its plan too, read as they are at the call:
    after `w.assign(…)`, `w[0] = …`, `model.load_state_dict(…)`, `model.weight = …`, or where a name is bound anew, the
    call uses the new values, without another trace where type, shape and device are alike. They are found again on the
    way that leads to them from the function or an object among its arguments: by the cells of its closure, globals that
    its code names, defaults, attributes, items of containers, bound methods, `functools.partial`, and likewise from
    functions that these reach. What no such way leads to is read by the handle that the trace found. Numbers,
    text and objects on these ways are part of the trace; what the function itself adds there while it is traced, such
    as a value that it keeps for later calls, is not. Numbers and text that it changes there (`self.steps += 1`) change
    with each call, and each new value is another trace: a tensor (`self.steps = svod.Tensor(0)`) needs none.
    Tensors whose data the function looks at (`float(t)`, `x[mask]`, `if t:`), and those of a file on disk,
    are constants: another value is another trace.

    Random numbers that the function draws are others in each call: those that it would give if it were not traced (of a
    symbolic extent, for that: a draw then takes as many from the generator as it has at most). What
    it does besides happens only while it is traced, which is more than once where what is known in a branch is
    needed, or the data of a tensor from outside. Looking at the data of arguments there, and assigning to an argument,
    raises `TraceError`: return the new value.

    What the function assigns to tensors from outside (`w.assign(…)`, `w[0] = …`), the gradients that `backward`
    gathers by them, and what it binds names on these ways to (`self.w = self.w - g`), are results of its plan too,
    which each call gives to these tensors and names: a training step is one plan. A call that fails changes none of
    them. Numbers that differ from step to step, such as a learning rate, are best held in tensors (`rate =
    svod.Tensor(0.1)`, `rate.assign(0.05)`), which need no other trace. Calls of one function that writes take turns.

    Results that follow from arguments or tensors from outside that require a gradient do so as well, unless the
    function gathers gradients or writes such tensors itself: `loss(svod.jit(model)(x)).backward()` runs the call's plan
    and then one for the derivative, which is made when it is first asked for. It goes by the values of the call. Under
    `no_grad` nothing is held for that. Within `svod.grad`, `vmap` and their like, and within another traced function, a
    call is the function itself.

    >>> import numpy as np, svod
    >>> n = svod.Variable("n", 1, 64)
    >>> @svod.jit(shapes={"x": (n, 2)})
    ... def total(x, scale=1.0):
    ...     return {"total": (x * scale).sum(1)}
    >>> total(np.ones((3, 2), np.float32))["total"].tolist()
    [2.0, 2.0, 2.0]
    >>> total(np.ones((1, 2), np.float32))["total"].tolist(), total.traces
    ([2.0], 1)
    >>> total(np.ones((1, 2), np.float32), scale=np.float32(3)), total.traces
    ({'total': Tensor([6.], shape=(1,), dtype=float32, device=CPU)}, 2)
    >>> total(np.ones((1, 2), np.float32), np.float32(5)), total.traces
    ({'total': Tensor([10.], shape=(1,), dtype=float32, device=CPU)}, 2)
    >>> w = svod.Tensor([1.0, 2.0]).requires_grad_()
    >>> @svod.jit
    ... def step(x):
    ...     loss = ((w * x).sum() - 3) ** 2
    ...     loss.backward()
    ...     with svod.no_grad():
    ...         w.assign(w - 0.25 * w.grad)
    ...     w.grad = None
    ...     return loss
    >>> [step(svod.Tensor([1.0, 0.0])).item() for _ in range(2)], w.tolist()[1]
    ([4.0, 1.0], 2.0)
    >>> scaled = svod.jit(lambda x: w * x)
    >>> (scaled(svod.Tensor([3.0, 4.0])) ** 2).sum().backward()
    >>> w.grad.tolist()
    [45.0, 64.0]
    """
    if not isinstance(max_traces, numbers.Integral) or max_traces < 1:
        kind = ArgumentError if isinstance(max_traces, numbers.Integral) else ArgumentTypeError
        raise kind(f"jit: max_traces: an integer of at least 1 is expected, not {max_traces!r}")
    if options:
        config = PrepareConfig(config=config, **options)
    if function is None:
        return functools.partial(jit, shapes=shapes, max_traces=max_traces, config=config)
    return Jitted(function, {} if shapes is None else shapes, max_traces, config)
