"""Quotas of a cloud that several offers share: what the planner makes of them."""
import json
from collections import Counter

import pytest

import check_plan
from lib.plan import davit_plan


def offer(price, each, left=8):
    return [{"price": price, "quotas": [{"name": "sim: GPUs", "left": left, "each": each}]}]


def world(count, types, **bundle):
    return {"cluster": "c", "now_ms": 1, "node_types": types, "nodes": [],
            "demands": [{"bundles": [{"resources": {"GPU": 1}, "count": count, **bundle}]}]}


def t4(n, price, left=8):
    return {"name": f"t4x{n}", "provider": "sim", "resources": {"CPU": n, "GPU": n},
            "accelerator_type": "T4", "offers": offer(price, n, left)}


V100 = {"name": "v100", "provider": "sim", "resources": {"CPU": 8, "GPU": 4},
        "accelerator_type": "V100", "price": 9.9}


def plan(s, budget):
    p = json.loads(davit_plan(s, "--budget", budget))
    assert check_plan.check(s, p) == []
    bought = Counter()
    for l in p["launches"]:
        bought[l["type"]] += l["count"]
    return bought, p


def gpus(bought):
    return bought["t4x1"] + 4 * bought["t4x4"]


@pytest.mark.parametrize("budget", ["0", "20ms"])
def test_two_types_under_one_quota_of_eight(budget):
    bought, p = plan(world(20, [t4(1, 0.5), t4(4, 1.9)]), budget)
    assert gpus(bought) == 8
    assert sum(b["waiting"] for b in p["bundles"]) == 12


@pytest.mark.parametrize("budget", ["0", "20ms"])
def test_what_the_quota_leaves_out_is_bought_elsewhere(budget):
    bought, p = plan(world(20, [t4(1, 0.5), t4(4, 1.9), V100]), budget)
    assert gpus(bought) == 8
    assert bought["v100"] == 3 and sum(b["waiting"] for b in p["bundles"]) == 0


def test_a_gang_counts_it_as_a_whole():
    s = world(1, [t4(1, 0.5), t4(4, 1.9)])
    s["demands"] = []
    s["gangs"] = [{"id": "pg", "strategy": "SPREAD", "bundles": [{"resources": {"GPU": 1}, "count": 9}]}]
    assert gpus(plan(s, "0")[0]) == 0
    s["gangs"][0]["bundles"][0]["count"] = 8
    assert gpus(plan(s, "0")[0]) == 8


def test_where_offers_differ_the_least_counts():
    assert plan(world(20, [t4(1, 0.5, left=3), t4(4, 9)]), "0")[0] == {"t4x1": 3}
