#!/bin/bash
# Copies a staged tree to where it belongs, or takes the same files away again.
#
#   configs/packaging/place.sh install|uninstall STAGE [DESTDIR]
#
# Of folders only those that are Davit's own are removed, and only when they are empty.
set -euo pipefail
what=$1 stage=$2 dest=${3:-}
find "$stage" -type f -printf '%P\n' | LC_ALL=C sort | while read -r file; do
    if [ "$what" = install ]; then
        install -D -p -m"$(stat -c %a "$stage/$file")" "$stage/$file" "$dest/$file"
    else
        rm -f "$dest/$file"
    fi
done
[ "$what" = uninstall ] || exit 0
find "$stage" -depth -type d -printf '%P\n' | grep -E '(^|/)davit(/|$)' | while read -r folder; do
    [ ! -d "$dest/$folder" ] || rmdir --ignore-fail-on-non-empty "$dest/$folder"
done
