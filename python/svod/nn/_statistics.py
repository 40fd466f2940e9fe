"""Running statistics: what a forward pass writes to buffers, for the next step of an optimizer to compute."""

from __future__ import annotations

import threading
import weakref

from svod._grad import no_grad
from svod._svod import Tensor, _Before, _is_tracing, realize

__all__ = ["pending", "restore", "settled", "written"]


class _Pending(threading.local):
    def __init__(self) -> None:
        self.buffers: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()
        # What buffers were before passes wrote them that no step has computed yet.
        self.before: list[_Before] = []


_pending = _Pending()


def written(buffer: Tensor, value: Tensor) -> None:
    """Has a buffer stand for a value without derivative.

    It is left to be computed with what the optimizer's next step computes, which shares the passes over activations.
    One that is still left from the pass before is computed now: else the expressions of all batches would pile up.
    """
    if not _is_tracing():
        if id(buffer) in _pending.buffers and not buffer.is_realized:
            realize(*pending())
            settled()
        _pending.buffers[id(buffer)] = buffer
        _pending.before.append(_Before([buffer]))
    with no_grad():
        buffer.assign(value.detach())


def pending() -> list[Tensor]:
    """The buffers of this thread that passes have written and nothing has computed yet."""
    left = [buffer for buffer in _pending.buffers.values() if not buffer.is_realized]
    _pending.buffers.clear()
    return left


def settled() -> None:
    """Forgets what buffers were before, now that all of them are computed."""
    _pending.before.clear()


def restore() -> None:
    """Gives buffers that could not be computed the values before the passes that wrote them."""
    for before in reversed(_pending.before):
        before.restore()
    _pending.before.clear()
    _pending.buffers.clear()
