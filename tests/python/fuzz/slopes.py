"""Gradients against differences of NumPy's results, along random directions."""

from __future__ import annotations

import numpy as np

from fuzz.numbers import Array
from fuzz.program import Program

STEP = 1e-6
DIRECTIONS = 3


def weights(shape: tuple[int, ...]) -> Array:
    """Of the elements of an output, in the sum that is differentiated."""
    return np.cos(np.arange(np.prod(shape, dtype=int)) * 0.7 + 0.3).reshape(shape)


def wrong_slope(program: Program, which: int, gradients: list[Array]) -> str | None:
    """How gradients differ from the slopes of the program, for one set of contents; None where they agree.

    A slope that is another one at a shorter distance belongs to a kink, and says nothing; nor does the product of an
    infinite derivative and zero.
    """
    function = program.function(svod=False)
    inputs = [np.asarray(contents[which]) for _, contents in program.inputs.values()]
    by = [k for k, (dtype, _) in enumerate(program.inputs.values()) if dtype == "float64"]
    if not by:
        return None
    rng = np.random.default_rng(program.salt)
    for k, found in zip(by, gradients):
        if found.shape != inputs[k].shape:
            return f"gradient {k} of shape {found.shape}, of an input of {inputs[k].shape}"

    def value(directions: list[Array], step: float) -> float:
        moved = list(inputs)
        for k, direction in zip(by, directions):
            moved[k] = inputs[k] + step * direction
        with np.errstate(all="ignore"):
            (output,) = function(*moved)
        return float(np.sum(output * weights(np.shape(output))))

    for _ in range(DIRECTIONS):
        directions = [rng.uniform(-1, 1, inputs[k].shape) for k in by]
        with np.errstate(all="ignore"):
            slopes = [(value(directions, h) - value(directions, -h)) / (2 * h) for h in (STEP, STEP / 4)]
            parts = np.concatenate([(g * d).ravel() for g, d in zip(gradients, directions)])
        slope, scale = slopes[0], float(np.abs(parts).sum())
        size = abs(value([0 * d for d in directions], 0.0))
        allowed = 1e-4 * (abs(slope) + scale) + 1e-8 * size + 1e-9
        if not np.all(np.isfinite([*slopes, scale])) or abs(slopes[0] - slopes[1]) > allowed / 4:
            continue
        if not abs(float(parts.sum()) - slope) <= allowed:
            return f"slope {float(parts.sum())!r} along a direction, expected {slope!r}"
    return None
