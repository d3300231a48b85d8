"""tests/golden/NNN-why.json: a snapshot, and under "expect" what matters of
its plan.  Each is also a bug that once was or could have been: read "about".

expect: launch {type: count}; why {reason of launches: count}; zones of the launches, in order of price; nodes
{id: "action why"}; placements {node: [ids]}; bundles {"owner id": "outcome count"}; refusals {why: count}.
"""
import glob
import json
import os

import pytest

import check_plan
from lib import TESTS
from test_plan_laws import plan_of

FILES = sorted(glob.glob(os.path.join(TESTS, "golden", "*.json")))


def outcome(plan, who):
    got = {}
    for b in plan["bundles"]:
        if " ".join(filter(None, (b["owner"], b["id"]))) == who:
            for k in ("placed", "launched", "waiting", "infeasible"):
                got[k] = got.get(k, 0) + b[k]
    return got


@pytest.mark.parametrize("path", FILES, ids=os.path.basename)
def test_golden(path):
    with open(path) as f:
        s = json.load(f)
    plan, expect = plan_of(s), s["expect"]
    assert not check_plan.check(s, plan)
    launch = {}
    for l in plan["launches"]:
        launch[l["type"]] = launch.get(l["type"], 0) + l["count"]
    assert launch == {k: v for k, v in expect["launch"].items() if v}
    for why, count in expect.get("why", {}).items():
        assert sum(l["count"] for l in plan["launches"]
                   if l["why"] == why) == count, why
    if "zones" in expect:
        assert [l["zone"] for l in sorted(
            plan["launches"], key=lambda l: l["price_per_hour"])] == \
            expect["zones"]
    nodes = {n["id"]: f"{n['action']} {n['why']}" for n in plan["nodes"]}
    assert {k: nodes[k] for k in expect.get("nodes", {})} == \
        expect.get("nodes", {})
    for node, ids in expect.get("placements", {}).items():
        held = next(n["placements"] for n in plan["nodes"] if n["id"] == node)
        assert [h["id"] for h in held] == ids, node
    for who, what in expect.get("bundles", {}).items():
        key, count = what.split()
        assert outcome(plan, who)[key] == int(count), (who, what)
    for why, count in expect.get("refusals", {}).items():
        assert sum(r["why"] == why for b in plan["bundles"]
                   for r in b["refusals"]) == count, why


def test_there_are_golden_files():
    assert len(FILES) >= 30
