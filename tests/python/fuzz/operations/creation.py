"""What makes tensors of nothing, and bits of other bits."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.drawing import Draw
from fuzz.numbers import DTYPES, FLOATS, INTEGERS
from fuzz.program import Arguments, Operation

NUMBERS = INTEGERS + FLOATS


def made(d: Draw) -> Arguments | None:
    """A shape, a type and numbers; the operand only gives the device."""
    return (), {
        "shape": d.extents(d.rng.choice((0, 1, 2, 3))),
        "dtype": d.rng.choice(DTYPES),
        "n": d.rng.randrange(1, 7),
        "m": d.rng.randrange(1, 7),
        "c": d.rng.choice((0, 1, 2)),
    }


def identity(d: Draw) -> Arguments | None:
    """Only among finite numbers: a product with it is a lookup, which multiplies no zero by infinity."""
    return made(d) if d.stay_finite() else None


def as_bits(to: dict[str, str]) -> Callable[[Draw], Arguments | None]:
    def draw(d: Draw) -> Arguments | None:
        x = d.value(tuple(to))
        return None if x is None else ((x,), {"dtype": to[d.dtypes[x]]})

    return draw


def table() -> list[Operation]:
    rows = [
        (("svod.zeros({shape}, dtype=svod.{dtype})", "svod.zeros(*{shape}, dtype=svod.{dtype})"), "np.zeros({shape})"),
        (("svod.ones({shape}, dtype=svod.{dtype})",), "np.ones({shape})"),
        (("svod.full({shape}, {c}, dtype=svod.{dtype})",), "np.full({shape}, {c})"),
        (("svod.arange({n}, dtype=svod.{dtype})",), 'np.arange({n}) if "{dtype}" != "bool" else R.refuse()'),
        (("svod.arange({c}, {c} + {n}, {m}, dtype=svod.{dtype})",),
         'np.arange({c}, {c} + {n}, {m}) if "{dtype}" != "bool" else R.refuse()'),
        (("svod.linspace({c}, {m}, {n}, dtype=svod.{dtype})",),
         'np.linspace({c}, {m}, {n}) if "{dtype}"[:2] in ("fl", "bf") else R.refuse()'),
    ]  # fmt: skip
    return [
        *(Operation(svod, numpy, made, "argument") for svod, numpy in rows),
        Operation(("svod.eye({n}, {m}, dtype=svod.{dtype})",), "np.eye({n}, {m})", identity, "argument"),
        Operation(("{0}.bitcast(svod.{dtype})",), "R.finite({0}).astype(np.float32).view(np.int32)",
                  as_bits({"float32": "int32"}), "argument", exact=True),
        Operation(("{0}.bitcast(svod.{dtype})",), "{0}.view({dtype!r})".replace("{dtype!r}", '"{dtype}"'),
                  as_bits({"int8": "uint8", "uint8": "int8", "int32": "uint32", "uint32": "int32", "int64": "uint64",
                           "uint16": "int16"}), "argument", exact=True),
        Operation(("{0}.bfloat16()",), 'R.cast({0}, "bfloat16")', as_bits(dict.fromkeys(DTYPES, "bfloat16")),
                  "bfloat16", exact=True),
    ]  # fmt: skip
