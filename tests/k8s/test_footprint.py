"""0 to 1,000 workers by one patch, and what the sidecar takes with them and 4,000 pending tasks."""
import statistics
import time

import manifests
from lib.kube import SOON, clusters_path, pods_path, until
from figures import figure
from lib.gcs import Gcs, PodNodes
from kwoknodes import add_node
from sidecar import Sidecar

CLUSTER = "raycluster-gpu"
NODES, TASKS, SECONDS = 1000, 4000, 20  # a list of all pods, every 15 s, is among them


class Memory:
    def __init__(self, samples, anon):
        self.median, self.most, self.anon = statistics.median(samples), max(samples), anon

    def __str__(self):
        return f"{self.median:.1f} MiB, {self.anon:.1f} of it no file's, {self.most:.1f} for a moment"


def watched(s, each_second):
    """(mCPU, memory) of so many seconds."""
    began, cpu, samples, anon = time.monotonic(), s.cpu_s(), [], []
    for i in range(SECONDS):
        each_second(i)
        while time.monotonic() < began + i + 1:
            samples.append(s.rss_mib())
            anon.append(s.anon_mib())
            time.sleep(0.05)  # wait: between two samples
    took = time.monotonic() - began
    return (s.cpu_s() - cpu) / took * 1000, Memory(samples, statistics.median(anon))


def test_1000_workers_by_one_patch_and_footprint(plane, operator, tmp_path):
    for i in range(10):
        add_node(plane, f"host-{i}", cpu=256, memory="1000Gi", gpus=100, pods=200)
    cluster = manifests.gpu_guide(maxReplicas=NODES, template={"spec": {"containers": [
        {"name": "ray", "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": 2, "memory": "8Gi"}}}]}})
    plane.apply(cluster)
    with Gcs(6379) as gcs, PodNodes(plane, gcs), Sidecar(plane, CLUSTER, tmp_path) as s:
        gcs.join("head", "headgroup", {"CPU": 0}, head=True)
        until(lambda: gcs.reads > 1, why="it reads the head")
        mark, began = plane.audit_mark(), time.monotonic()
        # three shapes that wait, as tasks of one program do; max lets 1,000 run
        gcs.tasks([({"GPU": 1}, TASKS - 600), ({"GPU": 1, "CPU": 1}, 400), ({"GPU": 0.5}, 200)])
        until(lambda: s.patches(mark), SOON, "a patch", every=0.005)
        took = time.monotonic() - began
        until(lambda: operator.created == NODES, 300, lambda: f"{operator.created} pods, {operator.errors[-3:]}", 0.2)
        made = time.monotonic() - began
        until(lambda: len(gcs.alive()) == NODES + 1, 150, lambda: f"{len(gcs.alive())} nodes at the head", every=0.5)
        grew = [p for p in s.patches(mark) if p["code"] == 200 and "replicas" in str(p["body"])]
        figure(f"0 -> {NODES} workers: patch after {took * 1000:.0f} ms, pods after {made:.1f} s, {len(grew)} patch(es)")
        assert len(grew) == 1, [p["body"] for p in grew]
        for name in gcs.alive() - {"head"}:
            gcs.busy(name)
        reads = gcs.reads
        until(lambda: gcs.reads > reads + 3, why="it reads the head")
        milli, memory = watched(s, lambda _: None)
        figure(f"sidecar, {NODES} nodes, {TASKS} pending tasks, nothing changes: {milli:.0f} mCPU (aim 50), {memory} "
               f"(aim 32)")

        # every second some tasks end and nodes come to be idle and busy again
        some = sorted(gcs.alive() - {"head"})[:20]

        def change(i):
            for name in some:
                gcs.idle(name) if i % 2 else gcs.busy(name)
            gcs.tasks([({"GPU": 1}, TASKS - 600 - i), ({"GPU": 1, "CPU": 1}, 400), ({"GPU": 0.5}, 200)])
        changing, more = watched(s, change)
        figure(f"the same with 20 nodes and the demand changing every second: {changing:.0f} mCPU, {more}")
        assert len(plane.client.get(pods_path(labelSelector="ray.io/node-type=worker"))["items"]) == NODES
        assert plane.client.get(clusters_path(name=CLUSTER))["spec"]["workerGroupSpecs"][0]["replicas"] == NODES
        # the container KubeRay makes has 500 mCPU and 512 MiB; the aims, of CPU with room for a noisy machine
        assert milli < 100 and changing < 200
        assert memory.median < 32 and more.median < 32 and max(memory.most, more.most) < 48
