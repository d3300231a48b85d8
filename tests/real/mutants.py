#!/usr/bin/env python3
"""Is the judge awake?  Each mutant breaks a law in the daemon; a storm must show it.

usage: mutants.py [--ray] [--seconds N] [NAME...]     ends with `N passed, N failed`
       mutants.py --check     only whether each one's text is there (tests/lint)

With --ray the storms are those of ray_storm.py.  A copy of the tree is built once in a folder of its
own; each mutant is one text put in the place of another, and has so many storms to show itself.  The
first storm is of the daemon as it is, which must break no law in it: `sound`.
"""
import argparse
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import mutants  # noqa: E402
from lib.mutants import run  # noqa: E402

TRIES = 4
# With Ray storms are slow: of this seed the head falls silent and a max falls before all else.
FIRST, FIRST_RAY = 1, 69
C = "autoscaler/control/"
# laws that show it, name, file, what stands there, what the mutant has
SOUND = (set(), "sound", C + "ends.c", "", "")
MUTANTS = [
    ({1}, "ends_unasked", C + "ends.c", "bool asks = e->sources->n > 0 &&", "bool asks = e->sources->n > 99 &&"),
    ({2}, "request_not_written", C + "requests.c", "    journal_put_request(r->env->journal, &row, NULL);", "    (void)row, (void)r;"),
    ({3, 5}, "ending_is_free", "autoscaler/plan/limits.c", "return !n->unmanaged && n->state != STATE_GONE;",
     "return !n->unmanaged && n->state != STATE_GONE && n->state != STATE_STOPPING;"),
    ({3, 4, 5, 6}, "nothing_adopted", C + "providers/machines.c", "return m || !rest->listed ? m : adopt(p, provider, cm);", "return m;"),
    ({1, 6, 7}, "joins_overlooked", C + "sources/joins.c", "if (h != source_of_machines(s))",
     "if (h != source_of_machines(s) || h->view->n_nodes > 2)"),
]
RAY_MUTANTS = [
    MUTANTS[0],
    ({1}, "silence_is_consent", C + "sources/drain.c", "    m->tries++;\n    if (j->err.retry_after_ms > wait)",
     "    machine_to(s->ledger, m, STATE_STOPPING);\n    if (j->err.retry_after_ms > wait)"),
    ({1}, "deadline_at_once", C + "observe.c", "    if (o->env->now_ms < until) {\n", "    until = 0;\n    if (o->env->now_ms < until) {\n"),
]


def broken(tree, storm, seconds, seed):
    """The laws that this storm saw broken; None: it could not be played, on a busy machine."""
    p = run(sys.executable, tree / "tests/real" / storm, "--seconds", seconds, "--seed", seed, cwd=tree,
            PYTHONPATH=str(tree / "tests"))
    found = {int(n) for n in re.findall(r"^ *[\d.]+ law (\d):", p.stdout, re.M)}
    if not found and p.returncode:
        print("        could not be played:", p.stdout.strip().splitlines()[-1:], flush=True)
        return None
    return found


def tried(tree, laws, storm, seconds, first):
    """"" when storms showed it, and the sound one broke no law; else why not."""
    built = run("make", "-s", "all", cwd=tree)
    if built.returncode:
        return "it does not build: " + built.stdout[-300:]
    if not laws:
        found = broken(tree, storm, seconds, first)
        return "" if found == set() else f"seed {first} breaks the laws {found or '(not played)'}"
    played = 0
    for seed in range(first, first + 2 * TRIES):
        found = broken(tree, storm, seconds, seed)
        if found and found & laws:
            return ""
        played += found is not None
        if played == TRIES:
            break
    return f"none of {played} storms of {seconds} s shows it"


def mutant_try(tree, mutant, storm, seconds, first):
    """"" when it was caught, and the sound one was not; else why not."""
    laws, _, path, old, new = mutant
    if not laws:
        return tried(tree, laws, storm, seconds, first)
    with mutants.made(tree, path, old, new) as why:
        return why or tried(tree, laws, storm, seconds, first)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--ray", action="store_true")
    a.add_argument("--seconds", help="of a storm; 120, with Ray 60")
    a.add_argument("--check", action="store_true")
    a.add_argument("names", nargs="*")
    a = a.parse_args()
    if a.check:
        return mutants.check([m[1:] for m in [*MUTANTS, *RAY_MUTANTS[1:]]])
    storm, seconds = ("ray_storm.py", a.seconds or "60") if a.ray else ("storm.py", a.seconds or "120")
    asked = [m for m in [SOUND, *(RAY_MUTANTS if a.ray else MUTANTS)] if not a.names or m[1] in a.names]
    failed = 0
    with mutants.copy_of() as tree:
        tree = pathlib.Path(tree)
        for m in asked:
            why = mutant_try(tree, m, storm, seconds, FIRST_RAY if a.ray else FIRST)
            failed += bool(why)
            print(f"{'FAILED' if why else 'caught' if m[0] else 'passed'}  {m[1]}{': ' + why if why else ''}", flush=True)
    print(f"{len(asked) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
