"""Davit in the place of KubeRay's autoscaler, on a real API server.

The operator is the stand-in of kuberay.py; the sidecar runs as the head pod's
container says, with that pod's service account and nothing more.
"""
import re
import time
import urllib.request

import pytest

import manifests
from lib import PATIENCE
from lib.kube import SOON, clusters_path, pods_path, until
from figures import figure
from lib.gcs import Gcs, PodNodes
from kwoknodes import add_node
from lib.raycluster import RayCluster
from lib.raylets import PodRaylets
from sidecar import Sidecar, worker_specs

CLUSTER = "raycluster-gpu"
MACHINE = {"node.kubernetes.io/instance-type": "p2.xlarge"}

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


def placed(driver):
    """The Ray node that the driver's actor runs on, once it does."""
    found = re.search(r"^placed on (\w+)$", driver.log.read_text(), re.M)
    return found and found[1]


def workers(plane, **labels):
    selector = ",".join(["ray.io/node-type=worker", *(f"{k}={v}" for k, v in labels.items())])
    return plane.client.get(pods_path(labelSelector=selector))["items"]


def names(plane):
    return {p["metadata"]["name"] for p in workers(plane)}


def group(plane, name="gpu-group"):
    return worker_specs(plane, CLUSTER)[name]


def doomed(plane, name="gpu-group"):
    return group(plane, name).get("scaleStrategy", {}).get("workersToDelete") or []


@pytest.fixture
def guide(plane, operator):
    """apply(idle, **fields of the group): the GPU guide's cluster, its head pod there; nodes for two workers."""
    def apply(idle=4, nodes=2, groups=None, **fields):
        add_node(plane, "head-node", cpu=16, memory="64Gi")
        for i in range(nodes):
            add_node(plane, f"gpu-{i}", cpu=4, memory="61Gi", gpus=1, labels=MACHINE,
                     taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}])
        cluster = manifests.gpu_guide(**fields)
        if groups:
            cluster["spec"]["workerGroupSpecs"] = groups
        cluster["spec"]["autoscalerOptions"]["idleTimeoutSeconds"] = idle
        plane.apply(cluster)
        until(lambda: plane.api("GET", pods_path(name=f"{CLUSTER}-head"))[0] == 200, why="the head pod")
        return cluster
    return apply


@pytest.fixture
def gcs(plane):
    """A played head at the port where a sidecar looks, with nodes for the pods that run."""
    with Gcs(6379) as g, PodNodes(plane, g):
        g.join("head", "headgroup", {"CPU": 0}, head=True)
        yield g


# ---- 1. the GPU guide

def test_gpu_guide_from_a_real_head(plane, operator, guide, tmp_path):
    """Two actors -> two workers -> one ends -> exactly its pod goes after the timeout, then the other."""
    guide(idle=5)
    with RayCluster(port=6379, cpus=1) as ray, PodRaylets(plane, ray), Sidecar(plane, CLUSTER, tmp_path) as s:
        s.stays(lambda: not names(plane) and s.lives(), 3, "a worker without demand")
        assert not s.patches()
        one, two = ray.spawn(ACTOR), ray.spawn(ACTOR)
        until(lambda: len(names(plane)) == 2, SOON, "two workers")
        until(lambda: placed(one) and placed(two), 90, "both actors run")
        before = names(plane)
        s.stays(lambda: names(plane) == before, 7, "a busy worker was ended")  # longer than the timeout
        by_node = {ray.node(n).id: n for n in before}
        busy = by_node[placed(two)]
        idle, = before - {busy}
        ended = time.monotonic()
        ray.end(one)
        until(lambda: names(plane) == {busy}, SOON, "the idle worker is ended")
        assert time.monotonic() - ended > 4, "ended before its timeout"
        down = [p for p in s.patches() if "workersToDelete" in str(p["body"]) and idle in str(p["body"])]
        assert down and "replicas" in str(down[0]["body"]), "replicas and workersToDelete in one patch"
        until(lambda: not doomed(plane), SOON, "the finished name is taken out")
        assert group(plane)["replicas"] == 1
        s.stays(lambda: names(plane) == {busy}, 3)
        ray.end(two)
        until(lambda: not names(plane), SOON, "the last worker is ended")
        until(lambda: operator.deleted == 2, SOON, "exactly these pods, each once")
        assert operator.created == 2
        assert not [p for p in s.patches() if p["code"] not in (200, 409)]


def test_min_replicas_without_demand(plane, operator, guide, gcs, tmp_path):
    guide(idle=1, minReplicas=1, replicas=2)
    with Sidecar(plane, CLUSTER, tmp_path) as s:
        until(lambda: len(gcs.alive()) == 3, why="both workers at the head")
        until(lambda: len(names(plane)) == 1, SOON, "shrunk to minReplicas")
        s.stays(lambda: len(names(plane)) == 1, 4, "below minReplicas")


def test_max_replicas_is_not_passed(plane, operator, guide, gcs, tmp_path):
    guide()
    with Sidecar(plane, CLUSTER, tmp_path) as s:
        gcs.tasks([({"GPU": 1}, 10)])
        until(lambda: group(plane)["replicas"] == 2)
        s.stays(lambda: group(plane)["replicas"] == 2, 2)


def test_ray_status_is_fed(plane, operator, guide, gcs, tmp_path):
    guide()
    with Sidecar(plane, CLUSTER, tmp_path):
        until(lambda: gcs.reports, why="ReportAutoscalingState")
        gcs.tasks([({"GPU": 8}, 1)])  # no group has so many
        until(lambda: gcs.reports[-1].infeasible_resource_requests, why="infeasible demand in the report")


def test_metrics_of_kuberays_autoscaler(plane, operator, guide, gcs, tmp_path):
    guide()
    with Sidecar(plane, CLUSTER, tmp_path) as s:
        def metrics():
            try:
                with urllib.request.urlopen("http://127.0.0.1:44217/metrics", timeout=PATIENCE) as r:
                    return r.read().decode()
            except OSError:
                return ""
        gcs.tasks([({"GPU": 1}, 1)])
        until(lambda: len(names(plane)) == 1)
        text = until(metrics, why="metrics at KubeRay's port")
        for name in ("autoscaler_started_nodes", "autoscaler_pending_nodes", "autoscaler_running_workers"):
            assert name in text, name
        assert s.lives()


def test_a_killed_sidecar_resumes(plane, operator, guide, gcs, tmp_path):
    guide(idle=3)
    with Sidecar(plane, CLUSTER, tmp_path) as s:
        gcs.tasks([({"GPU": 1}, 2)])
        until(lambda: len(gcs.alive()) == 3)
        gcs.tasks([])
        kept, idle = sorted(names(plane))
        gcs.busy(kept)
        gcs.idle(idle)
        s.stop(hard=True)
        s.start()
        until(lambda: names(plane) == {kept}, SOON, "the idle one ended by the new process")
        s.stays(lambda: names(plane) == {kept}, 3)


def test_several_hosts_go_together(plane, operator, guide, gcs, tmp_path):
    guide(idle=2, nodes=4, numOfHosts=2)
    with Sidecar(plane, CLUSTER, tmp_path) as s:
        gcs.tasks([({"GPU": 1}, 3)])
        until(lambda: len(gcs.alive()) == 5, why="two replicas of two hosts")
        assert group(plane)["replicas"] == 2
        by = {}
        for p in workers(plane):
            by.setdefault(p["metadata"]["labels"]["ray.io/worker-group-replica-name"], set()).add(p["metadata"]["name"])
        half, whole = by.values()
        gcs.busy(sorted(half)[0])  # before the others are idle: a slow machine takes as long as they do
        gcs.tasks([])
        until(lambda: names(plane) == half, SOON, "the idle replica is ended")
        s.stays(lambda: names(plane) == half, 4, "a replica with one busy host was ended")
        assert operator.created == 4 and group(plane)["replicas"] == 1


def test_another_writer_is_named(plane, operator, guide, gcs, tmp_path):
    guide()
    with Sidecar(plane, CLUSTER, tmp_path) as s:
        gcs.tasks([({"GPU": 1}, 2)])
        for _ in range(2):
            # What has no machine yet is looked for a minute before it is asked for again.
            until(lambda: group(plane)["replicas"] == 2 and len(names(plane)) == 2, SOON, "set again, and its pods")
            plane.client.patch(clusters_path(name=CLUSTER) + "?fieldManager=gitops-sync", [
                {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 0}])
        until(lambda: group(plane)["replicas"] == 2, SOON, "set again")
        until(lambda: "gitops-sync" in s.text(), SOON, "the other writer's name in the log")


def two_groups(guide, **first):
    """Group `gold` is preferred, and blocked; `other` is not."""
    spec = manifests.gpu_guide()["spec"]["workerGroupSpecs"][0]["template"]["spec"]
    gold = {"groupName": "gold", "priority": 10, "minReplicas": 0, "maxReplicas": 4, "replicas": 0,
            "rayStartParams": {}, "template": {"metadata": {}, "spec": {**spec, **first}}}
    other = dict(gold, groupName="other", priority=0, template={"metadata": {}, "spec": spec})
    guide(nodes=4, idle=3, groups=[gold, other])


def in_group(plane, name):
    return {p["metadata"]["name"] for p in workers(plane, **{"ray.io/group": name})}


def moves_to_the_other_group(plane, gcs, seconds):
    gcs.gangs([[{"GPU": 1}] * 2])
    began = time.monotonic()
    until(lambda: group(plane, "gold")["replicas"] == 2, SOON, "the preferred group is tried first")
    until(lambda: len(gcs.alive()) == 3, seconds, lambda: f"gold {in_group(plane, 'gold')}, other "
          f"{in_group(plane, 'other')}")
    figure(f"the gang has its workers {time.monotonic() - began:.1f} s after it asked, blocked first")
    assert len(in_group(plane, "other")) == 2
    until(lambda: group(plane, "gold")["replicas"] == 0 and not in_group(plane, "gold"), SOON,
          "nothing is left of the blocked try")


def test_gang_behind_a_scheduling_gate_moves_on(plane, operator, guide, gcs, tmp_path):
    two_groups(guide, schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    with Sidecar(plane, CLUSTER, tmp_path):
        moves_to_the_other_group(plane, gcs, 30)  # a gate may open: 5 s are waited


def test_gang_over_quota_moves_on(plane, operator, guide, gcs, tmp_path):
    plane.apply({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"},
                 "value": 1000},
                {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "gold", "namespace": "default"},
                 "spec": {"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [
                     {"scopeName": "PriorityClass", "operator": "In", "values": ["gold"]}]}}})
    two_groups(guide, priorityClassName="gold")
    with Sidecar(plane, CLUSTER, tmp_path):
        moves_to_the_other_group(plane, gcs, 30)


# ---- 3. faults; 1,000 workers by one patch: test_footprint.py

@pytest.fixture
def two_busy_one_idle(plane, operator, guide, gcs, tmp_path):
    """Three workers; two busy for good, one that will be idle in time. -> sidecar, busy, idle"""
    guide(idle=6, nodes=4, maxReplicas=4)
    with Sidecar(plane, CLUSTER, tmp_path) as s:
        gcs.tasks([({"GPU": 1}, 3)])

        def all_work():  # what waits runs on a node as soon as it is there
            for name in gcs.alive() - {"head"}:
                gcs.busy(name)
            return len(gcs.alive()) == 4
        until(all_work)
        gcs.tasks([])
        *busy, idle = sorted(names(plane))
        gcs.idle(idle)
        yield s, set(busy), idle


def resumes(plane, gcs, operator, busy, idle):
    """Afterwards: the idle one goes, what is asked for comes, the busy ones stay."""
    until(lambda: names(plane) == busy, SOON, lambda: f"the idle worker is ended; there are {names(plane)}")
    gcs.tasks([({"GPU": 1}, 1)])
    until(lambda: len(names(plane)) == 3 and names(plane) > busy, SOON, "a new worker")
    assert operator.deleted == 1, "only the idle one was ever ended"
    assert gcs.alive() >= busy


def test_apiserver_restarts(plane, operator, gcs, two_busy_one_idle):
    s, busy, idle = two_busy_one_idle
    plane.apiserver.stop(hard=True)
    s.stays(s.lives, 8)  # the idle timeout passes meanwhile
    plane.apiserver.start()
    plane.recover()
    resumes(plane, gcs, operator, busy, idle)
    assert s.lives()


def test_watch_gets_410_gone(plane, operator, gcs, two_busy_one_idle):
    s, busy, idle = two_busy_one_idle
    gcs.busy(idle)  # drained just before, it would end by itself, and be made again
    plane.apiserver.stop(hard=True)
    plane.compact()
    plane.apiserver.start()
    plane.recover()
    gcs.idle(idle)
    resumes(plane, gcs, operator, busy, idle)
    assert s.lives()


def test_apiserver_hangs(plane, operator, gcs, two_busy_one_idle):
    s, busy, idle = two_busy_one_idle
    plane.apiserver.pause()
    try:
        s.stays(s.lives, 12)
    finally:
        plane.apiserver.resume()
        plane.recover()
    resumes(plane, gcs, operator, busy, idle)


def test_rights_taken_away_and_given_back(plane, operator, gcs, two_busy_one_idle):
    s, busy, idle = two_busy_one_idle
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/{CLUSTER}"
    binding = plane.client.get(path)
    plane.client.delete(path)
    s.stays(lambda: names(plane) == busy | {idle} and s.lives(), 10, "a pod was ended without the right to")
    assert "the Role needs" in s.text(), "the missing rule is named"
    del binding["metadata"]["resourceVersion"], binding["metadata"]["uid"]
    plane.client.post(path.rsplit("/", 1)[0], binding)
    resumes(plane, gcs, operator, busy, idle)


def test_head_lost_for_a_while(plane, operator, gcs, two_busy_one_idle):
    s, busy, idle = two_busy_one_idle
    gcs.server.stop(0).wait()
    s.stays(lambda: names(plane) == busy | {idle} and s.lives(), 9, "a pod was ended though nobody knows who is idle")
    gcs.__enter__()
    gcs.idle(idle)
    resumes(plane, gcs, operator, busy, idle)


def test_operator_stands_still(plane, operator, gcs, two_busy_one_idle):
    """Nothing is confirmed: it waits, and asks for no other pod."""
    s, busy, idle = two_busy_one_idle
    operator.pause()
    try:
        until(lambda: idle in doomed(plane), SOON, "the idle one named")
        s.stays(lambda: doomed(plane) == [idle] and group(plane)["replicas"] == 2, 6, "decided again meanwhile")
    finally:
        operator.resume()
    resumes(plane, gcs, operator, busy, idle)
    until(lambda: not doomed(plane), SOON, "the finished name is taken out")


def test_replicas_that_nobody_makes_pods_for_are_not_forgotten(plane, operator, guide, gcs, tmp_path):
    """The operator is down for many start timeouts: what was raised is lowered again before it is tried anew, and
    not left behind (replicas grew from 1 to 6 once)."""
    guide(idle=60, maxReplicas=6)
    settings = tmp_path / "settings.yaml"
    settings.write_text("limits: {start_timeout: 4s}\n")
    operator.pause()
    with Sidecar(plane, CLUSTER, tmp_path, DAVIT_SETTINGS=str(settings)) as s:
        gcs.tasks([({"GPU": 1}, 1)])
        until(lambda: group(plane)["replicas"] == 1)
        until(lambda: s.text().count(" launch gpu-group: 1") > 1, 60, "it is tried again")
        s.stays(lambda: group(plane)["replicas"] <= 1, 4, lambda: f"{group(plane)['replicas']}: {s.text()[-3000:]}")
        written = [x["value"] for p in s.patches() for x in p["body"] if x["path"].endswith("/replicas")]
        assert set(written) == {0, 1} and not names(plane)
        operator.resume()
        until(lambda: len(gcs.alive()) == 2, 60)
        s.stays(lambda: len(names(plane)) == 1 and group(plane)["replicas"] == 1, 4)
