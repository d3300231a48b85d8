#!/usr/bin/env python3
"""Runs what a change can have broken, in three minutes: `make check-near`.

near.py [--base REV] [--seconds 180] [--root DIR] [--list]
  --base     what the change is measured from; what is uncommitted counts too.  Default: the branch that ours follows (origin/main)
  --seconds  how long it may take, building included
  --root     another checkout
  --list     says what it would run, and runs nothing
Always: lint, tests that the change touches, unit tests of the changed rooms, golden plans, found worlds, named bad days.
Then whatever reaches the changed files (reach.txt, includes, imports), the most reach for its cost first, until the time is used
up.  Cheap ones run first.  What reaches them and was left out is said at the end, and does not fail.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
# Names that command_of() replaces when a suite needs one: an environment that nobody needs is not made.
PYTHONS = {"@test": "DAVIT_PYTHON", "@clouds": "DAVIT_CLOUDS_PYTHON"}
LACKING = {variable: name for name, variable in PYTHONS.items() if variable not in os.environ}
os.environ.update(LACKING)
import check  # noqa: E402
from near import tree  # noqa: E402
for variable in LACKING:
    del os.environ[variable]

CORES = 2
BUILD_SHARE = 0.45      # of the time, when it is chosen what is built
UNKNOWN_COST = 8.0      # seconds, of a test file that has never run
UNKNOWN_UNIT = 2.0      # of a unit test program
LONG_FILE = 20.0        # a changed test file that takes longer runs only its changed tests
GOLDEN = "tests/prop/test_golden.py"
# Test files of a suite that is a command of its own run alone so.
ALONE = {"exec": check.pytest("tests/exec", real=True, before=check.NETNS)}
# What else belongs to such a suite runs it whole.
FOLDERS = {"tests/contract/": "contract", "tests/fuzz/": "fuzz", "tests/exec/": "exec"}
ALWAYS = {("lint", "lint"), ("storm-found", "storm-found"), ("sequences", "sequences"), ("prop", GOLDEN)}


class Job:
    """A test file, a unit test program or a suite without either, and why it is here."""

    def __init__(self, suite, unit, cost, reach=0.0, must=False, why="", ids=()):
        self.suite, self.unit, self.cost, self.reach, self.must, self.why, self.ids = suite, unit, cost, reach, must, why, list(ids)

    @property
    def worth(self):
        return self.reach / max(self.cost, 0.2)

    def __str__(self):
        return f"{self.suite}: {' '.join(self.ids) or self.unit}" if self.unit != self.suite else self.suite


def git(*args):
    return subprocess.run(["git", *args], cwd=check.ROOT, capture_output=True, text=True, check=True).stdout


def base_of(given):
    if given:
        return git("rev-parse", given).strip()
    for name in ("@{upstream}", "origin/main"):
        try:
            return git("merge-base", "HEAD", name).strip()
        except subprocess.CalledProcessError:
            continue
    return git("rev-parse", "HEAD").strip()


def changed_lines(base):
    """{path: [(first, last) line of each changed piece, as it is now]}; a file that is gone has none."""
    found = {p: [] for p in git("diff", "--name-only", "--no-renames", base).splitlines()}
    now = None
    for line in git("diff", "-U0", "--no-renames", base).splitlines():
        if line.startswith("+++ "):
            now = line[6:] if line.startswith("+++ b/") else None
        elif line.startswith("@@") and now:
            at, n = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))?", line).groups()
            found[now].append((int(at), int(at) + max(0, int(n or 1) - 1)))
    found |= {p: [(1, 10 ** 9)] for p in git("ls-files", "--others", "--exclude-standard").splitlines()}
    return found


class Table:
    """reach.txt: what reaches what, and what each column cost when it was made."""

    def __init__(self, path):
        self.columns, self.rows = [], {}
        with open(path) as f:
            for line in f:
                words = line.split()
                if words[0] == "column":
                    self.columns.append((words[1], words[2]))
                elif words[0] != "#":
                    self.rows[words[1]] = words[0]

    def reach(self, path):
        """{(suite, unit): 0 to 1} of a file; of a new file what reaches its folder."""
        row = self.rows.get(path)
        if row is not None:
            return {self.columns[i]: (int(c, 36) + 1) / 36 for i, c in enumerate(row) if c != "."}
        folder, found = os.path.dirname(path), {}
        for other in self.rows:
            if os.path.dirname(other) == folder and other.endswith((".c", ".h")) == path.endswith((".c", ".h")):
                for unit, depth in self.reach(other).items():
                    found[unit] = max(found.get(unit, 0), depth / 2)
        return found


def costs():
    """{(suite, unit): seconds}, of the last `make check` here, else of costs.txt."""
    found = {}
    with open(os.path.join(HERE, "costs.txt")) as f:
        for line in f:
            if not line.startswith("#"):
                suite, unit, seconds = line.split()
                found[suite, unit] = float(seconds)
    try:
        with open(os.path.join(check.ROOT, "build/check.json")) as f:
            found |= check.costs_of(json.load(f))
    except OSError:
        pass
    return found


def suite_of(path):
    """The suite that runs a test file; None where none does."""
    if re.fullmatch(r"tests/(unit|exec)/test_\w+\.c", path):
        return "unit"
    for name, suite in {**check.SUITES, **ALONE}.items():  # those of check-long last: what `make check` runs as well is its own
        words = suite.tests
        if f"--ignore={path}" in words or any(path.startswith(w[9:] + "/") for w in words if w.startswith("--ignore=")):
            continue
        if any(path == w or path.startswith(w.rstrip("/") + "/") for w in words if not w.startswith("-")):
            return name
    return None


def room_of(path):
    """control, plan, ... ; kit; a provider's name."""
    words = path.split("/")
    return words[1] if len(words) > 2 and words[0] in ("autoscaler", "providers") else None


class Choice:
    def __init__(self, changes):
        self.changes, self.jobs = changes, {}
        self.costs, self.table = costs(), Table(os.path.join(HERE, "reach.txt"))

    def add(self, suite, unit, reach, why, must=False, ids=()):
        if suite is None or suite not in check.SUITES:
            return
        job = self.jobs.setdefault((suite, unit), Job(suite, unit, self.costs.get((suite, unit), UNKNOWN_UNIT if suite == "unit" else UNKNOWN_COST)))
        if reach > job.reach or not job.why:
            job.reach, job.why = max(reach, job.reach), why
        job.must |= must
        job.ids += [i for i in ids if i not in job.ids]

    def changed_tests(self):
        """Tests that the change touches; of a long file only those."""
        for path, pieces in self.changes.items():
            whole = os.path.join(check.ROOT, path)
            for folder, suite in FOLDERS.items():
                if path.startswith(folder) and suite_of(path) is None:
                    self.add(suite, suite, 1.0, f"its {os.path.basename(path)} changed", must=True)
            if not os.path.isfile(whole) or not re.fullmatch(r"tests/.*/test_\w+\.(py|c)", path):
                continue
            suite = suite_of(path)
            ids = []
            if path.endswith(".py") and self.costs.get((suite, path), UNKNOWN_COST) > LONG_FILE:
                ids = [f"{path}::{name}" for name in tree.tests_at(whole, pieces)]
            self.add(suite, path, 1.0, "the change touches it", must=True, ids=ids)
            job = self.jobs.get((suite, path))
            if job and job.ids:
                job.cost = min(job.cost, LONG_FILE)

    def reached(self):
        headers = tree.Headers(check.ROOT)
        pythons = tree.Imports(check.ROOT)
        for path in self.changes:
            for source, weight in headers.sources_of(path):
                for (suite, unit), depth in self.table.reach(source).items():
                    self.add(suite, unit, depth * weight, f"reaches {path}")
            for unit in pythons.users_of(path):
                self.add(suite_of(unit), unit, 0.8, f"imports {path}")
            for unit in headers.unit_tests_of(path):
                self.add("unit", unit, 1.0, f"includes {path}")

    def rooms(self):
        rooms = {room_of(p) for p in self.changes} - {None}
        for unit in sorted(glob.glob(os.path.join(check.ROOT, "tests/unit/test_*.c"))):
            name = os.path.relpath(unit, check.ROOT)
            if any(os.path.basename(unit).startswith((f"test_{room}_", f"test_{room}.", f"test_kit_{room}_")) for room in rooms):
                self.add("unit", name, 1.0, "its room changed", must=True)

    def make(self):
        for suite, unit in ALWAYS:
            self.add(suite, unit, 1.0, "always", must=True)
        self.changed_tests()
        self.rooms()
        self.reached()
        there = [j for j in self.jobs.values() if j.unit == j.suite or os.path.isfile(os.path.join(check.ROOT, j.unit))]
        return sorted(there, key=lambda j: (not j.must, -j.worth))


def select(jobs, seconds):
    """(chosen, left out): what must run, then the most reach for its cost.  Chosen ones come cheapest first."""
    left, chosen, out = seconds * CORES, [], []
    for job in jobs:
        if job.must or job.cost <= left:
            left -= job.cost
            chosen.append(job)
        else:
            out.append(job)
    return sorted(chosen, key=lambda j: (not j.must, j.cost)), out


class Set_up:
    """What suites need beside the build, by what is there: a control plane takes a quarter of an hour to build."""

    def __init__(self):
        self.lock, self.known = threading.Lock(), {}

    def python(self, word):
        """A word of a command; where it stands for a Python environment, the path of its interpreter."""
        if word not in PYTHONS:
            return word
        with self.lock:
            if word not in self.known:
                out = subprocess.run(["tests/setup.sh", word[1:]], cwd=check.ROOT, capture_output=True, text=True, check=True).stdout
                self.known[word] = out.split()[-1]
        return os.path.join(self.known[word], "bin/python")

    def lacks(self, name):
        if name.startswith("k8s") and not os.environ.get("DAVIT_K8S_BINS"):
            found = sorted(glob.glob(os.path.expanduser(os.environ.get("DAVIT_CACHE", "~/.cache/davit") + "/k8s-*/kube-apiserver")))
            if not found:
                return "no control plane is built here: `make check-k8s` builds one"
            os.environ["DAVIT_K8S_BINS"] = os.path.dirname(found[-1])
        if name == "page" and not os.environ.get("DAVIT_AXE"):
            found = glob.glob(os.path.expanduser(os.environ.get("DAVIT_CACHE", "~/.cache/davit") + "/axe-core-*.js"))
            if not found:
                return "no Chromium is set up here: `tests/setup.sh page` does it"
            os.environ["DAVIT_AXE"] = found[-1]
        return None


SET_UP = Set_up()


def command_of(job):
    """The suite that runs this job alone."""
    suite = check.SUITES[job.suite] if job.unit == job.suite else ALONE.get(job.suite, check.SUITES[job.suite])
    if job.suite == "unit":
        return check.Suite("tests/unit/run.sh", "build/debug", f"build/debug/tests/{os.path.basename(job.unit)[:-2]}")
    if not suite.tests:
        return check.Suite(*(SET_UP.python(w) for w in suite.command))
    words = [SET_UP.python(w) for w in suite.command]
    options = suite.tests[suite.tests.index("-k"):] if "-k" in suite.tests else []
    return check.Suite(*words, tests=[*(job.ids or [job.unit]), *options])


def build(jobs):
    """Builds what they need, however long that takes: less is run then.  The reason where it fails."""
    units = [f"build/debug/tests/{os.path.basename(j.unit)[:-2]}" for j in jobs if j.suite == "unit"]
    names = {j.suite for j in jobs}
    release = ["all", "build/release/storm", "build/release/test_sequences"]
    release += ["build/release/bench_plan", "build/release/lp_solve"] if "prop" in names else []
    release += ["build/release/bench_simulate"] if "simulate" in names else []
    release += ["test-tools"] if any(n.startswith(("clouds", "e2e", "docs")) for n in names) else []
    debug = ["all", "plugins-test", *units] if units else []
    debug += ["build-contract"] if {j.suite for j in jobs if j.unit == j.suite} & {"contract", "exec"} else []
    for variant, what in (("release", release), ("debug", debug)):
        if what:
            p = subprocess.run(["make", "-s", f"-j{CORES}", f"VARIANT={variant}", *dict.fromkeys(what)], cwd=check.ROOT,
                               capture_output=True, text=True)
            if p.returncode:
                return p.stdout[-3000:] + p.stderr[-3000:]
    return None


class Runner:
    """Takes jobs in their order on both cores.  What must run runs; another job is not begun when it would end too late."""

    def __init__(self, jobs, end):
        self.jobs, self.end, self.lock = list(jobs), end, threading.Lock()
        self.runs, self.late = [], []

    def take(self):
        with self.lock:
            while self.jobs:
                job = self.jobs.pop(0)
                if job.must or time.monotonic() + job.cost <= self.end:
                    return job
                self.late.append(job)
        return None

    def work(self):
        while job := self.take():
            lack = SET_UP.lacks(job.suite)
            if lack:
                job.why = lack
                self.late.append(job)
                continue
            began = time.monotonic()
            r = check.Run(job.suite, command_of(job))
            self.runs.append((job, r))
            check.say((r.lines[-60:] + r.ends if r.failed else []) +
                      [f"{'ok  ' if not r.failed else 'FAIL'}  {job}: {r.passed} passed, {r.failed} failed, {time.monotonic() - began:.0f} s ({job.why})"])

    def run(self):
        threads = [threading.Thread(target=self.work) for _ in range(CORES)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def say_left_out(out):
    if out:
        print(f"left out: {len(out)} test files and suites that reach the change, {sum(j.cost for j in out):.0f} s; most reach first:")
    for job in sorted(out, key=lambda j: -j.reach)[:25]:
        print(f"  {job.reach:4.2f} {job.cost:6.0f} s  {job} ({job.why})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base")
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--root")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    began = time.monotonic()
    check.ROOT = os.path.abspath(args.root) if args.root else check.ROOT
    base = base_of(args.base)
    changes = changed_lines(base)
    print(f"check-near: {len(changes)} changed files since {base[:8]}: {' '.join(sorted(changes)[:12])}{' ...' if len(changes) > 12 else ''}", flush=True)
    jobs = Choice(changes).make()
    chosen, out = select(jobs, args.seconds * (1 - BUILD_SHARE))
    if args.list:
        for job in chosen:
            print(f"  {job.cost:6.1f} s  {job} ({job.why})")
        say_left_out(out)
        return 0
    broken = build(chosen)
    if broken:
        print(broken + "\ncheck-near: it does not build\n0 passed, 1 failed")
        return 1
    print(f"check-near: built in {time.monotonic() - began:.0f} s; {len(chosen)} to run", flush=True)
    # What the build did not use of its share is used.
    chosen, out = select(jobs, began + args.seconds - time.monotonic())
    chosen = [j for j in chosen if j.suite != "unit" or os.path.exists(os.path.join(check.ROOT, "build/debug/tests", os.path.basename(j.unit)[:-2]))]
    runner = Runner(chosen, began + args.seconds)
    runner.run()
    check.keep_costs([r for _, r in runner.runs], part=True)
    say_left_out(out + runner.late)
    passed, failed = (sum(getattr(r, n) for _, r in runner.runs) for n in ("passed", "failed"))
    print(f"check-near: {time.monotonic() - began:.0f} s\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
