"""Real raylets for the worker pods that kwok only plays.

    with PodRaylets(plane, ray): ...    # ray: a running raycluster.RayCluster

A worker pod that runs gets a raylet with the pod's name as its instance id and
the group as its type, as KubeRay's environment says it; one that is being
deleted loses it as SIGTERM ends it.  When a raylet ends by itself, as it does
once drained, so does its pod.
"""
import math
import signal
import threading

from lib.kube import ApiError, pods_path


def quantity(text):
    """"3" -> 3, "500m" -> 0.5, "50Gi" -> bytes"""
    text = str(text)
    units = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
    for unit in sorted(units, key=len, reverse=True):
        if text.endswith(unit):
            return float(text[:-len(unit)]) * units[unit]
    return float(text)


def resources_of(pod):
    """What Ray would find in the pod: CPU, GPU, memory of its first container."""
    got = pod["spec"]["containers"][0].get("resources", {})
    got = {**got.get("requests", {}), **got.get("limits", {})}
    names = {"cpu": "CPU", "memory": "memory", "nvidia.com/gpu": "GPU"}
    found = {names.get(k, k): quantity(v) for k, v in got.items()}
    if "CPU" in found:
        found["CPU"] = float(math.ceil(found["CPU"]))
    return found


def end_pod(c, pod):
    """As the kubelet says it when the container ended and is not started again."""
    c.call("PATCH", pods_path(pod["metadata"]["namespace"], pod["metadata"]["name"]) + "/status",
           {"status": {"phase": "Failed", "reason": "Error"}})


class PodRaylets(threading.Thread):
    def __init__(self, plane, ray, namespace="default", cluster=None, every=0.1):
        super().__init__(daemon=True, name="raylets")
        self.c, self.ray, self.every = plane.client_of("machines"), ray, every
        label = f"ray.io/cluster={cluster}" if cluster else "ray.io/cluster"
        self.path = pods_path(namespace, labelSelector=f"{label},ray.io/node-type=worker")
        self.ended, self.errors = threading.Event(), []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join(30)
        for name in list(self.ray.workers):
            self.ray.kill_worker(name, signal.SIGTERM)

    def run(self):
        while not self.ended.wait(self.every):
            try:
                self.look()
            except (OSError, ApiError) as e:  # a plane that restarts
                self.errors.append(repr(e))

    def look(self):
        pods = {p["metadata"]["name"]: p for p in self.c.get(self.path)["items"]
                if p["status"].get("phase") == "Running" and "deletionTimestamp" not in p["metadata"]}
        for name in [n for n in self.ray.workers if n not in pods]:
            self.ray.kill_worker(name, signal.SIGTERM)
        for name in [n for n, w in self.ray.workers.items() if w.process.poll() is not None]:
            end_pod(self.c, pods.pop(name))
        for name, pod in pods.items():
            if name not in self.ray.workers:
                has = resources_of(pod)
                self.ray.add_worker(name, cpus=int(has.pop("CPU", 1)), gpus=int(has.pop("GPU", 0)),
                                    type=pod["metadata"]["labels"]["ray.io/group"], instance_id=name,
                                    memory=int(has.pop("memory", 0)) or None, resources=has or None, wait=False)
