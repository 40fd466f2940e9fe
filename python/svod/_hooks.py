"""What is called before and after the `forward` of a module, and may change what goes in and comes out."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["Hook", "HookHandle", "around"]

# A function, whether it is called before `forward`, and whether it is given arguments by name.
Hook = tuple[Callable[..., Any], bool, bool]


class HookHandle:
    """A hook on a module: `remove()` takes it off, as does the end of a `with` block."""

    def __init__(self, module: Any, hook: Hook) -> None:
        self._module, self._hook = weakref.ref(module), hook

    def remove(self) -> None:
        """Takes the hook off its module; nothing where that was done before."""
        module = self._module()
        if module is not None:
            module._hooks = tuple(hook for hook in module._hooks if hook is not self._hook)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def around(
    module: object, hooks: tuple[Hook, ...], forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of `forward` with a module's hooks."""
    for hook, before, with_kwargs in hooks:
        given = (hook(module, args, kwargs) if with_kwargs else hook(module, args)) if before else None
        if given is None:
            continue
        if with_kwargs:
            args, kwargs = given
        else:
            args = given if isinstance(given, tuple) else (given,)
    result = forward(*args, **kwargs)
    for hook, before, with_kwargs in hooks:
        if not before:
            given = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if given is None else given
    return result
