"""The node tests of the package `onnx`: each passes, or is in the table of those that are left out."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx")
import onnx_nodes

# A part each, so that one does not take long.
PARTS = 40


@pytest.mark.parametrize("part", range(PARTS))
def test_nodes_give_the_stored_results_or_are_left_out_for_a_reason(part: int) -> None:
    without = onnx_nodes.left_out()
    names = sorted(onnx_nodes.cases())[part::PARTS]
    for name in names:
        found, reason = onnx_nodes.outcome(onnx_nodes.cases()[name]), without.get(name)
        chance = found is None and reason in onnx_nodes.DIFFERENT.values()
        assert chance or found == reason, name


def test_left_out_tests_are_tests() -> None:
    assert set(onnx_nodes.left_out()) <= set(onnx_nodes.cases())


def test_the_table_of_operators_is_as_they_are() -> None:
    page = onnx_nodes.PAGE.read_text()
    assert onnx_nodes.with_table(page) == page
