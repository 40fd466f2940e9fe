"""Pooling by windows that begin at random distances (Graham 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import Any

from svod._arguments import checked
from svod._place import device_of
from svod._svod import ArgumentError, ShapeError, Tensor, arange, float64, rand, where

__all__ = [
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]

_Numbers = int | Sequence[int]


@checked
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: _Numbers,
    output_size: _Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The maxima of windows over `(.., height, width)` at distances of one of two lengths, in random order.

    So many windows that the result has `output_size`, or `output_ratio` times the input's. `_random_samples`,
    `(batch, channels, 2)`, decide the distances; with `return_indices` also where each maximum was, in the flat axes.
    """
    made = _fractional("fractional_max_pool2d", input, 2, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


@checked
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: _Numbers,
    output_size: _Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """As `fractional_max_pool2d`, and the positions of what it takes."""
    return _fractional("fractional_max_pool2d", input, 2, kernel_size, output_size, output_ratio, _random_samples)


@checked
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: _Numbers,
    output_size: _Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """As `fractional_max_pool2d`, over `(.., depth, height, width)`."""
    made = _fractional("fractional_max_pool3d", input, 3, kernel_size, output_size, output_ratio, _random_samples)
    return made if return_indices else made[0]


@checked
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: _Numbers,
    output_size: _Numbers | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """As `fractional_max_pool3d`, and the positions of what it takes."""
    return _fractional("fractional_max_pool3d", input, 3, kernel_size, output_size, output_ratio, _random_samples)


def _fractional(
    name: str,
    input: Tensor,
    rank: int,
    kernel_size: _Numbers,
    output_size: _Numbers | None,
    output_ratio: float | Sequence[float] | None,
    samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The maxima and their positions."""
    if input.ndim not in (rank + 1, rank + 2):
        raise ShapeError(f"{name}: ([batch,] channels, ..) of {rank} axes more is expected, not {tuple(input.shape)}")
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError(f"{name}: either output_size or output_ratio")
    kernel = [kernel_size] * rank if isinstance(kernel_size, int) else list(kernel_size)
    extents = [int(extent) for extent in input.shape[-rank:]]
    if output_ratio is not None:
        ratios = list(output_ratio) if isinstance(output_ratio, Sequence) else [output_ratio] * rank
        sizes = [floor(extent * ratio) for extent, ratio in zip(extents, ratios, strict=True)]
    else:
        assert output_size is not None
        sizes = [output_size] * rank if isinstance(output_size, int) else list(output_size)
    for size, one, extent in zip(sizes, kernel, extents, strict=True):
        if not (one >= 1 and size >= 1 and size + one - 1 <= extent):
            raise ArgumentError(f"{name}: {size} windows of {one} elements of an axis of {extent}")
    batched = input if input.ndim == rank + 2 else input.unsqueeze(0)
    batch, channels = batched.shape[:2]
    drawn = (
        rand(batch, channels, rank, dtype=float64, device=device_of(batched))
        if samples is None
        else samples.cast(float64)
    )
    places: Any = 0
    for axis, (size, one, extent) in enumerate(zip(sizes, kernel, extents, strict=True)):
        u = drawn[..., axis].unsqueeze(-1)
        # PyTorch's samples are for the last axis first.
        if rank == 2:
            u = drawn[..., rank - 1 - axis].unsqueeze(-1)
        by = (extent - one) / (size - 1) if size > 1 else 0.0
        at = arange(size)
        first = ((at.cast(float64) + u) * by).trunc() - (u * by).trunc()
        first = where(at == size - 1, extent - one, first).long()
        along = first.unsqueeze(-1) + arange(one)
        # (batch, channels, windows of each axis.., elements of each axis..)
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = size, one
        places = places * extent + along.reshape(batch, channels, *shape)
    places = places.expand(batch, channels, *sizes, *kernel).flatten(2 + rank)
    values = batched.flatten(2).gather(2, places.flatten(2)).reshape(places.shape)
    chosen = values.argmax(-1, True)
    results = (values.gather(-1, chosen).squeeze(-1), places.gather(-1, chosen).squeeze(-1))
    return results if input.ndim == rank + 2 else (results[0].squeeze(0), results[1].squeeze(0))
