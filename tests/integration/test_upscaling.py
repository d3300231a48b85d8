"""Upscaling modes by every name they have: how many machines of one type may be on their way at once.

KubeRay: Conservative is upscaling_speed 1, Default has no limit, Aggressive is another word for Default.
Ray: upscaling_speed times the ready nodes of the type, at least 5; requests and mins are exempt.
"""
import json
import subprocess

import pytest

from lib import DAVIT

DAVIT_YAML = """
cluster: up
providers: {sim: {}}
limits: {max_nodes: 200%s}
node_types:
  cpu: {provider: sim, resources: {CPU: 1}, price: 0.1, max: 150}
"""
KUBERAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: up}
spec:
  enableInTreeAutoscaling: true
  autoscalerOptions: {idleTimeoutSeconds: 60%s}
  headGroupSpec:
    rayStartParams: {}
    template: {spec: {containers: [{name: head}]}}
  workerGroupSpecs:
    - groupName: cpu
      minReplicas: 0
      maxReplicas: 150
      rayStartParams: {}
      template: {spec: {containers: [{name: ray, resources: {limits: {cpu: "1", memory: 1Gi}}}]}}
"""
RAY = """
cluster_name: up
provider: {type: gcp, region: us-west1, project_id: p, availability_zone: us-west1-a}
max_workers: 200
%s
head_node_type: head
available_node_types:
  head: {resources: {CPU: 1}, max_workers: 0, node_config: {machineType: n1-standard-2}}
  cpu: {resources: {CPU: 1}, min_workers: 0, max_workers: 150, node_config: {machineType: n1-standard-2}}
"""
# text, with that in it: machines bought at once with 0, 3 and 20 ready ones; Ray rounds up
MODES = [
    (DAVIT_YAML, "", 100, 100, 100),
    (DAVIT_YAML, ", upscaling: Default", 100, 100, 100),
    (DAVIT_YAML, ", upscaling: Aggressive", 100, 100, 100),
    (DAVIT_YAML, ", upscaling: Conservative", 5, 5, 20),
    (DAVIT_YAML, ", upscaling_speed: 0.5", 5, 5, 10),
    (DAVIT_YAML, ", upscaling_speed: 1", 5, 5, 20),
    (DAVIT_YAML, ", upscaling_speed: 2.5", 5, 8, 50),
    (KUBERAY, "", 100, 100, 100),
    (KUBERAY, ", upscalingMode: Default", 100, 100, 100),
    (KUBERAY, ", upscalingMode: Aggressive", 100, 100, 100),
    (KUBERAY, ", upscalingMode: Conservative", 5, 5, 20),
    (RAY, "", 5, 5, 20),
    (RAY, "upscaling_speed: 2.5", 5, 8, 50),
]


def launched(path, ready, key):
    nodes = [{"id": f"n{i}", "type": "cpu", "total": {"CPU": 1}, "available": {}} for i in range(ready)]
    asked = [{"bundles": [{"CPU": 1, "count": ready + 100 if key == "requests" else 100}]}]
    p = subprocess.run([DAVIT, "plan", "--json", "--set", "nodes=" + json.dumps(nodes), "--set", f"{key}=" + json.dumps(asked),
                        str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    plan = json.loads(p.stdout)
    plan = plan.get("after", plan)
    return sum(l["count"] for l in plan["launches"] if l["type"] == "cpu")


@pytest.mark.parametrize("text,mode,none,three,twenty", MODES)
def test_how_many_at_once(tmp_path, text, mode, none, three, twenty):
    path = tmp_path / "config.yaml"
    path.write_text(text % mode)
    assert [launched(path, n, "demands") for n in (0, 3, 20)] == [none, three, twenty]
    assert launched(path, 0, "requests") == 100


def test_speed_buys_no_other_type(tmp_path):
    """A Ray cluster YAML has upscaling_speed 1, as in Ray: five of the cheapest type that does it, and none of
    another because that may start now."""
    path = tmp_path / "config.yaml"
    path.write_text(RAY % "" + "  dear: {resources: {CPU: 1}, min_workers: 0, max_workers: 150, node_config: {machineType: n1-standard-16}}\n")
    p = subprocess.run([DAVIT, "plan", "--json", "--set", "demands=" + json.dumps([{"bundles": [{"CPU": 1, "count": 100}]}]),
                        str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    plan = json.loads(p.stdout)
    plan = plan.get("after", plan)
    assert [(l["type"], l["count"]) for l in plan["launches"]] == [("cpu", 5)]
    assert [b["waiting"] for b in plan["bundles"]] == [95]
    assert [(r["type"], r["why"]) for b in plan["bundles"] for r in b["refusals"]] == [("cpu", "launch_limit")]
