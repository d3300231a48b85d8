"""Queued pools, flex start and slices of several TPU hosts: all machines of a request at once, or none."""
import time

import pytest

from gke_rig import BUILD, environment
from gke_server import STOCKOUT
from lib import wave
from lib.daemon import Daemon

A, B = "us-central1-a", "us-central1-b"
TYPES = """
  h100: {provider: gke, pool: h100, machine: a3-highgpu-8g, max: 40}
  one: {provider: gke, pool: one, machine: g2-standard-8, max: 8, options: {queue_wait: 10m}}
  v5e: {provider: gke, pool: v5e, machine: ct5lp-hightpu-4t, hosts: 4, max: 4}
  v6e: {provider: gke, pool: v6e, machine: ct6e-standard-4t, max: 4}
"""


@pytest.fixture
def pools(cloud):
    cloud.pool("h100", [A, B], machine="a3-highgpu-8g", hash_="11111111", queuedProvisioning={"enabled": True})
    cloud.pool("one", [A], machine="g2-standard-8", hash_="22222222")
    cloud.pools["one"]["config"].update(flexStart=True, maxRunDuration="7200s")
    cloud.pool("v5e", [A], machine="ct5lp-hightpu-4t", hash_="33333333", placementPolicy={"type": "COMPACT", "tpuTopology": "4x4"})
    cloud.pool("v6e", [A], machine="ct6e-standard-4t", hash_="44444444", placementPolicy={"tpuTopology": "2x2"})
    return cloud


@pytest.fixture
def d(drive, pools):
    return drive(more=TYPES)


def requests_of(cloud, pool):
    return {n: r for g in cloud.groups.values() if g["pool"] == pool for n, r in g.get("resizes", {}).items()}


def test_all_of_a_request_at_once(d, cloud):
    cloud.queue_held = True
    r = d.launch(3, type="h100")
    assert r["status"] == "OK" and len({m["zone"] for m in r["machines"]}) == 1, "one request is in one zone"
    waiting = d.list()
    assert [(m["phase"], m["queued"]) for m in waiting] == [("STARTING", True)] * 3 and "queue" in waiting[0]["detail"]
    assert len({m["unit"] for m in waiting}) == 1 and waiting[0]["unit"]
    assert [r["body"]["requestedRunDuration"] for r in requests_of(cloud, "h100").values()] == [{"seconds": "604800"}]
    assert d.launch(3, type="h100")["status"] == "OK" and len(requests_of(cloud, "h100")) == 1, "a repetition asks for nothing"
    assert d.call("find", ids=[m["id"] for m in waiting])["done"] == {m["id"]: "OK" for m in waiting}
    cloud.queue_held = False
    up = d.running(3)
    assert {m["id"] for m in up} == {m["id"] for m in waiting}
    assert [(m["queued"], m["unit"]) for m in up] == [(False, "")] * 3
    assert d.end(up[0]["id"])["done"] == {up[0]["id"]: "OK"}, "what has come is ended one by one"
    d.running(2)
    assert cloud.counts.get("createInstances", 0) == 0


def test_what_waits_is_cancelled_as_one(d, cloud):
    cloud.queue_held = True
    ids = [m["id"] for m in d.launch(3, type="h100", zone=B)["machines"]]
    r = d.end(ids[0])
    assert r["done"] == {ids[0]: "RETRY"} and r["code"] == "Queued" and len(d.list()) == 3
    assert d.end(*ids)["done"] == {i: "OK" for i in ids}
    d.until(lambda: d.list() == [])
    assert cloud.targets() == 0 and cloud.bought == 0 and requests_of(cloud, "h100") == {}


def test_a_cancel_that_is_too_late(d, cloud):
    """Between our look at the request and the cancel its machines began to come."""
    cloud.queue_held = True
    ids = [m["id"] for m in d.launch(2, type="h100", zone=A)["machines"]]
    cancel = cloud.resize_cancel

    def late(g, name):
        cloud.queue_held = False
        cloud.resizes_tick(time.monotonic())
        return cancel(g, name)
    cloud.resize_cancel = late
    assert set(d.end(*ids)["done"].values()) == {"RETRY"}
    d.running(2)
    assert d.end(*ids)["done"] == {i: "OK" for i in ids}
    d.until(lambda: d.list() == [])
    assert cloud.targets() == 0


@pytest.mark.parametrize("error, status", [(["QUOTA_EXCEEDED", "Quota 'PREEMPTIBLE_NVIDIA_H100_GPUS' exceeded."], "QUOTA"),
                                           ([STOCKOUT[0], "not enough"], "STOCKOUT")])
def test_a_request_that_failed_is_told_and_taken_away(d, cloud, error, status):
    cloud.fail_resize = error
    d.launch(2, type="h100", zone=A)
    bad = d.failed(2)
    assert {(m["failure"], m["request"]) for m in bad} == {(status, "davit-00112233445566778899")} and error[0] in bad[0]["detail"]
    ids = [m["id"] for m in bad]
    assert d.end(*ids)["done"] == {i: "OK" for i in ids}
    d.until(lambda: d.list() == [])
    assert requests_of(cloud, "h100") == {} and cloud.targets() == 0


def test_too_long_in_the_queue(d, cloud):
    """queue_wait: then it is a stockout, and its end takes the request back."""
    cloud.queue_held = True
    d.launch(1, type="one")
    next(iter(requests_of(cloud, "one").values()))["created"] -= 601
    bad = d.failed(1)
    assert bad[0]["failure"] == "STOCKOUT" and "queue_wait" in bad[0]["detail"]
    assert d.end(bad[0]["id"])["done"] == {bad[0]["id"]: "OK"}
    d.until(lambda: d.list() == [])


def test_flex_start_is_one_request_a_machine(d, cloud):
    cloud.queue_held = True
    ids = [m["id"] for m in d.launch(3, type="one")["machines"]]
    assert [r["body"]["requestedRunDuration"]["seconds"] for r in requests_of(cloud, "one").values()] == ["7200"] * 3
    assert d.end(ids[0])["done"] == {ids[0]: "OK"} and len(d.list()) == 2
    cloud.queue_held = False
    d.running(2)
    d.launch(1, type="one", request="davit-00000000000000000009")
    assert len(requests_of(cloud, "one")) <= 1, "requests that are over are swept away"


def test_a_slice_is_bought_whole(d, cloud):
    r = d.launch(3, type="v5e")
    assert (r["status"], r["code"]) == ("INVALID", "BadCount") and "one slice of 4 machines" in r["text"]
    cloud.queue_held = True
    assert d.launch(4, type="v5e")["status"] == "OK"
    assert "requestedRunDuration" not in next(iter(requests_of(cloud, "v5e").values()))["body"]
    cloud.queue_held = False
    up = d.running(4)
    assert len({m["unit"] for m in up}) == 1 and up[0]["unit"].endswith("-grp"), "its hosts go as one"
    r = d.launch(4, type="v5e", request="davit-00000000000000000007")
    assert (r["status"], r["code"]) == ("STOCKOUT", "SliceTaken") and cloud.bought == 4
    ids = [m["id"] for m in up]
    assert d.end(*ids)["done"] == {i: "OK" for i in ids}
    d.until(lambda: d.list() == [])
    assert d.launch(4, type="v5e", request="davit-00000000000000000008")["status"] == "OK"
    d.running(4)


def test_slices_of_one_host_are_made_by_name(d, cloud):
    assert d.launch(2, type="v6e")["status"] == "OK" and len(d.running(2)) == 2
    assert requests_of(cloud, "v6e") == {} and cloud.counts["createInstances"] == 1


def offers(d, type):
    return [o for o in d.call("offers")["offers"] if o["type"] == type]


def test_offers(d, cloud, drive):
    v5e, = offers(d, "v5e")
    assert v5e["available"] and v5e["resources"]["TPU"] == 4 and "GPU" not in v5e["resources"]
    assert {k: v for k, v in v5e["labels"].items() if "tpu" in k or "count" in k} == {
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice", "cloud.google.com/gke-tpu-topology": "4x4",
        "cloud.google.com/gke-accelerator-count": "4"}
    assert v5e["taints"] == {"google.com/tpu": "present:NoSchedule"}
    h100 = offers(d, "h100")
    assert [o["available"] for o in h100] == [True, True] and h100[0]["labels"]["cloud.google.com/gke-queued"] == "true"
    assert h100[0]["taints"] == {"cloud.google.com/gke-queued": "true:NoSchedule"}
    assert offers(d, "one")[0]["labels"]["cloud.google.com/gke-flex-start"] == "true"


@pytest.mark.parametrize("says", ["max: 4", "hosts: 2, max: 4", "hosts: 4, max: 8", "hosts: 4"])
def test_a_type_that_is_not_its_slice(drive, pools, says):
    d = drive(more=f"  v5e: {{provider: gke, pool: v5e, machine: ct5lp-hightpu-4t, {says}}}\n")
    v5e, = offers(d, "v5e")
    assert not v5e["available"] and v5e["note"] == "node pool v5e is one slice of 4 machines (4x4): say hosts: 4, max: 4"


def test_the_end_of_a_run_is_told_in_time(d, cloud):
    d.launch(1, type="one")
    up, = d.running(1)
    assert up["leaving"] == ""
    soon = "2020-01-01T00:00:00Z"
    view = cloud.member_view
    cloud.member_view = lambda g, m: {**view(g, m), "scheduling": {"terminationTimestamp": soon}}
    up, = d.list()
    assert "run duration" in up["leaving"] and up["leaves_ms"] == 1577836800000


CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 20, idle_timeout: 1h, start_timeout: 15m}
providers:
  gke: {project: my-proj, location: us-central1, cluster: c1, endpoint: "%(url)s"}
node_types:
  h100: {provider: gke, pool: h100, machine: a3-highgpu-8g, max: 4, zones: [us-central1-a]}
"""


def test_the_daemon_waits_as_long_as_the_queue(server, pools, tmp_path):
    """Far beyond start_timeout, and four times that, nothing has failed, and nothing is asked for again."""
    pools.queue_held = True
    with Daemon(tmp_path, CONFIG % {"plugins": BUILD / "plugins", "url": server.url}, env=environment(server)) as d:
        d.post({"owner": "w", "bundles": [{"GPU": 8}] * 2})
        d.until(lambda: len(d.nodes("h100", "starting")) == 2 and len(pools.living("h100")) == 2)
        wave.age(d, 4 * 3600, lambda ahead: None)
        assert len(pools.living("h100")) == 2 and len(requests_of(pools, "h100")) == 1 and not d.events("node.failed")
        assert all("in Google's queue since" in n["note"] for n in d.nodes("h100"))
        pools.queue_held = False
        d.until(lambda: d.ready("h100") == 2)
        assert pools.bought == 2


def test_what_waits_and_is_not_needed_is_cancelled(server, pools, tmp_path):
    """It keeps its place for its idle_timeout: who asks again before is not put last.  Then it is cancelled, and never bought."""
    pools.queue_held = True
    text = CONFIG.replace("idle_timeout: 1h", "idle_timeout: 20m")
    with Daemon(tmp_path, text % {"plugins": BUILD / "plugins", "url": server.url}, env=environment(server)) as d:
        d.post({"owner": "w", "bundles": [{"GPU": 8}] * 2})
        d.until(lambda: len(d.nodes("h100", "starting")) == 2 and len(pools.living("h100")) == 2)
        mine = set(pools.living("h100"))
        wave.age(d, 3600, lambda ahead: None)
        d.post({"owner": "w", "bundles": []})
        wave.age(d, 600, lambda ahead: None)
        d.until(lambda: all("in its cloud's queue, and not needed for" in n["why"]["text"] for n in d.nodes("h100")))
        d.post({"owner": "w", "bundles": [{"GPU": 8}] * 2})
        wave.age(d, 3600, lambda ahead: None)
        assert set(pools.living("h100")) == mine and len(requests_of(pools, "h100")) == 1
        d.post({"owner": "w", "bundles": []})
        wave.age(d, 1000, lambda ahead: None)
        assert set(pools.living("h100")) == mine, "within its idle_timeout"
        wave.age(d, 400, lambda ahead: None)
        wave.looked(d, lambda: not d.nodes("h100") and not requests_of(pools, "h100"), "what nothing needs still waits")
        assert pools.bought == 0 and pools.targets() == 0 and not d.events("node.failed")
