"""Laws of the planner on random snapshots.

PLAN_SEED=n starts elsewhere, PLAN_WORLDS=n tries more.  A failure prints its
seed: PLAN_SEED=that PLAN_WORLDS=1 runs it alone.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import check_plan  # noqa: E402
import worlds      # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
DAVIT = os.environ.get("DAVIT") or os.path.join(ROOT, "build/release/davit")
SEED = int(os.environ.get("PLAN_SEED", "1"))
WORLDS = int(os.environ.get("PLAN_WORLDS", "400"))


# How long each world's plans are bettered: the first plan, what a tick of the
# daemon spends, and much more.
BUDGETS = ("0", "1ms", "0", "20ms")
budget = "0"


def plan_text(snapshot):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
        json.dump(snapshot, f)
        f.flush()
        p = subprocess.run([DAVIT, "plan", "--json", "--budget", budget, f.name], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=60)
    assert p.stdout.startswith("{"), f"exit {p.returncode}: {p.stderr[:500]}"
    return p.stdout


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
            path = os.path.join(tempfile.gettempdir(),
                                f"davit-{law.__name__}-{seed}.json")
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
        assert unfinished(first) or first["ended"] or undrains(first) or \
            all(a[1:] == ("end", "idle") or a[1] == "undrain"
                for a in acts), \
            f"tick {tick + 1}: {acts}"
    assert False, f"still {acts} after {tick + 1} ticks"


def joined_is_as_good(s, _):
    """The nodes that were bought join, the demand is the same for a moment
    more: nothing is bought again."""
    plan = plan_of(s)
    if plan["ended"] or unfinished(plan) or undrains(plan):
        return
    after = plan_of(worlds.carry_out(s, plan, "ready"))
    assert not after["launches"], f"bought again: {after['launches']}"


def test_sound():
    every_world(sound)


def test_order_does_not_matter():
    every_world(order_does_not_matter)


def test_settles():
    every_world(settles)


def test_joined_is_as_good():
    every_world(joined_is_as_good, plain=True)
