"""Nodes that their cloud takes back soon, as agents write it on the Node object."""
import manifests
from lib.gcs import PodNodes, pb
from lib.kube import SOON, pods_path, until
from pools import Pools
from test_both import CLUSTER, OPEN, create, gcs, ray_pod, running  # noqa: F401 (gcs is a fixture)
from test_drain import KEEP, SMALL, alive, deployments_first, node, ready  # noqa: F401 (a fixture)

SPOT = {"key": "aws-node-termination-handler/spot-itn", "value": "x", "effect": "NoSchedule"}


def notice(plane, name, *taints, conditions=()):
    n = node(plane, name)
    plane.client.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": n["spec"].get("taints", []) + list(taints)}})
    if conditions:
        plane.client.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": n["status"]["conditions"] + list(conditions)}})


def test_a_node_that_is_taken_back_is_replaced_at_once(plane, tmp_path):
    """Its replacement is bought before its first pod is evicted, and it ends when the last one has left."""
    with Pools(plane, tmp_path, SMALL, limits=KEEP) as d:
        plane.apply(manifests.deployment("web", 3, manifests.pod("web", cpu="1")))
        until(lambda: len(ready(plane, "web")) == 3, SOON)
        first, = d.joined("small")
        mark = plane.audit_mark()
        notice(plane, first["ray_id"], SPOT)
        until(lambda: d.events("node.leaving"), SOON, lambda: d.text()[-2000:])
        launched = until(lambda: [e for e in d.events("launch") if e["id"] > d.events("node.leaving")[0]["id"]], SOON)[0]
        until(lambda: not node(plane, first["ray_id"]), SOON, lambda: f"{d.nodes()}")
        until(lambda: len(ready(plane, "web")) == 3, SOON)
        assert launched["at"] <= d.evictions(mark)[0]["at"], "its pods had no other place yet"
        assert [e["reason"] for e in d.events("node.draining")] == ["taken_back"]
        until(lambda: len(d.nodes("small")) == 1 and d.machines() == {"small": 1}, SOON, lambda: f"{d.nodes()}")


def test_a_notice_that_is_taken_off_keeps_the_node(plane, tmp_path):
    """One that must stay for a while anyhow: its pod may not be evicted."""
    with Pools(plane, tmp_path, SMALL, limits=KEEP) as d:
        plane.apply(manifests.pdb("all", {"app": "web"}, 1))
        plane.apply(manifests.deployment("web", 1, manifests.pod("web", cpu="3")))
        until(lambda: len(ready(plane, "web")) == 1, SOON)
        first, = d.joined("small")
        notice(plane, first["ray_id"], conditions=[{"type": "VMEventScheduled", "status": "True", "reason": "VMEventScheduled",
                                                    "message": "Preempt Scheduled"}])
        until(lambda: d.events("node.leaving"), SOON)
        conditions = [c for c in node(plane, first["ray_id"])["status"]["conditions"] if c["type"] != "VMEventScheduled"]
        plane.client.patch(f"/api/v1/nodes/{first['ray_id']}/status", {"status": {"conditions": conditions + [
            {"type": "VMEventScheduled", "status": "False", "reason": "NoVMEventScheduled", "message": ""}]}})
        until(lambda: d.events("node.stays"), SOON)
        until(lambda: not node(plane, first["ray_id"])["spec"].get("unschedulable"), SOON)
        until(lambda: first["id"] in {n["id"] for n in d.nodes("small", "ready")}, SOON)
        assert len(alive(plane, "web")) == 1


def test_ray_hears_of_it_with_its_deadline(plane, gcs, tmp_path):  # noqa: F811
    """Ray's node in a pod there is drained as PREEMPTION, until the cloud takes the machine."""
    types = {"t4": {k: v for k, v in OPEN["t4"].items() if k != "labels"}}
    with PodNodes(plane, gcs, cluster=CLUSTER), Pools(plane, tmp_path, types, ray=gcs.address, limits=KEEP) as d:
        create(plane, [ray_pod("w-0", gpus=4, cpu="1")])
        until(lambda: "w-0" in gcs.alive(), SOON)
        gcs.busy("w-0")
        first, = d.joined("t4")
        mark = plane.audit_mark()
        notice(plane, first["ray_id"], dict(SPOT, key="cloud.google.com/impending-node-termination"))
        at, r = until(lambda: gcs.asked, SOON)[0]
        assert r.reason == pb.DRAIN_NODE_REASON_PREEMPTION
        assert 20 < r.deadline_timestamp_ms / 1000 - at <= 31
        d.stays(lambda: not d.evictions(mark), 2, "its work was cut off")
        gcs.ends("w-0")
        until(lambda: not node(plane, first["ray_id"]), SOON, lambda: f"{d.nodes()}")
