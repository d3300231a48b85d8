"""What a person says of a node, with a real Ray head."""
import contextlib
import hashlib
import hmac
import sqlite3

TASK = """
import ray, time
ray.init(log_to_driver=False)
@ray.remote(num_gpus=1, max_retries=0)
def work(seconds):
    open({file!r}, "w").close()
    time.sleep(seconds)
    return ray.get_runtime_context().get_node_id()
first = work.remote({seconds})
time.sleep(1)
there = ray.get(first)
print("mark", next(n["Labels"].get("davit.io/join", "none") for n in ray.nodes() if n["NodeID"] == there), flush=True)
print("first", there, flush=True)
print("second", ray.get(work.remote(0)), flush=True)
"""


def mark_of(d, node):
    """As docs/provider.md has it, of the key in the journal."""
    with contextlib.closing(sqlite3.connect(d.dir / "davit.db")) as db:
        key, = db.execute("SELECT value FROM value WHERE key = 'join'").fetchone()
        request, cloud_id = db.execute("SELECT request_id, cloud_id FROM machine WHERE id = ?", (node["id"],)).fetchone()
    token = hmac.new(key.encode(), request.encode(), "sha256").hexdigest()[:32]
    return hashlib.sha256(f"{token} {cloud_id}".encode()).hexdigest()[:32]


def test_a_node_that_a_person_drains_ends_its_work_first(ray, start, tmp_path):
    """Ray is asked with a reason that it cannot refuse: nothing new starts there, the task that runs goes to its end, the machine ends."""
    d = start(idle_timeout="1h")
    began = tmp_path / "began"
    driver = ray.spawn(TASK.format(seconds=12, file=str(began)))
    ray.wait(began.exists, 120, "the task", driver)
    # The task may begin before the next view of the cluster, which says on which node.
    node = d.until(lambda: next((n for n in d.nodes() if n["type"] == "k80" and n["ray_id"]), None))
    there, mark = node["ray_id"], mark_of(d, node)
    assert "is drained and ended" in d.cli("drain", node["id"])
    d.until(lambda: "node.draining" in {e["kind"] for e in d.logged()})
    assert "first" not in driver.log.read_text(), "it was drained while the task ran"
    assert driver.wait(200) == 0, driver.log.read_text()
    said = dict(line.split() for line in driver.log.read_text().splitlines() if line.split()[0] in ("first", "second", "mark"))
    assert said.pop("mark") == mark, "what its start makes of its join token is what the daemon looks for"
    assert said["first"] == there != said["second"], (said, node)
    d.until(lambda: node["id"] not in {n["id"] for n in d.nodes()})
    asked, = d.logged("node.asked")
    assert "to be drained and ended, by " in asked["text"]
