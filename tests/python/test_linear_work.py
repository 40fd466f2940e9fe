"""Long reductions, sorts and scatters, which run in blocks: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "int32", "int64", "uint32", "bool"])
@pytest.mark.parametrize("n", [16383, 70_001])
def test_sorts_of_many_points_are_stable(dtype: str, n: int) -> None:
    if dtype.startswith("float"):
        a = RNG.standard_normal(n).astype(dtype)
        a[::7] = a[0]
        a[5:9] = [np.nan, np.inf, -np.inf, 0]
    else:
        a = RNG.integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
        if dtype == "int32":
            a[::2] = RNG.integers(-(2**31), 2**31, len(a[::2]))
    t = svod.Tensor(a)
    np.testing.assert_array_equal(t.sort()[0].numpy(), np.sort(a))
    np.testing.assert_array_equal(t.argsort().numpy(), np.argsort(a, kind="stable"))
    np.testing.assert_array_equal(t.sort(descending=True)[0].numpy()[::-1], np.sort(a))


def test_sorts_of_many_long_rows() -> None:
    a = RNG.standard_normal((20, 16_400)).astype(np.float32)
    np.testing.assert_array_equal(svod.Tensor(a).sort(1)[0].numpy(), np.sort(a, 1))
    np.testing.assert_array_equal(svod.Tensor(a.T.copy()).argsort(0).numpy(), np.argsort(a.T, 0, kind="stable"))


SHAPES: list[tuple[int, ...]] = [(1 << 18,), (262_147,), (600, 700), (3, 300_007), (2, 3, 1 << 17), (1 << 17, 4)]


@pytest.mark.parametrize("shape", SHAPES)
def test_long_folds(shape: tuple[int, ...]) -> None:
    a = RNG.standard_normal(shape).astype(np.float32)
    t = svod.Tensor(a)
    for axis in (None, 0, len(shape) - 1, tuple(range(1, len(shape)))):
        if axis == ():
            continue
        np.testing.assert_allclose(t.sum(axis).numpy(), a.sum(axis, dtype=np.float64), rtol=1e-4, atol=1e-2)
        np.testing.assert_array_equal(t.max(axis=axis).numpy(), a.max(axis=axis))
        np.testing.assert_array_equal(t.min(axis=axis, keepdim=True).numpy(), a.min(axis=axis, keepdims=True))
        np.testing.assert_array_equal((t > 4).any(axis).numpy(), (a > 4).any(axis))
        np.testing.assert_array_equal((t > -4).all(axis).numpy(), (a > -4).all(axis))
    np.testing.assert_allclose(t.var().numpy(), a.astype(np.float64).var(ddof=1), rtol=1e-4)
    assert t.argmax().item() == a.argmax() and t.argmin().item() == a.argmin()
    # The order of additions follows from the shape alone.
    with svod.PrepareConfig(threads=1):
        one = t.sum().numpy()
    with svod.PrepareConfig(threads=2):
        assert (svod.Tensor(a).sum().numpy() == one).all()


def test_positions_of_extrema_among_ties_infinities_and_nan() -> None:
    n = 1 << 18
    cases: list[Any] = [np.zeros(n), np.full(n, -np.inf), np.full(n, np.inf)]
    late = np.zeros(n)
    late[[100_000, 200_000]] = np.nan
    late[50_000] = np.inf
    ints = RNG.integers(-3, 4, n)
    for a in (*cases, late, ints, ints.astype(np.int8)):
        t = svod.Tensor(a.astype(np.float32) if a.dtype == np.float64 else a)
        assert t.argmax().item() == a.argmax() and t.argmin().item() == a.argmin()
    assert svod.Tensor(late).reshape(512, 512).argmax(keepdim=True).shape == (1, 1)


def test_folds_of_a_plan_that_is_given_other_values() -> None:
    x = svod.zeros(1 << 19).realize()
    plan = svod.prepare(x.argmax(), x.sum(), (x * x).sum(), inputs=[x])
    for at in (0, 1, 300_000, (1 << 19) - 1):
        a = np.zeros(1 << 19, np.float32)
        a[at] = 2
        plan.execute(a)
        assert [out.item() for out in plan.outputs] == [at, 2, 4]


N, CLASSES, COLUMNS = 20_000, 50_000, 3


def one_hot_products(ids: svod.Tensor, table: svod.Tensor) -> list[svod.Tensor]:
    """Rows of a table at some indices, in spellings that compare each index with each class."""
    classes = svod.arange(table.shape[0])
    hot = ids[:, None] == classes
    return [
        ids.one_hot(table.shape[0]).cast("float32") @ table,
        hot.cast("float32") @ table,
        (hot[:, :, None] * table).sum(1),
        svod.einsum("nk,kj->nj", hot.cast("float32"), table),
        svod.where(hot[:, :, None], table, 0.0).sum(1),
        svod.where((ids[:, None] != classes)[:, :, None], 0.0, table).sum(1),
        svod.where(hot[:, :, None], table, -np.inf).max(axis=1).maximum(-1e30)
        * (ids >= 0)[:, None]
        * (ids < CLASSES)[:, None],
    ]


@pytest.mark.parametrize("spelling", range(7))
def test_products_with_one_hot_rows_are_lookups(spelling: int) -> None:
    ids, table = RNG.integers(-2, CLASSES + 2, N), RNG.standard_normal((CLASSES, COLUMNS)).astype(np.float32)
    inside = (ids >= 0) & (ids < CLASSES)
    expected = table[np.where(inside, ids, 0)] * inside[:, None]
    # All pairs would be 3e9 products.
    plan = svod.prepare(one_hot_products(svod.Tensor(ids), svod.Tensor(table))[spelling])
    assert [kernel.name for kernel in plan.kernels] == [f"map_{N}x{COLUMNS}"]
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("spelling", range(4))
def test_products_with_one_hot_columns_add_at_indices(spelling: int) -> None:
    ids, rows = RNG.integers(-2, CLASSES + 2, N), RNG.standard_normal((N, COLUMNS)).astype(np.float32)
    inside = (ids >= 0) & (ids < CLASSES)
    expected = np.zeros((CLASSES, COLUMNS))
    np.add.at(expected, ids[inside], rows[inside])
    i, g = svod.Tensor(ids), svod.Tensor(rows)
    hot = svod.arange(CLASSES)[:, None] == i
    result = [
        lambda: i.one_hot(CLASSES).cast("float32").T @ g,
        lambda: hot.cast("float32") @ g,
        lambda: (hot[:, :, None] * g).sum(1),
        lambda: svod.where(hot[:, :, None], g, 0.0).sum(1),
    ][spelling]()
    plan = svod.prepare(result)
    assert [kernel.name for kernel in plan.kernels] == [f"scatter_{N}x{COLUMNS}"]
    plan.execute()
    np.testing.assert_allclose(plan.outputs[0].numpy(), expected, rtol=1e-5, atol=1e-5)
    counts = hot.sum(1).numpy()
    np.testing.assert_array_equal(counts, np.bincount(ids[inside], minlength=CLASSES))


def test_what_is_not_selected_does_not_reach_a_one_hot_product() -> None:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    table[2] = [np.nan, np.inf, -np.inf]
    ids, t = svod.Tensor([3, 2, 9, 0]), svod.Tensor(table)
    np.testing.assert_array_equal((ids.one_hot(4).cast("float32") @ t).numpy(), [table[3], table[2], [0] * 3, table[0]])
    with svod.PrepareConfig(strict=True):
        exact = (ids.one_hot(4).cast("float32") @ t).numpy()
    np.testing.assert_array_equal(exact, [[np.nan] * 3, [np.nan, np.inf, -np.inf], [np.nan] * 3, [np.nan] * 3])
    # Triangles, bands and sums of several equations stay what they are.
    a = RNG.standard_normal((20, 20)).astype(np.float32)
    x, at = svod.Tensor(a), svod.arange(20)
    np.testing.assert_allclose((svod.where(at[:, None] <= at, x, 0.0)).sum(0).numpy(), np.triu(a).sum(0), rtol=1e-5)
    np.testing.assert_allclose(svod.where(at[:, None] == at, x, 0.0).sum().numpy(), np.trace(a), rtol=1e-5)
    band = (at[:, None] == at) | (at[:, None] == at + 1)
    np.testing.assert_allclose((band * x).sum(1).numpy(), (a * (np.eye(20) + np.eye(20, k=-1))).sum(1), rtol=1e-5)


def test_c1_a_scan_or_a_sort_that_is_asked_to_be_dense_is_written_once() -> None:
    a = svod.Tensor(np.arange(64 * 65, dtype=np.float32).reshape(64, 65)[::-1].copy())
    for expression in (a.cumsum(0), a.sort(0)[0], a.argsort(1), a.cumsum(1)):
        dense = expression.contiguous()
        (plan, plain) = (dense.prepare(inputs=[a]), expression.prepare(inputs=[a]))
        assert len(plan.kernels) == len(plain.kernels)
        plan.execute()
        plain.execute()
        np.testing.assert_array_equal(dense.numpy(), expression.numpy())
    # Both are results, and one is used besides.
    sums = a.cumsum(0)
    both = svod.prepare(sums, sums.contiguous(), sums.contiguous() + 1, inputs=[a])
    both.execute()
    first, second, third = (output.numpy() for output in both.outputs)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first + 1, third)


# Shorter rows are computed when they are written.
WIDTH = 4100


def cats(parts: list[np.ndarray[Any, Any]]) -> tuple[svod.Tensor, np.ndarray[Any, Any]]:
    joined = svod.Tensor(parts[0])
    for part in parts[1:]:
        joined = svod.cat([joined, svod.Tensor(part)], 0)
    return joined, np.concatenate(parts)


def sets(parts: list[np.ndarray[Any, Any]]) -> tuple[svod.Tensor, np.ndarray[Any, Any]]:
    whole, expected = svod.zeros(len(parts) * 2, WIDTH), np.zeros((len(parts) * 2, WIDTH), np.float32)
    for step, part in enumerate(parts):
        # Over a part of what was set before.
        at = step * 7 % len(parts)
        # Of expressions: what is in memory would be written at once.
        whole[at : at + len(part)] = -svod.Tensor(-part)
        expected[at : at + len(part)] = part
    return whole, expected


@pytest.mark.parametrize("make", [cats, sets])
@pytest.mark.parametrize("alike", [True, False])
def test_what_is_joined_step_by_step_is_written_a_few_times(make: Any, alike: bool) -> None:
    def work(steps: int) -> tuple[int, int]:
        rows = [4 if alike else 1 + step % 5 for step in range(steps)]
        joined, expected = make([RNG.standard_normal((n, WIDTH), np.float32) for n in rows])
        plan = svod.prepare(joined)
        plan.execute()
        np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)
        written = sum(kernel.buffers[-1][1] for kernel in plan.kernels)
        assert written <= 3 * expected.size
        return len(plan.kernels), written

    (kernels, _), (twice, _) = work(200), work(400)
    assert twice <= 2.2 * kernels + 4


def test_steps_with_symbolic_positions_stay_what_they_are() -> None:
    n = svod.Variable("n", 1, 30)
    whole, expected = svod.zeros(40, 3), np.zeros((40, 3), np.float32)
    for step in range(12):
        whole[step] = float(step)
        whole[n.bind(9) + step % 3] = -float(step)
        expected[step] = step
        expected[9 + step % 3] = -step
    np.testing.assert_array_equal(whole.numpy(), expected)
    grown, one = svod.zeros(1, 3), svod.ones(1, 3)
    for _ in range(12):
        grown = svod.cat([grown, one.expand(n.bind(2), 3)], 0)
    assert (grown.sum() == 72).item()


@pytest.mark.parametrize("few", [2, 3, 5, 8, 9])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "int8"])
def test_folds_of_few_neighbours(few: int, dtype: str) -> None:
    """Results side by side are lanes: ends of vectors, types, several values at once, windows that overlap."""
    rng = np.random.default_rng(few)
    given = rng.integers(-3, 4, (1003, few)).astype(dtype)
    x = svod.Tensor(given)
    assert x.sum(1).tolist() == given.sum(1).tolist()
    assert x.max(axis=1).tolist() == given.max(axis=1).tolist()
    assert x.argmin(1).tolist() == given.argmin(1).tolist()
    assert (x.min(axis=1) + x.prod(1)).tolist() == (given.min(axis=1) + given.prod(1)).tolist()
    if few < 9 and dtype.startswith("float"):
        row = svod.Tensor(given.reshape(1, 1, -1))
        windows = np.lib.stride_tricks.sliding_window_view(given.reshape(-1), few)[::2]
        assert svod.nn.functional.max_pool1d(row, few, 2).flatten().tolist() == windows.max(axis=1).tolist()


def test_few_points_with_equal_keys_keep_their_order() -> None:
    for dtype in ("int64", "uint64", "int32", "float32", "int16"):
        for n in (1, 7, 8, 9, 20, 63, 64):
            given = np.random.default_rng(n).integers(0, 4, (50, n)).astype(dtype)
            given[::7, ::3] = np.iinfo(dtype).max if dtype != "float32" else np.inf
            order = np.argsort(given, -1, kind="stable")
            assert svod.Tensor(given).argsort(-1).tolist() == order.tolist()
            assert svod.Tensor(given).sort(-1)[0].tolist() == np.take_along_axis(given, order, -1).tolist()
