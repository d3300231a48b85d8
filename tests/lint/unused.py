#!/usr/bin/env python3
"""What a file shows to others, another file uses; else it is static, or goes.

Symbols that only tests use are listed by name, with the reason: a test that
needs the inside of a file is the exception.

usage: unused.py [ROOT]
"""
import os
import re
import sys

import objects

# Used by the outside: the reason.
ENTRIES = {
    "main": "the program",
    "davit_provider_v1": "a plug-in's one entry",
    "davit_catalogue": "the assembler includes a file",
    "davit_catalogue_end": "the same",
}
# Used by tests alone: the reason.
FOR_TESTS = {
    "davit_keys_walk": "docs/config.md, which `davit config explain` and davit.yaml(5) print, is held against the key tables",
    "gcp_status": "each of Google's codes, one by one",
    "grpc_code_name": "answers are compared by name",
    "log_turn": "who plays the log's thread puts its lines",
    "kube_selector_takes": "selectors, one by one",
    "problem_mismatch": "a match's rules, one by one",
    "problem_queue_has": "the same",
    "problem_tolerates": "the same",
    "provider_running_here": "what a log line says of a worker, seen on that worker",
    "provider_set_tap": "the contract suite looks at each launch and at what came of it",
    "ray_view_parse": "recorded views, the fuzzer's too, without a head",
}
# A room that is there for simulations, many of which are tests: their use counts.
SIMULATED = "autoscaler/played/"
# Being rebuilt: whoever finds one settled takes it out.
GOING = {"head_waiting"}


def words_of(root, *tops):
    """Every identifier in the C files below these folders."""
    words = set()
    for top in tops:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".c", ".h")):
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                        words.update(re.findall(r"[A-Za-z_]\w+", f.read()))
    return words


def unused(found):
    """(source, symbol) that no other of these objects uses."""
    uses = {}
    for o in found:
        for s in o.uses:
            uses[s] = uses.get(s, 0) + 1
    return [(o.source, s) for o in found for s in sorted(o.shows()) if not uses.get(s)]


def main(argv):
    root = objects.root_of(argv)
    plugins = sorted(os.listdir(os.path.join(root, "providers")))
    daemon, kit = objects.read(root, "autoscaler"), objects.read(root, "autoscaler/kit")
    parts = {p: objects.read(root, f"providers/{p}") for p in plugins}
    found = unused([*daemon, *(o for part in parts.values() for o in part)])
    # A plug-in links the kit and itself, so another plug-in's use is none.
    found += [u for part in parts.values() for u in unused([*part, *kit]) if u[0].startswith("providers/") and u not in found]
    tests = words_of(root, "tests")
    bad = []
    for source, symbol in found:
        if symbol in ENTRIES or symbol in FOR_TESTS or symbol in GOING:
            continue
        if source.startswith(SIMULATED) and symbol in tests:
            continue
        who = "only tests use it" if symbol in tests else "nobody else uses it"
        bad.append(f"{source}: {symbol}: {who}: static, or away with it")
    names = {s for _, s in found}
    bad += [f"unused.py: {s} is used now, or gone: take it from the list" for s in sorted({*FOR_TESTS} - names)]
    n = sum(len(o.shows()) for o in [*daemon, *(o for part in parts.values() for o in part)])
    return objects.report("unused", bad, f"{n} symbols, all used; {len(FOR_TESTS)} by tests only, {len(GOING)} to go")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
