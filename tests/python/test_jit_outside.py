"""What a jitted function finds outside of its arguments is what is there at the call."""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import gc
import importlib
import sys
import types
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn

X = np.float32([1.0, 2.0, 3.0])
SCALE = svod.Tensor([1.0, 1.0, 1.0])
HELD: dict[str, Any] = {"list": [svod.Tensor([1.0, 1.0, 1.0])], "by": 1.0}


class Scaled(nn.Module):
    """A module with a parameter of its own and one of a layer in a list."""

    def __init__(self) -> None:
        self.weight = svod.ones(3)
        self.layers = [nn.Linear(3, 3, bias=False)]
        self.layers[0].weight = svod.Tensor(np.eye(3, dtype=np.float32))

    def __call__(self, x: svod.Tensor) -> svod.Tensor:
        return self.layers[0](x * self.weight)


def compiled() -> int:
    """Kernels that were compiled so far."""
    return int(svod.caches()["kernels"])


WAYS: dict[str, Callable[[Scaled], Any]] = {
    "the module": lambda m: svod.jit(m),
    "its method": lambda m: svod.jit(m.__call__),
    "a closure": lambda m: svod.jit(lambda x: m(x)),
    "a default": lambda m: svod.jit(lambda x, m=m: m(x)),
    "an argument": lambda m: functools.partial(svod.jit(lambda m, x: m(x)), m),
    "partial": lambda m: svod.jit(functools.partial(lambda m, x: m(x), m)),
    "a container": lambda m: svod.jit(lambda x, box={"in": [(m,)]}: box["in"][0][0](x)),
    "a nested function": lambda m: svod.jit(lambda x: (lambda: (lambda y: m(y))(x))()),
    "a wrapper": lambda m: svod.jit(functools.wraps(m.__call__)(lambda x: m(x))),
    "an object": lambda m: (lambda held: svod.jit(lambda x: held.run(x)))(types.SimpleNamespace(run=m)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_jitted_module_follows_its_parameters(way: str) -> None:
    model = Scaled()
    f = WAYS[way](model)
    for _ in range(2):
        assert f(X).tolist() == [1.0, 2.0, 3.0]
    before = compiled()
    model.weight.assign(2)
    assert f(X).tolist() == [2.0, 4.0, 6.0]
    model.weight[1] = 5
    assert f(X).tolist() == [2.0, 10.0, 6.0]
    model.weight = svod.Tensor([3.0, 3.0, 3.0])
    assert f(X).tolist() == [3.0, 6.0, 9.0]
    eye = svod.Tensor(np.eye(3, dtype=np.float32))
    model.load_state_dict({"weight": svod.full((3,), 4.0), "layers.0.weight": eye * 2})
    assert f(X).tolist() == [8.0, 16.0, 24.0]
    model.layers[0] = nn.Linear(3, 3, bias=False)
    model.layers[0].weight = eye
    assert f(X).tolist() == [4.0, 8.0, 12.0]
    model.layers[0].weight += eye
    assert f(X).tolist() == [8.0, 16.0, 24.0]
    # Assigning compiled one kernel at most, the sum; the function none.
    model.weight.realize(), model.layers[0].weight.realize()
    assert compiled() - before <= 3
    jitted = f.func if isinstance(f, functools.partial) else f
    traces = jitted.traces
    for i in range(5):
        before = compiled()
        model.weight = svod.Tensor(np.full(3, i, np.float32))
        assert f(X).tolist() == [2.0 * i, 4.0 * i, 6.0 * i]
        assert (compiled(), jitted.traces) == (before, traces)


def test_names_that_are_bound_anew() -> None:
    w = svod.Tensor([1.0, 1.0, 1.0])
    f = svod.jit(lambda x: x * w)
    for i in range(4):
        w = svod.Tensor(np.full(3, i, np.float32))
        assert f(X).tolist() == (X * i).tolist()
    w = w + 1
    assert f(X).tolist() == (X * 4).tolist()
    assert f.traces == 1
    # Of another shape or type it is another trace, and the first is still there.
    w = svod.Tensor([[2.0], [3.0]])
    assert f(X).tolist() == [[2, 4, 6], [3, 6, 9]]
    w = svod.Tensor([1.0, 1.0, 2.0])
    assert f(X).tolist() == [1, 2, 6]
    assert f.traces == 2
    # What is no tensor is part of the trace.
    w = 3.0
    assert f(X).tolist() == [3, 6, 9]
    w = 4.0
    assert f(X).tolist() == [4, 8, 12]


HOLDERS: dict[str, Callable[[svod.Tensor], tuple[Any, Callable[[Any, svod.Tensor], Any]]]] = {
    "deque": lambda w: (collections.deque([w], maxlen=1), collections.deque.append),
    "UserDict": lambda w: (collections.UserDict({-1: w}), lambda held, new: held.update({-1: new})),
    "UserList": lambda w: (collections.UserList([w]), collections.UserList.append),
    "ChainMap": lambda w: (collections.ChainMap({}, {-1: w}), lambda held, new: held.maps[1].update({-1: new})),
    "OrderedDict": lambda w: (collections.OrderedDict({-1: w}), lambda held, new: held.update({-1: new})),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_holders_of_pythons_library_are_looked_into(kind: str) -> None:
    held, put = HOLDERS[kind](svod.Tensor([1.0, 1.0, 1.0]))
    f = svod.jit(lambda x: x * held[-1])
    for i in range(4):
        put(held, svod.Tensor(np.full(3, i, np.float32)))
        assert f(X).tolist() == (X * i).tolist()


def test_names_of_a_namespace_without_a_name() -> None:
    space: dict[str, Any] = {"svod": svod}
    exec("w = svod.Tensor([1.0, 1.0, 1.0])\nf = svod.jit(lambda x: x * w)", space)
    for i in range(4):
        space["w"] = svod.Tensor(np.full(3, i, np.float32))
        assert space["f"](X).tolist() == (X * i).tolist()


def test_an_attribute_is_no_global_of_its_name() -> None:
    """A loop over `step` beside a method `step`, as every script of training has one."""
    space: dict[str, Any] = {"svod": svod, "__name__": "__main__"}
    code = """
class Held:
    weight = svod.Tensor([1.0, 1.0, 1.0])
    def step(self, x):
        return x * self.weight
held = Held()
f = svod.jit(lambda x: held.step(x))
for step in range(4):
    f(svod.ones(3))
"""
    exec(code, space)
    assert space["f"].traces == 1


def test_a_module_that_is_imported_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = types.ModuleType("settings_of_a_test")
    settings.value = 1.0  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, settings.__name__, settings)
    space: dict[str, Any] = {"svod": svod, "__name__": "__main__", settings.__name__: settings}
    code = "def f(x):\n    import settings_of_a_test as m\n    return x * m.value\nf = svod.jit(f)"
    exec(code, space)
    assert space["f"](X).tolist() == X.tolist()
    settings.value = 2.0  # type: ignore[attr-defined]
    assert space["f"](X).tolist() == (2 * X).tolist()


def helper(x: svod.Tensor) -> svod.Tensor:
    return x * SCALE * HELD["list"][0] * HELD["by"]


class Constants:
    """A class whose attribute is a tensor."""

    factor = svod.Tensor([1.0, 1.0, 1.0])

    @property
    def twice(self) -> svod.Tensor:
        return self.factor * SCALE

    @staticmethod
    def scaled(x: svod.Tensor) -> svod.Tensor:
        return x * Constants.factor


def test_globals_of_functions_that_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    constants = Constants()
    f = svod.jit(lambda x: helper(x))
    g = svod.jit(lambda x: constants.scaled(x * constants.twice))
    assert f(X).tolist() == g(X).tolist() == X.tolist()
    monkeypatch.setitem(globals(), "SCALE", svod.Tensor([2.0, 2.0, 2.0]))
    assert f(X).tolist() == g(X).tolist() == (2 * X).tolist()
    monkeypatch.setattr(Constants, "factor", svod.Tensor([3.0, 3.0, 3.0]))
    assert g(X).tolist() == (18 * X).tolist()
    monkeypatch.setitem(HELD, "list", HELD["list"].copy())
    assert f(X).tolist() == (2 * X).tolist()
    HELD["list"][0] = svod.Tensor([5.0, 5.0, 5.0])
    assert f(X).tolist() == (10 * X).tolist()
    assert (f.traces, g.traces) == (1, 1)
    monkeypatch.setitem(HELD, "by", 2.0)
    assert f(X).tolist() == (20 * X).tolist()
    monkeypatch.setitem(globals(), "helper", lambda x: x + 1)
    assert f(X).tolist() == (X + 1).tolist()


def test_tensors_of_other_modules() -> None:
    other = types.ModuleType("other")
    other.weight = svod.Tensor([2.0, 2.0, 2.0])  # type: ignore[attr-defined]
    f = svod.jit(lambda x: x * other.weight)
    assert f(X).tolist() == (2 * X).tolist()
    other.weight = svod.Tensor([3.0, 3.0, 3.0])  # type: ignore[attr-defined]
    assert f(X).tolist() == (3 * X).tolist()


def test_slots_and_mappings_of_other_classes() -> None:
    class Slots:
        __slots__ = ("w",)

    slots, ordered = Slots(), __import__("collections").OrderedDict(w=svod.Tensor(2.0))
    slots.w = svod.Tensor(3.0)
    f = svod.jit(lambda x: x * slots.w + ordered["w"])
    assert f(X).tolist() == (3 * X + 2).tolist()
    slots.w, ordered["w"] = svod.Tensor(4.0), svod.Tensor(5.0)
    assert f(X).tolist() == (4 * X + 5).tolist()
    assert f.traces == 1


def test_what_cannot_be_found_again_is_read_by_its_handle() -> None:
    def made() -> Any:
        hidden = iter([])
        w = svod.Tensor(2.0)
        hidden = (lambda: (yield w))()
        next(hidden)
        return hidden, w

    frame, w = made()
    f = svod.jit(lambda x: x * frame.gi_frame.f_locals["w"])
    assert f(X).tolist() == (2 * X).tolist()
    w.assign(3.0)
    assert f(X).tolist() == (3 * X).tolist()
    assert f.traces == 1


def test_tied_weights_and_ones_that_are_not() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            self.a = svod.Tensor([1.0, 1.0, 1.0])
            self.b = self.a

        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return x * self.a + self.b

    model = Tied()
    f = svod.jit(model)
    assert f(X).tolist() == (X + 1).tolist()
    model.a.assign(2)
    assert f(X).tolist() == (2 * X + 2).tolist()
    model.b = svod.Tensor([0.0, 0.0, 0.0])
    assert f(X).tolist() == (2 * X).tolist()
    model.a = model.b
    assert f(X).tolist() == [0, 0, 0]


def test_switches_of_a_module_are_followed() -> None:
    class Switch(nn.Module):
        def __init__(self) -> None:
            self.on = True

        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return x * 2 if self.on else x

    model = Switch()
    f = svod.jit(lambda x: model(x))
    assert f(X).tolist() == (2 * X).tolist()
    model.on = False
    assert f(X).tolist() == X.tolist()
    model.on = True
    assert f(X).tolist() == (2 * X).tolist()
    assert f.traces == 2


def test_data_of_tensors_from_outside_may_be_looked_at() -> None:
    """As outside of `jit`; the trace then is for this value."""
    n, mask, at = svod.Tensor(2), svod.Tensor([True, False, True]), svod.Tensor([2, 0])
    w = svod.Tensor([1.0, 1.0, 1.0])
    traced = []

    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        traced.append(1)
        return (x * w)[mask][: n.item()] + x[at]

    assert f(X).tolist() == [1.0 + 3.0, 3.0 + 1.0]
    number = len(traced)
    w.assign(2)
    assert f(X).tolist() == [2.0 + 3.0, 6.0 + 1.0]
    at.assign(svod.Tensor([1, 1]))
    assert f(X).tolist() == [2.0 + 2.0, 6.0 + 2.0]
    assert len(traced) == number
    mask.assign(svod.Tensor([True, True, False]))
    assert f(X).tolist() == [2.0 + 2.0, 4.0 + 2.0]
    n.assign(1)
    assert f(X).tolist() == [2.0 + 2.0, 2.0 + 2.0]
    assert f.traces == 1
    assert len(traced) > number


def test_outputs_of_plans_and_arrays_that_are_borrowed() -> None:
    x = svod.Tensor(X)
    y = x * 2
    plan = y.prepare(inputs=[x])
    plan.execute()
    array = X.copy()
    borrowed = svod.from_numpy(array)
    f = svod.jit(lambda a: a + y + borrowed)
    assert f(X).tolist() == (X * 4).tolist()
    plan.execute(X * 2)
    array[:] = 0
    assert f(X).tolist() == (X * 5).tolist()
    assert f.traces == 1


def test_a_tensor_from_outside_that_is_given_back() -> None:
    w = svod.Tensor([1.0, 2.0])
    f = svod.jit(lambda x: {"w": w, "same": w, "x": x})
    first = f(X)
    w.assign(5)
    second = f(X)
    assert first["w"].tolist() == [1.0, 2.0]
    assert second["w"].tolist() == second["same"].tolist() == [5.0, 5.0]
    second["w"].assign(0)
    assert w.tolist() == [5.0, 5.0]


def test_lazy_tensors_are_computed_once() -> None:
    calls = []

    def count(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        calls.append(1)
        return a

    w = svod.custom(count, svod.Tensor([2.0, 2.0, 2.0]))
    f = svod.jit(lambda x: x * w)
    for _ in range(3):
        assert f(X).tolist() == (2 * X).tolist()
    assert len(calls) == 1


def test_values_on_several_devices() -> None:
    w = svod.Tensor(np.ones((4, 3), np.float32)).shard(["CPU", "CPU:1"], 0)
    f, x = svod.jit(lambda x: (x * w).sum(0)), svod.Tensor(X).shard(["CPU", "CPU:1"])
    assert f(x).to("CPU").tolist() == (4 * X).tolist()
    w.assign(2)
    assert f(x).to("CPU").tolist() == (8 * X).tolist()
    assert f.traces == 1
    there, lazy = svod.Tensor(X).to("CPU:1"), svod.ones(3) * 2
    g = svod.jit(lambda x: x * lazy)
    assert g(there).tolist() == (2 * X).tolist()
    lazy = svod.Tensor([3.0, 3.0, 3.0]).to("CPU:1")
    assert g(there).tolist() == (3 * X).tolist()


def test_sizes_of_tensors_from_outside() -> None:
    w = svod.ones(2)
    f = svod.jit(lambda x: x + w.shape[0] + w.ndim)
    assert f(X).tolist() == (X + 3).tolist()
    w = svod.ones(4, 1)
    assert f(X).tolist() == (X + 6).tolist()


def test_errors_of_tensors_from_outside_are_named() -> None:
    w = svod.ones(4)
    f = svod.jit(lambda x: x + w)
    with pytest.raises(svod.ShapeError, match="do not broadcast"):
        f(X)
    w = svod.ones(3)
    assert f(X).tolist() == (X + 1).tolist()


def test_a_jitted_function_keeps_no_cycle_alive() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.weight = svod.ones(3)
            self.run = svod.jit(self.compute)

        def compute(self, x: svod.Tensor) -> svod.Tensor:
            return x * self.weight

    model = Model()
    assert model.run(X).tolist() == X.tolist()
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_volatile_numbers_of_what_is_not_called_do_not_matter() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.w = svod.Tensor([1.0, 1.0, 1.0])

        def compute(self, x: svod.Tensor) -> svod.Tensor:
            return x * self.w

        def log(self) -> Any:
            return COUNTER[0]

    trainer = Trainer()
    f = svod.jit(trainer.compute)
    for i in range(3):
        COUNTER[0] = i
        assert f(X).tolist() == X.tolist()
    assert f.traces == 1


COUNTER = [0]


def test_what_a_function_writes_itself_is_no_condition() -> None:
    class Causal(nn.Module):
        def __init__(self) -> None:
            self.mask: Any = None
            self.calls: list[int] = []

        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            self.calls.append(len(self.calls))
            if self.mask is None:
                self.mask = svod.arange(3) < 2
            return svod.where(self.mask, x, 0)

    model = Causal()
    f = svod.jit(model)
    for _ in range(3):
        assert f(X).tolist() == [1.0, 2.0, 0.0]
    assert f.traces == len(model.calls) == 1


def test_what_is_reached_is_not_asked_for_its_attributes() -> None:
    class Deprecated:
        def __init__(self) -> None:
            self.scale = svod.Tensor(2.0)

        def __getattribute__(self, name: str) -> Any:
            # What `isinstance` asks for.
            assert name == "__class__", f"{name} is deprecated"
            return object.__getattribute__(self, name)

    old = Deprecated()
    f = svod.jit(lambda x: x * 3 if old is not None else x)
    for number in (1.0, 2.0):
        assert f(svod.Tensor(number)).item() == 3 * number


def made_by(maker: str) -> Any:
    """An object with a tensor, or with a number, of a class that a program makes in one of several ways."""
    given = svod.Tensor([2.0])
    match maker:
        case "argparse":
            return argparse.Namespace(w=given)
        case "dataclass":
            return dataclasses.make_dataclass("Made", ["w"])(given)
        case "class":
            found = types.new_class("Made")()
        case "exec":
            space: dict[str, Any] = {}
            exec("class Made: pass", {}, space)
            found = space["Made"]()
        case _:

            def found() -> None: ...

    found.w = given
    return found


@pytest.mark.parametrize("maker", ["argparse", "dataclass", "class", "exec", "function"])
def test_what_a_program_makes_is_no_librarys(maker: str) -> None:
    """Classes that are made by a call say that they are of the library that made them."""
    holder = made_by(maker)
    f = svod.jit(lambda x: x * holder.w)
    assert f(np.float32([3])).tolist() == [6]
    holder.w = svod.Tensor([5.0])
    assert f(np.float32([3])).tolist() == [15]
    assert f.traces == 1
    holder.w = 7.0
    assert f(np.float32([3])).tolist() == [21]


def test_a_module_of_the_program_may_have_a_name_of_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "xdrlib.py").write_text("class Rates:\n    pass\n\nw = 2.0\n\ndef scaled(x):\n    return x * w\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "xdrlib", raising=False)
    own = importlib.import_module("xdrlib")
    rates = own.Rates()
    rates.w = svod.Tensor([2.0])
    f, g = svod.jit(lambda x: x * rates.w), svod.jit(own.scaled)
    assert (f(np.float32([3])).tolist(), g(np.float32([3])).tolist()) == ([6], [6])
    rates.w, own.w = svod.Tensor([5.0]), 7.0
    assert (f(np.float32([3])).tolist(), g(np.float32([3])).tolist()) == ([15], [21])
    monkeypatch.delitem(sys.modules, "xdrlib")
