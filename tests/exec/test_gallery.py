"""The programs of docs/gallery: both keep the contract, and do what their pages say."""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import urllib.request

import pytest

from lib import ROOT, until
from lib.daemon import Daemon

BUILD = ROOT / os.environ.get("DAVIT_BUILD", "build/release")
HOSTS, GPUCLOUD = ROOT / "docs/gallery/hosts.py", ROOT / "docs/gallery/gpucloud.py"
# In place of ssh: ADDRESS and "sh -s"; says who was asked, fails for those in down/, and runs the script here.
SSH = """#!/bin/sh
cd {dir}
if [ -e down/$1 ]; then echo "no route to $1"; exit 255; fi
HOST=$1 exec sh -s
"""


def contract(program, *args):
    p = subprocess.run([BUILD / "tests/check_provider", BUILD / "plugins/davit-exec.so", "-o", f"command.0={sys.executable}",
                        "-o", f"command.1={program}", "--ready", "10", "--gone", "10", "--call", "10", "--settle", "0.05", *args],
                       capture_output=True, text=True, timeout=280)
    print(p.stdout[-4000:], p.stderr[-2000:])
    assert p.returncode == 0
    kept, broken, skipped = map(int, re.search(r"(\d+) laws kept, (\d+) broken, (\d+) skipped", p.stdout).groups())
    assert kept >= 19 and broken == 0


class Program:
    """A provider's program, spoken to as the daemon does."""

    def __init__(self, program, options, machine="", zones=(), start=True):
        self.args, self.n, self.machine, self.zones, self.options = [sys.executable, program], 0, machine, list(zones), options
        self.start()

    def start(self):
        self.p = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        types = [{"name": "t4", "machine": self.machine, "zones": self.zones}]
        self.hello = self("hello", cluster="rack", head="10.0.0.2:6379", options=self.options, types=types)

    def __call__(self, op, **more):
        """(the last line, what came before it)"""
        self.n += 1
        print(json.dumps({"id": self.n, "op": op, "deadline_ms": 30000, **more}), file=self.p.stdin, flush=True)
        lines = []
        while True:
            line = json.loads(self.p.stdout.readline())
            assert line.pop("id") == self.n
            if "status" in line:
                return line, lines
            lines.append(next(iter(line.values())))

    def launch(self, request, count=1, **more):
        return self("launch", type="t4", request_id=request, count=count, zone=more.get("zone", ""), spot=False, tags={})

    def machines(self):
        end, lines = self("list")
        assert end == {"status": "OK"}, end
        return {m["id"]: m for m in lines}

    def end(self):
        self.p.stdin.close()
        assert self.p.wait(30) == 0
        self.p.stdout.close()


@pytest.fixture
def programs():
    made = []

    def make(*args, **more):
        made.append(Program(*args, **more))
        return made[-1]
    yield make
    for p in made:
        if p.p.poll() is None:
            p.end()


# ---- hosts.py

@pytest.fixture
def rack(tmp_path):
    """Options for six hosts of which one can be woken; its packets are kept."""
    (tmp_path / "down").mkdir()
    ssh = tmp_path / "ssh"
    ssh.write_text(SSH.format(dir=tmp_path))
    ssh.chmod(0o755)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.settimeout(30)
        hosts = ["gpu-1 t4 10.0.0.1 52:54:00:ab:cd:ef"] + [f"gpu-{i} t4 10.0.0.{i}" for i in range(2, 40)] + [f"cpu-{i} cpu 10.0.1.{i}" for i in range(4)]
        (tmp_path / "hosts").write_text("# name type address mac\n" + "\n".join(hosts) + "\n")
        yield s, {"hosts": str(tmp_path / "hosts"), "state": str(tmp_path / "state.json"), "ssh": str(ssh), "again": "0.1",
                  "broadcast": "127.0.0.1:%d" % s.getsockname()[1],
                  "join": "echo join $RAY_CLOUD_INSTANCE_ID $RAY_NODE_TYPE_NAME $RAY_HEAD $HOST >> asked",
                  "leave": "test ! -e busy && echo leave $HOST >> asked"}


def asked(tmp_path):
    path = tmp_path / "asked"
    return path.read_text().splitlines() if path.exists() else []


def test_hosts_keep_the_contract(rack):
    options = [f"-o=options.{k}={v}".split("=", 1) for k, v in rack[1].items()]
    contract(HOSTS, "-t", "t4", "-r", "GPU=1", "-t", "cpu", "-r", "CPU=4", *[x for o in options for x in o])


def test_a_host_is_woken_and_joins_under_its_name(rack, tmp_path, programs):
    wire, options = rack
    p = programs(HOSTS, options)
    end, got = p.launch("r-1")
    assert end == {"status": "OK"} and [(m["id"], m["phase"]) for m in got] == [("gpu-1", "starting")]
    assert wire.recv(200) == b"\xff" * 6 + bytes.fromhex("525400abcdef") * 16
    until(lambda: p.machines()["gpu-1"]["phase"] == "running")
    assert asked(tmp_path) == ["join gpu-1 t4 10.0.0.2:6379 10.0.0.1"]
    # the same request again: the same host; another one: the next
    assert [m["id"] for m in p.launch("r-1")[1]] == ["gpu-1"] and [m["id"] for m in p.launch("r-2")[1]] == ["gpu-2"]
    assert p("terminate", ids=["gpu-1", "no-such"])[1] == [{"id": "gpu-1", "status": "OK"}, {"id": "no-such", "status": "NOT_FOUND"}]
    assert "leave 10.0.0.1" in asked(tmp_path) and set(p.machines()) == {"gpu-2"}
    # its machine has ended: the request makes no other
    assert p.launch("r-1") == ({"status": "OK"}, []) and set(p.machines()) == {"gpu-2"}
    end, got = p.launch("r-3", 60)
    assert end["status"] == "STOCKOUT" and len(got) == 38
    assert p("offers")[1] == [{"type": "t4", "available": False, "note": "all hosts are in use"}]


def test_a_host_that_does_not_answer_is_told_and_tried_again_by_another_process(rack, tmp_path, programs):
    (tmp_path / "down" / "10.0.0.1").touch()
    p = programs(HOSTS, rack[1])
    p.launch("r-1")
    until(lambda: p.machines()["gpu-1"]["detail"] == "no route to 10.0.0.1")
    assert p.machines()["gpu-1"]["phase"] == "starting"
    p.end()
    (tmp_path / "down" / "10.0.0.1").unlink()
    p.start()
    until(lambda: p.machines()["gpu-1"]["phase"] == "running")


def test_a_host_that_will_not_go_stays_in_use(rack, tmp_path, programs):
    p = programs(HOSTS, rack[1])
    p.launch("r-1")
    until(lambda: p.machines()["gpu-1"]["phase"] == "running")
    (tmp_path / "busy").touch()
    end, got = p("terminate", ids=["gpu-1"])
    assert got == [{"id": "gpu-1", "status": "RETRY"}] and end["status"] == "RETRY"
    assert p.machines()["gpu-1"]["phase"] == "stopping"
    (tmp_path / "busy").unlink()
    assert p("terminate", ids=["gpu-1"])[0] == {"status": "OK"} and not p.machines()


def test_the_daemon_and_a_rack(rack, tmp_path):
    options = "\n".join(f"      {k}: {json.dumps(v)}" for k, v in rack[1].items())
    with Daemon(tmp_path, f"""
cluster: rack
api: {{listen: "127.0.0.1:{{port}}"}}
state: "{{dir}}/davit.db"
limits: {{idle_timeout: 1s}}
providers:
  rack:
    plugin: exec
    command: [{sys.executable}, {HOSTS}]
    options:
{options}
node_types:
  t4: {{provider: rack, resources: {{CPU: 8, GPU: 1}}, price: 1, max: 3}}
""") as d:
        d.post({"bundles": [{"GPU": 1, "count": 2}]})
        d.until(lambda: d.ready("t4") == 2)
        assert sorted(n["cloud_id"] for n in d.nodes()) == ["gpu-1", "gpu-2"]
        d.post({"bundles": []})
        d.until(lambda: not d.nodes())
        assert sorted(line.split()[0] for line in asked(tmp_path)) == ["join", "join", "leave", "leave"]


# ---- gpucloud.py

class Cloud:
    def __init__(self, where):
        self.p = subprocess.Popen([sys.executable, pathlib.Path(__file__).with_name("gpu_cloud.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.p.stdout.readline())}"
        self.token = where / "token"
        self.token.write_text("tok-1\n")
        self.options = {"url": self.url, "token_file": str(self.token), "join": "ray start --address=$RAY_HEAD"}

    def call(self, path, body=None):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        data = None if body is None else json.dumps(body).encode()
        with opener.open(urllib.request.Request(self.url + path, data)) as r:
            return json.load(r)["data"]

    def living(self):
        return [i for i in self.call("/_instances") if i["status"] != "terminated"]


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    c = Cloud(tmp_path)
    yield c
    c.p.stdin.close()
    c.p.wait(30)
    c.p.stdout.close()


def test_a_gpu_cloud_keeps_the_contract(gpus):
    def fault(**what):
        return f"curl -fsS -o /dev/null --noproxy '*' -d '{json.dumps(what)}' {gpus.url}/_fault"
    args = ["-t", "t4", "-r", "GPU=1", "-m", "gpu_1x_a10", "-z", "west", "--heal", fault(), "--lose", fault(lost=1), "--partial", fault(room=2)]
    for key, value in gpus.options.items():
        args += ["-o", f"options.{key}={value}"]
    for status, code, want in [(400, "insufficient-capacity", "STOCKOUT"), (400, "quota-exceeded", "QUOTA"), (400, "invalid-parameters", "INVALID"),
                               (429, "rate", "THROTTLED"), (403, "forbidden", "AUTH"), (500, "oops", "RETRY")]:
        args += ["--fault", f"{want}={fault(status=status, code=code)}"]
    contract(GPUCLOUD, *args, "-o", "env.no_proxy=127.0.0.1")


def test_a_gpu_cloud_is_told_who_joins_and_looks_before_it_buys(gpus, programs):
    p = programs(GPUCLOUD, gpus.options, machine="gpu_1x_a10", zones=["west", "east"])
    end, got = p.launch("r-1", 5, zone="west")  # three pages of two
    assert end == {"status": "OK"} and len(got) == 5
    [one] = {i["user_data"] for i in gpus.living()}
    assert "RAY_CLOUD_INSTANCE_ID=$(curl -s http://169.254.169.254/id) RAY_NODE_TYPE_NAME=t4 RAY_HEAD=10.0.0.2:6379" in one
    assert one.endswith("ray start --address=$RAY_HEAD\n")
    p.end()
    p.start()
    assert p.launch("r-1", 5, zone="west")[0] == {"status": "OK"} and len(gpus.living()) == 5 == len(p.machines())
    ids = list(p.machines())
    assert {e["status"] for e in p("terminate", ids=ids)[1]} == {"OK"} and not p.machines()
    assert p.launch("r-1", 5, zone="west") == ({"status": "OK"}, []) and not gpus.living()  # they have ended: no others
    assert p("offers")[1] == [{"type": "t4", "zone": "west", "price": 0.75, "available": True, "note": ""},
                              {"type": "t4", "zone": "east", "price": 0.75, "available": False, "note": "none left there"}]


def test_a_token_that_is_renewed(gpus, programs):
    p = programs(GPUCLOUD, gpus.options, machine="gpu_1x_a10", zones=["west"])
    gpus.token.write_text("tok-0")
    end, _ = p("list")
    assert end["status"] == "AUTH" and "tok-0" not in json.dumps(end)
    gpus.token.write_text("tok-1")
    assert p.machines() == {}
    gpus.token.unlink()
    assert p("list")[0]["status"] == "AUTH"
