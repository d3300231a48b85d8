"""Bounds of whole fleets against exact optima: small random snapshots with nodes that
are there, busy, idle and on their way, gangs, labels, requests, mins and limits.

HiGHS chooses whole numbers of machines and of the ways to fill them, which are
listed one by one.  It knows mins, max, max_nodes and the budget exactly; a gang
is its bundles.  The bound must never be above, and its certificate must hold.
SEED= and DAVIT_CASES= try others.
"""
import itertools
import json
import os
import random
from collections import Counter

import highspy

import check_plan
from check_bound import MICRO, Fleet
from lib import seeds
from lib.plan import davit_plan
from plan_world import INF, World, fits

SEED = seeds.seed(20261122)
CASES = int(os.environ.get("DAVIT_CASES") or 60)


def snapshot_make(seed):
    rng = random.Random(f"fleet {seed}")
    types, nodes = [], []
    for i in range(rng.randint(1, 4)):
        gpu = rng.choice([0, 0, 1, 2, 4])
        t = {"name": f"t{i}", "provider": "sim", "price": round(rng.uniform(.2, 4), rng.choice([1, 4])),
             "resources": {"CPU": rng.choice([2, 4, 8, 16]), **({"GPU": gpu} if gpu else {})}}
        if gpu:
            t["accelerator_type"] = rng.choice(["T4", "A100"])
        if rng.random() < .4:
            t["max"] = rng.randint(1, 4)
        if rng.random() < .2:
            t["min"] = min(rng.randint(1, 2), t.get("max", 2))
        types.append(t)
    for i in range(rng.choice([0, 0, 1, 2, 3, 4])):
        t = rng.choice(types)
        n = {"id": f"n{i}", "type": t["name"]}
        state = rng.choice(["busy", "busy", "idle", "starting"])
        if state == "starting":
            n["state"] = "starting"
        else:
            n["total"] = dict(t["resources"])
            n["available"] = dict(t["resources"])
            if state == "idle":
                n["idle_ms"] = rng.choice([1000, 90000])
            else:
                n["available"] = {k: rng.randint(0, v) for k, v in t["resources"].items()}
        nodes.append(n)
    s = {"now_ms": 1_800_000_000_000, "node_types": types, "nodes": nodes, "limits": {}}
    if rng.random() < .3:
        s["limits"]["max_nodes"] = rng.randint(2, 8)
    if rng.random() < .3:
        s["limits"]["max_cost_per_hour"] = rng.randint(3, 20)

    def bundle():
        r = {"CPU": rng.choice([.5, 1, 2, 3, 4])}
        g = rng.choice([0, 0, .3, .5, .6, 1, 2])
        b = {"resources": {**r, **({"GPU": g} if g else {})}, "count": rng.randint(1, 5)}
        if g and rng.random() < .4:
            b["accelerator_type"] = rng.choice(["T4", "A100", ["T4", "A100"]])
        return b

    s["demands"] = [bundle() for _ in range(rng.randint(0, 4))]
    s["requests"] = [bundle() for _ in range(rng.choice([0, 0, 1, 2]))]
    s["gangs"] = [{"strategy": rng.choice(["PACK", "SPREAD", "STRICT_SPREAD", "STRICT_PACK"]),
                   "bundles": [{**bundle(), "count": rng.randint(1, 3)} for _ in range(rng.randint(1, 2))]}
                  for _ in range(rng.choice([0, 0, 1, 2]))]
    return s


def fills(fleet, b, side):
    """Every way to fill one side of a machine to which nothing can be added."""
    items = [i for i, e in enumerate(fleet.items) if e["request"] == (side == 0) and i in b.may]
    row, found = b.rows[side], []

    def holds(counts):
        return fits(row, [(fleet.needs[i], n) for i, n in zip(items, counts) if n])

    def grow(k, counts):
        if k == len(items):
            if any(counts) and not any(
                    counts[q] < fleet.items[i]["count"] and holds(counts[:q] + [counts[q] + 1] + counts[q + 1:])
                    for q, i in enumerate(items)):
                found.append(dict((i, n) for i, n in zip(items, counts) if n))
            return
        for m in itertools.count():
            c = counts + [m] + [0] * (len(items) - k - 1)
            if m > fleet.items[items[k]]["count"] or not holds(c):
                break
            grow(k + 1, c[:k + 1])

    grow(0, [])
    return found


class Program:
    """Whole numbers of machines."""

    def __init__(self):
        self.h = highspy.Highs()
        for k, v in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0), ("threads", 1)):
            self.h.setOptionValue(k, v)
        self.n = 0

    def var(self, cost, most=INF):
        self.h.addVar(0, highspy.kHighsInf if most == INF else most)
        self.h.changeColCost(self.n, cost)
        self.h.changeColIntegrality(self.n, highspy.HighsVarType.kInteger)
        self.n += 1
        return self.n - 1

    def row(self, low, high, terms):
        inf = highspy.kHighsInf
        self.h.addRow(-inf if low is None else low, inf if high is None else high, len(terms),
                      [v for v, _ in terms], [float(c) for _, c in terms])

    def least(self):
        self.h.run()
        if self.h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return self.h.getInfo().objective_function_value


def optimum(f, launches):
    """Dollars: of the cheapest fleet, or of the cheapest launches beside all there is."""
    p, w = Program(), f.w
    cover = [[] for _ in f.items]
    stay = [f.node_bin(n, 0) for n in f.stays]
    some = [f.node_bin(n, f.node_price(n)) for n in f.others]
    machines = []
    for b in stay + some + list(f.offers()):
        price = 0 if launches and b.most == 1 and b in some else b.price / MICRO
        x = p.var(price, b.most)
        machines.append((x, b))
        for side in (0, 1):
            z = []
            for fill in fills(f, b, side):
                v = p.var(0)
                z.append((v, 1))
                for i, n in fill.items():
                    cover[i].append((v, n))
            p.row(None, 0, z + [(x, -1)])
    for e, terms in zip(f.items, cover):
        p.row(e["count"], None, terms)
    for t in w.types.values():
        mine = [(x, 1) for x, b in machines if b.family == t.name and b not in stay]
        if t.max != INF:
            p.row(None, f.left(t), mine)
        n = min(t.min - f.fixed(t.name), f.own(t.name))
        if n > 0:
            p.row(n, None, mine)
    mine = [(x, 1) for x, b in machines if b not in stay]
    if w.max_nodes is not None:
        own = sum(f.kept(n) for n in f.others) + sum(f.bought.values())
        p.row(None, max(w.max_nodes - len(f.stays), own), mine)
    paid = sum(f.node_price(n) for n in f.stays) / MICRO
    if w.max_cost is not None and not launches:
        p.row(None, max(w.max_cost, f.cost() / MICRO) - paid, [(x, b.price / MICRO) for x, b in machines])
    best = p.least()
    return None if best is None else best + (0 if launches else paid)


def told(name, parts):
    parts.sort()
    n = len(parts)
    print("%s: %d cases; over the optimum: worst %.3f, one in 100 %.3f, in 10 %.3f, in 4 %.3f, median %.3f, "
          "mean %.3f, %.0f %% are the optimum" %
          (name, n, parts[0], parts[n // 100], parts[n // 10], parts[n // 4], parts[n // 2], sum(parts) / n,
           100 * sum(abs(x - 1) < 1e-6 for x in parts) / n))


def test_fleet_bounds():
    parts = {"fleet's bound": [], "fleet's bound beyond what is paid": [], "launches' bound": [], "fleet's cost": []}
    for seed in range(SEED, SEED + CASES):
        s = snapshot_make(seed)
        plan = json.loads(davit_plan(s, "--budget", "20ms"))
        bad = check_plan.check(s, plan)
        assert not bad, f"seed {seed}: {'; '.join(bad[:5])}"
        f = Fleet(World(s), plan)
        best = optimum(f, False)
        assert best is not None, f"seed {seed}: the plan's fleet is one"
        cost, bound = plan["fleet"]["cost_per_hour"], plan["fleet"]["lower_bound"]
        assert bound <= best + 2e-6, f"seed {seed}: bound {bound}, the optimum {best}"
        assert cost >= best - 2e-6, f"seed {seed}: cost {cost}, the optimum {best}: the oracle is wrong"
        paid = plan["certificate"]["paid_per_hour"]
        if best > 1e-6:
            parts["fleet's bound"].append(bound / best)
            parts["fleet's cost"].append(cost / best)
        if best > paid + 1e-6:
            parts["fleet's bound beyond what is paid"].append((bound - paid) / (best - paid))
        least = optimum(f, True)
        assert plan["lower_bound"] <= least + 2e-6, \
            f"seed {seed}: launches' bound {plan['lower_bound']}, the optimum {least}"
        if least > 1e-6:
            parts["launches' bound"].append(plan["lower_bound"] / least)
    print(f"seeds {SEED}..{SEED + CASES - 1}")
    for name, v in parts.items():
        told(name, v)
    v = parts["fleet's bound"]
    assert sum(v) >= 0.9 * len(v)


def numbers_plan():
    """Six bundles need one and a half of a dear machine, five others may lie anywhere."""
    s = {"now_ms": 1_800_000_000_000, "nodes": [], "limits": {}, "node_types": [
        {"name": name, "provider": "sim", "price": price, "accelerator_type": label, "resources": {"CPU": 4, "GPU": 4}}
        for name, label, price in (("dear", "A100", 20.0), ("cheap", "T4", 1.2))],
        "demands": [{"resources": {"GPU": 1}, "count": 6, "accelerator_type": "A100"},
                    {"resources": {"GPU": 1}, "count": 5}]}
    return s, json.loads(davit_plan(s, "--budget", "20ms"))


def test_numbers_of_machines():
    """Two whole ones are proved where the linear program says one and a half."""
    s, plan = numbers_plan()
    assert not check_plan.check(s, plan)
    for part in ("fleet", "launches"):
        assert [e["machines"] for e in plan["certificate"][part]["at_least"]] == [2]
    assert plan["fleet"]["cost_per_hour"] == plan["fleet"]["lower_bound"] == plan["lower_bound"] == 41.2
    for break_it in (lambda e: e.update(machines=3),                # more than the shares say
                     lambda e: e["shares"].clear(),                 # no shares at all
                     lambda e: e["shares"][0].update(nanos=100_000_000),  # too small for two
                     lambda e: e.update(worth_nanos=2 * e["worth_nanos"] + 10**9)):  # a machine is worth more than it costs
        s, plan = numbers_plan()
        break_it(plan["certificate"]["fleet"]["at_least"][0])
        assert any("proved" in b for b in check_plan.check(s, plan))


def test_what_money_buys_is_no_limit_of_the_certificate():
    """Five machines are all that the budget allows; the worths hold for any number."""
    s = {"now_ms": 1_800_000_000_000, "nodes": [], "limits": {"max_cost_per_hour": 19}, "node_types": [
        {"name": "t", "provider": "sim", "price": 3.7612, "accelerator_type": "A100", "resources": {"CPU": 2, "GPU": 2}}],
        "demands": [{"resources": {"CPU": 1, "GPU": .6}, "count": 5, "accelerator_type": "A100"},
                    {"resources": {"CPU": 2, "GPU": .5}, "count": 5, "accelerator_type": ["T4", "A100"]},
                    {"resources": {"CPU": .5, "GPU": 1}, "count": 3}]}
    for budget in ("1ms", "20ms"):
        plan = json.loads(davit_plan(s, "--budget", budget))
        assert not check_plan.check(s, plan)
        assert plan["fleet"]["lower_bound"] == 18.806


def test_a_false_certificate_is_seen():
    """A worth that is too high, a bound that is, bundles that are not the plan's."""
    seen = 0
    for seed in range(SEED, SEED + 40):
        s = snapshot_make(seed)
        plan = json.loads(davit_plan(s, "--budget", "20ms"))
        said = plan["fleet"]["lower_bound"]
        most = Fleet(World(s), plan).proved() / MICRO
        if not plan["certificate"]["worths"] or said >= plan["fleet"]["cost_per_hour"] - 1e-6:
            continue
        plan["fleet"]["lower_bound"] = (most + plan["fleet"]["cost_per_hour"]) / 2 + 1e-4
        assert any("proved" in b for b in check_plan.check(s, plan)), f"seed {seed}"
        plan["fleet"]["lower_bound"] = said
        if said > plan["certificate"]["paid_per_hour"] + 1e-3:
            for e in plan["certificate"]["worths"]:
                e["worth_nanos"] = 0
            plan["certificate"]["fleet"].update(at_least=[])
            assert any("proved" in b for b in check_plan.check(s, plan)), f"seed {seed}"
        plan["certificate"]["worths"][0]["count"] += 1
        assert any("other bundles" in b for b in check_plan.check(s, plan)), f"seed {seed}"
        seen += 1
    assert seen >= 3
