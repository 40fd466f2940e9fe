"""What no run of a plan changes is computed when the plan is prepared. Contract row C2."""

from __future__ import annotations

import numpy as np

import svod
from svod import nn


def test_c2_what_no_run_changes_is_computed_once() -> None:
    """Issue 6: parameters that are still to be drawn are, and products of constants are no part of a plan's runs."""
    x = svod.Tensor(np.random.rand(4, 64).astype(np.float32))

    class Net(nn.Module):
        def __init__(self) -> None:
            self.a, self.b = nn.Linear(64, 96), nn.Linear(96, 8)

        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return self.b(self.a(x).relu())

    lazy, eager = Net(), Net()
    eager.load_state_dict({name: tensor.clone().realize() for name, tensor in lazy.state_dict().items()})
    plan, again = lazy(x).prepare(inputs=[x]), eager(x).prepare(inputs=[x])
    assert len(plan.kernels) == len(again.kernels)
    assert all(tensor.is_realized for tensor in lazy.parameters())
    plan.execute()
    again.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), again.outputs[0].numpy())
    module_as_argument = svod.jit(lambda net, x: net(x))
    np.testing.assert_allclose(module_as_argument(Net(), x).shape, (4, 8))
    assert len(module_as_argument.plan(lazy, x).kernels) == len(again.kernels)

    w = svod.rand(32, 32).realize()
    row = (w @ w @ w).softmax(1)[0]
    plan = (x[:, :32] + row).prepare(inputs=[x])
    assert len(plan.kernels) == 1
    plan.execute()
    expected = np.linalg.matrix_power(w.numpy().astype(np.float64), 3)[0]
    expected = np.exp(expected - expected.max()) / np.exp(expected - expected.max()).sum()
    np.testing.assert_allclose(plan.outputs[0].numpy(), x.numpy()[:, :32] + expected, rtol=1e-4)


def test_c2_what_is_cheap_is_not_kept() -> None:
    """Masks stay in the kernels, and of what is larger than what it is made of only that is kept."""
    x, w = (svod.Tensor(np.random.rand(32, 32).astype(np.float32)) for _ in range(2))
    mean, deviation = w.mean(1), w.var(0)
    mask = svod.arange(32)[:, None] >= svod.arange(32)[None, :]
    y = svod.where(mask, x * (mean[:, None] + deviation[None, :]), 0)
    plan = y.prepare(inputs=[x])
    assert len(plan.kernels) == 1 and mean.is_realized and deviation.is_realized and not mask.is_realized
    plan.execute()
    expected = np.tril(x.numpy() * (mean.numpy()[:, None] + deviation.numpy()[None, :]))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-5)


def test_c2_what_changes_is_computed_in_each_run() -> None:
    """Plans of constants alone, variables, functions of the host, and the outputs of other plans."""
    x, w = (svod.Tensor(np.random.rand(32, 32).astype(np.float32)) for _ in range(2))
    assert len((w @ w).sum(0).prepare().kernels) == 2
    square = w @ w
    plan = svod.prepare(square, x + square, inputs=[x])
    assert plan.outputs[0].shape == (32, 32)
    plan.execute(np.ones((32, 32), np.float32))
    np.testing.assert_allclose(plan.outputs[0].numpy(), w.numpy() @ w.numpy(), rtol=1e-5)
    np.testing.assert_allclose(plan.outputs[1].numpy(), w.numpy() @ w.numpy() + 1, rtol=1e-5)
    n = svod.Variable("n", 1, 32)
    called = []
    host = svod.custom(lambda a: called.append(1) or a, w)
    plan = (x.sum() + host.sum() + w[: n.bind(3)].sum()).prepare(inputs=[x])
    for k in (3, 7):
        plan.execute(n=k)
        total = x.numpy().sum() + w.numpy().sum() + w.numpy()[:k].sum()
        np.testing.assert_allclose(plan.outputs[0].item(), total, rtol=1e-4)
    assert len(called) == 2
