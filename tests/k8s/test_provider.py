"""The plug-in k8s on a real API server, with the Role that KubeRay's operator makes and nothing more."""
import json
import subprocess
import time

import pytest

import manifests
from lib.kube import SOON, clusters_path, pods_path, until
from kwoknodes import add_node
from lib import ROOT
from lib.drive import Drive

BUILD = ROOT / "build" / "release"
CLUSTER = "raycluster-gpu"
ROLE = f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/{CLUSTER}"


@pytest.fixture(scope="module", autouse=True)
def tools():
    subprocess.run(["make", "-s", "build/release/tests/check_provider", "build/release/tests/drive"], cwd=ROOT,
                   check=True)


@pytest.fixture
def cluster(plane, operator):
    """apply(**fields): the GPU guide's RayCluster, nodes for `nodes` workers; its service account is there."""
    def apply(nodes=3, **fields):
        add_node(plane, "head-node", cpu=16, memory="64Gi")
        for i in range(nodes):
            add_node(plane, f"gpu-{i}", cpu=64, memory="900Gi", gpus=16,
                     labels={"node.kubernetes.io/instance-type": "p2.xlarge"})
        plane.apply(manifests.gpu_guide(**fields))
        until(lambda: plane.api("GET", ROLE)[0] == 200, why="the Role")
    return apply


def access(plane, folder):
    """Options of the plug-in: the service account's own files, as a pod has them."""
    mount, env = plane.mount_for("default", CLUSTER)
    return {"service_account": str(mount), "endpoint": plane.server, "namespace": "default", "cluster": CLUSTER}


class Group(Drive):
    def __init__(self, plane, folder, **more):
        options = dict(access(plane, folder), **more)
        super().__init__(folder, f"cluster: {CLUSTER}\nproviders: {{k8s: {json.dumps(options)}}}\nnode_types:\n"
                         "  gpu-group: {provider: k8s, pool: gpu-group, resources: {CPU: 3, GPU: 1}}\n",
                         "k8s", {"DAVIT_PLUGIN_DIR": str(BUILD / "plugins")})

    def launch(self, n, request):
        return super().launch(n, request, "gpu-group")


def group(plane):
    return plane.client.get(clusters_path(name=CLUSTER))["spec"]["workerGroupSpecs"][0]


def workers(plane):
    return {p["metadata"]["name"] for p in plane.client.get(pods_path(labelSelector="ray.io/node-type=worker"))["items"]}


def writes(plane, mark):
    return [a for a in plane.audit(mark, verb="patch", resource="rayclusters", user=CLUSTER)]


def test_contract(plane, operator, cluster, tmp_path):
    cluster(maxReplicas=1000)
    options = [x for k, v in access(plane, tmp_path).items() for x in ("-o", f"{k}={v}")]
    out = subprocess.run([BUILD / "tests" / "check_provider", BUILD / "plugins" / "davit-k8s.so", "-t", "gpu-group",
                          "-r", "CPU=3", "-r", "GPU=1", *options, "--ready", "40", "--gone", "40", "--settle", "0.3"],
                         capture_output=True, text=True, timeout=540)
    print(out.stdout)
    assert out.returncode == 0, out.stdout + out.stderr
    assert ", 0 broken, 0 skipped" in out.stdout


def test_one_patch_for_many_and_exactly_that_pod(plane, operator, cluster, tmp_path):
    cluster(maxReplicas=100)
    mark = plane.audit_mark()
    with Group(plane, tmp_path) as d:
        assert d.launch(30, "davit-01")["status"] == "OK"
        until(lambda: len(d.machines(phase="RUNNING", request="davit-01")) == 30, SOON, "30 running workers")
        assert len([a for a in writes(plane, mark) if a["code"] == 200]) == 1
        before = workers(plane)
        ends = sorted(before)[:2]
        assert d.call("terminate", ids=ends)["done"] == {e: "OK" for e in ends}
        until(lambda: workers(plane) == before - set(ends), SOON, "exactly these pods")
        until(lambda: len(d.machines()) == 28 and not group(plane)["scaleStrategy"]["workersToDelete"], SOON,
              "finished names are taken out")
        assert group(plane)["replicas"] == 28
        assert d.call("terminate", ids=ends)["done"] == {e: "NOT_FOUND" for e in ends}
        assert group(plane)["replicas"] == 28 and operator.deleted == 2


def test_conflicts_with_another_writer(plane, operator, cluster, tmp_path):
    """Its annotation is changed all the time: guarded by resourceVersion, and still it gets through."""
    cluster(maxReplicas=100)
    with Group(plane, tmp_path) as d:
        began, n = time.monotonic(), 0
        for i in range(12):
            d.p.stdin.write(json.dumps({"op": "launch", "type": "gpu-group", "count": 1, "request": f"davit-{i:02}"}) + "\n")
            d.p.stdin.flush()
            for k in range(4):
                plane.client.patch(clusters_path(name=CLUSTER), {"metadata": {"annotations": {"noise": f"{i}.{k}"}}})
                n += 1
            assert json.loads(d.p.stdout.readline())["status"] == "OK"
        assert group(plane)["replicas"] == 12, f"{n} writes of another in {time.monotonic() - began:.1f} s"


def test_the_role_without_patch(plane, operator, cluster, tmp_path):
    cluster(maxReplicas=1000)
    role = plane.client.get(ROLE)
    for rule in role["rules"]:
        rule["verbs"] = [v for v in rule["verbs"] if v != "patch"]
    role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
    status, reply = plane.client.call("PUT", ROLE, role)
    assert status == 200, reply
    with Group(plane, tmp_path) as d:
        ids = (f"davit-{i:04}" for i in range(1000))  # one that was made before the change is known, and no patch is sent

        def refused():
            reply = d.launch(1, next(ids))
            return reply["status"] == "AUTH" and reply
        reply = until(refused, SOON, "the right is gone")
        assert "may not patch rayclusters in namespace default" in reply["text"]
        assert d.call("list")["status"] == "OK"


def test_quota_of_the_namespace(plane, operator, cluster, tmp_path):
    """Gated pods: what a queue (Kueue) holds back is told at once, not after an hour."""
    cluster()
    spec = group(plane)
    spec["template"]["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    plane.client.patch(clusters_path(name=CLUSTER), [{"op": "replace", "path": "/spec/workerGroupSpecs/0", "value": spec}])
    with Group(plane, tmp_path, gate_timeout="1s") as d:
        d.launch(1, "davit-01")
        m = until(lambda: d.machines(phase="FAILED"), SOON, "held back")[0]
        assert m["failure"] == "STOCKOUT" and "kueue.x-k8s.io/admission" in m["detail"]
        d.call("terminate", ids=[m["id"]])
        until(lambda: not workers(plane), SOON)
        assert group(plane)["replicas"] == 0


def test_unschedulable_says_the_schedulers_words(plane, operator, cluster, tmp_path):
    cluster(nodes=0)
    with Group(plane, tmp_path, unschedulable_timeout="2s") as d:
        d.launch(1, "davit-01")
        m = until(lambda: d.machines(phase="FAILED"), SOON, "no node")[0]
        assert m["failure"] == "STOCKOUT" and "nodes are available" in m["detail"]
