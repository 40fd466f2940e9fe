"""Elementwise functions of the array API standard, beside NumPy: special values, types, scalars, shapes, precision."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import svod

FLOATS = ("float32", "float64")
SIGNED, UNSIGNED = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + FLOATS
BITS = ("bool", *INTEGERS)
EVERY = ("bool", *NUMBERS)

# Names, types that the standard gives the function, and units in the last place that the result may be off in float32
# and float64 (none where it is exact).
UNARY: dict[str, tuple[tuple[str, ...], float, float]] = {
    "abs": (NUMBERS, 0, 0),
    "acos": (FLOATS, 1, 4),
    "acosh": (FLOATS, 2, 4),
    "asin": (FLOATS, 1, 4),
    "asinh": (FLOATS, 2, 4),
    "atan": (FLOATS, 2, 2),
    "atanh": (FLOATS, 1, 4),
    "bitwise_invert": (BITS, 0, 0),
    "ceil": (NUMBERS, 0, 0),
    "cos": (FLOATS, 2, 2),
    "cosh": (FLOATS, 1, 4),
    "exp": (FLOATS, 2, 2),
    "expm1": (FLOATS, 2, 3),
    "floor": (NUMBERS, 0, 0),
    "isfinite": (NUMBERS, 0, 0),
    "isinf": (NUMBERS, 0, 0),
    "isnan": (NUMBERS, 0, 0),
    "log": (FLOATS, 2, 2),
    "log10": (FLOATS, 2, 3),
    "log1p": (FLOATS, 2, 2),
    "log2": (FLOATS, 2, 2),
    "logical_not": (("bool",), 0, 0),
    "negative": (SIGNED + FLOATS, 0, 0),
    "positive": (NUMBERS, 0, 0),
    "reciprocal": (FLOATS, 1, 1),
    "round": (NUMBERS, 0, 0),
    "sign": (NUMBERS, 0, 0),
    "signbit": (FLOATS, 0, 0),
    "sin": (FLOATS, 2, 2),
    "sinh": (FLOATS, 2, 4),
    "sqrt": (FLOATS, 0, 0),
    "square": (NUMBERS, 0, 0),
    "tan": (FLOATS, 2, 2),
    "tanh": (FLOATS, 2, 4),
    "trunc": (NUMBERS, 0, 0),
}
BINARY: dict[str, tuple[tuple[str, ...], float, float]] = {
    "add": (NUMBERS, 0, 0),
    "atan2": (FLOATS, 1, 4),
    "bitwise_and": (BITS, 0, 0),
    "bitwise_left_shift": (INTEGERS, 0, 0),
    "bitwise_or": (BITS, 0, 0),
    "bitwise_right_shift": (INTEGERS, 0, 0),
    "bitwise_xor": (BITS, 0, 0),
    "copysign": (FLOATS, 0, 0),
    "divide": (FLOATS, 0, 0),
    "equal": (EVERY, 0, 0),
    "floor_divide": (NUMBERS, 0, 0),
    "greater": (NUMBERS, 0, 0),
    "greater_equal": (NUMBERS, 0, 0),
    "hypot": (FLOATS, 2, 4),
    "less": (NUMBERS, 0, 0),
    "less_equal": (NUMBERS, 0, 0),
    "logaddexp": (FLOATS, 1, 4),
    "logical_and": (("bool",), 0, 0),
    "logical_or": (("bool",), 0, 0),
    "logical_xor": (("bool",), 0, 0),
    "maximum": (NUMBERS, 0, 0),
    "minimum": (NUMBERS, 0, 0),
    "multiply": (NUMBERS, 0, 0),
    "nextafter": (FLOATS, 0, 0),
    "not_equal": (EVERY, 0, 0),
    "pow": (NUMBERS, 2, 2),
    "remainder": (NUMBERS, 0, 0),
    "subtract": (NUMBERS, 0, 0),
}
COMPARED = {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite"}

# What NumPy rounds correctly itself, so that more digits would be rounded twice.
ROUNDED_ONCE = frozenset(
    ["add", "divide", "floor_divide", "multiply", "nextafter", "reciprocal", "remainder", "sqrt", "square", "subtract"]
)
# Functions of which the standard leaves the sign of a zero open.
ZEROS = {"maximum", "minimum", "sign"}

INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, 2.5, 1e30, -1e30, 1e-30, INF, -INF, NAN]


def values(dtype: str, many: bool = False) -> np.ndarray[Any, Any]:
    """Numbers of a type: the special ones, and with `many` some of all sizes."""
    if dtype == "bool":
        return np.array([True, False])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        some = [0, 1, 2, 3, 5, 7, info.max, info.max - 1, info.min, info.min + 1]
        return np.array(sorted({one for one in (*some, -1, -2, -7) if one >= info.min}), dtype)
    random = np.random.default_rng(0)
    sizes = 2.0 ** random.uniform(-30, 30, 400) * random.choice([-1, 1], 400)
    near = random.uniform(-2, 2, 400)
    return np.array([*SPECIAL, *(np.concatenate([sizes, near]) if many else ())], dtype)


def ulps(mine: Any, right: Any) -> float:
    """The largest distance in units in the last place; infinite where one is NaN or of another sign."""
    assert mine.dtype == right.dtype and mine.shape == right.shape
    if mine.dtype.kind != "f":
        return 0.0 if np.array_equal(mine, right) else INF
    same = (mine == right) | (np.isnan(mine) & np.isnan(right))
    signs = np.isnan(right) | (np.signbit(mine) == np.signbit(right))
    with np.errstate(all="ignore"):
        apart = np.abs(mine.astype(np.longdouble) - right) / np.spacing(np.abs(right))
        return float(np.max(np.where(signs, np.where(same, 0, np.where(np.isnan(apart), INF, apart)), INF), initial=0))


def exact(name: str, *arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NumPy's result, of floats computed with more digits and rounded."""
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        plain = np.asarray(function(*arrays))
        if plain.dtype.kind != "f" or name in ROUNDED_ONCE:
            return plain
        wide = "float64" if plain.dtype == np.float32 else "longdouble"
        return np.asarray(function(*(one.astype(wide) for one in arrays))).astype(plain.dtype)


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in UNARY for dtype in UNARY[name][0]])
def test_unary(name: str, dtype: str) -> None:
    x = values(dtype, many=True)
    if name == "abs" and dtype in SIGNED:
        x = x[1:]
    result = getattr(svod, name)(svod.Tensor(x)).numpy()
    bound = UNARY[name][1 + (dtype == "float64")]
    right = exact(name, x)
    if name in ZEROS and dtype in FLOATS:
        result, right = result + 0, right + 0
    assert result.dtype == ("bool" if name in COMPARED else right.dtype)
    off = ulps(result, right)
    assert off <= bound, f"{off} ulp at {x[np.argmax([ulps(a[None], b[None]) for a, b in zip(result, right)])]}"


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in BINARY for dtype in BINARY[name][0]])
def test_binary(name: str, dtype: str) -> None:
    pairs = np.array(list(itertools.product(values(dtype), values(dtype))), dtype)
    x, y = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    if name.endswith("shift"):
        y = (y.astype("uint64") % 7).astype(dtype)
    if dtype in INTEGERS and name in ("floor_divide", "remainder"):
        x, y = x[y != 0], y[y != 0]
        usual = ~((x == np.iinfo(dtype).min) & (y.astype("int64") == -1)) if dtype in SIGNED else np.full(x.shape, True)
        x, y = x[usual], y[usual]
    if dtype in INTEGERS and name == "pow":
        x, y = x[y >= 0], y[y >= 0]
        x, y = x[y < 8], y[y < 8]
    result = getattr(svod, name)(svod.Tensor(x), svod.Tensor(y)).numpy()
    right = exact(name, x, y)
    if name in ZEROS and dtype in FLOATS:
        result, right = result + 0, right + 0
    off = ulps(result, right)
    worst = np.argmax([ulps(a[None], b[None]) for a, b in zip(result, right)])
    assert off <= BINARY[name][1 + (dtype == "float64")], f"{off} ulp at {x[worst]}, {y[worst]}: {result[worst]}"


# Of rows of types that are not of one kind.
PROMOTED = [(a, b) for a, b in itertools.product(("bool", *NUMBERS), repeat=2)]


@pytest.mark.parametrize(("a", "b"), PROMOTED)
def test_types_meet_as_the_standard_says(a: str, b: str) -> None:
    x, y = np.ones(2, a), np.ones(2, b)
    kinds = [{"b": 0, "u": 1, "i": 1, "f": 2}[one.dtype.kind] for one in (x, y)]
    right = np.result_type(x, y)
    if kinds[0] != kinds[1] and 2 in kinds:  # The standard leaves it open; svod takes the float, as PyTorch does.
        right = np.dtype(a if kinds[0] == 2 else b)
    assert svod.result_type(svod.Tensor(x), svod.Tensor(y)).dtype == right
    for name in ("multiply", "maximum", "equal"):
        result = getattr(svod, name)(svod.Tensor(x), svod.Tensor(y))
        assert result.dtype.dtype == (np.dtype("bool") if name == "equal" else right)


SCALARS = [name for name in BINARY if name not in ("logical_and", "logical_or", "logical_xor")]


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_on_either_side_take_the_type_of_the_tensor(name: str) -> None:
    for dtype in BINARY[name][0]:
        if dtype == "bool":
            continue
        x = np.array([1, 2, 3], dtype)
        for scalar in (2, 2.0)[: 1 + (dtype in FLOATS)]:
            for arguments in ((x, scalar), (scalar, x)):
                result = getattr(svod, name)(*(svod.Tensor(a) if a is x else a for a in arguments)).numpy()
                right = exact(name, *(a if a is x else np.array(a, dtype) for a in arguments))
                assert ulps(result, right) <= 1, (dtype, scalar)


SHAPES = [((), ()), ((0,), (1,)), ((3, 1), (4,)), ((2, 1, 5), (3, 1)), ((1,), (1, 1)), ((7, 13), (7, 13))]


@pytest.mark.parametrize("name", sorted(BINARY))
def test_shapes_broadcast(name: str) -> None:
    dtype = BINARY[name][0][0]
    for a, b in SHAPES:
        x, y = np.ones(a, dtype), np.ones(b, dtype)
        result = getattr(svod, name)(svod.Tensor(x), svod.Tensor(y))
        assert result.shape == np.broadcast_shapes(a, b)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_shapes_stay(name: str) -> None:
    dtype = UNARY[name][0][0]
    for shape in ((), (0,), (1,), (2, 0, 3), (5, 7)):
        assert getattr(svod, name)(svod.Tensor(np.ones(shape, dtype))).shape == shape
    strided = np.ones((6, 4), dtype)[::2, ::-1].T
    assert getattr(svod, name)(svod.Tensor(strided)).shape == (4, 3)


@pytest.mark.parametrize(
    "name", ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "expm1", "log1p", "log10", "sinh"]
)
def test_narrow_floats_and_integers(name: str) -> None:
    x = {"acosh": [1, 2]}.get(name, [0, 1])
    for dtype, to in (("float16", "float16"), ("int32", "float32"), ("bool", "float32")):
        array = np.array(x, dtype)
        result = getattr(svod, name)(svod.Tensor(array)).numpy()
        with np.errstate(all="ignore"):
            right = np.asarray(getattr(np, name)(array.astype("float64"))).astype(to)
        assert ulps(result, right) <= 1


SLOPES = {
    "acos": lambda x: -1 / np.sqrt(1 - x * x),
    "acosh": lambda x: 1 / np.sqrt(x * x - 1),
    "asin": lambda x: 1 / np.sqrt(1 - x * x),
    "asinh": lambda x: 1 / np.sqrt(1 + x * x),
    "atan": lambda x: 1 / (1 + x * x),
    "atanh": lambda x: 1 / (1 - x * x),
    "cosh": np.sinh,
    "expm1": np.exp,
    "log10": lambda x: 1 / (x * np.log(10)),
    "log1p": lambda x: 1 / (1 + x),
    "sinh": np.cosh,
}


@pytest.mark.parametrize("name", SLOPES)
def test_derivatives(name: str) -> None:
    x = np.array({"acosh": [1.5, 3.0], "log10": [0.5, 7.0]}.get(name, [0.0, -0.0, 0.25, -0.75]))
    slope = svod.grad(lambda t: getattr(svod, name)(t).sum())(svod.Tensor(x)).numpy()
    np.testing.assert_allclose(slope, SLOPES[name](x), rtol=1e-12)


def test_derivatives_of_two_operands() -> None:
    x, y = np.array([0.0, 1.0, -2.0, 3.0]), np.array([2.0, -1.0, -0.5, 0.25])
    wanted = {
        "atan2": (y / (x * x + y * y), -x / (x * x + y * y)),
        "hypot": (x / np.hypot(x, y), y / np.hypot(x, y)),
        "logaddexp": (1 / (1 + np.exp(y - x)), 1 / (1 + np.exp(x - y))),
    }
    for name, right in wanted.items():
        by = svod.grad(lambda a, b, name=name: getattr(svod, name)(a, b).sum(), argnums=(0, 1))
        for mine, slope in zip(by(svod.Tensor(x), svod.Tensor(y)), right):
            np.testing.assert_allclose(mine.numpy(), slope, rtol=1e-12, atol=1e-300, err_msg=name)
