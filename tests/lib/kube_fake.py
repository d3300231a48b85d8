#!/usr/bin/env python3
"""An API server with one RayCluster and its pods, and an operator that does to them what KubeRay 1.7 does; for what a
real one cannot be made to do at will: refuse, lose replies, be written by another at the worst moment.

The real API server is used in tests/k8s.  POST /_test {...} sets: fail (HTTP status of every answer), fail_verb (only
for it), conflicts (so many PATCHes find the object changed), drop (so many replies are lost after the deed), operator
(false: it sleeps), hidden (pods that lists lack, but not one that is asked for by its name), quota (so many pods may exist), and merges "cluster" into the object.  GET /_test tells what was sent.
"""

import copy
import json
import random
import string
import sys
import threading
import time
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

BOOT, GONE = 0.05, 0.03


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def group(name="gpu", replicas=0, low=0, high=1000, hosts=1, **more):
    spec = {"containers": [{"name": "ray-worker", "image": "rayproject/ray:2.52.0",
                            "resources": {"limits": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"}}}]}
    return {"groupName": name, "replicas": replicas, "minReplicas": low, "maxReplicas": high, "numOfHosts": hosts,
            "rayStartParams": {}, "template": {"spec": spec}, **more}


class World:
    def __init__(self, name="raycluster", namespace="default", groups=None, multi_host_labels=True):
        self.lock = threading.RLock()
        self.version = 100
        self.labels = multi_host_labels
        self.pods = {}
        self.sent = []
        self.set = {"fail": 0, "fail_verb": "", "conflicts": 0, "drop": 0, "operator": True, "hidden": [], "quota": 10**9,
                    "pod_status": None, "message": ""}
        self.cluster = {
            "apiVersion": "ray.io/v1", "kind": "RayCluster",
            "metadata": {"name": name, "namespace": namespace, "uid": "u-1", "generation": 1, "managedFields": []},
            "spec": {"enableInTreeAutoscaling": True, "workerGroupSpecs": groups or [group()],
                     "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "head"}]}}}},
            "status": {}}
        self.touch()
        threading.Thread(target=self.operate, daemon=True).start()

    def touch(self):
        self.version += 1
        self.cluster["metadata"]["resourceVersion"] = str(self.version)

    # ---- the operator

    def operate(self):
        while True:
            time.sleep(0.02)  # wait: between two looks of the operator that is played
            with self.lock:
                if self.set["operator"]:
                    self.reconcile()

    def alive(self, name):
        return [p for p in self.pods.values() if p["metadata"]["labels"]["ray.io/group"] == name
                and "deletionTimestamp" not in p["metadata"]]

    def reconcile(self):
        t = time.monotonic()
        for name in [n for n, p in self.pods.items() if p["_gone"] and t > p["_gone"]]:
            del self.pods[name]
        for p in self.pods.values():
            if t > p["_up"] and "deletionTimestamp" not in p["metadata"] and self.set["pod_status"] is None:
                p["status"].update(phase="Running", podIP="10.0.0.%d" % (hash(p["metadata"]["name"]) % 250))
                p["spec"]["nodeName"] = "n1"
        failure = None
        for g in self.cluster["spec"]["workerGroupSpecs"]:
            for name in (g.get("scaleStrategy") or {}).get("workersToDelete") or []:
                self.delete(name)
            want = max(g.get("minReplicas", 0), min(g.get("replicas", 0), g.get("maxReplicas", 2**31 - 1)))
            hosts = g.get("numOfHosts", 1)
            if g.get("suspend") or self.cluster["spec"].get("suspend"):
                for p in self.alive(g["groupName"]):
                    self.delete(p["metadata"]["name"])
                continue
            if hosts > 1 and self.labels:
                have = {}
                for p in self.alive(g["groupName"]):
                    have.setdefault(p["metadata"]["labels"]["ray.io/worker-group-replica-name"], []).append(p)
                for unit in [u for u, v in have.items() if len(v) < hosts]:  # a broken slice goes as a whole
                    for p in have.pop(unit):
                        self.delete(p["metadata"]["name"])
                for i in range(want - len(have)):
                    unit = g["groupName"] + "-" + self.word()
                    for h in range(hosts):
                        self.create(g, {"ray.io/worker-group-replica-name": unit, "ray.io/replica-host-index": str(h)})
                continue
            for i in range(want * hosts - len(self.alive(g["groupName"]))):
                if len(self.pods) >= self.set["quota"]:
                    failure = ('FailedCreateWorkerPod pods "x" is forbidden: exceeded quota: gpus, requested: '
                               'nvidia.com/gpu=1, used: %d, limited: %d' % (len(self.pods), len(self.pods)))
                    break
                self.create(g, {})
        conditions = [{"type": "ReplicaFailure", "status": "True", "reason": "FailedCreateWorkerPod",
                       "message": failure}] if failure else []
        if self.cluster["status"].get("conditions", []) != conditions:
            self.cluster["status"]["conditions"] = conditions
            self.touch()

    def word(self):
        return "".join(random.choices(string.ascii_lowercase + string.digits, k=5))  # any will do

    def create(self, g, labels):
        c = self.cluster["metadata"]["name"]
        name = "%s-%s-worker-%s" % (c, g["groupName"], self.word())
        self.pods[name] = {
            "metadata": {"name": name, "creationTimestamp": now(),
                         "labels": {"ray.io/cluster": c, "ray.io/group": g["groupName"], "ray.io/node-type": "worker",
                                    **labels}},
            "spec": {"containers": [{}]}, "status": {"phase": "Pending", **(self.set["pod_status"] or {})},
            "_up": time.monotonic() + BOOT, "_gone": 0}

    def delete(self, name):
        p = self.pods.get(name)
        if p and not p["_gone"]:
            p["metadata"]["deletionTimestamp"] = now()
            p["_gone"] = time.monotonic() + GONE

    # ---- the API

    def patch(self, steps):
        new = copy.deepcopy(self.cluster)
        for s in steps:
            parts = [x.replace("~1", "/").replace("~0", "~") for x in s["path"].split("/")[1:]]
            at = new
            for x in parts[:-1]:
                at = at[int(x)] if isinstance(at, list) else at[x]
            key = int(parts[-1]) if isinstance(at, list) else parts[-1]
            if s["op"] == "test":
                if at[key] != s["value"]:
                    return 422, status(422, "Invalid", "the server rejected our request due to an error in our request: "
                                       "test failed")
            else:
                at[key] = s["value"]
        if new["metadata"]["resourceVersion"] != self.cluster["metadata"]["resourceVersion"]:
            return 409, status(409, "Conflict", "the object has been modified")
        self.cluster = new
        self.touch()
        return 200, self.cluster


def status(code, reason, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
            "message": message}


REASONS = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 409: "Conflict", 410: "Expired", 422: "Invalid",
           429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable"}


def handler(world):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self, code, body):
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def test(self, body):
            with world.lock:
                if "cluster" in body:
                    world.cluster["spec"].update(body.pop("cluster"))
                    world.touch()
                for name, change in body.pop("pods", {}).items():
                    world.pods[name]["status"] = change
                world.set.update(body)
            self.answer(200, {})

        def serve(self, verb):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            url = urlsplit(self.path)
            if url.path == "/_test":
                if verb == "POST":
                    return self.test(json.loads(body))
                with world.lock:
                    shown = [{k: v for k, v in p.items() if k[0] != "_"} for p in world.pods.values()]
                    return self.answer(200, {"sent": world.sent, "cluster": world.cluster, "pods": shown})
            with world.lock:
                world.sent.append([verb, self.path, json.loads(body) if body else None,
                                   self.headers.get("Authorization", "")])
                code, reply = self.deal(verb, url, body)
                if code < 300 and verb == "PATCH" and world.set["drop"] > 0:
                    world.set["drop"] -= 1
                    self.close_connection = True
                    return self.connection.close()
                reply = json.loads(json.dumps(reply))
            self.answer(code, reply)

        def deal(self, verb, url, body):
            fail = world.set["fail"]
            if fail and world.set["fail_verb"] in ("", verb):
                return fail, status(fail, REASONS.get(fail, ""), world.set["message"] or "made up for a test")
            if url.path.endswith("/pods"):
                q = parse_qs(url.query)
                one = q.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
                hidden = [] if one else world.set["hidden"]
                names = [n for n in sorted(world.pods) if one in ("", n) and n not in hidden]
                start = int(q.get("continue", ["0"])[0])
                end = start + int(q.get("limit", ["500"])[0])
                return 200, {"metadata": {"continue": str(end) if end < len(names) else ""},
                             "items": [{k: v for k, v in world.pods[n].items() if k[0] != "_"}
                                       for n in names[start:end]]}
            if not url.path.endswith("/rayclusters/" + world.cluster["metadata"]["name"]):
                return 404, status(404, "NotFound", "rayclusters.ray.io not found")
            if verb == "PATCH":
                if world.set["conflicts"] > 0:
                    world.set["conflicts"] -= 1
                    world.touch()
                return world.patch(json.loads(body))
            return 200, world.cluster

        def do_GET(self):
            self.serve("GET")

        def do_PATCH(self):
            self.serve("PATCH")

        def do_POST(self):
            self.serve("POST")

    return Handler


def serve(world):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(world))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    shape = json.loads(sys.argv[1]) if len(sys.argv) > 1 else [{}]
    print(serve(World(groups=[group(**g) for g in shape])).server_address[1], flush=True)
    threading.Event().wait()
