"""What the EKS tests share: the cloud's process, the driver's, a daemon's set-up."""
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent

from lib import BUILD, drive

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


class Drive(drive.Drive):
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
        super().__init__(tmp, text, name, env or environment(tmp))

    def launch(self, request, count=1, type="gpu", zone="", **kw):
        return super().launch(count, request, type, zone, **kw)
