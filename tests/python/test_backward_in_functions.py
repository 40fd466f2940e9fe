"""`backward` in functions that are traced, or whose derivative is taken: by what these are given it is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod

X = [3.0, 4.0]


def leaf() -> svod.Tensor:
    return svod.Tensor([1.0, 2.0]).requires_grad_()


def test_by_an_argument_of_a_jitted_function() -> None:
    @svod.jit
    def step(w: svod.Tensor, x: svod.Tensor) -> Any:
        loss = (w * w * x).sum()
        loss.backward()
        return loss, w.grad

    w, x = leaf(), svod.Tensor(X)
    for _ in range(2):
        with pytest.raises(svod.ArgumentError, match=r"an argument of a function that is traced.*`svod.grad`"):
            step(w, x)
        with pytest.raises(svod.ArgumentError, match=r"an argument of a function that is traced"):
            step(w * 2, x)
    assert w.grad is None
    assert svod.jit(svod.grad(lambda w, x: (w * w * x).sum()))(w, x).tolist() == [6.0, 16.0]


def test_by_what_was_made_of_a_parameter_outside() -> None:
    w, x = leaf(), svod.Tensor(X)
    y = w * 2

    @svod.jit
    def step(x: svod.Tensor) -> svod.Tensor:
        loss = (y * x).sum()
        loss.backward()
        return loss

    with pytest.raises(svod.ArgumentError, match="what was made of such parameters outside"):
        step(x)
    assert w.grad is None


def test_by_what_the_function_reaches_and_makes_it_gathers() -> None:
    w, x = leaf(), svod.Tensor(X)

    @svod.jit
    def step(x: svod.Tensor) -> Any:
        own = x.detach().requires_grad_()
        loss = (w * w * own).sum()
        loss.backward()
        return own.grad

    for count in (1, 2, 3):
        assert step(x).tolist() == [1.0, 4.0]
        assert w.grad is not None and w.grad.tolist() == [6.0 * count, 16.0 * count]


def test_in_a_function_whose_derivative_is_taken() -> None:
    def loss(x: svod.Tensor) -> svod.Tensor:
        value = (x * x).sum()
        value.backward()
        return value

    with pytest.raises(svod.ArgumentError, match="arguments of a function whose derivative is taken"):
        svod.grad(loss)(svod.Tensor(X))
    w = leaf()

    def mixed(x: svod.Tensor) -> svod.Tensor:
        value = (x * x * w).sum()
        value.backward()
        return value

    # What gathers a gradient has it, and the derivative is what it is.
    assert svod.grad(mixed)(svod.Tensor(X)).tolist() == [6.0, 16.0]
    assert w.grad is not None and w.grad.tolist() == [9.0, 16.0]


def test_values_of_functions_that_are_differentiated_go_on_having_theirs() -> None:
    w, x = leaf(), svod.Tensor(X)
    value, gradient = svod.value_and_grad(lambda x: (x * x * w).sum())(x)
    value.backward()
    assert gradient.tolist() == [6.0, 16.0] and w.grad is not None and w.grad.tolist() == [9.0, 16.0]


def test_a_call_that_fails_draws_nothing() -> None:
    fails = True

    def perhaps(x: np.ndarray) -> np.ndarray:
        if fails:
            raise KeyError("not today")
        return x

    generator = svod.Generator(3)

    @svod.jit
    def draws(x: svod.Tensor) -> svod.Tensor:
        return svod.custom(perhaps, x + svod.rand(2)) + svod.rand(2, generator=generator)

    def numbers() -> list[list[float]]:
        svod.manual_seed(7)
        generator.manual_seed(3)
        return [draws(svod.zeros(2)).tolist() for _ in range(3)]

    fails = False
    wanted = numbers()
    svod.manual_seed(7)
    generator.manual_seed(3)
    for want in wanted:
        fails = True
        for _ in range(2):
            with pytest.raises(KeyError):
                draws(svod.zeros(2))
        fails = False
        assert draws(svod.zeros(2)).tolist() == want
