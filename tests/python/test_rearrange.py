"""Patterns of axes."""

from __future__ import annotations

import numpy as np
import pytest

import svod

X = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)


@pytest.mark.parametrize(
    ("pattern", "lengths", "wanted"),
    [
        ("a b c d -> d c b a", {}, X.T),
        ("a b c d -> a (b c) d", {}, X.reshape(2, 12, 5)),
        (
            "a b (c1 c2) d -> (a c1) b c2 d",
            {"c1": 2},
            X.reshape(2, 3, 2, 2, 5).transpose(0, 2, 1, 3, 4).reshape(4, 3, 2, 5),
        ),
        ("... d -> d ...", {}, X.transpose(3, 0, 1, 2)),
        ("a ... -> (a ...)", {}, X.reshape(-1)),
        ("a b ... -> b a ...", {}, X.transpose(1, 0, 2, 3)),
        ("a b c d -> a 1 b (c d) ()", {}, X.reshape(2, 1, 3, 20, 1)),
        ("(x a) b c d -> x a b c d", {"x": 1}, X[None]),
    ],
)
def test_rearrange(pattern: str, lengths: dict[str, int], wanted: np.ndarray) -> None:
    np.testing.assert_array_equal(svod.rearrange(svod.Tensor(X), pattern, **lengths).numpy(), wanted)


def test_axes_of_extent_1_and_none() -> None:
    assert svod.rearrange(svod.ones(1, 3), "1 a -> a").shape == (3,)
    assert svod.rearrange(svod.ones(()), "->").shape == ()
    assert svod.rearrange(svod.ones(0, 4), "a (b c) -> (a b) c", b=2).shape == (0, 2)


def test_extents_may_be_variables() -> None:
    n = svod.Variable("n", 1, 8)
    rows = svod.empty(n, 6)
    plan = svod.rearrange(rows, "a (b c) -> b (a c)", b=2).contiguous().prepare(inputs=[rows])
    given = np.arange(18, dtype=np.float32).reshape(3, 6)
    plan.execute(given)
    np.testing.assert_array_equal(plan.outputs[0].numpy(), given.reshape(3, 2, 3).transpose(1, 0, 2).reshape(2, 9))


@pytest.mark.parametrize(
    ("pattern", "lengths", "error", "message"),
    [
        ("a b", {}, svod.ArgumentError, "one '->'"),
        ("a b -> a", {}, svod.ArgumentError, "each name once"),
        ("a a -> a a", {}, svod.ArgumentError, "each name once"),
        ("a -> a", {}, svod.ShapeError, "1 axes"),
        ("(a b) c -> a b c", {}, svod.ArgumentError, "have to be given"),
        ("(a b) c -> a b c", {"a": 4}, svod.ShapeError, "extent 6"),
        ("a b -> b a", {"c": 2}, svod.ArgumentError, "no names"),
        ("a b -> b a!", {}, svod.ArgumentError, "parentheses"),
    ],
)
def test_errors(pattern: str, lengths: dict[str, int], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        svod.rearrange(svod.ones(6, 2), pattern, **lengths)
