"""What is measured on a GPU: work bound by memory, products, attention, whole models, gradients."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cases import models
from cases.case import Case, Draw, integers, together
from systems.base import Array, Unsupported

# Numbers are drawn so many at a time; larger arrays repeat them.
DRAWN = 1 << 22
SIZES = {"float32": 4, "bfloat16": 2, "float16": 2}
SHORT = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
# How far a result may be off, relative to the largest value of the reference.
TOLERANCES = {"float32": 1e-4, "bfloat16": 2e-2, "float16": 4e-3}


def drawn(dtype: str, *shapes: tuple[int, ...], seed: int = 0, scale: float = 1.0) -> Draw:
    """Normally distributed numbers of a type."""

    def array(shape: tuple[int, ...], seed: int) -> Array:
        count = prod(shape)
        numbers = np.random.default_rng(seed).standard_normal(min(count, DRAWN), np.float32) * np.float32(scale)
        return np.resize(numbers.astype(element(dtype)), shape)

    return lambda: [array(shape, 100 * seed + i) for i, shape in enumerate(shapes)]


def element(dtype: str) -> Any:
    """NumPy's type of this name."""
    if dtype != "bfloat16":
        return np.dtype(dtype)
    try:
        import ml_dtypes
    except ImportError as error:
        raise Unsupported("bfloat16 needs the package ml_dtypes") from error
    return np.dtype(ml_dtypes.bfloat16)


def bytes_of(dtype: str, *shapes: tuple[int, ...]) -> float:
    return float(SIZES[dtype] * sum(map(prod, shapes)))


def moving(
    name: str,
    group: str,
    dtype: str,
    program: Any,
    shapes: Sequence[tuple[int, ...]],
    result: tuple[int, ...],
    weights: Sequence[tuple[int, ...]] = (),
    tolerance: float = 1.0,
) -> Case:
    """Work bound by memory; `tolerance` is relative to that of the type."""
    return Case(
        f"{name}-{SHORT[dtype]}",
        ("memory", group, SHORT[dtype]),
        program,
        drawn(dtype, *shapes),
        drawn(dtype, *weights, seed=1),
        reads=bytes_of(dtype, *shapes, *weights),
        writes=bytes_of(dtype, result),
        tolerance=tolerance * TOLERANCES[dtype],
    )


def text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def elementwise(count: int, square: tuple[int, int], dtype: str) -> list[Case]:
    many, rows = (count,), square
    return [
        moving("scale", "elementwise", dtype, lambda ops, x: x * 0.5, [many], many),
        moving("gelu", "elementwise", dtype, lambda ops, a, b: ops.gelu(a * b + a), [many, many], many),
        moving("add-transposed", "elementwise", dtype, lambda ops, a: a + ops.transpose(a), [square], square),
        moving("bias-relu", "elementwise", dtype, lambda ops, x, b: ops.relu(x + b), [rows], rows, [rows[1:]]),
    ]


def rows(softmax: tuple[int, int], tokens: tuple[int, int], dtype: str) -> list[Case]:
    width = tokens[1:]

    def layer_norm(ops: Any, x: Any, weight: Any, bias: Any) -> Any:
        return ops.layer_norm(x, weight, bias, 1e-5)

    def rms_norm(ops: Any, x: Any, weight: Any) -> Any:
        return ops.rms_norm(x, weight, 1e-6)

    return [
        moving(f"softmax-{text(softmax)}", "rows", dtype, lambda ops, x: ops.softmax(x, -1), [softmax], softmax),
        moving(f"layernorm-{text(tokens)}", "rows", dtype, layer_norm, [tokens], tokens, [width, width]),
        moving(f"rmsnorm-{text(tokens)}", "rows", dtype, rms_norm, [tokens], tokens, [width]),
    ]


def reductions(count: int, square: tuple[int, int], dtype: str = "float32") -> list[Case]:
    # The sums of normal numbers are small beside what is added up.
    return [
        moving("sum", "reduction", dtype, lambda ops, x: ops.sum(x), [(count,)], (1,), tolerance=10),
        moving("sum-rows", "reduction", dtype, lambda ops, x: ops.sum(x, 1), [square], square[:1]),
        moving("sum-columns", "reduction", dtype, lambda ops, x: ops.sum(x, 0), [square], square[1:]),
        moving("argmax-rows", "reduction", dtype, lambda ops, x: ops.argmax(x, 1), [square], square[:1], tolerance=0),
    ]


def scans(count: int, square: tuple[int, int]) -> list[Case]:
    def cumsum(axis: int) -> Any:
        return lambda ops, x: ops.cumsum(x, axis)

    return [
        moving("cumsum", "scan", "float32", cumsum(0), [(count,)], (count,), tolerance=10),
        moving("cumsum-rows", "scan", "float32", cumsum(1), [square], square, tolerance=10),
        moving("cumsum-columns", "scan", "float32", cumsum(0), [square], square, tolerance=10),
        moving("sort", "sort", "float32", lambda ops, x: ops.sort(x), [(count,)], (count,), tolerance=0),
    ]


def cross_entropy(logits: tuple[int, int], dtype: str) -> Case:
    return Case(
        f"cross-entropy-{text(logits)}-{SHORT[dtype]}",
        ("memory", "loss", SHORT[dtype]),
        lambda ops, x, labels: ops.nll(x, labels),
        together(drawn(dtype, logits), integers(logits[1], logits[0])),
        reads=bytes_of(dtype, logits) + 8 * logits[0],
        writes=SIZES[dtype],
        tolerance=TOLERANCES[dtype],
    )


def gather(table: tuple[int, int], count: int, dtype: str) -> Case:
    found = (count, table[1])
    return Case(
        f"gather-{count}-of-{text(table)}-{SHORT[dtype]}",
        ("memory", "lookup", SHORT[dtype]),
        lambda ops, rows, ids: ops.take(rows, ids),
        together(drawn(dtype, table), integers(table[0], count)),
        # Of the table no more is read than there is.
        reads=min(bytes_of(dtype, table), bytes_of(dtype, found)) + 8 * count,
        writes=bytes_of(dtype, found),
        tolerance=0,
    )


def matmul(m: int, k: int, n: int, dtype: str, transposed: str = "", group: str = "matmul", batch: int = 0) -> Case:
    """a · b; an operand named in `transposed` is stored the other way round."""

    def program(ops: Any, a: Any, b: Any) -> Any:
        return (ops.transpose(a) if "a" in transposed else a) @ (ops.transpose(b) if "b" in transposed else b)

    stack = (batch,) if batch else ()
    shape_a = (*stack, *((k, m) if "a" in transposed else (m, k)))
    shape_b = (*stack, *((n, k) if "b" in transposed else (k, n)))
    size = f"{m}" if m == k == n else f"{m}x{k}x{n}"
    return Case(
        f"{group}-{f'{batch}x' if batch else ''}{size}-{SHORT[dtype]}" + (f"-{transposed}t" if transposed else ""),
        (group, SHORT[dtype]),
        program,
        drawn(dtype, shape_a, shape_b),
        flops=2.0 * m * k * n * max(batch, 1),
        reads=bytes_of(dtype, shape_a, shape_b),
        writes=bytes_of(dtype, (*stack, m, n)),
        tolerance=TOLERANCES[dtype],
    )


def attention(heads: int, length: int, size: int, dtype: str, causal: bool, queries: int | None = None) -> Case:
    """Attention of one text; `queries` of its last tokens where not of all."""
    count = length if queries is None else queries
    shape, asked = (1, heads, length, size), (1, heads, count, size)
    # Half of the scores are masked out; no need to compute them.
    flops = 4.0 * heads * count * length * size * (0.5 if causal else 1)
    named = "decode" if queries is not None else "attention-causal" if causal else "attention"
    return Case(
        f"{named}-{heads}x{length}x{size}-{SHORT[dtype]}",
        ("attention", SHORT[dtype]),
        lambda ops, query, key, value: ops.attention(query, key, value, causal=causal),
        drawn(dtype, asked, shape, shape),
        flops=flops,
        reads=bytes_of(dtype, asked, shape, shape),
        writes=bytes_of(dtype, asked),
        tolerance=TOLERANCES[dtype],
    )


def decoder(layers: int, batch: int, length: int, width: int, heads: int, dtype: str) -> Case:
    """A decoder of GPT-2's kind without embeddings: in each layer attention and a feed-forward part."""
    shape, hidden = (batch, length, width), 4 * width
    layer = [
        *((width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,)),
        *((width,), (width,), (hidden, width), (hidden,), (width, hidden), (width,)),
    ]

    def program(ops: Any, x: Any, *weights: Any) -> Any:
        for start in range(0, len(weights), len(layer)):
            scale1, shift1, wide, wide_bias, out, out_bias, *rest = weights[start : start + len(layer)]
            scale2, shift2, up, up_bias, down, down_bias = rest
            mixed = ops.linear(ops.layer_norm(x, scale1, shift1, 1e-5), wide, wide_bias)
            parts = ops.permute(ops.reshape(mixed, (batch, length, 3, heads, width // heads)), (2, 0, 3, 1, 4))
            mixed = ops.permute(ops.attention(parts[0], parts[1], parts[2], causal=True), (0, 2, 1, 3))
            x = x + ops.linear(ops.reshape(mixed, shape), out, out_bias)
            inner = ops.gelu(ops.linear(ops.layer_norm(x, scale2, shift2, 1e-5), up, up_bias))
            x = x + ops.linear(inner, down, down_bias)
        return x

    products = 2 * batch * length * width * (4 * width + 2 * hidden) + 2 * batch * length * length * width
    return Case(
        f"decoder-{layers}-{text(shape)}-{SHORT[dtype]}",
        ("models", SHORT[dtype]),
        program,
        drawn(dtype, shape),
        drawn(dtype, *layer * layers, seed=1, scale=width**-0.5),
        flops=float(layers * products),
        reads=bytes_of(dtype, shape, *layer * layers),
        writes=bytes_of(dtype, shape),
        tolerance=2 * TOLERANCES[dtype],
        compiling=True,
    )


def trained(
    name: str,
    dtype: str,
    program: Any,
    shapes: Sequence[tuple[int, ...]],
    result: tuple[int, ...],
    flops: float = 0,
    ids: tuple[int, int] | None = None,
    tolerance: float = 1.0,
) -> Case:
    """The gradients of a program by all that it is of, along what its result's square is multiplied by; `ids` are so
    many indices below a bound, which come first. Memory is read and written once on the way there and once on the way
    back.
    """

    def all_gradients(ops: Any, *operands: Any) -> Any:
        looked_up, (along, *leaves) = operands[: ids is not None], operands[ids is not None :]

        def loss(*leaves: Any) -> Any:
            made = program(ops, *looked_up, *leaves)
            # A square, so that the gradients depend on all that is given.
            return ops.sum(made * made * along)

        return ops.gradients(loss, leaves)

    given = drawn(dtype, result, *shapes)
    moved = bytes_of(dtype, result, *shapes)
    return Case(
        f"train-{name}-{SHORT[dtype]}",
        ("training", SHORT[dtype]),
        all_gradients,
        given if ids is None else together(integers(ids[1], ids[0]), given),
        flops=flops,
        reads=2 * moved,
        writes=moved,
        tolerance=tolerance * TOLERANCES[dtype],
    )


def training(tokens: int, width: int, heads: tuple[int, int, int], words: int, dtype: str) -> list[Case]:
    """Gradients of what models are made of."""
    rows, wide = (tokens, width), (4 * width, width)
    shape = (1, *heads)
    of_scores = 2.0 * heads[0] * heads[1] * heads[1] * heads[2]

    def attention(ops: Any, query: Any, key: Any, value: Any) -> Any:
        return ops.attention(query, key, value, causal=True)

    def feed_forward(ops: Any, x: Any, up: Any, bias: Any, down: Any) -> Any:
        return ops.gelu(ops.linear(x, up, bias)) @ ops.transpose(down)

    def norm(ops: Any, x: Any, weight: Any, bias: Any) -> Any:
        return ops.layer_norm(x, weight, bias, 1e-5)

    # Two products on the way there, and five on the way back, of half of the scores.
    return [
        trained(f"attention-{text(heads)}", dtype, attention, [shape] * 3, shape, flops=3.5 * of_scores, tolerance=2),
        trained(
            f"feed-forward-{text(rows)}",
            dtype,
            feed_forward,
            [rows, wide, wide[:1], wide[::-1]],
            rows,
            flops=6.0 * tokens * width * 8 * width,
            tolerance=2,
        ),
        trained(f"layernorm-{text(rows)}", dtype, norm, [rows, rows[1:], rows[1:]], rows, tolerance=4),
        trained(
            f"embedding-{tokens}-of-{words}x{width}",
            dtype,
            lambda ops, ids, table: ops.take(table, ids),
            [(words, width)],
            rows,
            ids=(tokens, words),
            tolerance=2,
        ),
    ]


def matmul_set() -> list[Case]:
    """Forty products in bf16: squares, layers of language models, tall and flat ones, transpositions, odd extents."""
    squares = [(n, n, n) for n in (512, 1024, 1536, 2048, 3072, 4096, 5120, 6144, 8192)]
    # Width to projections and feed-forward parts of models of 7, 13 and 70 billion parameters.
    layers = [(4096, 4096), (4096, 11008), (11008, 4096), (5120, 13824), (8192, 8192), (8192, 28672), (28672, 8192)]
    tall = [(16384, 1024, 1024), (1024, 16384, 1024), (1024, 1024, 16384), (65536, 512, 512), (256, 65536, 256)]
    odd = [(4095, 4097, 4099), (1000, 1000, 1000), (2047, 1023, 3071), (127, 4096, 4096)]
    shapes = [*squares, *((m, k, n) for m in (16, 512) for k, n in layers), *tall, *odd]
    turned = [(4096, 4096, 4096, t) for t in ("a", "b", "ab")] + [(512, 4096, 11008, "b"), (2048, 8192, 8192, "b")]
    more = [(2048, 8192, 8192, ""), (8192, 512, 8192, ""), (8192, 64, 8192, "")]
    every = [*((*shape, "") for shape in shapes), *turned, *more]
    return [matmul(m, k, n, "bfloat16", transposed, "set") for m, k, n, transposed in every]


def copy(count: int) -> Case:
    """What the bandwidth of others is compared with."""
    return moving("copy", "elementwise", "float32", lambda ops, x: ops.copy(x), [(count,)], (count,), tolerance=0)


HALF = "bfloat16"
CASES = [
    copy(1 << 26),
    *(case for dtype in ("float32", HALF) for case in elementwise(1 << 26, (8192, 8192), dtype)),
    *(case for dtype in ("float32", HALF) for case in rows((8192, 4096), (16384, 4096), dtype)),
    *reductions(1 << 26, (8192, 8192)),
    cross_entropy((8192, 32000), "float32"),
    cross_entropy((8192, 32000), HALF),
    gather((50_000, 1024), 1 << 16, HALF),
    *scans(1 << 24, (4096, 4096)),
    *(matmul(n, n, n, dtype) for dtype in (HALF, "float16", "float32") for n in (4096, 8192)),
    matmul(1024, 1024, 1024, HALF, batch=64),
    matmul(1, 4096, 4096, HALF),
    attention(16, 4096, 128, HALF, causal=True),
    attention(16, 4096, 128, HALF, causal=False),
    attention(32, 8192, 128, HALF, causal=False, queries=1),
    models.transformer_block(8, 128),
    models.minilm(1, 16),
    models.minilm(64, 128),
    decoder(12, 1, 128, 768, 12, HALF),
    decoder(12, 64, 128, 768, 12, HALF),
    *training(8192, 1024, (16, 1024, 128), 50_000, HALF),
    *training(8192, 1024, (16, 1024, 64), 50_000, "float32"),
]
MATMUL_SET = matmul_set()
# The same on extents with which one can test the spelling.
SMALL = [
    copy(70),
    *(case for dtype in ("float32", HALF) for case in elementwise(70, (9, 9), dtype)),
    *(case for dtype in ("float32", HALF) for case in rows((5, 9), (5, 12), dtype)),
    *reductions(70, (9, 7)),
    cross_entropy((5, 11), "float32"),
    cross_entropy((5, 11), HALF),
    gather((10, 4), 30, HALF),
    *scans(60, (9, 7)),
    *(matmul(5, 6, 7, dtype) for dtype in (HALF, "float16", "float32")),
    *(matmul(5, 6, 7, HALF, transposed) for transposed in ("a", "b", "ab")),
    matmul(5, 6, 7, HALF, batch=3),
    attention(2, 9, 4, HALF, causal=True),
    attention(2, 9, 4, HALF, causal=False),
    attention(2, 9, 4, HALF, causal=False, queries=1),
    decoder(2, 2, 5, 12, 3, HALF),
    decoder(2, 2, 5, 12, 3, "float32"),
    *training(10, 8, (2, 9, 4), 7, HALF),
    *training(10, 8, (2, 9, 4), 7, "float32"),
]
