"""Totals share rows with whatever else reads the same values: kernels and bytes moved, whatever the spelling."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from passes import Array, Operands, check, draw, moved

import svod

LARGE = [((100_000,), 800), ((300, 300), 1800), ((3, 41, 40, 64), 512), ((400, 1, 500), 4000), ((2000, 100), 800)]


@pytest.mark.parametrize(("shape", "row"), LARGE)
def test_a_total_beside_a_map_is_folded_with_its_rows(shape: tuple[int, ...], row: int) -> None:
    x, y = draw(*shape), draw(*shape, seed=1)
    sums = x.size // row * 4

    def both(results: Operands, expected: Sequence[Array], moves: int) -> None:
        check(results, expected, kernels=2, moves=moves + 2 * sums + 4, tolerance=1e-4, rounds=2)

    t = svod.Tensor(x)
    both([t.sum(), t * 2], [x.sum(dtype=np.float64), x * 2], 2 * x.nbytes)
    t = svod.Tensor(x)
    both([t - 1, t.mean()], [x - 1, x.mean(dtype=np.float64)], 2 * x.nbytes)
    g, p = svod.Tensor(x), svod.Tensor(y)
    norm = np.sqrt((x.astype(np.float64) ** 2).sum())
    both([(g * g).sum().sqrt(), p - 0.1 * g], [norm, y - 0.1 * x], 3 * x.nbytes)
    t = svod.Tensor(x)
    both([t * 2, (t * 2).max()], [x * 2, (x * 2).max()], 2 * x.nbytes)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 1), (0, 2), (1, 2)])
def test_a_total_beside_folds_of_rows_or_columns_is_a_fold_of_theirs(axis: int | tuple[int, ...]) -> None:
    x = draw(32, 64, 48) + 1
    t = svod.Tensor(x)
    few = x.sum(axis)
    results = [x.sum(dtype=np.float64), few]
    check([t.sum(), t.sum(axis)], results, kernels=2, moves=x.nbytes + 2 * few.nbytes + 4, tolerance=1e-4)
    t = svod.Tensor(x)
    results = [(x * x).sum(dtype=np.float64), few]
    check([(t * t).sum(), t.sum(axis)], results, kernels=2, moves=x.nbytes + 3 * few.nbytes + 4, tolerance=1e-4)


@pytest.mark.parametrize("shape", [(512, 300), (300, 7, 100), (3, 128, 600), (2048, 1024)])
def test_folds_of_rows_and_of_columns_share_blocks_of_rows(shape: tuple[int, ...]) -> None:
    x = draw(*shape) + 1
    first = next(d for d, n in enumerate(shape) if n > 16)
    rows, columns = tuple(range(first + 1, x.ndim)), first
    right = [x.sum(columns, dtype=np.float64), x.mean(rows, dtype=np.float64)]
    blocks = next(n for n in range(16, 3, -1) if shape[first] % n == 0)
    sums = 4 * right[0].size * (shape[first] // blocks)
    moves = x.nbytes + 2 * sums + 4 * (right[0].size + right[1].size)
    t = svod.Tensor(x)
    check([t.sum(columns), t.mean(rows)], right, kernels=2, moves=moves, tolerance=1e-4, rounds=2)
    t = svod.Tensor(x)
    check([t.mean(rows), (t * 1).max(axis=columns)], [right[1], x.max(axis=columns)], kernels=2, moves=moves, rounds=2)
    with svod.strict():
        t = svod.Tensor(x)
        check([t.sum(columns), t.mean(rows)], right, kernels=2, tolerance=1e-3)


def test_of_many_tensors_a_norm_and_updates_read_each_once() -> None:
    g, p = ([draw(200, 400, seed=2 * i + j) for i in range(6)] for j in range(2))
    gs, ps = [svod.Tensor(x) for x in g], [svod.Tensor(x) for x in p]
    norm = sum(((x * x).sum() for x in gs), start=svod.zeros(())).sqrt()
    plan = svod.prepare(norm, *(b - 0.5 * a for a, b in zip(gs, ps, strict=True)))
    assert sum(any(count == 80_000 for _, count in k.buffers) for k in plan.kernels) == 6
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].item(), np.sqrt(sum((x.astype(float) ** 2).sum() for x in g)), rtol=1e-5)
    for a, b, mine in zip(g, p, plan.outputs[1:], strict=True):
        np.testing.assert_allclose(mine.numpy(), b - 0.5 * a, rtol=1e-6, atol=1e-6)


def test_totals_stay_whole_where_rows_spare_nothing() -> None:
    x = draw(300, 300)
    # Small, of rows that have no end in common, in an order that is asked for, or wanted by the map itself.
    small, prime = draw(100, 100), draw(100_003)
    for y in small, prime:
        t = svod.Tensor(y)
        check([t.sum(), t * 2], [y.sum(), y * 2], kernels=2, moves=3 * y.nbytes + 4, tolerance=1e-3)
    with svod.strict():
        t = svod.Tensor(x)
        check([t.sum(), t * 2], [x.sum(), x * 2], kernels=2, moves=3 * x.nbytes + 4, tolerance=1e-2)
    t = svod.Tensor(x + 1)
    check([t.sum(), t / t.sum()], [(x + 1).sum(), (x + 1) / (x + 1).sum()], kernels=2, moves=3 * x.nbytes + 8)


@pytest.mark.parametrize("offset", [0, 3, 1e4])
@pytest.mark.parametrize("spelling", range(5))
def test_a_variance_beside_a_map_is_that_of_rows_mended(spelling: int, offset: float) -> None:
    x = (draw(400, 300) + offset).astype(np.float32)
    t = svod.Tensor(x)
    flat = t.reshape(-1)
    variance = [
        lambda: t.var(),
        lambda: ((t - t.mean()) ** 2).mean(),
        lambda: ((t - t.sum() / x.size) * (t - t.sum() / x.size)).sum() / x.size,
        lambda: (flat - flat.mean()).square().mean(),
        lambda: t.var(correction=0),
    ][spelling]()
    right = x.var(dtype=np.float64) * (x.size / (x.size - 1) if spelling == 0 else 1)
    moves = 2 * x.nbytes + 2 * 3 * 4 * (x.size // 2400) + 4
    check([variance, t * 2], [right, x * 2], kernels=2, moves=moves, tolerance=2e-5, rounds=3)
    t = svod.Tensor(x)
    right = [x.mean(dtype=np.float64), x.std(dtype=np.float64), x - 1]
    check([t.mean(), t.std(correction=0), t - 1], right, kernels=2, moves=moves + 4, tolerance=2e-5, rounds=3)


def test_variances_beside_maps_of_no_finite_number_are_none() -> None:
    x = draw(300, 300)
    for bad in np.inf, -np.inf, np.nan:
        x[17, 4] = bad
        t = svod.Tensor(x)
        check([t.var(), t * 2], [np.array(np.nan), x * 2], kernels=2)


def spelled(x: svod.Tensor) -> list[list[svod.Tensor]]:
    """A total and a map of a tensor, whose elements are named in other shapes and orders."""
    flat = x.reshape(-1)
    return [
        [flat.sum(), x * 2],
        [x.sum(), flat * 2],
        [x.sum(), (x * 2).reshape(-1)],
        [x.T.sum(), x * 2],
        [x.flip(0).sum(), x * 2],
        [x.reshape(20, 30, 150).permute(1, 0, 2).sum(), x * 2],
        [x.sum(), x.reshape(20, 30, 150) * 2],
        [x.sum(1).sum(), x * 2],
    ]


@pytest.mark.parametrize("spelling", range(8))
def test_a_total_and_a_map_in_eight_spellings(spelling: int) -> None:
    x = draw(300, 300)
    total, double = spelled(svod.Tensor(x))[spelling]
    sums = 300 if spelling == 7 else x.size // 1800
    right = [x.sum(dtype=np.float64), (x * 2).reshape(double.shape)]
    check([total, double], right, kernels=2, moves=2 * x.nbytes + 8 * sums + 4, tolerance=1e-3, rounds=2)


@pytest.mark.parametrize("spelling", range(4))
def test_a_norm_of_a_flat_gradient_shares_its_update_s_rows(spelling: int) -> None:
    g, p = draw(200, 512), draw(200, 512, seed=1)
    a, b = svod.Tensor(g), svod.Tensor(p)
    flat = a.reshape(-1)
    norm = [flat.norm(), (flat * flat).sum().sqrt(), (a * a).reshape(-1).sum().sqrt(), (flat @ flat).sqrt()][spelling]
    right = [np.sqrt((g.astype(np.float64) ** 2).sum()), p - 0.1 * g]
    check([norm, b - 0.1 * a], right, kernels=2, moves=3 * g.nbytes + 8 * 200 + 4, rounds=2)


REFUSED: dict[str, Callable[[svod.Tensor], list[svod.Tensor]]] = {
    "two maps": lambda t: [t.sum(), t * 2, t - 1],
    "a map that waits for a total": lambda t: [t.sum(), t - t.mean()],
    "one of two maps waits": lambda t: [t.sum(), t * 2, t - t.mean()],
    "a map that waits for columns": lambda t: [t.norm(), t - t.sum(0)],
    "a map that waits for rows": lambda t: [t.sum(), t.softmax(1)],
    "a map in another order": lambda t: [t.sum(), t.T * 2],
    "maps in two orders": lambda t: [t.sum(), t - 1, t.T * 2],
    "a map of both orders": lambda t: [t.reshape(512, 2, 512)[:, 0].sum(), t.reshape(512, 2, 512)[:, 0] * 2],
    "a fold in another order": lambda t: [t.sum(), t.flip(0).max(axis=1), t * 2],
    "a part of it": lambda t: [t.sum(), t * 2, t[:300] - 1],
    "a product": lambda t: [t.sum(), t * 2, t @ t.T],
    "a fold of columns and a map": lambda t: [t.sum(0), t * 2],
    "a total, a fold of columns and a map": lambda t: [t.sum(), t.sum(0), t * 2],
    "folds of rows and columns and a total": lambda t: [t.sum(), t.sum(0), t.sum(1)],
    "few rows": lambda t: [t.sum(), t.reshape(4, -1).max(axis=1)],
    "short rows": lambda t: [t.sum(), t.reshape(-1, 8) * 2, t.reshape(-1, 8) - 1],
    "deviations from another centre": lambda t: [((t - t.max()) ** 2).mean(), t * 2],
    "deviations that are an output": lambda t: [((t - t.mean()) ** 2).mean(), t - t.mean(), t * 2],
    "a long body": lambda t: [t.sum(), t.tanh()],
}


@pytest.mark.parametrize("name", REFUSED)
def test_totals_stay_whole_where_what_else_reads_them_cannot_share(name: str) -> None:
    t = svod.Tensor(draw(512, 1024))
    chosen, without = (svod.prepare(*REFUSED[name](t), skip=skip) for skip in ("none", "two-stage"))
    assert [kernel.name for kernel in chosen.kernels] == [kernel.name for kernel in without.kernels]


@pytest.mark.parametrize("shape", [(50_000, 3), (3, 41, 40, 40)])
def test_totals_stay_whole_beside_maps_of_short_rows(shape: tuple[int, ...]) -> None:
    x = draw(*shape)
    t = svod.Tensor(x)
    check([t.sum(), t * 2], [x.sum(dtype=np.float64), x * 2], kernels=2, moves=3 * x.nbytes + 4, tolerance=1e-4)


ACCEPTED: dict[str, Callable[[svod.Tensor], list[svod.Tensor]]] = {
    "totals": lambda t: [t.sum(), t.max(), t.min(), t * 2],
    "totals of maps": lambda t: [(t + 1).abs().sum(), t.norm(), t.maximum(0)],
    "a total and a variance": lambda t: [t.max(), t.var(), t - 1],
    "a bias": lambda t: [t.sum(), t + svod.Tensor(draw(512))],
    "folds of rows": lambda t: [t.sum(), t.max(axis=1), t.sum(1)],
    "folds of columns": lambda t: [t.sum(), t.max(axis=0), t.sum(0)],
    "folds of rows and a map": lambda t: [t.sum(), t.sum(1), t * 2],
    "a variance and folds of rows": lambda t: [t.var(), t.max(axis=1)],
    "rows and columns": lambda t: [t.sum(0), t.max(axis=0), t.sum(1)],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_one_pass_over_memory(name: str) -> None:
    x = draw(1024, 512)
    t = svod.Tensor(x)
    chosen, without = (svod.prepare(*ACCEPTED[name](t), skip=skip) for skip in ("none", "two-stage"))
    large = [sum(n == x.size for _, n in k.buffers) for k in chosen.kernels]
    maps = name in ("totals", "totals of maps", "a total and a variance", "a bias", "folds of rows and a map")
    assert sum(large) == 1 + maps, [kernel.name for kernel in chosen.kernels]
    for plan in chosen, without:
        plan.execute()
    for a, b in zip(chosen.outputs, without.outputs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-3)


def test_maps_are_not_cut_in_the_strips_of_folds_of_columns() -> None:
    x = draw(1024, 300)
    t = svod.Tensor(x)
    check([t.sum(0), t * 2], [x.sum(0, dtype=np.float64), x * 2], kernels=2, tolerance=1e-3)
    centred = svod.Tensor(x) - svod.Tensor(x).mean(0, keepdim=True)
    np.testing.assert_allclose(centred.numpy(), x - x.mean(0, keepdims=True), rtol=1e-3, atol=1e-4)


def test_of_symbolic_blocks_what_divides_each_is_a_row() -> None:
    t = svod.empty(N, 8, 100)
    flat = t.reshape(N * 800)
    plan = svod.prepare(flat.sum(), flat * 2, inputs=[t])
    assert moved(plan, rounds=2) == 4 * (3000 * 800 * 2 + 2 * 3000 + 1)
    check_sizes(plan, lambda x: [x.sum(), x.reshape(-1) * 2], (8, 100))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "int64", "float64", "bool"])
def test_totals_by_rows_of_every_type(dtype: str) -> None:
    x = svod.Tensor(np.random.default_rng(0).integers(0, 2, 300_000).astype(np.int8)).cast(dtype).realize()
    whole = x.numpy().astype(np.float64) if dtype != "bfloat16" else x.cast("float32").numpy().astype(np.float64)
    total, most, other = x.sum(dtype="float32"), x.max(), x.cast("float32") * 3
    plan = svod.prepare(total, most, other)
    plan.execute()
    assert plan.outputs[0].item() == whole.sum()
    assert plan.outputs[1].item() == whole.max()
    np.testing.assert_array_equal(plan.outputs[2].numpy(), whole * 3)


def test_what_is_folded_in_two_says_so() -> None:
    code = "import svod; t = svod.ones(300, 300).realize(); svod.prepare(t.sum(), t * 2)"
    told = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"SVOD_DEBUG": "2"}, capture_output=True, text=True, check=True
    )
    assert "reduce 300x300: 360000 bytes, spares 359600" in told.stderr
    assert "reduced by rows that something else reads" in told.stderr


# Symbolic numbers of rows: shapes of rows, and how many points one has.
ROWS = [((1024,), 512), ((100,), 100), ((3, 40, 64), 512), ((4099,), 4099)]
N = svod.Variable("n", 0, 3000)
SIZES = (1, 17, 64, 0, 1000)


def check_sizes(
    plan: svod.ExecutionPlan,
    right: Callable[..., Sequence[Array]],
    *shapes: tuple[int, ...],
    sizes: Sequence[int] = SIZES,
    tolerance: float = 1e-5,
) -> None:
    """The plan's outputs for several values of `n`, of inputs that have so many rows of these shapes."""
    for n in sizes:
        inputs = [draw(n, *shape, seed=i) for i, shape in enumerate(shapes)]
        plan.execute(*inputs, n=n)
        for mine, expected in zip(plan.outputs, right(*(x.astype(np.float64) for x in inputs)), strict=True):
            np.testing.assert_allclose(mine.numpy(), expected, rtol=tolerance, atol=tolerance * max(n, 1))


@pytest.mark.parametrize(("shape", "row"), ROWS)
def test_of_a_symbolic_number_of_rows_a_total_beside_a_map_reads_them_once(shape: tuple[int, ...], row: int) -> None:
    most = 3000 * int(np.prod(shape))

    def both(results: Operands, inputs: Operands, right: Callable[..., Sequence[Array]], *sizes: int) -> None:
        plan = svod.prepare(*results, inputs=inputs)
        assert len(plan.kernels) == 2, [kernel.name for kernel in plan.kernels]
        assert moved(plan, rounds=2) == 4 * ((len(inputs) + 1) * most + 2 * (most // row) + 1)
        check_sizes(plan, right, *[shape] * len(inputs), sizes=sizes or SIZES)

    t = svod.empty(N, *shape)
    both([t.sum(), t * 2], [t], lambda x: [x.sum(), x * 2])
    t = svod.empty(N, *shape)
    both([t * 2, (t * 2).max()], [t], lambda x: [x * 2, x.max() * 2], 1, 64, 999)
    g, p = svod.empty(N, *shape), svod.empty(N, *shape)
    both([(g * g).sum().sqrt(), p - 0.1 * g], [g, p], lambda g, p: [np.sqrt((g * g).sum()), p - 0.1 * g])


@pytest.mark.parametrize("axis", [0, 1])
def test_of_a_symbolic_number_of_rows_a_total_is_a_fold_of_those_of_rows_or_columns(axis: int) -> None:
    t = svod.empty(N, 1024)
    plan = svod.prepare(t.sum(), t.sum(axis), inputs=[t])
    assert sum(count == 3000 * 1024 for kernel in plan.kernels for _, count in kernel.buffers) == 1
    check_sizes(plan, lambda x: [x.sum(), x.sum(axis)], (1024,))


@pytest.mark.parametrize("shape", [(), (7,)])
def test_dimensions_that_are_variables_are_not_cut(shape: tuple[int, ...]) -> None:
    m = svod.Variable("m", 0, 1_000_000)
    t = svod.empty(m, *shape)
    plan = svod.prepare(t.sum(), t * 2, inputs=[t])
    for size in 0, 1, 99_999, 100_003:
        x = draw(size, *shape)
        plan.execute(x, m=size)
        np.testing.assert_allclose(plan.outputs[0].item(), x.sum(dtype=np.float64), rtol=1e-4, atol=1e-2)
        np.testing.assert_array_equal(plan.outputs[1].numpy(), x * 2)


def test_jit_of_a_symbolic_number_of_rows_reads_them_once() -> None:
    @svod.jit(shapes={"g": (N, 1024), "p": (N, 1024)})
    def step(g: svod.Tensor, p: svod.Tensor) -> tuple[svod.Tensor, svod.Tensor]:
        return (g * g).sum().sqrt(), p - 0.1 * g

    for n in 400, 333, 1:
        g, p = draw(n, 1024), draw(n, 1024, seed=1)
        norm, updated = step(svod.Tensor(g), svod.Tensor(p))
        np.testing.assert_allclose(norm.item(), np.sqrt((g.astype(np.float64) ** 2).sum()), rtol=1e-5)
        np.testing.assert_allclose(updated.numpy(), p - 0.1 * g, rtol=1e-6, atol=1e-6)
