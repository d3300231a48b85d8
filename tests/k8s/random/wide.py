"""More conditions for random worlds: those of seeds from WIDE on (world.py draws them beside its own)."""
HOST, ZONE, RACK, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "example.com/rack", "topology.kubernetes.io/region"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
WIDE = 1000000


def term(app, key, **more):
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **more}


def nodes(spec, *terms):
    spec["affinity"]["nodeAffinity"] = {REQUIRED: {"nodeSelectorTerms": list(terms)}}


def expression(key, op, *values):
    return {"matchExpressions": [{"key": key, "operator": op, **({"values": list(values)} if values else {})}]}


def spreads(spec, app, key, **more):
    one = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": app}}, **more}
    if not any((s["topologyKey"], s["whenUnsatisfiable"]) == (key, one["whenUnsatisfiable"]) for s in spec["topologySpreadConstraints"]):
        spec["topologySpreadConstraints"].append(one)


def affinity(spec):
    return spec["affinity"]["podAffinity"][REQUIRED]


def anti(spec):
    return spec["affinity"]["podAntiAffinity"][REQUIRED]


def asks(spec, **requests):
    spec["containers"][0]["resources"]["requests"].update(requests)


def box(name, cpu, **more):
    return {"name": name, "image": "x", "resources": {"requests": {"cpu": cpu}}, **more}


def claims(spec, name):
    spec["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": name}}]


def two_terms(spec, app, r):
    affinity(spec).extend([term("db", r.choice([ZONE, RACK])), term(r.choice(["db", "web"]), ZONE)])


def apart_from_all(spec, app, r):
    anti(spec).append({"labelSelector": {}, "topologyKey": r.choice([HOST, HOST, RACK])})


def in_a_space(spec, app, r):
    affinity(spec).append(term(r.choice(["db", app]), ZONE, namespaceSelector=r.choice([{}, {"matchLabels": {"team": "blue"}}])))


def on_a_name(spec, app, r):
    nodes(spec, {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["old-0"]}]}, expression("disk", "In", "ssd"))


def either(spec, app, r):
    nodes(spec, expression(ZONE, "In", "z-a"), expression(RACK, "In", "r2"))


def by_size(spec, app, r):
    nodes(spec, expression("size", r.choice(["Gt", "Lt"]), r.choice(["3", "5"])))


def not_host(spec, app, r):
    nodes(spec, expression(HOST, "NotIn", "old-0", "old-1"))


def sidecar(spec, app, r):
    spec.setdefault("initContainers", []).append(box("helper", r.choice(["500m", "1"]), restartPolicy="Always"))


def large_start(spec, app, r):
    spec.setdefault("initContainers", []).append(box("start", r.choice(["2", "4"])))


def whole_pod(spec, app, r):
    spec["resources"] = {"requests": {"cpu": r.choice(["2", "3"])}}
    asks(spec, cpu="500m")


def prefers(spec, app, r):
    spec["affinity"]["podAntiAffinity"][PREFERRED] = [{"weight": 100, "podAffinityTerm": term(app, HOST)}]
    spreads(spec, app, ZONE, whenUnsatisfiable="ScheduleAnyway")


def by_revision(spec, app, r):
    spreads(spec, app, r.choice([HOST, ZONE]), matchLabelKeys=["pod-template-hash"])


def two_spreads(spec, app, r):
    spreads(spec, app, ZONE)
    spreads(spec, app, HOST, maxSkew=2)


def spread_of_others(spec, app, r):
    spreads(spec, r.choice(["db", "web"]), r.choice([HOST, ZONE]))


def by_region(spec, app, r):
    r.choice([affinity, anti])(spec).append(term(app, REGION))


def gated(spec, app, r):
    spec["schedulingGates"] = [{"name": "example.com/wait"}]


def of_the_host(spec, app, r):
    spec["hostNetwork"] = True
    spec["containers"][0]["ports"] = [{"containerPort": r.choice([8080, 9100])}]


def late(spec, app, r):
    claims(spec, f"{app}-late")


def ephemeral(spec, app, r):
    spec["volumes"] = [{"name": "d", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "storageClassName": "late", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]


def one_at_a_time(spec, app, r):
    claims(spec, f"{app}-one")


def missing(spec, app, r):
    claims(spec, f"{app}-none")


def disk(spec, app, r):
    asks(spec, **{"ephemeral-storage": r.choice(["10Gi", "30Gi"])})


MORE = {f.__name__: f for f in (
    two_terms, apart_from_all, in_a_space, on_a_name, either, by_size, not_host, sidecar, large_start, whole_pod, prefers, by_revision, two_spreads,
    spread_of_others, by_region, gated, of_the_host, late, ephemeral, one_at_a_time, missing, disk)}


def types(drawn, r):
    """Of a world that was drawn: what its types and its agents have besides."""
    for t in drawn["types"].values():
        t["labels"]["size"] = str(t["cpu"])
        t["resources"] = {"ephemeral-storage": r.choice(["20Gi", "100Gi"])}
    for d in drawn["daemons"]:
        d["spec"] = r.choice([{}, {}, {"hostNetwork": True}, {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
            expression(ZONE, "NotIn", "z-b")]}}}}])
        if d["apart_from"]:
            d["spec"].pop("affinity", None)
    drawn["objects"] = objects(drawn, r)


def claim(name, storage, mode="ReadWriteOnce", volume=None):
    return ["/api/v1/namespaces/default/persistentvolumeclaims", {
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "default"},
        "spec": {"storageClassName": storage, "accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}},
                 **({"volumeName": volume} if volume else {})}}]


def volume(name, of, zone, mode):
    return ["/api/v1/persistentvolumes", {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "storageClassName": "manual", "accessModes": [mode], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"},
        "claimRef": {"name": of, "namespace": "default"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [expression(ZONE, "In", zone)]}}}}]


def objects(drawn, r):
    """Claims of loads, and the class whose volumes are made where the pod goes."""
    zones = [{"matchLabelExpressions": [{"key": ZONE, "values": r.sample(["z-a", "z-b", "z-c"], 2)}]}]
    made = [["/apis/storage.k8s.io/v1/storageclasses", {
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"}, "provisioner": "disk.example.com",
        "volumeBindingMode": "WaitForFirstConsumer", **({"allowedTopologies": zones} if r.random() < 0.5 else {})}]]
    for w in drawn["loads"]:
        name = w["name"]
        if "late" in w["features"]:
            made.append(claim(f"{name}-late", "late"))
        if "one_at_a_time" in w["features"]:
            made += [volume(f"v-{name}-one", f"{name}-one", r.choice(["z-a", "z-b", "z-c"]), "ReadWriteOncePod"),
                     claim(f"{name}-one", "manual", "ReadWriteOncePod", f"v-{name}-one")]
    return made
