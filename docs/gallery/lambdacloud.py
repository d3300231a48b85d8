#!/usr/bin/env python3
"""Lambda Cloud, by its API 1.10.  See README.md here."""
import smallcloud, time
from smallcloud import Failed, say

PHASES = {"booting": "starting", "active": "running", "unhealthy": "running", "terminating": "stopping", "terminated": "ended", "preempted": "ended"}
CODES = {"instance-operations/launch/insufficient-capacity": "STOCKOUT", "global/quota-exceeded": "QUOTA", "global/invalid-api-key": "AUTH",
         "global/account-inactive": "AUTH", "global/invalid-address": "AUTH", "global/forbidden": "AUTH", "global/invalid-parameters": "INVALID",
         "global/object-does-not-exist": "NOT_FOUND", "instance-operations/launch/file-system-in-wrong-region": "INVALID"}

class Lambda(smallcloud.Cloud):
    URL, TOKEN, GAP_S = "https://cloud.lambda.ai/api/v1", "LAMBDA_API_KEY", 1
    launched = -1e9

    def hello(self):
        super().hello()
        self.option("ssh_key")
        self.number("launch_gap", 12)
        for t in self.setup["types"]:
            if not t["zones"]:
                raise Failed("INVALID", f"node type {t['name']} needs zones: regions such as us-east-1")

    def id_of(self, name, native):
        return name  # a machine has no way to learn its own id here: it is told its name

    def refusal(self, http, reply):
        error = reply.get("error") if isinstance(reply.get("error"), dict) else {}
        return error.get("code", ""), error.get("message", ""), CODES.get(error.get("code"))

    def instances(self):
        for i in self.ask("GET", "/instances")["data"]:
            tags = {t["key"]: t["value"] for t in i.get("tags") or []}
            name = tags.get("davit-machine", "")
            if tags.get("davit-cluster") == self.setup["cluster"] and name:
                yield {"id": name, "name": name, "native": i["id"], "request_id": name.rpartition("-")[0], "type": tags.get("davit-type", ""),
                       "zone": self.zone_of(tags.get("davit-type"), i["region"]["name"]), "address": i.get("private_ip") or i.get("ip") or "", "phase": PHASES.get(i["status"], "starting"),
                       "detail": "" if i["status"] in ("booting", "active") else "Lambda says: " + i["status"]}

    def create(self, r, kind, name):
        wait = self.launched + self.number("launch_gap", 12) - time.monotonic()
        if wait > 0:
            raise Failed("THROTTLED", "Lambda takes one launch in 12 seconds", "launch_gap", wait)
        options = {**self.setup["options"], **kind.get("options", {})}
        script = (f"#!/bin/sh\nexport RAY_CLOUD_INSTANCE_ID={name} RAY_NODE_TYPE_NAME={kind['name']} "
                  f"RAY_HEAD={self.setup.get('head') or ''}\n{options.get('join', 'true')}\n")
        body = {"region_name": r["zone"], "instance_type_name": kind["machine"], "ssh_key_names": [options["ssh_key"]], "name": name,
                "user_data": script, "tags": [{"key": "davit-cluster", "value": self.setup["cluster"]}, {"key": "davit-machine", "value": name},
                                              {"key": "davit-type", "value": kind["name"]}]}
        if options.get("image_family"):
            body["image"] = {"family": options["image_family"]}
        try:
            self.launched = time.monotonic()
            return self.ask("POST", "/instance-operations/launch", body)["data"]["instance_ids"][0]
        except Failed as e:
            if e.line["status"] == "NOT_FOUND":  # the type, the region, the key or the image
                e.line["status"] = "INVALID"
            raise

    def remove(self, native):
        self.ask("POST", "/instance-operations/terminate", {"instance_ids": [native]})

    def look(self, native):
        return PHASES.get(self.ask("GET", "/instances/" + native)["data"]["status"]) != "ended"

    def offers(self, r):
        sold = self.ask("GET", "/instance-types")["data"]
        for t in self.setup["types"]:
            kind = sold.get(t["machine"])
            free = [z["name"] for z in kind["regions_with_capacity_available"]] if kind else []
            for zone in t["zones"]:
                offer = {"type": t["name"], "zone": zone, "available": zone in free}
                if kind:
                    s = kind["instance_type"]["specs"]
                    offer["price"] = kind["instance_type"]["price_cents_per_hour"] / 100
                    offer["resources"] = {"CPU": s["vcpus"], "GPU": s["gpus"], "memory": f"{s['memory_gib']}Gi"}
                offer["note"] = "" if zone in free else "Lambda has none left there" if kind else f"Lambda sells no {t['machine']}"
                say(self, r, offer=offer)

smallcloud.run(Lambda())
