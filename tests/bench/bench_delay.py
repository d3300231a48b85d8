#!/usr/bin/env python3
"""The delay of a large purchase: from its request to its launches.

    PYTHONPATH=tests bench_delay.py CASE.json [--runs N]     a packing case: gen_cases.py writes some

A daemon with the default limits.think on the sim provider gets all demand of
the case as one request, and 100 ms later three bundles of another owner.
DAVIT_BUILD names the build that is measured.
"""
import argparse
import json
import statistics
import tempfile
import threading
import time

from lib.daemon import Daemon

CONFIG = """
cluster: delay
api: {listen: "127.0.0.1:{port}"}
state: "{dir}/davit.db"
limits: {max_nodes: 5000, idle_timeout: 1h}
providers:
  sim: {state: "{dir}/cloud.json", boot: 60s, terminate: 100ms}
node_types:
"""


def config(case):
    text = CONFIG
    for i, t in enumerate(case["node_types"]):
        entry = {"provider": "sim", "price": t["price"], "max": t["max"] or 5000,
                 "resources": {k: v for k, v in t["resources"].items() if v}}
        if t["labels"]:
            entry["accelerator_type"] = t["labels"]["accelerator_type"]
        text += f"  t{i}: {json.dumps(entry)}\n"
    return text


def bundles(case):
    return [{"resources": d["resources"], "count": d["count"],
             **({"accelerator_type": d["accelerator_types"]} if d.get("accelerator_types") else {})}
            for d in case["demands"]]


def run(case):
    """(first launch, last launch, the other owner's) in ms, nodes, $/h."""
    with tempfile.TemporaryDirectory() as directory, Daemon(directory, config(case)) as d:
        began, body = time.monotonic(), {"owner": "large", "bundles": bundles(case)}
        post = threading.Thread(target=d.post, args=(body,))
        post.start()
        time.sleep(0.1)  # wait: the small request comes a moment after the large one
        d.post({"owner": "small", "bundles": [{"resources": {"CPU": 1}, "count": 3}]})
        post.join()
        seen, changed = 0, []
        while time.monotonic() - began < 4:
            n = len(d.nodes())
            if n != seen:
                changed.append((time.monotonic() - began, n))
                seen = n
            time.sleep(0.01)  # wait: between two samples
        return [1000 * changed[0][0], 1000 * changed[-1][0], changed[0][1], seen,
                sum(n["price_per_hour"] for n in d.nodes())]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("case")
    ap.add_argument("--runs", type=int, default=5)
    args = ap.parse_args()
    with open(args.case) as f:
        case = json.load(f)
    rows = [run(case) for _ in range(args.runs)]
    first, last, early, nodes, cost = (statistics.median(c) for c in zip(*rows))
    print(f"{case['name']}: {early:.0f} nodes after {first:.0f} ms, all {nodes:.0f} after {last:.0f} ms, {cost:.2f} $/h "
          f"(median of {args.runs})")


if __name__ == "__main__":
    main()
