"""First values of parameters: distributions by their moments and bounds, as PyTorch's are by theirs."""

from __future__ import annotations

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

import numpy as np
import pytest

import svod
from svod.nn import init


def drawn(function: Callable[..., Any], *args: Any, shape: tuple[int, ...] = (100, 200), **kwargs: Any) -> np.ndarray:
    svod.manual_seed(7)
    tensor = svod.zeros(*shape).requires_grad_()
    assert function(tensor, *args, **kwargs) is tensor and tensor.requires_grad
    return tensor.numpy()


# What is drawn, for a weight of 100 x 200: its deviation, and its bounds where it has some.
DRAWN: list[tuple[Callable[..., Any], tuple[Any, ...], float, float | None]] = [
    (init.uniform_, (-2.0, 2.0), 4 / sqrt(12), 2.0),
    (init.normal_, (0.0, 3.0), 3.0, None),
    (init.xavier_uniform_, (2.0,), 2 * sqrt(2 / 300), 2 * sqrt(6 / 300)),
    (init.xavier_normal_, (), sqrt(2 / 300), None),
    (init.kaiming_uniform_, (sqrt(5),), sqrt(2 / 6 / 200), sqrt(1 / 200)),
    (init.kaiming_normal_, (0.0, "fan_out", "relu"), sqrt(2 / 100), None),
]


@pytest.mark.parametrize(("function", "args", "deviation", "bound"), DRAWN)
def test_moments_and_bounds(function: Callable[..., Any], args: Any, deviation: float, bound: float | None) -> None:
    values = drawn(function, *args)
    assert abs(values.mean()) < 4 * deviation / sqrt(values.size)
    assert values.std() == pytest.approx(deviation, rel=0.03)
    if bound is not None:
        assert 0.999 * bound < np.abs(values).max() <= bound * (1 + 1e-6)
    # The seed repeats them.
    np.testing.assert_array_equal(values, drawn(function, *args))


def test_a_normal_distribution_is_cut_off() -> None:
    values = drawn(init.trunc_normal_, 1.0, 2.0, -1.0, 4.0, shape=(300, 300)).astype(np.float64)
    assert values.min() >= -1 and values.max() <= 4
    # Of a normal distribution between -1σ and 1.5σ.
    density, below = (lambda x: np.exp(-x * x / 2) / sqrt(2 * np.pi)), {-1.0: 0.158655, 0.0: 0.5, 1.5: 0.933193}
    share = below[1.5] - below[-1.0]
    mean = 1 + 2 * (density(-1.0) - density(1.5)) / share
    assert values.mean() == pytest.approx(mean, abs=0.02)
    assert (values < 1).mean() == pytest.approx((below[0.0] - below[-1.0]) / share, abs=0.01)


def test_constants_and_identities() -> None:
    assert drawn(init.ones_, shape=(2,)).tolist() == [1, 1] and drawn(init.zeros_, shape=(2,)).tolist() == [0, 0]
    assert drawn(init.constant_, 0.5, shape=(2,)).tolist() == [0.5, 0.5]
    np.testing.assert_array_equal(drawn(init.eye_, shape=(2, 3)), np.eye(2, 3))
    x = svod.rand(1, 4, 6, 6)
    weight = svod.Tensor(drawn(init.dirac_, shape=(4, 4, 3, 3)))
    np.testing.assert_allclose(x.conv2d(weight, padding=1).numpy(), x.numpy(), rtol=1e-6)
    assert drawn(init.dirac_, 2, shape=(4, 2, 3)).sum() == 4


@pytest.mark.parametrize("shape", [(5, 8), (8, 5), (6, 2, 3), (4, 4)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    q = drawn(init.orthogonal_, 2.0, shape=shape).reshape(shape[0], prod(shape[1:]))
    gram = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-5)


def test_gains_and_errors() -> None:
    torch_gains = {"linear": 1, "conv2d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": sqrt(2), "selu": 0.75}
    for name, gain in torch_gains.items():
        assert init.calculate_gain(name) == pytest.approx(gain)
    assert init.calculate_gain("leaky_relu", 0.2) == pytest.approx(sqrt(2 / 1.04))
    vector = svod.zeros(3)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: init.calculate_gain("sine"), "is none of"),
        (lambda: init.xavier_normal_(vector), "at least 2 dimensions"),
        (lambda: init.eye_(vector), "eye_: a matrix"),
        (lambda: init.dirac_(vector), "dirac_: weights of a convolution"),
        (lambda: init.orthogonal_(vector), "orthogonal_: at least 2"),
        (lambda: init.kaiming_normal_(svod.zeros(2, 2), mode="fan"), "mode is"),
    ]
    for made, says in cases:
        with pytest.raises(svod.Error, match=says):
            made()
