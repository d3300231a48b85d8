"""Rights live: they end when they end, also for who is in already; and nobody is taken for somebody else."""
import contextlib
import fcntl
import http.client
import json
import os
import random
import socket
import sqlite3
import ssl
import subprocess
import threading
import time

import pytest
from test_access import Local, ask, as_user, code, token, world  # noqa: F401 (a fixture)
from test_tls import Authority, ca, connects, context, get, put, served  # noqa: F401

from lib import DAVIT, crowded, until
from lib.seeds import seed

BODY = {"num_cpus": 1}


class Stream:
    """An event stream, read on a thread; ended: when it came to its end."""
    def __init__(self, port, headers=None, ctx=None):
        make = (lambda: http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=ctx)) if ctx else \
            (lambda: http.client.HTTPConnection("127.0.0.1", port, timeout=60))
        self.c = make()
        self.c.request("GET", "/v1/events", headers=headers or {})
        self.r = self.c.getresponse()
        assert self.r.status == 200, self.r.read()
        assert self.r.readline() == b"retry: 2000\n"
        self.text, self.ended = b"", None
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            while line := self.r.readline():
                self.text += line
        self.ended = time.monotonic()

    def ends_within(self, seconds, since):
        until(lambda: self.ended, 60)
        assert self.ended - since < seconds * crowded(), self.ended - since


def bearer(t):
    return {"Authorization": "Bearer " + t}


def test_a_stream_ends_with_its_token(world):
    d = world
    short = token(d.file, "short", "read")
    until(lambda: code(d, short, "GET", "/v1/status") == 200, 30)
    mine, others = Stream(d.port, bearer(short)), Stream(d.port, d.headers)
    began = time.monotonic()
    assert subprocess.run([DAVIT, "token", "revoke", "short", "--file", d.file]).returncode == 0
    mine.ends_within(3, began)
    code(d, "ci", "POST", "/v1/request_resources", {"owner": "ci-secret", **BODY})
    until(lambda: b"ci-secret" in others.text)
    assert b"ci-secret" not in mine.text and not others.ended


def test_a_stream_ends_when_its_time_is_over(world):
    d = world
    at = time.gmtime(time.time() + 8)
    short = token(d.file, "short", "read", "until:" + time.strftime("%Y-%m-%dT%H:%M:%SZ", at))
    until(lambda: code(d, short, "GET", "/v1/status") == 200, 30, every=0.3)
    s = Stream(d.port, bearer(short))
    until(lambda: s.ended, 60)
    assert code(d, short, "GET", "/v1/status") == 401


def test_a_right_that_ends_at_a_random_moment(world):
    """Who may read no more hears of nothing that happens two seconds later."""
    d, rng = world, random.Random(seed())
    for i in range(3):
        name = f"guest{i}"
        guest = token(d.file, name, "read", "request:g-*")
        until(lambda: code(d, guest, "GET", "/v1/status") == 200, 30, every=0.3)
        streams = [Stream(d.port, bearer(guest)) for _ in range(rng.randrange(1, 4))]
        time.sleep(rng.random() * 1.5)  # wait: at any moment
        began = time.monotonic()
        revoked = rng.random() < 0.5
        if revoked:
            assert subprocess.run([DAVIT, "token", "revoke", name, "--file", d.file]).returncode == 0
            for s in streams:
                s.ends_within(3, began)
        else:   # he may ask still, and read no more: he hears of his own
            text = open(d.file).read().replace("read request:g-*", "request:g-*")
            with open(d.file, "w") as f:
                f.write(text)
            time.sleep(max(0, began + 2 * crowded() - time.monotonic()))  # wait: so long a right may outlive its end
        code(d, "ci", "POST", "/v1/request_resources", {"owner": "ci-later", **BODY})
        code(d, "admin", "POST", "/v1/request_resources", {"owner": f"g-{i}", **BODY})
        until(lambda: revoked or all(f"g-{i}".encode() in s.text for s in streams))
        assert all(b"ci-later" not in s.text for s in streams)
        for owner in ("ci-later", f"g-{i}"):
            code(d, "admin", "DELETE", f"/v1/request_resources/{owner}")


def test_a_body_that_outlives_its_token(world):
    """Rights are those of the moment at which something takes effect."""
    d = world
    short = token(d.file, "short", "request:ci-*")
    until(lambda: code(d, short, "DELETE", "/v1/request_resources/ci-none") == 200 or
          code(d, short, "DELETE", "/v1/request_resources/ci-none") == 404, 30, every=0.3)
    body = json.dumps({"owner": "ci-late", **BODY}).encode()
    with socket.create_connection(("127.0.0.1", d.port)) as s:
        s.settimeout(30)
        s.sendall(b"POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + short.encode() +
                  b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:-1])
        assert subprocess.run([DAVIT, "token", "revoke", "short", "--file", d.file]).returncode == 0
        until(lambda: code(d, short, "GET", "/v1/request_resources/ci-late") == 401, 30, every=0.5)
        s.sendall(body[-1:])
        assert b" 401 " in s.recv(4096)
    assert code(d, "admin", "GET", "/v1/request_resources/ci-late") == 404


# ---- known tokens and wrong ones

def test_wrong_tokens_keep_nobody_out(world):
    d = world
    assert [code(d, f"guess-{i}", "GET", "/v1/status") for i in range(40)][-1] == 429
    # none of them has been here before
    assert [code(d, who, "GET", "/v1/status") for who in ("admin", "read", "train")] == [200, 200, 200]
    assert code(d, "ci", "GET", "/v1/request_resources/ci-1") == 404
    assert code(d, "guess", "GET", "/v1/status") == 429


def test_six_callers_and_forty_guesses(world):
    d = world
    six = [token(d.file, f"caller{i}", "read") for i in range(6)]
    until(lambda: code(d, six[-1], "GET", "/v1/status") == 200, 30, every=0.5)
    assert [code(d, t, "GET", "/v1/status") for t in six] == [200] * 6
    for i in range(40):
        code(d, f"wrong-{i}", "GET", "/v1/status")
    assert [code(d, t, "GET", "/v1/status") for t in six] == [200] * 6


def test_revoked_by_another_user(world):
    """`davit token` keeps owner, group and mode: the daemon that reads the file goes on reading it."""
    d = world
    os.chmod(d.file, 0o640)
    if os.getuid() == 0:
        os.chown(d.file, 0, 12345)
    before = os.stat(d.file)
    assert subprocess.run([DAVIT, "token", "revoke", "trainer", "--file", d.file]).returncode == 0
    after = os.stat(d.file)
    assert (before.st_uid, before.st_gid, before.st_mode) == (after.st_uid, after.st_gid, after.st_mode)
    until(lambda: code(d, "train", "GET", "/v1/status") == 401, 30, every=0.5)
    if os.getuid() != 0:
        return
    # who cannot keep the owner is told, and changes nothing
    os.chmod(os.path.dirname(d.file), 0o777)
    os.chown(d.file, 12345, 12345)
    os.chmod(d.file, 0o600)
    text = open(d.file).read()
    os.chown(d.file, 0, 0)
    p = subprocess.run(["setpriv", "--reuid=12346", "--regid=12346", "--clear-groups", DAVIT, "token", "revoke", "ci", "--file", d.file],
                       capture_output=True, text=True)
    assert p.returncode != 0 and p.stderr and open(d.file).read() == text


@pytest.mark.parametrize("held", ["folder", "file"])
def test_a_lock_that_somebody_holds(tmp_path, held):
    """Every user may lock a folder that he may read: a right is ended all the same.  No lock is waited for without end."""
    file = tmp_path / "tokens"
    token(file, "mallory", "admin")
    fd = os.open(tmp_path if held == "folder" else file, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        p = subprocess.run([DAVIT, "token", "revoke", "mallory", "--file", file], capture_output=True, text=True, timeout=60)
    finally:
        os.close(fd)
    assert ("mallory" in file.read_text()) == (held == "file"), p
    assert (p.returncode, "another process has locked it" in p.stderr) == ((0, False) if held == "folder" else (3, True)), p


def test_two_changes_at_once_are_both_kept(tmp_path):
    file = str(tmp_path / "tokens")
    for i in range(8):
        token(file, f"old{i}", "read")
    jobs = [subprocess.Popen([DAVIT, "token", "new", f"new{i}", "read", "--file", file], stdout=subprocess.PIPE) for i in range(8)]
    jobs += [subprocess.Popen([DAVIT, "token", "revoke", f"old{i}", "--file", file], stdout=subprocess.PIPE) for i in range(8)]
    assert [p.wait(120) for p in jobs] == [0] * 16
    for p in jobs:
        p.stdout.close()
    names = sorted(line.split()[0] for line in open(file))
    assert names == [f"new{i}" for i in range(8)]


# ---- who is who

def served_with(daemon_of, ca, tmp_path, lines, more=""):
    file = tmp_path / "tokens"
    file.write_text(lines)
    file.chmod(0o600)
    d = daemon_of(api=f", tokens: {file}, tls: {{cert: cert.pem, key: key.pem, client_ca: {tmp_path}/ca.pem{more}}}")
    put(ca.make("one"), d.dir)
    d.start(wait=None)
    d.until(lambda: connects(d.port))
    d.until(lambda: get(d.port, context(ca), "/readyz")[0] == 200)
    return d


def asn1(ca, name, alt, cn):
    """A certificate whose subjectAltName is this DER."""
    (ca.dir / "ext").write_text(f"subjectAltName=DER:{alt.hex(':')}\nextendedKeyUsage=clientAuth\n")
    ca.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={cn}", "-keyout", f"{name}.key", "-out", "req")
    ca.openssl("x509", "-req", "-in", "req", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1", "-extfile", "ext", "-out", f"{name}.pem")
    return ca.dir / f"{name}.pem", ca.dir / f"{name}.key"


def test_a_certificate_is_nobody_else(daemon_of, ca, tmp_path):
    d = served_with(daemon_of, ca, tmp_path, "boss cert:boss admin\nmesh cert:uri:spiffe://x/boss read\nmail cert:email:boss@x read\n")
    long = "a" * 60 + "." + "b" * 60 + "." + "c" * 43
    nul = b"boss\0.evil.example"
    dns = bytes([0x30, len(nul) + 2, 0x82, len(nul)]) + nul
    forged = {"a NUL": asn1(ca, "nul", dns, "x"), "a long name": ca.make("boss", "clientAuth", f"DNS:{long}"),
              "an address": None, "an e-mail": None}
    forged["a long name"] = tuple(p.rename(p.with_name("long" + p.suffix)) for p in forged["a long name"])
    forged["an address"] = tuple(p.rename(p.with_name("ip" + p.suffix)) for p in ca.make("boss", "clientAuth", "IP:10.0.0.9"))
    forged["an e-mail"] = ca.make("mail", "clientAuth", "email:boss")
    for what, pair in forged.items():
        assert get(d.port, context(ca, pair), "/v1/audit")[0] in (401, 403), what
    assert get(d.port, context(ca, forged["a NUL"]), "/v1/audit")[0] == 401
    assert get(d.port, context(ca, forged["an address"]), "/v1/audit")[0] == 401
    assert get(d.port, context(ca, forged["an e-mail"]), "/v1/audit")[0] == 401
    assert get(d.port, context(ca, ca.make("boss", "clientAuth", None)), "/v1/audit")[0] == 200, "a common name, and no other"
    assert get(d.port, context(ca, ca.make("x", "clientAuth", "DNS:boss")), "/v1/audit")[0] == 200
    assert get(d.port, context(ca, ca.make("y", "clientAuth", "URI:spiffe://x/boss")), "/v1/status")[0] == 200
    assert get(d.port, context(ca, ca.make("z", "clientAuth", "email:boss@x")), "/v1/status")[0] == 200
    assert get(d.port, context(ca, ca.make("w", "clientAuth", "DNS:spiffe.x,URI:boss")), "/v1/audit")[0] == 403, "a URI is no DNS name"


def test_a_certificate_that_was_taken_back(daemon_of, ca, tmp_path):
    (tmp_path / "ca.cnf").write_text(f"[ca]\ndefault_ca=x\n[x]\ndatabase={tmp_path}/index\ndefault_md=sha256\ncrlnumber={tmp_path}/number\n")
    (tmp_path / "index").write_text("")
    (tmp_path / "number").write_text("01\n")

    def crl(*gone):
        for cert in gone:
            ca.openssl("ca", "-config", "ca.cnf", "-keyfile", "ca.key", "-cert", "ca.pem", "-revoke", cert)
        ca.openssl("ca", "-config", "ca.cnf", "-keyfile", "ca.key", "-cert", "ca.pem", "-gencrl", "-crldays", "1", "-out", "crl.new")
        (tmp_path / "crl.new").rename(tmp_path / "crl.pem")
    crl()
    d = served_with(daemon_of, ca, tmp_path, "a cert:one.x read\nb cert:two.x read\n", f", client_crl: {tmp_path}/crl.pem")
    one, two = ca.make("c1", "clientAuth", "DNS:one.x"), ca.make("c2", "clientAuth", "DNS:two.x")
    assert [get(d.port, context(ca, c))[0] for c in (one, two)] == [200, 200]
    s = Stream(d.port, ctx=context(ca, one))
    began = time.monotonic()
    crl(one[0])
    s.ends_within(3, began)
    status, text, _ = get(d.port, context(ca, one))
    assert status == 401 and "taken back" in text, text
    assert get(d.port, context(ca, two))[0] == 200
    # a certificate of the server's that cannot be used keeps no newer list out
    (d.dir / "cert.pem").write_text("no PEM")
    until(lambda: "is no PEM file" in d.text())
    assert get(d.port, context(ca, two))[0] == 200
    crl(two[0])
    until(lambda: get(d.port, context(ca, two))[0] == 401)
    assert "is no PEM file" in d.text()


def test_a_list_that_becomes_out_of_date(daemon_of, ca, tmp_path):
    """It hides what was taken back since: nobody comes in by a certificate until there is another."""
    (tmp_path / "ca.cnf").write_text(f"[ca]\ndefault_ca=x\n[x]\ndatabase={tmp_path}/index\ndefault_md=sha256\ncrlnumber={tmp_path}/number\n")
    (tmp_path / "index").write_text("")
    (tmp_path / "number").write_text("01\n")

    def crl(*lasts):
        ca.openssl("ca", "-config", "ca.cnf", "-keyfile", "ca.key", "-cert", "ca.pem", "-gencrl", *lasts, "-out", "crl.new")
        (tmp_path / "crl.new").rename(tmp_path / "crl.pem")
    crl("-crlsec", "10")
    d = served_with(daemon_of, ca, tmp_path, "a cert:one.x read\n", f", client_crl: {tmp_path}/crl.pem")
    one = context(ca, ca.make("c1", "clientAuth", "DNS:one.x"))
    until(lambda: get(d.port, one)[0] == 401)
    assert "out of date" in get(d.port, one)[1]
    until(lambda: "client_crl is out of date" in d.text())
    crl("-crldays", "1")
    until(lambda: get(d.port, one)[0] == 200)


# ---- the machine's other users

def reach(d):
    for p in (d.dir, *d.dir.parents):
        if p == p.parent or p.stat().st_uid != os.getuid():
            break
        os.chmod(p, p.stat().st_mode | 0o011)


def said(port, method, path, body=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request(method, path, body)
    r = c.getresponse()
    return r.status, r.read().decode()


@pytest.mark.skipif(os.getuid() != 0, reason="it takes two users")
def test_other_users_of_the_machine(daemon_of):
    """Without a setting that says so, loopback is for root and Davit's own user."""
    d = daemon_of().start(wait="/readyz")
    for method, path, body in (("POST", "/v1/request_resources", json.dumps(BODY)), ("GET", "/v1/status", None), ("GET", "/v1/snapshot", None),
                               ("GET", "/v1/audit", None), ("POST", "/v1/reload", None), ("DELETE", "/v1/request_resources/x", None)):
        got, text = as_user(65534, lambda m=method, p=path, b=body: said(d.port, m, p, b))
        assert got == 401 and "anonymous" in text, (path, got, text)
    assert as_user(65534, lambda: said(d.port, "GET", "/healthz"))[0] == 200, "a probe is answered to everybody"
    assert said(d.port, "GET", "/v1/status")[0] == 200
    assert not any("anonymous" in p for p in d.get("/readyz")[1]["problems"])


@pytest.mark.skipif(os.getuid() != 0, reason="it takes two users")
def test_anonymous_is_a_setting(daemon_of):
    d = daemon_of(api=", anonymous: admin").start(wait="/readyz")
    assert as_user(65534, lambda: said(d.port, "GET", "/v1/status"))[0] == 200
    assert any("api.anonymous" in p for p in d.get("/readyz")[1]["problems"]), "it is said"


def test_a_socket_alone_closes_the_port(daemon_of):
    d = daemon_of(api=", socket: s")
    d.start(wait=None)
    d.until(lambda: (d.dir / "s").exists() and connects(d.port))
    got, text = said(d.port, "GET", "/v1/status")
    assert got == 401 and "api.socket" in text
    c = Local(str(d.dir / "s"))
    c.request("GET", "/v1/status")
    assert c.getresponse().status in (200, 503)
    c.close()


def test_a_client_that_hangs_up_is_not_root(daemon_of):
    """The kernel says 0 for a socket that nobody has any more."""
    d = daemon_of().start(wait="/readyz")
    for _ in range(40):
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(b"POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\nContent-Length: 26\r\n\r\n{\"owner\":\"x\",\"num_cpus\":1}")
    assert said(d.port, "GET", "/v1/status")[0] == 200, "and the daemon lives"


# ---- smaller ones

def test_queues_bind_clearing_too(world):
    d = world
    want = {"bundles": [{"GPU": 1}], "owner": "train-1"}
    assert code(d, "admin", "POST", "/v1/request_resources", want) in (200, 202)
    assert code(d, "train", "DELETE", "/v1/request_resources/train-1") == 403, "it is in no queue, and he has one"
    assert code(d, "train", "POST", "/v1/request_resources", {"owner": "train-1", "bundles": []}) == 403
    assert code(d, "train", "POST", "/v1/request_resources", {**want, "queue": "a100"}) == 403
    assert code(d, "admin", "DELETE", "/v1/request_resources/train-1") == 200
    assert code(d, "train", "POST", "/v1/request_resources", {**want, "queue": "a100"}) in (200, 202)
    assert code(d, "train", "DELETE", "/v1/request_resources/train-1") == 200


def test_queues_bind_what_cannot_be_read(world):
    """A later version's request may be in any queue."""
    d = world
    assert code(d, "admin", "POST", "/v1/request_resources", {"bundles": [{"GPU": 1}], "owner": "train-1"}) in (200, 202)
    assert d.stop() == 0
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        db.execute("UPDATE request SET body = '{\"moons\": 2}'")
        db.commit()
    d.start(wait="/healthz")
    assert code(d, "train", "DELETE", "/v1/request_resources/train-1") == 403
    assert code(d, "train", "POST", "/v1/request_resources", {"owner": "train-1", "queue": "a100", "bundles": [{"GPU": 1}]}) == 403
    assert code(d, "admin", "DELETE", "/v1/request_resources/train-1") == 200


def test_pods_name_is_reserved(world):
    """The names of sources are no owners: a ServiceAccount of the namespace `ray` would have read and cleared what Ray asks for."""
    d = world
    d.tokens["all"] = token(d.file, "all", "request:*")
    until(lambda: code(d, "all", "GET", "/v1/request_resources/x") == 404, 60)
    for owner, why in (("ray", "Ray itself"), ("kubernetes", "pending pods")):
        for who in ("admin", "all"):
            for method, path, body in (("POST", "", {"owner": owner, **BODY}), ("DELETE", "/" + owner, None)):
                r = ask(d, who, method, "/v1/request_resources" + path, body)
                assert r.code == 400 and why in r.text, (owner, who, method, r.text)
        assert code(d, "all", "GET", f"/v1/request_resources/{owner}") == code(d, "all", "GET", f"/v1/why/{owner}") == 403
        before = open(d.file).read()
        with open(d.file, "a") as f:
            f.write(f"it sha256:{'0' * 64} read request:x,{owner}\n")
        until(lambda: f'request:{owner}: "{owner}" stands for' in d.text(), 60)
        assert code(d, "all", "GET", "/v1/request_resources/x") == 404, "the lines before are in force"
        with open(d.file, "w") as f:
            f.write(before)
