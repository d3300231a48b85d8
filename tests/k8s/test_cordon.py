"""What a person says of a node is told to Kubernetes: `davit cordon`, `uncordon`, `drain` on the real control plane."""
import pytest

import manifests
from lib.kube import MERGE, SOON, pods_path, until
from pools import Pools
from test_drain import SMALL, alive, cordoned, deploy, deployments_first, node, nodes, pods, ready  # noqa: F401

NOTE = "davit.io/cordoned-by-user"
KEEP = {"idle_timeout": "1h"}


def noted(plane, name):
    return NOTE in node(plane, name)["metadata"].get("annotations", {})


def place(plane, name):
    """The node of a pod, once the scheduler has decided."""
    return next((p["spec"].get("nodeName") for p in pods(plane) if p["metadata"]["name"] == name), None)


def by_hand(plane, name, on):
    plane.client.need("PATCH", f"/api/v1/nodes/{name}", {"spec": {"unschedulable": on}}, MERGE)


@pytest.fixture
def one(plane, tmp_path):
    """A daemon, and the name of its one node, on which a small pod runs."""
    with Pools(plane, tmp_path, SMALL, limits=KEEP) as d:
        plane.client.post(pods_path(), manifests.pod("work", cpu="1"))
        until(lambda: d.ready("small") == 1 and place(plane, "work"), SOON)
        yield d, place(plane, "work")


def test_no_pod_comes_to_a_cordoned_node(plane, one):
    d, name = one
    assert "nothing new is planned" in d.cli("cordon", name)
    until(lambda: cordoned(plane, name) and noted(plane, name), SOON, d.text)
    plane.client.post(pods_path(), manifests.pod("second", cpu="1"))
    until(lambda: place(plane, "second"), SOON, lambda: d.cli("why", "second"))
    assert place(plane, "second") != name and place(plane, "work") == name, "what runs there goes on"
    d.kill()
    d.start()
    mark = plane.audit_mark()
    d.stays(lambda: cordoned(plane, name), 2)
    assert not plane.audit(mark, verb="patch", resource="nodes", user="davit"), "said once"
    d.cli("uncordon", name)
    until(lambda: not cordoned(plane, name) and not noted(plane, name), SOON, d.text)
    plane.client.post(pods_path(), manifests.pod("third", cpu="2500m"))  # 3 of 4 CPUs are free on either
    until(lambda: place(plane, "third"), SOON)
    assert d.nodes_of.ever == 2, "the room that came back is used"


def test_what_others_say_stays(plane, one):
    d, name = one
    by_hand(plane, name, True)
    until(lambda: cordoned(plane, name))
    d.cli("cordon", name)
    d.stays(lambda: not noted(plane, name), 2, "somebody else had cordoned it")
    d.cli("uncordon", name)
    d.stays(lambda: cordoned(plane, name), 2, "his cordon was taken back")
    by_hand(plane, name, False)
    d.cli("cordon", name)
    until(lambda: cordoned(plane, name), SOON)
    by_hand(plane, name, False)
    d.stays(lambda: not cordoned(plane, name), 2, "taken back by hand, and set again")
    d.cli("uncordon", name)
    until(lambda: not noted(plane, name), SOON)


def test_a_drain_by_a_person(plane, tmp_path):
    with Pools(plane, tmp_path, SMALL, limits=KEEP) as d:
        name, = deploy(plane, "web", 2)
        mark = plane.audit_mark()
        assert "is drained and ended" in d.cli("drain", name)
        until(lambda: name not in nodes(plane), 60, lambda: d.cli("why", name))
        until(lambda: len(ready(plane, "web")) == 2, SOON)
        assert [e["code"] for e in d.evictions(mark)].count(201) == 2 and d.deletions(mark) == []
        assert {p["spec"]["nodeName"] for p in alive(plane, "web")} == nodes(plane)
        asked, = d.events("node.asked")
        assert "by " in asked["text"]


def test_a_cordon_ends_within_a_drain(plane, one):
    """Cordoned, then drained, which a pod forbids; taken back, the node is as it was."""
    d, name = one  # the pod "work" has no controller
    d.cli("cordon", name)
    until(lambda: noted(plane, name), SOON)
    d.cli("drain", name)
    until(lambda: d.events("node.draining"), SOON)
    d.cli("uncordon", name)
    until(lambda: not cordoned(plane, name) and not noted(plane, name), SOON, lambda: str(node(plane, name)["spec"]) + d.cli("why", name))
    assert "davit.io/cordoned" not in node(plane, name)["metadata"].get("annotations", {})
    assert place(plane, "work") == name
