"""Names that other libraries' namespaces have and `svod` has not, and what programs write here."""

from __future__ import annotations

__all__ = ["TYPES", "hint"]

# PyTorch's and NumPy's second names of types, which are not in `__all__`: a `from svod import *` replaces no builtin.
TYPES = {
    "cdouble": "complex128",
    "cfloat": "complex64",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}

_HINTS = {
    "autograd": "svod.grad, y.gradient(x) and loss.backward()",
    "backends": "svod.devices() and svod.set_threads(n)",
    "compile": "svod.jit(f)",
    "cuda": "svod.devices(), x.to('CUDA') and svod.synchronize()",
    "distributions": "svod.normal, svod.gamma and svod.categorical draw; densities are a line of operations",
    "func": "svod.grad, svod.vmap, svod.jvp, svod.vjp and svod.jacobian",
    "jacfwd": "svod.jacobian(f)",
    "jacrev": "svod.jacobian(f)",
    "lax": "svod.cond, svod.while_loop, svod.scan, svod.where and svod.stop_gradient",
    "load": "svod.load_safetensors(path)",
    "ndarray": "svod.Tensor",
    "numpy": "svod itself has NumPy's names",
    "profiler": "plan.execute_profiled() and plan.explain()",
    "random": "svod.manual_seed(seed) or svod.Generator(seed), and svod.rand, svod.randn, svod.randint, svod.randperm",
    "save": "svod.save_safetensors(tensors, path)",
    "sparse": "svod.scatter_add and svod.index_add; there are no sparse tensors",
    "testing": "numpy.testing takes tensors",
    "utils": "batches are any iterator of arrays, such as PyTorch's DataLoader; svod.nn.utils clips gradients",
    "vectorize": "svod.vmap(f)",
}


def hint(name: str) -> str:
    """What to write instead, as the end of an error's text."""
    found = _HINTS.get(name)
    return "" if found is None else f": write {found}" if found.startswith(("svod.", "plan.")) else f": {found}"
