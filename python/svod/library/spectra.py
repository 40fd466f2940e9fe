"""Spectra of parts of a signal."""

from __future__ import annotations

from math import sqrt

from svod import fft
from svod._svod import ArgumentError, ShapeError, Tensor, ones, view_as_real

__all__ = ["istft", "stft"]


def stft(
    x: Tensor,
    /,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool = True,
) -> Tensor:
    """The spectra of overlapping parts of signals `(batch, samples)` or `(samples,)`, `(…, frequencies, parts)`.

    A part has `n_fft` samples and begins `hop_length` after the one before, by default a quarter of that; it is
    multiplied by a `window` of `win_length`, which is ones if none is given. With `center` the k-th part has its middle
    at sample k times `hop_length`, and the signal is continued at its ends as `pad_mode` says. Of real signals only
    frequencies from 0 up are told, unless `onesided` is false. `normalized` divides by the root of `n_fft`. Without
    `return_complex` the last dimension is that of the two parts of numbers.

    Allen and Rabiner 1977.

    >>> import svod
    >>> svod.stft(svod.ones(16), 8, 4).abs()[:2, 1].tolist()
    [8.0, 0.0]
    """
    if len(x.shape) not in (1, 2):
        raise ShapeError(f"stft: signals of 1 or 2 dimensions are expected, not {tuple(x.shape)}")
    hop, shape = _checked("stft", n_fft, hop_length, win_length, window)
    one_sided = not x.is_complex() if onesided is None else onesided
    if one_sided and x.is_complex():
        raise ArgumentError("stft: of complex signals all frequencies are told: onesided=False")
    signals = x.reshape(1, -1) if len(x.shape) == 1 else x
    if center:
        from svod.nn.functional import pad

        signals = pad(signals[:, None], (n_fft // 2, n_fft // 2), mode=pad_mode)[:, 0]
    if signals.shape[1] < n_fft:
        raise ShapeError(f"stft: a signal of {signals.shape[1]} samples has no part of {n_fft}")
    parts = signals.unfold(1, n_fft, hop)
    # A signal of integers has spectra of floats.
    parts = parts * (ones(n_fft) if shape is None else shape)
    spectra = (fft.rfft if one_sided else fft.fft)(parts, axis=-1).transpose(1, 2)
    spectra = spectra / sqrt(n_fft) if normalized else spectra
    spectra = spectra[0] if len(x.shape) == 1 else spectra
    return spectra if return_complex else view_as_real(spectra)


def istft(
    x: Tensor,
    /,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signals whose `stft` these are, by least squares where none has such spectra: `(batch, samples)`.

    Parts are multiplied by the window again, added where they overlap, and divided by the sum of the squares of
    windows. A `length` cuts the signal, or continues it by zeros.

    Griffin and Lim 1984.

    >>> import svod
    >>> x, window = svod.arange(16.0), svod.hann_window(8)
    >>> spectra = svod.stft(x, 8, 4, window=window)
    >>> svod.allclose(svod.istft(spectra, 8, 4, window=window), x, atol=1e-5)
    True
    """
    if len(x.shape) not in (2, 3) or not x.is_complex():
        raise ShapeError(
            f"istft: complex spectra (batch, frequencies, parts) are expected, not {x.dtype}{tuple(x.shape)}"
        )
    hop, shape = _checked("istft", n_fft, hop_length, win_length, window)
    spectra = x[None] if len(x.shape) == 2 else x
    frequencies = int(spectra.shape[1])
    one_sided = (frequencies != n_fft and not return_complex) if onesided is None else onesided
    if frequencies != (n_fft // 2 + 1 if one_sided else n_fft):
        raise ShapeError(f"istft: {frequencies} frequencies for n_fft={n_fft}, onesided={one_sided}")
    rows = spectra.transpose(1, 2) * (sqrt(n_fft) if normalized else 1)
    # Of a real signal the frequencies from 0 up tell all.
    parts = fft.ifft(rows, n_fft, axis=-1) if return_complex else fft.irfft(rows, n_fft, axis=-1)
    shape = ones(n_fft) if shape is None else shape
    count = int(parts.shape[1])
    total = _overlapped(parts * shape, hop)
    weight = _overlapped((shape * shape).expand(1, count, n_fft), hop)
    first = n_fft // 2 if center else 0
    last = int(total.shape[1]) - first if length is None else first + length
    total, weight = total[:, first:last], weight[:, first:last]
    signals = total / weight
    missing = 0 if length is None else length - int(signals.shape[1])
    if missing > 0:
        signals = signals.pad([(0, 0), (0, missing)])
    return signals[0] if len(x.shape) == 2 else signals


def _checked(
    name: str, n_fft: int, hop_length: int | None, win_length: int | None, window: Tensor | None
) -> tuple[int, Tensor | None]:
    """The distance of parts, and the window as long as a part."""
    hop = n_fft // 4 if hop_length is None else hop_length
    size = n_fft if win_length is None else win_length
    if n_fft < 1 or hop < 1 or not 1 <= size <= n_fft:
        raise ArgumentError(f"{name}: n_fft={n_fft}, hop_length={hop}, win_length={size}: no parts of a signal")
    if window is None:
        window = None if size == n_fft else ones(size)
    elif tuple(window.shape) != (size,):
        raise ShapeError(f"{name}: a window of {tuple(window.shape)} for win_length={size}")
    if window is None or size == n_fft:
        return hop, window
    before = (n_fft - size) // 2
    return hop, window.pad([(before, n_fft - size - before)])


def _overlapped(parts: Tensor, hop: int) -> Tensor:
    """The sums of parts `(batch, count, size)`, each `hop` behind the one before."""
    batch, count, size = (int(n) for n in parts.shape)
    # Pieces of `hop` samples: the j-th of a part is added to those of later parts that lie there.
    pieces = -(-size // hop)
    parts = parts.pad([(0, 0), (0, 0), (0, pieces * hop - size)]).reshape(batch, count, pieces, hop)
    total = None
    for j in range(pieces):
        shifted = parts[:, :, j].pad([(0, 0), (j, pieces - 1 - j), (0, 0)])
        total = shifted if total is None else total + shifted
    assert total is not None
    return total.reshape(batch, -1)[:, : (count - 1) * hop + size]
