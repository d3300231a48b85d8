"""The AKS plug-in under test: its configuration, and a driver that calls it as the daemon does."""

from aks_cloud import CLUSTER, GROUP, SUB
from aks_server import CLIENT
from lib import BUILD, drive, without

QUICK = "poll: 20ms, wait: 5s, reads: {every: 0}, writes: {every: 0}"
CONFIG = """
cluster: aks-test
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 2000}
providers:
  aks: {subscription: %(sub)s, resource_group: %(group)s, cluster: %(name)s, endpoint: "%(url)s", authority: "%(url)s", prices: "%(url)s",
        imds: "%(url)s"%(options)s}
node_types:
  t4: {provider: aks, resources: {CPU: 4, GPU: 1, memory: 28Gi}, accelerator_type: T4, price: 0.6, max: 1500%(t4)s}
  cpu: {provider: aks, pool: cpu, resources: {CPU: 8, memory: 32Gi}, price: 0.4, max: 40}
%(more)s
"""


def config(server, options=QUICK, t4="pool: gpu", more=""):
    return CONFIG % {"plugins": BUILD / "plugins", "url": server.url, "options": options and ", " + options,
                     "t4": t4 and ", " + t4, "more": more, "sub": SUB, "group": GROUP, "name": CLUSTER}


def environment(**kw):
    """No credentials but the test cloud's metadata service, and no proxy."""
    return {**without("AZURE_"), "AZURE_CLIENT_ID": CLIENT, **kw}


class Drive(drive.Drive):
    def close(self):
        text = super().close()
        assert "eyTOKEN" not in text and "secret-1" not in text, "a token or secret is in the log"
