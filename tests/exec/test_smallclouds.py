"""docs/gallery's programs for Lambda Cloud, Runpod and DigitalOcean, against clouds that are judged by the published documents."""
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from test_gallery import Program, contract

from lib import ROOT, until
from lib.daemon import Daemon

TOKEN = "tok-of-the-test-1"
# By name: program, two machine types (the first is cheaper), a zone, its options, what a launch is called in the document.
CLOUDS = {
    "lambda": ("lambdacloud.py", ("gpu_1x_a10", "gpu_1x_h100_pcie"), "us-east-1", {"ssh_key": "key", "gap": "0", "launch_gap": "0", "join": "ray start --address=$RAY_HEAD"},
               "POST /api/v1/instance-operations/launch", "/api/v1"),
    "runpod": ("runpod.py", ("NVIDIA GeForce RTX 4090", "NVIDIA H100 80GB HBM3"), "US-KS-2", {"image": "rayproject/ray:2.60.0-gpu"}, "POST /v2/pods", "/v2"),
    "digitalocean": ("digitalocean.py", ("gpu-l40sx1-48gb", "gpu-h100x1-80gb"), "tor1", {"image": "gpu-h100x1-base", "gap": "0", "join": "ray start --address=$RAY_HEAD"},
                     "POST /v2/droplets", ""),
}


class Cloud:
    def __init__(self, name, where):
        self.name, (program, self.kinds, self.zone, options, self.buys, base) = name, CLOUDS[name]
        self.program = ROOT / "docs/gallery" / program
        self.p = subprocess.Popen([sys.executable, pathlib.Path(__file__).parent / "clouds/served.py", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{int(self.p.stdout.readline())}"
        self.token = where / "token"
        self.token.write_text(TOKEN + "\n")
        self.options = {"url": self.url + base, "token_file": str(self.token), "state": str(where / "book"), "unsure": "2", **options}
        self.wrong = True  # at the end nothing was

    def call(self, path, body=None):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode())) as r:
            return json.load(r)

    def fault(self, **what):
        self.call("/_fault", what)

    def living(self):
        return self.call("/_machines")

    def launches(self):
        return self.call("/_calls").count(self.buys)


@pytest.fixture(params=CLOUDS)
def cloud(request, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    c = Cloud(request.param, tmp_path)
    try:
        yield c
        if c.wrong:
            assert c.call("/_wrong") == []
    finally:
        c.p.stdin.close()
        c.p.wait(30)
        c.p.stdout.close()


class Rented(Program):
    def start(self):
        self.p = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        types = [{"name": n, "machine": m, "zones": self.zones, "options": {}} for n, m in self.machine.items()]
        self.hello = self("hello", cluster="Train.1", head="10.0.0.2:6379", options=self.options, types=types)


@pytest.fixture
def rent(cloud):
    made = []

    def make(**options):
        made.append(Rented(cloud.program, {**cloud.options, **options}, machine={"t4": cloud.kinds[0], "T4_x.y": cloud.kinds[1]}, zones=[cloud.zone]))
        return made[-1]
    yield make
    for p in made:
        if p.p.poll() is None:
            p.end()


def test_the_contract_is_kept(cloud):
    def fault(**what):
        return f"curl -fsS -o /dev/null --noproxy '*' -d '{json.dumps(what)}' {cloud.url}/_fault"
    args = ["-t", "t4", "-r", "GPU=1", "-m", cloud.kinds[0], "-z", cloud.zone, "--heal", fault(), "--lose", fault(lost=1), "--partial", fault(room=2)]
    for key, value in {**cloud.options, "unsure": "0.3"}.items():
        args += ["-o", f"options.{key}={value}"]
    faults = {"STOCKOUT": {"room": 0}, "RETRY": {"answer": {"status": 500}}, "THROTTLED": {"throttle": 9, "after": 1},
              "AUTH": {"answer": {"status": 403}}, "QUOTA": {"quota": 0}, "INVALID": {"answer": {"status": 422}}}
    if cloud.name == "runpod":  # its limit is a balance, and a 403 of a launch is of that pool alone
        faults["AUTH"] = faults.pop("QUOTA")
        faults["INVALID"] = {"answer": {"status": 403}}
    for status, what in faults.items():
        args += ["--fault", f"{status}={fault(**what)}"]
    contract(cloud.program, *args, "-o", "env.no_proxy=127.0.0.1")


def test_a_launch_whose_answer_is_lost_makes_one_machine(cloud, rent):
    """The list does not show it at once; another process asks again, and again."""
    p = rent(unsure="60")
    assert p.hello[0] == {"status": "OK", "find": True}
    cloud.fault(lost=1, late=1.5)
    end, got = p.launch("r-1", 2, zone=cloud.zone)
    assert end["status"] == "RETRY" and not got and len(cloud.living()) == 1
    cloud.fault()
    p.end()
    p.start()
    end, got = p.launch("r-1", 2, zone=cloud.zone)
    assert end["status"] == "RETRY" and end["code"] == "UNSURE" and 1000 < end["retry_after_ms"] <= 60000, end
    assert cloud.launches() == 1
    until(lambda: p.launch("r-1", 2, zone=cloud.zone)[0] == {"status": "OK"})
    assert len(cloud.living()) == 2 == cloud.launches() == len(p.machines())
    ids = list(p.machines())
    assert {e["status"] for e in p("terminate", ids=ids)[1]} == {"OK"} and not p.machines()
    assert p.launch("r-1", 2, zone=cloud.zone) == ({"status": "OK"}, []) and not cloud.living()  # they have ended: no others
    assert {e["status"] for e in p("terminate", ids=ids)[1]} == {"NOT_FOUND"}


def test_nothing_came_of_a_launch_without_an_answer(cloud, rent):
    p = rent()
    cloud.fault(answer={"status": 502})
    assert p.launch("r-1", zone=cloud.zone)[0]["status"] == "RETRY"
    cloud.fault()
    assert p.launch("r-1", zone=cloud.zone)[0]["code"] == "UNSURE" and cloud.launches() == 1
    until(lambda: p.launch("r-1", zone=cloud.zone)[0] == {"status": "OK"})
    assert len(cloud.living()) == 1
    # What was refused was not made: the next one is bought at once.
    cloud.fault(room=1)
    assert p.launch("r-2", zone=cloud.zone)[0]["status"] == "STOCKOUT"
    cloud.fault()
    assert p.launch("r-2", zone=cloud.zone)[0] == {"status": "OK"} and len(cloud.living()) == 2


def test_what_a_machine_is_told_and_what_is_told_of_it(cloud, rent):
    p = rent()
    p("launch", type="T4_x.y", request_id="davit-5f0a", count=1, zone=cloud.zone, spot=False, tags={})
    until(lambda: [m["phase"] for m in p.machines().values()] == ["running"])
    [(ident, m)] = p.machines().items()
    assert (m["type"], m["request_id"], m["zone"]) == ("T4_x.y", "davit-5f0a", cloud.zone) and m["address"]
    [body] = [m["body"] for m in cloud.living()]
    said = json.dumps(body)
    assert "RAY_CLOUD_INSTANCE_ID=" in said and "10.0.0.2:6379" in said and "T4_x.y" in said and "ray start --address=$RAY_HEAD" in said
    mine = {"lambda": ident, "runpod": "$RUNPOD_POD_ID", "digitalocean": "$(curl -s --retry 9 http://169.254.169.254/metadata/v1/id)"}[cloud.name]
    assert f"RAY_CLOUD_INSTANCE_ID={mine} " in said
    offers = {o["type"]: o for o in p("offers")[1]}
    price = {"lambda": (0.75, 3.29), "runpod": (0.69, 3.99), "digitalocean": (1.57, 3.39)}[cloud.name]
    assert (offers["t4"]["price"], offers["T4_x.y"]["price"]) == price and all(o["available"] and o["resources"]["GPU"] == 1 for o in offers.values())
    cloud.fault(told=[cloud.kinds[0]])
    assert [(o["type"], o["available"], "none left" in o["note"]) for o in p("offers")[1]] == [("t4", False, True), ("T4_x.y", True, False)]


def test_a_machine_is_known_by_its_id_whatever_lists_say(cloud, rent):
    p = rent()
    cloud.fault(late=600)
    p.launch("r-1", 2, zone=cloud.zone)
    one, two = [m["id"] for m in p.launch("r-2", 2, zone=cloud.zone)[1]]
    assert not p.machines() and len(cloud.living()) == 4
    assert p("find", ids=[one, two])[1] == [{"id": one, "status": "OK"}, {"id": two, "status": "OK"}]
    assert p("terminate", ids=[one])[1] == [{"id": one, "status": "OK"}] and len(cloud.living()) == 3
    assert p("find", ids=[two, one])[1] == [{"id": two, "status": "OK"}, {"id": one, "status": "NOT_FOUND"}]
    cloud.fault(proxy=True)
    assert p("find", ids=[two, one])[0]["status"] == "RETRY" and p("find", ids=[two, one])[1] == []
    cloud.fault(throttle=1, after=7)
    end, got = p("find", ids=[two])
    assert (end["status"], end["retry_after_ms"], got) == ("THROTTLED", 7000, [])


def test_a_secret_goes_to_its_cloud_alone(cloud, rent, tmp_path):
    p = rent()
    cloud.fault(answer={"status": 400, "text": f"the token {TOKEN} may not"})
    end, _ = p.launch("r-1", zone=cloud.zone)
    assert "***" in end["text"] and TOKEN not in json.dumps(end)
    seen = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self):
            seen.append(self.headers.get("Authorization"))

    with HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cloud.fault(away=f"http://127.0.0.1:{server.server_address[1]}/")
        end, _ = p("list")
        server.shutdown()
    assert end["status"] == "RETRY" and "302" in end["text"] and not seen
    cloud.fault()
    cloud.token.write_text("tok-of-yesterday")
    end, _ = p("list")
    assert end["status"] == "AUTH" and "yesterday" not in json.dumps(end)
    cloud.token.unlink()
    assert p("list")[0] == {"status": "AUTH", "code": "", "text": "options.token_file: No such file or directory", "retry_after_ms": 0}
    assert "must begin with https://" in rent(url="http://cloud.example/v1").hello[0]["text"]
    assert "options.unsure must be seconds" in rent(unsure="soon").hello[0]["text"]
    for path in tmp_path.glob("book*"):
        assert TOKEN not in path.read_text() and path.stat().st_mode & 0o077 == (0o044 if path.suffix == ".lock" else 0)


def test_what_is_not_of_the_document_is_refused(cloud):
    cloud.wrong = False
    path = cloud.buys.split()[1]
    body = {"name": "x", "quantity": 2}
    request = urllib.request.Request(cloud.url + path, json.dumps(body).encode(), {"Authorization": "Bearer " + TOKEN}, method="POST")
    with pytest.raises(urllib.error.HTTPError) as e:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
    assert e.value.code in (400, 422) and len(cloud.call("/_wrong")) == 1 and not cloud.living()


@pytest.mark.parametrize("cloud", ["digitalocean"], indirect=True)
def test_pages_are_counted(cloud, rent):
    p = rent()
    p.launch("r-1", 5, zone=cloud.zone)
    cloud.fault(page=2)
    assert len(p.machines()) == 5
    cloud.fault(page=2, moves=1)  # one of the first page ends: the third moves there, and would be on no page that is read
    assert len(p.machines()) == 4
    cloud.fault()
    p.launch("r-2", 5, zone=cloud.zone)
    cloud.fault(page=3, moves=9)  # nine machines: each of three readings meets an end
    end, got = p("list")
    assert end["status"] == "RETRY" and not got and "changed while its pages were read" in end["text"]


@pytest.mark.parametrize("cloud", ["digitalocean"], indirect=True)
def test_the_limit_of_an_hour(cloud, rent):
    cloud.fault(throttle=1, reset=int(time.time()) + 900)
    end, _ = rent()("list")
    assert end["status"] == "THROTTLED" and 600000 < end["retry_after_ms"] <= 900000


@pytest.mark.parametrize("cloud, gap", [("lambda", 1), ("digitalocean", 0.72)], indirect=["cloud"])
def test_requests_keep_their_distance(cloud, rent, gap):
    del cloud.options["gap"]
    p = rent()
    began, before = time.monotonic(), len(cloud.call("/_calls"))
    for _ in range(2):
        p.machines()
    n = len(cloud.call("/_calls")) - before
    assert n >= 2 and time.monotonic() - began >= (n - 1) * gap


@pytest.mark.parametrize("cloud", ["lambda"], indirect=True)
def test_lambda_takes_one_launch_in_twelve_seconds(cloud, rent):
    p = rent(launch_gap="12")
    end, got = p.launch("r-1", 3, zone=cloud.zone)
    assert end["status"] == "THROTTLED" and 10000 < end["retry_after_ms"] <= 12000 and len(got) == 1 == cloud.launches()
    end, got = p.launch("r-1", 3, zone=cloud.zone)
    assert end["status"] == "THROTTLED" and len(got) == 1 == cloud.launches()


CONFIG = """
cluster: train
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: 1s}
providers:
  small:
    plugin: exec
    command: [%s, %s]
    settle: 5s
    options: %s
node_types:
  cheap: {provider: small, machine: %s, zones: [%s], resources: {CPU: 4, GPU: 1}, max: 4}
  dear: {provider: small, machine: %s, zones: [%s], resources: {CPU: 4, GPU: 1}, max: 4}
"""


def test_the_daemon_on_a_small_cloud(cloud, tmp_path):
    """Launch; a stockout, and the next type; an end; a launch whose answer is lost, and one machine of it."""
    kinds = [json.dumps(k) for k in cloud.kinds]
    text = CONFIG % (sys.executable, cloud.program, json.dumps(cloud.options), kinds[0], cloud.zone, kinds[1], cloud.zone)
    cloud.fault(dry=[cloud.kinds[0]])
    with Daemon(tmp_path, text) as d:
        d.post({"bundles": [{"GPU": 1, "count": 2}]})
        d.until(lambda: d.ready("dear") == 2)
        assert d.ready("cheap") == 0 and len(cloud.living()) == 2
        assert [e for e in d.events("launch.failed") if "cheap" in json.dumps(e) and "STOCKOUT" in json.dumps(e)], [e["kind"] for e in d.events()]
        d.post({"bundles": []})
        d.until(lambda: not d.nodes() and not cloud.living())
        before = cloud.launches()
        cloud.fault(dry=[cloud.kinds[0]], lost=1, late=1)
        d.post({"bundles": [{"GPU": 1, "count": 1}]})
        d.until(lambda: d.ready("dear") == 1)
        assert len(cloud.living()) == 1 and cloud.launches() == before + 1
        d.post({"bundles": []})
        d.until(lambda: not d.nodes() and not cloud.living())
    assert TOKEN not in d.text()
