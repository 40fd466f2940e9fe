"""Changes of shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fuzz.drawing import Draw
from fuzz.numbers import DTYPES
from fuzz.program import Arguments, Operation


def with_axis(least: int = 1, **more: Callable[[Draw, int], Any]) -> Callable[[Draw], Arguments | None]:
    """A value, one of its axes, and what follows from the extent of that."""

    def draw(d: Draw) -> Arguments | None:
        x = d.value(least=least)
        if x is None:
            return None
        axis = d.axis(x)
        extent = d.shape(x)[axis]
        try:
            return (x,), {"axis": axis, **{name: function(d, extent) for name, function in more.items()}}
        except ValueError:  # Of an empty axis.
            return None

    return draw


def factors(d: Draw, n: int) -> tuple[int, ...]:
    """Extents whose product is n."""
    parts = []
    while n > 1 and d.rng.random() < 0.7:
        factor = d.rng.choice([f for f in range(1, n + 1) if n % f == 0])
        parts.append(factor)
        n //= factor
    parts += [n] * (n > 1 or not parts or d.rng.random() < 0.2)
    d.rng.shuffle(parts)
    return tuple(parts)


def reshaped(d: Draw) -> Arguments | None:
    x = d.value(where=lambda shape: 0 not in shape)
    if x is None:
        return None
    shape = d.shape(x)
    if d.rng.random() < 0.5 or d.is_symbolic:  # Neighbours merge.
        at = d.rng.randrange(len(shape)) if shape else 0
        new = (*shape[:at], -1, *shape[at + 2 :]) if len(shape) > at + 1 else (-1,)
    else:
        new = factors(d, math.prod(shape))
        if d.rng.random() < 0.3:
            at = d.rng.randrange(len(new))
            new = (*new[:at], -1, *new[at + 1 :])
    return (x,), {"shape": new}


def permuted(d: Draw) -> Arguments | None:
    x = d.value(least=1)
    if x is None:
        return None
    axes = list(range(len(d.shape(x))))
    d.rng.shuffle(axes)
    return (x,), {"axes": tuple(axes)}


def expanded(d: Draw) -> Arguments | None:
    x = d.value(most=4)
    if x is None:
        return None
    lead = tuple(d.rng.randrange(1, 4) for _ in range(d.rng.randrange(3)))
    shape = tuple(d.rng.randrange(1, 5) if e == 1 else e for e in d.shape(x))
    return ((x,), {"shape": lead + shape}) if not d.is_symbolic else None


def padded(d: Draw) -> Arguments | None:
    x = d.value(least=1)
    if x is None:
        return None
    return (x,), {
        "padding": [(d.rng.randrange(3), d.rng.randrange(3)) for _ in d.shape(x)],
        "c": d.rng.choice((0, 1, 2)),
    }


def diagonal(d: Draw) -> Arguments | None:
    x = d.value(least=2)
    return None if x is None else ((x,), {"k": d.rng.randrange(-2, 3)})


def of_one(d: Draw) -> Arguments | None:
    x = d.value(least=1, where=lambda shape: 1 in shape)
    if x is None:
        return None
    shape = d.shape(x)
    return (x,), {"axis": d.rng.choice([i for i, e in enumerate(shape) if e == 1])}


def inserted(d: Draw) -> Arguments | None:
    x = d.value(most=4)
    return None if x is None else ((x,), {"axis": d.rng.randrange(-len(d.shape(x)) - 1, len(d.shape(x)) + 1)})


def joined(d: Draw) -> Arguments | None:
    """Several of one type that differ along an axis only."""
    x = d.value(least=1)
    if x is None:
        return None
    axis = d.axis(x)
    shape = list(d.shape(x))
    at = axis % len(shape)

    def alike(other: tuple[int, ...]) -> bool:
        return len(other) == len(shape) and all(a == b for i, (a, b) in enumerate(zip(shape, other)) if i != at)

    y = d.value((d.dtypes[x],), where=alike)
    if d.rng.random() < 0.4 or y is None:
        shape[at] = d.rng.randrange(1, 5)
        y = d.new(tuple(shape), d.dtypes[x])
    return (x, y) if d.rng.random() < 0.5 else (y, x), {"axis": axis}


def stacked(d: Draw) -> Arguments | None:
    x = d.value(most=4)
    if x is None:
        return None
    y = d.value((d.dtypes[x],), where=lambda shape: shape == d.shape(x))
    axis = d.rng.randrange(-len(d.shape(x)) - 1, len(d.shape(x)) + 1)
    return None if y is None else ((x, y), {"axis": axis})


def repeated(d: Draw) -> Arguments | None:
    x = d.value(most=4)
    if x is None:
        return None
    rank = len(d.shape(x)) + (d.rng.random() < 0.2)
    return (x,), {"repeats": tuple(d.rng.choice((1, 1, 2, 3)) for _ in range(rank))}


def table() -> list[Operation]:
    rows = [
        (
            ("{0}.reshape({shape})", "{0}.reshape(*{shape})", "{0}.view({shape})", "svod.reshape({0}, {shape})"),
            "np.reshape({0}, {shape})",
            reshaped,
        ),
        (("{0}.flatten()", "{0}.reshape(-1)", "{0}.view(-1)"), "np.reshape({0}, -1)", with_axis(1)),
        (
            ("{0}.permute({axes})", "{0}.permute(*{axes})", "svod.permute_dims({0}, {axes})"),
            "np.transpose({0}, {axes})",
            permuted,
        ),
        (
            ("{0}.mT", "{0}.transpose(-1, -2)", "{0}.swapaxes(-1, -2)", "svod.matrix_transpose({0})"),
            "np.swapaxes({0}, -1, -2)",
            with_axis(2),
        ),
        (("{0}.T", "{0}.t()"), "{0}.T if {0}.ndim == 2 else R.refuse()", with_axis(2)),
        (("{0}.movedim({axis}, 0)",), "np.moveaxis({0}, {axis}, 0)", with_axis(1)),
        (("{0}.transpose(0, {axis})", "{0}.swapaxes(0, {axis})"), "np.swapaxes({0}, 0, {axis})", with_axis(1)),
        (("{0}.flip({axis})", "svod.flip({0}, axis={axis})"), "np.flip({0}, {axis})", with_axis(1)),
        (("{0}.flip()", "svod.flip({0})"), "np.flip({0})", with_axis(1)),
        (
            ("{0}.roll({k}, {axis})", "svod.roll({0}, {k}, axis={axis})"),
            "np.roll({0}, {k}, {axis})",
            with_axis(1, k=lambda d, n: d.rng.randrange(-3, 9)),
        ),
        (
            (
                "{0}.expand({shape})",
                "{0}.expand(*{shape})",
                "{0}.broadcast_to({shape})",
                "svod.broadcast_to({0}, {shape})",
            ),
            "np.broadcast_to({0}, {shape})",
            expanded,
        ),
        (("{0}.pad({padding})",), "np.pad({0}, {padding})", padded),
        (("{0}.pad({padding}, {c})",), "np.pad({0}, {padding}, constant_values={c})", padded),
        (("{0}.tril({k})", "svod.tril({0}, k={k})"), "np.tril({0}, {k})", diagonal),
        (("{0}.triu({k})", "svod.triu({0}, k={k})"), "np.triu({0}, {k})", diagonal),
        (("{0}.squeeze({axis})", "svod.squeeze({0}, {axis})"), "np.squeeze({0}, {axis})", of_one),
        (("{0}.squeeze()", "svod.squeeze({0})"), "np.squeeze({0})", of_one),
        (("{0}.unsqueeze({axis})", "svod.expand_dims({0}, {axis})"), "np.expand_dims({0}, {axis})", inserted),
        (
            ("svod.cat([{0}, {1}], {axis})", "svod.concat([{0}, {1}], axis={axis})"),
            "np.concatenate([{0}, {1}], {axis})",
            joined,
        ),
        (("svod.cat([{0}, {0} + {0}], {axis})",), "np.concatenate([{0}, {0} + {0}], {axis})", with_axis(1)),
        (("svod.stack([{0}, {1}], {axis})",), "np.stack([{0}, {1}], {axis})", stacked),
        (("{0}.repeat({repeats})", "{0}.repeat(*{repeats})"), "np.tile({0}, {repeats})", repeated),
        (
            ("{0}.repeat_interleave({k}, {axis})",),
            "np.repeat({0}, {k}, {axis})",
            with_axis(1, k=lambda d, n: d.rng.randrange(1, 4)),
        ),
        (
            ("{0}.narrow({axis}, {start}, 1)",),
            "np.take({0}, [{start}], {axis})",
            with_axis(1, start=lambda d, n: d.rng.randrange(n)),
        ),
        (
            ("svod.cat({0}.split({k}, {axis})[::-1], {axis})",),
            "np.concatenate(R.split({0}, {k}, {axis})[::-1], {axis})",
            with_axis(1, k=lambda d, n: d.rng.randrange(1, n + 1)),
        ),
        (
            ("{0}.chunk({k}, {axis})[0]",),
            "R.split({0}, -(-{0}.shape[{axis}] // {k}), {axis})[0]",
            with_axis(1, k=lambda d, n: d.rng.randrange(1, n + 1)),
        ),
        (
            ("{0}.unfold({axis}, {k}, {step})",),
            "R.unfold({0}, {axis}, {k}, {step})",
            with_axis(1, k=lambda d, n: d.rng.randrange(1, n + 1), step=lambda d, n: d.rng.randrange(1, 4)),
        ),
        (("{0}.unflatten({axis}, {sizes})",), "R.unflatten({0}, {axis}, {sizes})", with_axis(1, sizes=factors)),
    ]
    return [Operation(svod, numpy, draw, "0", exact=True, smooth=True) for svod, numpy, draw in rows]


__all__ = ["DTYPES", "table"]
