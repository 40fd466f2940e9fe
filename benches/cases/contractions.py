"""Matrix products, convolutions and attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases.case import Case, f32, normal

GROUPS = ("issue4", "contractions")


def matmul(m: int, k: int, n: int, transposed: str = "") -> Case:
    """a · b; an operand named in `transposed` is stored the other way round."""

    def program(ops: Any, a: Any, b: Any) -> Any:
        return (ops.transpose(a) if "a" in transposed else a) @ (ops.transpose(b) if "b" in transposed else b)

    shape_a = (k, m) if "a" in transposed else (m, k)
    shape_b = (n, k) if "b" in transposed else (k, n)
    size = f"{m}" if m == k == n else f"{m}x{k}x{n}"
    return Case(
        f"matmul-{size}" + (f"-{transposed}t" if transposed else ""),
        (*GROUPS, "matmul"),
        program,
        normal(shape_a, shape_b),
        flops=2 * m * k * n,
        reads=f32(shape_a, shape_b),
        writes=f32((m, n)),
    )


def typed(dtype: str, n: int, tolerance: float) -> Case:
    """A square product in another element type."""

    def draw() -> list[Any]:
        if dtype == "bfloat16":
            import ml_dtypes

            return [array.astype(ml_dtypes.bfloat16) for array in normal((n, n), (n, n))()]
        return [array.astype(dtype) for array in normal((n, n), (n, n))()]

    size = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    return Case(
        f"matmul-{dtype}-{n}",
        (*GROUPS, "matmul"),
        lambda ops, a, b: a @ b,
        draw,
        flops=2 * n**3,
        reads=2 * size * n**2,
        writes=size * n**2,
        tolerance=tolerance,
        doubles=dtype == "float64",
    )


def batched(batch: int, m: int, k: int, n: int) -> Case:
    shapes = (batch, m, k), (batch, k, n)
    return Case(
        f"batched-{batch}x{m}x{k}x{n}",
        (*GROUPS, "matmul"),
        lambda ops, a, b: a @ b,
        normal(*shapes),
        flops=2 * batch * m * k * n,
        reads=f32(*shapes),
        writes=f32((batch, m, n)),
    )


def linear_gelu(rows: int, width: int, out: int) -> Case:
    return Case(
        f"linear-gelu-{rows}x{width}x{out}",
        (*GROUPS, "matmul"),
        lambda ops, x, weight, bias: ops.gelu(ops.linear(x, weight, bias)),
        normal((rows, width)),
        normal((out, width), (out,), seed=1, scale=width**-0.5),
        flops=2 * rows * width * out,
        reads=f32((rows, width), (out, width), (out,)),
        writes=f32((rows, out)),
    )


def attention(batch: int, heads: int, length: int, size: int, causal: bool = False) -> Case:
    shape = (batch, heads, length, size)
    # Half of the scores are masked out; no need to compute them.
    flops = 4 * batch * heads * length * length * size * (0.5 if causal else 1)
    return Case(
        f"attention-{'causal-' if causal else ''}{batch}x{heads}x{length}x{size}",
        (*GROUPS, "attention"),
        lambda ops, query, key, value: ops.attention(query, key, value, causal=causal),
        normal(shape, shape, shape),
        flops=flops,
        reads=3 * f32(shape),
        writes=f32(shape),
    )


def conv(
    name: str,
    image: tuple[int, int, int, int],
    out: int,
    kernel: int,
    stride: int = 1,
    padding: int = 0,
    groups: int = 1,
) -> Case:
    batch, channels, height, width = image
    weight = (out, channels // groups, kernel, kernel)
    result = (
        batch,
        out,
        (height + 2 * padding - kernel) // stride + 1,
        (width + 2 * padding - kernel) // stride + 1,
    )
    taps = channels // groups * kernel * kernel
    return Case(
        f"conv-{name}",
        (*GROUPS, "conv"),
        lambda ops, x, w: ops.conv2d(x, w, stride=stride, padding=padding, groups=groups),
        normal(image),
        normal(weight, seed=1, scale=taps**-0.5),
        flops=2 * taps * f32(result) / 4,
        reads=f32(image, weight),
        writes=f32(result),
    )


CASES = [
    *(
        matmul(m, k, n, transposed)
        for m, k, n in ((64,) * 3, (128,) * 3, (512,) * 3, (1024,) * 3, (2048,) * 3, (1023, 777, 513))
        for transposed in ("", "a", "b")
    ),
    matmul(1, 4096, 4096),
    matmul(1, 4096, 4096, "b"),
    batched(96, 128, 64, 128),
    linear_gelu(512, 768, 3072),
    typed("float64", 1024, 1e-10),
    typed("bfloat16", 1024, 1e-2),
    attention(4, 12, 256, 64),
    attention(1, 12, 2048, 64, causal=True),
    conv("3x3-4x64x56x56", (4, 64, 56, 56), 64, 3, padding=1),
    conv("7x7s2-2x3x224x224", (2, 3, 224, 224), 64, 7, stride=2, padding=3),
    conv("1x1-4x256x56x56", (4, 256, 56, 56), 64, 1),
    conv("depthwise-4x128x56x56", (4, 128, 56, 56), 128, 3, padding=1, groups=128),
]
