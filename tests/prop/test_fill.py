"""tests/check_fill.py against all fills of small machines: what it says a machine can hold
at most is never less, and is that; and of machines with eight devices, where nobody can
try all, its bound is near what a simple fill holds.
"""
import os
import random

import pytest

from check_fill import Fill
from lib import seeds
from plan_world import ONE, fits

SEED = seeds.seed(20261123)
CASES = int(os.environ.get("DAVIT_CASES") or 300)


def machine(rng, devices):
    row = {"CPU": rng.choice([4, 8, 16]) * ONE, "memory": rng.choice([8, 16, 64]) * ONE}
    n = rng.choice(devices)
    return {**row, "GPU": n * ONE} if n else row


def item(rng, few):
    needs = {"CPU": rng.randint(1, 40) * ONE // 10, "memory": rng.randint(1, 80) * ONE // 10}
    part = rng.choice([0, 0, .1, .25, .3, .33, .5, .6, 1, 1, 2, 4])
    if part:
        needs["GPU"] = round(part * ONE)
    if rng.random() < .2:
        del needs["memory"]
    return rng.uniform(.1, 3), needs, rng.randint(1, few)


def best(row, items, held=(), value=0.0):
    """By trying everything."""
    if not items:
        return value
    worth, needs, most = items[0]
    found = 0.0
    for n in range(most + 1):
        now = held + ((needs, n),) if n else held
        if n and not fits(row, now):
            break
        found = max(found, best(row, items[1:], now, value + n * worth))
    return found


def of(items):
    return [x[1:] for x in items], [x[0] for x in items]


def test_it_is_the_most():
    for seed in range(SEED, SEED + CASES):
        rng = random.Random(f"fill {seed}")
        row, items = machine(rng, [0, 1, 2, 3]), [item(rng, 3) for _ in range(rng.randint(1, 5))]
        most = best(row, items)
        questions, worths = of(items)
        fill = Fill(questions, row)
        for factor in (1, 1.7):         # what it remembers of other worths must not matter
            value = fill.worth([w * factor for w in worths])
            assert value == pytest.approx(most * factor), f"seed {seed}"
        for enough in (most * .7, most * 1.3):
            value = fill.worth(worths, enough)
            assert value >= most - 1e-9 or enough >= value >= most - 1e-9, f"seed {seed}"
            assert value <= max(most, enough) * (1 + 1e-9), f"seed {seed}"


def test_bounds_are_bounds():
    """By prices alone, and with a resource exact, without the search."""
    above = [0.0, 0.0]
    for seed in range(SEED, SEED + CASES):
        rng = random.Random(f"bound {seed}")
        row, items = machine(rng, [0, 1, 2, 3]), [item(rng, 3) for _ in range(rng.randint(1, 5))]
        most = best(row, items)
        questions, worths = of(items)
        fill = Fill(questions, row)
        if not fill.items:
            continue
        worths = [worths[i] for i, _, _ in fill.items]
        for k, bound in enumerate((fill.bound(worths, -1), fill.jointly(worths, -1))):
            assert bound >= most - 1e-9, f"seed {seed}"
            above[k] += bound - most
    assert above[1] < above[0] / 2, above
