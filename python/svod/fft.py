"""Discrete Fourier transforms: the extension `fft` of the array API standard, and the functions of NumPy beside it.

Transforms of any length, of real and complex numbers, along any axes. They are functions of the host in a plan, over
svod's own threads, have derivatives, and may be traced by `svod.jit`.

`n`, or `s` for several axes, cuts or fills an axis with zeros before. `norm` says where the factor is: "backward" (1/n
in inverse transforms), "forward" (1/n in the others) or "ortho" (1/√n in both).

>>> import svod
>>> svod.fft.fft([1.0, 2.0, 3.0]).real.tolist()
[6.0, -1.5, -1.5]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from svod._extension import public
from svod._svod import ArgumentError, DType, DTypeError, Tensor, _tensor, arange, float32, full
from svod.library._axes import axis_of
from svod.library.dtypes import _dtype

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

# Where the factor 1/n is, as the power to which n is raised: in transforms forward, and in inverse ones.
_NORMS = {None: (0.0, -1.0), "backward": (0.0, -1.0), "ortho": (-0.5, -0.5), "forward": (-1.0, 0.0)}


def _scaled(op: str, x: Tensor, norm: str | None, n: Any, inverse: bool) -> Tensor:
    """A transform of `n` numbers with its factor, which may follow from a size."""
    if norm not in _NORMS:
        raise ArgumentError(f"{op}: norm is 'backward', 'ortho' or 'forward', not {norm!r}")
    power = _NORMS[norm][inverse]
    if power == 0.0:
        return x
    if isinstance(n, int):
        return x * math.pow(n, power)
    real = "float64" if x.dtype in ("float64", "complex128") else "float32"
    return x * full((), n, dtype=real).pow(power)


def _extent(op: str, x: Tensor, axis: int) -> Any:
    """The extent of an axis, which has to be there."""
    return x.shape[axis_of(op, axis, x.ndim)]


def _at_least_one(op: str, n: Any) -> Any:
    """A length that a transform can have."""
    if n < 1:
        raise ArgumentError(f"{op}: a transform is of at least 1 number, not {n}")
    return n


def _sized(op: str, x: Tensor, n: Any, axis: int) -> Tensor:
    """`x` with `n` elements along an axis: the first ones, or zeros behind all."""
    have = _extent(op, x, axis)
    n = _at_least_one(op, have if n is None else n)
    if n == have:
        return x
    if n < have:
        return x.narrow(axis, 0, n)
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, n - have)
    return x.pad(tuple(widths))


@public
def fft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform along an axis.

    >>> import svod
    >>> svod.fft.fft([1.0, 0.0, 0.0, 0.0]).tolist()
    [(1+0j), (1+0j), (1+0j), (1+0j)]
    """
    x = _sized("fft", _tensor(x), n, axis)
    return _scaled("fft", x._fft(axis, False), norm, x.shape[axis], False)


@public
def ifft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    x = _sized("ifft", _tensor(x), n, axis)
    return _scaled("ifft", x._fft(axis, True), norm, x.shape[axis], True)


@public
def rfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform of real numbers: its first n // 2 + 1 terms, of which the others are the conjugates."""
    x = _sized("rfft", _tensor(x), n, axis)
    return _scaled("rfft", x._rfft(axis), norm, x.shape[axis], False)


@public
def irfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: `n` real numbers, 2 (m - 1) of m terms unless it is given."""
    return _to_real("irfft", _tensor(x), n, axis, norm, inverse=True)


@public
def hfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The transform, which is real, of the first half of numbers that are the conjugates of those mirrored."""
    return _to_real("hfft", _tensor(x).conj(), n, axis, norm, inverse=False)


@public
def ihfft(x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    x = _sized("ihfft", _tensor(x), n, axis)
    return _scaled("ihfft", x._rfft(axis).conj(), norm, x.shape[axis], True)


def _to_real(op: str, x: Tensor, n: int | None, axis: int, norm: str | None, *, inverse: bool) -> Tensor:
    n = _at_least_one(op, 2 * (_extent(op, x, axis) - 1) if n is None else n)
    x = _sized(op, x, n // 2 + 1, axis)
    return _scaled(op, x._irfft(axis, n % 2 == 1), norm, n, inverse)


def _places(
    op: str, x: Tensor, s: int | Sequence[int] | None, axes: int | Sequence[int] | None
) -> list[tuple[int, int | None]]:
    """The axes, each with the number of its elements that is wanted."""
    s, axes = ([one] if isinstance(one, int) else one for one in (s, axes))
    if axes is None:
        axes = range(x.ndim) if s is None else range(-len(s), 0)
    axes = [axis_of(op, axis, x.ndim) for axis in axes]
    if s is not None and len(s) != len(axes):
        raise ArgumentError(f"{op}: {len(s)} extents s for {len(axes)} axes")
    return list(zip(axes, s if s is not None else [None] * len(axes), strict=True))


@public
def fftn(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The transform along several axes, by default all, or the last ones where `s` is given."""
    y: Tensor = _tensor(x)
    for axis, n in reversed(_places("fftn", y, s, axes)):
        y = fft(y, n=n, axis=axis, norm=norm)
    return y


@public
def ifftn(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `fftn`."""
    y: Tensor = _tensor(x)
    for axis, n in reversed(_places("ifftn", y, s, axes)):
        y = ifft(y, n=n, axis=axis, norm=norm)
    return y


@public
def rfftn(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The transform of real numbers along several axes; the last one is that of `rfft`."""
    y: Tensor = _tensor(x)
    *others, (axis, n) = _places("rfftn", y, s, axes)
    y = rfft(y, n=n, axis=axis, norm=norm)
    for axis, n in reversed(others):
        y = fft(y, n=n, axis=axis, norm=norm)
    return y


@public
def irfftn(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] | None = None, norm: str | None = None
) -> Tensor:
    """The inverse of `rfftn`."""
    x = _tensor(x)
    *others, (axis, n) = _places("irfftn", x, s, axes)
    for other, extent in others:
        x = ifft(x, n=extent, axis=other, norm=norm)
    return irfft(x, n=n, axis=axis, norm=norm)


@public
def fft2(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """`fftn` along two axes."""
    return fftn(x, s=s, axes=axes, norm=norm)


@public
def ifft2(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """`ifftn` along two axes."""
    return ifftn(x, s=s, axes=axes, norm=norm)


@public
def rfft2(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """`rfftn` along two axes."""
    return rfftn(x, s=s, axes=axes, norm=norm)


@public
def irfft2(
    x: Any, /, s: Sequence[int] | None = None, axes: int | Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """`irfftn` along two axes."""
    return irfftn(x, s=s, axes=axes, norm=norm)


@public
def hfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several axes, after the transforms along the others."""
    x = _tensor(x)
    *others, (axis, n) = _places("hfftn", x, s, axes)
    for other, extent in others:
        x = fft(x, extent, other, norm)
    return hfft(x, n, axis, norm)


@public
def ihfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`."""
    x = _tensor(x)
    *others, (axis, n) = _places("ihfftn", x, s, axes)
    x = ihfft(x, n, axis, norm)
    for other, extent in others:
        x = ifft(x, extent, other, norm)
    made: Tensor = x
    return made


@public
def hfft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along two axes."""
    return hfftn(x, s=s, axes=axes, norm=norm)


@public
def ihfft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ihfftn` along two axes."""
    return ihfftn(x, s=s, axes=axes, norm=norm)


@public
def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies of the terms of `fft`, for samples `d` apart.

    >>> import svod
    >>> svod.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    at = arange(n, device=device)
    return ((at + n // 2) % n - n // 2).astype(_of_floats("fftfreq", dtype)) / (n * d)


@public
def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies of the terms of `rfft`, for samples `d` apart.

    >>> import svod
    >>> svod.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    return arange(n // 2 + 1, device=device).astype(_of_floats("rfftfreq", dtype)) / (n * d)


def _of_floats(op: str, dtype: Any) -> DType:
    """The type of fractions; `float32` where none is named."""
    made = _dtype(dtype) if dtype is not None else float32
    if not made.is_floating_point:
        raise DTypeError(f"{op}: dtype: a type of floats is expected, not {made.name}")
    return made


@public
def fftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """The terms of `fft` with that of frequency 0 in the middle.

    >>> import svod
    >>> svod.fft.fftshift([0, 1, 2, -2, -1]).tolist()
    [-2, -1, 0, 1, 2]
    """
    y: Tensor = _tensor(x)
    for axis in _axes("fftshift", y, axes):
        y = y.roll(y.shape[axis] // 2, axis)
    return y


@public
def ifftshift(x: Any, /, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    y: Tensor = _tensor(x)
    for axis in _axes("ifftshift", y, axes):
        y = y.roll(-(y.shape[axis] // 2), axis)
    return y


def _axes(op: str, x: Tensor, axes: int | Sequence[int] | None) -> list[int]:
    if axes is None:
        return list(range(x.ndim))
    return [axis_of(op, axis, x.ndim) for axis in ([axes] if isinstance(axes, int) else axes)]
