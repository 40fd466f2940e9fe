"""Hooks on gradients, of tensors and of modules, beside PyTorch's of the same program."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn
from svod._gradient_hooks import _state

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
PROGRAMS: dict[str, Callable[[Any, Any], list[Any]]] = {}


def program(function: Callable[[Any, Any], list[Any]]) -> Callable[[Any, Any], list[Any]]:
    """A program of a library and the function that makes its tensors: what it gives is what is compared."""
    PROGRAMS[function.__name__] = function
    return function


def leaf(tensor: Any, *values: float) -> Any:
    return tensor(np.array(values, dtype=np.float64)).requires_grad_()


@program
def what_gathers(library: Any, tensor: Any) -> list[Any]:
    w, seen = leaf(tensor, 1, 2), []
    w.register_hook(lambda g: seen.append(g.tolist()))
    handle = w.register_hook(lambda g: g * 10)
    w.register_hook(lambda g: seen.append(g.tolist()))
    for _ in range(2):
        (w * w).sum().backward()
        seen.append(w.grad.tolist())
    handle.remove()
    (w * w).sum().backward()
    return [*seen, w.grad.tolist()]


@program
def what_lies_between(library: Any, tensor: Any) -> list[Any]:
    w, seen = leaf(tensor, 1, 2), []
    y = w * 3
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: g * 2)
    ((y * y).sum() + y.sum()).backward()
    return [*seen, w.grad.tolist()]


@program
def one_that_is_taken_off_before(library: Any, tensor: Any) -> list[Any]:
    w = leaf(tensor, 1, 2)
    y = w * 3
    with y.register_hook(lambda g: g * 0):
        pass
    y.sum().backward()
    return [w.grad.tolist()]


@program
def gradients_that_are_kept(library: Any, tensor: Any) -> list[Any]:
    seen = []
    for keeps_first in (True, False):
        w = leaf(tensor, 1, 2)
        y = w * 3
        if keeps_first:
            y.retain_grad()
        y.register_hook(lambda g: g * 2)
        if not keeps_first:
            y.retain_grad()
        for factor in (1, 5):
            (y * factor).sum().backward(retain_graph=True)
            seen += [w.grad.tolist(), y.grad.tolist()]
    return seen


@program
def after_gradients_were_gathered(library: Any, tensor: Any) -> list[Any]:
    w, v, seen = leaf(tensor, 1, 2), leaf(tensor, 1, 1), []

    def step(p: Any) -> None:
        seen.append(p.grad.tolist())
        p.grad = None

    w.register_post_accumulate_grad_hook(step)
    w.register_hook(lambda g: g * 2)
    (w * v).sum().backward()
    (v * v).sum().backward()
    (w * v * 3).sum().backward()
    return [*seen, v.grad.tolist()]


@program
def higher_orders(library: Any, tensor: Any) -> list[Any]:
    w = leaf(tensor, 1, 2)
    y = w * w
    y.register_hook(lambda g: g * g)
    (y * y).sum().backward(create_graph=True)
    first, w.grad = w.grad, None
    first.sum().backward()
    return [first.tolist(), w.grad.tolist()]


@program
def modules(library: Any, tensor: Any) -> list[Any]:
    layers = library.nn
    model = layers.Sequential(layers.Linear(3, 4), layers.Tanh(), layers.Linear(4, 2))
    rng = np.random.default_rng(0)
    shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
    model.load_state_dict({n: tensor(rng.standard_normal(s).astype(np.float32)) for n, s in shapes.items()})
    model.requires_grad_()
    seen: dict[str, Any] = {}

    def note(name: str) -> Callable[..., None]:
        def hook(module: Any, into: Any, out: Any) -> None:
            seen[name] = [None if g is None else g.tolist() for g in (*into, *out)]

        return hook

    for at in range(3):
        model[at].register_full_backward_hook(note(f"{at}"))
    model[1].register_full_backward_hook(lambda module, into, out: (into[0] * 2,))
    model[1].register_full_backward_hook(note("changed"))
    model[1].register_full_backward_hook(note("first"), prepend=True)
    model[1].register_full_backward_pre_hook(lambda module, out: (out[0] + 1,))
    model[2].register_full_backward_hook(lambda module, into, out: (into[0] * 3,))
    x = tensor(np.ones((2, 3), np.float32))
    (model(x) ** 2).sum().backward()
    numbers = [part for name in sorted(seen) for part in seen[name] if part is not None]
    return [p.grad.tolist() for p in model.parameters()] + numbers


@program
def modules_of_several(library: Any, tensor: Any) -> list[Any]:
    seen: list[int] = []

    class Both(library.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, a: Any, b: Any, k: float) -> Any:
            return a * b, a.sum() * k

    def hook(module: Any, into: Any, out: Any) -> Any:
        seen.extend([len(into), len(out), into[2] is None])
        return into[0] * 2, into[1] * 3, None

    model, a, b = Both(), leaf(tensor, 1, 2), leaf(tensor, 3, 4)
    model.register_full_backward_hook(hook)
    model.register_full_backward_pre_hook(lambda module, out: (out[0], out[1] * 5))
    u, v = model(a, b, 2.0)
    (u.sum() * 3 + v * v).backward()
    return [a.grad.tolist(), b.grad.tolist(), seen]


@pytest.mark.skipif(torch is None, reason="needs PyTorch")
@pytest.mark.filterwarnings("ignore:Full backward hook", "ignore:Using backward")
@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks_are_pytorchs(name: str) -> None:
    mine = PROGRAMS[name](svod, svod.Tensor)
    theirs = PROGRAMS[name](torch, torch.tensor)
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_a_hook_of_a_module_without_gradients_is_called_no_more_than_needed() -> None:
    layer, seen = nn.Linear(2, 2), []
    layer.register_full_backward_hook(lambda module, into, out: seen.append(into))
    x = svod.Tensor([1.0, 2.0]).requires_grad_()
    with svod.no_grad():
        layer(x)
    layer(svod.ones(2))
    layer(x).sum().backward()
    assert len(seen) == 1 and seen[0][0].shape == (2,)
    layer(x).sum()
    assert len(seen) == 1


def test_hooks_of_modules_in_functional_derivatives() -> None:
    layer = nn.Tanh()
    layer.register_full_backward_hook(lambda module, into, out: (into[0] * 3,))
    x = svod.Tensor([0.5, -1.0])
    wanted = 3 * (1 - np.tanh(x.numpy()) ** 2)
    np.testing.assert_allclose(svod.grad(lambda x: layer(x).sum())(x).numpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(svod.jit(svod.grad(lambda x: layer(x).sum()))(x).numpy(), wanted, rtol=1e-6)
    each = svod.vmap(svod.grad(lambda x: layer(x)))(x)
    np.testing.assert_allclose(each.numpy(), wanted, rtol=1e-6)
    loop = svod.grad(lambda x: svod.iterate(2, lambda i, x: layer(x), x).sum())(x)
    inner = np.tanh(x.numpy())
    np.testing.assert_allclose(loop.numpy(), wanted * 3 * (1 - np.tanh(inner) ** 2), rtol=1e-5)


def test_a_traced_step_sees_hooks_that_come_and_go() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()

    @svod.jit
    def step(x: svod.Tensor) -> svod.Tensor:
        w.grad = None
        (w * w * x).sum().backward()
        return w.grad

    def now() -> list[float]:
        return step(svod.Tensor(1.0)).tolist()  # type: ignore[no-any-return]

    assert [now(), now()] == [[2.0, 4.0]] * 2
    with w.register_hook(lambda g: g * 10):
        assert [now(), now()] == [[20.0, 40.0]] * 2
        traces = step.traces
        now()
        assert step.traces == traces
    assert [now(), now()] == [[2.0, 4.0]] * 2


def test_clipping_by_hooks_in_a_training_step() -> None:
    model = nn.Linear(3, 1).requires_grad_()
    for parameter in model.parameters():
        parameter.register_hook(lambda g: g.clamp(-0.01, 0.01))
    optimizer = svod.optim.SGD(model.parameters(), lr=1.0)
    before = model.weight.numpy().copy()
    (model(svod.ones(4, 3)) * 100).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(model.weight.numpy(), before - 0.01, rtol=1e-5)


def test_a_value_that_is_assigned_has_hooks_of_its_own() -> None:
    w, seen = svod.Tensor([2.0]).requires_grad_(), []
    y = w * 1
    y.register_hook(lambda g: seen.append("first"))
    z = y * 5
    y.assign(w * 3)
    y.register_hook(lambda g: seen.append("second"))
    (z + y).sum().backward()
    assert sorted(seen) == ["first", "second"] and w.grad.tolist() == [8.0]


def test_hooks_go_with_their_tensor() -> None:
    gc.collect()
    before = len(_state.known)
    w = svod.Tensor([1.0]).requires_grad_()
    y = w * 2
    w.register_hook(lambda g: None)
    y.register_hook(lambda g: None)
    (y * y).sum().backward()
    assert len(_state.known) == before + 2
    gone = weakref.ref(y)
    del y, w
    gc.collect()
    assert gone() is None and len(_state.known) == before


def test_what_does_not_fit_is_refused() -> None:
    w = svod.ones(2).requires_grad_()
    with pytest.raises(svod.ArgumentError, match="register_hook: the tensor requires no gradient"):
        svod.ones(2).register_hook(print)
    with pytest.raises(svod.ArgumentError, match="none that gathers its gradient"):
        (w * 2).register_post_accumulate_grad_hook(print)
    w.grad = svod.Tensor([7.0, 7.0])
    for hook, kind in (
        (lambda g: g.sum(), svod.ArgumentError),
        (lambda g: 3, svod.ArgumentTypeError),
        (lambda g: 1 / 0, ZeroDivisionError),
    ):
        with w.register_hook(hook), pytest.raises(kind):
            (w * w).sum().backward()
        assert w.grad.tolist() == [7.0, 7.0]
        y = w * 1
        y.register_hook(hook)
        with pytest.raises(kind):
            (y * y).sum().backward()
        assert w.grad.tolist() == [7.0, 7.0]
    layer = nn.ReLU()
    layer.register_full_backward_hook(lambda module, into, out: (into[0], into[0]))
    with pytest.raises(svod.ArgumentError, match="ReLU: a backward hook gives 2 gradients, but there are 1"):
        layer(w).sum().backward()


def test_hooks_hold_for_gradients_that_are_asked_for() -> None:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()
    seen: list[list[float]] = []
    handle = w.register_hook(lambda g: (seen.append(g.tolist()), g * 10)[1])
    (found,) = (w * w).sum().gradient(w)
    assert (found.tolist(), seen) == ([20.0, 40.0], [[2.0, 4.0]])
    y = w * 3
    y.register_hook(lambda g: g + 1)
    by_w, by_y = (y * y).sum().gradient(w, y)
    assert (by_y.tolist(), by_w.tolist()) == ([7.0, 13.0], [210.0, 390.0])
    handle.remove()
    assert (w * w).sum().gradient(w)[0].tolist() == [2.0, 4.0]
