"""Virtual machines of an Azure subscription, in memory.

Behaves as Azure does where it costs users money: a refusal at the PUT leaves
nothing, a shortage that shows later leaves a failed machine with its interface;
what has no deleteOption outlives its machine; a stopped machine stays; a second
PUT changes what is there; a resource group's list tells no power state, and
takes $expand only for one scale set.  Bodies are judged by the SDK's own
models, and so are our replies.  Time moves operations on; every call takes the
lock.
"""
import base64
import json
import re
import threading
import time
import uuid

import azure_prices
import azurevm_schema

from aks_cloud import Refused

SUB, GROUP, LOCATION = "00000000-0000-0000-0000-000000000001", "Rg1", "westeurope"
ROOT = f"/subscriptions/{SUB}/providers/Microsoft.Compute"
NETWORK = f"/subscriptions/{SUB}/resourceGroups/{GROUP}/providers/Microsoft.Network"
API = "2026-04-01"
HEALTH_API = "2024-02-01"
MADE_OF = "image: Canonical:ubuntu-24_04-lts:server:latest, subnet: net/machines"  # of a configuration
RESERVED = {"admin", "administrator", "root", "guest", "test", "user"}
SIZES = {"Standard_NC4as_T4_v3": (4, 1), "Standard_D8s_v5": (8, 0)}


def base(group):
    return f"/subscriptions/{SUB}/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachines"


class VM:
    def __init__(self, name, body, group, op_s, failure=None):
        self.name, self.body, self.group, self.failure = name, body, group, failure
        self.ready, self.gone, self.power, self.id = time.monotonic() + op_s, None, "running", str(uuid.uuid4())
        self.state = None  # instead of what time says
        self.maintenance = None  # its maintenanceRedeployStatus
        self.health = {}         # of its availability status, instead of what a healthy one has

    def provisioning(self):
        if self.gone:
            return "Deleting"
        if time.monotonic() < self.ready:
            return "Creating"
        return self.state or ("Failed" if self.failure else "Succeeded")

    def statuses(self):
        state = self.provisioning().lower()
        if state == "failed":
            out = [{"code": f"ProvisioningState/failed/{self.failure or 'VMExtensionProvisioningError'}", "level": "Error",
                    "displayStatus": "Provisioning failed", "message": f"{self.failure}: it could not be had",
                    "time": "2026-11-22T09:00:00+00:00"}]
        else:
            out = [{"code": f"ProvisioningState/{state}", "level": "Info", "displayStatus": state}]
        if state != "creating" and not (state == "failed" and self.failure):
            out.append({"code": f"PowerState/{self.power}", "level": "Info", "displayStatus": f"VM {self.power}"})
        return {"statuses": out, **({"maintenanceRedeployStatus": self.maintenance} if self.maintenance else {})}


class Cloud:
    def __init__(self, op_s=0.15, page=1000, headers=("azure", "location", "none")):
        self.lock = threading.RLock()
        self.op_s, self.page, self.headers = op_s, page, headers
        self.prices = azure_prices.listed()
        self.vms, self.others = {}, []   # by name in small letters; of other resource groups
        self.left = set()                # disks, interfaces, addresses that outlived their machine
        self.tokens, self.log, self.rules = {}, [], []
        self.token_s, self.granted, self.bought = 3600, 0, 0
        self.rejected, self.bad_replies, self.overwritten = [], [], []
        self.metadata = {}
        self.short = {}                  # zone -> (how many can still be had, its code, "sync" or "later")
        self.quota = None                # how many machines there may be
        self.group_only = False          # the token may not read the subscription
        self.no_health = False           # nor Resource Health
        self.hidden = []                 # names that the group's list lacks
        self.unseen = []                 # names that the subscription's list lacks
        self.remaining = 800             # lists that the limit still allows
        self.restricted = []             # zones that this subscription may not use
        self.serves = []                 # API versions of a cloud that is not the public one

    # ---- time, and the test's own

    def move_on(self):
        for k, vm in list(self.vms.items()):
            if vm.gone and time.monotonic() >= vm.gone:
                self.end(k)

    def end(self, key):
        vm = self.vms.pop(key)
        p = vm.body["properties"]
        disks = [("disk", p["storageProfile"]["osDisk"])] + [("disk", d) for d in p["storageProfile"].get("dataDisks", [])]
        for nic in p["networkProfile"].get("networkInterfaceConfigurations", []):
            disks.append(("nic", nic["properties"]))
            for ip in nic["properties"]["ipConfigurations"]:
                if public := ip["properties"].get("publicIPAddressConfiguration"):
                    disks.append(("ip", public.get("properties", {})))
        self.left |= {(kind, vm.name) for kind, it in disks if it.get("deleteOption") != "Delete"}

    def evict(self, name):
        vm = self.vms[name.lower()]
        if vm.body["properties"]["evictionPolicy"] == "Delete":
            self.end(name.lower())
        else:
            vm.power = "deallocated"

    def machines(self):
        with self.lock:
            self.move_on()
            return sorted(vm.name for vm in self.vms.values() if not vm.gone)

    def control(self, path, body):
        if path == "/_set":
            for k, v in body.items():
                setattr(self, k, v)
        elif path == "/_heal":
            self.short, self.quota = {}, None
        self.move_on()
        return {"machines": self.machines()}

    # ---- views

    def view(self, vm, expand=False):
        out = {k: json.loads(json.dumps(v)) for k, v in vm.body.items()}
        p = out["properties"]
        p.update(vmId=vm.id, provisioningState=vm.provisioning(), timeCreated="2026-11-22T09:00:00+00:00")
        for secret in ("customData", "adminPassword"):
            p.get("osProfile", {}).pop(secret, None)
        nets = p["networkProfile"].pop("networkInterfaceConfigurations", [])
        p["networkProfile"].pop("networkApiVersion", None)
        if nets:
            p["networkProfile"]["networkInterfaces"] = [
                {"id": f"{NETWORK}/networkInterfaces/{n['name']}", "properties": {"deleteOption": n["properties"]["deleteOption"]}}
                for n in nets]
        for name, identity in out.get("identity", {}).get("userAssignedIdentities", {}).items():
            identity.update(principalId=vm.id, clientId=vm.id)
        if expand:
            p["instanceView"] = vm.statuses()
        out.update(id=f"{base(vm.group)}/{vm.name}", name=vm.name, type="Microsoft.Compute/virtualMachines")
        return self.judged("VirtualMachine", out)

    def health_view(self, vm):
        """availabilityStatus of ResourceHealth.json 2024-02-01 (Azure/azure-rest-api-specs, with its example of a resource group); ids as
        Azure sends them, in small letters, by a reply in Checkmk/checkmk's tests (RESOURCE_HEALTH_ENTRY)."""
        p = {"availabilityState": "Available", "title": "Available", "reasonType": "", "category": "Not Applicable", "context": "Not Applicable",
             "summary": "There aren't any known Azure platform problems affecting this virtual machine.", "reasonChronicity": "Persistent",
             "occuredTime": "2026-11-22T09:00:00Z", "reportedTime": "2026-11-22T09:00:01.7883795Z", **vm.health}
        assert set(vm.health) <= set(p), "no key of availabilityStatus"
        return {"id": f"{base(vm.group)}/{vm.name}".lower() + "/providers/Microsoft.ResourceHealth/availabilityStatuses/current",
                "name": "current", "type": "Microsoft.ResourceHealth/AvailabilityStatuses", "location": LOCATION, "properties": p}

    def health_list(self, path, query, host):
        if self.no_health:
            raise Refused(403, "AuthorizationFailed", "The client does not have authorization to perform action "
                          "'Microsoft.ResourceHealth/availabilityStatuses/read' over scope '/subscriptions/...'")
        if set(query) - {"api-version", "$filter", "$expand", "$skiptoken"}:
            raise Refused(400, "InvalidQueryParameter", f"{sorted(query)}")
        return self.paged(host, path, query, [self.health_view(v) for v in self.vms.values() if v.provisioning() != "Creating"])

    def status_view(self, vm):
        """As statusOnly=true has it, in the case of letters that it has."""
        group = vm.group.upper()
        return self.judged("VirtualMachine", {
            "name": vm.name, "id": f"{base(group)}/{vm.name}", "type": "Microsoft.Compute/virtualMachines", "location": LOCATION,
            "properties": {"vmId": vm.id, "provisioningState": vm.provisioning(), "instanceView": vm.statuses()}})

    def judged(self, model, reply):
        self.bad_replies += azurevm_schema.problems(model, reply, reply=True)
        return reply

    def paged(self, host, path, query, items):
        at = int(query.get("$skiptoken", 0))
        out = {"value": items[at:at + self.page]}
        if at + self.page < len(items):
            rest = "".join(f"&{k}={v}" for k, v in query.items() if k not in ("api-version", "$skiptoken"))
            out["nextLink"] = f"{host}{path}?api-version={query['api-version']}{rest}&$skiptoken={at + self.page}"
        return 200, {"x-ms-ratelimit-remaining-resource": f"Microsoft.Compute/HighCostGetSubscriptionMaximum;{self.remaining},"
                     "Microsoft.Compute/LowCostGetSubscriptionMaximum;3"}, out

    def operation(self, host, vm):
        url = f"{host}{ROOT}/locations/{LOCATION}/operations/{vm.id}?api-version={API}"
        style = self.headers[self.bought % len(self.headers)]
        return {"azure": {"Azure-AsyncOperation": url, "Retry-After": "0"}, "location": {"Location": url}}.get(style, {})

    # ---- requests

    def wrong(self, name, body):
        """What Azure refuses of a body that its models let through."""
        p = body.get("properties", {})
        os, net = p.get("osProfile", {}), p.get("networkProfile", {})
        admin, linux = os.get("adminUsername", ""), os.get("linuxConfiguration", {})
        keys = linux.get("ssh", {}).get("publicKeys", [])
        image = p.get("storageProfile", {}).get("imageReference", {})
        rules = {
            "location": body.get("location") == LOCATION,
            "the name": re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}[A-Za-z0-9]", name) and os.get("computerName") == name,
            "vmSize": p.get("hardwareProfile", {}).get("vmSize") in SIZES,
            "adminUsername": re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", admin) and admin not in RESERVED,
            "an SSH key": os.get("adminPassword") or (keys and all(
                k["path"] == f"/home/{admin}/.ssh/authorized_keys" and re.match(r"ssh-(rsa|ed25519) [A-Za-z0-9+/]+=*( |$)", k["keyData"])
                for k in keys)),
            "an image": bool(image.get("id")) != (set(image) >= {"publisher", "offer", "sku", "version"}),
            "evictionPolicy": (p.get("priority") == "Spot") == ("evictionPolicy" in p) == ("billingProfile" in p),
            "networkApiVersion": ("networkInterfaceConfigurations" in net) == ("networkApiVersion" in net),
            "an interface": len(net.get("networkInterfaces", []) + net.get("networkInterfaceConfigurations", [])) == 1,
            "the zone": body.get("zones", ["1"]) in (["1"], ["2"], ["3"]),
            "osDisk.createOption": p.get("storageProfile", {}).get("osDisk", {}).get("createOption") == "FromImage",
            "tags": len(body.get("tags", {})) <= 50 and not any(re.search(r"[<>%&\\?/]", k) for k in body.get("tags", {}))}
        for nic in net.get("networkInterfaceConfigurations", []):
            ips = nic["properties"].get("ipConfigurations", [])
            rules["a subnet"] = ips and all(re.fullmatch(
                r"/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft.Network/virtualNetworks/[^/]+/subnets/[^/]+",
                ip["properties"]["subnet"]["id"]) for ip in ips)
        data = os.get("customData", "")
        rules["customData"] = len(data) <= 65535 and base64.b64encode(base64.b64decode(data)).decode() == data
        return [k for k, good in rules.items() if not good]

    def put(self, name, body, headers, host):
        problems = azurevm_schema.problems("VirtualMachine", body) or self.wrong(name, body)
        if problems:
            self.rejected.append((name, problems))
            raise Refused(400, "InvalidParameter", f"{problems}")
        if name.lower() in self.vms:
            if headers.get("If-None-Match") == "*":
                raise Refused(412, "PreconditionFailed", "The condition specified by header(s) could not be satisfied.")
            self.overwritten.append(name)
        zone, spot = body.get("zones", [""])[0], body["properties"].get("priority") == "Spot"
        if zone in self.restricted:
            raise Refused(409, "SkuNotAvailable", f"The requested VM size is currently not available in location '{LOCATION}' zones '{zone}'.")
        if self.quota is not None and len(self.vms) >= self.quota:
            raise Refused(409, "OperationNotAllowed", "Operation could not be completed as it results in exceeding approved "
                          f"{'LowPriorityCores' if spot else 'standardNCASv3_T4Family Cores'} quota.")
        left, code, how = self.short.get(zone, (1, "", ""))
        failure = None
        if left <= 0:
            if how == "sync":
                raise Refused(409, code, f"{code}: not enough capacity")
            failure = code
        elif code:
            self.short[zone] = (left - 1, code, how)
        self.bought += 1
        vm = self.vms[name.lower()] = VM(name, body, GROUP, self.op_s, failure)
        return 201, self.operation(host, vm), self.view(vm)

    def one(self, method, vm, rest, query, body, headers, host, name):
        if method == "PUT" and not rest:
            return self.put(name, body, headers, host)
        if method == "DELETE" and not vm:
            return 204, {}, None
        if not vm:
            raise Refused(404, "ResourceNotFound", f"The Resource 'Microsoft.Compute/virtualMachines/{name}' under resource group "
                          f"'{GROUP}' was not found.")
        if (method, rest) == ("DELETE", ""):
            vm.gone = vm.gone or time.monotonic() + self.op_s
            return 202, self.operation(host, vm), None
        if (method, rest) == ("GET", "/instanceView"):
            return 200, {}, self.judged("VirtualMachineInstanceView", vm.statuses())
        if (method, rest) == ("POST", "/retrieveBootDiagnosticsData"):
            if not vm.body["properties"]["diagnosticsProfile"]["bootDiagnostics"]["enabled"]:
                raise Refused(409, "OperationNotAllowed", "Boot diagnostics is not enabled.")
            return 200, {}, {"consoleScreenshotBlobUri": f"{host}/blob/{name}.bmp?sig=SIGNED",
                             "serialConsoleLogBlobUri": f"{host}/blob/{name}.log?sig=SIGNED"}
        if (method, rest) == ("GET", ""):
            return 200, {}, self.view(vm, query.get("$expand") == "instanceView")
        return None

    def compute(self, path, query, host):
        if path == f"{ROOT}/virtualMachines" and query.get("statusOnly") == "true":
            return self.paged(host, path, query, [self.status_view(v) for v in list(self.vms.values()) + self.others
                                                  if v.name not in self.unseen])
        if path == f"{ROOT}/skus" and query.get("$filter") == f"location eq '{LOCATION}'":
            return 200, {}, {"value": [{
                "resourceType": "virtualMachines", "name": n, "family": "standardNCASv3_T4Family", "locations": [LOCATION],
                "capabilities": [{"name": "vCPUs", "value": str(c)}, {"name": "MemoryGB", "value": "28"}, {"name": "GPUs", "value": str(g)}],
                "restrictions": [{"type": "Zone", "values": [LOCATION], "reasonCode": "NotAvailableForSubscription",
                                  "restrictionInfo": {"locations": [LOCATION], "zones": self.restricted}}]}
                for n, (c, g) in SIZES.items()]}
        if path == f"{ROOT}/locations/{LOCATION}/usages":
            limit = 6400 if self.quota is None else 4 * self.quota
            return 200, {}, {"value": [{"unit": "Count", "currentValue": 4 * len(self.vms), "limit": limit,
                                        "name": {"value": "standardNCASv3_T4Family"}}]}
        if m := re.fullmatch(rf"{ROOT}/locations/{LOCATION}/operations/([\w-]+)", path):
            vm = next((v for v in self.vms.values() if v.id == m[1]), None)
            state = "InProgress" if vm and vm.provisioning() in ("Creating", "Deleting") else "Succeeded"
            return 200, {}, {"name": m[1], "status": state, "startTime": "2026-11-22T09:00:00Z"}
        return None

    def serve(self, method, path, query, headers, body, host):
        """(status, headers, body) of a request that carries a good token."""
        self.move_on()
        wanted = "2021-07-01" if path.endswith("/skus") else HEALTH_API if path.endswith("/availabilityStatuses") else API
        if self.serves:  # another cloud than the public one; what it says is azure-cli#21492's text
            if query.get("api-version") not in self.serves:
                raise Refused(400, "NoRegisteredProviderFound", f"No registered resource provider found for location '{LOCATION}' and API version "
                              f"'{query.get('api-version')}' for type 'virtualMachines'. The supported api-versions are '{', '.join(self.serves)}'. "
                              "The supported locations are 'chinaeast2, chinanorth3'.")
        elif query.get("api-version") != wanted:
            raise Refused(400, "InvalidApiVersionParameter", f"api-version is {query.get('api-version')}, not {wanted}")
        got = None
        if m := re.fullmatch(rf"(?i){re.escape(base(GROUP))}(?:/([\w.-]+))?(/\w+)?", path):
            if m[1]:
                got = self.one(method, self.vms.get(m[1].lower()), m[2] or "", query, body, headers, host, m[1])
            elif "$expand" in query:
                raise Refused(400, "InvalidParameter", "$expand can only be specified if a valid $filter option is specified")
            elif method == "GET":
                got = self.paged(host, path, query, [self.view(v) for v in self.vms.values() if v.name not in self.hidden])
        elif method == "GET" and re.fullmatch(rf"(?i)/subscriptions/{SUB}/resourceGroups/{GROUP}/providers/Microsoft.ResourceHealth/availabilityStatuses",
                                              path):
            got = self.health_list(path, query, host)
        elif method == "GET" and self.group_only:
            raise Refused(403, "AuthorizationFailed", "The client does not have authorization to perform action "
                          "'Microsoft.Compute/virtualMachines/read' over scope '/subscriptions/...'")
        elif method == "GET":
            got = self.compute(path, query, host)
        if got is None:
            raise Refused(404, "NotFound", f"{method} {path}")
        return got
