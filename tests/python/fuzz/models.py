"""Damaged models of ONNX: `python -m fuzz.models --seconds 60`. Each is refused, or gives some result; nothing panics.

The node tests of the package `onnx` are damaged in their structure: attributes, names of operands, extents and types of
inputs and constants are replaced by others. What that does to the file's bytes alone is fuzzed in Rust.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import time
from typing import Any

import svod
import svod.onnx

# What a model may take, compiled on a busy machine, before it counts as hanging.
MOST_SECONDS = 60
# A damaged model may well ask for more memory than there is.
MOST_BYTES = 16 << 30
NUMBERS = [-(2**63), -(2**62), -(2**31), -7, -2, -1, 0, 1, 2, 3, 5, 17, 2**31, 2**40, 2**62, 2**63 - 1]


def damage(draw: random.Random, model: Any) -> None:
    """Replaces something."""
    graph = model.graph
    node = draw.choice(graph.node) if graph.node else None
    kinds = ["attribute"] * 4 + ["operand"] * 2 + ["dims", "opset", "result", "drop", "operator", "type"]
    match draw.choice(kinds):
        case "attribute" if node is not None and node.attribute:
            attribute = draw.choice(node.attribute)
            match draw.randrange(5):
                case 0:
                    node.attribute.remove(attribute)
                case 1:
                    attribute.i = draw.choice(NUMBERS)
                    attribute.f = draw.choice([0.0, -1.0, float("nan"), float("inf"), 1e30])
                case 2 if attribute.ints:
                    attribute.ints[draw.randrange(len(attribute.ints))] = draw.choice(NUMBERS)
                case 3 if attribute.ints:
                    attribute.ints.append(draw.choice(NUMBERS))
                case 4:
                    attribute.s = draw.choice([b"", b"linear", b"SAME_UPPER", b"\xff"])
        case "operand" if node is not None and node.input:
            names = [*(port.name for port in graph.input), *(name for one in graph.node for name in one.output), ""]
            node.input[draw.randrange(len(node.input))] = draw.choice(names)
        case "drop" if node is not None and node.input:
            del node.input[draw.randrange(len(node.input))]
        case "dims" if graph.initializer:
            dims = draw.choice(graph.initializer).dims
            dims[:] = [*dims[: draw.randrange(len(dims) + 1)], draw.choice(NUMBERS)]
        case "result" if node is not None:
            node.output.append("more")
        case "operator" if node is not None:
            node.op_type = draw.choice(svod.onnx.operators())[1]
        case "type" if graph.input:
            graph.input[0].type.tensor_type.elem_type = draw.randrange(30)
        case "opset":
            model.opset_import[0].version = draw.choice([0, 1, 7, 13, 18, 21, 28, 29])


def inputs(draw: random.Random, given: list[Any]) -> list[Any]:
    """The inputs of a test, sometimes others."""
    if draw.random() < 0.7:
        return given
    import numpy as np

    def other(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return draw.choice([value, None])
        if value.dtype.kind in "iu" and value.size and draw.random() < 0.5:
            value = value.copy()
            value.flat[draw.randrange(value.size)] = draw.choice(
                [0, 1, 3, 100] if value.dtype.kind == "u" else [-2, -1, 0, 7]
            )
            return value
        return draw.choice([value, value[..., None], value[:1] if value.ndim else value, value.reshape(-1)])

    return [other(value) for value in given]


def attempt(case: Any, seed: int) -> str:
    """What a damaged model of a test comes to: a result or a refusal; anything else is raised."""
    draw = random.Random(seed)
    model = type(case.model)()
    model.CopyFrom(case.model)
    for _ in range(draw.randrange(1, 4)):
        damage(draw, model)
    try:
        loaded = svod.onnx.load(model)
        loaded(*inputs(draw, list(case.data_sets[0][0])))
    except (svod.Error, TypeError):
        return "refused"
    return "computed"


def attempts(first: int, seconds: float, most: int) -> dict[str, int]:
    """Damaged models until the time is over, or until there were so many."""
    import onnx_nodes

    names = [name for name in sorted(onnx_nodes.cases()) if name not in onnx_nodes.left_out()]
    counts = {"refused": 0, "computed": 0}
    until = time.monotonic() + seconds
    for seed in range(first, first + most):
        if time.monotonic() > until:
            break
        case = onnx_nodes.cases()[random.Random(seed).choice(names)]
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        try:
            counts[attempt(case, seed)] += 1
        except BaseException as error:
            error.add_note(f"seed {seed}, {case.name}")
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=10**9)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    print(attempts(options.seed, options.seconds, options.most))


if __name__ == "__main__":
    main()
