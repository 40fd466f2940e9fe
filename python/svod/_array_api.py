"""Functions under the names of the Python array API standard; each is a method of `Tensor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod._svod import DType, Tensor, cat

__all__ = [
    "abs",
    "add",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "asarray",
    "astype",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_xor",
    "broadcast_to",
    "ceil",
    "clip",
    "concat",
    "cos",
    "cumulative_prod",
    "cumulative_sum",
    "divide",
    "equal",
    "exp",
    "expand_dims",
    "flip",
    "floor",
    "floor_divide",
    "full_like",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_transpose",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "nonzero",
    "not_equal",
    "ones_like",
    "permute_dims",
    "pow",
    "prod",
    "reciprocal",
    "remainder",
    "reshape",
    "roll",
    "round",
    "searchsorted",
    "sign",
    "sin",
    "sort",
    "sqrt",
    "square",
    "squeeze",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tril",
    "triu",
    "trunc",
    "unique_values",
    "var",
    "zeros_like",
]

concat = cat

abs = Tensor.abs
add = Tensor.add
astype = Tensor.astype
bitwise_and = Tensor.bitwise_and
bitwise_invert = Tensor.bitwise_not
bitwise_or = Tensor.bitwise_or
bitwise_xor = Tensor.bitwise_xor
ceil = Tensor.ceil
clip = Tensor.clip
cos = Tensor.cos
divide = Tensor.div
equal = Tensor.eq
exp = Tensor.exp
floor = Tensor.floor
floor_divide = Tensor.floor_divide
full_like = Tensor.full_like
greater = Tensor.gt
greater_equal = Tensor.ge
isfinite = Tensor.isfinite
isinf = Tensor.isinf
isnan = Tensor.isnan
less = Tensor.lt
less_equal = Tensor.le
log = Tensor.log
log2 = Tensor.log2
logical_and = Tensor.logical_and
logical_not = Tensor.logical_not
logical_or = Tensor.logical_or
logical_xor = Tensor.logical_xor
matmul = Tensor.matmul
maximum = Tensor.maximum
minimum = Tensor.minimum
multiply = Tensor.mul
negative = Tensor.neg
not_equal = Tensor.ne
ones_like = Tensor.ones_like
pow = Tensor.pow
reciprocal = Tensor.reciprocal
remainder = Tensor.remainder
round = Tensor.round
sign = Tensor.sign
sin = Tensor.sin
sqrt = Tensor.sqrt
square = Tensor.square
subtract = Tensor.sub
tan = Tensor.tan
tanh = Tensor.tanh
trunc = Tensor.trunc
zeros_like = Tensor.zeros_like

Axis = int | Sequence[int] | None


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """`obj` as a tensor: a copy, unless it is one."""
    return Tensor(obj, dtype, device)


def all(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether all elements along axes are not zero."""
    return x.all(axis, keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Whether an element along axes is not zero."""
    return x.any(axis, keepdims)


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first index of the maximum along an axis, by default of the flat tensor."""
    return x.argmax(axis, keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The first index of the minimum along an axis, by default of the flat tensor."""
    return x.argmin(axis, keepdims)


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Where the elements along an axis are, in order. Stable; NaN is the greatest value."""
    return x.argsort(axis, descending)


def broadcast_to(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """Dimensions of extent 1 repeated to these extents."""
    return x.broadcast_to(*shape)


def cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None) -> Tensor:
    """The products of the elements up to each one along an axis."""
    return (x if dtype is None else x.cast(dtype)).cumprod(axis)


def cumulative_sum(x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None) -> Tensor:
    """The sums of the elements up to each one along an axis, which a 1-d tensor need not name."""
    if axis is None and x.ndim == 1:
        axis = 0
    return (x if dtype is None else x.cast(dtype)).cumsum(axis)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """A new dimension of extent 1 at this position of the result."""
    return x.unsqueeze(axis)


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """These dimensions in reverse order, by default all."""
    return x.flip(axis)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """The last two dimensions exchanged."""
    return x.mT


def max(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The maximum along axes, by default all; NaN where there is one."""
    return x.max(axis, keepdims)


def mean(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The mean along axes, by default all."""
    return x.mean(axis, keepdims)


def min(x: Tensor, /, *, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """The minimum along axes, by default all; NaN where there is one."""
    return x.min(axis, keepdims)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """The indices, along each dimension, of the elements that are not zero; computed now."""
    return tuple(x.nonzero())


def permute_dims(x: Tensor, /, axes: Sequence[int]) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""
    return x.permute(*axes)


def prod(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The product along axes, by default all."""
    return x.prod(axis, keepdims, dtype=dtype)


def reshape(x: Tensor, /, shape: Sequence[int]) -> Tensor:
    """The same elements in row-major order under other extents; one -1 is inferred."""
    return x.reshape(tuple(shape))


def roll(x: Tensor, /, shift: int, *, axis: int | None = None) -> Tensor:
    """The elements of an axis moved towards its end, those beyond it to its start."""
    return x.roll(shift, axis)


def searchsorted(x1: Tensor, x2: Tensor, /, *, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where elements of `x2` would be put into the sorted `x1`."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', not {side!r}")
    return (x1 if sorter is None else x1.take(sorter)).searchsorted(x2, right=side == "right")


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements along an axis in order. Stable; NaN is the greatest value."""
    return x.sort(axis, descending)[0]


def squeeze(x: Tensor, /, axis: int | Sequence[int]) -> Tensor:
    """Without these dimensions of extent 1."""
    return x.squeeze(axis)


def std(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviation along axes, by default all."""
    return x.std(axis, keepdims, correction=correction)


def sum(x: Tensor, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, by default all."""
    return x.sum(axis, keepdims, dtype=dtype)


def take(x: Tensor, indices: Tensor, /, *, axis: int = 0) -> Tensor:
    """An axis indexed by integers, which take its place."""
    return x.take(indices, axis)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each index along an axis the element there."""
    return x.take_along_dim(indices, axis)


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""
    return x.tril(k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""
    return x.triu(k)


def unique_values(x: Tensor, /) -> Tensor:
    """The values, each once, sorted; computed now."""
    return x.unique()


def var(x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Tensor:
    """The variance along axes, by default all."""
    return x.var(axis, keepdims, correction=correction)
