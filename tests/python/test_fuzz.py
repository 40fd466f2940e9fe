"""A fixed few of the random programs that `make fuzz` runs without end, and what keeps their tables whole."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from fuzz.check import Fault, fault
from fuzz.coverage import WITHOUT, public, used
from fuzz.drawing import draw_program
from fuzz.modes import MODES
from fuzz.operations import OPERATIONS
from fuzz.program import Program
from fuzz.shrink import shrunk

import svod

PROGRAMS = 15


@pytest.mark.parametrize("mode", MODES)
def test_random_programs_give_numpys_numbers(mode: str) -> None:
    for seed in range(PROGRAMS):
        program = draw_program(seed, OPERATIONS, [mode])
        found = fault(program) if program.outputs else None
        if found is not None and found.kind != "refused":
            smallest = shrunk(program, found, fault)
            pytest.fail(f"seed {seed}: {fault(smallest)}\n{smallest.script()}")


def test_every_public_name_is_in_a_table_or_has_a_reason() -> None:
    new = public() - used() - set(WITHOUT)
    assert not new, f"no random program uses these: add rows to fuzz/operations, or a reason to fuzz/coverage: {new}"
    # Fields of pairs and arrays are spelled in rows too.
    gone = (set(WITHOUT) | used()) - public() - {"Tensor.values", "Tensor.copy"}
    assert not gone, f"these are no public names any more: {gone}"


def test_every_operation_is_drawn() -> None:
    drawn: set[str] = set()
    for seed in range(900):
        mode = ("eager", "gradient")[seed % 5 == 0]
        drawn |= {s.numpy for s in draw_program(seed, OPERATIONS, [mode]).statements}
    missing = {operation.numpy for operation in OPERATIONS} - drawn
    assert not missing, f"their arguments are never ones that NumPy takes: {missing}"


def broken_program() -> Program:
    """A program of several statements whose one result is said to be another one than it is."""
    for seed in range(1000):
        program = draw_program(seed, OPERATIONS, ["plan"])
        sums = [s for s in program.statements if s.svod.endswith(".sum(axis={axis}, keepdims={keep})")]
        if sums and len(program.statements) > 5 and fault(program) is None:
            wrong = dataclasses.replace(sums[0], numpy="1 + " + sums[0].numpy)
            return dataclasses.replace(program, statements=[wrong if s is sums[0] else s for s in program.statements])
    raise AssertionError("no program has a sum")


def test_a_wrong_number_is_found_and_the_program_made_small() -> None:
    program = broken_program()
    found = fault(program)
    assert found is not None and found.kind == "wrong", found
    smallest = shrunk(program, found, fault)
    assert len(smallest.statements) == 1 and smallest.mode == "eager", smallest.script()
    assert "sum" in smallest.text()
    space: dict[str, object] = {}
    exec(smallest.script(), space)
    assert callable(space["program"])


def test_errors_and_wrong_types_are_found() -> None:
    program = draw_program(3, OPERATIONS, ["eager"])
    first = program.statements[0]
    for spelling, kind in (("svod.no_such_function()", "error"), ("svod.zeros(77, dtype=svod.int8)", "wrong")):
        broken = dataclasses.replace(first, svod=spelling)
        found = fault(dataclasses.replace(program, statements=[broken], outputs=[first.result]).pruned())
        assert isinstance(found, Fault) and found.kind == kind


# What random programs found, each at its smallest.


def test_softmax_of_large_scaled_numbers() -> None:
    """A product is not rounded in one place and exact in the other: the maximum would be exceeded by a lot."""
    large = np.array([[1e10, -3e9], [3e30, 1e30]], np.float32)
    x = svod.Tensor(large)
    np.testing.assert_array_equal((x * 0.577).softmax(-1).numpy(), [[1, 0], [1, 0]])
    np.testing.assert_array_equal((x * 0.577 - (x * 0.577).max(-1, True).values).exp().numpy(), [[1, 0], [1, 0]])
    key = svod.Tensor(np.array([[0.77], [2.8]], np.float32))
    value = svod.Tensor(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    found = svod.Tensor(large[:, :1]).scaled_dot_product_attention(key, value, scale=0.577)
    np.testing.assert_array_equal(found.numpy(), [[3, 4], [3, 4]])


def test_the_gradient_of_a_write_goes_to_what_was_written_last() -> None:
    base, index = svod.zeros(3), svod.Tensor([0, 2, 0, 0])

    def written(values: svod.Tensor) -> svod.Tensor:
        return (base.scatter(0, index, values) * svod.Tensor([1.0, 2.0, 3.0])).sum()

    assert svod.grad(written)(svod.ones(4)).tolist() == [0.0, 3.0, 0.0, 1.0]

    def copied(values: svod.Tensor) -> svod.Tensor:
        return (svod.zeros(3, 2).index_copy(0, index, values) * svod.Tensor([[1.0], [2.0], [3.0]])).sum()

    assert svod.grad(copied)(svod.ones(4, 2)).tolist() == [[0.0, 0.0], [3.0, 3.0], [0.0, 0.0], [1.0, 1.0]]


def test_a_list_of_floats_is_rounded_once() -> None:
    for numbers in ([0.1], [[0.1, 1 / 3]], (1e300,)):
        assert svod.Tensor(numbers, dtype="float64").numpy().tolist() == np.array(numbers).tolist()
        assert svod.asarray(numbers, dtype=svod.float64).numpy().tolist() == np.array(numbers).tolist()
    assert svod.Tensor([16777217.0], dtype=svod.int64).tolist() == [16777217]
    assert svod.Tensor([0.1]).dtype == svod.float32


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_mean_over_no_position_is_zero(dtype: str) -> None:
    """The smallest count that is divided by was no number of `float16`."""
    mask = svod.Tensor([[True, False, True], [False, False, False]])
    pooled = svod.nn.functional.mean_pool(svod.full((2, 3, 2), 5, dtype=dtype), mask)
    assert pooled.tolist() == [[5.0, 5.0], [0.0, 0.0]]
