"""Numbers that differ from one computation to the next become arguments of code that these share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(22)
FLOATS = ("float16", "float32", "float64", "bfloat16")
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def compiled(program: Callable[[Any], np.ndarray], numbers: Iterable[Any], expected: Callable[[Any], Any]) -> int:
    """The number of schedules made for a program of these numbers, whose values are compared."""
    svod.clear_caches()
    for number in numbers:
        found, wanted = program(number), np.asarray(expected(number))
        exact = wanted.dtype.kind in "biu"
        compare = np.testing.assert_array_equal if exact else np.testing.assert_allclose
        compare(found, wanted, **({} if exact else {"rtol": 1e-5, "atol": 1e-6}), err_msg=str(number))
    caches = svod.caches()
    assert caches["kernels"] <= caches["schedules"] + 4
    return caches["schedules"]


@pytest.mark.parametrize("dtype", INTS)
def test_integer_constants_are_arguments(dtype: str) -> None:
    a = RNG.integers(0, 50, 37).astype(dtype)
    x = svod.Tensor(a)
    numbers = [3, 0, 1, 2, 5, 7, 100, 11, 13]
    assert compiled(lambda i: (x * i).numpy(), numbers, lambda i: a * np.asarray(i, dtype)) <= 5
    assert compiled(lambda i: (x == i).numpy(), numbers, lambda i: a == i) <= 5
    assert (
        compiled(lambda i: (x + i - (i + 1)).numpy(), numbers, lambda i: a + a.dtype.type(i) - a.dtype.type(i + 1)) <= 6
    )
    assert compiled(lambda i: (x // (i + 3)).numpy(), range(8), lambda i: a // a.dtype.type(i + 3)) == 3
    assert (
        compiled(lambda i: svod.where(x > i, x, i).numpy(), range(12), lambda i: np.where(a > i, a, a.dtype.type(i)))
        <= 6
    )


@pytest.mark.parametrize("dtype", INTS)
def test_extreme_integers_as_arguments(dtype: str) -> None:
    info = np.iinfo(dtype)
    numbers = [5, int(info.min), int(info.max), int(info.max) - 1, 0, 1, int(info.min) + 1, 9]
    a = np.array([0, 1, 2, info.min, info.max, info.max - 1], dtype)
    x = svod.Tensor(a)
    with np.errstate(all="ignore"):
        for make in (
            lambda t, i: t * i,
            lambda t, i: t + i,
            lambda t, i: t - i,
            lambda t, i: t & i,
            lambda t, i: t < i,
        ):
            scalar = np.asarray if make(svod.Tensor([1]), 1).dtype == svod.bool else a.dtype.type
            compiled(lambda i, make=make: make(x, i).numpy(), numbers, lambda i, make=make: make(a, a.dtype.type(i)))
            assert svod.caches()["schedules"] <= 6, scalar


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_constants_give_the_bits_of_constants(dtype: str) -> None:
    x = svod.Tensor(np.array([0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-3, 7], np.float32)).cast(dtype)
    x.realize()
    numbers = [3.0, 0.0, -0.0, 1.0, float("nan"), float("inf"), -float("inf"), 0.1, 2.0, 7.5, 1e-30, 60000.0]

    def values(n: float) -> list[svod.Tensor]:
        return [
            x * n,
            x + n,
            n - x,
            x / n,
            x.clip(-100, n),
            svod.maximum(x, n),
            (x > n) * 1.0,
            svod.where(x == x, x, n),
        ]

    svod.clear_caches()
    made = 0
    for number in numbers:
        before = svod.caches()["schedules"]
        found = [value.cast("float64").numpy() for value in values(number)]
        made += svod.caches()["schedules"] - before
        with svod.PrepareConfig(skip="arguments"):
            expected = [value.cast("float64").numpy() for value in values(number)]
        for i, (f, e) in enumerate(zip(found, expected, strict=True)):
            np.testing.assert_array_equal(f, e)
            # Which of two zeros is the greater one, and the sign of what is no number, nothing says.
            signed = (f == f) & ((f != 0) | (i < 4))
            np.testing.assert_array_equal(np.signbit(f[signed]), np.signbit(e[signed]))
    # NaN and infinities of both signs stay constants.
    assert made <= 8 * (3 + 3)


def test_a_program_for_each_kind_of_constant_compiles_a_few_kernels() -> None:
    a = RNG.random(41).astype(np.float32)
    x = svod.Tensor(a)

    def written(i: int) -> np.ndarray:
        y = x.clone()
        y[::2] = float(i)
        return y.numpy()

    def expected(i: int) -> np.ndarray:
        b = a.copy()
        b[::2] = i
        return b

    assert compiled(written, range(20), expected) == 3
    assert compiled(lambda i: x.clip(0, float(i)).numpy(), range(20), lambda i: a.clip(0, i)) <= 4
    assert compiled(lambda i: (svod.arange(10) == i).numpy(), range(20), lambda i: np.arange(10) == i) == 3
    assert compiled(lambda i: (x * (0.1 + i)).numpy(), range(20), lambda i: a * (0.1 + i)) == 2
    # Exponents that have equations of their own stay constants.
    assert compiled(lambda i: (x ** float(i)).numpy(), range(20), lambda i: a ** float(i)) <= 7


def test_parts_with_steps_that_change_from_one_assignment_to_the_next() -> None:
    def sieve(n: int, like: type = svod.ones) -> np.ndarray:
        is_prime = like(n, dtype="bool")
        is_prime[:2] = False
        for i in range(2, int(n**0.5) + 1):
            is_prime[i * i :: i] = False
        return np.asarray(is_prime)

    for n in (100, 10_000, 1_000_000):
        assert compiled(sieve, [n], lambda n: sieve(n, np.ones)) <= 6

    # As expressions, which are read after each of them.
    a = RNG.random((30, 41)).astype(np.float32)
    x = svod.Tensor(a)

    def written(of: Any, part: tuple[Any, ...], number: float) -> Any:
        y = of.copy() if isinstance(of, np.ndarray) else of * 1
        y[part] = number
        return np.asarray(y)

    parts: list[tuple[Any, ...]] = [(slice(i, None, i),) for i in range(2, 14)]
    assert compiled(lambda p: written(x, p, 2.5), parts, lambda p: written(a, p, 2.5)) <= 4
    parts = [(slice(30 - i, i // 2, -2 - i % 3), slice(None, -i, i)) for i in range(2, 14)]
    assert compiled(lambda p: written(x, p, -1), parts, lambda p: written(a, p, -1)) <= 5
    parts = [(slice(0, i), slice(i, 41 - i, 3)) for i in range(1, 14)]
    assert compiled(lambda p: written(x, p, 7), parts, lambda p: written(a, p, 7)) <= 5


def test_parts_with_steps_that_change_from_one_read_to_the_next() -> None:
    for n in (999, 1000):
        a = RNG.random((n, 3)).astype(np.float32)
        x, row = svod.Tensor(a), svod.Tensor(a[:, 0].copy())
        steps = range(2, 40)
        # Memory is read where it is.
        assert compiled(lambda i, row=row: row[::i].numpy(), steps, lambda i, a=a: a[::i, 0]) == 0
        assert compiled(lambda i, row=row: row[i::-i].numpy(), steps, lambda i, a=a: a[i::-i, 0]) == 0
        assert compiled(lambda i, x=x: x[1::i, 1:].numpy(), steps, lambda i, a=a: a[1::i, 1:]) == 0
        # What is computed of it is computed of a copy, whose extent is an argument.
        assert compiled(lambda i, row=row: row[::i].sum().numpy(), steps, lambda i, a=a: a[::i, 0].sum()) <= 12
        assert compiled(lambda i, row=row: (row[i::i] * 2).numpy(), steps, lambda i, a=a: a[i::i, 0] * 2) <= 12
    # What is large is copied where a kernel would be compiled for each step.
    for n in (90_000, 100_003):
        a = RNG.random((n, 2))
        x, row = svod.Tensor(a), svod.Tensor(a[:, 1].copy())
        steps = range(2, 12)
        for program, expected in (
            (lambda i, row=row: (row[::i] * 2).sum().numpy(), lambda i, a=a: (a[::i, 1] * 2).sum()),
            (lambda i, row=row: row[i - 1 :: i].numpy(), lambda i, a=a: a[i - 1 :: i, 1]),
            (lambda i, x=x: (x[::i] + 1).mean(0).numpy(), lambda i, a=a: (a[::i] + 1).mean(0)),
            (
                lambda i, row=row: (row[i::-i] - row[: i + 1 : i]).numpy(),
                lambda i, a=a: a[i::-i, 1] - a[: i + 1 : i, 1],
            ),
        ):
            assert compiled(program, steps, expected) <= 6


@pytest.mark.parametrize("n", [997, 50_000, 200_000])
@pytest.mark.parametrize("steps", [(2, 3, 4), (2, 3, 4, 5, 6, 7), (7, 5, 3, 2), range(2, 14)])
def test_parts_with_steps_are_written_one_after_the_other(n: int, steps: Iterable[int]) -> None:
    a = RNG.integers(-9, 9, n)
    for fold in (True, False):
        b, x = a.copy(), svod.Tensor(a) * 1
        for i in steps:
            x[i - 2 :: i] = x[i - 2 :: i] * 2 + 1
            b[i - 2 :: i] = b[i - 2 :: i] * 2 + 1
        assert not fold or int(x.sum()) == b.sum()
        np.testing.assert_array_equal((x + 1).numpy(), b + 1)


def test_large_parts_with_steps_are_written_by_few_kernels() -> None:
    def program(of: Any, steps: Iterable[int]) -> np.ndarray:
        for i in steps:
            of[::i] = of[::i] + 1
        return np.asarray(of)

    n = 100_003
    zeros = svod.zeros(n).contiguous().realize()
    assert compiled(lambda s: program(zeros, s), [range(2, 30)], lambda s: program(np.zeros(n, np.float32), s)) <= 6


def test_a_step_that_stays_is_part_of_a_kernel() -> None:
    a = RNG.random(60_000).astype(np.float32)
    x = svod.Tensor(a)
    assert compiled(lambda i: (x[::3] * i).sum().numpy(), [2.5] * 5, lambda i: (a[::3] * np.float32(i)).sum()) == 1


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int32", "float64", "complex64", "complex128"])
def test_parts_with_steps_are_written_in_place(dtype: str) -> None:
    steps = [slice(1, None, 2), slice(None, None, -2), slice(-2, 1, -3), slice(2, 3, 5), slice(5, 1, 2), slice(0, 7, 6)]
    parts: list[Any] = [*steps, *((a, b) for a in steps for b in (2, slice(1, 4), *steps)), (..., slice(None, None, 3))]
    for shared in (False, True):
        a = (RNG.random((7, 9)) * 9).astype(dtype)
        x = svod.Tensor(a).realize()
        for i, part in enumerate(parts):
            before, kept = a.copy(), x.clone() if shared else None
            values = (RNG.random(a[part].shape) * 9).astype(dtype)
            for value in (dtype == "bool" or i, values, values[::-1].copy(), values[:1]):
                a[part] = value
                x[part] = value if np.isscalar(value) else svod.Tensor(value)
                np.testing.assert_array_equal(x.numpy(), a)
            if kept is not None:
                np.testing.assert_array_equal(kept.numpy(), before)


def test_constants_that_are_equal_by_accident_are_two() -> None:
    a = RNG.random(33).astype(np.float32)
    x = svod.Tensor(a)
    pairs = [(3.5, 3.5), (3.5, 4.5), (5.5, 4.5), (6.5, 6.5), (7.5, 8.5)]
    assert compiled(lambda p: (x * p[0] + p[1]).numpy(), pairs, lambda p: a * np.float32(p[0]) + np.float32(p[1])) <= 3
    n = svod.Tensor(np.arange(50))
    assert compiled(lambda i: ((n + i) * 5 - i).numpy(), range(20), lambda i: (np.arange(50) + i) * 5 - i) <= 5
    # One constant that several places read.
    assert (
        compiled(lambda i: ((n + i) * i % (i + 1)).numpy(), range(3, 20), lambda i: (np.arange(50) + i) * i % (i + 1))
        <= 3
    )


def test_positions_are_arguments() -> None:
    # Smaller parts are copied before a kernel reads them.
    a = RNG.random((128, 1100)).astype(np.float32)
    w = RNG.random((1100, 4)).astype(np.float32)
    x, weights = svod.Tensor(a), svod.Tensor(w)
    assert (
        compiled(lambda i: (x[i * 16 : i * 16 + 16] @ weights).numpy(), range(8), lambda i: a[i * 16 : i * 16 + 16] @ w)
        == 2
    )
    assert compiled(lambda i: (x[i] * 2).numpy(), range(128), lambda i: a[i] * 2) == 2
    assert compiled(lambda i: x[i, 5 - i].exp().item(), range(6), lambda i: np.exp(a[i, 5 - i])) == 1
    assert (
        compiled(lambda i: x.pad(((i, 9 - i), (0, 0))).numpy(), range(10), lambda i: np.pad(a, ((i, 9 - i), (0, 0))))
        == 2
    )
    assert compiled(lambda i: x.roll(i, 0).numpy(), range(1, 30), lambda i: np.roll(a, i, 0)) <= 5
    assert compiled(lambda i: (x[i] + x[127 - i]).numpy(), range(64), lambda i: a[i] + a[127 - i]) == 2
    # Two positions that go together at first.
    pairs = [(0, 0), (1, 1), (2, 2), (3, 7), (9, 1), (5, 5)]
    assert compiled(lambda p: (x[p[0]] - x[p[1] + 1] * 2).numpy(), pairs, lambda p: a[p[0]] - a[p[1] + 1] * 2) == 3


def test_ring_buffers_are_written_by_one_kernel() -> None:
    a = np.zeros((16, 3), np.float32)
    ring = svod.Tensor(a)
    svod.clear_caches()
    for i in range(48):
        row = RNG.random(3).astype(np.float32)
        ring[i % 16] = svod.Tensor(row) * 2
        a[i % 16] = row * 2
        np.testing.assert_allclose(ring.numpy(), a, rtol=1e-6)
    assert svod.caches()["schedules"] <= 3


def test_positions_and_constants_in_one_graph() -> None:
    a = RNG.random((64, 8)).astype(np.float32)
    x = svod.Tensor(a)

    def expected(i: int) -> Any:
        return (a[i : i + 4] * np.float32(1 + i / 10) + i).sum(1)

    assert compiled(lambda i: (x[i : i + 4] * (1 + i / 10) + i).sum(1).numpy(), range(3, 20), expected) == 2


def fresh(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def softmax(a: np.ndarray) -> np.ndarray:
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# Programs of arrays, and the arrays of a size.
OF_EXTENT: dict[str, tuple[Callable[..., svod.Tensor], Callable[..., Any], Callable[[int], list[np.ndarray]]]] = {
    "map": (lambda x: x * 2 + 1, lambda x: x * 2 + 1, lambda n: [fresh(n)]),
    "sum": (lambda x: x.sum(), np.sum, lambda n: [fresh(n)]),
    "mean of rows": (lambda x: x.mean(1), lambda x: x.mean(1), lambda n: [fresh(5, n)]),
    "variance": (lambda x: x.var(0), lambda x: x.var(0, ddof=1), lambda n: [fresh(n, 3)]),
    "maximum": (lambda x: x.max(axis=0), lambda x: x.max(axis=0), lambda n: [fresh(n, 4)]),
    "position": (lambda x: x.argmax(0), lambda x: x.argmax(0), lambda n: [fresh(n)]),
    "softmax": (lambda x: x.softmax(1), softmax, lambda n: [fresh(4, n)]),
    "rows of a product": (lambda x, w: x @ w, np.matmul, lambda n: [fresh(n, 16), fresh(16, 24)]),
    "depth of a product": (lambda x, w: x @ w, np.matmul, lambda n: [fresh(7, n), fresh(n, 24)]),
    "columns of a product": (lambda x, w: x @ w, np.matmul, lambda n: [fresh(7, 16), fresh(16, n)]),
    "attention": (
        lambda q, k, v: q.scaled_dot_product_attention(k, v),
        lambda q, k, v: softmax(q @ k.T / np.sqrt(np.float32(8))) @ v,
        lambda n: [fresh(2, 8), fresh(n, 8), fresh(n, 8)],
    ),
    "sort": (lambda x: x.sort()[0], np.sort, lambda n: [fresh(n)]),
    "running sums": (lambda x: x.cumsum(0), lambda x: x.cumsum(0), lambda n: [fresh(n, 3)]),
    "flat": (lambda x: x.reshape(-1) * 3, lambda x: x.reshape(-1) * 3, lambda n: [fresh(n, n)]),
    "in pairs": (lambda x: x.reshape(-1, 2).sum(1), lambda x: x.reshape(-1, 2).sum(1), lambda n: [fresh(2 * n)]),
    "joined": (
        lambda x, y: svod.cat([x * 2, y]),
        lambda x, y: np.concatenate([x * 2, y]),
        lambda n: [fresh(n, 2), fresh(1, 2)],
    ),
    "lookups": (lambda x, i: x[i], lambda x, i: x[i], lambda n: [fresh(40, 3), RNG.integers(0, 40, n)]),
    "transposed": (lambda x: x.T + 1, lambda x: x.T + 1, lambda n: [fresh(n, 6)]),
    "reversed": (lambda x: x.flip(0) - 1, lambda x: x[::-1] - 1, lambda n: [fresh(n, 6)]),
    "but the last": (lambda x: x[1:] - x[:-1], lambda x: x[1:] - x[:-1], lambda n: [fresh(n, 2)]),
    "distances": (
        lambda x, y: ((x[:, None] - y[None]) ** 2).sum(2),
        lambda x, y: ((x[:, None] - y[None]) ** 2).sum(2),
        lambda n: [fresh(n, 3), fresh(5, 3)],
    ),
}


@pytest.mark.parametrize("name", OF_EXTENT)
def test_extents_become_symbolic_after_the_third(name: str) -> None:
    program, expected, arrays = OF_EXTENT[name]
    svod.clear_caches()
    made = []
    sizes = [5, 6, 7, 8, 9, 11, 13, 12, 10, 5, 6, 14]
    for n in sizes:
        given = arrays(n)
        found = program(*map(svod.Tensor, given)).numpy()
        np.testing.assert_allclose(found, expected(*given), rtol=1e-4, atol=1e-5, err_msg=f"{n}")
        made.append(svod.caches()["schedules"])
    assert made[1] == 2
    assert made[2:] == [3] * (len(sizes) - 2)


def test_extents_that_are_products_of_others() -> None:
    def square(n: int) -> Any:
        return np.arange(n * n).reshape(n, n).sum(0)

    assert compiled(lambda n: svod.arange(n * n).reshape(n, n).sum(0).numpy(), range(3, 40), square) <= 7

    def table(extents: tuple[int, int]) -> Any:
        height, width = extents
        return np.arange(height * width).reshape(height, width).sum(1)

    def tabled(extents: tuple[int, int]) -> np.ndarray:
        height, width = extents
        return svod.arange(height * width).reshape(height, width).sum(1).numpy()

    extents = [(20, 31), (23, 30), (21, 37), (27, 33), (22, 22), (30, 40), (25, 36), (29, 21)]
    assert compiled(tabled, extents, table) <= 4
    # A whole that is a product in some calls only.
    wholes = [6, 9, 12, 20, 21, 22, 23]
    assert compiled(lambda n: svod.arange(n).sum().numpy(), wholes, lambda n: np.arange(n).sum()) <= 7


def test_pictures_of_two_extents() -> None:
    svod.clear_caches()
    for height, width in [(40, 50), (43, 51), (49, 57), (41, 70), (60, 52), (55, 55), (44, 63)]:
        a = fresh(3, height, width)
        blurred = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) / 3 - a.mean()
        x = svod.Tensor(a)
        found = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) / 3 - x.mean()
        np.testing.assert_allclose(found.numpy(), blurred, rtol=1e-4, atol=1e-5)
    assert svod.caches()["schedules"] == 3


def test_lines_are_those_of_the_graph_at_hand() -> None:
    step = svod.jit(lambda x: (x * 2).exp() + x[1:].sum())
    names = []
    for n in range(5, 10):
        plan = step.plan(svod.Tensor(fresh(n)))
        names.append(plan.explain())
        assert __file__.rsplit("/", 1)[-1] in names[-1]
    assert plan.variables == {}


def test_memory_that_is_shared_in_several_shapes() -> None:
    a = fresh(12, 10)
    x = svod.Tensor(a)
    flat = x.reshape(-1).realize()
    svod.clear_caches()
    for i in range(20):
        found = (x.sum(0) * (i + 0.5) + flat[i : i + 10] - flat[40 + 2 * i : 50 + 2 * i]).numpy()
        expected = a.sum(0) * np.float32(i + 0.5) + a.ravel()[i : i + 10] - a.ravel()[40 + 2 * i : 50 + 2 * i]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert svod.caches()["schedules"] <= 3


def test_a_sequence_that_grows_compiles_a_few_kernels() -> None:
    a = fresh(1, 4)
    x = svod.Tensor(a)
    svod.clear_caches()
    for _ in range(100):
        row = fresh(1, 4)
        a, x = np.concatenate([a, row]), svod.cat([x, svod.Tensor(row)]).realize()
        np.testing.assert_allclose(x.numpy(), a)
        np.testing.assert_allclose(softmax(a @ row.T), (x @ svod.Tensor(row).T).softmax(1).numpy(), rtol=1e-5)
    # Two programs: a few sizes by themselves, then one for each power of two.
    assert svod.caches()["schedules"] <= 2 * 9
    assert svod.caches()["kernels"] <= 2 * 9


def test_windows_that_move_and_grow() -> None:
    a = fresh(300)
    x = svod.Tensor(a)
    assert compiled(lambda i: x[: i + 2].sum().item(), range(100), lambda i: a[: i + 2].sum()) <= 8
    assert compiled(lambda i: x[i : 2 * i + 3].max().item(), range(100), lambda i: a[i : 2 * i + 3].max()) <= 8


def test_sizes_far_apart_are_compiled_each() -> None:
    svod.clear_caches()
    for n in (64, 128, 256, 512, 1024):
        svod.Tensor(fresh(n)).exp().realize()
    assert svod.caches()["schedules"] == 5


def test_jit_shares_plans_of_extents_that_vary() -> None:
    step = svod.jit(lambda x, w: (x @ w).softmax(1))
    w = fresh(6, 5)
    svod.clear_caches()
    for n in range(5, 16):
        x = fresh(n, 6)
        np.testing.assert_allclose(step(x, w).numpy(), softmax(x @ w), rtol=1e-5)
        np.testing.assert_allclose(step(x + 1, w).numpy(), softmax((x + 1) @ w), rtol=1e-5)
    assert svod.caches()["schedules"] == 3


def test_a_plan_that_is_prepared_is_made_for_its_numbers() -> None:
    svod.clear_caches()
    for n in range(5, 10):
        x = svod.Tensor(fresh(n))
        plan = (x * (n + 0.5)).prepare(inputs=[x])
        assert plan.variables == {} and plan.kernels[0].name.endswith(f"_{n}")
    assert svod.caches()["schedules"] == 5


def test_arguments_are_skipped_on_request() -> None:
    x = svod.Tensor(fresh(9, 1100))
    svod.clear_caches()
    with svod.PrepareConfig(skip="arguments"):
        for i in range(6):
            (x * (i + 0.1)).realize()
            (x[i] * 2).realize()
            svod.Tensor(fresh(i + 4)).exp().realize()
    assert svod.caches()["schedules"] == 18


def test_results_have_the_extents_of_the_run() -> None:
    svod.clear_caches()
    results = [(svod.Tensor(fresh(n, 3)) + 1).realize() for n in range(5, 30)]
    assert [r.shape for r in results] == [(n, 3) for n in range(5, 30)]
    total = svod.cat(results).sum(0)
    np.testing.assert_allclose(total.numpy(), sum(r.numpy().sum(0) for r in results), rtol=1e-4)
