"""Scans, scatters, orders and masks against NumPy and, where present, PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

DTYPES = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]
SHAPES = [(0,), (1,), (7,), (130,), (5, 33), (33, 5), (1, 4), (4, 1), (2, 0, 3), (3, 17, 9)]


def data(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape) == 1)
    if dtype.startswith("float"):
        return np.asarray(rng.standard_normal(shape)).astype(dtype)
    low = 0 if dtype.startswith("u") else -100
    return np.asarray(rng.integers(low, 100, shape)).astype(dtype)


def check(actual: svod.Tensor, expected: Any, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    result = actual.numpy()
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    if result.dtype.kind == "f":
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_scans_along_every_axis(shape: tuple[int, ...]) -> None:
    for dtype in ["int32", "float32", "float64"]:
        x = data(shape, dtype)
        for axis in range(len(shape)):
            check(svod.Tensor(x).cumsum(axis), np.cumsum(x, axis))
            check(svod.Tensor(x).cummax(axis=axis), np.maximum.accumulate(x, axis))
            check(svod.Tensor(x).cummin(axis=axis), np.minimum.accumulate(x, axis))
            small = x / 50 if dtype != "int32" else x
            check(svod.Tensor(small).cumprod(axis), np.cumprod(small, axis), 1e-4)
    strided = data((40, 24), "float32")[::3, ::-1].T
    check(svod.Tensor(strided).cumsum(0), np.cumsum(strided, 0))


@pytest.mark.parametrize("n", [65536, 100_003, 1 << 18])
def test_a_long_scan_is_exact_for_any_number_of_threads(n: int) -> None:
    x = data((n,), "int64")
    check(svod.Tensor(x).cumsum(0), np.cumsum(x))
    y = data((n, 3), "float32")
    before = svod.get_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            svod.set_threads(threads)
            results.append(svod.Tensor(y).cumsum(0).numpy())
    finally:
        svod.set_threads(before)
    assert all(np.array_equal(results[0], r) for r in results)
    exact = np.cumsum(y.astype("float64"), 0)
    assert np.abs(results[0] - exact).max() <= 2 * np.abs(np.cumsum(y, 0) - exact).max() + 1e-3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_sorts_are_stable(shape: tuple[int, ...], dtype: str) -> None:
    x = data(shape, dtype)
    for axis in range(len(shape)):
        check(svod.sort(svod.Tensor(x), axis=axis), np.sort(x, axis))
        check(svod.argsort(svod.Tensor(x), axis=axis), np.argsort(x, axis, kind="stable"))
        values, positions = svod.Tensor(x).sort(axis, descending=True)
        flipped = np.flip(np.sort(x, axis), axis)
        check(values, flipped)
        check(svod.Tensor(np.take_along_axis(x, positions.numpy(), axis)), flipped)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("shape", [(7, 9), (20, 100), (3, 5000), (40_000,), (2, 70, 3)])
def test_an_order_and_its_elements_are_one_kernel(shape: tuple[int, ...], dtype: str) -> None:
    x = data(shape, dtype)
    if dtype.startswith("float"):
        x.flat[:6] = [0.0, -0.0, 0.0, np.nan, np.inf, -0.0]
    for axis in range(len(shape)):
        for descending in (False, True):
            values, positions = svod.Tensor(x).sort(axis, descending)
            plan = svod.prepare(values, positions)
            assert len(plan.kernels) == 1
            plan.execute()
            values, positions = plan.outputs
            check(positions, svod.Tensor(x).argsort(axis, descending).numpy())
            # Bit for bit, so that zeros keep their signs.
            expected = np.take_along_axis(x, positions.numpy(), axis)
            assert values.numpy().tobytes() == expected.tobytes()


def test_orders_of_what_is_computed() -> None:
    x = data((30, 200), "float32")
    spellings: list[Callable[[svod.Tensor], svod.Tensor]] = [
        lambda t: t.relu(),
        lambda t: t - t.mean(0, keepdim=True),
        lambda t: t.softmax(1),
        lambda t: t.cumsum(1),
        lambda t: t.reshape(40, 150).T,
        lambda t: svod.cat([t, t.flip(1) * 2], 1),
        lambda t: t.pad([(1, 2), (3, 0)]),
        lambda t: t[:, :1],
    ]
    for spelling in spellings:
        values, positions = spelling(svod.Tensor(x)).sort(1)
        plan = svod.prepare(values, positions)
        # One of them orders, beside what makes the elements, and of one element there is no order.
        assert sum(kernel.name.startswith("sort") for kernel in plan.kernels) == (values.shape[1] > 1)
        plan.execute()
        given = spelling(svod.Tensor(x)).numpy()
        np.testing.assert_allclose(plan.outputs[0].numpy(), np.sort(given, 1), rtol=1e-6, atol=1e-6)
        at = plan.outputs[1].numpy()
        np.testing.assert_allclose(np.take_along_axis(given, at, 1), np.sort(given, 1), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n", [70, 300, 512, 1024, 1001, 2000])
@pytest.mark.parametrize("k", [2, 5, 10, 31])
def test_the_first_few_of_short_rows(n: int, k: int) -> None:
    for dtype in ("float32", "float64", "int64", "uint8"):
        x = data((9, n), dtype)
        x[0], x[1] = np.sort(x[0]), -np.sort(-x[1].astype("float64")).astype(dtype)
        x[2] = x[2, 0]
        for largest in (False, True):
            values, positions = svod.Tensor(x).topk(k, largest=largest)
            check(positions, svod.Tensor(x).argsort(1, largest).numpy()[:, :k])
            check(values, np.take_along_axis(x, positions.numpy(), 1))


def test_nan_infinities_and_zeros_have_their_place() -> None:
    x = np.array([np.nan, 1, -np.inf, 0.0, -0.0, np.inf, -1, np.nan, 0.0], "float32")
    for dtype in ("float16", "float32", "float64"):
        y = x.astype(dtype)
        check(svod.sort(svod.Tensor(y)), np.sort(y))
        check(svod.argsort(svod.Tensor(y)), np.argsort(y, kind="stable"))
    # NaN is the greatest: first where the order descends.
    check(svod.argsort(svod.Tensor(x), descending=True), [0, 7, 5, 1, 3, 4, 8, 6, 2])
    check(svod.Tensor(x).topk(3)[1], [0, 7, 5])
    check(svod.Tensor(x).cummax(axis=0), np.maximum.accumulate(x))


@pytest.mark.parametrize("n", [70_000, 200_001])
def test_long_rows_are_sorted_in_blocks(n: int) -> None:
    for dtype in ["float32", "int64", "uint8"]:
        x = data((n,), dtype, 5)
        check(svod.sort(svod.Tensor(x)), np.sort(x))
        check(svod.argsort(svod.Tensor(x)), np.argsort(x, kind="stable"))
    y = data((2, n), "float32")
    check(svod.sort(svod.Tensor(y)), np.sort(y))


def test_the_first_few() -> None:
    x = data((3, 10_000), "float32")
    for k in (1, 5, 30, 2000, 10_000):
        values, positions = svod.Tensor(x).topk(k)
        check(values, -np.sort(-x)[:, :k])
        check(svod.Tensor(np.take_along_axis(x, positions.numpy(), 1)), values.numpy())
    values, positions = svod.Tensor(x).topk(4, axis=0 - 1, largest=False)
    check(positions, np.argsort(x, kind="stable")[:, :4])
    same = np.ones(20_000, "int32")
    check(svod.Tensor(same).topk(7)[1], np.arange(7))
    check(svod.Tensor(x).kthvalue(17)[0], np.sort(x)[:, 16])
    for k in (-1, 10_001):
        with pytest.raises(ValueError, match="topk"):
            svod.Tensor(x).topk(k)
    assert svod.Tensor(x).topk(0)[0].shape == (3, 0)


@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "int8", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_short_rows_are_sorted_by_counting(dtype: str) -> None:
    rng = np.random.default_rng(2)
    for shape in ((5, 9), (3, 1), (1, 64), (7, 63), (4, 65), (2, 3, 17), (33, 8), (0, 9), (3, 0)):
        if dtype.startswith("float"):
            a = rng.standard_normal(shape).round(1).astype(dtype)
            a.flat[: min(a.size, 4)] = [np.nan, -np.inf, -0.0, 0.0][: a.size]
        else:
            ends = np.iinfo(dtype)
            a = rng.integers(ends.min, ends.max, shape, dtype=dtype, endpoint=True)
            a.flat[::2] = a.flat[-1] if a.size else 0
        x = svod.Tensor(a)
        for axis in range(a.ndim):
            np.testing.assert_array_equal(x.sort(axis)[0].numpy(), np.sort(a, axis))
            np.testing.assert_array_equal(x.argsort(axis).numpy(), np.argsort(a, axis, kind="stable"))
        if a.shape[-1] > 3:
            np.testing.assert_array_equal(
                x.sort(-1, descending=True)[0][..., :3].numpy()[..., ::-1], np.sort(a)[..., -3:]
            )
            np.testing.assert_array_equal(x.cast("float64").topk(3)[0].isnan().sum().item(), min(np.isnan(a).sum(), 3))


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_of_stacks(side: str) -> None:
    rng = np.random.default_rng(5)
    x, v = np.sort(rng.integers(0, 9, (2, 3, 37)).astype(np.float32), -1), rng.integers(-1, 10, (2, 3, 12)).astype("f4")
    x[1, 2, -3:], v[1, 2, 0], v[0, 0, :2] = np.nan, np.nan, [np.inf, np.nan]
    want = [[np.searchsorted(one, at, side) for one, at in zip(*both, strict=True)] for both in zip(x, v, strict=True)]
    check(svod.searchsorted(svod.Tensor(x), svod.Tensor(v), side=side), np.asarray(want))
    assert svod.searchsorted(svod.zeros(2, 0), svod.zeros(2, 3)).tolist() == [[0, 0, 0]] * 2


def test_searchsorted_and_unique() -> None:
    x = np.sort(data((1000,), "int32"))
    v = data((7, 9), "int32", 3)
    check(svod.searchsorted(svod.Tensor(x), svod.Tensor(v)), np.searchsorted(x, v))
    check(svod.searchsorted(svod.Tensor(x), svod.Tensor(v), side="right"), np.searchsorted(x, v, side="right"))
    check(svod.searchsorted(svod.Tensor(x[:0]), svod.Tensor(v)), np.zeros((7, 9)))
    f = np.array([-1, 0, 2, np.nan], "float32")
    check(svod.searchsorted(svod.Tensor(f), svod.Tensor(f)), np.searchsorted(f, f))
    check(svod.unique_values(svod.Tensor(v)), np.unique(v))


def test_scatters_combine() -> None:
    rng = np.random.default_rng(1)
    x, v = data((6, 9), "float32"), data((11, 9), "float32", 2)
    index = rng.integers(-6, 6, (11, 9))
    expected: dict[str, np.ndarray] = {"sum": x.copy(), "prod": x.copy(), "amax": x.copy(), "amin": x.copy()}
    functions = {"sum": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}
    columns = np.broadcast_to(np.arange(9), index.shape)
    for name, result in expected.items():
        functions[name].at(result, (index, columns), v)
        check(svod.Tensor(x).scatter_reduce(0, index, v, name), result)
    check(svod.Tensor(x).scatter_add(0, index, v), expected["sum"])
    written = x.copy()
    written[index, columns] = v
    check(svod.Tensor(x).scatter(0, index, v), written)
    rows = rng.integers(0, 6, 11)
    added = x.copy()
    np.add.at(added, rows, v)
    check(svod.Tensor(x).index_add(0, rows, v), added)
    with pytest.raises(ValueError, match="none of sum"):
        svod.Tensor(x).scatter_reduce(0, index, v, "median")
    with pytest.raises(IndexError):
        svod.Tensor(x).scatter(0, np.full((1, 9), 6), v[:1])


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce_is_pytorchs(reduce: str, include_self: bool) -> None:
    torch = pytest.importorskip("torch")
    x, v = data((7, 4), "float32"), data((9, 4), "float32", 2)
    index = np.random.default_rng(3).integers(0, 5, (9, 4))
    expected = torch.from_numpy(x).scatter_reduce(
        0, torch.from_numpy(index), torch.from_numpy(v), reduce, include_self=include_self
    )
    check(svod.Tensor(x).scatter_reduce(0, index, v, reduce, include_self=include_self), expected.numpy())


def test_many_points_give_the_same_for_any_number_of_threads() -> None:
    index, v = np.random.default_rng(0).integers(0, 1000, 600_000), data((600_000,), "float32")
    before = svod.get_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            svod.set_threads(threads)
            results.append(svod.zeros(1000).scatter_add(0, index, v).numpy())
    finally:
        svod.set_threads(before)
    assert all(np.array_equal(results[0], r) for r in results)
    np.testing.assert_allclose(results[0], np.bincount(index, v, 1000), atol=1e-3)
    check(svod.Tensor(index).bincount(minlength=1000), np.bincount(index, minlength=1000))


def test_assignment_at_positions() -> None:
    x = data((6, 5, 4), "float32")
    keys: list[Any] = [
        np.array([1, 3, 1]),
        (slice(None), np.array([0, -1])),
        (np.array([0, 2]), np.array([1, 1])),
        (2, slice(None, None, 2), np.array([3, 0])),
        x > 0.5,
        x[:, 0, 0] > 0,
        (slice(None), x[0] > 0),
    ]
    for key in keys:
        expected, tensor = x.copy(), svod.Tensor(x)
        own = (
            tuple(svod.Tensor(k) if isinstance(k, np.ndarray) else k for k in key)
            if isinstance(key, tuple)
            else svod.Tensor(key)
        )
        check(tensor[own], x[key])
        value = data(x[key].shape, "float32", 9)
        expected[key] = value
        tensor[own] = value
        check(tensor, expected)
        expected[key] = 7
        tensor[own] = 7
        check(tensor, expected)


def test_masks_select() -> None:
    x = data((5, 8), "int32")
    for actual, expected in zip(svod.nonzero(svod.Tensor(x % 3)), np.nonzero(x % 3), strict=True):
        check(actual, expected)
    check(svod.Tensor(x).masked_select(svod.Tensor(x > 0)), x[x > 0])
    check(svod.Tensor(x)[svod.Tensor(x > 1000)], x[x > 1000])
    with pytest.raises(IndexError, match="mask"):
        svod.Tensor(x)[svod.Tensor(np.ones((4, 8), bool))]


@pytest.mark.parametrize("axis", [0, 1])
def test_where_the_extrema_are(axis: int) -> None:
    x = data((70, 130), "float32")
    x[3, 5] = x[40, 90] = np.nan
    check(svod.Tensor(x).argmax(axis), np.argmax(x, axis))
    check(svod.Tensor(x).argmin(axis), np.argmin(x, axis))
    y = np.zeros((70, 130), "int16")
    check(svod.Tensor(y).argmax(axis), np.argmax(y, axis))


@pytest.mark.parametrize("strategy", ["heuristic", "none"])
def test_one_of_several_values_of_one_fold(strategy: str) -> None:
    # Each read has an index of its own, of which those of parts that are not chosen lie outside.
    a, b = np.arange(1, 5, dtype=np.float32), np.arange(2, 6, dtype=np.float32)
    x, y = svod.Tensor(a), svod.Tensor(b)
    parts: list[tuple[str, Any, Any]] = [
        ("dot", x @ y, a @ b),
        ("matrix", svod.Tensor(a[None]) @ y, a[None] @ b),
        ("window", x.reshape(1, 1, 4).max_pool1d(4, 4).reshape(()), np.float32(4)),
        ("mean", x.mean(), a.mean()),
    ]
    for name, value, expected in parts:
        many, all_of = svod.stack([value, value * 2, value * 3]), np.stack([expected, expected * 2, expected * 3])
        for i in range(3):
            part = many[i].prepare(strategy=strategy)
            part.execute()
            np.testing.assert_allclose(part.outputs[0].numpy(), all_of[i], rtol=1e-6, err_msg=f"{name} {i}")
        np.testing.assert_allclose(many.flip(0)[0].numpy(), all_of[2], rtol=1e-6)
        np.testing.assert_allclose(many[1:].numpy(), all_of[1:], rtol=1e-6)
        np.testing.assert_allclose(many[svod.Tensor([2, 0, 1])].numpy(), all_of[[2, 0, 1]], rtol=1e-6)
        flat = value.reshape(1)
        np.testing.assert_allclose(flat[svod.Tensor([0, 0, 0])].numpy(), np.full(3, expected), rtol=1e-6)
        np.testing.assert_allclose((svod.cat([x, flat])[4] * value).numpy(), expected**2, rtol=1e-6)
        np.testing.assert_allclose((flat.pad([(0, 2)])[2] + value).numpy(), expected, rtol=1e-6)


def test_parts_of_one_fold_at_other_indices() -> None:
    a = np.random.default_rng(3).standard_normal((8, 33)).astype(np.float32)
    sums = svod.Tensor(a).sum(1)
    np.testing.assert_allclose((sums[:4] * sums[4:]).numpy(), a.sum(1)[:4] * a.sum(1)[4:], rtol=1e-4)
    np.testing.assert_allclose((sums[3] + sums[5]).numpy(), a.sum(1)[3] + a.sum(1)[5], rtol=1e-4)
    order = np.array([7, 0, 3])
    np.testing.assert_allclose((sums[svod.Tensor(order)] + sums[2]).numpy(), a.sum(1)[order] + a.sum(1)[2], rtol=1e-4)


def test_nothing_is_written_to_a_part_without_elements() -> None:
    a = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
    x = svod.Tensor(a).clone()
    x[:-3, 2:5:-3, 1] = svod.zeros(0, 1)
    np.testing.assert_array_equal(x.numpy(), a)


def test_known_positions_are_checked_each_time_that_they_may_be_others() -> None:
    table = svod.Tensor(np.arange(4, dtype=np.float32))
    mine = np.array([0, 3, -4])
    at = svod.from_numpy(mine)
    assert table[at].tolist() == [0, 3, 0]
    assert table[at].tolist() == [0, 3, 0]
    mine[1] = 4
    with pytest.raises(IndexError, match="4"):
        table[at]
    own = svod.Tensor([1, 2, 5])
    # The first one outside is named, not the greatest; parts of memory are looked at by themselves.
    for wrong in (svod.Tensor([1, 7, 9, -8]), svod.Tensor([1, 7, 9, -8])):
        with pytest.raises(IndexError, match="7"):
            table[wrong]
    for _ in range(2):
        with pytest.raises(IndexError, match="5"):
            table[own]
        assert table[own[:2].realize()].tolist() == [1, 2]
    own.assign(svod.Tensor([3, 3, 3]))
    assert table[own.realize()].tolist() == [3, 3, 3]


def test_integers_between_brackets_are_of_any_kind() -> None:
    x = svod.Tensor(np.arange(12).reshape(3, 4))
    kept = x.numpy()
    two, one = np.int32(2), np.uint8(1)
    assert x[two].tolist() == kept[2].tolist()
    assert x[one:two, :: np.int64(2)].tolist() == kept[1:2, ::2].tolist()
    assert x[True:3].tolist() == kept[True:3].tolist()
    with pytest.raises(TypeError):
        x[1.0:]


@pytest.mark.parametrize(
    "make",
    [lambda: svod.arange(4), lambda: np.arange(4), lambda: [0, 1, 2, 3], lambda: svod.arange(4, dtype="int32")],
    ids=["arange", "array", "list", "int32"],
)
def test_lookups_in_rows_of_their_own(make: Callable[[], Any]) -> None:
    """Where one of several indices counts, each lookup is in a row of its own: NumPy's places, of any layout."""
    counted = make()
    x = data((4, 5, 6, 3), "float32")
    t, numbers = svod.Tensor(x), np.arange(4)
    one = np.array([3, -1, 0, -5])
    two = np.array([[0, -6, 5, 2], [1, 1, -2, 4]])
    column = svod.Tensor(counted).reshape(4, 1)
    cases: list[tuple[svod.Tensor, np.ndarray]] = [
        (t[counted, one], x[numbers, one]),
        (t[counted, one, one], x[numbers, one, one]),
        (t[:, counted, one], x[:, numbers, one]),
        (t[:, one[:, None] % 5, counted], x[:, one[:, None] % 5, numbers]),
        (t[counted, :, two], x[numbers, :, two]),
        (t[column, one], x[numbers[:, None], one]),
        (t[counted, counted], x[numbers, numbers]),
        (t[None, counted, 1:3, two], x[None, numbers, 1:3, two]),
        (t[counted, svod.Tensor(one)] * 2, x[numbers, one] * 2),
    ]
    for mine, right in cases:
        np.testing.assert_array_equal(mine.numpy(), right)
    with pytest.raises(IndexError):
        t[counted, svod.Tensor([0, 1, 2, 5])].realize()
    with pytest.raises(IndexError):
        t[:, :, [0, 0, 0, 0], svod.arange(4)].realize()


def test_what_counts_is_looked_at_when_an_index_is_built() -> None:
    x = data((3, 4), "float32")
    rows = svod.Tensor([0, 1, 2]).realize()
    before = svod.Tensor(x)[rows, [1, 1, 1]]
    rows.assign(np.array([2, 2, 2]))
    after = svod.Tensor(x)[rows, [1, 1, 1]]
    np.testing.assert_array_equal(before.numpy(), x[:, 1])
    np.testing.assert_array_equal(after.numpy(), x[[2, 2, 2], 1])

    @svod.jit
    def pick(t: svod.Tensor, at: svod.Tensor) -> svod.Tensor:
        return t[at, [1, 2, 3]]

    for at in ([0, 1, 2], [2, 0, 1], [0, 1, 2]):
        np.testing.assert_array_equal(pick(svod.Tensor(x), svod.Tensor(at)).numpy(), x[at, [1, 2, 3]])
