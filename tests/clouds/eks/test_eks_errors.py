"""AWS's codes, by what they make us do, wherever they are said.

One launch a code: as the answer to the raise, each service in its own form, and
again in the group's scaling activities.
"""
import pytest

from eks_rig import Drive

CODES = {
    "STOCKOUT": ["InsufficientInstanceCapacity", "UnfulfillableCapacity", "InsufficientReservedInstanceCapacity",
                 "InsufficientHostCapacity", "SpotMaxPriceTooLow"],
    "QUOTA": ["VcpuLimitExceeded", "InstanceLimitExceeded", "MaxSpotInstanceCountExceeded", "InsufficientFreeAddressesInSubnet"],
    "THROTTLED": ["Throttling", "ThrottlingException", "RequestLimitExceeded", "RequestThrottled", "TooManyRequestsException"],
    "AUTH": ["AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "AccessDenied", "AccessDeniedException",
             "UnauthorizedOperation", "SignatureDoesNotMatch", "ExpiredToken", "OptInRequired"],
    "INVALID": ["InvalidInstanceType", "InvalidAMIID.NotFound", "InvalidLaunchTemplateName.NotFoundException", "ValidationError",
                "InvalidParameterValue", "InvalidParameterException", "Unsupported"],
    "RETRY": ["ScalingActivityInProgress", "ResourceInUseException", "ResourceContention", "InternalError", "InternalFailure",
              "ServiceUnavailable", "Unavailable", "ACodeOfNextYear"],
}
ALL = [(status, code) for status, codes in CODES.items() for code in codes]
# In an activity the call itself went well: who we are is not the matter.
LATER = [(s, c) for s, c in ALL if s in ("STOCKOUT", "QUOTA")] + [
    ("INVALID", "InvalidInstanceType"), ("INVALID", "InvalidAMIID.NotFound"), ("INVALID", "UnauthorizedOperation")]
GPU = "  gpu: {provider: eks, pool: %s, machine: g5.xlarge, max: 60}"


@pytest.mark.parametrize("action,http", [("SetDesiredCapacity", 400), ("DescribeInstances", 503), ("DescribeNodegroup", 400)])
def test_codes_in_an_answer(cloud, tmp_path, action, http):
    cloud.fresh(gpu={"max": 50})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        for status, code in ALL:
            if action == "DescribeNodegroup":
                d.call("reopen")  # it is remembered
            cloud.fault(action=action, kind="error", code=code, status=http, text="what AWS says", times=2)
            r = d.launch("r", 1) if action == "SetDesiredCapacity" else d.call("list")
            assert (r["status"], r["code"]) == (status, code) and "what AWS says" in r["text"], (code, r)
            cloud.heal()
        see = cloud.at("gpu")
        assert see["target"] == 0 and not see["machines"]


def test_codes_in_an_activity(cloud, tmp_path):
    cloud.fresh(gpu={"max": 50})
    with Drive(tmp_path, cloud, GPU % cloud.names["gpu"]) as d:
        for i, (status, code) in enumerate(LATER):
            cloud.stock(pool=cloud.names["gpu"], left=0, code=code)
            assert d.launch(f"r{i}", 1)["status"] == "OK"
            (m,) = d.list()
            assert (m["phase"], m["failure"]) == ("FAILED", status) and code in m["detail"], (code, m)
            assert cloud.at("gpu")["target"] == 0, "the target stays high"
            assert d.end(m["id"])["done"] == {m["id"]: "OK"} and d.list() == []
