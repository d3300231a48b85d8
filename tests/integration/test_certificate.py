"""A fleet at rest: more is proved of what it must cost than a plan of the loop has time for."""
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time

from bench.gen_cases import demands, facts_bundle, facts_type, node_types
from lib import DAVIT, crowded, seeds
from lib.daemon import Daemon

AT_ONCE, MOST = "1ms", "2s"     # what a plan of the loop has, and a longer look: certificate.c
SEED = seeds.seed(7)


def config(types):
    return json.dumps({
        "cluster": "proof", "api": {"listen": "127.0.0.1:{port}"}, "state": "{dir}/davit.db",
        "limits": {"max_nodes": 5000, "idle_timeout": "1h", "think": "0s"},
        "providers": {"sim": {"state": "{dir}/cloud.json", "boot": "100ms", "terminate": "100ms"}},
        "node_types": {t["name"]: {"provider": "sim", "price": t["price"], "max": 5000,
                                   **{k: v for k, v in facts_type(t).items() if k in ("resources", "labels", "accelerator_type")}}
                       for t in types}})


def fleet(d):
    c = d.status()["cost"]
    return c["fleet_per_hour"], c["fleet_bound_per_hour"], c["fleet_gap_percent"]


def metric(d, name):
    text = d.get("/metrics")[1]
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


def ticks_at_rest(d):
    """When what was asked for last has been planned, and what came of it."""
    def still():
        ticks = metric(d, "davit_ticks_total")
        d.step()
        return ticks if metric(d, "davit_ticks_total") == ticks else None

    return d.until(still)


def planned(d, path, budget):
    """What the planner says of what the daemon knows."""
    path.write_text(json.dumps(d.get("/v1/snapshot")[1]))
    p = subprocess.run([DAVIT, "plan", "--json", "--budget", budget, str(path)], capture_output=True, text=True, check=True)
    return json.loads(p.stdout)


def proved(d, path):
    """At rest more is proved, and no more is done for it than one plan."""
    cost, least, gap = fleet(d)
    ticks = ticks_at_rest(d)
    at_once, more = (planned(d, path, budget)["fleet"]["lower_bound"] for budget in (AT_ONCE, MOST))
    assert more > at_once
    d.until(lambda: abs(fleet(d)[1] - more) < 1e-6)
    assert fleet(d)[0] == cost and fleet(d)[2] < gap
    assert abs(metric(d, "davit_fleet_bound_per_hour_dollars") - more) < 1e-6
    assert metric(d, "davit_ticks_total") <= ticks + 2
    return least, at_once


def test_a_fleet_at_rest_is_proved(tmp_path):
    """Again when its work has changed."""
    rng = random.Random(SEED)
    types = node_types(rng, 27)
    with Daemon(tmp_path, config(types)) as d:
        d.post({"owner": "big", "bundles": [facts_bundle(x) for x in demands(rng, 200, 40, .33)]})
        d.until(lambda: d.nodes() and d.ready() == len(d.nodes()))
        least, at_once = proved(d, tmp_path / "s.json")
        assert abs(least - at_once) < 1e-6
        d.post({"owner": "one", "bundles": [{"CPU": 1}]})
        d.until(lambda: d.ready() == len(d.nodes()))
        proved(d, tmp_path / "s.json")


def lowest(pid):
    """Threads of the lowest priority: those that look longer."""
    found = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += int((task / "stat").read_text().rsplit(")", 1)[1].split()[16]) == 19
    return found


def test_a_look_under_way_stops_nothing(tmp_path):
    """Its core has other work, so a look takes long; the daemon answers and ends in order all the same."""
    core, rng = min(os.sched_getaffinity(0)), random.Random(SEED)
    types = node_types(rng, 27)
    with Daemon(tmp_path, config(types), preexec=lambda: os.sched_setaffinity(0, {core})) as d:
        d.post({"owner": "big", "bundles": [facts_bundle(x) for x in demands(rng, 1000, 150, .33)]})
        d.until(lambda: d.nodes() and d.ready() == len(d.nodes()))
        bound = fleet(d)[1]
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        try:
            d.until(lambda: lowest(d.p.pid))
            assert fleet(d)[1] == bound and not d.post({"owner": "two", "bundles": [{"CPU": 1}]})["launches"]
            begun = time.monotonic()
            d.p.terminate()
            assert d.p.wait(60) == 0
            took = time.monotonic() - begun
        finally:
            other.kill()
            other.wait()
        print(f"ended after {took:.1f} s")
        assert took < 4 * crowded() and "leaving without" not in d.text()
