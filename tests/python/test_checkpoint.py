"""`svod.checkpoint`: the same values and derivatives, in less memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn

RNG = np.random.default_rng(24)
WIDTH = 24
WEIGHTS = [svod.Tensor(RNG.normal(size=(WIDTH, WIDTH)) / 5) for _ in range(6)]
INPUT = svod.Tensor(RNG.normal(size=(8, WIDTH)))


def layer(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
    return ((x @ w).tanh() @ w).exp().softmax(-1) + x


def network(one: Callable[..., Any]) -> Callable[..., Any]:
    def run(x: svod.Tensor) -> svod.Tensor:
        for w in WEIGHTS:
            x = one(x, w)
        return (x * x).mean()

    return run


def close(found: Any, wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


PLAIN, AGAIN = network(layer), network(svod.checkpoint(layer))


@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: [svod.grad(f)(INPUT)],
        lambda f: list(svod.value_and_grad(f)(INPUT)),
        lambda f: list(svod.jvp(f, (INPUT,), (INPUT * 2,))),
        lambda f: [svod.vjp(f, INPUT)[1](svod.Tensor(3.0, dtype="float64"))[0]],
        lambda f: [svod.jit(svod.grad(f))(INPUT)],
        lambda f: [svod.grad(lambda x: (svod.grad(f)(x) ** 2).sum())(INPUT)],
        lambda f: [svod.hessian(lambda x: f(INPUT * x))(svod.Tensor(RNG.normal(size=3)[:1] * 0 + 0.5))],
        lambda f: [svod.vmap(svod.grad(f))(svod.stack([INPUT, INPUT + 1, INPUT * 2]))],
        lambda f: [svod.grad(lambda x: svod.vmap(f)(svod.stack([x, x + 1])).sum())(INPUT)],
        lambda f: [svod.jit(svod.vmap(svod.grad(f)))(svod.stack([INPUT, INPUT + 1]))],
        lambda f: [svod.grad(svod.checkpoint(f))(INPUT)],
        lambda f: [svod.grad(lambda x: svod.checkpoint(lambda y: svod.checkpoint(f)(y * 2) + y.sum())(x))(INPUT)],
    ],
)  # fmt: skip
def test_derivatives_are_those_of_the_function(derivative: Callable[[Any], list[Any]]) -> None:
    close(derivative(AGAIN), derivative(PLAIN))


def test_variables_outside_of_the_arguments_have_their_gradients() -> None:
    ours, theirs = ([w.clone().requires_grad_() for w in WEIGHTS] for _ in range(2))
    x, y = INPUT, INPUT
    for w, v in zip(ours, theirs, strict=True):
        x = svod.checkpoint(lambda x, w=w: layer(x, w))(x)
        y = layer(y, v)
    loss = (x * x).mean()
    assert loss.item() == pytest.approx((y * y).mean().item(), rel=1e-12)
    loss.backward()
    (y * y).mean().backward()
    close([w.grad for w in ours], [v.grad for v in theirs])


def test_modules_and_names_and_containers() -> None:
    svod.manual_seed(0)
    block = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH))
    block.to(svod.float64).requires_grad_()

    def both(pair: dict[str, svod.Tensor], *, scale: float) -> tuple[svod.Tensor, dict[str, svod.Tensor]]:
        y = block(pair["x"]) * scale + pair["y"]
        return y, {"mean": y.mean(), "first": y.argmax()}

    def loss(f: Callable[..., Any]) -> Callable[..., Any]:
        def run(pair: dict[str, svod.Tensor]) -> svod.Tensor:
            y, told = f(pair, scale=2.0)
            return (y**3).sum() + told["mean"] * told["first"].double()

        return run

    pair = {"x": INPUT, "y": INPUT * 0.5}
    found, wanted = svod.grad(loss(svod.checkpoint(both)))(pair), svod.grad(loss(both))(pair)
    close([found["x"], found["y"]], [wanted["x"], wanted["y"]])
    x = svod.checkpoint(block)(INPUT)
    (x * x).sum().backward()
    gradients = {name: p.grad.numpy() for name, p in block.named_parameters()}
    block.zero_grad()
    assert all(p.grad is None for p in block.parameters())
    (block(INPUT) ** 2).sum().backward()
    for name, p in block.named_parameters():
        np.testing.assert_allclose(gradients[name], p.grad, rtol=1e-9, atol=1e-12)


def test_positions_and_random_numbers() -> None:
    """What is looked up by integers, and masks that are drawn: the same ones when it is computed again."""
    table, ids = svod.Tensor(RNG.normal(size=(10, 4))), svod.Tensor([1, 3, 3, 7])
    dropout = nn.Dropout(0.5)

    def looked_up(ids: svod.Tensor, table: svod.Tensor) -> svod.Tensor:
        return dropout(table[ids].tanh() * 2).sin()

    def gradient(f: Callable[..., Any]) -> svod.Tensor:
        svod.manual_seed(3)
        return svod.grad(lambda t: (f(ids, t) ** 2).sum())(table)

    close([gradient(svod.checkpoint(looked_up))], [gradient(looked_up)])


def test_complex_numbers_and_symbolic_sizes() -> None:
    z = svod.Tensor(RNG.normal(size=5) + 1j * RNG.normal(size=5))
    f = lambda z: (z * z).exp() / (z + 3)  # noqa: E731
    of = lambda f: svod.grad(lambda z: f(f(z)).abs().sum())(z)  # noqa: E731
    close([of(svod.checkpoint(f))], [of(f)])
    step = svod.jit(lambda x: svod.grad(AGAIN)(x), shapes={"x": (svod.Variable("n", 1, 64), WIDTH)})
    plain = svod.grad(PLAIN)
    for n in (3, 5, 8):
        close([step(INPUT[:n])], [plain(INPUT[:n])])


def test_values_over_devices() -> None:
    x = INPUT.shard(("CPU:0", "CPU:1"), axis=0)
    f = lambda g: svod.grad(lambda x: (g(g(x)) ** 2).sum())  # noqa: E731
    square = lambda x: (x * 2).tanh()  # noqa: E731
    close([f(svod.checkpoint(square))(x)], [f(square)(INPUT)])


def test_memory_of_a_deep_network_is_that_of_one_layer_and_what_is_between() -> None:
    rows, deep = 256, 12
    x = svod.Tensor(RNG.normal(size=(rows, WIDTH)))

    def peak(one: Callable[..., Any]) -> tuple[int, np.ndarray]:
        y = x
        for i in range(deep):
            y = one(y, WEIGHTS[i % len(WEIGHTS)])
        (gradient,) = (y * y).mean().gradient(x)
        plan = gradient.prepare(inputs=[x])
        plan.execute()
        return plan.memory["bytes_peak"], plan.outputs[0].numpy().copy()

    def long(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
        for _ in range(4):
            x = (x @ w).tanh()
        return x

    (kept, wanted), (again, found) = peak(long), peak(svod.checkpoint(long))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    one = rows * WIDTH * 8
    # Four values a layer of the one, one of the other and those of the layer at work.
    assert kept >= 4 * deep * one
    assert again <= (deep + 10) * one


def test_what_computes_nothing_is_itself() -> None:
    same = svod.checkpoint(lambda x: x)
    assert svod.grad(lambda x: (same(x) ** 2).sum())(svod.Tensor([3.0])).tolist() == [6.0]
    constant = svod.checkpoint(lambda x: svod.ones(2))
    assert constant(INPUT).tolist() == [1.0, 1.0]
    assert svod.checkpoint(lambda x: x.argmax())(INPUT).item() == INPUT.argmax().item()


def test_errors() -> None:
    with pytest.raises(svod.ArgumentError, match="is given no tensor"):
        svod.checkpoint(lambda n: svod.ones(n))(3)
    with pytest.raises(svod.ArgumentTypeError, match="gives no tensor"):
        svod.checkpoint(lambda x: 3)(INPUT)
