"""What a scenario may ask of a cloud, whichever it is.

A side starts the cloud's test server, says how a configuration names it, breaks
it as told, and tells what the cloud holds: from the server's own books, never
from the plug-in.  T4 machines are in `zones`, a first one and a second; `pools`
are "cpu" and each of these zones.
"""
from lib import BUILD, without

CONFIG = """
cluster: resnet
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: %(plugins)s
limits: {max_nodes: %(max_nodes)d, idle_timeout: %(idle)s, start_timeout: %(start)s}
%(head)sproviders:
  %(provider)s
node_types:
  cpu: {%(cpu)s, min: %(cpu_min)d, max: 4}
  t4: {%(t4)s, zones: [%(zones)s], min: %(t4_min)d, max: %(t4_max)d}
"""


class Side:
    name = ""
    zones = ()
    long = 12          # seconds: a long time for machines to be on their way
    secrets = ()       # what must be in no log

    def config(self, idle="1s", t4_max=2, t4_min=0, cpu_min=1, max_nodes=20, start="2m", head=""):
        provider, cpu, t4 = self.words()
        return CONFIG % {"plugins": BUILD / "plugins", "max_nodes": max_nodes, "idle": idle, "provider": provider, "cpu": cpu,
                         "t4": t4, "start": start, "zones": ", ".join(self.zones), "t4_min": t4_min, "t4_max": t4_max, "cpu_min": cpu_min,
                         "head": f"head: {{ray: {{address: {head}}}}}\n" if head else ""}

    def plain_environment(self):
        """Nobody's credentials, and no proxy."""
        return without("AWS_", "AZURE_", "GOOGLE_", "GCE_", "CLOUDSDK_")

    def pools(self):
        return ("cpu", *self.zones)

    def all_held(self):
        return {i: p for p in self.pools() for i in self.held(p)}

    def is_write(self, kind):
        return " write" in kind

    def keep_pace(self):
        """The plug-in is to hold itself back as it does for users."""

    # ---- each cloud's own

    def words(self):
        """(the provider's line, the cpu type's and the T4 type's words)"""
        raise NotImplementedError

    def environment(self, tmp):
        raise NotImplementedError

    def held(self, pool):
        """Ids of machines that are there, or will be and have a name already."""
        raise NotImplementedError

    def up(self, pool):
        """Those of them that have booted."""
        return self.held(pool)

    def target(self, pool):
        raise NotImplementedError

    def bought(self):
        """How many machines there ever were."""
        raise NotImplementedError

    def raised(self, zone):
        """How many requests for machines came for this zone."""
        raise NotImplementedError

    def ended(self):
        """Ids of machines that somebody asked to end, by name."""
        raise NotImplementedError

    def chosen_by_cloud(self):
        """Machines that the cloud picked to end, and other work of ours lost."""
        raise NotImplementedError

    def rejected(self):
        """Requests that the vendor's own code or schema refuses."""
        raise NotImplementedError

    def sold_out(self, *zones):
        raise NotImplementedError

    def takes(self, seconds):
        """So long a machine takes to come."""
        raise NotImplementedError

    def lose_raise(self, zone):
        """The reply of the next raise there is lost, after the deed."""
        raise NotImplementedError

    def lose_end(self):
        raise NotImplementedError

    def storm(self, seconds):
        """Everything is throttled for so long, as this cloud says it."""
        raise NotImplementedError

    def heal(self):
        raise NotImplementedError

    def fill(self, n):
        """n machines in the second zone that nobody asked us for."""
        raise NotImplementedError

    def calls(self):
        """Every API request: [(when, kind)], as limit() knows kinds."""
        raise NotImplementedError

    def limit(self, kind):
        """(burst, a second): the token bucket the cloud publishes for these."""
        raise NotImplementedError
