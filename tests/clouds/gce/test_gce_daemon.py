"""The real daemon on the Compute Engine plug-in, on days when Google says no."""
import pytest

from gke_rig import BUILD, environment
from lib.daemon import Daemon

A, B = "us-central1-a", "us-central1-b"
CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 20}
providers:
  gce: {project: my-proj, image: projects/p/global/images/family/ray, endpoint: "%(url)s"}
node_types:
  t4: {provider: gce, machine: n1-standard-8+t4, zones: [%(zones)s], resources: {CPU: 8, GPU: 1}, min: 1, max: 4}
"""


@pytest.fixture
def daemon(server, tmp_path):
    def make(zones=f"{A}, {B}"):
        return Daemon(tmp_path, CONFIG % {"plugins": BUILD / "plugins", "url": server.url, "zones": zones}, env=environment(server))
    return make


def inserts(cloud):
    return [x["target"].split("/zones/")[1].split("/")[0] for x in cloud.log if x["method"] == "POST" and "/instances?" in x["target"]]


def test_a_zone_without_the_accelerator_is_not_asked(cloud, daemon):
    cloud.missing_types = {(A, "nvidia-tesla-t4")}
    with daemon() as d:
        d.until(lambda: d.nodes("t4", state="ready"), why="the other zone has some")
        assert set(inserts(cloud)) == {B}


def test_a_404_to_each_insert_ends_in_a_back_off(cloud, daemon):
    """What is not there is not asked for again at once, and the other zone is tried."""
    cloud.refuse = {"insert": [404, "notFound", f"The resource 'projects/my-proj/zones/{A}/diskTypes/pd-ssd' was not found"]}
    with daemon() as d:
        d.until(lambda: set(inserts(cloud)) == {A, B}, why="both zones are tried")
        d.until(lambda: len(d.events("offer.backoff")) >= 2)
        d.post({"owner": "o", "bundles": [{"GPU": 1, "accelerator_type": "T4"}] * 2})
        d.stays(lambda: len(inserts(cloud)) <= 4, 5)


def test_a_missing_image_stops_the_type(cloud, daemon):
    cloud.missing = {"projects/p/global/images/family/ray"}
    with daemon() as d:
        d.until(lambda: inserts(cloud))
        d.until(lambda: [e for e in d.events("offer.backoff") if e["reason"] == "INVALID"])
        assert len(inserts(cloud)) == 1
