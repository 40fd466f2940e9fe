"""The library's functions and methods as users see them, made when they are first asked for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from svod._arguments import checked
from svod._extension import public
from svod._svod import Tensor
from svod.library._spelling import assigning, forwarding
from svod.library._table import FORWARDED, FUNCTIONS, METHODS, REPLACED, Entry

__all__ = ["function", "install", "method"]

_made: dict[Entry, Callable[..., Any]] = {}


def _made_of(entry: Entry) -> Callable[..., Any]:
    """What a row of the table is: one object under all of its names."""
    made = _made.get(entry)
    if made is None:
        made = _made.setdefault(entry, _found(entry))
    return made


def _found(entry: Entry) -> Callable[..., Any]:
    """The function of a row, as users call it."""
    if entry.file == "Tensor":
        return checked(forwarding(getattr(Tensor, entry.function)))
    if entry.file in FORWARDED:
        function: Callable[..., Any] = getattr(importlib.import_module(f"svod.{entry.file}"), entry.function)
        return function
    return public(getattr(importlib.import_module(f"svod.library.{entry.file}"), entry.function))


def function(name: str) -> Callable[..., Any]:
    """The function of `svod` of this name."""
    entry = FUNCTIONS.get(name)
    if entry is None:
        raise AttributeError(f"module 'svod.library' has no attribute '{name}'", name=name)
    return _made_of(entry)


def method(name: str) -> Callable[..., Any]:
    """The method of `Tensor` of this name."""
    made = _made_of(METHODS[name])
    return assigning(made, name) if name.endswith("_") and not name.endswith("__") else made


class _Later:
    """A method that is put in this one's place when it is first asked for."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, owner: type[Tensor]) -> Any:
        made = method(self.name)
        setattr(owner, self.name, made)
        return made if tensor is None else made.__get__(tensor, owner)


def install() -> None:
    """Gives `Tensor` the methods of the table."""
    for name in REPLACED:
        setattr(Tensor, f"_{name}", getattr(Tensor, name))
    for name in METHODS:
        setattr(Tensor, name, _Later(name))
