"""Folds, scans and sorts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzz.drawing import Draw
from fuzz.numbers import DTYPES, FLOATS, INTEGERS, UNSIGNED
from fuzz.program import Arguments, Operation

NUMBERS = INTEGERS + FLOATS


def over_axes(kinds: Sequence[str], least: int = 0) -> Callable[[Draw], Arguments | None]:
    """Some axes, that may stay with extent 1."""

    def draw(d: Draw) -> Arguments | None:
        x = d.value(kinds, where=lambda shape: not least or (len(shape) > 0 and min(shape) >= least))
        return None if x is None else ((x,), {"axis": d.some_axes(x), "keep": d.rng.random() < 0.3})

    return draw


def over_axis(kinds: Sequence[str], least: int = 0) -> Callable[[Draw], Arguments | None]:
    """One axis."""

    def draw(d: Draw) -> Arguments | None:
        x = d.value(kinds, least=1, where=lambda shape: min(shape) >= least)
        return None if x is None else ((x,), {"axis": d.axis(x), "keep": d.rng.random() < 0.3})

    return draw


def few(d: Draw) -> Arguments | None:
    """The first few of an axis in order."""
    x = d.value(FLOATS, least=1, where=lambda shape: min(shape) > 0)
    if x is None:
        return None
    axis = d.axis(x)
    return (x,), {"axis": axis, "k": d.rng.randrange(1, d.shape(x)[axis] + 1), "largest": d.rng.random() < 0.5}


def fold(name: str) -> tuple[str, ...]:
    """A fold's spellings, as a method and as a function."""
    return (
        f"{{0}}.{name}(axis={{axis}}, keepdims={{keep}})",
        f"svod.{name}({{0}}, axis={{axis}}, keepdims={{keep}})",
    )


def both(name: str) -> tuple[str, ...]:
    """Of the ones that give values by PyTorch's names too."""
    return (*fold(name), f"{{0}}.{name}(dim={{axis}}, keepdim={{keep}})")


def indices(name: str) -> tuple[str, ...]:
    return (f"{{0}}.{name}({{axis}}, {{keep}})", f"svod.{name}({{0}}, axis={{axis}}, keepdims={{keep}})")


SUMMED = [dtype for dtype in DTYPES if dtype not in UNSIGNED]
# NumPy's arguments of a fold.
KEPT = "axis={axis}, keepdims={keep}"


def table() -> list[Operation]:
    return [
        Operation(both("sum"), f"np.sum({{0}}, {KEPT})", over_axes(SUMMED), "sum", smooth=True),
        Operation(both("prod"), f"R.product({{0}}, {KEPT})", over_axes(SUMMED), "sum", smooth=True),
        # Of unsigned integers functions are of the array API's type, methods of PyTorch's.
        Operation(("{0}.sum({axis}, {keep})",), f"np.sum({{0}}, {KEPT})", over_axes(UNSIGNED), "sum"),
        Operation(
            ("svod.sum({0}, axis={axis}, keepdims={keep})",), f"np.sum({{0}}, {KEPT})", over_axes(UNSIGNED), "uint64"
        ),
        Operation(("svod.cumulative_sum({0}, axis={axis})",), "np.cumsum({0}, {axis})", over_axis(UNSIGNED), "uint64"),
        Operation(both("mean"), f"np.mean({{0}}, {KEPT})", over_axes(DTYPES, 1), "float", smooth=True),
        Operation(fold("max"), f"np.max({{0}}, {KEPT})", over_axes(DTYPES, 1), "0", exact=True, smooth=True),
        Operation(fold("min"), f"np.min({{0}}, {KEPT})", over_axes(DTYPES, 1), "0", exact=True, smooth=True),
        Operation(both("amax"), f"np.max({{0}}, {KEPT})", over_axes(NUMBERS, 1), "0", exact=True, smooth=True),
        Operation(both("amin"), f"np.min({{0}}, {KEPT})", over_axes(NUMBERS, 1), "0", exact=True, smooth=True),
        Operation(
            ("{0}.max(dim={axis}, keepdim={keep}).values", "{0}.max({axis}, {keep})[0]"),
            f"np.max({{0}}, {KEPT})",
            over_axis(NUMBERS, 1),
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.min(dim={axis}, keepdim={keep})[1]",),
            f"np.argmin({{0}}, {KEPT})",
            over_axis(NUMBERS, 1),
            "int64",
            exact=True,
        ),
        Operation(indices("argmax"), f"np.argmax({{0}}, {KEPT})", over_axis(DTYPES, 1), "int64", exact=True),
        Operation(indices("argmin"), f"np.argmin({{0}}, {KEPT})", over_axis(DTYPES, 1), "int64", exact=True),
        Operation(both("all"), f"np.all({{0}}, {KEPT})", over_axes(DTYPES), "bool", exact=True),
        Operation(both("any"), f"np.any({{0}}, {KEPT})", over_axes(DTYPES), "bool", exact=True),
        Operation(both("logsumexp"), f"R.logsumexp({{0}}, {KEPT})", over_axes(FLOATS, 1), "float", smooth=True),
        Operation(
            ("{0}.var({axis}, correction=0, keepdim={keep})", "svod.var({0}, axis={axis}, keepdims={keep})"),
            f"np.var({{0}}, {KEPT})",
            over_axes(FLOATS, 1),
            "float",
            smooth=True,
        ),
        Operation(
            (
                "{0}.std({axis}, correction=1, keepdim={keep})",
                "svod.std({0}, axis={axis}, correction=1, keepdims={keep})",
            ),
            f"np.std({{0}}, {KEPT}, ddof=1)",
            over_axes(FLOATS, 2),
            "float",
            smooth=True,
        ),
        Operation(
            ("{0}.norm(2, {axis}, {keep})",),
            f"np.sqrt(np.sum(R.square({{0}}), {KEPT}))",
            over_axes(FLOATS),
            "float",
            smooth=True,
        ),
        Operation(
            ("{0}.norm(1, dim={axis}, keepdim={keep})",),
            f"np.sum(np.abs({{0}}), {KEPT})",
            over_axes(FLOATS),
            "float",
            smooth=True,
        ),
        Operation(
            ("{0}.softmax({axis})", "F.softmax({0}, {axis})"),
            "R.softmax({0}, {axis})",
            over_axis(FLOATS, 1),
            "float",
            smooth=True,
        ),
        Operation(
            ("{0}.log_softmax({axis})",), "R.log_softmax({0}, {axis})", over_axis(FLOATS, 1), "float", smooth=True
        ),
        Operation(
            ("{0}.normalize(2.0, {axis})", "F.normalize({0}, 2.0, {axis})"),
            "R.normalize({0}, {axis})",
            over_axis(FLOATS, 1),
            "float",
            smooth=True,
        ),
        Operation(
            ("{0}.cumsum({axis})", "svod.cumulative_sum({0}, axis={axis})"),
            "np.cumsum({0}, {axis})",
            over_axis(SUMMED),
            "sum",
            smooth=True,
        ),
        Operation(
            ("{0}.cumprod({axis})", "svod.cumulative_prod({0}, axis={axis})"),
            "np.cumprod({0}, {axis})",
            over_axis(SUMMED),
            "sum",
            smooth=True,
        ),
        Operation(
            ("{0}.cummax(axis={axis})", "{0}.cummax({axis})[0]"),
            "np.maximum.accumulate({0}, {axis})",
            over_axis(NUMBERS, 1),
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.cummin(axis={axis})", "{0}.cummin({axis}).values"),
            "np.minimum.accumulate({0}, {axis})",
            over_axis(NUMBERS, 1),
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.sort({axis})[0]", "svod.sort({0}, axis={axis})"),
            "np.sort({0}, {axis})",
            over_axis(DTYPES, 1),
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.sort({axis}, descending=True).values",),
            "np.flip(np.sort({0}, {axis}), {axis})",
            over_axis(FLOATS, 1),
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.argsort({axis})", "svod.argsort({0}, axis={axis})"),
            'np.argsort({0}, {axis}, kind="stable")',
            over_axis(DTYPES, 1),
            "int64",
            exact=True,
        ),
        Operation(
            ("{0}.topk({k}, {axis}, {largest})[0]",),
            "R.topk({0}, {k}, {axis}, {largest})",
            few,
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.kthvalue({k}, {axis})[0]",),
            "R.topk({0}, {k}, {axis}, False).take(-1, {axis})",
            few,
            "0",
            exact=True,
            smooth=True,
        ),
        Operation(
            ("{0}.median({axis}, {keep})[0]", "{0}.median(axis={axis}, keepdims={keep})"),
            "R.median({0}, {axis}, {keep})",
            over_axis(FLOATS, 1),
            "0",
            exact=True,
            smooth=True,
        ),
    ]
