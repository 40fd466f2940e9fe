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
    "diagonal_scatter": (svod.diagonal_scatter, None),
    "dist": (svod.dist, None),
    "fmax": (svod.fmax, _SAME),
    "fmin": (svod.fmin, _SAME),
    "frexp.Tensor": (svod.frexp, None),
    "igamma": (svod.igamma, _FLOAT),
    "igammac": (svod.igammac, _FLOAT),
    "ldexp.Tensor": (svod.ldexp, None),
    "masked_scatter": (svod.masked_scatter, None),
    "median": (svod.median, None),
    "nanmedian": (svod.nanmedian, None),
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


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of a tensor without axes, the one element and its position."""

    def rule(x: svod.Tensor, *given: Any) -> Any:
        return function(x, *given) if x.ndim else (x, svod.zeros((), dtype=svod.int64))

    return rule


# Values along an axis, and where each was.
_ALONG: dict[str, Callable[..., Any]] = {
    "cummax": svod.cummax,
    "cummin": svod.cummin,
    "kthvalue": svod.kthvalue,
    "median.dim": svod.median,
    "mode": svod.mode,
    "nanmedian.dim": svod.nanmedian,
}
for _name, _function in _ALONG.items():
    aten(_name)(_along(_function))
