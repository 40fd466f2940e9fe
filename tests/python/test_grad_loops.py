"""Derivatives of loops: those of the iterations written out, in memory of the square root of their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(24)
LONG = 150


def written_out(times: int, body: Callable[..., Any], *init: Any) -> Any:
    """`svod.iterate`, of which each iteration is in the graph."""
    values: Any = init
    for i in range(times):
        values = body(i, *values)
        values = values if isinstance(values, tuple) else (values,)
    return values if len(init) > 1 else values[0]


def close(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def draw(*shape: int) -> svod.Tensor:
    return svod.Tensor(RNG.normal(size=shape))


# Each: a function of how iterations are run, how many there are, and some values; and these.
LOOPS: dict[str, tuple[Callable[..., Any], tuple[svod.Tensor, ...]]] = {
    "what is read from outside": (
        lambda it, n, x, w: it(n, lambda i, h: (h @ w).tanh() + 0.1 * x, x).sum(),
        (draw(3, 4), draw(4, 4) * 0.4),
    ),
    "rows by number": (
        lambda it, n, x, w: it(n, lambda i, h: (h * w + x[i]).sin() + x[i + 3] * 0.1, x[0]).sum(),
        (draw(LONG + 70, 3), draw(3)),
    ),
    "rows of an order that is turned": (
        lambda it, n, x: it(n, lambda i, h: (h + x[n - 1 - i]).sin(), x[0]).sum(),
        (draw(LONG + 70, 3),),
    ),
    "one value as rows and as a whole": (
        lambda it, n, x: it(n, lambda i, h: (h + x[i] * x.mean(0)).sin(), x[0]).sum(),
        (draw(LONG + 70, 3),),
    ),
    "several values": (
        lambda it, n, x, y: sum(
            (v * v).sum() for v in it(n, lambda i, a, b: (b.cos(), a * 0.9 + b * y), x, y)
        ),
        (draw(5), draw(5) * 0.1),
    ),
    "one of several": (
        lambda it, n, x, y: it(n, lambda i, a, b, c: (a * 0.99 + b.sin(), b * 0.98, c + 1.0), x, y, x)[0].sum(),
        (draw(5), draw(5)),
    ),
    "counted": (
        lambda it, n, x: it(
            n, lambda i, a, k: (a * 0.99 + (x * k).sin() * i, (k * 3 + 1) % 7), x, svod.Tensor(2)
        )[0].sum(),
        (draw(4),),
    ),
    "a loop in a loop": (
        lambda it, n, x: it(
            n, lambda i, a: it(3, lambda j, b: (b * 0.9 + x[j] * 0.1 * i).sin() + x[j + 1], a) * 0.5, x[0]
        ).sum(),
        (draw(6, 2),),
    ),
    "positions and conditions": (
        lambda it, n, x, t: it(n, lambda i, a: svod.where(a > 0, a * 0.9, a + t[(i * 7) % 5]), x).sum(),
        (draw(4), draw(5)),
    ),
    "a part without a derivative": (
        lambda it, n, x: it(n, lambda i, a: a * 0.99 + (x.detach() * a.detach()).sin() * x, x).sum(),
        (draw(4),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("times", [65, 101, LONG])
def test_long_loops_have_the_derivatives_of_their_iterations(name: str, times: int) -> None:
    function, values = LOOPS[name]
    by = tuple(range(len(values)))
    found = svod.value_and_grad(lambda *v: function(svod.iterate, times, *v), by)(*values)
    wanted = svod.value_and_grad(lambda *v: function(written_out, times, *v), by)(*values)
    close([found[0], *found[1]], [wanted[0], *wanted[1]])


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f, x: [svod.jit(svod.grad(f))(x)],
        lambda f, x: list(svod.jvp(f, (x,), (x * 2,))),
        lambda f, x: [svod.grad(lambda x: (svod.grad(f)(x) ** 2).sum())(x)],
        lambda f, x: [svod.vmap(svod.grad(f))(svod.stack([x, x + 1]))],
        lambda f, x: [svod.grad(svod.checkpoint(f))(x)],
    ],
)
def test_derivatives_of_all_kinds(derivative: Callable[..., Any]) -> None:
    def of(it: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: it(70, lambda i, a: (a * 0.9 + x[i % 3]).sin(), x).sum()

    x = draw(3)
    close(derivative(of(svod.iterate), x), derivative(of(written_out), x))


def test_a_range_that_begins_elsewhere_and_tensors_that_require_a_gradient() -> None:
    w, rows = draw(3), draw(200, 3)

    def run(times: Any, it: Callable[..., Any], w: svod.Tensor) -> svod.Tensor:  # fmt: skip
        return it(times, lambda i, h: (h * w + rows[i]).sin(), rows[0]).sum()

    variable = w.clone().requires_grad_()
    run(range(40, 140), svod.iterate, variable).backward()

    def shifted(n: int, body: Callable[..., Any], h: svod.Tensor) -> svod.Tensor:
        return written_out(n, lambda i, h: body(i + 40, h), h)

    (wanted,) = [svod.grad(lambda w: run(100, shifted, w))(w)]
    assert variable.grad is not None and not variable.grad.requires_grad
    close([variable.grad], [wanted])


def test_values_over_devices() -> None:
    devices = ("CPU", "CPU:1")
    x, w = draw(4, 3), draw(3)

    def loss(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
        return svod.iterate(80, lambda i, h: (h * w + x).sin(), x).sum()

    close(svod.grad(loss, (0, 1))(x.to("CPU:1"), w.to("CPU:1")), svod.grad(loss, (0, 1))(x, w))
    spread = svod.grad(loss, (0, 1))(x.shard(devices, axis=0), w.shard(devices))
    close([g.to("CPU") for g in spread], svod.grad(loss, (0, 1))(x, w))


def test_complex_numbers() -> None:
    def turned(it: Callable[..., Any]) -> Callable[..., Any]:
        return lambda z: (it(70, lambda i, a: (a * z + 0.1) * (0.9 - 0.1j), z) * z).real.sum()

    z = svod.Tensor((RNG.normal(size=3) + 1j * RNG.normal(size=3)) / 2)
    close([svod.grad(turned(svod.iterate))(z)], [svod.grad(turned(written_out))(z)])


def test_memory_is_that_of_the_square_root_of_the_iterations() -> None:
    width = 4096

    def peak(times: int) -> tuple[int, np.ndarray]:
        x = svod.Tensor(np.linspace(-1, 1, width))
        y = svod.iterate(times, lambda i, a: a + 0.01 * (a * 3).sin(), x).sum()
        (gradient,) = y.gradient(x)
        plan = gradient.prepare(inputs=[x])
        plan.execute()
        return plan.memory["bytes_peak"], plan.outputs[0].numpy().copy()

    one = width * 8
    (few, _), (many, found) = peak(100), peak(10_000)
    # The beginnings of 100 blocks and those of the iterations of one; all 10,000 would be 80 MB and more.
    assert few <= 30 * one
    assert many <= 215 * one
    a, slope = np.linspace(-1, 1, width), np.ones(width)
    for _ in range(10_000):
        slope *= 1 + 0.03 * np.cos(a * 3)
        a = a + 0.01 * np.sin(a * 3)
    np.testing.assert_allclose(found, slope, rtol=1e-8)


def test_an_inner_loop_reads_by_the_number_of_the_outer_one() -> None:
    def f(it: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: it(3, lambda i, a: a + it(2, lambda j, b: (b * x[i] + x[j + i]).sin(), x * 2), x).sum()

    x = draw(4)
    close(svod.value_and_grad(f(svod.iterate))(x), svod.value_and_grad(f(written_out))(x))


@pytest.mark.parametrize("times", [1, 20, LONG])
def test_gradients_that_bodies_take_are_differentiated(times: int) -> None:
    """Descent, by the rate and by where it begins."""

    def f(y: svod.Tensor) -> svod.Tensor:
        return (y**3).sum()

    def descended(iterate: Callable[..., Any], way: Callable[..., Any]) -> Callable[[svod.Tensor, svod.Tensor], Any]:
        return lambda rate, x: iterate(times, lambda i, c: c - rate * way(c), x).sum()

    rate, x = svod.Tensor(0.1, dtype="float64"), svod.Tensor([0.3, 0.5], dtype="float64")
    by_hand = descended(written_out, lambda c: 3 * c**2)
    expected = [one.numpy() for one in svod.grad(by_hand, (0, 1))(rate, x)]
    ways: list[Callable[..., Any]] = [
        svod.grad(f),
        lambda c: svod.value_and_grad(f)(c)[1],
        lambda c: svod.vjp(f, c)[1](svod.Tensor(1.0, dtype="float64"))[0],
        svod.vmap(svod.grad(lambda y: y**3)),
        svod.checkpoint(svod.grad(f)),
    ]
    for way in ways[: 5 if times < LONG else 1]:
        made = descended(svod.iterate, way)
        close([one.numpy() for one in svod.grad(made, (0, 1))(rate, x)], expected)
        close([svod.jit(svod.grad(made, 1))(rate, x).numpy()], expected[1:])
        w = svod.Tensor([0.3, 0.5], dtype="float64").requires_grad_()
        made(rate, w).backward()
        assert w.grad is not None
        close([w.grad.numpy()], expected[1:])

    def scanned(rate: svod.Tensor, x: svod.Tensor) -> svod.Tensor:
        return svod.scan(lambda c, _: (c - rate * svod.grad(f)(c), None), x, None, length=times)[0].sum()

    close([one.numpy() for one in svod.grad(scanned, (0, 1))(rate, x)], expected)


def test_gradients_that_branches_take_are_differentiated() -> None:
    def f(y: svod.Tensor) -> svod.Tensor:
        return (y**3).sum()

    x = svod.Tensor([0.3, 0.5], dtype="float64")
    taken = svod.grad(lambda x: svod.cond(x.sum() > 0, lambda c: svod.grad(f)(c), lambda c: c, x).sum())
    close([taken(x).numpy()], [[1.8, 3.0]])
    # What is not differentiated requires nothing.
    assert not svod.iterate(2, lambda i, c: svod.grad(f)(c), x).requires_grad
    assert not svod.iterate(LONG, lambda i, c: c - 0.01 * svod.grad(f)(c), x).requires_grad


@pytest.mark.parametrize(
    "body",
    [
        lambda x, c, iterate: c + 0.1 * svod.grad(lambda y: (y**3 * x).sum())(c),
        lambda x, c, iterate: c + 0.1 * svod.grad(lambda y: (y * c).sin().sum())(x),
        lambda x, c, iterate: c + 0.1 * svod.hessian(lambda y: (y**3).sum())(c).sum(0),
        lambda x, c, iterate: c - 0.1 * svod.jit(svod.grad(lambda y: (y**3).sum()))(c),
        lambda x, c, iterate: iterate(2, lambda j, d: d - svod.grad(lambda y: (y**3).sum() * c.sum())(d), c * x),
    ],
)
def test_gradients_in_bodies_read_from_outside(body: Callable[..., svod.Tensor]) -> None:
    """What a gradient in a body is taken by, and what it reads, may be of the loop, of an outer loop or of neither."""

    def made(iterate: Callable[..., Any]) -> Callable[[svod.Tensor], Any]:
        return lambda x: iterate(2, lambda i, c: body(x, c, iterate), x).sum()

    x = svod.Tensor([0.3, 0.5], dtype="float64")
    expected = [svod.grad(made(written_out))(x).numpy()]
    close([svod.grad(made(svod.iterate))(x).numpy()], expected)
    close([svod.jit(svod.grad(made(svod.iterate)))(x).numpy()], expected)
    w = svod.Tensor([0.3, 0.5], dtype="float64").requires_grad_()
    made(svod.iterate)(w).backward()
    assert w.grad is not None
    close([w.grad.numpy()], expected)
