"""Functions of the array library, of NumPy's, PyTorch's and JAX's names, on arrays of everyday sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from cases.case import Case, Draw, f32, integers, normal, together
from systems.base import Array, Program

GROUPS = ("library",)
# Factorizations, which the peers ask LAPACK for.
FACTORS = ("library", "lapack")


def named(name: str) -> Program:
    """A program that is one function of the library."""
    return lambda ops, *operands: ops.named(name)(*operands)


def uniform(low: float, high: float, *shapes: tuple[int, ...], seed: int = 0) -> Draw:
    """Uniformly distributed f32."""

    def draw() -> list[Array]:
        generator = np.random.default_rng(seed)
        return [generator.uniform(low, high, shape).astype(np.float32) for shape in shapes]

    return draw


def int32(count: int, seed: int = 0) -> Draw:
    """Integers from 0 to 10,000 of 32 bits."""
    return lambda: [array.astype(np.int32) for array in integers(10_000, count, seed=seed)()]


def definite(*shape: int) -> Draw:
    """Matrices that are positive definite, in f32."""

    def draw() -> list[Array]:
        x = np.random.default_rng(0).standard_normal(shape, np.float32)
        return [x @ x.swapaxes(-1, -2) + np.float32(shape[-1]) * np.eye(shape[-1], dtype=np.float32)]

    return draw


def holed(*shape: int) -> Draw:
    """Normally distributed f32, every hundredth NaN."""

    def draw() -> list[Array]:
        x = np.random.default_rng(0).standard_normal(shape, np.float32)
        x.reshape(-1)[::100] = np.nan
        return [x]

    return draw


def case(name: str, inputs: Draw, shapes: Sequence[tuple[int, ...]], **options: Any) -> Case:
    """A case of one function, whose memory is that of operands and results of these shapes, the results last."""
    label = f"{name}-{'x'.join(map(str, shapes[0]))}"
    *operands, result = shapes
    how: dict[str, Any] = {"groups": GROUPS, "reads": f32(*operands), "writes": f32(result)} | options
    return Case(label, program=named(name), inputs=inputs, **how)


def elementwise(count: int) -> list[Case]:
    many = (count,)
    one, two = [many, many], [many, many, many]
    positive, few = uniform(0.1, 20, many), (count // 10,)
    return [
        *(case(name, normal(many, many), two) for name in ("hypot", "atan2", "logaddexp", "copysign", "heaviside")),
        case("fmod", together(normal(many, scale=9), uniform(0.5, 3, many)), two),
        case("xlogy", together(normal(many), uniform(0.1, 9, many)), two),
        *(case(name, normal(many), one) for name in ("asinh", "sinh", "expm1", "sinc", "erfc", "i0")),
        case("acosh", uniform(1.01, 50, many), one),
        case("erfinv", uniform(-0.99, 0.99, many), one),
        case("lgamma", positive, one),
        case("digamma", positive, one),
        case("igamma", together(uniform(0.5, 9, few), uniform(0.1, 20, few)), [few] * 3),
        case(
            "gcd",
            together(int32(count), int32(count, seed=1)),
            two,
            tolerance=0,
        ),
        case("masked", together(holed(count), normal(many)), two),
    ]


def folds(rows: int, columns: int) -> list[Case]:
    matrix = (rows, columns)
    to_rows = [matrix, (rows,)]
    return [
        case("nanmean", holed(rows, columns), to_rows),
        case("std", normal(matrix), to_rows),
        case("median", normal(matrix), to_rows),
        case("quantile", normal(matrix), to_rows),
        case("logcumsumexp", normal(matrix), [matrix, matrix]),
        case("cumprod", uniform(0.9, 1.1, matrix), [matrix, matrix], tolerance=1e-3),
    ]


def positions(count: int) -> list[Case]:
    many = (count,)

    def edges() -> list[Array]:
        return [np.linspace(-3, 3, 1000, dtype=np.float32)]

    return [
        case("searchsorted", together(edges, normal(many)), [(1000,), many, many], tolerance=0),
        case("bincount", integers(1000, count), [many, (1000,)], tolerance=0),
        case("histogram", normal(many), [many, (100,)], tolerance=1e-3),
        case(
            "isin",
            together(integers(100_000, count), integers(100_000, 1000, seed=1)),
            [many, (1000,), many],
            tolerance=0,
        ),
    ]


def layouts(square: tuple[int, int], image: tuple[int, int, int, int]) -> list[Case]:
    n, m = square
    padded = (*image[:2], image[2] + 6, image[3] + 6)
    return [
        case("diff", normal(square), [square, (n, m - 1)]),
        case("roll", normal(square), [square, square], tolerance=0),
        case("rot90", normal(square), [square, square], tolerance=0),
        case("tile", normal(square), [square, (2 * n, 2 * m)], tolerance=0),
        case("reflect", normal(image), [image, padded], tolerance=0),
    ]


def products(points: int, width: int, vectors: int) -> list[Case]:
    rows, triples = (points, width), (vectors, 3)
    return [
        case("cdist", normal(rows, rows), [rows, rows, (points, points)], tolerance=1e-3),
        case("cross", normal(triples, triples), [triples, triples, triples]),
        case("kron", normal((points // 20, 32), (32, 32)), [(points // 20, 32), (32, 32), (points // 20 * 32, 1024)]),
    ]


def factors(small: int, large: int) -> list[Case]:
    many, one = (small, 3, 3), (large, large)
    stack = (small // 1000, 32, 32)
    how: dict[str, Any] = {"groups": FACTORS, "tolerance": 1e-3}
    return [
        case("inv", definite(*many), [many, many], **how),
        case("inv", definite(*one), [one, one], **how),
        case("cholesky", definite(*one), [one, one], **how),
        case("logdet", definite(*stack), [stack, stack[:1]], **how),
        case("solve", together(definite(*one), normal((large, 8))), [one, (large, 8), (large, 8)], **how),
        case("eigvalsh", definite(*stack), [stack, stack[:2]], **how),
        case("svdvals", normal(stack), [stack, stack[:2]], **how),
        case("lstsq", normal((large, 20), (large, 4)), [(large, 20), (large, 4), (20, 4)], **how),
    ]


def spectra(rows: int, columns: int) -> list[Case]:
    matrix = (rows, columns)
    half = (rows, columns // 2 + 1)
    return [
        case("rfft", normal(matrix), [matrix, (2 * prod(half),)]),
        case("fft2", normal((columns, columns)), [(columns, columns), (2 * columns * columns,)]),
    ]


CASES = [
    *elementwise(1_000_000),
    *folds(1000, 1000),
    *positions(1_000_000),
    *layouts((2000, 2000), (8, 32, 128, 128)),
    *products(1000, 16, 1_000_000),
    *factors(100_000, 512),
    *spectra(1000, 1024),
]
