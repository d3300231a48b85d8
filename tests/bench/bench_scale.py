#!/usr/bin/env python3
"""What a large fleet costs: `make bench-scale`, a row each for 1,000, 10,000 and 100,000 machines of one type.

bench_scale.py [--n 1000,10000,100000] [--beside BUILD ...]
  --beside   other builds (a folder like build/release, with its davit and its plug-ins), measured in turn with ours
Machines are those of the bench's plug-in (stamp.c): they run at once, so that all that is measured is the daemon's own.
CPU is the daemon's, user and system; memory is resident.
"""
import argparse
import os
import pathlib
import re
import statistics
import tempfile
import time

from lib import BUILD, ROOT, without
from lib.daemon import Daemon

MORE = 20  # requests of one bundle more
CONFIG = """
cluster: scale
api: {listen: "127.0.0.1:{port}", anonymous: admin}
state: "{dir}/davit.db"
plugin_dir: PLUGINS
limits: {max_nodes: 200000, idle_timeout: 1h}
providers: {stamp: {file: "{dir}/stamps"}}
node_types:
  t4: {resources: {CPU: 8, memory: 30Gi, GPU: 1}, accelerator_type: T4, price: PRICE, max: unlimited}
"""
WAIT = 900  # seconds for one row at most


class Scaled(Daemon):
    def __init__(self, directory, build):
        self.build = pathlib.Path(build)
        super().__init__(directory, self.config(0.73), start=False)
        self.start("/readyz")

    def config(self, price):
        return CONFIG.replace("PLUGINS", str(self.build / "tests/plugins")).replace("PRICE", str(price))

    def start(self, wait="/readyz"):
        import lib.daemon
        lib.daemon.DAVIT = str(self.build / "davit")
        return super().start(wait)

    def cpu_s(self):
        f = open(f"/proc/{self.p.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")

    def mib(self, what):
        text = open(f"/proc/{self.p.pid}/status").read()
        return int(re.search(rf"{what}:\s+(\d+)", text)[1]) / 1024

    def stamps(self):
        f = self.dir / "stamps"
        return [line.split() for line in f.read_text().splitlines()] if f.exists() else []

    def asked(self):
        return sum(int(s[2]) for s in self.stamps())

    def count(self, state):
        return self.get("/v1/overview")[1]["nodes"].get(state, 0)

    def order(self, n, owner="large"):
        return self.post({"owner": owner, "bundles": [{"resources": {"GPU": 1}, "count": n}]})

    def worst_ms(self):
        text = self.exchange("GET", "/metrics").text
        found = re.search(r"^davit_step_seconds_max (\S+)", text, re.M)
        return 1000 * float(found[1]) if found else float("nan")

    def wait(self, what, why):
        self.until(what, WAIT, why)


def took(d, act, done, why):
    """(seconds of wall, of CPU) until done()."""
    began, cpu = time.monotonic(), d.cpu_s()
    act()
    d.wait(done, why)
    return time.monotonic() - began, d.cpu_s() - cpu


def more(d, n):
    """ms from a request of one bundle more to its launch call."""
    found = []
    for i in range(MORE):
        before, sent = len(d.stamps()), time.monotonic_ns()
        d.order(i + 1, "small")
        d.wait(lambda: len(d.stamps()) > before, "no launch of one more")
        found.append((int(d.stamps()[before][0]) - sent) / 1e6)
    return statistics.median(found), max(found)


def measure(build, n):
    rows = {}
    with tempfile.TemporaryDirectory(prefix="davit-scale-") as tmp:
        d = Scaled(tmp, build)
        try:
            rows["idle, MiB"] = d.mib("VmRSS")
            reply = []

            def first():
                began = time.monotonic()
                d.order(n)
                reply.append(time.monotonic() - began)
            wall, cpu = took(d, first, lambda: d.count("ready") == n, f"{n} are not ready")
            rows.update({"reply to the request of all, s": reply[0], "until all are ready, s": wall, "until all are ready, CPU s": cpu,
                         "resident then, MiB": d.mib("VmRSS"), "peak, MiB": d.mib("VmHWM"), "longest step until then, ms": d.worst_ms()})
            steps = d.metric("davit_step_seconds_count")
            d.wait(lambda: d.metric("davit_step_seconds_count") > steps + 1, "no step")
            rows["resident at rest, MiB"] = d.mib("VmRSS")
            rows["one request more to its launch, p50 ms"], rows["... the longest of 20, ms"] = more(d, n)
            total = n + MORE
            d.wait(lambda: d.count("ready") == total, "those of the small requests are not ready")
            asked = d.asked()
            rows["one machine lost to its replacement, s"], rows["... replaced, CPU s"] = took(
                d, lambda: (d.dir / "stamps.lose").write_text("7\n"), lambda: d.asked() > asked, "it was not replaced")
            steps = d.metric("davit_reloads_total")
            _, rows["the file saved unchanged, CPU s"] = took(d, lambda: d.write(d.config(0.73)) or d.call("POST", "/v1/reload"),
                                                               lambda: d.metric("davit_reloads_total") > steps, "no reload")
            steps = d.metric("davit_reloads_total")
            _, rows["one price changed, CPU s"] = took(d, lambda: d.write(d.config(0.74)) or d.call("POST", "/v1/reload"),
                                                        lambda: d.metric("davit_reloads_total") > steps, "no reload")
            d.wait(lambda: d.count("ready") == total, "the lost one's successor is not ready")
            d.kill()
            began = time.monotonic()
            d.start("/readyz")
            d.wait(lambda: d.count("ready") == total, "they are not ready after a restart")
            rows["killed and started until all are known, s"] = time.monotonic() - began
            rows["... known, CPU s"] = d.cpu_s()
            d.write(d.config(0.74).replace("idle_timeout: 1h", "idle_timeout: 1s"))
            d.call("POST", "/v1/reload")

            def clear():
                for owner in ("large", "small"):
                    d.call("DELETE", f"/v1/request_resources/{owner}")
            rows["cleared until all are gone, s"], rows["... gone, CPU s"] = took(d, clear, lambda: d.count("ready") == 0, "they do not go")
            rows["resident then, all gone, MiB"] = d.mib("VmRSS")
            rows["longest step of all after the restart, ms"] = d.worst_ms()
        finally:
            d.stop()
    return rows


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--n", default="1000,10000,100000")
    ap.add_argument("--beside", action="append", default=[])
    args = ap.parse_args()
    builds = [*args.beside, str(BUILD)]
    for n in map(int, args.n.split(",")):
        columns = [measure(pathlib.Path(b).resolve(), n) for b in builds]
        print(f"\n{n:,} machines of one type" + "".join(f"{pathlib.Path(b).name:>14}" for b in builds))
        for name in columns[-1]:
            print(f"{name:46}" + "".join(f"{c.get(name, float('nan')):14.2f}" for c in columns), flush=True)


if __name__ == "__main__":
    main()
