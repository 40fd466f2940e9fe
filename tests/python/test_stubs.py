"""The stubs say what the compiled module has, and the examples in its docstrings run."""

from __future__ import annotations

import doctest
import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import svod
from svod import _svod

ROOT = Path(__file__).parents[2]


def test_stubs_match_the_modules() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "svod._svod", "svod.library"]
    command += ["--allowlist", str(Path(__file__).parent / "data/stubs_left_out.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_are_what_the_script_writes() -> None:
    pytest.importorskip("ruff")
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "scripts/stubs.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    for path, text in script.stubs().items():
        assert path.read_text() == text, f"{path.name} is behind: run scripts/stubs.py"


def docstrings() -> Iterator[tuple[str, str]]:
    for name, item in sorted(vars(_svod).items()):
        if name.startswith("__"):
            continue
        yield name, getattr(item, "__doc__", None) or ""
        for member, value in sorted(vars(item).items()) if isinstance(item, type) else []:
            if not member.startswith("_"):
                yield f"{name}.{member}", getattr(value, "__doc__", None) or ""


@pytest.mark.parametrize(("name", "text"), list(docstrings()), ids=[name for name, _ in docstrings()])
def test_docstrings(name: str, text: str) -> None:
    assert text.strip(), f"{name} has no docstring"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert doctest.DocTestRunner().run(test).failed == 0


def test_public_names() -> None:
    assert len(svod.__all__) == len(set(svod.__all__))
    for name in svod.__all__:
        assert getattr(svod, name) is not None or name == "newaxis"
    assert {name for name in vars(_svod) if not name.startswith("_")} <= set(svod.__all__)
