"""A node whose kubelet is silent."""
import time

import manifests
from lib.kube import SOON, pods_path, until
from kwoknodes import is_ready
from pools import Pools


def test_a_node_that_is_not_ready_and_holds_nothing_is_not_paid_for_for_ever(plane, tmp_path):
    with Pools(plane, tmp_path, {"cpu": {"resources": {"CPU": 4, "memory": "16Gi"}, "price": 0.5, "max": 3}}) as d:
        plane.client.post(pods_path(), manifests.pod("p", cpu="1"))
        until(lambda: d.ready("cpu") == 1, SOON)
        name = plane.client.get(pods_path(name="p"))["spec"].get("nodeName") or until(
            lambda: plane.client.get(pods_path(name="p"))["spec"].get("nodeName"), 10)
        d.saw_all()  # else it may see the node's trouble before the pod's place
        plane.client.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {"davit-test/not-ready": "true"}}})
        status = plane.client.get(f"/api/v1/nodes/{name}")["status"]
        for c in status["conditions"]:
            if c["type"] == "Ready":  # for longer than a reboot takes
                c.update(status="Unknown", lastTransitionTime=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 900)))
        plane.client.patch(f"/api/v1/nodes/{name}/status", {"status": {"conditions": status["conditions"]}})
        until(lambda: not is_ready(plane.client.get(f"/api/v1/nodes/{name}")), SOON)
        assert d.machines() == {"cpu": 1}  # there is work on it, for all we know
        plane.client.call("DELETE", pods_path(name="p"), {"gracePeriodSeconds": 0})
        until(lambda: not d.machines(), SOON, lambda: f"kept for: {d.nodes('cpu')}")
