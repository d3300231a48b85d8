"""An upgrade day on AKS, step by step, with the real daemon: nothing is bought into what goes, nothing ended that Azure moves."""
from aks_rig import config, environment
from lib.daemon import Daemon

OTHER = """  other: {provider: aks, pool: gpu2, resources: {CPU: 4, GPU: 1, memory: 28Gi}, accelerator_type: T4, price: 0.9, max: 4}"""


def ask(d, n):
    d.post({"owner": "day", "bundles": [{"GPU": 1, "count": n}] if n else []})


def changes(cloud, since, pool="gpu"):
    return [e["method"] + " " + e["path"] for e in list(cloud.log)[since:]
            if e["method"] in ("PUT", "POST", "DELETE") and f"/agentPools/{pool}" in e["path"] and f"/agentPools/{pool}2" not in e["path"]]


def test_a_pool_upgrade(driver, server, cloud, tmp_path):
    gpu = cloud.pools["gpu"]
    text = config(server, "poll: 100ms, wait: 1s, reads: {every: 0}, writes: {every: 0}", more=OTHER)
    with Daemon(tmp_path, text.replace("limits: {max_nodes: 2000}", "limits: {idle_timeout: 1s, max_ends: 10}"), env=environment()) as d:
        ask(d, 2)
        d.until(lambda: d.ready("t4") == 2)
        # 1. Azure begins: a surge machine beside them; the target is as it was.
        with cloud.lock:
            gpu.props["provisioningState"] = "Upgrading"
            gpu.add("Succeeded")
            gpu.tag += 1
        since, had = len(cloud.log), sorted(gpu.vms)
        # 2. More is wanted: elsewhere.
        ask(d, 4)
        d.until(lambda: len(cloud.pools["gpu2"].vms) >= 1 and d.ready() >= 4)
        assert sorted(gpu.vms) == had and changes(cloud, since) == []
        # 3. Nothing is wanted any more: all stay.
        ask(d, 0)
        d.until(lambda: not cloud.pools["gpu2"].vms)
        d.until(lambda: {n["why"]["reason"] for n in d.nodes("t4")} == {"held_by_cloud"})
        d.stays(lambda: sorted(gpu.vms) == had, 11)  # what was found in a list is left alone for ten seconds anyway
        # 4. Azure moves one after the other, and a new daemon learns the same in the middle of it.
        for i in range(2):
            with cloud.lock:
                del gpu.vms[sorted(gpu.vms)[0]]
                gpu.add("Succeeded")
                gpu.tag += 1
            if i == 0:
                d.kill()
                d.start()
        had = sorted(gpu.vms)
        d.until(lambda: set(had) <= {n["cloud_id"] for n in d.nodes("t4")})
        d.stays(lambda: sorted(gpu.vms) == had, 2)
        assert changes(cloud, since) == [] and gpu.props["count"] == 2 and gpu.grew == [2]
        # 5. It is over: the surge machine goes by Azure, the rest by us.
        with cloud.lock:
            del gpu.vms[sorted(gpu.vms)[-1]]
            gpu.props["provisioningState"] = "Succeeded"
            gpu.tag += 1
        d.until(lambda: not gpu.vms and gpu.props["count"] == 0)
