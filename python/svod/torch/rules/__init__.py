"""What the operations of PyTorch's core are in svod, by subject."""

from svod.torch.rules import (
    attention,
    backward,
    complex,
    creation,
    elementwise,
    indexing,
    library,
    movement,
    neural,
    quantize,
    random,
    reduction,
)

__all__ = [
    "attention",
    "backward",
    "complex",
    "creation",
    "elementwise",
    "indexing",
    "library",
    "movement",
    "neural",
    "quantize",
    "random",
    "reduction",
]
