"""Examples for the reference of what has none in its docstring, run when the site is built.

Each namespace has a file of lines. A line begins with a name; behind it are statements and, last, an expression whose
value is shown, with semicolons between them.
"""

from __future__ import annotations

from pathlib import Path


def by_name() -> dict[str, list[str]]:
    """The statements of each name's example, by its path."""
    found = {}
    for file in sorted(Path(__file__).parent.glob("*.txt")):
        for line in file.read_text().splitlines():
            name, _, code = line.partition(" ")
            found[f"{file.stem}.{name}"] = code.split("; ")
    return found


def session(statements: list[str]) -> str:
    """The statements as at the prompt, and what the last one gives."""
    scope: dict[str, object] = {}
    exec("import svod", scope)
    for statement in statements[:-1]:
        exec(statement, scope)
    value = eval(statements[-1], scope)
    return "\n".join([*(f">>> {statement}" for statement in statements), repr(value)])
