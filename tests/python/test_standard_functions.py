"""Functions of the array API standard other than the elementwise ones, beside NumPy: calls, types and shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

F, INT, U, B = "float32", "int64", "uint8", "bool"
A = np.arange(24).reshape(2, 3, 4) % 7 - 2


def of(dtype: str, array: Any = A) -> np.ndarray[Any, Any]:
    return np.asarray(array).astype(dtype)


def as_arrays(made: Any) -> list[Any]:
    """Results as arrays; several of them one by one, shapes and numbers as they are."""
    if isinstance(made, (list, tuple)):
        return [array for one in made for array in as_arrays(one)]
    return [made.numpy() if isinstance(made, svod.Tensor) else np.asarray(made)]


# Names of rows and calls of either namespace; `x` makes one of its arrays.
CALLS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "arange": lambda xp, x: [xp.arange(5), xp.arange(1, 9, 3), xp.arange(5, 0, -2), xp.arange(3, 3)],
    "arange of floats": lambda xp, x: xp.arange(0, 2, 0.5, dtype=xp.float64),
    "asarray": lambda xp, x: [xp.asarray(3), xp.asarray([True]), xp.asarray([[1, 2]]), xp.asarray([1], dtype=xp.int8)],
    "empty": lambda xp, x: [xp.empty((2, 0, 3)).shape, xp.empty_like(x(of(U))).shape, xp.empty(3, dtype=xp.int8).shape],
    "eye": lambda xp, x: [xp.eye(3), xp.eye(2, 4), xp.eye(3, k=1), xp.eye(3, 2, k=-1), xp.eye(2, k=5), xp.eye(0)],
    "full": lambda xp, x: [xp.full((2,), 3), xp.full(2, True), xp.full((), 2.5, dtype=xp.float64)],
    "full_like": lambda xp, x: [xp.full_like(x(of(INT)), 3), xp.full_like(x(of(INT)), 1.5, dtype=xp.float32)],
    "linspace": lambda xp, x: [xp.linspace(0, 1, 5, dtype=xp.float64), xp.linspace(2, -1, 4, dtype=xp.float32)],
    "linspace open": lambda xp, x: [
        xp.linspace(0, 1, 5, endpoint=False, dtype=xp.float64),
        xp.linspace(3, 4, 1, endpoint=False, dtype=xp.float64),
        xp.linspace(3, 4, 0, endpoint=False, dtype=xp.float64),
    ],
    "meshgrid": lambda xp, x: xp.meshgrid(x(of(INT, [1, 2])), x(of(INT, [3, 4, 5])), x(of(INT, [6]))),
    "meshgrid ij": lambda xp, x: xp.meshgrid(x(of(F, [1, 2])), x(of(F, [3, 4, 5])), indexing="ij"),
    "meshgrid of one": lambda xp, x: xp.meshgrid(x(of(F, [1, 2]))),
    "ones": lambda xp, x: [xp.ones((2, 3), dtype=xp.int16), xp.ones(shape=(2,), dtype=xp.float64), xp.ones_like(x(A))],
    "tril": lambda xp, x: [xp.tril(x(of(INT))), xp.tril(x(of(F)), k=1), xp.tril(x(of(B)), k=-1)],
    "triu": lambda xp, x: [xp.triu(x(of(INT))), xp.triu(x(of(F)), k=1), xp.triu(x(of(B)), k=-9)],
    "zeros": lambda xp, x: [xp.zeros((2, 0), dtype=xp.bool), xp.zeros_like(x(of(U)), dtype=xp.float64)],
    "astype": lambda xp, x: [xp.astype(x(of(F)), xp.int32), xp.astype(x(of(INT)), xp.bool, copy=False)],
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x(of(F, [[1], [2]])), x(of(INT, [1, 2, 3]))),
    "broadcast_shapes": lambda xp, x: [xp.broadcast_shapes((2, 1), (3,), ()), xp.broadcast_shapes()],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x(of(F, [[1], [2]])), (4, 2, 3)),
    "concat": lambda xp, x: [
        xp.concat([x(of(F)), x(of("float64"))], axis=1),
        xp.concat((x(of(U)), x(of(INT))), axis=-1),
    ],
    "concat flat": lambda xp, x: xp.concat([x(of(INT)), x(of(INT, [1, 2]))], axis=None),
    "expand_dims": lambda xp, x: [xp.expand_dims(x(A), axis=a) for a in (0, 2, -1, (0, -1), (1, 2))],
    "flip": lambda xp, x: [xp.flip(x(A)), xp.flip(x(A), axis=-1), xp.flip(x(A), axis=(0, 2))],
    "moveaxis": lambda xp, x: [xp.moveaxis(x(A), 0, -1), xp.moveaxis(x(A), (0, 1), (-1, 0))],
    "permute_dims": lambda xp, x: [xp.permute_dims(x(A), (2, 0, 1)), xp.permute_dims(x(A), axes=(-1, -2, -3))],
    "repeat": lambda xp, x: [xp.repeat(x(A), 2), xp.repeat(x(A), 3, axis=1), xp.repeat(x(A), 0, axis=-1)],
    "repeat each": lambda xp, x: [
        xp.repeat(x(A), x(of(INT, [1, 0, 2])), axis=1),
        xp.repeat(x(of(INT, [5, 6])), x(of(INT, [2, 3]))),
    ],
    "reshape": lambda xp, x: [xp.reshape(x(A), (4, 6)), xp.reshape(x(A), (-1,)), xp.reshape(x(A), (2, -1), copy=True)],
    "roll": lambda xp, x: [xp.roll(x(A), 5), xp.roll(x(A), -1, axis=2), xp.roll(x(A), (1, 2), axis=(0, 1))],
    "roll of one shift": lambda xp, x: [xp.roll(x(A), 1, axis=(0, 2)), xp.roll(x(of(F, 3.0)), 2)],
    "squeeze": lambda xp, x: [xp.squeeze(x(A[None, :, None]), axis=0), xp.squeeze(x(A[None, ..., None]), axis=(0, -1))],
    "stack": lambda xp, x: [xp.stack([x(A), x(of(U))], axis=a) for a in (0, 1, -1)],
    "tile": lambda xp, x: [
        xp.tile(x(A), (2,)),
        xp.tile(x(A), (2, 1, 1, 2)),
        xp.tile(x(of(F, 1.0)), (2, 3)),
        xp.tile(x(A), ()),
    ],
    "unstack": lambda xp, x: [xp.unstack(x(A)), xp.unstack(x(A), axis=-1)],
    "argmax": lambda xp, x: [xp.argmax(x(A)), xp.argmax(x(A), axis=1), xp.argmin(x(of(F)), axis=-1, keepdims=True)],
    "count_nonzero": lambda xp, x: [xp.count_nonzero(x(A)), xp.count_nonzero(x(of(F)), axis=(0, 2), keepdims=True)],
    "nonzero": lambda xp, x: [xp.nonzero(x(A)), xp.nonzero(x(of(B)))],
    "searchsorted": lambda xp, x: [
        xp.searchsorted(x(of(F, [1, 2, 2, 5])), x(of(F, [[0, 2], [5, 9]])), side=side) for side in ("left", "right")
    ],
    "searchsorted with a sorter": lambda xp, x: [
        xp.searchsorted(x(of(INT, [3, 1, 2])), x(of(INT, [0, 2, 3])), sorter=x(of(INT, [1, 2, 0]))),
        xp.searchsorted(x(of(INT, [1, 2, 3])), 2, side="right"),
    ],
    "where": lambda xp, x: [xp.where(x(A > 0), x(of(INT)), x(of(U))), xp.where(x(A > 0), x(of("int8")), 3)],
    "isin": lambda xp, x: [xp.isin(x(A), x(of(INT, [4, 0, -1]))), xp.isin(x(A), 3, invert=True), xp.isin(2, x(A))],
    "isin of nothing": lambda xp, x: [xp.isin(x(A), x(of(INT, []))), xp.isin(x(of(INT, [])), x(A), invert=True)],
    "unique_all": lambda xp, x: [
        xp.unique_all(x(A)),
        xp.unique_all(x(of(F, [2, 0, -0.0, 2]))),
        xp.unique_all(x(of(INT, []))),
    ],
    "unique of NaN": lambda xp, x: [xp.unique_counts(x(of(F, [np.nan, 1, np.nan, 1]))), xp.unique_inverse(x(of(B)))],
    "unique_values": lambda xp, x: [
        xp.sort(xp.unique_values(x(A))),
        xp.sort(xp.unique_values(x(of(F, [[3.0, 1], [1, 3]])))),
        xp.unique_values(x(of(INT, 3))),
    ],
    "argsort": lambda xp, x: [xp.argsort(x(A), stable=True), xp.argsort(x(of(F)), axis=0, stable=True)],
    "sort": lambda xp, x: [xp.sort(x(A)), xp.sort(x(of(F)), axis=0), xp.sort(x(of(U)), axis=1, stable=True)],
    "cumulative_prod": lambda xp, x: [xp.cumulative_prod(x(of(t)), axis=1) for t in (INT, F, U, "int8")],
    "cumulative_sum": lambda xp, x: [xp.cumulative_sum(x(of(t)), axis=-1) for t in (INT, F, U, "int8")],
    "cumulative from nothing": lambda xp, x: [
        xp.cumulative_sum(x(A), axis=1, include_initial=True),
        xp.cumulative_prod(x(of(F)), axis=0, include_initial=True, dtype=xp.float64),
        xp.cumulative_sum(x(of(U, [1, 200, 100])), include_initial=True),
    ],
    "max": lambda xp, x: [xp.max(x(A)), xp.min(x(of(F)), axis=(0, 1)), xp.max(x(of(U)), axis=-1, keepdims=True)],
    "mean": lambda xp, x: [xp.mean(x(of(F))), xp.mean(x(of("float64")), axis=(0, 2), keepdims=True)],
    "prod": lambda xp, x: [xp.prod(x(of(t)), axis=1) for t in (INT, F, U, "int8", "uint64", "uint32")],
    "std": lambda xp, x: [xp.std(x(of("float64")), correction=c) for c in (0, 1, 0.5)],
    "sum": lambda xp, x: [xp.sum(x(of(t)), axis=(0, -1)) for t in (INT, F, U, "int8", "uint16", "int32")],
    "sum in a type": lambda xp, x: [xp.sum(x(of(F)), dtype=xp.float64), xp.sum(x(A), axis=()), xp.sum(x(of(F, [])))],
    "var": lambda xp, x: [
        xp.var(x(of("float64")), axis=1, keepdims=True),
        xp.var(x(of("float64")), axis=(0, 1), correction=1),
    ],
    "all": lambda xp, x: [
        xp.all(x(A)),
        xp.all(x(of(F)), axis=0),
        xp.any(x(of(B)), axis=(1, 2), keepdims=True),
        xp.any(x(of(B, []))),
    ],
    "diff": lambda xp, x: [
        xp.diff(x(A)),
        xp.diff(x(of(F)), axis=0),
        xp.diff(x(A), n=2, axis=1),
        xp.diff(x(A), n=0),
        xp.diff(x(A), n=9),
    ],
    "diff with ends": lambda xp, x: xp.diff(x(A), axis=1, prepend=x(A[:, :1]), append=x(A[:, :2])),
    "take": lambda xp, x: [xp.take(x(A), x(of(INT, [1, 0, -1])), axis=1), xp.take(x(A[0, 0]), x(of(INT, [3, -4])))],
    "take_along_axis": lambda xp, x: xp.take_along_axis(x(A), x(of(INT, [[[0], [1], [-1]]])), axis=2),
    "matmul": lambda xp, x: [xp.matmul(x(A), x(A[0].T)), xp.matmul(x(of("float64")), x(of("float64", np.ones(4))))],
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x(A)),
    "tensordot": lambda xp, x: [xp.tensordot(x(A), x(A[0]), axes=2), xp.tensordot(x(A), x(A), axes=((0, -1), (0, 2)))],
    "tensordot of none": lambda xp, x: xp.tensordot(x(A[0]), x(A[:, 0, 0]), axes=0),
    "vecdot": lambda xp, x: [xp.vecdot(x(A), x(A[0])), xp.vecdot(x(of(F)), x(of("float64")), axis=-2)],
    "integer indices": lambda xp, x: [x(A)[x(of(INT, [1, 0])), 0], x(A)[..., x(of(INT, [1, 2])), x(of(INT, [0, 3]))]],
    "a mask": lambda xp, x: x(A)[x(A > 1)],
    "clip": lambda xp, x: [xp.clip(x(A), 0, 2), xp.clip(x(of(F)), x(of(F, [0, 1, 2, 3])), None), xp.clip(x(A))],
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_those_of_numpy(name: str) -> None:
    mine, right = as_arrays(CALLS[name](svod, svod.Tensor)), as_arrays(CALLS[name](np, np.asarray))
    assert len(mine) == len(right)
    for a, b in zip(mine, right):
        assert a.shape == b.shape
        # Of floats made without a type the default is narrower than NumPy's.
        made = name in ("eye",) and (a.dtype, b.dtype) == (np.float32, np.float64)
        assert made or a.dtype == b.dtype, (a.dtype, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_sorts_are_stable_downwards_too() -> None:
    x = svod.Tensor([3, 1, 3, 2, 1])
    assert svod.argsort(x, descending=True).tolist() == [0, 2, 3, 1, 4]
    assert svod.sort(x, descending=True).tolist() == [3, 3, 2, 1, 1]


WRONG: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "squeeze": (lambda: svod.squeeze(svod.ones(2, 1), axis=0), ValueError),
    "expand_dims": (lambda: svod.expand_dims(svod.ones(2), axis=(0, 0)), ValueError),
    "broadcast_shapes": (lambda: svod.broadcast_shapes((2,), (3,)), ValueError),
    "broadcast_to": (lambda: svod.broadcast_to(svod.ones(2), (3,)), ValueError),
    "moveaxis": (lambda: svod.moveaxis(svod.ones(2, 3), (0, 0), (0, 1)), ValueError),
    "roll": (lambda: svod.roll(svod.ones(2, 3), (1, 2, 3), axis=(0, 1)), ValueError),
    "searchsorted": (lambda: svod.searchsorted(svod.ones(2), svod.ones(2), side="middle"), ValueError),
    "tensordot": (lambda: svod.tensordot(svod.ones(2, 3), svod.ones(2, 3), axes=1), ValueError),
    "vecdot": (lambda: svod.vecdot(svod.ones(2), svod.ones(3)), ValueError),
    "meshgrid": (lambda: svod.meshgrid(svod.ones(2), indexing="yx"), ValueError),
    "asarray": (lambda: svod.asarray([1], copy=False), ValueError),
    "finfo": (lambda: svod.finfo(svod.int8), TypeError),
    "iinfo": (lambda: svod.iinfo(svod.float32), TypeError),
    "isdtype": (lambda: svod.isdtype(svod.int8, "float"), ValueError),
    "result_type": (lambda: svod.result_type(), ValueError),
    "an unknown version": (lambda: svod.ones(1).__array_namespace__(api_version="1999.01"), ValueError),
    "diff": (lambda: svod.diff(svod.ones(2), n=-1), ValueError),
    "sizes and a shape": (lambda: svod.zeros(2, shape=(2,)), TypeError),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    call, kind = WRONG[name]
    with pytest.raises(svod.Error) as raised:
        call()
    assert isinstance(raised.value, kind)


FLOATS = ("float16", "float32", "float64")


@pytest.mark.parametrize("dtype", FLOATS)
def test_limits_of_floats(dtype: str) -> None:
    mine, right = svod.finfo(dtype), np.finfo(dtype)
    for name in ("bits", "eps", "max", "min", "smallest_normal", "smallest_subnormal", "tiny"):
        assert getattr(mine, name) == getattr(right, name), name
    assert mine.dtype == dtype and svod.finfo(svod.ones(1, dtype=dtype)) == mine


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_limits_of_narrow_floats(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    mine, right = svod.finfo(dtype), ml_dtypes.finfo(dtype)
    for name in ("bits", "eps", "max", "min", "smallest_normal", "smallest_subnormal"):
        assert getattr(mine, name) == float(getattr(right, name)), name


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_limits_of_integers(dtype: str) -> None:
    mine, right = svod.iinfo(dtype), np.iinfo(dtype)
    assert (mine.bits, mine.max, mine.min, mine.dtype) == (right.bits, right.max, right.min, dtype)


def test_kinds_of_types() -> None:
    names = ["bool", "int8", "int64", "uint8", "uint64", "float32", "float64"]
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    for name in names:
        for kind in [*kinds, ("bool", "integral")]:
            assert svod.isdtype(getattr(svod, name), kind) == np.isdtype(np.dtype(name), kind), (name, kind)
        assert svod.isdtype(getattr(svod, name), getattr(svod, name))


def test_casts_follow_promotion() -> None:
    names = ["bool", "int8", "int64", "uint8", "float32", "float64"]
    can = {(a, b) for a in names for b in names if svod.can_cast(getattr(svod, a), b)}
    wrong = {(a, b) for a, b in can if not np.can_cast(a, b)}
    assert not wrong
    assert ("int8", "int64") in can and ("float32", "float64") in can and ("int64", "int8") not in can
    assert svod.can_cast(svod.ones(2), svod.float64)


def test_the_namespace() -> None:
    x = svod.ones(2)
    assert x.__array_namespace__() is svod is x.__array_namespace__(api_version="2024.12")
    assert svod.__array_api_version__ == "2025.12"
    assert (svod.e, svod.pi, svod.inf, svod.newaxis) == (np.e, np.pi, np.inf, None) and svod.nan != svod.nan
    info = svod.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert set(info.default_dtypes()) >= {"real floating", "integral", "indexing"}
    assert set(info.dtypes(kind="integral")) == set(info.dtypes(kind=("signed integer", "unsigned integer")))
    assert info.capabilities()["boolean indexing"] is True
    assert x.to_device(x.device).device == x.device


# Every function of the standard but those of complex numbers.
STANDARD = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
    "astype",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_invert",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "divide",
    "equal",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "reciprocal",
    "remainder",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "take",
    "take_along_axis",
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
    "argmax",
    "argmin",
    "count_nonzero",
    "nonzero",
    "searchsorted",
    "where",
    "isin",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "argsort",
    "sort",
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
    "all",
    "any",
    "diff",
    "__array_namespace_info__",
]


@pytest.mark.parametrize("name", STANDARD)
def test_names_of_the_standard(name: str) -> None:
    assert callable(getattr(svod, name)) and name in svod.__all__


def test_sets_of_complex_numbers() -> None:
    x = np.array([1 + 2j, 1 - 2j, 3, 1 + 2j, complex("nan"), -0.0, 0.0, 1 - 2j], np.complex64)
    for mine, theirs in zip(svod.unique_all(svod.Tensor(x)), np.unique_all(x), strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs)
    np.testing.assert_array_equal(svod.unique_values(svod.Tensor(x)).numpy(), np.unique(x))
    among = np.array([[3, 0], [complex("nan"), 1 - 2j]], np.complex128)
    np.testing.assert_array_equal(svod.isin(x, svod.Tensor(among)).numpy(), np.isin(x, among))
    np.testing.assert_array_equal(svod.isin(svod.Tensor(among), x, invert=True).numpy(), np.isin(among, x, invert=True))


def test_limits_of_complex_types_are_those_of_their_parts() -> None:
    assert svod.finfo(svod.complex64) == svod.finfo(svod.float32)
    assert svod.finfo(svod.Tensor([1j], "complex128")) == svod.finfo(svod.float64)


@pytest.mark.parametrize("name", ["atan2", "copysign", "hypot", "logaddexp2"])
def test_functions_of_real_numbers_name_themselves(name: str) -> None:
    with pytest.raises(svod.DTypeError, match=rf"^{name}: takes real numbers, not complex64\[1\], complex64\[\]"):
        getattr(svod, name)(svod.Tensor([1j], "complex64"), 1)
