"""What a machine that did not join has printed: read before it is ended, shown by `davit why`."""
import json

from gke_rig import BUILD, environment
from lib.daemon import Daemon

A = "us-central1-a"
R = "davit-00112233445566778899"
PRINTED = ("\x1b[2J\x1b[0;32mBooting\x1b[0m `Debian'\r\n" + "[ 1.5] noise of the kernel\r\n" * 3000 +
           "startup-script: bash: no job control in this shell\n"
           "startup-script: downloading 1%\rstartup-script: downloading 100%\n"
           "startup-script: export HF_TOKEN=hf_abcdefgh1234 and more\n"
           "startup-script: pip install https://me:geheim@pypi.example/simple ray==9.9\n"
           "startup-script: -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"
           "startup-script: ERROR: No matching distribution found for ray==9.9\u202e\n\n")
CONFIG = """
cluster: c
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %s
limits: {max_nodes: 20, idle_timeout: 60s, start_timeout: 2s}
providers:
  gce: {project: my-proj, endpoint: "%s", image: projects/p/global/images/family/ray}
node_types:
  t4: {provider: gce, machine: n1-standard-8+t4, zones: [us-central1-a], resources: {CPU: 8, GPU: 1}, max: 1}
"""


def test_read_before_the_end(cloud, drives):
    d = drives()
    cloud.printed = PRINTED
    [m] = d.launch(1, R, zone=A)["machines"]
    r = d.call("terminate", ids=[m["id"], "z/gone"], consoles=True)
    assert r["status"] == "OK" and r["done"][m["id"]] == "OK" and r["consoles"]["z/gone"] == "", r
    text = r["consoles"][m["id"]]
    assert text.endswith(" | startup-script: downloading 100% | startup-script: export HF_TOKEN=REMOVED and more"
                         " | startup-script: pip install https://REMOVED@pypi.example/simple ray==9.9 | REMOVED"
                         " | startup-script: ERROR: No matching distribution found for ray==9.9???"), text
    assert len(text) <= 1500 and not any(x in text for x in ("geheim", "hf_", "MIIE", "\x1b", "job control"))
    [x] = [x for x in cloud.log if "serialPort" in x["target"]][:1]
    assert "start=-65536" in x["target"]
    assert [x["method"] for x in cloud.log if f"/{m['id'].split('/')[1]}" in x["target"]][-2:] == ["GET", "DELETE"]


def test_not_asked_for_otherwise(cloud, drives):
    d = drives()
    [m] = d.launch(1, R, zone=A)["machines"]
    assert d.end(m["id"])["status"] == "OK"
    assert not [x for x in cloud.log if "serialPort" in x["target"]]


def test_a_console_that_fails_keeps_no_machine(cloud, drives):
    d = drives()
    cloud.refuse = {"getSerialPortOutput": [403, "forbidden", "Required 'compute.instances.getSerialPortOutput' permission"]}
    [m] = d.launch(1, R, zone=A)["machines"]
    r = d.call("terminate", ids=[m["id"]], consoles=True)
    assert r["status"] == "OK" and r["consoles"] == {m["id"]: ""}
    assert d.until(lambda: d.list() == [] and cloud.bare == {})


def test_why_of_a_node_that_did_not_join(cloud, server, tmp_path):
    cloud.boot, cloud.printed = 1000, PRINTED
    with Daemon(tmp_path, CONFIG % (BUILD / "plugins", server.url), env=environment(server)) as d:
        d.post({"owner": "me", "bundles": [{"GPU": 1}]})
        node = d.until(lambda: [e["subject"] for e in d.get("/v1/events?format=json&limit=1000")[1]["events"] if e["kind"] == "node.console"])[0]
        d.post({"owner": "me", "bundles": []})
        d.until(lambda: not [n for n in d.nodes() if n["id"] == node])
        lines = d.cli("why", node).splitlines()
        at = lines.index("The end of its console:")
        assert lines[0].startswith(f"{node} is there no more") and lines[-1].endswith("No matching distribution found for ray==9.9???")
        assert any("node.failed" in x for x in lines[:at]) and "  startup-script: downloading 100%" in lines[at:]
        assert "geheim" not in d.text() + json.dumps(lines)
        assert len([x for x in cloud.log if "serialPort" in x["target"]]) == len(d.events("node.console")), "once for each"
        code, r = d.get("/v1/why/t4-00000000-0")
        assert code == 404, r
