#!/usr/bin/env python3
"""DigitalOcean's Droplets with GPUs, by its API v2.  See README.md here."""
import re, smallcloud, time
from smallcloud import Failed, say

PHASES = {"new": "starting", "active": "running", "off": "running", "archive": "stopping"}
PER_PAGE, TRIES = 200, 3

def tag(text):
    """Tags are the same in capitals and small letters, and have no dots: what is neither a small letter nor a digit becomes _HEX."""
    return re.sub("[^a-z0-9-]", lambda m: f"_{ord(m[0]):02x}", text)

def untag(text):
    return re.sub("_([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), text)

class DigitalOcean(smallcloud.Cloud):
    URL, TOKEN = "https://api.digitalocean.com", "DIGITALOCEAN_TOKEN"
    GAP_S = 0.72  # 5,000 requests an hour

    def hello(self):
        super().hello()
        self.option("image")
        for t in self.setup["types"]:
            if not t["zones"]:
                raise Failed("INVALID", f"node type {t['name']} needs zones: regions such as nyc2")
            if max(len(tag(t["name"])), len(tag(self.setup["cluster"]))) > 200:
                raise Failed("INVALID", f"the names of cluster and node type {t['name']} are too long for DigitalOcean's tags")

    def refusal(self, http, reply):
        code, text = reply.get("id", ""), str(reply.get("message", ""))
        status = {400: "INVALID", 404: "NOT_FOUND" if code == "not_found" else None, 422: "INVALID"}.get(http) if code else None
        if http == 422 and "limit" in text.lower():
            status = "QUOTA"
        elif http == 422 and re.search("not available|unavailable|capacity|restricted", text.lower()):
            status = "STOCKOUT"
        return code, text, status

    def again_after(self, headers):
        """Of the hour's limit only the moment is told at which its oldest request no longer counts."""
        reset = headers.get("ratelimit-reset") or ""
        return max(1, min(3600, int(reset) - time.time())) if reset.isdigit() else 0

    def pages(self, path, what, **query):
        """Pages are cut by number: what ends meanwhile moves others to a page that was read.  So they are counted."""
        for _ in range(TRIES):
            page, found, totals = 1, [], set()
            while True:
                reply = self.ask("GET", path, page=page, per_page=PER_PAGE, **query)
                found += reply[what]
                totals.add(reply["meta"]["total"])
                if not (reply.get("links") or {}).get("pages", {}).get("next"):
                    break
                page += 1
            if totals == {len({str(x.get("id", x.get("slug"))) for x in found})}:
                return found
        raise Failed("RETRY", f"{path} changed while its pages were read, {TRIES} times")

    def instances(self):
        ours = "davit:" + tag(self.setup["cluster"])
        for what in ("gpus", "droplets"):  # by default a list has none with GPUs; a list by tag cannot be asked for both
            for d in self.pages("/v2/droplets", "droplets", type=what):
                kinds = [t[len("davit-type:"):] for t in d["tags"] if t.startswith("davit-type:")]
                if ours in d["tags"] and kinds:
                    address = {n["type"]: n["ip_address"] for n in d["networks"].get("v4") or []}
                    yield {"id": str(d["id"]), "name": d["name"], "native": str(d["id"]), "request_id": d["name"].rpartition("-")[0],
                           "type": untag(kinds[0]), "zone": self.zone_of(untag(kinds[0]), d["region"]["slug"]), "address": address.get("private") or address.get("public") or "",
                           "phase": PHASES.get(d["status"], "starting"),
                           "detail": "DigitalOcean says: it is off, and billed" if d["status"] == "off" else ""}

    def create(self, r, kind, name):
        options = {**self.setup["options"], **kind.get("options", {})}
        script = ("#!/bin/sh\nexport RAY_CLOUD_INSTANCE_ID=$(curl -s --retry 9 http://169.254.169.254/metadata/v1/id) "
                  f"RAY_NODE_TYPE_NAME={kind['name']} RAY_HEAD={self.setup.get('head') or ''}\n{options.get('join', 'true')}\n")
        body = {"name": name, "region": r["zone"], "size": kind["machine"], "image": options["image"], "user_data": script,
                "tags": ["davit:" + tag(self.setup["cluster"]), "davit-type:" + tag(kind["name"])]}
        if options.get("ssh_key"):
            body["ssh_keys"] = [options["ssh_key"]]
        if options.get("vpc"):
            body["vpc_uuid"] = options["vpc"]
        try:
            return str(self.ask("POST", "/v2/droplets", body)["droplet"]["id"])
        except Failed as e:
            if e.line["status"] == "NOT_FOUND":
                e.line["status"] = "INVALID"
            raise

    def remove(self, native):
        self.ask("DELETE", "/v2/droplets/" + native)

    def look(self, native):
        return bool(self.ask("GET", "/v2/droplets/" + native)["droplet"]["id"])

    def offers(self, r):
        sizes = {s["slug"]: s for s in self.pages("/v2/sizes", "sizes")}
        for t in self.setup["types"]:
            s = sizes.get(t["machine"])
            for zone in t["zones"]:
                sold = bool(s and s["available"] and zone in s["regions"])
                offer = {"type": t["name"], "zone": zone, "available": sold,
                         "note": "" if sold else "DigitalOcean has none left there" if s else f"DigitalOcean has no size {t['machine']}"}
                if s:
                    gpus = (s.get("gpu_info") or {}).get("count", 0)
                    offer["price"] = s["price_hourly"]
                    offer["resources"] = {"CPU": s["vcpus"], "memory": f"{s['memory']}Mi", **({"GPU": gpus} if gpus else {})}
                say(self, r, offer=offer)

smallcloud.run(DigitalOcean())
