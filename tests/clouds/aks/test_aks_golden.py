"""Our requests are those of Microsoft's own SDKs, as recorded in golden/.

A server replays the recorded replies; whatever we send must be one of the
recorded requests: same method, path, query and content type, same body.
"""
import http.server
import json
import pathlib
import threading
from urllib.parse import parse_qsl, urlparse

import pytest

import aks_operations
from aks_rig import Drive, environment

GOLDEN = {p.stem: json.loads(p.read_text()) for p in sorted((pathlib.Path(__file__).parent / "golden").glob("*.json"))}
POOL = "/agentPools/gpu"


def shape(method, path, query, body, kind):
    return (method, path, tuple(sorted(map(tuple, query))), json.dumps(body, sort_keys=True), kind)


def recorded(request):
    body = request["body"] or {}
    if "form" in body:  # client_info is telemetry of the SDK
        return shape(request["method"], request["path"], request["query"],
                     sorted(p for p in body["form"] if p[0] != "client_info"), "application/x-www-form-urlencoded")
    return shape(request["method"], request["path"], request["query"], body.get("json"),
                 "application/json" if body else "")


class Replay(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def any(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlparse(self.path)
        kind = self.headers.get("Content-Type", "")
        body = None
        if "form" in kind:
            body = sorted(map(list, parse_qsl(raw.decode())))
        elif raw:
            body = json.loads(raw)
        self.server.seen.append({"shape": shape(self.command, url.path, parse_qsl(url.query), body, kind), "body": body,
                                 "headers": {k.lower(): v for k, v in self.headers.items()}})
        reply = self.server.replies.get((self.command, url.path), {"status": 404, "headers": {}, "body": {"json": {
            "error": {"code": "NotRecorded", "message": self.path}}}})
        text = json.dumps((reply["body"] or {}).get("json")) if reply["body"] else ""
        data = text.replace("https://{ENDPOINT}", self.server.url).encode()
        self.send_response(reply["status"])
        for k, v in reply["headers"].items():
            self.send_header(k, v.replace("https://{ENDPOINT}", self.server.url))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = any


@pytest.fixture
def replay():
    s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replay)
    s.daemon_threads = True
    s.url, s.seen, s.replies = f"http://127.0.0.1:{s.server_address[1]}", [], {}
    for g in GOLDEN.values():
        for x in g["exchanges"]:
            if x["response"]["status"] < 400:
                s.replies.setdefault((x["request"]["method"], x["request"]["path"]), x["response"])
    t = threading.Thread(target=s.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    t.start()
    yield s
    s.shutdown()
    s.server_close()


@pytest.fixture
def drive(driver, replay, tmp_path):
    made = []

    def make(auth):
        text = f"""
cluster: golden
api: {{listen: "127.0.0.1:0"}}
state: "{tmp_path}/davit.db"
plugin_dir: {driver.parents[1] / "plugins"}
providers:
  aks: {{subscription: 00000000-0000-0000-0000-000000000001, resource_group: rg1, cluster: aks1, endpoint: "{replay.url}",
        authority: "{replay.url}", imds: "{replay.url}", poll: 10ms, wait: 0s, {auth}}}
node_types:
  t4: {{provider: aks, pool: gpu, resources: {{GPU: 1}}, max: 9}}
"""
        made.append(Drive(tmp_path, text, "aks", environment()))
        return made[-1]
    yield make
    for d in made:
        d.close()


def known():
    return {recorded(x["request"]): name for name, g in GOLDEN.items() for x in g["exchanges"]}


def test_every_request_is_one_the_sdk_sends(drive, replay):
    d = drive("tenant_id: tenant-1, client_secret: secret-1")
    assert [m["id"] for m in d.list()] == ["aks-gpu-12345678-vmss000000"]
    assert d.call("offers")["offers"] == [{"type": "t4", "zone": "", "spot": False, "available": True, "price": -1, "note": "", "most": 1,
                                           "quotas": {"westeurope StandardNCADSA100v4Family": [24, 24]},
                                           "taints": {"nvidia.com/gpu": "present:NoSchedule"},
                                           "labels": {"node.kubernetes.io/instance-type": "Standard_NC24ads_A100_v4",
                                                      "topology.kubernetes.io/region": "westeurope", "kubernetes.io/os": "linux",
                                                      "accelerator": "nvidia", "kubernetes.azure.com/accelerator": "nvidia",
                                                      "kubernetes.azure.com/cluster": "MC_rg1_aks1_westeurope",
                                                      "kubernetes.azure.com/mode": "user", "kubernetes.azure.com/role": "agent",
                                                      "kubernetes.azure.com/agentpool": "gpu", "agentpool": "gpu", "pool": "gpu"},
                                           "resources": {"CPU": 24, "GPU": 1, "memory": 220 << 30}}]
    assert d.end("aks-gpu-12345678-vmss000000")["status"] == "OK"
    # As after a failed raise, to see the scale set read too.
    pool = replay.replies["GET", next(p for m, p in replay.replies if m == "GET" and p.endswith("/agentPools"))]
    props = pool["body"]["json"]["value"][0]["properties"]
    props.update({"provisioningState": "Failed", "tags": {"davit-requests-0": "r 2 0 -1 9999999999"}})
    d.call("list")
    wanted = known()
    used = set()
    for x in replay.seen:
        assert x["shape"] in wanted, x["shape"]
        used.add(wanted[x["shape"]])
        if "Microsoft." in x["shape"][1]:
            assert x["headers"]["authorization"] == "Bearer eyAAD" and x["headers"]["accept"] == "application/json"
    assert used >= {"aks_agent_pools_list", "aks_machines_list", "aks_managed_cluster_get", "compute_resource_skus_list",
                    "compute_usage_list", "aks_agent_pool_delete_machines", "auth_client_credentials",
                    "compute_vmss_vms_list"}, used


def test_the_scale_request_is_the_recorded_one_with_our_tags(drive, replay):
    d = drive("auth: managed_identity")
    d.launch(1)
    (put,) = [x for x in replay.seen if x["shape"][0] == "PUT"]
    tags = put["body"]["properties"].pop("tags")
    assert set(tags) == {"davit-cluster", "davit-requests-0"}
    golden = GOLDEN["aks_agent_pool_scale_failed_lro"]["exchanges"][1]["request"]
    assert put["body"] == golden["body"]["json"]
    assert put["shape"][:3] == recorded(golden)[:3] and put["shape"][4] == "application/json"
    match = GOLDEN["aks_agent_pool_scale_if_match"]["exchanges"][0]["request"]["headers"]["if-match"]
    assert put["headers"]["if-match"] == match


def test_a_failed_operation_is_read_as_the_sdk_reads_it(drive, replay):
    d = drive("auth: managed_identity")
    base = next(p for m, p in replay.replies if m == "GET" and p.endswith("/agentPools"))
    d.launch(1)
    (put,) = [x for x in replay.seen if x["shape"][0] == "PUT"]
    pool = replay.replies["GET", base]["body"]["json"]["value"][0]["properties"]
    pool.update({"provisioningState": "Failed", "count": 4, "tags": put["body"]["properties"]["tags"]})
    lro = GOLDEN["aks_agent_pool_scale_failed_lro"]["exchanges"][2]
    replay.replies["GET", lro["request"]["path"]] = lro["response"]
    (failed,) = d.list("FAILED")
    assert failed["failure"] == "STOCKOUT" and "AllocationFailed" in failed["detail"]
    assert recorded(lro["request"]) in [x["shape"] for x in replay.seen]


def loose(s):
    """Of a PUT: how many is the caller's, and our tags come on top."""
    method, path, query, body, kind = s
    if method == "PUT":
        body = json.loads(body)
        body["properties"]["count"] = "*"
        body["properties"].pop("tags", None)
        body = json.dumps(body, sort_keys=True)
    return method, path, query, body, kind


def test_every_recording_of_an_operation_in_use_is_reproduced(drive, replay):
    """Two bad days, so that each operation is needed once."""
    d = drive("auth: managed_identity, abort_after: 1ms")
    base = next(p for m, p in replay.replies if m == "GET" and p.endswith("/agentPools"))
    pool = replay.replies["GET", base]["body"]["json"]["value"][0]["properties"]
    one = replay.replies["GET", base + "/gpu"]["body"]["json"]["properties"]
    d.call("offers")
    for header in ("azure-asyncoperation", "location"):  # by either of them
        d.launch(1, f"davit-{header[:8]}")
        tags = [x for x in replay.seen if x["shape"][0] == "PUT"][-1]["body"]["properties"]["tags"]
        pool.update(tags=tags, count=4, provisioningState="Failed")
        one.update(tags=tags, count=4, provisioningState="Failed")
        d.list()
        pool.update(provisioningState="Succeeded", count=3)
        one.update(provisioningState="Succeeded", count=3)
        headers = replay.replies["PUT", base + "/gpu"]["headers"]
        headers.pop("azure-asyncoperation", None)
    pool.update(tags={"davit-requests-0": "r 2 0 -1 9999999999"}, provisioningState="Failed")
    d.list()  # a machine of a raise that failed: did it come up?
    d.end("aks-gpu-12345678-vmss000000")
    pool.update(tags=tags, count=4, provisioningState="Scaling")
    one.update(tags=tags, count=4, provisioningState="Scaling")
    d.launch(1, "davit-another")
    sent = {loose(x["shape"]) for x in replay.seen}
    tried = set()
    for op, names in aks_operations.OPERATIONS.items():
        for name in names:
            requests = [x["request"] for x in GOLDEN[name]["exchanges"]]
            mine = [r for r in requests if aks_operations.of(r["method"], r["path"]) == op]
            assert mine, (name, op)
            for r in mine:
                if name == "aks_agent_pool_scale_if_match" and r["method"] == "PUT":
                    continue  # recorded for its header, with a part of a body; see the test above
                assert loose(recorded(r)) in sent, (op, name, r["body"], sorted(s for s in sent if s[0] == r["method"]))
            tried.add(name)
    assert tried | set(aks_operations.TOKENS) == set(GOLDEN)


@pytest.mark.parametrize("name,auth", [
    ("auth_client_credentials", "tenant_id: tenant-1, client_secret: secret-1"),
    ("auth_workload_identity", "tenant_id: tenant-1, federated_token_file: {dir}/token"),
    ("auth_managed_identity_imds", "auth: managed_identity")])
def test_tokens_are_asked_for_as_the_sdk_does(drive, replay, tmp_path, name, auth):
    (tmp_path / "token").write_text("eyJ.fed.tok\n")
    d = drive(auth.replace("{dir}", str(tmp_path)))
    d.list()
    golden = GOLDEN[name]["exchanges"][-1]
    assert replay.seen[0]["shape"] == recorded(golden["request"])
    if name.endswith("imds"):
        assert replay.seen[0]["headers"]["metadata"] == "true"
    assert replay.seen[1]["headers"]["authorization"] == "Bearer " + golden["response"]["body"]["json"]["access_token"]
