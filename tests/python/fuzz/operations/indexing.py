"""Indexing, assignment, and what gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.drawing import Draw
from fuzz.numbers import DTYPES, FLOATS, INTEGERS
from fuzz.program import Arguments, Operation

NUMBERS = INTEGERS + FLOATS


def part(d: Draw, extent: int) -> str:
    """The text of an index of one axis: a position or a slice."""
    if d.is_symbolic and extent == d.sizes[0]:
        return d.rng.choice((":", "1:", ":-1", "::-1", "2:-1", "0", "-1", "::2"))
    if extent and d.rng.random() < 0.3:
        return str(d.rng.randrange(-extent, extent))
    start = d.rng.choice(("", "", *range(-extent, extent + 1)))
    stop = d.rng.choice(("", "", *range(-extent, extent + 2)))
    step = d.rng.choice(("", "", "", ":", ":1", ":2", ":3", ":-1", ":-2"))
    return f"{start}:{stop}{step}"


def basic_key(d: Draw, shape: tuple[int, ...]) -> str:
    """Positions, slices, new axes and an ellipsis."""
    parts = [part(d, extent) for extent in shape]
    if parts and d.rng.random() < 0.4:
        del parts[d.rng.randrange(len(parts)) :]
    elif parts and d.rng.random() < 0.3:
        at = d.rng.randrange(len(parts))
        parts[at] = "..."
    if d.rng.random() < 0.15:
        parts.insert(d.rng.randrange(len(parts) + 1), "None")
    return ", ".join(parts) if parts else "..."


def sliced(d: Draw) -> Arguments | None:
    x = d.value()
    return None if x is None else ((x,), {"key": basic_key(d, d.shape(x))})


def positions(d: Draw, shape: tuple[int, ...], extent: int, negative: bool = True) -> int:
    """A new input of positions along an axis."""
    least = min(int(size) for size in d.sizes) if d.is_symbolic and extent == d.sizes[0] else extent  # type: ignore[arg-type]
    return d.positions(shape, -least if negative and d.rng.random() < 0.3 else 0, least)


def by_tensor(d: Draw) -> Arguments | None:
    """A tensor of positions among the indices."""
    x = d.value(least=1, where=lambda shape: 0 not in shape)
    if x is None:
        return None
    shape = d.shape(x)
    at = d.rng.randrange(len(shape))
    index = positions(d, d.extents(d.rng.choice((1, 1, 2))), shape[at])
    if 0 in d.shape(index):
        return None
    before = [part(d, extent) if d.rng.random() < 0.3 else ":" for extent in shape[:at]]
    return (x, index), {"before": "".join(f"{p}, " for p in before)}


def along(d: Draw) -> Arguments | None:
    """Positions of the tensor's own shape, but along one axis."""
    x = d.value(least=1, where=lambda shape: 0 not in shape)
    if x is None:
        return None
    axis = d.axis(x)
    shape = list(d.shape(x))
    extent = shape[axis]
    shape[axis] = d.rng.randrange(1, 6)
    return (x, positions(d, tuple(shape), extent, negative=False)), {"axis": axis}


def taken(d: Draw) -> Arguments | None:
    """Positions along an axis."""
    x = d.value(least=1, where=lambda shape: 0 not in shape)
    if x is None:
        return None
    axis = d.axis(x)
    return (x, positions(d, (d.rng.randrange(1, 6),), d.shape(x)[axis], negative=False)), {"axis": axis}


def scattered(kinds: tuple[str, ...]) -> Callable[[Draw], Arguments | None]:
    """Positions and what goes there."""

    def draw(d: Draw) -> Arguments | None:
        found = along(d)
        if found is None or d.dtypes[found[0][0]] not in kinds:
            return None
        (x, index), arguments = found
        return (x, index, d.new(d.shape(index), d.dtypes[x])), arguments

    return draw


def added(d: Draw) -> Arguments | None:
    """Slices, each with its place along an axis."""
    found = taken(d)
    if found is None or d.dtypes[found[0][0]] == "bool":
        return None
    (x, index), arguments = found
    shape = list(d.shape(x))
    shape[arguments["axis"]] = d.shape(index)[0]
    return (x, index, d.new(tuple(shape), d.dtypes[x])), arguments


def assigned(d: Draw) -> Arguments | None:
    """A part of a tensor, and a value that fits it."""
    x = d.value(least=1)
    if x is None:
        return None
    key = basic_key(d, d.shape(x)).replace("None, ", "").replace(", None", "").replace("None", "...")
    shape = eval(f"array[{key}].shape", {"array": d.runs[x][0][0]})
    if d.is_symbolic:
        shape = ()
    elif d.rng.random() < 0.3:
        shape = shape[len(shape) // 2 :]
    return (x, d.new(shape, d.dtypes[x])), {"key": key}


def masked(d: Draw) -> Arguments | None:
    x = d.value(least=1)
    return None if x is None else ((x, d.new(d.shape(x), "bool"), d.new((), d.dtypes[x])), {})


def whole(d: Draw) -> Arguments | None:
    x = d.value()
    return None if x is None else ((x, d.new(d.shape(x), d.dtypes[x])), {})


def shrunk(d: Draw) -> Arguments | None:
    x = d.value(least=1)
    if x is None or d.is_symbolic:
        return None
    starts = [d.rng.randrange(extent + 1) for extent in d.shape(x)]
    return (x,), {"bounds": [(s, d.rng.randrange(s, e + 1)) for s, e in zip(starts, d.shape(x))]}


def classes(d: Draw) -> Arguments | None:
    count = d.rng.randrange(1, 6)
    return (d.positions(d.extents(d.rng.choice((0, 1, 2))), 0, count),), {"count": count}


def counted(d: Draw) -> Arguments | None:
    count = d.rng.randrange(1, 6)
    index = d.positions(d.extents(1), 0, count)
    return (index, d.new(d.shape(index), d.rng.choice(FLOATS))), {"count": count}


def searched(d: Draw) -> Arguments | None:
    x = d.value(NUMBERS, least=1, most=1)
    return None if x is None else ((x, d.new(d.extents(d.rng.choice((1, 2))), d.dtypes[x])), {})


def table_rows(d: Draw) -> Arguments | None:
    x = d.value(least=2, most=2, where=lambda shape: 0 not in shape)
    if x is None:
        return None
    return (x, positions(d, d.extents(d.rng.choice((1, 2))), d.shape(x)[0], negative=False)), {}


def of_any(d: Draw) -> Arguments | None:
    x = d.value(least=1)
    return None if x is None else ((x,), {})


REDUCTIONS = {"sum": "np.add", "prod": "np.multiply", "amax": "np.maximum", "amin": "np.minimum"}


def table() -> list[Operation]:
    rows = [
        Operation(("{0}[{key}]",), "{0}[{key}]", sliced, "0", exact=True, smooth=True),
        Operation(("{0}[{before}{1}]",), "{0}[{before}{1}]", by_tensor, "0", exact=True, smooth=True),
        Operation(("{0}.gather({axis}, {1})", "{0}.take_along_dim({1}, {axis})",
                   "svod.take_along_axis({0}, {1}, axis={axis})"), "np.take_along_axis({0}, {1}, {axis})", along, "0",
                  exact=True, smooth=True),
        Operation(("{0}.take({1}, {axis})", "svod.take({0}, {1}, axis={axis})", "{0}.index_select({axis}, {1})"),
                  "np.take({0}, {1}, {axis})", taken, "0", exact=True, smooth=True),
        Operation(("{0}.embedding({1})", "F.embedding({1}, {0})", "{0}[{1}]"), "{0}[{1}]", table_rows, "0", exact=True,
                  smooth=True),
        Operation(("{0}.scatter({axis}, {1}, {2})",), "R.scattered({0}, {1}, {2}, {axis})", scattered(DTYPES), "0",
                  exact=True, smooth=True),
        Operation(("{0}.scatter_add({axis}, {1}, {2})", '{0}.scatter_reduce({axis}, {1}, {2}, "sum")'),
                  "R.scattered({0}, {1}, {2}, {axis}, np.add)", scattered(NUMBERS), "0", smooth=True),
        Operation(("{0}.index_add({axis}, {1}, {2})",), "R.indexed({0}, {1}, {2}, {axis}, np.add)", added, "0",
                  smooth=True),
        Operation(("{0}.index_copy({axis}, {1}, {2})",), "R.indexed({0}, {1}, {2}, {axis})", added, "0", exact=True,
                  smooth=True),
        Operation(("{r} = {0}.clone(); {r}[{key}] = {1}",), "{r} = {0}.copy(); {r}[{key}] = {1}", assigned, "0",
                  exact=True, smooth=True),
        Operation(("{r} = {0}.clone(); {r}[{1}] = {2}",), "{r} = {0}.copy(); {r}[{1}] = {2}", masked, "0", exact=True,
                  smooth=True),
        Operation(("{r} = {0}.clone(); {r}.assign({1})", "{r} = {0}.clone(); {r}.copy_({1})",
                   "{r} = {0}.clone(); {r}[:] = {1}" ), "R.assigned({0}, {1})", whole, "0", exact=True),
        Operation(("{0}.shrink({bounds})",), "{0}[tuple(slice(*b) for b in {bounds})]", shrunk, "0", exact=True,
                  smooth=True),
        Operation(("{0}.one_hot({count})",), "(np.expand_dims({0}, -1) == np.arange({count})).astype(np.int64)",
                  classes, "int64", exact=True),
        Operation(("{0}.bincount(minlength={count})",), "np.bincount({0}, minlength={count})", counted, "int64",
                  exact=True, eager=True),
        Operation(("{0}.bincount({1}, minlength={count})",), "np.bincount({0}, {1}, {count})", counted, "1",
                  eager=True),
        Operation(("{0}.sort(0)[0].searchsorted({1})", "svod.searchsorted({0}.sort(0)[0], {1})"),
                  "np.searchsorted(np.sort({0}), {1})", searched, "int64", exact=True),
        Operation(('svod.searchsorted({0}.sort(0)[0], {1}, side="right")',
                   "{0}.sort(0)[0].searchsorted({1}, right=True)"), 'np.searchsorted(np.sort({0}), {1}, "right")',
                  searched, "int64", exact=True),
        Operation(("{0}.nonzero()",), "np.argwhere({0})", of_any, "int64", exact=True, eager=True),
        Operation(("svod.nonzero({0})[0]",), "np.nonzero({0})[0]", of_any, "int64", exact=True, eager=True),
        Operation(("{0}.masked_select({1})", "{0}[{1}]"), "R.masked({0}, {1})", masked, "0", exact=True, eager=True),
        Operation(("{0}.unique()", "svod.unique_values({0})"), "np.unique({0}, equal_nan=False)", of_any, "0",
                  exact=True, eager=True),
        Operation(("{0}.realize()", "svod.Tensor({0}.numpy())", "svod.asarray({0})", "svod.from_dlpack({0})"), "{0}",
                  of_any, "0", exact=True, eager=True),
        Operation(("svod.Tensor({0}.tolist(), dtype={0}.dtype).reshape({0}.shape)",), "{0}", of_any, "0",
                  exact=True, eager=True),
        Operation(("svod.from_numpy({0}.numpy().copy())",), "{0}", of_any, "0", exact=True, eager=True),
        Operation(("svod.Tensor({0}.sum().item(), dtype={0}.sum().dtype)",), "np.sum({0})", of_any, "sum", eager=True),
    ]  # fmt: skip
    rows += [
        Operation(
            (f'{{0}}.scatter_reduce({{axis}}, {{1}}, {{2}}, "{name}")',),
            f"R.scattered({{0}}, {{1}}, {{2}}, {{axis}}, {function})",
            scattered(NUMBERS),
            "0",
        )
        for name, function in REDUCTIONS.items()
    ]
    return rows
