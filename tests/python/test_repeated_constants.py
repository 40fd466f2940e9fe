"""Reads that differ in constants run one plan: its values are those of the constants at hand, whatever these are."""

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
import svod.nn.functional as F

# Signed zeros, NaN and infinities are structure: they stay in the code.
FLOATS = [0.3, 0.7, 1.5, -0.0, 0.0, 2.0, 1.0, math.nan, 5.25, math.inf, -math.inf, -3.5, 1e-30, 0.5, 0.3]
INTEGERS = [3, 5, 0, 7, 1, 2, 11, -4, 3, 127, -128, 9, 10]


def plans() -> int:
    """Plans that were made so far."""
    return int(svod.compile_times().get("plan", (0, 0.0))[0])


def same(found: Any, expected: Any) -> None:
    """Alike in every bit, but for which NaN it is."""
    found = found.numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[numbers], np.signbit(expected)[numbers])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", [lambda a, v: a * v, lambda a, v: a + v, lambda a, v: (a - v) * a])
def test_floats_of_any_value(op: Callable[..., Any], dtype: str) -> None:
    x = np.array([1.0, -2.5, 0.0, -0.0, 3.0, np.nan, np.inf], dtype)
    with np.errstate(all="ignore"):
        for value in FLOATS:
            number = np.dtype(dtype).type(value)
            same(op(svod.Tensor(x), value), op(x, number))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_of_any_value(dtype: str) -> None:
    x = np.array([1, 2, 7, 100, 0, 13], dtype)
    info = np.iinfo(dtype)
    for value in [*INTEGERS, info.max, info.max - 1, info.min]:
        if not info.min <= value <= info.max:
            continue
        number = np.dtype(dtype).type(value)
        with np.errstate(all="ignore"):
            same(svod.Tensor(x) * value + value, x * number + number)
            same(svod.Tensor(x) == value, x == number)
            if value > 0:
                same(svod.Tensor(x) // value, x // number)
                same(svod.Tensor(x) % value, x % number)


def test_weak_numbers_take_the_dtype_of_what_they_meet() -> None:
    for value in [1.5, 2.25, 3.75, 4.125, 7.0, 9.5, 0.1]:
        for dtype in ["float32", "float64", "float16"]:
            x = np.array([1, 2, 3], dtype)
            same(svod.Tensor(x) * value, x * np.dtype(dtype).type(value))
        assert (svod.Tensor(np.array([1, 2], np.int32)) * value).dtype == svod.float32


def test_fills_choices_and_bounds() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    for value in [0.25, 3.5, 7.25, 2.0, -1.5, 6.75, 11.5, 0.0]:
        number = np.float32(value)
        same(svod.where(svod.Tensor(x) > value, svod.Tensor(x), value), np.where(x > number, x, number))
        same(svod.clip(svod.Tensor(x), value, value + 3), np.clip(x, number, number + 3))
        same(svod.Tensor(x).pad(((1, 0), (0, 2)), value=value), np.pad(x, ((1, 0), (0, 2)), constant_values=number))
        positive = x + 1
        np.testing.assert_allclose((svod.Tensor(positive) ** value).numpy(), positive**number, rtol=2e-6)


def test_numbers_that_are_equal_now_and_then() -> None:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    for a, b in [(0.3, 0.7), (0.5, 0.5), (1.25, 1.25), (3.5, 4.5), (4.5, 3.5), (0.25, 0.25), (0.75, 8.5)]:
        same(svod.Tensor(x) * a + b, x * np.float32(a) + np.float32(b))


def test_a_number_beside_memory_that_is_written_between_reads() -> None:
    x, expected = svod.zeros(5), np.zeros(5, np.float32)
    for step, value in enumerate([0.5, 0.25, 3.5, 1.25, 6.5, 7.5, 2.5]):
        x[step % 5], expected[step % 5] = float(step), step
        same(x * value + 1.5, expected * np.float32(value) + np.float32(1.5))
    array = np.ones(6, np.float32)
    borrowed = svod.from_numpy(array)
    for value in [0.5, 0.25, 3.5, 1.25, 6.5, 7.5]:
        array[:] = value
        same(borrowed * value, np.full(6, value * value, np.float32))


def test_draws_are_their_own() -> None:
    met = set()
    for seed in range(12):
        svod.manual_seed(seed)
        drawn = (svod.rand(8) * (seed + 0.5)).numpy()
        met.add(drawn.tobytes())
        svod.manual_seed(seed)
        with svod.PrepareConfig(skip="arguments"):
            np.testing.assert_array_equal((svod.rand(8) * (seed + 0.5)).numpy(), drawn)
    assert len(met) == 12


def test_further_values_that_a_read_keeps() -> None:
    x = svod.Tensor(np.arange(6, dtype=np.float32))
    w, expected = svod.zeros(6), np.zeros(6, np.float32)
    held = []
    for rate in [0.5, 0.25, 0.75, 1.5, 3.5, 0.125, 5.5, 4.25]:
        w = w + x * rate
        expected = expected + np.arange(6, dtype=np.float32) * np.float32(rate)
        held.append((w, expected))
        assert float(w.sum()) == float(expected.sum())
    for named, value in held:
        same(named, value)


def test_threads_with_numbers_of_their_own() -> None:
    wrong: list[tuple[float, Any]] = []
    x = np.arange(20, dtype=np.float32)

    def work(first: float) -> None:
        for i in range(60):
            value = first + i * 0.25
            found = (svod.Tensor(x) * value + 0.5).numpy()
            if not np.array_equal(found, x * np.float32(value) + np.float32(0.5)):
                wrong.append((value, found))

    threads = [threading.Thread(target=work, args=(100.0 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_caches_that_are_cleared_and_a_switch() -> None:
    x = svod.Tensor(np.arange(4, dtype=np.float32))
    for round in range(3):
        for value in [0.3, 0.6, 1.3, 1.6, 2.6]:
            found = (x * (value + round)).numpy()
            with svod.PrepareConfig(skip="arguments"):
                np.testing.assert_array_equal(found, (x * (value + round)).numpy())
        svod.clear_caches()
    with svod.PrepareConfig(skip="arguments"):
        for value in [9.5, 9.25, 9.75]:
            before = plans()
            (x * value - 4).numpy()
            assert plans() > before


def schedules() -> int:
    """Schedules that were made so far."""
    return int(svod.compile_times().get("shard", (0, 0.0))[0])


X = np.random.default_rng(5).standard_normal(50).astype(np.float32)
CHANGING: dict[str, tuple[Callable[[Any, float], Any], Callable[[float], Any]]] = {
    "quantile": (lambda x, i: x.quantile(i / 64), lambda i: np.quantile(X, i / 64)),
    "nanquantile": (lambda x, i: svod.nanquantile(x, i / 64), lambda i: np.nanquantile(X, i / 64)),
    "quantiles of rows": (
        lambda x, i: svod.quantile(x.reshape(5, 10), i / 64, 1),
        lambda i: np.quantile(X.reshape(5, 10), i / 64, 1),
    ),
    "pad": (lambda x, i: x.pad(((1, 2),), value=i), lambda i: np.pad(X, (1, 2), constant_values=i)),
    "pad and fold": (lambda x, i: (x.pad(((1, 2),), value=i) * 2).sum(), lambda i: 2 * (X.sum() + 3 * i)),
    "pad with integers": (
        lambda x, i: (x > 0).int().pad(((1, 2),), value=int(i)),
        lambda i: np.pad((X > 0).astype(np.int32), (1, 2), constant_values=int(i)),
    ),
    "sum of a constant": (lambda x, i: (svod.zeros(7) + i).sum(), lambda i: 7 * i),
    "mean of a constant": (lambda x, i: svod.full((7,), i / 64).mean(), lambda i: i / 64),
    "scan of a constant": (lambda x, i: svod.full((7,), i).cumsum(0), lambda i: np.arange(1, 8) * i),
    "a constant of changing extent": (lambda x, i: svod.full((int(i) + 1,), int(i)).sum(), lambda i: (i + 1) * i),
}


@pytest.mark.parametrize("name", CHANGING)
def test_numbers_of_all_kinds_become_arguments(name: str) -> None:
    ours, theirs = CHANGING[name]
    x, before, made = svod.Tensor(X), schedules(), []
    for i in range(1, 60):
        np.testing.assert_allclose(ours(x, float(i)).numpy(), theirs(float(i)), rtol=2e-6, atol=1e-6)
        made.append(schedules() - before)
    assert made[-1] <= 12 and made[-1] == made[-15], made


def box(shape: tuple[int, ...], numbers: Any) -> tuple[slice, ...]:
    """Bounds of a part that has at least two elements along each axis."""
    ends = [sorted(numbers.choice(n // 2 + 1, 2, replace=False)) for n in shape]
    return tuple(slice(int(2 * a), int(2 * b)) for a, b in ends)


@pytest.mark.parametrize("shape", [(30,), (24, 30), (14, 12, 16)])
def test_boxes_of_any_bounds_share_schedules(shape: tuple[int, ...]) -> None:
    numbers = np.random.default_rng(7)
    values = numbers.standard_normal(shape).astype(np.float32)
    x, before, made = svod.Tensor(values).realize(), schedules(), []
    for _ in range(120):
        at = box(shape, numbers)
        np.testing.assert_allclose(x[at].sum().item(), values[at].sum(dtype=np.float64), rtol=1e-4, atol=1e-3)
        made.append(schedules() - before)
    assert made[-1] <= 30 and made[-1] - made[80] <= 3, made


def windows(n: int) -> Any:
    return np.lib.stride_tricks.sliding_window_view(X, n)


WINDOWS: dict[str, tuple[Callable[[Any, int], Any], Callable[[int], Any]]] = {
    "unfold": (lambda x, n: x.unfold(0, n, 1).sum(-1), lambda n: windows(n).sum(-1)),
    "fold of all": (lambda x, n: x.unfold(0, n, 1).sum(), lambda n: windows(n).sum()),
    "mean": (lambda x, n: F.avg_pool1d(x[None, None], n, 1)[0, 0], lambda n: windows(n).mean(-1)),
    "max": (lambda x, n: F.max_pool1d(x[None, None], n, 1)[0, 0], lambda n: windows(n).max(-1)),
    "convolved": (
        lambda x, n: F.conv1d(x[None, None], svod.Tensor(X[:n])[None, None])[0, 0],
        lambda n: windows(n) @ X[:n],
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_any_length_share_schedules(name: str) -> None:
    ours, theirs = WINDOWS[name]
    x, before, made = svod.Tensor(X).realize(), schedules(), []
    for n in range(2, 46):
        np.testing.assert_allclose(ours(x, n).numpy(), theirs(n), rtol=1e-4, atol=1e-4)
        made.append(schedules() - before)
    assert made[-1] <= 16, made


def test_positions_and_extents_that_change_make_no_plans_in_the_end() -> None:
    x = np.arange(400, dtype=np.float32)
    whole = svod.Tensor(x)
    made = []
    for i in range(60):
        first, last = 3 * i, 3 * i + 150
        before = plans()
        found = float((whole[first:last] * 2.0 + 1.0).sum())
        made.append(plans() - before)
        assert found == float((x[first:last] * 2 + 1).sum(dtype=np.float64))
    assert made[10:] == [0] * 50
    grown, made = svod.Tensor(np.ones(700, np.float32)), []
    for i in range(700, 760):
        before = plans()
        grown = svod.cat([grown * 1.0, svod.full((1,), float(i))])
        found = float((grown * 2.0).sum())
        made.append(plans() - before)
        assert grown.shape == (i + 1,)
        assert found == 2 * (700 + sum(range(700, i + 1)))
    assert sum(made[-30:]) <= 3


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_extents_that_change_give_results_of_their_own_size(dtype: str) -> None:
    kept = []
    for n in [*range(40, 90), 41, 89, 40, 200, 33, 64]:
        x = np.arange(n * 7).reshape(n, 7).astype(dtype)
        y = svod.Tensor(x)
        total = (y[1:-1] + y[:-2]).sum(1)
        kept.append((total, (x[1:-1] + x[:-2]).sum(1)))
        np.testing.assert_array_equal(total.numpy(), kept[-1][1].astype(total.numpy().dtype))
    for total, expected in kept:
        np.testing.assert_array_equal(total.numpy(), expected.astype(total.numpy().dtype))


def test_threads_with_extents_of_their_own() -> None:
    wrong: list[int] = []

    def work(first: int) -> None:
        for n in range(first, first + 60):
            x = np.arange(n, dtype=np.float32)
            found = (svod.Tensor(x)[2:] * 3.0 + svod.Tensor(x)[:-2]).numpy()
            if not np.array_equal(found, x[2:] * 3 + x[:-2]):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(100 + 20 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
