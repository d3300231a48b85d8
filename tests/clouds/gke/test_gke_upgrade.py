"""Upgrade days on GKE, step by step, with the real daemon: nothing is bought into what goes, nothing ended that GKE moves."""

import pytest

from gke_rig import BUILD, environment
from lib.daemon import Daemon

A = "us-central1-a"
GPU = {"GPU": 1}
CONFIG = """
cluster: upgrade
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {idle_timeout: 1s, max_ends: 10}
providers:
  gke: {project: my-proj, location: us-central1, cluster: c1, endpoint: "%(url)s"}
node_types:
  t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, zones: [us-central1-a], max: 4, price: 0.5}
  other: {provider: gke, pool: other, machine: n1-standard-8+t4, zones: [us-central1-a], max: 4, price: 0.9}
"""


@pytest.fixture
def day(driver, server, tmp_path):
    """Two machines of t4 that work; `other` is dearer."""
    cloud = server.cloud
    cloud.pool("other", [A], accelerator="nvidia-tesla-t4", hash_="77778888")
    cloud.pools["gpu"]["instanceGroupUrls"] = cloud.pools["gpu"]["instanceGroupUrls"][:1]
    with Daemon(tmp_path, CONFIG % {"plugins": BUILD / "plugins", "url": server.url}, env=environment(server)) as d:
        ask(d, 2)
        d.until(lambda: d.ready("t4") == 2 and d.events("offer.closed") == [])
        yield d, cloud


def ask(d, n):
    d.post({"owner": "day", "bundles": [{**GPU, "count": n}] if n else []})


def group_of(cloud, pool, part=""):
    return next(g for g in cloud.groups.values() if g["pool"] == pool and part in g["name"])


def moved(cloud, group, to, name):
    """GKE ends the oldest machine of a group; another comes in its place."""
    with cloud.lock:
        victim = next(m for m in group["members"].values() if m["state"] == "up")
        cloud.end(group, victim)
        cloud.add(to, name, 0)
    return victim["name"]


def over(d):
    """The pools are read anew by a daemon that begins anew."""
    d.kill()
    d.start()


def test_surge(day):
    d, cloud = day
    gpu = group_of(cloud, "gpu")
    d.later(1.25)  # so long a launch goes by what is known of the pools
    # 1. The upgrade begins: a surge machine, which nobody asked for.
    cloud.pools["gpu"]["status"] = "RECONCILING"
    cloud.add(gpu, "gke-c1-gpu-0a1b2c3d-surg", 0)
    had = set(cloud.living("gpu"))
    # 2. Less is wanted, then more; at once, so Davit's own list does not know of the upgrade yet.
    ask(d, 0)
    d.stays(lambda: set(cloud.living("gpu")) == had, 4)
    ask(d, 4)
    d.until(lambda: d.ready("other") + d.ready("t4") >= 4 and len(d.nodes()) >= 4)
    assert set(cloud.living("gpu")) == had, "bought into a pool that is being upgraded"
    # 3. Nothing is wanted any more, and everything in the pool stays, though idle.
    ends = cloud.counts.get("deleteInstances", 0)
    ask(d, 0)
    d.until(lambda: not cloud.living("other"))
    d.stays(lambda: set(cloud.living("gpu")) == had, 11)  # what was found in a list is left alone for ten seconds anyway
    assert len([e for e in d.events("node.ending") if not e["subject"].startswith(("other", "t4"))]) == 0
    d.until(lambda: {n["why"]["reason"] for n in d.nodes("t4")} <= {"held_by_cloud", "not_ours", "stopping", "draining"})
    # 4. GKE moves one after the other; a new daemon in the middle of it learns the same.
    for i in range(2):
        moved(cloud, gpu, gpu, f"gke-c1-gpu-0a1b2c3d-new{i}")
    had = set(cloud.living("gpu"))
    over(d)
    d.until(lambda: "held_by_cloud" in {n["why"]["reason"] for n in d.nodes("t4")})
    d.stays(lambda: set(cloud.living("gpu")) == had, 2)
    # 5. It is over: what nobody needs ends, the machines that GKE put in their place too.
    cloud.pools["gpu"]["status"] = "RUNNING"
    over(d)
    d.until(lambda: not cloud.living("gpu"))
    assert cloud.counts["deleteInstances"] > ends and cloud.targets() == 0


def test_blue_green(day):
    d, cloud = day
    blue = group_of(cloud, "gpu")
    pool = cloud.pools["gpu"]
    urls = list(pool["instanceGroupUrls"])
    d.later(1.25)

    def phase(name, green=()):
        pool.update(status="RECONCILING", instanceGroupUrls=urls + list(green), updateInfo={"blueGreenInfo": {
            "phase": name, "blueInstanceGroupUrls": urls, "greenInstanceGroupUrls": list(green)}})
    # 1. It begins; there is no green half yet, so more is bought elsewhere.
    phase("UPDATE_STARTED")
    had = set(cloud.living("gpu"))
    ask(d, 3)
    d.until(lambda: d.ready() == 3)
    assert set(cloud.living("gpu")) == had and len(cloud.living("other")) == 1, "bought into the blue half"
    # 2. The green half is there: what is wanted next goes there, nothing to the blue one.
    cloud.pool("green", [A], hash_="9f9f9f9f")
    green_urls = cloud.pools.pop("green")["instanceGroupUrls"]
    green = group_of(cloud, "green")
    phase("CREATING_GREEN_POOL", green_urls)
    over(d)  # the offer was closed: a new look at once, not in a minute
    ask(d, 4)
    d.until(lambda: d.ready() == 4)
    assert len(cloud.living("green")) == 1 and set(cloud.living("gpu")) == had
    # 3. The blue half is drained: GKE ends its machines one by one and makes green ones.  All is idle meanwhile.
    phase("DRAINING_BLUE_POOL", green_urls)
    ask(d, 0)
    d.until(lambda: not cloud.living("other"))
    for i in range(2):
        moved(cloud, blue, green, f"gke-c1-gpu-9f9f9f9f-gr{i}")
    d.until(lambda: {"gke-c1-gpu-9f9f9f9f-gr0", "gke-c1-gpu-9f9f9f9f-gr1"} <= {n["cloud_id"] for n in d.nodes()})
    d.stays(lambda: len(cloud.living("green")) == 3, 11)  # what was found in a list is left alone for ten seconds anyway
    # 4. It soaks, and the blue half goes.
    phase("NODE_POOL_SOAKING", green_urls)
    d.stays(lambda: len(cloud.living("green")) == 3, 1)
    with cloud.lock:
        cloud.groups = {k: g for k, g in cloud.groups.items() if g is not blue}
        pool.update(status="RUNNING", instanceGroupUrls=green_urls)
        pool.pop("updateInfo")
    over(d)
    d.until(lambda: not cloud.living("green"))
    assert cloud.targets() == 0
