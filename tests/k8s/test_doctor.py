"""`davit doctor` on a real API server: each missing right is named, and its
own advice mends it."""
import json
import subprocess

import yaml
from lib import DAVIT, ROOT
from lib.kube import until
from kwoknodes import add_node
from manifests import gpu_guide, pod

CONFIG = """cluster: demo
state: {state}
head: {{kubernetes: {{kubeconfig: {kubeconfig}}}}}
ha: {{namespace: default}}
api: {{listen: "127.0.0.1:0"}}
providers: {{sim: {{state: {dir}/cloud.json}}}}
node_types:
  t4: {{provider: sim, resources: {{CPU: 4, GPU: 1}}, max: 2}}
"""


def doctor(tmp_path, kubeconfig, state="kubernetes", expect=0):
    path = tmp_path / "davit.yaml"
    path.write_text(CONFIG.format(state=state, kubeconfig=kubeconfig, dir=tmp_path))
    p = subprocess.run([DAVIT, "doctor", "--json", str(path)], capture_output=True, text=True, timeout=60)
    assert expect is None or p.returncode == expect, (p.returncode, p.stdout, p.stderr)
    reply = json.loads(p.stdout)
    return {(f["what"], f["finding"]): f["text"] for f in reply["findings"]}, reply


def account(plane, name):
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}})
    return plane.kubeconfig_for("default", name)


def test_all_is_well_for_the_admin(plane, tmp_path):
    found, reply = doctor(tmp_path, plane.kubeconfig)
    assert not [f for f in reply["findings"] if f["finding"] == "bad"]
    assert ("rights in the cluster", "ok") in found and ("rights", "ok") in found
    assert ("clock", "ok") in found and ("API server", "ok") in found
    assert ("provider sim", "ok") in found
    assert reply["advice"] == ""


def test_missing_rights_and_the_advice_that_mends_them(plane, tmp_path):
    path = account(plane, "poor")
    found, reply = doctor(tmp_path, path, expect=1)
    texts = [f["text"] for f in reply["findings"] if f["finding"] == "bad"]
    assert any("may not create pods/eviction" in t for t in texts), texts
    assert any("leases.coordination.k8s.io in default" in t for t in texts), texts
    subject = [{"kind": "ServiceAccount", "name": "poor", "namespace": "default"}]
    for role in yaml.safe_load_all(reply["advice"]):
        plane.apply(role)
        binding = dict(role, kind=role["kind"] + "Binding", subjects=subject,
                       roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"],
                                "name": role["metadata"]["name"]})
        binding.pop("rules")
        plane.apply(binding)
    found, reply = doctor(tmp_path, path)
    assert reply["advice"] == "", reply["advice"]


def test_no_api_server(plane, tmp_path):
    text = plane.kubeconfig.read_text() if hasattr(plane.kubeconfig, "read_text") else open(plane.kubeconfig).read()
    bad = tmp_path / "kubeconfig"
    bad.write_text(text.replace(plane.server, "https://127.0.0.1:1"))
    found, _ = doctor(tmp_path, bad, expect=1)
    assert "127.0.0.1:1" in found[("API server", "bad")]


def test_pods_that_would_see_all_gpus(plane, tmp_path):
    add_node(plane, "gpu-0", cpu=16, memory="64Gi", gpus=4)
    plain = pod("plain")
    plain["spec"]["nodeName"] = "gpu-0"
    plain["spec"]["tolerations"] = [{"operator": "Exists"}]
    careful = json.loads(json.dumps(plain))
    careful["metadata"]["name"] = "careful"
    careful["spec"]["containers"][0]["env"] = [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    user = pod("user", gpus=1)
    user["spec"]["nodeName"] = "gpu-0"
    plane.apply(plain, careful, user)
    found, _ = doctor(tmp_path, plane.kubeconfig)
    text = found[("pods on GPU nodes", "warn")]
    assert "1 ask no GPU" in text and "default/plain" in text and "careful" not in text


def test_a_raycluster_with_the_operators_role(plane, operator, tmp_path):
    """The Role that KubeRay makes for its autoscaler is all that is needed."""
    plane.install_raycluster()
    plane.apply(gpu_guide())
    until(lambda: plane.api("GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/" +
                            gpu_guide()["metadata"]["name"])[0] == 200, 10, "the operator makes the role")
    who = gpu_guide()["metadata"]["name"]
    p = subprocess.run([DAVIT, "doctor", "--json", "--kuberay", "default/" + who, "--kubeconfig",
                        str(plane.kubeconfig_for("default", who))], capture_output=True, text=True, timeout=60)
    found = {(f["what"], f["finding"]) for f in json.loads(p.stdout)["findings"]}
    assert ("rights", "ok") in found, p.stdout
    assert not [f for f in found if f[0].startswith("rights") and f[1] == "bad"], p.stdout
    assert ("Ray head", "bad") in found      # there is none in this test


def test_a_role_by_names_is_enough(plane, tmp_path):
    """The shipped one: rights on the Lease and the ConfigMaps of this cluster, and no others."""
    path = account(plane, "named")
    subject = [{"kind": "ServiceAccount", "name": "named", "namespace": "default"}]
    text = (ROOT / "configs" / "kubernetes" / "rbac.yaml").read_text().replace("my-cluster", "demo")
    for o in yaml.safe_load_all(text):
        if o["kind"] in ("ClusterRole", "Role"):
            o["metadata"] = {"name": "named"} | ({"namespace": "default"} if o["kind"] == "Role" else {})
            plane.apply(o)
            plane.apply({"apiVersion": o["apiVersion"], "kind": o["kind"] + "Binding", "metadata": o["metadata"],
                         "subjects": subject, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": o["kind"], "name": "named"}})
    until(lambda: ("rights", "ok") in doctor(tmp_path, path, expect=None)[0])
    found, _ = doctor(tmp_path, path)
    assert ("rights in the cluster", "ok") in found
