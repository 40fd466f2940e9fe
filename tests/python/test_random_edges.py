"""Draws at the edges of their parameters, and arguments out of range that are known at the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

import svod
import svod.nn.functional as F

torch = pytest.importorskip("torch")

N = 20_000


@pytest.mark.parametrize(
    ("lower", "upper"),
    [(8.5, 9.5), (9, 10), (-10, -9), (2, 3), (-3, -2), (30, 31), (5, np.inf), (-np.inf, -40), (-9, 1), (1.9, 12)],
)
def test_a_tail_of_the_normal_distribution(lower: float, upper: float) -> None:
    drawn = svod.truncated_normal(N, lower, upper, dtype="float64", generator=svod.Generator(3)).numpy()
    assert drawn.min() >= lower and drawn.max() <= upper and len(np.unique(drawn)) > N * 0.99
    assert scipy.stats.kstest(drawn, scipy.stats.truncnorm(lower, upper).cdf).pvalue > 1e-3


def test_a_tail_is_shifted_and_scaled() -> None:
    drawn = svod.truncated_normal(N, 27.0, 29.0, mean=10.0, std=2.0, dtype="float64", generator=svod.Generator(4))
    wanted = scipy.stats.truncnorm(8.5, 9.5, loc=10, scale=2)
    assert scipy.stats.kstest(drawn.numpy(), wanted.cdf).pvalue > 1e-3
    with pytest.raises(svod.ArgumentError, match="truncated_normal: std"):
        svod.truncated_normal(3, std=0.0)


@pytest.mark.parametrize(("a", "b"), [(1e-3, 1e-3), (0.01, 0.01), (0.001, 0.5), (0.2, 3.0), (40.0, 2.0)])
def test_beta_of_small_parameters(a: float, b: float) -> None:
    drawn = svod.beta(a, b, (N,), dtype="float64", generator=svod.Generator(5)).numpy()
    assert np.isfinite(drawn).all() and drawn.min() >= 0 and drawn.max() <= 1
    wanted = scipy.stats.beta(a, b)
    assert abs(drawn.mean() - wanted.mean()) < 4.5 * wanted.std() / N**0.5
    for at in (1e-200, 1e-20, 0.1, 0.5, 0.9):
        part = wanted.cdf(at)
        assert abs((drawn <= at).mean() - part) < 4.5 * (part * (1 - part) / N) ** 0.5 + 1e-12


def test_gamma_of_a_small_parameter() -> None:
    drawn = svod.gamma(1e-3, shape=(N,), dtype="float64", generator=svod.Generator(6)).numpy()
    for at in (1e-300, 1e-100, 1e-5, 1.0):
        part = scipy.special.gammainc(1e-3, at)
        assert abs((drawn <= at).mean() - part) < 4.5 * (part * (1 - part) / N) ** 0.5


@pytest.mark.parametrize("mean", [1e6, 1e12, 1e15])
def test_poisson_of_a_large_mean(mean: float) -> None:
    rate = svod.Tensor(np.array(mean))
    drawn = svod.poisson(rate, (N,), generator=svod.Generator(7)).numpy() - mean
    assert abs(drawn.mean()) < 4.5 * (mean / N) ** 0.5
    assert abs(drawn.std() / mean**0.5 - 1) < 4.5 / (2 * N) ** 0.5


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (16777215.0, 16777216.0), (1000.0, 1000.001), (-1e-3, 0.0), (2.0, 2.0)]
)
def test_uniform_numbers_are_below_the_end(low: float, high: float) -> None:
    for dtype in ("float32", "float16") if high < 100 else ("float32",):
        end = svod.Tensor([high], dtype).item()
        for drawn in (
            svod.uniform(200_000, low, high, dtype=dtype, generator=svod.Generator(8)),
            svod.uniform(200_000, svod.Tensor([low], dtype), svod.Tensor([high], dtype), dtype=dtype),
            svod.zeros(200_000, dtype=dtype).uniform_(low, high, generator=svod.Generator(8)),
        ):
            values = drawn.double().numpy()
            assert values.max() < end or low == high
            assert values.min() >= svod.Tensor([low], dtype).item()


def floats(*given: float) -> svod.Tensor:
    return svod.Tensor(np.array(given))


WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "one_hot": (lambda: F.one_hot(svod.Tensor([5]), 3), "one_hot: tensor: 5 is not one of 3"),
    "one_hot of a negative": (lambda: F.one_hot(svod.Tensor([0, -1]), 3), "one_hot: tensor: -1"),
    "one_hot of any classes": (lambda: F.one_hot(svod.Tensor([0, -1])), "one_hot: tensor: -1 is not a class"),
    "masked_scatter": (
        lambda: svod.zeros(3).masked_scatter(svod.Tensor([True, True, True]), svod.Tensor([1.0, 2.0])),
        "masked_scatter: source: 2 elements are fewer than 3",
    ),
    "masked_scatter of nothing": (
        lambda: svod.zeros(3).masked_scatter(svod.Tensor([True, False, True]), floats()),
        "masked_scatter: source: 0 elements are fewer than 2",
    ),
    "multinomial of a negative": (lambda: svod.multinomial(floats(1, -1), 1), "multinomial: input: .* negative"),
    "multinomial of NaN": (lambda: svod.multinomial(floats(1, np.nan), 1), "multinomial: input: .* NaN"),
    "multinomial of zeros": (lambda: svod.multinomial(floats(0, 0), 1), "multinomial: input: .* zero"),
    "gamma": (lambda: svod.gamma(-1.0, shape=3), "gamma: concentration: numbers that are not negative .*, not -1"),
    "gamma of a tensor": (lambda: svod.gamma(floats(1, -2)), "gamma: concentration: .*, not -2"),
    "gamma of a list": (lambda: svod.gamma([1.0, -2.0]), "gamma: concentration: .*, not -2"),
    "gamma of a scale": (lambda: svod.gamma(2.0, -3), "gamma: scale: .*, not -3"),
    "beta": (lambda: svod.beta(0.0, 1.0), "beta: a: numbers above 0 are expected, not 0"),
    "beta of the other": (lambda: svod.beta(1.0, floats(1, -1)), "beta: b: numbers above 0 are expected, not -1"),
    "exponential": (lambda: svod.exponential(3, -1.0), "exponential: scale: .* not negative .*, not -1"),
    "normal": (lambda: svod.normal(3, std=-1.0), "normal: std: .* not negative .*, not -1"),
    "poisson": (lambda: svod.poisson(floats(1, -1)), "poisson: x: .* not negative .*, not -1"),
    "bernoulli": (lambda: svod.bernoulli(floats(0, 1.5)), "bernoulli: x: probabilities from 0 to 1 are .*, not 1.5"),
    "binomial": (lambda: svod.binomial(floats(-3), floats(0.5)), "binomial: count: .* not negative .*, not -3"),
    "binomial's chance": (lambda: svod.binomial(floats(3), floats(2)), "binomial: prob: probabilities .*, not 2"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_known_at_the_call_is_an_error(name: str) -> None:
    call, message = WRONG[name]
    with pytest.raises(svod.Error, match=message):
        call()


def test_what_is_right_is_none() -> None:
    assert F.one_hot(svod.Tensor([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert F.one_hot(svod.Tensor(np.zeros(0, np.int64)), 3).shape == (0, 3)
    mask = svod.Tensor([True, False, True])
    assert svod.zeros(3).masked_scatter(mask, svod.Tensor([1.0, 2.0, 3.0])).tolist() == [1, 0, 2]
    assert svod.gamma(0.0).item() == 0 and np.isnan(svod.gamma(svod.nan).item())
    # Of a function that is traced values are not known: what happens then is documented.
    assert svod.jit(lambda x: F.one_hot(x, 3))(svod.Tensor([5])).tolist() == [[0, 0, 0]]
    assert svod.jit(lambda x, m: svod.zeros(3).masked_scatter(m, x))(svod.ones(1), mask).tolist() == [1, 0, 1]


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_polygamma_at_its_poles(order: int) -> None:
    at = np.array([0.0, -0.0, -1.0, -2.0])
    found = svod.polygamma(order, svod.Tensor(at)).numpy()
    np.testing.assert_array_equal(found, scipy.special.polygamma(order, at))
    assert found[0] == torch.polygamma(order, torch.tensor(0.0)).item()


# PyTorch's forms, as shapes and types.
FORMS: dict[str, Callable[[Any], Any]] = {
    "normal": lambda xp: xp.normal(0.0, 1.0, (2, 3)),
    "normal of a size by name": lambda xp: xp.normal(0.0, 1.0, size=(2, 3)),
    "normal by names": lambda xp: xp.normal(mean=0.0, std=1.0, size=(2,)),
    "normal of integers": lambda xp: xp.normal(0, 1, (2, 3)),
    "normal of means": lambda xp: xp.normal(xp.zeros(2, 3), 2.0),
    "normal of deviations": lambda xp: xp.normal(1.0, xp.ones(3)),
    "normal of both": lambda xp: xp.normal(xp.zeros(2, 1), xp.ones(3)),
    "normal of one": lambda xp: xp.normal(xp.zeros(4)),
    "bernoulli": lambda xp: xp.bernoulli(xp.zeros(3), 0.5),
    "bernoulli of a method": lambda xp: xp.zeros(3).bernoulli(0.5),
    "randint": lambda xp: xp.randint(10, (3,)),
    "randint of a size": lambda xp: xp.randint(10, size=(2, 3)),
    "randint of bounds": lambda xp: xp.randint(2, 10, (3,)),
    "randint of bounds and a size": lambda xp: xp.randint(2, 10, size=(3,)),
    "randint by names": lambda xp: xp.randint(high=10, size=(3,)),
    "randint of a type": lambda xp: xp.randint(10, (3,), dtype=xp.int32),
    "randperm": lambda xp: xp.randperm(5, device="cpu"),
    "rand_like": lambda xp: xp.rand_like(xp.zeros(3), device="cpu", requires_grad=True),
    "randn_like": lambda xp: xp.randn_like(xp.zeros(3), device="cpu", requires_grad=True),
    "randint_like": lambda xp: xp.randint_like(xp.zeros(3), 5, dtype=xp.int64, device="cpu"),
}


@pytest.mark.parametrize("name", FORMS)
def test_pytorchs_forms_of_draws(name: str) -> None:
    ours, theirs = FORMS[name](svod), FORMS[name](torch)
    assert tuple(ours.shape) == tuple(theirs.shape) and ours.requires_grad == theirs.requires_grad
    assert ours.dtype.name == str(theirs.dtype).removeprefix("torch.")


def test_draws_of_pytorchs_forms() -> None:
    g = svod.Generator(9)
    drawn = svod.normal(svod.Tensor([0.0, 100.0]), svod.Tensor([1.0, 3.0]), (N, 2), generator=g).numpy()
    np.testing.assert_allclose(drawn.mean(0), [0, 100], atol=0.1)
    np.testing.assert_allclose(drawn.std(0), [1, 3], rtol=0.03)
    assert svod.normal((2, 3), 5.0, 0.0).tolist() == [[5.0] * 3] * 2 == svod.normal(5.0, 0.0, (2, 3)).tolist()
    assert svod.bernoulli(svod.ones(N), 0.25, generator=g).mean().item() == pytest.approx(0.25, abs=0.02)
    drawn = svod.randint(3, (N,), generator=g).numpy()
    assert sorted(set(drawn.tolist())) == [0, 1, 2]


@pytest.mark.parametrize(
    "call",
    [
        lambda: svod.normal(),
        lambda: svod.normal((2,), 0.0, 1.0, size=(2,)),
        lambda: svod.randint(3),
        lambda: svod.randint(0, 3),
        lambda: svod.randint(0, 3, (2,), size=(2,)),
    ],
)
def test_draws_without_a_shape(call: Callable[[], Any]) -> None:
    with pytest.raises(svod.ArgumentTypeError, match=r"(normal|randint): shape"):
        call()


def test_pairs_have_pytorchs_names() -> None:
    x = np.array([[3.0, 1.0, 3.0], [np.nan, 2.0, 5.0]])
    ours, theirs = svod.Tensor(x), torch.tensor(x)
    for by in ({"dim": 1}, {"dim": 0}, {"dim": 1, "keepdim": True}):
        for method in ("mode", "nanmedian"):
            # PyTorch's mode of numbers and NaN is any of them.
            rows = slice(0, 1 if method == "mode" else 2)
            found, wanted = getattr(ours[rows], method)(**by), getattr(theirs[rows], method)(**by)
            np.testing.assert_array_equal(found.values.numpy(), wanted.values.numpy())
            assert found.indices.shape == tuple(wanted.indices.shape)
        found, wanted = ours[:1].aminmax(**by), theirs[:1].aminmax(**by)
        np.testing.assert_array_equal(found.min.numpy(), wanted.min.numpy())
        np.testing.assert_array_equal(found.max.numpy(), wanted.max.numpy())
    np.testing.assert_array_equal(svod.nanmedian(ours, axis=0).numpy(), [3.0, 1.0, 3.0])
    assert svod.mode(ours[:1], axis=1).tolist() == [3.0] == svod.median(ours[:1], axis=1).tolist()
    for name in ("mode", "nanmedian"):
        with pytest.raises(svod.ArgumentTypeError, match="one argument"):
            getattr(svod, name)(ours, dim=0, axis=0)
