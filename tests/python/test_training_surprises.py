"""What transformed functions and parameters do where users found them wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim

n = svod.Variable("n", 1, 50)


def product(w: svod.Tensor, x: svod.Tensor) -> svod.Tensor:
    return (x @ w).sum()


def by_rows(w: svod.Tensor, x: svod.Tensor) -> svod.Tensor:
    return (x * w).sum()


@pytest.mark.parametrize("transform", [svod.grad, svod.value_and_grad, svod.jacobian, svod.hessian, svod.checkpoint])
def test_transformed_functions_have_the_arguments_of_the_function(transform: Callable[..., Any]) -> None:
    step = svod.jit(transform(product), shapes={"x": (n, 3)})
    w = svod.Tensor([1.0, 2.0, 3.0])
    for rows in (4, 2, 7):
        x = svod.Tensor(np.random.default_rng(rows).random((rows, 3)).astype(np.float32))
        found, right = step(w, x=x), transform(product)(w, x)
        for one, other in zip(*(each if isinstance(each, tuple) else (each,) for each in (found, right)), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


def test_a_batched_function_has_the_arguments_of_the_function() -> None:
    step = svod.jit(svod.vmap(by_rows, in_axes=(None, 0)), shapes={"x": (n, 3)})
    w = svod.Tensor([1.0, 2.0, 3.0])
    for rows in (4, 2):
        x = np.random.default_rng(rows).random((rows, 3)).astype(np.float32)
        np.testing.assert_allclose(step(w, x=svod.Tensor(x)).numpy(), x @ [1, 2, 3], rtol=1e-5)


def test_checkpoint_is_called_at_once_with_arguments() -> None:
    x = svod.Tensor([0.5, 1.0]).requires_grad_()
    svod.checkpoint(svod.sin, x, use_reentrant=False).sum().backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 1.0]), rtol=1e-6)


@pytest.mark.parametrize("sign", ["+=", "-=", "*=", "/=", "**="])
def test_parameters_are_not_given_away_by_signs_that_assign(sign: str) -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    with pytest.raises(svod.ArgumentError, match=r"float32\[2\] requires a gradient, and is written under `no_grad`"):
        exec(f"w {sign} 2", {"w": w})
    with svod.no_grad():
        exec(f"w {sign} 2", {"w": w})
    assert w.is_leaf and w.tolist() != [1.0, 2.0]
    # What follows from it, and what a function to be differentiated is given, are names as any.
    y = w * 2
    y += 1
    assert y.requires_grad

    def moved(x: svod.Tensor) -> svod.Tensor:
        x += 1
        x *= x
        return x.sum()

    assert svod.grad(moved)(svod.Tensor([1.0, 2.0])).tolist() == [4.0, 6.0]


def test_muon_is_saved_and_resumed() -> None:
    def made() -> tuple[nn.Linear, optim.Muon]:
        model = nn.Linear(4, 4, bias=False).requires_grad_()
        return model, optim.Muon(model.parameters(), lr=0.1)

    def step(model: nn.Linear, optimizer: optim.Muon) -> None:
        optimizer.zero_grad()
        (model(svod.eye(4)) ** 2).sum().backward()
        optimizer.step()

    model, optimizer = made()
    step(model, optimizer)
    state, weights = optimizer.state_dict(), model.state_dict()
    assert state["param_groups"][0]["ns_coefficients"] == (3.4445, -4.775, 2.0315)
    again, other = made()
    again.load_state_dict(weights)
    other.load_state_dict(state)
    step(model, optimizer)
    step(again, other)
    assert again.weight.tolist() == model.weight.tolist()


def test_a_tensor_in_place_of_parameters_is_named() -> None:
    with pytest.raises(svod.ArgumentTypeError, match="SGD: params: a list of tensors is expected, not a tensor"):
        optim.SGD(svod.ones(2, 2), lr=0.1)
