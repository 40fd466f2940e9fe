"""Functions of the library (`svod/library`), of which one name of each row is enough."""

from __future__ import annotations

from fuzz.drawing import Draw
from fuzz.numbers import DTYPES, FLOATS
from fuzz.operations.elementwise import NUMBERS, binary, paired, spelled, unary
from fuzz.operations.movement import with_axis
from fuzz.program import Arguments, Operation

# Names here and NumPy's, of one operand and of two, whose results are floats.
UNARY = [
    ("acos", "arccos"),
    ("acosh", "arccosh"),
    ("arctan", "arctan"),
    ("asin", "arcsin"),
    ("asinh", "arcsinh"),
    ("atan", "arctan"),
    ("atanh", "arctanh"),
    ("cosh", "cosh"),
    ("expm1", "expm1"),
    ("log10", "log10"),
    ("log1p", "log1p"),
    ("sinh", "sinh"),
]
BINARY = [("atan2", "arctan2"), ("hypot", "hypot"), ("logaddexp", "logaddexp")]


def matrix(d: Draw) -> Arguments | None:
    """A value of at least two dimensions, with itself."""
    x = d.value(FLOATS, least=2)
    return None if x is None else ((x,), {})


def table() -> list[Operation]:
    rows = [
        Operation(spelled(name), f"np.{theirs}({{0}})", unary(DTYPES), "float", smooth=True) for name, theirs in UNARY
    ]
    rows += [
        Operation(paired(name), f"np.{theirs}({{0}}, {{1}})", binary(FLOATS), "float", smooth=True)
        for name, theirs in BINARY
    ]
    rows += [
        Operation(spelled("positive"), "np.positive({0})", unary(NUMBERS), "0", exact=True, smooth=True),
        Operation(
            ("{0}.diff(dim={axis})", "svod.diff({0}, axis={axis})"),
            "np.diff({0}, axis={axis})",
            with_axis(1),
            "0",
            smooth=True,
        ),
        Operation(
            ("svod.count_nonzero({0}, axis={axis})", "{0}.count_nonzero({axis})"),
            "np.count_nonzero({0}, axis={axis})",
            with_axis(1),
            "int64",
            exact=True,
        ),
        Operation(
            ("svod.moveaxis({0}, {axis}, 0)", "{0}.moveaxis({axis}, 0)"),
            "np.moveaxis({0}, {axis}, 0)",
            with_axis(1),
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("svod.tile({0}, (2, 1))", "{0}.tile((2, 1))"), "np.tile({0}, (2, 1))", unary(DTYPES), "0", exact=True
        ),
        Operation(
            ("svod.repeat({0}, 2, axis={axis})",),
            "np.repeat({0}, 2, axis={axis})",
            with_axis(1),
            "0",
            exact=True,
            symbolic=False,
        ),
        Operation(("svod.vecdot({0}, {0})",), "np.sum({0} * {0}, -1)", matrix, "0", smooth=True),
        Operation(
            ("svod.tensordot({0}, {0}.T, axes=1)",), "np.tensordot({0}, {0}.T, axes=1)", matrix, "0", smooth=True
        ),
        Operation(("svod.broadcast_arrays({0}, {1})[1]",), "np.broadcast_arrays({0}, {1})[1]", binary(DTYPES), "1"),
        Operation(
            ("svod.meshgrid({0}.flatten(), {1}.flatten())[0]",),
            "np.meshgrid({0}.flatten(), {1}.flatten())[0]",
            binary(DTYPES),
            "0",
            exact=True,
            symbolic=False,
        ),
    ]
    return rows
