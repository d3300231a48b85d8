"""An AKS cluster in memory, as far as node pools go.

Behaves as Azure does where it costs users money: one operation at a time per
pool (409), eTags (412), a target that stays raised after a failed raise and is
bought by whatever operation comes next, a lowered target for which Azure picks
the victims, bodies judged by the SDK's own models.  `now` moves operations on;
every call takes the lock.
"""
import json
import random
import re
import string
import threading
import time

import aks_schema
import azure_prices

SUB, GROUP, CLUSTER = "00000000-0000-0000-0000-000000000001", "rg1", "aks1"
LOCATION = "westeurope"
BASE = f"/subscriptions/{SUB}/resourceGroups/{GROUP}/providers/Microsoft.ContainerService/managedClusters/{CLUSTER}"
NODES = f"/subscriptions/{SUB}/resourceGroups/MC_rg1_aks1_westeurope/providers/Microsoft.Compute/virtualMachineScaleSets"
DIGITS = string.digits + string.ascii_lowercase
FINAL = ("Succeeded", "Failed", "Canceled")


class Refused(Exception):
    def __init__(self, status, code, message, **headers):
        super().__init__(code)
        self.status, self.code, self.message, self.headers = status, code, message, headers


def nested(code):
    return {"code": "ReconcileVMSSAgentPoolFailed",
            "message": f'Code="{code}" Message="{code}: the request could not be met"'}


class Pool:
    def __init__(self, name, zones, spot=False, machine="Standard_NC4as_T4_v3", **props):
        self.name, self.zones, self.next, self.tag = name, zones, 0, 1
        self.vms = {}      # name -> {"n", "zone", "state"}
        self.op = None
        self.stock = None  # how many can still be had; None: any number
        self.code, self.how = "AllocationFailed", "absent"
        self.tell = True   # the pool itself says why it failed
        self.grew = []     # sizes: every purchase
        self.props = {"count": 0, "vmSize": machine, "mode": "User", "type": "VirtualMachineScaleSets",
                      "osType": "Linux", "provisioningState": "Succeeded", "powerState": {"code": "Running"},
                      "enableAutoScaling": False, "orchestratorVersion": "1.33.2",
                      "currentOrchestratorVersion": "1.33.2", "nodeLabels": {"pool": name},
                      "nodeTaints": ["nvidia.com/gpu=present:NoSchedule"], "maxPods": 110,
                      "localDNSProfile": {"mode": "Disabled", "state": "Disabled"}, "spotMaxPrice": -1.0,
                      "upgradeSettings": {"maxSurge": "10%"}, "nodeImageVersion": "AKSUbuntu-2204-1", **props}
        if zones:
            self.props["availabilityZones"] = zones
        if spot:
            self.props["scaleSetPriority"] = "Spot"

    def vm_name(self, n):
        text = ""
        for _ in range(6):
            n, d = divmod(n, 36)
            text = DIGITS[d] + text
        return f"aks-{self.name}-12345678-vmss{text}"

    def add(self, state="Creating"):
        zone = self.zones[self.next % len(self.zones)] if self.zones else None
        self.vms[self.vm_name(self.next)] = {"n": self.next, "zone": zone, "state": state}
        self.next += 1

    def living(self):
        return [k for k, v in self.vms.items() if v["state"] != "Failed"]


class Cloud:
    def __init__(self, op_s=0.15, page=1000, headers=("azure", "location", "none"), api="2026-08-01"):
        self.lock = threading.RLock()
        self.pools, self.ops, self.tokens = {}, {}, {}
        self.prices = azure_prices.listed()
        self.op_s, self.page, self.headers, self.api = op_s, page, headers, api
        self.log, self.rejected, self.lost_work, self.rules = [], [], [], []
        self.token_s, self.granted = 3600, 0
        self.hidden, self.hidings = set(), 1 << 30  # machines that AKS's list lacks, and how often
        self.no_compute = False
        self.nodes = "MC_rg1_aks1_westeurope"  # the group of its nodes
        self.metadata = {}  # of the instance that we run on, by path
        self.skus = [{"resourceType": "virtualMachines", "name": "Standard_NC4as_T4_v3", "family": "standardNCASv3_T4Family",
                      "locations": [LOCATION], "capabilities": [
                          {"name": "vCPUs", "value": "4"}, {"name": "MemoryGB", "value": "28"}, {"name": "GPUs", "value": "1"}],
                      "restrictions": []}]
        self.usages = [{"unit": "Count", "currentValue": 0, "limit": 64, "name": {"value": "standardNCASv3_T4Family"}},
                       {"unit": "Count", "currentValue": 0, "limit": 640, "name": {"value": "cores"}}]

    def pool(self, name, zones=(), **kw):
        self.pools[name] = Pool(name, list(zones), **kw)
        return self.pools[name]

    def grow(self, name, n):
        """Machines that were there before anybody asked us."""
        p = self.pools[name]
        for _ in range(n):
            p.add("Succeeded")
        p.props["count"] += n

    def machines(self):
        with self.lock:
            self.move_on()
            return sorted(k for p in self.pools.values() for k in p.vms)

    def targets(self):
        with self.lock:
            self.move_on()
            return {k: p.props["count"] for k, p in self.pools.items()}

    def control(self, path, body):
        """The test's own: POST /_pool changes a pool's attributes, /_heal undoes it."""
        if path == "/_pool":
            for k, v in body.get("set", {}).items():
                setattr(self.pools[body["name"]], k, v)
            self.pools[body["name"]].props.update(body.get("props", {}))
        elif path == "/_heal":
            for p in self.pools.values():
                p.stock, p.code, p.how = None, "AllocationFailed", "absent"
                p.props["enableAutoScaling"] = False
        self.move_on()
        return {"machines": self.machines(), "targets": self.targets(), "rejected": self.rejected, "lost_work": self.lost_work}

    # ---- operations

    def move_on(self):
        for p in self.pools.values():
            if p.op and time.monotonic() >= p.op["half"] and not p.op["half_done"]:
                p.op["half_done"] = True
                for _ in range(p.op["add"]):
                    p.add()
                for _ in range(p.op["short"] if p.how == "ghost" else 0):
                    p.add("Failed")
            if p.op and time.monotonic() >= p.op["end"]:
                self.finish(p)

    def finish(self, p):
        op, p.op = p.op, None
        for name in op["remove"]:
            p.vms.pop(name, None)
        for vm in p.vms.values():
            vm["state"] = "Succeeded" if vm["state"] == "Creating" else vm["state"]
        op["status"] = "Canceled" if op.get("aborted") else "Failed" if op["short"] else "Succeeded"
        p.props["provisioningState"] = op["status"]
        p.props.pop("status", None)
        if op["short"]:
            op["error"] = nested(p.code)
            if p.tell:
                p.props["status"] = {"provisioningError": op["error"]}
        p.tag += 1

    def begin(self, p, state, grow=0, remove=()):
        have = p.stock if p.stock is not None else grow
        add = min(grow, have)
        if p.stock is not None:
            p.stock -= add
        if add:
            p.grew.append(add)
        now = time.monotonic()
        op = {"id": f"op-{len(self.ops) + 1}", "status": "InProgress", "half": now + self.op_s / 2, "end": now + self.op_s,
              "half_done": False, "add": add, "short": grow - add, "remove": list(remove), "pool": p.name}
        self.ops[op["id"]] = p.op = op
        p.props["provisioningState"] = state
        p.tag += 1
        return op

    def answer_headers(self, op, host):
        url = f"{host}/subscriptions/{SUB}/providers/Microsoft.ContainerService/locations/{LOCATION}"
        style = self.headers[len(self.ops) % len(self.headers)]
        if style == "azure":
            return {"Azure-AsyncOperation": f"{url}/operations/{op['id']}?api-version={self.api}", "Retry-After": "0",
                    "Location": f"{url}/operationresults/{op['id']}?api-version={self.api}"}
        if style == "location":
            return {"Location": f"{url}/operationresults/{op['id']}?api-version={self.api}"}
        return {}

    # ---- views

    def pool_view(self, p):
        view = json.loads(json.dumps(p.props))
        view["eTag"] = f"e{p.tag}"
        return {"id": f"{BASE}/agentPools/{p.name}", "name": p.name,
                "type": "Microsoft.ContainerService/managedClusters/agentPools", "properties": view}

    def machine_view(self, p, name, vm):
        view = {"id": f"{BASE}/agentPools/{p.name}/machines/{name}", "name": name,
                "type": "Microsoft.ContainerService/managedClusters/agentPools/machines",
                "properties": {"resourceId": f"{NODES}/aks-{p.name}-12345678-vmss/virtualMachines/{vm['n']}",
                               "network": {"ipAddresses": [{"ip": f"10.224.{vm['n'] // 250}.{vm['n'] % 250}", "family": "IPv4"}]}}}
        if vm["zone"]:
            view["zones"] = [vm["zone"]]
        return view

    def paged(self, host, path, query, items):
        at = int(query.get("$skiptoken", 0))
        out = {"value": items[at:at + self.page]}
        if at + self.page < len(items):
            out["nextLink"] = f"{host}{path}?api-version={query['api-version']}&$skiptoken={at + self.page}"
        return 200, {}, out

    # ---- requests

    def need_pool(self, name):
        if name not in self.pools:
            raise Refused(404, "NotFound", f"Could not find the agent pool: {name}")
        return self.pools[name]

    def need_idle(self, p):
        if p.op:
            raise Refused(409, "OperationNotAllowed", "Operation is not allowed because there's an in progress "
                          f"{p.props['provisioningState']} node pool operation on the managed cluster.")

    def judge(self, model, body, what):
        wrong = aks_schema.problems(model, body)
        if wrong:
            self.rejected.append((what, wrong))
            raise Refused(400, "InvalidRequestContent", "; ".join(wrong))

    def judge_tags(self, tags):
        bad = [k for k, v in tags.items() if len(k) > 512 or len(v) > 256 or re.search(r"[<>%&\\?/]", k)]
        if len(tags) > 50 or bad:
            self.rejected.append(("tags", bad or len(tags)))
            raise Refused(400, "InvalidTagNameCharacters", f"tags: {bad or len(tags)}")

    def put(self, p, body, etag, host):
        self.judge("AgentPool", body, f"PUT {p.name}")
        props = body.get("properties", {})
        self.judge_tags(props.get("tags", {}))
        if etag is None:
            self.lost_work.append("a PUT without If-Match")
        self.need_idle(p)
        if etag not in (None, f'"e{p.tag}"'):
            raise Refused(412, "EtagMismatch", "Operation is not allowed: the eTag does not match")
        for key in ("vmSize", "availabilityZones", "osType", "scaleSetPriority"):
            if props.get(key) != p.props.get(key):
                raise Refused(400, "PropertyChangeNotAllowed", f"Changing property '{key}' is not allowed.")
        dropped = set(p.props) - set(props) - {"provisioningState", "currentOrchestratorVersion", "status", "tags"}
        if dropped:
            self.lost_work.append(f"PUT {p.name} drops {sorted(dropped)}")
        count = props["count"]
        if p.props["enableAutoScaling"] and count != p.props["count"]:
            raise Refused(400, "InvalidParameter", f"Cannot manually scale AgentPool '{p.name}' of an AKS cluster with cluster "
                          "autoscaler enabled. Please disable cluster autoscaler in the cluster to manually scale.")
        if not 0 <= count <= 1000 or (p.props["mode"] == "System" and count < 1):
            raise Refused(400, "InvalidParameter", f"The value {count} of parameter count is invalid.")
        if count > len(p.vms) and p.how == "sync" and p.stock == 0:
            raise Refused(400 if p.code != "QuotaExceeded" else 403, p.code, f"{p.code}: it cannot be had")
        state = "Scaling" if count != p.props["count"] else "Updating"
        keep = {k: p.props[k] for k in ("provisioningState", "currentOrchestratorVersion")}
        p.props = {**props, **keep}
        p.props["localDNSProfile"] = {**props.get("localDNSProfile", {}), "state": "Disabled"}
        victims = []
        if count < len(p.vms):
            victims = random.sample(sorted(p.vms), len(p.vms) - count)  # any will do
            self.lost_work.append(f"Azure chose {victims} to end")
        op = self.begin(p, state, max(0, count - len(p.vms)), victims)
        return 200, self.answer_headers(op, host), self.pool_view(p)

    def delete_machines(self, p, body, host):
        self.judge("AgentPoolDeleteMachinesParameter", body, f"deleteMachines {p.name}")
        self.need_idle(p)
        names = body["machineNames"]
        unknown = [n for n in names if n not in p.vms]
        if not names or unknown or len(set(names)) != len(names):
            raise Refused(400, "InvalidParameter", f"machines {unknown} do not exist in the agent pool")
        if p.props["mode"] == "System" and len(p.vms) == len(names):
            raise Refused(400, "InvalidParameter", "a system pool keeps one machine")
        p.props["count"] -= len(names)
        # The trap: what could not be had before is bought now.
        grow = max(0, p.props["count"] - (len(p.vms) - len(names)))
        op = self.begin(p, "Deleting", grow, names)
        return 202, self.answer_headers(op, host), None

    def abort(self, p, host):
        if not p.op:
            raise Refused(400, "OperationNotAllowed", "there is no operation to abort")
        op = p.op
        if not op["half_done"]:
            op["add"] = 0
        op.update(aborted=True, half_done=True, end=time.monotonic())
        return 202, self.answer_headers(op, host), None

    def operation(self, name, result):
        op = self.ops.get(name)
        if not op:
            raise Refused(404, "NotFound", "no such operation")
        if result:  # operationresults: 202 while it runs
            if op["status"] == "InProgress":
                return 202, {}, None
            if op["status"] != "Succeeded":
                return 409, {}, {"error": op.get("error", nested("OperationCanceled"))}
            return 200, {}, self.pool_view(self.pools[op["pool"]])
        out = {"name": op["id"], "status": op["status"], "startTime": "2026-11-21T09:00:00Z"}
        if "error" in op:
            out["error"] = op["error"]
        return 200, {}, out

    def compute(self, host, path, query):
        if self.no_compute:
            raise Refused(403, "AuthorizationFailed", "no right to read that")
        if m := re.fullmatch(NODES + r"/aks-(\w+)-12345678-vmss/virtualMachines", path):
            vms = [{"id": f"{path}/{v['n']}", "instanceId": str(v["n"]), "properties": {
                "provisioningState": v["state"], "instanceView": {"statuses": [
                    {"code": f"ProvisioningState/failed/{self.pools[m[1]].code}" if v["state"] == "Failed"
                     else "ProvisioningState/" + v["state"].lower()}]}}} for v in self.pools[m[1]].vms.values()]
            return self.paged(host, path, query, vms)
        root = f"/subscriptions/{SUB}/providers/Microsoft.Compute"
        if path == f"{root}/skus" and query.get("$filter") == f"location eq '{LOCATION}'":
            return self.paged(host, path, query, self.skus)
        if path == f"{root}/locations/{LOCATION}/usages":
            return self.paged(host, path, query, self.usages)
        return None

    VERSIONS = {"skus": "2021-07-01", "usages": "2026-04-01", "virtualMachines": "2026-04-01"}

    def serve(self, method, path, query, headers, body, host):
        """(status, headers, body) of a request that carries a good token."""
        self.move_on()
        wanted = self.VERSIONS.get(path.rsplit("/", 1)[1], self.api)
        if query.get("api-version") != wanted:
            raise Refused(400, "InvalidApiVersionParameter", f"api-version is {query.get('api-version')}, not {wanted}")
        if method == "GET" and "/Microsoft.Compute/" in path and (got := self.compute(host, path, query)):
            return got
        if method == "GET" and (m := re.fullmatch(r".*/locations/\w+/(operations|operationresults)/([\w-]+)", path)):
            return self.operation(m[2], m[1] == "operationresults")
        if method == "GET" and path == BASE:
            return 200, {}, {"id": BASE, "name": CLUSTER, "location": LOCATION, "properties": {"provisioningState": "Succeeded", "nodeResourceGroup": self.nodes}}
        if method == "GET" and path == f"{BASE}/agentPools":
            return self.paged(host, path, query, [self.pool_view(p) for p in self.pools.values()])
        if m := re.fullmatch(BASE + r"/agentPools/(\w+)(?:/(\w+))?", path):
            p = self.need_pool(m[1])
            if (method, m[2]) == ("GET", None):
                return 200, {}, self.pool_view(p)
            if (method, m[2]) == ("GET", "machines"):
                self.hidings -= bool(self.hidden)
                if self.hidings < 0:
                    self.hidden = set()
                return self.paged(host, path, query, [self.machine_view(p, k, v) for k, v in p.vms.items() if k not in self.hidden])
            if (method, m[2]) == ("PUT", None):
                return self.put(p, body, headers.get("If-Match"), host)
            if (method, m[2], body) == ("POST", "abort", None):
                return self.abort(p, host)
            if (method, m[2]) == ("POST", "deleteMachines"):
                return self.delete_machines(p, body, host)
        raise Refused(404, "ResourceNotFound", f"{method} {path} does not exist")
