"""`davit init`: what it makes of a Ray YAML, of nodes on a real API server, of nothing; all of it is valid."""
import os
import subprocess

import pytest
import yaml

from lib import DAVIT, ROOT, without
from lib.plane import Plane


@pytest.fixture(scope="module")
def plane():
    with Plane(scheduler=False, kcm=False, kwok=False) as p:
        yield p


def init(folder, *words, env=None):
    """(the file's text, it parsed, what was said)"""
    path = folder / "out.yaml"
    p = subprocess.run([DAVIT, "init", "--force", "--output", path, *words], cwd=folder, capture_output=True, text=True,
                       env={**without("KUBE", "RAY_"), "HOME": str(folder), **(env or {})})
    assert p.returncode == 0, p.stderr
    check = subprocess.run([DAVIT, "validate", path], capture_output=True, text=True, env={**os.environ, **(env or {})})
    assert check.returncode == 0, f"{check.stderr}\n{path.read_text()}"
    return path.read_text(), yaml.safe_load(path.read_text()), p.stderr


def node(plane, name, provider_id, labels, gpus=0, taints=(), cpu="8", memory="30Gi"):
    capacity = {"cpu": cpu, "memory": memory, "pods": "110", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    plane.client.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
                                        "spec": {"providerID": provider_id, "taints": list(taints)}, "status": {"capacity": capacity}})


@pytest.fixture
def nodes(plane):
    """node(...) of this test only."""
    made = []

    def make(name, *args, **kwargs):
        node(plane, name, *args, **kwargs)
        made.append(name)
    yield make
    for name in made:
        plane.client.delete(f"/api/v1/nodes/{name}")


def look(plane, folder, context=None, **env):
    """init on the plane's API server; `context`: what the cloud's tool would have called it."""
    text = plane.kubeconfig.read_text()
    path = folder / "kubeconfig"
    path.write_text(text.replace('"davit-test"', f'"{context}"') if context else text)
    path.chmod(0o600)
    return init(folder, "--kubeconfig", path, env=env)


def gke_labels(pool, machine, zone="us-central1-a", **more):
    return {"cloud.google.com/gke-nodepool": pool, "node.kubernetes.io/instance-type": machine, "topology.kubernetes.io/zone": zone,
            "topology.kubernetes.io/region": "us-central1", "kubernetes.io/hostname": "x", **more}


GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def test_gke(plane, nodes, tmp_path):
    nodes("gke-c1-cpu-1", "gce://my-proj/us-central1-a/gke-c1-cpu-1", gke_labels("cpu", "e2-standard-8", team="web"))
    for i, zone in enumerate("ab"):
        nodes(f"gke-c1-gpu-{i}", f"gce://my-proj/us-central1-{zone}/gke-c1-gpu-{i}", gpus=2, taints=[
            GPU_TAINT, {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
            labels=gke_labels("gpu", "n1-standard-8", f"us-central1-{zone}", **{"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"}))
    text, got, said = look(plane, tmp_path, "gke_my-proj_us-central1_c1")
    assert got["cluster"] == "c1"
    assert got["head"]["kubernetes"]["context"] == "gke_my-proj_us-central1_c1"
    assert got["providers"] == {"gke": {"project": "my-proj", "location": "us-central1", "cluster": "c1"}}
    assert got["node_types"] == {
        "cpu": {"provider": "gke", "pool": "cpu", "machine": "e2-standard-8", "zones": ["us-central1-a"], "labels": {"team": "web"}, "max": 1},
        "gpu": {"provider": "gke", "pool": "gpu", "machine": "n1-standard-8+nvidia-tesla-t4x2", "zones": ["us-central1-a", "us-central1-b"],
                "taints": ["nvidia.com/gpu=present:NoSchedule"], "max": 2}}
    assert "pools without a node now cannot be seen" in said and "# - pools without" in text


def test_eks(plane, nodes, tmp_path):
    for i in range(2):
        nodes(f"ip-10-0-0-{i}", f"aws:///us-east-1{'ab'[i]}/i-0{i}", gpus=1, labels={
            "eks.amazonaws.com/nodegroup": "gpus", "eks.amazonaws.com/capacityType": "SPOT", "node.kubernetes.io/instance-type": "g5.xlarge",
            "topology.kubernetes.io/zone": f"us-east-1{'ab'[i]}", "topology.kubernetes.io/region": "us-east-1"})
    _, got, said = look(plane, tmp_path, "arn:aws:eks:us-east-1:1234:cluster/prod")
    assert got["providers"] == {"eks": {"region": "us-east-1", "cluster": "prod"}}
    assert got["node_types"] == {"gpus": {"provider": "eks", "pool": "gpus", "machine": "g5.xlarge", "market": "spot", "max": 2}}
    assert "its nodes are in 2 zones" in said


def test_aks(plane, nodes, tmp_path):
    sub = "00000000-0000-0000-0000-000000000001"
    nodes("aks-t4-0", f"azure:///subscriptions/{sub}/resourceGroups/MC_ml_ml-west_westeurope/providers/x/0", gpus=1, labels={
        "kubernetes.azure.com/agentpool": "t4", "agentpool": "t4", "node.kubernetes.io/instance-type": "Standard_NC4as_T4_v3",
        "topology.kubernetes.io/zone": "westeurope-1", "topology.kubernetes.io/region": "westeurope"})
    _, got, _ = look(plane, tmp_path)
    assert got["providers"] == {"aks": {"subscription": sub, "resource_group": "ml", "cluster": "ml-west"}}
    assert got["node_types"]["t4"] == {"provider": "aks", "pool": "t4", "machine": "Standard_NC4as_T4_v3", "zones": ["westeurope-1"], "max": 1}


def test_machines_that_no_cloud_knows(plane, nodes, tmp_path):
    """Kept as what they have; who launches them is said to be unknown."""
    nodes("rack-1", "", {"kubernetes.io/os": "linux"}, gpus=4, cpu="96", memory="768Gi")
    text, got, said = look(plane, tmp_path)
    assert got["node_types"]["machines"] == {"provider": "sim", "resources": {"CPU": 96, "memory": "768Gi", "GPU": 4}, "max": 1}
    assert "no cloud of these nodes is known" in said and "? who launches them" in text


def test_the_control_plane_is_no_pool(plane, nodes, tmp_path):
    nodes("cp", "gce://p/z/cp", {"node-role.kubernetes.io/control-plane": "", **gke_labels("cp", "e2-standard-8")})
    _, got, _ = look(plane, tmp_path)
    assert list(got["node_types"]) == ["cpu", "t4"] and got["providers"] == {"sim": {}}


def test_what_a_cluster_says_is_only_text(plane, nodes, tmp_path):
    """A label or taint cannot become another key, nor a comment a line."""
    nodes("n1", "gce://p/z/n1", gke_labels("true", "e2-standard-8", **{"on": "no", "example.com/x": "1e3"}),
          taints=[{"key": "a.b/c", "value": "off", "effect": "NoExecute"}])
    _, got, _ = look(plane, tmp_path)
    assert got["node_types"]["true"]["labels"] == {"on": "no", "example.com/x": "1e3"}
    assert got["node_types"]["true"]["taints"] == ["a.b/c=off:NoExecute"]
    assert got["providers"]["gke"]["cluster"] == "unknown"


@pytest.mark.parametrize("name, types, provider", [
    ("kuberay-gpu.raycluster.yaml", {"gpu-group"}, "k8s"),
    ("kuberay-gpu.yaml", {"gpu-group"}, "k8s"),
    ("raybook-podtypes.yaml", {"rayWorkerType", "rayGPUWorkerType"}, "k8s"),
    ("ray-cluster.yaml", {"ray.worker.cpu", "ray.worker.gpu"}, "sim"),
])
def test_from_a_file_it_is_the_same_configuration(name, types, provider, tmp_path):
    """The plan for the same request is the same, from the file and from what was made of it."""
    _, got, _ = init(tmp_path, "--from", ROOT / "configs" / name)
    assert set(got["node_types"]) == types and provider in got["providers"]
    plans = []
    for path in (ROOT / "configs" / name, tmp_path / "out.yaml"):
        p = subprocess.run([DAVIT, "plan", "--json", "--request", '{"GPU": 1}', path], capture_output=True, text=True, check=True)
        plans.append([(x["type"], x["count"], x.get("zone"), x.get("spot")) for x in yaml.safe_load(p.stdout)["launches"]])
    assert plans[0] == plans[1] != []


def test_nothing_found_is_a_simulated_cloud(tmp_path):
    _, got, said = init(tmp_path, "--cluster", "mine")
    assert got["cluster"] == "mine" and got["providers"] == {"sim": {}} and "simulated cloud" in said


def test_a_head_that_does_not_answer_is_told(tmp_path):
    _, got, said = init(tmp_path, "--ray-address", "127.0.0.1:1")
    assert got["head"]["ray"]["address"] == "127.0.0.1:1" and "does not answer" in said


def test_no_file_is_overwritten(tmp_path):
    (tmp_path / "davit.yaml").write_text("mine")
    p = subprocess.run([DAVIT, "init"], cwd=tmp_path, capture_output=True, text=True, env={**without("KUBE", "RAY_"), "HOME": str(tmp_path)})
    assert p.returncode == 3 and "--force" in p.stderr and (tmp_path / "davit.yaml").read_text() == "mine"


def test_a_kubeconfig_that_is_not_there(tmp_path):
    p = subprocess.run([DAVIT, "init", "--kubeconfig", "none", "-o", "-"], cwd=tmp_path, capture_output=True, text=True)
    assert (p.returncode, p.stdout) == (3, "") and "none" in p.stderr
