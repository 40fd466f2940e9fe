"""What all functions of matrices have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
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


Derivative = tuple[Sequence[int], Callable[..., Tensor]]
"""Results that are differentiated together, and the matrices' cotangent by all results and the cotangents of these."""


def factors_of(operand: Tensor, factor: str, *derivatives: Derivative, name: str | None = None) -> Sequence[Tensor]:
    """Factors of matrices, and the derivatives of those of floats; for the function of a name, which errors tell.

    Results that are differentiated together are one value of which each is a part. A value that nothing reads has no
    cotangent, and its derivative is not asked for: so eigenvalues have theirs where vectors have none. A derivative
    computes with the factors anew, which are the same values of the graph: so second derivatives are there, and nothing
    holds itself.
    """
    parts = list(operand._factors(factor, name=name))
    if not _may_be_differentiated(operand):
        return parts
    made = list(parts)
    for places, pull in derivatives:
        anew = partial(factors_of, operand, factor, *derivatives, name=name)
        together = _together(operand, name or factor, parts, places, pull, anew)
        for place, one in zip(places, together, strict=True):
            made[place] = one
    return made


def _together(
    operand: Tensor,
    name: str,
    parts: Sequence[Tensor],
    places: Sequence[int],
    pull: Callable[..., Tensor],
    anew: Callable[[], Sequence[Tensor]],
) -> Sequence[Tensor]:
    """The results at some places with a derivative of their own."""
    batch = operand.ndim - 2
    flat = [parts[at].reshape(*parts[at].shape[:batch], math.prod(parts[at].shape[batch:])) for at in places]
    widths = [part.shape[-1] for part in flat]
    shapes = [(parts[at].shape, parts[at].dtype.is_complex) for at in places]

    def split(whole: Tensor) -> list[Tensor]:
        if len(shapes) == 1:
            return [whole]
        taken = zip(whole.split(widths, -1), shapes, strict=True)
        return [(one if is_complex else one.real).reshape(*shape) for one, (shape, is_complex) in taken]

    def pulled(cotangent: Tensor) -> list[Tensor | None]:
        if 0 in operand.shape:
            return [operand.detach()]  # No elements, which are all the same.
        return [pull(*anew(), *split(cotangent))]

    whole = parts[places[0]] if len(places) == 1 else cat(flat, -1)
    return split(_with_derivative(name, whole, [operand], pulled))
