"""Plays a world on a real control plane with the real daemon, and holds the laws against what comes of it:

    placed      whom Davit counts as placed is bound by kube-scheduler once all is at rest
    impossible  nobody waits whom kube-scheduler binds on an empty node of a type that may still be bought
    empty       no machine was bought that stays without a pod, unless it was of use: on what was there when it was bought kube-scheduler
                gives more pods a place with it than without, if the loads come in the best order.  Davit cannot tell the scheduler
                which pod goes where: one that has the choice may take the only place of another
    rest        it comes to rest
    cost        no cheaper set of machines holds as many pods (small worlds: brute force, by kube-scheduler)
"""
import collections
import contextlib
import itertools
import json
import pathlib
import tempfile
import time

import world as worlds
from lib.kube import ApiError, until
from pools import Pools
from servants import Servants

REST = 2.0       # so long nothing happens
WORD = 19        # so long Davit believes in room that the scheduler refuses (15 s and 20 ms a pod), and a moment
LONGEST = 150.0
BRUTE = 5        # sets of machines that are tried
TRIES = 2        # orders of the loads are: kube-scheduler draws among equal nodes
ROUND = 300      # ms: machines of one plan


class Broken(Exception):
    def __init__(self, law, text):
        super().__init__(f"{law}: {text}")
        self.law = law


def amount(text):
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def cpus(pod):
    return sum(amount(c.get("resources", {}).get("requests", {}).get("cpu", "0")) for c in pod["spec"]["containers"])


def meant_for(pod):
    """The node of a DaemonSet's pod, as its controller writes it."""
    terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return next(f["values"][0] for t in terms for f in t.get("matchFields", []) if f["key"] == "metadata.name")


def goes(daemon, labels):
    """Does its controller make a pod for a node of these labels?  Affinity: of one term, with NotIn."""
    affinity = daemon.get("spec", {}).get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [{}])
    return daemon["selector"].items() <= labels.items() and all(
        labels.get(e["key"]) not in e["values"] for e in terms[0].get("matchExpressions", []))


def bound_at(pod):
    """When the scheduler gave it its node, by its own word."""
    return next((c["lastTransitionTime"] for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled" and c["status"] == "True"), "9")


class Play:
    def __init__(self, plane, world):
        self.plane, self.world, self.c = plane, world, plane.client

    # ---- the cluster

    def pods(self):
        return [p for p in self.c.get("/api/v1/namespaces/default/pods")["items"] if not p["metadata"].get("deletionTimestamp")]

    def loads(self):
        names = {w["name"] for w in self.world["loads"]}
        return [p for p in self.pods() if p["metadata"]["labels"].get("app") in names]

    def unbound(self):
        return [p for p in self.loads() if not p["spec"].get("nodeName")]

    def bound(self):
        """Pods that have a node, by load."""
        return collections.Counter(p["metadata"]["labels"]["app"] for p in self.loads() if p["spec"].get("nodeName"))

    def begin(self, machines=(), order=None):
        """machines: nodes that are there from the beginning.  No work comes before the DaemonSets' pods are on every node, so that none is overtaken.
        order: of the loads, each comes when nothing more is bound of those before."""
        c = self.c
        for space, labels in (("blue", {"team": "blue"}),):
            if self.plane.api("GET", f"/api/v1/namespaces/{space}")[0] != 200:
                c.post("/api/v1/namespaces", {"metadata": {"name": space, "labels": labels}})
        for n in self.world["nodes"]:
            c.post("/api/v1/nodes", worlds.node(n["name"], n["zone"], n["cpu"], n["labels"], n["taints"]))
        for m in machines:
            c.post("/api/v1/nodes", m)
        for n in self.world["nodes"]:
            until(lambda: self.ready(n["name"]), 30, f"{n['name']} is not ready")
            if n["used"]:
                c.post("/api/v1/namespaces/default/pods", worlds.filler(n))
        for m in machines:
            until(lambda: self.ready(m["metadata"]["name"]), 30, f"{m['metadata']['name']} is not ready")
        for d in self.world["daemons"]:
            self.plane.apply(worlds.daemonset(d))
        for n in c.get("/api/v1/nodes")["items"]:
            until(lambda: self.followed(n), 30, f"the DaemonSets' pods did not follow to {n['metadata']['name']}")
        self.plane.client.call("POST", "/apis/storage.k8s.io/v1/storageclasses", {
            "metadata": {"name": "manual"}, "provisioner": "kubernetes.io/no-provisioner",
            "volumeBindingMode": "WaitForFirstConsumer"})
        for w in self.world["loads"]:
            for o in worlds.volumes(w):
                place = "/api/v1/persistentvolumes" if o["kind"] == "PersistentVolume" else \
                    "/api/v1/namespaces/default/persistentvolumeclaims"
                c.post(place, o)
        for path, o in self.world.get("objects", []):
            if c.call("POST", path, o)[0] == 409:  # a CSINode: its node's kubelet was first
                c.patch(f"{path}/{o['metadata']['name']}", {"spec": o["spec"]})
        want = 0
        for w in order or self.world["loads"]:
            self.plane.apply(worlds.workload(w))
            want += w["replicas"]
            if order:
                self.settle(want)
        until(lambda: len(self.loads()) == want, 30, "the pods are not there")
        until(lambda: not self.untried(), 60, "the scheduler has not looked at all pods")

    def untried(self):
        """Those are no demand yet.  Davit would plan for the others without them, and buy differently than for all."""
        return [p["metadata"]["name"] for p in self.unbound() if not any(c["type"] == "PodScheduled" for c in p["status"].get("conditions", []))]

    def ready(self, name):
        conditions = self.c.get(f"/api/v1/nodes/{name}")
        return any(x["type"] == "Ready" and x["status"] == "True" for x in conditions["status"].get("conditions", [])) \
            and not any(t["key"].startswith("node.kubernetes.io/not-ready") for t in conditions["spec"].get("taints", []))

    def settle(self, want):
        """So many pods are there, and nothing more is bound."""
        until(lambda: len(self.loads()) == want, 30, "the pods are not there")
        last, since = None, time.monotonic()
        while self.unbound() and time.monotonic() - since < REST:
            time.sleep(0.2)  # wait: settled is what does not change for so long
            if (now := self.bound()) != last:
                last, since = now, time.monotonic()

    def clear(self):
        c, none = self.c, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        for path in ("/apis/apps/v1/namespaces/default/deployments", "/apis/apps/v1/namespaces/default/daemonsets",
                     "/apis/apps/v1/namespaces/default/replicasets", "/api/v1/namespaces/default/pods", "/api/v1/nodes",
                     "/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/persistentvolumes",
                     "/api/v1/namespaces/default/events"):
            c.delete(path, none)
        for path, o in self.world.get("objects", []):
            c.delete(f"{path}/{o['metadata']['name']}", none)
        paths = ("/api/v1/namespaces/default/pods", "/api/v1/nodes", "/api/v1/persistentvolumes",
                 "/api/v1/namespaces/default/persistentvolumeclaims", "/apis/apps/v1/namespaces/default/replicasets")

        def gone():
            left = [p for p in paths if c.get(p)["items"]]
            for p in left:
                c.delete(p, none)
            return not left
        until(gone, 60, "the plane is not empty", every=0.3)

    # ---- what Davit says

    def state(self, d):
        """What changes as long as something happens."""
        bound = sorted(p["metadata"]["name"] + ">" + p["spec"].get("nodeName", "") for p in self.pods())
        nodes = sorted(n["metadata"]["name"] for n in self.c.get("/api/v1/nodes")["items"])
        machines = sorted(d.machines().items())
        return json.dumps([bound, nodes, machines])

    def bundles(self, d):
        status, reply = d.get("/v1/why/kubernetes")
        owner = (reply or {}).get("owner") if status == 200 else None
        return [b for x in (owner or {}).get("demands", []) for b in x["bundles"]]

    def rest(self, d):
        """Waits until nothing happens any more; while pods wait, until the scheduler's word has been taken as well, which
        is a matter of the daemon's own time."""
        began = since = time.monotonic()
        last, word = self.state(d), False
        while time.monotonic() - began < LONGEST:
            time.sleep(0.25)  # wait: at rest is what does not change for so long
            now = self.state(d)
            if now != last:
                last, since, word = now, time.monotonic(), False
            if time.monotonic() - since < REST:
                continue
            if word or not self.unbound():
                return
            d.later(WORD)
            since, word = time.monotonic(), True
        raise Broken("rest", f"it is not at rest after {LONGEST:.0f} s")

    # ---- the laws

    def placed(self, d):
        bad = []

        def well():  # a view may be a moment old
            bad[:] = [b["text"] for b in self.bundles(d) if b["placed"] or b["launched"]]
            return not bad or not self.unbound()
        try:
            until(well, 20)
        except AssertionError:
            raise Broken("placed", f"{'; '.join(bad)}, and {len(self.unbound())} pods are not bound: {self.words()}") from None

    def words(self):
        return sorted({c.get("message", "")[:300] for p in self.unbound() for c in p["status"].get("conditions", [])
                       if c["type"] == "PodScheduled"})

    def overtaken(self):
        """How many pods have to leave their nodes for DaemonSets' pods that were made after them: on a busy machine the controller is
        slower than a node of kwok is Ready, and more fit there than should.  Each may leave one machine without a pod, elsewhere."""
        return sum(self.overtook(p) for p in self.pods() if p["metadata"]["labels"].get("app") in {d["name"] for d in self.world["daemons"]}
                   and not p["spec"].get("nodeName"))

    def overtook(self, late):
        """Of those that the scheduler bound on the late pod's node before that was made, the fewest that leave room for it."""
        if not any("Insufficient" in c.get("message", "") for c in late["status"].get("conditions", [])):
            return 0
        node = self.c.get(f"/api/v1/nodes/{meant_for(late)}")
        there = [p for p in self.pods() if p["spec"].get("nodeName") == node["metadata"]["name"]]
        lacks = sum(map(cpus, [*there, late])) - amount(node["status"]["allocatable"]["cpu"])
        loads = {p["metadata"]["name"] for p in self.loads()}
        before = sorted((cpus(p) for p in there if p["metadata"]["name"] in loads and bound_at(p) <= late["metadata"]["creationTimestamp"]), reverse=True)
        n = 0
        while lacks > 1e-9 and n < len(before):
            lacks -= before[n]
            n += 1
        return n if lacks <= 1e-9 else 0

    def idle(self, machines):
        """Those without a pod, if they are more than were overtaken."""
        held = {p["spec"].get("nodeName") for p in self.loads()}
        idle = [m for m in machines if m not in held]
        return idle if len(idle) > (self.overtaken() if idle else 0) else []

    def most(self, machines, enough):
        """How many pods kube-scheduler gives a place on these machines, by the best order of the loads; more than enough is not looked for."""
        best = 0
        for order in TRIES * list(itertools.permutations(self.world["loads"])):
            self.clear()
            self.begin([worlds.machine(m["id"], m["zone"], self.world["types"][m["type"]]) for m in machines], list(order))
            best = max(best, sum(self.bound().values()))
            if best >= enough:
                break
        return best

    def empty(self, idle, bought):
        """idle: without a pod.  bought: the machines as sim has them."""
        for m in (m for m in bought if m["id"] in idle):
            there = [x for x in bought if x["created_ms"] <= m["created_ms"] + ROUND]
            less = self.most([x for x in there if x is not m], sum(w["replicas"] for w in self.world["loads"]))
            most = self.most(there, less + 1)
            if most <= less:
                raise Broken("empty", f"{', '.join(idle)} bought for nothing: {less} pods have a place without {m['id']}, {most} with it")

    def followed(self, node):
        """The DaemonSets' pods for the node are there, or the scheduler has said that they cannot be."""
        labels = node["metadata"]["labels"]
        for d in self.world["daemons"]:
            own = [p for p in self.pods() if p["metadata"]["labels"].get("app") == d["name"] and meant_for(p) == node["metadata"]["name"]]
            if goes(d, labels) and not any(
                    c["type"] == "PodScheduled" for p in own for c in p["status"].get("conditions", [])):
                return False
        return True

    def join(self, nodes):
        """Nodes that pods may use once their DaemonSets' pods are there, as of a kubelet that takes its time to be Ready."""
        for n in nodes:
            n["spec"]["unschedulable"] = True
            self.c.post("/api/v1/nodes", n)
        for n in nodes:
            until(lambda: self.ready(n["metadata"]["name"]), 30, "the node is not ready")
            until(lambda: self.followed(n), 30, "the DaemonSets' pods did not follow")
        for n in nodes:
            self.c.patch(f"/api/v1/nodes/{n['metadata']['name']}", {"spec": {"unschedulable": None}})

    def impossible(self, d):
        """An empty node of each type and zone that may still be bought, one after the other."""
        waiting = {p["metadata"]["name"] for p in self.unbound()}
        if not waiting:
            return
        d.stop()
        have = d.machines()
        for name, t in self.world["types"].items():
            for zone in (t["zones"] or [""]) if have[name] < t["max"] else []:
                self.join([worlds.machine("empty", zone, t)])
                time.sleep(2.5)  # wait: it tries again at once, and after a second
                got = [p["metadata"]["name"] for p in self.loads() if p["spec"].get("nodeName") == "empty"]
                if got:
                    raise Broken("impossible", f"{', '.join(got)} waits, and an empty {name} in {zone} holds it")
                self.c.delete("/api/v1/nodes/empty", {"gracePeriodSeconds": 0})
                for p in self.pods():
                    if p["spec"].get("nodeName") == "empty":
                        self.c.delete(f"/api/v1/namespaces/default/pods/{p['metadata']['name']}", {"gracePeriodSeconds": 0})

    def cheaper(self, cost):
        """Sets of machines below cost / 1.1, the cheapest first, that have CPUs enough."""
        kinds = [(n, z, t) for n, t in self.world["types"].items() for z in t["zones"] or [""]]
        need = sum(w["cpu"] * w["replicas"] for w in self.world["loads"])
        free = sum(n["cpu"] - n["used"] for n in self.world["nodes"])
        sets = []
        for k in range(0, 5):
            for s in itertools.combinations_with_replacement(range(len(kinds)), k):
                price = sum(kinds[i][2]["price"] for i in s)
                if price * 1.1 < cost - 1e-9 and free + sum(kinds[i][2]["cpu"] for i in s) >= need and \
                        all(sum(kinds[i][0] == n for i in s) <= t["max"] for n, t in self.world["types"].items()):
                    sets.append((price, s))
        return [([kinds[i] for i in s], price) for price, s in sorted(sets)[:BRUTE]]

    def cost(self, bought):
        """bought: types by machine.  By brute force: the same world, which cheaper machines join when the scheduler has looked at all of it:
        whom it bound before stays where he is.  They do if they hold as many of each load: pods of which not all find a place race, and
        who wins is nobody's plan."""
        cost = sum(self.world["types"][t]["price"] for t in bought.values())
        bound = self.bound()
        for machines, price in self.cheaper(cost):
            self.clear()
            self.begin()
            self.join([worlds.machine(f"m{i}", zone, t) for i, (_, zone, t) in enumerate(machines)])
            try:
                until(lambda: all(self.bound()[w] >= n for w, n in bound.items()), 5)  # wait: most do not hold them, which nothing says
            except AssertionError:
                continue
            raise Broken("cost", f"{cost:.3f} $/h, and {[(n, z) for n, z, _ in machines]} for {price:.3f} do")

    def run(self, brute=False, keep=None):
        folder = keep or tempfile.mkdtemp(prefix="davit-world-")
        self.clear()
        self.begin()
        types = worlds.types(self.world)
        limits = {"idle_timeout": "1h", "consolidate": "off"}
        with Pools(self.plane, folder, types, limits=limits, head={"reserve": False}) as d:
            self.rest(d)
            self.placed(d)
            machines = json.loads(pathlib.Path(folder, "sim.json").read_text())["machines"] if d.sim.exists() else []
            idle = self.idle([m["id"] for m in machines])
            self.impossible(d)
            if not d.p or d.p.poll() is not None:
                d.start()
        self.empty(idle, machines)
        if brute:
            self.cost({m["id"]: m["type"] for m in machines})


def judge(plane, world, brute=False, keep=None):
    play = Play(plane, world)
    try:
        with Servants(plane) if world.get("objects") else contextlib.nullcontext():
            play.run(brute, keep)
    finally:
        try:
            play.clear()
        except (ApiError, AssertionError):
            pass
