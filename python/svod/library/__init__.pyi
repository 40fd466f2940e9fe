"""What the table of the library makes; written by scripts/stubs.py."""

import builtins
from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from svod._svod import DType, Generator, Size, Tensor, ValuesAndIndices, Variable
from svod.library.dtypes import FloatInfo, IntegerInfo
from svod.library.namespace import NamespaceInfo
from svod.library.sets import UniqueAll, UniqueCounts, UniqueInverse

_Operand = Tensor | Size | Variable | npt.ArrayLike

__all__ = [
    "__array_namespace_info__",
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan2",
    "arctanh",
    "argsort",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan2",
    "atanh",
    "bernoulli",
    "beta",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "categorical",
    "clip",
    "concat",
    "copysign",
    "cosh",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "digamma",
    "divide",
    "empty_like",
    "erfc",
    "erfinv",
    "expand_dims",
    "exponential",
    "finfo",
    "flip",
    "full_like",
    "gamma",
    "hypot",
    "i0",
    "iinfo",
    "isdtype",
    "isin",
    "lgamma",
    "logaddexp",
    "matmul",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "multinomial",
    "nextafter",
    "nonzero",
    "normal",
    "ones_like",
    "permutation",
    "permute_dims",
    "poisson",
    "positive",
    "rand_like",
    "randint_like",
    "randn_like",
    "randperm",
    "repeat",
    "reshape",
    "result_type",
    "roll",
    "searchsorted",
    "signbit",
    "sinh",
    "sort",
    "squeeze",
    "take",
    "take_along_axis",
    "tensordot",
    "tile",
    "tril",
    "triu",
    "truncated_normal",
    "uniform",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unstack",
    "vecdot",
    "xlogy",
    "zeros_like",
]

def __array_namespace_info__() -> NamespaceInfo:
    """What svod can do: devices, types and capabilities, by the array API standard.

    >>> import svod
    >>> svod.__array_namespace_info__().default_dtypes()["real floating"]
    svod.float32
    """

def acos(x: _Operand, /) -> Tensor:
    """Arc cosine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.acos(svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def acosh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    >>> import svod
    >>> svod.acosh(svod.Tensor([1.0])).tolist()
    [0.0]
    """

def arccos(x: _Operand, /) -> Tensor:
    """Arc cosine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.acos(svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def arccosh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    >>> import svod
    >>> svod.acosh(svod.Tensor([1.0])).tolist()
    [0.0]
    """

def arcsin(x: _Operand, /) -> Tensor:
    """Arc sine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.asin(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def arcsinh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic sine.

    >>> import svod
    >>> svod.asinh(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def arctan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point `(x2, x1)`, in radians, from -π to π; signs of zeros say from which side.

    >>> import svod
    >>> svod.atan2(svod.Tensor([0.0, 1.0]), svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def arctanh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    >>> import svod
    >>> svod.atanh(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, inf]
    """

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

def asarray(
    obj: Any, /, *, dtype: Any = None, device: builtins.str | None = None, copy: builtins.bool | None = None
) -> Tensor:
    """`obj` as a tensor: itself, if it is one of that type and there, else a copy.

    With `copy=False` what would have to be copied is an error; `from_dlpack` and `from_numpy` share memory.

    >>> import svod
    >>> svod.asarray([1, 2]).dtype
    svod.int64
    """

def asin(x: _Operand, /) -> Tensor:
    """Arc sine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.asin(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def asinh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic sine.

    >>> import svod
    >>> svod.asinh(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def astype(x: _Operand, dtype: Any, /, *, copy: builtins.bool = True, device: builtins.str | None = None) -> Tensor:
    """Each value as another type: floats truncate and saturate to integers, NaN is 0, integers wrap.

    NumPy leaves what does not fit undefined. A tensor is a value, so that whether it is copied cannot be told.

    >>> import svod
    >>> svod.astype(svod.Tensor([1.7, 300.0, float("nan")]), svod.uint8).tolist()
    [1, 255, 0]
    """

def atan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point `(x2, x1)`, in radians, from -π to π; signs of zeros say from which side.

    >>> import svod
    >>> svod.atan2(svod.Tensor([0.0, 1.0]), svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def atanh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    >>> import svod
    >>> svod.atanh(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, inf]
    """

def bernoulli(x: _Operand, /, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element is, else 0, in its type.

    >>> import svod
    >>> svod.bernoulli(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.0]
    """

def beta(
    a: Tensor | builtins.float,
    b: Tensor | builtins.float,
    shape: builtins.int | Sequence[builtins.int] = (),
    *,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Beta distributed: `x / (x + y)` of two gamma distributed numbers.

    >>> import svod
    >>> svod.beta(2.0, 3.0, (4,)).shape
    (4,)
    """

def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """The tensors expanded to their common shape, each of its own type.

    >>> import svod
    >>> [x.shape for x in svod.broadcast_arrays(svod.ones(3, 1), svod.ones(2))]
    [(3, 2), (3, 2)]
    """

def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape to which all of these broadcast.

    >>> import svod
    >>> svod.broadcast_shapes((3, 1), (2,))
    (3, 2)
    """

def broadcast_to(x: _Operand, /, shape: Sequence[builtins.int]) -> Tensor:
    """Dimensions of extent 1 repeated to these extents."""

def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether the rules of promotion bring a type, or that of a tensor, to another one.

    >>> import svod
    >>> svod.can_cast(svod.int8, svod.int32), svod.can_cast(svod.int32, svod.int8)
    (True, False)
    """

def categorical(
    logits: _Operand,
    /,
    shape: builtins.int | Sequence[builtins.int] = (),
    *,
    axis: builtins.int = -1,
    generator: Generator | None = None,
    dim: builtins.int = -1,
) -> Tensor:
    """Positions along an axis, with probabilities `softmax(logits)`; `shape` comes before the other axes.

    By the largest of the logits with Gumbel noise (Gumbel 1954).

    >>> import svod
    >>> svod.categorical(svod.Tensor([-svod.inf, 0.0, -svod.inf]), (2,)).tolist()
    [1, 1]
    """

def clip(x: _Operand, /, min: Any = None, max: Any = None) -> Tensor:
    """Not below `min` and not above `max`; NaN stays."""

def concat(arrays: Sequence[Any], /, *, axis: builtins.int | None = 0, dim: builtins.int | None = 0) -> Tensor:
    """The tensors one after the other along an axis, in the type in which they meet; with None, flat.

    >>> import svod
    >>> svod.concat([svod.Tensor([[1], [2]]), svod.Tensor([[3.0]])], axis=None).tolist()
    [1.0, 2.0, 3.0]
    """

def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The absolute value of `x1` with the sign of `x2`, that of zeros and NaN included.

    >>> import svod
    >>> svod.copysign(svod.Tensor([1.0, 2.0]), svod.Tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """

def cosh(x: _Operand, /) -> Tensor:
    """Hyperbolic cosine.

    >>> import svod
    >>> svod.cosh(svod.Tensor([0.0])).tolist()
    [1.0]
    """

def count_nonzero(
    x: _Operand,
    /,
    axis: Any = None,
    *,
    keepdims: builtins.bool = False,
    dim: Any = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The number of elements along axes, by default all, that are not zero.

    >>> import svod
    >>> svod.count_nonzero(svod.Tensor([[1, 0], [2, 3]]), axis=0).tolist()
    [2, 1]
    """

def cumulative_prod(
    x: _Operand,
    /,
    *,
    axis: builtins.int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
    dim: builtins.int | None = None,
) -> Tensor:
    """The products of the elements up to each one along an axis, which a 1-d tensor need not name.

    With `include_initial` that of none, 1, is first. Of unsigned integers the result is `uint64`, of others
    `int64`.

    >>> import svod
    >>> svod.cumulative_prod(svod.Tensor([2, 3]), include_initial=True).tolist()
    [1, 2, 6]
    """

def cumulative_sum(
    x: _Operand,
    /,
    *,
    axis: builtins.int | None = None,
    dtype: Any = None,
    include_initial: builtins.bool = False,
    dim: builtins.int | None = None,
) -> Tensor:
    """The sums of the elements up to each one along an axis, which a 1-d tensor need not name.

    With `include_initial` that of none, 0, is first. Of unsigned integers the result is `uint64`, of others
    `int64`.

    >>> import svod
    >>> svod.cumulative_sum(svod.Tensor([2, 3]), include_initial=True).tolist()
    [0, 2, 5]
    """

def diff(
    x: _Operand,
    /,
    n: builtins.int = 1,
    axis: builtins.int = -1,
    prepend: _Operand | None = None,
    append: _Operand | None = None,
    *,
    dim: builtins.int = -1,
) -> Tensor:
    """The `n`-th differences of neighbours along an axis, `n` fewer; of bools whether they differ.

    `prepend` and `append` go before and behind `x` along the axis first; NumPy's scalars are repeated.

    >>> import svod
    >>> svod.diff(svod.Tensor([1, 4, 9, 16])).tolist()
    [3, 5, 7]
    """

def digamma(x: _Operand, /) -> Tensor:
    """The derivative of `lgamma`; NaN at negative integers, -inf at 0.

    By recurrence, Stirling's series and reflection. Near zeros of the function the error is that of numbers near
    1.

    >>> import svod
    >>> svod.digamma(svod.Tensor([1.0]))
    Tensor([-0.5772157], shape=(1,), dtype=float32, device=CPU)
    """

def divide(x1: Any, x2: Any, /) -> Tensor:
    """True quotient, integers becoming floats.

    >>> import svod
    >>> svod.divide(1, svod.Tensor([2, 4])).tolist()
    [0.5, 0.25]
    """

def empty_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Memory in a tensor's shape, and in its type and on its device, unless others are named."""

def erfc(x: _Operand, /) -> Tensor:
    """`1 - erf(x)`, also where that is small.

    >>> import svod
    >>> svod.erfc(svod.Tensor([0.0, 10.0])).tolist()
    [1.0, 1.401298464324817e-45]
    """

def erfinv(x: _Operand, /) -> Tensor:
    """The inverse of `erf`; infinite at -1 and 1, NaN outside.

    Two of Halley's steps from Winitzki's approximation (2008).

    >>> import svod
    >>> svod.erfinv(svod.erf(svod.Tensor([0.5]))).tolist()
    [0.5]
    """

def expand_dims(
    x: _Operand, /, axis: builtins.int | Sequence[builtins.int] = 0, *, dim: builtins.int | Sequence[builtins.int] = 0
) -> Tensor:
    """New dimensions of extent 1 at these positions of the result.

    >>> import svod
    >>> svod.expand_dims(svod.ones(3), axis=(0, 2)).shape
    (1, 3, 1)
    """

def exponential(
    shape: builtins.int | Sequence[builtins.int],
    scale: Tensor | builtins.float = 1.0,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Exponentially distributed with this mean.

    >>> import svod
    >>> (svod.exponential(100) >= 0).all().item()
    True
    """

def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating-point type, or of a tensor's; of a complex type those of its parts.

    >>> import svod
    >>> svod.finfo(svod.float32).max
    3.4028234663852886e+38
    """

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

def gamma(
    concentration: Tensor | builtins.float,
    scale: Tensor | builtins.float = 1.0,
    shape: builtins.int | Sequence[builtins.int] = (),
    *,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Gamma distributed with mean `concentration * scale` (Marsaglia and Tsang 2000).

    >>> import svod
    >>> svod.gamma(2.0, shape=(3, 4)).shape
    (3, 4)
    """

def hypot(x1: Any, x2: Any, /) -> Tensor:
    """`sqrt(x1² + x2²)` without overflow; infinite where an operand is, whatever the other.

    >>> import svod
    >>> svod.hypot(svod.Tensor([3.0]), 4).tolist()
    [5.0]
    """

def i0(x: _Operand, /) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    >>> import svod
    >>> svod.i0(svod.Tensor([0.0])).tolist()
    [1.0]
    """

def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer type, or of a tensor's.

    >>> import svod
    >>> svod.iinfo(svod.int8).min
    -128
    """

def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a type is of a kind: another type, one of the array API's names of kinds, or a tuple of these.

    >>> import svod
    >>> svod.isdtype(svod.int8, "integral"), svod.isdtype(svod.int8, (svod.bool, "real floating"))
    (True, False)
    """

def isin(x1: Any, x2: Any, /, *, invert: builtins.bool = False) -> Tensor:
    """Of each element of `x1` whether it is among those of `x2`; with `invert` whether it is not. NaN is in no set.

    By a search in the sorted `x2`, in any order of both.

    >>> import svod
    >>> svod.isin(svod.Tensor([1, 5, 3]), svod.Tensor([3, 1])).tolist()
    [True, False, True]
    """

def lgamma(x: _Operand, /) -> Tensor:
    """The logarithm of the absolute value of the gamma function; infinite at 0 and negative integers.

    By recurrence, Stirling's series and reflection. Near zeros of the function the error is that of numbers near
    1.

    >>> import svod
    >>> svod.lgamma(svod.Tensor([1.0, 2.0, 5.0]))
    Tensor([0.       , 0.       , 3.1780539], shape=(3,), dtype=float32, device=CPU)
    """

def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """`log(exp(x1) + exp(x2))` without overflow.

    >>> import svod
    >>> svod.logaddexp(svod.Tensor([1000.0]), -1000).tolist()
    [1000.0]
    """

def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product, by NumPy's rules."""

def matrix_transpose(x: _Operand, /) -> Tensor:
    """The last two dimensions exchanged."""

def meshgrid(*arrays: Any, indexing: builtins.str = "xy") -> list[Tensor]:
    """Coordinates of the points of a grid: one tensor for each of these 1-d ones, all of one shape.

    With `indexing="ij"` axis `i` is that of the `i`-th; with `"xy"` the first two are exchanged.

    >>> import svod
    >>> [part.tolist() for part in svod.meshgrid(svod.Tensor([1, 2]), svod.Tensor([3, 4, 5]), indexing="ij")]
    [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
    """

def moveaxis(
    x: _Operand, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int], /
) -> Tensor:
    """These dimensions moved to other positions; the others keep their order.

    >>> import svod
    >>> svod.moveaxis(svod.ones(2, 3, 4), 0, -1).shape
    (3, 4, 2)
    """

def multinomial(
    x: _Operand, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Positions along the last axis, with probabilities in proportion to the weights there, as PyTorch's.

    >>> import svod
    >>> svod.multinomial(svod.Tensor([0.0, 3.0, 0.0]), 2, replacement=True).tolist()
    [1, 1]
    """

def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The number next to `x1` on the way to `x2`.

    >>> import svod
    >>> svod.nextafter(svod.Tensor([1.0]), 2).tolist()
    [1.0000001192092896]
    """

def nonzero(x: _Operand, /) -> tuple[Tensor, ...]:
    """The indices, along each dimension, of the elements that are not zero; computed now."""

def normal(
    shape: builtins.int | Sequence[builtins.int],
    mean: Tensor | builtins.float = 0.0,
    std: Tensor | builtins.float = 1.0,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed with this mean and standard deviation.

    >>> import svod
    >>> svod.normal((2, 3), mean=10.0).shape
    (2, 3)
    """

def ones_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Ones in a tensor's shape, and in its type and on its device, unless others are named."""

def permutation(
    x: Any, /, *, axis: builtins.int = 0, generator: Generator | None = None, dim: builtins.int = 0
) -> Tensor:
    """The slices of an axis in random order; of an integer the integers before it.

    >>> import svod
    >>> svod.permutation(svod.Tensor([3, 1, 2])).sort(0).values.tolist()
    [1, 2, 3]
    """

def permute_dims(x: _Operand, /, axes: Sequence[builtins.int]) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""

def poisson(
    x: _Operand,
    /,
    shape: builtins.int | Sequence[builtins.int] = (),
    *,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Poisson distributed with these means, as floats of their type.

    Small means by counting the times until the next arrivals, others by transformed rejection with squeeze
    (Hörmann 1993, PTRS).

    >>> import svod
    >>> svod.poisson(svod.Tensor([0.0, 0.0])).tolist()
    [0.0, 0.0]
    """

def positive(x: _Operand, /) -> Tensor:
    """The numbers as they are."""

def rand_like(x: _Operand, /, *, dtype: Any = None, generator: Generator | None = None) -> Tensor:
    """Uniformly distributed in [0, 1), in a tensor's shape and type."""

def randint_like(
    x: _Operand, low: builtins.int, high: builtins.int | None = None, /, *, generator: Generator | None = None
) -> Tensor:
    """Integers uniformly distributed from `low`, or 0, to before the last argument, in a tensor's shape and type."""

def randn_like(x: _Operand, /, *, dtype: Any = None, generator: Generator | None = None) -> Tensor:
    """Normally distributed with mean 0 and deviation 1, in a tensor's shape and type."""

def randperm(n: builtins.int, /, *, dtype: Any = None, generator: Generator | None = None) -> Tensor:
    """The integers before `n` in random order, that of as many random numbers.

    >>> import svod
    >>> svod.randperm(4).sort(0).values.tolist()
    [0, 1, 2, 3]
    """

def repeat(
    x: _Operand, repeats: Any, /, *, axis: builtins.int | None = None, dim: builtins.int | None = None
) -> Tensor:
    """Each element of an axis repeated, each so often or as its own integer says; without an axis the flat tensor's.

    >>> import svod
    >>> svod.repeat(svod.Tensor([1, 2]), svod.Tensor([2, 1])).tolist()
    [1, 1, 2]
    """

def reshape(x: _Operand, /, shape: Sequence[builtins.int], *, copy: builtins.bool | None = None) -> Tensor:
    """The same elements in row-major order under other extents; one -1 is inferred.

    A tensor is a value, so that whether it is copied cannot be told.
    """

def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type in which tensors, types and Python's numbers meet.

    >>> import svod
    >>> svod.result_type(svod.int8, svod.Tensor([1], "uint8"), 3)
    svod.int16
    """

def roll(
    x: _Operand,
    /,
    shift: builtins.int | Sequence[builtins.int],
    *,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """The elements of axes moved towards their ends, those beyond to the start; without axes those of the flat
    tensor.

    >>> import svod
    >>> svod.roll(svod.Tensor([[1, 2], [3, 4]]), (1, 1), axis=(0, 1)).tolist()
    [[4, 3], [2, 1]]
    """

def searchsorted(x1: _Operand, x2: Any, /, *, side: builtins.str = "left", sorter: _Operand | None = None) -> Tensor:
    """Where elements of `x2` would be put into `x1`, which is sorted, or is so in the order of `sorter`.

    >>> import svod
    >>> svod.searchsorted(svod.Tensor([3, 1, 2]), 2, sorter=svod.Tensor([1, 2, 0])).item()
    1
    """

def signbit(x: _Operand, /) -> Tensor:
    """Whether the sign is that of negative numbers, -0 and negative NaN included; integers are never -0.

    >>> import svod
    >>> svod.signbit(svod.Tensor([-0.0, 0.0, -3.0])).tolist()
    [True, False, True]
    """

def sinh(x: _Operand, /) -> Tensor:
    """Hyperbolic sine.

    >>> import svod
    >>> svod.sinh(svod.Tensor([0.0])).tolist()
    [0.0]
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

def tensordot(
    x1: Any, x2: Any, /, *, axes: builtins.int | tuple[Sequence[builtins.int], Sequence[builtins.int]] = 2
) -> Tensor:
    """The sum of products over axes of both: the last `axes` of `x1` with the first of `x2`, or those of two lists.

    The result has the other axes of `x1`, then those of `x2`.

    >>> import svod
    >>> svod.tensordot(svod.ones(2, 3), svod.ones(3, 4), axes=1).tolist()
    [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
    """

def tile(x: _Operand, repetitions: builtins.int | Sequence[builtins.int], /) -> Tensor:
    """The whole repeated along each dimension; missing dimensions and numbers of repetitions are 1 and come first.

    >>> import svod
    >>> svod.tile(svod.Tensor([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """

def tril(x: _Operand, /, *, k: builtins.int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""

def triu(x: _Operand, /, *, k: builtins.int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""

def truncated_normal(
    shape: builtins.int | Sequence[builtins.int],
    lower: builtins.float = -2.0,
    upper: builtins.float = 2.0,
    *,
    mean: builtins.float = 0.0,
    std: builtins.float = 1.0,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed between two bounds, which are those of the result: by the inverse of the distribution.

    >>> import svod
    >>> (svod.truncated_normal(100, 0.0, 1.0) >= 0).all().item()
    True
    """

def uniform(
    shape: builtins.int | Sequence[builtins.int],
    low: Tensor | builtins.float = 0.0,
    high: Tensor | builtins.float = 1.0,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Uniformly distributed in [low, high).

    >>> import svod
    >>> (svod.uniform(100, 2.0, 3.0) >= 2).all().item()
    True
    """

def unique_all(x: _Operand, /) -> UniqueAll:
    """The sorted values, each once, where each is first in the flat `x`, which one each element is, and their
    counts.

    Each NaN is a value of its own.

    >>> import svod
    >>> [part.tolist() for part in svod.unique_all(svod.Tensor([3, 1, 3]))]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """

def unique_counts(x: _Operand, /) -> UniqueCounts:
    """The sorted values, each once, and how often each occurs.

    >>> import svod
    >>> [part.tolist() for part in svod.unique_counts(svod.Tensor([3, 1, 3]))]
    [[1, 3], [1, 2]]
    """

def unique_inverse(x: _Operand, /) -> UniqueInverse:
    """The sorted values, each once, and which one each element is, in the shape of `x`.

    >>> import svod
    >>> [part.tolist() for part in svod.unique_inverse(svod.Tensor([3, 1, 3]))]
    [[1, 3], [1, 0, 1]]
    """

def unique_values(x: _Operand, /) -> Tensor:
    """The values, each once, sorted; each NaN counts. Complex numbers are sorted by their real parts, then the
    others.

    >>> import svod
    >>> svod.unique_values(svod.Tensor([3, 1, 3])).tolist()
    [1, 3]
    """

def unstack(x: _Operand, /, *, axis: builtins.int = 0, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it.

    >>> import svod
    >>> [part.tolist() for part in svod.unstack(svod.Tensor([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """

def vecdot(x1: Any, x2: Any, /, *, axis: builtins.int = -1, dim: builtins.int = -1) -> Tensor:
    """The dot products of vectors along an axis; the others broadcast.

    >>> import svod
    >>> svod.vecdot(svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([10, 1])).tolist()
    [12, 34]
    """

def xlogy(x1: Any, x2: Any, /) -> Tensor:
    """`x1 * log(x2)`, 0 where `x1` is 0, unless `x2` is NaN.

    >>> import svod
    >>> svod.xlogy(svod.Tensor([0.0, 1.0]), svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """

def zeros_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Zeros in a tensor's shape, and in its type and on its device, unless others are named."""
