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


@pytest.mark.parametrize("code, done", [("ResourceNotFound", "NOT_FOUND"), ("ResourceGroupNotFound", "RETRY"), ("SubscriptionNotFound", "RETRY")])
def test_a_404_of_something_else_is_no_word_on_a_machine(cloud, drives, code, done):
    d = drives()
    [m] = d.launch(1, zone="1")["machines"]
    assert d.call("find", ids=[m["id"], "nobody"])["done"] == {m["id"]: "OK", "nobody": "NOT_FOUND"}
    cloud.rules.append({"match": f"/virtualMachines/{m['id']}", "do": "status", "status": 404, "code": code, "times": 9})
    assert d.call("find", ids=[m["id"]])["done"] == {m["id"]: done}
