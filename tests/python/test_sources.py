"""Values that a read computed from a plan's input are refused, as the plan would not follow the input."""

from __future__ import annotations

import numpy as np
import pytest

import svod

SAYS = r"prepare: a value float32\[4, 4\].* was made of input {} before, by a read or a copy"


def ones() -> svod.Tensor:
    return svod.Tensor(np.ones((4, 4), np.float32)).realize()


def test_a_value_that_a_read_kept_on_its_way() -> None:
    x, w = ones(), ones()
    h = x @ w
    assert h.sum().item() == 64
    for tensor, inputs, which in ((h.relu() + x, [x], 0), (h + w, [w], 0)):
        with pytest.raises(svod.ArgumentError, match=SAYS.format(which)):
            tensor.prepare(inputs=inputs)
    other = ones()
    plan = (h + other).prepare(inputs=[other])
    assert plan(np.zeros((4, 4), np.float32))[0].tolist() == [[4.0] * 4] * 4


def test_a_value_that_was_read_itself() -> None:
    x = ones()
    h = x * 2
    assert h.tolist()[0][0] == 2
    with pytest.raises(svod.ArgumentError, match=SAYS.format(0)):
        (h + x).prepare(inputs=[x])


def test_what_is_asked_for_is_a_constant() -> None:
    x = ones()
    h = x * 2
    assert h.sum().item() == 32
    h.realize()
    plan = (h + x).prepare(inputs=[x])
    assert plan(np.zeros((4, 4), np.float32))[0].tolist() == [[2.0] * 4] * 4


def test_values_of_values_of_values() -> None:
    x, w = ones(), ones() / 8
    for _ in range(5):
        w = w - 0.1 * (x.T @ (x @ w))
        float(w.sum())
    with pytest.raises(svod.ArgumentError, match=SAYS.format(0)):
        (x @ w).prepare(inputs=[x])
    w.realize()
    (x @ w).prepare(inputs=[x])


def test_a_part_that_a_read_copied() -> None:
    x = ones()
    z = x[0:2] * 3
    assert z.sum().item() == 24
    with pytest.raises(svod.ArgumentError, match="was made of input 0"):
        (z.exp() + x[2:4]).prepare(inputs=[x])


def test_an_earlier_value_of_an_input_is_no_input() -> None:
    x = ones()
    h = x * 2
    assert h.sum().item() == 32
    x[:] = svod.zeros((4, 4))
    x.realize()
    assert (h + x).prepare(inputs=[x])(np.ones((4, 4), np.float32))[0].tolist() == [[3.0] * 4] * 4
