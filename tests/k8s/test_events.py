"""Kubernetes Events: what was bought for a pod and why not, once each."""

import json
import time

import manifests
import pools
from kwoknodes import add_node
from lib.kube import SOON, pods_path, until
from pools import PRODUCT, Pools

EVENTS = "/api/v1/namespaces/default/events"
T4 = {PRODUCT: "Tesla-T4"}


def events(plane, reason, name=None):
    return [e for e in plane.client.get(EVENTS)["items"] if e.get("reason") == reason
            and name in (None, e["involvedObject"]["name"])]


def post(plane, *names, **more):
    for n in names:
        plane.client.post(pods_path(), manifests.pod(n, **more))


def test_scale_up_and_why_not(plane, tmp_path):
    with Pools(plane, tmp_path) as d:
        post(plane, "fits", gpus=1, nodeSelector=T4)
        post(plane, "large", gpus=16, nodeSelector=T4)
        up, = until(lambda: events(plane, "TriggeredScaleUp", "fits"), SOON)
        pod = plane.client.get(pods_path(name="fits"))
        assert up["involvedObject"]["uid"] == pod["metadata"]["uid"] and up["involvedObject"]["kind"] == "Pod"
        assert up["type"] == "Normal" and up["source"]["component"] == "davit" and "1 of t4" in up["message"]
        no, = until(lambda: events(plane, "NotTriggerScaleUp", "large"), SOON)
        assert no["type"] == "Warning" and "t4 lacks GPU: 16 needed, 4 there" in no["message"], no["message"]
        ticks = d.status()["tick"]
        d.stays(lambda: len(events(plane, "NotTriggerScaleUp")) == 1, 3)
        assert no["count"] == 1 and d.status()["tick"] >= ticks
        assert not events(plane, "NotTriggerScaleUp", "fits")
        assert not events(plane, "TriggeredScaleUp", "large")


def test_one_event_per_pod(plane, tmp_path):
    mark = plane.audit_mark()
    slow = {"t4": dict(pools.TYPES["t4"], options={"boot": "4s"})}  # all pods are there before the first node is
    with Pools(plane, tmp_path, slow) as d:
        post(plane, *(f"p-{i}" for i in range(30)), gpus=1, nodeSelector=T4)
        until(lambda: len({e["involvedObject"]["name"] for e in events(plane, "TriggeredScaleUp")}) >= 30, SOON)
        d.later(2)
        wrote = plane.audit(mark, verb="create", resource="events", user="davit")
        told = [e["body"]["involvedObject"]["name"] for e in wrote if e["body"]["reason"] == "TriggeredScaleUp"]
        assert len(told) == len(set(told)) == 30, told


def test_scale_down_and_its_failure_on_the_node(plane, tmp_path):
    small = {"small": {"resources": {"CPU": 4, "memory": "16Gi"}, "price": 0.2, "max": 20}}
    with Pools(plane, tmp_path, small, limits={"idle_timeout": "2s"}) as d:
        post(plane, "work", cpu="3")
        until(lambda: d.ready("small") == 1, SOON)
        name = plane.client.get("/api/v1/nodes")["items"][0]["metadata"]["name"]
        annotate = {"metadata": {"annotations": {"davit.io/do-not-disrupt": "true"}}}
        plane.client.patch(f"/api/v1/nodes/{name}", annotate)
        plane.client.delete(pods_path(name="work"))
        failed, = until(lambda: events(plane, "ScaleDownFailed", name), SOON)
        assert "davit.io/do-not-disrupt" in failed["message"] and failed["involvedObject"]["kind"] == "Node"
        annotate["metadata"]["annotations"]["davit.io/do-not-disrupt"] = None
        plane.client.patch(f"/api/v1/nodes/{name}", annotate)
        until(lambda: events(plane, "ScaleDown", name), SOON)
        until(lambda: d.count() == {}, SOON)


def refuse(plane, name, sentence):
    """What a scheduler writes that has tried the pod on all nodes."""
    told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": sentence,
            "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    plane.client.patch(f"{pods_path(name=name)}/status", {"status": {"conditions": [told]}}, "application/strategic-merge-patch+json")


def test_the_schedulers_own_sentence_is_shown(plane, tmp_path):
    """Its scheduler, which we play, refuses a node with room for a reason that nobody else knows: another is bought, once, and
    what it said is told by `why`, the status that the page shows, and the pod's event."""
    one = {"small": {"resources": {"CPU": 4, "memory": "16Gi"}, "price": 0.2, "max": 20}}
    with Pools(plane, tmp_path, one, head={"scheduler_names": ["haunts"]}, limits={"idle_timeout": "1h"}) as d:
        add_node(plane, "old", cpu=8)
        post(plane, "w", cpu="1", schedulerName="haunts")
        refuse(plane, "w", "0/1 nodes are available: 1 node(s) are haunted.")
        until(lambda: "placed" in json.dumps(d.get("/v1/why/kubernetes")[1]), SOON)
        assert d.machines() == {}
        until(lambda: d.later(5) or d.machines() == {"small": 1}, SOON)
        until(lambda: d.ready("small") == 1, SOON)
        refuse(plane, "w", "0/2 nodes are available: 2 node(s) are haunted.")
        until(lambda: d.later(5) or d.events("demand.unhelped"), SOON)
        said = "the scheduler says: 0/2 nodes are available: 2 node(s) are haunted."
        assert said in d.events("demand.unhelped")[0]["text"], d.events("demand.unhelped")
        until(lambda: [e for e in events(plane, "NotTriggerScaleUp", "w") if said in e["message"]], SOON, why=lambda: str(plane.client.get(EVENTS)["items"]))

        def why():
            return d.get("/v1/why/kubernetes")[1]["owner"]["demands"][0]
        # the event may come with a plan on which it is placed still: a node that changed has not been tried for a while
        until(lambda: d.later(5) or said in why()["bundles"][0]["text"], SOON, why=lambda: f"{why()}")
        assert why()["scheduler_says"] in said, why()
        until(lambda: said in json.dumps(d.status()), SOON, why=lambda: f"{d.status()}")
        d.stays(lambda: d.machines() == {"small": 1}, 60)
        assert len(d.events("launch")) == 1


def test_without_the_right(plane, tmp_path):
    """Said once, and left; scaling goes on."""
    pools.account(plane)
    rules = [r for r in pools.RULES if "events" not in r["resources"]]
    with Pools(plane, tmp_path, start=False) as d:
        pools.account(plane, rules)
        stranger = plane.client_for("default", "davit")
        until(lambda: stranger.call("POST", "/api/v1/namespaces/default/events?dryRun=All", {})[0] == 403)
        mark = plane.audit_mark()
        d.start()
        post(plane, "a", "b", gpus=1, nodeSelector=T4)
        until(lambda: d.events("events.off"), SOON)
        until(lambda: d.ready("t4") == 1, SOON)
        post(plane, "c", gpus=16, nodeSelector=T4)
        until(lambda: d.status()["demand"]["infeasible"], SOON, lambda: f"{d.status()['demand']}")
        d.later(2)
        assert len(d.events("events.off")) == 1
        assert "events" in d.events("events.off")[0]["text"]
        assert len(plane.audit(mark, resource="events", user="davit")) <= 2
    pools.account(plane)
