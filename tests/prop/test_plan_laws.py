"""Laws of the planner on random snapshots.

SEED=n starts elsewhere, PLAN_WORLDS=n tries more.  A failure prints its
seed: SEED=that PLAN_WORLDS=1 runs it alone, shrink.py makes it small.
found/*.json are worlds that once broke a law.
"""
import collections
import copy
import glob
import json
import os
import random

import pytest

import check_plan
import worlds
from lib import ROOT, TESTS, seeds
from lib.plan import davit_plan

SEED = seeds.seed(1)
WORLDS = int(os.environ.get("PLAN_WORLDS", "400"))


# How long each world's plans are bettered: the first plan, what a tick of the
# daemon spends, and much more.
BUDGETS = ("0", "1ms", "0", "20ms")
budget = "0"
SEEN = collections.Counter()   # that a law was put to the test at all


def plan_text(snapshot):
    return davit_plan(snapshot, "--budget", budget)


def plan_of(snapshot):
    return json.loads(plan_text(snapshot))


def every_world(law, plain=False):
    """Runs the law on every seed; keeps the snapshot of the first failure."""
    for seed in range(SEED, SEED + WORLDS):
        s = worlds.world(random.Random(seed), plain)
        global budget
        budget = BUDGETS[seed % len(BUDGETS)]
        try:
            law(s, random.Random(seed + 1))
        except AssertionError as e:
            path = os.path.join(ROOT, "build", "failed",
                                f"{law.__name__}-{seed}.json")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                json.dump(s, f, indent=1)
            raise AssertionError(f"seed {seed} ({path}): {e}") from e


def no_actions(plan):
    acts = [(n["id"], n["action"], n["why"]) for n in plan["nodes"]
            if n["action"] != "keep"]
    return acts + [(l["type"], l["count"], l["why"])
                   for l in plan["launches"]]


def unfinished(plan):
    return any(b["waiting"] for b in plan["bundles"])


def undrains(plan):
    return any(n["action"] == "undrain" for n in plan["nodes"])


def sound(s, _):
    bad = check_plan.check(s, plan_of(s))
    assert not bad, "; ".join(bad[:5])


def order_does_not_matter(s, rng):
    a, b = plan_text(s), plan_text(worlds.shuffled(s, rng))
    assert a == b, "another order of input, another plan"


def settles(s, _):
    """Carried out, a plan leaves nothing to buy; where it had to end something,
    to wait, or to take a drain back (which changes the order in which nodes
    are used), the next ones may, but not for ever.  (With the new nodes there
    an idle one may turn out not to be needed, or a draining one to do.)"""
    first = plan = plan_of(s)
    for tick in range(6):
        s = worlds.carry_out(s, plan)
        plan = plan_of(s)
        bad = check_plan.check(s, plan)
        assert not bad, f"tick {tick + 1}: {'; '.join(bad[:5])}"
        acts = no_actions(plan)
        if not acts:
            return
        again = bought_again(s, [first], plan)
        assert unfinished(first) or not again, \
            f"tick {tick + 1}: bought again: {acts}"
    assert False, f"still {acts} after {tick + 1} ticks"


def bought_again(s, before, plan):
    """What may not be: a min may have waited for a node that was ended, or
    for others to join."""
    wait = "max_launching" in s["limits"] or any(p["ended"] for p in before)
    return [(l["type"], l["count"], l["why"]) for l in plan["launches"]
            if l["why"] != "consolidation" and
            (l["why"] != "min_of_type" or not wait)]


def joined_is_as_good(s, rng):
    """The nodes that were bought join one after the other, the demand is the
    same for a moment more: nothing is bought again."""
    first = plan_of(s)
    if unfinished(first):
        return
    before = [first]
    for part in (0.5, 1):
        s = worlds.carry_out(s, before[-1])
        worlds.join(s, rng, part)
        plan = plan_of(s)
        again = bought_again(s, before, plan)
        assert not again, f"bought again: {again}"
        before.append(plan)


def less_buys_nothing(s, rng):
    """Some of the demand is gone by the time that the nodes are there."""
    first = plan_of(s)
    if unfinished(first):
        return
    s = worlds.lessen(worlds.carry_out(s, first), rng)
    again = bought_again(s, [first], plan_of(s))
    assert not again, f"bought for less: {again}"


def consolidates(s, rng):
    """Requests, and work that runs: all of it is there for long."""
    s["demands"], s["gangs"] = [], []
    s["limits"] = {"conserve": s["limits"]["conserve"], "consolidate": {
        "mode": rng.choice(["empty", "on"]), "older_than_s": 0,
        "min_saving": rng.choice([0, 0.2])}, "idle_timeout_s": 864000}
    if rng.random() < 0.3:
        worlds.loaded_add(s, rng)
    s["nodes"] = [n for n in s["nodes"] if n.get("state", "ready") == "ready"]
    for n in s["nodes"]:
        n["created_ms"] = worlds.NOW - 9000000


def consolidation_rests(s, rng):
    """Nodes join, moved work comes back as pending: consolidating goes on to a
    point at which nothing is done, costs fall, and nothing but what is to take
    a place is bought for it.  What had waited, for a type at its max, may use
    what became free."""
    consolidates(s, rng)
    for n in s["nodes"]:
        if rng.random() < 0.15:
            n["hold"] = "protected"
    begun, waited, acts = False, False, None
    for tick in range(16):
        plan = plan_of(s)
        bad = check_plan.check(s, plan)
        assert not bad, f"tick {tick}: {'; '.join(bad[:5])}"
        acts = no_actions(plan)
        if not acts:
            return
        ends = [n for n in plan["nodes"] if n["why"] == "consolidated"]
        begun = begun or bool(ends)
        SEEN["ends"] += len(ends)
        SEEN["pairs"] += len(ends) == 2 and \
            all(n["id"].startswith("small") for n in ends)
        SEEN["busy"] += len(worlds.moved_work(s, plan))
        SEEN["launches"] += sum(l["why"] == "consolidation"
                                for l in plan["launches"])
        # A min that was at its max is filled up when what was ended is gone.
        others = [l for l in plan["launches"]
                  if l["why"] != "consolidation" and l["why"] != "min_of_type"]
        assert waited or not (begun and others), f"tick {tick}: bought {others}"
        waited = waited or left_of(plan) > 0
        moved = worlds.moved_work(s, plan)
        s = worlds.carry_out(s, plan, "ready")
        s["demands"] += moved
    assert len(ends) or any(a[2] in ("consolidation", "min_of_type") for a in acts), acts
    assert False, f"no rest: {acts}"


def test_consolidation_rests():
    every_world(consolidation_rests, plain=True)
    assert WORLDS < 100 or all(SEEN[k] for k in ("ends", "pairs", "busy", "launches")), \
        f"nothing was consolidated: {SEEN}"


def test_sound():
    every_world(sound)


def test_order_does_not_matter():
    every_world(order_does_not_matter)


def test_settles():
    every_world(settles)


def test_joined_is_as_good():
    every_world(joined_is_as_good)


def ends_stand(s, rng):
    """What was decided stands: a plan that sees what the one before ended as
    draining takes nothing of it back and buys nothing in its place, as the
    demand is the same.  What was over a max may come back once, when others
    turn out not to be needed; while work waits, or machines are on their way,
    nodes are used in another order, and only what must go goes.  Where running
    work is to move to stays as well."""
    if rng.random() < 0.6:
        consolidates(s, rng)
        s["limits"]["idle_timeout_s"] = rng.choice([None, 10])
    else:
        s["limits"]["consolidate"] = {"mode": rng.choice(["off", "on"])}
    first = plan = plan_of(s)
    moves = unfinished(first) or first["launches"]
    ended = {}
    for tick in range(16):
        ends = {n["id"]: n["why"] for n in plan["nodes"] if n["action"] == "end"}
        SEEN.update(ends.values())
        ended.update(ends)
        takes = {n["id"] for n in plan["nodes"] if n["why"] == "needed_by_demand" and not n["placements"]}
        SEEN["takes"] += len(takes)
        s = worlds.carry_out(s, plan, drains=True)
        plan = plan_of(s)
        bad = check_plan.check(s, plan)
        assert not bad, f"tick {tick}: {'; '.join(bad[:5])}"
        back = [(n["id"], ended.pop(n["id"]), n["why"]) for n in plan["nodes"]
                if n["action"] == "undrain" and n["id"] in ended]
        back = [b for b in back if b[1] in ("outdated", "asked_to_end") or
                not moves and not b[1].startswith("over_max")]
        assert not back, f"tick {tick}: taken back: {back}"
        again = bought_again(s, [first], plan)
        assert moves or not again, f"tick {tick}: bought: {again}"
        left = [n["id"] for n in plan["nodes"] if n["id"] in takes and n["why"] == "idle"]
        assert moves or not left, f"tick {tick}: work was to move there: {left}"
        if moves or not no_actions(plan):
            return
    assert False, f"still {no_actions(plan)}"


def test_ends_stand():
    every_world(ends_stand)
    assert WORLDS < 100 or all(SEEN[k] for k in ("consolidated", "idle", "outdated", "takes")), SEEN


def left_of(plan):
    return sum(b["waiting"] for b in plan["bundles"])


def unplaced_of(plan):
    """Also what no offer could hold: a node that is there may."""
    return left_of(plan) + sum(b["infeasible"] for b in plan["bundles"])


def proposed_nodes_are_bought(s, rng):
    """With the nodes that a longer look proposes a plan is at least as good; when the
    demand has changed it is still sound, and buys nothing for nobody."""
    global budget
    budget = "20ms"
    longer = plan_of(s)
    budget = "0"
    plain = plan_of(s)
    s = dict(s, proposed=[
        {"type": l["type"], "zone": l["zone"], "spot": l["spot"],
         "count": l["count"], "previous": worlds.holds_of(l)}
        for l in longer["launches"] if l["placements"]])
    taken = plan_of(s)
    bad = check_plan.check(s, taken)
    assert not bad, "; ".join(bad[:5])
    if unplaced_of(taken) == unplaced_of(plain):
        assert taken["cost_per_hour"] <= plain["cost_per_hour"] + 1e-9
    SEEN["cheaper"] += taken["cost_per_hour"] < plain["cost_per_hour"] - 1e-9
    less = worlds.lessen(s, rng)
    taken = plan_of(less)
    bad = check_plan.check(less, taken)
    assert not bad, f"less: {'; '.join(bad[:5])}"
    units = {t["name"] for t in less["node_types"] if t.get("hosts", 1) > 1}
    idle = [l for l in taken["launches"]
            if not l["placements"] and l["type"] not in units and l["why"] not in ("min_of_type",
                                                   "consolidation")]
    assert not idle, f"for nobody: {idle}"


def test_proposed_nodes_are_bought():
    every_world(proposed_nodes_are_bought)
    assert WORLDS < 200 or SEEN["cheaper"], "never any better"


def a_rate_only_delays(s, rng):
    """How many machines may start at once says when they are bought, not which: what is
    launched is a part of what would be without, and the same nodes stay."""
    s["limits"].pop("consolidate", None)
    at_once = plan_of(s)
    if any(l["why"] == "consolidation" for l in at_once["launches"]):
        return
    if rng.random() < 0.5:
        s["limits"]["max_launching"] = rng.choice([0, 1, 4])
    else:
        s["limits"]["upscaling_speed"] = rng.choice([0.5, 1, 3])
    plan = plan_of(s)
    bad = check_plan.check(s, plan)
    assert not bad, "; ".join(bad[:5])
    may = collections.Counter()
    for l in at_once["launches"]:
        may[l["type"], l["zone"], l["spot"]] += l["count"]
    for l in plan["launches"]:
        may[l["type"], l["zone"], l["spot"]] -= l["count"]
    assert not [k for k, n in may.items() if n < 0], \
        f"would not be bought: {[(k, -n) for k, n in may.items() if n < 0]}"
    assert [(n["id"], n["action"]) for n in plan["nodes"]] == \
        [(n["id"], n["action"]) for n in at_once["nodes"]]
    held = sum(may.values())
    SEEN["held"] += held
    SEEN["gangs"] += any(b.get("strategy") and b["launched"] and b["waiting"]
                         for b in plan["bundles"])
    assert held or left_of(plan) == left_of(at_once)


def test_a_rate_only_delays():
    every_world(a_rate_only_delays, plain=True)
    assert WORLDS < 200 or SEEN["held"] > 100 and SEEN["gangs"] > 5, SEEN


@pytest.mark.parametrize("strategy", ["STRICT_SPREAD", "SPREAD", "PACK"])
@pytest.mark.parametrize("limits,ticks", [({"upscaling_speed": 1}, 2), ({"max_launching": 3}, 3)])
def test_a_gang_comes_one_part_after_the_other(strategy, limits, ticks):
    """It wants more machines than may start at once: those that are there wait for the
    rest, however long they are idle."""
    s = {"now_ms": worlds.NOW, "limits": {"idle_timeout_s": 60, **limits}, "nodes": [],
         "node_types": [
             {"name": "a", "provider": "sim", "price": 1, "resources": {"CPU": 8, "GPU": 1}},
             {"name": "b", "provider": "sim", "price": 40, "resources": {"CPU": 96, "GPU": 8}}],
         "gangs": [{"id": "pg", "strategy": strategy,
                    "bundles": [{"resources": {"CPU": 4, "GPU": 1}, "count": 8}]}]}
    for _ in range(ticks):
        plan = plan_of(s)
        assert not check_plan.check(s, plan)
        assert left_of(plan) > 0 or len(s["nodes"]) + launched_of(plan) == 8
        assert launched_of(plan) and {l["type"] for l in plan["launches"]} == {"a"}
        s = worlds.carry_out(s, plan, "ready")
        for n in s["nodes"]:
            n["idle_ms"] = 600000
    plan = plan_of(s)
    assert not no_actions(plan) and left_of(plan) == 0 and len(s["nodes"]) == 8


def launched_of(plan):
    return sum(l["count"] for l in plan["launches"])


def test_less_buys_nothing():
    every_world(less_buys_nothing)


def another_offer(s, rng):
    """One more offer: a plan for an empty cluster is dearer by no more than its
    own gap, and leaves out no more."""
    global budget
    budget = "20ms"
    s["nodes"], s["gangs"], s["requests"] = [], [], []
    s["limits"] = {"conserve": False}
    s.pop("queues", None)
    for t in s["node_types"]:
        for key in ("min", "max", "hosts"):
            t.pop(key, None)
        for o in t.get("offers", []):
            for key in ("room", "backoff_until_ms", "backoff_for", "quotas"):
                o.pop(key, None)
    before = plan_of(s)
    new = json.loads(json.dumps(rng.choice(s["node_types"])))
    new["name"] = "one-more"
    cheaper = rng.choice([0.3, 0.7, 0.95, 1, 1.2])
    for place in [new] + new.get("offers", []):
        if isinstance(place.get("price"), (int, float)):
            place["price"] = round(place["price"] * cheaper, 4)
    after = plan_of(dict(s, node_types=s["node_types"] + [new]))
    assert left_of(after) <= left_of(before)
    if left_of(after) < left_of(before) or after["lower_bound"] is None:
        return
    SEEN["bounded"] += 1
    SEEN["dearer"] += after["cost_per_hour"] > before["cost_per_hour"] + 1e-6
    assert after["lower_bound"] <= after["cost_per_hour"] + 1e-6
    assert after["lower_bound"] <= before["cost_per_hour"] + 1e-6, \
        f"{before['cost_per_hour']} before, at least {after['lower_bound']} after"


def test_another_offer():
    every_world(another_offer, plain=True)
    assert WORLDS < 200 or SEEN["bounded"] > 50, SEEN


def unconfirmed_buys_nothing(s, rng):
    """More demand of kinds that are there already, seen by one view only: the same is bought."""
    before = plan_of(s)
    if any(l["why"] == "consolidation" for l in before["launches"]):
        return
    more = {"demands": [], "gangs": []}
    for kind in more:
        for d in rng.sample(s[kind], min(3, len(s[kind]))):
            d = json.loads(json.dumps(d))
            if d.get("source") == "spare":
                continue
            for b in d.get("bundles", [d]):
                b["unconfirmed"] = True
            if kind == "gangs":
                d["id"] = d.get("id", "") + "-new"
            more[kind].append(d)
    s = dict(s, **{kind: s[kind] + v for kind, v in more.items()})
    after = plan_of(s)
    bad = check_plan.check(s, after)
    assert not bad, "; ".join(bad[:5])

    def bought(plan):
        return sum((collections.Counter({(l["type"], l["zone"], l["spot"]): l["count"]}) for l in plan["launches"]),
                   collections.Counter())
    unconfirmed = [b for b in after["bundles"] if b.get("unconfirmed")]
    SEEN["unconfirmed there"] += any(b["placed"] for b in unconfirmed)
    SEEN["unconfirmed waits"] += any(b["waiting"] for b in unconfirmed)
    assert undrains(after) or bought(before) == bought(after), (bought(before), bought(after))


def test_unconfirmed_buys_nothing():
    every_world(unconfirmed_buys_nothing)
    assert WORLDS < 100 or SEEN["unconfirmed there"] and SEEN["unconfirmed waits"], SEEN


def where(plan):
    """Per owner: on which nodes, and how much of what."""
    at = collections.defaultdict(collections.Counter)
    for n in plan["nodes"]:
        for h in n["placements"]:
            at[h["owner"]][n["id"], h["shape"]] += h["count"]
    return at


def requests_stay(s, rng):
    """Without a demand source nothing tells which nodes have work.  What others give back
    or ask for anew moves nobody who asks for the same; who asks for less stays on
    nodes that were his.  Unless a new one would wait for ever."""
    s = {"cluster": "random", "now_ms": s["now_ms"], "node_types": s["node_types"], "work_unknown": True,
         "limits": {"conserve": s["limits"]["conserve"], "consolidate": {
             "mode": rng.choice(["off", "empty"]), "min_saving": 0, "older_than_s": 0}},
         "requests": [{"owner": f"o{i}", "bundles": [worlds.bundle(rng, 6) for _ in range(rng.randint(1, 3))]}
                      for i in range(rng.randint(2, 5))],
         "nodes": [], "demands": [], "gangs": []}
    plan = plan_of(s)
    for _ in range(4):
        s = worlds.carry_out(s, plan, state="ready")
        for n in s["nodes"]:
            n["counted_on"] = bool(n["previous"])
        plan = plan_of(s)
    if no_actions(plan) or unfinished(plan):
        return
    before = where(plan)
    same, less = set(), set()
    for r in s["requests"][:]:
        fate = rng.choice(["gone", "less", "same", "same"])
        if fate == "gone":
            s["requests"].remove(r)
        elif fate == "less":
            r["bundles"] = rng.sample(r["bundles"], rng.randint(1, len(r["bundles"])))
            less.add(r["owner"])
        else:
            same.add(r["owner"])
    if rng.random() < .5:
        s["requests"].append({"owner": "new", "bundles": [worlds.bundle(rng, 6)]})
    rng.shuffle(s["requests"])
    plan = plan_of(s)
    if unfinished(plan):    # then it may take the place of others
        return
    after = where(plan)
    moved = [f"{x} moved: {before[x]} to {after[x]}" for x in same if before[x] != after[x]]
    moved += [f"{x} moved: {before[x]} to {after[x]}" for x in less if after[x] - before[x]]
    SEEN["same"] += len(same)
    SEEN["less"] += len(less)
    if moved:   # it was the only way that nobody waits
        SEEN["displaced"] += 1
        for r in s["requests"]:
            r["priority"] = int(r["owner"] != "new")
        assert unfinished(plan_of(s)), moved


def test_requests_stay():
    every_world(requests_stay)
    assert WORLDS < 100 or SEEN["same"] > 50 and SEEN["less"] > 20, SEEN


def places_stand(s, rng):
    """Without a demand source what a node is for is kept with it: a plan that sees what
    the one before placed, on nodes that are on their way too, places it there again.
    Else each plan would exchange it, and write it down."""
    s = {"cluster": "random", "now_ms": s["now_ms"], "node_types": s["node_types"], "work_unknown": True,
         "limits": {"conserve": s["limits"]["conserve"], "consolidate": {
             "mode": rng.choice(["off", "empty"]), "min_saving": 0, "older_than_s": 0}},
         "requests": [{"owner": f"o{i}", "bundles": [worlds.bundle(rng, 6) for _ in range(rng.randint(1, 3))]}
                      for i in range(rng.randint(2, 5))],
         "nodes": [], "demands": [], "gangs": []}
    plans = [plan_of(s)]
    for tick in range(6):
        s = worlds.carry_out(s, plans[-1])
        if tick == 2:
            worlds.join(s, rng, .3)
        for n in s["nodes"]:
            n["counted_on"] = bool(n["previous"])
        plans.append(plan_of(s))
    if no_actions(plans[-2]) or no_actions(plans[-1]):
        return
    SEEN["stands"] += 1
    assert where(plans[-2]) == where(plans[-1]), f"{where(plans[-2])} to {where(plans[-1])}"


def test_places_stand():
    every_world(places_stand)
    assert WORLDS < 100 or SEEN["stands"] > 50, SEEN


LAWS = (sound, order_does_not_matter, settles, joined_is_as_good,
        less_buys_nothing, proposed_nodes_are_bought, unconfirmed_buys_nothing)
FOUND = sorted(glob.glob(os.path.join(TESTS, "prop/found/*.json")))


@pytest.mark.parametrize("path", FOUND, ids=os.path.basename)
def test_found(path):
    global budget
    with open(path) as f:
        s = {"now_ms": worlds.NOW, "nodes": [], "demands": [], "gangs": [],
             "requests": [], "limits": {}, **json.load(f)}
    for law in LAWS:
        for budget in ("0", "20ms"):
            law(copy.deepcopy(s), random.Random(1))
