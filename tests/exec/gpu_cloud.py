#!/usr/bin/env python3
"""A small GPU cloud, for docs/gallery/gpucloud.py: prints its port and serves until its standard input ends.

Two instances a page.  POST /_fault {"code": ..., "status": ..., "lost": n, "room": n} makes launches go wrong; {} heals.
"""
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

LOCK, BOOT, PAGE = threading.Lock(), 0.1, 2
INSTANCES, SEEN = {}, []
FAULT = {}


def view(i):
    up = time.monotonic() - i["born"] >= BOOT
    status = "terminated" if i["ended"] else "active" if up else "booting"
    return {**{k: i[k] for k in ("id", "name", "region", "instance_type", "ip")}, "status": status}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, data=None, error=None):
        body = json.dumps({"data": data} if error is None else {"error": error}).encode()
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def allowed(self):
        self.payload = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if self.path.startswith("/_") or self.headers.get("Authorization") == "Bearer tok-1":
            return True
        self.reply(401, error={"code": "unauthorized", "message": "no such token"})
        return False

    def do_GET(self):
        if not self.allowed():
            return
        url = urlparse(self.path)
        if url.path == "/instance-types":
            self.reply(200, {"gpu_1x_a10": {"price_cents_per_hour": 75, "regions": ["west"]}})
        elif url.path == "/_instances":
            with LOCK:
                self.reply(200, [{**view(i), "user_data": i["user_data"]} for i in INSTANCES.values()])
        else:
            first = int(parse_qs(url.query).get("page", ["0"])[0] or 0)
            with LOCK:
                every = [view(i) for i in INSTANCES.values()]
            more = first + PAGE < len(every)
            self.reply(200, {"instances": every[first:first + PAGE], "next_page": str(first + PAGE) if more else None})

    def do_POST(self):
        if not self.allowed():
            return
        if self.path == "/_fault":
            FAULT.clear()
            FAULT.update(self.payload)
            return self.reply(200)
        with LOCK:
            living = sum(not i["ended"] for i in INSTANCES.values())
            if "status" in FAULT:
                return self.reply(FAULT["status"], error={"code": FAULT.get("code", ""), "message": "as the test says"})
            if living >= FAULT.get("room", 10000):
                return self.reply(400, error={"code": "insufficient-capacity", "message": "none left"})
            n = len(INSTANCES) + 1
            made = INSTANCES[f"i-{n}"] = {**self.payload, "id": f"i-{n}", "ip": f"10.8.0.{n % 250}", "born": time.monotonic(), "ended": False}
            lost = FAULT.get("lost", 0)
            FAULT["lost"] = lost - 1
        if lost > 0:
            self.connection.close()
            self.close_connection = True
            return
        self.reply(200, view(made))

    def do_DELETE(self):
        if not self.allowed():
            return
        with LOCK:
            i = INSTANCES.get(self.path.removeprefix("/instances/"))
            if i:
                i["ended"] = True
        self.reply(200 if i else 404, {} if i else None, None if i else {"code": "not-found", "message": "no such instance"})


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
