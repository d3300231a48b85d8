"""What the GKE tests share: the plug-in, driven through the daemon's own call layer."""
import json
import os
import pathlib
import select
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
VARIANT = os.environ.get("DAVIT_VARIANT", "release")
BUILD = ROOT / "build" / VARIANT
CONFIG = """
cluster: gke-test
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 2000}
providers:
  gke: {project: my-proj, location: us-central1, cluster: c1, endpoint: "%(url)s"%(options)s}
node_types:
  t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, max: 1500%(t4)s}
  cpu: {provider: gke, pool: cpu, machine: e2-standard-8, max: 40}
%(more)s
"""


def config(server, options="", t4="", more=""):
    return CONFIG % {"plugins": BUILD / "plugins", "url": server.url, "options": options and ", " + options,
                     "t4": t4 and ", " + t4, "more": more}


def environment(server, **kw):
    """No credentials but the test cloud's metadata server, and no proxy."""
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    env.pop("GOOGLE_APPLICATION_CREDENTIALS", None)
    env.update({"GCE_METADATA_HOST": server.url.removeprefix("http://"), "CLOUDSDK_CONFIG": "/nonexistent", **kw})
    return env


class Drive:
    def __init__(self, binary, directory, text, env):
        path = directory / "davit.yaml"
        path.write_text(text.replace("{dir}", str(directory)).replace("{port}", "0"))
        self.errors = open(directory / "drive.err", "w+")
        self.p = subprocess.Popen([binary, path, "gke"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
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

    def close(self):
        self.p.stdin.close()
        code = self.p.wait(20)
        text = self.text()
        self.p.stdout.close()
        self.errors.close()
        assert code == 0 and "Sanitizer" not in text, (code, text)
