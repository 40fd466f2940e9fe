"""Complex numbers and spectra."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import svod
from svod import fft
from svod.torch._table import PROMOTION, Call, aten

_SAME = PROMOTION.DEFAULT

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "complex": svod.complex,
    "polar": svod.polar,
    "view_as_complex": svod.view_as_complex,
    "view_as_real": svod.view_as_real,
}
for _name, _function in _FUNCTIONS.items():
    aten(_name)(_function)


@aten("_conj", "_conj_physical", "conj_physical", "conj")
def conj(x: svod.Tensor) -> svod.Tensor:
    return x.conj()


@aten("resolve_conj", "resolve_neg")
def resolved(x: svod.Tensor) -> svod.Tensor:
    # Nothing is put off here.
    return x


@aten("real")
def real(x: svod.Tensor) -> svod.Tensor:
    return x.real


@aten("imag")
def imag(x: svod.Tensor) -> svod.Tensor:
    return x.imag


@aten("angle")
def angle(x: svod.Tensor) -> svod.Tensor:
    return x.angle()


@aten("sgn", promotion=_SAME)
def sgn(x: svod.Tensor) -> svod.Tensor:
    return x.sgn()


# What PyTorch numbers factors of spectra by: none, one over the root of the number of points, one over the number.
_BY_NONE, _BY_ROOT, _BY_NUMBER = 0, 1, 2


@aten("_fft_c2c")
def c2c(x: svod.Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    dims, count = tuple(dim), math.prod(x.shape[axis] for axis in dim)
    if forward:
        return fft.fftn(x, dim=dims) * _factor(normalization, count)
    # The inverse divides by the number of points.
    return fft.ifftn(x, dim=dims) * (count * _factor(normalization, count))


@aten("_fft_r2c")
def r2c(x: svod.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    dims, count = tuple(dim), math.prod(x.shape[axis] for axis in dim)
    transform: Callable[..., svod.Tensor] = fft.rfftn if onesided else fft.fftn
    return transform(x, dim=dims) * _factor(normalization, count)


@aten("_fft_c2r", call=True)
def c2r(call: Call, x: svod.Tensor, dim: Sequence[int], normalization: int, last: Any) -> Any:
    dims = tuple(dim)
    extents = [*(x.shape[axis] for axis in dims[:-1]), call.sizes(last)]
    count = math.prod(extents)
    return fft.irfftn(x, s=tuple(extents), dim=dims) * (count * _factor(normalization, count))


def _factor(normalization: int, count: Any) -> Any:
    if normalization == _BY_NONE:
        return 1
    return 1 / math.sqrt(count) if normalization == _BY_ROOT else 1 / count
