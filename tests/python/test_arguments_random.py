"""Programs whose constants, positions and extents change from call to call: the same with arguments or without."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest

import svod

Step = Callable[[svod.Tensor, int, int, float], svod.Tensor]
DTYPES = ("float32", "int64", "float64", "int32", "float16", "uint8")


def part(x: svod.Tensor, axis: int, *at: int | slice) -> svod.Tensor:
    return x[(slice(None),) * axis + at]


def written(x: svod.Tensor, at: int, number: float) -> svod.Tensor:
    y = x.clone()
    y[at % x.shape[0]] = number if x.ndim == 1 else x[(at + 1) % x.shape[0]] * 2
    return y


# A tensor, an axis of it, a position and a constant.
STEPS: list[Step] = [
    lambda x, axis, at, number: x * number,
    lambda x, axis, at, number: x + at,
    lambda x, axis, at, number: x.sum(axis),
    lambda x, axis, at, number: x.max(axis=axis),
    lambda x, axis, at, number: part(x, axis, slice(at % x.shape[axis], None)),
    lambda x, axis, at, number: part(x, axis, slice(0, x.shape[axis] - at % x.shape[axis])),
    lambda x, axis, at, number: part(x, axis, at % x.shape[axis]),
    lambda x, axis, at, number: x.flip(axis),
    lambda x, axis, at, number: svod.cat([x, x * number], axis),
    lambda x, axis, at, number: x.pad([(at % 4, 3 - at % 4) if d == axis else (0, 0) for d in range(x.ndim)]),
    lambda x, axis, at, number: x.reshape(-1),
    lambda x, axis, at, number: x.cumsum(axis),
    lambda x, axis, at, number: svod.where(x > number, x, at),
    lambda x, axis, at, number: x.roll(at, axis),
    lambda x, axis, at, number: x.permute(list(range(x.ndim))[::-1]),
    lambda x, axis, at, number: x.sort(axis)[0] if x.shape[axis] < 20 else x,
    lambda x, axis, at, number: x @ x.permute([1, 0]) if x.ndim == 2 and x.shape[0] < 40 else x,
    lambda x, axis, at, number: written(x, at, number),
]


def run(steps: np.ndarray, array: np.ndarray, at: int, number: float) -> np.ndarray:
    made = [svod.Tensor(array)]
    for kind, which, axis in steps.tolist():
        x = made[which % len(made)]
        x = x if x.ndim else x.reshape(1)
        y = STEPS[kind](x, axis % x.ndim, at, number)
        if y.numel() < 1 << 14:
            made.append(y)
    return made[-1].numpy()


def compare(seed: int, calls: int = 7) -> None:
    rng = np.random.default_rng(seed)
    shape, varies = rng.integers(2, 9, int(rng.integers(1, 4))), int(rng.integers(3))
    dtype = DTYPES[int(rng.integers(len(DTYPES)))]
    steps = rng.integers(0, [len(STEPS), 1 << 16, 1 << 16], (int(rng.integers(2, 8)), 3))
    for call in range(calls):
        shape[varies % len(shape)] += seed % 3 != 1
        at = call * (1 + seed % 2) if seed % 3 else 1
        number = [3, call, call + 1, 7][seed % 4] if seed % 3 else 5
        array = (rng.random(shape) * 20).astype(dtype)
        with svod.PrepareConfig(skip="arguments"):
            expected = run(steps, array, at, number)
        found = run(steps, array, at, number)
        told = f"seed {seed}, call {call}"
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), told
        if found.dtype.kind in "biu":
            np.testing.assert_array_equal(found, expected, err_msg=told)
        else:
            # Folds of variable extents may associate in another order.
            tolerance = 2e-2 if dtype == "float16" else 1e-4
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=1e-3, err_msg=told)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_programs_are_the_same_with_arguments(first: int) -> None:
    for seed in range(first, first + 10):
        compare(seed)


def test_threads_share_arguments() -> None:
    failures: list[BaseException] = []

    def work(own: int) -> None:
        try:
            x = svod.Tensor(np.arange(40, dtype=np.float32))
            for i in range(60):
                found = (x[i % 30 : i % 30 + 5 + own] * (i + own + 0.5)).numpy()
                expected = np.arange(i % 30, i % 30 + 5 + own, dtype=np.float32) * np.float32(i + own + 0.5)
                np.testing.assert_array_equal(found, expected)
        except BaseException as failure:
            failures.append(failure)

    svod.clear_caches()
    threads = [threading.Thread(target=work, args=(own,)) for own in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
    assert svod.caches()["schedules"] <= 16
