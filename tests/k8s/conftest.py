"""Fixtures of the tests on a real control plane.  Run them through
tests/netns.sh, so that whole networks of ports are their own."""
import pytest

from figures import FIGURES
from kuberay import Operator
from lib.kube import until
from lib.plane import Plane


@pytest.fixture(scope="session")
def shared():
    with Plane(admission=["ExtendedResourceToleration"]) as p:
        yield p


@pytest.fixture
def plane(shared):
    """The session's plane, and a test's objects taken away after it."""
    yield shared
    clean(shared)


@pytest.fixture
def operator(plane):
    with Operator(plane) as o:
        yield o
        for c in plane.client.get("/apis/ray.io/v1/rayclusters")["items"]:
            plane.client.delete(f"/apis/ray.io/v1/namespaces/{c['metadata']['namespace']}/rayclusters/"
                                f"{c['metadata']['name']}")


def pytest_terminal_summary(terminalreporter):
    if FIGURES:
        terminalreporter.section("measured")
        for text in FIGURES:
            terminalreporter.write_line(text)


def clean(p):
    """Empties the namespace `default` and takes away all nodes."""
    p.apiserver.resume()
    p.client.delete("/apis/ray.io/v1/namespaces/default/rayclusters")
    for path in ("/apis/apps/v1/namespaces/default/deployments", "/apis/apps/v1/namespaces/default/daemonsets",
                 "/apis/apps/v1/namespaces/default/replicasets", "/apis/apps/v1/namespaces/default/statefulsets",
                 "/apis/batch/v1/namespaces/default/jobs", "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
                 "/api/v1/namespaces/default/pods", "/api/v1/nodes",
                 "/apis/coordination.k8s.io/v1/namespaces/default/leases", "/api/v1/namespaces/default/events",
                 "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets",
                 "/api/v1/namespaces/default/resourcequotas"):
        # pods on nodes that are gone would wait for a kubelet for ever
        p.client.delete(path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    for service in p.client.get("/api/v1/namespaces/default/services")["items"]:
        if service["metadata"]["name"] != "kubernetes":
            p.client.delete(f"/api/v1/namespaces/default/services/{service['metadata']['name']}")
    until(lambda: not p.client.get("/api/v1/namespaces/default/pods")["items"] and
          not p.client.get("/api/v1/nodes")["items"], 120, "the plane is not empty after the test")
