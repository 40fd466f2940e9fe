"""Random numbers of many distributions.

All of it is made of what `svod.rand`, `randn` and `randint` draw, so that it is repeated with `manual_seed`, or with a
`Generator` in the same state, on any number of threads and in functions of `jit`. Parameters of distributions may be
tensors; they broadcast with the shape. There are no derivatives of what was drawn, but by parameters that only shift
and scale.

Where samples are rejected, as many are tried at once as make all of them fail with a probability of less than 1e-9;
then the last one stays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from svod._arguments import _is_integer, _is_number
from svod._place import device_of, known, made_beside
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    Generator,
    Tensor,
    _randint,
    _tensor,
    arange,
    float32,
    float64,
    get_rng_state,
    rand,
    randn,
    where,
)
from svod.library.elementwise import nextafter
from svod.library.gammas import _behind_log
from svod.library.manipulation import _extents, broadcast_shapes
from svod.library.searching import searchsorted
from svod.library.special import erfinv, lgamma

__all__ = [
    "bernoulli",
    "beta",
    "binomial",
    "categorical",
    "exponential",
    "gamma",
    "initial_seed",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "rand_like",
    "randint",
    "randint_like",
    "randn_like",
    "randperm",
    "truncated_normal",
    "uniform",
]

Shape = int | Sequence[int]


def bernoulli(x: Tensor, p: float | None = None, /, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element is, or `p` for all, else 0, in its type.

    >>> import svod
    >>> svod.bernoulli(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.0]
    >>> svod.bernoulli(svod.zeros(2), 1.0).tolist()
    [1.0, 1.0]
    """
    if p is not None and not 0 <= p <= 1:
        raise ArgumentError(f"bernoulli: p: a probability from 0 to 1 is expected, not {p}")
    if p is None:
        _expect("bernoulli", "x", x, _is_probability)
    return (rand(*x.shape, dtype=float64, device=device_of(x), generator=generator) < (x if p is None else p)).cast(
        x.dtype
    )


def beta(
    a: Tensor | float, b: Tensor | float, shape: Shape = (), *, dtype: Any = None, generator: Generator | None = None
) -> Tensor:
    """Beta distributed: `x / (x + y)` of two gamma distributed numbers, of which the logarithms are drawn.

    >>> import svod
    >>> svod.beta(2.0, 3.0, (4,)).shape
    (4,)
    """
    dtype = float32 if dtype is None else dtype
    _expect("beta", "a", a, _is_above_zero)
    _expect("beta", "b", b, _is_above_zero)
    whole = broadcast_shapes(_extents(shape), _tensor(a).shape, _tensor(b).shape)
    first, second = (_log_gamma(_tensor(one).cast(float64).expand(whole), generator) for one in (a, b))
    return (first - second).sigmoid().cast(dtype)


def binomial(count: Tensor, prob: Tensor, /, *, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`, in the type of `count`.

    By inversion of means up to 10, else by transformed rejection (Hörmann 1993).

    >>> import svod
    >>> svod.binomial(svod.Tensor([5.0, 5.0]), svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 5.0]
    """
    _expect("binomial", "count", count, _is_no_less)
    _expect("binomial", "prob", prob, _is_probability)
    shape = broadcast_shapes(count.shape, prob.shape)
    n, p = count.cast(float64).expand(*shape), prob.cast(float64).expand(*shape)
    rare = p.minimum(1 - p)
    few = n * rare < 10
    found = where(
        few,
        _binomial_of_few(n, where(few, rare, 0.0), generator),
        _binomial_of_many(where(few, 40.0, n), where(few, 0.5, rare), generator),
    )
    found = where(p > 0.5, n - found, found)
    return where((n >= 0) & (p >= 0) & (p <= 1), found, math.nan).cast(count.dtype)


def categorical(logits: Tensor, /, shape: Shape = (), *, axis: int = -1, generator: Generator | None = None) -> Tensor:
    """Positions along an axis, with probabilities `softmax(logits)`; `shape` comes before the other axes.

    By the largest of the logits with Gumbel noise (Gumbel 1954).

    >>> import svod
    >>> svod.categorical(svod.Tensor([-svod.inf, 0.0, -svod.inf]), (2,)).tolist()
    [1, 1]
    """
    logits = logits.movedim(axis, -1)
    noise = _gumbel(logits, (*_extents(shape), *logits.shape), generator)
    return (logits.cast(float64) + noise).argmax(-1)


def exponential(
    shape: Shape,
    scale: Tensor | float = 1.0,
    *,
    dtype: Any = None,
    device: str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Exponentially distributed with this mean.

    >>> import svod
    >>> (svod.exponential(100) >= 0).all().item()
    True
    """
    dtype = float32 if dtype is None else dtype
    _expect("exponential", "scale", scale, _is_no_less)
    drawn = rand(_extents(shape), dtype=float64, device=device, generator=generator)
    return -(-drawn).log1p().cast(dtype) * scale


def gamma(
    concentration: Tensor | float,
    scale: Tensor | float = 1.0,
    shape: Shape = (),
    *,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Gamma distributed with mean `concentration * scale` (Marsaglia and Tsang 2000). Numbers that are less than any
    that the type holds, which a small `concentration` has, are 0.

    >>> import svod
    >>> svod.gamma(2.0, shape=(3, 4)).shape
    (3, 4)
    """
    dtype = float32 if dtype is None else dtype
    _expect("gamma", "concentration", concentration, _is_no_less)
    _expect("gamma", "scale", scale, _is_no_less)
    alpha = _tensor(concentration).cast(float64)
    whole = broadcast_shapes(_extents(shape), alpha.shape, _tensor(scale).shape)
    drawn = _log_gamma(alpha.expand(whole), generator).exp()
    return drawn.cast(dtype) * scale


def initial_seed() -> int:
    """The seed that `svod.manual_seed` gave, or, without, the one that nobody knew before.

    >>> import svod
    >>> svod.manual_seed(7)
    >>> svod.initial_seed(), svod.Generator(3).initial_seed()
    (7, 3)
    """
    return int(get_rng_state()[0])


def multinomial(
    x: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Positions along the last axis, with probabilities in proportion to the weights there, as PyTorch's.

    Weights that are negative, infinite, NaN or all zero are an error where they are known: in memory, when no function
    is traced.

    >>> import svod
    >>> svod.multinomial(svod.Tensor([0.0, 3.0, 0.0]), 2, replacement=True).tolist()
    [1, 1]
    """
    if not replacement and num_samples > x.shape[-1]:
        raise ArgumentError(f"multinomial: {num_samples} of {x.shape[-1]} without replacement")
    weights = known(x)
    if weights is not None:
        weights = weights.astype("float64")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise ArgumentError("multinomial: input: a weight is negative, infinite or NaN")
        if weights.size and not weights.any(-1).all():
            raise ArgumentError("multinomial: input: weights that are all zero")
    if replacement:
        return _by_sums(x.cast(float64), num_samples, generator)
    return (x.cast(float64).log() + _gumbel(x, x.shape, generator)).topk(num_samples, -1).indices


def _by_sums(weights: Tensor, count: int, generator: Generator | None) -> Tensor:
    """Positions in proportion to weights: where a number below their sum is among their running sums.

    Weights become integers, in units of 2**-61 of their sum, whose sums are exact in any order: so no position without
    weight is drawn.
    """
    shares = weights / weights.amax(-1, True)
    sums = (shares / shares.sum(-1, True) * 2.0**61).long().cumsum(-1)
    drawn = rand(*weights.shape[:-1], count, dtype=float64, device=device_of(weights), generator=generator)
    whole = sums[..., -1:]
    places = (drawn * whole.double()).long().minimum(whole - 1)
    return searchsorted(sums, places, right=True)


def normal(
    shape: Shape | Tensor | float | None = None,
    mean: Tensor | float | None = None,
    std: Tensor | float | Shape | None = None,
    size: Shape | None = None,
    *,
    dtype: Any = None,
    device: str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed with this mean and standard deviation, by default 0 and 1.

    PyTorch's form has these first, and `size` last: it is taken where the first argument is a tensor or a float, or a
    size is given. Without a size it is that of the tensors.

    >>> import svod
    >>> svod.normal((2, 3), mean=10.0).shape
    (2, 3)
    >>> svod.normal(0.0, 2.0, (2, 3)).shape, svod.normal(svod.zeros(4), 1.0).shape
    ((2, 3), (4,))
    """
    whole: Any = shape
    given = [one for one in (shape, mean, std, size) if one is not None]
    if (
        size is not None
        or isinstance(std, (list, tuple))
        or _is_mean(shape)
        or (shape is None and (_is_mean(mean) or _is_mean(std)))
    ):
        if shape is not None and mean is not None:
            if std is not None and size is not None:
                raise ArgumentTypeError("normal: shape and size are one argument: give only one of them")
            mean, std, size = shape, mean, size if std is None else std  # type: ignore[assignment]
        else:
            mean = shape if mean is None else mean  # type: ignore[assignment]
        whole = () if size is None else size
        whole = broadcast_shapes(_extents(whole), *map(_shape_of, (mean, std))) if _is_shape(whole) else None
    if whole is None and not given:
        raise ArgumentTypeError("normal: shape: an integer, or several, is expected")
    if not (_is_shape(whole) and all(one is None or _is_number(one) or _is_mean(one) for one in (mean, std))):
        raise ArgumentTypeError(f"normal: shape, mean and std, or mean, std and size, are expected, not {given}")
    mean, std = 0.0 if mean is None else mean, 1.0 if std is None else std
    _expect("normal", "std", std, _is_no_less)
    return randn(_extents(whole), dtype=dtype, device=device, generator=generator) * std + mean


def permutation(x: Any, /, *, axis: int = 0, generator: Generator | None = None) -> Tensor:
    """The slices of an axis in random order; of an integer the integers before it.

    >>> import svod
    >>> svod.permutation(svod.Tensor([3, 1, 2])).sort(0).values.tolist()
    [1, 2, 3]
    """
    if isinstance(x, int) and not isinstance(x, bool):
        return randperm(x, generator=generator)
    slices = _tensor(x)
    return slices.take(randperm(slices.shape[axis], device=device_of(slices), generator=generator), axis)


def poisson(x: Tensor, /, shape: Shape = (), *, dtype: Any = None, generator: Generator | None = None) -> Tensor:
    """Poisson distributed with these means, as floats of their type.

    Small means by counting the times until the next arrivals, others by transformed rejection with squeeze
    (Hörmann 1993, PTRS).

    >>> import svod
    >>> svod.poisson(svod.Tensor([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """
    _expect("poisson", "x", x, _is_no_less)
    whole = broadcast_shapes(_extents(shape), x.shape)
    rate = x.cast(float64).expand(whole)
    drawn = where(
        rate < 10, _poisson_of_few(rate.clamp(0, 10), generator), _poisson_of_many(rate.clamp(min=10), generator)
    )
    kept = x.dtype if x.dtype.is_floating_point else float32
    return where((rate >= 0) & rate.isfinite(), drawn, math.nan).cast(kept if dtype is None else dtype)


def rand_like(
    x: Tensor,
    /,
    *,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Uniformly distributed in [0, 1), in a tensor's shape and type."""
    kind, place = x.dtype if dtype is None else dtype, device_of(x) if device is None else device
    return rand(*x.shape, dtype=kind, device=place, generator=generator, requires_grad=requires_grad)


def randint(
    low: int = 0,
    high: int | Sequence[int] | None = None,
    shape: Shape | None = None,
    *,
    size: Shape | None = None,
    dtype: Any = None,
    device: str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers uniformly distributed from `low` to before `high`; of one bound from 0 to before it.

    >>> import svod
    >>> svod.randint(5, 6, 2).tolist(), svod.randint(1, (2,)).tolist(), svod.randint(1, size=(2,)).tolist()
    ([5, 5], [0, 0], [0, 0])
    """
    if size is not None:
        if shape is not None:
            raise ArgumentTypeError("randint: shape and size are one argument: give only one of them")
        shape = size
    if shape is None:
        if not isinstance(high, Sequence):
            raise ArgumentTypeError("randint: shape: an integer, or several, is expected")
        high, shape = None, high
    if high is None:
        low, high = 0, low
    return _randint(low, high, shape, dtype=dtype, device=device, generator=generator)  # type: ignore[arg-type]


def randint_like(
    x: Tensor,
    low: int,
    high: int | None = None,
    /,
    *,
    dtype: Any = None,
    device: str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers uniformly distributed from `low`, or 0, to before the last argument, in a tensor's shape and type."""
    low, high = (0, low) if high is None else (low, high)
    drawn = _randint(low, high, x.shape, device=device_of(x) if device is None else device, generator=generator)
    return drawn.cast(x.dtype if dtype is None else dtype)


def randn_like(
    x: Tensor,
    /,
    *,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed with mean 0 and deviation 1, in a tensor's shape and type."""
    kind, place = x.dtype if dtype is None else dtype, device_of(x) if device is None else device
    return randn(*x.shape, dtype=kind, device=place, generator=generator, requires_grad=requires_grad)


def randperm(n: int, /, *, dtype: Any = None, device: str | None = None, generator: Generator | None = None) -> Tensor:
    """The integers before `n` in random order, that of as many random numbers.

    >>> import svod
    >>> svod.randperm(4).sort(0).values.tolist()
    [0, 1, 2, 3]
    """
    order = rand(n, dtype=float64, device=device, generator=generator).argsort(0)
    return order if dtype is None else order.cast(dtype)


def truncated_normal(
    shape: Shape,
    lower: float = -2.0,
    upper: float = 2.0,
    *,
    mean: float = 0.0,
    std: float = 1.0,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed between two bounds, which are those of the result: by the inverse of the distribution, in a
    tail by rejection (Robert 1995).

    >>> import svod
    >>> (svod.truncated_normal(100, 0.0, 1.0) >= 0).all().item()
    True
    """
    if not lower < upper:
        raise ArgumentError(f"truncated_normal: the lower bound {lower} is not below the upper one, {upper}")
    if not std > 0:
        raise ArgumentError(f"truncated_normal: std: a deviation above 0 is expected, not {std}")
    dtype = float32 if dtype is None else dtype
    shape, low, high = _extents(shape), (lower - mean) / std, (upper - mean) / std
    if low >= _TAIL:
        drawn = _tail(shape, low, high, generator)
    elif high <= -_TAIL:
        drawn = -_tail(shape, -high, -low, generator)
    else:
        first, last = (math.erf(bound / math.sqrt(2)) for bound in (low, high))
        unit = rand(shape, dtype=float64, generator=generator)
        drawn = erfinv(unit * (last - first) + first) * math.sqrt(2)
    return (drawn * std + mean).clamp(lower, upper).cast(dtype)


def uniform(
    shape: Shape,
    low: Tensor | float = 0.0,
    high: Tensor | float = 1.0,
    *,
    dtype: Any = None,
    device: str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Uniformly distributed in [low, high).

    >>> import svod
    >>> (svod.uniform(100, 2.0, 3.0) >= 2).all().item()
    True
    """
    drawn = rand(_extents(shape), dtype=dtype, device=device, generator=generator) * (high - low) + low
    return _below(drawn, low, high)


# What parameters of distributions have to be: in words, and where numbers are not. NaN is for the result to say.
_is_no_less = ("numbers that are not negative", lambda values: values < 0)
_is_above_zero = ("numbers above 0", lambda values: values <= 0)
_is_probability = ("probabilities from 0 to 1", lambda values: (values < 0) | (values > 1))


def _expect(name: str, parameter: str, given: Any, expected: tuple[str, Callable[[Any], Any]]) -> None:
    """Raises where a parameter is known, in memory when no function is traced, and is not what is expected."""
    values, (words, fails) = known(given) if isinstance(given, Tensor) else np.asarray(given), expected
    if values is None or values.dtype.kind not in "biuf":
        return
    wrong = fails(values)
    if wrong.any():
        raise ArgumentError(f"{name}: {parameter}: {words} are expected, not {values[wrong].reshape(-1)[0]}")


def _below(drawn: Tensor, low: Tensor | float, high: Tensor | float) -> Tensor:
    """Numbers from `low` up to `high`, those that were rounded to `high` the greatest below it."""
    if not drawn.dtype.is_floating_point:
        return drawn
    end = _tensor(high).cast(drawn.dtype)
    last = nextafter(end, _tensor(low).cast(drawn.dtype))
    return where((drawn >= end) & (end > low), last, drawn)


def _is_mean(given: Any) -> bool:
    """Whether it is a mean and no shape."""
    return isinstance(given, (float, np.floating, Tensor)) or (
        isinstance(given, np.ndarray) and given.dtype.kind in "fV"
    )


def _is_shape(given: Any) -> bool:
    """Whether it is an extent, or several."""
    return _is_integer(given) or (isinstance(given, (Sequence, np.ndarray)) and all(map(_is_integer, given)))


def _shape_of(given: Any) -> tuple[Any, ...]:
    """The shape of a mean or a deviation."""
    return tuple(given.shape) if isinstance(given, (Tensor, np.ndarray)) else ()


def _first(taken: Tensor, candidates: Tensor) -> Tensor:
    """The first candidate that was taken, along the first axis; the last one if none was."""
    last = candidates.shape[0] - 1
    chosen = candidates[last]
    for at in reversed(range(last)):
        chosen = where(taken[at], candidates[at], chosen)
    return chosen


def _gumbel(x: Tensor, shape: Sequence[Any], generator: Generator | None) -> Tensor:
    """Gumbel distributed, where a tensor is: `-log(-log(u))`."""
    return -(-(1 - rand(*shape, dtype=float64, device=device_of(x), generator=generator)).log()).log()


# How many deviations from the mean the tails of the normal distribution begin.
_TAIL = 2.0


def _tail(shape: Sequence[Any], low: float, high: float, generator: Generator | None) -> Tensor:
    """Normally distributed between bounds of which the lower one is in the tail: exponentially distributed candidates
    between them, of which more than 0.84 are taken."""
    u = rand(12, *shape, dtype=float64, generator=generator)
    v = 1 - rand(12, *shape, dtype=float64, generator=generator)
    beyond = -(u * math.expm1(-low * (high - low))).log1p() / low
    return _first(v.log() <= -beyond * beyond / 2, beyond) + low


def _log_gamma(alpha: Tensor, generator: Generator | None) -> Tensor:
    """The logarithms of gamma distributed numbers with these means."""
    # Of less than 1 it is a power of a uniform number times that of one more.
    small = alpha < 1
    d = where(small, alpha + 1, alpha) - 1 / 3
    # More than 0.95 of the candidates are taken.
    z = randn(8, *alpha.shape, dtype=float64, device=device_of(alpha), generator=generator)
    u = 1 - rand(8, *alpha.shape, dtype=float64, device=device_of(alpha), generator=generator)
    v = (1 + z / (9 * d).sqrt()) ** 3
    safe = v.clamp(min=1e-300)
    taken = (v > 0) & (u.log() < z * z / 2 + d - d * safe + d * safe.log())
    drawn = (d * _first(taken, safe)).log()
    power = 1 - rand(*alpha.shape, dtype=float64, device=device_of(alpha), generator=generator)
    return where(small, drawn + power.log() / where(small, alpha, 1.0), drawn)


def _binomial_of_few(n: Tensor, p: Tensor, generator: Generator | None) -> Tensor:
    """How many of the probabilities that there are fewer than so many a uniform number exceeds; means up to 10."""
    most = 60  # More have a probability of 1e-27.
    counts = arange(most, dtype=float64).reshape(most, *(1,) * n.ndim)
    logarithms = made_beside(n, [math.lgamma(k + 1) for k in range(most)], float64).reshape(counts.shape)
    others = (n - counts).clamp(min=0)
    # The logarithms of n (n - 1) ..., of so many factors: one of factorials of a large `n` would have no digits left.
    ways = (n - counts + 1).clamp(min=1).log()
    ways = where(counts == 0, 0.0, ways).cumsum(0) - logarithms
    chances = (ways + where(counts == 0, 0.0, counts * p.clamp(min=1e-300).log()) + others * (-p).log1p()).exp()
    reached = where(counts <= n, chances, 0.0).cumsum(0)
    return (
        (rand(*n.shape, dtype=float64, device=device_of(n), generator=generator) >= reached)
        .sum(0)
        .cast(float64)
        .minimum(n)
    )


def _binomial_of_many(n: Tensor, p: Tensor, generator: Generator | None) -> Tensor:
    """Hörmann's BTRS, of which more than 0.8 of the candidates are taken; means from 10, probabilities up to 1/2."""
    u = rand(16, *n.shape, dtype=float64, device=device_of(n), generator=generator) - 0.5
    v = 1 - rand(16, *n.shape, dtype=float64, device=device_of(n), generator=generator)
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    middle = n * p + 0.5
    alpha = (2.83 + 5.1 / b) * spread
    us = 0.5 - u.abs()
    k = ((2 * a / us.clamp(min=1e-300) + b) * u + middle).floor()
    inside = (k >= 0) & (k <= n)
    kept = where(inside, k, 0.0)
    mode = ((n + 1) * p).floor()
    bound = _log_binomial(kept, n, p) - _log_binomial(mode, n, p)
    taken = inside & ((v * alpha / (a / (us * us).clamp(min=1e-300) + b)).log() <= bound)
    return _first(taken & (us > 0), kept)


def _log_binomial(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    """The logarithm of the probability of `k` successes in `n` trials, but for what all `k` have in common: as that of
    two Poisson distributed numbers, of successes and of failures, whose sum is `n`."""
    return _log_poisson(k, n * p) + _log_poisson(n - k, n * (1 - p))


def _poisson_of_few(rate: Tensor, generator: Generator | None) -> Tensor:
    """How many of the probabilities that there are fewer than so many a uniform number exceeds; means up to 10."""
    most = 60  # More have a probability of 1e-27.
    counts = arange(most, dtype=float64).reshape(most, *(1,) * rate.ndim)
    logarithms = made_beside(rate, [math.lgamma(k + 1) for k in range(most)], float64).reshape(counts.shape)
    chances = (where(counts == 0, 0.0, counts * rate.clamp(min=1e-300).log()) - rate - logarithms).exp()
    reached = chances.cumsum(0)
    return (
        (rand(*rate.shape, dtype=float64, device=device_of(rate), generator=generator) >= reached).sum(0).cast(float64)
    )


def _poisson_of_many(rate: Tensor, generator: Generator | None) -> Tensor:
    """Hörmann's PTRS, of which more than 0.8 of the candidates are taken; means from 10."""
    u = rand(16, *rate.shape, dtype=float64, device=device_of(rate), generator=generator) - 0.5
    v = 1 - rand(16, *rate.shape, dtype=float64, device=device_of(rate), generator=generator)
    b = 0.931 + 2.53 * rate.sqrt()
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    us = 0.5 - u.abs()
    k = ((2 * a / us.clamp(min=1e-300) + b) * u + rate + 0.43).floor()
    hat = (v * inverse_alpha / (a / (us * us).clamp(min=1e-300) + b)).log()
    taken = (k >= 0) & (hat <= _log_poisson(k.clamp(min=0), rate))
    return _first(taken & (us > 0), k.clamp(min=0))


def _log_poisson(k: Tensor, rate: Tensor) -> Tensor:
    """The logarithm of the probability of `k`, of a mean from 10: near the mean as how far it is from the greatest one,
    for its terms cancel (Loader 2000)."""
    away = (rate - k) / k.clamp(min=1)
    near = away.abs() < 0.5
    count = where(near, k, 10.0)
    rest = (1 / 12 - (1 / 360 - 1 / 1260 / (count * count)) / (count * count)) / count
    close = -count * _behind_log(where(near, away, 0.0)) - 0.5 * (2 * math.pi * count).log() - rest
    few = where(near, 0.0, k)
    return where(near, close, few * rate.log() - rate - lgamma(few + 1))
