#!/usr/bin/env python3
"""Compares catalogue.yaml with the data that its EC2 facts are from, or writes them: configs/catalogue.py [--write]

EC2's shapes, arch, local_ssd, network, sold and the families in FAMILIES are those of moto's EC2 instance-type data (Apache-2.0), which
are DescribeInstanceTypes' own answers.  Prices are no part of it.  `davit catalogue diff` shows what a new file changes.
"""
import gzip
import json
import pathlib
import re
import sys

import yaml

FILE = pathlib.Path(__file__).parent / "catalogue.yaml"
FAMILIES = ["trn2u", "g7e", "m7a", "m8g", "m8i", "c7a", "c8g", "c8i", "r7a", "r8g", "r8i"]
USAGE = {"on-demand": "on-demand", "spot": "spot", "capacity-block": "reserved"}
RESERVED = ("p5e", "trn2", "trn2u")  # sold as Capacity Blocks alone (catalogue.yaml says where from), whatever the data's usage classes are
HEAD = "  # ---- families since 2023, without a list price (facts: moto's data)\n"


def source():
    import moto
    folder = pathlib.Path(moto.__file__).parent / "ec2/resources"
    with gzip.open(folder / "instance_types.json.gz") as f:
        return json.load(f), f"moto {moto.__version__}"


def amount(gib):
    return f"{gib:g}Gi"


def facts(it):
    """What the catalogue says of an EC2 type, by its names, as text."""
    f = {"cpu": str(it["VCpuInfo"]["DefaultVCpus"]), "memory": amount(it["MemoryInfo"]["SizeInMiB"] / 1024)}
    gpus = sum(g["Count"] for g in it.get("GpuInfo", {}).get("Gpus", []))
    if gpus:
        f["gpu"] = str(gpus)
    if it["ProcessorInfo"]["SupportedArchitectures"] == ["arm64"]:
        f["arch"] = "arm64"
    if ssd := it.get("InstanceStorageInfo", {}).get("TotalSizeInGB"):
        f["local_ssd"] = f"{ssd}G"
    speed = it["NetworkInfo"]["NetworkPerformance"]
    if it["NetworkInfo"]["EfaSupported"]:
        f["network"] = f"{speed} EFA"
    sold = [USAGE[u] for u in it["SupportedUsageClasses"] if u in USAGE]
    if it["InstanceType"].split(".")[0] in RESERVED:
        sold = ["reserved"]
    if "on-demand" not in sold:
        f["sold"] = f"[{', '.join(sorted(sold))}]"
    return f


OURS = ["arch", "local_ssd", "network", "sold"]  # written here; the rest is compared


def wrong(have, it, name):
    """[(fact, here, there)]"""
    want = facts(it)
    shown = {k: ("[" + ", ".join(v) + "]" if isinstance(v, list) else str(v)) for k, v in have.items()}
    keys = ["cpu", "memory", *(["gpu"] if "gpu" in have else []), *OURS]
    return [(name, k, shown.get(k), want.get(k)) for k in keys if shown.get(k) != want.get(k)]


def read():
    return yaml.load(FILE.read_text(), Loader=yaml.BaseLoader)["machines"]


def compare():
    types, _ = source()
    have = read()
    out = [w for n, m in have.items() if m["cloud"] == "aws" and n in types for w in wrong(m, types[n], n)]
    return out + [(n, "missing", None, None) for n in types if n.split(".")[0] in FAMILIES and n not in have and "metal" not in n]


def write():
    types, _ = source()
    lines, have = [], read()
    for line in FILE.read_text().splitlines(keepends=True):
        m = re.match(r"  ([\w.-]+): \{cloud: aws, (.*)\}$", line.rstrip())
        if m and m[1] in types:
            rest = re.sub(r", (arch|local_ssd|network|sold): (\[[^\]]*\]|[^,}]*)", "", ", " + m[2])[2:]
            f = facts(types[m[1]])
            line = f"  {m[1]}: {{cloud: aws, {rest}" + "".join(f", {k}: {f[k]}" for k in OURS if k in f) + "}\n"
        lines.append(line)
    new = [n for n in types if n.split(".")[0] in FAMILIES and n not in have and "metal" not in n]
    if new:
        rows = []
        for n in sorted(new, key=lambda n: (FAMILIES.index(n.split(".")[0]), types[n]["VCpuInfo"]["DefaultVCpus"])):
            f = facts(types[n])
            device = ", neuron_cores: 128, accelerator: aws-neuron-core" if n.startswith("trn2u") else ""
            if "gpu" in f:
                device = f", gpu: {f['gpu']}, accelerator: {types[n]['GpuInfo']['Gpus'][0]['Name'].replace(' ', '-')}"
            rows.append(f"  {n}: {{cloud: aws, cpu: {f['cpu']}, memory: {f['memory']}{device}" +
                        "".join(f", {k}: {f[k]}" for k in OURS if k in f) + "}\n")
        last = max(i for i, x in enumerate(lines) if re.match(r"  [\w.-]+: \{cloud: aws, ", x))
        lines[last + 1:last + 1] = ["\n", HEAD, *rows]
    FILE.write_text("".join(lines))


if __name__ == "__main__":
    if "--write" in sys.argv:
        write()
    found = compare()
    for name, fact, here, there in found:
        print(f"{name}: {fact} {here}, {source()[1]} has {there}")
    sys.exit(bool(found))
