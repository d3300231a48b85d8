#!/bin/sh
# run.sh - the lints; ends with `N passed, N failed`.
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0
lint() {
    if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}
lint sh tests/lint/purity.sh
lint "${DAVIT_PYTHON:-python3}" tests/lint/layers.py
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
