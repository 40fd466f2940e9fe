"""Derivatives by a value are those by the tensor that a program names, not by equal ones: PyTorch's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

torch = pytest.importorskip("torch")

Loss = Callable[[Any, Any], tuple[Any, tuple[Any, ...]]]


def twins(w: Any, x: Any) -> tuple[Any, tuple[Any, ...]]:
    h = w * 2
    k = w * 2
    return (h * k * x).sum(), (h, k)


def twin_before(w: Any, x: Any) -> tuple[Any, tuple[Any, ...]]:
    k = w * 2
    h = w * 2
    return (h * k * k * x).sum(), (h,)


def of_a_reduction(w: Any, x: Any) -> tuple[Any, tuple[Any, ...]]:
    m = w.mean()
    other = w.mean()
    return (m * m * other + other).sum(), (m, other)


def within_a_composition(w: Any, x: Any) -> tuple[Any, tuple[Any, ...]]:
    m = w.exp()
    n = w.exp()
    return ((m + 1).log() * n * m).sum(), (m,)


def chains(w: Any, x: Any) -> tuple[Any, tuple[Any, ...]]:
    h = (w * 2).sin()
    k = (w * 2).sin()
    return (h * x + k * k).sum(), (h, k, w)


def alone(w: Any, x: Any) -> tuple[Any, tuple[Any, ...]]:
    h = w * 2
    return (h * h * x).sum(), (h,)


LOSSES = [twins, twin_before, of_a_reduction, within_a_composition, chains, alone]


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("requires", [False, True])
@pytest.mark.parametrize("calls", [1, 3])
def test_equal_values_are_told_apart(loss: Loss, requires: bool, calls: int) -> None:
    numbers = [1.0, 2.0], [3.0, 5.0]
    w = torch.tensor(numbers[0], requires_grad=True)
    value, by = loss(w, torch.tensor(numbers[1]))
    wanted = torch.autograd.grad(value, by)
    own, x = svod.Tensor(numbers[0]).requires_grad_(requires), svod.Tensor(numbers[1])
    for _ in range(calls):
        value, by = loss(own, x)
        for got, want in zip(value.gradient(*by), wanted, strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)

    def gradients(w: svod.Tensor, x: svod.Tensor) -> Any:
        value, by = loss(w, x)
        return value.gradient(*by)

    for got, want in zip(svod.jit(gradients)(own, x), wanted, strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)


def test_what_was_built_before_and_has_no_name_is_an_error() -> None:
    """Such a value is the one that is built later: what is used of it in between is not told apart."""
    w, x = svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 5.0])
    h = w * 2
    assert (h * (w * 2)).sum().gradient(h)[0].tolist() == [2.0, 4.0]
    before = (w * 3 * x).sum()
    h = w * 3
    with pytest.raises(svod.ArgumentError, match=r"float32\[2\] is an expression that the program has built more than"):
        (before + h.sum()).gradient(h)
    summed = (w * 5).sum()
    h = w * 5
    with pytest.raises(svod.ArgumentError, match="more than once"):
        (summed + h.sum()).gradient(h)
    assert svod.grad(lambda h: before + h.sum())(w * 3).tolist() == [1.0, 1.0]
    before = (w * 4 * x).sum()
    h = (w * 4).requires_grad_()
    assert (before + h.sum()).gradient(h)[0].tolist() == [1.0, 1.0]


def test_a_value_that_is_built_in_each_step_is_told_from_that_of_the_step_before() -> None:
    w, losses = svod.Tensor([1.0, 2.0]), []

    def step() -> svod.Tensor:
        h = w * 2
        losses.append((h * h).sum())
        return losses[-1].gradient(h)[0]

    assert [step().tolist() for _ in range(4)] == [[4.0, 8.0]] * 4
    for _ in range(4):
        h = w * 5
        losses.append((h * h).sum())
    assert losses[-1].gradient(h)[0].tolist() == [10.0, 20.0]


def test_values_that_are_read_are_told_apart() -> None:
    w = svod.Tensor([1.0, 2.0])
    h, k = w * 2, w * 2
    assert h.tolist() == k.tolist() == [2.0, 4.0]
    assert (h * k * k).sum().gradient(h)[0].tolist() == [4.0, 16.0]
    h = w * 4
    assert (h + 1).tolist() == [5.0, 9.0]
    assert (h * h).sum().gradient(h)[0].tolist() == [8.0, 16.0]


def test_what_an_operation_leaves_as_it_is_follows_from_it() -> None:
    for x in (svod.Tensor([1.0, 2.0]), svod.Tensor([1.0, 2.0]) * 1.5):
        (x.exp(), x.exp())  # what was found before is forgotten
        y = x.reshape(2).float().contiguous()
        np.testing.assert_allclose((x * y).sum().gradient(x)[0].numpy(), 2 * x.numpy())


@pytest.mark.parametrize(
    ("make", "double"),
    [
        (lambda xp: xp.tensor(2.0), 4.0),
        (lambda xp: xp.ones(3), 2.0),
        (lambda xp: xp.full((3,), 2.0), 4.0),
        (lambda xp: xp.zeros(3) + 1.5, 3.0),
    ],
)
def test_constants_are_told_apart(make: Callable[[Any], Any], double: float) -> None:
    for _ in range(3):
        x, y = make(svod), make(svod)
        np.testing.assert_allclose((x * x).sum().gradient(x)[0].numpy(), double + 0 * make(torch).numpy())
        np.testing.assert_allclose((x * y).sum().gradient(x)[0].numpy(), make(torch).numpy())
        np.testing.assert_allclose((x * y * 2.0).sum().gradient(y)[0].numpy(), double + 0 * make(torch).numpy())
    x = svod.Tensor(2.0)
    assert (x * x).gradient(x)[0].item() == 4.0
    assert x.item() == 2.0 and (x * x * 2.0).gradient(x)[0].item() == 8.0


def test_equal_values_share_what_is_compiled_and_computed() -> None:
    w = svod.Tensor(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8))

    def kernels(*tensors: svod.Tensor) -> int:
        return len(svod.prepare(*tensors).kernels)

    h, k = w @ w, w @ w
    assert kernels(h + k) == kernels(2 * (w @ w + 1))
    (h + k).realize()
    before = svod.caches()
    h, k = w @ w, w @ w
    (h + k).realize()
    assert svod.caches() == before
