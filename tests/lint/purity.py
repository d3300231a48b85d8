#!/usr/bin/env python3
"""The planner is pure, and the linker says so.

What the objects of plan/ use, minus what they define themselves, must stay
within a short list: no time, no random, no allocation but the arena's, no input
or output, no floating point library.  Nor may they have a variable.

usage: purity.py [ROOT]
"""
import re
import sys

import objects

# What the compiler itself may call, assert's failure, the arena, the hash table;
# of model/ the pure files only (amounts, problem_match).
ALLOWED = re.compile(r"""mem(cpy|set|cmp|move) | __mem(cpy|set|move)_chk | str(cmp|len) | __assert_fail | __stack_chk_fail
    | __(popcount|clz|ctz|udivt|umodt|divt|modt)[sd]?i[0-9] | _GLOBAL_OFFSET_TABLE_
    | arena_(alloc|copy|grow_|reset|done|mark|rewind) | hash_[a-z_]+ | digest_[a-z]+ | amount_(add|times)
    | problem_(mis)?match | problem_(refuses|avoided)""", re.X)


def main(argv):
    found = objects.read(objects.root_of(argv), "autoscaler/plan")
    own = set().union(*(o.shows() for o in found))
    bad = [f"{o.source} must not use {s}" for o in found for s in sorted(o.uses - own) if not ALLOWED.fullmatch(s)]
    bad += [f"{o.source} must not have a variable: {s}" for o in found
            for s, letter in sorted(o.defines.items()) if letter in "BbDdC"]
    return objects.report("purity", bad, f"{len(found)} objects of plan/ are pure")


if __name__ == "__main__":
    sys.exit(main(sys.argv))
