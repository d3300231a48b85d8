"""Google's discovery documents as a judge of requests and replies.

The documents are those that google-api-python-client ships.  check() says what
is wrong with a request, reply_check() with a reply of our own test server: a
fake that answers what Google never would tests nothing.
"""
import glob
import json
import os
import re
import urllib.parse

import googleapiclient

DOCS = os.path.join(os.path.dirname(googleapiclient.__file__), "discovery_cache", "documents")
OUTPUT_ONLY = ("output only", "[output only]")


class Api:
    def __init__(self, name):
        paths = glob.glob(os.path.join(DOCS, name + ".json"))
        assert paths, f"google-api-python-client ships no {name}"
        with open(paths[0]) as f:
            self.doc = json.load(f)
        self.methods = []
        self.walk(self.doc)

    def walk(self, node):
        for m in node.get("methods", {}).values():
            path = "/" + self.doc["servicePath"] + m.get("flatPath", m["path"])
            parts = re.split(r"\{(\w+)\}", path)
            rx = "".join(re.escape(t) if i % 2 == 0 else f"(?P<{t}>[^/:?]+)" for i, t in enumerate(parts))
            self.methods.append((m["httpMethod"], re.compile(rx), m))
        for r in node.get("resources", {}).values():
            self.walk(r)

    def find(self, method, path):
        for http, rx, m in self.methods:
            got = rx.fullmatch(path)
            if got and http == method:
                return m, got.groupdict()
        return None, None

    # ---- values against schemas; reply: output-only fields are fine

    def value(self, v, schema, at, wrong, reply=False):
        if "$ref" in schema:
            schema = self.doc["schemas"][schema["$ref"]]
        kind = schema.get("type")
        if v is None:
            wrong.append(f"{at}: null")
        elif kind == "object":
            self.fields(v, schema, at, wrong, reply)
        elif kind == "array":
            if not isinstance(v, list):
                wrong.append(f"{at}: expected an array, got {v!r:.60}")
            else:
                for i, x in enumerate(v):
                    self.value(x, schema["items"], f"{at}[{i}]", wrong, reply)
        else:
            self.scalar(v, kind, schema, at, wrong)

    def fields(self, v, schema, at, wrong, reply):
        if not isinstance(v, dict):
            wrong.append(f"{at}: expected an object, got {v!r:.60}")
            return
        known, more = schema.get("properties"), schema.get("additionalProperties")
        for k, x in v.items():
            if known and k in known:
                text = known[k].get("description", "").lower()
                if not reply and (known[k].get("readOnly") or text.startswith(OUTPUT_ONLY)):
                    wrong.append(f"{at}.{k}: output-only in a request")
                self.value(x, known[k], f"{at}.{k}", wrong, reply)
            elif more:
                self.value(x, more, f"{at}.{k}", wrong, reply)
            else:
                wrong.append(f"{at}.{k}: unknown field")

    def scalar(self, v, kind, schema, at, wrong):
        form = schema.get("format")
        if kind == "string" and form in ("int64", "uint64"):
            if not (isinstance(v, str) and re.fullmatch(r"-?\d+", v)):
                wrong.append(f"{at}: {form} is a decimal string, got {v!r}")
        elif kind == "string":
            if not isinstance(v, str):
                wrong.append(f"{at}: expected a string, got {v!r:.60}")
            elif "enum" in schema and v not in schema["enum"]:
                wrong.append(f"{at}: {v!r} is not in the enum")
        elif kind == "integer":
            if not isinstance(v, int) or isinstance(v, bool):
                wrong.append(f"{at}: expected an integer, got {v!r}")
            elif form == "int32" and not -2**31 <= v < 2**31:
                wrong.append(f"{at}: not an int32")
        elif kind == "boolean" and not isinstance(v, bool):
            wrong.append(f"{at}: expected a boolean, got {v!r}")
        elif kind == "number" and (not isinstance(v, (int, float)) or isinstance(v, bool)):
            wrong.append(f"{at}: expected a number, got {v!r}")

    # ---- whole requests

    def query(self, pairs, m, wrong):
        mine = {k: v for k, v in m.get("parameters", {}).items() if v.get("location") == "query"}
        allowed = {**self.doc["parameters"], **mine}
        for k, v in pairs:
            p = allowed.get(k)
            if p is None:
                wrong.append(f"query {k}: unknown")
            elif p.get("type") == "integer" and not re.fullmatch(r"-?\d+", v):
                wrong.append(f"query {k}: not an integer: {v!r}")
            elif p.get("type") == "boolean" and v not in ("true", "false"):
                wrong.append(f"query {k}: not a boolean: {v!r}")
            elif p.get("type") == "integer" and not (int(p.get("minimum", -2**63)) <= int(v) <=
                                                     int(p.get("maximum", 2**63))):
                wrong.append(f"query {k}: out of range: {v}")
        given = {k for k, _ in pairs}
        wrong += [f"query {k}: required" for k, v in mine.items() if v.get("required") and k not in given]
        if len(given) != len(pairs):
            wrong.append("query: a key twice")

    def check(self, method, target, headers, body):
        """(method description or None, path parameters, what is wrong)."""
        u = urllib.parse.urlsplit(target)
        m, args = self.find(method, urllib.parse.unquote(u.path))
        if not m:
            return None, None, [f"no method for {method} {u.path}"]
        wrong = []
        self.query(urllib.parse.parse_qsl(u.query, keep_blank_values=True), m, wrong)
        h = {k.lower(): v for k, v in headers.items()}
        if not h.get("authorization", "").startswith("Bearer "):
            wrong.append("no Bearer token")
        if "request" in m:
            if not h.get("content-type", "").startswith("application/json"):
                wrong.append("content-type is not application/json")
            try:
                parsed = json.loads(body or "null")
            except ValueError as e:
                return m, args, wrong + [f"body: {e}"]
            if parsed is None:
                wrong.append("body: missing")
            else:
                self.value(parsed, m["request"], "body", wrong)
        elif body:
            wrong.append("body: unexpected")
        return m, args, wrong

    def reply_check(self, m, body):
        wrong = []
        if "response" in m:
            self.value(body, m["response"], "reply", wrong, reply=True)
        return wrong
