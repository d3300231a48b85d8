#!/usr/bin/env python3
"""`make bench`: how fast and how small the daemon is, measured on this machine.

Latencies are taken on CLOCK_MONOTONIC from just before the request is sent to
the entry of the provider's launch() (a plug-in of the bench notes it).
Requests per second: one client connection, then four, on loopback.  Run inside
a namespace with only lo (tests/netns.sh), since the last part starts Ray.
"""
import http.client
import json
import os
import statistics
import tempfile
import threading
import time

from lib import BUILD, raycluster
from lib.daemon import Daemon

POSTS = 300

CONFIG = """
cluster: bench
HEAD
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
plugin_dir: PLUGINS
limits: {idle_timeout: 1h}
providers: {stamp: {file: "{dir}/stamps"}}
node_types:
  cpu: {resources: {CPU: 4, memory: 16Gi}, price: 0.2, max: 2000}
  t4: {resources: {CPU: 8, memory: 30Gi, GPU: 1}, accelerator_type: T4, price: 0.73, max: 2000}
"""


class BenchDaemon(Daemon):
    def __init__(self, directory, head=""):
        super().__init__(directory, CONFIG.replace("HEAD", head).replace("PLUGINS", str(BUILD / "tests/plugins")), start=False)
        self.start("/readyz")

    def timed(self, method, path, body, c):
        """A call on a connection that is kept."""
        c.request(method, path, json.dumps(body) if body is not None else None)
        r = c.getresponse()
        return r.status, r.read()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def stamps(self):
        f = self.dir / "stamps"
        return [int(line.split()[0]) for line in f.read_text().splitlines()] if f.exists() else []

    def rss_kib(self):
        for line in open(f"/proc/{self.p.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1])

    def cpu_s(self):
        f = open(f"/proc/{self.p.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")


def quantile(v, q):
    v = sorted(v)
    return v[min(len(v) - 1, int(q * len(v)))]


def row(name, text):
    print(f"{name:52} {text}", flush=True)


def request_to_launch(d):
    """Each request needs one machine more than the last."""
    c = d.connection()
    took, reply = [], []
    for i in range(POSTS):
        sent = time.monotonic_ns()
        status, text = d.timed("POST", "/v1/request_resources",
                              {"owner": "bench", "bundles": [{"resources": {"GPU": 1}, "count": i + 1}]}, c)
        reply.append((time.monotonic_ns() - sent) / 1e6)
        assert status in (200, 202), text
        for _ in range(1000):
            if len(d.stamps()) > i:
                break
            time.sleep(0.001)  # wait: between two looks
        took.append((d.stamps()[i] - sent) / 1e6)
    row("REST request to launch call, ms", f"p50 {quantile(took, .5):.2f}  p99 {quantile(took, .99):.2f}  (aim: under 5)")
    row("REST request to its reply, on disk, ms", f"p50 {quantile(reply, .5):.2f}  p99 {quantile(reply, .99):.2f}")


def rate(d, method, path, body, clients, seconds=3.0):
    counts = [0] * clients
    until = time.monotonic() + seconds

    def work(k):
        c = d.connection()
        while time.monotonic() < until:
            b = dict(body, owner=f"{body['owner']}-{k}") if body else None
            status, text = d.timed(method, path, b, c)
            assert status < 300, text
            counts[k] += 1

    cpu = d.cpu_s()
    threads = [threading.Thread(target=work, args=(k,)) for k in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    n = sum(counts)
    row(f"{method} {path}, {clients} client{'s' if clients > 1 else ''}",
        f"{n / seconds:.0f}/s, {1e6 * (d.cpu_s() - cpu) / n:.0f} us of the daemon's CPU each")


def task_to_launch(directory):
    with raycluster.RayCluster() as ray:
        d = BenchDaemon(directory, head="head: {ray: {address: %s}}" % ray.address)
        try:
            out = ray.run("""
                import ray, time
                ray.init(logging_level="error")
                @ray.remote(num_gpus=1)
                class A:
                    pass
                keep = []
                for i in range(10):
                    print("SENT", time.monotonic_ns(), flush=True)
                    keep.append(A.remote())
                    time.sleep(1.5)
            """)
            sent = [int(line.split()[1]) for line in out.splitlines() if line.startswith("SENT")]
            stamps = d.stamps()
            took = [(min(s for s in stamps if s > t) - t) / 1e6 for t in sent if any(s > t for s in stamps)]
            row("Ray actor created to launch call, ms",
                f"p50 {statistics.median(took):.0f}  max {max(took):.0f}  ({len(took)} of {len(sent)} seen)")
        finally:
            d.stop()


def main():
    with tempfile.TemporaryDirectory(prefix="davit-bench-") as tmp:
        os.makedirs(f"{tmp}/a")
        d = BenchDaemon(f"{tmp}/a")
        try:
            time.sleep(2)  # wait: what is used at rest
            row("resident memory of the idle daemon, MiB", f"{d.rss_kib() / 1024:.1f}  (aim: under 12)")
            cpu = d.cpu_s()
            time.sleep(5)  # wait: what is used at rest is counted over so long
            row("CPU of the idle daemon", f"{(d.cpu_s() - cpu) / 5 * 100:.2f} % of a core")
            request_to_launch(d)
            body = {"owner": "rate", "bundles": [{"CPU": 1}]}
            for clients in (1, 4):
                rate(d, "POST", "/v1/request_resources", body, clients)
            for clients in (1, 4):
                rate(d, "GET", "/v1/status", None, clients)
            row("resident memory after that, MiB", f"{d.rss_kib() / 1024:.1f}")
        finally:
            d.stop()
        os.makedirs(f"{tmp}/b")
        task_to_launch(f"{tmp}/b")


if __name__ == "__main__":
    main()
