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


@pytest.mark.parametrize("prices, first, then", [("list", None, 0.605), ("", 0.526, 0.526)])
def test_a_price_of_another_region_is_asked_of_azure(server, cloud, tmp_path, prices, first, then):
    """The catalogue has the price of eastus; without Azure's list it is the best that is known."""
    text = (CONFIG % {"sub": SUB, "group": GROUP, "location": LOCATION, "url": server.url, "made": MADE_OF}).replace("market: spot, ", "")
    if not prices:
        text = text.replace(f'prices: "{server.url}"', 'prices: ""')
    with Daemon(tmp_path, text, env=environment(DAVIT_PLUGIN_DIR=str(BUILD / "plugins"))) as d:
        def price():
            [t] = d.until(lambda: d.status().get("types"))
            [o] = t["offers"]
            return o["price_per_hour"], o["price_estimated"]
        assert price()[1] == (first is None) or price() == (then, False)
        wave.looked(d, lambda: price() == (then, False), "it is asked for", 60000)


BROKEN = {"availabilityState": "Unavailable", "title": "Unavailable", "reasonType": "Unplanned", "category": "Unplanned",
          "context": "Platform Initiated", "reasonChronicity": "Persistent", "summary": "We're sorry, your virtual machine isn't available."}


def test_a_machine_that_azure_finds_broken_is_replaced(daemon, cloud):
    """Twice in a row: one word may be a moment's.  Its power state says that it runs all the while."""
    daemon.post({"owner": "w", "bundles": [{"GPU": 1}]})
    daemon.until(lambda: daemon.ready("t4") == 1)
    [first] = cloud.machines()
    cloud.vms[first.lower()].health = BROKEN

    def asked():
        return sum(x["path"].endswith("/availabilityStatuses") for x in cloud.log)
    before = asked()
    wave.looked(daemon, lambda: asked() == before + 1, "it is not asked for once a minute", 5000)
    assert not daemon.events("node.leaving")
    wave.looked(daemon, lambda: daemon.events("node.leaving"), "it is not noticed", 5000)
    assert asked() == before + 2 and "Azure finds it Unavailable" in daemon.events("node.leaving")[0]["text"]
    daemon.until(lambda: first not in cloud.machines() and daemon.ready("t4") == 1, why="another is bought, and it ends")


def test_whose_fault_it_is(daemon, cloud):
    """What somebody did to a machine himself is no fault of Azure's; what Azure does not know is none."""
    words = [({}, True), ({"availabilityState": "Degraded"}, True), ({"availabilityState": "Unknown"}, False),
             ({"availabilityState": "Available"}, False), ({"context": "Customer Initiated"}, False),
             ({"reasonType": "UserInitiated", "context": ""}, False), ({"reasonType": "Customer Initiated"}, False)]
    daemon.post({"owner": "w", "bundles": [{"GPU": 1}] * len(words)})
    daemon.until(lambda: daemon.ready("t4") == len(words))
    first = cloud.machines()
    for name, (more, _) in zip(first, words):
        cloud.vms[name.lower()].health = {**BROKEN, **more}
    gone = {name for name, (_, told) in zip(first, words) if told}
    wave.looked(daemon, lambda: len(daemon.events("node.leaving")) == len(gone), "they are not noticed", 5000)
    daemon.until(lambda: set(first) - set(cloud.machines()) == gone and daemon.ready("t4") == len(words))
    asked = sum(x["path"].endswith("/availabilityStatuses") for x in cloud.log)
    wave.looked(daemon, lambda: sum(x["path"].endswith("/availabilityStatuses") for x in cloud.log) > asked + 1, "it is asked for", 5000)
    assert len(daemon.events("node.leaving")) == len(gone)


def test_without_the_right_to_read_health_lists_are_as_good(cloud, drives):
    cloud.no_health = True
    d = drives()
    d.launch(2, zone="1")
    d.running(2)
    assert len(d.list()) == 2 and d.text().count("Resource Health is not known") == 1


@pytest.mark.parametrize("code, done", [("ResourceNotFound", "NOT_FOUND"), ("ResourceGroupNotFound", "RETRY"), ("SubscriptionNotFound", "RETRY")])
def test_a_404_of_something_else_is_no_word_on_a_machine(cloud, drives, code, done):
    d = drives()
    [m] = d.launch(1, zone="1")["machines"]
    assert d.call("find", ids=[m["id"], "nobody"])["done"] == {m["id"]: "OK", "nobody": "NOT_FOUND"}
    cloud.rules.append({"match": f"/virtualMachines/{m['id']}", "do": "status", "status": 404, "code": code, "times": 9})
    assert d.call("find", ids=[m["id"]])["done"] == {m["id"]: done}
