"""Tokens: where they come from, how long they hold, and that nobody sees them."""
import re
import subprocess

import pytest

from aks_server import ASSERTION, SECRET
from aks_rig import QUICK, config, environment
from lib import until

WAYS = {
    "managed": (", auth: managed_identity", {}),
    "secret": (", tenant_id: tenant-1, client_secret: secret-1", {}),
    "secret file": (", tenant_id: tenant-1, client_secret_file: {dir}/secret", {}),
    "secret from the environment": ("", {"AZURE_TENANT_ID": "tenant-1", "AZURE_CLIENT_SECRET": SECRET}),
    "workload": ("", {"AZURE_TENANT_ID": "tenant-1", "AZURE_FEDERATED_TOKEN_FILE": "{dir}/token"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_way_in(drive, cloud, tmp_path, way):
    (tmp_path / "secret").write_text(SECRET + "\n")
    (tmp_path / "token").write_text(ASSERTION + "\n")
    options, env = WAYS[way]
    d = drive(QUICK + options.replace("{dir}", str(tmp_path)),
              env={k: v.replace("{dir}", str(tmp_path)) for k, v in env.items()})
    d.list()
    d.list()
    assert cloud.granted == 1  # one for all


def test_one_token_for_all_at_once_and_a_new_one_in_time(drive, cloud):
    cloud.token_s = 6  # renewed in the last quarter of its life
    d = drive()
    assert all(a["status"] == "OK" for a in d.call("list", n=6))
    assert cloud.granted == 1
    until(lambda: d.list() is not None and cloud.granted > 1, every=0.1)
    assert cloud.granted == 2
    refused = [e for e in cloud.log if e.get("status") == 401]
    assert refused == []


def test_other_clouds_have_an_audience_of_their_own(drive, cloud):
    d = drive(QUICK + ", audience: 'https://management.chinacloudapi.cn'")
    assert d.call("list")["status"] == "AUTH"  # ours is public Azure
    assert ("resource", "https://management.chinacloudapi.cn") in cloud.log[0]["query"]


def test_a_token_that_was_revoked_is_replaced_at_once(drive, cloud):
    d = drive()
    d.list()
    with cloud.lock:
        cloud.tokens.clear()
    d.list()
    assert cloud.granted == 2


def test_the_token_file_is_read_anew(drive, cloud, tmp_path):
    path = tmp_path / "token"
    path.write_text("old")
    d = drive(env={"AZURE_TENANT_ID": "tenant-1", "AZURE_FEDERATED_TOKEN_FILE": str(path)})
    r = d.call("list")
    assert (r["status"], r["code"]) == ("AUTH", "invalid_client") and "AADSTS7000215" in r["text"], r
    path.write_text(ASSERTION)
    d.list()
    path.unlink()
    with cloud.lock:
        cloud.tokens.clear()
    r = d.call("list")
    assert (r["status"], r["code"]) == ("AUTH", "File") and str(path) in r["text"]


@pytest.mark.parametrize("status,want", [(500, "RETRY"), (404, "RETRY"), (429, "THROTTLED"), (400, "AUTH")])
def test_the_metadata_service_may_be_unwell(drive, cloud, status, want):
    d = drive()
    cloud.rules.append({"match": "GET /metadata", "do": "status", "status": status,
                        "headers": {"Retry-After": "7"} if status == 429 else {},
                        "body": {"error": "invalid_request", "error_description": "Identity not found"}})
    r = d.call("list")
    assert r["status"] == want and (status != 429 or r["retry_after_ms"] == 7000), r
    if status != 400:
        d.list()


@pytest.mark.parametrize("options,where", [
    ("auth: client_secret, tenant_id: t", "client_secret_file"), ("auth: password", "auth"),
    ("endpoint: 'http://azure.example.com'", "endpoint"), ("subscription: 'a/b'", "subscription"),
    ("federated_token_file: /x", "tenant_id"), ("poll: soon", "poll")])
def test_options_that_cannot_work_are_told_with_their_place(driver, server, tmp_path, options, where):
    key = options.split(":")[0]
    text = config(server, options=options).replace("{dir}", str(tmp_path)).replace("{port}", "0")
    if text.count(key + ":") > 1:  # given twice: ours stays
        text = re.sub(key + r": [^,}]*, ", "", text, count=1)
    (tmp_path / "davit.yaml").write_text(text)
    p = subprocess.run([driver, tmp_path / "davit.yaml", "aks"], input="", text=True, capture_output=True,
                       env=environment(), timeout=90)
    assert p.returncode != 0 and where in p.stderr and "davit.yaml:" in p.stderr, p.stderr
    print(p.stderr)


@pytest.mark.parametrize("t4,words", [
    ("zones: [a-1, a-2], pool: gpu", "a pool for each"), ("pool: cpu", "used twice"), ("pool: Not-Good", "lower-case")])
def test_pools_that_cannot_work_are_told(driver, server, tmp_path, t4, words):
    (tmp_path / "davit.yaml").write_text(config(server, t4=t4).replace("{dir}", str(tmp_path)).replace("{port}", "0"))
    p = subprocess.run([driver, tmp_path / "davit.yaml", "aks"], input="", text=True, capture_output=True,
                       env=environment(), timeout=90)
    assert p.returncode != 0 and words in p.stderr, p.stderr
