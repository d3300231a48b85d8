"""AKS: the test server judged by the SDK's own models (tests/clouds/aks)."""
import json
import time

from side import Side

from aks_cloud import CLUSTER, GROUP, SUB, Cloud
from aks_server import CLIENT, SECRET, Server


class Aks(Side):
    name = "aks"
    zones = ("westeurope-1", "westeurope-2")
    long = 30
    secrets = ("eyTOKEN", SECRET)
    pace = ", reads: {every: 0}, writes: {every: 0}"  # keep_pace(): the plug-in's own

    def keep_pace(self):
        self.pace = ""

    def __enter__(self):
        self.cloud = Cloud(op_s=0.3)
        for usage in self.cloud.usages:
            usage["limit"] = 6400  # quotas have tests of their own
        self.cloud.pool("cpu", [], machine="Standard_D8s_v5")
        self.cloud.pool("gpu", ["1"])
        self.cloud.pool("gpu2", ["2"])
        self.pool = {"cpu": "cpu", self.zones[0]: "gpu", self.zones[1]: "gpu2"}
        self.server = Server(self.cloud).__enter__()
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def words(self):
        u = self.server.url
        return (f'aks: {{subscription: {SUB}, resource_group: {GROUP}, cluster: {CLUSTER}, endpoint: "{u}", authority: "{u}", '
                f'imds: "{u}", poll: 100ms, wait: 1s{self.pace}}}',
                "provider: aks, pool: cpu, machine: Standard_D8s_v5",
                "provider: aks, machine: Standard_NC4as_T4_v3, options: {pools: {westeurope-1: gpu, westeurope-2: gpu2}}")

    def environment(self, tmp):
        return {**self.plain_environment(), "AZURE_CLIENT_ID": CLIENT}

    def held(self, pool):
        with self.cloud.lock:
            self.cloud.move_on()
            return set(self.cloud.pools[self.pool[pool]].vms)

    def up(self, pool):
        held = self.held(pool)
        return {i for i in held if self.cloud.pools[self.pool[pool]].vms[i]["state"] == "Succeeded"}

    def target(self, pool):
        return self.cloud.targets()[self.pool[pool]]

    def bought(self):
        return sum(sum(p.grew) for p in self.cloud.pools.values())

    def raised(self, zone):
        return sum(x["method"] == "PUT" and x["path"].endswith("/" + self.pool[zone]) for x in list(self.cloud.log))

    def ended(self):
        return {n for x in list(self.cloud.log) if x["path"].endswith("deleteMachines") for n in json.loads(x["raw"])["machineNames"]}

    def chosen_by_cloud(self):
        return self.cloud.lost_work

    def rejected(self):
        return self.cloud.rejected

    def sold_out(self, *zones):
        for z in self.zones:
            self.cloud.pools[self.pool[z]].stock = 0 if z in zones else None

    def takes(self, seconds):
        self.cloud.op_s = seconds

    def rule(self, **r):
        with self.cloud.lock:
            self.cloud.rules.append(r)

    def lose_raise(self, zone):
        self.rule(match=f"PUT .*/agentPools/{self.pool[zone]}$", do="lose")

    def lose_end(self):
        self.rule(match="POST .*/deleteMachines$", do="lose")

    def storm(self, seconds):
        self.rule(match="subscriptions", do="status", status=429, code="TooManyRequests", times=10**6,
                  until=time.monotonic() + seconds, headers={"Retry-After": "1"})

    def heal(self):
        with self.cloud.lock:
            self.cloud.rules.clear()
            for p in self.cloud.pools.values():
                p.stock = None

    def fill(self, n):
        with self.cloud.lock:
            self.cloud.grow("gpu2", n)

    def calls(self):
        out, apart = [], time.time() - time.monotonic()
        for x in list(self.cloud.log):
            if "/subscriptions/" in x["path"]:
                kind = "compute" if "Microsoft.Compute" in x["path"] else "aks"
                pool = x["path"].partition("/agentPools/")[2].partition("/")[0]
                out.append((x["at"] + apart, f"{kind} {'read' if x['method'] == 'GET' else 'write ' + pool}"))
        return out

    def limit(self, kind):
        """AKS's: reads of a subscription, changes of a pool; Resource Manager's for Compute."""
        return (20, 1 / 60) if self.is_write(kind) else (250, 25) if kind.startswith("compute") else (60, 1)
