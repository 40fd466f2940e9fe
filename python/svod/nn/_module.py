"""The base class of layers and models."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from svod._svod import Error, Tensor, _enter_module, _leave_module

__all__ = ["Module", "StateError"]


class StateError(Error, ValueError):
    """A state dict does not fit the module: a tensor is missing, unknown or of another shape."""


class Module:
    """Base of layers and models: gives names to the tensors held in attributes.

    An attribute counts when it is a `Tensor`, a `Module`, or a list or tuple of them;
    names are attribute names and list positions joined by dots, in order of definition.

    What a module's `__call__` or `forward` computes is known, in plans and errors, by the module's
    path: the class of the outermost one that is called, then names as above.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("__call__", "forward"):
            method = cls.__dict__.get(name)
            if inspect.isfunction(method):
                setattr(cls, name, _located(method))

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every parameter with its dotted name, the names starting with `prefix`."""
        for name, value in vars(self).items():
            yield from _named(f"{prefix}{name}", value)

    def parameters(self) -> Iterator[Tensor]:
        """Every parameter, in the order of `named_parameters`."""
        return (tensor for _, tensor in self.named_parameters())

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters by name."""
        return dict(self.named_parameters())

    def load_state_dict(self, state: Mapping[str, Tensor], *, strict: bool = True) -> None:
        """Replaces every parameter by the tensor of the same name in `state`.

        With `strict`, a name in `state` that the module does not have is an error.
        Raises `StateError`, before anything is replaced, if a tensor is missing,
        unknown, or of another shape.
        """
        own = self.state_dict()
        missing = sorted(own.keys() - state.keys())
        unknown = sorted(state.keys() - own.keys()) if strict else []
        if missing or unknown:
            raise StateError(
                f"state dict does not fit {type(self).__name__}: "
                f"missing {missing or 'nothing'}, unknown {unknown or 'nothing'}"
            )
        for name, tensor in own.items():
            given, expected = tuple(state[name].shape), tuple(tensor.shape)
            if given != expected:
                raise StateError(f"{name}: expected shape {expected}, got {given}")
        for name in own:
            _replace(self, name.split("."), state[name])


class _Running(threading.local):
    """The modules that are running on this thread, outermost first, with their paths."""

    def __init__(self) -> None:
        self.modules: list[tuple[Module, str]] = []


_running = _Running()


def _located(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, saying while it runs which module it is of."""

    @functools.wraps(method)
    def located(self: Module, /, *args: Any, **kwargs: Any) -> Any:
        modules = _running.modules
        if modules and modules[-1][0] is self:
            return method(self, *args, **kwargs)
        path = type(self).__name__
        if modules:
            parent, prefix = modules[-1]
            path = f"{prefix}.{_name_in(parent, self) or path}"
        modules.append((self, path))
        _enter_module(path)
        try:
            return method(self, *args, **kwargs)
        finally:
            _leave_module()
            modules.pop()

    return located


def _name_in(parent: Module, child: Module) -> str | None:
    """The name of an attribute, or of an item of a list in one, that is `child`."""
    work = list(vars(parent).items())[::-1]
    while work:
        name, value = work.pop()
        if value is child:
            return name
        if isinstance(value, (list, tuple)):
            work.extend((f"{name}.{i}", item) for i, item in reversed(list(enumerate(value))))
    return None


def _named(name: str, value: Any) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Module):
        yield from value.named_parameters(f"{name}.")
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from _named(f"{name}.{position}", item)


def _replace(owner: Any, path: list[str], tensor: Tensor) -> None:
    step, rest = path[0], path[1:]
    if rest:
        _replace(owner[int(step)] if isinstance(owner, (list, tuple)) else getattr(owner, step), rest, tensor)
    elif isinstance(owner, list):
        owner[int(step)] = tensor
    elif isinstance(owner, tuple):
        raise StateError(f"a parameter held directly in a tuple cannot be replaced (item {step}): use a list")
    else:
        setattr(owner, step, tensor)
