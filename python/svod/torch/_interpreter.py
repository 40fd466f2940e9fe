"""Walks a graph of PyTorch's operations and builds svod's, by the table of rules."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._prims_common import elementwise_dtypes
from torch.fx import Graph, GraphModule, Node

import svod
from svod._svod import _at_line
from svod.torch import rules as _rules  # noqa: F401
from svod.torch._report import described
from svod.torch._sizes import Sizes
from svod.torch._table import PROMOTION, RULES, Call, Rule, Unsupported, dtype
from svod.torch._types import constant, is_known, named


class Refused(Unsupported):
    """An operation that svod does not have, with the node that it is."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(f"{node.target}: {reason}")
        self.node, self.reason = node, reason


def outputs_of(graph: Graph) -> list[Any]:
    """What a graph returns: nodes, and values that are no nodes."""
    (returned,) = graph.output_node().args
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]


# What PyTorch checks while a graph runs: a condition, and the message of its error.
_CHECKS = frozenset(
    {torch.ops.aten._assert_async.default, torch.ops.aten._assert_async.msg, torch.ops.aten._assert_scalar.default}
)

# By these an element becomes a number.
_READS = frozenset({torch.ops.aten._local_scalar_dense.default})


def is_check(node: Node) -> bool:
    """Whether a node gives nothing, and is an error where its condition does not hold."""
    return node.target in _CHECKS


def built(
    module: GraphModule,
    inputs: Sequence[Any],
    sizes: Sizes,
    refuse: Callable[[Refused], Any] | None = None,
    checks: list[tuple[svod.Tensor, str]] | None = None,
) -> list[Any]:
    """The expressions of a graph's outputs; conditions that have to hold are added to `checks`.

    `refuse` is told what svod does not have, and gives what to go on with; without it, it is raised.
    """
    values: dict[Node, Any] = {}
    remaining = iter(inputs)
    for node in module.graph.nodes:
        match node.op:
            case "placeholder":
                values[node] = next(remaining)
            case "get_attr":
                held = operator.attrgetter(node.target)(module)
                # The graphs of a branch or a loop are for PyTorch alone.
                values[node] = constant(held) if isinstance(held, torch.Tensor) else held
            case "call_function" if is_check(node):
                arguments = list(_arguments(node.args, values))
                message = arguments[1] if len(arguments) > 1 else "Expected Tensor with single nonzero value"
                if checks is not None:
                    checks.append((svod.Tensor(arguments[0]) != 0, str(message)))
            case "call_function":
                _at_line(*_line_of(node))
                try:
                    values[node] = _value(node, values, sizes)
                except Refused as refused:
                    if refuse is None:
                        raise
                    values[node] = refuse(refused)
                finally:
                    _at_line(None, 0)
    return [values[output] if isinstance(output, Node) else output for output in outputs_of(module.graph)]


_INSTALLED = os.path.dirname(torch.__file__) + os.sep


def _line_of(node: Node) -> tuple[str | None, int]:
    """File and line of the user's program that a node is of: the innermost ones outside of PyTorch."""
    lines = re.findall(r'File "([^"]+)", line (\d+)', node.meta.get("stack_trace") or "")
    own = [(file, int(line)) for file, line in lines if not file.startswith(_INSTALLED)]
    return own[-1] if own else (None, 0)


def _value(node: Node, values: Mapping[Node, Any], sizes: Sizes) -> Any:
    """What one operation gives."""
    results = node.meta.get("val")
    try:
        if node.target in _READS:
            raise Unsupported("an element that becomes a number")
        if isinstance(results, torch.SymInt):
            return sizes.of(results)
        args = _arguments(node.args, values)
        options = _arguments(node.kwargs, values)
        if node.target is operator.getitem:
            return args[0][args[1]]
        if isinstance(results, (torch.SymFloat, torch.SymBool)):
            return node.target(*args, **options)
        rule = RULES.get(node.target)
        if rule is None:
            raise Unsupported("svod has no rule for it")
        if not is_known(results):
            raise Unsupported("its type or layout is none of svod's")
        call = Call(results, _arguments(node.args, _Fakes()), sizes.of)
        args = _placed(args, call.operands, results)
        if rule.promotion is not None:
            args = _promoted(rule, call.operands, args)
        # What a rule makes itself is where its results are.
        with svod.PrepareConfig(device=_device(results) or "CPU"):
            found = rule.function(call, *args, **options) if rule.takes_call else rule.function(*args, **options)
            return _checked(results, found, sizes)
    except svod.Error as error:
        raise Refused(node, str(error)) from error
    except Exception as error:
        # Whatever a rule does not know of, PyTorch does.
        raise Refused(node, f"arguments that svod does not know: {described(error)}") from error


class _Fakes(Mapping[Node, Any]):
    """What PyTorch knows of each node."""

    def __getitem__(self, node: Node) -> Any:
        return node.meta["val"]

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


def _arguments(given: Any, values: Mapping[Node, Any]) -> Any:
    """Arguments with values in place of nodes."""
    return torch.fx.map_arg(given, lambda node: values[node])


def _placed(args: Any, operands: Any, results: Any) -> Any:
    """Operands where the result is: PyTorch takes indices and numbers from the host to a GPU by itself."""
    device = _device(results)

    def placed(x: Any, operand: Any) -> Any:
        if isinstance(operand, (list, tuple)):
            return type(operand)(placed(*pair) for pair in zip(x, operand, strict=True))
        on_host = isinstance(x, svod.Tensor) and isinstance(operand, torch.Tensor) and named(operand.device) is None
        return x.to(device) if on_host else x

    return args if device is None else placed(list(args), list(operands))


def _device(results: Any) -> str | None:
    """The GPU that results are on; none for the host."""
    first = results[0] if isinstance(results, (list, tuple)) else results
    return named(first.device) if isinstance(first, torch.Tensor) else None


def _promoted(rule: Rule, operands: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Operands in the type in which PyTorch has them meet; svod widens 16-bit floats where it needs to."""
    numeric = (torch.Tensor, int, float, bool, torch.SymInt, torch.SymFloat)
    given = [x for x in operands if isinstance(x, numeric)]
    # Comparisons give bools of any type in which operands meet.
    kind = PROMOTION.NO_OPMATH if rule.promotion is PROMOTION.ALWAYS_BOOL else rule.promotion
    _, meeting = elementwise_dtypes(*given, type_promotion_kind=kind)
    to = dtype(meeting)
    return [x.cast(to) if isinstance(x, svod.Tensor) and x.dtype != to else x for x in args]


def _checked(expected: Any, found: Any, sizes: Sizes) -> Any:
    """Results in the types that PyTorch gives them; their shapes have to be PyTorch's."""
    if isinstance(expected, (list, tuple)):
        return tuple(_checked(one, other, sizes) for one, other in zip(expected, found, strict=True))
    if expected is None or not isinstance(expected, torch.Tensor) or found is None:
        return found
    found = found if isinstance(found, svod.Tensor) else svod.Tensor(found)
    shape = tuple(map(sizes.of, expected.shape))
    same = len(shape) == found.ndim and all(
        not (isinstance(a, int) and isinstance(b, int)) or a == b for a, b in zip(shape, found.shape, strict=True)
    )
    if not same:
        raise Unsupported(f"svod makes a shape {found.shape} of it, PyTorch {tuple(expected.shape)}")
    to = dtype(expected.dtype)
    return found if found.dtype == to else found.cast(to)
