"""Folds by the names of PyTorch and NumPy: without NaN, several at once, quantiles, of weights."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from svod._place import known
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    ShapeError,
    Tensor,
    ValuesAndIndices,
    _tensor,
    arange,
    cat,
    complex,
    full,
    where,
)
from svod.library._axes import axis_of
from svod.library._spelling import beside
from svod.library.manipulation import _one_slice

__all__ = [
    "aminmax",
    "average",
    "corrcoef",
    "cov",
    "hash_tensor",
    "mode",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "norm",
    "percentile",
    "ptp",
    "quantile",
    "std_mean",
    "var_mean",
]

Axis = int | Sequence[int] | None


class MinMax(NamedTuple):
    """The least and the greatest elements: `least, greatest = x.aminmax()`."""

    min: Tensor
    max: Tensor


def aminmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> MinMax:
    """The least and the greatest elements along an axis, or of all, as `min` and `max` of a pair.

    >>> import svod
    >>> [part.tolist() for part in svod.aminmax(svod.Tensor([[1, 5], [3, 2]]), axis=1)]
    [[1, 2], [5, 3]]
    """
    return MinMax(x.amin(axis, keepdims), x.amax(axis, keepdims))


def average(
    x: Tensor, /, axis: int | None = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """The mean, each element as often as its weight says; weights of one dimension are those of the axis. With
    `returned`, the mean and the sum of weights.

    >>> import svod
    >>> svod.average(svod.Tensor([1.0, 3.0]), weights=[3, 1]).item()
    1.5
    """
    x = _as_floats(x)
    if weights is None:
        mean = x.mean(axis, keepdims)
        return (mean, x.ones_like().sum(axis, keepdims)) if returned else mean
    by = beside(weights, [x]).cast(x.dtype)
    if by.shape != x.shape:
        if axis is None or by.ndim != 1 or by.shape[0] != x.shape[axis]:
            raise ShapeError(f"average: weights of shape {by.shape} are those of no axis of {x.shape}")
        by = by.reshape(*(-1 if one == axis % x.ndim else 1 for one in range(x.ndim)))
    total = by.expand(*x.shape).sum(axis, keepdims)
    mean = (x * by).sum(axis, keepdims) / total
    return (mean, total) if returned else mean


def corrcoef(x: Tensor, y: Tensor | None = None, /, *, rowvar: bool = True) -> Tensor:
    """The correlation coefficients of the rows of a matrix, and of `y`, which are behind them; without `rowvar` those
    of columns. Of one row 1.

    >>> import svod
    >>> svod.corrcoef(svod.Tensor([[1.0, 2.0], [4.0, 2.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    x = (x.mT if x.ndim == 2 and not rowvar else x) if y is None else _rows("corrcoef", x, y, rowvar)
    matrix = cov(x)
    if matrix.ndim == 0:
        return matrix / matrix
    # Of which only the diagonal is kept, and rounding is not.
    deviation = (x - x.mean(1, True)).abs().square().sum(1).div(x.shape[1] - 1).sqrt()
    made = matrix / deviation.unsqueeze(-1) / deviation
    return complex(made.real.clamp(-1, 1), made.imag.clamp(-1, 1)) if made.dtype.is_complex else made.clamp(-1, 1)


def _rows(name: str, x: Tensor, y: Tensor | None, rowvar: bool) -> Tensor:
    """The rows of a matrix, whose columns are observations, and behind them those of another one."""
    if x.ndim > 2 or (y is not None and y.ndim > 2):
        raise ShapeError(f"{name}: a matrix is expected, not shape {(x if x.ndim > 2 or y is None else y).shape}")
    parts = [(one if rowvar else one.mT) if one.ndim == 2 else one.reshape(1, -1) for one in (x, y) if one is not None]
    if len({one.shape[1] for one in parts}) > 1:
        raise ShapeError(f"{name}: y: {parts[0].shape[1]} observations are expected, not {parts[1].shape[1]}")
    return parts[0] if y is None else cat(parts, 0)


def cov(
    x: Tensor,
    y: Tensor | None = None,
    /,
    *,
    correction: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
) -> Tensor:
    """The covariances of the rows of a matrix, whose columns are observations, and of `y`, which are behind them.

    There are so many of each, `fweights`, of this importance, `aweights`. The divisor is their number without
    `correction`, or `ddof`: 1, and 0 with `bias`. Without `rowvar` rows are observations. Of one row the variance.

    >>> import svod
    >>> svod.cov(svod.Tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    if correction is not None and ddof is not None:
        raise ArgumentTypeError("cov: correction and ddof are one argument: give only one of them")
    correction = next((one for one in (correction, ddof) if one is not None), 0 if bias else 1)
    x = rows = _as_floats(_rows("cov", x, y, rowvar))
    for what, weights in (("fweights", fweights), ("aweights", aweights)):
        shape = None if weights is None else _tensor(weights).shape
        if shape is not None and shape not in ((), rows.shape[1:]):
            raise ShapeError(
                f"cov: {what}: one for each of {rows.shape[1]} observations is expected, not {tuple(shape)}"
            )
    if fweights is not None and _tensor(fweights).dtype.is_floating_point:
        raise DTypeError(f"cov: fweights: numbers of times are expected, integers, not {_tensor(fweights).dtype}")
    kind = (x.real if x.is_complex() else x).dtype
    given = [beside(one, [x]).cast(kind) for one in (fweights, aweights) if one is not None]
    if not given:
        count: Any = rows.shape[1]
        centred = rows - rows.mean(1, True)
        weighted, divisor = centred, max(count - correction, 0)
    else:
        weight = given[0] if len(given) == 1 else given[0] * given[1]
        total = weight.sum()
        centred = rows - (rows * weight).sum(1, True) / total
        beyond: Any = correction if aweights is None else correction * (weight * given[-1]).sum() / total
        weighted, divisor = centred * weight, (total - beyond).clamp(min=0)
    made = weighted.matmul(centred.mT.conj())
    made = made / divisor if given or divisor else made * math.inf
    return made if made.shape != (1, 1) else made.reshape(())


def hash_tensor(
    x: Tensor, /, axis: int | Sequence[int] | None = None, *, keepdims: bool = False, mode: int = 0
) -> Tensor:
    """The exclusive or of the elements' bits along axes, `uint64`: floats as `float64` has them, integers as `int64`.

    >>> import svod
    >>> svod.hash_tensor(svod.Tensor([1, 2, 4])).item()
    7
    """
    if mode:
        raise ArgumentError(f"hash_tensor: mode: 0 is the only one, not {mode!r}")
    if x.dtype.is_complex:
        raise DTypeError(f"hash_tensor: real numbers are expected, not {x.dtype}")
    floats = x.dtype.is_floating_point
    bits = x.cast("float64").bitcast("uint64") if floats else x.cast("int64").cast("uint64")
    # Two counters in a word, 32 bits apart: whether a bit is set an odd number of times is their lowest one.
    pair = (1 << 32) + 1
    odd = [((bits >> at) & pair).sum(axis, keepdims) & pair for at in range(32)]
    return functools.reduce(lambda a, b: a | b, [one << at for at, one in enumerate(odd)])


def mode(x: Tensor, /, dim: int | None = None, keepdims: bool = False, *, axis: int | None = None) -> Any:
    """The value that occurs most often along an axis, by default the last; of several the least.

    PyTorch's pair of values and where they are last; with `axis`, values.

    >>> import svod
    >>> [part.item() for part in svod.mode(svod.Tensor([3, 1, 3, 1, 2]))]
    [1, 3]
    >>> svod.mode(svod.Tensor([[3, 1], [3, 2]]), axis=0).tolist()
    [3, 1]
    """
    along = _along("mode", axis, dim)
    found = _mode(x, -1 if along is None else along, keepdims)
    return found if axis is None else found.values


def _along(name: str, axis: int | None, dim: int | None) -> int | None:
    """The axis by either name."""
    if axis is not None and dim is not None:
        raise ArgumentTypeError(f"{name}: axis and dim are one argument: give only one of them")
    return dim if axis is None else axis


def _mode(x: Tensor, axis: int, keepdims: bool) -> ValuesAndIndices:
    """The value that occurs most often along an axis, and where it occurs last."""
    if x.ndim == 0:
        return ValuesAndIndices(x.clone(), Tensor(0))
    if x.movedim(axis, -1).shape[-1] == 0:
        raise ShapeError(f"mode: dimension {axis} of {x.shape} is empty")
    x = x.movedim(axis, -1)
    found = x.sort(-1)
    at = arange(x.shape[-1])
    begins = (at == 0) | (found.values != found.values.roll(1, axis=-1))
    length = at - where(begins, at, 0).cummax(-1).values
    last = length.argmax(-1, True)
    parts = [part.gather(-1, last) for part in (found.values, found.indices)]
    values, indices = (part.movedim(-1, axis) if keepdims else part.squeeze(-1) for part in parts)
    return ValuesAndIndices(values, indices)


def nanargmax(x: Tensor, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the greatest element that is not NaN is first along an axis, by default in the flat tensor; -1 where there
    is none.

    >>> import svod
    >>> svod.nanargmax(svod.Tensor([1.0, svod.nan, 3.0])).item()
    2
    """
    return _extreme_at(x, "argmax", -math.inf, axis, keepdims)


def nanargmin(x: Tensor, /, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Where the least element that is not NaN is first along an axis, by default in the flat tensor; -1 where there is
    none.

    >>> import svod
    >>> svod.nanargmin(svod.Tensor([svod.nan, 1.0, 3.0])).item()
    1
    """
    return _extreme_at(x, "argmin", math.inf, axis, keepdims)


def nanmax(
    x: Tensor, /, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Tensor | None = None
) -> Tensor:
    """The greatest element that is not NaN along axes, by default of all; NaN where all are.

    Of those elements that `where` takes, and `initial`, as `max`.

    >>> import svod
    >>> svod.nanmax(svod.Tensor([1.0, svod.nan])).item()
    1.0
    """
    return _extreme(x, "amax", -math.inf, axis, keepdims, initial, where)


def nanmean(x: Tensor, /, axis: Axis = None, keepdims: bool = False, *, where: Tensor | None = None) -> Tensor:
    """The mean of the elements that are not NaN along axes, by default of all; NaN where all are.

    Of those elements that `where` takes, as `mean`.

    >>> import svod
    >>> svod.nanmean(svod.Tensor([1.0, svod.nan, 3.0])).item()
    2.0
    """
    x = _as_floats(x)
    return x.mean(axis, keepdims, where=_are_numbers(x, where))


def nanmedian(x: Tensor, /, dim: int | None = None, keepdims: bool = False, *, axis: int | None = None) -> Any:
    """The middle element, the lower one of two, of those that are not NaN.

    Of all elements, or with `dim`, by name or position, PyTorch's pair of values along it and where they are; with
    `axis`, values.

    >>> import svod
    >>> svod.nanmedian(svod.Tensor([4.0, svod.nan, 1.0, 3.0])).item()
    3.0
    """
    along = _along("nanmedian", axis, dim)
    found = _nanmedian(x, along, keepdims)
    return found if axis is None else found.values


def _nanmedian(x: Tensor, axis: int | None, keepdims: bool) -> Any:
    """The middle element of those that are not NaN; with an axis, where it is too."""
    flat, along = (x.reshape(-1), 0) if axis is None else (x, axis)
    if axis is None and flat.numel() == 0 and x.dtype.is_floating_point:
        return full((1,) * x.ndim if keepdims else (), math.nan, dtype=x.dtype)
    if flat.ndim and flat.size(along) == 0:
        raise ArgumentError(f"nanmedian: no element along axis {along} of {x.dtype.name}{list(x.shape)}")
    if flat.ndim == 0:
        return ValuesAndIndices(x.clone(), Tensor(0))
    found = flat.sort(along)
    count = (~flat.isnan()).sum(along, True) if flat.dtype.is_floating_point else flat.size(along)
    middle = ((count - 1) // 2).clamp(min=0) if isinstance(count, Tensor) else Tensor([max(count - 1, 0) // 2])
    middle = middle.expand(*_one_slice(flat, along))
    values, indices = (part.gather(along, middle) for part in (found.values, found.indices))
    if axis is None:
        return values.reshape((1,) * x.ndim if keepdims else ())
    parts = [part if keepdims else part.squeeze(along) for part in (values, indices)]
    return ValuesAndIndices(*parts)


def nanmin(
    x: Tensor, /, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Tensor | None = None
) -> Tensor:
    """The least element that is not NaN along axes, by default of all; NaN where all are.

    Of those elements that `where` takes, and `initial`, as `min`.

    >>> import svod
    >>> svod.nanmin(svod.Tensor([1.0, svod.nan])).item()
    1.0
    """
    return _extreme(x, "amin", math.inf, axis, keepdims, initial, where)


def nanpercentile(x: Tensor, q: Any, /, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """As `percentile`, of the elements that are not NaN.

    >>> import svod
    >>> svod.nanpercentile(svod.Tensor([1.0, svod.nan, 2.0]), 50).item()
    1.5
    """
    _check_parts("nanpercentile", q, 100)
    return _quantile("nanpercentile", x, _parts(q, x) / 100, axis, keepdims, method, without_nan=True)


def nanprod(
    x: Tensor, /, axis: Axis = None, keepdims: bool = False, *, initial: Any = None, where: Tensor | None = None
) -> Tensor:
    """The product of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, and `initial`, as `prod`.

    >>> import svod
    >>> svod.nanprod(svod.Tensor([2.0, svod.nan, 3.0])).item()
    6.0
    """
    return _without_nan(x, 1).prod(axis, keepdims, initial=initial, where=where)


def nanquantile(
    x: Tensor, q: Any, /, axis: Axis = None, keepdims: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """As `quantile`, of the elements that are not NaN.

    >>> import svod
    >>> svod.nanquantile(svod.Tensor([1.0, svod.nan, 2.0]), 0.5).item()
    1.5
    """
    _check_parts("nanquantile", q, 1)
    return _quantile("nanquantile", x, q, axis, keepdims, interpolation, without_nan=True)


def nanstd(
    x: Tensor, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, where: Tensor | None = None
) -> Tensor:
    """The deviation of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, as `std`.

    >>> import svod
    >>> svod.nanstd(svod.Tensor([1.0, svod.nan, 3.0])).item()
    1.0
    """
    return _spread(x, "std", axis, correction, keepdims, where)


def nansum(
    x: Tensor,
    /,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    dtype: Any = None,
    initial: Any = None,
    where: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, and `initial`, as `sum`.

    >>> import svod
    >>> svod.nansum(svod.Tensor([1.0, svod.nan])).item()
    1.0
    """
    return _without_nan(x, 0).sum(axis, keepdims, dtype=dtype, initial=initial, where=where)


def nanvar(
    x: Tensor, /, axis: Axis = None, *, correction: float = 0, keepdims: bool = False, where: Tensor | None = None
) -> Tensor:
    """The variance of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, as `var`; NaN where these are not more than `correction`.

    >>> import svod
    >>> svod.nanvar(svod.Tensor([1.0, svod.nan, 3.0])).item()
    1.0
    """
    return _spread(x, "var", axis, correction, keepdims, where)


def percentile(x: Tensor, q: Any, /, axis: Axis = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    """As `quantile`, of `q` in percent.

    >>> import svod
    >>> svod.percentile(svod.Tensor([1.0, 2.0, 3.0]), 50).item()
    2.0
    """
    _check_parts("percentile", q, 100)
    return _quantile("percentile", x, _parts(q, x) / 100, axis, keepdims, method, without_nan=False)


def ptp(x: Tensor, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """How far the greatest element is from the least, along axes, by default of all.

    >>> import svod
    >>> svod.ptp(svod.Tensor([1, 7, 3])).item()
    6
    """
    return x.amax(axis, keepdims) - x.amin(axis, keepdims)


def norm(
    x: Tensor, /, p: float | str | None = "fro", axis: Axis = None, keepdims: bool = False, dtype: Any = None
) -> Tensor:
    """The `p`-norm along axes, by default of all elements; "fro" is 2, "nuc" the sum of a matrix's singular values.

    >>> import svod
    >>> svod.norm(svod.Tensor([3.0, 4.0])).item()
    5.0
    """
    x = x if dtype is None else x.cast(dtype)
    if p == "nuc":
        from svod.linalg import matrix_norm

        return matrix_norm(x, "nuc", keepdim=keepdims, dim=(-2, -1) if axis is None else axis)
    if p is None or p == "fro":
        p = 2.0
    if isinstance(p, str):
        raise ArgumentError(f"norm: p is a number, 'fro' or 'nuc', not {p!r}")
    found: Tensor = x._norm(p, axis, keepdims)
    return found


def quantile(
    x: Tensor, q: Any, /, axis: Axis = None, keepdims: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The values below which parts `q`, from 0 to 1, of the elements along axes, or of all, are.

    Several are along a new first dimension. Between two elements by `interpolation`, or `method`: "linear",
    "lower", "higher", "nearest", "midpoint", or another one that NumPy has, such as "median_unbiased".

    >>> import svod
    >>> svod.quantile(svod.Tensor([1.0, 2.0, 4.0]), [0.5, 0.75]).tolist()
    [2.0, 3.0]
    """
    _check_parts("quantile", q, 1)
    return _quantile("quantile", x, q, axis, keepdims, interpolation, without_nan=False)


def std_mean(
    x: Tensor,
    /,
    axis: Axis | bool = None,
    unbiased: bool | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The deviation and the mean along axes, by default of all. Squares are divided by the number of elements without
    `correction`, by default 1; PyTorch's former `unbiased`, which may stand in the place of axes, is 1, or 0 if false.

    >>> import svod
    >>> [part.item() for part in svod.std_mean(svod.Tensor([1.0, 2.0, 3.0]))]
    [1.0, 2.0]
    """
    axis, by = _corrected("std_mean", axis, unbiased, correction)
    return x.std(axis, correction=by, keepdim=keepdims), x.mean(axis, keepdims)


def var_mean(
    x: Tensor,
    /,
    axis: Axis | bool = None,
    unbiased: bool | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean along axes, by default of all. Squares are divided by the number of elements without
    `correction`, by default 1; PyTorch's former `unbiased`, which may stand in the place of axes, is 1, or 0 if false.

    >>> import svod
    >>> [part.item() for part in svod.var_mean(svod.Tensor([1.0, 2.0, 3.0]))]
    [1.0, 2.0]
    """
    axis, by = _corrected("var_mean", axis, unbiased, correction)
    return x.var(axis, correction=by, keepdim=keepdims), x.mean(axis, keepdims)


def _corrected(name: str, axis: Axis | bool, unbiased: bool | None, correction: float | None) -> tuple[Axis, float]:
    """Axes, and by how much less than the number of elements a sum of squares is divided."""
    if isinstance(axis, bool) and unbiased is None:
        axis, unbiased = None, axis
    if unbiased is not None and correction is not None:
        raise ArgumentTypeError(f"{name}: correction and unbiased are one argument: give only one of them")
    return axis, (1 if correction is None else correction) if unbiased is None else int(unbiased)


def _as_floats(x: Tensor) -> Tensor:
    """The tensor, where it holds integers of the default float."""
    return x if x.dtype.is_floating_point or x.is_complex() else x.float()


def _without_nan(x: Tensor, other: int) -> Tensor:
    """Another number in place of NaN."""
    return where(x.isnan(), other, x) if x.dtype.is_floating_point or x.is_complex() else x


def _are_numbers(x: Tensor, taken: Tensor | None) -> Tensor:
    """Where floats are not NaN, of those that are taken."""
    numbers = ~x.isnan()
    return numbers if taken is None else numbers & taken


def _spread(x: Tensor, fold: str, axis: Axis, correction: float, keepdims: bool, taken: Tensor | None) -> Tensor:
    """The deviation or variance of the elements that are taken and not NaN."""
    x = _as_floats(x)
    numbers = _are_numbers(x, taken)
    made = getattr(x, fold)(axis, correction=correction, keepdims=keepdims, where=numbers)
    return where(numbers.sum(axis, keepdims) > correction, made, math.nan)


def _extreme(
    x: Tensor, fold: str, other: float, axis: Axis, keepdims: bool, initial: Any, taken: Tensor | None
) -> Tensor:
    """The greatest or least element but NaN, of those that are taken and an initial value."""
    if not x.dtype.is_floating_point or (initial is None and taken is not None):
        found: Tensor = getattr(x, fold)(axis, keepdims, initial=initial, where=taken)
        return found
    numbers = _are_numbers(x, taken)
    start = None if initial is None else beside(initial, (x,)).cast(x.dtype)
    # NaN is an initial value only where there is no other.
    least = None if start is None else where(start.isnan(), other, start)
    found = getattr(where(numbers, x, other), fold)(axis, keepdims, initial=least)
    return where(numbers.any(axis, keepdims), found, math.nan if start is None else start)


# How far a quantile is from the element below it, as a part of the way to the one above: by where it is between them,
# and by the number of the one below.
_BETWEEN: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "linear": lambda part, _: part,
    "lower": lambda part, _: part * 0,
    "higher": lambda part, _: (part > 0).cast(part.dtype),
    "nearest": lambda part, _: part,
    "midpoint": lambda part, _: where(part > 0, 0.5, 0.0),
    "inverted_cdf": lambda part, _: (part > 0).cast(part.dtype),
    "averaged_inverted_cdf": lambda part, _: where(part > 0, 1.0, 0.5),
    "closest_observation": lambda part, below: ((part > 0) | (below % 2 == 0)).cast(part.dtype),
    "interpolated_inverted_cdf": lambda part, _: part,
    "hazen": lambda part, _: part,
    "weibull": lambda part, _: part,
    "median_unbiased": lambda part, _: part,
    "normal_unbiased": lambda part, _: part,
}
# Where the quantile q of n elements is, if not at (n - 1) q: at n q + a + q b (Hyndman and Fan 1996).
_PLACES = {
    "inverted_cdf": (-1.0, 0.0),
    "averaged_inverted_cdf": (-1.0, 0.0),
    "closest_observation": (-1.5, 0.0),
    "interpolated_inverted_cdf": (-1.0, 0.0),
    "hazen": (-0.5, 0.0),
    "weibull": (-1.0, 1.0),
    "median_unbiased": (-2 / 3, 1 / 3),
    "normal_unbiased": (-5 / 8, 1 / 4),
}


def _parts(q: Any, x: Tensor) -> Tensor:
    """Parts of a whole, beside a tensor: numbers as Python has them, which have more digits than the default float."""
    if isinstance(q, Tensor):
        return q.cast("float64")
    parts = Tensor(q, "float64")
    # A number is where it is needed.
    return parts.to(x.device) if parts.ndim and isinstance(x.device, str) else parts


def _check_parts(name: str, q: Any, most: int) -> None:
    """Says which parts of a whole there are not, as far as their values are known."""
    values = known(q) if isinstance(q, Tensor) else np.asarray(q)
    if values is not None and values.dtype.kind in "biuf" and not ((values >= 0) & (values <= most)).all():
        raise ArgumentError(f"{name}: q is from 0 to {most}, not {q if values.ndim == 0 else values.tolist()}")


def _quantile(
    name: str, x: Tensor, q: Any, axis: Axis, keepdims: bool, interpolation: str, without_nan: bool
) -> Tensor:
    """Quantiles along an axis, or of all elements."""
    if interpolation not in _BETWEEN:
        raise ArgumentError(f"{name}: interpolation is one of {[*_BETWEEN]}, not {interpolation!r}")
    if x.dtype.is_complex:
        raise DTypeError(f"{name}: real numbers are expected, not {x.dtype.name}")
    if isinstance(axis, Sequence):
        axes = tuple(axis_of(name, one, x.ndim) for one in axis)
        if len(set(axes)) < len(axes):
            raise ArgumentError(f"{name}: an axis of {tuple(axis)} is there twice")
        rest = [one for one in range(x.ndim) if one not in axes]
        joined = x.permute(*rest, *axes).flatten(len(rest)) if axes else x.unsqueeze(-1)
        made = _quantile(name, joined, q, -1, False, interpolation, without_nan)
        kept = [1 if one in axes else x.shape[one] for one in range(x.ndim)]
        return made.reshape(*made.shape[: made.ndim - len(rest)], *kept) if keepdims else made
    x = _as_floats(x)
    parts = _parts(q, x)
    if parts.ndim > 1:
        raise ShapeError(f"{name}: q is a number or a vector, not of shape {parts.shape}")
    rank = x.ndim
    if rank == 0 and axis in (0, -1):
        axis = None
    ordered = (x.reshape(-1) if axis is None else x.movedim(axis, -1)).sort(-1).values
    if ordered.shape[-1] == 0:
        along = "" if axis is None else f" along axis {axis}"
        raise ArgumentError(f"{name}: no element{along} of {x.dtype.name}{[*x.shape]}")
    is_nan = ordered.isnan()
    count = (~is_nan).sum(-1, True) if without_nan else Tensor(ordered.shape[-1])
    last, parts_of = (count - 1).clamp(min=0), parts.reshape(-1, *(1,) * ordered.ndim)
    place = parts_of * last
    if interpolation in _PLACES:
        offset, slope = _PLACES[interpolation]
        # The product is rounded by itself, as a discrete method asks whether it is whole.
        place = (parts_of * count).maximum(0) + (offset + slope * parts_of)
    if interpolation == "nearest":
        # Of a half the even one, whichever side it is on.
        place = place.round()
    is_before, place = place < 0, place.maximum(0).minimum(last)
    below = place.floor().cast("int64")
    above = (below + 1).minimum(last)
    share = where(is_before, 0.0, _BETWEEN[interpolation](place - place.floor(), below))
    n, whole = place.shape[0], ordered.unsqueeze(0)
    whole = whole.expand(n, *ordered.shape)
    shape = (n, *ordered.shape[:-1], 1)
    low, high = (whole.gather(-1, at.expand(*shape)) for at in (below, above))
    made = where((low == high) | (share == 0), low, low + (high - low) * share.cast(x.dtype))
    no_number = (count == 0) if without_nan else is_nan.any(-1, True)
    made = where(no_number, math.nan, made)
    if axis is None:
        made = made.reshape(n, *(1,) * rank) if keepdims else made.reshape(n)
    else:
        made = made.movedim(-1, axis % rank + 1) if keepdims else made.squeeze(-1)
    return made if parts.ndim else made[0]


def _extreme_at(x: Tensor, where_is: str, other: float, axis: int | None, keepdims: bool) -> Tensor:
    """Where the greatest or least element that is not NaN is first; -1 where there is none."""
    if not x.dtype.is_floating_point:
        found: Tensor = getattr(x, where_is)(axis, keepdims)
        return found
    is_nan = x.isnan()
    at = getattr(where(is_nan, other, x), where_is)(axis, keepdims)
    # Where NaN stands for an infinity that is the greatest itself, the first that is not NaN is it.
    fold = "amax" if where_is == "argmax" else "amin"
    hidden = getattr(where(is_nan, other, x), fold)(axis, keepdims) == other
    first = (~is_nan).cast("uint8").argmax(axis, keepdims)
    return where(is_nan.all(axis, keepdims), -1, where(hidden, first, at)).cast("int64")
