"""What is called before and after the `forward` of a module, and may change what goes in and comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["HookHandle", "Hooks"]


class HookHandle:
    """A hook on a module: `remove()` takes it off, as does the end of a `with` block."""

    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """Takes the hook off its module; nothing where that was done before."""
        self._hooks.pop(self._key, None)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Hooks:
    """The hooks of one module, in the order in which they are called."""

    def __init__(self) -> None:
        self._before: dict[int, tuple[Callable[..., Any], bool]] = {}
        self._after: dict[int, tuple[Callable[..., Any], bool]] = {}
        self._count = 0

    def add(self, hook: Callable[..., Any], before: bool, prepend: bool, with_kwargs: bool) -> HookHandle:
        """Adds a hook, as the first or the last one."""
        hooks = self._before if before else self._after
        self._count += 1
        others = dict(hooks) if prepend else {}
        if prepend:
            hooks.clear()
        hooks[self._count] = (hook, with_kwargs)
        hooks.update(others)
        return HookHandle(hooks, self._count)

    def around(self, module: object, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of `forward` with its hooks."""
        for hook, with_kwargs in tuple(self._before.values()):
            given = hook(module, args, kwargs) if with_kwargs else hook(module, args)
            if given is None:
                continue
            if with_kwargs:
                args, kwargs = given
            else:
                args = given if isinstance(given, tuple) else (given,)
        result = forward(*args, **kwargs)
        for hook, with_kwargs in tuple(self._after.values()):
            given = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if given is None else given
        return result
