"""Histograms: how many elements are in each of some bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from svod._place import made_beside
from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    DType,
    DTypeError,
    ShapeError,
    Tensor,
    _operands,
    float32,
    float64,
    int64,
    linspace,
    ones,
    stack,
    where,
    zeros,
)
from svod.library._spelling import beside

__all__ = [
    "histc",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]


def histc(x: Tensor, /, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements are in each of so many bins of equal width from `min` to `max`; where these are equal, from the
    least to the greatest element. Others are not counted. Counts of integers are `int64`, of floats of their type, of
    16-bit ones `float32`.

    >>> import svod
    >>> svod.histc(svod.Tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3).tolist()
    [0.0, 2.0, 1.0, 0.0]
    >>> svod.histc(svod.Tensor([1, 2, 1]), bins=4, min=0, max=3).tolist()
    [0, 2, 1, 0]
    """
    if bins < 1 or max < min:
        raise ArgumentError(f"histc: bins >= 1 and min <= max are expected, not {bins}, {min} and {max}")
    kind = _kind_of_counts("histc", x)
    if min == max and x.numel() == 0:
        return zeros(bins, dtype=kind)
    x = _as_places(x)
    low, high = (x.amin(), x.amax()) if min == max else (Tensor(min, x.dtype), Tensor(max, x.dtype))
    equal = low == high
    low, high = where(equal, low - 1, low), where(equal, high + 1, high)
    place = ((x - low) * bins / (high - low)).floor()
    at = where(x == high, bins - 1, place)
    within = (x >= low) & (x <= high)
    return _counts(where(within, at, bins).flatten().long(), bins, None, kind)


def histogram(
    x: Tensor,
    bins: Any = 100,
    /,
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements, or how much of their weight, is in each bin, and the edges of the bins: `bins` of equal width
    from the first to the second number of `range`, by default from the least to the greatest element, or these edges.
    With `density`, the parts of all by the width.

    As NumPy's, counts of integers are `int64` and their edges `float64`; of floats both have their type, counts of
    16-bit ones are `float32`. There are 100 bins by default, as in PyTorch; NumPy has 10.

    >>> import svod
    >>> [part.tolist() for part in svod.histogram(svod.Tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 4.0))]
    [[2.0, 1.0], [0.0, 2.0, 4.0]]
    >>> [part.tolist() for part in svod.histogram(svod.Tensor([1, 2, 1]), 2)]
    [[2, 1], [1.0, 1.5, 2.0]]
    """
    flat = x.flatten()
    edges = _edges_of("histogram", flat, bins, range)
    if weight is not None and weight.numel() != flat.numel():
        raise ShapeError(f"histogram: weight: a number for each of {tuple(x.shape)}, not {tuple(weight.shape)}")
    count = edges.shape[0] - 1
    found = _counts(_bin(flat, edges), count, weight, _kind_of_counts("histogram", x, weight))
    if density:
        found = _shares(found, [edges])
    return found, edges


def histogram_bin_edges(
    x: Tensor, /, bins: Any = 10, range: Sequence[float] | None = None, weights: Tensor | None = None
) -> Tensor:
    """The edges of the bins that `histogram` counts in: of integers `float64`. `weights` have no meaning.

    >>> import svod
    >>> svod.histogram_bin_edges(svod.Tensor([1, 2, 1]), 2).tolist()
    [1.0, 1.5, 2.0]
    """
    return _edges_of("histogram_bin_edges", x.flatten(), bins, range)


def histogram2d(
    x: Tensor,
    y: Tensor,
    /,
    bins: Any = 10,
    range: Any = None,
    density: bool = False,
    weights: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points of two coordinates are in each of the boxes of a grid, and the edges of these along both axes.

    `bins` is a number of bins, or two of these, or edges for each axis.

    >>> import svod
    >>> svod.histogram2d(svod.Tensor([0.0, 1.0, 1.0]), svod.Tensor([0.0, 1.0, 1.0]), bins=2)[0].tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    if x.ndim != 1 or x.shape != y.shape:
        raise ShapeError(f"histogram2d: as many x as y are expected, not shapes {x.shape} and {y.shape}")
    points = stack([_as_places(one) for one in _operands(x, y)], 1)
    several = (bins, bins) if isinstance(bins, Integral) else tuple(bins)
    if len(several) != 2:
        several = (bins, bins)
    ends = None if range is None else [end for pair in range for end in pair]
    counts, edges = histogramdd(points, several, range=ends, weight=weights, density=density)
    return counts, edges[0], edges[1]


def histogramdd(
    x: Tensor,
    /,
    bins: int | Sequence[Any],
    *,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """As `histogram`, of points, the rows of `x`, in boxes: with a number of bins, or edges, for each coordinate.

    `range` has two numbers for each coordinate, one after the other.

    >>> import svod
    >>> svod.histogramdd(svod.Tensor([[0.0, 1.0], [1.0, 0.0]]), (2, 2))[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if x.ndim < 1 or (not isinstance(bins, int) and len(bins) != x.shape[-1]):
        raise ShapeError(f"histogramdd: points of {bins} coordinates are expected, not shape {tuple(x.shape)}")
    points = x.reshape(-1, x.shape[-1])
    each = [bins] * points.shape[1] if isinstance(bins, int) else [*bins]
    places, edges = [], []
    for d, one in enumerate(each):
        limits = None if range is None else range[2 * d : 2 * d + 2]
        lines = _edges_of("histogramdd", points[:, d], one, limits)
        edges.append(lines)
        places.append(_bin(points[:, d], lines))
    counts = [line.shape[0] - 1 for line in edges]
    at, total = None, math.prod(counts)
    inside = None
    for place, count in zip(places, counts, strict=True):
        within = place < count
        at = place if at is None else at * count + place
        inside = within if inside is None else inside & within
    assert at is not None and inside is not None, "there is a coordinate"
    kind = _kind_of_counts("histogramdd", x, weight)
    found = _counts(where(inside, at, total), total, weight, kind).reshape(*counts)
    if density:
        found = _shares(found, edges)
    return found, tuple(edges)


def _kind_of_counts(name: str, x: Tensor, weight: Tensor | None = None) -> DType:
    """The type of counts, or sums of weights: of integers the weights', of floats their own."""
    if x.dtype.is_complex:
        raise DTypeError(f"{name}: real numbers are expected, not {x.dtype.name}")
    given = x if x.dtype.is_floating_point or weight is None else weight
    if not given.dtype.is_floating_point:
        return int64
    return float32 if given.dtype.itemsize < 4 else given.dtype


def _as_places(x: Tensor) -> Tensor:
    """Numbers that are compared with edges: integers in double precision, small floats in single."""
    if x.dtype.is_floating_point:
        return x.float() if x.dtype.itemsize < 4 else x
    return x.cast(float64)


def _counts(at: Tensor, count: Any, weight: Tensor | None, kind: DType) -> Tensor:
    """How many are at each place before `count`, or how much of their weight; those at `count` are left out."""
    # Counts are integers, of which floats of 32 bits hold those up to 2^24 only.
    summed = int64 if weight is None else kind
    by = ones(at.shape[0], dtype=summed) if weight is None else weight.flatten().cast(summed)
    return zeros(count + 1, dtype=summed).index_add(0, at, by)[:count].cast(kind)


def _shares(found: Tensor, edges: Sequence[Tensor]) -> Tensor:
    """Counts as parts of all by the sizes of their bins."""
    made = found if found.dtype.is_floating_point else found.cast(float64)
    made = made / made.sum()
    for d, line in enumerate(edges):
        width = (line[1:] - line[:-1]).cast(made.dtype)
        made = made / width.reshape(*(-1 if i == d else 1 for i, _ in enumerate(edges)))
    return made


def _edges_of(name: str, x: Tensor, bins: Any, range: Sequence[float] | None) -> Tensor:
    """The edges of bins: of so many of equal width, or those given."""
    if isinstance(bins, (str, bool)):
        raise ArgumentTypeError(f"{name}: bins: a number of bins or their edges are expected, not {bins!r}")
    if isinstance(bins, Integral):
        if bins < 1:
            raise ArgumentError(f"{name}: bins: at least one bin is expected, not {bins}")
        return _edges(x, int(bins), range)
    # A list of edges beside integers keeps its digits.
    is_list = not isinstance(bins, (Tensor, np.ndarray)) and not x.dtype.is_floating_point
    edges = made_beside(x, bins, float64) if is_list else beside(bins, [x])
    if edges.ndim != 1 or edges.shape[0] < 2:
        raise ShapeError(f"{name}: bins: a vector of two edges or more is expected, not shape {tuple(edges.shape)}")
    return edges


def _edges(x: Tensor, bins: int, range: Sequence[float] | None) -> Tensor:
    """The edges of bins of equal width."""
    if range is None:
        range = (x.min().item(), x.max().item()) if x.numel() else (0.0, 1.0)
    low, high = range
    if low == high:
        low, high = low - 0.5, high + 0.5
    made = linspace(low, high, bins + 1, dtype="float64")
    return made.cast(x.dtype) if x.dtype.is_floating_point else made


def _bin(x: Tensor, edges: Tensor) -> Tensor:
    """In which bin each element is, of which the last has both its edges; one more than there are if in none."""
    count = edges.shape[0] - 1
    x, edges = (x, edges) if x.dtype == edges.dtype else (x.cast(float64), edges.cast(float64))
    at = where(x == edges[-1], count - 1, edges.searchsorted(x, right=True) - 1)
    return where((x >= edges[0]) & (x <= edges[-1]), at, count)
