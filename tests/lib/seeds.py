"""The number that a random test draws from.

    chance = random.Random(seed())        # another one in each run
    rng = random.Random(seed(20261122))   # the same one in each run

SEED in the environment comes first.  It is printed.  A test that draws another one
in each run also tells it to check.py, which gives it to the second try: a line of
JSON in the file that DAVIT_SEEDS names.
"""
import json
import os
import random


def seed(usual=None):
    given = os.environ.get("SEED")
    n = int(given) if given else random.SystemRandom().randrange(1 << 30) if usual is None else usual
    print(f"SEED {n}", flush=True)
    path, test = os.environ.get("DAVIT_SEEDS"), os.environ.get("PYTEST_CURRENT_TEST")
    if path and test and usual is None:
        with open(path, "a") as f:
            f.write(json.dumps({"test": test.rpartition(" (")[0], "seed": n}) + "\n")
    return n
