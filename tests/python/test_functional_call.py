"""Calls of modules with other tensors than their own, as `torch.func.functional_call`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
from svod import nn

torch = pytest.importorskip("torch")


class Tied(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(2, 2, bias=False)
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x: svod.Tensor) -> svod.Tensor:
        return self.second(self.first(x))


def test_values_and_gradients_are_those_of_pytorch() -> None:
    rng = np.random.default_rng(0)
    given = {
        name: rng.normal(size=shape).astype(np.float32)
        for name, shape in {"0.weight": (4, 3), "0.bias": (4,), "2.weight": (2, 4)}.items()
    }
    x = rng.normal(size=(5, 3)).astype(np.float32)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    other.load_state_dict({name: torch.tensor(t.numpy()) for name, t in model.state_dict().items()})
    before = {name: t.numpy() for name, t in model.state_dict().items()}

    def loss(xp: Any, of: Any, given: Any, x: Any) -> Any:
        call = svod.functional_call if xp is svod else torch.func.functional_call
        return (call(of, given, (x,)) ** 2).sum()

    wanted = torch.func.grad(lambda g: loss(torch, other, g, torch.tensor(x)))(
        {name: torch.tensor(value) for name, value in given.items()}
    )
    own = {name: svod.Tensor(value) for name, value in given.items()}
    step = svod.grad(lambda g, x: loss(svod, model, g, x))
    for one in (step, svod.jit(step)):
        for _ in range(3):
            got = one(own, svod.Tensor(x))
            for name in given:
                np.testing.assert_allclose(got[name].numpy(), wanted[name].detach().numpy(), rtol=2e-4, atol=1e-5)
    for name, tensor in model.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), before[name])


def test_the_module_has_its_own_again_when_it_fails() -> None:
    layer = nn.Linear(2, 1)
    weight = layer.weight
    with pytest.raises(svod.ShapeError):
        svod.functional_call(layer, {"weight": svod.ones(1, 3)}, svod.ones(2))
    assert layer.weight is weight


def test_several_dicts_buffers_and_names() -> None:
    norm = nn.BatchNorm1d(2)
    norm.train()
    buffers = {"running_mean": svod.zeros(2) + 0, "running_var": svod.ones(2) + 0}
    svod.functional_call(norm, ({"weight": svod.full((2,), 3.0)}, buffers), svod.Tensor([[1.0, 2.0], [3.0, 6.0]]))
    np.testing.assert_allclose(buffers["running_mean"].numpy(), [0.2, 0.4], rtol=1e-6)
    assert norm.running_mean is not None and norm.running_mean.tolist() == [0, 0]
    x, w = svod.Tensor([1.0, 2.0]), svod.Tensor([[0.0, 1.0], [2.0, 0.0]])
    tied = Tied()
    assert svod.functional_call(tied, {"first.weight": w}, x).tolist() == (w @ (w @ x)).tolist()
    assert svod.functional_call(tied, {"second.weight": w}, x).tolist() == (w @ (w @ x)).tolist()
    got = svod.functional_call(tied, {"first.weight": w}, x, tie_weights=False)
    np.testing.assert_allclose(got.numpy(), (tied.first.weight @ (w @ x)).numpy(), rtol=1e-6)
    with pytest.raises(svod.ArgumentError, match=r"'first.weight' and 'second.weight' are one tensor, but two"):
        svod.functional_call(tied, {"first.weight": w, "second.weight": w * 2}, x)


def test_mistakes() -> None:
    layer = nn.Linear(2, 1)
    w = svod.ones(1, 2)
    with pytest.raises(svod.ArgumentError, match="Linear has no 'weights': it has"):
        svod.functional_call(layer, {"weights": w}, svod.ones(2))
    with pytest.raises(svod.ArgumentError, match="'weight' is in two of the dicts"):
        svod.functional_call(layer, ({"weight": w}, {"weight": w}), svod.ones(2))
    with pytest.raises(svod.ArgumentError, match="nothing is given for 'bias', and it is strict"):
        svod.functional_call(layer, {"weight": w}, svod.ones(2), strict=True)
    wrong: Any = {"weight": np.ones((1, 2))}
    with pytest.raises(svod.ArgumentTypeError, match="'weight' is ndarray, which is no tensor"):
        svod.functional_call(layer, wrong, svod.ones(2))
