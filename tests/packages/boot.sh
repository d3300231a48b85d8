#!/bin/bash
# Boots systemd as process 1 of this machine's copy and has it run COMMAND: everything it writes goes into memory and is gone at
# its end, with all its processes.  It has a network with lo alone, and a cgroup of its own below which it may do what it likes.
# None of this machine's services is started.
#
#   tests/packages/boot.sh COMMAND...         as root; Linux with overlayfs and cgroup2
#
# What COMMAND prints is printed; the exit code is its own.
set -euo pipefail
if [ "$(id -u)" -ne 0 ]; then exec sudo "$0" "$@"; fi
if [ "${BOOT:-}" != inside ]; then
    groups=$(findmnt -rn -o TARGET -t cgroup2 | head -1)
    room=$(mktemp -d)
    group=$groups$(sed -n 's/^0:://p' /proc/self/cgroup)/davit-boot-$$
    mkdir -p "$group"
    ends() { # leaves first
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.5 # wait: what ran there is reaped
        find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
        rmdir "$room"
    }
    trap ends EXIT
    touch "$room.out"
    (
        echo "$BASHPID" >"$group/cgroup.procs"
        BOOT=inside ROOM=$room exec timeout --signal=KILL 240 unshare --mount --net --pid --uts --ipc --cgroup --fork --kill-child "$0" "$@"
    ) >"$room.log" 2>&1 || true
    cat "$room.out"
    code=$(sed -n '$s/^exit code //p' "$room.out")
    [ -n "$code" ] || tail -n 40 "$room.log" >&2
    rm -f "$room.out" "$room.log"
    exit "${code:-1}"
fi
mount -t tmpfs cage "$ROOM"
mkdir "$ROOM"/{upper,work,root}
mount -t overlay overlay -o "lowerdir=/,upperdir=$ROOM/upper,workdir=$ROOM/work" "$ROOM/root"
root=$ROOM/root
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sys "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=755 dev "$root/dev"
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 pts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
for d in null zero full random urandom tty console; do
    touch "$root/dev/$d"
    mount --bind "/dev/$([ $d = console ] && echo null || echo $d)" "$root/dev/$d"
done
touch "$root/run/out"
mount --bind "$ROOM.out" "$root/run/out"
ip link set lo up
rm -rf "$root/etc/systemd/system" && mkdir "$root/etc/systemd/system"
ln -s /dev/null "$root/etc/systemd/system/systemd-tmpfiles-setup.service" # it would empty /tmp, where tests keep their files
printf '%q ' "$@" >"$root/run/command"
cat >"$root/etc/systemd/system/boot.target" <<END
[Unit]
Requires=basic.target the-command.service
After=basic.target
END
cat >"$root/etc/systemd/system/the-command.service" <<END
[Unit]
After=basic.target
[Service]
Type=oneshot
WorkingDirectory=$PWD
ExecStart=/bin/bash -c '(bash /run/command; echo "exit code \$?") >/run/out 2>&1'
ExecStopPost=/bin/systemctl --no-block --force poweroff
TimeoutStartSec=300
END
# Not chroot: in one the kernel makes no user namespace, which PrivateUsers= is.
cd "$root"
mkdir -p .before
pivot_root . .before
umount --lazy .before
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=davit TERM=dumb /lib/systemd/systemd --unit=boot.target --log-target=console
