"""Arrays that are written, masked and read in pieces."""

from __future__ import annotations

from threading import Thread

import numpy as np

from .library import Array, Library

Random = np.random.Generator


def elements(xp: Library, random: Random) -> Array:
    """Python's own functions over an array that was just computed."""
    x = xp.array(random.random(300, np.float32)) * 2 - 1
    return float(min(x)), float(max(x)), float(sum(x)), float(sorted(x)[150])


def positions(xp: Library, random: Random) -> Array:
    """A thousand positions of an array, one by one."""
    x = xp.array(random.random(1000, np.float32)) + 1
    total = 0.0
    for i in range(1000):
        total += float(x[i])
    return total


def assignments(xp: Library, random: Random) -> Array:
    """Ten thousand positions written."""
    x = xp.zeros(10000)
    for i, value in enumerate(random.random(10000)):
        x[i] = value
    return xp.sum(x)


def ring(xp: Library, random: Random) -> Array:
    """The mean of the last 64 numbers."""
    last, means = xp.zeros(64), []
    for i, value in enumerate(random.random(400)):
        last[i % 64] = value
        means.append(float(xp.mean(last)))
    return means


def masks(xp: Library, random: Random) -> Array:
    """Sums of what a mask selects, of 100 arrays."""
    totals = []
    for _ in range(100):
        x = xp.array(random.standard_normal(1000).astype(np.float32))
        totals.append(float(xp.sum(x[x > 0])))
    return totals


def masks_in_a_loop(xp: Library, random: Random) -> Array:
    """Values above a threshold that falls are halved, until few are left."""
    x = xp.array(random.random(1000, np.float32))
    threshold, counts = 1.0, []
    for _ in range(200):
        threshold *= 0.99
        x[x > threshold] *= 0.5
        counts.append(int(xp.sum(xp.astype(x > threshold / 2, xp.int64))))
    return counts


def group_by(xp: Library, random: Random) -> Array:
    """Mean and maximum of each of 20 groups."""
    keys, values = xp.array(random.integers(0, 20, 2000)), xp.array(random.random(2000, np.float32))
    groups = []
    for key in range(20):
        members = values[keys == key]
        groups.append((float(xp.mean(members)), float(xp.max(members))))
    return groups


def rolls(xp: Library, random: Random) -> Array:
    """The correlation of a signal with itself at every distance."""
    x = xp.array(random.random(100, np.float32))
    return [float(xp.sum(x * xp.roll(x, i))) for i in range(100)]


def integers(xp: Library, random: Random) -> Array:
    """Multiples and counts, by numbers that change from one round to the next."""
    x = xp.array(random.integers(0, 100, 1000))
    return [(int(xp.sum(x * i)), int(xp.sum(xp.astype(x == i, xp.int64)))) for i in range(100)]


def windows(xp: Library, random: Random) -> Array:
    """Means and maxima of windows that slide over a series."""
    x = xp.array(random.random(300, np.float32))
    return [(float(xp.mean(x[i : i + 20])), float(xp.max(x[i : i + 20]))) for i in range(280)]


def pictures(xp: Library, random: Random) -> Array:
    """Pictures of 20 sizes, normalized and blurred."""
    results = []
    for i in range(20):
        picture = xp.array(random.random((40 + 3 * i, 50 + 2 * i), np.float32))
        picture = (picture - xp.mean(picture)) / xp.sqrt(xp.mean(picture * picture))
        blurred = (picture[:-2] + picture[1:-1] + picture[2:]) / 3
        results.append(float(xp.max(blurred)))
    return results


def stacking(xp: Library, random: Random) -> Array:
    """Five hundred results of their own, put together."""
    x = xp.array(random.random(500, np.float32))
    return xp.stack([x[i] * x[i] for i in range(500)])


def threads(xp: Library, random: Random) -> Array:
    """Four threads, each of which changes a tensor of its own."""
    counters = [xp.array(random.random(16, np.float32)) for _ in range(4)]

    def work(own: int) -> None:
        for i in range(100):
            counters[own] = counters[own] * 0.99 + 0.01 * i
            counters[own][i % 16] = float(xp.sum(counters[own])) / 100

    started = [Thread(target=work, args=(i,)) for i in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return [float(xp.mean(counter)) for counter in counters]


PROGRAMS = (
    elements,
    positions,
    assignments,
    ring,
    masks,
    masks_in_a_loop,
    group_by,
    rolls,
    integers,
    windows,
    pictures,
    stacking,
    threads,
)
