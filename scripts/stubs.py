"""Writes what the stubs say of methods and functions that tables make: those of the compiled module, and the library's.

In `python/svod/_svod.pyi` what is written by hand stays; what the module has and the hand-written part lacks goes
behind the two markers, one at the end of the class `Tensor`, one at the end of the file; that of `svod.library` is
written as a whole. `tests/python/test_stubs.py` compares both with the modules, and says whether this is to be run.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import svod
from svod import _svod
from svod.library._table import FUNCTIONS, METHODS

PACKAGE = Path(__file__).parents[1] / "python/svod"
STUB = PACKAGE / "_svod.pyi"
LIBRARY = PACKAGE / "library/__init__.pyi"
LIBRARY_BEGINS = '''"""What the table of the library makes; written by scripts/stubs.py."""

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from svod._svod import DType, Generator, Tensor, ValuesAndIndices, _ArrayLike, _Axis, _DTypeLike, _Extent, _Operand
from svod.library.dtypes import FloatInfo, IntegerInfo
from svod.library.factorizations import SVD
from svod.library.namespace import NamespaceInfo
from svod.library.packed import LU, Reflections
from svod.library.reductions import MinMax
from svod.library.sets import UniqueAll, UniqueCounts, UniqueInverse
from svod.linalg import QRResult, SlogdetResult

'''
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
        "scatter",
        "scatter_add",
        "scatter_reduce",
        "shard",
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
    **dict.fromkeys(("max", "min", "cummax", "cummin", "median", "kthvalue", "nonzero"), "Any"),
    **dict.fromkeys(("sort", "topk"), "ValuesAndIndices"),
    **dict.fromkeys(("split", "chunk"), "list[Tensor]"),
    "is_complex": "builtins.bool",
}

TYPES = {
    "axes": "builtins.int | Sequence[builtins.int]",
    "chunks": "_Extent",
    "correction": "builtins.float",
    "decimals": "builtins.int",
    "devices": "Sequence[str] | str",
    "dims": "builtins.int | Sequence[builtins.int]",
    "dtype": "_DTypeLike | None",
    "eps": "builtins.float",
    "index": "_ArrayLike",
    "indices": "_ArrayLike",
    "k": "_Extent",
    "length": "_Extent",
    "output_size": "_Extent",
    "p": "builtins.float",
    "reduce": "str",
    "repeats": "_Extent | _ArrayLike",
    "shifts": "_Extent | Sequence[_Extent]",
    "size": "builtins.int",
    "sizes": "Sequence[_Extent]",
    "source": "_ArrayLike",
    "split_size": "_Extent | Sequence[_Extent]",
    "start": "_Extent",
    "step": "builtins.int",
    "tensors": "Sequence[_ArrayLike]",
}
FLAGS = {"as_tuple", "descending", "include_self", "keepdim", "keepdims", "largest", "sorted", "stable", "unbiased"}


def type_of(function: str, parameter: str) -> str:
    """The type of a parameter of this name."""
    if (function, parameter) == ("narrow", "start"):
        return "_Extent | Tensor"
    if parameter in FLAGS:
        return "builtins.bool"
    if parameter.rstrip("01") in ("axis", "dim"):
        return "builtins.int | None" if function in ONE_AXIS else "_Axis"
    return TYPES.get(parameter, "_Operand")


def annotated(text: str, given: bool) -> str:
    """The type of a parameter or result of the library, as its file writes it, for the stub."""
    text = re.sub(r"\bShape\b", "int | Sequence[int]", text)
    text = re.sub(r"\bAxis\b", "_Axis", text)
    text = re.sub(r"\b(int|float|bool|complex|str|type|object)\b", r"builtins.\1", text)
    return re.sub(r"^Tensor( \| None)?$", r"_Operand\1", text) if given else text


def written_of_library(name: str, item: Any, method: bool) -> str:
    """The declaration of a function or method of the library."""
    signature = inspect.signature(item)
    parameters = [one.replace(annotation=said_of(name, one)) for one in signature.parameters.values()]
    if method:
        # Under its own name, which stubtest compares.
        parameters[0] = parameters[0].replace(annotation=inspect.Parameter.empty)
    # What is forwarded to the compiled module has no annotations of its own.
    bare = signature.return_annotation is inspect.Signature.empty
    result = RESULTS.get(name, "Tensor") if bare else annotated(signature.return_annotation, False)
    return laid_out(name, item, signature.replace(parameters=parameters), result, method)


def said_of(function: str, parameter: inspect.Parameter) -> str:
    """The type of a parameter: what its annotation says, or, without one, what its name does."""
    if parameter.annotation is inspect.Parameter.empty:
        kind = type_of(function.rstrip("_"), parameter.name)
    else:
        kind = annotated(parameter.annotation, True)
    return kind if parameter.default is not None or "None" in kind or kind in ("_Axis", "Any") else f"{kind} | None"


def written(name: str, item: Any, method: bool) -> str:
    """The declaration of a function or method."""
    if inspect.isfunction(item):
        return written_of_library(name, item, method)
    signature = inspect.signature(item)
    parameters = []
    for one in signature.parameters.values():
        is_self = method and one.name == "self"
        parameters.append(one if is_self else one.replace(annotation=said_of(name, one)))
    result = "Self" if method and name.endswith("_") else RESULTS.get(name, "Tensor")
    return laid_out(name, item, signature.replace(parameters=parameters), result, method)


def laid_out(name: str, item: Any, signature: inspect.Signature, result: str, method: bool) -> str:
    """A declaration as text."""
    bare = signature.replace(return_annotation=inspect.Signature.empty)
    made = re.sub(r": '([^']*)'", r": \1", str(bare))
    doc = "\n".join(textwrap.fill(line, 110) for line in (inspect.getdoc(item) or "").splitlines())
    quoted = f'"""{doc}"""' if "\n" not in doc else f'"""{doc}\n"""'
    body = f"def {name}{made} -> {result}:\n{textwrap.indent(quoted, '    ')}"
    return textwrap.indent(body, "    ") if method else body


def declared(text: str, indent: str) -> set[str]:
    """The functions that a part of the stub declares."""
    return set(re.findall(rf"^{indent}def (\w+)", text, re.MULTILINE))


def compiled() -> str:
    """The stub of the compiled module."""
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
        given = METHODS if method else ()
        public = [name for name in sorted(vars(owner)) if not name.startswith("_") or name in given]
        missing = [name for name in public if name not in have]
        items = [(name, getattr(owner, name)) for name in missing]
        parts.append([written(name, item, method) for name, item in items if inspect.isroutine(item)])
    methods, functions = ("\n".join(part) for part in parts)
    return f"{before}    {in_class}\n{methods}\n\n{after.rstrip()}\n\n{in_file}\n{functions}\n"


def library() -> str:
    """The stub of the library's functions."""
    # Numbers in names count as such: `log2_` comes before `log10_`.
    names = sorted(FUNCTIONS, key=lambda name: [int(one) if one.isdigit() else one for one in re.split(r"(\d+)", name)])
    listed = "".join(f'    "{name}",\n' for name in names)
    of_layers = [name for name in names if FUNCTIONS[name].file == "nn.functional"]
    imported = f"from svod.nn.functional import {', '.join(of_layers)}"
    declared = [written_of_library(name, getattr(svod, name), False) for name in names if name not in of_layers]
    return f"{LIBRARY_BEGINS.rstrip()}\n{imported}\n\n__all__ = [\n{listed}]\n\n" + "\n\n".join(declared) + "\n"


def formatted(text: str) -> str:
    """As ruff lays a stub out."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "stub.pyi", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def stubs() -> dict[Path, str]:
    """The files, and what they should say."""
    return {STUB: formatted(compiled()), LIBRARY: formatted(library())}


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
