"""What a reload changes for pods that are pending."""
import json

import manifests
from lib.kube import SOON, pods_path, until
from pools import Pools

APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
    {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "topology.kubernetes.io/zone"}]}}
TYPES = {"cpu": {"resources": {"CPU": 4, "memory": "16Gi"}, "price": 0.5, "max": 10, "zones": ["a"]}}


def reload(d, text):
    d.write(text)
    status, reply = d.call("POST", "/v1/reload")
    assert status == 200, reply


def test_a_zone_that_a_reload_brings_is_bought_in(plane, tmp_path):
    with Pools(plane, tmp_path, TYPES) as d:
        for i in range(2):
            plane.client.post(pods_path(), manifests.pod(f"x-{i}", cpu="1", labels={"app": "x"}, affinity=APART))
        until(lambda: d.count() == {"cpu": 1}, SOON)
        d.stays(lambda: d.machines() == {"cpu": 1}, 2)  # the second pod has no zone to go to
        text = json.loads(d.path.read_text())
        text["node_types"]["cpu"]["zones"] = ["a", "b"]
        reload(d, json.dumps(text))
        until(lambda: d.count() == {"cpu": 2}, SOON, "the new zone is not known to pods")
        assert {n["zone"] for n in d.nodes("cpu")} == {"a", "b"}


def test_a_share_for_the_system_is_taken_off_as_the_file_says_now(plane, tmp_path):
    types = {"cpu": dict(TYPES["cpu"], zones=[])}
    with Pools(plane, tmp_path, types, head={"reserve": False}) as d:
        text = json.loads(d.path.read_text())
        text["head"]["kubernetes"]["reserve"] = True
        reload(d, json.dumps(text))
        plane.client.post(pods_path(), manifests.pod("all", cpu="4"))  # all that the machine has
        d.stays(lambda: not d.machines(), 3)
        text["head"]["kubernetes"]["reserve"] = False
        reload(d, json.dumps(text))
        until(lambda: d.machines() == {"cpu": 1}, SOON, "the old share is taken off yet")
