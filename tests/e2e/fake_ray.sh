#!/bin/sh
# Stands in for `ray` in tests of the local provider: keeps what it was called
# with, starts a child as ray starts a raylet, and lives until SIGTERM.
for a; do
    case $a in --temp-dir=*) tmp=${a#--temp-dir=} ;; esac
done
{ printf '%s\n' "$@"; } > "$tmp/args"
env > "$tmp/env"
ls -l /proc/self/fd > "$tmp/fds"
printf 'Local node IP: \033[1msomewhere\033[22m\n'
case $FAKE_RAY in
die) echo "ConnectionError: no head at that address"; echo "------"; exit 3 ;;
crash) printf 'Some Ray subprocesses exited unexpectedly:\n  raylet [exit code=-9]\n\n-- tail --\nmuch\nmore\n'; exit 1 ;;
slow) sleep 1 ;; # wait: it is slow: that is its fault
esac
mkdir -p "$tmp/session_1/sockets"
sleep 1000 & # wait: a raylet
child=$!
env -i sleep 1000 & # wait: one that wrote over its environment, as Ray's do
echo $! > "$tmp/bare"
setsid sleep 1000 & # wait: a worker that went into a session of its own
: > "$tmp/session_1/sockets/raylet"
case $FAKE_RAY in
deaf) trap '' TERM ;;
*) trap 'kill $child; exit 0' TERM ;;
esac
echo "Ray runtime started."
while :; do wait $child; [ "$FAKE_RAY" = deaf ] || exit 1; sleep 1; done # wait: it goes on for ever
