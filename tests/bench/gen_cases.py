#!/usr/bin/env python3
"""Writes seeded synthetic packing cases: the project's own, no trace data.

They are of the same kind as real GPU demand: fractions of a device in steps of
10 milli, a few hot shapes and many rare ones, GPU models with and without a
label in the demand, 27 or 55 machine types, one pod a shape ("jit").

    gen_cases.py DIR [--seed N] [--quick]
"""
import argparse
import json
import os
import random

GIB = 1 << 30
MIB = 1 << 20
MODELS = {"K1": 0.35, "K2": 0.80, "K3": 1.46, "K4": 2.48, "K5": 2.90, "K6": 1.0}
FRACTIONS = [0.05, 0.11, 0.14, 0.16, 0.22, 0.27, 0.29, 0.33, 0.35, 0.44, 0.47,
             0.48, 0.55, 0.59, 0.65, 0.81]


def node_types(rng, n):
    types = []
    for k in range(n):
        model = None if k % 9 < 4 else rng.choice(sorted(MODELS))
        gpus = 0 if model is None else rng.choice([1, 2, 4, 8])
        cpu = rng.choice([2, 4, 8, 16, 32, 64, 96, 128])
        if gpus:
            cpu = max(cpu, 4 * gpus)
        mem = cpu * rng.choice([2, 4, 8])
        price = 0.0316 * cpu + 0.00424 * mem
        if model:
            price += MODELS[model] * gpus
        types.append({
            "name": "t%d-c%d-m%d%s" % (k, cpu, mem,
                                       "-%sx%d" % (model, gpus) if model else ""),
            "resources": {"CPU": float(cpu), "GPU": gpus, "memory": mem * GIB},
            "labels": {"accelerator_type": model} if model else {},
            "price": round(price, 6), "max": None})
    # Something that holds the largest bundles, in any case.
    for model in sorted(MODELS):
        types[-1 - sorted(MODELS).index(model)] = {
            "name": "big-" + model,
            "resources": {"CPU": 96.0, "GPU": 8, "memory": 768 * GIB},
            "labels": {"accelerator_type": model},
            "price": round(0.0316 * 96 + 0.00424 * 768 + 8 * MODELS[model], 6),
            "max": None}
    return types


def shape(rng, labels):
    kind = rng.random()
    res = {"CPU": rng.choice([1, 2, 3.152, 4, 6, 8, 9.81, 11.9, 16]),
           "memory": rng.choice([1, 2, 4, 8, 12, 16, 30, 48, 64]) * GIB}
    if kind < 0.13:
        res["CPU"] = rng.choice([0.5, 1, 2, 4, 8, 16, 32])
    elif kind < 0.52:
        res["GPU"] = rng.choice(FRACTIONS)
    elif kind < 0.95:
        res["GPU"] = 1
    else:
        res["GPU"] = rng.choice([2, 4, 8])
        res["CPU"] = float(rng.choice([16, 32, 48, 88]))
    out = {"resources": res}
    if res.get("GPU") and rng.random() < labels:
        out["accelerator_types"] = sorted(
            rng.sample(sorted(MODELS), rng.choice([1, 1, 1, 2, 3])))
    return out


def demands(rng, pods, shapes, labels):
    kinds = [shape(rng, labels) for _ in range(shapes)]
    weight = [1 / (1 + k) ** 1.1 for k in range(shapes)]
    counts = [0] * shapes
    for k in rng.choices(range(shapes), weight, k=pods):
        counts[k] += 1
    return [dict(d, count=c) for d, c in zip(kinds, counts) if c]


def jit(rng, pods, labels):
    out = []
    for _ in range(pods):
        d = shape(rng, labels)
        d["resources"]["CPU"] = round(d["resources"]["CPU"] *
                                      rng.uniform(0.85, 1), 3)
        d["resources"]["memory"] = -(-int(d["resources"]["memory"] *
                                          rng.uniform(0.85, 1)) // MIB) * MIB
        d["count"] = 1
        out.append(d)
    return out


# What AWS asks for them on demand.
AWS = [("m5.large", 2, 8, 0, 0.096), ("m5.4xlarge", 16, 64, 0, 0.768),
       ("g4dn.xlarge", 4, 16, 1, 0.526), ("g4dn.12xlarge", 48, 192, 4, 3.912),
       ("p3.2xlarge", 8, 61, 1, 3.06), ("p4d.24xlarge", 96, 1152, 8, 32.7726)]


def aws_types():
    return [{"name": name, "price": price, "max": None, "labels": {},
             "resources": {"CPU": cpu, "GPU": gpu, "memory": gib * GIB}}
            for name, cpu, gib, gpu, price in AWS]


def distinct(rng, pods):
    """Few kinds, no two alike: they differ in memory."""
    kinds = [{"CPU": 1}] * 8 + [{"CPU": 8}] * 2 + [{"CPU": 4, "GPU": 1}] * 3 + \
        [{"GPU": 0.25}] * 3 + [{"GPU": 1}] * 3 + [{"GPU": 8}]
    memory = rng.sample(range(16 * MIB, 512 * MIB, 4096), pods)
    return [{"count": 1, "resources": dict(
        kind, memory=m + (16 * GIB if kind == {"CPU": 8} else 0))}
        for kind, m in zip(rng.choices(kinds, k=pods), memory)]


def limited(case, rng):
    for t in case["node_types"]:
        t["max"] = rng.choice([3, 10, 40, 200])
    return case


def shares(case):
    """What each bundle needs at least: of a node (of the one it is the least part of),
    and of dollars."""
    nodes = cost = 0
    for d in case["demands"]:
        least = [(max(v / (t["resources"].get(k) or 1e-9) for k, v in d["resources"].items()),
                  t["price"]) for t in case["node_types"]
                 if t["labels"].get("accelerator_type") in
                 d.get("accelerator_types", [t["labels"].get("accelerator_type")])]
        least = [(part, part * price) for part, price in least if part <= 1]
        if least:
            nodes += d["count"] * min(part for part, _ in least)
            cost += d["count"] * min(price for _, price in least)
    return nodes, cost


def short(case, of, part=None):
    """A limit that is in the way: of nodes, or of dollars for about seven in ten."""
    nodes, cost = shares(case)
    if of == "nodes":
        case["max_nodes"] = int((part or 1) * nodes)
    else:
        case["max_cost"] = round((part or 0.65) * cost, 4)
    return case


def facts_bundle(d):
    out = {"resources": {k: v for k, v in d["resources"].items() if v},
           "count": d["count"]}
    if d.get("accelerator_types"):
        out["accelerator_type"] = d["accelerator_types"]
    return out


def facts_type(t):
    out = {"name": t["name"], "provider": "sim",
           "resources": {k: v for k, v in t["resources"].items() if v}}
    if t.get("labels"):
        out["accelerator_type"] = t["labels"]["accelerator_type"]
    return out


def facts_of(case):
    """A case as a snapshot.json: nothing is there yet."""
    types = [dict(facts_type(t), price=t["price"],
                  **({} if t.get("max") is None else {"max": t["max"]}))
             for t in case["node_types"]]
    return {"now_ms": 1795255200000, "node_types": types, "nodes": [],
            "demands": [facts_bundle(d) for d in case["demands"]]}


def round_of(rng, bundles, shapes, n_nodes, n_offers, labels=0.33):
    """A snapshot.json: nodes in all states of use, and more demand than they
    hold.  Used amounts are of shapes that fit, so that devices add up."""
    types = [t for t in node_types(rng, max(n_offers // 4, 40))]
    out, zones = [], ["a", "b"]
    for t in types:
        offers = [{"zone": z, "price": round(t["price"] * (1 + 0.01 * k), 6)}
                  for k, z in enumerate(zones)]
        offers += [{"zone": z, "spot": True, "price": round(t["price"] * 0.4, 6)}
                   for z in zones]
        out.append(dict(facts_type(t), max=2000, offers=offers))
    nodes = []
    for k in range(n_nodes):
        t = rng.choice(out)
        total, free = dict(t["resources"]), dict(t["resources"])
        for name in free:
            if name == "GPU":
                free[name] = rng.randint(0, int(free[name]) // 2)
            else:
                free[name] = int(free[name] * rng.choice([0, 0.1, 0.25, 0.5]))
        nodes.append({"id": "n%05d" % k, "type": t["name"], "zone": rng.choice(zones),
                      "total": total, "available": free})
    return {"now_ms": 1795255200000, "node_types": out, "nodes": nodes,
            "demands": [facts_bundle(d) for d in demands(rng, bundles, shapes, labels)]}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("dir")
    ap.add_argument("--seed", type=int, default=20260101)
    ap.add_argument("--quick", action="store_true")
    args = ap.parse_args()
    os.makedirs(args.dir, exist_ok=True)
    rng = random.Random(args.seed)
    small, large = node_types(rng, 27), node_types(rng, 55)
    cases = []

    def add(name, types, what):
        cases.append({"name": name, "note": "synthetic, seed %d" % args.seed,
                      "node_types": json.loads(json.dumps(types)),
                      "demands": what})

    add("syn-w100a", small, demands(rng, 100, 48, 0.33))
    add("syn-w100b", large, demands(rng, 100, 44, 0))
    add("syn-w1000a", small, demands(rng, 1000, 150, 0.33))
    add("syn-w1000b", large, demands(rng, 1000, 160, 0.33))
    add("syn-identical-1m", small, [{"count": 1000000, "resources":
                                     {"CPU": 2, "memory": 4 * GIB, "GPU": 0.33}}])
    if not args.quick:
        add("syn-8k", small, demands(rng, 8000, 150, 0))
        add("syn-8k-labels", small, demands(rng, 8000, 440, 0.33))
        add("syn-8k-large", large, demands(rng, 8000, 440, 0.33))
        add("syn-8k-max", small, demands(rng, 8000, 440, 0.33))
        limited(cases[-1], rng)
        add("syn-100k", small, demands(rng, 100000, 440, 0.33))
        add("syn-jit1000", large, jit(rng, 1000, 0.33))
        add("syn-jit10k", large, jit(rng, 10000, 0.33))
    rounds = {"round-1m-identical": {
        "now_ms": 1795255200000,
        "node_types": [{"name": "t4", "provider": "sim", "price": 0.73,
                        "resources": {"CPU": 8, "memory": 32 * GIB, "GPU": 1}}],
        "demands": [{"resources": {"CPU": 2, "GPU": 0.25}, "count": 1000000}]}}
    if not args.quick:
        rounds["round-13315"] = round_of(rng, 13315, 500, 1337, 400)
    # Last, so that what a seed gives stays.
    add("syn-w1000a-nodes", small, demands(rng, 1000, 150, 0.33))
    short(cases[-1], "nodes")
    add("syn-w1000a-cost", small, demands(rng, 1000, 150, 0.33))
    short(cases[-1], "cost")
    for pods in (1000, 3000) if args.quick else (1000, 3000, 10000):
        add("syn-distinct%d" % pods, aws_types(), distinct(rng, pods))
    for name, facts in rounds.items():
        with open(os.path.join(args.dir, name + ".snapshot.json"), "w") as f:
            json.dump(facts, f, separators=(",", ":"))
    for case in cases:
        with open(os.path.join(args.dir, case["name"] + ".json"), "w") as f:
            json.dump(case, f, separators=(",", ":"))


if __name__ == "__main__":
    main()
