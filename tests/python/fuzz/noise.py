"""What NumPy says, and by how much it may be off.

A reference runs several times with noise: operands and results of what rounds are changed by a few units in the last
place (Vignes' stochastic arithmetic). How far results lie apart is what a number may be off by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuzz import reference
from fuzz.numbers import FLOATS, Array, epsilon, rounded, smallest, storage, wide
from fuzz.program import Program, Statement

# Of every set of contents, one run without noise and some with it.
NOISY = 3
# Units in the last place by which numbers are changed.
NOISE = 6.0

# Arrays by set of contents, then by run, of which the first is without noise.
Runs = list[list[Array]]


def given(contents: list[Array]) -> Runs:
    """The runs of an input: no two differ."""
    return [[array] * (1 + NOISY) for array in contents]


def evaluated(
    statement: Statement, operands: dict[int, tuple[str, Runs]], groups: int, noise: np.random.Generator
) -> Runs | None:
    """What a statement gives for operands of these types and values, or None where NumPy refuses."""
    space: dict[str, Any] = {"np": np, "R": reference, "storage": storage}
    code = compile(statement.text(statement.numpy), "<reference>", "exec")

    def disturbed(array: Array, dtype: str) -> Array:
        if dtype not in FLOATS or statement.exact:
            return array
        return np.asarray(array * (1 + NOISE * epsilon(dtype) * noise.uniform(-1, 1, array.shape)))

    results: Runs = []
    for group in range(groups):
        results.append([])
        for run in range(1 + NOISY):
            for i, (dtype, runs) in operands.items():
                array, common = runs[group][run], statement.common or dtype
                array = array.astype(wide(common))
                space[f"v{i}"] = disturbed(array, common) if run else array
            try:
                with np.errstate(all="ignore"):
                    exec(code, space)
            except (ValueError, TypeError, IndexError, OverflowError, np.exceptions.AxisError):
                return None
            result = rounded(space[f"v{statement.result}"], statement.dtype)
            results[-1].append(disturbed(result, statement.dtype) if run else result)
    return results


def expected(program: Program) -> list[Runs] | None:
    """What NumPy gives for each output."""
    noise = np.random.default_rng(program.salt)
    values = {i: (dtype, given(contents)) for i, (dtype, contents) in program.inputs.items()}
    for statement in program.statements:
        runs = evaluated(statement, {i: values[i] for i in statement.operands}, len(program.sizes), noise)
        if runs is None:
            return None
        values[statement.result] = statement.dtype, runs
    return [values[i][1] for i in program.outputs]


def difference(found: Array, runs: list[Array], dtype: str) -> str | None:
    """How an array of svod's differs from what NumPy gave, or None."""
    exact, *noisy = runs
    if found.shape != exact.shape:
        return f"shape {found.shape}, expected {exact.shape}"
    if found.dtype != storage(dtype):
        return f"dtype {found.dtype}, expected {dtype}"
    if dtype not in FLOATS:
        return told(found, exact, np.asarray(found != exact))
    found = found.astype(np.float64)
    with np.errstate(all="ignore"):
        spread = np.max([np.abs(other - exact) for other in noisy], axis=0)
        spread = np.where(np.isfinite(spread), spread, 0.0)
        allowed = 12 * spread + 2 * spread.max(initial=0.0) + 8 * epsilon(dtype) * np.abs(exact) + 4 * smallest(dtype)
        close = np.abs(found - exact) <= np.where(np.isfinite(allowed), allowed, 0.0)
    return told(found, exact, ~(close | (found == exact) | (np.isnan(found) & np.isnan(exact))))


def told(found: Array, exact: Array, wrong: Array) -> str | None:
    """Which elements are wrong, in words."""
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements differ; at {at} {found[at]!r}, expected {exact[at]!r}"
