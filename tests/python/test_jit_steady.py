"""Weights that calls of a jitted function find again and again are laid out for contractions once."""

import threading

import numpy as np
import pytest

import svod


class Model(svod.nn.Module):
    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.first = svod.nn.Linear(width, width)
        self.second = svod.nn.Linear(width, width)

    def forward(self, x: svod.Tensor) -> svod.Tensor:
        return self.second(self.first(x).relu())


def plain(model: Model, x: np.ndarray) -> np.ndarray:
    first, second = model.first, model.second
    assert first.bias is not None and second.bias is not None
    h = np.maximum(x @ first.weight.numpy().T + first.bias.numpy(), 0)
    return h @ second.weight.numpy().T + second.bias.numpy()


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)


def packs() -> int:
    return svod.caches()["packs"]


def check(function: object, model: Model, x: np.ndarray, calls: int = 4) -> None:
    for _ in range(calls):
        np.testing.assert_allclose(function(x).numpy(), plain(model, x), rtol=1e-4, atol=1e-4)  # type: ignore[operator]


def test_weights_are_laid_out_once_for_all_calls(x: np.ndarray) -> None:
    model, before = Model(), packs()
    function = svod.jit(model)
    check(function, model, x, 2)
    assert packs() == before, "what is called twice is not known to be called again"
    check(function, model, x, 2)
    assert packs() == before + 2
    check(function, model, x)
    assert (packs(), function.traces) == (before + 2, 1)
    del function
    assert packs() == before


def test_plans_and_functions_share_what_was_laid_out(x: np.ndarray) -> None:
    model, before = Model(), packs()
    one, other = svod.jit(model), svod.jit(lambda x: model(x))
    check(one, model, x)
    check(other, model, x)
    assert packs() == before + 2


@pytest.mark.parametrize("way", ["assign", "item", "attribute", "variable", "state"])
def test_weights_that_change_are_laid_out_anew(x: np.ndarray, way: str) -> None:
    model, before = Model(), packs()
    function = svod.jit(model)
    check(function, model, x)
    assert packs() == before + 2
    fresh = np.random.default_rng(1).standard_normal((256, 256)).astype(np.float32)
    with svod.no_grad():
        match way:
            case "assign":
                model.first.weight.assign(svod.Tensor(fresh))
            case "item":
                model.first.weight[3] = 2.0
            case "attribute":
                model.first.weight = svod.Tensor(fresh)
            case "variable":
                # Another kind of tensor, so that the function is traced again.
                model.first.weight = svod.Tensor(fresh).requires_grad_()
            case "state":
                model.load_state_dict({**model.state_dict(), "first.weight": svod.Tensor(fresh)})
    check(function, model, x, 1)
    assert packs() == before, "the plan with the old weights is given up, and its hold on memory"
    check(function, model, x, 6)
    assert (packs(), function.traces) == (before + 2, 2 if way == "variable" else 1)


def test_a_step_of_training_is_followed(x: np.ndarray) -> None:
    model = Model().requires_grad_()
    optimizer = svod.optim.SGD(model.parameters(), lr=0.05)
    function = svod.jit(model)

    @svod.jit
    def step(x: svod.Tensor) -> svod.Tensor:
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    check(function, model, x)
    for _ in range(3):
        seen = function(x).numpy()
        step(svod.Tensor(x))
        assert np.abs(function(x).numpy() - seen).max() > 0
        check(function, model, x, 1)
    check(function, model, x, 8)


def test_elementwise_functions_get_no_second_plan() -> None:
    w = svod.rand(1000).realize()
    function = svod.jit(lambda x: x * w)
    x = np.ones(1000, np.float32)
    function(x)
    kernels = svod.caches()["kernels"]
    for _ in range(8):
        np.testing.assert_array_equal(function(x).numpy(), w.numpy())
    assert svod.caches()["kernels"] == kernels


def test_memory_that_a_caller_may_write_is_no_constant(x: np.ndarray) -> None:
    array = np.random.default_rng(2).standard_normal((256, 256)).astype(np.float32)
    w, before = svod.from_numpy(array), packs()
    function = svod.jit(lambda x: x @ w)
    for i in range(6):
        array[0] = i
        np.testing.assert_allclose(function(x).numpy(), x @ array, rtol=1e-4, atol=1e-3)
    assert packs() == before


def test_rows_that_vary_and_random_numbers(x: np.ndarray) -> None:
    model, n = Model(), svod.Variable("n", 1, 64)
    function = svod.jit(shapes={"x": (n, 256)})(lambda x: (model(x), svod.rand(3)))
    drawn = set()
    for rows in (64, 3, 17, 1, 64, 5, 64):
        y, numbers = function(x[:rows])
        np.testing.assert_allclose(y.numpy(), plain(model, x[:rows]), rtol=1e-4, atol=1e-4)
        drawn.add(float(numbers[0]))
    assert len(drawn) == 7


def test_threads_that_call_and_one_that_assigns(x: np.ndarray) -> None:
    w = svod.Tensor(np.full((256, 256), 1.0, np.float32)).realize()
    function = svod.jit(lambda x: x @ w)
    ones, wrong = np.ones((64, 256), np.float32), []

    def call() -> None:
        for _ in range(60):
            found = function(ones).numpy()
            if (found != found[0, 0]).any() or found[0, 0] not in (256.0, 512.0):
                wrong.append(found)

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(20):
        w.assign(svod.full((256, 256), 1.0 + i % 2).realize())
    for thread in threads:
        thread.join()
    assert not wrong
    for _ in range(6):
        np.testing.assert_array_equal(function(ones).numpy(), 256.0 * w.numpy()[0, 0])
