"""Element types: how they are drawn, promoted and rounded, and how far results in them may be off."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

Array = np.ndarray[Any, Any]

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
FLOATS = ("float16", "float32", "float64") + (("bfloat16",) if ml_dtypes else ())
DTYPES = ("bool", *INTEGERS, *FLOATS)
# What a random input is of: the common types more often.
USUAL = DTYPES + ("float32",) * 12 + ("int64",) * 4 + ("float64", "int32", "bool") * 2


def storage(dtype: str) -> np.dtype[Any]:
    """The type of an array that holds the elements as svod does."""
    return np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)


def wide(dtype: str) -> np.dtype[Any]:
    """The type in which references compute: every float in double precision."""
    return np.dtype(np.float64 if dtype in FLOATS else dtype)


def rounded(array: Array, dtype: str) -> Array:
    """The nearest numbers of the type, in the type in which references compute."""
    with np.errstate(all="ignore"):
        if dtype in FLOATS:
            return np.asarray(array).astype(storage(dtype)).astype(np.float64)
        return np.asarray(array).astype(dtype)


_EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
_LARGEST = {"float16": 65504.0, "bfloat16": 3e38, "float32": 3e38, "float64": 1e308}
_SMALLEST = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126, "float64": 2.0**-1022}


def epsilon(dtype: str) -> float:
    return _EPSILON[dtype]


def largest(dtype: str) -> float:
    return _LARGEST[dtype]


def smallest(dtype: str) -> float:
    """The smallest number that is as precise as others."""
    return _SMALLEST[dtype]


def promoted(a: str, b: str) -> str:
    """The type in which operands of two types meet, as svod's documentation has it."""
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    if (a in FLOATS) != (b in FLOATS):
        return a if a in FLOATS else b
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"
    if a in FLOATS:
        return max(a, b, key=lambda name: np.dtype(storage(name)).itemsize)
    return np.promote_types(a, b).name


def drawn(rng: random.Random, shape: tuple[int, ...], dtype: str, low: float, high: float, plain: bool) -> Array:
    """Numbers between two bounds, sometimes special ones, in the type in which references compute.

    `plain` ones are of general position: no two are equal, none is whole.
    """
    numbers = np.random.default_rng(rng.getrandbits(32))
    if plain and dtype in FLOATS:
        return rounded(numbers.uniform(low, high, shape), dtype)
    if dtype == "bool":
        return numbers.random(shape) < 0.5
    if dtype in INTEGERS:
        low, high = max(low, 0.0) if dtype in UNSIGNED else low, high
        array = numbers.integers(int(low), max(int(high), int(low) + 1), shape).astype(dtype)
        if rng.random() < 0.1:
            bounds = np.iinfo(dtype)
            array = np.where(
                numbers.random(shape) < 0.2, numbers.choice(np.array([bounds.min, bounds.max], dtype), shape), array
            )
        return np.asarray(array, dtype)
    kind = rng.random()
    if kind < 0.3:  # Small whole numbers: sums of them are exact, and many are equal.
        array = numbers.integers(int(low), max(int(high), int(low) + 1), shape).astype(np.float64)
    else:
        array = numbers.uniform(low, high, shape)
    if kind > 0.95:
        special = numbers.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
        array = np.where(numbers.random(shape) < 0.1, special, array)
    return rounded(np.asarray(array), dtype)
