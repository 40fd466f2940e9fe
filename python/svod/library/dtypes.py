"""Element types: their limits, kinds, and what operands of different types have in common."""

from __future__ import annotations

import dataclasses
from typing import Any

from svod._svod import ArgumentError, DType, DTypeError, Tensor, _operands, zeros

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "result_type"]

# Kinds of types as the array API standard names them.
KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]

# Of each format the digits of the significand behind the leading one, and the exponents of the largest number and of
# the smallest normal one. The largest of float8_e4m3fn has a smaller significand, since that of ones is NaN.
_FLOATS = {
    "float8_e4m3fn": (3, 8, -6),
    "float8_e5m2": (2, 15, -14),
    "float16": (10, 15, -14),
    "bfloat16": (7, 127, -126),
    "float32": (23, 127, -126),
    "float64": (52, 1023, -1022),
}


@dataclasses.dataclass(frozen=True)
class FloatInfo:
    """Limits of a floating-point type: `eps` is the distance from 1 to the next number above."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        """As `smallest_normal`, by an older name."""
        return self.smallest_normal


@dataclasses.dataclass(frozen=True)
class IntegerInfo:
    """Limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether the rules of promotion bring a type, or that of a tensor, to another one.

    >>> import svod
    >>> svod.can_cast(svod.int8, svod.int32), svod.can_cast(svod.int32, svod.int8)
    (True, False)
    """
    given, wanted = _dtype(from_), _dtype(to)
    if isdtype(given, "integral") and isdtype(wanted, ("real floating", "complex floating")):
        # The standard has no rule for it; NumPy's is that the float holds all integers, or is the widest one.
        limits = finfo(wanted)
        return limits.bits == 64 or iinfo(given).max <= 2 / limits.eps
    return bool(result_type(given, wanted) == wanted)


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a floating-point type, or of a tensor's; of a complex type those of its parts.

    >>> import svod
    >>> svod.finfo(svod.float32).max
    3.4028234663852886e+38
    """
    dtype = _dtype(type)
    if dtype.is_complex:
        dtype = _dtype("float32" if dtype.name == "complex64" else "float64")
    if dtype.name not in _FLOATS:
        raise DTypeError(f"finfo: a floating-point type is expected, not {dtype}; see iinfo")
    digits, most, least = _FLOATS[dtype.name]
    largest = (1.75 if dtype.name == "float8_e4m3fn" else 2 - 2.0**-digits) * 2.0**most
    normal, eps = 2.0**least, 2.0**-digits
    return FloatInfo(dtype.itemsize * 8, eps, largest, -largest, normal, normal * eps, dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """Limits of an integer type, or of a tensor's.

    >>> import svod
    >>> svod.iinfo(svod.int8).min
    -128
    """
    dtype = _dtype(type)
    if dtype.name not in KINDS["integral"]:
        raise DTypeError(f"iinfo: an integer type is expected, not {dtype}; see finfo")
    bits = dtype.itemsize * 8
    if dtype.name in KINDS["unsigned integer"]:
        return IntegerInfo(bits, 2**bits - 1, 0, dtype)
    return IntegerInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is of a kind: another type, one of the array API's names of kinds, or a tuple of these.

    >>> import svod
    >>> svod.isdtype(svod.int8, "integral"), svod.isdtype(svod.int8, (svod.bool, "real floating"))
    (True, False)
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ArgumentError(f"isdtype: a kind is one of {', '.join(map(repr, KINDS))}, not {kind!r}")
        return _dtype(dtype).name in KINDS[kind]
    return bool(_dtype(dtype) == kind)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type in which tensors, types and Python's numbers meet.

    >>> import svod
    >>> svod.result_type(svod.int8, svod.Tensor([1], "uint8"), 3)
    svod.int16
    """
    if not arrays_and_dtypes:
        raise ArgumentError("result_type: give at least one tensor or type")
    numbers = (bool, int, float, complex)
    operands = [one if isinstance(one, (Tensor, *numbers)) else _of(one) for one in arrays_and_dtypes]
    return _operands(*operands)[0].dtype


def _of(dtype: Any) -> Tensor:
    """A tensor of a type."""
    return zeros((), dtype=dtype)


def _dtype(of: Any) -> DType:
    """A type, or the one of a tensor."""
    return of if isinstance(of, DType) else of.dtype if isinstance(of, Tensor) else _of(of).dtype
