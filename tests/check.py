#!/usr/bin/env python3
"""Runs test suites in lanes side by side and counts what they ran.

check.py SUITE...   names are the keys of SUITES below.
check.py --fast     what only computes, in lanes of two cores, with fewer worlds.
A skipped test is a failure here: nothing is skipped silently.  So is anything
that a suite leaves behind (keeper.py).  Where tests run against real servers
and clocks, one that fails is run once more, alone, when all lanes are done, and
named at the end.  What failed for good is named at the end too; the last line is
`N passed, N failed`.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PY = os.environ.get("DAVIT_PYTHON", sys.executable)
CLOUDS_PY = os.environ.get("DAVIT_CLOUDS_PYTHON", sys.executable)
KEEPER = [sys.executable, os.path.join(ROOT, "tests/lib/keeper.py")]
PYTEST = [os.path.join(ROOT, "tests/lib/outcomes.py"), "-q", "-rs"]
SECOND_TRIES = 24  # more failures than these are no accident: a slow machine starves several servers at once


class Suite:
    """A command whose closing line counts its tests; or, with `tests`, pytest.
    `real`: against real servers and clocks, so that a test has a second try."""

    def __init__(self, *command, tests=(), real=False):
        self.command, self.tests, self.real = list(command), list(tests), real


def pytest(*tests, python=PY, real=False, before=()):
    return Suite(*before, python, *PYTEST, tests=tests, real=real)


def e2e_of(cloud):
    return pytest("tests/e2e/clouds", "-k", cloud, python=CLOUDS_PY, real=True, before=NETNS)


NETNS = ["tests/netns.sh"]
PODS = [f"tests/k8s/test_{name}.py" for name in ("both", "doctor", "drain", "events", "leaving", "pods", "watch")]
# nice: it only computes, and others look at clocks.
SUITES = {
    "lint": Suite("tests/lint/run.sh"),
    "unit": Suite("nice", "make", "-s", "check-unit", "VARIANT=debug"),
    "fuzz": Suite("nice", "make", "-s", "check-fuzz", "VARIANT=debug"),
    "fuzz-guided": Suite("nice", "make", "-s", "check-fuzz-guided"),
    "contract": Suite("make", "-s", "check-contract", "VARIANT=debug"),
    "sequences": Suite("make", "-s", "check-sequences"),
    "storm-found": Suite("nice", "make", "-s", "check-found"),
    "storm": Suite("nice", "make", "-s", "check-storm"),
    "exec": Suite("make", "-s", "check-exec", "VARIANT=debug"),
    "catalogue": pytest("tests/unit/test_catalogue.py", "tests/unit/test_reasons.py", "tests/unit/test_events.py", "tests/unit/test_check.py", "tests/lint"),
    "prop": pytest("tests/prop", before=["nice"]),
    "simulate": pytest("tests/simulate"),
    "packages": pytest("tests/packages", real=True),
    "ray-cases": Suite(PY, "tests/ray_cases.py", "tests/cases/ray/scheduler-cases.json"),
    "ray-cases-random": Suite(PY, "tests/ray_cases.py", "tests/cases/ray/random-cases.json"),
    "integration": pytest("tests/integration", "--ignore=tests/integration/test_ray_head.py", real=True, before=NETNS),
    "storm-real": pytest("tests/real", real=True, before=NETNS),
    "hardening": pytest("tests/hardening", real=True, before=NETNS),
    "hostile": pytest("tests/hostile", real=True, before=NETNS),
    "page": pytest("tests/page", real=True, before=NETNS),
    "prometheus": pytest("tests/prometheus", real=True),  # not in a namespace: setup.sh may have to fetch it
    "pyclient": pytest("tests/pyclient", real=True),
    "docs": pytest("tests/docs", "--ignore=tests/docs/clouds", real=True, before=NETNS),
    "docs-clouds": pytest("tests/docs/clouds", python=CLOUDS_PY, real=True, before=NETNS),
    "shadow": pytest("tests/shadow", real=True, before=NETNS),
    "ray-head": pytest("tests/integration/test_ray_head.py", real=True, before=NETNS),
    "clouds-eks": pytest("tests/clouds/eks", python=CLOUDS_PY, real=True),
    "clouds-ec2": pytest("tests/clouds/ec2", python=CLOUDS_PY, real=True),
    "clouds-gce": pytest("tests/clouds/gce", python=CLOUDS_PY, real=True),
    "clouds-azurevm": pytest("tests/clouds/azurevm", python=CLOUDS_PY, real=True),
    "clouds-gke": pytest("tests/clouds/gke", python=CLOUDS_PY, real=True),
    "clouds-aks": pytest("tests/clouds/aks", python=CLOUDS_PY, real=True),
    "e2e": pytest("tests/e2e", "--ignore=tests/e2e/clouds", real=True, before=NETNS),
    "e2e-eks": e2e_of("eks"),
    "e2e-gke": e2e_of("gke"),
    "e2e-aks": e2e_of("aks"),
    "e2e-vms": pytest("tests/e2e/clouds/test_ray_yaml.py", python=CLOUDS_PY, real=True, before=NETNS),
    "k8s": pytest("tests/k8s", *(f"--ignore={t}" for t in PODS), real=True, before=NETNS),
    "k8s-pods": pytest(*PODS, real=True, before=NETNS),
}

# Lanes side by side.  The first two compute, with what the others leave of the two
# cores; the others, of about equal length, wait for servers half of the time.  More
# of them would end no sooner, and starve one another.
LANES = [
    ["lint", "sequences", "storm-found", "storm", "catalogue", "simulate", "ray-cases", "ray-cases-random", "prop"],
    ["unit", "fuzz", "fuzz-guided", "exec"],
    ["e2e", "e2e-aks", "docs", "storm-real", "docs-clouds", "page", "packages"],
    ["e2e-eks", "ray-head", "e2e-gke", "e2e-vms", "hostile", "pyclient", "shadow"],
    ["k8s", "k8s-pods", "clouds-aks", "clouds-ec2", "clouds-gce", "clouds-azurevm"],
    ["integration", "clouds-eks", "clouds-gke", "hardening", "prometheus", "contract"],
]
# `make check-fast`: the third lane waits more than it computes.
FAST = [["lint", "sequences", "storm-found", "unit", "fuzz"], ["ray-cases", "ray-cases-random", "prop"], ["catalogue"]]
FEWER = "100"  # PLAN_WORLDS; 400 in `make check`
PRINTING = threading.Lock()
FAILED = re.compile(r".*FAIL|\s*(not ok|broken|bad) ")  # what runners other than pytest say of a test

COUNTS = {
    "passed": re.compile(r"(\d+) passed"),
    "failed": re.compile(r"(\d+) (?:failed|error|skipped)"),
}


def count(lines):
    """(passed, failed) of the last line that looks like a runner's closing line."""
    for line in reversed(lines):
        if "passed" in line or "failed" in line:
            return tuple(sum(map(int, rx.findall(line))) for rx in COUNTS.values())
    return 0, 0


def read_outcomes(path):
    """({id: outcome}, pytest's own end), of a pytest that may have broken off."""
    try:
        with open(path) as f:
            results = dict(map(json.loads, f))
    except FileNotFoundError:
        results = {}
    return results, results.pop("", None)


class Run:
    """One run of a suite, or of some of its tests: what came of it."""

    def __init__(self, name, suite, tests=None, each=None):
        """each(line) hears what is printed as it comes."""
        began = time.monotonic()
        self.name, self.lines, self.failures = name, [], []
        with tempfile.TemporaryDirectory(prefix="dc") as here:
            report, outcomes = os.path.join(here, "report"), os.path.join(here, "outcomes")
            p = subprocess.Popen([*KEEPER, report, *suite.command, *(tests or suite.tests)], cwd=ROOT,
                                 env=dict(os.environ, DAVIT_OUTCOMES=outcomes), stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace")
            for line in p.stdout:
                self.lines.append(line.rstrip())
                if each:
                    each(self.lines[-1])
            p.wait()
            with open(report) as f:
                kept = json.load(f)
            results, end = read_outcomes(outcomes)
        ends = [f"{name}: left behind: {what}" for what in kept["left"]]
        self.left = bool(ends)
        others = [line.strip() for line in self.lines if FAILED.match(line)][-20:]  # what failed and has no second try
        if suite.tests:
            self.passed = sum(o == "passed" for o in results.values())
            self.failed = len(results) - self.passed + bool(ends)
            if end == 1:  # it went to its end: only its tests failed
                self.failures = [t for t, o in results.items() if o == "failed"]
            others = [f"{t}: {o}" for t, o in results.items() if o != "passed" and t not in self.failures]
            if end is None:
                ends.append(f"{name}: broke off")
                self.failed += 1
        else:
            self.passed, self.failed = count(self.lines)
            self.failed += bool(ends)
        if kept["code"] != 0 and self.failed == 0:
            ends.append(f"{name}: ended with {kept['code']}")
            self.failed = 1
        if self.passed + self.failed == 0:
            ends.append(f"{name}: ran no test")
            self.failed = 1
        self.others = others + ends or ["see above"]
        self.ends = ends + [f"-- {name}: {self.passed} passed, {self.failed} failed, "
                            f"{time.monotonic() - began:.0f} s, {kept['cpu']:.0f} s of CPU"]


class Lane(threading.Thread):
    """Suites one after another; what they print comes out suite by suite."""

    def __init__(self, names, alone):
        super().__init__()
        self.names, self.alone, self.runs = names, alone, []

    def run(self):
        for name in self.names:
            if self.alone:
                say([f"== {name}"])
                self.runs.append(Run(name, SUITES[name], each=lambda line: say([line])))
                say(self.runs[-1].ends)
            else:
                self.runs.append(Run(name, SUITES[name]))
                say([f"== {name}"] + self.runs[-1].lines + self.runs[-1].ends)


def say(lines):
    with PRINTING:
        print("\n".join(lines), flush=True)


def second_try(runs):
    """Runs once more what deserves it and prints what came of it.  Returns the
    (suite, test) that passed now, and the suites that are forgiven what they
    left behind: a test that breaks off may leave things, and it is part of its
    failure when all that failed there passed now and left nothing."""
    again = [(r.name, t) for r in runs if SUITES[r.name].real for t in r.failures]
    if len(again) > SECOND_TRIES:
        say([f"second try: 0: {len(again)} tests failed, and more than {SECOND_TRIES} are no accident"])
        return set(), []
    told, won, twice = [f"second try: {len(again)}"], set(), set()
    if again:
        say(["== second try"])
    for name, test in again:
        r = Run(name, SUITES[name], tests=[test])
        say(r.lines + r.ends)
        won |= set() if r.failed else {(name, test)}
        told.append(f"  {test}: {'failed, then passed: its defect is to be looked for' if r.failed == 0 else 'failed twice'}")
        twice |= {name} if r.failed else set()
    forgiven = sorted({name for name, _ in again} & {r.name for r in runs if r.left} - twice)
    say(told + [f"  {name}: what was left behind was left by a test that failed; the second time nothing was" for name in forgiven])
    return won, forgiven


def what_failed(r, won, forgiven):
    """A line for each test of a run that failed for good, and for what failed besides."""
    tests = [t for t in r.failures if (r.name, t) not in won]
    if r.failed > len(r.failures) + (r.name in forgiven):
        tests += r.others
    return [f"failed: {r.name}: {t}" for t in tests]


def main():
    if sys.argv[1:] == ["--fast"]:
        print("PLAN_WORLDS=" + os.environ.setdefault("PLAN_WORLDS", FEWER), flush=True)
        lanes = FAST
    else:
        names = sys.argv[1:] or [n for lane in LANES for n in lane]
        lanes = [[n for n in lane if n in names] for lane in LANES]
        lanes += [[n for n in names if not any(n in lane for lane in LANES)]]
        lanes = [lane for lane in lanes if lane]
    threads = [Lane(lane, len(lanes) == 1) for lane in lanes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    runs = [r for t in threads for r in t.runs]
    if [r.name for r in runs] != [n for lane in lanes for n in lane]:
        say(["check: a lane broke off"])
        runs.append(None)
    won, forgiven = second_try([r for r in runs if r])
    passed = sum(r.passed for r in runs if r) + len(won)
    failed = sum(r.failed if r else 1 for r in runs) - len(won) - len(forgiven)
    for line in [line for r in runs if r for line in what_failed(r, won, forgiven)]:
        say([line])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
