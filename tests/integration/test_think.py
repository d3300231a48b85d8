"""Large purchases: thought over on a worker, made once, and no more than once."""
import datetime
import json
import random
import subprocess
import time

from lib import DAVIT, crowded
from lib.daemon import Daemon

CONFIG = """
cluster: think
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 5000, idle_timeout: 1h, think: %s}
providers:
  sim: {state: "{dir}/cloud.json", boot: %s, terminate: 100ms}
node_types:
%s"""
BUNDLES = 2000


def types():
    """Ten machine types, the larger ones cheaper by the core."""
    rng = random.Random(7)
    lines = []
    for i, (cpu, gib, gpu) in enumerate(((4, 16, 0), (8, 32, 0), (16, 128, 0), (32, 64, 0), (64, 256, 0),
                                         (8, 61, 1), (16, 122, 2), (32, 244, 4), (48, 192, 4), (96, 768, 8))):
        price = round((0.04 * cpu + 0.004 * gib + 0.9 * gpu) * rng.uniform(0.9, 1.1), 4)
        lines.append(f"  t{i}: {{provider: sim, resources: {{CPU: {cpu}, memory: {gib}Gi"
                     f"{f', GPU: {gpu}' if gpu else ''}}}, price: {price}, max: 5000}}\n")
    return "".join(lines)


def bundles(shapes=60, total=BUNDLES, seed=3):
    rng = random.Random(seed)
    v = {}
    while len(v) < shapes:
        need = {"CPU": rng.choice([0.5, 1, 2, 3, 5, 7, 11]), "memory": f"{rng.randint(1, 40)}Gi"}
        if rng.random() < 0.4:
            need["GPU"] = rng.choice([0.25, 0.5, 1, 2])
        v[json.dumps(need)] = need
    counts = [1] * shapes
    for _ in range(total - shapes):
        counts[rng.randrange(shapes)] += 1
    return [{"resources": need, "count": n} for need, n in zip(v.values(), counts)]


def config(think="10s", boot="1500ms"):
    return CONFIG % (think, boot, types())


def bought(d):
    """Machines asked of the provider since the daemon began."""
    text = d.get("/metrics")[1]
    return sum(int(float(line.split()[1])) for line in text.splitlines() if line.startswith("davit_launches_total"))


def planned(path, budget):
    p = subprocess.run([DAVIT, "plan", "--json", "--budget", budget, str(path)], capture_output=True, text=True)
    assert p.stdout, p.stderr
    return json.loads(p.stdout)


def records(directory):
    return sorted(directory.glob("*.json"), key=lambda p: int(p.name.split("-")[0]))


def seconds(moment):
    return datetime.datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def cost(d):
    return sum(n["price_per_hour"] for n in d.nodes())


def test_a_large_purchase_is_thought_over(tmp_path):
    """It waits, says so, is bought as the longer look found, and stays."""
    rec = tmp_path / "rec"
    with Daemon(tmp_path, config("40s"), args=["--record", str(rec)]) as d:  # it takes 5 s of CPU: a busy machine needs longer
        d.post({"owner": "small", "bundles": [{"CPU": 3}]})
        small = bought(d)
        assert small == 1      # what is small does not wait
        begun = time.monotonic()
        reply = d.post({"owner": "big", "bundles": bundles()})
        assert {x["waits"] for x in reply["launches"]} == {"improving"} and "better plan" in json.dumps(reply)
        assert d.status()["improving_until"] and "better plan" in d.cli("why", "big")
        assert bought(d) == small
        d.until(lambda: bought(d) > small)
        d.until(lambda: not d.status()["improving_until"])
        assert time.monotonic() - begun < 40 + 30 * crowded()  # 40 s at most are for thinking
        n = bought(d)
        d.until(lambda: d.ready() == n)
        d.stays(lambda: bought(d) == n and d.ready() == n, 5)
        paid = cost(d)
    first = records(rec)[1]
    best, quick = planned(first, "5s"), planned(first, "0")
    assert best["cost_per_hour"] < quick["cost_per_hour"]
    assert paid <= best["cost_per_hour"] + 1, (paid, best["cost_per_hour"], quick["cost_per_hour"])
    for path in records(rec):
        p = subprocess.run([DAVIT, "plan", str(path)], capture_output=True, text=True)
        assert p.returncode == 0 and "the same plan as recorded" in p.stdout, (path.name, p.stdout[-500:])


def test_what_is_large_and_killed_is_bought_once(tmp_path):
    d = Daemon(tmp_path, config(boot="4s"))
    try:
        d.post({"owner": "big", "bundles": bundles()})
        d.until(lambda: bought(d) > 0 and bought(d) == len(d.nodes()))
        n = bought(d)
        d.until(lambda: sum(x["state"] in ("starting", "ready") for x in d.nodes()) == n)
        d.kill()
        d.start()
        d.until(lambda: d.ready() == n)
        d.stays(lambda: len(d.nodes()) == n and bought(d) == 0, 5)
    finally:
        d.stop()


def test_killed_before_the_answer(tmp_path):
    """What waits is no promise: it is thought over again."""
    d = Daemon(tmp_path, config(boot="500ms"))
    try:
        d.post({"owner": "big", "bundles": bundles()})
        d.kill()
        d.start()
        d.until(lambda: bought(d) > 0)
        d.until(lambda: d.ready() > 0 and d.ready() == len(d.nodes()))
        n = len(d.nodes())
        d.stays(lambda: len(d.nodes()) == n, 3)
    finally:
        d.stop()


def test_no_thinking(tmp_path):
    with Daemon(tmp_path, config(think="0")) as d:
        d.post({"owner": "big", "bundles": bundles()})
        assert bought(d) > 0        # by the answer it is bought
        n = bought(d)
        d.stays(lambda: bought(d) == n, 3)


def test_demand_that_changes_while_it_is_thought_over(tmp_path):
    """The answer is for the day before; what is left of it is bought."""
    with Daemon(tmp_path, config(think="2s", boot="300ms")) as d:
        d.post({"owner": "big", "bundles": bundles()})
        d.post({"owner": "big", "bundles": bundles(shapes=40, total=900, seed=5)})
        d.until(lambda: bought(d) > 0 and not d.status()["improving_until"])
        d.until(lambda: d.ready() == bought(d))
        n = bought(d)
        d.stays(lambda: bought(d) == n, 3)
        left = [x for x in d.status()["requests"] if x["owner"] == "big"]
        assert left and "bundles" in json.dumps(left)


def test_small_demand_joins_what_is_thought_over(tmp_path):
    """It waits for the rest of limits.think at most, and all is launched as a whole; a gang shares
    machines with the others, so it joins too."""
    rec = tmp_path / "rec"
    with Daemon(tmp_path, config(), args=["--record", str(rec)]) as d:
        begun = time.monotonic()
        big = d.post({"owner": "big", "bundles": bundles()})
        until = d.status()["improving_until"]
        assert all(x["waits"] == "improving" for x in big["launches"]) and bought(d) == 0
        small = d.post({"owner": "small", "bundles": [{"CPU": 3}]})
        assert all(x["waits"] == "improving" for x in small["launches"]) and bought(d) == 0
        assert abs(seconds(d.status()["improving_until"]) - seconds(until)) < 0.1
        gang = d.post({"owner": "gang", "strategy": "STRICT_PACK", "bundles": [{"GPU": 4, "CPU": 40}, {"GPU": 4, "CPU": 40}]})
        assert all(x["waits"] == "improving" for x in gang["launches"]) and bought(d) == 0
        d.until(lambda: bought(d) > 0)
        assert time.monotonic() - begun < 10 + 20 * crowded()       # at most 10 s are for thinking
        d.until(lambda: not d.status()["improving_until"])
        d.until(lambda: d.ready() == bought(d))
        n = bought(d)
        d.stays(lambda: bought(d) == n and d.ready() == n, 3)
    for path in records(rec):
        p = subprocess.run([DAVIT, "plan", str(path)], capture_output=True, text=True)
        assert p.returncode == 0 and "the same plan as recorded" in p.stdout, (path.name, p.stdout[-500:])
