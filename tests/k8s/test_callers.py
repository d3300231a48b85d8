"""api.kubernetes: the real API server says who a caller is (TokenReview) and what he may (SubjectAccessReview)."""
import re
import socket
import threading
import time

import pytest
import yaml

from lib import ROOT, crowded
from lib.daemon import Daemon
from lib.kube import SOON, until

SHIPPED = [o for name in ("rbac.yaml", "callers.yaml") for o in yaml.safe_load_all((ROOT / "configs/kubernetes" / name).read_text())]
CONFIG = """
cluster: my-cluster
api: {listen: "127.0.0.1:{port}", kubernetes: {KUBE}, tokens: {dir}/tokens}
providers: {sim: {}}
node_types: {t4: {provider: sim, resources: {CPU: 4, GPU: 1}, max: 4, options: {boot: 100ms}}}
"""
CACHE_S = 3
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def account(plane, space, name):
    plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
    plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": space}})


def token(plane, space, name, audience="davit", seconds=3600):
    spec = {"expirationSeconds": seconds, **({"audiences": [audience]} if audience else {})}
    return plane.client.post(f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token", {"spec": spec})["status"]["token"]


def bind(plane, role, space, name):
    plane.apply({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                 "metadata": {"name": f"{role}-{name}", "namespace": "davit"},
                 "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
                 "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": space}]})


@pytest.fixture
def world(plane, tmp_path):
    for o in SHIPPED:
        plane.apply(o)
    for space, name in (("team-a", "trainer"), ("team-a-b", "trainer"), ("monitoring", "grafana"), ("ops", "boss"), ("team-b", "x")):
        account(plane, space, name)
    bind(plane, "davit-admin", "ops", "boss")
    folder, env = plane.mount_for("davit", "davit")
    (tmp_path / "tokens").write_text("file sha256:" + "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752 read\n")  # test2
    (tmp_path / "tokens").chmod(0o600)
    d = Daemon(tmp_path, CONFIG.replace("KUBE", f"cache: {CACHE_S}s"), start=False,
               env={**env, "DAVIT_SERVICEACCOUNT_DIR": str(folder), "KUBECONFIG": None, "HOME": str(tmp_path)})
    d.start(wait="/healthz")
    d.tokens = {name: token(plane, space, name) for space, name in (("team-a", "trainer"), ("monitoring", "grafana"), ("ops", "boss"))}
    d.until(lambda: code(d, "boss", "GET", "/v1/status") == 200)
    yield d
    plane.apiserver.resume()
    d.stop()
    for o in SHIPPED[1:]:
        plane.api("DELETE", plane.path_of(o))


def ask(d, who, method, path, body=None):
    return d.exchange(method, path, body, {"Authorization": "Bearer " + d.tokens.get(who, who)})


def code(d, who, method, path, body=None):
    return ask(d, who, method, path, body).code


def test_rights_are_what_rbac_says(plane, world):
    d = world
    want = {"num_cpus": 1, "owner": "team-a"}
    assert code(d, "grafana", "GET", "/v1/status") == 200 and code(d, "trainer", "GET", "/v1/nodes") == 403
    assert ask(d, "trainer", "GET", "/v1/status").json["own"], "his owners' part alone"
    assert code(d, "grafana", "POST", "/v1/request_resources", want) == 403
    r = ask(d, "trainer", "POST", "/v1/request_resources", want)
    assert r.code in (200, 202), r.text
    assert code(d, "trainer", "POST", "/v1/request_resources", {**want, "owner": "team-a.night"}) in (200, 202)
    for other in ("team-b", "team-a-b", "team-ab", "default"):
        assert code(d, "trainer", "POST", "/v1/request_resources", {**want, "owner": other}) == 403, other
        assert code(d, "trainer", "DELETE", f"/v1/request_resources/{other}") == 403, other
    assert code(d, "trainer", "GET", "/v1/request_resources/team-a") == 200
    assert code(d, "trainer", "DELETE", "/v1/request_resources/team-a.night") == 200
    # a ServiceAccount of another namespace asks about another name
    for space in ("team-a-b", "team-b"):
        other = token(plane, space, "trainer" if space == "team-a-b" else "x")
        assert code(d, other, "POST", "/v1/request_resources", want) == 403
        assert code(d, other, "GET", "/v1/status") == 403
    for who, expected in (("boss", 200), ("grafana", 403), ("trainer", 403)):
        assert code(d, who, "POST", "/v1/reload") == expected, who
    entries = ask(d, "boss", "GET", "/v1/audit?after=0").json["entries"]
    assert entries[0]["via"] == "kubernetes" and {e["caller"] for e in entries} >= {
        "system:serviceaccount:team-a:trainer", "system:serviceaccount:ops:boss"}
    assert "by system:serviceaccount:team-a:trainer (kubernetes)" in str(ask(d, "boss", "GET", "/v1/events?format=json&after=0").text)


def test_who_is_nobody(plane, world):
    d = world
    good = d.tokens["boss"]
    head, body, signature = good.split(".")
    assert code(d, token(plane, "ops", "boss", audience="other"), "GET", "/v1/status") == 401, "for another service"
    assert code(d, token(plane, "ops", "boss", audience=None), "GET", "/v1/status") == 401, "for the API server itself"
    assert code(d, f"{head}.{body}.{signature[:-4]}AAAA", "GET", "/v1/status") == 401, "a wrong signature"
    assert code(d, f"{head}.{body}.", "GET", "/v1/status") == 401
    assert code(d, "a.b.c" + "x" * 9000, "GET", "/v1/status") == 401, "longer than any token"
    assert code(d, "test2", "GET", "/v1/status") == 200, "tokens of the file go on"
    mark = plane.audit_mark()
    assert code(d, "no-jwt-at-all", "GET", "/v1/status") == 401
    assert code(d, "wrong", "GET", "/healthz") == 200
    assert not plane.audit(mark, resource="tokenreviews")
    assert not any(t in d.text() for t in (good, signature))


def test_known_for_a_short_while(plane, world):
    """One question for many calls; a right that is taken away, and an account, is gone soon."""
    d = world
    mark = plane.audit_mark()
    fresh = token(plane, "monitoring", "grafana")
    codes = []
    threads = [threading.Thread(target=lambda: codes.append(code(d, fresh, "GET", "/v1/status"))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    codes += [code(d, fresh, "GET", "/v1/status") for _ in range(20)]
    assert codes == [200] * 24
    assert len(plane.audit(mark, user="davit", resource="tokenreviews")) == 1
    assert 1 <= len(plane.audit(mark, user="davit", resource="subjectaccessreviews")) <= 4
    began = time.monotonic()
    plane.client.delete(f"{RBAC}/namespaces/davit/rolebindings/davit-reader")
    until(lambda: code(d, fresh, "GET", "/v1/status") == 403, CACHE_S + 10, "the right is still there")
    print(f"gone after {time.monotonic() - began:.1f} s")
    plane.client.delete("/api/v1/namespaces/monitoring/serviceaccounts/grafana")
    until(lambda: code(d, fresh, "GET", "/v1/status") == 401, CACHE_S + 15, "the account is still known")


def test_a_strangers_body_waits(plane, world):
    """Who is not known yet has nothing of his body read; then it is, to its end, on the same connection."""
    d = world
    big = {"owner": "team-a", "bundles": [{"CPU": i % 7 + 1, "memory": i} for i in range(4000)]}
    assert code(d, token(plane, "team-a", "trainer"), "POST", "/v1/request_resources", big) in (200, 202)
    assert code(d, token(plane, "team-b", "x"), "POST", "/v1/request_resources", big) == 403
    assert code(d, token(plane, "team-a", "trainer"), "GET", "/v1/nowhere") == 404
    fresh = token(plane, "monitoring", "grafana")
    plane.apiserver.pause()
    try:
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 4000000\r\n\r\n"
                      % fresh.encode() + b" " * 200_000)
            time.sleep(1)  # wait: what stays unread is seen nowhere; a server that reads it has done so by then
            held = re.search(r"davit_http_held_bytes (\d+)", ask(d, "test2", "GET", "/metrics").text)
            assert int(held.group(1)) == 0, held
            plane.apiserver.resume()
            d.until(lambda: int(re.search(r"davit_http_held_bytes (\d+)", ask(d, "test2", "GET", "/metrics").text).group(1)) >= 200_000)
    finally:
        plane.apiserver.resume()


def test_no_answer_is_no_yes(plane, world):
    d = world
    fresh = token(plane, "ops", "boss")
    plane.apiserver.pause()
    try:
        began = time.monotonic()
        r = ask(d, fresh, "GET", "/v1/status")
        assert r.code == 503 and "cannot be asked" in r.text and time.monotonic() - began < 25 * crowded()
        assert ask(d, fresh, "POST", "/v1/request_resources", {"num_cpus": 1}).code in (503, 429)
        assert code(d, "test2", "GET", "/v1/status") == 200 and d.get("/healthz")[0] == 200
        assert "api.kubernetes" in ask(d, "test2", "GET", "/readyz").text
        assert "api.kubernetes" in d.text() and fresh not in d.text()
    finally:
        plane.apiserver.resume()
    d.until(lambda: code(d, fresh, "GET", "/v1/status") == 200, SOON)
    assert "api.kubernetes" not in ask(d, "test2", "GET", "/readyz").text


def test_one_client_cannot_take_all_places(plane, world):
    """While the API server hangs, one address may have four questions wait; the others are told so at once."""
    d = world
    plane.apiserver.pause()
    try:
        codes = []
        tokens = [token_like(i) for i in range(12)]
        threads = [threading.Thread(target=lambda t=t: codes.append(code(d, t, "GET", "/v1/status"))) for t in tokens]
        for t in threads:
            t.start()
        until(lambda: codes.count(429) >= 7, SOON, f"{codes}")
        assert d.get("/healthz")[0] == 200
    finally:
        plane.apiserver.resume()
    for t in threads:
        t.join()
    assert set(codes) <= {401, 429, 503}, codes


def token_like(i):
    return f"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn{i:02d}.c2ln"


def test_wrong_tokens_of_others_at_his_address(plane, world):
    """Who was never seen is known by the API server's own keys: he waits for its answer in a row of his own."""
    d = world
    for i in range(40):
        code(d, f"wrong{i}", "GET", "/v1/status")
    assert code(d, token_like(50), "GET", "/v1/status") == 429, "nobody vouches for it"
    assert code(d, token(plane, "monitoring", "grafana"), "GET", "/v1/status") == 200
    head, body, signature = token(plane, "monitoring", "grafana").split(".")
    assert code(d, f"{head}.{body}.{signature[:-8]}AAAAAAAA", "GET", "/v1/status") == 429
