#!/bin/bash
# The formatter leaves our C as it is.  tests/lint/format.sh [FILE...]
# `make format` is the cure.  Another version formats in other ways: Debian 12's.
set -u
cd "$(dirname "$0")/../.." || exit 1
[ $# -gt 0 ] || mapfile -t files < <(git ls-files '*.[ch]' ':!autoscaler/base/siphash') # kept as it came
[ $# -eq 0 ] || files=("$@")
if ! clang-format-14 --style=file:.clang-format --dry-run -Werror --ferror-limit=1 "${files[@]}"; then
    echo "format: run \`make format\`" >&2
    exit 1
fi
echo "format: ${#files[@]} files are as clang-format has them"
