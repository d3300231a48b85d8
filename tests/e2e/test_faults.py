"""What must not happen, and what must be made good."""
import concurrent.futures
import json
import os
import pathlib
import random
import signal
import stat
import threading
import time

import grpc
from lib import raycluster, raydaemon, until
from lib.seeds import seed

BUSY = """
import ray, time
ray.init(log_to_driver=False)
@ray.remote(num_gpus=1)
class Worker:
    def ping(self):
        return ray.get_runtime_context().get_node_id()
w = Worker.remote()
node = ray.get(w.ping.remote(), timeout=150)
print("busy", flush=True)
for _ in range({seconds}):
    time.sleep(1)
    assert ray.get(w.ping.remote(), timeout=30) == node
"""


def test_5_a_busy_node_is_never_ended(ray, start):
    d = start(idle_timeout="1s")
    worker = ray.spawn(BUSY.format(seconds=8))
    ray.wait(lambda: "busy" in worker.log.read_text(), 150, "the actor", worker)
    d.hold({"k80": 1}, 6)  # six idle timeouts
    assert worker.wait(200) == 0, worker.log.read_text()
    assert not d.logged("node.draining") or "idle" in d.logged("node.draining")[0]["text"]
    d.until_nodes({})


# The head's raylet answers half a second late, and a raylet that joins hears of the job two seconds after it is there:
# the work that it came for stands in two lines, and its room is free (docs/ray.md, "How old a view is").
NOT_TOLD = {"RAY_testing_asio_delay_us": "NodeManagerService.grpc_server.GetResourceLoad=500000:500000,"
                                         "JobInfoGcsService.grpc_server.GetAllJobInfo=2000000:2000000"}


def test_a_node_that_does_not_know_the_job_yet():
    with raycluster.RayCluster(port=6391, cpus=1, head_env=NOT_TOLD) as ray:
        for _ in range(3):  # seen in every second round
            with raydaemon.RayDaemon(ray, idle_timeout="1s") as d:
                worker = ray.spawn(BUSY.format(seconds=4))
                assert worker.wait(200) == 0, worker.log.read_text()
                assert len(d.logged("node.starting")) == 1, d.story()
                ray.end(worker)
                d.until_nodes({})


def agent_of(ray, worker):
    """The process of its dashboard agent, once there is one."""
    for pid in ray.family(worker.process.pid):
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if any(w.endswith("dashboard/agent.py") for w in words[:6]):
            return pid


def test_a_machine_whose_agents_are_slow_joins(ray):
    """As on a busy machine: a raylet would end itself after 15 s (tests/patient_ray.py), and the machine be bought anew."""
    ray.add_worker("slow", wait=False)
    agent = until(lambda: agent_of(ray, ray.workers["slow"]), every=0.002)
    os.kill(agent, signal.SIGSTOP)
    try:
        until(lambda: ray.node("i-slow"))
    finally:
        os.kill(agent, signal.SIGCONT)
        ray.kill_worker("slow")
        until(lambda: not ray.node("i-slow"), why="the head still has it")  # others count its nodes


class Proxy:
    """Stands between the daemon and the head, and calls before(method) before
    a call is passed on."""

    def __init__(self, target, port, before):
        self.channel = grpc.insecure_channel(target)
        self.before, self.seen = before, []
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
        self.server.add_generic_rpc_handlers((self,))
        assert self.server.add_insecure_port(f"127.0.0.1:{port}") == port
        self.server.start()

    def service(self, details):
        method = details.method

        def call(request, context):
            self.seen.append(method)
            self.before(method)
            return self.channel.unary_unary(method)(request, timeout=10)

        return grpc.unary_unary_rpc_method_handler(call)

    def stop(self):
        self.server.stop(0).wait()
        self.channel.close()


TASKS = """
import pathlib, ray, time
ray.init(log_to_driver=False)
@ray.remote(num_gpus=1, num_cpus=0)
def work(go, started):
    pathlib.Path(started).touch()
    time.sleep(8)
@ray.remote(num_gpus=1, num_cpus=0)
def first():
    return 1
ray.get(first.remote(), timeout=150)   # a node comes, and is idle again
print("warm", flush=True)
while not pathlib.Path({go!r}).exists():
    time.sleep(0.02)
ray.get(work.remote({go!r}, {started!r}), timeout=150)
print("worked", flush=True)
"""


def test_5_a_refused_drain_keeps_the_node(ray, start, tmp_path):
    """Work arrives between the daemon's last look and its drain: the head
    refuses, the node stays and does the work."""
    go, started = tmp_path / "go", tmp_path / "started"

    def before(method):
        if method.endswith("/DrainNode") and not started.exists():
            go.touch()
            until(started.exists, 8, "a busy machine: it is asked again")  # wait: the call has ten seconds
            time.sleep(0.3)  # wait: the head has heard of it: it is told every 100 ms

    # raylets go to the head itself: only the daemon is deceived
    real = raycluster.ray_bin() / "ray"
    ray_program = tmp_path / "ray"
    ray_program.write_text(f"""#!/bin/bash
exec {real} "${{@/#--address=*/--address={ray.address}}}"
""")
    ray_program.chmod(ray_program.stat().st_mode | stat.S_IXUSR)
    proxy = Proxy(ray.address, 6399, before)
    try:
        d = start(address="127.0.0.1:6399", options={"ray": str(ray_program)})
        driver = ray.spawn(TASKS.format(go=str(go), started=str(started)))
        ray.wait(lambda: "warm" in driver.log.read_text(), 150, "the node", driver)
        instance, = d.ray_nodes()
        d.until(lambda: d.logged("node.undrained") or "refuse" in d.text(), why="a refused drain")
        assert started.exists(), "the head had no reason to refuse"
        assert driver.wait(200) == 0, driver.log.read_text()
        assert "worked" in driver.log.read_text()
        node, = [n for n in d.get("/v1/nodes")[1]["nodes"] if n["type"] == "k80"]
        assert instance in (node["cloud_id"], node["id"]), "another node did the work"
        metrics = d.get("/metrics")[1]
        assert "davit_drains_refused_total 1" in metrics
        d.until_nodes({})  # later, when it is idle, it goes
    finally:
        proxy.stop()


def test_5_a_killed_raylet_is_replaced_while_needed(ray, start):
    d = start()
    d.request([{"GPU": 1}])
    d.until_nodes({"k80": 1})
    (instance, node), = d.ray_nodes().items()
    raylet, = [pid for pid in marked_processes(d) if comm(pid) == "raylet"]
    began = time.monotonic()
    os.kill(raylet, signal.SIGKILL)

    def replaced():
        # of any type: the offer of one that died young backs off
        up = [n for n in d.get("/v1/nodes")[1]["nodes"] if n["type"] in ("k80", "t4") and n["state"] == "ready"]
        return len(up) == 1 and up[0]["ray_id"] != node.id and up[0]["cloud_id"] != instance

    d.until(replaced, why="another node")
    print(f"replaced after {time.monotonic() - began:.1f} s")
    d.until(lambda: len(d.handle().list()) == 1, why="the dead one to be cleaned up")
    d.request([])
    d.until_nodes({})
    assert not marked_processes(d)


def marked_processes(d):
    """What the provider started and still lives, by its records' marks."""
    marks = [b"DAVIT_LOCAL_MACHINE=" + json.loads(p.read_text())["mark"].encode()
             for p in (d.dir / "machines").glob("*/*/machine.json")]
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            env = open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
        except OSError:
            continue
        if any(m in env for m in marks):
            found.append(int(pid))
    return found


def comm(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""


def test_6_kill_9_in_the_middle_of_a_scale_up(ray, start):
    """Five owners ask for a node each; the daemon is killed ten times, during
    the requests and while nodes are on their way.  What was acknowledged is
    kept, and exactly five machines were ever started."""
    rng = random.Random(seed())
    types = {"small": {"resources": {"CPU": 1, "GPU": 1}, "price": 0.1, "max": 20}}
    d = start(types=types, idle_timeout="1h")
    acknowledged, kills = set(), 0

    def ask(owner):
        try:
            if d.call("POST", "/v1/request_resources", {"owner": owner, "bundles": [{"GPU": 1}]})[0] in (200, 202):
                acknowledged.add(owner)
        except OSError:
            pass  # killed before it could answer

    def kill_after(seconds):
        nonlocal kills
        time.sleep(seconds)  # wait: the moment of the kill is drawn
        d.kill()
        kills += 1
        d.start()
        standing = {r["owner"] for r in d.get("/v1/request_resources")[1]["requests"] if r["source"] == "rest"}
        assert acknowledged <= standing, "an acknowledged request is lost"

    for i in range(5):
        owner = f"job-{i}"
        asking = threading.Thread(target=ask, args=(owner,))
        asking.start()
        kill_after((i + rng.random()) * 0.014)  # during the request and the launch
        asking.join()
        if owner not in acknowledged:
            ask(owner)
            assert owner in acknowledged
        kill_after(rng.random() * 2)     # while machines start
    assert kills == 10
    d.until(lambda: d.count("ready") == {"small": 5} == d.count(), why="five nodes")
    d.hold({"small": 5}, 3)  # and no sixth
    assert d.count() == {"small": 5}
    machines = d.handle().list()
    assert len(machines) == 5 and {m["phase"] for m in machines} == {"RUNNING"}
    mine = {m["id"].rsplit("-", 1)[0] for m in machines}
    ever = {n.instance_id for n in ray.nodes() if n.type == "small"}
    assert ever == {m["id"] for m in machines}, "a machine too many was started"
    assert len(mine) >= 1
