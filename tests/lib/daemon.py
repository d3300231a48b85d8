"""The real daemon with a configuration of its own: how every test starts one.

    with Daemon(tmp_path, yaml) as d:
        d.post({"bundles": [{"GPU": 1}]})
        d.until(lambda: d.ready("t4") == 2)
        d.stays(lambda: d.ready("t4") == 2, 5)   # five seconds of its own time: see later()

Everything lives in its directory; the port is free at start; the daemon is
ended by its pid.  `kill()` is SIGKILL; `start()` starts it again on the same
files.
"""
import http.client
import json
import math
import pathlib
import signal
import subprocess
import time

from lib import DAVIT, PATIENCE, free_port, until, without
from lib.clocks import Clocks


class Reply:
    def __init__(self, code, headers, text):
        self.code, self.headers, self.text = code, headers, text

    @property
    def json(self):
        return json.loads(self.text)


class Daemon:
    def __init__(self, directory, text, args=(), start=True, env=None, preexec=None):
        """env is added to ours; None takes a variable out, and proxies are out."""
        self.dir = pathlib.Path(directory)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.path = self.dir / "davit.yaml"
        self.args = list(args)
        self.clocks = Clocks(self.dir)
        self.env = {k: v for k, v in {**without(), **self.clocks.env, **(env or {})}.items() if v is not None}
        self.preexec = preexec
        self.headers = {}       # of every call
        self.p = None
        self.log = None
        self.write(text)
        if start:
            self.start()

    # ---- life

    def write(self, text):
        """The configuration; {dir} and {port} stand for ours."""
        new = self.path.with_suffix(".new")
        new.write_text(text.replace("{dir}", str(self.dir)).replace("{port}", str(self.port)))
        if "secret" in text:
            new.chmod(0o600)  # else the daemon says so
        new.replace(self.path)

    def start(self, wait="/v1/status"):
        """wait: what answers with 200 before we go on; the status does after
        the first tick, /readyz when the head was seen."""
        self.log = open(self.dir / "log", "a")
        self.p = subprocess.Popen([DAVIT, "run", "--config", str(self.path), *self.args], cwd=self.dir, env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, preexec_fn=self.preexec)
        try:
            if wait:
                self.until(lambda: self.answers(wait), why="the daemon does not answer")
        except BaseException:
            self.kill()  # nobody else has it yet
            raise
        return self

    def answers(self, path="/v1/status"):
        assert self.p.poll() is None, f"the daemon ended with {self.p.returncode}:\n{self.text()}"
        try:
            return self.get(path)[0] == 200
        except OSError:
            return False

    def kill(self):
        self.p.send_signal(signal.SIGKILL)
        self.p.wait(PATIENCE)
        self.log.close()

    def stop(self):
        """Ends it in order; its exit code.  One that does not end is killed."""
        if self.p is None:
            return None
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
            try:
                self.p.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
        self.log.close()
        return self.p.returncode

    def __enter__(self):
        return self

    def last_words(self):
        """What a failed test cannot be asked afterwards: did it live, was it ready, what did its threads do?"""
        if self.p is None or self.p.poll() is not None:
            return f"it had ended: {self.p and self.p.returncode}"
        rows = []
        for task in sorted(pathlib.Path(f"/proc/{self.p.pid}/task").iterdir()):
            try:
                stat = (task / "stat").read_text().rpartition(")")[2].split()
                rows.append(f"{(task / 'comm').read_text().strip()} {stat[0]} {stat[11]}+{stat[12]} ticks, in {(task / 'wchan').read_text()}")
            except OSError:
                pass    # a thread that has just ended
        try:
            ready = self.get("/readyz")
        except (OSError, http.client.HTTPException) as e:
            ready = e
        return "\n".join([f"readyz: {ready}", *rows])

    def __exit__(self, kind, *_):
        if kind is not None:
            print(f"---- the daemon, as the test failed\n{self.last_words()}")
        code = self.stop()
        if kind is None:
            assert code in (0, -signal.SIGKILL), self.text()

    def text(self):
        return (self.dir / "log").read_text(errors="replace")

    # ---- talk

    def exchange(self, method, path, body=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            data = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
            c.request(method, path, data, {**self.headers, **(headers or {})})
            r = c.getresponse()
            return Reply(r.status, r.headers, r.read().decode(errors="replace"))
        finally:
            c.close()

    def call(self, method, path, body=None, headers=None):
        """(status, JSON, or text where it is none)"""
        r = self.exchange(method, path, body, headers)
        try:
            return r.code, r.json
        except ValueError:
            return r.code, r.text

    def get(self, path):
        return self.call("GET", path)

    def post(self, body, expect=(200, 202)):
        status, reply = self.call("POST", "/v1/request_resources", body)
        assert status in expect, (status, reply)
        return reply

    def cli(self, *args, expect=0, stream="stdout"):
        p = subprocess.run([DAVIT, *args], cwd=self.dir, capture_output=True, text=True, timeout=PATIENCE,
                           env=dict(self.env, DAVIT_URL=self.url))
        assert p.returncode == expect, (p.returncode, p.stdout, p.stderr)
        return getattr(p, stream)

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

    def until(self, what, seconds=PATIENCE, why="it did not happen"):
        return until(what, seconds, lambda: f"{why}:\n{self.text()[-4000:]}\n", 0.05)

    # ---- time

    def metric(self, name):
        text = self.exchange("GET", "/metrics").text
        return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))

    def now(self):
        """Seconds by its wall clock."""
        return time.time() + self.clocks.get()[0] / 1000

    def step(self):
        """A step of its loop, which looks every five seconds of its time, from now on; no command asks for it."""
        before = self.metric("davit_steps_total")

        def made():
            self.clocks.ahead(250)
            return self.metric("davit_steps_total") > before
        self.until(made)

    def looks(self, n=1):
        """It has looked at all that there is, and planned with it, so many times from now on: a command is answered at the end
        of the step that took it."""
        for _ in range(n):
            code, reply = self.call("DELETE", "/v1/request_resources/nobody-of-this-name")
            assert code == 404, (code, reply)

    def later(self, seconds, each=None):
        """So much of its own time goes by, a quarter of a second after the other, with a look after each: no wait, and not less
        time on a busy machine.  A Ray head that is read is read in each second of it."""
        for left in range(math.ceil(seconds * 4), 0, -4):
            before = self.status()["head"]
            for _ in range(min(left, 4)):
                self.clocks.ahead(250)
                self.looks()
                if each:
                    each()
            if before["configured"] and before["ok"]:
                self.until(lambda before=before: self.heard_after(before["read_at"]))

    def heard_after(self, read_at):
        """The head was read after that, or cannot be: what a look shows."""
        self.looks()
        head = self.status()["head"]
        return head["read_at"] != read_at or not head["ok"]

    def stays(self, what, seconds, why=""):
        """True while so much of its own time goes by, and at the end of it."""
        def holds():
            assert what(), f"{why() if callable(why) else why}\n{self.text()[-4000:]}"
        holds()
        self.later(seconds, holds)
