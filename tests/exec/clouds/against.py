#!/usr/bin/env python3
"""Compares documents.py with a cloud's published document:

    against.py lambda openapi.json | runpod openapi.json | digitalocean specification/DigitalOcean-public.v2.yaml

What documents.py says must be in the document (a path, a reply, a member, its type and words), and members that the document wants
must be wanted here.  What is left out here is more than a cloud may send and is not used, or is refused in requests.
"""
import pathlib
import sys

import yaml

import documents


class Yaml12(yaml.SafeLoader):
    """In OpenAPI's YAML, off is a word."""


Yaml12.yaml_implicit_resolvers = {c: [(tag, regexp) for tag, regexp in v if tag != "tag:yaml.org,2002:bool" or c in "tTfF"]
                                  for c, v in yaml.SafeLoader.yaml_implicit_resolvers.items()}


class Document:
    def __init__(self, path):
        self.files = {}
        self.root = pathlib.Path(path).resolve()

    def load(self, path):
        if path not in self.files:
            self.files[path] = yaml.load(path.read_text(), Yaml12)
        return self.files[path]

    def follow(self, node, at):
        """(node, its file) behind $ref."""
        while isinstance(node, dict) and "$ref" in node:
            file, _, inside = node["$ref"].partition("#")
            at = (at.parent / file).resolve() if file else at
            node = self.load(at)
            for part in filter(None, inside.split("/")):
                node = node[part.replace("~1", "/")]
        return node, at

    def choices(self, node, at):
        """The schemas of which a value is one."""
        node, at = self.follow(node, at)
        parts = node.get("anyOf") or node.get("oneOf") if isinstance(node, dict) else None
        return [x for part in parts for x in self.choices(part, at)] if parts else [(node, at)]

    def chosen(self, node, at, ours):
        """Of these the one with the same const, where ours has one."""
        for k, v in ours.get("properties", {}).items():
            for node1, at1 in self.choices(node, at) if "const" in v else []:
                have, _ = self.flat(node1, at1)
                if k in have and v["const"] in self.leaf(*have[k], "const"):
                    return node1, at1
        return node, at

    def flat(self, node, at):
        """Every member that a schema, its parts and its choices have, and those that it wants."""
        node, at = self.follow(node, at)
        have, want = {}, set()
        for k, v in (node.get("properties") or {}).items():
            have[k] = (v, at)
        want |= set(node.get("required") or [])
        for part in node.get("allOf") or []:
            h, w = self.flat(part, at)
            have.update(h)
            want |= w
        for part in (node.get("anyOf") or []) + (node.get("oneOf") or []):
            if isinstance(part, dict):
                have = {**self.flat(part, at)[0], **have}
        return have, want

    def leaf(self, node, at, key):
        """All values of that key: a choice has several."""
        node, at = self.follow(node, at)
        if not isinstance(node, dict):
            return []
        own = node.get(key)
        found = [] if own is None else [own]
        if key == "type" and node.get("nullable"):
            found.append("null")
        for word in ("allOf", "anyOf", "oneOf"):
            for part in node.get(word) or []:
                found += self.leaf(part, at, key)
        return found


def listed(values):
    return {x for v in values for x in (v if isinstance(v, list) else [v])}


def compare(d, ours, theirs, at, where, wrong):
    for choice in ours.get("anyOf", []):
        if choice.get("type") != "null":
            compare(d, choice, theirs, at, where, wrong)
    if "anyOf" in ours:
        return
    theirs, at = d.chosen(theirs, at, ours)
    types = listed(d.leaf(theirs, at, "type"))
    mine = listed([ours["type"]])
    if types and not mine <= types | ({"integer"} if "number" in types else set()):
        wrong.append(f"{where}: type {sorted(mine)}, the document has {sorted(types)}")
    for key in ("pattern", "maxLength", "minLength", "minimum", "maximum", "multipleOf", "maxItems"):
        if key in ours and ours[key] not in d.leaf(theirs, at, key):
            wrong.append(f"{where}: {key} {ours[key]}, the document has {d.leaf(theirs, at, key)}")
    words = {x for v in d.leaf(theirs, at, "enum") for x in v} | set(d.leaf(theirs, at, "const"))
    if "const" in ours and ours["const"] not in words:
        wrong.append(f"{where}: {ours['const']}, the document has {sorted(words)}")
    if "enum" in ours and set(ours["enum"]) != words:
        wrong.append(f"{where}: {ours['enum']}, the document has {sorted(words)}")
    if "items" in ours:
        items = d.leaf(theirs, at, "items")
        if not items:
            wrong.append(f"{where}: no list in the document")
        else:
            compare(d, ours["items"], items[0], d.follow(theirs, at)[1], where + "[]", wrong)
    have, want = d.flat(theirs, at)
    for k, v in ours.get("properties", {}).items():
        if k not in have:
            wrong.append(f"{where}: the document has no {k}")
        else:
            compare(d, v, *have[k], f"{where}.{k}", wrong)
    if "properties" in ours:
        for k in want - set(ours["required"]):
            wrong.append(f"{where}: the document wants {k}")


def operation(d, name, ours, wrong):
    method, path = name.split()
    root = d.load(d.root)
    item, at = d.follow(root["paths"].get(path, {}), d.root)
    if method.lower() not in item:
        wrong.append(f"{name} is not in the document")
        return
    theirs, at = d.follow(item[method.lower()], at)
    query = {}
    for p in theirs.get("parameters") or []:
        p, where = d.follow(p, at)
        query[p["name"]] = (p["schema"], where)
    for k, v in ours["query"].items():
        compare(d, v, *query[k], f"{name}?{k}", wrong) if k in query else wrong.append(f"{name}: no parameter {k}")
    if ours["body"]:
        body, where = d.follow(theirs["requestBody"], at)
        compare(d, ours["body"], body["content"]["application/json"]["schema"], where, name, wrong)
    replies = {str(k): v for k, v in theirs["responses"].items()}
    for status, schema in ours["replies"].items():
        key = str(status) if status else "default"
        if key not in replies:
            wrong.append(f"{name}: the document has no reply {key}")
            continue
        reply, where = d.follow(replies[key], at)
        if schema:
            [content] = [v for k, v in reply["content"].items() if "json" in k]
            compare(d, schema, content["schema"], where, f"{name} {key}", wrong)


def main():
    d, wrong = Document(sys.argv[2]), []
    ops = getattr(documents, sys.argv[1].upper())
    for name, ours in ops.items():
        operation(d, name, ours, wrong)
    print("\n".join(wrong) or f"{len(ops)} operations are as the document has them")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
