"""Plans under limits that are in the way, of nodes, of dollars, of each type, against
HiGHS.

Small ones: how few bundles must be left out, exactly; and with as few, the least cost.
Larger ones: against a relaxation that only counts resources, so no plan is better, and
none is quite as good.  SEED= and DAVIT_CASES= try others.
"""
import json
import os
import random
import subprocess

import highspy
import pytest

from bench.bench_plan import check
from bench.gen_cases import demands, jit, node_types, short
from prop.test_bound_oracle import DRIVER, SEED, case_make, optimum, ours
from lib import ROOT

CASES = int(os.environ.get("DAVIT_CASES") or 60)


@pytest.fixture(scope="session", autouse=True)
def driver():
    if not os.environ.get("BENCH_BIN"):
        subprocess.run(["make", "-s", "build/release/bench_plan"], cwd=ROOT, check=True)


def limit_some(case, rng):
    kind = rng.choice(["nodes", "cost", "max", "both"])
    if kind in ("nodes", "both"):
        case["max_nodes"] = rng.randint(1, 4)
    if kind in ("cost", "both"):
        short(case, "cost", rng.uniform(.3, 1.2))
    if kind == "max":
        for t in case["node_types"]:
            t["max"] = rng.randint(0, 2)
    return case


def test_as_few_are_left_out_as_must_be(tmp_path):
    """A plan places as many as any could; where it does not, it is one or two less."""
    tried = fewest = cheapest = first_fewest = left = first_left = must = 0
    for seed in range(SEED, SEED + CASES):
        rng = random.Random(seed)
        case = limit_some(case_make(seed), rng)
        best = round(optimum(case, sum(d["count"] for d in case["demands"]), count=True))
        said, plan = ours(case, tmp_path, 50)
        first, at_once = ours(case, tmp_path, 0)
        for s, p in ((said, plan), (first, at_once)):
            faults = check(case, p, s)
            assert not faults, "seed %d: %s" % (seed, faults)
            assert s["unplaced"] >= best, "seed %d: the oracle is wrong" % seed
        tried += 1
        must += best
        left += said["unplaced"]
        first_left += first["unplaced"]
        first_fewest += first["unplaced"] == best
        fewest += said["unplaced"] == best
        if said["unplaced"] == best:
            cheapest += said["cost"] <= optimum(case, best) + 1e-6
    print("seeds %d..%d: %d cases; %d bundles must be left out, plans leave %d, first plans %d; as few "
          "as must be in %d, of first plans %d; and at the least cost in %d" %
          (SEED, SEED + CASES - 1, tried, must, left, first_left, fewest, first_fewest, cheapest))
    assert fewest >= 0.9 * tried
    assert first_fewest >= 0.9 * tried
    assert cheapest >= 0.8 * fewest


class Relaxed:
    """Resources as sums over all nodes of a type."""

    def __init__(self, case):
        self.h = highspy.Highs()
        self.h.setOptionValue("output_flag", False)
        self.rows, self.cols = [], 0
        inf = highspy.kHighsInf
        place = [self.row(d["count"], d["count"]) for d in case["demands"]]
        nodes = self.row(-inf, inf if case.get("max_nodes") is None else case["max_nodes"])
        cost = self.row(-inf, inf if case.get("max_cost") is None else case["max_cost"])
        self.left = [self.column({place[k]: 1}) for k in range(len(place))]
        self.bought = []
        for t in case["node_types"]:
            has = {k: self.row(-inf, 0) for k in ("CPU", "memory", "GPU")}
            terms = {has[k]: -t["resources"][k] / (t["resources"][k] or 1) for k in has}
            self.bought.append((self.column({**terms, nodes: 1, cost: t["price"]},
                                            t.get("max")), t["price"]))
            for d, row in zip(case["demands"], place):
                if self.may(d, t):
                    self.column({row: 1, **{has[k]: v / t["resources"][k]
                                            for k, v in d["resources"].items() if v}})
        for low, high, entries in self.rows:
            self.h.addRow(low, high, len(entries), [c for c, _ in entries],
                          [float(v) for _, v in entries])

    @staticmethod
    def may(d, t):
        label = t["labels"].get("accelerator_type")
        return (not d.get("accelerator_types") or label in d["accelerator_types"]) and \
            all(v <= t["resources"].get(k, 0) for k, v in d["resources"].items())

    def row(self, low, high):
        self.rows.append((low, high, []))
        return len(self.rows) - 1

    def column(self, terms, most=None):
        self.h.addVar(0, highspy.kHighsInf if most is None else most)
        for row, value in terms.items():
            if value:
                self.rows[row][2].append((self.cols, value))
        self.cols += 1
        return self.cols - 1

    def least(self, costs):
        for c in range(self.cols):
            self.h.changeColCost(c, costs.get(c, 0))
        self.h.run()
        return self.h.getInfo().objective_function_value

    def left_out(self):
        return self.least({c: 1.0 for c in self.left})

    def cost(self):
        """With nothing left out."""
        for c in self.left:
            self.h.changeColBounds(c, 0, 0)
        return self.least(dict(self.bought))


def large(seed, kind):
    rng = random.Random(seed)
    case = {"name": "%s-%d" % (kind, seed), "node_types": node_types(rng, 27 if seed % 2 else 55),
            "demands": demands(rng, 400, 80, 0.33), "max_nodes": None}
    if kind == "max":
        for t in case["node_types"]:
            t["max"] = rng.choice([1, 2, 5, 10])
    else:
        short(case, kind)
    return case


@pytest.mark.parametrize("kind,left,dearer", [
    ("nodes", 0.03, 1.16), ("cost", 0.05, 1.2), ("max", 0.02, 1.16)])
def test_first_plans_under_a_limit_are_near_the_best(tmp_path, kind, left, dearer):
    """left: of all bundles, so many more than must be, in the mean; dearer: as a multiple
    of the relaxation's cost, where all have a place."""
    more, costs = [], []
    for seed in range(SEED, SEED + 8):
        case = large(seed, kind)
        relaxed = Relaxed(case)
        must = relaxed.left_out()
        said, plan = ours(case, tmp_path, 0)
        faults = check(case, plan, said)
        assert not faults, "seed %d: %s" % (seed, faults)
        assert said["unplaced"] >= must - 1e-6, "seed %d: the relaxation is wrong" % seed
        more.append((said["unplaced"] - must) / 400)
        if said["unplaced"] == 0:
            costs.append(said["cost"] / relaxed.cost())
            assert costs[-1] >= 1 - 1e-6, "seed %d: the relaxation is wrong" % seed
    print("%s, seeds %d..%d: left out beyond the relaxation %s; cost over its cost %s" %
          (kind, SEED, SEED + 7, " ".join("%.3f" % x for x in more),
           " ".join("%.3f" % x for x in costs)))
    assert sum(more) / len(more) <= left
    assert not costs or sum(costs) / len(costs) <= dearer


def test_plans_of_many_shapes_under_a_limit_place_more_with_time(tmp_path):
    """A shape a bundle, too many for a linear program."""
    more = {0: [], 300: []}
    for seed in range(SEED, SEED + 3):
        rng = random.Random(seed)
        case = {"name": "jit-%d" % seed, "node_types": node_types(rng, 40),
                "demands": jit(rng, 720, 0.33), "max_nodes": None}
        short(case, "cost")
        must = Relaxed(case).left_out()
        for budget, found in more.items():
            said, plan = ours(case, tmp_path, budget)
            faults = check(case, plan, said)
            assert not faults, "seed %d: %s" % (seed, faults)
            assert said["unplaced"] >= must - 1e-6, "seed %d: the relaxation is wrong" % seed
            found.append((said["unplaced"] - must) / 720)
    print("seeds %d..%d: left out beyond the relaxation, first plans %s, 300 ms %s" %
          (SEED, SEED + 2, *(" ".join("%.3f" % x for x in v) for v in more.values())))
    assert sum(more[0]) / 3 <= 0.09
    assert sum(more[300]) / 3 <= 0.03


def test_bounds_near_what_limits_allow(tmp_path):
    """Nearly all machines that limits allow are wanted, so one of a type is worth a multiple of
    its price: bounds must find that.  None may be above the cost."""
    parts, firsts = [], []
    for seed in range(SEED, SEED + 6):
        rng = random.Random(seed)
        case = {"name": "full-%d" % seed, "node_types": node_types(rng, 27),
                "demands": demands(rng, 2000, 300, 0.33), "max_nodes": None}
        for t in case["node_types"]:
            t["max"] = rng.choice([2, 5, 15, 40])
        plan = ours(case, tmp_path, 0)[1]
        for d, left in zip(case["demands"], plan["unplaced"]):
            d["count"] -= left
        case["demands"] = [d for d in case["demands"] if d["count"]]
        said, plan = ours(case, tmp_path, 100, "--bound-ms", "0.001")
        faults = check(case, plan, said)
        assert not faults, "seed %d: %s" % (seed, faults)
        assert said["unplaced"] == 0 and said["lower_bound"] <= said["cost"]
        assert said["bound_alone"] <= said["cost"]
        relaxed = Relaxed(case).cost()
        parts.append(said["lower_bound"] / relaxed)
        firsts.append(said["bound_alone"] / relaxed)
    print("seeds %d..%d: bounds as parts of the relaxation's cost %s, at once %s" %
          (SEED, SEED + 5, *(" ".join("%.3f" % x for x in v) for v in (parts, firsts))))
    assert sum(parts) / len(parts) >= 0.97 and min(parts) >= 0.93
    assert sum(firsts) / len(firsts) >= 0.92 and min(firsts) >= 0.9
