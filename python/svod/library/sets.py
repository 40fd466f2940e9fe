"""Which values there are. How many are found depends on the values, so that these are computed when they are called."""

from __future__ import annotations

from typing import Any, NamedTuple

from svod._svod import Tensor, _operands, arange, cat, ones, zeros

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """The values, each once; where each is first; which one each element is; how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The values, each once, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The values, each once, and which one each element is."""

    values: Tensor
    inverse_indices: Tensor


def intersect1d(x1: Any, x2: Any, /, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The values that both have, sorted, each once; with `return_indices` also where each is first in either.

    >>> import svod
    >>> svod.intersect1d([3, 1, 2], [2, 3, 5]).tolist()
    [2, 3]
    """
    first, second = (one.flatten() for one in _operands(x1, x2))
    if not return_indices:
        values = unique_values(first)
        return values[isin(values, second)]
    one, two = unique_all(first), unique_all(second)
    in_one, in_two = isin(one.values, two.values), isin(two.values, one.values)
    return one.values[in_one], one.indices[in_one], two.indices[in_two]


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
    """Of each element of `x1` whether it is among those of `x2`; with `invert` whether it is not. NaN is in no set.

    By a search in the sorted `x2`, in any order of both.

    >>> import svod
    >>> svod.isin(svod.Tensor([1, 5, 3]), svod.Tensor([3, 1])).tolist()
    [True, False, True]
    """
    x, among = _operands(x1, x2)
    if among.numel() == 0:
        found = zeros(*x.shape, dtype="bool")
    else:
        values, sought = among.flatten(), x.flatten()
        if x.dtype.is_complex:
            # The positions of values among all are as good, and have an order.
            ranks = _ranks(cat([values, sought], 0)).inverse
            values, sought = ranks[: values.numel()], ranks[values.numel() :]
        ordered = values.sort(0).values
        at = ordered.searchsorted(sought).clamp(max=ordered.numel() - 1)
        found = (ordered.take(at, 0) == sought).reshape(x.shape)
    return ~found if invert else found


def setdiff1d(x1: Any, x2: Any, /, assume_unique: bool = False) -> Tensor:
    """The values of `x1` that `x2` does not have, sorted, each once; with `assume_unique` as they come.

    >>> import svod
    >>> svod.setdiff1d([3, 1, 2, 1], [2, 5]).tolist()
    [1, 3]
    """
    values = _operands(x1, x2)[0].flatten()
    values = values if assume_unique else unique_values(values)
    return values[isin(values, x2, invert=True)]


def setxor1d(x1: Any, x2: Any, /, assume_unique: bool = False) -> Tensor:
    """The values that just one of both has, sorted, each once.

    >>> import svod
    >>> svod.setxor1d([1, 2, 3], [2, 4]).tolist()
    [1, 3, 4]
    """
    first, second = _operands(x1, x2)
    return union1d(setdiff1d(first, second), setdiff1d(second, first))


def union1d(x1: Any, x2: Any, /) -> Tensor:
    """The values that one of both has, sorted, each once.

    >>> import svod
    >>> svod.union1d([3, 1], [2, 1]).tolist()
    [1, 2, 3]
    """
    first, second = _operands(x1, x2)
    return unique_values(cat([first.flatten(), second.flatten()], 0))


def unique_all(x: Tensor, /) -> UniqueAll:
    """The sorted values, each once, where each is first in the flat `x`, which one each element is, and their counts.

    Each NaN is a value of its own.

    >>> import svod
    >>> [part.tolist() for part in svod.unique_all(svod.Tensor([3, 1, 3]))]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    flat = x.flatten()
    n = flat.numel()
    if n == 0:
        none = zeros(0, dtype="int64")
        return UniqueAll(flat, none, none.reshape(x.shape), none)
    order, begins, inverse = _ranks(flat)
    starts, counts = _runs(begins)
    return UniqueAll(flat.take(order.take(starts, 0), 0), order.take(starts, 0), inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The sorted values, each once, and how often each occurs.

    >>> import svod
    >>> [part.tolist() for part in svod.unique_counts(svod.Tensor([3, 1, 3]))]
    [[1, 3], [1, 2]]
    """
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The sorted values, each once, and which one each element is, in the shape of `x`.

    >>> import svod
    >>> [part.tolist() for part in svod.unique_inverse(svod.Tensor([3, 1, 3]))]
    [[1, 3], [1, 0, 1]]
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Tensor, /) -> Tensor:
    """The values, each once, sorted; each NaN counts. Complex numbers are sorted by their real parts, then the others.

    >>> import svod
    >>> svod.unique_values(svod.Tensor([3, 1, 3])).tolist()
    [1, 3]
    """
    return unique_all(x).values if x.dtype.is_complex else x.flatten()._unique()


def _runs(begins: Tensor) -> tuple[Tensor, Tensor]:
    """Where runs of equal elements begin, and how long they are; computed now."""
    starts = begins.nonzero(as_tuple=True)[0]
    n = begins.numel()
    return starts, cat([starts[1:], arange(n, n + 1)], 0) - starts


class _Ranks(NamedTuple):
    """The order that sorts, where of the sorted elements another value begins, and which value each element is."""

    order: Tensor
    begins: Tensor
    inverse: Tensor


def _ranks(flat: Tensor) -> _Ranks:
    """How the elements of a vector, which has some, are sorted."""
    if flat.dtype.is_complex:
        by_imag = flat.imag.argsort(0)
        order = by_imag.take(flat.real.take(by_imag, 0).argsort(0), 0)
    else:
        order = flat.argsort(0)
    ordered = flat.take(order, 0)
    begins = cat([ones(1, dtype="bool"), ordered[1:] != ordered[:-1]], 0)
    inverse = zeros(flat.numel(), dtype="int64").scatter(0, order, begins.cumsum(0) - 1)
    return _Ranks(order, begins, inverse)
