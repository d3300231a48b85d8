# Shared by the demos: a daemon in a directory of its own, and how to tell.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
davit=$root/${DAVIT_BUILD:-build/release}/davit
work=$(mktemp -d "${TMPDIR:-/tmp}/davit-demo-XXXXXX")
daemon=
bold= dim= off=
if [ -t 1 ]; then
    bold=$'\e[1m' dim=$'\e[2m' off=$'\e[0m'
fi

say() { printf '\n%s%s%s\n' "$bold" "$*" "$off"; }
# Shows a command as one would type it, then runs it.
show() {
    printf '%s$ davit' "$dim"
    printf ' %s' "${@@Q}" | sed "s/ '\([A-Za-z0-9_.=:/-]*\)'/ \1/g"
    printf '%s\n' "$off"
    "$davit" "$@"
}
fail() {
    echo "demo: $*" >&2
    echo "--- the daemon's log" >&2
    tail -40 "$work/log" >&2
    exit 1
}
now() { date +%s%N; }
seconds() { echo $((($2 - $1) / 100000000)) | sed 's/\(.\)$/.\1/; s/^\./0./'; }

daemon_start() { # CONFIG
    (cd "$work" && exec "$davit" run "$1" 2>"$work/log") &
    daemon=$!
    for _ in $(seq 100); do
        port=$(sed -n 's/.*listening on 127\.0\.0\.1:\([0-9]*\)$/\1/p' "$work/log")
        export DAVIT_URL=http://127.0.0.1:$port
        if [ -n "$port" ] && "$davit" status >/dev/null 2>&1; then
            return
        fi
        kill -0 "$daemon" 2>/dev/null || fail "the daemon did not start"
        sleep 0.1 # wait: looks again
    done
    fail "the daemon does not answer"
}
daemon_stop() {
    [ -n "$daemon" ] || return 0
    kill "$daemon" 2>/dev/null
    wait "$daemon" 2>/dev/null
    daemon=
}
# Our nodes, "ID TYPE STATE" a line.
nodes() {
    "$davit" nodes | awk 'NR > 1 && NF > 3 && $2 ~ /^[a-z]/ && $1 ~ /-/ {
        for (i = 3; i <= NF; i++)
            if ($i ~ /^(intended|requested|starting|ready|draining|stopping)$/) {
                print $1, $2, $i; next } }'
}
# Until no node is left, a line whenever something changes.
watch_them_go() { # SECONDS
    local before='' have end=$((SECONDS + $1))
    while [ $SECONDS -lt "$end" ]; do
        have=$(nodes | awk '{ n[$3]++ } END { for (s in n) printf "%d %s  ", n[s], s }')
        if [ "$have" != "$before" ]; then
            printf '  %s  %s\n' "$(date +%T)" "${have:-none left}"
            before=$have
        fi
        [ -n "$have" ] || return 0
        sleep 0.2 # wait: looks again
    done
    fail "there are still nodes after $1 s"
}
count() { grep -c " $1 " "$work/log" || true; }
