"""Calls of modules with other parameters and buffers than their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from svod._arguments import checked_at_once
from svod._module import Module, StateError, _Slot, _slots
from svod._svod import ArgumentError, ArgumentTypeError, Tensor

__all__ = ["functional_call"]


@checked_at_once
def functional_call(
    module: Module,
    parameter_and_buffer_dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """What a module gives for arguments with these tensors in place of its parameters and buffers.

    The tensors are named as in its state dict, in one dict or several; what is not named stays the module's own, unless
    `strict`. `args` are the arguments by position, a tuple or a single one, `kwargs` those by name. A parameter of
    several names is replaced under all of them, unless `tie_weights` is false. The module has its own tensors again
    afterwards; buffers that it assigns to are those that were given.

    As `torch.func.functional_call`.

    Raises:
        ArgumentError: a name that the module does not have, that two dicts have, or, if `strict`, that none has; two
            tensors for one parameter.
        ArgumentTypeError: something that is no tensor.
        StateError: a tensor that the module holds in a tuple.

    >>> import svod
    >>> layer = svod.nn.Linear(2, 1)
    >>> given = {"weight": svod.ones(1, 2), "bias": svod.zeros(1)}
    >>> svod.functional_call(layer, given, svod.Tensor([3.0, 4.0])).tolist()
    [7.0]
    >>> by = svod.grad(lambda given, x: svod.functional_call(layer, given, (x,)).sum())(given, svod.Tensor([3.0, 4.0]))
    >>> by["weight"].tolist()
    [[3.0, 4.0]]
    """
    given = _joined(parameter_and_buffer_dicts)
    slots = list(_slots(module))
    _check(module, slots, given, strict=strict)
    places = _tied(slots, given) if tie_weights else [(slot, given[slot.name]) for slot in slots if slot.name in given]
    replaced: list[_Slot] = []
    try:
        for slot, tensor in places:
            _put(slot, tensor)
            replaced.append(slot)
        by_position = args if isinstance(args, tuple) else () if args is None else (args,)
        return module(*by_position, **(kwargs or {}))
    finally:
        for slot in replaced:
            _put(slot, slot.tensor)


def _joined(dicts: Mapping[str, Tensor] | Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    given: dict[str, Tensor] = {}
    for one in [dicts] if isinstance(dicts, Mapping) else dicts:
        for name, tensor in one.items():
            if name in given:
                raise ArgumentError(f"functional_call: {name!r} is in two of the dicts")
            if not isinstance(tensor, Tensor):
                raise ArgumentTypeError(f"functional_call: {name!r} is {type(tensor).__name__}, which is no tensor")
            given[name] = tensor
    return given


def _check(module: Module, slots: list[_Slot], given: dict[str, Tensor], *, strict: bool) -> None:
    known = {slot.name for slot in slots}
    if unknown := [name for name in given if name not in known]:
        raise ArgumentError(
            f"functional_call: {type(module).__name__} has no {unknown[0]!r}: it has {sorted(known)[:8]}"
        )
    if strict and (missing := [slot.name for slot in slots if slot.name not in given]):
        raise ArgumentError(f"functional_call: nothing is given for {missing[0]!r}, and it is strict")


def _tied(slots: list[_Slot], given: dict[str, Tensor]) -> list[tuple[_Slot, Tensor]]:
    """Each place with what is given for it by any name of its tensor."""
    of_tensor: dict[int, tuple[str, Tensor]] = {}
    for slot in slots:
        if slot.name in given:
            name, tensor = of_tensor.setdefault(id(slot.tensor), (slot.name, given[slot.name]))
            if tensor is not given[slot.name]:
                raise ArgumentError(f"functional_call: {name!r} and {slot.name!r} are one tensor, but two are given")
    return [(slot, of_tensor[id(slot.tensor)][1]) for slot in slots if id(slot.tensor) in of_tensor]


def _put(slot: _Slot, tensor: Tensor) -> None:
    """Puts a tensor in a place for a while: nobody is told that another one gave way to it."""
    if isinstance(slot.holder, tuple):
        raise StateError(f"{slot.name} is held directly in a tuple and cannot be replaced: use a list")
    if isinstance(slot.holder, Module):
        object.__setattr__(slot.holder, slot.key, tensor)
    else:
        slot.holder[slot.key] = tensor
