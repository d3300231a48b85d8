"""Small random packing cases against HiGHS: the exact optimum lies between our
bound and our cost, and our improved plan mostly is the optimum.  The same with
nodes that are there, limits and demand that is left out.

The oracle shares no code with the planner: it lists every way to fill every
node type, device by device, and lets HiGHS choose whole numbers of them.
SEED= and DAVIT_CASES= try others.
"""
import itertools
import json
import os
import random
import subprocess

import highspy
import pytest

from bench.bench_plan import amount, check, devices_fit
from lib import ROOT, seeds

DRIVER = os.environ.get("BENCH_BIN") or os.path.join(ROOT, "build/release/bench_plan")
SEED = seeds.seed(20261121)
CASES = int(os.environ.get("DAVIT_CASES") or 60)


def case_make(seed):
    rng = random.Random(seed)
    models = ["T4", "A10", None]
    types = []
    for k in range(rng.randint(2, 5)):
        gpus = rng.choice([0, 1, 2, 2, 4])
        model = rng.choice(models) if gpus else None
        cpu = rng.choice([4, 8, 16])
        types.append({
            "name": "t%d" % k,
            "resources": {"CPU": cpu, "GPU": gpus, "memory": cpu * rng.choice([2, 4]) << 30},
            "labels": {"accelerator_type": model} if model else {},
            "price": round(0.04 * cpu + gpus * rng.choice([0.3, 0.7, 1.1]) + rng.random() / 10, 4),
            "max": rng.choice([None, None, None, 2])})
    types.append({"name": "big", "resources": {"CPU": 32, "GPU": 4, "memory": 256 << 30},
                  "labels": {"accelerator_type": "A10"}, "price": 6.1234, "max": None})
    demands = []
    for _ in range(rng.randint(2, 5)):
        res = {"CPU": rng.choice([0.5, 1, 2, 3, 4]),
               "memory": rng.choice([1, 2, 4, 7, 12]) << 30}
        gpu = rng.choice([0, 0, 0.2, 0.35, 0.5, 0.6, 1, 1, 2])
        if gpu:
            res["GPU"] = gpu
        d = {"count": rng.randint(1, 7), "resources": res}
        if gpu and rng.random() < 0.3:
            d["accelerator_types"] = rng.choice([["A10"], ["T4", "A10"]])
        demands.append(d)
    return {"name": "seed%d" % seed, "node_types": types, "nodes": [],
            "max_nodes": None, "demands": demands}


def fits(t, demands, counts):
    label = (t.get("labels") or {}).get("accelerator_type")
    whole, parts, need = 0, [], {}
    for d, n in zip(demands, counts):
        if n == 0:
            continue
        if d.get("accelerator_types") and label not in d["accelerator_types"]:
            return False
        for name, value in d["resources"].items():
            a = amount(value)
            if name != "GPU":
                need[name] = need.get(name, 0) + a * n
            elif a >= 10000:
                whole += a // 10000 * n
            else:
                parts += [a] * n
    if any(v > amount(t["resources"].get(k, 0)) for k, v in need.items()):
        return False
    return devices_fit(whole, parts, t["resources"]["GPU"])


def fills(t, demands):
    """Every fill of one node to which nothing can be added."""
    n, found = len(demands), []

    def grow(k, counts):
        if k == n:
            if not any(counts[i] < demands[i]["count"] and
                       fits(t, demands, counts[:i] + [counts[i] + 1] + counts[i + 1:])
                       for i in range(n)):
                found.append(tuple(counts))
            return
        c = counts + [0] * (n - k)
        for m in itertools.count():
            c[k] = m
            if m > demands[k]["count"] or not fits(t, demands, c):
                break
            grow(k + 1, c[:k + 1])

    grow(0, [])
    return [f for f in found if any(f)]


def optimum(case, left_out=0, count=False):
    """The least cost, with at most so many demands left out; None: there is no plan.
    count: how many must be left out, instead."""
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("mip_rel_gap", 0.0)
    h.setOptionValue("mip_abs_gap", 0.0)
    inf = highspy.kHighsInf
    rows = [(d["count"], inf, [], []) for d in case["demands"]]
    every, out, col = [], [], 0
    prices = [], []
    for t in case["node_types"]:
        of_type = []
        for f in fills(t, case["demands"]):
            h.addVar(0, inf)
            h.changeColCost(col, 0 if count else t["price"])
            prices[0].append(col)
            prices[1].append(t["price"])
            h.changeColIntegrality(col, highspy.HighsVarType.kInteger)
            for i, n in enumerate(f):
                if n:
                    rows[i][2].append(col)
                    rows[i][3].append(float(n))
            of_type.append(col)
            col += 1
        if t["max"] is not None and of_type:
            rows.append((-inf, t["max"], of_type, [1.0] * len(of_type)))
        every += of_type
    if case["max_nodes"] is not None and every:
        rows.append((-inf, case["max_nodes"], every, [1.0] * len(every)))
    if case.get("max_cost") is not None:
        rows.append((-inf, case["max_cost"], *prices))
    for i in range(len(case["demands"])):
        h.addVar(0, inf)
        h.changeColCost(col, 1 if count else 0)
        h.changeColIntegrality(col, highspy.HighsVarType.kInteger)
        rows[i][2].append(col)
        rows[i][3].append(1.0)
        out.append(col)
        col += 1
    rows.append((-inf, left_out, out, [1.0] * len(out)))
    for low, high, ix, values in rows:
        h.addRow(low, high, len(ix), ix, values)
    h.run()
    if h.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return h.getInfo().objective_function_value


@pytest.fixture(scope="session", autouse=True)
def driver():
    if not os.environ.get("BENCH_BIN"):
        subprocess.run(["make", "-s", "build/release/bench_plan"], cwd=ROOT, check=True)


def ours(case, folder, budget, *more):
    path, plan = str(folder / "case.json"), str(folder / "plan.json")
    with open(path, "w") as f:
        json.dump(case, f)
    out = subprocess.run([DRIVER, path, "--budget-ms", str(budget), "--plan", plan, *more],
                         check=True, capture_output=True, text=True)
    with open(plan) as f:
        return json.loads(out.stdout), json.load(f)


def test_the_optimum_lies_between_bound_and_cost(tmp_path):
    tried = optimal = proven = 0
    at_once = 0.0
    for seed in range(SEED, SEED + CASES):
        case = case_make(seed)
        best = optimum(case)
        if best is None:        # some demand fits no type, or max is in its way
            continue
        said, plan = ours(case, tmp_path, 50)
        faults = check(case, plan, said)
        assert not faults, "seed %d: %s" % (seed, faults)
        tried += 1
        assert sum(plan["unplaced"]) == 0, "seed %d: the optimum places all" % seed
        assert said["lower_bound"] <= best + 1e-6, \
            "seed %d: bound %f above the optimum %f" % (seed, said["lower_bound"], best)
        assert said["cost"] >= best - 1e-6, \
            "seed %d: cost %f below the optimum %f: the oracle is wrong" % (seed, said["cost"], best)
        first, _ = ours(case, tmp_path, 0)
        assert 0 < first["lower_bound"] <= best + 1e-6, \
            "seed %d: the first plan's bound %f, the optimum %f" % (seed, first["lower_bound"], best)
        at_once += first["lower_bound"] / best
        optimal += said["cost"] <= best + 1e-6
        proven += said["lower_bound"] >= best - 1e-6
    print("seeds %d..%d: %d cases, %d optimal, %d proven so; the first plan's bound is %.3f of the optimum" %
          (SEED, SEED + CASES - 1, tried, optimal, proven, at_once / tried))
    assert tried >= CASES // 2
    assert optimal >= 0.95 * tried


def with_nodes(case, rng):
    """Nodes that are there are types of no price, of which there are few; a part
    of each is taken."""
    for k in range(rng.randint(1, 3)):
        t = json.loads(json.dumps(rng.choice(case["node_types"])))
        t["resources"]["CPU"] = rng.randint(1, t["resources"]["CPU"])
        t["resources"]["memory"] = rng.randint(1, 8) * t["resources"]["memory"] // 8
        t["resources"]["GPU"] = rng.randint(0, t["resources"]["GPU"])
        t.update(name="there%d" % k, price=0, max=rng.randint(1, 3))
        case["node_types"].append(t)
    if rng.random() < .3:
        case["max_nodes"] = rng.randint(1, 8)
    if rng.random() < .3:
        for t in case["node_types"]:
            t["max"] = t["max"] or rng.choice([None, 1, 2, 4])
    return case


def test_bounds_with_nodes_and_limits(tmp_path):
    """cover_bound() alone and the plan's own bound, never above the optimum of
    plans that leave out as many; and how far below."""
    tried = left_out = 0
    parts = {"alone": [], "plan's": []}
    for seed in range(SEED, SEED + CASES):
        rng = random.Random("nodes %d" % seed)
        case = with_nodes(case_make(seed), rng)
        said, plan = ours(case, tmp_path, 20, "--bound-ms", "20")
        faults = check(case, plan, said)
        assert not faults, "seed %d: %s" % (seed, faults)
        best = optimum(case, sum(plan["unplaced"]))
        assert best is not None, "seed %d: the plan is one" % seed
        assert best <= said["cost"] + 1e-6, "seed %d: the oracle is wrong" % seed
        for name, bound in (("alone", said["bound_alone"]), ("plan's", said["lower_bound"])):
            assert 0 <= bound <= best + 1e-6, "seed %d: %s bound %f, the optimum %f" % (seed, name, bound, best)
            if best > 1e-6:
                parts[name].append(bound / best)
        tried += 1
        left_out += sum(plan["unplaced"]) > 0
    for name, v in parts.items():
        v.sort()
        print("%s: %d cases, %d leave something out; bound over optimum: worst %.3f, one in 100 %.3f, in 10 %.3f, "
              "median %.3f, mean %.3f" % (name, tried, left_out, v[0], v[len(v) // 100], v[len(v) // 10], v[len(v) // 2],
                                          sum(v) / len(v)))
    assert sum(parts["alone"]) >= 0.8 * len(parts["alone"])
