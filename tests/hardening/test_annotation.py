"""What the editor of a RayCluster may say by its annotation davit.io/config, and
that nothing in it runs, opens or calls anything else."""
import json
import signal
import urllib.request

import pytest
from hardening.rig import Cluster
from lib import PATIENCE, until

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# One for each key of the configuration that is not a matter of size.
REFUSED = {
    "providers": "providers: {x: {plugin: exec, command: touch {dir}/ran}}",
    "providers, a file": "providers: {x: {plugin: {dir}/x.so}}",
    "plugin_dir": "plugin_dir: {dir}",
    "catalogue": "catalogue: /etc/passwd",
    "api": "api: {listen: 127.0.0.1:1, token_file: /etc/passwd}",
    "head": "head: {kubernetes: {kubeconfig: /etc/passwd}}",
    "state": "state: {dir}/theirs.db",
    "ha": "ha: {namespace: kube-system}",
    "cluster": "cluster: somebody-elses",
    "node_types": "node_types: {t: {provider: exec}}",
    "by merge": "<<: {plugin_dir: {dir}}",
    "by JSON": '{"limits": {}, "api": {"listen": "0.0.0.0:1"}}',
    "unknown": "whatever: 1",
}


@pytest.fixture
def cluster(tmp_path):
    made = []

    def make(annotation):
        made.append(Cluster(tmp_path, annotation.replace("{dir}", str(tmp_path))))
        return made[-1]
    yield make
    for c in made:
        c.close()


def ended(p):
    p.send_signal(signal.SIGTERM)
    return p.wait(PATIENCE)


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("how", ["run", "doctor"])
def test_it_is_refused(cluster, tmp_path, how, what):
    c = cluster(REFUSED[what])
    p = c.start(how)
    try:
        assert p.wait(PATIENCE) not in (0, 1), c.text()
    finally:
        p.kill()
        p.wait()
    assert "annotation davit.io/config may hold limits and queues only, got" in c.text()
    assert not (tmp_path / "ran").exists() and not (tmp_path / "theirs.db").exists()


def test_the_sidecar_waits_for_a_better_one_and_keeps_what_it_has(cluster, tmp_path):
    c = cluster(REFUSED["providers"])
    p = c.start("sidecar")
    try:
        until(lambda: "may hold limits and queues only" in c.text())
        assert p.poll() is None
        c.annotate("limits: {max_nodes: 3}")

        def limit():
            try:
                with OPENER.open(f"http://127.0.0.1:{c.port}/v1/status", timeout=30) as r:
                    return json.load(r)["limits"]["max_nodes"]
            except OSError:
                return None
        until(lambda: limit() == 3)
        mark = len(c.text())
        c.annotate(REFUSED["plugin_dir"])
        until(lambda: "may hold limits and queues only" in c.text()[mark:])
        assert limit() == 3
    finally:
        assert ended(p) == 0, c.text()
    assert not (tmp_path / "ran").exists()


def test_the_operators_settings_go_over_it(cluster, tmp_path):
    """--settings: the word of who runs davit, also where the annotation says another."""
    (tmp_path / "token").write_text("sesame-sesame-sesame")
    (tmp_path / "token").chmod(0o600)
    (tmp_path / "settings.yaml").write_text("limits: {max_nodes: 2}\napi: {token_file: token}\n")
    c = cluster("limits: {max_nodes: 9, idle_timeout: 7s}")
    p = c.start("sidecar", "--settings", "settings.yaml")
    try:
        ask = urllib.request.Request(f"http://127.0.0.1:{c.port}/v1/status",
                                     headers={"Authorization": "Bearer sesame-sesame-sesame"})

        def limits():
            try:
                with OPENER.open(ask, timeout=30) as r:
                    return json.load(r)["limits"]
            except OSError:
                return None
        got = until(limits)
        assert got["max_nodes"] == 2 and got["idle_timeout_s"] == 7
        with pytest.raises(urllib.error.HTTPError):
            OPENER.open(f"http://127.0.0.1:{c.port}/v1/status", timeout=30)
    finally:
        assert ended(p) == 0, c.text()


def test_doctor_with_a_token_inside_the_kubeconfig(cluster):
    """Its plug-in can use that token: a list call shows it."""
    c = cluster("limits: {max_nodes: 3}")
    p = c.start("doctor")
    p.wait(PATIENCE)
    assert "ok    provider k8s: k8s " in c.text(), c.text()
    assert {x[3] for x in c.world.sent} == {"Bearer canary-token-7d3f0c"}
