"""Functions under the names of the Python array API standard, beside those of the compiled module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod._svod import ArgumentError, ArgumentTypeError, DType, Tensor, ValuesAndIndices, cat

__all__ = [
    "argsort",
    "asarray",
    "astype",
    "broadcast_to",
    "clip",
    "concat",
    "cumulative_prod",
    "cumulative_sum",
    "divide",
    "expand_dims",
    "flip",
    "full_like",
    "matmul",
    "matrix_transpose",
    "nonzero",
    "ones_like",
    "permute_dims",
    "reshape",
    "roll",
    "searchsorted",
    "sort",
    "squeeze",
    "take",
    "take_along_axis",
    "tril",
    "triu",
    "unique_values",
    "zeros_like",
]

concat = cat

astype = Tensor.astype

Axis = int | Sequence[int] | None


def _tensor(x: Any, other: Any = None) -> Tensor:
    """A tensor, or what becomes one: lists, arrays, and scalars, in the type of the tensor that they meet."""
    if isinstance(x, Tensor):
        return x
    weak = isinstance(x, (bool, int, float)) and isinstance(other, Tensor)
    return Tensor(x, (other * x).dtype) if weak else Tensor(x)


def _either(axis: Any, dim: Any, default: Any = None) -> Any:
    """The one of two names for an argument that was used."""
    if axis is not None and dim is not None:
        raise ArgumentTypeError("axis and dim are one argument: give only one of them")
    given = dim if axis is None else axis
    return default if given is None else given


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """`obj` as a tensor: a copy, unless it is one."""
    return Tensor(obj, dtype, device)


def _like(x: Any, dtype: Any, device: str | None) -> Tensor:
    """What has the shape, type and device that a new tensor is to have."""
    like: Tensor = _tensor(x)
    return like if dtype is None and device is None else like.to(dtype=dtype, device=device)


def full_like(x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """One value in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).full_like(fill_value)


def ones_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).ones_like()


def zeros_like(x: Tensor, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros in a tensor's shape, and in its type and on its device, unless others are named."""
    return _like(x, dtype, device).zeros_like()


def argsort(
    x: Tensor, /, *, axis: int | None = None, descending: bool = False, stable: bool = True, dim: int | None = None
) -> Tensor:
    """Where the elements along an axis, by default the last, are, in order. Stable; NaN is the greatest value."""
    return _tensor(x).argsort(_either(axis, dim, -1), descending)


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """Dimensions of extent 1 repeated to these extents."""
    return _tensor(x).broadcast_to(*shape)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, dim: int | None = None
) -> Tensor:
    """The products of the elements up to each one along an axis, which a 1-d tensor need not name."""
    x = _tensor(x)
    return x.cumprod(_either(axis, dim, 0 if x.ndim == 1 else None), dtype=dtype)


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, dim: int | None = None
) -> Tensor:
    """The sums of the elements up to each one along an axis, which a 1-d tensor need not name."""
    x = _tensor(x)
    return x.cumsum(_either(axis, dim, 0 if x.ndim == 1 else None), dtype=dtype)


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Not below `min` and not above `max`; NaN stays."""
    return _tensor(x).clip(min, max)


def divide(x1: Any, x2: Any, /) -> Tensor:
    """True quotient, integers becoming floats."""
    return _tensor(x1, x2).div(x2)


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product, by NumPy's rules."""
    return _tensor(x1).matmul(x2)


def expand_dims(x: Tensor, /, axis: int | None = None, *, dim: int | None = None) -> Tensor:
    """A new dimension of extent 1 at this position of the result."""
    return _tensor(x).unsqueeze(_either(axis, dim, 0))


def flip(x: Tensor, /, *, axis: Axis = None, dim: Axis = None) -> Tensor:
    """These dimensions in reverse order, by default all."""
    return _tensor(x).flip(axis=axis, dim=dim)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged."""
    return _tensor(x).mT


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices, along each dimension, of the elements that are not zero; computed now."""
    found: tuple[Tensor, ...] = _tensor(x).nonzero(as_tuple=True)
    return found


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""
    return _tensor(x).permute(*axes)


def reshape(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """The same elements in row-major order under other extents; one -1 is inferred."""
    return _tensor(x).reshape(tuple(shape))


def roll(x: Tensor, /, shift: int, *, axis: int | None = None, dim: int | None = None) -> Tensor:
    """The elements of an axis moved towards its end, those beyond it to its start."""
    return _tensor(x).roll(shift, axis=axis, dim=dim)


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where elements of `x2` would be put into the sorted `x1`."""
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    return (x1 if sorter is None else x1.take(sorter)).searchsorted(x2, right=side == "right")


def sort(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    descending: bool = False,
    stable: bool = True,
    dim: int | None = None,
) -> Tensor | ValuesAndIndices:
    """The elements along an axis, by default the last, in order; stable, NaN is the greatest value.

    With `dim`, PyTorch's pair of them and where they were.
    """
    found = _tensor(x).sort(_either(axis, dim, -1), descending)
    return found.values if dim is None else found


def squeeze(x: Tensor, /, axis: Axis = None, *, dim: Axis = None) -> Tensor:
    """Without these dimensions of extent 1, by default all of them."""
    return _tensor(x).squeeze(dim, axis=axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None, dim: int | None = None) -> Tensor:
    """An axis indexed by integers, which take its place; without one, the flat tensor."""
    return _tensor(x).take(indices, axis, dim=dim)


def take_along_axis(x: Tensor, indices: Tensor, /, axis: int | None = None, *, dim: int | None = None) -> Tensor:
    """For each index along an axis, by default the last, the element there."""
    return _tensor(x).take_along_dim(indices, _either(axis, dim, -1))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""
    return _tensor(x).tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""
    return _tensor(x).triu(k)


def unique_values(x: Tensor, /) -> Tensor:
    """The values, each once, sorted; computed now."""
    return _tensor(x).unique()
