"""The base class of layers and models."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self, TypeVar

from svod._arguments import checked, checked_at_once, checked_init
from svod._hooks import Hook, HookHandle, around
from svod._place import place_of
from svod._successors import gave_way
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    Error,
    Tensor,
    TraceError,
    UnsupportedError,
    _enter_module,
    _is_tracing,
    _leave_module,
    _set_grad_enabled,
    zeros,
)

Held = TypeVar("Held")

__all__ = ["LoadedKeys", "Module", "StateError"]


# Layers that a module of several makes: beyond, a number is taken for a mistake.
_MOST_LAYERS = 1 << 16


def check_layers(of: str, name: str, number: int) -> None:
    """An error unless a module can be made of so many layers."""
    if not 1 <= number <= _MOST_LAYERS:
        raise ArgumentError(f"{of}: {name}: from 1 to {_MOST_LAYERS} layers, not {number}")


def forget_gradient(parameter: Tensor, set_to_none: bool) -> None:
    """Makes a gradient that was gathered None, or zeros."""
    if set_to_none or parameter.grad is not None:
        parameter.grad = None if set_to_none else parameter.detach().zeros_like()


class StateError(Error, ValueError):
    """A state dict does not fit the module: a tensor is missing, unknown or of another shape."""


class LoadedKeys(NamedTuple):
    """What `Module.load_state_dict` left alone."""

    missing_keys: list[str]
    """Names of the module that the state dict lacks: these keep their tensors."""
    unexpected_keys: list[str]
    """Names of the state dict that the module lacks."""


class Module:
    """Base of layers and models: gives names to the tensors held in attributes.

    A tensor in an attribute is a parameter, or a buffer if `register_buffer` put it there. Modules in
    attributes are its children. Both are also found in lists, tuples and dicts. Names are attribute names,
    positions and keys joined by dots: first the module's own parameters, then its buffers, then its children,
    each in order of definition, as in PyTorch's state dicts.

    A module is called through its `forward`, or defines `__call__` itself. What either computes is known, in
    plans and errors, by the module's path: the class of the outermost one that is called, then names as above.

    >>> import svod
    >>> from svod import nn
    >>> class Scale(nn.Module):
    ...     def __init__(self) -> None:
    ...         self.factor = svod.full((3,), 2.0)
    ...         self.register_buffer("calls", svod.zeros(()))
    ...     def forward(self, x: svod.Tensor) -> svod.Tensor:
    ...         return x * self.factor
    >>> Scale()(svod.ones(3)).tolist()
    [2.0, 2.0, 2.0]
    >>> list(Scale().state_dict()), [name for name, _ in Scale().named_parameters()]
    (['factor', 'calls'], ['factor'])
    """

    training: bool = True
    """Whether the module is trained: what drops elements, or follows statistics, does so then only."""

    # Names of attributes that are buffers, and whether they are part of the state dict.
    _buffers: Mapping[str, bool] = {}

    # What is called before and after `forward`; another tuple where that is changed, so that `jit` sees it.
    _hooks: tuple[Hook, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        ours = cls.__module__.startswith("svod.")
        if ours and "__init__" in cls.__dict__:
            type.__setattr__(cls, "__init__", checked_init(cls.__dict__["__init__"]))
        for name in ("__call__", "forward"):
            method = cls.__dict__.get(name)
            if inspect.isfunction(method):
                setattr(cls, name, _located(checked(method) if ours else method))

    def __setattr__(self, name: str, value: Any) -> None:
        before = self.__dict__.get(name)
        object.__setattr__(self, name, value)
        if before is not None and before is not value:
            _note_successors(before, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        forward = getattr(self, "forward", None)
        if forward is None:
            raise UnsupportedError(f"{type(self).__name__} cannot be called: it defines neither forward nor __call__")
        if "forward" in vars(self):
            forward = functools.partial(_located(_given_forward), self)
        # Those of a class that calls this from its own `__call__` run around that.
        if self._hooks and not _is_running(self):
            return around(self, self._hooks, forward, args, kwargs)
        return forward(*args, **kwargs)

    @checked_at_once
    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls `hook(module, args)` before each call of the module is run.

        It gives other arguments, in a tuple or a single one, or none to leave them as they are; `with_kwargs` it gets
        those by name too, `hook(module, args, kwargs)`, and gives a pair of both. The hook is the last one, with
        `prepend` the first. The result takes it off again. Under `jit` it is called while the function is traced.

        >>> import svod
        >>> layer = svod.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: args[0] - 1)
        >>> layer(svod.Tensor([3.0])).tolist()
        [2.0]
        """
        return self._hooked(Hook(hook, "before", with_kwargs), prepend)

    @checked_at_once
    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls `hook(module, args, result)` after each call of the module was run.

        It gives another result, or none to leave it as it is; `with_kwargs` it is called as
        `hook(module, args, kwargs, result)`. The hook is the last one, with `prepend` the first. The result takes it
        off again. Under `jit` it is called while the function is traced. A hook whose result is that of a
        `custom_gradient` changes the derivative.

        >>> import svod
        >>> layer, seen = svod.nn.ReLU(), []
        >>> with layer.register_forward_hook(lambda module, args, result: seen.append(result)):
        ...     y = layer(svod.Tensor([3.0]))
        >>> layer(y), seen[0] is y, len(seen)
        (Tensor([3.], shape=(1,), dtype=float32, device=CPU), True, 1)
        """
        return self._hooked(Hook(hook, "after", with_kwargs), prepend)

    @checked_at_once
    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Calls `hook(module, grad_input, grad_output)` when derivatives have come to the arguments of a call.

        Both are tuples, of the gradients by each argument that was given by position, and by each result; None where
        there is none. It gives other gradients by the arguments, in a tuple or a single one, or none to leave them as
        they are. Where no argument has a derivative it is called with those by the results. The hook is the last
        one, with `prepend` the first; the result takes it off again. Under `jit` it is called while the
        function is traced.

        >>> import svod
        >>> layer = svod.nn.ReLU()
        >>> handle = layer.register_full_backward_hook(lambda module, into, out: (into[0] * 10,))
        >>> svod.grad(lambda x: layer(x).sum())(svod.Tensor([3.0, -1.0])).tolist()
        [10.0, 0.0]
        """
        return self._hooked(Hook(hook, "after backward"), prepend)

    @checked_at_once
    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> HookHandle:
        """Calls `hook(module, grad_output)` when derivatives have come to the results of a call.

        That is a tuple, of the gradient by each result. It gives others, in a tuple or a single one, or none to leave
        them as they are. The hook is the last one, with `prepend` the first; the result takes it off again.

        >>> import svod
        >>> layer = svod.nn.ReLU()
        >>> handle = layer.register_full_backward_pre_hook(lambda module, out: (-out[0],))
        >>> svod.grad(lambda x: layer(x).sum())(svod.Tensor([3.0, -1.0])).tolist()
        [-1.0, 0.0]
        """
        return self._hooked(Hook(hook, "before backward"), prepend)

    def _hooked(self, hook: Hook, prepend: bool) -> HookHandle:
        self._hooks = (hook, *self._hooks) if prepend else (*self._hooks, hook)
        return HookHandle(self, hook)

    @checked_at_once
    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Makes `tensor` an attribute that is state of the module and no parameter, such as a running mean.

        One that is not `persistent` is not part of the state dict.
        """
        self._buffers = {**self._buffers, name: persistent}
        setattr(self, name, tensor)

    @checked_at_once
    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Makes `param` the attribute `name`, as `self.name = param` does."""
        setattr(self, name, param)

    @checked_at_once
    def add_module(self, name: str, module: Module | None) -> None:
        """Makes `module` the attribute `name`, as `self.name = module` does."""
        setattr(self, name, module)

    @checked_at_once
    def get_parameter(self, target: str) -> Tensor:
        """The parameter of a dotted name.

        >>> import svod
        >>> svod.nn.Sequential(svod.nn.Linear(2, 3)).get_parameter("0.bias").shape
        (3,)
        """
        slots = (slot for slot in _slots(self) if slot.persistent is None)
        return _named("parameter", self, ((slot.name, slot.tensor) for slot in slots), target)

    @checked_at_once
    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a dotted name."""
        slots = (slot for slot in _slots(self) if slot.persistent is not None)
        return _named("buffer", self, ((slot.name, slot.tensor) for slot in slots), target)

    @checked_at_once
    def get_submodule(self, target: str) -> Module:
        """The module of a dotted name; this one for an empty name."""
        found: Module = self
        for name in target.split(".") if target else ():
            found = _named("module", found, _modules_in(found), name)
        return found

    @checked_at_once
    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every parameter with its dotted name, the names starting with `prefix`; one of several names by the first."""
        return _once(_slots(self, prefix), lambda slot: slot.persistent is None)

    def parameters(self) -> Iterator[Tensor]:
        """Every parameter, in the order of `named_parameters`."""
        return (tensor for _, tensor in self.named_parameters())

    @checked_at_once
    def named_buffers(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """Every buffer with its dotted name, the names starting with `prefix`."""
        return _once(_slots(self, prefix), lambda slot: slot.persistent is not None)

    def buffers(self) -> Iterator[Tensor]:
        """Every buffer, in the order of `named_buffers`."""
        return (tensor for _, tensor in self.named_buffers())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules in attributes, with their names."""
        return _modules_in(self)

    def children(self) -> Iterator[Module]:
        """The modules in attributes."""
        return (module for _, module in self.named_children())

    @checked_at_once
    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """This module, named `prefix`, and all below it with their dotted names, each once."""
        seen: set[int] = set()
        work: list[tuple[str, Module]] = [(prefix, self)]
        while work:
            name, module = work.pop()
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module
                below = [(f"{name}.{child}" if name else child, found) for child, found in _modules_in(module)]
                work.extend(reversed(below))

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (module for _, module in self.named_modules())

    @checked_at_once
    def train(self, mode: bool = True) -> Self:
        """Puts this module and all below it into training, or with `mode=False` out of it."""
        for module in self.modules():
            module.training = mode
        return self

    def to(
        self, target: Any = None, *others: Any, dtype: Any = None, device: str | None = None, non_blocking: bool = False
    ) -> Self:
        """Moves all tensors to a device, and casts those of floats to an element type, as `Tensor.to` does.

        Either is named, or both, the device first: `to("CPU", svod.float64)`. An element type that is not one of
        floats or complex numbers is an `ArgumentTypeError`. `non_blocking` changes nothing.

        What requires a gradient stays the tensor that it is, so that optimizers go on with it, and its gradient goes
        along; anything else gives way to another tensor. One of several names stays one.

        >>> import svod
        >>> layer = svod.nn.BatchNorm1d(2).to("float64")
        >>> str(layer.weight.dtype), str(layer.num_batches_tracked.dtype)
        ('float64', 'int64')
        """
        moved: dict[int, tuple[Tensor, Tensor]] = {}

        def there(tensor: Tensor) -> Tensor:
            return tensor.detach().to(target, *others, dtype=dtype, device=device, copy=True)

        new_type = there(zeros(())).dtype
        if not (new_type.is_floating_point or new_type.is_complex):
            raise ArgumentTypeError(f"Module.to: floats and complex numbers are cast to their like, not to {new_type}")

        for slot in list(_slots(self)):
            old = slot.tensor
            if id(old) not in moved:
                new = there(old)
                if not old.dtype.is_floating_point and new.dtype != old.dtype:
                    # What is spread over devices stays where it is.
                    place = place_of(new)
                    new = old.detach() if isinstance(place, tuple) else old.detach().to(device=place, copy=True)
                if old.requires_grad and _is_tracing():
                    if new.dtype != old.dtype or place_of(new) != place_of(old):
                        raise TraceError(
                            f"Module.to: {slot.name}, which requires a gradient, is cast or moved in a function that "
                            "is traced: call it before, as `model.half()` outside of the step"
                        )
                    new = old
                elif old.requires_grad:
                    new = old if _became(old, new, there) else new.requires_grad_()
                elif old._is_fixed():
                    new.requires_grad_(False)
                moved[id(old)] = (old, new)
            if (now := moved[id(old)][1]) is not old:
                slot.put(now)
        return self

    def float(self) -> Self:
        """`to("float32")`."""
        return self.to("float32")

    def double(self) -> Self:
        """`to("float64")`."""
        return self.to("float64")

    def half(self) -> Self:
        """`to("float16")`."""
        return self.to("float16")

    def bfloat16(self) -> Self:
        """`to("bfloat16")`."""
        return self.to("bfloat16")

    @checked_at_once
    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Has `backward` gather the derivatives by all parameters, or no longer."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    @checked
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters; those that are there become zeros where they are not to be None."""
        for parameter in self.parameters():
            forget_gradient(parameter, set_to_none)

    def eval(self) -> Self:
        """Puts this module and all below it out of training."""
        return self.train(False)

    @checked_at_once
    def apply(self, function: Callable[[Module], object]) -> Self:
        """Calls `function` on every module below this one, children first, and then on this one."""
        for module in reversed(list(self.modules())):
            function(module)
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """The parameters and persistent buffers by name."""
        return {slot.name: slot.tensor for slot in _slots(self) if slot.persistent is not False}

    @checked_at_once
    def load_state_dict(self, state: Mapping[str, Any], *, strict: bool = True, assign: bool = False) -> LoadedKeys:
        """Replaces parameters and buffers by what has the same name in `state`: copies of tensors, or of arrays.

        A tensor of several names stays one. What requires a gradient is assigned to, in its own type, so that
        optimizers go on with it; anything else gives way to the copy. With `assign` the module gets the tensors of
        `state` themselves: those of a file stay in the file's pages, and what is written to one is written to both.

        Raises `StateError`, before anything is replaced, where a shape is another one, and with `strict` where a name
        is missing or unknown; without, such names are given back.
        """
        slots = [slot for slot in _slots(self) if slot.persistent is not False]
        names = {slot.name for slot in slots}
        missing, unknown = sorted(names - state.keys()), sorted(state.keys() - names)
        if strict and (missing or unknown):
            raise StateError(
                f"state dict does not fit {type(self).__name__}: "
                f"missing {missing or 'nothing'}, unknown {unknown or 'nothing'}"
            )
        given: dict[int, Tensor] = {}
        for slot in slots:
            if slot.name not in state:
                continue
            tensor = state[slot.name]
            tensor = tensor if isinstance(tensor, Tensor) else Tensor(tensor)
            if tuple(tensor.shape) != tuple(slot.tensor.shape):
                raise StateError(
                    f"Module.load_state_dict: {slot.name}: expected shape {tuple(slot.tensor.shape)}, "
                    f"got {tuple(tensor.shape)}"
                )
            if isinstance(slot.holder, tuple):
                raise StateError(f"{slot.name} is held directly in a tuple and cannot be replaced: use a list")
            given[id(slot.tensor)] = tensor
        if assign:
            for slot in slots:
                if (tensor := given.get(id(slot.tensor))) is not None:
                    slot.put(tensor.detach().requires_grad_() if slot.tensor.requires_grad else tensor)
            return LoadedKeys(missing, unknown)
        copies = {at: tensor.detach().clone() for at, tensor in given.items()}
        for slot in slots:
            if id(slot.tensor) in copies:
                slot.replace(copies[id(slot.tensor)])
        return LoadedKeys(missing, unknown)

    def extra_repr(self) -> str:
        """What `repr` tells of the module besides its class and its children, such as sizes and options."""
        return ""

    def __repr__(self) -> str:
        """The class, `extra_repr`, and a line for each child, as PyTorch prints modules."""
        lines = [f"({name}): {child!r}".replace("\n", "\n  ") for name, child in self.named_children()]
        head, extra = type(self).__name__, self.extra_repr()
        if not lines:
            return f"{head}({extra})"
        return "\n  ".join([f"{head}(", *([extra] if extra else []), *lines]) + "\n)"


class _Slot(NamedTuple):
    """Where a tensor of a module is held."""

    name: str
    tensor: Tensor
    # The module, list, tuple or dict that holds it, and the attribute, position or key.
    holder: Any
    key: Any
    # Of a buffer: whether it is part of the state dict.
    persistent: bool | None

    def replace(self, tensor: Tensor) -> None:
        """Gives the place another value: what requires a gradient stays the tensor that it is."""
        if self.tensor.requires_grad:
            before = _set_grad_enabled(False)
            try:
                self.tensor.assign(tensor.detach())
            finally:
                _set_grad_enabled(before)
        else:
            self.put(tensor.requires_grad_(False) if self.tensor._is_fixed() else tensor)

    def put(self, tensor: Tensor) -> None:
        """Puts another tensor in the place."""
        if isinstance(self.holder, tuple):
            raise StateError(f"{self.name} is held directly in a tuple and cannot be replaced: use a list")
        if isinstance(self.holder, Module):
            setattr(self.holder, self.key, tensor)
        else:
            self.holder[self.key] = tensor
            gave_way(self.tensor, tensor)


def _became(parameter: Tensor, value: Tensor, there: Callable[[Tensor], Tensor]) -> bool:
    """Makes what requires a gradient stand for itself elsewhere or in another type, if it can; so its gradient."""
    if not parameter.is_leaf:
        return False
    before = _set_grad_enabled(False)
    try:
        if not parameter._become_moved(value):
            return False
        if (gradient := parameter.grad) is not None:
            parameter.grad = there(gradient)
    finally:
        _set_grad_enabled(before)
    return True


def _note_successors(before: Any, now: Any) -> None:
    """Notes which tensors take the place of those of an attribute, or of the module in it."""
    if isinstance(before, Tensor) and isinstance(now, Tensor):
        gave_way(before, now)
    elif isinstance(before, Module) and isinstance(now, Module):
        successors = {slot.name: slot.tensor for slot in _slots(now)}
        for slot in _slots(before):
            if (successor := successors.get(slot.name)) is not None:
                gave_way(slot.tensor, successor)


def _held(module: Module) -> Iterator[tuple[str, Any, Any, Any]]:
    """Tensors and modules in the attributes of a module: name, value, and holder and key of the value."""
    work: list[tuple[str, Any, Any, Any]] = [(name, value, module, name) for name, value in vars(module).items()]
    work.reverse()
    seen: set[int] = set()
    while work:
        name, value, holder, key = work.pop()
        if isinstance(value, (Tensor, Module)):
            yield name, value, holder, key
        elif isinstance(value, (list, tuple, dict)) and id(value) not in seen:
            seen.add(id(value))
            items = value.items() if isinstance(value, dict) else enumerate(value)
            work.extend(reversed([(f"{name}.{key}", item, value, key) for key, item in items]))


def _modules_in(module: Module) -> Iterator[tuple[str, Module]]:
    return ((name, value) for name, value, _, _ in _held(module) if isinstance(value, Module))


def _slots(module: Module, prefix: str = "", above: tuple[Module, ...] = ()) -> Iterator[_Slot]:
    """The tensors of a module and of those below it, by all their names. A module within itself is looked at once."""
    parameters: list[_Slot] = []
    buffers: list[_Slot] = []
    children: list[tuple[str, Module]] = []
    for name, value, holder, key in _held(module):
        if isinstance(value, Module):
            children.append((name, value))
        else:
            persistent = module._buffers.get(key) if holder is module else None
            of_kind = parameters if persistent is None else buffers
            of_kind.append(_Slot(prefix + name, value, holder, key, persistent))
    yield from parameters
    yield from buffers
    above = (*above, module)
    for name, child in children:
        if not any(child is outer for outer in above):
            yield from _slots(child, f"{prefix}{name}.", above)


def _named(what: str, module: Module, items: Iterator[tuple[str, Held]], name: str) -> Held:
    """What has a name in a module; an error where nothing has."""
    known = dict(items)
    if name not in known:
        raise ArgumentError(f"{type(module).__name__} has no {what} {name!r}: it has {list(known)[:8]}")
    return known[name]


def _once(slots: Iterator[_Slot], wanted: Callable[[_Slot], bool]) -> Iterator[tuple[str, Tensor]]:
    seen: set[int] = set()
    for slot in slots:
        if wanted(slot) and id(slot.tensor) not in seen:
            seen.add(id(slot.tensor))
            yield slot.name, slot.tensor


class _Running(threading.local):
    """The modules that are running on this thread, outermost first, with their paths."""

    def __init__(self) -> None:
        self.modules: list[tuple[Module, str]] = []


_running = _Running()


def _is_running(module: Module) -> bool:
    """Whether a module is the innermost one that runs."""
    modules = _running.modules
    return bool(modules) and modules[-1][0] is module


def _given_forward(module: Module, /, *args: Any, **kwargs: Any) -> Any:
    """Calls the `forward` that was put in an attribute of a module."""
    return vars(module)["forward"](*args, **kwargs)


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
            if self._hooks and method.__name__ == "__call__":
                return around(self, self._hooks, functools.partial(method, self), args, kwargs)
            return method(self, *args, **kwargs)
        finally:
            _leave_module()
            modules.pop()

    return located


def _name_in(parent: Module, child: Module) -> str | None:
    """The name of a module in another one's attributes."""
    return next((name for name, module in _modules_in(parent) if module is child), None)
