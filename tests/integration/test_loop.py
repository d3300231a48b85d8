"""The real daemon against the simulated cloud: the loop's laws, and its faults.

The cloud is a file, so what it holds is read from there and not from the
daemon's own word.
"""
import json
import random
import resource
import signal
import time

import pytest

from lib import simcloud
from lib.daemon import Daemon
from lib.seeds import seed

CONFIG = """
cluster: loop
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 2s, start_timeout: 10s}
providers:
  sim: {state: "{dir}/cloud.json", boot: 300ms, terminate: 200ms%s}
node_types:
  cpu: {provider: sim, resources: {CPU: 4, memory: 16Gi}, price: 0.2, max: 8}
  t4: {provider: sim, resources: {CPU: 8, memory: 30Gi, GPU: 1}, accelerator_type: T4, price: 0.7, max: 4, zones: [a, b]}
  v100: {provider: sim, resources: {CPU: 8, memory: 60Gi, GPU: 4}, accelerator_type: V100, price: 9.9, max: 2}%s
"""
T4 = {"GPU": 1, "accelerator_type": "T4"}


def config(options="", more=""):
    return CONFIG % (", " + options if options else "", more)


def cloud(d):
    """What the cloud holds: {id: record}, ended ones left out."""
    try:
        c = json.loads((d.dir / "cloud.json").read_text())
    except FileNotFoundError:
        return {}
    now = d.now() * 1000
    machines = c["machines"]
    items = machines.items() if isinstance(machines, dict) else ((m["id"], m) for m in machines)
    return {k: m for k, m in items if not (0 < m.get("gone_ms", 0) <= now)}


def faults(d, name="cloud.json", **kw):
    simcloud.faults(d.dir / name, **kw)


def test_up_and_down(tmp_path):
    with Daemon(tmp_path, config()) as d:
        r = d.post({"owner": "a", "bundles": [T4, T4], "num_cpus": 3})
        assert r["feasible"] and not r["satisfied"] and sum(x["count"] for x in r["launches"]) == 2
        d.until(lambda: d.ready("t4") == 2)
        assert d.ready() == 2 and len(cloud(d)) == 2  # the CPUs lie on the T4 nodes
        r = d.post({"owner": "a", "bundles": [T4, T4]})
        assert r["satisfied"]
        d.stays(lambda: d.ready("t4") == 2, 3)  # longer than the idle timeout
        d.post({"owner": "a", "bundles": []})
        d.until(lambda: not cloud(d) and not d.nodes())
        kinds = [e["kind"] for e in d.events()]
        for kind in ("request.set", "launch", "node.ready", "request.cleared", "node.ending", "node.gone"):
            assert kind in kinds, kinds


def test_owners_add_up_and_do_not_wipe_each_other(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [T4]})
        d.post({"owner": "b", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 2)
        d.call("DELETE", "/v1/request_resources/a")
        d.until(lambda: d.ready("t4") == 1)
        d.stays(lambda: d.ready("t4") == 1, 2.5)


def test_a_ttl_ends_a_request(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"bundles": [{"CPU": 1}], "ttl": "1s"})
        d.until(lambda: d.events("node.ready"))  # it does not stay for long
        d.until(lambda: d.events("request.expired"))
        d.until(lambda: not cloud(d))


def test_a_stockout_is_planned_around_in_the_same_pass(tmp_path):
    with Daemon(tmp_path, config("stockout: [t4@a]")) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        assert [m["zone"] for m in cloud(d).values()] == ["b"]
        aside = d.status()["backoffs"]
        assert [(x["type"], x["zone"], x["status"]) for x in aside] == [("t4", "a", "STOCKOUT")]


def test_everything_out_of_stock_is_told_and_does_not_spin(tmp_path):
    with Daemon(tmp_path, config("stockout: [t4, v100, cpu]")) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: len(d.status()["backoffs"]) == 2)
        ticks = d.status()["tick"]
        for _ in range(3):
            d.step()
        assert d.status()["tick"] - ticks < 20
        why = d.get("/v1/why/default")[1]
        reasons = {o["reason"] for b in why["owner"]["demands"][0]["bundles"] for o in b["obstacles"]}
        assert "backoff" in reasons, reasons


def test_a_quota_is_used_up_to_its_end(tmp_path):
    with Daemon(tmp_path, config("quota: 3")) as d:
        d.post({"bundles": [T4] * 4})
        d.until(lambda: len(cloud(d)) == 3)
        d.stays(lambda: len(cloud(d)) <= 3, 1)


@pytest.mark.parametrize("fault", ["lost_reply: [1]", "throttle: 3", "error: {every: 3, as: RETRY}", "fail: {nth: [1]}",
                                   "latency: 300ms", "list_lag: 1s"])
def test_faults_cost_time_and_never_a_machine_too_many(tmp_path, fault):
    with Daemon(tmp_path, config(fault)) as d:
        most = 0
        d.post({"bundles": [T4, T4, T4]})

        def there():
            nonlocal most
            living = [m for m in cloud(d).values() if not m.get("gone_ms") and not m.get("fails_ms")]
            most = max(most, len(living))
            return d.ready("t4") == 3
        d.until(there)
        d.stays(there, 1.5)
        assert most == 3
        d.post({"bundles": []})
        d.until(lambda: not cloud(d))


def test_kill_9_at_any_moment_loses_and_doubles_nothing(tmp_path):
    rnd = random.Random(seed())
    with Daemon(tmp_path, config("latency: 30ms")) as d:
        for turn in range(10):
            n = 1 + turn % 4
            d.post({"owner": "k", "bundles": [T4] * n})
            time.sleep(rnd.uniform(0, 0.5))  # wait: the moment of the kill is drawn
            d.kill()
            assert len(cloud(d)) <= 4
            d.start()
            got = d.get("/v1/request_resources/k")
            assert got[0] == 200 and got[1]["bundles"] == n, got
            d.until(lambda: d.get("/v1/request_resources/k")[1]["satisfied"])
            wanted = d.ready("t4")
            assert n <= wanted <= 4 and len(cloud(d)) <= 4
        d.post({"owner": "k", "bundles": []})
        d.until(lambda: not cloud(d) and not d.nodes())


def test_a_machine_of_an_earlier_journal_is_held(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"bundles": [{"CPU": 1}]})
        d.until(lambda: d.ready("cpu") == 1)
        d.stop()
        for f in tmp_path.glob("davit.db*"):
            f.unlink()
        d.start()
        d.until(lambda: d.events("node.held"))
        d.until(lambda: [n["why"]["reason"] for n in d.nodes()] == ["not_ours"])
        d.stays(lambda: len(cloud(d)) == 1, 4)


def test_a_machine_that_vanishes_is_replaced(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        first = d.nodes("t4")[0]["cloud_id"]
        faults(d, kill=[first])
        d.until(lambda: d.events("node.lost") or d.events("node.gone"))
        d.until(lambda: [n["cloud_id"] != first for n in d.nodes("t4", "ready")] == [True])


def test_nothing_is_ended_on_a_failed_list(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        d.stop()
        d.write(config("error: {every: 1, as: RETRY}"))
        d.start()
        d.post({"bundles": []})
        d.until(lambda: d.nodes("t4") and d.nodes("t4")[0]["why"]["reason"] == "stale_view")
        d.stays(lambda: len(cloud(d)) == 1, 3)
        d.write(config())
        d.until(lambda: not cloud(d))


def test_reload_takes_a_good_file_and_keeps_the_old_on_a_bad_one(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.write(config(more="\n  l4: {provider: sim, resources: {CPU: 4, GPU: 1}, accelerator_type: L4, price: 0.5, max: 1}"))
        d.until(lambda: any(t["name"] == "l4" for t in d.status()["types"]))
        d.write(config().replace("max_nodes", "max_node"))
        problem = d.until(lambda: d.status()["config"]["problem"])
        assert "davit.yaml:5:" in problem and "max_nodes" in problem
        assert any(t["name"] == "l4" for t in d.status()["types"])
        d.write(config("boott: 1s"))
        problem = d.until(lambda: "boott" in d.status()["config"]["problem"] and d.status()["config"]["problem"])
        assert "boot" in problem
        d.write(config())
        d.until(lambda: not d.status()["config"]["problem"])
        d.p.send_signal(signal.SIGHUP)
        d.until(lambda: len(d.events("config.loaded")) >= 3)
        assert d.p.poll() is None


def test_min_is_kept_and_max_is_kept(tmp_path):
    text = config().replace("price: 0.2, max: 8", "price: 0.2, min: 2, max: 3")
    with Daemon(tmp_path, text) as d:
        d.until(lambda: d.ready("cpu") == 2)
        d.stays(lambda: d.ready("cpu") == 2, 3)
        r = d.post({"bundles": [{"CPU": 4}] * 9})
        assert r["waiting"] > 0 or r["infeasible"]
        d.until(lambda: d.ready("cpu") == 3)
        d.stays(lambda: len([m for m in cloud(d).values() if m["type"] == "cpu"]) <= 3, 1)


def test_a_protected_node_stays(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"bundles": [{"CPU": 1}]})
        d.until(lambda: d.ready("cpu") == 1)
        name = d.nodes()[0]["id"]
        assert d.call("POST", f"/v1/nodes/{name}/protect")[0] == 200
        d.post({"bundles": []})
        d.stays(lambda: len(cloud(d)) == 1, 3.5)
        assert d.nodes()[0]["why"]["reason"] == "protected"
        assert d.call("DELETE", f"/v1/nodes/{name}/protect")[0] == 200
        d.until(lambda: not cloud(d))


def test_a_second_daemon_is_refused(tmp_path):
    with Daemon(tmp_path, config()) as d:
        other = Daemon(tmp_path, config(), start=False)
        other.start(wait=False)
        assert other.p.wait(90) == 3
        assert str(d.p.pid) in other.text()
        assert d.get("/livez")[0] == 200  # the first one goes on


def test_a_full_disk_promises_nothing_and_heals(tmp_path):
    from test_after_faults import fill_up, room
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "before", "bundles": [{"CPU": 1}]})
        fill_up(d)
        d.until(lambda: d.get("/readyz")[0] == 503)
        assert d.get("/livez")[0] == 200
        room(d, resource.RLIM_INFINITY)
        d.until(lambda: d.get("/readyz")[0] == 200)
        d.post({"owner": "after", "bundles": [{"CPU": 1}]})


def test_dry_run_plans_and_touches_nothing(tmp_path):
    with Daemon(tmp_path, config(), args=["--dry-run"]) as d:
        r = d.post({"bundles": [T4]})
        assert sum(x["count"] for x in r["launches"]) == 1
        assert d.status()["shadow"] is True
        d.stays(lambda: not cloud(d), 1.5)    # tests/shadow/ says more


def test_infeasible_is_told_at_once_and_the_rest_is_served(tmp_path):
    with Daemon(tmp_path, config()) as d:
        r = d.post({"owner": "big", "bundles": [{"GPU": 8}]})
        assert not r["feasible"] and "4" in r["infeasible"][0]["text"] and "8" in r["infeasible"][0]["text"]
        d.post({"owner": "ok", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 1)
        assert "lacks GPU" in "\n".join(d.get("/v1/why/big")[1]["text"])


def test_commands_for_people_and_programs(tmp_path):
    with Daemon(tmp_path, config()) as d:
        out = d.cli("request", "--owner", "me", "GPU=1,accelerator_type=T4*2", "--wait", "60s")
        assert out.count(" ready, made ") == 2, out
        assert len(json.loads(d.cli("nodes", "--json"))["nodes"]) == 2
        assert "t4" in d.cli("status") and "me" in d.cli("why", "me")
        assert "request" in d.cli("why", d.nodes()[0]["id"])
        d.cli("why", "nobody", expect=1)
        d.cli("request", "--owner", "me", '{"GPU": 99}', expect=1)
        d.cli("request", "--owner", "me", '{"GPU": -1}', expect=3)
        d.cli("request", "--owner", "me", '{"GPU": ', expect=3)
        d.cli("request", expect=2)
        d.cli("request", "--owner", "me", "--clear")
    p = Daemon(tmp_path, config(), start=False)
    p.log = open(tmp_path / "log", "a")
    p.cli("status", expect=4)
    p.log.close()


def test_nodes_are_told_to_be_of_who_asked(tmp_path):
    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [T4]})
        d.post({"owner": "b", "bundles": [T4]})
        d.until(lambda: d.ready("t4") == 2)
        assert sorted(n["for"][0]["owner"] for n in d.nodes("t4")) == ["a", "b"]
        assert sorted(n["why"]["text"].split("(")[-1] for n in d.nodes("t4")) == ["a)", "b)"]


def test_machines_that_vanish_in_a_circle_are_no_healthy_cluster(tmp_path):
    """Each vanishes a few seconds after it is ready.  While the next one is there all is not well either."""
    def vanish(d):
        with simcloud.changed(d.dir / "cloud.json") as c:
            c["machines"].clear()

    with Daemon(tmp_path, config()) as d:
        d.post({"owner": "a", "bundles": [T4]})
        for turn in range(3):
            d.until(lambda: d.ready("t4") == 1)
            if turn < 2:
                vanish(d)
                d.until(lambda: len(d.events("node.lost")) == turn + 1)
                d.later(45)
        assert d.ready("t4") == 1
        first = d.cli("status").splitlines()[:3]
        assert "problem" in first[0] and "launches of machines of t4 in a row were of no use" in first[1], first
        top = d.cli("top", "--once").splitlines()[:3]
        assert "problem" in top[0] and "were of no use" in top[1], top
        assert any("were of no use" in p for p in d.get("/readyz")[1]["problems"])
        assert d.status()["age_s"] < 3600
