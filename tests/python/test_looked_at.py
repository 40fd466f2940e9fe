"""Random programs whose values are looked at on the way, and plans over them: right for other inputs, or refused.

What a program printed or read is a value. A plan that is to follow its inputs must not have such a value inside in
silence, however it was found: by a kernel, a copy of a part of memory, or memory under another shape.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import svod

SEEDS = 4000 if os.environ.get("SVOD_TEST_FULL") == "1" else 120
SHAPES = [(4,), (6,), (3, 4), (2, 3), (300, 5)]
Array = Any  # A tensor, or an array of NumPy: operations are written for both.


def both(of_svod: Callable[..., Array], of_numpy: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x: of_svod(x) if isinstance(x, svod.Tensor) else of_numpy(x)


def operation(choice: random.Random) -> Callable[[Array], Array]:
    i, step, c = choice.randrange(4), choice.choice([1, 2, 3, -1, -2]), choice.choice([0.5, 2.0, 3.0, -1.0])
    return choice.choice(
        [
            lambda x: x[i % x.shape[0]] * 1.0 if x.ndim > 1 else x * c,
            lambda x: x[i % x.shape[0] :],
            lambda x: x[::step],
            lambda x: x.reshape(-1),
            lambda x: x.T if x.ndim == 2 else x,
            lambda x: x[::-1],
            lambda x: x * c,
            lambda x: x + c,
            lambda x: x.sum(0) if x.ndim > 1 else x,
            lambda x: x.cumsum(0),
            lambda x: (x > 1) * x,
            lambda x: x * 0 + x.max(),
            lambda x: x[None] if x.ndim < 2 else x,
            lambda x: x[[0, 0]],
            both(lambda x: x.detach(), np.copy),
            both(lambda x: svod.sort(x, 0)[0], lambda x: np.sort(x, 0)),
            both(lambda x: svod.cat([x, x]), lambda x: np.concatenate([x, x])),
            both(lambda x: svod.roll(x, i, 0), lambda x: np.roll(x, i, 0)),
            both(lambda x: svod.flip(x.cumsum(0), 0), lambda x: np.flip(x.cumsum(0), 0)),
            both(lambda x: svod.grad(lambda y: (y * y * c).sum())(x), lambda x: 2 * c * x),
            both(lambda x: svod.custom(np.negative, x, shape=x.shape, dtype=x.dtype), np.negative),
        ]
    )


LOOKS: list[Callable[[svod.Tensor], Any]] = [
    lambda x: x.numpy(),
    lambda x: x.tolist(),
    repr,
    lambda x: float(x.reshape(-1)[0]),
    lambda x: x[0].tolist(),
    lambda x: x.sum().item(),
    lambda x: x.reshape(-1).numpy(),
    lambda x: bool((x > 0).any()),
    lambda x: np.asarray(x.T),
    lambda x: x[::2].tolist(),
]


def program(seed: int, operands: list[Array], looks: bool) -> list[Array]:
    """Operands and all values of the program of a seed, over these operands; perhaps it looks at some on the way."""
    choice, live = random.Random(seed), list(operands)
    for _ in range(choice.randrange(2, 9)):
        if choice.random() < 0.25:
            a, b = choice.choice(live), choice.choice(live)
            if tuple(a.shape) == tuple(b.shape):
                live.append(a * b - b if choice.random() < 0.5 else a + b)
            continue
        operand, apply = choice.choice(live), operation(choice)
        if operand.ndim > 0:
            live.append(apply(operand))
        looked, look = choice.choice(live), choice.choice(LOOKS)
        if choice.random() < 0.4 and looks and looked.ndim > 0:
            look(looked)
    return live


def prepared(outputs: list[svod.Tensor], inputs: list[svod.Tensor]) -> svod.ExecutionPlan | str:
    """A plan, or why there is none."""
    try:
        return svod.prepare(*outputs, inputs=inputs, unused_inputs=True)
    except svod.ArgumentError as error:
        return str(error)


@pytest.mark.parametrize("first", range(0, SEEDS, 40))
def test_plans_over_values_that_were_looked_at_are_right_or_refused(first: int) -> None:
    refused = 0
    for seed in range(first, first + 40):
        choice, arrays = random.Random(seed), np.random.default_rng(seed)
        shape = choice.choice(SHAPES)
        before, after = ([arrays.integers(-5, 6, shape).astype(np.float64) for _ in range(2)] for _ in range(2))
        make = choice.choice([svod.Tensor, svod.from_numpy, lambda a: svod.Tensor(a).requires_grad_()])
        inputs = [make(a.copy()) for a in before]
        results, wanted = program(seed, inputs, looks=True)[2:], program(seed, after, looks=False)[2:]
        chosen = [at for at in range(len(results)) if choice.random() < 0.6]
        if not chosen:
            continue
        plan = prepared([results[at] * 1.0 for at in chosen], inputs)
        if isinstance(plan, str):
            assert "before, by a read or a copy" in plan, seed
            refused += 1
            continue
        for at, found in zip(chosen, plan.run(*after), strict=True):
            np.testing.assert_allclose(
                found.numpy(), wanted[at], rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}, value {at}"
            )
    assert refused < 40
