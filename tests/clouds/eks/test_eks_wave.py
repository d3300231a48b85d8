"""A spot wave and a broken list, with the real daemon: lib/wave.py has the story."""
from eks_rig import environment
from lib import wave
from lib.daemon import Daemon

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 20, idle_timeout: 1h}
providers:
  eks: {region: us-east-1, cluster: %(cluster)s, endpoint: "%(url)s"}
node_types:
  t4: {provider: eks, pool: %(gpu)s, machine: g4dn.xlarge, market: spot, max: 12}
"""


def test_a_spot_wave(cloud, tmp_path):
    cloud.fresh(gpu={"type": "g4dn.xlarge", "max": 12, "spot": True})
    text = CONFIG % {**cloud.names, "cluster": cloud.cluster, "url": cloud.url}
    with Daemon(tmp_path, text, env=environment(tmp_path)) as d:
        wave.story(d, "t4", {"GPU": 1}, lambda: list(cloud.at("gpu")["machines"]), lambda ids: cloud.hide(ids=ids),
                   lambda ids: cloud.take(ids=ids, pool=cloud.names["gpu"]),
                   lambda ahead: cloud.clock(ahead=ahead))
