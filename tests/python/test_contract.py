"""The page that maps the contract to code and tests names what there is; and row F1."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import metadata
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import svod

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contract.md").read_text()
ROWS = [f"{letter}{i + 1}" for letter, count in zip("ABCDEF", (11, 6, 10, 7, 6, 1)) for i in range(count)]
# Rows, what they ask for, where it is, and where it is tested.
TABLE = [
    [cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.splitlines() if re.match(r"\| [A-F]\d", line)
]


def names_of_tests() -> set[str]:
    """The names of all tests, those in Rust as they are there."""
    names: set[str] = set()
    for path in [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("crates/*/tests/**/*.rs")]:
        names |= set(re.findall(r"^\s*fn ([a-f]\d+_\w+)", path.read_text(), re.MULTILINE))
    for path in ROOT.glob("tests/python/test_*.py"):
        names |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    return names


NAMES = names_of_tests()


def of_row(name: str) -> list[str]:
    """The rows that a test's name begins with: `c2_d1_plans` is of C2 and D1."""
    words = name.removeprefix("test_").split("_")
    rows = [word.upper() for word in words]
    return rows[: next((i for i, row in enumerate(rows) if row not in ROWS), len(rows))]


def expanded(path: str) -> list[str]:
    """`a/{b,c}.rs` as `a/b.rs` and `a/c.rs`."""
    parts = [part.split(",") if i % 2 else [part] for i, part in enumerate(re.split(r"[{}]", path))]
    return ["".join(choice) for choice in product(*parts)]


def exists(path: str) -> bool:
    """Whether there is such a file or folder below the project, `python`, or a crate or its sources."""
    crate, _, rest = path.partition("/")
    places = [ROOT / path, ROOT / "python" / path, ROOT / "tests" / "python" / path, ROOT / "crates" / path]
    places += [ROOT / "crates" / crate / "src" / rest, ROOT / "docs" / path]
    return any(place.exists() for place in places)


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_tests_and_a_line(row: str) -> None:
    assert any(row in of_row(name) for name in NAMES), f"no test is named for {row}"
    lines = [line for line in TABLE if line[0] == row]
    assert lines, f"{row} has no line"
    for _, what, code, tests in lines:
        assert what and code and tests


def test_every_path_on_the_page_exists() -> None:
    quoted = re.findall(r"`([^`\s]+)`", PAGE)
    paths = [path for path in quoted if re.search(r"\.(rs|py|md|pyi|toml)$|/$", path)]
    assert len(paths) > 100
    missing = [path for given in paths for path in expanded(given) if not exists(path)]
    assert not missing
    linked = re.findall(r"\]\(([^)#:]+)\)", PAGE)
    assert not [path for path in linked if not (ROOT / "docs" / path).exists()]


def test_every_test_on_the_page_exists() -> None:
    named = [name for line in TABLE for name in re.findall(r"`((?:test_)?[a-f]\d+_\w*)(…?)`", line[3])]
    assert len(named) > 100
    for name, more in named:
        assert any(known == name or (more and known.startswith(name)) for known in NAMES), name


def test_f1_the_package_for_python_and_the_workspace_for_rust() -> None:
    x = svod.Tensor(np.float32([1, 2]))
    plan = (x + 1).prepare(inputs=[x])
    assert isinstance(plan, svod.ExecutionPlan)
    plan.execute(np.float32([3, 4]))
    np.testing.assert_array_equal(np.asarray(plan.outputs[0]), np.float32([4, 5]))
    about = metadata("svod")
    assert about["Version"] == svod.__version__ and about["Requires-Python"].startswith(">=3.")
    assert (Path(svod.__file__).parent / "py.typed").exists()
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    crates = {path.parent.name for path in ROOT.glob("crates/*/Cargo.toml")}
    assert crates == {path.name for pattern in workspace["members"] for path in ROOT.glob(pattern)}
    published = [
        tomllib.loads((ROOT / f"crates/{c}/Cargo.toml").read_text())["package"]
        for c in crates - {"python", "python-macros"}
    ]
    assert all(package["description"] and "publish" not in package for package in published)
    internal = [d for name, d in workspace["dependencies"].items() if name.startswith("svod-")]
    assert {d["version"] for d in internal} == {"=" + workspace["package"]["version"]}
    benches = [
        b for crate in crates for b in tomllib.loads((ROOT / f"crates/{crate}/Cargo.toml").read_text()).get("bench", [])
    ]
    assert len(benches) >= 3
