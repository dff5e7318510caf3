#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print the JSON Schema of the lines of 'twheelctl --json', from schema.toml beside this file."""

import json
import pathlib
import re
import tomllib

TABLE = tomllib.loads(pathlib.Path(__file__).with_name("schema.toml").read_text(encoding="utf-8"))


def reference(name):
    return {"$ref": f"#/$defs/{name}"}


def type_of(text):
    """The schema of a type, see schema.toml."""
    if text.endswith("[]"):
        return {"type": "array", "items": type_of(text[:-2])}
    names = text.split("|")
    if names[-1] == "null":
        return {"type": names}
    if len(names) > 1:
        return {"enum": names}
    return {"type": text} if text in ("boolean", "string") else reference(text)


def field(value):
    """Return the schema of a field, and whether it is optional."""
    if isinstance(value, dict):
        return value, value.pop("optional", False)
    kind, optional, text = re.fullmatch(r"(\S+?)(\??)(?: (.*))?", value).groups()
    return ({"description": text} if text else {}) | type_of(kind), bool(optional)


def record(entry, name=None):
    """The schema of an object. With a name, it is a line, and that is its type."""
    fields = {name: field(value) for name, value in entry.pop("fields", {}).items()}
    required = [name for name, (_, optional) in fields.items() if not optional]
    optional = [name for name, (_, optional) in fields.items() if optional]
    base = entry.pop("base", None)
    found = {"description": entry.pop("description")} | (reference(base) if base else {"type": "object"})
    found["properties"] = {"type": {"const": name}} if name else {}
    found["properties"] |= {name: value for name, (value, _) in fields.items()}
    found["required"] = (["type"] if name else []) + entry.pop("required", []) + required
    if entry.pop("together", False):
        found["dependentRequired"] = {optional[0]: optional[1:]}
    return found | entry


LINES = {name: record(entry, name) for name, entry in TABLE["line"].items()}
print(json.dumps({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "JSON of twheelctl",
    "description": "A line of twheelctl --json. A later release may add types, fields and values.",
    "oneOf": [reference(name) for name in LINES],
    "$defs": TABLE["type"] | {name: record(part) for name, part in TABLE["part"].items()} | LINES,
}, indent="\t"))
