"""A GKE and Compute Engine for tests: stateful, and as strict as Google's schemas.

Every request is checked against the discovery documents before anything else,
and every reply of ours too.  What it models is what an autoscaler meets:

- a node pool is an instance group per zone, with a target size of its own;
- operations are PENDING, RUNNING, DONE, and may fail when they are done;
- createInstances and deleteInstances take effect some time after they were
  accepted; a requestId seen before is answered with its first operation;
- an instance that cannot be had stays in the group as CREATING with
  lastAttempt.errors, is tried again, and is bought when there is stock again;
- 401 for a token that was never given out or has ended, 403, 409, 412, 429.

POST /_test/KEY sets a fault or a fact (see Cloud.FAULTS), GET /_test/state
shows everything.  Runs alone (prints its port) or inside a test.
"""
import base64
import json
import socket
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from gke_discovery import Api
from gke_queue import OURS, Queue

GOOGLE = "https://www.googleapis.com/compute/v1/"
STOCKOUT = ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
            "The zone '{zone}' does not have enough resources available to fulfill the request.")
REASONS = {400: ("badRequest", "INVALID_ARGUMENT"), 401: ("authError", "UNAUTHENTICATED"),
           403: ("forbidden", "PERMISSION_DENIED"), 404: ("notFound", "NOT_FOUND"),
           409: ("alreadyExists", "ALREADY_EXISTS"), 412: ("conditionNotMet", "FAILED_PRECONDITION"),
           429: ("rateLimitExceeded", "RESOURCE_EXHAUSTED"), 500: ("backendError", "INTERNAL"),
           503: ("backendError", "UNAVAILABLE")}


class Refusal(Exception):
    def __init__(self, code, message, reason=None, headers=None):
        self.code, self.message, self.headers = code, message, headers or {}
        self.reason = reason or REASONS[code][0]

    def body(self):
        return {"error": {"code": self.code, "message": self.message,
                          "errors": [{"message": self.message, "domain": "global", "reason": self.reason}],
                          "status": REASONS[self.code][1]}}


class Cloud(Queue):
    """The state.  Times are of the monotonic clock; everything moves by them."""

    FAULTS = dict(
        stockout=[],        # zones, or POOL@ZONE: no instance can be made there
        quotas={},          # region, or "project" -> {metric: [limit, used]}; told, and no more than that
        deny_quotas=False,  # who asks may not read them
        quota={},           # pool -> how many instances it may have in all
        fail_next=[],       # HTTP answers for the next API requests: [429, 503, "reset", "cut", "garbage", 0: none]
        fail_ops={},        # createInstances / deleteInstances -> [code, message] of a failed operation; a third
                            # item: it failed, and yet the deed is done
        refuse={},          # the same -> [http, reason, message], until healed
        refuse_after={},    # the same -> how many are let through before all are throttled
        lose={},            # method or METHOD@ZONE -> how many next replies to lose after the deed
        retry_after=1,      # of a 429
        throttle_until=0.0, # wall clock: everything is 429 until then
        auth_down=None,     # HTTP status of the token endpoints
        hidden=(),          # names that lists lack, though they are there
        printed="",         # by instances that have no console of their own
        deny=False,         # every API call is 403
        queue_held=False,   # no resize request is fulfilled, nor fails
        fail_resize=None,   # [code, message]: each fails instead
        lag=0.0,            # of the aggregated list
        unreachable=[],     # zones that it does not read
        boot=0.05, op=0.02, gone=0.05, apply=0.01, token_life=3599, page=0, extra_error=None)

    def __init__(self, project="my-proj", location="us-central1", cluster="c1"):
        self.lock = threading.RLock()
        self.project, self.location, self.cluster = project, location, cluster
        self.pools, self.groups, self.ops, self.requests = {}, {}, {}, {}
        self.tokens, self.log, self.rejected, self.bad_replies = {}, [], [], []
        self.next_id, self.bought, self.lost_work = 1000, 0, []
        self.counts, self.used = {}, set()
        self.types = {"n1-standard-8": (8, 30720, None), "e2-standard-8": (8, 32768, None),
                      "a2-highgpu-1g": (12, 87040, ("nvidia-tesla-a100", 1)), "e2-medium": (2, 4096, None),
                      "g2-standard-8": (8, 32768, ("nvidia-l4", 1)), "a3-highgpu-8g": (208, 1917952, ("nvidia-h100-80gb", 8)),
                      "n4-standard-8": (8, 32768, None), "ct5lp-hightpu-4t": (112, 196608, ("ct5lp", 4)),
                      "ct6e-standard-4t": (180, 737280, ("ct6e", 4))}
        self.accelerators = {"nvidia-tesla-t4": 4, "nvidia-tesla-a100": 16, "nvidia-l4": 8, "nvidia-tesla-v100": 8, "nvidia-a100-80gb": 8,
                             "nvidia-h100-80gb": 8}
        self.reservations = {}          # zone -> {name: how many are left}; those that are only for RESERVATION_BOUND
        self.consoles = {}              # instance -> what it has printed
        self.templates = set()          # instance templates, by what a request may call them
        self.bare = {}                  # (zone, name) -> an instance of no group
        self.zones = ["us-central1-a", "us-central1-b"]
        self.mending = {}               # instance -> what its group does with it
        self.missing_types = set()      # (zone, machine or accelerator type)
        self.missing = set()            # images and subnetworks that are not there, by what a request calls them
        self.heal()

    def heal(self):
        for k, v in self.FAULTS.items():
            setattr(self, k, json.loads(json.dumps(v)))

    # ---- set-up

    def pool(self, name, zones, machine="n1-standard-8", accelerator=None, count=1, spot=False, size=0, labels=None,
             taints=None, autoscaling=False, hash_="0a1b2c3d", status="RUNNING", partition=None, clients=None,
             **more):
        config = {"machineType": machine, "labels": labels or {"pool": name}}
        if accelerator:
            config["accelerators"] = [{"acceleratorCount": str(count), "acceleratorType": accelerator}]
            if partition:
                config["accelerators"][0]["gpuPartitionSize"] = partition
            if clients:
                config["accelerators"][0]["gpuSharingConfig"] = {"maxSharedClientsPerGpu": str(clients), "gpuSharingStrategy": "TIME_SHARING"}
        if taints:
            config["taints"] = taints
        if spot:
            config["spot"] = True
        igm = f"gke-{self.cluster}-{name}-{hash_}-grp"
        self.pools[name] = {
            "name": name, "status": status, "initialNodeCount": size, "locations": list(zones), "config": config,
            "autoscaling": {"enabled": True, "minNodeCount": 0, "maxNodeCount": 3} if autoscaling else {},
            "instanceGroupUrls": [f"{GOOGLE}projects/{self.project}/zones/{z}/instanceGroupManagers/{igm}" for z in zones], **more}
        for z in zones:
            g = self.groups[z, igm] = {"pool": name, "zone": z, "name": igm, "base": igm[:-4], "target": 0, "members": {}}
            for _ in range(size):
                self.next_id += 1
                self.add(g, f"{g['base']}-{self.next_id:04x}"[-63:], 0)

    def add(self, g, name, boot):
        self.next_id += 1
        g["target"] += 1
        g["members"][name] = {"name": name, "id": str(self.next_id), "state": "want", "at": time.monotonic(),
                              "boot": boot, "ip": f"10.128.{self.next_id // 250 % 250}.{self.next_id % 250 + 1}"}

    # ---- time passes

    def dry(self, g):
        return g["zone"] in self.stockout or f"{g['pool']}@{g['zone']}" in self.stockout

    def tick(self):
        now = time.monotonic()
        for op in self.ops.values():
            if op["apply_at"] <= now and not op["applied"]:
                op["applied"] = True
                op["apply"]()
        self.resizes_tick(now)
        live = {}
        for g in self.groups.values():
            for m in g["members"].values():
                if m["state"] in ("boot", "up"):
                    live[g["pool"]] = live.get(g["pool"], 0) + 1
        for g in self.groups.values():
            for name, m in list(g["members"].items()):
                if m["state"] == "gone" and now - m["at"] >= self.gone:
                    del g["members"][name]
                elif m["state"] == "want":
                    if self.dry(g):
                        m["error"] = (STOCKOUT[0], STOCKOUT[1].format(zone=f"projects/{self.project}/zones/{g['zone']}"))
                    elif live.get(g["pool"], 0) >= self.quota.get(g["pool"], 1 << 30):
                        m["error"] = ("QUOTA_EXCEEDED", "Quota 'NVIDIA_T4_GPUS' exceeded.  Limit: "
                                      f"{self.quota[g['pool']]}.0 in region {self.location}.")
                    elif self.extra_error:
                        m["error"] = tuple(self.extra_error)
                    else:
                        m.update(state="boot", at=now, error=None)
                        self.bought += 1
                        live[g["pool"]] = live.get(g["pool"], 0) + 1
                elif m["state"] == "boot" and now - m["at"] >= m["boot"]:
                    m.update(state="up", at=now)

    # ---- operations

    def operation(self, kind, zone, apply):
        name = f"operation-{len(self.ops) + 1}-{self.next_id:x}"
        now = time.monotonic()
        fail = self.fail_ops.get(kind)
        self.ops[name] = {"name": name, "kind": kind, "zone": zone, "began": now, "fail": fail, "applied": bool(fail) and len(fail) < 3,
                          "apply_at": now + self.apply, "apply": apply, "done_at": now + self.op}
        return name

    def compute_op(self, name):
        op = self.ops[name]
        now = time.monotonic()
        part = (now - op["began"]) / max(self.op, 1e-9)
        status = "DONE" if now >= op["done_at"] and op["applied"] else "RUNNING" if part > 0.3 else "PENDING"
        r = {"kind": "compute#operation", "id": str(abs(hash(name)) % 10**12), "name": name, "status": status,
             "zone": f"{GOOGLE}projects/{self.project}/zones/{op['zone']}", "progress": 100 if status == "DONE" else 0,
             "operationType": op["kind"] if op["kind"] in ("insert", "delete") else
             "compute.instanceGroupManager" + op["kind"].replace(OURS, "ResizeRequests") if op["kind"].startswith(OURS + ".") else
             "compute.instanceGroupManagers." + op["kind"]}
        if status == "DONE" and op["fail"]:
            r["error"] = {"errors": [{"code": op["fail"][0], "message": op["fail"][1]}]}
            r.update(httpErrorStatusCode=403, httpErrorMessage="FORBIDDEN")
        return r

    def container_op(self, name):
        op = self.ops[name]
        done = time.monotonic() >= op["done_at"] and op["applied"]
        kind = {"setSize": "SET_NODE_POOL_SIZE", "setAutoscaling": "UPDATE_CLUSTER"}[op["kind"]]
        r = {"name": name, "operationType": kind, "status": "DONE" if done else "RUNNING", "zone": self.location}
        if done and op["fail"]:
            r["error"] = {"code": 8, "message": op["fail"][1]}
            r["nodepoolConditions"] = [{"code": op["fail"][0], "message": op["fail"][1]}]
        return r

    # ---- methods, by the id in the discovery document

    def group(self, a):
        g = self.groups.get((a["zone"], a["instanceGroupManager"]))
        if not g or a["project"] != self.project:
            raise Refusal(404, f"The resource 'projects/{a['project']}/zones/{a['zone']}/instanceGroupManagers/"
                               f"{a['instanceGroupManager']}' was not found")
        return g

    def in_cluster(self, a):
        if (a["projectsId"], a["locationsId"], a.get("clustersId", self.cluster)) != (self.project, self.location, self.cluster):
            raise Refusal(404, f"Not found: projects/{a['projectsId']}/locations/{a['locationsId']}/clusters/"
                               f"{a.get('clustersId')}.")

    def node_pool(self, a):
        self.in_cluster(a)
        if a["nodePoolsId"] not in self.pools:
            raise Refusal(404, f"Not found: node pool {a['nodePoolsId']}")
        return self.pools[a["nodePoolsId"]]

    def container_projects_locations_clusters_nodePools_list(self, a, q, body):
        self.in_cluster(a)
        return {"nodePools": list(self.pools.values())}

    def container_projects_locations_clusters_nodePools_get(self, a, q, body):
        return self.node_pool(a)

    def container_projects_locations_clusters_nodePools_setAutoscaling(self, a, q, body):
        p = self.node_pool(a)

        def apply():
            p["autoscaling"] = body["autoscaling"]
        return self.container_op(self.operation("setAutoscaling", self.location, apply))

    def container_projects_locations_clusters_nodePools_setSize(self, a, q, body):
        """As the real one: per zone, and it chooses who goes."""
        p = self.node_pool(a)

        def apply():
            for g in self.groups.values():
                if g["pool"] == p["name"]:
                    self.resize_to(g, body.get("nodeCount", 0))
        return self.container_op(self.operation("setSize", self.location, apply))

    def container_projects_locations_operations_get(self, a, q, body):
        if a["operationsId"] not in self.ops:
            raise Refusal(404, "Not found: operation")
        return self.container_op(a["operationsId"])

    def resize_to(self, g, n):
        alive = [m for m in g["members"].values() if m["state"] != "gone"]
        for m in alive[n:]:
            self.lost_work.append(m["name"])
            self.end(g, m)
        for _ in range(n - len(alive)):
            self.next_id += 1
            self.add(g, f"{g['base']}-{self.next_id:04x}"[-63:], self.boot)

    def compute_instanceGroupManagers_get(self, a, q, body):
        g = self.group(a)
        return {"kind": "compute#instanceGroupManager", "name": g["name"], "targetSize": g["target"],
                "baseInstanceName": g["base"], "zone": g["zone"]}

    def member_view(self, g, m):
        r = {"instance": f"{GOOGLE}projects/{self.project}/zones/{g['zone']}/instances/{m['name']}", "name": m["name"]}
        if m["state"] in ("want", "queued"):
            r["currentAction"] = "CREATING"
            if m.get("error"):
                r["lastAttempt"] = {"errors": {"errors": [{"code": m["error"][0], "message": m["error"][1]}]}}
        elif m["state"] == "boot":
            r.update(id=m["id"], currentAction="CREATING", instanceStatus="STAGING")
        elif m["state"] == "up":
            r.update(id=m["id"], currentAction=self.mending.get(m["name"], "NONE"), instanceStatus=m.get("status", "RUNNING"))
        else:
            r.update(currentAction="DELETING")
            if m.get("had"):
                r.update(id=m["id"], instanceStatus="STOPPING")
        return r

    def paged(self, items, q, key, default):
        size = min(int(q.get("maxResults", default)), self.page or default)
        at = int(base64.urlsafe_b64decode(q["pageToken"] + "==").decode()) if "pageToken" in q else 0
        r = {key: items[at:at + size]} if items else {}
        if at + size < len(items):
            r["nextPageToken"] = base64.urlsafe_b64encode(str(at + size).encode()).decode().rstrip("=") + "=="
        return r

    def compute_instanceGroupManagers_listManagedInstances(self, a, q, body):
        g = self.group(a)
        items = [self.member_view(g, g["members"][k]) for k in sorted(g["members"]) if k not in self.hidden]
        return self.paged(items, q, "managedInstances", 500)

    def compute_instances_list(self, a, q, body):
        want = None
        if "filter" in q:
            key, _, value = q["filter"].partition("=")
            if key != "labels.goog-k8s-node-pool-name" or not (value[:1] == value[-1:] == '"'):
                raise Refusal(400, f"Invalid value for field 'filter': '{q['filter']}'.", "invalid")
            want = value[1:-1]
        items = [{"name": m["name"], "id": m["id"], "status": "RUNNING" if m["state"] == "up" else "STAGING", "zone": z,
                  "networkInterfaces": [{"networkIP": m["ip"], "name": "nic0"}]}
                 for (z, _), g in sorted(self.groups.items()) if z == a["zone"] and want in (None, g["pool"])
                 for m in g["members"].values() if m["state"] in ("boot", "up")]
        r = {"kind": "compute#instanceList", **self.paged(items, q, "items", 500)}
        if "fields" in q:
            r = fields(r, q["fields"])
        return r

    def once(self, q, make):
        """A requestId seen before is answered with its first operation."""
        rid = q.get("requestId")
        if rid in self.requests:
            return self.requests[rid]
        name = make()
        if rid:
            self.requests[rid] = name
        return name

    def compute_instanceGroupManagers_createInstances(self, a, q, body):
        g = self.group(a)
        self.create_check(g, Refusal)
        names = [i["name"] for i in body["instances"]]
        for n in names:
            if not (0 < len(n) <= 63 and n[0].isalpha() and n[-1] != "-" and
                    all(c.islower() or c.isdigit() or c == "-" for c in n)):
                raise Refusal(400, f"Invalid value for field 'instances[0].name': '{n}'.", "invalid")

        def make():
            taken = [n for n in names if n in g["members"] or n in g.get("promised", ())]
            if taken:
                raise Refusal(409, f"Instance {taken[0]} already exists in the managed instance group.")
            g.setdefault("promised", set()).update(names)

            def apply():
                g["promised"] -= set(names)
                for n in names:
                    self.add(g, n, self.boot)
            op = self.operation("createInstances", g["zone"], apply)
            if self.ops[op]["applied"]:
                g["promised"] -= set(names)
            return op
        return self.compute_op(self.once(q, make))

    def end(self, g, m):
        m.update(had=m["state"] != "want", state="gone", at=time.monotonic())
        g["target"] -= 1

    def compute_instanceGroupManagers_deleteInstances(self, a, q, body):
        g = self.group(a)
        prefix = f"{GOOGLE}projects/{self.project}/zones/{g['zone']}/instances/"
        names = []
        if len(body.get("instances", ())) > 1000:
            raise Refusal(400, "At most 1000 instances", "invalid")
        for url in body.get("instances", ()):
            n = url.removeprefix(prefix)
            good = n in g["members"] and g["members"][n]["state"] != "gone"
            if not good and not body.get("skipInstancesOnValidationError"):
                raise Refusal(400, f"Instance {n} is not a member of the group.", "invalid")
            if good:
                names.append(n)
        self.delete_check(g, names, Refusal)

        def apply():
            for n in names:
                if n in g["members"] and g["members"][n]["state"] != "gone":
                    self.end(g, g["members"][n])
        return self.compute_op(self.once(q, lambda: self.operation("deleteInstances", g["zone"], apply)))

    def compute_instanceGroupManagers_resize(self, a, q, body):
        g = self.group(a)
        return self.compute_op(self.once(q, lambda: self.operation(
            "resize", g["zone"], lambda: self.resize_to(g, int(q["size"])))))

    def compute_instanceGroupManagerResizeRequests_insert(self, a, q, body):
        g = self.group(a)
        return self.compute_op(self.once(q, lambda: self.resize_insert(g, body, Refusal)))

    def compute_instanceGroupManagerResizeRequests_list(self, a, q, body):
        resizes = self.group(a).get("resizes", {})
        return self.paged([self.resize_view(n, r) for n, r in sorted(resizes.items())], q, "items", 500)

    def resize_of(self, a):
        g = self.group(a)
        if a["resizeRequest"] not in g.get("resizes", {}):
            raise Refusal(404, self.absent(f"zones/{g['zone']}/instanceGroupManagers/{g['name']}/resizeRequests/{a['resizeRequest']}"))
        return g

    def compute_instanceGroupManagerResizeRequests_cancel(self, a, q, body):
        g = self.resize_of(a)
        return self.compute_op(self.once(q, lambda: self.resize_cancel(g, a["resizeRequest"])))

    def compute_instanceGroupManagerResizeRequests_delete(self, a, q, body):
        g = self.resize_of(a)
        return self.compute_op(self.once(q, lambda: self.resize_delete(g, a["resizeRequest"], Refusal)))

    def compute_zoneOperations_get(self, a, q, body):
        if a["operation"] not in self.ops or self.ops[a["operation"]]["zone"] != a["zone"]:
            raise Refusal(404, "The operation was not found")
        return self.compute_op(a["operation"])

    def compute_machineTypes_get(self, a, q, body):
        name = a["machineType"]
        if name not in self.types or (a["zone"], name) in self.missing_types:
            raise Refusal(404, f"The resource 'machineTypes/{name}' was not found")
        cpu, memory, own = self.types[name]
        r = {"name": name, "guestCpus": cpu, "memoryMb": memory}
        if own:
            r["accelerators"] = [{"guestAcceleratorType": own[0], "guestAcceleratorCount": own[1]}]
        return r

    def quotas_of(self, where):
        if self.deny_quotas:
            raise Refusal(403, f"Required 'compute.{'projects' if where == 'project' else 'regions'}.get' permission")
        return [{"metric": m, "limit": float(limit), "usage": float(used)} for m, (limit, used) in self.quotas.get(where, {}).items()]

    def compute_regions_get(self, a, q, body):
        r = {"kind": "compute#region", "name": a["region"], "status": "UP", "quotas": self.quotas_of(a["region"])}
        return fields(r, q["fields"]) if "fields" in q else r

    def compute_projects_get(self, a, q, body):
        r = {"kind": "compute#project", "name": a["project"], "quotas": self.quotas_of("project")}
        return fields(r, q["fields"]) if "fields" in q else r

    def compute_acceleratorTypes_get(self, a, q, body):
        name = a["acceleratorType"]
        if name not in self.accelerators or (a["zone"], name) in self.missing_types:
            raise Refusal(404, self.absent(f"zones/{a['zone']}/acceleratorTypes/{name}"))
        return {"name": name, "maximumCardsPerInstance": self.accelerators[name]}

    def compute_acceleratorTypes_list(self, a, q, body):
        return {"items": [{"name": n, "maximumCardsPerInstance": k} for n, k in self.accelerators.items()
                          if (a["zone"], n) not in self.missing_types]}

    # ---- bare instances

    def stands(self, i, now):
        return "RUNNING" if now - i["at"] >= self.boot else "STAGING"

    def absent(self, path):
        return f"The resource 'projects/{self.project}/{path}' was not found"

    def resources_there(self, zone, body):
        """What a request names and the zone or the project lacks is "The resource ... was not found", a 404: fastai/course-v3#430
        has it of zones/us-west1-b/acceleratorTypes/nvidia-tesla-p4."""
        for g in body.get("guestAccelerators", ()):
            kind = self.parts(g["acceleratorType"]).get("acceleratorTypes")
            if kind not in self.accelerators or (zone, kind) in self.missing_types:
                raise Refusal(404, self.absent(f"zones/{zone}/acceleratorTypes/{kind}"))
        named = [d.get("initializeParams", {}).get("sourceImage") for d in body.get("disks", ())]
        named += [n.get(k) for n in body.get("networkInterfaces", ()) for k in ("network", "subnetwork")]
        for gone in self.missing.intersection(named):
            raise Refusal(404, f"The resource '{gone}' was not found")

    @staticmethod
    def disk_check(machine, disk):
        """kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#1391 has the text, for pd-standard (which is the default) and n4."""
        kind = disk.get("initializeParams", {}).get("diskType", "pd-standard").split("/")[-1]
        if kind == "pd-standard" and machine.startswith(("n4-", "c3-", "c4-", "g2-", "a3-", "a4-", "g4-")):
            raise Refusal(400, f"[{kind}, {machine}] features are not compatible for creating instance.", "badRequest")

    @staticmethod
    def scheduling_check(body, own):
        """Whatever has GPUs, attached or of the machine type's own, is terminated at maintenance (cloudpilot-ai/
        karpenter-provider-gcp#167 with g2-standard-16, loft-sh/devpod#973, openshift/release#63296 with a2-highgpu-1g); the
        default is MIGRATE (compute.v1, Scheduling.onHostMaintenance).  E2 refuses TERMINATE (skypilot#1006)."""
        s = body.get("scheduling", {})
        at_maintenance = s.get("onHostMaintenance", "MIGRATE")
        model = s.get("provisioningModel", "STANDARD")
        if (body.get("guestAccelerators") or own) and at_maintenance != "TERMINATE":
            raise Refusal(400, "Instances with guest accelerators do not support live migration.", "badRequest")
        if "/e2-" in body["machineType"] and at_maintenance == "TERMINATE" and model == "STANDARD":
            raise Refusal(400, "Invalid value for field 'scheduling.onHostMaintenance': 'TERMINATE'.", "invalid")
        if model != "STANDARD" and s.get("automaticRestart", True) and model in ("SPOT", "FLEX_START"):
            raise Refusal(400, "Invalid value for field 'scheduling.automaticRestart': 'true'.", "invalid")
        if model == "STANDARD" and "instanceTerminationAction" in s:  # cloudpilot-ai/karpenter-provider-gcp#155
            raise Refusal(400, "Invalid value for field 'resource.scheduling.instanceTerminationAction': 'DELETE'. You cannot specify a "
                               "termination action for a VM instance that has the standard provisioning model (default).", "invalid")
        if model == "FLEX_START" and not (s.get("maxRunDuration") or s.get("terminationTime")):
            raise Refusal(400, "Instances with FLEX_START provisioning model must have maxRunDuration or terminationTime.", "invalid")

    def reservation_check(self, zone, body):
        """cloud.google.com/compute/docs/instances/reservations-consume: dense and calendar ones only with RESERVATION_BOUND
        (skypilot#9771); one that is used up is RESERVATION_CAPACITY_EXCEEDED, of the operation."""
        affinity = body.get("reservationAffinity", {})
        model = body.get("scheduling", {}).get("provisioningModel", "STANDARD")
        for name in affinity.get("values", ()):
            if name.split("/")[-1] not in self.reservations.get(zone, {}):
                raise Refusal(404, self.absent(f"zones/{zone}/reservations/{name}"))
            if model != "RESERVATION_BOUND":
                raise Refusal(400, "Instances that consume this reservation must use provisioningModel RESERVATION_BOUND.", "invalid")

    def compute_instances_insert(self, a, q, body):
        zone, name = a["zone"], body["name"]
        if a["project"] != self.project:
            raise Refusal(404, f"The resource 'projects/{a['project']}' was not found")
        want = self.parts(body["machineType"])
        if want["machineTypes"] not in self.types or want.get("zones") != zone:
            raise Refusal(400, f"Invalid value for field 'resource.machineType': '{body['machineType']}'.", "invalid")
        template = q.get("sourceInstanceTemplate")
        if template and template not in self.templates:
            raise Refusal(404, f"The resource 'projects/{self.project}/{template}' was not found")
        if not template and not (body.get("disks") and body.get("networkInterfaces")):
            raise Refusal(400, "Invalid value for field 'resource.disks': ''.", "invalid")
        self.resources_there(zone, body)
        self.scheduling_check(body, self.types[want["machineTypes"]][2])
        for disk in body.get("disks", ()):
            self.disk_check(want["machineTypes"], disk)
        self.reservation_check(zone, body)

        def make():
            if (zone, name) in self.bare:
                raise Refusal(409, f"The resource 'projects/{self.project}/zones/{zone}/instances/{name}' already exists")
            room = zone not in self.stockout and sum(1 for z, _ in self.bare if z == zone) < self.quota.get(zone, 1 << 30)

            def apply():
                self.next_id += 1
                self.bought += 1
                self.bare[zone, name] = {"body": body, "id": str(self.next_id), "at": time.monotonic(),
                                         "ip": f"10.128.{self.next_id // 250 % 250}.{self.next_id % 250 + 1}"}
            keep = self.fail_ops
            if zone in self.stockout:
                self.fail_ops = {"insert": [STOCKOUT[0], STOCKOUT[1].format(zone=zone)]}
            elif any(self.reserved_left(zone, r) <= 0 for r in body.get("reservationAffinity", {}).get("values", ())):
                self.fail_ops = {"insert": ["RESERVATION_CAPACITY_EXCEEDED", "The reservation has no capacity left."]}
            elif not room:
                self.fail_ops = {"insert": ["QUOTA_EXCEEDED", f"Quota 'NVIDIA_T4_GPUS' exceeded.  Limit: {self.quota[zone]}.0 in region {self.location}."]}
            op = self.operation("insert", zone, apply)
            self.fail_ops = keep
            return op
        return self.compute_op(self.once(q, make))

    def reserved_left(self, zone, name):
        used = sum(1 for (z, _), i in self.bare.items() if z == zone and name in i["body"].get("reservationAffinity", {}).get("values", ()))
        return self.reservations[zone][name.split("/")[-1]] - used

    @staticmethod
    def parts(url):
        p = url.split("/")
        return dict(zip(p[-6::2], p[-5::2])) if len(p) >= 6 else {}

    def compute_instances_delete(self, a, q, body):
        key = a["zone"], a["instance"]

        def make():
            if key not in self.bare:
                raise Refusal(404, f"The resource 'projects/{self.project}/zones/{key[0]}/instances/{key[1]}' was not found")
            return self.operation("delete", key[0], lambda: self.bare.pop(key, None))
        return self.compute_op(self.once(q, make))

    def compute_instances_get(self, a, q, body):
        key = a["zone"], a["instance"]
        pooled = [m for (z, _), g in self.groups.items() if z == key[0] for n, m in g["members"].items() if n == key[1] and m["state"] in ("boot", "up")]
        if key not in self.bare and not pooled:
            raise Refusal(404, f"The resource 'projects/{self.project}/zones/{key[0]}/instances/{key[1]}' was not found")
        r = self.bare_view(*key, self.bare[key], time.monotonic()) if key in self.bare else {"name": key[1], "status": "RUNNING"}
        return fields(r, q["fields"]) if "fields" in q else r

    def take(self, names):
        """Spot machines that Google deletes, with their places in a group."""
        for g in self.groups.values():
            for n in set(g["members"]) & set(names):
                del g["members"][n]
                g["target"] -= 1
        for key in [k for k in self.bare if k[1] in names]:
            del self.bare[key]

    def compute_instances_getSerialPortOutput(self, a, q, body):
        key = a["zone"], a["instance"]
        if key not in self.bare:
            raise Refusal(404, f"The resource 'projects/{self.project}/zones/{key[0]}/instances/{key[1]}' was not found")
        text = self.consoles.get(a["instance"], self.printed)
        start = int(q.get("start", 0))
        start = max(0, len(text) + start) if start < 0 else start
        return {"contents": text[start:], "start": str(start), "next": str(len(text))}

    def compute_instances_aggregatedList(self, a, q, body):
        key, _, value = q["filter"].partition("=")
        if not key.startswith("labels.") or not (value[:1] == value[-1:] == '"'):
            raise Refusal(400, f"Invalid value for field 'filter': '{q['filter']}'.", "invalid")
        now = time.monotonic()
        found = [(z, self.bare_view(z, n, i, now)) for (z, n), i in sorted(self.bare.items())
                 if i["body"].get("labels", {}).get(key[7:]) == value[1:-1] and now - i["at"] >= self.lag and n not in self.hidden]
        r = self.paged(found, q, "found", 500)
        items = {f"zones/{z}": {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": "There are no results"}} for z in self.zones}
        for z, view in r.pop("found", ()):
            items[f"zones/{z}"].pop("warning", None)
            items[f"zones/{z}"].setdefault("instances", []).append(view)
        for z in self.unreachable:
            items[f"zones/{z}"] = {"warning": {"code": "UNREACHABLE", "message": f"zone {z} cannot be reached"}}
        r = {"kind": "compute#instanceAggregatedList", "items": items, **r}
        return fields_of_map(r, q["fields"]) if "fields" in q else r

    def bare_view(self, z, n, i, now):
        b = i["body"]
        return {"name": n, "id": i["id"], "zone": f"{GOOGLE}projects/{self.project}/zones/{z}", "status": i.get("status") or self.stands(i, now),
                "labels": b.get("labels", {}), "scheduling": b.get("scheduling", {}), "machineType": b["machineType"],
                "networkInterfaces": [{"networkIP": i["ip"], "name": "nic0"}],
                **({"resourceStatus": {"upcomingMaintenance": i["maintenance"]}} if i.get("maintenance") else {})}

    # ---- tokens

    def token(self):
        t = f"ya29.{len(self.tokens)}-{self.next_id}"
        self.tokens[t] = time.monotonic() + self.token_life
        return t

    def knows(self, subject):
        """Another world's token; a test may put its own judge here."""
        return subject == getattr(self, "subject", "subject.of.theirs")

    def check_token(self, header):
        until = self.tokens.get(header.removeprefix("Bearer "))
        if until is None or time.monotonic() > until:
            raise Refusal(401, "Request had invalid authentication credentials.")

    # ---- for tests

    def state(self):
        with self.lock:
            self.tick()
            return {"groups": [{"pool": g["pool"], "zone": g["zone"], "name": g["name"], "target": g["target"],
                                "members": {n: m["state"] for n, m in g["members"].items()}}
                               for g in self.groups.values()],
                    "rejected": self.rejected, "bad_replies": self.bad_replies, "bought": self.bought,
                    "lost_work": self.lost_work, "counts": self.counts, "requests": len(self.log)}

    def living(self, pool=None, zone=None):
        """Names of instances that exist or are wanted."""
        with self.lock:
            self.tick()
            return sorted(n for g in self.groups.values() if pool in (None, g["pool"]) and zone in (None, g["zone"])
                          for n, m in g["members"].items() if m["state"] != "gone")

    def targets(self, pool=None):
        with self.lock:
            self.tick()
            return sum(g["target"] for g in self.groups.values() if pool in (None, g["pool"]))


def fields(value, spec):
    """Google's partial answers: "items(id,nic/ip),nextPageToken"."""
    def parse(s):
        out, depth, word = {}, 0, ""
        for c in s + ",":
            if c == "," and depth == 0:
                head, _, tail = word.partition("/") if "(" not in word.split("/")[0] else (word, "", "")
                if "(" in head:
                    name, _, inner = head.partition("(")
                    out[name] = parse(inner.removesuffix(")"))
                else:
                    out[head] = parse(tail) if tail else None
                word = ""
            else:
                depth += (c == "(") - (c == ")")
                word += c
        return out

    def cut(v, tree):
        if tree is None:
            return v
        if isinstance(v, list):
            return [cut(x, tree) for x in v]
        return {k: cut(v[k], t) for k, t in tree.items() if k in v}
    return cut(value, parse(spec))


def fields_of_map(reply, spec):
    """The same for an aggregated list, whose items are by zone."""
    inner = spec[spec.index("items(") + 6:spec.index("),nextPageToken")]
    items = {z: fields(scope, inner) for z, scope in reply["items"].items()}
    return {**{k: v for k, v in reply.items() if k in ("nextPageToken", "warning")}, "items": items}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud = None
    apis = {}
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def send(self, code, body, headers=None, cut=False):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for k, v in {"Content-Type": "application/json; charset=UTF-8", **(headers or {})}.items():
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[:len(data) // 2] if cut else data)
        self.server.sent += len(data)
        if cut:
            self.wfile.flush()
            self.drop()

    def drop(self):
        """A reset, not an orderly end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, ValueError, OSError):
            self.close_connection = True

    def read(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    # ---- who gives tokens

    def form(self, body):
        return dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))

    def auth(self, path, query, body):
        c = self.cloud
        if c.auth_down:
            self.send(c.auth_down, {"error": "invalid_grant", "error_description": "told to fail"})
            return
        if path.endswith("/token") and path.startswith("/computeMetadata/v1/"):
            if self.headers.get("Metadata-Flavor") != "Google":
                self.send(403, b"Metadata-Flavor", {"Content-Type": "text/html"})
                return
            self.send(200, {"access_token": c.token(), "expires_in": c.token_life, "token_type": "Bearer"},
                      {"Metadata-Flavor": "Google"})
        elif path == "/token":
            f = self.form(body)
            c.grants.append(f) if hasattr(c, "grants") else setattr(c, "grants", [f])
            wrong = self.grant_check(f)
            if wrong:
                self.send(400, {"error": "invalid_grant", "error_description": wrong})
            else:
                self.send(200, {"access_token": c.token(), "expires_in": c.token_life, "token_type": "Bearer"})
        elif path == "/v1/token":
            f = self.form(body)
            if not c.knows(f.get("subject_token")):
                self.send(400, {"error": "invalid_grant", "error_description": "the subject token is not known"})
                return
            c.sts = f
            self.send(200, {"access_token": "STS-" + c.token(), "token_type": "Bearer", "expires_in": 3600,
                            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})
        else:
            api = self.apis["iamcredentials"]
            c.impersonated = {k: v for k, v in json.loads(body).items() if v is not None}  # google-auth sends null for no delegates
            m, args, wrong = api.check("POST", self.path, self.headers, json.dumps(c.impersonated))
            by = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if wrong or not (by.startswith("STS-") or by in c.tokens):
                self.send(400, Refusal(400, f"{wrong}").body())
                return
            until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + c.token_life))
            self.send(200, {"accessToken": c.token(), "expireTime": until})

    def grant_check(self, f):
        key = getattr(self.cloud, "public_key", None)
        if f.get("grant_type") == "refresh_token":
            return None if f.get("refresh_token") == "1//good" else "Token has been revoked."
        if f.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" or key is None:
            return "unsupported grant"
        from google.auth import jwt  # Google's own verifier
        try:
            jwt.decode(f["assertion"], certs=key, audience="https://oauth2.googleapis.com/token")
        except ValueError as e:
            return f"Invalid JWT: {e}"
        return None

    # ---- one request

    def fault(self):
        """True: answered already."""
        c = self.cloud
        if time.time() < c.throttle_until:
            raise Refusal(429, "Quota exceeded for quota metric 'Queries'", headers={"Retry-After": str(c.retry_after)})
        if c.deny:
            raise Refusal(403, "Required 'compute.instanceGroupManagers.get' permission")
        f = c.fail_next.pop(0) if c.fail_next else 0
        if f == "reset":
            self.drop()
            return True
        if f == "garbage":
            self.send(200, b"<html>a proxy's page</html>", {"Content-Type": "text/html"})
            return True
        if f == "cut":
            self.send(200, b'{"nodePools": [{"name": "gpu", "instanceGro' * 20, cut=True)
            return True
        if f:
            raise Refusal(f, f"told to fail with {f}",
                          headers={"Retry-After": str(c.retry_after)} if f == 429 else None)
        return False

    def serve(self, api, body):
        c = self.cloud
        m, args, wrong = api.check(self.command, self.path, self.headers, body)
        if wrong:
            c.rejected.append(f"{self.command} {self.path}: {wrong}")
            raise Refusal(400, "; ".join(wrong)) if m else Refusal(404, wrong[0])
        c.check_token(self.headers["Authorization"])
        short = m["id"].rsplit(".", 1)[-1]
        c.counts[short] = c.counts.get(short, 0) + 1
        c.used.add(m["id"])
        if short in c.refuse_after:
            c.refuse_after[short] -= 1
            if c.refuse_after[short] < 0:
                raise Refusal(429, "told to refuse this one", "rateLimitExceeded")
        refused = c.refuse.get(short) or c.refuse.get(m["id"].split(".", 1)[1])  # "get" or "zoneOperations.get"
        if refused:
            http, reason, message = refused
            raise Refusal(http, message, reason)
        call = getattr(c, m["id"].replace(".", "_"), None)
        if call is None:
            c.rejected.append(f"{m['id']} is not modelled")
            raise Refusal(503, f"{m['id']} is not modelled")
        q = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        reply = call(args, q, json.loads(body) if body else None)
        c.bad_replies += [f"{m['id']}: {w}" for w in api.reply_check(m, reply)] if len(json.dumps(reply)) < 50000 else []
        for key in (short, f"{short}@{args.get('zone')}"):
            if c.lose.get(key, 0) > 0:
                c.lose[key] -= 1
                self.drop()
                return None
        return reply

    def noted(self, body):
        return {"method": self.command, "target": self.path, "headers": dict(self.headers), "body": body.decode(), "at": time.time()}

    def do_any(self):
        body = self.read()
        path = urllib.parse.urlsplit(self.path).path
        c = self.cloud
        with c.lock:
            c.tick()
            if path.startswith("/_test/"):
                self.test(path.removeprefix("/_test/"), body)
                return
            if path.endswith("/token") or ":generateAccessToken" in path:
                c.log.append(self.noted(body))
                self.auth(path, None, body)
                return
            c.log.append(self.noted(body))
            try:
                if self.fault():
                    return
                reply = self.serve(self.apis["compute" if path.startswith("/compute/") else "container"], body)
            except Refusal as r:
                self.send(r.code, r.body(), r.headers)
                return
        if reply is not None:
            self.send(200, reply)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_any

    def test(self, key, body):
        c = self.cloud
        if key == "state":
            self.send(200, c.state())
        elif key == "heal":
            c.heal()
            self.send(200, {})
        elif key in Cloud.FAULTS:
            setattr(c, key, json.loads(body))
            self.send(200, {})
        else:
            self.send(404, {"error": f"no fault {key}"})


class Server:
    """with Server() as s: s.url, s.cloud"""

    def __init__(self, cloud=None, port=0):
        self.cloud = cloud or Cloud()
        apis = {"container": Api("container.v1"), "compute": Api("compute.v1"), "iamcredentials": Api("iamcredentials.v1")}
        handler = type("H", (Handler,), {"cloud": self.cloud, "apis": apis})
        self.http = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.http.daemon_threads = True
        self.http.sent = 0  # bytes of replies
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def sent(self):
        return self.http.sent

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


if __name__ == "__main__":
    cloud = Cloud()
    cloud.pool("gpu", ["us-central1-a", "us-central1-b"], accelerator="nvidia-tesla-t4")
    cloud.pool("cpu", ["us-central1-a"], machine="e2-standard-8", hash_="ffffeeee")
    with Server(cloud, int(sys.argv[1]) if len(sys.argv) > 1 else 0) as server:
        print(server.url, flush=True)
        sys.stdin.read()
