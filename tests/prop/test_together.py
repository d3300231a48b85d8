"""Priorities, and requests beside work, cost no more than if all were one: what is served
one after the other is bought for together.  SEED= and DAVIT_CASES= try others.
"""
import copy
import json
import os
import random

import pytest

import check_plan
from bench.gen_cases import demands, facts_of, node_types
from lib import seeds
from lib.plan import davit_plan
from prop import worlds

SEED = seeds.seed(20261127)
CASES = int(os.environ.get("DAVIT_CASES") or 60)
SEEDS = range(SEED, SEED + max(CASES // 20, 1))


def world(seed, bundles=300):
    rng = random.Random(f"together {seed}")
    return rng, facts_of({"node_types": node_types(rng, 27), "demands": demands(rng, bundles, 50, .33)})


def five_priorities(rng, s):
    for d in s["demands"]:
        d["priority"] = rng.randrange(5)
    return s


def plan_of(s, budget):
    plan = json.loads(davit_plan(s, "--budget", budget))
    bad = check_plan.check(s, plan)
    assert not bad, "; ".join(bad[:5])
    return plan


def cost(s, budget):
    plan = plan_of(s, budget)
    assert all(b["launched"] == b["count"] for b in plan["bundles"])
    return plan["cost_per_hour"], plan["fleet"]["lower_bound"]


@pytest.mark.parametrize("budget", ["0ms", "100ms"])
def test_priorities_cost_nothing(budget):
    one = five = 0
    for seed in SEEDS:
        rng, s = world(seed)
        one += cost(s, budget)[0]
        five += cost(five_priorities(rng, s), budget)[0]
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
        five += cost(five_priorities(rng, s), budget)[0]
    print(f"seeds {SEEDS.start}..{SEEDS.stop - 1}, {budget}, 5,000 bundles: five priorities {five / one:.4f} of one")
    assert five <= 1.002 * one


def choices(rng, s):
    """Most have a second choice."""
    for d in rng.sample(s["demands"], len(s["demands"]) * 7 // 10):
        d["any_of"] = [{}, {"resources": {"CPU": 1}, "after": "5m"}]


def spares(rng, s):
    """A quarter is capacity that is kept free."""
    for d in rng.sample(s["demands"], len(s["demands"]) // 4):
        d["source"] = "spare"


@pytest.mark.parametrize("budget", ["0ms", "100ms"])
@pytest.mark.parametrize("change", [choices, spares])
def test_what_was_served_afterwards_is_bought_for_together(change, budget):
    one = five = 0
    for seed in SEEDS:
        rng, s = world(seed)
        one += cost(s, budget)[0]
        change(rng, five_priorities(rng, s))
        five += cost(s, budget)[0]
    print(f"seeds {SEEDS.start}..{SEEDS.stop - 1}, {budget}: {change.__name__} {five / one:.4f} of without")
    assert five <= 1.015 * one


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
        alone = plan_of(dict(high, limits=limited), "0ms")
        plan = plan_of(dict(s, limits=limited), "0ms")
        out = {x: sum(b["waiting"] for b in plan["bundles"] if b["id"] == x) for x in ("high", "low")}
        assert out["high"] <= sum(b["waiting"] for b in alone["bundles"]), f"seed {seed}"
        left += out["low"]
    assert left


def test_no_lower_priority_has_what_is_the_first_choice_of_a_higher_one():
    """Models of which there are few: who may have another goes there when the models are used up
    by its own priority, not by a lower one."""
    low = 0
    for seed in range(SEED, SEED + CASES):
        rng = random.Random(f"choice {seed}")
        types = [{"name": m, "provider": "sim", "price": rng.randrange(10, 40), "accelerator_type": m,
                  "resources": {"CPU": 64, "memory": 256 << 30, "GPU": 8}} for m in ("H100", "A100", "L4")]
        types[0]["max"] = rng.randrange(1, 4)

        def demand(name, priority, **more):
            return {"id": name, "priority": priority, "count": rng.randrange(1, 12), **more,
                    "resources": {"CPU": rng.choice([1, 4]), "GPU": rng.choice([1, 2, 4])}}
        high = [demand(f"high{k}", 2, any_of=[{"accelerator_type": m} for m in ("H100", "A100")]) for k in range(2)]
        rest = [demand("other", 1, accelerator_type=rng.choice(["A100", "L4"]))]
        rest += [demand(f"low{k}", 0, accelerator_type="H100") for k in range(2)]
        s = {"now_ms": 1795255200000, "nodes": [], "node_types": types}
        first = {}
        for name, demands in ("alone", high), ("all", high + rest):
            plan = plan_of(dict(s, demands=demands), rng.choice(["0ms", "20ms"]))
            first[name] = sum(p["count"] * l["count"] for l in plan["launches"] for p in l["placements"]
                              if p["id"].startswith("high") and p["alternative"] == 0)
        low += sum(b["launched"] for b in plan["bundles"] if b["id"].startswith("low"))
        assert first["all"] >= first["alone"], f"seed {seed}: {first}"
    assert low


def test_work_does_not_wait_for_spare_capacity():
    """However few nodes there may be, no more of it waits than if none were kept free."""
    left = 0
    for seed in range(SEED, SEED + CASES):
        rng, s = world(seed, 40)
        spares(rng, s)
        nodes = sum(l["count"] for l in json.loads(davit_plan(s, "--budget", "0ms"))["launches"])
        s["limits"] = {"max_nodes": rng.randrange(1, nodes + 1)}
        alone = dict(s, demands=[d for d in s["demands"] if d.get("source") != "spare"])
        out = [sum(b["waiting"] for b in plan_of(t, "0ms")["bundles"] if b["source"] != "spare") for t in (alone, s)]
        left += out[1]
        assert out[1] <= out[0], f"seed {seed}: {out}"
    assert left


@pytest.mark.parametrize("work_unknown", [False, True])
@pytest.mark.parametrize("bundles", [300, 5000])
def test_what_a_longer_look_finds_is_bought(bundles, work_unknown):
    """Beside nodes that are there, with a demand source or without: the proposed nodes of a
    longer plan are bought by the next plan, which takes no time."""
    better = 0
    for seed in range(SEED, SEED + max(CASES // (bundles // 60), 2)):
        rng, s = world(seed, bundles)
        s = dict(five_priorities(rng, s), work_unknown=work_unknown)
        for i, d in enumerate(s["demands"]):
            d["id"] = f"d{i}"
        few = dict(s, demands=rng.sample(s["demands"], 3))
        there = worlds.carry_out(few, json.loads(davit_plan(few, "--budget", "0ms")), "ready")
        s = dict(there, demands=s["demands"])
        at_once, longer = (json.loads(davit_plan(s, "--budget", b)) for b in ("0ms", "100ms"))
        taken = plan_of(dict(s, proposed=[
            {"type": l["type"], "zone": l["zone"], "spot": l["spot"], "count": l["count"],
             "previous": worlds.holds_of(l)} for l in longer["launches"]]), "0ms")
        assert taken["cost_per_hour"] <= longer["cost_per_hour"] + 1e-6, f"seed {seed}"
        better += longer["cost_per_hour"] < at_once["cost_per_hour"]
    assert better
