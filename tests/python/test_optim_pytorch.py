"""Optimizers beside PyTorch's of the same options: parameters, states and resumed runs."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import svod
from svod import optim

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
pytestmark = pytest.mark.skipif(torch is None, reason="needs PyTorch")

SHAPES = [(3, 5), (7,), (4, 1), (2, 3, 4), ()]
STEPS = 20

RULES: list[tuple[str, dict[str, Any]]] = [
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 4, "weight_decay": 0.1, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.3, "beta2_decay": -0.5, "eps": (1e-4, 0.1), "d": 1.5, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.3, "maximize": True}),
    ("Adagrad", {"lr": 0.5, "lr_decay": 0.3, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adam", {"lr": 0.01, "betas": (0.5, 0.6), "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("AdamW", {"lr": 0.01, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.1, "betas": (0.7, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.7, 0.99), "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RMSprop", {"alpha": 0.5, "momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-2, 0.4), "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True, "weight_decay": 0.01}),
]
IDS = [f"{name}-{'-'.join(options)}" for name, options in RULES]


@pytest.fixture(autouse=True)
def _numbers_of_64_bits() -> Iterator[None]:
    """PyTorch's numbers of a state are of its default type."""
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def start() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [np.asarray(rng.standard_normal(shape)) for shape in SHAPES]


def gradients() -> list[list[np.ndarray]]:
    rng = np.random.default_rng(1)
    given = [[np.asarray(rng.standard_normal(shape)) for shape in SHAPES] for _ in range(STEPS)]
    given[3][0][:2] = 0.0
    return given


class Theirs:
    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.params = [torch.tensor(p, requires_grad=True) for p in start()]
        self.made = getattr(torch.optim, name)(self.params, **options)

    def go(self, steps: slice) -> None:
        for given in gradients()[steps]:
            for p, g in zip(self.params, given, strict=True):
                p.grad = torch.tensor(g)
            self.made.step()


def go(made: optim.Optimizer, steps: slice) -> None:
    for given in gradients()[steps]:
        made.step([svod.Tensor(g) for g in given])


def close(mine: list[svod.Tensor], theirs: list[Any], rtol: float = 1e-11) -> None:
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=rtol, atol=1e-13)


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_steps_and_states_are_pytorchs(name: str, options: dict[str, Any]) -> None:
    params, theirs = [svod.Tensor(p) for p in start()], Theirs(name, options)
    made = getattr(optim, name)(params, **options)
    for step in range(STEPS):
        go(made, slice(step, step + 1))
        theirs.go(slice(step, step + 1))
        close(params, theirs.params)
    mine, other = made.state_dict(), theirs.made.state_dict()
    for at, state in other["state"].items():
        named = {key: value for key, value in state.items() if value is not None}
        if name != "SGD":
            assert set(named) == set(mine["state"][at])
        for key, value in named.items():
            found = mine["state"][at][key].numpy()
            assert found.shape == tuple(value.shape), key
            np.testing.assert_allclose(found, np.asarray(value), rtol=1e-10, atol=1e-12, err_msg=key)
    assert set(mine["param_groups"][0]) <= set(other["param_groups"][0])


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_runs_are_resumed_from_either(name: str, options: dict[str, Any]) -> None:
    params, theirs = [svod.Tensor(p) for p in start()], Theirs(name, options)
    made = getattr(optim, name)(params, **options)
    go(made, slice(0, 9))
    theirs.go(slice(0, 9))
    of_own, of_theirs = ([svod.Tensor(p.numpy()) for p in params] for _ in range(2))
    again, other = (getattr(optim, name)(resumed) for resumed in (of_own, of_theirs))
    again.load_state_dict(made.state_dict())
    other.load_state_dict(theirs.made.state_dict())
    for one in (made, again, other):
        go(one, slice(9, None))
    theirs.go(slice(9, None))
    for p, q in zip(params, of_own, strict=True):
        np.testing.assert_array_equal(p.numpy(), q.numpy())
    close(of_theirs, theirs.params, 1e-9)


def test_adafactor_of_16_bits() -> None:
    w = svod.ones(4, 4, dtype="bfloat16")
    made = optim.Adafactor([w], lr=0.1)
    for _ in range(3):
        made.step([svod.ones(4, 4, dtype="bfloat16")])
    assert w.dtype == svod.bfloat16 and 0.5 < w.float().mean().item() < 1
    assert set(made.state_dict()["state"][0]) == {"step", "master", "row_var", "col_var"}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda w: optim.Rprop([w], etas=(1.5, 2.0)), r"Rprop: etas=\(1\.5, 2\.0\)"),
        (lambda w: optim.Adafactor([w], d=0.5), "Adafactor: d=0.5"),
        (lambda w: optim.Adafactor([w], beta2_decay=0.5), "Adafactor: beta2_decay=0.5"),
        (lambda w: optim.RAdam([w], betas=(1.0, 0.9)), "RAdam: betas"),
        (lambda w: optim.ASGD([w], lr=-1.0), r"ASGD: lr: .*-1\.0"),
        (lambda w: optim.Adadelta([w], rho=-0.1), r"Adadelta: rho: .*-0\.1"),
        (lambda w: optim.Adadelta([w], rho=1.1), r"Adadelta: rho: .*1\.1"),
    ],
)
def test_what_does_not_fit_is_refused(made: Any, says: str) -> None:
    with pytest.raises(svod.ArgumentError, match=says):
        made(svod.zeros(2))


SWITCHED = sorted({name for name, _ in RULES})


@pytest.mark.parametrize("name", SWITCHED)
def test_switches_of_pytorchs_optimizers_change_nothing(name: str) -> None:
    found = []
    for switches in ({}, {"foreach": True, "fused": None, "capturable": True, "differentiable": False}):
        params = [svod.Tensor(p) for p in start()]
        go(getattr(optim, name)([{"params": params, **switches}], **switches), slice(3))
        found.append([p.numpy() for p in params])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", SWITCHED)
def test_switches_that_are_none_are_refused(name: str) -> None:
    make = getattr(optim, name)
    with pytest.raises(svod.UnsupportedError, match=f"{name}: differentiable=True"):
        make([svod.zeros(2)], differentiable=True)
    with pytest.raises(svod.ArgumentTypeError, match=f"^{name}: switches: unexpected keyword argument 'fuse'"):
        make([svod.zeros(2)], fuse=True)
    with pytest.raises(svod.ArgumentTypeError, match=f"{name}: switches: fused: True or False is expected, not 3"):
        make([{"params": [svod.zeros(2)], "fused": 3}])


def test_closures_and_gradients_of_zeros() -> None:
    found = []
    for library in (svod, torch):
        w = library.ones(2, dtype=library.float64).requires_grad_()
        made = library.optim.Adam([w], lr=0.1)
        losses = []

        def closure(made: Any = made, w: Any = w) -> Any:
            made.zero_grad(set_to_none=False)
            loss = (w * w).sum()
            loss.backward()
            return loss

        for _ in range(3):
            with library.no_grad():
                losses.append(made.step(closure).item())
        made.zero_grad(set_to_none=False)
        assert w.grad.tolist() == [0.0, 0.0]
        made.step()
        made.zero_grad(set_to_none=True)
        assert w.grad is None
        found.append([*losses, *w.tolist()])
    np.testing.assert_allclose(*found, rtol=1e-11)
    layer = svod.nn.Linear(2, 1).requires_grad_()
    layer(svod.ones(1, 2)).sum().backward()
    layer.zero_grad(set_to_none=False)
    assert [p.grad.numpy().sum() for p in layer.parameters()] == [0.0, 0.0]
