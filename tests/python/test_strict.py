"""`svod.strict()`: folds go from left to right, and every product and sum is rounded on its own."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import functional as F

Array = np.ndarray[Any, Any]
rng = np.random.default_rng(11)


def draw(*shape: int, dtype: str = "float32") -> Array:
    return rng.standard_normal(shape).astype(dtype)


def tensor(*shape: int, dtype: str = "float32") -> svod.Tensor:
    return svod.Tensor(draw(*shape, dtype=dtype))


x, image = tensor(33, 70), tensor(2, 6, 11, 13)
CONTRACTIONS: dict[str, Callable[[], svod.Tensor]] = {
    "matmul": lambda: x @ tensor(70, 47),
    "transposed": lambda: x @ tensor(47, 70).mT,
    "vector-matrix": lambda: tensor(1, 70) @ tensor(70, 47),
    "matrix-vector": lambda: x @ tensor(70),
    "batched": lambda: tensor(3, 9, 17) @ tensor(3, 17, 5),
    "einsum": lambda: svod.einsum("abc,dca->bd", tensor(3, 9, 17), tensor(5, 17, 3)),
    "float64": lambda: tensor(20, 30, dtype="float64") @ tensor(30, 20, dtype="float64"),
    "bfloat16": lambda: x.cast("bfloat16") @ tensor(70, 47).cast("bfloat16"),
    "conv1d": lambda: F.conv1d(tensor(1, 5, 50), tensor(9, 5, 3), padding=1),
    "conv2d": lambda: F.conv2d(image, tensor(9, 6, 3, 3), padding=1),
    "strided": lambda: F.conv2d(image, tensor(9, 6, 3, 3), stride=2, dilation=2),
    "patches": lambda: F.conv2d(image, tensor(9, 6, 4, 4), stride=4),
    "depthwise": lambda: F.conv2d(image, tensor(6, 1, 3, 3), groups=6, stride=2),
    "transposed conv": lambda: F.conv_transpose2d(image, tensor(6, 4, 3, 3), stride=2),
    "linear": lambda: F.linear(x, tensor(9, 70), tensor(9)).relu(),
    "sum": lambda: x.sum(1),
    "sum of columns": lambda: x.sum(0),
    "sum of all": lambda: tensor(100_003).sum(),
    "mean": lambda: x.mean(),
    "variance": lambda: svod.var(x, axis=1),
    "norm": lambda: (x * x).sum(1).sqrt(),
    "layer norm": lambda: x.layer_norm(tensor(70), tensor(70)),
    "cumsum": lambda: (x * x).cumsum(1),
    "product and sum": lambda: x * x + x,
}
FREE = re.compile(r"\b(reassoc|contract|fast|afn)\b|fmuladd")
FUSED = re.compile(r"llvm\.fma\b|vfn?m(add|sub)\w*|vdpbf16ps")


def code(value: svod.Tensor) -> str:
    return "\n".join(kernel.source + kernel.assembly for kernel in value.prepare(strict=True).kernels)


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_products_and_sums_are_not_fused(name: str) -> None:
    text = code(CONTRACTIONS[name]())
    assert not FREE.search(text) and not FUSED.search(text)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "erf", "sigmoid", "gelu"])
def test_functions_are_not_fused_with_what_follows(name: str) -> None:
    """A function's own polynomial is what it is; the product and the sum after it are the user's."""
    fused = [re.findall(r"call .*llvm\.fma", code(v)) for v in (getattr(x, name)(), getattr(x, name)() * x + x)]
    assert len(fused[0]) == len(fused[1])
    assert not FREE.search(code(getattr(x, name)()))


def fused_per_exponential(text: str) -> float:
    """Fused operations over those that begin an exponential, by multiplying with log2(e)."""
    calls = re.findall(r"call .*llvm\.fma\.\w+\((.*)\)", text)
    log2e = struct.pack(">d", np.float32(np.log2(np.e))).hex().upper()
    begun = [call for call in calls if f"0x{log2e}" in call]
    assert begun
    return len(calls) / len(begun)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_fuses_nothing_but_exponentials(causal: bool) -> None:
    q, k, v = tensor(2, 20, 16), tensor(2, 20, 16), tensor(2, 20, 16)
    text = code(q.scaled_dot_product_attention(k, v, is_causal=causal))
    assert not FREE.search(text)
    assert fused_per_exponential(text) == fused_per_exponential(code(x.exp()))


def left_to_right(terms: list[Array]) -> Array:
    total = np.zeros_like(terms[0])
    for term in terms:
        total = total + term
    return total


def convolved(a: Array, w: Array, stride: int, padding: int, dilation: int, groups: int) -> Array:
    """One tap after the other, channels outermost."""
    spatial = w.ndim - 2
    a = np.pad(a, [(0, 0), (0, 0), *[(padding, padding)] * spatial])
    counts = [(n - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(a.shape[2:], w.shape[2:], strict=True)]
    outs = []
    for o in range(w.shape[0]):
        first = o // (w.shape[0] // groups) * w.shape[1]
        terms = []
        for c, *taps in product(*map(range, w.shape[1:])):
            at = tuple(
                slice(t * dilation, t * dilation + stride * (n - 1) + 1, stride)
                for t, n in zip(taps, counts, strict=True)
            )
            terms.append(a[(slice(None), first + c, *at)] * w[(o, c, *taps)])
        outs.append(left_to_right(terms))
    return np.stack(outs, 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("image", "weight", "how"),
    [
        ((1, 5, 37), (7, 5, 3), (1, 1, 1, 1)),
        ((1, 1, 101), (16, 1, 10), (5, 0, 1, 1)),
        ((2, 6, 11, 13), (9, 6, 3, 3), (1, 1, 1, 1)),
        ((1, 6, 11, 13), (9, 2, 3, 2), (2, 2, 2, 3)),
        ((1, 3, 24, 16), (10, 3, 8, 8), (8, 0, 1, 1)),
        ((2, 7, 9, 17), (7, 1, 3, 3), (2, 1, 1, 7)),
        ((1, 40, 7, 7), (33, 40, 1, 1), (1, 0, 1, 1)),
        ((1, 3, 5, 6, 7), (4, 3, 2, 3, 2), (1, 1, 1, 1)),
    ],
    ids=str,
)
def test_convolutions_are_those_of_a_loop(
    image: tuple[int, ...], weight: tuple[int, ...], how: tuple[int, int, int, int], dtype: str
) -> None:
    a, w = draw(*image, dtype=dtype), draw(*weight, dtype=dtype)
    with svod.strict():
        result = getattr(F, f"conv{len(image) - 2}d")(svod.Tensor(a), svod.Tensor(w), None, *how).numpy()
    np.testing.assert_array_equal(result, convolved(a, w, *how))


@pytest.mark.parametrize(("m", "k", "n"), [(1, 129, 300), (31, 257, 1), (5, 1000, 17), (13, 1, 9)])
def test_products_are_those_of_a_loop(m: int, k: int, n: int) -> None:
    a, b, c = draw(m, k), draw(k, n), draw(m, n)
    with svod.strict():
        for given in (svod.Tensor(a) @ svod.Tensor(b), svod.Tensor(a.T.copy()).mT @ svod.Tensor(b.T.copy()).mT):
            result = (given * svod.Tensor(c) + svod.Tensor(c)).numpy()
            want = left_to_right([np.outer(a[:, i], b[i]) for i in range(k)]) * c + c
            np.testing.assert_array_equal(result, want)


def test_a_variance_is_that_of_two_loops() -> None:
    a = draw(9, 1001)
    with svod.strict():
        result = svod.var(svod.Tensor(a), axis=1).numpy()
    mean = left_to_right(list(a.T)) / np.float32(1001)
    deviations = a - mean[:, None]
    np.testing.assert_array_equal(result, left_to_right(list((deviations * deviations).T)) / np.float32(1001))
