"""The AKS plug-in under test: its configuration, and a driver that calls it as the daemon does."""
import json
import os
import pathlib
import select
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "integration")]

from aks_cloud import CLUSTER, GROUP, SUB  # noqa: E402
from aks_server import CLIENT  # noqa: E402

VARIANT = os.environ.get("DAVIT_VARIANT", "release")
BUILD = ROOT / "build" / VARIANT
QUICK = "poll: 20ms, wait: 5s, reads: {every: 0}, writes: {every: 0}"
CONFIG = """
cluster: aks-test
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 2000}
providers:
  aks: {subscription: %(sub)s, resource_group: %(group)s, cluster: %(name)s, endpoint: "%(url)s", authority: "%(url)s",
        imds: "%(url)s"%(options)s}
node_types:
  t4: {provider: aks, resources: {CPU: 4, GPU: 1, memory: 28Gi}, accelerator_type: T4, price: 0.6, max: 1500%(t4)s}
  cpu: {provider: aks, pool: cpu, resources: {CPU: 8, memory: 32Gi}, price: 0.4, max: 40}
%(more)s
"""


def config(server, options=QUICK, t4="pool: gpu", more=""):
    return CONFIG % {"plugins": BUILD / "plugins", "url": server.url, "options": options and ", " + options,
                     "t4": t4 and ", " + t4, "more": more, "sub": SUB, "group": GROUP, "name": CLUSTER}


def environment(**kw):
    """No credentials but the test cloud's metadata service, and no proxy."""
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and not k.startswith("AZURE_")}
    return {**env, "AZURE_CLIENT_ID": CLIENT, **kw}


class Drive:
    def __init__(self, binary, directory, text, env):
        path = directory / "davit.yaml"
        path.write_text(text.replace("{dir}", str(directory)).replace("{port}", "0"))
        self.errors = open(directory / "drive.err", "w+")
        self.p = subprocess.Popen([binary, path, "aks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                  text=True, cwd=directory, env=env)

    def call(self, op, **kw):
        self.p.stdin.write(json.dumps({"op": op, **kw}) + "\n")
        self.p.stdin.flush()
        ready, _, _ = select.select([self.p.stdout], [], [], 60)
        assert ready, "no answer within 60 s"
        line = self.p.stdout.readline()
        assert line, self.text()
        return json.loads(line)

    def text(self):
        self.errors.seek(0)
        return self.errors.read()

    def list(self, phase=None):
        r = self.call("list")
        assert r["status"] == "OK", r
        return [m for m in r["machines"] if phase in (None, m["phase"])]

    def launch(self, count=1, request="davit-00112233445566778899", type="t4", zone="", **kw):
        return self.call("launch", count=count, request=request, type=type, zone=zone, **kw)

    def end(self, *ids):
        return self.call("terminate", ids=list(ids))

    def until(self, what, seconds=10):
        end = time.monotonic() + seconds
        while True:
            got = what()
            if got:
                return got
            assert time.monotonic() < end, (self.call("list"), self.text()[-2000:])
            time.sleep(0.02)

    def running(self, n):
        return self.until(lambda: (lambda v: v if len(v) == n else None)(self.list("RUNNING")))

    def failed(self, n):
        return self.until(lambda: (lambda v: v if len(v) == n else None)(self.list("FAILED")))

    def close(self):
        self.p.stdin.close()
        code = self.p.wait(20)
        text = self.text()
        self.p.stdout.close()
        self.errors.close()
        assert code == 0 and "Sanitizer" not in text, (code, text)
        assert "eyTOKEN" not in text and "secret-1" not in text, "a token or secret is in the log"
