"""The Compute Engine plug-in against a server that refuses what Google's
discovery documents refuse."""
import hashlib
import re
import subprocess

import pytest

from conftest import TYPES
from gke_discovery import Api
from gke_rig import BUILD, environment
from lib import ROOT, spot_watch

R = "davit-00112233445566778899"
A, B = "us-central1-a", "us-central1-b"
NODE_CONFIG = """
  ray.worker_T4:
    provider: gce
    spot: true
    machine: n1-standard-8
    zones: [us-central1-a]
    resources: {CPU: 8, GPU: 1}
    options:
      node_config:
        machineType: n1-standard-8
        disks: [{boot: true, autoDelete: true, type: PERSISTENT, initializeParams: {diskSizeGb: 50, diskType: pd-ssd, sourceImage: projects/x/global/images/family/y}}]
        guestAccelerators: [{acceleratorType: nvidia-tesla-t4, acceleratorCount: 1}]
        scheduling: [{preemptible: true}, {onHostMaintenance: TERMINATE, minNodeCpus: 4}]
        labels: {team: "true"}
        metadata: {items: [{key: install-nvidia-driver, value: "True"}, {key: enable-oslogin, value: "false"}]}
        serviceAccounts: [{email: ray@my-proj.iam.gserviceaccount.com, scopes: [https://www.googleapis.com/auth/cloud-platform]}]
"""


def test_life(cloud, drives):
    d = drives()
    r = d.launch(2, R, zone=A)
    assert r["status"] == "OK" and len(r["machines"]) == 2, r
    got = d.running(2)
    assert {m["request"] for m in got} == {R} and {m["type"] for m in got} == {"t4"} and {m["zone"] for m in got} == {A}
    assert {m["id"] for m in got} == {f"{z}/{n}" for z, n in cloud.bare}
    bodies = [i["body"] for i in cloud.bare.values()]
    assert all(b["guestAccelerators"][0]["acceleratorCount"] == 1 and b["scheduling"]["onHostMaintenance"] == "TERMINATE" for b in bodies)
    assert d.end(got[0]["id"])["status"] == "OK"
    assert d.until(lambda: [m["id"] for m in d.list("RUNNING")] == [got[1]["id"]])
    r = d.end(got[0]["id"], got[1]["id"], "nonsense")
    assert r["status"] == "OK" and set(r["done"].values()) <= {"OK", "NOT_FOUND"} and r["done"]["nonsense"] == "NOT_FOUND"
    assert d.until(lambda: d.list() == []) and cloud.bare == {}


def test_same_request_same_machines(cloud, drives):
    d = drives()
    first = {m["id"] for m in d.launch(2, R, zone=A)["machines"]}
    assert {m["id"] for m in d.launch(2, R, zone=A)["machines"]} == first
    cloud.requests.clear()  # Google has forgotten the ids
    assert {m["id"] for m in drives().launch(2, R, zone=A)["machines"]} == first, "after a restart"
    assert len(cloud.bare) == 2


@pytest.mark.parametrize("method", ["insert", "get"])
def test_a_lost_reply_buys_once(cloud, drives, method):
    cloud.lose = {method: 1}
    d = drives()
    assert d.launch(2, R, zone=A)["status"] in ("RETRY", "OK")  # libcurl repeats a read itself
    assert d.launch(2, R, zone=A)["status"] == "OK"
    assert len(cloud.bare) == 2 and cloud.bought == 2


@pytest.mark.parametrize("why", [[429, "rateLimitExceeded", "slowly"], [403, "forbidden", "not yours"], [503, "backendError", "later"]])
@pytest.mark.parametrize("beside", [False, True])
def test_what_was_accepted_and_cannot_be_followed_is_in_doubt(cloud, drives, why, beside):
    """Not refused, whatever the answer to our question after it, also beside one that is refused."""
    d = drives()
    cloud.op = 0.5
    cloud.refuse = {"zoneOperations.get": why}
    if beside:
        cloud.refuse_after = {"insert": 1}
    r = d.launch(2, R, zone=A)
    assert (r["status"], r["machines"]) == ("RETRY", []), r
    cloud.refuse, cloud.refuse_after = {}, {}
    r = d.launch(2, R, zone=A)
    assert r["status"] == "OK" and len(d.running(2)) == 2 and cloud.bought == 2


def test_stockout_of_one_zone(cloud, drives):
    cloud.stockout = [A]
    d = drives()
    r = d.launch(2, R, zone=A)
    assert r["status"] == "STOCKOUT" and r["machines"] == [], r
    assert d.launch(2, "davit-00112233445566770001", zone=B)["status"] == "OK"
    assert {z for z, _ in cloud.bare} == {B}


def test_part_of_it(cloud, drives):
    cloud.op = 0.3
    d = drives()
    cloud.quota = {A: 1}
    assert d.launch(1, R, zone=A)["status"] == "OK"
    r = d.launch(2, "davit-00112233445566770001", zone=A)
    assert r["status"] == "QUOTA" and r["machines"] == [], r
    assert len(cloud.bare) == 1


def test_a_zone_that_is_not_read_is_a_failed_list(cloud, drives):
    d = drives()
    d.launch(1, R, zone=A)
    d.running(1)
    cloud.unreachable = [B]
    assert d.call("list")["status"] == "RETRY"


def test_pages(cloud, drives):
    d = drives()
    d.launch(5, R, zone=A)
    cloud.page = 2
    assert len(d.running(5)) == 5


def test_ray_node_config(cloud, drives):
    d = drives(types=NODE_CONFIG)
    [m] = d.launch(1, R, type="ray.worker_T4", zone=A)["machines"]
    assert d.running(1)[0]["type"] == "ray.worker_T4", "a label cannot hold it, and still it comes back"
    [i] = cloud.bare.values()
    assert i["body"]["guestAccelerators"] == [{"acceleratorType": f"projects/my-proj/zones/{A}/acceleratorTypes/nvidia-tesla-t4", "acceleratorCount": 1}]
    assert i["body"]["metadata"]["items"] == [{"key": "install-nvidia-driver", "value": "True"}, {"key": "enable-oslogin", "value": "false"}]
    assert i["body"]["labels"]["team"] == "true", "what is a user's to name is text"
    assert i["body"]["disks"][0]["initializeParams"]["diskType"] == f"projects/my-proj/zones/{A}/diskTypes/pd-ssd"
    assert i["body"]["scheduling"] == {"onHostMaintenance": "TERMINATE", "minNodeCpus": 4, "automaticRestart": True}


@pytest.mark.parametrize("table, kind", [("numbers", "integer"), ("truths", "boolean")])
def test_every_small_number_and_truth_is_one(table, kind):
    """The 32-bit and the true-or-false fields of what a launch may say, by Google's own document, are those of options.c."""
    schemas, seen, found = Api("compute.v1").doc["schemas"], set(), set()

    def walk(name):
        if name in seen:
            return
        seen.add(name)
        for key, s in schemas[name].get("properties", {}).items():
            if "[Output Only]" in s.get("description", ""):
                continue
            item = s.get("items", s)
            if item.get("type") == kind:
                found.add(key)
            if "$ref" in item:
                walk(item["$ref"])
    walk("Instance")
    text = (ROOT / "providers/gce/options.c").read_text()
    text = text[text.index(f"{table}[] = {{"):]
    assert set(re.findall(r'"(\w+)"', text[:text.index("}")])) == found


def test_an_instance_template(cloud, drives):
    cloud.templates.add("global/instanceTemplates/worker-16")
    d = drives(types="""
  t4: {provider: gce, machine: n1-standard-8, zones: [us-central1-a], options: {node_config: {sourceInstanceTemplate: global/instanceTemplates/worker-16}}}
""", image="")
    assert d.launch(1, R, zone=A)["status"] == "OK"
    [i] = cloud.bare.values()
    assert not {"disks", "networkInterfaces"} & set(i["body"]), "the template has them"
    [x] = [x for x in cloud.log if "requestId" in x["target"]]
    assert "sourceInstanceTemplate=global/instanceTemplates/worker-16" in x["target"]


def test_a_startup_script_of_the_users_own(cloud, drives, tmp_path):
    d = drives(more="head: {ray: {address: 10.1.2.3:6379}}", options=", join: 'echo $HOME > joined'", types=TYPES.replace(
        "max: 40", """options: {node_config: {metadata: {items: [{key: startup-script, value: "#!/bin/bash\\necho '$own' > own"}]}}}"""))
    d.launch(1, R, zone=A)
    [i] = cloud.bare.values()
    [text] = [x["value"] for x in i["body"]["metadata"]["items"] if x["key"] == "startup-script"]
    curl = tmp_path / "bin" / "curl"
    curl.parent.mkdir()
    curl.write_text("#!/bin/sh\necho projects/1/zones/z1\n")
    curl.chmod(0o755)
    text = text.replace("/var/log/", f"{tmp_path}/").replace("/dev/console", f"{tmp_path}/console")
    p = subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, text=True, env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    assert p.returncode == 0, p.stderr
    assert (tmp_path / "own").read_text() == "$own\n" and (tmp_path / "joined").read_text() == "/root\n"


def test_spot(cloud, drives):
    d = drives(types="""
  t4: {provider: gce, machine: n1-standard-8+t4x2, zones: [us-central1-a], spot: true}
""")
    [m] = d.launch(1, R, zone=A, spot=True)["machines"]
    [i] = cloud.bare.values()
    assert i["body"]["scheduling"] == {"provisioningModel": "SPOT", "instanceTerminationAction": "DELETE", "automaticRestart": False,
                                       "onHostMaintenance": "TERMINATE"}
    assert i["body"]["guestAccelerators"][0]["acceleratorCount"] == 2
    assert d.running(1)[0]["spot"]


def test_stopped_is_ended(cloud, drives):
    d = drives()
    d.launch(1, R, zone=A)
    d.running(1)
    for i in cloud.bare.values():
        i["status"] = "TERMINATED"
    assert d.failed(1)


def test_startup_script_joins(cloud, drives):
    d = drives(more="head: {ray: {address: 10.1.2.3:6379}}", options=", user: ubuntu, join: 'ray start --address=$RAY_HEAD_IP:6379'")
    d.launch(1, R, zone=A)
    [i] = cloud.bare.values()
    [text] = [x["value"] for x in i["body"]["metadata"]["items"] if x["key"] == "startup-script"]
    assert "export RAY_HEAD_IP='10.1.2.3'" in text and "Metadata-Flavor: Google" in text
    p = subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True)
    assert p.returncode == 0, p.stderr


def test_the_startup_script_of_a_spot_machine_drains_its_node(cloud, drives, tmp_path):
    d = drives(types="  t4: {provider: gce, machine: n1-standard-8+t4, zones: [us-central1-a], market: [spot, on-demand]}\n",
               options=", join: ray start --address=$RAY_HEAD_IP:6379, head_ip: 10.0.0.5")
    d.launch(1, R, zone=A, spot=True)
    d.launch(1, R[:-1] + "0", zone=A)
    spot, other = sorted((x["value"] for i in cloud.bare.values() for x in i["body"]["metadata"]["items"] if x["key"] == "startup-script"),
                         key=len, reverse=True)
    assert "drain-node" not in other, "on demand"
    asked, called = spot_watch.drained(tmp_path, spot, "us-central1-a/x", ["FALSE", "", "TRUE"])
    assert asked.count("\n") == 3 and "Metadata-Flavor: Google http://169.254.169.254/computeMetadata/v1/instance/preempted" in asked
    assert called.startswith("token -m ray.scripts.scripts drain-node --address 10.0.0.5:6379 --node-id ab12 --reason DRAIN_NODE_REASON_PREEMPTION ")


@pytest.mark.parametrize("there", [True, False])
def test_a_user_that_the_image_lacks_is_made(cloud, drives, tmp_path, there):
    d = drives(more="head: {ray: {address: 10.1.2.3:6379}}", options=", user: ubuntu, join: 'echo $RAY_HEAD_IP > joined'")
    d.launch(1, R, zone=A)
    [i] = cloud.bare.values()
    [text] = [x["value"] for x in i["body"]["metadata"]["items"] if x["key"] == "startup-script"]
    (tmp_path / "bin").mkdir()
    note = f'echo "$(basename "$0") $*" >> "{tmp_path}/did"\n'
    for name, does in {"curl": "echo projects/1/zones/z1", "id": f"exit {0 if there else 1}", "getent": "exit 0", "useradd": note,
                       "usermod": note, "sudo": note + 'while [ "$1" != bash ]; do shift; done; exec "$@"'}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    for folder in ("/var/log", "/etc/sudoers.d"):
        text = text.replace(folder, f"{tmp_path}/sudoers" if "sudo" in folder else str(tmp_path))
    p = subprocess.run(["bash", "-c", text.replace("/dev/console", f"{tmp_path}/none")], cwd=tmp_path, capture_output=True, text=True,
                       env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    assert p.returncode == 0 and (tmp_path / "joined").read_text() == "10.1.2.3\n", (p.stdout, p.stderr)
    did = (tmp_path / "did").read_text().splitlines()
    assert did[:-1] == ([] if there else ["useradd -m -s /bin/bash ubuntu"]) + ["usermod -aG docker ubuntu"]
    assert did[-1].startswith("sudo -H -u ubuntu --preserve-env=RAY_CLOUD_INSTANCE_ID,")
    made = tmp_path / "sudoers" / "davit-ubuntu"
    assert made.exists() != there and (there or made.stat().st_mode & 0o777 == 0o440)


def test_the_join_token(cloud, drives, tmp_path):
    """What the script makes of it is what the daemon looks for (ours_join_mark_is(), test_control_claims.c), and it reaches the commands."""
    d = drives(more="head: {ray: {address: 10.1.2.3:6379}}", options=", user: ubuntu, join: 'echo $DAVIT_JOIN $RAY_OVERRIDE_LABELS > joined'")
    token = "0123456789abcdef" * 2
    d.launch(2, R, zone=A, token=token)
    scripts = [x["value"] for i in cloud.bare.values() for x in i["body"]["metadata"]["items"] if x["key"] == "startup-script"]
    assert len(scripts) == 2 and scripts[0] == scripts[1], "the same each time that its request id is"
    (tmp_path / "bin").mkdir()
    for name, does in {"curl": 'for last; do :; done; case $last in */name) echo n1;; *) echo projects/1/zones/z1;; esac', "id": "exit 0", "getent": "exit 1",
                       "sudo": 'for a; do case $a in --preserve-env=*) keep=${a#*=};; esac; done; while [ "$1" != bash ]; do shift; done\n'
                               'for v in $(env | cut -d= -f1); do case ,$keep,PATH, in *,$v,*) ;; *) unset $v;; esac; done; exec "$@"'}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{does}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    text = scripts[0].replace("/var/log", str(tmp_path)).replace("/dev/console", f"{tmp_path}/none")
    p = subprocess.run(["bash", "-c", text], cwd=tmp_path, capture_output=True, text=True, env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    mark = hashlib.sha256(f"{token} z1/n1".encode()).hexdigest()[:32]
    assert (tmp_path / "joined").read_text() == f'{mark} {{"davit.io/join":"{mark}"}}\n', (p.stdout, p.stderr)
    assert token not in p.stdout + (tmp_path / "davit-join.log").read_text(), "the console shows no token"


@pytest.mark.parametrize("types, says", [
    ("  t4: {provider: gce, machine: n1-standard-8, zones: [us-central1-a]}", "an image"),
    ("  t4: {provider: gce, machine: n1-standard-8, options: {image: x}}", "zones"),
    ("  t4: {provider: gce, machine: n1-standard-8, zones: [us-central1-a], options: {image: x, disk: 5}}", "10 to 65536"),
])
def test_mistakes_have_a_line(tmp_path, server, types, says):
    f = tmp_path / "davit.yaml"
    f.write_text(f"cluster: c\nproviders:\n  gce: {{project: p}}\nnode_types:\n{types}\n")
    p = subprocess.run([BUILD / "davit", "validate", f], capture_output=True, text=True,
                       env={**environment(server), "DAVIT_PLUGIN_DIR": str(BUILD / "plugins")})
    assert p.returncode == 3 and "davit.yaml:5:" in p.stderr and says in p.stderr, p.stderr


def test_contract(server, cloud):
    def fault(key, value):
        return f"curl -fsS -o /dev/null --noproxy '*' -d '{value}' {server.url}/_test/{key}"
    args = [BUILD / "tests" / "check_provider", BUILD / "plugins" / "davit-gce.so", "-t", "t4", "-m", "n1-standard-8+t4", "-r", "CPU=8",
            "-r", "GPU=1", "-z", A, "-z", B, "-o", "project=my-proj", "-o", "image=projects/p/global/images/family/ray",
            "-o", f"endpoint={server.url}", "--ready", "10", "--gone", "10", "--call", "10", "--settle", "0.05", "--heal", fault("heal", ""),
            "--lose", fault("lose", '{"insert": 1}'),
            "--fault", "THROTTLED=" + fault("fail_next", "[429]"), "--fault", "AUTH=" + fault("deny", "true"),
            "--fault", "RETRY=" + fault("fail_next", "[503]"), "--fault", "STOCKOUT=" + fault("stockout", f'["{A}", "{B}"]'),
            "--fault", "INVALID=" + fault("refuse", '{"insert": [400, "invalid", "not like this"]}'),
            "--fault", "QUOTA=" + fault("quota", '{"%s": 0, "%s": 0}' % (A, B))]
    p = subprocess.run(args, capture_output=True, text=True, timeout=280, env=environment(server))
    print(p.stdout[-5000:], p.stderr[-2000:])
    assert p.returncode == 0 and " 0 broken, 0 skipped" in p.stdout
    assert cloud.bare == {}


def test_quotas(cloud, drives):
    """The tightest of those that count a machine says how many more there may be."""
    def offers(d):
        return {(o["zone"], o["spot"]): (o["available"], o["most"], o["note"]) for o in d.call("offers")["offers"]}
    d = drives(types=TYPES.replace("n1-standard-8+t4", "n1-standard-8+t4x2").replace("GPU: 1", "GPU: 2") + "    spot: true\n")
    assert set(offers(d).values()) == {(True, -1, "")}, "no quota is known"
    cloud.quotas = {"us-central1": {"CPUS": [72, 8], "NVIDIA_T4_GPUS": [9, 2], "N2_CPUS": [0, 0], "PREEMPTIBLE_NVIDIA_T4_GPUS": [0, 0]},
                    "europe-west4": {"NVIDIA_T4_GPUS": [0, 0]}}
    assert set(offers(d).values()) == {(True, 3, "")}
    of = {o["spot"]: o["quotas"] for o in d.call("offers")["offers"]}
    assert of == dict.fromkeys((False, True), {"us-central1 NVIDIA_T4_GPUS": [7, 2], "us-central1 CPUS": [64, 8]}), "shared with others"
    cloud.quotas["us-central1"]["CPUS"] = [24, 8]
    cloud.quotas["us-central1"]["PREEMPTIBLE_CPUS"] = [800, 0]
    assert offers(d) == {(z, spot): (True, 3 if spot else 2, "") for z in (A, B) for spot in (False, True)}
    cloud.quotas["us-central1"]["NVIDIA_T4_GPUS"] = [4, 3]
    cloud.quotas["us-central1"]["PREEMPTIBLE_NVIDIA_T4_GPUS"] = [16, 2]
    none = (False, -1, "quota NVIDIA_T4_GPUS in us-central1: 3 of 4 used, a machine takes 2")
    assert offers(d) == {(z, spot): (True, 7, "") if spot else none for z in (A, B) for spot in (False, True)}
    cloud.quotas["us-central1"]["NVIDIA_T4_GPUS"] = [40, 3]
    cloud.quotas["project"] = {"GPUS_ALL_REGIONS": [0, 0]}
    assert offers(d)[A, False] == (False, -1, "quota GPUS_ALL_REGIONS in all regions: 0 of 0 used, a machine takes 2")
    cloud.quotas["project"] = {"GPUS_ALL_REGIONS": [40, 0], "CPUS_ALL_REGIONS": [12, 8]}
    assert offers(d)[A, False] == (False, -1, "quota CPUS_ALL_REGIONS in all regions: 8 of 12 used, a machine takes 8")
    n = len(cloud.log)
    d.call("offers")
    asked = [x["target"] for x in cloud.log[n:] if x["target"].endswith("?fields=quotas")]
    assert sorted(t.split("my-proj")[1] for t in asked) == ["/regions/us-central1?fields=quotas", "?fields=quotas"], "once for all zones"


def test_quotas_of_who_may_not_read_them(cloud, drives):
    cloud.quotas, cloud.deny_quotas = {"us-central1": {"CPUS": [0, 0]}}, True
    d = drives()
    for _ in range(2):
        r = d.call("offers")
        assert r["status"] == "OK" and {(o["available"], o["most"]) for o in r["offers"]} == {(True, -1)}, r
    assert d.text().count("offers are made without the quotas of") == 1


@pytest.mark.parametrize("machine,metric", [
    ("n2-standard-8", "N2_CPUS"), ("c2d-standard-8", "C2D_CPUS"), ("e2-standard-8", "CPUS"), ("a2-highgpu-1g", "NVIDIA_A100_GPUS"), ("a2-highgpu-1g", "A2_CPUS"),
    ("n1-standard-8+l4", "NVIDIA_L4_GPUS"), ("n1-standard-8+v100", "NVIDIA_V100_GPUS"), ("n1-standard-8+a100-80gb", "NVIDIA_A100_80GB_GPUS"), ("n2-standard-8", "INSTANCES")])
def test_which_quota_counts_a_machine(cloud, drives, machine, metric):
    cloud.types.update({"n2-standard-8": (8, 32768, None), "c2d-standard-8": (8, 32768, None)})
    cloud.quotas = {"us-central1": {metric: [1, 1]}}
    d = drives(types=f"  x: {{provider: gce, machine: {machine}, zones: [{A}], resources: {{CPU: 1}}}}\n")
    [o] = d.call("offers")["offers"]
    assert not o["available"] and o["note"].startswith(f"quota {metric} in us-central1: 1 of 1 used"), o
