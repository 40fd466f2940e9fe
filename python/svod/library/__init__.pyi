"""What the table of the library makes; written by scripts/stubs.py."""

# ruff: noqa: F401
import builtins
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from svod._svod import DType, Size, Tensor, ValuesAndIndices, Variable

_Operand = Tensor | Size | Variable | npt.ArrayLike

__all__ = [
    "argsort",
    "asarray",
    "astype",
    "broadcast_to",
    "clip",
    "concat",
    "copysign",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "divide",
    "expand_dims",
    "flip",
    "full_like",
    "matmul",
    "matrix_transpose",
    "nonzero",
    "ones_like",
    "permute_dims",
    "positive",
    "reshape",
    "roll",
    "searchsorted",
    "signbit",
    "sort",
    "squeeze",
    "take",
    "take_along_axis",
    "tril",
    "triu",
    "unique_values",
    "zeros_like",
]

def argsort(
    x: _Operand,
    /,
    *,
    axis: builtins.int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
    dim: builtins.int = -1,
) -> Tensor:
    """Where the elements along an axis, by default the last, are, in order. Stable; NaN is the greatest value."""

def asarray(obj: Any, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """`obj` as a tensor: a copy, unless it is one."""

def astype(x: _Operand, dtype: Any, /) -> Tensor:
    """Each value as another type: floats truncate and saturate to integers, integers wrap."""

def broadcast_to(x: _Operand, /, shape: Sequence[builtins.int]) -> Tensor:
    """Dimensions of extent 1 repeated to these extents."""

def clip(x: _Operand, /, min: Any = None, max: Any = None) -> Tensor:
    """Not below `min` and not above `max`; NaN stays."""

def concat(arrays: Sequence[Any], /, *, axis: builtins.int | None = 0, dim: builtins.int | None = 0) -> Tensor:
    """The tensors one after the other along an axis."""

def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The absolute value of `x1` with the sign of `x2`, that of zeros and NaN included.

    >>> import svod
    >>> svod.copysign(svod.Tensor([1.0, 2.0]), svod.Tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """

def cumulative_prod(
    x: _Operand, /, *, axis: builtins.int | None = None, dtype: Any = None, dim: builtins.int | None = None
) -> Tensor:
    """The products of the elements up to each one along an axis, which a 1-d tensor need not name."""

def cumulative_sum(
    x: _Operand, /, *, axis: builtins.int | None = None, dtype: Any = None, dim: builtins.int | None = None
) -> Tensor:
    """The sums of the elements up to each one along an axis, which a 1-d tensor need not name."""

def diff(
    x: _Operand,
    /,
    *,
    axis: builtins.int = -1,
    n: builtins.int = 1,
    prepend: _Operand | None = None,
    append: _Operand | None = None,
    dim: builtins.int = -1,
) -> Tensor:
    """The `n`-th differences of neighbours along an axis, `n` fewer; of bools whether they differ.

    `prepend` and `append` go before and behind `x` along the axis first; NumPy's scalars are repeated.

    >>> import svod
    >>> svod.diff(svod.Tensor([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """

def divide(x1: Any, x2: Any, /) -> Tensor:
    """True quotient, integers becoming floats.

    >>> import svod
    >>> svod.divide(1, svod.Tensor([2, 4])).tolist()
    [0.5, 0.25]
    """

def expand_dims(x: _Operand, /, axis: builtins.int = 0, *, dim: builtins.int = 0) -> Tensor:
    """A new dimension of extent 1 at this position of the result."""

def flip(
    x: _Operand,
    /,
    *,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """These dimensions in reverse order, by default all."""

def full_like(x: _Operand, /, fill_value: Any, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """One value in a tensor's shape, and in its type and on its device, unless others are named."""

def matmul(x1: _Operand, x2: _Operand, /) -> Tensor:
    """The matrix product, by NumPy's rules."""

def matrix_transpose(x: _Operand, /) -> Tensor:
    """The last two dimensions exchanged."""

def nonzero(x: _Operand, /) -> tuple[Tensor, ...]:
    """The indices, along each dimension, of the elements that are not zero; computed now."""

def ones_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Ones in a tensor's shape, and in its type and on its device, unless others are named."""

def permute_dims(x: _Operand, /, axes: Sequence[builtins.int]) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""

def positive(x: _Operand, /) -> Tensor:
    """The numbers as they are."""

def reshape(x: _Operand, /, shape: Sequence[builtins.int]) -> Tensor:
    """The same elements in row-major order under other extents; one -1 is inferred."""

def roll(
    x: _Operand, /, shift: builtins.int, *, axis: builtins.int | None = None, dim: builtins.int | None = None
) -> Tensor:
    """The elements of an axis moved towards its end, those beyond it to its start."""

def searchsorted(
    x1: _Operand, x2: _Operand, /, *, side: builtins.str = "left", sorter: _Operand | None = None
) -> Tensor:
    """Where elements of `x2` would be put into the sorted `x1`."""

def signbit(x: _Operand, /) -> Tensor:
    """Whether the sign is that of negative numbers, -0 and negative NaN included; integers are never -0.

    >>> import svod
    >>> svod.signbit(svod.Tensor([-0.0, 0.0, -3.0])).tolist()
    [True, False, True]
    """

def sort(
    x: _Operand,
    /,
    *,
    axis: builtins.int | None = None,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
    dim: builtins.int | None = None,
) -> Tensor | ValuesAndIndices:
    """The elements along an axis, by default the last, in order; stable, NaN is the greatest value.

    With `dim`, PyTorch's pair of them and where they were.
    """

def squeeze(
    x: _Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    *,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """Without these dimensions of extent 1, by default all of them."""

def take(
    x: _Operand, indices: _Operand, /, *, axis: builtins.int | None = None, dim: builtins.int | None = None
) -> Tensor:
    """An axis indexed by integers, which take its place; without one, the flat tensor."""

def take_along_axis(x: _Operand, indices: _Operand, /, axis: builtins.int = -1, *, dim: builtins.int = -1) -> Tensor:
    """For each index along an axis, by default the last, the element there."""

def tril(x: _Operand, /, *, k: builtins.int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""

def triu(x: _Operand, /, *, k: builtins.int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""

def unique_values(x: _Operand, /) -> Tensor:
    """The values, each once, sorted; computed now."""

def zeros_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Zeros in a tensor's shape, and in its type and on its device, unless others are named."""
