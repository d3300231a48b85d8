"""Where credentials may go: each cloud's URLs, and a kubeconfig that switches
the check of certificates off."""
import json
import subprocess

import pytest
from hardening.rig import Cluster
from lib import DAVIT, PATIENCE, until, without
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
