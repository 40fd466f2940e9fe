"""Derivatives where a function has an edge, and second ones there, as PyTorch has them, which JAX mostly agrees with.

Each is of values weighted by their positions, the second ones of the first ones so. No second ones where the first ones
are infinite, and none where PyTorch's are NaN.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import functional as F

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
inf = np.inf
EULER = 0.5772156649015329

# Of `xp`, PyTorch or svod, its functional part, and a vector.
Function = Callable[[Any, Any, Any], Any]

EDGES: dict[str, tuple[Function, list[float], list[float]]] = {
    "sign": (lambda xp, F, x: xp.sign(x) * x, [0.0, -1.0, 4.0], [0, -2, 3]),
    "lgamma at its zeros": (
        lambda xp, F, x: xp.lgamma(x),
        [1.0, 2.0, 3.0],
        [-EULER, 2 * (1 - EULER), 3 * (1.5 - EULER)],
    ),
    "lgamma at its poles": (
        lambda xp, F, x: xp.lgamma(x),
        [0.0, -0.0, -1.0, -7.0, np.inf],
        [-np.inf, np.inf, np.nan, np.nan, np.inf],
    ),
    "digamma at its poles": (lambda xp, F, x: xp.digamma(x), [0.0, -0.0], [np.inf, np.inf]),
    "digamma of negative halves": (lambda xp, F, x: xp.digamma(x), [-0.5, 1.0], [8.934802200544679, np.pi**2 / 3]),
    "power 0": (lambda xp, F, x: x**0, [0.0, -1.0], [0, 0]),
    "power 1": (lambda xp, F, x: x**1, [0.0, -1.0], [1, 2]),
    "arcs at the ends": (
        lambda xp, F, x: xp.cat([xp.asin(x), xp.atanh(x)]),
        [-1.0, 0.5, 1.0],
        [inf, 2 * np.sqrt(4 / 3) + 5 * 4 / 3, inf],
    ),
    "the arc cosine at its ends": (lambda xp, F, x: xp.acos(x), [-1.0, 0.0, 1.0], [-inf, -2, -inf]),
    "the inverse of erf at the ends": (lambda xp, F, x: xp.erfinv(x), [-1.0, 0.0, 1.0], [inf, np.sqrt(np.pi), inf]),
    "angles at the origin": (lambda xp, F, x: xp.atan2(x, xp.zeros_like(x)), [0.0, 2.0], [0, 0]),
    "angles on the axis": (lambda xp, F, x: xp.atan2(x, xp.ones_like(x) * 2), [0.0, 0.0], [0.5, 1]),
    "the deviation of equal elements": (lambda xp, F, x: xp.std(x, correction=0), [2.0, 2.0], [0, 0]),
    "a mantissa": (lambda xp, F, x: xp.frexp(x)[0], [6.0, -0.25], [1 / 8, 4]),
    "cross entropy of certainty": (
        lambda xp, F, x: F.binary_cross_entropy(x, xp.ones_like(x), reduction="none"),
        [1.0, 0.5, 0.0],
        [0, -4, -3e12],
    ),
    "huber": (lambda xp, F, x: F.huber_loss(x, xp.zeros_like(x), reduction="none"), [0.0, 2.0, 0.5], [0, 2, 1.5]),
    "smooth l1": (lambda xp, F, x: F.smooth_l1_loss(x, xp.zeros_like(x), reduction="none"), [0.0, 2.0], [0, 2]),
    "running products over zeros": (
        lambda xp, F, x: xp.cumprod(x, 0),
        [2.0, 0.0, 3.0, 0.0, 5.0],
        [1, 22, 0, 0, 0],
    ),
}


# Of what goes on as a line, others' second derivatives are those of a denominator that is bounded.
FIRST_ONLY = {"cross entropy of certainty"}


def weighted(y: Any, weights: Any) -> Any:
    return (y * weights(y)).sum()


def ours(y: Any) -> Any:
    return svod.Tensor(np.arange(1.0, 1.0 + y.numel()).reshape(tuple(y.shape)))


def theirs(y: Any) -> Any:
    return torch.arange(1.0, 1.0 + y.numel(), dtype=torch.float64).reshape(y.shape)


@pytest.mark.parametrize("name", EDGES)
def test_at_edges(name: str) -> None:
    function, values, wanted = EDGES[name]
    x = svod.Tensor(np.array(values))
    first = svod.grad(lambda x: weighted(function(svod, F, x), ours))
    np.testing.assert_allclose(first(x).numpy(), wanted, rtol=1e-8, atol=1e-12)
    if torch is None:
        return
    leaf = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    (known,) = torch.autograd.grad(
        weighted(function(torch, torch.nn.functional, leaf), theirs), leaf, create_graph=True
    )
    np.testing.assert_allclose(first(x).numpy(), known.detach().numpy(), rtol=1e-8, atol=1e-12)
    if name in FIRST_ONLY or not np.isfinite(wanted).all():
        return
    second = svod.grad(lambda x: weighted(first(x), ours))(x).numpy()
    expected = np.zeros(len(values))
    if known.requires_grad:
        (found,) = torch.autograd.grad(weighted(known, theirs), leaf, allow_unused=True)
        expected = expected if found is None else found.numpy()
    known_there = np.isfinite(expected)
    np.testing.assert_allclose(second[known_there], expected[known_there], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_narrow_types_have_the_slopes_of_wide_ones(dtype: str) -> None:
    x = svod.Tensor([0.0, 0.0]).cast(dtype)
    slope = svod.grad(lambda x: svod.atan2(x, x.ones_like() * 2).sum())(x)
    assert slope.dtype.name == dtype and slope.cast("float32").tolist() == [0.5, 0.5]
    assert svod.grad(lambda x: svod.acosh(x).sum())(x + 1).cast("float32").tolist() == [inf, inf]


def test_a_part_is_as_exact_as_the_elements() -> None:
    x = np.array([3.5, -3.5, 0.0, 1.0])
    for q in (0.3, [0.3, 0.9]):
        np.testing.assert_allclose(svod.quantile(svod.Tensor(x), q).numpy(), np.quantile(x, q), rtol=1e-14)


def test_second_derivatives_of_products_of_groups_over_zeros() -> None:
    def products(x: svod.Tensor) -> svod.Tensor:
        return svod.scatter_reduce(svod.ones_like(x), 0, svod.tensor([0, 0, 0, 1]), x, "prod")

    x = svod.Tensor(np.array([0.0, 0.0, 3.0, 2.0]))
    first = svod.grad(lambda x: products(x)[0])
    assert first(x).tolist() == [0, 0, 0, 0]
    # Of a·b·c, by a and b.
    assert svod.jacobian(first)(x).tolist() == [[0, 3, 0, 0], [3, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_differences_of_complex_numbers() -> None:
    a, b = np.array([1 + 2j, 3 - 1j]), np.array([0.5j, 1 + 1j])
    slopes = svod.grad(lambda x, y: (x - y).abs().sum(), (0, 1))(svod.Tensor(a), svod.Tensor(b))
    wanted = (a - b) / np.abs(a - b)
    np.testing.assert_allclose(slopes[0].numpy(), wanted)
    np.testing.assert_allclose(slopes[1].numpy(), -wanted)
    # Both parts of what one run computes: pairs, and the complex numbers that they are.
    pairs = svod.Tensor(np.arange(6.0).reshape(3, 2)) + 1
    whole, other = svod.view_as_complex(pairs), svod.view_as_complex(-pairs)
    assert (other.numpy() == -whole.numpy()).all() and (pairs.numpy() == np.arange(6.0).reshape(3, 2) + 1).all()


def test_no_matrices_have_gradients_of_nothing() -> None:
    shape = (0, 3, 3)
    for function in (
        svod.linalg.cholesky,
        svod.linalg.svdvals,
        svod.linalg.eigvalsh,
        svod.linalg.det,
        svod.linalg.pinv,
    ):
        x = svod.Tensor(np.ones(shape)).requires_grad_()
        function(x).sum().backward()
        assert x.grad is not None and tuple(x.grad.shape) == shape


# Taps that go from phase to phase are the contraction's depth, which is cut into blocks.
@pytest.mark.parametrize("padding", [(0, 0, 3), (0, 1, 0), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("image", [(2, 2, 2), (4, 4, 4)], ids=str)
def test_weights_of_a_transposed_convolution_with_gaps(image: tuple[int, ...], padding: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=(1, 2, *image)), rng.normal(size=(2, 2, 4, 5, 6))
    how: dict[str, Any] = {"stride": (3, 2, 1), "padding": padding, "dilation": 4}
    y = svod.Tensor(x).conv_transpose3d(svod.Tensor(w), **how)
    g = rng.normal(size=y.shape)
    # What nobody writes is not 0.
    (svod.Tensor(np.full(400_000, 1e250)) * 2).numpy()
    slope = svod.grad(lambda w: (svod.Tensor(x).conv_transpose3d(w, **how) * svod.Tensor(g)).sum())(svod.Tensor(w))
    # It is linear in the weights: each derivative is the value for that weight alone.
    for at in [(0, 0, 0, 0, 0), (1, 1, 3, 4, 5), (0, 1, 2, 3, 1), (1, 0, 1, 2, 4), (0, 0, 3, 0, 2)]:
        alone = np.zeros(w.shape)
        alone[at] = 1
        wanted = (svod.Tensor(x).conv_transpose3d(svod.Tensor(alone), **how).numpy() * g).sum()
        np.testing.assert_allclose(slope.numpy()[at], wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("adaptive", [False, True])
def test_the_first_of_equal_maxima_of_a_window_has_the_derivative(adaptive: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rank = seed % 3 + 1
    extents = rng.integers(4, 9, size=rank)
    x = rng.integers(0, 3, size=(2, 2, *extents)).astype(float)
    x[x == 0] = -inf if seed % 4 == 0 else 0.0
    kernel = [int(n) for n in rng.integers(2, 4, size=rank)]
    if adaptive:
        arguments: list[Any] = [[int(rng.integers(1, extent + 1)) for extent in extents]]
    else:
        padding = [int(rng.integers(0, n // 2 + 1)) for n in kernel]
        arguments = [kernel, [int(n) for n in rng.integers(1, 4, size=rank)], padding, 1, bool(seed % 2)]
    name = f"{'adaptive_' if adaptive else ''}max_pool{rank}d"

    theirs = torch.tensor(x, requires_grad=True)
    values, indices = getattr(torch.nn.functional, name)(theirs, *arguments, return_indices=True)
    weights = rng.normal(size=values.shape)
    values.backward(torch.tensor(weights))
    for with_indices in (False, True):
        mine = svod.Tensor(x).requires_grad_()
        made = getattr(F, name)(mine, *arguments, return_indices=with_indices)
        (made[0] if with_indices else made).backward(svod.Tensor(weights))
        np.testing.assert_allclose(mine.grad.numpy(), theirs.grad.numpy())
        if with_indices:
            np.testing.assert_array_equal(made[1].numpy(), indices.numpy())
