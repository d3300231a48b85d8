"""What the EKS tests share: the cloud's process, the driver's, a daemon's set-up."""
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("DAVIT_BUILD", ROOT / "build" / "release"))
sys.path.insert(0, str(ROOT / "tests" / "integration"))
AK, SK = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
ENV = {"AWS_ACCESS_KEY_ID": AK, "AWS_SECRET_ACCESS_KEY": SK}


def environment(tmp, keys=True, **more):
    """This process's, without any AWS settings of its owner."""
    e = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
    e.update(AWS_SHARED_CREDENTIALS_FILE=str(tmp / "credentials"), AWS_CONFIG_FILE=str(tmp / "config"),
             no_proxy="127.0.0.1", DAVIT_PLUGIN_DIR=str(BUILD / "plugins"))
    if keys:
        e.update(ENV)
    e.update({k: v for k, v in more.items() if v is not None})
    return e


class Cloud:
    """tests/clouds/eks/eks_cloud.py, a process of our own."""

    def __init__(self):
        e = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        self.p = subprocess.Popen([sys.executable, str(HERE / "eks_cloud.py")], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True, env=e)
        self.port = json.loads(self.p.stdout.readline())["port"]
        self.url = f"http://127.0.0.1:{self.port}"
        self.n = 0

    def __getattr__(self, name):
        def ask(**arg):
            r = urllib.request.Request(f"{self.url}/_test/{name}", json.dumps(arg).encode(), method="POST")
            try:
                with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(r, timeout=120) as f:
                    return json.loads(f.read())
            except urllib.error.HTTPError as e:
                raise AssertionError(f"{name}: {e.read().decode()}") from None
        return ask

    def fresh(self, **pools):
        """A cluster of its own; keys are node groups ('_' for '-')."""
        self.n += 1
        self.clear()
        self.names = {k: f"{k.replace('_', '-')}-{self.n}" for k in pools}
        self.cluster = f"c{self.n}"
        self.setup(cluster=self.cluster, pools={self.names[k]: {"zones": ["us-east-1a"], **v} for k, v in pools.items()})
        return self

    def at(self, pool):
        return self.see(pool=self.names[pool])

    def actions(self, since=0):
        return [x["action"] for x in self.log(since=since)]

    def stop(self):
        self.p.stdin.close()
        self.p.wait(20)
        self.p.stdout.close()


class Drive:
    """build/.../tests/eks_drive on a configuration."""

    def __init__(self, tmp, cloud, types, options="", env=None, name="eks"):
        text = f"""
cluster: drive
providers:
  {name}: {{region: us-east-1, cluster: {cloud.cluster}, endpoint: "{cloud.url}"{options}}}
node_types:
{types}
"""
        if "region: none" in text:
            text = text.replace("region: us-east-1, ", "").replace(", region: none", "")
        path = tmp / "drive.yaml"
        path.write_text(text)
        self.err = open(tmp / "drive.err", "w+")
        self.p = subprocess.Popen([str(BUILD / "tests" / "eks_drive"), str(path), name], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=self.err, text=True,
                                  env=env or environment(tmp))

    def send(self, **cmd):
        self.p.stdin.write(json.dumps(cmd) + "\n")
        self.p.stdin.flush()

    def take(self):
        line = self.p.stdout.readline()
        assert line, self.said()
        return json.loads(line)

    def ask(self, op, **cmd):
        self.send(op=op, **cmd)
        return self.take()

    def list(self, **kw):
        r = self.ask("list", **kw)
        assert r["status"] == "OK", r
        return r["machines"]

    def launch(self, request, count=1, type="gpu", zone="", **kw):
        return self.ask("launch", type=type, zone=zone, count=count, request=request, **kw)

    def terminate(self, *ids, **kw):
        return self.ask("terminate", ids=list(ids), **kw)

    def said(self):
        self.err.flush()
        self.err.seek(0)
        return self.err.read()

    def stop(self):
        self.p.stdin.close()
        code = self.p.wait(20)
        text = self.said()
        self.err.close()
        self.p.stdout.close()
        assert code == 0, text
        return text

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.p.kill()
            self.p.wait()


def until(what, seconds=20, why="it did not happen"):
    end = time.monotonic() + seconds
    while True:
        got = what()
        if got:
            return got
        assert time.monotonic() < end, why
        time.sleep(0.05)
