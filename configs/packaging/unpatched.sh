#!/bin/bash
# The gate of an image: names the packages in it that have an update waiting, and a Debian without security updates.
#
#   configs/packaging/unpatched.sh ROOT      ROOT: a root file system that configs/kubernetes/rootfs.sh made
#
# What is in it says its list of packages; what there is, this machine's apt, whose lists have to be of this week.
# Ends with 0 when nothing is unpatched, 1 when something is, 2 when apt cannot tell.
set -euo pipefail
root=$1
oldest=13 days=7                # Debian 13 has security updates until August 2028, Debian 12 had them until June 2026
release=${OS_RELEASE:-/etc/os-release}

cannot() {
    echo "unpatched: cannot tell what is unpatched: $*" >&2
    exit 2
}

command -v apt-cache >/dev/null || cannot "there is no apt here"
eval "$(apt-config shell lists Dir::State::lists/d)"
[ -n "$(find "$lists" -maxdepth 1 -name '*Release' -mtime "-$days" -print -quit 2>/dev/null)" ] ||
    cannot "apt's lists are older than $days days: apt-get update"

# Name and version of each, as they lie in the image.
packages=$(cat "$root"/var/lib/dpkg/status.d/* | awk '$1 == "Package:" {p = $2} $1 == "Version:" {print p, $2}' | sort -u)
[ -n "$packages" ] || cannot "no package is known in $root"
there=$(cut -d' ' -f1 <<<"$packages" | LC_ALL=C xargs apt-cache policy |
    awk '/^[^ ].*:$/ {p = $1; sub(/:.*/, "", p)} $1 == "Candidate:" {print p, $2}')
found=0
while read -r name has; do
    new=$(awk -v n="$name" '$1 == n {print $2; exit}' <<<"$there")
    [ -n "$new" ] || cannot "apt does not know the package $name"
    if [ "$new" != "(none)" ] && dpkg --compare-versions "$has" lt "$new"; then
        echo "unpatched: $name $has: there is $new" >&2
        found=1
    fi
done <<<"$packages"
[ "$found" = 0 ] || echo "unpatched: apt-get update && apt-get upgrade, then make clean image" >&2

id=$(. "$release" && echo "${ID:-} ${VERSION_ID:-0}")
case $id in
"debian "*)
    if [ "${id#debian }" -lt "$oldest" ]; then
        echo "unpatched: this is Debian ${id#debian }, whose security updates have ended: build on Debian $oldest or later," \
             "or by configs/kubernetes/Dockerfile" >&2
        found=1
    fi ;;
esac
exit "$found"
