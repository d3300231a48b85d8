#!/usr/bin/env python3
"""Turns the public GPU trace's CSV files into a packing case.

    openb2case.py PODS.csv NODES.csv [--first N] [--count N] [--max FACTOR] > case.json

PODS.csv: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,...; NODES.csv:
sn,cpu_milli,memory_mib,gpu,model (one row a node).  The trace itself is not
part of this project; where to get it: alibaba/clusterdata,
cluster-trace-gpu-v2023.  Prices are computed from list prices a core, a GiB and
a device; those of undisclosed models are invented.
"""
import argparse
import collections
import csv
import json
import sys

MIB = 1 << 20
DEVICE = {"T4": .35, "P100": 1.46, "V100M16": 2.48, "V100M32": 2.90,
          "A10": 1.00, "G2": .80, "G3": 2.00}


def node_types(path, factor):
    shapes = collections.Counter()
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            shapes[(row["model"] or "", int(row["gpu"] or 0),
                    int(row["cpu_milli"]), int(row["memory_mib"]))] += 1
    types = []
    for (model, gpu, cpu, mem), n in sorted(shapes.items()):
        if model and model not in DEVICE:
            print("openb2case: model %s has no price, taken as 1.00" % model,
                  file=sys.stderr)
        price = (0.031611 * cpu / 1000 + 0.004237 * mem / 1024 +
                 gpu * DEVICE.get(model, 1.0))
        types.append({
            "name": "%sx%d-c%d-m%d" % (model.lower() or "cpu", gpu,
                                       cpu // 1000, mem // 1024),
            "resources": {"CPU": cpu / 1000, "GPU": gpu, "memory": mem * MIB},
            "labels": {"accelerator_type": model} if gpu else {},
            "price": round(price, 6),
            "max": int(n * factor) if factor else None})
    return types


def demands(path, first, count):
    shapes = collections.Counter()
    with open(path, newline="") as f:
        rows = list(csv.DictReader(f))
    rows = rows[first:first + count if count else None]
    for row in rows:
        gpus, milli = int(row["num_gpu"] or 0), int(row["gpu_milli"] or 0)
        gpu = 0 if not gpus else milli / 1000 if gpus == 1 and milli < 1000 \
            else gpus
        models = tuple(sorted(set(filter(None, (row.get("gpu_spec") or "")
                                         .split("|")))))
        shapes[(int(row["cpu_milli"]), int(row["memory_mib"]), gpu,
                models)] += 1
    out = []
    for (cpu, mem, gpu, models), n in shapes.most_common():
        d = {"count": n, "resources": {"CPU": cpu / 1000, "memory": mem * MIB}}
        if gpu:
            d["resources"]["GPU"] = gpu
        if models:
            d["accelerator_types"] = list(models)
        out.append(d)
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("pods")
    ap.add_argument("nodes")
    ap.add_argument("--first", type=int, default=0)
    ap.add_argument("--count", type=int, default=0)
    ap.add_argument("--max", type=float, default=0,
                    help="max of a type: this times the trace's node count")
    args = ap.parse_args()
    json.dump({"name": "openb", "note": "from %s" % args.pods,
               "node_types": node_types(args.nodes, args.max),
               "demands": demands(args.pods, args.first, args.count)},
              sys.stdout)


if __name__ == "__main__":
    main()
