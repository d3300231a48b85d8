"""A spot wave and a broken list, with the real daemon: lib/wave.py has the story."""
from gke_rig import BUILD, environment
from lib import wave
from lib.daemon import Daemon

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 20, idle_timeout: 1h}
providers:
  gke: {project: my-proj, location: us-central1, cluster: c1, endpoint: "%(url)s"}
node_types:
  t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, zones: [us-central1-a], max: 12}
"""


def hidden(cloud, ids):
    cloud.hidden = set(ids)


def test_a_spot_wave(server, cloud, tmp_path):
    cloud.boot = 0
    with Daemon(tmp_path, CONFIG % {"plugins": BUILD / "plugins", "url": server.url}, env=environment(server)) as d:
        wave.story(d, "t4", {"GPU": 1}, lambda: cloud.living("gpu"), lambda ids: hidden(cloud, ids), cloud.take)
