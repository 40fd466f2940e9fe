"""The reference: a page for each subject and module, made from signatures and docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable
from types import ModuleType
from typing import ForwardRef, get_origin, is_typeddict

import svod
from pages.examples import by_name, session
from pages.subjects import names

# Modules that have a page of their own.
MODULES = (
    "svod.linalg",
    "svod.fft",
    "svod.nn",
    "svod.nn.functional",
    "svod.nn.init",
    "svod.nn.utils",
    "svod.optim",
    "svod.optim.lr_scheduler",
    "svod.models",
    "svod.onnx",
    "svod.torch",
    "svod.analysis",
)
_EXAMPLES = by_name()

# Modules that need what the machine may lack, and the page that tells of them then.
OPTIONAL = {"svod.torch": "../torch.md"}


def pages() -> dict[str, str]:
    """The pages by their paths within the documentation."""
    subjects = names()
    made = {f"reference/{slug(title)}.md": subject_page(title, listed) for title, listed in subjects.items()}
    made |= {f"reference/{module}.md": module_page(module) for module in MODULES}
    made["reference/svod.Tensor.md"] = tensor_page(subjects)
    made["reference/index.md"] = index_page(subjects)
    return made


def slug(title: str) -> str:
    """The name of a page's file."""
    return re.sub(r"[^a-z]+", "-", title.lower())


def index_page(subjects: dict[str, list[str]]) -> str:
    lines = [
        "# Reference",
        "",
        "Each function and class, with what it takes and gives and an example.",
        "",
        f"[Methods of `Tensor`](svod.Tensor.md): {len(methods())} of them; those that are functions of `svod` too have "
        "the same name there.",
        "",
        "| functions of `svod` | |",
        "|---|---|",
    ]
    for title, listed in subjects.items():
        lines.append(f"| [{title}]({slug(title)}.md) | {' '.join(f'`{name}`' for name in listed)} |")
    lines += ["", "| modules | |", "|---|---|"]
    for name in MODULES:
        module = loaded(name)
        lines.append(f"| [`{name}`]({name}.md) | {first_line(module) if module else ''} |")
    return "\n".join(lines) + "\n"


def loaded(name: str) -> ModuleType | None:
    """A module; none if it may lack what it needs, and does."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        if name not in OPTIONAL:
            raise
        return None


def subject_page(title: str, listed: Iterable[str]) -> str:
    parts = [f"# {title}", ""]
    for name in listed:
        thing = getattr(svod, name)
        if inspect.isclass(thing) and name != "Tensor":
            parts += class_entry(f"svod.{name}", name, thing)
        elif name == "Tensor":
            parts += ["## Tensor", "", markdown(inspect.getdoc(thing) or ""), "", "[Its methods](svod.Tensor.md)", ""]
        elif callable(thing):
            parts += entry(f"svod.{name}", name, thing, "##")
        else:
            parts += constant_entry(name, thing)
    return "\n".join(parts)


def constant_entry(name: str, thing: object) -> list[str]:
    text = inspect.getdoc(thing) if isinstance(thing, svod.DType) else None
    return [f"## {name}", "", f"`svod.{name}`: {(text or f'`{thing!r}`').splitlines()[0]}", ""]


def module_page(name: str) -> str:
    module = loaded(name)
    if module is None:
        return f"# {name}\n\nThis site was built where `{name}` cannot be loaded: see [its page]({OPTIONAL[name]}).\n"
    parts = [f"# {name}", "", markdown(inspect.getdoc(module) or ""), ""]
    for public in sorted(getattr(module, "__all__", ()), key=str.lower):
        thing = getattr(module, public)
        if inspect.ismodule(thing):
            continue
        if is_typeddict(thing):
            fields = [f"    {field}: {shown(kind)}" for field, kind in thing.__annotations__.items()]
            parts += [f"## {public}", "", "```python", f"class {public}(TypedDict):", *fields, "```", ""]
            parts += [markdown(inspect.cleandoc(vars(thing).get("__doc__") or text_behind(module, public))), ""]
        elif get_origin(thing):
            parts += [f"## {public}", "", "```python", f"{public} = {shown(thing)}", "```", ""]
            parts += [markdown(text_behind(module, public)), ""]
        else:
            maker = class_entry if inspect.isclass(thing) else entry
            parts += maker(f"{name}.{public}", public, thing)
    return "\n".join(parts)


def shown(kind: object) -> str:
    """A type as it is written."""
    if isinstance(kind, ForwardRef):
        return kind.__forward_arg__
    return kind.__name__ if inspect.isclass(kind) else re.sub(r"(typing|svod\.analysis)\.", "", str(kind))


def text_behind(module: ModuleType, name: str) -> str:
    """What follows the assignment of a type's name in its module, which Python does not keep."""
    body = ast.parse(inspect.getsource(module)).body
    for at, statement in enumerate(body):
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
        if [ast.unparse(target) for target in targets] == [name]:
            return ast.literal_eval(body[at + 1].value)
    raise LookupError(f"{module.__name__} has no text of {name}")


def methods() -> list[str]:
    """The public methods and attributes of `Tensor`."""
    return sorted((name for name in dir(svod.Tensor) if not name.startswith("_")), key=str.lower)


def tensor_page(subjects: dict[str, list[str]]) -> str:
    """Those that are functions too in one table; the others each with its text."""
    pages = {name: slug(title) for title, listed in subjects.items() for name in listed}
    shared = [name for name in methods() if name in pages]
    assign = [name for name in methods() if name.endswith("_") and name[:-1] in methods()]
    own = [name for name in methods() if name not in pages and name not in assign]
    parts = ["# Methods of Tensor", "", markdown(inspect.getdoc(svod.Tensor) or ""), ""]
    parts += [
        "## Functions that are methods too",
        "",
        "`x.name(…)` is `svod.name(x, …)`. Where PyTorch has a method of the",
    ]
    parts += ["name, it takes what that method takes, in that order.", "", "| method | |", "|---|---|"]
    for name in shared:
        told = first_line(getattr(svod.Tensor, name))
        parts.append(f"| [`{name}`]({pages[name]}.md#{name.lower()}) | {told} |")
    parts += ["", "## Methods that assign", ""]
    parts += ["`x.name_(…)` computes `x.name(…)`, assigns it to `x`, and gives `x`:", ""]
    parts += [" ".join(f"`{name}`" for name in assign), ""]
    parts += ["## Methods and attributes", "", "Those that are methods only.", ""]
    for name in own:
        parts += entry(f"x.{name}", name, getattr(svod.Tensor, name), "###")
    return "\n".join(parts)


def class_entry(path: str, name: str, thing: type) -> list[str]:
    """The class, and its methods that have a text; errors have none of their own."""
    parts = entry(path, name, thing, "##")
    if issubclass(thing, BaseException):
        return parts
    for public, member in sorted(vars(thing).items()):
        if not public.startswith("_") and inspect.getdoc(member):
            parts += entry(f"{name}.{public}", f"{name}.{public}", getattr(thing, public), "###")
    return parts


def entry(path: str, name: str, thing: object, level: str = "##") -> list[str]:
    """A heading, what a call looks like, and the docstring, with an example."""
    text = inspect.getdoc(thing) or ""
    parts = [f"{level} {name}", "", "```python", f"{path}{signature(thing)}", "```", "", markdown(text), ""]
    # A function of layers that `svod` has too has the same example.
    statements = _EXAMPLES.get(path) or _EXAMPLES.get(f"svod.{name}" if path.startswith("svod.nn.functional.") else "")
    if statements and ">>>" not in text:
        parts += ["```pycon", session(statements), "```", ""]
    return parts


def signature(thing: object) -> str:
    """The parameters of a function or class; of what is an attribute, nothing."""
    if not callable(thing):
        return ""
    try:
        text = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "(…)"
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return re.sub(r"\((self|cls)(, /)?(, )?", "(", text, count=1)


def first_line(thing: object) -> str:
    """The first sentence of a docstring, for a row of a table."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.:]) (?=[A-Z`])", text)[0]
    return escaped(sentence).replace("|", "\\|")


def markdown(text: str) -> str:
    """A docstring as Markdown: its examples become blocks."""
    lines, within = [], False
    for line in text.splitlines():
        begins = line.startswith(">>> ")
        if begins and not within:
            lines += ["", "```pycon"]
        elif within and not line.strip():
            lines.append("```")
        within = begins or (within and bool(line.strip()))
        lines.append(line if within else escaped(line))
    return "\n".join([*lines, "```"] if within else lines)


def escaped(line: str) -> str:
    """A line whose signs outside of code are no HTML."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)
