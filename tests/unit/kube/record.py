"""Records pods as a real API server gives them back: tests/unit/kube/pods.json, which test_wire_pods.c reads.

    DAVIT_K8S_BINS=... PYTHONPATH=tests tests/netns.sh python tests/unit/kube/record.py

Each row says what it is about, the pod, and what is expected of it.  Pods that no API server would take are changed
after they were recorded.
"""
import copy
import json
import pathlib

from lib.kube import pods_path
from lib.plane import Plane

HERE = pathlib.Path(__file__).resolve().parent

GPU, GI = "nvidia.com/gpu", 2**30
NOT_OTHERS = "davit.io/gpu not in (amd.com.gpu, gpu.intel.com.i915, gpu.intel.com.xe)"
ANTI = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def box(requests=None, limits=None, **more):
    r = {k: v for k, v in (("requests", requests), ("limits", limits)) if v}
    return {"name": more.pop("name", "c"), "image": "x", **({"resources": r} if r else {}), **more}


def affinity(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
        {"matchExpressions": [dict(zip(("key", "operator", "values"), e)) for e in t]} for t in terms]}}}


def needs(cpu=0, memory=0, **more):
    return {"pods": 1, **more, **({"CPU": cpu} if cpu else {}), **({"memory": memory} if memory else {})}


def rows():
    small = [box({"cpu": "1"})]
    gpu = [box(limits={GPU: "1"})]
    yield "cpu in millis, memory in Mi", {"containers": [box({"cpu": "250m", "memory": "64Mi"})]}, {
        "needs": needs(0.25, 64 * 2**20), "alts": [""]}
    yield "a limit without a request is the request", {"containers": [box(limits={"cpu": "2", "memory": "1G"})]}, {
        "needs": needs(2, 10**9)}
    yield "a GPU, and not the taint of its name", {"containers": gpu}, {
        "needs": needs(GPU=1), "alts": [NOT_OTHERS]}
    yield "eight GPUs of two containers", {"containers": [box(limits={GPU: 4}), box(limits={GPU: 4}, name="d")]}, {
        "needs": needs(GPU=8)}
    yield "AMD", {"containers": [box(limits={"amd.com/gpu": 2})]}, {
        "needs": needs(GPU=2), "alts": ["davit.io/gpu in (amd.com.gpu)"]}
    yield "TPU", {"containers": [box(limits={"google.com/tpu": 4})]}, {"needs": needs(TPU=4), "alts": [""]}
    yield "Neuron", {"containers": [box(limits={"aws.amazon.com/neuroncore": 2})]}, {
        "needs": {"pods": 1, "neuron_cores": 2}}
    yield "Gaudi", {"containers": [box(limits={"habana.ai/gaudi": 8})]}, {"needs": needs(HPU=8)}
    yield "Ascend", {"containers": [box(limits={"huawei.com/Ascend910": 8})]}, {"needs": needs(NPU=8)}
    yield "a MIG slice keeps its name", {"containers": [box(limits={"nvidia.com/mig-1g.10gb": 1})]}, {
        "needs": {"pods": 1, "nvidia.com/mig-1g.10gb": 1}, "alts": [""]}
    yield "a shared GPU keeps its name", {"containers": [box(limits={"nvidia.com/gpu.shared": 1})]}, {
        "needs": {"pods": 1, "nvidia.com/gpu.shared": 1}}
    yield "hugepages and local disk", {"containers": [box(
        {"cpu": 1, "memory": "1Gi", "hugepages-2Mi": "4Mi", "ephemeral-storage": "3Gi"},
        {"hugepages-2Mi": "4Mi", "memory": "1Gi"})]}, {
        "needs": {"pods": 1, "CPU": 1, "memory": GI, "hugepages-2Mi": 4 * 2**20, "ephemeral-storage": 3 * GI}}
    yield "the largest init container", {"initContainers": [box({"cpu": 3}, name="i"), box({"cpu": 2, "memory": "2Gi"},
                                         name="j")], "containers": [box({"cpu": 1, "memory": "1Gi"})]}, {
        "needs": needs(3, 2 * GI)}
    yield "a sidecar counts with the rest", {"initContainers": [box({"cpu": 1}, name="s", restartPolicy="Always")],
                                             "containers": [box({"cpu": 2})]}, {"needs": needs(3)}
    yield "an init container beside the sidecars before it", {
        "initContainers": [box({"cpu": 1}, name="s", restartPolicy="Always"), box({"cpu": 5}, name="i"),
                           box({"cpu": 2}, name="t", restartPolicy="Always")], "containers": [box({"cpu": 1})]}, {
        "needs": needs(6)}
    yield "a pod's own requests go before its containers'", {
        "resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "3"}}, "containers": [box({"cpu": 1}), box(name="d")]}, {
        "needs": needs(3)}
    yield "nodeSelector", {"containers": small, "nodeSelector": {"pool": "a"}}, {"alts": ["pool in (a)"]}
    yield "an old key by its new name", {"containers": small, "nodeSelector": {
        "failure-domain.beta.kubernetes.io/zone": "z1"}}, {"alts": ["topology.kubernetes.io/zone in (z1)"]}
    yield "node affinity: all operators", {"containers": small, "affinity": affinity(
        [("a", "In", ["2", "1"]), ("b", "NotIn", ["x"]), ("c", "Exists", []), ("d", "DoesNotExist", []),
         ("e", "Gt", ["3"]), ("f", "Lt", ["9"])])}, {
        "alts": ["a in (1, 2) & b not in (x) & c exists & d does not exist & e > 3 & f < 9"]}
    yield "terms are alternatives in their order", {"containers": small, "nodeSelector": {"pool": "a"}, "affinity":
                                                    affinity([("g", "In", ["h100"])], [("g", "In", ["a100"])])}, {
        "alts": ["pool in (a) & g in (h100)", "pool in (a) & g in (a100)"]}
    yield "preferences bind nobody", {"containers": small, "affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {"matchExpressions": [
            {"key": "a", "operator": "Exists"}]}}]}}}, {"alts": [""]}
    yield "the spot label in GKE's words", {"containers": small, "nodeSelector": {"cloud.google.com/gke-spot": "true"}}, {
        "alts": ["cloud.google.com/gke-spot in (true)"]}
    yield "tolerations as they are", {"containers": small, "tolerations": [
        {"key": "a", "operator": "Exists", "effect": "NoSchedule"}, {"key": "b", "value": "c"}]}, {"tolerates": "b"}
    yield "anti-affinity to its own kind", {"containers": small, "affinity": {"podAntiAffinity": {REQUIRED: [ANTI]}}}, {
        "aparts": ["anti host self"]}
    yield "anti-affinity to another kind", {"containers": small, "affinity": {"podAntiAffinity": {REQUIRED: [
        {**ANTI, "labelSelector": {"matchLabels": {"app": "db"}}}]}}}, {"aparts": ["anti host"]}
    yield "affinity by zone", {"containers": small, "affinity": {"podAffinity": {REQUIRED: [
        {**ANTI, "topologyKey": "topology.kubernetes.io/zone"}]}}}, {"aparts": ["with zone self"]}
    yield "spread, and one that is only wished for", {"containers": small, "topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"app": "web"}}},
        {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
         "labelSelector": {"matchLabels": {"app": "web"}}}]}, {"aparts": ["spread zone self"]}
    yield "a host port", {"containers": [box({"cpu": 1}, ports=[{"containerPort": 80, "hostPort": 8080}])]}, {
        "aparts": ["port host self"]}
    yield "affinity by rack", {"containers": small, "affinity": {"podAffinity": {REQUIRED: [
        {**ANTI, "topologyKey": "example.com/rack"}]}}}, {"aparts": ["with rack"]}
    yield "priority", {"containers": small, "priorityClassName": "system-node-critical", "_space": "kube-system"}, {
        "priority": 2000001000}
    yield "a pod group of Kueue", {"containers": gpu, "_labels": {"kueue.x-k8s.io/pod-group-name": "g"},
                                   "_annotations": {"kueue.x-k8s.io/pod-group-total-count": "4"}}, {
        "gang": "default/g", "gang_size": 4}
    yield "a pod group of the scheduler plug-ins", {"containers": gpu, "_labels": {
        "scheduling.x-k8s.io/pod-group": "h"}}, {"gang": "default/h", "gang_size": 0}
    yield "of a Job", {"containers": gpu, "_owner": "Job"}, {"owner": "Job/default/own"}
    yield "of a DaemonSet: never demand", {"containers": small, "_owner": "DaemonSet"}, {"state": "waits", "code": ""}
    yield "gated", {"containers": gpu, "schedulingGates": [{"name": "kueue.x-k8s.io/admission"}],
                    "_reason": "SchedulingGated"}, {"state": "waits", "code": ""}
    yield "the scheduler has not spoken", {"containers": gpu, "_reason": ""}, {"state": "waits", "code": ""}
    yield "another scheduler's", {"containers": gpu, "schedulerName": "mine"}, {"state": "waits", "code": ""}
    yield "nominated", {"containers": gpu, "_status": {"nominatedNodeName": "n1"}}, {"state": "waits", "code": ""}
    yield "has a node", {"containers": gpu, "nodeName": "n1"}, {"state": "bound"}
    yield "is over", {"containers": gpu, "_status": {"phase": "Succeeded"}}, {"state": "over"}
    yield "a volume is missing", {"containers": gpu, "_message": "0/3 nodes are available: pod has unbound immediate "
                                  "PersistentVolumeClaims. not found"}, {"state": "demand"}
    yield "a taint that is not tolerated after all", {"containers": gpu, "_message": "0/1 nodes are available: 1 node(s) "
                                                      "had untolerated taint {nvidia.com/gpu: present}."}, {
        "intolerant": GPU}
    yield "names its node", {"containers": small, "affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}}, {
        "state": "waits", "code": "NamesNode"}
    yield "dynamic resource allocation", {"containers": small, "resourceClaims": [
        {"name": "r", "resourceClaimName": "x"}]}, {"state": "waits", "code": "ResourceClaims"}


def first(pod):
    return pod["spec"]["containers"][0]


def wrong(pod):
    """No API server takes these; a proxy or an old one might send them."""
    def change(what, **fields):
        p = copy.deepcopy(pod)
        what(p)
        return p, fields
    bad = {"state": "waits", "code": "ExtendedResource"}
    yield "half a GPU", *change(lambda p: first(p).update(resources={"limits": {GPU: "500m"}, "requests": {GPU: "500m"}}), **bad)
    yield "request and limit differ", *change(lambda p: first(p)["resources"]["requests"].update({GPU: "2"}), **bad)
    yield "a request without a limit", *change(lambda p: first(p).update(resources={"requests": {GPU: "1"}}), **bad)
    yield "a quantity that is none", *change(lambda p: first(p)["resources"].update(requests={"cpu": "lots"}),
                                             state="waits", code="BadQuantity")
    yield "a negative quantity", *change(lambda p: first(p)["resources"].update(requests={"memory": "-1Gi"}),
                                         state="waits", code="BadQuantity")
    yield "two vendors", *change(lambda p: first(p)["resources"].update(limits={GPU: "1", "amd.com/gpu": "1"}),
                                 state="waits", code="TwoVendors")
    yield "an operator that is none", *change(lambda p: p["spec"].update(affinity=affinity([("a", "Like", ["b"])])),
                                              state="waits", code="BadSelector")
    yield "affinity that fits nothing", *change(lambda p: p["spec"].update(affinity=affinity([])),
                                                state="waits", code="BadSelector")
    yield "containers are no list", *change(lambda p: p["spec"].update(containers="x"), state="demand", needs={"pods": 1})
    yield "no uid", *change(lambda p: p["metadata"].pop("uid"), state="none")
    yield "no spec", *change(lambda p: p.pop("spec"), state="none")


def record(plane, i, what, spec):
    spec = copy.deepcopy(spec)
    extra = {k: spec.pop(k) for k in list(spec) if k[0] == "_"}
    meta = {"name": f"row-{i}", "labels": {"app": "web", **extra.get("_labels", {})},
            "annotations": extra.get("_annotations", {})}
    if "_owner" in extra:
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": extra["_owner"], "name": "own", "uid": "1", "controller": True}]
    space = extra.get("_space", "default")
    plane.client.post(pods_path(space), {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
    status = dict(extra.get("_status", {}))
    reason = extra.get("_reason", "Unschedulable")
    if reason:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": reason,
                                 "message": extra.get("_message", "0/1 nodes are available: 1 Insufficient cpu.")}]
    if status:
        plane.client.patch(pods_path(space, f"row-{i}") + "/status", {"status": status})
    pod = plane.client.get(pods_path(space, f"row-{i}"))
    pod["metadata"].pop("managedFields", None)
    return pod


def main():
    table = []
    with Plane(scheduler=False, kcm=False, kwok=False) as plane:
        plane.client.call("POST", "/api/v1/namespaces", {"metadata": {"name": "kube-system"}})
        for i, (what, spec, expect) in enumerate(rows()):
            pod = record(plane, i, what, spec)
            table.append({"what": what, "expect": {"state": "demand", **expect}, "pod": pod})
            if what.startswith("a GPU"):
                gpu = pod
    for what, pod, expect in wrong(gpu):
        table.append({"what": what, "expect": expect, "pod": pod})
    (HERE / "pods.json").write_text(
        "[\n" + ",\n".join(json.dumps(r, sort_keys=True) for r in table) + "\n]\n")
    print(len(table), "pods")


main()
