"""The table of the library: all functions and methods that are composed of tensor operations.

One row a function, by the file that it is in. `docs/library.md` says how to add one. What is in no row is in no
namespace: functions of `svod`, methods of `Tensor` and the stubs are made from this table, and the tests say that each
function of the files is in it.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FUNCTIONS", "METHODS", "TABLE", "Entry"]

# By file: names, of which the first is the function's in the file; what they are, `f` functions of `svod`, `m` methods
# of `Tensor`, `_` methods that assign their result (`x.name_()`); the libraries that have them by these names.
TABLE: dict[str, tuple[tuple[str, str, str], ...]] = {
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
    "manipulation": (
        ("astype", "f", "array API, NumPy"),
        ("broadcast_arrays", "f", "array API, NumPy"),
        ("broadcast_shapes", "f", "array API, NumPy, PyTorch"),
        ("broadcast_to", "f", "array API, NumPy, PyTorch"),
        ("concat", "f", "array API, NumPy, PyTorch"),
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
    "products": (
        ("tensordot", "f", "array API, NumPy, PyTorch"),
        ("vecdot", "f", "array API, NumPy"),
    ),
    "random": (
        ("bernoulli", "f m", "PyTorch"),
        ("beta", "f", "NumPy, JAX"),
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
    "statistics": (
        ("cumulative_prod", "f", "array API, NumPy"),
        ("cumulative_sum", "f", "array API, NumPy"),
    ),
}


class Entry(NamedTuple):
    """Where a name's function is."""

    file: str
    function: str


# Functions of `svod` and methods of `Tensor` by name.
FUNCTIONS: dict[str, Entry] = {}
METHODS: dict[str, Entry] = {}

for _file, _rows in TABLE.items():
    for _names, _kinds, _ in _rows:
        _given = _names.split()
        _entry = Entry(_file, _given[0])
        if "f" in _kinds:
            FUNCTIONS.update(dict.fromkeys(_given, _entry))
        if "m" in _kinds:
            METHODS.update(dict.fromkeys(_given, _entry))
        if "_" in _kinds:
            METHODS.update({f"{_name}_": _entry for _name in _given})
