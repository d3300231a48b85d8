#!/bin/bash
# Every lint; prints a line each and ends with a count.  What the objects say is
# read from build/release.
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
check() {
    if out=$("$@" 2>&1); then
        passed=$((passed + 1))
        echo "ok    $*: $(tail -1 <<<"$out")"
    else
        failed=$((failed + 1))
        printf '%s\nFAIL  %s\n' "$out" "$*"
    fi
}
for lint in layers folders purity rings keyed written unused docs version seeds waits; do
    check "${DAVIT_PYTHON:-python3}" tests/lint/$lint.py
done
check "${DAVIT_PYTHON:-python3}" configs/python/make_types.py --check
for mutants in storm real cuts; do
    check "${DAVIT_PYTHON:-python3}" tests/$mutants/mutants.py --check
done
check bash tests/lint/banned.sh
check bash tests/lint/format.sh
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
