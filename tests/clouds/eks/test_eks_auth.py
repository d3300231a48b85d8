"""Credentials as users have them; every request is checked by the gate with
the secret that belongs to the key it was signed with."""
import hashlib
import json
import os
import subprocess
import sys
import time

import pytest

from eks_rig import AK, SK, Drive, environment
from lib import is_alive, until

GPU = "  gpu: {provider: eks, pool: %s, resources: {CPU: 4, GPU: 1}, max: 9}"


@pytest.fixture
def drive(cloud, tmp_path):
    cloud.fresh(gpu={})
    made = []

    def make(options="", keys=False, **env):
        env.setdefault("AWS_EC2_METADATA_DISABLED", "true")
        d = Drive(tmp_path, cloud, GPU % cloud.names["gpu"], options, environment(tmp_path, keys, **env))
        made.append(d)
        return d
    yield make
    for d in made:
        text = d.close()
        assert SK not in text and "agentsecret" not in text and "agent/token" not in text


def works(d):
    r = d.launch("r1", 1)
    assert r["status"] == "OK" and len(d.list()) == 1, r
    return r


def test_environment(drive):
    works(drive(keys=True))


def test_a_wrong_secret(cloud, drive):
    cloud.expect_rejected = True
    r = drive(keys=True, AWS_SECRET_ACCESS_KEY="not/the+secret").call("list")
    assert (r["status"], r["code"]) == ("AUTH", "SignatureDoesNotMatch"), r
    assert "not/the+secret" not in str(r)


def test_nothing_anywhere(drive):
    r = drive().call("list")
    assert (r["status"], r["code"]) == ("AUTH", "NoCredentials"), r


def test_credentials_file_and_profile(drive, tmp_path):
    (tmp_path / "credentials").write_text(f"[default]\naws_access_key_id = no\naws_secret_access_key = no\n\n"
                                          f"# x\n[gpu]\naws_access_key_id={AK}\naws_secret_access_key = {SK}\n")
    works(drive(", profile: gpu"))
    works(drive(AWS_PROFILE="gpu"))


def test_config_file_with_region(drive, tmp_path):
    (tmp_path / "config").write_text(f"[default]\nregion = us-east-1\naws_access_key_id = {AK}\naws_secret_access_key = {SK}\n"
                                     "s3 =\n    max_concurrent_requests = 20\n")
    works(drive(", region: none"))


def test_a_profile_that_is_not_there(drive, tmp_path):
    r = drive(", profile: nope", keys=True).call("list")
    assert r["status"] == "AUTH" and "nope" in r["text"], r


def test_a_role_by_another_profile(cloud, drive, tmp_path):
    (tmp_path / "credentials").write_text(f"[base]\naws_access_key_id = {AK}\naws_secret_access_key = {SK}\n")
    (tmp_path / "config").write_text("[profile gpu]\nrole_arn = arn:aws:iam::123456789012:role/scaler\nsource_profile = base\n"
                                     "external_id = x1\n")
    works(drive(", profile: gpu"))
    roles = [x for x in cloud.log() if x["action"] == "AssumeRole"]
    assert len(roles) == 1 and ["ExternalId", "x1"] in [list(p) for p in roles[0]["form"]]  # cached


def test_profiles_in_a_circle(drive, tmp_path):
    (tmp_path / "config").write_text("[profile a]\nrole_arn = r\nsource_profile = b\n[profile b]\nrole_arn = r\nsource_profile = a\n")
    r = drive(", profile: a").call("list")
    assert r["status"] == "AUTH" and "without end" in r["text"]


HELPER = """#!/bin/sh
# what a credential_process does; $1 is one word with a space in it
[ "$1" = "two words" ] && [ -n "$AWS_PROFILE" ] && [ -z "$RAY_AUTH_TOKEN" ] || exit 3
echo a-secret-on-stderr >&2
echo '{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "%s"}'
"""


def helper(tmp_path, text):
    path = tmp_path / "a helper"
    path.write_text(text)
    path.chmod(0o755)
    (tmp_path / "config").write_text(f"[profile gpu]\ncredential_process = '{path}' \"two words\"\n")


def test_credential_process(drive, tmp_path):
    helper(tmp_path, HELPER % (AK, SK))
    d = drive(AWS_PROFILE="gpu", RAY_AUTH_TOKEN="not-for-it")
    works(d)
    assert "a-secret" not in d.text()
    import botocore.session
    s = botocore.session.Session(profile="gpu")
    s.set_config_variable("config_file", str(tmp_path / "config"))
    with pytest.MonkeyPatch.context() as m:
        m.setenv("AWS_PROFILE", "gpu")
        c = s.get_credentials()
    assert (c.method, c.access_key, c.secret_key) == ("custom-process", AK, SK), "botocore takes the same file alike"


@pytest.mark.parametrize("text, says", [
    ("#!/bin/sh\nexit 7\n", "exit code 7"), ("#!/bin/sh\nkill -9 $$\n", "signal 9"), ("#!/nonexistent\n", "cannot be run"),
    ("#!/bin/sh\necho '{\"Version\": 2}'\n", "not JSON with Version 1"), ("#!/bin/sh\nwhile :; do echo 0123456789012345678901234567890123456789; done\n", "too much")])
def test_credential_process_that_fails(drive, tmp_path, text, says):
    helper(tmp_path, text)
    r = drive(", profile: gpu").call("list")
    assert r["status"] in ("AUTH", "RETRY") and says in r["text"], r


def test_credential_process_that_hangs(drive, tmp_path):
    helper(tmp_path, f"#!/bin/sh\nsleep 1000 & echo $! > '{tmp_path}/pid'\nwait\n")
    r = drive(", profile: gpu").call("list", ms=1500)
    assert r["status"] == "RETRY" and "in time" in r["text"] and r["took_ms"] < 15000, r
    pid = int((tmp_path / "pid").read_text())
    until(lambda: not is_alive(pid))


SSO = {"session": ("[profile gpu]\nsso_session = my-sso\nsso_account_id = 123456789012\nsso_role_name = Scaler+1\nregion = us-east-1\n"
                   "[sso-session my-sso]\nsso_region = us-east-1\nsso_start_url = https://x.awsapps.com/start\n", "my-sso"),
       "legacy": ("[profile gpu]\nsso_start_url = https://x.awsapps.com/start\nsso_region = us-east-1\nsso_account_id = 123456789012\n"
                  "sso_role_name = Scaler+1\nregion = us-east-1\n", "https://x.awsapps.com/start")}


def sso(tmp_path, kind, minutes=60, **more):
    text, key = SSO[kind]
    (tmp_path / "config").write_text(text)
    path = tmp_path / ".aws/sso/cache" / (hashlib.sha1(key.encode()).hexdigest() + ".json")
    path.parent.mkdir(parents=True, exist_ok=True)
    stamp = "%Y-%m-%dT%H:%M:%SZ"
    path.write_text(json.dumps({"startUrl": "https://x.awsapps.com/start", "region": "us-east-1", "accessToken": "sso-token-1",
                                "expiresAt": time.strftime(stamp, time.gmtime(time.time() + 60 * minutes)),
                                "registrationExpiresAt": time.strftime(stamp, time.gmtime(time.time() + 9e5)), **more}))
    return path


RENEWABLE = {"clientId": "cid", "clientSecret": "csecret", "refreshToken": "rtoken"}


@pytest.mark.parametrize("kind, minutes", [("session", 60), ("legacy", 60), ("session", 5)])
def test_sso_as_botocore_does_it(cloud, drive, tmp_path, kind, minutes):
    where = dict(HOME=str(tmp_path), AWS_ENDPOINT_URL_SSO=cloud.url, AWS_ENDPOINT_URL_SSO_OIDC=cloud.url)

    def asked(of):
        return [(m, p, h.get("x-amz-sso_bearer_token"), h["body"], (h.get("content-type") or "").split(";")[0] if m == "POST" else "")
                for m, p, h in cloud.agents()[of:]]
    path = sso(tmp_path, kind, minutes, **RENEWABLE)
    works(drive(", profile: gpu", **where))
    ours, n = asked(0), len(cloud.agents())
    kept = json.loads(path.read_text())
    sso(tmp_path, kind, minutes, **RENEWABLE)
    code = "import botocore.session as b; print(b.Session(profile='gpu').get_credentials().get_frozen_credentials().access_key)"
    p = subprocess.run([sys.executable, "-c", code], env=environment(tmp_path, False, **where), capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    assert ours == asked(n) and len(ours) == (2 if minutes < 15 else 1)
    theirs = json.loads(path.read_text())
    assert (kept["accessToken"], kept.get("refreshToken")) == (theirs["accessToken"], theirs.get("refreshToken")), "renewed for others too"
    assert path.stat().st_mode & 0o777 in (0o600, 0o644)


def test_sso_that_needs_a_login(drive, tmp_path, cloud):
    where = dict(HOME=str(tmp_path), AWS_ENDPOINT_URL_SSO=cloud.url)
    path = sso(tmp_path, "legacy", minutes=-5)
    assert "the login has ended: run aws sso login --profile gpu" in drive(", profile: gpu", **where).call("list")["text"]
    sso(tmp_path, "legacy", accessToken="revoked")
    r = drive(", profile: gpu", **where).call("list")
    assert r["status"] == "AUTH" and "aws sso login" in r["text"], r
    path.unlink()
    assert "nobody has logged in" in drive(", profile: gpu", **where).call("list")["text"]
    (tmp_path / "config").write_text("[profile gpu]\nsso_session = none\nsso_account_id = 1\nsso_role_name = r\n")
    assert "sso_start_url" in drive(", profile: gpu", **where).call("list")["text"]


def test_web_identity_by_environment_and_profile(cloud, drive, tmp_path):
    (tmp_path / "token").write_text("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzIn0.c2ln\n")
    works(drive(AWS_ROLE_ARN="arn:aws:iam::123456789012:role/irsa", AWS_WEB_IDENTITY_TOKEN_FILE=str(tmp_path / "token")))
    (tmp_path / "config").write_text(f"[default]\nrole_arn = arn:aws:iam::123456789012:role/irsa\nweb_identity_token_file = {tmp_path}/token\n")
    works(drive())
    assert cloud.actions().count("AssumeRoleWithWebIdentity") == 2
    r = drive(AWS_ROLE_ARN="arn:aws:iam::123456789012:role/irsa", AWS_WEB_IDENTITY_TOKEN_FILE="/nonexistent").call("list")
    assert (r["status"], r["code"]) == ("AUTH", "File")


def test_the_metadata_service_and_its_region(cloud, drive):
    works(drive(", region: none", AWS_EC2_METADATA_DISABLED="false", AWS_EC2_METADATA_SERVICE_ENDPOINT=cloud.url))
    paths = [(m, p) for m, p, _ in cloud.agents()]
    assert paths.count(("PUT", "/latest/api/token")) == 2  # region, keys
    assert ("GET", "/latest/meta-data/iam/security-credentials/node-role") in paths


def test_pod_identity(cloud, drive, tmp_path):
    cloud.agent(token="pod-token")
    (tmp_path / "pod").write_text("pod-token")
    works(drive(AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + "/v1/credentials",
                AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(tmp_path / "pod")))
    (tmp_path / "pod").write_text("another")
    r = drive(AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + "/v1/credentials",
              AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(tmp_path / "pod")).call("list")
    assert r["status"] == "AUTH", r
    r = drive(AWS_CONTAINER_CREDENTIALS_FULL_URI="http://10.1.2.3/v1/credentials").call("list")
    assert (r["status"], r["code"]) == ("AUTH", "BadAgentAddress"), r


def test_keys_are_renewed_before_they_end(cloud, drive):
    cloud.agent(expires=2)
    d = drive(AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + "/v1/credentials")

    def renewed():
        n = len(cloud.agents())
        assert d.call("list")["status"] == "OK"
        return len(cloud.agents()) > n
    until(renewed)
    cloud.agent(expires=3600)
    until(renewed)
    n = len(cloud.agents())
    for _ in range(5):
        d.list()
    assert len(cloud.agents()) == n  # cached


def test_keys_that_cannot_be_renewed_are_used_to_their_end(cloud, drive):
    cloud.agent(expires=120)
    d = drive(AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + "/v1/credentials", AWS_CONTAINER_AUTHORIZATION_TOKEN="t")
    assert d.call("list")["status"] == "OK"
    cloud.agent(expires=120, token="other")  # the agent says no from now on
    assert d.call("list")["status"] == "OK"


def test_expired_in_the_middle(cloud, drive):
    d = drive(AWS_CONTAINER_CREDENTIALS_FULL_URI=cloud.url + "/v1/credentials")
    d.list()
    n = len(cloud.agents())
    cloud.fault(action="DescribeAutoScalingGroups", kind="error", code="ExpiredToken", status=403)
    assert d.call("list")["status"] == "OK" and len(cloud.agents()) == n + 1
    cloud.fault(action="DescribeAutoScalingGroups", kind="error", code="ExpiredToken", status=403, times=-1)
    assert d.call("list")["status"] == "AUTH"


@pytest.mark.parametrize("ahead", [3600, -3600])
def test_a_clock_that_is_wrong(cloud, drive, ahead):
    """The request is signed again by AWS's time, and those after it at once."""
    d = drive(keys=True)
    cloud.expect_rejected = True
    cloud.clock(ahead=ahead)
    try:
        assert d.call("list")["status"] == "OK"
        assert d.call("list")["status"] == "OK"
    finally:
        cloud.clock(ahead=0)
    assert d.call("list")["status"] == "OK"
