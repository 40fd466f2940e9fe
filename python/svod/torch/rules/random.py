"""Random numbers: others in each run, from a key that PyTorch's generator draws for the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import svod
from svod.library import draws
from svod.torch._table import Call, aten


@aten("rand", "rand_like", call=True)
def rand(call: Call, *_: Any, **__: Any) -> svod.Tensor:
    return svod.rand(call.shape, dtype=call.dtype)


@aten("randn", "randn_like", call=True)
def randn(call: Call, *_: Any, **__: Any) -> svod.Tensor:
    return svod.randn(call.shape, dtype=call.dtype)


@aten("randint", call=True)
def randint(call: Call, high: int, *_: Any, **__: Any) -> svod.Tensor:
    return svod.randint(0, high, call.shape).cast(call.dtype)


@aten("randint.low", "randint_like.low_dtype", call=True)
def randint_low(call: Call, *given: Any, **__: Any) -> svod.Tensor:
    low, high = [number for number in given if isinstance(number, int)][:2]
    return svod.randint(low, high, call.shape).cast(call.dtype)


@aten("bernoulli.p", call=True)
def bernoulli(call: Call, x: svod.Tensor, p: float = 0.5, **_: Any) -> svod.Tensor:
    return (svod.rand(call.shape) < p).cast(call.dtype)


@aten("bernoulli", call=True)
def bernoulli_of(call: Call, x: svod.Tensor, **_: Any) -> svod.Tensor:
    return (svod.rand(call.shape) < x).cast(call.dtype)


@aten("native_dropout", call=True)
def dropout(call: Call, x: svod.Tensor, p: float, train: bool | None) -> tuple[svod.Tensor, svod.Tensor]:
    if train is False or p == 0:
        return x, svod.ones(call.shape, dtype=svod.bool)
    kept = svod.rand(call.shape) >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return svod.where(kept, x * scale, 0), kept


@aten("uniform", call=True)
def uniform(call: Call, x: svod.Tensor, low: float = 0, high: float = 1, **_: Any) -> svod.Tensor:
    return svod.rand(call.shape, dtype=call.dtype) * (high - low) + low


@aten("normal_functional", "normal.float_float", call=True)
def normal(call: Call, *given: Any, **_: Any) -> svod.Tensor:
    numbers: Sequence[float] = [number for number in given if isinstance(number, (int, float))]
    mean, deviation = [*numbers, *(0.0, 1.0)[len(numbers) :]]
    return svod.randn(call.shape, dtype=call.dtype) * deviation + mean


@aten("normal.Tensor_Tensor", "normal.Tensor_float", "normal.float_Tensor", call=True)
def normal_of(call: Call, mean: Any, deviation: Any = 1.0, **_: Any) -> svod.Tensor:
    drawn: svod.Tensor = svod.randn(call.shape, dtype=call.dtype) * deviation + mean
    return drawn


def _drawn(function: Callable[..., svod.Tensor]) -> Callable[..., svod.Tensor]:
    return lambda x, *parameters, **_: function(x, *parameters)


for _name in ("cauchy", "exponential", "geometric", "log_normal"):
    aten(_name)(_drawn(getattr(draws, _name)))


@aten("randperm", call=True)
def randperm(call: Call, *_: Any, **__: Any) -> svod.Tensor:
    return svod.rand(call.shape, dtype=svod.float64).argsort(0)


@aten("multinomial")
def multinomial(x: svod.Tensor, count: int, replacement: bool = False, **_: Any) -> svod.Tensor:
    return svod.multinomial(x, count, replacement)
