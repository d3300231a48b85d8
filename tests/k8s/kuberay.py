"""A stand-in for the KubeRay operator: what it does to a RayCluster's objects.

    with Operator(plane): ...

As KubeRay 1.7 does it, in its order: head service, service account, Role,
RoleBinding, head pod; then for each worker group
- failed and finished pods are deleted, and nothing is created in that round;
- workersToDelete are deleted, whatever `replicas` says, and stay in the spec;
- pods are created up to replicas x numOfHosts, within minReplicas and
  maxReplicas; the spec is not changed;
- too many pods: nothing, the autoscaler alone decides what to delete;
- while a pod it deleted still ends, it does not look at that group;
- numOfHosts > 1: whole replicas come and go, and one that misses a host goes;
- suspend: all pods of the group are deleted;
- a pod that cannot be made (a quota): condition ReplicaFailure, the groups
  after it wait, and it tries again.
"""
import concurrent.futures
import queue
import random
import threading
import time

from lib.kube import RAY, SOON, ApiError, Informer, clusters_path, key, path_of, pods_path, until

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"  # as generateName's
RBAC = "/apis/rbac.authorization.k8s.io/v1"
RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]},
    {"apiGroups": [""], "resources": ["pods/resize"], "verbs": ["patch"]},
    {"apiGroups": ["ray.io"], "resources": ["rayclusters"], "verbs": ["get", "patch"]}]
START = "ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace $(RAY_CLUSTER_NAMESPACE)"
RETRY = 0.25  # s; the real one backs off from 5 ms


class Operator(threading.Thread):
    """paused=True: it sees nothing and does nothing until .resume()."""

    def __init__(self, plane, multi_host=True, threads=4, paused=False):
        super().__init__(daemon=True, name="kuberay")
        self.c = plane.client_of("kuberay-operator")
        self.multi_host = multi_host
        self.todo, self.ended = queue.Queue(), threading.Event()
        self.going = threading.Event()
        self.expected = {}  # (cluster, group): names of pods deleted by us that are still there
        self.around = set()
        self.clusters = Informer(self.c, f"{RAY}/rayclusters", self.saw_cluster)
        self.pods = Informer(self.c, pods_path("", labelSelector="ray.io/cluster"), self.saw_pod)
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.created = self.deleted = 0  # worker pods, ever
        self.begun = self.done = 0  # looks
        self.errors = []
        if not paused:
            self.going.set()

    def __enter__(self):
        self.clusters.start()
        self.pods.start()
        self.clusters.synced.wait(SOON)
        self.pods.synced.wait(SOON)
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.going.set()
        self.todo.put(None)
        self.clusters.stop()
        self.pods.stop()
        self.join(SOON)
        self.pool.shutdown()

    def pause(self):
        self.going.clear()

    def resume(self):
        self.going.set()

    def looked(self):
        """It has looked at all that the API server has now, and done what it does about that."""
        begun = self.begun
        for path, informer in ((f"{RAY}/rayclusters", self.clusters), (pods_path("", labelSelector="ray.io/cluster"), self.pods)):
            until(lambda: {key(o): o["metadata"]["resourceVersion"] for o in self.c.get(path)["items"]} ==
                  {key(o): o["metadata"]["resourceVersion"] for o in informer.all()})
            begun = self.begun
        self.saw_cluster(None)
        until(lambda: self.done > begun)

    # ---- what there is to look at

    def saw_cluster(self, obj):
        for o in [obj] if obj else self.clusters.all():
            self.todo.put(key(o))

    def saw_pod(self, obj):
        if obj is None:
            self.saw_cluster(None)
        else:
            self.todo.put((obj["metadata"]["namespace"], obj["metadata"]["labels"]["ray.io/cluster"]))

    def run(self):
        while not self.ended.is_set():
            keys = {self.todo.get()}
            time.sleep(0.01)  # wait: several changes, one look: it is what a work queue does
            while not self.todo.empty():
                keys.add(self.todo.get())
            self.going.wait()
            self.begun += 1
            for k in keys - {None}:
                if self.ended.is_set():
                    return
                try:
                    self.reconcile(k)
                except Exception as e:  # as a controller: said, and tried again
                    self.errors.append(f"{k}: {e!r}")
                    threading.Timer(RETRY, self.todo.put, [k]).start()
            self.done = self.begun

    def reconcile(self, k):
        cluster = self.clusters.objects.get(k)
        if cluster is None or "deletionTimestamp" in cluster["metadata"]:
            return  # the garbage collector ends the pods
        spec = cluster["spec"]
        pods = [p for p in self.pods.all() if p["metadata"]["namespace"] == k[0] and
                p["metadata"]["labels"].get("ray.io/cluster") == k[1]]
        self.surroundings(cluster)
        heads = [p for p in pods if p["metadata"]["labels"].get("ray.io/node-type") == "head"]
        if not heads:
            self.create(self.head_pod(cluster))
        failure = None
        try:  # what a group fails on keeps those after it from their turn
            for group in spec.get("workerGroupSpecs", []):
                mine = [p for p in pods if p["metadata"]["labels"].get("ray.io/group") == group["groupName"] and
                        p["metadata"]["labels"].get("ray.io/node-type") == "worker"]
                self.group(cluster, group, mine)
        except ApiError as e:
            failure = e
        self.status(cluster, failure)
        if failure:
            raise failure

    # ---- one worker group

    def group(self, cluster, group, pods):
        m = cluster["metadata"]
        self.awaits = self.expected.setdefault((m["uid"], group["groupName"]), set())
        self.awaits &= {p["metadata"]["name"] for p in pods}
        if self.awaits:
            return
        if group.get("suspend"):
            self.delete(pods)
            return
        if group.get("numOfHosts", 1) > 1 and self.multi_host:
            return self.hosts(cluster, group, pods)
        ill = [p for p in pods if unhealthy(p)]
        if ill:
            self.delete(ill)
            return  # looked at again when they are gone
        doomed = set(group.get("scaleStrategy", {}).get("workersToDelete") or [])
        self.delete_names(cluster["metadata"]["namespace"], doomed)
        left = [p for p in pods if p["metadata"]["name"] not in doomed]
        missing = desired(group) * max(1, group.get("numOfHosts", 1)) - len(left)
        if missing > 0:
            taken = {int(p["metadata"]["labels"].get("ray.io/worker-group-replica-index", -1)) for p in left}
            free = (i for i in range(1 << 30) if i not in taken)
            self.create_all([self.worker_pod(cluster, group, next(free)) for _ in range(missing)])

    def hosts(self, cluster, group, pods):
        n, replicas = group["numOfHosts"], {}
        for p in pods:
            replicas.setdefault(p["metadata"]["labels"].get("ray.io/worker-group-replica-name"), []).append(p)
        for members in replicas.values():
            if len(members) < n:
                self.delete(members)
                return  # looked at again when they are gone
        names = set(group.get("scaleStrategy", {}).get("workersToDelete") or [])
        doomed = [p for members in replicas.values() for p in members
                  if any(q["metadata"]["name"] in names or unhealthy(q) for q in members)]
        if doomed:
            self.delete(doomed)
            return
        missing = desired(group) - len(replicas)
        taken = {int(m[0]["metadata"]["labels"]["ray.io/worker-group-replica-index"]) for m in replicas.values()}
        free = (i for i in range(1 << 30) if i not in taken)
        for _ in range(max(0, missing)):
            index, replica = next(free), f"{group['groupName']}-{suffix()}"
            self.create_all([self.worker_pod(cluster, group, index, replica, host) for host in range(n)])

    # ---- writes

    def create_all(self, pods):
        list(self.pool.map(self.create, pods))

    def create(self, pod):
        self.pods.put(self.c.post(pods_path(pod["metadata"]["namespace"]), pod))
        self.created += pod["metadata"]["labels"]["ray.io/node-type"] == "worker"

    def delete(self, pods):
        for p in pods:
            self.delete_names(p["metadata"]["namespace"], [p["metadata"]["name"]])

    def delete_names(self, namespace, names):
        for name in names:
            if self.c.delete(pods_path(namespace, name)) is not None:  # else one long gone: no harm
                self.awaits.add(name)
                self.deleted += 1

    def surroundings(self, cluster):
        m = cluster["metadata"]
        if m["uid"] in self.around:
            return
        name, namespace = m["name"], m["namespace"]
        meta = {"name": name, "namespace": namespace, "ownerReferences": owner(cluster),
                "labels": {"ray.io/cluster": name, "app.kubernetes.io/created-by": "kuberay-operator"}}
        selector = {"ray.io/cluster": name, "ray.io/node-type": "head"}
        wanted = [("/api/v1", "services", {
            "metadata": dict(meta, name=f"{name}-head-svc"),
            "spec": {"clusterIP": "None", "selector": selector,
                     "ports": [{"name": "gcs-server", "port": 6379}, {"name": "dashboard", "port": 8265}]}})]
        if cluster["spec"].get("enableInTreeAutoscaling"):
            wanted += [
                ("/api/v1", "serviceaccounts", {"metadata": meta}),
                (RBAC, "roles", {"metadata": meta, "rules": RULES}),
                (RBAC, "rolebindings", {
                    "metadata": meta,
                    "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}})]
        for group, resource, body in wanted:
            status, reply = self.c.call("POST", path_of(group, namespace, resource), body)
            if status not in (201, 409):
                raise ApiError("POST", resource, status, reply)
        self.around.add(m["uid"])

    def status(self, cluster, failure=None):
        m, spec = cluster["metadata"], cluster["spec"]
        pods = [p for p in self.pods.all() if p["metadata"]["namespace"] == m["namespace"] and
                p["metadata"]["labels"].get("ray.io/cluster") == m["name"]]
        workers = [p for p in pods if p["metadata"]["labels"]["ray.io/node-type"] == "worker"]
        head = next((p for p in pods if p["metadata"]["labels"]["ray.io/node-type"] == "head"), {"metadata": {}})
        groups = spec.get("workerGroupSpecs", [])
        new = {
            "state": "ready" if head.get("status", {}).get("phase") == "Running" else "",
            "desiredWorkerReplicas": sum(desired(g) * g.get("numOfHosts", 1) for g in groups),
            "minWorkerReplicas": sum(g.get("minReplicas", 0) for g in groups),
            "availableWorkerReplicas": sum(p.get("status", {}).get("phase") == "Running" for p in workers),
            "observedGeneration": m["generation"],
            "head": {"podName": head["metadata"].get("name", ""), "serviceName": f"{m['name']}-head-svc",
                     "podIP": head.get("status", {}).get("podIP", "")}}
        old = cluster.get("status", {})
        new["conditions"] = [c for c in old.get("conditions", []) if c["type"] != "ReplicaFailure"]
        if failure:
            said = next((c for c in old.get("conditions", []) if c["type"] == "ReplicaFailure"), None)
            new["conditions"].append(said or {
                "type": "ReplicaFailure", "status": "True", "reason": "FailedCreateWorkerPod",
                "message": f"FailedCreateWorkerPod\n{failure.reply.get('message')}",
                "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        if all(old.get(k) == v for k, v in new.items()):
            return
        reply = self.c.patch(clusters_path(m["namespace"], m["name"]) + "/status", {"status": new})
        self.clusters.put(reply)

    # ---- pods

    def head_pod(self, cluster):
        m, spec = cluster["metadata"], cluster["spec"]
        pod = copied(spec["headGroupSpec"]["template"])
        pod["metadata"].update(
            name=f"{m['name']}-head" if len(m["name"]) < 50 else f"{m['name'][:50]}-head",
            namespace=m["namespace"], ownerReferences=owner(cluster))
        pod["metadata"].setdefault("labels", {}).update(labels(m["name"], "head", "headgroup"))
        if spec.get("enableInTreeAutoscaling"):
            pod["spec"]["serviceAccountName"] = m["name"]
            pod["spec"]["restartPolicy"] = "Never"
            pod["spec"]["containers"].append(self.sidecar(spec, pod))
            pod["spec"].setdefault("volumes", []).append({"name": "ray-logs", "emptyDir": {}})
        return pod

    def sidecar(self, spec, pod):
        options = spec.get("autoscalerOptions", {})

        def field(name, path):
            return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        default = {"cpu": "500m", "memory": "512Mi"}
        return {
            "name": "autoscaler", "image": options.get("image", pod["spec"]["containers"][0].get("image", "ray")),
            "env": [field("RAY_CLUSTER_NAME", "metadata.labels['ray.io/cluster']"),
                    field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"),
                    field("RAY_HEAD_POD_NAME", "metadata.name"), {"name": "KUBERAY_CRD_VER", "value": "v1"},
                    {"name": "KUBERAY_GEN_AUTOSCALER_START_CMD", "value": START}, *options.get("env", [])],
            "command": options.get("command", ["/bin/bash", "-c", "--"]), "args": options.get("args", [START]),
            "resources": options.get("resources", {"limits": default, "requests": default}),
            "volumeMounts": [{"name": "ray-logs", "mountPath": "/tmp/ray"}]}

    def worker_pod(self, cluster, group, index, replica=None, host=0):
        m = cluster["metadata"]
        pod = copied(group["template"])
        name = f"{m['name']}-{group['groupName']}"[:50]
        pod["metadata"].update(namespace=m["namespace"], generateName=f"{name}-worker-", ownerReferences=owner(cluster))
        more = dict(pod["metadata"].get("labels", {}), **group.get("labels", {}))
        more.update(labels(m["name"], "worker", group["groupName"]))
        if self.multi_host:
            more["ray.io/worker-group-replica-index"] = str(index)
            if replica:
                more["ray.io/worker-group-replica-name"] = replica
                more["ray.io/replica-host-index"] = str(host)
        pod["metadata"]["labels"] = more
        small = {"cpu": "200m", "memory": "256Mi"}
        pod["spec"].setdefault("initContainers", []).append({
            "name": "wait-gcs-ready", "image": pod["spec"]["containers"][0].get("image", "ray"),
            "resources": {"limits": small, "requests": small}})
        if cluster["spec"].get("enableInTreeAutoscaling"):
            pod["spec"]["restartPolicy"] = "Never"
        return pod


def desired(group):
    low, high = group.get("minReplicas", 0), group.get("maxReplicas", 2**31 - 1)
    if group.get("suspend"):
        return 0
    wanted = group.get("replicas")
    return low if wanted is None or wanted < low else min(wanted, high)


def unhealthy(pod):
    return pod.get("status", {}).get("phase") in ("Failed", "Succeeded")


def labels(cluster, kind, group):
    return {"ray.io/is-ray-node": "yes", "ray.io/cluster": cluster, "ray.io/node-type": kind, "ray.io/group": group,
            "ray.io/identifier": f"{cluster}-{kind}"[-63:].lstrip("-"), "app.kubernetes.io/name": "kuberay",
            "app.kubernetes.io/created-by": "kuberay-operator"}


def owner(cluster):
    m = cluster["metadata"]
    return [{"apiVersion": "ray.io/v1", "kind": "RayCluster", "name": m["name"], "uid": m["uid"],
             "controller": True, "blockOwnerDeletion": True}]


def copied(template):
    """A pod from a template, with an image where the tests' manifests leave it out."""
    spec = dict(template["spec"], containers=[dict({"image": "ray"}, **c) for c in template["spec"]["containers"]])
    for k in ("initContainers", "volumes"):
        if k in spec:
            spec[k] = list(spec[k])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": dict(template.get("metadata", {})), "spec": spec}


def suffix():
    return "".join(random.choices(ALPHABET, k=5))  # any will do
