"""What all functions of matrices have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from svod._svod import ShapeError, Tensor, _may_be_differentiated, _tensor, _with_derivative, cat, float32
from svod.library.diagonals import diagonal


def matrices(op: str, x: Any, square: bool = False) -> Tensor:
    """Stacks of matrices of floats or complex numbers."""
    given: Tensor = _tensor(x)
    if given.ndim < 2 or (square and given.shape[-1] != given.shape[-2]):
        raise ShapeError(f"{op}: takes {'square ' if square else ''}matrices, not {tuple(given.shape)}")
    inexact = given.dtype.is_floating_point or given.dtype.is_complex
    return given if inexact and given.dtype.itemsize >= 4 else given.astype(float32)


def diagonal_of(x: Tensor, offset: int = 0) -> Tensor:
    """The diagonals of the last two dimensions."""
    return diagonal(x, offset, -2, -1)


def column(x: Tensor) -> Tensor:
    return x.unsqueeze(-1)


def row(x: Tensor) -> Tensor:
    return x.unsqueeze(-2)


def factors_of(operand: Tensor, factor: str, pull: Callable[..., Tensor]) -> Sequence[Tensor]:
    """Factors of matrices, whose derivative is what `pull` makes of all of them and the cotangents of those of floats.

    They are one value of which each is a part, so that all of them together have one derivative. That computes with the
    factors anew, which are the same values of the graph: so second derivatives are there, and nothing holds itself.
    """
    parts = operand._factors(factor)
    if not _may_be_differentiated(operand):
        return parts
    batch = operand.ndim - 2
    inexact = [at for at, part in enumerate(parts) if part.dtype.is_floating_point or part.dtype.is_complex]
    flat = [parts[at].reshape(*parts[at].shape[:batch], math.prod(parts[at].shape[batch:])) for at in inexact]
    widths = [part.shape[-1] for part in flat]
    shapes = [(parts[at].shape, parts[at].dtype.is_complex) for at in inexact]

    def split(whole: Tensor) -> list[Tensor]:
        taken = zip(whole.split(widths, -1), shapes, strict=True)
        return [(one if is_complex else one.real).reshape(*shape) for one, (shape, is_complex) in taken]

    def pulled(cotangent: Tensor) -> list[Tensor | None]:
        if 0 in operand.shape:
            return [operand.detach()]  # No elements, which are all the same.
        return [pull(*factors_of(operand, factor, pull), *split(cotangent))]

    made = dict(zip(inexact, split(_with_derivative(factor, cat(flat, -1), [operand], pulled)), strict=True))
    return [made.get(at, part) for at, part in enumerate(parts)]
