"""What a user says of a node: protected ones are never ended, cordoned ones get nothing new, drained ones go."""
from lib.daemon import Daemon

CONFIG = """
cluster: marks
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {idle_timeout: %s, think: 0}
providers: {sim: {state: "{dir}/cloud.json", boot: 100ms, terminate: 100ms}}
node_types:
  cpu: {resources: {CPU: 4}, price: 0.2, max: 4}
"""


def one(d, cpus=4):
    d.post({"owner": "a", "bundles": [{"CPU": cpus}]})
    d.until(lambda: d.ready("cpu") == 1 and d.status()["demand"]["launched"] == 0)
    return d.nodes()[0]["id"]


def node(d, name):
    return next((n for n in d.nodes() if n["id"] == name), None)


def kinds(d, name):
    return {e["kind"]: e["text"] for e in d.events() if e["subject"] == name}


def test_a_cordoned_node_gets_nothing_new(tmp_path):
    with Daemon(tmp_path, CONFIG % "5m") as d:
        name = one(d, 1)
        assert "nothing new is planned" in d.cli("cordon", name)
        assert "; cordoned by " in node(d, name)["why"]["text"]
        d.post({"owner": "b", "bundles": [{"CPU": 1}]})
        d.until(lambda: d.ready("cpu") == 2)
        assert not node(d, name)["for"] and d.status()["nodes"]["cordoned"] == 1
        d.kill()
        d.start()
        assert node(d, name)["cordoned"], "kept over a restart"
        d.cli("uncordon", name)
        d.until(lambda: not node(d, name)["cordoned"])
        assert {"node.cordoned", "node.uncordoned"} <= kinds(d, name).keys()


def test_a_cordoned_node_goes_when_idle(tmp_path):
    with Daemon(tmp_path, CONFIG % "300ms") as d:
        name = one(d, 1)
        d.cli("cordon", name)
        d.until(lambda: node(d, name) is None, why="the request holds another one now")
        d.until(lambda: d.ready("cpu") == 1)


def test_a_drained_node_goes_and_is_replaced(tmp_path):
    with Daemon(tmp_path, CONFIG % "5m") as d:
        name = one(d)
        assert "drained and ended" in d.cli("drain", name)
        d.until(lambda: node(d, name) is None)
        d.until(lambda: d.ready("cpu") == 1)
        assert "by " in kinds(d, name)["node.asked"]
        assert kinds(d, name).keys() >= {"node.asked", "node.ending", "node.gone"}


def test_a_protected_node_stays(tmp_path):
    with Daemon(tmp_path, CONFIG % "300ms") as d:
        name = one(d)
        d.cli("protect", name)
        assert "davit unprotect" in d.cli("drain", name, expect=3, stream="stderr")
        d.call("DELETE", "/v1/request_resources/a")
        d.until(lambda: node(d, name)["why"]["reason"] == "protected")
        d.stays(lambda: node(d, name)["state"] == "ready", 1.5)
        d.cli("unprotect", name)
        d.until(lambda: node(d, name) is None)


def test_a_name_that_is_nobodys(tmp_path):
    with Daemon(tmp_path, CONFIG % "5m") as d:
        name = one(d)
        wrong = name[:-2] + "x" + name[-1:]
        for command in ("protect", "cordon", "drain", "uncordon", "unprotect"):
            assert f"did you mean {name}" in d.cli(command, wrong, expect=1, stream="stderr")


# ---- with a Ray head: what runs there tells what is in use, and is asked to let nodes go

RAY = CONFIG.replace("limits:", "head: {ray: {address: \"%s\"}}\nlimits:")


def joined(d, gcs, name=None):
    """The node of a machine that has come up, in Ray."""
    d.until(lambda: any(n["state"] == "starting" and n["cloud_id"] for n in d.nodes()) or name)
    name = name or next(n["id"] for n in d.nodes() if n["state"] == "starting")
    gcs.join(name, "cpu", {"CPU": 4})
    d.until(lambda: (node(d, name) or {}).get("state") == "ready")
    return name


def test_a_drained_node_goes_though_there_is_work_on_it(tmp_path):
    from ray.core.generated import autoscaler_pb2 as pb
    from lib.gcs import Gcs
    with Gcs() as gcs:
        gcs.join("head", "", {"CPU": 1}, head=True)
        with Daemon(tmp_path, RAY % (gcs.address, "5m")) as d:
            gcs.tasks([({"CPU": 4}, 1)])
            name = joined(d, gcs)
            gcs.tasks([])
            gcs.busy(name)
            d.until(lambda: node(d, name)["why"]["reason"] == "busy")
            d.cli("drain", name)
            d.until(lambda: (name, True) in gcs.drains, why="Ray is asked with a reason that it cannot refuse")
            assert gcs.asked[0][1].reason == pb.DRAIN_NODE_REASON_PREEMPTION
            gcs.leave(name)
            d.until(lambda: node(d, name) is None)


def test_a_cordoned_node_keeps_its_work_and_gets_none(tmp_path):
    """Its work goes on counting for a request; what is free of it is no room."""
    from lib.gcs import Gcs
    with Gcs() as gcs:
        gcs.join("head", "", {"CPU": 1}, head=True)
        with Daemon(tmp_path, RAY % (gcs.address, "5m")) as d:
            d.post({"owner": "a", "bundles": [{"CPU": 4}]})
            name = joined(d, gcs)
            gcs.busy(name)
            d.until(lambda: node(d, name)["why"]["reason"] == "busy")
            d.cli("cordon", name)
            d.until(lambda: node(d, name)["cordoned"])
            use = d.status()["resources"]["CPU"]
            assert use["used"] == 4 and use["total"] == 5, use
            d.stays(lambda: len(d.nodes("cpu")) == 1, 1)  # the request is met by what runs there
            gcs.tasks([({"CPU": 2}, 1)])
            d.until(lambda: len(d.nodes("cpu")) == 2, why="new work goes elsewhere")
