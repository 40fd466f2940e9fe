"""Rows of tables by index, and what bags of them come to."""

from __future__ import annotations

from typing import NamedTuple

from svod._arguments import checked
from svod._svod import ArgumentError, ShapeError, Tensor, UnsupportedError, arange, where, zeros
from svod.nn._statistics import written

__all__ = ["embedding", "embedding_bag"]


@checked
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Row `input[...]` of `weight` for every entry of an integer tensor: shape `input.shape + (dim,)`.

    Negative entries count from the end, as indices do everywhere; those that are out of range are an `IndexError`.
    The row `padding_idx` gets no gradient. With `max_norm` the rows that are taken, and longer by the `norm_type`-norm,
    become so long in `weight`. With `scale_grad_by_freq` a row's gradient is divided by how often it was taken.
    """
    if sparse:
        raise UnsupportedError("embedding: sparse=True, but gradients are dense")
    padding_idx = _row("embedding", padding_idx, weight)
    if max_norm is not None:
        weight = _renormed(weight, input, max_norm, norm_type)
    rows = weight[input]
    if scale_grad_by_freq:
        flat = where(input < 0, input + weight.shape[0], input).flatten()
        counts = zeros((weight.shape[0],), dtype="int64").index_add(0, flat, flat.ones_like().cast("int64"))
        part = rows / counts.take(flat, 0).reshape(*input.shape, 1).cast(rows.dtype)
        rows = rows.detach() + (part - part.detach())
    return rows if padding_idx is None else where((input == padding_idx).unsqueeze(-1), rows.detach(), rows)


def _row(name: str, padding_idx: int | None, weight: Tensor) -> int | None:
    """The row that does not count, from the start; negative ones are from the end."""
    rows = weight.shape[0]
    if padding_idx is None or not isinstance(rows, int):
        return padding_idx
    if not -rows <= padding_idx < rows:
        raise ArgumentError(f"{name}: padding_idx: {padding_idx} is no row of {rows}")
    return padding_idx % rows


def _renormed(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """A table of which rows that are named become at most so long; it is changed."""
    length = weight.detach().norm(norm_type, -1, True)
    named = zeros((weight.shape[0],), dtype="bool").scatter(0, index.flatten(), True).unsqueeze(-1)
    written(weight, where(named & (length > max_norm), weight.detach() * (max_norm / (length + 1e-7)), weight.detach()))
    return weight


@checked
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The `"mean"`, `"sum"` or `"max"` of rows of `weight`, by bags: the rows of a `(bags, length)` tensor of integers.

    Or the parts of a 1-d one that begin at `offsets`, of which the last one with `include_last_offset` is where the
    last part ends. `per_sample_weights`, of the shape of `input`, multiply the rows of a sum. Rows `padding_idx` do not
    count; bags without rows are 0. Other options are those of `embedding`.
    """
    return _bags(
        input,
        weight,
        offsets,
        max_norm,
        norm_type,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    ).result


class Bags(NamedTuple):
    """What bags of rows come to, and of what."""

    # A row for each bag.
    result: Tensor
    # The bag of each index.
    bag: Tensor
    # How many rows each bag has.
    counts: Tensor
    # Where each maximum is from, or 0 where there is none; of other modes None.
    maxima: Tensor | None


def _bags(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    max_norm: float | None,
    norm_type: float,
    scale_grad_by_freq: bool,
    mode: str,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> Bags:
    """See `embedding_bag`."""
    if mode not in ("mean", "sum", "max"):
        raise ArgumentError(f'embedding_bag: mode is "mean", "sum" or "max", not {mode!r}')
    if per_sample_weights is not None and mode != "sum":
        raise ArgumentError(f"embedding_bag: weights are for a sum, not for mode={mode!r}")
    if (input.ndim == 1) != (offsets is not None) or input.ndim > 2:
        raise ShapeError(f"embedding_bag: 1 dimension with offsets, or 2 without: {tuple(input.shape)}")
    padding_idx = _row("embedding_bag", padding_idx, weight)
    if offsets is not None and include_last_offset:
        offsets = offsets[:-1]
    if offsets is None:
        count = input.shape[0]
        bag = arange(count).unsqueeze(1).expand(*input.shape).flatten()
    else:
        count = offsets.shape[0]
        bag = (arange(input.shape[0]).unsqueeze(1) >= offsets.unsqueeze(0)).sum(1) - 1
    ids = input.flatten()
    rows = embedding(ids, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.flatten().unsqueeze(-1)
    kept = ids.ones_like().cast(rows.dtype) if padding_idx is None else (ids != padding_idx).cast(rows.dtype)
    counts = zeros((count,), dtype=rows.dtype).index_add(0, bag, kept).unsqueeze(-1)
    start = zeros((count, weight.shape[1]), dtype=rows.dtype)
    if mode == "max":
        rows = where(kept.unsqueeze(-1) > 0, rows, float("-inf"))
        index = bag.unsqueeze(-1).expand(*rows.shape)
        largest = (start - float("inf")).scatter_reduce(0, index, rows, "amax")
        number = ids.shape[0]
        at = where(rows == largest.take(bag, 0), arange(number).unsqueeze(1), number)
        first = zeros((count, weight.shape[1]), dtype="int64") + number
        first = first.scatter_reduce(0, index, at, "amin")
        none = ids.pad([(0, 1)])
        maxima = none.take(first.flatten(), 0).reshape(first.shape)
        return Bags(where(counts > 0, largest, 0.0), bag, counts, maxima)
    total = start.index_add(0, bag, where(kept.unsqueeze(-1) > 0, rows, 0.0))
    return Bags(total / counts.maximum(1) if mode == "mean" else total, bag, counts, None)
