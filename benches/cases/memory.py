"""Work whose time is memory's: element by element, reductions, normalizations, layouts, scans, optimizers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from cases.case import Case, Draw, f32, integers, normal, together
from systems.base import Program

GROUPS = ("issue5", "memory")


def short(count: int) -> str:
    """A number as it is said: 16M for 2^24, 1M, 100k."""
    for unit, letter in ((1 << 20, "M"), (1_000_000, "M"), (1000, "k")):
        if count and count % unit == 0:
            return f"{count // unit}{letter}"
    return str(count)


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


def elementwise(count: int) -> list[Case]:
    many = (count,)
    return [
        case("add-1", "elementwise", lambda ops, x: x + 1.0, [(1,)], f32((1,))),
        case(f"gelu-{short(count)}", "elementwise", lambda ops, a, b: ops.gelu(a * b + a), [many, many], f32(many)),
    ]


def reductions(count: int, square: tuple[int, int]) -> list[Case]:
    n, row = square[0], f32(square[:1])
    return [
        # The sums of normal numbers are small beside what is added up.
        case(f"sum-{short(count)}", "reduction", lambda ops, x: ops.sum(x), [(count,)], f32((1,)), tolerance=1e-3),
        case(f"sum-{n}-axis0", "reduction", lambda ops, x: ops.sum(x, 0), [square], row),
        case(f"sum-{n}-axis1", "reduction", lambda ops, x: ops.sum(x, 1), [square], row),
        case(f"max-{n}-axis1", "reduction", lambda ops, x: ops.max(x, 1), [square], row),
        case(f"argmax-{n}-axis1", "reduction", lambda ops, x: ops.argmax(x, 1), [square], row, tolerance=0),
        case(f"meanvar-{n}", "reduction", lambda ops, x: ops.mean_var(x), [square], f32((2,)), tolerance=1e-3),
        case(f"meanvar-{n}-axis1", "reduction", lambda ops, x: ops.mean_var(x, 1), [square], 2 * row),
    ]


def softmaxes(square: tuple[int, int], logits: tuple[int, int]) -> list[Case]:
    name = f"softmax-{square[0]}-axis"
    return [
        case(f"{name}0", "rows", lambda ops, x: ops.softmax(x, 0), [square], f32(square)),
        case(f"{name}1", "rows", lambda ops, x: ops.softmax(x, 1), [square], f32(square)),
        Case(
            f"nll-{logits[0]}x{logits[1]}",
            (*GROUPS, "rows"),
            lambda ops, x, labels: ops.nll(x, labels),
            together(normal(logits), integers(logits[1], logits[0])),
            reads=f32(logits) + 8 * logits[0],
            writes=4,
        ),
    ]


def norms(tokens: tuple[int, int], image: tuple[int, int, int, int], groups: int) -> list[Case]:
    rows, width = tokens
    return [
        case(
            f"layernorm-{rows}x{width}",
            "rows",
            lambda ops, x, weight, bias: ops.layer_norm(x, weight, bias, 1e-5),
            [tokens],
            f32(tokens),
            weights=[(width,), (width,)],
        ),
        case(
            f"rmsnorm-{rows}x{width}",
            "rows",
            lambda ops, x, weight: ops.rms_norm(x, weight, 1e-6),
            [tokens],
            f32(tokens),
            weights=[(width,)],
        ),
        case(
            "groupnorm-" + "x".join(map(str, image)),
            "rows",
            lambda ops, x, weight, bias: ops.group_norm(x, groups, weight, bias, 1e-5),
            [image],
            f32(image),
            weights=[image[1:2], image[1:2]],
        ),
    ]


def layouts(square: tuple[int, int], heads: tuple[int, int, int, int], part: tuple[int, int]) -> list[Case]:
    permuted, whole = "permute-" + "x".join(map(str, heads)), 4 * f32(part)
    return [
        case(f"add-transposed-{square[0]}", "layout", lambda ops, x: x + ops.transpose(x), [square], f32(square)),
        case(permuted, "layout", lambda ops, x: ops.permute_copy(x, (0, 2, 1, 3)), [heads], f32(heads)),
        case(f"concat-{part[0]}-axis0", "layout", lambda ops, *xs: ops.concat(xs, 0), [part] * 4, whole),
        case(f"concat-{part[0]}-axis1", "layout", lambda ops, *xs: ops.concat(xs, 1), [part] * 4, whole),
        case(f"stride-{square[0]}", "layout", lambda ops, x: ops.every_other(x) + 1.0, [square], f32(square) / 2),
    ]


def scans(square: tuple[int, int]) -> list[Case]:
    def cumsum(axis: int) -> Program:
        return lambda ops, x: ops.cumsum(x, axis)

    name = f"cumsum-{square[0]}-axis"
    return [case(f"{name}{a}", "scan", cumsum(a), [square], f32(square), tolerance=1e-3) for a in (0, 1)]


def lookups(count: int, table: tuple[int, int], k: int) -> list[Case]:
    many, rows = short(count), short(table[0])
    ids: Draw = integers(table[0], count)
    return [
        Case(
            f"gather-{many}-of-{rows}x{table[1]}",
            (*GROUPS, "lookup"),
            lambda ops, rows, i: ops.take(rows, i),
            together(normal(table), ids),
            reads=f32(table) + 8 * count,
            writes=f32((count, table[1])),
        ),
        Case(
            f"scatter-add-{many}-into-{rows}",
            (*GROUPS, "lookup"),
            lambda ops, i, values: ops.scatter_add(table[0], i, values),
            together(ids, normal((count,))),
            reads=12 * count,
            writes=f32(table[:1]),
        ),
        case(f"sort-{many}", "lookup", lambda ops, x: ops.sort(x), [(count,)], f32((count,)), tolerance=0),
        case(f"topk-{k}-of-{rows}", "lookup", lambda ops, x: ops.topk(x, k), [table[:1]], f32((k,)), tolerance=0),
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
        f"adam-{short(tensors * prod(shape))}-in-{tensors}",
        (*GROUPS, "optimizer"),
        program,
        draw,
        reads=f32(*shapes),
        writes=0.75 * f32(*shapes),
    )


SQUARE = (4096, 4096)
CASES = [
    *elementwise(1 << 24),
    *reductions(1 << 24, SQUARE),
    *softmaxes(SQUARE, (4096, 32000)),
    *norms((8192, 768), (8, 64, 56, 56), 32),
    *layouts(SQUARE, (8, 128, 12, 32), (2048, 2048)),
    *scans(SQUARE),
    *lookups(1_000_000, (100_000, 64), 50),
    adam(40, (500, 500)),
]
