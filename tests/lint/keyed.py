#!/usr/bin/env python3
"""The keys of tables are keyed: hash.h's, never digest.h's, nor a hash of one's own.

Whoever writes a name could otherwise write a hundred thousand with one hash, and
a table is a list then.  A file that looks into a table makes no digest, unless it is
named here with the reason; multipliers of known hashes stand in base/ alone.

usage: keyed.py [ROOT]
"""
import os
import re
import sys

import objects

# Looks into tables and makes digests too, for something else: the reason.
BOTH = {
    "autoscaler/model/problem_previous.c": "placements are stored with a digest; the table is of keyed hashes of it",
    "autoscaler/cloud/backoff.c": "a jitter that a replay repeats",
    "autoscaler/control/report/kube_events.c": "names of events",
    "autoscaler/wire/pods/shared.c": "ids of demands, which journals hold",
    "autoscaler/control/providers/machines.c": "ids of machines that were found, which journals hold",
    "autoscaler/played/cloud_calls.c": "chance of a played cloud",
}
# Has a hash of its own: the reason.
OWN = {
    "autoscaler/model/problem_previous.c": "the digests that journals hold, without the NUL",
    "autoscaler/store/kube_state.c": "where rows of earlier versions lie depends on it; no table",
    "providers/aks/pool.c": "names of node pools",
    "providers/eks/launch.c": "names of launches",
    "autoscaler/cloud/elf_file.c": "GNU's, of a plug-in's symbols; one is looked up",
}
TABLE = re.compile(r"\bhash_(?:add|next|add_index|next_index)\(")
DIGEST = re.compile(r"\bdigest_(?:text|number|bytes)\(")
CONSTANT = re.compile(r"0x100000001b3|16777619|0xcbf29ce484222325|2166136261|0x811c9dc5|0xff51afd7ed558ccd", re.I)


def main(argv):
    root, bad, tables = objects.root_of(argv), [], 0
    for source in objects.sources(root, "autoscaler", "providers"):
        with open(os.path.join(root, source)) as f:
            text = f.read()
        tables += bool(TABLE.search(text))
        if TABLE.search(text) and DIGEST.search(text) and source not in BOTH:
            bad.append(f"{source}: a table and a digest: key the table by hash_text() and the like")
        if CONSTANT.search(text) and not source.startswith("autoscaler/base/") and source not in OWN:
            bad.append(f"{source}: a hash of its own: base/hash.h is keyed, base/digest.h is for what is stored")
    return objects.report("keyed", bad, f"{tables} files with tables")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
