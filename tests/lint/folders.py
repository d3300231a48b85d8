#!/usr/bin/env python3
"""No folder holds more C sources than one can look over.

usage: folders.py [ROOT]
"""
import collections
import os
import sys

import objects

MOST = 30


def main(argv):
    folders = collections.Counter(map(os.path.dirname, objects.sources(objects.root_of(argv), "autoscaler", "providers")))
    bad = [f"{f}: {n} sources, {MOST} at most: divide it" for f, n in folders.items() if n > MOST]
    return objects.report("folders", bad, f"{len(folders)} folders, the largest of {max(folders.values())} sources")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
