"""A spot wave and a broken list, with the real daemon: lib/wave.py has the story."""
import pytest

from gke_rig import BUILD, environment
from lib import wave
from lib.daemon import Daemon

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 20, idle_timeout: 1h}
providers:
  gce: {project: my-proj, image: projects/p/global/images/family/ray, endpoint: "%(url)s"}
node_types:
  t4: {provider: gce, machine: n1-standard-8+t4, market: spot, zones: [us-central1-a], resources: {CPU: 8, GPU: 1}, max: 12}
"""


@pytest.fixture
def daemon(server, cloud, tmp_path):
    cloud.boot = 0
    with Daemon(tmp_path, CONFIG % {"plugins": BUILD / "plugins", "url": server.url}, env=environment(server)) as d:
        yield d


def hidden(cloud, ids):
    cloud.hidden = {i.split("/")[-1] for i in ids}


def test_a_spot_wave(daemon, cloud):
    wave.story(daemon, "t4", {"GPU": 1}, lambda: [f"{z}/{n}" for z, n in list(cloud.bare)], lambda ids: hidden(cloud, ids),
               lambda ids: cloud.take({i.split("/")[-1] for i in ids}))


MAINTENANCE = {"type": "SCHEDULED", "maintenanceStatus": "PENDING", "canReschedule": True, "windowStartTime": "2030-01-02T03:04:05Z",
               "maintenanceReasons": ["FAILURE_GPU_XID"]}


def test_upcoming_maintenance_is_left_in_time(daemon, cloud):
    daemon.post({"owner": "w", "bundles": [{"GPU": 1}]})
    daemon.until(lambda: daemon.ready("t4") == 1)
    [first] = cloud.bare
    cloud.bare[first]["maintenance"] = MAINTENANCE
    wave.looked(daemon, lambda: daemon.events("node.leaving"), "it is not noticed")
    assert "FAILURE_GPU_XID" in daemon.events("node.leaving")[0]["text"]
    daemon.until(lambda: first not in cloud.bare and daemon.ready("t4") == 1, why="another is bought, and it ends")


def test_what_migrates_stays(cloud, drives):
    d = drives(types="  x: {provider: gce, machine: e2-standard-8, zones: [us-central1-a], options: {node_config: {scheduling: {onHostMaintenance: MIGRATE}}}}\n")
    assert d.launch(1, type="x", zone="us-central1-a")["status"] == "OK"
    [i] = cloud.bare.values()
    i["maintenance"] = MAINTENANCE
    assert [m["leaving"] for m in d.list()] == [""]
    i["status"] = "REPAIRING"
    assert [m["leaving"] for m in d.list()] == ["Compute Engine repairs it"]
    i["status"], i["body"]["scheduling"] = None, {"onHostMaintenance": "TERMINATE"}
    [m] = d.list()
    assert m["leaves_ms"] == 1893553445000 and "2030-01-02" in m["leaving"]
