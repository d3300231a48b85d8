#!/usr/bin/env python3
"""Include arrows go down only.

base < model < codec < {plan, config, wire} < {cloud, store} < control < {played, api} < simulate < cli.
Rooms of one level do not see each other.  kit/ and providers/ see provider.h
and kit/ only.  A room within a room shows some headers to named rooms.  A file is
told to move, or to get what it wants handed in.

usage: layers.py [ROOT]
"""
import os
import re
import sys

LEVEL = {"base": 0, "model": 1, "codec": 2, "plan": 3, "config": 3, "wire": 3,
         "cloud": 4, "store": 4, "control": 5, "played": 6, "api": 6, "simulate": 7, "cli": 8}
# A room within a room: the headers it shows and to whom, and what it sees.
INNER = {"plan/cover": ({"cover.h"}, {"plan", "plan/fleet"}, {"base", "model", "plan/lp"}),
         "plan/fleet": ({"fleet.h"}, {"plan"}, {"base", "model", "plan", "plan/cover"}),
         "plan/saving": ({"consolidate.h"}, {"plan"}, {"base", "model", "plan"}),
         "plan/lp": ({"lp.h"}, {"plan/cover"}, {"base"}),
         "api/door": ({"door.h", "certs.h", "secret.h", "access.h", "audit.h", "review.h", "local.h", "pace.h"}, {"api", "cli"},
                      {"base", "wire/kube"}),
         "wire/ray": ({"ray.h"}, {"control", "cli"}, {"base", "model", "wire"}),
         "wire/kube": ({"kube.h", "watch.h", "lease.h", "files.h", "nodes.h"},
                       {"wire/pods", "store", "control", "api/door", "cli"},
                       {"base", "wire", "kit"}),
         "wire/pods": ({"pods.h"}, {"control", "cli"},
                       {"base", "model", "wire", "wire/kube"})}
# Neighbours that may look at each other all the same: house.md says why.
ALSO = set()
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def files(root, top):
    for d, _, names in os.walk(os.path.join(root, top)):
        for n in sorted(names):
            if n.endswith((".c", ".h")):
                yield os.path.join(d, n)


def target(root, path, name):
    """The included file below root, or None when it is not in the tree."""
    dirs = [os.path.dirname(path), os.path.join(root, "autoscaler"),
            os.path.join(root, "autoscaler/kit")]
    for base in dirs:
        p = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(p):
            return os.path.relpath(p, root)
    return None


def room(rel):
    parts = rel.split(os.sep)
    if parts[0] == "providers":
        return "providers/" + parts[1]
    if parts[0] != "autoscaler" or len(parts) == 2:
        return "provider.h" if parts[-1] == "provider.h" else parts[-1]
    inner = "/".join(parts[1:3])
    return inner if inner in INNER else parts[1]


def may(here, there, header):
    if there in INNER and here != there:
        shown, to, _ = INNER[there]
        return header in shown and here in to
    if here in INNER and here != there:
        return there in INNER[here][2]
    if here == there or there == "provider.h":
        return True
    if here == "kit" or here.startswith("providers/"):
        return there == "kit"
    if there == "kit" or there.startswith("providers/"):
        # kit is for plug-ins; wire may share it (house.md)
        return there == "kit" and here in ("wire", "cloud")
    if here not in LEVEL or there not in LEVEL:
        return False
    return LEVEL[there] < LEVEL[here] or (here, there) in ALSO


def main(argv):
    root = argv[1] if len(argv) > 1 else os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    bad, n = [], 0
    for top in ("autoscaler", "providers"):
        for path in files(root, top):
            rel = os.path.relpath(path, root)
            here = room(rel)
            with open(path, encoding="utf-8") as f:
                text = f.read()
            for m in INCLUDE.finditer(text):
                to = target(root, path, m.group(1))
                if to is None:
                    continue  # generated
                n += 1
                if not may(here, room(to), os.path.basename(to)):
                    line = text.count("\n", 0, m.start()) + 1
                    bad.append(f"{rel}:{line}: {here} must not see "
                               f"{room(to)} ({m.group(1)})")
    for b in bad:
        print(b, file=sys.stderr)
    if not n:
        print("layers: no includes found", file=sys.stderr)
        return 1
    if not bad:
        print(f"layers: {n} includes all point downward")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
