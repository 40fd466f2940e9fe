"""A graph of PyTorch's operations as one plan of svod's."""

from __future__ import annotations

import dataclasses
import operator
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx import Graph, GraphModule, Node

import svod
from svod._svod import _borrowed, _Draws, _Facts, _Kept, _Trace
from svod.torch._interpreter import Refused, built, is_check, outputs_of
from svod.torch._sizes import A_SIZE, Kind, Sizes, Symbols, expression_of, known_values
from svod.torch._table import RULES, Unsupported
from svod.torch._types import DTYPES, follow, given, is_known, named, order_of, precede, taken

Order = tuple[int, ...] | None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Version:
    """A plan for arguments that lie in memory like these, with sizes up to some bounds."""

    plan: svod.ExecutionPlan
    sizes: Sizes
    # Of each argument that is a tensor, the order of its axes in memory.
    orders: tuple[Order, ...]
    draws: _Draws
    # Number of keys of random numbers that a run takes.
    keys: int
    # Of conditions, which are results behind those of the graph, the messages of their errors.
    messages: tuple[str, ...]
    facts: _Facts | None
    variables: frozenset[str]

    def serves(self, values: dict[str, int], orders: tuple[Order, ...]) -> bool:
        """Whether it computes arguments of these sizes that lie in memory like this."""
        if self.orders != orders or not self.sizes.hold(values):
            return False
        return self.facts is None or self.facts.hold(values)


# Of one graph. Each layout of arguments, and each size where sizes are no variables, has one of its own.
_MOST_VERSIONS = 32


@dataclasses.dataclass(frozen=True, slots=True)
class _Handed:
    """An argument as svod sees it."""

    tensor: torch.Tensor
    # Where its memory begins: none of a copy.
    address: int
    order: Order
    given: svod.Tensor


@dataclasses.dataclass(slots=True)
class _Held:
    """The parameters of a call, which are the same in most, as they were handed over."""

    # Of a call's arguments, those that are parameters.
    take: Callable[[Sequence[Any]], Sequence[torch.Tensor]]
    tensors: Sequence[torch.Tensor]
    # They may be given other memory.
    addresses: list[int]
    # What a plan is given of them, with none in the places of other arguments, and how they lie in memory.
    given: list[svod.Tensor | None]
    orders: list[Order]
    # Places of other arguments there, and among those of a call.
    others: list[tuple[int, int]]
    # What ran last: sizes, how other arguments lie in memory, the version, and its plan with the parameters given.
    last: tuple[dict[str, int], list[Order], _Version, _Kept] | None = None

    def serves(self, args: Sequence[Any]) -> bool:
        """Whether a call's parameters are these."""
        tensors = self.take(args)
        return all(map(operator.is_, tensors, self.tensors)) and list(map(_address, tensors)) == self.addresses

    def all_orders(self, others: Sequence[Order]) -> tuple[Order, ...]:
        """How a call's tensors lie in memory, of which the other arguments lie like these."""
        orders = self.orders.copy()
        for (number, _), order in zip(self.others, others, strict=True):
            orders[number] = order
        return tuple(orders)


_address = torch.Tensor.data_ptr


def _handed(tensor: torch.Tensor) -> _Handed:
    if tensor.is_conj() or tensor.is_neg():
        # What has yet to be conjugated or negated is, in a copy.
        tensor = tensor.resolve_conj().resolve_neg()
        return _Handed(tensor, 0, tuple(range(tensor.dim())), given(tensor.contiguous()))
    if tensor.is_contiguous():
        return _Handed(tensor, tensor.data_ptr(), tuple(range(tensor.dim())), given(tensor))
    order = order_of(tensor)
    if order is None:
        # A copy, which is for this call alone.
        return _Handed(tensor, 0, tuple(range(tensor.dim())), given(tensor.contiguous()))
    return _Handed(tensor, tensor.data_ptr(), order, given(tensor, order))


class Program:
    """What computes a graph: called with a list of tensors and sizes, in the order of its placeholders."""

    def __init__(
        self, module: GraphModule, config: svod.PrepareConfig | None = None, shared: int | None = None
    ) -> None:
        """`shared` says how many results, the first ones, may be views of one another; none of a backward pass."""
        self._module, self._config = module, config
        self._fakes = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
        self._outputs = outputs_of(module.graph)
        self._symbols = Symbols(fakes_of(module.graph))
        self._places = known_values(self._fakes)
        self._tensors = [at for at, fake in enumerate(self._fakes) if isinstance(fake, torch.Tensor)]
        returned = self._outputs[: shared or 0]
        results = {output: at for at, output in reversed(list(enumerate(returned))) if isinstance(output, Node)}
        self._views = [
            _view(output, self._places.keys(), results if at < len(returned) else {})
            for at, output in enumerate(self._outputs)
        ]
        # Those results that a plan computes: what is a view of an argument is made of that. One that is there twice is
        # one tensor, as PyTorch counts the changes of what the backward pass reads.
        first = {output: at for at, output in reversed(list(enumerate(self._outputs))) if isinstance(output, Node)}
        self._again = {at: first[out] for at, out in enumerate(self._outputs) if first.get(out, at) != at}
        self._computed = [
            at
            for at, output in enumerate(self._outputs)
            if isinstance(output, Node)
            and self._views[at] is None
            and at not in self._again
            and isinstance(output.meta["val"], torch.Tensor)
        ]
        # How they lie in memory, if not as usual.
        self._orders = {at: _output_order(self._outputs[at].meta["val"]) for at in self._computed}
        # Of those whose elements lie apart, the strides: of parts of a larger value.
        self._strides = {at: _apart(self._outputs[at], shared is not None) for at in self._computed}
        self._runs = bool(self._computed) or any(map(is_check, module.graph.nodes))
        # The GPUs that it reads or writes.
        fakes = [*(self._fakes[at] for at in self._tensors), *(self._outputs[at].meta["val"] for at in self._computed)]
        self._gpus = sorted({fake.device for fake in fakes if fake.device.type != "cpu"}, key=str)
        self._lock = threading.Lock()
        self._held: _Held | None = None
        # The one that was compiled last comes first.
        self._versions: list[_Version] = []

    def prepare(self) -> None:
        """Compiles for the sizes and layouts that PyTorch has seen while it traced."""
        if untold := sorted(set(self._symbols.hints) - set(self._places)):
            raise Unsupported(f"sizes {', '.join(untold)} that data decides")
        for at in self._tensors:
            if not is_known(self._fakes[at]):
                raise Unsupported(
                    f"argument {at} is of {self._fakes[at].dtype}, or lies in memory as svod's tensors do not"
                )
        orders = tuple(order_of(self._fakes[at]) or tuple(range(self._fakes[at].dim())) for at in self._tensors)
        if self._runs:
            self._compile(self._symbols.hints, orders)

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        values = {name: _read(args[at], axis) for name, (at, axis) in self._places.items()}
        if not self._runs:
            return self._results(args, values, [])
        held = self._held
        if held is None or not held.serves(args):
            self._held = held = self._hold(args)
        others = [_handed(args[at]) for _, at in held.others]
        orders = [handed.order for handed in others]
        last = held.last
        if last is None or last[0] != values or last[1] != orders:
            version = self._found(values, held.all_orders(orders))
            kept = version.plan._keep([*held.given, *(None for _ in range(version.keys))])
            held.last = last = (values, orders, version, kept)
        _, _, version, kept = last
        arguments = [handed.given for handed in others] + self._keys(version.keys)
        follow(self._gpus)
        chosen = {name: value for name, value in values.items() if name in version.variables}
        results = kept.run(*arguments, **chosen)
        precede(self._gpus)
        for holds, message in zip(results[len(self._computed) :], version.messages, strict=True):
            if not holds.item():
                raise RuntimeError(message)
        return self._results(args, values, results)

    def _hold(self, args: Sequence[Any]) -> _Held:
        """The parameters among a call's arguments; the memory of others, or of symbolic sizes, is not held."""
        places = list(enumerate(self._tensors))
        of = {number: _handed(args[at]) for number, at in places if self._is_held(args[at], self._fakes[at])}
        # A copy is for one call alone.
        kept = {number: handed for number, handed in of.items() if handed.address}
        positions = [self._tensors[number] for number in kept]
        take = operator.itemgetter(*positions) if len(positions) > 1 else lambda args: [args[at] for at in positions]
        return _Held(
            take,
            [handed.tensor for handed in kept.values()],
            [handed.address for handed in kept.values()],
            [kept[number].given if number in kept else None for number, _ in places],
            [kept[number].order if number in kept else None for number, _ in places],
            [place for place in places if place[0] not in kept],
        )

    @staticmethod
    def _is_held(argument: torch.Tensor, fake: torch.Tensor) -> bool:
        return isinstance(argument, torch.nn.Parameter) and all(isinstance(extent, int) for extent in fake.shape)

    def _found(self, values: dict[str, int], orders: tuple[Order, ...]) -> _Version:
        """The version for these sizes and orders in memory, which is compiled if there is none."""
        for version in self._versions:
            if version.serves(values, orders):
                return version
        with self._lock:
            for version in self._versions:
                if version.serves(values, orders):
                    return version
            return self._compile(values, orders)

    def _results(self, args: Sequence[Any], values: dict[str, int], results: list[svod.Tensor]) -> list[Any]:
        computed = iter(results)
        returned: list[Any] = []
        for at, (output, view) in enumerate(zip(self._outputs, self._views, strict=True)):
            if at in self._again:
                returned.append(None)
            elif view is not None:
                returned.append(view.made(args, values) if view.of_argument else None)
            elif not isinstance(output, Node):
                returned.append(output)
            elif isinstance(fake := output.meta["val"], torch.Tensor):
                result = taken(next(computed), fake.device)
                if (order := self._orders[at]) is not None:
                    result = result.permute(_inverse(order))
                if (apart := self._strides[at]) is not None:
                    strides, begins = apart
                    result = _laid_out(result, [_number(one, values) for one in strides], _number(begins, values))
                returned.append(result)
            else:
                returned.append(_number(fake, values))
        for at, view in enumerate(self._views):
            if view is not None and not view.of_argument:
                returned[at] = view.made(returned, values)
        for at, first in self._again.items():
            returned[at] = returned[first]
        return returned

    def _keys(self, count: int) -> list[svod.Tensor]:
        """What random numbers are computed from: a key by PyTorch's generator, and the number of the first element."""
        if not count:
            return []
        keys = torch.zeros((count, 2), dtype=torch.int64)
        keys[:, 0].random_()
        states = [_borrowed(key.data_ptr(), key.shape, svod.uint64, keys) for key in keys]
        return [state.to(named(self._gpus[0])) for state in states] if self._gpus else states

    def _compile(self, values: dict[str, int], orders: tuple[Order, ...]) -> _Version:
        """A new version: for all sizes up to a maximum or, where that cannot be told of variables, for these."""
        kinds = [Kind.FIXED]
        if self._symbols:
            kinds = [Kind.APART, *([Kind.JOINED] if len(set(values.values())) < len(values) else []), Kind.FIXED]
        with unset_fake_temporarily():
            for kind in kinds:
                try:
                    version = self._compiled(values, orders, kind)
                    break
                except svod.Error:
                    if kind is Kind.FIXED:
                        raise
        self._versions = [version, *self._versions[: _MOST_VERSIONS - 1]]
        return version

    def _compiled(self, values: dict[str, int], orders: tuple[Order, ...], kind: Kind) -> _Version:
        """A plan; the trace is made again with what it was told of sizes, where it asks how they compare."""
        facts: _Facts | None = None
        while True:
            sizes = Sizes(self._symbols, values, kind)
            trace = _Trace({variable.name: values[variable.name] for variable in sizes.variables.values()}, facts)
            try:
                return self._traced(trace, sizes, orders)
            except svod.Error:
                told = trace.told()
                if told is None or told.agree(facts):
                    raise
                facts = told

    def _traced(self, trace: _Trace, sizes: Sizes, orders: tuple[Order, ...]) -> _Version:
        placeholders: list[svod.Tensor] = []
        inputs: list[Any] = []
        of_tensors = iter(orders)
        for at, fake in enumerate(self._fakes):
            if not isinstance(fake, torch.Tensor):
                inputs.append(sizes.of(fake))
                continue
            order = next(of_tensors) or ()
            shape = tuple(map(sizes.of, fake.shape))
            placed = tuple(shape[axis] for axis in order)
            placeholder = trace.placeholder(placed, DTYPES[fake.dtype], f"argument {at}", named(fake.device))
            placeholders.append(placeholder)
            inputs.append(placeholder if list(order) == sorted(order) else placeholder.permute(_inverse(order)))

        checks: list[tuple[svod.Tensor, str]] = []

        def outcome() -> list[svod.Tensor]:
            made = built(self._module, inputs, sizes, checks=checks)
            return [*(self._handed_over(at, made[at]) for at in self._computed), *(holds for holds, _ in checks)]

        outputs = trace.run(outcome)
        draws, states = trace.draws()
        plan = svod.prepare(*outputs, inputs=[*placeholders, *states], unused_inputs=True, config=self._config)
        messages = tuple(message for _, message in checks)
        return _Version(plan, sizes, orders, draws, len(states), messages, trace.told(), frozenset(plan.variables))

    def _handed_over(self, at: int, value: svod.Tensor) -> svod.Tensor:
        """A result as it is to lie in memory."""
        order, device = self._orders[at], self._outputs[at].meta["val"].device
        return (value if order is None else value.permute(order)).to(named(device) or "CPU").clone()


def refused_by(module: GraphModule) -> dict[Node, str]:
    """The operations of a graph that svod does not have, with the reasons."""
    found: dict[Node, str] = {}
    fakes = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    symbols = Symbols(fakes_of(module.graph))
    sizes = Sizes(symbols, symbols.hints, Kind.FIXED)
    trace = _Trace({})

    def size(value: Any) -> Any:
        try:
            return sizes.of(value)
        except Unsupported:
            # What data decides may be any number.
            return A_SIZE

    def stand_in(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple(map(stand_in, value))
        if not isinstance(value, torch.Tensor) or value.dtype not in DTYPES:
            return size(value) if isinstance(value, torch.SymInt) else value
        return trace.placeholder(tuple(map(size, value.shape)), DTYPES[value.dtype], "an argument", named(value.device))

    def refuse(refused: Refused) -> Any:
        found[refused.node] = refused.reason
        return stand_in(refused.node.meta.get("val"))

    with unset_fake_temporarily():
        inputs = [stand_in(fake) for fake in fakes]
        trace.run(lambda: built(module, inputs, sizes, refuse) and None)
    return found


def fakes_of(graph: Graph) -> list[Any]:
    """What PyTorch knows of all nodes."""
    values = [node.meta.get("val") for node in graph.nodes]
    return [one for of in values for one in (of if isinstance(of, (list, tuple)) else [of])]


@dataclasses.dataclass(frozen=True, slots=True)
class _View:
    """How a result that is a view is made of an argument's memory, or of that of another result."""

    of_argument: bool
    # The position of that.
    at: int
    # From there on.
    steps: tuple[Node, ...]

    def made(self, of: Sequence[Any], values: dict[str, int]) -> Any:
        """The view, of arguments or of results."""
        value = of[self.at]
        for step in self.steps:
            options = {name: _told(one, values) for name, one in step.kwargs.items()}
            value = step.target(value, *_told(step.args[1:], values), **options)
        return value


def _view(output: Any, known: Set[str], results: Mapping[Node, int]) -> _View | None:
    """How a result is a view of an argument, or of one of these results; none where it is computed."""
    steps: list[Node] = []
    node = output
    while isinstance(node, Node) and node.op == "call_function" and (_is_part(node) or _is_view(node, known)):
        steps.insert(0, node)
        node = node.args[0]
    if not isinstance(node, Node) or (not steps and node.op != "placeholder"):
        return None
    if node.op == "placeholder":
        at = [other for other in node.graph.nodes if other.op == "placeholder"].index(node)
        return _View(True, at, tuple(steps))
    return _View(False, results[node], tuple(steps)) if node in results else None


def _is_part(node: Node) -> bool:
    """Whether a node is one of several parts, which is taken from what gives them all."""
    return node.target is operator.getitem and isinstance(node.args[0].meta.get("val"), (list, tuple))


def _is_view(node: Node, known: Set[str]) -> bool:
    """Whether an operation gives another view of its first operand, by numbers that are known when it runs."""
    rule = RULES.get(node.target)
    if rule is None or not rule.is_view or node.target in _COPIES:
        return False
    sizes = [other.meta.get("val") for other in node.all_input_nodes if other is not node.args[0]]
    return all(isinstance(size, torch.SymInt) and _symbols_of(size) <= known for size in sizes)


def _symbols_of(size: torch.SymInt) -> set[str]:
    return {str(symbol) for symbol in expression_of(size).free_symbols}


def _told(given: Any, values: dict[str, int]) -> Any:
    """The arguments of an operation, with numbers in place of sizes."""
    if isinstance(given, Node):
        return _number(given.meta["val"], values)
    return type(given)(_told(one, values) for one in given) if isinstance(given, (list, tuple)) else given


# Rules that give the same value, of which PyTorch promises memory of its own.
_COPIES = frozenset({torch.ops.aten.clone.default, torch.ops.aten.lift_fresh_copy.default})


def _output_order(fake: torch.Tensor) -> Order:
    """The axes in the order in which PyTorch lays a result out, if that is another one than the usual."""
    order = order_of(fake)
    return None if order is None or list(order) == sorted(order) else order


def _apart(output: Node, is_told: bool) -> tuple[tuple[Any, ...], Any] | None:
    """The strides of a result whose elements lie apart, and where it begins; none of one that is dense.

    Where it `is_told` how a result lies, PyTorch may make it anew, of the memory of another one.
    """
    fake = output.meta["val"]
    begins: Any = fake.storage_offset() if is_told and not _is_part(output) else 0
    usual = order_of(fake) is not None and isinstance(begins, int) and begins == 0
    return None if usual else (tuple(fake.stride()), begins)


def _laid_out(result: torch.Tensor, strides: Sequence[int], begins: int) -> torch.Tensor:
    """A copy with these strides; the result itself where elements would lie on one another."""
    whole, reach = result.shape, 1
    for axis, stride in enumerate(strides):
        # The same elements again and again.
        result = result.narrow(axis, 0, 1) if stride == 0 and result.shape[axis] > 1 else result
    for stride, extent in sorted(zip(strides, result.shape, strict=True)):
        if extent > 1:
            if stride < reach:
                return result.expand(whole)
            reach += stride * (extent - 1)
    memory = torch.empty(begins + reach, dtype=result.dtype, device=result.device)
    return memory.as_strided(result.shape, strides, begins).copy_(result).expand(whole)


def _inverse(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(order.index(axis) for axis in range(len(order)))


def _read(argument: Any, axis: int | None) -> int:
    return int(argument if axis is None else argument.shape[axis])


def _number(size: Any, values: dict[str, int]) -> Any:
    """A size that a graph returns, for the values of its symbols in a call."""
    if not isinstance(size, (torch.SymInt, torch.SymFloat)):
        return size
    expression = expression_of(size)
    number = expression.xreplace({symbol: values[str(symbol)] for symbol in expression.free_symbols})
    return int(number) if isinstance(size, torch.SymInt) else float(number)
