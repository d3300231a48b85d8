"""A real daemon with the local provider, for tests with a real Ray head."""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import plugin
import raycluster

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
# DAVIT_BIN=build/debug/davit: the daemon under ASan and UBSan; the plug-in is
# loaded into Python, too, and stays the plain one.
DAVIT = pathlib.Path(os.environ.get("DAVIT_BIN", BUILD / "davit")).resolve()

# Prices differ, so that what is cheapest is never what a test wants by chance.
TYPES = {
    "cpu": {"resources": {"CPU": 2}, "price": 0.10, "max": 3},
    "k80": {"resources": {"CPU": 1, "GPU": 1}, "accelerator_type": "K80", "price": 0.30, "max": 4},
    "t4": {"resources": {"CPU": 1, "GPU": 1}, "accelerator_type": "T4", "price": 0.50, "max": 4},
}


class Daemon:
    """davit run on a directory of its own; what it launched ends with close()."""

    def __init__(self, ray, types=None, port=8790, address=None, options=None,
                 environment=None, queues=None, args=(), providers=None, **limits):
        self.ray, self.port = ray, port
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="davit-e2e-"))
        self.temp = pathlib.Path(tempfile.mkdtemp(prefix="dv-"))
        self.types = types or TYPES
        self.queues, self.args = queues, list(args)
        self.providers = providers or {}      # beside local
        self.environment = {**ray.environment(), **(environment or {}),
                            "DAVIT_URL": f"http://127.0.0.1:{port}", "DAVIT_PLUGIN_DIR": str(BUILD / "plugins")}
        self.environment = {k: v for k, v in self.environment.items() if v is not None}
        self.options = {"dir": str(self.dir / "machines"), "temp_dir": str(self.temp),
                        "object_store_memory": "80M", "args": "--include-log-monitor=false", **(options or {})}
        self.address = address or ray.address
        self.limits = {"idle_timeout": "3s", "start_timeout": "60s", **limits}
        self.process = None

    def write_config(self):
        config = {"cluster": "e2e", "head": {"ray": {"address": self.address}},
                  "api": {"listen": f"127.0.0.1:{self.port}"}, "state": str(self.dir / "davit.db"),
                  "limits": self.limits, "providers": {"local": self.options, **self.providers},
                  "node_types": self.types}
        if self.queues:
            config["queues"] = self.queues
        (self.dir / "davit.yaml").write_text(json.dumps(config, indent=1))  # JSON is YAML

    def __enter__(self):
        self.write_config()
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(f"---- the daemon's log\n{self.log()}")
        self.close()

    def start(self, ready=True):
        with open(self.dir / "log", "ab") as out:
            self.process = subprocess.Popen([DAVIT, "run", *self.args, self.dir / "davit.yaml"], env=self.environment,
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.dir)
        self.wait(lambda: self.answers("/readyz" if ready else "/healthz"), 15, "the daemon")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(20) == 0

    def handle(self):
        """The provider itself, as the daemon has it."""
        return plugin.Plugin(BUILD / "plugins" / "davit-local.so").open(
            cluster="e2e", head=self.address, options=self.options)

    def close(self):
        if not self.dir.exists():
            return
        try:
            if self.process is not None and self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
                try:
                    self.process.wait(20)
                except subprocess.TimeoutExpired:
                    self.process.kill()
                    self.process.wait()
            provider = self.handle()
            ids = [m["id"] for m in provider.list()]
            ended = provider.terminate(ids, timeout=60)
            assert set(ended.values()) <= {"OK"}, ended
            provider.close()
            # the head has seen them go, so that the next test starts with none
            self.ray.wait(lambda: not self.ray_nodes(), 20, "the head without nodes")
        finally:
            subprocess.run(["rm", "-rf", self.dir, self.temp], check=True)
            self.process = None

    # -- asking

    def answers(self, path):
        try:
            return self.api("GET", path)[0] == 200
        except OSError:
            return False

    def api(self, method, path, body=None, timeout=20):
        """(status, reply)"""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, json.dumps(body) if body is not None else None,
                      {"content-type": "application/json"})
            reply = c.getresponse()
            text = reply.read()
        finally:
            c.close()
        return reply.status, json.loads(text) if "json" in reply.getheader("content-type", "") else text.decode()

    def get(self, path):
        status, reply = self.api("GET", path)
        assert status == 200, reply
        return reply

    def request(self, bundles, owner="default", **more):
        status, reply = self.api("POST", "/v1/request_resources", {"owner": owner, "bundles": bundles, **more})
        assert status in (200, 202), reply
        return reply

    def cli(self, *args, code=0):
        done = subprocess.run([DAVIT, *args], env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def nodes(self, *states):
        """Our nodes as the daemon has them: {type: how many}; in these states."""
        found = {}
        for n in self.get("/v1/nodes")["nodes"]:
            if not n["head"] and not n["foreign"] and (not states or n["state"] in states):
                found[n["type"]] = found.get(n["type"], 0) + 1
        return found

    def ray_nodes(self):
        """The head's living nodes, without the head's own: {instance: node}."""
        return {n.instance_id: n for n in self.ray.nodes(dead=False) if not n.head}

    def ever(self):
        """Instances that ever joined the head and are of this test's daemon."""
        mine = {e["subject"] for e in self.events() if e["kind"].startswith("node.")}
        return {n.instance_id for n in self.ray.nodes() if n.instance_id}, mine

    def events(self, *kinds):
        """Events of this daemon's life and of those before it."""
        found = []
        for line in (self.dir / "log").read_text().splitlines():
            words = line.split(None, 3)
            if len(words) >= 3 and "." in words[2] and (not kinds or words[2] in kinds):
                found.append({"kind": words[2], "text": words[3] if len(words) > 3 else ""})
        return found

    def log(self):
        return (self.dir / "log").read_text()

    # -- waiting

    def wait(self, condition, timeout, what):
        until = time.monotonic() + timeout
        while True:
            if self.process.poll() is not None:
                raise AssertionError(f"{what}: the daemon ended ({self.process.returncode})\n{self.log()}")
            value = condition()
            if value:
                return value
            if time.monotonic() > until:
                raise AssertionError(f"{what}: not within {timeout} s")
            time.sleep(0.1)

    def wait_nodes(self, want, timeout=45):
        """Until exactly these nodes are ready and no others are there; fails
        at once when a type ever has more."""
        def look():
            have = self.nodes()
            for t, n in have.items():
                assert n <= want.get(t, 0) or want == {}, f"wanted {want}, there are {have}"
            return have == want and self.nodes("ready") == want
        self.wait(look, timeout, f"nodes {want}")

    def hold(self, want, seconds):
        """Exactly these are ready, and stay so."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert self.nodes("ready") == want == self.nodes()
            time.sleep(0.2)
