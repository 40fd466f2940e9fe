"""Layouts: a chain of movements is one copy, and none where a neighbour absorbs it, whatever the extents and types."""

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import svod

Array = npt.NDArray[Any]
Movement = tuple[str, Callable[[svod.Tensor], svod.Tensor], Callable[[Array], Array]]

TYPES = [np.int8, np.float16, np.float32, np.float64, np.bool_]


def draw(*shape: int, dtype: Any = np.float32) -> Array:
    values = np.random.default_rng(0).integers(-100, 100, shape)
    return (values > 0) if dtype == np.bool_ else values.astype(dtype)


def check(result: svod.Tensor, expected: Array, moves: int) -> None:
    """One kernel that moves so many bytes, or none where the memory is what is wanted as it is."""
    plan = svod.prepare(result)
    assert len(plan.kernels) <= 1, [kernel.name for kernel in plan.kernels]
    plan.execute()
    mine = plan.outputs[0].numpy()
    assert mine.dtype == expected.dtype and mine.shape == expected.shape
    np.testing.assert_array_equal(mine, expected)
    size = {"int8": 1, "bool": 1, "float16": 2, "float32": 4, "float64": 8}
    for kernel in plan.kernels:
        assert sum(size[dtype] * count for dtype, count in kernel.buffers) == moves


@pytest.mark.parametrize("axes", [*permutations(range(3)), *permutations(range(4))], ids=str)
@pytest.mark.parametrize("dtype", [np.int8, np.float32])
def test_any_permutation_is_one_copy(axes: tuple[int, ...], dtype: Any) -> None:
    shape = (19, 33, 70) if len(axes) == 3 else (5, 18, 7, 35)
    x = draw(*shape, dtype=dtype)
    check(svod.Tensor(x).permute(*axes).contiguous() + 0, x.transpose(axes), moves=2 * x.nbytes)


MOVEMENTS: list[Movement] = [
    ("transpose", lambda t: t.mT, lambda a: a.swapaxes(-1, -2)),
    ("flip rows", lambda t: t.flip(0), lambda a: a[::-1]),
    ("flip columns", lambda t: t.flip(1), lambda a: a[:, ::-1]),
    ("every second column", lambda t: t[:, ::2], lambda a: a[:, ::2]),
    ("every third row", lambda t: t[1::3], lambda a: a[1::3]),
    ("pad", lambda t: t.pad(((1, 2), (3, 4))), lambda a: np.pad(a, ((1, 2), (3, 4)))),
    ("concat rows", lambda t: svod.cat([t, t], 0), lambda a: np.concatenate([a, a], 0)),
    ("concat columns", lambda t: svod.cat([t, t], 1), lambda a: np.concatenate([a, a], 1)),
    ("roll", lambda t: t.roll(3, 1), lambda a: np.roll(a, 3, 1)),
]


def moved(x: Array, y: Array) -> int:
    """Bytes of a copy: what it reads, and what it writes."""
    return x.nbytes + y.nbytes


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(64, 64), (33, 131), (300, 7), (5, 300), (1, 9), (40, 1)], ids=str)
@pytest.mark.parametrize("movement", MOVEMENTS, ids=lambda m: m[0])
def test_a_movement_is_one_copy(movement: Movement, shape: tuple[int, int], dtype: Any) -> None:
    _, mine, theirs = movement
    x = draw(*shape, dtype=dtype)
    check(mine(svod.Tensor(x)).contiguous(), theirs(x), moves=moved(x, theirs(x)))


@pytest.mark.parametrize("second", MOVEMENTS, ids=lambda m: m[0])
@pytest.mark.parametrize("first", MOVEMENTS, ids=lambda m: m[0])
def test_a_chain_of_movements_is_one_copy(first: Movement, second: Movement) -> None:
    x = draw(37, 66, dtype=np.int8)
    expected = second[2](first[2](x))
    check(second[1](first[1](svod.Tensor(x))).contiguous(), expected, moves=moved(x, expected))


def test_a_long_chain_is_one_copy() -> None:
    x = draw(6, 34, 5, 20)
    t = svod.Tensor(x).permute(0, 2, 1, 3).flip(3).reshape(30, 680).mT[::2].pad(((0, 1), (2, 0)))
    a = np.pad(x.transpose(0, 2, 1, 3)[..., ::-1].reshape(30, 680).T[::2], ((0, 1), (2, 0)))
    check(t.contiguous(), a, moves=moved(x, a))


@pytest.mark.parametrize("steps", [2, 5, 30])
@pytest.mark.parametrize("axis", [0, 1])
def test_rolls_of_a_roll_are_one_copy(steps: int, axis: int) -> None:
    x = draw(37, 66)
    t, a = svod.Tensor(x), x
    for step in range(steps):
        t, a = t.roll(step % 3 - 5, axis), np.roll(a, step % 3 - 5, axis)
    check(t.contiguous(), a, moves=moved(x, a))


def test_parts_of_what_was_joined_are_parts_of_what_it_was_joined_from() -> None:
    x, y = draw(20, 30), draw(20, 10) + 1
    t, u = svod.Tensor(x), svod.Tensor(y)
    both, right = svod.cat([t, u], 1), np.concatenate([x, y], 1)
    check(both[3:9, 5:20] + 1, right[3:9, 5:20] + 1, moves=x.nbytes + 4 * 6 * 15)
    check(both[:, 32:] + 1, right[:, 32:] + 1, moves=y.nbytes + 4 * 20 * 8)
    again = svod.cat([both[:, 30:], both[:, :30], both[:, 35:]], 1)
    check(again, np.concatenate([y, x, y[:, 5:]], 1), moves=x.nbytes + y.nbytes + 4 * 20 * 45)
    other = svod.cat([both[:7], both[7:]], 0)
    check(other + 1, right + 1, moves=x.nbytes + y.nbytes + right.nbytes)


@pytest.mark.parametrize("steps", [4, 9])
def test_a_chain_that_reads_twice_at_each_step_is_cut_where_a_kernel_is_full(steps: int) -> None:
    x = draw(37, 66)
    t, a = svod.Tensor(x), x
    for _ in range(steps):
        t, a = svod.cat([t, t], 1)[:, ::2], np.concatenate([a, a], 1)[:, ::2]
    plan = svod.prepare(t)
    assert len(plan.kernels) <= 1 + steps // 3
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), a)


@pytest.mark.parametrize("movement", MOVEMENTS, ids=lambda m: m[0])
def test_maps_and_reductions_absorb_movements(movement: Movement) -> None:
    _, mine, theirs = movement
    x = draw(37, 66)
    y = theirs(x)
    t = svod.Tensor(x)
    check(mine(t) * 2 + 1, y * 2 + 1, moves=moved(x, y))
    for axis in (0, 1):
        check(mine(t).sum(axis), y.sum(axis), moves=x.nbytes + y.sum(axis).nbytes)
        check(mine(t).max(axis=axis), y.max(axis=axis), moves=x.nbytes + y.max(axis=axis).nbytes)


@pytest.mark.parametrize("movement", MOVEMENTS, ids=lambda m: m[0])
def test_contractions_absorb_movements(movement: Movement) -> None:
    _, mine, theirs = movement
    x = draw(37, 66) % 8
    y = theirs(x)
    w = draw(y.shape[1], 24) % 8
    t, u = svod.Tensor(x), svod.Tensor(w)
    plan = svod.prepare(mine(t) @ u, inputs=[t, u])
    assert len(plan.kernels) == 1
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), y @ w)


LARGE = [
    ((512, 768), (1, 0)),
    ((513, 701), (1, 0)),
    ((4096, 2128), (1, 0)),
    ((3, 300, 448), (0, 2, 1)),
    ((5, 37, 61, 90), (0, 2, 3, 1)),
    ((5, 37, 61, 96), (3, 1, 0, 2)),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "axes"), LARGE, ids=str)
def test_large_permutations(shape: tuple[int, ...], axes: tuple[int, ...], dtype: Any) -> None:
    x = draw(*shape, dtype=dtype)
    check(svod.Tensor(x).permute(*axes).contiguous(), x.transpose(axes), moves=2 * x.nbytes)


@pytest.mark.parametrize("n", [384, 411])
def test_large_maps_of_both_directions(n: int) -> None:
    x = draw(n + 5, n + 3)
    t, a = svod.Tensor(x)[5:, 3:], x[5:, 3:]
    check(t + 2 * t.mT, a + 2 * a.T, moves=x.nbytes + a.nbytes)


@pytest.mark.parametrize("shape", [(1 << 20, 4), (1023, 1025), (64, 192, 256), (1 << 18, 7)], ids=str)
def test_large_chains_are_one_copy(shape: tuple[int, ...]) -> None:
    x = draw(*shape)
    last = len(shape) - 1
    t, a = svod.Tensor(x).transpose(0, last).flip(0), np.flip(np.swapaxes(x, 0, last), 0)
    check(svod.cat([t, t], last).contiguous(), np.concatenate([a, a], last), moves=3 * x.nbytes)


@pytest.mark.parametrize("axis", [0, 1])
def test_many_alike_parts_are_joined_by_the_same_code(axis: int) -> None:
    parts = [np.full((3, 5), i, np.float32) for i in range(700)]
    plan = svod.prepare(svod.cat([svod.Tensor(part) for part in parts], axis))
    # Groups of 32, of which the last is shorter, and the groups.
    assert len(plan.kernels) == 23 and len({kernel.source for kernel in plan.kernels}) == 3
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), np.concatenate(parts, axis))
    ragged = [np.full((3, i % 4), i, np.float32) for i in range(150)]
    joined = svod.cat([svod.Tensor(part) for part in ragged], 1)
    np.testing.assert_array_equal(joined.numpy(), np.concatenate(ragged, 1))


@pytest.mark.parametrize("fold", ["sum", "mean", "max", "argmax"])
@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("shape", [(64, 64), (40, 33)], ids=str)
def test_folds_of_what_lies_alternately(shape: tuple[int, int], parts: int, fold: str) -> None:
    rng = np.random.default_rng(parts)
    arrays = [rng.integers(-99, 100, shape).astype(np.float32) for _ in range(parts)]
    rows = svod.stack([svod.Tensor(a) for a in arrays], 2).flatten(1)
    expected = np.stack(arrays, 2).reshape(shape[0], -1)
    np.testing.assert_allclose(getattr(rows, fold)(axis=1).numpy(), getattr(expected, fold)(axis=1), rtol=1e-6)
    weights = rng.integers(-9, 10, rows.shape[1]).astype(np.float32)
    np.testing.assert_array_equal((rows @ svod.Tensor(weights)).numpy(), expected @ weights)
    np.testing.assert_array_equal(rows.reshape(*shape, parts).sum(2).numpy(), np.sum(arrays, axis=0))


@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.__name__)
def test_arrays_are_interleaved_in_vectors(dtype: Any, width: int) -> None:
    arrays = [draw(7, 67 + 5 * width, dtype=dtype)[:, i : 67 + i].copy() for i in range(width)]
    tensors = [svod.Tensor(a) for a in arrays]
    expected = np.stack(arrays, 2).reshape(7, -1)
    joined = svod.stack(tensors, 2).flatten(1)
    check(joined.contiguous(), expected, moves=2 * expected.nbytes)
    plan = svod.prepare(svod.where(joined.cast("bool"), joined, joined), inputs=tensors)
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)
    for start in (1, 2):
        np.testing.assert_array_equal(joined[:, start:-1].contiguous().numpy(), expected[:, start:-1])
    if width != 3 and dtype != np.bool_:
        assert "gather" not in plan.kernels[0].source


def test_rows_that_are_set_one_after_the_other_meet_in_few_kernels() -> None:
    # Shorter rows are computed when they are written.
    steps, extent = 200, 4100
    x = draw(steps, extent)
    t, out, h = svod.Tensor(x), svod.zeros(steps, extent), svod.zeros(extent)
    expected, state = np.zeros_like(x), np.zeros(extent, np.float32)
    for step in range(steps):
        h = (h + t[step]) * 0.5
        out[step] = h
        state = (state + x[step]) * np.float32(0.5)
        expected[step] = state
    plan = svod.prepare(out)
    # No row is copied to all rows before they meet.
    of_all = [kernel for kernel in plan.kernels if kernel.buffers[-1][1] == steps * extent]
    assert len(of_all) <= 4
    plan.execute()
    np.testing.assert_array_equal(plan.outputs[0].numpy(), expected)
