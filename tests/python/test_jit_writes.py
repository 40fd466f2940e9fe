"""Functions that write tensors from outside, as jit runs them: training steps in one plan."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn


def values(*tensors: svod.Tensor) -> list[Any]:
    return [tensor.tolist() for tensor in tensors]


def test_assignments_are_made_by_each_call() -> None:
    w, n = svod.Tensor([1.0, 2.0]), svod.Tensor(0)
    traced = []

    @svod.jit
    def step(x: svod.Tensor) -> svod.Tensor:
        traced.append(1)
        w.assign(w * 2 + x)
        w[0] = 7.0
        n.assign(n + 1)
        return w.sum()

    alias, before = w, w.clone()
    x = svod.Tensor([0.0, 1.0])
    assert [step(x).item() for _ in range(3)] == [7 + 5, 7 + 11, 7 + 23]
    assert values(w, alias, n, before) == [[7, 23], [7, 23], 3, [1, 2]]
    assert alias is w and len(traced) == 1
    w.assign([0.0, 0.0])
    assert (step(x).item(), w.tolist(), step.traces) == (8, [7, 1], 1)


def test_who_holds_the_value_keeps_it() -> None:
    w = svod.Tensor(np.arange(1000, dtype=np.float32))
    x = svod.ones(1000)

    @svod.jit
    def step(x: svod.Tensor) -> None:
        w.assign(w + x)

    array, pending, plan = w.numpy(), w * 2, (w + 0).prepare(inputs=[w])
    for _ in range(3):
        step(x)
    plan.execute()
    expected = np.arange(1000, dtype=np.float32)
    np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(pending.numpy(), 2 * expected)
    np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)
    np.testing.assert_array_equal(w.numpy(), expected + 3)


def test_one_tensor_of_two_names_stays_one() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            self.a = svod.ones(2)
            self.b = self.a

    model = Tied()

    @svod.jit
    def step() -> svod.Tensor:
        model.a.assign(model.a + 1)
        model.b.assign(model.b * 10)
        return model.a + 0

    assert step().tolist() == [20, 20]
    assert model.a is model.b and model.b.tolist() == [20, 20]
    model.b = svod.zeros(2)
    assert step().tolist() == [21, 21]
    assert values(model.a, model.b) == [[21, 21], [0, 0]]
    assert step.traces == 2


def test_a_call_that_fails_changes_nothing() -> None:
    w = svod.Tensor([1.0, 2.0])
    w.requires_grad_()

    @svod.jit
    def step(x: svod.Tensor, at: svod.Tensor) -> None:
        (w * x).sum().backward()
        with svod.no_grad():
            w.assign(w + x.gather(0, at))

    x = svod.Tensor([1.0, 3.0])
    step(x, svod.Tensor([0, 1]))
    assert values(w, w.grad) == [[2, 5], [1, 3]]
    with pytest.raises(svod.IndexError):
        step(x, svod.Tensor([0, 2]))
    assert values(w, w.grad) == [[2, 5], [1, 3]]

    @svod.jit
    def failing() -> None:
        w.grad = None
        with svod.no_grad():
            w.assign(w + 1)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        failing()
    assert values(w, w.grad) == [[2, 5], [1, 3]]


def test_what_cannot_be_written_is_an_error() -> None:
    w = svod.Tensor([1.0, 2.0])
    with pytest.raises(svod.TraceError, match="argument `x`"):
        svod.jit(lambda x: x.assign(1))(w)
    both = svod.jit(lambda x: w.assign(w + x))
    with pytest.raises(svod.TraceError, match="is an argument and a tensor from outside"):
        both(w)
    assert w.tolist() == [1, 2]
    w.requires_grad_()
    with pytest.raises(svod.Error, match="no_grad"):
        svod.jit(lambda: w.assign(1))()
    assert w.tolist() == [1, 2]


def gathering(zero: str) -> tuple[svod.Tensor, Callable[[svod.Tensor], svod.Tensor]]:
    w = svod.Tensor([1.0, 2.0]).requires_grad_()

    def step(x: svod.Tensor) -> svod.Tensor:
        if zero == "before":
            w.grad = None
        loss = (w * w * x).sum()
        loss.backward()
        assert w.grad is not None
        with svod.no_grad():
            w.assign(w - 0.1 * w.grad)
        if zero == "after":
            w.grad = None
        return loss

    return w, step


@pytest.mark.parametrize("zero", ["before", "after", "never"])
def test_gradients_are_gathered_as_outside(zero: str) -> None:
    (w, eager), (v, traced) = gathering(zero), gathering(zero)
    jitted = svod.jit(traced)
    for x in ([1.0, 2.0], [3.0, 1.0], [0.5, 0.5], [1.0, 1.0]):
        a, b = eager(svod.Tensor(x)), jitted(svod.Tensor(x))
        assert a.item() == b.item() and w.tolist() == v.tolist()
        assert (w.grad is None) == (v.grad is None) == (zero == "after")
        if w.grad is not None and v.grad is not None:
            assert w.grad.tolist() == v.grad.tolist()
    assert v.requires_grad
    assert jitted.traces <= (1 if zero == "after" else 2)


def test_value_and_grad_of_a_module() -> None:
    def trained(wrap: Callable[[Any], Any]) -> list[Any]:
        svod.manual_seed(3)
        model = nn.Linear(3, 2)

        def step(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
            loss, grads = svod.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
            for name, p in model.named_parameters():
                p.assign(p - 0.1 * grads[name])
            return loss

        run, rng = wrap(step), np.random.default_rng(0)
        losses = []
        for _ in range(5):
            x, y = (svod.Tensor(rng.standard_normal((4, n)).astype(np.float32)) for n in (3, 2))
            losses.append(run(x, y).item())
        return [losses, *values(*model.parameters())]

    steps: list[Any] = []

    def jit(step: Any) -> Any:
        steps.append(svod.jit(step))
        return steps[-1]

    np.testing.assert_allclose(
        np.concatenate([np.ravel(x) for x in trained(jit)]),
        np.concatenate([np.ravel(x) for x in trained(lambda step: step)]),
        rtol=1e-6,
    )
    assert steps[0].traces == 1


def test_rates_in_tensors_are_arguments() -> None:
    w, rate, count = svod.ones(4), svod.Tensor(0.5), svod.Tensor(0)

    @svod.jit
    def step(x: svod.Tensor) -> None:
        count.assign(count + 1)
        w.assign(w - rate * x * count)

    expected = np.ones(4, np.float32)
    for i in range(1, 6):
        rate.assign(1 / i)
        step(svod.ones(4))
        expected -= np.float32(1 / i) * i
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)
    assert (step.traces, count.item()) == (1, 5)


def test_steps_of_threads_do_not_mix() -> None:
    tensors = [svod.zeros(64), svod.zeros(64)]
    errors: list[BaseException] = []

    def work(w: svod.Tensor) -> None:
        step = svod.jit(lambda x: w.assign(w + x))
        try:
            for _ in range(200):
                step(svod.ones(64))
        except BaseException as error:
            errors.append(error)

    shared = svod.zeros(64)
    both = svod.jit(lambda x: shared.assign(shared + x))

    def together() -> None:
        for _ in range(100):
            both(svod.ones(64))

    threads = [threading.Thread(target=work, args=(w,)) for w in tensors]
    threads += [threading.Thread(target=together) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert values(*tensors, shared) == [[200] * 64, [200] * 64, [200] * 64]


def networks() -> tuple[nn.Module, Any, Callable[[svod.Tensor, svod.Tensor], svod.Tensor]]:
    svod.manual_seed(5)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.25), nn.Linear(8, 3))
    for parameter in model.parameters():
        parameter.requires_grad_()
    optimizer = svod.optim.AdamW(model.parameters(), lr=0.05)

    def step(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def test_a_model_and_its_optimizer_are_one_plan() -> None:
    """Batch statistics, dropout by mode, rates that change, a ragged last batch."""

    def trained(wrap: Callable[[Any], Any]) -> tuple[list[float], dict[str, Any], Any]:
        model, optimizer, step = networks()
        run, rng, losses = wrap(step), np.random.default_rng(1), []
        for i in range(12):
            rows = 5 if i % 4 == 3 else 16
            x = svod.Tensor(rng.standard_normal((rows, 6)).astype(np.float32))
            y = svod.Tensor(rng.integers(0, 3, rows))
            optimizer.param_groups[0]["lr"] = 0.05 / (1 + i)
            if i == 8:
                model.eval()
            losses.append(run(x, y).item())
        return losses, {name: tensor.numpy() for name, tensor in model.state_dict().items()}, run

    eager_losses, eager, _ = trained(lambda step: step)
    losses, own, run = trained(svod.jit)
    np.testing.assert_allclose(losses, eager_losses, rtol=1e-4)
    assert own["1.num_batches_tracked"] == 8 and list(own) == list(eager)
    for name, tensor in own.items():
        np.testing.assert_allclose(tensor, eager[name], rtol=1e-3, atol=1e-4, err_msg=name)
    # With gradients and without, of two sizes; then in the other mode.
    assert run.traces <= 5


def test_names_are_bound_anew_by_each_call() -> None:
    """Attributes, items of dicts and of lists, and variables of closures, made before or by the first call."""

    class Model:
        def __init__(self) -> None:
            self.w = svod.ones(2).requires_grad_()
            self.momentum: svod.Tensor | None = None
            self.state: dict[str, Any] = {}
            self.pair = [svod.zeros(2), svod.ones(2)]

        def __call__(self, x: svod.Tensor) -> svod.Tensor:
            if self.momentum is None:
                self.momentum = svod.zeros(2)
            (gradient,) = (self.w * x).sum().gradient(self.w)
            self.momentum = self.momentum * 0.5 + gradient
            self.w = (self.w - 0.1 * self.momentum).detach().requires_grad_()
            self.state["steps"] = (
                {"n": self.state["steps"]["n"] + 1} if "steps" in self.state else {"n": svod.Tensor(1)}
            )
            self.pair[0], self.pair[1] = self.pair[1] * 2, self.pair[0] + x
            return self.w.sum()

    eager, model = Model(), Model()
    step = svod.jit(model)
    first = model.w
    for i in range(5):
        x = svod.Tensor([1.0, float(i)])
        assert step(x).item() == eager(x).item()
        assert model.momentum is not None and eager.momentum is not None
        assert values(model.w, model.momentum, *model.pair) == values(eager.w, eager.momentum, *eager.pair)
        assert model.state["steps"]["n"].item() == i + 1 and model.w.requires_grad and model.w.is_leaf
    assert (step.traces, first.tolist()) == (2, [1, 1])


def test_names_of_a_call_that_fails_stay() -> None:
    class Model:
        def __init__(self) -> None:
            self.w = svod.ones(2)

    model = Model()
    before = model.w

    @svod.jit
    def failing(x: svod.Tensor) -> None:
        model.w = model.w + x
        raise RuntimeError("no")

    @svod.jit
    def step(x: svod.Tensor, at: svod.Tensor) -> None:
        model.w = x.gather(0, at)

    with pytest.raises(RuntimeError):
        failing(svod.ones(2))
    with pytest.raises(svod.IndexError):
        step(svod.ones(2), svod.Tensor([0, 2]))
    assert model.w is before
    step(svod.Tensor([3.0, 4.0]), svod.Tensor([0, 1]))
    assert values(model.w, before) == [[3, 4], [1, 1]]
