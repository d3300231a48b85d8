"""What is tried after a failure, and in which order: the real daemon against the simulated cloud."""
from lib.daemon import Daemon
from test_loop import cloud

CONFIG = """
cluster: asides
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 60s, start_timeout: 30s}
providers:
  sim: {state: "{dir}/cloud.json", terminate: 200ms%s}
node_types:
  first: {provider: sim, resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.5, max: 8, options: {boot: 200ms}}
"""
MORE = """
  second: {provider: sim, resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.6, max: 8, options: {boot: 4s}}
  third: {provider: sim, resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.9, max: 8, options: {boot: 200ms}}
"""
T4 = {"GPU": 1, "accelerator_type": "T4"}


def launches(d):
    return [e["subject"] for e in d.events("launch")]


def test_all_are_tried_before_one_is_tried_again(tmp_path):
    """The first fails and rests for a second.  The second takes longer than that to fail: the third comes, though the
    first is cheaper and its rest is over.  When the third fails too it is the first one's turn again."""
    with Daemon(tmp_path, CONFIG % ", fail: {nth: [1, 2, 3], as: RETRY}" + MORE) as d:
        d.post({"bundles": [T4]})
        d.until(lambda: d.ready() == 1)
        assert launches(d) == ["first", "second", "third", "first"]
        assert d.ready("first") == 1


def test_a_quota_splits_the_launch(tmp_path):
    """The cloud gives all or nothing and has room for five: 8 and no more of them, 4, of the other four none, 2 none, 1."""
    with Daemon(tmp_path, CONFIG % ", quota: 5, all_or_nothing: true") as d:
        d.post({"bundles": [{**T4, "count": 8}]})
        d.until(lambda: d.ready("first") == 5)
        d.stays(lambda: len(cloud(d)) == 5, 1)
        failed = [e["text"] for e in d.events("launch.failed")]
        assert [t.split(":")[0].rsplit(", ", 1)[1] for t in failed] == ["8 of 8", "4 of 4", "2 of 2", "1 of 1"], failed
        aside = d.status()["backoffs"]
        assert [(x["type"], x["status"]) for x in aside] == [("first", "QUOTA")]
