"""The README's examples run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


def test_example(capsys: Any) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    exec(compile(code, str(README), "exec"), {})
    assert "1." in capsys.readouterr().out


def test_rust_example_is_the_one_that_its_crate_tests() -> None:
    """`cargo test` runs what is in the crate's documentation."""
    (code,) = re.findall(r"```rust\n(.*?)```", README.read_text(), re.DOTALL)
    lines = (ROOT / "crates/tensor/src/lib.rs").read_text().splitlines()
    text = "\n".join(line[3:].removeprefix(" ") for line in lines if line.startswith("//!"))
    assert f"```\n{code}```" in text
