#!/bin/bash
# Every lint; prints a line each and ends with a count.
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
check "${DAVIT_PYTHON:-python3}" tests/lint/layers.py
check bash tests/lint/purity.sh
check bash tests/lint/banned.sh
check "${DAVIT_PYTHON:-python3}" tests/lint/docs.py
echo "lint: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
