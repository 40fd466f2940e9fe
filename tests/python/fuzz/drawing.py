"""Programs are drawn one statement after the other, while NumPy runs them; see `noise`."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuzz.noise import Runs, evaluated, given
from fuzz.numbers import FLOATS, USUAL, Array, drawn, largest, promoted
from fuzz.program import Operation, Program, Statement

# The extents of a variable; no other extent is one of these when it is drawn.
VARIABLE = (11, 9, 13)
EXTENTS = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8)
MOST_ELEMENTS = 400
MOST_ELEMENTS_OF_LARGE = 20_000


class Draw:
    """The state of a program that is being drawn: its values so far, by number."""

    def __init__(self, rng: random.Random, mode: str) -> None:
        self.rng = rng
        self.mode = mode
        self.is_symbolic = mode == "symbolic"
        self.is_smooth = mode in ("gradient", "jax")
        # Inputs to come are of general position.
        self.is_plain = self.is_smooth
        self.sizes: tuple[int | None, ...] = VARIABLE if self.is_symbolic else (None, None)
        self.most = MOST_ELEMENTS_OF_LARGE if rng.random() < 0.04 else MOST_ELEMENTS
        self.noise = np.random.default_rng(rng.getrandbits(32))
        self.dtypes: list[str] = []
        # By value, then set of contents, then run.
        self.runs: list[Runs] = []
        self.inputs: dict[int, tuple[str, list[Array]]] = {}
        self.statements: list[Statement] = []

    # What rows of the tables ask for

    def shape(self, i: int) -> tuple[int, ...]:
        return self.runs[i][0][0].shape

    def value(
        self,
        kinds: Sequence[str] | None = None,
        *,
        least: int = 0,
        most: int = 9,
        exact: bool = False,
        where: Callable[[tuple[int, ...]], bool] | None = None,
    ) -> int | None:
        """A value of one of these types, of so many dimensions; the latest ones more often."""
        fitting = [
            i
            for i, dtype in enumerate(self.dtypes)
            if (kinds is None or dtype in kinds)
            and least <= len(self.shape(i)) <= most
            and (where is None or where(self.shape(i)))
        ]
        if not fitting:
            return None
        return fitting[-1] if self.rng.random() < 0.5 else self.rng.choice(fitting)

    def axis(self, i: int) -> int:
        """One of a value's axes, counted from the start or from the end."""
        rank = len(self.shape(i))
        return self.rng.randrange(-rank, rank)

    def some_axes(self, i: int) -> int | tuple[int, ...] | None:
        """An axis, several, or all."""
        rank = len(self.shape(i))
        if not rank or self.rng.random() < 0.2:
            return None
        if self.rng.random() < 0.7:
            return self.axis(i)
        return tuple(self.rng.sample(range(rank), self.rng.randrange(1, rank + 1)))

    def extents(self, rank: int) -> tuple[int, ...]:
        """A random shape."""
        choice = (*EXTENTS, 16, 17, 33, 65, 130) if self.most > MOST_ELEMENTS else EXTENTS
        while True:
            shape = tuple(self.rng.choice(choice) for _ in range(rank))
            if self.rng.random() < 0.02 and rank:
                shape = (*shape[1:], 0) if self.rng.random() < 0.5 else (0, *shape[1:])
            if np.prod(shape, dtype=int) <= self.most:
                break
        if self.is_symbolic and rank and self.rng.random() < 0.7:
            shape = (VARIABLE[0], *shape[1:])
        return shape

    def like(self, i: int) -> tuple[int, ...]:
        """A shape that is broadcast with that of a value."""
        shape = tuple(1 if self.rng.random() < 0.2 else extent for extent in self.shape(i))
        return shape[self.rng.randrange(len(shape) + 1) :] if self.rng.random() < 0.3 else shape

    def new(self, shape: tuple[int, ...], dtype: str, low: float = -4.0, high: float = 4.0, plain: bool = False) -> int:
        """A new input; `plain` for numbers of general position."""
        contents = []
        for size in self.sizes:
            extents = tuple(size if size and extent == VARIABLE[0] else extent for extent in shape)
            contents.append(drawn(self.rng, extents, dtype, low, high, plain or self.is_plain))
        return self.accept(dtype, contents)

    def positions(self, shape: tuple[int, ...], low: int, high: int) -> int:
        """A new input of positions: integers from `low` to before `high`."""
        contents = []
        for size in self.sizes:
            extents = tuple(size if size and extent == VARIABLE[0] else extent for extent in shape)
            numbers = np.random.default_rng(self.rng.getrandbits(32))
            contents.append(numbers.integers(low, high, extents))
        return self.accept("int64", contents)

    def accept(self, dtype: str, contents: list[Array]) -> int:
        self.inputs[len(self.runs)] = dtype, contents
        self.dtypes.append(dtype)
        self.runs.append(given(contents))
        return len(self.runs) - 1

    def other(self, i: int, kinds: Sequence[str] | None = None, low: float = -4.0, high: float = 4.0) -> int:
        """A value to go with another one: one that is there and fits, or a new input."""
        shape = self.shape(i)

        def fits(other: tuple[int, ...]) -> bool:
            return all(a == b or 1 in (a, b) for a, b in zip(shape[::-1], other[::-1]))

        kinds = (self.dtypes[i],) if kinds is None and self.rng.random() < 0.8 else kinds
        found = self.value(kinds, where=fits) if self.rng.random() < 0.6 else None
        if found is not None:
            return found
        return self.new(self.like(i), self.rng.choice(tuple(kinds or USUAL)), low, high)

    def stay_finite(self) -> bool:
        """Whether all numbers are finite so far; if so, inputs to come are."""
        arrays = [array for runs in self.runs for group in runs for array in group if array.dtype.kind == "f"]
        finite = all(np.isfinite(array).all() for array in arrays)
        self.is_plain = self.is_plain or finite
        return finite

    # Statements

    def add(self, operation: Operation) -> bool:
        """Applies an operation to arguments that are drawn; says whether something came of it."""
        before = len(self.runs)
        arguments = operation.draw(self)
        if arguments is None:
            self.forget(before)
            return False
        operands, others = arguments
        statement = Statement(
            result=len(self.runs),
            svod=self.rng.choice(operation.svod),
            numpy=operation.numpy,
            operands=operands,
            arguments=others,
            dtype=result_type(operation.dtype, [self.dtypes[i] for i in operands], others),
            common=common_type(operation.dtype, [self.dtypes[i] for i in operands]),
            exact=operation.exact,
        )
        runs = evaluated(statement, {i: (self.dtypes[i], self.runs[i]) for i in operands}, len(self.sizes), self.noise)
        if runs is None or not self.says_something(runs, statement):
            self.forget(before)
            return False
        self.statements.append(statement)
        self.dtypes.append(statement.dtype)
        self.runs.append(runs)
        return True

    def forget(self, before: int) -> None:
        """Inputs that were made for a statement which came to nothing."""
        del self.dtypes[before:], self.runs[before:]
        self.inputs = {i: given for i, given in self.inputs.items() if i < before}

    def says_something(self, runs: Runs, statement: Statement) -> bool:
        """Whether NumPy's results are the same under noise, of a sensible size and mostly numbers."""
        for group, (first, *others) in enumerate(runs):
            if first.size > self.most or first.ndim > 6:
                return False
            if statement.dtype not in FLOATS:
                if any(not np.array_equal(first, other) for other in others):
                    return False
                continue
            finite = np.isfinite(first)
            if finite.size and finite.mean() < 0.5 and self.rng.random() < 0.9:
                return False
            if any(not np.array_equal(finite, np.isfinite(other)) for other in others):
                return False
            # What overflows may do so elsewhere a little later; infinities come from those of operands.
            if np.abs(first[finite]).max(initial=0.0) > largest(statement.dtype) / 16:
                return False
            is_new = not finite.all() and all(np.isfinite(self.runs[i][group][0]).all() for i in statement.operands)
            if is_new and statement.dtype in ("float16", "bfloat16"):
                return False
        return True


def result_type(rule: str, dtypes: Sequence[str], arguments: dict[str, Any]) -> str:
    """The type of a result: `promoted`, `compared`, `float`, `sum`, of operand `0`, .., of an argument, or a name."""
    if rule == "compared":
        return "bool"
    if rule.isdigit():
        return dtypes[int(rule)]
    if rule == "argument":
        return str(arguments["dtype"])
    if rule not in ("promoted", "float", "sum"):
        return rule
    common = dtypes[0]
    for dtype in dtypes[1:]:
        common = promoted(common, dtype)
    if rule == "float" and common not in FLOATS:
        return "float32"
    if rule == "sum" and common not in FLOATS:
        return "uint64" if common == "uint64" else "int64"
    return common


def common_type(rule: str, dtypes: Sequence[str]) -> str | None:
    """The type in which svod computes, where operands are brought to one."""
    if rule in ("promoted", "float"):
        return result_type(rule, dtypes, {})
    return result_type("promoted", dtypes, {}) if rule == "compared" else None


def draw_program(seed: int, operations: Sequence[Operation], modes: Sequence[str]) -> Program:
    """The program of a seed. It has no outputs if nothing came of it."""
    rng = random.Random(seed)
    draw = Draw(rng, rng.choice(modes))
    allowed = [
        o
        for o in operations
        if (not draw.is_symbolic or o.symbolic)
        and (not draw.is_smooth or o.smooth)
        and (draw.mode == "eager" or not o.eager)
    ]
    # A program is of a few types rather than of all.
    types = ["float64"] if draw.is_smooth else [rng.choice(USUAL), rng.choice(USUAL)]
    for _ in range(rng.choice((1, 1, 2, 3))):
        dtype = rng.choice(types)
        high = 10.0 ** rng.uniform(-1, 1)
        draw.new(draw.extents(rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))), dtype, -high, high)
    wanted, tries = rng.choice((1, 2, 3, 4, 6, 8, 12)), 60
    while len(draw.statements) < wanted and tries:
        tries -= 1
        draw.add(rng.choice(allowed))
    read = {i for s in draw.statements for i in s.operands}
    outputs = [s.result for s in draw.statements if s.result not in read or rng.random() < 0.15]
    if draw.is_smooth:
        outputs = [i for i in outputs if draw.dtypes[i] == "float64"][-1:]
    return Program(draw.inputs, draw.statements, outputs, draw.mode, rng.getrandbits(16), draw.sizes).pruned()
