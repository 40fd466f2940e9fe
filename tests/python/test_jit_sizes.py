"""Sizes in functions that `jit` traces: what conditions say of them is known in the branch; they are no numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

N = svod.Variable("n", 1, 64)
M = svod.Variable("m", 1, 64)
ANY: dict[str, tuple[Any, ...]] = {"x": (N,)}
Shape = tuple[int, ...]


def folded(x: Any) -> Any:
    """The sum, by halves."""
    while x.shape[0] > 1:
        k = x.shape[0]
        halves = x[: k // 2] + x[k - k // 2 :]
        x = svod.cat([halves, x[k // 2 : k - k // 2]]) if k % 2 else halves
    return x.reshape(1)


def overlapping(x: Any) -> Any:
    """Both ends added until one element is left; the middle of an odd number is in neither."""
    while x.shape[0] > 1:
        k = x.shape[0]
        x = x[: k // 2] + x[k - k // 2 :]
    return x


# The function, declared shapes, and shapes of calls, of which the first are those where the condition is true.
BRANCHES: dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]], list[list[Shape]]]] = {
    "an index": (lambda x: x[5] if x.shape[0] > 5 else x[0], ANY, [[(7,)], [(6,)], [(3,)], [(64,)]]),
    "at least": (lambda x: x.unfold(0, 3, 1) if x.shape[0] >= 3 else x, ANY, [[(3,)], [(9,)], [(2,)]]),
    "at most": (lambda x: svod.arange(8)[: x.shape[0]] + x if x.shape[0] <= 8 else x, ANY, [[(8,)], [(1,)], [(9,)]]),
    "not below": (lambda x: x if x.shape[0] < 5 else x.topk(5)[0], ANY, [[(5,)], [(12,)], [(4,)]]),
    "equal": (lambda x: x @ svod.ones(4, 2) if x.shape[0] == 4 else x, ANY, [[(4,)], [(5,)], [(3,)]]),
    "a tuple": (lambda x: x.reshape(2, 2) if x.shape == (4,) else x, ANY, [[(4,)], [(5,)]]),
    "a number": (lambda x: x + sum(range(x.shape[0])) + len(x) if x.shape[0] == 4 else x, ANY, [[(4,)], [(5,)]]),
    "even": (lambda x: x.reshape(2, -1) if x.shape[0] % 2 == 0 else x, ANY, [[(6,)], [(2,)], [(64,)], [(7,)]]),
    "odd": (lambda x: x[1:].reshape(-1, 2) if x.shape[0] % 2 else x, ANY, [[(7,)], [(3,)], [(6,)]]),
    "and": (
        lambda x: x.reshape(3, -1)[:, 1] if x.shape[0] % 3 == 0 and x.shape[0] > 3 else x,
        ANY,
        [[(6,)], [(9,)], [(3,)], [(7,)]],
    ),
    "two": (lambda x: x.T + x if x.shape[0] == x.shape[1] else x.T, {"x": (N, M)}, [[(4, 4)], [(5, 5)], [(3, 4)]]),
    "shapes": (
        lambda x, y: x + y if x.shape == y.shape else svod.cat([x, y]),
        {"x": (N,), "y": (M,)},
        [[(4,), (4,)], [(5,), (5,)], [(3,), (4,)]],
    ),
    "a sum": (
        lambda x, y: x[1:] + y if x.shape[0] == y.shape[0] + 1 else x,
        {"x": (N,), "y": (M,)},
        [[(4,), (3,)], [(9,), (8,)], [(3,), (4,)]],
    ),
    "an order": (
        lambda x, y: x + y[: x.shape[0]] if x.shape[0] <= y.shape[0] else y,
        {"x": (N,), "y": (M,)},
        [[(4,), (6,)], [(9,), (9,)], [(64,), (64,)], [(4,), (3,)]],
    ),
    "ends": (lambda x: x[-7:-2].reshape(5) if x.shape[0] >= 7 else x, ANY, [[(7,)], [(9,)], [(3,)]]),
    "pooling": (
        lambda x: x.max_pool2d(2) if x.shape[2] >= 2 else x,
        {"x": (1, 1, N, 4)},
        [[(1, 1, 5, 4)], [(1, 1, 2, 4)], [(1, 1, 1, 4)]],
    ),
    "both ends": (overlapping, ANY, [[(37,)], [(1,)], [(64,)], [(33,)], [(2,)]]),
    "halves": (folded, ANY, [[(37,)], [(1,)], [(64,)], [(33,)], [(2,)]]),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a9_a_condition_is_known_in_its_branch(name: str) -> None:
    """The function gives what it gives where sizes are numbers, from as few traces as there are answers."""
    function, shapes, calls = BRANCHES[name]
    jitted = svod.jit(shapes=shapes)(function)
    for call in calls:
        arrays = [np.arange(math.prod(shape), dtype=np.float32).reshape(shape) for shape in call]
        got, expected = jitted(*arrays), function(*map(svod.Tensor, arrays))
        assert got.shape == expected.shape, call
        np.testing.assert_array_equal(got.numpy(), expected.numpy(), err_msg=str(call))
    assert jitted.traces <= (5 if name in ("halves", "both ends") else 3)


def test_a9_sizes_from_outside_and_results_are_known_as_well() -> None:
    """A variable of the surrounding program, a size that is an argument, and a size that the function gives."""
    outside = svod.jit(shapes=ANY)(
        lambda x: (x[5:] + svod.arange(64)[: N - 5], N + 1, x.shape[0]) if x.shape[0] > 5 else (x, 0, 0)
    )
    for rows in (7, 6, 3):
        part, one_more, own = outside(np.ones(rows, np.float32))
        assert (one_more, own) == ((rows + 1, rows) if rows > 5 else (0, 0))
        assert part.tolist() == ([1.0 + i for i in range(rows - 5)] if rows > 5 else [1.0] * rows)
    argument = svod.jit(lambda k: svod.arange(k).reshape(2, -1) if k % 2 == 0 else svod.arange(k))
    for k in (4, 6, 5, 64):
        expected = np.arange(k) if k % 2 else np.arange(k).reshape(2, -1)
        assert argument(N.bind(k)).tolist() == expected.tolist()
    assert argument.traces == 2


def test_a9_what_a_trace_that_fails_was_told_is_in_its_error() -> None:
    """A condition that says nothing of bounds, and a branch that is wrong where its condition holds."""
    for function, told in (
        (lambda x: x[5] if x.shape[0] != 10 else x, "n != 10"),
        (lambda x: x[5] if x.shape[0] > 3 else x, "n > 3"),
    ):
        with pytest.raises(svod.IndexError, match="index 5 is out of range") as caught:
            svod.jit(shapes=ANY)(function)(np.ones(7, np.float32))
        assert any(note.startswith("jit: ") and note.endswith(told) for note in caught.value.__notes__)
    # What the function itself raises is not asked for again.
    calls: list[int] = []

    def strict(x: svod.Tensor) -> svod.Tensor:
        calls.append(1)
        if x.shape[0] > 3:
            raise ValueError("too long")
        return x

    with pytest.raises(ValueError, match=r"^too long$"):
        svod.jit(shapes=ANY)(strict)(np.ones(7, np.float32))
    assert len(calls) == 1


def test_a9_a_trace_that_does_not_fail_is_made_once() -> None:
    calls: list[int] = []

    @svod.jit(shapes=ANY)
    def f(x: svod.Tensor) -> svod.Tensor:
        calls.append(1)
        return x * 2 if x.shape[0] > 5 else x

    assert [f(np.ones(n, np.float32)).sum().item() for n in (7, 9, 3)] == [14, 18, 3]
    assert len(calls) == f.traces == 2


NUMBERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "math.sqrt": (lambda n: math.sqrt(n), "a float of Python's .*`math.sqrt` ask for it; `svod.asarray` .*of "),
    "float": (lambda n: float(n), "a float of Python's .*of "),
    "int": (lambda n: int(n), r"int\(\) of "),
    "range": (lambda n: range(n), "a Python integer .*of "),
    "a list": (lambda n: [1, 2, 3][n], "a Python integer .*of "),
    "NumPy": (lambda n: np.ones(n), "a Python integer .*of "),
    "a dict": (lambda n: {5: 7}.get(n, 3), ".* as a key of a dict"),
    "a set of shapes": (lambda n: (n,) in {(5,), (6,)}, ".*as a key of a dict or item of a set"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a9_a_size_is_no_number_in_a_trace(name: str) -> None:
    """Neither of a function nor of a loop's body: the error says whose, what was done, and what else to do."""
    use, what = NUMBERS[name]

    def named(x: svod.Tensor) -> svod.Tensor:
        use(x.shape[0])
        return x

    with pytest.raises(svod.TraceError, match=rf"jit: .*named: {what}.* runs once.*\*\* 0\.5.*custom"):
        svod.jit(shapes=ANY)(named)(np.ones(4, np.float32))
    # NumPy says in its own words that it got no integer.
    error = TypeError if name == "NumPy" else svod.TraceError
    says = "single integer" if name == "NumPy" else rf"{what}.*the body of a loop.*loop\.0.*where\(svod\.Tensor"
    with pytest.raises(error, match=says):
        svod.iterate(3, lambda i, v: (use(i), v)[1], svod.ones(2))
    # After a comparison it is one, and where it has a value.
    known = svod.jit(shapes=ANY)(lambda x: (use(x.shape[0]), x)[1] if x.shape[0] == 2 else x)
    assert known(np.ones(2, np.float32)).tolist() == [1, 1]
    use(N.bind(2))


def test_sizes_are_keys_outside_of_traces() -> None:
    assert ({N: 1}[N], {N + 1: 2}[N + 1], {5: 3}[N.bind(5)]) == (1, 2, 3)


def test_a9_rows_of_a_symbolic_number_are_not_iterated_over() -> None:
    for look in (len, list, lambda x: (*x,)):
        with pytest.raises(svod.TraceError, match=r"jit: .*len\(\) of a tensor of shape \[n, 2\].*runs once"):
            svod.jit(shapes={"x": (N, 2)})(lambda x, look=look: (look(x), x)[1])(np.ones((3, 2), np.float32))
        with pytest.raises(svod.ShapeError, match=r"len\(\) of .*\[n, 2\].*is symbolic"):
            look(svod.empty(N, 2))
    first = svod.jit(shapes={"x": (2, N)})(lambda x: next(row * len(x) for row in x))
    assert first(np.ones((2, 5), np.float32)).tolist() == [2] * 5


def test_a9_powers_of_sizes() -> None:
    assert (str(N**2), N**0, N**1 == N, N.bind(3) ** 2 == 9, 2**3) == ("n*n", 1, True, True, 8)
    np.testing.assert_allclose([(N.bind(9) ** 0.5).item(), (N.bind(4) ** -1).item()], [3, 0.25])
    for huge in (10**9, 10**30):
        with pytest.raises(svod.ArgumentError, match=r"too complex|overflows"):
            N**huge
    scaled = svod.jit(shapes=ANY)(lambda x: x * x.shape[0] ** 2 / x.shape[0] ** 0.5)
    for rows in (4, 9):
        np.testing.assert_allclose(scaled(np.ones(rows, np.float32)).numpy(), [rows**1.5] * rows, rtol=1e-6)
    squares = svod.iterate(range(1, 4), lambda i, v: v + i**2 + i**2.0, svod.zeros(1))
    assert squares.tolist() == [28]


def test_sizes_are_formatted() -> None:
    assert f"{N:d} {N + 1:>6} {N.bind(4):03d} {N}" == "n  n + 1 004 n"


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("traced", [True, False])
def test_a9_arguments_that_do_not_fit_name_function_argument_size_and_bounds(asks: bool, traced: bool) -> None:
    def halves(x: Any, scale: Any = 1.0) -> Any:
        return x * 2 if not asks or x.shape[0] > 3 else x

    f = svod.jit(shapes={"x": (N,)})(halves)
    if traced:
        f(np.ones(7, np.float32))
    name = r"^jit: .*halves: x is float32\[n\]"
    with pytest.raises(
        svod.ArgumentError, match=name + r", but float32\[65\] was given; variable n: 65 .*\[1, 64\]"
    ) as error:
        f(np.ones(65, np.float32))
    assert error.value.kind == "variable out of range"
    with pytest.raises(svod.ShapeError, match=name + r", but float32\[5, 5\] was given$"):
        f(np.ones((5, 5), np.float32))
    with pytest.raises(svod.ArgumentError, match=name + r", but float32\[0\] was given; variable n: 0"):
        f(x=svod.Tensor(np.ones(0, np.float32)))
    assert f(np.ones(2, np.float32)).shape == (2,)


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "hessian", "jacobian", "vmap", "checkpoint"])
def test_sizes_of_arguments_of_what_a_transformation_gives(name: str) -> None:
    """It is called as the function that it is made of."""

    def f(w: svod.Tensor, x: svod.Tensor, scale: float = 2.0) -> svod.Tensor:
        return (x * w).sum() * scale if name != "vmap" else (x * w).sum(0) * scale

    made = getattr(svod, name)(f)
    jitted = svod.jit(made, shapes={"x": (N,)} if name != "vmap" else {"w": (N, 3), "x": (N, 3)})
    for rows in (3, 5):
        args = [svod.Tensor(2.0), svod.arange(rows, dtype=svod.float32)]
        if name == "vmap":
            args = [svod.ones((rows, 3)), svod.arange(3 * rows, dtype=svod.float32).reshape(rows, 3)]
        elif name == "grad":
            assert jitted(args[0], x=args[1]).item() == 2 * sum(range(rows))
        for one, other in zip(np.atleast_1d(jitted(*args)), np.atleast_1d(made(*args)), strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(other))
    assert jitted.traces == 1


def test_a_last_batch_of_one_row_leaves_running_statistics() -> None:
    layer = svod.nn.BatchNorm1d(3)
    f = svod.jit(lambda x: layer(x), shapes={"x": (svod.Variable("n", 1, 8), 3)})
    batches = [np.random.default_rng(at).standard_normal((4, 3), np.float32) for at in range(2)]
    other = svod.nn.BatchNorm1d(3)
    for batch in (batches[0], batches[0][:1], batches[1]):
        f(batch)
        if len(batch) > 1:
            other(svod.Tensor(batch))
    assert f.traces == 1
    for name in ("running_mean", "running_var"):
        np.testing.assert_allclose(getattr(layer, name).numpy(), getattr(other, name).numpy(), rtol=1e-5)
