"""TLS as a stranger and an operator meet it: old versions, renewal, certificates of clients."""
import http.client
import os
import socket
import ssl
import subprocess
import time

import pytest

from lib import crowded


class Authority:
    """A CA in a folder."""
    def __init__(self, where, name="ca"):
        self.dir, self.name = where, name
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3",
                     "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.dir, check=True, capture_output=True)

    def make(self, name, usage="serverAuth", alt="IP:127.0.0.1", days=1):
        (self.dir / "ext").write_text((f"subjectAltName={alt}\n" if alt else "") + f"extendedKeyUsage={usage}\n")
        self.openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                     "-keyout", f"{name}.key", "-out", "req")
        self.openssl("x509", "-req", "-in", "req", "-CA", f"{self.name}.pem", "-CAkey", f"{self.name}.key",
                     "-CAcreateserial", "-days", str(days), "-extfile", "ext", "-out", f"{name}.pem")
        return self.dir / f"{name}.pem", self.dir / f"{name}.key"


@pytest.fixture
def ca(tmp_path):
    return Authority(tmp_path)


def put(pair, where):
    """As a renewal does: each file replaced at once."""
    for src, name in zip(pair, ("cert.pem", "key.pem")):
        new = where / (name + ".new")
        new.write_bytes(src.read_bytes())
        new.chmod(0o600)
        new.rename(where / name)


@pytest.fixture
def served(daemon_of, ca):
    def make(more="", start=True):
        d = daemon_of(api=", tls: {cert: cert.pem, key: key.pem" + more + "}")
        put(ca.make("one"), d.dir)
        if start:
            d.start(wait=None)
            d.until(lambda: connects(d.port))
        return d
    return make


def connects(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def context(ca, pair=None, **kw):
    c = ssl.create_default_context(cafile=ca.dir / f"{ca.name}.pem")
    if pair:
        c.load_cert_chain(*pair)
    for k, v in kw.items():
        setattr(c, k, v)
    return c


def get(port, ctx, path="/v1/status", method="GET"):
    c = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=ctx)
    try:
        c.request(method, path)
        r = c.getresponse()
        return r.status, r.read().decode(), r.headers
    finally:
        c.close()


def serial(port, ctx):
    with socket.create_connection(("127.0.0.1", port)) as s, ctx.wrap_socket(s, server_hostname="127.0.0.1") as t:
        return t.getpeercert()["serialNumber"]


def test_old_versions_and_ciphers_are_refused(served, ca):
    d = served()
    assert get(d.port, context(ca), "/healthz")[0] == 200
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert get(d.port, context(ca, minimum_version=version, maximum_version=version), "/healthz")[0] == 200
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        ctx = context(ca)
        ctx.set_ciphers("ALL:@SECLEVEL=0")
        ctx.minimum_version = ctx.maximum_version = version
        with pytest.raises(ssl.SSLError):
            get(d.port, ctx)
    for ciphers in ("ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES128-SHA256", "AES128-GCM-SHA256"):
        ctx = context(ca, maximum_version=ssl.TLSVersion.TLSv1_2)
        ctx.set_ciphers(ciphers + ":@SECLEVEL=0")
        with pytest.raises(ssl.SSLError):
            get(d.port, ctx)


def test_renewed_without_a_dropped_stream(served, ca):
    d = served()
    ctx = context(ca)
    first = serial(d.port, ctx)
    stream = http.client.HTTPSConnection("127.0.0.1", d.port, timeout=20, context=ctx)
    stream.request("GET", "/v1/events")
    lines = stream.getresponse()
    assert lines.readline() == b"retry: 2000\n"
    began = time.monotonic()
    put(ca.make("two"), d.dir)
    d.until(lambda: serial(d.port, ctx) != first)
    took = time.monotonic() - began
    assert took < 3 * crowded(), took       # two seconds, and one for this machine
    get(d.port, ctx, "/v1/request_resources/none", "DELETE")
    c = http.client.HTTPSConnection("127.0.0.1", d.port, timeout=20, context=ctx)
    c.request("POST", "/v1/request_resources", '{"num_cpus":1}')
    assert c.getresponse().status in (200, 202)
    while b"request.set" not in (line := lines.readline()):
        assert line, "the stream was dropped"
    # a certificate that does not fit its key is said, and the one before stays
    second = serial(d.port, ctx)
    pair = ca.make("three")
    put((pair[0], ca.make("four")[1]), d.dir)
    d.until(lambda: get(d.port, ctx, "/readyz")[0] == 503)
    assert "not the key of the certificate" in get(d.port, ctx, "/readyz")[1]
    assert "not the key of the certificate" in d.text() and serial(d.port, ctx) == second
    put(pair, d.dir)
    d.until(lambda: get(d.port, ctx, "/readyz")[0] == 200)
    assert serial(d.port, ctx) != second
    stream.close()


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660])
def test_open_keys_are_refused(served, mode):
    d = served(start=False)
    os.chmod(d.dir / "key.pem", mode)
    d.start(wait=None)
    assert d.p.wait(60) != 0
    assert "key.pem" in d.text() and ("chmod 0600" in d.text() or "chmod go-w" in d.text()), d.text()


def test_certificates_of_clients(served, ca, tmp_path):
    d = served(f", client_ca: {tmp_path}/ca.pem")
    good = ca.make("ops", "clientAuth", "DNS:ops.example.com")
    assert get(d.port, context(ca), "/healthz")[0] == 200, "a probe needs none"
    code, text, _ = get(d.port, context(ca))
    assert code == 401 and "certificate" in text
    assert get(d.port, context(ca, good))[0] == 200
    other = tmp_path / "other"
    other.mkdir()
    stranger = Authority(other, "stranger").make("ops", "clientAuth", None)
    for pair in (stranger, ca.make("server", "serverAuth", None)):
        try:
            code, text, _ = get(d.port, context(ca, pair))
        except (ssl.SSLError, ConnectionError):
            continue
        assert code == 401 and "certificate" in text
    d.cli("status", "--url", f"https://127.0.0.1:{d.port}", "--ca", tmp_path / "ca.pem", "--cert", good[0], "--key", good[1])
    d.cli("status", "--url", f"https://127.0.0.1:{d.port}", "--ca", tmp_path / "ca.pem", expect=5)


PATHS = ("/", "/healthz", "/readyz", "/v1/status", "/v1/nodes", "/metrics", "/v1/openapi.json", "/v1/nowhere", "/v1/why/none")


def test_hsts_off_loopback_only(served, daemon_of, ca):
    """A browser that met us with TLS stays with it; on loopback it would take the other servers of this machine with it.
    Without TLS the header means nothing, and must not be sent: RFC 6797, 7.2."""
    d = served()
    for path in PATHS:
        assert get(d.port, context(ca), path)[2]["Strict-Transport-Security"] is None, path
    d.stop()
    d.write((d.dir / "davit.yaml").read_text().replace("127.0.0.1:", "0.0.0.0:"))
    d.start(wait=None)
    d.until(lambda: connects(d.port))
    for path in PATHS:
        assert get(d.port, context(ca), path)[2]["Strict-Transport-Security"] == "max-age=31536000", path
    assert get(d.port, context(ca), "/v1/status", "BREW")[2]["Strict-Transport-Security"] == "max-age=31536000"
    bare = daemon_of(api=", token_file: token")
    (bare.dir / "token").write_text("0123456789abcdef")
    (bare.dir / "token").chmod(0o600)
    bare.write((bare.dir / "davit.yaml").read_text().replace("127.0.0.1:", "0.0.0.0:"))
    bare.start(wait="/healthz")
    for path in PATHS:
        assert bare.exchange("GET", path).headers["Strict-Transport-Security"] is None, path


def test_half_a_handshake_ends(served):
    """A client that says nothing holds its place for ten seconds at most."""
    d = served()
    with socket.create_connection(("127.0.0.1", d.port)) as s:
        s.sendall(b"\x16\x03\x01\x02\x00")
        s.settimeout(20)
        began = time.monotonic()
        try:
            assert s.recv(100) == b""
        except ConnectionError:
            pass
        assert time.monotonic() - began < 10 + 8 * crowded()
