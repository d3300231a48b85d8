"""What nodes and volumes have of a real cluster and not of kwok: a CSINode for each node, and a provisioner of volumes."""
import threading

from lib.kube import ApiError

ZONE = "topology.kubernetes.io/zone"
SELECTED = "volume.kubernetes.io/selected-node"
CLAIMS, VOLUMES, CSI = "/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/persistentvolumes", "/apis/storage.k8s.io/v1/csinodes"


class Servants(threading.Thread):
    def __init__(self, plane):
        super().__init__(daemon=True, name="servants")
        self.c, self.over = plane.client_of("machines"), threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join(60)

    def run(self):
        while not self.over.wait(0.2):  # wait: what they look at changes at any time
            try:
                nodes = {n["metadata"]["name"]: n for n in self.c.get("/api/v1/nodes")["items"]}
                self.kubelets(nodes)
                self.provision(nodes)
            except (OSError, ApiError):  # its object went meanwhile: tried again
                pass

    def kubelets(self, nodes):
        """The scheduler tries a pod that lacked an attachment again when a CSINode comes, not when a node does."""
        have = {o["metadata"]["name"] for o in self.c.get(CSI)["items"]}
        for name in nodes.keys() - have:
            self.c.call("POST", CSI, {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": []}})
        for name in have - nodes.keys():
            self.c.delete(f"{CSI}/{name}")

    def provision(self, nodes):
        """A volume where the scheduler has chosen a node for its first consumer."""
        for claim in self.c.get(CLAIMS)["items"]:
            meta, spec = claim["metadata"], claim["spec"]
            node = nodes.get(meta.get("annotations", {}).get(SELECTED))
            if not node or spec.get("volumeName"):
                continue
            zone = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [node["metadata"]["labels"][ZONE]]}]}
            self.c.call("POST", VOLUMES, {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"made-{meta['name']}"}, "spec": {
                "storageClassName": spec["storageClassName"], "accessModes": spec["accessModes"], "capacity": spec["resources"]["requests"],
                "csi": {"driver": "disk.example.com", "volumeHandle": meta["name"]}, "nodeAffinity": {"required": {"nodeSelectorTerms": [zone]}},
                "claimRef": {"name": meta["name"], "namespace": "default", "uid": meta["uid"]}}})
