"""The tables of operations."""

from fuzz.operations import (
    activations,
    creation,
    elementwise,
    indexing,
    layers,
    library,
    losses,
    movement,
    products,
    reductions,
)
from fuzz.program import Operation

_MODULES = (elementwise, reductions, movement, indexing, products, activations, layers, losses, creation, library)

OPERATIONS: list[Operation] = [operation for module in _MODULES for operation in module.table()]

__all__ = ["OPERATIONS"]
