"""A shadow beside another autoscaler: the real daemon with --shadow, a played Ray head whose nodes come and go as a script
says.  It acts on nothing, says so, and adds up what both sides cost: checked by a count of its own."""
import json
import re
import signal
import time

import pytest

from lib.daemon import Daemon
from lib.gcs import Gcs

# The provider is a program that leaves a mark when it is ever started.
CONFIG = """
cluster: shade
head: {ray: {address: "%s"}}
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 9, idle_timeout: 2s}
providers:
  own: {plugin: exec, command: [sh, -c, "touch {dir}/called; exit 1"]}
node_types:
  big: {resources: {CPU: 8, GPU: 4}, price: 4, max: 5, boot: 2s}
  small: {resources: {CPU: 8, GPU: 1}, price: 0.75, max: 5, boot: 2s}
"""
BIG, ONE = {"CPU": 8, "GPU": 4}, {"CPU": 1, "GPU": 1}


@pytest.fixture
def gcs():
    with Gcs() as g:
        g.join("head-1", "head", {"CPU": 4}, head=True)
        yield g


@pytest.fixture
def shadow(tmp_path, gcs):
    with Daemon(tmp_path, CONFIG % gcs.address, args=["--shadow"]) as d:
        yield d


def runs(gcs, name, used):
    """So much work is on that node."""
    with gcs.lock:
        n = gcs.nodes[name]
        n.status = 1
        for k, v in n.total_resources.items():
            n.available_resources[k] = v - used.get(k, 0)
        gcs.since.pop(name, None)
        gcs.changed()


def report(d):
    return d.get("/v1/shadow")[1]


def held(d, kind):
    """What it would hold of a type, up or not."""
    return [n for n in d.nodes(kind) if n["state"] in ("intended", "requested", "starting", "ready")]


# ---- it acts on nothing, and says so

def test_it_touches_nothing(shadow, gcs, tmp_path):
    keys = dict(gcs.kv)
    gcs.join("i-1", "big", BIG)
    gcs.idle("i-1", 3600000)
    gcs.tasks([(ONE, 2)])
    shadow.until(lambda: shadow.ready("small") == 2)
    gcs.tasks([])
    shadow.until(lambda: not held(shadow, "small"))
    assert not (tmp_path / "called").exists(), "a provider's program was started"
    assert gcs.drains == [] and gcs.reports == [] and gcs.kv == keys
    assert {p.name for p in tmp_path.iterdir()} <= {"davit.yaml", "log", ".clocks", "davit.db.shadow", "davit.db.shadow-wal",
                                                    "davit.db.shadow-shm", "davit.db.shadow-lock", "davit.db.shadow.lock"}
    kinds = {e["kind"] for e in shadow.events()}
    assert {"shadow.started", "would.launch", "would.end"} <= kinds and not {"launch", "node.ending"} & kinds
    would = shadow.events("would.end")[-1]["text"]
    assert re.search(r"Davit holds \d nodes at \$\d.\d\d/h; 1 are there at \$4.00/h", would), would


def test_it_says_so(shadow):
    status = shadow.status()
    assert status["shadow"] is True and "shadow" in status["problems"][0]
    assert "shadow" in shadow.exchange("GET", "/readyz").text
    assert "davit_shadow 1\n" in shadow.exchange("GET", "/metrics").text
    assert "SHADOW" in shadow.cli("status").splitlines()[0]
    assert "SHADOW" in shadow.cli("shadow", "report").splitlines()[0]
    assert "this is a shadow" in shadow.text()


def test_requests_to_a_shadow_reach_no_real_run(tmp_path, gcs):
    with Daemon(tmp_path, CONFIG % gcs.address, args=["--dry-run"]) as d:  # the same as --shadow
        assert d.status()["shadow"] is True
        d.post({"owner": "me", "bundles": [ONE, ONE]})
        d.until(lambda: d.ready("small") == 2)
        d.stop()
        d.args = []
        d.write(re.sub(r"  own:.*", '  own: {plugin: sim, state: "{dir}/cloud.json"}', CONFIG % gcs.address))
        d.start()
        d.stays(lambda: d.get("/v1/request_resources")[1]["requests"] == [] and not d.nodes("small"), 2)
        assert d.status()["shadow"] is False and d.get("/v1/shadow")[0] == 404
        d.cli("shadow", "report", expect=1)


def test_a_plan_is_recorded_once(tmp_path, gcs):
    with Daemon(tmp_path, CONFIG % gcs.address, args=["--shadow", "--record", str(tmp_path / "records")]) as d:
        gcs.tasks([(ONE, 2)])
        d.until(lambda: d.ready("small") == 2)
        d.step()
        d.step()
        d.stop()
        assert len(list((tmp_path / "records").iterdir())) == 1


# ---- what it adds up

class Count:
    """The same sums from nodes and their times, by nobody's code but this."""

    def __init__(self, now=time.time):
        self.now, self.since, self.dollars = now, {}, 0.0

    def up(self, name, price, at=None):
        self.since[name] = (at or self.now(), price)

    def down(self, name, at=None):
        began, price = self.since.pop(name)
        self.dollars += (((at or self.now()) - began) * price) / 3600

    def end(self):
        for name in list(self.since):
            self.down(name)
        return self.dollars


def davits_dollars(d, prices):
    """By its own events: from a launch until it is gone, which is paid too; that is a look at the head after its end."""
    from datetime import datetime
    count, ends = Count(d.now), {}
    for e in d.events():
        at = datetime.fromisoformat(e["at"].replace("Z", "+00:00")).timestamp()
        if e["kind"] == "node.starting":
            count.up(e["subject"], prices[e["subject"].split("-")[0]], at)
        elif e["kind"] == "would.end":
            ends[e["subject"]] = at
        elif e["kind"] == "node.gone":
            assert at - ends.pop(e["subject"]) < 3
            count.down(e["subject"], at)
    return count.end()


def test_both_sides_add_up(shadow, gcs):
    """Three tasks of a GPU each: the other autoscaler brings a node of four after five seconds, and lets it idle."""
    theirs, began = Count(shadow.now), shadow.now()
    gcs.tasks([(ONE, 3)])
    shadow.until(lambda: len(held(shadow, "small")) == 3)
    shadow.later(5)
    gcs.join("i-1", "big", BIG)
    theirs.up("i-1", 4)
    runs(gcs, "i-1", {"CPU": 3, "GPU": 3})
    gcs.tasks([])
    waited = shadow.now() - began
    # what waited runs now: nothing changes for Davit
    shadow.stays(lambda: len(held(shadow, "small")) == 3, 3)
    runs(gcs, "i-1", {"CPU": 1, "GPU": 1})
    shadow.until(lambda: len(held(shadow, "small")) == 1, why="two of them are idle")
    gcs.idle("i-1")
    shadow.until(lambda: not shadow.nodes("small"))
    shadow.stays(lambda: report(shadow)["present"]["nodes"] == 1, 2)
    gcs.leave("i-1")
    theirs.down("i-1")
    r = shadow.until(lambda: shadow.looks() or (r := report(shadow))["present"]["nodes"] == 0 and r)
    assert r["present"]["spent"] == pytest.approx(theirs.end(), rel=0.1, abs=2 * 4 / 3600)
    assert r["davit"]["spent"] == pytest.approx(davits_dollars(shadow, {"small": 0.75}), rel=0.1, abs=2 * 0.75 / 3600)
    assert r["saved"] == pytest.approx(r["present"]["spent"] - r["davit"]["spent"], abs=2e-6)
    assert r["would_launch"] == 3 and r["would_end"] == 3
    # three bundles for five seconds and more; with Davit for a boot of two
    assert r["present"]["waited_bundle_s"] == pytest.approx(3 * waited, rel=0.2, abs=3)
    assert 5 < r["davit"]["waited_bundle_s"] < r["present"]["waited_bundle_s"], r["davit"]
    assert sum(h["davit"]["spent"] for h in r["hours"]) == pytest.approx(r["davit"]["spent"], abs=1e-5)


def test_it_goes_on_after_a_crash(shadow, gcs):
    gcs.join("i-1", "big", BIG)
    runs(gcs, "i-1", {"CPU": 2, "GPU": 2})
    shadow.until(lambda: shadow.ready("small") == 2, why="two GPUs are two small nodes")
    ids = {n["id"] for n in shadow.nodes() if n["type"]}
    shadow.stop()
    first = report_of_journal(shadow)
    shadow.start()
    shadow.until(lambda: shadow.ready("small") == 2)
    r = shadow.until(lambda: shadow.later(2) or (r := report(shadow))["present"]["spent"] > first and r)
    assert r["would_launch"] == 2 and {n["id"] for n in shadow.nodes() if n["type"]} == ids
    shadow.kill()
    shadow.start()
    shadow.stays(lambda: {n["id"] for n in shadow.nodes() if n["type"]} == ids, 3)
    assert report(shadow)["would_launch"] == 2


def report_of_journal(d):
    import sqlite3
    rows = sqlite3.connect(d.dir / "davit.db.shadow").execute("SELECT value FROM value WHERE key LIKE 'shadow.%'").fetchall()
    assert rows
    return sum(int(v.split()[2]) for v, in rows) / 1e9


def test_nodes_of_no_type_are_on_neither_side(shadow, gcs):
    gcs.join("other-1", "other", {"CPU": 3})
    r = shadow.until(lambda: any("match no node type" in n for n in report(shadow)["notes"]) and report(shadow))
    assert r["present"]["nodes"] == 0 and r["present"]["cost_per_hour"] == 0
    # its room counts for Davit too
    gcs.tasks([({"CPU": 2}, 1)])
    shadow.stays(lambda: not held(shadow, "small") and not held(shadow, "big"), 2)


def test_a_node_is_matched_by_what_it_has(shadow, gcs):
    gcs.join("x-1", "their-own-name", BIG)
    r = shadow.until(lambda: (r := report(shadow))["present"]["nodes"] == 1 and r)
    assert r["present"]["cost_per_hour"] == 4


def test_hours(shadow):
    assert shadow.get("/v1/shadow?hours=24")[0] == 200
    for wrong in ("0", "x", "745", "-3"):
        assert shadow.get(f"/v1/shadow?hours={wrong}")[0] == 400
    assert json.loads(shadow.cli("shadow", "report", "--since", "90m", "--json"))["hours"] is not None


def test_a_reload_keeps_it_a_shadow(shadow, gcs, tmp_path):
    shadow.write((CONFIG % gcs.address).replace("price: 0.75", "price: 0.5"))
    shadow.p.send_signal(signal.SIGHUP)
    shadow.until(lambda: shadow.events("config.loaded"))
    gcs.tasks([(ONE, 1)])
    shadow.until(lambda: shadow.ready("small") == 1)
    assert report(shadow)["davit"]["cost_per_hour"] == 0.5
    assert not (tmp_path / "called").exists()
