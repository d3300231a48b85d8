"""The real daemon on EKS: what tests/e2e/clouds does not show of all three.

At the end the cloud holds exactly what the fleet says."""
import pytest

from lib.daemon import Daemon
from eks_rig import environment
from lib import until

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 1s, start_timeout: 60s}
providers:
  eks: {region: us-east-1, cluster: %(cluster)s, endpoint: "%(url)s"}
node_types:
  cpu: {provider: eks, pool: %(cpu)s, machine: m5.2xlarge, max: 4}
  t4:
    provider: eks
    machine: g4dn.xlarge
    max: 2
    zones: [us-east-1a, us-east-1b]
    options: {pools: {us-east-1a: %(t4_a)s, us-east-1b: %(t4_b)s}}
"""
T4 = {"GPU": 1, "accelerator_type": "T4"}


@pytest.fixture
def world(cloud, tmp_path):
    cloud.fresh(cpu={"type": "m5.2xlarge"}, t4_a={"type": "g4dn.xlarge", "max": 2},
                t4_b={"type": "g4dn.xlarge", "max": 2, "zones": ["us-east-1b"]})
    text = CONFIG % {**cloud.names, "cluster": cloud.cluster, "url": cloud.url}
    d = Daemon(tmp_path, text, env=environment(tmp_path), start=False)
    yield cloud, d
    if d.p and d.p.poll() is None:
        d.stop()


def held(cloud):
    return {i: p for p in ("cpu", "t4_a", "t4_b") for i in cloud.at(p)["machines"]}


def same(cloud, d):
    """What is billed is what the fleet says, and no target is higher."""
    fleet = {n["cloud_id"]: n["state"] for n in d.nodes()}
    bills = held(cloud)
    return set(fleet) == set(bills) and sum(cloud.at(p)["target"] for p in ("cpu", "t4_a", "t4_b")) == len(bills)


def test_a_storm_of_throttling_is_sat_out(world):
    cloud, d = world
    d.start()
    cloud.fault(action="*", kind="error", code="RequestLimitExceeded", status=503, times=-1)
    d.post({"owner": "x", "bundles": [{"CPU": 4}]})
    d.until(lambda: d.status()["backoffs"] or d.events("provider.down"))
    n = len(cloud.log())
    d.stays(lambda: len(cloud.log()) - n < 12, 5)  # no storm of ours
    cloud.heal()
    d.until(lambda: d.ready("cpu") == 1)
    assert same(cloud, d)


def test_killed_at_every_moment_of_a_launch(world):
    """The daemon dies right after each of the exchanges a launch consists of."""
    cloud, d = world
    for n in range(1, 9):
        cloud.late(pool=cloud.names["t4_a"], seconds=0.5)
        d.start()
        before = len(cloud.log())
        d.post({"owner": "x", "bundles": [T4]})
        until(lambda: "CreateOrUpdateTags" in cloud.actions(before) or len(cloud.log()) - before > 3)
        want = before + n
        until(lambda: len(cloud.log()) >= want)
        d.kill()
        d.start()
        d.until(lambda: d.ready("t4") == 1)
        assert same(cloud, d), (n, d.nodes(), held(cloud))
        d.post({"owner": "x", "bundles": []})
        d.until(lambda: not d.nodes() and not held(cloud))
        assert [cloud.at(p)["target"] for p in ("cpu", "t4_a", "t4_b")] == [0, 0, 0], n
        d.stop()


def test_a_node_type_that_is_taken_out_leaves_no_machine_behind(world):
    """Its groups are nobody's in the configuration then; its machine is paid for all the same."""
    cloud, d = world
    d.start()
    d.post({"owner": "x", "bundles": [T4]})
    d.until(lambda: d.ready("t4") == 1)
    assert len(held(cloud)) == 1
    text = d.path.read_text()
    d.kill()
    d.write(text[:text.index("  t4:")])
    d.start()
    d.until(lambda: not held(cloud) and not d.nodes(), why="nobody ends it")
    assert not d.events("node.lost")
    assert [cloud.at(p)["target"] for p in ("cpu", "t4_a", "t4_b")] == [0, 0, 0]


def test_a_group_with_room_for_some_buys_no_machine_twice(world):
    """Two of three are granted and come late: what was granted is not bought elsewhere meanwhile."""
    cloud, d = world
    text = d.path.read_text()
    d.write(text[:text.index("  t4:")] + """  near: {provider: eks, pool: %(t4_a)s, machine: g4dn.xlarge, max: 8, price: 0.5}
  dear: {provider: eks, pool: %(t4_b)s, machine: g4dn.xlarge, max: 8, price: 0.9}
""" % cloud.names)
    cloud.late(pool=cloud.names["t4_a"], seconds=3)
    d.start()
    d.post({"owner": "x", "bundles": [T4] * 3})
    d.until(lambda: d.ready() == 3)
    d.stays(lambda: len(cloud.bought()) <= 3, 6)
    assert [cloud.at(p)["target"] for p in ("cpu", "t4_a", "t4_b")] == [0, 2, 1], "a machine was bought twice"
