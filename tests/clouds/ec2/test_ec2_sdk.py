"""Every kind of request that the plug-in sends, beside boto3's own to the same
server: what our form means is read by AWS's model, boto3 is called with that,
and the two requests are the same, but for time and signature."""
import boto3
from botocore.config import Config
from botocore import xform_name

from eks_rig import AK, SK
from test_ec2 import NODE_CONFIG, R
from test_eks_golden import params_of

USED = {"RunInstances", "DescribeInstances", "TerminateInstances", "GetConsoleOutput", "DescribeSubnets", "DescribeInstanceStatus", "DescribeInstanceTypes",
        "DescribeInstanceTypeOfferings", "DescribeSpotPriceHistory", "DescribeSpotInstanceRequests"}


def shape(x):
    return {k: x[k] for k in ("service", "method", "path", "query", "type")} | {"form": sorted(map(tuple, x["form"]))}


def test_as_boto3_sends_it(cloud, drives):
    subnets = ", ".join(cloud.zones.values())
    d = drives(types=NODE_CONFIG + "    spot: true\n", options=f", subnets: [{subnets}]",
               more="head: {ray: {address: 10.1.2.3:6379}}")
    d.call("offers")
    [m] = d.launch(1, R, zone="us-east-1b")["machines"]
    d.launch(1, "davit-00112233445566770001", zone="us-east-1b", spot=True)
    d.list()
    d.list()  # the first one saw that there is a spot machine
    assert d.call("find", ids=[m["id"]])["done"] == {m["id"]: "OK"}
    d.call("terminate", ids=[m["id"]], consoles=True)
    ours = [x for x in cloud.log() if x["form"]]
    assert {x["action"] for x in ours} == USED
    sdk = boto3.client("ec2", region_name="us-east-1", endpoint_url=cloud.url, aws_access_key_id=AK, aws_secret_access_key=SK,
                       config=Config(retries={"total_max_attempts": 1}))
    for x in ours:
        n = len(cloud.log())
        try:
            getattr(sdk, xform_name(x["action"]))(**params_of(x))
        except sdk.exceptions.ClientError as e:
            print(x["action"], e)
            pass  # what the cloud says to it is not what is compared
        [theirs] = cloud.log()[n:]
        assert shape(x) == shape(theirs), x["action"]


def test_a_quota_is_asked_for_as_by_boto3(cloud, drives):
    cloud.service_quotas(of={"L-DB2E81BA": ["Running On-Demand G and VT instances", 8.0]})
    drives().call("offers")
    [ours] = [x for x in cloud.log() if x["action"] == "GetServiceQuota"]
    sdk = boto3.client("service-quotas", region_name="us-east-1", endpoint_url=cloud.url, aws_access_key_id=AK, aws_secret_access_key=SK)
    assert sdk.get_service_quota(**ours["json"])["Quota"]["Value"] == 8.0
    theirs = cloud.log()[-1]
    same = ("service", "method", "path", "query", "type", "target", "json")
    assert {k: ours[k] for k in same} == {k: theirs[k] for k in same}
