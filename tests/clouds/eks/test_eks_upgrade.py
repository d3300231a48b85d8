"""An update day on EKS, step by step, with the real daemon: nothing is bought into what goes, nothing ended that EKS moves."""
from eks_rig import environment
from lib.daemon import Daemon

CONFIG = """
cluster: upgrade
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: 1s, max_ends: 10}
providers:
  eks: {region: us-east-1, cluster: %(cluster)s, endpoint: "%(url)s"}
node_types:
  gpu: {provider: eks, pool: %(gpu)s, machine: g5.xlarge, max: 6, price: 0.5}
  other: {provider: eks, pool: %(other)s, machine: g5.xlarge, max: 6, price: 0.9}
"""


def ask(d, n):
    d.post({"owner": "day", "bundles": [{"GPU": 1, "count": n}] if n else []})


def test_a_version_update(cloud, tmp_path):
    cloud.fresh(gpu={}, other={})
    pool = cloud.names["gpu"]
    group = cloud.at("gpu")["group"]

    def living(name):
        return set(cloud.at(name)["machines"])

    def changes(since):
        """Calls that change our group: (action, whose)."""
        return [x["action"] for x in cloud.log(since=since) if group in str(x["form"])
                and x["action"] in ("SetDesiredCapacity", "TerminateInstanceInAutoScalingGroup", "LaunchInstances")]
    with Daemon(tmp_path, CONFIG % {**cloud.names, "cluster": cloud.cluster, "url": cloud.url}, env=environment(tmp_path)) as d:
        ask(d, 2)
        d.until(lambda: d.ready("gpu") == 2)
        d.until(lambda: all(m["tags"].get("davit-request") for m in cloud.at("gpu")["machines"].values()))
        # 1. EKS begins: it raises the group's target for the new version's machines.
        cloud.status(pool=pool, status="UPDATING")
        cloud.by_hand(pool=pool, n=3)
        since, had = len(cloud.log()), living("gpu")
        assert len(had) == 3
        # 2. Less is wanted, then more, before Davit's own lists know of it: nothing ends, and more is bought elsewhere.
        ask(d, 0)
        d.stays(lambda: living("gpu") == had, 4)
        ask(d, 4)
        d.until(lambda: len(living("other")) >= 1 and d.ready() >= 4)
        assert living("gpu") == had and changes(since) == []
        # 3. Nothing is wanted any more: the group stays as EKS has it, by the end's own look at first.
        ask(d, 0)
        d.until(lambda: not living("other"))
        d.stays(lambda: living("gpu") == had, 11)  # what was found in a list is left alone for ten seconds anyway
        assert changes(since) == [] and cloud.at("gpu")["target"] == 3
        # 4. A daemon that begins anew in the middle of it learns the same; EKS moves on.
        d.kill()
        d.start()
        cloud.by_hand(pool=pool, n=4)
        d.until(lambda: "held_by_cloud" in {n["why"]["reason"] for n in d.nodes("gpu")} and len(d.nodes("gpu")) == 4)
        had = living("gpu")
        d.stays(lambda: living("gpu") == had, 2)
        assert changes(since) == []
        # 5. It is over.
        cloud.status(pool=pool, status="ACTIVE")
        d.kill()
        d.start()
        d.until(lambda: not living("gpu") and cloud.at("gpu")["target"] == 0)
