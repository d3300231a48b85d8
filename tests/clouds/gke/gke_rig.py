"""What the GKE tests share: the plug-in, driven through the daemon's own call layer."""

from lib import BUILD, without

CONFIG = """
cluster: gke-test
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: 2000}
providers:
  gke: {project: my-proj, location: us-central1, cluster: c1, endpoint: "%(url)s"%(options)s}
node_types:
  t4: {provider: gke, pool: gpu, machine: n1-standard-8+t4, max: 1500%(t4)s}
  cpu: {provider: gke, pool: cpu, machine: e2-standard-8, max: 40}
%(more)s
"""


def config(server, options="", t4="", more=""):
    return CONFIG % {"plugins": BUILD / "plugins", "url": server.url, "options": options and ", " + options,
                     "t4": t4 and ", " + t4, "more": more}


def environment(server, **kw):
    """No credentials but the test cloud's metadata server, and no proxy."""
    env = without("GOOGLE_APPLICATION_CREDENTIALS")
    env.update({"GCE_METADATA_HOST": server.url.removeprefix("http://"), "CLOUDSDK_CONFIG": "/nonexistent", **kw})
    return env
