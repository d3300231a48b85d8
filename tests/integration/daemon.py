"""The real daemon with a configuration of its own, for tests.

    with Daemon(tmp_path, yaml) as d:
        d.post({"bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 2)

Everything lives in tmp_path; the port is free at start; the daemon is ended by
its pid.  `kill()` is SIGKILL; `start()` starts it again on the same files.
"""
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DAVIT = os.environ.get("DAVIT", str(ROOT / "build" / "release" / "davit"))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Daemon:
    def __init__(self, directory, text, args=(), start=True, env=None, preexec=None):
        self.dir = pathlib.Path(directory)
        self.port = free_port()
        self.path = self.dir / "davit.yaml"
        self.args = list(args)
        self.env = dict(os.environ, **(env or {}))
        self.preexec = preexec
        self.p = None
        self.write(text)
        if start:
            self.start()

    # ---- life

    def write(self, text):
        """The configuration; {dir} and {port} stand for ours."""
        new = self.path.with_suffix(".new")
        new.write_text(text.replace("{dir}", str(self.dir)).replace("{port}", str(self.port)))
        new.replace(self.path)

    def start(self, wait=True):
        self.log = open(self.dir / "log", "a")
        self.p = subprocess.Popen([DAVIT, "run", "--config", str(self.path), *self.args], cwd=self.dir,
                                  stdout=self.log, stderr=self.log, env=self.env, preexec_fn=self.preexec)
        if wait:
            self.until(self.answers, 10, "the daemon does not answer")
        return self

    def answers(self):
        assert self.p.poll() is None, f"the daemon ended with {self.p.returncode}:\n{self.text()}"
        try:
            return self.get("/v1/status")[0] == 200  # after its first tick
        except OSError:
            return False

    def kill(self):
        self.p.send_signal(signal.SIGKILL)
        self.p.wait(10)
        self.log.close()

    def stop(self):
        if self.p and self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
            self.p.wait(20)
        code = self.p.returncode if self.p else None
        self.log.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        code = self.stop()
        if kind is None:
            assert code in (0, -signal.SIGKILL), self.text()

    def text(self):
        return (self.dir / "log").read_text(errors="replace")

    # ---- talk

    def call(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            data = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
            c.request(method, path, data, headers or {})
            r = c.getresponse()
            text = r.read()
        finally:
            c.close()
        try:
            return r.status, json.loads(text)
        except ValueError:
            return r.status, text.decode(errors="replace")

    def get(self, path):
        return self.call("GET", path)

    def post(self, body, expect=(200, 202)):
        status, reply = self.call("POST", "/v1/request_resources", body)
        assert status in expect, (status, reply)
        return reply

    def cli(self, *args, expect=0):
        p = subprocess.run([DAVIT, *args], cwd=self.dir, capture_output=True, text=True, timeout=60,
                           env=dict(self.env, DAVIT_URL=f"http://127.0.0.1:{self.port}"))
        assert p.returncode == expect, (p.returncode, p.stdout, p.stderr)
        return p.stdout

    # ---- see

    def status(self):
        return self.get("/v1/status")[1]

    def nodes(self, kind=None, state=None):
        return [n for n in self.get("/v1/nodes")[1]["nodes"]
                if (kind is None or n["type"] == kind) and (state is None or n["state"] == state)]

    def ready(self, kind=None):
        return len(self.nodes(kind, "ready"))

    def events(self, kind=None):
        reply = self.get("/v1/events?format=json&after=0")[1]["events"]
        return [e for e in reply if kind is None or e["kind"] == kind]

    def until(self, what, seconds=15, why=""):
        end = time.monotonic() + seconds
        while True:
            got = what()
            if got:
                return got
            if time.monotonic() > end:
                raise AssertionError(f"{why or 'it did not happen'} within {seconds} s\n{self.text()[-4000:]}")
            time.sleep(0.05)

    def stays(self, what, seconds):
        """True all the while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert what(), self.text()[-4000:]
            time.sleep(0.05)
