"""Sequences: what grows, and tables that are filled step by step."""

from __future__ import annotations

import numpy as np

from .library import Array, Library

Random = np.random.Generator


def running_statistics(xp: Library, random: Random) -> Array:
    """Mean and variance of what was seen so far (Welford's), read at each step."""
    samples = xp.array(random.random((500, 8), np.float32))
    mean, squares, history = xp.zeros(8), xp.zeros(8), []
    for i in range(500):
        apart = samples[i] - mean
        mean = mean + apart / (i + 1)
        squares = squares + apart * (samples[i] - mean)
        history.append((float(mean[0]), float(squares[0]) / (i + 1)))
    return history


def recurrent(xp: Library, random: Random) -> Array:
    """A recurrent network, of which one value is looked at in each step."""
    weights = xp.array(random.standard_normal((32, 32)).astype(np.float32) / 8)
    inputs = xp.array(random.random((300, 1, 32), np.float32))
    h, seen = xp.zeros((1, 32)), []
    for i in range(300):
        h = xp.tanh(h @ weights + inputs[i])
        seen.append(float(h[0, 0]))
    return seen


def growing(xp: Library, random: Random) -> Array:
    """A sequence to which its own mean, changed a little, is appended."""
    x = xp.array(random.random(1, np.float32))
    for _ in range(100):
        x = xp.concat([x, xp.reshape(xp.mean(x) * 1.01, (1,))])
        float(x[-1])
    return x


def growing_window(xp: Library, random: Random) -> Array:
    """The mean of the first n numbers, for every n."""
    x = xp.array(random.random(350, np.float32))
    return [float(xp.mean(x[:n])) for n in range(1, 351)]


def time_warping(xp: Library, random: Random) -> Array:
    """How far two series are apart if time may pass unevenly: a table by antidiagonals."""
    n = 60
    a, b = xp.array(random.random(n, np.float32)), xp.array(random.random(n, np.float32))
    cost = xp.abs(a[:, None] - b[None, :])
    row = xp.cumulative_sum(cost[0], axis=0)
    for i in range(1, n):
        above = xp.minimum(row, xp.concat([row[:1] + 1e9, row[:-1]]))
        # The best of what comes from above and of what comes from the left, by prefix sums.
        sums = xp.cumulative_sum(cost[i], axis=0)
        best = above - (sums - cost[i])
        for shift in (1, 2, 4, 8, 16, 32):
            best = xp.concat([best[:shift], xp.minimum(best[shift:], best[:-shift])])
        row = sums + best
    return float(row[-1])


def edit_distance(xp: Library, random: Random) -> Array:
    """Changes that make one word of another: a row of the table at a time."""
    first, second = random.integers(0, 4, 60), xp.array(random.integers(0, 4, 80))
    places = xp.arange(81)
    row = places
    for i, letter in enumerate(first):
        changed = row[:-1] + xp.where(second == int(letter), 0, 1)
        best = xp.minimum(changed, row[1:] + 1)
        best = xp.concat([row[:1] * 0 + (i + 1), best]) - places
        for shift in (1, 2, 4, 8, 16, 32, 64):
            best = xp.concat([best[:shift], xp.minimum(best[shift:], best[:-shift])])
        row = best + places
    return int(row[-1])


def coins(xp: Library, random: Random) -> Array:
    """In how many ways coins make an amount."""
    ways = xp.array(np.eye(1, 201, dtype=np.int64)[0])
    for coin in (1, 2, 5, 10, 20, 50):
        for amount in range(coin, 201, coin):
            stop = min(amount + coin, 201)
            ways[amount:stop] = ways[amount:stop] + ways[amount - coin : stop - coin]
    return int(ways[int(random.integers(150, 200))])


def sampling(xp: Library, random: Random) -> Array:
    """Tokens drawn one by one, each from what all earlier ones say."""
    table = xp.array(random.standard_normal((50, 16)).astype(np.float32))
    out = xp.array(random.standard_normal((16, 50)).astype(np.float32))
    tokens = xp.array(np.array([7]))
    for draw in random.random(60):
        state = xp.mean(table[tokens], axis=0)
        logits = state @ out
        weights = xp.exp(logits - xp.max(logits))
        levels = xp.cumulative_sum(weights / xp.sum(weights), axis=0)
        token = min(int(xp.sum(xp.astype(levels < float(draw), xp.int64))), 49)
        tokens = xp.concat([tokens, xp.array(np.array([token]))])
    return tokens


PROGRAMS = (
    running_statistics,
    recurrent,
    growing,
    growing_window,
    time_warping,
    edit_distance,
    coins,
    sampling,
)
