"""Requests that two programs could read differently: refused, and nothing that
follows on the connection is looked at.  A proxy before us may have read them
the other way.
"""
import json
import re
import socket

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
}


def talk(port, text):
    """All that comes back until the connection is closed."""
    with socket.create_connection(("127.0.0.1", port)) as s:
        s.settimeout(4)
        s.sendall(text)
        got = b""
        try:
            while part := s.recv(65536):
                got += part
        except ConnectionError:
            pass
        return got


@pytest.fixture(scope="module")
def where(tmp_path_factory):
    from lib.daemon import Daemon
    from conftest import CONFIG
    metrics = free_port()
    with Daemon(tmp_path_factory.mktemp("s"), CONFIG.replace("API", f', metrics: "127.0.0.1:{metrics}"')) as d:
        d.until(lambda: d.answers("/readyz"))
        d.post({"owner": "victim", "bundles": [{"CPU": 1}]})
        d.metrics = metrics
        yield d


@pytest.mark.parametrize("name", CASES)
def test_refused_and_closed(where, name):
    got = talk(where.port, CASES[name] + HIDDEN)
    if b"application/json" in got:      # libmicrohttpd 0.9.75 writes its own refusals' headers twice
        assert len(STATUS.findall(got)) == 1, got
    assert got == b"" or got.startswith(b"HTTP/1.1 4") or got.startswith(b"HTTP/1.1 505"), got
    if b"application/json" in got:
        assert json.loads(got.split(b"\r\n\r\n", 1)[1])["error"]["text"]
    assert where.get("/v1/request_resources/victim")[0] == 200, "the hidden request was run"


@pytest.mark.parametrize("name", [n for n in CASES if CASES[n].startswith(b"GET")])
def test_refused_by_the_metrics(where, name):
    got = talk(where.metrics, CASES[name].replace(b"/v1/status", b"/metrics") + b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"HTTP/1.1 200" not in got, got[:300]


def test_nothing_after_a_chunked_body(where):
    """How a body in pieces is read is the library's; so nothing follows one."""
    body = b'{"owner":"chunked","num_cpus":1}'
    got = talk(where.port, POST + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body) + HIDDEN)
    assert got.startswith(b"HTTP/1.1 202") or got.startswith(b"HTTP/1.1 200")
    assert len(STATUS.findall(got)) == 1 and b"Connection: close" in got
    assert where.get("/v1/request_resources/victim")[0] == 200


def test_good_requests_go_on(where):
    """Two on one connection, with a query, an encoded path and odd headers."""
    got = talk(where.port, b"GET /v1/nodes?state=ready HTTP/1.1\r\nHost: localhost\r\nX-Odd:\r\nX-Tab: a\tb\r\n\r\n"
               b"GET /v1/why/victim%2e HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert got.count(b"HTTP/1.1 200") == 1 and got.count(b"HTTP/1.1 404") == 1, got
