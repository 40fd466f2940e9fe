"""Methods that fill a tensor with random numbers (`x.normal_()`), as PyTorch names them. Types stay."""

from __future__ import annotations

import math
from typing import Any

from svod._place import device_of
from svod._svod import ArgumentError, ArgumentTypeError, Generator, Tensor, _randint, float64, rand, randn
from svod.library.dtypes import iinfo
from svod.library.random import _below

__all__ = ["bernoulli", "cauchy", "exponential", "geometric", "log_normal", "normal", "random", "uniform"]


def bernoulli(x: Tensor, /, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """1 with probability `p`, which may be a tensor, else 0."""
    return _like(x, (_unit(x, generator) < p).expand(*x.shape))


def cauchy(x: Tensor, /, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Cauchy distributed around `median`."""
    return _like(x, median + sigma * (math.pi * (_unit(x, generator) - 0.5)).tan())


def exponential(x: Tensor, /, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Exponentially distributed with mean `1 / lambd`."""
    if lambd <= 0:
        raise ArgumentError(f"exponential_: lambd is above 0, not {lambd}")
    return _like(x, -(-_unit(x, generator)).log1p() / lambd)


def geometric(x: Tensor, /, p: float, *, generator: Generator | None = None) -> Tensor:
    """How many trials that succeed with probability `p` there are up to the first success."""
    if not 0 < p < 1:
        raise ArgumentError(f"geometric_: p is between 0 and 1, not {p}")
    return _like(x, ((-_unit(x, generator)).log1p() / math.log1p(-p)).floor() + 1)


def log_normal(x: Tensor, /, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
    """Exponentials of normally distributed numbers."""
    return _like(x, (mean + std * randn(*x.shape, dtype=float64, device=device_of(x), generator=generator)).exp())


def normal(x: Tensor, /, mean: Any = 0, std: Any = 1, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed."""
    return _like(x, mean + std * randn(*x.shape, dtype=float64, device=device_of(x), generator=generator))


def random(
    x: Tensor,
    /,
    *bounds: int,
    low: int | None = None,
    to: int | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers below `to`, or from `low` up to it: `x.random_(5)`, `x.random_(2, 5)`.

    By default all that the type holds from 0 on, of floats those that it holds exactly.
    """
    if len(bounds) > 2 or (bounds and to is not None) or (len(bounds) == 2 and low is not None):
        raise ArgumentTypeError("random_: one bound is `to`, and two are `low` and `to`: give each of them once")
    if bounds:
        *first, to = bounds
        low = first[0] if first else low
    low = 0 if low is None else low
    if to is None:
        width = {2: 11, 4: 24, 8: 53}
        is_float = x.dtype.is_floating_point
        to = (
            2 ** width[x.dtype.itemsize] + 1 if is_float else min(iinfo(x.dtype).max, 2**62) if x.dtype != "bool" else 2
        )
    if to <= low:
        raise ArgumentError(f"random_: to is above {low}, not {to}")
    return _like(x, _randint(low, to, x.shape, device=device_of(x), generator=generator))


def uniform(x: Tensor, /, low: float = 0, to: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Uniformly distributed from `low` up to `to`."""
    if to < low:
        raise ArgumentError(f"uniform_: to is not below {low}, not {to}")
    return _below(_like(x, low + (to - low) * _unit(x, generator)), low, to)


def _unit(x: Tensor, generator: Generator | None) -> Tensor:
    """Numbers from 0 to 1 in double precision, one for each element."""
    return rand(*x.shape, dtype=float64, device=device_of(x), generator=generator)


def _like(x: Tensor, drawn: Tensor) -> Tensor:
    """What is drawn, in the type of the tensor."""
    return drawn.cast(x.dtype)
