"""What is joined of parts of memory is copied, without a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(41)


def schedules() -> int:
    """Schedules that were made so far."""
    return int(svod.compile_times().get("shard", (0, 0.0))[0])


JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "roll": lambda xp, x: xp.roll(x, 3),
    "roll back": lambda xp, x: xp.roll(x, -1),
    "rows rolled": lambda xp, x: xp.roll(x, 1, 0),
    "columns rolled": lambda xp, x: xp.roll(x, 2, 1),
    "both rolled": lambda xp, x: xp.roll(xp.roll(x, 1, 0), 1, 1),
    "doubled": lambda xp, x: xp.concatenate([x, x]),
    "side by side": lambda xp, x: xp.concatenate([x, x[:, :2], x[:, 1:]], 1),
    "turned around": lambda xp, x: xp.concatenate([x[::-1], x[::2], x[:0]]),
    "transposed": lambda xp, x: xp.concatenate([x.T, x.T[1:]]),
    "layers": lambda xp, x: xp.stack([x, x[::-1]]),
    "inner layers": lambda xp, x: xp.stack([x, x[::-1], x], 2),
    "beside numbers": lambda xp, x: xp.concatenate([xp.zeros((1, x.shape[1]), dtype=x.dtype), x[1:]]),
    "one": lambda xp, x: xp.concatenate([x]),
}


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("name", JOINS)
def test_joins_are_numpys(name: str, dtype: str) -> None:
    for shape in ((1, 3), (4, 5), (3, 70)):
        a = (RNG.standard_normal(shape) * 9).astype(dtype)
        x = svod.Tensor(a)
        before = schedules()
        np.testing.assert_array_equal(JOINS[name](svod, x).numpy(), JOINS[name](np, a))
        if name != "both rolled" and dtype != "complex128":
            assert schedules() == before
        # A kernel reads the parts, also where somebody has the join.
        joined = JOINS[name](svod, x)
        found = (joined == joined).all()
        assert bool(found) and joined.numpy().tolist() == JOINS[name](np, a).tolist()


def test_large_joins_are_a_kernels() -> None:
    a = RNG.random((300, 400)).astype(np.float32)
    x = svod.Tensor(a)
    np.testing.assert_array_equal(svod.roll(x, 7).numpy(), np.roll(a, 7))
    np.testing.assert_array_equal((svod.roll(x, 7, 1) + 1).numpy(), np.roll(a, 7, 1) + 1)


def test_distances_that_change_make_few_schedules() -> None:
    a = RNG.random(100).astype(np.float32)
    x = svod.Tensor(a)
    before = schedules()
    for i in range(100):
        assert float((x * svod.roll(x, i)).sum()) == pytest.approx(float((a * np.roll(a, i)).sum()), rel=1e-5)
    assert schedules() - before <= 10


def test_a_join_follows_nothing_once_it_was_read() -> None:
    x = svod.Tensor([1.0, 2.0, 3.0])
    joined = svod.cat([x, x])
    assert float(joined.sum()) == 12
    x[0] = 5
    assert joined.tolist() == [1, 2, 3, 1, 2, 3] and svod.cat([x, x]).tolist() == [5, 2, 3, 5, 2, 3]
    # A plan would not follow its input.
    y = svod.Tensor([1.0, 2.0])
    both = svod.cat([y, y])
    both.numpy()
    with pytest.raises(svod.ArgumentError, match="made of input 0"):
        svod.prepare(both * 2, y * 1, inputs=[y])


def test_borrowed_memory_that_changes_is_joined_as_it_is() -> None:
    a = np.array([1.0, 2.0, 3.0], np.float32)
    joined = svod.cat([svod.from_numpy(a), svod.Tensor([9.0])])
    a[0] = 7
    assert joined.tolist() == [7, 2, 3, 9]


def test_derivatives_go_through_joins() -> None:
    x = svod.Tensor([1.0, 2.0, 3.0]).requires_grad_()
    joined = svod.cat([x, x[1:]]).roll(1)
    assert joined.tolist() == [3, 1, 2, 3, 2]
    (joined * svod.Tensor([1.0, 10.0, 100.0, 1000.0, 10000.0])).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [10.0, 10100.0, 1001.0]
