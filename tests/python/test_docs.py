"""The documentation is true: its code runs, its names exist, its links lead somewhere, its tables are complete."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import svod

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "scripts"))

from pages import examples, operations, reference  # noqa: E402
from pages.subjects import names  # noqa: E402

PAGES = sorted(DOCS.rglob("*.md"))
SITE = (ROOT / "mkdocs.yml").read_text()

# What pages need beside svod and NumPy.
NEEDS = {"onnx.md": ["onnx"], "torch.md": ["torch"]}


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page.name for page in PAGES if blocks(page.read_text())])
def test_blocks_of_code_run_in_order(page: str) -> None:
    for module in NEEDS.get(page, []):
        pytest.importorskip(module)
    scope: dict[str, object] = {}
    for block in blocks((DOCS / page).read_text()):
        exec(compile(block, page, "exec"), scope)


@functools.cache
def made() -> dict[str, str]:
    return operations.pages() | reference.pages()


def test_the_reference_has_each_public_name_once() -> None:
    listed = Counter(name for group in names().values() for name in group)
    public = {name for name in svod.__all__ if not name.startswith("__") and not inspect.ismodule(getattr(svod, name))}
    public.add("__array_namespace_info__")
    assert set(listed) == public
    assert set(listed.values()) == {1}


def test_entries_of_the_reference_have_text() -> None:
    pages = reference.pages()
    without_code = [re.sub(r"^```.*?^```", "", page, flags=re.DOTALL | re.MULTILINE) for page in pages.values()]
    entries = [entry for page in without_code for entry in re.split(r"^#{2,3} ", page, flags=re.MULTILINE)[1:]]
    assert len(entries) > 900
    assert [entry.strip() for entry in entries if "\n" not in entry.strip()] == []


# What is told of without an example of its own: bases, what needs a file, models, of which the module has one, and what
# measures the machine for seconds.
PLAIN = {
    "svod.measure_machine", "svod.models.Bert", "svod.models.Decoder", "svod.models.GPT2", "svod.models.Llama",
    "svod.models.load", "svod.nn.FunctionModule", "svod.onnx.load", "svod.optim.Optimizer",
    "svod.optim.lr_scheduler.LRScheduler",
}  # fmt: skip


def test_functions_and_layers_have_an_example() -> None:
    """In the docstring, or in the table of those that have none there, which has no others."""
    told = {f"svod.{name}": getattr(svod, name) for group in names().values() for name in group}
    for space in ("linalg", "fft", "models", "nn", "nn.functional", "nn.init", "nn.utils", "onnx", "optim",
                  "optim.lr_scheduler"):  # fmt: skip
        module = importlib.import_module(f"svod.{space}")
        told |= {f"svod.{space}.{name}": getattr(module, name) for name in module.__all__}
    layers = (svod.nn.Module, svod.optim.Optimizer, svod.optim.lr_scheduler.LRScheduler)
    without = {
        path
        for path, thing in told.items()
        if callable(thing) and ">>>" not in (thing.__doc__ or "")
        if not inspect.isclass(thing) or path.rpartition(".")[2][0].islower() or issubclass(thing, layers)
    }
    has = examples.by_name().keys()
    shared = {f"svod.nn.functional.{name.removeprefix('svod.')}" for name in has if name.count(".") == 1}
    assert without - has - shared == PLAIN
    assert has <= without
    for path, statements in examples.by_name().items():
        assert f"{path}(" in "; ".join(statements)


def test_the_table_of_operations_is_made_of_what_operations_take() -> None:
    rows = {line.split("|")[1].strip(" `"): line for line in operations.page().splitlines() if line.startswith("| `")}
    cells = {name: [cell.strip() for cell in row.split("|")[2:-1]] for name, row in rows.items()}
    assert cells["exp"] == ["●"] * 7 + ["kernels"]
    assert cells["bitwise_and"] == ["●", "●", "", "", "", "", "", "kernels"]
    assert cells["cholesky"][-1] == "a library's function"
    assert cells["sort"][5:7] == ["", "●"]


def test_the_navigation_has_every_page() -> None:
    listed = re.findall(r"([\w./-]+\.md)$", SITE.split("\nnav:\n")[1], re.MULTILINE)
    beside = {"architecture.md", "contributing.md", "changelog.md"}
    there = {str(page.relative_to(DOCS)) for page in PAGES if "avx2" not in page.parts}
    assert sorted(listed) == sorted(there | made().keys() | beside)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_lead_somewhere(page: Path) -> None:
    generated = made()
    for target in re.findall(
        r"\]\((?!https?:)([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    ):
        inside = (page.parent / target).resolve()
        assert inside.exists() or str(inside.relative_to(DOCS)) in generated, f"{page.name}: {target}"


@pytest.mark.parametrize("library", ["numpy", "pytorch", "jax", "tinygrad"])
def test_names_of_the_tables_exist(library: str) -> None:
    text = (DOCS / f"coming_from_{library}.md").read_text()
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert len(rows) > 10
    for name in re.findall(r"`(svod(?:\.\w+)+)", " ".join(rows)):
        thing: object = svod
        for part in name.split(".")[1:]:
            thing = getattr(thing, part)
    owners = {"x": svod.Tensor, "y": svod.Tensor, "plan": svod.ExecutionPlan, "model": svod.nn.Module}
    for owner, name in re.findall(r"`(x|y|plan|model)\.(\w+)", " ".join(rows)):
        assert hasattr(owners[owner], name), name


def test_each_file_with_unsafe_blocks_is_said_to_run_under_a_sanitizer() -> None:
    told = (DOCS / "fuzzing.md").read_text()
    for crate in ("device", "runtime", "codegen"):
        for source in (ROOT / "crates" / crate / "src").rglob("*.rs"):
            # The last two names of its path, or the last one beside that of its folder.
            if re.search(r"\bunsafe (\{|impl|fn)", source.read_text()):
                parts = source.relative_to(ROOT / "crates" / crate / "src").with_suffix("").parts
                name = parts[-2] if parts[-1] == "mod" else parts[-1]
                assert re.search(rf"\b{name}(\.rs)?`", told), source


def test_environment_variables_are_those_of_the_sources() -> None:
    variable = re.compile(r"\b((?:SVOD|BEAM)_[A-Z]+(?:_[A-Z]+)*)\b")
    read: set[str] = set()
    for folder, pattern in ((ROOT / "crates", "*.rs"), (ROOT / "python", "*.py")):
        for file in folder.rglob(pattern):
            read |= set(re.findall(r'"((?:SVOD|BEAM)_[A-Z_]+)"', file.read_text()))
    # What svod tells the processes that it starts, and what is fixed when it is built.
    read -= {"SVOD_WORKER", "SVOD_BUILD_ID"}
    told = {name for line in (DOCS / "environment.md").read_text().splitlines() if line.startswith("| `")
            for name in variable.findall(line.split("|")[1])}  # fmt: skip
    assert told == read
    options = {name for line in (DOCS / "environment.md").read_text().splitlines() if line.count("|") == 5
               for name in re.findall(r"`(\w+)`", line.split("|")[4])}  # fmt: skip
    for option in options:
        assert option in (svod.PrepareConfig.__doc__ or ""), option
