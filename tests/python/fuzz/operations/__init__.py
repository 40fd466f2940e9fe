"""The tables of operations."""

from fuzz.operations import creation, elementwise, indexing, layers, movement, products, reductions
from fuzz.program import Operation

OPERATIONS: list[Operation] = [
    operation
    for module in (elementwise, reductions, movement, indexing, products, layers, creation)
    for operation in module.table()
]

__all__ = ["OPERATIONS"]
