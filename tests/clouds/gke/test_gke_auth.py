"""Tokens from each place that users have them, and their life."""
import base64
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from google.auth import crypt, jwt
from google.oauth2 import service_account

from gke_rig import config, environment
from lib.drive import Drive as drive_of

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


def test_a_key_of_another_universe(drive, server, tmp_path):
    """What the key has signed is the token itself, as by Google's own library: no token endpoint is asked."""
    path = key_file(tmp_path / "key.json", server, universe_domain="s3nsapis.fr")
    heard = []
    server.cloud.check_token = lambda header: heard.append(header.removeprefix("Bearer "))
    d = drive(options=f'credentials: "{path}", universe_domain: s3nsapis.fr')
    assert d.list() == [] and d.list() == []
    assert len(set(heard)) == 1 and not getattr(server.cloud, "grants", []), "one token for both lists"
    theirs = service_account.Credentials.from_service_account_file(
        path, scopes=["https://www.googleapis.com/auth/cloud-platform"]).with_always_use_jwt_access(True)
    assert theirs.universe_domain == "s3nsapis.fr"
    theirs._create_self_signed_jwt(None)
    theirs.refresh(None)
    ours, want = [jwt.decode(t, certs=server.cloud.public_key.encode(), verify=False) for t in (heard[0], theirs.token)]
    assert abs(ours.pop("iat") - want.pop("iat")) < 60 and abs(ours.pop("exp") - want.pop("exp")) < 60
    assert ours == want
    jwt._unverified_decode(heard[0])
    crypt.RSAVerifier.from_string(server.cloud.public_key).verify(
        heard[0].rsplit(".", 1)[0].encode(), base64.urlsafe_b64decode(heard[0].rsplit(".", 1)[1] + "=="))
    assert heard[0] not in d.text()


@pytest.mark.parametrize("universe, of_key", [("s3nsapis.fr", None), ("googleapis.com", "s3nsapis.fr")])
def test_a_key_goes_to_its_own_universe_alone(drive, server, tmp_path, universe, of_key):
    path = key_file(tmp_path / "key.json", server, **({"universe_domain": of_key} if of_key else {}))
    r = drive(options=f'credentials: "{path}", universe_domain: {universe}').call("list")
    assert r["status"] == "AUTH" and f"of {of_key or 'googleapis.com'}, universe_domain says {universe}" in r["text"], r
    assert not server.cloud.log or not [x for x in server.cloud.log if "Authorization" in x["headers"]]


@pytest.mark.parametrize("how", ["option", "environment"])
def test_the_hosts_of_another_universe(server, tmp_path, how):
    """Without an endpoint of the settings, they are of its domain."""
    text = config(server, "universe_domain: universe.invalid" if how == "option" else "").replace(f', endpoint: "{server.url}"', "")
    env = environment(server, **({"GOOGLE_CLOUD_UNIVERSE_DOMAIN": "universe.invalid"} if how == "environment" else {}))
    with drive_of(tmp_path, text, "gke", env) as d:
        r = d.call("list")
        assert r["status"] == "RETRY" and "container.universe.invalid" in r["text"], r


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


THEIRS = """
import google.auth, google.auth.transport.requests, requests, sys
c, _ = google.auth.load_credentials_from_file(sys.argv[1], scopes=["https://www.googleapis.com/auth/cloud-platform"])
s = requests.Session()
s.trust_env = False
c.refresh(google.auth.transport.requests.Request(s))
print(c.token)
"""


def asked(server, of):
    """Requests for tokens as they matter: without times, signatures and the SDK's own headers."""
    out = []
    for r in server.cloud.log[of:]:
        u = urllib.parse.urlsplit(r["target"])
        if not ("/token" in u.path or ":generateAccessToken" in u.path):
            continue
        h = {k.lower(): v for k, v in r["headers"].items()}
        kind = h.get("content-type", "").split(";")[0]
        body = json.loads(r["body"]) if kind == "application/json" else dict(urllib.parse.parse_qsl(r["body"]))
        body = {k: v for k, v in body.items() if v not in (None, [])}
        if "assertion" in body:
            claims = body.pop("assertion").split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
            body["claims"] = {k: v for k, v in claims.items() if k not in ("iat", "exp")}
        out.append((r["method"], u.path, kind, body, h.get("authorization", "")[:10]))
    return out


def as_google_auth(drive, server, path, **env):
    """Ours, then google-auth with the same file: the same requests."""
    n = len(server.cloud.log)
    assert drive(options=f'credentials: "{path}"', env=env).list() == []
    ours, n = asked(server, n), len(server.cloud.log)
    p = subprocess.run([sys.executable, "-c", THEIRS, path], env={**os.environ, **env}, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    theirs = asked(server, n)
    assert ours == theirs and ours
    return ours


IMPERSONATE = "/v1/projects/-/serviceAccounts/sa@my-proj.iam.gserviceaccount.com:generateAccessToken"


@pytest.mark.parametrize("source", ["authorized_user", "service_account"])
def test_impersonated_service_account(drive, server, tmp_path, source):
    own = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "1//good", "token_uri": server.url + "/token"}
    if source == "service_account":
        own = json.loads(key_file(tmp_path / "key.json", server).read_text())
    path = tmp_path / "adc.json"
    path.write_text(json.dumps({"type": "impersonated_service_account", "delegates": ["projects/-/serviceAccounts/d@p.iam.gserviceaccount.com"],
                                "service_account_impersonation_url": server.url + IMPERSONATE, "source_credentials": own}))
    if source == "service_account":
        return as_google_auth_but_for_the_url(drive, server, path)
    d = drive(options=f'credentials: "{path}"')
    assert d.list() == []
    assert server.cloud.impersonated == {"delegates": ["projects/-/serviceAccounts/d@p.iam.gserviceaccount.com"], "lifetime": "3600s",
                                         "scope": ["https://www.googleapis.com/auth/cloud-platform"]}
    silent(d, server)


def as_google_auth_but_for_the_url(drive, server, path):
    """google-auth takes only the account of the file's URL, and asks Google: here it is told to ask the test server."""
    n = len(server.cloud.log)
    assert drive(options=f'credentials: "{path}"').list() == []
    ours, n = asked(server, n), len(server.cloud.log)
    theirs = THEIRS.replace("import google.auth,", "import google.auth.iam\nimport google.auth,").replace(
        "c, _ =", f"google.auth.iam._IAM_ENDPOINT = '{server.url}/v1/projects/-/serviceAccounts/{{}}:generateAccessToken'\nc, _ =")
    p = subprocess.run([sys.executable, "-c", theirs, path], env=dict(os.environ), capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    assert ours == asked(server, n) and [x[1] for x in ours] == ["/token", IMPERSONATE]


EXECUTABLE = """#!/bin/sh
[ "$1" = "two words" ] && [ "$GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE" = aud ] && [ -z "$SECRET_OF_OURS" ] || exit 4
echo "$GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL" >> "%s"
echo '{"version": 1, "success": true, "token_type": "urn:ietf:params:oauth:token-type:id_token", "id_token": "subject.of.theirs"}'
"""


def federated(server, tmp_path, **executable):
    path = tmp_path / "wif.json"
    path.write_text(json.dumps({
        "type": "external_account", "audience": "aud", "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "token_url": server.url + "/v1/token", "credential_source": {"executable": executable},
        "service_account_impersonation_url": server.url + IMPERSONATE}))
    return path


def test_federation_by_an_executable(drive, server, tmp_path):
    program, ran = tmp_path / "get token", tmp_path / "ran"
    program.write_text(EXECUTABLE % ran)
    program.chmod(0o755)
    path = federated(server, tmp_path, command=f"'{program}' \"two words\"", timeout_millis=10000)
    r = drive(options=f'credentials: "{path}"').call("list")
    assert r["status"] == "AUTH" and "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1" in r["text"] and not ran.exists()
    allowed = {"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}
    drive(options=f'credentials: "{path}"', env={**allowed, "SECRET_OF_OURS": "x"}).list()
    assert ran.read_text() == "sa@my-proj.iam.gserviceaccount.com\n"
    ours = as_google_auth(drive, server, path, **allowed)
    assert [x[1] for x in ours] == ["/v1/token", IMPERSONATE] and len(ran.read_text().splitlines()) == 3
    stored = tmp_path / "stored"
    path = federated(server, tmp_path, command=f"'{program}' \"two words\"", timeout_millis=10000, output_file=str(stored))
    stored.write_text(json.dumps({"version": 1, "success": True, "token_type": "urn:ietf:params:oauth:token-type:id_token",
                                  "id_token": "subject.of.theirs", "expiration_time": int(time.time()) + 600}))
    as_google_auth(drive, server, path, **allowed)
    assert len(ran.read_text().splitlines()) == 3, "a token that is stored is used"


def judged_by_botocore(subject, key, secret):
    """What AWS would say of the request in the token."""
    x = json.loads(urllib.parse.unquote(subject))
    assert (x["url"], x["method"]) == ("https://sts.us-west-2.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15", "POST")
    h = {i["key"].lower(): i["value"] for i in x["headers"]}
    assert h["x-goog-cloud-target-resource"] == "aud" and h["host"] == "sts.us-west-2.amazonaws.com"
    words = dict(w.strip().split("=", 1) for w in h["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(","))
    r = AWSRequest(method="POST", url=x["url"].replace("com?", "com/?"), data=b"", headers={k: h[k] for k in words["SignedHeaders"].split(";")})
    r.context["timestamp"] = h["x-amz-date"]
    s = SigV4Auth(Credentials(key, secret, h.get("x-amz-security-token")), "sts", "us-west-2")
    assert s.signature(s.string_to_sign(r, s.canonical_request(r)), r) == words["Signature"]
    return set(h), words["SignedHeaders"]


@pytest.mark.parametrize("token", [None, "session/token=="])
def test_federation_from_aws(drive, server, tmp_path, token):
    path = federated(server, tmp_path)
    text = json.loads(path.read_text())
    text.update(subject_token_type="urn:ietf:params:aws:token-type:aws4_request", credential_source={
        "environment_id": "aws1", "region_url": "http://169.254.169.254/latest/meta-data/placement/availability-zone",
        "url": "http://169.254.169.254/latest/meta-data/iam/security-credentials",
        "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"})
    path.write_text(json.dumps(text))
    seen = []
    server.cloud.knows = lambda subject: seen.append(judged_by_botocore(subject, "AKIDEXAMPLE", "secret/of+ours")) or True
    aws = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret/of+ours", "AWS_REGION": "us-west-2",
           **({"AWS_SESSION_TOKEN": token} if token else {})}
    d = drive(options=f'credentials: "{path}"', env=aws)
    assert d.list() == []
    assert "secret/of+ours" not in d.text()
    p = subprocess.run([sys.executable, "-c", THEIRS, path], env={**os.environ, **aws}, capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    (ours, bound), (theirs, _) = seen
    assert ours == theirs, "the same headers as google-auth's"
    assert "x-goog-cloud-target-resource" in bound, "which leaves this one unsigned"


@pytest.mark.parametrize("answer, says", [
    ('{"version": 1, "success": false, "code": "401", "message": "not logged in"}', "401 not logged in"),
    ('{"version": 1, "success": true, "token_type": "urn:ietf:params:oauth:token-type:id_token", "id_token": "t", "expiration_time": 5}', "good now"),
    ("nonsense", "good now")])
def test_an_executable_that_has_none(drive, server, tmp_path, answer, says):
    program = tmp_path / "p"
    program.write_text(f"#!/bin/sh\necho '{answer}'\n")
    program.chmod(0o755)
    path = federated(server, tmp_path, command=str(program))
    r = drive(options=f'credentials: "{path}"', env={"GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES": "1"}).call("list")
    assert r["status"] == "AUTH" and says in r["text"], r


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
    time.sleep(3)  # wait: the token grows older: a quarter of its life
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
                      ('{"type": "gdch_service_account"}', "impersonated_service_account or authorized_user"),
                      ('{"type": "impersonated_service_account", "source_credentials": {"type": "impersonated_service_account"}}',
                       'source_credentials is of type "impersonated_service_account"; wanted is service_account or'),
                      ('{"type": "service_account", "private_key": "nonsense"}', "not an RSA key"),
                      ('{"type": "external_account", "credential_source": {"environment_id": "mars"}}', "must have file, url, executable or")):
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
