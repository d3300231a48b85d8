"""A RayCluster on a fake API server (lib/kube_fake.py), and davit as its
autoscaler: `run`, `doctor` and the sidecar, each with a kubeconfig whose token
lies inside the file."""
import json
import pathlib
import subprocess

from lib import BUILD, DAVIT, free_port, kube_fake

TOKEN = "canary-token-7d3f0c"


class Cluster:
    def __init__(self, folder, annotation=None, token=TOKEN):
        self.dir = pathlib.Path(folder)
        self.world = kube_fake.World(groups=[kube_fake.group(high=2)])
        if annotation is not None:
            self.annotate(annotation)
        self.server = kube_fake.serve(self.world)
        url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.kubeconfig = self.dir / "kubeconfig"
        self.kubeconfig.write_text(json.dumps(
            {"apiVersion": "v1", "kind": "Config", "current-context": "c",
             "clusters": [{"name": "k", "cluster": {"server": url}}],
             "users": [{"name": "u", "user": {"token": token}}],
             "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
        self.tmp = self.dir / "tmp"
        self.tmp.mkdir()
        self.port = free_port()
        self.env = {"KUBECONFIG": str(self.kubeconfig), "no_proxy": "127.0.0.1", "PATH": "/usr/bin:/bin",
                    "DAVIT_STATE": str(self.dir / "davit.db"), "DAVIT_LISTEN": f"127.0.0.1:{self.port}",
                    "AUTOSCALER_METRIC_PORT": str(free_port()), "XDG_RUNTIME_DIR": str(self.tmp), "TMPDIR": str(self.tmp),
                    "DAVIT_PLUGIN_DIR": str(BUILD / "plugins"), "RAY_ADDRESS": f"127.0.0.1:{free_port()}"}

    def annotate(self, text):
        with self.world.lock:
            self.world.cluster["metadata"]["annotations"] = {"davit.io/config": text}
            self.world.touch()

    def close(self):
        self.server.shutdown()

    def command(self, how, *args):
        if how == "sidecar":
            ray = self.dir / "ray"
            if not ray.exists():
                ray.symlink_to(pathlib.Path(DAVIT).resolve())
            return [ray, "kuberay-autoscaler", "--cluster-name", "raycluster", "--cluster-namespace", "default", *args]
        return [DAVIT, how, "--kuberay", "default/raycluster", *args]

    def start(self, how, *args, **env):
        log = open(self.dir / "log", "a")
        return subprocess.Popen(self.command(how, *args), env={**self.env, **env}, cwd=self.dir, stdin=subprocess.DEVNULL,
                                stdout=log, stderr=log)

    def text(self):
        return (self.dir / "log").read_text()
