"""What Azure's own SDK lets through: the JSON schema of AKS request bodies.

`python aks_schema.py` writes schema.json anew from the typed models of the
installed azure-mgmt-containerservice (the version is in
tests/requirements-clouds.txt); a test compares the two.  `problems()` checks a
body: unknown fields, wrong types and fields that only Azure may write.
"""
import enum
import importlib
import inspect
import json
import pathlib
import sys
import typing

PATH = pathlib.Path(__file__).with_name("schema.json")
ROOTS = ("AgentPool", "AgentPoolDeleteMachinesParameter", "Machine")


def export(sdk="containerservice", roots=ROOTS):
    models = importlib.import_module(f"azure.mgmt.{sdk}.models")
    Model = importlib.import_module(f"azure.mgmt.{sdk}._utils.model_base").Model
    done = {}

    def is_enum(t):
        return inspect.isclass(t) and issubclass(t, enum.Enum)

    def kind(t):
        origin, args = typing.get_origin(t), typing.get_args(t)
        if origin is typing.Union:
            some = [a for a in args if a is not type(None)]
            return kind(next((a for a in some if is_enum(a)), some[-1]))
        if origin is list:
            return {"type": "array", "items": kind(args[0])}
        if origin is dict:
            return {"type": "object", "additionalProperties": kind(args[1])}
        if isinstance(t, typing.ForwardRef):
            t = t.__forward_arg__
        if isinstance(t, str):
            return kind(getattr(models, t.replace("_models.", "").strip('"'), object))
        if is_enum(t):
            return {"type": "string"}
        if inspect.isclass(t) and issubclass(t, Model):
            model(t)
            return {"$ref": t.__name__}
        plain = {int: "integer", str: "string", bool: "boolean", float: "number"}
        return {"type": plain[t]} if t in plain else {}

    def model(c):
        if c.__name__ in done:
            return
        fields = done[c.__name__] = {}
        notes = {}
        for k in reversed(c.__mro__):
            notes.update({a: (v, sys.modules[k.__module__]) for a, v in getattr(k, "__annotations__", {}).items()})
        c()  # the SDK sets its fields up at the first instance
        for name, field in sorted(c._attr_to_rest_field.items()):
            note, module = notes.get(name, (object, None))
            if isinstance(note, str):
                note = eval(note, {**vars(typing), **vars(module), "_models": models, "list": list, "dict": dict})
            fields[field._rest_name] = kind(note)
            if field._visibility == ["read"]:
                fields[field._rest_name]["readOnly"] = True

    for root in roots:
        model(getattr(models, root))
    return done


SCHEMA = json.loads(PATH.read_text()) if PATH.exists() else {}


def _check(value, want, where, out, schema, reply):
    if want.get("readOnly") and not reply:
        out.append(f"{where}: only Azure may write it")
        return
    if "$ref" in want:
        fields = schema[want["$ref"]]
        if not isinstance(value, dict):
            out.append(f"{where}: not an object")
            return
        for key, v in value.items():
            if key in fields:
                _check(v, fields[key], f"{where}.{key}", out, schema, reply)
            else:
                out.append(f"{where}.{key}: no such field")
        return
    kind = want.get("type")
    if kind == "array":
        if not isinstance(value, list):
            out.append(f"{where}: not an array")
            return
        for i, v in enumerate(value):
            _check(v, want["items"], f"{where}[{i}]", out, schema, reply)
    elif kind == "object":
        if not isinstance(value, dict):
            out.append(f"{where}: not an object")
            return
        for key, v in value.items():
            _check(v, want["additionalProperties"], f"{where}.{key}", out, schema, reply)
    else:
        right = {"integer": int, "string": str, "boolean": bool, "number": (int, float)}.get(kind, object)
        if not isinstance(value, right) or (isinstance(value, bool) and kind in ("integer", "number")):
            out.append(f"{where}: {value!r} is no {kind}")


def problems(model, body, schema=SCHEMA, reply=False):
    """What Azure's SDK would not send; or, of a reply, what it would not read."""
    out = []
    _check(body, {"$ref": model}, model, out, schema, reply)
    return out


if __name__ == "__main__":
    PATH.write_text(json.dumps(export(), indent=1, sort_keys=True) + "\n")
