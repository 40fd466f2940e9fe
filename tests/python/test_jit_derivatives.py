"""Results of jitted functions that are differentiated outside: calls run plans, and so do their derivatives."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim
from svod.nn import functional as F


def model(dropout: float = 0.0) -> nn.Module:
    svod.manual_seed(0)
    layers = [nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(dropout), nn.Linear(8, 3)]
    return nn.Sequential(*layers).requires_grad_()


def batch(at: int, rows: int = 16) -> tuple[svod.Tensor, svod.Tensor]:
    rng = np.random.default_rng(at)
    return svod.Tensor(rng.standard_normal((rows, 4), np.float32)), svod.Tensor(rng.integers(0, 3, rows))


def compiled() -> int:
    return int(svod.caches()["kernels"])


def trained(jitted: bool, dropout: float = 0.0) -> tuple[list[float], dict[str, Any]]:
    own = model(dropout)
    called = svod.jit(own) if jitted else own
    optimizer = optim.Adam(own.parameters(), lr=0.01)
    losses = []
    for at in range(6):
        x, y = batch(at, 16 if at != 3 else 5)
        optimizer.zero_grad()
        loss = F.cross_entropy(called(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, {name: value.numpy() for name, value in own.state_dict().items()}


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_jitted_model_is_trained_as_the_model_is(dropout: float) -> None:
    (losses, state), (expected, right) = trained(True, dropout), trained(False, dropout)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    for name, value in right.items():
        np.testing.assert_allclose(state[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_nothing_is_compiled_after_the_second_step() -> None:
    own = model()
    called, optimizer = svod.jit(own), optim.SGD(own.parameters(), lr=0.1)
    counts = []
    for at in range(5):
        x, y = batch(at)
        optimizer.zero_grad()
        loss = F.cross_entropy(called(x), y)
        loss.backward()
        optimizer.step()
        loss.item()
        counts.append((compiled(), called.traces))
    assert counts[1:] == counts[1:2] * 4 and called.traces <= 2


def test_calls_run_plans() -> None:
    own = model().eval()
    jitted = svod.jit(own)
    x, _ = batch(0)
    with svod.no_grad():
        plain = jitted(x)
        assert plain.is_realized and not plain.requires_grad
    recorded = jitted(x)
    assert recorded.requires_grad and recorded.is_realized and not recorded.is_leaf and jitted.traces == 2
    np.testing.assert_allclose(recorded.detach().numpy(), plain.numpy(), rtol=1e-5, atol=1e-6)
    with svod.no_grad():
        assert not jitted(x).requires_grad and jitted.traces == 2
    # What is to stay as it is has no derivative.
    own.requires_grad_(False)
    assert not jitted(x).requires_grad


def test_by_arguments() -> None:
    @svod.jit
    def f(x: Any, scale: Any) -> dict[str, svod.Tensor]:
        return {"value": (x**2 * scale).sum(), "same": x, "sign": x > 0}

    data = np.float32([1, 2])
    assert not f(svod.Tensor(data), np.float32(3))["value"].requires_grad
    x = svod.Tensor(data).requires_grad_()
    found = f(x, np.float32(3))
    assert found["same"].requires_grad and not found["sign"].requires_grad
    (found["value"] + found["same"].sum()).backward()
    assert x.grad is not None and x.grad.tolist() == [7, 13]
    x.grad = None
    # Of what follows from others.
    loss = svod.jit(lambda x: x.exp())(x * 2).sum()
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * data), rtol=1e-5)
    # Of arrays and numbers, which are what they were at the call.
    w = svod.Tensor(data).requires_grad_()
    product = svod.jit(lambda x, by: (w * x).sum() * by)
    given = data.copy()
    loss = product(given, 2.0)
    given[:] = 100
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [2, 4]


@pytest.mark.parametrize("times", [1, 3])
def test_higher_orders(times: int) -> None:
    f = svod.jit(lambda x: (x**3 * 2).sum())
    x = svod.Tensor([1.0, 2.0]).requires_grad_()
    for _ in range(times):
        (g,) = f(x).gradient(x)
        assert g.tolist() == [6, 24]
        (h,) = g.sum().gradient(x)
        assert h.tolist() == [12, 24]
        (t,) = h.sum().gradient(x)
        assert t.tolist() == [12, 12]
        f(x).backward(create_graph=True)
        assert x.grad is not None and x.grad.requires_grad
        penalty = (x.grad**2).sum()
        x.grad = None
        penalty.backward()
        assert x.grad.tolist() == [2 * 6 * 12, 2 * 24 * 24]
        x.grad = None


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacobian", "hessian"])
def test_functions_that_take_derivatives(name: str) -> None:
    w = svod.Tensor([0.5, -2.0, 1.0]).requires_grad_()

    def f(x: svod.Tensor) -> svod.Tensor:
        return (x.sin() * w * x).sum()

    x = svod.Tensor([1.0, 2.0, 3.0])
    of = getattr(svod, name)

    def flat(found: Any) -> list[svod.Tensor]:
        return list(found) if isinstance(found, tuple) else [found]

    expected = [one.numpy() for one in flat(of(f)(x))]
    jitted = svod.jit(f)
    for made in (of(jitted), svod.jit(of(f)), svod.jit(of(jitted))):
        for _ in range(2):
            for one, right in zip(flat(made(x)), expected, strict=True):
                np.testing.assert_allclose(one.detach().numpy(), right, rtol=1e-4, atol=1e-5)


def test_vjp_jvp_vmap() -> None:
    f = svod.jit(lambda x: x**2)
    x = svod.Tensor([1.0, 2.0, 3.0])
    _, pull = svod.vjp(f, x)
    assert pull(svod.Tensor([1.0, 1.0, 2.0]))[0].tolist() == [2, 4, 12]
    assert svod.jvp(f, [x], [svod.ones(3)])[1].tolist() == [2, 4, 6]
    assert svod.vmap(f)(x).tolist() == [1, 4, 9]
    # Values that were computed outside of them.
    w = svod.Tensor([1.0, 2.0, 3.0]).requires_grad_()
    y = f(w)
    assert svod.vmap(lambda a, b: a * b)(y, x).sum().gradient(w)[0].tolist() == [2, 8, 18]
    assert svod.grad(lambda x: (x * y.sum().gradient(w)[0]).sum())(x).tolist() == [2, 4, 6]


def test_within_what_is_traced() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    y = svod.jit(lambda: w**3)()

    @svod.jit
    def outer(x: svod.Tensor) -> svod.Tensor:
        return (svod.jit(lambda x: w * x)(x) * x).sum()

    outer(svod.Tensor([2.0, 3.0])).backward()
    assert w.grad is not None and w.grad.tolist() == [4, 9]
    w.grad = None
    # What follows from others outside is what derivatives go on from.
    scaled = svod.jit(lambda x: (x * y).sum())
    scaled(svod.Tensor([1.0, 10.0])).backward()
    assert w.grad.tolist() == [3, 120]


def test_values_are_those_of_the_call() -> None:
    w, count = svod.Tensor([2.0, 3.0]).requires_grad_(), svod.Tensor([1.0, 1.0])

    @svod.jit
    def f(x: svod.Tensor) -> svod.Tensor:
        count.assign(count + 1)
        return (w * w * x * count).sum()

    x = svod.Tensor([1.0, 2.0])
    for at in range(4):
        loss = f(x)
        with svod.no_grad():
            before = w.detach().numpy()
            w.assign(w + 1)
            x.assign(x + 1)
        loss.backward()
        assert w.grad is not None
        np.testing.assert_allclose(w.grad.numpy(), 2 * before * (np.float32([1, 2]) + at) * (2 + at))
        w.grad = None
    assert count.tolist() == [5, 5]


def test_parts_of_the_results() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    f = svod.jit(lambda x: ((w * x).sin(), (w * x).exp().sum(), (w.detach() * x).sum(), w.floor().sum()))
    x = svod.Tensor([0.5, 0.25])
    for _ in range(2):
        for taken, expected in (
            ([1], np.exp([0.5, 0.5]) * [0.5, 0.25]),
            ([0], np.cos([0.5, 0.5]) * [0.5, 0.25]),
            ([0, 1], (np.cos([0.5, 0.5]) + np.exp([0.5, 0.5])) * [0.5, 0.25]),
            ([3], [0, 0]),
        ):
            sum((found.sum() for found in (f(x)[at] for at in taken)), svod.Tensor(0.0)).backward()
            assert w.grad is not None
            np.testing.assert_allclose(w.grad.numpy(), expected, rtol=1e-5)
            w.grad = None
        results = f(x)
        assert not results[2].requires_grad
        # Together, from one call.
        (results[0].sum() + results[1] * 2).backward()
        np.testing.assert_allclose(
            w.grad.numpy(), (np.cos([0.5, 0.5]) + 2 * np.exp([0.5, 0.5])) * [0.5, 0.25], rtol=1e-5
        )
        w.grad = None


def test_declared_sizes() -> None:
    n = svod.Variable("n", 1, 64)
    svod.manual_seed(0)
    layer = nn.Linear(4, 3).requires_grad_()
    f = svod.jit(shapes={"x": (n, 4)})(lambda x: layer(x).tanh().sum(0))
    for rows in (1, 7, 64, 7):
        x, _ = batch(rows, rows)
        for called in (f, lambda x: layer(x).tanh().sum(0)):
            layer.zero_grad()
            (called(x) ** 2).sum().backward()
            now = layer.weight.grad
            assert now is not None
            if called is f:
                found = now.numpy()
        np.testing.assert_allclose(found, now.numpy(), rtol=1e-4, atol=1e-5)
    assert f.traces == 1


def test_what_no_gradient_is_taken_of() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()

    @svod.jit
    def f(x: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        with svod.no_grad():
            fixed = w * x
        return fixed.sum(), (fixed * x).sum()

    assert not any(one.requires_grad for one in f(svod.ones(2)))
    x = svod.ones(2).requires_grad_()
    plain, product = f(x)
    assert not plain.requires_grad and product.requires_grad
    product.backward()
    assert x.grad is not None and x.grad.tolist() == [1, 2] and w.grad is None


def test_steps_are_plans_as_before() -> None:
    own = model()
    optimizer = optim.SGD(own.parameters(), lr=0.1)

    @svod.jit
    def step(x: svod.Tensor, y: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        optimizer.zero_grad()
        logits = own(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
        return loss, logits

    x, y = batch(0)
    for _ in range(4):
        loss, logits = step(x, y)
        assert loss.is_realized and logits.is_realized and not logits.requires_grad
    assert step.traces <= 2


def test_functions_that_take_gradients_keep_their_options() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()

    @svod.jit(memory_budget=10**6)
    def f(x: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        loss = (w**2 * x).sum()
        return loss, loss.gradient(w)[0]

    for _ in range(2):
        loss, gradient = f(svod.ones(2))
        assert loss.is_realized and gradient.is_realized and gradient.tolist() == [2, 4]
    (loss + (gradient**2).sum()).backward()
    assert w.grad is not None and w.grad.tolist() == [2 + 8, 4 + 16]


def test_memory_is_let_go() -> None:
    svod.manual_seed(0)
    layer = nn.Linear(64, 64).requires_grad_()
    f, optimizer = svod.jit(layer), optim.SGD(layer.parameters(), lr=0.01)
    x = svod.randn(32, 64).realize()
    live = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = (f(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        live.append(svod.memory()["CPU"]["live"])
    assert max(live[10:]) <= live[9]


def test_threads_share_the_derivative() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    f = svod.jit(lambda x: (w * x).sin().sum())
    found: dict[int, Any] = {}

    def work(at: int) -> None:
        found[at] = [f(svod.Tensor([float(at), 1.0])).gradient(w)[0].numpy() for _ in range(5)]

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for at, all_of in found.items():
        for one in all_of:
            np.testing.assert_allclose(one, [at * np.cos(at), np.cos(2)], rtol=1e-5, atol=1e-6)


def test_errors() -> None:
    jitted = svod.jit(model())
    with pytest.raises(svod.ShapeError):
        jitted(svod.ones(2, 5))
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    loss = svod.jit(lambda: (w**2).sum())()
    loss.backward()
    with pytest.raises(svod.ArgumentError, match="requires no gradient"):
        loss.backward()

    @svod.jit
    def unknown() -> svod.Tensor:
        return svod.custom(np.sin, w).sum()

    with pytest.raises(svod.UnsupportedError, match="derivative"):
        unknown().backward()


def test_weights_of_a_trained_model_are_laid_out_once() -> None:
    """Where no gradients are recorded, the weights of a model that requires them are constants of a plan too."""
    own = nn.Linear(256, 256).requires_grad_()
    jitted = svod.jit(own)
    x = svod.randn(64, 256).realize()
    before = svod.caches()["packs"]
    with svod.no_grad():
        for _ in range(6):
            jitted(x)
    assert svod.caches()["packs"] == before + 1
