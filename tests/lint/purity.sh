#!/bin/sh
# purity.sh [BUILD] - the planner is pure, and the linker says so.
#
# Undefined symbols of the objects of plan/, minus those plan/ and model/
# define themselves, must stay within a short list: no time, no random, no
# allocation but the arena's, no input or output, no floating point library.
# Of model/ only the pure files may be used (amounts, snapshot_match).
set -eu
build=${1:-build/release}
dir=$build/autoscaler/plan
objects=$(find "$dir" -name '*.o' 2>/dev/null | sort)
[ "$objects" ] || { echo "purity: no objects in $dir" >&2; exit 1; }

# What the compiler itself may call, assert's failure, and the arena.
allowed='^(memcpy|memset|memcmp|memmove|__memcpy_chk|__memset_chk|__memmove_chk|__stack_chk_fail|__(popcount|clz|ctz|udivt|umodt|divt|modt)[sd]?i[0-9]|__assert_fail|_GLOBAL_OFFSET_TABLE_|arena_alloc|arena_copy|arena_grow_|amount_add|amount_times|snapshot_(mis)?match|snapshot_(refuses|avoided)|strcmp|__(asan|ubsan|tsan|gcov|llvm)_.*|__sanitizer_.*)$'

own=$(nm --defined-only $objects | awk 'NF == 3 {print $3}' | sort -u)
bad=$(nm -u $objects | awk '$1 == "U" {print $2}' | sort -u |
      grep -Ev "$allowed" | grep -Fxv "$own" || true)
if [ -n "$bad" ]; then
    echo "purity: plan/ must not use:" >&2
    for symbol in $bad; do
        nm -A -u $objects | awk -v s="$symbol" \
            '$NF == s {sub(/:.*/, "", $1); print "  " s " in " $1}' >&2
    done
    exit 1
fi
# Nothing may be written to: no variables of its own either.
data=$(nm -A $objects | awk '$(NF-1) ~ /^[BDbdC]$/ {print "  " $0}' |
       grep -Ev '__(asan|gcov|llvm|ubsan|tsan)|__gcov|\.LASAN|\.Lubsan|_\.(ubsan|asan)' || true)
if [ -n "$data" ]; then
    echo "purity: plan/ must have no variables:" >&2
    echo "$data" >&2
    exit 1
fi
echo "purity: $(echo "$objects" | wc -l) objects of plan/ are pure"
