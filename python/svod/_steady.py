"""Tensors from outside that stay what they are from call to call: constants of a jitted function's second plan."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

from svod._grad import enable_grad
from svod._svod import Error, ExecutionPlan, Graph, PrepareConfig, Tensor, _constants, _prepare_writing, _with_constants

__all__ = ["Steady", "SteadyPlans"]

# Calls that find what the one before found, until a plan is made for them; twice as many after each that is given up.
_FEWEST, _MOST = 2, 64


class SteadyPlans:
    """Those of one function: all let old weights go at once, also in traces that are not called again."""

    def __init__(self) -> None:
        # One object, which threads replace.
        self._all: list[weakref.ref[Steady]] = []

    def add(self, steady: Steady) -> None:
        """Adds one of a new trace, which may be new because weights are others."""
        self.forget()
        self._all = [*(one for one in self._all if one() is not None), weakref.ref(steady)]

    def forget(self) -> None:
        """Lets all plans go."""
        for one in self._all:
            steady = one()
            if steady is not None:
                steady.forget()


class Steady:
    """The plan of a trace for calls that find the same values outside.

    Weights that are inputs of a plan are laid out for its contractions in each run. Once calls in a row have found the
    same values, they are constants of a plan of their own, laid out once and shared with all plans that read them. A
    call that finds another value is run by the plan that takes all values, and gives the other plan up, with its hold
    on memory.
    """

    def __init__(
        self,
        all: SteadyPlans,
        outputs: Sequence[Tensor],
        found: Sequence[Tensor],
        inputs: Sequence[Tensor],
        config: PrepareConfig | None,
    ) -> None:
        """`found` are what stands for the tensors from outside, `inputs` the plan's other ones."""
        self._all = all
        all.add(self)
        self._graph = Graph(*outputs)
        self._found, self._inputs, self._config = found, inputs, config
        self._is_worth: bool | None = None
        self._needed = _FEWEST
        # What values the last call found, how many in a row did, and the plan: one object, which threads replace.
        self._last: tuple[bytes | None, int, ExecutionPlan | None] = (None, 0, None)

    def plan(self, general: ExecutionPlan, found: Sequence[Tensor]) -> ExecutionPlan | None:
        """The plan for a call that finds these, if there is one. `general` is the one that takes all values."""
        if self._is_worth is False:
            return None
        values = _constants(found)
        last, alike, plan = self._last
        if values is None or values != last:
            if plan is not None:
                self._needed = min(2 * self._needed, _MOST)
                self._all.forget()
            self._last = (values, 0, None)
            return None
        if plan is None:
            alike += 1
            plan = self._prepared(general, found, values) if alike >= self._needed else None
            self._last = (values, alike, plan)
        return plan

    def forget(self) -> None:
        """Lets the plan go, if there is one."""
        self._last = (None, 0, None)

    def _prepared(self, general: ExecutionPlan, found: Sequence[Tensor], values: bytes) -> ExecutionPlan | None:
        if self._is_worth is None:
            items = general.analysis()["items"]
            self._is_worth = any(item["analysis"] and item["analysis"]["packed_bytes"][0] > 0 for item in items)
        if not self._is_worth:
            return None
        # Another thread may assign to them meanwhile. Where no gradients are recorded, the value is another node.
        with enable_grad():
            now = [value for tensor in found if isinstance(value := tensor._snapshot(), Tensor)]
        if _constants(now) != values:
            return None
        try:
            outputs = _with_constants(self._graph, self._found, now)
            plan = None if outputs is None else _prepare_writing(outputs, self._inputs, [], config=self._config)
        except Error:
            # What cannot be a constant stays an input.
            plan = None
        if plan is None or plan.variables != general.variables:
            self._is_worth = False
            return None
        return plan
