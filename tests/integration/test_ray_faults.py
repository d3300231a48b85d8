"""A Ray head at its worst moments.  Its GCS is played (lib/gcs.py), so that a moment can be chosen."""
import hashlib
import sys
import time

from lib import ROOT
from lib.daemon import Daemon
from test_loop import cloud

from lib.gcs import Gcs
from ray.core.generated import autoscaler_pb2

CONFIG = """
cluster: ray
head: {ray: {address: "%s"}}
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 1s, start_timeout: 60s}
providers:
  sim: {state: "{dir}/cloud.json", boot: 200ms}
node_types:
  t4: {resources: {CPU: 8, GPU: 1}, price: 0.7, max: 4}
"""
GPU = {"CPU": 8, "GPU": 1}


def new_raylet(gcs, name, busy):
    """The raylet on this machine ended, and its supervisor started another."""
    with gcs.lock:
        gcs.join(name, "t4", GPU)
        gcs.nodes[name].node_id = hashlib.sha1(b"again " + name.encode()).digest() + bytes(8)
        if busy:
            gcs.busy(name)


class Slow(Gcs):
    """A drain's answer comes late; meanwhile(name) happens."""
    meanwhile = None

    def drain(self, data):
        name = next(iter(self.nodes))
        if self.meanwhile:
            self.meanwhile(name)
            time.sleep(2)  # wait: the answer is late: that is the fault
        return super().drain(data)


def test_a_raylet_that_was_started_again_while_its_drain_was_asked_keeps_its_work(tmp_path):
    with Slow() as gcs, Daemon(tmp_path, CONFIG % gcs.address) as d:
        gcs.tasks([(GPU, 1)])
        mine = d.until(lambda: d.nodes("t4", "starting"))[0]["cloud_id"]
        gcs.tasks([])
        gcs.meanwhile = lambda name: new_raylet(gcs, name, busy=True)
        gcs.join(mine, "t4", GPU)
        gcs.idle(mine, 60000)
        d.until(lambda: d.events("node.draining"), 15)
        d.stays(lambda: mine in cloud(d) and not d.nodes("t4", "stopping"), 6)
        assert d.nodes("t4", "ready") and not d.events("node.ending")
        # and when its work is done it goes as any other
        gcs.meanwhile = None
        gcs.idle(mine, 60000)
        d.until(lambda: mine not in cloud(d), 20)


def test_a_failure_told_in_other_letters_does_not_silence_the_report(tmp_path):
    """Cut within a letter it is no text for protobuf, and the head would refuse the whole report."""
    text = (ROOT / "providers" / "exec" / "example.py").read_text()
    where = 'return {"phase": "running" if up else "starting", '
    assert where in text
    (tmp_path / "own.py").write_text(text.replace(
        where, 'return {"phase": "failed", "failure": "RETRY", "detail": "x" + "\\u20ac" * 95, '))
    own = CONFIG.replace('sim: {state: "{dir}/cloud.json", boot: 200ms}',
                         'own: {plugin: exec, command: [PYTHON, "{dir}/own.py"], options: {file: "{dir}/cloud.json"}}')
    with Gcs() as gcs, Daemon(tmp_path, own.replace("PYTHON", sys.executable) % gcs.address) as d:
        gcs.tasks([(GPU, 1)])
        d.until(lambda: d.events("node.failed"), 15)
        told = d.until(lambda: [f for r in gcs.reports for f in r.failed_instance_requests], 15, "the head hears nothing")
        assert "x\u20ac\u20ac" in told[0].reason


class Queues(Gcs):
    """Each pending task names a queue of its own."""

    def read(self, data):
        self.reads += 1
        state = autoscaler_pb2.ClusterResourceState(cluster_resource_state_version=self.reads, cluster_session_name="test")
        for i in range(3000):
            r = state.pending_resource_requests.add(count=1).request
            r.resources_bundle["CPU"] = 1
            r.label_selectors.add().label_constraints.add(label_key="davit.io/queue", operator=1, label_values=[f"q{i}"])
        return autoscaler_pb2.GetClusterResourceStateReply(cluster_resource_state=state).SerializeToString()


def test_tasks_of_thousands_of_queues_cost_little_memory(tmp_path):
    with Queues() as gcs, Daemon(tmp_path, CONFIG % gcs.address) as d:
        d.until(lambda: d.events("source.up"), 15)
        d.until(lambda: gcs.reads > 8, 20)  # so many ticks have planned for them
        kib = int(next(x for x in open(f"/proc/{d.p.pid}/status") if x.startswith("VmHWM")).split()[1])
        assert kib < 80 * 1024, f"{kib} KiB"
