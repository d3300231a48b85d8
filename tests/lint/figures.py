#!/usr/bin/env python3
"""The house in figures, one a line: what is measured before and after a change of its structure.

It refuses nothing.  Rings are read from the objects of build/release and left out without them.

usage: figures.py [ROOT]
"""
import collections
import os
import re
import sys

import objects
import rings

CODE = ("autoscaler", "providers")
LONG, SMALL, RING = 60, 100, 3
PLANNER = ("autoscaler/plan", "autoscaler/solve")
# By which a lower bound is found or scheduled, and by which an answer is kept for the next question: a mechanism is there
# while one of its files is.
BOUNDS = {
    "prices of a column, one for all bins": ["relax.c"],
    "prices in each bin": ["assign.c"],
    "the best of these": ["exact/", "dual.c"],
    "duals of column generation (Farley)": ["cover/bound.c", "solve/bound/"],
    "relaxed fills as columns": ["mix.c"],
    "one column exact beside devices": ["joint.c"],
    "fills searched": ["prove.c", "reach.c"],
    "numbers of machines": ["exact/seats.c", "seats/"],
    "a branch on numbers": ["proof/branch.c", "proof/leaf.c"],
    "groups of shapes": ["groups/"],
    "rounded counts": ["steady/duals.c"],
}
MEMORIES = {
    "covers": ["plan/memory.c", "plan/cache/"],
    "what a plan starts with": ["plan/again/"],
    "bins of the fleet": ["fleet/known.c"],
    "bases of a first plan": ["steady/steady.c"],
    "what found nothing": ["control/settled.c"],
}
# The house's own words for which the field has others; a source or header named so has not been renamed.
WORDS = ("page look look_again ends standing maybe settle ours held told lately unhelped displaced seats least worth worths prove mix again steady "
         "memory anew rebuy recreate there share hand serve drop pace stop stops asked door seat guard sense meant note crowd played player crew "
         "storm rare bill agreed").split()


class File:
    def __init__(self, root, path):
        self.path = path
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            self.lines = f.read().splitlines()

    def room(self):
        return "/".join(os.path.dirname(self.path).split("/")[:2])

    def stem(self):
        return os.path.splitext(os.path.basename(self.path))[0]

    def planner(self):
        return self.path.startswith(PLANNER)


def read(root, tops, *ends):
    return [File(root, os.path.relpath(os.path.join(folder, name), root)) for top in tops
            for folder, _, names in sorted(os.walk(os.path.join(root, top))) for name in sorted(names) if name.endswith(ends)]


def functions(lines):
    """Lines of each function, from its first brace to its last."""
    begun, ret = None, []
    for at, line in enumerate(lines):
        if line == "{":
            begun = at
        elif line == "}" and begun is not None:
            ret.append(at - begun + 1)
            begun = None
    return ret


def constants(lines):
    """Numbers that have a name: macros whose value has a digit, and enumerators that are given one.

    Sizes, bits and marks of nothing (UINT32_MAX, 1 << 3) are no matter of tuning."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(lines).replace("\\\n", " "), flags=re.S)
    named = re.findall(r"^#define +([A-Z][A-Z0-9_]*) +(.+)$", text, re.M)
    for body in re.findall(r"\benum(?: \w+)?\s*\{([^}]*)\}", text):
        named += re.findall(r"([A-Z][A-Z0-9_]*)\s*=\s*([^,}]+)", body)
    return [n for n, value in named if re.search(r"(?<![\w.])\d", value) and "<<" not in value and "sizeof" not in value
            and not re.search(r"INT(32|64)?_MAX", value) and not re.fullmatch(r"\s*[01]\s*", value)]


def there(paths, mechanisms):
    return [name for name, files in mechanisms.items() if any(f in "/" + p for p in paths for f in files)]


def tested(source, tests):
    """A test of its name: test_NAME, or with some of the folders above it before that."""
    *above, stem = os.path.splitext(source.path)[0].split("/")[1:]
    return any(t == stem or t.endswith("_" + stem) and set(t[:-len(stem) - 1].split("_")) <= set(above) for t in tests)


def figures(root):
    code = read(root, CODE, ".c", ".h")
    sources = [f for f in code if f.path.endswith(".c")]
    paths = [f.path for f in code]
    tests = {f.stem()[len("test_"):] for f in read(root, ["tests"], ".c", ".py") if f.stem().startswith("test_")}
    docs = read(root, ["docs"], ".md")
    rooms = collections.Counter()
    for f in code:
        rooms[f.room()] += len(f.lines)
    yield "lines", sum(rooms.values())
    for room, n in sorted(rooms.items()):
        yield f"lines of {room}", n
    yield "lines of the planner", sum(len(f.lines) for f in code if f.planner())
    yield f"functions over {LONG} lines", sum(n > LONG for f in sources for n in functions(f.lines))
    yield "tuning constants of the planner", sum(len(constants(f.lines)) for f in code if f.planner())
    for what, mechanisms in (("bounds", BOUNDS), ("memories", MEMORIES)):
        found = there(paths, mechanisms)
        yield what, f"{len(found)}: {', '.join(found)}"
    yield "headers called inside", sum(f.path.endswith("inside.h") for f in code)
    yield f"sources under {SMALL} lines", f"{sum(len(f.lines) < SMALL for f in sources)} of {len(sources)}"
    own = [f for f in sources if f.path.startswith("autoscaler/")]
    yield "sources with a test of their name", f"{sum(tested(f, tests) for f in own)} of {len(own)}"
    yield "assertions", sum(len(re.findall(r"(?<!static_)\bassert\(", line)) for f in code for line in f.lines)
    yield "KB of docs", round(sum(len(line.encode()) + 1 for f in docs for line in f.lines) / 1000)
    yield "files named in the house's own words", sum(f.stem() in WORDS for f in code)
    if all(os.path.exists(objects.object_path(root, f.path)) for f in sources):
        found = [r for r in rings.rings_of(rings.graph_of(objects.read(root, *CODE))) if len(r) > RING]
        yield f"rings of more than {RING} files", f"{len(found)}: {', '.join(str(len(r)) for r in found)}"


def main(argv):
    for name, value in figures(objects.root_of(argv)):
        print(f"{name:<44}{value}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
