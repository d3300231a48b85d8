"""--record, replays and what-if questions: the same file, the same plan, bit for bit."""
import json
import subprocess

import pytest

from lib import DAVIT
from lib.daemon import Daemon

CONFIG = """
cluster: rec
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 1s, spare: {CPU: 1}%s}
providers:
  sim: {state: "{dir}/cloud.json", boot: 200ms, terminate: 100ms}
node_types:
  cpu: {provider: sim, resources: {CPU: 4, memory: 16Gi}, price: 0.2, max: 8}
  t4: {provider: sim, resources: {CPU: 8, memory: 30Gi, GPU: 1}, accelerator_type: T4, price: 0.7, max: 4, zones: [a, b]}
  kept: {provider: sim, resources: {CPU: 8, GPU: 1}, price: 0.5, max: 4, taints: ["team=x:NoSchedule"]}
  cut: {provider: sim, resources: {CPU: 8, GPU: 2}, price: 3, max: 4, shares: {mig-1g.5gb: 7}}
queues:
  gpus: {node_types: [t4], quota: {gpus: 2}, priority: 3, owners: [train-*]}
"""
SNAPSHOT = {
    "now_ms": 1795255200000, "limits": {"idle_timeout_s": 60},
    "node_types": [{"name": "t4", "resources": {"CPU": 8, "GPU": 1}, "price": 0.7, "max": 8},
                   {"name": "v.100", "resources": {"CPU": 8, "GPU": 1}, "price": 0.9}],
    "nodes": [{"id": "n1", "type": "t4", "total": {"CPU": 8, "GPU": 1}, "idle_ms": 30000}],
    "demands": [{"resources": {"GPU": 1}, "count": 3}]}


def plan(path, *args, expect=0):
    p = subprocess.run([DAVIT, "plan", *args, str(path)], capture_output=True, text=True, timeout=60)
    assert p.returncode == expect, (p.returncode, p.stdout, p.stderr)
    return p


def files(d):
    return sorted(d.glob("*.json"), key=lambda p: p.name.split("-")[1])


@pytest.fixture
def snapshot(tmp_path):
    def write(**more):
        path = tmp_path / "s.json"
        path.write_text(json.dumps(dict(SNAPSHOT, **more)))
        return path
    return write


def test_every_plan_replays(tmp_path):
    rec = tmp_path / "rec"
    with Daemon(tmp_path, CONFIG % "", args=["--record", str(rec)]) as d:
        d.post({"owner": "train-1", "queue": "gpus", "bundles": [{"GPU": 1}, {"GPU": 1}]})
        d.post({"owner": "b", "bundles": [{"resources": {"GPU": 1}, "tolerations": ["team=x"]},
                                          {"nvidia.com/mig-1g.5gb": 9}]})
        d.until(lambda: d.ready("t4") == 2 and d.ready("kept") + d.ready("cut") >= 2)
        d.post({"owner": "train-1", "bundles": []})
        d.until(lambda: d.ready("t4") == 0)
        d.until(lambda: len(files(rec)) >= 3)
    made = files(rec)
    assert not list(rec.glob(".part"))
    ended = 0
    for f in made:
        doc = json.loads(f.read_text())
        assert doc["recorded"]["tick"] == int(f.name.split("-")[0])
        assert doc["plan"]["launches"] or any(n["action"] != "keep" for n in doc["plan"]["nodes"])
        ended += any(n["action"] == "end" for n in doc["plan"]["nodes"])
        assert "the same plan as recorded" in plan(f).stdout
        assert json.loads(plan(f, "--json").stdout) == doc["plan"]
        assert [q["name"] for q in doc["queues"]] == ["gpus"]
    assert ended
    # A record that was tampered with is found out.
    doc = json.loads(made[0].read_text())
    doc["node_types"][0]["max"] = 0
    for t in doc["node_types"]:
        t["max"] = 0
    (tmp_path / "other.json").write_text(json.dumps(doc))
    out = plan(tmp_path / "other.json", expect=1).stdout
    assert "NOT the plan that was recorded" in out and "-> 0" in out


def test_what_if_of_a_record(tmp_path):
    rec = tmp_path / "rec"
    with Daemon(tmp_path, CONFIG % "", args=["--record", str(rec)]) as d:
        d.post({"owner": "a", "bundles": [{"GPU": 1, "accelerator_type": "T4"}]})
        d.until(lambda: d.ready("t4") == 1)
        d.until(lambda: [f for f in files(rec) if '"t4"' in f.read_text()])
    f = next(f for f in files(rec) if any(x["type"] == "t4" for x in json.loads(f.read_text())["plan"]["launches"]))
    before = f.read_bytes()
    out = plan(f, "--set", "node_types.t4.max=0").stdout
    assert "1 -> 0" in out and "recorded -> so" in out
    assert "no difference" in plan(f, "--set", "node_types.t4.max=4").stdout
    both = json.loads(plan(f, "--json", "--set", "node_types.t4.price=1.4").stdout)
    assert both["after"]["cost_per_hour"] > both["before"]["cost_per_hour"]
    assert not both["difference"]["same"]
    assert f.read_bytes() == before


def test_set_on_any_snapshot(snapshot):
    f = snapshot()
    assert "as it is -> so" in plan(f, "--set", "limits.idle_timeout=5s").stdout
    out = plan(f, "--set", "node_types.t4.price=2").stdout
    assert "t4" in out and "2 -> 0" in out and "0 -> 2" in out
    out = plan(f, "--set", "node_types.v.100.price=0.1").stdout
    assert "v.100" in out and "(-" in out
    out = plan(f, "--set", "demands.ray.count=0", expect=3).stderr
    assert "count" in out
    assert "1 -> 0" not in plan(f, "--set", "demands.0.count=1").stdout.splitlines()[0]
    assert "keep (" in plan(f, "--set", "demands=[]", "--set", "nodes.n1.idle_ms=70000").stdout
    assert "end (idle)" in plan(f, "--set", "demands=[]", "--set", "nodes.n1.idle_ms=70000").stdout
    never = plan(f, "--set", "demands=[]", "--set", "nodes.n1.idle_ms=70000", "--set", "limits.idle_timeout=never")
    assert "end (idle)" not in never.stdout
    cut = plan(f, "--json", "--set", "node_types.t4.resources.nvidia.com/gpu.shared=4", "--request",
               '{"nvidia.com/gpu.shared": 1}').stdout
    diff = json.loads(cut)["difference"]
    assert diff["before"]["infeasible"] == 1 and diff["after"]["infeasible"] == 0


@pytest.mark.parametrize("change,code,want", [
    ("limits", 3, "must be PATH=VALUE"), ("=5", 3, "must be PATH=VALUE"),
    ("limits.idle_timout=5s", 3, 'did you mean "idle_timeout_s"'),
    ("node_types.t5.price=1", 3, 'there is no "t5" here; did you mean "t4"?'),
    ("nodes.9.idle_ms=1", 3, 'there is no "9"'),
    ("limits.max_nodes.x=1", 3, "nothing lies below a single value"),
    ("node_types.t4.price=dear", 3, "must be dollars per hour"),
    ("node_types.t4.=1", 3, "there is no"), ("....=1", 3, "there is no"),
    ("a" * 5000 + "=1", 3, "unknown key"), ("limits." + "x." * 50 + "y=1", 3, "there is no"),
])
def test_bad_changes(snapshot, change, code, want):
    assert want in plan(snapshot(), "--set", change, expect=code).stderr


def test_a_configuration_with_everything(tmp_path):
    path = tmp_path / "davit.yaml"
    path.write_text(CONFIG.replace("{dir}", str(tmp_path)).replace("{port}", "0") % ", upscaling: Conservative")
    assert "spare" in plan(path).stdout
    assert "spare" not in plan(path, "--set", "demands=[]").stdout
    out = json.loads(plan(path, "--json", "--request", '{"GPU":1,"labels":{"davit.io/queue":"gpus"}}').stdout)
    assert [x["type"] for x in out["launches"] if x["why"] == "request"] == ["t4"]


def test_queues_over_rest(tmp_path):
    with Daemon(tmp_path, CONFIG % "") as d:
        bad = d.post({"owner": "x", "queue": "gpus", "bundles": [{"GPU": 1}]}, expect=(400,))
        assert 'is not for the owner "x"' in bad["error"]["text"], bad
        bad = d.post({"owner": "train-1", "queue": "gpu", "bundles": [{"GPU": 1}]}, expect=(400,))
        assert 'did you mean "gpus"' in bad["error"]["text"], bad
        assert not d.get("/v1/request_resources")[1]["requests"]
        # Only the queue's type will do, though another one is cheaper.
        d.cli("request", "--owner", "train-1", "--queue", "gpus", "--priority", "2", "GPU=1")
        d.until(lambda: d.ready("t4") == 1)
        assert "gpus" in json.dumps(d.get("/v1/request_resources/train-1")[1])
        r = d.post({"owner": "train-2", "queue": "gpus", "bundles": [{"nvidia.com/mig-1g.5gb": 1}]})
        assert not r["feasible"]
        d.stop()
        d.start()  # the journal knows the queue too
        assert "gpus" in json.dumps(d.get("/v1/request_resources/train-1")[1])


def test_record_cannot_write(tmp_path):
    d = Daemon(tmp_path, CONFIG % "", start=False, args=["--record", str(tmp_path / "no" / "where")])
    p = subprocess.run([DAVIT, "run", "--config", str(d.path), *d.args], capture_output=True, text=True, timeout=20)
    assert p.returncode == 3 and "--record: " in p.stderr and "No such file" in p.stderr


UNITS = """
cluster: rec
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeouts: [{labels: {zone: b}, idle_timeout: 7m}]}
providers:
  sim: {state: "{dir}/cloud.json", boot: 200ms, terminate: 100ms}
node_types:
  slice: {provider: sim, resources: {CPU: 8, TPU: 4}, price: 1, hosts: 2, min: 4, max: 8, zones: [b]}
"""


def test_machines_of_one_unit(tmp_path):
    with Daemon(tmp_path, UNITS) as d:
        d.until(lambda: d.ready("slice") == 4)
        snapshot = d.get("/v1/snapshot")[1]
        assert snapshot["node_types"][0]["offers"][0]["idle_timeout_s"] == 420
        units = {}
        for n in snapshot["nodes"]:
            assert n["progress_ms"] > 0
            units.setdefault(n["host_group"], set()).add(n["id"].rsplit("-", 1)[1])
        assert sorted(len(v) for v in units.values()) == [2, 2], units
        before = {n["id"]: n["host_group"] for n in snapshot["nodes"]}
        d.kill()
        d.start()  # from the journal, and from the cloud's list
        after = {n["id"]: n["host_group"] for n in d.get("/v1/snapshot")[1]["nodes"]}
        assert after == before
