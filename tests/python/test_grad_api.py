"""What derivatives are asked for by: functions of functions, and tensors that require a gradient."""

from __future__ import annotations

import gc
import importlib
import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import svod

# Only what is said of points is checked against PyTorch too, where it is there.
torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def tensor(*values: float) -> svod.Tensor:
    return svod.Tensor(np.array(values, np.float64))


class Pair(NamedTuple):
    a: svod.Tensor
    b: svod.Tensor


def test_structures_and_argnums() -> None:
    def loss(p: dict[str, Any], x: svod.Tensor, scale: float) -> svod.Tensor:
        return (p["w"][0] * x + p["pair"].b).sum() * scale

    p = {"w": [tensor(1, 2)], "pair": Pair(tensor(0), tensor(3))}
    gradient = svod.grad(loss)(p, tensor(5, 7), scale=2.0)
    assert gradient["w"][0].tolist() == [10, 14]
    assert isinstance(gradient["pair"], Pair) and gradient["pair"].a.tolist() == [0]
    assert gradient["pair"].b.tolist() == [4]
    value, (of_p, of_x) = svod.value_and_grad(loss, (0, -2))(p, tensor(5, 7), 2.0)
    assert value.item() == 50 and of_x.tolist() == [2, 4] and of_p["w"][0].tolist() == [10, 14]


def test_aux_arrays_and_numbers() -> None:
    value, gradient = svod.value_and_grad(lambda x: (x * x, {"x": x + 1}), has_aux=True)(3.0)
    assert value[0].item() == 9 and value[1]["x"].item() == 4 and gradient.item() == 6
    assert svod.grad(lambda x: x.sum())(np.ones((2, 3))).shape == (2, 3)


def test_higher_orders() -> None:
    f = svod.grad(svod.grad(svod.grad(lambda x: x**5)))
    assert f(svod.Tensor(2.0)).item() == 240
    # The inner derivative is by its own variable only.
    nested = svod.grad(lambda x: x * svod.grad(lambda y: x * y)(svod.Tensor(1.0)))
    assert nested(svod.Tensor(3.0)).item() == 6


def test_an_argument_is_told_from_the_same_tensor_outside() -> None:
    x = svod.Tensor(3.0)
    assert svod.grad(lambda y: x * y)(x).item() == 3
    one = svod.Tensor(1.0)
    assert svod.grad(lambda y: y * 1.0)(one).item() == 1


def test_vjp_and_jvp_agree_with_the_jacobian() -> None:
    def f(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
        return (x.sin() * y[0]).cumsum(0) + y[1]

    x, y = tensor(0.3, 1.2, -0.4), tensor(2.0, 0.5)
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=3), rng.normal(size=3)
    jacobian = svod.jacobian(f)(x, y).numpy()
    wanted = np.tril(np.ones((3, 3))) * 2 * np.cos(x.numpy())
    np.testing.assert_allclose(jacobian, wanted, rtol=1e-12, atol=1e-12)
    value, pull = svod.vjp(f, x, y)
    np.testing.assert_allclose(value.numpy(), f(x, y).numpy())
    np.testing.assert_allclose(pull(svod.Tensor(u))[0].numpy(), u @ jacobian)
    _, tangent = svod.jvp(f, (x, y), (svod.Tensor(v), tensor(0, 0)))
    np.testing.assert_allclose(tangent.numpy(), jacobian @ v)


def test_structures_of_results() -> None:
    value, pull = svod.vjp(lambda x: {"a": x * 2, "b": [x * x]}, tensor(3))
    assert value["b"][0].tolist() == [9]
    assert pull({"a": tensor(1), "b": [tensor(10)]})[0].tolist() == [62]


def test_hessian() -> None:
    assert svod.hessian(lambda x: (x**3).sum())(tensor(1, 2)).tolist() == [[6, 0], [0, 12]]


def test_modules() -> None:
    model = svod.nn.Linear(3, 2)
    x = svod.Tensor(np.ones((4, 3), np.float32))
    gradient = svod.grad(lambda m, x: m(x).sum())(model, x)
    assert gradient["bias"].tolist() == [4, 4] and gradient["weight"].tolist() == [[4] * 3] * 2
    assert not model.weight.requires_grad
    jitted = svod.jit(lambda x: svod.grad(lambda m: m(x).sum())(model))
    assert jitted(x)["weight"].tolist() == [[4] * 3] * 2


def test_jit_and_prepare() -> None:
    f = svod.jit(svod.value_and_grad(lambda w, x: ((x @ w) ** 2).mean()))
    w, x = np.ones((3, 2)), np.arange(12.0).reshape(4, 3)
    for scale in (1.0, 2.0):
        value, gradient = f(w * scale, x)
        residual = x @ (w * scale)
        np.testing.assert_allclose(value.item(), (residual**2).mean())
        np.testing.assert_allclose(gradient.numpy(), x.T @ residual * 2 / residual.size)
    assert f.traces == 1
    inside = svod.grad(lambda x: svod.jit(lambda y: (y * y).sum())(x) if False else (x * x).sum())
    assert inside(tensor(2)).tolist() == [4]


def test_symbolic_sizes() -> None:
    n = svod.Variable("n", 1, 8)

    @svod.jit(shapes={"x": (n, 3)})
    def step(x: svod.Tensor) -> svod.Tensor:
        return svod.grad(lambda x: (x.softmax(0) ** 2).sum())(x)

    for rows in (2, 5):
        given = np.random.default_rng(rows).normal(size=(rows, 3))
        share = np.exp(given) / np.exp(given).sum(0)
        wanted = 2 * share * (share - (share**2).sum(0))
        np.testing.assert_allclose(step(given).numpy(), wanted, rtol=1e-10, atol=1e-12)


def test_plans_follow_what_derivatives_are_taken_by() -> None:
    """An input is the same memory whether it is a variable, was one, or will be one."""

    def f(x: svod.Tensor) -> svod.Tensor:
        return (x * x).sum()

    given = np.array([5.0, 7.0])
    x = tensor(1, 2)
    plan = svod.prepare(f(x), svod.grad(f)(x), x * 3, inputs=[x])
    assert [result.tolist() for result in plan.run(given)] == [74, [10, 14], [15, 21]]
    value, gradient = svod.value_and_grad(f)(x)
    plan = svod.prepare(value, gradient, inputs=[x])
    assert [result.tolist() for result in plan.run(given)] == [74, [10, 14]]
    assert [result.tolist() for result in plan.run(given + 1)] == [100, [12, 16]]
    _, pull = svod.vjp(lambda x: x**3, x)
    assert svod.prepare(*pull(svod.Tensor([1.0, 10.0], dtype="float64")), inputs=[x]).run(given)[0].tolist() == [
        75,
        1470,
    ]
    assert svod.hessian(f)(x).prepare(inputs=[x], unused_inputs=True).run(given)[0].tolist() == [[2, 0], [0, 2]]
    # Before and after it requires a gradient.
    before = x * 2
    x.requires_grad_()
    after = f(x)
    after.backward(retain_graph=True)
    assert x.grad is not None
    plan = svod.prepare(before, after, x.grad, x.detach() + 1, x, inputs=[x])
    assert [result.tolist() for result in plan.run(given)] == [[10, 14], 74, [10, 14], [6, 8], [5, 7]]


@pytest.mark.parametrize("number", [1, 4, 7])
def test_jacobians_of_symbolic_size(number: int) -> None:
    n = svod.Variable("n", 1, 8)
    x = np.random.default_rng(number).standard_normal((number, 3))

    def value(x: svod.Tensor) -> svod.Tensor:
        return x.softmax(-1).cumsum(0) * x.sum()

    def loss(x: svod.Tensor) -> svod.Tensor:
        return ((x @ x.T).tanh() * x.sum()).sum()

    for derivative in (svod.jacobian(value), svod.hessian(loss), svod.jacobian(lambda x: x.square().sum(0))):
        of_any = svod.empty(n, 3, dtype="float64")
        plan = svod.prepare(derivative(of_any), inputs=[of_any])
        plan.execute(x)
        np.testing.assert_allclose(plan.outputs[0].numpy(), derivative(svod.Tensor(x)).numpy(), atol=1e-12)


def test_plans_of_symbolic_size_follow_what_derivatives_are_taken_by() -> None:
    n = svod.Variable("n", 1, 9)
    x = svod.empty(n, 3, dtype="float64")
    plan = svod.prepare(*svod.value_and_grad(lambda y: (y**3).sum())(x), inputs=[x])
    for rows in (4, 2, 9):
        given = np.random.default_rng(rows).normal(size=(rows, 3))
        value, gradient = plan.run(given)
        np.testing.assert_allclose(value.item(), (given**3).sum())
        np.testing.assert_allclose(gradient.numpy(), 3 * given**2)
    spread = tensor(1, 2, 3).shard(["CPU", "CPU:1"], axis=0).realize()
    plan = svod.grad(lambda y: (y**3).sum())(spread).prepare(inputs=[spread])
    assert plan.run(np.array([2.0, 3.0, 4.0]))[0].tolist() == [12, 27, 48]


def test_loops() -> None:
    def f(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
        return svod.iterate(6, lambda i, h: (h @ w).tanh() + x[i], x[0]).sum()

    x, w = np.random.default_rng(0).normal(size=(6, 4)), np.random.default_rng(1).normal(size=(4, 4))
    got = svod.grad(f, (0, 1))(svod.Tensor(x), svod.Tensor(w))
    states = [x[0]]
    for row in x:
        states.append(np.tanh(states[-1] @ w) + row)
    of_x, of_w, g = np.zeros_like(x), np.zeros_like(w), np.ones(4)
    for i in reversed(range(6)):
        of_x[i] += g
        inner = g * (1 - np.tanh(states[i] @ w) ** 2)
        of_w += np.outer(states[i], inner)
        g = inner @ w.T
    of_x[0] += g
    np.testing.assert_allclose(got[0].numpy(), of_x, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(got[1].numpy(), of_w, rtol=1e-10, atol=1e-12)


def test_a_long_chain() -> None:
    x = svod.Tensor(1.0).realize()
    y = x
    for _ in range(100_000):
        y = -y
    (gradient,) = y.gradient(x)
    assert gradient.shape == ()
    del gradient, y


def test_over_devices() -> None:
    devices = ["CPU", "CPU:1"]
    w = svod.Tensor(np.arange(6.0).reshape(3, 2))
    x = np.random.default_rng(0).normal(size=(4, 3))
    shared, rows = w.shard(devices), svod.Tensor(x).shard(devices, axis=0)
    (gradient,) = ((rows @ shared) ** 2).sum().gradient(shared)
    assert gradient.device == ("CPU", "CPU:1")
    np.testing.assert_allclose(gradient.to("CPU").numpy(), x.T @ (x @ w.numpy()) * 2)
    (through,) = ((svod.Tensor(x).shard(devices, axis=0) @ shared) ** 2).sum().gradient(shared)
    np.testing.assert_allclose(through.to("CPU").numpy(), x.T @ (x @ w.numpy()) * 2)
    (moved,) = (w.to("CPU:1") * 2).sum().gradient(w)
    assert moved.device == "CPU" and moved.tolist() == [[2, 2]] * 3


def test_custom_gradient() -> None:
    @svod.custom_gradient
    def product(a: svod.Tensor, b: svod.Tensor) -> Any:
        return a * b, lambda g: (g * 100, None)

    got = svod.grad(lambda a, b: (product(a, b) + a).sum(), (0, 1))(tensor(1, 2), tensor(3, 4))
    assert got[0].tolist() == [101, 101] and got[1].tolist() == [0, 0]

    def raises(g: svod.Tensor) -> Any:
        raise KeyError("own")

    with pytest.raises(KeyError, match="own"):
        svod.grad(svod.custom_gradient(lambda x: (x * 1, raises)))(svod.Tensor(1.0))
    with pytest.raises(svod.ShapeError, match=r"cotangent of operand 0, float32\[\]"):
        svod.grad(svod.custom_gradient(lambda x: (x * 1, lambda g: svod.zeros(2))))(svod.Tensor(1.0))


def test_pullbacks_give_cotangents_like_arguments() -> None:
    calls = []

    @svod.custom_gradient
    def weighted(layer: dict[str, Any], scale: float, *, x: svod.Tensor) -> Any:
        def pull(g: svod.Tensor) -> Any:
            calls.append(1)
            return {"w": g * 10, "b": [g * 20, None]}, g * 30

        return layer["w"] * x + layer["b"][0] * scale, pull

    layer = {"w": tensor(1, 2), "b": [tensor(3, 4), tensor(0, 0)]}
    of_layer, of_x = svod.grad(lambda layer, x: weighted(layer, 2.0, x=x).sum(), (0, 1))(layer, tensor(5, 6))
    assert len(calls) == 1
    assert of_layer["w"].tolist() == [10, 10] and of_layer["b"][0].tolist() == [20, 20]
    assert of_layer["b"][1].tolist() == [0, 0] and of_x.tolist() == [30, 30]
    alone = svod.custom_gradient(lambda pair: (pair[0] * pair[1], lambda g: (g, g * 2)))
    assert [one.tolist() for one in svod.grad(lambda pair: alone(pair).sum())((tensor(1), tensor(2)))] == [[1], [2]]


@pytest.mark.parametrize(
    ("pull", "error", "message"),
    [
        (lambda g: (g, g), svod.ArgumentError, "f: cotangents of dict of 1, not tuple of 2"),
        (lambda g: g, svod.ArgumentError, "f: cotangents of dict of 1, not a tensor"),
        (lambda g: {"b": g}, svod.ArgumentError, "f: cotangents of dict of 1, not dict of 1"),
        (lambda g: {"a": 3}, svod.ArgumentTypeError, "the pullback of f gives tensors or None, not 3"),
        (lambda g: {"a": g > 0}, svod.DTypeError, r"the cotangent of operand 0, float64\[2\], is bool\[2\]"),
        (lambda g: {"a": g.cast("int32")}, svod.DTypeError, r"operand 0, float64\[2\], is int32\[2\]"),
        (lambda g: {"a": g * 1j}, svod.DTypeError, r"operand 0, float64\[2\], is complex128\[2\]"),
        (lambda g: {"a": g.sum()}, svod.ShapeError, r"operand 0, float64\[2\], is float64\[\]"),
    ],
)
def test_cotangents_that_do_not_fit(pull: Any, error: Any, message: str) -> None:
    def f(container: Any) -> Any:
        return container["a"] * 1, pull

    with pytest.raises(error, match=message):
        svod.grad(lambda a: svod.custom_gradient(f)({"a": a}).sum())(tensor(1, 2))


def test_a_function_of_the_host_with_a_derivative() -> None:
    @svod.custom_gradient
    def sine(x: svod.Tensor) -> Any:
        return svod.custom(np.sin, x), lambda g: g * x.cos()

    np.testing.assert_allclose(svod.grad(lambda x: sine(x).sum())(tensor(0.5)).numpy(), np.cos([0.5]))
    with pytest.raises(svod.UnsupportedError, match=r"sin.*has no derivative"):
        svod.grad(lambda x: svod.custom(np.sin, x).sum())(tensor(0.5))


def test_stop_gradient() -> None:
    assert svod.grad(lambda x: x * svod.stop_gradient(x))(svod.Tensor(3.0)).item() == 3
    assert svod.stop_gradient({"a": [svod.Tensor(1.0)]})["a"][0].item() == 1


# PyTorch's way.


def test_backward_gathers() -> None:
    w = tensor(1, 2).requires_grad_()
    for times in (1, 2):
        (w * w).sum().backward()
        assert w.grad is not None and w.grad.tolist() == [2 * times, 4 * times]
    w.grad = None
    assert w.grad is None and w.requires_grad and w.is_leaf and not (w * 2).is_leaf


def test_reading_does_not_cut_the_tape() -> None:
    w = tensor(1, 2).requires_grad_()
    hidden = w * w
    assert hidden.tolist() == [1, 4]
    loss = (hidden * hidden).sum()
    assert loss.item() == 17 and "17" in repr(loss)
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [4, 32]


def test_history_is_let_go() -> None:
    w = tensor(1).requires_grad_()
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert w.grad is not None and w.grad.tolist() == [4]
    with pytest.raises(svod.ArgumentError, match=r"requires no gradient.*backward"):
        loss.backward()
    assert loss.item() == 1
    with pytest.raises(svod.ArgumentError, match="requires no gradient"):
        loss.backward()


def test_retain_grad_detach_and_no_grad() -> None:
    w = tensor(2).requires_grad_()
    middle = w * 3
    middle.retain_grad()
    (middle * middle + middle.detach()).sum().backward()
    assert middle.grad is not None and middle.grad.tolist() == [12]
    assert w.grad is not None and w.grad.tolist() == [36]
    with svod.no_grad():
        assert not svod.is_grad_enabled() and not (w * 2).requires_grad
        with svod.enable_grad():
            assert (w * 2).requires_grad
    assert not svod.no_grad()(lambda: w * 2)().requires_grad
    assert not w.detach().requires_grad


def test_create_graph() -> None:
    w = tensor(2).requires_grad_()
    (w**3).sum().backward(create_graph=True)
    first, w.grad = w.grad, None
    assert first is not None
    first.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [12]


def test_training_holds_no_more_memory_from_step_to_step() -> None:
    rng = np.random.default_rng(0)
    x, y = svod.Tensor(rng.normal(size=(32, 4))), svod.Tensor(rng.normal(size=(32, 1)))
    w = svod.Tensor(np.zeros((4, 1))).requires_grad_()
    losses, sizes = [], []
    for step in range(60):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        with svod.no_grad():
            assert w.grad is not None
            w.assign(w - 0.1 * w.grad)
        w.grad = None
        svod.realize(w, loss)
        losses.append(loss)
        if step in (20, 59):
            gc.collect()
            sizes.append(svod.memory()["nodes"] if "nodes" in svod.memory() else len(w.graph()))
    assert sizes[1] - sizes[0] <= 60
    best = np.linalg.lstsq(x.numpy(), y.numpy(), rcond=None)[0]
    np.testing.assert_allclose(w.numpy(), best, atol=1e-2)
    assert losses[-1].item() < losses[0].item()


@pytest.mark.parametrize("read", [False, True])
def test_what_is_assigned_before_it_is_computed_lets_earlier_steps_go(read: bool) -> None:
    w = svod.Tensor(np.ones((64, 64), np.float32)).requires_grad_()
    live = []
    for step in range(40):
        loss = (w * (step + 1)).square().mean()
        loss.backward()
        with svod.no_grad():
            assert w.grad is not None
            w.assign(w - 1e-4 * w.grad)
        w.grad = None
        w.realize()
        if read:
            loss.item()
        if step in (10, 39):
            gc.collect()
            live.append(svod.memory()["CPU"]["live"])
    # Less than one weight more after 29 steps.
    assert live[1] - live[0] < 64 * 64 * 4


@pytest.mark.parametrize("size", [8, 64, 300])
@pytest.mark.parametrize("way", ["-=", "sub_", "assign", "detach"])
def test_steps_by_hand_let_earlier_ones_go_where_only_the_loss_is_read(way: str, size: int) -> None:
    w = svod.Tensor(np.ones((size, size), np.float32)).requires_grad_()
    live = []
    for step in range(40):
        loss = w.square().mean()
        loss.backward()
        loss.item()
        assert w.grad is not None
        with svod.no_grad():
            if way == "-=":
                w -= 1e-4 * w.grad
            elif way == "sub_":
                w.sub_(1e-4 * w.grad)
            elif way == "assign":
                w.assign(w - 1e-4 * w.grad)
        if way == "detach":
            w = (w - 1e-4 * w.grad).detach().requires_grad_()
        w.grad = None
        if step in (10, 39):
            gc.collect()
            live.append(svod.memory()["CPU"]["live"])
    assert live[1] - live[0] < 4 * size * size * 4
    np.testing.assert_allclose(w.detach().numpy(), (1 - 2e-4 / size**2) ** 40, rtol=1e-5)


def test_assignment_to_what_requires_a_gradient() -> None:
    w = tensor(1, 2).requires_grad_()
    with pytest.raises(svod.ArgumentError, match="no_grad"):
        w.assign(tensor(3, 4))
    with pytest.raises(svod.ArgumentError, match="no_grad"):
        w[0] = 3.0
    assert w.tolist() == [1, 2]
    with svod.no_grad():
        w[0] = 3.0
    assert w.tolist() == [3, 2] and w.requires_grad and w.is_leaf


def test_errors() -> None:
    x = tensor(1, 2)
    with pytest.raises(svod.ShapeError, match="no scalar"):
        (x * 2).gradient(x)
    with pytest.raises(svod.ShapeError, match="cotangent"):
        (x * 2).gradient(x, cotangent=tensor(1, 2, 3))
    with pytest.raises(svod.DTypeError, match="cotangent"):
        (x * 2).gradient(x, cotangent=svod.Tensor([1.0, 2.0]))
    with pytest.raises(svod.DTypeError, match="only floats"):
        svod.grad(lambda x: x.sum())(svod.Tensor([1, 2]))
    with pytest.raises(svod.DTypeError, match="only floats"):
        svod.Tensor([1]).requires_grad_()
    with pytest.raises(svod.DTypeError, match="only floats"):
        svod.grad(lambda x: (x > 0).sum())(x)
    with pytest.raises(svod.ArgumentTypeError, match="gives float"):
        svod.grad(lambda x: 1.0)(x)
    with pytest.raises(svod.ArgumentError, match="argnums 2"):
        svod.grad(lambda x: x.sum(), 2)(x)
    with pytest.raises(svod.ArgumentError, match="does not follow from"):
        x.sum().gradient(tensor(5))
    with pytest.raises(svod.ArgumentError, match="requires no gradient"):
        x.sum().backward()
    forgotten = (x * x).sum()
    forgotten.realize()
    with pytest.raises(svod.ArgumentError, match="forgotten"):
        forgotten.gradient(x)


# Kinks, ties, 0 and infinities.

# Each: the function, PyTorch's, where, and the cotangents there, those of the result being 1, 2 ...
POINTS: dict[str, tuple[Any, Any, list[float], list[float]]] = {
    "relu at 0": (lambda x: x.relu(), lambda x: x.relu(), [0.0, -0.0, 1.0], [0, 0, 3]),
    "abs at 0": (lambda x: x.abs(), lambda x: x.abs(), [0.0, -2.0], [0, -2]),
    "clamp at its bounds": (lambda x: x.clamp(-1.0, 1.0), lambda x: x.clamp(-1.0, 1.0), [-1.0, 1.0, 2.0], [1, 2, 0]),
    "maximum of equal ones": (
        lambda x: x.maximum(x.detach()),
        lambda x: torch.maximum(x, x.detach()),
        [1.0, 2.0],
        [0.5, 1],
    ),
    "max with ties": (lambda x: x.max(axis=0), lambda x: x.amax(0), [3.0, 1.0, 3.0], [0.5, 0, 0.5]),
    "sqrt at 0": (lambda x: x.sqrt(), lambda x: x.sqrt(), [0.0, 4.0], [np.inf, 0.5]),
    "norm at 0": (lambda x: x.norm(), lambda x: x.norm(), [0.0, 0.0], [0, 0]),
    "log at 0": (lambda x: x.log(), lambda x: x.log(), [0.0], [np.inf]),
    "power at 0": (lambda x: x**2, lambda x: x**2, [0.0, -1.0], [0, -4]),
    "power 0": (lambda x: x**0.0, lambda x: x**0.0, [0.0, 2.0], [0, 0]),
    "prod with a zero": (lambda x: x.prod(0), lambda x: x.prod(0), [2.0, 0.0, 3.0], [0, 6, 0]),
    "prod with zeros": (lambda x: x.prod(0), lambda x: x.prod(0), [2.0, 0.0, 0.0], [0, 0, 0]),
    "cumprod with a zero": (lambda x: x.cumprod(0), lambda x: x.cumprod(0), [2.0, 0.0, 3.0, 4.0], [1, 118, 0, 0]),
    "cumprod with zeros": (lambda x: x.cumprod(0), lambda x: x.cumprod(0), [2.0, 0.0, 3.0, 0.0, 5.0], [1, 22, 0, 0, 0]),
    "where over NaN": (
        lambda x: svod.where(x > 0, x.log(), 0.0),
        lambda x: torch.where(x > 0, x.log(), 0.0),
        [-1.0, 2.0],
        [0, 1],
    ),
    "amax with NaN": (lambda x: x.amax(0), lambda x: x.amax(0), [3.0, np.nan, 3.0], [np.nan] * 3),
    "cummax with ties": (
        lambda x: x.cummax(0).values,
        lambda x: x.cummax(0).values,
        [1.0, 3.0, 3.0, 2.0],
        [1, 2, 7, 0],
    ),
    "softmax with -inf": (
        lambda x: x.softmax(0),
        lambda x: x.softmax(0),
        [-np.inf, 1.0, 2.0],
        [0, -0.19661193324148196, 0.19661193324148196],
    ),
}


@pytest.mark.parametrize("name", POINTS)
def test_at_points(name: str) -> None:
    function, other, values, wanted = POINTS[name]
    x = svod.Tensor(np.array(values))
    y = function(x)
    weights = np.arange(1.0, 1.0 + y.numel()).reshape(y.shape)
    (got,) = y.gradient(x, cotangent=svod.Tensor(weights))
    np.testing.assert_allclose(got.numpy(), wanted)
    if torch is not None:
        reference = torch.tensor(values, dtype=torch.float64, requires_grad=True)
        other(reference).backward(torch.tensor(weights))
        np.testing.assert_allclose(reference.grad, wanted)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_narrow_types(dtype: str) -> None:
    values, weights = np.random.default_rng(0).normal(size=(6, 5)), np.random.default_rng(1).normal(size=(5, 4))
    x, w = (svod.Tensor(v).cast(dtype) for v in (values, weights))
    exact = [t.cast("float64") for t in (x, w)]

    def loss(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
        return (x @ w).softmax(-1).square().sum()

    tolerance = {"float32": 1e-6, "bfloat16": 3e-2, "float16": 4e-3}[dtype]
    for got, wanted in zip(loss(x, w).gradient(x, w), loss(*exact).gradient(*exact), strict=True):
        assert got.dtype == x.dtype
        np.testing.assert_allclose(got.cast("float64").numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_folds_of_nothing_have_gradients_of_nothing(shape):
    """Issue 22: a sum of nothing was a constant, which follows from no tensor."""
    for fold in [
        lambda x: x.sum(),
        lambda x: x.prod(),
        lambda x: (x * x).sum(0).sum(),
        lambda x: (x @ svod.ones(shape[-1], 2)).sum(),
    ]:
        x = svod.ones(*shape).requires_grad_()
        fold(x).backward()
        assert x.grad.shape == shape
    x = svod.ones(3).requires_grad_()
    (x[:0].sum() + (x * 0).sum()).backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_a_jacobian_of_nothing_has_the_type_of_the_argument() -> None:
    x = svod.Tensor([1.0, 2.0], dtype="float64")
    empty = svod.jacobian(lambda x: x[:0])(x)
    assert empty.shape == (0, 2) and empty.dtype == svod.float64


def test_functions_of_jit_have_derivatives() -> None:
    f = svod.jit(lambda x: x * x * x)
    scale = svod.jit(lambda model, x: model(x).sum())
    x, ones = svod.Tensor([1.0, 2.0]), svod.ones(2)
    assert svod.grad(lambda x: f(x).sum())(x).tolist() == [3, 12]
    assert svod.grad(lambda x: (f(x) + x).sum())(x).tolist() == [4, 13]
    value, gradient = svod.value_and_grad(svod.jit(lambda x: f(x).sum()))(x)
    assert (value.item(), gradient.tolist()) == (9, [3, 12])
    assert svod.vjp(f, x)[1](ones)[0].tolist() == [3, 12]
    assert svod.jvp(f, [x], [ones])[1].tolist() == [3, 12]
    assert svod.jacobian(f)(x).tolist() == [[3, 0], [0, 12]]
    assert svod.hessian(lambda x: f(x).sum())(x).tolist() == [[6, 0], [0, 12]]
    assert svod.jit(svod.grad(lambda x: f(x).sum()))(x).tolist() == [3, 12]
    layer = svod.nn.Linear(2, 1)
    assert svod.grad(scale)(layer, x)["weight"].tolist() == [[1, 2]]
    # Elsewhere it is a plan's output, as before.
    f(x)
    assert f.traces == 1


HOLOMORPHIC: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (lambda z: z * z, lambda z: np.diag(2 * z)),
    (lambda z: z.exp() * z.sum(), lambda z: np.diag(np.exp(z) * z.sum()) + np.exp(z)[:, None]),
    (lambda z: z.cumsum(0).sin(), lambda z: np.cos(z.cumsum())[:, None] * np.tril(np.ones((3, 3)))),
    (lambda z: (z * z).sum(), lambda z: 2 * z),
]


@pytest.mark.parametrize("case", range(len(HOLOMORPHIC)))
def test_jacobians_of_complex_functions_are_complex_derivatives(case: int) -> None:
    f, wanted = HOLOMORPHIC[case]
    z = np.array([0.3 + 0.4j, -1.1 + 0.2j, 0.5 - 0.7j])
    np.testing.assert_allclose(svod.jacobian(f)(svod.Tensor(z)).numpy(), wanted(z), rtol=1e-12, atol=1e-12)
    n = svod.Variable("n", 1, 8)
    of_any = svod.empty(n, dtype="complex128")
    plan = svod.prepare(svod.jacobian(f)(of_any), inputs=[of_any])
    np.testing.assert_allclose(plan.run(z)[0].numpy(), wanted(z), rtol=1e-12, atol=1e-12)


def test_jacobians_of_complex_and_real_numbers() -> None:
    x, z = np.array([0.3, -1.2]), np.array([0.5 + 1j, 2.0 - 0.3j])
    by_x, by_z = svod.jacobian(lambda x, z: (1j * x * z).exp(), (0, 1))(svod.Tensor(x), svod.Tensor(z))
    value = np.exp(1j * x * z)
    np.testing.assert_allclose(by_x.numpy(), np.diag(1j * z * value), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(by_z.numpy(), np.diag(1j * x * value), rtol=1e-12, atol=1e-12)
    # Real values: the rows are gradients.
    real = svod.jacobian(lambda z: z.real * z.imag)(svod.Tensor(z)).numpy()
    np.testing.assert_allclose(real, np.diag(z.imag + 1j * z.real), rtol=1e-12, atol=1e-12)
    assert svod.jacobian(lambda z: z**2)(1j).item() == 2j
    assert svod.jacobian(lambda z: z[:0])(svod.Tensor(z)).dtype == svod.complex128


def test_hessians_of_complex_functions() -> None:
    z = np.array([0.3 + 0.4j, -1.1 + 0.2j])
    found = svod.hessian(lambda z: z[0] ** 3 * z[1] + z[1].exp())(svod.Tensor(z)).numpy()
    wanted = [[6 * z[0] * z[1], 3 * z[0] ** 2], [3 * z[0] ** 2, np.exp(z[1])]]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    with pytest.raises(svod.ArgumentTypeError, match=r"hessian.*float64 of complex numbers.*view_as_real"):
        svod.hessian(lambda z: z.abs().square().sum())(svod.Tensor(z))
    pairs = svod.Tensor(np.stack([z.real, z.imag], -1))
    real = svod.hessian(lambda pairs: svod.view_as_complex(pairs).abs().square().sum())(pairs).numpy()
    np.testing.assert_allclose(real.reshape(4, 4), 2 * np.eye(4), atol=1e-12)


def test_jacobians_and_hessians_by_several_arguments() -> None:
    x, y = tensor(1, 2), tensor(3, 5, 7)

    def f(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
        return x.unsqueeze(1) * y.square()

    by_x, by_y = svod.jacobian(f, argnums=(0, 1))(x, y)
    np.testing.assert_allclose(by_x.numpy(), np.einsum("ik,j->ijk", np.eye(2), [9, 25, 49]))
    np.testing.assert_allclose(by_y.numpy(), np.einsum("i,jk->ijk", [1, 2], np.diag([6, 10, 14])))
    assert [one.tolist() for one in svod.jacobian(f, [1])(x, y)] == [by_y.tolist()]
    (xx, xy), (yx, yy) = svod.hessian(lambda x, y: f(x, y).sum(), argnums=(0, -1))(x, y)
    assert xx.tolist() == [[0, 0], [0, 0]] and yy.tolist() == np.diag([6, 6, 6]).tolist()
    assert xy.tolist() == [[6, 10, 14]] * 2 and yx.tolist() == xy.T.tolist()
    nested = svod.hessian(lambda p: p["a"] ** 2 * p["b"])({"a": tensor(3).squeeze(), "b": tensor(5).squeeze()})
    assert {i: {j: d.item() for j, d in row.items()} for i, row in nested.items()} == {
        "a": {"a": 10, "b": 6},
        "b": {"a": 6, "b": 0},
    }
    with pytest.raises(svod.ShapeError, match="hessian"):
        svod.hessian(lambda x: x * 2)(x)


def test_an_argument_that_is_named_twice() -> None:
    def f(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
        return (x * y * y).sum()

    x, y = tensor(1, 2), tensor(3, 4)
    assert [g.tolist() for g in svod.grad(f, argnums=(0, 0))(x, y)] == [[9, 16], [9, 16]]
    assert [g.tolist() for g in svod.grad(f, argnums=(1, 0, -1))(x, y)] == [[6, 16], [9, 16], [6, 16]]
    assert [j.tolist() for j in svod.jacobian(lambda x, y: x * y, argnums=(0, 0))(x, y)] == [[[3, 0], [0, 4]]] * 2
    (one, other), again = svod.hessian(f, argnums=(1, 1))(x, y)
    assert one.tolist() == other.tolist() == again[0].tolist() == [[2, 0], [0, 4]]
