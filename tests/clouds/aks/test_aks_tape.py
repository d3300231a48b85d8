"""Azure behind TLS with a CA of its own, its HTTP recorded without a secret and replayed without Azure."""
import subprocess

import pytest

from aks_cloud import Cloud
from aks_rig import config, environment  # also puts the integration tests on the path
from aks_server import SECRET, Server
from test_aks_daemon import OPTIONS, T4, ZONES
from lib import daemon


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    where = tmp_path_factory.mktemp("ca")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", where / "key.pem", "-out", where / "only.pem"],
                   check=True, capture_output=True)
    (where / "cert.pem").write_text((where / "only.pem").read_text() + (where / "key.pem").read_text())
    return where


def daemon_of(driver, where, url, options, *args, env=None):
    where.mkdir()
    text = config(type("S", (), {"url": url}), OPTIONS + ", tenant_id: tenant-1, client_secret: secret-1, audience: 'https://management.azure.com'" + options, ZONES)
    # Nobody waits for the price list: one of two daemons may have asked for it when the story ends, and the other not.
    text = text.replace(f'prices: "{url}"', 'prices: ""').replace("limits: {max_nodes: 2000}", "limits: {max_nodes: 20, idle_timeout: 1s, start_timeout: 60s}")
    return daemon.Daemon(where, text, args, start=False, env=environment(**{"SSL_CERT_FILE": None, **(env or {})}))


@pytest.fixture
def cloud():
    c = Cloud(op_s=0.2)
    c.pool("gpu", ["1"])
    c.pool("gpu2", ["2"])
    c.pool("cpu", [], machine="Standard_D8s_v5")
    return c


def story(d):
    d.post({"owner": "a", "bundles": [T4, T4]})
    d.until(lambda: d.ready("t4") == 2)
    seen = sorted((n["zone"], n["cloud_id"]) for n in d.nodes("t4", "ready"))
    d.post({"owner": "a", "bundles": []})
    d.until(lambda: not d.nodes("t4"))
    return seen


def test_recorded_over_tls_and_replayed(driver, cloud, certificate, tmp_path):
    cloud.pools["gpu"].stock = 0
    with Server(cloud, certificate / "cert.pem") as server:
        ca = f', ca_file: "{certificate / "only.pem"}"'
        with daemon_of(driver, tmp_path / "a", server.url, ca, "--record-http", str(tmp_path / "tape")).start() as d:
            seen = story(d)
            assert [z for z, _ in seen] == ["westeurope-2"] * 2
        assert cloud.rejected == [] and cloud.lost_work == []
        tokens = list(cloud.tokens)
    text = (tmp_path / "tape" / "aks.jsonl").read_text()
    assert tokens
    for secret in [*tokens, SECRET]:
        assert secret not in text
    with daemon_of(driver, tmp_path / "b", server.url, "", "--replay-http", str(tmp_path / "tape")).start() as d:
        assert story(d) == seen
        assert "NotRecorded" not in d.text()


@pytest.mark.parametrize("how", ["SSL_CERT_FILE", "a relative path", "none"])
def test_whose_ca(driver, cloud, certificate, tmp_path, how):
    option, env = "", {}
    if how == "SSL_CERT_FILE":
        env = {"SSL_CERT_FILE": str(certificate / "only.pem")}
    elif how == "a relative path":
        option = ", ca_file: my-ca.pem"
    with Server(cloud, certificate / "cert.pem") as server:
        d = daemon_of(driver, tmp_path / "a", server.url, option, env=env)
        (tmp_path / "a" / "my-ca.pem").write_text((certificate / "only.pem").read_text())
        with d.start():
            if how == "none":
                d.until(lambda: "is not trusted" in d.status()["providers"][0]["problem"])
                assert "secret" not in d.text()
            else:
                d.until(lambda: d.status()["providers"][0]["ready"])


def test_a_ca_file_that_is_not_there(driver, tmp_path):
    d = daemon_of(driver, tmp_path / "a", "https://127.0.0.1:1", ", ca_file: /nonexistent/ca.pem")
    d.start(wait=False)
    assert d.p.wait(60) == 3
    d.stop()
    line = next(x for x in d.text().splitlines() if "ca_file" in x)
    assert "davit.yaml:" in line and "/nonexistent/ca.pem: No such file" in line
