"""What is launched at once while a purchase is thought over, on random worlds.

PLAN_SEED=n starts elsewhere, PLAN_WORLDS=n tries more (a tenth of it here: the
demand is large).
"""
import json
import os
import random

import check_plan
import worlds
from lib.plan import davit_plan

SEED = int(os.environ.get("PLAN_SEED", "1"))
WORLDS = max(int(os.environ.get("PLAN_WORLDS", "400")) // 10, 1)
AT_ONCE, THOUGHT = "1ms", "50ms"


def plan_of(snapshot, budget=AT_ONCE):
    plan = json.loads(davit_plan(snapshot, "--budget", budget))
    bad = check_plan.check(snapshot, plan)
    assert not bad, "; ".join(bad[:5])
    return plan


def types(rng):
    v = []
    for i in range(rng.randint(3, 9)):
        gpu = rng.choice([0, 0, 1, 2, 4, 8])
        cpu = rng.choice([4, 8, 16, 32, 64])
        t = {"name": f"t{i}", "provider": "sim", "resources": {"CPU": cpu, "memory": f"{cpu * rng.choice([2, 4, 8])}Gi"},
             "price": round((0.05 * cpu + 0.9 * gpu) * rng.uniform(.85, 1.15), 4)}
        if gpu:
            t["resources"]["GPU"] = gpu
            t["accelerator_type"] = rng.choice(["T4", "A100"])
        if rng.random() < .2:
            t["resources"]["license"] = 1
        if rng.random() < .3:
            t["offers"] = [{"zone": z, "price": t["price"] * (1 + .01 * k)} for k, z in enumerate("ab")]
        v.append(t)
    return v


def bundle(rng, models):
    b = {"resources": {"CPU": rng.choice([.5, 1, 2, 3, 5, 7, 11]), "memory": f"{rng.randint(1, 30)}Gi"},
         "count": rng.randint(5, 60)}
    if rng.random() < .5 and models:
        b["resources"]["GPU"] = rng.choice([.25, .5, 1, 2, 3])
        if rng.random() < .6:
            b["accelerator_type"] = rng.choice(models)
    elif rng.random() < .15:
        b["resources"]["license"] = 1
    return b


def large_world(rng):
    node_types = types(rng)
    models = sorted({t["accelerator_type"] for t in node_types if "accelerator_type" in t})
    return {"now_ms": worlds.NOW, "limits": {"conserve": rng.random() < .5}, "node_types": node_types, "nodes": [],
            "requests": [{"owner": "big", "bundles": [bundle(rng, models) for _ in range(rng.randint(3, 40))]}]}


def every_world(law):
    seen = {}
    for seed in range(SEED, SEED + WORLDS):
        rng = random.Random(seed)
        try:
            law(large_world(rng), rng, seen)
        except AssertionError as e:
            raise AssertionError(f"seed {seed}: {e}") from e
    return seen


def words(entry):
    return {k: entry[k] for k in ("source", "owner", "id", "shape", "count") if k in entry}


def deciding(plan):
    """What is to be decided, as the daemon says it."""
    known = {}
    for place in plan["launches"]:
        for h in place["holds"] if place.get("open") else []:
            at = known.setdefault((h["source"], h["owner"], h.get("id", ""), h["shape"]), dict(words(h), count=0))
            at["count"] += h["count"] * place.get("count", 1)
    return list(known.values())


def sure(launch):
    return launch.get("sure", launch["count"])


def advice(plan):
    return [{"type": l["type"], "zone": l["zone"], "spot": l["spot"], "count": l["count"], "holds": worlds.holds_of(l)}
            for l in plan["launches"] if l["holds"]]


# ---- a small request

def small_does_not_wait(s, rng, seen):
    first = plan_of(s)
    if all(sure(l) == l["count"] for l in first["launches"]) or any(b["waiting"] + b["infeasible"] for b in first["bundles"]):
        return
    models = sorted({t["accelerator_type"] for t in s["node_types"] if "accelerator_type" in t})
    small = dict(bundle(rng, models), count=rng.randint(1, 20))
    now = dict(s, deciding=deciding(first), requests=s["requests"] + [{"owner": "small", "bundles": [small]}])
    thought = plan_of(s, THOUGHT) if rng.random() < .5 else None
    if thought:
        now["advice"] = advice(thought)
    plan = plan_of(now)
    if any(b["owner"] == "small" and b["infeasible"] for b in plan["bundles"]):
        return
    seen["small"] = seen.get("small", 0) + 1
    bought = 0
    for l in plan["launches"]:
        for h in l["holds"]:
            # which of equal bundles lies where is not for us to say: their number is
            assert sure(l) == l["count"] or h["owner"] != "small" or \
                any(x["owner"] == "big" and x["shape"] == h["shape"] for x in now["deciding"]), "the small one waits"
            bought += h["count"] * sure(l)
    assert bought >= small["count"], f"only {bought} are launched at once"
    alone = plan_of(dict(s, requests=[{"owner": "small", "bundles": [small]}]))
    if thought:    # what it found for the large one still holds
        assert plan["cost_per_hour"] <= thought["cost_per_hour"] + alone["cost_per_hour"] + 1e-6


def test_small_does_not_wait():
    seen = every_world(small_does_not_wait)
    assert seen.get("small", 0) >= WORLDS // 4, seen


# ---- launched in advance

def carried_out(s, plan):
    """The nodes that are launched while it is thought over: what they are to hold is not decided."""
    nodes = list(s["nodes"])
    for l in plan["launches"]:
        nodes += [{"id": f"agreed-{len(nodes) + k}", "type": l["type"], "zone": l["zone"], "spot": l["spot"],
                   "state": "intended", "undecided": True} for k in range(sure(l))]
    return dict(s, nodes=nodes, deciding=deciding(plan))


def agreed_is_wanted(s, rng, seen):
    """What is launched in advance, and then the rest by the longer thought, cost what that would have cost alone."""
    first, thought = plan_of(s), plan_of(s, THOUGHT)
    early = sum(sure(l) for l in first["launches"] if l.get("open"))
    if early == 0 or not all(l.get("open") for l in first["launches"]):
        return
    assert not any(b["waiting"] + b["infeasible"] for b in first["bundles"])
    of = {}
    for l in thought["launches"]:
        of[l["type"], l["zone"], l["spot"]] = of.get((l["type"], l["zone"], l["spot"]), 0) + l["count"]
    for l in first["launches"]:
        of[l["type"], l["zone"], l["spot"]] = of.get((l["type"], l["zone"], l["spot"]), 0) - sure(l)
    assert min(of.values()) >= 0, f"the longer thought would not have bought it: {of}"
    paid = sum(l["price_per_hour"] * sure(l) for l in first["launches"])
    now = carried_out(s, first)
    meanwhile = plan_of(now)
    assert not any(sure(l) for l in meanwhile["launches"] if l.get("open")), "agreed upon twice"
    last = plan_of(dict(now, advice=advice(thought)))
    assert paid + last["cost_per_hour"] <= thought["cost_per_hour"] + 1e-6
    assert not any(b["waiting"] for b in last["bundles"])
    seen["agreed"] = seen.get("agreed", 0) + 1
    seen["early"] = seen.get("early", 0) + early
    seen["all"] = seen.get("all", 0) + thought["launched"]
    seen["part"] = seen.get("part", 0) + (early < first["launched"])


def test_agreed_is_wanted():
    seen = every_world(agreed_is_wanted)
    print(seen)
    assert seen.get("part", 0) >= WORLDS // 8, seen
