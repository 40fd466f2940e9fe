"""What a case is, and how its operands are drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from systems.base import Array, Program

Draw = Callable[[], Sequence[Array]]


@dataclass(frozen=True)
class Case:
    """A computation and the least work that it takes.

    `inputs` are operands, given to a plan or a compiled function at each call; `weights` are
    constants that follow them. `flops` counts additions and multiplications of contractions, `reads`
    and `writes` bytes of memory: operands read once, results written once. A result may be off by
    `tolerance` times the largest value of the reference. `compiling` cases are there for the time of
    their first result. A vector holds half as many numbers where `doubles` are computed with.
    """

    name: str
    groups: tuple[str, ...]
    program: Program
    inputs: Draw
    weights: Draw = tuple
    flops: float = 0
    reads: float = 0
    writes: float = 0
    tolerance: float = 1e-4
    compiling: bool = False
    doubles: bool = False

    def matches(self, wanted: Sequence[str]) -> bool:
        """Whether a word is one of the groups or the beginning of the name."""
        return any(word in self.groups or self.name.startswith(word) for word in wanted)


def normal(*shapes: tuple[int, ...], seed: int = 0, scale: float = 1) -> Draw:
    """Normally distributed f32."""

    def draw() -> list[Array]:
        generator = np.random.default_rng(seed)
        return [np.float32(scale) * generator.standard_normal(shape, np.float32) for shape in shapes]

    return draw


def together(*draws: Draw) -> Draw:
    """The operands of several draws, in order."""
    return lambda: [array for draw in draws for array in draw()]


def integers(high: int, *shape: int, seed: int = 0) -> Draw:
    """Uniformly distributed indices below `high`."""
    return lambda: [np.random.default_rng(seed).integers(0, high, shape)]


def f32(*shapes: tuple[int, ...]) -> float:
    """Bytes of f32 arrays."""
    return 4.0 * sum(prod(shape) for shape in shapes)
