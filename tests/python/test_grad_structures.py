"""Derivatives that are given and derivatives of all elements, of several results and of modules, in JAX's nesting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
from svod import nn


def test_several_results_of_a_given_derivative() -> None:
    calls: list[Any] = []

    @svod.custom_gradient
    def both(x: svod.Tensor, y: svod.Tensor) -> Any:
        def pull(g: Any) -> Any:
            calls.append(g)
            return g["product"] * y + 10 * g["sums"][0].unsqueeze(0), g["product"] * x

        return {"product": x * y, "sums": (x.sum(), x.argmax())}, pull

    x, y, v = svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0]), svod.Tensor([1.0, 100.0])

    def loss(x: svod.Tensor, y: svod.Tensor) -> Any:
        made = both(x, y)
        return (made["product"] * v).sum() + 7 * made["sums"][0]

    assert both(x, y)["product"].tolist() == [3, 8] and both(x, y)["sums"][1].item() == 1
    for take in (svod.grad(loss, (0, 1)), svod.jit(svod.grad(loss, (0, 1)))):
        calls.clear()
        by_x, by_y = take(x, y)
        assert by_x.tolist() == [73.0, 470.0] and by_y.tolist() == [1.0, 200.0]
        assert len(calls) == 1 and calls[0]["sums"][1] is None
    # Only one of them is used: zeros for the other.
    by_x, by_y = svod.grad(lambda x, y: both(x, y)["sums"][0], (0, 1))(x, y)
    assert by_x.tolist() == [10.0, 10.0] and by_y.tolist() == [0.0, 0.0]
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    both(w, y)["product"].sum().backward()
    assert w.grad is not None and w.grad.tolist() == [3.0, 4.0]
    # Second derivatives are those of the pullback.
    second = svod.grad(lambda y: (svod.grad(lambda x: (both(x, y)["product"] * v).sum())(x) ** 2).sum())(y)
    np.testing.assert_allclose(second.numpy(), 2 * y.numpy() * v.numpy() ** 2)


def test_results_of_several_types() -> None:
    @svod.custom_gradient
    def parts(x: svod.Tensor) -> Any:
        return (
            x.cast("float16"),
            x.cast("float64"),
            x * 1j,
        ), lambda g: g[0].cast(x.dtype) + g[1].cast(x.dtype) + (g[2] / 1j).real

    x = svod.Tensor([1.0, 2.0])
    one, two, three = parts(x)
    assert [str(made.dtype) for made in (one, two, three)] == ["float16", "float64", "complex64"]

    def loss(x: svod.Tensor) -> Any:
        half, double, number = parts(x)
        return (half * 2).sum().cast("float32") + (double * 3).sum().cast("float32") + number.imag.sum()

    assert svod.grad(loss)(x).tolist() == [6.0, 6.0]


def test_results_in_a_loop_and_a_batch() -> None:
    @svod.custom_gradient
    def both(x: svod.Tensor) -> Any:
        return (x * 2, x * 3), lambda g: 10 * g[0] + 100 * g[1]

    def looped(x: svod.Tensor) -> Any:
        def body(i: Any, x: svod.Tensor) -> Any:
            a, b = both(x)
            return a + b

        return svod.iterate(2, body, x).sum()

    x = svod.Tensor([1.0, 2.0])
    assert svod.grad(looped)(x).tolist() == [110.0**2] * 2
    assert svod.vmap(svod.grad(lambda x: both(x)[1]))(x).tolist() == [100.0, 100.0]


def test_modules_are_arguments_of_given_derivatives() -> None:
    layer = nn.Linear(2, 1, bias=False)
    layer.weight.assign([[3.0, 4.0]])

    @svod.custom_gradient
    def applied(layer: nn.Linear, x: svod.Tensor) -> Any:
        return layer(x), lambda g: ({"weight": g.reshape(1, 1) * x * 10}, g * 100 * layer.weight[0])

    x = svod.Tensor([1.0, 2.0])
    by_layer, by_x = svod.grad(lambda layer, x: applied(layer, x).sum(), (0, 1))(layer, x)
    assert by_layer["weight"].tolist() == [[10.0, 20.0]] and by_x.tolist() == [300.0, 400.0]
    layer.requires_grad_()
    applied(layer, x).sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.tolist() == [[10.0, 20.0]]
    missing = svod.custom_gradient(lambda layer, x: (layer(x), lambda g: g * x))
    with pytest.raises(svod.ArgumentError, match="cotangents of tuple of 2, not a tensor"):
        svod.grad(lambda x: missing(layer, x).sum())(x)


def test_jacobians_nest_as_jax_does() -> None:
    jax = pytest.importorskip("jax")
    a, b = np.array([1, 2], np.float32), np.array([[3, 4], [5, 6]], np.float32)

    def f(p: Any, scale: Any) -> Any:
        return {"y": p["a"] * scale, "z": (p["b"].sum(), p["b"] @ p["a"])}

    wanted = jax.jacrev(f, argnums=(0, 1))({"a": a, "b": b}, np.float32(2))
    got = svod.jacobian(f, argnums=(0, 1))({"a": svod.Tensor(a), "b": svod.Tensor(b)}, svod.Tensor(2.0))
    found, structure = jax.tree.flatten(wanted)
    own, other = jax.tree.flatten(jax.tree.map(lambda t: t.numpy(), got))
    assert structure == other
    for one, two in zip(own, found, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)

    def g(p: Any) -> Any:
        return {"y": (p["a"] ** 3 * p["b"].sum()).sum(), "z": [(p["b"] ** 2).sum() * p["a"][0]]}

    wanted = jax.hessian(g)({"a": a, "b": b})
    got = svod.hessian(g)({"a": svod.Tensor(a), "b": svod.Tensor(b)})
    found, structure = jax.tree.flatten(wanted)
    own, other = jax.tree.flatten(jax.tree.map(lambda t: t.numpy(), got))
    assert structure == other
    for one, two in zip(own, found, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-6)
