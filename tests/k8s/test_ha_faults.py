"""`state: kubernetes` when what it keeps is large, odd or deleted by hand, and when clocks are set."""
import http.client
import json
import signal
import sys
import threading
import time
from urllib.parse import quote

from lib import ROOT
from lib.kube import SOON, until
from lib.daemon import Daemon
from lib.clocks import HOUR, Clocks, aids  # noqa: F401 (aids is a fixture)
from test_ha import LEASE, NO_HEAD, RIGHTS, Pair, config, kubeconfig, leads  # noqa: F401 (kubeconfig is a fixture)


def one(tmp_path, kubeconfig, text=None, env={}):
    text = text or config(kubeconfig, tmp_path / "cloud.json", "a", boot="300ms").replace(
        f"head: {{kubernetes: {{kubeconfig: {kubeconfig}}}}}\n", NO_HEAD)
    return Daemon(tmp_path, text, start=False, env={"KUBECONFIG": str(kubeconfig), **env})


def up(d):
    d.start(wait=False)
    until(lambda: leads(d), SOON, "it does not lead: " + d.text())


def test_a_lease_that_was_deleted_by_hand(plane, kubeconfig, tmp_path):
    """Its count of leaders begins anew, the copy's marks do not."""
    d = one(tmp_path, kubeconfig)
    for _ in range(3):
        up(d)
        d.stop()
    assert plane.client.get(LEASE)["spec"]["leaseTransitions"] == 3
    plane.client.delete(LEASE)
    with d:
        up(d)
        d.post({"owner": "me", "bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 1)
        assert plane.client.get(LEASE)["spec"]["leaseTransitions"] > 3


def test_a_request_too_large_for_the_copy_is_refused_and_stops_nobody(plane, kubeconfig, tmp_path):
    with one(tmp_path, kubeconfig) as d:
        up(d)
        large = [{"resources": {"CPU": 1}, "labels": {f"key{k}": f"{'x' * 56}{i:04}" for k in range(4)}} for i in range(4000)]
        status, reply = d.call("POST", "/v1/request_resources", {"owner": "large", "bundles": large})
        assert status == 400 and "ConfigMap" in reply["error"]["text"], (status, reply)
        d.post({"owner": "me", "bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 1)
        # and what stood before it stands
        assert [r["owner"] for r in d.get("/v1/request_resources")[1]["requests"]] == ["me"]


OWN = """
cluster: demo
state: kubernetes
ha: {namespace: default, lease: 2s, identity: a}
api: {listen: "127.0.0.1:{port}"}
limits: {idle_timeout: 600s}
providers:
  own: {plugin: exec, command: [PYTHON, "{dir}/own.py"], options: {file: "{dir}/cloud.json"}}
node_types:
  t4: {resources: {CPU: 8, GPU: 1}, max: 4}
""".replace("PYTHON", sys.executable)


def test_words_that_had_to_be_cut_are_in_the_copy(plane, kubeconfig, tmp_path):
    """A cloud with letters of three bytes: nothing of its machines is left out of the copy."""
    text = (ROOT / "providers" / "exec" / "example.py").read_text()
    where = 'say(r, machine=machine(m))'
    assert where in text
    (tmp_path / "own.py").write_text(text.replace(where, 'say(r, machine={**machine(m), "detail": "x" + "\\u20ac" * 90})'))
    name = "x" + "\u20ac" * 30
    (tmp_path / "cloud.json").write_text(json.dumps({"requests": {}, "machines": {name: {
        "id": name, "request_id": "r", "type": "t4", "zone": "", "spot": False, "cluster": "demo", "born": 0}}}))
    with one(tmp_path, kubeconfig, OWN) as d:
        up(d)
        d.until(lambda: d.ready("t4") == 1)
        status, reply = d.call("POST", f"/v1/nodes/{quote(d.nodes('t4')[0]['id'])}/protect")
        assert status == 200, reply
        d.kill()
        up(d)
        d.until(lambda: d.ready("t4") == 1)
        assert d.nodes("t4")[0]["protected"] is True, d.nodes()


def test_a_wall_clock_that_is_set_costs_no_lease(plane, kubeconfig, aids, tmp_path):  # noqa: F811
    clocks = Clocks(tmp_path)
    with one(tmp_path, kubeconfig, env=clocks.env) as d:
        up(d)
        before = plane.client.get(LEASE)["spec"]
        clocks.set(wall=HOUR)
        d.stays(lambda: d.p.poll() is None, 5)  # a lease of 2 s

        def renewed_since():
            now = plane.client.get(LEASE)["spec"]
            return now["renewTime"] > before["renewTime"] and now
        after = until(renewed_since, SOON, "it is not renewed")
        assert after["leaseTransitions"] == before["leaseTransitions"]
        renewed = after["renewTime"]
        until(lambda: plane.client.get(LEASE)["spec"]["renewTime"] != renewed, SOON, "it is not renewed any more")


def ask_in_vain(d):
    """A client who waits for what sleeps."""
    def ask():
        try:
            d.call("POST", "/v1/request_resources", {"owner": "late", "bundles": [{"GPU": 1}] * 3})
        except (OSError, http.client.HTTPException):
            pass
    t = threading.Thread(target=ask)
    t.start()
    return t


def test_a_computer_that_slept_does_not_believe_it_leads(plane, kubeconfig, aids, tmp_path):  # noqa: F811
    """Its monotonic clock stood still, and so by that the lease is its own for a moment longer."""
    clocks = Clocks(tmp_path)
    with Pair(tmp_path, kubeconfig, head=NO_HEAD, lease="5s", clocks=clocks) as p:
        p.a.post({"owner": "me", "bundles": [{"GPU": 1}] * 2})
        p.a.until(lambda: p.a.ready("t4") == 2)
        p.a.p.send_signal(signal.SIGSTOP)
        asleep = time.monotonic()
        client = ask_in_vain(p.a)
        until(lambda: leads(p.b), SOON, "the standby does not lead")
        clocks.set(mono=-int((time.monotonic() - asleep) * 1000), boot=0)
        plane.apiserver.pause()  # so that nobody tells it
        try:
            p.a.p.send_signal(signal.SIGCONT)
            until(lambda: "may be another's" in p.a.text() or p.a.p.poll() is not None, SOON, p.a.text)
            until(lambda: p.a.p.poll() is not None, SOON, "the old leader lives on")
        finally:
            plane.apiserver.resume()
        client.join()
        assert p.a.p.returncode == 1 and "may be another's" in p.a.text(), p.a.text()[-3000:]
        assert len(p.machines()) == 2


def test_a_standby_is_alive_by_every_name_of_that_probe(plane, kubeconfig, tmp_path):  # noqa: F811
    with Pair(tmp_path, kubeconfig, head=NO_HEAD) as p:
        for path in ("/healthz", "/livez", "/health-check"):
            assert p.a.call("GET", path)[0] == 200
            assert p.b.call("GET", path)[0] == 200, path  # else a kubelet would start it again and again
        assert p.b.call("GET", "/readyz")[0] == 503


def test_what_only_a_start_can_change_of_ha_is_refused_by_name(plane, kubeconfig, tmp_path):  # noqa: F811
    with one(tmp_path, kubeconfig) as d:
        up(d)
        d.path.write_text(d.path.read_text().replace("lease: 2s", "lease: 20s"))
        status, reply = d.call("POST", "/v1/reload")
        assert status == 400 and "ha: needs a restart" in reply["error"]["text"], (status, reply)


def test_a_copy_that_cannot_be_written_is_not_ready(plane, tmp_path):
    """Nothing is launched or ended until it can be, so whoever looks must be told."""
    rbac, name = "rbac.authorization.k8s.io", "davit-copy"  # an account that no other test gives rights to

    def may(rights):
        plane.apply({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": {"name": name, "namespace": "default"},
                     "rules": rights})

    may(RIGHTS)
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": "default"}},
                {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": {"name": name, "namespace": "default"},
                 "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
                 "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]})
    with one(tmp_path, plane.kubeconfig_for("default", name)) as d:
        up(d)
        d.until(lambda: d.get("/readyz")[0] == 200)
        may(RIGHTS[:1])  # the Lease alone
        mine = plane.client_for("default", name)
        until(lambda: mine.call("GET", "/api/v1/namespaces/default/configmaps/davit-demo-0")[0] == 403)
        body = json.dumps({"owner": "me", "bundles": [{"GPU": 1}]})
        c = http.client.HTTPConnection("127.0.0.1", d.port)
        c.request("POST", "/v1/request_resources", body)  # answered when it is in the copy
        d.until(lambda: d.get("/readyz")[0] == 503, SOON, "it is ready, and does nothing")
        may(RIGHTS)
        d.until(lambda: d.get("/readyz")[0] == 200 and d.ready("t4") == 1, SOON)
        assert c.getresponse().status in (200, 202)
        c.close()


def test_what_a_machine_was_bought_for_fills_no_configmap(plane, kubeconfig, tmp_path):  # noqa: F811
    """A thousand machines with a hundred small things on each must have room in 16 ConfigMaps."""
    with one(tmp_path, kubeconfig) as d:
        up(d)
        d.post({"owner": "me", "bundles": [{"GPU": 1}] + [{"CPU": i / 1000} for i in range(1, 80)]})
        d.until(lambda: d.ready("t4") == 1)
        rows = [json.loads(v) for i in range(16) for k, v in
                (plane.client.get(f"/api/v1/namespaces/default/configmaps/davit-demo-{i}").get("data") or {}).items()
                if k.startswith("machine.")]
        assert len(rows) == 1 and len(json.dumps(rows[0])) < 3000, rows


def test_a_standby_leads_with_the_file_as_it_is_then(plane, kubeconfig, tmp_path):  # noqa: F811
    """It may have waited for months; and to be told of the new file must not end it."""
    with Pair(tmp_path, kubeconfig, head=NO_HEAD) as p:
        p.b.path.write_text(p.b.path.read_text() + "  new: {provider: sim, resources: {CPU: 2}, max: 3}\n")
        p.b.p.send_signal(signal.SIGHUP)
        p.a.stop()
        until(lambda: leads(p.b), SOON, "the standby does not lead: " + p.b.text())
        p.b.until(lambda: "new" in [t["name"] for t in p.b.status()["types"]], SOON, "it leads with the old file")
