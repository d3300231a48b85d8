"""Bad input from everywhere: a clear message, a proper code, and the daemon goes on."""
import json
import pathlib
import socket
import subprocess

import pytest

from lib import DAVIT, ROOT
from lib.daemon import Daemon

BUILD = ROOT / "build" / "release"
GUESTS = BUILD / "tests" / "plugins"

CONFIG = """
cluster: bad
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
providers: {sim: {state: "{dir}/cloud.json", boot: 100ms}}
node_types:
  cpu: {provider: sim, resources: {CPU: 4}, price: 0.2, max: 8}
"""


@pytest.fixture(scope="module", autouse=True)
def guests():
    subprocess.run(["make", "-s", "plugins-test"], cwd=ROOT, check=True)


def davit(tmp_path, *args):
    return subprocess.run([DAVIT, *args], cwd=tmp_path, capture_output=True, text=True, timeout=90)


def config(tmp_path, text):
    path = tmp_path / "davit.yaml"
    path.write_text(text.replace("{dir}", str(tmp_path)).replace("{port}", "0"))
    return str(path)


YAML = [
    ("", "empty"),
    ("cluster: [", ":1:"),
    ("cluster: x\nnode_typs: {}", "node_types"),
    ("cluster: x\nnode_types:\n  a: {resources: {CPU: -1}}", ":3:"),
    ("cluster: x\nnode_types:\n  a: {resources: {CPU: .nan}}", ":3:"),
    ("cluster: x\nnode_types:\n  a: {resources: {CPU: 1}, max: -3}", "max"),
    ("cluster: x\nnode_types:\n  a: {resources: {CPU: 1}, min: 5, max: 3}", "min"),
    ("cluster: x\nnode_types:\n  a: {machine: p2.xlrge}", "p2.xlarge"),
    ("cluster: x\nnode_types:\n  a: {resources: {CPU: 1}}\n  a: {resources: {CPU: 2}}", ":4:"),
    ("cluster: x\nlimits: {idle_timeout: soon}\nnode_types:\n  a: {resources: {CPU: 1}}", ":2:"),
    ("\x00\x01\x02", ":1:"),
]


@pytest.mark.parametrize("text,says", YAML)
@pytest.mark.parametrize("command", ["validate", "run", "plan"])
def test_configurations(tmp_path, command, text, says):
    p = davit(tmp_path, command, config(tmp_path, text))
    assert p.returncode == 3, (p.returncode, p.stderr)
    assert says in p.stderr, p.stderr
    assert "davit.yaml" in p.stderr


def test_all_mistakes_at_once(tmp_path):
    p = davit(tmp_path, "validate", config(tmp_path, """cluster: x
limits: {max_node: 3, idle_timeout: soon}
node_types:
  a: {resources: {CPU: -1}, maxx: 3}
  b: {machine: nothing-like-this}
"""))
    assert p.returncode == 3 and p.stderr.count("davit.yaml:") >= 5, p.stderr


def test_validate_for_programs(tmp_path):
    path = config(tmp_path, "cluster: x\nlimits: {max_node: 3}\nnode_types:\n  a: {resources: {CPU: -1}}\n")
    p = davit(tmp_path, "validate", "--json", path)
    out = json.loads(p.stdout)
    assert p.returncode == 3 and not out["valid"] and "kind" not in out
    assert [(e["line"], e["column"]) for e in out["errors"]] == [(2, 10), (4, 24)], out
    assert out["errors"][0]["file"] == path and "max_nodes" in out["errors"][0]["text"]
    p = davit(tmp_path, "validate", "--json", config(tmp_path, "cluster: x\nnode_types:\n  a: {resources: {CPU: 1}}\n"))
    out = json.loads(p.stdout)
    assert p.returncode == 0 and out["valid"] and out["kind"] == "davit" and out["node_types"] == 1
    assert not out["errors"] and out["warnings"][0]["line"] == 3, out


EVERYTHING = """cluster: x
limits: {max_node: 3}
providers:
  gek: {project: p}
  gke: {projekt: p}
  eks: {cluster: k, region: us-east-1, launch_timeout: soon, protect: maybe}
node_types:
  a: {provider: gek, resources: {CPU: 1}, max: 1}
  b: {provider: gke, resources: {CPU: 1}, max: 1}
  c: {provider: eks, resources: {CPU: 1}, max: 1}
  d: {provider: eks, resources: {CPU: 1}, max: 1, options: {x: 1}}
  e: {provider: eks, resources: {CPU: -1}, pool: p, max: 1, options: {y: 1}}
"""


def test_all_mistakes_of_all_plugins_at_once(tmp_path):
    """One run says all that `davit run` would refuse, step after step."""
    p = davit(tmp_path, "validate", "--json", config(tmp_path, EVERYTHING))
    errors = json.loads(p.stdout)["errors"]
    found = [(e["line"], e["column"]) for e in errors]
    assert p.returncode == 3 and len(found) == len(set(found)), errors
    for place, says in [((2, 10), "max_nodes"), ((4, 3), 'did you mean "gke"?'), ((5, 3), "location, cluster are needed"),
                        ((5, 18), 'did you mean "project"?'), ((6, 56), "launch_timeout must be"), ((6, 71), "protect must be"),
                        ((10, 3), "needs pool"), ((11, 3), "needs pool"), ((11, 64), "has no option"), ((12, 39), "CPU")]:
        assert any((e["line"], e["column"]) == place and says in e["text"] for e in errors), (place, says, errors)
    assert not any(e["line"] == 12 and "option" in e["text"] for e in errors), "only what a known mistake leaves"


def test_several_files(tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("cluster: x\nnode_types:\n  a: {resources: {CPU: 1}, max: 1}\n")
    bad.write_text("cluster: x\nnode_types:\n  a: {resources: {CPUs: 1}, max: 1}\n")
    p = davit(tmp_path, "validate", bad, good)
    assert p.returncode == 3 and "bad.yaml:3:19: " in p.stderr and "good.yaml: valid" in p.stdout, p
    out = json.loads(davit(tmp_path, "validate", "--json", bad, good).stdout)
    assert not out["valid"] and [f["valid"] for f in out["files"]] == [False, True], out
    assert davit(tmp_path, "validate", good, good).returncode == 0
    p = subprocess.run([DAVIT, "validate", "-"], input=bad.read_text(), capture_output=True, text=True, timeout=90)
    assert p.returncode == 3 and "-:3:19: " in p.stderr, p


def test_a_provider_that_is_not_here(tmp_path):
    """One that nobody ships is what `run` refuses, unless its folder may not be looked at."""
    text = "cluster: x\nproviders: {mycloud: {}}\nnode_types:\n  a: {resources: {CPU: 1}, max: 1}\n"
    for command in ("validate", "run"):
        p = davit(tmp_path, command, config(tmp_path, text))
        assert p.returncode == 3 and "davit.yaml:2:13: provider mycloud: there is no davit-mycloud.so" in p.stderr, (command, p)
    p = davit(tmp_path, "validate", config(tmp_path, "plugin_dir: plugs\n" + text))
    assert p.returncode == 0 and "warning" in p.stderr, p


def test_every_file_in_configs_is_valid(tmp_path):
    files = sorted((pathlib.Path(__file__).parents[2] / "configs").glob("*.yaml"))
    assert len(files) > 5
    for path in files:
        p = davit(tmp_path, "validate", str(path))
        assert p.returncode == 0, (path, p.stderr)


PLUGINS = [
    ("/nowhere/davit-x.so", "does not exist"),
    ("{guests}/davit-old_abi.so", "abi"),
    ("{guests}/davit-not_a_plugin.so", "not a"),
    ("{dir}/davit.yaml", "not a"),
]


@pytest.mark.parametrize("plugin,says", PLUGINS)
def test_plug_ins(tmp_path, plugin, says):
    plugin = plugin.replace("{guests}", str(GUESTS)).replace("{dir}", str(tmp_path))
    path = config(tmp_path, CONFIG.replace("{sim: {", "{x: {plugin: " + plugin + "}, sim: {"))
    for command in (["validate", "--plugins"], ["run"]):
        p = davit(tmp_path, *command, path)
        assert p.returncode == 3, (command, p.returncode, p.stdout, p.stderr)
        assert "davit.yaml:5:" in p.stderr and says in p.stderr.lower(), p.stderr


def test_a_misspelt_provider(tmp_path):
    p = davit(tmp_path, "run", config(tmp_path, CONFIG.replace("{sim: {", "{simm: {").replace("provider: sim", "provider: simm")))
    assert p.returncode == 3 and "sim" in p.stderr, p.stderr


SNAPSHOTS = [
    ("[]", "object"),
    ('{"node_types": 3}', "node_types"),
    ('{"node_types": [{"name": "a", "resources": {"CPU": -1}}]}', "CPU"),
    ('{"node_types": [{"name": "a", "resources": {"CPU": 1e300}}]}', "CPU"),
    ('{"node_types": [{"name": "a", "resources": {"CPU": NaN}}]}', "line"),
    ('{"node_types": [], "demands": [{"count": 99999999999, "resources": {"CPU": 1}}]}', "count"),
    ('{"node_types": [], "demands": [{"count": 0, "resources": {"CPU": 1}}]}', "count"),
    ('{"node_types": [], "demands": [{"count": 1, "resources": {"GPU": 1.5}}]}', "GPU"),
    ('{"node_types": [], "demands": [{"count": 1, "resources": {"TPU": 0.5}}]}', "TPU"),
    ('{"node_types": []} trailing', "line"),
    ('{"node_types": [{"name": "a", "resources": {}}, {"name": "a", "resources": {}}]}', "a"),
]


@pytest.mark.parametrize("text,says", SNAPSHOTS)
def test_snapshots(tmp_path, text, says):
    (tmp_path / "s.json").write_text(text)
    p = davit(tmp_path, "plan", "s.json")
    if text == "[]":
        assert p.returncode == 3, p.stderr
        return
    assert p.returncode == 3 and says in p.stderr, (p.returncode, p.stdout, p.stderr)


def test_command_lines(tmp_path):
    for args in ([], ["nonsense"], ["plan"], ["validate"], ["plan", "--nope", "x"], ["run", "--nope"]):
        p = davit(tmp_path, *args)
        assert p.returncode == 2 and ("usage" in p.stderr or "davit help" in p.stderr), (args, p.stderr)
    for args in (["help"], ["help", "run"], ["plan", "--help"], ["version"], ["--version"]):
        assert davit(tmp_path, *args).returncode == 0
    assert davit(tmp_path, "plan", "/nowhere.json").returncode == 3


def test_an_open_address_needs_a_token(tmp_path):
    p = davit(tmp_path, "run", config(tmp_path, CONFIG.replace('"127.0.0.1:{port}"', '"0.0.0.0:{port}"')))
    assert p.returncode == 3 and "token" in p.stderr, p.stderr


def test_a_taken_port(tmp_path):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        path = tmp_path / "davit.yaml"
        path.write_text(CONFIG.replace("{dir}", str(tmp_path)).replace("{port}", str(s.getsockname()[1])))
        p = davit(tmp_path, "run", str(path))
        assert p.returncode == 3 and "in use" in p.stderr.lower(), p.stderr


BODIES = [
    (b"{", 400), (b"", 400), (b"[]", 400), (b"null", 400), (b"\xff\xfe", 400), (b'{"bundles": [{"GPU": NaN}]}', 400),
    (b'{"bundles": [{"GPU": -1}]}', 400), (b'{"bundles": [{"GPU": 1e400}]}', 400), (b'{"bundles": [{"GPU": 1.5}]}', 400),
    (b'{"bundles": [{"resources": {"CPU": 1}, "count": 100000000000}]}', 400), (b'{"bundles": [{"resources": {"CPU": 1}, "count": -1}]}', 400),
    (b'{"bundles": "x"}', 400), (b'{"bundels": []}', 400), (b'{"bundles": [], "bundles": []}', 400), (b'{"num_cpus": -4}', 400),
    (b'{"bundles": [{"GPU": 1}], "strategy": "PAK"}', 400), (b'{"bundles": [{"GPU": 1}], "ttl": "-1s"}', 400),
    (b'{"owner": "a b", "bundles": [{"GPU": 1}]}', 400), (b'{"bundles": ' + b"[" * 5000 + b"]" * 5000 + b"}", 400),
    (b'{"bundles": [{"unobtainium": 3}]}', 202),
]


def test_bodies(tmp_path):
    with Daemon(tmp_path, CONFIG) as d:
        d.post({"owner": "standing", "bundles": [{"CPU": 2}]})
        for body, code in BODIES:
            status, reply = d.call("POST", "/v1/request_resources", body)
            assert status == code or (code == 202 and status == 200), (body[:80], status, reply)
            if code == 400:
                assert reply["error"]["text"], body[:80]
        status, reply = d.call("POST", "/v1/request_resources", b"x" * (100 << 20))
        assert status == 413, reply
        assert d.get("/v1/request_resources/standing")[0] == 200
        d.until(lambda: d.ready("cpu") == 1)
        rss = [int(line.split()[1]) for line in open(f"/proc/{d.p.pid}/status") if line.startswith("VmHWM")][0]
        assert rss < 64 << 10, f"{rss} KiB: the body was kept in memory"


def test_more_than_can_be_planned_for(tmp_path):
    with Daemon(tmp_path, CONFIG) as d:
        many = {"resources": {"CPU": 1}, "count": 3000000}
        d.post({"owner": "a", "bundles": [many]})
        status, reply = d.call("POST", "/v1/request_resources", {"owner": "b", "bundles": [many]})
        assert status == 400 and "5000000" in reply["error"]["text"], reply
        d.post({"owner": "a", "bundles": [dict(many, count=2999999)]})  # its own earlier one does not count
        d.until(lambda: d.ready("cpu") == 8)


RAYCLUSTER = """apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: guide}
spec:
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head}]}}}
  workerGroupSpecs:
    - groupName: gpu-group
      minReplicas: 0
      maxReplicas: 2
      rayStartParams: {num-gpus: "2"}
      template: {spec: {containers: [{name: ray, resources: {limits: {cpu: 3, memory: 50Gi}}}]}}
davit: {api: {listen: "127.0.0.1:{port}"}, state: "{dir}/davit.db"}
"""
POD_TYPES = """podTypes:
  rayGPUWorkerType: {memory: 10Gi, maxWorkers: 4, minWorkers: 1, CPU: 1, rayResources: {CPU: 1, GPU: 1, memory: 1000000000}}
  rayHeadType: {memory: 3Gi, CPU: 1}
davit: {api: {listen: "127.0.0.1:{port}"}, state: "{dir}/davit.db"}
"""


@pytest.mark.parametrize("text,kind,gpus,nodes", [(RAYCLUSTER, "gpu-group", 4, 2), (POD_TYPES, "rayGPUWorkerType", 2, 2)])
def test_foreign_files_run_as_they_are(tmp_path, text, kind, gpus, nodes):
    """Where there is no Kubernetes, on simulated machines, and told so."""
    with Daemon(tmp_path, text, env={"KUBERNETES_SERVICE_HOST": ""}) as d:
        d.post({"bundles": [{"GPU": 1}] * gpus})
        d.until(lambda: d.ready(kind) == nodes)
        assert "no Kubernetes here" in d.events("provider.simulated")[0]["text"]
