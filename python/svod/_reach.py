"""What a jitted function finds outside of its arguments: in its closure, in globals, in objects."""

from __future__ import annotations

import os
import sys
from collections import UserDict
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from svod._bindings import bind, bound, depends
from svod._effects import Effects
from svod._svod import Tensor, _changed, _Kinds, _positions, _reach, _same, _Trace, _unchanged, is_grad_enabled

__all__ = ["Found", "Memo", "Outside", "Reached", "Written"]

K = TypeVar("K")
V = TypeVar("V")

# What a program's own functions may say that they are of, wherever its first file lies.
_MAIN = "__main__"

# Libraries whose functions and objects are what they are: nobody gives them other tensors.
_LIBRARIES = frozenset(sys.stdlib_module_names) | {"numpy", "svod"}

# A tensor from outside that a trace found, what stands for it unless it is a constant, and whether the result reads it.
Found = tuple[Tensor, Tensor | None, bool]


class _Packages:
    """Installed packages that do not know svod, and so have no tensors of their own: PyTorch, SciPy, …

    What their functions read of their own modules is no condition of a trace. Walking it takes seconds.
    """

    def __init__(self) -> None:
        self._count, self._names = 0, frozenset[str]()
        # The numbers of modules when packages were looked at.
        self._sizes: dict[str, int] = {}
        # Python's library, but for modules of the program that have the name of one of its.
        self._libraries = _LIBRARIES

    def now(self) -> tuple[frozenset[str], frozenset[str]]:
        """The libraries whose functions and objects are what they are, and the names of packages that are loaded."""
        if len(sys.modules) != self._count:
            self._look()
        return self._libraries, self._names

    def _look(self) -> None:
        modules, names = dict(sys.modules), set(self._names)
        packages: dict[str, list[Any]] = {}
        for name, module in modules.items():
            packages.setdefault(name.partition(".")[0], []).append(module)
        for name, own in packages.items():
            if name not in _LIBRARIES and name != _MAIN and self._sizes.get(name) != len(own):
                self._sizes[name] = len(own)
                outside = _is_installed(modules.get(name)) and not any(map(_knows_svod, own))
                (names.add if outside else names.discard)(name)
        loaded = sys.stdlib_module_names & packages.keys()
        self._libraries = _LIBRARIES - {name for name in loaded if _is_of_the_program(modules.get(name))}
        self._count, self._names = len(modules), frozenset(names)


def _is_of_the_program(module: Any) -> bool:
    """Whether a module with the name of one of Python's lies neither where these do nor where packages are."""
    file = getattr(module, "__dict__", {}).get("__file__")
    if not isinstance(file, str) or _is_installed(module):
        return False
    return not Path(file).is_relative_to(Path(os.__file__).parent)


def _is_installed(module: Any) -> bool:
    """Whether a module is none of the program's own."""
    file = getattr(module, "__dict__", {}).get("__file__")
    return isinstance(file, str) and any(part in Path(file).parts for part in ("site-packages", "dist-packages"))


def _knows_svod(module: Any) -> bool:
    """Whether a module names svod, or something of it."""
    for value in list(getattr(module, "__dict__", {}).values()):
        # What stands for another object does not say so by its type, and may warn when it is asked.
        if issubclass(type(value), ModuleType):
            name = value.__dict__.get("__name__")
        elif issubclass(type(value), (FunctionType, type)):
            name = value.__module__
        else:
            continue
        if isinstance(name, str) and name.partition(".")[0] == "svod":
            return True
    return False


_packages = _Packages()


class Memo(UserDict[K, V]):
    """What an object made for itself, such as functions that it jitted: a jitted function does not look into it."""


class Written:
    """What a function wrote itself while it was traced, such as a list of its calls: no later call depends on that."""

    def __init__(self) -> None:
        # Holders, which live as long as this, by their addresses and names in them.
        self._holders: dict[tuple[int, Any], Any] = {}
        self.places: set[tuple[int, Any]] = set()

    def add(self, guard: tuple[Any, ...]) -> bool:
        """Adds all that is not as a guard knows it; whether there is anything."""
        changed = _changed(guard)
        self._holders.update({(id(holder), name): holder for holder, name in changed})
        self.places = set(self._holders)
        return bool(changed)

    def values(self) -> list[tuple[tuple[int, Any], Any]]:
        """What all names stand for now."""
        return [(place, bound(holder, place[1])) for place, holder in self._holders.items() if place[1] is not None]

    def undo(self, trace: _Trace, before: list[tuple[tuple[int, Any], Any]]) -> bool:
        """Binds those whose values depend on a trace to what they stood for before: they are state that calls change.

        Whether there are any: they are not left out any more, and the trace is made again.
        """
        state = [(place, value) for place, value in before if depends(trace, bound(self._holders[place], place[1]))]
        for place, value in state:
            bind(self._holders.pop(place), place[1], value)
        self.places = set(self._holders)
        return bool(state)


class Reached:
    """What a function and objects reach at one moment."""

    def __init__(self, roots: tuple[Any, ...], written: Written) -> None:
        self.roots, self.written = roots, written
        # All but the tensors as a text, the tensors, and what tells in one pass that nothing is different.
        self.state, self.tensors, self.guard = _reach(roots, *_packages.now(), written.places)

    def again(self) -> Reached:
        """The same at this moment."""
        return Reached(self.roots, self.written)


class Outside:
    """The tensors and the state that a trace was made with, which are found again at each call.

    A tensor that can be reached from the function or from an object among its arguments is whichever is reached on that
    way; another one is what its handle stands for. All else that is reached has to be as it was.
    """

    def __init__(self, reached: Reached, found: list[Found], effects: Effects) -> None:
        if reached.written.add(reached.guard):
            reached = reached.again()
        self._reached = reached
        # Those that the plan reads first.
        inputs = sorted((one for one in found if one[1] is not None), key=lambda one: not one[2])
        constants = [one[0] for one in found if one[1] is None]
        self._handles = [one[0] for one in inputs]
        self._number = sum(one[2] for one in inputs)
        self._kinds = _Kinds(self._handles)
        self._constants, self._values = constants, [tensor._snapshot() for tensor in constants]
        self._positions = _positions(self._handles, reached.tensors)
        self._constants_at = _positions(constants, reached.tensors)
        self.effects = effects
        # Traced where nothing is recorded, it does not tell what is differentiable of these.
        self._is_blind = not is_grad_enabled() and any(one.requires_grad for one in self._handles)
        effects.bindings.find(reached.guard)
        self._written_at = _positions(effects.handles, reached.tensors)
        # Inputs that are gradients, which are those that their tensors have.
        self._gradients = [
            (at, now)
            for gradient, now in effects.gradients_before()
            for at in _positions([gradient], self._handles)
            if at is not None
        ]
        # What runs are given after the arguments.
        self.inputs: list[Tensor] = self._handles[: self._number]

    def holds(self) -> bool:
        """Whether the trace serves a call now; then `inputs` are the tensors for it."""
        if self._reached.guard and not _unchanged(self._reached.guard) and not self._found_again():
            return False
        if not self.effects.holds() or (self._is_blind and is_grad_enabled()):
            return False
        for at, gradient in self._gradients:
            now = gradient()
            if now is None:
                return False
            self._handles[at] = now
        if self._gradients:
            self.inputs = self._handles[: self._number]
        return self._kinds.fit(self._handles) and not self.is_past

    def let_go(self) -> bool:
        """Holds nothing but what is reached now, and says whether that is what the trace was made with."""
        return not self._reached.guard or _unchanged(self._reached.guard) or self._found_again()

    def write(self, results: list[Any]) -> None:
        """Gives tensors and names what a run has computed for them."""
        self.effects.write(self._reached.guard, results)

    @property
    def is_past(self) -> bool:
        """Whether a constant has another value than it had, which it never has again."""
        return bool(self._constants) and not _same(self._constants, self._values)

    def _found_again(self) -> bool:
        """Looks anew at what is reached, and says whether it is the same but for tensors."""
        now = self._reached.again()
        if now.state != self._reached.state:
            return False
        self._handles = _placed(self._handles, self._positions, now.tensors)
        self._constants = _placed(self._constants, self._constants_at, now.tensors)
        self.effects.handles = _placed(self.effects.handles, self._written_at, now.tensors)
        self.inputs = self._handles[: self._number]
        self._reached = now
        return True


def _placed(handles: list[Tensor], positions: list[int | None], tensors: list[Tensor]) -> list[Tensor]:
    """The handles, those with a position as they are there."""
    return [one if at is None else tensors[at] for one, at in zip(handles, positions, strict=True)]
