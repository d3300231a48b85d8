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
for t in "$@"; do
    if out=$("$t" 2>&1); then
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
