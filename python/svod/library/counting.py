"""Where values lie among others and how many lie there: bins, distances, curves through points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from svod._place import made_beside
from svod._svod import (
    ArgumentError,
    DTypeError,
    ShapeError,
    Tensor,
    _may_be_differentiated,
    _operands,
    arange,
    cat,
    float32,
    full,
    stack,
    where,
    zeros,
)
from svod.library._axes import axis_of
from svod.library.diagonals import triu_indices
from svod.library.elementwise import logaddexp
from svod.library.sets import UniqueAll, _ranks, _runs, unique_all, unique_values

__all__ = [
    "bincount",
    "bucketize",
    "cdist",
    "convolve",
    "correlate",
    "cumulative_trapezoid",
    "digitize",
    "dist",
    "gradient",
    "interp",
    "logcumsumexp",
    "msort",
    "pdist",
    "renorm",
    "segment_reduce",
    "trapezoid",
    "unique",
    "unique_consecutive",
]


# Rows up to which distances are made of differences, and PyTorch's words for how many these are.
_FEW_ROWS = 25
_MODES = {
    "use_mm_for_euclid_dist_if_necessary": _FEW_ROWS,
    "use_mm_for_euclid_dist": -1,
    "donot_use_mm_for_euclid_dist": None,
}


def bincount(x: Tensor, /, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on occurs in a vector, or the sum of its weights, of integers in `float64`; the
    length is computed now.

    >>> import svod
    >>> svod.bincount(svod.Tensor([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    """
    least, greatest = stack([x.min(), x.max()]).tolist() if x.numel() else (0, -1)
    if least < 0:
        raise ArgumentError("bincount: input: integers that are not negative are expected")
    length = max(minlength, int(greatest) + 1)
    if weights is not None and not weights.dtype.is_floating_point:
        weights = weights.double()
    return x._bincount(weights, minlength=length)


def bucketize(x: Any, boundaries: Any, /, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of boundaries, which are sorted, below each element, or, with `right`, not above it.

    >>> import svod
    >>> svod.bucketize(svod.Tensor([1, 4]), svod.Tensor([1, 3, 5])).tolist()
    [0, 2]
    """
    values, edges = _operands(x, boundaries)
    found = edges.searchsorted(values, right=right)
    return found.int() if out_int32 else found


def cdist(x1: Tensor, x2: Tensor, /, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """The distances, by the `p`-norm, of each row of `x1` from each row of `x2`; dimensions before broadcast.

    Euclidean ones of more than 25 rows are made of a matrix product, unless a derivative is asked for: it takes a
    fraction of the time, and loses digits of distances that are small beside those of all points from their mean.
    PyTorch's `compute_mode` "donot_use_mm_for_euclid_dist" takes differences, "use_mm_for_euclid_dist" the product of
    any rows.

    >>> import svod
    >>> svod.cdist(svod.Tensor([[0.0, 0.0]]), svod.Tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[5.0, 0.0]]
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ShapeError(f"cdist: rows of one length are expected, not shapes {x1.shape} and {x2.shape}")
    if p < 0:
        raise ArgumentError(f"cdist: p={p} is below 0")
    if compute_mode not in (None, *_MODES):
        raise ArgumentError(f"cdist: compute_mode is one of {', '.join(_MODES)}, not {compute_mode!r}")
    fewest = _MODES.get(compute_mode or "", _FEW_ROWS)
    rows = [rows for rows in (x1.shape[-2], x2.shape[-2]) if isinstance(rows, int)]
    is_plain = all(x.dtype.is_floating_point and not _may_be_differentiated(x) for x in (x1, x2))
    if p == 2 and is_plain and fewest is not None and len(rows) == 2 and max(rows) > fewest:
        return _euclidean(*_operands(x1, x2))
    return _norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def convolve(x: Tensor, v: Tensor, /, mode: str = "full") -> Tensor:
    """The convolution of two vectors, where they meet at all, "full", in the length of the longer, "same", or where one
    is within the other, "valid".

    >>> import svod
    >>> svod.convolve(svod.Tensor([1.0, 2.0, 3.0]), svod.Tensor([1.0, 1.0])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """
    return _convolved("convolve", x, v.flip(0), mode)


def correlate(x: Tensor, v: Tensor, /, mode: str = "valid") -> Tensor:
    """The sums of products of two vectors, of which one is moved along the other; `mode` as of `convolve`.

    >>> import svod
    >>> svod.correlate(svod.Tensor([1.0, 2.0, 3.0]), svod.Tensor([1.0, 1.0])).tolist()
    [3.0, 5.0]
    """
    return _convolved("correlate", x, v.conj(), mode)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, /, *, dx: float = 1, axis: int = -1) -> Tensor:
    """The integrals from the first point to each other one along an axis, by trapezoids; one fewer.

    >>> import svod
    >>> svod.cumulative_trapezoid(svod.Tensor([1.0, 2.0, 3.0])).tolist()
    [1.5, 4.0]
    """
    return _trapezoids(y, x, dx, axis).cumsum(axis)


def digitize(x: Any, bins: Any, /, right: bool = False) -> Tensor:
    """The bin of each element: the number of edges, which rise, that are not above it, or, with `right`, below it; of
    edges that fall those that are above it, or, with `right`, not below it.

    >>> import svod
    >>> svod.digitize(svod.Tensor([1, 4]), svod.Tensor([1, 3, 5])).tolist()
    [1, 2]
    >>> svod.digitize(svod.Tensor([1, 4]), svod.Tensor([5, 3, 1])).tolist()
    [2, 1]
    """
    values, edges = _operands(x, bins)
    if edges.ndim != 1:
        raise ShapeError(f"digitize: bins: a vector of edges is expected, not shape {tuple(edges.shape)}")
    if edges.shape[0] < 2:
        return edges.searchsorted(values, right=not right)
    rising = edges.searchsorted(values, right=not right)
    falling = edges.shape[0] - edges.flip(0).searchsorted(values, right=not right)
    return where(edges[0] > edges[-1], falling, rising)


def dist(x: Tensor, other: Any, /, p: float = 2) -> Tensor:
    """The `p`-norm of a difference.

    >>> import svod
    >>> svod.dist(svod.Tensor([0.0, 0.0]), svod.Tensor([3.0, 4.0])).item()
    5.0
    """
    return _norm((x - other).flatten(), p)


def gradient(
    x: Tensor,
    /,
    *,
    spacing: float | Tensor | Sequence[float | Tensor] | None = None,
    axis: int | Sequence[int] | None = None,
    edge_order: int = 1,
) -> tuple[Tensor, ...]:
    """The slopes along axes, by default all, one tensor for each: by the points beside a point, at the ends by the
    first two, or, with an `edge_order` of 2, three. `spacing` is the distance of points, by default 1, or one for each
    axis; or for each axis a vector of its coordinates (Fornberg 1988).

    >>> import svod
    >>> svod.gradient(svod.Tensor([1.0, 4.0, 9.0]))[0].tolist()
    [3.0, 4.0, 5.0]
    """
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if isinstance(spacing, Tensor):
        spacing = [spacing] if spacing.ndim else spacing.item()
    steps = list(spacing) if isinstance(spacing, Sequence) else [1 if spacing is None else spacing] * len(axes)
    if len({axis_of("gradient", one, x.ndim) for one in axes}) != len(axes):
        raise ArgumentError(f"gradient: each axis is named once, not {tuple(axes)}")
    if edge_order not in (1, 2) or len(steps) != len(axes):
        raise ArgumentError(
            f"gradient: edge_order 1 or 2 and a spacing for each axis are expected, not {edge_order}, {steps}"
        )
    x = x if x.dtype.is_floating_point or x.is_complex() else x.float()
    return tuple(_slopes(x.movedim(at, -1), by, edge_order).movedim(-1, at) for at, by in zip(axes, steps, strict=True))


def interp(
    x: Any, xp: Tensor, fp: Tensor, /, left: Any = None, right: Any = None, period: float | None = None
) -> Tensor:
    """The values at `x` of the curve of straight lines through the points `(xp, fp)`, of which `xp` rise.

    Before the first it is `left` and behind the last `right`, by default what is at these points. With a
    `period` the curve is repeated, of points in any order.

    >>> import svod
    >>> svod.interp(svod.Tensor([0.5, 3.0]), svod.Tensor([0.0, 1.0, 2.0]), svod.Tensor([0.0, 10.0, 20.0])).tolist()
    [5.0, 20.0]
    """
    at, places = _operands(x, xp)
    if not at.dtype.is_floating_point:
        at, places = at.cast("float64"), places.cast("float64")
    fp = fp if fp.dtype.is_floating_point or fp.is_complex() else fp.cast("float64")
    if period is not None:
        if not period:
            raise ArgumentError("interp: period: a number that is not 0 is expected")
        period, left, right = abs(period), None, None
        at, places = at % period, places % period
        order = places.argsort(0)
        places, fp = places.take(order, 0), fp.take(order, 0)
        places = cat([places[-1:] - period, places, places[:1] + period], 0)
        fp = cat([fp[-1:], fp, fp[:1]], 0)
    n = places.shape[0]
    above = places.searchsorted(at.flatten(), right=True).reshape(at.shape).clamp(1, max(n - 1, 1))
    below = (above - 1).clamp(min=0)
    above = above.clamp(max=n - 1)
    start, end = places.take(below, 0), places.take(above, 0)
    first, second = fp.take(below, 0), fp.take(above, 0)
    width = where(end == start, 1, end - start)
    made = first + (second - first) * ((at - start) / width).cast(fp.dtype)
    made = where(at < places[0], fp[0] if left is None else left, made)
    return where(at > places[-1], fp[-1] if right is None else right, where(at == places[-1], fp[-1], made))


def logcumsumexp(x: Tensor, /, axis: int) -> Tensor:
    """The logarithms of the sums of the exponentials up to each element along an axis, without overflow.

    By sums over twice as many elements in each step (Hillis and Steele 1986).

    >>> import svod
    >>> svod.logcumsumexp(svod.Tensor([0.0, 0.0]), 0).tolist()
    [0.0, 0.6931471824645996]
    """
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise DTypeError(f"logcumsumexp: a tensor of floats is expected, not {x.dtype.name}")
    if x.ndim == 0:
        return x.clone()
    made, reach, n = x.movedim(axis, -1), 1, x.shape[axis]
    while reach < (n if isinstance(n, int) else n.max):
        nothing = full((*made.shape[:-1], reach), -math.inf, dtype=x.dtype)
        earlier = cat([nothing, made], -1).narrow(-1, 0, n)
        made, reach = logaddexp(made, earlier), 2 * reach
    return made.movedim(-1, axis)


def msort(x: Tensor, /) -> Tensor:
    """The elements along the first dimension in order.

    >>> import svod
    >>> svod.msort(svod.Tensor([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    return x.sort(0).values if x.ndim else x.clone()


def pdist(x: Tensor, /, p: float = 2.0) -> Tensor:
    """The distances, by the `p`-norm, of each row of a matrix from those behind it.

    >>> import svod
    >>> svod.pdist(svod.Tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).tolist()
    [5.0, 1.0, 4.242640495300293]
    """
    if x.ndim != 2:
        raise ShapeError(f"pdist: a matrix is expected, not shape {x.shape}")
    if p < 0:
        raise ArgumentError(f"pdist: p={p} is below 0")
    rows, columns = triu_indices(int(x.shape[0]), int(x.shape[0]), 1)
    return _norm(x.take(rows, 0) - x.take(columns, 0), p)


def renorm(x: Tensor, p: float, axis: int, maxnorm: float, /) -> Tensor:
    """The slices of an axis, those with a `p`-norm above `maxnorm` scaled to it.

    >>> import svod
    >>> svod.renorm(svod.Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 1.0]]
    """
    others = tuple(one for one in range(x.ndim) if one != axis % x.ndim)
    norm = x.norm(p, others, True)
    # As PyTorch has it, less by 1e-7 of a length of 1.
    return x * where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0).cast(x.dtype)


def segment_reduce(
    data: Tensor,
    reduce: str,
    /,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Tensor:
    """The "sum", "mean", "max", "min" or "prod" of parts of an axis, one behind the other: of `lengths`, or from each
    of `offsets` to the next. Parts of nothing are `initial`, or what folds of nothing are; their means are NaN.

    Lengths have the dimensions of `data` before the axis, and last the parts. `unsafe` has no meaning.

    >>> import svod
    >>> svod.segment_reduce(svod.Tensor([1.0, 2.0, 3.0]), "sum", lengths=svod.Tensor([1, 2])).tolist()
    [1.0, 5.0]
    """
    kinds = {"sum": ("sum", 0.0), "mean": ("sum", 0.0), "max": ("amax", -math.inf), "min": ("amin", math.inf)}
    kinds["prod"] = ("prod", 1.0)
    if reduce not in kinds:
        raise ArgumentError(f"segment_reduce: reduce is one of {[*kinds]}, not {reduce!r}")
    if indices is not None or (lengths is None) == (offsets is None):
        raise ArgumentError("segment_reduce: either lengths or offsets is expected")
    if lengths is None:
        assert offsets is not None
        lengths = offsets[..., 1:] - offsets[..., :-1]
    by, nothing = kinds[reduce]
    if axis < 0 or lengths.ndim != axis + 1 or tuple(lengths.shape[:-1]) != tuple(data.shape[:axis]):
        raise ShapeError(f"segment_reduce: lengths {tuple(lengths.shape)} for axis {axis} of {tuple(data.shape)}")
    parts, extent = lengths.shape[-1], data.shape[axis]
    part = (arange(extent).unsqueeze(-1) >= lengths.cumsum(-1).unsqueeze(-2)).sum(-1)
    rest = (1,) * (data.ndim - axis - 1)
    shape = (*data.shape[:axis], parts, *data.shape[axis + 1 :])
    base = full(shape, nothing if initial is None else initial, dtype=data.dtype)
    made = base.scatter_reduce(axis, part.reshape(*part.shape, *rest).expand(*data.shape), data, by)
    return made / lengths.reshape(*lengths.shape, *rest) if reduce == "mean" else made


def trapezoid(y: Tensor, x: Tensor | None = None, /, *, dx: float = 1, axis: int = -1) -> Tensor:
    """The integral along an axis, by trapezoids, of points at `x`, or `dx` apart.

    >>> import svod
    >>> svod.trapezoid(svod.Tensor([1.0, 2.0, 3.0])).item()
    4.0
    """
    return _trapezoids(y, x, dx, axis).sum(axis)


def unique(
    x: Tensor,
    /,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    return_index: bool = False,
) -> Any:
    """The values, each once, in order; computed now. Of several that are asked for a tuple: the values, where each is
    first, which one each element is, how often each occurs. With an axis, its slices in the place of elements.

    >>> import svod
    >>> [part.tolist() for part in svod.unique(svod.Tensor([3, 1, 3]), return_counts=True)]
    [[1, 3], [1, 2]]
    """
    if axis is None and not (return_index or return_inverse or return_counts):
        return unique_values(x)
    found = unique_all(x) if axis is None else _unique_slices(x, axis)
    asked = ((return_index, found.indices), (return_inverse, found.inverse_indices), (return_counts, found.counts))
    more = [part for wanted, part in asked if wanted]
    return (found.values, *more) if more else found.values


def unique_consecutive(
    x: Tensor, /, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
) -> Any:
    """The flat tensor with one of equal neighbours; where asked for, which run each element is in and how long
    runs are; computed now. With an axis, its slices in the place of elements.

    >>> import svod
    >>> svod.unique_consecutive(svod.Tensor([1, 1, 2, 1])).tolist()
    [1, 2, 1]
    """
    flat = x.flatten() if axis is None else _slices(x, axis)
    if flat.shape[0] == 0:
        none = zeros(0, dtype="int64")
        starts, inverse, counts = none, none, none
    else:
        differs = flat[1:] != flat[:-1]
        begins = cat([made_beside(x, [True]), differs if axis is None else differs.any(1)], 0)
        starts, counts = _runs(begins)
        inverse = begins.cumsum(0) - 1
    asked = ((return_inverse, inverse.reshape(x.shape) if axis is None else inverse), (return_counts, counts))
    more = [part for wanted, part in asked if wanted]
    values = flat.take(starts, 0) if axis is None else x.index_select(axis, starts)
    return (values, *more) if more else values


def _slices(x: Tensor, axis: int) -> Tensor:
    """The slices of an axis as rows."""
    moved = x.movedim(axis, 0)
    return moved.reshape(moved.shape[0], math.prod(moved.shape[1:]))


def _unique_slices(x: Tensor, axis: int) -> UniqueAll:
    """As `unique_all`, of the slices of an axis in the order of their first elements, then of the next ones."""
    rows = _slices(x, axis)
    count, width = rows.shape
    if count == 0:
        none = zeros(0, dtype="int64")
        return UniqueAll(x, none, none, none)
    order = arange(count)
    for column in reversed(range(width)):
        elements = rows[:, column]
        keys = _ranks(elements).inverse if x.dtype.is_complex else elements
        order = order.take(keys.take(order, 0).argsort(0, stable=True), 0).realize()
    ordered = rows.take(order, 0)
    begins = cat([made_beside(x, [True]), (ordered[1:] != ordered[:-1]).any(1)], 0)
    starts, counts = _runs(begins)
    inverse = zeros(count, dtype="int64").scatter(0, order, begins.cumsum(0) - 1)
    indices = order.take(starts, 0)
    return UniqueAll(x.index_select(axis, indices), indices, inverse, counts)


def _euclidean(x1: Tensor, x2: Tensor) -> Tensor:
    """The distances of rows as `|a|² + |b|² - 2 a·b`, of rows less the mean of one side's, so that less cancels."""
    wide = float32 if x1.dtype.itemsize < 4 else x1.dtype
    a, b = x1.cast(wide), x2.cast(wide)
    mean = a.mean(tuple(range(a.ndim - 1)))
    middle = where(mean.isfinite(), mean, 0.0)
    a, b = a - middle, b - middle
    sizes = (a * a).sum(-1, keepdim=True), (b * b).sum(-1, keepdim=True).mT
    square = sizes[0] + sizes[1] - 2 * (a @ b.mT)
    # Of an infinite row, nothing is left of a difference of infinities.
    lost = square.isnan() & ~sizes[0].isnan() & ~sizes[1].isnan()
    return where(lost, math.inf, square.clamp(min=0).sqrt()).cast(x1.dtype)


def _norm(x: Tensor, p: float) -> Tensor:
    """The `p`-norm of the last dimension; of 0, the number of elements that are not 0."""
    return (x != 0).sum(-1).cast(x.dtype) if p == 0 else x.norm(p, -1)


def _trapezoids(y: Tensor, x: Tensor | None, dx: float, axis: int) -> Tensor:
    """The areas below the lines from each point to the next."""
    y = y if y.dtype.is_floating_point or y.is_complex() else y.float()
    n = max(y.shape[axis] - 1, 0)
    if n == 0:
        return y.narrow(axis, 0, 0)
    both = y.narrow(axis, 1, n) + y.narrow(axis, 0, n)
    if x is None:
        return both * (dx / 2)
    if x.ndim == 1:
        x = x.reshape(*(-1 if one == axis % y.ndim else 1 for one in range(y.ndim)))
    return both * (x.narrow(axis, 1, n) - x.narrow(axis, 0, n)) / 2


def _slopes(x: Tensor, by: Any, edge_order: int) -> Tensor:
    """The slopes along the last dimension, of points at this distance or of these coordinates."""
    if x.shape[-1] < edge_order + 1:
        raise ShapeError(f"gradient: at least {edge_order + 1} points are expected, not {x.shape[-1]}")
    if isinstance(by, Tensor) and by.ndim:
        if by.shape != x.shape[-1:]:
            raise ShapeError(f"gradient: coordinates of {x.shape[-1]} points are expected, not {tuple(by.shape)}")
        return _slopes_between(x, by.cast(x.dtype), edge_order)
    middle = (x[..., 2:] - x[..., :-2]) / (2 * by)
    if edge_order == 1:
        ends = [(x[..., 1:2] - x[..., :1]) / by, (x[..., -1:] - x[..., -2:-1]) / by]
    else:
        ends = [
            (4 * x[..., 1:2] - 3 * x[..., :1] - x[..., 2:3]) / (2 * by),
            (3 * x[..., -1:] - 4 * x[..., -2:-1] + x[..., -3:-2]) / (2 * by),
        ]
    return cat([ends[0], middle, ends[1]], -1)


def _slopes_between(x: Tensor, at: Tensor, edge_order: int) -> Tensor:
    """The slopes along the last dimension at these coordinates: of the parabola through three points, or a line."""
    apart = at[1:] - at[:-1]
    slopes = (x[..., 1:] - x[..., :-1]) / apart
    before, behind = apart[:-1], apart[1:]
    bends = (slopes[..., 1:] - slopes[..., :-1]) / (before + behind)
    middle = slopes[..., :-1] + bends * before
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:
        first, last = first - bends[..., :1] * apart[:1], last + bends[..., -1:] * apart[-1:]
    return cat([first, middle, last], -1)


def _convolved(name: str, x: Tensor, v: Tensor, mode: str) -> Tensor:
    """The sums of products where a window is moved along a vector."""
    if x.ndim != 1 or v.ndim != 1 or 0 in (x.shape[0], v.shape[0]):
        raise ShapeError(f"{name}: vectors of at least one element are expected, not shapes {x.shape} and {v.shape}")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"{name}: mode is 'full', 'same' or 'valid', not {mode!r}")
    x, v = _operands(x, v)
    n, m = x.shape[0], v.shape[0]
    whole = x.pad([(m - 1, m - 1)]).unfold(0, m, 1).matmul(v)
    if mode == "full":
        return whole
    wanted = max(n, m) if mode == "same" else max(n, m) - min(n, m) + 1
    # The middle is counted from the end where NumPy exchanges the vectors.
    before = min(n, m) // 2 if name == "correlate" and n < m else (min(n, m) - 1) // 2
    start = before if mode == "same" else min(n, m) - 1
    return whole[start : start + wanted]
