"""What people see in a terminal: views that fit and repaint, rows that are chosen and sorted, words that were meant, and
`davit status --ray` beside the formatter of Ray itself."""
import fcntl
import http.server
import itertools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

from lib import DAVIT, until, without
from lib.daemon import Daemon

CONFIG = """
cluster: terminal
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: 5m, think: 0, max_cost_per_hour: 100}
providers: {sim: {state: "{dir}/cloud.json", boot: 300ms}, other: {plugin: sim, state: "{dir}/other.json", boot: 300ms}}
node_types:
  cpu: {provider: sim, resources: {CPU: 8, memory: 32Gi}, price: 0.25, max: 4}
  t4: {provider: other, resources: {CPU: 4, GPU: 1}, accelerator_type: T4, price: 0.75, max: 2}
"""
LONG = "an-owner-with-a-very-long-name-that-makes-every-line-wrap-on-a-narrow-terminal"


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """Two CPU nodes, two GPU nodes, and work that waits for a third."""
    with Daemon(tmp_path_factory.mktemp("terminal"), CONFIG) as d:
        d.post({"owner": "train", "priority": 5, "bundles": [{"GPU": 1}] * 2})
        d.post({"owner": "batch", "bundles": [{"CPU": 8}] * 2})
        d.until(lambda: d.ready() == 4)
        d.post({"owner": LONG, "bundles": [{"GPU": 1, "CPU": 2}]})
        yield d


# ---- a terminal

class Terminal:
    """A command on a pseudo-terminal of this size; what it painted, frame by frame.  It is ended in any case."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            self.gone()

    def gone(self):
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def __init__(self, d, args, columns, rows):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            env = {**without("COLUMNS", "LINES", "NO_COLOR"), "DAVIT_URL": d.url, "TERM": "xterm"}
            env.pop("COLUMNS", None), env.pop("LINES", None)
            os.execve(DAVIT, ["davit", *args], env)
        self.out = b""
        self.size(columns, rows)

    def size(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.columns, self.rows = columns, rows
        os.kill(self.pid, signal.SIGWINCH)

    def read(self, seconds=0.05):
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                chunk = os.read(self.fd, 65536)
            except OSError:
                return False
            if not chunk:
                return False
            self.out += chunk
        return True

    def frame(self):
        """The lines of the last whole frame."""
        self.read()
        frames = re.findall(rb"\x1b\[H(.*?)\x1b\[J", self.out, re.S)
        if not frames:
            return None
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", frames[-1].decode())
        return text.replace("\r", "").split("\n")[:-1]

    def fits(self):
        lines = self.frame()
        return lines and all(len(line) <= self.columns for line in lines) and len(lines) < self.rows and lines

    def end(self, key=b"q"):
        os.write(self.fd, key)
        until(lambda: not self.read(0.01), why="it does not end")
        return self.gone()


@pytest.mark.parametrize("args", [["status", "--watch"], ["top"]])
def test_a_live_view_fits_any_terminal(busy, args):
    with Terminal(busy, args, 60, 24) as t:
        until(t.fits, why=lambda: f"{t.frame()}")
        assert any("train" in line or "t4-" in line for line in t.frame()), t.frame()
        for columns, rows in ((40, 12), (140, 50), (25, 8)):
            t.size(columns, rows)
            t.out = b""
            until(t.fits, why=lambda: f"{columns}x{rows}: {t.frame()}")
        assert t.end() == 0
    assert t.out.endswith(b"\n") and b"\x1b[?1049l" in t.out, "the screen before comes back"


def test_keys_sort_top(busy):
    with Terminal(busy, ["top", "--every", "200ms"], 100, 30) as t:
        first = lambda: [line.split()[0] for line in t.frame() or [] if re.match(r"(cpu|t4)-", line)]  # noqa: E731
        until(lambda: len(first()) == 4, why=lambda: f"{t.frame()}")
        for key, kind in ((b"p", "t4"), (b"p", "cpu"), (b"n", "cpu")):
            os.write(t.fd, key)
            until(lambda: first() and first()[0].startswith(kind + "-"), why=lambda: f"{key} {t.frame()}")
        assert t.end(b"\x03") == 0


def test_waiting_shows_each_node(tmp_path):
    with Daemon(tmp_path, CONFIG.replace("boot: 300ms", "boot: 2s")) as d:
        with Terminal(d, ["request", "-o", "wait", "CPU=8", "--wait", "90s"], 50, 24) as t:
            until(lambda: not t.read(), why=lambda: f"{t.out}")
            t.gone()
        text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", t.out.decode()).replace("\r", "")
        bars = [line for line in text.split("\n") if "[" in line and "cpu-" in line]
        assert bars and all(len(b) <= 50 for b in bars), text
        assert any("starting" in b for b in bars) and "ready" in bars[-1] and "." not in bars[-1].split("[")[1], bars
        out = d.cli("request", "-o", "wait", "CPU=8*2", "--wait", "80s")
        assert re.search(r"cpu-\S+ starting", out) and re.search(r"cpu-\S+ ready, made \d+s ago", out), out


# ---- rows

def names(text):
    return [line.split()[0] for line in text.splitlines()[1:]]


def test_nodes_are_chosen_and_sorted(busy):
    d = busy
    assert len(names(d.cli("nodes"))) >= 4
    t4 = names(d.cli("nodes", "--type", "t4"))
    assert len(t4) == 2 and all(n.startswith("t4-") for n in t4)
    assert names(d.cli("nodes", "--type", "t4", "--sort", "name", "--reverse")) == sorted(t4, reverse=True)
    assert names(d.cli("nodes", "--sort", "price"))[0].startswith("t4-")
    assert set(names(d.cli("nodes", "--owner", "train"))) == set(t4)
    assert names(d.cli("nodes", "--state", "draining")) == []
    assert len(json.loads(d.cli("nodes", "--json", "--type", "t4"))["nodes"]) == 2
    assert "MARKET" in d.cli("nodes", "--wide") and "1/1" in d.cli("nodes", "--type", "t4")


def test_words_that_were_meant(busy):
    d = busy
    for args, code, says in ((["nodes", "--type", "t5"], 1, "did you mean t4?"), (["nodes", "--owner", "trian"], 1, "did you mean train?"),
                             (["nodes", "--state", "redy"], 2, "ready"), (["why", "trian"], 1, "did you mean train?"),
                             (["why", "--not-launched", "t44"], 1, "did you mean t4?"), (["statsu"], 2, "status"),
                             (["why", "--not-launched", "train"], 1, "no node type")):
        assert says in d.cli(*args, expect=code, stream="stderr"), args
    assert "did you mean GPU?" in d.cli("request", "-o", "x", "gpu=1", expect=1)
    d.cli("request", "-o", "x", "--clear")


def test_columns_are_obeyed(busy):
    for width in (30, 60, 90):
        p = subprocess.run([DAVIT, "nodes"], env={**without(), "DAVIT_URL": busy.url, "COLUMNS": str(width)},
                           capture_output=True, text=True, check=True)
        assert max(len(line) for line in p.stdout.splitlines()) <= width, p.stdout
    assert "\u2026" not in busy.cli("nodes"), "nothing is cut for programs"


def test_why_a_type_is_not_launched(busy):
    out = busy.cli("why", "--not-launched", "t4")
    assert "it is at its max of 2" in out and f"of {LONG} none is launched" in out, out
    assert "Nothing that waits needs it" not in out
    assert "cpu lacks GPU" in busy.cli("why", "--not-launched", "cpu")
    assert busy.cli("why", "t4").splitlines() == out.splitlines()


def test_status_shows_what_is_in_use(busy):
    out = busy.cli("status")
    assert re.search(r"^use    \d+/24 CPU, 2/2 GPU", out, re.M), out
    assert re.search(r"^cost   \$2\.00/h of \$100\.00/h, \$1,460 a month", out, re.M), out
    assert "e+" not in out


# ---- cost

def test_cost_adds_up(busy):
    cost = json.loads(busy.cli("cost", "--json"))
    assert cost["now_per_hour"] == pytest.approx(2.0)
    assert sum(o["per_hour"] for o in cost["offers"]) == pytest.approx(2.0)
    assert sum(o["per_hour"] for o in cost["owners"]) + cost["idle_per_hour"] == pytest.approx(2.0)
    out = busy.cli("cost")
    assert re.search(r"^train +2 +\$1\.50 +\$1,095 +75$", out, re.M), out
    assert re.search(r"^cpu +2 +\$0\.50", out, re.M) and re.search(r"^other +2 +\$1\.50", out, re.M), out


def test_why_the_bill_is_what_it_is(busy):
    """Whose decisions made it so: what they add up to is what is paid, and the dearest owner comes first."""
    kept = json.loads(busy.cli("cost", "--why", "--json"))["decisions"]
    now = json.loads(busy.cli("cost", "--json"))["now_per_hour"]
    assert sum(d["change_per_hour"] for d in kept) == pytest.approx(now)
    out = busy.cli("cost", "--why").splitlines()
    assert out[0].startswith("$2.00/h now, $0/h ") and out[0].endswith("s ago, when davit was started: what was before that is not kept"), out
    short = busy.cli("cost", "--why", "--since", "1ms").splitlines()
    assert short[0].startswith("$2.00/h now, $2.00/h ") and short[0].endswith(" ago"), short
    owners = {}
    for d in kept:
        owners[d["owner"]] = owners.get(d["owner"], 0) + d["change_per_hour"]
    dearest = max(owners, key=owners.get)
    assert out[1] == f"+${owners[dearest]:.2f}/h by {dearest}", out
    assert sum("launched" in line for line in out) == len(kept)
    assert "other things" not in "\n".join(out), out
    assert "nothing was launched" in busy.cli("cost", "--why", "--since", "1ms")


def test_what_was_spent(busy):
    """The lines come to what the first line says, and that is what the history has."""
    busy.until(lambda: sum(s["spent"] for s in json.loads(busy.cli("cost", "--since", "1h", "--json"))["slots"]) > 0)
    for since, begins in (("1h", r"\d{4}-\d\d-\d\dT\d\d:00Z"), ("7d", r"\d{4}-\d\d-\d\d ")):
        before = sum(s["spent"] for s in json.loads(busy.cli("cost", "--since", since, "--json"))["slots"])
        out = busy.cli("cost", "--since", since).splitlines()
        spent = float(re.match(r"\$([\d.]+) spent in the last ", out[0]).group(1))
        assert before - 0.01 <= spent <= before + 1 and "davit watched" in out[0], (before, out)
        lines = [line for line in out if re.match(begins, line)]
        assert lines and sum(float(re.search(r"\$([\d.]+)", line).group(1)) for line in lines) == pytest.approx(spent, abs=0.05), out
    assert "--since takes" in busy.cli("cost", "--since", "7x", expect=2, stream="stderr")


def test_for_whom_it_was_spent(tmp_path):
    """Yesterday's and today's sums are those of the counters, over a restart; of what was before the first of them nothing is told."""
    with Daemon(tmp_path, CONFIG) as d:
        def by(what, since="yesterday"):
            return json.loads(d.cli("cost", "--since", since, "--by", what, "--json"))

        def total(reply):
            return sum(o["spent"] for o in reply["owners"]) + reply["idle"]

        d.post({"owner": "ann", "bundles": [{"GPU": 1, "accelerator_type": "T4"}]})
        d.until(lambda: d.ready("t4") == 1)
        d.clocks.ahead(3600 * 1000)
        d.looks(2)
        first = by("owner")
        assert first["since"] > "2" and total(first) == pytest.approx(sum(t["spent"] for t in first["types"]), abs=0.01)
        for hours in (24, 1):  # another day, and an hour of it
            d.clocks.ahead(hours * 3600 * 1000)
            d.looks(2)
        d.post({"owner": "bob", "bundles": [{"GPU": 1, "accelerator_type": "T4"}]})
        d.until(lambda: d.ready("t4") == 2)
        d.clocks.ahead(2 * 3600 * 1000)
        d.looks(2)
        d.stop()
        d.start()
        d.until(lambda: len(by("owner", "7d")["owners"]) >= 2)
        owners = {o["owner"]: o["spent"] for o in by("owner", "7d")["owners"]}
        assert 0 < owners["bob"] < owners["ann"], owners
        out = d.cli("cost", "--since", "7d", "--by", "owner").splitlines()
        assert "nothing is kept of what was before" in out[0] and [line.split()[0] for line in out[3:5]] == ["ann", "bob"], out
        late = {o["owner"]: o["spent"] for o in by("owner", "110m")["owners"]}  # without the day: to a plan's time
        assert late["bob"] == pytest.approx(1.5, abs=0.1) and 1.4 < late["ann"] < 2.4 < 15 < owners["ann"], (late, owners)
        assert d.cli("cost", "--since", "7d", "--by", "type").splitlines()[3].startswith("t4 ")
        assert d.cli("cost", "--since", "7d", "--by", "market").splitlines()[3].startswith("on-demand ")
        assert "did you mean owner?" in d.cli("cost", "--by", "owners", expect=2, stream="stderr")
        d.cli("cost", "--by", "owner", "--why", expect=2)


# ---- events

def test_events_are_chosen(busy):
    lines = busy.cli("events", "-n", "1000", "--type", "t4", "--kind", "node.ready").splitlines()
    assert len(lines) == 2 and all("t4-" in line for line in lines), lines
    assert all("train" in line for line in busy.cli("events", "--owner", "train", "-n", "1000").splitlines())
    node = busy.nodes("cpu")[0]["id"]
    kinds = [json.loads(line)["kind"] for line in busy.cli("events", "--json", "--node", node, "-n", "1000").splitlines()]
    assert "node.ready" in kinds
    assert busy.cli("events", "--since", "1h", "--kind", "node.*") and not busy.cli("events", "--kind", "no.such")
    assert len(busy.cli("events", "-n", "3").splitlines()) == 3


def test_events_are_followed(busy):
    p = subprocess.Popen([DAVIT, "events", "-f", "-n", "0", "--owner", "follow", "--url", busy.url], stdout=subprocess.PIPE, text=True)
    try:
        turns = itertools.count(1)

        def heard():
            """It may not listen yet: told again."""
            for owner in ("nobody", "follow"):
                busy.post({"owner": owner, "bundles": [{"CPU": next(turns) / 1000}]})
            return select.select([p.stdout], [], [], 0.3)[0]
        until(heard)
        line = p.stdout.readline()
        assert "request.set" in line and "follow" in line, line
    finally:
        p.terminate()
        p.wait(10)
        for owner in ("nobody", "follow"):
            busy.call("DELETE", f"/v1/request_resources/{owner}")


# ---- ray status

GI = 2**30
NOW = 1790000000123
SNAPSHOT = {
    "cluster": "x", "now_ms": NOW,
    "node_types": [{"name": t, "resources": {"CPU": 8, "GPU": 1, "memory": 16 * GI}} for t in ("t4", "cpu", "v100")],
    "nodes": [
        {"id": "head", "head": True, "unmanaged": True, "state": "ready", "total": {"CPU": 4, "memory": 7.5 * GI, "object_store_memory": 900},
         "available": {"CPU": 3.5, "memory": 7.5 * GI, "object_store_memory": 900}, "labels": {"ray.io/node-group": "headgroup"}},
        {"id": "t4-1", "type": "t4", "state": "ready", "total": {"CPU": 8, "GPU": 1, "memory": 16 * GI, "special": 3},
         "available": {"CPU": 0.1, "GPU": 0.75, "memory": 1.5 * GI, "special": 3}},
        {"id": "t4-2", "type": "t4", "state": "ready", "total": {"CPU": 8, "GPU": 1, "memory": 16 * GI}, "idle_ms": 5000},
        {"id": "t4-3", "type": "t4", "state": "draining", "total": {"CPU": 8, "GPU": 1, "memory": 500 * 2**20}, "idle_ms": 9000},
        {"id": "cpu-1", "type": "cpu", "state": "starting"},
        {"id": "v100-1", "type": "v100", "state": "requested"},
    ],
    "demands": [{"resources": {"CPU": 1}, "count": 17}, {"resources": {"GPU": 0.5, "CPU": 2}, "count": 3}, {"resources": {"CPU": 1}, "count": 4}],
    "gangs": [{"id": "a", "strategy": "PACK", "bundles": [{"resources": {"CPU": 1}, "count": 2}]},
              {"id": "b", "strategy": "SPREAD", "bundles": [{"resources": {"GPU": 1}, "count": 1}]},
              {"id": "c", "strategy": "PACK", "bundles": [{"resources": {"CPU": 3}, "count": 1}, {"resources": {"GPU": 1, "CPU": 1}, "count": 2}]}],
    "requests": [{"owner": "me", "bundles": [{"resources": {"CPU": 4}, "count": 2}, {"resources": {"GPU": 1}, "count": 1}]}],
}
STATUS = {"plan": {"launches": [{"type": "v100", "count": 2}]},
          "failures": [{"type": "v100", "at": "2026-09-21T12:40:00.000Z", "text": "none"}, {"type": "t4", "at": "2026-09-21T11:00:05.500Z", "text": ""}]}
EMPTY = ({"cluster": "x", "now_ms": NOW - 123, "node_types": []}, {"plan": {"launches": []}, "failures": []})


def rays_own(snapshot, status):
    """The same state in Ray's own dataclasses, formatted by Ray."""
    from ray.autoscaler.v2 import schema as s
    from ray.autoscaler.v2.utils import ClusterStatusFormatter

    def node(n):
        return s.NodeInfo(instance_type_name="", ray_node_type_name=n.get("type") or n["labels"]["ray.io/node-group"],
                          instance_id=n["id"], ip_address="", details="starting")

    def bundles(d):
        flat = d.get("bundles") or [d]
        return [s.ResourceRequestByCount({k: float(v) for k, v in sorted(b["resources"].items())}, b["count"]) for b in flat]

    nodes = snapshot.get("nodes", [])
    joined = [n for n in nodes if n["state"] in ("ready", "draining")]
    total, free = {}, {}
    for n in joined:
        for k, v in n["total"].items():
            total[k] = total.get(k, 0) + v
            free[k] = free.get(k, 0) + n.get("available", n["total"])[k]
    launching = [l["type"] for l in status["plan"]["launches"] for _ in range(l["count"])] + \
                [n["type"] for n in nodes if n["state"] == "requested"]
    utc = lambda at: __import__("datetime").datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()  # noqa: E731
    request = lambda t, state, at: s.LaunchRequest("", t, 1, state, at)  # noqa: E731
    return ClusterStatusFormatter.format(s.ClusterStatus(
        active_nodes=[node(n) for n in joined if n.get("idle_ms", -1) < 0],
        idle_nodes=[node(n) for n in joined if n.get("idle_ms", -1) >= 0],
        pending_launches=[request(t, s.LaunchRequest.Status.PENDING, 0) for t in launching],
        failed_launches=[request(f["type"], s.LaunchRequest.Status.FAILED, utc(f["at"])) for f in status["failures"]],
        pending_nodes=[node(n) for n in nodes if n["state"] == "starting"],
        cluster_resource_usage=[s.ResourceUsage(k, float(v), float(round(v - free[k], 4))) for k, v in total.items()],
        resource_demands=s.ResourceDemandSummary(
            placement_group_demand=[s.PlacementGroupResourceDemand(bundles(g), f"{g['id']}:{g['strategy']}|PENDING")
                                    for g in snapshot.get("gangs", [])],
            ray_task_actor_demand=[s.RayTaskActorDemand(bundles(d)) for d in snapshot.get("demands", [])],
            cluster_constraint_demand=[s.ClusterConstraintDemand(bundles(r)) for r in snapshot.get("requests", [])]),
        stats=s.Stats(request_ts_s=snapshot["now_ms"] / 1000)))


@pytest.fixture
def served():
    """A daemon that answers with what it is given."""
    replies = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps(replies[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield replies, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("snapshot, status", [(SNAPSHOT, STATUS), EMPTY], ids=["full", "empty"])
def test_status_in_rays_words_byte_for_byte(served, snapshot, status):
    replies, url = served
    replies.update({"/v1/status": status, "/v1/snapshot": snapshot})
    p = subprocess.run([DAVIT, "status", "--ray", "--url", url], env=without(), capture_output=True, text=True, check=True)
    assert p.stdout.rstrip("\n") == rays_own(snapshot, status)


def test_events_since_a_day_or_a_time(busy):
    """UTC; what is no time is told what is."""
    weekday = time.strftime("%A", time.gmtime(busy.now())).lower()
    for since in ("yesterday", weekday, weekday[:3], "1h", time.strftime("%Y-%m-%d", time.gmtime(busy.now() - 86400)), "2020-01-01T10:00:00Z"):
        assert "request.set" in busy.cli("events", "--since", since), since
    assert "request.set" not in busy.cli("events", "--since", "2199-01-01")
    assert "yesterday" in busy.cli("events", "--since", "tomorrow", expect=2, stream="stderr")


def test_nobody_reads_a_line_twice(busy):
    """Those that wait first, as people count; each once; those that are served in one line."""
    owners = [f"n{i}" for i in (10, 2, 1, 3, 4, 5)]
    for owner in owners:
        busy.post({"owner": owner, "bundles": [{"CPU": 0.01}]})
    busy.until(lambda: all(r["satisfied"] for r in busy.status()["requests"] if r["owner"] != LONG))
    lines = busy.cli("status").splitlines()
    waits = [line for line in lines if LONG in line]
    assert len(waits) == 1 and lines.index(waits[0]) == 1 and "waiting" in waits[0], lines
    served = [line for line in lines if "are satisfied" in line]
    assert served == ["8 requests are satisfied: batch, n1, n2, n3, n4, n5, n10, train"], lines
    for owner in owners:
        busy.post({"owner": owner, "bundles": []})
