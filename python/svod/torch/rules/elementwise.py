"""Operations on each element. Types are promoted as PyTorch says before a rule is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import svod
from svod.torch._table import PROMOTION, Call, Unsupported, aten, dtype
from svod.torch._types import is_device, named

FLOAT = PROMOTION.INT_TO_FLOAT
SAME = PROMOTION.DEFAULT
BOOL = PROMOTION.ALWAYS_BOOL

# Methods of the same name and meaning, of floats and of all types.
_FLOATS = """
    exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh tanh asinh acosh
    atanh sigmoid erf erfc erfinv lgamma digamma i0 atan2
"""
_ANY = "abs neg floor ceil trunc relu silu square hypot nextafter logaddexp gcd lcm"
_BOOLS = "isnan isinf isfinite logical_not logical_and logical_or logical_xor signbit"

_NAMED = {FLOAT: _FLOATS, SAME: _ANY, BOOL: _BOOLS}
for _promotion, _names in _NAMED.items():
    for _name in _names.split():
        if hasattr(svod.Tensor, _name):
            aten(_name, promotion=_promotion)(getattr(svod.Tensor, _name))

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}
for _name, _function in _COMPARISONS.items():
    aten(f"{_name}.Tensor", f"{_name}.Scalar", promotion=BOOL)(_function)

_BITS: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": lambda x, y: x & y,
    "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y,
    "bitwise_left_shift": lambda x, y: x << y,
    "bitwise_right_shift": lambda x, y: x >> y,
}
for _name, _function in _BITS.items():
    aten(f"{_name}.Tensor", f"{_name}.Scalar", f"{_name}.Tensor_Scalar", promotion=SAME)(_function)
for _name, _spelling in {"bitwise_left_shift": "__lshift__", "bitwise_right_shift": "__rshift__"}.items():
    aten(f"{_spelling}.Tensor", f"{_spelling}.Scalar", promotion=SAME)(_BITS[_name])


@aten("sign", promotion=SAME)
def sign(x: svod.Tensor) -> svod.Tensor:
    # Of NaN it is 0 to PyTorch.
    return (x > 0).cast(x.dtype) - (x < 0).cast(x.dtype) if "float" in str(x.dtype) else x.sign()


@aten("bitwise_not", promotion=SAME)
def bitwise_not(x: svod.Tensor) -> svod.Tensor:
    return ~x


@aten("add.Tensor", "add.Scalar", promotion=SAME)
def add(x: Any, y: Any, alpha: Any = 1) -> Any:
    if isinstance(x, svod.Tensor) and x.dtype == svod.bool:
        return x | y
    return x + _scaled(y, alpha)


@aten("sub.Tensor", "sub.Scalar", promotion=SAME)
def sub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return x - _scaled(y, alpha)


@aten("rsub.Tensor", "rsub.Scalar", promotion=SAME)
def rsub(x: Any, y: Any, alpha: Any = 1) -> Any:
    return y - _scaled(x, alpha)


def _scaled(y: Any, alpha: Any) -> Any:
    return y if isinstance(alpha, (int, float)) and alpha == 1 else y * alpha


@aten("mul.Tensor", "mul.Scalar", promotion=SAME)
def mul(x: Any, y: Any) -> Any:
    return x & y if isinstance(x, svod.Tensor) and x.dtype == svod.bool else x * y


@aten("div.Tensor", "div.Scalar", "true_divide.Tensor", promotion=FLOAT)
def div(x: Any, y: Any) -> Any:
    return x / y


@aten("div.Tensor_mode", "div.Scalar_mode", promotion=SAME)
def div_mode(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    if rounding_mode == "floor":
        return x // y
    if rounding_mode == "trunc" and isinstance(x, svod.Tensor):
        return (x - _fmod(x, y)) // y if _is_integer(x) else (x / y).trunc()
    raise Unsupported(f"rounding mode {rounding_mode}")


@aten("floor_divide", "floor_divide.Scalar", promotion=SAME)
def floor_divide(x: Any, y: Any) -> Any:
    return x // y


@aten("remainder.Tensor", "remainder.Scalar", promotion=SAME)
def remainder(x: Any, y: Any) -> Any:
    return x % y


@aten("fmod.Tensor", "fmod.Scalar", promotion=SAME)
def fmod(x: svod.Tensor, y: Any) -> svod.Tensor:
    return _fmod(x, y)


def _fmod(x: svod.Tensor, y: Any) -> svod.Tensor:
    """The remainder with the sign of the dividend, exact in integers and floats, since `%` is."""
    below = x % y
    divisor = y if isinstance(y, svod.Tensor) else svod.full((), y, dtype=x.dtype)
    made: svod.Tensor = svod.where((below != 0) & ((x < 0) != (divisor < 0)), below - divisor, below)
    return made


def _is_integer(x: svod.Tensor) -> bool:
    return "int" in str(x.dtype)


@aten("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar", promotion=SAME)
def power(x: Any, y: Any) -> Any:
    return x**y


@aten("maximum", promotion=SAME)
def maximum(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
    return svod.maximum(x, y)


@aten("minimum", promotion=SAME)
def minimum(x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
    return svod.minimum(x, y)


@aten("where.self", call=True)
def where(call: Call, condition: svod.Tensor, x: svod.Tensor, y: svod.Tensor) -> svod.Tensor:
    return svod.where(condition, x.cast(call.dtype), y.cast(call.dtype))


@aten("clamp", "clamp.Tensor", promotion=SAME)
def clamp(x: svod.Tensor, min: Any = None, max: Any = None) -> svod.Tensor:
    return x.clamp(min, max)


@aten("clamp_min", "clamp_min.Tensor", promotion=SAME)
def clamp_min(x: svod.Tensor, min: Any) -> svod.Tensor:
    return x.clamp(min, None)


@aten("clamp_max", "clamp_max.Tensor", promotion=SAME)
def clamp_max(x: svod.Tensor, max: Any) -> svod.Tensor:
    return x.clamp(None, max)


@aten("round", promotion=SAME)
def round(x: svod.Tensor) -> svod.Tensor:
    return x.round()


@aten("gelu", promotion=FLOAT)
def gelu(x: svod.Tensor, approximate: str = "none") -> svod.Tensor:
    return x.gelu(approximate)


@aten("hardtanh", promotion=SAME)
def hardtanh(x: svod.Tensor, min_val: float = -1, max_val: float = 1) -> svod.Tensor:
    return x.clamp(min_val, max_val)


@aten("leaky_relu", promotion=SAME)
def leaky_relu(x: svod.Tensor, negative_slope: float = 0.01) -> svod.Tensor:
    return svod.where(x > 0, x, x * negative_slope)


@aten("elu", promotion=SAME)
def elu(x: svod.Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> svod.Tensor:
    negative = alpha * ((x * input_scale).clamp(None, 0).exp() - 1)
    return svod.where(x > 0, x, negative) * scale


@aten("masked_fill.Scalar", "masked_fill.Tensor", call=True)
def masked_fill(call: Call, x: svod.Tensor, mask: svod.Tensor, value: Any) -> svod.Tensor:
    return svod.where(mask, value.cast(x.dtype) if isinstance(value, svod.Tensor) else value, x)


@aten("_to_copy", "prims::convert_element_type")
def to_copy(x: svod.Tensor, *_: Any, **options: Any) -> svod.Tensor:
    # Every result is cast to the type that PyTorch gives it.
    device = options.get("device")
    if device is None:
        return x
    if not is_device(device):
        raise Unsupported(f"a copy to {device}")
    return x.to(named(device) or "CPU")


@aten("view.dtype", call=True)
def view_dtype(call: Call, x: svod.Tensor, to: Any) -> svod.Tensor:
    if x.dtype.itemsize != call.dtype.itemsize:
        raise Unsupported("a view as a type of another width")
    return x.bitcast(dtype(to))
