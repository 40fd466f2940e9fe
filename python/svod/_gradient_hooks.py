"""What is called with the gradient of a tensor, and may change it: PyTorch's `register_hook`.

A tensor that follows from others is replaced by one of the same value, whose derivative is what the hooks make of its
cotangent. Of a tensor that gathers its gradient `backward` gathers what the hooks make of it: that `backward` takes the
place of the plain one once the first of these hooks is there, and so does that `gradient`.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from svod._grad import enable_grad, no_grad
from svod._hooks import HookHandle
from svod._svod import ArgumentError, ArgumentTypeError, Error, Tensor, _same, _with_derivative

__all__ = ["changes", "hooked", "hooked_after"]


class _Hook(NamedTuple):
    function: Callable[[Tensor], Any]
    # Whether it is given the tensor, once its gradient was gathered, rather than the gradient.
    is_after: bool


class _Hooked:
    """The hooks of one tensor, in the order in which they are called."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = weakref.ref(tensor)
        self._all: tuple[_Hook, ...] = ()
        # What the hooks gave last.
        self.given: Tensor | None = None

    @property
    def _hooks(self) -> tuple[_Hook, ...]:
        return self._all

    @_hooks.setter
    def _hooks(self, hooks: tuple[_Hook, ...]) -> None:
        self._all = hooks
        _state.changes += 1

    def add(self, function: Callable[[Tensor], Any], is_after: bool = False) -> HookHandle:
        # Another object each time, for a function that is there twice.
        new = _Hook(functools.partial(function), is_after)
        self._hooks = (*self._hooks, new)
        return HookHandle(self, new)

    def changed(self, gradient: Tensor) -> Tensor:
        """What the hooks make of a gradient."""
        for hook in self._hooks:
            given = None if hook.is_after else hook.function(gradient)
            if given is None:
                continue
            if not isinstance(given, Tensor):
                raise ArgumentTypeError(f"register_hook: a hook gives a tensor or None, not {type(given).__name__}")
            if given.shape != gradient.shape:
                shapes = f"shape {tuple(given.shape)}, not {tuple(gradient.shape)}"
                raise ArgumentError(f"register_hook: a hook gives a gradient of {shapes}")
            gradient = given.cast(gradient.dtype)
        self.given = gradient
        return gradient


class _State:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        # By the identities of the tensors; of one that follows from others with the value that they are on the way to.
        self.known: dict[int, tuple[_Hooked, Any]] = {}
        # How often hooks came and went, for traces that were made with those that were there.
        self.changes = 0
        self.plain: Callable[..., None] | None = None


_state = _State()


def changes() -> int:
    """A number that is another one once a hook has come or gone."""
    return _state.changes


def hooked(tensor: Tensor, function: Callable[[Tensor], Tensor | None]) -> HookHandle:
    """Has a function called with the gradient by a tensor, from now on."""
    if not tensor.requires_grad:
        raise ArgumentError("register_hook: the tensor requires no gradient")
    with _state.lock:
        _install()
        if tensor.is_leaf:
            return _gathering(tensor).add(function)
        known, value = _state.known.get(id(tensor), (None, None))
        if known is None or value is None or not _same([tensor], [value]):
            # Those of a value that was assigned over stay with it.
            made = _Hooked(tensor)
            gathers, gradient = _gathers(tensor), tensor.grad
            with enable_grad():
                tensor.assign(_with_derivative("register_hook", tensor, [tensor], lambda g: [made.changed(g)]))
            if gathers:
                tensor.retain_grad()
                tensor.grad = gradient
            known = _kept(tensor, made, tensor._snapshot())
        return known.add(function)


def hooked_after(tensor: Tensor, function: Callable[[Tensor], None]) -> HookHandle:
    """Has a function called with a tensor each time its gradient was gathered."""
    if not (tensor.requires_grad and tensor.is_leaf):
        raise ArgumentError("register_post_accumulate_grad_hook: the tensor is none that gathers its gradient")
    with _state.lock:
        _install()
        return _gathering(tensor).add(function, is_after=True)


def _gathering(tensor: Tensor) -> _Hooked:
    """The hooks of a tensor that gathers its gradient."""
    known, value = _state.known.get(id(tensor), (None, None))
    return _kept(tensor, _Hooked(tensor), None) if known is None or value is not None else known


def _kept(tensor: Tensor, made: _Hooked, value: Any) -> _Hooked:
    """Keeps the hooks of a tensor as long as it is there. They do not hold the value, which holds them."""
    if id(tensor) not in _state.known:
        weakref.finalize(tensor, _state.known.pop, id(tensor), None).atexit = False
    _state.known[id(tensor)] = made, value
    return made


def _gathers(tensor: Tensor) -> bool:
    """Whether a tensor that follows from others keeps its gradient."""
    if tensor.grad is not None:
        return True
    try:
        tensor.grad = tensor.detach().zeros_like()
    except Error:
        return False
    tensor.grad = None
    return True


def _install() -> None:
    """Puts a `backward` that knows of hooks in the place of the plain one."""
    if _state.plain is not None:
        return
    plain = _state.plain = Tensor.backward

    @functools.wraps(plain)
    def backward(self: Tensor, gradient: Any = None, **options: Any) -> None:
        with _state.lock:
            found = [(one, one.tensor()) for one, _ in _state.known.values() if one._hooks]
            known = [(one, tensor, tensor.grad) for one, tensor in found if tensor is not None]
            for one, tensor, _ in known:
                tensor.grad = one.given = None
            try:
                plain(self, gradient, **options)
                with enable_grad() if options.get("create_graph") else no_grad():
                    for one, tensor, before in known:
                        _gather(one, tensor, before)
            except BaseException:
                for _, tensor, before in known:
                    tensor.grad = before
                raise

    setattr(Tensor, "backward", backward)  # noqa: B010
    plain_gradient = Tensor.gradient

    @functools.wraps(plain_gradient)
    def gradient(self: Tensor, *targets: Tensor, **options: Any) -> Any:
        with _state.lock, enable_grad():
            known = [_state.known.get(id(target), (None, None))[0] for target in targets]
            for hooks in filter(None, known):
                hooks.given = None
            found = plain_gradient(self, *targets, **options)
            # Where the way back goes on from a tensor, its hooks have been called.
            return tuple(
                one if hooks is None or not hooks._hooks else hooks.changed(one) if hooks.given is None else hooks.given
                for one, hooks in zip(found, known, strict=True)
            )

    setattr(Tensor, "gradient", gradient)  # noqa: B010


def _gather(hooks: _Hooked, tensor: Tensor, before: Tensor | None) -> None:
    """Makes of what `backward` has gathered what the hooks make of it, and adds it to what was there before."""
    new = tensor.grad
    if new is None:
        tensor.grad = before
        return
    if tensor.is_leaf:
        new = hooks.changed(new)
    elif hooks.given is not None:
        new = hooks.given.detach() if not new.requires_grad else hooks.given
    tensor.grad = new if before is None else before + new
    for hook in hooks._hooks:
        if hook.is_after:
            hook.function(tensor)
