"""The parameters of a function, as `jit` tells its calls apart."""

from __future__ import annotations

import functools
import inspect
import sys
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from svod._svod import Variable
from svod._tree import places

__all__ = ["Signature", "takes_the_same"]

# Types of values that are what they are for good.
_STATIC = (bool, int, float, complex, str, bytes, type(None), Variable)


def takes_the_same(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a wrapper look like a function that it passes all its arguments to, as they are."""

    def marked(wrapper: Callable[..., Any]) -> Callable[..., Any]:
        wrapped = functools.wraps(function, updated=())(wrapper)
        wrapped._takes_the_same = True  # type: ignore[attr-defined]
        return wrapped

    return marked


class Signature:
    """The parameters of a function, as far as calls that bind the same differ in how they are written."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            # What a wrapper passes on is its own business, unless that is all that it is given.
            passed_to = inspect.unwrap(function, stop=lambda one: not getattr(one, "_takes_the_same", False))
            parameters = list(inspect.signature(passed_to, follow_wrapped=False).parameters.values())
        except (TypeError, ValueError):
            parameters = []
        # Each by one of its names: the defaults of the others say nothing.
        others = getattr(function, "_others", ())
        parameters = [parameter for parameter in parameters if parameter.name not in others]
        of: defaultdict[Any, list[str]] = defaultdict(list)
        for parameter in parameters:
            of[parameter.kind].append(parameter.name)
        # What arguments beyond the others by position are called together.
        self.rest = "".join(of[inspect.Parameter.VAR_POSITIONAL])
        self.unnamed = len(of[inspect.Parameter.POSITIONAL_ONLY])
        self.positional = of[inspect.Parameter.POSITIONAL_ONLY] + of[inspect.Parameter.POSITIONAL_OR_KEYWORD]
        self.keyword = of[inspect.Parameter.KEYWORD_ONLY]
        self.open = not parameters or bool(of[inspect.Parameter.VAR_KEYWORD])
        # So many arguments by position alone are as they should be.
        self.enough = sys.maxsize if self.keyword else len(self.positional)
        self.defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        # Whether defaults are what they are for good.
        self.is_settled = all(type(default) in _STATIC for default in self.defaults.values())

    def names(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
        """What the function calls each tensor among arguments whose structures these are, in their order."""
        more = [f"{self.rest}[{i}]" for i in range(len(args) - len(self.positional))]
        given = [*zip([*self.positional, *more], args, strict=False), *kwargs.items()]
        return [place for name, structure in given for place in places(structure, name)]

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments, by position where that is possible, and defaults where none are given.

        Arguments that do not fit stay as they are: calling the function says what is wrong.
        """
        rest, filled = dict(kwargs), list(args)
        for at in range(len(args), len(self.positional)):
            name = self.positional[at]
            if at >= self.unnamed and name in rest:
                filled.append(rest.pop(name))
            elif name in self.defaults:
                filled.append(self.defaults[name])
            else:
                return args, kwargs
        named = {}
        for name in self.keyword:
            if name in rest:
                named[name] = rest.pop(name)
            elif name in self.defaults:
                named[name] = self.defaults[name]
            else:
                return args, kwargs
        if rest and not self.open:
            return args, kwargs
        return tuple(filled), named | rest
