"""The map of the code names files and folders that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_contract import exists, expanded

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs" / "internals").glob("*.md"))]


def places(text: str) -> set[str]:
    """What looks like a path in code spans: with a slash, or a file of Rust or Python."""
    spans = re.findall(r"`([\w./{},]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return {path for span in spans if "/" in span or span.endswith((".rs", ".py")) for path in expanded(span)}


def is_there(path: str) -> bool:
    """Whether there is such a file or folder: below the project, a crate, or a folder of one."""
    tails = (path, f"{path}.rs")
    inside = any(next(ROOT.glob(f"crates/*/src/**/{tail}"), None) for tail in tails)
    return inside or any(exists(tail) for tail in tails) or next(ROOT.glob(f"python/svod/**/{path}"), None) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_the_map_names_exists(page: Path) -> None:
    named = places(page.read_text())
    assert named or page.name == "gradients.md"
    missing = sorted(path for path in named if not is_there(path.rstrip("/")))
    assert not missing, missing
