"""What tells one call of a function made by `jit` from another: structure, shapes, sizes, values and identity."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import svod
from svod import nn

N = svod.Variable("n", 1, 64)


@dataclass(frozen=True)
class Pair:
    first: svod.Tensor
    second: list[Any]

    def __post_init__(self) -> None:
        assert self.first.ndim == 1


class Named(NamedTuple):
    x: Any
    note: str


def test_jit_traces_once_for_structure_type_and_shape() -> None:
    calls = []

    @svod.jit
    def f(x: Any, pair: Pair, *, scale: float = 1.0, extra: dict[str, Any] | None = None) -> Any:
        calls.append(1)
        y = (x * scale + pair.first) @ pair.second[0]
        if extra is not None:
            y = y + extra["bias"]
        return {"y": y, "all": (y.sum(), [x, scale], Named(y * 2, "note")), "pair": pair}

    x, v, w = np.ones((3, 4), np.float32), svod.arange(4).cast("float32"), np.eye(4, dtype=np.float32)
    want = x + np.arange(4)
    for _ in range(3):
        out = f(x, Pair(v, [w]))
        np.testing.assert_array_equal(out["y"].numpy(), want)
        total, (given, scale), named = out["all"]
        assert total.item() == want.sum() and scale == 1.0 and named.note == "note"
        np.testing.assert_array_equal(given.numpy(), x)
        np.testing.assert_array_equal(named.x.numpy(), want * 2)
        np.testing.assert_array_equal(out["pair"].first.numpy(), np.arange(4))
    assert (len(calls), f.traces) == (1, 1)
    for count, call in enumerate(
        [
            lambda: f(x, Pair(v, [w]), scale=2.0),
            lambda: f(x[:2], Pair(v, [w])),
            lambda: f(x.astype(np.float64), Pair(v, [w])),
            lambda: f(x, Pair(v, [w]), extra={"bias": v}),
            lambda: f(x, Pair(v, (w,))),  # type: ignore[arg-type]
            lambda: f(x, Pair(v, [w]), scale=2),
        ],
        start=2,
    ):
        call()
        call()
        assert len(calls) == count
    f.clear()
    assert f.traces == 0


def test_jit_traces_once_however_a_call_is_written() -> None:
    def f(x: Any, /, y: Any, scale: float = 2.0, *rest: Any, bias: float = 0.0, sign: int = 1, **more: Any) -> Any:
        return (x * scale + y + bias) * sign + sum(rest) + sum(more.values())

    jitted, x, y = svod.jit(f), np.ones(3, np.float32), np.arange(3, dtype=np.float32)
    for call in (
        lambda g: g(x, y),
        lambda g: g(x, y=y),
        lambda g: g(x, y, 2.0),
        lambda g: g(x, scale=2.0, y=y),
        lambda g: g(x, y, bias=0.0),
        lambda g: g(x, y, sign=1, bias=0.0),
        lambda g: g(x, bias=0.0, sign=1, scale=2.0, y=y),
    ):
        assert call(jitted).tolist() == [2, 3, 4]
        assert jitted.traces == 1
    assert jitted(x, y, 1.0, y).tolist() == [1, 3, 5]
    assert jitted(x, y, other=y).tolist() == [2, 4, 6]
    assert jitted.traces == 3

    class Model:
        @svod.jit
        def run(self, x: Any, k: Any = None) -> Any:
            return x + 1

    model = Model()
    assert model.run(x).tolist() == model.run(x=x).tolist() == model.run(x, k=None).tolist() == [2, 2, 2]
    assert Model.run.traces == 1  # type: ignore[attr-defined]
    for wrong in (lambda: jitted(x), lambda: jitted(x=x, y=y), lambda: jitted(x, y, y=y), lambda: model.run(x, j=1)):
        with pytest.raises(TypeError, match="argument"):
            wrong()
    # Of what a wrapper passes on nothing is known.
    loose = svod.jit(lambda *args, **kwargs: f(*args, **kwargs))
    assert loose(x, y).tolist() == loose(x, y=y).tolist() == [2, 3, 4]
    assert loose.traces == 2
    with pytest.raises(svod.ArgumentError, match=r"no parameter \['z'\], whose shape is declared"):
        svod.jit(lambda x: x, shapes={"z": (N,)})


def test_jit_numbers_that_change() -> None:
    calls = []

    @svod.jit
    def f(x: Any, scale: Any, n: Any = 4) -> Any:
        calls.append(1)
        return (x * scale)[:n]

    x = np.arange(4, dtype=np.float32)
    for scale in (1.0, 2.0, 3.0):
        assert f(x, np.float32(scale)).tolist() == (x * scale).tolist()
        assert f(x, np.asarray(scale, np.float32)).tolist() == (x * scale).tolist()
    assert len(calls) == 1
    n = svod.Variable("n", 1, 4)
    for size in (1, 4, 2):
        assert f(x, np.float32(2), n.bind(size)).tolist() == (x * 2)[:size].tolist()
        assert f(x, np.float32(2), n=n.bind(size)).shape == (size,)
    assert len(calls) == 2
    for scalar in (np.float64(0.5), np.float16(0.5), np.int8(3), np.bool_(True)):
        eager = svod.Tensor(x) * scalar
        assert (f(x, scalar).dtype, f(x, scalar).tolist()) == (eager.dtype, eager.tolist())
    assert svod.jit(lambda x, name: x + len(name))(x, np.str_("ab")).tolist() == [2, 3, 4, 5]
    calls.clear()
    calls += [1, 1]
    # Python's numbers are part of the trace.
    for scale in (2.0, 2, True, 0.0, -0.0, float("nan"), float("nan")):
        f(x, scale)
    assert len(calls) == 2 + 6

    g = svod.jit(lambda x, n, m: x[: n + m].sum() + n)
    assert g(x, n.bind(1), n.bind(1)).item() == 2
    assert g(x, n.bind(2), n.bind(2) - 1).item() == 5
    assert g.traces == 2
    with pytest.raises(svod.ArgumentError, match="bind mismatch: n=1 and n=2"):
        g(x, n.bind(1), n.bind(2))
    unused = svod.jit(lambda x, n: x + 1)
    assert unused(x, n.bind(1)).tolist() == unused(x, n.bind(2)).tolist() and unused.traces == 1
    with pytest.raises(svod.TraceError, match="a traced function runs once"):
        svod.jit(lambda x, n: x * int(n))(x, n.bind(3))


def test_jit_keeps_the_classes_of_containers() -> None:
    f = svod.jit(lambda box: OrderedDict(b=box["a"] + 1, a=box["a"]))
    boxed = defaultdict(list, a=np.ones(2, np.float32))
    for _ in range(2):
        result = f(boxed)
        assert type(result) is OrderedDict and list(result) == ["b", "a"]
        assert (result["b"].tolist(), result["a"].tolist()) == ([2, 2], [1, 1])
    assert f.traces == 1


def test_jit_follows_the_parameters_of_its_module() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            self.weight = svod.ones(3)
            self.layers = [nn.Linear(3, 3, bias=False)]

        @svod.jit
        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return self.layers[0](x * self.weight)

    model, x = Model(), np.ones(3, np.float32)
    eye = svod.Tensor(np.eye(3, dtype=np.float32))
    model.load_state_dict({"weight": svod.full((3,), 2.0), "layers.0.weight": eye})
    jitted = type(model).__call__
    for _ in range(3):
        assert model(x).tolist() == [2, 2, 2]
    assert jitted.traces == 1  # type: ignore[attr-defined]
    model.weight.assign(5)
    assert model(x).tolist() == [5, 5, 5]
    model.weight[1] = 7
    assert model(x).tolist() == [5, 7, 5]
    model.load_state_dict({"weight": svod.ones(3), "layers.0.weight": eye * 3})
    assert model(x).tolist() == [3, 3, 3] == model(x).tolist()


def test_tensors_of_plain_objects_are_watched() -> None:
    class Scale:
        def __init__(self, by: float) -> None:
            self.by = svod.Tensor(by)

        @svod.jit
        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return x * self.by

    scale, x = Scale(2.0), np.float32([1, 2])
    assert scale(x).tolist() == [2.0, 4.0]
    scale.by = svod.Tensor(3.0)
    assert scale(x).tolist() == [3.0, 6.0]


def test_attributes_of_objects_are_watched() -> None:
    """Issue 6: what a function reads of its arguments is what it is in the call."""

    class Settings:
        def __init__(self) -> None:
            self.factor = 2.0
            self.itself = self

    class Model(nn.Module):
        def __init__(self) -> None:
            self.settings = Settings()
            self.steps = [1, 2]

        @svod.jit
        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            return x * self.settings.factor + len(self.steps)

        def twice(self, x: svod.Tensor) -> svod.Tensor:
            return x * self.settings.factor

    model, x = Model(), svod.Tensor([1.0])
    applied = svod.jit(lambda f, x: f(x))
    for _ in range(2):
        assert (model(x).item(), applied(model.twice, x).item()) == (4.0, 2.0)
    assert applied.traces == 1
    model.settings.factor = 3.0
    assert (model(x).item(), applied(model.twice, x).item()) == (5.0, 3.0)
    model.steps.append(3)
    assert model(x).item() == 6.0
    model.settings = Settings()
    assert (model(x).item(), applied(model.twice, x).item()) == (5.0, 2.0)


def test_values_that_are_equal_are_one_kind() -> None:
    """Issue 6: slices, ranges, sets, types and paths count by value; a set that changed is another one."""
    calls = []

    @svod.jit
    def f(a: svod.Tensor, what: Any) -> Any:
        calls.append(what)
        return a[what] if isinstance(what, slice) else a * len(what) if isinstance(what, (set, frozenset, range)) else a

    x, items = svod.Tensor([1.0, 2.0, 3.0]), {1, "two"}
    for _ in range(2):
        assert f(x, slice(0, 2)).tolist() == [1.0, 2.0]
        assert f(x, range(3)).tolist() == [3.0, 6.0, 9.0]
        assert f(x, frozenset((1, 2))).tolist() == [2.0, 4.0, 6.0]
        assert f(x, {1, "two"}).tolist() == f(x, items).tolist() == [2.0, 4.0, 6.0]
        for value in (np.dtype([("a", "f4")]), svod.float32, Path("a")):
            f(x, value)
    assert len(calls) == f.traces == 7
    items.add(3)
    assert f(x, items).tolist() == [3.0, 6.0, 9.0]
    assert f(x, slice(1, 2)).tolist() == [2.0]
    assert f(x, {True, "two"}).tolist() == [2.0, 4.0, 6.0]
    assert f.traces == 10


def test_a9_a_function_may_ask_how_sizes_compare() -> None:
    """It is told what is so in the call, and traced anew where another answer is true."""
    asked: list[tuple[bool, bool, bool]] = []

    @svod.jit(shapes={"x": (N, 2)})
    def f(x: svod.Tensor) -> svod.Tensor:
        n = x.shape[0]
        answers = (n == 5, n > 20, n % 2 == 0)
        asked.append(answers)
        is_five, large, even = answers
        return x.sum(0) + (1000 if is_five else 0) + (100 if large else 0) + (10 if even else 0)

    def expected(n: int) -> list[float]:
        return [n + 1000.0 * (n == 5) + 100.0 * (n > 20) + 10.0 * (n % 2 == 0)] * 2

    for n in (3, 5, 7, 20, 21, 22, 64, 5, 1, 2, 63):
        assert f(np.ones((n, 2), np.float32)).tolist() == expected(n), n
    assert f.traces == len(asked) == len(set(asked)) == 5

    # Values of variables and of lazy tensors are sizes of the call as well.
    m = svod.Variable("m", 0, 9)
    g = svod.jit(lambda x, k: x.sum() + (1 if k == 3 else 0) + (0 if k else 50))
    data = svod.ones(64).realize()
    for n, k in ((3, 3), (4, 3), (3, 4), (5, 0), (3, 3)):
        assert g(data[: N.bind(n)], m.bind(k)).item() == n + (k == 3) + 50 * (k == 0)
    assert g.traces == 3
    h = svod.jit(lambda x: x * 2 if x.shape == (5,) else x + 0)
    assert [h(data[: N.bind(n)]).tolist() for n in (4, 5, 6)] == [[1] * 4, [2] * 5, [1] * 6]
    # Where nothing tells, as for a text of the graph, sizes that may differ are not equal.
    assert "mul" not in h.lower(svod.empty(N))


def test_a9_of_too_many_answers_the_oldest_is_forgotten() -> None:
    @svod.jit(shapes={"x": (N,)}, max_traces=2)
    def f(x: svod.Tensor) -> svod.Tensor:
        return x + sum(i for i in (1, 2, 3) if x.shape[0] == i)

    for n in (1, 2, 3, 4, 1, 2, 3):
        assert f(np.zeros(n, np.float32)).tolist() == [n if n < 4 else 0] * n
        assert f.traces <= 2


def test_calls_that_were_seen_before_are_told_apart() -> None:
    traced: list[Any] = []

    @svod.jit
    def scaled(x: svod.Tensor, by: Any = 2, more: Any = ()) -> svod.Tensor:
        traced.append(by)
        for one in more:
            x = x + one
        return x * (by["a"] if isinstance(by, dict) else by)

    x = np.float32([1.0, 2.0])
    calls: list[tuple[Any, ...]] = [
        (x,), (x, 2), (x, 2.0), (x, True), (x, 3), (svod.Tensor(x),), (svod.Tensor(x).to("CPU:1"),),
        (x.astype(np.float64),), (x[:1],), (x, {"a": 2}), (x, {"a": 3.0}),
        (x, 2, (1,)), (x, 2, [1]), (x, 2, (x, 1.5)), (x, 2, (1.5, x)),
    ]  # fmt: skip
    expected = [scaled(*call).tolist() for call in calls]
    number = len(traced)
    for _ in range(3):
        assert [scaled(*call).tolist() for call in calls] == expected
    assert len(traced) == number
    with svod.PrepareConfig(strict=True):
        assert scaled(x).tolist() == expected[0]
    assert len(traced) == number + 1
    scaled.clear()
    assert scaled.traces == 0
    assert scaled(x).tolist() == expected[0]
    assert len(traced) == number + 2
    # What a trace makes of them is part of it.
    assert svod.jit(lambda x: scaled(x) + scaled(x))(x).tolist() == [4.0, 8.0]


def test_defaults_that_change_are_seen() -> None:
    scales = [1.0]

    @svod.jit
    def scaled(x: svod.Tensor, by: list[float] = scales) -> svod.Tensor:
        return x * by[0]

    x = np.float32([3.0])
    assert [scaled(x).item(), scaled(x).item()] == [3.0, 3.0]
    scales[0] = 2.0
    assert scaled(x).item() == 6.0


def test_the_least_recently_called_is_forgotten_whichever_way_it_was_found() -> None:
    traced: list[int] = []

    @svod.jit(max_traces=2)
    def one(x: svod.Tensor, by: int) -> svod.Tensor:
        traced.append(by)
        return x + by

    x = np.zeros(1, np.float32)
    for by in (1, 2, 1, 1, 3, 1, 3, 2):
        assert one(x, by).item() == by
    assert traced == [1, 2, 3, 2]


class Refused(svod.ShapeError):
    """An error of a program's own, which is made of two things."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"input 0: {what}, for {why}")


@pytest.mark.parametrize("error", [svod.ShapeError("input 0 is not to my taste"), Refused("no", "no reason")])
def test_c8_errors_of_functions_that_a_jitted_function_calls_are_theirs(error: svod.ShapeError) -> None:
    def refuse(a: np.ndarray) -> np.ndarray:
        raise error

    jitted = svod.jit(lambda x: svod.custom(refuse, x) + 1)
    for _ in range(2):
        with pytest.raises(svod.ShapeError) as raised:
            jitted(np.zeros(3, np.float32))
        assert raised.value is error


def test_functions_of_the_library_are_traced_by_themselves() -> None:
    x = svod.Tensor([[1.0, 2.0], [3.0, 5.0]])
    for function in (svod.diff, svod.trace, svod.count_nonzero, svod.nanmean, svod.sum, svod.flipud):
        assert svod.jit(function)(x).tolist() == function(x).tolist()
    diff = svod.jit(svod.diff)
    assert diff(x, dim=0).tolist() == diff(x, axis=0).tolist() == diff(x, 1, 0).tolist() == [[2, 3]]
    assert svod.jit(svod.roll)(x, 1, dim=0).tolist() == [[3, 5], [1, 2]]


def test_arguments_may_require_gradients_within() -> None:
    n = svod.Variable("n", 1, 9)

    def cubed(x: svod.Tensor) -> Any:
        x.requires_grad_()
        (x**3).sum().backward()
        return x.grad

    for function in (svod.jit(cubed), svod.jit(cubed, shapes={"x": (n,)})):
        for values in ([1.0, 2.0], [3.0], [1.0, 2.0]):
            x = svod.Tensor(values)
            assert function(x).tolist() == [3 * value**2 for value in values]
            assert x.grad is None
            assert not x.requires_grad
