"""Nodes drained as Kubernetes users expect, on a real API server: cordon, taint, evict."""
import concurrent.futures
import itertools
import json
import time

import pytest

import manifests
import pools
from lib.kube import SOON, pods_path, until
from figures import figure
from pools import Pools, TAINT


@pytest.fixture(autouse=True)
def deployments_first(plane):
    """Their pods would come back while the plane is emptied."""
    yield
    plane.client.delete("/apis/apps/v1/namespaces/default/deployments", {"propagationPolicy": "Foreground"})
    until(lambda: not plane.client.get("/apis/apps/v1/namespaces/default/replicasets")["items"], SOON)


OURS = "davit.io/draining"
SMALL = {"small": {"resources": {"CPU": 4, "memory": "16Gi"}, "price": 0.2, "max": 20}}
KEEP = {"idle_timeout": "1h"}
OUTDATED = dict(KEEP, end_outdated=True, max_ends="unlimited")


def pods(plane, **labels):
    selector = ",".join(f"{k}={v}" for k, v in labels.items())
    return plane.client.get(pods_path(**({"labelSelector": selector} if selector else {})))["items"]


def alive(plane, app):
    return [p for p in pods(plane, app=app) if not p["metadata"].get("deletionTimestamp")]


def ready(plane, app):
    return [p for p in alive(plane, app) if any(c["type"] == "Ready" and c["status"] == "True"
                                                for c in p["status"].get("conditions", []))]


def node(plane, name):
    status, reply = plane.api("GET", f"/api/v1/nodes/{name}")
    return reply if status == 200 else None


def tainted(plane, name):
    n = node(plane, name)
    return bool(n) and any(t["key"] == OURS for t in n["spec"].get("taints", []))


def cordoned(plane, name):
    n = node(plane, name)
    return bool(n) and bool(n["spec"].get("unschedulable"))


def nodes(plane):
    return {n["metadata"]["name"] for n in plane.client.get("/api/v1/nodes")["items"]}


def why(d, name):
    n, = [x for x in d.nodes() if x["id"] == name or x["cloud_id"] == name]
    return n["why"]["text"]


def deploy(plane, name, replicas, cpu="500m", **spec):
    one = manifests.pod(name, cpu=cpu, **spec)
    plane.apply(manifests.deployment(name, replicas, one))
    until(lambda: len(ready(plane, name)) == replicas, SOON, f"{name} is not up")
    return {p["spec"]["nodeName"] for p in ready(plane, name)}


def change(d, **labels):
    """Another configuration of every type: its machines are outdated."""
    text = json.loads(d.path.read_text())
    for t in text["node_types"].values():
        t["labels"] = dict(t.get("labels", {}), **labels)
    d.write(json.dumps(text))
    status, reply = d.call("POST", "/v1/reload")
    if status == 400 and "davit apply" in reply["error"]["text"]:  # it would end many
        status, reply = d.call("POST", "/v1/apply")
    assert status < 300, reply


def settled(plane, d, name):
    """The node is as it was before a drain."""
    assert not tainted(plane, name) and not cordoned(plane, name)
    assert "davit.io/cordoned" not in node(plane, name)["metadata"].get("annotations", {})


def test_idle_node_goes_and_daemons_are_left_alone(plane, tmp_path):
    agent = manifests.pod("agent", cpu="100m", labels={"app": "agent"})
    plane.apply({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "default"},
                 "spec": {"selector": {"matchLabels": {"app": "agent"}},
                          "template": {"metadata": {"labels": {"app": "agent"}}, "spec": agent["spec"]}}})
    mark = plane.audit_mark()
    with Pools(plane, tmp_path, SMALL) as d:
        plane.client.post(pods_path(), manifests.pod("work", cpu="3"))
        until(lambda: d.count() == {"small": 1} and pods(plane, app="agent"), SOON)
        name, = nodes(plane)
        plane.client.post(pods_path(), dict(manifests.pod("static", cpu="10m", annotations={
            "kubernetes.io/config.mirror": "h"}, nodeName=name)))
        until(lambda: d.ready("small") == 1)
        plane.client.delete(pods_path(name="work"))
        until(lambda: d.count() == {}, SOON, lambda: f"the idle node stays: {why(d, name)}")
        until(lambda: not d.nodes(state="ready"))
        assert d.evictions(mark) == [] and d.deletions(mark) == []
        cordon = [e for e in plane.audit(mark, verb="patch", resource="nodes", user="davit")
                  if OURS in str(e["body"])]
        assert len(cordon) == 1, cordon


def test_demand_returns_and_the_node_is_given_back(plane, tmp_path):
    with Pools(plane, tmp_path, SMALL, limits={"idle_timeout": "2s"}) as d:
        plane.client.post(pods_path(), manifests.pod("work", cpu="3"))
        until(lambda: d.ready("small") == 1, SOON)
        name, = nodes(plane)
        plane.client.delete(pods_path(name="work"))
        until(lambda: tainted(plane, name), SOON, "no drain begins")
        assert cordoned(plane, name)
        plane.client.post(pods_path(), manifests.pod("again", cpu="3"))
        until(lambda: not cordoned(plane, name), SOON, lambda: f"not given back: {d.nodes()}")
        until(lambda: [p for p in pods(plane) if p["spec"].get("nodeName") == name], SOON)
        settled(plane, d, name)
        assert d.nodes_of.ever == 1 and [e["subject"] for e in d.events("node.undrained")]


def test_budget_that_forbids(plane, tmp_path):
    with Pools(plane, tmp_path, SMALL, limits=OUTDATED, head={"drain_timeout": "4s"}) as d:
        name, = deploy(plane, "web", 2)
        plane.apply(manifests.pdb("web-budget", {"app": "web"}, 2))
        until(lambda: plane.client.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web-budget")[
            "status"].get("currentHealthy") == 2)
        before = {p["metadata"]["uid"] for p in ready(plane, "web")}
        change(d, version="2")
        until(lambda: tainted(plane, name), SOON, lambda: f"no drain begins: {d.nodes()}")
        until(lambda: "web-budget" in why(d, name), SOON, lambda: why(d, name))
        until(lambda: not tainted(plane, name), SOON, "the drain is not given up")
        until(lambda: d.events("node.undrained"))
        settled(plane, d, name)
        until(lambda: "web-budget" in why(d, name), SOON, lambda: why(d, name))
        assert "web-budget" in str(d.events("node.undrained"))
        mark = plane.audit_mark()
        d.stays(lambda: not tainted(plane, name), 4, "asked again at once")
        assert d.evictions(mark) == [], "a refused drain rests"
        assert {p["metadata"]["uid"] for p in ready(plane, "web")} == before
        assert d.machines()["small"] >= 1 and name in nodes(plane)
        # once the budget allows it, the drain is asked again and goes through
        plane.client.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web-budget")
        until(lambda: name not in nodes(plane), SOON, lambda: why(d, name))
        until(lambda: len(ready(plane, "web")) == 2, SOON)


def test_budget_that_allows_one_by_one(plane, tmp_path):
    low = []
    with Pools(plane, tmp_path, SMALL, limits=OUTDATED) as d:
        name, = deploy(plane, "web", 3)
        plane.apply(manifests.pdb("one", {"app": "web"}, 2))
        until(lambda: plane.client.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/one")[
            "status"].get("disruptionsAllowed") == 1)
        mark = plane.audit_mark()
        change(d, version="2")

        def moved():
            low.append(len(ready(plane, "web")))
            return name not in nodes(plane)
        until(moved, 60, lambda: why(d, name))
        until(lambda: len(ready(plane, "web")) == 3, SOON)
        got = [e["code"] for e in d.evictions(mark)]
        assert got.count(201) == 3, got
        assert min(low) >= 2, f"the budget was broken: {min(low)} ready"
        assert d.deletions(mark) == []


def test_do_not_disrupt(plane, tmp_path):
    with Pools(plane, tmp_path, SMALL, limits=OUTDATED, head={"drain_timeout": "3s"}) as d:
        name, = deploy(plane, "held", 1, annotations={"karpenter.sh/do-not-disrupt": "true"})
        mark = plane.audit_mark()
        change(d, version="2")
        until(lambda: [e for e in d.events("node.undrained") if "do-not-disrupt" in str(e)], SOON,
              lambda: f"{d.nodes()}")
        settled(plane, d, name)
        until(lambda: "do-not-disrupt" in why(d, name), SOON, lambda: why(d, name))
        assert d.evictions(mark) == [] and ready(plane, "held")[0]["spec"]["nodeName"] == name


def test_a_node_may_say_no(plane, tmp_path):
    """An idle node that is annotated is not even touched."""
    with Pools(plane, tmp_path, SMALL, limits={"idle_timeout": "2s"}) as d:
        plane.client.post(pods_path(), manifests.pod("work", cpu="3"))
        until(lambda: d.ready("small") == 1, SOON)
        name, = nodes(plane)
        plane.client.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {
            "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}}})
        mark = plane.audit_mark()
        plane.client.delete(pods_path(name="work"))
        until(lambda: "scale-down-disabled" in why(d, name), SOON, lambda: why(d, name))
        d.stays(lambda: len(d.events("node.undrained")) == 1, 5, "asked again at once")
        assert plane.audit(mark, verb="patch", resource="nodes", user="davit") == []
        assert name in nodes(plane)


def test_kill_in_the_middle(plane, tmp_path):
    """SIGKILL while pods leave slowly: the next process goes on, and ends that node only."""
    types = {"small": dict(SMALL["small"], taints=[TAINT])}
    with Pools(plane, tmp_path, types, limits=OUTDATED) as d:
        name, = deploy(plane, "slow", 2, annotations={"davit-test/slow-end": "true"},
                       terminationGracePeriodSeconds=6,
                       tolerations=[{"key": TAINT["key"], "operator": "Exists", "effect": "NoSchedule"}])
        change(d, version="2")
        until(lambda: len(alive(plane, "slow")) == 0 or
              [p for p in pods(plane, app="slow") if p["metadata"].get("deletionTimestamp")], 30,
              lambda: f"{d.nodes()}")
        d.kill()
        assert tainted(plane, name)
        since = next(t["value"] for t in node(plane, name)["spec"]["taints"] if t["key"] == OURS)
        assert name in nodes(plane), "it was ended while pods leave"
        d.start()
        until(lambda: name not in nodes(plane), SOON, lambda: why(d, name))
        until(lambda: len(ready(plane, "slow")) == 2, SOON)
        d.stays(lambda: len(nodes(plane)) == 1, 2)
        assert int(since) > 0 and d.nodes_of.ever == 2


def test_kill_after_a_drain_was_taken_back(plane, tmp_path):
    """A taint that the ledger knows nothing of is taken off: the node is of use."""
    with Pools(plane, tmp_path, SMALL, limits=KEEP) as d:
        plane.client.post(pods_path(), manifests.pod("work", cpu="3"))
        until(lambda: d.ready("small") == 1, SOON)
        name, = nodes(plane)
        d.kill()
        plane.client.patch(f"/api/v1/nodes/{name}", {
            "metadata": {"annotations": {"davit.io/cordoned": "true"}},
            "spec": {"unschedulable": True, "taints": [{"key": OURS, "value": str(int(time.time())),
                                                        "effect": "NoSchedule"}]}})
        d.start()
        until(lambda: not tainted(plane, name), SOON, lambda: f"{d.nodes()}")
        settled(plane, d, name)


def test_without_the_right_to_drain(plane, tmp_path):
    """A rule that is missing is a reason, and nothing is ended."""
    rules = [r for r in pools.RULES if "delete" not in r["verbs"]]
    with Pools(plane, tmp_path, SMALL, limits=dict(idle_timeout="2s")) as d:
        plane.client.post(pods_path(), manifests.pod("work", cpu="3"))
        until(lambda: d.ready("small") == 1, SOON)
        name, = nodes(plane)
        pools.account(plane, rules)
        plane.client.delete(pods_path(name="work"))
        until(lambda: [e for e in d.events("node.undrained") if "nodes" in str(e)], SOON, lambda: f"{d.nodes()}")
        until(lambda: "no right to patch nodes" in why(d, name), SOON, lambda: why(d, name))
        assert name in nodes(plane)


# ---- many at once

MANY, PODS = 100, 3


def side_by_side(asked):
    """The most requests that were under way at once."""
    edges = sorted([(a["at"], 1) for a in asked] + [(a["until"], -1) for a in asked])
    return max(itertools.accumulate(e[1] for e in edges))


def test_many_nodes_are_drained_side_by_side(plane, tmp_path):
    """100 nodes with 3 pods each have to go, and a budget holds the pods of 10 of them."""
    kinds = {n: dict(SMALL["small"], labels={"pool": n}, max=MANY) for n in ("free", "held")}
    count = {"free": MANY - 10, "held": 10}
    with Pools(plane, tmp_path, kinds, limits=OUTDATED) as d:
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda p: plane.client.post(pods_path(), p), [
                manifests.pod(f"{n}-{i}", cpu="1300m", labels={"app": n}, nodeSelector={"pool": n},
                              annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"})
                for n, nodes in count.items() for i in range(PODS * nodes)]))
        until(lambda: all(len(ready(plane, n)) == PODS * count[n] for n in count), 150, every=0.5)
        until(lambda: all(d.ready(n) == count[n] for n in count), why=lambda: f"{d.machines()}")
        d.saw_all()
        plane.apply(manifests.pdb("hold", {"app": "held"}, PODS * 10))
        until(lambda: plane.client.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/hold")[
            "status"].get("currentHealthy") == PODS * 10)
        mark, began = plane.audit_mark(), time.monotonic()
        change(d, version="2")
        until(lambda: d.count() == {"held": 10}, 150, lambda: f"{d.count()}", every=0.2)
        took = time.monotonic() - began
        asked = len(plane.audit(mark, user="davit"))
        figure(f"{MANY - 10} nodes with {PODS} pods each drained and ended in {took:.1f} s, beside 10 that a budget "
               f"holds; {asked / took:.0f} requests a second to the API server")
        assert len(ready(plane, "held")) == PODS * 10
        assert [e for e in d.evictions(mark) if e["code"] == 429], "the budget was asked"
        assert len([e for e in d.evictions(mark) if e["code"] == 201]) == PODS * (MANY - 10)
        writes = plane.audit(mark, verb="patch", resource="nodes", user="davit") + d.evictions(mark)
        assert 2 < side_by_side(writes) <= 10
