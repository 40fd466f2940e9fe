"""What the table of the library makes; written by scripts/stubs.py."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from svod._svod import DType, Generator, Tensor, ValuesAndIndices, _ArrayLike, _Axis, _DTypeLike, _Extent, _Operand
from svod.library.dtypes import FloatInfo, IntegerInfo
from svod.library.factorizations import SVD
from svod.library.namespace import NamespaceInfo
from svod.library.packed import LU, Reflections
from svod.library.reductions import MinMax
from svod.library.sets import UniqueAll, UniqueCounts, UniqueInverse
from svod.linalg import QRResult, SlogdetResult
from svod.nn.functional import (
    alpha_dropout,
    alpha_dropout_,
    avg_pool1d,
    bilinear,
    binary_cross_entropy_with_logits,
    celu,
    celu_,
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    cosine_embedding_loss,
    cosine_similarity,
    ctc_loss,
    dropout,
    dropout_,
    feature_alpha_dropout_,
    group_norm,
    hardshrink,
    hinge_embedding_loss,
    kl_div,
    layer_norm,
    margin_ranking_loss,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool3d,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    poisson_nll_loss,
    prelu,
    relu_,
    rms_norm,
    rrelu,
    rrelu_,
    selu,
    selu_,
    threshold,
    threshold_,
    triplet_margin_loss,
)

__all__ = [
    "__array_namespace_info__",
    "abs_",
    "acos",
    "acos_",
    "acosh",
    "acosh_",
    "adaptive_avg_pool1d",
    "adaptive_max_pool1d",
    "addbmm",
    "addcdiv",
    "addcmul",
    "addmm",
    "addmv",
    "addmv_",
    "addr",
    "adjoint",
    "affine_grid_generator",
    "alias_copy",
    "allclose",
    "alpha_dropout",
    "alpha_dropout_",
    "aminmax",
    "append",
    "apply_along_axis",
    "arccos",
    "arccos_",
    "arccosh",
    "arccosh_",
    "arcsin",
    "arcsin_",
    "arcsinh",
    "arcsinh_",
    "arctan2",
    "arctan_",
    "arctanh",
    "arctanh_",
    "argpartition",
    "argsort",
    "argwhere",
    "around",
    "array",
    "array_equal",
    "array_equiv",
    "array_split",
    "as_strided",
    "as_strided_copy",
    "as_strided_scatter",
    "as_tensor",
    "asarray",
    "asin",
    "asin_",
    "asinh",
    "asinh_",
    "astype",
    "atan2",
    "atan_",
    "atanh",
    "atanh_",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "avg_pool1d",
    "baddbmm",
    "bartlett",
    "bartlett_window",
    "batch_norm",
    "bernoulli",
    "beta",
    "bilinear",
    "binary_cross_entropy_with_logits",
    "bincount",
    "binomial",
    "bitwise_count",
    "blackman",
    "blackman_window",
    "block",
    "block_diag",
    "bmm",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_tensors",
    "broadcast_to",
    "bucketize",
    "can_cast",
    "cartesian_prod",
    "categorical",
    "cbrt",
    "cdist",
    "ceil_",
    "celu",
    "celu_",
    "chain_matmul",
    "channel_shuffle",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "choose",
    "chunk",
    "clamp",
    "clamp_",
    "clamp_max",
    "clamp_max_",
    "clamp_min",
    "clamp_min_",
    "clip",
    "clip_",
    "clone",
    "column_stack",
    "combinations",
    "compress",
    "concat",
    "concatenate",
    "conj_physical",
    "conj_physical_",
    "conjugate",
    "constant_pad_nd",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
    "convolve",
    "copy",
    "copysign",
    "corrcoef",
    "correlate",
    "cos_",
    "cosh",
    "cosh_",
    "cosine_embedding_loss",
    "cosine_similarity",
    "count_nonzero",
    "cov",
    "cross",
    "ctc_loss",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "cumulative_trapezoid",
    "deg2rad",
    "deg2rad_",
    "degrees",
    "delete",
    "det",
    "detach",
    "detach_copy",
    "diag",
    "diag_embed",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diagonal_copy",
    "diagonal_scatter",
    "diff",
    "digamma",
    "digitize",
    "dist",
    "div",
    "divide",
    "divmod",
    "dot",
    "dropout",
    "dropout_",
    "dsplit",
    "dstack",
    "ediff1d",
    "embedding",
    "embedding_bag",
    "embedding_renorm_",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "erf_",
    "erfc",
    "erfc_",
    "erfinv",
    "exp2_",
    "exp_",
    "expand_copy",
    "expand_dims",
    "expm1_",
    "exponential",
    "extract",
    "fabs",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "fill",
    "fill_",
    "finfo",
    "fix",
    "fix_",
    "flatnonzero",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float_power",
    "floor_",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "frac_",
    "frexp",
    "frobenius_norm",
    "from_file",
    "frombuffer",
    "fromfunction",
    "full_like",
    "gamma",
    "gather",
    "gcd",
    "gcd_",
    "geomspace",
    "geqrf",
    "ger",
    "get_device",
    "gradient",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "group_norm",
    "grouped_mm",
    "gru",
    "gru_cell",
    "hamming",
    "hamming_window",
    "hann_window",
    "hanning",
    "hardshrink",
    "hash_tensor",
    "heaviside",
    "hinge_embedding_loss",
    "histc",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "i0_",
    "identity",
    "igamma",
    "igammac",
    "iinfo",
    "index_add",
    "index_copy",
    "index_fill",
    "index_put",
    "index_put_",
    "index_reduce",
    "index_select",
    "indices",
    "initial_seed",
    "inner",
    "insert",
    "instance_norm",
    "interp",
    "intersect1d",
    "inverse",
    "invert",
    "is_conj",
    "is_floating_point",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_tensor",
    "isclose",
    "iscomplex",
    "isdtype",
    "isin",
    "isneginf",
    "isposinf",
    "isreal",
    "istft",
    "ix_",
    "kaiser",
    "kaiser_window",
    "kl_div",
    "kron",
    "kthvalue",
    "layer_norm",
    "lcm",
    "lcm_",
    "ldexp",
    "ldexp_",
    "left_shift",
    "lerp",
    "lexsort",
    "lgamma",
    "lobpcg",
    "log1p_",
    "log2_",
    "log10_",
    "log_",
    "log_softmax",
    "logaddexp",
    "logaddexp2",
    "logcumsumexp",
    "logdet",
    "logit",
    "logit_",
    "logspace",
    "lstm",
    "lstm_cell",
    "lu",
    "lu_solve",
    "lu_unpack",
    "margin_ranking_loss",
    "masked_fill",
    "masked_scatter",
    "masked_select",
    "matmul",
    "matrix_exp",
    "matrix_power",
    "matrix_transpose",
    "matvec",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool3d",
    "median",
    "meshgrid",
    "mm",
    "mod",
    "mode",
    "modf",
    "moveaxis",
    "movedim",
    "msort",
    "multinomial",
    "mv",
    "mvlgamma",
    "nan_to_num",
    "nan_to_num_",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "narrow",
    "narrow_copy",
    "neg_",
    "negative_",
    "nextafter",
    "nonzero",
    "nonzero_static",
    "norm",
    "norm_except_dim",
    "normal",
    "nuclear_norm",
    "numel",
    "ones_like",
    "orgqr",
    "ormqr",
    "outer",
    "packbits",
    "pad",
    "pairwise_distance",
    "partition",
    "pca_lowrank",
    "pdist",
    "percentile",
    "permutation",
    "permute",
    "permute_copy",
    "permute_dims",
    "piecewise",
    "pinverse",
    "pixel_shuffle",
    "pixel_unshuffle",
    "poisson",
    "poisson_nll_loss",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polygamma",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "positive",
    "power",
    "prelu",
    "promote_types",
    "ptp",
    "put",
    "put_along_axis",
    "qr",
    "quantile",
    "rad2deg",
    "rad2deg_",
    "radians",
    "rand_like",
    "randint",
    "randint_like",
    "randn_like",
    "randperm",
    "ravel",
    "ravel_multi_index",
    "rearrange",
    "reciprocal_",
    "relu_",
    "renorm",
    "repeat",
    "repeat_interleave",
    "reshape",
    "resize",
    "resolve_conj",
    "resolve_neg",
    "result_type",
    "right_shift",
    "rint",
    "rms_norm",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "roll",
    "rollaxis",
    "roots",
    "rot90",
    "round_",
    "row_stack",
    "rrelu",
    "rrelu_",
    "rsqrt_",
    "rsub",
    "scalar_tensor",
    "scatter",
    "scatter_add",
    "scatter_reduce",
    "searchsorted",
    "segment_reduce",
    "select",
    "select_copy",
    "select_scatter",
    "selu",
    "selu_",
    "setdiff1d",
    "setxor1d",
    "sgn",
    "sigmoid_",
    "signbit",
    "sin_",
    "sinc",
    "sinc_",
    "sinh",
    "sinh_",
    "slice_copy",
    "slice_scatter",
    "slogdet",
    "softmax",
    "sort",
    "spacing",
    "split",
    "split_copy",
    "split_with_sizes",
    "split_with_sizes_copy",
    "sqrt_",
    "square_",
    "squeeze",
    "squeeze_copy",
    "std_mean",
    "stft",
    "svd",
    "svd_lowrank",
    "swapaxes",
    "swapdims",
    "t",
    "t_copy",
    "take",
    "take_along_axis",
    "take_along_dim",
    "tan_",
    "tanh_",
    "tensor",
    "tensor_split",
    "tensordot",
    "threshold",
    "threshold_",
    "tile",
    "topk",
    "trace",
    "transpose",
    "transpose_copy",
    "trapezoid",
    "trapz",
    "tri",
    "triangular_solve",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triplet_margin_loss",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "true_divide",
    "trunc_",
    "truncated_normal",
    "unbind",
    "unbind_copy",
    "unflatten",
    "unfold_copy",
    "uniform",
    "union1d",
    "unique",
    "unique_all",
    "unique_consecutive",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unpackbits",
    "unravel_index",
    "unsafe_chunk",
    "unsafe_split",
    "unsafe_split_with_sizes",
    "unsqueeze",
    "unsqueeze_copy",
    "unstack",
    "unwrap",
    "vander",
    "var_mean",
    "vdot",
    "vecdot",
    "vecmat",
    "view_as_complex_copy",
    "view_as_real_copy",
    "view_copy",
    "vsplit",
    "vstack",
    "xlogy",
    "xlogy_",
    "zero_",
    "zeros_like",
]

def __array_namespace_info__() -> NamespaceInfo:
    """What svod can do: devices, types and capabilities, by the array API standard.

    >>> import svod
    >>> svod.__array_namespace_info__().default_dtypes()["real floating"]
    svod.float32
    """

def abs_(x: _Operand, /) -> Tensor:
    """Becomes `|x|`."""

def acos(x: _Operand, /) -> Tensor:
    """Arc cosine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.acos(svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def acos_(x: _Operand, /) -> Tensor:
    """Becomes what `acos` makes of it."""

def acosh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    >>> import svod
    >>> svod.acosh(svod.Tensor([1.0])).tolist()
    [0.0]
    """

def acosh_(x: _Operand, /) -> Tensor:
    """Becomes what `acosh` makes of it."""

def adaptive_avg_pool1d(x: _Operand, /, output_size: _Extent) -> Tensor:
    """The means of so many parts of the last 1, that cover them; None keeps an extent."""

def adaptive_max_pool1d(
    x: _Operand, /, output_size: builtins.int | Sequence[builtins.int | None]
) -> tuple[Tensor, Tensor]:
    """The maxima of so many parts that cover the last axis, and their positions.

    >>> import svod
    >>> [part.tolist() for part in svod.adaptive_max_pool1d(svod.Tensor([[1.0, 3.0, 2.0, 0.0]]), 2)]
    [[[3.0, 2.0]], [[1, 2]]]
    """

def addbmm(x: _Operand, batch1: _Operand, batch2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (batch1 @ batch2)`, the products of all matrices of the batch summed.

    >>> import svod
    >>> svod.addbmm(svod.ones(1, 1), svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
    [[7.0]]
    """

def addcdiv(x: _Operand, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Tensor:
    """`x + value * tensor1 / tensor2`.

    >>> import svod
    >>> svod.addcdiv(svod.Tensor([1.0]), svod.Tensor([6.0]), svod.Tensor([3.0]), value=2).tolist()
    [5.0]
    """

def addcmul(x: _Operand, tensor1: Any, tensor2: Any, /, *, value: Any = 1) -> Tensor:
    """`x + value * tensor1 * tensor2`.

    >>> import svod
    >>> svod.addcmul(svod.Tensor([1.0]), svod.Tensor([6.0]), svod.Tensor([3.0]), value=2).tolist()
    [37.0]
    """

def addmm(x: _Operand, mat1: _Operand, mat2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (mat1 @ mat2)`; with a `beta` of 0, NaN in `x` is not seen.

    >>> import svod
    >>> svod.addmm(svod.ones(1), svod.ones(2, 3), svod.ones(3, 1)).tolist()
    [[4.0], [4.0]]
    """

def addmv(x: _Operand, mat: _Operand, vec: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (mat @ vec)`.

    >>> import svod
    >>> svod.addmv(svod.ones(2), svod.ones(2, 3), svod.ones(3)).tolist()
    [4.0, 4.0]
    """

def addmv_(x: _Operand, mat: _Operand, vec: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Becomes what `addmv` makes of it."""

def addr(x: _Operand, vec1: _Operand, vec2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * outer(vec1, vec2)`.

    >>> import svod
    >>> svod.addr(svod.zeros(2, 2), svod.Tensor([1.0, 2.0]), svod.Tensor([3.0, 4.0])).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """

def adjoint(x: _Operand, /) -> Tensor:
    """The last two dimensions exchanged, of complex conjugates.

    >>> import svod
    >>> svod.adjoint(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """

def affine_grid_generator(theta: _Operand, size: Sequence[builtins.int], align_corners: builtins.bool, /) -> Tensor:
    """As `svod.nn.functional.affine_grid`.

    >>> import svod
    >>> svod.affine_grid_generator(svod.zeros(1, 2, 3), (1, 1, 2, 2), True).shape
    (1, 2, 2, 2)
    """

def alias_copy(x: _Operand, /) -> Tensor:
    """The same value.

    >>> import svod
    >>> svod.alias_copy(svod.Tensor([1, 2])).tolist()
    [1, 2]
    """

def allclose(
    x1: Any, x2: Any, /, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False
) -> builtins.bool:
    """Whether all elements are close, as `isclose` has it; computed now.

    >>> import svod
    >>> svod.allclose(svod.Tensor([1.0]), 1.000001)
    True
    """

def aminmax(
    x: _Operand,
    /,
    *,
    axis: builtins.int | None = None,
    keepdims: builtins.bool = False,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> MinMax:
    """The least and the greatest elements along an axis, or of all, as `min` and `max` of a pair.

    >>> import svod
    >>> [part.tolist() for part in svod.aminmax(svod.Tensor([[1, 5], [3, 2]]), axis=1)]
    [[1, 2], [5, 3]]
    """

def append(x: Any, values: Any, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None) -> Tensor:
    """Values behind those of a tensor along an axis; by default behind all of its elements, in one line.

    >>> import svod
    >>> svod.append(svod.Tensor([1, 2]), [3, 4]).tolist()
    [1, 2, 3, 4]
    """

def apply_along_axis(
    func1d: Callable[..., Any],
    axis: builtins.int,
    x: _Operand,
    /,
    *args: Any,
    dim: builtins.int | None = None,
    **kwargs: Any,
) -> Tensor:
    """What a function makes of each line of a tensor along an axis, in the place of that axis.

    The function is called once for each line. Where it is made of svod's operations, `svod.vmap` calls it once.

    >>> import svod
    >>> svod.apply_along_axis(svod.max, 1, svod.Tensor([[1, 5], [7, 2]])).tolist()
    [5, 7]
    """

def arccos(x: _Operand, /) -> Tensor:
    """Arc cosine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.acos(svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def arccos_(x: _Operand, /) -> Tensor:
    """Becomes what `acos` makes of it."""

def arccosh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    >>> import svod
    >>> svod.acosh(svod.Tensor([1.0])).tolist()
    [0.0]
    """

def arccosh_(x: _Operand, /) -> Tensor:
    """Becomes what `acosh` makes of it."""

def arcsin(x: _Operand, /) -> Tensor:
    """Arc sine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.asin(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def arcsin_(x: _Operand, /) -> Tensor:
    """Becomes what `asin` makes of it."""

def arcsinh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic sine.

    >>> import svod
    >>> svod.asinh(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def arcsinh_(x: _Operand, /) -> Tensor:
    """Becomes what `asinh` makes of it."""

def arctan2(x1: Any, x2: Any, /) -> Tensor:
    """The angle of the point `(x2, x1)`, in radians, from -π to π; signs of zeros say from which side.

    >>> import svod
    >>> svod.atan2(svod.Tensor([0.0, 1.0]), svod.Tensor([1.0, 0.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def arctan_(x: _Operand, /) -> Tensor:
    """Becomes what `arctan` makes of it."""

def arctanh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    >>> import svod
    >>> svod.atanh(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, inf]
    """

def arctanh_(x: _Operand, /) -> Tensor:
    """Becomes what `atanh` makes of it."""

def argpartition(x: _Operand, kth: Any, /, axis: builtins.int | None = -1, *, dim: builtins.int | None = -1) -> Tensor:
    """Where the elements along an axis are in an order in which that at `kth` has its place: all have, as in
    `argsort`.

    >>> import svod
    >>> svod.argpartition(svod.Tensor([3, 1, 2]), 1).tolist()
    [1, 2, 0]
    """

def argsort(
    x: _Operand,
    /,
    axis: builtins.int | None = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
    *,
    kind: builtins.str | None = None,
    dim: builtins.int | None = -1,
) -> Tensor:
    """Where the elements along an axis, by default the last, are, in order; with None, those of the flat tensor.
    Stable, whichever `kind` is asked for; NaN is the greatest value.
    """

def argwhere(x: _Operand, /) -> Tensor:
    """The indices of the elements that are not zero, as rows; computed now.

    >>> import svod
    >>> svod.argwhere(svod.Tensor([[0, 1], [2, 0]])).tolist()
    [[0, 1], [1, 0]]
    """

def around(x: _Operand, /, decimals: builtins.int = 0) -> Tensor:
    """As `svod.round`: to so many decimals, halves to the even number.

    >>> import svod
    >>> svod.around(svod.Tensor([1.25, 2.5])).tolist()
    [1.0, 2.0]
    """

def array(object: Any, /, dtype: Any = None, *, device: builtins.str | None = None) -> Tensor:
    """A tensor of what NumPy's `array` takes.

    >>> import svod
    >>> svod.array([1, 2]).dtype
    svod.int64
    """

def array_equal(x1: Any, x2: Any, /, equal_nan: builtins.bool = False) -> builtins.bool:
    """Whether two tensors have one shape and the same elements; NaN is like none, or, with `equal_nan`, like NaN.

    >>> import svod
    >>> svod.array_equal(svod.Tensor([1, 2]), [1, 2]), svod.array_equal(svod.ones(1), svod.ones(2))
    (True, False)
    """

def array_equiv(x1: Any, x2: Any, /) -> builtins.bool:
    """Whether two tensors broadcast, and have the same elements then.

    >>> import svod
    >>> svod.array_equiv([1, 1], [[1], [1]]), svod.array_equiv([1, 2], [1, 2, 3])
    (True, False)
    """

def array_split(
    x: _Operand,
    indices_or_sections: builtins.int | Sequence[builtins.int],
    /,
    axis: builtins.int = 0,
    *,
    dim: builtins.int = 0,
) -> list[Tensor]:
    """As `tensor_split`, by NumPy's name.

    >>> import svod
    >>> [part.tolist() for part in svod.array_split(svod.arange(5), 2)]
    [[0, 1, 2], [3, 4]]
    """

def as_strided(
    x: _Operand, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int = 0, /
) -> Tensor:
    """The elements at `storage_offset + sum(index * stride)` of the flat tensor.

    >>> import svod
    >>> svod.as_strided(svod.arange(4), (2, 2), (1, 1)).tolist()
    [[0, 1], [1, 2]]
    """

def as_strided_copy(
    x: _Operand, size: Sequence[builtins.int], stride: Sequence[builtins.int], storage_offset: builtins.int = 0, /
) -> Tensor:
    """As `as_strided`.

    >>> import svod
    >>> svod.as_strided_copy(svod.arange(4), (2, 2), (1, 1)).tolist()
    [[0, 1], [1, 2]]
    """

def as_strided_scatter(
    x: _Operand,
    src: _Operand,
    size: Sequence[builtins.int],
    stride: Sequence[builtins.int],
    storage_offset: builtins.int = 0,
    /,
) -> Tensor:
    """Other elements where `as_strided` would take some.

    >>> import svod
    >>> svod.as_strided_scatter(svod.zeros(4), svod.ones(2), (2,), (3,)).tolist()
    [1.0, 0.0, 0.0, 1.0]
    """

def as_tensor(data: Any, /, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """The tensor itself, in this type and on this device; of other data a copy.

    >>> import svod
    >>> svod.as_tensor([1, 2], dtype=svod.float32).tolist()
    [1.0, 2.0]
    """

def asarray(
    obj: Any, /, *, dtype: Any = None, device: builtins.str | None = None, copy: builtins.bool | None = None
) -> Tensor:
    """`obj` as a tensor: itself, if it is one of that type and there, else a copy.

    A tensor is a value, which memory that others may write is not: of their arrays it is a copy. With
    `copy=False` it
    shares their memory, as `from_numpy` and `from_dlpack` do, and what would have to be copied is an error.

    >>> import numpy as np, svod
    >>> svod.asarray([1, 2]).dtype
    svod.int64
    >>> array = np.zeros(2)
    >>> shared = svod.asarray(array, copy=False)
    >>> array[0] = 5
    >>> shared.tolist()
    [5.0, 0.0]
    """

def asin(x: _Operand, /) -> Tensor:
    """Arc sine, in radians; NaN outside of -1..1.

    >>> import svod
    >>> svod.asin(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.5707963705062866]
    """

def asin_(x: _Operand, /) -> Tensor:
    """Becomes what `asin` makes of it."""

def asinh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic sine.

    >>> import svod
    >>> svod.asinh(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def asinh_(x: _Operand, /) -> Tensor:
    """Becomes what `asinh` makes of it."""

def astype(x: _Operand, dtype: Any, /, *, copy: builtins.bool = True, device: builtins.str | None = None) -> Tensor:
    """Each value as another type: floats truncate and saturate to integers, NaN is 0, integers wrap.

    NumPy leaves what does not fit undefined. A tensor is a value, so that whether it is copied shows only where
    it is
    written to.

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

def atan_(x: _Operand, /) -> Tensor:
    """Becomes what `atan` makes of it."""

def atanh(x: _Operand, /) -> Tensor:
    """Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.

    >>> import svod
    >>> svod.atanh(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, inf]
    """

def atanh_(x: _Operand, /) -> Tensor:
    """Becomes what `atanh` makes of it."""

def atleast_1d(*tensors: Any) -> Any:
    """The tensor, or each of several, with a dimension where it has none.

    >>> import svod
    >>> svod.atleast_1d(svod.Tensor(3)).shape
    (1,)
    """

def atleast_2d(*tensors: Any) -> Any:
    """The tensor, or each of several, with dimensions of extent 1 before its own up to two.

    >>> import svod
    >>> svod.atleast_2d(svod.ones(3)).shape
    (1, 3)
    """

def atleast_3d(*tensors: Any) -> Any:
    """The tensor, or each of several, with dimensions of extent 1 up to three: a vector is a row of one deep.

    >>> import svod
    >>> svod.atleast_3d(svod.ones(3)).shape
    (1, 3, 1)
    """

def average(
    x: _Operand,
    /,
    axis: builtins.int | None = None,
    weights: Any = None,
    returned: builtins.bool = False,
    *,
    keepdims: builtins.bool = False,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> Any:
    """The mean, each element as often as its weight says; weights of one dimension are those of the axis. With
    `returned`, the mean and the sum of weights.

    >>> import svod
    >>> svod.average(svod.Tensor([1.0, 3.0]), weights=[3, 1]).item()
    1.5
    """

def baddbmm(x: _Operand, batch1: _Operand, batch2: _Operand, /, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta * x + alpha * (batch1 @ batch2)`, for each matrix of the batch.

    >>> import svod
    >>> svod.baddbmm(svod.ones(1), svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
    [[[4.0]], [[4.0]]]
    """

def bartlett(M: builtins.int, /, *, dtype: Any = None) -> Tensor:
    """Bartlett's window of so many points, a triangle; `svod.bartlett_window` has periodic ones.

    >>> import svod
    >>> svod.bartlett(3).tolist()
    [0.0, 1.0, 0.0]
    """

def bartlett_window(window_length: builtins.int, /, periodic: builtins.bool = True, *, dtype: Any = None) -> Tensor:
    """A triangle from 0 to 1 and back, without its last number if `periodic`.

    >>> import svod
    >>> svod.bartlett_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """

def batch_norm(
    x: _Operand,
    weight: _Operand | None,
    bias: _Operand | None,
    running_mean: _Operand | None,
    running_var: _Operand | None,
    training: builtins.bool,
    momentum: builtins.float,
    eps: builtins.float,
    cudnn_enabled: builtins.bool = False,
    /,
) -> Tensor:
    """As `svod.nn.functional.batch_norm`, whose statistics come before weight and bias.

    >>> import svod
    >>> svod.batch_norm(svod.Tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0).tolist()
    [[-1.0], [1.0]]
    """

def bernoulli(x: _Operand, p: builtins.float | None = None, /, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that each element is, or `p` for all, else 0, in its type.

    >>> import svod
    >>> svod.bernoulli(svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 1.0]
    >>> svod.bernoulli(svod.zeros(2), 1.0).tolist()
    [1.0, 1.0]
    """

def beta(
    a: Tensor | builtins.float,
    b: Tensor | builtins.float,
    shape: builtins.int | Sequence[builtins.int] = (),
    *,
    dtype: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Beta distributed: `x / (x + y)` of two gamma distributed numbers, of which the logarithms are drawn.

    >>> import svod
    >>> svod.beta(2.0, 3.0, (4,)).shape
    (4,)
    """

def bincount(x: _Operand, /, weights: _Operand | None = None, minlength: builtins.int = 0) -> Tensor:
    """How often each integer from 0 on occurs in a vector, or the sum of its weights, of integers in `float64`; the
    length is computed now.

    >>> import svod
    >>> svod.bincount(svod.Tensor([1, 3, 1])).tolist()
    [0, 2, 0, 1]
    """

def binomial(count: _Operand, prob: _Operand, /, *, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`, in the type of `count`.

    By inversion of means up to 10, else by transformed rejection (Hörmann 1993).

    >>> import svod
    >>> svod.binomial(svod.Tensor([5.0, 5.0]), svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 5.0]
    """

def bitwise_count(x: _Operand, /) -> Tensor:
    """How many bits of an integer's magnitude are 1, as `uint8`.

    By sums of neighbours of 1, 2 and 4 bits, side by side in one number (Wegner 1960).

    >>> import svod
    >>> svod.bitwise_count(svod.Tensor([0, 7, -8])).tolist()
    [0, 3, 1]
    """

def blackman(M: builtins.int, /, *, dtype: Any = None) -> Tensor:
    """Blackman's window of so many points; `svod.blackman_window` has periodic ones.

    >>> import svod
    >>> svod.blackman(5).shape
    (5,)
    """

def blackman_window(window_length: builtins.int, /, periodic: builtins.bool = True, *, dtype: Any = None) -> Tensor:
    """Blackman's window, a sum of two cosines.

    >>> import svod
    >>> svod.blackman_window(4).shape
    (4,)
    """

def block(arrays: Any, /) -> Tensor:
    """A tensor of blocks, nested lists of tensors: the innermost lists are joined along the last axis, those around
    them along the one before, and so on.

    >>> import svod
    >>> svod.block([[svod.ones(2, 2), svod.zeros(2, 1)], [svod.zeros(1, 2), 5]]).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 5.0]]
    """

def block_diag(*tensors: Any) -> Tensor:
    """The matrices on the diagonal of one, zeros elsewhere; vectors are rows.

    >>> import svod
    >>> svod.block_diag(svod.Tensor([[1, 2]]), svod.Tensor(3)).tolist()
    [[1, 2, 0], [0, 0, 3]]
    """

def bmm(x: _Operand, mat2: _Operand, /) -> Tensor:
    """The products of matrices, one for each of a batch.

    >>> import svod
    >>> svod.bmm(svod.ones(2, 1, 3), svod.ones(2, 3, 1)).tolist()
    [[[3.0]], [[3.0]]]
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

def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors broadcast to their common shape.

    >>> import svod
    >>> [x.shape for x in svod.broadcast_tensors(svod.ones(3, 1), svod.ones(2))]
    [(3, 2), (3, 2)]
    """

def broadcast_to(x: _Operand, /, shape: Sequence[builtins.int]) -> Tensor:
    """Dimensions of extent 1 repeated to these extents."""

def bucketize(x: Any, boundaries: Any, /, *, out_int32: builtins.bool = False, right: builtins.bool = False) -> Tensor:
    """The number of boundaries, which are sorted, below each element, or, with `right`, not above it.

    >>> import svod
    >>> svod.bucketize(svod.Tensor([1, 4]), svod.Tensor([1, 3, 5])).tolist()
    [0, 2]
    """

def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether the rules of promotion bring a type, or that of a tensor, to another one.

    >>> import svod
    >>> svod.can_cast(svod.int8, svod.int32), svod.can_cast(svod.int32, svod.int8)
    (True, False)
    """

def cartesian_prod(*tensors: Any) -> Tensor:
    """All choices of one element of each vector, as rows; of one vector the vector.

    >>> import svod
    >>> svod.cartesian_prod(svod.Tensor([1, 2]), svod.Tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
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

def cbrt(x: _Operand, /) -> Tensor:
    """The real cube root.

    >>> import svod
    >>> svod.cbrt(svod.Tensor([-8.0, 27.0])).tolist()
    [-2.0, 3.0]
    """

def cdist(x1: _Operand, x2: _Operand, /, p: builtins.float = 2.0, compute_mode: builtins.str | None = None) -> Tensor:
    """The distances, by the `p`-norm, of each row of `x1` from each row of `x2`; dimensions before broadcast.

    Euclidean ones of more than 25 rows are made of a matrix product, unless a derivative is asked for: it takes a
    fraction of the time, and loses digits of distances that are small beside those of all points from their mean.
    PyTorch's `compute_mode` "donot_use_mm_for_euclid_dist" takes differences, "use_mm_for_euclid_dist" the
    product of
    any rows.

    >>> import svod
    >>> svod.cdist(svod.Tensor([[0.0, 0.0]]), svod.Tensor([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[5.0, 0.0]]
    """

def ceil_(x: _Operand, /) -> Tensor:
    """Becomes the smallest integers not below."""

def chain_matmul(*matrices: Any) -> Tensor:
    """The product of matrices, multiplied in the order that takes the fewest operations.

    >>> import svod
    >>> svod.chain_matmul(svod.ones(1, 2), svod.ones(2, 3), svod.ones(3, 1)).tolist()
    [[6.0]]
    """

def channel_shuffle(x: _Operand, groups: builtins.int, /) -> Tensor:
    """The channels, dimension 1, of so many groups in turn.

    >>> import svod
    >>> svod.channel_shuffle(svod.arange(4).reshape(1, 4, 1), 2).flatten().tolist()
    [0, 2, 1, 3]
    """

def cholesky(x: _Operand, /, upper: builtins.bool = False) -> Tensor:
    """As `svod.linalg.cholesky`.

    >>> import svod
    >>> svod.cholesky(svod.Tensor([[4.0, 2.0], [2.0, 2.0]])).tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """

def cholesky_inverse(x: _Operand, /, upper: builtins.bool = False) -> Tensor:
    """The inverses of the matrices whose Cholesky triangles these are.

    >>> import svod
    >>> svod.cholesky_inverse(svod.Tensor([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.5, -0.5], [-0.5, 1.0]]
    """

def cholesky_solve(x: _Operand, input2: _Operand, /, upper: builtins.bool = False) -> Tensor:
    """y with A y = x, where `input2` are the Cholesky triangles of A: lower ones, or upper ones.

    >>> import svod
    >>> svod.cholesky_solve(svod.Tensor([[2.0], [2.0]]), svod.Tensor([[2.0, 0.0], [1.0, 1.0]])).tolist()
    [[0.0], [1.0]]
    """

def choose(x: _Operand, choices: Any, /, *, mode: builtins.str = "raise") -> Tensor:
    """For each element, an integer, the element there of the choice of this number; all of them broadcast.

    Numbers of no choice are an error where they are known: in memory, when no function is traced. With
    `mode="wrap"`
    they count modulo the number of choices, with `"clip"` they are the nearest one.

    >>> import svod
    >>> svod.choose(svod.Tensor([0, 1, 0]), [[1, 2, 3], [-1, -2, -3]]).tolist()
    [1, -2, 3]
    """

def chunk(
    x: _Operand, /, chunks: _Extent, dim: builtins.int | None = 0, *, axis: builtins.int | None = None
) -> list[Tensor]:
    """At most so many parts of equal extent along an axis, the last one maybe smaller."""

def clamp(x: _Operand, /, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """Not below `min` and not above `max`; NaN stays."""

def clamp_(x: _Operand, /, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """Becomes not below `min` and not above `max`; NaN stays."""

def clamp_max(x: _Operand, max: Any, /) -> Tensor:
    """Not above `max`; NaN stays.

    >>> import svod
    >>> svod.clamp_max(svod.Tensor([1, 5]), 3).tolist()
    [1, 3]
    """

def clamp_max_(x: _Operand, max: Any, /) -> Tensor:
    """Becomes what `clamp_max` makes of it."""

def clamp_min(x: _Operand, min: Any, /) -> Tensor:
    """Not below `min`; NaN stays.

    >>> import svod
    >>> svod.clamp_min(svod.Tensor([1, 5]), 3).tolist()
    [3, 5]
    """

def clamp_min_(x: _Operand, min: Any, /) -> Tensor:
    """Becomes what `clamp_min` makes of it."""

def clip(x: _Operand, /, min: Any = None, max: Any = None) -> Tensor:
    """Not below `min` and not above `max`; NaN stays."""

def clip_(x: _Operand, /, min: _Operand | None = None, max: _Operand | None = None) -> Tensor:
    """Becomes what `clip` makes of it."""

def clone(x: _Operand, /) -> Tensor:
    """A tensor of its own with the same value: of one that follows a plan, or borrows an array, that of this moment."""

def column_stack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors side by side, vectors as columns.

    >>> import svod
    >>> svod.column_stack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """

def combinations(x: _Operand, /, r: builtins.int = 2, with_replacement: builtins.bool = False) -> Tensor:
    """The choices of `r` elements of a vector in their order, as rows; `with_replacement` of equal ones too.

    >>> import svod
    >>> svod.combinations(svod.Tensor([1, 2, 3])).tolist()
    [[1, 2], [1, 3], [2, 3]]
    """

def compress(
    condition: Any, x: _Operand, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None
) -> Tensor:
    """What is along an axis, or in the flat tensor, where a condition holds, which may be shorter; computed now.

    >>> import svod
    >>> svod.compress([False, True], svod.Tensor([[1, 2], [3, 4]]), axis=1).tolist()
    [[2], [4]]
    """

def concat(arrays: Sequence[Any], /, axis: builtins.int | None = 0, *, dim: builtins.int | None = 0) -> Tensor:
    """The tensors one after the other along an axis, in the type in which they meet; with None, flat.

    >>> import svod
    >>> svod.concat([svod.Tensor([[1], [2]]), svod.Tensor([[3.0]])], axis=None).tolist()
    [1.0, 2.0, 3.0]
    """

def concatenate(arrays: Sequence[Any], /, axis: builtins.int | None = 0, *, dim: builtins.int | None = 0) -> Tensor:
    """The tensors one after the other along an axis, in the type in which they meet; with None, flat.

    >>> import svod
    >>> svod.concat([svod.Tensor([[1], [2]]), svod.Tensor([[3.0]])], axis=None).tolist()
    [1.0, 2.0, 3.0]
    """

def conj_physical(x: _Operand, /) -> Tensor:
    """The numbers with imaginary parts of the opposite sign.

    >>> import svod
    >>> svod.conj_physical(svod.Tensor([1 + 2j])).tolist()
    [(1-2j)]
    """

def conj_physical_(x: _Operand, /) -> Tensor:
    """Becomes what `conj_physical` makes of it."""

def conjugate(x: _Operand, /) -> Tensor:
    """As `svod.conj`: the imaginary part with the other sign.

    >>> import svod
    >>> svod.conjugate(svod.Tensor([1 + 2j])).tolist()
    [(1-2j)]
    """

def constant_pad_nd(x: _Operand, pad: Sequence[builtins.int], value: builtins.float = 0, /) -> Tensor:
    """More elements before and after the last axes: as `svod.nn.functional.pad`.

    >>> import svod
    >>> svod.constant_pad_nd(svod.ones(2), (1, 0), 5).tolist()
    [5.0, 1.0, 1.0]
    """

def convolution(
    x: _Operand,
    weight: _Operand,
    bias: _Operand | None,
    stride: builtins.int | Sequence[builtins.int],
    padding: builtins.int | Sequence[builtins.int],
    dilation: builtins.int | Sequence[builtins.int],
    transposed: builtins.bool,
    output_padding: builtins.int | Sequence[builtins.int],
    groups: builtins.int,
    /,
) -> Tensor:
    """A convolution over any number of axes, or a transposed one.

    >>> import svod
    >>> svod.convolution(svod.ones(1, 1, 4), svod.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1).tolist()
    [[[2.0, 2.0, 2.0]]]
    """

def convolve(x: _Operand, v: _Operand, /, mode: builtins.str = "full") -> Tensor:
    """The convolution of two vectors, where they meet at all, "full", in the length of the longer, "same", or where
    one
    is within the other, "valid".

    >>> import svod
    >>> svod.convolve(svod.Tensor([1.0, 2.0, 3.0]), svod.Tensor([1.0, 1.0])).tolist()
    [1.0, 3.0, 5.0, 3.0]
    """

def copy(x: _Operand, /) -> Tensor:
    """The same elements in memory of their own. A tensor is a value: another name is as good.

    >>> import svod
    >>> svod.Tensor([1, 2]).copy().tolist()
    [1, 2]
    """

def copysign(x1: Any, x2: Any, /) -> Tensor:
    """The absolute value of `x1` with the sign of `x2`, that of zeros and NaN included.

    >>> import svod
    >>> svod.copysign(svod.Tensor([1.0, 2.0]), svod.Tensor([-0.0, 3.0])).tolist()
    [-1.0, 2.0]
    """

def corrcoef(x: _Operand, y: _Operand | None = None, /, *, rowvar: builtins.bool = True) -> Tensor:
    """The correlation coefficients of the rows of a matrix, and of `y`, which are behind them; without `rowvar`
    those
    of columns. Of one row 1.

    >>> import svod
    >>> svod.corrcoef(svod.Tensor([[1.0, 2.0], [4.0, 2.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """

def correlate(x: _Operand, v: _Operand, /, mode: builtins.str = "valid") -> Tensor:
    """The sums of products of two vectors, of which one is moved along the other; `mode` as of `convolve`.

    >>> import svod
    >>> svod.correlate(svod.Tensor([1.0, 2.0, 3.0]), svod.Tensor([1.0, 1.0])).tolist()
    [3.0, 5.0]
    """

def cos_(x: _Operand, /) -> Tensor:
    """Becomes what `cos` makes of it."""

def cosh(x: _Operand, /) -> Tensor:
    """Hyperbolic cosine.

    >>> import svod
    >>> svod.cosh(svod.Tensor([0.0])).tolist()
    [1.0]
    """

def cosh_(x: _Operand, /) -> Tensor:
    """Becomes what `cosh` makes of it."""

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

def cov(
    x: _Operand,
    y: _Operand | None = None,
    /,
    *,
    correction: builtins.float | None = None,
    fweights: Any = None,
    aweights: Any = None,
    rowvar: builtins.bool = True,
    bias: builtins.bool = False,
    ddof: builtins.float | None = None,
) -> Tensor:
    """The covariances of the rows of a matrix, whose columns are observations, and of `y`, which are behind them.

    There are so many of each, `fweights`, of this importance, `aweights`. The divisor is their number without
    `correction`, or `ddof`: 1, and 0 with `bias`. Without `rowvar` rows are observations. Of one row the
    variance.

    >>> import svod
    >>> svod.cov(svod.Tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """

def cross(x1: Any, x2: Any, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None) -> Tensor:
    """The cross products of vectors of three numbers along an axis; the others broadcast.

    By default the last axis, or, where that has another extent, the first one of three, as PyTorch has it.

    >>> import svod
    >>> svod.cross(svod.Tensor([1, 0, 0]), svod.Tensor([0, 1, 0])).tolist()
    [0, 0, 1]
    """

def cummax(x: _Operand, /, dim: builtins.int | None = None, *, axis: builtins.int | None = None) -> Any:
    """The maximum of the elements up to each one along an axis.

    With `dim`, by name or position, PyTorch's pair of values and the last positions at which they are; with
    `axis`, values.
    """

def cummin(x: _Operand, /, dim: builtins.int | None = None, *, axis: builtins.int | None = None) -> Any:
    """The minimum of the elements up to each one along an axis.

    With `dim`, by name or position, PyTorch's pair of values and the last positions at which they are; with
    `axis`, values.
    """

def cumprod(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    *,
    axis: builtins.int | None = None,
    dtype: _DTypeLike | None = None,
    exclusive: _Operand = False,
    reverse: _Operand = False,
) -> Tensor:
    """The products of the elements up to each one along an axis; of integers and bools in `int64`.
    Without the element itself where it is `exclusive`; in `reverse` of those behind it.
    """

def cumsum(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    *,
    axis: builtins.int | None = None,
    dtype: _DTypeLike | None = None,
    exclusive: _Operand = False,
    reverse: _Operand = False,
) -> Tensor:
    """The sums of the elements up to each one along an axis; of integers and bools in `int64`.
    Without the element itself where it is `exclusive`; in `reverse` of those behind it.
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

def cumulative_trapezoid(
    y: _Operand,
    x: _Operand | None = None,
    /,
    *,
    dx: builtins.float = 1,
    axis: builtins.int = -1,
    dim: builtins.int = -1,
) -> Tensor:
    """The integrals from the first point to each other one along an axis, by trapezoids; one fewer.

    >>> import svod
    >>> svod.cumulative_trapezoid(svod.Tensor([1.0, 2.0, 3.0])).tolist()
    [1.5, 4.0]
    """

def deg2rad(x: _Operand, /) -> Tensor:
    """Angles in degrees as radians.

    >>> import svod
    >>> svod.deg2rad(svod.Tensor([180.0])).tolist()
    [3.1415927410125732]
    """

def deg2rad_(x: _Operand, /) -> Tensor:
    """Becomes what `deg2rad` makes of it."""

def degrees(x: _Operand, /) -> Tensor:
    """As `svod.rad2deg`: an angle in degrees.

    >>> import svod
    >>> svod.degrees(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def delete(x: _Operand, obj: Any, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None) -> Tensor:
    """The tensor without what is at an index, a slice, several indices or a mask of an axis, by default of
    all elements.

    >>> import svod
    >>> svod.delete(svod.Tensor([1, 2, 3, 4]), [0, 2]).tolist()
    [2, 4]
    """

def det(x: _Operand, /) -> Tensor:
    """As `svod.linalg.det`.

    >>> import svod
    >>> svod.det(svod.Tensor([[2.0, 1.0], [0.0, 3.0]])).item()
    6.0
    """

def detach(x: _Operand, /) -> Tensor:
    """The same value without gradient."""

def detach_copy(x: _Operand, /) -> Tensor:
    """As `detach`.

    >>> import svod
    >>> svod.detach_copy(svod.Tensor([1, 2])).tolist()
    [1, 2]
    """

def diag(x: _Operand, /, diagonal: builtins.int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix that has a vector for its diagonal.

    >>> import svod
    >>> svod.diag(svod.Tensor([1, 2])).tolist()
    [[1, 0], [0, 2]]
    """

def diag_embed(
    x: _Operand,
    /,
    offset: builtins.int = 0,
    axis1: builtins.int = -2,
    axis2: builtins.int = -1,
    *,
    dim1: builtins.int = -2,
    dim2: builtins.int = -1,
) -> Tensor:
    """Matrices over two dimensions of the result that have the last dimension of `x` for their diagonals.

    `offset` diagonals to the right of the main one, or, negative, to the left.

    >>> import svod
    >>> svod.diag_embed(svod.Tensor([1, 2]), offset=1).tolist()
    [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    """

def diag_indices(n: builtins.int, ndim: builtins.int = 2) -> tuple[Tensor, ...]:
    """The positions along each of `ndim` dimensions of extent `n` where all of them are equal.

    >>> import svod
    >>> x = svod.zeros(2, 2)
    >>> x[svod.diag_indices(2)] = 5
    >>> x.tolist()
    [[5.0, 0.0], [0.0, 5.0]]
    """

def diag_indices_from(x: _Operand, /) -> tuple[Tensor, ...]:
    """As `diag_indices`, for a tensor, whose dimensions have one extent.

    >>> import svod
    >>> x = svod.Tensor([[1, 2], [3, 4]])
    >>> x[svod.diag_indices_from(x)].tolist()
    [1, 4]
    """

def diagflat(x: _Operand, /, offset: builtins.int = 0) -> Tensor:
    """The matrix that has all elements on a diagonal.

    >>> import svod
    >>> svod.diagflat(svod.Tensor([[1], [2]])).tolist()
    [[1, 0], [0, 2]]
    """

def diagonal(
    x: _Operand,
    /,
    offset: builtins.int = 0,
    axis1: builtins.int = 0,
    axis2: builtins.int = 1,
    *,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
) -> Tensor:
    """The diagonals over two dimensions, as the last dimension of the result.

    >>> import svod
    >>> svod.diagonal(svod.Tensor([[1, 2, 3], [4, 5, 6]]), offset=1).tolist()
    [2, 6]
    """

def diagonal_copy(
    x: _Operand,
    /,
    offset: builtins.int = 0,
    axis1: builtins.int = 0,
    axis2: builtins.int = 1,
    *,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
) -> Tensor:
    """As `diagonal`.

    >>> import svod
    >>> svod.diagonal_copy(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [1, 4]
    """

def diagonal_scatter(
    x: _Operand,
    src: _Operand,
    /,
    offset: builtins.int = 0,
    axis1: builtins.int = 0,
    axis2: builtins.int = 1,
    *,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
) -> Tensor:
    """The tensor with other diagonals over two dimensions.

    >>> import svod
    >>> svod.diagonal_scatter(svod.zeros(2, 2), svod.ones(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
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

def digitize(x: Any, bins: Any, /, right: builtins.bool = False) -> Tensor:
    """The bin of each element: the number of edges, which rise, that are not above it, or, with `right`, below it;
    of
    edges that fall those that are above it, or, with `right`, not below it.

    >>> import svod
    >>> svod.digitize(svod.Tensor([1, 4]), svod.Tensor([1, 3, 5])).tolist()
    [1, 2]
    >>> svod.digitize(svod.Tensor([1, 4]), svod.Tensor([5, 3, 1])).tolist()
    [2, 1]
    """

def dist(x: _Operand, other: Any, /, p: builtins.float = 2) -> Tensor:
    """The `p`-norm of a difference.

    >>> import svod
    >>> svod.dist(svod.Tensor([0.0, 0.0]), svod.Tensor([3.0, 4.0])).item()
    5.0
    """

def div(x: _Operand, /, other: _Operand, *, rounding_mode: _Operand | None = None) -> Tensor:
    """True quotient, a float; with `rounding_mode` "floor" or "trunc" rounded, of integers an integer."""

def divide(x1: Any, x2: Any, /, *, rounding_mode: builtins.str | None = None) -> Tensor:
    """True quotient, integers becoming floats; with `rounding_mode` "floor" or "trunc" rounded, of integers an
    integer.

    >>> import svod
    >>> svod.divide(1, svod.Tensor([2, 4])).tolist()
    [0.5, 0.25]
    """

def divmod(x1: Any, x2: Any, /) -> tuple[Tensor, Tensor]:
    """The quotients, rounded down, and what is left: `floor_divide` and `remainder`.

    >>> import svod
    >>> [part.tolist() for part in svod.divmod(svod.Tensor([7, -7]), 3)]
    [[2, -3], [1, 2]]
    """

def dot(x: _Operand, /, other: _Operand) -> Tensor:
    """As `matmul`."""

def dsplit(x: _Operand, indices_or_sections: builtins.int | Sequence[builtins.int], /) -> tuple[Tensor, ...]:
    """Split along the third dimension: into equal parts, or before indices.

    >>> import svod
    >>> [part.shape for part in svod.dsplit(svod.ones(1, 2, 4), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """

def dstack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors one behind the other along the third dimension, as `atleast_3d` has them.

    >>> import svod
    >>> svod.dstack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
    [[[1, 3], [2, 4]]]
    """

def ediff1d(x: _Operand, /, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of neighbours in the flat tensor, between what is put at the beginning and at the end.

    >>> import svod
    >>> svod.ediff1d(svod.Tensor([1, 4, 9]), to_begin=0, to_end=[7, 8]).tolist()
    [0, 3, 5, 7, 8]
    """

def embedding(
    weight: _Operand,
    indices: _Operand,
    /,
    padding_idx: builtins.int = -1,
    scale_grad_by_freq: builtins.bool = False,
    sparse: builtins.bool = False,
) -> Tensor:
    """Rows of a table by index: as `svod.nn.functional.embedding`, which takes the indices first.

    >>> import svod
    >>> svod.embedding(svod.Tensor([[1.0], [2.0]]), svod.Tensor([1, 1])).tolist()
    [[2.0], [2.0]]
    """

def embedding_bag(
    weight: _Operand,
    indices: _Operand,
    offsets: _Operand,
    /,
    scale_grad_by_freq: builtins.bool = False,
    mode: builtins.int = 0,
    sparse: builtins.bool = False,
    per_sample_weights: _Operand | None = None,
    include_last_offset: builtins.bool = False,
    padding_idx: builtins.int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sums (mode 0), means (1) or maxima (2) of rows: `svod.nn.functional.embedding_bag`, and what backward needs.

    That is the bag of each index; how many rows each bag has, which sums leave at 0; the index that each maximum
    is
    of, in other modes the numbers of rows again.

    >>> import svod
    >>> made = svod.embedding_bag(svod.Tensor([[1.0], [2.0]]), svod.Tensor([0, 1, 1]), svod.Tensor([0, 2]),
    mode=1)
    >>> [one.tolist() for one in made]
    [[[1.5], [2.0]], [0, 0, 1], [2, 1], [2, 1]]
    """

def embedding_renorm_(
    weight: _Operand, indices: _Operand, max_norm: builtins.float, norm_type: builtins.float, /
) -> Tensor:
    """The table, of which rows that are named, and longer, become `max_norm` long; it is changed.

    >>> import svod
    >>> rows = svod.Tensor([[3.0, 4.0], [3.0, 4.0]])
    >>> svod.embedding_renorm_(rows, svod.Tensor([1]), 1.0, 2.0).sum(1).round().tolist()
    [7.0, 1.0]
    """

def empty_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Memory in a tensor's shape, and in its type and on its device, unless others are named."""

def empty_permuted(
    size: Sequence[builtins.int],
    physical_layout: Sequence[builtins.int],
    /,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """As `empty`: elements are row-major, whichever order of dimensions is asked for.

    >>> import svod
    >>> svod.empty_permuted((2, 3), (1, 0)).shape
    (2, 3)
    """

def empty_strided(
    size: Sequence[builtins.int],
    stride: Sequence[builtins.int],
    /,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    requires_grad: builtins.bool = False,
) -> Tensor:
    """As `empty`: elements are dense and row-major, whichever strides are asked for.

    >>> import svod
    >>> svod.empty_strided((2, 3), (1, 2)).shape
    (2, 3)
    """

def erf_(x: _Operand, /) -> Tensor:
    """Becomes what `erf` makes of it."""

def erfc(x: _Operand, /) -> Tensor:
    """`1 - erf(x)`, also where that is small.

    >>> import svod
    >>> svod.erfc(svod.Tensor([0.0, 10.0])).tolist()
    [1.0, 1.401298464324817e-45]
    """

def erfc_(x: _Operand, /) -> Tensor:
    """Becomes what `erfc` makes of it."""

def erfinv(x: _Operand, /) -> Tensor:
    """The inverse of `erf`; infinite at -1 and 1, NaN outside.

    Two of Halley's steps from Winitzki's approximation (2008); of types narrower than `float64` by Giles'
    variable
    (2010).

    >>> import svod
    >>> svod.erfinv(svod.erf(svod.Tensor([0.5]))).tolist()
    [0.5]
    """

def exp2_(x: _Operand, /) -> Tensor:
    """Becomes what `exp2` makes of it."""

def exp_(x: _Operand, /) -> Tensor:
    """Becomes `exp(x)`."""

def expand_copy(x: _Operand, size: Sequence[builtins.int], /, implicit: builtins.bool = False) -> Tensor:
    """As `Tensor.expand`; `implicit` says who asked for it, and changes nothing.

    >>> import svod
    >>> svod.expand_copy(svod.Tensor([1, 2]), (2, -1)).tolist()
    [[1, 2], [1, 2]]
    """

def expand_dims(
    x: _Operand, /, axis: builtins.int | Sequence[builtins.int] = 0, *, dim: builtins.int | Sequence[builtins.int] = 0
) -> Tensor:
    """New dimensions of extent 1 at these positions of the result.

    >>> import svod
    >>> svod.expand_dims(svod.ones(3), axis=(0, 2)).shape
    (1, 3, 1)
    """

def expm1_(x: _Operand, /) -> Tensor:
    """Becomes what `expm1` makes of it."""

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

def extract(condition: Any, x: _Operand, /) -> Tensor:
    """The elements of the flat tensor where those of a condition are not zero; computed now.

    >>> import svod
    >>> x = svod.arange(6)
    >>> svod.extract(x % 2 == 0, x).tolist()
    [0, 2, 4]
    """

def fabs(x: _Operand, /) -> Tensor:
    """The magnitude of real numbers, as floats.

    >>> import svod
    >>> svod.fabs(svod.Tensor([-2])).tolist()
    [2.0]
    """

def feature_alpha_dropout(x: _Operand, p: builtins.float, train: builtins.bool, /) -> Tensor:
    """As `svod.nn.functional.feature_alpha_dropout`.

    >>> import svod
    >>> svod.feature_alpha_dropout(svod.ones(1, 2, 2), 0.5, False).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """

def feature_dropout(x: _Operand, p: builtins.float, train: builtins.bool, /) -> Tensor:
    """`dropout` of whole channels, the second axis, if it is to `train`.

    >>> import svod
    >>> svod.feature_dropout(svod.ones(1, 2, 2), 0.5, False).tolist()
    [[[1.0, 1.0], [1.0, 1.0]]]
    """

def feature_dropout_(x: _Operand, p: builtins.float, train: builtins.bool, /) -> Tensor:
    """The tensor becomes what `feature_dropout` makes of it.

    >>> import svod
    >>> svod.feature_dropout_(svod.ones(1, 2), 0.5, False).tolist()
    [[1.0, 1.0]]
    """

def fill(x: _Operand, value: Any, /) -> Tensor:
    """A number in each place.

    >>> import svod
    >>> svod.fill(svod.ones(2), 3).tolist()
    [3.0, 3.0]
    """

def fill_(x: _Operand, /, value: _Operand) -> Tensor:
    """Becomes one value everywhere."""

def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating-point type, or of a tensor's; of a complex type those of its parts.

    >>> import svod
    >>> svod.finfo(svod.float32).max
    3.4028234663852886e+38
    """

def fix(x: _Operand, /) -> Tensor:
    """The integer part, in the same type.

    >>> import svod
    >>> svod.fix(svod.Tensor([-1.5, 1.5])).tolist()
    [-1.0, 1.0]
    """

def fix_(x: _Operand, /) -> Tensor:
    """Becomes what `fix` makes of it."""

def flatnonzero(x: _Operand, /) -> Tensor:
    """The positions of the elements that are not zero in the flat tensor; computed now.

    >>> import svod
    >>> svod.flatnonzero(svod.Tensor([[0, 1], [1, 0]])).tolist()
    [1, 2]
    """

def flatten(x: _Operand, /, start_dim: _Operand = 0, end_dim: _Operand = -1) -> Tensor:
    """Dimensions `start_dim` to `end_dim` as one."""

def flip(
    x: _Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    *,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """These dimensions in reverse order, by default all."""

def fliplr(x: _Operand, /) -> Tensor:
    """The second dimension in reverse order.

    >>> import svod
    >>> svod.fliplr(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """

def flipud(x: _Operand, /) -> Tensor:
    """The first dimension in reverse order.

    >>> import svod
    >>> svod.flipud(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[3, 4], [1, 2]]
    """

def float_power(x1: Any, x2: Any, /) -> Tensor:
    """Power in double precision, whatever the types.

    >>> import svod
    >>> svod.float_power(svod.Tensor([2]), -1).tolist()
    [0.5]
    """

def floor_(x: _Operand, /) -> Tensor:
    """Becomes the largest integers not above."""

def fmax(x1: Any, x2: Any, /) -> Tensor:
    """The greater; where one is NaN the other.

    >>> import svod
    >>> svod.fmax(svod.Tensor([1.0, svod.nan]), 0.5).tolist()
    [1.0, 0.5]
    """

def fmin(x1: Any, x2: Any, /) -> Tensor:
    """The lesser; where one is NaN the other.

    >>> import svod
    >>> svod.fmin(svod.Tensor([1.0, svod.nan]), 0.5).tolist()
    [0.5, 0.5]
    """

def fmod(x1: Any, x2: Any, /) -> Tensor:
    """What division leaves, of the dividend's sign, exactly; by an integer 0 it is 0.

    >>> import svod
    >>> svod.fmod(svod.Tensor([-7, 7]), svod.Tensor([3, -3])).tolist()
    [-1, 1]
    """

def frac(x: _Operand, /) -> Tensor:
    """What is behind the point, of the number's sign.

    >>> import svod
    >>> svod.frac(svod.Tensor([-1.5, 2.25])).tolist()
    [-0.5, 0.25]
    """

def frac_(x: _Operand, /) -> Tensor:
    """Becomes what `frac` makes of it."""

def frexp(x: _Operand, /) -> tuple[Tensor, Tensor]:
    """`mantissa` and `exponent` with `x = mantissa * 2**exponent`; the mantissa is from 0.5 to 1, or 0, inf or NaN.

    >>> import svod
    >>> [part.tolist() for part in svod.frexp(svod.Tensor([6.0]))]
    [[0.75], [3]]
    """

def frobenius_norm(
    x: _Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    keepdims: builtins.bool = False,
    *,
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The root of the sum of the squares along axes, by default all.

    >>> import svod
    >>> svod.frobenius_norm(svod.Tensor([[3.0, 4.0]])).item()
    5.0
    """

def from_file(
    filename: builtins.str, /, shared: builtins.bool | None = None, size: builtins.int = 0, *, dtype: Any = None
) -> Tensor:
    """The first `size` elements, by default in `float32`, that the bytes of a file are; read now, never `shared`.

    >>> import svod, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = (file.write(bytes([1, 2, 3])), file.flush())
    ...     svod.from_file(file.name, size=2, dtype="uint8").tolist()
    [1, 2]
    """

def frombuffer(buffer: Any, /, dtype: Any = None, count: builtins.int = -1, offset: builtins.int = 0) -> Tensor:
    """The elements, by default in `float32`, that bytes from `offset` on are, `count` of them or all; a copy.

    >>> import svod
    >>> svod.frombuffer(bytes([1, 0, 2, 0]), dtype=svod.int16).tolist()
    [1, 2]
    """

def fromfunction(function: Callable[..., Any], shape: Sequence[builtins.int], *, dtype: Any = None) -> Tensor:
    """What a function makes of the positions along each axis, tensors of the shape; `float32`, unless a type is
    named.

    >>> import svod
    >>> svod.fromfunction(lambda i, j: i + 2 * j, (2, 2), dtype=int).tolist()
    [[0, 2], [1, 3]]
    """

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
    """Gamma distributed with mean `concentration * scale` (Marsaglia and Tsang 2000). Numbers that are less than any
    that the type holds, which a small `concentration` has, are 0.

    >>> import svod
    >>> svod.gamma(2.0, shape=(3, 4)).shape
    (3, 4)
    """

def gather(x: _Operand, /, dim: builtins.int | None, index: _ArrayLike, *, axis: builtins.int | None = None) -> Tensor:
    """For each element of `index` the element at its position but, along `dim`, at its value."""

def gcd(x1: Any, x2: Any, /) -> Tensor:
    """The greatest common divisor, by Euclid's algorithm; 0 of zeros.

    >>> import svod
    >>> svod.gcd(svod.Tensor([12, -8]), 18).tolist()
    [6, 2]
    """

def gcd_(x: _Operand, x2: Any, /) -> Tensor:
    """Becomes what `gcd` makes of it."""

def geomspace(
    start: builtins.float,
    stop: builtins.float,
    num: builtins.int = 50,
    /,
    *,
    endpoint: builtins.bool = True,
    dtype: Any = None,
) -> Tensor:
    """`num` numbers of equal ratio from `start` to `stop`, of one sign; as integers the nearest ones.

    >>> import svod
    >>> svod.geomspace(1.0, 8.0, 4, dtype=svod.int64).tolist()
    [1, 2, 4, 8]
    """

def geqrf(x: _Operand, /) -> Reflections:
    """The factors of `qr` as LAPACK leaves them: R, below it the vectors v of reflections `1 - tau v vᴴ`, and tau.

    `orgqr` makes Q of them, `ormqr` products with it. To ask for a derivative is an error; `qr` has one.

    >>> import svod
    >>> packed, tau = svod.geqrf(svod.Tensor([[3.0], [4.0]]))
    >>> f"{packed[0, 0].item():.3f}, {tau[0].item():.3f}"
    '-5.000, 1.600'
    """

def ger(x: _Operand, vec2: _Operand, /) -> Tensor:
    """As `outer`.

    >>> import svod
    >>> svod.ger(svod.Tensor([1, 2]), svod.Tensor([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """

def get_device(x: _Operand, /) -> builtins.int:
    """The number of the device among those of its kind; -1 on a CPU.

    >>> import svod
    >>> svod.get_device(svod.ones(1))
    -1
    """

def gradient(
    x: _Operand,
    /,
    *,
    spacing: builtins.float | Tensor | Sequence[builtins.float | Tensor] | None = None,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    edge_order: builtins.int = 1,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> tuple[Tensor, ...]:
    """The slopes along axes, by default all, one tensor for each: by the points beside a point, at the ends by the
    first two, or, with an `edge_order` of 2, three. `spacing` is the distance of points, by default 1, or one for
    each
    axis; or for each axis a vector of its coordinates (Fornberg 1988).

    >>> import svod
    >>> svod.gradient(svod.Tensor([1.0, 4.0, 9.0]))[0].tolist()
    [3.0, 4.0, 5.0]
    """

def grid_sampler(
    x: _Operand,
    grid: _Operand,
    interpolation_mode: builtins.int,
    padding_mode: builtins.int,
    align_corners: builtins.bool,
    /,
) -> Tensor:
    """As `svod.nn.functional.grid_sample`, by numbers: 0 and 1 bilinear and nearest; 0, 1, 2 zeros, border,
    reflection.

    >>> import svod
    >>> svod.grid_sampler(svod.ones(1, 1, 2, 2), svod.zeros(1, 1, 1, 2), 0, 0, True).tolist()
    [[[[1.0]]]]
    """

def grid_sampler_2d(
    x: _Operand,
    grid: _Operand,
    interpolation_mode: builtins.int,
    padding_mode: builtins.int,
    align_corners: builtins.bool,
    /,
) -> Tensor:
    """As `grid_sampler`, of images.

    >>> import svod
    >>> svod.grid_sampler_2d(svod.ones(1, 1, 2, 2), svod.zeros(1, 1, 1, 2), 0, 0, True).tolist()
    [[[[1.0]]]]
    """

def grid_sampler_3d(
    x: _Operand,
    grid: _Operand,
    interpolation_mode: builtins.int,
    padding_mode: builtins.int,
    align_corners: builtins.bool,
    /,
) -> Tensor:
    """As `grid_sampler`, of volumes.

    >>> import svod
    >>> svod.grid_sampler_3d(svod.ones(1, 1, 2, 2, 2), svod.zeros(1, 1, 1, 1, 3), 0, 0, True).tolist()
    [[[[[1.0]]]]]
    """

def grouped_mm(
    x: _Operand,
    mat_b: _Operand,
    /,
    *,
    offs: _Operand | None = None,
    bias: _Operand | None = None,
    out_dtype: Any = None,
) -> Tensor:
    """Products of groups of matrices: of stacks, or of matrices in which groups lie side by side up to each of
    `offs`.

    Rows of a matrix, each times the matrix of its group; columns of the other one likewise; or columns of the one
    and
    rows of the other, which gives a stack.

    >>> import svod
    >>> svod.grouped_mm(svod.ones(3, 2), svod.ones(2, 2, 1), offs=svod.Tensor([1, 3])).tolist()
    [[2.0], [2.0], [2.0]]
    """

def gru(
    x: _Operand,
    hx: _Operand,
    params: Sequence[Tensor],
    has_biases: builtins.bool,
    num_layers: builtins.int,
    dropout: builtins.float,
    train: builtins.bool,
    bidirectional: builtins.bool,
    batch_first: builtins.bool,
    /,
) -> tuple[Tensor, Tensor]:
    """`svod.nn.GRU` with these parameters, in its order: the results, and the last states.

    >>> import svod
    >>> layer, x = svod.nn.GRU(3, 4), svod.ones(5, 2, 3)
    >>> made = svod.gru(x, svod.zeros(1, 2, 4), layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """

def gru_cell(
    x: _Operand,
    hx: _Operand,
    w_ih: _Operand,
    w_hh: _Operand,
    b_ih: _Operand | None = None,
    b_hh: _Operand | None = None,
    /,
) -> Tensor:
    """A step of `svod.nn.GRUCell` with these parameters.

    >>> import svod
    >>> svod.gru_cell(svod.ones(1, 2), svod.zeros(1, 1), svod.zeros(3, 2), svod.zeros(3, 1)).tolist()
    [[0.0]]
    """

def hamming(M: builtins.int, /, *, dtype: Any = None) -> Tensor:
    """Hamming's window of so many points, a raised cosine; `svod.hamming_window` has periodic ones.

    >>> import svod
    >>> svod.hamming(5).shape
    (5,)
    """

def hamming_window(
    window_length: builtins.int,
    /,
    periodic: builtins.bool = True,
    alpha: builtins.float = 0.54,
    beta: builtins.float = 0.46,
    *,
    dtype: Any = None,
) -> Tensor:
    """Hamming's window, `alpha - beta * cos`.

    >>> import svod
    >>> svod.hamming_window(4).shape
    (4,)
    """

def hann_window(window_length: builtins.int, /, periodic: builtins.bool = True, *, dtype: Any = None) -> Tensor:
    """Hann's window, one wave of a cosine from 0 to 1.

    >>> import svod
    >>> svod.hann_window(4).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """

def hanning(M: builtins.int, /, *, dtype: Any = None) -> Tensor:
    """Hann's window of so many points, a raised cosine; `svod.hann_window` has periodic ones.

    >>> import svod
    >>> svod.hanning(3).tolist()
    [0.0, 1.0, 0.0]
    """

def hash_tensor(
    x: _Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    *,
    keepdims: builtins.bool = False,
    mode: builtins.int = 0,
    dim: builtins.int | Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The exclusive or of the elements' bits along axes, `uint64`: floats as `float64` has them, integers as
    `int64`.

    >>> import svod
    >>> svod.hash_tensor(svod.Tensor([1, 2, 4])).item()
    7
    """

def heaviside(x1: Any, x2: Any, /) -> Tensor:
    """0 below 0, 1 above, and `x2` at 0; NaN stays.

    >>> import svod
    >>> svod.heaviside(svod.Tensor([-1.0, 0.0, 2.0]), 0.5).tolist()
    [0.0, 0.5, 1.0]
    """

def histc(x: _Operand, /, bins: builtins.int = 100, min: builtins.float = 0, max: builtins.float = 0) -> Tensor:
    """How many elements are in each of so many bins of equal width from `min` to `max`; where these are equal, from
    the
    least to the greatest element. Others are not counted. Counts of integers are `int64`, of floats of their
    type, of
    16-bit ones `float32`.

    >>> import svod
    >>> svod.histc(svod.Tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3).tolist()
    [0.0, 2.0, 1.0, 0.0]
    >>> svod.histc(svod.Tensor([1, 2, 1]), bins=4, min=0, max=3).tolist()
    [0, 2, 1, 0]
    """

def histogram(
    x: _Operand,
    bins: Any = 100,
    /,
    *,
    range: Sequence[builtins.float] | None = None,
    weight: _Operand | None = None,
    density: builtins.bool = False,
) -> tuple[Tensor, Tensor]:
    """How many elements, or how much of their weight, is in each bin, and the edges of the bins: `bins` of equal
    width
    from the first to the second number of `range`, by default from the least to the greatest element, or these
    edges.
    With `density`, the parts of all by the width.

    As NumPy's, counts of integers are `int64` and their edges `float64`; of floats both have their type, counts
    of
    16-bit ones are `float32`. There are 100 bins by default, as in PyTorch; NumPy has 10.

    >>> import svod
    >>> [part.tolist() for part in svod.histogram(svod.Tensor([1.0, 2.0, 1.0]), 2, range=(0.0, 4.0))]
    [[2.0, 1.0], [0.0, 2.0, 4.0]]
    >>> [part.tolist() for part in svod.histogram(svod.Tensor([1, 2, 1]), 2)]
    [[2, 1], [1.0, 1.5, 2.0]]
    """

def histogram2d(
    x: _Operand,
    y: _Operand,
    /,
    bins: Any = 10,
    range: Any = None,
    density: builtins.bool = False,
    weights: _Operand | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """How many points of two coordinates are in each of the boxes of a grid, and the edges of these along both axes.

    `bins` is a number of bins, or two of these, or edges for each axis.

    >>> import svod
    >>> svod.histogram2d(svod.Tensor([0.0, 1.0, 1.0]), svod.Tensor([0.0, 1.0, 1.0]), bins=2)[0].tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """

def histogram_bin_edges(
    x: _Operand, /, bins: Any = 10, range: Sequence[builtins.float] | None = None, weights: _Operand | None = None
) -> Tensor:
    """The edges of the bins that `histogram` counts in: of integers `float64`. `weights` have no meaning.

    >>> import svod
    >>> svod.histogram_bin_edges(svod.Tensor([1, 2, 1]), 2).tolist()
    [1.0, 1.5, 2.0]
    """

def histogramdd(
    x: _Operand,
    /,
    bins: builtins.int | Sequence[Any],
    *,
    range: Sequence[builtins.float] | None = None,
    weight: _Operand | None = None,
    density: builtins.bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """As `histogram`, of points, the rows of `x`, in boxes: with a number of bins, or edges, for each coordinate.

    `range` has two numbers for each coordinate, one after the other.

    >>> import svod
    >>> svod.histogramdd(svod.Tensor([[0.0, 1.0], [1.0, 0.0]]), (2, 2))[0].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

def hsplit(x: _Operand, indices_or_sections: builtins.int | Sequence[builtins.int], /) -> tuple[Tensor, ...]:
    """Split along the second dimension, of a vector the first: into equal parts, or before indices.

    >>> import svod
    >>> [part.tolist() for part in svod.hsplit(svod.arange(4), [1])]
    [[0], [1, 2, 3]]
    """

def hstack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors one after the other along the second dimension; vectors along their only one.

    >>> import svod
    >>> svod.hstack([svod.Tensor([1, 2]), svod.Tensor([3])]).tolist()
    [1, 2, 3]
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

def i0_(x: _Operand, /) -> Tensor:
    """Becomes what `i0` makes of it."""

def identity(n: builtins.int, /, dtype: Any = None) -> Tensor:
    """The identity matrix.

    >>> import svod
    >>> svod.identity(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

def igamma(x1: Any, x2: Any, /) -> Tensor:
    """The regularized lower incomplete gamma function P(x1, x2), SciPy's `gammainc`.

    >>> import svod
    >>> svod.igamma(svod.Tensor([1.0]), svod.Tensor([0.0, svod.inf])).tolist()
    [0.0, 1.0]
    """

def igammac(x1: Any, x2: Any, /) -> Tensor:
    """The regularized upper incomplete gamma function Q(x1, x2) = 1 - P(x1, x2), SciPy's `gammaincc`.

    >>> import svod
    >>> svod.igammac(svod.Tensor([1.0]), svod.Tensor([0.0, svod.inf])).tolist()
    [1.0, 0.0]
    """

def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer type, or of a tensor's.

    >>> import svod
    >>> svod.iinfo(svod.int8).min
    -128
    """

def index_add(
    x: _Operand,
    /,
    dim: builtins.int | None,
    index: _ArrayLike,
    source: _ArrayLike,
    *,
    axis: builtins.int | None = None,
    alpha: _Operand | None = None,
) -> Tensor:
    """With the slices of `source`, times `alpha`, added, each at its element of a 1-d index."""

def index_copy(
    x: _Operand, /, dim: builtins.int | None, index: _ArrayLike, source: _ArrayLike, *, axis: builtins.int | None = None
) -> Tensor:
    """With the slices of `source` written, each at its element of a 1-d index."""

def index_fill(
    x: _Operand, axis: builtins.int, index: _Operand, value: Any, /, *, dim: builtins.int | None = None
) -> Tensor:
    """One value at positions along an axis.

    >>> import svod
    >>> svod.index_fill(svod.zeros(2, 2), 1, svod.Tensor([0]), 5).tolist()
    [[5.0, 0.0], [5.0, 0.0]]
    """

def index_put(x: _Operand, indices: Sequence[Any], values: Any, accumulate: builtins.bool = False) -> Tensor:
    """Other values where `x[indices]` is; with `accumulate` they are added, those of one place one after the other.

    >>> import svod
    >>> svod.index_put(svod.zeros(3), (svod.Tensor([0, 0]),), svod.Tensor([1.0, 2.0]), accumulate=True).tolist()
    [3.0, 0.0, 0.0]
    """

def index_put_(x: _Operand, /, indices: Sequence[Any], values: Any, accumulate: builtins.bool = False) -> Tensor:
    """Becomes what `index_put` makes of it."""

def index_reduce(
    x: _Operand,
    axis: builtins.int,
    index: _Operand,
    source: _Operand,
    reduce: builtins.str,
    /,
    *,
    include_self: builtins.bool = True,
    dim: builtins.int | None = None,
) -> Tensor:
    """Slices of `source` folded into those at `index` of an axis: by "prod", "mean", "amax" or "amin"; without
    `include_self` only with each other.

    >>> import svod
    >>> svod.index_reduce(svod.ones(2), 0, svod.Tensor([0, 0]), svod.Tensor([2.0, 3.0]), "prod").tolist()
    [6.0, 1.0]
    """

def index_select(
    x: _Operand, /, dim: builtins.int | None, index: _ArrayLike, *, axis: builtins.int | None = None
) -> Tensor:
    """The slices of an axis at a 1-d index."""

def indices(dimensions: Sequence[builtins.int], *, dtype: Any = "int64") -> Tensor:
    """The positions along each axis of a shape, one behind the other.

    >>> import svod
    >>> svod.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """

def initial_seed() -> builtins.int:
    """The seed that `svod.manual_seed` gave, or, without, the one that nobody knew before.

    >>> import svod
    >>> svod.manual_seed(7)
    >>> svod.initial_seed(), svod.Generator(3).initial_seed()
    (7, 3)
    """

def inner(x1: Any, x2: Any, /) -> Tensor:
    """The sums of products over the last dimensions: the result has the others of `x1`, then those of `x2`.

    >>> import svod
    >>> svod.inner(svod.Tensor([1, 2]), svod.Tensor([[3, 4], [5, 6]])).tolist()
    [11, 17]
    """

def insert(
    x: _Operand, obj: Any, values: Any, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None
) -> Tensor:
    """Values before an index, or before each of several, of an axis, by default of the flat tensor.

    Values are of the tensor's type, and expand to what is put in. Indices count before anything is put in.

    >>> import svod
    >>> svod.insert(svod.Tensor([1, 2, 3]), [0, 2], [7, 9]).tolist()
    [7, 1, 2, 9, 3]
    """

def instance_norm(
    x: _Operand,
    weight: _Operand | None,
    bias: _Operand | None,
    running_mean: _Operand | None,
    running_var: _Operand | None,
    use_input_stats: builtins.bool,
    momentum: builtins.float,
    eps: builtins.float,
    cudnn_enabled: builtins.bool = False,
    /,
) -> Tensor:
    """As `svod.nn.functional.instance_norm`, whose statistics come before weight and bias.

    >>> import svod
    >>> svod.instance_norm(svod.Tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 0.0).tolist()
    [[[-1.0, 1.0]]]
    """

def interp(
    x: Any, xp: _Operand, fp: _Operand, /, left: Any = None, right: Any = None, period: builtins.float | None = None
) -> Tensor:
    """The values at `x` of the curve of straight lines through the points `(xp, fp)`, of which `xp` rise.

    Before the first it is `left` and behind the last `right`, by default what is at these points. With a
    `period` the curve is repeated, of points in any order.

    >>> import svod
    >>> svod.interp(svod.Tensor([0.5, 3.0]), svod.Tensor([0.0, 1.0, 2.0]), svod.Tensor([0.0, 10.0,
    20.0])).tolist()
    [5.0, 20.0]
    """

def intersect1d(
    x1: Any, x2: Any, /, assume_unique: builtins.bool = False, return_indices: builtins.bool = False
) -> Any:
    """The values that both have, sorted, each once; with `return_indices` also where each is first in either.

    >>> import svod
    >>> svod.intersect1d([3, 1, 2], [2, 3, 5]).tolist()
    [2, 3]
    """

def inverse(x: _Operand, /) -> Tensor:
    """As `svod.linalg.inv`.

    >>> import svod
    >>> svod.inverse(svod.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """

def invert(x: _Operand, /) -> Tensor:
    """As `svod.bitwise_not`.

    >>> import svod
    >>> svod.invert(svod.Tensor([True, False])).tolist()
    [False, True]
    """

def is_conj(x: _Operand, /) -> builtins.bool:
    """False: the conjugate is a tensor of its own, not a view that says so.

    >>> import svod
    >>> svod.is_conj(svod.Tensor([1j]).conj())
    False
    """

def is_floating_point(x: _Operand, /) -> builtins.bool:
    """Whether the type is one of floats.

    >>> import svod
    >>> svod.is_floating_point(svod.ones(1))
    True
    """

def is_neg(x: _Operand, /) -> builtins.bool:
    """False: the negative is a tensor of its own, not a view that says so.

    >>> import svod
    >>> svod.is_neg(-svod.ones(1))
    False
    """

def is_nonzero(x: _Operand, /) -> builtins.bool:
    """Whether the only element is not zero; computed now.

    >>> import svod
    >>> svod.is_nonzero(svod.Tensor([0.5]))
    True
    """

def is_same_size(x: _Operand, other: _Operand, /) -> builtins.bool:
    """Whether two shapes are equal.

    >>> import svod
    >>> svod.is_same_size(svod.ones(2), svod.ones(2, 1))
    False
    """

def is_signed(x: _Operand, /) -> builtins.bool:
    """Whether the type has negative numbers.

    >>> import svod
    >>> svod.is_signed(svod.ones(1, dtype="uint8"))
    False
    """

def is_tensor(obj: Any, /) -> builtins.bool:
    """Whether an object is a tensor.

    >>> import svod
    >>> svod.is_tensor([1.0])
    False
    """

def isclose(
    x1: Any, x2: Any, /, rtol: builtins.float = 1e-05, atol: builtins.float = 1e-08, equal_nan: builtins.bool = False
) -> Tensor:
    """Whether `|x1 - x2| <= atol + rtol * |x2|`, or both are equal; with `equal_nan` also where both are NaN.

    >>> import svod
    >>> svod.isclose(svod.Tensor([1.0, 2.0, svod.inf]), svod.Tensor([1.0000001, 2.1, svod.inf])).tolist()
    [True, False, True]
    """

def iscomplex(x: _Operand, /) -> Tensor:
    """Whether an element has an imaginary part.

    >>> import svod
    >>> svod.iscomplex(svod.Tensor([1 + 0j, 1j])).tolist()
    [False, True]
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

def isneginf(x: _Operand, /) -> Tensor:
    """Whether an element is -inf.

    >>> import svod
    >>> svod.isneginf(svod.Tensor([-svod.inf, svod.inf])).tolist()
    [True, False]
    """

def isposinf(x: _Operand, /) -> Tensor:
    """Whether an element is inf.

    >>> import svod
    >>> svod.isposinf(svod.Tensor([-svod.inf, svod.inf])).tolist()
    [False, True]
    """

def isreal(x: _Operand, /) -> Tensor:
    """Whether an element has no imaginary part.

    >>> import svod
    >>> svod.isreal(svod.Tensor([1 + 0j, 1j])).tolist()
    [True, False]
    """

def istft(
    x: _Operand,
    /,
    n_fft: builtins.int,
    hop_length: builtins.int | None = None,
    win_length: builtins.int | None = None,
    window: _Operand | None = None,
    center: builtins.bool = True,
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    length: builtins.int | None = None,
    return_complex: builtins.bool = False,
) -> Tensor:
    """The signals whose `stft` these are, by least squares where none has such spectra: `(batch, samples)`.

    Parts are multiplied by the window again, added where they overlap, and divided by the sum of the squares of
    windows. A `length` cuts the signal, or continues it by zeros.

    Griffin and Lim 1984.

    >>> import svod
    >>> x, window = svod.arange(16.0), svod.hann_window(8)
    >>> spectra = svod.stft(x, 8, 4, window=window)
    >>> svod.allclose(svod.istft(spectra, 8, 4, window=window), x, atol=1e-5)
    True
    """

def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Indices of which each is for an axis of its own: `x[svod.ix_(rows, columns)]` has all pairs. Masks give
    their positions.

    >>> import svod
    >>> svod.arange(9).reshape(3, 3)[svod.ix_([0, 2], [1, 2])].tolist()
    [[1, 2], [7, 8]]
    """

def kaiser(M: builtins.int, beta: builtins.float, /, *, dtype: Any = None) -> Tensor:
    """Kaiser's window of so many points; `svod.kaiser_window` has periodic ones.

    >>> import svod
    >>> svod.kaiser(5, 12.0).shape
    (5,)
    """

def kaiser_window(
    window_length: builtins.int, /, periodic: builtins.bool = True, beta: builtins.float = 12.0, *, dtype: Any = None
) -> Tensor:
    """Kaiser's window, of a Bessel function.

    >>> import svod
    >>> svod.kaiser_window(1).tolist()
    [1.0]
    """

def kron(x1: Any, x2: Any, /) -> Tensor:
    """Kronecker's product: each element of `x1` times all of `x2`, side by side.

    >>> import svod
    >>> svod.kron(svod.Tensor([1, 10]), svod.Tensor([1, 2])).tolist()
    [1, 2, 10, 20]
    """

def kthvalue(
    x: _Operand,
    /,
    k: _Extent,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    axis: builtins.int | None = None,
    keepdims: builtins.bool = False,
) -> Any:
    """The `k`-th smallest element along an axis, by default the last, counted from 1, and where it is; with `axis`
    the element alone.
    """

def lcm(x1: Any, x2: Any, /) -> Tensor:
    """The least common multiple; 0 where one is 0.

    >>> import svod
    >>> svod.lcm(svod.Tensor([4, -6]), 6).tolist()
    [12, 6]
    """

def lcm_(x: _Operand, x2: Any, /) -> Tensor:
    """Becomes what `lcm` makes of it."""

def ldexp(x1: Any, x2: Any, /) -> Tensor:
    """`x1 * 2**x2`, also where the power alone overflows.

    >>> import svod
    >>> svod.ldexp(svod.Tensor([0.75]), 3).tolist()
    [6.0]
    """

def ldexp_(x: _Operand, x2: Any, /) -> Tensor:
    """Becomes what `ldexp` makes of it."""

def left_shift(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.bitwise_left_shift`.

    >>> import svod
    >>> svod.left_shift(svod.Tensor([1, 2]), 3).tolist()
    [8, 16]
    """

def lerp(x: _Operand, /, end: _Operand, weight: _Operand) -> Tensor:
    """`self + weight * (end - self)`."""

def lexsort(keys: Any, /, axis: builtins.int = -1, *, dim: builtins.int = -1) -> Tensor:
    """Where elements are in the order of several keys, of which the last is the first to be compared. Stable.

    >>> import svod
    >>> svod.lexsort(([3, 1, 2], [0, 1, 0])).tolist()
    [2, 0, 1]
    """

def lgamma(x: _Operand, /) -> Tensor:
    """The logarithm of the absolute value of the gamma function; infinite at 0 and negative integers.

    By recurrence, Stirling's series and reflection. Near zeros of the function the error is that of numbers near
    1.

    >>> import svod
    >>> svod.lgamma(svod.Tensor([1.0, 2.0, 5.0]))
    Tensor([0.       , 0.       , 3.1780539], shape=(3,), dtype=float32, device=CPU)
    """

def lobpcg(
    x: _Operand,
    /,
    k: builtins.int | None = None,
    B: _Operand | None = None,
    X: _Operand | None = None,
    n: builtins.int | None = None,
    iK: _Operand | None = None,
    niter: builtins.int | None = None,
    tol: builtins.float | None = None,
    largest: builtins.bool = True,
    method: builtins.str | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` greatest, or least, eigenvalues and vectors of `x v = λ B v`, of matrices that are their own adjoints.

    They are computed exactly, by `svod.linalg.eigh`: what PyTorch's iteration begins and ends with has no meaning
    here,
    but for how many vectors `X`, or `n`, has.

    >>> import svod
    >>> svod.lobpcg(svod.Tensor([[2.0, 0.0], [0.0, 3.0]]), k=1)[0].round().tolist()
    [3.0]
    """

def log1p_(x: _Operand, /) -> Tensor:
    """Becomes what `log1p` makes of it."""

def log2_(x: _Operand, /) -> Tensor:
    """Becomes what `log2` makes of it."""

def log10_(x: _Operand, /) -> Tensor:
    """Becomes what `log10` makes of it."""

def log_(x: _Operand, /) -> Tensor:
    """Becomes `log(x)`."""

def log_softmax(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    dtype: _DTypeLike | None = None,
    *,
    axis: builtins.int | None = None,
) -> Tensor:
    """The logarithm of `softmax`."""

def logaddexp(x1: Any, x2: Any, /) -> Tensor:
    """`log(exp(x1) + exp(x2))` without overflow.

    >>> import svod
    >>> svod.logaddexp(svod.Tensor([1000.0]), -1000).tolist()
    [1000.0]
    """

def logaddexp2(x1: Any, x2: Any, /) -> Tensor:
    """`log2(2**x1 + 2**x2)` without overflow.

    >>> import svod
    >>> svod.logaddexp2(svod.Tensor([3.0]), 3).tolist()
    [4.0]
    """

def logcumsumexp(x: _Operand, /, axis: builtins.int, *, dim: builtins.int | None = None) -> Tensor:
    """The logarithms of the sums of the exponentials up to each element along an axis, without overflow.

    By sums over twice as many elements in each step (Hillis and Steele 1986).

    >>> import svod
    >>> svod.logcumsumexp(svod.Tensor([0.0, 0.0]), 0).tolist()
    [0.0, 0.6931471824645996]
    """

def logdet(x: _Operand, /) -> Tensor:
    """The logarithms of the determinants of matrices: -inf of 0, NaN where one is negative.

    >>> import svod
    >>> svod.logdet(svod.Tensor([[1.0, 0.0], [0.0, 1.0]])).item()
    0.0
    """

def logit(x: _Operand, /, eps: builtins.float | None = None) -> Tensor:
    """`log(x / (1 - x))`, of what is clamped to `eps` from 0 and 1 first.

    >>> import svod
    >>> svod.logit(svod.Tensor([0.5, 1.0])).tolist()
    [0.0, inf]
    """

def logit_(x: _Operand, /, eps: builtins.float | None = None) -> Tensor:
    """Becomes what `logit` makes of it."""

def logspace(
    start: builtins.float,
    end: builtins.float,
    steps: builtins.int = 50,
    /,
    base: builtins.float = 10.0,
    *,
    dtype: Any = None,
    endpoint: builtins.bool = True,
    device: builtins.str | None = None,
) -> Tensor:
    """Powers of `base` whose exponents are at equal distances from `start` to `end`.

    >>> import svod
    >>> svod.logspace(0, 2, 3).tolist()
    [1.0, 10.0, 100.0]
    """

def lstm(
    x: _Operand,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: builtins.bool,
    num_layers: builtins.int,
    dropout: builtins.float,
    train: builtins.bool,
    bidirectional: builtins.bool,
    batch_first: builtins.bool,
    /,
) -> tuple[Tensor, Tensor, Tensor]:
    """`svod.nn.LSTM` with these parameters, in its order: the results, and the last hidden and cell states.

    >>> import svod
    >>> layer, x = svod.nn.LSTM(3, 4), svod.ones(5, 2, 3)
    >>> state = (svod.zeros(1, 2, 4), svod.zeros(1, 2, 4))
    >>> made = svod.lstm(x, state, layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """

def lstm_cell(
    x: _Operand,
    hx: Sequence[Tensor],
    w_ih: _Operand,
    w_hh: _Operand,
    b_ih: _Operand | None = None,
    b_hh: _Operand | None = None,
    /,
) -> tuple[Tensor, Tensor]:
    """A step of `svod.nn.LSTMCell` with these parameters.

    >>> import svod
    >>> zero = svod.zeros(1, 1)
    >>> [part.tolist() for part in svod.lstm_cell(svod.ones(1, 2), (zero, zero), svod.zeros(4, 2), svod.zeros(4,
    1))]
    [[[0.0]], [[0.0]]]
    """

def lu(x: _Operand, /, pivot: builtins.bool = True, get_infos: builtins.bool = False) -> tuple[Tensor, ...]:
    """Both triangles of `svod.linalg.lu` in one matrix, and LAPACK's pivots; with `get_infos` zeros, too.

    >>> import svod
    >>> packed, pivots = svod.lu(svod.Tensor([[1.0, 2.0], [2.0, 2.0]]))
    >>> packed.tolist(), pivots.tolist()
    ([[2.0, 2.0], [0.5, 1.0]], [2, 2])
    """

def lu_solve(x: _Operand, LU_data: _Operand, LU_pivots: _Operand, /) -> Tensor:
    """y with A y = x, by the factors that `lu` makes of A.

    >>> import svod
    >>> a = svod.Tensor([[2.0, 0.0], [0.0, 4.0]])
    >>> svod.lu_solve(svod.Tensor([[2.0], [2.0]]), *svod.lu(a)).tolist()
    [[1.0], [0.5]]
    """

def lu_unpack(
    LU_data: _Operand, LU_pivots: _Operand, /, unpack_data: builtins.bool = True, unpack_pivots: builtins.bool = True
) -> LU:
    """The permutation and the triangles with P L U the matrix that `lu` was given.

    >>> import svod
    >>> P, L, U = svod.lu_unpack(*svod.lu(svod.Tensor([[1.0, 2.0], [2.0, 2.0]])))
    >>> (P @ L @ U).tolist()
    [[1.0, 2.0], [2.0, 2.0]]
    """

def masked_fill(x: _Operand, /, mask: _Operand, value: _Operand) -> Tensor:
    """`value` where the mask holds, else `self`."""

def masked_scatter(x: _Operand, mask: _Operand, source: _Operand, /) -> Tensor:
    """The elements of `source`, one after the other, where a mask holds, with which the tensor broadcasts.

    A source that has fewer is an error where the mask is known: in memory, when no function is traced. Elsewhere
    its
    last element is repeated.

    >>> import svod
    >>> svod.masked_scatter(svod.zeros(3), svod.Tensor([True, False, True]), svod.Tensor([1.0, 2.0])).tolist()
    [1.0, 0.0, 2.0]
    """

def masked_select(x: _Operand, /, mask: _Operand) -> Tensor:
    """The elements where a mask of the same shape holds, 1-d. Computed now, as `nonzero` is."""

def matmul(x1: Any, x2: Any, /) -> Tensor:
    """The matrix product, by NumPy's rules."""

def matrix_exp(x: _Operand, /) -> Tensor:
    """As `svod.linalg.matrix_exp`.

    >>> import svod
    >>> svod.matrix_exp(svod.zeros(2, 2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

def matrix_power(x: _Operand, n: builtins.int, /) -> Tensor:
    """As `svod.linalg.matrix_power`.

    >>> import svod
    >>> svod.matrix_power(svod.Tensor([[1.0, 1.0], [0.0, 1.0]]), 5).tolist()
    [[1.0, 5.0], [0.0, 1.0]]
    """

def matrix_transpose(x: _Operand, /) -> Tensor:
    """The last two dimensions exchanged."""

def matvec(x1: Any, x2: Any, /) -> Tensor:
    """The products of matrices and vectors, in the last two dimensions and the last; the others broadcast.

    >>> import svod
    >>> svod.matvec(svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([[1, 0], [0, 1]])).tolist()
    [[1, 3], [2, 4]]
    """

def median(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
    *,
    axis: builtins.int | None = None,
    keepdims: builtins.bool = False,
) -> Any:
    """The median, of an even number of elements the lower one of the two in the middle; NaN where there is one.

    Of all elements, or with `dim`, by name or position, PyTorch's pair of values along it and where they are;
    with `axis`, values.
    """

def meshgrid(*arrays: Any, indexing: builtins.str = "xy", sparse: builtins.bool = False) -> list[Tensor]:
    """Coordinates of the points of a grid: one tensor for each of these 1-d ones, or of a list, all of one shape.

    With `indexing="ij"` axis `i` is that of the `i`-th; with `"xy"` the first two are exchanged. Where they are
    to be
    `sparse`, all other axes have extent 1.

    >>> import svod
    >>> [part.tolist() for part in svod.meshgrid(svod.Tensor([1, 2]), svod.Tensor([3, 4, 5]), indexing="ij")]
    [[[1, 1, 1], [2, 2, 2]], [[3, 4, 5], [3, 4, 5]]]
    """

def mm(x: _Operand, mat2: _Operand, /) -> Tensor:
    """The product of two matrices.

    >>> import svod
    >>> svod.mm(svod.ones(1, 2), svod.ones(2, 1)).tolist()
    [[2.0]]
    """

def mod(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.remainder`: it has the divisor's sign.

    >>> import svod
    >>> svod.mod(svod.Tensor([-1, 7]), 3).tolist()
    [2, 1]
    """

def mode(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    keepdims: builtins.bool = False,
    *,
    axis: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> Any:
    """The value that occurs most often along an axis, by default the last; of several the least.

    PyTorch's pair of values and where they are last; with `axis`, values.

    >>> import svod
    >>> [part.item() for part in svod.mode(svod.Tensor([3, 1, 3, 1, 2]))]
    [1, 3]
    >>> svod.mode(svod.Tensor([[3, 1], [3, 2]]), axis=0).tolist()
    [3, 1]
    """

def modf(x: _Operand, /) -> tuple[Tensor, Tensor]:
    """What is behind the point, and what is before it, both with the sign of the number.

    >>> import svod
    >>> [part.tolist() for part in svod.modf(svod.Tensor([2.5, -0.5]))]
    [[0.5, -0.5], [2.0, -0.0]]
    """

def moveaxis(
    x: _Operand, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int], /
) -> Tensor:
    """These dimensions moved to other positions; the others keep their order.

    >>> import svod
    >>> svod.moveaxis(svod.ones(2, 3, 4), 0, -1).shape
    (3, 4, 2)
    """

def movedim(
    x: _Operand, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int], /
) -> Tensor:
    """As `moveaxis`, by PyTorch's name.

    >>> import svod
    >>> svod.movedim(svod.ones(2, 3, 4), (0, 1), (1, 2)).shape
    (4, 2, 3)
    """

def msort(x: _Operand, /) -> Tensor:
    """The elements along the first dimension in order.

    >>> import svod
    >>> svod.msort(svod.Tensor([3, 1, 2])).tolist()
    [1, 2, 3]
    """

def multinomial(
    x: _Operand, num_samples: builtins.int, replacement: builtins.bool = False, *, generator: Generator | None = None
) -> Tensor:
    """Positions along the last axis, with probabilities in proportion to the weights there, as PyTorch's.

    Weights that are negative, infinite, NaN or all zero are an error where they are known: in memory, when no
    function
    is traced.

    >>> import svod
    >>> svod.multinomial(svod.Tensor([0.0, 3.0, 0.0]), 2, replacement=True).tolist()
    [1, 1]
    """

def mv(x: _Operand, vec: _Operand, /) -> Tensor:
    """The product of a matrix and a vector.

    >>> import svod
    >>> svod.mv(svod.ones(2, 3), svod.ones(3)).tolist()
    [3.0, 3.0]
    """

def mvlgamma(x: _Operand, p: builtins.int, /) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`.

    >>> import svod
    >>> svod.mvlgamma(svod.Tensor([2.0]), 1).tolist()
    [0.0]
    """

def nan_to_num(
    x: _Operand,
    /,
    nan: builtins.float = 0.0,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Tensor:
    """Other numbers in place of NaN and infinities, by default the greatest and the least of the type.

    >>> import svod
    >>> svod.nan_to_num(svod.Tensor([svod.nan, 1.0, svod.inf]), posinf=9).tolist()
    [0.0, 1.0, 9.0]
    """

def nan_to_num_(
    x: _Operand,
    /,
    nan: builtins.float = 0.0,
    posinf: builtins.float | None = None,
    neginf: builtins.float | None = None,
) -> Tensor:
    """Becomes what `nan_to_num` makes of it."""

def nanargmax(
    x: _Operand,
    /,
    axis: builtins.int | None = None,
    keepdims: builtins.bool = False,
    *,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """Where the greatest element that is not NaN is first along an axis, by default in the flat tensor; -1 where
    there
    is none.

    >>> import svod
    >>> svod.nanargmax(svod.Tensor([1.0, svod.nan, 3.0])).item()
    2
    """

def nanargmin(
    x: _Operand,
    /,
    axis: builtins.int | None = None,
    keepdims: builtins.bool = False,
    *,
    dim: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """Where the least element that is not NaN is first along an axis, by default in the flat tensor; -1 where there
    is
    none.

    >>> import svod
    >>> svod.nanargmin(svod.Tensor([svod.nan, 1.0, 3.0])).item()
    1
    """

def nancumprod(
    x: _Operand, /, axis: builtins.int | None = None, dtype: Any = None, *, dim: builtins.int | None = None
) -> Tensor:
    """The products of the elements that are not NaN up to each one along an axis, by default of the flat tensor.

    >>> import svod
    >>> svod.nancumprod(svod.Tensor([2.0, svod.nan, 3.0])).tolist()
    [2.0, 2.0, 6.0]
    """

def nancumsum(
    x: _Operand, /, axis: builtins.int | None = None, dtype: Any = None, *, dim: builtins.int | None = None
) -> Tensor:
    """The sums of the elements that are not NaN up to each one along an axis, by default of the flat tensor.

    >>> import svod
    >>> svod.nancumsum(svod.Tensor([2.0, svod.nan, 3.0])).tolist()
    [2.0, 2.0, 5.0]
    """

def nanmax(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    initial: Any = None,
    where: _Operand | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The greatest element that is not NaN along axes, by default of all; NaN where all are.

    Of those elements that `where` takes, and `initial`, as `max`.

    >>> import svod
    >>> svod.nanmax(svod.Tensor([1.0, svod.nan])).item()
    1.0
    """

def nanmean(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    where: _Operand | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The mean of the elements that are not NaN along axes, by default of all; NaN where all are.

    Of those elements that `where` takes, as `mean`.

    >>> import svod
    >>> svod.nanmean(svod.Tensor([1.0, svod.nan, 3.0])).item()
    2.0
    """

def nanmedian(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    keepdims: builtins.bool = False,
    *,
    axis: builtins.int | None = None,
    keepdim: builtins.bool = False,
) -> Any:
    """The middle element, the lower one of two, of those that are not NaN.

    Of all elements, or with `dim`, by name or position, PyTorch's pair of values along it and where they are;
    with
    `axis`, values.

    >>> import svod
    >>> svod.nanmedian(svod.Tensor([4.0, svod.nan, 1.0, 3.0])).item()
    3.0
    """

def nanmin(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    initial: Any = None,
    where: _Operand | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The least element that is not NaN along axes, by default of all; NaN where all are.

    Of those elements that `where` takes, and `initial`, as `min`.

    >>> import svod
    >>> svod.nanmin(svod.Tensor([1.0, svod.nan])).item()
    1.0
    """

def nanpercentile(
    x: _Operand,
    q: Any,
    /,
    axis: _Axis = None,
    *,
    method: builtins.str = "linear",
    keepdims: builtins.bool = False,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """As `percentile`, of the elements that are not NaN.

    >>> import svod
    >>> svod.nanpercentile(svod.Tensor([1.0, svod.nan, 2.0]), 50).item()
    1.5
    """

def nanprod(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    initial: Any = None,
    where: _Operand | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The product of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, and `initial`, as `prod`.

    >>> import svod
    >>> svod.nanprod(svod.Tensor([2.0, svod.nan, 3.0])).item()
    6.0
    """

def nanquantile(
    x: _Operand,
    q: Any,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    interpolation: builtins.str = "linear",
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """As `quantile`, of the elements that are not NaN.

    >>> import svod
    >>> svod.nanquantile(svod.Tensor([1.0, svod.nan, 2.0]), 0.5).item()
    1.5
    """

def nanstd(
    x: _Operand,
    /,
    axis: _Axis = None,
    *,
    correction: builtins.float = 0,
    keepdims: builtins.bool = False,
    where: _Operand | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The deviation of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, as `std`.

    >>> import svod
    >>> svod.nanstd(svod.Tensor([1.0, svod.nan, 3.0])).item()
    1.0
    """

def nansum(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dtype: Any = None,
    initial: Any = None,
    where: _Operand | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The sum of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, and `initial`, as `sum`.

    >>> import svod
    >>> svod.nansum(svod.Tensor([1.0, svod.nan])).item()
    1.0
    """

def nanvar(
    x: _Operand,
    /,
    axis: _Axis = None,
    *,
    correction: builtins.float = 0,
    keepdims: builtins.bool = False,
    where: _Operand | None = None,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The variance of the elements that are not NaN along axes, by default of all.

    Of those elements that `where` takes, as `var`; NaN where these are not more than `correction`.

    >>> import svod
    >>> svod.nanvar(svod.Tensor([1.0, svod.nan, 3.0])).item()
    1.0
    """

def narrow(
    x: _Operand,
    /,
    dim: builtins.int | None,
    start: _Extent | Tensor,
    length: _Extent,
    *,
    axis: builtins.int | None = None,
) -> Tensor:
    """`length` elements of `dim` from `start` on, which counts from the end where it is negative. It may be an
    integer
    in a tensor, which is then read when the elements are.
    """

def narrow_copy(
    x: _Operand, axis: builtins.int, start: builtins.int, length: builtins.int, /, *, dim: builtins.int | None = None
) -> Tensor:
    """As `narrow`.

    >>> import svod
    >>> svod.narrow_copy(svod.arange(4), 0, 1, 2).tolist()
    [1, 2]
    """

def neg_(x: _Operand, /) -> Tensor:
    """Becomes `-x`."""

def negative_(x: _Operand, /) -> Tensor:
    """Becomes what `negative` makes of it."""

def nextafter(x1: Any, x2: Any, /) -> Tensor:
    """The number next to `x1` on the way to `x2`.

    >>> import svod
    >>> svod.nextafter(svod.Tensor([1.0]), 2).tolist()
    [1.0000001192092896]
    """

def nonzero(x: _Operand, /, *, as_tuple: builtins.bool = True) -> Any:
    """The indices, along each dimension, of the elements that are not zero; computed now. Without `as_tuple`, rows."""

def nonzero_static(x: _Operand, /, *, size: builtins.int, fill_value: builtins.int = -1) -> Tensor:
    """The indices of the first `size` elements that are not zero, as rows; rows of `fill_value` where there are
    fewer.

    >>> import svod
    >>> svod.nonzero_static(svod.Tensor([0, 3, 4]), size=3).tolist()
    [[1], [2], [-1]]
    """

def norm(
    x: _Operand,
    /,
    p: builtins.float | builtins.str | None = "fro",
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    dtype: Any = None,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The `p`-norm along axes, by default of all elements; "fro" is 2, "nuc" the sum of a matrix's singular values.

    >>> import svod
    >>> svod.norm(svod.Tensor([3.0, 4.0])).item()
    5.0
    """

def norm_except_dim(
    v: _Operand, /, pow: builtins.float = 2, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> Tensor:
    """The norms of the slices along an axis, which stays; of all elements with an axis of -1.

    >>> import svod
    >>> svod.norm_except_dim(svod.Tensor([[3.0, 4.0], [0.0, 2.0]])).tolist()
    [[5.0], [2.0]]
    """

def normal(
    shape: builtins.int | Sequence[builtins.int] | Tensor | builtins.float | None = None,
    mean: Tensor | builtins.float | None = None,
    std: Tensor | builtins.float | builtins.int | Sequence[builtins.int] | None = None,
    size: builtins.int | Sequence[builtins.int] | None = None,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed with this mean and standard deviation, by default 0 and 1.

    PyTorch's form has these first, and `size` last: it is taken where the first argument is a tensor or a float,
    or a
    size is given. Without a size it is that of the tensors.

    >>> import svod
    >>> svod.normal((2, 3), mean=10.0).shape
    (2, 3)
    >>> svod.normal(0.0, 2.0, (2, 3)).shape, svod.normal(svod.zeros(4), 1.0).shape
    ((2, 3), (4,))
    """

def nuclear_norm(
    x: _Operand,
    /,
    axis: Sequence[builtins.int] | None = None,
    keepdims: builtins.bool = False,
    *,
    dim: Sequence[builtins.int] | None = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The sum of the singular values of matrices, the last two axes, or those named.

    >>> import svod
    >>> svod.nuclear_norm(svod.Tensor([[3.0, 0.0], [0.0, 4.0]])).item()
    7.0
    """

def numel(x: _Operand, /) -> Tensor:
    """Number of elements."""

def ones_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Ones in a tensor's shape, and in its type and on its device, unless others are named."""

def orgqr(x: _Operand, tau: _Operand, /) -> Tensor:
    """The first columns of the product Q of reflections as `geqrf` gives them.

    >>> import svod
    >>> a = svod.Tensor([[3.0], [4.0]])
    >>> svod.abs(svod.orgqr(*svod.geqrf(a)) @ a.qr().R - a).max().item() < 1e-6
    True
    """

def ormqr(
    x: _Operand, tau: _Operand, other: _Operand, /, left: builtins.bool = True, transpose: builtins.bool = False
) -> Tensor:
    """Q, as `geqrf` gives its reflections, times `other`, or `other` times it; its adjoint with `transpose`.

    >>> import svod
    >>> a = svod.Tensor([[3.0], [4.0]])
    >>> svod.ormqr(*svod.geqrf(a), a, transpose=True).abs().round().tolist()
    [[5.0], [0.0]]
    """

def outer(x: _Operand, /, other: _Operand) -> Tensor:
    """The products of each element of one 1-d tensor with each of another."""

def packbits(
    x: _Operand, /, axis: builtins.int | None = None, bitorder: builtins.str = "big", *, dim: builtins.int | None = None
) -> Tensor:
    """Eight truth values along an axis, of the flat tensor by default, in each `uint8`; zeros behind the last ones.

    The first is the highest bit, with `bitorder="little"` the lowest.

    >>> import svod
    >>> svod.packbits(svod.Tensor([True, False, False, False, False, False, False, True, True])).tolist()
    [129, 128]
    """

def pad(x: _Operand, pad_width: Any, /, mode: builtins.str = "constant", *, constant_values: Any = 0) -> Tensor:
    """More elements before and behind those of each axis.

    `pad_width` is a number, a pair `(before, behind)` for all axes, or such a pair for each axis. They are
    `constant_values`, which are written as the widths are; with `"edge"` the nearest element; with `"reflect"`
    and
    `"symmetric"` what is mirrored at the edge, without and with the edge itself; with `"wrap"` what is at the
    other
    end.

    >>> import svod
    >>> svod.pad(svod.Tensor([1, 2, 3]), (2, 1), mode="reflect").tolist()
    [3, 2, 1, 2, 3, 2]
    """

def partition(x: _Operand, kth: Any, /, axis: builtins.int | None = -1, *, dim: builtins.int | None = -1) -> Tensor:
    """The elements along an axis in an order in which that at `kth` has its place: all have, as in `sort`.

    >>> import svod
    >>> svod.partition(svod.Tensor([3, 1, 2]), 1).tolist()
    [1, 2, 3]
    """

def pca_lowrank(
    x: _Operand, /, q: builtins.int | None = None, center: builtins.bool = True, niter: builtins.int = 2
) -> SVD:
    """As `svd_lowrank`, of rows less their mean unless they are centred; the columns of V are principal directions.

    >>> import svod
    >>> [tuple(part.shape) for part in svod.pca_lowrank(svod.ones(4, 3), q=2)]
    [(4, 2), (2,), (3, 2)]
    """

def pdist(x: _Operand, /, p: builtins.float = 2.0) -> Tensor:
    """The distances, by the `p`-norm, of each row of a matrix from those behind it.

    >>> import svod
    >>> svod.pdist(svod.Tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).tolist()
    [5.0, 1.0, 4.242640495300293]
    """

def percentile(
    x: _Operand,
    q: Any,
    /,
    axis: _Axis = None,
    *,
    method: builtins.str = "linear",
    keepdims: builtins.bool = False,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """As `quantile`, of `q` in percent.

    >>> import svod
    >>> svod.percentile(svod.Tensor([1.0, 2.0, 3.0]), 50).item()
    2.0
    """

def permutation(
    x: Any, /, *, axis: builtins.int = 0, generator: Generator | None = None, dim: builtins.int = 0
) -> Tensor:
    """The slices of an axis in random order; of an integer the integers before it.

    >>> import svod
    >>> svod.permutation(svod.Tensor([3, 1, 2])).sort(0).values.tolist()
    [1, 2, 3]
    """

def permute(
    x: _Operand,
    /,
    *axes: builtins.int | Sequence[builtins.int],
    dims: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""

def permute_copy(x: _Operand, dims: Sequence[builtins.int], /) -> Tensor:
    """As `permute`.

    >>> import svod
    >>> svod.permute_copy(svod.ones(2, 3, 4), (2, 0, 1)).shape
    (4, 2, 3)
    """

def permute_dims(x: _Operand, /, axes: Sequence[builtins.int]) -> Tensor:
    """Dimension `i` of the result is dimension `axes[i]`."""

def piecewise(x: _Operand, condlist: Any, funclist: Sequence[Any], /, *args: Any, **kwargs: Any) -> Tensor:
    """By conditions, what functions make of a tensor's elements, or numbers; of the tensor's type.

    Of several conditions that hold the last counts. One function more than conditions is for where none does;
    without
    it that is 0. Each function is called with the whole tensor.

    >>> import svod
    >>> x = svod.Tensor([-2.0, 3.0])
    >>> svod.piecewise(x, [x < 0, x >= 0], [lambda v: -v, 0.5]).tolist()
    [2.0, 0.5]
    """

def pinverse(x: _Operand, /, rcond: builtins.float = 1e-15) -> Tensor:
    """As `svod.linalg.pinv`; singular values up to `rcond` times the greatest count as 0.

    >>> import svod
    >>> svod.pinverse(svod.Tensor([[2.0], [0.0]])).tolist()
    [[0.5, 0.0]]
    """

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

def poly(x: _Operand, /) -> Tensor:
    """The polynomial that has these roots, or the characteristic one of a square matrix, whose roots are its
    eigenvalues. Complex roots give complex coefficients.

    >>> import svod
    >>> svod.poly([1.0, 2.0]).tolist()
    [1.0, -3.0, 2.0]
    """

def polyadd(a1: Any, a2: Any, /) -> Tensor:
    """The sum of two polynomials.

    >>> import svod
    >>> svod.polyadd([1, 2], [3, 4, 5]).tolist()
    [3, 5, 7]
    """

def polyder(p: _Operand, m: builtins.int = 1, /) -> Tensor:
    """The `m`-th derivative of a polynomial.

    >>> import svod
    >>> svod.polyder([1, 0, 5]).tolist()
    [2, 0]
    """

def polydiv(u: Any, v: Any, /) -> tuple[Tensor, Tensor]:
    """The quotient of two polynomials, and what is left, which has one coefficient less than `v`, or one that is 0.

    Unlike NumPy's what is left keeps leading zeros: how many there are depends on values.

    >>> import svod
    >>> [part.tolist() for part in svod.polydiv([1.0, 5.0, 8.0], [1.0, 2.0])]
    [[1.0, 3.0], [2.0]]
    """

def polyfit(
    x: _Operand, y: _Operand, deg: builtins.int, /, *, rcond: builtins.float | None = None, w: _Operand | None = None
) -> Tensor:
    """The polynomial of a degree that comes nearest to points: of the least sum of squared distances, times `w`.

    Several columns of `y` give a column of coefficients each. It is computed in `float64`.

    >>> import svod
    >>> svod.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(decimals=4).tolist()
    [2.0, 1.0]
    """

def polygamma(n: Any, x: Any, /) -> Tensor:
    """The `n`-th derivative of `digamma`; as a method, `x.polygamma(n)`, the tensor comes first.

    By recurrence and Euler's summation of the rest, and by reflection.

    >>> import svod
    >>> svod.polygamma(1, svod.Tensor([1.0]))
    Tensor([1.644934], shape=(1,), dtype=float32, device=CPU)
    """

def polyint(p: _Operand, m: builtins.int = 1, /, k: builtins.float = 0) -> Tensor:
    """The `m`-th integral of a polynomial, with the constant `k`.

    >>> import svod
    >>> svod.polyint([2.0, 0.0], k=5).tolist()
    [1.0, 0.0, 5.0]
    """

def polymul(a1: Any, a2: Any, /) -> Tensor:
    """The product of two polynomials.

    >>> import svod
    >>> svod.polymul([1, 1], [1, -1]).tolist()
    [1, 0, -1]
    """

def polysub(a1: Any, a2: Any, /) -> Tensor:
    """The difference of two polynomials.

    >>> import svod
    >>> svod.polysub([1, 2], [3, 4, 5]).tolist()
    [-3, -3, -3]
    """

def polyval(p: Any, x: Any, /) -> Tensor:
    """A polynomial's values, by Horner's rule.

    >>> import svod
    >>> svod.polyval([1, 0, 5], svod.Tensor([0, 2])).tolist()
    [5, 9]
    """

def positive(x: _Operand, /) -> Tensor:
    """The numbers as they are."""

def power(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.pow`.

    >>> import svod
    >>> svod.power(svod.Tensor([2, 3]), 2).tolist()
    [4, 9]
    """

def promote_types(type1: Any, type2: Any, /) -> DType:
    """The type in which tensors of two types meet.

    >>> import svod
    >>> svod.promote_types(svod.int32, svod.float32)
    svod.float32
    """

def ptp(
    x: _Operand,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """How far the greatest element is from the least, along axes, by default of all.

    >>> import svod
    >>> svod.ptp(svod.Tensor([1, 7, 3])).item()
    6
    """

def put(x: _Operand, index: _Operand, source: _Operand, accumulate: builtins.bool = False, /) -> Tensor:
    """Other elements at positions of the flat tensor; with `accumulate` they are added.

    >>> import svod
    >>> svod.put(svod.zeros(2, 2), svod.Tensor([3]), svod.Tensor([1.0])).tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """

def put_along_axis(
    x: _Operand,
    indices: _Operand,
    values: Any,
    /,
    axis: builtins.int | None,
    *,
    inplace: builtins.bool = True,
    dim: builtins.int | None = None,
) -> Tensor:
    """Puts values where indices along an axis are, or, with None, in the flat tensor, and gives the tensor back.

    Indices and values broadcast with the other axes. As NumPy's it assigns to the tensor, unless it is told not
    to be
    `inplace`. Of several values for one place the last stays.

    >>> import svod
    >>> x = svod.Tensor([[10, 30, 20], [60, 40, 50]])
    >>> svod.put_along_axis(x, svod.argmax(x, axis=1, keepdims=True), 99, axis=1).tolist()
    [[10, 99, 20], [99, 40, 50]]
    """

def qr(x: _Operand, /, some: builtins.bool = True) -> QRResult:
    """As `svod.linalg.qr`, with all columns of Q unless `some` are enough.

    >>> import svod
    >>> [tuple(part.shape) for part in svod.qr(svod.ones(3, 2), some=False)]
    [(3, 3), (3, 2)]
    """

def quantile(
    x: _Operand,
    q: Any,
    /,
    axis: _Axis = None,
    keepdims: builtins.bool = False,
    *,
    interpolation: builtins.str = "linear",
    dim: _Axis = None,
    keepdim: builtins.bool = False,
) -> Tensor:
    """The values below which parts `q`, from 0 to 1, of the elements along axes, or of all, are.

    Several are along a new first dimension. Between two elements by `interpolation`, or `method`: "linear",
    "lower", "higher", "nearest", "midpoint", or another one that NumPy has, such as "median_unbiased".

    >>> import svod
    >>> svod.quantile(svod.Tensor([1.0, 2.0, 4.0]), [0.5, 0.75]).tolist()
    [2.0, 3.0]
    """

def rad2deg(x: _Operand, /) -> Tensor:
    """Angles in radians as degrees.

    >>> import svod
    >>> svod.rad2deg(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def rad2deg_(x: _Operand, /) -> Tensor:
    """Becomes what `rad2deg` makes of it."""

def radians(x: _Operand, /) -> Tensor:
    """As `svod.deg2rad`: an angle in radians.

    >>> import svod
    >>> svod.radians(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def rand_like(
    x: _Operand,
    /,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    requires_grad: builtins.bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Uniformly distributed in [0, 1), in a tensor's shape and type."""

def randint(
    low: builtins.int = 0,
    high: builtins.int | Sequence[builtins.int] | None = None,
    shape: builtins.int | Sequence[builtins.int] | None = None,
    *,
    size: builtins.int | Sequence[builtins.int] | None = None,
    dtype: Any = None,
    device: builtins.str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers uniformly distributed from `low` to before `high`; of one bound from 0 to before it.

    >>> import svod
    >>> svod.randint(5, 6, 2).tolist(), svod.randint(1, (2,)).tolist(), svod.randint(1, size=(2,)).tolist()
    ([5, 5], [0, 0], [0, 0])
    """

def randint_like(
    x: _Operand,
    low: builtins.int,
    high: builtins.int | None = None,
    /,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers uniformly distributed from `low`, or 0, to before the last argument, in a tensor's shape and type."""

def randn_like(
    x: _Operand,
    /,
    *,
    dtype: Any = None,
    device: builtins.str | None = None,
    requires_grad: builtins.bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """Normally distributed with mean 0 and deviation 1, in a tensor's shape and type."""

def randperm(
    n: builtins.int, /, *, dtype: Any = None, device: builtins.str | None = None, generator: Generator | None = None
) -> Tensor:
    """The integers before `n` in random order, that of as many random numbers.

    >>> import svod
    >>> svod.randperm(4).sort(0).values.tolist()
    [0, 1, 2, 3]
    """

def ravel(x: _Operand, /) -> Tensor:
    """All elements in one dimension, in row-major order.

    >>> import svod
    >>> svod.ravel(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4]
    """

def ravel_multi_index(multi_index: Any, dims: Any, /, mode: Any = "raise", order: builtins.str = "C") -> Tensor:
    """The positions in the flat tensor, of extents `dims`, that positions along each dimension are.

    Positions outside are an error where they are known: in memory, when no function is traced. With `mode="wrap"`
    they
    count modulo the extent, with `"clip"` they are the nearest inside; a tuple has a mode for each dimension. In
    the
    order "F" the first dimension is the one whose neighbours are side by side.

    >>> import svod
    >>> svod.ravel_multi_index(([3, 6], [4, 5]), (7, 6)).tolist()
    [22, 41]
    """

def rearrange(x: _Operand, pattern: builtins.str, /, **lengths: Any) -> Tensor:
    """The axes in another order, split and joined, as a pattern says: `"b (h w) c -> b c h w"`.

    A name is an axis; names in parentheses are parts of one, of which all but one have their extent in `lengths`,
    or
    where they are named alone. `1` is an axis of extent 1, `...` all axes that have no name.

    >>> import svod
    >>> svod.rearrange(svod.arange(6), "(h w) -> w h", h=2).tolist()
    [[0, 3], [1, 4], [2, 5]]
    """

def reciprocal_(x: _Operand, /) -> Tensor:
    """Becomes `1 / x`."""

def renorm(
    x: _Operand, p: builtins.float, axis: builtins.int, maxnorm: builtins.float, /, *, dim: builtins.int | None = None
) -> Tensor:
    """The slices of an axis, those with a `p`-norm above `maxnorm` scaled to it.

    >>> import svod
    >>> svod.renorm(svod.Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 1.0]]
    """

def repeat(
    x: _Operand, repeats: Any, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None
) -> Tensor:
    """Each element of an axis repeated, each so often or as its own integer says; without an axis the flat tensor's.

    >>> import svod
    >>> svod.repeat(svod.Tensor([1, 2]), svod.Tensor([2, 1])).tolist()
    [1, 1, 2]
    """

def repeat_interleave(
    x: _Operand,
    /,
    repeats: _Extent | _ArrayLike,
    dim: builtins.int | None = None,
    *,
    axis: builtins.int | None = None,
    output_size: _Extent | None = None,
) -> Tensor:
    """Each element repeated in place, along an axis or of the flat tensor: so often, or, by a 1-d tensor,
    each as often as the number at its place says. Such numbers are computed now, as `nonzero` is. `output_size`
    is
    what the extent has to be.
    """

def reshape(x: _Operand, /, shape: Sequence[builtins.int], *, copy: builtins.bool | None = None) -> Tensor:
    """The same elements in row-major order under other extents; one -1 is inferred.

    A tensor is a value, so that whether it is copied shows only where it is
    written to.
    """

def resize(x: _Operand, new_shape: builtins.int | Sequence[builtins.int], /) -> Tensor:
    """The elements in row-major order in another shape, from the first on again as often as that takes.

    >>> import svod
    >>> svod.resize(svod.Tensor([1, 2, 3]), (2, 4)).tolist()
    [[1, 2, 3, 1], [2, 3, 1, 2]]
    """

def resolve_conj(x: _Operand, /) -> Tensor:
    """The tensor itself: see `is_conj`.

    >>> import svod
    >>> svod.resolve_conj(svod.Tensor([1j]).conj()).tolist()
    [-1j]
    """

def resolve_neg(x: _Operand, /) -> Tensor:
    """The tensor itself: see `is_neg`.

    >>> import svod
    >>> svod.resolve_neg(svod.Tensor([1])).tolist()
    [1]
    """

def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type in which tensors, types and Python's numbers meet.

    >>> import svod
    >>> svod.result_type(svod.int8, svod.Tensor([1], "uint8"), 3)
    svod.int16
    """

def right_shift(x1: Any, x2: Any, /) -> Tensor:
    """As `svod.bitwise_right_shift`.

    >>> import svod
    >>> svod.right_shift(svod.Tensor([8, 16]), 3).tolist()
    [1, 2]
    """

def rint(x: _Operand, /) -> Tensor:
    """As `svod.round`: to the nearest integer, halves to the even one.

    >>> import svod
    >>> svod.rint(svod.Tensor([0.5, 1.5])).tolist()
    [0.0, 2.0]
    """

def rnn_relu(
    x: _Operand,
    hx: _Operand,
    params: Sequence[Tensor],
    has_biases: builtins.bool,
    num_layers: builtins.int,
    dropout: builtins.float,
    train: builtins.bool,
    bidirectional: builtins.bool,
    batch_first: builtins.bool,
    /,
) -> tuple[Tensor, Tensor]:
    """As `rnn_tanh`, with `relu`.

    >>> import svod
    >>> layer, x = svod.nn.RNN(3, 4, nonlinearity="relu"), svod.ones(5, 2, 3)
    >>> made = svod.rnn_relu(x, svod.zeros(1, 2, 4), layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """

def rnn_relu_cell(
    x: _Operand,
    hx: _Operand,
    w_ih: _Operand,
    w_hh: _Operand,
    b_ih: _Operand | None = None,
    b_hh: _Operand | None = None,
    /,
) -> Tensor:
    """As `rnn_tanh_cell`, with `relu`.

    >>> import svod
    >>> svod.rnn_relu_cell(svod.ones(1, 2), svod.zeros(1, 1), svod.ones(1, 2), svod.zeros(1, 1)).tolist()
    [[2.0]]
    """

def rnn_tanh(
    x: _Operand,
    hx: _Operand,
    params: Sequence[Tensor],
    has_biases: builtins.bool,
    num_layers: builtins.int,
    dropout: builtins.float,
    train: builtins.bool,
    bidirectional: builtins.bool,
    batch_first: builtins.bool,
    /,
) -> tuple[Tensor, Tensor]:
    """`svod.nn.RNN` with these parameters, in its order: the results, and the last states.

    >>> import svod
    >>> layer, x = svod.nn.RNN(3, 4), svod.ones(5, 2, 3)
    >>> made = svod.rnn_tanh(x, svod.zeros(1, 2, 4), layer.parameters(), True, 1, 0.0, False, False, False)
    >>> svod.allclose(made[0], layer(x)[0])
    True
    """

def rnn_tanh_cell(
    x: _Operand,
    hx: _Operand,
    w_ih: _Operand,
    w_hh: _Operand,
    b_ih: _Operand | None = None,
    b_hh: _Operand | None = None,
    /,
) -> Tensor:
    """A step of `svod.nn.RNNCell` with these parameters.

    >>> import svod
    >>> svod.rnn_tanh_cell(svod.zeros(1, 2), svod.zeros(1, 1), svod.ones(1, 2), svod.zeros(1, 1)).tolist()
    [[0.0]]
    """

def roll(
    x: _Operand,
    /,
    shift: builtins.int | Sequence[builtins.int],
    axis: builtins.int | Sequence[builtins.int] | None = None,
    *,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """The elements of axes moved towards their ends, those beyond to the start; without axes those of the flat
    tensor.

    >>> import svod
    >>> svod.roll(svod.Tensor([[1, 2], [3, 4]]), (1, 1), axis=(0, 1)).tolist()
    [[4, 3], [2, 1]]
    """

def rollaxis(x: _Operand, axis: builtins.int, start: builtins.int = 0, /, *, dim: builtins.int | None = None) -> Tensor:
    """A dimension moved before another.

    >>> import svod
    >>> svod.rollaxis(svod.ones(2, 3, 4), 2).shape
    (4, 2, 3)
    """

def roots(p: _Operand, /) -> Tensor:
    """A polynomial's roots, complex numbers, as the eigenvalues of its companion matrix; computed now.

    >>> import svod
    >>> sorted(svod.roots([1.0, -3.0, 2.0]).real.round(decimals=4).tolist())
    [1.0, 2.0]
    """

def rot90(x: _Operand, /, k: builtins.int = 1, dims: Sequence[builtins.int] = (0, 1)) -> Tensor:
    """Turned `k` times by a right angle, from the first of two dimensions to the second.

    >>> import svod
    >>> svod.rot90(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[2, 4], [1, 3]]
    """

def round_(x: _Operand, /) -> Tensor:
    """Becomes the nearest integers, ties to even."""

def row_stack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors one below the other, vectors as rows.

    >>> import svod
    >>> svod.vstack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """

def rsqrt_(x: _Operand, /) -> Tensor:
    """Becomes what `rsqrt` makes of it."""

def rsub(x: _Operand, other: Any, /, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * x`.

    >>> import svod
    >>> svod.rsub(svod.Tensor([1, 2]), 5).tolist()
    [4, 3]
    """

def scalar_tensor(
    s: Any, /, *, dtype: Any = None, device: builtins.str | None = None, requires_grad: builtins.bool = False
) -> Tensor:
    """A number as a tensor without dimensions, `float32` unless a type is given.

    >>> import svod
    >>> svod.scalar_tensor(3).item()
    3.0
    """

def scatter(
    x: _Operand,
    /,
    dim: builtins.int | None,
    index: _ArrayLike,
    src: _Operand | None = None,
    *,
    axis: builtins.int | None = None,
    value: _Operand | None = None,
    reduce: str | None = None,
) -> Tensor:
    """With the elements of `src`, or `value`, written at their position but, along `dim`, at the value of
    `index`. Where several go to one element, the last one in row-major order stays. With `reduce` "add" or
    "multiply", they are added to what is there, or multiplied with it.
    """

def scatter_add(
    x: _Operand, /, dim: builtins.int | None, index: _ArrayLike, src: _Operand, *, axis: builtins.int | None = None
) -> Tensor:
    """As `scatter`, added to what is there."""

def scatter_reduce(
    x: _Operand,
    /,
    dim: builtins.int | None,
    index: _ArrayLike,
    src: _Operand,
    reduce: str,
    *,
    include_self: builtins.bool = True,
    axis: builtins.int | None = None,
) -> Tensor:
    """As `scatter`, combined by `reduce` ("sum", "prod", "amax", "amin" or "mean") with what is
    there or, without `include_self`, only with each other.
    """

def searchsorted(
    x1: _Operand,
    x2: Any,
    /,
    side: builtins.str = "left",
    sorter: _Operand | None = None,
    *,
    right: builtins.bool = False,
    out_int32: builtins.bool = False,
) -> Tensor:
    """Where elements of `x2` would be put into `x1`, which is sorted, or is so in the order of `sorter`.

    Of more than one dimension, each vector of `x2` into that of `x1` at its place.

    Before those that are equal, or, with `side="right"` or `right`, behind them; in `int32` if that is asked for.

    >>> import svod
    >>> svod.searchsorted(svod.Tensor([3, 1, 2]), 2, sorter=svod.Tensor([1, 2, 0])).item()
    1
    """

def segment_reduce(
    data: _Operand,
    reduce: builtins.str,
    /,
    *,
    lengths: _Operand | None = None,
    indices: _Operand | None = None,
    offsets: _Operand | None = None,
    axis: builtins.int = 0,
    unsafe: builtins.bool = False,
    initial: builtins.float | None = None,
    dim: builtins.int = 0,
) -> Tensor:
    """The "sum", "mean", "max", "min" or "prod" of parts of an axis, one behind the other: of `lengths`, or from
    each
    of `offsets` to the next. Parts of nothing are `initial`, or what folds of nothing are; their means are NaN.

    Lengths have the dimensions of `data` before the axis, and last the parts. `unsafe` has no meaning.

    >>> import svod
    >>> svod.segment_reduce(svod.Tensor([1.0, 2.0, 3.0]), "sum", lengths=svod.Tensor([1, 2])).tolist()
    [1.0, 5.0]
    """

def select(x: Any, axis: Any, index: Any = None, /, *, default: Any = 0, dim: Any = None) -> Tensor:
    """The slice at a position of an axis, without it, as PyTorch's `select`.

    Of a list of conditions and one of choices it is NumPy's: for each element the choice whose condition is the
    first
    that holds, else `default`.

    >>> import svod
    >>> svod.select(svod.Tensor([[1, 2], [3, 4]]), 1, -1).tolist()
    [2, 4]
    >>> x = svod.Tensor([1, 5, 9])
    >>> svod.select([x < 3, x < 7], [x, 10 * x], default=-1).tolist()
    [1, 50, -1]
    """

def select_copy(x: _Operand, axis: builtins.int, index: builtins.int, /, *, dim: builtins.int | None = None) -> Tensor:
    """As `select`.

    >>> import svod
    >>> svod.select_copy(svod.Tensor([[1, 2], [3, 4]]), 1, -1).tolist()
    [2, 4]
    """

def select_scatter(
    x: _Operand, src: _Operand, axis: builtins.int, index: builtins.int, /, *, dim: builtins.int | None = None
) -> Tensor:
    """Another slice at a position of an axis.

    >>> import svod
    >>> svod.select_scatter(svod.zeros(2, 2), svod.ones(2), 0, 1).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    """

def setdiff1d(x1: Any, x2: Any, /, assume_unique: builtins.bool = False) -> Tensor:
    """The values of `x1` that `x2` does not have, sorted, each once; with `assume_unique` as they come.

    >>> import svod
    >>> svod.setdiff1d([3, 1, 2, 1], [2, 5]).tolist()
    [1, 3]
    """

def setxor1d(x1: Any, x2: Any, /, assume_unique: builtins.bool = False) -> Tensor:
    """The values that just one of both has, sorted, each once.

    >>> import svod
    >>> svod.setxor1d([1, 2, 3], [2, 4]).tolist()
    [1, 3, 4]
    """

def sgn(x: _Operand, /) -> Tensor:
    """-1, 0 or 1; of complex numbers `x / |x|`.

    >>> import svod
    >>> svod.sgn(svod.Tensor([-3.0, 0.0])).tolist()
    [-1.0, 0.0]
    """

def sigmoid_(x: _Operand, /) -> Tensor:
    """Becomes `1 / (1 + exp(-x))`."""

def signbit(x: _Operand, /) -> Tensor:
    """Whether the sign is that of negative numbers, -0 and negative NaN included; integers are never -0.

    >>> import svod
    >>> svod.signbit(svod.Tensor([-0.0, 0.0, -3.0])).tolist()
    [True, False, True]
    """

def sin_(x: _Operand, /) -> Tensor:
    """Becomes what `sin` makes of it."""

def sinc(x: _Operand, /) -> Tensor:
    """`sin(π x) / (π x)`, 1 at 0.

    >>> import svod
    >>> svod.sinc(svod.Tensor([0.0, 0.5])).tolist()
    [1.0, 0.6366197466850281]
    """

def sinc_(x: _Operand, /) -> Tensor:
    """Becomes what `sinc` makes of it."""

def sinh(x: _Operand, /) -> Tensor:
    """Hyperbolic sine.

    >>> import svod
    >>> svod.sinh(svod.Tensor([0.0])).tolist()
    [0.0]
    """

def sinh_(x: _Operand, /) -> Tensor:
    """Becomes what `sinh` makes of it."""

def slice_copy(
    x: _Operand,
    /,
    axis: builtins.int = 0,
    start: builtins.int | None = None,
    end: builtins.int | None = None,
    step: builtins.int = 1,
    *,
    dim: builtins.int = 0,
) -> Tensor:
    """The elements from `start` to before `end` along an axis, every `step`-th, as Python's slices take them.

    >>> import svod
    >>> svod.slice_copy(svod.arange(6), 0, 1, -1, 2).tolist()
    [1, 3]
    """

def slice_scatter(
    x: _Operand,
    src: _Operand,
    /,
    axis: builtins.int = 0,
    start: builtins.int | None = None,
    end: builtins.int | None = None,
    step: builtins.int = 1,
    *,
    dim: builtins.int = 0,
) -> Tensor:
    """Other elements in a slice of an axis.

    >>> import svod
    >>> svod.slice_scatter(svod.zeros(4), svod.ones(2), start=0, step=2).tolist()
    [1.0, 0.0, 1.0, 0.0]
    """

def slogdet(x: _Operand, /) -> SlogdetResult:
    """As `svod.linalg.slogdet`.

    >>> import svod
    >>> [part.item() for part in svod.slogdet(svod.Tensor([[-1.0]]))]
    [-1.0, 0.0]
    """

def softmax(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    dtype: _DTypeLike | None = None,
    *,
    axis: builtins.int | None = None,
) -> Tensor:
    """`exp(x)` divided by its sum along an axis."""

def sort(
    x: _Operand,
    /,
    dim: builtins.int | None = None,
    descending: builtins.bool = False,
    *,
    stable: builtins.bool = True,
    axis: builtins.int | None = -1,
    kind: builtins.str | None = None,
) -> Tensor | ValuesAndIndices:
    """The elements along an axis, by default the last, in order; with `axis=None`, those of the flat tensor. Stable,
    NaN is the greatest value.

    With `dim`, by name or position, PyTorch's pair of them and where they were.
    """

def spacing(x: _Operand, /) -> Tensor:
    """How far a number is from the next one that its type has, away from zero; negative where the number is.

    >>> import svod
    >>> svod.spacing(svod.Tensor([1.0])).item() == svod.finfo("float32").eps
    True
    """

def split(
    x: _Operand,
    /,
    split_size: _Extent | Sequence[_Extent],
    dim: builtins.int | None = 0,
    *,
    axis: builtins.int | None = None,
) -> list[Tensor]:
    """Parts along an axis: of this extent, the last one maybe smaller, or of these extents."""

def split_copy(
    x: _Operand, split_size: builtins.int, /, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """As `split`.

    >>> import svod
    >>> [part.tolist() for part in svod.split_copy(svod.arange(3), 2)]
    [[0, 1], [2]]
    """

def split_with_sizes(
    x: _Operand, sizes: Sequence[builtins.int], /, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> list[Tensor]:
    """Parts of these extents along an axis.

    >>> import svod
    >>> [part.tolist() for part in svod.split_with_sizes(svod.arange(3), [1, 2])]
    [[0], [1, 2]]
    """

def split_with_sizes_copy(
    x: _Operand, sizes: Sequence[builtins.int], /, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """As `split_with_sizes`.

    >>> import svod
    >>> [part.tolist() for part in svod.split_with_sizes_copy(svod.arange(3), [1, 2])]
    [[0], [1, 2]]
    """

def sqrt_(x: _Operand, /) -> Tensor:
    """Becomes `sqrt(x)`."""

def square_(x: _Operand, /) -> Tensor:
    """Becomes what `square` makes of it."""

def squeeze(
    x: _Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    *,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """Without these dimensions of extent 1, by default all of them. With `dim`, as PyTorch has it, others stay."""

def squeeze_copy(
    x: _Operand,
    /,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    *,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """As `squeeze`.

    >>> import svod
    >>> svod.squeeze_copy(svod.ones(1, 2, 1)).shape
    (2,)
    """

def std_mean(
    x: _Operand,
    /,
    axis: _Axis | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdims: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
    dim: _Axis | builtins.bool | None = None,
    keepdim: builtins.bool = False,
) -> tuple[Tensor, Tensor]:
    """The deviation and the mean along axes, by default of all. Squares are divided by the number of elements
    without
    `correction`, by default 1; PyTorch's former `unbiased`, which may stand in the place of axes, is 1, or 0 if
    false.

    >>> import svod
    >>> [part.item() for part in svod.std_mean(svod.Tensor([1.0, 2.0, 3.0]))]
    [1.0, 2.0]
    """

def stft(
    x: _Operand,
    /,
    n_fft: builtins.int,
    hop_length: builtins.int | None = None,
    win_length: builtins.int | None = None,
    window: _Operand | None = None,
    center: builtins.bool = True,
    pad_mode: builtins.str = "reflect",
    normalized: builtins.bool = False,
    onesided: builtins.bool | None = None,
    return_complex: builtins.bool = True,
) -> Tensor:
    """The spectra of overlapping parts of signals `(batch, samples)` or `(samples,)`, `(…, frequencies, parts)`.

    A part has `n_fft` samples and begins `hop_length` after the one before, by default a quarter of that; it is
    multiplied by a `window` of `win_length`, which is ones if none is given. With `center` the k-th part has its
    middle
    at sample k times `hop_length`, and the signal is continued at its ends as `pad_mode` says. Of real signals
    only
    frequencies from 0 up are told, unless `onesided` is false. `normalized` divides by the root of `n_fft`.
    Without
    `return_complex` the last dimension is that of the two parts of numbers.

    Allen and Rabiner 1977.

    >>> import svod
    >>> svod.stft(svod.ones(16), 8, 4).abs()[:2, 1].tolist()
    [8.0, 0.0]
    """

def svd(x: _Operand, /, some: builtins.bool = True, compute_uv: builtins.bool = True) -> SVD:
    """U, the singular values, and V, not its conjugate transpose, which `svod.linalg.svd` gives.

    Square U and V unless `some` of their columns are enough; zeros where they are not to be computed.

    >>> import svod
    >>> [tuple(part.shape) for part in svod.svd(svod.ones(3, 2))]
    [(3, 2), (2,), (2, 2)]
    """

def svd_lowrank(x: _Operand, /, q: builtins.int = 6, niter: builtins.int = 2, M: _Operand | None = None) -> SVD:
    """About the `q` greatest singular values of `x`, or of `x - M`, and their vectors, as `svd` has them.

    By a random basis of the columns, improved `niter` times (Halko, Martinsson and Tropp 2009).

    >>> import svod
    >>> f"{svod.svd_lowrank(svod.ones(4, 3), q=1).S[0].item():.3f}"
    '3.464'
    """

def swapaxes(
    x: _Operand,
    /,
    axis0: builtins.int | None,
    axis1: builtins.int | None,
    *,
    dim0: builtins.int | None = None,
    dim1: builtins.int | None = None,
) -> Tensor:
    """As `transpose`."""

def swapdims(
    x: _Operand,
    axis1: builtins.int,
    axis2: builtins.int,
    /,
    *,
    dim1: builtins.int | None = None,
    dim2: builtins.int | None = None,
) -> Tensor:
    """Two dimensions exchanged.

    >>> import svod
    >>> svod.swapdims(svod.ones(2, 3, 4), 0, 2).shape
    (4, 3, 2)
    """

def t(x: _Operand, /) -> Tensor:
    """Rows and columns exchanged, of at most 2 dimensions."""

def t_copy(x: _Operand, /) -> Tensor:
    """As `t`.

    >>> import svod
    >>> svod.t_copy(svod.Tensor([[1, 2], [3, 4]])).tolist()
    [[1, 3], [2, 4]]
    """

def take(
    x: _Operand, indices: _Operand, /, axis: builtins.int | None = None, *, dim: builtins.int | None = None
) -> Tensor:
    """An axis indexed by integers, which take its place; without one, the flat tensor."""

def take_along_axis(
    x: _Operand, indices: _Operand, /, axis: builtins.int | None = -1, *, dim: builtins.int | None = -1
) -> Tensor:
    """For each index along an axis, by default the last, the element there; with None, in the flat tensor."""

def take_along_dim(
    x: _Operand, /, indices: _ArrayLike, dim: builtins.int | None = None, *, axis: builtins.int | None = None
) -> Tensor:
    """As `gather`, broadcast off the axis; without one, of the flat tensor."""

def tan_(x: _Operand, /) -> Tensor:
    """Becomes what `tan` makes of it."""

def tanh_(x: _Operand, /) -> Tensor:
    """Becomes the hyperbolic tangents."""

def tensor(
    data: Any, /, *, dtype: Any = None, device: builtins.str | None = None, requires_grad: builtins.bool = False
) -> Tensor:
    """A tensor of data, by PyTorch's name of `svod.Tensor`.

    >>> import svod
    >>> svod.tensor([1.0, 2.0]).shape
    (2,)
    """

def tensor_split(
    x: _Operand, indices_or_sections: Any, /, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """Parts along an axis: so many, the first one longer where they cannot be equal, or up to indices.

    >>> import svod
    >>> [part.tolist() for part in svod.tensor_split(svod.arange(5), (1, 3))]
    [[0], [1, 2], [3, 4]]
    """

def tensordot(
    x1: Any, x2: Any, /, axes: builtins.int | tuple[Sequence[builtins.int], Sequence[builtins.int]] = 2
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

def topk(
    x: _Operand,
    /,
    k: _Extent,
    dim: builtins.int | None = None,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
    *,
    axis: builtins.int | None = None,
) -> ValuesAndIndices:
    """The `k` largest elements along an axis, by default the last, or the smallest, and where they are: in order,
    whatever `sorted` asks for.
    """

def trace(
    x: _Operand,
    /,
    offset: builtins.int = 0,
    axis1: builtins.int = 0,
    axis2: builtins.int = 1,
    *,
    dim1: builtins.int = 0,
    dim2: builtins.int = 1,
) -> Tensor:
    """The sum of a diagonal.

    >>> import svod
    >>> svod.trace(svod.Tensor([[1, 2], [3, 4]])).item()
    5
    """

def transpose(x: _Operand, /, *axes: Any, **named: Any) -> Tensor:
    """Two dimensions exchanged, as PyTorch has it: `x.transpose(0, 1)`.

    NumPy's forms are taken where they are no pair: all dimensions in the order of a tuple, or of three or more
    integers, and without any in reverse order.

    >>> import svod
    >>> x = svod.ones(2, 3, 4)
    >>> x.transpose(0, 2).shape, x.transpose(2, 0, 1).shape, x.transpose((2, 0, 1)).shape, x.transpose().shape
    ((4, 3, 2), (4, 2, 3), (4, 2, 3), (4, 3, 2))
    """

def transpose_copy(
    x: _Operand,
    axis1: builtins.int,
    axis2: builtins.int,
    /,
    *,
    dim1: builtins.int | None = None,
    dim2: builtins.int | None = None,
) -> Tensor:
    """As `transpose`.

    >>> import svod
    >>> svod.transpose_copy(svod.ones(2, 3), 0, 1).shape
    (3, 2)
    """

def trapezoid(
    y: _Operand,
    x: _Operand | None = None,
    /,
    *,
    dx: builtins.float = 1,
    axis: builtins.int = -1,
    dim: builtins.int = -1,
) -> Tensor:
    """The integral along an axis, by trapezoids, of points at `x`, or `dx` apart.

    >>> import svod
    >>> svod.trapezoid(svod.Tensor([1.0, 2.0, 3.0])).item()
    4.0
    """

def trapz(
    y: _Operand,
    x: _Operand | None = None,
    /,
    *,
    dx: builtins.float = 1,
    axis: builtins.int = -1,
    dim: builtins.int = -1,
) -> Tensor:
    """The integral along an axis, by trapezoids, of points at `x`, or `dx` apart.

    >>> import svod
    >>> svod.trapezoid(svod.Tensor([1.0, 2.0, 3.0])).item()
    4.0
    """

def tri(N: builtins.int, M: builtins.int | None = None, k: builtins.int = 0, *, dtype: Any = "float32") -> Tensor:
    """Ones on a diagonal and below it, zeros above.

    >>> import svod
    >>> svod.tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """

def triangular_solve(
    x: _Operand,
    A: _Operand,
    /,
    upper: builtins.bool = True,
    transpose: builtins.bool = False,
    unitriangular: builtins.bool = False,
) -> tuple[Tensor, Tensor]:
    """y with A y = x, of A only a triangle, or with its transpose; and that A.

    >>> import svod
    >>> svod.triangular_solve(svod.Tensor([[2.0], [4.0]]), svod.Tensor([[2.0, 0.0], [0.0, 4.0]]))[0].tolist()
    [[1.0], [1.0]]
    """

def tril(x: _Operand, /, k: builtins.int = 0) -> Tensor:
    """The elements on and below a diagonal, zeros above."""

def tril_indices(
    row: builtins.int,
    col: builtins.int | None = None,
    offset: builtins.int = 0,
    *,
    dtype: Any = "int64",
    device: builtins.str | None = None,
) -> Tensor:
    """Rows and columns of the elements on and below a diagonal, in row-major order, as the two rows of the result.

    >>> import svod
    >>> svod.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """

def tril_indices_from(x: _Operand, /, k: builtins.int = 0) -> tuple[Tensor, Tensor]:
    """Rows and columns of a matrix's elements on and below a diagonal, in row-major order: a pair, by which it is
    indexed.

    >>> import svod
    >>> x = svod.Tensor([[1, 2], [3, 4]])
    >>> x[svod.tril_indices_from(x)].tolist()
    [1, 3, 4]
    """

def trim_zeros(
    x: _Operand,
    trim: builtins.str = "fb",
    /,
    axis: builtins.int | Sequence[builtins.int] | None = None,
    *,
    dim: builtins.int | Sequence[builtins.int] | None = None,
) -> Tensor:
    """The tensor without zeros at the front, "f", and at the back, "b", of each axis, or of some; computed now.

    >>> import svod
    >>> svod.trim_zeros(svod.Tensor([0, 0, 1, 0, 2, 0])).tolist()
    [1, 0, 2]
    """

def triu(x: _Operand, /, k: builtins.int = 0) -> Tensor:
    """The elements on and above a diagonal, zeros below."""

def triu_indices(
    row: builtins.int,
    col: builtins.int | None = None,
    offset: builtins.int = 0,
    *,
    dtype: Any = "int64",
    device: builtins.str | None = None,
) -> Tensor:
    """Rows and columns of the elements on and above a diagonal, in row-major order, as the two rows of the result.

    >>> import svod
    >>> svod.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """

def triu_indices_from(x: _Operand, /, k: builtins.int = 0) -> tuple[Tensor, Tensor]:
    """Rows and columns of a matrix's elements on and above a diagonal, in row-major order: a pair, by which it is
    indexed.

    >>> import svod
    >>> x = svod.Tensor([[1, 2], [3, 4]])
    >>> x[svod.triu_indices_from(x)].tolist()
    [1, 2, 4]
    """

def true_divide(x1: Any, x2: Any, /) -> Tensor:
    """True quotient, integers becoming floats.

    >>> import svod
    >>> svod.true_divide(svod.Tensor([1]), 2).tolist()
    [0.5]
    """

def trunc_(x: _Operand, /) -> Tensor:
    """Becomes what `trunc` makes of it."""

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
    """Normally distributed between two bounds, which are those of the result: by the inverse of the distribution, in
    a
    tail by rejection (Robert 1995).

    >>> import svod
    >>> (svod.truncated_normal(100, 0.0, 1.0) >= 0).all().item()
    True
    """

def unbind(x: _Operand, /, axis: builtins.int = 0, *, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it.

    >>> import svod
    >>> [part.tolist() for part in svod.Tensor([[1, 2], [3, 4]]).unbind(1)]
    [[1, 3], [2, 4]]
    """

def unbind_copy(x: _Operand, /, axis: builtins.int = 0, *, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """As `unbind`.

    >>> import svod
    >>> [part.tolist() for part in svod.unbind_copy(svod.Tensor([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """

def unflatten(
    x: _Operand, /, dim: builtins.int | None, sizes: Sequence[_Extent], *, axis: builtins.int | None = None
) -> Tensor:
    """One dimension as several; one -1 is inferred."""

def unfold_copy(
    x: _Operand, axis: builtins.int, size: builtins.int, step: builtins.int, /, *, dim: builtins.int | None = None
) -> Tensor:
    """As `Tensor.unfold`.

    >>> import svod
    >>> svod.unfold_copy(svod.arange(4), 0, 2, 1).tolist()
    [[0, 1], [1, 2], [2, 3]]
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

def union1d(x1: Any, x2: Any, /) -> Tensor:
    """The values that one of both has, sorted, each once.

    >>> import svod
    >>> svod.union1d([3, 1], [2, 1]).tolist()
    [1, 2, 3]
    """

def unique(
    x: _Operand,
    /,
    sorted: builtins.bool = True,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: builtins.int | None = None,
    *,
    return_index: builtins.bool = False,
    dim: builtins.int | None = None,
) -> Any:
    """The values, each once, in order; computed now. Of several that are asked for a tuple: the values, where each
    is
    first, which one each element is, how often each occurs. With an axis, its slices in the place of elements.

    >>> import svod
    >>> [part.tolist() for part in svod.unique(svod.Tensor([3, 1, 3]), return_counts=True)]
    [[1, 3], [1, 2]]
    """

def unique_all(x: _Operand, /) -> UniqueAll:
    """The sorted values, each once, where each is first in the flat `x`, which one each element is, and their
    counts.

    Each NaN is a value of its own.

    >>> import svod
    >>> [part.tolist() for part in svod.unique_all(svod.Tensor([3, 1, 3]))]
    [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """

def unique_consecutive(
    x: _Operand,
    /,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    axis: builtins.int | None = None,
    *,
    dim: builtins.int | None = None,
) -> Any:
    """The flat tensor with one of equal neighbours; where asked for, which run each element is in and how long
    runs are; computed now. With an axis, its slices in the place of elements.

    >>> import svod
    >>> svod.unique_consecutive(svod.Tensor([1, 1, 2, 1])).tolist()
    [1, 2, 1]
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

def unpackbits(
    x: _Operand,
    /,
    axis: builtins.int | None = None,
    count: builtins.int | None = None,
    bitorder: builtins.str = "big",
    *,
    dim: builtins.int | None = None,
) -> Tensor:
    """The eight bits of each `uint8` along an axis, of the flat tensor by default, as `uint8` of 0 and 1.

    Of these the first `count`, with zeros behind them if there are fewer; of a negative one all but so many.

    >>> import svod
    >>> svod.unpackbits(svod.Tensor([5], dtype="uint8"), count=-2).tolist()
    [0, 0, 0, 0, 0, 1]
    """

def unravel_index(indices: _Operand, shape: builtins.int | Sequence[builtins.int], /) -> tuple[Tensor, ...]:
    """The positions along each dimension of a shape that positions of the flat tensor are.

    >>> import svod
    >>> [one.tolist() for one in svod.unravel_index(svod.Tensor([5]), (2, 3))]
    [[1], [2]]
    """

def unsafe_chunk(
    x: _Operand, chunks: builtins.int, /, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """As `chunk`.

    >>> import svod
    >>> [part.tolist() for part in svod.unsafe_chunk(svod.arange(3), 2)]
    [[0, 1], [2]]
    """

def unsafe_split(
    x: _Operand, split_size: builtins.int, /, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """As `split`.

    >>> import svod
    >>> [part.tolist() for part in svod.unsafe_split(svod.arange(3), 2)]
    [[0, 1], [2]]
    """

def unsafe_split_with_sizes(
    x: _Operand, sizes: Sequence[builtins.int], /, axis: builtins.int = 0, *, dim: builtins.int = 0
) -> tuple[Tensor, ...]:
    """As `split_with_sizes`.

    >>> import svod
    >>> [part.tolist() for part in svod.unsafe_split_with_sizes(svod.arange(3), [1, 2])]
    [[0], [1, 2]]
    """

def unsqueeze(x: _Operand, /, dim: builtins.int | None, *, axis: builtins.int | None = None) -> Tensor:
    """A new dimension of extent 1 at this position of the result."""

def unsqueeze_copy(x: _Operand, axis: builtins.int, /, *, dim: builtins.int | None = None) -> Tensor:
    """As `unsqueeze`.

    >>> import svod
    >>> svod.unsqueeze_copy(svod.ones(2), 0).shape
    (1, 2)
    """

def unstack(x: _Operand, /, axis: builtins.int = 0, *, dim: builtins.int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis, without it.

    >>> import svod
    >>> [part.tolist() for part in svod.unstack(svod.Tensor([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """

def unwrap(
    x: _Operand,
    /,
    discont: builtins.float | None = None,
    axis: builtins.int = -1,
    *,
    period: builtins.float = 6.283185307179586,
    dim: builtins.int = -1,
) -> Tensor:
    """Angles along an axis without the jumps by a period: a step of more than `discont`, by default half a period,
    is
    made less by the multiple of the period that leaves the least one.

    >>> import svod
    >>> svod.unwrap(svod.Tensor([0.0, 3.0, -3.0])).round(decimals=3).tolist()
    [0.0, 3.0, 3.2829999923706055]
    """

def vander(x: _Operand, /, N: builtins.int | None = None, increasing: builtins.bool = False) -> Tensor:
    """The powers of the elements of a vector as rows, from the highest, `N - 1`, to 0, or `increasing`.

    >>> import svod
    >>> svod.vander(svod.Tensor([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """

def var_mean(
    x: _Operand,
    /,
    axis: _Axis | builtins.bool | None = None,
    unbiased: builtins.bool | None = None,
    keepdims: builtins.bool = False,
    *,
    correction: builtins.float | None = None,
    dim: _Axis | builtins.bool | None = None,
    keepdim: builtins.bool = False,
) -> tuple[Tensor, Tensor]:
    """The variance and the mean along axes, by default of all. Squares are divided by the number of elements without
    `correction`, by default 1; PyTorch's former `unbiased`, which may stand in the place of axes, is 1, or 0 if
    false.

    >>> import svod
    >>> [part.item() for part in svod.var_mean(svod.Tensor([1.0, 2.0, 3.0]))]
    [1.0, 2.0]
    """

def vdot(x1: _Operand, x2: _Operand, /) -> Tensor:
    """The dot product of two vectors, of which the first is conjugated.

    >>> import svod
    >>> svod.vdot(svod.Tensor([1, 2]), svod.Tensor([3, 4])).item()
    11
    """

def vecdot(x1: Any, x2: Any, /, *, axis: builtins.int = -1, dim: builtins.int = -1) -> Tensor:
    """The dot products of vectors along an axis, of the first one's conjugate; the others broadcast.

    >>> import svod
    >>> svod.vecdot(svod.Tensor([[1, 2], [3, 4]]), svod.Tensor([10, 1])).tolist()
    [12, 34]
    """

def vecmat(x1: Any, x2: Any, /) -> Tensor:
    """The products of vectors, of which the conjugates are taken, and matrices; dimensions before these broadcast.

    >>> import svod
    >>> svod.vecmat(svod.Tensor([1, 1]), svod.Tensor([[1, 2], [3, 4]])).tolist()
    [4, 6]
    """

def view_as_complex_copy(x: _Operand, /) -> Tensor:
    """As `view_as_complex`.

    >>> import svod
    >>> svod.view_as_complex_copy(svod.Tensor([[1.0, 2.0]])).tolist()
    [(1+2j)]
    """

def view_as_real_copy(x: _Operand, /) -> Tensor:
    """As `view_as_real`.

    >>> import svod
    >>> svod.view_as_real_copy(svod.Tensor([1 + 2j])).tolist()
    [[1.0, 2.0]]
    """

def view_copy(x: _Operand, size: Any, /) -> Tensor:
    """As `Tensor.view`.

    >>> import svod
    >>> svod.view_copy(svod.arange(4), (2, 2)).tolist()
    [[0, 1], [2, 3]]
    """

def vsplit(x: _Operand, indices_or_sections: builtins.int | Sequence[builtins.int], /) -> tuple[Tensor, ...]:
    """Split along the first dimension of two or more: into equal parts, or before indices.

    >>> import svod
    >>> [part.shape for part in svod.vsplit(svod.ones(4, 2), 2)]
    [(2, 2), (2, 2)]
    """

def vstack(tensors: Sequence[Any], /) -> Tensor:
    """The tensors one below the other, vectors as rows.

    >>> import svod
    >>> svod.vstack([svod.Tensor([1, 2]), svod.Tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """

def xlogy(x1: Any, x2: Any, /) -> Tensor:
    """`x1 * log(x2)`, 0 where `x1` is 0, unless `x2` is NaN.

    >>> import svod
    >>> svod.xlogy(svod.Tensor([0.0, 1.0]), svod.Tensor([0.0, 1.0])).tolist()
    [0.0, 0.0]
    """

def xlogy_(x: _Operand, x2: Any, /) -> Tensor:
    """Becomes what `xlogy` makes of it."""

def zero_(x: _Operand, /) -> Tensor:
    """Becomes zeros."""

def zeros_like(x: _Operand, /, *, dtype: Any = None, device: builtins.str | None = None) -> Tensor:
    """Zeros in a tensor's shape, and in its type and on its device, unless others are named."""
