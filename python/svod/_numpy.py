"""Functions of NumPy that are given a tensor.

`np.exp(t)`, `np.add(a, t)`, `np.add.reduce(t)` and `np.sum(t, axis=0)` are svod's functions, and their results
tensors: see the tables. A function, or an argument such as `order=`, that is not in them is NumPy's own, of the values,
which are computed for it, and the arrays that it gives become tensors. What would write to a tensor (`out=`,
`np.add.at`) raises a TypeError, for a tensor is a value.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import svod
from svod._svod import ArgumentTypeError, Tensor

# NumPy's elementwise functions by name, and svod's of the same operands.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **{
        name: getattr(svod, name)
        for name in (
            *("absolute", "add", "ceil", "cos", "divide", "equal", "exp", "exp2", "floor", "floor_divide", "greater"),
            *("greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log2", "logical_and"),
            *("logical_not", "logical_or", "logical_xor", "matmul", "maximum", "minimum", "multiply", "negative"),
            *("not_equal", "reciprocal", "remainder", "sign", "sin", "sqrt", "square", "subtract", "tan", "tanh"),
            *(
                "bitwise_and",
                "bitwise_or",
                "bitwise_xor",
                "trunc",
                "arctan",
                "expm1",
                "log10",
                "log1p",
                "copysign",
                "cosh",
            ),
            *(
                "arccos",
                "arccosh",
                "arcsin",
                "arcsinh",
                "arctan2",
                "arctanh",
                "hypot",
                "logaddexp",
                "nextafter",
                "positive",
            ),
            *("signbit", "sinh", "vecdot", "bitwise_count", "divmod", "matvec", "modf", "spacing", "vecmat"),
        )
    },
    "invert": svod.bitwise_invert,
    "left_shift": svod.bitwise_left_shift,
    "right_shift": svod.bitwise_right_shift,
    "power": svod.pow,
    "rint": svod.round,
}


def _transpose(a: Tensor, axes: Any = None) -> Tensor:
    return a.permute(*(range(a.ndim)[::-1] if axes is None else axes))


def _deviation(ours: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A deviation or variance whose divisor is NumPy's by default, the number of elements."""
    return lambda a, *, correction=0, **options: ours(a, correction=correction, **options)


# NumPy's other functions by name: svod's, and the parameters that it takes, in NumPy's order, those before the stroke
# by position. One in brackets is not svod's; `theirs=ours` has another name here; of one with a `?` None is a value.
FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "all": (svod.all, "a / axis [out] keepdims where"),
    "amax": (svod.max, "a / axis [out] keepdims initial where"),
    "amin": (svod.min, "a / axis [out] keepdims initial where"),
    "any": (svod.any, "a / axis [out] keepdims where"),
    "argmax": (svod.argmax, "a / axis [out] keepdims"),
    "argmin": (svod.argmin, "a / axis [out] keepdims"),
    "argsort": (svod.argsort, "a / axis? [kind] [order] stable"),
    "broadcast_to": (svod.broadcast_to, "array shape /"),
    "choose": (svod.choose, "a choices / [out] mode"),
    "clip": (svod.clip, "a / a_min=min a_max=max [out] min max"),
    "compress": (svod.compress, "condition a / axis [out]"),
    "concatenate": (svod.concat, "arrays / axis? [out]"),
    "count_nonzero": (svod.count_nonzero, "a / axis keepdims"),
    "cumulative_prod": (svod.cumulative_prod, "x / axis dtype"),
    "cumulative_sum": (svod.cumulative_sum, "x / axis dtype"),
    "diff": (svod.diff, "a / n axis prepend append"),
    "ediff1d": (svod.ediff1d, "ary / to_end to_begin"),
    "expand_dims": (svod.expand_dims, "a / axis"),
    "extract": (svod.extract, "condition arr /"),
    "flip": (svod.flip, "m / axis"),
    "full_like": (svod.full_like, "a fill_value / dtype"),
    "isin": (svod.isin, "element test_elements / [assume_unique] invert"),
    "matrix_transpose": (svod.matrix_transpose, "x /"),
    "max": (svod.max, "a / axis [out] keepdims initial where"),
    "mean": (svod.mean, "a / axis dtype [out] keepdims where"),
    "min": (svod.min, "a / axis [out] keepdims initial where"),
    "moveaxis": (svod.moveaxis, "a source destination /"),
    "nonzero": (svod.nonzero, "a /"),
    "nanmax": (svod.nanmax, "a / axis [out] keepdims initial where"),
    "nanmean": (svod.nanmean, "a / axis [dtype] [out] keepdims where"),
    "nanmin": (svod.nanmin, "a / axis [out] keepdims initial where"),
    "nanprod": (svod.nanprod, "a / axis [dtype] [out] keepdims initial where"),
    "nanstd": (svod.nanstd, "a / axis [dtype] [out] ddof=correction keepdims where [mean] correction"),
    "nansum": (svod.nansum, "a / axis dtype [out] keepdims initial where"),
    "nanvar": (svod.nanvar, "a / axis [dtype] [out] ddof=correction keepdims where [mean] correction"),
    "ones_like": (svod.ones_like, "a / dtype"),
    "packbits": (svod.packbits, "a / axis bitorder"),
    "prod": (svod.prod, "a / axis dtype [out] keepdims initial where"),
    "repeat": (svod.repeat, "a repeats / axis"),
    "reshape": (Tensor.reshape, "a shape /"),
    "resize": (svod.resize, "a new_shape /"),
    "roll": (svod.roll, "a shift / axis"),
    "searchsorted": (svod.searchsorted, "a v / side sorter"),
    "sort": (svod.sort, "a / axis? [kind] [order] stable"),
    "squeeze": (svod.squeeze, "a / axis"),
    "stack": (svod.stack, "arrays / axis [out]"),
    "std": (_deviation(svod.std), "a / axis [dtype] [out] ddof=correction keepdims where [mean] correction"),
    "sum": (svod.sum, "a / axis dtype [out] keepdims initial where"),
    "take": (svod.take, "a indices / axis [out]"),
    "take_along_axis": (svod.take_along_axis, "arr indices / axis?"),
    "tensordot": (svod.tensordot, "a b / axes"),
    "tile": (svod.tile, "A reps /"),
    "transpose": (_transpose, "a / axes"),
    "tril": (svod.tril, "m / k"),
    "triu": (svod.triu, "m / k"),
    "unpackbits": (svod.unpackbits, "a / axis count bitorder"),
    "var": (_deviation(svod.var), "a / axis [dtype] [out] ddof=correction keepdims where [mean] correction"),
    "where": (svod.where, "condition x y /"),
    "zeros_like": (svod.zeros_like, "a / dtype"),
}

# Methods of NumPy's elementwise functions, by function and method: svod's, and the parameters that it takes.
METHODS: dict[tuple[str, str], tuple[Callable[..., Any], str]] = {
    ("add", "accumulate"): (svod.cumulative_sum, "array / axis dtype [out]"),
    ("add", "reduce"): (svod.sum, "array / axis? dtype [out] keepdims initial where"),
    ("logical_and", "reduce"): (svod.all, "array / axis? [dtype] [out] keepdims [initial] where"),
    ("logical_or", "reduce"): (svod.any, "array / axis? [dtype] [out] keepdims [initial] where"),
    ("maximum", "accumulate"): (svod.cummax, "array / axis [dtype] [out]"),
    ("maximum", "reduce"): (svod.amax, "array / axis? [dtype] [out] keepdims initial where"),
    ("minimum", "accumulate"): (svod.cummin, "array / axis [dtype] [out]"),
    ("minimum", "reduce"): (svod.amin, "array / axis? [dtype] [out] keepdims initial where"),
    ("multiply", "accumulate"): (svod.cumulative_prod, "array / axis dtype [out]"),
    ("multiply", "reduce"): (svod.prod, "array / axis? dtype [out] keepdims initial where"),
}


def elementwise(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What `np.exp(t)` and its like are, and methods of these functions such as `np.add.reduce`."""
    out = options.get("out", ())
    if method == "at" or any(isinstance(one, Tensor) for one in out):
        name = f"{ufunc.__name__}.at" if method == "at" else f"{ufunc.__name__}(out=...)"
        raise ArgumentTypeError(f"np.{name}: a tensor is a value, which NumPy does not write: assign the result")
    ours = ELEMENTWISE.get(ufunc.__name__)
    if ours is not None and method == "__call__" and not options:
        return ours(*inputs)
    if (row := METHODS.get((ufunc.__name__, method))) is not None:
        # NumPy folds along the first axis by default.
        given = _given(row[1], inputs, {"axis": 0, **options})
        if given is not None:
            return row[0](*given[0], **given[1])
    if "where" in options and "out" not in options and method == "__call__":
        # NumPy's own warning would be of this line; a named `out` says that it is not to be given.
        message = f"np.{ufunc.__name__}(where=...): without out=, elements where it is false are arbitrary"
        warnings.warn(message, UserWarning, stacklevel=2)
        options = {**options, "out": None}
    theirs = getattr(ufunc, method)(*_arrays(inputs), **_arrays(options))
    return theirs if out else _tensors(theirs, _device((inputs, options)))


def function(theirs: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What `np.sum(t)` and its like are."""
    if isinstance(kwargs.get("out"), Tensor):
        raise ArgumentTypeError(f"np.{theirs.__name__}(out=...): a tensor is a value, which NumPy does not write")
    name = theirs.__name__
    row = FUNCTIONS.get(name) if getattr(np, name, None) is theirs else None
    if row is not None:
        ours, parameters = row
        given = _given(parameters, args, kwargs)
        if given is not None:
            return ours(*given[0], **given[1])
    made = theirs(*_arrays(args), **_arrays(kwargs))
    return made if kwargs.get("out") is not None else _tensors(made, _device((args, kwargs)))


def _given(parameters: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]] | None:
    """Arguments by position and by svod's names, without those that are None; none where svod does not take one."""
    first, _, second = (part.split() for part in parameters.replace("?", "").partition("/"))
    names = {theirs: ours or theirs for theirs, _, ours in (name.partition("=") for name in first + second)}
    if len(args) > len(names):
        return None
    given = {}
    for theirs, value in (*zip(names, args, strict=False), *kwargs.items()):
        if value is np._NoValue or (value is None and f" {theirs}?" not in parameters):
            continue
        if theirs not in names or theirs.startswith("["):
            return None
        given[names[theirs]] = value
    if not all(name in given for name in first):
        return None
    return [given.pop(name) for name in first], given


def _arrays(given: Any) -> Any:
    """The same with arrays of NumPy in place of tensors."""
    if isinstance(given, Tensor):
        return given.numpy()
    if isinstance(given, (list, tuple)):
        parts = [_arrays(one) for one in given]
        return type(given)(*parts) if hasattr(given, "_fields") else type(given)(parts)
    if isinstance(given, dict):
        return {key: _arrays(one) for key, one in given.items()}
    return given


def _tensors(made: Any, device: str | None) -> Any:
    """The same with tensors in place of arrays and numbers of NumPy; other things, such as text, stay."""
    if isinstance(made, (np.ndarray, np.generic)) and made.dtype.kind in "biufcV" and not made.dtype.names:
        return svod.asarray(made, device=device)
    if isinstance(made, (list, tuple)):
        parts = [_tensors(one, device) for one in made]
        return type(made)(*parts) if hasattr(made, "_fields") else type(made)(parts)
    return made


def _device(given: Any) -> str | None:
    """The device of the first tensor there."""
    if isinstance(given, Tensor):
        return given.device if isinstance(given.device, str) else None
    if isinstance(given, (list, tuple, dict)):
        found = (_device(one) for one in (given.values() if isinstance(given, dict) else given))
        return next((device for device in found if device is not None), None)
    return None
