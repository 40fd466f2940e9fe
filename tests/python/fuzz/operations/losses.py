"""Losses of `svod.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.drawing import Draw
from fuzz.numbers import FLOATS
from fuzz.program import Arguments, Operation

Drawing = Callable[[Draw], Arguments | None]


def beside(low: float, high: float, *more: tuple[float, float], signs: bool = False) -> Drawing:
    """Finite values, and targets of the same shape within bounds, or of signs; further ones within other bounds."""

    def draw(d: Draw) -> Arguments | None:
        x = d.value(FLOATS, least=2, where=lambda shape: 0 not in shape)
        if x is None:
            return None
        others = [d.new(d.shape(x), d.dtypes[x], a, b, plain=True) for a, b in ((low, high), *more)]
        arguments = {"reduction": d.rng.choice(("mean", "sum", "none"))}
        return ((x, *others), arguments) if not signs or not d.is_smooth else None

    return draw


def probable(d: Draw) -> Arguments | None:
    """Probabilities and targets."""
    shape = d.extents(2)
    if 0 in shape:
        return None
    dtype = d.rng.choice(FLOATS) if not d.is_smooth else "float64"
    x, y = (d.new(shape, dtype, 0.05, 0.95, plain=True) for _ in range(2))
    return (x, y), {"reduction": d.rng.choice(("mean", "sum", "none"))}


def labelled(d: Draw) -> Arguments | None:
    """Logits of classes and labels."""
    x = d.value(FLOATS, least=2, most=3, where=lambda shape: 0 not in shape)
    if x is None or (d.is_symbolic and d.shape(x)[1] == d.sizes[0]):
        return None
    shape = d.shape(x)
    return (x, d.positions((shape[0], *shape[2:]), 0, shape[1])), {"reduction": d.rng.choice(("mean", "sum", "none"))}


# svod's spelling, NumPy's of the single losses, what is drawn.
ROWS: list[tuple[str, str, Drawing]] = [
    ("F.mse_loss({0}, {1}", "R.square({0} - {1})", beside(-4, 4)),
    ("F.l1_loss({0}, {1}", "np.abs({0} - {1})", beside(-4, 4)),
    ("F.smooth_l1_loss({0}, {1}, beta=0.7", "R.huber({0} - {1}, 0.7) / 0.7", beside(-4, 4)),
    ("F.huber_loss({0}, {1}, delta=0.7", "R.huber({0} - {1}, 0.7)", beside(-4, 4)),
    ("F.cross_entropy({0}, {1}", "-R.at_labels(R.log_softmax({0}, 1), {1})", labelled),
    ("F.nll_loss({0}, {1}", "-R.at_labels({0}, {1})", labelled),
    ("F.binary_cross_entropy({0}, {1}", "-({1} * np.log({0}) + (1 - {1}) * np.log(1 - {0}))", probable),
    (
        "F.binary_cross_entropy_with_logits({0}, {1}",
        "(1 - {1}) * {0} + np.logaddexp(-{0}, 0)",
        beside(0, 1),
    ),
    ("F.kl_div({0}, {1}", "{1} * (np.log({1}) - {0})", beside(0.1, 1)),
    ("F.poisson_nll_loss({0}, {1}", "np.exp({0}) - {1} * {0}", beside(0, 5)),
    (
        "F.gaussian_nll_loss({0}, {1}, {2}",
        "0.5 * (np.log({2}) + R.square({0} - {1}) / {2})",
        beside(-4, 4, (0.3, 4)),
    ),
    ("F.soft_margin_loss({0}, {1}", "np.logaddexp(-{1} * {0}, 0)", beside(-1, 1)),
    ("F.multilabel_soft_margin_loss({0}, {1}", "np.mean((1 - {1}) * {0} + np.logaddexp(-{0}, 0), -1)", beside(0, 1)),
    ("F.margin_ranking_loss({0}, {1}, {2}, 0.5", "np.maximum(0.5 - {2} * ({0} - {1}), 0)", beside(-4, 4, (-1, 1))),
    ("F.hinge_embedding_loss({0}, {1}.sign()", "np.where({1} > 0, {0}, np.maximum(1 - {0}, 0))", beside(-1, 1)),
    (
        "F.cosine_embedding_loss({0}, {1}, {2}.sum(-1).sign()",
        "R.cosine_losses({0}, {1}, R.far_from_zero(np.sum({2}, -1), 0.01))",
        beside(-4, 4, (-1, 1)),
    ),
    (
        "F.triplet_margin_loss({0}, {1}, {2}",
        "np.maximum(1 + R.distance({0}, {1}) - R.distance({0}, {2}), 0)",
        beside(-4, 4, (-4, 4)),
    ),
]


def table() -> list[Operation]:
    rows = [
        Operation(
            (f"{svod}, reduction='{{reduction}}')",), f"R.reduced({numpy}, '{{reduction}}')", draw, "0", smooth=True
        )
        for svod, numpy, draw in ROWS
    ]
    return [
        *rows,
        Operation(("F.cosine_similarity({0}, {1}, -1)",), "R.cosine({0}, {1})", beside(-4, 4), "0", smooth=True),
        Operation(("F.pairwise_distance({0}, {1})",), "R.distance({0}, {1})", beside(-4, 4), "0", smooth=True),
    ]
