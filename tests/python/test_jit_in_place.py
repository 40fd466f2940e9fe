"""Steps of jit write tensors from outside where they lie, unless somebody else has a hold on the value."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
from svod import nn, optim

N = 1 << 16
BYTES = 4 * N


def extra(step: Callable[[], Any], times: int = 3) -> int:
    """The most bytes that some steps need beside what is live before them."""
    for _ in range(3):
        step()
    svod.memory(reset_peak=True)
    live = svod.memory()["CPU"]["live"]
    for _ in range(times):
        step()
    assert svod.memory()["CPU"]["live"] == live
    return svod.memory()["CPU"]["peak"] - live


def tensors(count: int, seed: int = 0, size: int = N) -> list[svod.Tensor]:
    rng = np.random.default_rng(seed)
    return [svod.Tensor(rng.standard_normal(size, np.float32)) for _ in range(count)]


OPTIMIZERS: dict[str, Callable[[list[svod.Tensor]], optim.Optimizer]] = {
    "SGD": lambda params: optim.SGD(params, lr=0.1),
    "momentum": lambda params: optim.SGD(params, lr=0.1, momentum=0.9, nesterov=True),
    "AdamW": lambda params: optim.AdamW(params, lr=0.1),
    "amsgrad": lambda params: optim.Adam(params, lr=0.1, amsgrad=True),
    "NAdam": lambda params: optim.NAdam(params, lr=0.1),
    "RMSprop": lambda params: optim.RMSprop(params, lr=0.1, momentum=0.9, centered=True),
    "Adagrad": lambda params: optim.Adagrad(params, lr=0.1),
    "Lion": lambda params: optim.Lion(params, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_of_an_optimizer_takes_no_memory(name: str) -> None:
    ours, plain, gradients = tensors(3), tensors(3), tensors(3, seed=1)
    optimizer, other = OPTIMIZERS[name](ours), OPTIMIZERS[name](plain)
    step = svod.jit(lambda: optimizer.step(gradients))
    assert extra(step) < BYTES // 8
    for _ in range(6):
        other.step(gradients)
    for a, b in zip(ours, plain, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)


def test_a_step_of_a_model_takes_memory_for_what_it_computes_only() -> None:
    svod.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 256))
    model.requires_grad_()
    optimizer = optim.AdamW(model.parameters())
    x = svod.randn(32, 256)

    @svod.jit
    def step(x: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    state = sum(int(p.nbytes) for p in model.parameters()) * 3
    assert extra(lambda: step(x)) < state / 8


def test_a_step_of_a_classifier_takes_memory_for_what_it_computes_only() -> None:
    # Labels are looked up in the loss and in its derivative: whether they are classes is told once.
    model = nn.Linear(512, 256)
    model.requires_grad_()
    optimizer = optim.AdamW(model.parameters())
    x, labels = svod.randn(8, 512), svod.Tensor(np.arange(8))

    @svod.jit
    def step(x: svod.Tensor, labels: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    state = sum(int(p.nbytes) for p in model.parameters()) * 3
    assert extra(lambda: step(x, labels)) < state / 8
    before = [p.numpy().copy() for p in model.parameters()]
    with pytest.raises(svod.IndexError):
        step(x, labels + 250)
    for p, value in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.numpy(), value)


@pytest.mark.parametrize("kind", ["linear", "conv"])
def test_a_step_that_a_gradient_ends_in_is_in_place(kind: str) -> None:
    # The update of plain SGD is the epilogue of the product that the weight's gradient is.
    rng = np.random.default_rng(0)
    shape, given = ((256, 512), (32, 512)) if kind == "linear" else ((64, 64, 3, 3), (2, 64, 8, 8))
    start, values = rng.standard_normal(shape, np.float32) * 0.1, rng.standard_normal(given, np.float32)

    def run(w: svod.Tensor, x: svod.Tensor) -> Callable[[], svod.Tensor]:
        optimizer = optim.SGD([w], lr=0.1)

        def step() -> svod.Tensor:
            optimizer.zero_grad()
            y = nn.functional.linear(x, w) if kind == "linear" else nn.functional.conv2d(x, w, padding=1)
            loss = y.square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        return step

    w, x = svod.Tensor(start).requires_grad_(), svod.Tensor(values)
    step = svod.jit(run(w, x))
    size = int(w.nbytes)
    assert extra(step) < size // 8
    other = svod.Tensor(start).requires_grad_()
    plain = run(other, svod.Tensor(values))
    for _ in range(6):
        plain()
    np.testing.assert_allclose(w.numpy(), other.numpy(), rtol=1e-4, atol=1e-6)


def test_a_result_that_is_there_twice_is_computed_once() -> None:
    (w,), (g,) = tensors(1), tensors(1, seed=1)
    other = svod.Tensor(np.zeros(N, np.float32))

    @svod.jit
    def step() -> tuple[svod.Tensor, svod.Tensor]:
        w.assign(w - 0.5 * g)
        total = g.sum()
        return total, total

    assert extra(step) < BYTES // 8
    one, same = step()
    assert one.item() == same.item() == pytest.approx(float(g.numpy().sum()), rel=1e-4, abs=1e-2)

    @svod.jit
    def both() -> None:
        w.assign(w - 0.5 * g)
        other.assign(w)

    for _ in range(3):
        expected = w.numpy() - 0.5 * g.numpy()
        both()
        np.testing.assert_allclose(w.numpy(), expected, rtol=1e-6)
        np.testing.assert_array_equal(w.numpy(), other.numpy())
    other[0] = 7.0
    assert other[0].item() == 7.0
    assert w[0].item() == pytest.approx(expected[0])


def test_what_is_read_often_holds_no_memory() -> None:
    values = svod.arange(N).realize()
    svod.clear_caches()
    live = svod.memory()["CPU"]["live"]
    for _ in range(4):
        (svod.arange(N) * 3 + 1).realize()
    assert svod.memory()["CPU"]["live"] == live
    assert values[1].item() == 1


@pytest.mark.parametrize("hold", ["handle", "array", "expression", "view", "list", "plan"])
def test_whoever_holds_a_value_keeps_it(hold: str) -> None:
    (w,), (g,) = tensors(1), tensors(1, seed=1)
    step = svod.jit(lambda: w.assign(w - 0.5 * g))
    for _ in range(3):
        step()
    expected = np.array(w.numpy())
    held: Any
    if hold == "handle":
        held = w.detach()
    elif hold == "array":
        held = w.numpy()
    elif hold == "expression":
        held = w + 0
    elif hold == "view":
        held = w[:]
    elif hold == "list":
        held = [svod.Tensor(w)]
    else:
        held = (w + 0).prepare(inputs=[w])
    for _ in range(3):
        step()
    if hold == "plan":
        held.execute()
        held = held.outputs[0]
    elif hold == "list":
        held = held[0]
    np.testing.assert_array_equal(np.asarray(held), expected)
    np.testing.assert_allclose(w.numpy(), expected - 1.5 * g.numpy(), rtol=1e-5, atol=1e-5)


def test_memory_of_a_plan_is_not_written() -> None:
    (x,), (g,) = tensors(1), tensors(1, seed=1)
    plan = (x * 2).prepare(inputs=[x])
    plan.execute()
    w = plan.outputs[0].detach()
    expected = w.numpy().copy()
    step = svod.jit(lambda: w.assign(w - 0.5 * g))
    for _ in range(3):
        step()
        np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)
    fed = w.numpy().copy()
    plan.execute(w)
    step()
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), 2 * fed)


def test_tensors_that_trade_places() -> None:
    a, b = tensors(2)
    x, y = a.numpy().copy(), b.numpy().copy()

    @svod.jit
    def trade() -> None:
        old = a + 0
        a.assign(b + 1)
        b.assign(old + 1)

    for _ in range(5):
        trade()
    np.testing.assert_allclose(a.numpy(), y + 5, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(b.numpy(), x + 5, rtol=1e-5, atol=1e-5)


def test_what_is_read_elsewhere_is_read_before() -> None:
    # Backwards, shifted, folded, and by a product: all of them see the value before the step.
    (w,) = tensors(1, size=64 * 64)
    w = w.reshape(64, 64).contiguous().realize()
    outs = []
    v = svod.Tensor(w.numpy().copy())

    def body(w: svod.Tensor) -> tuple[svod.Tensor, ...]:
        given = (w.flip(0) * 2, w.sum(), w @ w, svod.cat([w[1:], w[:1]]))
        w.assign(w * 0.5 + given[3] * 0.25 + given[1])
        return given

    step = svod.jit(lambda: body(w))
    for _ in range(4):
        outs = [(a.numpy(), b.numpy()) for a, b in zip(step(), body(v), strict=True)]
    for a, b in [*outs, (w.numpy(), v.numpy())]:
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b).max())


def test_masks_by_position_and_several_results_of_one_tensor() -> None:
    a, b = tensors(2)
    x, y = a.numpy().astype(np.float64), b.numpy().astype(np.float64)
    first = svod.arange(N) < N // 2

    @svod.jit
    def step() -> None:
        old = a + 0
        a.assign(svod.where(first, 0.5 * a, b))
        b.assign(svod.where(first, old, 0.25 * b + old))

    for _ in range(4):
        step()
        low = np.arange(N) < N // 2
        x, y = np.where(low, 0.5 * x, y), np.where(low, x, 0.25 * y + x)
    np.testing.assert_allclose(a.numpy(), x, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(b.numpy(), y, rtol=1e-4, atol=1e-5)


def test_a_run_that_fails_has_overwritten_nothing() -> None:
    w, g = tensors(2)
    at = svod.Tensor(np.arange(8))
    fails = [False]

    def checked(x: np.ndarray) -> np.ndarray:
        if fails[0]:
            raise RuntimeError("not now")
        return x

    @svod.jit
    def step(at: svod.Tensor) -> svod.Tensor:
        w.assign(w - 0.5 * g)
        return svod.custom(checked, g[at * 2])

    for _ in range(3):
        step(at)
    before = w.numpy().copy()
    with pytest.raises(svod.IndexError):
        step(at + N)
    fails[0] = True
    with pytest.raises(RuntimeError, match="not now"):
        step(at)
    np.testing.assert_array_equal(w.numpy(), before)
    fails[0] = False
    step(at)
    np.testing.assert_array_equal(w.numpy(), before - np.float32(0.5) * g.numpy())


def test_threads_that_read_see_whole_steps() -> None:
    w = svod.zeros(1 << 18).contiguous().realize()
    step = svod.jit(lambda: w.assign(w + 1))
    step()
    wrong: list[Any] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            values = w.numpy()
            if values.min() != values.max():
                wrong.append((values.min(), values.max()))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        step()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and w[0].item() == 201


def test_weights_in_16_bits_and_their_masters() -> None:
    weight = tensors(1)[0]
    w, plain = weight.cast("bfloat16").realize(), weight.cast("bfloat16").realize()
    g = tensors(1, seed=1)[0].cast("bfloat16").realize()
    optimizer, other = optim.AdamW([w], lr=0.01), optim.AdamW([plain], lr=0.01)
    step = svod.jit(lambda: optimizer.step([g]))
    assert extra(step) <= BYTES // 2 + 4096
    for _ in range(6):
        other.step([g])
    ours, theirs = (o.state_dict()["state"][0]["master"].numpy() for o in (optimizer, other))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(w.cast("float32").numpy(), svod.Tensor(ours).cast("bfloat16").cast("float32").numpy())
