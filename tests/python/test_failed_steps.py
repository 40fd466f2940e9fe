"""A step that fails leaves parameters, the optimizer's state and running statistics as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim

OPTIMIZERS: dict[str, Callable[[list[svod.Tensor]], optim.Optimizer]] = {
    "SGD": lambda ps: optim.SGD(ps, lr=0.1),
    "momentum": lambda ps: optim.SGD(ps, lr=0.1, momentum=0.9, nesterov=True),
    "Adam": lambda ps: optim.Adam(ps, lr=0.1),
    "AdamW": lambda ps: optim.AdamW(ps, lr=0.1),
    "RMSprop": lambda ps: optim.RMSprop(ps, lr=0.1),
    "Lion": lambda ps: optim.Lion(ps, lr=0.1),
}


class Broken(Exception):
    pass


def raises_backward(x: svod.Tensor) -> svod.Tensor:
    """The value, whose derivative is a function of Python that raises when it is run."""

    def fail(g: Any) -> Any:
        raise Broken("not today")

    @svod.custom_gradient
    def given(x: svod.Tensor) -> Any:
        return x * 1, lambda g: svod.custom(fail, g)

    return given(x)


def raises_forward(x: svod.Tensor) -> svod.Tensor:
    def fail(x: Any) -> Any:
        raise Broken("not today")

    @svod.custom_gradient
    def given(x: svod.Tensor) -> Any:
        return svod.custom(fail, x), lambda g: svod.custom(fail, g)

    return given(x)


def has_nan(x: svod.Tensor) -> svod.Tensor:
    return (x * 0).sqrt() * 0 + x


def state(model: nn.Module, optimizer: optim.Optimizer) -> dict[str, Any]:
    found = {name: value.numpy().copy() for name, value in model.state_dict().items()}
    for at, own in optimizer.state_dict()["state"].items():
        found |= {f"{at}.{name}": value.numpy().copy() for name, value in own.items()}
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def trained(name: str, steps: list[Callable[[svod.Tensor], svod.Tensor] | None]) -> dict[str, Any]:
    """A model after steps, whose activations some function changes; those with one fail."""
    svod.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.1), nn.Linear(4, 2)).requires_grad_()
    optimizer = OPTIMIZERS[name](list(model.parameters()))
    # Only some have a gradient at first, so that the others' counts of steps stay behind.
    model[3].bias.requires_grad_(False)
    for at, change in enumerate(steps):
        x = svod.Tensor(np.random.default_rng(at).standard_normal((8, 3), np.float32))
        before, generator = state(model, optimizer), svod.get_rng_state()
        optimizer.zero_grad()
        hidden = model[2](model[1](model[0](x)))
        y = model[3](hidden if change is None else change(hidden))
        (y**2).mean().backward()
        if change is None:
            optimizer.step()
            continue
        with svod.detect_nan(change is has_nan), pytest.raises((Broken, svod.ExecutionError)):
            optimizer.step()
        same(state(model, optimizer), before)
        # What was drawn was drawn when the forward pass was written.
        svod.set_rng_state(generator)
        model[3].bias.requires_grad_()
    return state(model, optimizer)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("change", [raises_backward, raises_forward, has_nan])
def test_all_is_as_it_was_and_training_goes_on(name: str, change: Callable[[svod.Tensor], svod.Tensor]) -> None:
    failing = trained(name, [None, change, None, change, change, None])
    assert all(np.isfinite(value).all() for value in failing.values())


def test_a_failed_step_is_as_if_it_had_not_been() -> None:
    svod.manual_seed(0)
    weights = [svod.Tensor([1.0, 2.0]).requires_grad_() for _ in range(2)]
    optimizers = [optim.Adam([w], lr=0.1) for w in weights]
    for step in range(4):
        for w, optimizer in zip(weights, optimizers, strict=True):
            if w is weights[0]:
                (raises_backward(w) ** 2).sum().backward()
                with pytest.raises(Broken):
                    optimizer.step()
                optimizer.zero_grad()
            ((w - step) ** 2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    np.testing.assert_array_equal(weights[0].detach().numpy(), weights[1].detach().numpy())
    same(*({f"{i}": o.state_dict()["state"][0][i].numpy() for i in o.state_dict()["state"][0]} for o in optimizers))


def test_the_error_names_what_made_the_nan() -> None:
    w = svod.Tensor([0.0, 4.0]).requires_grad_()
    optimizer = optim.SGD([w], lr=0.1)
    with svod.detect_nan():
        (w.sqrt() * 0).sum().backward()
        with pytest.raises(svod.ExecutionError, match="derivative of `sqrt`"):
            optimizer.step()
    assert w.detach().tolist() == [0, 4]
    assert w.requires_grad and w.is_leaf


def test_lbfgs() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    optimizer = optim.LBFGS([w], line_search_fn="strong_wolfe")
    calls = [0]

    def closure(fails: bool) -> svod.Tensor:
        calls[0] += 1
        optimizer.zero_grad()
        loss = ((raises_backward(w) if fails and calls[0] > 2 else w) ** 4).sum()
        loss.backward()
        return loss

    with pytest.raises(Broken):
        optimizer.step(lambda: closure(True))
    assert w.detach().tolist() == [1, 2]
    optimizer.step(lambda: closure(False))
    assert abs(w.detach().numpy()).max() < 0.5


def test_an_update_that_cannot_be_made() -> None:
    """A step that does not come to its run."""

    class Half(optim.SGD):
        def _update(self, p: Any, g: Any, s: Any, k: Any) -> Any:
            if p.shape == (2,):
                raise Broken
            return super()._update(p, g, s, k)

    ps = [svod.ones(3).requires_grad_(), svod.ones(2).requires_grad_()]
    optimizer = Half(ps, lr=0.1, momentum=0.5)
    (ps[0].sum() + ps[1].sum()).backward()
    with pytest.raises(Broken):
        optimizer.step()
    assert [p.detach().tolist() for p in ps] == [[1, 1, 1], [1, 1]]
    assert optimizer.state_dict()["state"][0]["momentum_buffer"].tolist() == [0, 0, 0]


def test_by_hand_a_read_that_fails_takes_the_writes_back() -> None:
    w = svod.Tensor([0.0, 4.0]).requires_grad_()
    with svod.detect_nan():
        (w.sqrt() * 0).sum().backward()
        with svod.no_grad():
            w -= 0.1 * w.grad
            w *= 2
        with pytest.raises(svod.ExecutionError, match="derivative of `sqrt`"):
            w.numpy()
    assert w.detach().tolist() == [0, 4]
    assert w.requires_grad and w.is_leaf
    other = svod.Tensor([1.0]).requires_grad_()
    raises_backward(w).sum().backward()
    other_loss = (other * 3).sum()
    other_loss.backward()
    with svod.no_grad():
        # The gradient without what was NaN, which stays.
        w.grad = svod.custom(lambda g: 1 / 0, svod.ones(2))
        w -= w.grad
        other -= other.grad
    with pytest.raises(ZeroDivisionError):
        svod.realize(other, w)
    # Of those that were read together only the one that cannot be computed.
    assert w.detach().tolist() == [0, 4]
    assert other.detach().tolist() == [-2]
    # What was computed once stays.
    with svod.no_grad():
        w += 1
    assert w.detach().tolist() == [1, 5]
    with svod.no_grad():
        w -= svod.custom(lambda g: 1 / 0, svod.ones(2))
    with pytest.raises(ZeroDivisionError):
        w.numpy()
    assert w.detach().tolist() == [1, 5]
