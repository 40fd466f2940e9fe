"""Gradients of values that have many users: what these pass on becomes one contraction, or one sequence, if alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

RNG = np.random.default_rng(31)
STEPS = 12


def draw(*shape: int, dtype: str = "float64") -> svod.Tensor:
    return svod.Tensor(RNG.normal(size=shape)).cast(dtype)


def recurrent(x: svod.Tensor, w: svod.Tensor) -> svod.Tensor:
    """The weight is used in each iteration, and each row of the sequence in one."""
    h = x[0] * 0
    for t in range(STEPS):
        h = (h @ w + x[t]).tanh()
    return h.sum()


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[svod.Tensor, ...]]] = {
    "a recurrent weight": (recurrent, (draw(STEPS, 3, 8), draw(8, 8) * 0.3)),
    "and used otherwise": (
        lambda x, w: recurrent(x, w) + (w * w).sum() + (x[0] @ w).sum(),
        (draw(STEPS, 3, 8), draw(8, 8) * 0.3),
    ),
    "of other numbers of rows": (
        lambda x, w: sum((x[: t % 3 + 1] @ w).sin().sum() for t in range(9)),
        (draw(3, 16), draw(16, 16)),
    ),
    "parts in any order": (lambda x: sum(((i + 1) * x[i] ** 2).sum() for i in (4, 0, 2, 1, 3)), (draw(5, 3),)),
    "parts with gaps": (lambda x: sum(x[i : i + 2].exp().sum() * i for i in (1, 4, 7, 12)), (draw(15, 2),)),
    "parts that overlap": (lambda x: sum((x[:, i : i + 3] ** 3).sum() for i in range(6)), (draw(2, 9),)),
    "parts of two axes": (lambda x: sum((x[i] * x[:, i]).sum() for i in range(5)), (draw(5, 5),)),
    "parts and the whole": (lambda x: sum((x[i] ** 2).sum() for i in range(6)) + (x**3).sum(), (draw(6, 4),)),
    "an empty part": (
        lambda x: sum((x[i : i + n] ** 2).sum() for i, n in ((0, 2), (2, 0), (2, 1), (3, 0), (3, 3))),
        (draw(6, 4),),
    ),
    "a convolution's kernel": (
        lambda x, w: sum(svod.conv2d(x[i : i + 1], w, padding=1).sin().sum() for i in range(5)),
        (draw(5, 4, 6, 6), draw(4, 4, 3, 3)),
    ),
    "a product of one row": (lambda x, w: sum((w @ x[i]).sin().sum() for i in range(7)), (draw(7, 16), draw(16, 16))),
    "one number": (lambda x, a: sum((x[i] * a).sin().sum() for i in range(7)), (draw(7, 16), draw())),
}


def differences(of: Callable[..., Any], values: tuple[svod.Tensor, ...], which: int, step: float = 1e-5) -> np.ndarray:
    """Central differences, element by element."""
    x = values[which].numpy()
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        ends = []
        for sign in (1, -1):
            moved = x.copy()
            moved[at] += sign * step
            given = [svod.Tensor(moved) if i == which else value for i, value in enumerate(values)]
            ends.append(of(*given).item())
        found[at] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_values_with_many_users(name: str) -> None:
    of, values = PROGRAMS[name]
    jitted = svod.jit(of)
    for which in range(len(values)):
        found = svod.grad(of, argnums=which)(*values)
        np.testing.assert_allclose(found, differences(jitted, values, which), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["a recurrent weight", "parts with gaps", "a convolution's kernel"])
def test_second_derivatives(name: str) -> None:
    of, values = PROGRAMS[name]
    direction = draw(*values[-1].shape)

    def along(*args: svod.Tensor) -> svod.Tensor:
        return (svod.grad(of, argnums=len(values) - 1)(*args) * direction).sum()

    found = svod.grad(along, argnums=0)(*values)
    np.testing.assert_allclose(found, differences(svod.jit(along), values, 0), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_narrow_types_are_added_as_wide_ones(dtype: str) -> None:
    x, w = draw(STEPS, 4, 16, dtype=dtype), (draw(16, 16) * 0.2).cast(dtype)
    wide = svod.grad(recurrent, argnums=1)(x.cast("float64"), w.cast("float64")).numpy()
    found = svod.grad(recurrent, argnums=1)(x, w)
    assert found.dtype == dtype
    limit = {"float32": 1e-5, "bfloat16": 0.05}[dtype]
    np.testing.assert_allclose(found.cast("float64"), wide, rtol=limit, atol=limit * np.abs(wide).max())


def test_a_recurrent_weight_has_one_contraction_over_time() -> None:
    """It is over the rows of all iterations."""
    x, w = draw(STEPS, 4, 64, dtype="float32"), draw(64, 64, dtype="float32") * 0.1
    explained = str(svod.grad(recurrent, argnums=1)(x, w).prepare().explain())
    assert f"matmul_64x64x{STEPS * 4}" in explained, explained


def test_the_gradient_by_what_is_padded_is_no_larger_than_that() -> None:
    """Of the zeros around a convolution's input nothing is computed."""
    x, w = draw(2, 32, 4, 4, dtype="float32"), draw(32, 32, 3, 3, dtype="float32")
    explained = str(svod.grad(lambda x: svod.conv2d(x, w, padding=1).sin().sum())(x).prepare().explain())
    assert "2x32x6x6" not in explained, explained


def test_the_weights_of_a_strided_convolution_are_turned_once() -> None:
    """They are the same for each example."""
    x, w = draw(16, 32, 8, 8, dtype="float32"), draw(32, 32, 3, 3, dtype="float32")
    gradient = svod.grad(lambda x: svod.conv2d(x, w, stride=2, padding=1).sin().sum())(x)
    assert "map_16x32x2x2" not in str(gradient.prepare().explain())
