"""Derivatives of what calls of jitted functions give: plans of the traced graph, as the calls' own are."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from typing import Any

from svod._grad import enable_grad, is_differentiating
from svod._place import device_of
from svod._svod import (
    ArgumentError,
    ExecutionPlan,
    Graph,
    PrepareConfig,
    Tensor,
    _Backward,
    _is_tracing,
    _prepare_writing,
    _with_derivatives,
    _with_values,
    zeros,
)
from svod._vmap import is_batching

__all__ = ["Derivatives"]


@dataclasses.dataclass(frozen=True, slots=True)
class _Way:
    """The way back from some results of a graph."""

    # Positions of the results that have a cotangent.
    results: tuple[int, ...]
    graph: _Backward
    # Which of the inputs that derivatives are taken by have a cotangent.
    reached: list[bool]
    # Gives the results, and then what the way back reads of the way forward; none where it reads nothing of it.
    forward: ExecutionPlan | None
    # Gives the cotangents, of those of results, the inputs that are held, and what is kept; none where there are none.
    plan: ExecutionPlan | None
    further: Derivatives


class Derivatives:
    """What differentiates the results of all calls of one trace.

    A call gives results that know how they were computed, as whatever else is computed of tensors that require a
    gradient. When somebody asks for a derivative, the pullback of the graph becomes a plan, once. From then on calls
    run a plan that gives beside the results what the pullback reads of the way forward and is dear to compute again.
    What a pullback gives is differentiated likewise, of a graph of its own.
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        results: Sequence[int],
        inputs: Sequence[Tensor],
        by: Sequence[int],
        over: list[tuple[int, int]],
        config: PrepareConfig,
    ) -> None:
        """Of the results at some positions, by the inputs at some. `over` are inputs that a run writes results to."""
        self._name, self._graph, self._config = name, graph, config
        self._results, self._inputs, self._by, self._over = list(results), list(inputs), list(by), over
        self._lock = threading.RLock()
        self._way: _Way | None = None
        # Which inputs a derivative reads, or is taken by; all, as long as nobody has asked for one.
        self._held: list[bool] | None = None

    def call(self, given: Sequence[Any], values: dict[str, int]) -> _Call:
        """A call with these inputs, as far as derivatives need them, and these values of variables."""
        return _Call(self, self._way, given, values)

    def way(self, results: tuple[int, ...]) -> _Way:
        """The way back from these results; others may be on it."""
        with self._lock:
            known = self._way
            if known is None or not set(results) <= set(known.results):
                with enable_grad():
                    known = self._made(tuple(sorted({*results, *(known.results if known is not None else ())})))
                self._way = known
            return known

    def _made(self, results: tuple[int, ...]) -> _Way:
        roots = self._graph.roots
        by = [self._inputs[at] for at in self._by]
        if self._held is None:
            read = _Backward([roots[at] for at in self._results], by).reads(self._inputs)
            is_open = [any(not isinstance(n, int) for n in one.shape) for one in self._inputs]
            of = set(self._by)
            self._held = [one or is_open[at] or at in of for at, one in enumerate(read)]
        back = _Backward([roots[at] for at in results], by)
        found = back.cotangents
        kept, stand_ins, cotangents = back.kept([roots[at] for at in results])
        forward = plan = None
        if kept:
            forward = _prepare_writing(_own([*roots, *kept]), self._inputs, self._over, config=self._config)
        held = [one for one, is_held in zip(self._inputs, self._held, strict=True) if is_held]
        if cotangents:
            plan = _prepare_writing(_own(cotangents), [*back.seeds, *held, *stand_ins], [], config=self._config)
        inputs = [*self._inputs, *back.seeds]
        by_seeds = range(len(self._inputs), len(inputs))
        graph = Graph(*(one for one in found if one is not None))
        whole = range(len(cotangents))
        further = Derivatives(self._name, graph, whole, inputs, [*self._by, *by_seeds], [], self._config)
        return _Way(results, back, [one is not None for one in found], forward, plan, further)


class _Call:
    """One call: what it was given, as far as a derivative reads that."""

    def __init__(self, of: Derivatives, way: _Way | None, given: Sequence[Any], values: dict[str, int]) -> None:
        self._of, self._way, self._values = of, way, values
        held = of._held
        # With the values of this moment: tensors and arrays may be written later.
        self.given = [
            one if held is not None and not held[at] else _kept(one, of._inputs[at]) for at, one in enumerate(given)
        ]
        self._kept: tuple[_Way | None, list[Tensor]] = (None, [])
        # Shapes, types and places of the results.
        self._like: list[tuple[Any, Any, str | None]] = []

    @property
    def plan(self) -> ExecutionPlan | None:
        """The plan that gives what a derivative reads as well, if there is one."""
        return None if self._way is None else self._way.forward

    def named(self, outputs: list[Any]) -> list[Any]:
        """The results of the plan, those that have derivatives as values that know how they were computed."""
        of = self._of
        count = len(of._graph.roots)
        if self.plan is not None:
            self._kept = (self._way, outputs[count:])
        results = outputs[:count]
        held = of._held
        if held is not None:
            self.given = [one if is_held else None for one, is_held in zip(self.given, held, strict=True)]
        self._like = [(tuple(results[at].shape), results[at].dtype, device_of(results[at])) for at in of._results]
        operands = [self.given[at] for at in of._by]
        found = _with_derivatives(of._name, [results[at] for at in of._results], operands, self.pull)
        for at, one in zip(of._results, found, strict=True):
            results[at] = one
        return results

    def pull(self, cotangents: list[Tensor | None], operands: list[Tensor], is_last: bool) -> list[Tensor | None]:
        """The cotangents of what derivatives are taken by, given those of the first results."""
        of = self._of
        given = {of._results[at]: one for at, one in enumerate(cotangents) if one is not None}
        way = of.way(tuple(given))
        seeds = [given[at] if at in given else self._zeros(at) for at in way.results]
        if _is_tracing() or is_batching() or is_differentiating():
            found = self._composed(way, seeds, operands)
        elif way.plan is None:
            found = []
        else:
            found = self._run(way, seeds, is_last)
        rest = iter(found)
        return [next(rest) if is_reached else None for is_reached in way.reached]

    def _run(self, way: _Way, seeds: list[Tensor], is_last: bool) -> list[Tensor]:
        """The cotangents by the plan, which are differentiated in turn unless nobody asks for that."""
        of = self._of
        of_way, kept = self._kept
        if way.forward is not None and of_way is not way:
            inputs = [self._zeros_like(at) if one is None else one for at, one in enumerate(self.given)]
            outputs = way.forward.run(*inputs, **self._of_plan(way.forward))
            kept = outputs[len(of._graph.roots) :]
            self._kept = (way, kept)
        held = of._held or []
        inputs = [one for one, is_held in zip(self.given, held, strict=True) if is_held]
        assert way.plan is not None
        if is_last:
            return way.plan.run(*seeds, *inputs, *kept, **self._of_plan(way.plan))
        further = way.further.call([*self.given, *seeds], self._values)
        seeds = further.given[len(self.given) :]
        return further.named(way.plan.run(*seeds, *inputs, *kept, **self._of_plan(way.plan)))

    def _composed(self, way: _Way, seeds: list[Tensor], operands: list[Tensor]) -> list[Tensor]:
        """The cotangents as expressions: where they are part of what is traced, or differentiated in turn."""
        of = self._of
        now = dict(zip(of._by, operands, strict=True))
        values = {at: now.get(at, one) for at, one in enumerate(self.given) if one is not None}
        stand_ins = [*(of._inputs[at] for at in values), *way.graph.seeds]
        made = _with_values(way.further._graph, stand_ins, [*values.values(), *seeds])
        if made is None:
            raise ArgumentError(
                f"jit: {of._name}: what a call with sizes that are declared has given is not differentiated within a "
                "function that is traced or differentiated itself: call it there, too"
            )
        return made

    def _of_plan(self, plan: ExecutionPlan) -> dict[str, int]:
        return {name: value for name, value in self._values.items() if name in plan.variables} if self._values else {}

    def _zeros(self, at: int) -> Tensor:
        shape, dtype, device = self._like[self._of._results.index(at)]
        return _zeros(shape, dtype, device)

    def _zeros_like(self, at: int) -> Tensor:
        """In place of an input that nothing of what is wanted depends on."""
        one = self._of._inputs[at]
        return _zeros(one.shape, one.dtype, device_of(one))


def _zeros(shape: Any, dtype: Any, device: str | None) -> Tensor:
    made = zeros(shape, dtype=dtype)
    return made if device is None else made.to(device)


def _own(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Handles of their own to what a plan gives: it makes them stand for its outputs."""
    return [tensor.contiguous() if tensor.is_realized else tensor.clone() for tensor in tensors]


def _kept(value: Any, like: Tensor) -> Any:
    """The value of this moment."""
    if not isinstance(value, Tensor):
        return Tensor(value, None, device_of(like))
    if not isinstance(now := value._snapshot(), Tensor):
        # What a function of the host computes.
        value.realize()
        now = value._snapshot()
    return now
