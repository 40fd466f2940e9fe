"""Calls of a jitted function whose results are differentiated outside: they are the function's own, with a history."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim
from svod.nn import functional as F


def model() -> nn.Module:
    svod.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)).requires_grad_()


def batch(at: int, rows: int = 16) -> tuple[svod.Tensor, svod.Tensor]:
    rng = np.random.default_rng(at)
    return svod.Tensor(rng.standard_normal((rows, 4), np.float32)), svod.Tensor(rng.integers(0, 3, rows))


def trained(compiled: bool) -> tuple[list[float], dict[str, Any]]:
    own = model()
    called = svod.jit(own) if compiled else own
    optimizer = optim.Adam(own.parameters(), lr=0.01)
    losses = []
    for at in range(6):
        x, y = batch(at, 16 if at != 3 else 5)
        optimizer.zero_grad()
        loss = F.cross_entropy(called(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.numpy() for name, value in own.state_dict().items()}


def test_a_jitted_model_is_trained_as_the_model_is() -> None:
    (losses, state), (expected, right) = trained(True), trained(False)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for name, value in right.items():
        np.testing.assert_allclose(state[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_where_no_gradients_are_recorded_calls_run_a_plan() -> None:
    own = model().eval()
    jitted = svod.jit(own)
    x, _ = batch(0)
    with svod.no_grad():
        plain = jitted(x)
        assert plain.is_realized and not plain.requires_grad
    recorded = jitted(x)
    assert recorded.requires_grad and not recorded.is_realized and jitted.traces == 2
    np.testing.assert_allclose(recorded.numpy(), plain.numpy(), rtol=1e-5, atol=1e-6)
    with svod.no_grad():
        assert jitted(x).is_realized and jitted.traces == 2
    assert jitted.plan(x).kernels and "%0" in jitted.lower(x)
    # What is to stay as it is needs no such call.
    own.requires_grad_(False)
    assert jitted(x).is_realized


def test_derivatives_by_arguments() -> None:
    @svod.jit
    def f(x: Any, scale: Any) -> dict[str, svod.Tensor]:
        return {"value": (x**2 * scale).sum(), "same": x}

    data = np.float32([1, 2])
    assert f(svod.Tensor(data), np.float32(3))["value"].is_realized
    x = svod.Tensor(data).requires_grad_()
    f(x, np.float32(3))["value"].backward()
    assert x.grad is not None and x.grad.tolist() == [6, 12]
    assert f.traces == 1
    x.grad = None
    loss = svod.jit(lambda x: x.exp())(x * 2).sum()
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * data), rtol=1e-5)
    # Of arrays and numbers.
    w = svod.Tensor(data).requires_grad_()
    product = svod.jit(lambda x, by: (w * x).sum() * by)
    product(data, 2.0).backward()
    assert w.grad is not None and w.grad.tolist() == [2, 4]


def test_steps_are_plans_as_before() -> None:
    own = model()
    optimizer = optim.SGD(own.parameters(), lr=0.1)

    @svod.jit
    def step(x: svod.Tensor, y: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        optimizer.zero_grad()
        logits = own(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        return loss, logits

    x, y = batch(0)
    for _ in range(4):
        loss, logits = step(x, y)
        assert loss.is_realized and logits.is_realized and not logits.requires_grad
    assert step.traces <= 2
    x.requires_grad_()
    assert step(x, y)[0].is_realized and x.grad is None


def test_errors_name_the_function_that_is_called() -> None:
    jitted = svod.jit(model())
    with pytest.raises(svod.ShapeError):
        jitted(svod.ones(2, 5))


def test_weights_of_a_trained_model_are_laid_out_once() -> None:
    """Where no gradients are recorded, the weights of a model that requires them are constants of a plan too."""
    own = nn.Linear(256, 256).requires_grad_()
    jitted = svod.jit(own)
    x = svod.randn(64, 256).realize()
    before = svod.caches()["packs"]
    with svod.no_grad():
        for _ in range(6):
            jitted(x)
    assert svod.caches()["packs"] == before + 1
