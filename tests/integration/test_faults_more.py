"""Laws of the loop under clocks that jump and providers that hang.

The daemon runs with a preloaded clock that the test sets (aids/clocks.c), and
with a plug-in whose operations hang as long as the test likes (aids/stuck.c).
"""
import json
import os
import resource
import sqlite3
import subprocess
import time

import pytest

from lib import DAVIT, simcloud, wave
from lib.clocks import HOUR, Clocks, aids  # noqa: F401 (aids is a fixture)
from lib.daemon import Daemon
from test_after_faults import fill_up, room
from test_loop import T4, cloud, config, faults

SIM = os.path.join(os.path.dirname(os.path.abspath(DAVIT)), "plugins", "davit-sim.so")


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_wall_clock_that_jumps_ends_nothing(aids, tmp_path, jump):
    clocks = Clocks(tmp_path)
    text = config().replace("idle_timeout: 2s, start_timeout: 10s", "idle_timeout: 30s, start_timeout: 60s")
    text = text.replace("boot: 300ms", "boot: 3s")
    with Daemon(tmp_path, text, env=clocks.env) as d:
        d.post({"owner": "idle", "bundles": [{"CPU": 1}]})
        d.post({"owner": "ttl", "bundles": [{"CPU": 1}], "ttl": "10m"})
        d.until(lambda: d.ready("cpu") == 1)
        d.post({"owner": "idle", "bundles": []})
        d.post({"owner": "later", "bundles": [T4]})
        d.until(lambda: d.nodes("t4", "starting"))
        clocks.set(wall=jump)
        d.stays(lambda: len(cloud(d)) == 2, 2)
        assert not d.events("node.failed") and not d.events("node.ending") and not d.events("request.expired")
        assert len(d.nodes()) == 2
        assert d.get("/readyz")[0] == 200
        # intervals still end when they are over
        d.call("DELETE", "/v1/request_resources/ttl")
        clocks.set(wall=jump, mono=40 * 1000)
        d.post({"owner": "ttl", "bundles": [T4]})  # something happens: a tick
        d.until(lambda: d.events("node.ending"))


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_clock_that_was_set_while_the_daemon_was_down_ends_nothing(aids, tmp_path, jump):
    clocks = Clocks(tmp_path)
    text = config().replace("idle_timeout: 2s", "idle_timeout: 30s")
    with Daemon(tmp_path, text, env=clocks.env) as d:
        d.post({"owner": "a", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        first = d.nodes()[0]["cloud_id"]
        d.post({"owner": "a", "bundles": []})
        d.kill()
        clocks.set(wall=jump)
        d.start()
        d.until(lambda: d.get("/readyz")[0] == 200)
        d.stays(lambda: [n["cloud_id"] for n in d.nodes()] == [first], 2)
        assert not d.events("node.ending")
        # and one that vanishes is missed, however old our records look
        faults(d, kill=[first])
        d.until(lambda: d.events("node.lost") or d.events("node.gone"))


def test_a_spot_wave(tmp_path):
    """lib/wave.py has the story."""
    text = config().replace("idle_timeout: 2s", "idle_timeout: 1h").replace("price: 0.7, max: 4", "price: 0.7, market: spot, max: 12")

    def take(ids):
        with simcloud.changed(d.dir / "cloud.json") as c:
            c["machines"] = [m for m in c["machines"] if m["id"] not in ids]
    with Daemon(tmp_path, text) as d:
        wave.story(d, "t4", {"GPU": 1, "accelerator_type": "T4"}, lambda: list(cloud(d)), lambda ids: faults(d, hidden=ids), take)


STUCK = """
cluster: stuck
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: "%s"
limits: {max_nodes: 20, idle_timeout: 5s, start_timeout: 600s}
providers:
  stuck: {hang: "{dir}/hang", prefix: "%s"}
  sim: {state: "{dir}/cloud.json", boot: 100ms}
node_types:
  good: {provider: sim, resources: {CPU: 4, GPU: 1}, accelerator_type: T4, price: 9, max: 4}
  bad: {provider: stuck, resources: {CPU: 4, GPU: 1}, accelerator_type: T4, price: 0.1, max: 4}
"""


def hang(d, what):
    (d.dir / "hang").write_text(what)


def test_a_list_that_hangs_freezes_and_is_told(aids, tmp_path):
    clocks = Clocks(tmp_path)
    with Daemon(tmp_path, STUCK % (aids, ""), env=clocks.env) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.ready("bad") == 1)
        hang(d, "list")
        clocks.set(mono=20000)  # the next list begins, and hangs
        d.post({"owner": "x", "bundles": []})
        d.until(lambda: (d.dir / "hang.list").exists())
        clocks.set(mono=90000)  # and is past its time
        d.post({"bundles": []})
        d.until(lambda: d.nodes("bad")[0]["why"]["reason"] == "stale_view")
        # Once.  A list of sim's that was under way when the clock jumped is too late as well.
        assert [e["subject"] for e in d.events("provider.down")].count("stuck") == 1
        clocks.set(mono=190000)  # long idle, and still nothing is ended
        d.post({"owner": "x", "bundles": []})
        d.stays(lambda: d.ready("bad") == 1, 1.5)
        d.post({"owner": "y", "bundles": [T4, T4]})
        d.until(lambda: d.ready() == 2)  # what can be done is done
        d.call("DELETE", "/v1/request_resources/y")
        hang(d, "")
        # Of stuck: its next list may be under way, and be one more that hangs when the clock jumps now.
        d.until(lambda: "stuck" in [e["subject"] for e in d.events("provider.up")])
        clocks.set(mono=290000)
        d.post({"owner": "x", "bundles": []})
        d.until(lambda: not d.nodes())


def test_a_launch_that_hangs_is_given_up_and_bought_elsewhere(aids, tmp_path):
    clocks = Clocks(tmp_path)
    with Daemon(tmp_path, STUCK % (aids, ""), env=clocks.env) as d:
        hang(d, "launch")
        d.post({"bundles": [T4]})
        d.until(lambda: d.nodes("bad", "intended"))
        n = 0

        def given_up():
            nonlocal n
            if n < 3 or not d.nodes("good"):
                n += 1  # the launch is over its time, again and again
                clocks.set(mono=n * 130000)
                d.looks()
            return n >= 3 and d.ready("good") == 1
        d.until(given_up)
        assert d.events("provider.down")
        hang(d, "")  # the launch goes through after all: the ledger still counts it
        d.until(lambda: d.ready("bad") == 1)
        assert not d.events("node.adopted")
        clocks.set(mono=(n + 1) * 130000)
        d.post({"owner": "x", "bundles": []})
        d.until(lambda: len(d.nodes()) == 1)


def test_a_stop_does_not_wait_for_what_hangs(aids, tmp_path):
    d = Daemon(tmp_path, STUCK % (aids, ""))
    hang(d, "launch")
    d.post({"bundles": [T4]})
    d.until(lambda: (d.dir / "hang.launch").exists())
    began = time.monotonic()
    assert d.stop() == 0
    assert time.monotonic() - began < 100  # a launch has 120 s, and what hangs is left after five
    (d.dir / "hang.launch").unlink()
    hang(d, "")
    d.start()
    d.until(lambda: d.ready("bad") == 1)
    assert d.stop() == 0


def test_long_ids_of_adopted_machines_do_not_clash(aids, tmp_path):
    text = STUCK % (aids, "a-cloud-whose-names-are-long-and-all-begin-in-the-same-way-")
    with Daemon(tmp_path, text.replace("{hang:", '{store: "{dir}/machines", hang:')) as d:
        d.post({"bundles": [T4] * 3})
        d.until(lambda: d.ready("bad") == 3)
        d.stop()
        for turn in range(2):  # the ledger is lost, later a part of it
            if turn == 0:
                for f in tmp_path.glob("davit.db*"):
                    f.unlink()
            else:
                with sqlite3.connect(tmp_path / "davit.db") as db:
                    db.execute("DELETE FROM machine WHERE seq = (SELECT max(seq) FROM machine)")
            d.start()
            d.until(lambda: len({n["id"] for n in d.nodes("bad")}) == 3)
            d.stop()
        d.start()


def test_nobody_reading_the_log_is_no_reason_to_end(tmp_path):
    r, w = os.pipe()
    d = Daemon(tmp_path, config(), start=False)
    d.log = open(tmp_path / "log", "a")
    d.p = subprocess.Popen([DAVIT, "run", "--config", str(d.path)], cwd=d.dir, stdout=w, stderr=w, env=d.env)
    os.close(w)
    d.until(d.answers)
    os.close(r)
    d.post({"bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    assert d.stop() == 0


def test_an_intent_that_cannot_be_sent_is_not_a_node_to_come(aids, tmp_path):
    """A launch told to come back in an hour is bought elsewhere after a minute."""
    clocks = Clocks(tmp_path)
    text = (STUCK % (aids, "")).replace("stuck: {hang: \"{dir}/hang\", prefix: \"\"}",
                                        "two: {plugin: \"%s\", state: \"{dir}/two.json\"}" % SIM).replace("provider: stuck", "provider: two")
    with Daemon(tmp_path, text, env=clocks.env) as d:
        d.until(lambda: d.get("/readyz")[0] == 200)
        faults(d, "two.json", throttle=True)
        d.post({"bundles": [T4]})
        d.until(lambda: d.events("launch.failed"))
        for n in range(1, 8):
            clocks.set(mono=n * 20000)
            d.looks(3)
        d.until(lambda: d.ready("good") == 1)


def test_a_provider_that_is_taken_out_leaves_its_launches_in_doubt(aids, tmp_path):
    text = STUCK % (aids, "")
    d = Daemon(tmp_path, text)
    hang(d, "launch")
    d.post({"bundles": [T4]})
    d.until(lambda: d.nodes("bad", "intended"))
    d.kill()
    lines = [x for x in text.splitlines() if not x.startswith(("  stuck:", "  bad:"))]
    d.write("\n".join(lines) + "\n")
    with d.start():
        d.until(lambda: d.ready("good") == 1)
        # Its launch may have worked: it counts, no plan relies on it, and only a person can forget it.
        assert [n["why"]["reason"] for n in d.nodes() if n["provider"] == "stuck"] == ["no_provider"] and len(d.nodes()) == 2


def test_what_ended_while_the_disk_was_full_stays_ended(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [{"CPU": 1}]})
        d.post({"owner": "b", "bundles": [T4]})
        d.until(lambda: d.ready() == 2)
        fill_up(d)
        assert d.call("DELETE", "/v1/request_resources/b")[0] == 503  # promised nothing
        room(d, resource.RLIM_INFINITY)
        d.until(lambda: d.get("/readyz")[0] == 200)
        there = {r["owner"] for r in d.status()["requests"]}
        d.kill()
        d.start()
        assert {r["owner"] for r in d.until(lambda: d.status().get("requests"))} == there


def test_a_request_too_many_is_refused_and_the_others_live(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [{"resources": {"CPU": 1}, "count": 4000000}]})
        status, reply = d.call("POST", "/v1/request_resources",
                               {"owner": "b", "bundles": [{"resources": {"CPU": 1}, "count": 4000000}]})
        assert status == 400 and "5000000" in reply["error"]["text"], reply
        d.post({"owner": "a", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)


def test_a_config_map_that_changes_is_seen(tmp_path):
    """Kubernetes swaps the link ..data; davit.yaml itself is a link through it."""
    with Daemon(tmp_path, config(), start=False) as d:
        def put(name, text):
            (tmp_path / name).mkdir()
            (tmp_path / name / "davit.yaml").write_text(text)
            os.symlink(name, tmp_path / "..data_tmp")
            os.replace(tmp_path / "..data_tmp", tmp_path / "..data")
        text = d.path.read_text()
        d.path.unlink()
        put("..1", text)
        os.symlink("..data/davit.yaml", d.path)
        d.start()
        put("..2", text.replace("max: 8", "max: 7"))
        d.until(lambda: d.events("config.loaded"))
        d.until(lambda: [t["max"] for t in d.status()["types"] if t["name"] == "cpu"] == [7])


def test_a_refusal_of_before_the_reload_says_nothing_after_it(tmp_path):
    with Daemon(tmp_path, config("latency: 4s")) as d:
        d.until(lambda: d.get("/readyz")[0] == 200)
        faults(d, auth=True)
        d.post({"bundles": [T4]})
        d.until(lambda: d.events("launch"))
        d.write(config("latency: 10ms"))  # repaired, while a launch is under way
        d.until(lambda: d.events("config.loaded"))
        assert not d.events("launch.failed")
        d.until(lambda: d.events("launch.failed"))
        assert [e["reason"] for e in d.events("launch.failed")] == ["AUTH"]
        faults(d)
        d.until(lambda: d.ready("t4") == 1)


