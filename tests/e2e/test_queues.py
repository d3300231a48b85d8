"""A Ray task names a queue by its label selector: it gets that queue's machines, and Ray runs it there."""
import json
import subprocess

from lib import DAVIT

TASKS = """
import ray
ray.init(log_to_driver=False)

@ray.remote(num_gpus=1)
class Worker:
    def node(self):
        return ray.get_runtime_context().get_node_id()

# lost is first: a plan that launches for the other, and is recorded, knows of it too
lost = Worker.options(label_selector={{"davit.io/queue": "nope"}}).remote()
named = Worker.options(label_selector={{"davit.io/queue": "fast"}}).remote()
node = ray.get(named.node.remote(), timeout=150)
print("LABELS", [n["Labels"] for n in ray.nodes() if n["NodeID"] == node][0].get("davit.io/queue"), flush=True)
{then}
"""


def test_a_task_goes_to_its_queue(ray, start, tmp_path):
    rec = tmp_path / "rec"
    d = start(queues={"fast": {"node_types": ["t4"], "owners": ["ray"]}, "mine": {"node_types": ["k80"], "owners": ["me"]}},
              args=["--record", str(rec)])
    out = ray.run(TASKS.format(then=""))
    assert "LABELS fast" in out, out
    assert "k80" not in d.started(), "the cheaper type is not in the queue"
    d.until_nodes({})
    records = sorted(rec.glob("*.json"))
    assert len(records) >= 2
    queues = set()
    for f in records:
        done = subprocess.run([DAVIT, "plan", f], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "the same plan as recorded" in done.stdout, done.stdout + done.stderr
        queues |= {x.get("queue", "") for x in json.loads(f.read_text())["demands"]}
    assert {"fast", "nope"} <= queues, queues
