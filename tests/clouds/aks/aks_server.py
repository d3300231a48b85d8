"""aks_cloud.Cloud over HTTP (or TLS, for the SDK), with tokens and faults.

A fault rule is {"match": regex on "METHOD path", "times": n, "do": ...}:
"status" (with "code", "headers"), "reset" before the deed, "lose" the reply
after it, "cut" it short, "garbage"; "until" is a time by the monotonic clock.  POST /_rules adds rules, POST /_heal
removes them; the cloud's own control() hears these and any other /_NAME.  Run as a program it prints its port and
serves until its standard input ends.
"""
import http.server
import json
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from urllib.parse import parse_qs, parse_qsl, urlparse

import azure_prices
from aks_cloud import Cloud, Refused

TENANT, CLIENT, SECRET, ASSERTION = "tenant-1", "client-1", "secret-1", "eyJ.fed.tok"
SCOPE = "https://management.azure.com/.default"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    @property
    def cloud(self):
        return self.server.cloud

    def reply(self, status, headers, body, cut=False):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for k, v in headers.items():
            self.send_header(k, v)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:len(data) // 2] if cut else data)
        with self.cloud.lock:
            self.server.sent += len(data)
        if cut:
            self.drop()

    def drop(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def rule(self, what):
        with self.cloud.lock:
            for r in self.cloud.rules:
                if r.get("times", 1) > 0 and time.monotonic() < r.get("until", 1e18) and re.search(r["match"], what):
                    r["times"] = r.get("times", 1) - 1
                    return r
        return {}

    def handle_any(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlparse(self.path)
        if url.path.startswith("/_"):
            return self.control(url.path, json.loads(raw or b"{}"))
        what = f"{self.command} {url.path}"
        entry = {"method": self.command, "path": url.path, "query": sorted(parse_qsl(url.query, keep_blank_values=True)),
                 "headers": {k.lower(): v for k, v in self.headers.items()}, "raw": raw, "at": time.monotonic()}
        with self.cloud.lock:
            self.cloud.log.append(entry)
        rule = self.rule(what)
        do = rule.get("do")
        if do == "reset":
            return self.drop()
        if do == "status":
            entry["status"] = rule["status"]
            return self.reply(rule["status"], rule.get("headers", {}),
                              rule.get("body", {"error": {"code": rule.get("code", "Fault"), "message": "injected"}}))
        try:
            with self.cloud.lock:
                answer = self.answer(url, raw)
        except Refused as r:
            answer = r.status, r.headers, {"error": {"code": r.code, "message": r.message}}
        entry["status"] = answer[0]
        if do == "lose":
            return self.drop()
        if do == "garbage":
            answer = answer[0], answer[1], b"<html>proxy</html>"
        self.reply(*answer, cut=do == "cut")

    do_GET = do_POST = do_PUT = do_DELETE = handle_any

    # ---- who asks?

    def answer(self, url, raw):
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        if url.path == f"/{TENANT}/oauth2/v2.0/token" and self.command == "POST":
            return self.entra(parse_qs(raw.decode()))
        if url.path == f"/{TENANT}/v2.0/.well-known/openid-configuration":  # the SDK asks
            root = f"{self.server.url}/{TENANT}"
            return 200, {}, {"token_endpoint": f"{root}/oauth2/v2.0/token", "issuer": f"{root}/v2.0",
                             "authorization_endpoint": f"{root}/oauth2/v2.0/authorize"}
        if url.path.startswith("/metadata/instance/"):
            if self.headers.get("Metadata") != "true" or "api-version" not in query:
                return 400, {}, {"error": "Bad request. Required metadata header not specified"}
            found = self.cloud.metadata.get(url.path)
            return (404, {}, {"error": "Not found"}) if found is None else (200, {}, found.encode())
        if url.path == "/metadata/identity/oauth2/token":
            if self.headers.get("Metadata") != "true" or query.get("resource") != "https://management.azure.com":
                return 400, {}, {"error": "invalid_request", "error_description": "Required metadata header not specified"}
            if query.get("client_id", CLIENT) != CLIENT:
                return 400, {}, {"error": "invalid_request", "error_description": "Identity not found"}
            return 200, {}, self.token(text=True)
        if url.path.startswith("/blob/"):  # a storage account: its signed addresses need no token, and take none
            found = self.cloud.metadata.get(url.path)
            good = found is not None and query.get("sig") == "SIGNED" and "Authorization" not in self.headers
            return (200, {}, found.encode()) if good else (403, {}, {"error": {"code": "AuthenticationFailed"}})
        if url.path == "/api/retail/prices":
            return azure_prices.answer(query, self.headers, self.cloud)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.cloud.tokens.get(token, 0) < time.monotonic():
            raise Refused(401, "ExpiredAuthenticationToken" if token in self.cloud.tokens else "InvalidAuthenticationToken",
                          "The access token is invalid.")
        body = None
        if raw:
            if self.headers.get("Content-Type") != "application/json":
                raise Refused(415, "UnsupportedMediaType", "The content type is not application/json")
            body = json.loads(raw)
        return self.cloud.serve(self.command, url.path, query, self.headers, body, self.server.url)

    def entra(self, form):
        form = {k: v[0] for k, v in form.items()}
        good = form.get("client_id") == CLIENT and form.get("scope", "").split()[0:1] == [SCOPE]
        proof = form.get("client_secret") == SECRET or (
            form.get("client_assertion") == ASSERTION and
            form.get("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        if form.get("grant_type") != "client_credentials" or not good or not proof:
            return 401, {}, {"error": "invalid_client", "error_description": "AADSTS7000215: Invalid client secret provided."}
        return 200, {}, self.token()

    def token(self, text=False):
        c = self.cloud
        c.granted += 1
        token = f"eyTOKEN{c.granted}"
        c.tokens[token] = time.monotonic() + c.token_s
        holds = str(c.token_s) if text else c.token_s
        return {"token_type": "Bearer", "expires_in": holds, "ext_expires_in": holds, "access_token": token}

    # ---- the test's own

    def control(self, path, body):
        c = self.cloud
        with c.lock:
            if path == "/_rules":
                c.rules += body if isinstance(body, list) else [body]
            elif path == "/_heal":
                c.rules.clear()
            state = c.control(path, body)
        self.reply(200, {}, state)


def self_signed(where):
    """A certificate for 127.0.0.1 and its key, in one file."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", where / "key.pem",
                    "-out", where / "cert.pem"], check=True, capture_output=True)
    both = where / "both.pem"
    both.write_text((where / "cert.pem").read_text() + (where / "key.pem").read_text())
    return both


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, cloud, certificate=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.cloud, self.sent = cloud, 0  # bytes of replies
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.server_address[1]}"
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


if __name__ == "__main__":
    cloud = Cloud(op_s=float(sys.argv[1]) if len(sys.argv) > 1 else 0.03)
    cloud.pool("t4", ["1"])
    cloud.pool("cpu", ["1", "2", "3"], machine="Standard_D8s_v5")
    with Server(cloud) as server:
        print(server.server_address[1], flush=True)
        sys.stdin.read()
