"""Derivatives of operations, against finite differences and, where it is there, PyTorch's: one row for each."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

# Rows are checked against finite differences without it.
torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def positive(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 2.0, size=shape)


def tensors(values: list[np.ndarray], lib: Any) -> list[Any]:
    if lib is svod:
        return [svod.Tensor(value) for value in values]
    return [torch.tensor(value, requires_grad=value.dtype.kind == "f") for value in values]


def check(
    function: Callable[..., Any],
    *values: np.ndarray,
    other: Callable[..., Any] | None = None,
    second: bool = True,
    tolerance: float = 1e-9,
) -> None:
    """Asserts that the derivatives of a function are finite differences, and those of one of PyTorch's.

    Derivatives are those of a random weighting of the result's elements; second ones, of a weighting of those.
    """
    floats = [i for i, value in enumerate(values) if value.dtype.kind == "f"]
    ours = tensors(list(values), svod)
    y = function(*ours)
    weights = np.asarray(np.random.default_rng(3).normal(size=y.shape), values[floats[0]].dtype)
    first = slopes(function, list(values), weights)
    got = first(*(ours[i] for i in floats))
    for i, gradient in zip(floats, got, strict=True):
        assert gradient.shape == values[i].shape and gradient.dtype == ours[i].dtype
    against_differences(lambda *x: (function(*x) * svod.Tensor(weights).cast(y.dtype)).sum(), list(values), floats, got)
    again: list[Any] = []
    if second:
        generator = np.random.default_rng(5)
        others = [svod.Tensor(generator.normal(size=values[i].shape)) for i in floats]

        def slope(*inner: Any) -> Any:
            return sum(((g * w).sum() for g, w in zip(first(*inner), others, strict=True)), svod.Tensor(0.0))

        again = list(svod.grad(slope, tuple(range(len(floats))))(*(ours[i] for i in floats)))

        def slope_at(*x: Any) -> Any:
            return slope(*(x[i] for i in floats))

        against_differences(slope_at, list(values), floats, again)
    if torch is None:
        return
    theirs = tensors(list(values), torch)
    reference = (other or function)(*theirs)
    np.testing.assert_allclose(y.numpy(), reference.detach().numpy(), rtol=tolerance, atol=tolerance)
    by = [theirs[i] for i in floats]
    wanted = torch.autograd.grad(reference, by, torch.tensor(weights), create_graph=second, allow_unused=True)
    same(got, wanted, tolerance)
    if second:
        total = sum((g * torch.tensor(w.numpy())).sum() for g, w in zip(wanted, others, strict=True) if g is not None)
        if isinstance(total, torch.Tensor) and total.requires_grad:
            same(again, torch.autograd.grad(total, by, allow_unused=True), 1e-7)
        else:
            same(again, [None] * len(floats), 1e-7)


def slopes(function: Callable[..., Any], values: list[np.ndarray], weights: np.ndarray) -> Callable[..., Any]:
    """The derivatives by the values of floats, at given ones."""

    def at(*inner: Any) -> Any:
        given, left = tensors(values, svod), list(inner)
        given = [left.pop(0) if value.dtype.kind == "f" else one for value, one in zip(values, given, strict=True)]
        y = function(*given)
        return y.gradient(*inner, cotangent=svod.Tensor(weights).cast(y.dtype))

    return at


def same(ours: Any, theirs: Any, tolerance: float) -> None:
    for i, (got, wanted) in enumerate(zip(ours, theirs, strict=True)):
        expected = np.zeros(got.shape) if wanted is None else wanted.numpy(force=True)
        np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance, err_msg=f"operand {i}")


def against_differences(scalar: Callable[..., Any], values: list[np.ndarray], floats: list[int], got: Any) -> None:
    """Each derivative in a random direction against central differences."""
    step = 1e-5
    for i, gradient in zip(floats, got, strict=True):
        direction = np.random.default_rng(i).normal(size=values[i].shape)

        def at(sign: int, i: int = i, direction: np.ndarray = direction) -> float:
            moved = [v + sign * step * direction if j == i else v for j, v in enumerate(values)]
            return float(scalar(*tensors(moved, svod)))

        slope = (at(1) - at(-1)) / (2 * step)
        np.testing.assert_allclose((gradient.numpy() * direction).sum(), slope, rtol=2e-5, atol=2e-5)


UNARY = {
    "neg": (lambda x: -x, normal),
    "abs": (lambda x: x.abs(), normal),
    "sqrt": (lambda x: x.sqrt(), positive),
    "reciprocal": (lambda x: x.reciprocal(), positive),
    "exp": (lambda x: x.exp(), normal),
    "exp2": (lambda x: x.exp2(), normal),
    "log": (lambda x: x.log(), positive),
    "log2": (lambda x: x.log2(), positive),
    "sin": (lambda x: x.sin(), normal),
    "cos": (lambda x: x.cos(), normal),
    "tan": (lambda x: x.tan(), lambda *s: normal(*s) / 3),
    "tanh": (lambda x: x.tanh(), normal),
    "erf": (lambda x: x.erf(), normal),
    "rsqrt": (lambda x: x.rsqrt(), positive),
    "sigmoid": (lambda x: x.sigmoid(), normal),
    "relu": (lambda x: x.relu(), normal),
    "square": (lambda x: x.square(), normal),
    "cube": (lambda x: x**3, normal),
    "power": (lambda x: x**1.7, positive),
    "exponent": (lambda x: 1.7**x, normal),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), normal),
    "floor": (lambda x: x.floor() + x, normal),
    "remainder": (lambda x: x % 0.7, normal),
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("shape", [(5,), (), (3, 1), (0, 4)], ids=str)
def test_elementwise(name: str, shape: tuple[int, ...]) -> None:
    function, draw = UNARY[name]
    check(function, np.asarray(draw(*shape)))


SHAPES = [((4,), (4,)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((0, 3), (3,)), ((1,), (1,))]

BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: a**b,
    "maximum": lambda a, b: a.maximum(b),
    "minimum": lambda a, b: a.minimum(b),
    "remainder": lambda a, b: a % b,
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_of_two(name: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    check(BINARY[name], *(np.asarray(positive(*shape)) for shape in shapes))


INDEX = np.array([[2, 0, 1, 2], [0, 0, 2, 1]])

# Each: the function, that of PyTorch where it is spelled otherwise, and what it is given.
OPERATIONS: dict[str, tuple[Any, ...]] = {
    "where": (
        lambda a, b: svod.where(svod.Tensor(INDEX) > 0, a, b),
        lambda a, b: torch.where(torch.tensor(INDEX) > 0, a, b),
        [(2, 4), (2, 4)],
    ),
    "reshape": (lambda x: x.reshape(4, 3) * x.reshape(4, 3), None, [(3, 4)]),
    "permute": (lambda x: x.permute(2, 0, 1).exp(), None, [(2, 3, 4)]),
    "transpose": (lambda x: x.T @ x, None, [(3, 4)]),
    "expand": (lambda x: x.expand(5, 3, 4).exp(), None, [(3, 1)]),
    "pad": (
        lambda x: x.pad([(1, 0), (2, 3)]).exp(),
        lambda x: torch.nn.functional.pad(x, (2, 3, 1, 0)).exp(),
        [(3, 4)],
    ),
    "slice": (lambda x: x[1:, ::2].sin(), None, [(3, 5)]),
    "flip": (lambda x: x.flip(0) * x, lambda x: x.flip([0]) * x, [(5,)]),
    "cat": (lambda a, b: svod.cat([a, b], 1).exp(), lambda a, b: torch.cat([a, b], 1).exp(), [(2, 3), (2, 1)]),
    "stack": (lambda a, b: svod.stack([a, b], 1).exp(), lambda a, b: torch.stack([a, b], 1).exp(), [(2, 3), (2, 3)]),
    "unfold": (lambda x: x.unfold(0, 3, 2).exp(), None, [(9, 2)]),
    "sum": (lambda x: x.exp().sum(1), None, [(3, 4, 2)]),
    "sum of all": (lambda x: x.exp().sum(), None, [(3, 4)]),
    "mean": (lambda x: x.exp().mean(1), None, [(3, 4)]),
    "var": (lambda x: x.var(1), None, [(3, 4)]),
    "std": (lambda x: x.std(1), None, [(3, 4)]),
    "prod": (lambda x: x.prod(1), None, [(3, 4)]),
    "max": (lambda x: x.exp().max(axis=1), lambda x: x.exp().amax(1), [(3, 4)]),
    "min": (lambda x: x.exp().min(axis=0), lambda x: x.exp().amin(0), [(3, 4)]),
    "norm": (lambda x: x.norm(), None, [(3, 4)]),
    "cubic norm": (lambda x: x.norm(3.0), lambda x: x.norm(3), [(3, 4)]),
    "logsumexp": (lambda x: x.logsumexp(1), None, [(3, 4)]),
    "softmax": (lambda x: x.softmax(-1), None, [(3, 4)]),
    "log_softmax": (lambda x: x.log_softmax(0), None, [(3, 4)]),
    "cumsum": (lambda x: x.exp().cumsum(1), None, [(3, 4)]),
    "cumprod": (lambda x: x.cumprod(1), None, [(3, 4)]),
    "cummax": (lambda x: x.exp().cummax(1).values, lambda x: x.exp().cummax(1).values, [(3, 6)]),
    "cummin": (lambda x: x.exp().cummin(0).values, lambda x: x.exp().cummin(0).values, [(6, 3)]),
    "matmul": (lambda a, b: a @ b, None, [(3, 4), (4, 5)]),
    "matmul of a vector": (lambda a, b: a @ b, None, [(3, 4), (4,)]),
    "batched matmul": (lambda a, b: (a @ b).exp(), None, [(2, 1, 3, 4), (5, 4, 2)]),
    "einsum": (
        lambda a, b: svod.einsum("bij,bjk->ik", a, b),
        lambda a, b: torch.einsum("bij,bjk->ik", a, b),
        [(2, 3, 4), (2, 4, 5)],
    ),
    "sort": (lambda x: x.exp().sort(1)[0], None, [(3, 5)]),
    "sort, descending": (
        lambda x: x.exp().sort(0, descending=True)[0],
        None,
        [(5, 2)],
    ),
    "topk": (lambda x: x.exp().topk(2, 1)[0], lambda x: x.exp().topk(2, 1).values, [(3, 5)]),
    "gather": (
        lambda x: x.exp().gather(0, svod.Tensor(INDEX)),
        lambda x: x.exp().gather(0, torch.tensor(INDEX)),
        [(3, 4)],
    ),
    "index_select": (
        lambda x: x.exp().index_select(1, svod.Tensor(INDEX[0])),
        lambda x: x.exp().index_select(1, torch.tensor(INDEX[0])),
        [(2, 3)],
    ),
    "lookup": (lambda x: x.exp()[svod.Tensor(INDEX)], lambda x: x.exp()[torch.tensor(INDEX)], [(3, 2)]),
    "lookups of two": (
        lambda x: x.exp()[svod.Tensor(INDEX), :, svod.Tensor(INDEX)],
        lambda x: x.exp()[torch.tensor(INDEX), :, torch.tensor(INDEX)],
        [(3, 2, 3)],
    ),
    "scatter": (
        lambda x, v: x.exp().scatter(1, svod.Tensor([[2, 0], [0, 1]]), v.exp()),
        lambda x, v: x.exp().scatter(1, torch.tensor([[2, 0], [0, 1]]), v.exp()),
        [(2, 3), (2, 2)],
    ),
    "scatter_add": (
        lambda x, v: x.exp().scatter_add(0, svod.Tensor(INDEX), v.exp()),
        lambda x, v: x.exp().scatter_add(0, torch.tensor(INDEX), v.exp()),
        [(3, 4), (2, 4)],
    ),
    "scatter_reduce": (
        lambda x, v: x.exp().scatter_reduce(0, svod.Tensor(INDEX), v.exp(), "amax"),
        lambda x, v: x.exp().scatter_reduce(0, torch.tensor(INDEX), v.exp(), "amax"),
        [(3, 4), (2, 4)],
    ),
    "scatter_reduce, product": (
        lambda x, v: x.scatter_reduce(0, svod.Tensor(INDEX), v, "prod"),
        lambda x, v: x.scatter_reduce(0, torch.tensor(INDEX), v, "prod"),
        [(3, 4), (2, 4)],
    ),
    "layer_norm": (
        lambda x, w, b: x.layer_norm(w, b),
        lambda x, w, b: torch.nn.functional.layer_norm(x, [4], w, b),
        [(3, 4), (4,), (4,)],
    ),
    "batch_norm": (
        lambda x, w, b: x.batch_norm(None, None, w, b),
        lambda x, w, b: torch.nn.functional.batch_norm(x, None, None, w, b, training=True),
        [(4, 3, 5), (3,), (3,)],
    ),
    "group_norm": (
        lambda x, w: x.group_norm(2, w),
        lambda x, w: torch.nn.functional.group_norm(x, 2, w),
        [(2, 4, 5), (4,)],
    ),
    "gelu": (lambda x: x.gelu(), lambda x: torch.nn.functional.gelu(x), [(3, 4)]),
    "silu": (lambda x: x.silu(), lambda x: torch.nn.functional.silu(x), [(3, 4)]),
    "softplus": (lambda x: x.softplus(), lambda x: torch.nn.functional.softplus(x), [(3, 4)]),
    "attention": (
        lambda q, k, v: q.scaled_dot_product_attention(k, v, is_causal=True),
        lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        [(2, 3, 5, 4)] * 3,
    ),
    "max_pool2d": (
        lambda x: x.max_pool2d(2),
        lambda x: torch.nn.functional.max_pool2d(x, 2),
        [(2, 3, 6, 4)],
    ),
    "max_pool2d, overlapping": (
        lambda x: x.max_pool2d(3, 2, 1),
        lambda x: torch.nn.functional.max_pool2d(x, 3, 2, 1),
        [(1, 2, 7, 7)],
    ),
    "avg_pool2d": (
        lambda x: x.avg_pool2d(3, 2, 1).exp(),
        lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, 1).exp(),
        [(1, 2, 7, 6)],
    ),
    "assignment": (lambda x, v: assigned(x.exp(), v), lambda x, v: assigned(x.exp().clone(), v), [(4, 3), (2, 3)]),
    "cast": (lambda x: x.exp().cast("float64") * 2, lambda x: x.exp().to(torch.float64) * 2, [(3,)]),
}


def assigned(x: Any, value: Any) -> Any:
    x = x * 1.0
    x[1:3] = value.exp()
    return x


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str) -> None:
    function, other, shapes = OPERATIONS[name]
    check(function, *(normal(*shape) for shape in shapes), other=other, second=name != "attention")


def test_e2_contiguous_backward_makes_the_gradient_in_memory_of_its_own() -> None:
    x = svod.Tensor(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))

    def gradient(mark: Callable[[svod.Tensor], svod.Tensor]) -> svod.Tensor:
        (found,) = mark(x * 2).exp().sum().gradient(x)
        return found

    marked = gradient(svod.contiguous_backward)
    np.testing.assert_allclose(marked.numpy(), 2 * np.exp(2 * x.numpy()), rtol=1e-6)
    graphs = [str(svod.Graph(gradient(mark))) for mark in (lambda y: y, svod.Tensor.contiguous_backward)]
    assert ["= contiguous %" in graph for graph in graphs] == [False, True], graphs
    # The value itself is the operand's.
    assert "= contiguous %" not in str(svod.Graph((x * 2).contiguous_backward().exp()))


# [batch, in, ..], [out, in / groups, ..], and how.
CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((2, 3, 8), (4, 3, 3), {}),
    ((2, 3, 9), (4, 3, 3), {"stride": 2, "padding": 1}),
    ((2, 4, 9), (4, 2, 3), {"dilation": 2, "padding": 2, "groups": 2}),
    ((2, 3, 11), (2, 3, 2), {"stride": 3, "dilation": 2}),
    ((1, 2, 10), (2, 2, 1), {"stride": 3}),
    ((2, 3, 6, 7), (4, 3, 3, 3), {"padding": 1}),
    ((2, 3, 7, 6), (4, 3, 3, 2), {"stride": 2, "padding": 1}),
    ((1, 4, 6, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    ((1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"stride": 2}),
]


@pytest.mark.parametrize(("x", "w", "how"), CONVOLUTIONS, ids=str)
def test_convolution(x: tuple[int, ...], w: tuple[int, ...], how: dict[str, Any]) -> None:
    name = f"conv{len(x) - 2}d"
    check(
        lambda x, w, b: getattr(x, name)(w, b, **how),
        normal(*x),
        normal(*w),
        normal(w[0]),
        other=lambda x, w, b: getattr(torch.nn.functional, name)(x, w, b, **how),
    )


@pytest.mark.parametrize("how", [{}, {"stride": 2, "padding": 1}, {"stride": 2, "output_padding": 1}], ids=str)
def test_transposed_convolution(how: dict[str, Any]) -> None:
    check(
        lambda x, w: x.conv_transpose2d(w, **how),
        normal(2, 3, 4, 5),
        normal(3, 2, 3, 3),
        other=lambda x, w: torch.nn.functional.conv_transpose2d(x, w, **how),
    )


@pytest.mark.parametrize(("stride", "taps"), [(1, 3), (2, 3), (2, 1)])
def test_gradients_of_a_convolution_are_contractions(stride: int, taps: int) -> None:
    x, w = (
        svod.Tensor(normal(*shape).astype(np.float32)).realize() for shape in ((4, 16, 12, 12), (32, 16, taps, taps))
    )
    for of in (x, w):
        y = x.conv2d(w, stride=stride, padding=taps // 2)
        g = svod.Tensor(normal(*y.shape).astype(np.float32)).realize()
        (gradient,) = y.gradient(of, cotangent=g)
        kernels = [kernel.name for kernel in gradient.prepare(inputs=[x, w, g], unused_inputs=True).kernels]
        assert sum(name.startswith(("conv", "matmul")) for name in kernels) == 1, kernels
        # Of a small image with a stride, the columns of all windows are summed where they overlap.
        others = ("map", "rows") if stride > 1 and of is x else ("map",)
        assert all(name.startswith(("conv", "matmul", *others)) for name in kernels), kernels


def test_windows_of_windows_that_are_asked_for() -> None:
    x = svod.Tensor(normal(6, 7))
    inner = x.unfold(0, 3, 2)
    y = (inner.unfold(1, 2, 1).exp()).sum()
    of_x, of_inner = y.gradient(x, inner)
    (through,) = inner.gradient(x, cotangent=of_inner)
    np.testing.assert_allclose(of_x.numpy(), through.numpy(), rtol=1e-12)
