"""A Ray head and the Kubernetes API server at once: Ray's nodes are pods on our machines."""
import datetime
import time

import pytest

import manifests
from lib.kube import SOON, pods_path, until
from lib.gcs import Gcs, PodNodes
from kwoknodes import add_node
from pools import PRODUCT, TYPES, Pools
from lib.raycluster import RayCluster
from lib.raylets import PodRaylets

CLUSTER = "ray-one"
T4 = {PRODUCT: "Tesla-T4"}
# Ray knows no taints, so that its demand buys no machine that has one
OPEN = {n: {k: v for k, v in t.items() if k != "taints"} for n, t in TYPES.items()}


def ray_pod(name, role="worker", cluster=CLUSTER, start="", **more):
    """As KubeRay makes it: labels, and the line that starts Ray."""
    p = manifests.pod(name, labels={"ray.io/cluster": cluster, "ray.io/node-type": role, "ray.io/group": "gpu"},
                      annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, **more)
    p["spec"]["containers"][0]["env"] = [{"name": "KUBERAY_GEN_RAY_START_CMD", "value": f"ray start  --block {start}"}]
    return p


def create(plane, pods):
    for p in pods:
        plane.client.post(pods_path(), p)


def running(plane, name):
    status, p = plane.api("GET", pods_path(name=name))
    return status == 200 and p["status"].get("phase") == "Running"


@pytest.fixture
def gcs(plane):
    """A head whose own pod lies on a node that is not ours."""
    add_node(plane, "head-node", cpu=4, memory="16Gi")
    create(plane, [ray_pod("ray-one-head", "head", cpu="1", nodeName="head-node")])
    with Gcs() as g:
        g.join("ray-one-head", "headgroup", {"CPU": 0}, head=True)
        yield g


# ---- one demand, seen twice

def test_a_pending_worker_pod_and_its_demand_are_one(plane, gcs, tmp_path):
    """8 tasks wait for a GPU, and 8 pods that will run them: 2 nodes of 4, not 4."""
    gcs.tasks([({"GPU": 1}, 8)])
    create(plane, [ray_pod(f"w-{i}", gpus=1, nodeSelector=T4) for i in range(8)])
    with Pools(plane, tmp_path, OPEN, ray=gcs.address) as d:
        until(lambda: all(running(plane, f"w-{i}") for i in range(8)), SOON)
        d.stays(lambda: d.machines() == {"t4": 2}, 3, lambda: f"bought twice: {d.machines()}")
        # what the pods will not hold is bought, before anybody made a pod for it
        gcs.tasks([({"GPU": 1}, 9)])
        until(lambda: d.machines() == {"t4": 3}, SOON, lambda: f"{d.machines()}")
        # they join and take the tasks: the same count
        with PodNodes(plane, gcs, cluster=CLUSTER):
            until(lambda: len(gcs.alive()) == 9)
            for name in gcs.alive() - {"ray-one-head"}:
                gcs.busy(name)
            gcs.tasks([({"GPU": 1}, 1)])
            d.stays(lambda: d.machines() == {"t4": 3}, 2, lambda: f"{d.machines()}")


def test_the_demand_came_first(plane, gcs, tmp_path):
    """The pool grows before the first pod is pending; the pods then need nothing more."""
    with Pools(plane, tmp_path, OPEN, ray=gcs.address, limits={"idle_timeout": "20s"}) as d:
        gcs.tasks([({"GPU": 1}, 4)])
        until(lambda: d.machines() == {"t4": 1}, SOON, lambda: f"{d.machines()}")
        until(lambda: d.ready("t4") == 1)
        create(plane, [ray_pod(f"w-{i}", gpus=1, nodeSelector=T4) for i in range(4)])
        until(lambda: all(running(plane, f"w-{i}") for i in range(4)), SOON)
        d.stays(lambda: d.machines() == {"t4": 1}, 3, lambda: f"bought twice: {d.machines()}")


def test_pods_of_another_cluster_are_demand_beside_it(plane, gcs, tmp_path):
    gcs.tasks([({"GPU": 1}, 4)])
    create(plane, [ray_pod(f"w-{i}", cluster="ray-two", gpus=1, nodeSelector=T4) for i in range(4)])
    with Pools(plane, tmp_path, OPEN, ray=gcs.address) as d:
        until(lambda: d.machines() == {"t4": 2}, SOON, lambda: f"{d.machines()}")
        d.stays(lambda: d.machines() == {"t4": 2}, 2)


# ---- draining

OUTDATED = {"idle_timeout": "1h", "end_outdated": True, "max_ends": "unlimited"}


def evictions(d, mark):
    return {e["name"]: datetime.datetime.fromisoformat(e["at"]).timestamp() for e in d.evictions(mark)}


def outdate(plane, d):
    d.saw_all()
    mark = plane.audit_mark()
    d.write(d.path.read_text().replace('"price": 2.0', '"price": 2.0, "labels": {"version": "2"}'))
    assert d.call("POST", "/v1/reload")[0] < 300
    return mark


def test_ray_is_drained_before_its_pod_is_evicted(plane, gcs, tmp_path):
    types = {"t4": {k: v for k, v in OPEN["t4"].items() if k != "labels"}}
    with PodNodes(plane, gcs, cluster=CLUSTER), Pools(plane, tmp_path, types, ray=gcs.address, limits=OUTDATED) as d:
        create(plane, [ray_pod("w-0", gpus=4, cpu="1"), manifests.pod(
            "other", cpu="3500m", annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"})])
        until(lambda: "w-0" in gcs.alive() and running(plane, "other"), SOON)
        mark = outdate(plane, d)
        until(lambda: not d.count().get("t4"), SOON, lambda: f"{d.nodes()}")
        assert gcs.drains[0] == ("w-0", True)
        assert min(evictions(d, mark).values()) > gcs.drained_at["w-0"], "a pod was evicted before Ray was asked"
        assert set(evictions(d, mark)) == {"w-0", "other"}


def test_what_runs_in_ray_is_waited_for(plane, gcs, tmp_path):
    types = {"t4": {k: v for k, v in OPEN["t4"].items() if k != "labels"}}
    with PodNodes(plane, gcs, cluster=CLUSTER), Pools(plane, tmp_path, types, ray=gcs.address, limits=OUTDATED) as d:
        create(plane, [ray_pod("w-0", gpus=4, cpu="1")])
        until(lambda: "w-0" in gcs.alive(), SOON)
        gcs.busy("w-0")
        until(lambda: [n for n in d.nodes() if n["type"] == "t4" and "default/w-0" in str(n)], why=f"{d.nodes()}")
        mark = outdate(plane, d)
        until(lambda: gcs.drains, SOON)
        d.stays(lambda: d.count().get("t4") and not d.evictions(mark), 4, "its work was cut off")
        gcs.ends("w-0")  # what was there is done
        until(lambda: not d.count().get("t4"), SOON, lambda: f"{d.nodes()}")
        assert gcs.drains == [("w-0", True)]


ACTOR = """
import ray, time
ray.init(log_to_driver=False)
@ray.remote(num_gpus=1)
class Worker:
    def where(self):
        return ray.get_runtime_context().get_node_id()
w = Worker.remote()
print("placed on", ray.get(w.where.remote(), timeout=90), flush=True)
time.sleep(600)
"""


def test_a_real_head_is_asked_first(plane, tmp_path):
    """A raylet in a pod on a machine that has to go: its actor is waited for as long as drain_timeout says."""
    types = {"t4": {k: v for k, v in OPEN["t4"].items() if k != "labels"}}
    seen = {}
    with RayCluster(cpus=1) as ray, PodRaylets(plane, ray, cluster=CLUSTER), Pools(
            plane, tmp_path, types, ray=ray.address, limits=OUTDATED, head={"drain_timeout": "4s"}) as d:
        create(plane, [ray_pod("w-0", gpus=1, cpu="1")])
        driver = ray.spawn(ACTOR)
        until(lambda: "placed on" in driver.log.read_text(), 60, every=0.2)
        mark = outdate(plane, d)

        def gone():
            for n in ray.nodes(dead=False):
                if n.status == "DRAINING":
                    seen.setdefault(n.instance_id, time.time())
            return not d.count().get("t4")
        until(gone, SOON, lambda: f"{d.nodes()}", every=0.1)
        evicted = evictions(d, mark)
        assert evicted["w-0"] - seen["w-0"] > 3, "its work had its time"


def test_the_node_of_the_ray_head_stays(plane, tmp_path):
    types = {"cpu": dict(TYPES["cpu"], price=2.0)}
    with Gcs() as gcs, Pools(plane, tmp_path, types, ray=gcs.address, limits=OUTDATED) as d:
        create(plane, [ray_pod("ray-one-head", "head", cpu="2")])
        until(lambda: running(plane, "ray-one-head"), SOON)
        gcs.join("ray-one-head", "headgroup", {"CPU": 2}, head=True)
        mark = outdate(plane, d)
        until(lambda: "the Ray head runs on it" in str(d.nodes()), SOON, lambda: f"{d.nodes()}")
        d.stays(lambda: d.count().get("cpu") == 1 and running(plane, "ray-one-head"), 2)
        assert not d.evictions(mark) and not gcs.drains
