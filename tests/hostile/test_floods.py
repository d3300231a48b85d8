"""What one caller asks for is no harm to the next one, whatever it is."""
import http.server
import json
import random
import subprocess
import threading
import time
import urllib.parse

import pytest
from test_access import ask, code, token

from lib import TESTS, crowded, until


@pytest.fixture(scope="session")
def colliding(tmp_path_factory):
    """n texts that had one hash in tables with a public one; beside them as many others."""
    folder = tmp_path_factory.mktemp("collide")
    subprocess.run(["gcc", "-O2", "-o", folder / "collide", TESTS / "hostile/collide.c"], check=True)

    def make(n, *kind):
        return subprocess.run([folder / "collide", str(n), *kind], check=True, capture_output=True, text=True).stdout.splitlines()
    return make


def plain(n, *_):
    rng = random.Random(n)
    return [f"{rng.getrandbits(60):016d}"[:16] for _ in range(n)]


def asking(values, owner):
    """So many values in conditions of 1,024, in alternatives of 128 conditions."""
    terms = [{"key": f"k{i}", "op": "not_in", "values": values[i:i + 1024]} for i in range(0, len(values), 1024)]
    alts = [{"resources": {"CPU": 1}, "selector": terms[i:i + 128]} for i in range(0, len(terms), 128)]
    return {"owner": owner, "bundles": [{"any_of": alts} if len(alts) > 1 else alts[0]]}


@pytest.fixture
def two(daemon_of, tmp_path):
    """A daemon, with one caller who may ask for ci-*, and another one."""
    from conftest import CONFIG
    file = str(tmp_path / "tokens")
    t = {"mal": token(file, "mal", "request:mal-*"), "good": token(file, "good", "request:good-*"), "ops": token(file, "ops", "admin")}
    d = daemon_of(CONFIG, f", tokens: {file}")
    d.tokens, d.headers = t, {"Authorization": "Bearer " + t["ops"]}
    d.start(wait="/readyz")
    return d


def took(d, who, body):
    began = time.monotonic()
    r = ask(d, who, "POST", "/v1/request_resources", json.dumps(body))
    assert r.code in (200, 202), r.text
    return time.monotonic() - began


@pytest.mark.parametrize("n", [20000, 60000])
def test_colliding_values_cost_what_others_do(two, colliding, n):
    """More than these are no body any more: tests/unit/test_base_hash.c has 131,072."""
    d = two
    bad, good = colliding(n), plain(n)
    took(d, "mal", asking(good, "mal-0"))
    other = min(took(d, "mal", asking(good[1:] + [f"x{i}"], "mal-0")) for i in range(2))
    worst = min(took(d, "mal", asking(bad[1:] + [f"x{i}"], "mal-0")) for i in range(2))
    print(f"{n} values: plain {other:.2f} s, colliding {worst:.2f} s")
    assert worst < 2 * other + 0.5 * crowded()
    assert took(d, "good", {"owner": "good-1", "num_cpus": 1}) < max(1, 2 * other) * crowded()


def test_it_is_up_again_with_them_in_its_journal(two, colliding):
    """60,000 values in 1 MB by one who may ask for his owners only."""
    d = two
    took(d, "mal", asking(colliding(60000), "mal-1"))
    assert took(d, "good", {"owner": "good-1", "num_cpus": 1}) < 2 * crowded()
    d.kill()
    began = time.monotonic()
    d.start(wait="/readyz")
    assert time.monotonic() - began < 15 * crowded()
    assert took(d, "good", {"owner": "good-2", "num_cpus": 1}) < 2 * crowded()
    assert code(d, "mal", "DELETE", "/v1/request_resources/mal-1") == 200
    assert d.stop() == 0


# ---- shares

def test_all_names_of_resources_by_one(two):
    """2,708 bytes that took every name that there may be, for good."""
    d = two
    body = {"owner": "mal-1", "bundles": [{f"r{i}": 1} for i in range(256)]}
    assert len(json.dumps(body, separators=(",", ":"))) < 3000
    took(d, "mal", body)
    took(d, "good", {"owner": "good-1", "num_cpus": 1})
    r = ask(d, "mal", "POST", "/v1/request_resources", {"owner": "mal-2", "bundles": [{"another": 1}]})
    assert r.code == 429 and "more than your share" in r.text, r.text
    audit = ask(d, "ops", "GET", "/v1/audit?after=0").json["entries"]
    assert [e["code"] for e in audit if e["subject"] == "mal-2"] == [429], "a refusal for want of room is in the audit"
    # whose share it is outlives a restart
    d.kill()
    d.start(wait="/readyz")
    took(d, "good", {"owner": "good-2", "bundles": [{"CPU": 1, "mine": 1}]})
    assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": "mal-3", "bundles": [{"third": 1}]}).code == 429


def test_all_shapes_by_one(two):
    d = two
    for part in range(2):
        took(d, "mal", {"owner": f"mal-{part}", "bundles": [{"CPU": 1, "memory": part * 2500 + i + 1} for i in range(2500)]})
    took(d, "good", {"owner": "good-1", "bundles": [{"CPU": 2, "memory": 7 * i + 3} for i in range(100)]})
    assert ask(d, "mal", "POST", "/v1/request_resources", {"owner": "mal-9", "bundles": [{"CPU": 3}]}).code == 429


def test_many_tolerations_are_many_shapes(two):
    """Each of them is another shape, and counted as one."""
    d = two
    body = {"owner": "mal-1", "bundles": [{"resources": {"CPU": 1}, "tolerations": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(5001)]}
    r = ask(d, "mal", "POST", "/v1/request_resources", body)
    assert r.code == 429 and "5001 different shapes" in r.text, r.text


# ---- what a cloud says

PROVIDER = """import json, sys
for line in sys.stdin:
    r = json.loads(line)
    for i in range(%d if r["op"] == "list" else 0):
        print('{"id":%%d,"machine":{"id":"m-%%d","request_id":"r-%%d","type":"t","zone":"","phase":"running"}}' %% (r["id"], i, i))
    print(json.dumps({"id": r["id"], "status": "OK" if r["op"] in ("hello", "list") else "UNSUPPORTED"}), flush=True)
"""


def cpu(d):
    with open(f"/proc/{d.p.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_a_list_of_machines_that_nobody_knows(daemon_of):
    """20,000 of them took 36 s."""
    n = 20000
    d = daemon_of("""
cluster: it
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
providers: {mine: {plugin: exec, command: [python3, "{dir}/cloud.py"]}}
node_types: {t: {provider: mine, resources: {CPU: 4}, price: 0.2, max: 8}}
""")
    (d.dir / "cloud.py").write_text(PROVIDER % n)
    d.start(wait="/healthz")
    d.until(lambda: f" m-{n - 1}: t: found in mine" in d.text())
    took = cpu(d)
    assert d.get("/healthz")[0] == 200
    d.kill()
    assert took < 12, took


class Cluster(http.server.BaseHTTPRequestHandler):
    """An API server of pods that wait, a page at a time; it has nothing else, and nothing ever happens there."""
    protocol_version = "HTTP/1.1"
    pods = ()

    def log_message(self, *_):
        pass

    def put(self, code, body):
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if query.get("watch"):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.server.over.wait()
            return
        at, many = int(query.get("continue") or 0), int(query.get("limit") or 10**6)
        items = self.pods if url.path == "/api/v1/pods" else []
        meta = {"resourceVersion": "7", **({"continue": str(at + many)} if at + many < len(items) else {})}
        kind = "PodList" if items else "List"
        self.put(200, b'{"kind": "%s", "apiVersion": "v1", "metadata": %s, "items": [%s]}'
                 % (kind.encode(), json.dumps(meta).encode(), b",".join(items[at:at + many])))

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.put(201, b"{}")
    do_PATCH = do_POST


def waiting(i):
    """Each has another size and a name of its own, every second one a selector that nothing matches."""
    return json.dumps({
        "metadata": {"name": f"p-{i}", "namespace": f"team-{i % 40}", "uid": f"u-{i}", "resourceVersion": "1", "labels": {"app": f"a-{i}"},
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"schedulerName": "default-scheduler", **({"nodeSelector": {f"key-{i % 100}": f"v-{i}"}} if i % 2 else {}),
                 "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": f"{i % 3000 + 1}m", "memory": f"{i + 1}Ki"}}}]},
        "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/0"}]}}).encode()


@pytest.fixture
def cluster():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cluster)
    server.daemon_threads, server.over, server.handle_error = True, threading.Event(), lambda *_: None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_many_different_pods_fit_in_what_the_chart_gives(daemon_of, cluster):
    """25,000 different pods that wait: 256 MiB is the chart's limit.  The rest beyond the first 5,000 shapes is counted, and `why` finds it."""
    Cluster.pods = [waiting(i) for i in range(25000)]
    d = daemon_of("""
cluster: it
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
head: {kubernetes: {kubeconfig: "{dir}/kubeconfig"}}
providers: {sim: {}}
node_types: {t: {provider: sim, resources: {CPU: 4, memory: 16Gi}, price: 0.2, max: 8}}
""")
    (d.dir / "kubeconfig").write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{cluster.server_address[1]}"}}],
        "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
    d.start(wait="/healthz")
    # All that may be bought is bought, and all have been looked at.
    d.until(lambda: (lambda s: s.get("nodes", {}).get("starting") == 8 and any("left out of the plan" in p for p in s["problems"]))(d.get("/v1/status")[1]))
    with open(f"/proc/{d.p.pid}/status") as f:
        most = next(int(x.split()[1]) for x in f if x.startswith("VmHWM:")) / 1024
    print(f"25,000 different pods: {most:.0f} MiB at most, {cpu(d):.1f} s of CPU")
    d.kill()
    assert most < 224, f"{most} MiB"


# ---- colliding texts of those who ask otherwise

LABELS = 20000


def terms(values, size=500):
    return [values[i:i + size] for i in range(0, len(values), size)]


def steps(d):
    """What a step with another request costs, in seconds of CPU, the least of a few."""
    def one(i):
        before = cpu(d)
        d.post({"owner": f"o{i}", "bundles": [{"CPU": 1 + i}]})
        return cpu(d) - before
    return min(one(i) for i in range(4))


def kubernetes(daemon_of, cluster, values):
    pod = json.loads(waiting(0))
    pod["spec"]["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": f"k{i}", "operator": "NotIn", "values": v} for i, v in enumerate(terms(values))]}]}}}
    Cluster.pods = [json.dumps(pod).encode()]
    d = daemon_of("""
cluster: it
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
head: {kubernetes: {kubeconfig: "{dir}/kubeconfig"}}
providers: {sim: {}}
node_types: {t: {provider: sim, resources: {CPU: 4, memory: 16Gi}, price: 0.2, max: 8}}
""")
    (d.dir / "kubeconfig").write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{cluster.server_address[1]}"}}],
        "users": [{"name": "u", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}]}))
    d.start(wait="/healthz")
    d.until(lambda: d.nodes("t"))   # the pod is served: its conditions were read
    took = steps(d)
    d.kill()
    return took


def test_one_pod_of_colliding_values(daemon_of, cluster, colliding):
    """20,480 of them, in 412 kB, let every step take 12.3 s."""
    other = kubernetes(daemon_of, cluster, plain(LABELS))
    worst = kubernetes(daemon_of, cluster, colliding(LABELS, "labels"))
    print(f"a pod of {LABELS} values: plain {other:.2f} s, colliding {worst:.2f} s")
    assert worst < 2 * other + 0.2


def ray(daemon_of, values):
    from ray.core.generated import autoscaler_pb2 as pb

    from lib.gcs import Gcs
    with Gcs() as gcs:
        gcs.join("head", "", {"CPU": 1}, head=True)
        state = pb.ClusterResourceState(cluster_session_name="test", node_states=gcs.nodes.values())
        r = state.pending_resource_requests.add(count=1)
        r.request.resources_bundle.update({"CPU": 4})
        selector = r.request.label_selectors.add()
        for i, v in enumerate(terms(values)):
            selector.label_constraints.add(label_key=f"k{i}", operator=2, label_values=v)   # not in
        gcs.body = pb.GetClusterResourceStateReply(cluster_resource_state=state).SerializeToString()
        d = daemon_of("""
cluster: it
api: {listen: "127.0.0.1:{port}"API}
state: davit.db
head: {ray: {address: "%s"}}
providers: {sim: {}}
node_types: {t: {provider: sim, resources: {CPU: 4}, price: 0.2, max: 8}}
""" % gcs.address)
        d.start(wait="/readyz")
        d.until(lambda: d.nodes("t"))
        took = steps(d)
        d.kill()
        return took


def test_a_ray_head_of_colliding_values(daemon_of, colliding):
    """The label selectors of one job."""
    other, worst = ray(daemon_of, plain(LABELS)), ray(daemon_of, colliding(LABELS, "labels"))
    print(f"a task of {LABELS} values: plain {other:.2f} s, colliding {worst:.2f} s")
    assert worst < 2 * other + 0.2
