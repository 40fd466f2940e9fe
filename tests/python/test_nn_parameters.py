"""Parameters of layers: drawn anew, of a type, and never left untrained in silence."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import svod
from svod import nn, optim
from svod.nn import functional as F

DRAWN: list[Callable[[], nn.Module]] = [
    lambda: nn.Linear(3, 4),
    lambda: nn.Bilinear(2, 3, 4),
    lambda: nn.Embedding(5, 3, padding_idx=2),
    lambda: nn.EmbeddingBag(5, 3),
    lambda: nn.Conv2d(2, 4, 3),
    lambda: nn.ConvTranspose1d(2, 4, 3),
    lambda: nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2),
    lambda: nn.GRUCell(3, 4),
    lambda: nn.LayerNorm(3),
    lambda: nn.RMSNorm(3),
    lambda: nn.GroupNorm(2, 4),
    lambda: nn.BatchNorm2d(3),
    lambda: nn.InstanceNorm1d(3, affine=True),
    lambda: nn.PReLU(3),
    lambda: nn.MultiheadAttention(4, 2),
]


@pytest.mark.parametrize("make", DRAWN)
def test_parameters_are_drawn_as_those_of_a_new_layer(make: Callable[[], nn.Module]) -> None:
    svod.manual_seed(3)
    expected = {name: p.numpy() for name, p in make().named_parameters()}
    layer = make().requires_grad_()
    before = dict(layer.named_parameters())
    with svod.no_grad():
        for p in before.values():
            p.fill_(7.0)
    svod.manual_seed(3)
    layer.reset_parameters()
    for name, p in layer.named_parameters():
        assert p is before[name] and p.requires_grad
        np.testing.assert_allclose(p.numpy(), expected[name], rtol=1e-5, atol=1e-6)


def test_running_statistics_begin_anew() -> None:
    layer = nn.BatchNorm1d(2)
    layer(svod.Tensor([[1.0, 2.0], [3.0, 8.0]])).realize()
    assert layer.running_mean.tolist() != [0, 0]
    layer.reset_running_stats()
    statistics = layer.running_mean, layer.running_var, layer.num_batches_tracked
    assert [one.tolist() for one in statistics] == [[0, 0], [1, 1], 0]
    nn.BatchNorm1d(2, track_running_stats=False).reset_running_stats()


def test_rows_that_are_looked_up_are_at_most_so_long() -> None:
    table = nn.Embedding(6, 3, max_norm=1.0)
    with svod.no_grad():
        table.weight.copy_(svod.arange(18).reshape(6, 3) - 4.0)
    before = table.weight.numpy()
    for _ in range(3):
        found = table(svod.Tensor([[0, 4, 4], [2, 1, 0]]))
        norms = found.norm(2, -1).numpy()
    assert norms.max() <= 1
    after = table.weight.numpy()
    np.testing.assert_array_equal(after[[3, 5]], before[[3, 5]])
    np.testing.assert_allclose(after[4], before[4] / np.linalg.norm(before[4]), rtol=1e-5)
    # By the sum of sizes; a row that is short enough stays as it is.
    by_sum = nn.Embedding(2, 2, max_norm=2.0, norm_type=1.0)
    with svod.no_grad():
        by_sum.weight.copy_(svod.Tensor([[3.0, -1.0], [0.5, 1.0]]))
    by_sum(svod.Tensor([0, 1])).realize()
    np.testing.assert_allclose(by_sum.weight.numpy(), [[1.5, -0.5], [0.5, 1.0]], rtol=1e-5)
    assert repr(table) == "Embedding(6, 3, max_norm=1.0)"
    bags = nn.EmbeddingBag(6, 3, max_norm=0.5, mode="sum")
    bags(svod.Tensor([[0, 4]])).realize()
    assert np.linalg.norm(bags.weight.numpy()[[0, 4]], axis=1).max() <= 0.5


def test_gradients_of_rows_by_how_often_they_are_looked_up() -> None:
    table = nn.Embedding(4, 2, scale_grad_by_freq=True).requires_grad_()
    table(svod.Tensor([1, 1, 3])).sum().backward()
    assert table.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]]


def test_sparse_columns() -> None:
    w = nn.init.sparse_(svod.zeros(20, 50), sparsity=0.33, std=2.0).numpy()
    assert ((w == 0).sum(0) == 7).all() and 1.7 < w[w != 0].std() < 2.3
    with pytest.raises(svod.ShapeError, match="sparse_"):
        nn.init.sparse_(svod.zeros(3), 0.5)
    with pytest.raises(svod.ArgumentError, match="sparsity"):
        nn.init.sparse_(svod.zeros(3, 3), 1.5)


def loss_of(model: nn.Module) -> svod.Tensor:
    return F.mse_loss(model(svod.ones(2, 3)), svod.zeros(2, 1))


class Half(nn.Module):
    """A layer, whose parameters require no gradient by themselves, and a parameter, which does."""

    def __init__(self) -> None:
        self.scale = nn.Parameter(svod.ones(3))
        self.layer = nn.Linear(3, 1)

    def forward(self, x: svod.Tensor) -> svod.Tensor:
        return self.layer(x * self.scale)


OPTIMIZERS: list[Callable[[nn.Module], optim.Optimizer]] = [
    lambda model: optim.SGD(model.parameters(), lr=0.1),
    lambda model: optim.AdamW(model.named_parameters(), lr=0.1),
]


@pytest.mark.parametrize("make", OPTIMIZERS)
def test_what_would_be_trained_in_part_is_an_error(make: Callable[[nn.Module], optim.Optimizer]) -> None:
    model = Half()
    optimizer = make(model)
    before = {name: p.numpy() for name, p in model.named_parameters()}

    def step() -> None:
        loss_of(model).backward()
        optimizer.step()

    for one in (step, svod.jit(step)):
        with pytest.raises(
            svod.ArgumentError, match=r"step: the parameter .*\[1, 3\] requires no gradient.*requires_grad_"
        ):
            one()
    for name, p in model.named_parameters():
        np.testing.assert_array_equal(p.numpy(), before[name])
    # Said so, it is as the user wants it.
    model.layer.requires_grad_(False)
    for again in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(model).double()):
        optimizer = make(again)
        loss_of(again.float()).backward()
        optimizer.step()
        assert (again.scale.numpy() != before["scale"]).any()
        np.testing.assert_array_equal(again.layer.weight.numpy(), before["layer.weight"])
    model.load_state_dict(model.state_dict())
    make(model).step()
    model.requires_grad_()
    optimizer = make(model)
    step()
    assert (model.layer.weight.numpy() != before["layer.weight"]).any()


def test_gradients_that_are_given_need_no_tape() -> None:
    model = nn.Linear(3, 1)
    optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    before, gradients = svod.value_and_grad(loss_of)(model)
    optimizer.step(gradients)
    assert loss_of(model).item() < before.item()
    with pytest.raises(svod.ArgumentError, match=r"SGD: params: float32\[2\] follows from other tensors"):
        optim.SGD([svod.ones(2).requires_grad_() * 2])
    with pytest.raises(svod.ArgumentError, match="requires no gradient"):
        optim.LBFGS(model.parameters()).step(lambda: loss_of(model))


def test_a_model_is_of_floats_or_complex_numbers() -> None:
    model = nn.Linear(3, 1).requires_grad_()
    for target in ("int32", svod.int8, "bool"):
        with pytest.raises(svod.ArgumentTypeError, match=r"Module\.to: floats and complex numbers"):
            model.to(target)
    assert model.weight.dtype == svod.float32 and model.weight.requires_grad
    weight = model.weight
    assert model.to("CPU", svod.float64).weight is weight and weight.dtype == svod.float64
    assert model.to(device="CPU", dtype="float32", non_blocking=True).weight.dtype == svod.float32
    assert model.to("CPU:1").weight.device == "CPU:1"


def test_a_traced_step_casts_no_parameters() -> None:
    model = nn.Linear(3, 1).requires_grad_()
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @svod.jit
    def step(x: svod.Tensor) -> svod.Tensor:
        loss = model.half()(x.half()).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    with pytest.raises(svod.TraceError, match=r"Module\.to: weight, which requires a gradient.*outside of the step"):
        step(svod.ones(2, 3))
    assert model.weight.dtype == svod.float32
    # Once that was done before, there is nothing to do.
    model.half()
    step(svod.ones(2, 3)).realize()
    assert model.weight.dtype == svod.float16


def test_sequences_of_no_step() -> None:
    for layer in (nn.LSTM(5, 4), nn.GRU(5, 4), nn.RNN(5, 4)):
        with pytest.raises(svod.ShapeError, match=r"at least one step.*\(0, 2, 5\)"):
            layer(svod.zeros(0, 2, 5))
    results, _ = nn.LSTM(5, 4)(svod.zeros(3, 0, 5))
    assert results.shape == (3, 0, 4)


def test_numbers_of_optimizers() -> None:
    w = svod.ones(2).requires_grad_()
    with pytest.raises(svod.ArgumentError, match=r"Adam: betas\[0\]: a number from 0 to below 1 is expected, not 1\.5"):
        optim.Adam([w], betas=(1.5, 0.9))
    with pytest.raises(svod.ArgumentError, match=r"SGD: momentum: a number from 0 to 1 is expected, not 2"):
        optim.SGD([w], momentum=2.0)
    with pytest.raises(svod.ArgumentError, match=r"SGD: lr: a number of at least 0 is expected, not -1"):
        optim.SGD([w], lr=-1.0)


def test_a_budget_is_a_number() -> None:
    with pytest.raises(svod.ArgumentError, match=r"memory_budget.*True"):
        svod.PrepareConfig(memory_budget=True)
