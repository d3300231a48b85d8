"""Davit as the autoscaler container of a head pod, started as the kubelet would.

    with Sidecar(plane, "raycluster-gpu", tmp_path) as s: ...

The container is read from the head pod that the operator made: command, args
and environment with its field references; the program named `ray` in its PATH
is davit; the service account's files and environment are the pod's.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import urllib.request

from lib import DAVIT, PATIENCE
from lib.clocks import Clocks
from lib.kube import clusters_path, pods_path, until

METRICS = 44217  # KubeRay's


class Sidecar:
    def __init__(self, plane, cluster, folder, namespace="default", start=True, **env):
        self.plane, self.cluster, self.namespace = plane, cluster, namespace
        self.dir = pathlib.Path(folder)
        self.mark = plane.audit_mark()
        self.bin = self.dir / "bin"
        self.bin.mkdir(parents=True, exist_ok=True)
        if not (self.bin / "ray").exists():
            (self.bin / "ray").symlink_to(pathlib.Path(DAVIT).resolve())
        self.clocks = Clocks(self.dir)
        self.more, self.p, self.wanted = env, None, start
        (self.dir / "log").touch()

    def __enter__(self):
        if self.wanted:
            self.start()
        return self

    def __exit__(self, *_):
        print(f"---- the sidecar's log\n{self.text()[-8000:]}")  # pytest shows it when the test failed
        self.stop()

    # ---- as the kubelet does it

    def container(self):
        pod = until(lambda: next(iter(self.plane.client.get(pods_path(self.namespace, labelSelector=(
            f"ray.io/cluster={self.cluster},ray.io/node-type=head")))["items"]), None), why="a head pod")
        return pod, next(c for c in pod["spec"]["containers"] if c["name"] == "autoscaler")

    def environment(self, pod, container):
        mount, env = self.plane.mount_for(self.namespace, pod["spec"]["serviceAccountName"])
        env.update({k: v for k, v in os.environ.items()
                    if k in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "DAVIT_NETNS")})
        env.update(PATH=f"{self.bin}:/usr/bin:/bin", HOME=str(self.dir), DAVIT_SERVICEACCOUNT_DIR=str(mount),
                   DAVIT_STATE=str(self.dir / "davit.db"),  # a pod's own empty directory
                   DAVIT_PLUGIN_DIR=str(pathlib.Path(DAVIT).resolve().parent / "plugins"))
        for e in container["env"]:
            env[e["name"]] = e.get("value") or field(pod, e["valueFrom"]["fieldRef"]["fieldPath"])
        env.update(self.clocks.env)
        env.update(self.more)
        return env

    def start(self):
        pod, container = self.container()
        env = self.environment(pod, container)

        def expand(text):
            return re.sub(r"\$\((\w+)\)", lambda m: env.get(m[1], m[0]), text)
        argv = [expand(a) for a in container["command"] + container["args"]]
        with open(self.dir / "log", "ab") as out:
            self.p = subprocess.Popen(argv, env=env, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        return self

    def stop(self, hard=False):
        if self.p and self.p.poll() is None:
            self.p.send_signal(signal.SIGKILL if hard else signal.SIGTERM)
            try:
                self.p.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.p.kill()
                self.p.wait()
                raise
        return self.p and self.p.returncode

    # ---- to be seen

    def lives(self):
        return self.p.poll() is None

    def steps(self):
        def told():
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{METRICS}/metrics", timeout=PATIENCE) as r:
                return re.search(r"^davit_steps_total (\d+)", r.read().decode(), re.M)
        return int(until(told, why=self.text)[1])

    def stays(self, what, seconds, why=""):
        """True while so much of its own time goes by (Daemon.later()).  It reads the head each second of it, and makes a step for
        each answer: two of them, so that one of them began in this second."""
        for _ in range(seconds):
            before = self.steps()
            for _ in range(4):
                self.clocks.ahead(250)
                assert what(), f"{why() if callable(why) else why}\n{self.text()[-4000:]}"
            until(lambda before=before: self.steps() > before + 1, why=self.text)
        assert what(), f"{why() if callable(why) else why}\n{self.text()[-4000:]}"

    def text(self):
        return (self.dir / "log").read_text(errors="replace")

    def patches(self, since=None):
        """The writes to the RayCluster by this pod's account, since it was made."""
        since = self.mark if since is None else since
        return self.plane.audit(since, verb="patch", resource="rayclusters", user=self.cluster)

    def cpu_s(self):
        return sum(int(x) for x in self.stat()[11:13]) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self):
        return int(pathlib.Path(f"/proc/{self.pid()}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def anon_mib(self):
        """Of it what is no file's: libraries, and what runs, are shared with others who use them."""
        status = pathlib.Path(f"/proc/{self.pid()}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024

    def stat(self):
        return pathlib.Path(f"/proc/{self.pid()}/stat").read_text().rsplit(")", 1)[1].split()

    def pid(self):
        """Davit's own: bash may have become it, or be its parent."""
        children = pathlib.Path(f"/proc/{self.p.pid}/task/{self.p.pid}/children").read_text().split()
        exe = os.readlink(f"/proc/{self.p.pid}/exe")
        return int(children[0]) if children and "bash" in os.path.basename(exe) else self.p.pid


def field(pod, path):
    found = re.fullmatch(r"metadata\.labels\['(.+)'\]", path)
    if found:
        return pod["metadata"]["labels"][found[1]]
    got = pod
    for part in path.split("."):
        got = got[part]
    return got


def worker_specs(plane, cluster, namespace="default"):
    return {g["groupName"]: g for g in
            plane.client.get(clusters_path(namespace, cluster))["spec"]["workerGroupSpecs"]}
