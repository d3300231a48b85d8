"""Random snapshots, and what happens to one when its plan is carried out."""
import collections
import copy

import plan_world

NOW = 1_800_000_000_000
MODELS = ["T4", "A100", "L4"]
ZONES = ["a", "b"]


def resources(rng):
    r = {"CPU": rng.choice([1, 2, 4, 8, 16, 32]),
         "memory": f"{rng.choice([2, 8, 16, 64])}Gi"}
    if rng.random() < 0.45:
        r["GPU"] = rng.choice([1, 1, 2, 4, 8])
    if rng.random() < 0.1:
        r["TPU"] = 4
    if rng.random() < 0.15:
        r["license"] = rng.choice([1, 3])
    return r


def node_type(rng, i):
    t = {"name": f"t{i}", "provider": "sim", "resources": resources(rng)}
    if "GPU" in t["resources"]:
        t["accelerator_type"] = rng.choice(MODELS)
    low = rng.choice([0, 0, 0, 0, 1, 2])
    t["min"] = low
    if rng.random() < 0.7:
        t["max"] = low + rng.choice([0, 1, 2, 5, 20])
    if rng.random() < 0.2:
        t["labels"] = {"team": rng.choice(["x", "y"])}
    if rng.random() < 0.2:
        t["idle_timeout_s"] = rng.choice([10, 600])
    if rng.random() < 0.05:
        t["unavailable"] = rng.choice(["provider_down", "type_disabled"])
    if rng.random() < 0.2:
        t["priority"] = rng.randint(0, 2)
    price = round(rng.uniform(0.05, 5), 4)
    if rng.random() < 0.3:
        t["offers"] = []
        for z in ZONES:
            o = {"zone": z, "price": round(price * rng.uniform(.9, 1.1), 4)}
            if rng.random() < 0.15:
                o.update(backoff_until_ms=NOW + 60000,
                         backoff_for="STOCKOUT")
            if rng.random() < 0.15:
                o["room"] = rng.randint(0, 3)
            t["offers"].append(o)
        if rng.random() < 0.4:
            t["offers"].append({"zone": "a", "spot": True,
                                "price": round(price * .3, 4)})
    elif rng.random() < 0.8:
        t["price"] = price
    return t


def quotas(rng, types):
    """Limits of a cloud that several offers share, in units of its own."""
    left = {f"cloud: {k}": rng.randint(0, 12) for k in range(rng.choice([1, 1, 2]))}
    for t in types:
        if rng.random() < 0.3:
            continue
        for o in t.setdefault("offers", [{}]):
            o["quotas"] = [{"name": k, "left": n, "each": rng.choice([1, 1, 2, 4])}
                           for k, n in left.items() if rng.random() < 0.8]


def taken(types, t, launch):
    """The launch takes of its offer's quotas, and so of those of all others."""
    mine = {}
    for o in t.get("offers") or []:
        place = (o.get("zone", t.get("zone", "")) or "",
                 bool(o.get("spot", t.get("spot", False))))
        if place == (launch["zone"], launch["spot"]):
            mine = {q["name"]: q["each"] for q in o.get("quotas") or []}
    for other in types:
        for o in other.get("offers") or []:
            for q in o.get("quotas") or []:
                q["left"] -= launch["count"] * mine.get(q["name"], 0)


def amount_free(rng, k, v):
    if isinstance(v, str):
        return f"{rng.randint(0, int(v[:-2]))}Gi"
    if k == "GPU" and rng.random() < 0.4:
        return round(rng.uniform(0, v), 2)
    return rng.randint(0, v)


def node(rng, i, types):
    t = rng.choice(types)
    n = {"id": f"n{i:03}", "type": t["name"]}
    if t.get("offers"):
        o = rng.choice(t["offers"])
        n["zone"], n["spot"] = o["zone"], o.get("spot", False)
    if rng.random() < 0.05:
        n["type"] = "gone"
    n["state"] = rng.choice(["ready"] * 7 + ["starting", "requested",
                                             "intended", "draining",
                                             "stopping"])
    if n["state"] in ("ready", "draining"):
        total = t["resources"]
        n["total"] = dict(total)
        if rng.random() < 0.5:
            n["available"] = dict(total)
            n["idle_ms"] = rng.randint(0, 120000)
        else:
            n["available"] = {k: amount_free(rng, k, v)
                              for k, v in total.items()}
        if t.get("accelerator_type") and n["type"] == "gone":
            n["accelerator_type"] = t["accelerator_type"]
    if rng.random() < 0.05:
        n["unmanaged"] = True
    if rng.random() < 0.08:
        n["outdated"] = True
    if rng.random() < 0.08:
        n["cordoned"] = True
    if rng.random() < 0.06:
        n["asked_to_end"] = True
    if rng.random() < 0.08:
        n["hold"] = rng.choice(["stale_view", "drain_refused", "protected"])
        if rng.random() < 0.5:
            n["hold_until_ms"] = NOW + rng.choice([-1000, 60000])
    return n


def shape(rng):
    r = {"CPU": rng.choice([0.5, 1, 1, 2, 4, 7])}
    if rng.random() < 0.4:
        r["memory"] = f"{rng.randint(1, 20)}Gi"
    x = rng.random()
    if x < 0.35:
        r["GPU"] = rng.choice([0.1, 0.25, 0.3, 0.5, 0.7, 1, 1, 2, 4])
    elif x < 0.4:
        r["TPU"] = rng.choice([1, 4])
    elif x < 0.45:
        r["license"] = 1
    elif x < 0.47:
        r["unheard_of"] = 1
    if rng.random() < 0.2:
        del r["CPU"]
    if not r:
        r["CPU"] = 1
    b = {"resources": r}
    if "GPU" in r and rng.random() < 0.3:
        b["accelerator_type"] = rng.sample(MODELS, rng.choice([1, 2]))
    elif rng.random() < 0.1:
        b["selector"] = [{"key": rng.choice(["zone", "team"]),
                          "op": rng.choice(["in", "not_in"]),
                          "values": [rng.choice(["a", "b", "x"])]}]
    return b


def bundle(rng, most):
    b = shape(rng)
    b["count"] = rng.choice([1, 1, 2, 3, most])
    if rng.random() < 0.06:
        second = {"resources": {"CPU": 4}, "after": rng.choice([0, "4m"])}
        b = {"resources": {"CPU": 1}, "count": b["count"], "any_of": [
            {"resources": {"GPU": 1}}, second]}
    return b


def strict(rng, b):
    """A bundle for a gang: not too many of it."""
    b["count"] = rng.choice([1, 1, 2, 3])
    return b


def world(rng, plain=False):
    """plain: without what makes a plan wait for the next tick."""
    types = [node_type(rng, i) for i in range(rng.randint(1, 7))]
    limits = {"idle_timeout_s": rng.choice([None, 30, 60, 60]),
              "conserve": rng.random() < 0.8,
              "end_outdated": rng.random() < 0.5,
              "policy": rng.choice(["cheapest"] * 6 +
                                   ["priority", "least_waste", "ray"])}
    if not plain:
        if rng.random() < 0.25:
            limits["max_nodes"] = rng.choice([0, 3, 10, 30])
        if rng.random() < 0.15:
            limits["max_cost_per_hour"] = rng.choice([0, 2, 10, 50])
        if rng.random() < 0.1:
            limits["max_launching"] = rng.choice([0, 1, 4])
        if rng.random() < 0.1:
            limits["upscaling_speed"] = rng.choice([0.5, 1, 3])
    s = {"cluster": "random", "now_ms": NOW, "limits": limits,
         "node_types": types, "nodes": [], "demands": [], "gangs": [],
         "requests": []}
    if not plain and rng.random() < 0.05:
        s["sources_fresh"] = False
    if rng.random() < 0.6:
        s["nodes"].append({"id": "head", "head": True,
                           "unmanaged": rng.random() < 0.5,
                           "total": {"CPU": rng.choice([0, 4, 16]),
                                     "memory": "16Gi"}})
    for i in range(rng.choice([0, 0, 2, 5, 12, 30])):
        s["nodes"].append(node(rng, i, types))
    for _ in range(rng.choice([0, 1, 3, 8, 15])):
        e = {"bundles": [bundle(rng, rng.choice([5, 20, 100]))],
             "since_ms": NOW - rng.choice([0, 1000, 300000])}
        if rng.random() < 0.1:
            e["source"] = rng.choice(["pod", "spare"])
        if rng.random() < 0.1:
            e["priority"] = rng.randint(-1, 2)
        s["demands"].append(e)
    for i in range(rng.choice([0, 0, 0, 1, 2, 4])):
        s["gangs"].append({"id": f"pg{i}", "strategy": rng.choice(
            ["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"]),
            "bundles": [strict(rng, shape(rng))
                        for _ in range(rng.randint(1, 3))]})
    for i in range(rng.choice([0, 0, 0, 1, 2])):
        r = {"owner": f"o{i}", "bundles": [bundle(rng, 10)
                                           for _ in range(rng.randint(1, 3))]}
        if rng.random() < 0.3:
            r["strategy"] = rng.choice(["PACK", "SPREAD", "STRICT_PACK",
                                        "STRICT_SPREAD"])
            r["bundles"] = [strict(rng, shape(rng)) for _ in range(2)]
        s["requests"].append(r)
    if rng.random() < 0.15:
        taints_add(s, rng)
    if rng.random() < 0.25:
        queues_add(s, rng)
    if rng.random() < 0.3:
        ends_add(s, rng)
    if rng.random() < 0.15:
        units_add(s, rng)
    if rng.random() < 0.2:
        failures_add(s, rng)
    if rng.random() < 0.2:
        clocks_add(s, rng)
    if not plain and rng.random() < 0.25:
        quotas(rng, types)
    return s


TAINTS = ["gpu=present:NoSchedule", "gone:NoExecute",
          "later:PreferNoSchedule"]
TOLERATIONS = [["gpu"], ["gpu=present:NoSchedule"], ["gone:NoExecute", "gpu"],
               [{"operator": "Exists"}], ["gpu=absent"]]


def taints_add(s, rng):
    for t in s["node_types"] + s["nodes"]:
        if rng.random() < 0.3:
            t["taints"] = rng.sample(TAINTS, rng.choice([1, 1, 2]))
    for d in s["demands"] + s["gangs"] + s["requests"]:
        for b in d["bundles"]:
            if rng.random() < 0.5:
                b["tolerations"] = rng.choice(TOLERATIONS)


END_KEYS = ["spot", "on-demand", "least_used", "most_expensive",
            "longest_idle", "oldest", "newest"]


def ends_add(s, rng):
    """How nodes are ended; how old they are."""
    if rng.random() < 0.6:
        s["limits"]["end_order"] = rng.sample(END_KEYS, rng.randint(1, 3))
    if rng.random() < 0.8:
        s["limits"]["consolidate"] = {
            "mode": rng.choice(["off", "empty", "on", "on"]),
            "min_saving": rng.choice([0, 0.2, 0.5]),
            "older_than_s": rng.choice([0, 600])}
    for n in s["nodes"]:
        if rng.random() < 0.8:
            n["created_ms"] = NOW - rng.choice([1000, 300000, 700000, 9000000])
    for t in s["node_types"]:
        for o in t.get("offers") or []:
            if rng.random() < 0.3:
                o["idle_timeout_s"] = rng.choice([10, 600])


def units_add(s, rng):
    """Types of several machines; the nodes there are in units, some torn."""
    t = rng.choice(s["node_types"])
    t["hosts"] = rng.choice([2, 4])
    t["min"] = t["min"] * t["hosts"]
    if t.get("max") is not None:
        t["max"] = t["max"] * t["hosts"]
    mine = [n for n in s["nodes"] if n.get("type") == t["name"]]
    for i, n in enumerate(mine):
        n["host_group"] = f"u{i // t['hosts']}"


def failures_add(s, rng):
    """Offers that failed while demand waited; nodes that were bought since."""
    for t in s["node_types"]:
        if not t.get("offers"):
            t["offers"] = [{"zone": ""}]
        for o in t["offers"]:
            if rng.random() < 0.5:
                o["failed_ms"] = NOW - rng.choice([2000, 70000, 400000])
            if rng.random() < 0.2:
                o["interruptions"] = rng.choice([1, 2, 5, 30])
    for n in s["nodes"]:
        if rng.random() < 0.3:
            n["created_ms"] = NOW - rng.choice([1000, 60000, 300000])
    for d in s["demands"] + s["requests"]:
        if rng.random() < 0.8:
            d["since_ms"] = NOW - 600000


def loaded_add(s, rng):
    """Nodes too full for each other's work, and a type that could hold that of
    two, cheaper or not."""
    cpus, price = rng.choice([4, 8]), round(rng.uniform(.2, 2), 3)
    s["node_types"] += [
        {"name": "small", "provider": "sim", "resources": {"CPU": cpus},
         "price": price, "max": 9},
        {"name": "large", "provider": "sim", "resources": {"CPU": 2 * cpus},
         "price": round(price * rng.uniform(.9, 2.2), 3), "max": 9}]
    for i in range(rng.randint(2, 6)):
        n = {"id": f"small{i}", "type": "small", "total": {"CPU": cpus},
             "available": {"CPU": rng.randint(0, cpus // 2)}}
        if rng.random() < 0.3:
            n.update(available=dict(n["total"]), idle_ms=rng.randint(0, 9999))
        s["nodes"].append(n)
    s["requests"].append({"owner": "large", "bundles": [
        {"resources": {"CPU": cpus}, "count": rng.randint(1, 3)}]})


def clocks_add(s, rng):
    """Several alternatives with times, demand of many ages, and nodes on their
    way that were silent for some time."""
    for n in s["nodes"]:
        if n.get("state") in ("intended", "requested", "starting"):
            n["created_ms"] = NOW - rng.choice([1000, 100000, 400000, 900000])
            n["since_ms"] = n["created_ms"] + rng.choice([0, 500])
            if rng.random() < 0.5:
                n["progress_ms"] = NOW - rng.choice([500, 50000, 290000])
    for d in s["demands"] + s["gangs"] + s["requests"]:
        d["since_ms"] = NOW - rng.choice([0, 1000, 100000, 300000, 900000])
        for b in d["bundles"]:
            if rng.random() < 0.5 and "any_of" not in b:
                alts = [shape(rng) for _ in range(rng.choice([2, 2, 3]))]
                for a in alts[1:]:
                    a["after"] = rng.choice([0, "30s", "4m"])
                for k in ("resources", "accelerator_type", "selector"):
                    b.pop(k, None)
                b["any_of"] = alts


def queues_add(s, rng):
    """Queues with quotas over the types, and demand that names them."""
    names = [t["name"] for t in s["node_types"]]
    s["queues"] = []
    for i in range(rng.randint(1, 3)):
        q = {"name": f"q{i}", "quota": {},
             "node_types": rng.sample(names, rng.randint(1, len(names)))}
        for k, most in (("gpus", 12), ("cpus", 100), ("nodes", 12)):
            if rng.random() < 0.4:
                q["quota"][k] = rng.randint(0, most)
        if rng.random() < 0.3:
            q["priority"] = rng.randint(-1, 2)
        if rng.random() < 0.2:
            q["owners"] = ["o*"]
        s["queues"].append(q)
    if rng.random() < 0.3:
        rng.choice(s["node_types"])["labels"] = {"davit.io/queue": "q0"}
    for d in s["demands"] + s["gangs"] + s["requests"]:
        if rng.random() < 0.7:
            d["queue"] = f"q{rng.randint(0, len(s['queues']))}"


def holds_of(e):
    """What a node or a launch of a plan holds, as a snapshot has it."""
    keys = ("source", "owner", "id", "shape", "alternative", "count")
    return [{k: h[k] for k in keys} for h in e["placements"]]


def carry_out(s, plan, state="starting", drains=False):
    """The snapshot after the plan was carried out, nothing having joined; what
    it ends is gone, or drains."""
    s = copy.deepcopy(s)
    actions = {n["id"]: n["action"] for n in plan["nodes"]}
    moves = {n["id"] for n in plan["nodes"] if n["action"] == "end" and n["why"] == "consolidated"}
    holds = {n["id"]: holds_of(n) for n in plan["nodes"]}
    kept = []
    for n in s["nodes"]:
        if actions[n["id"]] == "end" and not drains:
            continue
        if actions[n["id"]] == "end":
            n["state"] = "draining"
            n["moves"] = n["id"] in moves
        if actions[n["id"]] == "undrain":
            n["state"] = "ready"
            n["idle_ms"] = 0
        n["previous"] = holds[n["id"]]
        kept.append(n)
    s["nodes"] = kept
    s["now_ms"] += 100     # what is bought now is newer than what was before
    types = {t["name"]: t for t in s["node_types"]}
    have = {n["id"] for n in kept}
    k = 0
    made = collections.defaultdict(lambda: -1)
    for l in plan["launches"]:
        for o in types[l["type"]].get("offers") or []:
            if (o.get("zone", ""), o.get("spot", False)) == \
                    (l["zone"], l["spot"]) and o.get("room") is not None:
                o["room"] -= l["count"]
        taken(s["node_types"], types[l["type"]], l)
        for _ in range(l["count"]):
            while f"new{k:04}" in have:
                k += 1
            have.add(f"new{k:04}")
            n = {"id": f"new{k:04}", "type": l["type"], "zone": l["zone"],
                 "spot": l["spot"], "state": state,
                 "created_ms": s["now_ms"], "progress_ms": s["now_ms"],
                 "price": l["price_per_hour"], "previous": holds_of(l)}
            size = types[l["type"]].get("hosts", 1)
            if size > 1:
                made[l["type"]] += 1
                n["host_group"] = f"{s['now_ms']}-{made[l['type']] // size}"
            if state == "ready":
                n["total"] = dict(types[l["type"]]["resources"])
                n["idle_ms"] = 0
            kept.append(n)
    return s


def moved_work(s, plan):
    """The work of busy nodes that are consolidated, pending again."""
    def parts(n, k):
        has, free = (plan_world.row_of(n[x]).get(k, 0)
                     for x in ("total", "available"))
        used = max(0, has - free)
        whole = k in plan_world.DEVICES and used > plan_world.ONE
        return -(-used // plan_world.ONE) if whole else used / plan_world.ONE
    ended = {n["id"] for n in plan["nodes"] if n["why"] == "consolidated"}
    lumps = []
    for n in s["nodes"]:
        if n["id"] in ended and n.get("idle_ms", -1) < 0:
            lumps.append({k: parts(n, k) for k in n["total"]
                          if parts(n, k) > 0})
    return [{"bundles": [{"resources": r,
                          "tolerations": [{"operator": "Exists"}]}],
             "since_ms": NOW, "priority": 99}
            for r in lumps if r]


def join(s, rng, part):
    """Some of the nodes on their way are ready now."""
    types = {t["name"]: t for t in s["node_types"]}
    for n in s["nodes"]:
        if n.get("state") in ("starting", "requested", "intended") and \
                n["type"] in types and rng.random() < part:
            n["state"] = "ready"
            n["total"] = dict(types[n["type"]]["resources"])
            n["idle_ms"] = 0
    s["now_ms"] += 100


def lessen(s, rng):
    """Some of the demand is gone, or smaller."""
    s = copy.deepcopy(s)
    for key in ("demands", "gangs", "requests"):
        s[key] = [d for d in s[key] if rng.random() < 0.7]
    for d in s["demands"]:
        for b in d["bundles"]:
            if rng.random() < 0.3:
                b["count"] = rng.randint(1, b["count"])
    return s


def shuffled(s, rng):
    """The same in another order."""
    s = copy.deepcopy(s)
    for key in ("node_types", "nodes", "demands", "gangs", "requests"):
        rng.shuffle(s[key])
    for key in ("gangs", "requests", "demands"):
        for d in s[key]:
            if key == "demands":   # elsewhere the order is the asker's own
                rng.shuffle(d["bundles"])
    rng.shuffle(s.get("queues", []))
    for t in s["node_types"]:
        if t.get("offers"):
            rng.shuffle(t["offers"])
    return s
