"""Products, powers and exponentials of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod._extension import public
from svod._svod import ArgumentError, ShapeError, Tensor, _tensor, eye, stack, sum, where
from svod.library import diagonals
from svod.linalg._matrices import column, matrices
from svod.linalg._norms import matrix_norm
from svod.linalg._solve import inv, solve

# The coefficients of Padé's approximant of order 13, and the norm up to which it is exact to rounding (Higham 2005).
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_THETA, _MOST_SQUARINGS = 5.37, 24


@public
def cross(x1: Any, x2: Any, /, axis: int = -1) -> Tensor:
    """The vector products along an axis of 3."""
    a, b = _tensor(x1), _tensor(x2)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ShapeError(f"cross: axis {axis} is of 3, not of {a.shape[axis]} and {b.shape[axis]}")
    a, b = a.movedim(axis, -1), b.movedim(axis, -1)
    parts = [a[..., (i + 1) % 3] * b[..., (i + 2) % 3] - a[..., (i + 2) % 3] * b[..., (i + 1) % 3] for i in range(3)]
    return stack(parts, -1).movedim(-1, axis)


@public
def diagonal(x: Any, /, offset: int = 0) -> Tensor:
    """The diagonals of matrices, or those `offset` above.

    >>> import svod
    >>> svod.linalg.diagonal([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    return diagonals.diagonal(_tensor(x), offset, -2, -1)


@public
def expm(x: Any, /) -> Tensor:
    """The exponentials of matrices, by scaling and squaring (Higham 2005), of norms up to 5 · 2²⁴.

    >>> import svod
    >>> svod.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    x = matrices("expm", x, square=True)
    size = matrix_norm(x.detach(), ord=1, keepdims=True)
    squarings = (size / _THETA).log2().ceil().clamp(0, _MOST_SQUARINGS)
    a = x / squarings.exp2()
    b, one = _PADE, eye(x.shape[-1], dtype=x.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a6 @ (a6 * b[13] + a4 * b[11] + a2 * b[9]) + a6 * b[7] + a4 * b[5] + a2 * b[3] + one * b[1]
    even = a6 @ (a6 * b[12] + a4 * b[10] + a2 * b[8]) + a6 * b[6] + a4 * b[4] + a2 * b[2] + one * b[0]
    odd = a @ odd
    power = solve(even - odd, even + odd)
    for step in range(_MOST_SQUARINGS):
        power = where(squarings > step, power @ power, power)
    return power


@public
def matrix_power(x: Any, n: int, /) -> Tensor:
    """The `n`-th powers of matrices, of their inverses where `n` is negative."""
    x = matrices("matrix_power", x, square=True)
    if n < 0:
        return matrix_power(inv(x), -n)
    power = None
    while n:
        if n & 1:
            power = x if power is None else power @ x
        n >>= 1
        x = x @ x if n else x
    return eye(x.shape[-1], dtype=x.dtype).expand(*x.shape) if power is None else power


@public
def multi_dot(arrays: Sequence[Any], /) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications."""
    given = [_tensor(one) for one in arrays]
    if len(given) < 2:
        raise ArgumentError(f"multi_dot: takes at least 2 matrices, not {len(given)}")
    extents = [given[0].shape[0] if given[0].ndim == 2 else 1, *(one.shape[-1] for one in given[:-1])]
    extents.append(given[-1].shape[-1] if given[-1].ndim == 2 else 1)
    count = len(given)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(count)}
    for length in range(2, count + 1):
        for i in range(count - length + 1):
            j = i + length - 1
            best[i, j] = min(
                (best[i, k][0] + best[k + 1, j][0] + extents[i] * extents[k + 1] * extents[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Tensor:
        k = best[i, j][1]
        return given[i] if i == j else product(i, k) @ product(k + 1, j)

    return product(0, count - 1)


@public
def outer(x1: Any, x2: Any, /) -> Tensor:
    """The products of each element of a vector with each of another."""
    return column(_tensor(x1)) * _tensor(x2)


@public
def trace(x: Any, /, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices.

    >>> import svod
    >>> svod.linalg.trace([[1, 2], [3, 4]]).item()
    5
    """
    return sum(diagonal(x, offset), axis=-1, dtype=dtype)
