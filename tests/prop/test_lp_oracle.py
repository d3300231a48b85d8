"""The planner's linear programs against HiGHS: seeded programs of the kinds the
covers make, and nastier ones.

For each: the same optimum within TOLERANCE, and duals that prove it without any
solver (feasible, and worth the optimum).  Then the right-hand sides change and
the dual simplex goes on from the optimum before.  SEED= and DAVIT_CASES=
try others.
"""
import os
import random
import subprocess

import highspy
import numpy as np
import pytest

from lib import ROOT, seeds

DRIVER = os.environ.get("LP_SOLVE") or os.path.join(ROOT, "build/release/lp_solve")
SEED = seeds.seed(20261122)
CASES = int(os.environ.get("DAVIT_CASES") or 750)   # of each kind
# Of the optimum, and of the dearest column: a value may be 1e-7 below zero
# (Harris), and a reduced cost 1e-7 of its scale.
TOLERANCE = 1e-6


def f32(x):
    return float(np.float32(x))


def program(rng, cover, limit, columns, value, amount, cost):
    """The starting columns first; then random ones."""
    rows = cover + limit
    p = {"cover": cover, "limit": limit, "changes": [],
         "rhs": [amount() for _ in range(cover)] + [amount() for _ in range(limit)], "columns": []}
    dear = 10 * max(cost() for _ in range(4))
    for r in range(cover):
        p["columns"].append((dear, dear, [(r, f32(rng.choice([1, 1, 1, value()])))]))
    for _ in range(columns):
        touched = rng.sample(range(rows), rng.randint(1, min(rows, 5)))
        c = cost()
        p["columns"].append((c, c, [(r, f32(value())) for r in sorted(touched)]))
    return p


def plain(rng):
    return program(rng, rng.randint(1, 12), rng.randint(0, 4), rng.randint(1, 40), lambda: rng.uniform(.1, 9),
                   lambda: rng.uniform(0, 50), lambda: rng.uniform(1, 100))


def degenerate(rng):
    """Few different numbers, zeros among the right-hand sides, equal columns."""
    p = program(rng, rng.randint(2, 12), rng.randint(0, 4), rng.randint(4, 40), lambda: rng.choice([1, 1, 2]),
                lambda: rng.choice([0, 1, 1, 2]), lambda: rng.choice([1, 1, 2]))
    p["columns"] += [rng.choice(p["columns"]) for _ in range(rng.randint(0, 6))]
    return p


def bounded(rng):
    """Upper bounds: a limit row each for some columns, one for all."""
    cover, columns = rng.randint(2, 10), rng.randint(4, 30)
    p = program(rng, cover, 0, columns, lambda: rng.choice([1, 1, 2, 3, 7]), lambda: rng.randint(0, 30),
                lambda: rng.choice([1, 5, 1e4, 123456]))
    every = rng.random() < .5
    for k in range(cover, cover + columns):
        cost, scale, entries = p["columns"][k]
        entries = list(entries)
        if rng.random() < .6:
            entries.append((cover + p["limit"], 1.0))
            p["limit"] += 1
            p["rhs"].append(rng.randint(0, 4))
        p["columns"][k] = (cost, scale, entries)
    if every:
        row = cover + p["limit"]
        p["columns"][cover:] = [(c, s, e + [(row, 1.0)]) for c, s, e in p["columns"][cover:]]
        p["limit"] += 1
        p["rhs"].append(rng.randint(0, 12))
    return p


def exchanging(rng):
    """As column generation has it: prices in micros, free columns that hand a
    row's place on to another."""
    cover = rng.randint(3, 40)
    p = program(rng, cover, rng.randint(0, 2), rng.randint(10, 120), lambda: rng.choice([1, 1, 2, 3, 8]),
                lambda: rng.choice([1, 3, 20, 400]), lambda: rng.randint(10 ** 4, 10 ** 8))
    for _ in range(rng.randint(0, 2 * cover)):
        a, b = sorted(rng.sample(range(cover), 2))
        p["columns"].append((0.0, rng.uniform(1e4, 1e6), [(a, -1.0), (b, 1.0)]))
    return p


def changed(rng, p):
    for _ in range(2):
        rhs = [x if rng.random() < .5 else rng.choice([0, x / 2, x * 2, x + 1]) for x in p["rhs"]]
        p["changes"].append(rhs)
    return p


def text(p):
    v = [p["cover"], p["limit"], len(p["columns"]), len(p["changes"])] + p["rhs"]
    for cost, scale, entries in p["columns"]:
        v += [cost, scale, len(entries)] + [x for e in entries for x in e]
    for rhs in p["changes"]:
        v += rhs
    return " ".join(repr(x) for x in v)


def optimum(p, rhs):
    inf = highspy.kHighsInf
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    for j, (cost, _, _) in enumerate(p["columns"]):
        h.addVar(0, inf)
        h.changeColCost(j, cost)
    rows = [([], []) for _ in rhs]
    for j, (_, _, entries) in enumerate(p["columns"]):
        for r, x in entries:
            rows[r][0].append(j)
            rows[r][1].append(x)
    for r, (at, x) in enumerate(rows):
        low, high = (rhs[r], inf) if r < p["cover"] else (-inf, rhs[r])
        h.addRow(low, high, len(at), at, x)
    h.run()
    assert h.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return h.getInfo().objective_function_value


def judge(p, rhs, line):
    end, value, *duals = line.split()
    assert end == "optimal", end
    value, y, dearest = float(value), np.array(duals, float), max(c for c, _, _ in p["columns"])
    near = TOLERANCE * (abs(value) + dearest)
    wrong = max(TOLERANCE, 1e-13 * dearest)   # a dual of the wrong sign: by rounding only
    assert abs(value - optimum(p, rhs)) <= near, (value, optimum(p, rhs))
    # The proof: y >= 0 of cover rows, <= 0 of limits, no column earns more than
    # it costs, and all of it is worth the optimum.
    assert (y[:p["cover"]] >= -wrong).all() and (y[p["cover"]:] <= wrong).all(), y
    for cost, scale, entries in p["columns"]:
        assert sum(y[r] * x for r, x in entries) <= cost + TOLERANCE * max(scale, 1), (cost, entries)
    assert abs(float(y @ np.array(rhs, float)) - value) <= near


@pytest.fixture(scope="session", autouse=True)
def driver():
    if not os.environ.get("LP_SOLVE"):
        subprocess.run(["make", "-s", "build/release/lp_solve"], cwd=ROOT, check=True)


@pytest.mark.parametrize("kind", [plain, degenerate, bounded, exchanging])
def test_optimum_and_proof(kind):
    rng = random.Random(f"{SEED} {kind.__name__}")
    programs = [changed(rng, kind(rng)) for _ in range(CASES)]
    out = subprocess.run([DRIVER], input="\n".join(map(text, programs)), text=True, capture_output=True, timeout=300)
    assert out.returncode == 0 and not out.stderr, out.stderr
    lines = iter(out.stdout.splitlines())
    for k, p in enumerate(programs):
        for rhs in [p["rhs"]] + p["changes"]:
            try:
                judge(p, rhs, next(lines))
            except AssertionError as e:
                raise AssertionError(f"SEED={SEED}, {kind.__name__} {k}: {e}\n{text(p)}") from e
