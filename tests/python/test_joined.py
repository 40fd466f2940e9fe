"""Intermediates that are stacked or concatenated are made in their place: nothing copies them."""

from typing import Any

import numpy as np
import pytest

import svod
from svod import nn

STEPS, ROWS, WIDTH = 12, 8, 64


def steps(x: svod.Tensor, w: svod.Tensor) -> list[svod.Tensor]:
    h, found = x, []
    for _ in range(STEPS):
        h = (h @ w).tanh()
        found.append(h)
    return found


def operands() -> tuple[svod.Tensor, svod.Tensor]:
    rng = np.random.default_rng(0)
    return (
        svod.Tensor(rng.standard_normal((ROWS, WIDTH), np.float32)),
        svod.Tensor(rng.standard_normal((WIDTH, WIDTH), np.float32) / 8),
    )


def planned(value: svod.Tensor, **options: Any) -> svod.ExecutionPlan:
    plan = value.prepare(**options)
    plan.execute()
    return plan


def compared(make: Any) -> tuple[svod.ExecutionPlan, svod.ExecutionPlan]:
    """A plan whose intermediates share memory, and one in which each has its own and is copied."""
    plan, plain = planned(make(*operands())), planned(make(*operands()), planner="disabled")
    np.testing.assert_array_equal(plan.outputs[0].numpy(), plain.outputs[0].numpy())
    other = planned(make(*operands()), planner="remap")
    np.testing.assert_array_equal(other.outputs[0].numpy(), plain.outputs[0].numpy())
    for _ in range(2):
        plan.execute()
        np.testing.assert_array_equal(plan.outputs[0].numpy(), plain.outputs[0].numpy())
    twin = plan.instance()
    twin.execute()
    np.testing.assert_array_equal(twin.outputs[0].numpy(), plain.outputs[0].numpy())
    return plan, plain


def product(whole: svod.Tensor) -> svod.Tensor:
    flat = whole.reshape(-1, WIDTH)
    return flat.T @ flat


def test_steps_that_are_stacked_are_made_in_the_stack() -> None:
    plan, plain = compared(lambda x, w: product(svod.stack(steps(x, w))))
    assert len(plan.kernels) < len(plain.kernels)


def test_a_stack_of_some_of_them_is_a_part_of_the_stack_of_all() -> None:
    def both(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
        found = steps(x, w)
        return product(svod.stack(found)) + product(svod.stack(found[1:])) * 2 + product(svod.stack(found[2:7])) * 3

    compared(both)


def test_parts_of_several_stacks_in_other_orders() -> None:
    def mixed(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
        found = steps(x, w)
        turned = svod.stack(found[::-1])
        twice = svod.stack([found[0], found[0], found[3]])
        return (
            product(svod.stack(found)) + product(turned) * 2 + product(twice) * 3 + product(svod.cat([turned, twice]))
        )

    compared(mixed)


def test_what_is_given_out_or_in_is_copied() -> None:
    x, w = operands()
    found = steps(x, w)
    whole = svod.stack([x, *found])
    plan = svod.prepare(product(whole), whole, found[3], inputs=[x])
    plan.execute()
    total, stacked, third = (one.numpy() for one in plan.outputs)
    expected, h = [x.numpy()], x.numpy()
    for _ in range(STEPS):
        h = np.tanh(h @ w.numpy())
        expected.append(h)
    np.testing.assert_allclose(stacked, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(third, expected[4], rtol=1e-4, atol=1e-5)
    flat = np.concatenate(expected)
    np.testing.assert_allclose(total, flat.T @ flat, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("rows", [1, 3, 8])
def test_joins_of_odd_sizes(rows: int) -> None:
    rng = np.random.default_rng(rows)
    w = rng.standard_normal((5, 5), np.float32)
    parts = [rng.standard_normal((n, 5), np.float32) for n in (rows, 2, rows + 1)]
    made = [(svod.Tensor(part) @ svod.Tensor(w)).tanh() for part in parts]
    whole = svod.cat(made)
    plan = planned(whole.T @ whole)
    expected = np.concatenate([np.tanh(part @ w) for part in parts])
    np.testing.assert_allclose(plan.outputs[0].numpy(), expected.T @ expected, rtol=1e-4, atol=1e-5)


def test_an_lstm_learns_the_same_without_sharing() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((10, 4, 16), np.float32)

    def gradients(planner: str) -> list[np.ndarray[Any, Any]]:
        svod.manual_seed(0)
        model = nn.LSTM(16, 32, num_layers=2).requires_grad_()
        svod.realize(*model.parameters())
        y, (h, c) = model(svod.Tensor(x))
        loss = y.square().mean() + h.sum() * c.sum()
        plan = svod.prepare(*loss.gradient(*model.parameters()), planner=planner)
        plan.execute()
        return [one.numpy() for one in plan.outputs]

    for shared, apart in zip(gradients("arena"), gradients("disabled"), strict=True):
        np.testing.assert_array_equal(shared, apart)
