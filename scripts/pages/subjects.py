"""By which subject the reference tells of each public function of `svod`."""

from __future__ import annotations

from svod.library._table import TABLE

# Titles of the pages, in their order; files of the library, whose functions a page has; further functions and classes.
SUBJECTS: dict[str, tuple[str, str]] = {
    "Tensors, types and constants": (
        "dtypes inspection namespace",
        "Tensor DType ValuesAndIndices bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8_e4m3fn "
        "float8_e5m2 bfloat16 float16 float32 float64 complex64 complex128 e inf nan newaxis pi numel",
    ),
    "Creation": (
        "creation grids making",
        "arange empty eye full linspace ones zeros from_dlpack from_numpy clone detach",
    ),
    "Arithmetic": (
        "arithmetic ufuncs",
        "abs absolute add ceil clamp div floor floor_divide lerp maximum minimum mul multiply neg negative pow "
        "reciprocal remainder round sign sqrt rsqrt square sub subtract trunc",
    ),
    "Elementwise functions": (
        "elementwise",
        "arctan atan cos erf exp exp2 expm1 log log10 log1p log2 sigmoid sin tan tanh relu silu softplus",
    ),
    "Special functions": ("special gammas", ""),
    "Complex numbers": ("", "angle complex conj imag is_complex polar real view_as_complex view_as_real"),
    "Comparison and logic": (
        "",
        "eq equal ge greater greater_equal gt isfinite isinf isnan le less less_equal logical_and logical_not "
        "logical_or logical_xor lt masked_fill ne not_equal where",
    ),
    "Bits": (
        "bits",
        "bitwise_and bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor",
    ),
    "Reductions": (
        "reductions",
        "all amax amin any argmax argmin logsumexp max mean median min prod std sum var",
    ),
    "Running reductions": ("statistics", "cummax cummin cumprod cumsum"),
    "Statistics and counting": ("counting histograms", ""),
    "Movement": (
        "arrangement copies edits manipulation patterns",
        "cat chunk flatten narrow outer permute repeat_interleave split stack swapaxes t transpose unflatten unsqueeze",
    ),
    "Indexing": (
        "choices indexed",
        "gather index_add index_copy index_select masked_select scatter scatter_add scatter_reduce take_along_dim",
    ),
    "Sorting, searching and sets": ("searching sets", "kthvalue topk"),
    "Products": ("products diagonals polynomials", "dot einsum"),
    "Matrices and spectra": ("factorizations packed spectra", ""),
    "Random numbers": ("random draws", "Generator get_rng_state manual_seed rand randn set_rng_state"),
    "Layers as functions": (
        "layers",
        "adaptive_avg_pool1d alpha_dropout avg_pool1d bilinear binary_cross_entropy_with_logits celu conv1d "
        "conv2d  conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss "
        "cosine_similarity ctc_loss  dropout group_norm hardshrink hinge_embedding_loss kl_div layer_norm "
        "log_softmax margin_ranking_loss  max_pool1d max_pool1d_with_indices max_pool2d max_pool3d "
        "pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss prelu  rms_norm rrelu selu softmax "
        "threshold triplet_margin_loss",
    ),
    "Functions that assign to their operand": (
        "",
        "abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ "
        "atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ "
        "exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ "
        "nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ "
        "square_ tan_ tanh_ trunc_ xlogy_ zero_ alpha_dropout_ celu_ dropout_ feature_alpha_dropout_ relu_ "
        "rrelu_ selu_ threshold_",
    ),
    "Gradients and transformations": (
        "",
        "checkpoint contiguous_backward custom_gradient enable_grad functional_call grad hessian is_grad_enabled "
        "jacobian jvp no_grad set_grad_enabled stop_gradient value_and_grad vjp vmap",
    ),
    "Plans, jit and loops": (
        "",
        "ExecutionPlan Graph HostFunction Jitted Kernel PlanInput PrepareConfig Profile Schedule Size Timing Variable "
        "cond contiguous custom iterate jit prepare realize scan while_loop",
    ),
    "Files": ("", "Weights load_safetensors save_safetensors"),
    "Settings and the machine": (
        "",
        "caches clear_caches compile_times detect_nan devices get_default_device get_threads measure_machine memory "
        "set_default_device set_threads strict synchronize target",
    ),
    "Errors": (
        "",
        "ArgumentError ArgumentTypeError AxisError CompileError DTypeError DeviceError Error ExecutionError FileError "
        "FormatError IndexError MissingTensorError OutOfMemoryError OverflowError ScheduleError ShapeError StaleError "
        "TraceError UnsupportedError",
    ),
}


def names() -> dict[str, list[str]]:
    """The public names of `svod` that each subject has, in alphabetical order."""
    by_file = {
        file: [name for names, forms, _ in rows if "f" in forms.split() for name in names.split()]
        for file, rows in TABLE.items()
    }
    return {
        title: sorted([name for file in files.split() for name in by_file[file]] + others.split(), key=str.lower)
        for title, (files, others) in SUBJECTS.items()
    }
