"""Random numbers: their distributions, by statistics with fixed seeds, and what they are repeated by."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats

import svod

N = 40_000
Draw = Callable[[svod.Generator], svod.Tensor]

# Draws, and the mean and variance of the distribution.
MOMENTS: dict[str, tuple[Draw, float, float]] = {
    "rand": (lambda g: svod.rand(N, generator=g), 0.5, 1 / 12),
    "randn": (lambda g: svod.randn(N, generator=g), 0, 1),
    "randint": (lambda g: svod.randint(0, 10, N, generator=g), 4.5, 8.25),
    "uniform": (lambda g: svod.uniform((N,), 2, 5, generator=g), 3.5, 0.75),
    "normal": (lambda g: svod.normal((N,), 3.0, 2.0, generator=g), 3, 4),
    "normal in float64": (lambda g: svod.normal(N, dtype="float64", generator=g), 0, 1),
    "truncated_normal": (lambda g: svod.truncated_normal(N, -1.0, 1.0, generator=g), 0, 0.291125),
    "truncated_normal of a tail": (lambda g: svod.truncated_normal(N, 2.0, 3.0, generator=g), 2.315821, 0.061521),
    "exponential": (lambda g: svod.exponential(N, 2.0, generator=g), 2, 4),
    "gamma": (lambda g: svod.gamma(3.0, 2.0, (N,), generator=g), 6, 12),
    "gamma of less than 1": (lambda g: svod.gamma(0.3, shape=(N,), generator=g), 0.3, 0.3),
    "gamma of many": (lambda g: svod.gamma(1e4, shape=(N,), generator=g), 1e4, 1e4),
    "beta": (lambda g: svod.beta(2.0, 3.0, (N,), generator=g), 0.4, 0.04),
    "poisson of few": (lambda g: svod.poisson(svod.Tensor(0.7), (N,), generator=g), 0.7, 0.7),
    "poisson of 9": (lambda g: svod.poisson(svod.Tensor(9.0), (N,), generator=g), 9, 9),
    "poisson of 11": (lambda g: svod.poisson(svod.Tensor(11.0), (N,), generator=g), 11, 11),
    "poisson of many": (lambda g: svod.poisson(svod.Tensor(1000.0), (N,), generator=g), 1000, 1000),
    "bernoulli": (lambda g: svod.bernoulli(svod.full((N,), 0.3), generator=g), 0.3, 0.21),
    "categorical": (lambda g: svod.categorical(svod.Tensor([0.2, 0.5, 0.3]).log(), (N,), generator=g), 1.1, 0.49),
    "multinomial": (lambda g: svod.multinomial(svod.Tensor([2.0, 5.0, 3.0]), N, True, generator=g), 1.1, 0.49),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name: str) -> None:
    draw, mean, variance = MOMENTS[name]
    x = draw(svod.Generator(1)).numpy().astype("float64")
    assert x.shape == (N,)
    # Within 4.5 deviations of the statistics, which are fixed by the seed.
    fourth = ((x - x.mean()) ** 4).mean()
    assert abs(x.mean() - mean) < 4.5 * math.sqrt(variance / N) + 1e-4 * abs(mean)
    assert abs(x.var() - variance) < 4.5 * math.sqrt((fourth - variance**2) / N) + 5e-3 * variance


# Draws, and the distribution function.
DISTRIBUTIONS: dict[str, tuple[Draw, Callable[[float], float]]] = {
    "rand": (lambda g: svod.rand(N, generator=g), lambda x: x),
    "randn": (lambda g: svod.randn(N, generator=g), lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))),
    "exponential": (lambda g: svod.exponential(N, 2.0, generator=g), lambda x: 1 - math.exp(-x / 2)),
    "gamma of 1": (lambda g: svod.gamma(1.0, shape=(N,), generator=g), lambda x: 1 - math.exp(-x)),
    "gamma of 2": (lambda g: svod.gamma(2.0, shape=(N,), generator=g), lambda x: 1 - math.exp(-x) * (1 + x)),
    "gamma of a half": (lambda g: svod.gamma(0.5, shape=(N,), generator=g), lambda x: math.erf(math.sqrt(x))),
    "beta": (lambda g: svod.beta(2.0, 1.0, (N,), generator=g), lambda x: x * x),
    "truncated_normal": (
        lambda g: svod.truncated_normal(N, 0.0, 1.0, generator=g),
        lambda x: math.erf(x / math.sqrt(2)) / math.erf(1 / math.sqrt(2)),
    ),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_distributions(name: str) -> None:
    draw, function = DISTRIBUTIONS[name]
    x = np.sort(draw(svod.Generator(2)).numpy().astype("float64"))
    right = np.array([function(one) for one in x])
    # Kolmogorov's statistic, of which 1.95 is exceeded once in a thousand.
    distance = np.max(np.abs(right - (np.arange(N) + 0.5) / N)) * math.sqrt(N)
    assert distance < 1.95


@pytest.mark.parametrize("rate", [0.5, 4.0, 9.9, 10.0, 30.0])
def test_how_often_each_count_of_poisson_is(rate: float) -> None:
    x = svod.poisson(svod.Tensor(rate), (N,), generator=svod.Generator(3)).numpy()
    chances = np.array([math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)) for k in range(200)])
    counts = np.bincount(x.astype(int), minlength=200)
    seen = chances * N > 10
    squares = ((counts - chances * N)[seen] ** 2 / (chances * N)[seen]).sum()
    freedom = int(seen.sum()) - 1
    assert squares < freedom + 4.5 * math.sqrt(2 * freedom)


def test_poisson_of_what_is_no_mean() -> None:
    # Of a function that is traced means are not known; of others one that is negative is an error.
    x = svod.jit(svod.poisson)(svod.Tensor([0.0, -1.0, svod.nan, svod.inf])).numpy()
    assert x[0] == 0 and np.isnan(x[1:]).all()


@pytest.mark.parametrize(("n", "p"), [(1e15, 0.5), (1e15, 0.3), (8e15, 1e-3), (1e15, 0.999), (1e6, 0.3)])
def test_how_many_of_many_trials_succeed(n: float, p: float) -> None:
    g = svod.Generator(5)
    x = svod.binomial(svod.full((N,), n, dtype="float64"), svod.full((N,), p, dtype="float64"), generator=g).numpy()
    assert scipy.stats.kstest((x - n * p) / math.sqrt(n * p * (1 - p)), "norm").pvalue > 1e-4


@pytest.mark.parametrize("mean", [1.0, 5.0, 20.0])
def test_how_many_of_many_trials_succeed_that_are_rare(mean: float) -> None:
    n, p = svod.full((N,), 1e15, dtype="float64"), svod.full((N,), mean / 1e15, dtype="float64")
    counts = np.bincount(svod.binomial(n, p, generator=svod.Generator(6)).numpy().astype(int), minlength=100)
    expected = scipy.stats.poisson.pmf(np.arange(len(counts)), mean) * N
    seen = expected > 10
    squares = ((counts - expected)[seen] ** 2 / expected[seen]).sum()
    freedom = int(seen.sum()) - 1
    assert squares < freedom + 4.5 * math.sqrt(2 * freedom)


def test_generators_know_their_seed() -> None:
    assert svod.Generator(7).initial_seed() == 7
    g = svod.Generator()
    again = svod.Generator(g.initial_seed())
    assert svod.rand(3, generator=g).tolist() == svod.rand(3, generator=again).tolist()
    assert g.manual_seed(3).initial_seed() == 3
    before = svod.get_rng_state()
    svod.manual_seed(11)
    svod.rand(2).tolist()
    assert svod.initial_seed() == 11
    svod.set_rng_state(before)


def test_samples_without_replacement_are_different_ones() -> None:
    weights = svod.Tensor([[1.0, 2.0, 3.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    for seed in range(20):
        drawn = svod.multinomial(weights, 3, generator=svod.Generator(seed)).numpy()
        assert drawn.shape == (2, 3) and sorted(drawn[0]) == [0, 1, 2] and len(set(drawn[1])) == 3
    with pytest.raises(svod.ArgumentError, match="multinomial"):
        svod.multinomial(weights, 5)


def test_permutations() -> None:
    g = svod.Generator(4)
    assert sorted(svod.randperm(100, generator=g).tolist()) == [*range(100)]
    assert svod.randperm(100, generator=g).tolist() != svod.randperm(100, generator=g).tolist()
    firsts = np.bincount([svod.permutation(4, generator=g)[0].item() for _ in range(400)], minlength=4)
    assert (firsts > 70).all()
    x = svod.arange(12).reshape(3, 4)
    assert np.sort(svod.permutation(x, axis=1, generator=g).numpy(), 1).tolist() == x.tolist()
    assert svod.randperm(0).shape == (0,)


def test_parameters_broadcast() -> None:
    rates = svod.Tensor([[1.0], [100.0]])
    assert svod.poisson(rates, (2, 3)).shape == (2, 3)
    assert svod.gamma(rates, svod.ones(3)).shape == (2, 3)
    assert svod.beta(rates, svod.ones(3), (5, 2, 3)).shape == (5, 2, 3)
    assert svod.categorical(svod.ones(4, 5), (2,), axis=0).shape == (2, 5)
    assert svod.normal((2, 3), svod.Tensor([1.0, 2.0, 3.0])).shape == (2, 3)


def test_likenesses() -> None:
    x = svod.ones(2, 3, dtype="float64")
    for draw in (svod.rand_like, svod.randn_like):
        assert (draw(x).shape, draw(x).dtype, draw(x, dtype="float32").dtype) == ((2, 3), "float64", "float32")
    drawn = svod.randint_like(svod.zeros(50, dtype="int8"), 3, 5)
    assert drawn.dtype == "int8" and set(drawn.tolist()) == {3, 4}


EVERY: dict[str, Draw] = {name: row[0] for name, row in MOMENTS.items()}


@pytest.mark.parametrize("name", EVERY)
def test_a_seed_repeats_numbers_on_any_number_of_threads_and_in_jit(name: str) -> None:
    def small(g: svod.Generator) -> svod.Tensor:
        return EVERY[name](g)[:50]

    right = small(svod.Generator(5)).numpy()
    with svod.PrepareConfig(threads=1):
        np.testing.assert_array_equal(small(svod.Generator(5)).numpy(), right)
    g = svod.Generator(5)

    @svod.jit
    def traced(x: svod.Tensor) -> svod.Tensor:
        return small(g) + x

    zero = svod.zeros((), dtype=svod.Tensor(right).dtype)
    first, second = traced(zero).numpy(), traced(zero).numpy()
    plain = svod.Generator(5)
    np.testing.assert_array_equal(first, small(plain).numpy())
    np.testing.assert_array_equal(second, small(plain).numpy())


def test_generators_are_independent_of_each_other_and_of_the_default_one() -> None:
    svod.manual_seed(0)
    expected = svod.rand(3).tolist()
    svod.manual_seed(0)
    g, h = svod.Generator(0), svod.Generator(0)
    assert svod.rand(3, generator=g).tolist() == expected
    assert svod.rand(3).tolist() == expected
    assert svod.rand(3, generator=h).tolist() == expected
    assert svod.rand(3, generator=g).tolist() != expected
    assert svod.rand(3, generator=g.manual_seed(0)).tolist() == expected
    assert svod.rand(3, generator=svod.Generator()).tolist() != svod.rand(3, generator=svod.Generator()).tolist()


def test_states_go_on() -> None:
    g = svod.Generator(6)
    svod.randn(5, generator=g)
    state = g.get_state()
    assert state.dtype == "uint64" and state.shape == (2,)
    after = svod.randn(5, generator=g).tolist()
    other = svod.Generator()
    other.set_state(state.numpy())
    assert svod.randn(5, generator=other).tolist() == after
    g.set_state(state)
    for again in (g, copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert svod.randn(5, generator=again).tolist() == after
    with pytest.raises(svod.ArgumentError, match="set_state"):
        g.set_state([1, 2, 3])


def test_generators_in_jit() -> None:
    g = svod.Generator(7)

    @svod.jit
    def shuffled(x: svod.Tensor, g: svod.Generator) -> Any:
        return x + svod.rand(2, generator=g), svod.rand(2)

    svod.manual_seed(1)
    calls = [[part.tolist() for part in shuffled(svod.zeros(2), g)] for _ in range(3)]
    svod.manual_seed(1)
    plain = svod.Generator(7)
    assert calls == [[svod.rand(2, generator=plain).tolist(), svod.rand(2).tolist()] for _ in range(3)]

    @svod.jit
    def looks(x: svod.Tensor) -> svod.Tensor:
        return x + g.get_state()

    with pytest.raises(svod.ArgumentError, match="get_state"):
        looks(svod.zeros(2, dtype="uint64"))

    @svod.jit
    def reseeded(x: svod.Tensor) -> svod.Tensor:
        return x + svod.rand(2, generator=g.manual_seed(9))

    assert reseeded(svod.zeros(2)).tolist() == reseeded(svod.zeros(2)).tolist()


def test_positions_are_drawn_in_proportion_to_weights() -> None:
    """Of many, for each row; never one without weight, first, last, or where sums begin anew."""
    rng = np.random.default_rng(3)
    weights = rng.random((3, 700)).astype(np.float32) * 10.0 ** rng.integers(-3, 3, (3, 1))
    weights[:, ::3] = 0
    weights[:, -5:] = 0
    drawn = svod.multinomial(svod.Tensor(weights), 100_000, replacement=True, generator=svod.Generator(4)).numpy()
    for of_row, row in zip(weights, drawn, strict=True):
        counts, expected = np.bincount(row, minlength=700), 100_000 * of_row / of_row.sum()
        assert not counts[of_row == 0].any()
        there = of_row > 0
        chi_squared = ((counts - expected)[there] ** 2 / expected[there]).sum()
        assert abs(chi_squared - there.sum() + 1) < 5 * np.sqrt(2 * there.sum())


@pytest.mark.parametrize("n", [1, 2, 3, 4, 31, 32, 33, 1000, 1024, 70000])
def test_permutations_hold_every_number_once(n: int) -> None:
    made = svod.randperm(n, generator=svod.Generator(n)).numpy()
    assert made.dtype == np.int64 and (np.sort(made) == np.arange(n)).all()


def test_permutations_are_equally_likely() -> None:
    g = svod.Generator(5)
    found = np.array([svod.randperm(3, generator=g).tolist() for _ in range(1200)])
    counts = np.unique(found @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 6 and ((counts - 200) ** 2 / 200).sum() < 20
