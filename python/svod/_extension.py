"""Composed functions, of the library and of modules such as `svod.fft`, as users call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from svod._arguments import checked
from svod.library import _spelling

__all__ = ["public"]

R = TypeVar("R")


def public(function: Callable[..., R]) -> Callable[..., R]:
    """The function with names of either library for its arguments, and errors that name the one that does not fit."""
    return checked(_spelling.public(function))
