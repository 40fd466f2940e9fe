"""Derivatives that a program gives, in the bodies of loops and in branches: a rule is called once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

START = [0.3, 0.5]


@svod.custom_gradient
def sine(x: svod.Tensor) -> Any:
    return svod.custom(np.sin, x), lambda g: g * cosine(x)


@svod.custom_gradient
def cosine(x: svod.Tensor) -> Any:
    return svod.custom(np.cos, x), lambda g: -g * sine(x)


def written_out(times: int, body: Callable[..., Any], x: svod.Tensor) -> svod.Tensor:
    for i in range(times):
        x = body(i, x)
    return x


def scanned(times: int, body: Callable[..., Any], x: svod.Tensor) -> svod.Tensor:
    numbers = svod.arange(times).cast(svod.float64)
    last: svod.Tensor = svod.scan(lambda c, i: (body(i, c), c), x, numbers)[0]
    return last


def of_what_is_beside(i: Any, x: svod.Tensor) -> svod.Tensor:
    """A rule with a value of the iteration, and its number, that are no operands."""
    scale = (x * x).sum()

    @svod.custom_gradient
    def inner(y: svod.Tensor) -> Any:
        return y.sin() * scale.detach() * (i + 1) * 0.1, lambda g: g * y.cos() * scale * (i + 1) * 0.1

    return inner(x) + x * 0.3


def of_a_loop_inside(i: Any, x: svod.Tensor) -> svod.Tensor:
    @svod.custom_gradient
    def inner(y: svod.Tensor) -> Any:
        return y.sin() * x * (i + 1), lambda g: g * y.cos() * x * (i + 1)

    return svod.iterate(3, lambda j, y: inner(y) * 0.2 + y * 0.1 * (j + 1), x)


def checkpointed(i: Any, x: svod.Tensor) -> svod.Tensor:
    return svod.checkpoint(lambda y: (y * (i + 1) * 0.01).sin() * y.cos() + y)(x)


def matrix(x: svod.Tensor) -> svod.Tensor:
    return svod.eye(2, dtype=svod.float64) * 3 + x.reshape(2, 1) * x * 0.1


BODIES: dict[str, Callable[..., Any]] = {
    "sine": lambda i, x: sine(x) + 0.1 * x,
    "of what is beside": of_what_is_beside,
    "of a loop inside": of_a_loop_inside,
    "checkpointed": checkpointed,
    "solve": lambda i, x: svod.linalg.solve(matrix(x), x),
    "cholesky": lambda i, x: svod.linalg.cholesky(matrix(x)).sum(0),
    "lu": lambda i, x: svod.linalg.lu(matrix(x)).L.sum(0),
    "abs of complex numbers": lambda i, x: svod.complex(x, x * 0.5).abs().sin(),
    "cdist": lambda i, x: svod.cdist(x.reshape(2, 1), x.reshape(2, 1) * 0.9 - 0.1).sum(0),
    "max_pool": lambda i, x: svod.nn.functional.max_pool1d(x.reshape(1, 2), 2, 1, 1)[0, :2] * 0.9,
}


@pytest.mark.parametrize("run", [svod.iterate, scanned])
@pytest.mark.parametrize("times", [3, 150])
@pytest.mark.parametrize("name", BODIES)
def test_derivatives_are_those_of_the_iterations_written_out(name: str, times: int, run: Callable[..., Any]) -> None:
    if (name, run) == ("of a loop inside", scanned):
        pytest.skip("numbers of rows are values there")
    x = svod.Tensor(START, dtype=svod.float64)

    def derivative(run: Callable[..., Any]) -> np.ndarray:
        return svod.grad(lambda x: run(times, BODIES[name], x).sum())(x).numpy()

    np.testing.assert_allclose(derivative(run), derivative(written_out), rtol=1e-9)


@pytest.mark.parametrize("run", [svod.iterate, scanned])
@pytest.mark.parametrize("times", [3, 80])
def test_second_derivatives(times: int, run: Callable[..., Any]) -> None:
    x = svod.Tensor(START, dtype=svod.float64)

    def second(run: Callable[..., Any]) -> np.ndarray:
        return svod.hessian(lambda x: run(times, BODIES["sine"], x).sum())(x).numpy()

    np.testing.assert_allclose(second(run), second(written_out), rtol=1e-9, atol=1e-30)


def test_branches() -> None:
    x = svod.Tensor(START, dtype=svod.float64)

    def by(sign: float) -> np.ndarray:
        made = svod.grad(lambda x: svod.cond(x.sum() > sign, lambda x: sine(x) * 2, lambda x: x * 3, x).sum())
        return made(x).numpy()

    np.testing.assert_allclose(by(0.0), 2 * np.cos(START))
    np.testing.assert_allclose(by(1.0), [3.0, 3.0])


def test_a_rule_that_fails_says_so_where_a_derivative_is_taken() -> None:
    def fails(g: Any) -> Any:
        raise ValueError("no derivative")

    f = svod.custom_gradient(lambda x: (x * 2, fails))
    x = svod.Tensor(START)
    assert svod.iterate(2, lambda i, x: f(x), x).tolist() == (x * 4).tolist()
    with pytest.raises(ValueError, match="no derivative"):
        svod.grad(lambda x: svod.iterate(2, lambda i, x: f(x), x).sum())(x)


@pytest.mark.parametrize(
    "inner",
    [
        svod.checkpoint(lambda z: z.sin()),
        svod.custom_gradient(lambda z: (z.sin(), lambda g: g * z.cos())),
        lambda x: svod.linalg.inv(x.reshape(1, 1) + 2).reshape(()),
        lambda x: svod.fft.fft(x.reshape(1)).abs().reshape(()),
    ],
)
def test_a_checkpoint_around_a_value_whose_derivative_is_given(inner: Callable[[svod.Tensor], svod.Tensor]) -> None:
    """What it reads from outside is what its argument follows from: a connection around it."""

    def f(x: svod.Tensor) -> svod.Tensor:
        v = inner(x)
        return svod.checkpoint(lambda z: z * v)(v * 2)

    x = svod.Tensor(0.3, dtype="float64")
    expected = svod.grad(lambda x: 2 * inner(x) ** 2)(x).item()
    assert abs(svod.grad(f)(x).item() - expected) < 1e-12
    w = svod.Tensor(0.3, dtype="float64").requires_grad_()
    f(w).backward()
    assert w.grad is not None and abs(w.grad.item() - expected) < 1e-12
