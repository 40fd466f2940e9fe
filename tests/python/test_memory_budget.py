"""A budget of memory: what is cheap is computed again where a plan would hold more."""

from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim
from svod.nn import functional as F

WIDTH, ROWS, LAYERS = 64, 512, 8


def net() -> nn.Module:
    svod.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.GELU()]
    model = nn.Sequential(*layers).requires_grad_()
    svod.realize(*model.parameters())
    return model


def gradients(model: nn.Module, x: svod.Tensor) -> list[svod.Tensor]:
    loss = model(x).square().mean()
    return [loss, *loss.gradient(*model.parameters())]


def run(plan: svod.ExecutionPlan) -> tuple[svod.Tensor, ...]:
    plan.execute()
    return tuple(plan.outputs)


def test_less_is_held_and_values_are_the_same() -> None:
    model, x = net(), svod.randn(ROWS, WIDTH).realize()
    free = svod.prepare(*gradients(model, x))
    expected = [t.numpy() for t in run(free)]
    most = free.memory["bytes_bound"]
    kernels = len(free.kernels)
    before = most
    for share in (0.8, 0.6):
        plan = svod.prepare(*gradients(model, x), memory_budget=int(most * share))
        assert plan.memory["bytes_bound"] <= most * share
        assert plan.memory["bytes_after"] < before
        assert len(plan.kernels) > kernels
        before = plan.memory["bytes_after"]
        for given, value in zip(run(plan), expected, strict=True):
            np.testing.assert_array_equal(given.numpy(), value)


def test_a_budget_that_is_enough_changes_nothing() -> None:
    model, x = net(), svod.randn(ROWS, WIDTH).realize()
    free = svod.prepare(*gradients(model, x))
    plan = svod.prepare(*gradients(model, x), memory_budget=free.memory["bytes_bound"])
    assert [k.name for k in plan.kernels] == [k.name for k in free.kernels]
    assert plan.memory == free.memory


def test_no_budget_is_too_small() -> None:
    model, x = net(), svod.randn(ROWS, WIDTH).realize()
    free, least = svod.prepare(*gradients(model, x)), svod.prepare(*gradients(model, x), memory_budget=0)
    assert least.memory["bytes_bound"] < free.memory["bytes_bound"]
    for given, value in zip(run(least), run(free), strict=True):
        np.testing.assert_array_equal(given.numpy(), value.numpy())


def trained(budget: int | None) -> tuple[list[float], list[np.ndarray[Any, Any]], int]:
    svod.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Dropout(0.3),
        nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 49, 10),
    ).requires_grad_()  # fmt: skip
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)

    @svod.jit(config=svod.PrepareConfig(memory_budget=budget))
    def step(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    rng = np.random.default_rng(0)
    losses = []
    for at in range(5):
        x = svod.Tensor(rng.standard_normal((16, 1, 14, 14), np.float32))
        if at == 3:
            svod.memory(reset_peak=True)
            live = svod.memory()["CPU"]["live"]
        losses.append(step(x, svod.Tensor(rng.integers(0, 10, 16))).item())
    return losses, [p.numpy() for p in model.parameters()], svod.memory()["CPU"]["peak"] - live


def test_a_step_within_a_budget_learns_the_same() -> None:
    losses, parameters, _ = trained(None)
    again, others, _ = trained(1)
    assert losses == again
    for a, b in zip(parameters, others, strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_a_budget_may_be() -> None:
    with svod.PrepareConfig(memory_budget=1000) as config:
        assert config.memory_budget == 1000 and "memory_budget=1000" in repr(config)
        assert svod.arange(5).sum().item() == 10
    assert svod.PrepareConfig().memory_budget is None
    with pytest.raises(svod.ArgumentError, match=r"memory_budget.*a number of bytes"):
        svod.PrepareConfig(memory_budget="much")


def test_jit_takes_the_options_of_prepare() -> None:
    model, x = net(), svod.randn(ROWS, WIDTH).realize()
    expected = [t.numpy() for t in run(svod.prepare(*gradients(model, x)))]
    frugal = svod.jit(lambda x: gradients(model, x), memory_budget=0, threads=1)
    for given, value in zip(frugal(x), expected, strict=True):
        np.testing.assert_array_equal(given.numpy(), value)

    @svod.jit(detect_nan=True, config=svod.PrepareConfig(threads=1))
    def root(x: svod.Tensor) -> svod.Tensor:
        return x.sqrt()

    assert root(svod.Tensor([4.0])).item() == 2
    with pytest.raises(svod.ExecutionError, match="NaN"):
        root(svod.Tensor([-4.0]))
    with pytest.raises(svod.ArgumentError, match="memory_budge"):
        svod.jit(lambda x: x, memory_budge=3)
    with pytest.raises(svod.ArgumentError, match=r"threads"):
        svod.jit(threads="many")
