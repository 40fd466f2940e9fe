"""What optimizers share: groups of parameters, their state, and one run that writes all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

from svod._arguments import checked, checked_init
from svod._grad import enable_grad, no_grad
from svod._hooks import HookHandle, StepHook
from svod._module import StateError, forget_gradient
from svod._place import place_of
from svod._successors import is_left_behind, optimized
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    DType,
    Tensor,
    _Before,
    _is_tracing,
    float32,
    float64,
    full,
    where,
)
from svod.nn._statistics import pending, restore, settled
from svod.optim._switches import Switches, check_switches

__all__ = ["MASTER", "Optimizer", "ParamGroup"]

# State that other state of the same name in PyTorch does not have: the weights of 16-bit parameters, in 32 bits.
MASTER = "master"
_STEP = "step"

Buffers = dict[str, Tensor]


class ParamGroup(MutableMapping[str, Any]):
    """Some parameters and the numbers that their steps go by, as a dict: `group["lr"] = 0.1`.

    Numbers are tensors of the group, so that a step is compiled for any of them.
    """

    def __init__(self, owner: Optimizer, params: list[Tensor], names: list[str] | None) -> None:
        self._owner = owner
        self._names = names
        self._options: dict[str, Any] = {}
        self._states: list[Buffers] = []
        # The numbers that all parameters with the same past have in common, such as the count of steps.
        self._clocks: list[Buffers] = []
        # The rate with which the first schedule began.
        self._initial: dict[str, float] = {}
        self.params = params

    def __getitem__(self, name: str) -> Any:
        if name == "params":
            return self.params
        value = self._options[name]
        if isinstance(value, tuple):
            return tuple(number.item() if isinstance(number, Tensor) else number for number in value)
        return value.item() if isinstance(value, Tensor) else value

    def __setitem__(self, name: str, value: Any) -> None:
        if name == "params":
            raise ArgumentError("the parameters of a group are added by add_param_group")
        new, old = self._chosen(name, value), self._options.get(name)
        if isinstance(old, Tensor) and isinstance(new, Tensor) and new is not value:
            # The same tensor with another value: what was traced goes on with it.
            old.assign(_moved(new, old))
        else:
            self._options[name] = new
        self._complete()

    def _chosen(self, name: str, value: Any) -> Any:
        """An option as the group keeps it: numbers are tensors of its own, a tensor is the one that was given."""
        option = self._owner._option(name, value)
        return option if option is value else self._placed(option)

    def _placed(self, option: Any) -> Any:
        """An option's numbers in memory where the first parameter is, so that no step copies them there."""
        if isinstance(option, tuple):
            return tuple(map(self._placed, option))
        like = self.params[0] if self.params else None
        if like is None or like.device == "CPU" or not isinstance(like.device, str) or not isinstance(option, Tensor):
            return option
        return _at(option, like)

    def __delitem__(self, name: str) -> None:
        raise ArgumentError(f"{name} of a group of parameters is changed, not taken away")

    def __iter__(self) -> Iterator[str]:
        return iter(["params", *self._options])

    def __len__(self) -> int:
        return 1 + len(self._options)

    def __repr__(self) -> str:
        told = ", ".join(f"{name}={self[name]!r}" for name in self._options)
        return f"ParamGroup({len(self.params)} tensors, {told})"

    def _numbers(self, like: Tensor) -> SimpleNamespace:
        """The options by name, numbers on the device or devices of a tensor."""

        def placed(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(placed(number) for number in value)
            is_elsewhere = isinstance(value, Tensor) and value.device != like.device
            return _moved(value, like) if is_elsewhere else value

        return SimpleNamespace(**{name: placed(value) for name, value in self._options.items()})

    def _described(self, at: int) -> str:
        """A parameter as errors tell it from others."""
        parameter = self.params[at]
        name = f"{self._names[at]} of " if self._names else ""
        return f"the parameter {name}{parameter.dtype}{list(parameter.shape)}"

    def _complete(self) -> None:
        """Makes the state that is not there yet."""
        clocks: dict[Any, Buffers] = {}
        for at, parameter in enumerate(self.params):
            if at == len(self._states):
                place = str(parameter.device)
                if place not in clocks:
                    start = self._owner._clock.items()
                    clocks[place] = {name: _at(full((), value, dtype=float64), parameter) for name, value in start}
                self._clocks.append(clocks[place])
                self._states.append({})
                optimized(parameter)
                if parameter.dtype.itemsize < 4:
                    self._states[at][MASTER] = parameter.detach().cast(float32).realize()
            state = self._states[at]
            for name, value in self._owner._buffers(self).items():
                shape = self._owner._shape(name, parameter)
                if name not in state and shape is not None:
                    state[name] = _at(full(shape, value, dtype=_working(parameter)), parameter)

    def _follow(self) -> None:
        """Has the state of parameters that are of another type now, or elsewhere, go with them."""
        clocks: dict[Any, Buffers] = {}
        for at, parameter in enumerate(self.params):
            state, clock, working, place = self._states[at], self._clocks[at], _working(parameter), place_of(parameter)
            if (parameter.dtype.itemsize < 4) != (MASTER in state):
                if MASTER in state:
                    del state[MASTER]
                else:
                    state[MASTER] = _at(parameter.detach().cast(float32), parameter)
            one = next(iter(state.values()), None)
            if one is not None and (one.dtype != working or place_of(one) != place):
                for name, value in state.items():
                    state[name] = _at(value.detach().cast(working), parameter)
            count = next(iter(clock.values()), None)
            if count is not None and place_of(count) != place:
                past = (id(clock), str(place))
                if past not in clocks:
                    clocks[past] = {name: _at(value, parameter) for name, value in clock.items()}
                self._clocks[at] = clocks[past]


class Optimizer:
    """Base of optimizers: `step` writes every parameter that has a gradient, and the state that goes with it.

    `params` are tensors, pairs of name and tensor, or dicts with a list of them as `"params"` and numbers of their own.
    A subclass gives the numbers of its groups, its state, and two rows of equations: `_advance` for the few numbers
    that all parameters have in common, computed in float64, and `_update` for the elements.

    Parameters of less than 32 bits have their weights kept in float32, which the parameters are rounded from. Where a
    parameter is written by others, as by `load_state_dict`, a step goes on from what they wrote. The state of one that
    is cast or moved, as by `Module.to`, goes with it. A parameter in whose place its module has another tensor by now,
    which no optimizer has, is an error of the step: it would train nothing.
    """

    # Options that are no real numbers, which compiled code is made for.
    _structural: ClassVar[frozenset[str]] = frozenset()
    # Numbers below 1, of which 1 stands for an average that forgets nothing.
    _fractions: ClassVar[frozenset[str]] = frozenset({"betas", "momentum", "alpha", "rho"})
    # Numbers in common, and what they begin with.
    _clock: ClassVar[Mapping[str, float]] = {_STEP: 0.0}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("svod.") and "__init__" in cls.__dict__:
            type.__setattr__(cls, "__init__", checked_init(cls.__dict__["__init__"]))

    @checked_init
    def __init__(self, params: Iterable[Any], *, switches: Mapping[str, Any] | None = None, **defaults: Any) -> None:
        check_switches(type(self).__name__, switches or {})
        self.defaults = defaults
        self._hooks: tuple[StepHook, ...] = ()
        self.param_groups: list[ParamGroup] = []
        if isinstance(params, Tensor):
            raise ArgumentTypeError(f"{type(self).__name__}: params: a list of tensors is expected, not a tensor")
        given = list(params)
        if not given:
            raise ArgumentError(f"{type(self).__name__}: no parameters")
        for group in given if isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    @checked
    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Adds parameters, `group["params"]`, with numbers that differ from the optimizer's own."""
        given = group["params"]
        items = [given] if isinstance(given, Tensor) else list(given)
        names = [str(item[0]) for item in items] if items and isinstance(items[0], tuple) else None
        params: list[Tensor] = [item[1] for item in items] if names else items
        known = {id(parameter) for other in self.param_groups for parameter in other.params}
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise ArgumentTypeError(f"{type(self).__name__}: params: {type(parameter).__name__} is no tensor")
            if not parameter.dtype.is_floating_point:
                raise ArgumentTypeError(f"{type(self).__name__}: params: one of type {parameter.dtype}: only floats")
            if parameter.requires_grad and not parameter.is_leaf:
                raise ArgumentError(
                    f"{type(self).__name__}: params: {parameter.dtype}{list(parameter.shape)} follows from "
                    "other tensors that require a gradient: `detach()` and `requires_grad_()` make it a parameter"
                )
            if id(parameter) in known:
                raise ArgumentError(f"{type(self).__name__}: a parameter is there twice")
            known.add(id(parameter))
        switches = {name: value for name, value in group.items() if name in Switches.__annotations__}
        check_switches(type(self).__name__, switches)
        unknown = set(group) - set(self.defaults) - set(switches) - {"params"}
        if unknown:
            raise ArgumentError(f"{type(self).__name__} has no {sorted(unknown)}: it has {sorted(self.defaults)}")
        made = ParamGroup(self, params, names)
        for name, value in self.defaults.items():
            made._options[name] = made._chosen(name, group.get(name, value))
        self._check(made)
        made._complete()
        self.param_groups.append(made)

    @checked
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters; those that are there become zeros where they are not to be None."""
        for group in self.param_groups:
            for parameter in group.params:
                forget_gradient(parameter, set_to_none)

    @checked
    def step(
        self,
        gradients: Sequence[Tensor | None] | Mapping[str, Tensor] | Callable[[], Any] | None = None,
        closure: Callable[[], Any] | None = None,
    ) -> Any:
        """Writes the parameters anew, from their `grad` or from `gradients`.

        Those without a gradient stay, and so do those of which the program said `requires_grad_(False)`.

        `gradients` are one for each parameter, in order, or by the names that the parameters were given with, as
        `svod.value_and_grad` gives them for a module. A function in their place, or a `closure`, is called first, to
        compute the loss and call `backward`, as PyTorch's closures do: its loss is given back.
        """
        for hook in self._hooks:
            if hook.when == "before":
                changed = hook.function(self, (gradients,), {"closure": closure})
                if changed is not None:
                    (gradients,), closure = changed[0] or (None,), changed[1].get("closure")
        loss = self._stepped(gradients, closure)
        for hook in self._hooks:
            if hook.when == "after":
                hook.function(self, (gradients,), {"closure": closure})
        return loss

    @checked
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls `hook(optimizer, args, kwargs)` before each step; it may give another pair of these."""
        return self._hooked(StepHook(hook, "before"))

    @checked
    def register_step_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Calls `hook(optimizer, args, kwargs)` after each step. In a traced function hooks are traced with it."""
        return self._hooked(StepHook(hook, "after"))

    def _hooked(self, hook: StepHook) -> HookHandle:
        self._hooks = (*self._hooks, hook)
        return HookHandle(self, hook)

    def _stepped(
        self,
        gradients: Sequence[Tensor | None] | Mapping[str, Tensor] | Callable[[], Any] | None,
        closure: Callable[[], Any] | None,
    ) -> Any:
        loss = None
        if closure is not None:
            if gradients is not None:
                raise ArgumentTypeError("step: gradients, or a closure that computes them: give only one of them")
            gradients = closure
        if callable(gradients):
            with enable_grad():
                loss, gradients = gradients(), None
        self._follow()
        self._check_left_behind(gradients is not None)
        if gradients is None:
            self._check_required()
        found = self._gradients(gradients)
        if _is_tracing():
            self._write(found)
            return loss
        before, clocks = _Before(list(self._own())), [list(group._clocks) for group in self.param_groups]
        try:
            written = self._write(found)
            if written:
                # With what the passes over the gradients' activations have left.
                before.replace([*written, *pending()])
        except BaseException:
            before.restore()
            for group, own in zip(self.param_groups, clocks, strict=True):
                group._clocks = own
            restore()
            raise
        settled()
        return loss

    def _own(self) -> Iterator[Tensor]:
        """The tensors that steps write."""
        for group in self.param_groups:
            yield from group.params
            for buffers in (*group._states, *group._clocks):
                yield from buffers.values()

    def _write(self, gradients: Iterator[Tensor | None]) -> list[Tensor]:
        """Makes parameters and state stand for their values after a step; gives those that do."""
        written: list[Tensor] = []
        with no_grad():
            for group in self.param_groups:
                written += self._step(group, [next(gradients) for _ in group.params])
        return written

    def state_dict(self) -> dict[str, Any]:
        """The state of each parameter, by its position, and the numbers of the groups: plain containers, as PyTorch's.

        Later steps do not change what is in it.
        """
        state: dict[int, dict[str, Tensor]] = {}
        groups = []
        for group in self.param_groups:
            positions = range(len(state), len(state) + len(group.params))
            for position, clock, own in zip(positions, group._clocks, group._states, strict=True):
                state[position] = {name: tensor.detach() for name, tensor in {**clock, **own}.items()}
            groups.append({**{name: group[name] for name in group._options}, "params": list(positions)})
        return {"state": state, "param_groups": groups}

    @checked
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes on the state of another optimizer of the same kind, svod's or PyTorch's, over parameters alike.

        Raises `svod.nn.StateError` where groups, parameters or shapes are others.
        """
        self._follow()
        groups, state = state_dict["param_groups"], state_dict["state"]
        sizes = [len(group["params"]) for group in groups]
        if sizes != [len(group.params) for group in self.param_groups]:
            own = [len(group.params) for group in self.param_groups]
            raise StateError(f"{type(self).__name__}: groups of {own} parameters, but a state of {sizes}")
        for group, given in zip(self.param_groups, groups, strict=True):
            for name in group._options:
                if given.get(name) is not None:
                    group[name] = given[name]
            clocks: dict[Any, Buffers] = {}
            for at, position in enumerate(given["params"]):
                entries = {name: _tensor(value) for name, value in state.get(position, {}).items() if value is not None}
                self._load(group, at, position, entries, clocks)

    def __repr__(self) -> str:
        groups = "".join(f"\n  {group!r}" for group in self.param_groups)
        return f"{type(self).__name__}({groups}\n)"

    # What subclasses are.

    def _buffers(self, group: ParamGroup) -> Mapping[str, float]:
        """The names of each parameter's tensors of state, and what they are filled with before the first step."""
        raise NotImplementedError

    def _shape(self, name: str, parameter: Tensor) -> tuple[Any, ...] | None:
        """The shape of a tensor of state; none where the parameter has no such one."""
        return tuple(parameter.shape)

    def _advance(self, h: Any, clock: Any) -> tuple[Mapping[str, Tensor], Mapping[str, Any]]:
        """The clock after a step, and the numbers that `_update` needs, of the group's numbers `h`."""
        raise NotImplementedError

    def _update(self, p: Tensor, g: Tensor, s: Any, k: Any) -> tuple[Tensor, Mapping[str, Tensor]]:
        """The parameter and its state after a step, of its gradient `g`, its state `s` and the numbers `k`."""
        raise NotImplementedError

    def _check(self, group: ParamGroup) -> None:
        """Refuses parameters and options that the rule is not made for."""

    # How they are used.

    def _follow(self) -> None:
        for group in self.param_groups:
            group._follow()

    def _check_left_behind(self, is_given: bool) -> None:
        """An error where a parameter that gets no gradient has given way to a tensor that nobody trains."""
        for group in self.param_groups:
            for at, parameter in enumerate(group.params):
                if is_left_behind(parameter, is_given) and (is_given or parameter.grad is None):
                    raise ArgumentError(
                        f"{type(self).__name__}.step: {group._described(at)} is no longer in its module, which has "
                        "another tensor in its place, by an assignment, `load_state_dict` or `to`: make the optimizer "
                        "afterwards, or write `assign` under `no_grad` to give it another value"
                    )

    def _check_required(self) -> None:
        """An error where `backward` gathers no gradient by a parameter, and nobody said that it is to stay as it is."""
        for group in self.param_groups:
            for at, parameter in enumerate(group.params):
                if not (parameter.requires_grad or parameter._is_fixed()):
                    raise ArgumentError(
                        f"{type(self).__name__}.step: {group._described(at)} requires no gradient, so that it would "
                        "not be trained: call `model.requires_grad_()` before the loss is computed, and "
                        "`requires_grad_(False)` of parameters that are to stay as they are"
                    )

    def _option(self, name: str, value: Any) -> Any:
        """An option as a group has it: real numbers are tensors."""
        if isinstance(value, (bool, str, type(None), Tensor)) or name in self._structural:
            return value
        several = value if isinstance(value, (tuple, list)) else (value,)
        for at, number in enumerate(several):
            fits, expected = number >= 0, "of at least 0"
            if name in self._fractions:
                fits, expected = fits and number <= 1, "from 0 to 1"
            if name == "betas":
                fits, expected = fits and number < 1, "from 0 to below 1"
            if not fits:
                which = f"{name}[{at}]" if len(several) > 1 else name
                raise ArgumentError(f"{type(self).__name__}: {which}: a number {expected} is expected, not {number}")
        numbers = tuple(Tensor(float(number), dtype=float64).realize() for number in several)
        return numbers if isinstance(value, (tuple, list)) else numbers[0]

    def _gradients(self, given: Any) -> Iterator[Tensor | None]:
        everything = [(group, at) for group in self.param_groups for at in range(len(group.params))]
        if given is None:
            return iter([group.params[at].grad for group, at in everything])
        if isinstance(given, Mapping):
            names = [group._names[at] if group._names else None for group, at in everything]
            if None in names or not set(given) <= set(names):
                raise ArgumentError(
                    f"{type(self).__name__}.step: gradients by the names {sorted(given)[:4]}, but the parameters are "
                    f"{'without names: give named_parameters()' if None in names else names[:4]}"
                )
            gradients = [given.get(str(name)) for name in names]
        else:
            gradients = list(given)
        if len(gradients) != len(everything):
            raise ArgumentError(f"{type(self).__name__}.step: {len(gradients)} gradients, {len(everything)} parameters")
        is_fixed = [group.params[at]._is_fixed() for group, at in everything]
        return iter([None if fixed else one for one, fixed in zip(gradients, is_fixed, strict=True)])

    def _step(self, group: ParamGroup, gradients: list[Tensor | None]) -> list[Tensor]:
        """The tensors of a group that stand for new values after a step."""
        moving: dict[int, list[int]] = {}
        for at, gradient in enumerate(gradients):
            if gradient is not None:
                moving.setdefault(id(group._clocks[at]), []).append(at)
        written: list[Tensor] = []
        for members in moving.values():
            clock = group._clocks[members[0]]
            if sum(1 for other in group._clocks if other is clock) > len(members):
                # The others stay where they are: from now on these have a clock of their own.
                clock = {name: tensor.clone() for name, tensor in clock.items()}
                for at in members:
                    group._clocks[at] = clock
            # Other handles: what the numbers are made of stays when the clock goes on.
            before = SimpleNamespace(**{name: +tensor for name, tensor in clock.items()})
            after, numbers = self._advance(group._numbers(clock[_STEP]), before)
            written += _assigned(clock, after)
            for at in members:
                parameter, state, gradient = group.params[at], group._states[at], gradients[at]
                assert gradient is not None
                own = state.get(MASTER, parameter)
                weights = _weights(parameter, own)
                new, buffers = self._update(
                    weights,
                    -gradient.cast(weights.dtype) if group._options.get("maximize") else gradient.cast(weights.dtype),
                    SimpleNamespace(**state),
                    SimpleNamespace(**{name: _cast(value, weights.dtype) for name, value in numbers.items()}),
                )
                written += _assigned(state, buffers)
                written += [own.assign(new)]
                if own is not parameter:
                    written += [parameter.assign(own)]
        return written

    def _load(self, group: ParamGroup, at: int, position: int, entries: Buffers, clocks: dict[Any, Buffers]) -> None:
        """Puts a parameter's entries of a state dict in their places."""
        parameter, state = group.params[at], group._states[at]
        clock = {name: entries[name].item() if name in entries else start for name, start in self._clock.items()}
        if _STEP in clock and _STEP not in entries and set(state) & set(entries):
            # PyTorch counts no steps where only the first differs from the others.
            clock[_STEP] = 1.0
        past = (str(parameter.device), *clock.values())
        if past not in clocks:
            clocks[past] = {name: _at(full((), value, dtype=float64), parameter) for name, value in clock.items()}
        group._clocks[at] = clocks[past]
        if MASTER in state and MASTER not in entries:
            state[MASTER].assign(parameter.detach())
        for name, tensor in state.items():
            if name in entries:
                if entries[name].shape != tensor.shape:
                    shapes = f"shape {tuple(entries[name].shape)}, not {tuple(tensor.shape)}"
                    raise StateError(f"{type(self).__name__}: {name} of parameter {position} has {shapes}")
                tensor.assign(_at(entries[name], tensor))


def _assigned(to: Buffers, values: Mapping[str, Tensor]) -> list[Tensor]:
    return [to[name].assign(value) for name, value in values.items()]


def _weights(parameter: Tensor, own: Tensor) -> Tensor:
    """What a step goes on from: the weights that a parameter is rounded from, but where somebody else wrote it."""
    if own is parameter:
        return parameter
    return where(parameter.detach() == own.cast(parameter.dtype), own, parameter.detach().cast(own.dtype))


def _cast(value: Any, dtype: DType) -> Any:
    return value.cast(dtype) if isinstance(value, Tensor) else value


def _working(parameter: Tensor) -> DType:
    """The type that a parameter's state has and its steps are computed in."""
    return float32 if parameter.dtype.itemsize < 4 else parameter.dtype


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor(value)


def _moved(value: Tensor, like: Tensor) -> Tensor:
    """A value on the device or devices of another one."""
    if isinstance(like.device, str):
        return value.to(device=like.device, copy=True)
    return value.shard(list(like.device), like.shard_axis if value.shape == like.shape else None)


def _at(value: Tensor, like: Tensor) -> Tensor:
    """As `_moved`, in memory of its own."""
    moved = _moved(value, like).contiguous()
    return moved if _is_tracing() else moved.realize()
