"""`optim.LBFGS` beside PyTorch's: losses of each step, calls of the closure, states, and minima that it has to find."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
STEPS = 20

OPTIONS: dict[str, dict[str, Any]] = {
    "one iteration": {"lr": 0.1, "max_iter": 1},
    "several": {"lr": 0.1, "max_iter": 4},
    "short history": {"lr": 0.3, "max_iter": 3, "history_size": 2},
    "tolerances": {"lr": 0.5, "max_iter": 4, "tolerance_change": 1e-4, "tolerance_grad": 1e-2},
    "wolfe": {"max_iter": 2, "line_search_fn": "strong_wolfe"},
    "wolfe to the end": {"line_search_fn": "strong_wolfe"},
    "wolfe of few calls": {"max_iter": 5, "max_eval": 7, "history_size": 3, "line_search_fn": "strong_wolfe"},
    "wolfe from afar": {"lr": 50.0, "max_iter": 3, "line_search_fn": "strong_wolfe"},
    "wolfe from near": {"lr": 1e-3, "max_iter": 3, "line_search_fn": "strong_wolfe"},
}


def valley(tensor: Callable[[Any], Any]) -> tuple[list[Any], Callable[[], Any]]:
    """Rosenbrock's function."""
    w = tensor(np.array([-1.2, 1.0, 0.5, 2.0])).requires_grad_()
    return [w], lambda: (100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2).sum()


def network(tensor: Callable[[Any], Any]) -> tuple[list[Any], Callable[[], Any]]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 6))
    y = np.sin(x.sum(1, keepdims=True))
    made = [tensor(rng.standard_normal(shape) * 0.3).requires_grad_() for shape in ((6, 8), (8,), (8, 1), (1,), (3,))]
    # The last parameter is without a gradient.
    w, b, v, c = made[:4]
    return made, lambda: (((tensor(x) @ w + b).tanh() @ v + c - tensor(y)) ** 2).mean()


class Run:
    def __init__(self, library: Any, problem: Callable[..., Any], options: dict[str, Any]) -> None:
        self.params, self.loss = problem(svod.Tensor if library is svod else torch.tensor)
        self.made = library.optim.LBFGS(self.params, **options)
        self.calls = 0

    def closure(self) -> Any:
        self.calls += 1
        self.made.zero_grad()
        loss = self.loss()
        loss.backward()
        return loss

    def go(self, steps: int) -> list[float]:
        return [self.made.step(self.closure).item() for _ in range(steps)]


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.parametrize("problem", [valley, network])
@pytest.mark.parametrize("name", OPTIONS)
def test_steps_and_states_are_pytorchs(name: str, problem: Callable[..., Any]) -> None:
    mine, theirs = (Run(library, problem, OPTIONS[name]) for library in (svod, torch))
    np.testing.assert_allclose(mine.go(STEPS), theirs.go(STEPS), rtol=1e-6, atol=1e-12)
    for one, other in zip(mine.params, theirs.params, strict=True):
        np.testing.assert_allclose(one.numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)
    assert mine.calls == theirs.calls
    state, other = (run.made.state_dict()["state"][0] for run in (mine, theirs))
    assert set(other) - {"al"} == set(state)
    assert [state[key] for key in ("func_evals", "n_iter")] == [other[key] for key in ("func_evals", "n_iter")]
    assert [len(state[key]) for key in ("old_dirs", "old_stps", "ro")] == [len(other["ro"])] * 3


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.parametrize("name", ["short history", "wolfe"])
def test_runs_are_resumed_from_either(name: str) -> None:
    mine, theirs = (Run(library, network, OPTIONS[name]) for library in (svod, torch))
    mine.go(3)
    theirs.go(3)
    again, from_theirs = Run(svod, network, {}), Run(svod, network, {})
    for run, of in ((again, mine), (from_theirs, theirs)):
        for parameter, value in zip(run.params, of.params, strict=True):
            with svod.no_grad():
                parameter.assign(svod.Tensor(value.detach().numpy()))
        run.made.load_state_dict(of.made.state_dict())
    wanted = mine.go(6)
    assert again.go(6) == wanted
    np.testing.assert_allclose(from_theirs.go(6), theirs.go(6), rtol=1e-8)


def test_a_state_is_not_changed_by_later_steps() -> None:
    run = Run(svod, valley, {"lr": 0.1, "max_iter": 3})
    assert run.made.state_dict()["state"][0] == {"func_evals": 0, "n_iter": 0}
    run.go(2)
    saved = run.made.state_dict()["state"][0]
    rows = [row.tolist() for row in saved["old_dirs"]]
    run.go(2)
    assert [row.tolist() for row in saved["old_dirs"]] == rows
    run.made.load_state_dict(Run(svod, valley, {}).made.state_dict())
    assert run.made.state_dict()["state"][0] == {"func_evals": 0, "n_iter": 0}


def test_least_squares_are_found() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((50, 5)), rng.standard_normal(50)
    w = svod.zeros(5, dtype="float64").requires_grad_()
    optimizer = optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=100, tolerance_change=0.0)

    def closure() -> float:
        optimizer.zero_grad()
        loss = ((svod.Tensor(x) @ w - svod.Tensor(y)) ** 2).mean()
        loss.backward()
        return loss.item()

    before = optimizer.step(closure)
    assert before == pytest.approx((y**2).mean())
    np.testing.assert_allclose(w.numpy(), np.linalg.lstsq(x, y)[0], rtol=1e-5, atol=1e-6)


def test_weights_of_16_bits_and_rates_of_a_schedule() -> None:
    w = svod.Tensor([3.0, -2.0], dtype="bfloat16").requires_grad_()
    optimizer = optim.LBFGS([w], lr=1.0, max_iter=4)
    schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def closure() -> svod.Tensor:
        optimizer.zero_grad()
        loss = ((w.float() - svod.Tensor([1.0, 0.5])) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
        schedule.step()
    assert w.dtype == svod.bfloat16 and w.tolist() == [1.0, 0.5]
    assert optimizer.param_groups[0]["lr"] == 0.125
    assert optimizer.state_dict()["state"][0]["master"].dtype == svod.float32


def test_nothing_is_compiled_once_the_history_is_full() -> None:
    svod.clear_caches()
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).requires_grad_()
    optimizer = optim.LBFGS(model.parameters(), lr=0.1, max_iter=2, history_size=3)
    rng = np.random.default_rng(0)
    counts = []
    for _ in range(10):
        x = svod.Tensor(rng.standard_normal((8, 3)).astype(np.float32))

        def closure(x: svod.Tensor = x) -> svod.Tensor:
            optimizer.zero_grad()
            loss = ((model(x) - x.sum(1, keepdims=True)) ** 2).mean()
            loss.backward()
            return loss

        optimizer.step(closure)
        counts.append(svod.compile_times()["lower"][0])
    assert counts[5:] == [counts[5]] * 5


@pytest.mark.parametrize(
    ("act", "kind", "says"),
    [
        (lambda w: optim.LBFGS([w], line_search_fn="wolfe"), svod.ArgumentError, "line_search_fn is"),
        (lambda w: optim.LBFGS([w], max_iter=0), svod.ArgumentError, "max_iter=0: at least 1"),
        (lambda w: optim.LBFGS([w], history_size=0), svod.ArgumentError, "history_size=0: at least 1"),
        (lambda w: optim.LBFGS([w], lr=-1.0), svod.ArgumentError, r"LBFGS: lr: .*-1\.0"),
        (lambda w: optim.LBFGS([{"params": [w]}, {"params": [svod.zeros(1)]}]), svod.ArgumentError, "of one group"),
        (lambda w: optim.LBFGS([w]).step(None), svod.ArgumentTypeError, "closure: a function"),
        (lambda w: optim.LBFGS([w]).step(lambda: None), svod.ArgumentTypeError, "its loss is a tensor or a number"),
        (
            lambda w: optim.LBFGS([w]).load_state_dict(Run(svod, valley, {}).made.state_dict() | OF_THREE),
            nn.StateError,
            r"d has shape \(3,\), not \(2,\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(act: Any, kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        act(svod.zeros(2).requires_grad_())


OF_THREE = {"state": {0: {"d": np.zeros(3)}}}


def test_a_step_is_no_part_of_a_traced_function() -> None:
    w = svod.zeros(2).requires_grad_()
    optimizer = optim.LBFGS([w])
    with pytest.raises(svod.TraceError, match=r"LBFGS\.step goes by the values of losses"):
        svod.jit(lambda: optimizer.step(lambda: (w * w).sum()))()
