"""Secrets that are planted where davit is told to look for them, and then looked
for everywhere else: in children, files, logs and records."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.request

import pytest
from hardening.rig import Cluster
from lib import DAVIT, PATIENCE, until
from lib.daemon import Daemon

CANARY = "canary-5b1e77c0"
ENV = {"AWS_SECRET_ACCESS_KEY": f"{CANARY}-aws", "AWS_SESSION_TOKEN": f"{CANARY}-session", "AZURE_CLIENT_SECRET": f"{CANARY}-az",
       "GOOGLE_OAUTH_ACCESS_TOKEN": f"{CANARY}-g", "RAY_AUTH_TOKEN": f"{CANARY}-ray", "MY_OWN_SECRET": f"{CANARY}-mine",
       "ALL_PROXY": f"http://user:{CANARY}@127.0.0.1:9/", "NOTIFY_SOCKET": "/nowhere", "PASSED_ON": "yes", "LANG": "C.UTF-8"}

PROGRAM = '''import json, os, sys
with open(sys.argv[1], "w") as f:
    json.dump({"env": dict(os.environ), "limits": open("/proc/self/limits").read(), "status": open("/proc/self/status").read()}, f)
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "status": "OK"}), flush=True)
'''

CONFIG = """cluster: c
state: {dir}/state.db
api: {listen: "127.0.0.1:{port}"}
providers: {mine: {plugin: exec, command: [%s, "{dir}/program.py", "{dir}/seen"], pass_env: [PASSED_ON, NOT_THERE]}}
node_types: {t: {provider: mine, resources: {CPU: 1}, max: 1}}
"""


def holds(folder, text, but=()):
    """Files below a folder that hold a text."""
    found = []
    for path in pathlib.Path(folder).rglob("*"):
        if path.is_file() and path.name not in but and text.encode() in path.read_bytes():
            found.append(str(path))
    return found


def test_a_child_gets_no_secret(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    with Daemon(tmp_path, CONFIG % sys.executable, args=["--record", str(tmp_path / "record"), "--verbose"], env=ENV) as d:
        d.post({"bundles": [{"CPU": 1}]})
        seen = until(lambda: (tmp_path / "seen").exists() and json.loads((tmp_path / "seen").read_text() or "null"))
        assert CANARY not in json.dumps(seen["env"])
        assert seen["env"]["PASSED_ON"] == "yes" and seen["env"]["LANG"] == "C.UTF-8" and "PATH" in seen["env"]
        assert "NOTIFY_SOCKET" not in seen["env"]
        assert "NoNewPrivs:\t1" in seen["status"]
        until(lambda: list((tmp_path / "record").glob("*")))
        for path in ("/v1/status", "/metrics"):
            assert CANARY not in str(d.get(path))
    assert not holds(tmp_path, CANARY)


def test_the_daemon_leaves_no_core(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    with Daemon(tmp_path, CONFIG % sys.executable, env=ENV) as d:
        limits = pathlib.Path(f"/proc/{d.p.pid}/limits").read_text()
        core = next(line for line in limits.splitlines() if line.startswith("Max core file size"))
        assert core.split()[4:6] == ["0", "0"], core
        assert "NoNewPrivs:\t1" in pathlib.Path(f"/proc/{d.p.pid}/status").read_text()


def test_nothing_of_a_kubeconfig_is_on_disk_after_kill(tmp_path):
    token = CANARY + "-kube"
    c = Cluster(tmp_path, "limits: {max_nodes: 1}", token=token)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def serves():
        try:
            return opener.open(f"http://127.0.0.1:{c.port}/v1/status", timeout=30).status == 200
        except OSError:
            return False
    p = c.start("sidecar", "--verbose")
    try:
        until(serves)
        until(lambda: any(x[3] == f"Bearer {token}" for x in c.world.sent))
        os.kill(p.pid, signal.SIGKILL)
    finally:
        p.kill()
        p.wait(PATIENCE)
        c.close()
    assert not list(c.tmp.rglob("*")), "left in the temporary folder"
    assert not holds(tmp_path, token, but=["kubeconfig"])


SHARED = """cluster: c
state: {dir}/state.db
api: {listen: "127.0.0.1:{port}"}
head: {kubernetes: {kubeconfig: "{dir}/kubeconfig"}}
providers: {mine: {plugin: exec, command: [%s, "{dir}/program.py", "{dir}/seen"], options: {client_secret: canary}}}
node_types: {t: {provider: mine, resources: {CPU: 1}, max: 1}}
"""
RAY = """cluster: c
state: {dir}/state.db
api: {listen: "127.0.0.1:{port}"}
head: {ray: {address: "127.0.0.1:9", token_file: "{dir}/ray-token"}}
node_types: {t: {resources: {CPU: 1}, max: 1}}
"""


@pytest.mark.parametrize("name, what, text, open_mode", [
    ("kubeconfig", "the kubeconfig", SHARED, 0o666), ("davit.yaml", "the configuration", SHARED, 0o644), ("ray-token", "Ray's token", RAY, 0o666)])
def test_secrets_that_others_may_read_are_told(tmp_path, name, what, text, open_mode):
    """By the daemon (log, status, readyz) and by doctor, until the file is for us alone; they are no secret in the words."""
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "ray-token").write_text("a" * 40)
    c = Cluster(tmp_path)
    d = Daemon(tmp_path, text % sys.executable if "%s" in text else text, start=False)
    for file in ("kubeconfig", "davit.yaml", "ray-token"):
        (tmp_path / file).chmod(0o600)

    def told():
        d.start(wait="/healthz")
        d.until(lambda: d.get("/v1/status")[0] == 200)
        found = [p for p in d.get("/v1/status")[1]["problems"] if "every user of this machine" in p]
        assert found == [p for p in d.get("/readyz")[1]["problems"] if "every user of this machine" in p]
        d.kill()
        doctor = subprocess.run([DAVIT, "doctor", str(d.path)], cwd=tmp_path, env=d.env, capture_output=True, text=True, timeout=PATIENCE).stdout
        assert ("every user of this machine" in doctor) == bool(found), (found, doctor)
        return found
    try:
        assert told() == []
        (tmp_path / name).chmod(open_mode)
        found, = told()
        assert found.startswith(f"{what} {tmp_path / name} may be ") and f"mode {open_mode:04o}" in found and "chmod o-rwx" in found, found
        assert ("read and written" in found) == (open_mode == 0o666)
        assert found in d.text() and "canary" not in found
    finally:
        c.close()
