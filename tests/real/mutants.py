#!/usr/bin/env python3
"""Is the judge awake?  Each mutant breaks a law in the daemon; a storm must show it.

usage: mutants.py [--seconds N] [NAME...]     ends with `N passed, N failed`

A copy of the tree is built once in a folder of its own; each mutant is one text put in the place of
another, and has so many storms to show itself.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRIES = 4
C = "autoscaler/control/"
# laws that show it, name, file, what stands there, what the mutant has
MUTANTS = [
    ({1}, "silence_is_consent", C + "ends.c", "bool asks = e->sources->n > 0;", "bool asks = e->sources->n > 99;"),
    ({2}, "request_not_written", C + "requests.c", "    journal_put_request(r->env->journal, &row, NULL);", "    (void)row, (void)r;"),
    ({3, 5}, "ending_is_free", "autoscaler/plan/limits.c", "return !n->unmanaged && n->state != STATE_GONE;",
     "return !n->unmanaged && n->state != STATE_GONE && n->state != STATE_STOPPING;"),
    ({3, 4, 5, 6}, "nothing_adopted", C + "providers/machines.c", "    else if (cm->phase != DAVIT_STOPPING)\n        m = adopt(",
     "    else if (cm->phase == DAVIT_FAILED)\n        m = adopt("),
    ({1, 6, 7}, "joins_overlooked", C + "sources/joins.c", "if (h != source_of_machines(s))",
     "if (h != source_of_machines(s) || h->view->n_nodes > 2)"),
]


def run(*command, cwd, **env):
    return subprocess.run([str(c) for c in command], cwd=cwd, env=dict(os.environ, **env), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def caught(tree, laws, seconds):
    """The laws that storms saw broken, of those that may be; or nothing."""
    for seed in range(1, TRIES + 1):
        p = run(sys.executable, tree / "tests/real/storm.py", "--seconds", seconds, "--seed", seed, cwd=tree,
                PYTHONPATH=str(tree / "tests"))
        found = {int(n) for n in re.findall(r"^ *[\d.]+ law (\d):", p.stdout, re.M)} & laws
        if found:
            return found
    return set()


def mutant_try(tree, mutant, seconds):
    """"" when it was caught, else why not."""
    laws, _, path, old, new = mutant
    file = tree / path
    text = file.read_text()
    if text.count(old) != 1:
        return f"{path} has its text {text.count(old)} times, not once"
    try:
        file.write_text(text.replace(old, new))
        built = run("make", "-s", "all", cwd=tree)
        if built.returncode:
            return "it does not build: " + built.stdout[-300:]
        return "" if caught(tree, laws, seconds) else f"none of {TRIES} storms of {seconds} s shows it"
    finally:
        file.write_text(text)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seconds", default="40")
    a.add_argument("names", nargs="*")
    a = a.parse_args()
    mutants = [m for m in MUTANTS if not a.names or m[1] in a.names]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="davit-mutants") as tree:
        tree = pathlib.Path(tree)
        for path in run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).stdout.splitlines():
            if (ROOT / path).is_file():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, tree / path)
        for m in mutants:
            why = mutant_try(tree, m, a.seconds)
            failed += bool(why)
            print(f"{'MISSED' if why else 'caught'}  {m[1]}{': ' + why if why else ''}", flush=True)
    print(f"{len(mutants) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
