"""What is called before and after the `forward` of a module and on its way back, and may change what passes."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from svod._svod import ArgumentError, Tensor, _may_be_differentiated, _with_derivative, cat, is_grad_enabled

__all__ = ["Hook", "HookHandle", "StepHook", "around"]


class Hook(NamedTuple):
    """A function, when it is called, and whether it is given arguments by name."""

    function: Callable[..., Any]
    when: Literal["before", "after", "before backward", "after backward"]
    with_kwargs: bool = False


class StepHook(NamedTuple):
    """A function that is called before or after each step of an optimizer."""

    function: Callable[..., Any]
    when: Literal["before", "after"]


class HookHandle:
    """A hook on a module, a tensor or an optimizer: `remove()` takes it off, as does the end of a `with` block."""

    def __init__(self, owner: Any, hook: object) -> None:
        self._owner, self._hook = weakref.ref(owner), hook

    def remove(self) -> None:
        """Takes the hook off; nothing where that was done before."""
        owner = self._owner()
        if owner is not None:
            owner._hooks = tuple(hook for hook in owner._hooks if hook is not self._hook)

    def __enter__(self) -> HookHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def around(
    module: object, hooks: tuple[Hook, ...], forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """The result of `forward` with a module's hooks."""
    back = None
    for hook in hooks:
        if hook.when == "before":
            given = hook.function(module, args, kwargs) if hook.with_kwargs else hook.function(module, args)
            if given is not None and hook.with_kwargs:
                args, kwargs = given
            elif given is not None:
                args = given if isinstance(given, tuple) else (given,)
    if is_grad_enabled() and any("backward" in hook.when for hook in hooks):
        back = _Back(module, hooks)
        args = back.arguments(args)
    result = forward(*args, **kwargs)
    for hook in hooks:
        if hook.when == "after":
            more = (kwargs, result) if hook.with_kwargs else (result,)
            given = hook.function(module, args, *more)
            result = result if given is None else given
    return result if back is None else back.results(result)


class _Back:
    """One call of a module with hooks on its way back: the cotangents of what goes in and of what comes out."""

    def __init__(self, module: object, hooks: tuple[Hook, ...]) -> None:
        self._module = module
        self._before = [hook.function for hook in hooks if hook.when == "before backward"]
        self._after = [hook.function for hook in hooks if hook.when == "after backward"]
        self._count, self._places = 0, list[int]()
        self._out: tuple[Tensor | None, ...] = ()

    def arguments(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, of which tensors with a derivative pass theirs on through the hooks."""
        self._count, self._places = len(args), _with_derivatives(args)
        if not (self._after and self._places):
            return args
        return _replaced(args, self._places, _joined([args[at] for at in self._places], self._into))

    def results(self, result: Any) -> Any:
        """The results, likewise."""
        several = result if isinstance(result, tuple) else (result,)
        places = _with_derivatives(several)
        if not places:
            return result
        self._out = (None,) * len(several)

        def come(gradients: list[Tensor]) -> list[Tensor]:
            out: tuple[Tensor | None, ...] = _replaced((None,) * len(several), places, gradients)
            for hook in self._before:
                out = self._changed(hook(self._module, out), out)
            self._out = out
            if not self._places:
                # Nothing goes further back than this.
                for hook in self._after:
                    hook(self._module, (None,) * self._count, out)
            return [given if (one := out[at]) is None else one for at, given in zip(places, gradients, strict=True)]

        made = _replaced(several, places, _joined([several[at] for at in places], come))
        if not isinstance(result, tuple):
            return made[0]
        return type(result)(*made) if hasattr(result, "_fields") else made

    def _into(self, gradients: list[Tensor]) -> list[Tensor]:
        into: tuple[Tensor | None, ...] = _replaced((None,) * self._count, self._places, gradients)
        for hook in self._after:
            into = self._changed(hook(self._module, into, self._out), into)
        return [given if (one := into[at]) is None else one for at, given in zip(self._places, gradients, strict=True)]

    def _changed(self, given: Any, before: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        if given is None:
            return before
        made = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        if len(made) != len(before):
            name = type(self._module).__name__
            raise ArgumentError(f"{name}: a backward hook gives {len(made)} gradients, but there are {len(before)}")
        return made


def _with_derivatives(values: Sequence[Any]) -> list[int]:
    return [at for at, value in enumerate(values) if isinstance(value, Tensor) and _may_be_differentiated(value)]


def _replaced(values: tuple[Any, ...], places: Sequence[int], by: Sequence[Any]) -> tuple[Any, ...]:
    made = list(values)
    for at, value in zip(places, by, strict=True):
        made[at] = value
    return tuple(made)


def _joined(tensors: list[Tensor], pull: Callable[[list[Tensor]], list[Tensor]]) -> list[Tensor]:
    """These tensors, whose cotangents a function changes, that of one with those of all others."""
    if len(tensors) == 1:
        return [_with_derivative("hook", tensors[0], tensors, lambda g: [*pull([g])])]
    # One value has one cotangent.
    flat = cat([tensor.reshape(-1) for tensor in tensors])
    sizes = [tensor.numel() for tensor in tensors]

    def parts(vector: Tensor) -> list[Tensor]:
        pieces = zip(vector.split(sizes), tensors, strict=True)
        return [piece.reshape(tensor.shape).cast(tensor.dtype) for piece, tensor in pieces]

    def of_all(g: Tensor) -> list[Tensor | None]:
        return [cat([one.reshape(-1).cast(flat.dtype) for one in pull(parts(g))])]

    return parts(_with_derivative("hook", flat, [flat], of_all))
