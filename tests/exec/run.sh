#!/bin/bash
# Providers that are child processes: programs that behave badly are contained,
# the example keeps the contract (as a list and as a line for the shell), and
# the real daemon runs with it.
set -u
cd "$(dirname "$0")/../.." || exit 1
export DAVIT_BUILD=${DAVIT_BUILD:-build/release}
B=$DAVIT_BUILD
py=${DAVIT_PYTHON:-python3}
here=$(mktemp -dt davit-exec-XXXXXX) || exit 1
trap 'rm -rf "$here"' EXIT
good=0
bad=0

# count PASSED FAILED CODE: a runner that ended badly has failed something.
count() {
    good=$((good + ${1:-0}))
    bad=$((bad + ${2:-0}))
    if [ "$3" -ne 0 ] && [ "${2:-0}" -eq 0 ]; then
        bad=$((bad + 1))
    fi
}

"$B/tests/test_exec" > "$here/out" 2>&1
code=$?
grep -E '^\[ +(OK|FAILED) |Sanitizer|runtime error' "$here/out"
[ "$code" -eq 0 ] || tail -80 "$here/out" | cut -c1-300
count "$(grep -c '^\[       OK' "$here/out")" "$(grep -o '^\[  FAILED  \] test.*' "$here/out" | sort -u | wc -l)" "$code"

cloud=$here/cloud.json
edit="$py tests/exec/edit.py $cloud"
contract() {
    "$B/tests/check_provider" "$B/plugins/davit-exec.so" \
        -t t4 -r CPU=8 -r GPU=1 -z us-a -z us-b -t cpu -r CPU=4 \
        -o "options.file=$cloud" -o options.boot=0.1 --ready 10 --gone 10 \
        --call 10 --settle 0.05 "$@" 2> "$here/err" | tee "$here/out"
    local code=${PIPESTATUS[0]}
    [ "$code" -eq 0 ] || tail -20 "$here/err"
    count "$(sed -n 's/.*: \([0-9]*\) laws kept.*/\1/p' "$here/out")" \
        "$(sed -n 's/.* \([0-9]*\) broken.*/\1/p' "$here/out")" "$code"
}
faults=()
for s in STOCKOUT QUOTA THROTTLED AUTH RETRY; do
    faults+=(--fault "$s=$edit fail $s")
done
contract -o "command.0=$py" -o command.1=providers/exec/example.py \
    --heal "$edit fail" "${faults[@]}"
# Here the program dies after the deed, before it has told.
contract -o "command=exec $py tests/exec/loser.py" --lose "$edit lose now" \
    --only lost-replies --only same-request --only restart

tests/netns.sh "$py" -m pytest -q -rs -p no:cacheprovider \
    tests/exec/test_daemon.py tests/exec/test_gallery.py \
    tests/exec/test_smallclouds.py > "$here/out" 2>&1
code=$?
cat "$here/out"
# A skipped test is a failed one.
n() { echo $((0$(tail -1 "$here/out" | grep -oE "[0-9]+ $1" | cut -d' ' -f1))); }
lost=$(($(n failed) + $(n error) + $(n skipped)))
count "$(n passed)" "$lost" "$code"

echo "exec: $good passed, $bad failed"
[ "$bad" -eq 0 ]
