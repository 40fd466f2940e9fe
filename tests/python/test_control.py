"""Control flow as steps of plans: `cond`, `while_loop`, `scan`, and loops of a symbolic number of iterations."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import svod

rng = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def close(a: Any, b: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def counted(calls: list[int]) -> Callable[[svod.Tensor], svod.Tensor]:
    """A function whose runs are counted."""

    def call(a: np.ndarray) -> np.ndarray:
        calls.append(1)
        return a * 2

    return lambda x: svod.custom(call, x)


# cond


def test_b4_the_branch_that_is_taken() -> None:
    x = floats(5)
    for sign in (1.0, -1.0):
        y = svod.cond(svod.Tensor(sign) > 0, lambda a: a * 2, lambda a: a - 1, svod.Tensor(x))
        close(y, x * 2 if sign > 0 else x - 1)


def test_b4_only_the_branch_that_is_taken_runs() -> None:
    first: list[int] = []
    second: list[int] = []
    x = svod.Tensor([1.0, 2.0])
    y = svod.cond(x.sum() > 0, counted(first), counted(second), x)
    assert y.tolist() == [2.0, 4.0]
    assert (len(first), len(second)) == (1, 0)
    outside = svod.cond(x.sum() < 0, lambda: counted(first)(x), lambda: x)
    assert outside.tolist() == [1.0, 2.0] and len(first) == 1


def test_b4_branches_in_plans_and_traces() -> None:
    p, x = svod.Tensor([True]), svod.Tensor(floats(4))
    plan = svod.cond(p, lambda a: a + 1, lambda a: a * 3, x * 2).prepare(inputs=[p, x])
    other = plan.instance() if hasattr(plan, "instance") else plan
    for taken in (True, False, True):
        a = floats(4)
        plan.execute(np.array([taken]), a)
        close(plan.outputs[0], a * 2 + 1 if taken else a * 6)
    del other

    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        return svod.cond(x.sum() > 0, lambda a: a.exp(), lambda a: a.abs(), x)

    for sign in (1, -1):
        a = np.abs(floats(3)) * sign
        close(f(a), np.exp(a) if sign > 0 else np.abs(a))
    assert f.traces == 1


def test_b4_branches_of_structures() -> None:
    state = {"a": svod.Tensor([1.0]), "b": (svod.Tensor([2, 3]), svod.Tensor(4.0))}
    for taken in (True, False):
        y = svod.cond(
            taken,
            lambda s: {"a": s["b"][1], "b": s["b"]},
            lambda s: {"a": s["a"].sum() * 2, "b": (s["b"][0] + 1, s["b"][1])},
            state,
        )
        assert y["a"].item() == (4.0 if taken else 2.0)
        assert y["b"][0].tolist() == ([2, 3] if taken else [3, 4])
        assert y["b"][1].item() == 4.0


def test_b4_numbers_become_tensors_in_tuples_too() -> None:
    for taken in (True, False):
        x, b, c = svod.cond(taken, lambda s: (s[0], 1, 2.5), lambda s: (s[1], 3, 4.5), (5, 6))
        assert [x.item(), b.item(), c.item()] == ([5, 1, 2.5] if taken else [6, 3, 4.5])
    total, ys = svod.scan(lambda c, x: (c + x, (1, 2.5)), 1, svod.Tensor([1, 2]))
    assert total.item() == 4
    assert [y.tolist() for y in ys] == [[1, 1], [2.5, 2.5]]
    for act in (
        lambda: svod.cond(True, lambda: 1j, lambda: 2j),
        lambda: svod.cond(True, lambda x: x, lambda x: x, 1j),
        lambda: svod.scan(lambda c, x: (c, 1j), 1, svod.Tensor([1, 2])),
        lambda: svod.while_loop(lambda z: z.abs() < 3, lambda z: z + 1, 1j),
    ):
        with pytest.raises(svod.UnsupportedError, match="which is of complex numbers"):
            act()


def test_b4_what_branches_may_not_do() -> None:
    x = svod.Tensor([1.0, 2.0])
    with pytest.raises(
        svod.ShapeError, match=r"result 0 is float32\[2\] if the condition holds, and float32\[\] if not"
    ):
        svod.cond(True, lambda a: a, lambda a: a.sum(), x)
    with pytest.raises(svod.DTypeError, match=r"cond: result 0 is float32\[2\] .* int32\[2\]"):
        svod.cond(True, lambda a: a, lambda a: a.cast("int32"), x)
    with pytest.raises(svod.ArgumentError, match="`true_fn` gives tensor, `false_fn` tuple"):
        svod.cond(True, lambda a: a, lambda a: (a,), x)
    with pytest.raises(svod.ShapeError, match="a condition has one element"):
        svod.cond(x > 1, lambda a: a, lambda a: a, x)

    def assigns(a: svod.Tensor) -> svod.Tensor:
        x[0] = 3.0
        return a

    with pytest.raises(svod.TraceError, match="a branch"):
        svod.cond(True, assigns, lambda a: a, x)


def test_d1_gradients_of_branches() -> None:
    x = floats(4)
    w = svod.Tensor(floats(4))

    def loss(a: svod.Tensor, b: svod.Tensor) -> svod.Tensor:
        return svod.cond(a.sum() > 0, lambda p, q: (p * q).sum() * w.sum(), lambda p, q: (p**3).sum(), a, b)

    for sign in (1, -1):
        a = np.abs(x) * sign
        da, db = svod.grad(loss, argnums=(0, 1))(svod.Tensor(a), w)
        close(da, w.numpy() * w.sum().item() if sign > 0 else 3 * a**2)
        close(db, a * w.sum().item() if sign > 0 else a * 0)


# while_loop


def test_b4_a_condition_decides() -> None:
    def collatz(n: int) -> int:
        return 0 if n == 1 else 1 + collatz(n // 2 if n % 2 == 0 else 3 * n + 1)

    @svod.jit
    def steps(n: svod.Tensor) -> svod.Tensor:
        return svod.while_loop(
            lambda s: s["n"] != 1,
            lambda s: {"n": svod.where(s["n"] % 2 == 0, s["n"] // 2, 3 * s["n"] + 1), "k": s["k"] + 1},
            {"n": n, "k": 0},
        )["k"]

    for n in (1, 2, 7, 27, 97):
        assert steps(svod.Tensor(n)).item() == collatz(n)
    assert steps.traces == 1


class Newton(NamedTuple):
    x: svod.Tensor
    error: svod.Tensor


def test_b4_newton_in_a_plan() -> None:
    a = svod.Tensor([2.0, 9.0, 1e4])

    def body(s: Newton) -> Newton:
        x = (s.x + a / s.x) * 0.5
        return Newton(x, (x - s.x).abs().max())

    begin = Newton(a * 1.0, svod.Tensor(1.0))
    root = svod.while_loop(lambda s: s.error > 1e-6, body, begin)
    close(root.x, np.sqrt(a.numpy()))


def test_b4_values_of_a_while_loop_trade_places() -> None:
    a, b, k = svod.while_loop(
        lambda s: s[2] < 5, lambda s: (s[1], s[0], s[2] + 1), (svod.Tensor([1]), svod.Tensor([2]), 0)
    )
    assert (a.tolist(), b.tolist(), k.item()) == ([2], [1], 5)
    a, b = svod.while_loop(lambda s: s[1] < 4, lambda s: (s[0], s[1] + 1), (svod.Tensor([7.0, 8.0]), 0))
    assert a.tolist() == [7.0, 8.0] and b.item() == 4


def test_b4_a_while_loop_without_iterations() -> None:
    x = svod.Tensor([3.0])
    assert svod.while_loop(lambda x: x.sum() < 0, lambda x: x * 2, x).tolist() == [3.0]


def test_b4_what_a_while_loop_may_not_do() -> None:
    x = svod.Tensor([1.0, 2.0])
    with pytest.raises(svod.ShapeError, match=r"while_loop: `state\['x'\]` is float32\[2\] and becomes float32"):
        svod.while_loop(lambda s: s["x"].sum() < 3, lambda s: {"x": s["x"].sum()}, {"x": x})
    with pytest.raises(svod.DTypeError, match=r"while_loop: `state` is int32\[1\] and becomes float32\[1\]"):
        svod.while_loop(lambda s: s.sum() < 3, lambda s: s * 0.5, svod.Tensor([1], dtype="int32"))
    with pytest.raises(svod.ArgumentError, match="`body_fn` gives"):
        svod.while_loop(lambda s: s[0].sum() < 3, lambda s: s[0], (x, x))
    with pytest.raises(svod.UnsupportedError, match="whose number is known when a run begins"):
        svod.grad(lambda x: svod.while_loop(lambda v: v.sum() < 3, lambda v: v * 2, x).sum())(x)


def test_b4_an_endless_loop_is_interrupted() -> None:
    import _thread

    timer = threading.Timer(0.5, _thread.interrupt_main)
    y = svod.while_loop(lambda x: x.sum() > -1, lambda x: x + 1, svod.Tensor([1.0]))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        y.tolist()
    timer.cancel()


# scan


def cell(w: Any, tanh: Callable[[Any], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    def step(h: Any, x: Any) -> tuple[Any, Any]:
        h = tanh(h @ w + x)
        return h, h * 2

    return step


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("width", [3, 16])
def test_b4_scan_is_a_loop(width: int, reverse: bool) -> None:
    w, h, xs = floats(width, width), floats(width), floats(20, width)
    last, ys = svod.scan(cell(svod.Tensor(w), svod.tanh), svod.Tensor(h), svod.Tensor(xs), reverse=reverse)
    expected = np.zeros_like(xs)
    step = cell(w, np.tanh)
    for i in reversed(range(20)) if reverse else range(20):
        h, expected[i] = step(h, xs[i])
    close(last, h)
    close(ys, expected)


def test_b4_scans_of_structures() -> None:
    xs = {"a": svod.Tensor(floats(6, 2)), "b": svod.Tensor(np.arange(6))}
    last, ys = svod.scan(
        lambda c, x: ((c[0] + x["a"], c[1] + x["b"]), {"sum": c[1], "row": x["a"]}), (svod.zeros(2), 0), xs
    )
    close(last[0], xs["a"].numpy().sum(0))
    assert last[1].item() == 15
    assert ys["sum"].tolist() == [0, 0, 1, 3, 6, 10]
    close(ys["row"], xs["a"])
    count, nothing = svod.scan(lambda c, x: (c * 2, None), svod.Tensor(1), length=10)
    assert count.item() == 1024 and nothing is None
    none, squares = svod.scan(lambda c, x: (c, x * x), None, svod.arange(4))
    assert none is None and squares.tolist() == [0, 1, 4, 9]


def test_b4_scans_of_no_rows() -> None:
    last, ys = svod.scan(lambda c, x: (c + x, c), svod.Tensor(3.0), svod.zeros(0))
    assert last.item() == 3.0 and ys.shape == (0,)


def test_b4_scans_of_symbolic_length() -> None:
    n = svod.Variable("n", 1, 50)
    x = svod.empty(n, 3)
    last, ys = svod.scan(lambda c, row: (c * 0.5 + row, c), svod.zeros(3), x)
    plan = svod.prepare(last, ys, inputs=[x])
    for size in (1, 7, 50):
        a = floats(size, 3)
        plan.execute(a)
        c, rows = np.zeros(3, np.float32), []
        for row in a:
            rows.append(c)
            c = c * np.float32(0.5) + row
        close(plan.outputs[0], c)
        close(plan.outputs[1], np.array(rows))
    assert len(plan.kernels) < 10


def test_b4_iterations_of_a_symbolic_number() -> None:
    n = svod.Variable("n", 0, 20)
    y = svod.iterate(n, lambda i, v: v * 2 + i, svod.Tensor([1, 2]))
    plan = y.prepare(inputs=[])
    for count in (0, 1, 5, 20):
        plan.execute(n=count)
        a = np.array([1, 2])
        for i in range(count):
            a = a * 2 + i
        assert plan.outputs[0].tolist() == a.tolist()


def test_b4_a_scan_in_a_scan_and_in_a_loop() -> None:
    a = floats(4, 5)

    def row(total: svod.Tensor, x: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        inner, sums = svod.scan(lambda c, v: (c + v, c + v), total, x)
        return inner, sums

    last, ys = svod.scan(row, svod.Tensor(0.0), svod.Tensor(a))
    close(ys, a.reshape(-1).cumsum().reshape(4, 5), 1e-4)
    close(last, a.sum(), 1e-4)
    y = svod.iterate(
        3, lambda i, v: svod.scan(lambda c, x: (c + x * i, None), v, svod.Tensor(a[:, 0]))[0], svod.Tensor(1.0)
    )
    close(y, 1 + a[:, 0].sum() * 3, 1e-4)


def test_b4_branches_in_scans() -> None:
    xs = floats(12)

    def f(c: svod.Tensor, x: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        c = svod.cond(x > 0, lambda c, x: c + x, lambda c, x: c * 0.5, c, x)
        return c, c

    _, ys = svod.scan(f, svod.Tensor(1.0), svod.Tensor(xs))
    c, rows = np.float32(1.0), []
    for x in xs:
        c = c + x if x > 0 else c * np.float32(0.5)
        rows.append(c)
    close(ys, rows)


def test_b4_what_a_scan_may_not_do() -> None:
    x = svod.Tensor([[1.0, 2.0]])
    with pytest.raises(svod.ShapeError, match=r"scan: `init\[1\]` is float32\[\] and becomes float32\[2\]"):
        svod.scan(lambda c, row: ((c[0], row), row), (x[0], svod.Tensor(0.0)), x)
    with pytest.raises(svod.ShapeError, match="has not 1 rows"):
        svod.scan(lambda c, row: (c, None), x[0], (x, svod.zeros(2)))
    with pytest.raises(svod.ArgumentError, match="is a scalar"):
        svod.scan(lambda c, row: (c, None), x[0], svod.Tensor(1.0))
    with pytest.raises(svod.ArgumentError, match="gives the next carry and what is stacked"):
        svod.scan(lambda c, row: c, x[0], x)
    with pytest.raises(svod.ArgumentError, match="`length` says how often"):
        svod.scan(lambda c, row: (c, c), x[0])


def test_c2_an_index_in_a_body_is_checked() -> None:
    table = svod.Tensor([1.0, 2.0, 3.0])
    indices = svod.Tensor([0, 2, 5])
    with pytest.raises(svod.IndexError):
        svod.scan(lambda c, i: (c + table[i], None), svod.Tensor(0.0), indices + 0)[0].item()


def test_b4_threads_share_a_scan() -> None:
    w = svod.Tensor(floats(8, 8) * 0.1)
    f = svod.jit(lambda xs: svod.scan(cell(w, svod.tanh), svod.zeros(8), xs)[1])
    inputs = [floats(30, 8) for _ in range(4)]
    expected = [f(a).numpy() for a in inputs]
    found: list[Any] = [None] * 4

    def run(at: int) -> None:
        for _ in range(20):
            found[at] = f(inputs[at]).numpy()

    threads = [threading.Thread(target=run, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(found, expected, strict=True):
        close(a, b)


# gradients of scans


@pytest.mark.parametrize("reverse", [False, True])
def test_d1_gradients_of_scans(reverse: bool) -> None:
    jax = pytest.importorskip("jax")
    w, h, xs = floats(6, 6) * 0.3, floats(6), floats(15, 6)

    def loss(w: svod.Tensor, h: svod.Tensor, xs: svod.Tensor) -> svod.Tensor:
        last, ys = svod.scan(cell(w, svod.tanh), h, xs, reverse=reverse)
        return (last * last).sum() + ys.sum()

    def expected(w: Any, h: Any, xs: Any) -> Any:
        last, ys = jax.lax.scan(cell(w, jax.numpy.tanh), h, xs, reverse=reverse)
        return (last * last).sum() + ys.sum()

    found = svod.grad(loss, argnums=(0, 1, 2))(svod.Tensor(w), svod.Tensor(h), svod.Tensor(xs))
    wanted = jax.grad(expected, argnums=(0, 1, 2))(w, h, xs)
    for a, b in zip(found, wanted, strict=True):
        close(a, b, 1e-4)


def test_d1_backward_and_second_derivatives_of_scans() -> None:
    jax = pytest.importorskip("jax")
    xs = floats(7)

    def f(x: Any, scan: Any) -> Any:
        return scan(
            lambda c, v: (c * v + c * c * 0.1, None),
            x * 0 + 1.0,
            x[None] * xs if scan is jax.lax.scan else x.reshape(1) * xs,
        )[0]

    x = svod.Tensor(0.5).requires_grad_()
    y = f(x, svod.scan)
    y.backward()
    g = jax.grad(lambda x: f(x, jax.lax.scan))
    assert x.grad is not None
    close(x.grad, g(np.float32(0.5)), 1e-4)
    second = svod.grad(svod.grad(lambda x: f(x, svod.scan)))(svod.Tensor(0.5))
    close(second, jax.grad(g)(np.float32(0.5)), 1e-4)


def test_d1_gradients_of_iterations_of_a_symbolic_number() -> None:
    n = svod.Variable("n", 0, 9)

    def loss(x: svod.Tensor) -> svod.Tensor:
        return svod.iterate(n.bind(4), lambda i, v: v * x + i, x).sum()

    x = 1.5
    # v4 = x^5 + 1 x^2 + 2 x + 3
    close(svod.grad(loss)(svod.Tensor(x)), 5 * x**4 + 2 * x + 2)


@pytest.mark.parametrize("trips", [3, 100])
def test_scans_inside_of_long_loops_have_gradients_whatever_loops_are_called(trips: int) -> None:
    rows = np.linspace(-1, 1, 10).reshape(10, 1)

    def loop(trips: int, x: svod.Tensor, c: svod.Tensor) -> svod.Tensor:
        def body(i: Any, c: svod.Tensor) -> svod.Tensor:
            return svod.scan(lambda a, row: (a * 0.99 + row * c * 0.01, None), c, x)[0]

        return svod.iterate(trips, body, c).sum()

    def plain(trips: int, x: svod.Tensor, c: svod.Tensor) -> svod.Tensor:
        for _ in range(trips):
            a = c
            for at in range(10):
                a = a * 0.99 + x[at] * c * 0.01
            c = a
        return c.sum()

    x, c = svod.Tensor(rows), svod.Tensor([1.0, 2.0], dtype="float64")
    found = svod.grad(functools.partial(loop, trips), argnums=(0, 1))(x, c)
    wanted = svod.grad(functools.partial(plain, trips), argnums=(0, 1))(x, c)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10)


def test_equal_positions_in_a_body_are_checked_once() -> None:
    x, y = svod.Tensor([1.0, 2.0, 3.0]), svod.Tensor([4.0, 5.0, 6.0])

    def step(total: svod.Tensor, i: svod.Tensor) -> tuple[svod.Tensor, None]:
        return total + x[i] * y[i], None

    for _ in range(20):
        assert svod.scan(step, svod.Tensor(0.0), svod.Tensor([0, 1, 2]))[0].item() == 32
    with pytest.raises(svod.IndexError):
        svod.scan(step, svod.Tensor(0.0), svod.Tensor([0, 7, 2]))[0].item()


@pytest.mark.parametrize("offset", [0, 1])
def test_an_index_that_an_input_gives_is_looked_at_when_a_body_runs(offset: int) -> None:
    """Not when it is made, of what is in memory then."""
    x, table = svod.Tensor(np.arange(10.0)), svod.Tensor(np.array([0, 1, 2]))

    def body(carry: svod.Tensor, row: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        value = x[table[row] + offset]
        return carry + value, value

    total, values = svod.scan(body, svod.Tensor(0.0, "float64"), svod.Tensor(np.array([0, 1, 2])))
    plan = svod.prepare(total, values, inputs=[table])
    assert plan.run(np.array([4, 5, 6]))[0].item() == 15.0 + 3 * offset
    with pytest.raises(svod.IndexError):
        plan.run(np.array([0, 1, 99]))
