"""Polynomials as NumPy's functions have them: by their coefficients, that of the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from svod._place import device_of
from svod._svod import ArgumentError, ShapeError, Tensor, _operands, _tensor, arange, cat, ones, stack, zeros
from svod.library.reductions import _as_floats

__all__ = ["poly", "polyadd", "polyder", "polydiv", "polyfit", "polyint", "polymul", "polysub", "polyval", "roots"]


def poly(x: Tensor, /) -> Tensor:
    """The polynomial that has these roots, or the characteristic one of a square matrix, whose roots are its
    eigenvalues. Complex roots give complex coefficients.

    >>> import svod
    >>> svod.poly([1.0, 2.0]).tolist()
    [1.0, -3.0, 2.0]
    """
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.shape[0] != 0:
        from svod import linalg

        made = poly(linalg.eigvals(_as_floats(x)))
        return made if x.is_complex() else made.real
    if x.ndim > 1:
        raise ShapeError(f"poly: roots along one axis, or a square matrix, are expected, not shape {x.shape}")
    zero_at = _as_floats(x.reshape(-1))
    made = ones(1 if zero_at.shape[0] else (), dtype=zero_at.dtype, device=device_of(x))
    for i in range(zero_at.shape[0]):
        made = made.pad([(0, 1)]) - made.pad([(1, 0)]) * zero_at[i]
    return made


def polyadd(a1: Any, a2: Any, /) -> Tensor:
    """The sum of two polynomials.

    >>> import svod
    >>> svod.polyadd([1, 2], [3, 4, 5]).tolist()
    [3, 5, 7]
    """
    first, second = _same_length(a1, a2)
    return first + second


def polyder(p: Tensor, m: int = 1, /) -> Tensor:
    """The `m`-th derivative of a polynomial.

    >>> import svod
    >>> svod.polyder([1, 0, 5]).tolist()
    [2, 0]
    """
    if m < 0:
        raise ArgumentError(f"polyder: m: a number that is not negative is expected, not {m}")
    p = _line("polyder", p)
    for _ in range(m):
        powers = arange(p.shape[0] - 1, 0, -1) if p.shape[0] > 1 else zeros(0, dtype="int64")
        p = p[:-1] * powers.cast(p.dtype)
    return p


def polydiv(u: Any, v: Any, /) -> tuple[Tensor, Tensor]:
    """The quotient of two polynomials, and what is left, which has one coefficient less than `v`, or one that is 0.

    Unlike NumPy's what is left keeps leading zeros: how many there are depends on values.

    >>> import svod
    >>> [part.tolist() for part in svod.polydiv([1.0, 5.0, 8.0], [1.0, 2.0])]
    [[1.0, 3.0], [2.0]]
    """
    rest, by = _operands(u, v)
    rest, by = _as_floats(_line("polydiv", rest)), _as_floats(_line("polydiv", by))
    m, n = rest.shape[0], by.shape[0]
    quotient = []
    for _ in range(m - n + 1):
        quotient.append(rest[:1] / by[:1])
        rest = (
            (rest[:n] - quotient[-1] * by)[1:]
            if rest.shape[0] == n
            else cat([(rest[:n] - quotient[-1] * by)[1:], rest[n:]], 0)
        )
    nothing = zeros(1, dtype=rest.dtype, device=device_of(rest))
    return cat(quotient, 0) if quotient else nothing, rest if rest.shape[0] else nothing


def polyfit(x: Tensor, y: Tensor, deg: int, /, *, rcond: float | None = None, w: Tensor | None = None) -> Tensor:
    """The polynomial of a degree that comes nearest to points: of the least sum of squared distances, times `w`.

    Several columns of `y` give a column of coefficients each. It is computed in `float64`.

    >>> import svod
    >>> svod.polyfit([0.0, 1.0, 2.0], [1.0, 3.0, 5.0], 1).round(decimals=4).tolist()
    [2.0, 1.0]
    """
    x, y = _as_floats(x), _as_floats(y)
    if x.ndim != 1 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0] or x.shape[0] == 0:
        raise ShapeError(f"polyfit: points of one coordinate each are expected, not shapes {x.shape} and {y.shape}")
    if deg < 0:
        raise ArgumentError(f"polyfit: deg: a number that is not negative is expected, not {deg}")
    dtype = (x[:1] + y.flatten()[:1]).dtype
    wide = x.double()
    powers = stack([wide**power for power in range(deg, -1, -1)], 1)
    values = y.cast("complex128") if y.is_complex() else y.double()
    if w is not None:
        if w.shape != x.shape:
            raise ShapeError(f"polyfit: w: shape {x.shape} is expected, not {w.shape}")
        by = w.double()
        powers, values = powers * by.unsqueeze(1), values * (by if y.ndim == 1 else by.unsqueeze(1))
    scale = powers.square().sum(0).sqrt()
    scale = scale + (scale == 0)
    cut = x.shape[0] * 2.0**-52 if rcond is None else rcond
    from svod import linalg

    found = linalg.pinv(powers / scale, rtol=cut).cast(values.dtype) @ values
    return (found / (scale if y.ndim == 1 else scale.unsqueeze(1))).cast(dtype)


def polyint(p: Tensor, m: int = 1, /, k: float = 0) -> Tensor:
    """The `m`-th integral of a polynomial, with the constant `k`.

    >>> import svod
    >>> svod.polyint([2.0, 0.0], k=5).tolist()
    [1.0, 0.0, 5.0]
    """
    if m < 0:
        raise ArgumentError(f"polyint: m: a number that is not negative is expected, not {m}")
    p = _line("polyint", p)
    p = _as_floats(p) if m else p
    for _ in range(m):
        p = cat([p / arange(p.shape[0], 0, -1).cast(p.dtype), ones(1, dtype=p.dtype) * k], 0)
    return p


def polymul(a1: Any, a2: Any, /) -> Tensor:
    """The product of two polynomials.

    >>> import svod
    >>> svod.polymul([1, 1], [1, -1]).tolist()
    [1, 0, -1]
    """
    first, second = _operands(a1, a2)
    first, second = _line("polymul", first), _line("polymul", second)
    size = first.shape[0] + second.shape[0] - 1
    rows = [
        cat([zeros(i, dtype=second.dtype), first[i] * second, zeros(size - i - second.shape[0], dtype=second.dtype)], 0)
        for i in range(first.shape[0])
    ]
    return stack(rows, 0).sum(0, dtype=second.dtype)


def polysub(a1: Any, a2: Any, /) -> Tensor:
    """The difference of two polynomials.

    >>> import svod
    >>> svod.polysub([1, 2], [3, 4, 5]).tolist()
    [-3, -3, -3]
    """
    first, second = _same_length(a1, a2)
    return first - second


def polyval(p: Any, x: Any, /) -> Tensor:
    """A polynomial's values, by Horner's rule.

    >>> import svod
    >>> svod.polyval([1, 0, 5], svod.Tensor([0, 2])).tolist()
    [5, 9]
    """
    coefficients, at = _operands(p, x)
    coefficients = _line("polyval", coefficients)
    value = at * 0
    for i in range(coefficients.shape[0]):
        value = value * at + coefficients[i]
    return value


def roots(p: Tensor, /) -> Tensor:
    """A polynomial's roots, complex numbers, as the eigenvalues of its companion matrix; computed now.

    >>> import svod
    >>> sorted(svod.roots([1.0, -3.0, 2.0]).real.round(decimals=4).tolist())
    [1.0, 2.0]
    """
    p = _line("roots", p)
    values = _as_floats(p).numpy()
    at = np.flatnonzero(values)
    kind = values.dtype if values.dtype.kind == "c" else np.result_type(values.dtype, np.complex64)
    if not len(at):
        return Tensor(np.zeros(0, kind))
    zero_roots = Tensor(np.zeros(len(values) - 1 - at[-1], kind))
    values = values[at[0] : at[-1] + 1].astype(np.result_type(values.dtype, np.float32))
    if len(values) == 1:
        return zero_roots
    companion = np.diag(np.ones(len(values) - 2, values.dtype), -1)
    companion[0] = -values[1:] / values[0]
    from svod import linalg

    return cat([linalg.eigvals(Tensor(companion)), zero_roots], 0)


def _line(name: str, p: Any) -> Tensor:
    """Coefficients along one axis."""
    p = _tensor(p)
    if p.ndim > 1 or p.numel() == 0:
        raise ShapeError(f"{name}: coefficients along one axis are expected, not shape {p.shape}")
    line: Tensor = p.reshape(-1)
    return line


def _same_length(a1: Any, a2: Any) -> tuple[Tensor, Tensor]:
    first, second = _operands(a1, a2)
    first, second = first.reshape(-1), second.reshape(-1)
    size = max(first.shape[0], second.shape[0])
    return first.pad([(size - first.shape[0], 0)]), second.pad([(size - second.shape[0], 0)])
