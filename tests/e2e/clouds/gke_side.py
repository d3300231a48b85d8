"""GKE: the test server judged by Google's discovery documents (tests/clouds/gke)."""
import json
import time

from side import Side

from gke_server import Cloud, Server


class Gke(Side):
    name = "gke"
    zones = ("us-central1-a", "us-central1-b")

    def __enter__(self):
        self.cloud = Cloud()
        self.cloud.pool("gpu", self.zones, accelerator="nvidia-tesla-t4",
                        taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}])
        self.cloud.pool("cpu", self.zones[:1], machine="e2-standard-8", hash_="ffffeeee")
        self.server = Server(self.cloud).__enter__()
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def words(self):
        return (f'gke: {{project: my-proj, location: us-central1, cluster: c1, endpoint: "{self.server.url}"}}',
                "provider: gke, pool: cpu, machine: e2-standard-8", "provider: gke, pool: gpu, machine: n1-standard-8+t4")

    def environment(self, tmp):
        return {**self.plain_environment(), "GCE_METADATA_HOST": self.server.url.removeprefix("http://"),
                "CLOUDSDK_CONFIG": str(tmp / "none")}

    @property
    def secrets(self):
        return list(self.cloud.tokens)

    def held(self, pool):
        return set(self.cloud.living("cpu") if pool == "cpu" else self.cloud.living("gpu", pool))

    def up(self, pool):
        with self.cloud.lock:
            self.cloud.tick()
            return {n for g in self.cloud.groups.values() for n, m in g["members"].items() if m["state"] == "up" and
                    (g["pool"] == "cpu" if pool == "cpu" else (g["pool"], g["zone"]) == ("gpu", pool))}

    def target(self, pool):
        with self.cloud.lock:
            self.cloud.tick()
            return sum(g["target"] for g in self.cloud.groups.values()
                       if g["pool"] == ("cpu" if pool == "cpu" else "gpu") and pool in ("cpu", g["zone"]))

    def bought(self):
        return self.cloud.bought

    def asked(self, method):
        return [x for x in list(self.cloud.log) if x["target"].partition("?")[0].endswith(method)]

    def raised(self, zone):
        return sum(f"/zones/{zone}/" in x["target"] and "-gpu-" in x["target"] for x in self.asked("/createInstances"))

    def ended(self):
        return {i.rsplit("/", 1)[1] for x in self.asked("/deleteInstances") for i in json.loads(x["body"])["instances"]}

    def chosen_by_cloud(self):
        return self.cloud.lost_work

    def rejected(self):
        return self.cloud.rejected + self.cloud.bad_replies

    def sold_out(self, *zones):
        self.cloud.stockout = [f"gpu@{z}" for z in zones]

    def takes(self, seconds):
        self.cloud.boot, self.cloud.op, self.cloud.apply, self.cloud.gone = seconds, 0.15, 0.1, 0.3

    def lose_raise(self, zone):
        self.cloud.lose = {f"createInstances@{zone}": 2}  # libcurl repeats once by itself

    def lose_end(self):
        self.cloud.lose = {"deleteInstances": 2}

    def storm(self, seconds):
        self.cloud.throttle_until = time.time() + seconds

    def heal(self):
        self.cloud.heal()

    def fill(self, n):
        with self.cloud.lock:
            g = next(g for g in self.cloud.groups.values() if g["zone"] == self.zones[1])
            for i in range(n):
                self.cloud.add(g, f"{g['base']}-{i:04x}", 0)

    def calls(self):
        out = []
        for x in list(self.cloud.log):
            path = x["target"].partition("?")[0]
            if "/zones/" in path or path.startswith("/v1/projects"):
                read = x["method"] == "GET" or path.endswith("/listManagedInstances")
                out.append((x["at"], f"{'compute' if path.startswith('/compute/') else 'container'} {'read' if read else 'write'}"))
        return out

    def limit(self, kind):
        """Compute's: 1,500 a minute, in any minute; the container API is held to the same."""
        return 1500, 25
