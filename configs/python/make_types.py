#!/usr/bin/env python3
"""Writes davit/types.py from docs/openapi.json.

usage: make_types.py [--check]     --check: says whether it is up to date, changes nothing
"""
import json
import keyword
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1] / "docs" / "openapi.json"
TARGET = HERE / "davit" / "types.py"
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
HEAD = '''"""The JSON of Davit's REST API as types.

Written by make_types.py from docs/openapi.json; change that.  Times are texts
in RFC 3339, UTC; prices US dollars an hour; memory is in bytes.
"""
from typing import Any, Dict, List, Literal, Optional, TypedDict, Union
'''


class Types:
    def __init__(self, schemas):
        self.schemas, self.lines = schemas, []
        for name, schema in schemas.items():
            if is_record(schema):
                self.record(name, schema)
            else:
                self.lines += ["", f"{name} = {self.of(schema, name)}"]

    def of(self, schema, name):
        """The type of one schema; a record in it gets the name `name`."""
        if "$ref" in schema:
            whole, *inside = schema["$ref"].split("/schemas/")[1].split("/properties/")  # or a record in one
            return f'"{whole}{"".join(map(title, inside))}"'
        if "anyOf" in schema:
            return union([self.of(s, name) for s in schema["anyOf"]])
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(v) for v in schema['enum'])}]"
        kinds = schema.get("type", "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return union([self.one(k, schema, name) for k in kinds])

    def one(self, kind, schema, name):
        if kind == "array":
            return f"List[{self.of(schema['items'], name)}]" if "items" in schema else "List[Any]"
        if kind == "object" and is_record(schema):
            self.record(name, schema)
            return f'"{name}"'
        if kind == "object":
            more = schema.get("additionalProperties")
            inner = self.of(more, f"{name}Value") if isinstance(more, dict) and "properties" not in schema else "Any"
            return f"Dict[str, {inner}]"
        return PLAIN.get(kind, "Any")

    def record(self, name, schema):
        """A TypedDict; what may be absent is in a second one on top of it."""
        need, may = [], []
        for key, s in schema["properties"].items():
            (need if key in schema.get("required", ()) else may).append((key, self.of(s, name + title(key))))
        if may:
            if need:
                self.dict(f"_{name}", "TypedDict", need)
            self.dict(name, f"_{name}" if need else "TypedDict", may, ", total=False")
        else:
            self.dict(name, "TypedDict", need)

    def dict(self, name, base, fields, total=""):
        if base == "TypedDict" and not total and any(keyword.iskeyword(k) for k, _ in fields):
            self.lines += ["", f'{name} = TypedDict("{name}", {{'] + [f'    "{k}": {t},' for k, t in fields] + ["})"]
        else:
            self.lines += ["", "", f"class {name}({base}{total}):"] + [f"    {k}: {t}" for k, t in fields] + [""]


def is_record(schema):
    """Its keys are known, and it has no others."""
    return bool(schema.get("properties")) and schema.get("additionalProperties") in (None, False)


def union(kinds):
    kinds = list(dict.fromkeys(kinds))
    if "Any" in kinds:
        return "Any"
    if len(kinds) == 2 and "None" in kinds:
        return f"Optional[{next(k for k in kinds if k != 'None')}]"
    return kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]"


def title(key):
    return "".join(w.capitalize() for w in key.split("_"))


def text():
    with open(SOURCE, encoding="utf-8") as f:
        lines = Types(json.load(f)["components"]["schemas"]).lines
    body = "\n".join(lines)
    while "\n\n\n\n" in body:
        body = body.replace("\n\n\n\n", "\n\n\n")
    return HEAD + body.rstrip() + "\n"


def main(argv):
    new = text()
    if argv[1:] == ["--check"]:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == new
        print("types: davit/types.py is that of docs/openapi.json" if same else
              "types: docs/openapi.json has changed: run configs/python/make_types.py")
        return 0 if same else 1
    TARGET.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
