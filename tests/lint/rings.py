#!/usr/bin/env python3
"""Files that call one another in a ring must be few, else none is read alone.

A file points to another when its object uses a symbol that the other's defines.
A ring is a strongly connected component of that graph, in a folder and what is
below it.

usage: rings.py [ROOT]
"""
import os
import sys

import objects

# Files in a ring, at most.
MOST = {"autoscaler/plan": 8, "autoscaler/control": 3}  # plan: to be 3


def graph_of(found):
    owner = {s: o.source for o in found for s in o.shows()}
    return {o.source: {owner[s] for s in o.uses if s in owner} for o in found}


def reached(graph, start):
    seen, todo = set(), [start]
    while todo:
        for to in graph[todo.pop()] - seen:
            seen.add(to)
            todo.append(to)
    return seen


def rings_of(graph):
    """Sets of files that all reach one another, the largest first."""
    reach = {f: reached(graph, f) for f in graph}
    rings = {frozenset(t for t in reach[f] if f in reach[t]) for f in graph}
    return sorted((r for r in rings if len(r) > 1), key=lambda r: (-len(r), sorted(r)))


def main(argv):
    root, bad, largest, files = objects.root_of(argv), [], 0, 0
    for folder, most in MOST.items():
        found = objects.read(root, folder)
        files += len(found)
        for ring in rings_of(graph_of(found)):
            largest = max(largest, len(ring))
            if len(ring) > most:
                bad.append(f"{folder}: {len(ring)} files call one another in a ring, {most} at most: "
                           + " ".join(sorted(os.path.relpath(f, folder) for f in ring)))
    return objects.report("rings", bad, f"{files} files of {len(MOST)} folders, the largest ring has {largest}")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
