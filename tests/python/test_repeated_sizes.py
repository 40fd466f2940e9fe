"""Reads in which several sizes of one axis change at once share schedules, and have the values of NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod
import svod.nn.functional as F

N = 160
X = np.random.default_rng(5).standard_normal(N).astype(np.float32)
Y = np.random.default_rng(6).standard_normal((N, 4)).astype(np.float32)
W = np.random.default_rng(7).standard_normal((2, 3, 3, 3)).astype(np.float32)


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    svod.clear_caches()


def schedules() -> int:
    return int(svod.caches()["schedules"])


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max())
    return e / e.sum()


def attention(i: int, j: int) -> tuple[Any, Any]:
    y = svod.Tensor(Y)
    keys = svod.cat([y[:i], y[N - j :] * 2])
    expected = np.concatenate([Y[:i], Y[N - j :] * 2])
    return (keys @ y[3]).softmax(0) @ keys, softmax(expected @ Y[3]) @ expected


def embeddings(i: int, j: int) -> tuple[Any, Any]:
    numbers = np.random.default_rng(i * N + j)
    a, b = numbers.integers(0, N, i), numbers.integers(0, N, j)
    y = svod.Tensor(Y)
    return svod.cat([y[svod.Tensor(a)], y[svod.Tensor(b)]]).sum(0), np.concatenate([Y[a], Y[b]]).sum(0)


def picture(h: int, w: int) -> np.ndarray:
    return np.resize(X, (1, 3, h, w))


def convolved(x: np.ndarray) -> Any:
    parts = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    return np.einsum("bchwkl,ockl->bohw", parts, W)


def convolution(i: int, j: int) -> tuple[Any, Any]:
    x = picture(i + 5, j + 5)
    return F.conv2d(svod.Tensor(x), svod.Tensor(W)).sum((2, 3)), convolved(x).sum((2, 3))


def network(i: int, j: int) -> tuple[Any, Any]:
    x = picture(i + 8, j + 8)
    y = F.max_pool2d(F.conv2d(svod.Tensor(x), svod.Tensor(W)).relu(), 2)
    expected = np.maximum(convolved(x), 0)
    h, w = expected.shape[2] // 2, expected.shape[3] // 2
    expected = expected[:, :, : 2 * h, : 2 * w].reshape(1, 2, h, 2, w, 2).max((3, 5))
    y = F.conv2d(y, svod.Tensor(W[:, :2])).sum((2, 3))
    parts = np.lib.stride_tricks.sliding_window_view(expected, (3, 3), (2, 3))
    return y, np.einsum("bchwkl,ockl->bo", parts, W[:, :2])


def box(i: int, j: int) -> tuple[Any, Any]:
    first, last = i // 2, i // 2 + 2 + j // 2
    y, expected = svod.Tensor(X).clone(), X.copy()
    y[first:last] = float(i)
    expected[first:last] = i
    return y.sum(), expected.sum()


def ours(f: Callable[[Any, int, int], Any], xp: Callable[[int, int], Any]) -> Callable[[int, int], tuple[Any, Any]]:
    return lambda i, j: (f(svod.Tensor(X), i, j), xp(i, j))


CHANGING: dict[str, Callable[[int, int], tuple[Any, Any]]] = {
    "cat": ours(lambda x, i, j: svod.cat([x[:i], x[:j]]).max(), lambda i, j: np.append(X[:i], X[:j]).max()),
    "cat with ones": ours(
        lambda x, i, j: svod.cat([x[:i], svod.ones(j)]) * 2, lambda i, j: 2 * np.append(X[:i], np.ones(j))
    ),
    "cat of three": ours(
        lambda x, i, j: svod.cat([x[:i], x[:j] * 2, x[:i]]).cumsum(0),
        lambda i, j: np.concatenate([X[:i], X[:j] * 2, X[:i]]).cumsum(),
    ),
    "cat of columns": ours(
        lambda x, i, j: svod.cat([svod.ones(3, i), x[:j].expand(3, j)], 1).sum(1),
        lambda i, j: np.full(3, i + X[:j].sum()),
    ),
    "sort": ours(lambda x, i, j: svod.cat([x[:i], x[:j]]).sort()[0], lambda i, j: np.sort(np.append(X[:i], X[:j]))),
    "topk": ours(lambda x, i, j: x[: i + j].topk(j).values * 2, lambda i, j: 2 * np.sort(X[: i + j])[::-1][:j]),
    "topk of a few": ours(
        lambda x, i, j: x[: i + 80].topk(1 + j // 8).values.sum(),
        lambda i, j: np.sort(X[: i + 80])[::-1][: 1 + j // 8].sum(),
    ),
    "argmin": ours(
        lambda x, i, j: svod.cat([x[:i] + 1, x[:j]]).argmin(), lambda i, j: np.append(X[:i] + 1, X[:j]).argmin()
    ),
    "diff": ours(lambda x, i, j: svod.diff(x[:i], append=x[:j]), lambda i, j: np.diff(X[:i], append=X[:j])),
    "roll": ours(lambda x, i, j: (x[:i] * 2).roll(j) + 1, lambda i, j: np.roll(X[:i] * 2, j) + 1),
    "cut": ours(
        lambda x, i, j: svod.cat([x[: i // 2], x[i // 2 + j // 2 :]]) * 2,
        lambda i, j: 2 * np.append(X[: i // 2], X[i // 2 + j // 2 :]),
    ),
    "pad": ours(lambda x, i, j: F.pad(x, (i, j)) + 1, lambda i, j: np.pad(X, (i, j)) + 1),
    "pad of a part": ours(lambda x, i, j: F.pad(x[:i], (j, i)) + 1, lambda i, j: np.pad(X[:i], (j, i)) + 1),
    "convolve": ours(lambda x, i, j: svod.convolve(x[:i], x[:j]), lambda i, j: np.convolve(X[:i], X[:j])),
    "conv1d": ours(
        lambda x, i, j: F.conv1d(x[None, None, : i + j], x[None, None, :j])[0, 0],
        lambda i, j: np.correlate(X[: i + j], X[:j], "valid"),
    ),
    "conv2d": convolution,
    "network": network,
    "attention": attention,
    "embeddings": embeddings,
    "box": box,
}


def sizes(rounds: int) -> list[tuple[int, int]]:
    numbers = np.random.default_rng(1)
    return [(int(i), int(j)) for i, j in numbers.integers(2, N // 2, (rounds, 2))]


@pytest.mark.parametrize("name", CHANGING)
def test_two_sizes_that_change_share_schedules(name: str) -> None:
    made = []
    for i, j in sizes(60):
        found, expected = CHANGING[name](i, j)
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3, atol=2e-3, err_msg=f"{i}, {j}")
        made.append(schedules())
    assert made[-1] <= 16 and made[-1] - made[30] <= 3, made


@pytest.mark.parametrize("name", CHANGING)
def test_sizes_of_any_kind_have_the_values_of_numpy(name: str) -> None:
    """Parts of one element, and of none, beside others, when there are schedules for any size."""
    least = 1 if name in {"convolve", "conv1d"} else 0
    pairs = [pair for pair in itertools.product([least, 1, 2, 3, 7, 64], repeat=2) if sum(pair) > 0]
    for i, j in [*sizes(8), *pairs]:
        found, expected = CHANGING[name](i, j)
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-3, atol=2e-3, err_msg=f"{i}, {j}")


def test_calls_of_a_traced_function_share_schedules() -> None:
    f = svod.jit(lambda a, b: svod.cat([a, b]).sum())
    for i, j in sizes(60):
        np.testing.assert_allclose(f(X[:i], X[:j]).item(), X[:i].sum() + X[:j].sum(), rtol=1e-4, atol=1e-4)
    assert schedules() <= 8


def test_elements_are_removed_and_inserted() -> None:
    expected = X.copy()
    x = svod.Tensor(X)
    while len(expected) > 1:
        i = int(x.argmin())
        assert i == expected.argmin()
        x, expected = svod.cat([x[:i], x[i + 1 :]]), np.delete(expected, i)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert schedules() <= 24
    for value in X:
        i = int((x < float(value)).sum())
        assert i == np.searchsorted(expected, value)
        x, expected = svod.cat([x[:i], svod.Tensor(value[None]), x[i:]]), np.insert(expected, i, value)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert schedules() <= 60


def test_leaves_of_a_code_are_joined() -> None:
    counts = np.abs(X[:80]) + 0.01
    x, expected = svod.Tensor(counts), list(counts)
    while len(expected) > 1:
        least = []
        for _ in range(2):
            i = int(x.argmin())
            assert i == int(np.argmin(expected))
            least.append(float(x[i]))
            del expected[i]
            x = svod.cat([x[:i], x[i + 1 :]])
        total = np.float32(sum(least))
        x = svod.cat([x, svod.Tensor([total], dtype=svod.float32)])
        expected.append(total)
    np.testing.assert_allclose(x.numpy(), [counts.sum()], rtol=1e-4)
    assert schedules() <= 40


def test_sizes_that_come_twice_stay_numbers() -> None:
    """Two pairs of sizes have a schedule each, whose kernels know them."""
    for _ in range(3):
        for i, j in [(20, 30), (40, 9)]:
            found, expected = CHANGING["cat"](i, j)
            assert found.item() == expected
    assert schedules() == 2
