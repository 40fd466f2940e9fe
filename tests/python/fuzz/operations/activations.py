"""Activation functions of `svod.nn.functional`."""

from __future__ import annotations

from fuzz.drawing import Draw
from fuzz.numbers import FLOATS
from fuzz.operations.elementwise import unary
from fuzz.operations.reductions import over_axis
from fuzz.program import Arguments, Operation

# svod's and NumPy's spellings of one operand.
ROWS: list[tuple[str, str]] = [
    ("F.relu({0})", "np.maximum({0}, 0)"),
    ("F.relu6({0})", "np.clip({0}, 0, 6)"),
    ("F.hardtanh({0}, -0.7, 2.0)", "np.clip({0}, -0.7, 2.0)"),
    ("F.hardsigmoid({0})", "np.clip({0} + 3, 0, 6) / 6"),
    ("F.hardswish({0})", "{0} * np.clip({0} + 3, 0, 6) / 6"),
    ("F.leaky_relu({0}, 0.2)", "np.where({0} > 0, {0}, 0.2 * {0})"),
    ("F.elu({0}, 1.5)", "np.where({0} > 0, {0}, 1.5 * np.expm1(np.minimum({0}, 0)))"),
    ("F.celu({0}, 1.5)", "np.where({0} > 0, {0}, 1.5 * np.expm1(np.minimum({0}, 0) / 1.5))"),
    (
        "F.selu({0})",
        "1.0507009873554805 * np.where({0} > 0, {0}, 1.6732632423543772 * np.expm1(np.minimum({0}, 0)))",
    ),
    ("F.silu({0})", "{0} * R.sigmoid({0})"),
    ("F.mish({0})", "{0} * np.tanh(np.logaddexp({0}, 0))"),
    ("F.softplus({0}, 2.0)", "np.where(2 * {0} > 20, {0}, np.logaddexp(2 * {0}, 0) / 2)"),
    ("F.softsign({0})", "{0} / (1 + np.abs({0}))"),
    ("F.sigmoid({0})", "R.sigmoid({0})"),
    ("F.logsigmoid({0})", "-np.logaddexp(-{0}, 0)"),
    ("F.tanh({0})", "np.tanh({0})"),
    ("F.tanhshrink({0})", "R.far_from_zero({0}) - np.tanh({0})"),
    ("F.hardshrink({0}, 0.6)", "np.where(np.abs({0}) <= 0.6, 0.0, {0})"),
    ("F.softshrink({0}, 0.6)", "R.softshrink({0}, 0.6)"),
    ("F.threshold({0}, 0.3, -2.0)", "np.where({0} <= 0.3, -2.0, {0})"),
]


def halved(d: Draw) -> Arguments | None:
    """An axis of two halves."""
    x = d.value(FLOATS, least=1, where=lambda shape: any(e and e % 2 == 0 for e in shape))
    if x is None:
        return None
    shape = d.shape(x)
    return (x,), {"axis": d.rng.choice([i for i, e in enumerate(shape) if e and e % 2 == 0])}


def channelled(d: Draw) -> Arguments | None:
    """A slope for each channel."""
    x = d.value(FLOATS, least=2)
    return None if x is None else ((x, d.new((d.shape(x)[1],), d.dtypes[x], plain=True)), {})


def table() -> list[Operation]:
    rows = [Operation((svod,), numpy, unary(FLOATS), "0", smooth=True) for svod, numpy in ROWS]
    return [
        *rows,
        Operation(("F.glu({0}, {axis})",), "R.glu({0}, {axis})", halved, "0", smooth=True),
        Operation(
            ("F.prelu({0}, {1})",), "np.where({0} > 0, {0}, R.channel({1}, {0}) * {0})", channelled, "0", smooth=True
        ),
        Operation(("F.softmin({0}, {axis})",), "R.softmax(-{0}, {axis})", over_axis(FLOATS, 1), "0", smooth=True),
        Operation(
            ("F.log_softmax({0}, {axis})",), "R.log_softmax({0}, {axis})", over_axis(FLOATS, 1), "0", smooth=True
        ),
    ]
