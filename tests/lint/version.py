#!/usr/bin/env python3
"""The version is said in one place, the Makefile; whoever cannot read it there says the same.

usage: version.py [ROOT]
"""
import re
import sys

import objects

# File, and a pattern whose group is a version, wherever it matches; each at least once.
SAYERS = [
    ("configs/kubernetes/chart/davit/Chart.yaml", r"^version: (\S+)"),
    ("configs/kubernetes/chart/davit/Chart.yaml", r'^appVersion: "(\S+)"'),
    ("configs/kubernetes/davit.yaml", r"image: \S*davit:(\d[\w.]+)"),
    ("configs/kubernetes/raycluster.yaml", r"image: \S*davit:(\d[\w.]+)"),
    ("configs/kubernetes/Dockerfile", r"-t davit:(\d[\w.]+)"),
    ("docs/kubernetes.md", r"davit:(\d[\w.]+)"),
    ("docs/openapi.json", r'^ {4}"version": "(\S+)"'),
    ("configs/python/pyproject.toml", r'^version = "(\S+)"'),
    ("CHANGELOG.md", r"\A(?:.*?)^## (\d\S+) - \d{4}-\d\d-\d\d$"),
]


def main(argv):
    root = objects.root_of(argv)

    def text(path):
        with open(f"{root}/{path}", encoding="utf-8") as f:
            return f.read()

    version = re.search(r"^VERSION := (\S+)$", text("Makefile"), re.M)[1]
    bad = []
    for path, pattern in SAYERS:
        found = re.findall(pattern, text(path), re.M | re.S)
        bad += [f"{path}: says version {v}, the Makefile {version}" for v in found if v != version]
        if not found:
            bad.append(f"{path}: says no version (version.py looks for {pattern})")
    return objects.report("version", bad, f"{version} in the Makefile and {len(SAYERS)} other places")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
