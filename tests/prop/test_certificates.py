"""Certificates of instances as large as real ones: machines with eight GPUs, 40 to 400
shapes, limits on types, a shape a pod.  Anybody can check them, in seconds.

CASES=DIR checks those in a folder of packing cases (`make bench-plan`) instead;
SEED= and BUDGET_MS= try others.
"""
import glob
import json
import os
import random

import pytest

import check_plan
from bench.gen_cases import demands, facts_of, jit, limited, node_types
from check_bound import MICRO, Fleet
from lib import seeds
from lib.plan import davit_plan
from plan_world import World

SEED = seeds.seed(20261123)
BUDGET = os.environ.get("BUDGET_MS") or "500"


def made(name):
    rng = random.Random(f"{name} {SEED}")
    types = node_types(rng, 27)
    wanted = {"few": lambda: demands(rng, 100, 48, .33), "limits": lambda: demands(rng, 400, 60, .33),
              "pods": lambda: demands(rng, 1000, 150, .33), "shapes": lambda: demands(rng, 8000, 440, .33), "jit": lambda: jit(rng, 720, .33)}[name]()
    case = {"node_types": types, "demands": wanted}
    return limited(case, rng) if name == "limits" else case


def cases():
    if not os.environ.get("CASES"):
        return ["few", "limits", "pods", "shapes", "jit"]
    return [p for p in sorted(glob.glob(os.path.join(os.environ["CASES"], "*.json")))
            if not p.endswith(("best_known.json", ".snapshot.json"))]


def planned(name):
    if name.endswith(".json"):
        with open(name) as f:
            case = json.load(f)
    else:
        case = made(name)
    s = facts_of(case)
    return s, json.loads(davit_plan(s, "--budget", f"{BUDGET}ms"))


@pytest.mark.parametrize("name", cases())
def test_it_is_proved(name):
    s, plan = planned(name)
    assert not check_plan.check(s, plan)
    fleet = plan["fleet"]
    print(f"{name}: {fleet['lower_bound']} of {fleet['cost_per_hour']}")
    assert fleet["lower_bound"] > .9 * fleet["cost_per_hour"]


@pytest.mark.parametrize("name", ["few", "limits"])
def test_no_worths_prove_too_much(name):
    """Whatever bundles are said to be worth, no more is proved than the plan costs."""
    s, plan = planned(name)
    rng, cost = random.Random(SEED), plan["fleet"]["cost_per_hour"]
    for up in (1, 1.001, 1.05, 2):
        for e in plan["certificate"]["worths"]:
            e["worth_nanos"] = round(e["worth_nanos"] * up * rng.choice([1, up]))
        assert Fleet(World(s), plan).proved(nodes=2000) / MICRO <= cost * (1 + 1e-7) + 1e-5
