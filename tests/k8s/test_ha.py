"""Two daemons, one leader: `state: kubernetes` on a real API server."""
import json
import os
import signal
import subprocess
import time

import pytest
from lib import PATIENCE, crowded
from lib.kube import SOON, until
from lib.daemon import Daemon

RIGHTS = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]},
          {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]}]
STALL = os.path.join(os.path.dirname(__file__), "..", "integration", "aids", "stall.c")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/davit-demo"


@pytest.fixture
def kubeconfig(plane):
    """Of a service account with exactly the rights that docs/config.md names."""
    who = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "davit", "namespace": "default"}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "davit", "namespace": "default"}, "rules": RIGHTS}
    bound = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
             "metadata": {"name": "davit", "namespace": "default"},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "davit"},
             "subjects": [{"kind": "ServiceAccount", "name": "davit", "namespace": "default"}]}
    plane.apply(who, role, bound)
    return plane.kubeconfig_for("default", "davit")


def config(kubeconfig, cloud, who, lease="2s", boot="2s", extra=""):
    return f"""cluster: demo
state: kubernetes
ha: {{namespace: default, lease: {lease}, identity: {who}}}
head: {{kubernetes: {{kubeconfig: {kubeconfig}}}}}
api: {{listen: "127.0.0.1:{{port}}"}}
providers: {{sim: {{state: {cloud}}}}}
node_types:
  t4: {{provider: sim, resources: {{CPU: 4, GPU: 1}}, max: 600, options: {{boot: {boot}{extra}}}}}
"""


class Pair:
    """Daemons a and b on one cloud; a leads."""

    def __init__(self, tmp_path, kubeconfig, head="", clocks=None, **kw):
        """clocks: a's own."""
        self.cloud = tmp_path / "cloud.json"
        self.d = []
        for who in "ab":
            folder = tmp_path / who
            folder.mkdir()
            text = config(kubeconfig, self.cloud, who, **kw).replace(f"head: {{kubernetes: {{kubeconfig: {kubeconfig}}}}}\n", head) \
                if head else config(kubeconfig, self.cloud, who, **kw)
            env = {"KUBECONFIG": str(kubeconfig), **(clocks.env if clocks and who == "a" else {})}
            d = Daemon(folder, text, start=False, env=env)
            self.d.append(d)
            d.start(wait=False)
            until(lambda d=d: "leading" in d.text() or "standby" in d.text(), SOON, "neither leads nor waits: " + d.text())
        self.a, self.b = self.d
        until(lambda: leads(self.a), SOON, "a does not lead: " + self.a.text())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for d in self.d:
            if d.p and d.p.poll() is None:
                d.p.send_signal(signal.SIGCONT)
                d.p.kill()
                d.p.wait()

    def machines(self):
        return json.loads(self.cloud.read_text())["machines"] if self.cloud.exists() else []


def leads(d):
    try:
        return d.call("GET", "/v1/status")[0] == 200
    except (OSError, ConnectionError):
        return False


def living(machines):
    return [m for m in machines if m.get("phase") not in ("gone", "stopped")]


NO_HEAD = "# the API server is found by $KUBECONFIG\n"


def test_standby_answers_and_waits(plane, kubeconfig, tmp_path):
    with Pair(tmp_path, kubeconfig, head=NO_HEAD) as p:
        status, body = p.b.call("GET", "/healthz")
        assert status == 200 and body["status"] == "standby"
        assert "a leads" in body["detail"]
        status, body = p.b.call("GET", "/v1/status")
        assert status == 503 and body["error"]["code"] == "standby"
        assert p.b.call("POST", "/v1/request_resources", {"bundles": [{"GPU": 1}]})[0] == 503


class Env:
    """What a alone has in its environment."""

    def __init__(self, **env):
        self.env = env


def test_a_leader_whose_loop_stands_gives_its_lease_up(plane, kubeconfig, tmp_path):
    """Its keeper renews the lease all the while, so it must see that nothing is done; machines stay."""
    stall, file = tmp_path / "stall.so", tmp_path / "stall"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", stall, STALL, "-ldl"], check=True)
    with Pair(tmp_path, kubeconfig, head=NO_HEAD, boot="1s", clocks=Env(LD_PRELOAD=str(stall), DAVIT_STALL_LOOP=str(file))) as p:
        p.a.post({"owner": "me", "bundles": [{"GPU": 1}] * 2})
        until(lambda: p.a.ready("t4") == 2, SOON, "no machines")
        file.touch()
        assert p.a.p.wait(PATIENCE) == 1
        assert "the control loop stands still" in p.a.text() and "the lease is given up" in p.a.text()
        until(lambda: leads(p.b), SOON, "the standby does not lead: " + p.b.text())
        assert p.b.ready("t4") == 2 and len(living(p.machines())) == 2


def test_killed_in_the_middle_of_a_scale_up(plane, kubeconfig, tmp_path):
    with Pair(tmp_path, kubeconfig, head=NO_HEAD, boot="1s") as p:
        p.a.post({"owner": "me", "bundles": [{"GPU": 1}] * 300})
        p.a.p.kill()          # the request is promised, its launches may be anywhere
        p.a.p.wait()
        killed = time.monotonic()
        until(lambda: leads(p.b), SOON, "the standby does not lead: " + p.b.text())
        took = time.monotonic() - killed
        until(lambda: p.b.ready("t4") == 300, SOON, "not all 300 are there")
        print(f"takeover {took:.1f} s with a lease of 2 s")
        assert took < 6 * crowded()
        assert len(living(p.machines())) == 300
        assert plane.client.get(LEASE)["spec"]["leaseTransitions"] == 2

        def all_there():
            assert len(living(p.machines())) == 300
        for _ in range(6):  # half a second of its time each, no faster than it renews its lease of 2 s
            seen = plane.client.get(LEASE)["spec"]["renewTime"]
            p.b.later(0.5, all_there)
            until(lambda seen=seen: plane.client.get(LEASE)["spec"]["renewTime"] != seen, SOON)


@pytest.mark.parametrize("wait", [0.002, 0.01, 0.03, 0.1])
def test_killed_at_other_moments(plane, kubeconfig, tmp_path, wait):
    with Pair(tmp_path, kubeconfig, head=NO_HEAD, boot="500ms") as p:
        sent = p.a.post({"owner": "me", "bundles": [{"GPU": 1}] * 40})
        assert sent["bundles"] == 40
        time.sleep(wait)  # wait: the moment of its end is what the cases differ in
        p.a.p.kill()
        p.a.p.wait()
        until(lambda: leads(p.b) and p.b.ready("t4") == 40, SOON, "not all 40 are there: " + p.b.text())
        assert len(living(p.machines())) == 40


def test_stopped_leader_hands_over_at_once(plane, kubeconfig, tmp_path):
    with Pair(tmp_path, kubeconfig, head=NO_HEAD, lease="30s") as p:
        p.a.post({"owner": "me", "bundles": [{"GPU": 1}] * 3})
        p.a.until(lambda: p.a.ready("t4") == 3, SOON)
        p.a.p.send_signal(signal.SIGTERM)
        p.a.p.wait(PATIENCE)
        began = time.monotonic()
        until(lambda: leads(p.b), SOON, "no hand-over")
        assert time.monotonic() - began < 5 * crowded()  # a lease of 30 s
        assert p.b.ready("t4") == 3
        assert len(living(p.machines())) == 3


def test_a_sleeping_leader_cannot_write(plane, kubeconfig, tmp_path):
    with Pair(tmp_path, kubeconfig, head=NO_HEAD) as p:
        p.a.post({"owner": "me", "bundles": [{"GPU": 1}] * 2})
        p.a.until(lambda: p.a.ready("t4") == 2, SOON)
        p.a.p.send_signal(signal.SIGSTOP)
        until(lambda: leads(p.b), SOON, "the standby does not lead")
        p.b.post({"owner": "me", "bundles": [{"GPU": 1}] * 4})
        p.a.p.send_signal(signal.SIGCONT)
        until(lambda: p.a.p.poll() is not None, SOON, "the old leader lives on")
        assert p.a.p.returncode == 1
        assert "this daemon ends" in p.a.text()
        p.b.until(lambda: p.b.ready("t4") == 4, SOON)
        assert len(living(p.machines())) == 4


def test_a_later_token_ends_the_leader(plane, kubeconfig, tmp_path):
    """The copy is another's while the lease still seems ours."""
    maps = "/api/v1/namespaces/default/configmaps"
    with Pair(tmp_path, kubeconfig, head=NO_HEAD, lease="60s") as p:
        for k in range(16):
            plane.client.patch(f"{maps}/davit-demo-{k}", {"metadata": {"annotations": {
                "davit.io/fence": "99", "davit.io/holder": "later"}}})
        with pytest.raises((OSError, ConnectionError, AssertionError)):
            p.a.post({"owner": "me", "bundles": [{"GPU": 1}]})
        until(lambda: p.a.p.poll() is not None, SOON, "the old leader lives on")
        assert 'another leader, "later" with token 99' in p.a.text()
        assert p.machines() == []


def test_both_stopped_nothing_is_forgotten(plane, kubeconfig, tmp_path):
    with Pair(tmp_path, kubeconfig, head=NO_HEAD) as p:
        p.a.post({"owner": "me", "bundles": [{"GPU": 1}] * 2})
        p.a.until(lambda: p.a.ready("t4") == 2, SOON)
        for d in (p.b, p.a):
            d.p.kill()
            d.p.wait()
        p.b.start(wait=False)
        until(lambda: leads(p.b), SOON, "does not lead")
        # that the second of them was ready may not have been in the copy yet
        p.b.until(lambda: p.b.ready("t4") == 2, SOON)
        assert len(p.machines()) == 2
        requests = p.b.call("GET", "/v1/requests")[1]
        assert "me" in json.dumps(requests)


def test_without_the_api_server_nothing_is_launched(plane, kubeconfig, tmp_path):
    with Pair(tmp_path, kubeconfig, head=NO_HEAD, lease="20s") as p:
        plane.apiserver.pause()
        try:
            import threading
            got = []
            t = threading.Thread(target=lambda: got.append(
                p.a.call("POST", "/v1/request_resources", {"owner": "me", "bundles": [{"GPU": 1}]})))
            t.start()
            steps = p.a.metric("davit_steps_total")

            def has_looked():
                p.a.clocks.ahead(250)
                return p.a.metric("davit_steps_total") > steps + 1
            p.a.until(has_looked)
            assert p.machines() == [] and not got
        finally:
            plane.apiserver.resume()
        t.join(PATIENCE)
        assert got and got[0][0] in (200, 202)
        p.a.until(lambda: p.a.ready("t4") == 1, SOON)


def test_too_few_rights_are_named(plane, tmp_path):
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "nobody", "namespace": "default"}})
    path = plane.kubeconfig_for("default", "nobody")
    d = Daemon(tmp_path, config(path, tmp_path / "cloud.json", "x"), start=False)
    d.start(wait=False)
    try:
        until(lambda: "leases" in d.text(), SOON, d.text())
        assert "default/davit-demo" in d.text() or "leases" in d.text()
        assert d.p.poll() is None
    finally:
        d.p.kill()
        d.p.wait()
    assert os.path.exists(path)


def test_pruned_maps_are_written_again(plane, kubeconfig, tmp_path):
    """Somebody deletes what nothing is written to just now; who is promised something after that has it, and so have the others."""
    maps = "/api/v1/namespaces/default/configmaps"
    with Pair(tmp_path, kubeconfig, head=NO_HEAD) as p:
        for k in range(8):
            p.a.post({"owner": f"o{k}", "bundles": [{"CPU": 1}]})
        for k in range(1, 16):
            plane.client.delete(f"{maps}/davit-demo-{k}")
        p.a.post({"owner": "late", "bundles": [{"CPU": 1}]})
        assert p.a.events("journal.rewritten")
        p.a.kill()
        p.b.until(lambda: p.b.answers("/v1/request_resources/late"), SOON)
        for owner in ("late", *(f"o{k}" for k in range(8))):
            assert p.b.get(f"/v1/request_resources/{owner}")[0] == 200, owner
