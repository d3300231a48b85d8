"""Resize requests, as an instance group manager has them: all machines of a request at once, or none.

Sources: compute.v1's instanceGroupManagerResizeRequests (methods, states, what is final); "About resize requests in a MIG"
(cloud.google.com/compute/docs/instance-groups/about-resize-requests-mig: the target grows and the instances are CREATING from
the beginning; 10 minutes to 7 days; cancelled only while ACCEPTED); GKE's cluster autoscaler as Google publishes it
(resizerequestclient: DELETE of what is final alone, CONDITION_NOT_MET of a cancel that is too late; "rr-..." requests, without a
duration, are how it makes TPU slices, "gke-..." how it makes queued nodes).  container.v1, QueuedProvisioning.enabled: such nodes
"can be only obtained through queuing".
"""
import math
import re
import time

FINAL = ("SUCCEEDED", "FAILED", "CANCELLED")
OURS = "resize"     # operations' kinds here: resize.insert, resize.cancel, resize.delete


def slice_hosts(pool):
    """Machines of a multi-host TPU slice; 1: its machines are on their own."""
    topology = pool.get("placementPolicy", {}).get("tpuTopology")
    chips = re.search(r"-(\d+)t$", pool["config"]["machineType"])
    return max(1, math.prod(map(int, topology.split("x"))) // int(chips[1])) if topology and chips else 1


def queues(pool):
    return pool.get("queuedProvisioning", {}).get("enabled", False) or pool["config"].get("flexStart", False) or slice_hosts(pool) > 1


class Queue:
    """Of gke_server.Cloud, which has groups, operations and refusals."""

    def create_check(self, g, refusal):
        """What makes machines one by one makes none of a queued pool, nor a part of a slice."""
        pool = self.pools.get(g["pool"])     # None: the other half of a blue-green upgrade
        if pool and queues(pool):
            raise refusal(400, f"Instances of group {g['name']} can be obtained only through resize requests.", "invalid")

    def delete_check(self, g, names, refusal):
        waiting = [n for n in names if g["members"].get(n, {}).get("state") == "queued"]
        if waiting:
            raise refusal(400, f"Instance {waiting[0]} belongs to a resize request that is not fulfilled.", "invalid")

    def insert_check(self, g, body, refusal):
        pool = self.pools[g["pool"]]
        run = int(body.get("requestedRunDuration", {}).get("seconds", 0))
        names = [i["name"] for i in body.get("instances", ())]
        if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", body.get("name", "")):
            raise refusal(400, f"Invalid value for field 'resource.name': '{body.get('name')}'.", "invalid")
        if body["name"].startswith(("gke-", "rr-")):
            raise refusal(400, "a name that GKE's own autoscaler takes for its own, and cleans up", "invalid")
        if bool(names) == ("resizeBy" in body):
            raise refusal(400, "Exactly one of resizeBy and instances must be set.", "invalid")
        if "requestedRunDuration" in body and not 600 <= run <= 604800:
            raise refusal(400, "Invalid value for field 'resource.requestedRunDuration.seconds'.", "invalid")
        if not run and slice_hosts(pool) == 1:
            raise refusal(400, "Required field 'resource.requestedRunDuration' not specified", "required")
        if slice_hosts(pool) > 1 and (len(names) != slice_hosts(pool) or g["members"]):
            raise refusal(400, f"UNSUPPORTED_TPU_CONFIGURATION: a slice of {pool['placementPolicy']['tpuTopology']} has "
                               f"{slice_hosts(pool)} instances", "invalid")
        if not queues(pool):
            raise refusal(400, "The instance template must have provisioning model FLEX_START.", "invalid")
        return names

    def resize_insert(self, g, body, refusal):
        names = self.insert_check(g, body, refusal)
        r = {"state": "CREATING", "names": names, "created": time.time(), "body": body}
        if body["name"] in g.setdefault("resizes", {}) or set(names) & set(g["members"]):
            raise refusal(409, f"The resource '{body['name']}' already exists")

        def apply():
            g["resizes"][body["name"]] = dict(r, state="ACCEPTED")
            for n in names:
                self.add(g, n, self.boot)
                g["members"][n]["state"] = "queued"
        return self.operation(OURS + ".insert", g["zone"], apply)

    def resize_drop(self, g, r, state, error=None):
        r.update(state=state, error=error)
        for n in r["names"]:
            if g["members"].pop(n, None):
                g["target"] -= 1

    def resize_cancel(self, g, name):
        op = self.operation(OURS + ".cancel", g["zone"], lambda: None)

        def apply():
            r = g["resizes"][name]
            if r["state"] == "ACCEPTED":
                self.resize_drop(g, r, "CANCELLED")
            else:
                self.ops[op]["fail"] = ["CONDITION_NOT_MET", "Cancelling resize request that has reached a final state is not possible."]
        self.ops[op]["apply"] = apply
        return op

    def resize_delete(self, g, name, refusal):
        if g["resizes"][name]["state"] not in FINAL:
            raise refusal(412, "Resize request is active and cannot be deleted.", "conditionNotMet")
        return self.operation(OURS + ".delete", g["zone"], lambda: g["resizes"].pop(name, None))

    def resizes_tick(self, now):
        """Capacity for all of a request, or for none of it."""
        for g in self.groups.values():
            for r in g.get("resizes", {}).values():
                if r["state"] != "ACCEPTED" or self.dry(g) or self.queue_held:
                    continue
                if self.fail_resize:
                    self.resize_drop(g, r, "FAILED", self.fail_resize)
                    continue
                r["state"] = "SUCCEEDED"
                self.bought += len(r["names"])
                for n in r["names"]:
                    g["members"][n].update(state="boot", at=now)

    def resize_view(self, name, r):
        v = {"kind": "compute#instanceGroupManagerResizeRequest", "name": name, "state": r["state"],
             "creationTimestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000-00:00", time.gmtime(r["created"])),
             "instances": [{"name": n} for n in r["names"]], **{k: r["body"][k] for k in ("requestedRunDuration",) if k in r["body"]}}
        if r.get("error"):
            v["status"] = {"error": {"errors": [{"code": r["error"][0], "message": r["error"][1]}]}}
        return v
