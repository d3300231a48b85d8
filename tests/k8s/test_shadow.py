"""A shadow beside Cluster Autoscaler and Karpenter, whose nodes are made by hand here: it needs the right to read and nothing else, counts
what runs by pods, and leaves DaemonSets out."""
import manifests
from kwoknodes import add_node
from lib.daemon import Daemon
from lib.kube import SOON, pods_path, until
from pools import ACCOUNT, PRODUCT, TAINT, account, config, template

LABELS = {PRODUCT: "Tesla-T4"}
TYPES = {
    "t4": {"resources": {"CPU": 32, "memory": "120Gi", "GPU": 4}, "accelerator_type": "T4", "price": 2.0, "labels": LABELS,
           "taints": [TAINT], "max": 5, "pool": "t4-pool"},
    "small": {"resources": {"CPU": 8, "memory": "30Gi", "GPU": 1}, "accelerator_type": "T4", "price": 0.6, "labels": LABELS,
              "taints": [TAINT], "max": 5},
}
READ = [{"apiGroups": ["", "apps", "scheduling.x-k8s.io"], "verbs": ["get", "list", "watch"],
         "resources": ["pods", "nodes", "namespaces", "daemonsets", "podgroups"]}]


def agents():
    one = manifests.pod("agent", cpu="500m", labels={"app": "agent"}, tolerations=[{"operator": "Exists"}])
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "agent"}},
                     "template": {"metadata": {"labels": {"app": "agent"}}, "spec": one["spec"]}}}


def bound(plane):
    return [p["metadata"]["name"] for p in plane.client.get(pods_path())["items"] if p["spec"].get("nodeName")]


def test_beside_another_autoscaler(plane, tmp_path):
    mark = plane.audit_mark()
    plane.apply(agents())
    types = {n: {**t, "boot": "2s"} for n, t in TYPES.items()}
    text = config(account(plane, rules=READ), types, state="kubernetes", limits={"idle_timeout": "3s"})
    with Daemon(tmp_path, text, args=["--shadow"]) as d:
        def sides():
            r = d.get("/v1/shadow")[1]
            return [(r[s]["nodes"], r[s]["cost_per_hour"], r[s]["waiting_bundles"]) for s in ("present", "davit")]

        for name in ("a", "b"):
            plane.client.post(pods_path(), manifests.pod(name, gpus=1, cpu="2", nodeSelector=LABELS))
        until(lambda: sides() == [(0, 0, 2), (2, 1.2, 0)], SOON, lambda: f"they wait: {sides()}\n{d.text()[-3000:]}")
        # the other autoscaler brings a node of four
        add_node(plane, "ca-1", template(TYPES["t4"]))
        plane.client.patch("/api/v1/nodes/ca-1", {"metadata": {"labels": {"cloud.google.com/gke-nodepool": "t4-pool"}}})
        until(lambda: {"a", "b"} <= set(bound(plane)) and len(bound(plane)) == 3, SOON, lambda: f"bound: {bound(plane)}")
        until(lambda: sides() == [(1, 2, 0), (2, 1.2, 0)], SOON, lambda: f"they run: {sides()}")
        d.stays(lambda: sides() == [(1, 2, 0), (2, 1.2, 0)], 4)
        # a pod ends: its machine goes; what the DaemonSet runs holds none
        plane.client.delete(pods_path(name="a"))
        until(lambda: sides() == [(1, 2, 0), (1, 0.6, 0)], SOON, lambda: f"one ended: {sides()}")
        plane.client.delete(pods_path(name="b"))
        until(lambda: sides() == [(1, 2, 0), (0, 0, 0)], SOON, lambda: f"both ended: {sides()}")
        assert not d.events("drain") and len(d.events("would.end")) == 2
    asked = plane.audit(mark, user=ACCOUNT)
    assert asked and {e["verb"] for e in asked} <= {"get", "list", "watch"}, asked
    assert (tmp_path / "davit.db.shadow").exists()


KARPENTER = {"karpenter.sh/nodepool": "t4-pool", "karpenter.sh/capacity-type": "on-demand", "karpenter.sh/registered": "true"}


def test_beside_karpenter(plane, tmp_path):
    """Its nodes as it makes and ends them: with its NodePool's label and its taint until they are registered; tainted as disrupted, then deleted."""
    mark = plane.audit_mark()
    types = {n: {**t, "boot": "1s"} for n, t in TYPES.items()}
    text = config(account(plane, rules=READ), types, state="kubernetes", limits={"idle_timeout": "2s"})
    with Daemon(tmp_path, text, args=["--shadow"]) as d:
        def sides():
            r = d.get("/v1/shadow")[1]
            return [(r[s]["nodes"], r[s]["cost_per_hour"], r[s]["waiting_bundles"]) for s in ("present", "davit")]

        plane.client.post(pods_path(), manifests.pod("a", gpus=1, cpu="2", nodeSelector=LABELS))
        until(lambda: sides() == [(0, 0, 1), (1, 0.6, 0)], SOON, lambda: f"it waits: {sides()}\n{d.text()[-3000:]}")
        made = template(TYPES["t4"])
        made.labels = {**made.labels, **KARPENTER}
        made.taints = [*made.taints, {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}]
        add_node(plane, "karpenter-1", made)
        until(lambda: sides()[0] == (1, 2, 1), SOON, lambda: f"it is not registered: {sides()}")
        plane.client.patch("/api/v1/nodes/karpenter-1", {"spec": {"taints": [TAINT]}})
        until(lambda: sides() == [(1, 2, 0), (1, 0.6, 0)], SOON, lambda: f"it runs: {sides()}")
        plane.client.delete(pods_path(name="a"))
        plane.client.patch("/api/v1/nodes/karpenter-1", {"spec": {"taints": [TAINT, {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}})
        until(lambda: sides() == [(1, 2, 0), (0, 0, 0)], SOON, lambda: f"it ended: {sides()}")
        plane.client.delete("/api/v1/nodes/karpenter-1")
        until(lambda: sides() == [(0, 0, 0), (0, 0, 0)], SOON, lambda: f"Karpenter ended its node: {sides()}")
        assert len(d.events("would.launch")) == len(d.events("would.end")) == 1
    assert {e["verb"] for e in plane.audit(mark, user=ACCOUNT)} <= {"get", "list", "watch"}
