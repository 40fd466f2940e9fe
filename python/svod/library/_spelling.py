"""What all functions of the library have in common: how their arguments may be written."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np

from svod._svod import ArgumentTypeError, Tensor, _tensor

__all__ = ["SPELLINGS", "assigning", "beside", "forwarding", "public", "together"]

# Parameters as the files of the library name them, after the array API standard, and PyTorch's names for them.
SPELLINGS = {"axis": "dim", "axis1": "dim1", "axis2": "dim2", "keepdims": "keepdim"}
# The names that what is given by position has in PyTorch and NumPy, which signatures do not show; each has its own too.
POSITIONAL = {"x": ("input", "a", "A"), "x1": ("input", "a", "A"), "x2": ("other", "b", "B")}
# Further names of functions' parameters.
OTHERS: dict[str, dict[str, tuple[str, ...]]] = {
    "cholesky_inverse": {"x": ("L",)},
    "cholesky_solve": {"x": ("B",), "input2": ("L",)},
    "clip": {"min": ("a_min",), "max": ("a_max",)},
    "concat": {"arrays": ("tensors",)},
    "diag": {"diagonal": ("k",)},
    "diagflat": {"offset": ("k",)},
    "flip": {"axis": ("dims",)},
    "float_power": {"x2": ("exponent",)},
    "full_like": {"x": ("prototype",)},
    "gradient": {"x": ("f",)},
    "heaviside": {"x2": ("values",)},
    "histogram": {"weight": ("weights",)},
    "histogramdd": {"x": ("sample",), "weight": ("weights",)},
    "isin": {"x1": ("elements", "element"), "x2": ("test_elements",)},
    "logspace": {"end": ("stop",), "steps": ("num",)},
    "lstsq": {"rtol": ("rcond",)},
    "lu_solve": {"x": ("b",)},
    "nanquantile": {"interpolation": ("method",)},
    "nanstd": {"correction": ("ddof",)},
    "nanvar": {"correction": ("ddof",)},
    "polygamma": {"x": ("input",)},
    "put": {"index": ("ind",), "source": ("v",)},
    "quantile": {"interpolation": ("method",)},
    "roll": {"shift": ("shifts",), "axis": ("dims",)},
    "rot90": {"x": ("m",), "dims": ("axes",)},
    "searchsorted": {"x1": ("sorted_sequence",), "x2": ("values", "v", "input")},
    "swapdims": {"axis1": ("dim0",), "axis2": ("dim1",)},
    "tensor_split": {"indices_or_sections": ("sections", "indices")},
    "take": {"indices": ("index",)},
    "tensordot": {"axes": ("dims",)},
    "tile": {"repetitions": ("dims", "reps")},
    "transpose_copy": {"axis1": ("dim0",), "axis2": ("dim1",)},
    "triangular_solve": {"x": ("b",)},
    "tril": {"k": ("diagonal",)},
    "triu": {"k": ("diagonal",)},
    "vecdot": {"x1": ("x",), "x2": ("y",)},
}

# Types that Python's numbers have by themselves, and those of all their digits.
_WIDE = {"float32": "float64", "complex64": "complex128"}

# What annotations say of parameters that become tensors.
_TENSORS = ("Tensor", "Tensor | None")


def public(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as users call it: its parameters have both names, and a tensor may be given as what becomes one.

    A function that has both names of a parameter tells them apart itself. A tensor is expected where a parameter's
    annotation is `Tensor`. Arguments that are scalars in their own right, such as the
    number in `svod.hypot(x, 1)`, are for `_operands`.
    """
    code, annotations = function.__code__, function.__annotations__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    renamed = [(theirs, ours) for ours, theirs in SPELLINGS.items() if ours in parameters and theirs not in parameters]
    others = OTHERS.get(function.__name__, {})
    first = parameters[: code.co_posonlyargcount]
    leading = [
        tuple(dict.fromkeys((name, *others.get(name, ()), *POSITIONAL.get(name, ()), SPELLINGS.get(name, name))))
        for name in first
    ]
    hidden = [(theirs, ours) for ours, names in others.items() if ours not in first for theirs in names]
    if "axes" in parameters and "dim" not in parameters and not others:
        hidden.append(("dim", "axes"))
    tensors = [annotations.get(name) in _TENSORS for name in parameters]
    by_name = frozenset(name for i, name in enumerate(parameters) if tensors[i] and i >= code.co_posonlyargcount)
    at = [i for i in range(code.co_argcount) if tensors[i]]

    def spelled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments by position; those by name have the function's names."""
        if kwargs:
            for names in leading[len(args) :]:
                given = next((name for name in names if name in kwargs), None)
                if given is None:
                    break
                args = (*args, kwargs.pop(given))
            for theirs, ours in (*renamed, *hidden):
                if theirs in kwargs:
                    _rename(function, kwargs, theirs, ours)
        return args

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            args = spelled(args, kwargs)
            for name in by_name & kwargs.keys():
                if kwargs[name] is not None and type(kwargs[name]) is not Tensor:
                    kwargs[name] = beside(kwargs[name], (*args, *kwargs.values()))
        for i in at:
            if i < len(args) and type(args[i]) is not Tensor and args[i] is not None:
                args = (*args[:i], beside(args[i], (*args, *kwargs.values())), *args[i + 1 :])
        return function(*args, **kwargs)

    call.__module__ = "svod"
    call._spelled = spelled  # type: ignore[attr-defined]
    # Parameters that a signature shows, and that are others by another name.
    call._others = frozenset(theirs for theirs, _ in renamed)  # type: ignore[attr-defined]
    _sign(call, [ours for _, ours in renamed])
    return call


def beside(given: Any, others: Iterable[Any]) -> Tensor:
    """The tensor of what is given; Python's numbers have all their digits beside what has 64-bit floats."""
    made = _tensor(given)
    wide = _WIDE.get(made.dtype.name)
    if wide is None or type(given) not in (float, complex, list, tuple):
        return made
    is_wide = any(isinstance(one, (Tensor, np.ndarray)) and one.dtype.name in _WIDE.values() for one in others)
    return Tensor(given, wide) if is_wide else made


def together(several: Iterable[Any]) -> list[Tensor]:
    """The tensors of several things, Python's numbers among them as `beside` has them."""
    given = list(several)
    return [one if type(one) is Tensor else beside(one, given) for one in given]


def assigning(made: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    """The method that assigns what a function makes of the tensor."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return self._become(name, made(self, *args, **kwargs))

    method.__name__, method.__qualname__, method.__module__ = name, f"Tensor.{name}", "svod"
    method.__doc__ = f"Becomes what `{made.__name__}` makes of it."
    _, *others = inspect.signature(made).parameters.values()
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY, annotation="Self")
    _set_signature(method, inspect.Signature([own, *others], return_annotation="Self"))
    return method


def forwarding(method: Callable[..., Any]) -> Callable[..., Any]:
    """The function that is a method of the compiled class, whose tensor it takes first, or as `input`."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not args and "input" in kwargs:
            args = (kwargs.pop("input"),)
        if args and type(args[0]) is not Tensor:
            args = (beside(args[0], (*args[1:], *kwargs.values())), *args[1:])
        return method(*args, **kwargs)

    call.__module__, call.__qualname__ = "svod", method.__name__
    _, *others = inspect.signature(method).parameters.values()
    first = inspect.Parameter("x", inspect.Parameter.POSITIONAL_ONLY, annotation="Tensor")
    _set_signature(call, inspect.Signature([first, *others]))
    return call


def _rename(function: Callable[..., Any], kwargs: dict[str, Any], theirs: str, ours: str) -> None:
    """Has an argument go by our name for it."""
    given = kwargs.pop(theirs)
    if kwargs.get(ours) is None:
        kwargs[ours] = given
    elif given is not None:
        message = f"{function.__name__}: {ours} and {theirs} are one argument: give only one of them"
        raise ArgumentTypeError(message)


def _sign(call: Callable[..., Any], renamed: list[str]) -> None:
    """Gives a function the signature that shows its parameters by either name."""
    shown = inspect.signature(call)
    more = [
        shown.parameters[ours].replace(name=SPELLINGS[ours], kind=inspect.Parameter.KEYWORD_ONLY) for ours in renamed
    ]
    more = [one.replace(default=None) if one.default is inspect.Parameter.empty else one for one in more]
    listed = [*shown.parameters.values()]
    rest = [one for one in listed if one.kind is inspect.Parameter.VAR_KEYWORD]
    _set_signature(call, shown.replace(parameters=[*(one for one in listed if one not in rest), *more, *rest]))


def _set_signature(call: Any, signature: inspect.Signature) -> None:
    call.__signature__ = signature
