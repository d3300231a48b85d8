"""A spot wave and a broken list, with the real daemon: lib/wave.py has the story."""
from datetime import datetime, timezone

import pytest

import eks_rig
from lib import wave
from lib.daemon import Daemon

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 1h}
providers:
  ec2: {region: us-east-1, endpoint: "%s"}
node_types:
  t4: {provider: ec2, machine: g4dn.xlarge, market: spot, max: 12, resources: {CPU: 4, GPU: 1}, options: {image: ami-12c6146b}}
"""


@pytest.fixture
def daemon(cloud, tmp_path):
    with Daemon(tmp_path, CONFIG % cloud.url, env=eks_rig.environment(tmp_path)) as d:
        yield d


def test_a_spot_wave(daemon, cloud):
    wave.story(daemon, "t4", {"GPU": 1}, lambda: list(cloud.instances()), lambda ids: cloud.hide(ids=ids), lambda ids: cloud.take(ids=ids),
               lambda ahead: cloud.clock(ahead=ahead))


def test_scheduled_events_and_broken_hosts_are_left_in_time(daemon, cloud):
    """A retirement in two weeks, a host that fails the check twice; one that was done says nothing."""
    daemon.post({"owner": "w", "bundles": [{"GPU": 1}] * 4})
    daemon.until(lambda: daemon.ready("t4") == 4)
    a, b, c, d = sorted(cloud.instances())
    cloud.events(of={a: ["instance-retirement", "The instance is running on degraded hardware", "2030-01-02T03:04:05.000Z"],
                     b: ["system-reboot", "[Completed] scheduled reboot", "2026-01-02T03:04:05.000Z"]}, impaired=[c])
    wave.looked(daemon, lambda: len(daemon.events("node.leaving")) == 2, "they are not noticed")
    said = " ".join(e["text"] for e in daemon.events("node.leaving"))
    assert "instance-retirement at 2030-01-02" in said and "impaired" in said
    daemon.until(lambda: {a, c}.isdisjoint(cloud.instances()) and daemon.ready("t4") == 4)
    assert {b, d} < set(cloud.instances())


def test_a_spot_notice_is_heard_before_the_machine_goes(daemon, cloud):
    """EC2 writes on a spot request, two minutes ahead, that its machine is taken back: its replacement is bought then."""
    daemon.post({"owner": "w", "bundles": [{"GPU": 1}] * 4})
    daemon.until(lambda: daemon.ready("t4") == 4)
    a, *others = sorted(cloud.instances())
    cloud.notices(of={a: datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")})
    wave.looked(daemon, lambda: daemon.events("node.leaving"), "the notice is not heard")
    [e] = daemon.events("node.leaving")
    assert "AWS takes the spot instance back" in e["text"]
    daemon.until(lambda: a not in cloud.instances() and daemon.ready("t4") == 4)
    assert set(others) < set(cloud.instances()) and len(cloud.instances()) == 4


def test_a_fleet_without_spot_machines_asks_for_no_notice(cloud, drives):
    d = drives()
    d.launch(1)
    d.list()
    d.list()
    assert "DescribeSpotInstanceRequests" not in {x["action"] for x in cloud.log() if x["form"]}


def test_without_the_right_to_see_events(cloud, drives):
    cloud.fault(action="DescribeInstanceStatus", kind="error", code="UnauthorizedOperation", text="You are not authorized", status=403, times=-1)
    d = drives()
    d.launch(1)
    assert len(d.list()) == 1 and "scheduled events" in d.text()
