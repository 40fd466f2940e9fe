"""Where elements are: sorting, searching, counting, and looking up by index."""

from __future__ import annotations

from typing import Any

from svod._svod import (
    ArgumentError,
    ArgumentTypeError,
    IndexError,
    ShapeError,
    Tensor,
    ValuesAndIndices,
    _operands,
    _tensor,
    where,
    zeros,
)
from svod.library._axes import axis_of

__all__ = [
    "argpartition",
    "argsort",
    "count_nonzero",
    "flatnonzero",
    "lexsort",
    "nonzero",
    "partition",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
]


def argpartition(x: Tensor, kth: Any, /, axis: int | None = -1) -> Tensor:
    """Where the elements along an axis are in an order in which that at `kth` has its place: all have, as in `argsort`.

    >>> import svod
    >>> svod.argpartition(svod.Tensor([3, 1, 2]), 1).tolist()
    [1, 2, 0]
    """
    x, axis = (x.flatten(), 0) if axis is None else (x, axis)
    _in_place("argpartition", x, kth, axis)
    return x.argsort(axis)


def argsort(
    x: Tensor, /, axis: int | None = -1, descending: bool = False, stable: bool = True, *, kind: str | None = None
) -> Tensor:
    """Where the elements along an axis, by default the last, are, in order; with None, those of the flat tensor.
    Stable, whichever `kind` is asked for; NaN is the greatest value."""
    _kind("argsort", kind)
    x, axis = (x.flatten(), 0) if axis is None else (x, axis)
    return x.argsort(axis, descending)


def count_nonzero(x: Tensor, /, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    """The number of elements along axes, by default all, that are not zero.

    >>> import svod
    >>> svod.count_nonzero(svod.Tensor([[1, 0], [2, 3]]), axis=0).tolist()
    [2, 1]
    """
    return (x != 0).sum(axis, keepdims)


def flatnonzero(x: Tensor, /) -> Tensor:
    """The positions of the elements that are not zero in the flat tensor; computed now.

    >>> import svod
    >>> svod.flatnonzero(svod.Tensor([[0, 1], [1, 0]])).tolist()
    [1, 2]
    """
    rows: Tensor = x.flatten().nonzero()
    return rows[:, 0]


def lexsort(keys: Any, /, axis: int = -1) -> Tensor:
    """Where elements are in the order of several keys, of which the last is the first to be compared. Stable.

    >>> import svod
    >>> svod.lexsort(([3, 1, 2], [0, 1, 0])).tolist()
    [2, 0, 1]
    """
    several = [_tensor(key) for key in keys]
    if not several or any(key.shape != several[0].shape or key.ndim == 0 for key in several):
        raise ShapeError(f"lexsort: keys of one shape are expected, not {[tuple(key.shape) for key in several]}")
    order = several[0].argsort(axis)
    for key in several[1:]:
        order = take_along_axis(order, take_along_axis(key, order, axis).argsort(axis), axis)
    return order


def nonzero(x: Tensor, /, *, as_tuple: bool = True) -> Any:
    """The indices, along each dimension, of the elements that are not zero; computed now. Without `as_tuple`, rows."""
    if as_tuple and x.ndim == 0:
        raise ShapeError(f"nonzero: at least one dimension is expected, not {x.dtype}[]: see atleast_1d")
    return x.nonzero(as_tuple=as_tuple)


def partition(x: Tensor, kth: Any, /, axis: int | None = -1) -> Tensor:
    """The elements along an axis in an order in which that at `kth` has its place: all have, as in `sort`.

    >>> import svod
    >>> svod.partition(svod.Tensor([3, 1, 2]), 1).tolist()
    [1, 2, 3]
    """
    x, axis = (x.flatten(), 0) if axis is None else (x, axis)
    _in_place("partition", x, kth, axis)
    return x.sort(axis)[0]


def searchsorted(
    x1: Tensor,
    x2: Any,
    /,
    side: str = "left",
    sorter: Tensor | None = None,
    *,
    right: bool = False,
    out_int32: bool = False,
) -> Tensor:
    """Where elements of `x2` would be put into `x1`, which is sorted, or is so in the order of `sorter`.

    Of more than one dimension, each vector of `x2` into that of `x1` at its place.

    Before those that are equal, or, with `side="right"` or `right`, behind them; in `int32` if that is asked for.

    >>> import svod
    >>> svod.searchsorted(svod.Tensor([3, 1, 2]), 2, sorter=svod.Tensor([1, 2, 0])).item()
    1
    """
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    right = right or side == "right"
    if x1.ndim > 1 and sorter is not None:
        x1, sorter = x1.take_along_dim(sorter, -1), None
    ordered, values = _operands(x1 if sorter is None else x1.take(sorter, 0), x2)
    found = _counted_before(ordered, values, right) if ordered.ndim > 1 else ordered.searchsorted(values, right=right)
    return found.cast("int32") if out_int32 else found


def _counted_before(ordered: Tensor, values: Tensor, right: bool) -> Tensor:
    """How many elements of vectors, which are sorted, are before those of others; NaN is the greatest value.

    A binary search, where the number of elements is known.
    """
    if ordered.shape[:-1] != values.shape[:-1]:
        raise ShapeError(f"searchsorted: vectors at as many places are expected, not {ordered.shape}, {values.shape}")
    count = ordered.shape[-1]
    if not isinstance(count, int):
        return _goes_before(ordered.unsqueeze(-2), values.unsqueeze(-1), right).sum(-1)
    found = zeros(*values.shape, dtype="int64")
    for bit in reversed(range(count.bit_length())):
        further = found + 2**bit
        last = ordered.take_along_dim(further.minimum(count) - 1, -1)
        found = where((further <= count) & _goes_before(last, values, right), further, found)
    return found


def _goes_before(one: Tensor, other: Tensor, right: bool) -> Tensor:
    before = (one <= other) if right else (one < other)
    if one.dtype.is_floating_point:
        before = before | (other.isnan() if right else other.isnan() & one.isnan().logical_not())
    return before


def sort(
    x: Tensor,
    /,
    dim: int | None = None,
    descending: bool = False,
    *,
    stable: bool = True,
    axis: int | None = -1,
    kind: str | None = None,
) -> Tensor | ValuesAndIndices:
    """The elements along an axis, by default the last, in order; with `axis=None`, those of the flat tensor. Stable,
    NaN is the greatest value.

    With `dim`, by name or position, PyTorch's pair of them and where they were.
    """
    _kind("sort", kind)
    if dim is not None:
        if axis != -1:
            raise ArgumentTypeError("sort: axis and dim are one argument: give only one of them")
        return x.sort(dim, descending)
    x, axis = (x.flatten(), 0) if axis is None else (x, axis)
    return x.sort(axis, descending).values


def take(x: Tensor, indices: Tensor, /, axis: int | None = None) -> Tensor:
    """An axis indexed by integers, which take its place; without one, the flat tensor."""
    return x.take(indices, axis)


def take_along_axis(x: Tensor, indices: Tensor, /, axis: int | None = -1) -> Tensor:
    """For each index along an axis, by default the last, the element there; with None, in the flat tensor."""
    x, axis = (x.flatten(), 0) if axis is None else (x, axis)
    return x.take_along_dim(indices, axis)


def _in_place(name: str, x: Tensor, kth: Any, axis: int) -> None:
    """Whether there are such places along the axis."""
    extent = x.shape[axis_of(name, axis, x.ndim)] if x.ndim else 1
    for k in _tensor(kth).reshape(-1).tolist():
        if not isinstance(k, int) or not -extent <= k < extent:
            raise IndexError(f"{name}: kth: {k} is no place on axis {axis}, whose extent is {extent}")


def _kind(name: str, kind: str | None) -> None:
    kinds = ("quicksort", "mergesort", "heapsort", "stable")
    if kind is not None and kind not in kinds:
        raise ArgumentError(f"{name}: kind is one of {list(kinds)}, not {kind!r}")
