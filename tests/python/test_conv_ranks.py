"""Convolutions and pools over any number of axes, against NumPy, tap by tap."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import functional as F

rng = np.random.default_rng(11)

Array = np.ndarray
Numbers = tuple[int, ...]


def data(*shape: int) -> Array:
    return rng.standard_normal(shape).astype("float32")


def close(actual: svod.Tensor, expected: Array, atol: float = 1e-4) -> None:
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual.numpy(), expected, rtol=atol, atol=atol)


@dataclass(frozen=True)
class Case:
    """A convolution; numbers are one for each axis."""

    batch: int
    ins: int
    outs: int
    groups: int
    extents: Numbers
    kernel: Numbers
    stride: Numbers
    padding: Numbers
    dilation: Numbers
    # Of the transposed one: what is added at the end of its result.
    added: Numbers = field(default=())

    def __str__(self) -> str:
        return f"{self.ins}to{self.outs} {self.extents} by {self.kernel}"

    @property
    def how(self) -> dict[str, Any]:
        return {"stride": self.stride, "padding": self.padding, "dilation": self.dilation, "groups": self.groups}

    def taps(self, counts: Numbers) -> Iterator[tuple[Any, list[slice]]]:
        """Each tap, and what it reads of the padded input for so many positions."""
        for tap in itertools.product(*map(range, self.kernel)):
            steps = zip(tap, self.dilation, self.stride, counts, strict=True)
            yield tap, [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, s, n in steps]

    def padded(self, x: Array) -> Array:
        return np.pad(x.astype("float64"), [(0, 0), (0, 0), *((p, p) for p in self.padding)])

    def counts(self, extents: Numbers) -> Numbers:
        sizes = zip(extents, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        return tuple((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)

    def forward(self, x: Array, w: Array) -> Array:
        counts = self.counts(x.shape[2:])
        padded, grouped = self.padded(x), (self.groups, -1, *w.shape[1:])
        weights, out = w.astype("float64").reshape(grouped), 0.0
        for tap, at in self.taps(counts):
            seen = padded[:, :, *at].reshape(x.shape[0], self.groups, self.ins // self.groups, *counts)
            product = np.einsum("bgi...,goi->bgo...", seen, weights[:, :, :, *tap])
            out = out + product.reshape(x.shape[0], self.outs, *counts)
        return np.asarray(out)

    def gradient_of_input(self, dy: Array, w: Array, extents: Numbers) -> Array:
        """Of weights `[out, in / groups, ..]`: what each tap read gets its share of the result's gradient."""
        padded = self.padded(np.zeros((dy.shape[0], self.ins, *extents)))
        weights = w.astype("float64").reshape(self.groups, -1, *w.shape[1:])
        apart = dy.astype("float64").reshape(dy.shape[0], self.groups, self.outs // self.groups, *dy.shape[2:])
        for tap, at in self.taps(dy.shape[2:]):
            product = np.einsum("bgo...,goi->bgi...", apart, weights[:, :, :, *tap])
            padded[:, :, *at] += product.reshape(dy.shape[0], self.ins, *dy.shape[2:])
        inside = [slice(p, p + n) for p, n in zip(self.padding, extents, strict=True)]
        return padded[:, :, *inside]

    def gradient_of_kernel(self, x: Array, dy: Array) -> Array:
        padded, batch = self.padded(x), x.shape[0]
        apart = dy.astype("float64").reshape(batch, self.groups, self.outs // self.groups, -1)
        gradient = np.zeros((self.outs, self.ins // self.groups, *self.kernel))
        for tap, at in self.taps(dy.shape[2:]):
            seen = padded[:, :, *at].reshape(batch, self.groups, self.ins // self.groups, -1)
            gradient[:, :, *tap] = np.einsum("bgop,bgip->goi", apart, seen).reshape(self.outs, -1)
        return gradient


ONE, NONE = (1, 1, 1, 1), (0, 0, 0, 0)
CASES = [
    Case(2, 3, 5, 1, (4, 5, 3, 6), (2, 3, 2, 3), ONE, NONE, ONE, NONE),
    Case(1, 3, 4, 1, (4, 3, 5, 7), (3, 3, 3, 3), ONE, ONE, ONE, NONE),
    Case(2, 4, 6, 2, (5, 4, 6, 7), (2, 3, 2, 3), (1, 2, 1, 2), (1, 0, 1, 1), (1, 1, 2, 1), (0, 1, 0, 1)),
    Case(1, 2, 4, 1, (7, 6, 5, 9), (3, 2, 1, 4), (3, 2, 2, 1), (1, 1, 0, 2), (2, 3, 1, 2), (2, 0, 1, 1)),
    # As many groups as channels, and as many results for each.
    Case(2, 3, 3, 3, (4, 4, 5, 9), (3, 2, 3, 3), ONE, ONE, ONE, NONE),
    Case(1, 2, 6, 2, (4, 5, 6, 8), (2, 2, 2, 3), (2, 1, 2, 2), (0, 1, 0, 1), (1, 1, 1, 2), NONE),
    # Enough channels for tiles.
    Case(1, 17, 33, 1, (3, 4, 5, 18), (3, 3, 3, 3), ONE, ONE, ONE, NONE),
    # Windows side by side.
    Case(2, 3, 9, 1, (4, 6, 4, 8), (2, 3, 2, 4), (2, 3, 2, 4), NONE, ONE, NONE),
    # One tap, and no batch.
    Case(0, 3, 4, 1, (4, 4, 4, 4), (2, 2, 2, 2), ONE, NONE, ONE, NONE),
    Case(2, 5, 7, 1, (3, 4, 2, 5), ONE, ONE, NONE, ONE, NONE),
    Case(1, 2, 3, 1, (3, 4, 3, 4, 5), (2, 2, 3, 2, 2), (1, 2, 1, 1, 2), (1, 1, 1, 0, 0), (1, 1, 1, 2, 1), (0,) * 5),
    Case(1, 2, 2, 2, (2, 3, 2, 3, 3, 4), (2, 2, 1, 2, 2, 3), (1,) * 6, (0, 1, 0, 0, 1, 1), (1,) * 6, (0,) * 6),
    # Less than four axes.
    Case(2, 4, 6, 2, (9,), (3,), (2,), (1,), (2,), (1,)),
    Case(1, 3, 8, 1, (9, 11), (3, 2), (1, 2), (1, 0), (2, 1), (0, 1)),
    Case(1, 4, 4, 4, (5, 6, 7), (3, 2, 3), (1, 2, 1), (1, 0, 1), (1, 1, 2), (0, 0, 0)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_forward(case: Case) -> None:
    x, w = data(case.batch, case.ins, *case.extents), data(case.outs, case.ins // case.groups, *case.kernel)
    b = data(case.outs)
    expected = case.forward(x, w)
    close(F.conv(svod.Tensor(x), svod.Tensor(w), **case.how), expected)
    shifted = expected + b.reshape(-1, *[1] * len(case.extents))
    plan = svod.Tensor(x).conv(w, b, **case.how).relu().prepare()
    plan.execute()
    close(plan.outputs[0], np.maximum(shifted, 0))
    assert len(plan.kernels) <= 1
    if case.batch > 0:
        close(F.conv(svod.Tensor(x[0]), svod.Tensor(w), svod.Tensor(b), **case.how), shifted[0])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_that_are_arguments(case: Case) -> None:
    x, w = data(case.batch, case.ins, *case.extents), data(case.outs, case.ins // case.groups, *case.kernel)
    given = svod.empty(*x.shape), svod.empty(*w.shape)
    plan = F.conv(*given, **case.how).prepare(inputs=list(given))
    plan.execute(x, w)
    close(plan.outputs[0], case.forward(x, w))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_transposed_is_the_gradient_of_the_input(case: Case) -> None:
    counts, w = case.counts(case.extents), data(case.outs, case.ins // case.groups, *case.kernel)
    dy, b = data(case.batch, case.outs, *counts), data(case.ins)
    how = {**case.how, "output_padding": case.added}
    result = F.conv_transpose(svod.Tensor(dy), svod.Tensor(w), svod.Tensor(b), **how)
    expected = case.gradient_of_input(dy, w, result.shape[2:]) + b.reshape(-1, *[1] * len(counts))
    sizes = zip(counts, case.stride, case.padding, case.dilation, case.kernel, case.added, strict=True)
    assert result.shape[2:] == tuple((n - 1) * s - 2 * p + d * (k - 1) + a + 1 for n, s, p, d, k, a in sizes)
    close(result, expected)


@pytest.mark.parametrize("case", [c for c in CASES if c.batch], ids=str)
def test_the_gradient_of_the_kernel_is_a_convolution(case: Case) -> None:
    """Of the input's channels as a batch with the result's gradient as kernel, strides and dilations swapped."""
    if case.groups > 1:
        pytest.skip("each group is one such convolution")
    x, counts = data(case.batch, case.ins, *case.extents), case.counts(case.extents)
    dy = data(case.batch, case.outs, *counts)
    swapped: dict[str, Any] = {"stride": case.dilation, "dilation": case.stride, "padding": case.padding}
    gradient = F.conv(svod.Tensor(x).transpose(0, 1), svod.Tensor(dy).transpose(0, 1), **swapped).transpose(0, 1)
    kept = gradient[:, :, *(slice(k) for k in case.kernel)]
    close(kept, case.gradient_of_kernel(x, dy), 2e-4)


@pytest.mark.parametrize("case", CASES[:4], ids=str)
def test_gradients_are_those_of_differences(case: Case) -> None:
    """A convolution is linear in input and in kernel, so that differences of any step are derivatives."""
    x, w = data(1, case.ins, *case.extents), data(case.outs, case.ins // case.groups, *case.kernel)
    dy = data(1, case.outs, *case.counts(case.extents))

    def loss(x: Array, w: Array) -> float:
        return float((svod.Tensor(x.astype("float64")).conv(w.astype("float64"), **case.how) * dy).sum().item())

    of_input, of_kernel = case.gradient_of_input(dy, w, case.extents), case.gradient_of_kernel(x, dy)
    losses: list[tuple[Array, Array, Callable[[Array], float]]] = [
        (x, of_input, lambda moved: loss(moved, w)),
        (w, of_kernel, lambda moved: loss(x, moved)),
    ]
    for given, gradient, loss_of in losses:
        for at in rng.integers(0, given.size, 3):
            step: Array = np.zeros(given.size)
            step[at] = 1.0
            step = step.reshape(given.shape)
            difference = (loss_of(given + step) - loss_of(given - step)) / 2
            np.testing.assert_allclose(difference, gradient.ravel()[at], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 3])
def test_symbolic_extents(groups: int) -> None:
    batch, first, last = svod.Variable("n", 1, 4), svod.Variable("f", 3, 7), svod.Variable("l", 3, 20)
    w, x = data(6, 6 // groups, 3, 2, 2, 3), svod.empty(batch, 6, first, 4, 3, last)
    how: dict[str, Any] = {"stride": (1, 2, 1, 1), "padding": (1, 0, 1, 1), "dilation": (1, 2, 1, 1)}
    plan = F.conv(x, svod.Tensor(w), groups=groups, **how).prepare(inputs=[x])
    for n, f, v in [(1, 3, 3), (4, 7, 20), (2, 5, 11)]:
        images = data(n, 6, f, 4, 3, v)
        plan.execute(images)
        case = Case(n, 6, 6, groups, (f, 4, 3, v), (3, 2, 2, 3), **how)
        close(plan.outputs[0], case.forward(images, w))


def test_one_number_counts_for_all_axes() -> None:
    x, w = data(1, 2, 5, 5, 5, 5), data(3, 2, 3, 3, 3, 3)
    case = Case(1, 2, 3, 1, (5, 5, 5, 5), (3, 3, 3, 3), (2,) * 4, ONE, ONE)
    close(svod.Tensor(x).conv(w, None, 2, 1), case.forward(x, w))
    same = Case(1, 2, 3, 1, (5, 5, 5, 5), (3, 3, 3, 3), ONE, ONE, ONE)
    close(svod.Tensor(x).conv(w, padding="same"), same.forward(x, w))
    close(svod.Tensor(x).conv(w, padding=[(1, 1)] * 4), same.forward(x, w))


@pytest.mark.parametrize("dilation", [1, (1, 2, 1, 1)])
def test_pools(dilation: Any) -> None:
    x, kernel, stride, padding = data(2, 3, 5, 6, 4, 7), (2, 3, 2, 3), (1, 2, 2, 1), (1, 1, 0, 1)
    apart = (1, 1, 1, 1) if dilation == 1 else dilation
    case = Case(2, 3, 3, 3, x.shape[2:], kernel, stride, padding, apart)
    counts = case.counts(x.shape[2:])
    outside = [(0, 0), (0, 0), *((p, p) for p in padding)]
    least, inside = np.pad(x, outside, constant_values=-np.inf), np.pad(np.ones_like(x), outside)
    seen = [(case.padded(x)[:, :, *at], least[:, :, *at], inside[:, :, *at]) for _, at in case.taps(counts)]
    values, bounded, counted = (np.stack(parts) for parts in zip(*seen, strict=True))
    how = {"stride": stride, "padding": padding, "dilation": dilation}
    close(svod.Tensor(x).max_pool(kernel, **how), bounded.max(axis=0))
    close(svod.Tensor(x).avg_pool(kernel, **how), values.mean(0))
    close(svod.Tensor(x).avg_pool(kernel, count_include_pad=False, **how), values.sum(0) / counted.sum(0))


def test_pools_with_a_window_over_the_end() -> None:
    x = data(2, 5, 4, 7, 3)
    padded = np.pad(x, [(0, 0), (0, 1), (0, 0), (0, 1), (0, 1)], constant_values=-np.inf)
    blocks = padded.reshape(2, 3, 2, 2, 2, 4, 2, 2, 2)
    close(F.max_pool(svod.Tensor(x), (2, 2, 2, 2), ceil_mode=True), blocks.max(axis=(2, 4, 6, 8)))


def test_adaptive_pools() -> None:
    x, parts = data(2, 4, 7, 6, 5), [(0, 3), (2, 5), (4, 7)]
    expected = np.stack([x[:, :, a:b].mean(2) for a, b in parts], 2)
    expected = expected.reshape(2, 2, 2, 3, 1, 6, 5).mean((2, 5))
    close(F.adaptive_avg_pool(svod.Tensor(x), (2, 3, 1, None)), expected)


def test_errors_name_shapes() -> None:
    x: Any = svod.zeros(1, 4, 5, 5, 5, 5)
    w = svod.zeros(2, 4, 3, 3, 3, 3)
    windows = "of windows of [3, 3, 3, 3] over float32[1, 4, 5, 5, 5, 5]"
    operands = "float32[1, 4, 5, 5, 5, 5], float32[2, 4, 3, 3, 3, 3]"
    cases: list[tuple[Callable[[], Any], type[svod.Error], str]] = [
        (lambda: x.conv(w, stride=0), svod.ArgumentError, f"conv: stride [0] {windows} must be at least 1"),
        (lambda: x.conv(w, dilation=(1, 1, 0, 1)), svod.ArgumentError, f"conv: dilation [1, 1, 0, 1] {windows} must"),
        (
            lambda: x.conv(w, stride=(1, 1, 1)),
            svod.ArgumentError,
            "conv: stride has 3 numbers for 4 spatial",
        ),
        (lambda: x.conv(w, groups=3), svod.ShapeError, f"conv: {operands}: 3 groups do not divide 4 input channels"),
        (
            lambda: x.conv(w, dilation=3),
            svod.ShapeError,
            "larger than the padded input [5, 5, 5, 5] of float32[1, 4, 5, 5, 5, 5]",
        ),
        (
            lambda: svod.zeros(1, 4, 5, 5).conv(w),
            svod.ShapeError,
            "conv: float32[1, 4, 5, 5], float32[2, 4, 3, 3, 3, 3]: needs [batch, channels, ..], or without batch",
        ),
        (lambda: x.conv(svod.zeros(2, 4)), svod.ShapeError, "a weight of as many spatial dimensions"),
        (lambda: x.conv2d(w), svod.ShapeError, "the weight must have 2 + 2 dimensions"),
        (lambda: x.conv_transpose(w), svod.ShapeError, "the input has 4 channels, the weight takes 2"),
        (
            lambda: x.conv_transpose(w.transpose(0, 1), padding=4),
            svod.ShapeError,
            "conv_transpose: float32[1, 4, 5, 5, 5, 5], float32[4, 2, 3, 3, 3, 3]: the result would have extents",
        ),
        (
            lambda: x.max_pool((6, 1, 1, 1)),
            svod.ShapeError,
            "larger than the padded input [5, 5, 5, 5] of",
        ),
        (lambda: x.max_pool((2,) * 7), svod.ShapeError, "max_pool: float32[1, 4, 5, 5, 5, 5] has fewer than 7"),
        (
            lambda: x.max_pool(2),
            svod.ArgumentTypeError,
            "max_pool: kernel_size: a number for each dimension is expected, not 2",
        ),
        (
            lambda: x.adaptive_avg_pool(2),
            svod.ArgumentTypeError,
            "output_size: a number for each dimension is",
        ),
        (
            lambda: x.adaptive_avg_pool((0, 1, 1, 1, 1)),
            svod.ShapeError,
            "adaptive_avg_pool: dimension 1 of float32[",
        ),
    ]
    for call, kind, words in cases:
        with pytest.raises(kind) as error:
            call()
        assert words in str(error.value)
