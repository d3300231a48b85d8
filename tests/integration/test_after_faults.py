"""What a fault leaves behind: a start after it, a machine that stands still, a word that was cut."""
import contextlib
import json
import resource
import sqlite3
import subprocess
import sys

from lib import DAVIT, ROOT
from lib.daemon import Daemon
from test_loop import T4, cloud, config


def room(d, most):
    """Its disk takes files of so many bytes, and no more."""
    resource.prlimit(d.p.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def fill_up(d):
    """Not a page more, neither in the journal nor in its log."""
    room(d, 4096)
    for i in range(40):
        assert d.call("POST", "/v1/request_resources", {"owner": f"o{i}", "bundles": [{"CPU": 1, f"x{i}": 1}]})[0] == 503


def test_a_daemon_starts_again_after_events_were_lost_to_a_full_disk(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        fill_up(d)
        room(d, resource.RLIM_INFINITY)
        d.until(lambda: d.get("/v1/status")[1] and d.call("DELETE", "/v1/request_resources/o0")[0] in (200, 202, 404), 15)
        d.until(lambda: "can be written again" in d.text())
        newest = d.events()[-1]["id"]
        d.stop()
        ids = [r[0] for r in sqlite3.connect(d.dir / "davit.db").execute("select id from event order by id")]
        assert ids[-1] - ids[0] >= len(ids), "no event was lost: nothing is tested"
        d.start()
        d.until(lambda: d.ready("t4") == 1)
        assert d.events("daemon.started")[-1]["id"] > newest


def stands(d):
    return {r["owner"]: json.dumps(r["request"]) for r in d.status()["requests"]}


def shares(d):
    """The owners that the journal has shares of."""
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        return {key.rsplit("/", 1)[1] for key, in db.execute("SELECT key FROM value WHERE key LIKE 'request/share/%'")}


def test_whose_share_it_was_goes_with_a_request(tmp_path):
    """Also with one that is cleared while nothing can be written, and one that a person takes out."""
    with Daemon(tmp_path, config()) as d:
        for owner in ("a", "b", "c"):
            d.post({"owner": owner, "ttl": "30s" if owner == "c" else "300s", "bundles": [{"CPU": 1}]})
        d.stop()
        assert shares(d) == {"a", "b", "c"}
        d.cli("journal", "forget", "--journal", str(tmp_path / "davit.db"), "--request", "a")
        d.start()
        room(d, 4096)
        d.until(lambda: d.call("DELETE", "/v1/request_resources/nobody")[0] == 503)
        d.clocks.ahead(31000)   # c's time is over while nothing can be written
        d.until(lambda: d.events("request.expired"))
        room(d, resource.RLIM_INFINITY)
        d.until(lambda: d.get("/readyz")[0] == 200)
        d.looks(2)
        assert set(stands(d)) == {"b"}
        d.stop()
        assert shares(d) == {"b"}
        d.start()


def test_what_a_full_disk_refused_does_not_stand(tmp_path):
    """Requests, cleared ones and marks of nodes are as before, now and after a start; each screen names the cause."""
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        name = d.nodes("t4")[0]["id"]
        fill_up(d)
        for _ in range(10):  # also between two refusals: nothing was written
            d.step()
            assert d.get("/readyz")[0] == 503
        before = stands(d)
        assert "a" in before
        refused = {"new": ("POST", "/v1/request_resources", {"owner": "new", "bundles": [{"CPU": 1, "y" * 900: 1}]}),
                   "changed": ("POST", "/v1/request_resources", {"owner": "a", "bundles": [T4, T4, {"CPU": 1, "y" * 900: 1}]}),
                   "cleared": ("DELETE", "/v1/request_resources/a", None),
                   "protected": ("POST", f"/v1/nodes/{name}/protect", None),
                   "drained": ("POST", f"/v1/nodes/{name}/drain", None)}
        for what, call in refused.items():
            code, reply = d.call(*call)
            assert code == 503 and "nothing was promised" in reply["error"]["text"], (what, code, reply)
            assert "davit.db" in reply["error"]["text"], "the cause is not named"
            assert stands(d) == before, what
        assert d.events("request.undone")[-1]["subject"] == "a" and d.events("node.undone")[-1]["subject"] == name
        assert "davit.db" in d.get("/readyz")[1]["problems"][0] and "the journal cannot be written" in d.cli("status")
        node = d.nodes("t4")[0]
        assert (node["state"], node["protected"]) == ("ready", False), node
        room(d, resource.RLIM_INFINITY)
        d.until(lambda: d.get("/readyz")[0] == 200)
        d.kill()
        assert shares(d) <= set(before), "shares of requests that are no more"
        d.start()
        assert stands(d) == before
        assert d.nodes("t4")[0]["protected"] is False


def test_a_machine_that_was_not_written_down_is_none(tmp_path):
    """The first request that the disk refuses: nothing of it is seen from its answer on, nor billed."""
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        d.looks(2)
        before, cost = stands(d), d.status()["cost"]
        room(d, 4096)
        code, reply = d.call("POST", "/v1/request_resources", {"owner": "new", "bundles": [{**T4, "count": 3}]})
        assert code == 503 and "nothing was promised" in reply["error"]["text"], (code, reply)
        assert stands(d) == before
        assert [n["state"] for n in d.nodes()] == ["ready"], d.nodes()
        now = d.status()["cost"]
        assert {k: now[k] for k in now if "hour" in k} == {k: cost[k] for k in cost if "hour" in k}
        room(d, resource.RLIM_INFINITY)
        d.until(lambda: d.get("/readyz")[0] == 200)
        d.looks(2)
        assert len(d.nodes()) == 1 and len(d.events("launch.dropped")) == 3, d.nodes()


def test_a_log_that_fills_the_disk_goes_into_the_journal(tmp_path):
    """The same request again and again takes no more room than once: the log is what grew, and is emptied."""
    def small():
        resource.setrlimit(resource.RLIMIT_FSIZE, (400 * 1024, resource.RLIM_INFINITY))

    with Daemon(tmp_path, config(), preexec=small) as d:
        for i in range(400):
            code, reply = d.call("POST", "/v1/request_resources", {"owner": "a", "bundles": [{"CPU": 1 + i % 7}]})
            if code == 503:     # once, and then there is room
                assert "nothing was promised" in reply["error"]["text"], reply
                d.until(lambda i=i: d.call("POST", "/v1/request_resources", {"owner": "a", "bundles": [{"CPU": 1 + i % 7}]})[0] in (200, 202))
        assert (tmp_path / "davit.db-wal").stat().st_size <= 400 * 1024
        assert d.get("/readyz")[0] == 200


def test_doctor_asks_the_disk_whether_there_is_room(tmp_path):
    def none():
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    d = Daemon(tmp_path, config(), start=False)
    for room, bad in ((lambda: None, False), (none, True)):
        p = subprocess.run([DAVIT, "doctor", d.path], cwd=tmp_path, env=d.env, preexec_fn=room, restore_signals=False, capture_output=True, text=True)
        state = next(x for x in p.stdout.splitlines() if "state" in x.split(":")[0])
        assert state.startswith("bad" if bad else "ok"), p.stdout
    assert not list(tmp_path.glob("*.probe"))


# ---- the example provider, with a cloud that says what a test likes

OWN = """
cluster: own
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: %s, start_timeout: %s%s}
providers:
  own: {plugin: exec, command: [PYTHON, "{dir}/own.py"], options: {file: "{dir}/cloud.json"}}
node_types:
  t4: {resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.7, max: 4%s}
""".replace("PYTHON", sys.executable)


def own(tmp_path, more, idle="60s", start="60s", limits="", type_=""):
    """A configuration whose provider adds the dictionary `more` (as Python) to each machine it tells of."""
    text = (ROOT / "providers" / "exec" / "example.py").read_text()
    where = 'return {"phase": "running" if up else "starting", '
    assert where in text
    (tmp_path / "own.py").write_text(text.replace(where, where + f"**({more}), ").replace(
        '("id", "request_id", "type", "zone", "spot")}}', '("id", "request_id", "type", "zone", "spot")}, ' f"**({more})}}"))
    return OWN % (idle, start, limits, type_)


def test_a_machine_that_stands_still_is_late_however_long_its_detail(tmp_path):
    more = '{"phase": "starting", "detail": "the image cannot be pulled: " + "it is not there; " * 15}'
    with Daemon(tmp_path, own(tmp_path, more, start="3s")) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.nodes("t4", "starting"))
        d.until(lambda: d.events("node.failed"), 10, "the machine is paid for and never late")


def test_an_adopted_spot_machine_is_one_and_costs_what_one_costs(tmp_path):
    """The ledger is lost: what is paid for is known by what the cloud says."""
    text = own(tmp_path, "{}", type_=", market: [on-demand, spot], spot_price: 0.2")
    with Daemon(tmp_path, text) as d:
        d.post({"bundles": [T4]})
        before = d.until(lambda: d.nodes("t4", "ready"))[0]
        assert before["spot"] is True
        d.kill()
        for f in d.dir.glob("davit.db*"):
            f.unlink()
        d.start()
        after = d.until(lambda: d.nodes("t4", "ready"))[0]
        assert (after["spot"], after["price_per_hour"]) == (True, before["price_per_hour"]), (before, after)


def test_names_that_only_a_request_has_are_no_labels_of_metrics(tmp_path):
    """Each would be a time series of its own, for as long as Prometheus keeps it."""
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [{"CPU": 1, "only-of-run-4711": 1}]})
        text = d.get("/metrics")[1]
        assert 'autoscaler_cluster_resources{resource="CPU"' in text and 'resource="GPU"' in text
        assert "only-of-run-4711" not in text
