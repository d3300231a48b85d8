"""autoscaler/wire against a real Ray head, through tests/integration/ray_probe.c.

Runs where only lo is (tests/netns.sh); alone: tests/netns.sh python3 -m pytest
tests/integration/test_ray_head.py.  One head serves most tests.
"""
import json
import os
import pathlib
import subprocess
import time

import pytest

from lib import ROOT, raycluster

GROUP = """
import ray, time
from ray.util.placement_group import placement_group
ray.init(log_to_driver=False)
"""
STAY = "\nprint('there', flush=True)\ntime.sleep(300)\n"


@pytest.fixture(scope="session")
def probe_bin():
    """Built from the objects of the release build."""
    build = ROOT / "build" / "release"
    subprocess.run(["make", "-s", f"{build.relative_to(ROOT)}/libdavit.a", f"{build.relative_to(ROOT)}/libkit.a"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    libs = subprocess.run(["pkg-config", "--libs", "libcurl", "jansson", "libprotobuf-c", "openssl"],
                          check=True, capture_output=True, text=True).stdout.split()
    out = build / "ray_probe"
    subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O1",
                    f"-I{build / 'gen'}", "-o", str(out), "tests/integration/ray_probe.c",
                    str(build / "libdavit.a"), str(build / "libkit.a"), *libs, "-lpthread", "-lm"], cwd=ROOT, check=True)
    return out


class Probe:
    def __init__(self, binary, cluster):
        self.binary, self.cluster = binary, cluster

    def __call__(self, *args, address=None, stdin="", env=None, fails=False):
        e = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        e["HOME"] = "/nonexistent"
        if self.cluster.token and env is None:
            e["RAY_AUTH_TOKEN"] = self.cluster.token
        e.update(env or {})
        done = subprocess.run([str(self.binary), address or self.cluster.address, *args], input=stdin,
                              capture_output=True, text=True, env=e, timeout=60)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        if self.cluster.token:
            assert self.cluster.token not in done.stdout + done.stderr
        return json.loads(done.stdout)

    def view(self):
        return self("read")

    def demands(self, source=None):
        return [d for d in self.view()["demands"] if source in (None, d["source"])]

    def until(self, condition, timeout=60):
        """Reads until the view pleases; returns it."""
        view = None

        def ask():
            nonlocal view
            view = self.view()
            return condition(view)
        try:
            self.cluster.wait(ask, timeout, "the view")
        except AssertionError as e:
            raise AssertionError(f"{e}; the last view: {json.dumps(view, indent=1)}") from None
        return view


@pytest.fixture(scope="module")
def cluster():
    # a lost raylet is dead after some 4 s and not after 13
    quick = {"RAY_health_check_period_ms": "1000", "RAY_health_check_timeout_ms": "2000",
             "RAY_health_check_failure_threshold": "3", "RAY_health_check_initial_delay_ms": "0"}
    with raycluster.RayCluster(cpus=2, env=quick) as c:
        c.add_worker("w1", cpus=2, gpus=1, type="t4", instance_type="g4dn.xlarge", accelerator="T4",
                     labels={"zone": "us-a"})
        yield c


@pytest.fixture
def probe(probe_bin, cluster):
    p = Probe(probe_bin, cluster)
    yield p
    for d in list(cluster.drivers):
        cluster.end(d)
    p.until(lambda v: not [d for d in v["demands"] if d["source"] != "request"])


def driver(cluster, code):
    d = cluster.spawn(code + STAY)
    cluster.wait(lambda: "there" in d.log.read_text() or d.poll() is not None, 90)
    assert d.poll() is None, d.log.read_text()
    return d


def alt(resources, *selector):
    terms = [{"key": k, "op": op, "values": v} for k, op, v in selector]
    return {"resources": resources, "selector": terms}


def bundles(demand):
    """[(count, [alternatives])]"""
    return [(b["count"], b["alts"]) for b in demand["bundles"]]


# ---- nodes

def test_nodes(probe):
    view = probe.until(lambda v: len(v["nodes"]) == 2)
    head = next(n for n in view["nodes"] if n["head"])
    worker = next(n for n in view["nodes"] if not n["head"])
    assert worker["instance_id"] == "i-w1" and worker["type"] == "t4" and worker["machine"] == "g4dn.xlarge"
    assert worker["address"] == "127.0.0.2"
    assert len(worker["ray_id"]) == 56 and worker["ray_id"] == worker["labels"]["ray.io/node-id"]
    assert worker["labels"]["zone"] == "us-a" and worker["labels"]["ray.io/accelerator-type"] == "T4"
    assert worker["total"]["CPU"] == 2 and worker["total"]["GPU"] == 1
    assert set(worker["total"]) == {"CPU", "GPU", "memory", "object_store_memory"}
    assert worker["available"] == worker["total"]
    assert head["total"]["CPU"] == 2 and "GPU" not in head["total"] and head["instance_id"] == ""
    assert view["session"].startswith("session_") and view["version"] > 0 and view["v2"] is True
    later = probe.view()
    assert later["version"] > view["version"] and later["session"] == view["session"]


def test_accelerator_resource_becomes_the_label(probe, cluster):
    cluster.add_worker("bare", gpus=1, resources={"accelerator_type:A100": 1})
    view = probe.until(lambda v: any(n["instance_id"] == "i-bare" for n in v["nodes"]))
    node = next(n for n in view["nodes"] if n["instance_id"] == "i-bare")
    assert node["labels"]["ray.io/accelerator-type"] == "A100"
    assert "accelerator_type:A100" not in node["total"]
    cluster.kill_worker("bare")
    probe.until(lambda v: all(n["status"] == "DEAD" for n in v["nodes"] if n["instance_id"] == "i-bare"))


def test_idle_and_busy(probe, cluster):
    view = probe.until(lambda v: all(n["status"] == "IDLE" for n in v["nodes"] if n["instance_id"] in ("", "i-w1")))
    assert all(n["idle_ms"] >= 0 and n["activity"] == "" for n in view["nodes"] if n["status"] == "IDLE")
    driver(cluster, GROUP + """
@ray.remote(num_gpus=1, num_cpus=0)
class A:
    def f(self): return 1
a = A.remote()
ray.get(a.f.remote())
""")
    view = probe.until(lambda v: any(n["status"] == "RUNNING" and n["instance_id"] == "i-w1" for n in v["nodes"]))
    worker = next(n for n in view["nodes"] if n["instance_id"] == "i-w1")
    assert worker["idle_ms"] == -1
    # everything it has is listed, nothing free too
    assert worker["available"]["GPU"] == 0 and worker["total"]["GPU"] == 1
    assert "GPU" in worker["activity"] and "_group_" not in worker["activity"]


# ---- demands

def test_tasks_and_actors(probe, cluster):
    driver(cluster, GROUP + """
@ray.remote(num_cpus=1)
def f(): time.sleep(300)
keep = [f.options(num_gpus=2).remote() for _ in range(3)]
keep += [f.options(num_cpus=0, num_gpus=0.25, accelerator_type="V100").remote() for _ in range(2)]
keep += [f.options(label_selector={"zone": "in(b,c)", "k": "!x", "m": "!in(p,q)"}).remote() for _ in range(4)]
keep += [f.options(label_selector={"zone": "z1"}, fallback_strategy=[
    {"label_selector": {"zone": "z2"}}, {"label_selector": {"zone": "z3"}}]).remote() for _ in range(2)]
@ray.remote(num_cpus=0, num_gpus=3, resources={"disk": 0.5}, memory=1 << 30)
class A: pass
keep.append(A.remote())
""")
    want = sorted([
        (3, [alt({"CPU": 1, "GPU": 2})]),
        (2, [alt({"GPU": 0.25}, ("ray.io/accelerator-type", "in", ["V100"]))]),
        (4, [alt({"CPU": 1}, ("k", "not in", ["x"]), ("m", "not in", ["p", "q"]), ("zone", "in", ["b", "c"]))]),
        (2, [alt({"CPU": 1}, ("zone", "in", [z])) for z in ("z1", "z2", "z3")]),
        (1, [alt({"GPU": 3, "disk": 0.5, "memory": 1 << 30})]),
    ], key=str)
    view = probe.until(lambda v: v["demands"] and sorted(bundles(v["demands"][0]), key=str) == want)
    assert [(d["source"], d["owner"], d["id"], d["strategy"]) for d in view["demands"]] == [("task", "ray", "", "")]
    # the same state gives the same view, though the map order changes
    assert all(probe.view()["demands"] == view["demands"] for _ in range(5))


def test_what_no_new_machine_helps_is_left_out(probe, cluster):
    driver(cluster, GROUP + """
from ray.util.scheduling_strategies import *
pg = placement_group([{"CPU": 1}], strategy="PACK"); ray.get(pg.ready())
@ray.remote(num_cpus=1)
def f(): time.sleep(300)
inside = PlacementGroupSchedulingStrategy(pg)
keep = [f.options(scheduling_strategy=inside).remote() for _ in range(5)]
first = PlacementGroupSchedulingStrategy(pg, placement_group_bundle_index=0)
keep += [f.options(scheduling_strategy=first).remote() for _ in range(5)]
keep += [f.options(resources={"node:__internal_head__": 0.6}).remote() for _ in range(5)]
here = NodeAffinitySchedulingStrategy(ray.nodes()[0]["NodeID"], soft=False)
keep += [f.options(scheduling_strategy=here).remote() for _ in range(9)]
""")
    view = probe.until(lambda v: v["elsewhere"] >= 3)
    assert view["demands"] == [] and view["garbled"] == 0
    for n in view["nodes"]:  # what a group took shows as what is not free, and in no other way
        assert not [r for r in n["total"] if "_group_" in r]
    assert any(n["available"]["CPU"] < n["total"]["CPU"] for n in view["nodes"] if n["status"] == "RUNNING")


@pytest.mark.parametrize("strategy", ["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"])
def test_placement_groups(probe, cluster, strategy):
    d = driver(cluster, GROUP + f"""
keep = placement_group([{{"GPU": 4}}] * 50 + [{{"GPU": 2, "CPU": 1}}], strategy="{strategy}",
                       bundle_label_selector=[{{"zone": "a"}}] * 50 + [{{"zone": "in(c,b)"}}])
print("id", keep.id.hex(), flush=True)
""")
    view = probe.until(lambda v: v["demands"])
    assert len(view["demands"]) == 1
    gang = view["demands"][0]
    assert gang["source"] == "gang" and gang["strategy"] == strategy and gang["owner"] == "ray"
    assert gang["id"] == next(line.split()[1] for line in d.log.read_text().splitlines() if line.startswith("id "))
    assert bundles(gang) == [
        (1, [alt({"CPU": 1, "GPU": 2}, ("zone", "in", ["b", "c"]))]),
        (50, [alt({"GPU": 4}, ("zone", "in", ["a"]))]),
    ]


def test_lost_bundle_of_a_strict_spread(probe, cluster):
    """Only what was lost is asked for, and not where the others are."""
    cluster.add_worker("lost", cpus=2)
    driver(cluster, GROUP + """
pg = placement_group([{"CPU": 2}] * 3, strategy="STRICT_SPREAD"); ray.get(pg.ready())
""")
    cluster.kill_worker("lost")
    view = probe.until(lambda v: v["demands"])
    gang = view["demands"][0]
    label = f"_PG_{gang['id']}"
    assert gang["strategy"] == "STRICT_SPREAD"
    assert bundles(gang) == [(1, [alt({"CPU": 2}, (label, "not in", [""]))])]
    holders = [n["instance_id"] for n in view["nodes"] if label in n["labels"] and n["status"] != "DEAD"]
    assert sorted(holders) == ["", "i-w1"]


def test_request_resources(probe, cluster):
    cluster.run("""
import ray
from ray.autoscaler.sdk import request_resources
ray.init(log_to_driver=False)
request_resources(num_cpus=3, bundles=[{"GPU": 1}] * 2 + [{"CPU": 1}] + [{"GPU": 0.5, "CPU": 2}],
                  bundle_label_selectors=[{"zone": "a"}, {"zone": "b"}, {}, {"zone": "!c"}])
""")
    view = probe.until(lambda v: v["demands"])
    assert [(d["source"], d["owner"]) for d in view["demands"]] == [("request", "ray")]
    assert sorted(bundles(view["demands"][0]), key=str) == sorted([
        (4, [alt({"CPU": 1})]),
        (1, [alt({"GPU": 1}, ("zone", "in", ["a"]))]),
        (1, [alt({"GPU": 1}, ("zone", "in", ["b"]))]),
        (1, [alt({"CPU": 2, "GPU": 0.5}, ("zone", "not in", ["c"]))]),
    ], key=str)
    cluster.run("import ray; ray.init(); from ray.autoscaler.sdk import request_resources; request_resources(bundles=[])")
    probe.until(lambda v: not v["demands"])


# ---- the report

def test_report_in_ray_status(probe, cluster):
    now = int(time.time())
    driver(cluster, GROUP + """
@ray.remote(num_gpus=8)
def f(): pass
keep = [f.remote() for _ in range(3)]
keep.append(placement_group([{"GPU": 16}] * 2, strategy="STRICT_PACK"))
@ray.remote(num_cpus=0, num_gpus=1, accelerator_type="V100")
def g(): pass
keep.append(g.remote())
""")
    probe.until(lambda v: len(v["demands"]) == 2 and len(v["demands"][0]["bundles"]) == 2)
    report = {
        "pending": [{"type": "t4", "machine": "g4dn.xlarge", "id": "i-7", "address": "127.0.0.9", "detail": "booting"},
                    {"type": "t4"}, {"type": "t4"}, {"type": "a100"}],
        "failed": [{"type": "k80", "reason": "stockout in us-a", "start_s": now - 60, "failed_s": now, "count": 3}],
        "infeasible": "all", "why": "the nearest type has GPU 1",
    }
    assert probe("report", stdin=json.dumps(report)) == {"reported": True}
    text = cluster.status(verbose=True)
    assert " t4, 2 launching\n a100, 1 launching\n i-7: t4, booting\n" in text
    assert " k80: LaunchFailed (latest_attempt: " in text and " - stockout in us-a" in text
    tail = text[text.index("Infeasible (davit"):]
    assert " {'CPU': 1.0, 'GPU': 8.0}: 3 pending tasks/actors: the nearest type has GPU 1\n" in tail
    assert " {'GPU': 1.0, 'accelerator_type:V100': 0.001}: 1 pending tasks/actors: the nearest" in tail
    assert " {'GPU': 16.0} * 2 (STRICT_PACK): placement group " in tail
    # a new driver is told at once
    log = cluster.run("import ray, time; ray.init(); time.sleep(1)")
    assert "Infeasible (davit" in log

    # from another process (a restarted daemon): nothing to report, all gone
    assert probe("report", stdin="{}") == {"reported": True}
    text = cluster.status(verbose=True)
    assert "(no pending nodes)" in text and "LaunchFailed" not in text and "Infeasible" not in text


def test_somebody_elses_error_is_left_alone(probe, cluster):
    put = """
from ray._raylet import GcsClient
import os
GcsClient(address=os.environ["RAY_ADDRESS"]).internal_kv_%s
"""
    cluster.run(put % 'put(b"__autoscaling_error", b"not ours", True, None)')
    probe("report", stdin="{}")
    assert cluster.status().rstrip().endswith("not ours")
    cluster.run(put % 'del(b"__autoscaling_error", False, None)')


# ---- draining

def test_drain(probe, cluster):
    cluster.add_worker("d1", cpus=1, resources={"d1": 1})
    driver(cluster, GROUP + """
@ray.remote(num_cpus=1, resources={"d1": 0.1})
class A:
    def f(self): return 1
a = A.remote()
ray.get(a.f.remote())
""")
    view = probe.until(lambda v: any(n["instance_id"] == "i-d1" and n["status"] == "RUNNING" for n in v["nodes"]))
    ray_id = next(n["ray_id"] for n in view["nodes"] if n["instance_id"] == "i-d1")
    assert probe("drain", ray_id) == {"accepted": False, "why": "The node to be idle terminated is no longer idle."}
    assert probe.view()["nodes"] and cluster.node("i-d1").status == "RUNNING"
    cluster.end(cluster.drivers[-1])
    probe.until(lambda v: any(n["ray_id"] == ray_id and n["status"] == "IDLE" for n in v["nodes"]))
    assert probe("drain", ray_id) == {"accepted": True, "why": ""}
    probe.until(lambda v: any(n["ray_id"] == ray_id and n["status"] == "DEAD" for n in v["nodes"]))
    cluster.kill_worker("d1")


def test_drain_for_preemption(probe, cluster):
    cluster.add_worker("d2", cpus=1, resources={"d2": 1})
    driver(cluster, GROUP + """
@ray.remote(num_cpus=1, resources={"d2": 0.1})
class A:
    def f(self): return 1
a = A.remote()
ray.get(a.f.remote())
""")
    view = probe.until(lambda v: any(n["instance_id"] == "i-d2" and n["status"] == "RUNNING" for n in v["nodes"]))
    ray_id = next(n["ray_id"] for n in view["nodes"] if n["instance_id"] == "i-d2")
    assert probe("drain", ray_id, "preempt") == {"accepted": True, "why": ""}
    probe.until(lambda v: any(n["ray_id"] == ray_id and n["status"] == "DRAINING" for n in v["nodes"]))
    cluster.kill_worker("d2")


def test_drain_of_a_bad_id(probe):
    assert probe("drain", "not-hex", fails=True)["status"] == "INVALID"
    assert probe("drain", "abc", fails=True)["status"] == "INVALID"


# ---- trouble

def test_wrong_places(probe, cluster):
    e = probe("read", address="127.0.0.1:1", fails=True)
    assert e["status"] == "RETRY" and "no connection to Ray head 127.0.0.1:1" in e["error"]
    e = probe("read", address=f"ray://{cluster.address}", fails=True)
    assert e["status"] == "INVALID"
    e = probe("read", address=f"https://{cluster.address}", fails=True)
    assert e["status"] in ("RETRY", "INVALID") and e["error"]
    # a raylet speaks gRPC too, but knows nothing of this
    ports = [int(line.split()[1].rsplit(":", 1)[1], 16) for f in ("tcp", "tcp6")
             for line in pathlib.Path(f"/proc/net/{f}").read_text().splitlines()[1:]
             if line.split()[3] == "0A" and listens_as(line.split()[9], "raylet")]
    assert ports
    for port in ports:
        e = probe("read", address=f"127.0.0.1:{port}", fails=True)
        # RETRY: it answered so early that curl dropped the answer
        assert e["status"] in ("UNSUPPORTED", "RETRY") and "GCS port" in e["error"], e


def listens_as(inode, comm):
    for pid in os.listdir("/proc"):
        try:
            if pid.isdigit() and pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == comm and any(
                    os.readlink(f"/proc/{pid}/fd/{fd}") == f"socket:[{inode}]" for fd in os.listdir(f"/proc/{pid}/fd")):
                return True
        except OSError:
            continue
    return False


class Serving:
    """ray_probe serve: one ray_head over many commands."""

    def __init__(self, probe, cluster, **env):
        e = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        e.update(env)
        self.p = subprocess.Popen([str(probe.binary), cluster.address, "-d", "2000", "serve"], env=e, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())

    def close(self):
        self.p.stdin.close()
        assert self.p.wait(60) == 0
        self.p.stdout.close()


def test_token(probe_bin, tmp_path):
    """On: with the token all works; without it the message says what to do."""
    token = "0123456789abcdef0123456789abcdef"
    with raycluster.RayCluster(port=6391, token=token) as c:
        probe = Probe(probe_bin, c)
        assert probe("read", env={"RAY_AUTH_TOKEN": token})["nodes"]

        e = probe("read", env={}, fails=True)
        assert e["status"] == "AUTH" and e["code"] == "UNAUTHENTICATED"
        assert "none was found" in e["error"] and "RAY_AUTH_TOKEN" in e["error"] and "token_file" in e["error"]

        e = probe("read", env={"RAY_AUTH_TOKEN": "wrong"}, fails=True)
        assert e["status"] == "AUTH" and "refuses the token from RAY_AUTH_TOKEN" in e["error"]
        assert "wrong" not in e["error"]

        path = tmp_path / "token"
        path.write_text(f"  {token}\n")
        assert probe("read", env={"RAY_AUTH_TOKEN_PATH": str(path)})["nodes"]
        assert probe("-t", str(path), "read", env={"RAY_AUTH_TOKEN": "wrong"})["nodes"]
        home = tmp_path / "home"
        (home / ".ray").mkdir(parents=True)
        (home / ".ray" / "auth_token").write_text(token)
        assert probe("read", env={"HOME": str(home)})["nodes"]

        e = probe("-t", str(tmp_path / "absent"), "read", env={}, fails=True)
        assert "absent: No such file" in e["error"]
        path.write_text("two\nlines")
        e = probe("-t", str(path), "read", env={}, fails=True)
        assert "is not a token" in e["error"] and "two" not in e["error"]

        # rotated under a running daemon
        path.write_text("old")
        s = Serving(probe, c, RAY_AUTH_TOKEN_PATH=str(path))
        assert s("read")["status"] == "AUTH"
        path.write_text(token)
        assert s("read")["nodes"]
        assert s('report {"pending": [{"type": "t4"}]}') == {"reported": True}
        s.close()
        assert "t4, 1 launching" in c.status()


def test_head_without_v2(probe_bin):
    """Its nodes and tasks can be read; what cannot is said."""
    with raycluster.RayCluster(port=6394, env={"RAY_enable_autoscaler_v2": None}) as c:
        view = Probe(probe_bin, c).view()
        assert view["v2"] is False and len(view["nodes"]) == 1


def test_early_exit(probe_bin):
    """What is reported infeasible, Ray knows as its own shapes, and fails."""
    with raycluster.RayCluster(port=6395, env={"RAY_enable_infeasible_task_early_exit": "true"}) as c:
        probe = Probe(probe_bin, c)
        d = driver(c, GROUP + """
import threading
@ray.remote(num_gpus=1, num_cpus=0, accelerator_type="V100")
def f(): return 1
@ray.remote(num_cpus=0.5, num_gpus=3)
class A:
    def h(self): return 1
a = A.remote()
refs = [f.remote(), a.h.remote()]
def wait():
    for r in refs:
        try: print("got", ray.get(r), flush=True)
        except Exception as e: print("failed", type(e).__name__, flush=True)
threading.Thread(target=wait, daemon=True).start()
""")
        probe.until(lambda v: v["demands"] and len(v["demands"][0]["bundles"]) == 2)
        probe("report", stdin='{"infeasible": "all"}')
        c.wait(lambda: "failed ActorUnschedulableError" in d.log.read_text(), 20)
        assert "failed TaskUnschedulableError" in d.log.read_text()


def test_tls(probe_bin, tmp_path):
    """Mutual TLS, as RAY_USE_TLS turns it on."""
    with raycluster.RayCluster(port=6393, tls=True) as c:
        probe = Probe(probe_bin, c)
        env = c.tls_environment()
        assert probe("read", env=env)["nodes"]
        assert probe("report", env=env, stdin=json.dumps({"pending": [{"type": "t4"}]})) == {"reported": True}
        assert probe("read", "200", env=env)["nodes"]
        assert "t4, 1 launching" in c.status()
        # by the address alone, without RAY_USE_TLS
        assert probe("read", address=f"https://{c.address}", env={**env, "RAY_USE_TLS": "0"})["nodes"]
        e = probe("read", env={}, fails=True)
        assert e["status"] == "RETRY" and "https://" in e["error"]
        e = probe("read", env={**env, "RAY_TLS_CA_CERT": "/nonexistent"}, fails=True)
        assert e["status"] == "INVALID" and "/nonexistent" in e["error"]
        e = probe("read", address=f"https://{c.address}", env={}, fails=True)
        assert e["status"] == "INVALID" and "not trusted" in e["error"], e
        e = probe("read", env={"RAY_USE_TLS": "1", "RAY_TLS_CA_CERT": env["RAY_TLS_CA_CERT"]}, fails=True)
        assert e["status"] in ("RETRY", "INVALID") and "RAY_TLS_SERVER_CERT" in e["error"]


def test_head_restarts(probe_bin):
    """Another cluster id on the same address: the same ray_head goes on."""
    with raycluster.RayCluster(port=6392) as c:
        s = Serving(Probe(probe_bin, c), c)
        first = s("read")
        c.run("import ray; ray.init(); from ray.autoscaler.sdk import request_resources; request_resources(bundles=[{'GPU': 9}])")
        assert s('report {"infeasible": "all"}') == {"reported": True}
        assert "Infeasible (davit" in c.status()
        c.stop_head()
        e = s("read")
        assert e["status"] == "RETRY" and e["error"]
        c.start_head()
        second = s("read")
        assert second["session"] != first["session"] and len(second["nodes"]) == 1
        assert second["nodes"][0]["ray_id"] != first["nodes"][0]["ray_id"] and second["demands"] == []
        # what was written before the restart is not taken for written now
        assert "Infeasible" not in c.status()
        c.run("import ray; ray.init(); from ray.autoscaler.sdk import request_resources; request_resources(bundles=[{'GPU': 9}])")
        assert s('report {"infeasible": "all"}') == {"reported": True}
        assert "Infeasible (davit" in c.status()
        # and without our noticing: no call while it was away
        c.restart_head()
        third = s("read")
        assert third["session"] != second["session"]
        s.close()
