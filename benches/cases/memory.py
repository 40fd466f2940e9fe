"""Work whose time is memory's: element by element, reductions, normalizations, layouts, scans, optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from cases.case import Case, Draw, f32, integers, normal, together
from systems.base import Program

GROUPS = ("issue5", "memory")
SQUARE = (4096, 4096)


def case(
    name: str,
    group: str,
    program: Program,
    shapes: Sequence[tuple[int, ...]],
    writes: float,
    weights: Sequence[tuple[int, ...]] = (),
    **options: Any,
) -> Case:
    """A case over normally distributed f32 of these shapes."""
    return Case(
        name,
        (*GROUPS, group),
        program,
        normal(*shapes),
        normal(*weights, seed=1),
        reads=f32(*shapes, *weights),
        writes=writes,
        **options,
    )


def elementwise() -> list[Case]:
    many = (1 << 24,)
    return [
        case("add-1", "elementwise", lambda ops, x: x + 1.0, [(1,)], f32((1,))),
        case("gelu-16M", "elementwise", lambda ops, a, b: ops.gelu(a * b + a), [many, many], f32(many)),
    ]


def reductions() -> list[Case]:
    row = f32(SQUARE[:1])
    return [
        # The sums of normal numbers are small beside what is added up.
        case("sum-16M", "reduction", lambda ops, x: ops.sum(x), [(1 << 24,)], f32((1,)), tolerance=1e-3),
        case("sum-4096-axis0", "reduction", lambda ops, x: ops.sum(x, 0), [SQUARE], row),
        case("sum-4096-axis1", "reduction", lambda ops, x: ops.sum(x, 1), [SQUARE], row),
        case("max-4096-axis1", "reduction", lambda ops, x: ops.max(x, 1), [SQUARE], row),
        case("argmax-4096-axis1", "reduction", lambda ops, x: ops.argmax(x, 1), [SQUARE], row),
        case("meanvar-4096", "reduction", lambda ops, x: ops.mean_var(x), [SQUARE], f32((2,))),
        case("meanvar-4096-axis1", "reduction", lambda ops, x: ops.mean_var(x, 1), [SQUARE], 2 * row),
    ]


def rows() -> list[Case]:
    tokens, image, logits = (8192, 768), (8, 64, 56, 56), (4096, 32000)
    return [
        case("softmax-4096-axis0", "rows", lambda ops, x: ops.softmax(x, 0), [SQUARE], f32(SQUARE)),
        case("softmax-4096-axis1", "rows", lambda ops, x: ops.softmax(x, 1), [SQUARE], f32(SQUARE)),
        Case(
            "nll-4096x32000",
            (*GROUPS, "rows"),
            lambda ops, x, labels: ops.nll(x, labels),
            together(normal(logits), integers(logits[1], logits[0])),
            reads=f32(logits) + 8 * logits[0],
            writes=4,
        ),
        case(
            "layernorm-8192x768",
            "rows",
            lambda ops, x, weight, bias: ops.layer_norm(x, weight, bias, 1e-5),
            [tokens],
            f32(tokens),
            weights=[tokens[1:], tokens[1:]],
        ),
        case(
            "rmsnorm-8192x768",
            "rows",
            lambda ops, x, weight: ops.rms_norm(x, weight, 1e-6),
            [tokens],
            f32(tokens),
            weights=[tokens[1:]],
        ),
        case(
            "groupnorm-8x64x56x56",
            "rows",
            lambda ops, x, weight, bias: ops.group_norm(x, 32, weight, bias, 1e-5),
            [image],
            f32(image),
            weights=[image[1:2], image[1:2]],
        ),
    ]


def layouts() -> list[Case]:
    heads, part = (8, 128, 12, 32), (2048, 2048)
    whole = 4 * f32(part)
    return [
        case("add-transposed-4096", "layout", lambda ops, x: x + ops.transpose(x), [SQUARE], f32(SQUARE)),
        case("permute-8x128x12x32", "layout", lambda ops, x: ops.permute_copy(x, (0, 2, 1, 3)), [heads], f32(heads)),
        case("concat-2048-axis0", "layout", lambda ops, *xs: ops.concat(xs, 0), [part] * 4, whole),
        case("concat-2048-axis1", "layout", lambda ops, *xs: ops.concat(xs, 1), [part] * 4, whole),
        case("stride-4096", "layout", lambda ops, x: ops.every_other(x) + 1.0, [SQUARE], f32(SQUARE) / 2),
    ]


def scans() -> list[Case]:
    def cumsum(axis: int) -> Program:
        return lambda ops, x: ops.cumsum(x, axis)

    return [case(f"cumsum-4096-axis{a}", "scan", cumsum(a), [SQUARE], f32(SQUARE), tolerance=1e-3) for a in (0, 1)]


def lookups() -> list[Case]:
    count, table = 1_000_000, (100_000, 64)
    ids: Draw = integers(table[0], count)
    return [
        Case(
            "gather-1M-of-100kx64",
            (*GROUPS, "lookup"),
            lambda ops, rows, i: ops.take(rows, i),
            together(normal(table), ids),
            reads=f32(table) + 8 * count,
            writes=f32((count, table[1])),
        ),
        Case(
            "scatter-add-1M-into-100k",
            (*GROUPS, "lookup"),
            lambda ops, i, values: ops.scatter_add(table[0], i, values),
            together(ids, normal((count,))),
            reads=12 * count,
            writes=f32(table[:1]),
        ),
        case("sort-1M", "lookup", lambda ops, x: ops.sort(x), [(count,)], f32((count,)), tolerance=0),
        case("topk-50-of-100k", "lookup", lambda ops, x: ops.topk(x, 50), [table[:1]], f32((50,)), tolerance=0),
    ]


def adam(tensors: int, shape: tuple[int, ...]) -> Case:
    """Parameters, gradients, means and squares of some tensors, all updated but the gradients."""
    shapes = [shape] * (4 * tensors)

    def program(ops: Any, *operands: Any) -> Any:
        kinds = [operands[i * tensors : (i + 1) * tensors] for i in range(4)]
        return ops.adam(*kinds, 1e-3)

    def draw() -> list[Any]:
        arrays = list(normal(*shapes)())
        # Means of squares are positive.
        return arrays[: 3 * tensors] + [array * array for array in arrays[3 * tensors :]]

    return Case(
        f"adam-{tensors * prod(shape) // 1_000_000}M-in-{tensors}",
        (*GROUPS, "optimizer"),
        program,
        draw,
        reads=f32(*shapes),
        writes=0.75 * f32(*shapes),
    )


CASES = [*elementwise(), *reductions(), *rows(), *layouts(), *scans(), *lookups(), adam(40, (500, 500))]
