#!/usr/bin/env python3
"""Runs test suites in lanes side by side and counts what they ran.

check.py SUITE...   names are the keys of SUITES below.
Each suite is a command; its tests are counted from the runner's own closing
lines.  A skipped test is a failure here: nothing is skipped silently.
Ends with `N passed, N failed` alone on a line.
"""
import os
import re
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PY = os.environ.get("DAVIT_PYTHON", sys.executable)
PYTEST = [PY, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
CLOUDS = [os.environ.get("DAVIT_CLOUDS_PYTHON", sys.executable)] + PYTEST[1:]

SUITES = {
    "lint": ["tests/lint/run.sh"],
    "unit": ["make", "-s", "check-unit", "VARIANT=debug"],
    "fuzz": ["make", "-s", "check-fuzz", "VARIANT=debug"],
    "contract": ["make", "-s", "check-contract", "VARIANT=debug"],
    "exec": ["make", "-s", "check-exec", "VARIANT=debug"],
    "catalogue": PYTEST + ["tests/unit/test_catalogue.py", "tests/unit/test_reasons.py"],
    "prop": PYTEST + ["tests/prop"],
    "ray-cases": [PY, "tests/ray_cases.py", "tests/cases/ray/scheduler-cases.json"],
    "ray-cases-random": [PY, "tests/ray_cases.py", "tests/cases/ray/random-cases.json"],
    "integration": ["tests/netns.sh"] + PYTEST + ["tests/integration", "--ignore=tests/integration/test_ray_head.py"],
    "ray-head": ["tests/netns.sh"] + PYTEST + ["tests/integration/test_ray_head.py"],
    "clouds-eks": CLOUDS + ["tests/clouds/eks"],
    "clouds-gke": CLOUDS + ["tests/clouds/gke"],
    "clouds-aks": CLOUDS + ["tests/clouds/aks"],
    "e2e": ["tests/netns.sh"] + PYTEST + ["tests/e2e", "--ignore=tests/e2e/clouds"],
    "e2e-clouds": ["tests/netns.sh"] + CLOUDS + ["tests/e2e/clouds"],
    "k8s": ["tests/netns.sh"] + PYTEST + ["tests/k8s"],
}

# Lanes side by side: real Ray and the clouds mostly wait, the rest computes.
LANES = [
    ["lint", "catalogue", "ray-cases", "ray-cases-random", "unit", "fuzz", "contract", "exec", "prop", "integration"],
    ["e2e", "ray-head", "k8s"],
    ["clouds-aks", "clouds-gke", "clouds-eks"],
    ["e2e-clouds"],
]
PRINTING = threading.Lock()

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


class Lane(threading.Thread):
    """Suites one after another; what they print comes out suite by suite."""

    def __init__(self, names, alone):
        super().__init__()
        self.names, self.alone, self.total = names, alone, {"passed": 0, "failed": 0}

    def run(self):
        for name in self.names:
            got = self.suite(name)
            for k in self.total:
                self.total[k] += got[k]

    def suite(self, name):
        began = time.monotonic()
        p = subprocess.Popen(SUITES[name], cwd=ROOT, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, errors="replace")
        lines = [f"== {name}"]
        if self.alone:
            say(lines)
        for line in p.stdout:
            lines.append(line.rstrip())
            if self.alone:
                say(lines[-1:])
        code = p.wait()
        got = count(lines)
        if code != 0 and got["failed"] == 0:
            got["failed"] = 1
        if got["passed"] + got["failed"] == 0:
            got["failed"] = 1
            lines.append(f"{name}: ran no test")
        end = f"-- {name}: {got['passed']} passed, {got['failed']} failed, {time.monotonic() - began:.0f} s"
        say([end] if self.alone else lines + [end])
        return got


def say(lines):
    with PRINTING:
        print("\n".join(lines), flush=True)


def main():
    names = sys.argv[1:] or [n for lane in LANES for n in lane]
    lanes = [[n for n in lane if n in names] for lane in LANES]
    lanes += [[n for n in names if not any(n in lane for lane in LANES)]]
    lanes = [lane for lane in lanes if lane]
    threads = [Lane(lane, len(lanes) == 1) for lane in lanes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    passed = sum(t.total["passed"] for t in threads)
    failed = sum(t.total["failed"] for t in threads)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
