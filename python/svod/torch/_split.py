"""A graph in parts: those that svod computes, and between them what only PyTorch can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

import svod
from svod.torch._program import Program, fakes_of, refused_by
from svod.torch._report import Timed, described
from svod.torch._sizes import Symbols, known_values
from svod.torch._table import RULES


def split(
    module: GraphModule, config: svod.PrepareConfig | None, strict: bool, shared: int | None = None
) -> Callable[..., Any]:
    """What computes a graph, called with a list of its arguments; `shared` is that of `Program`."""
    try:
        program = Program(module, config, shared)
        program.prepare()
        return _boxed(program)
    except Exception as error:
        # What cannot be compiled as a whole runs as a whole: also values that PyTorch itself knows little of.
        reason = str(error) if isinstance(error, svod.Error) else f"a graph that svod cannot read: {described(error)}"
        whole = {node: reason for node in module.graph.nodes if node.op == "call_function"}
        refused = (refused_by(module) if isinstance(error, svod.Error) else {}) or whole
    if strict:
        reasons = sorted({f"{node.target}: {reason}" for node, reason in refused.items()})
        raise svod.UnsupportedError("SVOD_TORCH_STRICT: PyTorch would have to run " + "; ".join(reasons))
    parted: Callable[..., Any] = make_boxed_func(_parted(module, refused, config, shared))
    return parted


def _boxed(program: Program) -> Callable[..., Any]:
    """As a function that says, in PyTorch's word, that it takes its arguments as one list."""

    def run(args: list[Any]) -> Any:
        return program(args)

    vars(run)["_boxed_call"] = True
    return run


def _parted(
    module: GraphModule, refused: dict[Node, str], config: svod.PrepareConfig | None, shared: int | None
) -> GraphModule:
    """The graph with programs in place of those parts that svod computes."""
    reasons = {node.name: reason for node, reason in refused.items()}

    class Support(OperatorSupportBase):  # type: ignore[misc]
        def is_node_supported(self, submodules: Any, node: Node) -> bool:
            return node.op == "call_function" and node.name not in reasons and _is_tensors(node)

    partitioner = CapabilityBasedPartitioner(module, Support(), allows_single_node_partition=True)
    partitions = [part for part in partitioner.propose_partitions() if any(map(_computes, part.nodes))]
    parted = partitioner.fuse_partitions(partitions)
    for node in parted.graph.nodes:
        if node.op == "call_module":
            part = parted.get_submodule(node.target)
            _tell_sizes(part.graph, node)
            try:
                # Which results of a part are the user's is not known here.
                program = Program(part, config, None if shared is None else 0)
                program.prepare()
                node.op, node.target = "call_function", _Part(program)
            except svod.Error as error:
                for inner in part.graph.nodes:
                    if inner.op == "call_function":
                        inner.target = Timed(inner, str(error))
                part.recompile()
        elif node.op == "call_function" and node.name in reasons:
            node.target = Timed(node, reasons[node.name])
    parted.recompile()
    return parted


def _tell_sizes(part: Graph, call: Node) -> None:
    """Gives a part those sizes as further arguments that the shapes of its tensors do not tell."""
    given = known_values(node.meta["val"] for node in part.nodes if node.op == "placeholder")
    outer = [node for node in call.graph.nodes if node.op == "placeholder"]
    places = known_values(node.meta["val"] for node in outer)
    needed = [value for value in fakes_of(part) if isinstance(value, (torch.Tensor, torch.SymInt))]
    for name in sorted(set(Symbols(needed).hints) & set(places) - set(given)):
        at, axis = places[name]
        source, value = outer[at], outer[at].meta["val"]
        if axis is not None:
            value = value.shape[axis]
            with call.graph.inserting_before(call):
                source = call.graph.call_function(torch.ops.aten.sym_size.int, (source, axis))
            source.meta["val"] = value
        last = [node for node in part.nodes if node.op == "placeholder"][-1:]
        with part.inserting_after(*last) if last else part.inserting_before(next(iter(part.nodes))):
            told = part.placeholder(f"size_{name}")
        told.meta["val"] = value
        call.args = (*call.args, source)


class _Part:
    """A program in a graph of PyTorch's: of a single result it is that result."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.__name__ = "svod_program"

    def __call__(self, *args: Any) -> Any:
        results = self._program(args)
        return results[0] if len(results) == 1 else results


def _is_tensors(node: Node) -> bool:
    """Whether a node gives tensors: sizes are computed where they are used."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) or (
        isinstance(value, (list, tuple)) and all(isinstance(one, torch.Tensor) or one is None for one in value)
    )


def _computes(node: Node) -> bool:
    rule = RULES.get(node.target)
    return rule is not None and not rule.is_view
