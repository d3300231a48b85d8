"""Who may do what: tokens, users of the Unix socket, certificates; and that it is recorded."""
import contextlib
import http.client
import json
import os
import re
import socket
import subprocess

import pytest

from lib import DAVIT, ROOT, until

QUEUES = """
queues:
  a100: {node_types: [t4], owners: [train-*]}
"""


def token(path, name, *rights, expect=0):
    p = subprocess.run([DAVIT, "token", "new", name, *rights, "--file", path], capture_output=True, text=True)
    assert p.returncode == expect, p.stderr
    return p.stdout.strip()


class Local(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def as_user(uid, fn):
    """What fn returns, said by a child that is this user."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setuid(uid)
            out = fn()
        except BaseException as e:
            out = repr(e)
        os.write(w, json.dumps(out).encode())
        os._exit(0)
    os.close(w)
    os.waitpid(pid, 0)
    with os.fdopen(r) as f:
        return json.load(f)


@pytest.fixture
def world(daemon_of, tmp_path):
    file = str(tmp_path / "tokens")
    t = {"admin": token(file, "ops", "admin"), "read": token(file, "grafana", "read"),
         "ci": token(file, "ci", "request:ci-*,shared"),
         "train": token(file, "trainer", "read", "request:train-*", "queues:a100"),
         "old": token(file, "old", "admin", "until:2020-01-01")}
    from conftest import CONFIG
    d = daemon_of(CONFIG + QUEUES, f", tokens: {file}, audit: audit.jsonl")
    d.headers = {"Authorization": "Bearer " + t["admin"]}
    d.start(wait="/readyz")
    d.tokens, d.file = t, file
    return d


def ask(d, who, method, path, body=None):
    """who: a name of d.tokens, or a token."""
    return d.exchange(method, path, body, {"Authorization": "Bearer " + d.tokens.get(who, who)})


def code(d, who, method, path, body=None):
    return ask(d, who, method, path, body).code


def test_other_owners_have_no_name(daemon_of, tmp_path):
    """Who may ask for his own owners only is told that he takes another's place and what it costs, not whose it is."""
    from conftest import CONFIG
    file = str(tmp_path / "tokens")
    t = {"admin": token(file, "ops", "admin"), "ci": token(file, "ci", "request:ci-*")}
    types = """  t4: {resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.73, max: 1}
  v100: {resources: {CPU: 8, GPU: 4}, accelerator_type: V100, price: 11.44, max: 1}
"""
    d = daemon_of(CONFIG[:CONFIG.index("node_types:")] + "node_types:\n" + types, f", tokens: {file}")
    d.headers = {"Authorization": "Bearer " + t["admin"]}
    d.start(wait="/readyz")
    d.tokens = t
    d.post({"owner": "alice", "bundles": [{"GPU": 1}]})
    d.until(lambda: d.ready("t4") == 1)
    d.until(lambda: d.status()["demand"]["launched"] == 0)
    want = {"owner": "ci-1", "bundles": [{"resources": {"GPU": 1}, "accelerator_type": "T4"}]}
    reply = ask(d, "ci", "POST", "/v1/request_resources", want)
    assert reply.code == 200 and [x["owner"] for x in json.loads(reply.text)["displaces"]] == ["another owner"], reply.text
    assert "it takes the place of another owner (1 x v100 for it): the bill rises by 11.44 $/h" in json.loads(reply.text)["text"]
    for path in ("/v1/request_resources/ci-1", "/v1/why/ci-1"):
        mine = ask(d, "ci", "GET", path)
        assert mine.code == 200 and "alice" not in mine.text, mine.text
    assert "ci-1 took the place of another owner on t4-" in mine.text, mine.text
    assert "ci-1 took the place of alice on t4-" in ask(d, "admin", "GET", "/v1/why/ci-1").text


# What is the same for all, or says nothing of anybody.
OWN_STATUS = {"cluster", "version", "tick", "at", "started_at", "uptime_s", "age_s", "ready", "shadow", "own", "rights", "problems", "problems_more",
              "demand", "requests", "pending", "pending_more", "cost"}


def test_who_may_ask_sees_what_is_his_and_nothing_else(daemon_of, tmp_path):
    """By the right to ask alone: state, price, events and past of his own owners; the secret words of others stand in no reply."""
    from conftest import CONFIG
    file = str(tmp_path / "tokens")
    t = {"admin": token(file, "ops", "admin"), "ci": token(file, "ci", "request:ci-*"), "all": token(file, "all", "request:*")}
    types = """  t4: {resources: {CPU: 8, GPU: 1}, accelerator_type: T4, price: 0.73, max: 1}
  v100: {resources: {CPU: 8, GPU: 4}, accelerator_type: V100, price: 11.44, max: 1}
"""
    d = daemon_of(CONFIG[:CONFIG.index("node_types:")] + "node_types:\n" + types, f", tokens: {file}")
    d.headers = {"Authorization": "Bearer " + t["admin"]}
    d.start(wait="/readyz")
    d.tokens = t

    def his(path, who="ci"):
        reply = ask(d, who, "GET", path)
        assert reply.code == 200 and ("alice" in reply.text) == (who == "all"), (path, reply.text)
        return reply.json

    d.post({"owner": "alice", "bundles": [{"GPU": 1}]})
    d.until(lambda: d.ready("t4") == 1)
    assert his("/v1/status")["requests"] == his("/v1/request_resources")["requests"] == []
    assert code(d, "ci", "POST", "/v1/request_resources", {"owner": "ci-1", "bundles": [{"GPU": 1, "accelerator_type": "T4"}]}) in (200, 202)
    d.until(lambda: d.events("demand.displaced"))
    d.until(lambda: d.ready("v100") == 1)
    d.post({"owner": "ci-1", "bundles": [{"GPU": 1, "accelerator_type": "T4", "count": 2}]})  # the administrator changes it
    d.until(lambda: [e for e in d.events("demand.waits") if e["subject"] == "ci-1"])
    s = his("/v1/status")
    assert set(s) == OWN_STATUS and s["own"] and s["rights"] == "request:ci-*"
    assert [r["owner"] for r in s["requests"]] == ["ci-1"] == [r["owner"] for r in his("/v1/request_resources")["requests"]]
    assert [x["owner"] for x in s["cost"]["owners"]] == ["ci-1"] and s["cost"]["now_per_hour"] == 0.73
    assert (s["demand"]["bundles"], s["demand"]["waiting"], len(s["pending"])) == (2, 1, 1)
    events = his("/v1/events?format=json&after=0")["events"]
    assert {e["kind"] for e in events} <= {"request.set", "demand.waits"} and {e["subject"] for e in events} == {"ci-1"}
    assert [e["text"].rpartition(" by ")[2] for e in events if e["kind"] == "request.set"] == ["ci (token)", "ops (token)"]
    assert his("/v1/events?format=json&after=0&limit=1")["next"] == 1, "read on from there, whether or not it was his"
    assert set(his("/v1/spent")) == {"since", "until", "owners", "types", "idle", "own"}
    assert all(x["owner"] == "ci-1" for x in his("/v1/spent")["owners"]) and not his("/v1/spent")["types"]
    # who was displaced is told by whom, where he may ask for both, and not otherwise
    assert [e["text"][:4] for e in his("/v1/events?format=json&after=0", "all")["events"] if e["kind"] == "demand.displaced"] == ["ci-1"]
    alice = token(file, "alice", "request:alice")
    until(lambda: code(d, alice, "GET", "/v1/status") == 200, every=2.5)
    mine = ask(d, alice, "GET", "/v1/events?format=json&after=0").json["events"]
    assert any(e["kind"] == "launch" and e["text"].endswith(" for alice") for e in mine), mine
    assert [e["text"][:27] for e in mine if e["kind"] == "demand.displaced"] == ["another owner took its place"[:27]]
    assert not any("ci-1" in e["text"] + e["subject"] for e in mine), mine


def test_a_stream_of_his_own(world):
    """It sends what is his as it happens; what is not wakes it and sends nothing."""
    d = world
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=60)
    c.request("GET", "/v1/events", headers={"Authorization": "Bearer " + d.tokens["ci"]})
    stream = c.getresponse()
    assert stream.status == 200
    for owner in ("train-1", "ci-1", "train-2", "ci-2"):
        code(d, "admin", "POST", "/v1/request_resources", {"owner": owner, "num_cpus": 1})
    text = ""
    while '"subject":"ci-2"' not in text:
        text += stream.fp.readline().decode()
    assert '"subject":"ci-1"' in text and "train" not in text, text
    c.close()


def test_commands_by_his_own_right(world):
    d = world
    d.env["DAVIT_TOKEN"] = d.tokens["ci"]
    code(d, "admin", "POST", "/v1/request_resources", {"owner": "train-1", "num_cpus": 1})
    d.cli("request", "--owner", "ci-7", "--wait", "60s", "CPU=1")
    out = {words: d.cli(*words.split()) for words in ("status", "cost", "cost --since today --by owner", "events", "why ci-7")}
    assert all("ci-7" in out[x] for x in ("status", "cost", "events", "why ci-7")) and not any("train" in x for x in out.values()), out
    assert "yours alone: of the rest `request:ci-*,shared` sees nothing" in out["status"] and "yours alone" in out["cost"], out
    assert "for who may read" in d.cli("cost", "--since", "today", "--by", "type")
    for words in ("nodes", "top --once", "cost --why", "why train-1", "request --owner ci-7 --dry-run CPU=1"):
        d.cli(*words.split(), expect=5)


def test_rights(world):
    d = world
    want = {"num_cpus": 1, "owner": "ci-7"}
    for who, expected in (("admin", 200), ("read", 200), ("train", 200), ("ci", 403), ("old", 401), ("wrong", 401)):
        for path in ("/v1/nodes", "/v1/overview", "/v1/history", "/v1/decisions", "/v1/snapshot"):
            assert code(d, who, "GET", path) == expected, (who, path)
        assert code(d, who, "GET", "/metrics") == expected, who
        assert code(d, who, "POST", "/v1/plan", want) == expected, who
    for who, expected in (("read", 403), ("ci", (200, 202)), ("train", 403), ("admin", (200, 202))):
        assert code(d, who, "POST", "/v1/request_resources", want) in (expected if isinstance(expected, tuple) else (expected,)), who
    # what the body says is worth nothing
    assert code(d, "ci", "POST", "/v1/request_resources", {"num_cpus": 1, "owner": "train-1"}) == 403
    assert code(d, "ci", "POST", "/v1/request_resources", {"num_cpus": 1}) == 403, "the owner \"default\""
    assert code(d, "train", "POST", "/v1/request_resources", {"num_cpus": 1, "owner": "train-1"}) == 403, "no queue"
    assert code(d, "train", "POST", "/v1/request_resources",
                {"bundles": [{"GPU": 1}], "owner": "train-1", "queue": "a100"}) in (200, 202)
    # a large body is read elsewhere, and judged the same
    big = {"owner": "train-9", "bundles": [{"CPU": i % 7 + 1, "memory": i} for i in range(4000)]}
    assert len(json.dumps(big)) > 65536
    r = ask(d, "ci", "POST", "/v1/request_resources", big)
    assert r.code == 403 and "train-9" in r.text
    # nobody clears another's
    assert code(d, "ci", "DELETE", "/v1/request_resources/train-1") == 403
    assert code(d, "ci", "POST", "/v1/request_resources", {"owner": "train-1", "bundles": []}) == 403
    assert code(d, "ci", "GET", "/v1/request_resources/train-1") == 403
    assert code(d, "ci", "GET", "/v1/request_resources/ci-7") == 200
    assert code(d, "ci", "GET", "/v1/why/ci-7") == 200
    assert "did you mean" not in ask(d, "ci", "GET", "/v1/why/ci-77").text, "other names are not for him"
    assert code(d, "ci", "DELETE", "/v1/request_resources/ci-7") == 200
    for method, path in (("POST", "/v1/reload"), ("POST", "/v1/nodes/x/protect"), ("POST", "/v1/nodes/x/cordon"),
                         ("DELETE", "/v1/nodes/x/cordon"), ("POST", "/v1/nodes/x/drain"), ("DELETE", "/v1/nodes/x/drain"), ("GET", "/v1/audit")):
        for who in ("read", "ci", "train"):
            assert code(d, who, method, path) == 403, (who, path)
        assert code(d, "admin", method, path) in (200, 404)


def test_changes_name_their_caller(world):
    d = world
    code(d, "ci", "POST", "/v1/request_resources", {"num_cpus": 1, "owner": "ci-7"})
    code(d, "ci", "POST", "/v1/request_resources", {"num_cpus": 1, "owner": "train-7"})
    code(d, "admin", "DELETE", "/v1/request_resources/ci-7")
    code(d, "admin", "POST", "/v1/reload")
    assert re.search(r"by ci \(token\)", d.events("request.set")[-1]["text"])
    assert "by ops (token)" in d.events("request.cleared")[-1]["text"]
    assert "by ops (token)" in d.events("config.asked")[-1]["text"]
    r = ask(d, "admin", "GET", "/v1/audit?after=0").json
    got = [(e["caller"], e["method"], e["subject"], e["code"]) for e in r["entries"]]
    assert got[0][:3] == ("ci", "POST", "ci-7") and got[0][3] in (200, 202)
    assert got[1] == ("ci", "POST", "train-7", 403) or got[1][3] == 403
    assert got[2][:3] == ("ops", "DELETE", "ci-7") and got[3][:2] == ("ops", "POST")
    assert r["next"] == r["entries"][-1]["id"] and not r["missed"]
    path = d.dir / "audit.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    # a thread of its own writes the file
    lines = d.until(lambda: (v := [json.loads(line) for line in path.read_text().splitlines()]) == r["entries"] and v)
    secrets = [t for t in d.tokens.values()]
    assert not any(s in path.read_text() + d.text() for s in secrets)
    # a restart goes on where it was
    d.stop()
    d.start(wait="/readyz")
    code(d, "admin", "POST", "/v1/reload")
    again = ask(d, "admin", "GET", "/v1/audit?after=0").json["entries"]
    assert again[:len(lines)] == lines and again[-1]["id"] == lines[-1]["id"] + 1


def test_reloaded_without_a_restart(world):
    d = world
    new = token(d.file, "late", "read")
    until(lambda: code(d, new, "GET", "/v1/status") == 200, every=2.5)     # more often would be many failed logins
    assert subprocess.run([DAVIT, "token", "revoke", "late", "--file", d.file]).returncode == 0
    until(lambda: code(d, new, "GET", "/v1/status") == 401)
    # a broken file is loud, and changes nothing
    text = open(d.file).read()
    with open(d.file, "a") as f:
        f.write("broken sha256:12 read\n")
    d.until(lambda: code(d, "admin", "GET", "/readyz") == 503)
    r = ask(d, "admin", "GET", "/readyz")
    assert "64 hexadecimal digits" in r.text and f"{d.file}:6" in r.text, r.text
    assert "64 hexadecimal digits" in d.text()
    assert "davit_server_problems 1" in ask(d, "admin", "GET", "/metrics").text
    assert code(d, "read", "GET", "/v1/status") == 200
    open(d.file, "w").write(text)
    d.until(lambda: code(d, "admin", "GET", "/readyz") == 200)
    os.chmod(d.file, 0o644)
    d.until(lambda: code(d, "admin", "GET", "/readyz") == 503)
    assert "may be read by everybody" in ask(d, "admin", "GET", "/readyz").text
    os.chmod(d.file, 0o600)
    d.until(lambda: code(d, "admin", "GET", "/readyz") == 200)
    os.rename(d.file, d.file + ".away")
    d.until(lambda: code(d, "admin", "GET", "/readyz") == 503)
    assert code(d, "admin", "GET", "/v1/status") == 200


def test_failed_logins(world):
    d = world
    codes = [code(d, f"guess-{i}", "GET", "/v1/status") for i in range(50)]
    assert codes[:30] == [401] * 30 and set(codes[35:]) == {429}, codes
    assert code(d, "admin", "GET", "/v1/status") == 200, "who was right before is not kept out"
    assert code(d, "train", "GET", "/v1/status") == 200, "nor who comes for the first time: his token is known"
    text = ask(d, "admin", "GET", "/metrics").text
    assert re.search(r"davit_logins_failed_total 3[0-5]\b", text)
    assert int(re.search(r"davit_logins_throttled_total (\d+)", text).group(1)) >= 9
    assert d.text().count("failed login") == 1 and "from 127.0.0.1" in d.text()
    assert "guess" not in d.text()


def test_no_port_at_all(daemon_of):
    """api.listen: off leaves the Unix socket alone, and what is known by its port is not there."""
    from conftest import CONFIG
    quiet = CONFIG.replace('listen: "127.0.0.1:{port}"', "listen: off")
    d = daemon_of(quiet, ", socket: s")
    d.start(wait=None)

    def ask():
        c = Local(str(d.dir / "s"))
        try:
            c.request("GET", "/v1/status")
            return c.getresponse().status
        except OSError:
            return 0
        finally:
            c.close()
    d.until(lambda: ask() == 200)
    sockets = set()
    for n in os.listdir(f"/proc/{d.p.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):    # closed meanwhile
            sockets.add(os.readlink(f"/proc/{d.p.pid}/fd/{n}"))
    with open("/proc/net/tcp") as f4, open("/proc/net/tcp6") as f6:
        rows = [line.split() for f in (f4, f6) for line in f.readlines()[1:]]
    listening = [r for r in rows if r[3] == "0A" and f"socket:[{r[9]}]" in sockets]
    assert not listening, listening
    d.cli("status", "--url", f"unix:{d.dir}/s")
    assert d.stop() == 0, d.text()
    d = daemon_of(quiet)
    d.start(wait=None)
    assert d.p.wait(60) == 3 and "off leaves no way in" in d.text(), d.text()


def test_users_of_the_socket(daemon_of, tmp_path):
    file = tmp_path / "tokens"
    file.write_text("backup user:12345 read\n")
    file.chmod(0o600)
    d = daemon_of(api=f", tokens: {file}, socket: s")
    path = str(d.dir / "s")
    for p in (tmp_path, *tmp_path.parents):
        if p == p.parent or p.stat().st_uid != os.getuid():
            break
        os.chmod(p, p.stat().st_mode | 0o011)
    os.chmod(d.dir, 0o755)
    d.start(wait=None)

    def get(method="GET", where="/v1/status", body=None):
        c = Local(path)
        c.request(method, where, body)
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r.status, text

    def ready():
        try:
            return get("GET", "/readyz")[0] == 200
        except OSError:
            return False
    d.until(ready)
    assert get()[0] == 200 and get("POST", "/v1/reload")[0] == 200
    assert f"by uid:{os.getuid()} (socket)" in get("GET", "/v1/events?format=json&after=0")[1]
    if os.getuid() == 0:
        assert as_user(12345, get)[0] == 200
        assert as_user(12345, lambda: get("POST", "/v1/reload"))[0] == 403
        assert as_user(12346, get)[0] == 403
    assert "it" in d.cli("status", "--url", f"unix:{path}")
    d.stop()
    assert not os.path.exists(path)
    d.start(wait=None)
    d.until(ready)
    d.kill()
    d.start(wait=None)      # what a killed one left is in nobody's way
    d.until(ready)


def test_every_change_needs_a_right(world):
    """All routes that change something, as the API's description has them."""
    paths = json.loads((ROOT / "docs/openapi.json").read_text())["paths"]
    changes = [(m.upper(), p) for p, item in paths.items() for m in item if m in ("post", "put", "delete", "patch")]
    assert len(changes) > 5
    for method, path in changes:
        if path not in ("/v1/plan", "/v1/whatif"):
            r = ask(world, "read", method, re.sub(r"{.*?}", "x", path), {"num_cpus": 1})
            assert r.code == 403, (method, path)
    last = ask(world, "admin", "GET", "/v1/audit?after=0").json["entries"]
    assert len(last) == len(changes) - 2 and all(e["caller"] == "grafana" and e["code"] == 403 for e in last)


def test_what_is_open_is_said(daemon_of, tmp_path):
    file = tmp_path / "tokens"
    secret = token(file, "a", "admin")
    d = daemon_of("""
cluster: it
api: {listen: "0.0.0.0:{port}", tokens: %s}
providers: {sim: {}}
node_types: {cpu: {provider: sim, resources: {CPU: 1}, price: 1}}
""" % file)
    d.headers = {"Authorization": "Bearer " + secret}
    d.start(wait="/readyz")
    assert any("set api.tls" in p for p in d.get("/readyz")[1]["problems"])
    assert any("set api.tls" in p for p in d.status()["problems"])


def test_one_client_does_not_get_all_streams(daemon):
    def stream(source):
        s = socket.create_connection(("127.0.0.1", daemon.port), source_address=(source, 0))
        s.settimeout(20)
        s.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return s, s.recv(4000)
    held = [stream("127.0.0.1") for _ in range(64)]
    assert all(b"200 OK" in head for _, head in held)
    assert b"503" in stream("127.0.0.1")[1]
    others = [stream(f"127.0.0.{i}") for i in range(2, 10)]
    assert all(b"200 OK" in head for _, head in others)
    for s, _ in held + others:
        s.close()


def test_a_ceiling_of_priority(world):
    """Who may ask does not say himself how important he is."""
    d = world
    d.tokens["low"] = token(d.file, "low", "read", "request:low-*", "priority:10")
    d.until(lambda: code(d, "low", "GET", "/v1/status") == 200)
    body = {"owner": "low-1", "bundles": [{"CPU": 1}]}
    big = {"owner": "low-1", "bundles": [{"CPU": 1, "memory": i + 1} for i in range(4000)]}
    assert code(d, "low", "POST", "/v1/request_resources", {**body, "priority": 10}) in (200, 202)
    for asked in ({**body, "priority": 11}, {**body, "priority": 1000000}, {**big, "priority": 11}):
        r = ask(d, "low", "POST", "/v1/request_resources", asked)
        assert r.code == 403 and r.json["error"]["where"] == "priority" and "10 at most" in r.text, r.text
    assert code(d, "low", "DELETE", "/v1/request_resources/low-1") == 200
    # without that right as ever, and an admin has no ceiling
    for who, owner in (("ci", "ci-1"), ("admin", "low-1")):
        assert code(d, who, "POST", "/v1/request_resources", {**body, "owner": owner, "priority": 1000000}) in (200, 202)


def test_requests_of_a_token_that_is_gone_are_named(world):
    d = world
    assert code(d, "ci", "POST", "/v1/request_resources", {"owner": "ci-1", "bundles": [{"CPU": 1}]}) in (200, 202)
    said = "1 request of callers who may not ask for it any more stands and costs: ci-1 of token ci"
    assert not [p for p in d.status()["problems"] if "may not ask" in p]
    assert subprocess.run([DAVIT, "token", "revoke", "ci", "--file", d.file]).returncode == 0
    d.until(lambda: [p for p in d.status()["problems"] if said in p])
    ready = d.exchange("GET", "/readyz")
    assert ready.code == 200 and said in ready.text, "it is told, and keeps nobody from his work"
    assert d.call("DELETE", "/v1/request_resources/ci-1")[0] == 200
    d.until(lambda: not [p for p in d.status()["problems"] if "may not ask" in p])


LINES = {
    "x sha256:" + "0" * 63 + " read": "64 hexadecimal",
    "x sha256:" + "g" * 64 + " read": "hexadecimal",
    "x s3cret read": "never the token itself",
    "x user:no-such-user-here read": "no user",
    "x cert: read": "never the token",
    "x user:1": "a name, a credential and rights",
    "x user:1 write": "is no right",
    "x user:1 request:": "pattern is missing",
    "x user:1 request:a,,b": "patterns",
    "x user:1 read queues:a": "goes with request",
    "x user:1 until:2030-01-01": "there is no right",
    "x user:1 read priority:5": "goes with request",
    "x user:1 request:a priority:": "whole number",
    "x user:1 request:a priority:5x": "whole number",
    "x user:1 request:a priority:1000001": "-1000000 and 1000000",
    "x user:1 read until:soon": "until:",
    "x/y user:1 read": "letters",
    "a user:1 read\na user:2 read": "already",
}


@pytest.mark.parametrize("line", LINES)
def test_mistakes_in_the_file(tmp_path, line):
    file = tmp_path / "tokens"
    file.write_text("# first\n" + line + "\n")
    file.chmod(0o600)
    p = subprocess.run([DAVIT, "token", "list", "--file", file], capture_output=True, text=True)
    assert p.returncode == 3 and LINES[line] in p.stderr, p.stderr
    assert re.search(r"tokens:[23]: ", p.stderr), p.stderr


def test_the_command(tmp_path):
    file = tmp_path / "tokens"
    first = token(file, "a", "read")
    assert re.fullmatch(r"davit_[A-Za-z0-9_-]{43}", first) and file.stat().st_mode & 0o777 == 0o600
    with open(file, "a") as f:
        f.write("# a comment\n")
    assert token(file, "b", "request:x-*,y", "queues:q", "until:2099-01-01") != first
    token(file, "a", "read", expect=3)
    token(file, "c", "rule", expect=3)
    out = subprocess.run([DAVIT, "token", "list", "--file", file], capture_output=True, text=True).stdout
    assert re.search(r"^b .*request:x-\*,y queues:q +until 2099-01-01$", out, re.M), out
    assert subprocess.run([DAVIT, "token", "revoke", "a", "--file", file]).returncode == 0
    assert subprocess.run([DAVIT, "token", "revoke", "a", "--file", file], capture_output=True).returncode == 1
    text = file.read_text()
    assert first not in text and "\na " not in "\n" + text and "# a comment" in text
    file.chmod(0o644)
    assert subprocess.run([DAVIT, "token", "list", "--file", file], capture_output=True).returncode == 3
