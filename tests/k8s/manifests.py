"""Objects that tests put into a plane."""

import yaml

from lib import ROOT



def gpu_guide(name="raycluster-gpu", **group):
    """The cluster of KubeRay's GPU guide, as configs/ has it; fields of its one worker group changed."""
    cluster = yaml.safe_load((ROOT / "configs" / "kuberay-gpu.raycluster.yaml").read_text())
    cluster["metadata"].update(name=name, namespace="default")
    cluster["spec"]["workerGroupSpecs"][0]["template"].setdefault("metadata", {})
    cluster["spec"]["workerGroupSpecs"][0].update(group)
    return cluster


def pod(name, gpus=0, cpu="100m", memory="64Mi", labels=None, annotations=None, resource="nvidia.com/gpu", **spec):
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": {}}
    if gpus:
        resources["limits"][resource] = str(gpus)
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": labels or {}, "annotations": annotations or {}},
            "spec": {"containers": [{"name": "c", "image": "x", "resources": resources}], **spec}}


def deployment(name, replicas, template, labels=None):
    """A Deployment of pods like `template`, one of pod()'s."""
    labels = labels or {"app": name}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": dict(labels={**template["metadata"]["labels"], **labels},
                                                   annotations=template["metadata"]["annotations"]),
                                  "spec": template["spec"]}}}


def pdb(name, labels, min_available):
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"},
            "spec": {"minAvailable": min_available, "selector": {"matchLabels": labels}}}
