"""Writes crates/onnx/src/schemas.tsv anew: what ONNX's operators take, by the package `onnx`.

A line for each version of an operator that differs from the one before: set, operator, version, the least number of
operands and their types, the same of results, attributes with the letters of their kinds. `?` is what may be left
out, `*` any number of one type, `~` any number of any types, `-` what is no tensor, `!` an attribute that has to be
given.
"""

from __future__ import annotations

from pathlib import Path

import onnx.defs

import svod.onnx

PAGE = Path(__file__).parents[1] / "crates" / "onnx" / "src" / "schemas.tsv"

KINDS = {
    "FLOAT": "f",
    "INT": "i",
    "STRING": "s",
    "TENSOR": "t",
    "GRAPH": "g",
    "FLOATS": "F",
    "INTS": "I",
    "STRINGS": "S",
    "SPARSE_TENSOR": "p",
    "TYPE_PROTO": "y",
}


def _type(schema: onnx.defs.OpSchema, name: str) -> str:
    """An element type, the name of a type variable, or `-`."""
    allowed = {one.type_param_str: one.allowed_type_strs for one in schema.type_constraints}.get(name, [name])
    if len(allowed) > 1:
        return name
    only = allowed[0]
    return only[len("tensor(") : -1] if only.startswith("tensor(") else "-"


def _formal(schema: onnx.defs.OpSchema, least: int, parameters: list[onnx.defs.OpSchema.FormalParameter]) -> str:
    found = []
    for one in parameters:
        option = one.option.name
        mark = {"Single": "", "Optional": "?", "Variadic": "*" if one.is_homogeneous else "~"}[option]
        found.append(mark + _type(schema, one.type_str))
    return " ".join([str(least), *found])


def _row(schema: onnx.defs.OpSchema) -> list[str]:
    attributes = [
        f"{name}:{KINDS[one.type.name]}{'!' if one.required else ''}" for name, one in sorted(schema.attributes.items())
    ]
    return [
        _formal(schema, schema.min_input, schema.inputs),
        _formal(schema, schema.min_output, schema.outputs),
        " ".join(attributes),
    ]


def main() -> None:
    first: dict[tuple[str, str], int] = {}
    for domain, op, since in svod.onnx.operators():
        first[domain, op] = min(since, first.get((domain, op), since))
    schemas = [
        schema
        for schema in onnx.defs.get_all_schemas_with_history()
        if (schema.domain, schema.name) in first and not schema.deprecated
    ]
    rows: dict[tuple[str, str], list[tuple[int, list[str]]]] = {}
    for schema in sorted(schemas, key=lambda schema: (schema.domain, schema.name, schema.since_version)):
        known = rows.setdefault((schema.domain, schema.name), [])
        row = _row(schema)
        if not known or known[-1][1] != row:
            known.append((schema.since_version, row))
    lines = []
    for (domain, op), versions in rows.items():
        since = first[domain, op]
        start = max((version for version, _ in versions if version <= since), default=0)
        lines += ["\t".join([domain, op, str(version), *row]) for version, row in versions if version >= start]
    PAGE.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} rows, {PAGE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
