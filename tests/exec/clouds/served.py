#!/usr/bin/env python3
"""A small cloud as its published document has it: served.py lambda|runpod|digitalocean prints its port and serves until its input ends.

Each request and each answer is judged by documents.py.  A request that is not of the document is refused as the cloud refuses it, and
kept in /_wrong with every answer of our own that is not.  POST /_fault sets what goes wrong (see Fault), {} heals.
"""
import json
import pathlib
import re
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import documents  # noqa: E402
import rooms  # noqa: E402

TOKEN = "tok-of-the-test-1"
LOCK, WRONG, CALLS = threading.RLock(), [], []


class Fault(dict):
    """answer: {status, code, text} of each launch; lost: so many launches lose their answer after the deed; late: what is made is in no
    list for so many seconds; room: more machines than that are a stockout, quota: over the limit; dry: these kinds are sold out, told:
    and the catalogue says so; throttle: 429 for so many requests, after: with this Retry-After, reset: ratelimit-reset; page: the most
    of a page; moves: so many lists lose a machine between two pages; proxy: a proxy's 404 for what is asked by its id; away: a redirect
    to that address."""

    def take(self, name):
        n = self.get(name, 0)
        self[name] = n - 1
        return n > 0


FAULT = Fault()


def judge(schema, value, where, strict=False):
    """What is wrong with it, "" nothing."""
    if strict:
        schema = {**schema, "unevaluatedProperties": False}
    errors = sorted(jsonschema.Draft202012Validator(schema).iter_errors(value), key=str)
    return f"{where}: {errors[0].json_path} {errors[0].message}"[:300] if errors else ""


def query_value(schema, text):
    if schema["type"] == "array":
        return text.split(",")
    if schema["type"] == "integer" and text.lstrip("-").isdigit():
        return int(text)
    return {"true": True, "false": False}.get(text, text) if schema["type"] == "boolean" else text


def find_op(ops, method, path):
    """(its name, its parameters); a path's words stand before its {...}."""
    for name in sorted(ops, key=lambda n: n.count("{")):
        m, template = name.split()
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(template))
        found = re.fullmatch(pattern, path)
        if m == method and found:
            return name, found.groupdict()
    return None, {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, data, headers=None):
        body = b"" if data is None else data.encode() if isinstance(data, str) else json.dumps(data).encode()
        self.send_response(status)
        for k, v in (headers or {}).items():
            self.send_header(k, str(v))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, name, status, data, headers=None):
        """An answer of the document's operation, judged; text: a proxy's, which has none."""
        if not isinstance(data, str):
            replies = CLOUD.OPS[name]["replies"]
            if status not in replies and 0 not in replies:
                WRONG.append(f"our answer: {name} has no {status}")
            else:
                schema = replies.get(status, replies.get(0))
                wrong = judge(schema, data, f"our answer: {name} {status}") if schema else "" if data is None else f"our answer: {name} has a body"
                if wrong:
                    WRONG.append(wrong)
        self.send(status, data, headers)

    def control(self, url, body):
        if url.path == "/_fault":
            FAULT.clear()
            FAULT.update(body)
        elif url.path == "/_end":
            CLOUD.machines[body["id"]]["ended"] = True
        return self.send(200, {"/_machines": [{**m, "id": k} for k, m in CLOUD.machines.items() if not m["ended"]],
                               "/_wrong": WRONG, "/_calls": CALLS}.get(url.path, {}))

    def serve(self):
        url = urllib.parse.urlparse(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw else None
        with LOCK:
            if url.path.startswith("/_"):
                return self.control(url, body)
            name, parts = find_op(CLOUD.OPS, self.command, url.path)
            if not name:
                WRONG.append(f"{self.command} {url.path} is not in the document")
                return self.send(404, "no such path")
            CALLS.append(name)
            if self.headers.get("Authorization") != "Bearer " + TOKEN:
                return self.answer(name, *CLOUD.refuse(401, ""))
            if "away" in FAULT:
                return self.send(302, "moved", {"Location": FAULT["away"]})
            if FAULT.take("throttle"):
                told = {"Retry-After": FAULT.get("after"), "ratelimit-reset": FAULT.get("reset")}
                return self.answer(name, *CLOUD.throttled(), headers={k: v for k, v in told.items() if v is not None})
            op = CLOUD.OPS[name]
            wrong = judge(op["body"], body, name, strict=True) if op["body"] else f"{name} takes no body" if raw else ""
            query = {k: v[-1] for k, v in urllib.parse.parse_qs(url.query).items()}
            for k, v in query.items():
                wrong = wrong or (judge(op["query"][k], query_value(op["query"][k], v), f"{name}?{k}") if k in op["query"] else f"{name} has no parameter {k}")
            if wrong:
                WRONG.append(wrong)
                return self.answer(name, *CLOUD.refuse(422, wrong))
            if FAULT.get("proxy") and parts:
                return self.send(404, "<html>404 page not found</html>")
            status, data = CLOUD.ask(name, list(parts.values()), body, query)
            if status in (200, 201, 202) and name.startswith("POST") and CLOUD.makes(name) and FAULT.take("lost"):
                self.close_connection = True
                return self.connection.close()
            return self.answer(name, status, data)

    do_GET = do_POST = do_DELETE = serve


if __name__ == "__main__":
    CLOUD = {"lambda": rooms.Lambda, "runpod": rooms.Runpod, "digitalocean": rooms.DigitalOcean}[sys.argv[1]](FAULT, documents)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
