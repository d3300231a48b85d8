"""Davit on a plane with node pools of the `sim` provider: configuration, account, nodes.

    with Pools(plane, tmp_path, TYPES, limits={...}) as d:    # a daemon.Daemon, and more
        d.count()          # {"t4": 40}: Node objects by type
"""
import collections
import json
import pathlib
import time

from lib.kube import SOON, Informer, until
from lib.daemon import Daemon
from kwoknodes import SimNodes, Template

PRODUCT = "nvidia.com/gpu.product"
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

# Three pools, prices so that each shape has one right place.
TYPES = {
    "t4": {"resources": {"CPU": 32, "memory": "120Gi", "GPU": 4}, "accelerator_type": "T4", "price": 2.0,
           "labels": {PRODUCT: "Tesla-T4"}, "taints": [TAINT], "max": 100},
    "a100": {"resources": {"CPU": 96, "memory": "1000Gi", "GPU": 8}, "accelerator_type": "A100", "price": 20.0,
             "labels": {PRODUCT: "NVIDIA-A100-SXM4-80GB"}, "taints": [TAINT], "max": 100},
    "cpu": {"resources": {"CPU": 16, "memory": "64Gi"}, "price": 0.5, "max": 100},
}

# What the documentation's ClusterRole gives; the manifests under configs/ are tested beside.
RULES = [
    {"apiGroups": [""], "resources": ["pods", "nodes", "namespaces"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch", "delete"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch", "update"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch", "update"]},
    {"apiGroups": ["apps"], "resources": ["daemonsets", "replicasets", "statefulsets"],
     "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["persistentvolumes", "persistentvolumeclaims", "namespaces"],
     "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses", "csinodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["scheduling.x-k8s.io"], "resources": ["podgroups"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update", "patch"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "update", "patch", "delete"]},
]
ACCOUNT = "davit"


def account(plane, rules=RULES, name=ACCOUNT):
    """A service account with a ClusterRole; its kubeconfig file."""
    rbac = "rbac.authorization.k8s.io"
    plane.apply(
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
         "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
         "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name}})
    return plane.kubeconfig_for("default", name)


def template(kind, **more):
    """The node a type's machine becomes."""
    r = kind["resources"]
    return Template(cpu=r["CPU"], memory=r["memory"], gpus=r.get("GPU", 0), labels=kind.get("labels", {}), taints=kind.get("taints", []),
                    more={k: str(v) for k, v in r.items() if k not in ("CPU", "memory", "GPU")}, **more)


def config(kubeconfig, types=TYPES, state="davit.db", sim=None, head=None, ray=None, **more):
    """davit.yaml as text (JSON is YAML); {port} is left to Daemon.  ray: the address of a Ray head too."""
    types = {n: {"provider": "sim", **{"boot": "1s", "options": {"boot": "400ms"}, **t}} for n, t in types.items()}
    return json.dumps({
        "cluster": "pools", "head": {"kubernetes": {"kubeconfig": str(kubeconfig), **(head or {})},
                                      **({"ray": {"address": ray}} if ray else {})},
        "api": {"listen": "127.0.0.1:PORT"}, "state": state,
        "providers": {"sim": {"state": "sim.json", "terminate": "100ms", **(sim or {})}},
        "node_types": types, **more}).replace("PORT", "{port}")


class Pools(Daemon):
    def __init__(self, plane, folder, types=TYPES, delays=None, env=None, start=True, nodes=True, **settings):
        self.plane, self.types = plane, types
        folder = pathlib.Path(folder)
        self.sim = folder / "sim.json"
        settings.setdefault("limits", {"idle_timeout": "3s"})
        self.nodes_of = SimNodes(plane, self.sim, {
            n: template(t, device_delay=(delays or {}).get(n, 0)) for n, t in types.items()}) if nodes else None
        super().__init__(folder, config(account(plane), types, **settings), start=False, env=env)
        if nodes:
            self.nodes_of.clocks = self.clocks
        if start:
            self.start()

    def __enter__(self):
        if self.nodes_of:
            self.nodes_of.__enter__()
        return self

    def __exit__(self, kind, *rest):
        try:
            if kind is not None:
                print(f"---- the daemon's log\n{self.text()[-8000:]}")
            super().__exit__(kind, *rest)
        finally:
            if self.nodes_of:
                self.nodes_of.__exit__()

    def machines(self):
        """Of the sim's file, those that were not ended: by type."""
        try:
            cloud = json.loads(self.sim.read_text())
        except (OSError, ValueError):
            return collections.Counter()
        return collections.Counter(m["type"] for m in cloud["machines"] if not m.get("gone_ms"))

    def joined(self, kind, n=1):
        """Those of the type, once the daemon has seen all n as nodes: only then has it their ray_id."""
        until(lambda: self.ready(kind) == n, why=lambda: f"{self.nodes()}")
        found = self.nodes(kind, "ready")
        assert all(x["ray_id"] for x in found), found
        return found

    def count(self):
        """Node objects by type."""
        found = self.plane.client.get("/api/v1/nodes")["items"]
        return dict(collections.Counter(n["metadata"]["labels"].get("davit-test/type", "") for n in found))

    def saw_all(self):
        """It has seen that all pods have their place: that is told half a second late at most."""
        until(lambda: not self.status()["demand"]["owners"], why=lambda: f"{self.status()['demand']}")

    def evictions(self, since=0):
        return [e for e in self.plane.audit(since, subresource="eviction", user=ACCOUNT) if e["verb"] == "create"]

    def deletions(self, since=0):
        return [e for e in self.plane.audit(since, resource="pods", user=ACCOUNT) if e["verb"] == "delete"]


class PodWatch(Informer):
    """Keeps when each pod was first seen unschedulable, and when bound."""

    def __init__(self, plane, namespace="default"):
        super().__init__(plane.client, f"/api/v1/namespaces/{namespace}/pods", lambda _: None)
        self.unschedulable, self.bound = {}, {}

    def __enter__(self):
        self.start()
        self.synced.wait(SOON)
        return self

    def __exit__(self, *_):
        self.stop()

    def put(self, obj, gone=False):
        name = obj["metadata"]["name"]
        if obj["spec"].get("nodeName"):
            self.bound.setdefault(name, time.time())
        elif any(c.get("reason") == "Unschedulable" for c in obj["status"].get("conditions", [])):
            self.unschedulable.setdefault(name, time.time())
        super().put(obj, gone)
