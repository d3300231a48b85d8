"""Machines of the `sim` provider as Node objects of a plane, as kubelets would make them.

    with SimNodes(plane, tmp_path / "davit-sim.json", {
            "t4": Template(cpu=8, memory="30Gi", gpus=1, labels={...}, taints=[...], device_delay=0.5)}):

A machine that runs gets a Node of its id; one that ended loses it.  With
device_delay the node first shows no GPU, as before the device plug-in speaks.
"""
import dataclasses
import json
import pathlib
import threading
import time

from lib.kube import ApiError, until

GPU = "nvidia.com/gpu"


@dataclasses.dataclass
class Template:
    cpu: object = 8
    memory: str = "32Gi"
    gpus: int = 0
    pods: int = 110
    resource: str = GPU
    labels: dict = dataclasses.field(default_factory=dict)
    taints: list = dataclasses.field(default_factory=list)
    reserved: dict = dataclasses.field(default_factory=dict)  # allocatable instead of capacity, by resource
    device_delay: float = 0.0
    more: dict = dataclasses.field(default_factory=dict)  # other resources

    def status(self, devices=True):
        capacity = {"cpu": str(self.cpu), "memory": self.memory, "pods": str(self.pods), **self.more}
        if self.gpus and devices:
            capacity[self.resource] = str(self.gpus)
        return {"capacity": capacity, "allocatable": dict(capacity, **self.reserved)}

    def node(self, name, provider_id="", labels=None, devices=True):
        node = {"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                                                      "kubernetes.io/arch": "amd64", **self.labels, **(labels or {})}},
                "spec": {"taints": self.taints}, "status": self.status(devices)}
        if provider_id:
            node["spec"]["providerID"] = provider_id
        return node


def add_node(plane, name, template=None, **more):
    """A node of no provider's; ready when this returns."""
    plane.client.post("/api/v1/nodes", (template or Template(**more)).node(name))
    until(lambda: is_ready(plane.client.get(f"/api/v1/nodes/{name}")), why=f"node {name} is not ready")


def is_ready(node):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in node["status"].get("conditions", []))


class SimNodes(threading.Thread):
    def __init__(self, plane, state, templates, provider_id="sim://{id}", type_label="davit-test/type", every=0.02):
        super().__init__(daemon=True, name="simnodes")
        self.plane, self.c = plane, plane.client_of("machines")
        self.state, self.templates = pathlib.Path(state), templates
        self.provider_id, self.type_label, self.every = provider_id, type_label, every
        self.ended, self.made, self.late, self.errors = threading.Event(), {}, {}, []
        self.ever = 0  # nodes made, ever
        self.clocks = None  # of the daemon that writes the file

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join(60)

    def machines(self):
        """By id, those of the file that run now."""
        try:
            cloud = json.loads(self.state.read_text())
        except (OSError, ValueError):
            return None  # not there yet
        now = time.time() * 1000 + (self.clocks.get()[0] if self.clocks else 0)
        return {m["id"]: m for m in cloud["machines"] if m["running_ms"] <= now and
                not (m.get("gone_ms") and now >= m["gone_ms"]) and not (m.get("fails_ms") and now >= m["fails_ms"])}

    def run(self):
        while not self.ended.wait(self.every):
            try:
                self.look()
            except (OSError, ApiError) as e:  # a plane that restarts: tried again
                self.errors.append(repr(e))
                self.ended.wait(0.1)  # wait: before it is tried again

    def look(self):
        machines = self.machines()
        if machines is None:
            return
        for name in [n for n in machines if n not in self.made]:
            self.add(name, machines[name])
        for name in [n for n in self.made if n not in machines]:
            self.c.delete(f"/api/v1/nodes/{name}")
            del self.made[name]
            self.late.pop(name, None)
        for name in [n for n, at in self.late.items() if time.monotonic() >= at]:
            self.c.patch(f"/api/v1/nodes/{name}/status", {"status": self.made[name].status()})
            del self.late[name]

    def add(self, name, machine):
        t = self.templates[machine["type"]]
        labels = {self.type_label: machine["type"]}
        if machine.get("zone"):
            labels["topology.kubernetes.io/zone"] = machine["zone"]
        status, reply = self.c.call("POST", "/api/v1/nodes", t.node(
            name, self.provider_id.format(**machine), labels, devices=not t.device_delay))
        if status not in (201, 409):
            raise ApiError("POST", "/api/v1/nodes", status, reply)
        self.made[name] = t
        self.ever += 1
        if t.device_delay:
            self.late[name] = time.monotonic() + t.device_delay
