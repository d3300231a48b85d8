#!/usr/bin/env python3
"""Random tests draw from a seed that is printed and can be given: tests/lib/seeds.py, tests/unit/seed.h.

usage: seeds.py [ROOT]
Refused: Python's common generator, which has no seed of ours; a generator that begins with the time; SEED read
elsewhere.  `# any will do` at the end of a line allows it there: of names and ports nothing depends on which.
"""
import os
import re
import sys

import objects

OURS = {"tests/lib/seeds.py", "tests/unit/seed.h",
        "tests/check.py", "tests/unit/test_check.py"}   # the runner's
BAD = {
    ".py": [(r"\brandom\.(random|randint|randrange|uniform|choice|choices|sample|shuffle|seed|getrandbits|gauss)\(", "draws from no seed"),
            (r"\brandom\.(Random\((time\.|\))|SystemRandom\()", "draws from a seed that is not printed"),
            (r"environ\S*[\"'](DAVIT_|PLAN_)?SEED[\"']", "reads the seed itself")],
    ".c": [(r"getenv\(\"\w*SEED\"\)", "reads the seed itself"), (r"(seed|rand)\w*\b.*\btime\((NULL|0)\)", "draws from a seed that is not printed")],
}
BAD[".h"] = BAD[".c"]


def files(root):
    for folder, _, names in os.walk(os.path.join(root, "tests")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), root)
            if os.path.splitext(name)[1] in BAD and path not in OURS and "/bench/" not in path:
                yield path


def judge(path, text):
    for n, line in enumerate(text.splitlines(), 1):
        for rx, why in BAD[os.path.splitext(path)[1]]:
            if re.search(rx, line) and not line.rstrip().endswith("# any will do"):
                yield f"{path}:{n}: {why}: tests/{'lib/seeds.py' if path.endswith('.py') else 'unit/seed.h'} has one"


def main(argv):
    root, bad, n = objects.root_of(argv), [], 0
    for path in files(root):
        with open(os.path.join(root, path), errors="replace") as f:
            bad += judge(path, f.read())
        n += 1
    return objects.report("seeds", bad, f"{n} files")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
