"""Kernels of one graph that differ only in numbers are one kernel, which has them as arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import svod

Array = npt.NDArray[Any]
RNG = np.random.default_rng(5)
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def compiled(make: Callable[..., Any], inputs: Sequence[Array], numbers: Sequence[Any], *expected: Array) -> int:
    """Kernels of a graph that computes a function of each input and a number, whose values are those that are expected,
    or NumPy's."""
    tensors = [svod.Tensor(a) for a in inputs]
    svod.clear_caches()
    results = [make(t, number) for t, number in zip(tensors, numbers, strict=True)]
    svod.realize(*results)
    count = svod.caches()["kernels"]
    wanted = expected or [make(a, number) for a, number in zip(inputs, numbers, strict=True)]
    for result, want, number in zip(results, wanted, numbers, strict=True):
        exact = want.dtype.kind in "biu"
        compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
        compare(result.numpy(), want, **({} if exact else {"rtol": 1e-6}), err_msg=str(number))
    return count


@pytest.mark.parametrize("dtype", INTS)
def test_integers_of_any_type_are_arguments(dtype: str) -> None:
    info = np.iinfo(dtype)
    numbers = [int(i) for i in (info.min, info.max, 0, 1, 3, 100, info.max - 1, info.min + 1)]
    inputs = [RNG.integers(info.min, info.max, 37, dtype, endpoint=True) for _ in numbers]
    for a in inputs:
        a[:4] = info.min, info.max, 0, 1
    for make in (
        lambda x, i: x + i,
        lambda x, i: x * i - x,
        lambda x, i: x & i,
        lambda x, i: (x ^ i) | x,
        lambda x, i: x < i,
        lambda x, i: x == i,
    ):
        with np.errstate(all="ignore"):
            assert compiled(make, inputs, numbers) <= 3
    wanted = [np.where(a > i, a, i) for a, i in zip(inputs, numbers, strict=True)]
    assert compiled(lambda x, i: svod.where(x > i, x, i), inputs, numbers, *wanted) <= 3


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64"])
def test_divisors_and_counts_of_bits_are_arguments_where_there_are_three(dtype: str) -> None:
    info = np.iinfo(dtype)
    inputs = [RNG.integers(info.min, info.max, 21, dtype, endpoint=True) for _ in range(6)]
    divisors = [7, int(info.max), 3, 10, 5, int(info.min) or 1]
    with np.errstate(all="ignore"):
        assert compiled(lambda x, i: x // i, inputs, divisors) <= 3
        assert compiled(lambda x, i: x % i, inputs, divisors) <= 3
        counts = [0, 1, 3, 5, info.bits - 1, 2]
        assert compiled(lambda x, i: x << i, inputs, counts) <= 3
        assert compiled(lambda x, i: x >> i, inputs, counts) <= 3
        # Code that divides by a known number is much better.
        assert compiled(lambda x, i: x // i, inputs[:4], [divisors[0], divisors[2]] * 2) == 2


def test_numbers_of_which_code_makes_much_are_arguments_where_there_are_three() -> None:
    inputs = [RNG.random(50).astype(np.float32) for _ in range(6)]
    make = lambda x, i: x * i + 3  # noqa: E731
    assert compiled(make, inputs, [1.0, 0.5, 1.0, 0.5, 1.0, 0.5]) == 2
    assert compiled(make, inputs, [3.0, 0.7, 3.0, 0.7, 3.0, 0.7]) == 1
    # The algebra knows products with 1 and 0.
    assert compiled(make, inputs, [1.0, 0.5, 2.0, -1.0, 7.0, 0.0]) == 3
    # One that stays sets apart what differs in others.
    pairs = [(2, 3.0), (1, 3.5), (2, 4.0), (1, 5.0), (2, 6.0), (1, 7.0)]
    assert compiled(lambda x, p: (x + p[1]) * p[0], inputs, pairs) == 2
    bools = [a > 0.5 for a in inputs]
    assert compiled(lambda x, i: x & i, bools, [True, False] * 3) <= 2


@pytest.mark.parametrize("count", [40, 3000])
def test_offsets_in_conditions_are_arguments(count: int) -> None:
    inputs = [RNG.integers(0, 100, count) for _ in range(8)]
    places = [3, 5, 8, 11, 14, 17, 20, 30]

    def rolled(x: Any, i: int) -> Any:
        return np.roll(x, i) if isinstance(x, np.ndarray) else x.roll(i)

    def padded(x: Any, i: int) -> Any:
        return np.pad(x[:-32], (i, 32 - i)) if isinstance(x, np.ndarray) else x[:-32].pad(((i, 32 - i),))

    def written(x: Any, i: int) -> Any:
        y = x * 1 if isinstance(x, np.ndarray) else x.clone()
        y[i : i + 7] = x[i - 2 : i + 5] + x[i + 1 : i + 8]
        return y

    def joined(x: Any, i: int) -> Any:
        join = np.concatenate if isinstance(x, np.ndarray) else svod.cat
        return join([x[:i], x[i:] * x[: count - i]])

    for make in (rolled, padded, written, joined):
        assert compiled(make, inputs, places) <= 2, make.__name__


def test_offsets_of_ranges_and_triangles_are_arguments() -> None:
    inputs = [RNG.random((24, 24)).astype(np.float32) for _ in range(7)]
    offsets = [-9, -3, -2, 2, 5, 7, 11]
    wanted = [np.tril(a, k) for a, k in zip(inputs, offsets, strict=True)]
    assert compiled(lambda x, k: svod.tril(x, k=k), inputs, offsets, *wanted) <= 3
    wanted = [a + np.arange(k, k + 24) for a, k in zip(inputs, offsets, strict=True)]
    assert compiled(lambda x, k: x + svod.arange(k, k + 24), inputs, offsets, *wanted) <= 2


def test_positions_that_follow_from_values_are_checked_as_before() -> None:
    table = RNG.random((40, 3)).astype(np.float32)
    inputs = [RNG.integers(0, 20, 9) for _ in range(6)]
    numbers = [3, 5, 7, 9, 11, 19]
    wanted = [table[a + i] for a, i in zip(inputs, numbers, strict=True)]
    rows = svod.Tensor(table)
    compiled(lambda x, i: rows[x + i], inputs, numbers, *wanted)
    with pytest.raises(svod.IndexError):
        svod.realize(*(rows[svod.Tensor(a) + i] for a, i in zip(inputs, [*numbers[:-1], 39], strict=True)))
    wanted = [table[np.minimum(a * i, 39)] for a, i in zip(inputs, numbers, strict=True)]
    compiled(lambda x, i: rows[svod.minimum(x * i, 39)], inputs, numbers, *wanted)


def test_families_of_symbolic_sizes() -> None:
    n = svod.Variable("n", 12, 64)
    a = RNG.random((6, 64)).astype(np.float32)
    rows = [svod.Tensor(row) for row in a]
    offsets = [1, 2, 3, 5, 7, 9]

    def joined(x: Any, i: int, count: Any, join: Any) -> Any:
        return join([x[i:count], x[:i] + i])

    plan = svod.prepare(*(joined(x, i, n, svod.cat) for x, i in zip(rows, offsets, strict=True)))
    svod.clear_caches()
    plan = svod.prepare(*(joined(x, i, n, svod.cat) for x, i in zip(rows, offsets, strict=True)))
    assert svod.caches()["kernels"] <= 2
    for count in (12, 31, 64):
        plan.execute(n=count)
        for output, row, i in zip(plan.outputs, a, offsets, strict=True):
            np.testing.assert_array_equal(output.numpy(), joined(row, i, count, np.concatenate))


def test_what_is_one_kernel_computes_what_several_do() -> None:
    def values() -> list[svod.Tensor]:
        x = svod.arange(200)
        for i in range(1, 12):
            x[i * 5 : i * 5 + 20] = x[i * 5 - 3 : i * 5 + 17] * (i % 4) + i
        return [x, x.roll(7) // 3, x.roll(11) // 5]

    expected = [value.numpy() for value in values()]
    with svod.PrepareConfig(skip="parameterise,arguments"):
        found = values()
        svod.realize(*found)
    for value, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(value.numpy(), want)


def edit_distance(first: Array, second: Array) -> tuple[int, int]:
    """Changes that make one word of another, from a table by rows in one graph, and the kernels that were compiled."""
    letters, places = svod.Tensor(second), svod.arange(len(second) + 1)
    row = places
    for i, letter in enumerate(first):
        changed = row[:-1] + svod.where(letters == int(letter), 0, 1)
        best = svod.minimum(changed, row[1:] + 1)
        best = svod.cat([row[:1] * 0 + (i + 1), best]) - places
        for shift in (1, 2, 4, 8):
            best = svod.cat([best[:shift], svod.minimum(best[shift:], best[:-shift])])
        row = best + places
    return int(row[-1]), svod.caches()["kernels"]


def test_rows_of_a_table_are_computed_by_a_few_kernels() -> None:
    svod.clear_caches()
    before = 0
    for run in range(4):
        first, second = RNG.integers(0, 4, 24), RNG.integers(0, 4, 14)
        table = np.arange(len(second) + 1)
        for i, letter in enumerate(first):
            row = [i + 1]
            for j, other in enumerate(second):
                row.append(min(table[j] + (letter != other), table[j + 1] + 1, row[-1] + 1))
            table = np.array(row)
        distance, kernels = edit_distance(first, second)
        assert distance == table[-1]
        assert kernels <= (20, 36, 36, 36)[run], f"{before} + {kernels - before}"
        before = kernels


def test_parts_that_are_written_one_after_the_other_are_a_few_kernels() -> None:
    coins, most = (1, 2, 5, 10), 60
    ways, table = svod.Tensor(np.eye(1, most + 1, dtype=np.int64)[0]), np.eye(1, most + 1, dtype=np.int64)[0]
    svod.clear_caches()
    for coin in coins:
        for amount in range(coin, most + 1, coin):
            stop = min(amount + coin, most + 1)
            ways[amount:stop] = ways[amount:stop] + ways[amount - coin : stop - coin]
            table[amount:stop] += table[amount - coin : stop - coin]
    np.testing.assert_array_equal(ways.numpy(), table)
    assert svod.caches()["kernels"] <= 20
