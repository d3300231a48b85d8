"""A real daemon for tests: its own directory, its own port, the sim cloud.

The daemon listens on loopback at a port of its own; a test ends only the
process it started, by its handle.
"""
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DAVIT = os.path.join(ROOT, "build", os.environ.get("DAVIT_VARIANT", "release"), "davit")

CONFIG = """
cluster: it
api: {{listen: "127.0.0.1:{port}"{api}}}
state: davit.db
limits: {{max_nodes: 20, idle_timeout: 60s}}
providers:
  sim: {{}}
node_types:
  cpu:
    {{provider: sim, machine: e2-standard-8, max: 4, boot: 1s, options: {{boot: 300ms}}}}
  t4:
    {{provider: sim, machine: n1-standard-8+t4, max: 2, boot: 1s, options: {{boot: 300ms}}}}
  k80:
    {{provider: sim, machine: p2.xlarge, max: 8, options: {{boot: 300ms}}}}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Reply:
    def __init__(self, code, headers, text):
        self.code, self.headers, self.text = code, headers, text

    @property
    def json(self):
        return json.loads(self.text)


class Daemon:
    """davit run in a directory; url is where it listens."""

    def __init__(self, where, config=CONFIG, api="", env=None):
        self.where = str(where)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.config = os.path.join(self.where, "davit.yaml")
        self.env = dict(os.environ, **(env or {}))
        self.headers = {}
        self.process = None
        with open(self.config, "w") as f:
            f.write(config.format(port=self.port, api=api))

    def start(self, wait=True):
        self.log = open(os.path.join(self.where, "log"), "a+")
        self.process = subprocess.Popen(
            [DAVIT, "run", "--config", self.config], cwd=self.where,
            stdout=self.log, stderr=subprocess.STDOUT, env=self.env)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise RuntimeError(f"davit ended with {self.process.returncode}: {self.read_log()}")
            try:
                if self.call("GET", "/readyz").code == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"davit is not ready: {self.read_log()}")

    def read_log(self):
        with open(os.path.join(self.where, "log")) as f:
            return f.read()

    def stop(self, sig=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(sig)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise
        self.log.close()
        return self.process.returncode

    def call(self, method, path, body=None, headers=None, timeout=40):
        data = body
        if body is not None and not isinstance(body, bytes):
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
        req = urllib.request.Request(self.url + path, data=data, method=method,
                                     headers={**self.headers, **(headers or {})})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(req, timeout=timeout) as r:
                return Reply(r.status, r.headers, r.read().decode())
        except urllib.error.HTTPError as e:
            with e:
                return Reply(e.code, e.headers, e.read().decode())

    def wait(self, what, seconds=15):
        """Until what(status) is true; returns the status."""
        end = time.monotonic() + seconds
        while True:
            status = self.call("GET", "/v1/status").json
            if what(status):
                return status
            if time.monotonic() > end:
                raise AssertionError(f"not so after {seconds} s: {json.dumps(status)[:3000]}")
            time.sleep(0.03)


@pytest.fixture
def daemon(tmp_path):
    d = Daemon(tmp_path).start()
    yield d
    code = d.stop()
    assert code == 0, d.read_log()
    assert "Sanitizer" not in d.read_log()


@pytest.fixture
def daemon_factory(tmp_path):
    """make(config=..., api=..., env=...): daemons that end with the test."""
    made = []

    def make(**kw):
        where = tmp_path / f"d{len(made)}"
        where.mkdir()
        made.append(Daemon(where, **kw))
        return made[-1]

    yield make
    for d in made:
        if d.process:
            d.stop()
