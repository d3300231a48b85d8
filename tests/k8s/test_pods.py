"""Pending pods as demand: node pools of the `sim` provider grow and shrink under a real scheduler."""
import concurrent.futures
import json
import statistics
import time

import pytest

import manifests
from lib import crowded
from lib.kube import SOON, pods_path, until
from figures import figure
from kwoknodes import add_node
from pools import PRODUCT, TYPES, Pools, PodWatch

T4, A100 = {PRODUCT: "Tesla-T4"}, {PRODUCT: "NVIDIA-A100-SXM4-80GB"}
AFFINITY = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
    {"matchExpressions": [{"key": PRODUCT, "operator": "In", "values": ["NVIDIA-A100-SXM4-80GB", "H100"]}]}]}}}
TOLERATES = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def create(plane, pods):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda p: plane.client.post(pods_path(), p), pods))


def pods(plane, **query):
    return plane.client.get(pods_path(**query))["items"]


def unbound(plane):
    return [p["metadata"]["name"] for p in pods(plane) if not p["spec"].get("nodeName")]


def running(plane, name):
    status, reply = plane.api("GET", pods_path(name=name))
    return status == 200 and reply["status"].get("phase") == "Running"


def daemonset(name, cpu):
    one = manifests.pod(name, cpu=cpu, labels={"app": name}, tolerations=[{"operator": "Exists"}])
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": name}},
                     "template": {"metadata": {"labels": {"app": name}}, "spec": one["spec"]}}}


# ---- 2. 400 pods, 6 shapes, 3 pools

def six_shapes():
    """In each pool every pod takes the same share of what binds, so that the
    scheduler's spreading strands nothing and the least number of nodes is known."""
    got = [manifests.pod(f"a-{i}", gpus=1, cpu="2", nodeSelector=T4) for i in range(100)]
    got += [manifests.pod(f"b-{i}", gpus=1, cpu="4", memory="8Gi", nodeSelector=T4, tolerations=TOLERATES)
            for i in range(60)]
    got += [manifests.pod(f"c-{i}", gpus=8, cpu="32", nodeSelector=A100) for i in range(10)]
    got += [manifests.pod(f"d-{i}", gpus=8, cpu="8", memory="200Gi", affinity=AFFINITY) for i in range(8)]
    got += [manifests.pod(f"e-{i}", cpu="3", memory="1Gi") for i in range(100)]
    got += [manifests.pod(f"f-{i}", cpu="3", memory="4Gi", initContainers=[
        {"name": "init", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "6Gi"}}}]) for i in range(122)]
    return got


# 160 / 4 GPUs; 18 / 8 GPUs; 222 pods of 3 CPUs on nodes of 16, 0.5 of them the DaemonSet's: 5 each
LEAST = {"t4": 40, "a100": 18, "cpu": 45}


def test_400_pods_of_6_shapes_on_3_pools(plane, tmp_path):
    plane.apply(daemonset("agent", "500m"))
    with Pools(plane, tmp_path, delays={"t4": 1.0, "a100": 0.5}) as d:
        began = time.monotonic()
        create(plane, six_shapes())
        created = time.monotonic() - began
        until(lambda: not [n for n in unbound(plane) if not n.startswith("agent")], 240,
              lambda: f"{len(unbound(plane))} pods unbound, nodes {d.count()}", every=0.3)
        took = time.monotonic() - began
        until(lambda: len(d.machines()) == 3)
        figure(f"400 pods created in {created:.1f} s, all bound after {took:.1f} s on {d.count()}")
        d.stays(lambda: d.count() == LEAST, 3, lambda: f"nodes {d.count()}, least is {LEAST}")
        assert d.nodes_of.ever == sum(LEAST.values()), "a node was bought that nobody needed"
        # most pods end: the pools shrink to what is still used
        keep = {p["spec"]["nodeName"] for p in pods(plane) if p["metadata"]["name"] in ("a-0", "c-0", "e-0")}
        for p in pods(plane):
            name = p["metadata"]["name"]
            if not name.startswith("agent") and name not in ("a-0", "c-0", "e-0"):
                plane.client.delete(pods_path(name=name))
        began = time.monotonic()
        until(lambda: d.count() == {"t4": 1, "a100": 1, "cpu": 1}, 150, lambda: f"shrinks; nodes {d.count()}", every=0.3)
        figure(f"shrunk {time.monotonic() - began:.1f} s after the pods ended (idle_timeout 3 s)")
        assert {n["metadata"]["name"] for n in plane.client.get("/api/v1/nodes")["items"]} == keep
        assert all(running(plane, n) for n in ("a-0", "c-0", "e-0"))
        assert not d.deletions(), "it never deletes a pod"


def test_pending_pod_to_launch_within_100_ms(plane, tmp_path):
    with Pools(plane, tmp_path) as d, PodWatch(plane) as seen:
        took = []
        for i in range(7):
            create(plane, [manifests.pod(f"p-{i}", gpus=4, nodeSelector=T4)])
            until(lambda: d.machines()["t4"] == i + 1, every=0.002)
            launched = max(m["created_ms"] for m in json.loads(d.sim.read_text())["machines"])
            at = until(lambda: seen.unschedulable.get(f"p-{i}"))
            took.append(launched - at * 1000)  # below 0: it was faster than we
            until(lambda: running(plane, f"p-{i}"), SOON)
        figure(f"unschedulable to launch call: median {statistics.median(took):.0f} ms, all {[round(t) for t in took]}")
        assert statistics.median(took) < 100 * crowded()


def test_late_gpus_buy_no_second_node(plane, tmp_path):
    with Pools(plane, tmp_path, delays={"t4": 4.0}) as d:
        create(plane, [manifests.pod("p", gpus=1, nodeSelector=T4)])
        until(lambda: d.count() == {"t4": 1})
        d.stays(lambda: d.machines() == {"t4": 1}, 3.5, "a second node while the first has no GPU yet")
        until(lambda: running(plane, "p"), SOON)
        d.stays(lambda: d.machines() == {"t4": 1}, 2)


def test_daemonsets_are_taken_off_a_new_nodes_room(plane, tmp_path):
    plane.apply(daemonset("agent", "1"))
    types = {"small": dict(TYPES["cpu"], price=0.5), "large": dict(TYPES["cpu"], price=1.5, resources={
        "CPU": 32, "memory": "128Gi"})}
    with Pools(plane, tmp_path, types) as d:
        create(plane, [manifests.pod("p", cpu="15500m")])
        until(lambda: running(plane, "p"), SOON)
        assert d.count() == {"large": 1}, "on the small one the DaemonSet's pod leaves no room"


def test_pods_that_fit_buy_nothing(plane, tmp_path):
    add_node(plane, "there", cpu=8, memory="32Gi")
    with Pools(plane, tmp_path) as d:
        create(plane, [manifests.pod(f"p-{i}", cpu="1") for i in range(7)])
        until(lambda: all(running(plane, f"p-{i}") for i in range(7)))
        d.stays(lambda: not d.machines(), 2, "bought a node for pods that had a place")
        assert plane.api("GET", "/api/v1/nodes/there")[0] == 200


STARTS = {"key": "node.cilium.io/agent-not-ready", "effect": "NoSchedule"}


@pytest.mark.parametrize("taint", ["node.kubernetes.io/not-ready", STARTS["key"]])
def test_a_node_that_comes_up_is_room_while_it_is_tainted(plane, tmp_path, taint):
    """Its taint goes a moment after it is Ready; here the moment is held open."""
    controllers = plane.server_named("kube-controller-manager")
    with Pools(plane, tmp_path) as d:
        with controllers.paused():  # it takes not-ready off; nobody takes off what an agent put there
            add_node(plane, "comes", cpu=8, memory="32Gi", taints=[STARTS] if taint == STARTS["key"] else [])
            create(plane, [manifests.pod(f"p-{i}", cpu="1") for i in range(3)])
            until(lambda: all("untolerated taint" in str(p["status"].get("conditions")) for p in pods(plane)), SOON,
                  "the scheduler minds it")
            d.stays(lambda: not d.machines(), 3, "bought a node for pods that a node comes up for")
        if taint == STARTS["key"]:
            plane.client.patch("/api/v1/nodes/comes", [{"op": "replace", "path": "/spec/taints", "value": []}])
        until(lambda: all(running(plane, f"p-{i}") for i in range(3)), SOON)
        assert not d.machines()


def test_a_pod_no_pool_can_hold_is_told_not_bought_for(plane, tmp_path):
    with Pools(plane, tmp_path) as d:
        create(plane, [manifests.pod("big", gpus=16, nodeSelector=T4),
                       manifests.pod("other", gpus=1, nodeSelector={PRODUCT: "B200"}),
                       manifests.pod("gates", gpus=1, nodeSelector=T4, schedulingGates=[{"name": "queue/admission"}])])
        d.stays(lambda: not d.machines(), 3)
        until(lambda: {"big", "other"} <= {e["involvedObject"]["name"] for e in plane.client.get("/api/v1/namespaces/default/events")["items"]
                                           if e.get("reason") == "NotTriggerScaleUp"}, 10, "NotTriggerScaleUp")


def test_events_on_pods(plane, tmp_path):
    with Pools(plane, tmp_path):
        create(plane, [manifests.pod("p", gpus=1, nodeSelector=T4)])
        until(lambda: running(plane, "p"), SOON)
        event = until(lambda: [e for e in plane.client.get("/api/v1/namespaces/default/events")["items"]
                               if e.get("reason") == "TriggeredScaleUp" and e["involvedObject"]["name"] == "p"], 10)
        assert len(event) == 1 and "t4" in event[0]["message"]


def test_topology_spread_and_hosts_apart(plane, tmp_path):
    spread = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": {"app": "s"}}}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}}]}}
    with Pools(plane, tmp_path) as d:
        create(plane, [manifests.pod(f"x-{i}", gpus=1, labels={"app": "x"}, nodeSelector=T4, affinity=apart)
                       for i in range(3)])
        until(lambda: all(running(plane, f"x-{i}") for i in range(3)), SOON)
        assert d.count() == {"t4": 3}
        create(plane, [manifests.pod(f"s-{i}", gpus=1, labels={"app": "s"}, nodeSelector=T4,
                                     topologySpreadConstraints=spread) for i in range(6)])
        until(lambda: all(running(plane, f"s-{i}") for i in range(6)), SOON)
        d.stays(lambda: d.count() == {"t4": 3}, 2, lambda: f"{d.count()}: 9 pods fit the 12 GPUs that are there")


# ---- draining

def on(plane, name):
    return plane.client.get(pods_path(name=name))["spec"].get("nodeName")


def owned(plane, app):
    return [p for p in pods(plane, labelSelector=f"app={app}") if "deletionTimestamp" not in p["metadata"]]


CPU = {"cpu": TYPES["cpu"]}
TIDY = {"idle_timeout": "2s", "consolidate": {"mode": "on", "min_saving": 0, "older_than": "1s"}}


def two_half_used_nodes(plane, d, **template):
    """A Deployment whose two pods sit on a node each, and would fit one."""
    annotations = template.pop("annotations", None)
    one = manifests.pod("w", cpu="6", labels={"app": "w"}, annotations=annotations, **template)
    filler = [manifests.pod(f"filler-{i}", cpu="9", labels={"app": "f"}, affinity={
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "f"}}}]}})
        for i in range(2)]
    create(plane, filler)
    until(lambda: all(running(plane, f"filler-{i}") for i in range(2)), SOON)
    plane.apply(manifests.deployment("w", 2, one))
    until(lambda: len(owned(plane, "w")) == 2 and all(p["status"].get("phase") == "Running" for p in owned(plane, "w")),
          30)
    assert len({p["spec"]["nodeName"] for p in owned(plane, "w")}) == 2
    mark = plane.audit_mark()
    for p in filler:
        plane.client.delete(pods_path(name=p["metadata"]["name"]))
    return mark


def test_drain_cordons_evicts_and_ends(plane, tmp_path):
    with Pools(plane, tmp_path, CPU, limits=TIDY) as d:
        mark = two_half_used_nodes(plane, d)
        until(lambda: d.count() == {"cpu": 1}, SOON, lambda: f"two half used nodes become one; {d.count()}")
        until(lambda: len(owned(plane, "w")) == 2 and len({p["spec"].get("nodeName") for p in owned(plane, "w")}) == 1)
        assert len(d.evictions(mark)) >= 1 and not d.deletions(mark)
        writes = plane.audit(mark, resource="nodes", user="davit")
        assert any("unschedulable" in json.dumps(w["body"]) for w in writes), "cordoned"
        assert any("taints" in json.dumps(w["body"]) for w in writes), "tainted"
        node, = plane.client.get("/api/v1/nodes")["items"]
        assert not node["spec"].get("unschedulable"), "the node that stays is not cordoned"


def test_drain_waits_for_the_grace_period(plane, tmp_path):
    with Pools(plane, tmp_path, CPU, limits=TIDY) as d:
        mark = two_half_used_nodes(plane, d, annotations={"davit-test/slow-end": ""}, terminationGracePeriodSeconds=5)
        evicted = until(lambda: d.evictions(mark), SOON)
        until(lambda: d.count() == {"cpu": 1}, SOON)
        name = evicted[0]["name"]
        assert plane.api("GET", pods_path(name=name))[0] == 404
        ended = [e for e in plane.audit(mark, resource="nodes") if e["verb"] == "delete"]
        assert not ended or ended[0]["at"] > evicted[0]["at"]


@pytest.mark.parametrize("annotations", [
    {"karpenter.sh/do-not-disrupt": "true"}, {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}],
    ids=["do-not-disrupt", "safe-to-evict"])
def test_annotated_pods_are_not_evicted(plane, tmp_path, annotations):
    with Pools(plane, tmp_path, CPU, limits=TIDY) as d:
        mark = two_half_used_nodes(plane, d, annotations=annotations)
        d.stays(lambda: d.count() == {"cpu": 2}, 8, "a node with a protected pod was ended")
        assert not d.evictions(mark)
        d.until(lambda: list(annotations)[0].split("/")[1] in json.dumps(d.get("/v1/nodes")[1]), why="the reason is told")


def test_a_budget_refuses_and_is_a_reason_not_a_loop(plane, tmp_path):
    with Pools(plane, tmp_path, CPU, limits=TIDY) as d:
        plane.apply(manifests.pdb("keep-all", {"app": "w"}, 2))
        mark = two_half_used_nodes(plane, d)
        d.stays(lambda: d.count() == {"cpu": 2} and len(owned(plane, "w")) == 2, 12, "a budget was passed over")
        assert len(d.evictions(mark)) <= 6, "evictions that may not happen, again and again"
        assert all(e["code"] == 429 for e in d.evictions(mark))
        assert "keep-all" in json.dumps(d.get("/v1/nodes")[1]), "the budget's name is the reason"
        left = [n for n in plane.client.get("/api/v1/nodes")["items"] if n["spec"].get("unschedulable")]
        assert len(left) <= 1
        plane.client.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep-all")
        until(lambda: d.count() == {"cpu": 1}, 90, "once the budget allows it, the node goes")


def test_busy_nodes_stay_whatever_happens_to_the_plane(plane, tmp_path):
    with Pools(plane, tmp_path, CPU) as d:
        create(plane, [manifests.pod(f"p-{i}", cpu="10") for i in range(3)])
        until(lambda: all(running(plane, f"p-{i}") for i in range(3)), SOON)
        plane.apiserver.stop(hard=True)
        d.stays(lambda: d.machines() == {"cpu": 3}, 6, "machines ended because nodes could not be read")
        plane.compact()
        plane.apiserver.start()
        plane.recover()
        d.stays(lambda: d.machines() == {"cpu": 3}, 4)
        plane.apiserver.pause()
        try:
            d.stays(lambda: d.machines() == {"cpu": 3}, 8)
        finally:
            plane.apiserver.resume()
            plane.recover()
        create(plane, [manifests.pod("more", cpu="10")])
        until(lambda: running(plane, "more"), SOON, "it resumes")
        assert d.machines() == {"cpu": 4}


def test_a_taint_known_from_the_offer_only(plane, tmp_path):
    """The configuration is silent about the pool's taint and no node shows it: nothing is bought for who does not
    tolerate it.  Without that each node joins, does not help, and the next one is bought, without end."""
    taint = {"key": "team", "value": "ml", "effect": "NoSchedule"}
    types = {"cpu": dict(TYPES["cpu"], options={"boot": "400ms", "taints": ["team=ml:NoSchedule"]})}
    with Pools(plane, tmp_path, types) as d:
        d.nodes_of.templates["cpu"].taints = [taint]
        until(lambda: d.events("type.differs"), SOON)
        create(plane, [manifests.pod("stranger", cpu="1")])
        d.stays(lambda: d.machines() == {}, 3)
        create(plane, [manifests.pod("friend", cpu="1", tolerations=[{"key": "team", "operator": "Exists"}])])
        until(lambda: running(plane, "friend"), SOON)
        d.stays(lambda: d.machines() == {"cpu": 1}, 2)
        assert not running(plane, "stranger")


def test_labels_known_from_the_offer_only(plane, tmp_path):
    """The configuration is silent about the pool's labels and no node shows them: who asks for one is served, and for who asks
    for another architecture nothing is bought.  A label that only a first node will tell is said to be unknown."""
    pool, image = "kubernetes.azure.com/agentpool", "kubernetes.azure.com/node-image-version"
    told = {"pool.example.com/name": "ml", "kubernetes.io/arch": "arm64", pool: "ml"}
    types = {"cpu": dict(TYPES["cpu"], options={"boot": "400ms", "labels": told})}
    with Pools(plane, tmp_path, types) as d:
        d.nodes_of.templates["cpu"].labels = told
        create(plane, [manifests.pod("stranger", cpu="1", nodeSelector={"kubernetes.io/arch": "amd64"}),
                       manifests.pod("early", cpu="1", nodeSelector={image: "1"})])
        until(lambda: f"{image} of cpu is unknown until a node of the type lives" in json.dumps(d.get("/v1/why/kubernetes")[1]), SOON)
        assert f"The label {image} of a new node is unknown until a node of the type lives." in d.cli("why", "cpu")
        until(lambda: any(e.get("reason") == "NotTriggerScaleUp" for e in plane.client.get("/api/v1/namespaces/default/events")["items"]), SOON)
        d.stays(lambda: d.machines() == {}, 3)
        create(plane, [manifests.pod("friend", cpu="1", nodeSelector={"pool.example.com/name": "ml"})])
        until(lambda: running(plane, "friend"), SOON)
        d.stays(lambda: d.machines() == {"cpu": 1}, 2)
        assert not running(plane, "stranger")


def test_what_did_not_help_is_not_bought_again(plane, tmp_path):
    """A taint that nobody told us of: the node joins and does not help.  One is bought, and it is said why; other demand
    of the same type is served all the same."""
    taint = {"key": "team", "value": "ml", "effect": "NoSchedule"}
    with Pools(plane, tmp_path, {"cpu": dict(TYPES["cpu"], options={"boot": "400ms"})}, limits={"idle_timeout": "4s"}) as d:
        d.nodes_of.templates["cpu"].taints = [taint]
        create(plane, [manifests.pod("stranger", cpu="1")])
        until(lambda: d.events("demand.unhelped"), SOON)
        told = d.events("demand.unhelped")[0]["text"]
        assert "and it still waits" in told and "taint" in told and "no other cpu is bought for it for 600 s" in told, told
        until(lambda: d.machines() == {}, SOON)     # it was idle
        d.stays(lambda: d.machines() == {}, 6)
        assert len(d.events("launch")) == 1 and len(d.events("demand.unhelped")) == 1
        why = json.dumps(d.get("/v1/status")[1])
        assert "taint_not_tolerated" in why, why
        create(plane, [manifests.pod("friend", cpu="1", tolerations=[{"key": "team", "operator": "Exists"}])])
        until(lambda: running(plane, "friend"), SOON)
        assert not running(plane, "stranger")


def test_what_is_too_small_is_not_bought_again(plane, tmp_path):
    """The type promises more than its nodes have: one is bought for a large pod; a small one is served."""
    with Pools(plane, tmp_path, {"cpu": dict(TYPES["cpu"], options={"boot": "400ms"})}) as d:
        d.nodes_of.templates["cpu"].cpu = 4
        create(plane, [manifests.pod("large", cpu="8")])
        until(lambda: d.events("demand.unhelped"), SOON)
        assert "too little CPU" in d.events("demand.unhelped")[0]["text"]
        until(lambda: d.machines() == {}, SOON)
        d.stays(lambda: d.machines() == {}, 5)
        assert len(d.events("launch")) == 1
        assert "did_not_help" in json.dumps(d.status())
        create(plane, [manifests.pod("small", cpu="1")])
        until(lambda: running(plane, "small"), SOON)
