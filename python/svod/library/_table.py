"""The table of the library: all functions and methods that are composed of tensor operations.

One row a function, by the file that it is in. `docs/library.md` says how to add one. What is in no row is in no
namespace: functions of `svod`, methods of `Tensor` and the stubs are made from this table, and the tests say that each
function of the files is in it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FORWARDED", "FUNCTIONS", "METHODS", "TABLE", "Entry"]

# By file: names, of which the first is the function's in the file; what they are, `f` functions of `svod`, `m` methods
# of `Tensor`, `_` methods that assign their result (`x.name_()`); the libraries that have them by these names.
TABLE: dict[str, tuple[tuple[str, str, str], ...]] = {
    "arithmetic": (
        ("__divmod__", "m", "NumPy"),
        ("__rdivmod__", "m", "NumPy"),
        ("addcdiv", "f m _", "PyTorch"),
        ("addcmul", "f m _", "PyTorch"),
        ("allclose", "f m", "NumPy, PyTorch"),
        ("array_equal", "f", "NumPy, JAX"),
        ("clamp_max", "f m _", "PyTorch"),
        ("clamp_min", "f m _", "PyTorch"),
        ("conj_physical", "f m _", "PyTorch"),
        ("deg2rad", "f m _", "NumPy, PyTorch"),
        ("fix", "f m _", "NumPy, PyTorch"),
        ("float_power", "f m _", "NumPy, PyTorch"),
        ("fmax", "f m", "NumPy, PyTorch"),
        ("fmin", "f m", "NumPy, PyTorch"),
        ("fmod", "f m _", "NumPy, PyTorch"),
        ("frac", "f m _", "PyTorch"),
        ("frexp", "f m", "NumPy, PyTorch"),
        ("gcd", "f m _", "NumPy, PyTorch"),
        ("heaviside", "f m _", "NumPy, PyTorch"),
        ("isclose", "f m", "NumPy, PyTorch"),
        ("isneginf", "f m", "NumPy, PyTorch"),
        ("isposinf", "f m", "NumPy, PyTorch"),
        ("isreal", "f m", "NumPy, PyTorch"),
        ("lcm", "f m _", "NumPy, PyTorch"),
        ("ldexp", "f m _", "NumPy, PyTorch"),
        ("logaddexp2", "f m", "NumPy, PyTorch"),
        ("logit", "f m _", "PyTorch"),
        ("mvlgamma", "f m _", "PyTorch"),
        ("nan_to_num", "f m _", "NumPy, PyTorch"),
        ("rad2deg", "f m _", "NumPy, PyTorch"),
        ("rsub", "f", "PyTorch"),
        ("sgn", "f m _", "PyTorch"),
        ("sinc", "f m _", "NumPy, PyTorch"),
        ("true_divide", "f m _", "NumPy, PyTorch"),
    ),
    "arrangement": (
        ("adjoint", "f m", "PyTorch"),
        ("array_split", "f", "NumPy"),
        ("atleast_1d", "f", "NumPy, PyTorch"),
        ("atleast_2d", "f", "NumPy, PyTorch"),
        ("atleast_3d", "f", "NumPy, PyTorch"),
        ("broadcast_tensors", "f", "PyTorch"),
        ("cartesian_prod", "f", "PyTorch"),
        ("channel_shuffle", "f", "PyTorch"),
        ("column_stack", "f", "NumPy, PyTorch"),
        ("combinations", "f", "PyTorch"),
        ("dsplit", "f m", "NumPy, PyTorch"),
        ("dstack", "f", "NumPy, PyTorch"),
        ("expand_as", "m", "PyTorch"),
        ("fliplr", "f m", "NumPy, PyTorch"),
        ("flipud", "f m", "NumPy, PyTorch"),
        ("hsplit", "f m", "NumPy, PyTorch"),
        ("hstack", "f", "NumPy, PyTorch"),
        ("movedim", "f", "PyTorch"),
        ("ravel", "f m", "NumPy, PyTorch"),
        ("reshape_as", "m", "PyTorch"),
        ("rollaxis", "f", "NumPy"),
        ("rot90", "f m", "NumPy, PyTorch"),
        ("split_with_sizes", "f m", "PyTorch"),
        ("sum_to_size", "m", "PyTorch"),
        ("swapdims", "f m", "PyTorch"),
        ("tensor_split", "f m", "PyTorch"),
        ("unbind", "f m", "PyTorch"),
        ("vsplit", "f m", "NumPy, PyTorch"),
        ("vstack row_stack", "f", "NumPy, PyTorch"),
    ),
    "copies": (
        ("alias_copy", "f", "PyTorch"),
        ("as_strided_copy", "f", "PyTorch"),
        ("detach_copy", "f", "PyTorch"),
        ("diagonal_copy", "f", "PyTorch"),
        ("expand_copy", "f", "PyTorch"),
        ("narrow_copy", "f m", "PyTorch"),
        ("permute_copy", "f", "PyTorch"),
        ("select_copy", "f", "PyTorch"),
        ("slice_copy", "f", "PyTorch"),
        ("split_copy", "f", "PyTorch"),
        ("split_with_sizes_copy", "f", "PyTorch"),
        ("squeeze_copy", "f", "PyTorch"),
        ("t_copy", "f", "PyTorch"),
        ("transpose_copy", "f", "PyTorch"),
        ("unbind_copy", "f", "PyTorch"),
        ("unfold_copy", "f", "PyTorch"),
        ("unsafe_chunk", "f m", "PyTorch"),
        ("unsafe_split", "f m", "PyTorch"),
        ("unsafe_split_with_sizes", "f m", "PyTorch"),
        ("unsqueeze_copy", "f", "PyTorch"),
        ("view_as_complex_copy", "f", "PyTorch"),
        ("view_as_real_copy", "f", "PyTorch"),
        ("view_copy", "f", "PyTorch"),
    ),
    "counting": (
        ("bincount", "f m", "NumPy, PyTorch"),
        ("bucketize", "f", "PyTorch"),
        ("cdist", "f", "PyTorch"),
        ("convolve", "f", "NumPy"),
        ("correlate", "f", "NumPy"),
        ("cumulative_trapezoid", "f", "PyTorch"),
        ("digitize", "f", "NumPy"),
        ("dist", "f m", "PyTorch"),
        ("gradient", "f", "NumPy, PyTorch"),
        ("histc", "f m", "PyTorch"),
        ("histogram", "f m", "NumPy, PyTorch"),
        ("histogramdd", "f", "PyTorch"),
        ("interp", "f", "NumPy"),
        ("logcumsumexp", "f m", "PyTorch"),
        ("msort", "f m", "PyTorch"),
        ("pdist", "f", "PyTorch"),
        ("renorm", "f m _", "PyTorch"),
        ("segment_reduce", "f", "PyTorch"),
        ("trapezoid trapz", "f", "PyTorch"),
        ("unique", "f m", "NumPy, PyTorch"),
        ("unique_consecutive", "f m", "PyTorch"),
    ),
    "creation": (
        ("asarray", "f", "array API, NumPy, PyTorch"),
        ("empty_like", "f", "array API, NumPy, PyTorch"),
        ("full_like", "f", "array API, NumPy, PyTorch"),
        ("meshgrid", "f", "array API, NumPy, PyTorch"),
        ("ones_like", "f", "array API, NumPy, PyTorch"),
        ("tril", "f", "array API, NumPy, PyTorch"),
        ("triu", "f", "array API, NumPy, PyTorch"),
        ("zeros_like", "f", "array API, NumPy, PyTorch"),
    ),
    "diagonals": (
        ("block_diag", "f", "PyTorch"),
        ("diag", "f m", "NumPy, PyTorch"),
        ("diag_embed", "f m", "PyTorch"),
        ("diagflat", "f m", "NumPy, PyTorch"),
        ("diagonal", "f m", "NumPy, PyTorch"),
        ("diagonal_scatter", "f m", "PyTorch"),
        ("fill_diagonal", "_", "NumPy, PyTorch"),
        ("trace", "f m", "NumPy, PyTorch"),
        ("tril_indices", "f", "PyTorch"),
        ("triu_indices", "f", "PyTorch"),
        ("vander", "f", "NumPy, PyTorch"),
    ),
    "draws": (
        ("bernoulli", "_", "PyTorch"),
        ("cauchy", "_", "PyTorch"),
        ("exponential", "_", "PyTorch"),
        ("geometric", "_", "PyTorch"),
        ("log_normal", "_", "PyTorch"),
        ("normal", "_", "PyTorch"),
        ("random", "_", "PyTorch"),
        ("uniform", "_", "PyTorch"),
    ),
    "dtypes": (
        ("can_cast", "f", "array API, NumPy, PyTorch"),
        ("finfo", "f", "array API, NumPy, PyTorch"),
        ("iinfo", "f", "array API, NumPy, PyTorch"),
        ("isdtype", "f", "array API, NumPy"),
        ("result_type", "f", "array API, NumPy, PyTorch"),
    ),
    "elementwise": (
        ("acos arccos", "f m _", "array API, NumPy, PyTorch"),
        ("acosh arccosh", "f m _", "array API, NumPy, PyTorch"),
        ("asin arcsin", "f m _", "array API, NumPy, PyTorch"),
        ("asinh arcsinh", "f m _", "array API, NumPy, PyTorch"),
        ("atan2 arctan2", "f m _", "array API, NumPy, PyTorch"),
        ("atanh arctanh", "f m _", "array API, NumPy, PyTorch"),
        ("clip", "f", "array API, NumPy, PyTorch"),
        ("copysign", "f m _", "array API, NumPy, PyTorch"),
        ("cosh", "f m _", "array API, NumPy, PyTorch"),
        ("divide", "f", "array API, NumPy, PyTorch"),
        ("hypot", "f m _", "array API, NumPy, PyTorch"),
        ("logaddexp", "f m", "array API, NumPy, PyTorch"),
        ("nextafter", "f m _", "array API, NumPy, PyTorch"),
        ("positive", "f m", "array API, NumPy, PyTorch"),
        ("signbit", "f m", "array API, NumPy, PyTorch"),
        ("sinh", "f m _", "array API, NumPy, PyTorch"),
    ),
    "factorizations": (
        ("cholesky", "f m", "PyTorch"),
        ("cholesky_inverse", "f m", "PyTorch"),
        ("cholesky_solve", "f m", "PyTorch"),
        ("det", "f m", "PyTorch"),
        ("frobenius_norm", "f", "PyTorch"),
        ("inverse", "f m", "PyTorch"),
        ("lobpcg", "f", "PyTorch"),
        ("logdet", "f m", "PyTorch"),
        ("matrix_exp", "f m", "PyTorch"),
        ("matrix_power", "f m", "PyTorch"),
        ("nuclear_norm", "f", "PyTorch"),
        ("pca_lowrank", "f", "PyTorch"),
        ("pinverse", "f m", "PyTorch"),
        ("qr", "f m", "PyTorch"),
        ("slogdet", "f m", "PyTorch"),
        ("svd", "f m", "PyTorch"),
        ("svd_lowrank", "f", "PyTorch"),
        ("triangular_solve", "f m", "PyTorch"),
    ),
    "gammas": (
        ("igamma", "f m _", "PyTorch, JAX"),
        ("igammac", "f m _", "PyTorch, JAX"),
        ("polygamma", "f m _", "PyTorch, SciPy, JAX"),
    ),
    "indexed": (
        ("apply", "_", "PyTorch"),
        ("argwhere", "f m", "NumPy, PyTorch"),
        ("as_strided", "f m", "PyTorch"),
        ("as_strided_scatter", "f m", "PyTorch"),
        ("fill", "f", "PyTorch"),
        ("index_fill", "f m _", "PyTorch"),
        ("index_put", "f m _", "PyTorch"),
        ("index_reduce", "f m _", "PyTorch"),
        ("map", "_", "PyTorch"),
        ("map2", "_", "PyTorch"),
        ("masked_scatter", "f m _", "PyTorch"),
        ("nonzero_static", "f m", "PyTorch"),
        ("put", "f m _", "NumPy, PyTorch"),
        ("select", "f m", "NumPy, PyTorch"),
        ("select_scatter", "f m", "PyTorch"),
        ("slice_scatter", "f m", "PyTorch"),
        ("unravel_index", "f", "NumPy, PyTorch"),
    ),
    "inspection": (
        ("byte", "m", "PyTorch"),
        ("char", "m", "PyTorch"),
        ("cpu", "m", "PyTorch"),
        ("cuda", "m", "PyTorch"),
        ("dim_order", "m", "PyTorch"),
        ("element_size", "m", "PyTorch"),
        ("get_device", "f m", "PyTorch"),
        ("is_conj", "f m", "PyTorch"),
        ("is_contiguous", "m", "PyTorch"),
        ("is_floating_point", "f m", "PyTorch"),
        ("is_neg", "f m", "PyTorch"),
        ("is_nonzero", "f m", "PyTorch"),
        ("is_same_size", "f m", "PyTorch"),
        ("is_signed", "f m", "PyTorch"),
        ("is_tensor", "f", "PyTorch"),
        ("ndimension", "m", "PyTorch"),
        ("nelement", "m", "PyTorch"),
        ("promote_types", "f", "NumPy, PyTorch"),
        ("resolve_conj", "f m", "PyTorch"),
        ("resolve_neg", "f m", "PyTorch"),
        ("stride", "m", "PyTorch"),
        ("type_as", "m", "PyTorch"),
        ("view_as", "m", "PyTorch"),
    ),
    "layers": (
        ("adaptive_max_pool1d", "f", "PyTorch"),
        ("affine_grid_generator", "f", "PyTorch"),
        ("batch_norm", "f", "PyTorch"),
        ("constant_pad_nd", "f", "PyTorch"),
        ("convolution", "f", "PyTorch"),
        ("embedding", "f", "PyTorch"),
        ("embedding_bag", "f", "PyTorch"),
        ("embedding_renorm_", "f", "PyTorch"),
        ("feature_alpha_dropout", "f", "PyTorch"),
        ("feature_dropout", "f", "PyTorch"),
        ("feature_dropout_", "f", "PyTorch"),
        ("grid_sampler", "f", "PyTorch"),
        ("grid_sampler_2d", "f", "PyTorch"),
        ("grid_sampler_3d", "f", "PyTorch"),
        ("gru", "f", "PyTorch"),
        ("gru_cell", "f", "PyTorch"),
        ("instance_norm", "f", "PyTorch"),
        ("lstm", "f", "PyTorch"),
        ("lstm_cell", "f", "PyTorch"),
        ("norm_except_dim", "f", "PyTorch"),
        ("rnn_relu", "f", "PyTorch"),
        ("rnn_relu_cell", "f", "PyTorch"),
        ("rnn_tanh", "f", "PyTorch"),
        ("rnn_tanh_cell", "f", "PyTorch"),
    ),
    "making": (
        ("array", "f", "NumPy"),
        ("as_tensor", "f", "PyTorch"),
        ("bartlett_window", "f", "PyTorch"),
        ("blackman_window", "f", "PyTorch"),
        ("empty_permuted", "f", "PyTorch"),
        ("empty_strided", "f", "PyTorch"),
        ("from_file", "f", "PyTorch"),
        ("frombuffer", "f", "NumPy, PyTorch"),
        ("geomspace", "f", "NumPy"),
        ("hamming_window", "f", "PyTorch"),
        ("hann_window", "f", "PyTorch"),
        ("identity", "f", "NumPy"),
        ("kaiser_window", "f", "PyTorch"),
        ("logspace", "f", "NumPy, PyTorch"),
        ("new_empty", "m", "PyTorch"),
        ("new_empty_strided", "m", "PyTorch"),
        ("new_full", "m", "PyTorch"),
        ("new_ones", "m", "PyTorch"),
        ("new_tensor", "m", "PyTorch"),
        ("new_zeros", "m", "PyTorch"),
        ("scalar_tensor", "f", "PyTorch"),
        ("tensor", "f", "PyTorch"),
    ),
    "manipulation": (
        ("astype", "f", "array API, NumPy"),
        ("broadcast_arrays", "f", "array API, NumPy"),
        ("broadcast_shapes", "f", "array API, NumPy, PyTorch"),
        ("broadcast_to", "f", "array API, NumPy, PyTorch"),
        ("concat concatenate", "f", "array API, NumPy, PyTorch"),
        ("diff", "f m", "array API, NumPy, PyTorch"),
        ("expand_dims", "f", "array API, NumPy"),
        ("flip", "f", "array API, NumPy, PyTorch"),
        ("matmul", "f", "array API, NumPy, PyTorch"),
        ("matrix_transpose", "f", "array API, NumPy"),
        ("moveaxis", "f m", "array API, NumPy, PyTorch"),
        ("permute_dims", "f", "array API, NumPy"),
        ("repeat", "f", "array API, NumPy"),
        ("reshape", "f", "array API, NumPy, PyTorch"),
        ("roll", "f", "array API, NumPy, PyTorch"),
        ("squeeze", "f", "array API, NumPy, PyTorch"),
        ("tile", "f m", "array API, NumPy, PyTorch"),
        ("unstack", "f", "array API, NumPy"),
    ),
    "namespace": (
        ("__array_namespace__", "m", "array API, NumPy"),
        ("__array_namespace_info__", "f", "array API, NumPy"),
        ("to_device", "m", "array API, NumPy"),
    ),
    "packed": (
        ("geqrf", "f m", "PyTorch"),
        ("lu", "f m", "PyTorch"),
        ("lu_solve", "f m", "PyTorch"),
        ("lu_unpack", "f", "PyTorch"),
        ("orgqr", "f m", "PyTorch"),
        ("ormqr", "f m", "PyTorch"),
    ),
    "patterns": (("rearrange", "f m", "svod"),),
    "products": (
        ("addbmm", "f m _", "PyTorch"),
        ("addmm", "f m _", "PyTorch"),
        ("addmv", "f m _", "PyTorch"),
        ("addr", "f m _", "PyTorch"),
        ("baddbmm", "f m _", "PyTorch"),
        ("bmm", "f m", "PyTorch"),
        ("chain_matmul", "f", "PyTorch"),
        ("cross", "f m", "NumPy, PyTorch"),
        ("ger", "f m", "PyTorch"),
        ("grouped_mm", "f", "PyTorch"),
        ("inner", "f m", "NumPy, PyTorch"),
        ("kron", "f m", "NumPy, PyTorch"),
        ("mm", "f m", "PyTorch"),
        ("mv", "f m", "PyTorch"),
        ("tensordot", "f", "array API, NumPy, PyTorch"),
        ("vdot", "f m", "NumPy, PyTorch"),
        ("vecdot", "f", "array API, NumPy"),
    ),
    "random": (
        ("bernoulli", "f m", "PyTorch"),
        ("beta", "f", "NumPy, JAX"),
        ("binomial", "f", "PyTorch"),
        ("categorical", "f", "JAX"),
        ("exponential", "f", "NumPy, JAX"),
        ("gamma", "f", "NumPy, JAX"),
        ("multinomial", "f m", "PyTorch"),
        ("normal", "f", "PyTorch, NumPy, JAX"),
        ("permutation", "f", "NumPy, JAX"),
        ("poisson", "f", "PyTorch, NumPy, JAX"),
        ("rand_like", "f", "PyTorch"),
        ("randint_like", "f", "PyTorch"),
        ("randn_like", "f", "PyTorch"),
        ("randperm", "f", "PyTorch"),
        ("truncated_normal", "f", "JAX"),
        ("uniform", "f", "NumPy, JAX"),
    ),
    "reductions": (
        ("aminmax", "f m", "PyTorch"),
        ("average", "f", "NumPy"),
        ("corrcoef", "f m", "PyTorch"),
        ("cov", "f m", "PyTorch"),
        ("hash_tensor", "f m", "PyTorch"),
        ("mode", "f m", "PyTorch"),
        ("nanmax", "f", "NumPy"),
        ("nanmean", "f m", "NumPy, PyTorch"),
        ("nanmedian", "f m", "NumPy, PyTorch"),
        ("nanmin", "f", "NumPy"),
        ("nanprod", "f", "NumPy"),
        ("nanquantile", "f m", "NumPy, PyTorch"),
        ("nanstd", "f", "NumPy"),
        ("nansum", "f m", "NumPy, PyTorch"),
        ("nanvar", "f", "NumPy"),
        ("norm", "f m", "PyTorch"),
        ("percentile", "f", "NumPy"),
        ("ptp", "f", "NumPy"),
        ("quantile", "f m", "NumPy, PyTorch"),
        ("std_mean", "f", "PyTorch"),
        ("var_mean", "f", "PyTorch"),
    ),
    "searching": (
        ("argsort", "f", "array API, NumPy, PyTorch"),
        ("count_nonzero", "f m", "array API, NumPy, PyTorch"),
        ("nonzero", "f", "array API, NumPy"),
        ("searchsorted", "f", "array API, NumPy, PyTorch"),
        ("sort", "f", "array API, NumPy, PyTorch"),
        ("take", "f", "array API, NumPy, PyTorch"),
        ("take_along_axis", "f", "array API, NumPy"),
    ),
    "sets": (
        ("isin", "f m", "array API, NumPy, PyTorch"),
        ("unique_all", "f", "array API, NumPy"),
        ("unique_counts", "f", "array API, NumPy"),
        ("unique_inverse", "f", "array API, NumPy"),
        ("unique_values", "f", "array API, NumPy"),
    ),
    "special": (
        ("digamma", "f m _", "PyTorch, SciPy, JAX"),
        ("erfc", "f m _", "PyTorch, SciPy, JAX"),
        ("erfinv", "f m _", "PyTorch, SciPy, JAX"),
        ("i0", "f m _", "PyTorch, NumPy, SciPy, JAX"),
        ("lgamma", "f m _", "PyTorch, JAX"),
        ("xlogy", "f m _", "PyTorch, SciPy, JAX"),
    ),
    "spectra": (
        ("istft", "f m", "PyTorch"),
        ("stft", "f m", "PyTorch"),
    ),
    "statistics": (
        ("cumulative_prod", "f", "array API, NumPy"),
        ("cumulative_sum", "f", "array API, NumPy"),
    ),
}


# Methods of the compiled class that the library's have the place of: they keep their names behind an underscore.
REPLACED = ("bincount", "norm", "unique")


# What is elsewhere, by where it is, with one kind for all names of a row: methods of the compiled `Tensor`, which are
# functions of `svod` too, or have a form that assigns, and functions of layers that PyTorch has beside the others.
FORWARDED: dict[str, tuple[tuple[str, str], ...]] = {
    "Tensor": (
        (
            "f",
            "adaptive_avg_pool1d chunk clamp clone cummax cummin cumprod cumsum detach div dot flatten gather "
            "index_add index_copy index_select kthvalue lerp log_softmax masked_fill masked_select median "
            "narrow numel outer permute repeat_interleave scatter scatter_add scatter_reduce softmax split "
            "swapaxes t take_along_dim topk transpose unflatten unsqueeze",
        ),
        (
            "_",
            "absolute arctan atan bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift "
            "bitwise_xor clip cos cumprod cumsum divide eq erf exp2 expm1 ge greater greater_equal gt index_add "
            "index_copy le lerp less less_equal log10 log1p log2 logical_and logical_not logical_or logical_xor "
            "lt masked_fill multiply ne negative not_equal rsqrt scatter scatter_add scatter_reduce sign sin "
            "square subtract tan tril triu trunc",
        ),
        (
            "f",
            "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_ "
            "ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_ "
            "fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_ "
            "negative_ rad2deg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_ trunc_ "
            "xlogy_ zero_",
        ),
    ),
    "nn.functional": (
        (
            "f",
            "alpha_dropout alpha_dropout_ avg_pool1d bilinear binary_cross_entropy_with_logits celu celu_ conv1d "
            "conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss "
            "cosine_similarity ctc_loss dropout dropout_ feature_alpha_dropout_ group_norm hinge_embedding_loss "
            "kl_div layer_norm margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool3d "
            "pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss relu_ rms_norm rrelu rrelu_ selu selu_ "
            "threshold threshold_ triplet_margin_loss",
        ),
        ("f m", "hardshrink prelu"),
    ),
}


class Entry(NamedTuple):
    """Where a name's function is."""

    file: str
    function: str


# Functions of `svod` and methods of `Tensor` by name.
FUNCTIONS: dict[str, Entry] = {}
METHODS: dict[str, Entry] = {}


def _name(kinds: str, names: list[str], entry: Entry) -> None:
    """Has names stand for a function, in the namespaces that its kinds say."""
    if "f" in kinds:
        FUNCTIONS.update(dict.fromkeys(names, entry))
    if "m" in kinds:
        METHODS.update(dict.fromkeys(names, entry))
    if "_" in kinds:
        METHODS.update({f"{name}_": entry for name in names})


for _file, _rows in TABLE.items():
    for _names, _kinds, _ in _rows:
        _name(_kinds, _names.split(), Entry(_file, _names.split()[0]))
for _file, _listed in FORWARDED.items():
    for _kinds, _names in _listed:
        for _one in _names.split():
            _name(_kinds, [_one], Entry(_file, _one))
