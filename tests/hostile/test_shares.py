"""Each ceiling of the API has a share for each caller, and a rest for all: the good one is always served, whatever another one does."""
import contextlib
import http.client
import json
import random
import re
import socket
import threading
import time

import pytest
from test_access import token
from test_bodies import cpu, dear_plan

from lib import crowded, until
from lib.seeds import seed


@pytest.fixture
def two(daemon_of, tmp_path):
    """A daemon with two callers who may read and ask, and an administrator."""
    from conftest import CONFIG
    file = str(tmp_path / "tokens")
    t = {"mal": token(file, "mal", "read", "request:mal-*"), "good": token(file, "good", "read", "request:good-*"), "ops": token(file, "ops", "admin")}
    d = daemon_of(CONFIG, f", tokens: {file}, audit: {tmp_path}/audit.jsonl")
    d.audit, d.file = tmp_path / "audit.jsonl", file
    d.tokens, d.headers = t, {"Authorization": "Bearer " + t["ops"]}
    d.start(wait="/readyz")
    return d


def ask(d, who, method, path, body=None, address="127.0.0.1"):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=120, source_address=(address, 0))
    with contextlib.closing(c):
        c.request(method, path, body if isinstance(body, bytes) else json.dumps(body) if body else None, {"Authorization": "Bearer " + d.tokens[who]})
        r = c.getresponse()
        return r.status, r.read()


class Many:
    """The same over and over, on so many threads; its codes."""
    def __init__(self, n, what):
        self.stop, self.codes = threading.Event(), []
        self.threads = [threading.Thread(target=self.go, args=(what,), daemon=True) for _ in range(n)]
        for t in self.threads:
            t.start()

    def go(self, what):
        while not self.stop.is_set():
            try:
                self.codes.append(what())
            except (OSError, http.client.HTTPException):
                self.codes.append(0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop.set()
        for t in self.threads:
            t.join(120)


def plan(d, who, n, i=0):
    return ask(d, who, "POST", "/v1/plan", json.dumps({"bundles": [{"CPU": 1 + k % 7, "memory": 1 + k + i} for k in range(n)]}).encode())[0]


def test_all_places_of_long_work_by_one(two):
    """Sixteen plans may wait: with forty of one caller, another one's was refused."""
    d = two
    with Many(40, lambda: plan(d, "mal", 1000)) as many:
        until(lambda: 429 in many.codes, 60)
        for i in range(4):
            assert plan(d, "good", 20, i) == 200, i
            time.sleep(0.1)  # wait: another moment
        assert ask(d, "good", "POST", "/v1/request_resources", {"owner": "good-1", "bundles": [{"CPU": 1, "memory": 1 + k} for k in range(3000)]})[0] in (200, 202)
    print({c: many.codes.count(c) for c in set(many.codes)})
    assert 200 in many.codes, "and he is served as well"


@pytest.mark.parametrize("n", [1, 4000])
def test_the_subject_of_a_refusal(two, n):
    """The audit names whom it would have been for, also of a body that is read on another thread."""
    d = two
    body = {"owner": "mal-7", "bundles": [{"CPU": 1 + k % 7, "memory": 1 + k} for k in range(n)]}
    assert ask(d, "good", "POST", "/v1/request_resources", body)[0] == 403
    assert ask(d, "good", "POST", "/v1/request_resources", {**body, "owner": "good-7", "bundles": [{"CPU": -1}] * n})[0] == 400
    got = json.loads(ask(d, "ops", "GET", "/v1/audit?after=0")[1])["entries"]
    assert [(e["subject"], e["code"]) for e in got] == [("mal-7", 403), ("good-7", 400)]


def unfinished(d, who, n, address="127.0.0.1"):
    """So many bodies of 4 MiB, but for the last byte."""
    many, body = [], b" " * ((4 << 20) - 65)
    for _ in range(n):
        s = socket.create_connection(("127.0.0.1", d.port), timeout=60, source_address=(address, 0))
        many.append(s)
        with contextlib.suppress(OSError):
            s.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (d.tokens[who].encode(), len(body) + 1) + body)
    return many


def held(d):
    return int(re.search(rb"davit_http_held_bytes (\d+)", ask(d, "ops", "GET", "/metrics")[1]).group(1))


def test_all_memory_for_bodies_by_one(two):
    """Two callers of one address: the one sends fifteen bodies of 4 MiB and ends none, the other one's is read to its end."""
    d = two
    many = unfinished(d, "mal", 9)
    until(lambda: held(d) >= 9 << 22, 60, every=0.3)
    many += unfinished(d, "mal", 6)
    assert held(d) <= 41 << 20
    large = json.dumps({"bundles": [{"CPU": 1 + k % 7, "memory": 1 + k} for k in range(4000)]}).encode()
    code, text = ask(d, "good", "POST", "/v1/plan", large.ljust((4 << 20) - 65))
    assert code == 200, text
    assert ask(d, "good", "POST", "/v1/request_resources", {"owner": "good-1", "bundles": [{"CPU": 1, "memory": 1 + k} for k in range(3000)]})[0] in (200, 202)
    for s in many:
        s.close()
    until(lambda: held(d) == 0, 60)


def test_all_memory_for_bodies_by_many(two):
    """Ten callers who send bodies and end none leave a share to one who holds nothing, and what many read is read."""
    d = two
    for i in range(10):
        d.tokens[f"mal{i}"] = token(d.file, f"mal{i}", "read", "request:mal-*")
    until(lambda: ask(d, "mal9", "GET", "/v1/status")[0] == 200, 60)
    many = [s for i in range(10) for s in unfinished(d, f"mal{i}", 12)]
    until(lambda: held(d) >= 60 << 20, 60, every=0.3)
    assert held(d) <= 96 << 20
    body = {"owner": "good-1", "bundles": [{"CPU": 1, "memory": 1 + k} for k in range(600)]}
    for i in range(10):
        assert ask(d, "good", "GET", "/v1/status")[0] == ask(d, "good", "GET", "/v1/snapshot")[0] == 200
        assert plan(d, "good", 600, i) == 200, i
        assert ask(d, "good", "POST", "/v1/request_resources", body)[0] in (200, 202)
    for s in many:
        s.close()
    until(lambda: held(d) <= 1 << 20, 60)


def flood(d, who, n):
    """So many changes, on one connection."""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=120)
    with contextlib.closing(c):
        for i in range(n):
            c.request("DELETE", f"/v1/request_resources/{who}-{i}", headers={"Authorization": "Bearer " + d.tokens[who]})
            c.getresponse().read()


def entries(d, after=0):
    got = []
    while True:
        page = json.loads(ask(d, "ops", "GET", f"/v1/audit?after={after}")[1])
        if not page["entries"]:
            return got
        got += page["entries"]
        after = page["next"]


def test_the_audit_keeps_what_others_did(two):
    """1,200 changes of one caller pushed the others' out of the 1,024 that are kept, and any number theirs out of the file."""
    d = two
    assert ask(d, "good", "POST", "/v1/request_resources", {"owner": "good-1", "num_cpus": 1})[0] in (200, 202)
    floods = [threading.Thread(target=flood, args=(d, "mal", 300)) for _ in range(4)]
    for t in floods:
        t.start()
    for t in floods:
        t.join()
    assert ask(d, "good", "DELETE", "/v1/request_resources/good-1")[0] == 200
    got = entries(d)
    assert [(e["method"], e["subject"]) for e in got if e["caller"] == "good"] == [("POST", "good-1"), ("DELETE", "good-1")]
    his = [e for e in got if e["caller"] == "mal"]
    assert sum(e.get("more", 1) for e in his) == 1200, "all are counted"
    assert any("more" in e for e in his) and len(his) < 1000
    # and of what happened to others: `why` is asked about it
    why = json.loads(ask(d, "good", "GET", "/v1/why/good-1")[1])
    assert "it was cleared by good (token)" in json.dumps(why), why
    assert [e["id"] for e in got] == sorted(e["id"] for e in got)
    assert d.stop() == 0
    lines = [json.loads(x) for x in d.audit.read_text().splitlines()]
    assert sum(e.get("more", 1) for e in lines if e["caller"] == "mal") == 1200
    assert [e["method"] for e in lines if e["caller"] == "good"] == ["POST", "DELETE"]


# ---- whatever he does

class Hostile:
    """One thing after another, of chance, for every limit that there is, from the good one's address."""
    def __init__(self, d, rng, threads=10):
        self.d, self.did, self.open = d, {}, []
        self.rngs = [random.Random(rng.random()) for _ in range(threads)]
        self.many = Many(threads, self.one)

    def one(self):
        rng = self.rngs[threading.get_ident() % len(self.rngs)]
        what = rng.choice((self.ask, self.ask, self.plan, self.plan, self.read, self.change, self.guess, self.body, self.listen, self.slow))
        what(rng)
        self.did[what.__name__] = self.did.get(what.__name__, 0) + 1

    def ask(self, rng):
        bundles = [{"resources": {rng.choice(["CPU", "GPU", f"r{rng.randrange(400)}"]): rng.randrange(1, 10000)}, "count": rng.choice([1, 1, 1000])}
                   for _ in range(rng.randrange(1, 4000))]
        got = ask(self.d, "mal", "POST", "/v1/request_resources", {"owner": f"mal-{rng.randrange(4)}", "bundles": bundles})
        assert got[0] in (200, 202, 400, 429, 503), got

    def plan(self, rng):
        plan(self.d, "mal", rng.randrange(1, 3000), rng.randrange(9))

    def read(self, rng):
        ask(self.d, "mal", "GET", rng.choice(("/v1/status", "/v1/snapshot", "/v1/request_resources", "/v1/events?format=json&after=0", "/metrics")))

    def change(self, rng):
        for _ in range(rng.randrange(60)):
            ask(self.d, "mal", "DELETE", f"/v1/request_resources/mal-{rng.randrange(4)}")

    def guess(self, rng):
        for _ in range(rng.randrange(40)):
            c = http.client.HTTPConnection("127.0.0.1", self.d.port, timeout=60)
            with contextlib.closing(c):
                c.request("GET", "/v1/status", headers={"Authorization": f"Bearer wrong{rng.random()}"})
                c.getresponse().read()

    def hold(self, rng, sockets):
        self.open += sockets
        while len(self.open) > 60:
            self.open.pop(rng.randrange(len(self.open))).close()

    def body(self, rng):
        self.hold(rng, unfinished(self.d, "mal", rng.randrange(1, 4)))

    def get(self, path):
        s = socket.create_connection(("127.0.0.1", self.d.port), timeout=60)
        s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n" % (path, self.d.tokens["mal"].encode()))
        return s

    def listen(self, rng):
        self.hold(rng, [self.get(b"/v1/events") for _ in range(rng.randrange(1, 12))])

    def slow(self, rng):
        self.hold(rng, [self.get(b"/v1/snapshot") for _ in range(rng.randrange(1, 12))])

    def end(self):
        self.many.__exit__()
        for s in self.open:
            s.close()
        print(self.did)


def heard(d, s, text):
    with contextlib.suppress(TimeoutError):
        text[0] += s.recv(1 << 16)
    return text[0]


def test_a_good_one_beside_a_hostile_one(two):
    """Whatever the one does, the other one is served each time, soon; his stream goes on, and what he did is in the audit."""
    d, rng, slowest = two, random.Random(seed()), 0
    stream, text = socket.create_connection(("127.0.0.1", d.port)), [b""]
    stream.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n" % d.tokens["good"].encode())
    stream.settimeout(0.2)  # wait: a look at what came; heard() is asked again
    until(lambda: b" 200 OK" in heard(d, stream, text), 60)
    bad = Hostile(d, rng)
    try:
        for i in range(12):
            owner = f"good-{i % 3}"
            for what, body, codes in ((("POST", "/v1/request_resources"), {"owner": owner, "bundles": [{"CPU": rng.randrange(1, 9)}, {"GPU": 1}]}, (200, 202)),
                                      (("GET", "/v1/status"), None, (200,)), (("GET", f"/v1/why/{owner}"), None, (200,)),
                                      (("POST", "/v1/plan"), {"bundles": [{"CPU": 1, "memory": 1 + k + i} for k in range(rng.randrange(1, 400))]}, (200,)),
                                      (("DELETE", f"/v1/request_resources/{owner}"), None, (200,))):
                began = time.monotonic()
                got = ask(d, "good", *what, body)
                assert got[0] in codes, (what, got)
                slowest = max(slowest, time.monotonic() - began)
            time.sleep(rng.random() * 0.3)  # wait: at any moment
        until(lambda: heard(d, stream, text).count(b"good-") >= 12, 60)
    finally:
        bad.end()
        stream.close()
    print(f"the slowest: {slowest:.2f} s")
    assert slowest < 10 * crowded(), slowest
    assert [e["method"] for e in entries(d) if e["caller"] == "good" and e["method"] != "GET" and "/plan" not in e["path"]] == ["POST", "DELETE"] * 12
    until(lambda: d.get("/healthz")[0] == 200, 60)


def test_a_large_request_waits_for_no_plan(two):
    """It is read on a thread of its own: who asks for dear plans keeps nobody's request out."""
    d, over = two, threading.Event()
    begun = cpu(d.p.pid)

    def dear():
        if ask(d, "mal", "POST", "/v1/plan", dear_plan("gangs").encode())[0] == 200:
            over.set()
    threads = [threading.Thread(target=dear) for _ in range(3)]
    for t in threads:
        t.start()
    until(lambda: cpu(d.p.pid) > begun + 0.3)
    large = {"owner": "good-1", "bundles": [{"CPU": 1 + i / 10000} for i in range(4000)]}
    assert len(json.dumps(large)) > 64 << 10
    got = ask(d, "good", "POST", "/v1/request_resources", large)
    assert got[0] == 202, got
    assert not over.is_set()
    for t in threads:
        t.join()


# ---- what is given back in one table is free in all

def unread(d, who, address):
    """A stream of all events that are kept, of one who reads next to nothing."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.bind((address, 0))
    s.settimeout(120)
    s.connect(("127.0.0.1", d.port))
    s.sendall(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n" % d.tokens[who].encode())
    assert s.recv(1) == b"H"
    s.setblocking(False)
    return s


def is_gone(s):
    """It takes a byte, so that it is never quiet."""
    try:
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_streams_that_gave_way_keep_no_connection(two):
    d = two
    for i in range(1100):
        ask(d, "ops", "POST", "/v1/request_resources", {"owner": f"x-{i % 3}", "bundles": [{"CPU": 1, "memory": k + i + 1} for k in range(20)]})
    with contextlib.ExitStack() as stack:
        his = [stack.enter_context(contextlib.closing(unread(d, "mal", "127.0.1.1"))) for _ in range(64)]
        mine = [stack.enter_context(contextlib.closing(unread(d, "good", "127.0.2.1"))) for _ in range(32)]
        until(lambda: sum(is_gone(s) for s in his) >= 32)
        assert not any(is_gone(s) for s in mine) and ask(d, "good", "GET", "/v1/status")[0] == 200


# ---- time

def test_dear_replies_of_one(two):
    """A long answer keeps a thread from all: who asks for many is told to ask less often, the others wait for little of it."""
    d = two
    assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": "mal-1", "bundles": [{"CPU": 1 + i / 10000, "nope": 1 + i} for i in range(1200)]})[0] == 202
    with Many(40, lambda: ask(d, "mal", "GET", "/v1/why/mal-1", address="127.0.1.1")[0]) as many:
        until(lambda: {200, 429} <= set(many.codes))
        took = []
        for _ in range(30):
            began = time.monotonic()
            assert ask(d, "good", "GET", "/v1/status", address="127.0.2.1")[0] == 200
            took.append(time.monotonic() - began)
    assert set(many.codes) <= {200, 429, 0}
    assert sorted(took)[15] < crowded(), took
    until(lambda: ask(d, "mal", "GET", "/v1/why/mal-1")[0] == 200)  # it is paid in time


def test_a_right_with_many_stars(daemon_of, tmp_path):
    from conftest import CONFIG
    file = str(tmp_path / "tokens")
    t = {"star": token(file, "star", "request:" + "*-" * 30 + "x")}
    d = daemon_of(CONFIG, f", tokens: {file}")
    d.tokens = t
    d.start(wait="/healthz")
    assert ask(d, "star", "DELETE", "/v1/request_resources/" + "-" * 128)[0] == 403


def test_why_ones_own_waits_is_told_beside_many_who_wait(two):
    """There is room for 64 who wait: who has most of it gives way.  What became of others' requests is no end of his own news."""
    d = two
    for i in range(70):
        assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": f"mal-{i}", "bundles": [{"CPU": 5000}]})[0] in (200, 202)
    assert ask(d, "good", "POST", "/v1/request_resources", {"owner": "good-1", "bundles": [{"CPU": 6000}]})[0] in (200, 202)

    def told():
        events = json.loads(ask(d, "good", "GET", "/v1/events?format=json&after=0")[1])["events"]
        return {e["kind"] for e in events if e["subject"] == "good-1"} >= {"demand.infeasible"}
    until(told)


def test_one_callers_events_push_out_nobody_elses(two):
    """Not those of his requests that end by their ttl, and not by a restart either."""
    d = two
    body = {"owner": "good-1", "bundles": [{"CPU": 4}]}
    assert ask(d, "good", "POST", "/v1/request_resources", body)[0] in (200, 202)
    assert ask(d, "good", "DELETE", "/v1/request_resources/good-1")[0] == 200

    def kinds(who="good"):
        events = json.loads(ask(d, who, "GET", "/v1/events?format=json&after=0")[1])["events"]
        return {(e["kind"], e["subject"]) for e in events}
    until(lambda: ("request.cleared", "good-1") in kinds() and any(k == "launch" for k, _ in kinds("ops")))
    for i in range(1100):
        assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": f"mal-{i % 40}", "bundles": [{"CPU": 0.001 * (1 + i % 7)}], "ttl": "1s"})[0] in (200, 202)
    until(lambda: ("request.expired", "mal-39") in kinds("mal"))
    for _ in range(2):
        assert kinds() >= {("request.set", "good-1"), ("request.cleared", "good-1")}
        assert any(k == "launch" for k, _ in kinds("ops"))
        d.stop()
        d.start(wait="/readyz")


def test_many_names_of_one_hide_nobodys_dollars(two):
    """There is room for 99 owners whose dollars are counted apart: nobody takes more of it than he leaves for others."""
    d = two

    def spent(who):
        return {o["owner"] for o in json.loads(ask(d, who, "GET", "/v1/spent")[1])["owners"]}
    for i in range(110):
        assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": f"mal-{i}", "bundles": [{"CPU": 0.01}]})[0] in (200, 202)
    until(lambda: "other" in spent("ops"))
    assert ask(d, "good", "POST", "/v1/request_resources", {"owner": "good-1", "bundles": [{"CPU": 1}]})[0] in (200, 202)
    until(lambda: "good-1" in spent("good"))
    d.stop()
    d.start(wait="/readyz")
    assert "good-1" in spent("good")


def evicted(d):
    """Asked from an address that nobody crowds."""
    text = ask(d, "ops", "GET", "/metrics", address="127.9.9.9")[1]
    return int(re.search(rb'davit_http_ended_total.why="crowded". (\d+)', text)[1])


UPLOAD = (b"POST /v1/request_resources HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n"
          b"Content-Length: %d\r\n\r\n")
MANY = 250  # of the 384 connections that one address may have


def uploads_stay(d, n, threads, connect):
    """n uploads of the good one, a byte at a time, beside threads that connect() and hold their connections."""
    body = json.dumps({"owner": "good-1", "bundles": [{"CPU": 1}]}).encode()
    held, stop = [], threading.Event()

    def flood():
        while not stop.is_set():
            with contextlib.suppress(OSError):
                held.append(connect())
                if len(held) > 1500:
                    held.pop(0).close()

    with contextlib.ExitStack() as stack:
        ups = [stack.enter_context(contextlib.closing(socket.create_connection(("127.0.0.1", d.port), 120))) for _ in range(n)]
        for up in ups:  # "100 Continue": it is known whose it is
            up.sendall((UPLOAD % (d.tokens["good"].encode(), len(body))).replace(b"Host: x", b"Host: x\r\nExpect: 100-continue"))
            assert up.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        floods = [threading.Thread(target=flood, daemon=True) for _ in range(threads)]
        for t in floods:
            t.start()
        try:
            until(lambda: evicted(d) > 0)
            for i in range(5):
                for up in ups:
                    up.sendall(body[i:i + 1])
                seen = evicted(d)
                until(lambda: evicted(d) > seen + 300)
            for up in ups:
                up.sendall(body[5:])
                assert up.recv(1000).startswith(b"HTTP/1.1 2" if n == 1 else b"HTTP/1.1 ")  # many may owe: 429
        finally:
            stop.set()
            for t in floods:
                t.join(120)
            for c in held:
                c.close()


def test_one_caller_cuts_no_uploads_of_others_at_his_address(two):
    """Behind one address, as a proxy's or a NAT's, who fills all seats makes room for himself by his own."""
    d = two

    def connect():
        c = socket.create_connection(("127.0.0.1", d.port))
        c.sendall(UPLOAD % (d.tokens["mal"].encode(), 100) + b"{")
        return c
    uploads_stay(d, 1, 4, connect)


@pytest.mark.parametrize("n, addresses", [(1, 1000), (MANY, 1)])
def test_strangers_cut_no_known_callers_upload(two, n, addresses):
    """Whoever has shown who he is keeps his connections while strangers, of many addresses or of his own, fill the port."""
    d, chance = two, random.Random(seed())

    def connect():
        c = socket.socket()
        if addresses > 1:
            c.bind((f"127.0.{chance.randrange(1, 5)}.{chance.randrange(1, 250)}", 0))
        c.connect(("127.0.0.1", d.port))
        c.sendall(b"GET /v1/status HTTP/1.1\r\n")
        return c
    uploads_stay(d, n, 6, connect)
