"""A spot wave and a broken list, with the real daemon: lib/wave.py has the story."""
import pytest

from aks_rig import environment
from azurevm_cloud import GROUP, LOCATION, MADE_OF, SUB
from lib import BUILD, wave
from lib.daemon import Daemon

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 1h}
providers:
  azurevm: {subscription: %(sub)s, resource_group: %(group)s, location: %(location)s, endpoint: "%(url)s", authority: "%(url)s",
            imds: "%(url)s", prices: "%(url)s", %(made)s}
node_types:
  t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, market: spot, max: 12, resources: {CPU: 4, GPU: 1}}
"""


@pytest.fixture
def daemon(server, cloud, tmp_path):
    text = CONFIG % {"sub": SUB, "group": GROUP, "location": LOCATION, "url": server.url, "made": MADE_OF}
    with Daemon(tmp_path, text, env=environment(DAVIT_PLUGIN_DIR=str(BUILD / "plugins"))) as d:
        yield d


def hidden(cloud, ids):
    cloud.hidden = list(ids)


def evict(cloud, ids):
    with cloud.lock:
        for i in ids:
            cloud.end(i.lower())


def test_a_spot_wave(daemon, cloud):
    wave.story(daemon, "t4", {"GPU": 1}, cloud.machines, lambda ids: hidden(cloud, ids), lambda ids: evict(cloud, ids))


MAINTENANCE = {"isCustomerInitiatedMaintenanceAllowed": True, "preMaintenanceWindowStartTime": "2029-12-01T00:00:00+00:00",
               "preMaintenanceWindowEndTime": "2030-01-02T00:00:00+00:00", "maintenanceWindowStartTime": "2030-01-02T03:04:05+00:00",
               "maintenanceWindowEndTime": "2030-01-04T00:00:00+00:00", "lastOperationResultCode": "None"}


def test_maintenance_that_redeploys_is_left_in_time(daemon, cloud):
    daemon.post({"owner": "w", "bundles": [{"GPU": 1}]})
    daemon.until(lambda: daemon.ready("t4") == 1)
    [first] = cloud.machines()
    cloud.vms[first.lower()].maintenance = MAINTENANCE
    wave.looked(daemon, lambda: daemon.events("node.leaving"), "it is not noticed")
    assert "2030-01-02" in daemon.events("node.leaving")[0]["text"]
    daemon.until(lambda: first not in cloud.machines() and daemon.ready("t4") == 1, why="another is bought, and it ends")


def test_maintenance_that_is_over_is_none(cloud, drives):
    d = drives()
    [m] = d.launch(1, zone="1")["machines"]
    vm = cloud.vms[m["id"].lower()]
    for told, more in [(True, {}), (False, {"lastOperationResultCode": "MaintenanceCompleted"}), (True, {"lastOperationResultCode": "RetryLater"}),
                       (False, {"maintenanceWindowStartTime": "2026-01-02T00:00:00Z", "maintenanceWindowEndTime": "2026-01-03T00:00:00Z"})]:
        vm.maintenance = {**MAINTENANCE, **more}
        [m] = d.list()
        assert bool(m["leaving"]) == told and (not told or m["leaves_ms"] == 1893553445000), m


@pytest.mark.parametrize("code, done", [("ResourceNotFound", "NOT_FOUND"), ("ResourceGroupNotFound", "RETRY"), ("SubscriptionNotFound", "RETRY")])
def test_a_404_of_something_else_is_no_word_on_a_machine(cloud, drives, code, done):
    d = drives()
    [m] = d.launch(1, zone="1")["machines"]
    assert d.call("find", ids=[m["id"], "nobody"])["done"] == {m["id"]: "OK", "nobody": "NOT_FOUND"}
    cloud.rules.append({"match": f"/virtualMachines/{m['id']}", "do": "status", "status": 404, "code": code, "times": 9})
    assert d.call("find", ids=[m["id"]])["done"] == {m["id"]: done}
