"""Credentials as users have them; every request is checked by the gate with
the secret that belongs to the key it was signed with."""
import time

import pytest

from eks_rig import AK, SK, Drive, environment

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
    end = time.monotonic() + 3
    while time.monotonic() < end:
        assert d.call("list")["status"] == "OK"
    assert len(cloud.agents()) > 1
    cloud.agent(expires=3600)
    time.sleep(2)
    d.list()
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
