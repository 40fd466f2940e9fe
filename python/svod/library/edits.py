"""Elements put in, taken out, and put around: as NumPy's functions of these names, each gives a new tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from svod._place import device_of, made_beside
from svod._svod import ArgumentError, IndexError, ShapeError, Tensor, _operands, arange, cat, zeros
from svod.library._axes import axis_of
from svod.library._spelling import beside
from svod.library.manipulation import _extents

__all__ = ["append", "copy", "delete", "insert", "pad", "resize", "trim_zeros"]

_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def append(x: Any, values: Any, /, axis: int | None = None) -> Tensor:
    """Values behind those of a tensor along an axis; by default behind all of its elements, in one line.

    >>> import svod
    >>> svod.append(svod.Tensor([1, 2]), [3, 4]).tolist()
    [1, 2, 3, 4]
    """
    first, second = _operands(x, values)
    if axis is None:
        return cat([first.flatten(), second.flatten()], 0)
    if first.ndim != second.ndim:
        raise ShapeError(f"append: shapes {first.shape} and {second.shape} do not have the same number of axes")
    return cat([first, second], axis)


def copy(x: Tensor, /) -> Tensor:
    """The same elements in memory of their own. A tensor is a value: another name is as good.

    >>> import svod
    >>> svod.Tensor([1, 2]).copy().tolist()
    [1, 2]
    """
    return x.clone()


def delete(x: Tensor, obj: Any, /, axis: int | None = None) -> Tensor:
    """The tensor without what is at an index, a slice, several indices or a mask of an axis, by default of
    all elements.

    >>> import svod
    >>> svod.delete(svod.Tensor([1, 2, 3, 4]), [0, 2]).tolist()
    [2, 4]
    """
    x, axis = _line("delete", x, axis)
    extent = _extent("delete", x, axis)
    try:
        kept = np.delete(np.arange(extent), _host(obj))
    except (ValueError, LookupError) as error:
        raise IndexError(f"delete: obj: {obj!r} is no part of axis {axis}, whose extent is {extent}") from error
    return _picked(x, axis, kept)


def insert(x: Tensor, obj: Any, values: Any, /, axis: int | None = None) -> Tensor:
    """Values before an index, or before each of several, of an axis, by default of the flat tensor.

    Values are of the tensor's type, and expand to what is put in. Indices count before anything is put in.

    >>> import svod
    >>> svod.insert(svod.Tensor([1, 2, 3]), [0, 2], [7, 9]).tolist()
    [7, 1, 2, 9, 3]
    """
    x, axis = _line("insert", x, axis)
    extent = _extent("insert", x, axis)
    given = _host(obj)
    at = np.arange(extent)[given] if isinstance(given, slice) else np.asarray(given)
    if at.dtype == bool:
        at = np.flatnonzero(at)
    if at.size and (at.dtype.kind not in "iu" or at.max() > extent or at.min() < -extent or at.ndim > 1):
        raise IndexError(f"insert: obj: {obj!r} is no part of axis {axis}, whose extent is {extent}")
    new = beside(values, [x]).cast(x.dtype)
    if new.ndim > x.ndim:
        raise ShapeError(f"insert: values: shape {new.shape} does not fit {x.shape}")
    new = new.reshape(*[1] * (x.ndim - new.ndim), *new.shape)
    if at.size == 1:
        new = new.movedim(0, axis) if at.ndim == 0 else new
        at = np.repeat(at.reshape(1), int(new.shape[axis]))
    at = np.where(at < 0, at + extent, at).astype(np.int64)
    shape = (*x.shape[:axis], len(at), *x.shape[axis + 1 :])
    try:
        new = new.expand(*shape)
    except ShapeError as error:
        raise ShapeError(f"insert: values: shape {new.shape} does not expand to {shape}, what is put in") from error
    before = at.argsort(kind="stable")
    put = np.empty_like(at)
    put[before] = at[before] + np.arange(len(at))
    order = np.empty(extent + len(at), np.int64)
    order[put] = extent + np.arange(len(at))
    order[np.delete(np.arange(len(order)), put)] = np.arange(extent)
    return _picked(cat([x, new], axis), axis, order)


def pad(x: Tensor, pad_width: Any, /, mode: str = "constant", *, constant_values: Any = 0) -> Tensor:
    """More elements before and behind those of each axis.

    `pad_width` is a number, a pair `(before, behind)` for all axes, or such a pair for each axis. They are
    `constant_values`, which are written as the widths are; with `"edge"` the nearest element; with `"reflect"` and
    `"symmetric"` what is mirrored at the edge, without and with the edge itself; with `"wrap"` what is at the other
    end.

    >>> import svod
    >>> svod.pad(svod.Tensor([1, 2, 3]), (2, 1), mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """
    widths = _pairs("pad_width", pad_width, x.ndim)
    if widths.dtype.kind not in "iu" or (widths.size and widths.min() < 0):
        raise ArgumentError(f"pad: pad_width: numbers that are not negative are expected, not {pad_width!r}")
    if mode not in _MODES:
        raise ArgumentError(f"pad: mode is one of {list(_MODES)}, not {mode!r}")
    if mode == "constant":
        return _with_constants(x, widths, _pairs("constant_values", constant_values, x.ndim))
    for axis, (before, behind) in enumerate(widths.tolist()):
        if before or behind:
            extent = _extent("pad", x, axis)
            if extent == 0:
                raise ShapeError(f"pad: axis {axis} of {x.shape} has nothing that {mode!r} could repeat")
            how: Any = mode
            x = _picked(x, axis, np.pad(np.arange(extent), (before, behind), mode=how))
    return x


def resize(x: Tensor, new_shape: int | Sequence[int], /) -> Tensor:
    """The elements in row-major order in another shape, from the first on again as often as that takes.

    >>> import svod
    >>> svod.resize(svod.Tensor([1, 2, 3]), (2, 4)).tolist()
    [[1, 2, 3, 1], [2, 3, 1, 2]]
    """
    shape = tuple(_extents(new_shape))
    if any(isinstance(extent, int) and extent < 0 for extent in shape):
        raise ArgumentError(f"resize: new_shape: extents that are not negative are expected, not {new_shape!r}")
    size, many = math.prod(shape), x.numel()
    if isinstance(many, int) and many == 0:
        return zeros(*shape, dtype=x.dtype, device=device_of(x))
    return x.flatten().take(arange(size, device=device_of(x)) % many, 0).reshape(*shape)


def trim_zeros(x: Tensor, trim: str = "fb", /, axis: int | Sequence[int] | None = None) -> Tensor:
    """The tensor without zeros at the front, "f", and at the back, "b", of each axis, or of some; computed now.

    >>> import svod
    >>> svod.trim_zeros(svod.Tensor([0, 0, 1, 0, 2, 0])).tolist()
    [1, 0, 2]
    """
    if not isinstance(trim, str) or trim.lower() not in ("fb", "bf", "f", "b"):
        raise ArgumentError(f"trim_zeros: trim is 'f', 'b' or both, not {trim!r}")
    given = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    axes = [axis_of("trim_zeros", one, x.ndim) for one in given]
    there = np.argwhere((x != 0).numpy())
    for at in axes:
        first, last = (there[:, at].min(), there[:, at].max() + 1) if len(there) else (0, 0)
        first = first if "f" in trim.lower() else 0
        last = last if "b" in trim.lower() or not len(there) else x.shape[at]
        x = x.narrow(at, int(first), int(last - first))
    return x


def _with_constants(x: Tensor, widths: Any, values: Any) -> Tensor:
    """As many elements around, axis by axis, so that those of a later one are in the corners."""
    # Layers take time to load, and are for nothing else here.
    from svod.nn import functional as F

    if len({*values.ravel().tolist()}) <= 1:
        value = values.ravel()[0].item() if values.size else 0
        return F.pad(x, widths[::-1].ravel().tolist(), value=value)
    for axis, (pair, of) in enumerate(zip(widths.tolist(), values.tolist(), strict=True)):
        for side in (0, 1):
            around = [0, 0] * (x.ndim - 1 - axis) + [pair[0] * (side == 0), pair[1] * (side == 1)]
            x = F.pad(x, around, value=of[side])
    return x


def _pairs(name: str, given: Any, axes: int) -> Any:
    """A pair of numbers for each axis."""
    try:
        return np.broadcast_to(np.asarray(_host(given)), (axes, 2))
    except ValueError:
        message = f"pad: {name}: a number, a pair, or a pair for each of {axes} axes is expected, not {given!r}"
        raise ArgumentError(message) from None


def _picked(x: Tensor, axis: int, positions: Any) -> Tensor:
    """The elements at positions of an axis, which are known here."""
    return x.index_select(axis, made_beside(x, positions))


def _host(given: Any) -> Any:
    return given.numpy() if isinstance(given, Tensor) else given


def _line(name: str, x: Tensor, axis: int | None) -> tuple[Tensor, int]:
    """The tensor, without an axis in one line, and the axis, counted from the first."""
    if axis is None:
        return x.flatten(), 0
    return x, axis_of(name, axis, x.ndim)


def _extent(name: str, x: Tensor, axis: int) -> int:
    extent = x.shape[axis]
    if not isinstance(extent, int):
        raise ShapeError(f"{name}: the extent of axis {axis}, {extent}, has to be known")
    return extent
