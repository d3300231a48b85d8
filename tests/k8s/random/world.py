"""Random worlds for the differential test: node types, nodes of nobody's, DaemonSets, volumes and workloads.

draw(seed) is a world as plain data, so that one that failed is kept as it is (found/*.json).  objects(world) are
its Kubernetes objects, types(world) the node types for Davit and for the machines' nodes.
"""
import random

import wide

ZONE, HOST, RACK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/rack"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONES = ["z-a", "z-b", "z-c"]
TAINT = {"key": "example.com/only", "value": "some", "effect": "NoSchedule"}
FEATURES = ["plain", "plain", "selector", "affinity", "not_name", "tolerates", "anti_host", "anti_zone", "anti_rack",
            "with_host", "with_zone", "with_rack", "spread_host", "spread_zone", "spread_rack", "min_domains", "policies", "port",
            "sidecar_port", "port_ip", "claim", "unbound", "agent_apart", "agent_beside", "beside", "apart", "space"]


def draw(seed):
    r = random.Random(seed)
    features = FEATURES + list(wide.MORE) if seed >= wide.WIDE else FEATURES
    types = {}
    for i in range(r.randint(1, 3)):
        cpu = r.choice([2, 4, 8])
        types[f"t{i}"] = {
            "cpu": cpu, "price": round(cpu * 0.05 * r.choice([0.8, 1, 1.3]), 3), "max": r.randint(2, 5),
            "zones": sorted(r.sample(ZONES, r.choice([1, 1, 2, 3]))),
            "labels": {**({RACK: r.choice(["r1", "r2"])} if r.random() < 0.7 else {}), "disk": r.choice(["hdd", "ssd"])},
            "taints": [TAINT] if r.random() < 0.15 else []}
    nodes = [{"name": f"old-{i}", "zone": r.choice(ZONES), "labels": {RACK: r.choice(["r1", "r2", "r3"]), "disk": r.choice(["hdd", "ssd"])},
              "cpu": 4, "used": r.choice([4, 4, 4, 3, 2, 0]), "app": r.choice(["db", "web", "x"]),
              "taints": [TAINT] if r.random() < 0.15 else []} for i in range(r.choice([0, 0, 1, 1, 2, 3]))]
    daemons = [{"name": "agent", "cpu": r.choice(["100m", "1"]), "port": r.choice([0, 8080]),
                "selector": r.choice([{}, {}, {ZONE: r.choice(ZONES)}, {"disk": "ssd"}]),
                "apart_from": r.choice(["", "", "", "w0"])}] if r.random() < 0.4 else []
    loads = [{"name": f"w{i}", "replicas": r.randint(1, 5), "cpu": r.choice([1, 1, 2, 3]), "features": sorted(set(
        r.choice(features) for _ in range(r.choice([1, 1, 2])))), "draw": r.randrange(1 << 30)} for i in range(r.choice([1, 1, 2]))]
    drawn = {"seed": seed, "types": types, "nodes": nodes, "daemons": daemons, "loads": loads}
    if seed >= wide.WIDE:
        wide.types(drawn, r)
    return drawn


# ---- workloads

def term(app, key, **more):
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def spread(app, key, r, **more):
    return {"maxSkew": r.choice([1, 1, 2]), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}}, **more}


def spread_add(spreads, one):
    """The API server takes one constraint of a key and of what is done where it cannot be met."""
    if not any((s["topologyKey"], s["whenUnsatisfiable"]) == (one["topologyKey"], one["whenUnsatisfiable"]) for s in spreads):
        spreads.append(one)


def node_affinity(key, op, values):
    return {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": key, "operator": op, **({"values": values} if values else {})}]}]}}


def feature(spec, app, what, r):
    """One condition added to a pod's spec."""
    affinity, box = spec.setdefault("affinity", {}), spec["containers"][0]
    anti = affinity.setdefault("podAntiAffinity", {REQUIRED: []})[REQUIRED]
    beside = affinity.setdefault("podAffinity", {REQUIRED: []})[REQUIRED]
    spreads = spec.setdefault("topologySpreadConstraints", [])
    keys = {"host": HOST, "zone": ZONE, "rack": RACK}
    kind, _, at = what.partition("_")
    if what in wide.MORE:
        wide.MORE[what](spec, app, r)
    elif what == "selector":
        spec["nodeSelector"] = r.choice([{"disk": "ssd"}, {ZONE: r.choice(ZONES)}, {RACK: "r1"}])
    elif what == "affinity":
        affinity["nodeAffinity"] = node_affinity(*r.choice([
            ("disk", "NotIn", ["hdd"]), (RACK, "Exists", None), (RACK, "DoesNotExist", None), (ZONE, "In", ["z-a", "z-b"])]))
    elif what == "not_name":
        affinity["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [
            {"key": "metadata.name", "operator": "NotIn", "values": ["old-0"]}]}]}}
    elif what == "tolerates":
        spec["tolerations"] = [{"key": TAINT["key"], "operator": "Exists"}]
    elif kind == "anti":
        anti.append(term(app, keys[at]))
    elif kind == "with":
        beside.append(term(app, keys[at]))
    elif kind == "spread":
        spread_add(spreads, spread(app, keys[at], r))
    elif what == "min_domains":
        spread_add(spreads, spread(app, r.choice([HOST, ZONE]), r, minDomains=r.choice([2, 3])))
    elif what == "policies":
        spec["nodeSelector"] = {"disk": "ssd"}
        spread_add(spreads, spread(app, r.choice([HOST, ZONE]), r, nodeAffinityPolicy=r.choice(["Ignore", "Honor"]),
                                   nodeTaintsPolicy=r.choice(["Ignore", "Honor"])))
    elif what == "port":
        box["ports"] = [{"containerPort": 80, "hostPort": 8080}]
    elif what == "port_ip":
        box["ports"] = [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.7"}]
    elif what == "sidecar_port":
        spec["initContainers"] = [{"name": "side", "image": "x", "restartPolicy": "Always",
                                   "ports": [{"containerPort": 80, "hostPort": 8080}]}]
    elif what in ("claim", "unbound"):
        spec["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": f"{app}-{what}"}}]
    elif what == "agent_apart":
        anti.append(term("agent", HOST))
    elif what == "agent_beside":
        beside.append(term("agent", r.choice([HOST, ZONE])))
    elif what == "beside":
        beside.append(term(r.choice(["db", "web"]), r.choice([ZONE, RACK])))
    elif what == "apart":
        anti.append(term(r.choice(["db", "web"]), r.choice([HOST, ZONE, RACK])))
    elif what == "space":
        anti.append(term("db", ZONE, namespaceSelector={"matchLabels": {"team": r.choice(["blue", "none"])}}))


def with_own(spec, of):
    """What a world that is written down says of a pod over what it is drawn as; `extra` are containers beside the others."""
    own = dict(of.get("spec", {}))
    extra = own.pop("extra", [])
    spec.update(own)
    spec["containers"] = [*spec["containers"], *extra]


def workload(load):
    r = random.Random(load["draw"])
    spec = {"containers": [{"name": "c", "image": "x", "resources": {"requests": {
        "cpu": str(load["cpu"]), "memory": "64Mi"}}}], "terminationGracePeriodSeconds": 0}
    for what in load["features"]:
        if what != "plain":
            feature(spec, load["name"], what, r)
    with_own(spec, load)
    labels = {"app": load["name"]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": load["name"], "namespace": "default"},
            "spec": {"replicas": load["replicas"], "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": spec}}}


def volumes(load):
    """Of a claim that is bound, and of one that waits: the volume lies in one zone."""
    r = random.Random(load["draw"] + 1)
    for what in ("claim", "unbound"):
        if what not in load["features"]:
            continue
        name, zone = f"{load['name']}-{what}", r.choice(ZONES)
        claim = {"storageClassName": "manual", "accessModes": ["ReadWriteMany"],
                 "resources": {"requests": {"storage": "1Gi"}}}
        volume = {"storageClassName": "manual", "accessModes": ["ReadWriteMany"], "capacity": {"storage": "1Gi"},
                  "hostPath": {"path": "/x"}, "nodeAffinity": {"required": node_affinity(ZONE, "In", [zone])[REQUIRED]}}
        if what == "claim":
            claim["volumeName"] = name
            volume["claimRef"] = {"name": name, "namespace": "default"}
        yield {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume}
        yield {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
               "spec": claim}


def daemonset(d):
    spec = {"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": d["cpu"]}},
                            **({"ports": [{"containerPort": d["port"], "hostPort": d["port"]}]} if d["port"] else {})}],
            "tolerations": [{"operator": "Exists"}], "nodeSelector": d["selector"], "terminationGracePeriodSeconds": 0}
    if d["apart_from"]:
        spec["affinity"] = {"podAntiAffinity": {REQUIRED: [term(d["apart_from"], HOST)]}}
    with_own(spec, d)
    labels = {"app": d["name"]}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": d["name"], "namespace": "default"},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}}


def node(name, zone, cpu, labels, taints, resources=None):
    amounts = {"cpu": str(cpu), "memory": "16Gi", "pods": "110", **{"nvidia.com/gpu" if k == "GPU" else k: str(v) for k, v in (resources or {}).items()}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
        HOST: name, **({ZONE: zone} if zone else {}), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", **labels}},
        "spec": {"taints": taints}, "status": {"capacity": amounts, "allocatable": amounts}}


def filler(n):
    """A pod that has its place on a node of nobody's from the beginning."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"on-{n['name']}", "namespace": "default",
                                                            "labels": {"app": n["app"]}},
            "spec": {"nodeName": n["name"], "terminationGracePeriodSeconds": 0, "tolerations": [{"operator": "Exists"}],
                     "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": str(n["used"])}}}]}}


def machine(name, zone, t):
    """A node as a machine of the type would be, in the zone."""
    return node(name, zone, t["cpu"], t["labels"], t["taints"], t.get("resources"))


def types(world):
    """For davit.yaml and pools.template()."""
    return {name: {"resources": {"CPU": t["cpu"], "memory": "16Gi", **t.get("resources", {})}, "price": t["price"], "max": t["max"],
                   **({"zones": t["zones"]} if t["zones"] else {}), "labels": t["labels"], **({"taints": t["taints"]} if t["taints"] else {})}
            for name, t in world["types"].items()}
