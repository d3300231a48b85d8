"""The local provider through its own contract, with a stand-in for ray."""
import contextlib
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from lib import ROOT, TESTS, is_alive, plugin, until
from lib.seeds import seed

BUILD = pathlib.Path(os.environ.get("DAVIT_BUILD", ROOT / "build/release"))
SO = pathlib.Path(os.environ.get("DAVIT_LOCAL_SO", BUILD / "plugins/davit-local.so")).resolve()
FAKE = pathlib.Path(__file__).parent / "fake_ray.sh"

T4 = {"name": "t4", "machine": "n1-standard-8+t4",
      "resources": {"CPU": "8", "GPU": "2", "memory": "1073741824", "special": "0.5"},
      "labels": {"ray.io/accelerator-type": "T4", "zone": "a"}}
CPU = {"name": "c.p/u", "resources": {"CPU": "2"}}


def marked(mark, temp=""):
    """Living processes that carry a machine's mark, or stand in its directory."""
    found = []
    want = b"DAVIT_LOCAL_MACHINE=" + mark.encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            env = pathlib.Path("/proc", pid, "environ").read_bytes().split(b"\0")
            state = pathlib.Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()[0]
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if (want in env or temp and cwd.startswith(temp)) and state != "Z":
            found.append(int(pid))
    return found


def end(record):
    """SIGKILL to all of a machine, until nothing is left."""
    def dead():
        pids = marked(record["mark"], record["temp"])
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids
    until(dead, why="it does not die")


class Box:
    """A directory of machines, and handles on it."""

    def __init__(self, tmp):
        self.tmp = tmp
        self.temp = pathlib.Path(tempfile.gettempdir(), f"dvt-{random.randrange(10**6)}")  # any will do
        self.plugin = plugin.Plugin(SO)
        self.handles = []

    def options(self, **more):
        return {"ray": FAKE, "dir": self.tmp / "state", "temp_dir": self.temp, **more}

    def open(self, types=(T4, CPU), fake="", **more):
        if fake:
            more["env.FAKE_RAY"] = fake
        h = self.plugin.open(cluster="c1", head="http://127.0.0.1:6379", options=self.options(**more), types=types)
        self.handles.append(h)
        return h

    def path(self, id, name):
        return self.tmp / "state" / "c1" / id / name

    def record(self, id):
        return json.loads(self.path(id, "machine.json").read_text())

    def kill(self, id):
        end(self.record(id))

    def done(self):
        try:
            h = self.open()
            h.terminate([m["id"] for m in h.list()])
        finally:
            for path in (self.tmp / "state").glob("*/*/machine.json"):
                end(json.loads(path.read_text()))
            for h in self.handles:
                h.close()
            if self.temp.exists():
                subprocess.run(["rm", "-rf", self.temp], check=True)


@pytest.fixture
def box(tmp_path):
    b = Box(tmp_path)
    yield b
    b.done()


def running(h, n):
    def look():
        up = [m for m in h.list() if m["phase"] == "RUNNING"]
        return up if len(up) == n else None
    return until(look)


def test_launch_list_terminate(box):
    h = box.open()
    assert h.list() == []
    made = h.launch("t4", "req-1", 2, zone="a", spot=True)
    assert [m["phase"] for m in made] == ["STARTING"] * 2
    assert all(m["request_id"] == "req-1" and m["type"] == "t4" and m["zone"] == "a" and m["spot"] for m in made)
    assert len({m["id"] for m in made}) == 2 and all(m["id"].startswith("t4-") for m in made)
    assert {m["address"] for m in made} == {"127.0.0.2", "127.0.0.3"}
    up = running(h, 2)
    assert {m["id"] for m in up} == {m["id"] for m in made}
    marks = {box.record(m["id"])["mark"] for m in up}
    assert len(marks) == 2
    assert all(len(marked(k)) >= 3 for k in marks)  # ray start, its raylet, a worker
    temps = [pathlib.Path(box.record(m["id"])["temp"]) for m in up]
    bare = [int((t / "bare").read_text()) for t in temps]
    assert h.terminate([up[0]["id"], "nobody"]) == {up[0]["id"]: "OK", "nobody": "NOT_FOUND"}
    assert [m["id"] for m in h.list()] == [up[1]["id"]]
    assert h.terminate([up[1]["id"]]) == {up[1]["id"]: "OK"}
    assert h.list() == []
    assert not any(marked(k) for k in marks)
    assert not any(is_alive(p) for p in bare)
    assert not any(t.exists() for t in temps)
    assert [p.name for p in (box.tmp / "state/c1").iterdir()] == ["lock"]


def test_names_are_those_of_the_daemon(box):
    """Eight digits behind the journal's mark, which is the same in all of them."""
    h = box.open()
    ids = [h.launch("t4", f"davit-3348a1{chance}c0ffee", 1)[0]["id"] for chance in ("a7aa3ba6", "a7adaad0")]
    assert ids == ["t4-a7aa3ba6-0", "t4-a7adaad0-0"]


def test_arguments_and_environment(box):
    types = [{**T4, "options": {"env.LANG": "type"}}, CPU]
    options = box.options(**{"env.LANG": "provider", "pass_env": "MY_*", "env.MORE": "1", "object_store_memory": "80M",
                               "args": " --one  --two=2 "})
    # a process of its own, whose environment and open files are to be passed on, or not
    code = """
import json, socket, sys
from lib import plugin
so, options, types = json.load(sys.stdin)
s = socket.create_server(("127.0.0.1", 0)); s.set_inheritable(True)
f = open("/proc/version"); import os; os.set_inheritable(f.fileno(), True)
h = plugin.Plugin(so).open(cluster="c1", head="http://127.0.0.1:6379", options=options, types=types)
json.dump(h.launch("t4", "r1", token="0123456789abcdef" * 2) + h.launch("c.p/u", "r2"), sys.stdout)
"""
    env = {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_ADDRESS": "elsewhere", "LANG": "old",
           "RAY_AUTH_TOKEN": "secret", "NOTIFY_SOCKET": "/x", "AWS_SECRET_ACCESS_KEY": "canary", "MY_OWN": "passed",
           "PYTHONPATH": str(TESTS)}
    done = subprocess.run([sys.executable, "-c", code], env=env, text=True, check=True, stdout=subprocess.PIPE,
                          input=json.dumps([str(SO), {k: str(v) for k, v in options.items()}, types]))
    t4, cpu = json.loads(done.stdout)
    assert cpu["id"].startswith("c-p-u-")
    running(box.open(), 2)
    temp = pathlib.Path(box.record(t4["id"])["temp"])
    args = (temp / "args").read_text().splitlines()
    assert args[:2] == ["start", "--block"]
    for a in ("--one", "--two=2", "--address=127.0.0.1:6379", f"--node-ip-address={t4['address']}", f"--node-name={t4['id']}",
              f"--temp-dir={temp}", "--num-cpus=8", "--num-gpus=2", "--memory=1073741824",
              "--object-store-memory=80000000", "--labels=ray.io/accelerator-type=T4,zone=a"):
        assert a in args, a
    resources = [a for a in args if a.startswith("--resources=")]
    assert json.loads(resources[0].split("=", 1)[1]) == {"special": 0.5, "accelerator_type:T4": 1}
    env = dict(v.split("=", 1) for v in (temp / "env").read_text().splitlines() if "=" in v)
    assert env["RAY_CLOUD_INSTANCE_ID"] == t4["id"]
    assert env["RAY_NODE_TYPE_NAME"] == "t4"
    assert env["RAY_CLOUD_INSTANCE_TYPE_NAME"] == "n1-standard-8+t4"
    assert env["RAY_enable_autoscaler_v2"] == "1"
    mark = hashlib.sha256(("0123456789abcdef" * 2 + " " + t4["id"]).encode()).hexdigest()[:32]
    assert json.loads(env["RAY_OVERRIDE_LABELS"]) == {"davit.io/join": mark}, "the token itself stays where it is"
    assert env["RAY_AUTH_TOKEN"] == "secret"
    assert env["LANG"] == "type" and env["MORE"] == "1"
    assert env["MY_OWN"] == "passed"
    for gone in ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_ADDRESS", "NOTIFY_SOCKET", "AWS_SECRET_ACCESS_KEY"):
        assert gone not in env
    fds = [line.split(" -> ")[1] for line in (temp / "fds").read_text().splitlines() if " -> " in line]
    assert fds and not [f for f in fds if f.startswith("socket:") or "version" in f or "lock" in f], fds
    other = pathlib.Path(box.record(cpu["id"])["temp"])
    args = (other / "args").read_text().splitlines()
    assert "--num-gpus=0" in args
    assert not [a for a in args if a.startswith(("--resources", "--labels", "--memory"))]


def test_processes_are_nobodys_children(box):
    h = box.open()
    m, = h.launch("t4", "r")
    running(h, 1)
    pid = int(box.path(m["id"], "pid").read_text().split()[0])
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    assert int(stat[1]) != os.getpid()
    assert int(stat[3]) == pid  # leads its own session


def test_same_request_same_machines(box):
    h = box.open()
    first = {m["id"] for m in h.launch("t4", "r", 2)}
    running(h, 2)
    again = box.open()  # another daemon
    second = again.launch("t4", "r", 3)  # the first call succeeded in part
    assert first < {m["id"] for m in second} and len(second) == 3
    assert sum(m["phase"] == "RUNNING" for m in second) == 2
    running(h, 3)
    pids = [box.path(m["id"], "pid").read_text() for m in second]
    third = again.launch("t4", "r", 3)
    assert {m["id"] for m in third} == {m["id"] for m in second}
    assert [box.path(m["id"], "pid").read_text() for m in second] == pids


def leaders(mark):
    """How many times a machine was started: each start leads a session.  The
    script's own children have its command line until they exec, and its session."""
    n = 0
    for pid in marked(mark):
        try:
            session = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[3])
            n += session == pid and b"fake_ray.sh" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            pass
    return n


def test_ids_follow_from_the_request(box):
    h = box.open()
    assert [m["id"] for m in h.launch("t4", "davit-0123456789ab", 2)] == ["t4-6789ab-0", "t4-6789ab-1"]
    other, = h.launch("t4", "davit-ffffff6789ab")  # ends alike, is another
    assert other["id"] == "t4-6789ab-0-1"
    again, = h.launch("t4", "davit-ffffff6789ab")
    assert again["id"] == other["id"] and len(h.list()) == 3


def test_same_request_at_the_same_time(box):
    got = []
    threads = [threading.Thread(target=lambda h=box.open(): got.extend(h.launch("t4", "r", 3))) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(got) == 12 and len({m["id"] for m in got}) == 3
    up = running(box.handles[0], 3)
    assert len({m["address"] for m in up}) == 3
    assert [leaders(box.record(m["id"])["mark"]) for m in up] == [1, 1, 1]


def test_killed_between_record_and_start(box):
    h = box.open()
    m, = h.launch("t4", "r")
    running(h, 1)
    box.kill(m["id"])
    box.path(m["id"], "pid").unlink()  # as if the fork had not come
    seen, = h.list()
    assert seen["phase"] == "FAILED" and "never started" in seen["detail"]
    again, = h.launch("t4", "r")
    assert again["id"] == m["id"]
    running(h, 1)
    # ... but one that ran and died is not raised again
    box.kill(m["id"])
    until(lambda: h.list()[0]["phase"] == "FAILED")
    dead, = h.launch("t4", "r")
    assert dead["phase"] == "FAILED"
    assert not marked(box.record(m["id"])["mark"])


def test_daemon_killed_at_random(box):
    """kill -9 of a launching daemon at any moment: repeating the call with the
    same id ends with exactly the machines asked for, each started once."""
    rng = random.Random(seed())
    h = box.open()
    cut = 0
    for i in range(8):
        code = f"""
from lib import plugin
h = plugin.Plugin({str(SO)!r}).open(cluster="c1", head="127.0.0.1:6379",
    options={ {k: str(v) for k, v in box.options().items()} !r}, types=[{T4!r}])
print("ready", flush=True)
h.launch("t4", "r{i}", 4)
print("done", flush=True)
"""
        p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                             env={**os.environ, "PYTHONPATH": str(TESTS)})
        assert p.stdout.readline() == "ready\n"
        time.sleep(rng.random() * 0.012)  # wait: the moment is drawn
        p.kill()
        p.wait()
        cut += p.stdout.read() == ""
        p.stdout.close()
        made = h.launch("t4", f"r{i}", 4)
        assert len({m["id"] for m in made}) == 4
        up = running(h, 4)
        assert [leaders(box.record(m["id"])["mark"]) for m in up] == [1] * 4
        assert set(h.terminate([m["id"] for m in up]).values()) == {"OK"}
        assert h.list() == []
    print(cut, "of 8 calls were cut short")


@pytest.mark.parametrize("fake, says", [
    ("die", "Local node IP: somewhere; ConnectionError: no head at that address"),
    ("crash", "raylet [exit code=-9]"),
])
def test_failure_tells_the_last_words(box, fake, says):
    h = box.open(fake=fake)
    m, = h.launch("t4", "r")
    failed = until(lambda: [x for x in h.list() if x["phase"] == "FAILED"])[0]
    assert failed["detail"] == f"ray start ended: {says}"
    assert failed["failure"] == "RETRY"
    assert h.terminate([m["id"]]) == {m["id"]: "OK"}


def test_starting_becomes_running(box):
    h = box.open(fake="slow")
    m, = h.launch("t4", "r")
    until(lambda: [x for x in h.list() if x["phase"] == "STARTING" and "process" in x["detail"]])
    running(h, 1)
    assert h.terminate([m["id"]])[m["id"]] == "OK"


def test_deaf_process_is_killed_and_a_short_call_says_retry(box):
    h = box.open(fake="deaf")
    m, = h.launch("t4", "r")
    running(h, 1)
    mark = box.record(m["id"])["mark"]
    assert h.terminate([m["id"]], timeout=0.5) == {m["id"]: "RETRY"}  # wait: it is to pass
    assert "not ended yet" in h.last_error
    seen, = h.list()
    assert seen["phase"] == "STOPPING"  # and so says a daemon started anew
    began = time.monotonic()
    assert h.terminate([m["id"]]) == {m["id"]: "OK"}
    assert time.monotonic() - began > 5  # what SIGTERM is given
    assert not marked(mark) and h.list() == []


def test_reused_pid_is_never_touched(box):
    h = box.open()
    m, = h.launch("t4", "r")
    running(h, 1)
    box.kill(m["id"])
    victim = subprocess.Popen(["sleep", "100"])
    try:
        start = pathlib.Path(f"/proc/{victim.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        box.path(m["id"], "pid").write_text(f"{victim.pid} {int(start) - 1}\n")
        assert h.list()[0]["phase"] == "FAILED"
        assert h.terminate([m["id"]]) == {m["id"]: "OK"}
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()
    # the right process, but of another boot: not it either
    m, = h.launch("t4", "r2")
    running(h, 1)
    path, record = box.path(m["id"], "machine.json"), box.record(m["id"])
    path.write_text(json.dumps({**record, "boot_id": "another"}))
    assert h.list()[0]["phase"] == "FAILED"
    path.write_text(json.dumps(record))
    assert h.list()[0]["phase"] == "RUNNING"


def test_max_is_a_quota_and_partial_success_is_told(box):
    h = box.open(max=2)
    with pytest.raises(plugin.Failed) as e:
        h.launch("t4", "r", 3)
    assert e.value.status == "QUOTA" and "max is 2" in e.value.text
    assert len(e.value.machines) == 2
    assert len(h.list()) == 2


def test_bad_record_is_not_guessed_at(box):
    h = box.open()
    m, = h.launch("t4", "r")
    path = box.path(m["id"], "machine.json")
    good = path.read_text()
    for bad in ("", "{", '{"id": "x"}', good.replace(m["id"], "other-00000000")):
        path.write_text(bad)
        with pytest.raises(plugin.Failed) as e:
            h.list()
        assert e.value.status == "BROKEN" and "no machine record" in e.value.text
    path.write_text(good)
    assert len(h.list()) == 1
    (box.tmp / "state/c1/leftover").mkdir()  # a directory without a record
    assert len(h.list()) == 1


def test_missing_program(box):
    for ray in ("/nonexistent/ray", "no-such-program-xyz"):
        h = box.open(ray=ray)
        with pytest.raises(plugin.Failed) as e:
            h.launch("t4", "r")
        assert e.value.status == "AUTH" and "ray" in e.value.text
        assert h.list() == []


def test_unsafe_temp_dir(box, tmp_path):
    target = tmp_path / "elsewhere"
    target.mkdir()
    link = pathlib.Path(tempfile.gettempdir(), f"dvl-{os.getpid()}")
    link.symlink_to(target)
    try:
        h = box.open(temp_dir=link)
        with pytest.raises(plugin.Failed) as e:
            h.launch("t4", "r")
        assert e.value.code == "UNSAFE"
        assert h.list() == []
    finally:
        link.unlink()


@pytest.mark.parametrize("options, types, says", [
    ({"base_address": "10.0.0.1"}, [T4], "127.0.0.2"),
    ({"base_address": "127.0.0.1"}, [T4], "127.0.0.2"),
    ({"object_store_memory": "1Mi"}, [T4], "at least 75Mi"),
    ({"max": "0"}, [T4], "from 1 to 1000"),
    ({"max": "x"}, [T4], "from 1 to 1000"),
    ({"temp_dir": "relative"}, [T4], "absolute"),
    ({"temp_dir": "/" + "x" * 40}, [T4], "at most 32"),
    ({}, [{**T4, "resources": {"CPU": "0.5"}}], "whole CPUs"),
    ({}, [{**T4, "resources": {"x": "nan"}}], "number"),
    ({}, [{**T4, "resources": {"x": "-1"}}], "number"),
    ({}, [{**T4, "labels": {"a": "b,c=d"}}], "comma"),
    ({}, [{**T4, "name": "n" * 64}], "63"),
])
def test_bad_settings_are_told_at_open(box, options, types, says):
    with pytest.raises(plugin.Failed) as e:
        box.open(types=types, **options)
    assert e.value.status == "INVALID" and says in e.value.text


def test_needs_a_head(box):
    for head, says in (("", "give head:"), ("https://h:1", "host:port")):
        with pytest.raises(plugin.Failed) as e:
            box.plugin.open(head=head)
        assert e.value.status == "INVALID" and says in e.value.text
