"""A shadow beside Ray's own autoscaler: real Ray with its fake provider, whose nodes are raylets on this machine.

    tests/netns.sh python tests/shadow/test_ray.py 3600     an hour of it, by hand

What the report says is held against a count that knows nothing of Davit's code: what the head lists, twice a second, and
which machines the shadow says it holds."""
import random
import sys
import threading
import time

import pytest

from lib import raycluster, until
from lib.daemon import Daemon
from lib.seeds import seed

PRICES = {"big": 2.0, "small": 0.5}
CONFIG = """
cluster: shade
head: {ray: {address: "%s"}}
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 6, idle_timeout: 6s}
providers: {gke: {project: nobody, location: nowhere, cluster: none}}
node_types:
  big: {resources: {CPU: 2, GPU: 2}, price: 2, max: 3, boot: 4s}
  small: {resources: {CPU: 1, GPU: 1}, price: 0.5, max: 3, boot: 4s}
"""
TASKS = """
import ray, sys, time
ray.init(logging_level="ERROR")
@ray.remote(num_cpus=1, num_gpus=1)
def work(s): time.sleep(s)
ray.get([work.remote(float(s)) for s in sys.argv[1].split(",")])
"""


class Count(threading.Thread):
    """Looks twice a second; dollars are price by time, up to the next look."""

    def __init__(self, ray, d):
        super().__init__(daemon=True)
        self.ray, self.d, self.over = ray, d, threading.Event()
        self.dollars, self.most = {"present": 0.0, "davit": 0.0}, {"present": 0, "davit": 0}

    def look(self):
        return {"present": [PRICES[n.type] for n in self.ray.nodes(dead=False) if not n.head and n.type in PRICES],
                "davit": [PRICES[n["type"]] for n in self.d.nodes() if n["type"] and n["state"] not in ("intended", "gone")]}

    def run(self):
        seen, at = self.look(), time.monotonic()
        while not self.over.wait(0.5):  # wait: between two samples
            new, now = self.look(), time.monotonic()
            for side in seen:
                self.dollars[side] += sum(seen[side]) * (now - at) / 3600
                self.most[side] = max(self.most[side], len(seen[side]))
            seen, at = new, now

    def stop(self):
        self.over.set()
        self.join()


def play(tmp_path, script):
    """script(ray): what users do.  (the report, the count)"""
    with raycluster.RayCluster(cpus=0, autoscaler={"big": ({"CPU": 2, "GPU": 2}, 3)}) as ray, \
            Daemon(tmp_path, CONFIG % ray.address, args=["--shadow"]) as d:
        count = Count(ray, d)
        count.start()
        try:
            script(ray)
            until(lambda: not any(count.look().values()), 120, lambda: f"not all is ended: {count.look()}", 0.5)
        finally:
            count.stop()
        return d.get("/v1/shadow")[1], count, d.cli("shadow", "report")


def agree(report, count):
    for side in ("present", "davit"):
        assert count.most[side] > 0, (side, report)
        assert report[side]["spent"] == pytest.approx(count.dollars[side], rel=0.08), (side, report, count.dollars)


def test_beside_rays_autoscaler(tmp_path):
    """One task of one GPU: Ray has nodes of two only, Davit may take a small one."""
    def script(ray):
        ray.run(TASKS.replace("sys.argv[1]", "'12'"))

    report, count, _ = play(tmp_path, script)
    agree(report, count)
    assert count.most == {"present": 1, "davit": 1}
    assert report["would_launch"] == report["would_end"] == 1
    # Neither had a machine: Ray's raylet had to start, Davit's paper machine boots for 4 s.
    assert report["present"]["waited_bundle_s"] > 0.5 and report["davit"]["waited_bundle_s"] > 2
    assert report["saved"] > 0


def hours(seconds, folder):
    """Tasks come and go at random for so long."""
    chance = random.Random(seed())

    def script(ray):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            n = chance.choice([1, 1, 2, 3, 5])
            ray.run(TASKS.replace("sys.argv[1]", repr(",".join(str(chance.randint(5, 60)) for _ in range(n)))), timeout=600)
            time.sleep(chance.choice([0, 5, 20, 60]))  # wait: what users do is drawn, and when

    report, count, text = play(folder, script)
    print(text, "\ncounted:", count.dollars, count.most)
    agree(report, count)


if __name__ == "__main__":
    import tempfile
    with tempfile.TemporaryDirectory() as here:
        hours(float(sys.argv[1]), here)
