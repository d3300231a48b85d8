"""Google's errors, by what they make us do."""
import json
import pathlib
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
A = "us-central1-a"
CREATE = "createInstances"

# reason or code as Google says it, HTTP status, what we make of it
HTTP = [
    (403, "rateLimitExceeded", "THROTTLED"), (403, "userRateLimitExceeded", "THROTTLED"), (429, "rateLimitExceeded", "THROTTLED"),
    (429, "concurrentLimitExceeded", "THROTTLED"), (429, "whatever", "THROTTLED"),
    (403, "quotaExceeded", "QUOTA"), (403, "limitExceeded", "QUOTA"), (400, "limitExceeded", "QUOTA"),
    (403, "forbidden", "AUTH"), (403, "accessNotConfigured", "AUTH"), (403, "insufficientPermissions", "AUTH"), (401, "authError", "AUTH"),
    (400, "invalid", "INVALID"), (400, "badRequest", "INVALID"), (400, "required", "INVALID"), (400, "invalidParameter", "INVALID"),
    (400, "failedPrecondition", "RETRY"), (400, "resourceNotReady", "RETRY"), (400, "resourceInUseByAnotherResource", "RETRY"),
    (409, "conflict", "RETRY"), (409, "alreadyExists", "RETRY"), (412, "conditionNotMet", "RETRY"),
    (500, "backendError", "RETRY"), (503, "backendError", "RETRY"), (503, "ZONE_RESOURCE_POOL_EXHAUSTED", "STOCKOUT"),
    (500, "nobodyKnows", "RETRY"), (409, "nobodyKnows", "RETRY")]
OPERATION = [
    ("ZONE_RESOURCE_POOL_EXHAUSTED", "STOCKOUT"), ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "STOCKOUT"),
    ("RESOURCE_POOL_EXHAUSTED", "STOCKOUT"), ("GCE_STOCKOUT", "STOCKOUT"),
    ("QUOTA_EXCEEDED", "QUOTA"), ("GCE_QUOTA_EXCEEDED", "QUOTA"), ("SOME_NEW_QUOTA_CODE", "QUOTA"), ("IP_SPACE_EXHAUSTED", "QUOTA"),
    ("RESOURCE_OPERATION_RATE_EXCEEDED", "THROTTLED"), ("PERMISSIONS_ERROR", "INVALID"), ("INVALID_USAGE", "INVALID"),
    ("RESOURCE_NOT_READY", "RETRY"), ("INTERNAL_ERROR", "RETRY"), ("A_CODE_OF_NEXT_YEAR", "RETRY")]


@pytest.mark.parametrize("http,reason,status", HTTP)
def test_refused(drive, cloud, http, reason, status):
    cloud.refuse = {CREATE: [http, reason, f"said so: {reason}"]}
    r = drive().launch(1, zone=A)
    assert (r["status"], r["code"]) == (status, f"HTTP {http} {reason}"[:47]) and f"said so: {reason}" in r["text"], r


@pytest.mark.parametrize("code,status", OPERATION)
def test_operation_failed(drive, cloud, code, status):
    cloud.fail_ops = {CREATE: [code, "this is what Google said"]}
    r = drive().launch(1, zone=A)
    assert (r["status"], r["code"]) == (status, code[:47]) and "this is what Google said" in r["text"], r


@pytest.mark.parametrize("message,status", [
    ("Google Compute Engine: ZONE_RESOURCE_POOL_EXHAUSTED", "STOCKOUT"), ("Instances failed: QUOTA_EXCEEDED, try less", "QUOTA")])
def test_a_code_inside_a_text(drive, cloud, message, status):
    cloud.fail_ops = {CREATE: ["RESOURCE_ERROR", message]}
    assert drive().launch(1, zone=A)["status"] == status


def test_recorded_replies(drive, cloud):
    for name, status in (("gce_rate_limit_403", "THROTTLED"), ("gke_failed_precondition", "RETRY"), ("gke_too_many_operations", "THROTTLED")):
        e = json.loads((HERE / "replies" / (name + ".json")).read_text())["body"]["error"]
        cloud.refuse = {CREATE: [e["code"], e["errors"][0]["reason"], e["message"]]}
        r = drive().launch(1, zone=A)
        assert r["status"] == status and r["text"].startswith(e["message"][:100]), r
    # a failed operation of GKE's own: the condition's code counts
    op = json.loads((HERE / "replies" / "gke_operation_stockout.json").read_text())["body"]
    cloud.heal()
    cloud.pool("gpu", [A], accelerator="nvidia-tesla-t4", autoscaling=True)
    cloud.fail_ops = {"setAutoscaling": [op["nodepoolConditions"][0]["code"], op["nodepoolConditions"][0]["message"]]}
    r = drive(options="take_over: true").launch(1, zone=A)
    assert (r["status"], r["code"]) == ("STOCKOUT", "GCE_STOCKOUT")


def test_recorded_attempts(drive, cloud):
    for name in ("gce_list_managed_instances_stockout",):
        items = json.loads((HERE / "replies" / (name + ".json")).read_text())["body"]["managedInstances"]
        errors = [m["lastAttempt"]["errors"]["errors"][0] for m in items]
        d = drive()
        for e, failure in zip(errors, ("STOCKOUT", "QUOTA")):
            cloud.extra_error = [e["code"], e["message"]]
            d.launch(1, f"davit-{abs(hash(e['code'])):020x}"[:26], zone=A)
            m = d.until(lambda: [m for m in d.list("FAILED") if m["failure"] == failure])[0]
            assert m["detail"].startswith(e["code"])
            d.end(*[x["id"] for x in d.list()])
            d.until(lambda: d.list() == [])


def test_retry_after(drive, cloud):
    d = drive()
    d.list()
    cloud.retry_after = 17
    cloud.fail_next = [429]
    r = d.call("list")
    assert (r["status"], r["retry_after_ms"]) == ("THROTTLED", 17000)
    cloud.retry_after = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 120))
    cloud.fail_next = [429]
    assert 60000 <= d.call("list")["retry_after_ms"] <= 120000


@pytest.mark.parametrize("fault", ["reset", "garbage", "cut", 500, 503])
def test_a_bad_reply_is_no_truth(drive, cloud, fault):
    """At each request of a list, a launch and an end: never a list that is OK and lacks a machine."""
    d = drive()
    d.launch(2, zone=A)
    d.running(2)
    for n in range(6):
        d.call("reopen")
        cloud.fail_next = [0] * n + [fault]
        r = d.call("list")
        assert r["status"] == "OK" and len(r["machines"]) == 2 or r["status"] == "RETRY" and r["text"], r
        cloud.fail_next = []
    ids = [m["id"] for m in d.list()]
    for n in range(6):
        cloud.fail_next = [0] * n + [fault]
        r = d.end("not-there")
        assert r["done"]["not-there"] in ("NOT_FOUND", "RETRY"), r
        cloud.fail_next = []
        cloud.fail_next = [0] * n + [fault]
        d.launch(1, f"davit-{n:020x}", zone=A)
        cloud.fail_next = []
        assert d.launch(1, f"davit-{n:020x}", zone=A)["status"] == "OK"
    d.running(8)
    assert set(ids) < set(cloud.living()) and len(cloud.living()) == 8


def test_cluster_that_is_not_there(drive, cloud):
    cloud.cluster = "other"
    r = drive().call("list")
    assert (r["status"], r["code"]) == ("INVALID", "cluster") and "no cluster c1 in us-central1 of project my-proj" in r["text"]


def test_denied(drive, cloud):
    cloud.deny = True
    r = drive().call("list")
    assert r["status"] == "AUTH" and "permission" in r["text"]


def test_time_and_cancel(drive, cloud):
    d = drive()
    d.list()
    cloud.op = 30  # seconds
    r = d.launch(1, zone=A, ms=400)
    assert r["status"] in ("CANCELLED", "RETRY") and r["took_ms"] < 10000 and not r["abandoned"]
    r = d.call("launch", type="t4", count=1, request="davit-00000000000000000009", zone=A, cancel_ms=100)
    assert r["status"] == "CANCELLED" and r["took_ms"] < 10000
    cloud.heal()


@pytest.mark.parametrize("text,say", [
    ("project: P!, location: l, cluster: c", 'project must be 1 to 63 of a-z, 0-9, -, ., :, got "P!"'),
    ("location: l, cluster: c", "project is needed"), ("project: p, cluster: c", "location is needed"),
    ("project: p, location: l", "cluster is needed"),
    ("project: p, location: l, cluster: c, endpoint: ftp://x", "endpoint must be a URL"),
    ("project: p, location: l, cluster: c, take_over: maybe", 'take_over must be true or false, got "maybe"'),
    ("project: p, location: l, cluster: c, projct: x", 'has no option "projct"; did you mean "project"?')])
def test_options(driver, server, tmp_path, text, say):
    import subprocess
    from gke_rig import config
    good = config(server).split("gke: {")[0]
    path = tmp_path / "davit.yaml"
    path.write_text(good.replace("{dir}", str(tmp_path)).replace("{port}", "0") + "gke: {" + text +
                    "}\nnode_types:\n  t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, max: 1}\n")
    p = subprocess.run([driver, path, "gke"], capture_output=True, text=True, input="")
    assert p.returncode == 3 and say in p.stderr and "davit.yaml:8:" in p.stderr, p.stderr


@pytest.mark.parametrize("types,say", [
    ("t4: {provider: gke, machine: n1-standard-8+t4, max: 1}", "node type t4: it needs pool"),
    ("t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, max: 1}\n  x: {provider: gke, pool: gpu, machine: n1-standard-8+t4, max: 1}",
     "node type x: node type t4 has node pool gpu too"),
    ("t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, max: 1, market: [on-demand, spot], options: {spot_pool: gpu}}",
     "must be two pools")])
def test_types(driver, server, tmp_path, types, say):
    import subprocess
    from gke_rig import config
    path = tmp_path / "davit.yaml"
    path.write_text(config(server).replace("{dir}", str(tmp_path)).replace("{port}", "0").split("node_types:")[0] + "node_types:\n  " +
                    types + "\n")
    p = subprocess.run([driver, path, "gke"], capture_output=True, text=True, input="")
    assert p.returncode == 3 and say in p.stderr, p.stderr
