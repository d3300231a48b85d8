"""The shipped manifests under attack: leader and standby stay up while 1,000 slow clients press each, on both ports.

There is no container runtime here: the two replicas are processes with the ConfigMap, the ServiceAccount, the rights and
the environment of configs/kubernetes, and a prober asks what their liveness probe asks, more often than a kubelet.
Short here; `make hostile` presses for ten minutes.
"""
import os

import pytest
import yaml

from lib import ROOT, free_port
from lib.daemon import Daemon
from lib.hostile import Crowd, Probes, body, crowds, slow, told
from lib.kube import SOON, until

LONG = float(os.environ.get("HOSTILE_S", "12"))
SHIPPED = [o for name in ("rbac.yaml", "davit.yaml") for o in yaml.safe_load_all((ROOT / "configs/kubernetes" / name).read_text())]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/davit/leases/davit-my-cluster"
HEADER = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


def shipped(kind):
    return next(o for o in SHIPPED if o["kind"] == kind)


@pytest.fixture
def replicas(plane, tmp_path):
    """The two, and their ports for metrics.  The cloud is played, and ports differ: all else is as it stands there."""
    for o in SHIPPED:
        if o["kind"] in ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"):
            plane.apply(o)
    config = shipped("ConfigMap")["data"]["davit.yaml"]
    made = []
    for who in "ab":
        (tmp_path / who).mkdir()
        metrics = free_port()
        text = config.replace("127.0.0.1:8790", "127.0.0.1:{port}").replace("0.0.0.0:9790", f"0.0.0.0:{metrics}")
        text = text.replace("gke: {project: my-project, location: us-central1-c, cluster: my-cluster}",
                            f"sim: {{state: {tmp_path}/cloud.json}}").replace("provider: gke, pool: cpu,", "provider: sim,") \
            .replace("provider: gke, pool: gpu,", "provider: sim,")
        assert "gke" not in text and text.count("sim") == 3
        folder, env = plane.mount_for("davit", "davit")
        d = Daemon(tmp_path / who, text, start=False, env={**env, "DAVIT_SERVICEACCOUNT_DIR": str(folder), "KUBECONFIG": None,
                                                           "HOME": str(tmp_path)})
        d.metrics = metrics
        d.start(wait=None)
        made.append(d)
        until(lambda d=d: "leading" in d.text() or "standby" in d.text(), SOON, "neither leads nor waits: " + d.text())
    yield made
    for d in made:
        d.stop()
    plane.client.delete("/api/v1/namespaces/davit/configmaps")
    plane.client.delete(LEASE)


def test_replicas_stay_up(plane, replicas):
    a, b = replicas
    until(lambda: a.answers("/v1/status"), SOON, a.text())
    container, = shipped("Deployment")["spec"]["template"]["spec"]["containers"]
    live = container["livenessProbe"]
    assert live["httpGet"] == {"path": "/healthz", "port": "metrics"}
    limit = int(container["resources"]["limits"]["memory"].removesuffix("Mi")) << 20
    before = plane.client.get(LEASE)["spec"]
    many = [Crowd(port, 500, slow(HEADER)) for d in replicas for port in (d.port, d.metrics)]
    many.append(Crowd(a.port, 100, body((4 << 20) - 1)))
    with Probes(a.metrics, b.metrics, path=live["httpGet"]["path"], pid=[a.p.pid, b.p.pid]) as p:
        closed = crowds(many, LONG)
    told(p, closed, LONG)
    assert not p.failures, p.failures[:5]
    assert p.worst < min(1, live["timeoutSeconds"]), f"a probe took {p.worst:.2f} s"
    assert p.peak < limit, f"{p.peak >> 20} MiB"
    assert a.p.poll() is None and b.p.poll() is None
    after = plane.client.get(LEASE)["spec"]
    assert after["leaseTransitions"] == before["leaseTransitions"] and after["holderIdentity"] == before["holderIdentity"]
    assert after["renewTime"] > before["renewTime"]
    assert a.get("/v1/status")[0] == 200 and b.get("/v1/status")[0] == 503
