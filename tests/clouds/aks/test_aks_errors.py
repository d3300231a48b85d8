"""Each of Azure's codes leads to the reaction it needs; offers say what can be had."""
import json
import pathlib

import pytest

from aks_cloud import BASE
from aks_rig import QUICK

REPLIES = {p.stem: json.loads(p.read_text()) for p in sorted((pathlib.Path(__file__).parent / "replies").glob("*.json"))}
PUT = "PUT .*/agentPools/gpu$"


def put_says(drive, cloud, status, error, **headers):
    cloud.rules.append({"match": PUT, "do": "status", "status": status, "body": {"error": error}, "headers": headers,
                        "times": 1000})
    return drive(options="poll: 5ms, wait: 30ms").launch(1)


CODES = {
    "STOCKOUT": ["AllocationFailed", "ZonalAllocationFailed", "OverconstrainedAllocationRequest",
                 "OverconstrainedZonalAllocationRequest", "SkuNotAvailable", "AKSCapacityError", "AksCapacityHeavyUsage"],
    "QUOTA": ["QuotaExceeded", "ErrCode_InsufficientVCPUQuota", "SubnetIsFull"],
    "AUTH": ["AuthorizationFailed", "LinkedAuthorizationFailed", "SubscriptionNotFound", "MissingSubscriptionRegistration"],
    "INVALID": ["InvalidParameter", "PropertyChangeNotAllowed", "ResourceNotFound", "RequestDisallowedByPolicy"],
    "RETRY": ["EtagMismatch", "OperationNotAllowed", "InternalServerError", "SomethingNobodyKnows"],
}


@pytest.mark.parametrize("want,code", [(w, c) for w, codes in CODES.items() for c in codes])
def test_codes(drive, cloud, want, code):
    r = put_says(drive, cloud, 400, {"code": code, "message": "Azure's own words"})
    busy = code in ("EtagMismatch", "OperationNotAllowed")
    assert (r["status"], r["code"]) == (want, "PoolBusy" if busy else code), r
    assert busy or "Azure's own words" in r["text"]


@pytest.mark.parametrize("error", [
    {"code": "ReconcileVMSSAgentPoolFailed", "message": 'Code="AllocationFailed" Message="no room"'},
    {"code": "ReconcileVMSSAgentPoolFailed", "message": '{"error":{"code":"AllocationFailed","message":"no room"}}'},
    {"code": "InternalOperationError", "message": 'x: \\"code\\": \\"ZonalAllocationFailed\\", y'},
    {"code": "InvalidTemplateDeployment", "message": "m", "details": [{"code": "Other", "message": "m"},
                                                                      {"code": "SkuNotAvailable", "message": "m"}]},
    {"code": "Unknown", "message": "m", "innererror": {"code": "OverconstrainedAllocationRequest"}}])
def test_a_stockout_inside_another_error(drive, cloud, error):
    r = put_says(drive, cloud, 400, error)
    assert r["status"] == "STOCKOUT" and r["code"] in json.dumps(error), r


def test_a_quota_inside_another_error(drive, cloud):
    r = put_says(drive, cloud, 400, {"code": "InvalidTemplateDeployment", "message": "m", "details": [
        {"code": "QuotaExceeded", "message": "Operation could not be completed"}]})
    assert (r["status"], r["code"]) == ("QUOTA", "QuotaExceeded"), r


def test_a_quota_of_cores_comes_as_OperationNotAllowed(drive, cloud):
    r = put_says(drive, cloud, 409, {"code": "OperationNotAllowed", "message": "Operation could not be completed as it results "
                                     "in exceeding approved standardNCASv3_T4Family Cores quota."})
    assert r["status"] == "QUOTA", r


def test_throttling_says_for_how_long(drive, cloud):
    x = REPLIES["throttled_429"]
    r = put_says(drive, cloud, x["status"], x["body"]["error"], **{"Retry-After": x["headers"]["Retry-After"]})
    assert (r["status"], r["retry_after_ms"]) == ("THROTTLED", 17000), r


@pytest.mark.parametrize("name,want", [("autoscaler_enabled_400", "INVALID"), ("conflict_409", "RETRY"),
                                       ("etag_mismatch_412", "RETRY")])
def test_replies_of_a_put(drive, cloud, name, want):
    r = put_says(drive, cloud, REPLIES[name]["status"], REPLIES[name]["body"]["error"])
    assert r["status"] == want, r


@pytest.mark.parametrize("name,want", [("operation_failed_alloc", "STOCKOUT"), ("operation_failed_overconstrained", "STOCKOUT"),
                                       ("operation_failed_quota", "QUOTA"), ("operation_failed_sku", "STOCKOUT"),
                                       ("operation_failed_zonal", "STOCKOUT")])
def test_replies_of_an_operation(drive, cloud, name, want):
    gpu = cloud.pools["gpu"]
    gpu.stock, gpu.tell, cloud.headers = 0, False, ("azure",)
    cloud.rules.append({"match": "GET .*/operations/", "do": "status", "status": 200, "body": REPLIES[name]["body"],
                        "times": 1000})
    d = drive()
    d.launch(1)
    (m,) = d.failed(1)
    assert m["failure"] == want and m["detail"].startswith(REPLIES[name]["body"]["error"]["message"][:40])


def test_html_from_a_proxy_is_no_verdict(drive, cloud):
    cloud.rules.append({"match": "GET .*/agentPools$", "do": "garbage", "times": 1})
    assert drive().call("list")["status"] == "RETRY"


# ---- offers

def offers(d):
    r = d.call("offers")
    assert r["status"] == "OK", r
    return {(o["type"], o["zone"], o["spot"]): o["available"] for o in r["offers"]}


def test_offers(drive, cloud):
    d = drive(t4="zones: [westeurope-1, westeurope-2], options: {pools: {westeurope-1: gpu, westeurope-2: gpu2}}")
    assert offers(d) == {("t4", "westeurope-1", False): True, ("t4", "westeurope-2", False): True, ("cpu", "", False): True}
    o = [o for o in d.call("offers")["offers"] if o["type"] == "t4"][0]
    assert o["most"] == 16 and o["quotas"] == {"westeurope standardNCASv3_T4Family": [64, 4], "westeurope cores": [640, 4]}
    cloud.usages[0]["currentValue"] = 61  # 3 of 64 cores are left, one machine has 4
    assert offers(d) == {("t4", "westeurope-1", False): False, ("t4", "westeurope-2", False): False, ("cpu", "", False): True}
    assert len([e for e in cloud.log if e["path"].endswith("/skus")]) == 3  # one size is unknown: asked again


def test_prices_of_the_public_list(drive, cloud):
    cloud.pool("spot", ["1"], spot=True)
    cloud.prices[0]["armSkuName"] = "Standard_Other"
    d = drive(more="  s: {provider: aks, pool: spot, resources: {CPU: 4, GPU: 1}, spot: true, max: 9}")
    got = [{o["type"]: o["price"] for o in d.call("offers")["offers"]} for _ in range(2)]
    assert got == [{"t4": -1, "s": -1, "cpu": -1}, {"t4": 605000, "s": 92100, "cpu": -1}]


def test_offers_tell_taints(drive, cloud):
    cloud.pools["gpu"].props["nodeTaints"] = ["sku=gpu:NoSchedule", "bare:NoExecute", "odd=1:Whatever"]
    cloud.pools["cpu"].props["nodeTaints"] = []
    got = {o["type"]: o["taints"] for o in drive().call("offers")["offers"]}
    assert got == {"t4": {"sku": "gpu:NoSchedule", "bare": ":NoExecute"}, "cpu": {}}


def test_offers_tell_labels(drive, cloud):
    """AKS' own, by the pool, its machine and its cluster; the pool's go over them."""
    cloud.pools["gpu"].props.update(nodeLabels={"team": "ml", "storageprofile": "mine"}, osSKU="Ubuntu", osDiskType="Ephemeral")
    cloud.nodes = "our-nodes(1)"
    cloud.pools["cpu"].props.update(osType="Windows", mode="System", scaleSetPriority="Spot", osSKU="Windows2022")
    got = {o["type"]: o["labels"] for o in drive().call("offers")["offers"]}
    aks = "kubernetes.azure.com/"
    assert got["t4"] == {
        "team": "ml", "storageprofile": "mine", aks + "storageprofile": "ephemeral", "node.kubernetes.io/instance-type": "Standard_NC4as_T4_v3",
        "topology.kubernetes.io/region": "westeurope", "kubernetes.io/os": "linux", aks + "os-sku": "Ubuntu", "accelerator": "nvidia",
        aks + "accelerator": "nvidia", "agentpool": "gpu", aks + "agentpool": "gpu", aks + "mode": "user", aks + "role": "agent",
        aks + "cluster": "our-nodes-1-z", aks + "node-image-version": "AKSUbuntu-2204-1"}
    cpu = got["cpu"]
    assert cpu["kubernetes.io/os"] == "windows" and cpu[aks + "mode"] == "system" and cpu[aks + "scalesetpriority"] == "spot"
    assert cpu[aks + "os-sku"] == "Windows2022" and "accelerator" not in cpu


def test_offers_tell_labels_without_the_right_to_see_the_cluster(drive, cloud):
    """Then its nodes' group has the name that Azure gives it."""
    cloud.nodes = "not-told"
    cloud.rules.append({"match": f"GET {BASE}$", "do": "status", "status": 403, "code": "AuthorizationFailed", "times": 1000})
    got = {o["type"]: o["labels"] for o in drive(QUICK + ", location: westeurope").call("offers")["offers"]}
    assert got["t4"]["kubernetes.azure.com/cluster"] == "MC_rg1_aks1_westeurope"


def test_offers_tell_what_a_kubelet_leaves(drive, cloud):
    cloud.pools["cpu"].props.update(maxPods=30, osDiskSizeGB=128)
    cloud.pools["gpu"].props.update(osDiskSizeGB=0)
    got = {o["type"]: o["resources"] for o in drive().call("offers")["offers"]}
    # of a node of 128 GB: 119703055367 bytes are allocatable
    assert got["cpu"]["pods"] == 30 and abs(got["cpu"]["ephemeral-storage"] - 119703055367) < 0.01 * 119703055367
    assert "ephemeral-storage" not in got["t4"]


def test_a_size_that_is_closed_to_us_in_one_zone(drive, cloud):
    cloud.skus[0]["restrictions"] = [{"type": "Zone", "values": ["westeurope"], "reasonCode": "NotAvailableForSubscription",
                                      "restrictionInfo": {"locations": ["westeurope"], "zones": ["2"]}}]
    d = drive(t4="zones: [westeurope-1, westeurope-2], options: {pools: {westeurope-1: gpu, westeurope-2: gpu2}}")
    assert offers(d)["t4", "westeurope-1", False] and not offers(d)["t4", "westeurope-2", False]
    cloud.skus[0]["restrictions"] = [{"type": "Location", "values": ["westeurope"], "reasonCode": "NotAvailableForSubscription"}]
    d = drive()
    assert not offers(d)["t4", "", False]


def test_offers_without_the_right_to_look(drive, cloud):
    cloud.rules.append({"match": "GET .*/Microsoft.Compute/", "do": "status", "status": 403, "code": "AuthorizationFailed",
                        "times": 1000})
    assert all(offers(drive()).values())
    cloud.rules.clear()
    cloud.rules.append({"match": "GET .*/skus$", "do": "status", "status": 429, "code": "TooManyRequests",
                        "headers": {"Retry-After": "3"}})
    r = drive().call("offers")
    assert (r["status"], r["retry_after_ms"]) == ("THROTTLED", 3000)
