#!/usr/bin/env python3
"""Checks a plan against its snapshot, knowing nothing of how it was made.

usage: check_plan.py SNAPSHOT.json PLAN.json
Capacity device by device, selectors, gangs, limits, prices, sums, ends and
refusals.  Prints what is wrong, a line each; exit 1 if anything is.
As a library: check(snapshot, plan) gives the list.
"""
import json
import math
import sys
from collections import Counter, defaultdict

import check_bound
from plan_world import (ACCEL, DENIED, DEVICES, INF, ONE,
                        World, fits, matches, millis, new_row, row_of,
                        tolerates, tolerations_of)


def condition(key, v):
    """A condition on a label as people write it: "a", "!a", "in(a,b)", "!in(a,b)", or a list."""
    if isinstance(v, list):
        return {"key": key, "op": "in", "values": v}
    text = v.removeprefix("!")
    inside = text[3:-1].split(",") if text.startswith("in(") else [text]
    return {"key": key, "op": "not_in" if v.startswith("!") else "in", "values": [x.strip() for x in inside]}


class Check:
    def __init__(self, snapshot, plan):
        self.w = World(snapshot)
        self.snapshot, self.plan = snapshot, plan
        self.bad = []
        self.waited = {}       # key_of: since when, and its alternatives' times
        self.bundles = {(b["demand"], b["bundle"]): b
                        for b in plan["bundles"]}
        self.actions = {n["id"]: n for n in plan["nodes"]}

    def say(self, text):
        self.bad.append(text)

    def alternatives(self, b):
        return b.get("any_of") or [b]

    def needs(self, b, alt):
        return row_of(self.alternatives(b)[alt]["resources"])

    def may(self, b, alt, place):
        """By labels, taints and queue; room aside."""
        a = self.alternatives(b)[alt]
        return matches(a.get("selector"), place.labels) and \
            tolerates(tolerations_of(a.get("tolerations")), place.taints) and \
            not a.get("queue_denied") and \
            (not a.get("queue") or a["queue"] in place.queues)

    def run(self):
        self.demand_is_all_there()
        self.nodes_are_all_there()
        self.launches()
        self.holds()
        self.cycles()
        self.clocks()
        self.sums()
        self.gangs()
        self.limits()
        self.quotas()
        self.ends()
        self.unplaced()
        for text in check_bound.check(self.w, self.plan, self.shape_of):
            self.say(text)
        return self.bad

    # Every bundle asked for is in the plan, and no other.
    def demand_is_all_there(self):
        want, have = Counter(), Counter()
        for key, count, since, afters in self.asked():
            want[key] += count
            self.waited.setdefault(key, []).append((since, afters))
        for b in self.plan["bundles"]:
            have[self.key_of(b)] += b["count"]
        if want != have:
            self.say(f"demand differs: asked and not planned "
                     f"{dict(want - have)}, planned and not asked "
                     f"{dict(have - want)}")

    def shape(self, e):
        terms = {}
        for t in e.get("selector") or []:
            terms.setdefault((t["key"], t["op"]), set()).update(t["values"])
        return (tuple(sorted(row_of(e.get("resources")).items())),
                tuple(sorted((k, tuple(sorted(v))) for k, v in terms.items())),
                tuple(sorted(tolerations_of(e.get("tolerations"))))
                if self.w.tainted else (),
                DENIED if e.get("queue_denied") else e.get("queue"))

    def shape_of(self, b, alt):
        return self.shape(self.alternatives(b)[alt])

    def key_of(self, b):
        """What tells a bundle of the plan from others."""
        return (b["source"], b["owner"], b["id"], b.get("strategy", ""), b.get("unconfirmed", False),
                tuple(self.shape(a) for a in self.alternatives(b)))

    def asked(self):
        """Of each bundle asked for: its key, how many, since when, and the
        times of its alternatives."""
        def spelt(b):
            e = {"resources": b.get("resources")}
            if e["resources"] is None and not b.get("any_of"):
                known = {"count", "accelerator_type", "labels", "selector",
                         "owner", "id", "source", "strategy", "priority",
                         "since_ms", "tolerations", "queue", "after", "unconfirmed"}
                e["resources"] = {k: v for k, v in b.items()
                                  if k not in known}
            e["selector"] = list(b.get("selector") or [])
            if b.get("accelerator_type"):
                e["selector"].append(condition(ACCEL, b["accelerator_type"]))
            for k, v in (b.get("labels") or {}).items():
                e["selector"].append(condition(k, v))
            e["tolerations"] = list(b.get("tolerations") or [])
            return e

        for kind, source, owner, strategy in (
                ("demands", "task", "ray", ""), ("gangs", "gang", "ray", "PACK"),
                ("requests", "request", "default", "")):
            for d in self.snapshot.get(kind) or []:
                queue = self.w.queue_of(d, d.get("owner", owner))
                for b in d.get("bundles", [d]):
                    alts = [spelt(b)]
                    if b.get("any_of"):
                        base = spelt({**b, "any_of": 1,
                                      "resources": b.get("resources") or {}})
                        alts = [{k: {**base[k], **a[k]} if k == "resources"
                                 else base[k] + a[k] for k in base}
                                for a in map(spelt, b["any_of"])]
                    for a in alts:
                        a["queue"] = None if queue is DENIED else queue
                        a["queue_denied"] = queue is DENIED
                    yield ((d.get("source", source), d.get("owner", owner),
                            d.get("id", ""), d.get("strategy", strategy) or "",
                            d.get("source", source) != "request" and b.get("unconfirmed", False),
                            tuple(self.shape(a) for a in alts)),
                           b.get("count", 1), d.get("since_ms") or 0,
                           [millis(a.get("after") or 0)
                            for a in b.get("any_of") or [b]])

    def youngest(self, b):
        """When the last of its like was first seen."""
        return max([s for s, _ in self.waited.get(self.key_of(b), [])] or [0])

    def nodes_are_all_there(self):
        ids = Counter(n.id for n in self.w.nodes)
        if ids != Counter(n["id"] for n in self.plan["nodes"]):
            self.say("the plan's nodes are not the snapshot's")

    def launches(self):
        cost = 0
        for l in self.plan["launches"]:
            o = self.w.offers.get((l["type"], l["zone"], l["spot"]))
            if o is None:
                self.say(f"launches an offer that is not there: {l['type']} "
                         f"{l['zone']} {l['spot']}")
                continue
            if l["count"] < 1:
                self.say(f"launches {l['count']} of {l['type']}")
            if o.price is not None and abs(o.price - l["price_per_hour"]) > 1e-6:
                self.say(f"{l['type']} costs {o.price}, plan says "
                         f"{l['price_per_hour']}")
            cost += l["price_per_hour"] * l["count"]
            if o.until > self.w.now:
                self.say(f"launches {l['type']} {o.zone}, which is in back-off")
            if self.w.types[o.type].unavailable:
                self.say(f"launches {l['type']}, which is unavailable")
            if not l["placements"] and self.w.types[l["type"]].hosts == 1 and \
                    l["why"] not in ("min_of_type", "consolidation"):
                self.say(f"launches {l['type']} for nothing ({l['why']})")
            if l["placements"] and all(self.bundles[h["demand"], h["bundle"]].get("unconfirmed")
                                       for h in l["placements"]) and l["why"] not in ("min_of_type", "consolidation") \
                    and self.w.types[l["type"]].hosts == 1:
                self.say(f"launches {l['type']} for what is unconfirmed")
            if self.w.types[l["type"]].hosts > 1 and not l.get("final", True):
                self.say(f"a part of {l['type']}'s host groups would wait")
        if abs(cost - self.plan["cost_per_hour"]) > 1e-6 * max(1, cost):
            self.say(f"cost is {cost}, plan says {self.plan['cost_per_hour']}")
        bound = self.plan.get("lower_bound")
        if bound is not None and bound > self.plan["cost_per_hour"] + 1e-6:
            self.say(f"lower bound {bound} is above the cost {cost}")
        n = sum(l["count"] for l in self.plan["launches"])
        if n != self.plan["launched"]:
            self.say(f"launched {n}, plan says {self.plan['launched']}")

    def clocks(self):
        """A later alternative is not used before its time, unless no type
        could ever hold those before."""
        for x in self.plan["nodes"] + self.plan["launches"]:
            for h in x["placements"]:
                b = self.bundles[h["demand"], h["bundle"]]
                alt = h["alternative"]
                if alt and not any(
                        self.time_has_come(b, alt, since, afters)
                        for since, afters in self.waited[self.key_of(b)]):
                    self.say(f"bundle {(h['demand'], h['bundle'])}: "
                             f"alternative {alt} is used before its time")

    def time_has_come(self, b, alt, since, afters):
        w = self.w
        wait = sum(afters[i + 1] for i in range(alt) if any(
            fits(new_row(t), [(self.needs(b, i), 1)]) and
            any(self.may(b, i, o) for o in t.offers) and
            not self.over_quota(b, i)[1] for t in w.types.values()))
        return not since or not w.now or w.now - since >= wait

    def cycles(self):
        """Nothing is bought of an offer that failed, for demand that waited
        then, while others that were not tried since could hold all of it."""
        w = self.w
        if w.queues:
            return
        for l in self.plan["launches"]:
            o = w.offers.get((l["type"], l["zone"], l["spot"]))
            if o is None or not o.failed or not l["placements"] or \
                    w.types[o.type].hosts > 1 or \
                    l["why"] in ("min_of_type", "consolidation"):
                continue
            others = [(x, n) for x, n in self.open_offers()
                      if x.tried < o.failed and w.types[x.type].hosts == 1]
            if all(self.others_could(h, o, others) for h in l["placements"]):
                self.say(f"{o.type} {o.zone} failed and is tried again before "
                         f"{others[0][0].type} {others[0][0].zone}")

    def others_could(self, h, failed, others):
        """Hold all that is on new nodes and like this."""
        w = self.w
        b, alt = self.bundles[h["demand"], h["bundle"]], h["alternative"]
        if b.get("strategy") or failed.failed < self.youngest(b):
            return False
        most = 0
        for x, n in others:
            t = w.types[x.type]
            if self.may(b, alt, x) and fits(new_row(t),
                                            [(self.needs(b, alt), 1)]) and \
                    not (t.accelerator and w.conserve and self.plain(b, alt)):
                most += n
        return most >= sum(x["count"] * l["count"]
                           for l in self.plan["launches"] for x in l["placements"])

    def one_node(self, name, place, total, free, holds):
        """Requests lie on the total, everything else on what is free."""
        sides = {True: [], False: []}
        for h in holds:
            b = self.bundles.get((h["demand"], h["bundle"]))
            if b is None:
                self.say(f"{name} holds a bundle that does not exist")
                continue
            needs = self.needs(b, h["alternative"])
            if row_of(h["resources"]) != needs:
                self.say(f"{name}: {h['resources']} is not the bundle's")
            if not self.may(b, h["alternative"], place):
                self.say(f"{name} does not match what bundle "
                         f"{h['demand']}.{h['bundle']} asks for: "
                         f"{place.labels} {place.taints} {place.queues}")
            if h["count"] < 1:
                self.say(f"{name} holds {h['count']} of something")
            sides[b["source"] == "request"].append((needs, h["count"]))
        if not fits(total, sides[True]):
            self.say(f"{name} is too small for the requests on it")
        if not fits(free, sides[False]):
            self.say(f"{name} has too little free for the work on it")

    def holds(self):
        for i, l in enumerate(self.plan["launches"]):
            o = self.w.offers.get((l["type"], l["zone"], l["spot"]))
            if o is not None:
                row = new_row(self.w.types[o.type])
                self.one_node(f"launch {i} ({l['type']})", o, row, row,
                              l["placements"])
        for n in self.w.nodes:
            p = self.actions.get(n.id)
            if p is None:
                continue
            if p["placements"] and (p["action"] == "end" or n.state in (
                    "stopping", "gone") or (n.state == "draining" and
                                            p["action"] != "undrain")):
                self.say(f"{n.id} holds something and goes")
            total = {k: v - v % ONE if k in DEVICES else v
                     for k, v in n.total.items()}
            self.one_node(n.id, n, total, n.free, p["placements"])

    def sums(self):
        placed, launched = Counter(), Counter()
        for n in self.plan["nodes"]:
            for h in n["placements"]:
                placed[h["demand"], h["bundle"]] += h["count"]
        for l in self.plan["launches"]:
            for h in l["placements"]:
                launched[h["demand"], h["bundle"]] += h["count"] * l["count"]
        for key, b in self.bundles.items():
            got = (placed[key], launched[key])
            if got != (b["placed"], b["launched"]):
                self.say(f"bundle {key}: held by nodes and launches {got}, plan "
                         f"says {(b['placed'], b['launched'])}")
            if sum(got) + b["waiting"] + b["infeasible"] != b["count"]:
                self.say(f"bundle {key}: {got} + waiting {b['waiting']} + "
                         f"infeasible {b['infeasible']} is not {b['count']}")
            if (b["waiting"] or b["infeasible"]) and self.w.types and \
                    not b["refusals"]:
                self.say(f"bundle {key} is not placed, and nobody says why")

    def gangs(self):
        per = defaultdict(list)
        for key, b in self.bundles.items():
            if b.get("strategy"):
                per[key[0]].append(b)
        where = defaultdict(list)    # demand: (how many bundles, on how many)
        for x in self.plan["nodes"]:
            n = Counter()
            for h in x["placements"]:
                n[h["demand"]] += h["count"]
            for d, c in n.items():
                where[d].append((c, 1))
        for x in self.plan["launches"]:
            n = Counter()
            for h in x["placements"]:
                n[h["demand"]] += h["count"]
            for d, c in n.items():
                where[d].append((c, x["count"]))
        for d, bundles in per.items():
            size = sum(b["count"] for b in bundles)
            put = sum(b["placed"] + b["launched"] for b in bundles)
            # What may not start yet comes later, one part after the other.
            open_ = [b for b in bundles if b["waiting"] or b["infeasible"]]
            if put not in (0, size) and not all(
                    any(r["why"] == "launch_limit" for r in b["refusals"]) for b in open_):
                self.say(f"gang {d}: {put} of {size} are placed")
            strategy = bundles[0]["strategy"]
            if strategy == "STRICT_SPREAD" and any(c > 1 for c, _ in where[d]):
                self.say(f"gang {d}: STRICT_SPREAD shares a node")
            if strategy == "STRICT_PACK" and put and where[d] != [(size, 1)]:
                self.say(f"gang {d}: STRICT_PACK on {where[d]}")

    def taken(self, rooms):
        """Of the clouds' quotas, by so many machines of each offer."""
        taken = Counter()
        for key, n in rooms.items():
            for name, each in self.w.takes.get(key, {}).items():
                taken[name] += n * each
        return taken

    def limits(self):
        # What may be on the bill counts: also what this plan ends, and what is
        # being ended.
        w = self.w
        there, new = Counter(), Counter()
        for n in w.nodes:
            there[n.type] += n.billed()
        machines = 0
        rooms = Counter()
        for l in self.plan["launches"]:
            new[l["type"]] += l["count"]
            rooms[l["type"], l["zone"], l["spot"]] += l["count"]
            if l["type"] in w.types:
                machines += l["count"]
        for key, n in rooms.items():
            if key[0] in w.types and n % w.types[key[0]].hosts:
                self.say(f"{n} machines of {key}, in units of "
                         f"{w.types[key[0]].hosts}")
        for t in w.types.values():
            if new[t.name] and there[t.name] + new[t.name] > t.max:
                self.say(f"{t.name}: {there[t.name]} + {new[t.name]} is above "
                         f"its max {t.max}")
        for key, n in rooms.items():
            o = w.offers.get(key)
            if o is not None and o.room is not None and n > o.room:
                self.say(f"{key}: {n} launched, there is room for {o.room}")
        for name, n in self.taken(rooms).items():
            if n > w.quotas[name]:
                self.say(f"{n} taken of {name}, {w.quotas[name]} are left")
        ours = [n for n in w.nodes if n.billed() and not n.head]
        if machines and w.max_nodes is not None and \
                len(ours) + machines > w.max_nodes:
            self.say(f"{len(ours)} + {machines} nodes, max {w.max_nodes}")
        starting = sum(n.starting() for n in ours)
        if machines and w.max_launching is not None and \
                starting + machines > w.max_launching:
            self.say(f"{starting} + {machines} on their way, max "
                     f"{w.max_launching}")
        for t in w.types.values() if w.speed else ():
            work = sum(l["count"] for l in self.plan["launches"]
                       if l["type"] == t.name and l["why"] not in ("min_of_type", "request") and
                       not any(h["source"] == "request" for h in l["placements"]))
            counted = [n for n in w.nodes if n.billed() and n.type == t.name]
            starting = sum(n.starting() for n in counted)
            ready = sum(not n.starting() and n.state != "stopping" for n in counted)
            most = max(5, math.ceil(w.speed * max(ready, 1) - 1e-9))
            if work and starting + work > most:
                self.say(f"{t.name}: {starting} + {work} on their way, at most {most} at once")
        if machines and w.max_cost is not None:
            known = [(l["count"], w.offers.get((l["type"], l["zone"], l["spot"]))) for l in self.plan["launches"]]
            surcharge = sum(n * (o.price - o.bill) for n, o in known if o is not None and o.bill is not None)
            cost = self.plan["cost_per_hour"] - surcharge + sum(n.price or 0 for n in ours)
            if self.plan["cost_per_hour"] > 0 and cost > w.max_cost + 1e-6:
                self.say(f"costs {cost}, max {w.max_cost}")
        if w.conserve:
            self.conserved()

    def use(self):
        """What the plan adds to a queue's use: (queue, request?) -> amounts."""
        use = defaultdict(Counter)
        for holds, n in [(p["placements"], 1) for p in self.plan["nodes"]] + \
                [(l["placements"], l["count"]) for l in self.plan["launches"]]:
            for h in holds:
                b = self.bundles[h["demand"], h["bundle"]]
                a = self.alternatives(b)[h["alternative"]]
                for k, v in row_of(a["resources"]).items():
                    use[a.get("queue"), b["source"] == "request"][k] += \
                        v * h["count"] * n
        return use

    def running(self, queue, k):
        return sum(n.total.get(k, 0) - n.free.get(k, 0) for n in self.w.nodes
                   if n.home == queue and n.state != "gone")

    def queue_nodes(self, queue):
        """Its own, and others that hold its work; those bought for it, and
        those bought for a min or for others."""
        def holds(x):
            return any(self.alternatives(
                self.bundles[h["demand"], h["bundle"]])[h["alternative"]]
                .get("queue") == queue for h in x["placements"])
        n = sum(n.state not in ("gone", "stopping") and
                (n.home == queue or holds(self.actions[n.id]))
                for n in self.w.nodes)
        mine = sum(l["count"] for l in self.plan["launches"] if holds(l) and
                   l["why"] != "min_of_type")
        own = sum(l["count"] for l in self.plan["launches"] if
                  (l["why"] == "min_of_type" and holds(l)) or not holds(l) and
                  self.w.offers[l["type"], l["zone"], l["spot"]].home == queue)
        return n, mine, own

    def quotas(self):
        use = self.use()
        for q in self.w.queues.values():
            for k, most in (("GPU", q.gpus), ("CPU", q.cpus)):
                for request in (False, True):
                    n = use[q.name, request][k]
                    was = 0 if request else self.running(q.name, k)
                    if n and n + was > most:
                        self.say(f"queue {q.name}: {was} + {n} {k}, quota "
                                 f"{most}")
            there, mine, _ = self.queue_nodes(q.name)
            if mine and there + mine > q.nodes:
                self.say(f"queue {q.name}: {there} + {mine} nodes, quota "
                         f"{q.nodes}")

    def over_quota(self, b, alt):
        """Is one more beyond what is left of the queue's quota?  And of all of
        it?"""
        a = self.alternatives(b)[alt]
        q = self.w.queues.get(a.get("queue"))
        if q is None:
            return False, False
        now = never = False
        use = self.use()
        for k, most in (("GPU", q.gpus), ("CPU", q.cpus)):
            n = row_of(a["resources"]).get(k, 0)
            was = 0 if b["source"] == "request" else self.running(q.name, k)
            all = was + use[q.name, b["source"] == "request"][k]
            now |= n > 0 and all + n > most
            never |= n > most
        now |= sum(self.queue_nodes(q.name)) >= q.nodes
        return now, never or q.nodes == 0

    def plain(self, b, alt):
        """Could a type without accelerators hold it?"""
        return any(not t.accelerator and t.max > 0 and
                   t.unavailable != "type_disabled" and
                   fits(new_row(t), [(self.needs(b, alt), 1)]) and
                   any(self.may(b, alt, o) for o in t.offers)
                   for t in self.w.types.values())

    def conserved(self):
        """No accelerator is bought for plain work.  The other machines of a
        unit are bought anyway."""
        w = self.w
        riders = Counter()
        for l in self.plan["launches"]:
            t = w.types.get(l["type"])
            if t is None or not t.accelerator or not l["placements"] or \
                    l["why"] in ("min_of_type", "consolidation"):
                continue
            offer = l["type"], l["zone"], l["spot"]
            if all(self.plain(self.bundles[h["demand"], h["bundle"]],
                              h["alternative"]) for h in l["placements"]):
                riders[offer] += l["count"]
            else:
                riders[offer] -= l["count"] * (t.hosts - 1)
        for offer, n in riders.items():
            if n > 0:
                self.say(f"{offer[0]} is launched for work that needs no "
                         f"accelerator")

    def ends(self):
        w = self.w
        left, idle_ended = Counter(), set()
        for n in w.nodes:
            p = self.actions[n.id]
            stays = n.ours() and (n.state != "draining" or
                                  p["action"] == "undrain")
            if p["action"] != "end":
                left[n.type] += stays
                if p["action"] == "undrain" and n.state != "draining":
                    self.say(f"{n.id} does not drain")
                self.kept_though_asked(n, p)
                continue
            if n.head or n.foreign:
                self.say(f"{n.id} is not ours to end")
            if n.state in ("draining", "stopping", "gone"):
                self.say(f"{n.id} is going already")
            if not w.fresh and n.state != "intended":
                self.say(f"{n.id} is ended on a stale view")
            if n.hold and n.hold != "none" and (
                    not n.hold_until or n.hold_until > w.now):
                self.say(f"{n.id} is ended though held: {n.hold}")
            if p["why"] == "idle":
                timeout = w.timeout_of(n)
                # one that starts has idle_ms if nothing needs it and it waits in its cloud's queue
                if n.state not in ("ready", "starting") or n.idle < 0 or timeout is None or \
                        n.idle <= millis(timeout):
                    self.say(f"{n.id} is ended as idle: idle {n.idle}, timeout "
                             f"{timeout}, {n.state}")
                idle_ended.add(n.type)
            elif p["why"] == "outdated":
                mine = [x for x in w.nodes if x is n or
                        (n.unit and (x.unit, x.type) == (n.unit, n.type))]
                if not w.end_outdated or not any(
                        x.outdated or x.type not in w.types for x in mine):
                    self.say(f"{n.id} is not outdated")
            elif p["why"] == "asked_to_end":
                if not any(x.asked_to_end for x in w.nodes if x is n or
                           (n.unit and (x.unit, x.type) == (n.unit, n.type))):
                    self.say(f"nobody asked to end {n.id}")
            elif p["why"] == "consolidated":
                self.consolidated(n)
            elif p["why"] not in ("over_max_of_type", "host_group_incomplete", "over_max_nodes",
                                  "over_budget_end"):
                self.say(f"{n.id} is ended because of {p['why']}")
        for l in self.plan["launches"]:
            left[l["type"]] += l["count"]
        for t in idle_ended:
            if t in w.types and left[t] < w.types[t].min:
                self.say(f"{t}: idle ends leave {left[t]}, min "
                         f"{w.types[t].min}")
        self.end_order()
        self.units()
        ended = sum(p["action"] == "end" for p in self.plan["nodes"])
        if ended != self.plan["ended"]:
            self.say(f"ended {ended}, plan says {self.plan['ended']}")

    def kept_though_asked(self, n, p):
        """What a user wants to go goes, unless something holds it, or another of its host group."""
        held = n.hold and n.hold != "none" and (not n.hold_until or n.hold_until > self.w.now)
        if n.asked_to_end and self.w.fresh and not held and not n.unit and not n.head and not n.foreign and \
                n.state not in ("draining", "stopping", "gone"):
            self.say(f"{n.id} is kept though a user asked to end it: {p['why']}")
        if n.asked_to_end and p["action"] == "undrain" and n.ours() and not n.head:
            self.say(f"{n.id} is taken back though a user asked to end it")

    def consolidated(self, n):
        """Allowed, and nothing is bought or on its way."""
        w = self.w
        if w.consolidate == "off" or n.state != "ready" or \
                (n.idle < 0 and w.consolidate != "on"):
            self.say(f"{n.id} is consolidated: {n.state}, idle {n.idle}")
        if not n.created or w.now - n.created < w.consolidate_age:
            self.say(f"{n.id} is consolidated, but too young")
        if self.plan["launches"] or any(x.starting() and x.ours()
                                        for x in w.nodes):
            self.say(f"{n.id} is consolidated while nodes start")

    def units(self):
        """Ended and taken back whole; one that lost a machine holds nothing."""
        units = defaultdict(list)
        for n in self.w.nodes:
            if n.unit and n.ours() and not n.head:
                units[n.type, n.unit].append(n)
        for (type, unit), nodes in units.items():
            what = [self.actions[n.id]["action"] for n in nodes
                    if n.state != "draining"]
            if "end" in what and set(what) != {"end"}:
                self.say(f"unit {unit}: only {what.count('end')} of "
                         f"{len(what)} are ended")
            t = self.w.types.get(type)
            torn = t and len(nodes) < t.hosts
            for n in nodes:
                p = self.actions[n.id]
                if torn and p["placements"]:
                    self.say(f"{n.id} of the torn unit {unit} holds something")
                if p["why"] == "host_group_incomplete" and not torn:
                    self.say(f"{n.id}: unit {unit} is whole")

    def end_order(self):
        """Above a max, what limits.end_order names goes first."""
        keys = {"spot": lambda n: not n.spot, "on-demand": lambda n: n.spot,
                "most_expensive": lambda n: -(n.price or 0),
                "longest_idle": lambda n: -n.idle,
                "oldest": lambda n: n.created, "newest": lambda n: -n.created}
        order = []
        for k in self.w.end_order:
            if k not in keys:
                break
            order.append(keys[k])
        rank = lambda n: [n.state != "intended", *(f(n) for f in order)]      # noqa: E731
        held = lambda n: n.hold and n.hold != "none" and (  # noqa: E731
            not n.hold_until or n.hold_until > self.w.now)
        for t in self.w.types if order else ():
            mine = [n for n in self.w.nodes if n.type == t and n.ours() and
                    not n.head and n.state != "draining" and
                    not n.unit and not held(n) and
                    (n.price is not None or len(order) == 0)]
            out = [n for n in mine
                   if self.actions[n.id]["why"] == "over_max_of_type"]
            kept = [n for n in mine if self.actions[n.id]["action"] == "keep"]
            if out and kept and max(map(rank, out)) > min(map(rank, kept)):
                self.say(f"{t}: ends {max(out, key=rank).id} rather than "
                         f"{min(kept, key=rank).id}, against end_order")

    # Infeasible means never; waiting means not now; neither is a shrug.
    def unplaced(self):
        w = self.w
        for key, b in self.bundles.items():
            if b.get("strategy") or not (b["waiting"] or b["infeasible"]):
                continue
            could = any(
                fits(new_row(t), [(self.needs(b, i), 1)]) and
                any(self.may(b, i, o) for o in t.offers)
                and t.max > 0 and t.unavailable != "type_disabled"
                and not (t.accelerator and w.conserve and self.plain(b, i))
                and not self.over_quota(b, i)[1]
                for t in w.types.values()
                for i in range(len(self.alternatives(b))))
            there = any(
                fits({k: v - v % ONE if k in DEVICES else v
                      for k, v in n.total.items()},
                     [(self.needs(b, i), 1)]) and
                self.may(b, i, n) and not self.over_quota(b, i)[1]
                for n in w.nodes for i in range(len(self.alternatives(b)))
                if n.state not in ("stopping", "gone"))
            if b["infeasible"] and could:
                self.say(f"bundle {key} is not infeasible: {b['resources']}")
            if b["waiting"] and not could and not there:
                self.say(f"bundle {key} waits for ever: {b['resources']}")
            if b["waiting"] and not b.get("unconfirmed"):
                self.not_lazy(key, b)

    def open_offers(self):
        """Those that one more unit could be bought of, and how many machines;
        none where limits are set that are not followed here."""
        w = self.w
        if w.max_launching is not None or w.speed or w.max_cost is not None:
            return
        count, rooms = Counter(), Counter()
        for n in w.nodes:
            count[n.type] += n.billed()
        ours = sum(n.billed() and not n.head for n in w.nodes)
        for l in self.plan["launches"]:
            count[l["type"]] += l["count"]
            rooms[l["type"], l["zone"], l["spot"]] += l["count"]
            ours += l["count"]
        taken = self.taken(rooms)
        for o in w.offers.values():
            t = w.types[o.type]
            left = t.max - count[t.name]
            if w.max_nodes is not None:
                left = min(left, w.max_nodes - ours)
            if o.room is not None:
                left = min(left, o.room - rooms[o.type, o.zone, o.spot])
            for name, each in w.takes[o.type, o.zone, o.spot].items():
                left = min(left, (w.quotas[name] - taken[name]) // each)
            if not t.unavailable and o.until <= w.now and left >= t.hosts:
                yield o, left

    def not_lazy(self, key, b):
        """No offer stands open for a bundle that waits."""
        w = self.w
        if self.over_quota(b, 0)[0]:
            return
        for o, _ in self.open_offers():
            t = w.types[o.type]
            if t.accelerator and w.conserve and self.plain(b, 0):
                continue
            if fits(new_row(t), [(self.needs(b, 0), 1)]) and \
                    self.may(b, 0, o):
                self.say(f"bundle {key} waits, but {o.type} {o.zone} stands "
                         f"open")
                return


def check(snapshot, plan):
    return Check(snapshot, plan).run()


def main(argv):
    if len(argv) != 3:
        print(__doc__)
        return 2
    with open(argv[1]) as f, open(argv[2]) as g:
        bad = check(json.load(f), json.load(g))
    for b in bad:
        print(b)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
