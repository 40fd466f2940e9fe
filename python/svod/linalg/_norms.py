"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from svod._extension import public
from svod._svod import ArgumentError, Tensor, _tensor, abs
from svod.library.manipulation import moveaxis
from svod.linalg._factors import svdvals_for
from svod.linalg._matrices import matrices
from svod.linalg._solve import inv


@public
def cond(x: Any, /, p: Any = None) -> Tensor:
    """The condition numbers of matrices, in the 2-norm by default."""
    x = matrices("cond", x)
    if p in (None, 2, -2):
        s = svdvals_for("cond", x)
        if s.shape[-1] == 0:
            # As PyTorch has it, of matrices without elements.
            return s.sum(-1)
        return s[..., 0] / s[..., -1] if p != -2 else s[..., -1] / s[..., 0]
    return matrix_norm(x, ord=p) * matrix_norm(inv(x), ord=p)


@public
def matrix_norm(
    x: Any,
    /,
    ord: float | str | None = "fro",
    keepdims: bool | Sequence[int] = False,
    keepdim: bool = False,
    *,
    dim: Sequence[int] = (-2, -1),
) -> Tensor:
    """The norms of matrices, in two dimensions: "fro", "nuc", 1, -1, 2, -2, and the infinities.

    As PyTorch has it, the dimensions may come before `keepdim`.

    >>> import svod
    >>> svod.linalg.matrix_norm([[3.0, 0.0], [0.0, -4.0]], ord=2).item()
    4.0
    """
    if not isinstance(keepdims, bool):
        dim, keepdims = keepdims, False
    keepdims = keepdims or keepdim
    if tuple(dim) != (-2, -1):
        x = _tensor(x)
        if len(dim) != 2 or not all(-x.ndim <= one < x.ndim for one in dim) or len({one % x.ndim for one in dim}) != 2:
            raise ArgumentError(f"matrix_norm: dim: two dimensions of {x.shape} are expected, not {tuple(dim)}")
        made = matrix_norm(moveaxis(x, tuple(dim), (-2, -1)), ord)
        for place in sorted(one % x.ndim for one in dim) if keepdims else ():
            made = made.unsqueeze(place)
        return made
    x = matrices("matrix_norm", x)
    found: Tensor
    if ord in ("fro", None):
        found = x._norm(2, (-2, -1))
    elif ord == "nuc":
        found = svdvals_for("matrix_norm", x).sum(-1)
    elif ord in (2, -2):
        s = svdvals_for("matrix_norm", x)
        found = _largest(s) if ord == 2 else s.amin(-1)
    elif ord in (1, -1, math.inf, -math.inf):
        sums = abs(x).sum(-2 if ord in (1, -1) else -1)
        found = _largest(sums) if ord > 0 else sums.amin(-1)
    else:
        raise ArgumentError(f"matrix_norm: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, not {ord!r}")
    return found.unsqueeze(-1).unsqueeze(-1) if keepdims else found


@public
def norm(x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """As NumPy has it: of vectors along one axis, of matrices along two, of all elements where neither is named."""
    x = _tensor(x)
    if axis is None and ord is not None:
        axis = tuple(range(x.ndim))
    if isinstance(axis, (tuple, list)) and len(axis) == 2 and ord is not None:
        places = [place % x.ndim for place in axis]
        rest = [place for place in range(x.ndim) if place not in places]
        found = matrix_norm(x.permute(*rest, *places), ord=ord)
        for place in sorted(places) if keepdims else ():
            found = found.unsqueeze(place)
        return found
    return vector_norm(x, axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)


@public
def vector_norm(x: Any, /, ord: float = 2, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Tensor:
    """The `ord`-norms of vectors: along axes, of all elements by default.

    >>> import svod
    >>> svod.linalg.vector_norm([3.0, 4.0]).item()
    5.0
    """
    x = _tensor(x)
    # The greatest of nothing is 0 here, as the sum of no squares.
    found: Tensor = x._norm(2 if ord == math.inf and 0 in x.shape else ord, axis, keepdim=keepdims)
    return found


def _largest(x: Tensor) -> Tensor:
    """The greatest of numbers that are not negative along the last axis: 0 of none, as NumPy has it."""
    return x.sum(-1) if x.shape[-1] == 0 else x.amax(-1)
