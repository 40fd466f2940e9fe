"""Makes a program that shows a fault smaller."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from fuzz.check import Fault
from fuzz.noise import expected
from fuzz.program import Program


def smaller(program: Program) -> Iterator[Program]:
    """Programs with one thing less."""
    if len(program.outputs) > 1:
        for output in program.outputs:
            yield dataclasses.replace(program, outputs=[output]).pruned()
    if program.mode not in ("eager", "gradient", "jax"):
        yield dataclasses.replace(program, mode="eager")
    # A value in the middle becomes an input, the latest first: what made it is no longer needed.
    for statement in reversed(program.statements):
        if statement.result in program.outputs:
            # Or the program ends earlier.
            rest = [i for i in program.outputs if i != statement.result]
            before = [i for i in statement.operands if i not in program.inputs]
            if before and (program.mode not in ("gradient", "jax") or program.dtype(before[-1]) == "float64"):
                outputs = [*rest, *before] if program.mode not in ("gradient", "jax") else before[-1:]
                yield dataclasses.replace(program, outputs=outputs).pruned()
            continue
        runs = expected(dataclasses.replace(program, outputs=[statement.result]).pruned())
        if runs is None:
            continue
        inputs = {**program.inputs, statement.result: (statement.dtype, [group[0] for group in runs[0]])}
        statements = [s for s in program.statements if s.result != statement.result]
        ordered = {i: inputs[i] for i in sorted(inputs)}
        yield dataclasses.replace(program, inputs=ordered, statements=statements).pruned()
    yield from shorter(program)


def shorter(program: Program) -> Iterator[Program]:
    """Inputs of half the extent along one axis: of all that have this extent, or of one."""
    extents = {e for _, contents in program.inputs.values() for e in contents[0].shape if e > 1}
    for extent in sorted(extents, reverse=True):
        for some in (list(program.inputs), *([i] for i in program.inputs)):
            inputs = dict(program.inputs)
            for i in some:
                dtype, contents = inputs[i]
                cut = tuple(slice(extent // 2 if e == extent else None) for e in contents[0].shape)
                inputs[i] = dtype, [array[cut] for array in contents]
            yield dataclasses.replace(program, inputs=inputs)


def shrunk(program: Program, seen: Fault, fault: Callable[[Program], Fault | None], tries: int = 200) -> Program:
    """A program with the same fault from which nothing can be taken away."""
    while True:
        for candidate in smaller(program):
            tries -= 1
            if tries < 0:
                return program
            if not candidate.outputs or not candidate.statements:
                continue
            found = fault(candidate)
            if found is not None and found.is_like(seen):
                program = candidate
                break
        else:
            return program
