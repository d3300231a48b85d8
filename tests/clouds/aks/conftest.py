"""The AKS plug-in against the test cloud, through the daemon's own call layer."""
import pytest

import aks_operations
from aks_cloud import Cloud
from aks_rig import QUICK, Drive, config, environment
from aks_server import Server
from lib.drive import build_tools, drives


@pytest.fixture(scope="session")
def driver():
    return build_tools()


@pytest.fixture
def server():
    cloud = Cloud()
    cloud.pool("gpu", ["1"])
    cloud.pool("gpu2", ["2"])
    cloud.pool("cpu", [], machine="Standard_D8s_v5")
    with Server(cloud) as s:
        yield s
    assert cloud.rejected == [], "Azure's own SDK rejects these"
    assert aks_operations.unknown(cloud.log) == [], "an operation that is not in the table"
    assert cloud.lost_work == [], "somebody let Azure choose which machines end, or overwrote the pool"


@pytest.fixture
def cloud(server):
    return server.cloud


@pytest.fixture
def drive(driver, server, tmp_path):
    """drive(options, t4, more, env): drivers that end with the test."""
    def make(where, options=QUICK, t4="pool: gpu", more="", env=None):
        return Drive(where, config(server, options, t4, more), "aks", environment(**(env or {})))
    with drives(tmp_path, make) as made:
        yield made
