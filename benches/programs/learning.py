"""Small models that learn, with derivatives by hand."""

from __future__ import annotations

import numpy as np

from .library import Array, Library

Random = np.random.Generator


def _regression(xp: Library, random: Random) -> tuple[Array, Array]:
    inputs = random.standard_normal((100, 10)).astype(np.float32)
    return xp.array(inputs), xp.array(inputs @ random.random(10, np.float32))


def descent(xp: Library, random: Random) -> Array:
    """Gradient descent, the loss read at each of 300 steps."""
    x, y = _regression(xp, random)
    w, losses = xp.zeros(10), []
    for _ in range(300):
        error = x @ w - y
        w = w - 0.02 * (error @ x) / 100
        losses.append(float(xp.mean(error * error)))
    return losses


def descent_until(xp: Library, random: Random) -> Array:
    """Gradient descent until a step is small."""
    x, y = _regression(xp, random)
    w = xp.zeros(10)
    for _ in range(500):
        gradient = (x @ w - y) @ x / 100
        w = w - 0.1 * gradient
        if float(xp.max(xp.abs(gradient))) < 1e-3:
            break
    return w


def learning_rates(xp: Library, random: Random) -> Array:
    """Momentum, and a rate that falls with every step."""
    x, y = _regression(xp, random)
    w, momentum = xp.zeros(10), xp.zeros(10)
    for i in range(300):
        rate = 0.1 / (1 + 0.02 * i)
        error = x @ w - y
        momentum = 0.9 * momentum + (error @ x) / 100
        w = w - rate * momentum
        if i % 10 == 0 and float(xp.mean(error * error)) < 1e-8:
            break
    return w


def minibatches(xp: Library, random: Random) -> Array:
    """One pass over a data set, in batches of 16 rows."""
    x, y = xp.array(random.random((3200, 10), np.float32)), xp.array(random.random(3200, np.float32))
    w, total = xp.zeros(10), 0.0
    for i in range(200):
        rows, wanted = x[i * 16 : i * 16 + 16], y[i * 16 : i * 16 + 16]
        error = rows @ w - wanted
        total += float(xp.mean(error * error))
        w = w - 0.05 * (error @ rows) / 16
    return total, w


PROGRAMS = (descent, descent_until, learning_rates, minibatches)
