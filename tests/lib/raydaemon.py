"""The real daemon with a real Ray head and the local provider: its machines are raylets."""
import datetime
import json
import pathlib
import shutil
import tempfile

from lib import ROOT, plugin
from lib.daemon import Daemon


# The plug-in is loaded into Python, too: the plain one, whatever the daemon is.
PLUGINS = ROOT / "build" / "release" / "plugins"

# Prices differ, so that what is cheapest is never what a test wants by chance.
TYPES = {
    "cpu": {"resources": {"CPU": 2}, "price": 0.10, "max": 3},
    "k80": {"resources": {"CPU": 1, "GPU": 1}, "accelerator_type": "K80", "price": 0.30, "max": 4},
    "t4": {"resources": {"CPU": 1, "GPU": 1}, "accelerator_type": "T4", "price": 0.50, "max": 4},
}


class RayDaemon(Daemon):
    """In a directory of its own; what it launched ends with close()."""

    def __init__(self, ray, types=None, address=None, options=None, environment=None, queues=None, args=(),
                 providers=None, **limits):
        self.ray, self.address = ray, address or ray.address
        directory = tempfile.mkdtemp(prefix="davit-e2e-")
        self.temp = pathlib.Path(tempfile.mkdtemp(prefix="dv-"))
        self.options = {"dir": f"{directory}/machines", "temp_dir": str(self.temp), "object_store_memory": "80M",
                        "args": "--include-log-monitor=false", **(options or {})}
        config = {"cluster": "e2e", "head": {"ray": {"address": self.address}}, "api": {"listen": "127.0.0.1:{port}"},
                  "state": "{dir}/davit.db", "limits": {"idle_timeout": "3s", "start_timeout": "60s", **limits},
                  "providers": {"local": self.options, **(providers or {})}, "node_types": types or TYPES}
        if queues:
            config["queues"] = queues
        self.plans = pathlib.Path(directory) / "plans"
        record = [] if "--record" in args else ["--record", str(self.plans)]
        super().__init__(directory, json.dumps(config, indent=1), [*args, *record], start=False,  # JSON is YAML
                         env={**ray.environment(), "DAVIT_PLUGIN_DIR": str(PLUGINS), **(environment or {})})

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.story())
        self.close()

    def start(self, wait="/readyz"):
        return super().start(wait)

    def handle(self):
        """The provider itself, as the daemon has it."""
        return plugin.Plugin(PLUGINS / "davit-local.so").open(cluster="e2e", head=self.address, options=self.options)

    def close(self):
        if not self.dir.exists():
            return
        try:
            self.stop()
            provider = self.handle()
            ids = [m["id"] for m in provider.list()]
            ended = provider.terminate(ids, timeout=60)
            assert set(ended.values()) <= {"OK"}, ended
            provider.close()
            # the head has seen them go, so that the next test starts with none
            self.ray.wait(lambda: not self.ray_nodes(), 60, "the head without nodes")
        finally:
            shutil.rmtree(self.dir)
            shutil.rmtree(self.temp)

    def story(self, plans=8):
        """What a failed test is looked into with: the log, and of the last plans that asked for something what waited
        and what was free."""
        lines = ["---- the daemon's log", self.text()]
        for path in sorted(self.plans.glob("*.json"), key=lambda p: int(p.name.split("-")[0]))[-plans:]:
            plan = json.loads(path.read_text())
            lines += [f"---- {path.name}", *(f"demand {json.dumps(d)}" for d in plan["demands"]),
                      *(f"node {json.dumps(n)}" for n in plan["nodes"]), f"plan {json.dumps(plan['plan'])[:1000]}"]
        return "\n".join(lines)

    # -- asking

    def request(self, bundles, owner="default", **more):
        return self.post({"owner": owner, "bundles": bundles, **more})

    def count(self, *states):
        """Our nodes as the daemon has them: {type: how many}; in these states."""
        found = {}
        for n in self.nodes():
            if not n["head"] and not n["unmanaged"] and (not states or n["state"] in states):
                found[n["type"]] = found.get(n["type"], 0) + 1
        return found

    def ray_nodes(self):
        """The head's living nodes, without the head's own: {instance: node}."""
        return {n.instance_id: n for n in self.ray.nodes(dead=False) if not n.head}

    def logged(self, *kinds):
        """Events of this daemon's life and of those before it: [{"at", "kind", "text"}]."""
        found = []
        for line in self.text().splitlines():
            words = line.split(None, 3)
            if len(words) >= 3 and "." in words[2] and (not kinds or words[2] in kinds):
                found.append({"at": datetime.datetime.fromisoformat(words[0]).timestamp(), "kind": words[2],
                              "text": words[3] if len(words) > 3 else ""})
        return found

    def started(self):
        """Every node there ever was: {type: how many}.  What is there now may be gone when a slow test looks."""
        found = {}
        for e in self.logged("node.starting"):
            kind = e["text"].split(":")[0].rsplit("-", 2)[0]
            found[kind] = found.get(kind, 0) + 1
        return found

    # -- waiting

    def until(self, what, *args, **kw):
        """A daemon that ended is not waited for."""
        def alive():
            assert self.p.poll() is None, f"the daemon ended ({self.p.returncode})\n{self.text()}"
            return what()
        return super().until(alive, *args, **kw)

    def until_nodes(self, want):
        """Until exactly these nodes are ready and no others are there; fails
        at once when a type ever has more."""
        def look():
            have = self.count()
            for t, n in have.items():
                assert n <= want.get(t, 0) or want == {}, f"wanted {want}, there are {have}"
            return have == want and self.count("ready") == want
        self.until(look, why=f"nodes {want}")

    def hold(self, want, seconds):
        """Exactly these are ready, and stay so, for so much of its time."""
        self.stays(lambda: self.count("ready") == want == self.count(), seconds)
