"""Complex numbers and spectra."""

from __future__ import annotations

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
    return svod.Tensor(x).conj()


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


# By PyTorch's number of a factor, none, one over the root of the number of points, or one over it: the way in which a
# transform has it.
_FORWARD, _INVERSE = ("backward", "ortho", "forward"), ("forward", "ortho", "backward")


@aten("_fft_c2c")
def c2c(x: svod.Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    if forward:
        return fft.fftn(x, dim=tuple(dim), norm=_FORWARD[normalization])
    return fft.ifftn(x, dim=tuple(dim), norm=_INVERSE[normalization])


@aten("_fft_r2c")
def r2c(x: svod.Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    transform: Callable[..., svod.Tensor] = fft.rfftn if onesided else fft.fftn
    return transform(x, dim=tuple(dim), norm=_FORWARD[normalization])


@aten("_fft_c2r", call=True)
def c2r(call: Call, x: svod.Tensor, dim: Sequence[int], normalization: int, last: Any) -> Any:
    extents = (*(x.shape[axis] for axis in dim[:-1]), call.sizes(last))
    return fft.irfftn(x, s=extents, dim=tuple(dim), norm=_INVERSE[normalization])
