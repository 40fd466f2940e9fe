"""Runs that are saved and resumed go on as if nothing had been."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim


def made() -> tuple[nn.Module, optim.Optimizer, Any]:
    model = nn.Sequential(
        nn.Linear(8, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.3), nn.Linear(16, 4, bias=False)
    )
    model.requires_grad_()
    model[4].weight = model[4].weight.detach().cast("bfloat16").realize().requires_grad_()
    optimizer = optim.AdamW(model.parameters(), lr=0.05)
    return model, optimizer, optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)


def trainer(model: nn.Module, optimizer: optim.Optimizer, schedule: Any, jitted: bool) -> Callable[[], float]:
    def step(x: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = (model(x + 0.1 * svod.randn(16, 8)).cast("float32") - x[:, :4]).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = svod.jit(step) if jitted else step

    def go() -> float:
        loss = run(svod.randn(16, 8)).item()
        schedule.step()
        return float(loss)

    return go


@pytest.mark.parametrize("jitted", [False, True])
def test_a_resumed_run_repeats_the_losses_bit_for_bit(jitted: bool, tmp_path: Path) -> None:
    svod.manual_seed(3)
    model, optimizer, schedule = made()
    go = trainer(model, optimizer, schedule, jitted)
    for _ in range(4):
        go()
    svod.save_safetensors({**model.state_dict(), "generator": svod.get_rng_state()}, tmp_path / "model")
    states = {"optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
    (tmp_path / "states").write_bytes(pickle.dumps(states))
    expected = [go() for _ in range(5)]

    svod.manual_seed(4)
    model, optimizer, schedule = made()
    weights = svod.load_safetensors(tmp_path / "model")
    generator = weights.pop("generator")
    model.load_state_dict(weights)
    states = pickle.loads((tmp_path / "states").read_bytes())
    optimizer.load_state_dict(states["optimizer"])
    schedule.load_state_dict(states["schedule"])
    svod.set_rng_state(generator)
    go = trainer(model, optimizer, schedule, jitted)
    assert [go() for _ in range(5)] == expected


def test_the_state_of_the_generator_in_traces() -> None:
    @svod.jit
    def twice() -> tuple[svod.Tensor, svod.Tensor, svod.Tensor]:
        state = svod.get_rng_state()
        return state, svod.rand(3), svod.rand(3)

    svod.manual_seed(5)
    outside = svod.get_rng_state().tolist()
    state, a, b = twice()
    later = svod.get_rng_state()
    assert state.tolist() == outside and later.tolist() != outside
    svod.set_rng_state(state)
    np.testing.assert_array_equal(svod.rand(3).numpy(), a.numpy())
    np.testing.assert_array_equal(svod.rand(3).numpy(), b.numpy())
    assert svod.get_rng_state().tolist() == later.tolist()

    again = svod.jit(lambda: (svod.set_rng_state(np.array(outside, np.uint64)), svod.rand(3))[1])
    for _ in range(2):
        np.testing.assert_array_equal(again().numpy(), a.numpy())
    with pytest.raises(svod.ArgumentError, match=r"uint64\[2\]"):
        svod.set_rng_state(svod.Tensor([1, 2, 3]))


@pytest.mark.parametrize("name", optim.__all__)
def test_every_optimizer_is_saved_and_resumed(name: str) -> None:
    kind = getattr(optim, name)
    if not (isinstance(kind, type) and issubclass(kind, optim.Optimizer)) or kind is optim.Optimizer:
        pytest.skip("no optimizer")

    def run(made: Any, steps: int) -> list[float]:
        layer, optimizer = made
        losses = []
        for _ in range(steps):

            def closure() -> svod.Tensor:
                optimizer.zero_grad()
                loss = (layer(svod.ones(2, 4)) ** 2).mean()
                loss.backward()
                return loss

            losses.append(optimizer.step(closure).item())
        return losses

    def fresh() -> Any:
        layer = nn.Linear(4, 4, bias=False).requires_grad_()
        return layer, kind(layer.parameters(), lr=0.01)

    svod.manual_seed(0)
    first = fresh()
    run(first, 3)
    weights = {key: value.numpy() for key, value in first[0].state_dict().items()}
    state = pickle.loads(pickle.dumps(first[1].state_dict()))
    expected = run(first, 3)
    second = fresh()
    second[0].load_state_dict({key: svod.Tensor(value) for key, value in weights.items()})
    second[1].load_state_dict(state)
    assert run(second, 3) == expected
