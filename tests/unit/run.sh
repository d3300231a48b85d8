#!/bin/bash
# Runs unit test programs one by one from the project's root; the first
# argument is the build directory.  Prints each program's own summary and ends
# with a count of programs.
set -u
cd "$(dirname "$0")/../.." || exit 1
export DAVIT_BUILD=$1
shift
passed=0
failed=0
TIMEFORMAT='%R %U %S'
times=$(mktemp)
trap 'rm -f "$times"' EXIT
for t in "$@"; do
    name=tests/unit/${t##*/}.c
    [ -f "$name" ] || name=tests/exec/${t##*/}.c
    [ -z "${DAVIT_REACH:-}" ] || export GCOV_PREFIX="$DAVIT_REACH/${name//[!a-zA-Z0-9_]/_}"
    { time out=$("$t" 2>&1); } 2>"$times"
    code=$?
    # For check.py: what the program cost.
    [ -z "${DAVIT_OUTCOMES:-}" ] || awk -v t="$name" '{ printf "{\"test\": \"%s\", \"s\": %s, \"cpu\": %.3f}\n", t, $1, $2 + $3 }' "$times" >>"$DAVIT_OUTCOMES"
    if [ "$code" = 0 ]; then
        passed=$((passed + 1))
        echo "ok    ${t##*/}: $(grep -c '^\[       OK' <<<"$out") tests"
    else
        failed=$((failed + 1))
        echo "$out" | tail -60
        echo "FAIL  ${t##*/}"
    fi
done
echo "unit: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
