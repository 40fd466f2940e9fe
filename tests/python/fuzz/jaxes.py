"""Gradients against JAX's: NumPy's spelling of a program is run by `jax.numpy`, and differentiated by JAX."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from fuzz import reference
from fuzz.numbers import Array, storage
from fuzz.program import Program
from fuzz.slopes import weights

# Relative noise on the inputs, which tells how well a gradient is determined.
NOISE = 1e-13


def is_here() -> bool:
    return importlib.util.find_spec("jax") is not None


class Refused(Exception):
    """JAX cannot run a program."""


@functools.cache
def space() -> dict[str, Any]:
    """What programs are run with: `np` and the reference are JAX's."""
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    import jax.numpy as jnp

    # What NumPy refused is out of programs: these questions have no answer while JAX traces.
    asked = types.SimpleNamespace(**{**vars(jnp), "any": lambda x: False, "all": lambda x: True})
    functions = types.ModuleType("fuzz.reference_of_jax")
    source = inspect.getsource(reference).replace("import numpy as np\n", "")
    functions.__dict__["np"] = asked
    exec(compile(source, reference.__file__, "exec"), functions.__dict__)
    functions.__dict__.update(_own(jax, jnp))
    return {"np": jnp, "R": functions, "storage": storage, "jax": jax}


def derivative(program: Program, which: int) -> Callable[..., Any]:
    """The value and the gradients of a program, compiled by JAX, over its inputs of floats; others are constants."""
    own, jax = dict(space()), space()["jax"]
    # Arrays of JAX are not written to.
    text = re.sub(r"(v\d+) = (v\d+)\.copy\(\); \1\[(.+)\] = (.+)", r"\1 = \2.at[\3].set(\4)", program.text(svod=False))
    exec(compile(text, "<program of jax>", "exec"), own)

    def loss(floats: list[Any]) -> Any:
        left = iter(floats)
        arrays = [next(left) if dtype == "float64" else contents[which] for dtype, contents in program.inputs.values()]
        (output,) = own["program"](*arrays)
        return own["np"].sum(output * weights(output.shape))

    compiled: Callable[..., Any] = jax.jit(jax.value_and_grad(loss))
    return compiled


def _own(jax: Any, jnp: Any) -> dict[str, Callable[..., Any]]:
    """Functions whose reference goes element by element, writes into arrays, or is of the standard library."""

    def windows(x: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
        first = x.ndim - len(kernel)
        for axis, (k, s, d) in enumerate(zip(kernel, stride, dilation), first):
            places = max((x.shape[axis] - (k - 1) * d - 1) // s + 1, 0)
            at = np.arange(places)[:, None] * s + np.arange(k) * d
            x = jnp.moveaxis(jnp.take(x, at, axis), axis + 1, -1)
        return x

    def unfold(x: Any, axis: int, size: int, step: int) -> Any:
        at = axis % x.ndim
        moved = windows(jnp.moveaxis(x, at, -1), [size], [step], [1])
        return jnp.moveaxis(moved, -2, at)

    def conv_transpose(x: Any, w: Any, b: Any, stride: Any, padding: Any, more: Any, groups: int, dilation: Any) -> Any:
        kernel, spatial = w.shape[2:], x.shape[2:]
        extents = zip(spatial, stride, dilation, kernel, more)
        sizes = [(e - 1) * s + d * (k - 1) + 1 + o for e, s, d, k, o in extents]
        parts = x.reshape(x.shape[0], groups, -1, *spatial)
        by = w.reshape(groups, -1, *w.shape[1:])
        full = jnp.zeros((x.shape[0], groups, w.shape[1], *sizes))
        for k in np.ndindex(*kernel):
            places = [slice(i * d, i * d + (e - 1) * s + 1, s) for i, d, e, s in zip(k, dilation, spatial, stride)]
            full = full.at[(..., *places)].add(jnp.einsum("ngi...,gio->ngo...", parts, by[(..., *k)]))
        cut = tuple(slice(p, size - p) for p, size in zip(padding, sizes))
        result = full.reshape(x.shape[0], groups * w.shape[1], *sizes)[(..., *cut)]
        return result + b.reshape(-1, *(1,) * (x.ndim - 2))

    def scattered(x: Any, index: Any, source: Any, axis: int, function: Any = None) -> Any:
        places = list(jnp.indices(index.shape))
        places[axis] = jnp.asarray(index)
        if function is None:
            # The last of several at one place stays.
            order = jnp.arange(index.size).reshape(index.shape)
            last = jnp.full(x.shape, -1).at[tuple(places)].max(order)
            own = last[tuple(places)] == order
            new = jnp.zeros_like(x).at[tuple(places)].add(jnp.where(own, source, 0))
            return jnp.where(last >= 0, new, x)
        name = {"maximum": "max", "minimum": "min"}.get(function.__name__, function.__name__)
        return getattr(x.at[tuple(places)], name)(source)

    def median(x: Any, axis: int, keepdims: bool) -> Any:
        found = jnp.take(jnp.sort(x, axis), np.array([(x.shape[axis] - 1) // 2]), axis)
        return found if keepdims else jnp.squeeze(found, axis)

    return {
        "median": median,
        "erf": jax.scipy.special.erf,
        "scattered": scattered,
        "_windows": windows,
        "unfold": unfold,
        "split": lambda x, size, axis: jnp.split(x, list(range(size, x.shape[axis], size)), axis),
        "conv_transpose": conv_transpose,
    }


def gradients(program: Program, which: int) -> tuple[list[Array], list[Array]] | None:
    """JAX's, by each input of floats; and those of inputs with some noise. None where the value is no number."""
    rng = np.random.default_rng(program.salt)
    inputs = [np.asarray(contents[which]) for dtype, contents in program.inputs.values() if dtype == "float64"]
    near = [x * (1 + NOISE * rng.uniform(-1, 1, x.shape)) for x in inputs]
    try:
        compiled = derivative(program, which)
        value, found = compiled(inputs)
        _, moved = compiled(near)
    except Exception as error:
        raise Refused(f"{type(error).__name__}: {error}") from error
    return ([np.asarray(g) for g in found], [np.asarray(g) for g in moved]) if np.isfinite(value) else None


def wrong_gradient(program: Program, which: int, found: list[Array]) -> str | None:
    """How gradients differ from JAX's, for one set of contents; None where they agree.

    Where the value or JAX's is no number, or another one for inputs that are nearly the same, nothing is said.
    """
    known = gradients(program, which)
    if known is None:
        return None
    wanted, near = known
    all_finite = [np.abs(g[np.isfinite(g)]).max(initial=0.0) for g in wanted]
    # What cancels leaves a rounding error.
    size = max(1.0, *all_finite) if all_finite else 1.0
    for k, (own, other, moved) in enumerate(zip(found, wanted, near)):
        if own.shape != other.shape:
            return f"gradient {k} of shape {own.shape}, JAX's is {other.shape}"
        with np.errstate(all="ignore"):
            spread = np.abs(other - moved)
            allowed = 100 * spread + 1e-9 * np.abs(other) + 1e-12 * size
            wrong = np.isfinite(other) & np.isfinite(moved) & ~(np.abs(own - other) <= allowed)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            told = f"{int(wrong.sum())} of {wrong.size} elements differ; at {at} {own[at]!r}, JAX has {other[at]!r}"
            return f"gradient {k}: {told}"
    return None
