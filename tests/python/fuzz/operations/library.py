"""Functions of the library (`svod/library`), of which one name of each row is enough."""

from __future__ import annotations

from fuzz.operations.elementwise import NUMBERS, spelled, unary
from fuzz.operations.movement import with_axis
from fuzz.program import Operation


def table() -> list[Operation]:
    return [
        Operation(spelled("positive"), "np.positive({0})", unary(NUMBERS), "0", exact=True, smooth=True),
        Operation(
            ("{0}.diff(dim={axis})", "svod.diff({0}, axis={axis})"),
            "np.diff({0}, axis={axis})",
            with_axis(1),
            "0",
            smooth=True,
        ),
    ]
