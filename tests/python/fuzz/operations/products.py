"""Matrix products and contractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzz.drawing import Draw
from fuzz.numbers import DTYPES, FLOATS, INTEGERS
from fuzz.program import Arguments, Operation

NUMBERS = INTEGERS + FLOATS


def product(d: Draw) -> Arguments | None:
    """Operands of a matrix product, of any number of dimensions."""
    x = d.value(NUMBERS, least=1, where=lambda shape: 0 not in shape)
    if x is None:
        return None
    shape = d.shape(x)
    kinds = (d.dtypes[x],)
    y = d.value(kinds, least=1, where=lambda other: other[-2:][0] == shape[-1] and 0 not in other)
    if y is None or d.rng.random() < 0.5:
        rows = (shape[-1],) if d.rng.random() < 0.2 else (shape[-1], d.rng.choice((1, 2, 3, 5, 8, 17, 40)))
        y = d.new((*shape[: len(shape) - 2][: d.rng.randrange(2) * 9], *rows) if len(rows) > 1 else rows, d.dtypes[x])
    return (x, y), {}


def with_weights(d: Draw) -> Arguments | None:
    """Rows, weights and a bias."""
    x = d.value(FLOATS, least=1, where=lambda shape: 0 not in shape)
    if x is None:
        return None
    out = d.rng.choice((1, 2, 3, 5, 16, 33))
    return (x, d.new((out, d.shape(x)[-1]), d.dtypes[x]), d.new((out,), d.dtypes[x])), {}


def vectors(d: Draw) -> Arguments | None:
    x = d.value(NUMBERS, least=1, most=1)
    return None if x is None else ((x, d.new(d.extents(1), d.dtypes[x])), {})


def matched(*ranks: int) -> Callable[[Draw], Arguments | None]:
    """Operands for subscripts: as many dimensions as each has; extents that go together are made so."""

    def draw(d: Draw) -> Arguments | None:
        x = d.value(FLOATS, least=ranks[0], most=ranks[0])
        if x is None:
            return None
        shape = d.shape(x)
        # The last axis of the first is the first of the second, and so on along a chain.
        operands = [x]
        for rank in ranks[1:]:
            shape = (shape[-1], *(d.rng.choice((1, 2, 3, 4)) for _ in range(rank - 1)))
            operands.append(d.new(shape, d.dtypes[x]))
        return tuple(operands), {}

    return draw


def batched(d: Draw) -> Arguments | None:
    x = d.value(FLOATS, least=3, most=3)
    if x is None:
        return None
    return (x, d.new((d.shape(x)[0], d.shape(x)[2], d.rng.choice((1, 2, 5))), d.dtypes[x])), {}


EINSUMS: list[tuple[str, Callable[[Draw], Arguments | None]]] = [
    ("ij,jk->ik", matched(2, 2)),
    ("ij,jk->ki", matched(2, 2)),
    ("ij,jk", matched(2, 2)),
    ("ij,jk->i", matched(2, 2)),
    ("ij->ji", matched(2)),
    ("ij->j", matched(2)),
    ("ij->", matched(2)),
    ("ijk,k->ij", matched(3, 1)),
    ("ijk,kl->lji", matched(3, 2)),
    ("bij,bjk->bik", batched),
    ("bij,bjk->bki", batched),
    ("ij,jk,kl->il", matched(2, 2, 2)),
    ("...i,ij->...j", matched(3, 2)),
    ("i,ij->j", matched(1, 2)),
]


def spelled(subscripts: str, operands: Sequence[str]) -> tuple[str, str]:
    arguments = ", ".join(operands)
    # In which order three are multiplied decides where infinity meets zero.
    finite = ", ".join(f"R.finite({operand})" for operand in operands) if len(operands) > 2 else arguments
    return f'svod.einsum("{subscripts}", {arguments})', f'np.einsum("{subscripts}", {finite})'


def table() -> list[Operation]:
    rows = [
        Operation(("{0} @ {1}", "{0}.matmul({1})", "svod.matmul({0}, {1})", "{0}.dot({1})"), "np.matmul({0}, {1})",
                  product, smooth=True),
        Operation(("{0}.linear({1}, {2})", "F.linear({0}, {1}, {2})"), "{0} @ {1}.T + {2}", with_weights, smooth=True),
        Operation(("{0}.linear({1})", "F.linear({0}, {1})"), "{0} @ {1}.T", with_weights, smooth=True),
        Operation(("({0} @ {1}.T + {2}).relu()",), "np.maximum({0} @ {1}.T + {2}, 0)", with_weights, smooth=True),
        Operation(("({0}.linear({1}, {2})).softmax(-1)",), "R.softmax({0} @ {1}.T + {2}, -1)", with_weights,
                  smooth=True),
        Operation(("{0}.outer({1})",), "np.outer({0}, {1})", vectors, smooth=True),
    ]  # fmt: skip
    for subscripts, draw in EINSUMS:
        count = subscripts.count(",") + 1
        svod, numpy = spelled(subscripts, [f"{{{i}}}" for i in range(count)])
        rows.append(Operation((svod,), numpy, draw, smooth=True))
    return rows


__all__ = ["DTYPES", "table"]
