"""Two replicas, one Lease: a standby takes over with nothing lost and nothing launched twice."""
import json
import time

import pytest

import manifests
from client import pods_path, stays, until
from kwoknodes import SimNodes
from pools import PRODUCT, TYPES, account, config, template
from daemon import Daemon

LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
T4 = {PRODUCT: "Tesla-T4"}
ONE = {"t4": dict(TYPES["t4"], max=40)}


class Replica(Daemon):
    """A daemon that may be a standby: it answers, but not with a status of its own."""

    def answers(self):
        assert self.p.poll() is None, f"the daemon ended with {self.p.returncode}:\n{self.text()}"
        try:
            return self.get("/healthz")[0] == 200
        except OSError:
            return False


@pytest.fixture
def pair(plane, tmp_path):
    """start(lease, sim options) -> two replicas that share the cloud; machines(), nodes there."""
    running = []

    def start(lease="3s", **sim):
        cloud = tmp_path / "sim.json"
        kubeconfig = account(plane)
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            text = config(kubeconfig, ONE, state="kubernetes", sim={"state": str(cloud), **sim},
                          ha={"namespace": "default", "identity": name, "lease": lease},
                          limits={"idle_timeout": "5s"})
            running.append(Replica(tmp_path / name, text))
        nodes = SimNodes(plane, cloud, {"t4": template(ONE["t4"])})
        nodes.start()
        running.append(nodes)
        return running[0], running[1], cloud
    yield start
    for r in running:
        if isinstance(r, SimNodes):
            r.__exit__()
        else:
            print(f"---- {r.dir.name}\n{r.text()[-5000:]}")
            if r.p.poll() is None:
                r.stop()


def holder(plane):
    found = [x for x in plane.client.get(LEASE)["items"] if "pools" in x["metadata"]["name"]]
    return found[0]["spec"].get("holderIdentity") if found else None


def alive(cloud):
    try:
        return [m for m in json.loads(cloud.read_text())["machines"] if not m.get("gone_ms")]
    except (OSError, ValueError):
        return []


def ever(cloud):
    """Machines ever made: ended ones are swept, the sequence stays."""
    try:
        return json.loads(cloud.read_text())["seq"]
    except (OSError, ValueError):
        return 0


def create(plane, n, prefix="p"):
    for i in range(n):
        plane.client.post(pods_path(), manifests.pod(f"{prefix}-{i}", gpus=4, nodeSelector=T4))


def bound(plane):
    return sum(bool(p["spec"].get("nodeName")) for p in plane.client.get(pods_path())["items"])


def test_one_leads_and_only_it_acts(plane, pair):
    a, b, cloud = pair()
    leader = until(lambda: holder(plane), 20, "a holder of the lease")
    assert leader.startswith(("a", "b"))
    create(plane, 3)
    until(lambda: len(alive(cloud)) == 3, 20)
    stays(lambda: len(alive(cloud)) == 3 and ever(cloud) == 3 and holder(plane) == leader, 5)
    until(lambda: bound(plane) == 3, 20)


def test_leader_killed_in_the_middle_of_a_scale_up(plane, pair):
    """12 machines, each launch call takes a while; SIGKILL after the first few: 12 in the end, none twice."""
    a, b, cloud = pair(latency="400ms", boot="1s")
    leader = until(lambda: holder(plane), 20, "a holder of the lease")
    first, second = (a, b) if leader.startswith("a") else (b, a)
    create(plane, 12)
    until(lambda: ever(cloud) >= 1, 20, every=0.005)
    first.kill()
    killed = time.monotonic()
    print(f"killed with {ever(cloud)} of 12 machines made")
    until(lambda: holder(plane) != leader, 20, "the standby takes the lease", every=0.02)
    print(f"lease taken over after {time.monotonic() - killed:.1f} s (lease 3 s)")
    assert time.monotonic() - killed < 3 + 3
    until(lambda: bound(plane) == 12, 60, lambda: f"all pods bound; {bound(plane)}, machines {len(alive(cloud))}")
    stays(lambda: len(alive(cloud)) == 12, 3)
    assert ever(cloud) == 12, f"{ever(cloud)} machines were launched for 12 pods"
    assert second.p.poll() is None


def test_requests_survive_the_leader(plane, pair):
    a, b, cloud = pair()
    leader = until(lambda: holder(plane), 20, "a holder of the lease")
    first, second = (a, b) if leader.startswith("a") else (b, a)
    until(lambda: first.call("POST", "/v1/request_resources", {"owner": "team", "bundles": [{"GPU": 4}] * 2})[0]
          in (200, 202), 20, "the request is taken")
    until(lambda: len(alive(cloud)) == 2, 20)
    first.kill()
    until(lambda: holder(plane) != leader, 20)
    until(lambda: second.get("/v1/status")[0] == 200, 20)
    stays(lambda: len(alive(cloud)) == 2, 10, "held by the request for longer than the idle timeout")
    assert ever(cloud) == 2
    assert "team" in json.dumps(second.get("/v1/nodes")[1])


def test_a_leader_that_hung_does_nothing_when_it_wakes(plane, pair):
    """SIGSTOP longer than the lease: fenced out."""
    import signal
    a, b, cloud = pair()
    leader = until(lambda: holder(plane), 20, "a holder of the lease")
    first, second = (a, b) if leader.startswith("a") else (b, a)
    first.p.send_signal(signal.SIGSTOP)
    until(lambda: holder(plane) != leader, 20)
    create(plane, 4)
    until(lambda: len(alive(cloud)) == 4, 20)
    first.p.send_signal(signal.SIGCONT)
    stays(lambda: len(alive(cloud)) == 4 and ever(cloud) == 4 and holder(plane) != leader, 6,
          lambda: f"{ever(cloud)} machines, lease with {holder(plane)}")


def test_both_started_anew_keep_what_runs(plane, pair):
    a, b, cloud = pair()
    until(lambda: holder(plane), 20)
    create(plane, 2)
    until(lambda: bound(plane) == 2, 30)
    for r in (a, b):
        r.kill()
    for r in (a, b):
        r.start()
    until(lambda: holder(plane), 20)
    stays(lambda: len(alive(cloud)) == 2 and ever(cloud) == 2, 8)
