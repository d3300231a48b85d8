"""The harness itself: the plane schedules, the stand-in operator does what KubeRay does."""
import json
import time

import grpc
import pytest
from ray.core.generated import autoscaler_pb2 as pb

import manifests
from lib import crowded
from lib.kube import SOON, clusters_path, pods_path, until
from figures import figure
from lib.gcs import Gcs, PodNodes
from kwoknodes import SimNodes, Template, add_node
from lib.plane import Plane

CLUSTER = "raycluster-gpu"


def workers(plane, group="gpu-group"):
    return plane.client.get(pods_path(labelSelector=f"ray.io/group={group},ray.io/node-type=worker"))["items"]


def phase(plane, name):
    status, reply = plane.api("GET", pods_path(name=name))
    return reply["status"].get("phase") if status == 200 else None


def names(plane, group="gpu-group"):
    return {p["metadata"]["name"] for p in workers(plane, group)}


def running(plane, n, group="gpu-group"):
    return until(lambda: (lambda w: len(w) == n and all(p["status"].get("phase") == "Running" for p in w))(
        workers(plane, group)), why=f"{n} running workers")


@pytest.fixture
def cluster(plane, operator):
    for i in range(3):
        add_node(plane, f"gpu-{i}", cpu=16, memory="200Gi", gpus=1,
                 labels={"node.kubernetes.io/instance-type": "p2.xlarge"})
    plane.apply(manifests.gpu_guide())
    until(lambda: phase(plane, f"{CLUSTER}-head") == "Running", why="the head pod runs")

    def patch(*ops, client=plane.client):
        return client.call("PATCH", clusters_path(name=CLUSTER), [
            {"op": op, "path": f"/spec/workerGroupSpecs/0/{path}", "value": value} for op, path, value in ops])
    return patch


def test_ready_in_ten_seconds(plane):
    figure(f"the plane is up in {plane.took:.1f} s")
    assert plane.took < 25 * crowded()  # 10 s where the machine is not shared


def test_an_object_without_a_name_is_not_the_list_of_all(plane):
    """A machine's ray_id is empty until it has joined: the API server answers such a GET with 200 and no "spec"."""
    for path in ("/api/v1/nodes/", pods_path(name=""), clusters_path(name="", fieldManager="x")):
        with pytest.raises(ValueError, match="name is empty"):
            plane.api("GET", path)
    assert plane.client.get(pods_path())["kind"] == "PodList"


def test_gpu_pod_pending_then_bound_when_its_node_comes(plane):
    plane.apply(manifests.pod("p1", gpus=2))
    pod = until(lambda: (lambda p: p if p["status"].get("conditions") else None)(
        plane.client.get(pods_path(name="p1"))))
    assert pod["status"]["conditions"][0]["reason"] == "Unschedulable"
    add_node(plane, "one", gpus=1)
    plane.apply(manifests.pod("small", gpus=1))  # once it has its place, the scheduler has looked at this node for both
    until(lambda: phase(plane, "small") == "Running")
    assert "nodeName" not in plane.client.get(pods_path(name="p1"))["spec"]
    add_node(plane, "two", gpus=2)
    until(lambda: phase(plane, "p1") == "Running")
    assert plane.client.get(pods_path(name="p1"))["spec"]["nodeName"] == "two"


def test_machines_become_nodes_and_their_gpus_come_late(plane, tmp_path):
    state, now = tmp_path / "sim.json", int(time.time() * 1000)
    machine = {"id": "sim-1-1", "type": "t4", "zone": "a", "cluster": "c", "request": "r", "created_ms": now,
               "running_ms": now + 300}
    plane.apply(manifests.pod("p1", gpus=1))
    with SimNodes(plane, state, {"t4": Template(gpus=1, labels={"x": "y"}, device_delay=4)}) as nodes:
        state.write_text(json.dumps({"machines": [machine]}))
        node = until(lambda: plane.api("GET", "/api/v1/nodes/sim-1-1")[1].get("spec"))
        assert node["providerID"] == "sim://sim-1-1"
        assert time.time() * 1000 >= now + 300
        got = plane.client.get("/api/v1/nodes/sim-1-1")
        assert "nvidia.com/gpu" not in got["status"]["capacity"]
        assert got["metadata"]["labels"]["x"] == "y" and got["metadata"]["labels"]["davit-test/type"] == "t4"
        plane.apply(manifests.pod("p2"))  # needs no GPU: the scheduler has looked at this node
        until(lambda: plane.client.get(pods_path(name="p2"))["spec"].get("nodeName") == "sim-1-1")
        assert "nodeName" not in plane.client.get(pods_path(name="p1"))["spec"]
        until(lambda: phase(plane, "p1") == "Running")
        assert plane.client.get("/api/v1/nodes/sim-1-1")["status"]["allocatable"]["nvidia.com/gpu"] == "1"
        state.write_text(json.dumps({"machines": [dict(machine, gone_ms=1)]}))
        until(lambda: plane.api("GET", "/api/v1/nodes/sim-1-1")[0] == 404)
        assert not nodes.errors


def test_operator_grows_and_shrinks_only_by_workers_to_delete(plane, operator, cluster):
    assert not workers(plane)
    began = time.monotonic()
    assert cluster(("replace", "replicas", 2))[0] == 200
    running(plane, 2)
    figure(f"stand-in operator: 0 -> 2 running in {time.monotonic() - began:.3f} s")
    pod = workers(plane)[0]
    assert pod["metadata"]["labels"]["ray.io/cluster"] == CLUSTER
    assert pod["metadata"]["name"].startswith(f"{CLUSTER}-gpu-group-worker-")
    before = names(plane)
    assert cluster(("replace", "replicas", 1))[0] == 200
    operator.looked()
    assert names(plane) == before, "lowering replicas alone deleted a pod"
    gone = sorted(before)[0]
    assert cluster(("add", "scaleStrategy", {"workersToDelete": [gone]}))[0] == 200
    until(lambda: names(plane) == before - {gone})
    # the operator clears nothing, and a name of one long gone does no harm
    got = plane.client.get(clusters_path(name=CLUSTER))["spec"]["workerGroupSpecs"][0]
    assert got["scaleStrategy"]["workersToDelete"] == [gone] and got["replicas"] == 1
    assert cluster(("replace", "replicas", 2))[0] == 200
    running(plane, 2)
    assert names(plane) > before - {gone} and gone not in names(plane)
    assert not operator.errors


def test_operator_shrinks_by_one_patch(plane, operator, cluster):
    cluster(("replace", "replicas", 2))
    running(plane, 2)
    gone, kept = sorted(names(plane))
    began = time.monotonic()
    cluster(("replace", "replicas", 1), ("add", "scaleStrategy", {"workersToDelete": [gone]}))
    until(lambda: names(plane) == {kept})
    figure(f"stand-in operator: replicas and workersToDelete in one patch: {time.monotonic() - began:.3f} s")
    operator.looked()
    assert names(plane) == {kept}
    assert operator.created == 2


def test_operator_replaces_one_deleted_without_lower_replicas(plane, operator, cluster):
    cluster(("replace", "replicas", 2))
    running(plane, 2)
    before = names(plane)
    gone = sorted(before)[0]
    cluster(("add", "scaleStrategy", {"workersToDelete": [gone]}))
    until(lambda: gone not in names(plane) and len(names(plane)) == 2)


def test_operator_caps_at_max_and_leaves_the_spec(plane, operator, cluster):
    cluster(("replace", "replicas", 5))
    running(plane, 2)
    operator.looked()
    assert len(workers(plane)) == 2
    assert plane.client.get(clusters_path(name=CLUSTER))["spec"]["workerGroupSpecs"][0]["replicas"] == 5


def test_operator_replaces_a_failed_pod(plane, operator, cluster):
    cluster(("replace", "replicas", 1))
    running(plane, 1)
    name, = names(plane)
    plane.client.patch(pods_path(name=name) + "/status", {"status": {"phase": "Failed"}})
    until(lambda: names(plane) and name not in names(plane))
    running(plane, 1)


def test_operator_suspends_a_group(plane, operator, cluster):
    cluster(("replace", "replicas", 2))
    running(plane, 2)
    cluster(("add", "suspend", True))
    until(lambda: not names(plane))
    cluster(("replace", "suspend", False))
    running(plane, 2)


def test_operator_waits_for_a_pod_that_ends_slowly(plane, operator, cluster):
    cluster(("replace", "template/metadata", {"annotations": {"davit-test/slow-end": ""}}),
            ("add", "template/spec/terminationGracePeriodSeconds", 3), ("replace", "replicas", 2))
    running(plane, 2)
    gone, kept = sorted(names(plane))
    began = time.monotonic()
    cluster(("replace", "replicas", 1), ("add", "scaleStrategy", {"workersToDelete": [gone]}))
    until(lambda: "deletionTimestamp" in plane.client.get(pods_path(name=gone))["metadata"])
    # an autoscaler that takes the name out and raises replicas too early finds the group left alone
    cluster(("replace", "scaleStrategy", {"workersToDelete": []}), ("replace", "replicas", 2))
    until(lambda: gone not in names(plane), SOON)
    assert time.monotonic() - began > 1.5
    until(lambda: len(names(plane)) == 2)
    assert kept in names(plane)


def test_operator_moves_whole_replicas_of_several_hosts(plane, operator, cluster):
    group = dict(manifests.gpu_guide()["spec"]["workerGroupSpecs"][0], groupName="slice", numOfHosts=2,
                 minReplicas=0, maxReplicas=4, replicas=2)
    group["template"] = {"spec": {"containers": [{"name": "ray", "resources": {"limits": {"cpu": "1"}}}]}}
    plane.client.patch(clusters_path(name=CLUSTER), [{"op": "add", "path": "/spec/workerGroupSpecs/-",
                                                      "value": group}])
    running(plane, 4, "slice")
    by = {}
    for p in workers(plane, "slice"):
        by.setdefault(p["metadata"]["labels"]["ray.io/worker-group-replica-name"], []).append(p)
    assert sorted(len(v) for v in by.values()) == [2, 2]
    one = list(by)[0]
    assert {p["metadata"]["labels"]["ray.io/replica-host-index"] for p in by[one]} == {"0", "1"}
    plane.client.patch(clusters_path(name=CLUSTER), [
        {"op": "replace", "path": "/spec/workerGroupSpecs/1/replicas", "value": 1},
        {"op": "add", "path": "/spec/workerGroupSpecs/1/scaleStrategy",
         "value": {"workersToDelete": [by[one][0]["metadata"]["name"]]}}])
    until(lambda: {p["metadata"]["labels"]["ray.io/worker-group-replica-name"]
                   for p in workers(plane, "slice")} == set(by) - {one})
    assert len(workers(plane, "slice")) == 2


def test_deleting_the_cluster_ends_its_pods(plane, operator, cluster):
    cluster(("replace", "replicas", 2))
    running(plane, 2)
    plane.client.delete(clusters_path(name=CLUSTER))
    until(lambda: not plane.client.get(pods_path())["items"], why="garbage collected")


def test_the_sidecars_rights(plane, operator, cluster):
    c = plane.client_for("default", CLUSTER)
    assert c.call("GET", pods_path())[0] == 200
    assert c.call("GET", clusters_path(name=CLUSTER))[0] == 200
    assert cluster(("replace", "replicas", 1), client=c)[0] == 200
    name = until(lambda: names(plane) and sorted(names(plane))[0])
    assert c.call("PATCH", pods_path(name=name), {"metadata": {"annotations": {"a": "b"}}})[0] == 200
    for method, path, body in (
            ("GET", clusters_path(), None), ("GET", clusters_path("kube-system"), None),
            ("GET", "/api/v1/nodes", None), ("DELETE", pods_path(name=name), None), ("POST", pods_path(), {}),
            ("GET", "/api/v1/namespaces/default/events", None), ("GET", pods_path("kube-system"), None),
            ("GET", "/apis/coordination.k8s.io/v1/namespaces/default/leases", None),
            ("DELETE", clusters_path(name=CLUSTER), None)):
        assert c.call(method, path, body)[0] == 403, (method, path)
    seen = [kind for kind, _ in zip(c.watch(pods_path()), range(1))]
    assert seen and seen[0][0] == "ADDED"
    assert [e[1]["code"] for e in c.watch(clusters_path())] == [403]


def test_apiserver_restart_and_a_watch_of_the_past_gets_410(plane, operator, cluster):
    version = plane.client.get(pods_path())["metadata"]["resourceVersion"]
    for i in range(3):
        plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}"}})
    cluster(("replace", "replicas", 1))
    running(plane, 1)
    plane.compact()
    began = time.monotonic()
    plane.apiserver.restart()
    figure(f"apiserver restarted in {time.monotonic() - began:.1f} s")
    last = [(kind, o.get("code")) for kind, o in plane.client.watch(pods_path(), version)]
    assert last == [("ERROR", 410)]
    plane.recover()
    cluster(("replace", "replicas", 2))  # operator, scheduler and kwok go on
    running(plane, 2)


def test_a_paused_apiserver_hangs_and_comes_back(plane):
    c = plane.client_for("default", "default")
    c.timeout = 1  # wait: it is to pass
    plane.apiserver.pause()
    with pytest.raises(TimeoutError):
        c.call("GET", "/version")
    plane.apiserver.resume()
    assert plane.client.get("/version")["gitVersion"] == "v1.36.3"


def test_audit_counts_requests(plane, operator, cluster):
    mark, c = plane.audit_mark(), plane.client_for("default", CLUSTER)
    cluster(("replace", "replicas", 1), client=c)
    got = until(lambda: plane.audit(mark, verb="patch", resource="rayclusters", user=CLUSTER))
    assert len(got) == 1 and got[0]["code"] == 200 and got[0]["body"][0]["value"] == 1


def test_pdb_refuses_an_eviction(plane):
    add_node(plane, "n", cpu=8)
    plane.apply(manifests.pod("p1", labels={"app": "a"}), manifests.pdb("keep", {"app": "a"}, 1))
    until(lambda: phase(plane, "p1") == "Running")
    until(lambda: plane.client.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/keep")
          .get("status", {}).get("currentHealthy") == 1)
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p1", "namespace": "default"}}
    assert plane.api("POST", pods_path(name="p1") + "/eviction", body)[0] == 429


def test_a_small_plane_of_two_servers():
    with Plane(scheduler=False, kcm=False, kwok=False) as p:
        p.client.post("/api/v1/nodes", Template(gpus=1).node("n"))
        p.apply(manifests.pod("p1"))
        pids = [s.p.pid for s in p.servers]
        assert len(pids) == 2
        where = p.dir
    assert not where.exists()


def test_pods_become_nodes_of_a_played_gcs(plane, operator, cluster):
    with Gcs() as gcs, PodNodes(plane, gcs):
        gcs.join("head", "headgroup", {"CPU": 0}, head=True)
        gcs.tasks([({"GPU": 1}, 3)])
        cluster(("replace", "replicas", 1))
        name, = until(lambda: gcs.alive() - {"head"})
        with grpc.insecure_channel(gcs.address) as channel:
            def ask(method, message):
                return channel.unary_unary(f"/ray.rpc.autoscaler.AutoscalerStateService/{method}")(
                    message.SerializeToString())
            reply = pb.GetClusterResourceStateReply.FromString(
                ask("GetClusterResourceState", pb.GetClusterResourceStateRequest()))
            node, = [n for n in reply.cluster_resource_state.node_states if n.instance_id == name]
            assert node.ray_node_type_name == "gpu-group" and node.total_resources["GPU"] == 1
            assert node.total_resources["CPU"] == 3 and node.status == pb.NodeStatus.IDLE
            assert reply.cluster_resource_state.pending_resource_requests[0].count == 3
            gcs.busy(name)
            drain = pb.DrainNodeRequest(node_id=node.node_id, reason=pb.DRAIN_NODE_REASON_IDLE_TERMINATION)
            assert not pb.DrainNodeReply.FromString(ask("DrainNode", drain)).is_accepted
            gcs.idle(name)
            assert pb.DrainNodeReply.FromString(ask("DrainNode", drain)).is_accepted
        cluster(("replace", "replicas", 0), ("add", "scaleStrategy", {"workersToDelete": [name]}))
        until(lambda: gcs.alive() == {"head"})


def test_operator_tells_of_pods_it_may_not_make(plane, operator, cluster):
    plane.apply({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"},
                 "spec": {"hard": {"requests.nvidia.com/gpu": "1"}}})
    until(lambda: plane.client.get("/api/v1/namespaces/default/resourcequotas/q").get("status", {}).get("hard"))
    cluster(("replace", "replicas", 2))

    def failure():
        status = plane.client.get(clusters_path(name=CLUSTER)).get("status", {})
        return [c for c in status.get("conditions", []) if c["type"] == "ReplicaFailure"]
    until(lambda: failure() and "exceeded quota: q" in failure()[0]["message"])
    running(plane, 1)
    plane.client.delete("/api/v1/namespaces/default/resourcequotas/q")
    running(plane, 2)
    until(lambda: not failure())
