"""Iterations that look at a value to know whether, or how, to go on."""

from __future__ import annotations

import numpy as np

from .library import Array, Library

Random = np.random.Generator


def simulation(xp: Library, random: Random) -> Array:
    """A ball that bounces: an `if` on a value at every step."""
    position, velocity = xp.array(random.random(3, np.float32)), xp.array(random.random(3, np.float32))
    bounces = 0
    for _ in range(1000):
        velocity = velocity - 0.01
        position = position + velocity * 0.1
        if float(position[2]) < 0:
            velocity = xp.abs(velocity) * 0.9
            bounces += 1
    return bounces, float(position[0]) > float(position[1])


def jacobi(xp: Library, random: Random) -> Array:
    """Heat on a plate, by Jacobi's iteration until a tolerance."""
    plate = np.zeros((32, 32), np.float32)
    plate[0] = random.random(32)
    heat = xp.array(plate)
    for _ in range(500):
        inner = (heat[:-2, 1:-1] + heat[2:, 1:-1] + heat[1:-1, :-2] + heat[1:-1, 2:]) / 4
        change = float(xp.max(xp.abs(inner - heat[1:-1, 1:-1])))
        heat[1:-1, 1:-1] = inner
        if change < 3e-4:
            break
    return xp.mean(heat)


def newton(xp: Library, random: Random) -> Array:
    """Cube roots by Newton's iteration, each from a start of its own, until a tolerance."""
    roots = []
    for number in 1 + 9 * random.random(200):
        target = xp.array(np.float32(number))
        x = target / 2
        for _ in range(30):
            step = (x * x * x - target) / (3 * x * x)
            x = x - step
            if abs(float(step)) < 1e-4:
                break
        roots.append(float(x))
    return roots


def power_iteration(xp: Library, random: Random) -> Array:
    """The largest eigenvalue of a matrix."""
    entries = random.standard_normal((50, 50)).astype(np.float32)
    matrix, x, before = xp.array(entries @ entries.T), xp.array(np.ones(50, np.float32)), 0.0
    for _ in range(100):
        y = matrix @ x
        value = float(xp.sqrt(xp.sum(y * y)))
        x = y / value
        if abs(value - before) < 1e-5 * value:
            break
        before = value
    return value


def conjugate_gradient(xp: Library, random: Random) -> Array:
    """A linear system, until the residual is small."""
    entries = random.random((64, 64), np.float32)
    matrix = xp.array(entries @ entries.T + 64 * np.eye(64, dtype=np.float32))
    rest = xp.array(random.random(64, np.float32))
    x, direction = rest * 0, rest
    size = float(xp.sum(rest * rest))
    for _ in range(64):
        product = matrix @ direction
        length = size / float(xp.sum(direction * product))
        x, rest = x + length * direction, rest - length * product
        size, last = float(xp.sum(rest * rest)), size
        if size < 1e-10:
            break
        direction = rest + (size / last) * direction
    return x


def pagerank(xp: Library, random: Random) -> Array:
    """Ranks of 200 pages, until they settle."""
    links = (random.random((200, 200)) < 0.05).astype(np.float32) + 1e-6
    follow = xp.array(links / links.sum(0))
    rank = xp.array(np.full(200, 1 / 200, np.float32))
    for _ in range(100):
        new = 0.15 / 200 + 0.85 * (follow @ rank)
        change = float(xp.sum(xp.abs(new - rank)))
        rank = new
        if change < 1e-5:
            break
    return rank


def kmeans(xp: Library, random: Random) -> Array:
    """Four clusters of points, until none moves."""
    corners = 10 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    points = xp.array(np.repeat(corners, 100, 0) + random.random((400, 2), np.float32))
    centres = xp.array(corners + 3)
    for _ in range(20):
        apart = points[:, None, :] - centres[None, :, :]
        nearest = xp.argmin(xp.sum(apart * apart, axis=2), axis=1)
        new = xp.stack([xp.mean(points[nearest == k], axis=0) for k in range(4)])
        moved = float(xp.max(xp.abs(new - centres)))
        centres = new
        if moved < 1e-4:
            break
    return centres


def elimination(xp: Library, random: Random) -> Array:
    """A linear system by Gaussian elimination with pivots."""
    n = 24
    system = xp.array(random.random((n, n + 1), np.float32) + np.eye(n, n + 1, dtype=np.float32))
    for k in range(n):
        pivot = k + int(xp.argmax(xp.abs(system[k:, k])))
        if pivot != k:
            swap = system[k] + 0
            system[k] = system[pivot] + 0
            system[pivot] = swap
        row = system[k] / system[k, k]
        system = system - system[:, k : k + 1] * row
        system[k] = row
    return xp.mean(xp.abs(system[:, :n] - xp.array(np.eye(n, dtype=np.float32)))) < 1e-2


def collatz(xp: Library, random: Random) -> Array:
    """Steps until every number is 1, a mask at each."""
    numbers = xp.array(random.integers(1, 100, 500))
    steps = numbers * 0
    while bool(xp.max(numbers) > 1):
        busy = numbers > 1
        numbers = xp.where(busy, xp.where(numbers % 2 == 0, numbers // 2, 3 * numbers + 1), numbers)
        steps = steps + xp.where(busy, 1, 0)
    return steps


PROGRAMS = (
    simulation,
    jacobi,
    newton,
    power_iteration,
    conjugate_gradient,
    pagerank,
    kmeans,
    elimination,
    collatz,
)
