"""Pages of the documentation run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


# What pages need beside svod.
NEEDS = {"array_api.md": [], "onnx.md": ["onnx"], "training.md": [], "torch.md": ["torch"]}


@pytest.mark.parametrize("page", NEEDS)
def test_blocks_of_code_run_in_order(page: str) -> None:
    for module in NEEDS[page]:
        pytest.importorskip(module)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
