"""What a function that is traced, or the body of a loop, may not do, and what it is told."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

LOOKS: list[tuple[str, Callable[[svod.Tensor], Any]]] = [
    (r"numpy\(\)", lambda x: x.numpy()),
    (r"item\(\)", lambda x: x[0].item()),
    (r"tolist\(\)", lambda x: x.tolist()),
    ("the truth", lambda x: x if (x > 0).all() else -x),
    (r"float\(\)", lambda x: x * float(x[0])),
    (r"int\(\)", lambda x: int(x[0])),
    ("an index", lambda x: [1, 2, 3][x[0].cast("int64")]),
    ("a NumPy array", lambda x: np.asarray(x)),
    ("a copy", lambda x: copy.deepcopy(x)),
    (r"realize\(\)", lambda x: (x + 1).realize()),
    ("prepare", lambda x: (x + 1).prepare()),
    ("nonzero", lambda x: x.nonzero()),
    ("indexing by a mask", lambda x: x[x > 0]),
]


@pytest.mark.parametrize(("name", "look"), LOOKS, ids=[name for name, _ in LOOKS])
def test_a_look_at_data_is_refused_by_name(name: str, look: Callable[[svod.Tensor], Any]) -> None:
    """The function, what it does, to which tensor, from which argument, and what to do instead."""

    def normalized(scale: Any, batch: dict[str, Any]) -> Any:
        look(batch["x"][0] * 2)
        return batch["x"][0]

    jitted = svod.jit(normalized)
    whose = r"of \w+\[3?\], which follows from argument `batch\['x'\]\[0\]`: a traced function"
    with pytest.raises(svod.TraceError, match=rf"jit: .*normalized: {name}.*{whose}") as caught:
        jitted(2.0, {"x": [np.ones(3, np.float32)]})
    assert isinstance(caught.value, TypeError) and jitted.traces == 0
    for part in ("no data to look at, which differs from call to call", "`where` chooses", "`custom`", "Python number"):
        assert part in str(caught.value)
    with pytest.raises(svod.TraceError, match=rf"{name}.* of .*, which follows from value 1 of the loop: the body"):
        svod.iterate(3, lambda i, a, x: (look(x * 2), (a, x))[1], svod.zeros(2), svod.ones(3))


def test_a_traced_tensor_says_so() -> None:
    texts: list[str] = []
    kept: list[svod.Tensor] = []

    @svod.jit
    def f(a: svod.Tensor, b: svod.Tensor) -> svod.Tensor:
        kept.append(a + b)
        texts.extend(map(repr, (a, kept[0], svod.zeros(2))))
        return a

    x = svod.ones(2)
    f(x, x)
    assert texts == [
        "Tensor(shape=(2,), dtype=float32, device=CPU, traced from argument `a`)",
        "Tensor(shape=(2,), dtype=float32, device=CPU, traced from argument `a` and argument `b`)",
        "Tensor([0., 0.], shape=(2,), dtype=float32, device=CPU)",
    ]
    assert repr(kept[0]) == "Tensor(shape=(2,), dtype=float32, device=CPU, traced)"


def test_the_number_of_an_iteration_has_no_value() -> None:
    x = svod.ones(4)
    for question in (lambda i: i == 0, lambda i: i != 2, lambda i: i > 1, lambda i: bool(i), lambda i: i in (1, 2)):
        with pytest.raises(
            svod.TraceError,
            match=r"the number of the iteration, has no value to look at \(a tensor of it does: `where\(svod",
        ):
            svod.iterate(3, lambda i, v, question=question: v + 1 if question(i) else v, x)
    # What the error says to do.
    chosen = svod.iterate(3, lambda i, v: svod.where(svod.Tensor(i) > 1, v * 2, v + 1), x)
    assert chosen.tolist() == [6, 6, 6, 6]
    assert svod.iterate(3, lambda i, v: v + 1 if i < 3 and i + 1 else v, x).tolist() == [4, 4, 4, 4]


def test_values_of_a_trace_do_not_outlive_it() -> None:
    """Issue 6: whatever a function leaks says what it is, and destroys nothing outside."""
    leaked: list[svod.Tensor] = []
    kept = svod.Tensor([1.0, 2.0])
    svod.jit(lambda x: leaked.append(x * 2) or x + 1)(np.ones(2, np.float32))
    svod.iterate(2, lambda i, x: leaked.append(x * 2) or x + 1, kept)
    for value in leaked:
        for use in (
            lambda value=value: (value + 1).numpy(),
            lambda value=value: kept.assign(value),
            lambda value=value: kept.__setitem__(0, value[0]),
            lambda value=value: value.prepare(),
            lambda value=value: svod.jit(lambda x: x + value)(np.ones(2, np.float32)),
        ):
            with pytest.raises(svod.TraceError, match=r"is used after that has ended.*return it"):
                use()
    assert kept.tolist() == [1.0, 2.0]


def test_arguments_and_what_is_outside_of_loops_are_not_written() -> None:
    """Issue 6: what cannot be written keeps its value, and the caller is told what to do."""
    outside = svod.Tensor([1.0, 2.0])
    x = svod.Tensor([3.0, 4.0])

    def loops(a: svod.Tensor) -> svod.Tensor:
        own = a + 1
        svod.iterate(2, lambda i, v: (own.assign(v), v)[1], a)
        return own

    def argument(a: svod.Tensor) -> svod.Tensor:
        a[0] = 5
        return a

    for function in (loops, argument):
        with pytest.raises(
            svod.TraceError,
            match=r"jit: .*writes (argument `a`|float32\[2\], a tensor from outside of it).*return the new",
        ):
            svod.jit(function)(x)
        assert (outside.tolist(), x.tolist()) == ([1.0, 2.0], [3.0, 4.0])
    with pytest.raises(svod.TraceError, match="assign: the body of a loop writes"):
        svod.iterate(3, lambda i, v: (outside.assign(v), v + 1)[1], x)
    assert outside.tolist() == [1.0, 2.0]

    @svod.jit
    def own(a: svod.Tensor) -> svod.Tensor:
        rows = svod.zeros(2, 2)
        rows[0] = a
        copy = a.clone()
        copy[1] = rows.sum()

        def body(i: svod.Size, v: svod.Tensor, total: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
            v[0] = v[0] + 1
            total.assign(total + v)
            return v, total

        return svod.iterate(2, body, copy, svod.zeros(2))[1]

    assert own(x).tolist() == [9.0, 14.0]


def test_random_numbers_in_a_loop_are_those_of_the_body() -> None:
    x = svod.zeros(8)

    def drawn(i: svod.Size, v: svod.Tensor) -> svod.Tensor:
        svod.manual_seed(3)
        return v + svod.rand(8)

    once, twice = (svod.iterate(times, drawn, x) for times in (1, 2))
    np.testing.assert_allclose(twice.numpy(), once.numpy() * 2, rtol=1e-6)
