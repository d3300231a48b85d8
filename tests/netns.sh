#!/bin/bash
# Runs a command in a network namespace of its own that has only lo: Ray
# rewrites loopback addresses and would otherwise listen everywhere.  As root
# with plain `unshare`, else in a user namespace.
set -eu
if [ "${DAVIT_NETNS:-}" = 1 ]; then
    exec "$@"
fi
export DAVIT_NETNS=1
if [ "$(id -u)" -eq 0 ]; then
    exec unshare -n -- bash -c 'ip link set lo up && exec "$@"' netns "$@"
fi
exec unshare -rn -- bash -c 'ip link set lo up && exec "$@"' netns "$@"
