#!/usr/bin/env python3
"""Runs test suites one after another and counts what they ran.

check.py SUITE...   names are the keys of SUITES below.
Each suite is a command; its tests are counted from the runner's own closing
lines.  A skipped test is a failure here: nothing is skipped silently.
Ends with `N passed, N failed` alone on a line.
"""
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PY = os.environ.get("DAVIT_PYTHON", sys.executable)
PYTEST = [PY, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
REL = "build/release"

SUITES = {
    "lint": ["tests/lint/run.sh"],
    "unit": ["make", "-s", "check-unit", "VARIANT=debug"],
    "contract": ["make", "-s", "check-contract"],
    "catalogue": PYTEST + ["tests/unit/test_catalogue.py"],
    "prop": PYTEST + ["tests/prop"],
    "ray-cases": [PY, "tests/ray_cases.py", "tests/cases/ray/scheduler-cases.json"],
    "integration": ["tests/netns.sh"] + PYTEST + ["tests/integration"],
    "e2e": ["tests/netns.sh"] + PYTEST + ["tests/e2e"],
}

COUNTS = [
    # pytest, and the plain form `N passed, N failed`
    (re.compile(r"(\d+) passed"), "passed"),
    (re.compile(r"(\d+) failed"), "failed"),
    (re.compile(r"(\d+) error"), "failed"),
    (re.compile(r"(\d+) skipped"), "failed"),
]


def count(lines):
    """Counts of the last line that looks like a runner's closing line."""
    for line in reversed(lines):
        if "passed" in line or "failed" in line:
            got = {"passed": 0, "failed": 0}
            for rx, key in COUNTS:
                for n in rx.findall(line):
                    got[key] += int(n)
            return got
    return {"passed": 0, "failed": 0}


def run(name):
    print(f"== {name}", flush=True)
    began = time.monotonic()
    p = subprocess.Popen(SUITES[name], cwd=ROOT, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace")
    lines = []
    for line in p.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line.rstrip())
        del lines[:-200]
    code = p.wait()
    got = count(lines)
    if code != 0 and got["failed"] == 0:
        got["failed"] = 1
    if got["passed"] + got["failed"] == 0:
        got["failed"] = 1
        print(f"{name}: ran no test")
    print(f"-- {name}: {got['passed']} passed, {got['failed']} failed, "
          f"{time.monotonic() - began:.0f} s", flush=True)
    return got


def main():
    names = sys.argv[1:] or list(SUITES)
    total = {"passed": 0, "failed": 0}
    for name in names:
        got = run(name)
        for k in total:
            total[k] += got[k]
    print(f"{total['passed']} passed, {total['failed']} failed")
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
