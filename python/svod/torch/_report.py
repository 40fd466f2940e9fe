"""What PyTorch computed because svod could not: how often, how long, and why."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

from torch._ops import HigherOrderOperator, OpOverload
from torch.fx import Node

__all__ = ["Fallback", "report", "reset"]


@dataclasses.dataclass(slots=True)
class Fallback:
    """An operation that runs in PyTorch."""

    # The operation's name, such as `aten.nonzero.default`.
    operation: str
    reason: str
    # Number of places in compiled graphs.
    places: int = 0
    # Number of runs.
    runs: int = 0
    # What the runs took, in seconds.
    seconds: float = 0.0

    def __str__(self) -> str:
        runs = "1 run" if self.runs == 1 else f"{self.runs} runs"
        return f"{self.operation}: {runs} in PyTorch, {self.seconds * 1e3:.3g} ms; {self.reason}"


_fallbacks: dict[tuple[str, str], Fallback] = {}
_lock = threading.Lock()


class Timed:
    """An operation of PyTorch's that counts its runs."""

    def __init__(self, node: Node, reason: str) -> None:
        self._operation = node.target
        self.__name__ = getattr(node.target, "__name__", str(node.target))
        name = _name(node)
        with _lock:
            self._fallback = _fallbacks.setdefault((name, reason), Fallback(name, reason))
            self._fallback.places += 1

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        result = self._operation(*args, **kwargs)
        took = time.perf_counter() - began
        with _lock:
            self._fallback.runs += 1
            self._fallback.seconds += took
        return result


def _name(node: Node) -> str:
    """The operation's name; that of the one inside where PyTorch has put it into another, which keeps an order."""
    inside = [argument for argument in node.args if isinstance(argument, OpOverload)]
    return str(inside[0] if isinstance(node.target, HigherOrderOperator) and inside else node.target)


def described(error: Exception) -> str:
    """An error that is not svod's, as part of a reason."""
    return f"{type(error).__name__}, {error}"


def report() -> list[Fallback]:
    """The operations that run in PyTorch, those that take longest first."""
    with _lock:
        found = [dataclasses.replace(fallback) for fallback in _fallbacks.values()]
    return sorted(found, key=lambda fallback: -fallback.seconds)


def reset() -> None:
    """Forgets what was counted."""
    with _lock:
        for fallback in _fallbacks.values():
            fallback.runs, fallback.seconds = 0, 0.0
