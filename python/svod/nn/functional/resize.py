"""Images of other sizes: padding, interpolation, pixels moved to channels and back, pooling to a given size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import floor, gcd
from typing import Any

import numpy as np

import svod
from svod._arguments import checked
from svod._place import made_beside
from svod._svod import ArgumentError, ShapeError, Tensor, UnsupportedError, arange, minimum
from svod._svod import complex as joined

__all__ = [
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "interpolate",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


@checked
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: complex | None = None) -> Tensor:
    """More elements before and after the last axes: pairs of numbers, the last axis first.

    They are `value`, by default 0, with `"constant"`; what is mirrored at the edge, `"reflect"`; the edge itself,
    `"replicate"`; or what is at the other end, `"circular"`. Negative numbers cut off.

    >>> import svod
    >>> svod.nn.functional.pad(svod.Tensor([1.0, 2.0, 3.0]), (2, 1), mode="reflect").tolist()
    [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
    """
    numbers = list(pad)
    if len(numbers) % 2 or len(numbers) // 2 > input.ndim:
        raise ArgumentError(f"pad: {numbers} are no pairs for the axes of {tuple(input.shape)}")
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    if mode == "constant":
        padding, fill = [*[(0, 0)] * (input.ndim - len(pairs)), *pairs[::-1]], 0.0 if value is None else value
        if input.is_complex() and fill != 0:
            return joined(input.real.pad(padding, fill.real), input.imag.pad(padding, fill.imag))
        return input.pad(padding, fill)
    if mode not in _MIRRORS:
        raise ArgumentError(f"pad: mode is one of {['constant', *_MIRRORS]}, not {mode!r}")
    for back, (before, after) in enumerate(pairs):
        axis = input.ndim - 1 - back
        if mode == "circular" and min(before, after) < 0:
            # What is left goes round.
            input = input.pad([*[(0, 0)] * axis, (min(before, 0), min(after, 0)), *[(0, 0)] * back])
            before, after = max(before, 0), max(after, 0)
        if not (before or after):
            continue
        extent = input.shape[axis]
        most = {"reflect": extent - 1, "circular": extent}.get(mode, max(before, after))
        if extent == 0 or max(before, after) > most or extent + before + after < 0:
            raise ArgumentError(f"pad: {(before, after)} is more than axis {axis} of {tuple(input.shape)} has: {mode}")
        at = _MIRRORS[mode](_counted(extent + before + after) - before, extent)
        input = input.index_select(axis, made_beside(input, at))
    return input


def _counted(n: Any) -> Any:
    """The numbers before `n`: an array; a tensor where `n` is symbolic, of which NumPy's functions make tensors."""
    return np.arange(n) if isinstance(n, int) else arange(n)


# Types in which weights are multiplied.
_WIDE = ("float32", "float64", "complex64", "complex128")

_MODES = ("nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear", "area")

# Parts of an extent in which a factor of a symbolic one may be.
_MOST_PARTS = 1 << 10

# The positions of an axis that stand for those from before its start to behind its end.
_MIRRORS = {
    "reflect": lambda at, n: n - 1 - abs(n - 1 - abs(at)),
    "replicate": lambda at, n: np.minimum(np.maximum(at, 0), n - 1),
    "circular": lambda at, n: at % n,
}


def check_mode(name: str, mode: str) -> None:
    """Whether there is such an interpolation."""
    if mode not in _MODES:
        raise ArgumentError(f"{name}: mode is one of {', '.join(map(repr, _MODES))}, not {mode!r}")


@checked
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """`(batch, channels, ..)` at another size, or at the old one times `scale_factor`, rounded down.

    `mode` is `"nearest"`, `"nearest-exact"`, `"linear"` (one axis), `"bilinear"`, `"trilinear"`, `"bicubic"` (Keys
    1981, a = -0.75) or `"area"`. With `align_corners` the first and last elements stay where they are. With
    `recompute_scale_factor` elements are as far apart as the rounded sizes say, not as `scale_factor` does. With
    `antialias`, of `"bilinear"` and `"bicubic"` (there a = -0.5), an axis that becomes shorter is the mean of all that
    an element covers. Integers are rounded.

    >>> import svod
    >>> svod.nn.functional.interpolate(svod.arange(6.0).reshape(1, 1, 6), 2, mode="linear").tolist()
    [[[1.0, 4.0]]]
    """
    check_mode("interpolate", mode)
    spatial = input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ArgumentError("interpolate: either size or scale_factor")
    expected = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}.get(mode, spatial)
    if spatial < 1 or spatial != expected:
        raise ShapeError(f"interpolate: {mode} of a tensor of shape {tuple(input.shape)}")
    extents = list(input.shape[2:])
    factors: list[float | None] = [None] * spatial
    if scale_factor is not None:
        factors = list(scale_factor) if isinstance(scale_factor, Sequence) else [scale_factor] * spatial
        sizes = [_times(extent, float(factor or 0)) for extent, factor in zip(extents, factors, strict=True)]
    else:
        sizes = list(size) if isinstance(size, Sequence) else [size or 0] * spatial
    if len(sizes) != spatial or any(n < 1 for n in sizes):
        raise ArgumentError(f"interpolate: the sizes {sizes} for {spatial} axes")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise ArgumentError(f'interpolate: antialias is for "bilinear" and "bicubic", not for {mode!r}')
    if recompute_scale_factor:
        if scale_factor is None:
            raise ArgumentError("interpolate: recompute_scale_factor is for a scale_factor, not for a size")
        factors = [None] * spatial
    if mode == "area":
        return input.adaptive_avg_pool(sizes)
    # What is narrower than `float32` is rounded once.
    kind = input.dtype
    wide = mode.startswith("nearest") or str(kind) in _WIDE
    resampled, input = _averaged if antialias else _resampled, input if wide else input.cast("float32")
    # As PyTorch has it, an axis that keeps its extent is copied, whatever `scale_factor` says, but for these modes.
    always = mode == "nearest-exact" or (mode == "bicubic" and not antialias)
    for axis, new, factor in reversed(list(zip(range(spatial), sizes, factors, strict=True))):
        if new == extents[axis] and not always:
            continue
        input = resampled(input, axis + 2, new, factor, mode, bool(align_corners))
        if not (wide or kind.is_floating_point):
            # As PyTorch has it, after each axis: a cubic goes beyond the elements, and ends at the type's bounds.
            input = input.round().clamp(float(svod.iinfo(kind).min), float(svod.iinfo(kind).max))
    return input.cast(kind)


def _times(extent: Any, factor: float) -> Any:
    """An extent times a factor, rounded down; of a symbolic one where the factor is a fraction."""
    if isinstance(extent, int):
        return floor(extent * factor)
    part = Fraction(factor)
    if part.denominator > _MOST_PARTS:
        raise UnsupportedError(
            f"interpolate: a scale_factor of a symbolic extent is a fraction such as 1.5, not {factor}"
        )
    return extent * part.numerator // part.denominator


def _resampled(input: Tensor, axis: int, new: Any, factor: float | None, mode: str, align: bool) -> Tensor:
    """One axis at another size: sums of elements with weights."""
    extent, at = input.shape[axis], np.arange(new) if isinstance(new, int) else arange(new).cast("float64")
    if not (isinstance(extent, int) and isinstance(new, int)):
        # Numbers of a graph: NumPy's functions make tensors of them.
        extent, new = Tensor(extent, "float64"), Tensor(new, "float64")
    step = 1 / factor if factor else extent / new
    last = extent - 1
    if mode.startswith("nearest"):
        # In single precision, as PyTorch does: where an exact place is whole, rounding decides.
        middle = at.astype(np.float32) + np.float32(0.5 * (mode == "nearest-exact"))
        from_ = np.floor(middle * (np.float32(step) if isinstance(step, float) else step.cast("float32")))
        taken = np.minimum(from_.astype(np.int64), last).astype(np.int64)
        return input.index_select(axis, made_beside(input, taken))
    if align:
        corners = last / np.maximum(new - 1, 1)
        place = at * (corners if isinstance(corners, Tensor) or new > 1 else 0.0)
    else:
        place = (at + 0.5) * step - 0.5
    if mode != "bicubic":
        place = np.maximum(place, 0.0)
    first = np.floor(place)
    share = place - first
    taps = _cubic(share) if mode == "bicubic" else {0: 1 - share, 1: share}
    total: Any = None
    for tap, weight in taps.items():
        taken = np.minimum(np.maximum(first + tap, 0), last).astype(np.int64)
        of = input.index_select(axis, made_beside(input, taken))
        shape = [-1 if i == axis else 1 for i in range(input.ndim)]
        part = of * made_beside(input, weight).cast(input.dtype).reshape(*shape)
        total = part if total is None else total + part
    result: Tensor = total
    return result


def _averaged(input: Tensor, axis: int, new: int, factor: float | None, mode: str, align: bool) -> Tensor:
    """One axis at another size: means of elements, with weights by how far they are from an element's middle.

    Where the axis becomes shorter, the weights are those of `_resampled` over as much wider a window.
    """
    extent = int(input.shape[axis])
    step = 1 / factor if factor else extent / new
    if align:
        step = (extent - 1) / (new - 1) if new > 1 else 0.0
    wide = max(step, 1.0)
    reach = (2 if mode == "bicubic" else 1) * wide
    middle = step * (np.arange(new) + 0.5)
    first = np.maximum((middle - reach + 0.5).astype(np.int64), 0)
    count = np.minimum((middle + reach + 0.5).astype(np.int64), extent) - first
    places = first[:, None] + np.arange(count.max())
    away = np.abs(places - middle[:, None] + 0.5) / wide
    near, far = _near(away, -0.5), _far(away, -0.5)
    weight = np.where(away < 1, near, np.where(away < 2, far, 0)) if mode == "bicubic" else np.maximum(1 - away, 0)
    weight = np.where(np.arange(count.max()) < count[:, None], weight, 0)
    weight = weight / weight.sum(1, keepdims=True)
    windows = input.index_select(axis, made_beside(input, np.minimum(places, extent - 1).reshape(-1)))
    windows = windows.unflatten(axis, places.shape)
    shape = [*places.shape, *[1] * (input.ndim - axis - 1)]
    return (windows * made_beside(input, weight).cast(input.dtype).reshape(*shape)).sum(axis + 1)


def _near(x: Any, a: float) -> Any:
    """The weight of an element that is less than 1 away, by Keys."""
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _far(x: Any, a: float) -> Any:
    """The weight of an element that is 1 to 2 away."""
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _cubic(share: Any, a: float = -0.75) -> dict[int, Any]:
    """The weights of four elements in a row, of places at a share of the way between the middle ones."""
    return {-1: _far(share + 1, a), 0: _near(share, a), 1: _near(1 - share, a), 2: _far(2 - share, a)}


@checked
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """`(.., channels · r², height, width)` as `(.., channels, height · r, width · r)` (Shi et al. 2016)."""
    *batch, channels, height, width = input.shape
    r, n = upscale_factor, len(batch)
    if r < 1 or channels % (r * r):
        raise ShapeError(f"pixel_shuffle: {channels} channels are not in squares of {r}")
    apart = input.reshape(*batch, channels // (r * r), r, r, height, width)
    order = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    return apart.permute(*order).reshape(*batch, channels // (r * r), height * r, width * r)


@checked
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """The reverse of `pixel_shuffle`."""
    *batch, channels, height, width = input.shape
    r, n = downscale_factor, len(batch)
    if r < 1 or height % r or width % r:
        raise ShapeError(f"pixel_unshuffle: {height} x {width} is not in squares of {r}")
    apart = input.reshape(*batch, channels, height // r, r, width // r, r)
    order = [*range(n), n, n + 2, n + 4, n + 1, n + 3]
    return apart.permute(*order).reshape(*batch, channels * r * r, height // r, width // r)


@checked
def adaptive_max_pool1d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
    """The maxima of `output_size` parts that cover `(.., length)`; None keeps an extent.

    With `return_indices` also where each was, in the flat axes.
    """
    values, indices = _adaptive_max("adaptive_max_pool1d", input, output_size, 1)
    return (values, indices) if return_indices else values


@checked
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """As `adaptive_max_pool1d`, and the positions of what it takes."""
    return _adaptive_max("adaptive_max_pool1d", input, output_size, 1)


@checked
def adaptive_max_pool2d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
    """The maxima of `output_size` parts that cover `(.., height, width)`; None keeps an extent.

    With `return_indices` also where each was, in the flat axes.
    """
    values, indices = _adaptive_max("adaptive_max_pool2d", input, output_size, 2)
    return (values, indices) if return_indices else values


@checked
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """As `adaptive_max_pool2d`, and the positions of what it takes."""
    return _adaptive_max("adaptive_max_pool2d", input, output_size, 2)


@checked
def adaptive_max_pool3d(input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False) -> Any:
    """The maxima of `output_size` parts that cover `(.., depth, height, width)`; None keeps an extent.

    With `return_indices` also where each was, in the flat axes.
    """
    values, indices = _adaptive_max("adaptive_max_pool3d", input, output_size, 3)
    return (values, indices) if return_indices else values


@checked
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: int | Sequence[int | None], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """As `adaptive_max_pool3d`, and the positions of what it takes."""
    return _adaptive_max("adaptive_max_pool3d", input, output_size, 3)


def _adaptive_max(
    name: str, input: Tensor, output_size: int | Sequence[int | None], spatial: int
) -> tuple[Tensor, Tensor]:
    """The maxima of parts of the last axes, and their positions in these.

    An axis after the other, from the last one, so that of several maxima the first in memory is taken.
    """
    sizes = list(output_size) if isinstance(output_size, Sequence) else [output_size] * spatial
    if len(sizes) != spatial or input.ndim < spatial:
        raise ArgumentError(f"{name}: the sizes {sizes} for the last {spatial} axes of {tuple(input.shape)}")
    places, width = None, 1
    for axis, size in reversed(list(zip(range(input.ndim - spatial, input.ndim), sizes, strict=True))):
        extent = input.shape[axis]
        if size is not None and size < 1:
            raise ArgumentError(f"{name}: output_size: at least 1 is expected, not {size}")
        if size is None:
            at = arange(extent).reshape(*(-1 if one == axis else 1 for one in range(input.ndim)))
        else:
            whole = input.shape
            input, at, choose = _parts_max(input, axis, size)
            places = None if places is None else choose(places.expand(*whole))
        places = at * width if places is None else places + at * width
        width = width * extent
    assert places is not None, "there is an axis"
    return input, places.expand(*input.shape)


def _parts_max(input: Tensor, axis: int, size: int) -> tuple[Tensor, Tensor, Callable[[Tensor], Tensor]]:
    """The maxima of `size` parts that cover an axis, their positions there, and what takes others from these.

    Each part by its positions, of which the last one is repeated.
    """
    extent = input.shape[axis]
    # The parts begin at multiples of extent / size, rounded down: at that many points of a whole they differ.
    if isinstance(extent, int):
        over, step = extent % size, gcd(extent, size)
        longest = extent // size + (0 if over == 0 else 1 if over == step else 2)
    else:
        longest = extent // size + 2
    part = arange(size)
    last = -(-(part + 1) * extent // size) - 1
    places = minimum((part * extent // size).unsqueeze(1) + arange(longest), last.unsqueeze(1))
    parts = input.index_select(axis, places.flatten())
    parts = parts.reshape(*input.shape[:axis], size, longest, *input.shape[axis + 1 :])
    chosen = parts.argmax(axis + 1, True)
    behind = (1,) * (input.ndim - axis - 1)
    at = places.reshape(size, longest, *behind).expand(*parts.shape).gather(axis + 1, chosen).squeeze(axis + 1)
    return parts.gather(axis + 1, chosen).squeeze(axis + 1), at, lambda others: others.gather(axis, at)


@checked
def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """As `interpolate`, PyTorch's newer name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@checked
def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """As `interpolate` with `mode="bilinear"` and `align_corners=True`."""
    return interpolate(input, size, scale_factor, "bilinear", True)


@checked
def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """As `interpolate`."""
    return interpolate(input, size, scale_factor)
