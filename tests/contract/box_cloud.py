#!/usr/bin/env python3
"""The box cloud of docs/provider.md: a JSON API over machines in memory.

Prints its port and serves until its standard input ends.  Launches are PUT
under the request's id.  The box cloud knows type t4 only.  POST /fault/CODE
makes the next launches answer with that HTTP status; CODE 200 heals.
"""
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

LOCK = threading.Lock()
MACHINES = {}   # id -> machine
REQUESTS = {}   # request id -> list of machine ids
BOOT = 0.1
FAULT = [200]
CONSOLE = "\x1b[1;31mbooting\x1b[0m\x07\x00\x9b\r\n" * 130000 + "ready\n"  # 3 MB


def machine_view(m):
    up = time.monotonic() - m["born"] >= BOOT
    return {**{k: m[k] for k in ("id", "request", "type", "zone", "address")},
            "state": "up" if up else "booting"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, code, body):
        data = (json.dumps(body) if isinstance(body, dict) else body).encode()
        self.send_response(code)
        if code == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def do_GET(self):
        self.body()
        if self.path.startswith("/console/"):
            known = self.path.removeprefix("/console/") in MACHINES
            self.reply(200 if known else 404, CONSOLE if known else "no such machine")
            return
        cluster = parse_qs(urlparse(self.path).query).get("cluster", [""])[0]
        with LOCK:
            mine = [machine_view(m) for m in MACHINES.values()
                    if m["cluster"] == cluster]
        self.reply(200, {"machines": mine})

    def do_PUT(self):
        want = json.loads(self.body())
        request = self.path.removeprefix("/requests/")
        if FAULT[0] != 200:
            self.reply(FAULT[0], "the box cloud was told to fail")
            return
        if want["type"] != "t4":
            self.reply(422, "there is no type " + want["type"])
            return
        with LOCK:
            if request not in REQUESTS:
                ids = []
                for _ in range(want["count"]):
                    n = sum(len(v) for v in REQUESTS.values()) + len(ids) + 1
                    ids.append(f"box-{n}")
                    MACHINES[ids[-1]] = {
                        "id": ids[-1], "request": request,
                        "type": want["type"], "zone": want["zone"],
                        "cluster": want["cluster"], "address": f"10.9.0.{n}",
                        "born": time.monotonic()}
                REQUESTS[request] = ids
            made = [machine_view(MACHINES[i]) for i in REQUESTS[request]
                    if i in MACHINES]
        self.reply(200, {"machines": made})

    def do_DELETE(self):
        self.body()
        with LOCK:
            known = MACHINES.pop(self.path.removeprefix("/machines/"), None)
        self.reply(200 if known else 404, {} if known else "no such machine")

    def do_POST(self):
        self.body()
        FAULT[0] = int(self.path.removeprefix("/fault/"))
        self.reply(200, {})


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
