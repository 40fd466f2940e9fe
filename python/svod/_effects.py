"""What a jitted function does to tensors from outside: values that it assigns, gradients that it gathers, names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svod._bindings import Bindings, Guard
from svod._gradient_hooks import changes
from svod._svod import Tensor, TraceError, _positions, _take_written, _Trace, is_grad_enabled

__all__ = ["Effects"]


class Effects:
    """What one trace writes: further results of its plan, which a call gives to the tensors once its run has succeeded.

    While the function is traced, the tensors themselves stay as they are.
    """

    def __init__(self, trace: _Trace, guard: Guard, results: list[Any]) -> None:
        """What a trace has written since a guard was made; the values are added to `results`."""
        first = len(results)
        written, gathered = trace.written(), trace.gathered()
        # Handles that are assigned to, then those whose gradients were looked at.
        self.handles = [tensor for tensor, _ in written] + [one[0] for one in gathered]
        self._assigned = len(written)
        # Positions of their values among results.
        self._places = range(first, first + self._assigned)
        results += [value for _, value in written]
        # Of each gradient that is new: the position of its tensor, and that of its value among results.
        self._gradients: list[tuple[int, int | None]] = []
        # What was gathered by each before.
        self._before = [one[1] for one in gathered]
        for at, (_, _, now, is_new) in enumerate(gathered, self._assigned):
            if is_new:
                self._gradients.append((at, None if now is None else len(results)))
                results += [] if now is None else [now]
        self._records, self._hooks = is_grad_enabled(), changes()
        self.bindings = Bindings(trace, guard, results)
        # Whether the function takes derivatives itself, and writes what they are taken by.
        self.is_step = bool(self._gradients) or any(one.requires_grad for one in self.handles[: self._assigned])

    def __bool__(self) -> bool:
        """Whether anything is written."""
        return bool(self._assigned or self._gradients or self.bindings)

    def holds(self) -> bool:
        """Whether gradients, of the tensors whose they are, and their hooks are now as they were for the trace."""
        if not self._before:
            return True
        now = [tensor.grad is None for tensor in self.handles[self._assigned :]]
        same_hooks = self._hooks == changes()
        return same_hooks and now == [before is None for before in self._before] and self._records == is_grad_enabled()

    def gradients_before(self) -> list[tuple[Tensor, Callable[[], Tensor | None]]]:
        """The gradients that were there when the function was traced, and what gives those that are there now."""

        def now(at: int) -> Callable[[], Tensor | None]:
            return lambda: self.handles[at].grad

        return [(one, now(at)) for at, one in enumerate(self._before, self._assigned) if one is not None]

    def check(self, arguments: Sequence[Any]) -> None:
        """Raises an error where an argument is a tensor that is written, for the function takes it for another one."""
        given = [argument for argument in arguments if isinstance(argument, Tensor)]
        written = _positions(given, self.handles[: self._assigned]) if given else []
        for argument, at in zip(given, written, strict=False):
            if at is not None:
                raise TraceError(
                    f"{argument.dtype}{list(argument.shape)} is an argument and a tensor from outside that the "
                    "function assigns to: let it be one of both, or give a clone() of it"
                )

    def over(self, found: Sequence[Tensor], first: int) -> list[tuple[int, int]]:
        """What a run may write in place: positions of inputs, these tensors from `first` on, and of results."""
        places = zip(_positions(self.handles[: self._assigned], list(found)), self._places, strict=True)
        return [(first + at, result) for at, result in places if at is not None]

    def written(self) -> list[tuple[int, Tensor]]:
        """The tensors that are assigned to, each with the position of its value among results."""
        return list(zip(self._places, self.handles, strict=False))

    def write(self, guard: Guard, results: Sequence[Any]) -> None:
        """Gives the tensors, and the names in the holders of a guard, what a run has computed for them."""
        if self._assigned:
            _take_written(self.handles[: self._assigned], results[self._places.start : self._places.stop])
        for at, result in self._gradients:
            self.handles[at].grad = None if result is None else results[result]
        self.bindings.write(guard, results)
