"""What a cloud tells of its machines, against what the configuration says of them; and when it works on them."""
import os
import subprocess
import time

from lib import DAVIT, simcloud
from lib.daemon import Daemon

CONFIG = """
cluster: offers
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
providers:
  sim: {state: "{dir}/cloud.json"}
node_types:
  t4:
    provider: sim
    resources: {CPU: 4, GPU: 1}
    zones: [a, b]
    options: {boot: 200ms, gives: {CPU: 3.92, GPU: 1}, taints: ["nvidia.com/gpu=present:NoSchedule"]}
  cpu: {provider: sim, resources: {CPU: 4}, options: {gives: {CPU: 4}}}
"""
MAINTAINED = """
cluster: maintained
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: 1s}
providers:
  sim: {state: "{dir}/cloud.json", terminate: 100ms}
node_types:
  t4: {provider: sim, resources: {CPU: 4, GPU: 1}, price: 0.5, options: {boot: 200ms}}
  l4: {provider: sim, resources: {CPU: 4, GPU: 1}, price: 0.9, options: {boot: 200ms}}
"""
SLOW = """
import json, sys, threading, time
from os import environ
live, lock = {}, threading.Lock()
def say(r, **line):
    with lock:
        print(json.dumps({"id": r["id"], **line}), flush=True)
def show(r):
    for m in live.values():
        say(r, machine=m)
def offers(r):
    time.sleep(float(environ["AFTER"]))
    say(r, offer={"type": environ["KIND"], "price": float(environ["PRICE"])})
    say(r, status="OK")
for text in sys.stdin:
    r = json.loads(text)
    if r["op"] == "offers":
        threading.Thread(target=offers, args=(r,), daemon=True).start()
        continue
    if r["op"] == "launch":
        for i in range(r["count"]):
            live.setdefault(f"{r['request_id']}-{i}", {"id": f"{r['request_id']}-{i}", "request_id": r["request_id"], "type": r["type"], "phase": "running"})
    if r["op"] in ("list", "launch"):
        show(r)
    say(r, status="OK")
"""
AWAITED = """
cluster: awaited
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
providers:
  soon: {plugin: exec, command: [python3, "{dir}/slow.py"], env: {AFTER: "0", KIND: dear, PRICE: "2"}}
  late: {plugin: exec, command: [python3, "{dir}/slow.py"], env: {AFTER: "%s", KIND: cheap, PRICE: "0.5"}}
node_types:
  dear: {provider: soon, resources: {CPU: 4}, max: 4}
  cheap: {provider: late, resources: {CPU: 4}, max: 4}
"""
LESS = "a machine has 3.92 CPU, the configuration says 4: what asks for 4 will never fit; write CPU: 3.92 under resources"
TAINT = ("a machine has the taint nvidia.com/gpu=present:NoSchedule, which taints: of the type lacks: pods without that "
         "toleration will not run there")


def told(d):
    return [(e["subject"], e["text"]) for e in d.events("type.differs")]


def test_a_difference_is_told_once(tmp_path):
    with Daemon(tmp_path, CONFIG) as d:
        d.until(lambda: len(told(d)) == 2)
        assert sorted(told(d)) == [("t4", LESS), ("t4", TAINT)]
        assert "warn  type.differs t4: " + LESS in d.text()
        # Without a Kubernetes head nobody goes by taints: it is bought all the same.
        d.post({"bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 1)
        assert len(told(d)) == 2


def test_the_doctor_says_it_too(tmp_path):
    path = tmp_path / "davit.yaml"
    path.write_text(CONFIG.replace("{dir}", str(tmp_path)).replace("{port}", "8790"))
    r = subprocess.run([DAVIT, "doctor", path], capture_output=True, text=True,
                       env=dict(os.environ, HOME=str(tmp_path)))
    lines = [line for line in r.stdout.splitlines() if line.startswith("warn  node type")]
    assert lines == ["warn  node type t4: " + LESS, "warn  node type t4: " + TAINT], r.stdout + r.stderr


def test_spot_where_there_is_no_spot_market(tmp_path):
    path = tmp_path / "davit.yaml"
    path.write_text("cluster: c\nproviders:\n  k8s: {endpoint: \"http://127.0.0.1:1\"}\nnode_types:\n"
                    "  cheap: {provider: k8s, resources: {CPU: 4}, spot: true}\n")
    r = subprocess.run([DAVIT, "validate", path], capture_output=True, text=True)
    assert r.returncode != 0
    assert f"{path}:5:3: node type cheap is to be spot, but provider k8s has no spot market" in r.stderr, r.stderr


def test_maintenance_is_neither_bought_into_nor_ended(tmp_path):
    """An idle machine of a pool that is upgraded stays; the next one is bought elsewhere."""
    with Daemon(tmp_path, MAINTAINED) as d:
        d.post({"owner": "a", "bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 1)
        simcloud.faults(tmp_path / "cloud.json", maintenance=["t4"])
        d.post({"owner": "b", "bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("l4") == 1)
        d.until(lambda: d.events("node.kept"))
        d.post({"owner": "a", "bundles": []})
        d.post({"owner": "b", "bundles": []})
        d.until(lambda: d.ready("l4") == 0, 20)     # idle for longer than idle_timeout
        d.until(lambda: d.nodes("t4")[0]["why"]["reason"] != "idle_wait")
        node = d.nodes("t4")[0]
        assert (node["state"], node["why"]["reason"]) == ("ready", "held_by_cloud")
        assert "being upgraded" in node["why"]["text"]
        offer = d.until(lambda: [o for t in d.status()["types"] if t["name"] == "t4" for o in t["offers"] if o["closed"]])[0]
        assert offer["note"] == "being upgraded (simulated)"
        assert {e["subject"] for e in d.events("offer.closed")} == {"t4"}
        simcloud.faults(tmp_path / "cloud.json")
        d.until(lambda: d.events("node.freed") and d.ready("t4") == 0)


def awaited(tmp_path, after):
    (tmp_path / "slow.py").write_text(SLOW)
    return Daemon(tmp_path, AWAITED % after)


def test_nothing_is_bought_before_all_offers_are_known(tmp_path):
    """At the start the dearer of two is known sooner."""
    with awaited(tmp_path, "3") as d:
        d.post({"owner": "me", "bundles": [{"CPU": 1}]})
        d.until(lambda: "has not said yet what it offers" in d.cli("why", "me") or d.nodes())
        d.until(lambda: d.ready() == 1)
        assert [n["type"] for n in d.nodes()] == ["cheap"]


def test_offers_that_do_not_come_are_waited_for_ten_seconds(tmp_path):
    begun = time.monotonic()
    with awaited(tmp_path, "600") as d:
        d.post({"owner": "me", "bundles": [{"CPU": 1}]})
        d.until(lambda: d.ready() == 1)
        assert time.monotonic() - begun > 9.9


QUOTA = """
cluster: quota
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: 1s}
providers:
  q: {plugin: exec, command: [python3, "{dir}/quota.py"]}
node_types:
  t4: {provider: q, resources: {CPU: 4, GPU: 1}, price: 0.5}
  l4: {provider: q, resources: {CPU: 4, GPU: 1}, price: 0.9, max: 1}
"""
COUNTED = """
import json, sys
live = {}
def say(r, **line):
    print(json.dumps({"id": r["id"], **line}), flush=True)
for text in sys.stdin:
    r = json.loads(text)
    if r["op"] == "offers":
        most = int(open(sys.path[0] + "/most").read())
        say(r, offer={"type": "t4", "most": most, "note": "" if most else "quota T4: 4 of 4 used"})
    if r["op"] == "launch":
        for i in range(r["count"]):
            live.setdefault(f"{r['request_id']}-{i}", {"id": f"{r['request_id']}-{i}", "request_id": r["request_id"], "type": r["type"], "phase": "running"})
    if r["op"] == "terminate":
        for i in r["ids"]:
            live.pop(i, None)
    if r["op"] in ("list", "launch"):
        for m in live.values():
            if r["op"] == "list" or m["request_id"] == r["request_id"]:
                say(r, machine=m)
    say(r, status="OK")
"""


def quota(tmp_path, most):
    (tmp_path / "quota.py").write_text(COUNTED)
    (tmp_path / "most").write_text(str(most))
    return Daemon(tmp_path, QUOTA)


def room(d):
    return [o["room"] for t in d.status()["types"] if t["name"] == "t4" for o in t["offers"]]


def test_no_more_is_bought_than_a_quota_allows(tmp_path):
    """And what has been bought since, or ended, is counted without asking again."""
    with quota(tmp_path, 2) as d:
        d.post({"owner": "a", "bundles": [{"GPU": 1}] * 5})
        d.until(lambda: d.ready("t4") == 2 and d.ready("l4") == 1)
        assert d.until(lambda: room(d) == [0])
        assert "t4: only 0 more may be launched now, by its cloud's quota" in d.cli("why", "a")
        d.post({"owner": "a", "bundles": []})
        d.until(lambda: d.ready("t4") == 0 and room(d) == [2])
        d.post({"owner": "a", "bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 1 and room(d) == [1])


def test_a_quota_that_is_used_up(tmp_path):
    with quota(tmp_path, 0) as d:
        d.post({"owner": "a", "bundles": [{"GPU": 1}] * 2})
        d.until(lambda: d.ready("l4") == 1)
        assert "t4 is not offered by q now: quota T4: 4 of 4 used" in d.cli("why", "--not-launched", "t4")
        assert [(e["subject"], "quota T4: 4 of 4 used" in e["text"]) for e in d.events("offer.closed")] == [("t4", True)]
        [o] = [o for t in d.status()["types"] if t["name"] == "t4" for o in t["offers"]]
        assert (o["room"], o["closed"], o["note"]) == (0, True, "quota T4: 4 of 4 used")
        r = subprocess.run([DAVIT, "doctor", tmp_path / "davit.yaml"], capture_output=True, text=True, env=dict(os.environ, HOME=str(tmp_path)))
        assert "warn  node type t4: not offered now: quota T4: 4 of 4 used" in r.stdout, r.stdout + r.stderr
