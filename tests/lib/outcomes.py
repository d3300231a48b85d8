#!/usr/bin/env python3
"""pytest, with a line of JSON about every test in the file $DAVIT_OUTCOMES names.

outcomes.py ARGUMENTS...   as pytest's own.
check.py reads the file: what pytest prints is for people, and the ids of
parametrised tests may hold anything.  A test that passed and could not be
cleaned up after is a failed test, once.  A line is one of
  {"test": id, "outcome": word, "s": wall, "cpu": CPU seconds, "why": text of a failure, "kind": its exception}
  {"file": test file, "opened": [files of the project that it opened or ran]}
  {"end": exit code of pytest}       without this line the run broke off
CPU seconds are those of the suite's whole process tree while the test ran.
"""
import json
import os
import re
import sys
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + "/"
TICK = os.sysconf("SC_CLK_TCK")
COVERAGE = os.environ.get("DAVIT_REACH")  # a folder: each test file's counters go into a folder of their own below


def cpu_of_tree(root):
    """CPU seconds of a process, of all that descends from it, and of their dead.  A process that ends between two looks
    is counted by the parent that reaped it."""
    stats = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                with open(f"/proc/{entry.name}/stat") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            stats[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    mine, size = {root}, 0
    while len(mine) > size:
        size = len(mine)
        mine |= {p for p, (parent, _) in stats.items() if parent in mine}
    return sum(stats[p][1] for p in mine if p in stats) / TICK


class Opened:
    """Which files of the project this process opens or names when it starts a program, by test file."""

    def __init__(self):
        self.now, self.found = None, {}
        sys.addaudithook(self.hear)

    def hear(self, event, args):
        if self.now is None:
            return
        if event == "open":
            self.see(args[0])
        elif event == "subprocess.Popen":
            for arg in [args[0], *(args[1] or [])]:
                self.see(arg)

    def see(self, path):
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if hasattr(path, "__fspath__"):
            path = path.__fspath__()
        if not isinstance(path, str) or "\0" in path or len(path) > 4000:
            return
        path = os.path.abspath(path)
        if path.startswith(ROOT) and "/__pycache__/" not in path and not path.startswith((ROOT + "build/", ROOT + ".git/")):
            self.found.setdefault(self.now, set()).add(path[len(ROOT):])


class Outcomes:
    def __init__(self, path):
        self.out = open(path, "w", buffering=1)
        self.now, self.opened, self.root = {}, Opened(), os.getppid()

    def put(self, **row):
        self.out.write(json.dumps(row) + "\n")

    def pytest_runtest_logstart(self, nodeid, location):
        self.opened.now = nodeid.split("::")[0]
        if COVERAGE:
            os.environ["GCOV_PREFIX"] = os.path.join(COVERAGE, re.sub(r"\W", "_", self.opened.now))
        self.now = {"outcome": None, "began": time.monotonic(), "cpu": cpu_of_tree(self.root)}

    def pytest_exception_interact(self, node, call, report):
        if call.excinfo is not None:
            self.now.setdefault("kind", call.excinfo.typename)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.now["outcome"] = "failed"
            self.now["why"] = "\n".join([self.now.get("why", ""), f"-- {report.when}", report.longreprtext,
                                         *(f"-- {name}\n{text}" for name, text in report.sections)])
        elif report.skipped or report.when == "call":
            self.now["outcome"] = self.now["outcome"] or report.outcome

    def pytest_runtest_logfinish(self, nodeid, location):
        now = self.now
        self.put(test=nodeid, outcome=now["outcome"] or "failed", s=round(time.monotonic() - now["began"], 3),
                 cpu=round(max(0, cpu_of_tree(self.root) - now["cpu"]), 3), **{k: now[k] for k in ("why", "kind") if k in now})

    def pytest_collectreport(self, report):
        if not report.passed:
            self.put(test=report.nodeid, outcome="skipped" if report.skipped else "broken")

    def pytest_sessionfinish(self, exitstatus):
        for name, files in sorted(self.opened.found.items()):
            self.put(file=name, opened=sorted(files))
        self.put(end=int(exitstatus))


if __name__ == "__main__":
    path = os.environ.get("DAVIT_OUTCOMES")
    sys.exit(pytest.main(sys.argv[1:], plugins=[Outcomes(path)] if path else []))
