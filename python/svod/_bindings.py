"""Names that a traced function binds anew, to values that only its plan has: `self.w = self.w - g`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from svod._svod import Tensor, _changed, _Trace
from svod._tree import rebuilder, taken

__all__ = ["Bindings", "bind", "bound", "depends", "undo"]

_MISSING = object()

# Types of plain values: counters, rates, modes.
_PLAIN = frozenset((bool, int, float, complex, str, bytes))

# The entries of a guard: a container or a namespace and what it held; see `_reach`.
Guard = tuple[Any, ...]


class _Rebound(NamedTuple):
    """A name that stands for another object than a guard knows."""

    # The position of the entry in the guard.
    entry: int
    name: Any
    before: Any
    now: Any


class Bindings:
    """Names that one trace bound to tensors that it computes: each call binds them to what its run gave."""

    def __init__(self, trace: _Trace, guard: Guard, results: list[Any]) -> None:
        """Takes what a function has bound since a guard was made; the tensors are added to `results`."""
        # Holders, names, and what makes a value of results.
        self._all: list[tuple[Any, Any, Callable[[Sequence[Any]], Any]]] = []
        # Positions in a guard of the entries of the holders.
        self._entries: list[int | None] = []
        # Positions of results that require a gradient.
        self._required: list[int] = []
        for rebound in _made(trace, guard):
            first = len(results)
            value = rebuilder(taken(rebound.now, results))
            required = (at for at in range(first, len(results)) if isinstance(results[at], Tensor))
            self._required += [at for at in required if results[at].requires_grad and results[at].is_leaf]
            self._all.append((guard[rebound.entry][0], rebound.name, value))

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._all)

    def find(self, guard: Guard) -> None:
        """Says by which guard, and later ones alike, holders are found again."""
        entries = {id(entry[0]): at for at, entry in enumerate(guard)}
        self._entries = [entries.get(id(holder)) for holder, _, _ in self._all]

    def write(self, guard: Guard, results: Sequence[Any]) -> None:
        """Binds the names in the holders that a guard knows now."""
        for at in self._required:
            results[at].requires_grad_()
        for entry, (holder, name, value) in zip(self._entries, self._all, strict=True):
            bind(holder if entry is None else guard[entry][0], name, value(results))


def undo(trace: _Trace, guard: Guard) -> None:
    """Binds names whose values depend on a trace to what they stood for when a guard was made."""
    for rebound in _made(trace, guard):
        bind(guard[rebound.entry][0], rebound.name, rebound.before)


def depends(trace: _Trace, value: Any) -> bool:
    """Whether a tensor in a value depends on what a trace is made with."""
    tensors: list[Any] = []
    taken(value, tensors)
    return any(isinstance(tensor, Tensor) and trace.has_made(tensor) for tensor in tensors)


def _made(trace: _Trace, guard: Guard) -> list[_Rebound]:
    """What the function binds anew in each call: to what its trace computes, and plain values in place of others.

    The plain values that it finds are conditions of the trace: in each call that this serves it gives the same ones.
    """
    return [rebound for rebound in _rebound(guard) if depends(trace, rebound.now) or _is_plain(rebound)]


def _is_plain(rebound: _Rebound) -> bool:
    return type(rebound.before) in _PLAIN and type(rebound.now) in _PLAIN


def _rebound(guard: Guard) -> Iterator[_Rebound]:
    for at, entry in enumerate(guard):
        holder, known = entry[0], entry[-1]
        for _, name in _changed((entry,)):
            if isinstance(holder, list) and len(holder) == len(known):
                for i, (before, now) in enumerate(zip(known, holder, strict=True)):
                    if before is not now:
                        yield _Rebound(at, i, before, now)
            elif name is not None:
                names = entry[1] if len(entry) == 3 else known[::2]
                values = known if len(entry) == 3 else known[1::2]
                before = next((value for one, value in zip(names, values, strict=True) if one is name), _MISSING)
                now = bound(holder, name)
                yield _Rebound(at, name, before, now)


def bound(holder: Any, name: Any) -> Any:
    """What a name stands for in a dict or an object."""
    return holder.get(name, _MISSING) if isinstance(holder, dict) else getattr(holder, name, _MISSING)


def bind(holder: Any, name: Any, value: Any) -> None:
    """Lets a name stand for a value, which `bound` gave, in a dict or an object; or a position in a list."""
    if isinstance(holder, (dict, list)):
        if value is _MISSING:
            del holder[name]
        else:
            holder[name] = value
    elif value is _MISSING:
        delattr(holder, name)
    else:
        setattr(holder, name, value)
