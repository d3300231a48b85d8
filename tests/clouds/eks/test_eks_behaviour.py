"""What the plug-in does with a group, whatever the cloud does to it.

The cloud (eks_cloud.py) is asked what it bills; the plug-in's word is not
enough.
"""
import json
import time

import pytest

from eks_rig import HERE, Drive
from lib import slow_core, until

GPU = "  gpu: {provider: eks, pool: %s, machine: g5.xlarge, max: 60}"


@pytest.fixture
def one(cloud, tmp_path):
    """One group in one zone."""
    cloud.fresh(gpu={"max": 8})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        yield d


def phases(machines):
    return sorted((m["phase"], m["request"]) for m in machines)


def test_up_listed_and_a_chosen_one_down(cloud, one):
    r = one.launch("r1", 3)
    assert r["status"] == "OK" and len(r["machines"]) == 3
    see = cloud.at("gpu")
    assert see["target"] == 3 and len(see["machines"]) == 3
    for m in one.list():
        c = see["machines"][m["id"]]
        assert (m["zone"], m["address"], m["type"], m["request"], m["phase"]) == (c["zone"], c["address"], "gpu", "r1", "RUNNING")
        assert c["tags"] | {"davit-cluster": "drive", "davit-type": "gpu", "davit-request": "r1"} == c["tags"]
    ids = sorted(see["machines"])
    r = one.end(ids[1])
    assert r["done"] == {ids[1]: "OK"}
    see = cloud.at("gpu")
    assert sorted(see["machines"]) == [ids[0], ids[2]] and see["target"] == 2
    r = one.end(*ids)  # one is gone, two go by one call
    assert r["done"] == {ids[0]: "OK", ids[1]: "NOT_FOUND", ids[2]: "OK"}
    assert cloud.at("gpu")["target"] == 0 and not one.list()


def test_instances_are_guarded_from_the_groups_own_choice(cloud, one):
    one.launch("r1", 2)
    one.list()
    assert len(cloud.at("gpu")["protected"]) == 2


def test_what_is_ending_is_not_ended_again(cloud, one):
    """It stays in its group for a while: to end it again would cost another."""
    one.launch("r1", 3)
    cloud.linger(seconds=2)
    ids = [m["id"] for m in one.list()]
    for _ in range(3):
        assert one.end(ids[0])["done"][ids[0]] in ("OK", "NOT_FOUND")
    assert cloud.at("gpu")["target"] == 2 and sorted(cloud.at("gpu")["machines"]) == sorted(ids[1:])
    assert one.launch("r2", 1)["status"] == "OK" and cloud.at("gpu")["target"] == 3
    assert len(one.list()) == 3
    until(lambda: one.end(ids[0])["done"] == {ids[0]: "NOT_FOUND"})


def test_late_instances_find_their_request(cloud, one):
    cloud.late(pool=cloud.names["gpu"], seconds=3)
    assert one.launch("r1", 2)["machines"] == []
    assert one.launch("r2", 1)["status"] == "OK"
    assert cloud.at("gpu")["target"] == 3
    assert one.launch("r1", 2)["status"] == "OK"  # repeated: no more
    assert cloud.at("gpu")["target"] == 3
    until(lambda: len(one.list()) == 3)
    assert phases(one.list()) == [("RUNNING", "r1"), ("RUNNING", "r1"), ("RUNNING", "r2")]


def test_what_somebody_else_buys_is_adopted_and_not_bought_again(cloud, one):
    cloud.by_hand(pool=cloud.names["gpu"], n=2)
    assert phases(one.list()) == [("RUNNING", "")] * 2
    assert one.launch("r1", 1)["status"] == "OK"
    assert cloud.at("gpu")["target"] == 3
    assert phases(one.list()) == [("RUNNING", "")] * 2 + [("RUNNING", "r1")]


def test_a_target_that_is_higher_already_is_used_first(cloud, one):
    cloud.late(pool=cloud.names["gpu"], seconds=3600)
    one.launch("r1", 2)
    cloud.late(pool=cloud.names["gpu"], seconds=0)
    assert one.launch("r1", 2)["status"] == "OK" and cloud.at("gpu")["target"] == 2


def stocked_out(cloud, one, code, status):
    cloud.stock(pool=cloud.names["gpu"], left=1, code=code)
    r = one.launch("r1", 3)
    assert r["status"] == "OK", r  # the cloud accepts it
    assert cloud.at("gpu")["target"] == 3
    m = one.list()
    assert phases(m) == [("FAILED", "r1")] * 2 + [("RUNNING", "r1")]
    bad = [x for x in m if x["phase"] == "FAILED"]
    assert {x["failure"] for x in bad} == {status} and code in bad[0]["detail"]
    see = cloud.at("gpu")
    assert see["target"] == 1 and len(see["machines"]) == 1, "the target comes down to what lives"
    r = one.launch("r1", 3)  # repeated: the same answer, nothing bought
    assert (r["status"], r["code"], len(r["machines"])) == (status, code, 1) and cloud.at("gpu")["target"] == 1
    cloud.heal()
    r = one.end(*[x["id"] for x in bad])
    assert set(r["done"].values()) == {"OK"}
    assert phases(one.list()) == [("RUNNING", "r1")]
    assert one.end(bad[0]["id"])["status"] == "OK"
    assert one.launch("r2", 2)["status"] == "OK" and cloud.at("gpu")["target"] == 3
    assert len(one.list()) == 3


@pytest.mark.parametrize("code,status", [
    ("InsufficientInstanceCapacity", "STOCKOUT"), ("UnfulfillableCapacity", "STOCKOUT"),
    ("VcpuLimitExceeded", "QUOTA"), ("MaxSpotInstanceCountExceeded", "QUOTA"), ("InvalidAMIID.NotFound", "INVALID"),
    ("UnauthorizedOperation", "INVALID")])
def test_a_launch_that_fails_later_is_told_and_the_target_lowered(cloud, one, code, status):
    stocked_out(cloud, one, code, status)


@pytest.mark.parametrize("sentence,status", [
    ("We currently do not have sufficient p2.xlarge capacity in the Availability Zone you requested (us-east-1a). Our system "
     "will be working on provisioning additional capacity. Launching EC2 instance failed.", "STOCKOUT"),
    ("There is no Spot capacity available that matches your request. Launching EC2 instance failed.", "STOCKOUT"),
    ("Your Spot request price of 0.01 is lower than the minimum required Spot request fulfillment price of 0.27.", "STOCKOUT"),
    ("Your requested instance type (p2.xlarge) is not supported in your requested Availability Zone (us-east-1e).", "STOCKOUT"),
    ("You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket that the "
     "specified instance type belongs to.", "QUOTA"),
    ("You have requested more instances (7) than your current instance limit of 6 allows for the specified instance type.",
     "QUOTA"),
    ("Max spot instance count exceeded. Launching EC2 instance failed.", "QUOTA"),
    ("The moon is in the wrong phase. Launching EC2 instance failed.", None)])
def test_a_failure_told_in_a_plain_sentence(cloud, one, sentence, status):
    cloud.stock(pool=cloud.names["gpu"], left=0, text=sentence)
    one.launch("r1", 1)
    got = [(x["phase"], x["failure"]) for x in one.list()]
    assert got == ([("FAILED", status)] if status else []), got  # None: what nobody knows is tried for a minute


def test_old_failures_do_not_count(cloud, one):
    cloud.stock(pool=cloud.names["gpu"], left=0)
    one.launch("r1", 1)
    bad = one.list()
    assert bad[0]["phase"] == "FAILED"
    one.end(bad[0]["id"])
    cloud.stock(pool=cloud.names["gpu"])
    cloud.late(pool=cloud.names["gpu"], seconds=4)
    time.sleep(1.1)  # wait: the cloud tells its times in whole seconds: the failure is older than the launch
    assert one.launch("r2", 1)["status"] == "OK"
    assert one.list() == []
    until(lambda: phases(one.list()) == [("RUNNING", "r2")])


def test_a_group_of_two_zones_tries_both_before_it_is_out(cloud, tmp_path):
    cloud.fresh(gpu={"zones": ["us-east-1a", "us-east-1b"]})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        cloud.stock(pool=cloud.names["gpu"], left=0)
        d.launch("r1", 1)
        m = d.list()
        assert [x["phase"] for x in m] == ["FAILED"] and cloud.at("gpu")["target"] == 0
        offers = d.call("offers")["offers"]
        assert [(o["zone"], o["available"]) for o in offers] == [("", True)]


def test_zones_by_their_own_groups(cloud, tmp_path):
    cloud.fresh(a={}, b={"zones": ["us-east-1b"]})
    types = ("  gpu: {provider: eks, machine: g5.xlarge, max: 9, zones: [us-east-1a, us-east-1b], "
             "options: {pools: {us-east-1a: %(a)s, us-east-1b: %(b)s}}}" % cloud.names)
    with Drive(tmp_path, cloud, types) as d:
        offers = {o["zone"]: o["available"] for o in d.call("offers")["offers"]}
        assert offers == {"us-east-1a": True, "us-east-1b": True}
        d.launch("r1", 1, zone="us-east-1b")
        d.launch("r2", 2, zone="us-east-1a")
        assert sorted((m["zone"], m["request"]) for m in d.list()) == [("us-east-1a", "r2")] * 2 + [("us-east-1b", "r1")]
        assert cloud.at("a")["target"] == 2 and cloud.at("b")["target"] == 1
        assert d.launch("r3", 1, zone="us-east-1c")["status"] == "INVALID"
        ids = [m["id"] for m in d.list()]
        assert set(d.end(*ids)["done"].values()) == {"OK"}
        assert cloud.at("a")["target"] == 0 and cloud.at("b")["target"] == 0


def test_launch_instances_in_the_zone_asked_for(cloud, tmp_path):
    cloud.fresh(gpu={})
    types = "  gpu: {provider: eks, pool: %s, machine: g5.xlarge, max: 9, options: {launch: instances}}" % cloud.names["gpu"]
    with Drive(tmp_path, cloud, types) as d:
        cloud.fault(action="LaunchInstances", kind="lost")
        assert d.launch("r1", 2)["status"] in ("RETRY", "OK")
        r = d.launch("r1", 2)
        assert r["status"] == "OK" and len(r["machines"]) == 2 and cloud.at("gpu")["target"] == 2
        cloud.stock(pool=cloud.names["gpu"], left=1)
        r = d.launch("r2", 3)
        assert (r["status"], len(r["machines"])) == ("STOCKOUT", 1), r
        assert cloud.at("gpu")["target"] == 3
        r = d.launch("r2", 3)
        assert len(r["machines"]) == 1 and cloud.at("gpu")["target"] == 3
        assert phases(d.list()) == [("RUNNING", "r1")] * 2 + [("RUNNING", "r2")]


@pytest.mark.parametrize("action, skip", [("DescribeAutoScalingGroups", 1), ("DescribeInstances", 1), ("CreateTags", 0), ("CreateOrUpdateTags", 1)])
def test_launch_instances_that_made_some_is_in_doubt_until_they_are_shown(cloud, tmp_path, action, skip):
    """A refusal is final for what was not shown with it, and what is throttled is the look after it."""
    cloud.fresh(gpu={})
    types = "  gpu: {provider: eks, pool: %s, machine: g5.xlarge, max: 9, options: {launch: instances}}" % cloud.names["gpu"]
    with Drive(tmp_path, cloud, types) as d:
        cloud.stock(pool=cloud.names["gpu"], left=1)
        cloud.fault(action=action, kind="error", code="Throttling", skip=skip)
        r = d.launch("r1", 3)
        assert r["status"] == "RETRY", r
        r = d.launch("r1", 3)
        assert (r["status"], len(r["machines"])) == ("STOCKOUT", 1), r
        assert cloud.at("gpu")["target"] == 1 == len(cloud.at("gpu")["machines"])


def test_the_groups_bounds(cloud, tmp_path):
    cloud.fresh(gpu={"max": 3, "min": 1})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        adopted = d.list()
        assert len(adopted) == 1
        r = d.launch("r1", 5)
        assert (r["status"], r["code"], len(r["machines"])) == ("QUOTA", "MaxSize", 2), r
        assert d.launch("r2", 1)["status"] == "QUOTA"
        assert cloud.at("gpu")["target"] == 3
        ids = [m["id"] for m in d.list()]
        r = d.end(*ids)
        assert sorted(r["done"].values()) == ["INVALID", "OK", "OK"] and "MinSize" in r["code"], r
        assert cloud.at("gpu")["target"] == 1


@pytest.mark.parametrize("code,http,status", [
    ("Throttling", 400, "THROTTLED"), ("RequestLimitExceeded", 503, "THROTTLED"), ("ScalingActivityInProgress", 400, "RETRY"),
    ("AccessDenied", 403, "AUTH"), ("ValidationError", 400, "INVALID"), ("SomethingNew", 400, "RETRY"),
    ("InternalFailure", 500, "RETRY"), ("ServiceUnavailable", 503, "RETRY")])
def test_errors_by_reaction(cloud, one, code, http, status):
    one.list()
    cloud.fault(action="SetDesiredCapacity", kind="error", code=code, status=http, text="what AWS says",
                headers={"Retry-After": "7"} if status == "THROTTLED" else {})
    r = one.launch("r1", 2)
    assert (r["status"], r["code"], r["text"]) == (status, code, "what AWS says")
    assert r["retry_after_ms"] == (7000 if status == "THROTTLED" else 0)
    assert one.launch("r1", 2)["status"] == "OK" and cloud.at("gpu")["target"] == 2


@pytest.mark.parametrize("name", sorted(p.stem for p in (HERE / "fixtures").glob("*.json")))
def test_recorded_errors(cloud, one, name):
    """Replies as the services send them, served in place of an answer."""
    f = json.loads((HERE / "fixtures" / f"{name}.json").read_text())
    want = {"asg_throttling": "THROTTLED", "eks_throttling": "THROTTLED", "ec2_request_limit_exceeded": "THROTTLED",
            "asg_scaling_activity_in_progress": "RETRY", "eks_resource_in_use": "RETRY",
            "asg_validation_error_name_not_found": "NOT_FOUND", "ec2_insufficient_instance_capacity": "STOCKOUT",
            "ec2_vcpu_limit_exceeded": "QUOTA"}.get(name)
    if want is None:
        return  # not an error in itself; see the tests of failures and health
    body = f["body"] if isinstance(f["body"], str) else json.dumps(f["body"])
    cloud.fault(action="SetDesiredCapacity", kind="raw", status=f["status"], headers=f["headers"], body=body)
    r = one.launch("r1", 1)
    assert r["status"] == want, r
    assert r["text"] and r["code"]


@pytest.mark.parametrize("issue,status", [
    ({"code": "AsgInstanceLaunchFailures", "message": "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We"}, "STOCKOUT"),
    ({"code": "AsgInstanceLaunchFailures", "message": "Could not launch On-Demand Instances. VcpuLimitExceeded - You"}, "QUOTA"),
    ({"code": "Ec2LaunchTemplateNotFound", "message": "The launch template is gone"}, "INVALID")])
def test_the_nodegroups_health_is_heard_when_activities_are_silent(cloud, tmp_path, issue, status):
    cloud.fresh(gpu={})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"], ", launch_timeout: 5s") as d:
        cloud.late(pool=cloud.names["gpu"], seconds=3600)
        cloud.health(pool=cloud.names["gpu"], issues=[{**issue, "resourceIds": ["x"]}])
        d.launch("r1", 1)
        m = until(lambda: d.list())
        assert (m[0]["phase"], m[0]["failure"]) == ("FAILED", status), m
        assert cloud.at("gpu")["target"] == 0


def test_a_group_that_says_nothing_has_failed_after_its_time(cloud, tmp_path):
    cloud.fresh(gpu={})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"], ", launch_timeout: 3s") as d:
        cloud.late(pool=cloud.names["gpu"], seconds=3600)
        d.launch("r1", 1)
        assert d.list() == []
        m = until(lambda: d.list())
        assert (m[0]["phase"], m[0]["failure"]) == ("FAILED", "RETRY") and "LaunchTimeout" in m[0]["detail"]
        assert cloud.at("gpu")["target"] == 0


def test_every_exchange_of_a_launch_is_lost_once(cloud, one):
    """Before and after the deed: the target is never raised twice."""
    total = 0
    for kind in ("reset", "lost", "cut"):
        for n in range(12):
            request = f"{kind}-{n}"
            cloud.fault(action="*", kind=kind, skip=n)
            one.launch(request, 1)
            for _ in range(5):
                if one.launch(request, 1)["status"] == "OK":
                    break
            cloud.heal()
            total += 1
            see = cloud.at("gpu")
            assert see["target"] == 1 == len(see["machines"]), (kind, n, see)
            assert phases(one.list()) == [("RUNNING", request)]
            ids = [m["id"] for m in one.list()]
            cloud.fault(action="*", kind=kind, skip=n)
            for _ in range(5):
                if set(one.end(*ids)["done"].values()) <= {"OK", "NOT_FOUND"}:
                    break
            cloud.heal()
            see = cloud.at("gpu")
            assert see["target"] == 0 == len(see["machines"]), (kind, n, see)
    assert total == 36


def test_a_list_that_cannot_be_read_whole_is_an_error(cloud, one):
    one.launch("r1", 2)
    for action in ("DescribeAutoScalingGroups", "DescribeInstances"):
        for kind in ("reset", "cut", "html"):
            cloud.fault(action=action, kind=kind, times=2)
            r = one.call("list")
            assert r["status"] == "RETRY" and r["machines"] == [], (action, kind, r)
            cloud.heal()
    assert len(one.list()) == 2


def test_pages(cloud, one):
    for i in range(7):  # moto makes a page of whole reservations
        one.launch(f"r{i}", 1)
    cloud.page(n=5)
    one.list()
    before = len(cloud.log())
    assert len(one.list()) == 7
    assert cloud.actions(before) == ["DescribeAutoScalingGroups", "DescribeInstances", "DescribeInstances"]
    assert "NextToken" in dict(cloud.log()[-1]["form"])
    cloud.fault(action="DescribeInstances", kind="error", code="InternalError", status=500, skip=1)
    assert one.call("list")["status"] == "RETRY"  # half a list is no list


def test_a_group_that_is_not_there(cloud, one, tmp_path):
    (tmp_path / "x").mkdir()
    with Drive(tmp_path / "x", cloud, GPU % "nope") as d:
        assert d.list() == []
        r = d.launch("r1", 1)
        assert r["status"] == "INVALID" and "nope" in r["text"], r
    cloud.cluster, keep = "no-such-cluster", cloud.cluster
    (tmp_path / "y").mkdir()
    with Drive(tmp_path / "y", cloud, GPU % cloud.names["gpu"]) as d:
        r = d.call("list")
        assert r["status"] == "INVALID" and "no-such-cluster" in r["text"], r  # not an empty cloud
    cloud.cluster = keep


def test_the_wrong_machine_is_told(cloud, tmp_path):
    cloud.fresh(gpu={"type": "g4dn.xlarge"})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        r = d.launch("r1", 1)
        assert r["status"] == "INVALID" and "g4dn.xlarge" in r["text"] and "g5.xlarge" in r["text"]
        r = d.call("launch", type="gpu", zone="", count=1, request="r2", spot=True)
        assert r["status"] == "INVALID"


def test_many_requests_do_not_fill_the_tags(cloud, one):
    for i in range(25):
        assert one.launch(f"r{i}", 1)["status"] == "OK"
        one.end(*[m["id"] for m in one.list()])
    mine = [k for k in cloud.at("gpu")["tags"] if k.startswith("davit-")]
    assert 0 < len(mine) <= 12, mine
    r = one.launch("r24", 1)  # a late repetition buys nothing
    assert r["status"] == "NOT_FOUND" and cloud.at("gpu")["target"] == 0
    assert one.launch("x" * 127, 1)["status"] == "OK"
    assert one.list()[0]["request"] == "x" * 127


def test_tags_that_terraform_removes_are_written_again(cloud, one):
    """The same launch again buys nothing, and the log says what to change."""
    cloud.late(pool=cloud.names["gpu"], seconds=3)
    one.launch("r1", 2)
    assert cloud.untag(pool=cloud.names["gpu"]) == 1
    assert one.launch("r1", 2)["status"] == "OK" and cloud.at("gpu")["target"] == 2
    assert cloud.untag(pool=cloud.names["gpu"]) == 1    # it was written again
    until(lambda: len(one.list()) == 2)
    assert {m["request"] for m in one.list()} == {"r1"}
    assert [k for k in cloud.at("gpu")["tags"] if k.startswith("davit-request/")]
    one.end(*[m["id"] for m in one.list()])
    cloud.untag(pool=cloud.names["gpu"])
    assert one.launch("r1", 2)["status"] == "NOT_FOUND" and cloud.at("gpu")["target"] == 0
    assert "tell Terraform to ignore_changes of its tags" in one.text()


def offer(d):
    (o,) = d.call("offers")["offers"]
    return o["available"], o["note"]


def test_a_node_group_that_is_updated_is_left_alone(cloud, one):
    """Its target is EKS's meanwhile: neither raised, nor lowered, nor a machine ended."""
    one.launch("r1", 2)
    ids = [m["id"] for m in one.list()]
    cloud.late(pool=cloud.names["gpu"], seconds=3600)
    one.launch("r2", 1)                      # under way when the update begins
    cloud.status(pool=cloud.names["gpu"], status="UPDATING")
    since = len(cloud.log())
    r = one.launch("r3", 1)
    assert (r["status"], r["code"]) == ("STOCKOUT", "Maintenance") and "being updated by EKS" in r["text"]
    assert one.launch("r2", 1)["status"] == "OK"
    r = one.end(ids[0])
    assert (r["done"][ids[0]], r["code"]) == ("RETRY", "Maintenance")
    assert all("being updated" in m["held"] for m in one.list()) and len(one.list()) == 2
    available, note = offer(one)
    assert not available and "being updated" in note
    assert not {"SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup", "SetInstanceProtection"} & set(cloud.actions(since))
    assert cloud.at("gpu")["target"] == 3 and not [k for k in cloud.at("gpu")["tags"] if "r3" in k]
    cloud.status(pool=cloud.names["gpu"], status="ACTIVE")
    cloud.heal()
    assert one.launch("r3", 1)["status"] == "OK" and one.end(ids[0])["done"] == {ids[0]: "OK"}
    assert not any(m["held"] for m in one.list())


def test_a_minimum_of_the_groups_own(cloud, tmp_path):
    cloud.fresh(gpu={"min": 2})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        assert {m["held"] for m in d.list()} == {f"node group {cloud.names['gpu']} is at its MinSize of 2"}
        assert offer(d)[0] and "MinSize of 2" in offer(d)[1]
        d.launch("r1", 1)
        mine = [m for m in d.list() if m["request"] == "r1"]
        assert not mine[0]["held"] and d.end(mine[0]["id"])["done"] == {mine[0]["id"]: "OK"}
        assert all(m["held"] for m in d.list()) and len(d.list()) == 2


@pytest.mark.parametrize("process,launches,ends", [("Launch", False, True), ("Terminate", True, False), ("AZRebalance", True, True)])
def test_processes_that_somebody_suspended(cloud, one, process, launches, ends):
    one.launch("r1", 1)
    (m,) = one.list()
    cloud.suspend(pool=cloud.names["gpu"], processes=[process])
    assert offer(one)[0] == launches and bool(one.list()[0]["held"]) != ends
    r = one.launch("r2", 1)
    assert r["status"] == ("OK" if launches else "STOCKOUT") and (launches or "Launch suspended" in r["text"])
    assert one.end(m["id"])["done"] == {m["id"]: "OK" if ends else "RETRY"}


def test_a_group_that_counts_in_weights_is_not_ours_to_count(cloud, tmp_path):
    cloud.fresh(gpu={})
    with Drive(tmp_path, cloud, GPU % f"asg/{cloud.at('gpu')['group']}") as d:
        d.launch("r1", 1)
        (m,) = d.list()
        cloud.weights(pool=cloud.names["gpu"], weight="4")
        r = d.launch("r2", 1)
        assert (r["status"], r["code"]) == ("INVALID", "Weighted") and cloud.at("gpu")["target"] == 1
        assert "weights" in d.list()[0]["held"] and not offer(d)[0]
        assert d.end(m["id"])["done"] == {m["id"]: "RETRY"}


def test_offers_tell_taints(cloud, tmp_path):
    """The node group's, and those a scale from zero is told by tags."""
    cloud.fresh(gpu={"tags": {"k8s.io/cluster-autoscaler/node-template/taint/team": "ml:PreferNoSchedule",
                              "k8s.io/cluster-autoscaler/node-template/taint/odd": "what"}})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        (o,) = d.call("offers")["offers"]
        assert o["taints"] == {"nvidia.com/gpu": "present:NoSchedule", "team": "ml:PreferNoSchedule"}


def test_offers_tell_labels(cloud, tmp_path):
    """EKS' own, by the group, its AMI and its market; the group's and its tags go over them."""
    cloud.fresh(gpu={"labels": {"team": "ml"}, "ami": "AL2023_ARM_64_NVIDIA"})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        (o,) = d.call("offers")["offers"]
    assert o["labels"] == {
        "team": "ml", "disk": "nvme", "eks.amazonaws.com/nodegroup": cloud.names["gpu"], "eks.amazonaws.com/capacityType": "ON_DEMAND",
        "node.kubernetes.io/instance-type": "g5.xlarge", "topology.kubernetes.io/region": "us-east-1", "kubernetes.io/arch": "arm64",
        "ray.io/accelerator-type": "A10G"}
    cloud.fresh(gpu={"spot": True, "ami": "WINDOWS_CORE_2022_x86_64", "types": ["g5.xlarge", "g5.2xlarge"]})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"] + "\n") as d:
        got = [o["labels"] for o in d.call("offers")["offers"]]
    assert all(x["kubernetes.io/os"] == "windows" and "node.kubernetes.io/instance-type" not in x for x in got)
    assert {x["eks.amazonaws.com/capacityType"] for x in got} == {"SPOT"}


def test_offers_tell_the_image_of_a_group_with_its_own(cloud, tmp_path):
    """Its AMI is where others have a release; of those nobody knows it before the first node."""
    image, key = "ami-0123456789abcdef0", "eks.amazonaws.com/"
    cloud.fresh(gpu={"group": {"amiType": "CUSTOM", "releaseVersion": image, "launchTemplate": {"id": "lt-0123456789abcdef0", "version": "3"}}})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        (o,) = d.call("offers")["offers"]
    assert o["labels"][key + "nodegroup-image"] == image, o
    assert (o["labels"][key + "sourceLaunchTemplateId"], o["labels"][key + "sourceLaunchTemplateVersion"]) == ("lt-0123456789abcdef0", "3")
    cloud.fresh(gpu={"group": {"releaseVersion": "1.33.1-20260101"}})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        (o,) = d.call("offers")["offers"]
    assert key + "nodegroup-image" not in o["labels"] and key + "sourceLaunchTemplateId" not in o["labels"]


def test_offers_tell_what_a_kubelet_leaves(cloud, tmp_path):
    """Pods by interfaces and addresses; the group's tags go over it."""
    cloud.fresh(gpu={})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        (o,) = d.call("offers")["offers"]
        assert o["resources"]["pods"] == 58  # g5.xlarge of eni-max-pods.txt
    cloud.fresh(gpu={"tags": {"k8s.io/cluster-autoscaler/node-template/resources/pods": "110",
                              "k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage": "80Gi"}})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        (o,) = d.call("offers")["offers"]
        assert o["resources"]["pods"] == 110 and o["resources"]["ephemeral-storage"] == 80 << 30


def test_offers_tell_the_spot_price(cloud, tmp_path):
    cloud.fresh(cheap={"spot": True}, dear={})
    types = ("  spot: {provider: eks, pool: %(cheap)s, machine: g5.xlarge, max: 9, spot: true}\n"
             "  gpu: {provider: eks, pool: %(dear)s, machine: g5.xlarge, max: 9}" % cloud.names)
    with Drive(tmp_path, cloud, types) as d:
        r = d.call("offers")
        assert r["status"] == "OK", r
        got = {o["type"]: o for o in r["offers"]}
        assert got["spot"]["spot"] and got["spot"]["price"] > 0
        assert not got["gpu"]["spot"] and got["gpu"]["price"] == -1
        assert got["gpu"]["zone"] == "us-east-1a"


def test_quotas(cloud, tmp_path):
    """In vCPUs of the family, by each pool's market, less what runs in the account."""
    cloud.fresh(cheap={"spot": True}, dear={})
    types = ("  spot: {provider: eks, pool: %(cheap)s, machine: g5.xlarge, max: 9, spot: true}\n"
             "  gpu: {provider: eks, pool: %(dear)s, machine: g5.xlarge, max: 9}" % cloud.names)
    with Drive(tmp_path, cloud, types) as d:
        def offers():
            return {o["type"]: (o["available"], o["most"], o["note"]) for o in d.call("offers")["offers"]}
        assert offers() == {"spot": (True, -1, ""), "gpu": (True, -1, "")}, "moto knows no quotas of EC2"
        cloud.service_quotas(of={"L-DB2E81BA": ["G and VT", 12.0], "L-3819A6DF": ["spot G and VT", 3.0]})
        assert offers() == {"spot": (False, -1, "quota L-3819A6DF (spot G and VT): 0 of 3 vCPUs used, a machine takes 4"), "gpu": (True, 3, "")}
        cloud.by_hand(pool=cloud.names["dear"], n=2)
        d.until(lambda: offers()["gpu"] == (True, 1, ""))


def test_a_thousand_machines(cloud, tmp_path):
    cloud.fresh(gpu={"max": 1200})
    with Drive(tmp_path, cloud, (GPU % cloud.names["gpu"]).replace("60", "2000")) as d:
        cloud.by_hand(pool=cloud.names["gpu"], n=1000)
        r = d.call("list", ms=120000)
        assert r["status"] == "OK" and len(r["machines"]) == 1000, r["status"]
        cloud.freeze()  # moto takes seconds for these answers; they are kept
        d.call("list", ms=120000)
        times, calls = [], []
        for _ in range(12):  # the least counts: a busy machine makes most of them half as long again, and a call is asked again there
            before = len(cloud.log())
            times.append(d.call("list", ms=120000)["cpu_ms"])
            calls.append(cloud.actions(since=before))
        slow = slow_core()
        print(f"list of 1,000: own CPU {min(times):.1f} to {max(times):.1f} ms, {len(calls[0])} calls, "
              f"the core {slow:.1f} times as slow as usual")
        assert min(times) < 50 * slow and sum(len(c) == 2 for c in calls) > 9, calls


def test_a_retained_instance_is_ended_by_ec2(cloud, one):
    """Its group is done with it and has a replacement; it is billed until somebody ends it."""
    one.launch("r1", 3)
    ids = sorted(m["id"] for m in one.list())
    cloud.retain(ids=ids[:1])
    got = {m["id"]: m for m in one.list()}
    assert got[ids[0]]["phase"] == "FAILED" and "billed until it is ended" in got[ids[0]]["detail"]
    assert {got[i]["phase"] for i in ids[1:]} == {"RUNNING"}
    assert one.end(ids[0])["done"] == {ids[0]: "OK"}
    assert ids[0] not in cloud.at("gpu")["machines"]


def test_a_capacity_block_takes_of_no_quota(cloud, one, tmp_path):
    cloud.service_quotas(of={"L-DB2E81BA": ["G and VT", 0.0]})
    assert [o["available"] for o in one.call("offers")["offers"]] == [False]
    cloud.block(pool=cloud.names["gpu"])
    (tmp_path / "again").mkdir()
    with Drive(tmp_path / "again", cloud, GPU % cloud.names["gpu"]) as d:
        assert [o["available"] for o in d.call("offers")["offers"]] == [True]
