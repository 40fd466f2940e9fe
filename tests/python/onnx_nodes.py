"""The node tests of the package `onnx`: models of one operator, with inputs and the results that are expected.

`python tests/python/onnx_nodes.py` runs them all and writes two tables anew: onnx_left_out.tsv, of the tests that are
left out, each with its reason, and that of operators in docs/onnx.md.
"""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

import svod
import svod.onnx.backend

TABLE = Path(__file__).parent / "onnx_left_out.tsv"
PAGE = Path(__file__).parents[2] / "docs" / "onnx.md"

# Results that differ for a reason, by the names of tests. On another machine they may not.
DIFFERENT = {
    r"bernoulli|training_dropout": "random numbers: the expected ones are those of NumPy's generator",
    r"dft_inverse": "rounding: where the exact result is 0, the expected one is 2e-7",
    r"attention_.*_(bf16|fp16)": "rounding: NumPy rounds narrow floats after each step, in another order",
}


@functools.cache
def cases() -> dict[str, Any]:
    """All tests by name; the package makes them on the fly."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {case.name: case for case in load_model_tests(kind="node")}


def left_out() -> dict[str, str]:
    """The tests that are left out, with the reasons."""
    return dict(line.split("\t") for line in TABLE.read_text().splitlines())


def run(case: Any) -> None:
    """Runs a test: an error where svod refuses the model, or gives another result."""
    svod.manual_seed(0)
    prepared = svod.onnx.backend.prepare(case.model)
    for inputs, expected in case.data_sets:
        given = prepared.run([_array(one) for one in inputs])
        assert len(given) == len(expected), f"{len(given)} results, not {len(expected)}"
        for one, other in zip(given, map(_array, expected)):
            compare(one, other, case.rtol, case.atol)


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def compare(given: Any, expected: Any, rtol: float, atol: float) -> None:
    """As the package's own runner compares, element types included."""
    if expected is None or isinstance(expected, list):
        assert type(given) is type(expected)
        for one, other in zip(given or [], expected or [], strict=True):
            compare(one, other, rtol, atol)
        return
    given, expected = np.asarray(given), np.asarray(expected)
    assert given.dtype == expected.dtype, f"{given.dtype}, not {expected.dtype}"
    assert given.shape == expected.shape, f"{given.shape}, not {expected.shape}"
    if expected.dtype.kind not in "biufc":
        given, expected = given.astype(float), expected.astype(float)
    np.testing.assert_allclose(given, expected, rtol=rtol, atol=atol)


def outcome(case: Any) -> str | None:
    """Why a test fails, in words that stay; none where it passes."""
    try:
        run(case)
    except svod.UnsupportedError as error:
        return re.sub(r"^node .*? \(\w+\): ", "", str(error).split("\n")[0])
    except svod.FormatError as error:
        return re.sub(r"^tensor '.*?': ", "", str(error).split("\n")[0])
    except svod.DTypeError as error:
        found = re.search(r"an array of (\w+)", str(error))
        return f"elements of type {found[1]} are not supported" if found else str(error)
    except AssertionError as error:
        for pattern, reason in DIFFERENT.items():
            if re.search(pattern, case.name):
                return reason
        return " ".join(str(error).split())
    return None


def operators() -> str:
    """The operators as a table: set, name, from which version on, tests that pass and tests that are left out."""
    without = left_out()
    counts: dict[tuple[str, str], list[int]] = {}
    for name, case in cases().items():
        for node in case.model.graph.node[:1] if len(case.model.graph.node) == 1 else []:
            counts.setdefault((node.domain, node.op_type), [0, 0])[name in without] += 1
    first: dict[tuple[str, str], int] = {}
    for domain, op, since in svod.onnx.operators():
        first[domain, op] = min(since, first.get((domain, op), since))
    lines = ["| operator | set | from version | node tests |", "|---|---|---|---|"]
    for (domain, op), since in sorted(first.items()):
        passed, failed = counts.get((domain, op), (0, 0))
        lines.append(f"| {op} | {domain or 'ai.onnx'} | {since} | {passed} of {passed + failed} |")
    return "\n".join(lines)


def with_table(page: str) -> str:
    """The page with its table of operators as it is now."""
    without = left_out()
    summary = (
        f"{len(cases()) - len(without)} of {len(cases())} node tests of the package `onnx` {onnx.__version__} pass."
    )
    return re.sub(
        r"(?s)(<!-- operators -->\n).*(\n<!-- end -->)",
        lambda found: f"{found[1]}{summary}\n\n{operators()}{found[2]}",
        page,
    )


def main() -> None:
    rows = [(name, reason) for name, case in cases().items() if (reason := outcome(case)) is not None]
    TABLE.write_text("".join(f"{name}\t{reason}\n" for name, reason in sorted(rows)))
    PAGE.write_text(with_table(PAGE.read_text()))
    print(f"{len(cases()) - len(rows)} of {len(cases())} pass")


if __name__ == "__main__":
    main()
