"""The plug-in k8s against an API server that can be made to refuse, forget and be written by others (lib/kube_fake.py).
The same on a real API server: tests/k8s."""
import contextlib
import json
import pathlib
import subprocess
import urllib.request

import pytest

from lib import DAVIT, PATIENCE, ROOT, free_port, kube_fake, until, wave
from lib.clocks import Clocks
from lib.daemon import Daemon
from lib.drive import Drive

BUILD = ROOT / "build" / "release"
PLUGIN = BUILD / "plugins" / "davit-k8s.so"

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture(scope="module", autouse=True)
def tools():
    subprocess.run(["make", "-s", "build/release/tests/check_provider", "build/release/tests/drive"], cwd=ROOT,
                   check=True)


class Rig(Drive):
    """A fake API server, and the plug-in driven over it."""

    def __init__(self, folder, groups, **options):
        self.world = kube_fake.World(groups=groups)
        self.server = kube_fake.serve(self.world)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.dir = folder
        (folder / "token").write_text("first")
        names = [g["groupName"] for g in groups]
        more = "".join(f", {k}: {v}" for k, v in options.items())
        types = "\n".join(f"  {n}: {{provider: k8s, pool: {n}, resources: {{CPU: 4, GPU: 1}}}}" for n in names)
        self.config = (f"cluster: raycluster\nproviders: {{k8s: {{endpoint: '{self.url}', namespace: default, token_file: "
                       f"{folder}/token{more}}}}}\nnode_types:\n{types}\n")
        self.open()

    def open(self):
        super().__init__(self.dir, self.config, "k8s",
                         {"no_proxy": "127.0.0.1", "DAVIT_PLUGIN_DIR": str(BUILD / "plugins")})

    def launch(self, n, request="davit-00", kind="gpu", **more):
        return super().launch(n, request, kind, **more)

    def running(self, n):
        self.until(lambda: len(self.machines(phase="RUNNING")) == n)
        return [m["id"] for m in self.machines()]

    def set(self, **faults):
        with self.world.lock:
            self.world.set.update(faults)

    def group(self, i=0):
        with self.world.lock:
            return json.loads(json.dumps(self.world.cluster["spec"]["workerGroupSpecs"][i]))

    def patches(self):
        with self.world.lock:
            return [x[2] for x in self.world.sent if x[0] == "PATCH"]


@contextlib.contextmanager
def rig(folder, *groups, **options):
    r = Rig(folder, list(groups) or [kube_fake.group()], **options)
    try:
        with r:
            yield r
    finally:
        r.server.shutdown()


def test_contract(tmp_path):
    world = kube_fake.World()
    server = kube_fake.serve(world)
    url = f"http://127.0.0.1:{server.server_address[1]}"

    def post(body):
        return f"curl -fsS -o /dev/null --noproxy '*' -d '{json.dumps(body)}' {url}/_test"
    faults = [("THROTTLED", 429), ("AUTH", 401), ("AUTH", 403), ("RETRY", 404), ("RETRY", 500), ("RETRY", 503),
              ("RETRY", 410), ("INVALID", 422), ("INVALID", 400)]
    args = [a for status, code in faults for a in ("--fault", f"{status}={post({'fail': code})}")]
    out = subprocess.run([BUILD / "tests" / "check_provider", PLUGIN, "-t", "gpu", "-p", "gpu", "-r", "CPU=4", "-r", "GPU=1",
                          "-o", f"endpoint={url}", "-o", "cluster=raycluster", "-o", "namespace=default", "--ready", "20",
                          "--gone", "20", "--call", "20", "--settle", "0.1", "--heal", post({"fail": 0}),
                          "--lose", post({"drop": 1}), *args],
                         capture_output=True, text=True, env={"no_proxy": "127.0.0.1", "PATH": "/usr/bin:/bin"}, timeout=300)
    assert out.returncode == 0, out.stdout + out.stderr
    assert " laws kept, 0 broken, 0 skipped" in out.stdout


# ---- what a list lacks

def test_a_pod_is_asked_for_by_its_name(tmp_path):
    with rig(tmp_path) as r:
        r.launch(3)
        a, b, c = r.running(3)
        r.set(hidden=[a], operator=False)
        with r.world.lock:
            del r.world.pods[b]
        promise = "promised.davit-00.0"
        assert r.call("find", ids=[a, b, c, promise])["done"] == {a: "OK", b: "NOT_FOUND", c: "OK", promise: "NOT_FOUND"}
        r.set(fail=404)  # of the path, of a proxy: no word on a pod
        assert set(r.call("find", ids=[a, b, promise])["done"].values()) == {"RETRY"}


def test_a_promised_replica_is_there_while_a_list_has_it(tmp_path):
    with rig(tmp_path) as r:
        r.set(operator=False)
        r.launch(2)
        r.until(lambda: len(r.list()) == 2)
        ids = sorted(m["id"] for m in r.list())
        assert ids == ["promised.davit-00.0", "promised.davit-00.1"]
        assert r.call("find", ids=ids)["done"] == dict.fromkeys(ids, "OK")
        r.set(operator=True)
        r.running(2)
        assert r.call("find", ids=ids)["done"] == dict.fromkeys(ids, "NOT_FOUND")


WAVE = """cluster: raycluster
api: {{listen: "127.0.0.1:{{port}}"}}
state: "{{dir}}/davit.db"
limits: {{max_nodes: 20, idle_timeout: 1h}}
providers: {{k8s: {{endpoint: '{url}', namespace: default, token_file: {token}}}}}
node_types:
  gpu: {{provider: k8s, pool: gpu, resources: {{CPU: 4, GPU: 1}}}}
"""


@pytest.fixture
def waved(tmp_path):
    """A daemon with ten pods that nobody but the API server tells of."""
    world = kube_fake.World()
    server = kube_fake.serve(world)
    (tmp_path / "token").write_text("first")
    text = WAVE.format(url=f"http://127.0.0.1:{server.server_address[1]}", token=tmp_path / "token")
    try:
        with Daemon(tmp_path, text, env={"no_proxy": "127.0.0.1", "DAVIT_PLUGIN_DIR": str(BUILD / "plugins")}) as d:
            d.world = world
            d.post({"owner": "w", "bundles": [{"GPU": 1}] * 10})
            d.until(lambda: d.ready("gpu") == 10)
            wave.age(d, 15 * 60, lambda ahead: None)
            yield d
    finally:
        server.shutdown()


def test_a_list_that_lacks_many_ends_nothing(waved):
    """Six of ten pods are missing from its lists, and are there: nothing is ended, nothing bought, and it is over with the list."""
    d, before = waved, sorted(waved.world.pods)
    d.world.set["hidden"] = before[:6]
    wave.looked(d, lambda: d.events("list.checked"), "the API server was not asked for them by their names")
    for _ in range(40):
        wave.looked(d, lambda: True, "")
    assert "list_short" in wave.stopped(d)
    d.world.set["hidden"] = []
    wave.looked(d, lambda: len(d.nodes()) == 10 and "list_short" not in wave.stopped(d), "what was taken for promised is forgotten")
    assert sorted(d.world.pods) == before and d.ready("gpu") == 10 and len(d.events("launch")) == 1


def test_a_wave_is_believed(waved):
    """Six of ten pods are gone at once, and KubeRay makes six in their place: none of them is a surplus beside six that are missing."""
    d, before = waved, sorted(waved.world.pods)
    with d.world.lock:
        for name in before[:6]:
            del d.world.pods[name]
    wave.looked(d, lambda: d.events("list.checked"), "the API server was not asked for them by their names")
    wave.looked(d, lambda: len(d.events("node.lost")) >= 6 and d.ready("gpu") == 10 == len(d.nodes()), "they are not replaced")
    took = max(wave.at(e) for e in d.events("node.lost")) - wave.at(d.events("list.checked")[0])
    assert took.total_seconds() < 5
    assert "list_short" not in wave.stopped(d) and set(before[6:]) < set(d.world.pods) and len(d.world.pods) == 10
    assert d.world.cluster["spec"]["workerGroupSpecs"][0]["replicas"] == 10 and len(d.events("launch")) == 1


# ---- growing

def test_a_thousand_by_one_patch(tmp_path):
    with rig(tmp_path) as r:
        assert r.launch(1000)["status"] == "OK"
        assert len(r.patches()) == 1 and r.group()["replicas"] == 1000
        r.until(lambda: len(r.machines(request="davit-00")) == 1000)


def test_the_same_request_at_once_is_one_raise(tmp_path):
    with rig(tmp_path) as r:
        got = r.call("launch", type="gpu", count=3, request="davit-01", n=4)
        assert [g["status"] for g in got] == ["OK"] * 4
        assert len(r.patches()) == 1 and r.group()["replicas"] == 3


def test_lost_reply_raises_nothing_twice(tmp_path):
    with rig(tmp_path) as r:
        r.set(drop=1)
        assert r.launch(2)["status"] == "RETRY"
        assert r.group()["replicas"] == 2, "the deed was done"
        assert r.launch(2)["status"] == "OK" and r.group()["replicas"] == 2
        r.close()
        r.open()  # another process finds it too
        assert r.launch(2)["status"] == "OK" and r.group()["replicas"] == 2


def test_written_by_others_at_the_worst_moment(tmp_path):
    with rig(tmp_path) as r:
        r.set(conflicts=4)
        assert r.launch(2)["status"] == "OK" and r.group()["replicas"] == 2
        assert len(r.patches()) == 5
        r.set(conflicts=1000)
        reply = r.launch(1, "davit-02")
        assert reply["status"] == "RETRY" and "somebody else" in reply["text"]
        assert r.group()["replicas"] == 2


def test_max_replicas_is_a_quota(tmp_path):
    with rig(tmp_path, kube_fake.group(high=3)) as r:
        assert r.launch(2)["status"] == "OK"
        reply = r.launch(2, "davit-02")
        assert reply["status"] == "QUOTA" and "maxReplicas of 3" in reply["text"]
        assert r.group()["replicas"] == 2


def test_replicas_over_max_count_as_max(tmp_path):
    """The operator makes maxReplicas pods and leaves the number standing."""
    with rig(tmp_path, kube_fake.group(replicas=5, high=2)) as r:
        ids = r.running(2)
        assert r.launch(1)["status"] == "QUOTA"
        assert r.call("terminate", ids=ids[:1])["status"] == "OK"
        r.until(lambda: [m["id"] for m in r.machines()] == ids[1:])
        assert r.group()["replicas"] == 1


def test_promised_replicas_are_machines_on_their_way(tmp_path):
    """Raised by somebody else, and the operator sleeps: not raised a second time."""
    with rig(tmp_path, kube_fake.group(replicas=2)) as r:
        r.set(operator=False)
        r.world.pods.clear()
        got = r.machines()
        assert [m["phase"] for m in got] == ["STARTING"] * 2 and "promised" in got[0]["detail"]


def test_pods_over_replicas_are_counted(tmp_path):
    """Lowering replicas deletes nobody; a raise must still have an effect."""
    with rig(tmp_path, kube_fake.group(replicas=3)) as r:
        r.running(3)
        with r.world.lock:
            r.world.cluster["spec"]["workerGroupSpecs"][0]["replicas"] = 1
            r.world.touch()
        r.machines()
        assert r.launch(1)["status"] == "OK"
        assert r.group()["replicas"] == 4
        r.running(4)


# ---- shrinking

def test_exactly_that_pod_and_the_list_is_cleaned(tmp_path):
    with rig(tmp_path) as r:
        r.launch(3)
        ids = r.running(3)
        before = len(r.patches())
        reply = r.call("terminate", ids=[ids[1]])
        assert reply["done"] == {ids[1]: "OK"}
        patch, = r.patches()[before:]
        paths = [s["path"].rsplit("/", 1)[1] for s in patch]
        assert "replicas" in paths and {"workersToDelete", "scaleStrategy"} & set(paths), patch
        assert patch[0]["path"] == "/metadata/resourceVersion"
        r.until(lambda: {m["id"] for m in r.machines()} == {ids[0], ids[2]})
        r.until(lambda: r.machines() and r.group()["scaleStrategy"]["workersToDelete"] == [])
        assert r.group()["replicas"] == 2


def test_lost_reply_of_an_end_lowers_once(tmp_path):
    with rig(tmp_path) as r:
        r.launch(3)
        ids = r.running(3)
        r.set(drop=1, operator=False)
        assert r.call("terminate", ids=ids[:1])["status"] == "RETRY"
        for _ in range(3):
            assert r.call("terminate", ids=ids[:1])["done"] == {ids[0]: "OK"}
        assert r.group()["replicas"] == 2
        r.set(operator=True)
        r.running(2)
        assert r.call("terminate", ids=ids[:1])["done"] == {ids[0]: "NOT_FOUND"}
        assert r.group()["replicas"] == 2


def test_ends_of_several_groups_are_one_patch(tmp_path):
    with rig(tmp_path, kube_fake.group("a", replicas=2), kube_fake.group("b", replicas=2)) as r:
        r.running(4)
        ends = [r.machines(type=t)[0]["id"] for t in "ab"]
        before = len(r.patches())
        r.call("terminate", ids=ends)
        assert len(r.patches()) == before + 1
        r.until(lambda: len(r.machines()) == 2)


def test_units_of_hosts_go_together(tmp_path):
    with rig(tmp_path, kube_fake.group(hosts=2)) as r:
        assert r.launch(3)["status"] == "OK"  # 2 units: bought whole
        r.running(4)
        with r.world.lock:
            by = {}
            for n, p in r.world.pods.items():
                by.setdefault(p["metadata"]["labels"]["ray.io/worker-group-replica-name"], []).append(n)
        (one, two), kept = by.values()
        reply = r.call("terminate", ids=[one])
        assert reply["done"] == {one: "RETRY"} and "waits for the others" in reply["text"]
        assert r.group()["replicas"] == 2
        assert r.call("terminate", ids=[two])["done"] == {two: "OK"}
        r.until(lambda: {m["id"] for m in r.machines()} == set(kept))
        assert r.group()["replicas"] == 1


# ---- what stands in the way

def test_quota_is_told_and_taken_back(tmp_path):
    """No pod exists that could say so: the operator does, in the RayCluster's status."""
    with rig(tmp_path) as r:
        r.set(quota=1)
        r.launch(3)
        r.until(lambda: len(r.machines(phase="FAILED", failure="QUOTA", request="davit-00")) == 2)
        failed = r.machines(phase="FAILED")
        assert "exceeded quota" in failed[0]["detail"]
        for _ in range(2):  # twice: the first reply may be lost
            r.call("terminate", ids=[m["id"] for m in failed])
            assert r.group()["replicas"] == 1
        r.until(lambda: len(r.machines()) == 1 and r.machines(phase="RUNNING"))


@pytest.mark.parametrize("status,option,failure,words", [
    ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
                                          "lastTransitionTime": "2026-01-01T00:00:00Z"}]}, {}, "STOCKOUT", "gate"),
    ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
      "message": "0/5 nodes are available: 5 Insufficient nvidia.com/gpu.",
      "lastTransitionTime": "2026-01-01T00:00:00Z"}]}, {"unschedulable_timeout": "1s"}, "STOCKOUT",
     "5 Insufficient nvidia.com/gpu"),
    ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Pending",
      "message": "insufficient quota in queue gpu", "lastTransitionTime": "2026-11-21T00:00:00Z"}]}, {}, "QUOTA", "queue gpu"),
    ({"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}, {}, "RETRY", "Evicted"),
])
def test_pods_that_fail(tmp_path, status, option, failure, words):
    with rig(tmp_path, **option) as r:
        r.set(pod_status=status)
        r.launch(1)
        r.until(lambda: r.machines(phase="FAILED"))
        m, = r.machines()
        assert m["failure"] == failure and words in m["detail"], m


@pytest.mark.parametrize("status,words", [
    ({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
      "message": "0/5 nodes", "lastTransitionTime": "2999-01-01T00:00:00Z"}]}, "Unschedulable: 0/5 nodes"),
    ({"phase": "Pending", "containerStatuses": [{"name": "ray", "image": "x:1", "state": {"waiting": {
        "reason": "ImagePullBackOff"}}}]}, "waits for a node"),
    ({"phase": "Running", "containerStatuses": [{"name": "ray", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
     "CrashLoopBackOff"),
])
def test_pods_that_are_slow(tmp_path, status, words):
    with rig(tmp_path) as r:
        r.set(pod_status=status)
        r.launch(1)
        r.until(lambda: r.machines())
        m, = r.machines()
        assert m["phase"] == "STARTING" and words in m["detail"], m


def test_gate_and_suspend(tmp_path):
    with rig(tmp_path, kube_fake.group("a", scaleStrategy={"scaleGate": {"reason": "over quota"}}),
             kube_fake.group("b", suspend=True), kube_fake.group("c", replicas=1)) as r:
        reply = r.launch(1, kind="a")
        assert reply["status"] == "STOCKOUT" and "over quota" in reply["text"]
        reply = r.launch(1, kind="b")
        assert reply["status"] == "STOCKOUT" and "suspended" in reply["text"]
        assert {o["type"]: o["available"] for o in r.call("offers")["offers"]} == {"a": False, "b": False, "c": True}
        assert not r.patches()


def test_a_group_at_its_minimum_is_held(tmp_path):
    """KubeRay keeps minReplicas pods: one that is named in workersToDelete is made anew, so none is named."""
    with rig(tmp_path, kube_fake.group(replicas=3, low=2)) as r:
        first = r.running(3)
        assert {m["held"] for m in r.machines()} == {""}
        reply = r.call("terminate", ids=first[:2])
        assert sorted(reply["done"].values()) == ["INVALID", "OK"] and "minReplicas of 2" in reply["text"], reply
        left = r.running(2)
        assert set(left) < set(first) and all("minReplicas of 2" in m["held"] for m in r.machines())
        assert r.call("terminate", ids=left[:1])["done"] == {left[0]: "INVALID"}
        assert set(r.running(2)) == set(left), "and no pod is made anew"


# ---- rights and tokens

def test_the_missing_verb_is_named(tmp_path):
    with rig(tmp_path) as r:
        r.set(fail=403, fail_verb="PATCH")
        reply = r.launch(1)
        assert reply["status"] == "AUTH"
        assert "may not patch rayclusters in namespace default" in reply["text"]
        assert "{apiGroups: [ray.io], resources: [rayclusters], verbs: [patch]}" in reply["text"]
        assert r.call("list")["status"] == "OK"


def test_quota_and_policy_are_no_lack_of_rights(tmp_path):
    with rig(tmp_path) as r:
        r.set(fail=403, fail_verb="PATCH", message="exceeded quota: objects")
        assert r.launch(1)["status"] == "QUOTA"
        r.set(message='admission webhook "policy.example" denied the request: no')
        assert r.launch(1)["status"] == "STOCKOUT"


def test_a_token_that_was_renewed_is_read_again(tmp_path):
    with rig(tmp_path) as r:
        assert r.call("list")["status"] == "OK"
        (tmp_path / "token").write_text("second\n")
        r.set(fail=401)
        assert r.call("list")["status"] == "AUTH"
        tokens = [x[3] for x in r.world.sent]
        assert tokens[-2:] == ["Bearer first", "Bearer second"]


def test_another_writer_is_named_and_mended(tmp_path):
    with rig(tmp_path) as r:
        r.launch(3)
        r.running(3)
        with r.world.lock:
            r.world.cluster["spec"]["workerGroupSpecs"][0]["replicas"] = 1
            r.world.cluster["metadata"]["managedFields"] = [
                {"manager": "argocd-controller", "operation": "Update", "time": "2026-11-21T10:00:00Z",
                 "fieldsV1": {"f:spec": {"f:workerGroupSpecs": {}}}}]
            r.world.touch()
        r.machines()
        assert "argocd-controller writes it too" in r.text()
        assert r.group()["replicas"] == 3


# ---- the RayCluster as configuration

@pytest.fixture
def sidecar(tmp_path):
    """start() -> the sidecar over a fake API server, reached by a kubeconfig."""
    running = []

    def start(world, *args, wait=True):
        server = kube_fake.serve(world)
        url = f"http://127.0.0.1:{server.server_address[1]}"
        config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
                  "clusters": [{"name": "k", "cluster": {"server": url}}],
                  "users": [{"name": "u", "user": {"token": "abc"}}],
                  "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}
        (tmp_path / "kubeconfig").write_text(json.dumps(config))
        ports = free_port(), free_port()
        clocks = Clocks(tmp_path)
        env = {**clocks.env, "KUBECONFIG": str(tmp_path / "kubeconfig"), "no_proxy": "127.0.0.1", "PATH": "/usr/bin:/bin",
               "DAVIT_STATE": str(tmp_path / "davit.db"), "DAVIT_LISTEN": f"127.0.0.1:{ports[0]}",
               "AUTOSCALER_METRIC_PORT": str(ports[1]), "XDG_RUNTIME_DIR": str(tmp_path),
               "DAVIT_PLUGIN_DIR": str(BUILD / "plugins"), "RAY_ADDRESS": f"127.0.0.1:{free_port()}"}
        (tmp_path / "bin").mkdir(exist_ok=True)
        ray = tmp_path / "bin" / "ray"
        if not ray.exists():
            ray.symlink_to(pathlib.Path(DAVIT).resolve())
        p = subprocess.Popen([ray, "kuberay-autoscaler", "--cluster-name", "raycluster", "--cluster-namespace", "default",
                              *args], env=env, cwd=tmp_path, stdout=open(tmp_path / "log", "a"), stderr=subprocess.STDOUT)
        running.append(p)
        p.ports, p.clocks = ports, clocks
        return p
    yield start
    for p in running:
        if p.poll() is None:
            p.terminate()
        assert p.wait(PATIENCE) == 0
    assert not list(tmp_path.glob("davit-kube-*")), "credentials left behind"


def get(port, path):
    with OPENER.open(f"http://127.0.0.1:{port}{path}", timeout=30) as r:
        return r.read().decode()


def answered(what):
    """Until it is true; a port nobody listens on is not."""
    def ask():
        with contextlib.suppress(OSError):
            return what()
    return until(ask)


def types(p):
    return {t["name"]: t for t in json.loads(get(p.ports[0], "/v1/status"))["types"]}


def cluster_is_read(p, world):
    """By the list, which is due every 15 s, and by the configuration, every 5 s; twice, as the first may be under way."""
    def reads():
        return sum(verb == "GET" and "/rayclusters/" in path for verb, path, *_ in world.sent)
    for _ in range(2):
        before = reads()
        p.clocks.ahead(15000)
        until(lambda before=before: reads() >= before + 2)


def test_changed_groups_are_a_reload_and_replicas_are_not(sidecar, tmp_path):
    world = kube_fake.World(groups=[kube_fake.group(high=2)])
    p = sidecar(world)
    assert answered(lambda: types(p))["gpu"]["max"] == 2
    with world.lock:
        world.cluster["spec"]["workerGroupSpecs"][0]["replicas"] = 1
        world.touch()
    cluster_is_read(p, world)
    assert "generation 1" not in (tmp_path / "log").read_text() and "config.loaded" not in (tmp_path / "log").read_text()
    with world.lock:
        world.cluster["spec"]["workerGroupSpecs"][0]["maxReplicas"] = 7
        world.cluster["spec"]["workerGroupSpecs"].append(kube_fake.group("second"))
        world.cluster["metadata"]["annotations"] = {"davit.io/config": "limits:\n  max_nodes: 5\n"}
        world.touch()
    answered(lambda: "second" in types(p) and types(p)["gpu"]["max"] == 7)
    assert json.loads(get(p.ports[0], "/v1/status"))["limits"]["max_nodes"] == 5
    with world.lock:
        world.cluster["metadata"]["annotations"] = {"davit.io/config": "limits: [nonsense"}
        world.touch()
    cluster_is_read(p, world)
    assert "second" in types(p), "the old settings stay"


def test_groups_of_one_pass_go_in_one_patch(sidecar):
    """The daemon makes a call for each group, all at about the same moment."""
    groups = [kube_fake.group(n, rayStartParams={"resources": json.dumps(json.dumps({n.upper(): 1}))}) for n in "abc"]
    world = kube_fake.World(groups=groups)
    p = sidecar(world)
    answered(lambda: types(p))
    body = json.dumps({"bundles": [{"A": 1}, {"B": 1}, {"B": 1}, {"C": 1}]}).encode()
    with OPENER.open(urllib.request.Request(f"http://127.0.0.1:{p.ports[0]}/v1/request_resources", body), timeout=30):
        pass
    answered(lambda: len(world.pods) == 4)
    with world.lock:
        sent = [x for x in world.sent if x[0] == "PATCH"]
        assert [g["replicas"] for g in world.cluster["spec"]["workerGroupSpecs"]] == [1, 2, 1]
    assert len(sent) == 1, sent


def test_metrics_have_a_port_of_their_own(sidecar):
    p = sidecar(kube_fake.World())
    text = answered(lambda: "davit_build_info" in get(p.ports[1], "/metrics") and get(p.ports[1], "/metrics"))
    assert 'autoscaler_pending_nodes{NodeType="gpu"' in text
    assert get(p.ports[1], "/healthz") == "ok\n"
    for path in ("/v1/status", "/v1/request_resources"):
        with pytest.raises(urllib.error.HTTPError) as e:
            get(p.ports[1], path)
        assert e.value.code == 404


def test_the_sidecar_waits_for_its_cluster(sidecar, tmp_path):
    """With KubeRay's v2 a container that ends takes the head pod with it: whatever is wrong, it stays."""
    world = kube_fake.World()
    world.set["fail"] = 403
    p = sidecar(world)
    answered(lambda: "looking again" in (tmp_path / "log").read_text())
    assert p.poll() is None and "rayclusters" in (tmp_path / "log").read_text()
    world.set["fail"] = 0
    assert answered(lambda: types(p))


def test_ray_is_no_ray(tmp_path):
    (tmp_path / "ray").symlink_to(pathlib.Path(DAVIT).resolve())
    out = subprocess.run([tmp_path / "ray", "start", "--head"], capture_output=True, text=True)
    assert out.returncode == 2 and "kuberay-autoscaler" in out.stderr and "not start" in out.stderr
