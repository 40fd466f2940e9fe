"""Which public names programs use, and why the others are not among them."""

from __future__ import annotations

import re

import svod
from fuzz.operations import OPERATIONS
from svod.library._table import FORWARDED, FUNCTIONS, TABLE

_NAME = re.compile(r"(svod|F|\{\w+\}|\)|\])\.([A-Za-z_]\w*)")
_SPACES = {"svod": "svod.", "F": "F."}
# Python's signs, which stand for methods.
_SIGNS = {
    "__add__": r"\} \+ ", "__radd__": r"c\} \+ \{0", "__sub__": r"\} - ", "__rsub__": r"c\} - \{0",
    "__mul__": r"\} \* ", "__rmul__": r"c\} \* \{0", "__truediv__": r"\} / ",
    "__rtruediv__": r"c\} / \{0", "__floordiv__": r"\} // ",
    "__mod__": r"\} % ", "__pow__": r"\} \*\* ", "__matmul__": r"\} @ ", "__and__": r"\} & ", "__or__": r"\} \| ",
    "__xor__": r"\} \^ ", "__lshift__": r"\} << ", "__rshift__": r"\} >> ", "__invert__": r"~\{", "__neg__": r"^-\{",
    "__pos__": r"^\+\{", "__abs__": r"^abs\(", "__eq__": r"\} == ", "__ne__": r"\} != ", "__lt__": r"\} < ",
    "__le__": r"\} <= ", "__gt__": r"\} > ", "__ge__": r"\} >= ", "__getitem__": r"\{0\}\[", "__setitem__": r"\{r\}\[",
}  # fmt: skip

# Names that no row of the tables has, by the reason.
WITHOUT: dict[str, str] = {}


def _without(reason: str, names: str) -> None:
    WITHOUT.update(dict.fromkeys(names.split(), reason))


_without(
    "the ways in which programs are run (`fuzz.modes`)",
    "svod.Tensor svod.Variable svod.grad svod.jit svod.prepare svod.realize Tensor.numpy Tensor.shape Tensor.dtype "
    "Tensor.to Tensor.shard",
)
_without(
    "classes, which programs see as results",
    "svod.DType svod.ExecutionPlan svod.Graph svod.HostFunction svod.Jitted svod.Kernel svod.PlanInput "
    "svod.PrepareConfig svod.Profile svod.Schedule svod.Size svod.Timing svod.ValuesAndIndices svod.Weights",
)
_without(
    "settings and counters of the process",
    "svod.caches svod.clear_caches svod.compile_times svod.get_default_device svod.get_threads svod.set_threads "
    "svod.memory svod.strict svod.detect_nan svod.target svod.measure_machine",
)
_without(
    "complex numbers, which programs of the fuzzer have not (test_complex.py)",
    "svod.complex svod.polar svod.real svod.imag svod.conj svod.angle svod.is_complex svod.view_as_real "
    "svod.view_as_complex Tensor.real Tensor.imag Tensor.conj Tensor.angle Tensor.is_complex Tensor.cfloat "
    "Tensor.cdouble",
)
_without("devices (test_cuda.py)", "svod.devices svod.set_default_device svod.synchronize")
_without("files (test_files.py; the parser is fuzzed in Rust)", "svod.load_safetensors svod.save_safetensors")
_without("a mark for gradients (test_grad.py)", "svod.contiguous_backward Tensor.contiguous_backward")
_without(
    "random numbers, which have no oracle (test_jit_random.py, crates/tensor/tests/random.rs)",
    "Tensor.cauchy_ Tensor.exponential_ Tensor.geometric_ Tensor.log_normal_ Tensor.normal_ Tensor.random_ "
    "Tensor.uniform_ F.gumbel_softmax F.rrelu "
    "svod.rand svod.randint svod.randn svod.manual_seed svod.get_rng_state svod.set_rng_state svod.empty",
)
_without(
    "state of gradients (test_grad_api.py)",
    "svod.enable_grad svod.no_grad svod.is_grad_enabled svod.set_grad_enabled Tensor.requires_grad "
    "Tensor.requires_grad_ Tensor.grad Tensor.is_leaf Tensor.retain_grad Tensor.backward Tensor.gradient "
    "Tensor.register_hook Tensor.register_post_accumulate_grad_hook",
)
_without(
    "derivatives of functions given by callers, made of what `svod.grad` is (test_grad_api.py)",
    "svod.checkpoint svod.custom_gradient svod.value_and_grad svod.hessian svod.jacobian svod.jvp svod.vjp "
    "svod.functional_call",
)
_without("a function of one example, given by callers (test_vmap.py)", "svod.vmap")
_without(
    "of matrices that have a factorization, and spectra; compared by their own tests (test_torch_matrices.py)",
    "svod.cholesky svod.cholesky_inverse svod.cholesky_solve svod.det svod.inverse svod.logdet svod.matrix_exp "
    "svod.matrix_power svod.pinverse svod.qr svod.slogdet svod.svd svod.stft svod.istft "
    "Tensor.cholesky Tensor.cholesky_inverse Tensor.cholesky_solve Tensor.det Tensor.inverse Tensor.logdet "
    "Tensor.matrix_exp Tensor.matrix_power Tensor.pinverse Tensor.qr Tensor.slogdet Tensor.svd Tensor.stft "
    "Tensor.istft",
)
_without(
    "dropout is random (test_nn_layers.py)",
    "F.dropout F.dropout1d F.dropout2d F.dropout3d F.alpha_dropout",
)
_without(
    "to be given rows; compared with PyTorch by their own tests (test_nn_layers.py)",
    "F.adaptive_max_pool1d F.adaptive_max_pool2d F.adaptive_max_pool3d F.bilinear F.embedding_bag F.interpolate "
    "F.affine_grid F.fold F.grid_sample F.local_response_norm F.lp_pool1d F.lp_pool2d F.lp_pool3d "
    "F.max_pool1d_with_indices F.max_pool2d_with_indices F.max_pool3d_with_indices F.max_unpool1d F.max_unpool2d "
    "F.max_unpool3d F.multi_margin_loss F.multilabel_margin_loss F.one_hot F.triplet_margin_with_distance_loss "
    "F.pad F.pixel_shuffle F.pixel_unshuffle F.ctc_loss",
)
_without(
    "the signs of zeros and NaN, which programs leave open (test_standard_elementwise.py)",
    "svod.signbit Tensor.signbit svod.copysign Tensor.copysign Tensor.copysign_",
)
_without(
    "numbers next to others, of which any rounding makes others (test_standard_elementwise.py)",
    "svod.nextafter Tensor.nextafter Tensor.nextafter_",
)
_without(
    "special functions, for which NumPy has no oracle (test_special.py)",
    "svod.digamma svod.erfc svod.erfinv svod.i0 svod.lgamma svod.xlogy Tensor.digamma Tensor.erfc Tensor.erfinv "
    "Tensor.i0 Tensor.lgamma Tensor.xlogy Tensor.digamma_ "
    "Tensor.erfc_ Tensor.erfinv_ Tensor.i0_ Tensor.lgamma_ Tensor.xlogy_",
)
_without(
    "random numbers, by their distributions (test_random.py)",
    "svod.initial_seed "
    "svod.Generator svod.bernoulli svod.beta svod.categorical svod.exponential svod.gamma svod.multinomial svod.normal "
    "svod.permutation svod.poisson svod.rand_like svod.randint_like svod.randn_like svod.randperm "
    "svod.truncated_normal svod.uniform Tensor.bernoulli Tensor.multinomial",
)
_without(
    "what types and the namespace are; results whose number depends on values; shapes (test_standard_functions.py)",
    "svod.can_cast svod.finfo svod.iinfo svod.isdtype svod.result_type svod.__array_namespace_info__ Tensor.to_device "
    "svod.empty_like svod.broadcast_shapes svod.unstack svod.isin Tensor.isin svod.unique_all svod.unique_counts "
    "svod.unique_inverse",
)
_without(
    "rarer functions and packed factors, compared with PyTorch and SciPy (test_torch_layers.py, test_special.py)",
    "svod.igamma svod.igammac svod.polygamma svod.geqrf svod.lu svod.lu_solve svod.lu_unpack svod.orgqr svod.ormqr "
    "svod.frobenius_norm svod.nuclear_norm svod.lobpcg svod.pca_lowrank svod.svd_lowrank svod.triangular_solve "
    "svod.binomial Tensor.bernoulli_ svod.from_file svod.frombuffer svod.embedding_renorm_ svod.feature_dropout "
    "svod.feature_dropout_ svod.feature_alpha_dropout F.feature_alpha_dropout F.alpha_dropout_ F.dropout_ "
    "F.feature_alpha_dropout_ F.rrelu_ F.fractional_max_pool2d F.fractional_max_pool2d_with_indices "
    "F.fractional_max_pool3d F.fractional_max_pool3d_with_indices F.adaptive_max_pool1d_with_indices "
    "F.adaptive_max_pool2d_with_indices F.adaptive_max_pool3d_with_indices F.multi_head_attention_forward "
    "F.linear_cross_entropy F.conv_tbc F.grouped_mm F.pdist F.channel_shuffle F.upsample F.upsample_bilinear "
    "Tensor.geqrf Tensor.lu Tensor.lu_solve Tensor.orgqr Tensor.ormqr Tensor.triangular_solve Tensor.igamma "
    "Tensor.igamma_ Tensor.igammac Tensor.igammac_ Tensor.polygamma Tensor.polygamma_ "
    "F.upsample_nearest F.celu_ F.elu_ F.hardtanh_ F.leaky_relu_ F.relu_ F.selu_ F.threshold_ Tensor.H Tensor.mH "
    "Tensor.itemsize",
)
_without(
    "NumPy's names, compared with NumPy (test_numpy_names.py)",
    "svod.append svod.apply_along_axis svod.argpartition svod.around svod.bartlett svod.blackman svod.cbrt "
    "svod.conjugate svod.copy svod.degrees svod.delete svod.fabs svod.flatnonzero svod.fromfunction "
    "svod.hamming svod.hanning svod.histogram2d svod.histogram_bin_edges svod.indices svod.insert svod.intersect1d "
    "svod.invert svod.ix_ "
    "svod.kaiser svod.left_shift svod.lexsort svod.mod svod.nanargmax svod.nanargmin svod.nancumprod "
    "svod.nancumsum svod.nanpercentile svod.pad svod.partition svod.piecewise svod.polyadd svod.polyder "
    "svod.polyfit svod.polyint svod.polymul svod.polysub svod.polyval svod.power svod.radians svod.right_shift "
    "svod.rint svod.roots svod.setdiff1d svod.setxor1d svod.tri svod.union1d svod.unwrap Tensor.copy "
    "Tensor.conjugate",
)
_without(
    "NumPy's rarer names, compared with NumPy (test_numpy_rarer.py)",
    "svod.bitwise_count svod.choose svod.compress svod.divmod svod.ediff1d svod.extract svod.modf svod.packbits "
    "svod.poly svod.polydiv svod.resize svod.spacing svod.trim_zeros svod.unpackbits",
)
_without(
    "layers by the names that PyTorch's namespace has, which are those of `F` (test_torch_layers.py)",
    " ".join(f"svod.{names}" for names, _, _ in TABLE["layers"]),
)
_without(
    "functions that are methods which assign (test_torch_names.py)",
    " ".join(f"svod.{name}" for name in FUNCTIONS if name.endswith("_") and not name.startswith("_")),
)
_without("functions of the host and loops (test_steps.py)", "svod.custom svod.iterate")
_without("control flow (test_control.py)", "svod.cond svod.scan svod.while_loop")
_without(
    "what a tensor is, not what it holds (test_tensor.py, test_sharding.py)",
    "Tensor.dim Tensor.ndim Tensor.size Tensor.numel Tensor.nbytes Tensor.device Tensor.shard_axis Tensor.shards "
    "Tensor.is_realized Tensor.graph Tensor.prepare",
)
# PyTorch's and NumPy's names, all results of which tables compare with theirs (test_torch_names.py,
# test_torch_counting.py, test_rearrange.py).
_COMPARED = (
    "arithmetic",
    "arrangement",
    "copies",
    "counting",
    "diagonals",
    "histograms",
    "indexed",
    "inspection",
    "making",
    "patterns",
    "products",
    "reductions",
)


def used() -> set[str]:
    """The public names and methods of Python's signs that rows of the tables spell."""
    names = set()
    for spelling in (spelling for operation in OPERATIONS for spelling in operation.svod):
        names |= {_SPACES.get(space, "Tensor.") + name for space, name in _NAME.findall(spelling)}
        names |= {f"Tensor.{method}" for method, sign in _SIGNS.items() if re.search(sign, spelling)}
    # A function of the library is one object under all of its names, and methods that assign call it.
    for listed in (names_of(row) for rows in TABLE.values() for row in rows):
        if names & listed:
            names |= listed
    for file in _COMPARED:
        names |= set().union(*map(names_of, TABLE[file]))
    # What is forwarded is what is in rows by its other name.
    for place, rows in FORWARDED.items():
        for kinds, listed in rows:
            space = "F" if place == "nn.functional" else place
            names |= {
                name
                for function in listed.split()
                if f"{space}.{function}" in names | WITHOUT.keys()
                for name in names_of((function, kinds, ""))
            }
    return names


def names_of(row: tuple[str, str, str]) -> set[str]:
    """The names that a row of the library's table gives."""
    names, kinds, _ = row
    forms = {"f": "svod.{}", "m": "Tensor.{}", "_": "Tensor.{}_"}
    plain = [name for name in names.split() if not name.startswith("__")]
    return {forms[kind].format(name) for kind in kinds.split() for name in plain}


def public() -> set[str]:
    """All names that a user may call on tensors."""
    names = set()
    for name in svod.__all__:
        found = getattr(svod, name)
        is_error = isinstance(found, type) and issubclass(found, BaseException)
        if callable(found) and not is_error and not isinstance(found, svod.DType):
            names.add(f"svod.{name}")
    names |= {f"Tensor.{name}" for name in dir(svod.Tensor) if not name.startswith("_")}
    names |= {f"Tensor.{name}" for name in _SIGNS}
    functional = svod.nn.functional
    names |= {
        f"F.{name}"
        for name, found in vars(functional).items()
        if callable(found)
        and str(getattr(found, "__module__", "")).startswith(functional.__name__)
        and not name.startswith("_")
    }
    return names
