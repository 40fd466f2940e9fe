"""The table of cases: inputs, the same computation in every framework, and the least work it takes.

A program is built by calling it, after its framework was imported, and then maps the
framework's tensors to one tensor. Frameworks that a case does not name are left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any

import minilm
import numpy as np

Function = Callable[..., Any]
Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """`inputs` change from run to run, `weights` never; a program is called with both.

    `flops` and `bytes` are what the computation needs at least: additions and
    multiplications, operands read once and the result written once.
    """

    name: str
    inputs: Callable[[], Sequence[Array]]
    programs: Mapping[str, Callable[[], Function]]
    weights: Callable[[], Sequence[Array]] = tuple
    flops: float = 0
    bytes: float = 0


def normal(*shapes: tuple[int, ...], seed: int = 0) -> Callable[[], list[Array]]:
    def draw() -> list[Array]:
        generator = np.random.default_rng(seed)
        return [generator.standard_normal(shape, np.float32) for shape in shapes]

    return draw


def jitted(function: Function) -> Callable[[], Function]:
    def build() -> Function:
        import jax

        return jax.jit(function)

    return build


def matmul(n: int) -> Case:
    def product(a: Any, b: Any) -> Any:
        return a @ b

    plain = {name: lambda: product for name in ("svod", "numpy", "torch", "tinygrad")}
    return Case(
        f"matmul-{n}",
        normal((n, n), (n, n)),
        plain | {"jax": jitted(product)},
        flops=2 * n**3,
        bytes=3 * 4 * n**2,
    )


def softmax(*shape: int) -> Case:
    def by_method(x: Any) -> Any:
        return x.softmax(-1)

    def by_numpy(x: Array) -> Array:
        e = np.exp(x - x.max(-1, keepdims=True))
        e /= e.sum(-1, keepdims=True)
        return e

    def by_jax(x: Any) -> Any:
        import jax

        return jax.nn.softmax(x)

    plain = {name: lambda: by_method for name in ("svod", "torch", "tinygrad")}
    return Case(
        "softmax-" + "x".join(map(str, shape)),
        normal(shape),
        plain | {"numpy": lambda: by_numpy, "jax": jitted(by_jax)},
        bytes=2 * 4 * prod(shape),
    )


def layer_norm(rows: int, width: int) -> Case:
    eps = 1e-5

    def by_svod(x: Any, weight: Any, bias: Any) -> Any:
        from svod.nn import functional

        return functional.layer_norm(x, weight, bias, eps)

    def by_torch(x: Any, weight: Any, bias: Any) -> Any:
        from torch.nn import functional

        return functional.layer_norm(x, (width,), weight, bias, eps)

    def by_tinygrad(x: Any, weight: Any, bias: Any) -> Any:
        return x.layernorm(eps=eps) * weight + bias

    def by_array(x: Any, weight: Any, bias: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered / ((centered * centered).mean(-1, keepdims=True) + eps) ** 0.5 * weight + bias

    return Case(
        f"layernorm-{rows}x{width}",
        normal((rows, width)),
        {
            "svod": lambda: by_svod,
            "numpy": lambda: by_array,
            "torch": lambda: by_torch,
            "jax": jitted(by_array),
            "tinygrad": lambda: by_tinygrad,
        },
        weights=normal((width,), (width,), seed=1),
        bytes=2 * 4 * rows * width,
    )


def gelu(size: int) -> Case:
    """gelu(a * b + a) with the exact error function."""

    def by_svod(a: Any, b: Any) -> Any:
        return (a * b + a).gelu()

    def by_torch(a: Any, b: Any) -> Any:
        from torch.nn import functional

        return functional.gelu(a * b + a)

    def by_numpy(a: Array, b: Array) -> Array:
        from scipy.special import erf

        x = a * b + a
        return 0.5 * x * (1 + erf(x * np.float32(1 / sqrt(2))))

    def by_jax(a: Any, b: Any) -> Any:
        import jax

        return jax.nn.gelu(a * b + a, approximate=False)

    def by_tinygrad(a: Any, b: Any) -> Any:
        x = a * b + a
        return 0.5 * x * (1 + (x * (1 / sqrt(2))).erf())

    return Case(
        f"gelu-{size >> 20}M",
        normal((size,), (size,)),
        {
            "svod": lambda: by_svod,
            "numpy": lambda: by_numpy,
            "torch": lambda: by_torch,
            "jax": jitted(by_jax),
            "tinygrad": lambda: by_tinygrad,
        },
        bytes=3 * 4 * size,
    )


def sentence_embedding(batch: int, length: int) -> Case:
    def tokens() -> list[Array]:
        ids = np.random.default_rng(0).integers(1000, 30000, (batch, length))
        # Lines of different lengths, as in use: the mask is part of the work.
        used = np.linspace(length, max(1, length // 2), batch).astype(int)
        mask = (np.arange(length) < used[:, None]).astype(np.int64)
        return [ids * mask, mask]

    return Case(
        f"minilm-{batch}x{length}",
        tokens,
        {
            "svod": minilm.svod,
            "torch": minilm.torch,
            "onnxruntime": lambda: minilm.onnxruntime(batch, length),
            "jax": minilm.jax,
        },
        flops=minilm.flops(batch, length),
    )


CASES = [
    sentence_embedding(1, 16),
    sentence_embedding(8, 128),
    sentence_embedding(32, 128),
    matmul(512),
    matmul(1024),
    softmax(4096, 4096),
    layer_norm(8192, 768),
    gelu(1 << 24),
]
