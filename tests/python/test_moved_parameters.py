"""Parameters that are cast, moved or replaced after an optimizer was made of them: they are trained, or it is said."""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda params: optim.SGD(params, lr=0.05),
    "momentum": lambda params: optim.SGD(params, lr=0.05, momentum=0.9),
    "Adam": lambda params: optim.Adam(params, lr=0.05),
    "NAdam": lambda params: optim.NAdam(params, lr=0.05),
    "Adafactor": lambda params: optim.Adafactor(params, lr=0.05),
}


def net() -> nn.Module:
    svod.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2)).requires_grad_()


def batches() -> Iterator[tuple[svod.Tensor, svod.Tensor]]:
    rng = np.random.default_rng(0)
    while True:
        yield svod.Tensor(rng.standard_normal((6, 4))), svod.Tensor(rng.standard_normal((6, 2)))


def trained(model: nn.Module, optimizer: Any, steps: int, jit: bool = False) -> list[float]:
    def step(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = (model(x.cast(next(model.parameters()).dtype)) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    run = svod.jit(step) if jit else step
    return [run(x, y).item() for (x, y), _ in zip(batches(), range(steps), strict=False)]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_cast_module_is_trained_by_the_optimizer_it_had(name: str, jit: bool) -> None:
    model = net()
    parameters = list(model.parameters())
    optimizer = OPTIMIZERS[name](parameters)
    assert model.double() is model
    assert all(a is b for a, b in zip(parameters, model.parameters(), strict=True))
    assert {str(p.dtype) for p in parameters} == {"float64"} and all(p.requires_grad and p.is_leaf for p in parameters)
    other = net().double()
    expected = trained(other, OPTIMIZERS[name](other.parameters()), 5)
    np.testing.assert_allclose(trained(model, optimizer, 5, jit), expected, rtol=1e-9)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_state_goes_with_a_cast_parameter(name: str) -> None:
    model = net().double()
    optimizer = OPTIMIZERS[name](model.parameters())
    expected = net().double()
    reference = OPTIMIZERS[name](expected.parameters())
    trained(model, optimizer, 3)
    trained(expected, reference, 3)
    model.float()
    assert all(v.dtype == svod.float32 for group in optimizer.param_groups for p in [*group.params] for v in [p])
    np.testing.assert_allclose(trained(model, optimizer, 5), trained(expected, reference, 5), rtol=1e-4)


def test_a_step_that_was_compiled_goes_on_with_cast_parameters() -> None:
    def losses(jit: bool) -> list[float]:
        model = net()
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def step(x: svod.Tensor) -> svod.Tensor:
            optimizer.zero_grad()
            loss = (model(x.cast(next(model.parameters()).dtype)) - 1).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        run = svod.jit(step) if jit else step
        x = svod.Tensor(np.random.default_rng(0).standard_normal((6, 4)))
        found = []
        for change in (model.float, model.double, model.bfloat16, model.float):
            change()
            found += [run(x).item() for _ in range(3)]
        return found

    compiled = losses(True)
    np.testing.assert_allclose(compiled, losses(False), rtol=1e-2)
    assert compiled[-1] < compiled[0] * 0.9


def test_16_bits_get_weights_in_32_and_lose_them_again() -> None:
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model.bfloat16()
    trained(model, optimizer, 2)
    assert all("master" in entry for entry in optimizer.state_dict()["state"].values())
    model.float()
    before = [p.numpy().copy() for p in model.parameters()]
    trained(model, optimizer, 1)
    assert all("master" not in entry for entry in optimizer.state_dict()["state"].values())
    assert all(np.any(a != p.numpy()) for a, p in zip(before, model.parameters(), strict=True))


def test_a_gradient_goes_with_its_parameter() -> None:
    model = net()
    model(svod.randn(6, 4)).sum().backward()
    expected = [p.grad.numpy() for p in model.parameters() if p.grad is not None]
    model.double()
    given = [p.grad for p in model.parameters()]
    assert len(expected) == 4
    for gradient, value in zip(given, expected, strict=True):
        assert gradient is not None and gradient.dtype == svod.float64
        np.testing.assert_array_equal(gradient.numpy(), value)


def test_a_shared_parameter_stays_one() -> None:
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    model[1].weight = model[0].weight
    model.requires_grad_().double()
    assert model[0].weight is model[1].weight and len(list(model.parameters())) == 1
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    before = model[0].weight.numpy().copy()
    model(svod.ones((1, 4), dtype="float64")).sum().backward()
    optimizer.step()
    assert np.all(model[0].weight.numpy() != before)


def replaced(model: Any) -> None:
    model[0].weight = nn.Parameter(model[0].weight * 1)


def loaded(model: Any) -> None:
    model.load_state_dict(net().state_dict(), assign=True)


def layer(model: Any) -> None:
    model[2] = nn.Linear(8, 2).requires_grad_()


@pytest.mark.parametrize("change", [replaced, loaded, layer])
def test_a_parameter_that_gave_way_to_another_one_is_an_error_of_the_step(change: Callable[[Any], None]) -> None:
    model = net()
    optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    change(model)
    with pytest.raises(svod.ArgumentError, match=r"SGD\.step: the parameter .*no longer in its module.*afterwards"):
        trained(model, optimizer, 1)
    # As it says: those that an optimizer is made of now are trained, and the old one goes on for those it has.
    later = optim.SGD(model.parameters(), lr=0.1)
    losses = trained(model, later, 4)
    assert losses[-1] != losses[0]
    optimizer.zero_grad()
    optimizer.step()


def test_parameters_that_an_optimizer_is_told_of_are_no_error() -> None:
    model = net()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    model[2] = nn.Linear(8, 2).requires_grad_()
    optimizer.add_param_group({"params": model[2].parameters()})
    trained(model, optimizer, 2)
    # A frozen layer in the place of one is trained by nobody, which is meant.
    model[0] = nn.Linear(4, 8)
    trained(model, optimizer, 2)
    # What comes back is trained again.
    weight = model[2].weight
    model[2].weight = nn.Parameter(weight * 2)
    model[2].weight = weight
    before = weight.numpy().copy()
    trained(model, optimizer, 1)
    assert np.any(weight.numpy() != before)


def test_gradients_given_for_parameters_that_gave_way_are_an_error() -> None:
    model = nn.Linear(4, 2)
    optimizer = optim.SGD(model.named_parameters(), lr=0.1)
    model.load_state_dict(nn.Linear(4, 2).state_dict())
    x = svod.randn(3, 4)
    loss, gradients = svod.value_and_grad(lambda m: m(x).square().mean())(model)
    assert loss.item() > 0
    with pytest.raises(svod.ArgumentError, match="no longer in its module"):
        optimizer.step(gradients)


@pytest.mark.parametrize("how", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_of_a_module_requires_the_gradients_that_it_did(how: Callable[[nn.Module], nn.Module]) -> None:
    model: Any = net()
    model[0].requires_grad_(False)
    twin = how(model)
    assert [p.requires_grad for p in twin.parameters()] == [False, False, True, True]
    first = trained(twin, optim.SGD(twin.parameters(), lr=0.1), 3)
    np.testing.assert_allclose(first, trained(model, optim.SGD(model.parameters(), lr=0.1), 3))


def test_views_and_traced_modules_are_moved_as_before() -> None:
    base = svod.ones((2, 3))
    layer = nn.Linear(3, 2)
    layer.weight = base[0:2]
    layer.double()
    assert layer.weight.dtype == svod.float64 and base.dtype == svod.float32

    @svod.jit
    def cast(x: svod.Tensor) -> svod.Tensor:
        return layer.float()(x)

    assert cast(svod.ones((1, 3))).dtype == svod.float32
