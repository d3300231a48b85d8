#!/usr/bin/env python3
"""Is the judge awake?  Each mutant breaks a law in the daemon; a storm must show it.

usage: mutants.py [--ray] [--seconds N] [NAME...]     ends with `N passed, N failed`

With --ray the storms are those of ray_storm.py.  A copy of the tree is built once in a folder of its
own; each mutant is one text put in the place of another, and has so many storms to show itself.  The
first storm is of the daemon as it is, which must break no law in it: `sound`.
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
# With Ray storms are slow: of this seed the head falls silent and a max falls before all else.
FIRST, FIRST_RAY = 1, 69
C = "autoscaler/control/"
# laws that show it, name, file, what stands there, what the mutant has
SOUND = (set(), "sound", C + "ends.c", "", "")
MUTANTS = [
    ({1}, "ends_unasked", C + "ends.c", "bool asks = e->sources->n > 0;", "bool asks = e->sources->n > 99;"),
    ({2}, "request_not_written", C + "requests.c", "    journal_put_request(r->env->journal, &row, NULL);", "    (void)row, (void)r;"),
    ({3, 5}, "ending_is_free", "autoscaler/plan/limits.c", "return !n->unmanaged && n->state != STATE_GONE;",
     "return !n->unmanaged && n->state != STATE_GONE && n->state != STATE_STOPPING;"),
    ({3, 4, 5, 6}, "nothing_adopted", C + "providers/machines.c",
     "    struct machine *m = machine_of(p, s->conf->name, cm, listed);\n\n    if (m->state == STATE_GONE)",
     "    struct fleet *f = &p->ledger->fleet;\n"
     "    struct machine *m = fleet_by_launch(f, s->conf->name, cm->id, cm->request_id);\n\n"
     "    if (!m && machine_of_launch(f, s->conf->name, cm->request_id, listed, p->env->now_ms))\n"
     "        m = machine_of(p, s->conf->name, cm, listed);\n"
     "    if (!m || m->state == STATE_GONE)"),
    ({1, 6, 7}, "joins_overlooked", C + "sources/joins.c", "if (h != source_of_machines(s))",
     "if (h != source_of_machines(s) || h->view->n_nodes > 2)"),
]
RAY_MUTANTS = [
    MUTANTS[0],
    ({1}, "silence_is_consent", C + "sources/drain.c", "    m->tries++;\n    if (j->err.retry_after_ms > wait)",
     "    machine_to(s->ledger, m, STATE_STOPPING);\n    if (j->err.retry_after_ms > wait)"),
    ({1}, "deadline_at_once", C + "observe.c", "    if (o->env->now_ms < until) {\n", "    until = 0;\n    if (o->env->now_ms < until) {\n"),
]


def run(*command, cwd, **env):
    return subprocess.run([str(c) for c in command], cwd=cwd, env=dict(os.environ, **env), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def broken(tree, storm, seconds, seed):
    """The laws that this storm saw broken; None: it could not be played, on a busy machine."""
    p = run(sys.executable, tree / "tests/real" / storm, "--seconds", seconds, "--seed", seed, cwd=tree,
            PYTHONPATH=str(tree / "tests"))
    found = {int(n) for n in re.findall(r"^ *[\d.]+ law (\d):", p.stdout, re.M)}
    if not found and p.returncode:
        print("        could not be played:", p.stdout.strip().splitlines()[-1:], flush=True)
        return None
    return found


def mutant_try(tree, mutant, storm, seconds, first):
    """"" when it was caught, and the sound one was not; else why not."""
    laws, _, path, old, new = mutant
    file = tree / path
    text = file.read_text()
    if laws and text.count(old) != 1:
        return f"{path} has its text {text.count(old)} times, not once"
    try:
        file.write_text(text.replace(old, new))
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
    finally:
        file.write_text(text)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--ray", action="store_true")
    a.add_argument("--seconds", help="of a storm; 120, with Ray 60")
    a.add_argument("names", nargs="*")
    a = a.parse_args()
    storm, seconds = ("ray_storm.py", a.seconds or "60") if a.ray else ("storm.py", a.seconds or "120")
    mutants = [m for m in [SOUND, *(RAY_MUTANTS if a.ray else MUTANTS)] if not a.names or m[1] in a.names]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="davit-mutants") as tree:
        tree = pathlib.Path(tree)
        for path in run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).stdout.splitlines():
            if (ROOT / path).is_file():
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, tree / path)
        for m in mutants:
            why = mutant_try(tree, m, storm, seconds, FIRST_RAY if a.ray else FIRST)
            failed += bool(why)
            print(f"{'FAILED' if why else 'caught' if m[0] else 'passed'}  {m[1]}{': ' + why if why else ''}", flush=True)
    print(f"{len(mutants) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
