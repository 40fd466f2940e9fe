"""Running statistics: what a forward pass writes to buffers, for the next step of an optimizer to compute."""

from __future__ import annotations

import threading
import weakref

from svod._grad import no_grad
from svod._svod import Tensor, _is_tracing, realize

__all__ = ["pending", "written"]


class _Pending(threading.local):
    def __init__(self) -> None:
        self.buffers: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()


_pending = _Pending()


def written(buffer: Tensor, value: Tensor) -> None:
    """Has a buffer stand for a value without derivative.

    It is left to be computed with what the optimizer's next step computes, which shares the passes over activations.
    One that is still left from the pass before is computed now: else the expressions of all batches would pile up.
    """
    if not _is_tracing():
        if id(buffer) in _pending.buffers and not buffer.is_realized:
            realize(*pending())
        _pending.buffers[id(buffer)] = buffer
    with no_grad():
        buffer.assign(value.detach())


def pending() -> list[Tensor]:
    """The buffers of this thread that passes have written and nothing has computed yet."""
    left = [buffer for buffer in _pending.buffers.values() if not buffer.is_realized]
    _pending.buffers.clear()
    return left
