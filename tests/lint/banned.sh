#!/bin/bash
# Functions that have a better one, and words that say "not finished", must not
# stand in our sources, nor what a merge leaves behind in any file.  tests/lint/banned.sh [FILE...]
set -u
cd "$(dirname "$0")/../.." || exit 1
[ $# -gt 0 ] || mapfile -t files < <(find autoscaler providers -name '*.[ch]')
[ $# -eq 0 ] || files=("$@")
bad=$(grep -nE '\b(strcpy|strcat|gets|vsprintf|strncat|atoi|atol|atof|tmpnam|alloca|pthread_cancel|dlclose|system)\(' "${files[@]}"
      grep -nE '\b(TODO|FIXME|XXX|HACK)\b' "${files[@]}"
      grep -nE '^ *typedef struct' "${files[@]}"
      # glibc up to 2.40 may lose a signal where several wait (bug 25847): a semaphore loses none.
      grep -nE '\bpthread_cond_wait\(' "${files[@]}" | grep -v '/\* one waits \*/'
      # !p and p, once every room has it.
      grep -nE '[!=]= NULL\b' "${files[@]}" | grep -vE '\(.*[!=]= NULL\) *([!=]=|\+)|\+ \(')
long=$(wc -l "${files[@]}" | awk '$2 != "total" && $1 > 600 {print $2 ": " $1 " lines, a file is about one idea (600 at most)"}')
marks=
[ $# -gt 0 ] || marks=$(git grep -nIE '^(<<<<<<<|>>>>>>>) ' 2>/dev/null)
[ -z "$bad$long$marks" ] || { printf '%s\n' "$bad" "$long" "$marks"; exit 1; }
