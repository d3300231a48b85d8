#!/usr/bin/env python3
"""Links of our documents lead somewhere, and the tests that they name are there: `test_x` is a function or a file
of tests/, `test_x.py`, `hostile/test_x.py` and `fuzz_x` are files."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"^\s*(?:def|static void|void)\s+(\w+)\(", re.M)
NAMED = re.compile(r"`((?:[\w-]+/)*(?:test|fuzz)_\w+(?:\.(?:py|c))?)`")


def tests_of(root):
    """Paths below tests/, and names of functions and of files without what they end in."""
    paths = [p for p in (root / "tests").rglob("*") if p.suffix in (".py", ".c")]
    names = {p.stem for p in paths}
    for p in paths:
        names.update(FUNCTION.findall(p.read_text(errors="replace")))
    return {str(p.relative_to(root)) for p in paths}, names


def is_there(name, paths, names):
    if "." in name:
        return any(p.endswith("/" + name) or p == name for p in paths)
    if "/" in name:
        return any(p.rsplit(".", 1)[0].endswith("/" + name) for p in paths)
    return name in names


def main(root=ROOT):
    bad = []
    docs = [root / "README.md", *sorted((root / "docs").rglob("*.md")), *sorted((root / "providers").rglob("*.md")), *sorted((root / "tests").rglob("*.md"))]
    paths, names = tests_of(root)
    links = tests = 0
    for doc in docs:
        text = doc.read_text()
        for target in re.findall(r"\]\(([^)#:]+)\)", text):
            links += 1
            if not (doc.parent / target).exists():
                bad.append(f"{doc.relative_to(root)}: {target} does not exist")
        for name in NAMED.findall(text):
            tests += 1
            if not is_there(name, paths, names):
                bad.append(f"{doc.relative_to(root)}: there is no test {name}")
    print("\n".join(bad))
    print(f"docs: {links} links and {tests} tests named in {len(docs)} documents")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*map(pathlib.Path, sys.argv[1:])))
