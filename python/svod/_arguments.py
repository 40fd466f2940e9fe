"""Arguments that do not fit: an error names the parameter, and says what its annotation takes."""

from __future__ import annotations

import collections.abc
import contextlib
import functools
import inspect
import itertools
import numbers
import operator
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

from svod._svod import ArgumentError, ArgumentTypeError, Error, OutOfMemoryError, Size, Tensor, Variable, _operands

__all__ = ["checked", "checked_at_once", "checked_init"]

P = ParamSpec("P")
R = TypeVar("R")

# What Python raises where it is given a value of another type, or one too large.
_WRONG = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError)

# Code whose errors are about its arguments: this package's, and that of what it calls with numbers.
_OURS = tuple(str(Path(found).parent) for found in (__file__, np.__file__, typing.__file__))

_MOST_SHOWN = 60


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose failures name an argument that is not what its annotation takes, if there is one.

    A call that succeeds costs nothing beyond the call, and a look at arguments that are to be true or false: any object
    is one of these to Python. What a user's function raises stays as it is. A tensor or NumPy's integer in the place of
    Python's is read, and the function called again.
    """
    flags = _flags(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for at, name in flags:
            given = args[at] if at < len(args) else kwargs.get(name, False)
            if given is not True and given is not False and given is not None and not _is_flag(given):
                message = f"{_name(function, args)}: {name}: {_words(bool)} is expected, not {_shown(given)}"
                raise ArgumentTypeError(message)
        try:
            return function(*args, **kwargs)
        except _WRONG as error:
            read = _with_integers(function, args, kwargs) if _is_ours(error) else None
            if read is None:
                explained = _explained(function, args, kwargs, error)
                if explained is None:
                    _rename(function, args, kwargs, error)
                    raise
                raise explained from error
        again: Any = call
        made: R = again(*read[0], **read[1])
        return made

    return call


def checked_at_once(function: Callable[P, R]) -> Callable[P, R]:
    """As `checked`, where arguments are kept for later: they are compared with annotations before the call."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        args, kwargs = _with_integers(function, args, kwargs) or (args, kwargs)
        unfit = _unfit(function, args, kwargs, lenient=True)
        if unfit is not None:
            raise unfit
        return inner(*args, **kwargs)

    inner: Callable[..., R] = checked(function)
    return call


def checked_init(init: Callable[P, None]) -> Callable[P, None]:
    """As `checked`, of an `__init__`, which keeps arguments for later: those that it takes are compared too."""

    @functools.wraps(init)
    def call(*args: Any, **kwargs: Any) -> None:
        args, kwargs = _with_integers(init, args, kwargs) or (args, kwargs)
        inner(*args, **kwargs)
        unfit = _unfit(init, args, kwargs, lenient=True)
        if unfit is not None:
            raise unfit

    inner: Callable[..., None] = checked(init)
    return call


def _with_integers(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with integers of Python's in the place of tensors and of NumPy's integers, where annotations take
    integers and no tensors; nothing where there are none."""
    if not any(map(_holds, (*args, *kwargs.values()))):
        return None
    hints, kwargs = _hints(function), {**kwargs}
    spelled = getattr(function, "_spelled", None)
    if spelled is not None:
        args = spelled(args, kwargs)
    several = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [one.name for one in inspect.signature(function).parameters.values() if one.kind in several]
    read = tuple(_integers(one, hints.get(name)) for name, one in itertools.zip_longest(names[: len(args)], args))
    named = {name: _integers(one, hints.get(name)) for name, one in kwargs.items()}
    same = all(map(operator.is_, (*read, *named.values()), (*args, *kwargs.values())))
    return None if same else (read, named)


# What may hold an integer, and is none of Python's.
_HOLDERS = (Tensor, np.ndarray, np.integer)


def _holds(value: Any) -> bool:
    """Whether it may hold integers that are not Python's, or is a list of such."""
    return isinstance(value, _HOLDERS) or (isinstance(value, (list, tuple)) and any(map(_holds, value)))


def _integers(value: Any, hint: Any) -> Any:
    """What is given where an annotation takes integers, these as Python's; else the same object."""
    if not _holds(value) or not _takes(hint, int) or _takes(hint, Tensor):
        return value
    if isinstance(value, (list, tuple)):
        made = [_integers(one, int) for one in value]
        return value if all(map(operator.is_, made, value)) else type(value)(made)
    if "int" not in value.dtype.name:
        return value
    if value.ndim == 0:
        return operator.index(value)
    return value.tolist() if value.ndim == 1 and not isinstance(hint, type) else value


def _takes(hint: Any, kind: type) -> bool:
    """Whether an annotation takes a thing of this class, or several."""
    return hint is kind or any(_takes(one, kind) for one in typing.get_args(hint))


_FLAGS = (bool, "bool", "bool | None")


def _flags(function: Callable[..., Any]) -> list[tuple[int, str]]:
    """Where a function takes arguments that are true or false: positions and names."""
    inner = inspect.unwrap(function)
    code = getattr(inner, "__code__", None)
    if code is None:
        # Of the extension, which looks itself.
        return []
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    are = [(at, name) for at, name in enumerate(names) if inner.__annotations__.get(name) in _FLAGS]
    found = [(at if at < code.co_argcount else sys.maxsize, name) for at, name in are]
    # By its other name: see `library._spelling`.
    return found + [(sys.maxsize, "keepdim") for _, name in found if name == "keepdims" and "keepdim" not in names]


def _explained(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], error: Exception
) -> Exception | None:
    """What to raise in place of an error; nothing if that says enough, or is not about the arguments."""
    if not _is_ours(error) or (isinstance(error, Error) and _says_enough(function, args, error)):
        return None
    unfit = _unfit(function, args, kwargs, lenient=isinstance(error, Error) and error.__cause__ is None)
    if unfit is not None:
        return unfit
    if isinstance(error, Error):
        if type(error) is not ArgumentTypeError or function.__name__ == "forward":
            return None
        # Of a function that this one is made of; a module's function says what it is.
        outer = _no_operand(function, args, kwargs) or ArgumentTypeError(
            f"{_name(function, args)}: {_PRIVATE.sub('', str(error), count=1)}"
        )
        for note in getattr(error, "__notes__", ()):
            outer.add_note(note)
        return outer
    given = _bound(function, args, kwargs)
    plain = [f"{name}={_shown(value)}" for name, value in given if name != "self" and not isinstance(value, Tensor)]
    kind = OutOfMemoryError if isinstance(error, MemoryError) else ArgumentError
    told = f", of {', '.join(plain)}" if plain else ""
    return kind(f"{_name(function, args)}: {error}{told}")


# What errors of compiled functions that are not called by users begin with, and the notes of those that name none.
_PRIVATE = re.compile(r"^(_[a-z]\w*: )(x: )?(tensor: )?")
_NAMELESS = "while processing 'operands'"
# How errors begin that name an operation, behind which stand at most its operands' types (`add of f32[2], f32[3]: ..`).
_NAMED = re.compile(r"^[A-Za-z]\w*(?=( of [^:]*)?: )")


def _rename(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], error: BaseException
) -> None:
    """Has an error that names another function of the package, of which this one is made, or none, name that which was
    called, and the parameter."""
    private = _PRIVATE.match(str(error))
    nameless = _NAMELESS in getattr(error, "__notes__", ())
    if not isinstance(error, Error) or not _is_ours(error):
        return
    if not (private or nameless):
        # A module's function says what it is.
        if function.__name__ != "forward" and not function.__name__.startswith("__"):
            name, named = _name(function, args).removeprefix("Tensor."), _NAMED.match(str(error))
            # A method that assigns what this function makes has a name of its own, and an object may name its class.
            own = (f"{name}_", *(type(given).__name__ for given in args[:1]))
            if named and named[0] not in own:
                error.args = (name + str(error)[named.end() :],)
        return
    text = str(error)[private.end() if private else 0 :].removeprefix("tensor: ")
    hints = _hints(function)
    # Whose parameter is called otherwise here.
    is_operand = private is None or private[2] is not None
    for name, value in _bound(function, args, kwargs) if is_operand else ():
        if hints.get(name) in (Any, Tensor, Tensor | None) and value is not None:
            try:
                _operands(value)
            except Error:
                text = f"{name}: {text}"
                break
    error.args = (f"{_name(function, args)}: {text}",)


def _no_operand(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> ArgumentTypeError | None:
    """The error of the first argument that may be anything and becomes no tensor."""
    hints, parameters = _hints(function), inspect.signature(function).parameters
    for name, value in _bound(function, args, kwargs):
        if hints.get(name) is Any and (name not in parameters or value is not parameters[name].default):
            try:
                _operands(value)
            except ArgumentTypeError as error:
                return ArgumentTypeError(f"{_name(function, args)}: {name}: {error}")
    return None


def _says_enough(function: Callable[..., Any], args: tuple[Any, ...], error: Error) -> bool:
    """Whether an error is of an argument's type, and says of which function and parameter it is."""
    if not isinstance(error, TypeError) or not str(error).startswith(f"{_name(function, args)}: "):
        return False
    words = set(re.findall(r"\w+", str(error).split(", not ")[0]))
    return any(name in words for name in inspect.signature(function).parameters if len(name) > 1)


def _is_ours(error: BaseException) -> bool:
    """Whether no code but this package's, and what it calls by itself, was at work when it was raised."""
    at = error.__traceback__
    while at is not None:
        if not at.tb_frame.f_code.co_filename.startswith(_OURS):
            return False
        at = at.tb_next
    return True


def _unfit(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], lenient: bool
) -> ArgumentTypeError | None:
    """The error of the first argument that is not what its annotation takes."""
    try:
        given = _bound(function, args, kwargs)
    except TypeError as error:
        return ArgumentTypeError(f"{_name(function, args)}: {error}")
    hints = _hints(function)
    for name, value in given:
        if name in hints and not _fits(value, hints[name], lenient):
            message = f"{_name(function, args)}: {name}: {_words(hints[name])} is expected, not {_shown(value)}"
            return ArgumentTypeError(message)
    return None


def _bound(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The names of the arguments of a call, and these; those that share one name one by one."""
    signature = inspect.signature(function)
    spelled, kwargs = getattr(function, "_spelled", None), {**kwargs}
    if spelled is not None:
        args = spelled(args, kwargs)
    bound = []
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            bound += [(name, one) for one in value]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            bound += list(value.items())
        else:
            bound.append((name, value))
    return bound


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError:
        # Some are annotated with what only type checkers import.
        inner = inspect.unwrap(function)
        found: dict[str, Any] = {}
        for one in getattr(inner, "__annotations__", {}).items():
            with contextlib.suppress(NameError):
                found |= typing.get_type_hints(types.SimpleNamespace(__annotations__=dict([one])), inner.__globals__)
        return found


def _name(function: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What a user calls it: a class by its own name, whichever base it is made by."""
    is_made = function.__name__ == "__init__" and args
    return type(args[0]).__name__ if is_made else function.__qualname__


def _fits(value: Any, hint: Any, lenient: bool) -> bool:
    """Whether a value is what an annotation says; what is not told by it is taken for fitting.

    Where arguments become tensors, `lenient`, whatever does fits as one.
    """
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one, lenient) for one in of)
    if origin is typing.Literal:
        return value in of
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    if hint in _SCALARS:
        return _SCALARS[hint][1](value)
    if hint is Tensor:
        return isinstance(value, Tensor) or (lenient and _becomes_a_tensor(value))
    kind = origin or hint
    if kind is collections.abc.Callable:
        return callable(value)
    if not isinstance(kind, type):
        return True
    if issubclass(kind, (Sequence, collections.abc.Iterable)) and isinstance(value, str):
        return False
    if isinstance(value, np.ndarray) and value.ndim == 1 and issubclass(Sequence, kind):
        value = value.tolist()
    if not isinstance(value, kind):
        return False
    return not isinstance(value, (list, tuple)) or _items_fit(value, of, lenient)


def _items_fit(value: Sequence[Any], of: tuple[Any, ...], lenient: bool) -> bool:
    several = len(of) > 1 and of[-1] is not Ellipsis
    if several:
        return len(value) == len(of) and all(map(_fits, value, of, [lenient] * len(of)))
    return not of or all(_fits(one, of[0], lenient) for one in value)


def _becomes_a_tensor(value: Any) -> bool:
    return isinstance(value, (list, tuple, numbers.Number)) or hasattr(value, "__array__")


def _is_integer(value: Any) -> bool:
    return isinstance(value, (numbers.Integral, Size, Variable)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, (Tensor, np.ndarray)):
        return value.ndim == 0
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_complex(value: Any) -> bool:
    return _is_number(value) or isinstance(value, numbers.Complex)


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, numbers.Integral) and value in (0, 1))


# Annotations of single values: in words, and which they are.
_SCALARS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    bool: ("True or False", _is_flag),
    int: ("an integer", _is_integer),
    float: ("a number", _is_number),
    complex: ("a number", _is_complex),
    str: ("text", lambda value: isinstance(value, str)),
}


# Of unions that many parameters have.
_SEVERAL = {
    frozenset((int, Sequence[int])): "an integer, or several,",
    frozenset((float, Sequence[float])): "a number, or several,",
    frozenset((int, Sequence[int], type(None))): "an integer, or several, or None",
}


def _words(hint: Any) -> str:
    """An annotation in words."""
    origin, of = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _SEVERAL.get(frozenset(of)) or " or ".join(dict.fromkeys(map(_words, of)))
    if origin is typing.Literal:
        return " or ".join(map(repr, of))
    if hint is None or hint is type(None):
        return "None"
    if hint in _SCALARS:
        return _SCALARS[hint][0]
    if hint is Tensor:
        return "a tensor"
    kind = origin or hint
    if kind is collections.abc.Callable:
        return "a function"
    if kind is tuple and len(of) > 1 and of[-1] is not Ellipsis:
        return f"a tuple of {len(of)}, each {_words(of[0])}"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return "a dict"
    if kind in (list, tuple) or inspect.isabstract(kind):
        return f"several, each {_words(of[0])}" if of and of[0] is not Any else "a list"
    return f"a {getattr(kind, '__name__', kind)}"


def _shown(value: Any) -> str:
    """A value in an error: its text where that is short, else its class."""
    text = repr(value) if isinstance(value, (int, float, str, bytes, list, tuple, dict)) or value is None else ""
    return text if 0 < len(text) <= _MOST_SHOWN else type(value).__name__
