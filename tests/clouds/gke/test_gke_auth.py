"""Tokens from each place that users have them, and their life."""
import base64
import json
import pathlib
import time

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
SECRETS = []


def key_file(path, server, key=None, **kw):
    key = key or rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                            serialization.NoEncryption()).decode()
    server.cloud.public_key = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    path.write_text(json.dumps({"type": "service_account", "project_id": "my-proj", "private_key_id": "kid1",
                                "private_key": pem, "client_email": "sa@my-proj.iam.gserviceaccount.com",
                                "token_uri": server.url + "/token", **kw}))
    return path


def silent(d, server):
    """No token and no key in what we printed."""
    text = d.text()
    for t in server.cloud.tokens:
        assert t not in text
    assert "PRIVATE" not in text


def test_metadata_server(drive, server):
    d = drive()
    assert d.list() == [] and d.list() == []
    asked = [r for r in server.cloud.log if r["target"].startswith("/computeMetadata/")]
    assert len(asked) == 1, "one token for all"
    silent(d, server)


@pytest.mark.parametrize("how", ["option", "environment", "gcloud"])
def test_service_account_key(drive, server, tmp_path, how):
    path = key_file(tmp_path / "application_default_credentials.json", server)
    if how == "option":
        d = drive(options=f'credentials: "{path}"')
    else:
        d = drive(env={"GOOGLE_APPLICATION_CREDENTIALS" if how == "environment" else "CLOUDSDK_CONFIG":
                       str(path if how == "environment" else tmp_path)})
    assert d.list() == []
    grant = server.cloud.grants[0]
    want = json.loads((GOLDEN / "auth_service_account_jwt_grant.json").read_text())["exchanges"][0]["request"]
    assert set(grant) == {k for k, _ in want["body"]["form"]} and grant["grant_type"] == dict(want["body"]["form"])["grant_type"]
    golden = json.loads((GOLDEN / "auth_service_account_jwt_decoded.json").read_text())

    def part(i):
        p = grant["assertion"].split(".")[i]
        return json.loads(base64.urlsafe_b64decode(p + "=" * (-len(p) % 4)))
    assert part(0) == golden["header"]
    claims, wanted = part(1), golden["claims"]
    assert claims["exp"] - claims["iat"] == wanted["exp"] - wanted["iat"] and abs(claims["iat"] - time.time()) < 60
    assert {k: v for k, v in claims.items() if k not in ("iat", "exp")} == \
        {k: v for k, v in wanted.items() if k not in ("iat", "exp")}
    silent(d, server)


@pytest.mark.parametrize("source", ["file", "json", "url"])
def test_workload_identity_federation(drive, server, tmp_path, source):
    recorded = json.loads((GOLDEN / "auth_workload_identity_federation.json").read_text())["exchanges"]
    form = dict(recorded[0]["request"]["body"]["form"])
    server.cloud.subject = form["subject_token"]
    token = tmp_path / "token"
    token.write_text(form["subject_token"] + "\n" if source == "file" else json.dumps({"id": form["subject_token"]}))
    where = {"file": str(token)} if source != "url" else {"url": server.url + "/computeMetadata/v1/x/token",
                                                          "headers": {"Metadata-Flavor": "Google"}}
    if source == "json":
        where["format"] = {"type": "json", "subject_token_field_name": "id"}
    if source == "url":
        where["format"] = {"type": "json", "subject_token_field_name": "access_token"}
        server.cloud.subject = server.cloud.token()
        server.cloud.token = lambda keep=server.cloud.token: server.cloud.subject if not hasattr(server.cloud, "sts") else keep()
    path = tmp_path / "wif.json"
    path.write_text(json.dumps({
        "type": "external_account", "audience": form["audience"], "subject_token_type": form["subject_token_type"],
        "token_url": server.url + "/v1/token", "credential_source": where,
        "service_account_impersonation_url": server.url + "/v1/projects/-/serviceAccounts/"
                                             "sa@my-proj.iam.gserviceaccount.com:generateAccessToken"}))
    d = drive(options=f'credentials: "{path}"')
    assert d.list() == []
    if source != "url":
        assert server.cloud.sts == form
    want = recorded[1]["request"]["body"]["json"]
    assert server.cloud.impersonated == {k: v for k, v in want.items() if v is not None}
    silent(d, server)


def test_a_users_own_login(drive, server, tmp_path):
    path = tmp_path / "adc.json"
    path.write_text(json.dumps({"type": "authorized_user", "client_id": "c", "client_secret": "s",
                                "refresh_token": "1//good", "token_uri": server.url + "/token"}))
    assert drive(options=f'credentials: "{path}"').list() == []


def test_renewed_before_it_ends_and_by_one_only(drive, server):
    server.cloud.token_life = 12
    d = drive()
    got = d.call("list", n=4)
    assert [r["status"] for r in got] == ["OK"] * 4 and len(server.cloud.tokens) == 1
    time.sleep(3)
    server.cloud.auth_down = 503    # a renewal that fails is nobody's trouble while the old one holds
    assert d.call("list")["status"] in ("OK", "RETRY")
    server.cloud.auth_down = None


def test_a_token_that_is_refused_is_fetched_anew(drive, server):
    d = drive()
    d.list()
    server.cloud.tokens.clear()     # revoked
    assert d.list() == []
    assert len(server.cloud.tokens) == 1


@pytest.mark.parametrize("http,status", [(400, "AUTH"), (403, "AUTH"), (429, "THROTTLED"), (503, "RETRY")])
def test_no_token(drive, server, http, status):
    server.cloud.auth_down = http
    r = drive().call("list")
    assert r["status"] == status and "gives no token" in r["text"]


def test_bad_files(drive, server, tmp_path):
    path = tmp_path / "key.json"
    ec_key = ec.generate_private_key(ec.SECP256R1())
    for text, say in ((None, "key.json: No such file"), ("", "is empty"), ("{}", 'is of type ""'),
                      ('{"type": "impersonated_service_account"}', "external_account or authorized_user is wanted"),
                      ('{"type": "service_account", "private_key": "nonsense"}', "not an RSA key"),
                      ('{"type": "external_account", "credential_source": {"environment_id": "aws1"}}', "must have file or url")):
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        r = drive(options=f'credentials: "{path}"').call("list")
        assert r["status"] == "AUTH" and say in r["text"], r
    key_file(path, server, ec_key)
    assert "not an RSA key" in drive(options=f'credentials: "{path}"').call("list")["text"]


def test_a_rotated_key_needs_no_restart(drive, server, tmp_path):
    path = key_file(tmp_path / "key.json", server)
    d = drive(options=f'credentials: "{path}"')
    d.list()
    key_file(path, server)
    server.cloud.tokens.clear()
    assert d.list() == []


def test_a_key_that_is_not_known(drive, server, tmp_path):
    path = key_file(tmp_path / "key.json", server)
    key_file(tmp_path / "other.json", server)
    r = drive(options=f'credentials: "{path}"').call("list")
    assert (r["status"], r["code"]) == ("AUTH", "HTTP 400 invalid_grant") and "Invalid JWT" in r["text"]
