"""Writes what `python/svod/_svod.pyi` says of methods and functions that tables of the compiled module make.

What is written by hand stays; what the module has and the hand-written part lacks goes behind the two markers, one at
the end of the class `Tensor`, one at the end of the file. `tests/python/test_stubs.py` compares all with the module.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

from svod import _svod

STUB = Path(__file__).parents[1] / "python/svod/_svod.pyi"
MARKER = "# Written by scripts/stubs.py, from here to the end of the {}.\n"

# Operations along one axis; others take several.
ONE_AXIS = frozenset(
    [
        "argmax",
        "argmin",
        "argsort",
        "cat",
        "chunk",
        "cummax",
        "cummin",
        "cumprod",
        "cumsum",
        "gather",
        "index_add",
        "index_copy",
        "index_select",
        "kthvalue",
        "log_softmax",
        "median",
        "narrow",
        "normalize",
        "repeat_interleave",
        "roll",
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "shard",
        "size",
        "softmax",
        "sort",
        "split",
        "stack",
        "swapaxes",
        "take",
        "take_along_dim",
        "topk",
        "transpose",
        "unflatten",
        "unfold",
        "unsqueeze",
    ]
)
# Of others it is a tensor. Extremes give a pair where PyTorch's name of the axis is used, else values.
RESULTS = {
    **dict.fromkeys(("max", "min", "cummax", "cummin", "median", "kthvalue", "nonzero", "size"), "Any"),
    **dict.fromkeys(("sort", "topk"), "ValuesAndIndices"),
    **dict.fromkeys(("split", "chunk"), "list[Tensor]"),
}

TYPES = {
    "chunks": "_Extent",
    "correction": "builtins.float",
    "devices": "Sequence[str] | str",
    "dims": "builtins.int | Sequence[builtins.int]",
    "dtype": "_DTypeLike | None",
    "eps": "builtins.float",
    "index": "_ArrayLike",
    "indices": "_ArrayLike",
    "k": "_Extent",
    "length": "_Extent",
    "p": "builtins.float",
    "reduce": "str",
    "repeats": "_Extent | _ArrayLike",
    "shifts": "_Extent",
    "size": "builtins.int",
    "sizes": "Sequence[_Extent]",
    "source": "_ArrayLike",
    "split_size": "_Extent | Sequence[_Extent]",
    "start": "_Extent",
    "step": "builtins.int",
    "tensors": "Sequence[_ArrayLike]",
}
FLAGS = {"as_tuple", "descending", "include_self", "keepdim", "keepdims", "largest", "sorted", "stable"}


def type_of(function: str, parameter: str) -> str:
    """The type of a parameter of this name."""
    if parameter in FLAGS:
        return "builtins.bool"
    if parameter.rstrip("01") in ("axis", "dim"):
        return "builtins.int | None" if function in ONE_AXIS else "_Axis"
    return TYPES.get(parameter, "_Operand")


def written(name: str, item: Any, method: bool) -> str:
    """The declaration of a function or method."""
    signature = inspect.signature(item)
    parameters = []
    for one in signature.parameters.values():
        is_self = method and one.name == "self"
        kind = inspect.Parameter.empty if is_self else type_of(name, one.name)
        if not is_self and one.default is None and "None" not in kind and kind != "_Axis":
            kind += " | None"
        parameters.append(one.replace(annotation=kind))
    made = re.sub(r"'([^']*)'", r"\1", str(signature.replace(parameters=parameters)))
    doc = "\n".join(textwrap.fill(line, 110) for line in (inspect.getdoc(item) or "").splitlines())
    quoted = f'"""{doc}"""' if "\n" not in doc else f'"""{doc}\n"""'
    result = "Self" if method and name.endswith("_") else RESULTS.get(name, "Tensor")
    body = f"def {name}{made} -> {result}:\n{textwrap.indent(quoted, '    ')}"
    return textwrap.indent(body, "    ") if method else body


def declared(text: str, indent: str) -> set[str]:
    """The functions that a part of the stub declares."""
    return set(re.findall(rf"^{indent}def (\w+)", text, re.MULTILINE))


def main() -> None:
    """Writes both parts anew."""
    in_class, in_file = (MARKER.format(of) for of in ("class", "file"))
    before, _, rest = STUB.read_text().partition("    " + in_class)
    after_class = re.search(r"^\S", rest, re.MULTILINE)
    after = rest[after_class.start() :].partition(in_file)[0] if after_class else ""
    start = before.index("\nclass Tensor:")
    parts = []
    for owner, have, method in (
        (_svod.Tensor, declared(before[start:], "    "), True),
        (_svod, declared(before[:start] + after, ""), False),
    ):
        missing = [name for name in sorted(vars(owner)) if not name.startswith("_") and name not in have]
        items = [(name, getattr(owner, name)) for name in missing]
        parts.append([written(name, item, method) for name, item in items if inspect.isroutine(item)])
    methods, functions = ("\n".join(part) for part in parts)
    STUB.write_text(f"{before}    {in_class}\n{methods}\n\n{after.rstrip()}\n\n{in_file}\n{functions}\n")


if __name__ == "__main__":
    main()
