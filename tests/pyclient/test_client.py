"""The Python client of configs/python against the real daemon on the simulated cloud."""
import datetime
import http.server
import inspect
import json
import sys
import threading

import pytest

from lib import ROOT, free_port
from lib.daemon import Daemon

sys.path.insert(0, str(ROOT / "configs/python"))
import davit  # noqa: E402

CONFIG = """
cluster: py
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
limits: {max_nodes: 8, idle_timeout: 60s}
providers: {sim: {boot: BOOT}}
node_types:
  cpu: {machine: e2-standard-8, max: 4}
  t4: {machine: n1-standard-8+t4, max: 2}
"""


def daemon(folder, api="", boot="100ms", **more):
    return Daemon(folder, CONFIG.replace("API", api).replace("BOOT", boot), **more)


@pytest.fixture(scope="module")
def d(tmp_path_factory):
    d = daemon(tmp_path_factory.mktemp("d"))
    yield d
    assert d.stop() == 0


@pytest.fixture
def client(d):
    with davit.Client(d.url) as c:
        yield c
        for r in c.requests()["requests"]:
            c.clear(r["owner"])


def test_the_signature_begins_with_rays():
    ours = inspect.signature(davit.request_resources).parameters
    assert list(ours)[:3] == ["num_cpus", "bundles", "bundle_label_selectors"]
    assert all(p.default is None and p.kind == p.POSITIONAL_OR_KEYWORD for p in list(ours.values())[:3])
    assert {n for n, p in ours.items() if p.kind == p.KEYWORD_ONLY} == {"owner", "ttl", "wait", "strategy", "queue", "priority"}


def test_functions_and_methods_agree():
    for name in davit.__all__:
        if hasattr(davit.Client, name):
            method = list(inspect.signature(getattr(davit.Client, name)).parameters.values())[1:]
            assert method == list(inspect.signature(getattr(davit, name)).parameters.values()), name


def test_wait_returns_when_all_is_ready(client):
    got = client.request_resources(bundles=[{"GPU": 1}] * 2, owner="train", wait=60)
    assert got["satisfied"] and got["feasible"] and got["bundles"] == 2
    assert [n["state"] for n in client.nodes(type="t4", state="ready")["nodes"]] == ["ready", "ready"]
    assert client.request("train")["satisfied"]
    assert client.status()["nodes"]["ready"] >= 2
    one = client.nodes(type="t4")["nodes"][0]["id"]
    assert client.node(one)["id"] == one and client.why(one)["text"] and client.why("train")["owner"]["owner"] == "train"
    assert any(e["kind"] == "node.ready" for e in client.events()["events"])


def test_without_wait_the_reply_says_what_is_launched(client):
    got = client.request_resources(num_cpus=3, owner="cpus", ttl=datetime.timedelta(minutes=5))
    assert got["owner"] == "cpus" and got["expires_at"] and not got["cleared"]


def test_an_empty_list_clears_as_in_ray(client):
    client.request_resources(num_cpus=1, owner="a")
    assert client.request_resources(bundles=[], owner="a", wait=5)["cleared"]
    with pytest.raises(davit.NotFound):
        client.request("a")


def test_selectors_of_ray(client):
    got = client.request_resources(bundles=[{"CPU": 1}, {"CPU": 1}], bundle_label_selectors=[{"ray.io/accelerator-type": "T4"}, {}], owner="s", wait=60)
    assert got["satisfied"] and client.nodes(type="t4")["nodes"]
    with pytest.raises(ValueError, match="one selector for each"):
        client.request_resources(bundles=[{"CPU": 1}], bundle_label_selectors=[])
    with pytest.raises(TypeError, match="num_cpus"):
        client.request_resources(num_cpus=1.5)


def test_what_if_changes_nothing(client):
    assert client.what_if(bundles=[{"GPU": 1}], owner="maybe")["request"]["feasible"]
    assert client.requests()["requests"] == []


def test_what_can_never_be(client):
    with pytest.raises(davit.Infeasible, match="H100") as e:
        client.request_resources(bundles=[{"GPU": 1, "accelerator_type": "H100"}], wait=60)
    assert e.value.request["infeasible"] and isinstance(e.value, davit.DavitError)


def test_what_is_not_there_in_time(tmp_path):
    d = daemon(tmp_path, boot="1h")
    with davit.Client(d.url) as c:
        with pytest.raises(davit.NotInTime) as e:
            c.request_resources(bundles=[{"GPU": 1}], wait=0.6)
        assert not e.value.request["satisfied"] and c.request()["owner"] == "default"
    d.stop()


def test_wrong_input_is_invalid_with_its_place(client):
    with pytest.raises(davit.Invalid) as e:
        client.request_resources(bundles=[{"GPU": -1}])
    assert e.value.where == "bundles[0].GPU" and e.value.status == "INVALID" and str(e.value).startswith("bundles[0].GPU: ")
    with pytest.raises(davit.Invalid):
        client.request_resources(owner="no owner has blanks", num_cpus=1)


def test_names_are_quoted(client):
    for name in ("a/b", "../status", "ä?x=1", ""):
        with pytest.raises(davit.DavitError):
            client.request(name) if name else client.node("nobody")


def test_protect(client):
    client.request_resources(num_cpus=1, owner="p", wait=60)
    node = client.nodes(state="ready")["nodes"][0]["id"]
    assert client.protect(node)["protected"] and not client.unprotect(node)["protected"]


def test_a_restart_is_no_error_for_an_idle_client(tmp_path):
    """Its kept connection is gone; the call is made on a new one."""
    d = daemon(tmp_path)
    with davit.Client(d.url) as c:
        c.status()
        d.kill()
        d.start()
        assert c.status()["cluster"] == "py"
    d.stop()


def test_nobody_there():
    with pytest.raises(davit.Unreachable, match="127.0.0.1"):
        davit.Client(f"http://127.0.0.1:{free_port()}").status()
    with pytest.raises(ValueError, match="must begin with"):
        davit.Client("ftp://x")


def test_tokens(tmp_path):
    secret = tmp_path / "token"
    secret.write_text("a-long-secret\n")
    secret.chmod(0o600)
    d = daemon(tmp_path, api=f", token_file: {secret}", start=False)
    d.headers = {"Authorization": "Bearer a-long-secret"}
    d.start()
    for client in (davit.Client(d.url), davit.Client(d.url, token="wrong-secret")):
        with pytest.raises(davit.Denied):
            client.status()
    assert davit.Client(d.url, token="a-long-secret").status() and davit.Client(d.url, token_file=str(secret)).status()
    d.stop()


def test_the_environment_and_the_socket(tmp_path, monkeypatch):
    d = daemon(tmp_path, api=f", anonymous: admin, socket: {tmp_path}/s")
    monkeypatch.setenv("DAVIT_URL", f"unix:{tmp_path}/s")
    monkeypatch.setattr(davit, "_local", threading.local())
    assert davit.status()["cluster"] == "py"
    assert davit.request_resources(num_cpus=1, wait=60)["satisfied"] and davit.clear()["cleared"]
    d.stop()


class Odd(http.server.BaseHTTPRequestHandler):
    """Answers that are not Davit's, or that say: later."""

    def do_GET(self):
        code, headers, body = self.server.answer
        self.send_response(code)
        for k, v in {**headers, "Content-Length": len(body)}.items():
            self.send_header(k, str(v))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def odd():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd) as s:
        threading.Thread(target=s.serve_forever, daemon=True).start()
        yield s
        s.shutdown()


@pytest.mark.parametrize("answer, error", [
    ((503, {"Retry-After": "7"}, {"error": {"status": "RETRY", "where": "", "text": "starting"}}), davit.Busy),
    ((429, {}, {"error": {"status": "THROTTLED", "where": "", "text": "too many"}}), davit.Busy),
    ((403, {}, {"error": {"status": "AUTH", "where": "", "text": "no right"}}), davit.Denied),
    ((500, {}, b"<html>"), davit.Failed),
    ((200, {}, b"no json"), davit.Failed),
    ((404, {}, ["a list"]), davit.Failed),
])
def test_other_answers(odd, answer, error):
    code, headers, body = answer
    odd.answer = code, headers, body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(error) as e:
        davit.Client(f"http://127.0.0.1:{odd.server_port}").status()
    assert type(e.value) is error
    if "Retry-After" in headers:
        assert e.value.retry_after == 7
