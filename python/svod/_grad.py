"""Derivatives of functions of tensors."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from svod._arguments import checked_at_once, checked_init
from svod._module import Module
from svod._signature import takes_the_same
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    ShapeError,
    Tensor,
    _checkpointed,
    _pullback,
    _pushforward,
    _released,
    _set_grad_enabled,
    _unwatch,
    _variables,
    _watch,
    _with_derivative,
    arange,
    complex64,
    complex128,
    float32,
    float64,
    is_grad_enabled,
    ones,
    stack,
    zeros,
)
from svod._tree import Slot, items, rebuilt, taken
from svod._vmap import vmap

__all__ = [
    "checkpoint",
    "custom_gradient",
    "enable_grad",
    "grad",
    "hessian",
    "is_differentiating",
    "is_grad_enabled",
    "jacobian",
    "jvp",
    "no_grad",
    "set_grad_enabled",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]


class set_grad_enabled(contextlib.ContextDecorator):
    """Says whether what this thread computes remembers tensors that require a gradient; as a context, within it."""

    @checked_init
    def __init__(self, mode: bool) -> None:
        self._mode = mode
        self._before = [_set_grad_enabled(mode)]

    def __enter__(self) -> None:
        _set_grad_enabled(self._mode)

    def __exit__(self, *exception: object) -> None:
        _set_grad_enabled(self._before[-1])


class _Mode(contextlib.ContextDecorator):
    """Gradients on or off, within it; may be entered again."""

    _mode: bool

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_set_grad_enabled(self._mode))

    def __exit__(self, *exception: object) -> None:
        _set_grad_enabled(self._before.pop())

    def _recreate_cm(self) -> _Mode:
        return type(self)()


class no_grad(_Mode):
    """Within it, what is computed remembers no tensor that requires a gradient, and these may be assigned to.

    >>> import svod
    >>> w = svod.Tensor([1.0]).requires_grad_()
    >>> with svod.no_grad():
    ...     _ = w.assign(w - 0.5)
    >>> w.tolist(), w.requires_grad
    ([0.5], True)
    """

    _mode = False


class enable_grad(_Mode):
    """Ends the effect of `no_grad` within it."""

    _mode = True


def stop_gradient(value: Any) -> Any:
    """The same value, of nested containers of tensors too, through which no derivative passes."""
    found: list[Any] = []
    structure = taken(value, found)
    return rebuilt(structure, [tensor.detach() if isinstance(tensor, Tensor) else tensor for tensor in found])


@dataclasses.dataclass(frozen=True)
class _Parameters:
    """A module among arguments; its derivative is a dict by the parameters' names."""

    module: Module
    names: tuple[str, ...]
    first: int


class _Nesting(threading.local):
    depth = 0


_running = _Nesting()


def is_differentiating() -> bool:
    """Whether a function runs in this thread whose derivative is taken: what a plan computes would have none."""
    return _running.depth > 0


class _Arguments:
    """Arguments that derivatives are taken by: their tensors, as variables while the function runs."""

    def __init__(self, function: str, values: Sequence[Any]) -> None:
        self._function = function
        self._tensors: list[Any] = []
        self._modules: list[Tensor] = []
        self._structure = [taken(value, self._tensors, self._other) for value in values]
        for at, value in enumerate(self._tensors):
            if not isinstance(value, Tensor):
                self._tensors[at] = Tensor(value)
        self.variables: list[Tensor] = []
        self.of_modules: list[Tensor] = []
        self._watched: list[Tensor] = []
        self._before = True

    def _other(self, value: Any) -> Any:
        if isinstance(value, Module):
            named = dict(value.named_parameters())
            floats = {name: p for name, p in named.items() if "float" in str(p.dtype)}
            place = _Parameters(value, tuple(floats), len(self._modules))
            self._modules += floats.values()
            return place
        if isinstance(value, (float, complex)):
            return taken(Tensor(value), self._tensors)
        if isinstance(value, int) and not isinstance(value, bool):
            raise ArgumentTypeError(f"{self._function}: a derivative by an int, {value!r}: only floats have one")
        return value

    def __enter__(self) -> list[Any]:
        """The arguments with variables in place of their tensors; those of modules are variables until the end."""
        self.variables = _variables(self._function, self._tensors)
        self._watched = _watch(self._modules)
        self._before = _set_grad_enabled(True)
        _running.depth += 1
        # Other handles, which outlive the time in which those of modules are variables.
        self.of_modules = [+parameter for parameter in self._modules]
        return [self._given(structure) for structure in self._structure]

    def __exit__(self, *exception: object) -> None:
        _running.depth -= 1
        _set_grad_enabled(self._before)
        _unwatch(self._watched)

    def _given(self, structure: Any) -> Any:
        return _with_modules(rebuilt(structure, self.variables), lambda place: place.module)

    def all(self) -> list[Tensor]:
        return self.variables + self.of_modules

    def like(self, tensors: Sequence[Any]) -> list[Any]:
        """These values in place of the variables."""
        own = len(self.variables)

        def named(place: _Parameters) -> dict[str, Any]:
            start = own + place.first
            return dict(zip(place.names, tensors[start : start + len(place.names)], strict=True))

        return [_with_modules(rebuilt(structure, tensors), named) for structure in self._structure]


def _with_modules(value: Any, of: Callable[[_Parameters], Any]) -> Any:
    """A structure with what `of` gives in place of modules."""
    if isinstance(value, _Parameters):
        return of(value)
    if isinstance(value, dict):
        return {name: _with_modules(item, of) for name, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_with_modules(item, of) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)([_with_modules(item, of) for item in value])
    return value


def _positions(function: str, argnums: int | Sequence[int], count: int) -> list[int]:
    given = [argnums] if isinstance(argnums, int) else list(argnums)
    places = [at + count if at < 0 else at for at in given]
    for at, place in zip(given, places, strict=True):
        if not 0 <= place < count:
            raise ArgumentError(f"{function}: argnums {at}, but the function is called with {count} arguments")
    return places


def _applied(
    function: Callable[..., Any], places: list[int], given: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a function gives for arguments, of which those at some positions are replaced."""
    replaced = dict(zip(places, given, strict=True))
    return function(*(replaced.get(i, arg) for i, arg in enumerate(args)), **kwargs)


def _one(function: str, name: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        given = type(value).__name__
        raise ArgumentTypeError(f"{function}: the function {name} gives {given}, which is no tensor to differentiate")
    return value


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _all_released(value: Any, variables: list[Tensor]) -> Any:
    found: list[Any] = []
    structure = taken(value, found)
    tensors = [tensor for tensor in found if isinstance(tensor, Tensor)]
    released = iter(_released(tensors, variables))
    return rebuilt(structure, [next(released) if isinstance(tensor, Tensor) else tensor for tensor in found])


@checked_at_once
def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the value of `function`, a tensor of one element, and its gradient.

    The gradient is by the arguments at the positions `argnums`: for one number in the structure of that argument, for
    several a tuple of these. Arguments may be nested containers of float tensors and arrays, and modules,
    whose gradients are dicts by the names of their parameters. With `has_aux` the function gives a pair of
    which the second is passed on: `((value, aux), gradient)`.

    >>> import svod
    >>> f = svod.value_and_grad(lambda x: (x**2).sum())
    >>> value, gradient = f(svod.Tensor([1.0, 3.0]))
    >>> value.item(), gradient.tolist()
    (10.0, [2.0, 6.0])
    """
    return _value_and_grad("value_and_grad", function, argnums, has_aux)


def _value_and_grad(
    called: str, function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    @takes_the_same(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        named = _positions(called, argnums, len(args))
        places = list(dict.fromkeys(named))
        arguments = _Arguments(called, [args[place] for place in places])
        with arguments as given:
            result, aux = _applied(function, places, given, args, kwargs), None
            if has_aux:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise ArgumentTypeError(f"{called}: with has_aux, {_name(function)} gives a pair of value and aux")
                result, aux = result
            value = _one(called, _name(function), result)
            variables = arguments.all()
            found = _pullback(called, [value], [None], variables)
            value, *gradients = _released([value, *found], variables)
            if has_aux:
                aux = _all_released(aux, variables)
        gradient = _by_argnums(argnums, named, dict(zip(places, arguments.like(gradients), strict=True)))
        return ((value, aux) if has_aux else value), gradient

    return differentiated


@checked_at_once
def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, *, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the gradient of `function`, which gives a tensor of one element.

    `argnums` and `has_aux` are those of `value_and_grad`; with the latter the result is `(gradient, aux)`. Gradients of
    gradients are taken by `grad` of `grad`.

    >>> import svod
    >>> svod.grad(svod.grad(lambda x: x**3))(svod.Tensor(2.0)).item()
    12.0
    """
    return _gradient_of("grad", function, argnums, has_aux)


def _gradient_of(
    called: str, function: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool
) -> Callable[..., Any]:
    both = _value_and_grad(called, function, argnums, has_aux)

    @takes_the_same(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return differentiated


@checked_at_once
def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The value of a function, and its pullback: from a cotangent, of the value's structure, to one for each argument.

    >>> import svod
    >>> value, pull = svod.vjp(lambda x, y: x * y, svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0]))
    >>> [g.tolist() for g in pull(svod.Tensor([1.0, 10.0]))]
    [[3.0, 40.0], [1.0, 20.0]]
    """
    arguments = _Arguments("vjp", primals)
    with arguments as given:
        result = function(*given)
        outputs = _outputs("vjp", function, result)
        variables = arguments.all()

    def pull(cotangent: Any) -> tuple[Any, ...]:
        seeds = _outputs("vjp", function, cotangent, what="the cotangent")
        if len(seeds) != len(outputs):
            raise ArgumentError(f"vjp: {len(outputs)} values, but {len(seeds)} cotangents")
        with enable_grad():
            found = _pullback("vjp", outputs, seeds, variables)
            return tuple(arguments.like(_released(found, variables)))

    return _all_released(result, variables), pull


@checked_at_once
def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of a function, and its derivative in the direction of `tangents`, which have the primals' structure.

    >>> import svod
    >>> value, tangent = svod.jvp(lambda x: x.sin(), [svod.Tensor(0.0)], [svod.Tensor(2.0)])
    >>> tangent.item()
    2.0
    """
    arguments = _Arguments("jvp", primals)
    with arguments as given:
        variables = arguments.all()
        directions: list[Any] = []
        taken(list(tangents), directions, lambda value: _tangent(value, directions))
        if len(directions) != len(variables):
            raise ArgumentError(
                f"jvp: {len(variables)} tensors among the primals, {len(directions)} among the tangents"
            )
        result = function(*given)
        outputs = _outputs("jvp", function, result)
        moved = _pushforward("jvp", outputs, variables, [_as_tensor(one) for one in directions])
        found: list[Any] = []
        structure = taken(result, found)
        return _all_released(result, variables), rebuilt(structure, _released(moved, variables))


def _tangent(value: Any, directions: list[Any]) -> Any:
    if isinstance(value, (float, complex)):
        directions.append(Tensor(value))
    return value


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor(np.asarray(value))


def _outputs(function: str, of: Any, result: Any, *, what: str = "") -> list[Tensor]:
    found: list[Any] = []

    taken(result, found, _no_tensor(function, of, what))
    return [_as_tensor(value) for value in found]


def _by_argnums(argnums: int | Sequence[int], named: Sequence[int], by_argument: dict[int, Any]) -> Any:
    """What there is for each argument by its position, as `argnums` asks for it: of one, or a tuple."""
    return by_argument[named[0]] if isinstance(argnums, int) else tuple(by_argument[at] for at in named)


def _no_tensor(function: str, of: Any, what: str = "") -> Callable[[Any], Any]:
    """What is made of something in a result that is neither a tensor nor a container of tensors: an error."""

    def other(value: Any) -> Any:
        raise ArgumentTypeError(
            f"{function}: {what or f'the function {_name(of)} gives'} {type(value).__name__}, "
            "which is no tensor to differentiate"
        )

    return other


@checked_at_once
def jacobian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives the derivatives of all elements of `function`'s result by all of an argument.

    For a value of shape `V` and an argument of shape `A` that is a tensor of shape `V + A`; for an argument that is a
    container of tensors or a module one in place of each of them, for several `argnums` a tuple. Where the result is a
    container of tensors it is one like it, with all of these in place of each tensor, as JAX's. It takes one
    pullback for each element of the value, or, where its size is a variable, one for all of them (`vmap`).

    Of a complex value by a complex argument it is the complex derivative, as JAX's with `holomorphic=True`: the
    function is to have one, as `z.exp()` does and `z.conj()` does not. By a real argument it is `d re + 1j·d im`. Of a
    real value by a complex argument the elements are gradients, as `svod.grad` gives them.

    >>> import svod
    >>> svod.jacobian(lambda x: x * x)(svod.Tensor([1.0, 2.0])).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    >>> [j.tolist() for j in svod.jacobian(lambda x, y: x * y, argnums=(0, 1))(svod.Tensor(2.0), svod.Tensor(3.0))]
    [3.0, 2.0]
    """

    @takes_the_same(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        named = _positions("jacobian", argnums, len(args))
        places = list(dict.fromkeys(named))
        arguments = _Arguments("jacobian", [args[place] for place in places])
        with arguments as given:
            result = _applied(function, places, given, args, kwargs)
            variables = arguments.all()
            values: list[Any] = []
            structure = taken(result, values, _no_tensor("jacobian", function))
            rows = [_derivatives("jacobian", _as_tensor(value), variables) for value in values]
            rows = [_released(row, variables) for row in rows]

        def like(row: Sequence[Any]) -> Any:
            return _by_argnums(argnums, named, dict(zip(places, arguments.like(row), strict=True)))

        return rebuilt(structure, [like(row) for row in rows])

    return differentiated


def _derivatives(called: str, value: Tensor, variables: list[Tensor]) -> list[Tensor]:
    """The derivatives of all elements of a value by all of each variable."""
    count = value.numel()
    if not isinstance(count, int):
        at = arange(count)
        unit = (at.unsqueeze(1) == at.unsqueeze(0)).cast(value.dtype).reshape(count, *value.shape)
        rows = vmap(lambda cotangent: tuple(_row(called, value, cotangent, variables)))(unit)
        return [row.reshape(*value.shape, *v.shape) for row, v in zip(rows, variables, strict=True)]
    flat, unit = value.reshape(count), ones((), dtype=value.dtype)
    rows = [_row(called, flat[i], unit, variables) for i in range(count)]

    def joined(column: Sequence[Tensor], variable: Tensor) -> Tensor:
        shape = (*value.shape, *variable.shape)
        return stack(list(column)).reshape(shape) if column else zeros(shape, dtype=variable.dtype)

    columns = zip(*rows, strict=True) if rows else [()] * len(variables)
    return [joined(column, variable) for column, variable in zip(columns, variables, strict=True)]


def _row(called: str, value: Tensor, unit: Tensor, variables: list[Tensor]) -> list[Tensor]:
    """The derivatives by all variables of the element of a value where this cotangent is 1; it is 0 elsewhere."""
    found = _pullback(called, [value], [unit], variables)
    if not value.dtype.is_complex:
        return found
    imaginary = found
    if not all(variable.dtype.is_complex for variable in variables):
        imaginary = _pullback(called, [value], [unit * 1j], variables)
    # A pullback multiplies by the conjugate of the derivative, and gives real numbers the real part of that.
    return [
        one.conj() if variable.dtype.is_complex else one + 1j * other
        for one, other, variable in zip(found, imaginary, variables, strict=True)
    ]


@checked_at_once
def hessian(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of `function`, which gives a tensor of one element, by an argument.

    For an argument of shape `A` that is a tensor of shape `A + A`. For several `argnums` it is a tuple of tuples: of
    the derivatives by the first argument those by the first, by the second …; likewise for an argument that is a
    container of tensors or a module. A result that is a container of tensors of one element has all of these in place
    of each, as JAX's. Derivatives of complex values are complex ones, as in `jacobian`; of a real value by complex
    numbers there are none of second order, which is an `ArgumentTypeError`.

    >>> import svod
    >>> svod.hessian(lambda x: x[0] ** 2 * x[1])(svod.Tensor([3.0, 5.0])).tolist()
    [[10.0, 6.0], [6.0, 0.0]]
    """

    @takes_the_same(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        named = _positions("hessian", argnums, len(args))
        places = list(dict.fromkeys(named))
        arguments = _Arguments("hessian", [args[place] for place in places])
        with arguments as given:
            result = _applied(function, places, given, args, kwargs)
            variables = arguments.all()
            values: list[Any] = []
            structure = taken(result, values, _no_tensor("hessian", function))
            found = [_second(function, _as_tensor(value), variables) for value in values]

        def like(row: Sequence[Any]) -> Any:
            return _by_argnums(argnums, named, dict(zip(places, arguments.like(row), strict=True)))

        return rebuilt(structure, [like([like(row) for row in rows]) for rows in found])

    return differentiated


def _second(function: Callable[..., Any], value: Tensor, variables: list[Tensor]) -> list[list[Tensor]]:
    """The second derivatives of a value of one element, a row for each variable."""
    if not value.dtype.is_complex and any(variable.dtype.is_complex for variable in variables):
        raise ArgumentTypeError(
            f"hessian: {_name(function)} gives {value.dtype} of complex numbers: its second derivatives are "
            "those by real and imaginary parts, of a function of `svod.view_as_real(z)`"
        )
    if not value.dtype.is_complex:
        first = _pullback("hessian", [value], [None], variables)
    elif value.numel() == 1:
        first = _row("hessian", value, ones(value.shape, dtype=value.dtype), variables)
    else:
        raise ShapeError(f"hessian: {value.dtype}{list(value.shape)} is no scalar")
    return [_released(_derivatives("hessian", one, variables), variables) for one in first]


@checked_at_once
def custom_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function give its own derivative: it returns its value and the pullback.

    The value is a tensor, or a container of tensors, of which those of floats have derivatives. The pullback gets the
    cotangent of the value, of its structure: zeros of what nothing passes a cotangent to, none of what is not of
    floats. It is called once, and gives one for each argument that holds tensors, those by position before those by
    name, in a tuple if there are several: of a tensor a tensor of its shape, of a container one like it, of a module a
    dict by the names of its parameters, none where nothing is passed on. Nothing of how the value was computed is
    differentiated, and nothing of what the function finds outside of its arguments.

    >>> import svod
    >>> @svod.custom_gradient
    ... def rounded(x):
    ...     return x.round(), lambda g: g  # straight through
    >>> svod.grad(lambda x: rounded(x * 3).sum())(svod.Tensor([0.4])).tolist()
    [3.0]
    """
    name = _name(function)

    @takes_the_same(function)
    def given(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not (isinstance(result, tuple) and len(result) == 2 and callable(result[1])):
            raise ArgumentTypeError(f"custom_gradient: {name} gives a pair of its value and the pullback")
        found: list[Any] = []
        held: list[Any] = []

        def parameters(value: Any) -> Any:
            if not isinstance(value, Module):
                return value
            floats = {name: p for name, p in value.named_parameters() if p.dtype.is_floating_point}
            return {name: taken(parameter, found) for name, parameter in floats.items()}

        for arg in (*args, *kwargs.values()):
            before = len(found)
            structure = taken(arg, found, parameters)
            if any(isinstance(one, Tensor) for one in found[before:]):
                held.append(structure)
        operands = [i for i, one in enumerate(found) if isinstance(one, Tensor)]
        tensors = [found[i] for i in operands]

        def passed(g: Any) -> list[Tensor | None]:
            cotangents: dict[int, Tensor | None] = {}
            _match(held[0] if len(held) == 1 else tuple(held), result[1](g), cotangents, name)
            return [cotangents.get(i) for i in operands]

        if isinstance(result[0], Tensor):
            return _with_derivative(name, result[0], tensors, passed)
        values: list[Any] = []
        structure = taken(result[0], values, _no_tensor("custom_gradient", function))
        values = [_as_tensor(value) for value in values]
        return rebuilt(structure, _together(name, values, tensors, lambda given: passed(rebuilt(structure, given))))

    return given


def _together(
    name: str, values: list[Tensor], operands: list[Tensor], pull: Callable[[list[Any]], list[Tensor | None]]
) -> list[Tensor]:
    """Values whose derivatives by operands are what one call makes of the cotangents of all of them.

    Their cotangents meet as that of one row of numbers, which nothing computes: each value passes its own on to its
    place in the row, and the row passes all of them on.
    """
    inexact = [at for at, value in enumerate(values) if value.dtype.is_floating_point or value.dtype.is_complex]
    if not inexact:
        return values
    is_complex = any(values[at].dtype.is_complex for at in inexact)
    double = any(values[at].dtype in (float64, complex128) for at in inexact)
    dtype = (complex128 if double else complex64) if is_complex else (float64 if double else float32)
    starts = [0]
    for at in inexact:
        starts.append(starts[-1] + values[at].numel())

    def apart(g: Tensor) -> list[Tensor | None]:
        given: list[Any] = [None] * len(values)
        for at, start, end in zip(inexact, starts, starts[1:], strict=False):
            one = g[start:end].reshape(values[at].shape)
            given[at] = (one.real if is_complex and not values[at].dtype.is_complex else one).cast(values[at].dtype)
        return pull(given)

    row = _with_derivative(name, zeros((starts[-1],), dtype=dtype), operands, apart)

    def placed(g: Tensor, *, start: Any, end: Any) -> list[Tensor | None]:
        return [g.reshape(end - start).cast(dtype).pad([(start, starts[-1] - end)])]

    made = list(values)
    for at, start, end in zip(inexact, starts, starts[1:], strict=False):
        made[at] = _with_derivative(name, values[at], [row], functools.partial(placed, start=start, end=end))
    return made


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """The function, whose derivatives compute what lies between its arguments and its results again.

    What a derivative needs of the way forward is not kept in memory then, but for the arguments: of a deep network
    whose layers are checkpointed the values between layers are kept, and those within one layer at a time (Chen et
    al. 2016). Values and derivatives are the same, up to rounding. Each result is computed again on its own; tensors
    that the function finds outside of its arguments, such as parameters, have their derivatives too.

    As `jax.checkpoint`. With arguments it is called with them, as PyTorch's `checkpoint(function, *args)`, whose
    `use_reentrant` changes nothing here.

    >>> import svod
    >>> w = svod.Tensor([2.0, 3.0])
    >>> layer = svod.checkpoint(lambda x: (x * w).tanh())
    >>> svod.grad(lambda x: layer(layer(x)).sum())(svod.Tensor([0.0, 0.0])).tolist()
    [4.0, 9.0]
    """
    name = _name(function)

    @takes_the_same(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        given: list[Any] = []
        taken((args, kwargs), given)
        tensors = [one for one in given if isinstance(one, Tensor)]
        if not tensors:
            raise ArgumentError(f"checkpoint: {name} is given no tensor to compute its result from again")
        results: list[Any] = []
        structure = taken(function(*args, **kwargs), results)
        if not any(isinstance(one, Tensor) for one in results):
            raise ArgumentTypeError(f"checkpoint: {name} gives no tensor")
        again = [_checkpointed(name, one, tensors) if isinstance(one, Tensor) else one for one in results]
        return rebuilt(structure, again)

    return checkpointed(*args, **kwargs) if args or kwargs else checkpointed


def _match(structure: Any, made: Any, cotangents: dict[int, Tensor | None], name: str) -> None:
    """Finds the cotangent of each slot of a structure in what a pullback gave for it."""
    if made is None:
        return
    if isinstance(structure, Slot):
        if isinstance(made, (tuple, list)) and len(made) == 1:
            (made,) = made
        if not (made is None or isinstance(made, Tensor)):
            raise ArgumentTypeError(f"custom_gradient: the pullback of {name} gives tensors or None, not {made!r}")
        cotangents[structure.position] = made
        return
    inner = items(structure)
    if inner is None:
        return
    of_made = items(made)
    if of_made is None or of_made.keys() != inner.keys():
        given = "a tensor" if isinstance(made, Tensor) else f"{type(made).__name__} of {len(of_made or ())}"
        message = f"custom_gradient: {name}: cotangents of {type(structure).__name__} of {len(inner)}, not {given}"
        raise ArgumentError(message)
    for key, item in inner.items():
        _match(item, of_made[key], cotangents, name)
