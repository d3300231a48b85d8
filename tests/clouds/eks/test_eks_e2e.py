"""The real daemon on EKS: a CPU pool, a T4 pool of one machine in each of two
zones; the first zone is sold out, a reply is lost, AWS throttles, the daemon is
killed in the middle.  At the end the cloud holds exactly what the fleet says.
"""
import pytest

from daemon import Daemon
from eks_rig import environment, until

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 3s, start_timeout: 60s}
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


def test_the_resnet_set_up(world):
    cloud, d = world
    a, b = cloud.names["t4_a"], cloud.names["t4_b"]
    cloud.stock(pool=a, left=0)
    cloud.late(pool=b, seconds=3)
    cloud.fault(action="SetDesiredCapacity", kind="lost")
    d.start()
    d.post({"owner": "resnet", "bundles": [T4, T4]})
    # sold out in a, told by the activities only; the target of a comes down
    d.until(lambda: [x for x in d.status()["set_aside"] if x["zone"] == "us-east-1a" and x["status"] == "STOCKOUT"], 20)
    until(lambda: cloud.at("t4_a")["target"] == 0, 20, "the target of the zone that is sold out stays high")
    until(lambda: cloud.at("t4_b")["target"] == 2, 30, "nothing is asked of the second zone")
    assert not held(cloud)
    # in the middle of it
    cloud.fault(action="*", kind="error", code="Throttling", times=4)
    d.kill()
    d.start()
    d.until(lambda: d.ready("t4") == 2, 40)
    assert cloud.at("t4_a")["target"] == 0 and cloud.at("t4_b")["target"] == 2 and same(cloud, d)
    assert {n["zone"] for n in d.nodes()} == {"us-east-1b"}
    d.stays(lambda: same(cloud, d), 4)  # longer than the idle timeout
    # cleared: each is ended by its name, with a lost reply
    chosen = set(held(cloud))
    cloud.fault(action="TerminateInstanceInAutoScalingGroup", kind="lost")
    d.post({"owner": "resnet", "bundles": []})
    d.until(lambda: not d.nodes() and not held(cloud), 40)
    ended = {v for x in cloud.log() if x["action"].startswith("TerminateInstance") for k, v in x["form"] if k.startswith("InstanceId")}
    assert ended == chosen
    assert [cloud.at(p)["target"] for p in ("cpu", "t4_a", "t4_b")] == [0, 0, 0]
    # calls a minute, all services: of a fleet on its way, a list a second
    log = cloud.log()
    took = log[-1]["at"] - log[0]["at"]
    print(f"{len(log)} calls in {took:.0f} s: {len(log) / took * 60:.0f} a minute")
    assert len(log) / took < 20


def test_a_storm_of_throttling_is_sat_out(world):
    cloud, d = world
    d.start()
    cloud.fault(action="*", kind="error", code="RequestLimitExceeded", status=503, times=-1)
    d.post({"owner": "x", "bundles": [{"CPU": 4}]})
    d.until(lambda: d.status()["set_aside"] or d.events("provider.down"), 20)
    n = len(cloud.log())
    d.stays(lambda: len(cloud.log()) - n < 12, 5)  # no storm of ours
    cloud.heal()
    d.until(lambda: d.ready("cpu") == 1, 90)
    assert same(cloud, d)


def test_killed_at_every_moment_of_a_launch(world):
    """The daemon dies right after each of the exchanges a launch consists of."""
    cloud, d = world
    for n in range(1, 9):
        cloud.late(pool=cloud.names["t4_a"], seconds=0.5)
        d.start()
        before = len(cloud.log())
        d.post({"owner": "x", "bundles": [T4]})
        until(lambda: "CreateOrUpdateTags" in cloud.actions(before) or len(cloud.log()) - before > 3, 20)
        want = before + n
        until(lambda: len(cloud.log()) >= want, 20)
        d.kill()
        d.start()
        d.until(lambda: d.ready("t4") == 1, 40)
        assert same(cloud, d), (n, d.nodes(), held(cloud))
        d.post({"owner": "x", "bundles": []})
        d.until(lambda: not d.nodes() and not held(cloud), 40)
        assert [cloud.at(p)["target"] for p in ("cpu", "t4_a", "t4_b")] == [0, 0, 0], n
        d.stop()
