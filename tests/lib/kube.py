"""A small Kubernetes client for tests: JSON over kept-alive TLS connections.

    c = Client("https://127.0.0.1:6443", "ca.crt", token)
    status, reply = c.call("GET", "/api/v1/nodes")
    pods = c.get(pods_path("default"))["items"]      # raises ApiError unless 2xx
    for kind, obj in c.watch("/api/v1/pods", version): ...

A client may be used by several threads: each has its own connection.
"""
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.parse

import lib

JSON, MERGE, STRATEGIC = (
    "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json")
RAY = "/apis/ray.io/v1"


class ApiError(Exception):
    def __init__(self, method, path, status, reply):
        message = reply.get("message") if isinstance(reply, dict) else reply
        super().__init__(f"{method} {path}: {status} {message}")
        self.status, self.reply = status, reply


def pods_path(namespace="default", name=None, **query):
    return path_of("/api/v1", namespace, "pods", name, **query)


def clusters_path(namespace="default", name=None, **query):
    return path_of(RAY, namespace, "rayclusters", name, **query)


def path_of(group, namespace, resource, name=None, **query):
    """path_of("/apis/apps/v1", "default", "deployments", labelSelector="a=b"); without a name it is the list."""
    path = group + (f"/namespaces/{namespace}" if namespace else "") + f"/{resource}" + (f"/{name}" if name is not None else "")
    return path + ("?" + urllib.parse.urlencode(query) if query else "")


class Client:
    def __init__(self, server, ca, token=None, timeout=90):
        url = urllib.parse.urlsplit(server)
        self.host, self.port, self.token, self.timeout = url.hostname, url.port, token, timeout
        self.context = ssl.create_default_context(cafile=str(ca))
        self.local = threading.local()

    def connection(self, timeout=None):
        return http.client.HTTPSConnection(self.host, self.port, context=self.context,
                                           timeout=timeout or self.timeout)

    def headers(self, content_type="application/json"):
        got = {"Content-Type": content_type, "Accept": "application/json", "User-Agent": "davit-tests"}
        if self.token:
            got["Authorization"] = f"Bearer {self.token}"
        return got

    def call(self, method, path, body=None, content_type=None, raw=False):
        """(status, reply).  A patch given as a list is a JSON patch, else a merge patch."""
        if path.partition("?")[0].endswith("/"):  # the server would answer with the list of all
            raise ValueError(f"{method} {path}: the object's name is empty")
        if content_type is None:
            content_type = "application/json"
            if method == "PATCH":
                content_type = JSON if isinstance(body, list) else MERGE
        data = json.dumps(body) if body is not None else None
        for last in (False, True):
            c = getattr(self.local, "c", None)
            if c is None:
                c = self.local.c = self.connection()
            fresh = c.sock is None
            try:
                c.request(method, path, data, self.headers(content_type))
                r = c.getresponse()
                text = r.read()
                break
            except (OSError, http.client.HTTPException):
                c.close()
                self.local.c = None
                # a kept connection may have been closed meanwhile: once more
                if fresh or last:
                    raise
        return r.status, text.decode() if raw else _parsed(text)

    def need(self, method, path, body=None, content_type=None):
        """The reply of a call that must go well."""
        status, reply = self.call(method, path, body, content_type)
        if status // 100 != 2:
            raise ApiError(method, path, status, reply)
        return reply

    def get(self, path):
        return self.need("GET", path)

    def post(self, path, body):
        return self.need("POST", path, body)

    def patch(self, path, body, content_type=None):
        return self.need("PATCH", path, body, content_type)

    def delete(self, path, body=None):
        """Gone afterwards, or already: None then."""
        status, reply = self.call("DELETE", path, body)
        if status == 404:
            return None
        if status // 100 != 2:
            raise ApiError("DELETE", path, status, reply)
        return reply

    def watch(self, path, version=""):
        return Watch(self, path, version)


class Watch:
    """Iterates over (type, object) until the server ends it or close() is called, from any thread.

    ("ERROR", status) is the last when the version is too old (410)."""

    def __init__(self, client, path, version=""):
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": 300}
        if version:
            query["resourceVersion"] = version
        self.c = client.connection()
        self.c.request("GET", path + ("&" if "?" in path else "?") + urllib.parse.urlencode(query),
                       headers=client.headers())
        self.sock = self.c.sock
        self.reply = self.c.getresponse()
        self.sock.settimeout(None)

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def __iter__(self):
        try:
            if self.reply.status != 200:
                yield "ERROR", _parsed(self.reply.read())
                return
            for line in self.lines():
                event = json.loads(line)
                yield event["type"], event["object"]
        finally:
            self.close()
            self.c.close()

    def lines(self):
        buffer = b""
        while True:
            try:
                chunk = self.reply.read1(1 << 20)
            except (OSError, http.client.HTTPException, ValueError):
                return
            if not chunk:
                return
            buffer += chunk
            *lines, buffer = buffer.split(b"\n")
            yield from filter(bytes.strip, lines)


class Informer(threading.Thread):
    """List and watch: .objects by (namespace, name), changed() called on news."""

    def __init__(self, client, path, changed):
        super().__init__(daemon=True, name=f"informer {path}")
        self.client, self.path, self.changed = client, path, changed
        self.lock, self.objects = threading.RLock(), {}
        self.stopped, self.synced, self.watch = threading.Event(), threading.Event(), None

    def run(self):
        while not self.stopped.is_set():
            try:
                self.follow()
            except (OSError, http.client.HTTPException, ApiError, ValueError):
                self.stopped.wait(0.1)  # wait: before it is tried again

    def follow(self):
        reply = self.client.get(self.path)
        with self.lock:
            self.objects = {key(o): o for o in reply["items"]}
        self.synced.set()
        self.changed(None)
        version = reply["metadata"]["resourceVersion"]
        while not self.stopped.is_set():
            self.watch = self.client.watch(self.path, version)
            for kind, obj in self.watch:
                if kind == "ERROR" or self.stopped.is_set():
                    return
                version = obj["metadata"]["resourceVersion"]
                if kind != "BOOKMARK":
                    self.put(obj, gone=kind == "DELETED")
                    self.changed(obj)
            time.sleep(0.02)  # wait: as a client does before it watches anew

    def put(self, obj, gone=False):
        """Also what the owner itself wrote, so that it need not wait to see it."""
        with self.lock:
            old = self.objects.get(key(obj))
            if old and int(old["metadata"]["resourceVersion"]) > int(obj["metadata"]["resourceVersion"]):
                return
            if gone:
                self.objects.pop(key(obj), None)
            else:
                self.objects[key(obj)] = obj

    def all(self):
        with self.lock:
            return list(self.objects.values())

    def stop(self):
        self.stopped.set()
        while self.is_alive():
            if self.watch:
                self.watch.close()
            self.join(0.1)  # wait: it may have begun to watch anew


def key(obj):
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text.decode(errors="replace")


SOON = 45  # seconds: a busy machine may take them, and a plan that comes every 60 s anyway comes too late


def until(what, seconds=SOON, why="it did not happen", every=0.02):
    """What watches tell comes within seconds, or not at all."""
    return lib.until(what, seconds, why, every)
