"""What the operations of PyTorch's core are in svod, by subject."""

from svod.torch.rules import (
    attention,
    backward,
    creation,
    elementwise,
    indexing,
    movement,
    neural,
    random,
    reduction,
)

__all__ = [
    "attention",
    "backward",
    "creation",
    "elementwise",
    "indexing",
    "movement",
    "neural",
    "random",
    "reduction",
]
