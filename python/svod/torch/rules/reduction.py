"""Reductions, scans, and what is sorted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import svod
from svod.torch._table import PROMOTION, Call, Unsupported, aten

Dims = Sequence[int] | int | None


def _dims(x: svod.Tensor, dim: Dims) -> tuple[int, ...]:
    """The axes that are named: all of them if none is."""
    if dim is None or (not isinstance(dim, int) and not dim):
        return tuple(range(x.ndim))
    return tuple(at % max(x.ndim, 1) for at in ((dim,) if isinstance(dim, int) else dim)) if x.ndim else ()


@aten("sum", "sum.dim_IntList", call=True)
def sum(call: Call, x: svod.Tensor, dim: Dims = None, keepdim: bool = False, **_: Any) -> svod.Tensor:
    dims = _dims(x, dim)
    return x.cast(call.dtype).sum(dims, keepdim) if dims else x


@aten("mean", "mean.dim", call=True)
def mean(call: Call, x: svod.Tensor, dim: Dims = None, keepdim: bool = False, **_: Any) -> svod.Tensor:
    dims = _dims(x, dim)
    return x.cast(call.dtype).mean(dims, keepdim) if dims else x


@aten("prod", "prod.dim_int", call=True)
def prod(call: Call, x: svod.Tensor, dim: Dims = None, keepdim: bool = False, **_: Any) -> svod.Tensor:
    dims = _dims(x, dim)
    return x.cast(call.dtype).prod(dims, keepdim) if dims else x


@aten("amax")
def amax(x: svod.Tensor, dim: Dims = None, keepdim: bool = False) -> svod.Tensor:
    dims = _dims(x, dim)
    return x.amax(dims, keepdim) if dims else x


@aten("amin")
def amin(x: svod.Tensor, dim: Dims = None, keepdim: bool = False) -> svod.Tensor:
    dims = _dims(x, dim)
    return x.amin(dims, keepdim) if dims else x


@aten("any", "any.dim", "any.dims")
def any_(x: svod.Tensor, dim: Dims = None, keepdim: bool = False) -> svod.Tensor:
    dims = _dims(x, dim)
    return (x != 0).any(dims, keepdim) if dims else x != 0


@aten("all", "all.dim", "all.dims")
def all_(x: svod.Tensor, dim: Dims = None, keepdim: bool = False) -> svod.Tensor:
    dims = _dims(x, dim)
    return (x != 0).all(dims, keepdim) if dims else x != 0


@aten("max")
def max_(x: svod.Tensor) -> svod.Tensor:
    return x.amax(_dims(x, None)) if x.ndim else x


@aten("min")
def min_(x: svod.Tensor) -> svod.Tensor:
    return x.amin(_dims(x, None)) if x.ndim else x


@aten("max.dim")
def max_dim(x: svod.Tensor, dim: int, keepdim: bool = False) -> tuple[svod.Tensor, svod.Tensor]:
    return _extremum(x, dim, keepdim, svod.Tensor.max)


@aten("min.dim")
def min_dim(x: svod.Tensor, dim: int, keepdim: bool = False) -> tuple[svod.Tensor, svod.Tensor]:
    return _extremum(x, dim, keepdim, svod.Tensor.min)


def _extremum(x: svod.Tensor, dim: int, keepdim: bool, method: Callable[..., Any]) -> tuple[svod.Tensor, svod.Tensor]:
    if not x.ndim:
        return x, svod.zeros((), dtype=svod.int64)
    values, indices = method(x, dim, keepdim)
    return values, indices


@aten("argmax")
def argmax(x: svod.Tensor, dim: int | None = None, keepdim: bool = False) -> svod.Tensor:
    return x.argmax(dim, keepdim)


@aten("argmin")
def argmin(x: svod.Tensor, dim: int | None = None, keepdim: bool = False) -> svod.Tensor:
    return x.argmin(dim, keepdim)


@aten("var.correction")
def var(x: svod.Tensor, dim: Dims = None, correction: Any = None, keepdim: bool = False) -> svod.Tensor:
    return _variance(x, _dims(x, dim), correction, keepdim)


@aten("std.correction")
def std(x: svod.Tensor, dim: Dims = None, correction: Any = None, keepdim: bool = False) -> svod.Tensor:
    return _variance(x, _dims(x, dim), correction, keepdim).sqrt()


@aten("var_mean.correction")
def var_mean(
    x: svod.Tensor, dim: Dims = None, correction: Any = None, keepdim: bool = False
) -> tuple[svod.Tensor, svod.Tensor]:
    dims = _dims(x, dim)
    return _variance(x, dims, correction, keepdim), x.mean(dims, keepdim)


def _variance(x: svod.Tensor, dims: tuple[int, ...], correction: Any, keepdim: bool) -> svod.Tensor:
    return x.var(dims, correction=1 if correction is None else correction, keepdim=keepdim)


@aten("logsumexp", promotion=PROMOTION.INT_TO_FLOAT)
def logsumexp(x: svod.Tensor, dim: Dims, keepdim: bool = False) -> svod.Tensor:
    return x.logsumexp(_dims(x, dim), keepdim)


@aten("linalg_vector_norm", call=True)
def vector_norm(
    call: Call, x: svod.Tensor, ord: Any = 2, dim: Dims = None, keepdim: bool = False, **_: Any
) -> svod.Tensor:
    found: svod.Tensor = x.abs().cast(call.dtype)._norm(ord, _dims(x, dim), keepdim=keepdim)
    return found


@aten("cumsum", call=True)
def cumsum(call: Call, x: svod.Tensor, dim: int, **_: Any) -> svod.Tensor:
    return x.cast(call.dtype).cumsum(dim) if x.ndim else x


@aten("cumprod", call=True)
def cumprod(call: Call, x: svod.Tensor, dim: int, **_: Any) -> svod.Tensor:
    return x.cast(call.dtype).cumprod(dim) if x.ndim else x


@aten("sort", "sort.stable")
def sort(
    x: svod.Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None
) -> tuple[svod.Tensor, svod.Tensor]:
    if not x.ndim:
        return x, svod.zeros((), dtype=svod.int64)
    values, indices = x.sort(dim, descending)
    return values, indices


@aten("argsort", "argsort.stable")
def argsort(x: svod.Tensor, *given: Any, dim: int = -1, descending: bool = False, **_: Any) -> svod.Tensor:
    if given:
        raise Unsupported("argsort with its options by position")
    return x.argsort(dim, descending)


@aten("topk")
def topk(
    x: svod.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[svod.Tensor, svod.Tensor]:
    if not x.ndim:
        return x, svod.zeros((), dtype=svod.int64)
    values, indices = x.topk(k, dim, largest)
    return values, indices


@aten("_softmax", call=True)
def softmax(call: Call, x: svod.Tensor, dim: int, half_to_float: bool) -> svod.Tensor:
    return x.cast(call.dtype).softmax(dim) if x.ndim else svod.ones((), dtype=call.dtype)


@aten("_log_softmax", call=True)
def log_softmax(call: Call, x: svod.Tensor, dim: int, half_to_float: bool) -> svod.Tensor:
    return x.cast(call.dtype).log_softmax(dim) if x.ndim else svod.zeros((), dtype=call.dtype)


@aten("logcumsumexp")
def logcumsumexp(x: svod.Tensor, dim: int) -> svod.Tensor:
    return svod.logcumsumexp(x, dim) if x.ndim else x
