#!/usr/bin/env python3
"""Links of our documents lead somewhere, those into a page to a heading of it, and the tests that they name are there: `test_x` is a function or a file
of tests/, `test_x.py`, `hostile/test_x.py` and `fuzz_x` are files, `unit/test_x.c::name` is a test of that file, `test_x.py::name[of]` one that is
tried on a file `of` below tests/.  World `x` and worlds `x`, `y` are those of written.py.
A path `/v1/...` that a document names, after a method or alone, is a route of the daemon."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"^\s*(?:def|static void|void)\s+(\w+)\(", re.M)
IN_FILE = re.compile(r"`((?:[\w-]+/)*test_\w+\.(?:py|c))::(\w+)(?:\[([^]`]+)\])?`")
WORLDS = re.compile(r"\bworlds? ((?:`\w+`(?:, )?)+)")
NAMED = re.compile(r"`((?:[\w-]+/)*(?:test|fuzz)_\w+(?:\.(?:py|c))?)`")

# A path of another server has a piece before /v1 (/openid/v1/jwks); a daemon's has at most the address.
ROUTE = re.compile(r"\{\"(\w+)\", \"(/v1/[^\"]*)\"")
ROUTED = re.compile(r"(?:\b(GET|POST|PUT|PATCH|DELETE) )?(?:https?://[^/\s]+|(?<![\w.:/$-])(?:\$\w+|[\w-]+[.:][\w.:-]+)?)(/v1/[\w{}./-]+)")


def tests_of(root):
    """Paths below tests/, and names of functions and of files without what they end in."""
    paths = [p for p in (root / "tests").rglob("*") if p.suffix in (".py", ".c")]
    names = {p.stem for p in paths}
    for p in paths:
        names.update(FUNCTION.findall(p.read_text(errors="replace")))
    return {str(p.relative_to(root)) for p in paths}, names


def anchors_of(text):
    """What GitHub makes of the headings: letters, digits, - and _, blanks as -, the second of a name with -1."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    found, seen = set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text)), {}
    for title in re.findall(r"^#{1,6} +(.*?) *#*$", text, re.M):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        n = seen[name] = seen.get(name, -1) + 1
        found.add(f"{name}-{n}" if n else name)
    return found


def anchor_is_there(doc, target, anchor, known):
    page = (doc.parent / target).resolve() if target else doc.resolve()
    if not page.exists() or page.suffix != ".md":
        return page.exists()
    if page not in known:
        known[page] = anchors_of(page.read_text())
    return anchor in known[page]


def is_there(name, paths, names):
    if "." in name:
        return any(p.endswith("/" + name) or p == name for p in paths)
    if "/" in name:
        return any(p.rsplit(".", 1)[0].endswith("/" + name) for p in paths)
    return name in names


def in_file_wrong(root, path, name, of):
    """What is not there of `path::name[of]`; None: all is."""
    file = root / "tests" / path
    if not file.exists() or name not in FUNCTION.findall(file.read_text(errors="replace")):
        return f"{path}::{name}"
    return of if of and not any(root.glob(f"tests/**/{of}")) else None


def worlds_of(root):
    path = root / "tests/k8s/random/written.py"
    return set(re.findall(r"^world\(\"(\w+)\"", path.read_text(), re.M)) if path.exists() else set()


def routes_of(root):
    path = root / "autoscaler/api/route.c"
    return [(method, route.split("/")) for method, route in ROUTE.findall(path.read_text())] if path.exists() else []


def is_routed(method, path, routes):
    pieces = path.rstrip("./").split("/")
    return any(method in ("", m) and len(r) == len(pieces) and all(a in ("{}", b) for a, b in zip(r, pieces)) for m, r in routes)


def main(root=ROOT):
    bad = []
    docs = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "providers").rglob("*.md")), *sorted((root / "tests").rglob("*.md"))]
    paths, names = tests_of(root)
    worlds = worlds_of(root)
    routes = routes_of(root)
    links = tests = named = 0
    known = {}
    for doc in docs:
        text = doc.read_text()
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            links += 1
            if not (doc.parent / target).exists():
                bad.append(f"{doc.relative_to(root)}: {target} does not exist")
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)\s]+)\)", text):
            links += 1
            if not anchor_is_there(doc, target, anchor, known):
                bad.append(f"{doc.relative_to(root)}: {target}#{anchor} leads to no heading")
        for name in NAMED.findall(text):
            tests += 1
            if not is_there(name, paths, names):
                bad.append(f"{doc.relative_to(root)}: there is no test {name}")
        for path, name, of in IN_FILE.findall(text):
            tests += 1
            if wrong := in_file_wrong(root, path, name, of):
                bad.append(f"{doc.relative_to(root)}: there is no test {wrong}")
        for name in re.findall(r"\w+", " ".join(WORLDS.findall(text))):
            tests += 1
            if name not in worlds:
                bad.append(f"{doc.relative_to(root)}: there is no world {name}")
        for method, path in ROUTED.findall(text):
            named += 1
            if not is_routed(method, path, routes):
                bad.append(f"{doc.relative_to(root)}: the daemon has no route {method} {path}".replace("  ", " "))
    print("\n".join(bad))
    print(f"docs: {links} links, {tests} tests and {named} routes named in {len(docs)} documents")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:])))
