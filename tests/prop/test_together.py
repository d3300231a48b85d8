"""Priorities, and requests beside work, cost no more than if all were one: what is served
one after the other is bought for together.  DAVIT_SEED= and DAVIT_CASES= try others.
"""
import copy
import json
import os
import random

import pytest

import check_plan
from bench.gen_cases import demands, facts_of, node_types
from lib.plan import davit_plan

SEED = int(os.environ.get("DAVIT_SEED") or 20261127)
CASES = int(os.environ.get("DAVIT_CASES") or 60)
SEEDS = range(SEED, SEED + max(CASES // 20, 1))


def world(seed, bundles=300):
    rng = random.Random(f"together {seed}")
    return rng, facts_of({"node_types": node_types(rng, 27), "demands": demands(rng, bundles, 50, .33)})


def cost(s, budget):
    plan = json.loads(davit_plan(s, "--budget", budget))
    bad = check_plan.check(s, plan)
    assert not bad, "; ".join(bad[:5])
    assert all(b["launched"] == b["count"] for b in plan["bundles"])
    return plan["cost_per_hour"], plan["fleet"]["lower_bound"]


@pytest.mark.parametrize("budget", ["0ms", "100ms"])
def test_priorities_cost_nothing(budget):
    one = five = 0
    for seed in SEEDS:
        rng, s = world(seed)
        one += cost(s, budget)[0]
        for d in s["demands"]:
            d["priority"] = rng.randrange(5)
        five += cost(s, budget)[0]
    print(f"seeds {SEEDS.start}..{SEEDS.stop - 1}, {budget}: five priorities {five / one:.4f} of one")
    assert five <= 1.015 * one


@pytest.mark.parametrize("budget", ["0ms", "100ms"])
def test_requests_share_machines_with_work(budget):
    """The same bundles as a request and as work need the machines of one of them; of half
    of them each, some less than all of them as work."""
    work = same = half = bound = 0
    for seed in SEEDS:
        rng, s = world(seed)
        work += cost(s, budget)[0]
        t = dict(s, requests=copy.deepcopy(s["demands"]))
        same += cost(t, budget)[0]
        mixed = rng.sample(s["demands"], len(s["demands"]))
        k = len(mixed) // 2
        x, y = cost(dict(s, requests=mixed[:k], demands=mixed[k:]), budget)
        half, bound = half + x, bound + y
    print(f"seeds {SEEDS.start}..{SEEDS.stop - 1}, {budget}: the same twice {same / work:.4f} of once, "
          f"half of each {half / work:.4f}, {half / bound:.4f} of its bound")
    assert same <= 1.05 * work
    assert half <= .80 * work


@pytest.mark.parametrize("budget", ["0ms", "100ms"])
def test_much_is_bought_for_once(budget):
    """So much that the plan that buys one after the other is not made."""
    one = five = 0
    for seed in SEEDS:
        rng, s = world(seed, 5000)
        one += cost(s, budget)[0]
        for d in s["demands"]:
            d["priority"] = rng.randrange(5)
        five += cost(s, budget)[0]
    print(f"seeds {SEEDS.start}..{SEEDS.stop - 1}, {budget}, 5,000 bundles: five priorities {five / one:.4f} of one")
    assert five <= 1.002 * one


@pytest.mark.parametrize("bundles", [300, 5000])
def test_the_highest_priority_comes_first_where_nodes_are_few(bundles):
    """However it is bought for: what is left out has no higher priority than what is not."""
    left = 0
    for seed in range(SEED, SEED + max(CASES // (bundles // 60), 1)):
        rng, s = world(seed, bundles)
        nodes = sum(l["count"] for l in json.loads(davit_plan(s, "--budget", "0ms"))["launches"])
        for d in s["demands"]:
            d["priority"] = rng.randrange(2)
            d["id"] = "high" if d["priority"] else "low"
        high = dict(s, demands=[d for d in s["demands"] if d["priority"]])
        limited = {"max_nodes": max(nodes // 2, 1)}
        alone = json.loads(davit_plan(dict(high, limits=limited), "--budget", "0ms"))
        plan = json.loads(davit_plan(dict(s, limits=limited), "--budget", "0ms"))
        bad = check_plan.check(dict(s, limits=limited), plan)
        assert not bad, "; ".join(bad[:5])
        out = {x: sum(b["waiting"] for b in plan["bundles"] if b["id"] == x) for x in ("high", "low")}
        assert out["high"] <= sum(b["waiting"] for b in alone["bundles"]), f"seed {seed}"
        left += out["low"]
    assert left
