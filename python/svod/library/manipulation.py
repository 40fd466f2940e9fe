"""Shapes, types and order: the same elements elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod._svod import ArgumentError, Tensor, cat

__all__ = [
    "astype",
    "broadcast_to",
    "concat",
    "diff",
    "expand_dims",
    "flip",
    "matmul",
    "matrix_transpose",
    "permute_dims",
    "reshape",
    "roll",
    "squeeze",
]


def astype(x: Tensor, dtype: Any, /) -> Tensor:
    """Each value as another type: floats truncate and saturate to integers, integers wrap."""
    return x.astype(dtype)


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """Dimensions of extent 1 repeated to these extents."""
    return x.broadcast_to(*shape)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Tensor:
    """The tensors one after the other along an axis."""
    return cat(arrays, axis)


def diff(
    x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The `n`-th differences of neighbours along an axis, `n` fewer; of bools whether they differ.

    `prepend` and `append` go before and behind `x` along the axis first; NumPy's scalars are repeated.

    >>> import svod
    >>> svod.diff(svod.Tensor([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """
    if n < 0:
        raise ArgumentError(f"diff: n is the number of differences to take, not {n}")
    edges = [one if one is None or one.ndim else one.expand(_one_slice(x, axis)) for one in (prepend, append)]
    parts = [one for one in (edges[0], x, edges[1]) if one is not None]
    whole = cat(parts, axis) if len(parts) > 1 else x
    for _ in range(n):
        length = whole.size(axis)
        if length == 0:
            break
        later, earlier = whole.narrow(axis, 1, length - 1), whole.narrow(axis, 0, length - 1)
        whole = later != earlier if whole.dtype == "bool" else later - earlier
    return whole


def _one_slice(x: Tensor, axis: int) -> tuple[Any, ...]:
    """The shape of one slice across an axis."""
    shape = [*x.shape]
    shape[axis] = 1
    return tuple(shape)


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A new dimension of extent 1 at this position of the result."""
    return x.unsqueeze(axis)


def flip(x: Tensor, /, *, axis: int | Sequence[int] | None = None) -> Tensor:
    """These dimensions in reverse order, by default all."""
    return x.flip(axis=axis)


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The matrix product, by NumPy's rules."""
    return x1.matmul(x2)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged."""
    return x.mT


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""
    return x.permute(*axes)


def reshape(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """The same elements in row-major order under other extents; one -1 is inferred."""
    return x.reshape(tuple(shape))


def roll(x: Tensor, /, shift: int, *, axis: int | None = None) -> Tensor:
    """The elements of an axis moved towards its end, those beyond it to its start."""
    return x.roll(shift, axis=axis)


def squeeze(x: Tensor, /, axis: int | Sequence[int] | None = None) -> Tensor:
    """Without these dimensions of extent 1, by default all of them."""
    return x.squeeze(axis)
