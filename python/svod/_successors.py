"""Tensors of modules that gave way to others: an optimizer that was made before goes by the old ones, and says so."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from svod._svod import Tensor

__all__ = ["gave_way", "is_left_behind", "optimized"]


class _GaveWay(NamedTuple):
    old: weakref.ref[Tensor]
    new: weakref.ref[Tensor]


# By the identity of the old tensor, as long as that lives.
_left: dict[int, _GaveWay] = {}
# Those that an optimizer has, by identity.
_optimized: dict[int, weakref.ref[Tensor]] = {}


def gave_way(old: Tensor, new: Tensor) -> None:
    """Notes that a module has another tensor where it had one: a module that gets the old one back has it again."""
    _left.pop(id(new), None)
    if old is new:
        return
    key = id(old)

    def forget(ref: Any) -> None:
        if (entry := _left.get(key)) is not None and entry.old is ref:
            del _left[key]

    _left[key] = _GaveWay(weakref.ref(old, forget), weakref.ref(new))


def optimized(parameter: Tensor) -> None:
    """Notes that an optimizer has a tensor."""
    key = id(parameter)

    def forget(ref: Any) -> None:
        if _optimized.get(key) is ref:
            del _optimized[key]

    _optimized[key] = weakref.ref(parameter, forget)


def is_left_behind(parameter: Tensor, is_given: bool) -> bool:
    """Whether a module has another tensor in the place of this one, which is to be trained, and is by no optimizer.

    What is to be trained requires a gradient, unless gradients are given to optimizers.
    """
    entry = _left.get(id(parameter)) if _left else None
    if entry is None or entry.old() is not parameter:
        return False
    new = entry.new()
    return new is not None and id(new) not in _optimized and (is_given or new.requires_grad)
