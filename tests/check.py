#!/usr/bin/env python3
"""Runs test suites in lanes side by side and counts what they ran.

check.py SUITE...   names are the keys of SUITES below.
check.py --long     what `make check-long` runs after `make check`.
check.py --fast     what only computes, in lanes of two cores, with fewer worlds.
A skipped test is a failure here: nothing is skipped silently.  So is anything
that a suite leaves behind (keeper.py).  Where tests run against real servers
and clocks, one that fails is run once more, alone and with its seed, when all
lanes are done.  That is a defect: it is named at the end, its first output is
kept in build/flaky/, and more than three fail the run.  A law that a random test
broke is not tried again.  What each suite cost is printed at the end, and kept
by test in build/check.json.  The last line is `N passed, N failed`.
"""
import collections
import json
import os
import re
import shutil
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
SECOND_TRIES = 3  # more failures than these are no accident


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
PODS = [f"tests/k8s/test_{name}.py" for name in ("both", "deceived", "doctor", "drain", "events", "leaving", "pods", "watch")]
WRITTEN = "tests/k8s/random/test_written.py"
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
    "catalogue": pytest("tests/unit/test_catalogue.py", "tests/unit/test_reasons.py", "tests/unit/test_events.py", "tests/unit/test_check.py", "tests/unit/test_near.py", "tests/lint"),
    "prop": pytest("tests/prop", before=["nice"]),
    "simulate": pytest("tests/simulate"),
    "model": pytest("tests/model", before=["nice"]),
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
    "k8s": pytest("tests/k8s", *(f"--ignore={t}" for t in [*PODS, WRITTEN]), real=True, before=NETNS),
    "k8s-pods": pytest(*PODS, real=True, before=NETNS),
}

# `make check-long`: what a release must have passed besides, one after another.
LONG = {
    "prop-long": pytest("tests/prop", before=["nice", "env", "PLAN_WORLDS=2000", "DAVIT_CASES=600"]),
    "storm-nth": Suite("nice", "make", "-s", "storm-nth"),
    "storm-long": Suite("nice", "make", "-s", "storm", "SECONDS=600"),
    "storm-mutants": Suite("nice", "make", "-s", "storm-mutants"),
    "storm-real-long": Suite("make", "-s", "storm-real", "SECONDS=600"),
    "storm-ray-long": Suite("make", "-s", "storm-ray", "SECONDS=300"),
    "storm-real-mutants": Suite("make", "-s", "storm-real-mutants"),
    "cut-mutants": Suite("nice", "make", "-s", "cut-mutants"),
    "k8s-written": pytest(WRITTEN, real=True, before=NETNS),
    "hostile-long": Suite("make", "-s", "hostile", "HOSTILE_S=120"),
}
SUITES |= LONG

# Lanes side by side.  The first two compute, with what the others leave of the two
# cores; the others, of about equal length, wait for servers half of the time.  More
# of them would end no sooner, and starve one another.
LANES = [
    ["lint", "sequences", "storm-found", "storm", "catalogue", "simulate", "ray-cases", "ray-cases-random", "prop"],
    ["unit", "fuzz", "fuzz-guided", "exec", "model"],
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


def read_rows(path):
    """Objects of JSON, a line each; none where nobody wrote the file."""
    try:
        with open(path) as f:
            return [json.loads(line) for line in f]
    except FileNotFoundError:
        return []


def is_law(row, seeds):
    """A seed found a false assertion: another try of another world would only hide it."""
    return row["test"] in seeds and row.get("kind") == "AssertionError"


class Run:
    """One run of a suite, or of some of its tests: what came of it."""

    def __init__(self, name, suite, tests=None, each=None, seed=None):
        """each(line) hears what is printed as it comes."""
        began = time.monotonic()
        self.name, self.lines, self.failures = name, [], []
        with tempfile.TemporaryDirectory(prefix="dc") as here:
            report, outcomes, seeds = (os.path.join(here, n) for n in ("report", "outcomes", "seeds"))
            env = dict(os.environ, DAVIT_OUTCOMES=outcomes, DAVIT_SEEDS=seeds, **({} if seed is None else {"SEED": str(seed)}))
            p = subprocess.Popen([*KEEPER, report, *suite.command, *(tests or suite.tests)], cwd=ROOT, env=env,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            for line in p.stdout:
                self.lines.append(line.rstrip())
                if each:
                    each(self.lines[-1])
            p.wait()
            with open(report) as f:
                kept = json.load(f)
            rows = read_rows(outcomes)
            self.seeds = {row["test"]: row["seed"] for row in read_rows(seeds)}
        self.rows = {row["test"]: row for row in rows if "test" in row}
        self.opened = {row["file"]: row["opened"] for row in rows if "file" in row}
        self.count(suite, kept, next((row["end"] for row in rows if "end" in row), None))
        self.seconds, self.cpu = time.monotonic() - began, kept["cpu"]
        self.ends.append(f"-- {name}: {self.passed} passed, {self.failed} failed, {self.seconds:.0f} s, {self.cpu:.0f} s of CPU")

    def count(self, suite, kept, end):
        """`end` is pytest's own; None where it broke off."""
        name, results = self.name, {test: row["outcome"] for test, row in self.rows.items() if "outcome" in row}
        ends = [f"{name}: left behind: {what}" for what in kept["left"]]
        self.left = bool(ends)
        others = [line.strip() for line in self.lines if FAILED.match(line)][-20:]  # what failed and has no second try
        if suite.tests:
            self.passed = sum(o == "passed" for o in results.values())
            self.failed = len(results) - self.passed + bool(ends)
            if end == 1:  # it went to its end: only its tests failed
                self.failures = [t for t, o in results.items() if o == "failed" and not is_law(self.rows[t], self.seeds)]
            others = [f"{t}: {o}" + (f" (SEED={self.seeds[t]})" if t in self.seeds else "")
                      for t, o in results.items() if o != "passed" and t not in self.failures]
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
        self.ends = ends


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


def keep_flaky(n, r, test):
    """The first try's output, for who looks for the defect; its path."""
    folder = os.path.join(ROOT, "build/flaky")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{n}-{r.name}.txt")
    with open(path, "w") as f:
        seed = f"SEED={r.seeds[test]}\n" if test in r.seeds else ""
        f.write(f"{r.name}: {test}\n{seed}{r.rows[test].get('why', '')}\n")
    return os.path.relpath(path, ROOT)


def second_try(runs):
    """Runs once more what deserves it and prints what came of it.  Returns the
    (suite, test) that passed now, and the suites that are forgiven what they
    left behind: a test that breaks off may leave things, and it is part of its
    failure when all that failed there passed now and left nothing."""
    again = [(r, t) for r in runs if SUITES[r.name].real for t in r.failures]
    shutil.rmtree(os.path.join(ROOT, "build/flaky"), ignore_errors=True)
    kept = [keep_flaky(n, r, t) for n, (r, t) in enumerate(again[:20], 1)]
    if len(again) > SECOND_TRIES:
        say([f"second try: 0: {len(again)} tests failed, and more than {SECOND_TRIES} are no accident"])
        return set(), []
    told, won, twice = [f"second try: {len(again)}"], set(), set()
    if again:
        say(["== second try"])
    for (first, test), path in zip(again, kept):
        name = first.name
        r = Run(name, SUITES[name], tests=[test], seed=first.seeds.get(test))
        say(r.lines + r.ends)
        won |= set() if r.failed else {(name, test)}
        told.append(f"  {test}: {f'failed, then passed: a defect, first output in {path}' if r.failed == 0 else 'failed twice'}")
        twice |= {name} if r.failed else set()
    forgiven = sorted({r.name for r, _ in again} & {r.name for r in runs if r.left} - twice)
    say(told + [f"  {name}: what was left behind was left by a test that failed; the second time nothing was" for name in forgiven])
    return won, forgiven


def what_failed(r, won, forgiven):
    """A line for each test of a run that failed for good, and for what failed besides."""
    tests = [t for t in r.failures if (r.name, t) not in won]
    if r.failed > len(r.failures) + (r.name in forgiven):
        tests += r.others
    return [f"failed: {r.name}: {t}" for t in tests]


def table(runs, wall):
    """What each suite cost, the dearest first."""
    rows = sorted(runs, key=lambda r: -r.cpu)
    return [f"{'suite':18} {'tests':>6} {'wall s':>8} {'CPU s':>8}",
            *(f"{r.name:18} {r.passed + r.failed:6} {r.seconds:8.1f} {r.cpu:8.1f}" for r in rows),
            f"{'all':18} {sum(r.passed + r.failed for r in rows):6} {wall:8.1f} {sum(r.cpu for r in rows):8.1f}"]


def keep_costs(runs, part=False):
    """build/check.json: what suites and tests cost when they ran last, and the files that a test file opened.
    part: the runs are of some tests of their suites, and the others' figures stay."""
    path = os.path.join(ROOT, "build/check.json")
    try:
        with open(path) as f:
            kept = json.load(f)
    except (OSError, ValueError):
        kept = {"suites": {}}
    for r in runs:
        old = kept["suites"].get(r.name, {}) if part else {}
        whole = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "s": round(r.seconds, 1), "cpu": round(r.cpu, 1),
                 "passed": r.passed, "failed": r.failed}
        kept["suites"][r.name] = {
            **whole, **old, "tests": {**old.get("tests", {}), **{t: [row["s"], row["cpu"]] for t, row in r.rows.items() if "s" in row}},
            "opened": {**old.get("opened", {}), **r.opened}}
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as f:
        json.dump(kept, f, indent=1)
    os.replace(path + ".new", path)


def costs_of(kept):
    """A test file takes what its tests take; half of what it waits counts, as others run meanwhile."""
    found = collections.defaultdict(float)
    for suite, r in kept["suites"].items():
        if not r["tests"]:
            found[suite, suite] = max(r["cpu"], (r["cpu"] + r["s"]) / 2)
        for test, (s, cpu) in r["tests"].items():
            found[suite, test.split("::")[0]] += max(cpu, (s + cpu) / 2)
    return dict(found)


def chosen(args):
    """The lanes of what is asked for."""
    if args == ["--long"]:
        return [list(LONG)]
    if args == ["--fast"]:
        print("PLAN_WORLDS=" + os.environ.setdefault("PLAN_WORLDS", FEWER), flush=True)
        return FAST
    names = args or [n for lane in LANES for n in lane]
    lanes = [[n for n in lane if n in names] for lane in LANES]
    lanes += [[n for n in names if not any(n in lane for lane in LANES)]]
    return [lane for lane in lanes if lane]


def run_lanes(lanes):
    """The runs, and what failed: a lane that broke off counts as one failure."""
    began = time.monotonic()
    threads = [Lane(lane, len(lanes) == 1) for lane in lanes]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    runs = [r for t in threads for r in t.runs]
    broken = [r.name for r in runs] != [n for lane in lanes for n in lane]
    if broken:
        say(["check: a lane broke off"])
    say(table(runs, time.monotonic() - began))
    keep_costs(runs)
    won, forgiven = second_try(runs)
    passed = sum(r.passed for r in runs) + len(won)
    failed = sum(r.failed for r in runs) + broken - len(won) - len(forgiven)
    for line in [line for r in runs for line in what_failed(r, won, forgiven)]:
        say([line])
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


def main():
    return run_lanes(chosen(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
