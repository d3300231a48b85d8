"""A Ray head that says what it said before: it is read as often, and nothing is planned for it."""
import time

from lib.daemon import Daemon
from test_think import bought

from lib.gcs import Gcs

CONFIG = """
cluster: ray
head: {ray: {address: "%s"}}
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 2, idle_timeout: 6s, start_timeout: 60s}
providers:
  sim: {state: "{dir}/cloud.json", boot: 200ms}
node_types:
  t4: {resources: {CPU: 8, GPU: 1}, price: 0.7, max: 2}
"""
GPU = {"CPU": 8, "GPU": 1}


def test_no_plan_without_news(tmp_path):
    with Gcs() as gcs, Daemon(tmp_path, CONFIG % gcs.address) as d:
        gcs.tasks([(GPU, 1)])
        mine = d.until(lambda: d.nodes("t4", "starting"))[0]["cloud_id"]
        gcs.tasks([({"CPU": 64}, 5000)])      # nobody can serve it: it stays
        gcs.join(mine, "t4", GPU)
        gcs.busy(mine)
        d.until(lambda: d.nodes("t4", "ready"))
        reads = gcs.reads
        d.until(lambda: gcs.reads > reads + 2)
        ticks, reads = d.status()["tick"], gcs.reads
        d.until(lambda: gcs.reads - reads > 8, 40, "it is read as before")
        assert d.status()["tick"] - ticks <= 3, "planned again for nothing"
        # news are taken at once
        n = bought(d)
        reads = gcs.reads     # ten a second at most
        gcs.tasks([({"CPU": 64}, 5000), (GPU, 1)])
        d.until(lambda: bought(d) == n + 1)
        assert gcs.reads - reads < 300, "a plan comes every 60 s anyway"
        # and time passes: the node goes when it has been idle for six seconds
        gcs.tasks([({"CPU": 64}, 5000)])
        begun, reads = time.monotonic(), gcs.reads
        gcs.idle(mine, 0)
        d.until(lambda: d.events("node.draining"))
        assert time.monotonic() - begun >= 6 and gcs.reads - reads < 300, "a plan comes every 60 s anyway"
