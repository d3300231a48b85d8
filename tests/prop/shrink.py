#!/usr/bin/env python3
"""Makes a snapshot that breaks a law small: PYTHONPATH=tests tests/prop/shrink.py LAW FILE.

LAW: sound, settles, joined_is_as_good ...; FILE: what a failed test has kept,
build/failed/LAW-SEED.json.  Prints the smallest that still breaks it.
"""
import copy
import json
import random
import re
import sys

import test_plan_laws as laws


def message(law, s, seed):
    """What is wrong, numbers aside; None when the law holds."""
    laws.budget = laws.BUDGETS[seed % len(laws.BUDGETS)]
    try:
        law(copy.deepcopy(s), random.Random(seed + 1))
    except AssertionError as e:
        return re.sub(r"[0-9.]+|'[^']*'|:.*", "", str(e))[:40]
    return None


def smaller(v):
    """Every way to leave one thing out of a nested value, the largest first."""
    if isinstance(v, list):
        for k in (len(v) // 2, len(v) // 4, 1):
            for i in range(0, len(v), k) if k else ():
                yield v[:i] + v[i + k:]
    elif isinstance(v, dict):
        for k in list(v):
            yield {x: v[x] for x in v if x != k}
    elif isinstance(v, int) and not isinstance(v, bool) and 1 < v < 10**6:
        yield 1
        yield v // 2
        yield v - 1
    for k in range(len(v)) if isinstance(v, list) else \
            list(v) if isinstance(v, dict) else ():
        for x in smaller(v[k]):
            w = copy.copy(v)
            w[k] = x
            yield w


def shrink(law, s, seed):
    want = message(law, s, seed)
    assert want is not None, "the law holds"
    again = True
    while again:
        again = False
        for t in smaller(s):
            try:
                if message(law, t, seed) != want:
                    continue
            except Exception:       # not a snapshot any more
                continue
            s, again = t, True
            break
    return s


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2]) as f:
        world = json.load(f)
    number = int(world.get("seed", re.findall(r"[0-9]+", sys.argv[2])[-1]))
    small = shrink(getattr(laws, sys.argv[1]), world, number)
    print(json.dumps(small, indent=1))
