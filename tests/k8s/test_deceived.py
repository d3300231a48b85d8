"""A real control plane that is not what a daemon takes it for: under another time, with watches that live and
tell nothing, with two Node objects of one machine."""
import json
import selectors
import socket
import threading

import manifests
from kwoknodes import Template
from lib.kube import SOON, pods_path, until
from pools import Pools
from test_drain import OUTDATED, SMALL, change, deploy, deployments_first, nodes, pods  # noqa: F401

GRACE_S = 12
SLOW = {"annotations": {"davit-test/slow-end": "true"}, "terminationGracePeriodSeconds": GRACE_S}


class Swallows(threading.Thread):
    """A proxy of the API server.  From swallow() on, nothing that the server says on connections that are there
    comes through; those that are made later are as ever."""

    def __init__(self, port):
        super().__init__(daemon=True, name="swallows")
        self.to, self.mute = port, set()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.pairs, self.find, self.over = {}, selectors.DefaultSelector(), False
        self.find.register(self.server, selectors.EVENT_READ)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join(10)
        for s in [self.server, *self.pairs]:
            s.close()

    def swallow(self):
        self.mute |= {s for s, (_, of_server) in list(self.pairs.items()) if of_server}

    def run(self):
        while not self.over:
            for key, _ in self.find.select(0.05):
                if key.fileobj is self.server:
                    self.accept()
                else:
                    self.carry(key.fileobj)

    def accept(self):
        near, _ = self.server.accept()
        far = socket.create_connection(("127.0.0.1", self.to))
        for s, other, of_server in ((near, far, False), (far, near, True)):
            self.pairs[s] = (other, of_server)
            self.find.register(s, selectors.EVENT_READ)

    def carry(self, s):
        if s not in self.pairs:
            return  # its other half has just ended
        other, _ = self.pairs[s]
        try:
            data = s.recv(65536)
            if data and s not in self.mute:
                other.sendall(data)
        except OSError:
            data = b""
        if not data:
            for x in (s, other):
                self.find.unregister(x)
                self.pairs.pop(x)
                x.close()


def test_a_grace_is_over_by_the_clock_that_gave_it(plane, tmp_path):
    """Our clock is ten minutes before the plane's: what leaves is waited for all the same."""
    with Pools(plane, tmp_path, SMALL, limits=OUTDATED, start=False) as d:
        d.clocks.set(wall=600_000)
        d.start()
        name, = deploy(plane, "slow", 1, **SLOW)
        d.joined("small")
        change(d, version="2")
        until(lambda: [p for p in pods(plane, app="slow") if p["metadata"].get("deletionTimestamp")], SOON, lambda: f"{d.nodes()}")
        leaves, = [p["metadata"]["name"] for p in pods(plane, app="slow") if p["metadata"].get("deletionTimestamp")]
        ended = []

        def pod_is_gone():
            machines = json.loads(d.sim.read_text())["machines"]  # before the pods: it may go in between
            if leaves not in {p["metadata"]["name"] for p in pods(plane, app="slow")}:
                return True
            ended.extend(m for m in machines if m["id"] == name and m.get("gone_ms"))
            return ended
        until(pod_is_gone, SOON)
        assert not ended, f"{name} was ended while its pod had its grace"
        until(lambda: name not in nodes(plane), SOON, lambda: f"{d.nodes()}")


def test_two_node_objects_of_one_machine(plane, tmp_path):
    """Another object has the busy machine's providerID: neither is believed, nothing is ended, and it is said."""
    with Pools(plane, tmp_path, SMALL, limits={"idle_timeout": "3s", "start_timeout": "5s"}) as d:
        deploy(plane, "work", 1, cpu="3")
        machine, = d.joined("small")
        twin = Template(cpu=4, memory="16Gi").node("twin", f"sim://{machine['cloud_id']}")
        plane.client.post("/api/v1/nodes", twin)
        until(lambda: any("node_claimed" == s["kind"] for s in d.status()["stops"]), SOON, lambda: f"{d.status()['stops']}")
        d.stays(lambda: d.machines()["small"] == 1, 60)
        plane.client.delete("/api/v1/nodes/twin")
        until(lambda: not d.status()["stops"], SOON, lambda: f"{d.status()['stops']}")
        assert d.machines() == {"small": 1} and d.nodes_of.ever == 1


def test_watches_that_live_and_tell_nothing(plane, tmp_path):
    """A pod comes to a node that is about to go as idle, and no watch says so: it is not evicted, its machine stays."""
    with Swallows(plane.port) as proxy:
        d = Pools(plane, tmp_path, SMALL, limits={"idle_timeout": "20s"}, start=False)
        conf = json.loads(d.path.read_text())
        path = tmp_path / "swallows.conf"
        text = open(conf["head"]["kubernetes"]["kubeconfig"]).read()
        path.write_text(text.replace(f":{plane.port}", f":{proxy.port}"))
        path.chmod(0o600)
        conf["head"]["kubernetes"]["kubeconfig"] = str(path)
        d.write(json.dumps(conf))
        mark = plane.audit_mark()
        with d:
            d.start()
            plane.client.post(pods_path(), manifests.pod("work", cpu="3"))
            d.joined("small")
            plane.client.delete(pods_path(name="work"))
            until(lambda: not [p for p in pods(plane) if p["metadata"]["name"] == "work"], SOON)
            d.saw_all()
            proxy.swallow()
            plane.apply(manifests.deployment("second", 1, manifests.pod("second", cpu="3")))
            until(lambda: [p for p in pods(plane, app="second") if p["spec"].get("nodeName")], SOON)
            d.stays(lambda: d.machines()["small"] == 1 and not d.evictions(mark), 60)
            assert d.nodes_of.ever == 1
