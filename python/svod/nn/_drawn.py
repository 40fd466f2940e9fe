"""Drawing the parameters of layers anew."""

from __future__ import annotations

from svod._grad import no_grad
from svod._module import Module
from svod._svod import Tensor
from svod.nn import init

__all__ = ["redraw", "redraw_affine", "redraw_table"]


def redraw(layer: Module, bound: float) -> None:
    """Draws all parameters of a layer uniformly from `±bound`."""
    for parameter in layer.parameters():
        init.uniform_(parameter, -bound, bound)


def redraw_affine(weight: Tensor | None, bias: Tensor | None) -> None:
    """Lets a normalisation's weight be ones, and its bias zeros."""
    if weight is not None:
        init.ones_(weight)
    if bias is not None:
        init.zeros_(bias)


def redraw_table(weight: Tensor, padding_idx: int | None) -> None:
    """Draws the rows of a table from the normal distribution, but for that of `padding_idx`, which becomes 0."""
    init.normal_(weight)
    if padding_idx is not None:
        with no_grad():
            weight[padding_idx] = 0.0
