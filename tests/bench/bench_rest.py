"""What a cloud is asked while nothing happens: 5,000 machines in a test server,
the real daemon at rest beside it, and its calls counted by kind for two minutes.

    python tests/bench/bench_rest.py gce|gke|azurevm|aks|ec2|eks [MACHINES [SECONDS]]

By hand (`make bench-rest`); the figures stand in the providers' READMEs.
"""
import collections
import json
import pathlib
import re
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), *(str(ROOT / "tests/clouds" / c) for c in ("gke", "aks", "azurevm", "eks"))]

import aks_rig  # noqa: E402
import gke_rig  # noqa: E402
from lib import BUILD, drive  # noqa: E402
from lib.daemon import Daemon  # noqa: E402

CLUSTER = "at-rest"
CONFIG = """
cluster: %(cluster)s
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 10000, idle_timeout: 1d}
providers:
  %(provider)s
node_types:
  %(types)s
"""


class Side:
    """One cloud with n machines of ours: config, environment, calls() so far."""
    zone = ""

    def text(self):
        return CONFIG % {"cluster": CLUSTER, "plugins": BUILD / "plugins", "provider": self.provider, "types": "\n  ".join(self.types)}

    def sent(self):
        """Bytes of replies so far; 0: not known."""
        return getattr(getattr(self, "server", None), "sent", 0)

    def first(self, directory, name, cloud_of):
        """The one machine that a launch makes, to be copied."""
        with tempfile.TemporaryDirectory(dir=directory) as d:
            with drive.drives(pathlib.Path(d), lambda where: drive.Drive(where, self.text(), name, self.environment)) as make:
                r = make().launch(1, "davit-00000000000000000000", zone=self.zone)
                assert r["status"] == "OK", r
                return next(iter(cloud_of().items()))


def kind(method, target):
    """A request without the names in it."""
    path, _, query = target.partition("?")
    words = [w for w in path.split("/") if w]
    kept = [w if i % 2 == 0 else "X" for i, w in enumerate(words[words.index("subscriptions"):])] if "subscriptions" in words else words
    if "providers" in kept:
        at = words.index("subscriptions") + kept.index("providers") + 2
        kept = [w if i % 2 == 0 else "X" for i, w in enumerate(words[at:])]
    more = " statusOnly" if "statusOnly" in query else ""
    named = r"(zones|regions|locations|projects|clusters|instanceGroupManagers|nodePools)/[^/]+"
    return f"{method} {re.sub(named, lambda m: m[1] + '/X', '/'.join(kept))}{more}"


class Gce(Side):
    zone = "us-central1-a"
    types = ["t4: {provider: gce, machine: n1-standard-8+t4, zones: [us-central1-a], resources: {CPU: 8, GPU: 1}, max: 9000}"]

    def __init__(self, n, directory):
        import gke_server
        self.server = gke_server.Server().__enter__()
        self.cloud = c = self.server.cloud
        self.provider = f'gce: {{project: my-proj, endpoint: "{self.server.url}", image: projects/p/global/images/family/ray}}'
        self.environment = gke_rig.environment(self.server, DAVIT_PLUGIN_DIR=str(BUILD / "plugins"))
        (zone, _), one = self.first(directory, "gce", lambda: c.bare)
        for i in range(n - 1):
            body = json.loads(json.dumps(one["body"]))
            body["name"] = f"ray-t4-{i:016x}-0"
            c.bare[zone, body["name"]] = {**one, "body": body, "id": str(1 << 40 | i)}

    def calls(self):
        return [kind(x["method"], x["target"]) for x in self.cloud.log]


class Gke(Gce):
    types = [f"p{i}: {{provider: gke, pool: p{i}, machine: n1-standard-8, max: 9000}}" for i in range(4)]

    def __init__(self, n, directory):
        import gke_server
        self.server = gke_server.Server().__enter__()
        self.cloud = c = self.server.cloud
        self.provider = f'gke: {{project: my-proj, location: us-central1, cluster: c1, endpoint: "{self.server.url}"}}'
        self.environment = gke_rig.environment(self.server)
        for i in range(4):
            c.pool(f"p{i}", [f"us-central1-{z}" for z in "abc"], size=-(-n // 12))


class Azurevm(Side):
    types = ["t4: {provider: azurevm, machine: Standard_NC4as_T4_v3, resources: {CPU: 4, GPU: 1}, max: 9000}"]

    def __init__(self, n, directory):
        import aks_server
        import azurevm_cloud as a
        self.cloud = c = a.Cloud(page=200)
        self.server = aks_server.Server(c).__enter__()
        url = self.server.url
        self.provider = (f'azurevm: {{subscription: {a.SUB}, resource_group: {a.GROUP}, location: {a.LOCATION}, endpoint: "{url}", '
                         f'authority: "{url}", imds: "{url}", {a.MADE_OF}}}')
        self.environment = aks_rig.environment(DAVIT_PLUGIN_DIR=str(BUILD / "plugins"))
        _, one = self.first(directory, "azurevm", lambda: c.vms)
        c.judged = lambda model, reply: reply  # its own answers, five thousand at a time
        for i in range(n - 1):
            body = json.loads(json.dumps(one.body))
            body["properties"]["osProfile"]["computerName"] = name = f"ray-t4-{i:016x}-0"
            c.vms[name] = a.VM(name, body, a.GROUP, 0)

    def calls(self):
        return [kind(x["method"], x["path"] + "?" + "&".join(f"{k}={v}" for k, v in x.get("query", []))) for x in self.cloud.log]


class Aks(Azurevm):
    types = [f"p{i}: {{provider: aks, pool: p{i}, resources: {{CPU: 4, GPU: 1}}, price: 0.6, max: 1000}}" for i in range(5)]

    def __init__(self, n, directory):
        import aks_cloud
        import aks_server
        self.cloud = c = aks_cloud.Cloud()
        self.server = aks_server.Server(c).__enter__()
        url = self.server.url
        self.provider = (f'aks: {{subscription: {aks_cloud.SUB}, resource_group: {aks_cloud.GROUP}, cluster: {aks_cloud.CLUSTER}, '
                         f'endpoint: "{url}", authority: "{url}", imds: "{url}"}}')
        self.environment = aks_rig.environment()
        for i in range(5):
            c.pool(f"p{i}")
            c.grow(f"p{i}", n // 5)


class Eks(Side):
    types = [f"p{i}: {{provider: eks, pool: p{i}, resources: {{CPU: 4, GPU: 1}}, price: 1, max: 400}}" for i in range(25)]

    def __init__(self, n, directory):
        import eks_rig
        self.cloud = c = eks_rig.Cloud()
        c.clear()
        c.setup(cluster="c", pools={f"p{i}": {"zones": [f"us-east-1{'ab'[i % 2]}"], "max": 400, "desired": n // 25} for i in range(25)})
        self.provider = f'eks: {{region: us-east-1, cluster: c, endpoint: "{c.url}"}}'
        self.environment = eks_rig.environment(pathlib.Path(directory))

    def calls(self):
        return [x["action"] for x in self.cloud.log(since=0)]


class Ec2(Eks):
    types = ["t4: {provider: ec2, machine: g4dn.xlarge, max: 9000, resources: {CPU: 4, GPU: 1}, options: {image: ami-12c6146b}}"]

    def __init__(self, n, directory):
        import eks_rig
        self.cloud = c = eks_rig.Cloud()
        c.clear()
        c.subnets()
        self.provider = f'ec2: {{region: us-east-1, endpoint: "{c.url}"}}'
        self.environment = eks_rig.environment(pathlib.Path(directory))
        with tempfile.TemporaryDirectory(dir=directory) as d:
            with drive.drives(pathlib.Path(d), lambda where: drive.Drive(where, self.text(), "ec2", self.environment)) as make:
                made = make()
                for i in range(n // 500):
                    made.launch(500, f"davit-{i:020x}")


SIDES = {"gce": Gce, "gke": Gke, "azurevm": Azurevm, "aks": Aks, "eks": Eks, "ec2": Ec2}


def main(name, n=5000, seconds=120):
    with tempfile.TemporaryDirectory() as directory:
        side = SIDES[name](n, directory)
        where = pathlib.Path(directory) / "daemon"
        where.mkdir()
        with Daemon(where, side.text(), env=side.environment) as d:
            d.until(lambda: len([x for x in d.nodes() if x["cloud_id"]]) >= n, 240, "not all machines are seen")
            time.sleep(75)  # wait: offers are asked for again a minute after the first
            before, sent, at = side.calls(), side.sent(), time.monotonic()
            time.sleep(seconds)  # wait: calls are counted over so long
            after, sent, took = side.calls(), side.sent() - sent, time.monotonic() - at
            seen = len(d.nodes())
        print(f"{name}: {seen} machines, {took:.0f} s; calls a minute:")
        count = collections.Counter(after[len(before):])
        for k, v in [*count.most_common(), ("all", sum(count.values()))]:
            print(f"  {v * 60 / took:7.1f}  {k}", flush=True)
        print(f"  {sent * 60 / took / 1e6:7.1f}  MB of replies" if sent else "           moto does not say how many bytes")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
