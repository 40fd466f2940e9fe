"""Values at positions: grids of points in images, windows added up, the positions of maxima and the way back."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from svod._arguments import checked
from svod._svod import ArgumentError, ShapeError, Tensor, arange, linspace, stack, where, zeros
from svod.nn.functional.resize import _cubic

__all__ = [
    "affine_grid",
    "fold",
    "grid_sample",
    "max_pool1d_with_indices",
    "max_pool2d_with_indices",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

_Numbers = int | Sequence[int]


@checked
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points, from -1 to 1 along each axis, to which matrices `theta`, `(batch, n, n + 1)`, move those of a grid.

    The grid is that of images of `size`, `(batch, channels, ..)`; points are `(batch, .., n)`, the last axis'
    coordinate first.
    """
    extents = tuple(size)[2:]
    rank = len(extents)
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (rank, rank + 1) or theta.shape[0] != size[0]:
        raise ShapeError(f"affine_grid: theta: shape {(size[0], rank, rank + 1)} is expected, not {theta.shape}")
    axes = []
    for axis, extent in enumerate(extents):
        edge = 1.0 if align_corners or extent == 0 else 1 - 1 / extent
        line = linspace(-edge, edge, extent, dtype=theta.dtype) if extent > 1 else zeros(extent, dtype=theta.dtype)
        axes.append(line.reshape(*(-1 if one == axis else 1 for one in range(rank))).expand(*extents))
    points = stack([*reversed(axes), axes[0].ones_like()], -1).reshape(1, -1, rank + 1)
    return points.matmul(theta.mT).reshape(size[0], *extents, rank)


@checked
def fold(
    input: Tensor,
    output_size: _Numbers,
    kernel_size: _Numbers,
    dilation: _Numbers = 1,
    padding: _Numbers = 0,
    stride: _Numbers = 1,
) -> Tensor:
    """Columns `(batch, channels * elements, windows)`, as `unfold` makes them, added up where windows overlap, as
    `(batch, channels, *output_size)`."""
    out, kernel, gaps, edge, step = (
        _several("fold", one, 2) for one in (output_size, kernel_size, dilation, padding, stride)
    )
    batched = input if input.ndim == 3 else input.unsqueeze(0)
    elements = kernel[0] * kernel[1]
    if batched.ndim != 3 or batched.shape[1] % elements:
        raise ShapeError(f"fold: columns of {elements} elements for each channel are expected, not shape {input.shape}")
    padded = [extent + 2 * more for extent, more in zip(out, edge, strict=True)]
    places = arange(padded[0] * padded[1]).reshape(1, 1, *padded)
    columns = places.im2col(kernel, step, 0, gaps)
    if columns.shape[-1] != batched.shape[-1]:
        raise ShapeError(
            f"fold: {columns.shape[-1]} windows are expected for output size {out}, not {batched.shape[-1]}"
        )
    channels = batched.shape[1] // elements
    values = batched.reshape(batched.shape[0], channels, -1)
    whole = zeros(batched.shape[0], channels, padded[0] * padded[1], dtype=input.dtype)
    made = whole.index_add(2, columns.reshape(-1), values).reshape(batched.shape[0], channels, *padded)
    made = made[..., edge[0] : padded[0] - edge[0], edge[1] : padded[1] - edge[1]]
    return made if input.ndim == 3 else made.squeeze(0)


@checked
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values of images `(batch, channels, ..)` at points `grid`, `(batch, .., n)`, from -1 to 1 along each axis.

    A point's first coordinate is that of the last axis. Values are those between elements, `"bilinear"` or, of images,
    `"bicubic"` (Keys 1981, a = -0.75), or of the nearest; outside are zeros, the `"border"`, or the `"reflection"`.

    >>> import svod
    >>> middle = svod.zeros(1, 1, 1, 2)
    >>> svod.nn.functional.grid_sample(svod.arange(4.0).reshape(1, 1, 2, 2), middle).item()
    1.5
    """
    rank = input.ndim - 2
    if mode not in ("bilinear", "nearest", "bicubic") or padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(f"grid_sample: mode {mode!r} with padding_mode {padding_mode!r} is not known")
    if rank < 1 or grid.ndim != input.ndim or grid.shape[-1] != rank or grid.shape[0] != input.shape[0]:
        raise ShapeError(f"grid_sample: grid: shape ({input.shape[0]}, .., {rank}) is expected, not {grid.shape}")
    extents = [int(extent) for extent in input.shape[2:]]
    places = []
    for axis, extent in enumerate(extents):
        at = grid[..., rank - 1 - axis]
        at = (at + 1) / 2 * (extent - 1) if align_corners else ((at + 1) * extent - 1) / 2
        places.append(at if mode == "bicubic" else _bounded(at, extent, padding_mode, align_corners))
    if mode == "bicubic":
        if rank != 2:
            raise ShapeError(f"grid_sample: bicubic is for images with two axes, not for shape {input.shape}")
        return _bicubic(input, places, extents, padding_mode, align_corners)
    if mode == "nearest":
        return _picked(input, [at.round() for at in places], extents)
    total = None
    for corner in itertools.product((0, 1), repeat=rank):
        below = [at.floor().detach() for at in places]
        shares = [at - low if up else 1 - (at - low) for at, low, up in zip(places, below, corner, strict=True)]
        part = _picked(input, [low + up for low, up in zip(below, corner, strict=True)], extents)
        share = math.prod(shares[1:], start=shares[0]).unsqueeze(1)
        total = part * share if total is None else total + part * share
    assert total is not None, "a grid has at least one axis, and so two corners"
    return total


def _bounded(at: Tensor, extent: int, padding_mode: str, align_corners: bool | None) -> Tensor:
    """Positions along an axis, those outside moved to where their value is from, and NaN to the first."""
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        at = _reflected(at, 0.0, extent - 1.0) if align_corners else _reflected(at, -0.5, extent - 0.5)
    return where(at.isnan(), 0.0, at.clamp(0, extent - 1))


def _bicubic(
    input: Tensor, places: Sequence[Tensor], extents: Sequence[int], padding_mode: str, align_corners: bool | None
) -> Tensor:
    """The sums of 4 x 4 elements about positions, by their distances."""
    below = [at.floor().detach() for at in places]
    taps = []
    for at, low, extent in zip(places, below, extents, strict=True):
        bounded = {tap: _bounded(low + tap, extent, padding_mode, align_corners) for tap in range(-1, 3)}
        taps.append([(bounded[tap], weight.unsqueeze(1)) for tap, weight in _cubic(at - low).items()])
    total = zeros(1, dtype=input.dtype)
    for (row, by_row), (column, by_column) in itertools.product(*taps):
        total = total + _picked(input, [row, column], extents) * (by_row * by_column)
    return total


def _reflected(at: Tensor, low: float, high: float) -> Tensor:
    """Positions mirrored at two edges until they are between them."""
    if low == high:
        return at * 0
    away = (at - low).abs()
    turns = (away / (high - low)).floor()
    rest = away - turns * (high - low)
    return where(turns % 2 == 0, rest + low, high - rest)


def _picked(input: Tensor, places: Sequence[Tensor], extents: Sequence[int]) -> Tensor:
    """The elements at whole positions; zeros outside."""
    flat, within = None, None
    for at, extent in zip(places, extents, strict=True):
        inside = (at >= 0) & (at <= extent - 1)
        index = where(inside, at, 0).long()
        flat = index if flat is None else flat * extent + index
        within = inside if within is None else within & inside
    assert flat is not None and within is not None, "a grid has at least one axis"
    batch, channels = input.shape[:2]
    chosen = flat.reshape(batch, 1, -1)
    found = input.reshape(batch, channels, -1).gather(2, chosen.expand(batch, channels, chosen.shape[-1]))
    return where(within.unsqueeze(1), found.reshape(batch, channels, *flat.shape[1:]), 0)


def max_pool_with_indices(
    input: Tensor,
    rank: int,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The greatest element of each window over the last `rank` axes, and its position in the flat axes."""
    name = f"max_pool{rank}d"
    kernel = _several(name, kernel_size, rank)
    step = kernel if stride is None else _several(name, stride, rank)
    edge, gaps = _several(name, padding, rank), _several(name, dilation, rank)
    values = input.max_pool(kernel, step, edge, gaps, ceil_mode)
    extents, out = (tuple(int(one) for one in x.shape[x.ndim - rank :]) for x in (input, values))
    whole = range(input.ndim - rank)
    # The window of each result, its elements last, of the values and of their positions.
    windows, positions = input, arange(math.prod(extents)).reshape(extents)
    for axis in range(rank):
        reach = (kernel[axis] - 1) * gaps[axis] + 1
        behind = max(0, (out[axis] - 1) * step[axis] + reach - extents[axis] - edge[axis])
        pads = [(0, 0)] * axis + [(edge[axis], behind)]
        windows = windows.pad([(0, 0) for _ in whole] + pads + [(0, 0)] * (rank - 1), -math.inf)
        positions = positions.pad(pads + [(0, 0)] * (rank - 1), -1)
        cut = (..., slice(None, None, gaps[axis]))
        windows = windows.unfold(input.ndim - rank + axis, reach, step[axis])[cut]
        positions = positions.unfold(axis, reach, step[axis])[cut]
        windows = windows.narrow(input.ndim - rank + axis, 0, out[axis])
        positions = positions.narrow(axis, 0, out[axis])
    elements, places = windows.flatten(-rank), positions.flatten(-rank)
    # What is around the input is no element, not even of a window whose others are -inf.
    found = ((elements == values.unsqueeze(-1)) | elements.isnan()) & (places >= 0)
    indices = places.expand(*elements.shape).gather(-1, found.argmax(-1, True))
    return values, indices.squeeze(-1)


@checked
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """As `max_pool1d`, and the positions of what it takes."""
    return max_pool_with_indices(input, 1, kernel_size, stride, padding, dilation, ceil_mode)


@checked
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """As `max_pool2d`, and the positions of what it takes in the flat image."""
    return max_pool_with_indices(input, 2, kernel_size, stride, padding, dilation, ceil_mode)


@checked
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """As `max_pool3d`, and the positions of what it takes in the flat volume."""
    return max_pool_with_indices(input, 3, kernel_size, stride, padding, dilation, ceil_mode)


@checked
def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The maxima of `max_pool1d` where they were, zeros elsewhere."""
    return _unpooled(input, indices, 1, kernel_size, stride, padding, output_size)


@checked
def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The maxima of `max_pool2d` where they were, zeros elsewhere."""
    return _unpooled(input, indices, 2, kernel_size, stride, padding, output_size)


@checked
def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """The maxima of `max_pool3d` where they were, zeros elsewhere."""
    return _unpooled(input, indices, 3, kernel_size, stride, padding, output_size)


def _unpooled(
    input: Tensor,
    indices: Tensor,
    rank: int,
    kernel_size: _Numbers,
    stride: _Numbers | None,
    padding: _Numbers,
    output_size: Sequence[int] | None,
) -> Tensor:
    """Elements at positions of flat axes, zeros elsewhere."""
    name = f"max_unpool{rank}d"
    if input.shape != indices.shape or input.ndim <= rank:
        raise ShapeError(f"{name}: input and indices of one shape are expected, not {input.shape}, {indices.shape}")
    kernel = _several(name, kernel_size, rank)
    step, edge = kernel if stride is None else _several(name, stride, rank), _several(name, padding, rank)
    before, pooled = input.shape[:-rank], input.shape[-rank:]
    if output_size is None:
        out = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(pooled, step, edge, kernel, strict=True)]
    else:
        out = list(output_size)[-rank:]
    flat = zeros(*before, math.prod(int(one) for one in out), dtype=input.dtype)
    return flat.scatter(-1, indices.flatten(-rank), input.flatten(-rank)).reshape(*before, *out)


def _several(name: str, numbers: _Numbers, count: int) -> list[int]:
    """One number for each axis."""
    given = [numbers] * count if isinstance(numbers, int) else list(numbers)
    if len(given) == 1:
        given = given * count
    if len(given) != count:
        raise ArgumentError(f"{name}: as many numbers as axes, {count}, are expected, not {given}")
    return given
