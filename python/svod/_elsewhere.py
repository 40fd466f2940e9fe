"""Names that other libraries' namespaces have and svod's have not, and what programs write here."""

from __future__ import annotations

from types import ModuleType

__all__ = ["TYPES", "missing"]

# PyTorch's and NumPy's second names of types, which are not in `__all__`: a `from svod import *` replaces no builtin.
TYPES = {
    "bool_": "bool",
    "cdouble": "complex128",
    "cfloat": "complex64",
    "csingle": "complex64",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "int_": "int64",
    "long": "int64",
    "short": "int16",
    "single": "float32",
    "uint": "uint64",
}

_HINTS = {
    "svod": {
        "array_repr": "repr(x)",
        "array_str": "str(x)",
        "asanyarray ascontiguousarray": "svod.asarray(a)",
        "amp autocast GradScaler": "types are those of operands, as x.cast('bfloat16') says",
        "autograd": "svod.grad, y.gradient(x) and loss.backward()",
        "backends": "svod.devices() and svod.set_threads(n)",
        "compile": "svod.jit(f)",
        "copyto place putmask": "x[mask] = values, or svod.where(mask, values, x)",
        "cuda": "svod.devices(), x.to('CUDA') and svod.synchronize()",
        "device": "a device is its name, as in x.to('CPU'); svod.devices() lists them",
        "distributions": "svod.normal, svod.gamma and svod.categorical draw; densities are a line of operations",
        "errstate seterr": "svod.detect_nan(), which finds what is not a number",
        "functional_call stack_module_state": "modules are arguments of svod.grad, svod.vmap and svod.jit as they are",
        "FloatTensor": "svod.tensor(data, dtype=svod.float32)",
        "func": "svod.grad, svod.vmap, svod.jvp, svod.vjp and svod.jacobian",
        "get_num_threads": "svod.get_threads()",
        "inference_mode": "svod.no_grad()",
        "iscomplexobj": "svod.is_complex(x)",
        "issubdtype": "svod.isdtype(x.dtype, 'integral')",
        "jacfwd jacrev": "svod.jacobian(f)",
        "lax": "svod.cond, svod.while_loop, svod.scan, svod.where and svod.stop_gradient",
        "load": "svod.load_safetensors(path)",
        "loadtxt genfromtxt": "svod.asarray(numpy.loadtxt(path))",
        "LongTensor": "svod.tensor(data, dtype=svod.int64)",
        "lstsq": "svod.linalg.lstsq(a, b)",
        "ma": "masked elements are svod.where(mask, x, svod.nan), and svod.nanmean and its like pass over them",
        "matrix_rank": "svod.linalg.matrix_rank(a)",
        "ndarray": "svod.Tensor",
        "ndim": "x.ndim",
        "numpy": "svod itself has NumPy's names",
        "profiler": "plan.execute_profiled() and plan.explain()",
        "random": "svod.manual_seed(seed) or svod.Generator(seed), and svod.rand, svod.randn, svod.randint, ...",
        "range": "svod.arange(start, end)",
        "save savez": "svod.save_safetensors(tensors, path)",
        "seed": "svod.manual_seed(seed)",
        "set_default_dtype": "floats are float32 where no dtype is given",
        "set_num_threads": "svod.set_threads(n)",
        "set_printoptions printoptions": "numpy.set_printoptions, which tensors are printed by",
        "shape": "x.shape",
        "size": "x.numel(), or x.shape[axis]",
        "solve": "svod.linalg.solve(a, b)",
        "sparse": "svod.scatter_add and svod.index_add; there are no sparse tensors",
        "testing": "numpy.testing takes tensors",
        "use_deterministic_algorithms": "results are the same in each run, on any number of threads",
        "utils": "batches are any iterator of arrays, such as PyTorch's DataLoader; svod.nn.utils clips gradients",
        "vectorize": "svod.vmap(f)",
    },
    "svod.nn": {
        "Buffer": "self.register_buffer(name, tensor)",
        "DataParallel DistributedDataParallel": "x.shard(devices, axis) of what a model is called with",
        "ParameterDict ParameterList": "a list or dict of tensors that is an attribute of a module holds parameters",
        "UpsamplingBilinear2d": "svod.nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)",
        "UpsamplingNearest2d": "svod.nn.Upsample(scale_factor=2)",
    },
}

# How hints begin that are to be written; others are sentences.
_CODE = ("svod.", "plan.", "self.", "x.", "x[", "repr(", "str(", "numpy.set")


def missing(module: ModuleType, name: str) -> AttributeError:
    """The error of a name that a module has not, with what to write instead, if another library has it."""
    space = module.__name__
    found = next((hint for names, hint in _HINTS[space].items() if name in names.split()), None)
    told = "" if found is None else f": write {found}" if found.startswith(_CODE) else f": {found}"
    return AttributeError(f"module '{space}' has no attribute '{name}'{told}", name=name, obj=module)
