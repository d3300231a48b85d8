#!/usr/bin/env python3
"""make bench-plan: every packing case of a directory through the planner's
cover, a table on stdout and, with OUT=FILE, a JSON list.

bound, gap: for any plan that leaves as much out, whatever it leaves; placed: the gap to any
plan that holds what this one places, as certificates have it.

Environment: CASES=DIR (default: the project's own synthetic cases, written
into build/), BUDGET_MS= for the improvement (default 500), OUT=FILE,
BENCH_BIN= the driver (default build/release/bench_plan), KNOWN=FILE with best
known costs [{"case", "best"}] (default: best_known.json beside the cases).
Beside it Ray's own scheduler on the same case in the same run, where a Python
with Ray is found (RAY_PYTHON=, the tests' environment), for at most RAY_S=
seconds a case (default 60; 0 leaves it out): its cost and CPU time as ratios
to ours.
Every plan is verified here, device by device, by code of its own; any fault
makes the exit status 1.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
UNIT = 10000


def amount(value):
    return int(round(float(value) * UNIT))


def devices_fit(whole, parts, devices):
    """Exactly: can the parts (of 10000) share devices beside whole ones?"""
    room = devices - whole
    if room < 0 or sum(parts) > room * UNIT:
        return False
    free = [UNIT] * room
    parts = sorted(parts, reverse=True)
    if not parts:
        return True

    def best_fit(order):
        level = list(free)
        for part in order:
            at = [k for k, f in enumerate(level) if f >= part]
            if not at:
                return False
            k = min(at, key=lambda q: level[q])
            level[k] -= part
        return True

    if best_fit(parts):
        return True
    seen = set()

    def search(k, level):
        if k == len(parts):
            return True
        key = (k, tuple(sorted(level)))
        if key in seen or len(seen) > 200000:
            return False
        seen.add(key)
        tried = set()
        for q, f in enumerate(level):
            if f >= parts[k] and f not in tried:
                tried.add(f)
                level[q] -= parts[k]
                if search(k + 1, level):
                    return True
                level[q] += parts[k]
        return False

    return search(0, free)


def check(case, plan, said):
    """Faults of a plan, as texts; none is good."""
    types, demands = case["node_types"], case["demands"]
    faults, placed, bought, cost = [], [0] * len(demands), {}, 0
    for at, pattern in enumerate(plan["patterns"]):
        t = types[pattern["bin"]]
        label = (t.get("labels") or {}).get("accelerator_type")
        need, whole, parts = {}, 0, []
        bought[pattern["bin"]] = bought.get(pattern["bin"], 0) + pattern["count"]
        cost += int(round(t["price"] * 1e6)) * pattern["count"]
        if pattern["count"] < 1 or not pattern["parts"]:
            faults.append("pattern %d is empty" % at)
        for item, count in pattern["parts"]:
            d = demands[item]
            placed[item] += count * pattern["count"]
            if d.get("accelerator_types") and label not in d["accelerator_types"]:
                faults.append("pattern %d: demand %d may not use %s" %
                              (at, item, t["name"]))
            for name, value in d["resources"].items():
                if name.startswith("accelerator_type:"):
                    continue
                a = amount(value)
                if name != "GPU":
                    need[name] = need.get(name, 0) + a * count
                elif a >= UNIT:
                    whole += -(-a // UNIT) * count
                elif a:
                    parts += [a] * count
        for name, value in need.items():
            if value > amount(t["resources"].get(name, 0)):
                faults.append("pattern %d: %s of %s overrun" %
                              (at, name, t["name"]))
        if not devices_fit(whole, parts, int(t["resources"].get("GPU", 0))):
            faults.append("pattern %d: devices of %s overrun" % (at, t["name"]))
    for item, d in enumerate(demands):
        if placed[item] + plan["unplaced"][item] != d["count"]:
            faults.append("demand %d: %d placed + %d not != %d" %
                          (item, placed[item], plan["unplaced"][item], d["count"]))
    for b, count in bought.items():
        if types[b].get("max") is not None and count > types[b]["max"]:
            faults.append("%s: %d bought, max %d" %
                          (types[b]["name"], count, types[b]["max"]))
    if case.get("max_nodes") is not None and sum(bought.values()) > case["max_nodes"]:
        faults.append("more than max_nodes")
    if case.get("max_cost") is not None and cost > round(case["max_cost"] * 1e6):
        faults.append("more than max_cost")
    if cost != plan["cost"] or abs(cost / 1e6 - said["cost"]) > 1e-6:
        faults.append("cost %d said, %d is" % (plan["cost"], cost))
    if plan["bound"] > plan["cost"]:
        faults.append("bound above the cost")
    return faults


def run(driver, path, budget):
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        out = subprocess.run(
            [driver, path, "--budget-ms", str(budget), "--plan", f.name,
             "--repeat", "3"], check=True, capture_output=True, text=True)
        said, plan = json.loads(out.stdout), json.load(f)
    with open(path) as f:
        return said, check(json.load(f), plan, said)


def ray_python():
    """A Python that has Ray, or None."""
    cache = os.environ.get("DAVIT_CACHE") or os.path.expanduser("~/.cache/davit")
    for py in [os.environ.get("RAY_PYTHON"), os.environ.get("DAVIT_PYTHON"),
               sys.executable, *sorted(glob.glob(cache + "/venv-*/bin/python"))]:
        if py and subprocess.run(
                [py, "-c", "import ray.autoscaler.v2.scheduler"],
                capture_output=True).returncode == 0:
            return py
    return None


def ray_run(py, path, seconds):
    """Ray's answer, {"over": seconds} when it took longer, None without Ray."""
    if not py or seconds <= 0:
        return None
    try:
        out = subprocess.run([py, os.path.join(HERE, "ray_column.py"), path],
                             capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"over": seconds}
    if out.returncode:
        raise SystemExit("Ray's scheduler failed: " + out.stderr[-500:])
    return json.loads(out.stdout.splitlines()[-1])


def ray_words(row, ray):
    """Ray's cost over ours, its CPU time over our first plan's."""
    if not ray:
        return "-", "-"
    if "over" in ray:
        return "-", "> %.0fx" % (1e3 * ray["over"] / row["first_cpu_ms"])
    cost = "%.3f" % (ray["cost"] / row["cost"]) if row["cost"] else "-"
    if ray["unplaced"] != row["unplaced"]:
        cost += "*"
    return cost, "%.0fx" % (1e3 * ray["cpu_s"] / row["first_cpu_ms"])


def rounds(cases, budget):
    """Whole rounds of the planner on snapshots with nodes; returns faults.

    scratch, next: CPU ms of a plan when one bundle more or less is wanted, without
    and with the planner's memory, the mean; half, most: half and nine of ten of the latter take no longer;
    known: the part of its questions that the memory could answer.  A tick of the loop
    reads the snapshot before each of them."""
    names = [n for n in sorted(os.listdir(cases)) if n.endswith(".snapshot.json")]
    driver = os.environ.get("ROUND_BIN")
    faults = 0
    if not names or not driver:
        return 0
    print("\n%-24s %6s %6s %6s %8s %8s %6s %6s %10s %10s %11s %11s %7s %11s %9s %9s %9s %6s %6s %6s %9s %8s" % (
        "round", "nodes", "offers", "shapes", "placed", "launched", "unpl",
        "new", "cost $/h", "first", "fleet $/h", "fleet bound", "gap %",
        "snapshot ms", "first ms", "scratch", "next", "half", "most", "known", "cpu ms", "rss MiB"))
    for name in names:
        path = os.path.join(cases, name)
        out = subprocess.run([driver, path, str(int(budget))], check=True,
                             capture_output=True, text=True)
        r = json.loads(out.stdout)
        with open(path) as f:
            facts = json.load(f)
        wanted = sum(d.get("count", 1) for d in facts["demands"])
        gap = "%.2f" % (100 * (r["fleet_cost"] / r["fleet_bound"] - 1)) \
            if r["fleet_bound"] > 0 else "-"
        print("%-24s %6d %6d %6d %8d %8d %6d %6d %10.3f %10.3f %11.3f %11.3f %7s %11.2f %9.2f %9.2f %9.2f %6.2f %6.2f %6.2f %9.0f %8.1f" % (
            name[:-14], r["nodes"], r["offers"], r["shapes"], r["placed"],
            r["launched"], r["unplaced"], r["new_nodes"], r["cost"],
            r["first_cost"], r["fleet_cost"], r["fleet_bound"], gap,
            r["snapshot_cpu_ms"], r["first_cpu_ms"],
            r["scratch_cpu_ms"], r["again_cpu_ms"], r["again_half_cpu_ms"], r["again_most_cpu_ms"],
            r["remembered"],
            r["cpu_ms"], r["peak_rss_kib"] / 1024), flush=True)
        if r["placed"] + r["launched"] + r["unplaced"] != wanted:
            print("    FAULT %d bundles were wanted" % wanted)
            faults += 1
        if r["cost"] > r["first_cost"] + 1e-6:
            print("    FAULT dearer than the first plan")
            faults += 1
    return faults


def main():
    root = os.path.dirname(os.path.dirname(HERE))
    driver = os.environ.get("BENCH_BIN") or os.path.join(
        root, "build", "release", "bench_plan")
    budget = float(os.environ.get("BUDGET_MS") or 500)
    cases = os.environ.get("CASES")
    if not cases:
        cases = os.path.join(root, "build", "bench-cases")
        subprocess.run([sys.executable, os.path.join(HERE, "gen_cases.py"),
                        cases], check=True)
    known_file = os.environ.get("KNOWN") or os.path.join(cases, "best_known.json")
    known = {}
    if os.path.exists(known_file):
        with open(known_file) as f:
            known = {k["case"]: k["best"] for k in json.load(f)}
    ray_s = float(os.environ.get("RAY_S") or 60)
    ray_py = ray_python() if ray_s > 0 else None
    rows, bad = [], 0
    print("%-24s %12s %12s %7s %8s %7s %6s %12s %9s %9s %8s %8s %8s %8s" %
          ("case", "cost $/h", "bound", "gap %", "placed %", "nodes", "unpl", "first",
           "first ms", "cpu ms", "rss MiB", "/best", "Ray cost", "Ray cpu"))
    for name in sorted(os.listdir(cases)):
        path = os.path.join(cases, name)
        if not name.endswith(".json") or name == "best_known.json" \
                or name.endswith((".ray.json", ".snapshot.json")):
            continue
        with open(path) as f:
            case = json.load(f)
        if not isinstance(case, dict) or "demands" not in case:
            continue
        if case.get("nodes"):
            print("%-24s has nodes: not a covering case" % case["name"])
            continue
        said, faults = run(driver, path, budget)
        row = {k: said[k] for k in (
            "cost", "lower_bound", "placed_bound", "nodes", "unplaced", "first_cost",
            "first_cpu_ms", "cpu_ms", "peak_rss_kib")}
        row["lower_bound"] = None if said["lower_bound"] < 0 \
            else said["lower_bound"]
        row["case"] = case.get("name") or name[:-5]
        rows.append(row)
        lb = row["lower_bound"]
        ray = ray_run(ray_py, path, ray_s)
        if ray:
            row["ray"] = ray
            if "cost" in ray and ray["unplaced"] >= row["unplaced"] \
                    and row["cost"] > ray["cost"] + 1e-6 and ray["cost"] > 0:
                faults.append("dearer than Ray's plan, %.3f" % ray["cost"])
        placed = row["placed_bound"]
        print("%-24s %12.3f %12s %7s %8s %7d %6d %12.3f %9.2f %9.0f %8.1f %8s %8s %8s" % (
            row["case"], row["cost"], "-" if lb is None else "%.3f" % lb,
            "-" if not lb else "%.2f" % (100 * (row["cost"] / lb - 1)),
            "-" if placed <= 0 else "%.2f" % (100 * (row["cost"] / placed - 1)),
            row["nodes"], row["unplaced"], row["first_cost"],
            row["first_cpu_ms"], row["cpu_ms"], row["peak_rss_kib"] / 1024,
            "%.4f" % (row["cost"] / known[row["case"]])
            if row["case"] in known else "-", *ray_words(row, ray)), flush=True)
        for fault in faults[:5]:
            print("    FAULT", fault)
        if row["cost"] > row["first_cost"] + 1e-9 and row["unplaced"] == 0:
            faults.append("dearer than the first plan")
            print("    FAULT dearer than the first plan")
        bad += len(faults)
    bad += rounds(cases, budget)
    if os.environ.get("OUT"):
        with open(os.environ["OUT"], "w") as f:
            json.dump(rows, f, indent=1)
    if not ray_py and ray_s > 0:
        print("no Ray column: no Python with Ray (RAY_PYTHON=)")
    if bad:
        print("%d faults" % bad)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
