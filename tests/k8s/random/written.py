"""Small clusters that are written down, with one thing each in which Davit and kube-scheduler once disagreed.

WORLDS are worlds as world.draw() makes them, by name; besides, a load or a DaemonSet may have a `spec` of its own, a type `resources`, and a
world `objects` that are there before the work.
"""
import copy

from world import HOST, RACK, REQUIRED, ZONE, node_affinity, term

RWO, RWOP, RWX = "ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"
REGION = "topology.kubernetes.io/region"
STORAGE = "/apis/storage.k8s.io/v1/storageclasses"
ONLY = {"key": "example.com/only", "value": "some", "effect": "NoSchedule"}


def kind(price=0.2, zones=("z-a",), cpu=4, most=10, labels=None, taints=(), resources=None):
    return {"cpu": cpu, "price": price, "max": most, "zones": list(zones), "labels": labels or {}, "taints": list(taints), "resources": resources or {}}


def load(name="w", n=1, cpu=1, **spec):
    return {"name": name, "replicas": n, "cpu": cpu, "features": [], "draw": 0, "spec": spec}


def old(name, zone="z-a", used=4, app="x", cpu=4, labels=None, taints=()):
    return {"name": name, "zone": zone, "labels": labels or {}, "cpu": cpu, "used": used, "app": app, "taints": list(taints)}


def agent(cpu="100m", selector=None, port=0, **spec):
    return {"name": "agent", "cpu": cpu, "port": port, "selector": selector or {}, "apart_from": "", "spec": spec}


def anti(*terms):
    return {"affinity": {"podAntiAffinity": {REQUIRED: list(terms)}}}


def beside(*terms):
    return {"affinity": {"podAffinity": {REQUIRED: list(terms)}}}


def spread(key, app="w", skew=1, **more):
    return {"topologySpreadConstraints": [{"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
                                           "labelSelector": {"matchLabels": {"app": app}}, **more}]}


def ports(*which, sidecar=False):
    box = {"name": "side", "image": "x", "ports": [{"containerPort": 80, **p} for p in which]}
    return {"initContainers": [{**box, "restartPolicy": "Always"}]} if sidecar else {"extra": [box]}


# ---- volumes

def claims(*names):
    return {"volumes": [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in names]}


def claim(name, storage="manual", volume=None, modes=(RWO,)):
    return ["/api/v1/namespaces/default/persistentvolumeclaims", {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
        "spec": {"storageClassName": storage, "accessModes": list(modes), "resources": {"requests": {"storage": "1Gi"}},
                 **({"volumeName": volume} if volume else {})}}]


def volume(name, of=None, key=ZONE, values=None, labels=None, driver=None, modes=(RWO,)):
    return ["/api/v1/persistentvolumes", {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name, "labels": labels or {}}, "spec": {
            "storageClassName": "manual", "accessModes": list(modes), "capacity": {"storage": "1Gi"},
            **({"csi": {"driver": driver, "volumeHandle": name}} if driver else {"hostPath": {"path": "/x"}}),
            **({"claimRef": {"name": of, "namespace": "default"}} if of else {}),
            **({"nodeAffinity": {"required": node_affinity(key, "In", values)[REQUIRED]}} if values else {})}}]


def storage(name, mode="WaitForFirstConsumer", zones=None):
    return [STORAGE, {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, "provisioner": "disk.example.com",
        "volumeBindingMode": mode, **({"allowedTopologies": [{"matchLabelExpressions": [{"key": ZONE, "values": zones}]}]} if zones else {})}]


def bound(name, values=None, modes=(RWO,), **more):
    """A claim and its volume."""
    return [volume(f"v-{name}", of=name, values=values, modes=modes, **more), claim(name, volume=f"v-{name}", modes=modes)]


def csi(node, count):
    return ["/apis/storage.k8s.io/v1/csinodes", {
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node},
        "spec": {"drivers": [{"name": "disk.example.com", "nodeID": node, "allocatable": {"count": count}}]}}]


def running(name, node, space="default", app="x", cpu="1", extra=(), **spec):
    return [f"/api/v1/namespaces/{space}/pods", {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": space, "labels": {"app": app}}, "spec": {
            "nodeName": node, "terminationGracePeriodSeconds": 0, "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}, *extra], **spec}}]


def ephemeral(storage_class):
    return {"volumes": [{"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "storageClassName": storage_class, "accessModes": [RWO], "resources": {"requests": {"storage": "1Gi"}}}}}}]}


WORLDS = {}


def world(name, types, loads, nodes=(), daemons=(), objects=()):
    loads = loads if isinstance(loads, list) else [loads]
    WORLDS[name] = copy.deepcopy({"seed": name, "types": types, "nodes": list(nodes), "daemons": list(daemons), "loads": loads, "objects": list(objects)})


AB = {"a": kind(zones=["z-a"]), "b": kind(0.3, ["z-b"])}
T, TWO, THREE = {"t": kind()}, {"t": kind(zones=["z-a", "z-b"])}, {"t": kind(zones=["z-a", "z-b", "z-c"])}
RACKS = {"t": kind(labels={RACK: "r1"}), "u": kind(0.3, labels={RACK: "r2"})}
HALF = {"t": kind(), "u": kind(0.3, labels={RACK: "r2"})}
FULL_B = [old("old-0", "z-b")]

# volumes
world("volume_in_a_zone", AB, load(**claims("c")), objects=bound("c", ["z-b"]))
world("volume_in_a_zone_of_one_type", TWO, load(**claims("c")), objects=bound("c", ["z-b"]))
world("volume_and_an_empty_node_elsewhere", AB, load(**claims("c")), [old("old-0", used=0)], objects=bound("c", ["z-b"]))
world("volume_that_waits_for_its_pod", AB, load(**claims("c")), objects=[volume("v", values=["z-b"]), claim("c")])
world("volumes_of_two_zones", AB, load(**claims("c", "d")), objects=bound("c", ["z-a"]) + bound("d", ["z-b"]))
world("volume_in_no_types_zone", AB, load(**claims("c")), objects=bound("c", ["z-x"]))
world("volume_of_a_full_host", T, load(**claims("c")), [old("old-0")], objects=bound("c", ["old-0"], key=HOST))
world("class_of_a_zone", AB, load(**claims("c")), objects=[storage("late", zones=["z-b"]), claim("c", "late")])
world("class_of_a_zone_ephemeral", AB, load(**ephemeral("late")), objects=[storage("late", zones=["z-b"])])
world("class_anywhere", AB, load(**claims("c")), objects=[storage("late"), claim("c", "late")])
world("volume_with_zone_labels", AB, load(**claims("c")), objects=bound("c", labels={ZONE: "z-b"}))
world("claim_that_is_not_there", T, load(**claims("c")))
world("claim_of_an_immediate_class", T, load(**claims("c")), objects=[storage("now", "Immediate"), claim("c", "now")])
world("attach_limit", T, load(**claims("c")), [old("old-0", used=1)], objects=[
    csi("old-0", 1), *bound("d", driver="disk.example.com"), *bound("c", driver="disk.example.com"), running("has", "old-0", **claims("d"))])
world("one_pod_at_a_time", T, load(**claims("c")), [old("old-0", used=1)], objects=[
    *bound("c", modes=(RWOP,)), running("has", "old-0", **claims("c"))])

# DaemonSets
world("apart_from_an_agent", T, load(**anti(term("agent", HOST))), daemons=[agent()])
world("an_agent_keeps_apart", T, load(), daemons=[agent(**anti(term("w", HOST)))])
world("apart_from_everybody", T, load(**anti({"labelSelector": {}, "topologyKey": HOST})), daemons=[agent()])
world("apart_from_an_agent_of_one_type", {"t": kind(labels={"disk": "ssd"}), "u": kind(0.3)}, load(**anti(term("agent", HOST))),
      daemons=[agent(selector={"disk": "ssd"})])
world("an_agents_port", T, load(**ports({"hostPort": 8080})), daemons=[agent(port=8080)])
world("an_agents_port_of_the_host_network", T, load(**ports({"hostPort": 9100})), daemons=[agent(
    hostNetwork=True, containers=[{"name": "c", "image": "x", "ports": [{"containerPort": 9100}]}])])
world("beside_an_agent", T, load(**beside(term("agent", HOST))), daemons=[agent()])
world("beside_an_agent_and_a_full_node", T, load(**beside(term("agent", HOST))), [old("old-0", used=3, cpu=4)], [agent("1")])
world("beside_an_agent_of_one_type", {"t": kind(), "u": kind(0.3, labels={"disk": "ssd"})}, load(**beside(term("agent", HOST))),
      daemons=[agent(selector={"disk": "ssd"})])
world("beside_an_agent_by_zone", TWO, load(**beside(term("agent", ZONE))), daemons=[agent()])
world("apart_from_an_agent_by_zone", {"a": kind(labels={"disk": "ssd"}), "b": kind(0.3, ["z-b"])}, load(**anti(term("agent", ZONE))),
      daemons=[agent(selector={"disk": "ssd"})])
world("an_agent_of_a_zone", AB, load(cpu=3), daemons=[agent("2", {ZONE: "z-a"})])
world("an_agent_of_a_zone_of_one_type", TWO, load(cpu=3), daemons=[agent("2", {ZONE: "z-a"})])
world("an_agent_not_in_a_zone", AB, load(cpu=3), daemons=[agent("2", affinity={"nodeAffinity": node_affinity(ZONE, "NotIn", ["z-b"])})])

# any label is a topology key
world("apart_by_rack", RACKS, load(n=2, **anti(term("w", RACK))))
world("beside_by_region", TWO, load(n=2, **beside(term("w", REGION))))
world("spread_by_rack", RACKS, load(n=4, **spread(RACK)), [old("old-0", labels={RACK: "r2"})])
world("beside_a_pod_by_rack", RACKS, load(**beside(term("db", RACK))), [old("old-0", app="db", labels={RACK: "r2"})])
world("apart_from_a_pod_by_rack", RACKS, load(**anti(term("db", RACK))), [old("old-0", used=1, app="db", labels={RACK: "r1"})])
world("kept_away_by_rack", RACKS, load(), [old("old-0", used=0, labels={RACK: "r1"})],
      objects=[running("loner", "old-0", **anti(term("w", RACK)))])
world("spread_by_a_label_of_one_type", HALF, load(n=2, **spread(RACK)))
world("beside_by_a_label_of_one_type", HALF, load(n=2, **beside(term("w", RACK))))
world("spread_by_zone_and_a_type_without", {"t": kind(zones=[]), "u": kind(0.3)}, load(n=2, **spread(ZONE)))

# namespaces
BLUE = {"namespaceSelector": {"matchLabels": {"team": "blue"}}}
NONE = {"namespaceSelector": {"matchLabels": {"team": "green"}}}
world("beside_a_namespace", THREE, load(**beside(term("db", ZONE, **BLUE))), [old("old-0", "z-b", app="db"), old("old-1", "z-c", used=3)],
      objects=[running("blue", "old-1", "blue", "db")])
world("apart_from_a_namespace", T, load(**anti(term("db", ZONE, **NONE))), [old("old-0")], objects=[running("blue", "old-0", "blue", "db", "0")])
world("beside_a_namespace_by_host", T, load(**beside(term("db", HOST, **BLUE))), [old("old-0", used=1, app="db"), old("old-1", used=3)],
      objects=[running("blue", "old-1", "blue", "db")])
world("kept_away_by_another_namespace", T, load(), [old("old-0")], objects=[
    running("loner", "old-0", cpu="0", **anti(term("w", ZONE, **NONE)))])

# which zone
world("the_zone_with_room", {"tiny": kind(0.05, cpu=1), "t": kind(zones=["z-b"])}, load(cpu=2, **anti(term("w", ZONE))))
world("two_and_one_zone_with_room", {"tiny": kind(0.05, ["z-a", "z-b"], cpu=1), "t": kind(zones=["z-c"])}, load(n=2, cpu=2, **anti(term("w", ZONE))))
world("all_in_one_zone", {"a": kind(most=1), "b": kind(zones=["z-b"], most=1)}, load(n=4, cpu=2, **beside(term("w", ZONE))))
world("all_in_the_zone_with_most_room", {"a": kind(most=1), "b": kind(zones=["z-b"])}, load(n=4, cpu=2, **beside(term("w", ZONE))))

# spread over hosts
world("spread_with_full_nodes", T, load(n=8, **spread(HOST)), [old("old-0", used=2), old("old-1", used=3)])
world("spread_with_a_tainted_node_that_is_left_out", T, load(n=4, **spread(HOST, nodeTaintsPolicy="Honor")), [old("old-0", used=0, taints=[ONLY])])
world("spread_over_no_node", T, load(n=9, **spread(HOST)))
world("spread_over_no_node_with_domains", T, load(n=6, **spread(HOST, minDomains=3)))
world("spread_with_a_tainted_node", T, load(n=3, **spread(HOST)), [old("old-0", used=1, taints=[ONLY]), old("old-1", used=0)])
world("spread_with_a_tainted_node_and_skew", T, load(n=4, **spread(HOST, skew=2)), [old("old-0", used=1, taints=[ONLY]), old("old-1", used=0)])
world("spread_ignores_affinity", {"t": kind(labels={"disk": "ssd"})}, load(n=2, nodeSelector={"disk": "ssd"}, **spread(HOST, nodeAffinityPolicy="Ignore")),
      [old("old-0", labels={"disk": "hdd"}), old("old-1", used=0, labels={"disk": "ssd"})])
world("spread_of_others", T, load(**spread(HOST, "db")), [old("old-0", used=1, app="db"), old("old-1", app="x")],
      objects=[running("db1", "old-0", app="db")])

# spread over zones
world("spread_over_zones_of_one_type", {"cpu": kind(zones=["z-a", "z-b"]), "big": kind(0.5, cpu=8)}, load(n=3, cpu=5, **spread(ZONE)))
world("spread_over_zones_with_skew", THREE, load(n=3, **spread(ZONE, skew=3)))
world("spread_over_more_domains_than_zones", THREE, load(n=6, cpu=3, **spread(ZONE, minDomains=4)))
world("spread_and_a_zone_that_stays_empty", T, load(n=6, **spread(ZONE)), FULL_B)
world("spread_and_a_tainted_zone", T, load(n=4, **spread(ZONE)), [old("old-0", "z-b", used=1, taints=[ONLY]), old("old-1", used=0)])
world("spread_beside_another_load", THREE, [load(**spread(ZONE, skew=3)), load("v", cpu=3, nodeSelector={ZONE: "z-a"})])
world("spread_and_a_zone_at_its_most", {"a": kind(most=1), "b": kind(zones=["z-b"])}, load(n=8, cpu=2, **spread(ZONE)))

# host ports
world("ports_of_sidecars", T, load(n=2, **ports({"hostPort": 8080}, sidecar=True)))
world("ports_of_running_sidecars", T, load(**ports({"hostPort": 8080})), [old("old-0", used=1)], objects=[
    running("has", "old-0", **ports({"hostPort": 8080}, sidecar=True))])
world("ports_at_two_addresses", T, [load(**ports({"hostPort": 8080, "hostIP": "10.0.0.1"})), load("v", **ports({"hostPort": 8080, "hostIP": "10.0.0.2"}))])
world("ports_at_all_addresses", T, [load(**ports({"hostPort": 8080, "hostIP": "10.0.0.1"})), load("v", **ports({"hostPort": 8080}))])

# the rest
FIELD = [{"key": "metadata.name", "operator": "NotIn", "values": ["old-0"]}]
world("not_on_a_named_node", T, load(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": FIELD}]}}}), [old("old-0")])
world("a_taint_of_a_resource", {"t": kind(0.75, cpu=8, taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}], resources={"GPU": 1})},
      load(containers=[{"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": "1"}, "requests": {"cpu": "1"}}}]))
world("too_many_for_one_host", T, load(n=5, **beside(term("w", HOST))))
world("two_terms_of_affinity", TWO, load(**beside(term("a", ZONE), term("b", ZONE))), [old("old-0", "z-b", used=3, app="a")],
      objects=[running("b", "old-0", app="b")])
world("one_pod_for_two_terms", TWO, load(**beside(term("a", ZONE), {"labelSelector": {}, "topologyKey": ZONE})), [old("old-0", "z-b", app="a")])
world("disk_that_is_there", {"t": kind(resources={"ephemeral-storage": "100Gi"})}, load(
    containers=[{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "ephemeral-storage": "60Gi"}}}]))
world("disk_that_is_not_there", {"t": kind(resources={"ephemeral-storage": "20Gi"})}, load(
    containers=[{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "ephemeral-storage": "30Gi"}}}]))
world("hugepages", {"t": kind(resources={"hugepages-2Mi": "2Gi"}), "u": kind(0.1)}, load(
    containers=[{"name": "c", "image": "x", "resources": {"limits": {"hugepages-2Mi": "1Gi", "memory": "64Mi"}, "requests": {"cpu": "1"}}}]))
