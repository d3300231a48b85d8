"""Fixtures of the GKE tests: the test cloud, and the plug-in driven against it."""
import pytest

import gke_operations
from lib.drive import Drive, build_tools, drives
from gke_rig import config, environment
from gke_server import Cloud, Server


@pytest.fixture(scope="session")
def driver():
    return build_tools()


@pytest.fixture
def server():
    cloud = Cloud()
    cloud.pool("gpu", ["us-central1-a", "us-central1-b"], accelerator="nvidia-tesla-t4",
               taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}])
    cloud.pool("cpu", ["us-central1-a"], machine="e2-standard-8", hash_="ffffeeee")
    with Server(cloud) as s:
        yield s
    assert cloud.rejected == [], "Google's own schema rejects these"
    assert cloud.bad_replies == [], "our own test cloud answers what Google would not"
    assert gke_operations.unknown(cloud.used) == [], "an operation that is not in the table"
    assert cloud.lost_work == [], "somebody let Google choose which machines end"


@pytest.fixture
def cloud(server):
    return server.cloud


@pytest.fixture
def drive(driver, server, tmp_path):
    """drive(options, t4, more, env): drivers that end with the test."""
    def make(where, options="", t4="", more="", env=None):
        return Drive(where, config(server, options, t4, more), "gke", environment(server, **(env or {})))
    with drives(tmp_path, make) as made:
        yield made
