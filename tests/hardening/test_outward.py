"""Where credentials may go: each cloud's URLs, and a kubeconfig that switches
the check of certificates off."""
import contextlib
import json
import socket
import subprocess
import threading

import pytest
from hardening.rig import Cluster
from lib import DAVIT, PATIENCE, free_port, until, without
from lib.daemon import Daemon

EVIL = ["http://evil.example", "http://10.0.0.1", "http://localhost.evil.example", "http://127.0.0.1:80@evil.example",
        "http://[::1]evil.example", "http://169.254.1.1", "ftp://127.0.0.1"]
GOOD = ["https://cloud.example", "http://127.0.0.1:8080", "http://[::1]:8080", "http://localhost"]
SETTINGS = {
    "gke": ("project: p, location: us-a1-b, cluster: c", ["endpoint", "container_endpoint", "compute_endpoint"]),
    "eks": ("region: us-east-1, cluster: c", ["endpoint", "endpoints.eks", "endpoints.metadata"]),
    "ec2": ("region: us-east-1", ["endpoint", "endpoints.ec2", "endpoints.sts"]),
    "aks": ("subscription: 00000000-0000-0000-0000-000000000000, resource_group: g, cluster: c", ["endpoint", "authority", "imds"]),
    "k8s": ("namespace: n, cluster: c", ["endpoint"]),
}


@pytest.mark.parametrize("cloud, key", [(c, k) for c, (_, keys) in SETTINGS.items() for k in keys])
def test_no_secret_by_plain_http(tmp_path, cloud, key):
    path = tmp_path / "davit.yaml"

    def says(url):
        path.write_text(f"cluster: c\nproviders: {{{cloud}: {{{SETTINGS[cloud][0]}, {key}: '{url}'}}}}\n"
                        "node_types: {t: {pool: p, resources: {CPU: 1}, max: 1}}\n")
        p = subprocess.run([DAVIT, "validate", str(path)], capture_output=True, text=True, timeout=PATIENCE, env=without())
        return f"{key} must be a URL: https://HOST, or http:// on this machine only" in p.stderr
    for url in EVIL:
        assert says(url), url
    for url in GOOD:
        assert not says(url), url


@pytest.fixture
def lax(tmp_path):
    """A kubeconfig that says insecure-skip-tls-verify, and its server."""
    c = Cluster(tmp_path)
    config = json.loads(c.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["insecure-skip-tls-verify"] = True
    c.kubeconfig.write_text(json.dumps(config))
    yield c
    c.close()


CONFIG = """cluster: c
state: {dir}/state.db
api: {listen: "127.0.0.1:{port}"}
head: {kubernetes: {kubeconfig: "{dir}/kubeconfig"}}
node_types: {t: {resources: {CPU: 1}, max: 1}}
"""


def test_an_unchecked_certificate_is_a_lasting_problem(tmp_path, lax):
    with Daemon(tmp_path, CONFIG, env={"no_proxy": "127.0.0.1"}) as d:
        for path in ("/readyz", "/v1/status"):
            until(lambda: [p for p in d.get(path)[1]["problems"] if "insecure-skip-tls-verify" in p], why=lambda: d.get(path))
        p = subprocess.run([DAVIT, "doctor", str(d.path)], capture_output=True, text=True, timeout=PATIENCE,
                           env={**without(), "no_proxy": "127.0.0.1"})
        assert p.returncode == 1 and "bad   API server: its certificate is not checked (insecure-skip-tls-verify" in p.stdout, p
        assert "insecure-skip-tls-verify" in d.text()


class Proxy(threading.Thread):
    """Says yes to everything, and keeps what it was told."""
    def __init__(self):
        super().__init__(daemon=True)
        self.seen = []
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.sock.getsockname()[1]}"
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                c, _ = self.sock.accept()
                with c:
                    c.settimeout(5)  # wait: who says nothing is not listened to
                    with contextlib.suppress(OSError):
                        self.seen.append(c.recv(65536).decode(errors="replace"))
                        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    def close(self):
        self.sock.close()


@pytest.fixture
def proxy():
    p = Proxy()
    yield p
    p.close()


def proxied(p, **more):
    return {**{k: v for k, v in without().items() if k.lower() != "no_proxy"}, "http_proxy": p.url, "HTTP_PROXY": p.url, "https_proxy": p.url, **more}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1"])
def test_the_daemon_is_never_asked_through_a_proxy(tmp_path, proxy, host):
    """Its token would leave, and what the proxy says would be believed."""
    port = free_port()
    p = subprocess.run([DAVIT, "drain", "n1", "--url", f"http://{host}:{port}"], capture_output=True, text=True, timeout=PATIENCE,
                       env=proxied(proxy, DAVIT_TOKEN="s3cr3t-of-the-api"))
    assert p.returncode != 0 and "no daemon" in p.stderr, p
    assert not proxy.seen


def test_a_kubeconfig_of_this_machine_goes_past_the_proxy(tmp_path, proxy):
    c = Cluster(tmp_path)
    try:
        with Daemon(tmp_path, CONFIG, start=False, env={"no_proxy": None, "NO_PROXY": None, "http_proxy": proxy.url}) as d:
            d.start(wait="/healthz")
            until(lambda: "source.up" in d.text() or "source.down" in d.text(), why=d.text)
        assert not proxy.seen, proxy.seen
    finally:
        c.close()


def test_an_agent_of_this_machine_goes_past_the_proxy(tmp_path, proxy):
    """EKS Pod Identity, ECS: a token and credentials over loopback."""
    path = tmp_path / "davit.yaml"
    agent = Proxy()
    path.write_text("cluster: c\nproviders: {ec2: {region: us-east-1, endpoint: 'http://127.0.0.1:%d'}}\n"
                    "node_types: {t: {machine: t3.small, resources: {CPU: 2}, price: 1, max: 1, options: {image: ami-1}}}\n" % free_port())
    env = {k: v for k, v in proxied(proxy).items() if not k.startswith("AWS_")}
    subprocess.run([DAVIT, "doctor", str(path)], capture_output=True, text=True, timeout=PATIENCE,
                   env={**env, "AWS_CONTAINER_CREDENTIALS_FULL_URI": agent.url + "/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "s3cr3t-agent-token",
                        "AWS_EC2_METADATA_DISABLED": "true"})
    agent.close()
    assert not proxy.seen, proxy.seen
    assert any("s3cr3t-agent-token" in x for x in agent.seen), "the agent itself is asked"
