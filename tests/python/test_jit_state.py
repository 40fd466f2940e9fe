"""Numbers and text that a jitted function changes outside: each call changes them, as if it were not traced."""

from __future__ import annotations

from typing import Any

import pytest

import svod
from svod import nn

total = 0


class Counting(nn.Module):
    def __init__(self) -> None:
        self.weight = svod.ones(2)
        self.steps = 0
        self.each = [0, 10]
        self.by_name = {"rate": 1.0, "mode": "first"}

    def forward(self, x: svod.Tensor) -> svod.Tensor:
        self.steps += 1
        self.each[1] -= 1
        self.by_name["rate"] /= 2
        self.by_name["mode"] = "later"
        return x * self.weight * (self.steps * 100 + self.each[1]) * self.by_name["rate"]

    def state(self) -> Any:
        return self.steps, list(self.each), dict(self.by_name)


def test_numbers_of_a_module_change_with_each_call() -> None:
    plain, traced = Counting(), Counting()
    f, x = svod.jit(traced), svod.ones(2)
    for _ in range(5):
        assert f(x).tolist() == plain(x).tolist()
        assert traced.state() == plain.state()


def test_what_a_trace_changes_follows_from_what_it_found() -> None:
    """Where the numbers are what they were before, so are the trace, its result, and what it changes."""
    model, x = Counting(), svod.ones(2)
    f = svod.jit(model)
    first = [(f(x).tolist(), model.state()) for _ in range(3)]
    traces = f.traces
    model.steps, model.each, model.by_name = 0, [0, 10], {"rate": 1.0, "mode": "first"}
    assert [(f(x).tolist(), model.state()) for _ in range(3)] == first
    assert f.traces == traces
    # A kind of arguments of its own finds the numbers that the calls before have left.
    assert f(svod.ones(2, dtype="float64")).tolist()[0] == (400 + 6) / 16
    assert model.steps == 4


def test_globals_and_cells() -> None:
    calls = 0

    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        nonlocal calls
        global total
        calls += 1
        total += 2
        return x * calls + total

    start = total
    assert [f(svod.ones(1)).item() for _ in range(3)] == [start + 3 * k for k in (1, 2, 3)]
    assert (calls, total) == (3, start + 6)


def test_a_call_that_fails_changes_no_number() -> None:
    model = Counting()

    def fails(a: Any) -> Any:
        raise ValueError("not now")

    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        return svod.custom(fails, model(x))

    for _ in range(2):
        with pytest.raises(ValueError, match="not now"):
            f(svod.ones(2)).numpy()
        assert model.steps == 0


def test_a_tensor_needs_one_trace() -> None:
    class Held(nn.Module):
        def __init__(self) -> None:
            self.register_buffer("steps", svod.zeros(()))

        def forward(self, x: svod.Tensor) -> svod.Tensor:
            self.steps += 1
            return x * self.steps

    model = Held()
    f = svod.jit(model)
    assert [f(svod.ones(1)).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert (f.traces, model.steps.item()) == (1, 4.0)


def test_what_is_kept_for_later_calls_is_no_condition() -> None:
    kept: dict[str, Any] = {}

    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        kept.setdefault("calls", 0)
        kept.setdefault("names", []).append("f")
        return x + 1

    assert [f(svod.ones(1)).item() for _ in range(3)] == [2.0] * 3
    assert (kept, f.traces) == ({"calls": 0, "names": ["f"]}, 1)


def test_assigning_to_an_argument_says_what_to_write() -> None:
    def assigned(x: svod.Tensor) -> svod.Tensor:
        return x.assign(x + 1)

    def one(x: svod.Tensor) -> svod.Tensor:
        x[0] = 5
        return x

    def added(x: svod.Tensor) -> svod.Tensor:
        return x.add_(1)

    for function in (assigned, one, added):
        x = svod.ones(2)
        with pytest.raises(svod.TraceError, match=r"writes argument `x`.*return the new value, and assign it where"):
            svod.jit(function)(x)
        assert x.tolist() == [1, 1]


def test_a_module_is_moved_and_cast_with_jit_and_without() -> None:
    layer = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).requires_grad_()
    before = {name: tensor.numpy().copy() for name, tensor in layer.state_dict().items()}
    assert layer.to("float64", device="CPU:1") is layer
    for name, tensor in layer.state_dict().items():
        kind = "int64" if name.endswith("tracked") else "float64"
        assert (str(tensor.dtype), tensor.device) == (kind, "CPU:1")
        assert tensor.to("CPU").tolist() == before[name].tolist()
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in layer.parameters())

    class Casting(nn.Module):
        def __init__(self) -> None:
            self.inner = nn.Linear(3, 2)

        def forward(self, x: svod.Tensor) -> svod.Tensor:
            return self.inner.to("float64")(x.to("float64"))

    model = Casting()
    expected = model.inner(svod.ones(1, 3)).numpy()
    f = svod.jit(model)
    for _ in range(3):
        result = f(svod.ones(1, 3))
        assert str(result.dtype) == "float64"
        assert abs(result.numpy() - expected).max() < 1e-6
    assert str(model.inner.weight.dtype) == "float64"


def test_tied_tensors_stay_one_when_they_are_moved() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            self.one = svod.ones(2)
            self.other = self.one

    model = Tied().to("float16")
    assert model.one is model.other and str(model.one.dtype) == "float16"
