"""What a browser is let do: names, policies; and the files that daemons leave."""
import http.client
import os
import re
import subprocess

import pytest

from lib import DAVIT, free_port


def get(port, path, host):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        c.request("GET", path, headers={"Host": host})
        return c.getresponse().status
    finally:
        c.close()


def test_names_of_the_metrics_port(daemon_of):
    """A page of another site can give its own name to our address."""
    metrics = free_port()
    d = daemon_of(api=f', metrics: "127.0.0.1:{metrics}", hosts: [davit.corp.example]')
    d.start(wait="/readyz")
    for host in ("127.0.0.1", f"127.0.0.1:{metrics}", "10.1.2.3:44217", "[::1]:9", "localhost", "davit", "davit.ray.svc:44217",
                 "davit.ray.svc.cluster.local", "node.internal", "davit.corp.example", "DAVIT.corp.example:1"):
        assert get(metrics, "/metrics", host) == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.svc.example", "localhost.evil.example:44217", "x.davit.corp.example"):
        assert get(metrics, "/metrics", host) == 403, host
        assert get(metrics, "/healthz", host) == 403, host
        assert get(d.port, "/v1/status", host) == 403, host
    assert get(d.port, "/v1/status", "davit.corp.example") == 200


def test_policy_of_the_page(daemon):
    """It runs its own files and nothing else; nothing in it would need more."""
    r = daemon.exchange("GET", "/")
    policy = r.headers["Content-Security-Policy"]
    assert "unsafe" not in policy and "default-src 'none'" in policy
    assert "script-src 'self'" in policy and "style-src 'self'" in policy and "connect-src 'self'" in policy
    assert "<style" not in r.text and not re.search(r"\son\w+=|\sstyle=|javascript:|https?://", r.text)
    assert re.findall(r"<script[^>]*>(.*?)</script>", r.text, re.S) == [""]
    for path in set(re.findall(r'(?:src|href)="(page/[^"]+)"', r.text)):
        f = daemon.exchange("GET", "/" + path)
        assert f.code == 200 and f.headers["X-Content-Type-Options"] == "nosniff", path
        assert not re.search(r"https?://(?!www\.w3\.org/)|innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", f.text), path
    for path in ("/page/", "/page/../openapi.json", "/page/nothing.js", "/page/web/main.js", "/page/%2e%2e/x"):
        assert daemon.exchange("GET", path).code == 404, path


@pytest.mark.parametrize("name", ["davit.db", "davit.db-wal", "davit.db.lock"])
def test_journal_is_no_link(daemon_of, tmp_path, name):
    d = daemon_of()
    victim = tmp_path / "victim"
    victim.write_text("precious")
    os.symlink(victim, d.dir / name)
    d.start(wait=None)
    assert d.p.wait(60) != 0
    assert victim.read_text() == "precious"
    assert name in d.text()


def test_journal_is_ours_alone(daemon_of):
    d = daemon_of()
    d.start(wait="/readyz")
    d.post({"owner": "x", "num_cpus": 1})
    d.kill()
    for f in d.dir.glob("davit.db*"):
        f.chmod(0o644)
    d.start(wait="/readyz")
    for f in d.dir.glob("davit.db*"):
        if f.suffix != ".lock":
            assert f.stat().st_mode & 0o777 == 0o600, f
    assert d.get("/v1/request_resources/x")[0] == 200


def test_doctor_and_validate_say_what_is_open(tmp_path):
    """The same words before a start as at it."""
    (tmp_path / "c.yaml").write_text("cluster: x\napi: {listen: 0.0.0.0:8790}\nnode_types: {a: {resources: {CPU: 1}}}\n")
    p = subprocess.run([DAVIT, "validate", "c.yaml"], cwd=tmp_path, capture_output=True, text=True)
    assert p.returncode == 3 and "api.tokens" in p.stdout + p.stderr

    def doctor(api):
        (tmp_path / "c.yaml").write_text("cluster: x\napi: {listen: %s}\nproviders: {sim: {}}\nnode_types: {a: {resources: {CPU: 1}}}\n" % api)
        return subprocess.run([DAVIT, "doctor", "c.yaml"], cwd=tmp_path, capture_output=True, text=True).stdout
    (tmp_path / "tokens").write_text("root user:0 admin\nx user:1 read\n")
    (tmp_path / "tokens").chmod(0o600)
    out = doctor("0.0.0.0:8790, tokens: tokens")
    assert "2 callers, 1 of them administrators" in out and "set api.tls" in out, out
    (tmp_path / "tokens").chmod(0o644)
    assert "may be read by everybody" in doctor("0.0.0.0:8790, tokens: tokens")
    (tmp_path / "tokens").write_text("root user:0 boss\n")
    (tmp_path / "tokens").chmod(0o600)
    assert "tokens:1" in doctor("127.0.0.1:8790, tokens: tokens")
