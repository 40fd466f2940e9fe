"""Operations that svod's library has by name and in PyTorch's order of arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import svod
from svod.torch._table import PROMOTION, aten

_FLOAT, _SAME = PROMOTION.INT_TO_FLOAT, PROMOTION.DEFAULT

# By operation, with how operands are promoted.
_FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "addbmm": (svod.addbmm, None),
    "copysign.Tensor": (svod.copysign, _FLOAT),
    "copysign.Scalar": (svod.copysign, _FLOAT),
    "cummax": (svod.cummax, None),
    "cummin": (svod.cummin, None),
    "diagonal_scatter": (svod.diagonal_scatter, None),
    "dist": (svod.dist, None),
    "fmax": (svod.fmax, _SAME),
    "fmin": (svod.fmin, _SAME),
    "frexp.Tensor": (svod.frexp, None),
    "grid_sampler_3d": (svod.grid_sampler_3d, None),
    "igamma": (svod.igamma, _FLOAT),
    "igammac": (svod.igammac, _FLOAT),
    "kthvalue": (svod.kthvalue, None),
    "ldexp.Tensor": (svod.ldexp, None),
    "masked_scatter": (svod.masked_scatter, None),
    "median": (svod.median, None),
    "median.dim": (svod.median, None),
    "mode": (svod.mode, None),
    "nanmedian": (svod.nanmedian, None),
    "nanmedian.dim": (svod.nanmedian, None),
    "polygamma": (svod.polygamma, None),
    "put": (svod.put, None),
    "take": (svod.take, None),
    "trace": (svod.trace, None),
}
for _name, (_function, _promotion) in _FUNCTIONS.items():
    aten(_name, promotion=_promotion)(_function)


@aten("prims::fma", promotion=_SAME)
def fma(x: Any, y: Any, z: Any) -> Any:
    return x * y + z
