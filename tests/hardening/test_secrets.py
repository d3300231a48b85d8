"""Secrets that are planted where davit is told to look for them, and then looked
for everywhere else: in children, files, logs and records."""
import json
import os
import pathlib
import signal
import sys
import urllib.request

from hardening.rig import Cluster
from lib import PATIENCE, until
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
