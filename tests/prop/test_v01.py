"""tests/golden/v0.1: what Davit 0.1 wrote is read for one more version, and means the same.

A file there has a twin in tests/golden that differs in names only; record.json is a record of 0.1 with its plan.
"""
import json
import os
import subprocess

import pytest

from test_golden import FILES
from lib import DAVIT
from test_plan_laws import plan_of

OLD = os.path.join(os.path.dirname(FILES[0]), "v0.1")


def read(path):
    with open(path) as f:
        return json.load(f)


@pytest.mark.parametrize("name", sorted(os.listdir(OLD)))
def test_the_same_plan(name):
    if name == "record.json":
        p = subprocess.run([DAVIT, "plan", os.path.join(OLD, name)], text=True, stdout=subprocess.PIPE, timeout=60)
        assert p.returncode == 0 and p.stdout.endswith("the same plan as recorded\n"), p.stdout
        return
    twins = [f for f in FILES if os.path.basename(f).startswith(name[:3])]
    old, now = read(os.path.join(OLD, name)), read(twins[0])
    for s in (old, now):
        s.pop("expect")
        s.pop("about")
    assert old != now
    assert plan_of(old) == plan_of(now)


def test_all_of_the_table_is_here():
    names = " ".join(json.dumps(read(os.path.join(OLD, n))) for n in os.listdir(OLD))
    for old in ("head_fresh", "holds", "foreign", "unit", "set_aside_until_ms", "set_aside_for"):
        assert f'"{old}":' in names, old


def test_old_and_new_name_together_are_refused(tmp_path):
    path = tmp_path / "both.json"
    path.write_text('{"nodes": [{"id": "a", "foreign": true, "unmanaged": false}]}')
    p = subprocess.run([DAVIT, "plan", path], text=True, stderr=subprocess.PIPE, timeout=60)
    assert p.returncode == 3 and "nodes[0].foreign: unknown key" in p.stderr, p.stderr
