"""Rights by the Kubernetes API server, beside an account that asks for all there is: its own streams and requests are what is refused."""
import base64
import contextlib
import http.client
import http.server
import json
import random
import socket
import threading
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from lib import crowded, until
from lib.seeds import seed

CONFIG = """
cluster: it
api: {listen: "127.0.0.1:{port}", kubernetes: {}API}
state: davit.db
providers: {sim: {}}
node_types: {t: {provider: sim, resources: {CPU: 4}, price: 0.2, max: 8}}
"""
HERE = "127.0.0.2"
CALL_S = 0.005      # what the API server takes for an answer
BOSS, GOOD, BAD = ("system:serviceaccount:" + name for name in ("ops:boss", "team-a:good", "team-b:bad"))


class Reviews(http.server.BaseHTTPRequestHandler):
    """TokenReview and SubjectAccessReview: who has which token, and who may read.  keys: what /openid/v1/jwks says, or None.  gate: holds an answer back.
    answered: the TokenReviews that were, each with the connection's handler."""
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    users, readers, asked, keys, told, answered = {}, set(), 0, None, 0, []

    def gate(self, body):
        pass

    def do_GET(self):
        text = json.dumps({"keys": self.keys} if self.keys is not None else {"kind": "Status", "code": 403, "reason": "Forbidden"}).encode()
        self.send_response(200 if self.keys is not None else 403)
        self.send_header("Content-Type", "application/jwk-set+json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        type(self).told += 1

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(CALL_S)  # wait: a server takes its time
        self.gate(body)
        spec, status = body["spec"], {}
        type(self).asked += 1
        if body["kind"] == "TokenReview":
            user = self.users.get(spec["token"])
            status = {"authenticated": bool(user), **({"user": {"username": user}, "audiences": spec.get("audiences", [])} if user else {})}
        else:
            want = (spec["resourceAttributes"]["verb"], spec["resourceAttributes"]["resource"])
            status = {"allowed": spec["user"] == BOSS or want != ("update", "control") and spec["user"] in self.readers}
        text = json.dumps({**body, "status": status}).encode()
        with contextlib.suppress(OSError):  # who waited too long has gone
            self.send_response(201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        if body["kind"] == "TokenReview":
            self.answered.append((spec["token"], self))

    def log_message(self, *args):
        pass


def token(user, i=0):
    t = f"eyJhbGciOiJSUzI1NiJ9.{user.replace(':', '-')}.c2ln{i}"
    Reviews.users[t] = user
    return t


KEYS = {"RS256": rsa.generate_private_key(65537, 2048), "ES256": ec.generate_private_key(ec.SECP256R1())}


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def shown(key, kid):
    n = key.public_key().public_numbers()
    if isinstance(key, rsa.RSAPrivateKey):
        return {"kty": "RSA", "kid": kid, "n": b64(n.n.to_bytes(256, "big")), "e": b64(n.e.to_bytes(3, "big"))}
    return {"kty": "EC", "kid": kid, "crv": "P-256", "x": b64(n.x.to_bytes(32, "big")), "y": b64(n.y.to_bytes(32, "big"))}


def signed(user, kind="RS256", **claims):
    """A ServiceAccount's token, as the API server makes them."""
    text = b64(json.dumps({"alg": kind, "kid": kind}).encode()) + "." + b64(json.dumps({"sub": user, "exp": int(time.time()) + 3600, **claims}).encode())
    if kind == "RS256":
        sig = KEYS[kind].sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
    else:
        sig = b"".join(x.to_bytes(32, "big") for x in decode_dss_signature(KEYS[kind].sign(text.encode(), ec.ECDSA(hashes.SHA256()))))
    Reviews.users[text + "." + b64(sig)] = user
    return text + "." + b64(sig)


@pytest.fixture
def world(daemon_of):
    Reviews.users, Reviews.readers, Reviews.keys, Reviews.told, Reviews.answered = {}, {GOOD, BAD}, [shown(k, kind) for kind, k in KEYS.items()], 0, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Reviews)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    d = daemon_of(CONFIG)
    config = d.dir / "kubeconfig"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
    config.chmod(0o600)
    d.env = {**(d.env or {}), "KUBECONFIG": str(config)}
    d.headers = bearer(token(BOSS))
    d.start(wait="/healthz")
    d.until(lambda: code(d, token(BOSS), "GET", "/v1/status") == 200)
    yield d
    d.stop()
    server.shutdown()
    server.server_close()


def bearer(t):
    return {"Authorization": "Bearer " + t}


def code(d, t, method, path, body=None, address="127.0.0.1"):
    """address: the caller's own; a token that was never seen is of its address, as nothing else is known of it."""
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=120, source_address=(address, 0))
    with contextlib.closing(c):
        c.request(method, path, json.dumps(body) if body else None, bearer(t))
        r = c.getresponse()
        r.read()
        return r.status


class Stream:
    """An event stream, read on a thread; ended: when it came to its end."""
    def __init__(self, port, t, address="127.0.0.1"):
        self.text, self.ended = b"", None
        self.c = http.client.HTTPConnection("127.0.0.1", port, timeout=120, source_address=(address, 0))
        self.c.request("GET", "/v1/events", headers=bearer(t))
        self.sock = self.c.sock
        self.r = self.c.getresponse()
        self.code = self.r.status
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            while line := self.r.readline():
                self.text += line
        self.ended = time.monotonic()

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)


def hears(d, s, owner):
    d.post({"owner": owner, "num_cpus": 1})
    until(lambda: owner.encode() in s.text, 60)


def test_an_account_with_many_streams_ends_its_own(world):
    """160 tokens of one account: the API server was asked about each of them in a row, and the others' streams ended."""
    d = world
    good, later = token(GOOD), token(GOOD, 1)
    mine, other = Stream(d.port, good), Stream(d.port, later)
    assert mine.code == other.code == 200
    theirs = [Stream(d.port, token(BAD, i)) for i in range(160)]
    codes = [s.code for s in theirs]
    assert codes.count(200) == 8 and set(codes) == {200, 429}, codes
    assert code(d, token(BAD, 200), "GET", "/v1/status") == 200, "he may ask"
    hears(d, mine, "one")
    time.sleep(12)  # wait: who was not known for ten seconds had his stream ended
    assert not mine.ended and not other.ended
    hears(d, mine, "two")
    began = time.monotonic()
    del Reviews.users[later]
    until(lambda: other.ended, 60)
    assert other.ended - began < 2 * crowded(), other.ended - began
    began = time.monotonic()
    Reviews.readers = {BAD}
    until(lambda: mine.ended, 60)
    assert mine.ended - began < 2 * crowded(), mine.ended - began
    d.post({"owner": "secret", "num_cpus": 1})
    until(lambda: b"secret" in theirs[0].text, 60)
    assert b"secret" not in mine.text + other.text
    for s in theirs:
        s.close()


def test_the_streams_of_many_accounts_are_the_callers(world):
    """A namespace may have any number of ServiceAccounts: all of them are one caller, who gives up his own when all places are taken."""
    d = world
    bad = [f"system:serviceaccount:team-b:bad{i}" for i in range(70)]
    Reviews.readers |= set(bad)
    theirs = [Stream(d.port, token(b)) for b in bad]
    mine = [Stream(d.port, token(GOOD, i)) for i in range(4)]
    assert {s.code for s in mine} == {200}
    assert sum(s.code == 200 for s in theirs) == 64
    until(lambda: sum(s.ended is not None for s in theirs if s.code == 200) == 4, 60)
    hears(d, mine[0], "one")
    assert not any(s.ended for s in mine)
    for s in mine + theirs:
        s.close()


class Hostile:
    """Does one thing after another, of chance, as fast as it can, on many threads."""
    def __init__(self, d, rng, threads=12):
        self.d, self.stop, self.rng, self.did = d, threading.Event(), rng, {}
        self.threads = [threading.Thread(target=self.go, args=(random.Random(rng.random()),), daemon=True) for _ in range(threads)]
        for t in self.threads:
            t.start()

    def go(self, rng):
        while not self.stop.is_set():
            what = rng.choice((self.read, self.read, self.listen, self.plan, self.slow, self.hang_up))
            with contextlib.suppress(OSError, http.client.HTTPException):
                what(rng)
            self.did[what.__name__] = self.did.get(what.__name__, 0) + 1

    def token(self, rng):
        return token(BAD, rng.randrange(160))

    def read(self, rng):
        code(self.d, self.token(rng), "GET", "/v1/status")

    def listen(self, rng):
        s = Stream(self.d.port, self.token(rng))
        self.stop.wait(rng.random() * 3)
        s.close()

    def plan(self, rng):
        code(self.d, self.token(rng), "POST", "/v1/plan", {"bundles": [{"CPU": 1 + i % 7, "memory": i} for i in range(rng.randrange(1, 3000))]})

    def slow(self, rng):
        with socket.create_connection(("127.0.0.1", self.d.port), timeout=30) as s:
            s.sendall(b"POST /v1/plan HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 400000\r\n\r\n" % self.token(rng).encode())
            s.sendall(b" " * rng.randrange(300000))
            self.stop.wait(rng.random() * 3)

    def hang_up(self, rng):
        with socket.create_connection(("127.0.0.1", self.d.port), timeout=30) as s:
            s.sendall(b"GET /v1/status HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n" % self.token(rng).encode())

    def end(self):
        self.stop.set()
        for t in self.threads:
            t.join(60)
        print(self.did)


def test_rights_end_in_time_beside_a_hostile_account(world):
    """Moments of chance: the good one is always served, and his rights end two seconds after they end."""
    d, rng = world, random.Random(seed())
    steady = token(GOOD)
    assert code(d, steady, "GET", "/v1/status", address=HERE) == 200
    stream = Stream(d.port, steady, HERE)
    many = [Stream(d.port, token(BAD, i)) for i in range(100)]
    bad = Hostile(d, rng)
    late = []
    try:
        for i in range(4):
            t = token(GOOD, 10 + i)
            assert code(d, t, "GET", "/v1/status", address=HERE) == 200
            s = Stream(d.port, t, HERE)
            assert s.code == 200
            for _ in range(rng.randrange(1, 12)):
                assert code(d, steady, "GET", "/v1/status", address=HERE) == 200
                assert code(d, t, "GET", "/v1/status", address=HERE) == 200
                time.sleep(rng.random() * 0.4)  # wait: at any moment
            began = time.monotonic()
            del Reviews.users[t]
            until(lambda: code(d, t, "GET", "/v1/status", address=HERE) == 401, 60, every=0.1)
            late.append(time.monotonic() - began)
            until(lambda: s.ended, 60)
            late.append(s.ended - began)
        assert not stream.ended
        hears(d, stream, "still")
    finally:
        bad.end()
        for s in many:
            s.close()
    print("rights ended after", [f"{x:.2f} s" for x in late])
    assert max(late) < 2.5 * crowded(), late
    stream.close()


def test_a_request_that_waits_is_judged_when_it_takes_effect(world):
    """Its body takes three seconds, in which the right to ask for it is taken away."""
    d = world
    t = token(GOOD)
    assert code(d, t, "GET", "/v1/status") == 200
    body = json.dumps({"owner": "team-a", "num_cpus": 1}).encode()
    with socket.create_connection(("127.0.0.1", d.port)) as s:
        s.settimeout(60)
        s.sendall(b"POST /v1/request_resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (t.encode(), len(body)) + body[:-1])
        time.sleep(3)   # wait: what was known of him is forgotten
        del Reviews.users[t]
        s.sendall(body[-1:])
        assert b" 401 " in s.recv(4096)
    assert code(d, token(BOSS), "GET", "/v1/request_resources/team-a") == 404
    # one whose right goes on is served all the same, asked about once more
    t = token(GOOD, 1)
    with socket.create_connection(("127.0.0.1", d.port)) as s:
        s.settimeout(60)
        s.sendall(b"POST /v1/request_resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (t.encode(), len(body)) + body[:-1])
        time.sleep(3)   # wait: what was known of him is forgotten
        s.sendall(body[-1:])
        assert s.recv(4096)[:12] in (b"HTTP/1.1 202", b"HTTP/1.1 200")


def asks(d, t, codes):
    thread = threading.Thread(target=lambda: codes.append(code(d, t, "GET", "/v1/status")), daemon=True)
    thread.start()
    return thread


def test_a_right_ends_beside_a_slow_api_server(world, monkeypatch):
    """An answer is as old as its question: three calls of a second each follow the TokenReview, and two seconds more were counted from the last."""
    d = world
    monkeypatch.setitem(globals(), "CALL_S", 1.0)
    for i in range(2):
        t, codes = token(GOOD, 100 + i), []
        first = asks(d, t, codes)
        until(lambda t=t: t in [k for k, _ in Reviews.answered], 60)
        del Reviews.users[t]
        first.join(120)
        assert codes == [200], "who waits gets his answer, however long it took"
        assert code(d, t, "GET", "/v1/status") == 401, "and nobody after him"


def test_an_old_yes_is_no_answer_to_a_new_no(world, monkeypatch):
    """A watcher was told that the token is nobody's, while an exchange still waited for the rights of its holder: that was a yes again, for two seconds."""
    d, t = world, token(GOOD, 200)
    stream = Stream(d.port, t)
    assert stream.code == 200
    asker = next(handler for k, handler in Reviews.answered if k == t)   # what asks for exchanges; all others watch
    watchers, rights = threading.Event(), threading.Event()

    def held(self, body):
        if self is asker and body["kind"] == "SubjectAccessReview":
            rights.wait(60)
        elif self is not asker and body["spec"].get("token") == t and t in Reviews.users:
            watchers.wait(60)
    monkeypatch.setattr(Reviews, "gate", held)
    began, codes = Reviews.answered.count((t, asker)), []
    while Reviews.answered.count((t, asker)) == began:  # until what is known is forgotten
        codes.clear()
        waits = asks(d, t, codes)
        until(lambda w=waits: not w.is_alive() or Reviews.answered.count((t, asker)) > began, 60)
    del Reviews.users[t]
    watchers.set()
    until(lambda: stream.ended, 60)
    rights.set()
    waits.join(120)
    assert codes in ([401], [503]), codes    # 503: the answer to the other came later than the daemon waits
    assert code(d, t, "GET", "/v1/status") == 401


def test_a_large_request_is_judged_when_it_takes_effect(world):
    d = world
    t = token(GOOD)
    big = {"owner": "team-a", "bundles": [{"CPU": 1 + i % 7, "memory": i} for i in range(4000)]}
    assert code(d, t, "POST", "/v1/request_resources", big) in (200, 202)
    assert code(d, token(BAD), "POST", "/v1/request_resources", {**big, "owner": "x"}) in (200, 202)
    assert code(d, token(BOSS), "GET", "/v1/request_resources/team-a") == 200


def test_strangers_are_not_in_the_audit(world, monkeypatch):
    """A token that nobody can be asked about proves nothing: each address was one who writes lines."""
    d = world
    with monkeypatch.context() as m:
        m.setattr(Reviews, "do_POST", lambda self: self.send_error(500))
        codes = {code(d, f"eyJhbGciOiJSUzI1NiJ9.made-up-{i}.c2ln", "POST", "/v1/request_resources", {"owner": "x", "num_cpus": 1}, address=f"127.0.0.{i + 3}")
                 for i in range(20)}
    assert codes == {503}, codes
    until(lambda: code(d, token(BOSS), "GET", "/v1/status") == 200, 60)
    assert code(d, token(GOOD), "POST", "/v1/request_resources", {"owner": "x", "num_cpus": 1}) in (200, 202)
    got = json.loads(http_get(d, "/v1/audit?after=0"))["entries"]
    assert [(e["caller"], e["subject"]) for e in got] == [(GOOD, "x")]


class Guessing(Hostile):
    """Tokens that are nobody's, from the good one's own address: of no form, made up, a good one's with another signature, signed but revoked; one who
    waits, hangs up, or holds the connection."""
    def go(self, rng):
        while not self.stop.is_set():
            what = rng.choice((self.read, self.read, self.read, self.hang_up, self.many))
            with contextlib.suppress(OSError, http.client.HTTPException):
                what(rng)
            self.did[what.__name__] = self.did.get(what.__name__, 0) + 1

    def token(self, rng):
        kind = rng.randrange(4)
        if kind == 0:
            return f"nothing-{rng.random()}"
        if kind == 1:
            return f"eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn{rng.randrange(10**9)}.c2ln"
        t = signed(GOOD if kind == 2 else BAD, rng.choice(list(KEYS)), jti=str(rng.random()))
        del Reviews.users[t]
        return t[:-60] + b64(rng.randbytes(45)) if kind == 2 else t

    def many(self, rng):
        c = http.client.HTTPConnection("127.0.0.1", self.d.port, timeout=60)
        with contextlib.closing(c):
            for _ in range(rng.randrange(40)):
                c.request("GET", "/v1/status", headers=bearer(self.token(rng)))
                c.getresponse().read()


@pytest.mark.parametrize("slow", [0.005, 0.3])
def test_one_who_was_never_seen_beside_a_hostile_one(world, slow, monkeypatch):
    """Both at one address: forty wrong tokens had every token refused there that was not known yet, for a minute; four that waited, at once."""
    d, rng = world, random.Random(seed())
    monkeypatch.setitem(globals(), "CALL_S", slow)
    until(lambda: Reviews.told, 60)
    bad = Guessing(d, rng)
    took, codes = [], []
    try:
        until(lambda: sum(bad.did.values()) > 200 or b"logins_throttled_total 0" not in metrics(d), 60)
        for i in range(25 if slow < 0.1 else 6):
            t = signed(GOOD, rng.choice(list(KEYS)), jti=str(i))
            began = time.monotonic()
            codes.append(code(d, t, "GET", "/v1/status"))
            took.append(time.monotonic() - began)
            time.sleep(rng.random() * 0.2)  # wait: at any moment
    finally:
        bad.end()
    print(f"{max(took):.2f} s at most,", metrics(d).count(b"\n"), "figures")
    assert set(codes) == {200}, codes
    assert max(took) < (1 + 8 * slow) * crowded(), took


def metrics(d):
    return http_get(d, "/metrics")


def http_get(d, path):
    c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=60, source_address=(HERE, 0))
    with contextlib.closing(c):
        c.request("GET", path, headers=bearer(token(BOSS)))
        return c.getresponse().read()


def test_a_key_that_is_new(world):
    """The API server changed its keys: they are read again when a token names one that is not known; where they cannot be read, a caller shares what his
    address may ask."""
    d = world
    until(lambda: Reviews.told, 60)
    KEYS["RS256"], before = rsa.generate_private_key(65537, 2048), Reviews.keys
    Reviews.keys = [{**shown(KEYS["RS256"], "RS256"), "kid": "new"}, before[1]]
    t = signed(GOOD)
    new = b64(json.dumps({"alg": "RS256", "kid": "new"}).encode()) + "." + t.split(".")[1]
    new += "." + b64(KEYS["RS256"].sign(new.encode(), padding.PKCS1v15(), hashes.SHA256()))
    assert code(d, new, "GET", "/v1/status") == 401, "nobody's yet"
    until(lambda: Reviews.told == 2, 60)
    for i in range(40):
        code(d, f"wrong{i}", "GET", "/v1/status")
    assert code(d, token(GOOD, 77), "GET", "/v1/status") == 429, "nobody vouches for it"
    Reviews.users[new] = GOOD
    until(lambda: code(d, new, "GET", "/v1/status") == 200, 60)
    Reviews.keys = None
    assert code(d, signed(GOOD, "ES256", jti="x"), "GET", "/v1/status") == 200, "the keys before are in force"
