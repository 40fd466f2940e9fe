"""Damaged models of ONNX are refused, or give results; `onnx_damage.py` runs many more."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("onnx")
import onnx_damage


def test_damaged_models_are_refused_or_give_results() -> None:
    counts: Counter[str] = Counter()
    for seed in range(120):
        name, content, inputs = onnx_damage.damaged(seed)
        found = onnx_damage.outcome(content, inputs)
        assert found in onnx_damage.FINE, f"--seed {seed}, {name}: {found}"
        counts[found] += 1
    assert min(counts[kind] for kind in onnx_damage.FINE) > 10


def test_damage_is_that_of_its_seed() -> None:
    assert onnx_damage.damaged(5)[:2] == onnx_damage.damaged(5)[:2] != onnx_damage.damaged(6)[:2]
