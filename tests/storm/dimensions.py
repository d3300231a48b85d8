#!/usr/bin/env python3
"""Is it the dimension that finds the day?  A mutant for each dimension of the storm's worlds: worlds with it show the
mutant, the same seeds without it do not.

usage: dimensions.py [--seeds A-B] [WORD...]   ends with `N passed, N failed`
"""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib import mutants  # noqa: E402
from lib.mutants import run  # noqa: E402
import mutants as loop  # noqa: E402

AROUND = 60  # so many seeds after the one that shows it are played without the dimension, too
# word (script.h), the mutant of mutants.py whose rule is against it
DIMENSIONS = {
    "hosts": "id_is_one_for_ever", "ids": "answer_has_the_last_word", "lies": "one_word_is_enough", "drops": "one_list_ends_it",
    "names": "missing_is_late", "heads": "another_head_believed", "forgets": "drain_remembered", "slow": "log_in_the_loop",
    "restless": "any_text_is_a_step", "young": "joining_is_of_use", "touched": "same_file_forgets", "store": "file_not_looked_at",
    "flips": "moves_cost_nothing", "kube": "drained_by_whoever_answers", "finds": "ids_have_no_say",
}


def broken(tree, storm, seeds, laws, *more, first=True):
    """Seeds of worlds that break one of the laws; the first alone, as soon as it is found."""
    found = []
    p = subprocess.Popen([os.path.join(tree, storm), "--seeds", seeds, *more], cwd=tree, stdout=subprocess.PIPE, text=True)
    try:
        for line in p.stdout:
            if (m := re.match(r"seed (\d+): law (\d+)", line)) and int(m[2]) in laws:
                found.append(int(m[1]))
                if first:
                    break
    finally:
        p.terminate()
        p.wait()
    return found


def tried(tree, word, mutant, seeds):
    """"" or why the dimension does not find it alone."""
    law, _, path, old, new = mutant
    with mutants.made(tree, path, old, new) as why:
        built = why or run("make", "-s", "build/release/storm", cwd=tree)
        if why or built.returncode:
            return why or built.stdout[-300:]
        laws, at = loop.SHOWS[law], int(seeds.split("-")[0])
        last = int(seeds.split("-")[1])
        while shown := broken(tree, "build/release/storm", f"{at}-{last}", laws):
            seed = shown[0]
            if not broken(tree, loop.AS_IT_IS, f"{seed}-{seed}", laws):
                break
            at = seed + 1
        else:
            return f"no world of seeds {seeds} shows it"
        left = broken(tree, "build/release/storm", f"{seed}-{seed + AROUND}", laws, "--without", word, first=False)
        print(f"    seed {seed} shows {mutant[1]}; without {word} {len(left)} of {AROUND + 1} do", flush=True)
        return f"seeds {left} show it without {word}, too" if left else ""


def main(argv):
    seeds, words = "1-3000", argv[1:]
    if words[:1] == ["--seeds"]:
        seeds, words = words[1], words[2:]
    words, failed = words or list(DIMENSIONS), 0
    of = {m[1]: m for m in loop.MUTANTS}
    with mutants.copy_of() as tree:
        built = run("make", "-s", "build/release/storm", cwd=tree)
        if built.returncode:
            print(built.stdout[-2000:])
            return 1
        shutil.copy2(os.path.join(tree, "build/release/storm"), os.path.join(tree, loop.AS_IT_IS))
        for word in words:
            why = tried(tree, word, of[DIMENSIONS[word]], seeds)
            failed += bool(why)
            print(f"{'FAILED' if why else 'ok    '} {word}: {why or DIMENSIONS[word]}", flush=True)
    print(f"{len(words) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
