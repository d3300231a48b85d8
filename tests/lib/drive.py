"""A plug-in driven as the daemon drives it, call by call: drive.c, with lines of JSON.

    d = Drive(tmp_path, yaml, "gke", environment)
    d.launch(2); d.running(2); d.end("some-id"); d.close()
"""
import contextlib
import json
import select
import subprocess

from lib import BUILD, PATIENCE, ROOT, until

DRIVE = BUILD / "tests" / "drive"


def build_tools():
    """drive, check_provider, the plug-ins and the daemon, all of one variant; drive's path."""
    subprocess.run(["make", "-s", f"VARIANT={BUILD.name}", "cloud-tools"], cwd=ROOT, check=True)
    return DRIVE


class Drive:
    def __init__(self, directory, text, provider, env):
        path = directory / "davit.yaml"
        path.write_text(text.replace("{dir}", str(directory)).replace("{port}", "0"))
        self.errors = open(directory / "drive.err", "w+")
        self.p = subprocess.Popen([DRIVE, path, provider], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=self.errors, text=True, cwd=directory, env=env)

    def call(self, op, **kw):
        self.p.stdin.write(json.dumps({"op": op, **kw}) + "\n")
        self.p.stdin.flush()
        assert select.select([self.p.stdout], [], [], 2 * PATIENCE)[0], "no answer"
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

    def machines(self, **want):
        return [m for m in self.list() if all(m[k] == v for k, v in want.items())]

    def launch(self, count=1, request="davit-00112233445566778899", type="t4", zone="", **kw):
        return self.call("launch", count=count, request=request, type=type, zone=zone, **kw)

    def end(self, *ids):
        return self.call("terminate", ids=list(ids))

    def until(self, what):
        return until(what, why=lambda: f"not as wanted: {self.call('list')} {self.text()[-2000:]}")

    def phase(self, n, phase):
        """The machines in this phase, when there are n of them."""
        return self.until(lambda: (lambda v: v if len(v) == n else None)(self.list(phase)))

    def running(self, n):
        return self.phase(n, "RUNNING")

    def failed(self, n):
        return self.phase(n, "FAILED")

    def close(self):
        """Ends it; what it wrote."""
        self.p.stdin.close()
        code = self.p.wait(PATIENCE)
        text = self.text()
        self.p.stdout.close()
        self.errors.close()
        assert code == 0 and "Sanitizer" not in text, (code, text)
        return text

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.close()
        else:
            self.p.kill()
            self.p.wait()


@contextlib.contextmanager
def drives(folder, make):
    """Drives that end with the test: made(...) is make(a folder of its own, ...)."""
    made = []

    def one(*args, **kw):
        where = folder / f"d{len(made)}"
        where.mkdir()
        made.append(make(where, *args, **kw))
        return made[-1]
    yield one
    for d in made:
        d.close()
