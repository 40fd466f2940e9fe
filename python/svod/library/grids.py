"""Positions and windows by NumPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from svod._svod import ArgumentError, ShapeError, Tensor, _tensor, arange, ones, stack, zeros
from svod.library.creation import tril
from svod.library.making import bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window

__all__ = ["bartlett", "blackman", "fromfunction", "hamming", "hanning", "indices", "ix_", "kaiser", "tri"]


def bartlett(M: int, /, *, dtype: Any = None) -> Tensor:
    """Bartlett's window of so many points, a triangle; `svod.bartlett_window` has periodic ones.

    >>> import svod
    >>> svod.bartlett(3).tolist()
    [0.0, 1.0, 0.0]
    """
    return _window(bartlett_window, M, dtype)


def blackman(M: int, /, *, dtype: Any = None) -> Tensor:
    """Blackman's window of so many points; `svod.blackman_window` has periodic ones.

    >>> import svod
    >>> svod.blackman(5).shape
    (5,)
    """
    return _window(blackman_window, M, dtype)


def fromfunction(function: Callable[..., Any], shape: Sequence[int], *, dtype: Any = None) -> Tensor:
    """What a function makes of the positions along each axis, tensors of the shape; `float32`, unless a type is named.

    >>> import svod
    >>> svod.fromfunction(lambda i, j: i + 2 * j, (2, 2), dtype=int).tolist()
    [[0, 2], [1, 3]]
    """
    made = function(*indices(shape, dtype="float32" if dtype is None else dtype))
    return made if isinstance(made, Tensor) else _tensor(made)


def hamming(M: int, /, *, dtype: Any = None) -> Tensor:
    """Hamming's window of so many points, a raised cosine; `svod.hamming_window` has periodic ones.

    >>> import svod
    >>> svod.hamming(5).shape
    (5,)
    """
    return _window(hamming_window, M, dtype)


def hanning(M: int, /, *, dtype: Any = None) -> Tensor:
    """Hann's window of so many points, a raised cosine; `svod.hann_window` has periodic ones.

    >>> import svod
    >>> svod.hanning(3).tolist()
    [0.0, 1.0, 0.0]
    """
    return _window(hann_window, M, dtype)


def indices(dimensions: Sequence[int], *, dtype: Any = "int64") -> Tensor:
    """The positions along each axis of a shape, one behind the other.

    >>> import svod
    >>> svod.indices((2, 2)).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    shape = tuple(dimensions)
    if not shape:
        return zeros(0, dtype=dtype)
    rows = [
        arange(extent).reshape(*(-1 if i == axis else 1 for i in range(len(shape)))).expand(*shape)
        for axis, extent in enumerate(shape)
    ]
    return stack(rows, 0).cast(dtype)


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Indices of which each is for an axis of its own: `x[svod.ix_(rows, columns)]` has all pairs. Masks give
    their positions.

    >>> import svod
    >>> svod.arange(9).reshape(3, 3)[svod.ix_([0, 2], [1, 2])].tolist()
    [[1, 2], [7, 8]]
    """
    lines = []
    for axis, one in enumerate(args):
        line = _tensor(one)
        if line.ndim != 1:
            raise ShapeError(f"ix_: indices along one axis are expected, not shape {line.shape}")
        if line.numel() == 0:
            line = line.long()
        line = line.nonzero()[:, 0] if str(line.dtype) == "bool" else line
        lines.append(line.reshape(*(-1 if i == axis else 1 for i in range(len(args)))))
    return tuple(lines)


def kaiser(M: int, beta: float, /, *, dtype: Any = None) -> Tensor:
    """Kaiser's window of so many points; `svod.kaiser_window` has periodic ones.

    >>> import svod
    >>> svod.kaiser(5, 12.0).shape
    (5,)
    """
    return _window(lambda points, periodic, dtype: kaiser_window(points, periodic, beta, dtype=dtype), M, dtype)


def tri(N: int, M: int | None = None, k: int = 0, *, dtype: Any = "float32") -> Tensor:
    """Ones on a diagonal and below it, zeros above.

    >>> import svod
    >>> svod.tri(2, 3).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    return tril(ones(N, N if M is None else M, dtype=dtype), k=k)


def _window(window: Callable[..., Tensor], points: int, dtype: Any) -> Tensor:
    if points < 0:
        raise ArgumentError(f"a window has no {points} points")
    return window(points, False, dtype=dtype)
