"""The tables of operations."""

from fuzz.operations import (
    activations,
    creation,
    elementwise,
    indexing,
    layers,
    losses,
    movement,
    products,
    reductions,
)
from fuzz.program import Operation

OPERATIONS: list[Operation] = [
    operation
    for module in (elementwise, reductions, movement, indexing, products, activations, layers, losses, creation)
    for operation in module.table()
]

__all__ = ["OPERATIONS"]
