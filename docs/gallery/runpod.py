#!/usr/bin/env python3
"""Runpod's pods, by its REST API v2.  See README.md here."""
import smallcloud
from smallcloud import Failed, say

PHASES = {"PROVISIONING": "starting", "STARTING": "starting", "RUNNING": "running", "EXITED": "failed", "ERROR": "failed", "TERMINATED": "ended"}
ARGS = "bash -c 'RAY_CLOUD_INSTANCE_ID=$RUNPOD_POD_ID exec ray start --address=$RAY_HEAD --block'"

class Runpod(smallcloud.Cloud):
    URL, TOKEN = "https://api.runpod.io/v2", "RUNPOD_API_KEY"

    def hello(self):
        super().hello()
        for t in self.setup["types"]:
            self.of(t, "image")
            self.of(t, "disk", "50", 1, 10000)
            self.of(t, "gpus", "1", 1, 64)
            if self.of(t, "cloud", "SECURE") not in ("SECURE", "COMMUNITY"):
                raise Failed("INVALID", f"{t['name']}: options.cloud must be SECURE or COMMUNITY")

    def of(self, kind, name, default=None, least=None, most=None):
        """An option of the node type, or of all."""
        text = (kind.get("options") or {}).get(name) or self.option(name, default)
        if least is None:
            return text
        if not text.isdigit() or not least <= int(text) <= most:
            raise Failed("INVALID", f"{kind['name']}: options.{name} must be a number from {least} to {most}, got {text}")
        return int(text)

    def refusal(self, http, reply):
        text = "; ".join([str(reply.get("detail", "")), *map(str, reply.get("errors") or [])])
        own = {"title", "status", "detail"} <= reply.keys()
        return reply.get("title", ""), text, {402: "AUTH", 404: "NOT_FOUND", 422: "INVALID"}.get(http) if own else None

    def instances(self):
        for pod in self.ask("GET", "/pods")["pods"]:
            mark, _, rest = pod["name"].partition("/")
            cluster, _, rest = rest.partition("/")
            kind, _, name = rest.partition("/")
            if mark == "davit" and cluster == self.setup["cluster"] and name:
                phase = PHASES.get(pod["status"], "starting")
                direct = (pod.get("ssh") or {}).get("direct") or {}
                yield {"id": pod["id"], "name": name, "native": pod["id"], "request_id": name.rpartition("-")[0], "type": kind,
                       "zone": self.zone_of(kind, pod.get("dataCenterId") or ""), "address": direct.get("host", ""), "phase": phase,
                       "detail": "" if phase in ("starting", "running") else "Runpod says: " + pod["status"], "failure": "RETRY" if phase == "failed" else None}

    def create(self, r, kind, name):
        body = {"name": f"davit/{self.setup['cluster']}/{kind['name']}/{name}", "image": self.of(kind, "image"), "cloud": self.of(kind, "cloud", "SECURE"),
                "disk": self.of(kind, "disk", "50", 1, 10000), "gpu": {"id": kind["machine"], "count": self.of(kind, "gpus", "1", 1, 64)},
                "args": self.of(kind, "args", ARGS),
                "env": {"RAY_HEAD": self.setup.get("head") or "", "RAY_NODE_TYPE_NAME": kind["name"]}}
        if r["zone"]:
            body["dataCenterIds"] = [r["zone"]]
        try:
            return self.ask("POST", "/pods", body)["id"]
        except Failed as e:
            # No capacity and a broken rule are both a 400 with a text; Runpod's own advice is to try what is next.  A pool
            # that is not for this account is a 403 of this offer alone.
            if e.http in (400, 403, 404):
                e.line["status"] = "STOCKOUT" if e.http == 400 else "INVALID"
            raise

    def remove(self, native):
        self.ask("DELETE", "/pods/" + native)

    def look(self, native):
        return self.ask("GET", "/pods/" + native)["status"] != "TERMINATED"

    def offers(self, r):
        asked = {}
        for t in self.setup["types"]:
            cloud, gpus = self.of(t, "cloud", "SECURE"), self.of(t, "gpus", "1", 1, 64)
            if (cloud, gpus) not in asked:
                reply = self.ask("GET", "/catalog/gpus", include="AVAILABILITY", product="POD", count=gpus, cloud=cloud)
                asked[cloud, gpus] = {g["id"]: g for g in reply["gpus"]}
            gpu = asked[cloud, gpus].get(t["machine"])
            there = {d["id"]: d["availability"] for d in gpu.get("dataCenters") or []} if gpu else {}
            for zone in t["zones"] or [""]:
                left = gpu and (there.get(zone, "NONE") if zone else gpu.get("availability", "NONE")) != "NONE"
                offer = {"type": t["name"], "zone": zone, "available": bool(left),
                         "note": "" if left else "Runpod has none left there" if gpu else f"Runpod has no {t['machine']}"}
                if gpu and gpu["price"][cloud.lower()] > 0:
                    offer["price"] = gpus * gpu["price"][cloud.lower()]
                    offer["resources"] = {"GPU": gpus}
                say(self, r, offer=offer)

smallcloud.run(Runpod())
