"""Products, powers and exponentials of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from svod._control import while_loop
from svod._extension import public
from svod._svod import ArgumentError, Tensor, _may_be_differentiated, _tensor, eye, sum, where, zeros
from svod._svod import complex as joined
from svod._vmap import is_batching
from svod.library.diagonals import diagonal as _diagonal
from svod.library.dtypes import finfo
from svod.library.products import _chained
from svod.linalg._matrices import column, matrices, row
from svod.linalg._norms import matrix_norm
from svod.linalg._solve import inv, solve

# Padé's approximants of the exponential, of order 13 in double precision, else of order 7, and the norm up to which
# each is exact to rounding (Higham 2005).
_DOUBLE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
), 5.37  # fmt: skip
_SINGLE = (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0), 3.92
_MOST_SQUARINGS = 24


@public
def diagonal(x: Any, /, offset: int = 0, *, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, or those `offset` above; of the last two dimensions, or of `dim1` and `dim2`.

    >>> import svod
    >>> svod.linalg.diagonal([[1, 2], [3, 4]]).tolist()
    [1, 4]
    """
    return _diagonal(_tensor(x), offset, dim1, dim2)


@public
def expm(x: Any, /) -> Tensor:
    """The exponentials of matrices, by scaling and squaring (Higham 2005), of norms up to 5 · 2²⁴.

    >>> import svod
    >>> svod.linalg.expm([[0.0, 1.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    x = matrices("expm", x, square=True)
    if 0 in x.shape:
        empty: Tensor = x * 1
        return empty
    size = matrix_norm(x.detach(), ord=1, keepdims=True)
    b, most = _SINGLE if finfo(x.dtype).bits == 32 else _DOUBLE
    squarings = (size / most).log2().ceil().clamp(0, _MOST_SQUARINGS)
    a = x / squarings.exp2()
    one, a2 = eye(x.shape[-1], dtype=x.dtype), a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a6 * b[7] + a4 * b[5] + a2 * b[3] + one * b[1]
    even = a6 * b[6] + a4 * b[4] + a2 * b[2] + one * b[0]
    if len(b) > 8:
        odd = odd + a6 @ (a6 * b[13] + a4 * b[11] + a2 * b[9])
        even = even + a6 @ (a6 * b[12] + a4 * b[10] + a2 * b[8])
    odd = a @ odd
    power = solve(even - odd, even + odd)
    if _may_be_differentiated(x) or is_batching():
        # Of a loop that data ends there is no derivative, nor one of a batch.
        for step in range(_MOST_SQUARINGS):
            power = where(squarings > step, power @ power, power)
        return power

    def squared(state: tuple[Tensor, list[Tensor]]) -> tuple[Tensor, list[Tensor]]:
        step, parts = state
        whole = _whole(parts)
        return step + 1, _parts(where(squarings > step, whole @ whole, whole))

    first = (zeros(dtype=squarings.dtype), _parts(power))
    return _whole(while_loop(lambda state: (squarings > state[0]).any(), squared, first)[1])


def _parts(x: Tensor) -> list[Tensor]:
    """What loops carry: real numbers."""
    return [x.real, x.imag] if x.is_complex() else [x]


def _whole(parts: list[Tensor]) -> Tensor:
    return joined(*parts) if len(parts) == 2 else parts[0]


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
    first, last = given[0], given[-1]
    product = _chained(
        "multi_dot", [first if first.ndim != 1 else row(first), *given[1:-1], last if last.ndim != 1 else column(last)]
    )
    return product.reshape(*first.shape[:-1], *last.shape[1:])


@public
def trace(x: Any, /, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of matrices.

    >>> import svod
    >>> svod.linalg.trace([[1, 2], [3, 4]]).item()
    5
    """
    return sum(diagonal(x, offset), axis=-1, dtype=dtype)
