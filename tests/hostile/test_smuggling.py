"""Requests that two programs could read differently: refused, and nothing that
follows on the connection is looked at.  A proxy before us may have read them
the other way.
"""
import json
import re
import socket
import ssl

import pytest

from lib import free_port

STATUS = re.compile(rb"HTTP/1\.1 \d\d\d")
HIDDEN = b"DELETE /v1/request_resources/victim HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /v1/request_resources HTTP/1.1\r\nHost: localhost\r\n"
GET = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n"

CASES = {
    "two lengths": POST + b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN),
    "two lengths, the same": POST + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": POST + b"Content-Length: 0, 0\r\n\r\n",
    "a length with a sign": POST + b"Content-Length: +0\r\n\r\n",
    "a length in hexadecimal": POST + b"Content-Length: 0x0\r\n\r\n",
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a length beyond 64 bits": POST + b"Content-Length: 18446744073709551616\r\n\r\n",
    "no length": POST + b"Content-Length:\r\n\r\n",
    "length and encoding": POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "encoding and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    "another encoding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "two encodings": POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "an encoding that looks like chunked": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a blank before the colon": POST + b"Content-Length : 0\r\n\r\n",
    "an encoding with a blank before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a GET with two lengths": GET + b"Content-Length: 0\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN),
    "no host": b"GET /v1/status HTTP/1.1\r\n\r\n",
    "two hosts": GET + b"Host: evil.example\r\n\r\n",
    "chunked by HTTP/1.0": b"POST /v1/request_resources HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/2.0": b"GET /v1/status HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "HTTP/1.2": b"GET /v1/status HTTP/1.2\r\nHost: localhost\r\n\r\n",
    "NUL in the path": b"GET /v1/status%00x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a bare percent": b"GET /v1/status%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a path of another form": b"GET http://localhost/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "eight bits in the path": b"GET /v1/status\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a control character in a header": GET + b"X: a\x01b\r\n\r\n",
    "a carriage return in a header": GET + b"X: a\rb\r\n\r\n",
    "a header without a colon": GET + b"x\r\n\r\n",
    "two authorizations": GET + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    "a folded header": GET + b"X: a\r\n Content-Length: 5\r\n\r\n",
    # What libmicrohttpd before 1.0 took.
    "a header's line that ends with LF": GET + b"X: a\nContent-Length: %d\r\n\r\n" % len(HIDDEN),
    "an encoding behind an LF": POST + b"X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "only LF": GET.replace(b"\r\n", b"\n") + b"\n",
    "a request line that ends with LF": GET.replace(b"\r\n", b"\n", 1) + b"\r\n",
    "headers that end with LF": GET + b"X: a\r\n\n",
    "NUL in a value": GET + b"X: a\0b\r\n\r\n",
    "NUL and a length": GET + b"X: a\0\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN),
    "NUL in a name": GET + b"X\0Y: a\r\n\r\n",
    "NUL in the method": b"GE\0T /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "NUL in the path as it is": b"GET /v1/status\0x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a header without a name": GET + b": a\r\n\r\n",
    "a length without a name": GET + b": a\r\nContent-Length: %d\r\n\r\n" % len(HIDDEN),
    "a blank before the first header": b"GET /v1/status HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "an empty line before the request": b"\r\n\r\n" + GET + b"\r\n",
    "two blanks in the request line": b"GET  /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a tabulator in the request line": b"GET\t/v1/status\tHTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a carriage return in the request line": b"GET /v1/status\rX HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a blank after the version": b"GET /v1/status HTTP/1.1 \r\nHost: localhost\r\n\r\n",
    "no version": b"GET /v1/status\r\nHost: localhost\r\n\r\n",
    "no method": b" /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a name in eight bits": GET + b"X\xe9: a\r\n\r\n",
}
# The same of bodies in pieces: only the first piece is right.
PIECES = {
    "LF after a size": b"5\n12345\r\n0\r\n\r\n",
    "LF after a piece": b"5\r\n12345\n0\r\n\r\n",
    "a size with a sign": b"+5\r\n12345\r\n0\r\n\r\n",
    "a size with 0x": b"0x5\r\n12345\r\n0\r\n\r\n",
    "a size with a blank before it": b" 5\r\n12345\r\n0\r\n\r\n",
    "a size beyond 64 bits": b"10000000000000005\r\n12345\r\n0\r\n\r\n",
    "no size": b"\r\n12345\r\n0\r\n\r\n",
    "a size that is none": b"g\r\n12345\r\n0\r\n\r\n",
    "a piece longer than its size": b"4\r\n12345\r\n0\r\n\r\n",
}
FIRST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def finish(s, text):
    """All that comes back until the connection is closed."""
    with s:
        s.settimeout(20)
        s.sendall(text)
        got = b""
        try:
            while part := s.recv(65536):
                got += part
        except (ConnectionError, ssl.SSLError):
            pass
        return got


def plain(where):
    return socket.create_connection(("127.0.0.1", where.port))


def encrypted(where):
    ctx = ssl.create_default_context(cafile=where.ca)
    return ctx.wrap_socket(socket.create_connection(("127.0.0.1", where.tls.port)), server_hostname="127.0.0.1")


def opens(where):
    try:
        encrypted(where).close()
        return True
    except OSError:
        return False


def local(where):
    s = socket.socket(socket.AF_UNIX)
    s.connect(str(where.dir / "s"))
    return s


def kept(where, opened=plain):
    """One request was answered on it."""
    s = opened(where)
    s.settimeout(20)
    s.sendall(FIRST)
    got = b""
    while not re.search(rb"\r\n\r\n{.*}\s*$", got, re.S):
        part = s.recv(65536)
        assert part, got
        got += part
    assert got.startswith(b"HTTP/1.1 200"), got
    return s


def kept_encrypted(where):
    return kept(where, encrypted)


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    """A daemon on a port, a Unix socket and a port for metrics, and one with TLS."""
    from lib.daemon import Daemon
    from conftest import CONFIG
    from test_tls import Authority, put
    metrics = free_port()
    ca, here, there = (tmp_path_factory.mktemp(n) for n in ("ca", "s", "t"))
    put(Authority(ca).make("one"), there)
    with Daemon(here, CONFIG.replace("API", f', anonymous: admin, socket: s, metrics: "127.0.0.1:{metrics}"')) as d, \
            Daemon(there, CONFIG.replace("API", ", anonymous: admin, tls: {cert: cert.pem, key: key.pem}"), start=False) as tls:
        tls.start(wait=None)
        d.until(lambda: d.answers("/readyz"))
        d.post({"owner": "victim", "bundles": [{"CPU": 1}]})
        d.metrics, d.tls, d.ca = metrics, tls, ca / "ca.pem"
        d.until(lambda: opens(d))
        yield d


def refused(got):
    """At most one reply, and that a refusal of ours or of libmicrohttpd's."""
    assert len(STATUS.findall(got)) <= 1, got
    assert re.match(rb"$|HTTP/1.1 (4..|501|505) ", got), got
    assert got == b"" or re.search(rb"\r\nconnection: close\r\n", got, re.I), got
    if b"application/json" in got:
        assert json.loads(got.split(b"\r\n\r\n", 1)[1])["error"]["text"]


@pytest.mark.parametrize("way", [plain, kept, encrypted, kept_encrypted, local], ids=lambda w: w.__name__)
@pytest.mark.parametrize("name", CASES)
def test_refused_and_closed(where, name, way):
    refused(finish(way(where), CASES[name] + HIDDEN))
    assert where.get("/v1/request_resources/victim")[0] == 200, "the hidden request was run"


@pytest.mark.parametrize("way", [plain, kept_encrypted], ids=lambda w: w.__name__)
@pytest.mark.parametrize("name", PIECES)
def test_pieces_refused_and_closed(where, name, way):
    refused(finish(way(where), POST + b"Transfer-Encoding: chunked\r\n\r\n" + PIECES[name] + HIDDEN))
    assert where.get("/v1/request_resources/victim")[0] == 200, "the hidden request was run"


@pytest.mark.parametrize("name", [n for n in CASES if b"GE" in CASES[n]])
def test_refused_by_the_metrics(where, name):
    text = CASES[name].replace(b"/v1/status", b"/metrics") + b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    got = finish(socket.create_connection(("127.0.0.1", where.metrics)), text)
    assert b"HTTP/1.1 200" not in got, got[:300]


def test_nothing_after_a_chunked_body(where):
    """How a body in pieces is read is the library's; so nothing follows one."""
    body = b'{"owner":"chunked","num_cpus":1}'
    got = finish(plain(where), POST + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) + HIDDEN)
    assert got.startswith(b"HTTP/1.1 202") or got.startswith(b"HTTP/1.1 200")
    assert len(STATUS.findall(got)) == 1 and b"Connection: close" in got
    assert where.get("/v1/request_resources/victim")[0] == 200


def test_good_requests_go_on(where):
    """Two on one connection, with a query, an encoded path and odd headers."""
    got = finish(plain(where), b"GET /v1/nodes?state=ready HTTP/1.1\r\nHost: localhost\r\nX-Odd:\r\nX-Tab: a\tb\r\n\r\n"
               b"GET /v1/why/victim%2e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert got.count(b"HTTP/1.1 200") == 1 and got.count(b"HTTP/1.1 404") == 1, got
