"""The plug-in for bare Azure machines against a test cloud, through the daemon's own call layer."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "aks"))

import pytest  # noqa: E402

from aks_rig import Drive, environment  # noqa: E402
from aks_server import Server  # noqa: E402
from azurevm_cloud import GROUP, LOCATION, MADE_OF, SUB, Cloud  # noqa: E402
from lib import BUILD, drive  # noqa: E402

TYPES = """
  t4:
    provider: azurevm
    machine: Standard_NC4as_T4_v3
    zones: ["1", "2"]
    resources: {CPU: 4, GPU: 1}
    max: 40
"""


@pytest.fixture
def server():
    with Server(Cloud()) as s:
        yield s
    c = s.cloud
    assert c.rejected == [], "Azure refuses these"
    assert c.bad_replies == [], "our own test cloud answers what Azure would not"
    assert c.overwritten == [], "a machine was written over"
    assert c.left == set(), "something outlived its machine, and is billed"


@pytest.fixture
def cloud(server):
    return server.cloud


@pytest.fixture
def drives(server, tmp_path):
    def make(where, types=TYPES, options=MADE_OF, more="", at=None, env=None, prices=None):
        url = server.url
        text = f"""
cluster: Drive.1
{more}
providers:
  azurevm: {{subscription: {SUB}, resource_group: {GROUP}, location: {LOCATION}, endpoint: "{url}", authority: "{url}", imds: "{at or url}", prices: "{prices if prices is not None else url}",
            {options}}}
node_types:
{types}
"""
        return Drive(where, text, "azurevm", environment(DAVIT_PLUGIN_DIR=str(BUILD / "plugins"), **(env or {})))
    with drive.drives(tmp_path, make) as d:
        yield d
