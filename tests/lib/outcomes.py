#!/usr/bin/env python3
"""pytest, with a line of JSON about every test in the file $DAVIT_OUTCOMES names.

outcomes.py ARGUMENTS...   as pytest's own.
check.py reads the file: what pytest prints is for people, and the ids of
parametrised tests may hold anything.  A test that passed and could not be
cleaned up after is a failed test, once.
"""
import json
import os
import sys

import pytest


class Outcomes:
    def __init__(self, path):
        self.out = open(path, "w", buffering=1)
        self.now = {}

    def put(self, nodeid, outcome):
        self.out.write(json.dumps([nodeid, outcome]) + "\n")

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.now[report.nodeid] = "failed"
        elif report.skipped or report.when == "call":
            self.now.setdefault(report.nodeid, report.outcome)

    def pytest_runtest_logfinish(self, nodeid, location):
        self.put(nodeid, self.now.pop(nodeid, "failed"))

    def pytest_collectreport(self, report):
        if not report.passed:
            self.put(report.nodeid, "skipped" if report.skipped else "broken")

    def pytest_sessionfinish(self, exitstatus):
        self.put("", int(exitstatus))  # without it the run broke off


if __name__ == "__main__":
    path = os.environ.get("DAVIT_OUTCOMES")
    sys.exit(pytest.main(sys.argv[1:], plugins=[Outcomes(path)] if path else []))
