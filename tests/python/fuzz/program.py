"""What a program is: inputs and statements, as data and as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fuzz import reference
from fuzz.numbers import Array, storage

if TYPE_CHECKING:
    from fuzz.drawing import Draw

# What an operation is applied to: the numbers of values, and other arguments by name.
Arguments = tuple[tuple[int, ...], dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Operation:
    """A row of the tables: two spellings of one thing, and how its arguments are drawn.

    Spellings are expressions of operands `{0}`, `{1}`, .. and of further arguments by name; `{r}` is the result, where
    statements are needed. One of several ways to spell the same for svod is drawn.
    """

    svod: tuple[str, ...]
    numpy: str
    draw: Callable[[Draw], Arguments | None]
    # The type of the result: that of an operand, of all together, a name of one, ..; see `drawing.result_type`.
    dtype: str = "promoted"
    # The result has no rounding of its own.
    exact: bool = False
    # It has a derivative almost everywhere, that finite differences can check.
    smooth: bool = False
    # It needs values, so that it cannot be in a plan.
    eager: bool = False
    # Extents may be variables.
    symbolic: bool = True


@dataclasses.dataclass(frozen=True)
class Statement:
    """Value `result` is what an operation gives."""

    result: int
    svod: str
    numpy: str
    operands: tuple[int, ...]
    arguments: dict[str, Any]
    dtype: str
    # The type to which operands are brought before NumPy's spelling sees them.
    common: str | None
    # The result has no rounding of its own.
    exact: bool

    def text(self, spelling: str) -> str:
        names = [f"v{i}" for i in self.operands]
        arguments = {name: _literal(value) for name, value in self.arguments.items()}
        text = spelling.format(*names, r=f"v{self.result}", **arguments)
        return text if "{r}" in spelling else f"v{self.result} = {text}"


def _literal(value: Any) -> str:
    """The text of an argument; text stands for itself."""
    if isinstance(value, str):
        return value
    return repr(value).replace("nan", "np.nan").replace("inf", "np.inf") if isinstance(value, float) else repr(value)


@dataclasses.dataclass(frozen=True)
class Program:
    """Inputs, whose contents are given several times, statements, and which values are looked at."""

    # By the number of the value: its type, and an array for each set of contents.
    inputs: dict[int, tuple[str, list[Array]]]
    statements: list[Statement]
    outputs: list[int]
    mode: str
    # What a mode is told besides: numbers drawn for it.
    salt: int
    # The extents that stand for a variable, one for each set of contents; all None without one.
    sizes: tuple[int | None, ...] = (None, None)

    def contents(self, which: int) -> list[Array]:
        """The arrays of one set of contents, as svod gets them."""
        return [np.asarray(arrays[which]).astype(storage(dtype)) for dtype, arrays in self.inputs.values()]

    def pruned(self) -> Program:
        """Without what no output depends on."""
        wanted, kept = set(self.outputs), []
        for statement in reversed(self.statements):
            if statement.result in wanted:
                wanted.update(statement.operands)
                kept.append(statement)
        inputs = {i: given for i, given in self.inputs.items() if i in wanted}
        return dataclasses.replace(self, inputs=inputs, statements=kept[::-1])

    def dtype(self, i: int) -> str:
        """The type of a value."""
        return self.inputs[i][0] if i in self.inputs else next(s.dtype for s in self.statements if s.result == i)

    def names(self) -> list[str]:
        return [f"v{i}" for i in self.inputs]

    def text(self, svod: bool = True) -> str:
        """The program as a function `program` of its inputs."""
        lines = [f"def program({', '.join(self.names())}):"]
        lines += [s.text(s.svod if svod else s.numpy) for s in self.statements]
        lines.append(f"return [{', '.join(f'v{i}' for i in self.outputs)}]")
        return "\n    ".join(lines) + "\n"

    def function(self, svod: bool = True) -> Callable[..., list[Any]]:
        space: dict[str, Any] = {"np": np, "R": reference, "storage": storage}
        if svod:
            import svod as module

            space |= {"svod": module, "F": module.nn.functional}
        exec(compile(self.text(svod), "<program>", "exec"), space)
        function: Callable[..., list[Any]] = space["program"]
        return function

    def script(self) -> str:
        """What one needs to see the fault: inputs, the program, and how it was run."""
        lines = ["import numpy as np", "import svod", "F = svod.nn.functional", ""]
        for i, (dtype, arrays) in self.inputs.items():
            for which, array in enumerate(arrays):
                text = np.array2string(
                    np.asarray(array), separator=",", threshold=1 << 30, floatmode="unique", max_line_width=118
                )
                text = text.replace("nan", "np.nan").replace("inf", "np.inf")
                lines.append(f'v{i}_{which} = svod.Tensor(np.array({text}).reshape({array.shape}), dtype="{dtype}")')
        lines += ["", self.text(), f"# mode: {self.mode}, salt: {self.salt}, sizes: {self.sizes}"]
        return "\n".join(lines)
