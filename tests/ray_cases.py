#!/usr/bin/env python3
"""Runs a file of scheduler cases through `davit plan` and compares with what
Ray's own scheduler answered.

usage: ray_cases.py [-v] FILE...        DAVIT=path of the binary

A case: node_types [{name, resources, labels, min, max, launch_config_hash?,
idle_timeout_s?}], nodes [{id, type, status, kind?, available, total, idle_s,
config_hash?, labels?}], demands [{count, resources, label_in?,
label_not_in?}], gangs [{constraint: null|affinity|anti_affinity, bundles}],
constraints [{count, resources}], max_nodes, idle_timeout_s,
check_launch_config, expect {launch, terminate [{id: "a|b", cause}],
infeasible_demands, infeasible_gangs, infeasible_constraints}.

Feasibility and terminations must be equal; launches equal, or cheaper, or
fewer nodes.  Ray knows no prices, so both sides are priced by resources.
Placing more than Ray does is no failure either; what that costs is not
compared then.  Ray's ends without an id are nodes it launched and took back
in one breath: not compared either.
Prints a line a case, then "N passed, N failed".
"""
import json
import sys

from lib.plan import davit_plan

IMPLICIT = "node:__internal_implicit_resource_"
NOW_MS = 1_700_000_000_000

STATES = {
    "QUEUED": "intended", "REQUESTED": "requested", "ALLOCATED": "starting",
    "RAY_INSTALLING": "starting", "RAY_RUNNING": "ready",
    "RAY_STOP_REQUESTED": "draining",
}  # everything else never runs Ray again: stopping
CAUSES = {
    "idle": "IDLE", "outdated": "OUTDATED", "over_max_of_type":
    "MAX_NUM_NODE_PER_TYPE", "over_max_nodes": "MAX_NUM_NODES",
}


def price(resources):
    """Dollars an hour by resources: only the order matters."""
    unit = {"CPU": 0.04, "GPU": 1.0, "TPU": 1.0, "neuron_cores": 0.7,
            "HPU": 1.0, "NPU": 1.0, "memory": 0.005 / 2**30,
            "object_store_memory": 0}
    return round(0.0001 + sum(
        v * unit.get(k, 0 if k.startswith("accelerator_type:") else 0.01)
        for k, v in resources.items()), 6)


def implicit_names(case):
    rows = [d["resources"] for d in case["demands"] + case["constraints"]]
    rows += [b for g in case["gangs"] for b in g["bundles"]]
    return {k for r in rows for k in r if k.startswith(IMPLICIT)}


def bundle(resources, count=1, d=None):
    d = d or {}
    selector = [{"key": k, "op": op, "values": list(v)}
                for key, op in (("label_in", "in"), ("label_not_in", "not_in"))
                for k, v in (d.get(key) or {}).items()]
    b = {"resources": dict(resources), "count": count}
    if selector:
        b["selector"] = selector
    return b


def node_of(n, types, case, implicit):
    t = types.get(n["type"])
    state = STATES.get(n["status"], "stopping")
    # Ray keeps no launch hash for a node that does not run yet: with the check
    # on and a hash on the type, such a node counts as outdated.
    known = n.get("config_hash", "") if n["status"] == "RAY_RUNNING" else ""
    want = (t or {}).get("launch_config_hash") or ""
    r = {"id": n["id"], "type": n["type"], "state": state,
         "head": n.get("kind") == "HEAD",
         "outdated": bool(t is None or (want and want != known))}
    if n["status"] == "RAY_RUNNING":
        total = dict(n.get("total") or (t or {}).get("resources", {}))
        free = dict(n.get("available", total))
        for name in implicit:  # each node has one of every such name
            free.setdefault(name, 1)
            total.setdefault(name, 1)
        idle = n.get("idle_s") or 0
        r.update(total=total, available=free,
                 idle_ms=int(idle * 1000) if idle > 0 else -1)
        labels = n.get("labels", (t or {}).get("labels", {}))
        if labels:
            r["labels"] = labels
    return r


def snapshot_of(case):
    types = {t["name"]: t for t in case["node_types"]}
    implicit = implicit_names(case)
    heads = sum(n.get("kind") == "HEAD" and n["status"] in STATES
                for n in case["nodes"])
    limits = {"idle_timeout_s": case.get("idle_timeout_s"),  # null: never
              "end_outdated": case.get("check_launch_config", True),
              # Ray only prefers nodes without a GPU for work without one; so
              # do prices.
              "conserve": False}
    if case.get("max_nodes") is not None:  # Ray's counts the head
        limits["max_nodes"] = max(0, case["max_nodes"] - heads)
    s = {"cluster": case["name"], "now_ms": NOW_MS, "limits": limits,
         "node_types": [], "nodes": [], "demands": [], "gangs": [],
         "requests": []}
    for t in case["node_types"]:
        row = dict(t["resources"])
        e = {"name": t["name"], "provider": "sim", "labels": t.get("labels") or {},
             "min": t.get("min") or 0, "price": price(row)}
        for name in implicit:
            row.setdefault(name, 1)
        e["resources"] = row
        if t.get("max") is not None:
            e["max"] = t["max"]
        if t.get("idle_timeout_s") is not None:
            e["idle_timeout_s"] = t["idle_timeout_s"]
        s["node_types"].append(e)
    s["nodes"] = [node_of(n, types, case, implicit) for n in case["nodes"]]
    for d in case["demands"]:
        s["demands"].append({"owner": "ray", "bundles": [
            bundle(d["resources"], d["count"], d)]})
    strategy = {None: "PACK", "affinity": "STRICT_PACK",
                "anti_affinity": "STRICT_SPREAD"}
    for i, g in enumerate(case["gangs"]):
        s["gangs"].append({"owner": "ray", "id": f"pg{i}",
                           "strategy": strategy[g.get("constraint")],
                           "bundles": [bundle(b) for b in g["bundles"]]})
    if case["constraints"]:  # one constraint, whole or not at all
        s["requests"].append({"owner": "ray", "strategy": "PACK", "bundles": [
            bundle(c["resources"], c["count"], c)
            for c in case["constraints"]]})
    return s


def plan_of(snapshot):
    return json.loads(davit_plan(snapshot))


def unplaced(plan, source):
    n, owners = 0, set()
    for b in plan["bundles"]:
        if b["source"] == source:
            left = b["waiting"] + b["infeasible"]
            n += left
            if left:
                owners.add(b["demand"])
    return n, len(owners)


def match_ends(expected, got):
    """Every expected end has one of its ids among what is ended."""
    if not expected:
        return not got
    first, rest = expected[0], expected[1:]
    for g in got:
        if g[0] in first["id"].split("|") and g[1] == first["cause"]:
            left = list(got)
            left.remove(g)
            if match_ends(rest, left):
                return True
    return False


def compare(case, plan):
    """A list of complaints."""
    bad, expect, more = [], case["expect"], False
    costs = {t["name"]: price(t["resources"]) for t in case["node_types"]}
    for key, source, which in (("infeasible_demands", "task", 0),
                               ("infeasible_gangs", "gang", 1),
                               ("infeasible_constraints", "request", 1)):
        got = unplaced(plan, source)[which]
        more = more or got < expect.get(key, 0)
        if got > expect.get(key, 0):
            bad.append(f"{key} {got}, Ray {expect.get(key, 0)}")
    launch = {}
    for l in plan["launches"]:
        launch[l["type"]] = launch.get(l["type"], 0) + l["count"]
    theirs = {k: v for k, v in expect["launch"].items() if v}
    taken_back = any(not e["id"] for e in expect["terminate"])
    if launch != theirs and not more and not taken_back:
        ours_cost = sum(costs[k] * v for k, v in launch.items())
        their_cost = sum(costs[k] * v for k, v in theirs.items())
        if (ours_cost > their_cost + 1e-9 and
                sum(launch.values()) >= sum(theirs.values())):
            bad.append(f"launches {launch} at {ours_cost:.4f}, "
                       f"Ray {theirs} at {their_cost:.4f}")
    # A node that Ray is stopping already is ended again by Ray, not by us.
    stopping = {n["id"] for n in case["nodes"]
                if n["status"] == "RAY_STOP_REQUESTED"}
    want = [e for e in expect["terminate"]
            if e["id"] and not set(e["id"].split("|")) <= stopping]
    got = [(n["id"], CAUSES.get(n["why"], n["why"]))
           for n in plan["nodes"] if n["action"] == "end"]
    if not match_ends(want, got):
        bad.append(f"ends {sorted(got)}, Ray "
                   f"{sorted((e['id'], e['cause']) for e in want)}")
    return bad


def main(argv):
    verbose = "-v" in argv
    files = [a for a in argv[1:] if a != "-v"]
    if not files:
        print(__doc__)
        return 2
    passed = failed = 0
    for path in files:
        with open(path) as f:
            cases = json.load(f)["cases"]
        for case in cases:
            try:
                plan = plan_of(snapshot_of(case))
                bad = compare(case, plan)
            except Exception as e:
                plan, bad = None, [f"{type(e).__name__}: {e}"]
            if bad:
                failed += 1
                print(f"FAIL {case['name']}: {'; '.join(bad)}")
                if verbose and plan:
                    print(json.dumps(plan, indent=1))
            else:
                passed += 1
                print(f"ok   {case['name']}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
