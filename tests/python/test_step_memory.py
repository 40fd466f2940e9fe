"""What a step computes beside parameters: the loss that has a name, and what would keep weights of earlier steps."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim

SIZE = 64
# Bytes of the weights of one step.
WEIGHTS = 4 * SIZE * SIZE


def live() -> int:
    gc.collect()
    return int(svod.memory()["CPU"]["live"])


class Training:
    def __init__(self, make: Callable[..., optim.Optimizer] = optim.SGD) -> None:
        svod.manual_seed(0)
        self.model = nn.Linear(SIZE, SIZE, bias=False).requires_grad_()
        self.optimizer = make(self.model.parameters(), lr=0.01)
        self.x = svod.randn(8, SIZE).realize()

    def loss(self) -> svod.Tensor:
        return (self.model(self.x) ** 2).mean()

    def step(self) -> svod.Tensor:
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        return loss


def test_a_step_keeps_the_loss() -> None:
    one, other = Training(), Training()
    for _ in range(3):
        loss = one.step()
        assert loss.is_realized
        expected = other.loss()
        assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
        other.step()
    # With one that is not the one that `backward` was called of.
    one.optimizer.zero_grad()
    first, second = one.loss(), (one.model.weight**2).mean()
    total = first + 0.1 * second
    total.backward()
    accuracy = (one.model(one.x).argmax(1) == 0).sum()
    one.optimizer.step()
    assert all(value.is_realized for value in (first, second, total, accuracy))


def test_what_cannot_be_computed_is_left_to_who_asks() -> None:
    one = Training()
    bad = svod.custom(lambda w: 1 / 0, one.model.weight.detach()).sum()
    one.step()
    assert not bad.is_realized
    with pytest.raises(ZeroDivisionError):
        bad.item()


def losses_before(one: Training, kept: list[Any]) -> None:
    one.optimizer.zero_grad()
    loss = one.loss()
    kept.append(loss.detach())
    loss.backward()
    one.optimizer.step()


def losses_behind(one: Training, kept: list[Any]) -> None:
    kept.append(one.step().detach())


def sum_before(one: Training, kept: list[Any]) -> None:
    one.optimizer.zero_grad()
    loss = one.loss()
    loss.backward()
    kept[:] = [kept[0] + loss.detach() if kept else loss.detach()]
    one.optimizer.step()


def sum_behind(one: Training, kept: list[Any]) -> None:
    loss = one.step().detach()
    kept[:] = [kept[0] + loss if kept else loss]


def average_in_place(one: Training, kept: list[Any]) -> None:
    one.step()
    if not kept:
        kept.append(svod.zeros(SIZE, SIZE).realize())
    kept[0].mul_(0.99).add_(one.model.weight.detach(), alpha=0.01)


def average(one: Training, kept: list[Any]) -> None:
    one.step()
    own = one.model.weight.detach()
    kept[:] = [0.99 * kept[0] + 0.01 * own if kept else own]


def count(one: Training, kept: list[Any]) -> None:
    right = (one.model(one.x).argmax(1) == 3).sum()
    kept[:] = [kept[0] + right if kept else right]
    one.step()


WAYS = [losses_before, losses_behind, sum_before, sum_behind, average_in_place, average, count]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_memory_is_flat(way: Callable[[Training, list[Any]], None], make: Callable[..., optim.Optimizer]) -> None:
    one, kept = Training(make), []
    seen = []
    for step in range(60):
        way(one, kept)
        if step % 10 == 9:
            seen.append(live())
    assert max(seen[2:]) - seen[1] < 2.5 * WEIGHTS
    # The values are those of a program that reads all of them at once.
    other, expected = Training(make), []
    for _ in range(60):
        way(other, expected)
        svod.realize(*expected)
    assert len(kept) == len(expected)
    for value, right in zip(kept, expected, strict=True):
        np.testing.assert_allclose(value.numpy(), right.numpy(), rtol=1e-4, atol=1e-6)


def test_a_sum_of_losses_is_no_long_expression() -> None:
    one, total = Training(), svod.Tensor(0.0)
    for _ in range(150):
        total = total + one.step().detach()
    assert len(total.graph()) < 20_000


@pytest.mark.parametrize("in_place", [True, False])
def test_an_average_beside_a_jitted_step(in_place: bool) -> None:
    one = Training()
    step = svod.jit(one.step)
    average = svod.zeros(SIZE, SIZE).realize()
    right = np.zeros((SIZE, SIZE), np.float32)
    seen = []
    for i in range(60):
        step()
        own = one.model.weight.detach()
        if in_place:
            average.mul_(0.9).add_(own, alpha=0.1)
        else:
            average = 0.9 * average + 0.1 * own
        if i >= 50:
            right = right * np.float32(0.9) + own.numpy() * np.float32(0.1)
        del own
        if i % 10 == 9:
            seen.append(live())
        if i == 49:
            right = average.numpy().copy()
    assert max(seen[2:4]) - seen[1] < 2.5 * WEIGHTS
    np.testing.assert_allclose(average.numpy(), right, rtol=1e-4, atol=1e-6)


def test_nothing_is_computed_that_has_no_name() -> None:
    one = Training()
    calls = [0]

    def counted(w: Any) -> Any:
        calls[0] += 1
        return w

    for _ in range(3):
        svod.custom(counted, one.model.weight.detach())
        one.step()
    assert calls[0] == 0


@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("make", [nn.GRU, nn.LSTM, nn.RNN])
def test_memory_is_flat_where_a_state_is_carried_on(make: Callable[..., Any], reads: bool) -> None:
    svod.manual_seed(0)
    model = make(8, 8).requires_grad_()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    x = svod.randn(3, 2, 8).realize()
    state: Any = None
    seen: list[int] = []
    for step in range(30):
        optimizer.zero_grad()
        # The result has its name when the next step runs.
        y, state = model(x) if state is None else model(x, state)
        if reads:
            _ = y.numpy()
        (y**2).mean().backward()
        optimizer.step()
        state = tuple(one.detach() for one in state) if isinstance(state, tuple) else state.detach()
        if step >= 10:
            seen.append(live())
    assert max(seen) - min(seen) < 4096, seen
