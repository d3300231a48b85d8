#!/bin/bash
# Runs a command as root of this machine's copy: everything it writes goes into memory and is gone at its end, with all its
# processes.  A network of its own with lo alone.  So a package is really installed, and this machine stays as it is.
#
#   tests/packages/cage.sh COMMAND...         as root; Linux with overlayfs
set -euo pipefail
if [ "$(id -u)" -ne 0 ]; then exec sudo "$0" "$@"; fi
if [ "${CAGE:-}" != inside ]; then
    room=$(mktemp -d)
    trap 'rmdir "$room"' EXIT
    CAGE=inside ROOM=$room unshare --mount --net --pid --fork --kill-child "$0" "$@"
    exit
fi
mount -t tmpfs cage "$ROOM"
mkdir "$ROOM"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$ROOM/upper,workdir=$ROOM/work" "$ROOM/root"
mount -t proc proc "$ROOM/root/proc"
mount --rbind /dev "$ROOM/root/dev"
mount -t tmpfs run "$ROOM/root/run"
ip link set lo up
unset CAGE
exec chroot "$ROOM/root" "$@"
