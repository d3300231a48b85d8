"""When a request takes another owner's place, everybody is told: its reply with the difference in dollars, `why` of who lost the
place and of what is bought for it, an event; and nothing that a request holds is called idle."""
import json

import pytest

from lib.daemon import Daemon

CONFIG = """
cluster: displaced
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: 5m, think: 0}
providers: {sim: {state: "{dir}/cloud.json", boot: 100ms}}
node_types:
  t4: {resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.73, max: 2}
  v100: {resources: {CPU: 32, GPU: 4}, accelerator_type: V100, price: 11.44, max: %s}
"""
HALF = {"resources": {"GPU": 0.5}, "count": 3}
T4S = {"resources": {"GPU": 1}, "accelerator_type": "T4", "count": 2}


def settled(d):
    d.until(lambda: d.status()["nodes"]["starting"] == 0 and d.status()["demand"]["launched"] == 0)


@pytest.fixture
def crowded(tmp_path):
    """alice holds three halves on two T4s, all there may be."""
    with Daemon(tmp_path, CONFIG % 1) as d:
        d.post({"owner": "alice", "bundles": [HALF]})
        d.until(lambda: d.ready("t4") == 2)
        settled(d)
        yield d


def test_the_reply_says_whom_it_displaces_and_what_that_costs(crowded):
    d = crowded
    reply = d.post({"owner": "sweep", "bundles": [T4S]})
    assert reply["satisfied"] and reply["cost_per_hour"] == 0, reply
    assert [x["owner"] for x in reply["displaces"]] == ["alice"] and reply["adds_per_hour"] == 11.44, reply
    assert "it takes the place of alice (1 x v100 for it): the bill rises by 11.44 $/h" in reply["text"], reply["text"]

    d.until(lambda: d.ready("v100") == 1)
    for _ in range(2):  # what happened in an earlier step is still known
        alice = d.cli("why", "alice")
        assert "sweep took the place of alice on t4-" in alice and "1 x v100" in alice and "11.44 $/h more" in alice, alice
        assert "sweep took the place of alice" in d.cli("why", "sweep")
        node = next(n for n in d.nodes() if n["type"] == "v100")
        assert node["because"].startswith("sweep took the place of alice on t4-"), node
        assert "It was bought because sweep took the place of alice" in d.cli("why", node["id"])
        settled(d)
    events = d.events("demand.displaced")
    assert [e["subject"] for e in events] == ["alice"] and "sweep took its place" in events[0]["text"], events

    d.kill()
    d.start()
    node = next(n for n in d.nodes() if n["type"] == "v100")
    assert node["because"].startswith("sweep took the place of alice"), "kept over a restart"


def test_a_whatif_says_it_too_and_nothing_happens(crowded):
    d = crowded
    code, reply = d.call("POST", "/v1/plan", {"owner": "sweep", "bundles": [T4S]})
    assert code == 200 and "it takes the place of alice" in reply["request"]["text"], reply["request"]
    assert not d.ready("v100") and "displaced" not in d.cli("why", "alice")


def test_one_who_only_moves_is_not_displaced(crowded):
    """Halves are packed closer: nobody waits, nothing is bought."""
    reply = crowded.post({"owner": "sweep", "bundles": [{"resources": {"GPU": 0.5}}]})
    assert reply["satisfied"] and reply["displaces"] == [] and reply["adds_per_hour"] == 0, reply


def test_who_waits_is_told_by_whom(tmp_path):
    with Daemon(tmp_path, CONFIG % 0) as d:
        d.post({"owner": "alice", "bundles": [HALF]})
        d.until(lambda: d.ready("t4") == 2)
        settled(d)
        reply = d.post({"owner": "sweep", "priority": 5, "bundles": [T4S]})
        assert "it takes the place of alice (which waits)" in reply["text"], reply["text"]
        assert "sweep took the place of alice on t4-" in d.cli("why", "alice")
        d.call("DELETE", "/v1/request_resources/sweep")
        assert "sweep" not in d.cli("why", "alice")


def test_what_a_request_holds_is_not_idle(crowded):
    d = crowded
    nodes = d.status()["nodes"]
    assert (nodes["ready"], nodes["held"], nodes["idle"], nodes["busy"]) == (2, 2, 0, 0), nodes
    assert all(n["idle_ms"] is None and n["why"]["reason"] == "needed_by_request" for n in d.nodes())
    assert "2 asked for" in d.cli("status") and "idle" not in d.cli("nodes")
    d.call("DELETE", "/v1/request_resources/alice")
    d.until(lambda: d.status()["nodes"]["idle"] == 2)
    assert json.dumps(d.nodes()).count('"idle_wait"') == 2
