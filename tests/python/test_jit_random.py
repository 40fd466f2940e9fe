"""Random numbers in jitted functions: others in each call, and those of the function without `jit`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import svod
import svod.nn.functional as F

X = np.zeros(5, np.float32)


def noise(x: Any) -> Any:
    """Several draws of several kinds, one of them read by nobody."""
    svod.rand(7)
    return {
        "uniform": x + svod.rand(5),
        "normal": svod.randn(2, 3),
        "integers": svod.randint(0, 100, (4,)),
        "wide": svod.rand(3, dtype=svod.float64),
        "mask": svod.rand(5) < 0.5,
    }


def values(results: dict[str, svod.Tensor]) -> list[Any]:
    return [value.tolist() for value in results.values()]


def test_numbers_differ_from_call_to_call_and_follow_the_seed() -> None:
    f = svod.jit(noise)
    svod.manual_seed(7)
    first, second = values(f(X)), values(f(X))
    after = svod.rand(3).tolist()
    assert all(a != b for a, b in zip(first[:4], second[:4], strict=True))
    for function in (f, noise):
        svod.manual_seed(7)
        assert values(function(X)) == first
        assert values(function(X)) == second
        assert svod.rand(3).tolist() == after
    assert f.traces == 1


def test_draws_share_kernels() -> None:
    f = svod.jit(lambda x: [x + svod.rand(5) for _ in range(6)])
    assert len({tuple(value.tolist()) for value in f(X)}) == 6
    assert len({kernel.source for kernel in f.plan(X).kernels}) == 1


def test_a_seed_within_the_function_is_set_at_each_call() -> None:
    def seeded(x: Any) -> Any:
        before = svod.rand(4)
        svod.manual_seed(3)
        return before, x + svod.rand(5)

    f = svod.jit(seeded)
    for function in (f, seeded):
        svod.manual_seed(1)
        one, fixed = function(X)
        two, same = function(X)
        assert fixed.tolist() == same.tolist() and one.tolist() != two.tolist()
        after = svod.rand(4).tolist()
        svod.manual_seed(3)
        svod.rand(5)
        assert after == svod.rand(4).tolist()


def test_a_function_that_only_draws() -> None:
    f = svod.jit(lambda: svod.rand(3))
    assert f().tolist() != f().tolist()
    nothing = svod.jit(lambda: svod.rand(3) and None)
    with pytest.raises(svod.TraceError):
        nothing()
    svod.manual_seed(5)
    svod.jit(lambda: [svod.rand(3), None][1])()
    after = svod.rand(2).tolist()
    svod.manual_seed(5)
    svod.rand(3)
    assert svod.rand(2).tolist() == after


def test_numbers_are_drawn_where_the_arguments_are() -> None:
    f = svod.jit(lambda x: x + svod.rand(5))
    for x in (svod.Tensor(X).to("CPU:1"), svod.Tensor(X).shard(["CPU", "CPU:1"])):
        svod.manual_seed(2)
        got = f(x)
        svod.manual_seed(2)
        expected = x + svod.rand(5)
        assert got.device == expected.device
        assert got.to("CPU").tolist() == expected.to("CPU").tolist()


def test_numbers_of_a_symbolic_shape() -> None:
    n = svod.Variable("n", 1, 8)
    f = svod.jit(lambda x: x + svod.rand(x.shape[0]), shapes={"x": (n,)})
    svod.manual_seed(4)
    first, second = f(np.zeros(3, np.float32)), f(np.zeros(6, np.float32))
    svod.manual_seed(4)
    assert first.tolist() == svod.rand(3).tolist()
    assert second.shape == (6,) and first.tolist() != second[:3].tolist()


def test_numbers_in_a_loop_of_a_jitted_function() -> None:
    def steps(x: Any) -> Any:
        return svod.iterate(3, lambda i, v: v + svod.rand(5), x)

    f = svod.jit(steps)
    svod.manual_seed(9)
    first, second = f(svod.Tensor(X)).tolist(), f(svod.Tensor(X)).tolist()
    assert first != second
    svod.manual_seed(9)
    np.testing.assert_allclose(steps(svod.Tensor(X)).tolist(), first, rtol=1e-6)
    np.testing.assert_allclose(steps(svod.Tensor(X)).tolist(), second, rtol=1e-6)


def test_numbers_of_a_symbolic_shape_are_those_of_the_function_for_its_sizes() -> None:
    """A draw of a symbolic extent takes as many numbers as it has at most, with `jit` and without."""
    n = svod.Variable("n", 1, 8)

    def drawn(size: Any) -> dict[str, svod.Tensor]:
        return {
            "uniform": svod.rand(size, 2),
            "normal": svod.randn(3, size),
            "integers": svod.randint(0, 100, (size,)),
            "wide": svod.rand(size, dtype=svod.float64),
            "dropped": F.dropout(svod.ones(size, 4), 0.5),
            "plain": svod.rand(5),
        }

    f = svod.jit(drawn)
    sizes = [2, 8, 3, 3]
    runs = []
    for function in (drawn, f, f):
        svod.manual_seed(6)
        runs.append([values(function(n.bind(size))) for size in sizes])
    assert runs[0] == runs[1] == runs[2] and f.traces == 1
    assert all(a != b for a, b in zip(runs[1][2], runs[1][3], strict=True)), "each call draws anew"
    assert [len(run[0]) for run in runs[1]] == sizes
    svod.manual_seed(6)
    assert values(drawn(2))[0] == runs[0][0][0], "the first numbers are those of an extent that is known"
    many = np.concatenate([f(n.bind(8))["uniform"].numpy().ravel() for _ in range(200)])
    assert abs(many.mean() - 0.5) < 0.03 and abs(many.var() - 1 / 12) < 0.01
