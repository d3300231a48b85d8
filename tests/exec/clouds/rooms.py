"""What is behind served.py: three clouds' machines, their answers and refusals.  The words of refusals are the clouds' own where a
document or somebody's report has them: docs/gallery/README.md says which."""
import re
import time

BOOT_S = 0.1


class Room:
    def __init__(self, fault, documents):
        self.fault, self.machines, self.tags = fault, {}, {}
        self.OPS = getattr(documents, type(self).__name__.upper())

    def up(self, m):
        return time.monotonic() - m["born"] >= BOOT_S

    def living(self):
        return {k: m for k, m in self.machines.items() if not m["ended"]}

    def listed(self):
        return {k: m for k, m in self.machines.items() if self.seen(m) and time.monotonic() >= m["listed"]}

    def seen(self, m):
        return not m["ended"]

    def makes(self, name):
        return name.split()[1] in ("/v2/pods", "/v2/droplets", "/api/v1/instance-operations/launch")

    def make(self, ident, body):
        now = time.monotonic()
        self.machines[ident] = {"body": body, "born": now, "listed": now + self.fault.get("late", 0), "ended": False}
        return self.machines[ident]

    def full(self):
        """The status that the cloud answers to a launch now, or 0."""
        a = self.fault.get("answer")
        n = len(self.living())
        if a:
            return self.refuse(a["status"], a.get("text", "as the test says"), a.get("code"))
        if n >= self.fault.get("quota", 10**6):
            return self.over_quota()
        if n >= self.fault.get("room", 10**6) or body_kind(self) in self.fault.get("dry", []):
            return self.dry()
        return None

    def ask(self, name, parts, body, query):
        self.body = body
        return getattr(self, METHODS[name.split()[0]] + re.sub(r"\W+", "_", re.sub(r"\{.*", "one", name.split()[1])))(*parts, body=body, query=query)


METHODS = {"GET": "get", "POST": "post", "DELETE": "delete"}


def body_kind(room):
    b = room.body or {}
    return b.get("instance_type_name") or b.get("size") or (b.get("gpu") or {}).get("id")


class Lambda(Room):
    REGIONS = {"us-east-1": "Virginia, USA", "us-west-2": "Arizona, USA"}
    KINDS = {"gpu_1x_a10": (75, 30, 200, 1), "gpu_8x_h100_sxm5": (3192, 208, 1800, 8), "gpu_1x_h100_pcie": (329, 26, 225, 1)}

    def refuse(self, status, text, code=None):
        code = code or {401: "global/invalid-api-key", 403: "global/account-inactive", 404: "global/object-does-not-exist"}.get(status, "global/invalid-parameters")
        if status >= 500:
            return status, text  # the document has no such reply
        return 400 if status == 422 else status, {"error": {"code": code, "message": text or "refused", "suggestion": "-"}}

    def dry(self):
        return self.refuse(400, "Not enough capacity to fulfill launch request.", "instance-operations/launch/insufficient-capacity")

    def over_quota(self):
        return self.refuse(400, "Quota exceeded.", "global/quota-exceeded")

    def throttled(self):
        return 429, "Too Many Requests"  # the document has none: so in a word, and no JSON

    def kind(self, name):
        cents, cpus, memory, gpus = self.KINDS[name]
        return {"name": name, "description": name, "gpu_description": "-", "price_cents_per_hour": cents,
                "specs": {"vcpus": cpus, "memory_gib": memory, "storage_gib": 512, "gpus": gpus}}

    def region(self, name):
        return {"name": name, "description": self.REGIONS[name]}

    def view(self, k):
        m, no = self.machines[k], {"available": True}
        b = m["body"]
        return {"id": k, "name": b.get("name", ""), "private_ip": f"10.19.0.{len(k)}", "status": "terminated" if m["ended"] else "active" if self.up(m) else "booting",
                "ssh_key_names": b["ssh_key_names"], "file_system_names": [], "region": self.region(b["region_name"]), "tags": b.get("tags", []),
                "instance_type": self.kind(b["instance_type_name"]), "actions": {a: no for a in ("migrate", "rebuild", "restart", "cold_reboot", "terminate")}}

    def get_api_v1_instances(self, body, query):
        return 200, {"data": [self.view(k) for k in self.listed()]}

    def get_api_v1_instances_one(self, ident, body, query):
        return (200, {"data": self.view(ident)}) if ident in self.living() else self.refuse(404, "Specified instance does not exist.")

    def get_api_v1_instance_types(self, body, query):
        dry = self.fault.get("told", [])
        return 200, {"data": {k: {"instance_type": self.kind(k), "regions_with_capacity_available": [] if k in dry else [self.region(r) for r in self.REGIONS]} for k in self.KINDS}}

    def post_api_v1_instance_operations_launch(self, body, query):
        if len(body["ssh_key_names"]) != 1 or len(body.get("user_data", "")) > 1 << 20:
            return self.refuse(400, "Invalid request data.")
        if body["region_name"] not in self.REGIONS or body["instance_type_name"] not in self.KINDS or body["ssh_key_names"] != ["key"]:
            return self.refuse(404, "no such region, instance type or SSH key")
        no = self.full()
        if no:
            return no
        ident = f"{len(self.machines) + 1:032x}"
        self.make(ident, body)
        return 200, {"data": {"instance_ids": [ident]}}

    def post_api_v1_instance_operations_terminate(self, body, query):
        gone = [i for i in body["instance_ids"] if i not in self.living()]
        if gone:
            return self.refuse(404, f"{gone[0]} does not exist")
        for i in body["instance_ids"]:
            self.machines[i]["ended"] = True
        return 200, {"data": {"terminated_instances": [self.view(i) for i in body["instance_ids"]]}}


class Runpod(Room):
    CENTERS = {"US-KS-2": "Kansas", "EU-RO-1": "Romania"}
    GPUS = {"NVIDIA GeForce RTX 4090": (24, 0.69, 0.34), "NVIDIA H100 80GB HBM3": (80, 3.99, 2.69)}
    TITLES = {400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 409: "Conflict", 422: "Unprocessable Entity",
              429: "Too Many Requests"}

    def refuse(self, status, text, code=None):
        return status, {"title": self.TITLES.get(status, "Error"), "status": status, "detail": text or "refused", "errors": [text] if status == 422 else []}

    def dry(self):
        return self.refuse(400, "There are no longer any instances available with the requested specifications. Please refresh and try again.")

    def over_quota(self):
        return self.refuse(402, "insufficient balance")

    def throttled(self):
        return self.refuse(429, "rate limit exceeded for the minute window")

    def view(self, k):
        m = self.machines[k]
        b = m["body"]
        return {"id": k, "name": b["name"], "image": b["image"], "args": b.get("args", ""), "disk": b.get("disk", 50), "ports": [], "env": b.get("env", {}),
                "registry": None, "status": m.get("status") or ("RUNNING" if self.up(m) else "PROVISIONING"), "actions": ["stop", "terminate"], "mounts": {},
                "gpu": {"id": b["gpu"]["id"], "count": b["gpu"].get("count", 1)}, "cloud": b.get("cloud", "SECURE"),
                "dataCenterId": (b.get("dataCenterIds") or ["US-KS-2"])[0], "cudaVersion": None,
                "ssh": {"proxy": None, "direct": {"host": "195.26.233.3", "port": 34446, "username": "root", "command": "ssh"} if self.up(m) else None},
                "template": None, "cost": 0.69, "locked": False, "runtime": None, "createdAt": "2026-11-30T00:00:00Z", "startedAt": None,
                "globalNetworking": {"enabled": False}}

    def get_v2_pods(self, body, query):
        return 200, {"pods": [self.view(k) for k in self.listed()]}

    def get_v2_pods_one(self, ident, body, query):
        return (200, self.view(ident)) if ident in self.living() else self.refuse(404, "resource not found")

    def delete_v2_pods_one(self, ident, body, query):
        if ident not in self.living():
            return self.refuse(404, "resource not found")
        self.machines[ident]["ended"] = True
        return 204, None

    def post_v2_pods(self, body, query):
        if "gpu" not in body or body["gpu"]["id"] not in self.GPUS or body["gpu"].get("count", 1) > 8:
            return self.refuse(400, "exactly one of gpu and cpu, of the catalog")
        if "image" not in body or set(body.get("dataCenterIds", [])) - set(self.CENTERS):
            return self.refuse(400, "no image, or no such data center")
        no = self.full()
        if no:
            return no
        ident = f"pod{len(self.machines) + 1:07d}"
        self.make(ident, body)
        return 201, self.view(ident)

    def get_v2_catalog_gpus(self, body, query):
        if ("include" in query) != ("product" in query):
            return self.refuse(400, "include=AVAILABILITY requires product")
        dry = self.fault.get("told", [])
        return 200, {"gpus": [{"id": k, "name": k, "pool": None, "manufacturer": "NVIDIA", "memory": v[0], "secure": True, "community": True,
                               "price": {"secure": v[1], "community": v[2]}, "maxCount": {"secure": 8, "community": 8},
                               "availability": "NONE" if k in dry else "LOW",
                               "dataCenters": [{"id": c, "name": n, "availability": "NONE" if k in dry or c == "EU-RO-1" else "LOW"} for c, n in self.CENTERS.items()]}
                              for k, v in self.GPUS.items()]}


class DigitalOcean(Room):
    SIZES = {"gpu-h100x1-80gb": (20, 245760, 1, 3.39, ["nyc2", "tor1"]), "gpu-l40sx1-48gb": (8, 65536, 1, 1.57, ["tor1"]), "s-2vcpu-4gb": (2, 4096, 0, 0.0357, ["nyc2", "tor1"])}

    def refuse(self, status, text, code=None):
        code = code or {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 422: "unprocessable_entity", 429: "too_many_requests"}.get(status, "server_error")
        return status, {"id": code, "message": text or "Unable to authenticate you."}

    def dry(self):
        return self.refuse(422, "Size is not available in this region.")

    def over_quota(self):
        return self.refuse(422, "creating this/these droplet(s) will exceed your droplet limit")

    def throttled(self):
        return self.refuse(429, "API rate limit exceeded.")

    def size(self, name):
        cpus, memory, gpus, price, regions = self.SIZES[name]
        return {"slug": name, "memory": memory, "vcpus": cpus, "disk": 720, "transfer": 15.0, "price_monthly": 744 * price, "price_hourly": price, "regions": regions,
                "available": name not in self.fault.get("told", []), "description": "-", **({"gpu_info": {"count": gpus, "model": "nvidia"}} if gpus else {})}

    def view(self, k):
        m = self.machines[k]
        b = m["body"]
        nets = [{"ip_address": f"10.10.0.{k}", "type": "private"}, {"ip_address": f"104.131.0.{k}", "type": "public"}]
        s = self.size(b["size"])
        return {"id": int(k), "name": b["name"], "memory": s["memory"], "vcpus": s["vcpus"], "disk": 720, "locked": False, "status": "active" if self.up(m) else "new",
                "created_at": "2026-11-30T00:00:00Z", "features": [], "backup_ids": [], "next_backup_window": None, "snapshot_ids": [], "image": {}, "volume_ids": [],
                "size": s, "size_slug": b["size"], "networks": {"v4": nets if self.up(m) else []}, "tags": b.get("tags", []),
                "region": {"name": b["region"], "slug": b["region"], "features": [], "available": True, "sizes": []}}

    def page(self, what, items, query, **more):
        n, size = int(query.get("page", 1)), int(query.get("per_page", 20))
        size = min(size, self.fault.get("page", 200))
        next_one = {"pages": {"next": f"https://api.digitalocean.com/v2/{what}?page={n + 1}"}} if n * size < len(items) else {}
        return 200, {what: items[(n - 1) * size:n * size], "links": next_one, "meta": {"total": len(items)}}

    def get_v2_droplets(self, body, query):
        if "tag_name" in query and ("type" in query or "name" in query):
            return self.refuse(422, "tag_name can not be combined with type or name")
        gpus = query.get("type", "droplets") == "gpus"
        if int(query.get("page", 1)) > 1 and self.fault.take("moves"):
            next(iter(self.living().values()))["ended"] = True
        every = [self.view(k) for k in self.listed()]
        return self.page("droplets", [d for d in every if bool(d["size"].get("gpu_info")) == gpus], query)

    def get_v2_sizes(self, body, query):
        return self.page("sizes", [self.size(s) for s in self.SIZES], query)

    def get_v2_droplets_one(self, ident, body, query):
        return (200, {"droplet": self.view(ident)}) if ident in self.living() else self.refuse(404, "The resource you requested could not be found.")

    def delete_v2_droplets_one(self, ident, body, query):
        if ident not in self.living():
            return self.refuse(404, "The resource you requested could not be found.")
        self.machines[ident]["ended"] = True
        return 204, None

    def post_v2_droplets(self, body, query):
        bad = [t for t in body.get("tags", []) if not re.fullmatch(r"[a-zA-Z0-9_:-]{1,255}", t)]
        if bad or len(body.get("user_data", "")) > 64 << 10:
            return self.refuse(422, f"tag {bad[0]} is invalid" if bad else "user data is too long")
        if body["size"] not in self.SIZES or body.get("region") not in self.SIZES[body["size"]][4]:
            return self.dry()
        no = self.full()
        if no:
            return no
        for i, t in enumerate(body.get("tags", [])):  # the capitals of a tag are those of its first use
            body["tags"][i] = self.tags.setdefault(t.lower(), t)
        ident = str(len(self.machines) + 1)
        self.make(ident, body)
        return 202, {"droplet": self.view(ident), "links": {"actions": [{"id": 7515, "rel": "create", "href": "https://api.digitalocean.com/v2/actions/7515"}]}}
